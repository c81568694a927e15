"""Requests to models, their replies, and failed attempts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from uiproof.errors import InputError


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a message: a file, or the bytes of one (PNG, JPEG or WebP)."""

    source: Path | bytes = field(repr=False)

    def read(self) -> bytes:
        """Return the bytes of the file."""
        return self.source if isinstance(self.source, bytes) else self.source.read_bytes()


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation: texts and pictures in their order."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | Image, ...]


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of an answer; None leaves the choice to the provider."""

    max_tokens: int = 16_384
    temperature: float | None = 0.0
    seed: int | None = 2024  # as published for Design2Code


@dataclass(frozen=True, slots=True)
class Request:
    """A conversation that a model is to continue."""

    messages: tuple[Message, ...]
    parameters: Parameters = Parameters()
    sample: int = 0  # the same conversation with another number is another request

    @property
    def pictures(self) -> list[Image]:
        """Return all pictures in their order."""
        return [part for one in self.messages for part in one.parts if isinstance(part, Image)]

    @property
    def text(self) -> str:
        """Return all texts, with `[picture]` in place of each picture."""
        parts = (part for one in self.messages for part in one.parts)
        return "\n\n".join(part if isinstance(part, str) else "[picture]" for part in parts)

    @property
    def is_small(self) -> bool:
        """Return whether all pictures are small and in memory, so not worth a thread."""
        return all(
            isinstance(one.source, bytes) and len(one.source) < 500_000 for one in self.pictures
        )

    def loaded(self) -> Request:
        """Return the request with the bytes of its pictures in place of their paths.

        What is hashed is then what is sent, even if the files change meanwhile.
        """
        return replace(
            self,
            messages=tuple(
                replace(one, parts=tuple(_loaded(part) for part in one.parts))
                for one in self.messages
            ),
        )


def _loaded(part: str | Image) -> str | Image:
    if isinstance(part, str) or isinstance(part.source, bytes):
        return part
    try:
        return Image(part.read())
    except OSError as error:
        raise InputError(
            f"{part.source} cannot be read: {error.strerror or error}.",
            remedy="Check that it exists and its permissions.",
        ) from error


class Finish(StrEnum):
    """The reason why a model stopped."""

    STOP = "stop"  # it was done
    LENGTH = "length"  # it ran into the token limit
    REFUSAL = "refusal"  # it, or a filter of its provider, declined
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None  # with those of reasoning
    cached_input_tokens: int = 0  # of the input, those in the provider's own cache
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """One picture file as it was sent."""

    width: int
    height: int
    format: Literal["png", "jpeg", "webp"]
    bytes: int


@dataclass(frozen=True, slots=True)
class SentImage:
    """A picture as it was sent: scaled by a factor, split into pieces, encoded anew."""

    width: int
    height: int
    scale: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and what it took."""

    text: str
    finish: Finish
    usage: Usage = Usage()
    model: str = ""  # the exact model that answered, as the provider calls it
    network_seconds: float = 0.0  # of the attempt that succeeded
    queue_seconds: float = 0.0  # everything else: waiting, failed attempts, pauses
    attempts: int = 1
    cached: bool = False
    dropped: tuple[str, ...] = ()  # parameters that the model does not take
    images: tuple[SentImage, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)  # the answer as it came


AttemptKind = Literal[
    "rate_limited",  # too many requests, or overloaded: slow down and try again
    "server",  # the server, or a gateway in front of it, is down
    "fault",  # HTTP 500: the server is there, and failed with this request
    "connection",  # refused, cut, reset
    "timeout",
    "malformed",  # not JSON, wrong content type, no choices, too large
    "rejected",  # this request will never work: too large, a bad parameter
    "no_access",  # no request will work: wrong key, no such model
    "quota",  # no request will work until the account can pay
]


class AttemptError(Exception):
    """One attempt to get an answer failed."""

    def __init__(
        self, kind: AttemptKind, message: str, *, retry_after: float | None = None
    ) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message
        self.retry_after = retry_after  # seconds, where the server said so


Exchange = tuple[Request, Reply]


def exchanges_as_json(exchanges: Sequence[Exchange]) -> bytes:
    """Return what was asked and answered about a case, as `answer.json` has it.

    The prompt is kept as `Request.text`.
    """
    kept = [
        {
            "prompt": request.text,
            "text": reply.text,
            "finish": reply.finish,
            "raw": reply.raw,
        }
        for request, reply in exchanges
    ]
    return json.dumps(kept, indent=2).encode()
