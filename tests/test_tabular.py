"""Results as rows of a table, the same in every format."""

from __future__ import annotations

import csv
import json

import pytest

import uiproof
from uiproof.benchmark import CaseError, Record
from uiproof.engine.rundir import Journal, RunDirectory, encode
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


HOSTILE = '\ud83d caf\udce9 ,";\r\n\x00\u202e=1+1\tend'


@pytest.fixture
def hostile(tmp_path):
    """Text that files have trouble with, names that are taken, and numbers that are none."""
    first = Record(HOSTILE, "scored", {"id": 1, "=SUM(A1)": 2, HOSTILE: 3, "on": True})
    second = Record("b\rc", "scored", {"on": "perhaps", "huge": 10**400, "list": [1, None]})
    return make_run(tmp_path / "hostile", first, second)


def test_hostile_text_comes_back_the_same_from_every_format(hostile, tmp_path):
    import pyarrow.parquet as pq

    shown = HOSTILE.encode("utf-8", "backslashreplace").decode()
    lines = uiproof.write_table([hostile], tmp_path / "t.jsonl").read_text().splitlines()
    second, first = map(json.loads, lines)  # "b" comes before what is not ASCII
    with uiproof.write_table([hostile], tmp_path / "t.csv").open(newline="") as file:
        csv_second, csv_first = csv.DictReader(file)
    parquet_second, parquet_first = pq.read_table(
        uiproof.write_table([hostile], tmp_path / "t.parquet")
    ).to_pylist()
    frame = uiproof.dataframe([hostile])
    assert first["id"] == csv_first["id"] == parquet_first["id"] == frame["id"][1] == shown
    assert second["id"] == csv_second["id"] == parquet_second["id"] == "b\rc"
    assert first[shown] == parquet_first[shown] == 3.0
    assert csv_first[shown] == "3.0"
    assert (first["on"], parquet_first["on"], csv_first["on"]) == (True, "true", "true")
    assert second["huge"] is None
    assert parquet_second["list"] == second["list"] == "[1, null]"


def test_a_score_that_is_called_like_a_column_hides_nothing(hostile):
    first = uiproof.dataframe([hostile]).iloc[1]
    assert first["scores.id"] == 1.0
    assert first["id"] != 1.0


def test_no_name_of_a_column_is_a_formula(hostile, tmp_path):
    header = uiproof.write_table([hostile], tmp_path / "t.csv").read_text().splitlines()[0]
    assert "'=SUM(A1)" in header.split(",")


def test_the_verdict_of_a_grounding_case_has_a_column(tmp_path):
    record = Record("1/1", "scored", {"accuracy": 0.0}, details={"verdict": "near_miss"})
    run = make_run(tmp_path / "g", record, benchmark="grounding")
    assert list(uiproof.dataframe([run])["verdict"]) == ["near_miss"]


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_a_run_without_cases_is_a_table_without_rows(tmp_path, ending):
    import pyarrow.parquet as pq

    target = uiproof.write_table([make_run(tmp_path / "empty")], tmp_path / f"t{ending}")
    if ending == ".parquet":
        table = pq.read_table(target)
        assert (table.num_rows, table.column_names[:2]) == (0, ["run", "benchmark"])
    else:
        assert len(target.read_text().splitlines()) == (ending == ".csv")
    assert uiproof.dataframe([RunDirectory(tmp_path / "empty")]).empty
