"""What a page may reach: its own document and the files of its own folder, nothing else."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Route

    from uiproof.browser.source import PageSource

# A name that can never be registered (RFC 2606), over plain HTTP: an insecure context has no
# service workers, no sensors and no clipboard.
HOST = "page.invalid"
PAGE_URL = f"http://{HOST}/index.html"

MAX_ASSET_BYTES = 32 * 1024 * 1024

# The document may run its scripts, but opens no windows, shows no dialogs, starts no downloads and
# submits no forms.
DOCUMENT_POLICY = "sandbox allow-scripts allow-same-origin"


class Guard:
    """Answers every request of one page, or refuses it and remembers that."""

    def __init__(self, source: PageSource) -> None:
        self._source = source
        self._served = False
        self.blocked = 0  # requests to anywhere but the page's own folder
        self.left = False  # the page tried to become another page

    def handle(self, route: Route) -> None:
        """Answer one intercepted request."""
        request = route.request
        url = urlsplit(request.url)
        if request.is_navigation_request() and request.frame.parent_frame is None:
            if self._served:
                self.left = True
                # An aborted navigation leaves the current document in place.
                route.abort("aborted")
                return
            self._served = True
            charset = f"; charset={self._source.charset}" if self._source.charset else ""
            route.fulfill(
                body=self._source.html,
                headers={
                    "content-type": f"text/html{charset}",
                    "content-security-policy": DOCUMENT_POLICY,
                },
            )
            return
        asset = self._asset(url.path) if url.hostname == HOST and url.port is None else None
        if asset is None:
            if url.hostname != HOST:
                self.blocked += 1
            route.abort("failed")
            return
        kind = mimetypes.guess_type(asset.name)[0] or "application/octet-stream"
        route.fulfill(body=asset.read_bytes(), headers={"content-type": kind})

    def _asset(self, url_path: str) -> Path | None:
        """The file behind a URL, if it is a regular file inside the page's folder."""
        folder = self._source.folder
        if folder is None or "\0" in (relative := unquote(url_path).lstrip("/")):
            return None
        try:
            # Resolving follows symbolic links, so a link that leads outside is outside.
            path = (folder / relative).resolve(strict=True)
            if not path.is_file() or not path.is_relative_to(folder.resolve()):
                return None
            if path in self._source.withheld:
                return None
            if self._source.only is not None and relative not in self._source.only:
                return None
            return path if path.stat().st_size <= MAX_ASSET_BYTES else None
        except (OSError, ValueError):
            return None
