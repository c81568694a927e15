"""The Python interface, with the toy benchmark installed: strings, notebooks, and the demo."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import uiproof
from uiproof import bundled_demo
from uiproof.engine.rundir import locked
from uiproof.errors import InputError, RunLockedError, UsageError

TOY = Path(__file__).parent / "toy_benchmark"
PAGE = "<!doctype html><h1>A heading</h1>"


@pytest.fixture
def words(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(TOY)

    def write(*some):
        (tmp_path / "words").mkdir(exist_ok=True)
        (tmp_path / "words" / "words.txt").write_text("\n".join(some))
        return str(tmp_path / "words")

    return write


def test_a_run_inside_an_event_loop_works_as_outside(words, tmp_path):
    async def notebook():
        return uiproof.run(
            words("one", "two"), "echo", out=str(tmp_path / "run"), executor="inline", quiet=True
        )

    assert asyncio.run(notebook()).summary["n"] == 2
    assert "1.000" in uiproof.comparison([str(tmp_path / "run")])


def test_errors_inside_an_event_loop_are_those_of_outside(words, tmp_path):
    async def notebook():
        uiproof.run(words("one"), "echo", out=tmp_path / "run", executor="cloud", quiet=True)

    with pytest.raises(UsageError, match="no executor called 'cloud'"):
        asyncio.run(notebook())


def test_ctrl_c_inside_an_event_loop_ends_the_run_and_keeps_what_is_done(words, tmp_path):
    code = """
import asyncio, sys, uiproof
async def notebook():
    try:
        uiproof.run(sys.argv[1], "echo", out=sys.argv[2], quiet=True)
    except KeyboardInterrupt as stop:
        print("stopped:", *stop.__notes__)
asyncio.run(notebook())
"""
    run = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", code, words("one", "slow"), str(run)],
        env=os.environ | {"PYTHONPATH": str(TOY)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        journal = run / "journal.jsonl"
        deadline = time.monotonic() + 60
        while not (journal.is_file() and journal.read_text().endswith("\n")):
            assert time.monotonic() < deadline, "the first case was never finished"
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=50)  # the slow case takes 60 seconds
    assert "stopped: What is done is kept in" in out
    assert json.loads((run / "summary.json").read_text())["n"] == 1


def test_folders_may_be_strings_and_failed_pages_are_tried_again_on_request(tmp_path):
    for name in ("reference/1.html", "reference/2.html", "generated/1.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(PAGE)

    def score(**options):
        return uiproof.score_folders(
            *(str(tmp_path / "reference"), str(tmp_path / "generated")),
            **{"out": str(tmp_path / "run"), "executor": "inline", "quiet": True} | options,
        )

    assert score().summary["failed"] == 1
    journal = tmp_path / "run" / "journal.jsonl"
    score()
    assert len(journal.read_text().splitlines()) == 2
    assert score(retry_failed=True).summary["failed"] == 1
    assert len(journal.read_text().splitlines()) == 3


def make_run(path, dataset):
    path.mkdir(parents=True)
    (path / "run.json").write_text(json.dumps({"dataset": dataset}))
    (path / "journal.jsonl").touch()


def test_the_demo_does_not_delete_other_runs(tmp_path):
    make_run(tmp_path / "blueprint", "design2code-demo")
    make_run(tmp_path / "replay", "my/pages")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="my/pages"):
        uiproof.demo(tmp_path, quiet=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_demo_starts_afresh_where_an_earlier_one_was(tmp_path):
    make_run(tmp_path / "blueprint", "design2code-demo")
    (tmp_path / "blueprint" / "artifacts" / "1").mkdir(parents=True)
    bundled_demo._delete_demo(tmp_path / "blueprint", "design2code-demo")
    assert [path.name for path in (tmp_path / "blueprint").iterdir()] == ["lock"]


def test_the_demo_does_not_delete_a_run_that_is_being_written(tmp_path):
    make_run(tmp_path / "blueprint", "design2code-demo")
    with locked(tmp_path / "blueprint" / "lock"), pytest.raises(RunLockedError):
        uiproof.demo(tmp_path, quiet=True)
    assert (tmp_path / "blueprint" / "journal.jsonl").is_file()


def test_the_demo_notices_first_that_its_report_cannot_be_written(tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(InputError, match=r"report\.html"):
        uiproof.demo(str(tmp_path), quiet=True)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
