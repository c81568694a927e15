"""The requests of a page: its own document, the files of its own folder, and frozen copies."""

from __future__ import annotations

import hashlib
import mimetypes
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

from uiproof.browser.foreign import SVG, WebLog, kind_of, still_svg
from uiproof.browser.source import PageSource

if TYPE_CHECKING:
    from uiproof.browser.devtools import Session
    from uiproof.browser.foreign import Copy, WebCopies

MAX_ASSET_BYTES = 32 * 1024 * 1024

# The document may run its scripts, but opens no windows, shows no dialogs, starts no downloads and
# submits no forms; and it has no workers, which would have a clock of their own. A page on disk may
# use addresses without encryption, which a page with this origin may not: they are upgraded.
_NO_WORKERS = "worker-src 'none'; upgrade-insecure-requests"
DOCUMENT_POLICY = f"sandbox allow-scripts allow-same-origin; {_NO_WORKERS}"
# A page that is acted on may also submit forms and begin downloads: both are intercepted here.
STAGE_POLICY = f"sandbox allow-scripts allow-same-origin allow-forms allow-downloads; {_NO_WORKERS}"
MAX_DOCUMENTS = 20  # that one page may navigate to
MAX_ADDRESS = 300  # characters of an address that are recorded
LAST_MODIFIED = "Tue, 18 Mar 2025 10:24:37 GMT"
_SHARED_SITE = "pages.com"
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


class Request:
    """A request that the browser holds back until it is fulfilled or refused."""

    def __init__(self, session: Session, event: dict[str, Any], *, main_frame: str) -> None:
        self._session, self._event = session, event
        self.url: str = event["request"]["url"]
        self.method: str = event["request"]["method"]
        self.body: str = event["request"].get("postData", "")
        self.kind = kind_of(event["resourceType"], self.url)
        # Whether it would become a document: that of the page itself, or of a frame.
        self.is_document = event["resourceType"] == "Document"
        self.is_for_the_page = self.is_document and event.get("frameId") == main_frame

    def fulfill(self, body: bytes, headers: Mapping[str, str], status: int = 200) -> None:
        """Answer with content."""
        length = {"content-length": str(len(body))}
        self._fulfill(b64encode(body).decode(), {**headers, **length}, status)

    def fulfill_copy(self, copy: Copy, headers: Mapping[str, str]) -> None:
        """Answer with a copy of the frozen web, which every origin may use."""
        answer = copy.answer
        shared = {"access-control-allow-origin": "*", **answer.headers}
        length = {"content-length": str(len(answer.body))}
        self._fulfill(copy.body, {**shared, **headers, **length}, answer.status)

    def _fulfill(self, body: str, headers: Mapping[str, str], status: int) -> None:
        answer = {**headers, **self._cors_headers()}
        self._session.post(
            "Fetch.fulfillRequest",
            {
                "requestId": self._event["requestId"],
                "responseCode": status,
                "responseHeaders": [{"name": name, "value": answer[name]} for name in answer],
                "body": body,
            },
        )

    def refuse(self, *, keep_page: bool = False) -> None:
        """Fail the request; `keep_page` leaves the current document in place."""
        reason = "Aborted" if keep_page else "Failed"
        refusal = {"requestId": self._event["requestId"], "errorReason": reason}
        self._session.post("Fetch.failRequest", refusal)

    def _cors_headers(self) -> Mapping[str, str]:
        """Return what lets sandboxed frames, which have no origin, use the files of the page."""
        asking = self._event["request"]["headers"]
        origin = asking.get("Origin") or asking.get("origin")
        own = urlsplit(self.url)
        if not origin or origin == f"{own.scheme}://{own.netloc}":
            return {}
        return {"access-control-allow-origin": origin, "access-control-allow-credentials": "true"}


