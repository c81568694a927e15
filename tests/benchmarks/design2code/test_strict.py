from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import uiproof
from uiproof.benchmarks.design2code.judge import Design2CodeJudge
from uiproof.benchmarks.design2code.strict import (
    MOST_BLANK,
    StrictScores,
    above_blank,
    commonest_colour,
    content_height,
    layout_overlap,
    rows_with_content,
    structure,
)
from uiproof.browser import PageSource
from uiproof.vision.clip import preprocess

DEMO = Path(uiproof.__file__).parent / "demo" / "design2code" / "reference"
SEVEN = ("block_match", "text", "position", "color", "layout", "page_height", "ssim")
BLOCKS = SEVEN[:4]
PIXEL = "data:image/gif;base64,R0lGODdhAQABAIAAAP8AAP8AACwAAAAAAQABAAACAkQBADs="


@pytest.fixture(scope="module")
def judge():
    judge = Design2CodeJudge()
    yield judge
    judge.close()


@pytest.fixture(scope="module")
def strict(judge):
    """The strict scores of a generated page against a reference page."""

    def strict(reference, generated):
        as_source = [
            PageSource.from_file(page)
            if isinstance(page, Path)
            else PageSource.from_html(f"<html><body>{page}</body></html>")
            for page in (reference, generated)
        ]
        return judge.compare(*as_source)[0].scores["strict"]

    return strict


FULL = """
<h1>A page with a headline</h1><p>And a paragraph of some words.</p>
<p>Another one, which says something else.</p><button>Press</button>
<div style="background: #246; height: 90px; width: 400px"></div>
"""

# Exactly 1, exactly 0


@pytest.mark.parametrize("page", ["booking", "directory", "museum", "teashop"])
def test_a_page_scores_exactly_one_against_itself(strict, page):
    scores = strict(DEMO / f"{page}.html", DEMO / f"{page}.html")
    assert {name: scores[name] for name in SEVEN} == dict.fromkeys(SEVEN, 1.0)
    assert scores["mean_without_clip"] == 1.0


def test_a_page_that_repeats_itself_scores_exactly_one_against_itself(strict):
    page = "<br>" * 60 + "<p>The same words again and again, all the time, in every line.</p>" * 70
    assert strict(page, page)["mean_without_clip"] == 1.0


@pytest.mark.parametrize(
    "css", [".card-{} {{ margin: 0; padding: 4px; color: #333; border: 0 }}", ""]
)
def test_a_page_with_many_rules_and_blanks_scores_exactly_one_against_itself(strict, css):
    style = "\n".join(css.format(n) for n in range(60))
    rows = "\n".join(f"{' ' * 130}<li>\n{' ' * 130}Row {n * n}</li>" for n in range(40))
    page = f"<style>{style}</style>{rows}"
    assert strict(page, page)["mean_without_clip"] == 1.0


def test_an_empty_page_scores_exactly_zero_against_a_full_one_and_the_other_way_round(strict):
    picture = f'<img src="{PIXEL}" width="300" height="200">'
    for pair in ((FULL, ""), ("", FULL), (DEMO / "landing.html", ""), (picture, "")):
        scores = strict(*pair)
        assert {name: scores[name] for name in SEVEN} == dict.fromkeys(SEVEN, 0.0)
        assert scores["mean_without_clip"] == 0.0


def test_two_empty_pages_score_exactly_one(strict):
    scores = strict("", "<div></div>")
    assert {name: scores[name] for name in SEVEN} == dict.fromkeys(SEVEN, 1.0)


def test_a_page_without_any_text_scores_exactly_one_against_itself(strict):
    picture = f'<img src="{PIXEL}" width="300" height="200">'
    assert strict(picture, picture)["mean_without_clip"] == 1.0


# What makes a difference


def test_a_missing_section_lowers_every_score_of_blocks(strict):
    section = "<h2>Our opening hours</h2><p>Monday to Friday from nine to five.</p>"
    scores = strict(FULL + section, FULL)
    assert all(scores[name] < 0.95 for name in BLOCKS)
    assert scores["page_height"] < 1


def test_invented_content_lowers_every_score_of_blocks(strict):
    scores = strict(FULL, FULL + "<h2>Nobody asked for that</h2><p>Nor for all of these words.</p>")
    assert all(scores[name] < 0.95 for name in BLOCKS)


@pytest.mark.parametrize(
    "part",
    [
        "<label>Your name</label>",
        '<input value="Your name">',
        '<input placeholder="Your name">',
        '<img src="absent.png" alt="Your name" width="200" height="50">',
        "<select><option>Your name</select>",
        "<textarea>Your name</textarea>",
        "<button>Your name</button>",
        "<style>#x::before { content: 'Your name' }</style><b id='x'></b>",
    ],
)
def test_text_counts_wherever_it_is(strict, part):
    assert strict(FULL + part, FULL)["text"] < 1
    assert strict(FULL + part, FULL + part.replace("Your name", "Qwx zzz"))["text"] < 1


