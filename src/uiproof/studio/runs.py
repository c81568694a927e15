"""Runs below one folder: find them, watch their states, and make reports about them.

    monitor = RunMonitor()
    for one in monitor.states(folder):
        print(one.run.name, one.state, one.n)

A run is called by its path below that folder, which is what addresses and items name. The summary
of a finished run is read once. Of a running one only the new lines of the journal are read, and its
main metric is computed as often as that takes little time.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

from uiproof.engine.rundir import RunDirectory, is_locked
from uiproof.errors import InputError, UiproofError
from uiproof.leaderboard import leaderboard
from uiproof.report.html import Linked, report_page
from uiproof.views.base import RunRow

_ADDRESS = "/runs"
_DEEPEST = 4
_REPORTS_KEPT = 12  # in memory
_FILES = ("run.json", "journal.jsonl", "summary.json")
_NOT_RUNS = frozenset({"artifacts", "references", "node_modules", "__pycache__"})
_WINDOW_SECONDS = 300.0  # of which the rate is measured
_SHARE = 20  # computing a metric takes at most one part in this many of the time …
_LONGEST_SECONDS = 600.0  # … but it is never older than this
_FRESH_SECONDS = 5.0  # a lock taken this soon after `created` is of the first start

State = Literal["running", "finished", "interrupted", "failed", "damaged"]


@dataclass(frozen=True, slots=True)
class FoundRun:
    """One run directory."""

    name: str
    directory: RunDirectory
    manifest: dict[str, Any]
    problem: str = ""  # why it cannot be used

    @property
    def benchmark(self) -> str:
        """Return the name of the benchmark."""
        return str(self.manifest.get("benchmark", ""))

    @property
    def method(self) -> str:
        """Return what answered: a model with its prompt, or a method without a model."""
        return str(self.manifest.get("method", self.name))

    @property
    def prompt(self) -> str:
        """Return the prompt; empty for methods without one."""
        settings = self.manifest.get("settings")
        asked = settings.get("prompt") if isinstance(settings, dict) else None
        return asked if isinstance(asked, str) else ""

    @property
    def model(self) -> str:
        """Return the method without its prompt."""
        return self.method.removesuffix(f" {self.prompt}") if self.prompt else self.method


def find_runs(folder: Path) -> list[FoundRun]:
    """Return the readable runs below a folder, by name."""
    return [run for run in look_for_runs(folder) if not run.problem]


def look_for_runs(folder: Path) -> list[FoundRun]:
    """Return all runs below a folder, by name, including damaged ones."""
    found: list[FoundRun] = []
    for place, below, names in os.walk(folder):
        path = Path(place)
        inside = path.relative_to(folder)
        if "run.json" in names:
            below.clear()
            try:
                found.append(open_run(folder, inside.as_posix()))
            except UiproofError as error:
                found.append(FoundRun(inside.as_posix(), RunDirectory(path), {}, error.message))
        below[:] = sorted(
            name
            for name in below
            if len(inside.parts) < _DEEPEST and name not in _NOT_RUNS and not name.startswith(".")
        )
    return sorted(found, key=lambda run: run.name)


def open_run(folder: Path, name: str) -> FoundRun:
    """Return the run of a name; raise `InputError` if there is none below the folder."""
    path = folder / name
    try:
        inside = path.resolve().is_relative_to(folder.resolve()) and not any(
            part.startswith(".") for part in Path(name).parts if part != "."
        )
        there = inside and (path / "run.json").is_file()
    except (OSError, ValueError):  # a name that no file can have
        there = False
    if not there:
        raise InputError(
            f"There is no run {name!r} below {folder}.",
            remedy="It may have been moved or deleted.",
        )
    directory = RunDirectory(path)
    manifest = directory.manifest
    if not isinstance(manifest, dict) or not isinstance(manifest.get("benchmark"), str):
        raise InputError(f"{path / 'run.json'} is damaged: it does not name a benchmark.")
    return FoundRun(name, directory, manifest)


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file does; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


# States of runs, polled while a page shows them.


class MainMetric(NamedTuple):
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
        self._ended: tuple[object, RunRow, MainMetric | None] | None = None
        self._metric: MainMetric | None = None
        self._metric_key: object = None
        self._metric_after = 0.0

    def state(self, run: FoundRun) -> RunState:
        running = is_locked(self._directory.path / "lock")  # first: it may end meanwhile
        state: State
        if (ended := self._summary()) is not None:
            self._pace.clear()
            _, row, metric = ended
            state = "finished" if row.complete else "interrupted"
            state = "failed" if row.failed == row.n else state
            return RunState(run, state, row.n, row.failed, _total(run, row.n), metric)
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

    def _summary(self) -> tuple[object, RunRow, MainMetric | None] | None:
        """Return the summary of a run that has ended; read once."""
        file = self._directory.path / "summary.json"
        key = stamp(file)
        if key is None:
            return None
        if self._ended is None or self._ended[0] != key:
            try:
                self._ended = key, *_summed_up(self._directory)
            except InputError:
                if stamp(file) is None:
                    return None  # a run that is continued has just deleted it
                raise
        return self._ended

    def _metric_so_far(self) -> MainMetric | None:
        """Return the main metric; a long journal is read again only now and then."""
        key, began = stamp(self._directory.journal), time.monotonic()
        if key != self._metric_key and began >= self._metric_after:
            self._metric, self._metric_key = _summed_up(self._directory)[1], key
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
        self._inode = self._position = self._lines = 0
        self._is_failed: dict[str, bool] = {}

    @property
    def n(self) -> int:
        return len(self._is_failed)

    @property
    def failed(self) -> int:
        return sum(self._is_failed.values())

    def read(self) -> None:
        """Count what was added, or everything if the file was replaced."""
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return self._is_failed.clear()
        with file:
            status = os.fstat(file.fileno())
            if status.st_ino != self._inode or status.st_size < self._position:
                self._inode, self._position, self._lines = status.st_ino, 0, 0
                self._is_failed.clear()
            file.seek(self._position)
            for line in file:
                if not line.endswith(b"\n"):
                    return None  # being written
                try:
                    record = json.loads(line)
                    self._is_failed[str(record["id"])] = record["status"] == "failed"
                except (ValueError, TypeError, KeyError) as error:
                    raise InputError(
                        f"Line {self._lines + 1} of {self._path} is damaged: {error}."
                    ) from error
                self._lines += 1
                self._position += len(line)
        return None


def _summed_up(run: RunDirectory) -> tuple[RunRow, MainMetric | None]:
    board = leaderboard([run], running=True)
    row = board.rows[0]
    if board.primary is None or (mean := row.cells[board.primary]).mean is None:
        return row, None
    metric = board.metrics[board.primary]
    return row, MainMetric(metric.label, metric.digits, float(mean.mean), mean.low, mean.high)


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


# Reports.


@dataclass
class _Report:
    """The last report about some runs; its pictures keep their numbers."""

    key: str = field(default_factory=lambda: secrets.token_hex(12))
    pictures: Linked = field(init=False)
    lock: Lock = field(default_factory=Lock)
    stamp: object = None
    page: str = ""

    def __post_init__(self) -> None:
        self.pictures = Linked(f"{_ADDRESS}/pictures/{self.key}", files_url=f"{_ADDRESS}/files")


class Reports:
    """Reports in memory, made again when a run has changed; safe to use from several threads.

    Every report has a key in the addresses of its pictures: after its eviction, an open page misses
    pictures but never shows those of another report.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[Path, ...], _Report] = {}  # least recently used first
        self._lock = Lock()

    def page(self, runs: Sequence[FoundRun]) -> str:
        """Return the report about runs of one benchmark; raise `InputError` if one is damaged."""
        paths = tuple(run.directory.path for run in runs)
        with self._lock:
            made = self._made[paths] = self._made.pop(paths) if paths in self._made else _Report()
            while len(self._made) > _REPORTS_KEPT:
                del self._made[next(iter(self._made))]
        with made.lock:
            # Before reading, so that later changes make it again.
            now = [(is_locked(path / "lock"), *(stamp(path / n) for n in _FILES)) for path in paths]
            if now != made.stamp:
                made.page = _page(runs, made.pictures)
                made.stamp = now
            return made.page

    def picture(self, key: str, number: int) -> bytes | None:
        """Return a picture of a report; None if it was evicted."""
        with self._lock:
            made = next((made for made in self._made.values() if made.key == key), None)
        return None if made is None else made.pictures.picture(number)


def _page(runs: Sequence[FoundRun], pictures: Linked) -> str:
    chosen = urlencode([("run", run.name) for run in runs], errors="surrogateescape")
    try:
        page = "".join(
            report_page(
                [run.directory for run in runs],
                pictures=pictures,
                back_url=_ADDRESS,
                live_url=f"{_ADDRESS}/state?{chosen}",
                navigation={"Annotate": "/tasks", "Data sets": "/data", "People": "/people"},
            )
        )
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(
            f"These runs cannot be shown; files are damaged or being changed: {error!r}.",
            remedy="Reload the page, or check the files of the run.",
        ) from error
    return page.encode("utf-8", "replace").decode("utf-8")
