"""Starting the studio: listen, say where, serve until Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from uiproof.errors import MissingDependencyError, UsageError
from uiproof.studio.store import Store

STORE_NAME = "studio.sqlite3"


def open_store(runs: Path, store: Path | None = None) -> Store:
    """The studio's file: the one that is named, or the one in the folder of runs."""
    return Store(store if store is not None else runs / STORE_NAME)


def serve_studio(
    runs: Path,
    *,
    store: Path | None = None,
    datasets: Sequence[Path] = (),
    annotators: Iterable[str] = (),
    host: str = "127.0.0.1",
    port: int = 8710,
    allowed_hosts: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> None:
    """Serve the studio until it is interrupted; `say` gets the addresses to open.

    Port 0 takes a free one. Annotators that are named get an address of their own, which can label
    but not see results.
    """
    try:
        import uvicorn

        from uiproof.studio.app import Studio, make_app
    except ImportError as error:
        raise MissingDependencyError(
            f"The studio needs {error.name}.", remedy="pip install 'uiproof[studio]'"
        ) from error
    opened = open_store(runs, store)
    people = [opened.add_annotator(name) for name in annotators]
    studio = Studio(runs, opened, tuple(datasets), host, tuple(allowed_hosts))
    listener = _listen(host, port)
    shown = f"http://{_shown(host)}:{listener.getsockname()[1]}"
    say(f"Studio: {shown}/?token={studio.gate.owner_token}")
    for person in people:
        say(f"{person.name}: {shown}/tasks?token={person.token}")
    config = uvicorn.Config(
        make_app(studio), log_level="warning", access_log=False, server_header=False
    )
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        opened.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()  # whoever opens the address at once waits, instead of being refused
    except OSError as error:
        listener.close()
        raise UsageError(
            f"The studio cannot listen on {host}:{port}: {error.strerror}.",
            remedy="Name another --port; 0 takes a free one.",
        ) from error
    return listener


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::", ""):  # every address; this one works here
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
