"""Parts of a screenshot that are chosen by looking at where the target is.

These are the cropping strategies of the grounding framework as described. They use the truth, so
methods that use them are `assisted`. `searches/` has those that do not.
"""

from __future__ import annotations

from collections.abc import Mapping

from uiproof.benchmarks.grounding.answers import WHOLE, Point
from uiproof.boxes import Box

FIXED_SIDES = (200, 300, 500)  # pixels
_MOST_REGIONS = 5  # besides the whole screenshot

CROPPINGS: Mapping[str, str] = {
    "baseline": "the whole screenshot",
    "fixed": "then squares of 200, 300 and 500 px around the target",
    "screenseeker": "then bars, sides, the middle and a quarter where the target is",
}


def regions(cropping: str, target: Point, width: int, height: int) -> list[Box]:
    """What to look at, in this order: the whole screenshot first."""
    if cropping == "fixed":
        return [WHOLE, *(_square(target, side, width, height) for side in FIXED_SIDES)]
    if cropping == "screenseeker":
        return [WHOLE, *_places(target)[:_MOST_REGIONS]]
    return [WHOLE]


def _square(centre: Point, side: int, width: int, height: int) -> Box:
    """A square around a point, moved where it would leave the screenshot."""
    w, h = min(side / width, 1.0), min(side / height, 1.0)
    x = min(max(centre[0] - w / 2, 0.0), 1.0 - w)
    y = min(max(centre[1] - h / 2, 0.0), 1.0 - h)
    return Box(x, y, w, h)


def _places(target: Point) -> list[Box]:
    """Typical parts of a user interface that hold the target."""
    x, y = target
    found = []
    if y < 0.15:
        found.append(Box(0.0, 0.0, 1.0, 0.15))  # top bar
    if x < 0.25:
        found.append(Box(0.0, 0.0, 0.3, 1.0))  # left side
    if x > 0.75:
        found.append(Box(0.7, 0.0, 0.3, 1.0))  # right side
    if y > 0.9:
        found.append(Box(0.0, 0.85, 1.0, 0.15))  # bottom bar
    found.append(Box(0.15, 0.1, 0.7, 0.8))  # middle
    found.append(Box(0.5 if x >= 0.5 else 0.0, 0.5 if y >= 0.5 else 0.0, 0.5, 0.5))  # quarter
    return found
