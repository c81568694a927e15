"""Searches: which parts of a screenshot a grounder looks at, and which guess is the answer.

A search sees the screenshot and the instruction, never the truth, and works with any grounder.
`screenseeker.py` has the one that needs a planner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, dist
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.cases import Answer, Look
from uiproof.benchmarks.grounding.coordinates import Point
from uiproof.benchmarks.grounding.grounders import Grounder, Guess
from uiproof.benchmarks.grounding.pictures import Picture
from uiproof.geometry import Box, PixelBox

if TYPE_CHECKING:
    from uiproof.engine.context import Context

# Small parts are enlarged to this short side: models see little in thumbnails. More than fourfold
# only blurs, and the long side stays within what models take.
LEAST_SHORT_SIDE, MOST_ENLARGED, MOST_LONG_SIDE = 640, 4.0, 2048
ENLARGED = f"to a short side of {LEAST_SHORT_SIDE} px, by {MOST_ENLARGED:g} at most"
FIXED_SIDES = (200, 300, 500)  # pixels, as in the described framework
REGROUND_SIDE = 1024
NARROW_ROUNDS, NARROW_SHARE = 3, 0.5
TILE_SIDE, TILE_OVERLAP = 1024, 0.25
FEWEST_TILES, MOST_TILES = 2, 4  # across, and down
# As published for ZoomClick (arXiv 2512.05941).
ZOOM_NEAR = 50.0  # pixels; a quarter's point that is so near to the direct one replaces it
ZOOM_DEPTH, ZOOM_SHARE, ZOOM_LEAST_SIDE = 3, 0.5, 768
AGREEING_SHARE, AGREEING_PIXELS = 0.0125, 16.0  # of the longer side; at least so many pixels


@dataclass(frozen=True, slots=True)
class Sight:
    """A guess about a picture, mapped to the whole screenshot."""

    picture: Picture
    guess: Guess

    @property
    def said(self) -> Point | None:
        """Return the point as guessed; it may lie beside the picture."""
        click = self.guess.click
        return None if click is None else self.picture.to_whole(click)

    @property
    def point(self) -> Point | None:
        """Return the point if it lies in the picture."""
        click = self.guess.click
        inside = click is not None and 0 <= click[0] <= 1 and 0 <= click[1] <= 1
        return self.said if inside else None

    @property
    def pixel(self) -> Point:
        """Return the point in pixels of the screenshot; only for sights with a point."""
        assert self.point is not None
        width, height = self.picture.whole_size
        return self.point[0] * width, self.point[1] * height

    @property
    def box(self) -> Box | None:
        """Return the box, if the grounder gave one."""
        box = self.guess.box
        return None if box is None else self.picture.box_to_whole(box)


@dataclass(slots=True)
class Looks:
    """Shows pictures to a grounder and records every look."""

    instruction: str
    grounder: Grounder
    context: Context
    taken: list[Sight] = field(default_factory=list)

    async def at(self, picture: Picture, instruction: str | None = None) -> Sight:
        """Look once, for the instruction or for other words."""
        return (await self.at_all([picture], [instruction or self.instruction]))[0]

    async def at_all(
        self, pictures: Sequence[Picture], instructions: Sequence[str] = ()
    ) -> list[Sight]:
        """Look at several pictures at once, each for the instruction or for its own words."""
        asked = zip(pictures, instructions or [self.instruction] * len(pictures), strict=True)
        ground, context = self.grounder.ground, self.context
        tasks = [asyncio.ensure_future(ground(*one, context)) for one in asked]
        try:
            guesses = await asyncio.gather(*tasks)
        finally:  # one that failed ends the search, and with it the others
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        sights = [Sight(*one) for one in zip(pictures, guesses, strict=True)]
        self.taken += sights
        return sights

    def answer(
        self, best: Sight | None, *, confidence: float | None = None, notes: Sequence[str] = ()
    ) -> Answer:
        """Return the answer with all looks; without a place, a refusal if every look was one."""
        looks = tuple(
            Look(one.picture.region, one.guess.sent or one.picture.size, one.guess.raw, one.said)
            for one in self.taken
        )
        if best is None or best.said is None:
            refused = bool(self.taken) and all(sight.guess.refused for sight in self.taken)
            return Answer(refused=refused, confidence=confidence, looks=looks, notes=tuple(notes))
        if confidence is None:
            confidence = best.guess.confidence
        return Answer(best.said, best.box, confidence=confidence, looks=looks, notes=tuple(notes))


async def look_once(picture: Picture, looks: Looks) -> Answer:
    """Look at the whole screenshot. 1 call."""
    return looks.answer(await looks.at(picture))


async def _fixed(picture: Picture, looks: Looks) -> Answer:
    """Look at squares around the first guess, and vote. Up to 4 calls."""
    first = await looks.at(picture)
    if first.point is None:
        return looks.answer(first)
    bounds = picture.area
    areas = dict.fromkeys(window(first.pixel, side, side, bounds) for side in FIXED_SIDES)
    areas.pop(bounds, None)  # of a small screenshot, which has been looked at
    closer = await looks.at_all([part(picture, area) for area in areas])
    return looks.answer(most_agreed([first, *closer]))


async def _reground(picture: Picture, looks: Looks) -> Answer:
    """Look once more around the first guess. Up to 2 calls."""
    first = await looks.at(picture)
    if first.point is None:
        return looks.answer(first)
    area = window(first.pixel, REGROUND_SIDE, REGROUND_SIDE, picture.area)
    if area == picture.area:
        return looks.answer(first)
    second = await looks.at(part(picture, area))
    return looks.answer(first if second.point is None else second)


async def _narrow(picture: Picture, looks: Looks) -> Answer:
    """Look at half the sides around the last guess, round by round. Up to 3 calls."""
    best = await looks.at(picture)
    area = picture.area
    for _ in range(NARROW_ROUNDS - 1):
        if best.point is None:
            break
        width, height = area.width * NARROW_SHARE, area.height * NARROW_SHARE
        area = window(best.pixel, width, height, picture.area)
        closer = await looks.at(part(picture, area))
        if closer.point is None:
            break
        best = closer
    return looks.answer(best)


async def _tiles(picture: Picture, looks: Looks) -> Answer:
    """Look at the whole and at overlapping tiles, and vote. 5 to 17 calls.

    Tiles that refuse have no vote. A grounder that always points somewhere is outvoted where the
    whole and a tile, or two tiles, agree.
    """
    sights = await looks.at_all([picture, *(part(picture, area) for area in tiles(picture.area))])
    return looks.answer(most_agreed(sights) or sights[0])


async def _zoom(picture: Picture, looks: Looks) -> Answer:
    """Look at the whole and its quarters, then twice closer. Up to 7 calls.

    A quarter's guess that is less than 50 px from that on the whole screenshot replaces it. Then
    windows of half the sides, at least 768 px, around the last guess. If nothing was found on the
    whole, a quarter may still have it. The confidence is that of consistency: 1 where looking
    closer finds the same point, 0 where it finds one at the edge of the window, or none.
    """
    parts = [part(picture, area) for area in quarters(picture.area)]
    whole, *patches = await looks.at_all([picture, *parts])
    best = most_agreed(patches) if whole.point is None else whole
    if best is None:
        return looks.answer(whole)
    if best is whole:
        pointing = [sight for sight in patches if sight.point is not None]
        nearest = min(pointing, key=lambda one: dist(one.pixel, whole.pixel), default=whole)
        best = nearest if dist(nearest.pixel, whole.pixel) < ZOOM_NEAR else whole
    steadiness: list[float] = []
    area = picture.area
    for _ in range(ZOOM_DEPTH - 1):
        sides = (area.width, area.height)
        width, height = (min(max(side * ZOOM_SHARE, ZOOM_LEAST_SIDE), side) for side in sides)
        area = window(best.pixel, width, height, picture.area)
        if (area.width, area.height) == sides:
            break
        sight = await looks.at(part(picture, area))
        steadiness.append(_steadiness(best, sight))
        if sight.point is None:
            break
        best = sight
    return looks.answer(best, confidence=min(steadiness, default=None))


def _steadiness(before: Sight, after: Sight) -> float:
    """Return how little a point moved, in half sides of the window that was looked at."""
    if after.point is None or before.point is None:
        return 0.0
    region = after.picture.region
    across = abs(after.point[0] - before.point[0]) / (region.w / 2)
    down = abs(after.point[1] - before.point[1]) / (region.h / 2)
    return max(0.0, 1.0 - max(across, down))


@dataclass(eq=False)
class Search:
    """A way to look for an element. Where a look gets no answer, the search has none."""

    name: str  # follows the @ in the name of a method
    look: Callable[[Picture, Looks], Awaitable[Answer]]
    settings: Mapping[str, Any] = field(default_factory=dict)  # all that changes its answers

    async def find(
        self, picture: Picture, instruction: str, grounder: Grounder, context: Context
    ) -> Answer:
        """Find the element; raise `ModelError` when a server failed."""
        return await self.look(picture, Looks(instruction, grounder, context))

    async def close(self) -> None:
        """Close connections."""


_TILING = {"side": TILE_SIDE, "overlap": TILE_OVERLAP, "fewest": FEWEST_TILES, "most": MOST_TILES}
_ZOOMING = {
    "near": ZOOM_NEAR,
    "depth": ZOOM_DEPTH,
    "share": ZOOM_SHARE,
    "least_side": ZOOM_LEAST_SIDE,
}
BLIND_SEARCHES: Mapping[str, Search] = {
    one.name: one
    for one in (
        Search("none", look_once),
        Search("fixed", _fixed, {"sides": list(FIXED_SIDES), "enlarged": ENLARGED}),
        Search("reground", _reground, {"side": REGROUND_SIDE, "enlarged": ENLARGED}),
        Search(
            "narrow",
            _narrow,
            {"rounds": NARROW_ROUNDS, "share": NARROW_SHARE, "enlarged": ENLARGED},
        ),
        Search("tiles", _tiles, {**_TILING, "enlarged": ENLARGED}),
        Search("zoom", _zoom, {**_ZOOMING, "enlarged": ENLARGED}),
    )
}


def most_agreed(sights: Sequence[Sight]) -> Sight | None:
    """Return the sight that most others agree with; None if none points into its own picture.

    Two agree whose points are within 1.25 % of the screenshot's longer side, at least 16 px. Among
    equals the highest confidence wins, then the closest look; without any agreement, the first.
    """
    pointing = [sight for sight in sights if sight.point is not None]
    if not pointing:
        return None
    reach = max(AGREEING_SHARE * max(pointing[0].picture.whole_size), AGREEING_PIXELS)
    points = [sight.pixel for sight in pointing]
    agreeing = [sum(dist(one, other) <= reach for other in points) for one in points]

    def rank(index: int) -> tuple[float, ...]:
        sight = pointing[index]
        closeness = -sight.picture.region.area if agreeing[index] > 1 else 0.0
        return agreeing[index], sight.guess.confidence or 0.0, closeness, -index

    return pointing[max(range(len(pointing)), key=rank)]


def part(picture: Picture, area: PixelBox) -> Picture:
    """Return the part of a screenshot with these pixels, enlarged if it is small."""
    outer, size = picture.area, (area.width, area.height)
    left, top = area.left - outer.left, area.top - outer.top
    inner = PixelBox(left, top, left + area.width, top + area.height)
    scale = min(LEAST_SHORT_SIDE / min(size), MOST_ENLARGED, MOST_LONG_SIDE / max(size))
    return picture.crop(inner.normalised(outer.width, outer.height), max(scale, 1.0))


def window(centre: Point, width: float, height: float, bounds: PixelBox) -> PixelBox:
    """Return a window of about this size around a point, moved and cut to fit into the bounds."""
    wide = min(max(round(width), 1), bounds.width)
    high = min(max(round(height), 1), bounds.height)
    left = min(max(round(centre[0] - wide / 2), bounds.left), bounds.right - wide)
    top = min(max(round(centre[1] - high / 2), bounds.top), bounds.bottom - high)
    return PixelBox(left, top, left + wide, top + high)


def quarters(bounds: PixelBox) -> list[PixelBox]:
    """Return two by two parts without overlap; fewer where there are not that many pixels."""
    middle_x, middle_y = bounds.left + bounds.width // 2, bounds.top + bounds.height // 2
    columns = ((bounds.left, middle_x), (middle_x, bounds.right))
    rows = ((bounds.top, middle_y), (middle_y, bounds.bottom))
    parts = [PixelBox(left, top, right, bottom) for top, bottom in rows for left, right in columns]
    return [one for one in parts if one.area]


def tiles(bounds: PixelBox) -> list[PixelBox]:
    """Return overlapping tiles that cover the bounds, row by row."""
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
