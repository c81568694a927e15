"""Scores of pictures, texts and positions, and joining texts."""

from __future__ import annotations

import json

import cv2
import numpy as np
import pytest
from skimage.metrics import structural_similarity

from uiproof.benchmarks.interaction2code.judging.scores import (
    PagePoint,
    View,
    paper_look,
    paper_position,
    strict_look,
    strict_position,
    strict_text,
    zeros,
)
from uiproof.benchmarks.interaction2code.judging.text import (
    Reader,
    TextPiece,
    character_bleu,
    lines_inside,
    published_text,
    read_inside,
    reading_text,
    respaced,
    word_bleu,
    written_inside,
)
from uiproof.browser.snapshots import Element, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.ocr import OcrLine, OcrWord


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)


def text_picture(*lines, size=(200, 500)):
    picture = np.full((*size, 3), 255, np.uint8)
    for text, (x, y) in lines:
        cv2.putText(picture, text, (x, y), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2)
    return picture


def words(text, left, top, width=None, height=20):
    return TextPiece(text, PixelBox(left, top, left + (width or 10 * len(text)), top + height))


def test_opposite_pictures_have_a_negative_similarity_as_published():
    picture = noise(40, 40)
    gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    published = structural_similarity(gray, 255 - gray)
    assert published < 0
    opposite = [View(picture, (), one) for one in (gray, 255 - gray)]
    assert paper_look(*opposite, None)["ssim"] == pytest.approx(published, abs=1e-9)


def test_strict_similarity_counts_missing_area_and_does_not_stretch():
    picture = noise(80, 80)
    half = picture[:40]
    same, cut = (strict_look(View(picture, ()), View(other, ()), None) for other in (picture, half))
    assert same["ssim"] == pytest.approx(1)
    assert cut["ssim"] == pytest.approx(0.5)
    # Stretched, nothing of it is where it was.
    assert paper_look(View(picture, ()), View(half, ()), None)["ssim"] < 0.4


def test_pictures_of_a_few_pixels_are_compared_too():
    tiny = noise(3, 2)
    assert paper_look(View(tiny, ()), View(noise(20, 30), ()), None)["ssim"] is not None
    assert paper_look(View(tiny, ()), View(tiny, ()), None)["ssim"] == pytest.approx(1)


def test_clip_is_not_measured_without_a_model_and_one_for_equal_pictures():
    view = View(noise(40, 90), ())
    assert paper_look(view, view, None)["clip"] is None
    assert strict_look(view, view, lambda _: np.zeros(512, np.float32))["clip"] == 1


def test_what_is_not_there_scores_0_and_its_clip_is_null_where_clip_is_not_measured():
    assert zeros(("clip", "ssim"), clip=True) == {"clip": 0.0, "ssim": 0.0}
    assert zeros(("clip", "ssim"), clip=False) == {"clip": None, "ssim": 0.0}


def test_strict_clip_sees_what_lies_outside_of_the_middle():
    seen = []

    def embed(picture):
        seen.append(picture.shape[:2])
        return np.ones(512, np.float32) / np.sqrt(np.float32(512))

    strict_look(View(noise(40, 90), ()), View(noise(40, 90, 1), ()), embed)
    assert seen == [(90, 90), (90, 90)]


def test_positions_are_shares_of_the_page_as_published_and_pixels_in_the_strict_profile():
    reference = PagePoint.middle_of(PixelBox(100, 100, 200, 200), (1000, 1000))
    longer = PagePoint.middle_of(PixelBox(100, 100, 200, 200), (1000, 2000))
    assert paper_position(reference, longer) == pytest.approx(1 - 0.075)
    assert strict_position(reference, longer) == 1
    far = PagePoint.middle_of(PixelBox(600, 100, 700, 200), (1000, 1000))
    assert paper_position(reference, far) == pytest.approx(0.5)
    assert strict_position(reference, far) == pytest.approx(0.5)


