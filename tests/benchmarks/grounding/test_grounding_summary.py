from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from grounding_records import WHOLE_LOOK, assisted, click, failed, hit, scored

from uiproof.benchmarks.grounding.cases import Answer
from uiproof.benchmarks.grounding.judge import METRICS
from uiproof.benchmarks.grounding.results import compare, metrics_of
from uiproof.benchmarks.grounding.summary import summarise
from uiproof.geometry import Box
from uiproof.stats.intervals import clustered_mean, clustered_rate


def call(network, queue=0.0, cached=False):
    return {"network_seconds": network, "queue_seconds": queue, "cached": cached}


def example():
    """Ten cases on three screenshots, one of every kind."""
    text, icon = {"group": "web text"}, {"group": "web icon"}
    return [
        scored(
            "a/1",
            hit(confidence=0.9, looks=(WHOLE_LOOK, WHOLE_LOOK)),
            side=20,
            tags=text,
            calls=[call(1.0, 0.5), call(2.0, 0.5)],
        ),
        scored("a/2", hit(confidence=0.4), side=32, tags=text, calls=[call(3.0, 9.0, cached=True)]),
        # 10 px to the right of its box, which reaches from 100 to 150.
        scored("a/3", click(160, 110, confidence=0.9), side=50, tags=icon, calls=[call(4.0, 2.0)]),
        scored("b/1", click(850, 850), side=100, kind="icon", tags=icon),  # on the other element
        scored("b/2", click(600, 110), side=101, kind="icon", tags=text),  # 399 px off
        scored("b/3", click(-10, 110), side=50, tags=text),
        scored("b/4", Answer(refused=True), side=50, tags=text),
        scored("c/1", Answer(refused=True), refusal=True, tags=icon),
        scored("c/2", hit(), refusal=True, tags=icon),
        scored("c/3", Answer(), side=50, tags=text),
    ]


def test_every_case_counts_in_the_accuracy_whose_interval_is_the_same_everywhere():
    accuracy = summarise(example())["scores"]["accuracy"]
    right = [1, 1, 0, 0, 0, 0, 0, 1, 0, 0]
    screens = list("aaabbbbccc")
    expected = clustered_rate(right, screens)
    assert accuracy == {**expected._asdict(), "hits": 3}
    assert (accuracy["mean"], accuracy["n"], accuracy["clusters"]) == (0.3, 10, 3)
    results = metrics_of(example(), method="m", dataset="d")
    assert results.interval == expected
    [ranked] = compare([results])["ranking_by_detection_rate"]
    assert (ranked["low"], ranked["high"], ranked["clusters"]) == (expected.low, expected.high, 3)


def test_rates_without_a_hit_or_a_miss_are_not_certain():
    screens = [f"s{i // 2}/{i}" for i in range(24)]
    for answer, rate in ((hit(), 1.0), (click(500, 500), 0.0)):
        accuracy = summarise([scored(one, answer) for one in screens])["scores"]["accuracy"]
        assert accuracy["mean"] == rate
        assert accuracy["high"] - accuracy["low"] > 0.2


def test_the_macro_mean_weighs_the_cells_of_the_set_the_same():
    summary = summarise(example())
    macro = summary["scores"]["macro"]
    # Text has 2 of 6 and icon 1 of 4.
    assert macro["mean"] == pytest.approx((2 / 6 + 1 / 4) / 2)
    assert (macro["n"], macro["cells"], macro["over"]) == (10, 2, "group")
    cells = ["t", "t", "i", "i", "t", "t", "t", "i", "i", "t"]
    expected = clustered_mean([1, 1, 0, 0, 0, 0, 0, 1, 0, 0], list("aaabbbbccc"), cells=cells)
    assert (macro["high"], macro["no_interval"]) == (expected.high, "fewer than 8 clusters")
    assert summary["macro"] == macro


def test_without_cells_the_macro_mean_is_over_categories_or_else_over_types():
    records = [
        scored("a/1", hit(), tags={"text": "yes", "small": "yes"}),
        scored("b/1", click(500, 500), tags={"text": "yes"}),
        scored("c/1", hit(), tags={"small": "yes"}),
        scored("d/1", click(500, 500), tags={}),
    ]
    macro = summarise(records)["macro"]
    assert macro["mean"] == pytest.approx((1 + 0.5) / 2)  # small 2 of 2, text 1 of 2
    assert (macro["over"], macro["n"], macro["cells"]) == ("small, text", 3, 2)
    plain = [scored("a/1", hit(), kind="icon"), scored("b/1", click(5, 5)), scored("c/1", hit())]
    macro = summarise(plain)["macro"]
    assert (macro["mean"], macro["over"]) == (pytest.approx((1 + 0.5) / 2), "element_type")


