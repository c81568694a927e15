"""Zooming in step by step, which also says how far to trust the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.answers import Answer
from uiproof.benchmarks.grounding.grounders.base import Grounder, Picture
from uiproof.benchmarks.grounding.searches.base import (
    ENLARGED,
    Looks,
    Sight,
    in_pixels,
    part,
    window,
)
from uiproof.benchmarks.grounding.searches.votes import most_agreed, nearest
from uiproof.boxes import PixelBox

if TYPE_CHECKING:
    from uiproof.engine.context import Context

# As published for ZoomClick (arXiv 2512.05941).
NEAR_PIXELS = 50.0  # a quarter's point that is so near to the direct one replaces it
DEPTH, SHARE, LEAST_SIDE = 3, 0.5, 768


class Zoom:
    """`zoom`: first the whole and its quarters, then twice closer. Up to 7 calls.

    A quarter's guess that is less than 50 px from that on the whole screenshot replaces it; it saw
    more. Then windows of half the sides, at least 768 px and moved where they would stick out,
    around the last guess. Where nothing was found on the whole, a quarter may still have it.

    The confidence is that of consistency: 1 where looking closer finds the same point, 0 where it
    finds one at the edge of the window, or none.
    """

    name = "zoom"
    settings: Mapping[str, Any] = {
        "near": NEAR_PIXELS,
        "depth": DEPTH,
        "share": SHARE,
        "least_side": LEAST_SIDE,
        "enlarged": ENLARGED,
    }

    async def find(
        self, picture: Picture, instruction: str, grounder: Grounder, context: Context
    ) -> Answer:
        """Look, and look closer; the last guess that there is counts."""
        looks = Looks(instruction, grounder, context)
        parts = [part(picture, area) for area in quarters(picture.area)]
        whole, *patches = await looks.at_all([picture, *parts])
        best = _start(whole, patches)
        if best is None or best.point is None:
            return looks.answer(best or whole)
        steadiness: list[float] = []
        area = picture.area
        for _ in range(DEPTH - 1):
            closer = _closer(picture, best, area)
            if (closer.width, closer.height) == (area.width, area.height):
                break
            area = closer
            sight = await looks.at(part(picture, area))
            steadiness.append(_steadiness(best, sight))
            if sight.point is None:
                break
            best = sight
        return looks.answer(best, confidence=min(steadiness, default=None))

    async def close(self) -> None:
        """There is nothing to let go of."""


def quarters(bounds: PixelBox) -> list[PixelBox]:
    """Two by two parts without overlap; fewer where there are not that many pixels."""
    middle_x, middle_y = bounds.left + bounds.width // 2, bounds.top + bounds.height // 2
    columns = ((bounds.left, middle_x), (middle_x, bounds.right))
    rows = ((bounds.top, middle_y), (middle_y, bounds.bottom))
    parts = [PixelBox(left, top, right, bottom) for top, bottom in rows for left, right in columns]
    return [one for one in parts if one.width and one.height]


def _start(whole: Sight, patches: list[Sight]) -> Sight | None:
    if whole.point is None:
        return most_agreed(patches)
    patch, distance = nearest(patches, whole.point)
    return patch if patch is not None and distance < NEAR_PIXELS else whole


def _closer(picture: Picture, best: Sight, area: PixelBox) -> PixelBox:
    assert best.point is not None
    width, height = (min(max(side * SHARE, LEAST_SIDE), side) for side in (area.width, area.height))
    return window(in_pixels(picture, best.point), width, height, picture.area)


def _steadiness(before: Sight, after: Sight) -> float:
    """How little a point moved, in half sides of the window that was looked at."""
    if after.point is None or before.point is None:
        return 0.0
    region = after.picture.region
    across = abs(after.point[0] - before.point[0]) / (region.w / 2)
    down = abs(after.point[1] - before.point[1]) / (region.h / 2)
    return max(0.0, 1.0 - max(across, down))
