"""The studio as a server: open its file, listen, print the addresses, serve until Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from uiproof.errors import MissingDependencyError, UsageError
from uiproof.remote.mirror import fetch, local
from uiproof.remote.store import here, is_url
from uiproof.sockets import address, listen
from uiproof.studio.store import Store

STORE_NAME = "studio.sqlite3"


def open_store(runs: Path, store: Path | None = None) -> Store:
    """Open the studio's file: the named one, or the one in the folder of runs."""
    return Store(store if store is not None else runs / STORE_NAME)


def runs_folder(runs: Path | str, store: Path | None = None) -> Path:
    """Return the folder with runs; those at a URL are fetched.

    Raises `UsageError` for a URL without a `store`: labels need a file on this machine.
    """
    if not isinstance(runs, str) or not is_url(runs):
        return Path(runs)
    if here(runs) is None and store is None:
        raise UsageError(
            f"Labels cannot be kept at {runs}.",
            remedy="Name a local file: --store studio.sqlite3",
        )
    return fetch(runs)


def serve_studio(
    runs: Path | str,
    *,
    store: Path | None = None,
    datasets: Sequence[Path | str] = (),
    annotators: Iterable[str] = (),
    host: str = "127.0.0.1",
    port: int = 8710,
    allowed_hosts: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> None:
    """Serve the studio until it is interrupted; `say` gets the addresses to open.

    `runs` is a folder, or a URL with a local `store`. Runs and data sets at URLs are fetched once,
    at the start. Port 0 takes a free one. Each annotator gets an address that can label but not see
    results.
    """
    try:
        import uvicorn

        from uiproof.http_server import server_config
        from uiproof.studio.app import Studio, make_app
    except ImportError as error:
        raise MissingDependencyError(
            f"The studio needs {error.name}.", remedy="pip install 'uiproof[studio]'"
        ) from error
    folder = runs_folder(runs, store)
    opened = open_store(folder, store)
    people = [opened.add_annotator(name) for name in annotators]
    sets = tuple(map(local, datasets))
    studio = Studio(folder, opened, sets, host, tuple(allowed_hosts))
    listener = listen(host, port, who="The studio")
    shown = address(host, listener)
    say(f"Studio: {shown}/?token={studio.access.owner_token}")
    for person in people:
        say(f"{person.name}: {shown}/tasks?token={person.token}")
    try:
        uvicorn.Server(server_config(make_app(studio))).run(sockets=[listener])
    finally:
        opened.close()
