"""Runs below one folder, and the reports about them that the studio serves.

A run is called by its path below that folder, which is what addresses and items name.
"""

from __future__ import annotations

import os
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlencode

from uiproof.engine.rundir import RunDirectory, is_locked
from uiproof.errors import InputError, UiproofError
from uiproof.report.html import Linked, report_page

ADDRESS = "/runs"
_DEEPEST = 4
_REPORTS_KEPT = 12  # in memory
_FILES = ("run.json", "journal.jsonl", "summary.json")
_NOT_RUNS = frozenset({"artifacts", "references", "node_modules", "__pycache__"})


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


@dataclass
class _Report:
    """The last report about some runs; its pictures keep their numbers."""

    key: str
    pictures: Linked
    lock: Lock = field(default_factory=Lock)
    stamp: object = None
    page: str = ""


class Reports:
    """Reports in memory, made again when a run has changed; safe to use from several threads.

    Every report has a key in the addresses of its pictures: after its eviction, an open page misses
    pictures but never shows those of another report.
    """

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[Path, ...], _Report] = OrderedDict()
        self._lock = Lock()

    def page(self, runs: Sequence[FoundRun]) -> str:
        """Return the report about runs of one benchmark; raise `InputError` if one is damaged."""
        made = self._entry(tuple(run.directory.path for run in runs))
        with made.lock:
            now = _stamp(runs)  # before reading, so that later changes make it again
            if now != made.stamp:
                made.page = _page(runs, made.pictures)
                made.stamp = now
            return made.page

    def picture(self, key: str, number: int) -> bytes | None:
        """Return a picture of a report; None if it was evicted."""
        with self._lock:
            made = next((made for made in self._made.values() if made.key == key), None)
        return None if made is None else made.pictures.picture(number)

    def _entry(self, paths: tuple[Path, ...]) -> _Report:
        with self._lock:
            if paths not in self._made:
                key = secrets.token_hex(12)
                pictures = Linked(f"{ADDRESS}/pictures/{key}", files_url=f"{ADDRESS}/files")
                self._made[paths] = _Report(key, pictures)
            self._made.move_to_end(paths)
            while len(self._made) > _REPORTS_KEPT:
                self._made.popitem(last=False)
            return self._made[paths]


def _page(runs: Sequence[FoundRun], pictures: Linked) -> str:
    chosen = urlencode([("run", run.name) for run in runs], errors="surrogateescape")
    try:
        page = "".join(
            report_page(
                [run.directory for run in runs],
                pictures=pictures,
                back_url=ADDRESS,
                live_url=f"{ADDRESS}/state?{chosen}",
                navigation={"Annotate": "/tasks", "Data sets": "/data", "People": "/people"},
            )
        )
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(
            f"These runs cannot be shown; files are damaged or being changed: {error!r}.",
            remedy="Reload the page, or check the files of the run.",
        ) from error
    return page.encode("utf-8", "replace").decode("utf-8")


def _stamp(runs: Sequence[FoundRun]) -> object:
    """Return what changes when a report about these runs would."""
    return [
        (is_locked(run.directory.path / "lock"), *(stamp(run.directory.path / n) for n in _FILES))
        for run in runs
    ]
