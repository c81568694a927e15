"""What is written down stays readable, wherever the writer was stopped."""

from __future__ import annotations

import json
import resource
import signal
from pathlib import Path

import pytest

from uiproof.benchmark import CaseError, Record
from uiproof.engine.rundir import Journal, decode, encode, last_records
from uiproof.errors import InputError, StorageError


def record(case_id: str, value: float = 1.0) -> Record:
    return Record(id=case_id, status="scored", scores={"value": value})


def write(path, *records):
    with Journal(path) as journal:
        for one in records:
            journal.append(encode(one))


def test_a_record_comes_back_as_it_was_written():
    original = Record(
        id="page/ünï \u2028\ud800",
        status="failed",
        scores={"paper": {"text": None}},
        error=CaseError("render", "score", "message", "remedy"),
        details={"boxes": [[1, 2]]},
        artifacts={"html": "artifacts/1/generated.html"},
        flags=("a", "b"),
        seconds={"pose": 0.5},
        attempts=2,
        answer_key="3f",
    )
    assert decode(encode(original)) == original


def test_a_line_from_before_there_were_answer_keys_is_still_read():
    fields = json.loads(encode(record("1")))
    del fields["answer_key"]
    assert decode(json.dumps(fields).encode()) == record("1")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1}, object()])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises((TypeError, ValueError)):
        encode(record("1", value))


def test_a_journal_torn_at_any_byte_of_its_last_line_loses_only_that_line(tmp_path):
    path = tmp_path / "journal.jsonl"
    write(path, record("1"), record("2"))
    whole = path.read_bytes()
    start_of_last = whole.index(b"\n") + 1
    for size in range(start_of_last, len(whole)):
        path.write_bytes(whole[:size])
        assert [one.id for one in last_records(path)] == ["1"]
        write(path, record("3"))
        assert [one.id for one in last_records(path)] == ["1", "3"]


def test_a_torn_first_line_longer_than_any_buffer_is_cut(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"x" * 200_000)
    write(path, record("1"))
    assert [one.id for one in last_records(path)] == ["1"]


def test_the_last_record_of_a_case_counts_and_the_order_is_that_of_the_ids(tmp_path):
    path = tmp_path / "journal.jsonl"
    write(path, record("p10"), record("p2", 1.0), record("p1"), record("p2", 2.0))
    found = [(one.id, one.scores["value"]) for one in last_records(path)]
    assert found == [("p1", 1.0), ("p2", 2.0), ("p10", 1.0)]


def test_damage_in_the_middle_is_reported_with_its_line(tmp_path):
    path = tmp_path / "journal.jsonl"
    write(path, record("1"), record("2"), record("3"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"id": \n' + lines[2])
    with pytest.raises(InputError, match="Line 2"):
        list(last_records(path))


def test_a_journal_that_is_not_there_is_empty(tmp_path):
    assert list(last_records(tmp_path / "journal.jsonl")) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported_with_what_to_do():
    with (
        pytest.raises(StorageError, match="No space left") as caught,
        Journal(Path("/dev/full")) as journal,
    ):
        journal.append(encode(record("1")))
    assert "run again" in caught.value.remedy


@pytest.fixture
def file_size_limit():
    """Lets no file of this process grow beyond a size: a disk that fills up within a line."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


def test_a_disk_that_fills_up_within_a_line_leaves_only_whole_lines(tmp_path, file_size_limit):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.append(encode(record("1")))
        file_size_limit(path.stat().st_size + 20)
        with pytest.raises(StorageError):
            journal.append(encode(record("2")))
        file_size_limit(1 << 20)
        journal.append(encode(record("3")))
    assert [one.id for one in last_records(path)] == ["1", "3"]


def test_a_journal_that_cannot_be_opened_is_a_typed_error(tmp_path):
    for use in (Journal, lambda path: list(last_records(path))):
        with pytest.raises(InputError, match="Is a directory") as caught:
            use(tmp_path)
        assert caught.value.remedy
