"""Archives of what pages load and the frozen web lacks: recorded once, replayed offline.

    record([Path("page.html")], Path("pages.web.zip"), web)   # opens network connections
    FrozenWeb.installed(Path("pages.web.zip")).answer(url)    # never does

An archive is a folder or a zip file: `index.json` with URLs, types, hashes and the date, and
`files/` with the contents, named by their SHA-256.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import socket
import tempfile
import threading
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urljoin, urlsplit

from pydantic import BaseModel, Field, ValidationError

from uiproof.errors import InputError
from uiproof.files import access, replacing_file, write_atomic
from uiproof.web.addresses import MAX_ADDRESS

if TYPE_CHECKING:
    import httpx

    from uiproof.web.frozen import FrozenWeb

MAX_FILE_BYTES = 32 << 20
MAX_INDEX_BYTES = 64 << 20
MAX_PAGE_BYTES = 16 << 20

_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Entry(BaseModel):
    """A recorded response."""

    type: Annotated[str, Field(max_length=200, pattern=r"^[\x20-\x7e]*$")]
    sha256: _Digest
    status: Annotated[int, Field(ge=200, le=299)] = 200


class Index(BaseModel):
    """The content of `index.json`."""

    version: Literal[1] = 1
    date: str  # when it was recorded, in UTC
    entries: dict[str, Entry]
    missing: dict[str, str] = {}  # URLs that could not be fetched, and why


class Archive:
    """Read an archive; hashes are checked when files are read."""

    def __init__(self, path: Path, index: Index, digest: str) -> None:
        self.path, self.index, self.digest = path, index, digest
        self._zip = zipfile.ZipFile(path) if path.is_file() else None
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> Archive:
        """Open a folder or a zip file; raises `InputError` if it is not an archive."""
        try:
            if path.is_file():
                with zipfile.ZipFile(path) as content:
                    text = _zipped(content, "index.json", MAX_INDEX_BYTES)
            else:
                text = (path / "index.json").read_bytes()
            index = Index.model_validate_json(text)
            return cls(path, index, hashlib.sha256(text).hexdigest())
        except (OSError, KeyError, ValueError, zipfile.BadZipFile, ValidationError) as error:
            raise InputError(
                f"{path} is not an archive of the web ({type(error).__name__}).",
                remedy="Give a folder or a zip file that `uiproof web record` has written.",
            ) from error

    def read(self, url: str) -> tuple[bytes, str, int] | None:
        """Return content, type and status of a URL; None if the archive does not have it."""
        entry = self.index.entries.get(url.partition("#")[0])
        if entry is None:
            return None
        try:
            name = f"files/{entry.sha256}"
            if self._zip is not None:
                with self._lock:
                    body = _zipped(self._zip, name, MAX_FILE_BYTES)
            else:
                with (self.path / name).open("rb") as stream:
                    body = stream.read(MAX_FILE_BYTES + 1)
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            return None
        if hashlib.sha256(body).hexdigest() != entry.sha256:
            return None
        return body, entry.type, entry.status


def _zipped(content: zipfile.ZipFile, name: str, most: int) -> bytes:
    with content.open(name) as stream:  # bounded, whatever size the zip claims
        body = stream.read(most + 1)
    if len(body) > most:
        raise ValueError(name)
    return body


# --- URLs that pages load -----------------------------------------------------------------------

_CSS_URL = re.compile(r"""url\(\s*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"')]*))\s*\)""", re.IGNORECASE)
_CSS_IMPORT = re.compile(r"""@import\s+(?:"([^"\n]*)"|'([^'\n]*)')""", re.IGNORECASE)
_JS_IMPORT = re.compile(
    r"""(?:\bfrom\s*|\bimport\s*\(?\s*|\bimportScripts\s*\(\s*)["']([^"'\s]{1,2000})["']"""
)
_FILE_ADDRESS = re.compile(
    r"""["'`(](https?://[^\s"'`<>\\(){}]{4,2000}\."""
    r"""(?:png|jpe?g|gif|webp|avif|svg|ico|css|m?js|json|woff2?|ttf|otf)(?:\?[^\s"'`<>\\(){}]*)?)""",
    re.IGNORECASE,
)
# Elements and attributes whose URLs a browser loads by itself.
_LOADED = {
    "script": ("src",),
    "img": ("src", "srcset", "data-src"),
    "source": ("src", "srcset"),
    "video": ("poster", "src"),
    "audio": ("src",),
    "track": ("src",),
    "input": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "image": ("href", "{http://www.w3.org/1999/xlink}href", "xlink:href"),
    "use": ("href", "xlink:href"),
    "body": ("background",),
    "td": ("background",),
    "table": ("background",),
}
_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "apple-touch-icon", "shortcut"}


