from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import dist, nan
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from uiproof.benchmark import Case, Record
from uiproof.benchmarks.grounding.cases import Answer, AssistedFinding, Look, Question, Truth
from uiproof.benchmarks.grounding.data import AnnotatedElement, ElementType
from uiproof.benchmarks.grounding.judge import (
    NEAR,
    ClickVerdict,
    GroundingJudge,
    distance_to_polygon,
    is_hit,
    judge_answer,
)
from uiproof.engine.rundir import decode, encode
from uiproof.geometry import Box, PixelBox

WIDTH, HEIGHT = 1000, 500


def element(name="target", box=(100, 100, 200, 150), **more):
    """An element with a box of corners in pixels."""
    left, top, right, bottom = box
    bbox = Box(left / WIDTH, top / HEIGHT, (right - left) / WIDTH, (bottom - top) / HEIGHT)
    return AnnotatedElement(name, bbox, "OK", ElementType.BUTTON, "Click OK", **more)


def truth(target=None, *others):
    target = target or element()
    return Truth("screen", target, (target, *others), WIDTH, HEIGHT, {"platform": "web"})


def click(x, y, **more):
    return Answer(point=(x / WIDTH, y / HEIGHT), **more)


def outline(*corners):
    return tuple((x / WIDTH, y / HEIGHT) for x, y in corners)


# Verdicts


@pytest.mark.parametrize("corner", [(100, 100), (200, 100), (200, 150), (100, 150), (150, 120)])
def test_a_click_inside_or_on_the_edge_is_a_hit(corner):
    found = judge_answer(click(*corner), truth())
    assert (found.verdict, found.correct, found.distance_px) == (ClickVerdict.HIT, True, 0.0)
    assert found.element_id == "target"


@given(st.data())
def test_whole_pixels_hit_exactly_as_whole_numbers_compare(data):
    width, height = data.draw(st.integers(2, 8000)), data.draw(st.integers(2, 8000))
    left, right = sorted(data.draw(st.lists(st.integers(0, width), min_size=2, max_size=2)))
    top, bottom = sorted(data.draw(st.lists(st.integers(0, height), min_size=2, max_size=2)))
    x = data.draw(st.integers(max(left - 2, 0), min(right + 2, width)))
    y = data.draw(st.integers(max(top - 2, 0), min(bottom + 2, height)))
    box = PixelBox(left, top, right, bottom).normalised(width, height)
    target = AnnotatedElement("e", box, "", ElementType.TEXT, "")
    expected = left <= x <= right and top <= y <= bottom
    assert is_hit(target, (x / width, y / height), width, height) is expected


def test_a_click_on_another_element_names_the_smallest_one_there():
    window, button = element("window", (0, 0, 900, 400)), element("other", (400, 200, 500, 260))
    found = judge_answer(click(450, 230), truth(None, window, button))
    assert (found.verdict, found.element_id) == (ClickVerdict.WRONG_ELEMENT, "other")
    assert found.distance_px == pytest.approx(dist((450, 230), (200, 150)))
    assert judge_answer(click(150, 120), truth(None, window)).verdict == ClickVerdict.HIT
    assert judge_answer(click(210, 120), truth(None, window)).element_id == "window"


def test_near_and_far_are_told_apart_by_the_diagonal():
    radius = NEAR * dist((0, 0), (WIDTH, HEIGHT))
    near, far = (judge_answer(click(200 + radius + more, 120), truth()) for more in (-0.01, 0.01))
    assert (near.verdict, far.verdict) == (ClickVerdict.NEAR_MISS, ClickVerdict.MISS)
    assert near.distance_px == pytest.approx(radius - 0.01)
    # Off a corner the distance goes across.
    assert judge_answer(click(203, 154), truth()).distance_px == pytest.approx(5)


@pytest.mark.parametrize("point", [(-1, 120), (1001, 120), (150, -0.5), (150, 501)])
def test_a_point_that_is_not_on_the_screenshot_is_reported_and_not_moved(point):
    found = judge_answer(click(*point), truth(element(box=(0, 0, 1000, 500))))
    assert (found.verdict, found.correct) == (ClickVerdict.OUTSIDE, False)
    assert found.distance_px >= 0.5
    assert (
        judge_answer(click(1000, 500), truth(element(box=(0, 0, 1000, 500)))).verdict
        == ClickVerdict.HIT
    )


