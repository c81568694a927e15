"""A page to render: its HTML and the folder with its files."""

from __future__ import annotations

import codecs
import hashlib
import mimetypes
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from urllib.parse import unquote, urlsplit

from uiproof.errors import InputError, PageTooLargeError

_CHARSET_HINT = re.compile(rb"<meta[^>]+charset(?:\s*=\s*[\"']?\s*([\w.:-]+))?", re.IGNORECASE)
# On a busy machine, a browser takes a minute for a page of twice this size. A fixed limit gives the
# same result on every machine.
MAX_HTML_BYTES = 32 * 1024 * 1024
# The file types that pages consist of. Other files in the folder (keys, settings, logs, data) are
# not served: a hostile page could expose them in a shared report.
_ASSET_SUFFIXES = frozenset(
    {
        *(".html", ".htm", ".xhtml", ".css", ".js", ".mjs", ".wasm", ".vtt"),
        *(".png", ".apng", ".jpg", ".jpeg", ".jfif", ".gif", ".webp", ".avif", ".svg"),
        *(".ico", ".cur", ".bmp", ".woff", ".woff2", ".ttf", ".otf", ".ttc", ".eot"),
        *(".mp4", ".m4v", ".webm", ".ogv", ".mov", ".mp3", ".m4a", ".aac", ".oga", ".ogg"),
        *(".opus", ".wav", ".flac"),
    }
)
_HINT_WINDOW = 1024  # bytes in which browsers look for a declared encoding
# The encodings that browsers support, by their Python names. Other Python codecs (`idna`, `utf-7`,
# `unicode_escape`) are not for pages, and some fail on certain bytes.
_ENCODINGS = {
    **{name: name for name in ("utf-8", "cp866", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic")},
    **{name: name for name in (f"cp{number}" for number in (874, 932, 949, *range(1250, 1259)))},
    **{name: name for name in (f"iso8859-{n}" for n in (*range(2, 9), 10, 13, 14, 15, 16))},
    **{name: name for name in ("gb18030", "big5hkscs", "euc_jp", "iso2022_jp")},
    # Browsers decode these as a superset of the same family.
    **{"gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932"},
    **{"euc_kr": "cp949", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874"},
}
# Labels that browsers know and Python does not.
_LABELS = {
    **{"x-sjis": "cp932", "windows-31j": "cp932", "x-euc-jp": "euc_jp", "x-gbk": "gbk"},
    **{"gb_2312-80": "gbk", "windows-874": "cp874", "windows-949": "cp949", "x-x-big5": "big5"},
    **{"x-mac-cyrillic": "mac-cyrillic", "iso-8859-8-i": "iso8859-8", "x-cp1251": "cp1251"},
}
_KEPT_BYTES = 16 * 1024 * 1024  # of files that are saved with a page
_KEPT_KINDS = ("image/", "font/", "text/css")
_NAMED = re.compile(
    r"""(?:src|href|poster)\s*=\s*["']?([^"'\s>]+)|url\(\s*["']?([^"')]+)""", re.IGNORECASE
)


@dataclass(frozen=True)
class PageSource:
    """A page to render.

    - `PageSource.from_file(path)`: a file, which may use the other files of its folder
    - `PageSource.from_html(text)`: a string, without other files unless `folder` is given

    Raises `PageTooLargeError` for more than `MAX_HTML_BYTES` of HTML.
    """

    html: bytes
    folder: Path | None = None
    charset: str | None = "utf-8"  # None: as the page declares
    only: frozenset[str] | None = None  # names of the files that it may use; None: all
    withheld: Container[Path] = frozenset()  # files of its folder that it may not use
    path: Path | None = None  # the file that it was read from
    trusted: bool = False  # whether it may use files of any type, such as JSON, but not hidden ones
    seed: bytes = b""  # of its origin and random numbers; its HTML if empty
    notes: tuple[str, ...] = ()  # flags from reading it, for its case

    def __post_init__(self) -> None:
        _check_size(len(self.html), self.path)

    @classmethod
    def from_html(cls, html: str, *, folder: Path | None = None) -> PageSource:
        """Make a page from a string; lone surrogates become replacement characters."""
        return cls(html.encode("utf-8", "replace"), folder)

    @classmethod
    def from_file(cls, path: Path) -> PageSource:
        """Read a page from a file."""
        try:
            _check_size(path.stat().st_size, path)  # before any of it is read
            data = path.read_bytes()
        except OSError as error:
            raise InputError(
                f"Cannot read the page {path}: {error.strerror or error}.",
                remedy="Check the path and its permissions.",
            ) from error
        path = path.resolve()
        return cls(data, path.parent, _charset_of(data), path=path)

    @classmethod
    def from_bytes(cls, data: bytes) -> PageSource:
        """Make a page from the content of a file, without other files."""
        return cls(data, charset=_charset_of(data))

    @property
    def text(self) -> str:
        """Return the HTML as a string."""
        return self.html.decode(self.charset or _declared_charset(self.html), "replace")

    def with_text(self, html: str) -> PageSource:
        """Return the same page with other HTML."""
        return replace(self, html=html.encode("utf-8", "replace"), charset="utf-8")

    def own_file(self, relative: str) -> Path | None:
        """Return the file of its folder at a relative path; None if it may not be used."""
        if self.folder is None or "\0" in relative:
            return None
        try:
            # Resolving follows symbolic links, so links to outside or hidden files are refused.
            home = self.folder.resolve()
            path = (home / relative).resolve(strict=True)
            if not path.is_file() or not path.is_relative_to(home):
                return None
        except (OSError, ValueError):
            return None
        for name in (relative, str(path.relative_to(home))):
            if _is_hidden(name) or not (self.trusted or is_page_asset(name)):
                return None
        if path in self.withheld or (self.only is not None and relative not in self.only):
            return None
        return path

    @cached_property
    def key(self) -> str:
        """Return a digest of the HTML and of the files it may use, as a cache key."""
        digest = hashlib.sha256(self.html)
        allowed = None if self.only is None else sorted(self.only)
        withheld: object = self.withheld
        if isinstance(withheld, frozenset):
            withheld = sorted(map(str, withheld))
        digest.update(repr((str(self.folder), self.charset, allowed, withheld)).encode())
        digest.update(self.seed)
        return digest.hexdigest()[:32]


def keep_page(page: PageSource, target: Path) -> None:
    """Save a page as `target`, with the pictures, fonts and style sheets that its HTML names.

    Existing files are not overwritten: the page may have the name of one of its pictures.
    """
    target.write_bytes(page.html)
    room = _KEPT_BYTES
    for name, path in _named_files(page):
        place = target.parent / name
        try:
            content = path.read_bytes() if path.stat().st_size <= room else None
        except OSError:
            continue
        if content is None or place.exists() or _is_below_a_file(place):
            continue
        room -= len(content)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def _is_below_a_file(place: Path) -> bool:
    """Return whether a parent of a path is a file, such as the page itself."""
    return any(folder.exists() and not folder.is_dir() for folder in place.parents)


def _named_files(page: PageSource) -> Iterator[tuple[Path, Path]]:
    """Yield the files that the HTML names, each with its path relative to the page."""
    if page.folder is None:
        return
    home = page.folder.resolve()
    for name in dict.fromkeys(one or other for one, other in _NAMED.findall(page.text)):
        try:
            parts = urlsplit(name.strip())
        except ValueError:
            continue
        kind = mimetypes.guess_type(parts.path)[0] or ""
        if parts.scheme or parts.netloc or not kind.startswith(_KEPT_KINDS):
            continue
        path = page.own_file(unquote(parts.path).lstrip("/"))
        if path is not None:
            yield path.relative_to(home), path


def is_page_asset(relative: str) -> bool:
    """Return whether a file below a page's folder may be served to the page.

    Pages under test, reports and the studio share this rule: a file type that pages consist of,
    neither hidden nor in a hidden folder.
    """
    return PurePath(relative).suffix.lower() in _ASSET_SUFFIXES and not _is_hidden(relative)


def _is_hidden(relative: str) -> bool:
    parts = PurePath(relative).parts
    return any(part.startswith(".") for part in parts if part not in {".", ".."})


def _check_size(size: int, path: Path | None) -> None:
    if size > MAX_HTML_BYTES:
        raise PageTooLargeError(
            f"{path or 'The page'} has {size / 2**20:.0f} MB of HTML, more than "
            f"{MAX_HTML_BYTES / 2**20:.0f} MB.",
            remedy="Move pictures, styles and scripts into separate files.",
        )


def _charset_of(data: bytes) -> str | None:
    """Return the charset for the HTTP header: UTF-8 if valid, None if the page declares one."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return None if _CHARSET_HINT.search(data[:_HINT_WINDOW]) else "windows-1252"
    return "utf-8"


def _declared_charset(data: bytes) -> str:
    """Return the encoding that a browser uses without a charset in the HTTP header."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    hint = _CHARSET_HINT.search(data[:_HINT_WINDOW])
    name = (hint[1] or b"").decode("ascii").lower() if hint else ""
    try:
        name = codecs.lookup(_LABELS.get(name, name)).name
    except LookupError:
        return "windows-1252"
    if name.startswith("utf-16"):
        return "utf-8"  # the tag was readable as ASCII, so the page is not UTF-16
    return _ENCODINGS.get(name, "windows-1252")
