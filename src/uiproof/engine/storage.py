"""Troubles with disks and files, told apart: the machine's, which stop a run, and the user's."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from uiproof.errors import InputError, StorageError, UiproofError

_MACHINE_FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_REMEDY = (
    "Make room there or make it writable, then run the same command again: "
    "the run continues where it stopped."
)


def storage_fault(error: BaseException) -> StorageError | None:
    """The full or read-only disk behind an error, however often it was wrapped; None without."""
    seen: set[int] = set()  # an error can be its own cause
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, StorageError):
            return one
        if isinstance(one, OSError) and one.errno in _MACHINE_FAULTS:
            where = f" ({one.filename})" if one.filename else ""
            return StorageError(f"Nothing can be stored: {one.strerror}{where}.", remedy=_REMEDY)
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
    return None


@contextmanager
def access(path: Path, done: str) -> Iterator[None]:
    """Turn what the system refuses into a typed error: `with access(path, "read"): ...`."""
    try:
        yield
    except OSError as error:
        raise access_error(path, done, error) from error


def access_error(path: Path, done: str, error: OSError) -> UiproofError:
    """Why a file of a run cannot be read, written or made."""
    message = f"{path} cannot be {done}: {error.strerror or error}."
    if storage_fault(error):
        return StorageError(message, remedy=_REMEDY)
    return InputError(message, remedy="Check who owns it and its permissions, or use another one.")
