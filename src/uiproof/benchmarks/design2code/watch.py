"""`uiproof diff --watch`: compares again when a file changes, and shows it in a browser page."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from uiproof.benchmarks.design2code.diff_cases import DiffCase, Pair, compare, headline
from uiproof.benchmarks.design2code.diff_page import diff_page, page_data
from uiproof.sockets import HostNames, listen

if TYPE_CHECKING:
    from uiproof.benchmarks.design2code.api import Differ

_HOST = "127.0.0.1"
_MOST_FILES = 5_000  # beside a page that are looked at
_WAIT = 20.0  # seconds that a request waits for the next state
_IGNORED = frozenset({"node_modules", "__pycache__"})


class Watch:
    """The state that the page shows: the latest comparison, and the score of each so far."""

    def __init__(self, differ: Differ, pair: Pair) -> None:
        self._differ, self._pair = differ, pair
        self._changed = threading.Condition()
        self._data: dict[str, Any] = {}
        self._course: list[float | None] = []
        self._seen: object = None

    def run(self, report: Callable[[DiffCase], None], *, every: float = 0.3) -> None:
        """Compare now and after every change, until interrupted."""
        while True:
            case = self.step()
            if case is not None:
                report(case)
            time.sleep(every)

    def step(self) -> DiffCase | None:
        """Compare if a file has changed since the last time; None if none has."""
        now = self._stamps()
        if now == self._seen:
            return None
        self._seen = now
        case = compare(self._differ, self._pair)
        score = None if case.found is None else headline(case.found.scores)[1]
        with self._changed:
            self._course.append(score)
            data = page_data([case])
            if case.error is not None and self._data:  # the last pictures are better than none
                shown = self._data["cases"][0]
                data["cases"] = [{**shown, "error": str(case.error)}]
            self._data = {
                **data,
                "live": "/state",
                "version": len(self._course),
                "course": self._course[-200:],
            }
            self._changed.notify_all()
        return case

    def page(self) -> str:
        """Return the page with the latest state."""
        with self._changed:
            data = dict(self._data)
        return diff_page(data, f"Watching {self._pair.id}")

    def state(self, version: int) -> dict[str, Any] | None:
        """Return the state after a version; None where there is none for some time."""
        with self._changed:
            self._changed.wait_for(lambda: self._data.get("version", 0) != version, _WAIT)
            return None if self._data.get("version", 0) == version else dict(self._data)

    @contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        """Serve the page on this machine alone; yields its address."""
        listener = listen(_HOST, port, who="uiproof diff --watch")
        server = ThreadingHTTPServer((_HOST, 0), _handler(self), bind_and_activate=False)
        server.socket.close()
        server.socket = listener
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, name="watch", daemon=True)
        thread.start()
        try:
            yield f"http://{_HOST}:{listener.getsockname()[1]}/"
        finally:
            server.shutdown()
            server.socket.close()
            thread.join()

    def _stamps(self) -> object:
        """Return a value that changes with any file of the pair or beside the page."""
        assert isinstance(self._pair.generated, Path)
        files = [self._pair.reference, *_beside(self._pair.generated)]
        return [(str(file), _stamp(file)) for file in files]


def _beside(page: Path) -> list[Path]:
    found = [page]
    for folder, folders, names in os.walk(page.resolve().parent):
        folders[:] = sorted(one for one in folders if one not in _IGNORED and one[:1] != ".")
        found += [Path(folder, name) for name in sorted(names) if name[:1] != "."]
        if len(found) > _MOST_FILES:
            break
    return found[:_MOST_FILES]


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _handler(watch: Watch) -> type[BaseHTTPRequestHandler]:
    names = HostNames.of(_HOST)

    class Handler(BaseHTTPRequestHandler):
        """Answers the browser page; other sites cannot ask, as they do not know this host."""

        timeout = 60

        def do_GET(self) -> None:
            """Return the page, or its next state."""
            parts = urlsplit(self.path)
            if not names.know(self.headers.get("Host", "")):
                self._send(403, "text/plain", b"Unknown host.\n")
            elif parts.path == "/":
                self._send(200, "text/html; charset=utf-8", watch.page().encode())
            elif parts.path == "/state":
                known = parse_qs(parts.query).get("version", ["0"])[0][:9]
                state = watch.state(int(known) if known.isdecimal() else 0)
                body = b"" if state is None else json.dumps(state).encode()
                self._send(204 if state is None else 200, "application/json", body)
            else:
                self._send(404, "text/plain", b"There is no such page.\n")

        def _send(self, status: int, kind: str, body: bytes) -> None:
            try:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Cache-Control", "no-store")
                self.send_header("X-Content-Type-Options", "nosniff")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):  # the page was closed
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return Handler
