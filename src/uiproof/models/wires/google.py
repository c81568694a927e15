"""Google's generateContent."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from uiproof.models.images import ImageRule
from uiproof.models.names import Endpoint
from uiproof.models.types import Finish, Reply, Usage
from uiproof.models.wires.base import Picture, SdkWire, Turn, Wording, count
from uiproof.models.wires.http import certificates, http_client

with warnings.catch_warnings():
    # Python finds fault with how this SDK writes its strings, and would tell the user so.
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import types

_FINISHES = {
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


class GoogleWire(SdkWire):
    """A wire to Google's Gemini API."""

    def __init__(self, endpoint: Endpoint, *, key: str, rule: ImageRule, timeout: float) -> None:
        wording = Wording(("max_output_tokens",))
        super().__init__(endpoint, key=key, rule=rule, timeout=timeout, wording=wording)
        # With a client of ours, the SDK keeps off aiohttp, with which it has retries of its own.
        self._http = http_client(httpx.AsyncClient, endpoint.wire_url)
        self._client = genai.Client(
            api_key=key,
            vertexai=False,  # whatever the environment says: the key is one for this API
            http_options=types.HttpOptions(
                base_url=endpoint.base_url,
                api_version="v1beta",  # releases of the SDK differ; this one has all models
                timeout=round(timeout * 1000),
                retry_options=types.HttpRetryOptions(attempts=1),
                httpx_async_client=self._http,
                # Not used, but the SDK would take a while to make one.
                httpx_client=httpx.Client(verify=certificates(httpx)),
            ),
        )

    async def close(self) -> None:
        """Let go of all connections."""
        await self._http.aclose()
        self._client.close()

    async def _call(self, turns: Sequence[Turn], options: dict[str, Any]) -> object:
        system = "\n\n".join(turn.text for turn in turns if turn.role == "system")
        contents: Any = [
            {
                "role": "model" if turn.role == "assistant" else "user",
                "parts": [_part(part) for part in turn.parts],
            }
            for turn in turns
            if turn.role != "system"
        ]
        return await self._client.aio.models.generate_content(
            model=self.endpoint.model,
            contents=contents,
            config=types.GenerateContentConfig(
                system_instruction=system or None,
                automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
                **options,
            ),
        )

    def _read(self, answer: dict[str, Any]) -> Reply:
        usage = _usage(answer.get("usageMetadata") or {})
        model = str(answer.get("modelVersion") or "")
        if not answer.get("candidates") and (answer.get("promptFeedback") or {}).get("blockReason"):
            return Reply(text="", finish=Finish.REFUSAL, usage=usage, model=model)
        candidate = answer["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or []
        return Reply(
            text="".join(part.get("text", "") for part in parts if not part.get("thought")),
            finish=_FINISHES.get(candidate.get("finishReason") or "", Finish.OTHER),
            usage=usage,
            model=model,
        )


def _part(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    return {"inline_data": {"mime_type": part.mime, "data": part.data}}


def _usage(usage: Mapping[str, Any]) -> Usage:
    if not usage:
        return Usage()
    thoughts = count(usage.get("thoughtsTokenCount")) or 0
    return Usage(
        input_tokens=count(usage.get("promptTokenCount")),
        # Fields that are zero are left out, and thoughts are counted apart.
        output_tokens=(count(usage.get("candidatesTokenCount")) or 0) + thoughts,
        cached_input_tokens=count(usage.get("cachedContentTokenCount")) or 0,
        reasoning_tokens=thoughts,
    )