def test_refusals_are_right_only_where_nothing_is_there():
    nothing = truth(element(box=(0, 0, 0, 0), refusal=True), element("other", (0, 0, 9, 9)))
    assert judge_answer(Answer(refused=True), nothing).verdict == ClickVerdict.CORRECT_REFUSAL
    assert judge_answer(Answer(refused=True), nothing).correct
    assert judge_answer(click(0, 0), nothing).verdict == ClickVerdict.FALSE_POINT
    assert judge_answer(Answer(), nothing).verdict == ClickVerdict.UNPARSEABLE
    found = judge_answer(Answer(refused=True), truth())
    assert (found.verdict, found.correct, found.distance_px) == (ClickVerdict.REFUSED, False, None)
    # What is not there cannot be clicked by mistake.
    assert judge_answer(click(0, 0), truth(None, nothing.element)).verdict == ClickVerdict.MISS


@pytest.mark.parametrize("answer", [Answer(), Answer(point=(nan, 0.5)), Answer(point=(9e999, 0))])
def test_what_cannot_be_understood_is_unparseable(answer):
    assert judge_answer(answer, truth()).verdict == ClickVerdict.UNPARSEABLE


def test_a_box_clicks_its_middle_and_is_compared_with_the_box_of_the_element():
    found = judge_answer(Answer(box=element(box=(100, 100, 150, 150)).bbox), truth())
    assert (found.verdict, found.iou) == (ClickVerdict.HIT, pytest.approx(0.5))
    aside = judge_answer(Answer(box=element(box=(170, 100, 270, 150)).bbox), truth())
    assert (aside.verdict, aside.iou) == (ClickVerdict.NEAR_MISS, pytest.approx(30 / 170))
    assert aside.distance_px == pytest.approx(20)
    assert judge_answer(click(150, 120), truth()).iou is None


def test_the_clickable_area_counts_beside_what_is_drawn():
    target = element(clickable=element(box=(90, 90, 190, 160)).bbox)
    for point in [(92, 92), (199, 120), (150, 120)]:
        assert judge_answer(click(*point), truth(target)).verdict == ClickVerdict.HIT
    assert judge_answer(click(199, 158), truth(target)).verdict == ClickVerdict.NEAR_MISS


def test_an_outline_counts_instead_of_the_box_around_it():
    triangle = element(polygon=outline((100, 100), (200, 100), (100, 150)))
    assert judge_answer(click(110, 110), truth(triangle)).verdict == ClickVerdict.HIT
    assert (
        judge_answer(click(150, 125), truth(triangle)).verdict == ClickVerdict.HIT
    )  # on the slanted edge
    found = judge_answer(click(200, 150), truth(triangle))
    assert found.verdict == ClickVerdict.MISS
    assert found.distance_px == pytest.approx(100 * 50 / dist((0, 0), (100, 50)))


# Polygons

corners = st.tuples(st.integers(0, 12), st.integers(0, 12))


def on_segment(point, a, b):
    cross = (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0])
    inside = all(min(a[i], b[i]) <= point[i] <= max(a[i], b[i]) for i in (0, 1))
    return cross == 0 and inside


def slow_inside(point, polygon):
    """Crossings of a slanted ray that meets no corner, in exact numbers."""
    pairs = list(zip(polygon, polygon[1:] + polygon[:1], strict=True))
    if any(on_segment(point, a, b) for a, b in pairs):
        return True
    slope = Fraction(1, 1000003)
    above = [y - point[1] - slope * (x - point[0]) for x, y in polygon]
    crossings = 0
    for i, (a, b) in enumerate(pairs):
        first, second = above[i], above[(i + 1) % len(polygon)]
        if (first > 0) != (second > 0):
            crossings += a[0] + first / (first - second) * (b[0] - a[0]) > point[0]
    return crossings % 2 == 1


@given(st.lists(corners, min_size=3, max_size=9), corners)
def test_inside_of_a_polygon_agrees_with_exact_numbers(polygon, point):
    distance = distance_to_polygon(point, polygon)
    assert (distance < 1e-9) is slow_inside(point, polygon)


@given(st.lists(corners, min_size=3, max_size=7), corners)
def test_the_distance_to_a_polygon_is_that_to_its_nearest_edge(polygon, point):
    assume(not slow_inside(point, polygon))
    edges = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    steps = [k / 500 for k in range(501)]
    nearest = min(
        dist(point, (a[0] + k * (b[0] - a[0]), a[1] + k * (b[1] - a[1])))
        for a, b in edges
        for k in steps
    )
    assert distance_to_polygon(point, polygon) == pytest.approx(nearest, abs=0.02)


@given(st.lists(corners, min_size=3, max_size=7), corners, st.integers(0, 6))
def test_where_a_polygon_begins_and_which_way_it_goes_does_not_matter(polygon, point, start):
    turned = polygon[start % len(polygon) :] + polygon[: start % len(polygon)]
    here = distance_to_polygon(point, polygon)
    assert distance_to_polygon(point, turned) == pytest.approx(here, abs=1e-9)
    assert distance_to_polygon(point, polygon[::-1]) == pytest.approx(here, abs=1e-9)


