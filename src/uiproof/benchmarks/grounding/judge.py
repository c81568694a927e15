"""The judge of grounding: compares the place of an answer with that of the element.

Everything is computed in pixels of the screenshot. An edge belongs to the element, as in the
scorers of the published data sets (`x1 <= x <= x2`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import hypot, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Case, Judge, Metric, Score
from uiproof.benchmarks.grounding.cases import OPENADAPT, Answer, AssistedFinding
from uiproof.benchmarks.grounding.coordinates import Point
from uiproof.benchmarks.grounding.data import AnnotatedElement
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import UiproofError
from uiproof.geometry import Box

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.cases import Question, Truth

METRICS = (
    Metric("accuracy", "Accuracy"),
    Metric("macro", "Macro"),
    Metric("detected", "Detected"),
    Metric("blind_hit", "Blind hit"),
    Metric("iou", "IoU"),
)
_RAW_CHARACTERS = 2000  # enough to see what went wrong; the whole answer is in the cache
_DIGITS = 6  # of fractions: less than a hundredth of a pixel on the widest screen
NEAR = 0.025  # of the screenshot's diagonal, for near misses: 55 px at 1920 x 1080
_NOISE_PX = 1e-6  # pixels that were converted to fractions and back differ by less


class GroundingJudge(Judge["Question", "Truth", Answer]):
    """Scores points and boxes; it needs no browser and opens no file.

    Blind methods score `accuracy` (1 or 0), `iou` if they gave a box, and `distance_px`. Assisted
    methods score `detected` and `iou` by their own rule, which saw the truth, and `blind_hit`: the
    accuracy of their click.
    """

    def __init__(self, run: Path | None = None) -> None:
        self._run = run

    def score(self, case: Case[Question, Truth], answer: Answer) -> Score:
        """Score one answer."""
        found, finding = judge_answer(answer, case.truth), answer.assisted
        details = {**_about(case), **_answered(answer, found)}
        right, distance = float(found.correct), _number(found.distance_px, 3)
        if finding is None:
            scores = {"accuracy": right, "iou": _number(found.iou), "distance_px": distance}
            return Score(scores, details=details)
        details["assisted"] = {
            "found": finding.found,
            "protocol": finding.protocol,
            "matched_text": _shortened(finding.matched_text),
            "region_errors": [_shortened(error) for error in finding.region_errors],
        }
        scores = {
            "detected": float(finding.found),
            "iou": _number(finding.iou, _digits(finding)),
            "blind_hit": right,
            "distance_px": distance,
        }
        return Score(scores, details=details)

    def failure(self, case: Case[Question, Truth] | None) -> Score:
        """Score 0; the case still counts by its size, type and tags."""
        right = ("detected", "blind_hit") if self._of_assisted_run else ("accuracy",)
        scores = {**dict.fromkeys(right, 0.0), "iou": None, "distance_px": None}
        if case is None:
            return Score(scores)
        details = _about(case)
        element = case.truth.element
        if not element.refusal and element.bbox.area == 0:
            details["truth"] = None  # an unreadable box has no size
        return Score(scores, details=details)

    @cached_property
    def _of_assisted_run(self) -> bool:
        if self._run is not None:
            with suppress(UiproofError):  # an unreadable run fails elsewhere
                return bool(RunDirectory(self._run).manifest.get("assisted"))
        return False


def _about(case: Case[Question, Truth]) -> dict[str, Any]:
    """Return the details of a case that do not depend on the answer."""
    truth, element = case.truth, case.truth.element
    return {
        "sample": truth.sample_id,
        "element": element.id,
        "instruction": case.question.instruction,
        "image": str(case.question.image),
        "width": truth.width,
        "height": truth.height,
        "element_type": element.element_type.value,
        "tags": dict(truth.tags),
        "truth": {
            "bbox": _exact(element.bbox),
            "clickable": None if element.clickable is None else _exact(element.clickable),
            "polygon": [list(point) for point in element.polygon],
            "text": element.text,
            "refusal": element.refusal,
        },
    }


def _answered(answer: Answer, found: JudgedAnswer) -> dict[str, Any]:
    digits = _digits(answer.assisted)
    return {
        "verdict": found.verdict.value,
        "hit_element": found.element_id,
        "answer": {
            "click": _rounded(answer.click, digits),
            "box": _rounded(answer.box, digits),
            "refused": answer.refused,
            "confidence": _number(answer.confidence),
        },
        "attempts": answer.attempts,
        "looks": [
            {
                "region": _rounded(look.region),
                "sent": list(look.sent),
                "point": _rounded(look.point),
                "raw": _shortened(look.raw),
            }
            for look in answer.looks
        ],
        "notes": [_shortened(note) for note in answer.notes],
    }


def _shortened(text: str) -> str:
    dropped = len(text) - _RAW_CHARACTERS
    return text if dropped <= 0 else f"{text[:_RAW_CHARACTERS]}… ({dropped} characters more)"


def _exact(box: Box) -> list[float]:
    """Return a box unrounded: rounding could move an element into another size."""
    return [box.x, box.y, box.w, box.h]


def _digits(finding: AssistedFinding | None) -> int | None:
    """Return the digits to keep; None, all, where numbers equal those of openadapt-grounding."""
    return None if finding is not None and finding.protocol == OPENADAPT else _DIGITS


def _rounded(place: Box | Point | None, digits: int | None = _DIGITS) -> list[float | None] | None:
    values = _exact(place) if isinstance(place, Box) else place
    return None if values is None else [_number(value, digits) for value in values]


def _number(value: float | None, digits: int | None = _DIGITS) -> float | None:
    # A journal cannot hold NaN or infinity.
    if value is None or not isfinite(value):
        return None
    return float(value) if digits is None else round(float(value), digits)


# --- verdicts -------------------------------------------------------------------------------------


class ClickVerdict(StrEnum):
    """The kinds of verdicts. If a server failed there is none: the case failed."""

    HIT = "hit"
    CORRECT_REFUSAL = "correct_refusal"  # said that it is not there, and it is not
    WRONG_ELEMENT = "wrong_element"  # on another annotated element
    NEAR_MISS = "near_miss"  # on no annotated element, but close to the target
    MISS = "miss"  # on no annotated element, far from the target
    OUTSIDE = "outside"  # not on the screenshot at all
    REFUSED = "refused"  # said that it is not there, but it is
    FALSE_POINT = "false_point"  # pointed somewhere, but it is not there
    NOT_DETECTED = "not_detected"  # a parser listed nothing that counts as the element
    UNPARSEABLE = "unparseable"  # neither a place nor a refusal


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """The verdict on an answer.

    `distance_px` goes from the click to the nearest part of the target: 0 for hits, None without a
    click or a target. `iou` compares the boxes of answer and element.
    """

    verdict: ClickVerdict
    element_id: str | None = None  # the annotated element that was clicked, if any
    distance_px: float | None = None
    iou: float | None = None

    @property
    def correct(self) -> bool:
        """Return whether it counts as right."""
        return self.verdict in (ClickVerdict.HIT, ClickVerdict.CORRECT_REFUSAL)


def judge_answer(answer: Answer, truth: Truth) -> JudgedAnswer:
    """Compare an answer with the element that was asked for.

    A click is a hit inside of the outline, or without one inside of the box, or inside of the
    clickable area. Points outside of the screenshot are never moved into it.
    """
    click, size = answer.click, (truth.width, truth.height)
    if click is not None and not all(map(isfinite, click)):
        click = None
    if answer.undetected and click is None:
        return JudgedAnswer(ClickVerdict.NOT_DETECTED)
    if truth.element.refusal:
        if answer.refused:
            return JudgedAnswer(ClickVerdict.CORRECT_REFUSAL)
        return JudgedAnswer(ClickVerdict.UNPARSEABLE if click is None else ClickVerdict.FALSE_POINT)
    if answer.refused:
        return JudgedAnswer(ClickVerdict.REFUSED)
    if click is None:
        return JudgedAnswer(ClickVerdict.UNPARSEABLE)
    iou = None if answer.box is None else answer.box.iou(truth.element.bbox)
    point = (click[0] * size[0], click[1] * size[1])
    distance = distance_px(truth.element, point, size)
    if not all(-_NOISE_PX <= at <= end + _NOISE_PX for at, end in zip(point, size, strict=True)):
        return JudgedAnswer(ClickVerdict.OUTSIDE, None, distance, iou)
    if distance <= _NOISE_PX:
        return JudgedAnswer(ClickVerdict.HIT, truth.element.id, 0.0, iou)
    if (other := _other_element(truth, point, size)) is not None:
        return JudgedAnswer(ClickVerdict.WRONG_ELEMENT, other.id, distance, iou)
    near = distance <= NEAR * hypot(*size)
    return JudgedAnswer(ClickVerdict.NEAR_MISS if near else ClickVerdict.MISS, None, distance, iou)


def is_hit(element: AnnotatedElement, click: Point, width: int, height: int) -> bool:
    """Return whether a click, as fractions of the screenshot, is on an element."""
    point = (click[0] * width, click[1] * height)
    return distance_px(element, point, (width, height)) <= _NOISE_PX


def distance_px(element: AnnotatedElement, point: Point, size: tuple[int, int]) -> float:
    """Return the distance of a point, in pixels, from an element; 0 inside and on its edge."""
    if element.polygon:
        corners = [(x * size[0], y * size[1]) for x, y in element.polygon]
        distance = distance_to_polygon(point, corners)
    else:
        distance = _distance_to_box(point, element.bbox, size)
    if element.clickable is not None:
        distance = min(distance, _distance_to_box(point, element.clickable, size))
    return distance


def distance_to_polygon(point: Point, corners: Sequence[Point]) -> float:
    """Return the distance of a point from a polygon, by the even-odd rule; 0 on its edge."""
    x, y = point
    inside, nearest = False, float("inf")
    ax, ay = corners[-1]
    for bx, by in corners:
        # Only one end of an edge counts, so that a ray through a corner crosses once.
        if (ay > y) != (by > y) and x < ax + (y - ay) / (by - ay) * (bx - ax):
            inside = not inside
        dx, dy = bx - ax, by - ay
        length = dx * dx + dy * dy
        along = ((x - ax) * dx + (y - ay) * dy) / length if length else 0.0
        along = min(max(along, 0.0), 1.0)
        nearest = min(nearest, hypot(x - ax - along * dx, y - ay - along * dy))
        ax, ay = bx, by
    return 0.0 if inside else nearest


def _distance_to_box(point: Point, box: Box, size: tuple[int, int]) -> float:
    (x, y), (width, height) = point, size
    across = max(box.x * width - x, x - (box.x + box.w) * width, 0.0)
    down = max(box.y * height - y, y - (box.y + box.h) * height, 0.0)
    return hypot(across, down)


def _other_element(truth: Truth, point: Point, size: tuple[int, int]) -> AnnotatedElement | None:
    """Return the smallest of the other elements under a point."""
    under = [
        other
        for other in truth.others
        if other.id != truth.element.id
        and not other.refusal
        and distance_px(other, point, size) <= _NOISE_PX
    ]
    return min(under, key=lambda other: other.bbox.area, default=None)


# --- sizes ----------------------------------------------------------------------------------------

SIZES = ("small", "medium", "large")

SHORT_SIDE_RULE = "short side in pixels of the screenshot: small < 32, medium 32-100, large > 100"
# The rule of openadapt-grounding, although its labels speak of pixels.
AREA_RULE = "part of the screenshot's area: small < 0.001, medium < 0.01, large from there on"


def sizes(details: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the size of a case's element by `SHORT_SIDE_RULE` and by `AREA_RULE`.

    Absent elements and those that could not be loaded have none.
    """
    truth = details.get("truth")
    if not truth or truth["refusal"]:
        return None, None
    box = Box(*truth["bbox"])
    area = "small" if box.area < 0.001 else "medium" if box.area < 0.01 else "large"
    width, height = details.get("width"), details.get("height")
    if not width or not height:
        return None, area
    # Rounded: 32 px may be 31.999… after a conversion to fractions and back.
    side = round(min(box.w * width, box.h * height), 6)
    return "small" if side < 32 else "medium" if side <= 100 else "large", area
