"""One writer per run: a lock that the system lets go of by itself when its holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from uiproof.engine.storage import access
from uiproof.errors import InputError, RunLockedError

_LOOKS = 25  # `is_locked` holds a lock for a moment; trying again tells it from a writer
_LOOK_SECONDS = 0.02


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file at `path`; raises `RunLockedError` while another process holds it."""
    # The file stays behind, empty of meaning: deleting it would let two processes lock two files.
    with access(path, "written"):
        file = path.open("ab", buffering=0)
    with file:
        try:
            _take(file)
        except BlockingIOError:
            raise RunLockedError(
                f"{path.parent} is being written by {_holder(path)}.",
                remedy="Wait for it to finish or stop it, or write to another directory.",
            ) from None
        except OSError as error:
            raise InputError(
                f"{path.parent} is on a file system that cannot lock files ({error}).",
                remedy="Write the run to a local disk.",
            ) from error
        with access(path, "written"):
            file.truncate(0)
            file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
        yield


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock file at `path` now; a look does not disturb anybody."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # there is none, or it cannot be locked: nobody writes here
    return False


def _take(file: IO[bytes]) -> None:
    for _ in range(_LOOKS):
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOOK_SECONDS)
    return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _holder(path: Path) -> str:
    try:
        holder = json.loads(path.read_text("utf-8"))
        return f"process {holder['pid']} on {holder['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"  # it has the lock but has not yet said who it is, or not to us
