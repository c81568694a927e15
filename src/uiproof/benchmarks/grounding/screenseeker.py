"""ScreenSeekeR: a planner names places to look, votes order them, and a check ends the search.

Re-made from the description of the method (ScreenSpot-Pro, arXiv 2504.07981), with its published
numbers. Three things are ours: no place is looked at twice, the number of looks is limited, and if
nothing is confirmed the grounder's own first guess is the answer.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import exp
from typing import TYPE_CHECKING, Any, ClassVar

from uiproof.benchmarks.grounding.cases import Answer
from uiproof.benchmarks.grounding.coordinates import WHOLE
from uiproof.benchmarks.grounding.grounders import ask_model, fill_prompt, prompt_digest
from uiproof.benchmarks.grounding.ocr import named_sides
from uiproof.benchmarks.grounding.pictures import Picture
from uiproof.benchmarks.grounding.searches import (
    ENLARGED,
    Looks,
    Search,
    Sight,
    part,
    quarters,
    window,
)
from uiproof.geometry import Box, PixelBox

if TYPE_CHECKING:
    from uiproof.engine.context import Context
    from uiproof.models.chat import ChatModel

DEPTH = 3
LEAST_WIDTH, LEAST_HEIGHT = 1280, 768  # pixels; what is not larger is looked at as it is
MOST_ASPECT = 2.5
SPREAD = 0.3  # of the Gaussian of the votes, as a share of a part's sides
SAME_PLACE = 0.5  # overlap (IoU) from which two parts are one
MOST_LOOKS = 40
MOST_PHRASES = 6  # of a plan; each costs a look
_LONGEST_NOTE = 400
_TAGGED = re.compile(r"<(element|area|neighbou?r)>(.{1,300}?)</\1>", re.IGNORECASE | re.DOTALL)
_NO_TARGET = re.compile(r"\bno target\b", re.IGNORECASE)
_OBJECT = re.compile(r"\{[^{}]{1,2000}\}", re.DOTALL)
_RED = (255, 0, 0)


class ScreenSeeker(Search):
    """`screenseeker` or `screenseeker:MODEL`: plans, looks, votes and checks, part by part.

    For each part the planner names things to look for; the grounder finds them and the target
    itself. Every find is a candidate, grown to at least 1280 x 768 px, and a vote for all
    candidates around it. The best one is searched in the same way, down to three levels, then the
    next, until the planner confirms a find. Each part costs one plan and 1 + k looks (k things to
    look for, 6 at most), each smallest part one look and one check; 40 looks at most.

    Without a model, `WordPlanner` stands in for the planner: a typical search takes 2 looks.
    """

    def __init__(self, planner: ChatModel | None = None) -> None:
        self._planner: Planner = WordPlanner() if planner is None else ModelPlanner(planner)
        settings = {
            "planner": dict(self._planner.settings),
            "depth": DEPTH,
            "least": [LEAST_WIDTH, LEAST_HEIGHT],
            "most_aspect": MOST_ASPECT,
            "spread": SPREAD,
            "same_place": SAME_PLACE,
            "most_looks": MOST_LOOKS,
            "enlarged": ENLARGED,
        }
        name = "screenseeker" if planner is None else f"screenseeker:{planner.name}"
        super().__init__(name, self._search, settings)

    async def _search(self, picture: Picture, looks: Looks) -> Answer:
        hunt = _Recursion(picture, self._planner, looks)
        found = await hunt.search(picture.area, 0)
        if found is None:
            hunt.notes.append("nothing was confirmed")
            found = next((one for one in hunt.own if one.point is not None), None)
        return looks.answer(found or looks.taken[0], notes=hunt.notes)

    async def close(self) -> None:
        """Close the planner's connections."""
        await self._planner.close()


