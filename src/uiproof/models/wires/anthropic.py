"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anthropic

from uiproof.models.images import ImageRule
from uiproof.models.names import Endpoint
from uiproof.models.types import Finish, Reply, Usage
from uiproof.models.wires.base import Picture, SdkWire, Turn, Wording, count
from uiproof.models.wires.http import http_client

_FINISHES = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.REFUSAL,
}


class AnthropicWire(SdkWire):
    """A wire to Anthropic."""

    def __init__(self, endpoint: Endpoint, *, key: str, rule: ImageRule, timeout: float) -> None:
        wording = Wording(("max_tokens",), without=frozenset(("seed",)))
        super().__init__(endpoint, key=key, rule=rule, timeout=timeout, wording=wording)
        self._client = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=endpoint.base_url,
            timeout=timeout,
            max_retries=0,
            http_client=http_client(anthropic.DefaultAsyncHttpxClient, endpoint.wire_url),
        )

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.close()

    async def _call(self, turns: Sequence[Turn], options: dict[str, Any]) -> object:
        system = "\n\n".join(turn.text for turn in turns if turn.role == "system")
        messages = [
            {"role": turn.role, "content": [_part(part) for part in turn.parts]}
            for turn in turns
            if turn.role != "system"
        ]
        body = {"model": self.endpoint.model, "messages": messages, **options}
        if system:
            body["system"] = system
        # Not `messages.create`: it has no temperature any more, which older models take, and
        # refuses what may take more than ten minutes.
        return await self._client.post("/v1/messages", body=body, cast_to=object)

    def _read(self, answer: dict[str, Any]) -> Reply:
        return Reply(
            text="".join(part["text"] for part in answer["content"] if part["type"] == "text"),
            finish=_FINISHES.get(answer.get("stop_reason") or "", Finish.OTHER),
            usage=_usage(answer.get("usage") or {}),
            model=str(answer.get("model") or ""),
        )


def _part(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    source = {"type": "base64", "media_type": part.mime, "data": part.base64}
    return {"type": "image", "source": source}


def _usage(usage: Mapping[str, Any]) -> Usage:
    fresh = count(usage.get("input_tokens"))
    read = count(usage.get("cache_read_input_tokens")) or 0
    written = count(usage.get("cache_creation_input_tokens")) or 0
    details = usage.get("output_tokens_details") or {}
    return Usage(
        # What went through Anthropic's cache is counted beside the input, not in it.
        input_tokens=None if fresh is None else fresh + read + written,
        output_tokens=count(usage.get("output_tokens")),
        cached_input_tokens=read,
        reasoning_tokens=count(details.get("thinking_tokens")) or 0,
    )
