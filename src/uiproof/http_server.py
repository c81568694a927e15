"""HTTP connections with time limits for clients that are silent, slow or do not read."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

_Phase = Literal["head", "body", "answer"]

CLIENT_SECONDS = 20.0
_SLOWEST = 16 * 1024  # bytes a second: how fast a body has to come once `CLIENT_SECONDS` are over
_CHECKS = 4  # in `client_seconds`
_TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"The request took too long to arrive.\n"
)
_TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nRetry-After: 5\r\n"
    b"Connection: close\r\n\r\nThere are too many connections.\n"
)


def server_config(
    app: ASGIApp,
    *,
    client_seconds: float = CLIENT_SECONDS,
    most_connections: int | None = None,
    **options: Any,
) -> uvicorn.Config:
    """Return the uvicorn configuration for an app on connections with time limits.

    A client has `client_seconds` to send the head of a request and begin its body, and as long to
    take the next part of its answer. How long an answer takes to make is not limited here.
    """
    most = most_connections or _most_connections()

    class Bounded(_Connection):
        seconds, most_connections = client_seconds, most

    return uvicorn.Config(
        app,
        http=Bounded,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        **options,
    )


class _Connection(H11Protocol):
    """uvicorn's connection with time limits."""

    seconds: float
    most_connections: int

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._phase: _Phase = "head"
        self._since = self.loop.time()  # when this phase began
        self._received = 0  # bytes in this phase
        self._unsent = 0  # bytes of an answer that waited when it was looked at last
        self._unsent_since = self._since
        self._clock: asyncio.TimerHandle | None = None
        if len(self.connections) > self.most_connections and not self._make_room():
            self._end(_TOO_MANY)
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)

    def on_response_complete(self) -> None:
        self._since = self.loop.time()
        super().on_response_complete()

    def resume_writing(self) -> None:
        self._unsent_since = self.loop.time()
        super().resume_writing()

    def _look_later(self) -> None:
        self._clock = self.loop.call_later(self.seconds / _CHECKS, self._look)

    def _look(self) -> None:
        if self._is_stalled():
            self.transport.abort()  # closing would wait for the client to read
        elif not self.transport.is_closing() and self._is_slow():
            self._end(b"" if self.cycle and self.cycle.response_started else _TOO_SLOW)
        self._look_later()

    def _is_slow(self) -> bool:
        phase = self._current_phase()
        if phase != self._phase or self.flow.read_paused:
            self._phase, self._received, self._since = phase, 0, self.loop.time()
        if phase == "answer":
            return False
        allowed = self.seconds + (self._received / _SLOWEST if phase == "body" else 0)
        return self.loop.time() - self._since > allowed

    def _current_phase(self) -> _Phase:
        """Return what is waited for: the head of a request, its body, or our answer."""
        if self.cycle is None or self.cycle.response_complete:
            return "head"
        return "body" if self.cycle.more_body else "answer"

    def _is_stalled(self) -> bool:
        unsent, now = self.transport.get_write_buffer_size(), self.loop.time()
        if not unsent or unsent < self._unsent - _SLOWEST or not self._unsent:
            self._unsent, self._unsent_since = unsent, now
        return now - self._unsent_since > self.seconds

    def _make_room(self) -> bool:
        """End the connection that has waited longest without a request, other than this one."""
        idle = [
            one
            for one in self.connections
            if isinstance(one, _Connection)
            and one is not self
            and one._current_phase() == "head"
            and not one.transport.is_closing()
        ]
        if not idle:
            return False
        min(idle, key=lambda one: one._since).transport.abort()
        return True

    def _end(self, response: bytes) -> None:
        self.transport.write(response)
        self.transport.close()


def _most_connections() -> int:
    """Return how many connections leave enough open files for everything else."""
    try:
        import resource
    except ImportError:  # Windows
        return 1_000
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(min(soft, 65_536) - 256, 64)
