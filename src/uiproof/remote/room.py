"""Room for local copies: how much all of them may take, and which of them nobody uses.

Beside each copy lies a file `….used`. Its time says when the copy was last used, its content how
many bytes it takes, and who uses the copy holds a lock on it, which the system lets go of when that
process ends, however it ends. The file stays when the copy is deleted: deleting it, too, would let
two processes lock two files.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from uiproof.engine.storage import access
from uiproof.pruning import size_of

PUSHED = "pushed"  # in the copy of a run: all of it is at its URL, too
_MOST_HELD = 200  # open files; who uses more copies than this lets go of the first ones

_held: OrderedDict[Path, int] = OrderedDict()  # the locks of this process, the last used one last


def hold(copy: Path) -> None:
    """Say that a copy is used, so that nobody deletes it as long as this process lives."""
    note = _note(copy)
    with access(note, "written"):
        note.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(note, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(lock, fcntl.LOCK_SH)  # waits while another process deletes the copy
        os.utime(note)
    let_go = _held.pop(copy, None)
    _held[copy] = lock
    if let_go is None and len(_held) > _MOST_HELD:
        let_go = _held.popitem(last=False)[1]
    if let_go is not None:
        os.close(let_go)


def measure(copy: Path) -> None:
    """Note how much a copy takes now."""
    with access(_note(copy), "written"):
        _note(copy).write_text(str(size_of(copy)), "utf-8")


def make_room(root: Path, most_bytes: int) -> None:
    """Delete the copies that were not used for longest, if all together are larger than allowed.

    Copies that a living process uses stay, and so do runs that are not wholly at their URL.
    """
    copies = sorted(_copies(root), key=lambda copy: copy.used)
    taken = sum(copy.size for copy in copies)
    for copy in copies:
        if taken <= most_bytes:
            return
        if _deleted(copy):
            taken -= copy.size


@dataclass(frozen=True, slots=True)
class _Copy:
    folder: Path
    used: int
    size: int


def _copies(root: Path) -> Iterator[_Copy]:
    for note in root.glob("*/*.used"):
        folder = note.with_suffix("")
        with suppress(OSError):  # another process makes room as well
            if folder.is_dir():
                told = note.read_text("utf-8")  # nothing, where a fetch was interrupted
                size = int(told) if told.isdecimal() else size_of(folder)
                yield _Copy(folder, note.stat().st_mtime_ns, size)


def _deleted(copy: _Copy) -> bool:
    with suppress(OSError):  # somebody uses it, or makes room as well
        lock = os.open(_note(copy.folder), os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if copy.folder.parent.name == "runs" and not (copy.folder / PUSHED).exists():
                return False
            # Whoever is killed meanwhile leaves no half copy behind, only what goes the next time.
            going = copy.folder.with_name(f".{copy.folder.name}")
            shutil.rmtree(going, ignore_errors=True)
            copy.folder.rename(going)
            shutil.rmtree(going, ignore_errors=True)
            return True
        finally:
            os.close(lock)
    return False


def _note(copy: Path) -> Path:
    return copy.with_name(f"{copy.name}.used")
