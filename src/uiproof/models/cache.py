"""Answers of models on disk, so that none is ever paid twice.

cache = ReplyCache(settings.cache_dir / "models", max_bytes=5_000_000_000)
key = cache.key(endpoint, request, rule)
async with cache.locked(key):             # also against other processes
    reply = cache.get(key)
    if reply is None:
        reply = ...                       # ask the model
        cache.put(key, reply, model=endpoint.name)

One file per answer: `<folder>/<first two digits of the key>/<key>.json`.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uiproof.errors import StorageError, UsageError
from uiproof.models.cache_format import NOT_AN_ANSWER, decoded, decoded_facts, encoded, request_key
from uiproof.models.cache_size import SizeLedger
from uiproof.models.key_locks import KeyLocks

if TYPE_CHECKING:
    from uiproof.models.images import ImageRule
    from uiproof.models.names import Endpoint
    from uiproof.models.types import Reply, Request

_ENTRY_NAME = re.compile(r"([0-9a-f]{64})\.json")
_TEMPORARY = ".tmp"
_LONGEST_FACTS = 65_536
_YOUNG_SECONDS = 60.0  # what was just written or read is not thrown away for its size
_STALE_SECONDS = 3600.0  # no writer needs that long: a temporary file of this age was left behind
_ROOM = 0.1  # of the limit: made at once, so that it is not looked for with every answer
# Between attempts to make room that came to nothing: times what such an attempt takes, seconds.
_REST, _SHORTEST_REST = 20.0, 1.0


@dataclass(frozen=True, slots=True)
class Entry:
    """Facts about one stored answer."""

    key: str
    model: str  # its public name
    created: float  # seconds since 1970
    bytes: int
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class ModelTotals:
    """What is stored of one model."""

    model: str
    answers: int
    bytes: int
    input_tokens: int
    output_tokens: int
    oldest: float  # seconds since 1970
    newest: float


@dataclass(frozen=True, slots=True, order=True)
class _File:
    used: float  # first: what was not used for longest is the least
    bytes: int
    key: str


class ReplyCache:
    """Stored answers, for any number of processes at once. Making this object touches no file.

    Over `max_bytes`, those that were not used for longest are removed; None means no limit.
    """

    def __init__(self, folder: Path, max_bytes: int | None = None) -> None:
        self.folder = folder
        self.max_bytes = max_bytes

    @staticmethod
    def key(endpoint: Endpoint, request: Request, rule: ImageRule) -> str:
        """The name of a request's answer: the same for everything that must give the same answer.

        It reads pictures that are given as paths; `loaded` reads them once for all.
        """
        return request_key(endpoint, request, rule)

    def get(self, key: str, *, since: float | None = None) -> Reply | None:
        """The stored answer, or None; with `since`, only one that was stored at that time or later.

        A file that is damaged or not ours is as good as none.
        """
        path = self._path(key)
        try:
            reply = decoded(key, path.read_bytes(), since=since)
        except (OSError, *NOT_AN_ANSWER):
            return None
        if reply is not None:
            with suppress(OSError):  # a cache that may only be read is useful too
                os.utime(path)  # the mark of use, by which the limit on size goes
        return reply

    def put(self, key: str, reply: Reply, *, model: str) -> None:
        """Store an answer, in place of any older one; it is there entirely or not at all.

        Raises `StorageError` where it cannot be written.
        """
        self.put_quickly(key, reply, model=model)()

    def put_quickly(self, key: str, reply: Reply, *, model: str) -> Callable[[], None]:
        """The same; what takes longer is left to the function that comes back, to be called once.

        The answer is there for everybody already, and survives the end of this process. That
        function makes it survive a power cut too, and makes room where the cache is too large.
        """
        content = encoded(key, reply, model)
        path = self._path(key)
        with self._writing():
            before = _size(path)
            try:
                fd = _write(path, content)
            except FileNotFoundError:
                self._make_folder(path.parent)
                fd = _write(path, content)

        def settle() -> None:
            with self._writing():
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
                ledger = SizeLedger(self._locks())
                if ledger.add(len(content) - before, limit=self.max_bytes):
                    self._make_room(ledger)

        return settle

    @asynccontextmanager
    async def locked(self, key: str) -> AsyncIterator[None]:
        """Keep everybody else, here and in other processes, from working on the same answer.

        A lock that somebody holds is waited for. It is free when its holder dies.
        """
        with self._writing():
            locks = self._locks()
            await locks.wait_for(_number(key))
        try:
            yield
        finally:
            locks.release(_number(key))

    def entries(self) -> Iterator[Entry]:
        """Facts about all stored answers, one at a time, in no order; damaged ones are left out."""
        return (entry for file in self._files() if (entry := self._entry(file)))

    def totals(self) -> list[ModelTotals]:
        """What is stored per model, ordered by name."""
        found: dict[str, ModelTotals] = {}
        for entry in self.entries():
            one = found.get(entry.model)
            found[entry.model] = ModelTotals(
                model=entry.model,
                answers=(one.answers if one else 0) + 1,
                bytes=(one.bytes if one else 0) + entry.bytes,
                input_tokens=(one.input_tokens if one else 0) + (entry.input_tokens or 0),
                output_tokens=(one.output_tokens if one else 0) + (entry.output_tokens or 0),
                oldest=min(one.oldest if one else math.inf, entry.created),
                newest=max(one.newest if one else -math.inf, entry.created),
            )
        return [found[model] for model in sorted(found)]

    def prune(
        self,
        *,
        max_bytes: int | None = None,
        older_than: float | None = None,
        model: str | None = None,
        everything: bool = False,
    ) -> tuple[int, int]:
        """Remove answers; returns how many, and their bytes.

        `older_than` removes what was not used for so many seconds; `max_bytes` then the least
        recently used until no more than that is left, but nothing of the last minute. With `model`
        only answers of that model go. Answers that are being asked for right now stay.
        """
        chosen = (max_bytes, older_than, model) != (None, None, None)
        if everything and chosen:
            raise UsageError("Where all answers go there is nothing to choose by size, age, model.")
        if not everything and not chosen:
            raise UsageError(
                "It is not said which answers to remove.",
                remedy="Give a size, an age or a model, or say that all of them may go.",
            )
        if not self.folder.is_dir():
            return 0, 0
        if max_bytes is None and older_than is None:
            older_than = -math.inf
        with self._writing():
            return self._prune(max_bytes, max_bytes, older_than=older_than, model=model)

    def _make_room(self, ledger: SizeLedger) -> None:
        assert self.max_bytes is not None
        began = time.monotonic()
        self._prune(self.max_bytes, int(self.max_bytes * (1 - _ROOM)))
        in_vain = (ledger.total() or 0) > self.max_bytes  # most of it is new or locked
        took = time.monotonic() - began
        ledger.rest_for(max(_SHORTEST_REST, _REST * took) if in_vain else 0.0)

    def _prune(
        self,
        limit: int | None,
        target: int | None,
        *,
        older_than: float | None = None,
        model: str | None = None,
    ) -> tuple[int, int]:
        """Remove what is too old, then, where `limit` is passed, down to `target`."""
        now = time.time()
        ledger = SizeLedger(self._locks())
        noted_before = ledger.total()
        size = 0
        candidates: list[_File] = []
        removed: list[int] = []
        for file in self._files(clean_up=True):
            size += file.bytes
            if model is not None and ((entry := self._entry(file)) is None or entry.model != model):
                continue
            if older_than is not None and now - file.used >= older_than:
                removed += self._remove(file)
            elif limit is not None and now - file.used >= _YOUNG_SECONDS:
                candidates.append(file)
        size -= sum(removed)
        if limit is not None and target is not None and size > limit:
            for file in sorted(candidates):
                if size <= target:
                    break
                gone = self._remove(file)
                removed += gone
                size -= sum(gone)
        ledger.measured(size, noted_before)
        return len(removed), sum(removed)

    def _remove(self, file: _File) -> list[int]:
        """Remove a file unless somebody needs it; its size if it went, else nothing."""
        locks, path = self._locks(), self._path(file.key)
        if not locks.take(_number(file.key)):
            return []
        try:
            if path.stat().st_mtime != file.used:
                return []  # somebody has used or replaced it since
            path.unlink()
        except FileNotFoundError:
            return []  # somebody else prunes too
        finally:
            locks.release(_number(file.key))
        return [file.bytes]

    def _files(self, *, clean_up: bool = False) -> Iterator[_File]:
        """All files of answers; with `clean_up`, what killed writers have left is removed."""
        for number in range(256):
            try:
                found = os.scandir(self.folder / f"{number:02x}")
            except (FileNotFoundError, NotADirectoryError):
                continue
            with found:
                for one in found:
                    name = _ENTRY_NAME.fullmatch(one.name)
                    if not name and not one.name.endswith(_TEMPORARY):
                        continue  # not ours
                    try:
                        status = one.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    if name:
                        yield _File(status.st_mtime, status.st_size, name[1])
                    elif clean_up and time.time() - status.st_mtime > _STALE_SECONDS:
                        Path(one.path).unlink(missing_ok=True)

    def _entry(self, file: _File) -> Entry | None:
        try:
            with self._path(file.key).open("rb") as opened:
                facts = decoded_facts(opened.readline(_LONGEST_FACTS))
            return Entry(
                key=file.key,
                model=str(facts["model"]),
                created=float(facts["created"]),
                bytes=file.bytes,
                input_tokens=facts["input_tokens"],
                output_tokens=facts["output_tokens"],
            )
        except (OSError, *NOT_AN_ANSWER):
            return None

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def _locks(self) -> KeyLocks:
        try:
            return KeyLocks.of(self.folder / "locks")
        except FileNotFoundError:
            self._make_folder(self.folder)
            return KeyLocks.of(self.folder / "locks")

    def _make_folder(self, folder: Path) -> None:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"The cache of answers in {self.folder} cannot be written: "
                f"{error.strerror or error}.",
                remedy="Make room there or make it writable, or point UIPROOF_CACHE elsewhere.",
            ) from error


def _number(key: str) -> int:
    """The number of a key's lock: 62 bits, which leaves others for other purposes."""
    return int(key[:16], 16) >> 2


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _write(path: Path, content: bytes) -> int:
    """Write a file that only the user may read, never seen half written; its open descriptor.

    After a power cut the file may be there without its content, which `decoded` notices.
    """
    fd, temporary = tempfile.mkstemp(dir=path.parent, suffix=_TEMPORARY)
    try:
        while content:
            content = content[os.write(fd, content) :]
        os.replace(temporary, path)  # noqa: PTH105 - a text, as it comes from mkstemp
    except BaseException:
        os.close(fd)
        Path(temporary).unlink(missing_ok=True)
        raise
    return fd
