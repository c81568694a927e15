"""Words of the reference: which of them change, and what short ones are worth."""

from __future__ import annotations

import cv2
import numpy as np

from uiproof.benchmarks.interaction2code.failures import Failure
from uiproof.benchmarks.interaction2code.judging.triggers import TriggerQuery, find_trigger
from uiproof.benchmarks.interaction2code.verifier import (
    GeneratedEvidence,
    ReferenceEvidence,
    verify,
)
from uiproof.benchmarks.interaction2code.verifier.objects import Word, letters, reference_side
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
