"""The files of a data set that a generated page beside them may not load.

A page in or above a folder of the truth may load plain assets from it: pictures, fonts, films,
sounds, style sheets and scripts. It may not load

- documents and data: reference pages, other predictions, `action.json`
- pictures of pages: screenshots, marks and crops, in any format
- scripts (and, as the benchmark decides, style sheets) that the reference page is made of

Paths are checked after symbolic links were followed, so that another name changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

_DOCUMENTS = frozenset({".html", ".htm", ".xhtml"})
SCRIPTS = frozenset({".js", ".mjs"})
STYLES = frozenset({".css"})
_MEDIA = frozenset(
    (
        *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".ico", ".svg"),
        *(".woff", ".woff2", ".ttf", ".otf", ".eot"),
        *(".mp3", ".ogg", ".wav", ".m4a", ".mp4", ".webm"),
    )
)
_NAMED = re.compile(r"[\w\-./%~@+]+\.(?:css|m?js)\b", re.IGNORECASE)
_MOST_PARTS = 500  # files that one reference page is made of


@dataclass(frozen=True, slots=True)
class Withheld:
    """The files in or below `folder` that show the truth; test with `path in withheld`.

    - `documents`: the reference pages; files of the kinds `parts` that they name are withheld
    - `pictures`: stems of pictures in `folder` itself that show a page; matched without case
    """

    folder: Path
    documents: tuple[Path, ...]
    parts: frozenset[str]
    pictures: str = ""  # a regular expression

    def __contains__(self, path: object) -> bool:
        """Return whether a file, its links followed, is withheld."""
        if not isinstance(path, Path) or not path.is_relative_to(self.folder):
            return False
        kind = path.suffix.lower()
        if kind in self.parts:
            return path in _named_by(self.documents, self.folder)
        if kind in SCRIPTS | STYLES:
            return False
        return kind not in _MEDIA or self._shows_a_page(path)

    def _shows_a_page(self, picture: Path) -> bool:
        stem = picture.name.split(".")[0].casefold()
        if picture.parent == self.folder and re.fullmatch(self.pictures, stem):
            return True
        # A screenshot lies beside its page, under its name.
        return any(stem == page.stem.casefold() for page in documents_in(picture.parent))


def documents_in(folder: Path) -> tuple[Path, ...]:
    """Return the HTML files of a folder by name."""
    try:
        found = [entry for entry in folder.iterdir() if entry.suffix.lower() in _DOCUMENTS]
    except OSError:
        return ()
    return tuple(sorted(entry for entry in found if entry.is_file()))


def _named_by(documents: Iterable[Path], folder: Path) -> frozenset[Path]:
    """Return the scripts and style sheets that documents name, directly or indirectly."""
    found: set[Path] = set()
    waiting = list(documents)
    while waiting and len(found) < _MOST_PARTS:
        file = waiting.pop()
        try:
            text = file.read_text("utf-8", "replace")
        except OSError:
            continue
        for name in set(_NAMED.findall(text)):
            for place in (file.parent, folder):
                try:
                    part = (place / unquote(name).lstrip("/")).resolve()
                    known = not part.is_file() or part in found
                except (OSError, ValueError):
                    continue
                if not known:
                    found.add(part)
                    waiting.append(part)
    return frozenset(found)
