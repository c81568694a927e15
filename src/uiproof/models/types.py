"""What is said to a model, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a message: a file, or the bytes of one (PNG, JPEG or WebP)."""

    source: Path | bytes = field(repr=False)

    def read(self) -> bytes:
        """The bytes of the file."""
        return self.source if isinstance(self.source, bytes) else self.source.read_bytes()


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation: texts and pictures in their order."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | Image, ...]


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a model is to answer; None leaves the choice to the provider."""

    max_tokens: int = 16_384
    temperature: float | None = 0.0
    seed: int | None = 2024  # as published for Design2Code


@dataclass(frozen=True, slots=True)
class Request:
    """A conversation that a model is to continue."""

    messages: tuple[Message, ...]
    parameters: Parameters = Parameters()
    sample: int = 0  # the same conversation with another number is another request


class Finish(StrEnum):
    """Why a model stopped."""

    STOP = "stop"  # it was done
    LENGTH = "length"  # it ran into the token limit
    REFUSAL = "refusal"  # it, or a filter of its provider, declined
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None  # with those of reasoning
    cached_input_tokens: int = 0  # of the input, those that the provider had in a cache of its own
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """One picture as it went over the wire."""

    width: int
    height: int
    format: Literal["png", "jpeg", "webp"]
    bytes: int


@dataclass(frozen=True, slots=True)
class SentImage:
    """What became of a picture on its way: scaled by a factor, split into pieces, encoded anew."""

    width: int
    height: int
    scale: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, and what it took."""

    text: str
    finish: Finish
    usage: Usage = Usage()
    model: str = ""  # the exact model that answered, as the provider calls it
    network_seconds: float = 0.0  # of the attempt that succeeded
    queue_seconds: float = 0.0  # everything else: waiting for a turn, attempts in vain, pauses
    attempts: int = 1
    cached: bool = False
    dropped: tuple[str, ...] = ()  # parameters that the model does not take
    images: tuple[SentImage, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)  # the answer as it came


AttemptKind = Literal[
    "rate_limited",  # too many requests, or overloaded: slow down and try again
    "server",  # an error of theirs
    "connection",  # refused, cut, reset
    "timeout",
    "malformed",  # an answer that is none: not JSON, wrong content type, no choices, too large
    "rejected",  # this request will never work: too large, a bad parameter
    "no_access",  # no request will work: wrong key, no such model
    "quota",  # no request will work until somebody pays
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

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.kind, self.message), {"retry_after": self.retry_after}
