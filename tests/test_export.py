"""Files for other programs: nothing that was there is destroyed, and nothing is half there."""

from __future__ import annotations

import json
import os
import threading

import pytest

from uiproof.benchmark import CaseError, Record
from uiproof.engine.rundir import Journal, RunDirectory, encode
from uiproof.errors import InputError, UsageError
from uiproof.export import check_writable, write_comparison, write_json
from uiproof.files import replacing


def toy_run(path, *scores, first_id="1"):
    """A finished run of a benchmark that is not installed; a score of None is a failure."""
    path.mkdir()
    ids = [first_id, *(str(number) for number in range(2, len(scores) + 1))]
    with Journal(path / "journal.jsonl") as journal:
        for case_id, score in zip(ids, scores, strict=True):
            error = CaseError("method", "answer", "It said nothing.") if score is None else None
            status = "failed" if error else "scored"
            journal.append(encode(Record(case_id, status, {"same": score or 0.0}, error=error)))
    (path / "run.json").write_text(
        json.dumps({"benchmark": "word", "method": "echo", "dataset": "words"})
    )
    mean = sum(score or 0.0 for score in scores) / len(scores)
    run = RunDirectory(path)
    run.write_summary(
        {
            "n": len(scores),
            "failed": scores.count(None),
            "scores": {"same": {"mean": mean, "low": 0.0, "high": 1.0, "n": len(scores)}},
        }
    )
    return run


@pytest.fixture
def run(tmp_path):
    return toy_run(tmp_path / "run", 1.0, 0.5)


def test_a_link_stays_a_link_and_its_file_is_replaced(run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere" / "scores.json", tmp_path / "link.json"
    file.write_text("old")
    link.symlink_to(file)
    write_json(run, link)
    assert link.is_symlink()
    assert len(json.loads(file.read_text())["cases"]) == 2
    assert list(file.parent.iterdir()) == [file]


def test_a_link_to_nothing_yet_gets_its_file(run, tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "new.json")
    write_json(run, link)
    assert link.is_symlink()
    assert json.loads((tmp_path / "new.json").read_text())["benchmark"] == "word"


def test_a_pipe_is_written_to_and_stays_a_pipe(run, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    check_writable(pipe)
    write_json(run, pipe)
    reader.join(30)
    assert json.loads(read[0])["summary"]["n"] == 2
    assert pipe.is_fifo()


def test_what_was_there_stays_when_writing_fails_and_keeps_its_mode_when_it_does_not(tmp_path):
    file = tmp_path / "scores.json"
    file.write_text("old")
    file.chmod(0o640)
    with pytest.raises(TypeError), replacing(file) as stream:
        stream.writelines(["new", None])
    assert file.read_text() == "old"
    with replacing(file) as stream:
        stream.write("new")
    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["no/such/file.json", "folder", "file/x.json", "x" * 300])
def test_a_file_that_cannot_be_written_is_noticed_beforehand(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError) as caught:
        check_writable(tmp_path / name)
    assert name in caught.value.message
    assert caught.value.remedy
    with pytest.raises(InputError), replacing(tmp_path / name):
        pass
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_missing_permission_is_noticed_beforehand(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="may not make files"):
        check_writable(tmp_path / "x.json")
    tmp_path.chmod(0o700)


def test_folders_that_will_be_made_need_not_be_there(tmp_path):
    check_writable(tmp_path / "a" / "b" / "report.html", makes_folders=True)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_not_unicode_can_be_written_and_read_back(tmp_path):
    odd = os.fsdecode(b"caf\xe9")
    write_json(toy_run(tmp_path / "run", 1.0, first_id=odd), tmp_path / "scores.json")
    content = json.loads((tmp_path / "scores.json").read_text("ascii"))
    assert content["cases"][0]["id"] == odd


def test_a_target_may_be_a_string(run, tmp_path):
    write_json(run, str(tmp_path / "scores.json"))
    assert (tmp_path / "scores.json").is_file()


def test_a_comparison_has_the_numbers_of_the_table_best_first(tmp_path):
    toy_run(tmp_path / "worse", 1.0, None)
    toy_run(tmp_path / "better", 1.0, 1.0)
    write_comparison([tmp_path / "worse", str(tmp_path / "better")], tmp_path / "c.json")
    content = json.loads((tmp_path / "c.json").read_text())
    assert content["benchmark"] == "word"
    better, worse = content["runs"]
    assert better["method"] == "echo (better)"
    assert (worse["n"], worse["failed"]) == (2, 1)
    assert worse["metrics"]["same"]["mean"] == 0.5
    assert {"low", "high"} <= set(worse["metrics"]["same"])
