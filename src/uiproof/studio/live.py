"""The states of runs, polled while a page shows them.

    monitor = RunMonitor()
    for one in monitor.states(folder):
        print(one.run.name, one.state, one.n)

The `summary.json` of a finished run is read once. Of a running one only the new lines of the
journal are read, and its main metric is computed as often as that takes little time.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from uiproof.engine.rundir import RunDirectory, is_locked
from uiproof.errors import InputError, UiproofError
from uiproof.leaderboard import leaderboard
from uiproof.studio.runs import FoundRun, look_for_runs, stamp

State = Literal["running", "finished", "interrupted", "failed", "damaged"]

_WINDOW_SECONDS = 300.0  # of which the rate is measured
_SHARE = 20  # computing a metric takes at most one part in this many of the time …
_LONGEST_SECONDS = 600.0  # … but it is never older than this
_FRESH_SECONDS = 5.0  # a lock taken this soon after `created` is of the first start


@dataclass(frozen=True, slots=True)
class MainMetric:
    """The metric that a leaderboard ranks by, so far."""

    label: str
    digits: int
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of one run."""

    run: FoundRun
    state: State
    n: int = 0  # cases that have ended
    failed: int = 0  # of these
    total: int | None = None  # how many there will be, where that is known
    metric: MainMetric | None = None
    per_minute: float | None = None  # only while it is running, as the next
    seconds_left: float | None = None
    problem: str = ""  # of a damaged one


class RunMonitor:
    """The states of runs, with what was read of them; safe to use from several threads."""

    def __init__(self) -> None:
        self._watched: dict[Path, _WatchedRun] = {}
        self._lock = Lock()

    def states(self, folder: Path) -> list[RunState]:
        """Return the states of all runs below a folder, by name."""
        states = [self.state(run) for run in look_for_runs(folder)]
        with self._lock:
            for gone in self._watched.keys() - {state.run.directory.path for state in states}:
                del self._watched[gone]
        return states

    def state(self, run: FoundRun) -> RunState:
        """Return the state of a run; damaged files never raise."""
        if run.problem:
            return RunState(run, "damaged", problem=run.problem)
        with self._lock:
            watch = self._watched.setdefault(run.directory.path, _WatchedRun(run.directory))
        with watch.lock:
            try:
                return watch.state(run)
            except UiproofError as error:
                return RunState(run, "damaged", problem=error.message)
            except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
                # Files that are valid JSON, but not what a run has.
                return RunState(run, "damaged", problem=f"Its files are damaged: {error!r}.")


class _WatchedRun:
    """The state of one run as it was last read."""

    def __init__(self, directory: RunDirectory) -> None:
        self.lock = Lock()
        self._directory = directory
        self._tally = _Tally(directory.journal)
        self._pace: deque[tuple[float, int]] = deque()
        self._ended: tuple[object, dict[str, Any], MainMetric | None] | None = None
        self._metric: MainMetric | None = None
        self._metric_key: object = None
        self._metric_after = 0.0

    def state(self, run: FoundRun) -> RunState:
        running = is_locked(self._directory.path / "lock")  # first: it may end meanwhile
        if (ended := self._summary()) is not None:
            self._pace.clear()
            summary, metric = ended
            n, failed = int(summary["n"]), int(summary["failed"])
            state: State = "finished" if summary.get("complete", True) else "interrupted"
            state = "failed" if failed == n else state
            return RunState(run, state, n, failed, _total(run, n), metric)
        self._tally.read()
        n, failed = self._tally.n, self._tally.failed
        total = _total(run, n)
        metric = self._metric_so_far() if n else None
        if not running:
            self._pace.clear()
            state = "failed" if failed == n else "interrupted"
            return RunState(run, state, n, failed, total, metric)
        rate = self._rate(run, n)
        left = (total - n) / rate if total is not None and rate else None
        minute = None if rate is None else rate * 60
        return RunState(run, "running", n, failed, total, metric, minute, left)

    def _summary(self) -> tuple[dict[str, Any], MainMetric | None] | None:
        """Return the summary of a run that has ended; read once."""
        key = stamp(self._directory.path / "summary.json")
        if key is None:
            return None
        if self._ended is None or self._ended[0] != key:
            try:
                summary = self._directory.summary
                self._ended = key, summary, _main_metric(self._directory)
            except InputError:
                if stamp(self._directory.path / "summary.json") is None:
                    return None  # a run that is continued has just deleted it
                raise
        return self._ended[1:]

    def _metric_so_far(self) -> MainMetric | None:
        """Return the main metric; a long journal is read again only now and then."""
        key, began = stamp(self._directory.journal), time.monotonic()
        if key != self._metric_key and began >= self._metric_after:
            self._metric, self._metric_key = _main_metric(self._directory), key
            took = time.monotonic() - began
            self._metric_after = began + min((1 + _SHARE) * took, _LONGEST_SECONDS)
        return self._metric

    def _rate(self, run: FoundRun, n: int) -> float | None:
        """Return the recent cases per second; None until a case was seen to finish."""
        now = time.time()
        if not self._pace:
            began = _began(run)
            self._pace.append((began, 0) if began is not None else (now, n))
        if self._pace[-1][1] != n:
            self._pace.append((now, n))
        while len(self._pace) > 2 and self._pace[1][0] < now - _WINDOW_SECONDS:
            self._pace.popleft()
        since, before = self._pace[0]
        return (n - before) / (now - since) if n > before and now - since >= 1 else None


class _Tally:
    """Counts of cases in a growing journal; no line is read twice."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._forget()

    def _forget(self) -> None:
        self._inode: int | None = None
        self._position = self._lines = 0
        self._is_failed: dict[str, bool] = {}
        self.failed = 0

    @property
    def n(self) -> int:
        return len(self._is_failed)

    def read(self) -> None:
        """Count what was added, or everything if the file was replaced."""
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            self._forget()
            return
        with file:
            status = os.fstat(file.fileno())
            if status.st_ino != self._inode or status.st_size < self._position:
                self._forget()
                self._inode = status.st_ino
            file.seek(self._position)
            for line in file:
                if not line.endswith(b"\n"):
                    return  # being written
                self._count(line)
                self._position += len(line)

    def _count(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            case_id, failed = str(record["id"]), record["status"] == "failed"
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"Line {self._lines + 1} of {self._path} is damaged: {error}."
            ) from error
        self._lines += 1
        self.failed += failed - self._is_failed.get(case_id, False)
        self._is_failed[case_id] = failed


def _main_metric(run: RunDirectory) -> MainMetric | None:
    board = leaderboard([run], running=True)
    if board.primary is None:
        return None
    metric, cell = board.metrics[board.primary], board.rows[0].cells[board.primary]
    if cell.mean is None:
        return None
    return MainMetric(metric.label, metric.digits, float(cell.mean), cell.low, cell.high)


def _total(run: FoundRun, n: int) -> int | None:
    """Return how many cases there will be; never fewer than there are."""
    total = run.manifest.get("cases")
    return max(total, n) if isinstance(total, int) else None


def _began(run: FoundRun) -> float | None:
    """Return when a run was started from nothing; None for one that is being continued."""
    try:
        created = datetime.fromisoformat(str(run.manifest.get("created"))).timestamp()
        locked = (run.directory.path / "lock").stat().st_mtime
    except (ValueError, OSError):
        return None
    return locked if abs(locked - created) < _FRESH_SECONDS else None
