"""Sockets as the HTTP library below the SDKs uses them, at less than half the processor time.

Its own way goes through several layers and asks the system for much more than needed: to send the
head and the body of a request apart, and to start and stop listening for each block of an answer.
Only connecting has a time limit here: whoever asks has one for the whole of an attempt.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable
from typing import Any, cast

_BUFFER = 2**18  # of what has come in and nobody has read yet
_WORTH_SENDING = 2**16
_NEXT_ADDRESS_SECONDS = 0.25  # of a host with several, when the first does not answer


class Network:
    """Opens connections; a network backend of httpcore."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002 - not asked for here
        socket_options: Iterable[Any] | None = None,
    ) -> Connection:
        """A connection to a port; raises `OSError`, of which a `TimeoutError` is one."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(timeout):
            _, connection = await loop.create_connection(
                Connection, host, port, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS
            )
        connection.set_options(socket_options or ())
        return connection


class Connection(asyncio.Protocol):
    """A connection on which a request is written, then its answer is read; a stream of httpcore."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._received = bytearray()
        self._ended = False  # nothing more will come
        self._news: asyncio.Future[None] | None = None
        self._unsent: list[bytes] = []
        self._may_send = asyncio.Event()
        self._may_send.set()

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Send this, at the latest when something is read. What goes wrong shows in reading."""
        self._unsent.append(buffer)
        if len(buffer) >= _WORTH_SENDING:
            await self._send()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """What has come in; nothing at the end."""
        if self._unsent:
            await self._send()
        if not self._received and not self._ended:
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        data = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if not self._received and not self._ended:
            self._transport.resume_reading()
        return data

    async def aclose(self) -> None:
        """Close it at once, whatever is still to be sent."""
        self._transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> Connection:
        """Go on encrypted; raises `OSError` where the other side cannot be trusted."""
        try:
            transport = await asyncio.get_running_loop().start_tls(
                self._transport,
                self,
                ssl_context,
                server_hostname=server_hostname,
                ssl_handshake_timeout=timeout,
            )
        except BaseException:
            self._transport.abort()
            raise
        if transport is None:
            raise ConnectionResetError("The connection was closed.")
        self._transport = transport
        return self

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks about connections."""
        if info == "is_readable":  # between requests: whether it is of no more use
            return self._ended or bool(self._received) or self._transport.is_closing()
        return self._transport.get_extra_info("ssl_object") if info == "ssl_object" else None

    def set_options(self, options: Iterable[Any]) -> None:
        """Set options of the socket."""
        opened: socket.socket = self._transport.get_extra_info("socket")
        for option in options:
            opened.setsockopt(*option)

    async def _send(self) -> None:
        unsent, self._unsent = self._unsent, []
        if not self._transport.is_closing():
            self._transport.write(b"".join(unsent))
            await self._may_send.wait()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Something has come in."""
        self._received += data
        if len(self._received) > _BUFFER:
            self._transport.pause_reading()
        self._tell()

    def eof_received(self) -> None:
        """The other side sends nothing more."""
        self._end()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - the end is enough
        """It is closed, by whomever."""
        self._end()

    def pause_writing(self) -> None:
        """Too much is on its way."""
        self._may_send.clear()

    def resume_writing(self) -> None:
        """There is room again."""
        self._may_send.set()

    def _end(self) -> None:
        self._ended = True
        self._may_send.set()
        self._tell()

    def _tell(self) -> None:
        if self._news and not self._news.done():
            self._news.set_result(None)
