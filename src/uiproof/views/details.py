"""Records as pages show them: differences, foreign requests, prompts and answers, flags in words.

A judge lists differences, worst first, in `Record.details` or in an artifact `differences`. Each
has `kind`, `says`, `box` and `reference_box` (x, y, width and height in CSS pixels), `was`, `is`,
`selector`, `impact` (0-1) and `members`, further boxes; all but `says` may be absent.
`differences.js` draws them.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from uiproof.benchmark import Record
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError
from uiproof.views.base import shortened

_MOST_DIFFERENCES = 60  # of a case
_MOST_MEMBERS = 30  # boxes of one difference
_LONGEST_WORDS = 300  # characters of a difference
_LONGEST_ADDRESS = 120
_LONGEST_SOURCE = 20_000  # of a page's HTML, a prompt or an answer
_ALL_SOURCES = 6_000_000  # of all cases
_OUTCOMES = {
    "missing": "No copy here",
    "refused": "Refused",
    "placeholder": "Placeholders",
    "archive": "From the archive",
    "frozen": "From frozen copies",
}
_SUBJECTS = {
    "generated": "the generated page",
    "reference": "the reference",
    "answer": "the answer",
    "method": "the method",
}
# Flags in words; docs/rendering.md explains them.
_WORDS = {
    "act_refused": "has an element that could not be acted on",
    "boxes_skipped": "has boxes that are not valid, which were ignored",
    "load_timeout": "never finished loading",
    "no_visible_change": "does not change when it is acted on",
    "restless": "never came to rest",
    "fenced": "was in a Markdown fence, and was taken out",
    "unfenced": "was in a Markdown fence, JSON or thoughts, and was taken out",
    "picture_scaled": "is about a screenshot that was scaled for the model",
    "unsure": "has a verdict that is not sure",
    "cut_height": "is taller than the limit, and was cut",
    "cut_width": "is wider than the limit, and was cut",
    "requests_blocked": "asked for files of other hosts and did not get them",
    "incomplete": "lacks a style sheet or script of another host",
    "fonts_missing": "lacks a font of another host",
    "integrity_mismatch": "names a file of another host that has changed",
    "script_errors": "has scripts that failed",
    "files_missing": "asked for files that its folder does not have",
    "navigation_blocked": "tried to become another page",
    "left_document": "became another page; it was shown without scripts",
    "crashed": "crashed the browser; it was shown without scripts",
    "timeout": "hung the browser; it was shown without scripts",
    "scripts_off": "was shown without scripts",
    "busy": "never came to rest",
    "missing_glyphs": "has text that no font here can show",
    "cleaned": "had markup that was cut or repaired before the comparison",
    "not_html": "is not HTML",
    "text_cut": "has more text than can be measured",
    "truncated": "was cut off by the limit of tokens",
    "several_pages": "has several pages, of which the longest was taken",
    "unterminated": "ends before the page does",
    "fragment": "is a fragment of a page",
    "component": "is a component that a page was made of",
    "declined": "declines the question",
}
HARMLESS = frozenset({"answer:fenced", "answer:wrapped", "answer:json", "generated:unfenced"})


def read_differences(path: Path) -> list[dict[str, Any]] | None:
    """Return the differences of a file; None if it cannot be read."""
    try:
        return shown_differences(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, RecursionError):
        return None


def shown_differences(found: Any) -> list[dict[str, Any]] | None:
    """Return differences as scripts take them; None for anything else than a list."""
    if not isinstance(found, list):
        return None
    return [_shown(one) for one in found[:_MOST_DIFFERENCES] if isinstance(one, Mapping)]


def _shown(one: Mapping[str, Any]) -> dict[str, Any]:
    kind, impact, members = one.get("kind"), one.get("impact"), one.get("members")
    boxes = [_box(box) for box in members[:_MOST_MEMBERS]] if isinstance(members, list) else []
    return {
        "kind": kind if isinstance(kind, str) and kind.isalpha() else "other",
        "says": _words(one.get("says")) or "",
        "box": _box(one.get("box")),
        "reference_box": _box(one.get("reference_box")),
        **{name: _words(one.get(name)) for name in ("was", "is", "selector")},
        "impact": round(impact, 4) if impact is not None and _is_number(impact) else None,
        "members": [box for box in boxes if box is not None],
    }


def _words(value: Any) -> str | None:
    return shortened(value, _LONGEST_WORDS) if isinstance(value, str) else None


def _box(value: Any) -> list[float] | None:
    if not isinstance(value, list) or len(value) != 4 or not all(map(_is_number, value)):
        return None
    return [round(float(side), 1) for side in value]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def missing_addresses(records: Iterable[Record]) -> list[tuple[str, str, int]]:
    """Return kind, address and number of cases, most frequent first.

    Queries say nothing about which file it is, so they are cut off; that of a font service does.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for record in records:
        asked = {
            (kind, address if kind == "font" else address.partition("?")[0])
            for log in _sides(record).values()
            for kind, address, _ in _listed(log, "missing")
        }
        counts.update(asked)
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [
        (kind, shortened(address, _LONGEST_ADDRESS), count) for (kind, address), count in ranked
    ]


def requests_of(record: Record) -> list[dict[str, Any]]:
    """Return what reports show of a case: by side, what was asked with its outcome, and errors."""
    return [
        {
            "side": side,
            "groups": [
                {"outcome": title, "files": files}
                for outcome, title in _OUTCOMES.items()
                if (files := _listed(log, outcome))
            ],
            "errors": [str(one) for one in log.get("errors") or ()],
        }
        for side, log in _sides(record).items()
    ]


def _sides(record: Record) -> Mapping[str, Mapping[str, Any]]:
    found = record.details.get("web")
    return found if isinstance(found, Mapping) else {}


def _listed(log: Mapping[str, Any], outcome: str) -> list[tuple[str, str, str]]:
    """Return kind, address and note of the requests with an outcome."""
    return [
        (str(one[0]), str(one[1]), str(one[2]) if len(one) > 2 else "")
        for one in log.get(outcome) or ()
    ]


def longest_source(cases: int) -> int:
    """Return how many characters a text of one case may have in a report of so many."""
    return min(_LONGEST_SOURCE, _ALL_SOURCES // max(cases, 1))


def source_texts(
    run: RunDirectory, record: Record, pages: Mapping[str, str], longest: int
) -> list[tuple[str, str, int]]:
    """Return title, text and length of pages and of all prompts and answers, cut where too long.

    `pages` are artifacts with their titles.
    """
    found: list[tuple[str, str]] = []
    for name, title in {**pages, "answer": "Answer"}.items():
        try:
            text = run.artifact(record.artifacts[name]).read_text("utf-8", "replace")
        except (OSError, KeyError, InputError):
            continue
        found += _exchanges(text) if name == "answer" else [(title, text)]
    return [(title, shortened(text, longest), len(text)) for title, text in found]


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


def meaning(name: str) -> str:
    """Return what a flag says of a page, without its subject; an unknown one by its name."""
    return _WORDS.get(name, name.replace("_", " "))


def flag_words(flag: str) -> str:
    """Return a flag such as `generated:load_timeout` as a sentence without its full stop."""
    side, _, name = flag.rpartition(":")
    said = meaning(name)
    if not side:
        return f"the page {said}" if name in _WORDS else said
    subject = _SUBJECTS.get(side, side.replace("_", " "))
    return f"{subject} {said}" if name in _WORDS else f"{subject}: {said}"
