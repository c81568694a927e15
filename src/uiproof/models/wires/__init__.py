"""One attempt to get an answer from a provider, through its official SDK."""

from __future__ import annotations

from typing import Protocol

from uiproof.models.images import ImageRule
from uiproof.models.names import Endpoint
from uiproof.models.types import Reply, Request

__all__ = ["Wire", "make_wire"]


class Wire(Protocol):
    """A way to one model of one provider, for many requests at once on one event loop."""

    async def send(self, request: Request) -> Reply:
        """Ask once. Raises `AttemptError` where no answer came, and nothing else."""
        ...

    async def close(self) -> None:
        """Let go of all connections."""
        ...


def make_wire(endpoint: Endpoint, *, key: str, rule: ImageRule, timeout: float) -> Wire:
    """A wire to a model; `timeout` is what one attempt may take in all, in seconds.

    The SDK is imported here, so the extra of that provider has to be installed.
    """
    if endpoint.provider == "anthropic":
        from uiproof.models.wires.anthropic import AnthropicWire

        return AnthropicWire(endpoint, key=key, rule=rule, timeout=timeout)
    if endpoint.provider == "google":
        from uiproof.models.wires.google import GoogleWire

        return GoogleWire(endpoint, key=key, rule=rule, timeout=timeout)
    if endpoint.provider == "omniparser":
        from uiproof.models.wires.omniparser import OmniParserWire

        return OmniParserWire(endpoint, key=key, rule=rule, timeout=timeout)
    from uiproof.models.wires.openai import OpenAIWire

    return OpenAIWire(endpoint, key=key, rule=rule, timeout=timeout)