@dataclass(slots=True)
class _Recursion:
    """One search: the areas that were searched and the guesses so far."""

    picture: Picture
    planner: Planner
    looks: Looks
    notes: list[str] = field(default_factory=list)
    own: list[Sight] = field(default_factory=list)  # guesses for the instruction itself
    _seen: set[PixelBox] = field(default_factory=set)

    async def search(self, area: PixelBox, depth: int) -> Sight | None:
        """Return a confirmed find in this area."""
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
        check = await self.planner.verify(sight, instruction, context)
        self._note(check.note)
        if check.result is CheckResult.IS_TARGET:
            return sight
        allowed = len(self.looks.taken) < MOST_LOOKS
        if check.result is CheckResult.ELSEWHERE and check.instruction and allowed:
            again = await self.looks.at(sight.picture, check.instruction)
            return again if again.point is not None else None
        return None

    async def _candidates(self, area: PixelBox) -> list[PixelBox]:
        """Return the parts to search, the best first."""
        view, instruction = self._part(area), self.looks.instruction
        plan = await self.planner.plan(view, instruction, self.looks.context)
        self._note(plan.note)
        if plan.hopeless and area != self.picture.area:
            return []
        room = max(MOST_LOOKS - len(self.looks.taken), 1)
        phrases = [instruction, *plan.phrases][:room]
        sights = await self.looks.at_all([view] * len(phrases), phrases)
        self.own.append(sights[0])
        boxes = [view.box_to_whole(box) for box in plan.areas]
        finds = [self._pixels(place) for sight in sights if (place := _place(sight)) is not None]
        finds += [self._pixels(box) for box in boxes]
        if not finds:  # there is no hint
            finds = quarters(area)
        votes = [one.centre for one in finds]
        parts = list(dict.fromkeys(grown for one in finds for grown in dilate(one, area)))
        parts.sort(key=lambda one: -round(vote_score(one, votes), 6))  # equals stay in order
        return suppress(parts)

    def _part(self, area: PixelBox) -> Picture:
        return self.picture if area == self.picture.area else part(self.picture, area)

    def _pixels(self, box: Box) -> PixelBox:
        return box.to_pixels(*self.picture.whole_size)

    def _note(self, note: str) -> None:
        if note:
            self.notes.append(note)


def _place(sight: Sight) -> Box | None:
    """Return a find as a box within the picture; that of a point has no size."""
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
    """Return a find, grown to the smallest part to look at; a long one in two halves."""
    width, height = max(box.width, 1), max(box.height, 1)
    if width < LEAST_WIDTH and height < LEAST_HEIGHT:
        return [_padded(box, bounds)]
    if max(width, height) <= MOST_ASPECT * min(width, height):
        return [box]
    x, y = box.left + box.width // 2, box.top + box.height // 2
    halves = (replace(box, right=x), replace(box, left=x))
    if width <= height:
        halves = (replace(box, bottom=y), replace(box, top=y))
    return [_padded(half, bounds) for half in halves]


def _padded(box: PixelBox, bounds: PixelBox) -> PixelBox:
    width, height = max(box.width, LEAST_WIDTH), max(box.height, LEAST_HEIGHT)
    return window(box.centre, width, height, bounds)


def vote_score(area: PixelBox, votes: Sequence[tuple[float, float]]) -> float:
    """Return the sum of the votes in an area, weighted by a Gaussian around its middle."""
    score = 0.0
    for x, y in votes:
        across, down = (x - area.left) / area.width, (y - area.top) / area.height
        if 0 <= across <= 1 and 0 <= down <= 1:
            score += exp(-((across - 0.5) ** 2 + (down - 0.5) ** 2) / (2 * SPREAD**2))
    return score


def suppress(areas: Sequence[PixelBox]) -> list[PixelBox]:
    """Return the areas in their order, without near-duplicates of earlier ones."""
    kept: list[PixelBox] = []
    for area in areas:
        if all(area.iou(other) <= SAME_PLACE for other in kept):
            kept.append(area)
    return kept


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """Places to look: things to find first, and areas as fractions of the picture."""

    phrases: tuple[str, ...] = ()
    areas: tuple[Box, ...] = ()
    hopeless: bool = False  # it cannot be in this picture
    note: str = ""


class CheckResult(StrEnum):
    """The result of a check, in the words of the prompt."""

    IS_TARGET = "is_target"
    ELSEWHERE = "target_elsewhere"  # in the same picture
    NOT_FOUND = "target_not_found"


@dataclass(frozen=True, slots=True)
class Check:
    """The planner's opinion on a find; if the target is elsewhere, with new words for it."""

    result: CheckResult
    instruction: str = ""
    note: str = ""


