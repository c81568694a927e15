"""A live page fetched once into a folder, so that it can be explored without a network.

The browser itself never has one: what the page asks for is fetched here, without cookies, and
handed to it. What came is kept under the name by which the page will ask for it again.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from uiproof.browser.chromium import find_chromium
from uiproof.browser.devtools import BrowserError, NoAnswerError
from uiproof.browser.page import Limits
from uiproof.browser.running import RunningBrowser
from uiproof.browser.tab import Tab
from uiproof.browser.watchdog import Watchdog
from uiproof.errors import DownloadError, InputError

if TYPE_CHECKING:
    import httpx

    from uiproof.browser.guard import Request

_MOST_FILES = 600
_MOST_BYTES = 150_000_000
_MOST_BYTES_EACH = 25_000_000
_SECONDS = 60.0  # for the whole page
_SECONDS_EACH = 20.0
_QUIET_SECONDS = 1.5  # without a request: the page has what it wants
_SITES = "sites"  # the folder for files of other sites
_TEXT = re.compile(r"text/|javascript|json|xml|css")
_ODD = re.compile(r"[^\w\-.~@+]")


def fetch(url: str, folder: Path, *, viewport: tuple[int, int]) -> Path:
    """Load a page as a browser does and keep all that it asked for. Returns its file.

    Only what can be asked for without a body (GET) is fetched; a page that needs a login, or an
    answer that changes, will not come alive again.
    """
    import httpx

    if urlsplit(url).scheme not in {"http", "https"}:
        raise InputError(
            f"{url} is not a web address.", remedy="It begins with https:// or http://."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with httpx.Client(timeout=_SECONDS_EACH, follow_redirects=True) as client:
        mirror = _Mirror(client, url, folder)
        browser = RunningBrowser(find_chromium())
        limits = Limits(viewport=viewport)
        watchdog = Watchdog(browser.pid, limits.memory_mb)
        try:
            mirror.visit(Tab(browser.tools, limits, watchdog))
        finally:
            watchdog.stop()
            browser.close()
    return mirror.finish()


class _Mirror:
    """Fetches what a page asks for and keeps it by name."""

    def __init__(self, client: httpx.Client, url: str, folder: Path) -> None:
        self._client, self._url, self._folder = client, url, folder
        self._began = self._last = time.monotonic()
        self._kept: dict[Path, bytes] = {}
        self._texts: set[Path] = set()
        self._hosts: set[str] = set()
        self._bytes = 0
        self._document: bytes | None = None
        self._why = "it did not answer"

    def visit(self, tab: Tab) -> None:
        """Open the page and wait until it asks for nothing more."""
        tab.handler = self
        try:
            tab.load(self._url, until=self._began + _SECONDS)
        except BrowserError as error:
            if self._document is None:
                raise DownloadError(
                    f"{self._url} could not be fetched: {self._why}.",
                    remedy="Check the address, or save the page and collect from the file.",
                ) from error
        while time.monotonic() - self._last < _QUIET_SECONDS and self._time_left > 0:
            with suppress(NoAnswerError):
                tab.session.wait(lambda: False, until=time.monotonic() + 0.1)

    def handle(self, request: Request) -> None:
        """Answer one request of the page, from the network."""
        import httpx

        self._last = time.monotonic()
        full = len(self._kept) >= _MOST_FILES or self._bytes >= _MOST_BYTES or self._time_left <= 0
        if request.method != "GET" or full or urlsplit(request.url).scheme not in {"http", "https"}:
            request.refuse()
            return
        try:
            reply = self._client.get(request.url, timeout=min(_SECONDS_EACH, self._time_left))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            self._why = str(error) or type(error).__name__
            request.refuse()
            return
        is_page = request.is_for_the_page
        if len(reply.content) > _MOST_BYTES_EACH or (is_page and reply.status_code >= 400):
            self._why = f"the server says {reply.status_code}"
            request.refuse()
            return
        kind = reply.headers.get("content-type", "application/octet-stream")
        if is_page and self._document is None:
            self._document, self._url = reply.content, str(reply.url)
        elif reply.status_code < 400:
            self._keep(request.url, reply.content, text=bool(_TEXT.search(kind)))
        headers = {"content-type": kind, "access-control-allow-origin": "*"}
        request.fulfill(reply.content, headers, reply.status_code)
        self._last = time.monotonic()

    def finish(self) -> Path:
        """Write everything down, addresses of other sites turned into names of files."""
        for path, content in self._kept.items():
            to = self._folder / path
            try:
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(self._localised(content) if path in self._texts else content)
            except (FileExistsError, IsADirectoryError, NotADirectoryError):
                continue  # the site uses one name for a file and for a folder
        page = self._folder / "index.html"
        page.write_bytes(self._localised(self._document or b""))
        return page

    @property
    def _time_left(self) -> float:
        return _SECONDS - (time.monotonic() - self._began)

    def _keep(self, url: str, content: bytes, *, text: bool) -> None:
        self._bytes += len(content)
        here, there = urlsplit(self._url), urlsplit(url)
        names = [_file_name(there.path)]
        if there.netloc != here.netloc:
            self._hosts.add(there.netloc)
            names = [Path(_SITES, _ODD.sub("_", there.netloc), names[0])]
        else:
            # Names relative to the page mean its own folder, which is where the copy will lie.
            beside = urlsplit(urljoin(self._url, ".")).path
            if there.path.startswith(beside) and beside != "/":
                names.append(_file_name(there.path.removeprefix(beside)))
        for name in names:
            self._kept[name] = content
            if text:
                self._texts.add(name)

    def _localised(self, content: bytes) -> bytes:
        own = urlsplit(self._url).netloc
        for host in self._hosts:
            to = f"/{_SITES}/{_ODD.sub('_', host)}/".encode()
            content = re.sub(
                rb"(?:https?:)?(?:\\?/){2}" + re.escape(host.encode()) + rb"/", to, content
            )
        return re.sub(rb"https?://" + re.escape(own.encode()) + rb"(?=/)", b"", content)


def _file_name(path: str) -> Path:
    parts = [
        _ODD.sub("_", part) for part in unquote(path).split("/") if part not in {"", ".", ".."}
    ]
    return Path(*parts) if parts else Path("index")
