"""Runs, records and scores as notebooks and debuggers show them."""

from __future__ import annotations

import json

import pytest

import uiproof
from uiproof.benchmark import Record, Scores
from uiproof.engine.rundir import RunDirectory, encode

SCORES = {"paper": {"text": 0.25, "clip": None, "mean_without_clip": 0.5}, "human": 0.4}


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"benchmark": "design2code", "method": "mine"}))
    mean = {"mean": 0.5, "low": 0.4, "high": 0.6}
    scores = {"paper": {"text": mean, "clip": None}}
    summary = {"benchmark": "design2code", "n": 2, "failed": 1, "scores": scores}
    (folder / "summary.json").write_text(json.dumps(summary))
    call = {"input_tokens": 1000, "output_tokens": 200, "cost": 0.25, "cached": True}
    records = [
        Record("<1>", "scored", SCORES, flags=("generated:unfenced",), calls=(call, call)),
        Record("2", "failed", {"human": 0.0}),
    ]
    (folder / "journal.jsonl").write_bytes(b"".join(map(encode, records)))
    return RunDirectory(folder)


def test_a_run_is_one_line_and_a_small_table(run, tmp_path):
    assert repr(run) == f"RunDirectory('{run.path}': design2code, mine, 2 cases, 1 failed)"
    assert "<th>paper.text</th><td>0.500 [0.400, 0.600]</td>" in run._repr_html_()
    nothing = RunDirectory(tmp_path / "none")
    assert repr(nothing).endswith("no run)")
    assert "no run" in nothing._repr_html_()


def test_a_record_is_short_and_its_html_is_escaped(run):
    record = next(one for one in run.records() if one.status == "scored")
    assert repr(record) == "Record('<1>', scored: paper 0.500, human 0.400, generated:unfenced)"
    assert "&lt;1&gt;: scored" in record._repr_html_()
    assert "text 0.250" in record._repr_html_()


def test_scores_are_a_dictionary_with_flags():
    scores = Scores(SCORES, ("generated:unfenced",))
    assert scores == SCORES
    assert json.loads(json.dumps(scores)) == SCORES
    assert repr(scores) == "Scores(paper 0.500, human 0.400, generated:unfenced)"
    assert "Flags: generated:unfenced" in scores._repr_html_()


def test_a_data_frame_takes_a_run_a_path_or_a_list_and_has_tokens_and_cost(run):
    pytest.importorskip("pandas")
    for given in (run, run.path, str(run.path), [run]):
        frame = uiproof.dataframe(given).set_index("id")
        assert list(frame.loc["<1>", ["input_tokens", "output_tokens", "cost"]]) == [2000, 400, 0.5]
        assert frame["cost"].isna()["2"]
