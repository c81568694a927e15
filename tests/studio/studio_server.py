"""A real studio on a free port, in a thread of the test process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import uvicorn

from uiproof.studio.app import Studio, make_app
from uiproof.studio.store import Store


@dataclass(frozen=True)
class RunningStudio:
    studio: Studio
    url: str
    # What is closed before the server ends: nothing may ask it for anything then.
    closing: list[Callable[[], object]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # the paths of all requests so far

    @property
    def store(self) -> Store:
        return self.studio.store

    @property
    def owner_url(self) -> str:
        return f"{self.url}/?token={self.studio.access.owner_token}"

    def first_name(self) -> list[dict[str, str]]:
        """The cookie with which the owner labels under the first name, if there is one."""
        port = self.url.rpartition(":")[2]
        people = self.store.annotators()[:1]
        return [{"name": f"uiproof_{port}_name", "value": str(one.id)} for one in people]

    def client(self, token: str | None = None) -> httpx.Client:
        """Somebody who has opened the studio; the owner labels under the first name there is."""
        given = token or self.studio.access.owner_token
        visitor = self.studio.access.visitor(given)
        assert visitor is not None
        headers = {"X-CSRF-Token": visitor.csrf(self.studio.access.secret)}
        # Reading certificates takes longer than most tests, and nothing is encrypted here.
        client = httpx.Client(
            base_url=self.url, headers=headers, follow_redirects=True, timeout=60, verify=False
        )
        self.closing.append(client.close)
        for cookie in self.first_name() if visitor.owner else ():
            client.cookies.set(**cookie)
        client.get("/tasks", params={"token": given})
        return client


@contextmanager
def running_studio(runs: Path, datasets: tuple[Path, ...] = ()) -> Iterator[RunningStudio]:
    runs.mkdir(parents=True, exist_ok=True)
    studio = Studio(runs, Store(runs / "studio.sqlite3"), datasets)
    app = make_app(studio)
    asked: list[str] = []

    async def noting(scope, receive, send):
        if scope["type"] != "lifespan":
            asked.append(scope["path"])
        await app(scope, receive, send)

    config = uvicorn.Config(noting, port=0, log_level="error", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    running = RunningStudio(studio, f"http://127.0.0.1:{port}", asked=asked)
    try:
        yield running
    finally:
        while running.closing:
            running.closing.pop()()
        server.should_exit = True
        thread.join(20)
        studio.store.close()
