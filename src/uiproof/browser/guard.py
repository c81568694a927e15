"""Request interception: a page gets its document, files of its folder and frozen copies."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from base64 import b64encode
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

from uiproof.browser.foreign import SVG, WebLog, kind_of, still_svg, without_wrong_hashes
from uiproof.browser.source import PageSource

if TYPE_CHECKING:
    from uiproof.browser.devtools import Session
    from uiproof.web import FrozenWeb

MAX_ASSET_BYTES = 32 * 1024 * 1024

# The document may run scripts, but not open windows, show dialogs, start downloads or submit forms.
# Workers are refused because their clock cannot be controlled. Plain HTTP is upgraded: a page on
# disk may use it, a page with an https origin may not.
_NO_WORKERS = "worker-src 'none'; upgrade-insecure-requests"
DOCUMENT_POLICY = f"sandbox allow-scripts allow-same-origin; {_NO_WORKERS}"
# A page on a stage may also submit forms and start downloads; both are intercepted.
STAGE_POLICY = f"sandbox allow-scripts allow-same-origin allow-forms allow-downloads; {_NO_WORKERS}"
MAX_DOCUMENTS = 20  # navigations of one page
MAX_ADDRESS = 300  # characters of a URL that are recorded
MAX_URL = 8_192  # characters of a URL that is looked up
LAST_MODIFIED = "Tue, 18 Mar 2025 10:24:37 GMT"
_SHARED_SITE = "pages.com"
# Bitmaps in style sheets, which cause no request.
_INLINE_PICTURE = re.compile(rb"url\(\s*[\"']?data:image/(?!svg)", re.IGNORECASE)
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


class Request:
    """An intercepted request, paused until it is fulfilled or refused."""

    def __init__(self, session: Session, event: dict[str, Any], *, main_frame: str) -> None:
        self._session, self._event = session, event
        self.url: str = event["request"]["url"]
        self.method: str = event["request"]["method"]
        self.body: str = event["request"].get("postData", "")
        self.kind = kind_of(event["resourceType"], self.url)
        sent = event["request"]["headers"]
        self.referrer: str = sent.get("Referer") or sent.get("referer") or ""
        self.is_document = event["resourceType"] == "Document"  # of the page or of a frame
        self.is_for_the_page = self.is_document and event.get("frameId") == main_frame

    def fulfill(self, body: bytes, headers: Mapping[str, str], status: int = 200) -> None:
        """Respond with content."""
        headers = {**headers, "content-length": str(len(body)), **self._cors_headers()}
        self._session.post(
            "Fetch.fulfillRequest",
            {
                "requestId": self._event["requestId"],
                "responseCode": status,
                "responseHeaders": [{"name": name, "value": headers[name]} for name in headers],
                "body": b64encode(body).decode(),
            },
        )

    def refuse(self, *, keep_page: bool = False) -> None:
        """Fail the request; `keep_page` leaves the current document in place."""
        reason = "Aborted" if keep_page else "Failed"
        refusal = {"requestId": self._event["requestId"], "errorReason": reason}
        self._session.post("Fetch.failRequest", refusal)

    def _cors_headers(self) -> Mapping[str, str]:
        """Return the headers that let sandboxed frames, whose origin is null, load page files."""
        sent = self._event["request"]["headers"]
        origin = sent.get("Origin") or sent.get("origin")
        own = urlsplit(self.url)
        if not origin or origin == f"{own.scheme}://{own.netloc}":
            return {}
        return {"access-control-allow-origin": origin, "access-control-allow-credentials": "true"}


class Guard:
    """Answer the requests of one page and record those that are refused.

    Local files come from the folder of the page, foreign ones from the frozen web. Pages that share
    a tab are numbered, so that no page gets a file or a late request of another one.
    """

    policy = DOCUMENT_POLICY

    def __init__(
        self, source: PageSource, web: FrozenWeb | None = None, *, number: int | None = None
    ) -> None:
        self._source = source
        self._web = web
        self._origin = origin_of(source, number=number)
        self.page_url = f"{self._origin}/index.html"
        self._served = False
        self.log = WebLog()  # of foreign requests
        self.pictures: set[str] = set()  # URLs of the pictures that the page got
        self.missing = 0  # requested files that the page's folder does not have
        self.left = False  # whether the page tried to navigate away

    def handle(self, request: Request) -> None:
        """Answer one intercepted request."""
        url = urlsplit(request.url)
        if request.is_for_the_page:
            self._navigate(request)
        elif not self._is_shown or self._is_late(request):
            request.refuse()  # from the page that the tab showed before
        elif not self._is_own(url):
            self._answer_foreign(request)
        elif (found := self._asset(url.path)) is None:
            self.missing += 0 if url.path.endswith("/favicon.ico") else 1
            request.refuse()
        else:
            self._fulfill(request, *found)

    def flags(self) -> set[str]:
        """Return the flags for requests refused so far."""
        raised = {"navigation_blocked": self.left, "files_missing": self.missing}
        return {flag for flag, is_raised in raised.items() if is_raised} | self.log.flags()

    @property
    def _is_shown(self) -> bool:
        """Return whether the document of this page has been served."""
        return self._served

    def _answer_foreign(self, request: Request) -> None:
        """Answer from the frozen web; refuse documents and methods other than GET."""
        if request.is_document or request.method != "GET" or not _is_plain(request.url):
            self.log.add("refused", request.kind, request.url)
            request.refuse()
            return
        is_short = len(request.url) <= MAX_URL
        answer = self._web.answer(request.url) if self._web and is_short else None
        if answer is None:
            self.log.add("missing", request.kind, request.url)
            request.refuse()
            return
        outcome = answer.source if answer.status < 400 else "missing"
        self.log.add(outcome, request.kind, request.url, answer.note)
        is_svg = answer.content_type.startswith(SVG)
        shared = {"access-control-allow-origin": "*", **answer.headers}
        body = still_svg(answer.body) if is_svg else answer.body
        self._answer(request, body, answer.content_type, shared, answer.status)

    def _navigate(self, request: Request) -> None:
        """Serve the page once, and refuse later navigations."""
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
            page, mismatch = without_wrong_hashes(page, self._web)
            if mismatch:
                self.log.note_mismatch()
        self._answer(request, page, f"text/html{charset}")

    def _fulfill(self, request: Request, name: str, content: bytes) -> None:
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if kind == SVG and not request.is_for_the_page:
            content = still_svg(content)
        self._answer(request, content, kind)

    def _answer(
        self,
        request: Request,
        body: bytes,
        content_type: str,
        headers: Mapping[str, str] = MappingProxyType({}),
        status: int = 200,
    ) -> None:
        if request.kind == "picture":
            self.pictures.add(request.url)
        elif _INLINE_PICTURE.search(body):
            self.pictures.add("data:")
        request.fulfill(body, {**headers, **self._headers(content_type)}, status)

    def _asset(self, url_path: str) -> tuple[str, bytes] | None:
        """Return name and content of a file in the page's folder; None if it may not be used."""
        path = self._source.own_file(unquote(url_path).lstrip("/"))
        try:
            if path is None or path.stat().st_size > MAX_ASSET_BYTES:
                return None
            return path.name, path.read_bytes()
        except OSError:
            return None

    def _is_own(self, url: SplitResult) -> bool:
        return f"{url.scheme}://{url.netloc}" == self._origin

    def _is_late(self, request: Request) -> bool:
        """Return whether a request comes from another page that shares the tab."""
        referrer = urlsplit(request.referrer)
        return referrer.netloc.endswith(f".{_SHARED_SITE}") and not self._is_own(referrer)

    def _headers(self, content_type: str) -> dict[str, str]:
        """Return the headers of a response; a frame may show any file as a document."""
        return {
            "content-type": content_type,
            "content-security-policy": self.policy,
            "last-modified": LAST_MODIFIED,
            "cache-control": "no-store",
        }


