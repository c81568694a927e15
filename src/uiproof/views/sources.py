"""What was asked of a model about a case, and what it wrote, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from uiproof.benchmark import Record
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError
from uiproof.views.base import shortened

_LONGEST = 20_000  # characters of a page's HTML, a prompt or an answer
_ALL = 6_000_000  # of all cases


def longest_source(cases: int) -> int:
    """Return how many characters a text of one case may have in a report of so many."""
    return min(_LONGEST, _ALL // max(cases, 1))


def source_texts(
    run: RunDirectory, record: Record, pages: Mapping[str, str], longest: int
) -> list[tuple[str, str, int]]:
    """Return title, text and length of pages and of all prompts and answers, cut where too long.

    `pages` are artifacts with their titles.
    """
    found = _sources(run, record, pages)
    return [(title, shortened(text, longest), len(text)) for title, text in found]


def _sources(
    run: RunDirectory, record: Record, pages: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for name, title in pages.items():
        text = _text(run, record, name)
        if text is not None:
            yield title, text
    kept = _text(run, record, "answer")
    if kept is not None:
        yield from _exchanges(kept)


def _text(run: RunDirectory, record: Record, name: str) -> str | None:
    try:
        return run.artifact(record.artifacts[name]).read_text("utf-8", "replace")
    except (OSError, KeyError, InputError):
        return None


def _exchanges(kept: str) -> Iterator[tuple[str, str]]:
    """Yield the prompts and answers of `answer.json`; the file as it is for anything else."""
    try:
        found: list[Any] = json.loads(kept)
        exchanges = [(one.get("prompt"), str(one["text"])) for one in found]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        yield "Answer", kept
        return
    for number, (prompt, answer) in enumerate(exchanges, 1):
        of = f" {number} of {len(exchanges)}" if len(exchanges) > 1 else ""
        if isinstance(prompt, str):
            yield f"Prompt{of}", prompt
        yield f"Answer{of}", answer
