"""What a page may reach: its own document and the files of its own folder, nothing else."""

from __future__ import annotations

import mimetypes
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Route

    from uiproof.browser.source import PageSource

# A name that can never be registered (RFC 2606), over plain HTTP: an insecure context has no
# service workers, no sensors and no clipboard.
HOST = "page.invalid"

# Pictures run on clocks of their own: elements and properties that move an SVG lose their names.
_MOVEMENT = re.compile(rb"(?<=<)(?=animate|set\b)|(?<![<-])\b(?=animation)", re.IGNORECASE)

MAX_ASSET_BYTES = 32 * 1024 * 1024

# The document may run its scripts, but opens no windows, shows no dialogs, starts no downloads and
# submits no forms; and it has no workers, which would have a clock of their own.
DOCUMENT_POLICY = "sandbox allow-scripts allow-same-origin; worker-src 'none'"
LAST_MODIFIED = "Wed, 01 Jan 2025 00:00:00 GMT"


class Guard:
    """Answers every request of one page, or refuses it and remembers that."""

    def __init__(self, source: PageSource, *, number: int = 0) -> None:
        self._source = source
        self._root = f"/{number}/"
        self.page_url = f"http://{HOST}{self._root}index.html"
        self._served = False
        self.blocked = 0  # requests to anywhere but the page's own folder
        self.missing = 0  # files that the page's own folder does not have
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
            route.fulfill(body=self._source.html, headers=_headers(f"text/html{charset}"))
            return
        if f"{url.scheme}://{url.netloc}" != f"http://{HOST}":
            self.blocked += 1
            route.abort("failed")
        elif (found := self._asset(url.path)) is None:
            self.missing += 0 if url.path.endswith("/favicon.ico") else 1
            route.abort("failed")
        else:
            name, content = found
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            if kind == "image/svg+xml":
                content = _MOVEMENT.sub(b"x-", content)
            route.fulfill(body=content, headers=_headers(kind))

    def _asset(self, url_path: str) -> tuple[str, bytes] | None:
        """Name and content of the regular file inside the page's folder that a URL means."""
        folder = self._source.folder
        relative = unquote(url_path.removeprefix(self._root)).lstrip("/")
        if folder is None or "\0" in relative:
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
            if path.stat().st_size > MAX_ASSET_BYTES:
                return None
            return path.name, path.read_bytes()
        except (OSError, ValueError):
            return None


def _headers(content_type: str) -> dict[str, str]:
    """What goes with every file, since any of them may be shown as a document in a frame."""
    return {
        "content-type": content_type,
        "content-security-policy": DOCUMENT_POLICY,
        "last-modified": LAST_MODIFIED,
        "cache-control": "no-store",
    }
