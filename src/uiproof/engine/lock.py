"""One writer per run: a lock that the system lets go of by itself when its holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from uiproof.errors import InputError, RunLockedError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file at `path`; raises `RunLockedError` while another process holds it."""
    # The file stays behind, empty of meaning: deleting it would let two processes lock two files.
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
        file.flush()
        yield


def _holder(path: Path) -> str:
    try:
        holder = json.loads(path.read_text("utf-8"))
        return f"process {holder['pid']} on {holder['host']}"
    except (ValueError, KeyError, TypeError):
        return "another process"  # it has the lock but has not yet said who it is
