"""Grounders that never look: what a protocol gives away shows when they score.

`centre`, `corner` and `random` click without looking; `grid` names boxes of a fixed grid in many
sizes, as a parser would. Under an honest protocol none of them does better than chance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.assisted import Detection, Detections
from uiproof.benchmarks.grounding.grounders.base import Guess, Picture
from uiproof.boxes import Box

if TYPE_CHECKING:
    from uiproof.engine.context import Context

CONTROLS: Mapping[str, str] = {
    "centre": "always clicks the middle, without looking",
    "corner": "always clicks the top left corner, without looking",
    "random": "clicks anywhere, without looking",
    "grid": "names boxes of a fixed grid, without looking",
}
# Sides of the grid's boxes as fractions of the picture: wide and flat as controls are.
_WIDTHS = (0.02, 0.04, 0.08)
_ASPECTS = (0.7, 1.5)  # height by width, both as fractions of their side
_STEP = 0.5  # of a box, from one to the next


class Control:
    """One of the `CONTROLS`, as a grounder."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self._name, self._seed = name, seed

    @property
    def name(self) -> str:
        """`centre`, `corner`, `random` or `grid`."""
        return self._name

    @property
    def concurrency(self) -> int:
        """It never waits."""
        return 1

    @property
    def settings(self) -> Mapping[str, Any]:
        """Which random numbers it uses, where it uses any."""
        return {"seed": self._seed} if self._name in ("random", "grid") else {}

    async def ground(self, picture: Picture, instruction: str, context: Context) -> Guess:  # noqa: ARG002
        """A point, or a box of the grid, that has nothing to do with the picture."""
        if self._name == "centre":
            return Guess(point=(0.5, 0.5))
        if self._name == "corner":
            return Guess(point=(0.0, 0.0))
        region = picture.region
        first, second = self._fractions(f"{instruction} {region}")
        if self._name == "random":
            return Guess(point=(first, second))
        boxes = grid_boxes()
        return Guess(box=boxes[int(first * len(boxes))])

    async def parse(self, picture: Picture, context: Context) -> Sequence[Detection]:  # noqa: ARG002
        """The boxes of the grid, whatever is in the picture."""
        return _grid()

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _fractions(self, text: str) -> tuple[float, float]:
        """Two numbers in 0-1 that look random and are the same for the same text."""
        digest = hashlib.sha256(f"{self._seed} {text}".encode()).digest()
        first, second = digest[:7], digest[7:14]
        return int.from_bytes(first) / 2**56, int.from_bytes(second) / 2**56


@cache
def _grid() -> Detections:
    return Detections(Detection(box) for box in grid_boxes())


@cache
def grid_boxes() -> tuple[Box, ...]:
    """Boxes that cover a picture in several sizes, whatever is in it."""
    boxes = []
    for width in _WIDTHS:
        for aspect in _ASPECTS:
            height = width * aspect
            columns, rows = int((1 - width) / (width * _STEP)), int((1 - height) / (height * _STEP))
            boxes += [
                Box(column * width * _STEP, row * height * _STEP, width, height)
                for row in range(rows + 1)
                for column in range(columns + 1)
            ]
    return tuple(boxes)
