"""What a search is, and the looks that it takes.

A search decides which parts of a screenshot a grounder looks at, and which of its guesses is the
answer. It sees the screenshot and the instruction, never the truth, and works with any grounder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from uiproof.benchmarks.grounding.answers import Answer, Look, Point
from uiproof.benchmarks.grounding.grounders.base import Grounder, Guess, Picture
from uiproof.boxes import Box, PixelBox

if TYPE_CHECKING:
    from uiproof.engine.context import Context

# Small parts are enlarged until their short side has this many pixels: models see little in
# thumbnails. More than fourfold only blurs, and the long side stays within what models take.
LEAST_SHORT_SIDE, MOST_ENLARGED, MOST_LONG_SIDE = 640, 4.0, 2048
ENLARGED = f"to a short side of {LEAST_SHORT_SIDE} px, by {MOST_ENLARGED:g} at most"


class Search(Protocol):
    """A way to look for an element."""

    @property
    def name(self) -> str:
        """What comes after the @ in the name of a method."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes its answers; written into the run."""

    async def find(
        self, picture: Picture, instruction: str, grounder: Grounder, context: Context
    ) -> Answer:
        """Find what the instruction asks for.

        Raises `ModelError` when one of its looks got no answer: with fewer looks it would be
        another search.
        """

    async def close(self) -> None:
        """Let go of connections."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a grounder said about a picture, as fractions of the whole screenshot."""

    picture: Picture
    guess: Guess

    @property
    def said(self) -> Point | None:
        """The point as it was said; it may lie beside the picture."""
        click = self.guess.click
        return None if click is None else self.picture.to_whole(click)

    @property
    def point(self) -> Point | None:
        """The point, if it lies in the picture."""
        click = self.guess.click
        inside = click is not None and 0 <= click[0] <= 1 and 0 <= click[1] <= 1
        return self.said if inside else None

    def as_look(self) -> Look:
        """What is written down of it."""
        sent = self.guess.sent or self.picture.size
        return Look(self.picture.region, sent, self.guess.raw, self.said)

    @property
    def box(self) -> Box | None:
        """The box, where the grounder gave one."""
        box = self.guess.box
        return None if box is None else self.picture.box_to_whole(box)


@dataclass(slots=True)
class Looks:
    """Lets a grounder look at pictures and writes down each look."""

    instruction: str
    grounder: Grounder
    context: Context
    taken: list[Sight] = field(default_factory=list)

    async def at(self, picture: Picture, instruction: str | None = None) -> Sight:
        """Look once, for the instruction or for other words."""
        sight = await self._see(picture, instruction)
        self.taken.append(sight)
        return sight

    async def at_all(self, pictures: Sequence[Picture]) -> list[Sight]:
        """Look at several pictures at once."""
        return await self._together([(picture, None) for picture in pictures])

    async def for_all(self, picture: Picture, instructions: Sequence[str]) -> list[Sight]:
        """Look for several things at once."""
        return await self._together([(picture, words) for words in instructions])

    def answer(
        self,
        best: Sight | None,
        *,
        confidence: float | None = None,
        notes: Sequence[str] = (),
    ) -> Answer:
        """The answer with everything that was looked at.

        Without a place, it is a refusal if every single look was one; else it says nothing.
        """
        looks = tuple(sight.as_look() for sight in self.taken)
        if best is None or best.said is None:
            refused = bool(self.taken) and all(sight.guess.refused for sight in self.taken)
            return Answer(refused=refused, confidence=confidence, looks=looks, notes=tuple(notes))
        if confidence is None:
            confidence = best.guess.confidence
        return Answer(
            point=best.said, box=best.box, confidence=confidence, looks=looks, notes=tuple(notes)
        )

    async def _see(self, picture: Picture, instruction: str | None) -> Sight:
        words = self.instruction if instruction is None else instruction
        return Sight(picture, await self.grounder.ground(picture, words, self.context))

    async def _together(self, asked: Sequence[tuple[Picture, str | None]]) -> list[Sight]:
        tasks = [asyncio.ensure_future(self._see(*one)) for one in asked]
        try:
            sights = list(await asyncio.gather(*tasks))
        finally:  # one that failed ends the search: nobody waits for the others
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self.taken += sights
        return sights


def window(centre: Point, width: float, height: float, bounds: PixelBox) -> PixelBox:
    """A window of about this size around a point, all in pixels; moved where it would stick out.

    It is never larger than the bounds, and never empty.
    """
    wide = min(max(round(width), 1), bounds.width)
    high = min(max(round(height), 1), bounds.height)
    left = min(max(round(centre[0] - wide / 2), bounds.left), bounds.right - wide)
    top = min(max(round(centre[1] - high / 2), bounds.top), bounds.bottom - high)
    return PixelBox(left, top, left + wide, top + high)


def in_pixels(picture: Picture, point: Point) -> Point:
    """A point of the whole screenshot in the screenshot's pixels."""
    width, height = whole_size(picture)
    return point[0] * width, point[1] * height


def part(picture: Picture, area: PixelBox) -> Picture:
    """The part of a screenshot with these pixels, enlarged where it is small."""
    outer = picture.area
    inner = PixelBox(
        area.left - outer.left,
        area.top - outer.top,
        area.right - outer.left,
        area.bottom - outer.top,
    )
    return picture.crop(inner.normalised(outer.width, outer.height), _enlargement(area))


def whole_size(picture: Picture) -> tuple[int, int]:
    """Width and height in pixels of the screenshot that a picture is a part of."""
    area, region = picture.area, picture.region
    return round(area.width / region.w), round(area.height / region.h)


def _enlargement(area: PixelBox) -> float:
    short, long = sorted((area.width, area.height))
    return max(min(LEAST_SHORT_SIDE / short, MOST_ENLARGED, MOST_LONG_SIDE / long), 1.0)
