"""A limit on costs and requests, shared by all runs of one command.

    budget = Budget(max_cost=5.0, max_requests=1000)
    async with budget.reserved(0.08) as reservation:   # the most that the request can cost
        ...                                            # make one attempt
        reservation.settle(0.03)                       # what it did cost

Money is set aside before an attempt, so that requests under way together cannot overspend.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from uiproof.errors import BudgetReachedError, UsageError

_DUST = 1e-9  # rounding errors of sums of fractions of cents


@dataclass(slots=True)
class Reservation:
    """Money that is set aside for one attempt."""

    cost: float

    def settle(self, cost: float) -> None:
        """Set what the attempt cost."""
        self.cost = cost


class Budget:
    """Limits on costs in US dollars and on requests; None is no limit.

    `spent` and `requests` are what is used up. It works in one event loop after the other.
    """

    def __init__(self, max_cost: float | None = None, max_requests: int | None = None) -> None:
        if max_cost is not None and not 0 <= max_cost < float("inf"):
            raise UsageError(f"A limit on costs cannot be {max_cost}.")
        if max_requests is not None and max_requests < 0:
            raise UsageError(f"A limit on requests cannot be {max_requests}.")
        self.max_cost, self.max_requests = max_cost, max_requests
        self.spent = 0.0
        self.requests = 0
        self._set_aside = 0.0
        self._under_way = 0
        self._waiting: set[asyncio.Future[None]] = set()

    @asynccontextmanager
    async def reserved(self, cost: float = 0.0) -> AsyncIterator[Reservation]:
        """Reserve the most that one attempt can cost; at the end, count what it did cost.

        Wait while attempts in flight may turn out cheaper; raise `BudgetReachedError` if none are
        in flight. An attempt that ends without `settle`, say because it
        was cancelled, counts in full: it may be charged.
        """
        while not self._fits(cost):
            if not self._under_way:
                raise self._reached(cost)
            await self._next_change()
        reservation = Reservation(cost)
        self._set_aside += cost
        self._under_way += 1
        try:
            yield reservation
        finally:
            self._under_way -= 1
            self._set_aside = self._set_aside - cost if self._under_way else 0.0
            self.spent += reservation.cost
            self.requests += 1
            self._wake()

    def _fits(self, cost: float) -> bool:
        if self.max_requests is not None and self.requests + self._under_way >= self.max_requests:
            return False
        taken = self.spent + self._set_aside + cost
        return self.max_cost is None or taken <= self.max_cost + _DUST

    async def _next_change(self) -> None:
        change = asyncio.get_running_loop().create_future()
        self._waiting.add(change)
        try:
            await change
        finally:
            self._waiting.discard(change)

    def _wake(self) -> None:
        for change in self._waiting:
            if not change.done():
                change.set_result(None)

    def _reached(self, cost: float) -> BudgetReachedError:
        if self.max_requests is not None and self.requests >= self.max_requests:
            what = f"{self.requests} requests were made; the limit is {self.max_requests}."
            option = "--max-requests"
        else:
            what = (
                f"{_dollars(self.spent)} were spent, and the next request may cost up to "
                f"{_dollars(cost)}; the limit is {_dollars(self.max_cost or 0.0)}."
            )
            option = "--max-cost"
        return BudgetReachedError(
            what, remedy=f"The same command with a higher {option} continues where this stopped."
        )


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"
