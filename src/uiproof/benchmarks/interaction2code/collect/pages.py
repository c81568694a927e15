"""A page made ready to be explored: links to elsewhere cut, pictures and films taken out.

The page and the files that it uses are copied; what the user gave is never changed.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from uiproof.browser.devtools import BrowserError, NoAnswerError
from uiproof.browser.page import Limits
from uiproof.browser.process import RunningBrowser
from uiproof.browser.source import PageSource
from uiproof.browser.tab import Tab
from uiproof.errors import DownloadError, InputError

if TYPE_CHECKING:
    import httpx

    from uiproof.browser.guard import Request

PAGE = "page.html"  # what the prepared page is called

CUT_LINK = "javascript:void(0)"  # where links to other sites lead in the copy

_COPIED_FILES = 1_000
_COPIED_BYTES = 200_000_000
_TEXT_SUFFIXES = frozenset({".html", ".htm", ".css", ".js", ".mjs", ".json", ".svg", ".xhtml"})
_FOREIGN_LINK = re.compile(
    r"""(<(?:a|area|form)\b[^>]*?\s(?:href|action)\s*=\s*)("\s*(?:https?:)?//[^"]*"|'\s*(?:https?:)?//[^']*'|(?:https?:)?//[^\s>"']+)""",
    re.IGNORECASE,
)
_FOREIGN_PICTURE = re.compile(
    r"""(<(?:img|source|input|video|audio)\b[^>]*?\s(?:src|poster)\s*=\s*)("\s*(?:https?:)?//[^"]*"|'\s*(?:https?:)?//[^']*')""",
    re.IGNORECASE,
)
_SRCSET = re.compile(
    r"""(<(?:img|source)\b[^>]*?)\ssrcset\s*=\s*("[^"]*"|'[^']*')""", re.IGNORECASE
)
_PART = re.compile(
    r"""<(?:script|img|link|source)\b[^>]*?\s(?:src|href)\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+)""",
    re.IGNORECASE,
)
_PAGES = frozenset({".html", ".htm", ".xhtml"})
_ENTRIES = (PAGE, "index.html", "index.htm")  # the page of a folder
_FILE_NAME = re.compile(r"""[\w\-./%~@+ ]*[\w\-%~@+]\.[A-Za-z0-9]{2,5}\b""")
_QUOTED = re.compile(r"""["'(=]\s*([^"'()<>\n]{1,300})""")
_PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp"})
_FILMS = frozenset({".mp4", ".webm", ".ogv", ".mov", ".m4v", ".mp3", ".ogg", ".wav"})
_PLACEHOLDER = "placeholder.png"  # replaces pictures that are not available
_DEFAULT_SIZE = (320, 200)
_GROUND, _STROKE = (214, 218, 224), (176, 182, 192)
_MOST_PIXELS = 40_000_000
# Pictures written into the page; those of fewer characters are signs and not photos.
_EMBEDDED = re.compile(
    r"""(<(?:img|source|input)\b[^>]*?\ssrc\s*=\s*["'])(data:image/(?!svg)[^"']{3000,})""",
    re.IGNORECASE,
)
_FETCHED_FILES = 600
_FETCHED_BYTES = 150_000_000
_FETCHED_BYTES_EACH = 25_000_000
_SECONDS = 60.0  # for the whole page
_SECONDS_EACH = 20.0
_QUIET_SECONDS = 1.5  # without a request: the page is complete
_SITES = "sites"  # the folder for files of other sites
_TEXT_TYPE = re.compile(r"text/|javascript|json|xml|css")
_ODD = re.compile(r"[^\w\-.~@+]")


def prepare(
    source: Path, folder: Path, *, everything: bool = False, root: Path | None = None
) -> PageSource:
    """Copy a page, a file or the `index.html` of a folder, into an empty folder, made ready.

    Only the files that it names are copied, or `everything` in its folder. Files above its folder
    (`../shared/menu.js`) are copied if they are in `root`.
    """
    page = _page_of(source)
    original = replace(PageSource.from_file(page), trusted=True)  # the user chose it
    html = cut_links(original.text)
    if everything:
        files = [path for path in page.parent.rglob("*") if path.is_file() and path != page]
    else:
        files = _files_of(page, _root(page, root))
    for file in files:
        # A page at the top of a site may say `../`: browsers drop that.
        parts = Path(os.path.relpath(file, page.parent)).parts
        name = Path(*(part for part in parts if part != ".."))
        if not any(part.startswith(".") for part in name.parts) and not (folder / name).exists():
            _copy(file, folder / name)
    if _PLACEHOLDER in html:
        (folder / _PLACEHOLDER).write_bytes(_placeholder())
    (folder / PAGE).write_bytes(original.with_text(html).html)
    return replace(PageSource.from_file(folder / PAGE), trusted=True)


def missing_files(source: Path, *, root: Path | None = None) -> list[str]:
    """Return the scripts, styles and pictures that a page names and that are missing."""
    page = _page_of(source)
    within = _root(page, root)
    missing: dict[str, None] = {}
    for name in _PART.findall(PageSource.from_file(page).text):
        try:
            parts = urlsplit(name.strip("\"' "))
        except ValueError:
            continue
        if parts.scheme or parts.netloc or not parts.path:
            continue
        base = within if parts.path.startswith("/") else page.parent
        if _file_in(within, base, parts.path) is None:
            missing.setdefault(parts.path)
    return list(missing)


def pages_below(folder: Path) -> list[Path]:
    """Return the pages of a folder that is not itself one: its HTML files, and its folders' pages.

    A folder with an `index.html` is one page.
    """
    if any((folder / name).is_file() for name in _ENTRIES):
        return [folder]
    found = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            found += pages_below(path)
        elif path.suffix.lower() in {".html", ".htm"}:
            found.append(path)
    return found


