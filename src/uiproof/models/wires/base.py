"""What the wires to all providers have in common."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from uiproof.errors import UiproofError
from uiproof.models import catalogue, images, names
from uiproof.models.cache_format import all_small, pictures
from uiproof.models.images import ImageRule
from uiproof.models.names import Endpoint
from uiproof.models.types import (
    AttemptError,
    Image,
    Parameters,
    Reply,
    Request,
)
from uiproof.models.wires.http import answer_to

_MAX_MESSAGE = 500  # characters
_PLAIN_DEPTH = 20  # levels of an answer; deeper ones are looked at closely
_NOT_TAKEN = re.compile(
    r"unsupported|n[o']t supported?|unrecogni[sz]ed|unknown|unexpected|deprecated|not permitted"
    r"|not allowed|not available|only .{0,40}default",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, or a piece of one, as it goes over the wire."""

    mime: str
    data: bytes

    @property
    def base64(self) -> str:
        """The bytes as text."""
        return base64.b64encode(self.data).decode("ascii")


@dataclass(frozen=True, slots=True)
class Turn:
    """A message whose pictures are ready to be sent."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | Picture, ...]

    @property
    def text(self) -> str:
        """All texts of it."""
        return "\n\n".join(part for part in self.parts if isinstance(part, str))


@dataclass(frozen=True, slots=True)
class Wording:
    """How a model wants its parameters: names for the limit on tokens, and what it does not take.

    The first name is the one to use, the others are what it may be called instead.
    """

    limit_names: tuple[str, ...]
    without: frozenset[str] = frozenset()
    max_tokens: int | None = None

    def options(self, parameters: Parameters) -> dict[str, Any]:
        """The parameters by the names of the provider."""
        limit = min(parameters.max_tokens, self.max_tokens or parameters.max_tokens)
        optional = {"temperature": parameters.temperature, "seed": parameters.seed}
        return {self.limit_names[0]: limit} | {
            name: value
            for name, value in optional.items()
            if value is not None and name not in self.without
        }

    def dropped(self, parameters: Parameters) -> tuple[str, ...]:
        """The parameters that were wanted and cannot be had."""
        return tuple(
            sorted(name for name in self.without if getattr(parameters, name, None) is not None)
        )

    def after(self, complaint: str, parameters: Parameters) -> Wording | None:
        """Another wording, where a provider complains about a parameter that is sent."""
        if not _NOT_TAKEN.search(complaint):
            return None
        for name in self.options(parameters):
            if not re.search(rf"(?<![a-z_]){name}(?![a-z_])", complaint):
                continue
            if name != self.limit_names[0]:
                return replace(self, without=self.without | {name})
            if len(self.limit_names) > 1:
                return replace(self, limit_names=self.limit_names[1:])
        return None


class SdkWire(ABC):
    """A wire that sends through the SDK of a provider."""

    def __init__(
        self, endpoint: Endpoint, *, key: str, rule: ImageRule, timeout: float, wording: Wording
    ) -> None:
        facts = catalogue.facts(endpoint)
        without = {
            name
            for name, taken in (
                ("temperature", facts.temperature),
                ("seed", facts.seed),
            )
            if not taken
        }
        self.endpoint = endpoint
        self.timeout = timeout
        self._key = key
        self._secrets = {
            json.dumps(form, ensure_ascii=False)[1:-1] for form in names.secret_forms(endpoint)
        }
        self._rule = rule
        self._wording = replace(
            wording, without=wording.without | without, max_tokens=facts.max_output_tokens
        )

    @abstractmethod
    async def _call(self, turns: Sequence[Turn], options: dict[str, Any]) -> object:
        """Have the SDK send a request; what it returns is of no interest."""

    @abstractmethod
    def _read(self, answer: dict[str, Any]) -> Reply:
        """What is in an answer; the errors of a wrong shape (KeyError and such) are expected."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of all connections."""

    async def send(self, request: Request) -> Reply:
        """Ask once. Raises `AttemptError` where no answer came."""
        try:
            return await self._send(request)
        except AttemptError as error:
            message = self._redacted(error.message)
            if len(message) > _MAX_MESSAGE:
                message = message[: _MAX_MESSAGE - 1] + "…"
            # Without its causes: they know the key and the request.
            raise AttemptError(error.kind, message, retry_after=error.retry_after) from None

    async def _send(self, request: Request) -> Reply:
        try:
            pictures = await _pictures(request, self._rule)
        except (UiproofError, OSError) as error:
            raise AttemptError("rejected", f"A picture cannot be sent: {error}") from None
        turns = _turns(request, pictures)
        parameters, wording, learned = request.parameters, self._wording, False
        while True:
            try:
                call = self._call(turns, wording.options(parameters))
                answer, seconds = await answer_to(call, self.timeout)
                break
            except AttemptError as error:
                other = wording.after(error.message, parameters)
                if error.kind != "rejected" or other is None:
                    raise
                wording, learned = other, True
        if learned:
            self._wording = wording
        try:
            raw = self._redacted_json(answer)
            reply = self._read(raw)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
            raise AttemptError("malformed", "There is no answer in the JSON that came.") from None
        return replace(
            reply,
            network_seconds=seconds,
            dropped=wording.dropped(parameters),
            images=tuple(sent for _, sent in pictures),
            raw=raw,
        )

    def _redacted(self, text: str) -> str:
        text = names.redacted(text, self.endpoint)
        return text.replace(self._key, names.REDACTED) if len(self._key) >= 8 else text

    def _redacted_json(self, answer: dict[str, Any]) -> dict[str, Any]:
        written = json.dumps(answer, ensure_ascii=False)
        # Half a pair of surrogates would be in nobody's way till it is written to a file.
        clean = written.encode("utf-8", "replace").decode("utf-8")
        # The key may come from elsewhere than the environment, which is all that `names` knows.
        clean = clean.replace(self._key, names.REDACTED) if len(self._key) >= 8 else clean
        redacted: dict[str, Any] = answer if clean == written else json.loads(clean)
        # To look into every text of an answer takes long, and hardly ever finds something.
        if any(form in written for form in self._secrets) or _depth_exceeds(redacted, _PLAIN_DEPTH):
            redacted = names.redacted_json(redacted, self.endpoint)
        return redacted


