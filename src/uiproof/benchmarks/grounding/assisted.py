"""The methods of the grounding framework as described, which look at the truth.

Where to look, which answer to take and when to stop all depend on the target's box, so these rates
say little about finding anything. They are kept for comparison, marked `assisted` everywhere, and
shown beside controls that never look at the screenshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import hypot
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from uiproof.benchmarks.grounding.answers import Answer, AssistedFinding, Look, Point
from uiproof.benchmarks.grounding.crops import regions
from uiproof.benchmarks.grounding.grounders.base import Grounder, Guess, Picture
from uiproof.boxes import Box
from uiproof.engine.types import Method
from uiproof.errors import ModelError

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.cases import Question, Truth
    from uiproof.benchmarks.grounding.data import AnnotatedElement
    from uiproof.engine.context import Context

EXACT_TEXT, PARTIAL_TEXT = 0.30, 0.15  # added to the overlap
MOST_PENALTY, PENALTY_PER_DISTANCE = 0.2, 0.5  # taken off, by distance of the centres
GOOD_ENOUGH = 0.9  # no further regions are looked at
FOUND = 0.3
TOLERANCE = 0.02  # of the screenshot's sides, around the target's box


@dataclass(frozen=True, slots=True)
class Detection:
    """An element that a parser sees, as fractions of the picture that it was shown."""

    box: Box
    text: str = ""  # what is written on it, or what an icon is said to show
    kind: Literal["text", "icon"] = "text"
    interactive: bool = False  # as far as the parser can tell


class Detections(tuple[Detection, ...]):
    """Very many detections without text, matched all at once."""

    @cached_property
    def _corners(self) -> Any:
        import numpy as np

        boxes = [one.box for one in self]
        return np.array([(b.x, b.y, b.x + b.w, b.y + b.h) for b in boxes], float).T

    def best(self, region: Box, target: Box) -> Detection:
        """The one with the highest `match_score`, where the picture shows this region."""
        import numpy as np

        left, top, right, bottom = self._corners
        left, right = region.x + left * region.w, region.x + right * region.w
        top, bottom = region.y + top * region.h, region.y + bottom * region.h
        across = np.minimum(right, target.x + target.w) - np.maximum(left, target.x)
        down = np.minimum(bottom, target.y + target.h) - np.maximum(top, target.y)
        shared = across.clip(0) * down.clip(0)
        overlap = shared / ((right - left) * (bottom - top) + target.area - shared)
        x, y = target.center
        distance = np.hypot((left + right) / 2 - x, (top + bottom) / 2 - y)
        penalty = np.minimum(MOST_PENALTY, PENALTY_PER_DISTANCE * distance)
        return self[int(np.argmax(overlap - penalty))]


class Parser(Protocol):
    """What lists the elements of a picture without being told what to look for."""

    @property
    def name(self) -> str:
        """How tables call it."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes its answers."""

    @property
    def concurrency(self) -> int:
        """How many pictures may be waited for at once."""

    async def parse(self, picture: Picture, context: Context) -> Sequence[Detection]:
        """All elements that it sees; `ModelError` where its server failed."""

    async def close(self) -> None:
        """Let go of connections."""


