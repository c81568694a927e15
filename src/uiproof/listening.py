"""Where a server of ours can be reached: on which socket, and by which address."""

from __future__ import annotations

import errno
import socket

from uiproof.errors import UsageError

_BACKLOG = 512


def listen(host: str, port: int, *, who: str) -> socket.socket:
    """A socket that listens; whoever asks at once waits, instead of being refused."""
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
    """What to open in a browser on this machine."""
    if host in ("0.0.0.0", "::", ""):  # every address; this one works here
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
