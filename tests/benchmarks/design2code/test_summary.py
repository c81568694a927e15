from __future__ import annotations

import json

import numpy as np
import pytest

from uiproof.benchmark import CaseError, Record
from uiproof.benchmarks.design2code.scores import human_score
from uiproof.benchmarks.design2code.summary import KEYS, METRICS, PAPER, STRICT, summarise


def scored(case_id, value, clip=None, **rest):
    paper = dict.fromkeys(PAPER, value) | {"clip": clip}
    strict = dict.fromkeys(STRICT, value) | {"clip": clip}
    if clip is None:
        paper["final"] = strict["final"] = None
    human = human_score(value, value, value, value, clip)
    return Record(case_id, "scored", {"paper": paper, "strict": strict, "human": human}, **rest)


def failed(case_id, code="render", clip=None):
    scores = {
        "paper": dict.fromkeys(PAPER, 0.0) | {"clip": clip, "final": clip},
        "strict": dict.fromkeys(STRICT, 0.0) | {"clip": clip, "final": clip},
        "human": 0.0,
    }
    return Record(case_id, "failed", scores, error=CaseError(code, "score", "It broke."))


def test_means_have_intervals_and_what_was_not_measured_is_null():
    summary = summarise(scored(str(i), v) for i, v in enumerate([0.5, 0.7, 0.9] * 3))
    block = summary["scores"]["paper"]["block_match"]
    assert block["mean"] == pytest.approx(0.7)
    assert 0.5 <= block["low"] < 0.7 < block["high"] <= 0.9
    assert (block["n"], block["clusters"], block["no_interval"]) == (9, 9, None)
    assert summary["scores"]["paper"]["clip"] is None
    assert summary["scores"]["paper"]["final"] is None
    assert summary["scores"]["strict"]["mean_without_clip"]["mean"] == pytest.approx(0.7)
    assert summary["scores"]["human"]["variant"] == "without_clip"
    assert (summary["benchmark"], summary["n"], summary["failed"]) == ("design2code", 9, 0)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_a_failed_case_stays_in_every_denominator():
    summary = summarise([scored("1", 0.8, clip=0.9), failed("2"), scored("3", 1.0, clip=0.9)])
    assert summary["failed"] == 1
    assert summary["errors"] == {"render": 1}
    for profile in ("paper", "strict"):
        assert summary["scores"][profile]["text"]["mean"] == pytest.approx(0.6)
        assert summary["scores"][profile]["clip"]["mean"] == pytest.approx(0.6)
        assert {metric["n"] for metric in summary["scores"][profile].values()} == {3}
    human = summary["scores"]["human"]
    assert human["variant"] == "with_clip"
    assert human["n"] == 3


def test_a_score_measured_for_some_cases_has_no_mean_but_a_reason():
    summary = summarise([scored("1", 0.8, clip=0.9), scored("2", 0.8), failed("3")])
    clip = summary["scores"]["paper"]["clip"]
    assert clip == {
        "mean": None,
        "low": None,
        "high": None,
        "n": 2,
        "reason": "measured for 2 of 3 cases only",
    }
    assert summary["scores"]["paper"]["mean_without_clip"]["n"] == 3


def test_the_two_human_scales_are_never_averaged():
    summary = summarise([scored("1", 0.8, clip=0.9), scored("2", 0.8), scored("3", 0.7)])
    human = summary["scores"]["human"]
    assert human["mean"] is None
    assert human["variants"] == {"with_clip": 1, "without_clip": 2}
    assert "1 with clip, 2 without clip" in human["reason"]


def test_flags_errors_and_seconds_add_up():
    records = [
        scored("1", 0.8, flags=("generated:load_timeout",), seconds={"score": 1.5, "answer": 1}),
        scored("2", 0.8, flags=("generated:load_timeout", "cut"), seconds={"score": 0.25}),
        failed("3", "method"),
    ]
    summary = summarise(records)
    assert summary["flags"] == {"cut": 1, "generated:load_timeout": 2}
    assert summary["errors"] == {"method": 1}
    assert summary["seconds"] == {"answer": 1.0, "score": 1.75}


def test_no_cases_one_case_and_only_failed_cases():
    nothing = summarise([])
    assert (nothing["n"], nothing["scores"]["human"]) == (0, None)
    assert nothing["scores"]["paper"]["text"] is None
    one = summarise([scored("1", 0.8)])["scores"]["paper"]["text"]
    few = "fewer than 8 clusters"
    assert one == {
        **{"mean": 0.8, "low": None, "high": None, "n": 1},
        **{"clusters": 1, "no_interval": few},
    }
    broken = summarise([failed("1"), failed("2")])
    assert broken["scores"]["paper"]["text"]["mean"] == 0
    assert broken["scores"]["paper"]["clip"] is None
    assert broken["scores"]["human"]["variant"] is None


def test_records_are_read_once_and_not_kept():
    alive = []

    def stream():
        import weakref

        class Tracked(dict):
            pass

        for i in range(200):
            scores = Tracked(scored(str(i), i / 200).scores)
            alive.append(weakref.ref(scores))
            yield Record(str(i), "scored", scores)
            assert sum(reference() is not None for reference in alive) <= 3

    summary = summarise(stream())
    assert summary["scores"]["paper"]["text"]["mean"] == pytest.approx(np.arange(200).mean() / 200)


def test_every_table_column_is_a_summarised_score():
    assert {metric.key for metric in METRICS} <= set(KEYS)
