"""Words of the reference: which of them change, and what short ones are worth."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from uiproof.benchmarks.interaction2code.failures import Failure
from uiproof.benchmarks.interaction2code.judging.triggers import TriggerQuery, find_trigger
from uiproof.benchmarks.interaction2code.verifier import (
    GeneratedEvidence,
    ReferenceEvidence,
    verify,
)
from uiproof.benchmarks.interaction2code.verifier.features import PROMISES_BACK
from uiproof.benchmarks.interaction2code.verifier.layout import readable
from uiproof.benchmarks.interaction2code.verifier.objects import (
    Word,
    compare_words,
    found_letters,
    letters,
    reference_side,
)
from uiproof.benchmarks.interaction2code.verifier.pixels import in_front
from uiproof.browser.snapshots import Action, Element, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.ocr import OcrLine, OcrWord

BOX = PixelBox(20, 20, 160, 50)


def picture(text):
    page = np.full((100, 200, 3), 255, np.uint8)
    cv2.putText(page, text, (BOX.left, 44), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2)
    return page


def read(text):
    return [OcrLine(text, BOX, 1.0, (OcrWord(text, BOX),))]


def side(before, after, first, last):
    return reference_side(before, after, None, (read(first), read(last)), mute=False)


def test_a_word_under_a_veil_has_not_changed_whatever_is_read():
    page = picture("Invoices")
    veiled = (page * 0.4).astype(np.uint8)
    found = side(page, veiled, "Invoices", "lnvqcs")
    assert (found.came, found.went) == ((), ())
    assert [one.text for one in found.kept] == ["invoices"]


def test_another_word_in_another_shade_has_changed():
    other = (picture("Closed") * 0.4).astype(np.uint8)
    found = side(picture("Invoices"), other, "Invoices", "Closed")
    assert [one.text for one in found.came] == ["closed"]
    assert [one.text for one in found.went] == ["invoices"]


def test_a_sign_of_chinese_is_worth_more_than_a_letter():
    assert letters([Word("登录", BOX)]) == letters([Word("signin", BOX)])


class NoIds:
    def find(self, selector):
        return None


def test_of_elements_that_are_equally_likely_the_first_is_meant():
    boxes = [PixelBox(left, 10, left + 40, 40) for left in (100, 200)]
    elements = tuple(
        Element(number, None, "button", "", box, "Edit", "Edit")
        for number, box in enumerate(boxes, 1)
    )
    query = TriggerQuery("1", Action("click"), "all", None, (800, 600), "Edit")
    assert find_trigger(NoIds(), Snapshot(elements, (800, 600), "page"), query).element.ref == 1


def test_an_element_without_place_and_name_is_not_surely_missing():
    page = picture("Invoices")
    reference = ReferenceEvidence(page, page, Action("click"))
    generated = GeneratedEvidence(page, Snapshot((), (200, 100), "page"))
    assert verify(reference, generated).failure is Failure.MISSING
    assert verify(reference, generated).unsure


def words(text):
    return [Word(one, BOX) for one in text.split()]


def test_a_line_that_was_read_as_one_word_is_found_in_its_parts():
    line = words("类型礼让难度3星目标30天")
    assert found_letters(line, words("类型 礼让 难度 3 星 目标 30 天")) == 1
    assert found_letters(line, words("类型 礼让 难度 5 星 目标 20 天")) < 1
    assert found_letters(words("类型 目标30天"), line) == 1
    assert found_letters(words("目标3"), words("目标30天")) == 0, "a number is not cut"


def test_words_that_were_read_as_one_have_not_changed():
    before = [Word("150", PixelBox(0, 0, 30, 20)), Word("frozen", PixelBox(40, 0, 100, 20))]
    after = [Word("150gfrozen", PixelBox(0, 0, 102, 20))]
    came, went, _, kept = compare_words(before, after)
    assert not came
    assert not went
    assert kept == tuple(after)


def test_words_that_come_twice_in_a_text_that_is_broken_anew_stop_nothing():
    lines = "alpha beta gamma delta of"
    before = [
        Word(one, PixelBox(0, 20 * n, 60, 20 * n + 16)) for n, one in enumerate(lines.split())
    ]
    after = [Word(one.text, PixelBox(300, one.box.top, 360, one.box.bottom)) for one in before]
    came, *_ = compare_words(before, [*after, Word("of", PixelBox(500, 300, 520, 316))])
    assert [one.text for one in came] == ["of"]


def test_behind_a_veil_nothing_counts():
    page = np.full((400, 600, 3), 255, np.uint8)
    page[32:38, 20:160] = 0
    after = (page * 0.5).astype(np.uint8)
    after[120:280, 150:450] = 255
    box, title = PixelBox(20, 20, 160, 50), PixelBox(200, 140, 320, 170)
    after[title.top + 8 : title.bottom - 8, title.left : title.right] = 0
    lines = [OcrLine("Orders", box, 1.0, (OcrWord("Orders", box),))]
    last = [
        OcrLine("Ordcns", box, 1.0, (OcrWord("Xqz", box),)),
        OcrLine("Delete", title, 1.0, (OcrWord("Delete", title),)),
    ]
    opened = reference_side(page, after, None, (lines, last), mute=False)
    assert [one.text for one in opened.came] == ["delete"]
    assert not opened.went
    closed = reference_side(after, page, None, (last, lines), mute=False)
    assert not closed.came
    assert [one.text for one in closed.went] == ["delete"]

    row = PixelBox(20, 330, 160, 360)
    page[342:348, 20:160] = 0
    added = [*lines, OcrLine("Added", row, 1.0, (OcrWord("Added", row),))]
    closed = reference_side(after, page, None, (last, added), mute=False)
    assert [one.text for one in closed.came] == ["added"]


def test_a_veil_over_the_window_leaves_the_rest_of_a_longer_page_alone():
    page = np.full((900, 600, 3), 255, np.uint8)
    after = page.copy()
    after[:600] = 128
    after[200:400, 150:450] = 255
    front = in_front(page, after)
    assert front is not None
    assert (front.top, front.bottom) == (200, 400)


def test_on_a_page_with_letters_that_ocr_does_not_know_only_its_own_words_count():
    def page(text):
        return Snapshot((Element(1, None, "p", "", BOX, text, text),), (200, 100), "page")

    lines = read("a7nnn") + read("drink")
    assert readable(lines, page("drink water")) == lines
    known = readable(lines, page("המילה מתחילה באות drink"))
    assert [one.text for one in known] == ["drink"]


@pytest.mark.parametrize(
    ("description", "promised"),
    [
        ("unfolds the answer; clicking again folds it", True),
        ("shows a bubble; leaving hides it", True),
        ("adds a line; unticking undoes both", True),
        ("opens a window; the cross closes it", False),
        ("clicking Buy tickets shows a message", False),
        ("sorts by amount; a second click sorts rising", False),
    ],
)
def test_only_the_same_act_again_or_leaving_is_a_way_back(description, promised):
    assert bool(PROMISES_BACK.search(description)) is promised


def test_numbers_move_with_the_words_around_them():
    def row(left):
        return [Word(text, PixelBox(left, 20, left + 60, 40)) for text in ("v2parcels", "creates")]

    came, went, moved, _ = compare_words(row(20), row(140))
    assert (came, went) == ((), ())
    assert {one.text for one in moved} == {"v2parcels", "creates"}
