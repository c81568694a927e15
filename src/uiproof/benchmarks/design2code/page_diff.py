"""A difference between two pages, and all of a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from uiproof.benchmarks.design2code.blocks import PixelRect

KINDS = (
    *("missing", "extra", "text", "colour", "background", "moved", "resized", "font"),
    *("spacing", "picture", "order", "interaction"),
)
_PARTS = {
    "block_match": ("missing", "extra", "text", "font", "resized"),
    "text": ("missing", "extra", "text"),
    "position": ("missing", "extra", "moved", "spacing", "order", "resized", "font"),
    "color": ("missing", "extra", "colour", "background"),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference of a generated page from its reference, and everything it has caused.

    Boxes are x, y, width and height in CSS pixels. `members` are the boxes of all things that it
    is about on the generated page, or on the reference page for `missing`.
    """

    kind: str
    box: PixelRect | None
    reference_box: PixelRect | None
    selector: str | None
    was: str | None  # on the reference page
    is_: str | None  # on the generated page
    impact: float  # 0-1, how much of what a person sees
    cost: float  # how much of the `strict` score it takes, an estimate
    says: str
    count: int = 1
    members: tuple[PixelRect, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the difference as `--json` and reports have it."""
        return {
            "kind": self.kind,
            "box": _rounded(self.box),
            "reference_box": _rounded(self.reference_box),
            "selector": self.selector,
            "was": self.was,
            "is": self.is_,
            "impact": round(self.impact, 4),
            "cost": round(self.cost, 5),
            "says": self.says,
            "count": self.count,
        }

    def members_as_json(self) -> list[list[float]]:
        """Return the boxes of everything it is about, which pages draw."""
        return [[round(side, 1) for side in box] for box in self.members]


@dataclass(frozen=True, slots=True)
class PageDiff:
    """All differences of a page, worst first, with the pictures that they were found in."""

    differences: tuple[Difference, ...]
    reference_picture: bytes = field(repr=False)  # PNG, device pixels
    generated_picture: bytes = field(repr=False)
    reference_size: tuple[int, int]  # CSS pixels
    generated_size: tuple[int, int]
    scores: Mapping[str, Any] = field(default_factory=dict)  # by profile, as in a journal
    flags: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return everything but the pictures."""
        return {
            "differences": [one.as_json() for one in self.differences],
            "reference_size": list(self.reference_size),
            "generated_size": list(self.generated_size),
            "scores": dict(self.scores),
            "flags": list(self.flags),
        }


def with_costs(
    differences: Sequence[Difference], strict: Mapping[str, Any] | None
) -> list[Difference]:
    """Share out what a page has lost of each part of its score among the differences."""
    if not strict or not differences:
        return list(differences)
    parts = {
        name: max(1 - value, 0.0)
        for name, value in strict.items()
        if isinstance(value, float) and name not in ("final", "mean_without_clip")
    }
    costs = [0.0] * len(differences)
    for name, loss in parts.items():
        kinds = _PARTS.get(name, KINDS)
        weights = [one.impact if one.kind in kinds else 0.0 for one in differences]
        if not any(weights):
            weights = [one.impact for one in differences]
        for index, weight in enumerate(weights):
            costs[index] += loss / len(parts) * weight / sum(weights)
    return [replace(one, cost=cost) for one, cost in zip(differences, costs, strict=True)]


def _rounded(box: PixelRect | None) -> list[float] | None:
    return None if box is None else [round(value, 1) for value in box]
