"""Chat completions: OpenAI, and the many servers that speak the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import openai

from uiproof.models.images import ImageRule
from uiproof.models.names import Endpoint
from uiproof.models.types import AttemptError, Finish, Reply, Usage
from uiproof.models.wires.base import Picture, SdkWire, Turn, Wording, count
from uiproof.models.wires.http import http_client

_FINISHES = {
    "stop": Finish.STOP,
    "eos": Finish.STOP,
    "length": Finish.LENGTH,
    "content_filter": Finish.REFUSAL,
}
_LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
# The SDK adds what the environment says about OpenAI (organization, headers of the user's own),
# which is no business of another server.
_FOREIGN_HEADERS = frozenset(
    ("host", "accept", "content-type", "content-length", "user-agent", "authorization")
)


class OpenAIWire(SdkWire):
    """A wire to OpenAI or a compatible server."""

    def __init__(self, endpoint: Endpoint, *, key: str, rule: ImageRule, timeout: float) -> None:
        foreign = endpoint.provider == "compatible"
        limit_names = _LIMIT_NAMES[::-1] if foreign else _LIMIT_NAMES
        super().__init__(
            endpoint, key=key, rule=rule, timeout=timeout, wording=Wording(limit_names)
        )
        self._client = openai.AsyncOpenAI(
            api_key=key,
            base_url=endpoint.base_url,
            timeout=timeout,
            max_retries=0,
            default_headers={"Authorization": f"Bearer {key}"},
            http_client=http_client(
                openai.DefaultAsyncHttpxClient,
                endpoint.wire_url,
                only_headers=_FOREIGN_HEADERS if foreign else None,
            ),
        )

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.close()

    async def _call(self, turns: Sequence[Turn], options: dict[str, Any]) -> object:
        messages = [_message(turn) for turn in turns]
        # Not `chat.completions.create`: it looks at every field of the request for what it knows
        # of it, which takes longer than to send it. It is the model that decides.
        return await self._client.post(
            "/chat/completions",
            body={"model": self.endpoint.model, "messages": messages, **options},
            cast_to=object,
        )

    def _read(self, answer: dict[str, Any]) -> Reply:
        choice = answer["choices"][0]
        message = choice["message"]
        reason = choice.get("finish_reason")
        if reason == "error":  # how a gateway says that the server behind it failed
            raise AttemptError("server", "The answer ended with an error of the server.")
        refusal = message.get("refusal")
        text = _text(message.get("content"))
        finish = Finish.REFUSAL if refusal else _FINISHES.get(reason, Finish.OTHER)
        return Reply(
            text=text or (refusal if isinstance(refusal, str) else ""),
            finish=finish,
            usage=_usage(answer.get("usage") or {}),
            model=str(answer.get("model") or ""),
        )


def _message(turn: Turn) -> dict[str, Any]:
    if not any(isinstance(part, Picture) for part in turn.parts):
        return {"role": turn.role, "content": turn.text}
    return {"role": turn.role, "content": [_part(part) for part in turn.parts]}


def _part(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    url = f"data:{part.mime};base64,{part.base64}"
    return {"type": "image_url", "image_url": {"url": url}}


def _text(content: Any) -> str:
    """The content, which some servers give in parts, without those of reasoning."""
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


def _usage(usage: Mapping[str, Any]) -> Usage:
    inputs = usage.get("prompt_tokens_details") or {}
    outputs = usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        cached_input_tokens=count(inputs.get("cached_tokens")) or 0,
        reasoning_tokens=count(outputs.get("reasoning_tokens")) or 0,
    )