def test_a_place_that_is_missing_scores_nothing_and_one_far_outside_not_less():
    here = PagePoint((10, 10), (100, 100))
    assert paper_position(here, None) == strict_position(here, None) == 0
    assert paper_position(None, here) is strict_position(None, here) is None
    assert strict_position(here, PagePoint((10, 9000), (100, 9100))) == 0


def test_published_text_has_a_space_before_each_line():
    assert published_text([words("Log in", 0, 0), words("Help", 0, 30)]) == " Log in Help"
    assert published_text([]) == ""


def test_columns_side_by_side_are_read_one_after_the_other():
    lines = [
        words("We roast our", 0, 100),
        words("Open every day", 400, 100),
        words("beans ourselves", 0, 125),
        words("from eight to five", 400, 125),
        words("Coffee shop", 0, 20, height=40),
    ]
    assert reading_text(lines) == (
        "Coffee shop We roast our beans ourselves Open every day from eight to five"
    )


def test_spaces_that_reading_lost_or_found_do_not_count():
    assert respaced("Signin to y our account", "Sign in to your account") == (
        "Sign in to your account"
    )
    assert respaced("Createapost", "Log in") == "Createapost"
    read_text = [words("Createa post", 0, 0), words("Mes sages", 0, 50)]
    written = [words("Create a post", 0, 0), words("Messages", 0, 50)]
    assert strict_text(read_text, written) == pytest.approx(1)


def test_an_equal_picture_says_the_same_whatever_was_read():
    picture = noise(30, 30)
    read_text = View(picture, [words("Iog ln", 0, 0)])
    assert strict_look(read_text, View(picture, [words("Log in", 0, 0)]), None)["text"] == 1


def test_lines_that_reach_beyond_a_region_are_cut_to_the_words_in_it():
    line = OcrLine(
        "Menu of the day",
        PixelBox(0, 0, 150, 20),
        0.9,
        tuple(
            OcrWord(word, PixelBox(40 * number, 0, 40 * number + 35, 20))
            for number, word in enumerate(("Menu", "of", "the", "day"))
        ),
    )
    whole = OcrLine("Espresso", PixelBox(10, 40, 90, 60), 0.9)
    inside = read_inside([line, whole], PixelBox(0, 0, 90, 100))
    assert [one.text for one in inside] == ["Menu of", "Espresso"]
    assert lines_inside([line], PixelBox(0, 100, 50, 200)) == []


def element(ref, parent, tag, text, box, label=None):
    return Element(ref, parent, tag, "", PixelBox(*box), text, label or text)


def test_sentences_of_pieces_are_read_as_sentences_and_containers_say_only_their_own():
    snapshot = Snapshot(
        (
            element(1, None, "body", "", (0, 0, 800, 600), "all of it"),
            element(2, 1, "p", "Read our terms", (0, 0, 800, 20), "Read our new terms"),
            element(3, 2, "b", "new", (60, 0, 90, 20)),
            element(4, 1, "div", "Cart", (0, 100, 800, 400), "Cart Buy Pay now"),
            element(5, 4, "button", "Buy", (0, 150, 80, 180)),
        ),
        (800, 600),
        "",
    )
    assert [one.text for one in written_inside(snapshot, None)] == [
        "Read our new terms",
        "Cart",
        "Buy",
    ]
    region = PixelBox(0, 140, 100, 200)
    assert [one.text for one in written_inside(snapshot, region)] == ["Buy"]


def test_thousands_of_elements_in_each_other_are_no_problem():
    deep = tuple(
        element(ref, ref - 1 if ref else None, "span", "x", (0, 0, 9, 9)) for ref in range(5_000)
    )
    assert len(written_inside(Snapshot(deep, (10, 10), ""), None)) == 1


