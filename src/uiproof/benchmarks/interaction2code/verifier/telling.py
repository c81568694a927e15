"""What the verifier says, in words."""

from __future__ import annotations

from collections.abc import Iterable

from uiproof.benchmarks.interaction2code.failures import UNUSABLE
from uiproof.benchmarks.interaction2code.verifier.evidence import Failure, Verdict
from uiproof.browser.snapshots import ActionKind, Element

DOING: dict[ActionKind, str] = {
    "click": "clicking",
    "hover": "pointing at",
    "type": "typing in",
    "select": "selecting in",
    "drag": "dragging",
    "scroll": "scrolling",
    "key": "pressing a key in",
}


def verdict(failure: Failure, confidence: float, *facts: str, seen: bool | None = None) -> Verdict:
    """A verdict; `seen` says whether acting did anything, where the failure does not say it."""
    implemented = failure not in ("a", "b") if seen is None else seen
    return Verdict(implemented, failure not in UNUSABLE, failure, facts, confidence)


def name_of(element: Element | None) -> str:
    """What an element is called: by its id, else by its tag and what it says."""
    if element is None:
        return "a part without an element"
    if element.id:
        return f"#{element.id}"
    label = element.label.strip()[:30]
    return f"<{element.tag}> “{label}”" if label else f"<{element.tag}>"


def listed(names: Iterable[str]) -> str:
    """Some names in a row."""
    return " and ".join(sorted(names)) or "nothing"
