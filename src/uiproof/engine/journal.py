"""The journal of a run: one JSON line per finished case, only ever appended to.

A process that dies while it writes leaves a torn last line, one without its line end. Readers
ignore it; the next writer cuts it off.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from uiproof.engine.storage import access, access_error
from uiproof.engine.types import CaseError, Record
from uiproof.errors import InputError, StorageError

# A finished line is in the hands of the system at once and survives the death of the process. Only
# a power cut can lose it; against that, the disk is asked to catch up at most this often.
_SYNC_SECONDS = 0.5


def encode(record: Record) -> bytes:
    """One line of a journal. Raises TypeError or ValueError for what JSON cannot hold (NaN too)."""
    written = {
        "id": record.id,
        "status": record.status,
        "scores": dict(record.scores),
        "error": asdict(record.error) if record.error else None,
        "details": dict(record.details),
        "artifacts": dict(record.artifacts),
        "flags": list(record.flags),
        "seconds": dict(record.seconds),
        "attempts": record.attempts,
        "answer_key": record.answer_key,
        "calls": [dict(call) for call in record.calls],
    }
    return json.dumps(written, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Record:
    """The record in one line of a journal. Raises ValueError, TypeError or KeyError for others."""
    fields: dict[str, Any] = json.loads(line)
    if not isinstance(fields, dict) or not isinstance(fields.get("id"), str):
        raise TypeError("it holds no case")
    if error := fields.get("error"):
        fields["error"] = CaseError(**error)
    fields["flags"] = tuple(fields["flags"])
    fields["calls"] = tuple(fields.get("calls", ()))
    return Record(**fields)


class Journal:
    """Appends lines to a journal.

    with Journal(path) as journal:
        journal.append(encode(record))
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._synced = time.monotonic()
        with access(path, "written"):
            self._file = path.open("ab", buffering=0)
            _cut_torn_line(path)

    def append(self, line: bytes) -> None:
        """Add one finished case."""
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            with suppress(OSError):  # another case may still be written, never behind half a line
                _cut_torn_line(self._path)
            raise self._error(error) from error
        if time.monotonic() - self._synced >= _SYNC_SECONDS:
            self._sync()

    def _sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._error(error) from error
        self._synced = time.monotonic()

    def _error(self, error: OSError) -> StorageError:
        return StorageError(
            f"The journal {self._path} cannot be written: {error.strerror}.",
            remedy="Put that right, then run again: the run continues where it stopped.",
        )

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._file:
            if error is None:
                self._sync()


def _cut_torn_line(path: Path) -> None:
    with path.open("r+b") as file:
        end = position = file.seek(0, os.SEEK_END)
        while position > 0:
            start = max(position - 65536, 0)
            file.seek(start)
            line_end = file.read(position - start).rfind(b"\n")
            if line_end >= 0:
                position = start + line_end + 1
                break
            position = start
        if position < end:
            file.truncate(position)


def is_empty(path: Path) -> bool:
    """Whether not one case is written down."""
    try:
        with path.open("rb") as file:
            return not file.readline().endswith(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError as error:
        raise access_error(path, "read", error) from error


def last_records(path: Path) -> Iterator[Record]:
    """How each case ended, ordered by id: the last line counts where a case has several.

    The order makes summaries independent of who finished first. Records are read one by one; only
    the ids are held in memory.
    """
    if is_empty(path):
        return
    where: dict[str, int] = {}
    for position, record in _lines(path):
        where[record.id] = position
    with path.open("rb") as file:
        for case_id in sorted(where, key=_natural):
            file.seek(where[case_id])
            yield decode(file.readline())


def _lines(path: Path) -> Iterator[tuple[int, Record]]:
    position = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return  # torn, or just being written
            try:
                yield position, decode(line)
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise InputError(
                    f"Line {number} of {path} is damaged: {error}.",
                    remedy="Delete that line and run again: its case is then done again.",
                ) from error
            position += len(line)


def _natural(case_id: str) -> tuple[list[str | int], str]:
    """Orders `page-2` before `page-10`."""
    parts = re.split(r"(\d{1,18})", case_id)
    return [int(part) if index % 2 else part for index, part in enumerate(parts)], case_id