def test_a_missing_picture_lowers_layout_and_structure_and_nothing_about_text(strict):
    picture = f'<img src="{PIXEL}" width="500" height="300" style="display: block">'
    scores = strict(FULL + picture, FULL + '<div style="height: 300px"></div>')
    assert scores["layout"] < 0.7
    assert scores["ssim"] < 1
    assert [scores[name] for name in BLOCKS] == [1, 1, 1, 1]


def test_a_missing_control_lowers_layout(strict):
    box = '<input style="width: 300px; height: 40px; display: block">'
    space = '<div style="height: 40px"></div>'
    assert strict(FULL + box, FULL + space)["layout"] < 0.95


def test_another_background_lowers_structure_only(strict):
    dark = f'<div style="background: #ffd">{FULL}</div>'
    darker = f'<div style="background: #889">{FULL}</div>'
    scores = strict(dark, darker)
    assert scores["ssim"] < 0.9
    assert scores["text"] == scores["position"] == scores["layout"] == 1


def test_a_page_of_another_length_loses_height_and_position(strict):
    gap = '<div style="height: 2000px"></div>'
    scores = strict(FULL + "<p>The end</p>", FULL + gap + "<p>The end</p>")
    assert scores["page_height"] < 0.3
    assert scores["position"] < 0.95
    assert scores["text"] == 1


def test_colours_of_texts_count(strict):
    scores = strict(FULL, f'<div style="color: #c00">{FULL}</div>')
    assert scores["color"] < 0.9
    assert scores["text"] == scores["block_match"] == 1


def test_what_nobody_sees_makes_no_difference(strict):
    hidden = (
        '<p style="display: none">Hidden</p>'
        '<p style="position: absolute; top: 600px; color: white">White on white</p>'
    )
    scores = strict(FULL, f'<div style="background: white">{FULL}</div>{hidden}')
    assert scores["mean_without_clip"] == 1.0


def test_an_unseen_wrapper_makes_no_difference_whatever_reaches_its_edges(strict):
    footer = '<div style="background: #246; color: #fff; padding: 20px">The footer</div>'
    assert strict(FULL + footer, f'<div style="background: #fff">{FULL}{footer}</div>') == strict(
        FULL + footer, FULL + footer
    )


def test_repeated_texts_are_matched_where_they_are(strict):
    row = '<p style="margin: 0; height: 40px"><b>Buy</b> <i>Sell</i> <b>Buy</b></p>'
    scores = strict(row * 12, row * 9)
    assert scores["position"] == pytest.approx(2 * 9 / (12 + 9), abs=0.01)


# Layout, by itself

coordinates = st.integers(0, 300)
boxes = st.lists(
    st.tuples(coordinates, coordinates, st.integers(1, 120), st.integers(1, 120)), max_size=4
)
kinds = st.tuples(boxes, boxes)


@settings(max_examples=60)
@given(kinds, kinds)
def test_layout_is_a_fraction_without_a_direction(a, b):
    overlap = layout_overlap(a, b, 430, 430)
    assert 0 <= overlap <= 1
    assert layout_overlap(b, a, 430, 430) == overlap


@settings(max_examples=60)
@given(kinds)
def test_layout_of_a_page_with_itself_is_one_and_with_an_empty_page_zero(a):
    assert layout_overlap(a, a, 430, 430) == 1
    assert layout_overlap(a, ((), ()), 430, 430) == (0 if any(a) else 1)


@settings(max_examples=60)
@given(kinds, kinds)
def test_taking_over_a_thing_of_the_other_page_never_lowers_layout(ours, theirs):
    more = tuple([*mine, *yours[:1]] for mine, yours in zip(ours, theirs, strict=True))
    before = layout_overlap(ours, theirs, 430, 430)
    assert layout_overlap(more, theirs, 430, 430) >= before


def test_the_same_place_counts_only_for_the_same_kind():
    box = [(0, 0, 100, 100)]
    assert layout_overlap((box, []), ([], box), 200, 200) == 0
    assert layout_overlap((box, box), (box, []), 200, 200) == 0.5


@pytest.mark.parametrize("line", [(0, 101, 400, 1), (101, 0, 1, 400), (399, 399, 1, 1)])
def test_thin_lines_count(line):
    assert layout_overlap(([line],), ([],), 400, 400) == 0
    assert layout_overlap(([line],), ([line],), 400, 400) == 1