def test_a_picture_is_read_once_and_its_parts_not_at_all(tmp_path):
    before = text_picture(("Hello world", (20, 60)), ("Good bye", (20, 150)))
    reader = Reader(tmp_path)
    lines = reader.lines(before)
    assert [line.text for line in lines] == ["Hello world", "Good bye"]
    taken = reader.seconds
    part = reader.part(before[100:, :], [(before, lambda: lines)])
    assert [line.text for line in part] == ["Good bye"]
    assert part[0].box.top == lines[1].box.top - 100
    after = text_picture(("Hello world", (20, 60)), ("Good evening", (20, 150)))
    assert reader.part(after, [(before, list), (after, lambda: lines)]) == lines
    again = Reader(tmp_path)
    assert again.lines(before.copy()) == lines
    assert (reader.seconds, again.seconds) == (taken, 0)


def test_after_an_interaction_only_what_changed_is_read(tmp_path, monkeypatch):
    from uiproof.benchmarks.interaction2code.judging import text

    seen = []
    read_lines = text.read_lines

    def watched(picture):
        seen.append(picture.shape[:2])
        return read_lines(picture)

    monkeypatch.setattr(text, "read_lines", watched)
    before = text_picture(("Hello world", (20, 60)), ("Good bye", (20, 150)), size=(600, 500))
    after = text_picture(("Hello world", (20, 60)), ("Good evening", (20, 150)), size=(600, 500))
    longer = np.concatenate(
        [before[:100], text_picture(("Menu", (20, 60)), size=(80, 500)), before[100:]]
    )
    reader = Reader(tmp_path)
    assert reader.lines_after(before, before) == reader.lines(before)
    changed = reader.lines_after(before, after)
    assert [line.text for line in changed] == ["Hello world", "Good evening"]
    grown = reader.lines_after(before, longer)
    assert [line.text for line in grown] == ["Hello world", "Menu", "Good bye"]
    assert abs(grown[2].box.top - reader.lines(before)[1].box.top - 80) < 5
    whole, *parts = seen
    assert whole == (600, 500)
    assert len(parts) == 2
    assert all(height < 200 for height, _ in parts)


# --- BLEU


def test_characters_score_as_published_to_the_digit(shared_data):
    oracle = json.loads((shared_data / "data" / "interaction2code" / "oracle.json").read_text())
    for probe in oracle["bleu_probe"]:
        ours = character_bleu(probe["ref_full"], probe["cand_full"])
        assert ours == pytest.approx(probe["char_bleu"], rel=1e-12), probe["ref"]


def test_equal_texts_of_less_than_four_characters_score_next_to_nothing_as_published():
    assert 0 < character_bleu(" OK", " OK") < 1e-70
    assert character_bleu(" Log in", " Log in") == pytest.approx(1)


@pytest.mark.parametrize("score", [character_bleu, word_bleu])
def test_two_empty_texts_are_equal_and_one_empty_text_is_nothing(score):
    assert score("", "") == 1
    assert score("a text of words", "") == 0
    assert score("", "a text of words") == 0


def test_equal_texts_score_one_in_words_however_short_they_are():
    for text in ("OK", "Log in", "Add to cart now", "a b c d e f g", "登录", "!"):
        assert word_bleu(text, text) == pytest.approx(1)


def test_words_in_another_order_score_much_less_than_their_characters():
    text, shuffled = "the quick brown fox jumps over it", "it over jumps fox brown quick the"
    assert word_bleu(text, shuffled) < 0.3 < character_bleu(text, shuffled)


def test_missing_and_added_words_both_cost():
    text = "Welcome back, please sign in to continue"
    assert word_bleu(text, "Welcome back") < word_bleu(text, text[:-12]) < 1
    assert word_bleu(text, text + " or register for a new account") < 1


def test_chinese_characters_are_words():
    assert word_bleu("欢迎回来请登录", "欢迎回来请注册") > 0.4


def test_no_letter_in_common_is_nothing():
    assert character_bleu("abcd", "xyz") == 0
    assert word_bleu("one two three", "four five six") < 0.2
