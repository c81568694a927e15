"""What the studio knows of runs that go on, without a browser."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

from going_runs import TOY, going_run

import warm_commands
from uiproof.benchmark import Record
from uiproof.engine.rundir import RunDirectory, encode, is_locked, locked
from uiproof.studio.runs import RunMonitor, find_runs, open_run


def begun(folder: Path, name: str, **manifest) -> Path:
    """A run that was begun and has no summary."""
    (folder / name).mkdir(parents=True)
    about = {"benchmark": "toy", "method": "echo", "dataset": "words", **manifest}
    (folder / name / "run.json").write_text(json.dumps(about))
    return folder / name / "journal.jsonl"


def line(case_id: str, value: float = 1.0) -> bytes:
    return encode(Record(case_id, "scored", {"same": value}))


def until(look, is_there):
    """Look again until there is what was waited for."""
    deadline = time.monotonic() + 60
    seen = look()
    while not is_there(seen) and time.monotonic() < deadline:
        time.sleep(0.1)
        seen = look()
    return seen


def test_lines_that_were_counted_are_not_read_again(tmp_path):
    journal = begun(tmp_path, "long", cases=12_000)
    journal.write_bytes(b"".join(line(f"{number}") for number in range(10_000)))
    monitor = RunMonitor()
    run = open_run(tmp_path, "long")
    with locked(journal.parent / "lock"):
        first = until(lambda: monitor.state(run), lambda seen: seen.metric)
        assert (first.state, first.n, first.total) == ("running", 10_000, 12_000)
        size = journal.stat().st_size
        with journal.open("r+b") as file:  # whoever reads this again stumbles over it
            file.write(b"x" * (size - 1))
        with journal.open("ab") as file:
            file.write(line("new") + b'{"id": "half a li')
        second = monitor.state(run)
    assert (second.state, second.n) == ("running", 10_001)
    assert second.metric == first.metric  # computed again later: it took some time


def test_a_case_that_is_done_again_counts_once(tmp_path):
    journal = begun(tmp_path, "again")
    journal.write_bytes(
        encode(Record("a", "failed", {"same": 0.0})) + line("b") + line("a") + line("c")
    )
    state = RunMonitor().state(open_run(tmp_path, "again"))
    assert (state.state, state.n, state.failed, state.total) == ("interrupted", 3, 0, None)


def test_a_journal_that_was_replaced_is_counted_anew(tmp_path):
    journal = begun(tmp_path, "replaced")
    journal.write_bytes(line("a") + line("b"))
    monitor = RunMonitor()
    assert monitor.state(open_run(tmp_path, "replaced")).n == 2
    other = journal.with_suffix(".new")
    other.write_bytes(line("x") + line("y") + line("z"))
    other.replace(journal)
    assert monitor.state(open_run(tmp_path, "replaced")).n == 3
    journal.unlink()
    state = monitor.state(open_run(tmp_path, "replaced"))
    assert (state.state, state.n) == ("failed", 0)


def test_the_rate_is_that_of_the_cases_that_ended(tmp_path):
    monitor = RunMonitor()
    (tmp_path / "runs").mkdir()
    with going_run(tmp_path / "runs" / "live", "a b c d e f") as going:
        going.finish(3)
        seen = until(
            lambda: next(iter(monitor.states(tmp_path / "runs")), None),
            lambda seen: seen and seen.per_minute and seen.n == 3,
        )
        assert seen is not None
        assert seen.state == "running"
        assert seen.per_minute is not None
        assert seen.seconds_left is not None
        assert seen.seconds_left * seen.per_minute / 60 > 2.9  # three are left
        assert 0 < seen.per_minute <= 180
    ended = monitor.state(open_run(tmp_path / "runs", "live"))
    assert (ended.state, ended.per_minute) == ("finished", None)
    assert ended.metric is not None
    assert (ended.metric.label, ended.metric.mean) == ("Same", 1.0)


def test_a_run_whose_process_was_killed_is_interrupted_and_can_be_continued(tmp_path):
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "words.txt").write_text("a\nb\nslow\n")
    command = ["run", "--dataset", "words", "--method", "echo", "--out", "runs/mine", "--quiet"]
    monitor = RunMonitor()
    with warm_commands.Command(
        [*command, "--executor", "inline"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(TOY)},
    ) as process:
        try:
            states = until(
                lambda: monitor.states(tmp_path / "runs"),
                lambda seen: any(one.n == 2 for one in seen),
            )
            assert [(one.state, one.n, one.total) for one in states] == [("running", 2, 3)]
        finally:
            process.send_signal(signal.SIGKILL)
    (state,) = monitor.states(tmp_path / "runs")
    assert (state.state, state.n, state.total) == ("interrupted", 2, 3)


def test_looking_at_a_lock_never_keeps_a_run_from_starting(tmp_path):
    lock = tmp_path / "lock"
    stop = threading.Event()

    def keep_looking():
        while not stop.is_set():
            is_locked(lock)

    thread = threading.Thread(target=keep_looking)
    thread.start()
    try:
        for _ in range(100):
            with locked(lock):
                assert is_locked(lock)
    finally:
        stop.set()
        thread.join()
    assert not is_locked(lock)
    assert not is_locked(tmp_path / "none")


def test_a_run_that_ends_before_its_first_case_or_with_failures_only_has_failed(tmp_path):
    begun(tmp_path, "never")
    journal = begun(tmp_path, "all")
    journal.write_bytes(encode(Record("a", "failed", {"same": 0.0})))
    RunDirectory(tmp_path / "all").write_summary(
        {"n": 1, "failed": 1, "scores": {}, "complete": True}
    )
    assert [one.state for one in RunMonitor().states(tmp_path)] == ["failed", "failed"]
    assert [run.name for run in find_runs(tmp_path)] == ["all", "never"]
