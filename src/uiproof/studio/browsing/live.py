"""How far runs are: read again and again while somebody looks, so each look reads what is new.

lookout = Lookout()
for one in lookout.look(folder): print(one.run.name, one.state, one.n)

Of a run that has ended its `summary.json` is read once. Of one that goes on, the new lines of the
journal are; what it amounts to so far is computed anew only as often as that takes little time.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Literal

from uiproof.engine.lock import is_locked
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError, UiproofError
from uiproof.report.leaderboard import leaderboard
from uiproof.studio.browsing.runs import FoundRun, look_for_runs, stamp

State = Literal["running", "finished", "interrupted", "failed", "damaged"]

_WINDOW_SECONDS = 300.0  # how far back the rate looks
_SHARE = 20  # computing a metric takes at most this part of the time …
_LONGEST_SECONDS = 600.0  # … but nobody waits longer for news
_NOTICED_SECONDS = 0.3
_FRESH_SECONDS = 5.0  # a lock that was taken this soon after `created` is of the first start


@dataclass(frozen=True, slots=True)
class MainMetric:
    """What a leaderboard would rank the run by, so far."""

    label: str
    digits: int
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class RunState:
    """One run as it is now."""

    run: FoundRun
    state: State
    n: int = 0  # cases that have ended
    failed: int = 0  # of these
    total: int | None = None  # how many there will be, where that is known
    metric: MainMetric | None = None
    per_minute: float | None = None  # only while it is running, as the next
    seconds_left: float | None = None
    problem: str = ""  # of a damaged one


class Lookout:
    """Knows the states of runs; remembers what it has read. May be used from several threads."""

    def __init__(self) -> None:
        self._watched: dict[Path, _Watch] = {}
        self._lock = Lock()

    def look(self, folder: Path) -> list[RunState]:
        """The states of all runs below a folder, by name."""
        found = look_for_runs(folder)
        states = [
            self.state(run)
            if isinstance(run, FoundRun)
            else RunState(
                FoundRun(run.name, RunDirectory(folder / run.name), {}),
                "damaged",
                problem=run.problem,
            )
            for run in found
        ]
        with self._lock:
            for gone in self._watched.keys() - {state.run.directory.path for state in states}:
                del self._watched[gone]
        return states

    def state(self, run: FoundRun) -> RunState:
        """How a run is now; never raises for what is wrong with its files."""
        with self._lock:
            watch = self._watched.setdefault(run.directory.path, _Watch(run.directory))
        with watch.lock:
            try:
                return watch.state(run)
            except UiproofError as error:
                return RunState(run, "damaged", problem=error.message)
            except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
                # Files that are valid JSON, but not what a run has.
                return RunState(run, "damaged", problem=f"Its files are damaged: {error!r}.")


class _Watch:
    """What is remembered about one run."""

    def __init__(self, directory: RunDirectory) -> None:
        self.lock = Lock()
        self._directory = directory
        self._tally = _Tally(directory.journal)
        self._pace: deque[tuple[float, int]] = deque()
        self._ended: tuple[object, dict[str, Any], MainMetric | None] | None = None
        self._slowly = _Slowly(directory)

    def state(self, run: FoundRun) -> RunState:
        running = is_locked(self._directory.path / "lock")  # before: it may end while we look
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
        metric = self._slowly.get(stamp(self._directory.journal)) if n else None
        if not running:
            self._pace.clear()
            state = "failed" if failed == n else "interrupted"
            return RunState(run, state, n, failed, total, metric)
        rate = self._rate(run, n)
        left = (total - n) / rate if total is not None and rate else None
        minute = None if rate is None else rate * 60
        return RunState(run, "running", n, failed, total, metric, minute, left)

    def _summary(self) -> tuple[dict[str, Any], MainMetric | None] | None:
        """Of a run that has ended: what it amounts to, which is read once."""
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

    def _rate(self, run: FoundRun, n: int) -> float | None:
        """Cases per second of late; None until something was finished under our eyes."""
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


class _Slowly:
    """The main metric of a journal that grows: made in a thread of its own, one at a time.

    A look gets the last one that is ready; for a new one it waits no longer than nobody notices.
    """

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._key: object = None  # of what is ready, or being made
        self._again = 0.0
        self._ready = Event()
        self._ready.set()
        self._made: MainMetric | BaseException | None = None

    def get(self, key: object) -> MainMetric | None:
        """What is known by now; `key` changes with the journal."""
        if key != self._key and self._ready.is_set() and time.monotonic() >= self._again:
            self._key = key
            self._ready.clear()
            Thread(target=self._make, daemon=True).start()
            self._ready.wait(_NOTICED_SECONDS)
        made = self._made
        if isinstance(made, BaseException):
            raise made
        return made

    def _make(self) -> None:
        began = time.monotonic()
        try:
            self._made = _main_metric(self._directory)
        except Exception as error:  # noqa: BLE001 - who looks is told
            self._made = error
        took = time.monotonic() - began
        self._again = time.monotonic() + min(_SHARE * took, _LONGEST_SECONDS)
        self._ready.set()


class _Tally:
    """Counts cases in a journal that grows; lines that were counted are not read again."""

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
        """Count what was added; all anew where the journal is another one."""
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
                    return  # just being written
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
    """How many cases there will be; never fewer than there are."""
    total = run.manifest.get("cases")
    return max(total, n) if isinstance(total, int) else None


def _began(run: FoundRun) -> float | None:
    """When a run was started that had nothing then; None for one that is being continued."""
    try:
        created = datetime.fromisoformat(str(run.manifest.get("created"))).timestamp()
        locked = (run.directory.path / "lock").stat().st_mtime
    except (ValueError, OSError):
        return None
    return locked if abs(locked - created) < _FRESH_SECONDS else None
