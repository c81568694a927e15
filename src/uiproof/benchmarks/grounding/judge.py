"""The grounding judge: compares where an answer points to with where the element is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.answers import Answer, AssistedFinding, Look
from uiproof.benchmarks.grounding.verdicts import Verdict, verdict
from uiproof.boxes import Box
from uiproof.engine.rundir import RunDirectory
from uiproof.engine.types import Case, Judge, Score
from uiproof.errors import UiproofError

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.cases import Question, Truth

_RAW_CHARACTERS = 2000  # enough to see what went wrong; the whole answer is in the cache
_DIGITS = 6  # of fractions: less than a hundredth of a pixel on the widest screen


class GroundingJudge(Judge["Question", "Truth", Answer]):
    """Scores points and boxes. It needs no browser, looks at no picture and writes no file.

    Blind methods score `accuracy` (1 or 0), `iou` where they gave a box, and `distance_px`.
    Assisted methods score `detected` and `iou`, which their own rule decided with the truth in
    sight, and beside that `blind_hit`: what their click would be worth to a blind method.
    """

    def __init__(self, run: Path | None = None) -> None:
        self._run = run

    def score(self, case: Case[Question, Truth], answer: Answer) -> Score:
        """Say what one answer is worth."""
        found = verdict(answer, case.truth)
        details = {**_about(case), **_answered(answer, found)}
        if answer.assisted is None:
            return Score(_blind_scores(found), details=details)
        scores = _assisted_scores(answer.assisted, found)
        return Score(scores, details={**details, "assisted": _finding(answer.assisted)})

    def failure(self, case: Case[Question, Truth] | None) -> Score:
        """Nothing was said, so nothing is right; the case still counts where it belongs."""
        right = ("detected", "blind_hit") if self._of_assisted_run else ("accuracy",)
        scores = {**dict.fromkeys(right, 0.0), "iou": None, "distance_px": None}
        return Score(scores, details={} if case is None else _about(case))

    @cached_property
    def _of_assisted_run(self) -> bool:
        if self._run is not None:
            with suppress(UiproofError):  # a run that cannot be read fails elsewhere, not here
                return bool(RunDirectory(self._run).manifest.get("assisted"))
        return False


def _blind_scores(found: Verdict) -> dict[str, float | None]:
    return {
        "accuracy": float(found.correct),
        "iou": _number(found.iou),
        "distance_px": _number(found.distance_px, 3),
    }


def _assisted_scores(finding: AssistedFinding, found: Verdict) -> dict[str, float | None]:
    return {
        "detected": float(finding.found),
        "iou": _number(finding.iou),
        "blind_hit": float(found.correct),
        "distance_px": _number(found.distance_px, 3),
    }


def _about(case: Case[Question, Truth]) -> dict[str, Any]:
    """What a report shows of a case whatever was answered."""
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


def _answered(answer: Answer, found: Verdict) -> dict[str, Any]:
    return {
        "verdict": found.kind.value,
        "hit_element": found.element_id,
        "answer": {
            "click": _point(answer.click),
            "box": _box(answer.box),
            "refused": answer.refused,
            "confidence": _number(answer.confidence),
        },
        "attempts": len(answer.looks) or 1,
        "looks": [_look(look) for look in answer.looks],
        "notes": [_shortened(note) for note in answer.notes],
    }


def _look(look: Look) -> dict[str, Any]:
    return {
        "region": _box(look.region),
        "sent": list(look.sent),
        "point": _point(look.point),
        "raw": _shortened(look.raw),
    }


def _finding(finding: AssistedFinding) -> Mapping[str, Any]:
    return {
        "found": finding.found,
        "matched_text": _shortened(finding.matched_text),
        "region_errors": [_shortened(error) for error in finding.region_errors],
    }


def _shortened(text: str) -> str:
    dropped = len(text) - _RAW_CHARACTERS
    return text if dropped <= 0 else f"{text[:_RAW_CHARACTERS]}… ({dropped} characters more)"


def _exact(box: Box) -> list[float]:
    """A box of the truth as it is: rounding could move an element across the bound of a size."""
    return [box.x, box.y, box.w, box.h]


def _box(box: Box | None) -> list[float | None] | None:
    return None if box is None else _numbers((box.x, box.y, box.w, box.h))


def _point(point: tuple[float, float] | None) -> list[float | None] | None:
    return None if point is None else _numbers(point)


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [_number(value) for value in values]


def _number(value: float | None, digits: int = _DIGITS) -> float | None:
    # A journal cannot hold what is not finite, and a model may say anything.
    return None if value is None or not isfinite(value) else round(float(value), digits)