def asked_by_page(html: bytes, base: str = "") -> list[str]:
    """Return the URLs that a page loads, in order; relative ones only with a base."""
    from lxml import html as parser

    try:
        document = parser.document_fromstring(html or b"<p></p>")
    except (ValueError, parser.etree.ParserError):
        return []
    for one in document.iter("base"):
        base = urljoin(base, one.get("href") or "")
        break
    elements = (one for one in document.iter() if isinstance(one.tag, str))
    return _absolute((url for one in elements for url in _asked_by_element(one)), base)


def _asked_by_element(element: Any) -> Iterator[str]:
    for name in _LOADED.get(element.tag, ()):
        value = element.get(name) or ""
        if name == "srcset":
            yield from (part.split()[0] for part in re.split(r",\s+", value) if part.split())
        else:
            yield value
    if element.tag == "link" and _LINKS & set((element.get("rel") or "").lower().split()):
        yield element.get("href") or ""
    if style := element.get("style"):
        yield from asked_by_css(style)
    if element.tag == "style":
        yield from asked_by_css(element.text or "")
    if element.tag == "script" and element.text:
        kind = (element.get("type") or "").lower()
        yield from _mapped(element.text) if kind == "importmap" else asked_by_script(element.text)


def asked_by_css(text: str) -> list[str]:
    """Return the URLs in a style sheet."""
    matches = [*_CSS_IMPORT.finditer(text), *_CSS_URL.finditer(text)]
    return [next((one for one in match.groups() if one), "") for match in matches]


def asked_by_script(text: str) -> list[str]:
    """Return the modules that a script imports and the absolute URLs of files in its strings."""
    return [*_imports(text), *_FILE_ADDRESS.findall(text)]


def _imports(text: str) -> list[str]:
    return [one for one in _JS_IMPORT.findall(text) if re.match(r"https?://|\.{0,2}/", one)]


def _mapped(text: str) -> Iterator[str]:
    try:
        imports = json.loads(text).get("imports", {})
        yield from (one for one in imports.values() if isinstance(one, str) and one[-1:] != "/")
    except (ValueError, AttributeError):
        return


def _absolute(found: Iterable[str], base: str) -> list[str]:
    """Return absolute http and https URLs, without duplicates."""
    made: dict[str, None] = {}
    for one in found:
        try:
            url = urljoin(base, one.strip()).partition("#")[0]
            if url.startswith("//"):
                url = f"https:{url}"
            if urlsplit(url).scheme in ("http", "https") and len(url) <= MAX_ADDRESS:
                made[url] = None
        except ValueError:
            continue
    return list(made)


# --- recording ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a recording."""

    files: int = 5000
    bytes: int = 1 << 30
    depth: int = 4  # a style sheet of a page has depth 1, its imports 2
    redirects: int = 5
    seconds: float = 30.0  # per file


@dataclass(slots=True)
class Recording:
    """The result of a recording."""

    fetched: int = 0
    bytes: int = 0
    answered: int = 0  # URLs that the frozen web has
    missing: dict[str, str] = field(default_factory=dict)  # URLs with the reason


class _FetchError(Exception):
    """A URL could not be fetched."""


