"""How many requests of this process are on the network at once.

What a request needs besides (encoding it, reading and storing its answer) is done outside of the
gate, so that a server is kept busy with as many requests as it may get.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType


class Gate:
    """Lets at most `limit` through at a time; None is no limit. For one event loop."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._waiting or not self._is_open():
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # let in and cancelled in one moment
                    self._inside -= 1
                    self._let_in()
                raise
        else:
            self._inside += 1

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._inside -= 1
        self._let_in()

    def set_limit(self, limit: int | None) -> None:
        """Let more or fewer through from now on."""
        self.limit = limit
        self._let_in()

    def _is_open(self) -> bool:
        return self.limit is None or self._inside < self.limit

    def _let_in(self) -> None:
        while self._waiting and self._is_open():
            turn = self._waiting.popleft()
            if not turn.done():
                self._inside += 1
                turn.set_result(None)


GATE = Gate()  # of this process; a courier sets its limit
