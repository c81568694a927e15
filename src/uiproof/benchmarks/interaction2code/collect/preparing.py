"""A page made ready to be explored: links to elsewhere cut, pictures and films taken out.

The page and the files that it uses are copied; what the user gave is never changed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from uiproof.benchmarks.interaction2code.collect.placeholders import (
    FILMS,
    NAME,
    PICTURES,
    default_placeholder,
    stand_in,
    without_written_pictures,
)
from uiproof.browser.source import PageSource
from uiproof.errors import InputError

PAGE = "page.html"  # what the prepared page is called

_MOST_FILES = 1_000
_MOST_BYTES = 200_000_000
_TEXT = frozenset({".html", ".htm", ".css", ".js", ".mjs", ".json", ".svg", ".xhtml"})
_LINK = re.compile(
    r"""(<(?:a|area|form)\b[^>]*?\s(?:href|action)\s*=\s*)("\s*(?:https?:)?//[^"]*"|'\s*(?:https?:)?//[^']*'|(?:https?:)?//[^\s>"']+)""",
    re.IGNORECASE,
)
_PICTURE = re.compile(
    r"""(<(?:img|source|input|video|audio)\b[^>]*?\s(?:src|poster)\s*=\s*)("\s*(?:https?:)?//[^"]*"|'\s*(?:https?:)?//[^']*')""",
    re.IGNORECASE,
)
_MANY_PICTURES = re.compile(
    r"""(<(?:img|source)\b[^>]*?)\ssrcset\s*=\s*("[^"]*"|'[^']*')""", re.IGNORECASE
)
_NAME = re.compile(r"""[\w\-./%~@+ ]*[\w\-%~@+]\.[A-Za-z0-9]{2,5}\b""")
_QUOTED = re.compile(r"""["'(=]\s*([^"'()<>\n]{1,300})""")


def prepare(source: Path, folder: Path, *, everything: bool = False) -> PageSource:
    """Copy a page, a file or the `index.html` of a folder, into an empty folder, made ready.

    Only the files that it names come along, or `everything` in its folder.
    """
    page = _page_of(source)
    original = replace(PageSource.from_file(page), trusted=True)  # it is the user's own choice
    html = without_written_pictures(cut_links(original.text))
    if everything:
        files = [path for path in page.parent.rglob("*") if path.is_file() and path != page]
    else:
        files = files_of(page, page.parent)
    for file in files:
        name = file.relative_to(page.parent)
        if original.own_file(str(name)) is not None:  # nothing hidden
            _copy(file, folder / name)
    if NAME in html:
        (folder / NAME).write_bytes(default_placeholder())
    (folder / PAGE).write_bytes(original.with_text(html).html)
    return replace(PageSource.from_file(folder / PAGE), trusted=True)


def cut_links(html: str) -> str:
    """The page with dead links instead of those to other sites, and no pictures of other sites."""
    html = _LINK.sub(r'\1"javascript:void(0)"', html)
    html = _MANY_PICTURES.sub(r"\1", html)
    return _PICTURE.sub(rf'\1"{NAME}"', html)


def files_of(page: Path, root: Path) -> list[Path]:
    """The files of its folder that a page names, and those that they name, the page left out."""
    root = root.resolve()
    seen: dict[Path, None] = {page.resolve(): None}
    waiting, size = [page.resolve()], 0
    while waiting:
        for file in _named_in(waiting.pop(), root):
            if file in seen:
                continue
            size += file.stat().st_size
            if len(seen) > _MOST_FILES or size > _MOST_BYTES:
                raise InputError(
                    f"{page} uses more than {_MOST_FILES} files or {_MOST_BYTES // 10**6} MB.",
                    remedy="Put the page and what it needs into a folder of its own.",
                )
            seen[file] = None
            if file.suffix.lower() in _TEXT:
                waiting.append(file)
    return list(seen)[1:]


def _page_of(source: Path) -> Path:
    if source.is_dir():
        for name in (PAGE, "index.html", "index.htm"):
            if (source / name).is_file():
                return (source / name).resolve()
        raise InputError(f"The folder {source} has no index.html.", remedy="Name the page itself.")
    if not source.is_file():
        raise InputError(f"There is no page {source}.", remedy="Check the path.")
    return source.resolve()


def _named_in(file: Path, root: Path) -> Iterator[Path]:
    """Every existing file inside the folder whose name is quoted in a file."""
    for quoted in _QUOTED.findall(file.read_text("utf-8", "replace")):
        for name in (quoted, *quoted.split(",")):
            word = unquote(name.strip().split("?")[0].split("#")[0].split(" ")[0])
            if not _NAME.fullmatch(word):
                continue
            for folder in (file.parent, root):
                try:
                    found = (folder / word.lstrip("/")).resolve()
                    if found.is_file() and found.is_relative_to(root):
                        yield found
                        break
                except OSError:
                    continue


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    kind = file.suffix.lower()
    if kind in PICTURES:
        to.write_bytes(stand_in(file))
    elif kind in {".html", ".htm"}:
        page = PageSource.from_file(file)
        to.write_bytes(page.with_text(without_written_pictures(cut_links(page.text))).html)
    elif kind not in FILMS:
        shutil.copyfile(file, to)