def test_rates_are_split_by_size_type_and_tag_with_their_numbers():
    summary = summarise(example())
    by_size = {name: (cell["hits"], cell["n"]) for name, cell in summary["by_size"].items()}
    # 20 px is small; 32, 50 and 100 are medium; 101 is large; refusals have no size.
    assert by_size == {"small": (1, 1), "medium": (1, 6), "large": (0, 1)}
    by_area = {name: (cell["hits"], cell["n"]) for name, cell in summary["by_area"].items()}
    # 0.0004 is small, 0.001024 and 0.0025 are medium, 0.01 and more is large.
    assert by_area == {"small": (1, 1), "medium": (1, 5), "large": (0, 2)}
    by_type = {name: (cell["hits"], cell["n"]) for name, cell in summary["by_type"].items()}
    assert by_type == {"button": (2, 6), "icon": (0, 2)}
    group = summary["by_tag"]["group"]
    assert {name: cell["n"] for name, cell in group["cells"].items()} == {
        "web icon": 4,
        "web text": 6,
    }
    assert group["macro"]["mean"] == pytest.approx((2 / 6 + 1 / 4) / 2)
    medium = summary["by_size"]["medium"]
    expected = clustered_rate([1, 0, 0, 0, 0, 0], list("aabbbc"))
    assert (medium["mean"], medium["low"], medium["high"]) == expected[:3]
    assert "32" in summary["rules"]["size"]
    assert "0.001" in summary["rules"]["area"]


def test_verdicts_distances_and_refusals_are_counted():
    summary = summarise(example())
    assert summary["verdicts"] == {
        "hit": 2,
        "correct_refusal": 1,
        "wrong_element": 1,
        "near_miss": 1,
        "miss": 1,
        "outside": 1,
        "refused": 1,
        "false_point": 1,
        "unparseable": 1,
    }
    assert summary["near_miss"] == {"n": 1, "median_px": 10.0, "p90_px": 10.0}
    far = [10, np.hypot(650, 650), 399, 110]
    assert summary["all_misses"]["n"] == 4
    assert summary["all_misses"]["median_px"] == pytest.approx(np.median(far), abs=0.001)
    refusals = summary["refusals"]
    assert refusals["n"] == 2
    assert (refusals["precision"]["mean"], refusals["precision"]["n"]) == (0.5, 2)
    assert (refusals["recall"]["mean"], refusals["recall"]["n"]) == (0.5, 2)
    assert refusals["false_points"] == 1
    without = summary["without_refusals"]
    assert (without["hits"], without["n"]) == (2, 8)
    assert (summary["wrong_format"]["mean"], summary["wrong_format"]["n"]) == (0.1, 10)
    assert (summary["n"], summary["failed"], summary["screens"]) == (10, 0, 3)
    assert summary["incomplete"] is False


def test_latency_is_that_of_calls_and_waiting_is_apart():
    latency = summarise(example())["latency"]
    assert latency["per_call"]["n"] == 4
    assert latency["per_call"]["mean"] == pytest.approx((1 + 2 + 3 + 4) / 4)
    assert latency["per_call"]["p50"] == 2.5
    assert latency["per_call"]["p95"] == pytest.approx(3.85)
    # What came from the cache did not wait.
    assert latency["queue"]["n"] == 3
    assert latency["queue"]["mean"] == pytest.approx(1.0)
    # The first case made two calls; seven made none and took half a second each.
    assert latency["per_case"]["n"] == 10
    assert latency["per_case"]["mean"] == pytest.approx((3 + 3 + 4 + 7 * 0.5) / 10)
    assert latency["cached_calls"] == 1
    assert summarise(example())["attempts"] == {"mean": 1.1, "n": 10}


def test_confidence_gives_accuracy_and_coverage_at_thresholds():
    curve = {point["threshold"]: point for point in summarise(example())["confidence"]}
    assert curve[0.0]["coverage"] == 0.3  # three of ten say how sure they are
    assert (curve[0.0]["accuracy"]["hits"], curve[0.0]["accuracy"]["n"]) == (2, 3)
    assert curve[0.5]["coverage"] == 0.2
    assert curve[0.5]["accuracy"]["mean"] == 0.5
    assert curve[0.95] == {"threshold": 0.95, "coverage": 0.0, "accuracy": None}
    assert summarise([scored("a/1", hit())])["confidence"] is None


