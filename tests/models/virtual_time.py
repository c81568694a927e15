"""An event loop whose clock jumps to the next thing to do, and providers that live on it."""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from uiproof.models.retries import Retrier
from uiproof.models.types import AttemptError, Finish, Reply

T = TypeVar("T")


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, but hours take no time. Nothing in it may use threads or sockets."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None):
        assert timeout is not None, "everything waits and nothing will ever happen"
        self._loop.now += max(timeout, 0.0)
        return super().select(0)


@dataclass
class Provider:
    """Answers after a while, unless it refuses or fails."""

    seed: int = 0
    latency: float = 1.0
    spread: float = 0.3  # of the latency, either way
    refusal_seconds: float = 0.01
    random_refusals: float = 0.0
    random_errors: float = 0.0
    at_once: int | None = None  # more than that are refused
    per_second: float | None = None  # a token bucket
    retry_after: float | None = None
    answered: int = 0
    attempts: int = 0
    refused: int = 0
    under_way: int = 0
    most_under_way: int = 0
    handling_seconds: float = 0.0
    _tokens: float = 5.0
    _filled: float = 0.0
    _chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    async def attempt(self) -> Reply:
        self.attempts += 1
        if self._refuses():
            self.refused += 1
            await self._handle(self.refusal_seconds)
            raise AttemptError("rate_limited", "too many requests", retry_after=self.retry_after)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            seconds = self.latency * self._chance.uniform(1 - self.spread, 1 + self.spread)
            if self._chance.random() < self.random_errors:
                await self._handle(self._chance.random() * seconds)
                raise AttemptError("server", "internal error")
            await self._handle(seconds)
        finally:
            self.under_way -= 1
        self.answered += 1
        return Reply(text="", finish=Finish.STOP, network_seconds=seconds)

    async def _handle(self, seconds: float) -> None:
        self.handling_seconds += seconds
        await asyncio.sleep(seconds)

    def _refuses(self) -> bool:
        if self._chance.random() < self.random_refusals:
            return True
        if self.at_once is not None and self.under_way >= self.at_once:
            return True
        if self.per_second is not None:
            now = asyncio.get_running_loop().time()
            self._tokens = min(self._tokens + (now - self._filled) * self.per_second, 5.0)
            self._filled = now
            if self._tokens < 1:
                return True
            self._tokens -= 1
        return False


async def ask_all(retrier: Retrier, provider: Provider, count: int, at_once: int) -> float:
    """Ask so many times, so many at once; the seconds that it took."""
    clock = asyncio.get_running_loop().time
    began, left = clock(), iter(range(count))

    async def asker() -> None:
        for _ in left:
            await retrier.call(provider.attempt)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(asker())
    return clock() - began
