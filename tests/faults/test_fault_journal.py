"""A journal that was cut or mixed with rubbish: what is whole counts, the rest is told."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from engine_toy import run_toy, write_dataset

from uiproof.benchmark import CaseError, Record
from uiproof.engine.rundir import Journal, RunDirectory, encode, last_records
from uiproof.errors import InputError

RECORDS = (
    Record(id="page-1", status="scored", scores={"value": 1.0}, details={"text": 'ü "\\n" 页'}),
    Record(id="page-2", status="failed", scores={}, error=CaseError("render", "score", "m", "r")),
    Record(id="page-10", status="scored", scores={"value": {"deep": [1, None]}}, flags=("a",)),
)
WHOLE = b"".join(map(encode, RECORDS))


def test_a_journal_cut_at_any_byte_keeps_every_whole_line_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for size in range(len(WHOLE) + 1):
        path.write_bytes(WHOLE[:size])
        whole = RECORDS[: WHOLE[:size].count(b"\n")]
        assert tuple(last_records(path)) == whole, size
        with Journal(path) as journal:  # a run that continues
            for record in RECORDS[len(whole) :]:
                journal.append(encode(record))
        assert path.read_bytes() == WHOLE, size


@pytest.mark.parametrize("tail", [b"\0" * 5_000, b"\xff\xfe\x80", b'{"id": "page-3", "sta', b" "])
def test_what_a_power_cut_leaves_at_the_end_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(WHOLE + tail)
    assert tuple(last_records(path)) == RECORDS
    with Journal(path):
        pass
    assert path.read_bytes() == WHOLE


RUBBISH = [
    b"\0" * 100,
    b"\xff\xfe\x80",
    b"[]",
    b"5",
    b"null",
    b'"text"',
    b"{}",
    b'{"id": 5}',
    b'{"id": "a", "unknown": 1}',
    b'{"id": "a", "status": "scored", "scores": {}, "flags": 5}',
    b'{"id": "a", "status": "scored", "scores": {}, "flags": [], "error": "no"}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("line", RUBBISH, ids=range(len(RUBBISH)))
def test_rubbish_in_the_middle_is_named_with_its_line_and_never_skipped(
    tmp_path: Path, line: bytes
) -> None:
    path = tmp_path / "journal.jsonl"
    first, *rest = WHOLE.splitlines(keepends=True)
    path.write_bytes(first + line + b"\n" + b"".join(rest))
    with pytest.raises(InputError, match=r"Line 2 of .* is damaged") as caught:
        list(last_records(path))
    assert "Delete that line" in caught.value.remedy


def test_any_damaged_byte_is_told_or_changes_nothing_but_its_own_case(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    chance = random.Random(7)
    for _ in range(400):
        at = chance.randrange(len(WHOLE))
        path.write_bytes(WHOLE[:at] + bytes([chance.randrange(256)]) + WHOLE[at + 1 :])
        try:
            found = list(last_records(path))
        except InputError:
            continue
        # A digit or a letter of a value may have become another one, in one case.
        assert len([one for one in RECORDS if one not in found]) <= 1


@pytest.mark.parametrize("content", ["", "[]", "null", '{"format": 1', "\0" * 50])
def test_a_damaged_description_of_a_run_is_told_and_no_result_is_lost(
    tmp_path: Path, content: str
) -> None:
    dataset = write_dataset(tmp_path / "d.json", count=3)
    run = run_toy(tmp_path / "run", dataset)
    before = run.journal.read_bytes()
    (run.path / "run.json").write_text(content)
    with pytest.raises(InputError, match=r"run\.json is damaged") as caught:
        run_toy(tmp_path / "run", dataset)
    assert "another directory" in caught.value.remedy
    assert run.journal.read_bytes() == before


def test_a_damaged_summary_is_made_anew(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "d.json", count=3)
    summary = run_toy(tmp_path / "run", dataset).path / "summary.json"
    summary.write_text("[]")
    with pytest.raises(InputError, match="damaged"):
        _ = RunDirectory(summary.parent).summary
    run_toy(tmp_path / "run", dataset)
    assert json.loads(summary.read_text())["n"] == 3
