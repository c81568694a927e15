"""A uvicorn server that warms up, and finishes what it has begun before it ends."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from uiproof.errors import UiproofError
from uiproof.http_server import server_config
from uiproof.scoring.pool import WarmPool
from uiproof.serve.queue import ScoreQueue

_LAST_ANSWERS = 5  # seconds for answers that are made to reach their clients


class Server(uvicorn.Server):
    """uvicorn with our way to end: drain at the first signal, gone at the second."""

    def __init__(
        self, app: ASGIApp, queue: ScoreQueue, pool: WarmPool, drain: float, client_seconds: float
    ) -> None:
        super().__init__(
            server_config(
                app, client_seconds=client_seconds, timeout_graceful_shutdown=_LAST_ANSWERS
            )
        )
        self._queue, self._pool, self._drain_seconds = queue, pool, drain
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._signals = 0
        self._problem: UiproofError | None = None
        self._say_listening: Callable[[], None] = lambda: None

    async def serve_on(self, listener: socket.socket, say: Callable[[], None]) -> None:
        """Serve until a signal comes; `say` is called when requests are answered."""
        self._say_listening = say
        try:
            await self.serve(sockets=[listener])
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._problem is not None:
            raise self._problem

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen; then warm up, so that probes are answered meanwhile."""
        await super().startup(sockets)
        self._begin(self._warm())
        self._say_listening()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's
        """Drain at the first signal, end everything at the second."""
        self._signals += 1
        if self._signals == 1:
            self._loop.call_soon_threadsafe(lambda: self._begin(self._drain()))
        else:
            self._pool.delete_folder()
            os._exit(128 + sig)  # workers end with the process that started them

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.add(self._loop.create_task(work))

    async def _warm(self) -> None:
        try:
            await self._pool.warm()
            self._queue.warm = True
        except UiproofError as error:
            self._problem = error
            self.should_exit = True

    async def _drain(self) -> None:
        await self._queue.drain(self._drain_seconds)
        self.should_exit = True
