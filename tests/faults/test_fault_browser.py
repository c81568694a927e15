"""A real browser is killed or stopped in the middle of a real run: every case is scored."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from fault_tools import UIPROOF, journal_ids, lines_in, living, processes, wait_until

from uiproof.browser import Limits, PageSource, Renderer
from uiproof.process_tree import descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

# What to disturb: words of its command line that no other process of the run has.
BROWSER = "--remote-debugging-pipe"


def page(number: int) -> str:
    return (
        f"<!doctype html><h1>Heading number {number}</h1><p>And a paragraph of text below it.</p>"
    )


def test_a_run_whose_browser_and_judge_are_killed_scores_every_page(tmp_path, start):
    for folder in ("reference", "generated"):
        (tmp_path / folder).mkdir()
        for number in range(8):
            (tmp_path / folder / f"{number}.html").write_text(page(number))
    main = start(
        *(*UIPROOF, "score", "design2code", "reference", "generated", "--workers", "1"),
        *("--out", "run", "--quiet", "--json", "scores.json"),
    )
    run = tmp_path / "run"
    disturbances = ((1, (BROWSER,)), (4, ("uiproof.engine.worker_process",)))
    for done, words in disturbances:
        wait_until(lambda n=done: lines_in(run) >= n, 120)
        pids = wait_until(lambda w=words: processes(main.marker, *w))
        os.kill(pids[-1], signal.SIGKILL)  # of a judge and its guardian the judge is the younger
    code, _, err = main.finished(300)
    assert code == 0, err
    cases = json.loads((tmp_path / "scores.json").read_text())["cases"]
    assert {case["id"]: case["scores"]["strict"]["text"] for case in cases} == {
        str(number): 1.0 for number in range(8)
    }
    assert sorted(journal_ids(run)) == [str(number) for number in range(8)]
    assert living(main.marker) == []


def _started(since: set[int], word: str) -> list[int]:
    """The processes below this one that were not there before, with a word in their command."""
    found = []
    for pid in set(descendants(os.getpid())) - since:
        with suppress(OSError):
            command = Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if word in command:
                found.append(pid)
    return sorted(found)


def _shot(renderer: Renderer) -> tuple[bytes, set[str]]:
    with renderer.open(PageSource.from_html(page(1))) as shown:
        return shown.screenshot(), shown.flags


def _heading(renderer: Renderer) -> str:
    with renderer.stage(PageSource.from_html(page(1))) as stage:
        return stage.find("h1").text


def test_a_browser_that_hangs_is_ended_in_time_and_the_page_shown_by_another():
    before = set(descendants(os.getpid()))  # another test may have left a warm browser
    with Renderer(Limits(load_seconds=2, step_seconds=3)) as renderer:
        first = _shot(renderer)
        for look in (_shot, _heading):
            for pid in _started(before, BROWSER):
                os.kill(pid, signal.SIGSTOP)
            assert look(renderer) in (first, "Heading number 1")
        assert first[1] == set()
    wait_until(lambda: not _started(before, BROWSER), 20)