def test_a_server_error_is_no_verdict_but_stays_in_the_denominator():
    records = [
        scored("a/1", hit(), side=20),
        failed("a/2", "model", side=20),
        failed("b/1", "answer_empty", side=50),
        failed("c", "input", broken=True),
    ]
    summary = summarise(records)
    assert (summary["incomplete"], summary["server_errors"]) == (True, 1)
    assert summary["not_measured"] == 2  # the server's and the one that could not be loaded
    assert summary["errors"] == {"answer_empty": 1, "input": 1, "model": 1}
    assert summary["verdicts"] == {"hit": 1}
    assert (summary["scores"]["accuracy"]["hits"], summary["scores"]["accuracy"]["n"]) == (1, 4)
    assert (summary["by_size"]["small"]["hits"], summary["by_size"]["small"]["n"]) == (1, 2)
    assert (summary["without_errors"]["hits"], summary["without_errors"]["n"]) == (1, 2)
    assert summary["wrong_format"]["hits"] == 1
    assert summary["failed"] == 3
    own = summarise([scored("a/1", hit()), failed("b/1", "answer")])
    assert own["incomplete"] is False


def test_assisted_runs_say_so_and_never_have_an_accuracy():
    records = [
        scored("a/1", assisted(True, 0.8)),
        scored("a/2", assisted(True, 0.4, answer=click(500, 500))),
        scored("b/1", assisted(True, 0.0, answer=click(500, 500))),
        scored("b/2", assisted(False, 0.0, answer=click(500, 500), errors=("500", "500"))),
        failed("c/1", "method"),
    ]
    summary = summarise(records)
    scores = summary["scores"]
    assert summary["assisted"] is True
    assert (scores["accuracy"], scores["macro"]) == (None, None)
    assert (scores["detected"]["hits"], scores["detected"]["n"]) == (3, 5)
    assert (scores["blind_hit"]["hits"], scores["blind_hit"]["n"]) == (1, 5)
    assert scores["iou"]["mean"] == pytest.approx((0.8 + 0.4) / 5)
    # As the described framework has it: over what was found and overlaps.
    assert summary["mean_iou_found"] == {"mean": pytest.approx(0.6), "n": 2}
    assert summary["region_errors"] == {"looks": 2, "misses": 1}
    assert summary["incomplete"] is True  # a look that failed may be why the last was not found
    assert summary["macro"]["mean"] == pytest.approx(0.6)


def test_boxes_of_blind_answers_are_compared_over_all_elements_that_exist():
    records = [
        scored("a/1", Answer(box=Box(0.1, 0.1, 0.05, 0.025))),
        scored("b/1", click(500, 500)),
        scored("c/1", Answer(refused=True), refusal=True),
    ]
    summary = summarise(records)
    assert (summary["scores"]["iou"]["mean"], summary["scores"]["iou"]["n"]) == (0.25, 2)
    assert summary["mean_iou_found"] == {"mean": 0.5, "n": 1}
    assert summarise([scored("a/1", hit())])["scores"]["iou"] is None


def test_a_perfect_run_does_not_claim_certainty():
    records = [scored(f"{sample}/1", hit()) for sample in range(20)]
    accuracy = summarise(records)["scores"]["accuracy"]
    assert (accuracy["mean"], accuracy["high"]) == (1.0, 1.0)
    assert 0.75 < accuracy["low"] < 0.9


def test_no_records_are_summed_up_too_and_everything_is_json():
    empty = summarise([])
    assert (empty["n"], empty["scores"]["accuracy"], empty["incomplete"]) == (0, None, False)
    for summary in (empty, summarise(example()), summarise([failed("c", "input", broken=True)])):
        assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_what_was_unusual_is_counted():
    flagged = replace(scored("a/1", hit()), flags=("answer:truncated", "answer:fenced"))
    summary = summarise([flagged, replace(flagged, id="a/2", flags=("answer:fenced",))])
    assert summary["flags"] == {"answer:fenced": 2, "answer:truncated": 1}


def test_every_column_of_the_table_has_its_score():
    scores = summarise(example())["scores"]
    assert all(metric.key in scores for metric in METRICS)
