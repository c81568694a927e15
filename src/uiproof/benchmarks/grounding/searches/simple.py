"""Searches that look at the whole screenshot, and then again around what was found there."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.answers import Answer
from uiproof.benchmarks.grounding.grounders.base import Grounder, Picture
from uiproof.benchmarks.grounding.searches.base import ENLARGED, Looks, in_pixels, part, window
from uiproof.benchmarks.grounding.searches.votes import most_agreed
from uiproof.boxes import PixelBox

if TYPE_CHECKING:
    from uiproof.engine.context import Context

FIXED_SIDES = (200, 300, 500)  # pixels, as the described framework has them around the target
REGROUND_SIDE = 1024
NARROW_ROUNDS, NARROW_SHARE = 3, 0.5
TILE_SIDE, TILE_OVERLAP = 1024, 0.25
FEWEST_TILES, MOST_TILES = 2, 4  # across, and down


class NoSearch:
    """`none`: one look at the whole screenshot, and whatever it says. 1 call."""

    name = "none"
    settings: Mapping[str, Any] = {}

    async def find(
        self, picture: Picture, instruction: str, grounder: Grounder, context: Context
    ) -> Answer:
        """The grounder's guess."""
        looks = Looks(instruction, grounder, context)
        return looks.answer(await looks.at(picture))

    async def close(self) -> None:
        """There is nothing to let go of."""


class FixedCrops(NoSearch):
    """`fixed`: squares of 200, 300 and 500 px around the first guess. Up to 4 calls.

    The answer is the guess that most others agree with (`votes.most_agreed`).
    """

    name = "fixed"
    settings: Mapping[str, Any] = {"sides": list(FIXED_SIDES), "enlarged": ENLARGED}

    async def find(
        self, picture: Picture, instruction: str, grounder: Grounder, context: Context
    ) -> Answer:
        """Look once, then at the squares around what was found."""
        looks = Looks(instruction, grounder, context)
        first = await looks.at(picture)
        if first.point is None:
            return looks.answer(first)
        centre, bounds = in_pixels(picture, first.point), picture.area
        areas = dict.fromkeys(window(centre, side, side, bounds) for side in FIXED_SIDES)
        areas.pop(bounds, None)  # a screenshot this small has been looked at
        closer = await looks.at_all([part(picture, area) for area in areas])
        return looks.answer(most_agreed([first, *closer]))


class Reground(NoSearch):
    """`reground`: once more in 1024 x 1024 px around the first guess. Up to 2 calls."""

    name = "reground"
    settings: Mapping[str, Any] = {"side": REGROUND_SIDE, "enlarged": ENLARGED}

    async def find(
        self, picture: Picture, instruction: str, grounder: Grounder, context: Context
    ) -> Answer:
        """Look twice; the second guess counts, if there is one."""
        looks = Looks(instruction, grounder, context)
        first = await looks.at(picture)
        if first.point is None:
            return looks.answer(first)
        centre = in_pixels(picture, first.point)
        area = window(centre, REGROUND_SIDE, REGROUND_SIDE, picture.area)
        if area == picture.area:
            return looks.answer(first)
        second = await looks.at(part(picture, area))
        return looks.answer(first if second.point is None else second)


class Narrowing(NoSearch):
    """`narrow`: three rounds, each in half the sides around the last guess. Up to 3 calls."""

    name = "narrow"
    settings: Mapping[str, Any] = {
        "rounds": NARROW_ROUNDS,
        "share": NARROW_SHARE,
        "enlarged": ENLARGED,
    }

    async def find(
        self, picture: Picture, instruction: str, grounder: Grounder, context: Context
    ) -> Answer:
        """Look closer and closer; the last guess that there is counts."""
        looks = Looks(instruction, grounder, context)
        best = await looks.at(picture)
        area = picture.area
        for _ in range(NARROW_ROUNDS - 1):
            if best.point is None:
                break
            centre = in_pixels(picture, best.point)
            width, height = area.width * NARROW_SHARE, area.height * NARROW_SHARE
            area = window(centre, width, height, picture.area)
            closer = await looks.at(part(picture, area))
            if closer.point is None:
                break
            best = closer
        return looks.answer(best)


class Tiles(NoSearch):
    """`tiles`: the whole and overlapping tiles, and a vote. 5 to 17 calls.

    Tiles of about 1024 px, at least 2 x 2 and at most 4 x 4 of them, overlap by a quarter. Those
    that refuse have no vote. The answer is the guess that most others agree with
    (`votes.most_agreed`); a grounder that always points somewhere is outvoted where the whole
    and a tile, or two tiles, say the same.
    """

    name = "tiles"
    settings: Mapping[str, Any] = {
        "side": TILE_SIDE,
        "overlap": TILE_OVERLAP,
        "fewest": FEWEST_TILES,
        "most": MOST_TILES,
        "enlarged": ENLARGED,
    }

    async def find(
        self, picture: Picture, instruction: str, grounder: Grounder, context: Context
    ) -> Answer:
        """Look at everything at once."""
        looks = Looks(instruction, grounder, context)
        parts = [part(picture, area) for area in tiles(picture.area)]
        sights = await looks.at_all([picture, *parts])
        return looks.answer(most_agreed(sights) or sights[0])


def tiles(bounds: PixelBox) -> list[PixelBox]:
    """Overlapping tiles that cover all of the bounds, row by row."""
    columns = _spans(bounds.left, bounds.right)
    rows = _spans(bounds.top, bounds.bottom)
    return [PixelBox(left, top, right, bottom) for top, bottom in rows for left, right in columns]


def _spans(start: int, end: int) -> list[tuple[int, int]]:
    length = end - start
    fitting = ceil((length / TILE_SIDE - TILE_OVERLAP) / (1 - TILE_OVERLAP))
    count = min(max(fitting, FEWEST_TILES), MOST_TILES)
    side = min(ceil(length / (count - (count - 1) * TILE_OVERLAP)), length)
    step = (length - side) / (count - 1)
    starts = [start + round(index * step) for index in range(count)]
    return [(first, first + side) for first in dict.fromkeys(starts)]
