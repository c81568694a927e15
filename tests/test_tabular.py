"""Results as rows of a table, the same in every format."""

from __future__ import annotations

import csv
import json

import pytest

import uiproof
from uiproof.engine.journal import Journal, encode
from uiproof.engine.rundir import RunDirectory
from uiproof.engine.types import CaseError, Record
from uiproof.errors import UsageError


def make_run(path, *records, benchmark="word"):
    path.mkdir()
    with Journal(path / "journal.jsonl") as journal:
        for record in records:
            journal.append(encode(record))
    about = {"benchmark": benchmark, "method": "=HYPERLINK(1)", "dataset": "words"}
    (path / "run.json").write_text(json.dumps(about))
    return RunDirectory(path)


@pytest.fixture
def runs(tmp_path):
    scored = Record(
        "1", "scored", {"paper": {"text": 0.5, "clip": None}, "human": 1}, flags=("slow", "odd")
    )
    failed = Record(
        "2",
        "failed",
        {"paper": {"text": 0.0, "clip": None}, "human": 0},
        error=CaseError("render", "score", "A, “quoted”\nmessage"),
    )
    judged = Record(
        "7/1",
        "scored",
        {"usable": 1.0, "kind": 3},
        details={"verdict": {"usable": True, "failure": "none", "evidence": ["it opens"]}},
        seconds={"score": 2.5},
    )
    mixed = Record("7/2", "scored", {"usable": 0.0, "kind": "three"})
    return [make_run(tmp_path / "a", scored, failed), make_run(tmp_path / "b", judged, mixed)]


def test_a_csv_file_has_a_row_for_each_case_and_no_formulas(runs, tmp_path):
    target = uiproof.write_table(runs, tmp_path / "results.csv")
    with target.open(newline="") as file:
        first, second, third, _ = csv.DictReader(file)
    assert (first["run"], first["id"], first["paper.text"], first["paper.clip"]) == (
        "a",
        "1",
        "0.5",
        "",
    )
    assert first["flags"] == "slow odd"
    assert first["method"] == "'=HYPERLINK(1)"
    assert (second["error"], second["error_message"]) == ("render", "A, “quoted”\nmessage")
    assert third["verdict.usable"] == "true"
    assert json.loads(third["verdict.evidence"]) == ["it opens"]
    assert third["seconds.score"] == "2.5"


def test_every_format_holds_the_same(runs, tmp_path):
    import pyarrow.parquet as pq

    lines = uiproof.write_table(runs, tmp_path / "results.jsonl").read_text().splitlines()
    from_lines = [json.loads(line) for line in lines]
    from_parquet = pq.read_table(
        uiproof.write_table(runs, tmp_path / "results.parquet")
    ).to_pylist()
    frame = uiproof.dataframe(runs)
    assert [row["id"] for row in from_lines] == ["1", "2", "7/1", "7/2"] == list(frame["id"])
    for row, same in zip(from_lines, from_parquet, strict=True):
        known = {name: value for name, value in same.items() if value is not None}
        wanted = {name: value for name, value in row.items() if value is not None}
        if "kind" in wanted:
            wanted["kind"] = str(wanted["kind"])
        assert known == wanted
    assert frame["paper.text"].mean() == 0.25
    assert list(frame.columns) == pq.read_schema(tmp_path / "results.parquet").names


def test_another_ending_is_refused_before_anything_is_written(runs, tmp_path):
    with pytest.raises(UsageError, match=r"\.parquet"):
        uiproof.write_table(runs, tmp_path / "results.xlsx")
    assert not (tmp_path / "results.xlsx").exists()
