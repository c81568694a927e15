"""Runs joined into one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from uiproof.engine.merging import merge_runs
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError
from uiproof.registry import benchmarks
from uiproof.remote.pushing import kept_at_url, run_place


def merge(
    runs: Sequence[str | Path | RunDirectory], out: str | Path, *, partial: bool = False
) -> RunDirectory:
    """Join shards, or other runs of the same thing, into a new run in `out`.

        uiproof.merge(["shards/1", "shards/2"], "runs/blueprint")

    Raises `RunMismatchError` that says what differs where they do not belong together. With
    `partial`, shards may be missing or unfinished. The runs stay as they are. All may be URLs.
    """
    directories = [RunDirectory.of(run) for run in runs]
    name = str(directories[0].manifest.get("benchmark")) if directories else ""
    known = benchmarks()
    if directories and name not in known:
        raise InputError(f"The benchmark {name!r} is not installed here.")
    place = run_place(out)
    with kept_at_url(place):
        return merge_runs(directories, place, known[name], partial=partial)
