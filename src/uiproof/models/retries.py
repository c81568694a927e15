"""Retries and the number of requests at once, for one provider.

    retrier = Retrier("openai/gpt-4o", concurrency=16, patience=900.0)
    reply = await retrier.call(attempt)      # `attempt` asks once

How long to wait depends on all requests to the provider: while others get answers, a moment; while
all fail, as long as they have been failing.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import TypeAlias

from uiproof.errors import ModelAccessError, ModelError
from uiproof.models.types import AttemptError, Reply

Attempt: TypeAlias = Callable[[], Awaitable[Reply]]

_TRIES = 12
_TIMEOUTS = 3  # each of them takes long
_SHORTEST_MOMENT, _LONGEST_MOMENT = 0.005, 1.0  # a moment is a tenth of what an answer takes
_LONGEST_BACKOFF, _LONGEST_PAUSE = 64, 60.0  # moments for one request, seconds for all
_LATENCY_WEIGHT = 0.1  # of one answer in the moving average
_BAD_LUCK = 8  # failures in a row, over all requests, that may be chance
# So many failures in a row, of so many requests, for so long are an outage.
_OUTAGE_FAILURES, _OUTAGE_REQUESTS, _OUTAGE_SECONDS = 20, 6, 120.0
_UNREACHABLE_SECONDS = 10.0  # for a server that has never answered: it is probably not there
# A server that answers with HTTP 500 is there. In an outage of that kind so many requests fail for
# themselves, so that the next run gets past those that never work; then the run stops.
_MAX_GIVEN_UP = 32
_LATER = "Run the same command later; it continues where it stopped."


class Limiter:
    """Give slots to requests, at most `level` at a time, the oldest request first.

    Each refusal (HTTP 429) lowers the level a little and each answer raises it by as much. So it
    falls while more than half of the attempts are refused, and refusals that come whatever the
    load is do not slow a run down.
    """

    def __init__(self, maximum: int) -> None:
        self.level = float(maximum)
        self.in_use = 0
        self._maximum, self._step = maximum, maximum / 32
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, number: int) -> AsyncIterator[None]:
        """Wait for a slot; the request with the lowest number gets the next one."""
        given = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (number, given))
        self._hand_out()
        try:
            await given
            yield
        finally:
            if given.done() and not given.cancelled():
                self.in_use -= 1
            given.cancel()
            self._hand_out()

    def answered(self) -> None:
        """Count an answer."""
        self.level = min(self.level + self._step, self._maximum)

    def refused(self) -> None:
        """Count a refusal."""
        self.level = max(self.level - self._step, 1.0)

    def _hand_out(self) -> None:
        while self._waiting and self.in_use < self.level:
            _, given = heapq.heappop(self._waiting)
            if not given.done():  # else it was cancelled
                self.in_use += 1
                given.set_result(None)


class Retrier:
    """Make attempts, at most `concurrency` at a time, until one succeeds.

    A request that waits gives back its slot, but keeps its place in line. `remedy` is for the case
    that a provider denies access, `address_hint` says where its address is set. With
    `fault_tries`, so many HTTP 500 are about the request and say nothing about the provider. It
    belongs to the event loop that first uses it.
    """

    def __init__(
        self,
        provider: str,
        *,
        concurrency: int,
        patience: float,
        remedy: str = "",
        address_hint: str = "",
        fault_tries: int | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self.limiter = Limiter(concurrency)
        self._provider, self._patience, self._remedy = provider, patience, remedy
        self._address_hint, self._fault_tries = address_hint, fault_tries
        self._chance = chance or random.Random()
        self._health = _Health()
        self._numbers = count()

    async def call(self, attempt: Attempt) -> Reply:
        """Return the first answer; its `attempts` and `queue_seconds` say what it took.

        Raise `ModelError` where this request gets no answer, `ModelAccessError` where none will.
        """
        clock = asyncio.get_running_loop().time
        began, number = clock(), next(self._numbers)
        patience = self._patience  # waiting for a slot does not use it up
        failures: list[AttemptError] = []
        while True:
            async with self.limiter.slot(number):
                sent = clock()
                try:
                    reply = await attempt()
                except AttemptError as error:
                    failures.append(error)
                    if error.kind == "rate_limited":
                        self.limiter.refused()
                else:
                    self.limiter.answered()
                    self._health.succeeded(reply)
                    waited = max(clock() - began - reply.network_seconds, 0.0)
                    return replace(reply, attempts=len(failures) + 1, queue_seconds=waited)
            now = clock()
            own_fault = failures[-1].kind == "fault" and self._fault_tries is not None
            self._health.failed(number, failures[-1], now, about_request=own_fault)
            pause = self._pause(failures, now)
            patience -= now - sent + pause
            self._check(failures, patience, now)
            await asyncio.sleep(pause)

    def _pause(self, failures: list[AttemptError], now: float) -> float:
        error, health = failures[-1], self._health
        moment = min(max(health.latency / 10, _SHORTEST_MOMENT), _LONGEST_MOMENT)
        if error.retry_after is not None:
            return error.retry_after + moment * self._chance.random()
        refused = error.kind == "rate_limited"
        alike = sum((failure.kind == "rate_limited") == refused for failure in failures)
        pause = moment * min(2.0 ** (alike - 1), _LONGEST_BACKOFF)
        if health.failures > _BAD_LUCK:
            pause = max(pause, now - health.failing_since)  # so it doubles from time to time
        return min(pause, _LONGEST_PAUSE) * self._chance.uniform(0.5, 1.5)

    def _check(self, failures: list[AttemptError], patience: float, now: float) -> None:
        """Raise if retrying is pointless."""
        error, health = failures[-1], self._health
        said = f"{self._provider} said: {error.message}"
        if error.kind == "rejected":
            raise ModelError(f"The request was rejected. {said}", attempts=len(failures))
        if error.kind in ("no_access", "quota"):
            raise ModelAccessError(said, remedy=self._remedy)
        if (error.retry_after or 0.0) > self._patience:
            raise ModelAccessError(
                f"{self._provider} takes no requests for {error.retry_after:.0f} seconds. {said}",
                remedy=_LATER,
            )
        unreachable = all(failure.kind == "connection" for failure in failures)
        if unreachable and not health.known and now - health.failing_since > _UNREACHABLE_SECONDS:
            remedy = "Check that the server runs and that its address is right."
            raise ModelAccessError(
                f"{self._provider} cannot be reached. {error.message}",
                remedy=f"{remedy} {self._address_hint}".rstrip(),
            )
        lasting = health.outage and (patience < 0 or now > health.patient_until)
        given_up = lasting and error.kind == "fault" and health.given_up < _MAX_GIVEN_UP
        if lasting and not given_up:
            raise ModelAccessError(
                f"{self._provider} does not answer any more: {health.failures} attempts in a row "
                f"failed within {now - health.failing_since:.0f} seconds. Last: {error.message}",
                remedy=f"{_LATER} Cases that have failed are asked again with --retry-failed.",
            )
        health.given_up += given_up
        others = [failure.kind for failure in failures if failure.kind != "rate_limited"]
        tried = len(others) >= _TRIES or others.count("timeout") >= _TIMEOUTS
        faulty = self._fault_tries is not None and others.count("fault") >= self._fault_tries
        # In an outage a request waits with all others until it ends or counts as lasting.
        if patience < 0 or faulty or given_up or (tried and not health.outage):
            tries = "1 try" if len(failures) == 1 else f"{len(failures)} tries"
            hint = self._address_hint if error.kind == "malformed" else ""
            raise ModelError(
                f"{self._provider} gave no answer in {tries}. Last: {error.message}",
                remedy=f"Run again with --retry-failed when the provider is up. {hint}".rstrip(),
                attempts=len(failures),
            )


class _Health:
    """The state of a provider, over all requests."""

    def __init__(self) -> None:
        self.latency = 1.0  # seconds, a moving average over answers
        self.failures = 0  # in a row
        self.failing_since = 0.0
        self.patient_until = 0.0  # from then on an outage is lasting
        self.known = False  # whether it has ever answered
        self.given_up = 0  # requests in a row, because of a lasting fault
        self._requests: set[int] = set()

    @property
    def outage(self) -> bool:
        """Return whether no request gets answers any more."""
        return self.failures >= _OUTAGE_FAILURES and len(self._requests) >= _OUTAGE_REQUESTS

    def succeeded(self, reply: Reply) -> None:
        """Count an answer."""
        self._reset()
        weight = _LATENCY_WEIGHT if self.known else 1.0
        self.latency += weight * (reply.network_seconds - self.latency)
        self.known = True

    def failed(self, request: int, error: AttemptError, now: float, *, about_request: bool) -> None:
        """Count a failed attempt; with `about_request`, the provider itself is fine."""
        if error.kind == "rejected" or about_request:
            self._reset()  # it read the request, so it is up
            return
        if not self.failures:
            self.failing_since = now
            self.patient_until = now + _OUTAGE_SECONDS
        self.failures += 1
        self._requests.add(request)
        if error.retry_after:  # a long pause that a provider asks for is not an outage
            self.patient_until = max(self.patient_until, now + 2 * error.retry_after)

    def _reset(self) -> None:
        self.failures = self.given_up = 0
        self._requests.clear()
