"""What can go wrong with a request to a provider."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from provider_formats import Asked


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request. The default is an HTTP error in the provider's words."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "made to fail"
    body: Any = None  # bytes, or JSON, sent as it is; None: an error with the message
    content_type: str = "application/json"
    hang: bool = False  # never answers
    cut: Literal["before", "inside"] | None = None  # the connection ends before or in the answer
    huge: int = 0  # an answer of so many bytes
    gzipped: bool = False  # a small parcel that unpacks to them
    slow_body: float = 0.0  # seconds between the headers and the body


def mixed_faults(
    *, rate_limited: float = 0.0, server: float = 0.0, cut: float = 0.0, seed: int = 0
) -> Callable[[Asked], Fault | None]:
    """Faults by chance, the same ones for the same seed, in these shares of all requests."""
    dice = random.Random(seed)

    def fault(_: Asked) -> Fault | None:
        roll = dice.random()
        if roll < rate_limited:
            return Fault(status=429, headers={"Retry-After": "0"})
        if roll < rate_limited + server:
            return Fault(status=500)
        if roll < rate_limited + server + cut:
            return Fault(cut=dice.choice(("before", "inside")))
        return None

    return fault
