"""The working pages: their HTML and what is said about each of their interactions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent / "pages"
# Errors on these must not guide the rules: `measure.py` only counts them.
HELD = frozenset({"calendar", "mailbox", "plans", "portal", "quiz", "workbench"})

_SPEC = re.compile(r'<script type="application/json" id="spec">(.*?)</script>\s*', re.DOTALL)


@dataclass(frozen=True)
class Edit:
    """A change of a page's own source that makes one failure of one interaction."""

    type: str
    name: str
    find: str
    replace: str


@dataclass(frozen=True)
class Working:
    """An interaction that works, and what the mutations must know of it."""

    number: int
    kind: str
    value: str | None
    sentence: str
    description: str
    tags: tuple[str, ...]
    visuals: tuple[str, ...]
    effect: tuple[str, ...]  # selectors of what it changes, the most important first
    parts: tuple[str, ...]  # selectors of what a partial implementation may leave out
    edits: tuple[Edit, ...]

    @property
    def id(self) -> str:
        """The id of its element."""
        return f"interact{self.number}"


@dataclass(frozen=True)
class Page:
    """A page of ours with its interactions."""

    name: str
    html: str
    topic: str
    viewport: tuple[int, int]
    full_page: bool
    scale: int
    interactions: tuple[Working, ...]
    siblings: tuple[Path, ...]  # other files that it leads to

    @property
    def held(self) -> bool:
        """Whether its errors are only counted."""
        return self.name in HELD


def load_page(name: str) -> Page:
    """A page by its name."""
    text = (PAGES / f"{name}.html").read_text(encoding="utf-8")
    found = _SPEC.search(text)
    if found is None:
        raise ValueError(f"{name} does not say what its interactions are")
    spec = json.loads(found[1])
    return Page(
        name=name,
        html=_SPEC.sub("", text),
        topic=spec["topic"],
        viewport=(spec["viewport"][0], spec["viewport"][1]),
        full_page=spec["full_page"],
        scale=spec.get("scale", 1),
        interactions=tuple(
            _interaction(number, one) for number, one in enumerate(spec["interactions"], 1)
        ),
        siblings=tuple(PAGES / sibling for sibling in spec.get("siblings", ())),
    )


def _interaction(number: int, spec: dict[str, Any]) -> Working:
    return Working(
        number=number,
        kind=spec["kind"],
        value=spec.get("value"),
        sentence=spec["sentence"],
        description=spec["description"],
        tags=tuple(spec["tags"]),
        visuals=tuple(spec["visuals"]),
        effect=tuple(spec["effect"]),
        parts=tuple(spec.get("parts", ())),
        edits=tuple(
            Edit(edit["type"], edit["name"], edit["find"], edit["replace"])
            for edit in spec.get("edits", ())
        ),
    )


def load_pages(names: list[str] | None = None) -> list[Page]:
    """All pages, or those with these names, in the order of their names."""
    return [load_page(name) for name in names or sorted(path.stem for path in PAGES.glob("*.html"))]