def cut_links(html: str) -> str:
    """Replace links to other sites by dead ones; their pictures and photos by a placeholder."""
    html = _FOREIGN_LINK.sub(rf'\1"{CUT_LINK}"', html)
    html = _SRCSET.sub(r"\1", html)
    html = _FOREIGN_PICTURE.sub(rf'\1"{_PLACEHOLDER}"', html)
    return _EMBEDDED.sub(rf"\g<1>{_PLACEHOLDER}", html)


def _root(page: Path, root: Path | None) -> Path:
    if root is None:
        return page.parent
    root = root.expanduser().resolve()
    if not page.is_relative_to(root):
        raise InputError(f"{page} is not in {root}.", remedy="Give --root a folder above the page.")
    return root


def _page_of(source: Path) -> Path:
    if source.is_dir():
        for name in _ENTRIES:
            if (source / name).is_file():
                return (source / name).resolve()
        raise InputError(f"The folder {source} has no index.html.", remedy="Name the page itself.")
    if not source.is_file():
        raise InputError(f"There is no page {source}.", remedy="Check the path.")
    return source.resolve()


def _files_of(page: Path, root: Path) -> list[Path]:
    """Return the files in `root` that a page names, and those that they name.

    Other pages count only in the page's own folder: a site's links would bring all of it.
    """
    root, home = root.resolve(), page.resolve().parent
    seen: dict[Path, None] = {page.resolve(): None}
    waiting, size = [page.resolve()], 0
    while waiting:
        for file in _named_in(waiting.pop(), root):
            if file in seen or (file.suffix in _PAGES and not file.is_relative_to(home)):
                continue
            size += file.stat().st_size
            if len(seen) > _COPIED_FILES or size > _COPIED_BYTES:
                raise InputError(
                    f"{page} uses more than {_COPIED_FILES} files or {_COPIED_BYTES // 10**6} MB.",
                    remedy="Put the page and its files into a separate folder.",
                )
            seen[file] = None
            if file.suffix.lower() in _TEXT_SUFFIXES:
                waiting.append(file)
    return list(seen)[1:]


def _named_in(file: Path, root: Path) -> Iterator[Path]:
    """Yield every existing file below `root` whose name is quoted in a file."""
    for quoted in _QUOTED.findall(file.read_text("utf-8", "replace")):
        for name in (quoted, *quoted.split(",")):
            word = name.strip().split("?")[0].split("#")[0].split(" ")[0]
            if _FILE_NAME.fullmatch(unquote(word)):
                found = _file_in(root, file.parent, word) or _file_in(root, root, word)
                if found is not None:
                    yield found


def _file_in(root: Path, folder: Path, name: str) -> Path | None:
    """Return the file that a page in a folder names, if it exists below `root`."""
    try:
        file = (folder / unquote(name).lstrip("/")).resolve()
        return file if file.is_file() and file.is_relative_to(root) else None
    except (OSError, ValueError):
        return None


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    kind = file.suffix.lower()
    if kind in _PICTURES:
        to.write_bytes(_placeholder(file))
    elif kind in {".html", ".htm"}:
        page = PageSource.from_file(file)
        to.write_bytes(page.with_text(cut_links(page.text)).html)
    elif kind not in _FILMS:
        shutil.copyfile(file, to)


def _placeholder(path: Path | None = None) -> bytes:
    """Return a grey PNG with its two diagonals, as large as a picture file where its size is known.

    Browsers look at what a file holds and not at its name, so a PNG may be called `.jpg`.
    """
    from PIL import Image, ImageDraw

    width, height = _DEFAULT_SIZE
    if path is not None:
        with (
            suppress(OSError, ValueError, SyntaxError, Image.DecompressionBombError),
            Image.open(path) as original,
        ):
            if original.width * original.height <= _MOST_PIXELS:
                width, height = original.size
    picture = Image.new("RGB", (max(width, 1), max(height, 1)), _GROUND)
    if width >= 24 and height >= 24:
        pen = ImageDraw.Draw(picture)
        pen.line((0, 0, width - 1, height - 1), fill=_STROKE)
        pen.line((0, height - 1, width - 1, 0), fill=_STROKE)
        pen.rectangle((0, 0, width - 1, height - 1), outline=_STROKE)
    out = BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def fetch(url: str, folder: Path, *, viewport: tuple[int, int]) -> Path:
    """Load a page as a browser does and keep all that it asked for. Return its file.

    Only what can be asked for without a body (GET) is fetched; a page that needs a login, or an
    answer that changes, does not work as a copy.
    """
    import httpx

    folder.mkdir(parents=True, exist_ok=True)
    with httpx.Client(timeout=_SECONDS_EACH, follow_redirects=True) as client:
        mirror = _Mirror(client, url, folder)
        limits = Limits(viewport=viewport)
        browser = RunningBrowser(limits.memory_mb)
        try:
            mirror.visit(Tab(browser, limits))
        finally:
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
        tab.handler = self.handle
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
        full = (
            len(self._kept) >= _FETCHED_FILES
            or self._bytes >= _FETCHED_BYTES
            or self._time_left <= 0
        )
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
        if len(reply.content) > _FETCHED_BYTES_EACH or (is_page and reply.status_code >= 400):
            self._why = f"the server says {reply.status_code}"
            request.refuse()
            return
        kind = reply.headers.get("content-type", "application/octet-stream")
        if is_page and self._document is None:
            self._document, self._url = reply.content, str(reply.url)
        elif reply.status_code < 400:
            self._keep(request.url, reply.content, text=bool(_TEXT_TYPE.search(kind)))
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
