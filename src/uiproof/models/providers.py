"""Clients for the model providers: a `Request` becomes their JSON, and their answer a `Reply`.

client = make_client(endpoint, key=key, rule=rule_for(endpoint), timeout=300)
reply = await client.send(request)      # one attempt; raises `AttemptError`
await client.close()
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import quote

from uiproof.errors import UiproofError
from uiproof.models import catalogue, names
from uiproof.models.http import JsonClient
from uiproof.models.images import ImageRule, Prepared, prepare_all
from uiproof.models.names import Endpoint
from uiproof.models.types import AttemptError, Finish, Image, Parameters, Reply, Request, Usage

_MAX_MESSAGE = 500  # characters
# The name of the limit on tokens, then what it may be called instead.
_LIMIT_NAMES = {
    "openai": ("max_completion_tokens", "max_tokens"),
    "compatible": ("max_tokens", "max_completion_tokens"),
    "anthropic": ("max_tokens",),
    "google": ("maxOutputTokens",),
    "omniparser": ("max_tokens",),
}
_NOT_TAKEN = re.compile(
    r"unsupported|n[o']t supported?|unrecogni[sz]ed|unknown|unexpected|deprecated"
    r"|not permitted|not allowed|not available|only .{0,40}default",
    re.IGNORECASE,
)
_WRONG_SHAPE = (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError)


def make_client(endpoint: Endpoint, *, key: str, rule: ImageRule, timeout: float) -> ModelClient:
    """Return the client for an endpoint; one attempt may take `timeout` seconds in all."""
    clients: dict[str, type[ModelClient]] = {
        "anthropic": AnthropicClient,
        "google": GoogleClient,
        "omniparser": OmniParserClient,
    }
    return clients.get(endpoint.provider, OpenAIClient)(endpoint, key, rule, timeout)


class ModelClient(ABC):
    """A connection to one model of one provider, for many requests at once on one event loop."""

    def __init__(self, endpoint: Endpoint, key: str, rule: ImageRule, timeout: float) -> None:
        self.endpoint, self._rule = endpoint, rule
        # As they look inside the strings of a JSON text.
        self._secrets = {
            json.dumps(form, ensure_ascii=False)[1:-1] for form in names.secret_forms(endpoint)
        }
        facts = catalogue.facts(endpoint)
        taken = {"temperature": facts.temperature, "seed": facts.seed}
        self._wording = Wording(
            _LIMIT_NAMES[endpoint.provider],
            without=frozenset(name for name, known in taken.items() if not known),
            max_tokens=facts.max_output_tokens,
        )
        self._http = JsonClient(endpoint.full_url, headers=self._headers(key), timeout=timeout)

    @abstractmethod
    def _headers(self, key: str) -> dict[str, str]:
        """Return the headers that authenticate a request."""

    @abstractmethod
    def _body(self, turns: Sequence[Turn], options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the path of a request below the provider's address, and its JSON."""

    @abstractmethod
    def _read(self, answer: dict[str, Any]) -> Reply:
        """Return what an answer says; may raise KeyError and the like for a wrong shape."""

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()

    async def send(self, request: Request) -> Reply:
        """Ask once; raise `AttemptError` where no answer came."""
        try:
            return await self._send(request)
        except AttemptError as error:
            message = names.redacted(error.message, self.endpoint)
            if len(message) > _MAX_MESSAGE:
                message = message[: _MAX_MESSAGE - 1] + "…"
            # Without causes, which hold the key and the request.
            raise AttemptError(error.kind, message, retry_after=error.retry_after) from None

    async def _send(self, request: Request) -> Reply:
        try:
            prepared = await _prepare(request, self._rule)
        except (UiproofError, OSError) as error:
            raise AttemptError("rejected", f"A picture cannot be sent: {error}") from None
        turns = _turns(request, prepared)
        parameters, wording, learned = request.parameters, self._wording, False
        while True:
            try:
                path, body = self._body(turns, wording.options(parameters))
                answer, seconds = await self._http.post(path, body)
                break
            except AttemptError as error:
                other = wording.after(error.message, parameters)
                if error.kind != "rejected" or other is None:
                    raise
                wording, learned = other, True
        if learned:
            self._wording = wording
        try:
            raw = self._clean(answer)
            reply = self._read(raw)
        except _WRONG_SHAPE:
            raise AttemptError("malformed", "The JSON has no answer.") from None
        return replace(
            reply,
            network_seconds=seconds,
            dropped=wording.dropped(parameters),
            images=tuple(sent for _, sent in prepared),
            raw=reply.raw or raw,
        )

    def _clean(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer without secrets and lone surrogates, which no file could hold."""
        written = json.dumps(answer, ensure_ascii=False)
        text = written.encode("utf-8", "replace").decode()
        clean: dict[str, Any] = answer if text == written else json.loads(text)
        if any(form in text for form in self._secrets):
            clean = names.redacted_json(clean, self.endpoint)
        return clean


@dataclass(frozen=True, slots=True)
class Wording:
    """The parameters that a model takes, and its name for the limit on tokens.

    The first name is used; the others are alternatives in case the model does not take it.
    """

    limit_names: tuple[str, ...]
    without: frozenset[str] = frozenset()
    max_tokens: int | None = None

    def options(self, parameters: Parameters) -> dict[str, Any]:
        """Return the parameters by the names of the provider."""
        limit = min(parameters.max_tokens, self.max_tokens or parameters.max_tokens)
        optional = {"temperature": parameters.temperature, "seed": parameters.seed}
        return {self.limit_names[0]: limit} | {
            name: value
            for name, value in optional.items()
            if value is not None and name not in self.without
        }

    def dropped(self, parameters: Parameters) -> tuple[str, ...]:
        """Return the requested parameters that the model does not take."""
        return tuple(
            sorted(name for name in self.without if getattr(parameters, name, None) is not None)
        )

    def after(self, complaint: str, parameters: Parameters) -> Wording | None:
        """Return another wording where a provider complains about a parameter that was sent."""
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


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, or a band of one, ready to be sent."""

    mime: str
    data: bytes

    @property
    def base64(self) -> str:
        """Return the bytes in base64."""
        return base64.b64encode(self.data).decode("ascii")


@dataclass(frozen=True, slots=True)
class Turn:
    """A message whose pictures are ready to be sent."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | Picture, ...]

    @property
    def text(self) -> str:
        """Return its texts, joined."""
        return "\n\n".join(part for part in self.parts if isinstance(part, str))


class OpenAIClient(ModelClient):
    """Chat completions: OpenAI, and the many servers that speak the same protocol."""

    _FINISHES = {  # noqa: RUF012 - a constant
        "stop": Finish.STOP,
        "eos": Finish.STOP,
        "length": Finish.LENGTH,
        "content_filter": Finish.REFUSAL,
    }

    def _headers(self, key: str) -> dict[str, str]:
        variables = {
            "openai-organization": "OPENAI_ORG_ID",
            "openai-project": "OPENAI_PROJECT_ID",
        }
        account = {name: os.environ.get(variable, "") for name, variable in variables.items()}
        if self.endpoint.provider != "openai":
            account = {}
        return {
            "authorization": f"Bearer {key}",
            **{name: value for name, value in account.items() if value},
        }

    def _body(self, turns: Sequence[Turn], options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        def part_json(part: str | Picture) -> dict[str, Any]:
            if isinstance(part, str):
                return {"type": "text", "text": part}
            url = f"data:{part.mime};base64,{part.base64}"
            return {"type": "image_url", "image_url": {"url": url}}

        messages = [
            {
                "role": turn.role,
                "content": [part_json(part) for part in turn.parts]
                if any(isinstance(part, Picture) for part in turn.parts)
                else turn.text,
            }
            for turn in turns
        ]
        return "/chat/completions", {"model": self.endpoint.model, "messages": messages, **options}

    def _read(self, answer: dict[str, Any]) -> Reply:
        choice = answer["choices"][0]
        message = choice["message"]
        reason = choice.get("finish_reason")
        if reason == "error":  # a gateway: the server behind it failed
            raise AttemptError("server", "The answer ended with an error of the server.")
        refusal = message.get("refusal")
        usage = answer.get("usage") or {}
        inputs = usage.get("prompt_tokens_details") or {}
        outputs = usage.get("completion_tokens_details") or {}
        return Reply(
            text=_joined(message.get("content")) or (refusal if isinstance(refusal, str) else ""),
            finish=Finish.REFUSAL if refusal else self._FINISHES.get(reason, Finish.OTHER),
            usage=Usage(
                input_tokens=_count(usage.get("prompt_tokens")),
                output_tokens=_count(usage.get("completion_tokens")),
                cached_input_tokens=_count(inputs.get("cached_tokens")) or 0,
                reasoning_tokens=_count(outputs.get("reasoning_tokens")) or 0,
            ),
            model=str(answer.get("model") or ""),
        )


class AnthropicClient(ModelClient):
    """Anthropic's messages."""

    _FINISHES = {  # noqa: RUF012 - a constant
        "end_turn": Finish.STOP,
        "stop_sequence": Finish.STOP,
        "max_tokens": Finish.LENGTH,
        "model_context_window_exceeded": Finish.LENGTH,
        "refusal": Finish.REFUSAL,
    }

    def _headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def _body(self, turns: Sequence[Turn], options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        def part_json(part: str | Picture) -> dict[str, Any]:
            if isinstance(part, str):
                return {"type": "text", "text": part}
            source = {"type": "base64", "media_type": part.mime, "data": part.base64}
            return {"type": "image", "source": source}

        messages = [
            {"role": turn.role, "content": [part_json(part) for part in turn.parts]}
            for turn in turns
            if turn.role != "system"
        ]
        system = _system(turns)
        body = {"model": self.endpoint.model, "messages": messages, **options}
        return "/v1/messages", body | ({"system": system} if system else {})

    def _read(self, answer: dict[str, Any]) -> Reply:
        usage = answer.get("usage") or {}
        fresh = _count(usage.get("input_tokens"))
        cached = _count(usage.get("cache_read_input_tokens")) or 0
        written = _count(usage.get("cache_creation_input_tokens")) or 0
        details = usage.get("output_tokens_details") or {}
        return Reply(
            text="".join(part["text"] for part in answer["content"] if part["type"] == "text"),
            finish=self._FINISHES.get(answer.get("stop_reason") or "", Finish.OTHER),
            usage=Usage(
                # Anthropic counts what went through its cache beside the input, not in it.
                input_tokens=None if fresh is None else fresh + cached + written,
                output_tokens=_count(usage.get("output_tokens")),
                cached_input_tokens=cached,
                reasoning_tokens=_count(details.get("thinking_tokens")) or 0,
            ),
            model=str(answer.get("model") or ""),
        )


class GoogleClient(ModelClient):
    """Google's generateContent."""

    _FINISHES = {  # noqa: RUF012 - a constant
        "STOP": Finish.STOP,
        "MAX_TOKENS": Finish.LENGTH,
        "CONTINUATION": Finish.LENGTH,
        "SAFETY": Finish.REFUSAL,
        "RECITATION": Finish.REFUSAL,
        "BLOCKLIST": Finish.REFUSAL,
        "PROHIBITED_CONTENT": Finish.REFUSAL,
        "SPII": Finish.REFUSAL,
        "IMAGE_SAFETY": Finish.REFUSAL,
        "IMAGE_PROHIBITED_CONTENT": Finish.REFUSAL,
    }

    def _headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def _body(self, turns: Sequence[Turn], options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        def part_json(part: str | Picture) -> dict[str, Any]:
            if isinstance(part, str):
                return {"text": part}
            return {"inlineData": {"mimeType": part.mime, "data": part.base64}}

        contents = [
            {
                "role": "model" if turn.role == "assistant" else "user",
                "parts": [part_json(part) for part in turn.parts],
            }
            for turn in turns
            if turn.role != "system"
        ]
        system = _system(turns)
        body = {"contents": contents, "generationConfig": options}
        instruction = {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
        model = quote(self.endpoint.model)
        name = model if "/" in model else f"models/{model}"  # tuned models name their collection
        return f"/v1beta/{name}:generateContent", body | instruction

    def _read(self, answer: dict[str, Any]) -> Reply:
        tokens = answer.get("usageMetadata") or {}
        thoughts = _count(tokens.get("thoughtsTokenCount")) or 0
        usage = Usage(
            input_tokens=_count(tokens.get("promptTokenCount")),
            # Counts of zero are left out, and thoughts are counted apart.
            output_tokens=(_count(tokens.get("candidatesTokenCount")) or 0) + thoughts,
            cached_input_tokens=_count(tokens.get("cachedContentTokenCount")) or 0,
            reasoning_tokens=thoughts,
        )
        text, finish = "", Finish.REFUSAL
        blocked = (answer.get("promptFeedback") or {}).get("blockReason")
        if answer.get("candidates") or not blocked:
            candidate = answer["candidates"][0]
            parts = (candidate.get("content") or {}).get("parts") or []
            text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
            finish = self._FINISHES.get(candidate.get("finishReason") or "", Finish.OTHER)
        model = str(answer.get("modelVersion") or "")
        return Reply(text=text, finish=finish, usage=usage if tokens else Usage(), model=model)


class OmniParserClient(ModelClient):
    """An OmniParser server: one picture in, its elements as JSON out.

    The text of a reply is the JSON of the server's `parsed_content_list`; the annotated picture
    that comes with it is not kept.
    """

    def __init__(self, endpoint: Endpoint, key: str, rule: ImageRule, timeout: float) -> None:
        unlimited = replace(rule, max_side=10**9, max_bytes=10**12, max_request_bytes=10**12)
        super().__init__(endpoint, key, unlimited, timeout)

    def _headers(self, key: str) -> dict[str, str]:
        return {} if key == "none" else {"authorization": f"Bearer {key}"}

    def _clean(self, answer: dict[str, Any]) -> dict[str, Any]:
        known = ("parsed_content_list", "latency")  # the annotated picture has megabytes
        return super()._clean({name: answer[name] for name in known if name in answer})

    def _body(self, turns: Sequence[Turn], options: dict[str, Any]) -> tuple[str, dict[str, Any]]:  # noqa: ARG002
        parts = [part for turn in turns for part in turn.parts]
        if len(parts) != 1 or not isinstance(parts[0], Picture):
            raise AttemptError("rejected", "OmniParser takes exactly one picture.")
        return "/parse/", {"base64_image": parts[0].base64}

    def _read(self, answer: dict[str, Any]) -> Reply:
        if "parsed_content_list" not in answer:
            message = "The answer has no parsed_content_list: no OmniParser server."
            raise AttemptError("no_access", message)
        elements = answer["parsed_content_list"]
        if not isinstance(elements, list):
            raise AttemptError("fault", "The parsed_content_list of the answer is not a list.")
        raw = {"latency": answer.get("latency")}
        return Reply(json.dumps(elements), Finish.STOP, model="omniparser", raw=raw)


async def _prepare(request: Request, rule: ImageRule) -> list[Prepared]:
    """Return the pictures of a request as the provider takes them."""

    def prepare() -> list[Prepared]:
        return prepare_all([picture.read() for picture in request.pictures], rule)

    # A thread would take longer to start than small pictures take.
    return prepare() if request.is_small else await asyncio.to_thread(prepare)


def _turns(request: Request, prepared: Sequence[Prepared]) -> list[Turn]:
    """Return the messages with their pictures in place."""
    left = iter(prepared)
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


def _system(turns: Sequence[Turn]) -> str:
    return "\n\n".join(turn.text for turn in turns if turn.role == "system")


def _joined(content: Any) -> str:
    """Return the content, which some servers give in parts, without those of reasoning."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TypeError("content")
    parts = [{"text": part} if isinstance(part, str) else part for part in content]
    return "".join(
        part["text"] for part in parts if part.get("type", "text") in ("text", "output_text")
    )


def _count(value: object) -> int | None:
    """Return a number of tokens; None where a provider put something else there."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None
