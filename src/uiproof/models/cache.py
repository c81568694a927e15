"""Answers of models on disk: one that has arrived is never asked for again.

    cache = ReplyCache(settings.cache_dir / "models", max_bytes=5_000_000_000)
    key = cache.key(endpoint, request, rule)
    reply = cache.get(key)
    cache.put(key, reply, model=endpoint.name)

One file per answer, `<folder>/<first two digits of the key>/<key>.json`: JSON in two lines, the
facts that a listing needs with the digest of the second line, then the answer.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.errors import StorageError, UsageError
from uiproof.files import BoundedCache, write_atomic
from uiproof.models.types import Finish, Image, Piece, Reply, Request, SentImage, Usage
from uiproof.units import size_text

if TYPE_CHECKING:
    from uiproof.models.images import ImageRule
    from uiproof.models.names import Endpoint

_FORMAT = 1
_MAX_FACTS = 65_536  # bytes of the first line
_YOUNG_SECONDS = 60.0  # recently used answers are not deleted to save space
# Raised when a file is read that is damaged or not ours.
_NOT_AN_ANSWER = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Entry:
    """Facts about one stored answer."""

    path: Path
    model: str  # its public name
    created: float  # seconds since 1970
    used: float
    bytes: int
    input_tokens: int | None
    output_tokens: int | None


class ReplyCache:
    """Stored answers, for any number of processes at once. Making this object touches no file.

    Over `max_bytes`, the least recently used ones are deleted; None means no limit.
    """

    def __init__(self, folder: Path, max_bytes: int | None = None) -> None:
        self.folder, self.max_bytes = folder, max_bytes

    @staticmethod
    def key(endpoint: Endpoint, request: Request, rule: ImageRule) -> str:
        """Return a digest of everything that determines an answer, without secrets."""
        parameters = asdict(request.parameters)
        if parameters["temperature"] is not None:
            parameters["temperature"] = float(parameters["temperature"])  # 0 is 0.0
        messages = request.loaded().messages
        content = {
            "endpoint": [endpoint.provider, endpoint.base_url, endpoint.model],
            "parameters": parameters,
            "sample": request.sample,
            "messages": [[one.role, [_part_key(part) for part in one.parts]] for one in messages],
            "rule": rule.as_json() if request.pictures else None,
        }
        return hashlib.sha256(_json(content, sort_keys=True)).hexdigest()

    def get(self, key: str) -> Reply | None:
        """Return the stored answer; None where there is none, or a damaged file."""
        # Reading marks it as used, which the limit on size goes by.
        content = BoundedCache(self.folder, 0).read(_name(key))
        if content is None:
            return None
        try:
            return _decode(key, content)
        except _NOT_AN_ANSWER:
            return None

    def prepare(self) -> None:
        """Make the folder; raise `StorageError` where answers that are paid for can't be stored."""
        with self._writing():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)  # answers are the user's own
            if not os.access(self.folder, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def put(self, key: str, reply: Reply, *, model: str) -> None:
        """Store an answer, in place of any older one; raise `StorageError` where that fails."""
        content = _encode(key, reply, model)
        path = self.folder / _name(key)
        self.prepare()
        with self._writing():
            path.parent.mkdir(exist_ok=True)
            write_atomic(path, content)
        if self.max_bytes is not None:
            BoundedCache(self.folder, max(self.max_bytes, 1)).after_write(len(content))

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

    def entries(self) -> Iterator[Entry]:
        """Yield facts about all stored answers, in no order, without damaged ones."""
        for path in self.folder.glob("[0-9a-f][0-9a-f]/*.json"):
            with suppress(*_NOT_AN_ANSWER):
                status = path.stat()
                with path.open("rb") as opened:
                    facts = _decode_facts(opened.readline(_MAX_FACTS))
                yield Entry(
                    path=path,
                    model=str(facts["model"]),
                    created=float(facts["created"]),
                    used=status.st_mtime,
                    bytes=status.st_size,
                    input_tokens=facts["input_tokens"],
                    output_tokens=facts["output_tokens"],
                )

    def prune(
        self,
        *,
        max_bytes: int | None = None,
        older_than: float | None = None,
        model: str | None = None,
        everything: bool = False,
    ) -> tuple[int, int]:
        """Delete answers; return how many, and their bytes.

        `older_than` deletes what was not used for so many seconds; `max_bytes` then the least
        recently used until no more than that is left, but nothing of the last minute. With `model`
        only answers of that model are deleted.
        """
        chosen = (max_bytes, older_than, model) != (None, None, None)
        if everything and chosen:
            raise UsageError("All answers and a selection of them cannot both be deleted.")
        if not everything and not chosen:
            raise UsageError(
                "Nothing selected to delete.",
                remedy="Give a size, an age or a model, or choose all answers.",
            )
        by_use = sorted(self.entries(), key=lambda entry: entry.used)
        left, now = sum(entry.bytes for entry in by_use), time.time()
        deleted = freed = 0
        for entry in by_use:
            if model is not None and entry.model != model:
                continue
            old = older_than is not None and now - entry.used >= older_than
            too_much = max_bytes is not None and left > max_bytes
            young = now - entry.used < _YOUNG_SECONDS
            if old or (too_much and not young) or (max_bytes is None and older_than is None):
                with suppress(FileNotFoundError):  # another process prunes too
                    entry.path.unlink()
                    deleted, freed = deleted + 1, freed + entry.bytes
                left -= entry.bytes
        return deleted, freed


def cache_table(cache: ReplyCache, *, width: int | None = None) -> str:
    """Return the stored answers per model as a table for a terminal."""
    from uiproof.tables import Table, console

    by_model: dict[str, list[Entry]] = {}
    for entry in cache.entries():
        by_model.setdefault(entry.model, []).append(entry)
    if not by_model:
        return f"No answers are stored in {cache.folder}."
    rows = []
    for model, entries in sorted(by_model.items()):
        created = [entry.created for entry in entries]
        days = (datetime.fromtimestamp(day) for day in (min(created), max(created)))
        rows.append(
            (
                model,
                f"{len(entries):,}",
                f"{sum(entry.input_tokens or 0 for entry in entries):,}",
                f"{sum(entry.output_tokens or 0 for entry in entries):,}",
                size_text(sum(entry.bytes for entry in entries)),
                *(day.strftime("%Y-%m-%d") for day in days),
            )
        )
    answers = sum(map(len, by_model.values()))
    size = size_text(sum(entry.bytes for entries in by_model.values() for entry in entries))
    limit = "" if cache.max_bytes is None else f" of at most {size_text(cache.max_bytes)}"
    header = ("Model", "Answers", "Tokens in", "Tokens out", "Size", "Oldest", "Newest")
    note = f"{answers:,} answers, {size}{limit}, in {cache.folder}"
    return console([Table("Stored answers", header, tuple(rows), (note,))], width=width)


def _name(key: str) -> str:
    return f"{key[:2]}/{key}.json"


def _part_key(part: str | Image) -> tuple[str, str]:
    if isinstance(part, str):
        return "text", part
    return "image", hashlib.sha256(part.read()).hexdigest()


def _encode(key: str, reply: Reply, model: str) -> bytes:
    answer = {one.name: getattr(reply, one.name) for one in fields(reply) if one.name != "cached"}
    answer |= {"usage": asdict(reply.usage), "images": [asdict(one) for one in reply.images]}
    try:
        second = _json(answer)
    except (ValueError, TypeError, RecursionError) as error:
        # It is paid for: store it without the raw answer rather than not at all.
        second = _json({**answer, "raw": {"not_stored": f"{type(error).__name__}: {error}"}})
    second = b'"reply": ' + second + b"}\n"
    facts = {
        "format": _FORMAT,
        "key": key,
        "model": model,
        "created": time.time(),
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "sha256": hashlib.sha256(second).hexdigest(),
    }
    return _json(facts).removesuffix(b"}") + b",\n" + second


def _decode(key: str, content: bytes) -> Reply | None:
    """Return the answer in a file; None where it is damaged or has another key."""
    first, _, second = content.partition(b"\n")
    facts = _decode_facts(first)
    if facts["key"] != key or facts["sha256"] != hashlib.sha256(second).hexdigest():
        return None
    answer = json.loads("{" + second.decode("utf-8", "surrogatepass"))["reply"]
    known = {one.name for one in fields(Reply)}
    values = {name: value for name, value in answer.items() if name in known}
    values |= {
        "finish": Finish(values["finish"]),
        "usage": Usage(**values["usage"]),
        "dropped": tuple(values["dropped"]),
        "images": tuple(
            SentImage(**{**one, "pieces": tuple(Piece(**piece) for piece in one["pieces"])})
            for one in values["images"]
        ),
        "cached": True,
    }
    return Reply(**values)


def _decode_facts(first_line: bytes) -> dict[str, Any]:
    text = first_line.rstrip(b",\n").decode("utf-8", "surrogatepass") + "}"
    facts: dict[str, Any] = json.loads(text)
    if facts["format"] != _FORMAT:
        raise ValueError("an answer in the format of another version")
    return facts


def _json(value: Any, *, sort_keys: bool = False) -> bytes:
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys, default=_as_dict
    )
    return text.encode("utf-8", "surrogatepass")  # models write lone surrogates at times


def _as_dict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
