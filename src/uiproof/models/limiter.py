"""How many requests go to a provider at the same time.

    limit = AdaptiveLimit(16)
    with limit.place() as place:             # stand in line, once per request
        async with place.turn() as turn:     # once per attempt
            turn.outcome = "ok"              # or "limited", "failed"

A provider that says "too many requests" may mean it: then fewer at once lose nothing and waste
less. Or it says so to anybody at any time: then fewer at once only take longer. The one way to
tell is to try, and to look at what gets through.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["ok", "limited", "failed"]


class AdaptiveLimit:
    """Gives turns, at most `level` at a time, to whoever has stood in line the longest.

    It belongs to the event loop that first uses it.
    """

    def __init__(self, maximum: int) -> None:
        self._search = LevelSearch(maximum)
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._places = 0  # requests that have not ended, with those that pause
        self._next_number = 0

    @property
    def level(self) -> int:
        """How many may be under way at once, at present."""
        return self._search.level

    @property
    def under_way(self) -> int:
        """How many turns are taken."""
        return self._search.under_way

    @property
    def crowded(self) -> bool:
        """Whether there are more requests than turns."""
        return self._places > self._search.level

    @contextmanager
    def place(self) -> Iterator[Place]:
        """A place in line; it stays the same through all turns of a request."""
        self._next_number += 1
        self._places += 1
        try:
            yield Place(self, self._next_number)
        finally:
            self._places -= 1

    async def _take(self, number: int) -> Turn:
        loop = asyncio.get_running_loop()
        if self._waiting or self._search.under_way >= self._search.level:
            given = loop.create_future()
            heapq.heappush(self._waiting, (number, given))
            self._hand_out()
            try:
                await given
            except asyncio.CancelledError:
                if given.done() and not given.cancelled():  # it came together with the turn
                    self._search.left(loop.time())
                    self._hand_out()
                raise
        else:
            self._search.took(loop.time())
        return Turn(loop.time(), self._search.window)

    def _give_back(self, turn: Turn) -> None:
        loop = asyncio.get_running_loop()
        rest = self._search.ended(turn, loop.time(), self._places)
        if rest:
            loop.call_later(rest, self._free)
            self._hand_out()  # the level may just have risen
        else:
            self._free()

    def _free(self) -> None:
        self._search.left(asyncio.get_running_loop().time())
        self._hand_out()

    def _hand_out(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._waiting and self._search.under_way < self._search.level:
            _number, given = heapq.heappop(self._waiting)
            if not given.done():  # else it was cancelled
                self._search.took(now)
                given.set_result(None)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request stands in line."""

    _limit: AdaptiveLimit
    _number: int

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """Wait for a turn, and give it back at the end, whatever happens."""
        turn = await self._limit._take(self._number)
        try:
            yield turn
        finally:
            self._limit._give_back(turn)


@dataclass(slots=True)
class Turn:
    """One attempt; set `outcome` to how it went."""

    began: float
    window: int
    outcome: Outcome = "failed"


# A share of refusals below this is no reason to slow down.
_FEW = 0.1
# One above this is rarely chance, and wastes a lot: it is looked into soon.
_MANY = 0.5
# How far what gets through follows the level: 0 not at all, 1 in proportion.
_HOLDS, _FOLLOWS = 0.15, 0.75
_LONGEST_WAIT = 8  # in windows, before the next try to go up; eight times that to go down
_LONGEST_REST = 30.0


