"""ScreenSeekeR: a planner says where to look, votes say where first, and a check says when to stop.

Re-made from how the method is described (ScreenSpot-Pro, arXiv 2504.07981), with its published
numbers. Three things are ours: places that were looked at are not looked at again, the number of
looks is limited, and where nothing is confirmed the grounder's own first guess is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.answers import Answer
from uiproof.benchmarks.grounding.grounders.base import Grounder, Picture
from uiproof.benchmarks.grounding.searches.base import (
    ENLARGED,
    Looks,
    Sight,
    part,
    whole_size,
    window,
)
from uiproof.benchmarks.grounding.searches.planning import (
    ModelPlanner,
    Planner,
    Result,
    WordPlanner,
)
from uiproof.benchmarks.grounding.searches.zoom import quarters
from uiproof.boxes import Box, PixelBox

if TYPE_CHECKING:
    from uiproof.engine.context import Context
    from uiproof.models.chat import ChatModel

DEPTH = 3
LEAST_WIDTH, LEAST_HEIGHT = 1280, 768  # pixels; what is not larger is looked at as it is
MOST_ASPECT = 2.5
SPREAD = 0.3  # of the votes' bell curve, as a share of a part's sides
SAME_PLACE = 0.5  # overlap (IoU) from which two parts are one
MOST_LOOKS = 40


class ScreenSeeker:
    """`screenseeker` or `screenseeker:MODEL`: plans, looks, votes and checks, part by part.

    For each part: the planner names things to look for; the grounder finds them and the target
    itself; every find is a candidate, grown to at least 1280 x 768 px, and a vote for all
    candidates around it; the best is searched in the same way, down to three levels, and so on
    with the next until the planner confirms what was found. Grounders that give points only take
    part with points. One plan and 1 + k looks for each part (k is what the plan names, 6 at
    most), one look and one check for each smallest part; 40 looks at most.

    Without a model there is a stand-in for the planner, which goes by words such as "top left" and
    confirms what it is shown (`planning.WordPlanner`): a typical search takes 2 looks.
    """

    name: str

    def __init__(self, planner: ChatModel | None = None) -> None:
        self.name = "screenseeker" if planner is None else f"screenseeker:{planner.name}"
        self._planner: Planner = WordPlanner() if planner is None else ModelPlanner(planner)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Who plans, and the numbers of the method."""
        return {
            "planner": dict(self._planner.settings),
            "depth": DEPTH,
            "least": [LEAST_WIDTH, LEAST_HEIGHT],
            "most_aspect": MOST_ASPECT,
            "spread": SPREAD,
            "same_place": SAME_PLACE,
            "most_looks": MOST_LOOKS,
            "enlarged": ENLARGED,
        }

    async def find(
        self, picture: Picture, instruction: str, grounder: Grounder, context: Context
    ) -> Answer:
        """What the planner confirmed first, else what the grounder saw first."""
        looks = Looks(instruction, grounder, context)
        hunt = _Hunt(picture, self._planner, looks)
        found = await hunt.search(picture.area, 0)
        if found is None:
            hunt.notes.append("nothing was confirmed")
            found = next((one for one in hunt.own if one.point is not None), None)
        return looks.answer(found or looks.taken[0], notes=hunt.notes)

    async def close(self) -> None:
        """Let go of the planner."""
        await self._planner.close()