class ModelPlanner:
    """A chat model that sees the picture."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        digest = prompt_digest("plan", "verify")
        self.settings: Mapping[str, Any] = {**model.settings, "prompt_digest": digest}

    async def plan(self, picture: Picture, instruction: str, context: Context) -> SearchPlan:
        """Return what the model tagged, the likeliest first."""
        content = await asyncio.to_thread(picture.png)
        said = await self._ask(content, "plan", instruction, context)
        found = (" ".join(phrase.split()) for _, phrase in _TAGGED.findall(said))
        phrases = tuple(dict.fromkeys(phrase for phrase in found if phrase))[:MOST_PHRASES]
        hopeless = not phrases and _NO_TARGET.search(said) is not None
        return SearchPlan(phrases, hopeless=hopeless, note=_note("plan", said))

    async def verify(self, sight: Sight, instruction: str, context: Context) -> Check:
        """Show it with a red mark; an answer that cannot be read confirms nothing."""
        content = await asyncio.to_thread(marked, sight)
        said = await self._ask(content, "verify", instruction, context)
        note = _note("check", said)
        for text in reversed(_OBJECT.findall(said)):
            try:
                fields = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if fields.get("result") in tuple(CheckResult):
                words = fields.get("new_instruction")
                words = words if isinstance(words, str) else ""
                return Check(CheckResult(fields["result"]), words, note)
        return Check(CheckResult.NOT_FOUND, note=note)

    async def close(self) -> None:
        """Close the connection to the model."""
        await self.model.close()

    async def _ask(self, content: bytes, prompt: str, instruction: str, context: Context) -> str:
        asked = fill_prompt(prompt, instruction=instruction)
        return (await ask_model(self.model, content, asked, context)).text


class WordPlanner:
    """Proposes the part of the screenshot that words such as "top left" name; confirms any find."""

    settings: ClassVar[Mapping[str, Any]] = {"planner": "words of the instruction"}

    async def plan(self, picture: Picture, instruction: str, context: Context) -> SearchPlan:  # noqa: ARG002
        """Return the part of the whole screenshot that is named, if any."""
        sides = named_sides(instruction)
        if picture.region != WHOLE or not sides:
            return SearchPlan()
        return SearchPlan(areas=(area_of(sides),), note=f"plan: {', '.join(sorted(sides))}")

    async def verify(self, sight: Sight, instruction: str, context: Context) -> Check:  # noqa: ARG002
        """Confirm it: the words say no more than the grounder knows."""
        return Check(CheckResult.IS_TARGET)

    async def close(self) -> None:
        """Do nothing."""


Planner = ModelPlanner | WordPlanner


def area_of(places: frozenset[str]) -> Box:
    """Return the part of a screen that words name: half for a side, a quarter for a corner."""
    spans = []
    for first, last in (("left", "right"), ("top", "bottom")):
        if (first in places) != (last in places):
            spans.append((0.0 if first in places else 0.5, 0.5))
        else:
            spans.append((0.25, 0.5) if "middle" in places else (0.0, 1.0))
    (x, w), (y, h) = spans
    return Box(x, y, w, h)


def marked(sight: Sight) -> bytes:
    """Return a PNG of a look with a red mark beside the find: its box, or a ring around a point."""
    import cv2

    from uiproof.vision import images

    pixels = sight.picture.rgb().copy()
    height, width = pixels.shape[:2]
    thick = max(2, round(min(width, height) / 300))
    box, click = sight.guess.box, sight.guess.click
    if box is not None and box.area > 0:
        place = box.to_pixels(width, height)
        corners = (
            (place.left - thick, place.top - thick),
            (place.right + thick, place.bottom + thick),
        )
        cv2.rectangle(pixels, *corners, _RED, thick)
    elif click is not None:
        centre = round(click[0] * width), round(click[1] * height)
        cv2.circle(pixels, centre, max(12, round(min(width, height) / 40)), _RED, thick)
    return images.encode_png(pixels)


def _note(what: str, said: str) -> str:
    said = " ".join(said.split())
    shown = said if len(said) <= _LONGEST_NOTE else f"{said[:_LONGEST_NOTE]} …"
    return f"{what}: {shown}"
