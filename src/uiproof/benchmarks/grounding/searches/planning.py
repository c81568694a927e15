"""Who tells a search where to look, and whether it found the right thing."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from uiproof.benchmarks.grounding import prompts
from uiproof.benchmarks.grounding.answers import WHOLE
from uiproof.benchmarks.grounding.grounders.base import Picture
from uiproof.benchmarks.grounding.searches.base import Sight
from uiproof.boxes import Box
from uiproof.models.types import Image, Message, Request

if TYPE_CHECKING:
    from uiproof.engine.context import Context
    from uiproof.models.chat import ChatModel

MOST_PHRASES = 6  # of a plan; each costs a look
_LONGEST_NOTE = 400
_TAGGED = re.compile(r"<(element|area|neighbou?r)>(.{1,300}?)</\1>", re.IGNORECASE | re.DOTALL)
_NO_TARGET = re.compile(r"\bno target\b", re.IGNORECASE)
_OBJECT = re.compile(r"\{[^{}]{1,2000}\}", re.DOTALL)
_RED = (255, 0, 0)


@dataclass(frozen=True, slots=True)
class Plan:
    """Where to look: things to find first, and areas as fractions of the picture."""

    phrases: tuple[str, ...] = ()
    areas: tuple[Box, ...] = ()
    hopeless: bool = False  # it cannot be in this picture
    note: str = ""


class Result(StrEnum):
    """What was said about something that was found."""

    IS_TARGET = "is_target"
    ELSEWHERE = "target_elsewhere"  # in the same picture
    NOT_FOUND = "target_not_found"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether what was found is right; if it is elsewhere, in which words to look again."""

    result: Result
    instruction: str = ""
    note: str = ""


class Planner(Protocol):
    """Proposes places, and judges what was found there."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes its plans."""

    async def plan(self, picture: Picture, instruction: str, context: Context) -> Plan:
        """Where in a picture to look."""

    async def verify(self, sight: Sight, instruction: str, context: Context) -> Verdict:
        """Whether a sight, which has a point, shows what the instruction asks for."""

    async def close(self) -> None:
        """Let go of connections."""


class ModelPlanner:
    """A chat model that sees the picture."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model

    @property
    def settings(self) -> Mapping[str, Any]:
        """The model and the words it is asked in."""
        return {**self.model.settings, "prompt_digest": prompts.digest("plan", "verify")}

    async def plan(self, picture: Picture, instruction: str, context: Context) -> Plan:
        """What the model tagged, the likeliest first."""
        content = await asyncio.to_thread(picture.png)
        said = await self._ask(content, "plan", instruction, context)
        found = (" ".join(phrase.split()) for _, phrase in _TAGGED.findall(said))
        phrases = tuple(dict.fromkeys(phrase for phrase in found if phrase))[:MOST_PHRASES]
        hopeless = not phrases and _NO_TARGET.search(said) is not None
        return Plan(phrases, hopeless=hopeless, note=_note("plan", said))

    async def verify(self, sight: Sight, instruction: str, context: Context) -> Verdict:
        """Show it with a red mark; an answer that cannot be read confirms nothing."""
        content = await asyncio.to_thread(marked, sight)
        said = await self._ask(content, "verify", instruction, context)
        note = _note("check", said)
        for text in reversed(_OBJECT.findall(said)):
            try:
                fields = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if fields.get("result") in tuple(Result):
                words = fields.get("new_instruction")
                return Verdict(
                    Result(fields["result"]), words if isinstance(words, str) else "", note
                )
        return Verdict(Result.NOT_FOUND, note=note)

    async def close(self) -> None:
        """End the connection to the model."""
        await self.model.close()

    async def _ask(self, content: bytes, prompt: str, instruction: str, context: Context) -> str:
        asked = prompts.filled(prompt, instruction=instruction)
        message = Message("user", (Image(content), asked))
        request = Request((message,), self.model.parameters)
        reply = await self.model.ask(request, fresh=context.ask_again)
        context.note_call(self.model.facts(reply))
        return reply.text


class WordPlanner:
    """Goes by words such as "top", "left" and "middle" in the instruction. It confirms anything.

    On the whole screenshot it proposes the part that these words mean, and without such words
    nothing, so that only the grounder's own guess counts. It never knows better than the grounder.
    """

    settings: Mapping[str, Any] = {"planner": "words of the instruction"}

    async def plan(self, picture: Picture, instruction: str, context: Context) -> Plan:  # noqa: ARG002
        """The part of the screen that is named."""
        from uiproof.benchmarks.grounding.grounders.instructions import understand

        places = understand(instruction).places
        if picture.region != WHOLE or not places:
            return Plan()
        named = ", ".join(sorted(places))
        return Plan(areas=(area_of(places),), note=f"plan: {named}")

    async def verify(self, sight: Sight, instruction: str, context: Context) -> Verdict:  # noqa: ARG002
        """Nothing is known that could be held against it."""
        return Verdict(Result.IS_TARGET)

    async def close(self) -> None:
        """There is nothing to let go of."""


def area_of(places: frozenset[str]) -> Box:
    """The part of a screen that words mean: half of it for a side, a quarter for a corner."""
    x, w = _extent(places, "left", "right")
    y, h = _extent(places, "top", "bottom")
    return Box(x, y, w, h)


def _extent(places: frozenset[str], first: str, last: str) -> tuple[float, float]:
    if (first in places) != (last in places):
        return (0.0, 0.5) if first in places else (0.5, 0.5)
    return (0.25, 0.5) if "middle" in places else (0.0, 1.0)


def marked(sight: Sight) -> bytes:
    """A PNG of what was looked at, with what was found in red: its box, or a ring around a point.

    The mark stands beside the thing, so that the thing can still be seen.
    """
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
