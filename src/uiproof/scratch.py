"""Temporary folders that are removed with their owner, even after `kill -9`.

    with ScratchFolder() as folder:
        (folder / "notes.txt").write_text("…")

The owner holds a lock on the folder, which the kernel releases when the owner dies, so a folder
that is not locked has no owner: `sweep` removes it. The next process that makes such a folder
calls it, and so does a process that notices the death of another.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path

from uiproof.process_tree import kill_tree

_PREFIX = "uiproof-scratch-"
_OURS = re.compile(rf"{_PREFIX}\w{{8}}")  # as `mkdtemp` names them
_TRIES = 100  # what is being written to takes several
_swept: set[Path] = set()  # folders of temporary files that this process has looked into


class ScratchFolder:
    """A temporary folder that is removed by `remove`, at the end of a `with` block, or by others.

    Processes that are forked share the ownership.
    """

    def __init__(self) -> None:
        place = Path(tempfile.gettempdir())
        if place not in _swept:
            _swept.add(place)
            sweep(place)
        self._lock: int | None = None
        while self._lock is None:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            self._lock = _locked(self.path, wait=True)
        # When Python ends, if it was not done before.
        self._last = weakref.finalize(self, _remove_own, self.path, os.getpid())

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        self._last.detach()
        _remove(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep(place: Path) -> bool:
    """Remove the scratch folders in `place` whose owners are gone, with browsers left in them.

    Return whether others are in use.
    """
    in_use = False
    with suppress(OSError):
        for path in place.iterdir():
            if _OURS.fullmatch(path.name):
                in_use |= not _remove_if_abandoned(path)
    return in_use


def _remove_if_abandoned(path: Path) -> bool:
    """Remove a folder that nobody uses; return false if somebody does."""
    try:
        mine = os.geteuid() in (0, path.lstat().st_uid)
        lock = _locked(path, wait=False) if mine else None
    except OSError as error:  # in use, just removed, or not for us to open
        return not isinstance(error, BlockingIOError)
    if lock is None:
        return True
    try:
        for pid in _browsers_in(path):
            kill_tree(pid)
        _remove(path)
    finally:
        os.close(lock)
    return True


def _locked(path: Path, *, wait: bool) -> int | None:
    """Return a descriptor that holds the lock; None if the folder was swept before."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        os.stat(path)  # noqa: PTH116 - whether it is still there
    except FileNotFoundError:
        os.close(descriptor)
        return None
    except OSError:
        if wait:  # a file system without locks: there nothing is swept, because nothing locks
            return descriptor
        os.close(descriptor)
        raise
    return descriptor


def _browsers_in(path: Path) -> list[int]:
    """Return the browsers that have their profile in a folder."""
    profile = b"--user-data-dir=" + os.fsencode(path) + b"/"
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if profile in command.read_bytes():
                found.append(int(command.parent.name))
    return found


def _remove_own(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # and not what was forked from it
        _remove(path)


def _remove(path: Path) -> None:
    for _ in range(_TRIES):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.01)  # something still writes there