@dataclass(slots=True)
class _Hunt:
    """One search."""

    picture: Picture
    planner: Planner
    looks: Looks
    notes: list[str] = field(default_factory=list)
    own: list[Sight] = field(default_factory=list)  # guesses for the instruction itself
    _seen: set[PixelBox] = field(default_factory=set)

    async def search(self, area: PixelBox, depth: int) -> Sight | None:
        """Something in this area that was confirmed."""
        self._seen.add(area)
        if depth >= DEPTH or (area.width <= LEAST_WIDTH and area.height <= LEAST_HEIGHT):
            return await self._look_closely(area)
        for candidate in await self._candidates(area):
            if len(self.looks.taken) >= MOST_LOOKS:
                return None
            if candidate == area:
                found = await self._look_closely(area)
            elif candidate in self._seen:
                continue
            else:
                found = await self.search(candidate, depth + 1)
            if found is not None:
                return found
        return None

    async def _look_closely(self, area: PixelBox) -> Sight | None:
        sight = await self.looks.at(self._part(area))
        self.own.append(sight)
        if sight.point is None:
            return None
        context, instruction = self.looks.context, self.looks.instruction
        verdict = await self.planner.verify(sight, instruction, context)
        self._note(verdict.note)
        if verdict.result is Result.IS_TARGET:
            return sight
        allowed = len(self.looks.taken) < MOST_LOOKS
        if verdict.result is Result.ELSEWHERE and verdict.instruction and allowed:
            again = await self.looks.at(sight.picture, verdict.instruction)
            return again if again.point is not None else None
        return None

    async def _candidates(self, area: PixelBox) -> list[PixelBox]:
        """Parts to search, the best first."""
        view, instruction = self._part(area), self.looks.instruction
        plan = await self.planner.plan(view, instruction, self.looks.context)
        self._note(plan.note)
        if plan.hopeless and area != self.picture.area:
            return []
        room = max(MOST_LOOKS - len(self.looks.taken), 1)
        sights = await self.looks.for_all(view, [instruction, *plan.phrases][:room])
        self.own.append(sights[0])
        boxes = [view.box_to_whole(box) for box in plan.areas]
        finds = [self._pixels(place) for sight in sights if (place := _place(sight)) is not None]
        finds += [self._pixels(box) for box in boxes]
        if not finds:  # nothing to go by
            finds = quarters(area)
        votes = [((one.left + one.right) / 2, (one.top + one.bottom) / 2) for one in finds]
        parts = list(dict.fromkeys(grown for one in finds for grown in dilate(one, area)))
        parts.sort(key=lambda one: -round(vote_score(one, votes), 6))  # equals stay in order
        return suppress(parts)

    def _part(self, area: PixelBox) -> Picture:
        return self.picture if area == self.picture.area else part(self.picture, area)

    def _pixels(self, box: Box) -> PixelBox:
        return box.to_pixels(*whole_size(self.picture))

    def _note(self, note: str) -> None:
        if note:
            self.notes.append(note)


def _place(sight: Sight) -> Box | None:
    """What was found, as a box within the picture; that of a point has no size."""
    if sight.point is None:
        return None
    region, box = sight.picture.region, sight.box or Box(*sight.point, 0.0, 0.0)
    left, top = max(box.x, region.x), max(box.y, region.y)
    right = min(box.x + box.w, region.x + region.w)
    bottom = min(box.y + box.h, region.y + region.h)
    if left < right and top < bottom:
        return Box(left, top, right - left, bottom - top)
    return Box(*sight.point, 0.0, 0.0)


def dilate(box: PixelBox, bounds: PixelBox) -> list[PixelBox]:
    """A find, grown to a part that is worth a look: it, or the two halves of a long one."""
    width, height = max(box.width, 1), max(box.height, 1)
    if width < LEAST_WIDTH and height < LEAST_HEIGHT:
        return [_padded(box, bounds)]
    if max(width, height) <= MOST_ASPECT * min(width, height):
        return [box]
    if width > height:
        middle = box.left + box.width // 2
        halves = (
            PixelBox(box.left, box.top, middle, box.bottom),
            PixelBox(middle, box.top, box.right, box.bottom),
        )
    else:
        middle = box.top + box.height // 2
        halves = (
            PixelBox(box.left, box.top, box.right, middle),
            PixelBox(box.left, middle, box.right, box.bottom),
        )
    return [_padded(half, bounds) for half in halves]


def _padded(box: PixelBox, bounds: PixelBox) -> PixelBox:
    centre = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    width, height = max(box.width, LEAST_WIDTH), max(box.height, LEAST_HEIGHT)
    return window(centre, width, height, bounds)


def vote_score(area: PixelBox, votes: Sequence[tuple[float, float]]) -> float:
    """What the votes in an area are worth: most in its middle, by a bell curve; outside nothing."""
    score = 0.0
    for x, y in votes:
        across, down = (x - area.left) / area.width, (y - area.top) / area.height
        if 0 <= across <= 1 and 0 <= down <= 1:
            score += exp(-((across - 0.5) ** 2 + (down - 0.5) ** 2) / (2 * SPREAD**2))
    return score


def suppress(areas: Sequence[PixelBox]) -> list[PixelBox]:
    """The areas in their order, without those that are nearly one before them."""
    kept: list[PixelBox] = []
    for area in areas:
        if all(_overlap(area, other) <= SAME_PLACE for other in kept):
            kept.append(area)
    return kept


def _overlap(a: PixelBox, b: PixelBox) -> float:
    as_box = [Box(one.left, one.top, one.width, one.height) for one in (a, b)]
    return as_box[0].iou(as_box[1])
