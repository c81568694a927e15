"""What an answer amounts to: hit, wrong element, near miss and so on. Pure geometry.

All of it is computed in pixels of the screenshot. An edge belongs to the element, as in the
scorers of the published data sets (`x1 <= x <= x2`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import hypot, isfinite
from typing import TYPE_CHECKING

from uiproof.benchmarks.grounding.answers import Answer, Point
from uiproof.benchmarks.grounding.data import AnnotatedElement
from uiproof.boxes import Box

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.cases import Truth

# How far from the target a click may be to count as near, as a part of the screenshot's diagonal:
# 55 px at 1920 x 1080, and the same part of the picture at any other resolution.
NEAR = 0.025
# Pixels that are the same number before and after a conversion to fractions differ by less.
_NOISE_PX = 1e-6


class Kind(StrEnum):
    """The kinds of verdicts. Where a server failed there is none: the case failed."""

    HIT = "hit"
    CORRECT_REFUSAL = "correct_refusal"  # said that it is not there, and it is not
    WRONG_ELEMENT = "wrong_element"  # on another annotated element
    NEAR_MISS = "near_miss"  # on no annotated element, but close to the target
    MISS = "miss"  # on no annotated element, far from the target
    OUTSIDE = "outside"  # not on the screenshot at all
    REFUSED = "refused"  # said that it is not there, but it is
    FALSE_POINT = "false_point"  # pointed somewhere, but it is not there
    UNPARSEABLE = "unparseable"  # neither a place nor a refusal


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one answer.

    `distance_px` goes from the click to the nearest part of the target: 0 for hits, None where
    there is no click or no target. `iou` compares the box of the answer, where it has one, with
    the box of the element.
    """

    kind: Kind
    element_id: str | None = None  # the annotated element that was clicked, if any
    distance_px: float | None = None
    iou: float | None = None

    @property
    def correct(self) -> bool:
        """Whether it counts."""
        return self.kind in (Kind.HIT, Kind.CORRECT_REFUSAL)


def verdict(answer: Answer, truth: Truth) -> Verdict:
    """Compare an answer with the element that was asked for.

    A click counts inside of the outline (where the element has one), else inside of the box; for
    an element with a clickable area also inside of that. Points outside of the screenshot are
    never moved into it.
    """
    click, size = _click(answer), (truth.width, truth.height)
    if truth.element.refusal:
        if answer.refused:
            return Verdict(Kind.CORRECT_REFUSAL)
        return Verdict(Kind.UNPARSEABLE if click is None else Kind.FALSE_POINT)
    if answer.refused:
        return Verdict(Kind.REFUSED)
    if click is None:
        return Verdict(Kind.UNPARSEABLE)
    iou = None if answer.box is None else answer.box.iou(truth.element.bbox)
    point = (click[0] * size[0], click[1] * size[1])
    distance = distance_px(truth.element, point, size)
    if not _on_image(point, size):
        return Verdict(Kind.OUTSIDE, None, distance, iou)
    if distance <= _NOISE_PX:
        return Verdict(Kind.HIT, truth.element.id, 0.0, iou)
    if (other := _other_element(truth, point, size)) is not None:
        return Verdict(Kind.WRONG_ELEMENT, other.id, distance, iou)
    near = distance <= NEAR * hypot(*size)
    return Verdict(Kind.NEAR_MISS if near else Kind.MISS, None, distance, iou)


def hits(element: AnnotatedElement, click: Point, width: int, height: int) -> bool:
    """Whether a click (as fractions of the screenshot) is on an element."""
    point = (click[0] * width, click[1] * height)
    return distance_px(element, point, (width, height)) <= _NOISE_PX


def distance_px(element: AnnotatedElement, point: Point, size: tuple[int, int]) -> float:
    """How far a point (in pixels) is from an element; 0 inside and on its edge."""
    if element.polygon:
        corners = [(x * size[0], y * size[1]) for x, y in element.polygon]
        distance = distance_to_polygon(point, corners)
    else:
        distance = _distance_to_box(point, element.bbox, size)
    if element.clickable is not None:
        distance = min(distance, _distance_to_box(point, element.clickable, size))
    return distance


def distance_to_polygon(point: Point, corners: Sequence[Point]) -> float:
    """How far a point is from a polygon; 0 inside and on its edge.

    Where edges cross each other, inside is what an odd number of edges separates from far away.
    """
    x, y = point
    inside, nearest = False, float("inf")
    ax, ay = corners[-1]
    for bx, by in corners:
        # Only one end of an edge counts, so that a ray through a corner crosses once.
        if (ay > y) != (by > y) and x < ax + (y - ay) / (by - ay) * (bx - ax):
            inside = not inside
        nearest = min(nearest, _distance_to_segment(x, y, ax, ay, bx, by))
        ax, ay = bx, by
    return 0.0 if inside else nearest


def _distance_to_segment(x: float, y: float, ax: float, ay: float, bx: float, by: float) -> float:
    dx, dy = bx - ax, by - ay
    length = dx * dx + dy * dy
    along = ((x - ax) * dx + (y - ay) * dy) / length if length else 0.0
    along = min(max(along, 0.0), 1.0)
    return hypot(x - ax - along * dx, y - ay - along * dy)


def _distance_to_box(point: Point, box: Box, size: tuple[int, int]) -> float:
    (x, y), (width, height) = point, size
    across = max(box.x * width - x, x - (box.x + box.w) * width, 0.0)
    down = max(box.y * height - y, y - (box.y + box.h) * height, 0.0)
    return hypot(across, down)


def _click(answer: Answer) -> Point | None:
    click = answer.click
    return click if click is not None and all(map(isfinite, click)) else None


def _on_image(point: Point, size: tuple[int, int]) -> bool:
    return all(-_NOISE_PX <= at <= limit + _NOISE_PX for at, limit in zip(point, size, strict=True))


def _other_element(truth: Truth, point: Point, size: tuple[int, int]) -> AnnotatedElement | None:
    """The smallest of the other elements under a point: the one that a person would name."""
    under = [
        other
        for other in truth.others
        if other.id != truth.element.id
        and not other.refusal
        and distance_px(other, point, size) <= _NOISE_PX
    ]
    return min(under, key=lambda other: other.bbox.area, default=None)
