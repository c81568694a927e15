"""What a run amounts to."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from uiproof.benchmark import CaseError, Record, look_up
from uiproof.benchmarks.interaction2code.analyses.tables import score_table
from uiproof.benchmarks.interaction2code.summary import METRICS, summarise


def record(name, *, failure="none", score=0.8, clip=None, usable=None, **details):
    implemented = failure not in ("a", "b")
    usable = failure in ("none", "c", "d", "e", "f", "i") if usable is None else usable
    full = {"clip": clip, "ssim": score, "text": score}
    part = dict.fromkeys(("ssim", "text", "position_before", "position_after"), score)
    part = {"clip": clip, **part} if implemented else dict.fromkeys(("clip", *part), 0.0)
    profile = {"full": full, "part": part}
    return Record(
        name,
        "scored",
        {
            "paper": profile,
            "strict": profile,
            "implemented": float(implemented),
            "usable": float(usable),
        },
        details={
            "page": name.split("/")[0],
            "verdict": {"implemented": implemented, "usable": usable, "failure": failure},
            **details,
        },
        seconds={"score": 2.0},
    )


def failed(name):
    nothing = {
        "full": dict.fromkeys(("clip", "ssim", "text"), 0.0),
        "part": dict.fromkeys(("clip", "ssim", "text", "position_before", "position_after"), 0.0),
    }
    scores = {"paper": nothing, "strict": nothing, "implemented": 0.0, "usable": 0.0}
    return Record(
        name,
        "failed",
        scores,
        error=CaseError("method", "answer", "There is no page."),
        details={"verdict": {"implemented": False, "usable": False, "failure": "a"}},
    )


def test_rates_are_given_with_and_without_unsure_verdicts():
    unsure = replace(record("2/1", failure="j", usable=False), flags=("unsure",))
    summary = summarise([record("1/1"), record("1/2"), unsure])
    assert summary["scores"]["usable"]["mean"] == pytest.approx(2 / 3)
    assert summary["sure_only"]["n"] == 2
    assert summary["sure_only"]["usable"]["mean"] == 1


def test_what_is_not_implemented_counts_zero_and_is_also_left_out():
    summary = summarise([record("1/1"), record("1/2", failure="b"), record("2/1")])
    part = summary["scores"]["paper"]["part"]["ssim"]
    assert part["mean"] == pytest.approx(1.6 / 3)
    only = summary["implemented_only"]
    assert only["n"] == 2
    assert only["paper"]["part"]["ssim"]["mean"] == pytest.approx(0.8)
    assert summary["scores"]["paper"]["full"]["ssim"]["mean"] == pytest.approx(0.8)
    assert summary["scores"]["implemented"]["mean"] == pytest.approx(2 / 3)
    assert only["usable"]["mean"] == 1


def test_failed_cases_are_in_every_mean_and_count_as_missing_elements():
    summary = summarise([record("1/1"), failed("2/1")])
    assert (summary["n"], summary["failed"], summary["pages"]) == (2, 1, 2)
    assert summary["scores"]["strict"]["full"]["text"]["mean"] == pytest.approx(0.4)
    assert summary["failures"]["a"] == {"n": 1, "share": 0.5, "usable": 0}
    assert summary["failures"]["none"]["n"] == 1
    assert summary["errors"] == {"method": 1}


def test_intervals_are_over_pages():
    alike = [
        record(f"{page}/{n}", score=page % 2 * 0.8 + 0.1) for page in range(8) for n in range(5)
    ]
    apart = [record(f"{n}/1", score=score) for n, score in enumerate([0.1] * 20 + [0.9] * 20)]
    width = {}
    for name, records in (("alike", alike), ("apart", apart)):
        mean = summarise(records)["scores"]["paper"]["full"]["ssim"]
        width[name] = mean["high"] - mean["low"]
        assert mean["clusters"] == {"alike": 8, "apart": 40}[name]
    assert width["alike"] > 2 * width["apart"]


def test_clip_without_weights_is_not_measured_though_missing_elements_score_zero():
    summary = summarise([record("1/1"), record("1/2", failure="b"), failed("2/1")])
    assert summary["scores"]["paper"]["part"]["clip"] is None
    assert summary["scores"]["paper"]["full"]["clip"] is None
    assert summary["scores"]["paper"]["part"]["text"] is not None


@pytest.mark.parametrize("unimplemented", [0.0, None])  # as runs had it once, and as they have it
def test_clip_that_was_not_measured_has_no_mean_where_nothing_is_implemented(unimplemented):
    records = [record("1/1", failure="b"), failed("2/1")]
    for one in records:
        one.scores["paper"]["part"]["clip"] = unimplemented
        one.scores["paper"]["full"]["clip"] = None
    scores = summarise(records)["scores"]["paper"]
    assert scores["full"]["clip"] is None
    assert scores["part"]["clip"] is None or unimplemented == 0
    assert scores["part"]["ssim"]["mean"] == 0


def test_clip_that_was_measured_for_some_only_has_no_mean_but_a_reason():
    summary = summarise([record("1/1", clip=0.9), record("2/1")])
    clip = summary["scores"]["paper"]["full"]["clip"]
    assert clip["mean"] is None
    assert "1 of 2" in clip["reason"]


def test_positions_that_the_data_does_not_tell_are_left_out():
    unknown = record("1/1")
    unknown.scores["paper"]["part"]["position_before"] = None
    before = summarise([unknown, record("2/1")])["scores"]["paper"]["part"]["position_before"]
    assert (before["mean"], before["n"]) == (pytest.approx(0.8), 1)


def test_sequences_are_added_up():
    whole = {"edges": ["1", "2"], "steps": 2, "done": 2, "stopped": ""}
    broken = {**whole, "done": 1, "stopped": "2: it is covered"}
    summary = summarise([record("1/2", sequence=whole), record("2/2", sequence=broken)])
    assert summary["sequences"]["paths"] == 2
    assert summary["sequences"]["whole"]["mean"] == 0.5
    assert (summary["sequences"]["done"], summary["sequences"]["steps"]) == (3, 4)
    assert summarise([record("1/1")])["sequences"] is None


def test_a_run_without_cases_has_a_summary():
    summary = summarise([])
    assert summary["n"] == 0
    assert score_table({**summary})


def test_every_metric_of_the_table_is_in_the_summary():
    summary = summarise([record("1/1", clip=0.5), record("2/1", clip=0.6)])
    for metric in METRICS:
        assert look_up(summary["scores"], metric.key)["mean"] is not None, metric.key
    json.dumps(summary, allow_nan=False)


def test_the_table_shows_both_parts_both_profiles_rates_and_failures():
    records = [record("1/1"), record("1/2", failure="b"), record("2/1", failure="i"), failed("3/1")]
    table = score_table(summarise(records), width=120)
    for text in ("Full page, paper", "Interaction, strict", "if implemented", "not measured"):
        assert text in table
    for text in ("4 interactions on 3 pages, 1 failed", "(b) no interaction", "50.0 %"):
        assert text in table
    assert "(c)" not in table


def test_the_seconds_of_the_judge_are_added_up():
    one = record("1/1", seconds={"ocr": 1.5, "act": 0.5})
    summary = summarise([one, replace(one, id="1/2")])
    assert summary["seconds"] == {"judge.act": 1.0, "judge.ocr": 3.0, "score": 4.0}


def test_naming_the_benchmark_loads_nothing_heavy():
    heavy = ("numpy", "cv2", "PIL", "playwright", "onnxruntime", "sacrebleu", "matplotlib")
    code = (
        "import sys, uiproof.benchmarks.interaction2code\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