places, lengths = st.floats(0, 1), st.floats(1e-4, 1)
boxes = st.builds(Box, places, places, lengths, lengths)


@given(boxes, boxes)
def test_the_overlap_of_boxes_is_symmetric_and_a_share(a, b):
    assert 0 <= a.iou(b) <= 1
    assert a.iou(b) == b.iou(a)
    assert a.iou(a) == pytest.approx(1)
    assert a.iou(Box(a.x, a.y, 0, 0)) == 0


# The judge


def case(target=None, *others):
    return Case("screen/target", Question(Path("a.png"), WIDTH, HEIGHT, "Click"), truth(target))


def test_a_blind_answer_scores_accuracy_overlap_and_distance():
    judge = GroundingJudge()
    good = judge.score(case(), Answer(box=element().bbox))
    assert good.scores == {"accuracy": 1.0, "iou": 1.0, "distance_px": 0.0}
    bad = judge.score(case(), click(210, 120))
    assert bad.scores == {"accuracy": 0.0, "iou": None, "distance_px": 10.0}


def test_an_assisted_answer_scores_by_its_own_rule_with_the_blind_one_beside():
    finding = AssistedFinding(True, 0.4, "OK", ("HTTP 500",))
    score = GroundingJudge().score(case(), click(210, 120, assisted=finding))
    assert score.scores == {"detected": 1.0, "iou": 0.4, "blind_hit": 0.0, "distance_px": 10.0}
    assert "accuracy" not in score.scores
    assert score.details["assisted"]["region_errors"] == ["HTTP 500"]
    assert score.details["verdict"] == "near_miss"


def test_details_hold_what_a_report_draws():
    look = Look(Box(0.1, 0.1, 0.5, 0.5), (800, 400), "x" * 5000, (0.15, 0.24))
    target = element(
        polygon=outline((100, 100), (200, 100), (100, 150)),
        clickable=Box(0.1, 0.2, 0.2, 0.2),
    )
    answer = click(150, 120, looks=(look, look), confidence=0.7, notes=("left of the menu",))
    details = GroundingJudge().score(case(target), answer).details
    assert details["truth"]["bbox"] == [0.1, 0.2, 0.1, 0.1]
    assert details["truth"]["clickable"] == [0.1, 0.2, 0.2, 0.2]
    assert len(details["truth"]["polygon"]) == 3
    assert details["answer"]["click"] == [0.15, 0.24]
    assert details["answer"]["confidence"] == 0.7
    assert (details["verdict"], details["hit_element"]) == ("hit", "target")
    assert (details["width"], details["height"], details["image"]) == (WIDTH, HEIGHT, "a.png")
    assert (details["instruction"], details["tags"]) == ("Click", {"platform": "web"})
    assert (details["sample"], details["element"]) == ("screen", "target")
    assert details["attempts"] == 2
    assert details["looks"][0]["region"] == [0.1, 0.1, 0.5, 0.5]
    assert len(details["looks"][0]["raw"]) < 2100
    assert details["looks"][0]["raw"].endswith("(3000 characters more)")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(point=(nan, 0.2), confidence=nan),
        Answer(box=Box(nan, 0, 1, 1)),
        Answer(point=(1e308, -1e308)),
        Answer(point=(0.1, 0.2), assisted=AssistedFinding(False, nan)),
    ],
)
def test_whatever_is_answered_can_be_written_down(answer):
    score = GroundingJudge().score(case(), answer)
    record = Record("a/b", "scored", score.scores, details=score.details)
    assert json.loads(encode(record))["details"] == decode(encode(record)).details


def test_a_failure_scores_nothing_but_keeps_its_place():
    judge = GroundingJudge()
    score = judge.failure(case())
    assert score.scores == {"accuracy": 0.0, "iou": None, "distance_px": None}
    assert score.details["truth"]["bbox"] == [0.1, 0.2, 0.1, 0.1]
    assert "verdict" not in score.details
    assert judge.failure(None).details == {}


def test_a_failure_of_an_assisted_run_is_one_under_its_own_rule(tmp_path):
    (tmp_path / "run.json").write_text('{"assisted": true}')
    score = GroundingJudge(tmp_path).failure(case())
    assert score.scores == {"detected": 0.0, "blind_hit": 0.0, "iou": None, "distance_px": None}
    assert "accuracy" in GroundingJudge(tmp_path / "nowhere").failure(None).scores


def test_what_a_parser_did_not_list_is_not_detected():
    missed = Answer(undetected=True, assisted=AssistedFinding(False, 0.0))
    assert judge_answer(missed, truth()).verdict == ClickVerdict.NOT_DETECTED
    assert not judge_answer(missed, truth()).correct
    absent = replace(element("no"), refusal=True)
    assert judge_answer(missed, truth(absent)).verdict == ClickVerdict.NOT_DETECTED
