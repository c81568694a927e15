"""Asking until there is an answer: what to try again, after which pause, and when to give up.

How long to pause depends on how the provider does as a whole more than on one request's luck:
while others get answers a moment is enough; where most are refused it takes longer; when nobody
gets one, pauses grow with the time that this has lasted.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from uiproof.errors import ModelAccessError, ModelError
from uiproof.models.limiter import AdaptiveLimit, Place
from uiproof.models.types import AttemptError, Reply

Attempt: TypeAlias = Callable[[], Awaitable[Reply]]

_TRIES = 12
_TIMEOUTS = 3  # each of them takes long
# A moment is a tenth of what an answer takes: little is lost by it, whatever comes next.
_SHORTEST_MOMENT, _LONGEST_MOMENT = 0.005, 1.0
_MOST = 0.5  # of all attempts: a provider that refuses more of them is asked less often
_LONGEST_BACKOFF, _LONGEST_PAUSE = 16, 60.0  # moments for one request, seconds for all
_WEIGHT = 0.05  # of one attempt in moving averages
# So many failures in a row, over all requests, may be bad luck.
_BAD_LUCK = 8
# So many, of so many requests, are an outage if it lasts. One request that never works is none.
_UNREACHABLE_SECONDS = 10.0  # for a server that has never answered: it is probably not there
_OUTAGE_FAILURES, _OUTAGE_REQUESTS, _OUTAGE_SECONDS = 20, 6, 120.0


class Persistence:
    """Makes attempts, at most `concurrency` at a time, until one of them works out.

    A request that pauses gives back its turn, but keeps its place in line. `remedy` is what to do
    when a provider lets nobody in. It belongs to the event loop that first uses it.
    """

    def __init__(
        self,
        provider: str,
        *,
        concurrency: int,
        patience: float,
        remedy: str = "",
        chance: random.Random | None = None,
    ) -> None:
        self.limit = AdaptiveLimit(concurrency)
        self._provider, self._patience, self._remedy = provider, patience, remedy
        self._chance = chance or random.Random()
        self._health = Health()

    async def call(self, attempt: Attempt) -> Reply:
        """The first answer; its `attempts` and `queue_seconds` say what it took.

        Raises `ModelError` where this request gets no answer, `ModelAccessError` where none will.
        """
        clock = asyncio.get_running_loop().time
        began = clock()
        patience = self._patience  # waiting for a turn does not use it up
        failures: list[AttemptError] = []
        with self.limit.place() as place:
            while True:
                outcome, seconds = await _attempt(place, attempt)
                if isinstance(outcome, Reply):
                    self._health.succeeded(outcome)
                    waited = max(clock() - began - outcome.network_seconds, 0.0)
                    return replace(outcome, attempts=len(failures) + 1, queue_seconds=waited)
                failures.append(outcome)
                now = clock()
                self._health.failed(place, outcome, now)
                pause = self._pause(failures, now)
                patience -= seconds + pause
                self._check(failures, patience, now)
                await asyncio.sleep(pause)

    def _pause(self, failures: list[AttemptError], now: float) -> float:
        error, health = failures[-1], self._health
        moment = min(max(health.latency / 10, _SHORTEST_MOMENT), _LONGEST_MOMENT)
        if error.retry_after is not None:
            return error.retry_after + moment * self._chance.random()
        refused = error.kind == "rate_limited"
        alike = sum((failure.kind == "rate_limited") == refused for failure in failures)
        if not refused:
            # A fault that comes back is rarely chance.
            pause = moment * min(2.0 ** (alike - 1), 4 * _LONGEST_BACKOFF)
        elif health.refusals > _MOST and self.limit.crowded:  # others would gladly take the turn
            pause = max(2 * moment, 0.05) * min(1.5**alike, _LONGEST_BACKOFF)
        else:
            pause = moment
        if health.failures > _BAD_LUCK:
            pause = max(pause, now - health.failing_since)  # so it doubles from time to time
        return min(pause, _LONGEST_PAUSE) * self._chance.uniform(0.5, 1.5)

    def _check(self, failures: list[AttemptError], patience: float, now: float) -> None:
        """Raise if there is no point in going on."""
        error, health = failures[-1], self._health
        said = f"{self._provider} said: {error.message}"
        if error.kind == "rejected":
            raise ModelError(f"The request was rejected. {said}", attempts=len(failures))
        if error.kind in ("no_access", "quota"):
            raise ModelAccessError(said, remedy=self._remedy)
        if (error.retry_after or 0.0) > self._patience:
            raise ModelAccessError(
                f"{self._provider} takes no requests for {error.retry_after:.0f} seconds. {said}",
                remedy="Run the same command later; it continues where it stopped.",
            )
        unreachable = all(failure.kind == "connection" for failure in failures)
        if unreachable and not health.known and now - health.failing_since > _UNREACHABLE_SECONDS:
            raise ModelAccessError(
                f"{self._provider} cannot be reached. {error.message}",
                remedy="Check that the server runs and that its address is right.",
            )
        others = [failure.kind for failure in failures if failure.kind != "rate_limited"]
        tried = len(others) >= _TRIES or others.count("timeout") >= _TIMEOUTS
        if health.outage and (patience < 0 or now > health.patient_until):
            raise ModelAccessError(
                f"{self._provider} does not answer any more: {health.failures} attempts in a row "
                f"failed within {now - health.failing_since:.0f} seconds. Last: {error.message}",
                remedy="Run the same command later; it continues where it stopped.",
            )
        # In an outage a request waits for the end of it, or for the verdict, with all the others.
        if patience < 0 or (tried and not health.outage):
            raise ModelError(
                f"{self._provider} gave no answer in {len(failures)} "
                f"{'try' if len(failures) == 1 else 'tries'}. Last: {error.message}",
                remedy="Run again with --retry-failed when the provider is well.",
                attempts=len(failures),
            )


class Health:
    """How a provider does at present, over all requests."""

    def __init__(self) -> None:
        self.latency = 1.0  # seconds, a moving average over answers
        self.refusals = 0.0  # the share of all attempts, a moving average too
        self.failures = 0  # in a row
        self.failing_since = 0.0
        self.patient_until = 0.0  # from then on an outage is one
        self.known = False  # whether it has ever answered
        self._requests: set[Place] = set()

    @property
    def outage(self) -> bool:
        """Whether it looks as if nobody gets answers any more."""
        return self.failures >= _OUTAGE_FAILURES and len(self._requests) >= _OUTAGE_REQUESTS

    def succeeded(self, reply: Reply) -> None:
        """A request was answered."""
        self._reset()
        self._note(refused=False)
        if not reply.cached:
            weight = 2 * _WEIGHT if self.known else 1.0
            self.latency += weight * (reply.network_seconds - self.latency)
            self.known = True

    def failed(self, request: Place, error: AttemptError, now: float) -> None:
        """An attempt failed."""
        self._note(refused=error.kind == "rate_limited")
        if error.kind == "rejected":
            self._reset()  # it looked at the request, so it is there
            return
        if not self.failures:
            self.failing_since = now
            self.patient_until = now + _OUTAGE_SECONDS
        self.failures += 1
        self._requests.add(request)
        if error.retry_after:  # a provider that asks for a long pause is no worse for that
            self.patient_until = max(self.patient_until, now + 2 * error.retry_after)

    def _note(self, *, refused: bool) -> None:
        self.refusals += _WEIGHT * (refused - self.refusals)

    def _reset(self) -> None:
        self.failures = 0
        self._requests.clear()


async def _attempt(place: Place, attempt: Attempt) -> tuple[Reply | AttemptError, float]:
    """What became of one attempt, and how many seconds it took."""
    clock = asyncio.get_running_loop().time
    async with place.turn() as turn:
        try:
            reply = await attempt()
        except AttemptError as error:
            turn.outcome = "limited" if error.kind == "rate_limited" else "failed"
            return error, clock() - turn.began
        turn.outcome = "ok"
        return reply, clock() - turn.began
