"""What the tests of faults share: toys of the engine's tests, runs in processes, small disks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "engine"))

from fault_tools import Disk, Started, living


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Starts programs in processes of their own; none of them, and nothing of theirs, remains."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    started: list[Started] = []

    def begin(*command: object, **options: object) -> Started:
        started.append(Started(command, tmp_path, scratch, **options))  # type: ignore[arg-type]
        return started[-1]

    yield begin
    for one in started:
        one.end()
    assert [pid for one in started for pid in living(one.marker)] == []
    # The library that reads text keeps this one small file, the same for all runs.
    assert [path.name for path in scratch.iterdir() if path.name != ".ses"] == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[..., Disk]]:
    """Makes disks that only programs see that are started inside of them."""
    disks: list[Disk] = []

    def make(size: str, **options: object) -> Disk:
        folder = tmp_path / f"disk{len(disks)}"
        folder.mkdir()
        disks.append(Disk(folder, f"size={size}", **options))  # type: ignore[arg-type]
        return disks[-1]

    yield make
    for disk in disks:
        disk.close()
