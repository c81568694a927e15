"""Atomic writes, and folders of cached files that are kept below a size."""

from __future__ import annotations

import errno
import os
import random
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO
from uuid import uuid4

from uiproof.errors import InputError, StorageError, UiproofError, suggestion

_OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/")  # already open: not to be replaced
_SCANS = 20  # how often a folder is scanned while as much is written as it may hold
_TARGET = 0.9  # of the allowed size, after eviction
_BLOCK = 4096  # the least that a file takes on disk


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write a file atomically; text is written as UTF-8."""
    partial = path.with_name(f".{path.name[:80]}.{uuid4().hex[:12]}")
    try:
        partial.write_bytes(data.encode() if isinstance(data, str) else data)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def path_suggestion(path: str | Path) -> str:
    """Return `Did you mean …?` for a path that does not exist, where one like it does."""
    missing = Path(path).expanduser()
    with suppress(OSError):
        while missing.parent != missing and not missing.parent.exists():
            missing = missing.parent
        rest = Path(path).expanduser().relative_to(missing)
        names = [entry.name for entry in missing.parent.iterdir() if (entry / rest).exists()]
        before, after = missing.parent / "x", "" if rest == Path() else f"/{rest}"
        return suggestion(missing.name, sorted(names), before=str(before)[:-1], after=after)
    return ""


def folder_size(folder: Path) -> int:
    """Return what all files below a folder take on disk."""
    return sum(size for _, size, _ in _files(folder))


class BoundedCache:
    """A folder of files below a size; the least recently used ones are evicted.

    Processes may share a folder. Deleting a file that another process reads does no harm: files
    are written in one step, read in one step, and made again where they are gone.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder, self.max_bytes = folder, max_bytes

    def read(self, name: str) -> bytes | None:
        """Return a file's content and mark it as used; None where there is none."""
        path = self.folder / name
        try:
            data = path.read_bytes()
        except OSError:
            return None
        with suppress(OSError):  # the folder may be read-only
            os.utime(path)
        return data

    def write(self, name: str, data: bytes) -> None:
        """Write a file; now and then this evicts others."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, data)
        self.after_write(len(data))

    def after_write(self, size: int) -> None:
        """Evict at random moments, so that processes need not share a counter."""
        if random.random() < _SCANS * max(size, _BLOCK) / self.max_bytes:
            self.evict()

    def evict(self) -> None:
        """Delete the least recently used files if all together are larger than allowed."""
        files = sorted(_files(self.folder))
        size = sum(one for _, one, _ in files)
        if size <= self.max_bytes:
            return
        for _, one, path in files:
            if size <= _TARGET * self.max_bytes:
                return
            with suppress(OSError):  # another process evicts too, or the folder is read-only
                Path(path).unlink()
            size -= one


def _files(folder: Path) -> Iterator[tuple[int, int, str]]:
    """Yield when each file was last used, its size on disk, and its path."""
    pending = [str(folder)]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    with suppress(OSError):
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
                        else:
                            status = entry.stat(follow_symlinks=False)
                            yield status.st_mtime_ns, max(status.st_size, _BLOCK), entry.path
        except OSError:
            continue  # deleted meanwhile, or not readable


_MACHINE_FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_REMEDY = (
    "Make room there or make it writable, then run the same command again: "
    "the run continues where it stopped."
)


def storage_fault(error: BaseException) -> StorageError | None:
    """Return the full or read-only disk behind a wrapped error; None if it is another error."""
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
    """Turn an `OSError` into a typed error: `with access(path, "read"): ...`."""
    try:
        yield
    except OSError as error:
        raise access_error(path, done, error) from error


def access_error(path: Path, done: str, error: OSError) -> UiproofError:
    """Return why a file of a run cannot be read, written or made."""
    message = f"{path} cannot be {done}: {error.strerror or error}."
    if storage_fault(error):
        return StorageError(message, remedy=_REMEDY)
    return InputError(message, remedy="Check who owns it and its permissions, or use another one.")


def has_more_values(text: bytes, most: int) -> bool:
    """Tell whether JSON has more values in its lists and objects than `most`.

    A megabyte of JSON can hold half a million empty lists, which need a hundred times its memory
    once they are parsed. Counting takes a fraction of the time that parsing does, and works on any
    bytes.
    """
    # Without escaped quotes, every second part between quotes is outside of strings.
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 4 * most + 4:  # an entry of an object has at most four
        return True
    outside = b"".join(plain.split(b'"')[::2])
    return sum(map(outside.count, (b",", b"{", b"["))) > most


@contextmanager
def replacing(target: str | Path, *, makes_folders: bool = False) -> Iterator[TextIO]:
    """Open a text file that replaces the target only if the block succeeds.

    Behind a symbolic link the file is replaced, not the link. Devices and pipes are written to.
    """
    try:
        if _is_stream(Path(target)):
            with Path(target).open("w", encoding="utf-8", newline="\n") as stream:
                yield stream
            return
        with (
            replacing_file(target, makes_folders=makes_folders) as partial,
            partial.open("x", encoding="utf-8", newline="\n") as stream,
        ):
            yield stream
    except OSError as error:
        raise access_error(Path(target), "written", error) from error


@contextmanager
def replacing_file(target: str | Path, *, makes_folders: bool = False) -> Iterator[Path]:
    """Yield a path to write to; it replaces the target only if the block succeeds."""
    try:
        place = Path(os.path.realpath(target))
        if makes_folders:
            place.parent.mkdir(parents=True, exist_ok=True)
        partial = place.with_name(f".uiproof-{uuid4().hex}")
        try:
            yield partial
            if place.exists():
                shutil.copymode(place, partial)
            partial.replace(place)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise access_error(Path(target), "written", error) from error


def obstacle(target: Path, makes_folders: bool) -> str:
    """Return why a file could not be written; empty where it can."""
    if target.is_dir():
        return "it is a folder"
    if _is_stream(target):
        return "" if os.access(target, os.W_OK) else "this user may not write to it"
    place = Path(os.path.realpath(target))
    if place.exists() and not os.access(place, os.W_OK):
        return "this user may not write to it"
    folder = place.parent
    while makes_folders and not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.exists():
        return f"there is no folder {folder}"
    if not folder.is_dir():
        return f"{folder} is not a folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"this user may not make files in {folder}"
    return ""


def _is_stream(target: Path) -> bool:
    if str(target).startswith(_OPEN_FILES):
        return True
    if not target.exists():
        return False
    mode = target.stat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
