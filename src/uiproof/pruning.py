"""Folders of cached files that must not grow without end: what was not used for longest goes.

A file that is deleted while somebody reads it is no harm: who keeps files here writes each of them
in one move, reads it in one go, and makes it again where it is gone.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_LOOKS = 20  # how often a folder is looked through while as much is written as it may hold
_LEFT = 0.9  # of what it may hold, after making room
_BLOCK = 4096  # the least that a file takes


def written(folder: Path, size: int, most_bytes: int) -> None:
    """Say that a file was written below a folder; now and then this makes room for others.

    Chance decides when, so that nothing has to be remembered between processes.
    """
    if random.random() < _LOOKS * max(size, _BLOCK) / most_bytes:
        make_room(folder, most_bytes)


def make_room(folder: Path, most_bytes: int) -> None:
    """Delete the files below a folder that are oldest, if all together are larger than allowed."""
    files = sorted(_files(folder))
    size = sum(one for _, one, _ in files)
    if size <= most_bytes:
        return
    for _, one, path in files:
        if size <= _LEFT * most_bytes:
            return
        with suppress(OSError):  # another process makes room as well, or it may only be read
            Path(path).unlink()
        size -= one


def size_of(folder: Path) -> int:
    """What all files below a folder take."""
    return sum(size for _, size, _ in _files(folder))


def _files(folder: Path) -> Iterator[tuple[int, int, str]]:
    """When each file was written or last used, what it takes, and where it is."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    with suppress(OSError):
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                        else:
                            told = entry.stat(follow_symlinks=False)
                            yield told.st_mtime_ns, max(told.st_size, _BLOCK), entry.path
        except OSError:
            continue  # it is gone, or nobody may look into it