def count(value: object) -> int | None:
    """A number of tokens, None where a provider put something else there."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None


def _depth_exceeds(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_depth_exceeds(item, levels - 1) for item in items)


async def _pictures(request: Request, rule: ImageRule) -> list[images.Prepared]:
    """The pictures of a request as the provider takes them."""
    sources = pictures(request)
    if not sources:
        return []

    def prepared() -> list[images.Prepared]:
        return images.prepare_all([source.read() for source in sources], rule)

    if all_small(sources):  # a thread would take longer to start than this takes
        return prepared()
    return await asyncio.to_thread(prepared)


def _turns(request: Request, pictures: Sequence[images.Prepared]) -> list[Turn]:
    """The messages with their pictures in place."""
    left = iter(pictures)
    turns = []
    for message in request.messages:
        if message.role == "system" and any(isinstance(part, Image) for part in message.parts):
            raise AttemptError("rejected", "No provider takes a picture in a system message.")
        parts: list[str | Picture] = []
        for part in message.parts:
            if isinstance(part, str):
                parts += [part] if part else []  # an empty text is an error to some
                continue
            pieces, _ = next(left)
            for number, (mime, data) in enumerate(pieces, 1):
                if len(pieces) > 1:
                    parts.append(
                        f"Part {number} of {len(pieces)} of the picture, from top to bottom."
                    )
                parts.append(Picture(mime, data))
        turns.append(Turn(message.role, tuple(parts)))
    return turns
