"""The runs that a studio shows: directories with a `run.json`, at any depth below one folder.

A run is called by its path below that folder, which is what addresses and items name.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError, UiproofError

_DEEPEST = 4
_NOT_RUNS = frozenset({"artifacts", "references", "node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class FoundRun:
    """One run directory."""

    name: str
    directory: RunDirectory
    manifest: dict[str, Any]

    @property
    def benchmark(self) -> str:
        """Of which benchmark it is."""
        return str(self.manifest.get("benchmark", ""))

    @property
    def method(self) -> str:
        """What answered: a model with its prompt, or a method that asks none."""
        return str(self.manifest.get("method", self.name))

    @property
    def prompt(self) -> str:
        """The prompt as it was asked for; empty for methods that have none."""
        settings = self.manifest.get("settings")
        asked = settings.get("prompt") if isinstance(settings, dict) else None
        return asked if isinstance(asked, str) else ""

    @property
    def model(self) -> str:
        """The method without its prompt."""
        return self.method.removesuffix(f" {self.prompt}") if self.prompt else self.method


@dataclass(frozen=True, slots=True)
class DamagedRun:
    """A directory with a `run.json` that cannot be used."""

    name: str
    problem: str


def find_runs(folder: Path) -> list[FoundRun]:
    """All runs below a folder, by name. Directories that are no runs, or damaged, are passed by."""
    return [run for run in look_for_runs(folder) if isinstance(run, FoundRun)]


def look_for_runs(folder: Path) -> list[FoundRun | DamagedRun]:
    """All runs below a folder, by name, those that are damaged included."""
    found: list[FoundRun | DamagedRun] = []
    for place, below, names in os.walk(folder):
        path = Path(place)
        inside = path.relative_to(folder)
        if "run.json" in names:
            below.clear()
            try:
                found.append(open_run(folder, inside.as_posix()))
            except UiproofError as error:
                found.append(DamagedRun(inside.as_posix(), error.message))
        below[:] = sorted(
            name
            for name in below
            if len(inside.parts) < _DEEPEST and name not in _NOT_RUNS and not name.startswith(".")
        )
    return sorted(found, key=lambda run: run.name)


def open_run(folder: Path, name: str) -> FoundRun:
    """The run of a name; raises `InputError` if there is none, or if it lies elsewhere."""
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
            remedy="It may have been moved or deleted meanwhile.",
        )
    directory = RunDirectory(path)
    manifest = directory.manifest
    if not isinstance(manifest, dict) or not isinstance(manifest.get("benchmark"), str):
        raise InputError(f"{path / 'run.json'} is damaged: it does not name a benchmark.")
    return FoundRun(name, directory, manifest)


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Changes when a file does; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
