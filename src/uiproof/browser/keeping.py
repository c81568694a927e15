"""A page kept for later: its HTML with the pictures, fonts and styles that it names."""

from __future__ import annotations

import mimetypes
import re
import shutil
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
        size = path.stat().st_size
        if size > room or place.exists():
            continue
        room -= size
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


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
