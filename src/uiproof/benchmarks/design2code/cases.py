"""Design2Code data: the published folder layout, or two files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from uiproof.benchmark import Case
from uiproof.errors import InputError

PLACEHOLDER = "rick.jpg"  # the image that stands for every image of a published page
_PAGE_SUFFIXES = (".html", ".htm")


@dataclass(frozen=True, slots=True)
class Question:
    """The part of a page that a method sees."""

    screenshot: Path | None = None  # a PNG of the whole page; made by the judge
    texts: tuple[str, ...] = ()  # all texts of the page, for the text-augmented prompt


@dataclass(frozen=True, slots=True)
class Truth:
    """The page itself."""

    page: Path


Design2CodeCase = Case[Question, Truth]


def recognises(path: Path) -> bool:
    """Return whether a path is a page or a folder that holds pages."""
    # With an `action.json` it is a page of Interaction2Code that has its source beside it.
    return not (path / "action.json").is_file() and bool(pages_in(path))


def pages_in(path: Path) -> dict[str, Path]:
    """Return the pages of a folder by stem, in natural order; for a file, that page alone."""
    if path.is_file():
        return {path.stem: path} if path.suffix.lower() in _PAGE_SUFFIXES else {}
    if not path.is_dir():
        return {}
    found = [
        entry
        for entry in path.iterdir()
        if entry.suffix.lower() in _PAGE_SUFFIXES
        and entry.is_file()
        and not entry.name.startswith(".")  # what some systems leave beside the real files
    ]
    pages: dict[str, Path] = {}
    for page in sorted(found, key=lambda page: (_natural(page.stem), page.suffix != ".html")):
        # Two pages that differ only in their suffix are two pages.
        pages[page.name if page.stem in pages else page.stem] = page
    return pages


def cases(path: Path) -> Iterable[Design2CodeCase]:
    """Yield the cases of a folder in the published layout, or of one page."""
    pages = pages_in(path)
    if not pages:
        raise InputError(
            f"There are no pages in {path}.",
            remedy="A Design2Code data set is a folder of N.html files with their images.",
        )
    return [Case(stem, Question(), Truth(page.resolve())) for stem, page in pages.items()]


def _natural(stem: str) -> tuple[int, int, str]:
    """Return numbers in their order before names in theirs."""
    return (0, int(stem), "") if stem.isdecimal() else (1, 0, stem)
