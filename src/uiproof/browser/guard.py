"""What a page may reach: its own document and the files of its own folder, nothing else."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import SplitResult, quote, unquote, urlsplit

from uiproof.browser.source import PageSource

# Pictures run on clocks of their own: elements and properties that move an SVG lose their names.
_MOVEMENT = re.compile(rb"(?<=<)(?=animate|set\b)|(?<![<-])\b(?=animation)", re.IGNORECASE)

MAX_ASSET_BYTES = 32 * 1024 * 1024

# The document may run its scripts, but opens no windows, shows no dialogs, starts no downloads and
# submits no forms; and it has no workers, which would have a clock of their own.
DOCUMENT_POLICY = "sandbox allow-scripts allow-same-origin; worker-src 'none'"
# A page that is acted on may also submit forms, and begin downloads that are cancelled; where both
# would go is decided here.
STAGE_POLICY = (
    "sandbox allow-scripts allow-same-origin allow-forms allow-downloads; worker-src 'none'"
)
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
MAX_DOCUMENTS = 20  # that one page may become one after the other
MAX_ADDRESS = 300  # characters of an address that are worth keeping
LAST_MODIFIED = "Wed, 01 Jan 2025 00:00:00 GMT"


class Request(Protocol):
    """What a page asks for, and the two ways to answer."""

    @property
    def url(self) -> str:
        """The whole address."""

    @property
    def method(self) -> str:
        """`GET`, `POST`, …"""

    @property
    def is_for_the_page(self) -> bool:
        """Whether the page itself, not a frame or a file of it, is to become what it asks for."""

    def fulfill(self, body: bytes, headers: Mapping[str, str], status: int = 200) -> None:
        """Answer with content."""

    def refuse(self, *, keep_page: bool = False) -> None:
        """Answer with nothing; `keep_page` leaves the current document in place."""


class Guard:
    """Answers every request of one page, or refuses it and remembers that.

    Pages that share a tab are numbered, so that none gets the files of another from a cache.
    """

    policy = DOCUMENT_POLICY

    def __init__(self, source: PageSource, *, number: int | None = None) -> None:
        self._source = source
        self._origin = origin_of(source)
        self._root = "/" if number is None else f"/{number}/"
        self.page_url = f"{self._origin}{self._root}index.html"
        self._served = False
        self.blocked = 0  # requests to anywhere but the page's own folder
        self.missing = 0  # files that the page's own folder does not have
        self.left = False  # the page tried to become another page

    def handle(self, request: Request) -> None:
        """Answer one intercepted request."""
        url = urlsplit(request.url)
        if request.is_for_the_page:
            self._navigate(request)
        elif not self._is_own(url):
            self.blocked += 1
            request.refuse()
        elif (found := self._asset(url.path)) is None:
            self.missing += 0 if url.path.endswith("/favicon.ico") else 1
            request.refuse()
        else:
            name, content = found
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            if kind == "image/svg+xml":
                content = _MOVEMENT.sub(b"x-", content)
            request.fulfill(content, self._headers(kind))

    def _navigate(self, request: Request) -> None:
        """The page wants to be shown, or to become another one."""
        if self._served:
            self.left = True
            request.refuse(keep_page=True)
            return
        self._served = True
        self._show(request, self._source)

    def _show(self, request: Request, source: PageSource) -> None:
        """Answer with a document."""
        charset = f"; charset={source.charset}" if source.charset else ""
        request.fulfill(source.html, self._headers(f"text/html{charset}"))

    def _asset(self, url_path: str) -> tuple[str, bytes] | None:
        """Name and content of the regular file inside the page's folder that a URL means."""
        path = self._source.own_file(unquote(url_path.removeprefix(self._root)).lstrip("/"))
        try:
            if path is None or path.stat().st_size > MAX_ASSET_BYTES:
                return None
            return path.name, path.read_bytes()
        except OSError:
            return None

    def _is_own(self, url: SplitResult) -> bool:
        return f"{url.scheme}://{url.netloc}" == self._origin

    def _headers(self, content_type: str) -> dict[str, str]:
        """What goes with every file, since any of them may be shown as a document in a frame."""
        return {
            "content-type": content_type,
            "content-security-policy": self.policy,
            "last-modified": LAST_MODIFIED,
            "cache-control": "no-store",
        }


def origin_of(source: PageSource) -> str:
    """Return the made-up origin of a page: an ordinary one, always the same for the same page.

    It follows from the page's text, so no page can be written that knows its own and behaves
    otherwise there.
    """
    digest = hashlib.sha256(b"origin:" + source.html).digest()
    syllables = (_CONSONANTS[byte % 14] + _VOWELS[byte // 14 % 5] for byte in digest[:8])
    return f"https://www.{''.join(syllables)}.com"


class StageGuard(Guard):
    """Lets a page become another page of its own folder, and notes where it goes."""

    policy = STAGE_POLICY

    def __init__(self, source: PageSource) -> None:
        super().__init__(source)
        if source.path is not None:  # its links to itself are links to this name
            self.page_url = f"{self._origin}{self._root}{quote(source.path.name)}"
        self.navigations: list[str] = []  # where the page went or wanted to go since last asked
        self.documents = 0  # how many were shown
        self.answered = 0  # requests
        self.awaited = False  # whether a document is on its way
        self.stopped = False  # whether scripts were switched off
        self._shown = source

    def handle(self, request: Request) -> None:
        """Answer one intercepted request."""
        self.answered += 1
        super().handle(request)

    def short(self, address: str) -> str:
        """An address as the page would write it: relative where it is in the page's own folder."""
        return address.removeprefix(f"{self._origin}{self._root}")[:MAX_ADDRESS] or "./"

    def _navigate(self, request: Request) -> None:
        found = self._document(request.url) if request.method == "GET" else None
        if self.documents:
            sent = "" if request.method == "GET" else f"{request.method} "
            self.navigations.append(sent + self.short(request.url))
        if found is None or self.documents >= MAX_DOCUMENTS:
            self._refuse(request)
            return
        self.documents += 1
        self.awaited = True
        if isinstance(found, PageSource):
            self._shown = found
            self._show(request, found)
        else:
            name, content = found
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            request.fulfill(content, self._headers(kind))

    def _refuse(self, request: Request) -> None:
        """Keep the page; one that leaves before it is loaded is shown once more without scripts.

        To go elsewhere stops the loading also if it is refused, and what remains cannot be shown.
        """
        self.left = True
        if self.awaited and not self.stopped:
            self.stopped = True
            self.policy = f"{STAGE_POLICY}; script-src 'none'"
            self._show(request, self._shown)
        else:
            self.awaited = False
            request.refuse(keep_page=True)

    def _document(self, address: str) -> PageSource | tuple[str, bytes] | None:
        """The page of the own folder that an address means, or another file of it."""
        url = urlsplit(address)
        if not self._is_own(url):
            return None
        if url.path == urlsplit(self.page_url).path:
            return self._source
        for path in (url.path, f"{url.path.rstrip('/')}/index.html"):
            if found := self._asset(path):
                if found[0].lower().endswith((".html", ".htm", ".xhtml")):
                    return PageSource.from_bytes(found[1])
                return found
        return None