class _Assisted(Method["Question", Answer]):
    assisted: ClassVar[bool] = True

    def __init__(self, name: str, backend: Grounder | Parser, cropping: str) -> None:
        self._name, self._backend, self._cropping = name, backend, cropping
        self.concurrency = getattr(backend, "concurrency", 8)

    @property
    def name(self) -> str:
        """As the framework calls it, for example `uitars-fixed`."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """Who looks, and at which parts."""
        backend = {"backend": self._backend.name, **self._backend.settings}
        return {**backend, "cropping": self._cropping}

    async def close(self) -> None:
        """Let go of connections."""
        await self._backend.close()


class AssistedParsing(_Assisted):
    """`omniparser…`: of everything that a parser sees, what overlaps most with the target.

    Overlap counts, with a bonus for the same text and a penalty for distance; from 0.3 on the
    element is found. Nobody asks where a click would have gone.
    """

    _backend: Parser

    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:  # noqa: ARG002
        """The best match over all regions, which are looked at until one is good enough."""
        truth: Truth = context.truth
        picture = Picture.open(question.image)
        best: tuple[float, float, Box | None, str] = (0.0, 0.0, None, "")
        looks, errors, first_error = [], [], None
        target = truth.element.bbox
        for region in regions(self._cropping, target.center, question.width, question.height):
            part = picture.crop(region)
            try:
                seen = await self._backend.parse(part, context)
            except ModelError as error:
                errors.append(error.message)
                first_error = first_error or error
                continue
            looks.append(Look(part.region, part.size))
            best = max(best, _best_match(seen, part, truth.element), key=lambda match: match[0])
            if best[0] >= GOOD_ENOUGH:
                break
        if not looks and first_error is not None:
            raise first_error  # nobody has looked at anything
        score, overlap, box, text = best
        finding = AssistedFinding(score >= FOUND, overlap, text, tuple(errors))
        return Answer(box=box if finding.found else None, looks=tuple(looks), assisted=finding)


class AssistedPointing(_Assisted):
    """`uitars…`: looks at one region after the other until it hits the target."""

    _backend: Grounder

    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:  # noqa: ARG002
        """The first point in the target's box, which is grown by 2 % of the screenshot's sides."""
        truth: Truth = context.truth
        picture = Picture.open(question.image)
        instruction = described_instruction(truth.element)
        looks: list[Look] = []
        errors, first_error = [], None
        target = truth.element.bbox
        for region in regions(self._cropping, target.center, question.width, question.height):
            part = picture.crop(region)
            try:
                guess = await self._backend.ground(part, instruction, context)
            except ModelError as error:
                errors.append(error.message)
                first_error = first_error or error
                continue
            point = part.to_whole(guess.click) if guess.click is not None else None
            looks.append(Look(part.region, guess.sent or part.size, guess.raw, point))
            if point is not None and _near(point, target):
                return _pointed(guess, point, looks, AssistedFinding(True, 0.0, "", tuple(errors)))
        if not looks and first_error is not None:
            raise first_error
        missed = AssistedFinding(False, 0.0, "", tuple(errors))
        return _pointed(None, looks[0].point, looks, missed)


def _pointed(
    guess: Guess | None, point: Point | None, looks: Sequence[Look], finding: AssistedFinding
) -> Answer:
    confidence = guess.confidence if guess else None
    return Answer(point=point, confidence=confidence, looks=tuple(looks), assisted=finding)


def described_instruction(element: AnnotatedElement) -> str:
    """The element's instruction, or one that is made from its text and type."""
    kind = element.element_type.value
    if element.instruction:
        return element.instruction
    if element.text:
        suffix = "" if kind == "unknown" else f" {kind}"
        return f"Click on the '{element.text}'{suffix}" if suffix else f"Click on '{element.text}'"
    return f"Click on the {kind}"


def match_score(seen: Box, text: str, target: Box, wanted: str) -> tuple[float, float]:
    """The described matching score of a detection with the target, and their overlap (IoU)."""
    overlap = seen.iou(target)
    said, asked = text.strip().lower(), wanted.strip().lower()
    bonus = 0.0
    if said and asked:
        bonus = EXACT_TEXT if said == asked else 0.0
        if not bonus and (said in asked or asked in said):
            bonus = PARTIAL_TEXT
    (x, y), (tx, ty) = seen.center, target.center
    penalty = min(MOST_PENALTY, PENALTY_PER_DISTANCE * hypot(x - tx, y - ty))
    return min(max(overlap + bonus - penalty, 0.0), 1.0), overlap


def _best_match(
    seen: Sequence[Detection], part: Picture, element: AnnotatedElement
) -> tuple[float, float, Box | None, str]:
    best: tuple[float, float, Box | None, str] = (0.0, 0.0, None, "")
    target = element.bbox
    if isinstance(seen, Detections):
        seen = (seen.best(part.region, target),)
    for one in seen:
        box = part.box_to_whole(one.box)
        score, overlap = match_score(box, one.text, target, element.text)
        if score > best[0]:
            best = (score, overlap, box, one.text)
    return best


def _near(point: Point, target: Box) -> bool:
    return (
        target.x - TOLERANCE <= point[0] <= target.x + target.w + TOLERANCE
        and target.y - TOLERANCE <= point[1] <= target.y + target.h + TOLERANCE
    )
