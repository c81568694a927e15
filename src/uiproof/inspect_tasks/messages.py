"""Between uiproof's words for a conversation with a model and inspect's."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    ModelOutput,
)

from uiproof.models.types import Finish, Image, Reply, Request, Usage

_KINDS: Mapping[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_FINISHES: Mapping[str, Finish] = {
    "stop": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.REFUSAL,
}


def chat_messages(request: Request) -> list[ChatMessage]:
    """A request as inspect sends it; its providers keep to their limits on pictures themselves."""
    return [
        _KINDS[message.role](content=[_content(part) for part in message.parts])
        for message in request.messages
    ]


def reply_of(output: ModelOutput) -> Reply:
    """What inspect got from a model; without choices it got nothing."""
    if not output.choices:
        return Reply("", Finish.OTHER)
    return Reply(
        text=output.completion,
        finish=_FINISHES.get(output.stop_reason, Finish.OTHER),
        usage=_usage(output.usage),
        model=output.model,
    )


def _content(part: str | Image) -> Content:
    if isinstance(part, str):
        return ContentText(text=part)
    data = part.read()
    return ContentImage(image=f"data:{_mime(data)};base64,{base64.b64encode(data).decode()}")


def _mime(data: bytes) -> str:
    if data.startswith(b"\xff\xd8"):
        return "image/jpeg"
    return "image/webp" if data.startswith(b"RIFF") else "image/png"


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.input_tokens_cache_read or 0,
        reasoning_tokens=usage.reasoning_tokens or 0,
    )