def test_half_a_box_is_half_the_layout():
    overlap = layout_overlap(([(0, 0, 80, 40)],), ([(0, 0, 160, 40)],), 400, 400)
    assert overlap == pytest.approx(0.5)


# Structure and CLIP, by themselves


def test_structure_has_values_for_pictures_of_any_size():
    tiny, white = np.zeros((1, 1, 3), np.uint8), np.full((900, 7, 3), 255, np.uint8)
    assert structure(tiny, tiny) == 1
    assert 0 <= structure(tiny, white) <= 1


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1))
def test_likeness_above_blank_is_a_fraction_that_grows_with_similarity(low, high, blank):
    low, high = sorted((low, high))
    assert 0 <= above_blank(low, blank) <= above_blank(high, blank) <= 1


def test_likeness_above_blank_is_zero_at_blank_and_one_at_sameness():
    assert above_blank(0.8, 0.8) == 0
    assert above_blank(1.0, 0.8) == 1
    assert above_blank(0.9, 0.8) == pytest.approx(0.5)
    assert above_blank(0.5, 0.8) == 0
    assert above_blank(1.0, 1.0) == 1


def test_the_commonest_colour_is_that_of_most_pixels_however_large_a_page_is():
    for height in (40, 40_000):
        page = np.full((height, 30, 3), (1, 2, 3), np.uint8)
        page[: height // 4] = (200, 100, 50)
        assert commonest_colour(page) == (1, 2, 3)


@given(st.tuples(*[st.integers(0, 255)] * 3), st.integers(50, 400), st.integers(50, 400))
@settings(max_examples=25, deadline=None)
def test_a_page_in_one_colour_looks_the_same_to_clip_in_every_size(colour, width, height):
    page, square = (np.full((*size, 3), colour, np.uint8) for size in ((height, width), (224, 224)))
    assert np.array_equal(preprocess(page), preprocess(square))


def test_the_final_score_is_the_mean_of_all_eight_and_absent_without_clip():
    seven = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    assert StrictScores(*seven, None).final is None
    assert StrictScores(*seven, None).mean_without_clip == pytest.approx(0.4)
    assert StrictScores(*seven, 0.8).mean_without_clip == pytest.approx(0.4)
    assert StrictScores(*seven, 0.8).final == pytest.approx(0.45)


@pytest.mark.parametrize(
    "style",
    [
        "body { background: linear-gradient(red, blue) }",
        "p::before { content: ''; display: block; height: 90px; background: red }",
        "p { height: 50px; box-shadow: 0 0 9px #000 }",
    ],
)
def test_an_empty_page_scores_zero_against_one_that_only_paints(strict, style):
    page = f"<style>{style}</style><p></p>"
    assert {name: strict(page, "")[name] for name in SEVEN} == dict.fromkeys(SEVEN, 0.0)
    assert {name: strict("", page)[name] for name in SEVEN} == dict.fromkeys(SEVEN, 0.0)
    assert {name: strict(page, page)[name] for name in SEVEN} == dict.fromkeys(SEVEN, 1.0)


def test_a_margin_is_charged_once_under_position(strict):
    page = "".join(f"<h2>Part {n}</h2><p>What is said about {n} in one line.</p>" for n in range(9))
    pushed = page.replace("<h2>Part 2", '<h2 style="margin-top: 80px">Part 2')
    scores = strict(page, pushed)
    assert scores["position"] < 1
    assert all(scores[name] > 0.99 for name in ("layout", "page_height"))
    assert scores["ssim"] > 0.85  # lines are drawn on whole pixels, some of them one lower


def test_a_margin_that_makes_up_for_a_missing_text_does_not_pay(strict):
    page = "".join(f"<h2>Part {n}</h2><p>What is said about {n} in one line.</p>" for n in range(9))
    short = page.replace("<p>What is said about 2 in one line.</p>", "")
    made_up = short.replace("<h2>Part 5", '<h2 style="margin-top: 59px">Part 5')
    assert strict(page, made_up)["position"] < strict(page, short)["position"] < 1


TALE = """
<h1>Boats for hire on the northern lake</h1><h2>Every summer since nineteen sixty</h2>
<p>Come early in the morning, when the water is calm and herons stand between the reeds.</p>
<p>Children under twelve wear a vest; we bring one in every size to the wooden pier.</p>
<ul><li>Rowing boat with two seats</li><li>Sailing dinghy for beginners</li></ul>
"""


def shuffled(page, pattern, seed=3):
    """A page with the pieces that match a pattern in another order, where they were."""
    rng = random.Random(seed)
    pieces = re.findall(pattern, page)
    order = iter(rng.sample(pieces, len(pieces)))
    return re.sub(pattern, lambda _: next(order), page)


def of_letters(page):
    """A page with the letters of each word in another order."""
    rng = random.Random(3)
    return re.sub(
        r"(?<![<\w/])\w{2,}(?!\w*>)", lambda word: "".join(rng.sample(word[0], len(word[0]))), page
    )


@pytest.mark.parametrize("shuffle", ["words", "letters"])
def test_shuffled_words_or_letters_are_worth_no_more_than_other_words(judge, strict, shuffle):
    # Other words of the same length, so that all else is equal.
    other = iter("abcdefghijklmnopqrstuvwxyz" * 100)
    words = r"(?<![<\w/])\w+(?!\w*>)"
    others = re.sub(words, lambda word: next(other) * len(word[0]), TALE)
    page = of_letters(TALE) if shuffle == "letters" else shuffled(TALE, words)
    assert page != TALE
    ours, theirs = strict(TALE, page), strict(TALE, others)
    assert all(ours[name] <= theirs[name] + 0.02 for name in BLOCKS), ours
    sources = [PageSource.from_html(f"<html><body>{one}</body></html>") for one in (TALE, page)]
    assert judge.compare(*sources)[0].scores["human"] <= 0.02


WORD = r"(?<![<\w/])\w+(?!\w*>)"


def scattered(page):
    """The words of a page in their order, each at a random place."""
    rng = random.Random(3)
    style = "position: absolute; left: {}px; top: {}px"
    words = re.findall(WORD, page)
    places = [style.format(rng.randrange(1000), rng.randrange(800)) for _ in words]
    return "".join(f"<b style='{at}'>{word}</b>" for at, word in zip(places, words, strict=True))


def reordered(page):
    """A page with its words in their order, each shown somewhere else in its line."""
    rng = random.Random(3)
    shown = re.sub(WORD, lambda word: f"<b style='order: {rng.randrange(99)}'>{word[0]}</b>", page)
    return f"<style>h1, h2, p, li {{ display: flex; gap: 1ch }}</style>{shown}"


@pytest.mark.parametrize("shuffle", [scattered, reordered])
def test_words_shuffled_on_the_screen_are_worth_no_more_than_other_words(judge, strict, shuffle):
    other = iter("abcdefghijklmnopqrstuvwxyz" * 100)
    others = shuffle(re.sub(WORD, lambda word: next(other) * len(word[0]), TALE))
    page = shuffle(TALE)
    ours, theirs = strict(TALE, page), strict(TALE, others)
    assert all(ours[name] <= theirs[name] + 0.02 for name in BLOCKS), ours
    sources = [PageSource.from_html(f"<html><body>{one}</body></html>") for one in (TALE, page)]
    assert judge.compare(*sources)[0].scores["human"] <= 0.02


def test_parts_of_a_text_that_follow_each_other_are_read_as_one(strict):
    text = "Rowing boats and <b>sailing dinghies</b> for everybody who can swim, <i>even you</i>. "
    page = f"<div style='width: 200px'>{text}</div>"  # four lines
    plain = re.sub("</?[bi]>", "", page)
    assert strict(page, plain)["text"] > 0.98
    assert strict(plain, page)["text"] > 0.98


def test_a_word_that_differs_costs_little(strict):
    scores = strict(TALE, TALE.replace("herons", "swans").replace("beginners", "beginers"))
    assert scores["block_match"] > 0.99
    assert 0.95 < scores["text"] < 1


def test_a_dot_far_below_does_not_make_a_page_longer(strict):
    page = f"{FULL}<div style='margin-top: 40px'>{TALE}</div>" * 4
    short = FULL
    dot = f"{short}<i style='position: absolute; top: 2000px; left: 8px'>x</i>"
    more = strict(page, dot)["page_height"] - strict(page, short)["page_height"]
    assert 0 < more < 0.15  # 120 pixels and a line


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(1, 90)), max_size=9), st.booleans())
def test_a_page_is_as_high_as_its_content_and_short_blanks(spans, is_other_blank):
    rows = rows_with_content([[(0.0, top, 9.0, height) for top, height in spans]], 1000)
    end = max((top + height for top, height in spans), default=0)
    height = content_height(rows, np.full(1000, not is_other_blank))
    filled = np.count_nonzero(rows)
    if is_other_blank:
        assert height == end
    else:
        assert filled <= height <= min(end, filled + MOST_BLANK * len(spans))


def test_a_blank_stretch_counts_where_the_other_page_is_blank_too(strict):
    page = FULL + "<div style='margin-top: {}px'>" + TALE + "</div>"
    assert strict(page.format(900), page.format(880))["page_height"] > 0.97
