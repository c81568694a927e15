"""Disks that are full, read-only or forbidden: real ones, seen by the disturbed program alone."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from engine_toy import write_dataset
from fault_tools import UIPROOF, Disk, journal_ids, words

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs mount namespaces")

TOY = (sys.executable, "-c", "import fault_toy; fault_toy.main()")
PAGE = "<!doctype html><h1>A heading</h1><p>And a paragraph of text below it.</p>"


def test_a_disk_that_the_journal_fills_stops_the_run_which_continues_when_there_is_room(
    tmp_path, start, small_disk
):
    disk = small_disk("256k")
    words(tmp_path / "words", 3_000)
    command = (*UIPROOF, "run", "--dataset", "words", "--method", "echo", "--quiet")
    command += ("--executor", "inline", "--out", disk.folder / "run")
    code, _, err = start(*command, inside=disk.inside).finished()
    assert code == 3, err
    assert "No space left on device" in err
    assert "continues where it stopped" in err
    assert "Traceback" not in err
    kept = journal_ids(disk.seen() / "run")
    assert 0 < len(kept) < 3_000
    disk.grow("16m")
    code, _, err = start(*command, inside=disk.inside).finished()
    assert code == 0, err
    whole = journal_ids(disk.seen() / "run")
    assert whole[: len(kept)] == kept
    assert sorted(map(int, whole)) == list(range(1, 3_001))
    assert json.loads((disk.seen() / "run" / "summary.json").read_text())["n"] == 3_000


def test_a_disk_that_artifacts_fill_stops_the_run_and_fails_no_case(tmp_path, start, small_disk):
    disk = small_disk("512k")
    dataset = write_dataset(tmp_path / "d.json", count=20, do="keep 60000")
    command = (*TOY, disk.folder / "run", dataset)
    code, _, err = start(*command, inside=disk.inside).finished()
    assert code != 0
    assert "StorageError" in err
    assert "No space left on device" in err
    run = disk.seen() / "run"
    assert '"failed"' not in (run / "journal.jsonl").read_text()
    disk.grow("16m")
    code, out, err = start(*command, inside=disk.inside).finished()
    assert (code, out) == (0, "20 0\n"), err
    assert sorted(map(int, journal_ids(run))) == list(range(20))
    assert len(list(run.glob("artifacts/*/kept.bin"))) == 20


def test_a_disk_without_room_for_the_summary_or_the_beginning_says_so(tmp_path, start, small_disk):
    disk = small_disk("16k,nr_inodes=4")  # room for the folder and its lock, not for more files
    words(tmp_path / "words", 2)
    command = (*UIPROOF, "run", "--dataset", "words", "--method", "echo", "--executor", "inline")
    code, _, err = start(*command, "--out", disk.folder / "run", inside=disk.inside).finished()
    assert code == 3, err
    assert "No space left on device" in err
    assert "Traceback" not in err


def test_without_any_temporary_folder_the_run_says_so(tmp_path, start, small_disk):
    disk = small_disk("16k,nr_inodes=1")  # only itself
    dataset = write_dataset(tmp_path / "d.json", count=2)
    site = tmp_path / "site"  # where Python is told that this full disk is all there is
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        f"import tempfile\ntempfile._candidate_tempdir_list = lambda: [{str(disk.folder)!r}]\n"
    )
    main = start(
        *(*TOY, tmp_path / "run", dataset),
        inside=disk.inside,
        PYTHONPATH=os.pathsep.join([str(site), *sys.path]),
    )
    status, _, err = main.finished()
    assert status != 0
    assert "StorageError: No temporary folder can be made" in err
    assert "TMPDIR" in err


@pytest.fixture
def three_data_sets(tmp_path):
    """A page, an interaction and a screenshot, each as its benchmark has them."""
    from hostile_sets import grounding_set, interaction_set

    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "one.html").write_text(PAGE)
    return {
        "blueprint": tmp_path / "pages",
        "replay:answers": interaction_set(tmp_path / "interactions", {}),
        "centre": grounding_set(tmp_path / "screenshots", {}),
    }


def test_a_read_only_data_set_is_scored_as_usual_and_nothing_is_written_into_it(
    tmp_path, start, three_data_sets
):
    (tmp_path / "answers" / "good").mkdir(parents=True)
    (tmp_path / "answers" / "good" / "1-answer.html").write_text(PAGE)
    for number, (method, folder) in enumerate(three_data_sets.items()):
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
        seen = tmp_path / f"seen{number}"
        seen.mkdir()
        disk = Disk(seen, of=folder, read_only=True)
        try:
            command = ("run", "--dataset", seen, "--method", method, "--out", f"run{number}")
            code, _, err = start(
                *UIPROOF, *command, "--workers", "1", "--quiet", inside=disk.inside
            ).finished()
        finally:
            disk.close()
        assert code == 0, err
        summary = json.loads((tmp_path / f"run{number}" / "summary.json").read_text())
        assert (summary["n"], summary["failed"]) == (1, 0)
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


_WITHOUT_POWERS = (
    "import ctypes, os, sys\n"
    # The superuser may read and write everything, unless these two powers are taken away.
    "for power in (1, 2):\n"
    "    ctypes.CDLL(None).prctl(24, power, 0, 0, 0)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)
ORDINARY = (sys.executable, "-c", _WITHOUT_POWERS)


@pytest.fixture
def ordinary_user(tmp_path, start):
    """The command to start a program with that must keep to permissions."""
    secret = tmp_path / "secret"
    secret.touch(mode=0o000)
    code, _, _ = start(*ORDINARY, "/bin/cat", secret).finished()
    if code == 0:
        pytest.skip("permissions mean nothing to this user, and that cannot be changed")
    return ORDINARY


def test_a_data_file_that_may_not_be_read_fails_its_case_alone(tmp_path, start, ordinary_user):
    pages = tmp_path / "pages"
    pages.mkdir()
    for name in ("forbidden", "open"):
        (pages / f"{name}.html").write_text(PAGE)
    (pages / "forbidden.html").chmod(0o000)
    code, out, err = start(
        *ordinary_user,
        *UIPROOF,
        *("run", "--dataset", pages, "--method", "blueprint", "--json", "-", "--quiet"),
        *("--workers", "1", "--out", "run"),
    ).finished()
    assert code == 1, err
    cases = {case["id"]: case for case in json.loads(out)["cases"]}
    assert cases["open"]["status"] == "scored"
    assert cases["forbidden"]["error"]["code"] == "input"
    assert "Permission denied" in cases["forbidden"]["error"]["message"]
    assert "permissions" in cases["forbidden"]["error"]["remedy"]


@pytest.mark.parametrize("forbidden", ["out", "out/run", "out/run/journal.jsonl", "words"])
def test_a_place_that_may_not_be_used_is_told_and_nothing_is_changed(
    tmp_path, start, ordinary_user, forbidden
):
    words(tmp_path / "words", 3)
    command = ("run", "--dataset", "words", "--method", "echo", "--executor", "inline")
    command = (*UIPROOF, *command, "--out", "out/run", "--quiet")
    assert start(*command).finished()[0] == 0
    before = _journal(tmp_path)
    place = tmp_path / forbidden
    mode = place.stat().st_mode
    place.chmod(0o444 if place.is_file() else 0o500 if forbidden.startswith("out/") else 0o000)
    try:
        code, _, err = start(*ordinary_user, *command).finished()
    finally:
        place.chmod(mode)
    assert code == 2, err
    assert "Traceback" not in err
    assert "Unexpected" not in err
    assert _journal(tmp_path) == before


def test_a_cache_that_may_not_be_written_is_told_with_its_name(tmp_path, start, ordinary_user):
    words(tmp_path / "words", 1)
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o500)
    command = ("run", "--dataset", "words", "--method", "compatible:http://127.0.0.1:9/v1#m")
    code, _, err = start(*ordinary_user, *UIPROOF, *command, "--out", "run").finished()
    assert code in (2, 3), err
    assert str(cache) in err
    assert "Permission denied" in err
    assert "Traceback" not in err


def _journal(folder: Path) -> bytes:
    return (folder / "out" / "run" / "journal.jsonl").read_bytes()
