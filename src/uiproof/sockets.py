"""Sockets, addresses and host names of servers."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from uiproof.errors import UsageError

_BACKLOG = 512
_EVERYWHERE = ("0.0.0.0", "::", "")  # every address of this machine
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def listen(host: str, port: int, *, who: str) -> socket.socket:
    """Return a listening socket with a long backlog."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        remedy = "Name another --port; 0 takes a free one."
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            remedy = "Name an address of this machine with --host, or 0.0.0.0 for all of them."
        raise UsageError(
            f"{who} cannot listen on {host}:{port}: {error.strerror}.", remedy=remedy
        ) from error
    return listener


def address(host: str, listener: socket.socket) -> str:
    """Return the URL to open on this machine."""
    if host in _EVERYWHERE:
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


@dataclass(frozen=True, slots=True)
class HostNames:
    """The names that requests may call a server by, which keeps DNS rebinding out.

    A web site can point its own name at this machine, and its pages then count as being of the same
    origin as our server. Their requests name that site in `Host`, which no script can change. Where
    a server listens on every address, any IP address is fine too: no site can take one over.
    """

    names: frozenset[str]  # in lower case, without ports
    any_address: bool = False

    @classmethod
    def of(cls, host: str, allowed: Iterable[str] = ()) -> HostNames:
        """Return the names of a server that listens on `host`."""
        names = {*_LOOPBACK, *(name.lower() for name in allowed)}
        if host in _EVERYWHERE:
            return cls(frozenset({*names, socket.gethostname().lower()}), any_address=True)
        return cls(frozenset({*names, f"[{host}]" if ":" in host else host.lower()}))

    def know(self, header: str) -> bool:
        """Return whether a `Host` header names this server."""
        name, bracket, port = header.lower().partition("]" if header.startswith("[") else ":")
        if header.startswith("["):
            name, port = name + bracket, port.removeprefix(":")
        if port and not (port.isascii() and port.isdecimal()):
            return False
        return name in self.names or (self.any_address and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
