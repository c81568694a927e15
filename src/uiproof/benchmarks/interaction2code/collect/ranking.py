"""Which interactions mean most to a person who uses the page."""

from __future__ import annotations

import re
from math import sqrt

from uiproof.benchmarks.interaction2code.collect.findings import Finding
from uiproof.benchmarks.interaction2code.collect.trivial import total_area

_BY_VISUAL = {
    "new window": 1.0,
    "new component": 0.8,
    "switch": 0.7,
    "position": 0.6,
    "new page": 0.6,
    "text": 0.5,
    "size": 0.5,
    "color": 0.4,
}
# Few pages have many of these, so that those that there are should not be lost among the clicks.
_BY_KIND = {"type": 0.3, "select": 0.4, "drag": 0.4, "key": 0.3, "scroll": 0.2}


def meaning(finding: Finding) -> float:
    """How much an interaction means: by what it changes, how much of the page, and new words."""
    visuals = sorted((_BY_VISUAL.get(name, 0.0) for name in finding.visuals), reverse=True)
    score = sum(value * 0.5**place for place, value in enumerate(visuals))
    width, height = finding.later.size
    changed = total_area(
        (*finding.changes.appeared, *(new for _, new in finding.changes.recoloured))
    )
    score += 0.5 * sqrt(min(changed / max(width * height, 1), 1.0))
    score += min(len(new_words(finding)), 20) / 40
    return score + _BY_KIND.get(finding.action.kind, 0.0) + (0.1 if finding.sure else 0.0)


def new_words(finding: Finding) -> set[str]:
    """The words that can be read after an interaction and not before it."""
    before = {word for one in finding.snapshot.elements for word in _words(one.text)}
    return {word for one in finding.later.elements for word in _words(one.text)} - before


def best(findings: list[Finding], most: int) -> list[Finding]:
    """The interactions that mean most, in the order in which they stand on the page."""
    chosen = sorted(findings, key=meaning, reverse=True)[:most]
    return sorted(chosen, key=lambda one: (one.trigger.top // 8, one.trigger.left))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
