"""Start the service: listen, print the address, serve until a signal, drain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from uiproof.errors import MissingDependencyError, UsageError
from uiproof.sockets import HostNames, address, listen

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve_scores(
    *,
    host: str = "127.0.0.1",
    port: int = 8720,
    workers: int | None = None,
    queue: int = 256,
    deadline: float = 120.0,
    drain: float = 60.0,
    datasets: Iterable[str] = (),
    token: str | None = None,
    open_to_all: bool = False,
    allowed_hosts: Sequence[str] = (),
    client_timeout: float = 20.0,
    judge_options: Mapping[str, Any] | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve scores until SIGTERM or Ctrl-C; `say` gets the address when it can be asked.

    Port 0 takes a free one. `queue` limits the pages that wait, `deadline` the seconds for a page,
    waiting included; it is the default and the maximum. `datasets` are `NAME=PATH`. An address
    that others can reach needs a `token`, unless it is `open_to_all`. After the first signal,
    accepted requests are finished for up to `drain` seconds; the second exits at once. The `Host`
    of requests must be a loopback name, `host` or one of `allowed_hosts`. A client that takes
    longer than `client_timeout` seconds to send a request or read its response is disconnected.
    `judge_options` are those of benchmarks, such as `viewport`.
    """
    if host not in _LOOPBACK and not token and not open_to_all:
        raise UsageError(
            f"{host} is public: set --token.",
            remedy="Or set UIPROOF_SERVE_TOKEN, or allow anyone with --no-token.",
        )
    try:
        from uiproof.serve.app import Server, make_app
        from uiproof.serve.queue import Limits, Metrics, ScoreQueue, archive_of, open_datasets
    except ImportError as error:
        raise MissingDependencyError(
            f"The service needs {error.name}.", remedy="pip install 'uiproof[serve]'"
        ) from error
    from uiproof.browser.chromium import find_chromium
    from uiproof.scoring.pool import WarmPool

    find_chromium()  # fail now, not with the first request
    opened = open_datasets(datasets)
    options = {**(judge_options or {})}
    if "web" not in options and (archive := archive_of(opened.values())) is not None:
        options["web"] = archive
    limits = Limits(queue, deadline)
    listener = listen(host, port, who="The service")
    # No request waits longer than the deadline, so no case needs to be scored for longer.
    pool = WarmPool(workers=workers, case_timeout=limits.deadline, judge_options=options)
    taking = ScoreQueue(pool, limits, opened, Metrics(pool))

    async def serve() -> None:
        app = make_app(taking, token or None, HostNames.of(host, allowed_hosts))
        server = Server(app, taking, pool, drain, client_timeout)
        try:
            await server.serve_on(listener, lambda: say(f"Scores: {address(host, listener)}"))
        finally:
            await pool.close()

    asyncio.run(serve())