class Guard:
    """Answers the requests of one page, and writes down those that it refuses.

    Own files come from the folder of the page, those of other hosts from the frozen web. Pages that
    share a tab are numbered, so that none gets the files of another from a cache.
    """

    policy = DOCUMENT_POLICY

    def __init__(
        self, source: PageSource, web: WebCopies | None = None, *, number: int | None = None
    ) -> None:
        self._source = source
        self._web = web
        self._origin = origin_of(source, shared=number is not None)
        self._root = "/" if number is None else f"/{number}/"
        self.page_url = f"{self._origin}{self._root}index.html"
        self._served = False
        self.log = WebLog()  # of requests to anywhere but the page's own folder
        self.missing = 0  # files that the page's own folder does not have
        self.left = False  # the page tried to become another page

    def handle(self, request: Request) -> None:
        """Answer one intercepted request."""
        url = urlsplit(request.url)
        if request.is_for_the_page:
            self._navigate(request)
        elif not self._is_shown:
            request.refuse()  # of the page that the tab has shown before
        elif not self._is_own(url):
            self._answer_foreign(request)
        elif (found := self._asset(url.path)) is None:
            self.missing += 0 if url.path.endswith("/favicon.ico") else 1
            request.refuse()
        else:
            self._fulfill(request, *found)

    def flags(self) -> set[str]:
        """Return the flags for what was refused so far."""
        raised = {"navigation_blocked": self.left, "files_missing": self.missing}
        return {flag for flag, is_raised in raised.items() if is_raised} | self.log.flags()

    @property
    def _is_shown(self) -> bool:
        """Return whether the document of this page was served."""
        return self._served

    def _answer_foreign(self, request: Request) -> None:
        """Answer from the frozen web; documents, and anything that sends something, are refused."""
        if request.is_document or request.method != "GET" or not _is_plain(request.url):
            self.log.add("refused", request.kind, request.url)
            request.refuse()
            return
        copy = None if self._web is None else self._web.get(request.url)
        if copy is None:
            self.log.add("missing", request.kind, request.url)
            request.refuse()
            return
        answer = copy.answer
        self.log.add(
            answer.source if answer.status < 400 else "missing",
            request.kind,
            request.url,
            answer.note,
        )
        request.fulfill_copy(copy, self._headers(answer.content_type))

    def _navigate(self, request: Request) -> None:
        """Serve the page once; refuse to let it become another one."""
        if self._served:
            self.left = True
            request.refuse(keep_page=True)
            return
        self._served = True
        self._show(request, self._source)

    def _show(self, request: Request, source: PageSource) -> None:
        charset = f"; charset={source.charset}" if source.charset else ""
        page = source.html
        if self._web is not None and b"integrity" in page.lower():
            page, mismatch = self._web.loadable(page)
            if mismatch:
                self.log.note_mismatch()
        request.fulfill(page, self._headers(f"text/html{charset}"))

    def _fulfill(self, request: Request, name: str, content: bytes) -> None:
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if kind == SVG and not request.is_for_the_page:
            content = still_svg(content)
        request.fulfill(content, self._headers(kind))

    def _asset(self, url_path: str) -> tuple[str, bytes] | None:
        """Return name and content of the regular file inside the page's folder, if it has one."""
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
        """Return the headers of every file, since a frame may show any of them as a document."""
        return {
            "content-type": content_type,
            "content-security-policy": self.policy,
            "last-modified": LAST_MODIFIED,
            "cache-control": "no-store",
        }


def origin_of(source: PageSource, *, shared: bool = False) -> str:
    """Return the made-up origin of a page, which looks ordinary and is always the same.

    It is a digest of the page's text, or of the reference that the page is compared with, so no
    page can be written that knows its own origin and behaves differently there. Random numbers
    follow from it. Pages that share a tab are hosts of one site: the browser starts a process for
    every new site.
    """
    digest = hashlib.sha256(b"origin:" + (source.seed or source.html)).digest()
    syllables = (_CONSONANTS[byte % 14] + _VOWELS[byte // 14 % 5] for byte in digest[:8])
    name = "".join(syllables)
    return f"https://{name}.{_SHARED_SITE}" if shared else f"https://www.{name}.com"


def _is_plain(address: str) -> bool:
    """Return whether an address has neither credentials nor a port: none that pages load has."""
    try:
        url = urlsplit(address)
        port = url.port
    except ValueError:
        return False
    return url.scheme == "https" and port in (None, 443) and "@" not in url.netloc


class StageGuard(Guard):
    """Lets a page navigate within its own folder, and records where it goes."""

    policy = STAGE_POLICY

    def __init__(self, source: PageSource, web: WebCopies | None = None) -> None:
        super().__init__(source, web)
        if source.path is not None:  # its links to itself are links to this name
            self.page_url = f"{self._origin}{self._root}{quote(source.path.name)}"
        self.navigations: list[str] = []  # addresses that the page went to or wanted to go to
        self.documents = 0  # that were shown
        self.answered = 0  # requests
        self.loading = False  # whether a document is on its way
        self.scripts_off = False
        self._shown = source

    def handle(self, request: Request) -> None:
        """Answer one intercepted request."""
        self.answered += 1
        super().handle(request)

    def flags(self) -> set[str]:
        """Return the flags for what was refused so far."""
        return super().flags() | ({"scripts_off"} if self.scripts_off else set())

    def short(self, address: str) -> str:
        """Return an address as the page would write it: relative within the page's own folder."""
        return address.removeprefix(f"{self._origin}{self._root}")[:MAX_ADDRESS] or "./"

    @property
    def _is_shown(self) -> bool:
        return self.documents > 0

    def _navigate(self, request: Request) -> None:
        found = self._document(request.url) if request.method == "GET" else None
        if self.documents:
            method = "" if request.method == "GET" else f"{request.method} "
            self.navigations.append(method + self.short(request.url))
        if found is None or self.documents >= MAX_DOCUMENTS:
            self._refuse(request)
            return
        self.documents += 1
        self.loading = True
        if isinstance(found, PageSource):
            self._shown = found
            self._show(request, found)
        else:
            self._fulfill(request, *found)

    def _refuse(self, request: Request) -> None:
        """Keep the page; one that leaves before it is loaded is shown again without scripts.

        A navigation stops the loading even if it is refused, and the rest cannot be shown.
        """
        self.left = True
        if self.loading and not self.scripts_off:
            self.scripts_off = True
            self.policy = f"{STAGE_POLICY}; script-src 'none'"
            self._show(request, self._shown)
        else:
            self.loading = False
            request.refuse(keep_page=True)

    def _document(self, address: str) -> PageSource | tuple[str, bytes] | None:
        """Return the page, or another file, of the own folder that an address means."""
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
