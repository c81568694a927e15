"""The formats in which the model providers are asked and answer, as far as tests need them."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Format = Literal["openai", "anthropic", "google"]
ERROR_WORDS = {  # how Anthropic and Google call an HTTP status
    400: ("invalid_request_error", "INVALID_ARGUMENT"),
    401: ("authentication_error", "UNAUTHENTICATED"),
    403: ("permission_error", "PERMISSION_DENIED"),
    404: ("not_found_error", "NOT_FOUND"),
    413: ("request_too_large", "INVALID_ARGUMENT"),
    429: ("rate_limit_error", "RESOURCE_EXHAUSTED"),
    503: ("api_error", "UNAVAILABLE"),
    529: ("overloaded_error", "UNAVAILABLE"),
}


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    number: int
    format: Format
    path: str
    query: str
    headers: Mapping[str, str]  # names in lower case
    body: dict[str, Any]
    at_once: int  # requests under way at that moment, this one included

    @property
    def model(self) -> str:
        in_path = self.path.rpartition("/")[2].partition(":")[0]
        return in_path if self.format == "google" else str(self.body.get("model"))

    @property
    def parts(self) -> list[str | bytes]:
        """All texts and pictures in their order, whatever their role."""
        return [_part(part) for part in raw_parts(self.format, self.body)]

    @property
    def images(self) -> list[bytes]:
        return [part for part in self.parts if isinstance(part, bytes)]

    @property
    def prompt(self) -> str:
        """The conversation as one text; a picture stands as `[image DIGEST]`."""
        return "\n".join(
            part if isinstance(part, str) else f"[image {hashlib.sha256(part).hexdigest()[:12]}]"
            for part in self.parts
        )


def format_of(path: str) -> Format | None:
    if path.endswith("/chat/completions"):
        return "openai"
    if path == "/v1/messages":
        return "anthropic"
    if path.startswith(("/v1beta/models/", "/v1/models/")) and path.endswith(":generateContent"):
        return "google"
    return None


def raw_parts(format: Format, body: dict[str, Any]) -> Iterator[Any]:
    """The parts of all messages as they stand in the body, the system's first."""
    if format == "google":
        contents = [body.get("systemInstruction", {}), *body["contents"]]
    else:
        contents = [{"parts": body.get("system", [])}]
        contents += [{"parts": message["content"]} for message in body["messages"]]
    for content in contents:
        parts = content.get("parts", [])
        yield from [parts] if isinstance(parts, str) else parts


def _part(part: Any) -> str | bytes:
    if isinstance(part, str):
        return part
    if "text" in part:
        return str(part["text"])
    if "inlineData" in part:
        return base64.urlsafe_b64decode(part["inlineData"]["data"])
    if "source" in part:
        return base64.b64decode(part["source"]["data"])
    return base64.b64decode(part["image_url"]["url"].partition(";base64,")[2])


def success(asked: Asked, text: str) -> dict[str, Any]:
    words_in, words_out = len(asked.prompt.split()), len(text.split())
    if asked.format == "openai":
        return {
            "id": f"chatcmpl-{asked.number}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": f"{asked.model}-2026-01-01",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text, "refusal": None},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": words_in, "completion_tokens": words_out},
        }
    if asked.format == "anthropic":
        return {
            "id": f"msg_{asked.number}",
            "type": "message",
            "role": "assistant",
            "model": f"{asked.model}-20260101",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": words_in, "output_tokens": words_out},
        }
    return {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
        ],
        "usageMetadata": {"promptTokenCount": words_in, "candidatesTokenCount": words_out},
        "modelVersion": f"{asked.model}-001",
    }


def error(format: Format, status: int, message: str) -> dict[str, Any]:
    anthropic, google = ERROR_WORDS.get(status, ("api_error", "INTERNAL"))
    if format == "anthropic":
        return {"type": "error", "error": {"type": anthropic, "message": message}}
    if format == "google":
        return {"error": {"code": status, "message": message, "status": google}}
    return {"error": {"message": message, "type": "error", "param": None, "code": None}}