class LevelSearch:
    """Looks for the lowest level that lets as much through as the highest would.

    It judges windows of attempts that began at the same level, and only while more requests are
    there than turns. After a window it may try another level for a shorter window.
    """

    def __init__(self, maximum: int) -> None:
        self.level = maximum
        self.under_way = 0
        self.window = 0  # the number of the present one; attempts of others do not count
        self._maximum = maximum
        self._home = maximum  # the level to go back to when a try fails
        self._home_flow = 0.0  # successes per second there
        self._home_refused = 0.0  # the share of attempts
        self._too_low = 0  # between this and the home level lies the right one
        self._wait_down, self._wait_up = 6, 0  # windows until the next try
        self._next_down, self._next_up = 4, 1
        self._step_up, self._gentle = 1, False
        self._open()

    def took(self, now: float) -> None:
        """A turn was given."""
        self._count_time(now)
        self.under_way += 1

    def left(self, now: float) -> None:
        """A turn was given back."""
        self._count_time(now)
        self.under_way -= 1

    def ended(self, turn: Turn, now: float, demand: int) -> float:
        """An attempt ended, while so many requests were there; seconds that the turn is to rest."""
        rest = 0.0
        if turn.outcome == "limited" and self._home < self._maximum and self._home_flow > 0:
            # It comes from the load: until another answer is through there is no room.
            rest = min(1 / self._home_flow, _LONGEST_REST)
        if demand <= self.level:
            self._open()  # too few requests to learn from
        elif turn.window == self.window:
            self._count_time(now)
            self._slot_seconds += now + rest - turn.began
            self._note(turn.outcome)
        return rest

    def _note(self, outcome: Outcome) -> None:
        self._attempts += 1
        self._ok += outcome == "ok"
        self._limited += outcome == "limited"
        trying = self.level != self._home
        enough = max(2 * self.level, 10) if trying else max(3 * self.level, 12)
        hopeless = self.level > self._home and self._limited >= enough
        if self._ok >= enough or hopeless or (self._attempts >= 3 * enough and self._ok >= 6):
            if trying:
                self._judge()
            else:
                self._home_flow, self._home_refused = self._flow(), self._limited / self._attempts
                self._choose()

    def _open(self) -> None:
        self.window += 1
        self._attempts = self._ok = self._limited = 0
        self._slot_seconds = self._seconds = self._busy_seconds = 0.0
        self._counted_to: float | None = None

    def _count_time(self, now: float) -> None:
        # Attempts of an earlier, higher level have to be over first.
        if self._counted_to is not None:
            self._seconds += now - self._counted_to
            self._busy_seconds += self.under_way * (now - self._counted_to)
            self._counted_to = now
        elif self.under_way <= self.level:
            self._counted_to = now

    def _flow(self) -> float:
        """Successes per second.

        Not counted by the clock, because requests that began together also end together, and a
        window would see one such wave more or less.
        """
        if self._slot_seconds <= 0 or self._seconds <= 0:
            return 0.0
        return self._ok / self._slot_seconds * self._busy_seconds / self._seconds

    def _choose(self) -> None:
        """After a window at home: stay, or try another level."""
        refused = self._home_refused
        self._wait_down -= 8 if refused >= _MANY else 1
        self._wait_up -= 1
        if refused >= _FEW and self._wait_down < 0 and self.level > 1:
            lower = self.level * (3 if self._gentle else 2) / 4
            self.level = max(math.floor(lower), 1)
            self._too_low = 0
        elif self.level < self._maximum and self._wait_up < 0:
            # With refusals about, only a large step shows whether they come from the load.
            step = self.level if refused >= _FEW else self._step_up
            self.level = min(self.level + step, self._maximum)
        self._open()

    def _judge(self) -> None:
        """After a window at another level: keep it, go back, or try one in between."""
        flow, refused = self._flow(), self._limited / self._attempts
        change = self.level / self._home - 1
        follows = (flow / self._home_flow - 1) / change if self._home_flow else 1.0
        # Where refusals come from the load, fewer requests at once are refused less often; unless
        # they are refused so quickly that there is always another one.
        eased = refused < 0.7 * self._home_refused or self._home_refused >= _MANY
        if change > 0:
            if refused < _FEW / 2 or follows > 0.5:
                self._step_up *= 2
                self._settle(flow)
                self._wait_up, self._next_up = 0, 1
            else:
                self._step_up = 1
                self._wait_up = self._next_up
                self._next_up = min(2 * self._next_up, _LONGEST_WAIT)
                self.level = self._home
        elif follows < _HOLDS and eased:
            self._settle(max(flow, self._home_flow))
            self._next_down = 4
            self._wait_up = 1
            if refused >= _FEW and self.level - self._too_low > 1:
                self.level = max((self._too_low + self.level) // 2, 1)
        elif follows < _FOLLOWS and eased and self._home - self.level > 1:
            self._too_low = self.level
            self.level = (self.level + self._home + 1) // 2
        else:
            self._gentle = not self._gentle
            self._wait_down = self._next_down
            self._next_down = min(2 * self._next_down, 8 * _LONGEST_WAIT)
            self.level = self._home
        self._open()

    def _settle(self, flow: float) -> None:
        self._home, self._home_flow = self.level, flow
        self._home_refused = self._limited / self._attempts
        self._gentle = False
