"""Locks between processes, by number, all in one file.

The system lets go of a lock when its holder dies, however it dies.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.1


class KeyLocks:
    """Locks that belong to one file; `number` is any whole number from 0 to 2**63 - 2.

    A process that closes any descriptor of a file loses all its POSIX locks on that file. So there
    is one descriptor per file and process, and it stays open: get these objects from `of`.
    """

    _all: dict[tuple[int, int, int], KeyLocks] = {}  # noqa: RUF012 - one table for the process
    _opening = threading.Lock()

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._held: set[int] = set()  # a process is never in its own way, so threads ask here
        self._mutex = threading.Lock()
        self._writing = threading.Lock()

    @classmethod
    def of(cls, path: Path) -> KeyLocks:
        """The locks of the file at `path`, which is made if needed; raises `OSError`."""
        with cls._opening:
            try:
                status = path.stat()
            except FileNotFoundError:
                pass
            else:
                if found := cls._all.get((os.getpid(), status.st_dev, status.st_ino)):
                    return found
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            status = os.fstat(fd)
            return cls._all.setdefault((os.getpid(), status.st_dev, status.st_ino), cls(fd))

    def take(self, number: int) -> bool:
        """Take a lock if it is free; whether that worked."""
        with self._mutex:
            if number in self._held:
                return False
            try:
                fcntl.lockf(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            except OSError as error:
                if error.errno in (errno.EACCES, errno.EAGAIN):
                    return False
                raise
            self._held.add(number)
            return True

    def release(self, number: int) -> None:
        """Let go of a lock that was taken."""
        with self._mutex:
            fcntl.lockf(self.fd, fcntl.LOCK_UN, 1, number)
            self._held.discard(number)

    async def wait_for(self, number: int) -> None:
        """Take a lock as soon as it is free."""
        pause = _FIRST_PAUSE
        while not self.take(number):
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    @contextmanager
    def briefly(self, number: int) -> Iterator[None]:
        """Hold a lock that nobody ever holds for longer than a moment."""
        with self._writing:
            fcntl.lockf(self.fd, fcntl.LOCK_EX, 1, number)
            try:
                yield
            finally:
                fcntl.lockf(self.fd, fcntl.LOCK_UN, 1, number)