def find_pages(paths: Iterable[Path]) -> list[Path]:
    """Return the given pages and those in the given folders."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(
                one for one in path.rglob("*") if one.suffix.lower() in (".html", ".htm", ".jsx")
            )
        elif path.is_file():
            found.append(path)
        else:
            raise InputError(f"{path} does not exist.", remedy="Give pages or folders of pages.")
    if not found:
        raise InputError("No pages found.", remedy="Give HTML files, or folders that have some.")
    return found


def record(
    pages: Iterable[Path],
    out: Path,
    web: FrozenWeb,
    *,
    allow_private: bool = False,
    limits: Limits | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Recording:
    """Fetch what pages load and `web` does not have, and write an archive of it.

    Opens network connections. Private and loopback addresses are refused unless `allow_private`,
    and plain HTTP is upgraded to HTTPS.
    """
    urls = (url for page in pages for url in asked_by_page(_read_page(page)))
    limits = limits or Limits()
    return _record(urls, out, limits, web=web, allow_private=allow_private, say=say)


SITE = "https://recorded.test"  # replaces the recorded origin, because pages may not use a port
# The `<base>` element is inserted after the first of these that a page has.
_BEFORE_BASE = (rb"<head\b[^>]*>", rb"<html\b[^>]*>", rb"<!doctype[^>]*>")
_DEEPEST_MODULE = 30  # modules of development servers import each other in long chains


def record_site(url: str, out: Path, *, limits: Limits | None = None) -> tuple[bytes, Recording]:
    """Fetch a page from the user's server, and write an archive of what it loads from there.

    Connects to the origin of `url` only. Returns the page, rewritten to load from the archive.
    Requests that scripts make later are not recorded.
    """
    import httpx

    limits = replace(limits or Limits(), depth=_DEEPEST_MODULE)
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    try:
        with httpx.Client(timeout=limits.seconds, trust_env=False) as client:
            page, _, final = _fetch(client, url, limits, allow_private=True, within=origin)
    except _FetchError as error:
        raise InputError(
            f"{url} cannot be fetched: {error}.", remedy="Check that the server is running."
        ) from error
    made = _record(asked_by_page(page, final), out, limits, allow_private=True, origin=origin)
    base = f'<base href="{escape(SITE + final.removeprefix(origin), quote=True)}">'.encode()
    places = (re.search(one, page, re.IGNORECASE) for one in _BEFORE_BASE)
    at = next((place.end() for place in places if place), 0)
    return _moved(page[:at], origin) + base + _moved(page[at:], origin), made


def _record(
    urls: Iterable[str],
    out: Path,
    limits: Limits,
    *,
    web: FrozenWeb | None = None,
    allow_private: bool,
    origin: str = "",
    say: Callable[[str], None] = lambda _line: None,
) -> Recording:
    """Fetch URLs and what those files load, and write the archive.

    With an `origin`, only its files are fetched, and they are stored as files of `SITE`.
    """
    import httpx

    made = Recording()
    waiting = deque((url, 1) for url in urls)
    seen: set[str] = set()
    entries: dict[str, Entry] = {}
    with (
        tempfile.TemporaryDirectory(prefix="uiproof-web-") as folder,
        httpx.Client(timeout=limits.seconds, trust_env=not origin) as client,
    ):
        while waiting:
            url, depth = waiting.popleft()
            if url in seen or (origin and not url.startswith(f"{origin}/")):
                continue
            seen.add(url)
            if web is not None and web.answer(url) is not None:
                made.answered += 1
                continue
            if made.fetched >= limits.files or made.bytes >= limits.bytes:
                made.missing[url] = "the limit of this recording is reached"
                continue
            try:
                body, kind, final = _fetch(
                    client, url, limits, allow_private=allow_private, within=origin
                )
            except _FetchError as error:
                made.missing[url] = str(error)
                say(f"missing  {url[:150]}: {error}")
                continue
            if depth < limits.depth:
                waiting += [(one, depth + 1) for one in _asked_by_file(body, kind, final)]
            if origin and re.search(r"text|script|json|svg", kind):
                body = _moved(body, origin)
            digest = hashlib.sha256(body).hexdigest()
            (Path(folder) / digest).write_bytes(body)
            stored_as = SITE + url.removeprefix(origin) if origin else url
            entries[stored_as] = Entry(type=kind, sha256=digest)
            made.fetched += 1
            made.bytes += len(body)
            say(f"fetched  {url[:150]}")
        date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        _write(out, Index(date=date, entries=entries, missing=made.missing), Path(folder))
    return made


def _moved(body: bytes, origin: str) -> bytes:
    return body.replace(origin.encode(), SITE.encode())


def _read_page(page: Path) -> bytes:
    with access(page, "read"), page.open("rb") as stream:
        return stream.read(MAX_PAGE_BYTES)


def _asked_by_file(body: bytes, kind: str, url: str) -> list[str]:
    if "css" in kind:
        return _absolute(asked_by_css(body.decode(errors="replace")), url)
    if "javascript" in kind or "ecmascript" in kind:
        return _absolute(_imports(body.decode(errors="replace")), url)
    return []


def _fetch(
    client: httpx.Client, url: str, limits: Limits, *, allow_private: bool, within: str = ""
) -> tuple[bytes, str, str]:
    """Return content, type and final URL; every redirect is checked.

    `within` restricts requests to one origin.
    """
    import httpx

    here = url if allow_private else re.sub(r"^http:", "https:", url)
    for _ in range(limits.redirects + 1):
        parts = urlsplit(here)
        if parts.scheme != "https" and not (allow_private and parts.scheme == "http"):
            raise _FetchError("it is not HTTPS")
        if parts.username or parts.password:
            raise _FetchError("it has credentials")
        if within and f"{parts.scheme}://{parts.netloc}" != within:
            raise _FetchError(f"it leads away from {within}")
        if not allow_private:
            _check_public(parts.hostname or "", parts.port or 443)
        try:
            with client.stream("GET", here) as answer:
                stream = answer.extensions.get("network_stream")
                peer = stream.get_extra_info("server_addr") if stream else None
                # DNS may have changed between the check and the connection.
                if not allow_private and peer and not _via_proxy() and not _is_public(peer[0]):
                    raise _FetchError("it leads to a private address")
                if answer.is_redirect:
                    here = urljoin(here, answer.headers.get("location", ""))
                    continue
                if answer.status_code != 200:
                    raise _FetchError(f"HTTP {answer.status_code}")
                body = bytearray()
                for chunk in answer.iter_bytes():
                    body += chunk
                    if len(body) > MAX_FILE_BYTES:
                        raise _FetchError("it is too large")
                kind = answer.headers.get("content-type", "application/octet-stream")
                kind = re.sub(r"[^\x20-\x7e]", "", kind)[:200]
                return bytes(body), kind, here
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
            raise _FetchError(f"{type(error).__name__}: {error}"[:200]) from error
    raise _FetchError("too many redirects")


def _check_public(host: str, port: int) -> None:
    if _via_proxy():
        try:
            named = ipaddress.ip_address(host)
        except ValueError:
            return  # the proxy resolves names
        if not named.is_global:
            raise _FetchError("it is a private address")
        return
    try:
        found = {str(one[4][0]) for one in socket.getaddrinfo(host, port, proto=socket.IPPROTO_TCP)}
    except (OSError, UnicodeError) as error:
        raise _FetchError("its host is not known") from error
    if not all(map(_is_public, found)):
        raise _FetchError("it is a private address")


def _is_public(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_global
    except ValueError:
        return False


def _via_proxy() -> bool:
    from urllib.request import getproxies

    return bool(getproxies().get("https"))


def _write(out: Path, index: Index, folder: Path) -> None:
    text = json.dumps(index.model_dump(), indent=1, sort_keys=True, ensure_ascii=False)
    digests = sorted({entry.sha256 for entry in index.entries.values()})
    if out.suffix.lower() == ".zip":
        with (
            replacing_file(out, makes_folders=True) as partial,
            zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as made,
        ):
            made.writestr("index.json", text)
            for digest in digests:
                made.write(folder / digest, f"files/{digest}")
        return
    with access(out, "written"):
        (out / "files").mkdir(parents=True, exist_ok=True)
        for digest in digests:
            write_atomic(out / "files" / digest, (folder / digest).read_bytes())
        write_atomic(out / "index.json", text)
