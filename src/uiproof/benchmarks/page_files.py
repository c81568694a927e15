"""Pages in files that may hold a component, a Markdown fence, JSON or a picture instead.

Saved answers of a model may still be in a Markdown fence, in JSON, or after its reasoning. The page
in them is found as in a run that asks the model. Judges call this for files, strings and requests.
"""

from __future__ import annotations

import re
from dataclasses import replace

from uiproof.browser.source import PageSource
from uiproof.errors import InputError, UiproofError
from uiproof.models.answers import FENCED, JSON_WRAPPED, page_in
from uiproof.models.components import (
    COMPONENT,
    SUFFIXES,
    Kind,
    component_page,
    looks_like_component,
)
from uiproof.models.types import Finish, Reply

UNFENCED = "unfenced"  # the page was in a fence, in JSON or behind thoughts, and was taken out
NOT_HTML = "not_html"  # the file is something else, such as a picture

_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF87a": "a GIF picture",
    b"GIF89a": "a GIF picture",
    b"RIFF": "a WebP picture or another RIFF file",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ\x00": "an xz archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"\x7fELF": "a program",
    b"PAR1": "a Parquet table",
    b"SQLite format 3\x00": "a database",
}
_FENCED = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_THOUGHTS = re.compile(r"\s*(?:<(?:think|thinking|thought|reasoning)>|◁think▷)", re.IGNORECASE)


def generated_page(source: PageSource) -> PageSource:
    """Return the page of a generated file; `source.notes` lists what was unusual about the file."""
    if _what_else(source.html):
        return _noted(source, NOT_HTML)
    text = source.text
    kind = None if source.path is None else SUFFIXES.get(source.path.suffix.lower())
    if kind is not None and COMPONENT not in source.notes:
        return _component(source, text, kind)
    start = text[:100].lstrip("\ufeff \t\r\n")
    thoughts = _THOUGHTS.match(text) is not None
    if not (thoughts or start.startswith("{") or "```" in text or "~~~" in text):
        return source
    try:
        page = page_in(Reply(text, Finish.STOP))
    except UiproofError:
        return source  # scored as it is
    if not thoughts and not {FENCED, JSON_WRAPPED} & set(page.flags):
        return source
    return _noted(source.with_text(page.html), UNFENCED)


def _component(source: PageSource, text: str, kind: Kind) -> PageSource:
    """Return the page of a component's file, which may hold the whole answer of a model."""
    notes: tuple[str, ...] = ()
    if looks_like_component(text, kind) and not _FENCED.search(text):
        html, notes = component_page(text, kind)
    else:
        try:
            html = page_in(Reply(text, Finish.STOP)).html
        except UiproofError:
            html, notes = component_page(text, kind)
        else:
            notes = (COMPONENT, UNFENCED)
    for note in notes:
        source = _noted(source, note)
    return source.with_text(html)


def reference_page(source: PageSource) -> PageSource:
    """Return the page of a reference; raise `InputError` for one that is not a page."""
    if what := _what_else(source.html):
        raise InputError(
            f"{source.path or 'The reference'} is {what}, not an HTML page.",
            remedy="Put the page itself there.",
        )
    return generated_page(source)


def _what_else(data: bytes) -> str | None:
    return next((what for start, what in _SIGNATURES.items() if data.startswith(start)), None)


def _noted(source: PageSource, note: str) -> PageSource:
    return replace(source, notes=tuple(dict.fromkeys((*source.notes, note))))