def origin_of(source: PageSource, *, number: int | None = None) -> str:
    """Return the made-up origin of a page, which looks ordinary and is the same for every load.

    It is derived from a digest of the page, or of the reference that the page is compared with, so
    a page cannot be written to recognise it. It also seeds random numbers. Pages that share a tab
    are numbered hosts of one site, because the browser starts a process for every new site.
    """
    digest = hashlib.sha256(b"origin:" + (source.seed or source.html)).digest()
    syllables = (_CONSONANTS[byte % 14] + _VOWELS[byte // 14 % 5] for byte in digest[:8])
    name = "".join(syllables)
    if number is not None:
        return f"https://{name}{number}.{_SHARED_SITE}"
    return f"https://www.{name}.com"


def _is_plain(address: str) -> bool:
    """Return whether a URL is https without credentials or a port."""
    try:
        url = urlsplit(address)
        port = url.port
    except ValueError:
        return False
    return url.scheme == "https" and port in (None, 443) and "@" not in url.netloc


class StageGuard(Guard):
    """Let a page navigate within its folder, and record its navigations."""

    policy = STAGE_POLICY

    def __init__(self, source: PageSource, web: FrozenWeb | None = None) -> None:
        super().__init__(source, web)
        if source.path is not None:  # the page links to itself by this name
            self.page_url = f"{self._origin}/{quote(source.path.name)}"
        self.navigations: list[str] = []  # URLs, including refused ones
        self.documents = 0  # documents shown
        self.answered = 0  # requests answered
        self.loading = False  # whether a document is being loaded
        self.scripts_off = False
        self._shown = source

    def handle(self, request: Request) -> None:
        """Answer one intercepted request."""
        self.answered += 1
        super().handle(request)

    def flags(self) -> set[str]:
        """Return the flags for requests refused so far."""
        return super().flags() | ({"scripts_off"} if self.scripts_off else set())

    def short(self, address: str) -> str:
        """Return a URL as the page would write it, relative if it is in the page's folder."""
        return address.removeprefix(f"{self._origin}/")[:MAX_ADDRESS] or "./"

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
        """Keep the page; if it leaves before it has loaded, show it again without scripts.

        A navigation stops the loading even if it is refused, so the rest would be missing.
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
        """Return the page or other file of the page's folder that a URL names."""
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
