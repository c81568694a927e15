"""A page kept for later: its HTML with the pictures, fonts and styles that it names."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from uiproof.browser.source import PageSource

_MOST_BYTES = 16 * 1024 * 1024  # of all files of a page
_NAMED = re.compile(
    r"""(?:src|href|poster)\s*=\s*["']?([^"'\s>]+)|url\(\s*["']?([^"')]+)""", re.IGNORECASE
)
_LOADED = ("image/", "font/", "text/css")


def keep_page(page: PageSource, target: Path) -> None:
    """Write a page to `target`, and beside it what it shows from its own folder.

    Files that are there already stay: the page may be called like one of its pictures.
    """
    target.write_bytes(page.html)
    room = _MOST_BYTES
    for name, path in _files(page):
        place = target.parent / name
        try:
            content = path.read_bytes() if path.stat().st_size <= room else None
        except OSError:  # gone, or not for us to read
            continue
        if content is None or place.exists() or _is_below_a_file(place):
            continue
        room -= len(content)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def _is_below_a_file(place: Path) -> bool:
    """Whether a folder on the way has the name of a file, such as that of the page itself."""
    return any(folder.exists() and not folder.is_dir() for folder in place.parents)


def _files(page: PageSource) -> Iterator[tuple[Path, Path]]:
    """The files that the HTML names, and where they lie relative to the page."""
    if page.folder is None:
        return
    home = page.folder.resolve()
    for name in dict.fromkeys(one or other for one, other in _NAMED.findall(page.text)):
        try:
            parts = urlsplit(name.strip())
        except ValueError:
            continue
        kind = mimetypes.guess_type(parts.path)[0] or ""
        if parts.scheme or parts.netloc or not kind.startswith(_LOADED):
            continue
        path = page.own_file(unquote(parts.path).lstrip("/"))
        if path is not None:
            yield path.relative_to(home), path
