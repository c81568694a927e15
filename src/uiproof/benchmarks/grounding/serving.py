"""Grounding for `Scorer`, `uiproof serve`, rewards and inspect_ai: answers without a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from uiproof.benchmark import Case, ChatTask, Completion, Score, Served
from uiproof.benchmarks.grounding.cases import Answer, Question, Truth
from uiproof.benchmarks.grounding.coordinates import contract_for, parse_contract
from uiproof.benchmarks.grounding.data import AnnotatedElement, ElementType
from uiproof.benchmarks.grounding.judge import GroundingJudge
from uiproof.benchmarks.grounding.parsing import locate, parse
from uiproof.errors import UsageError
from uiproof.geometry import Box

_NO_SCREEN = 65_536  # pixels of a side, where the size of the screenshot is not said

Side = Annotated[float, Field(allow_inf_nan=False, ge=0, le=_NO_SCREEN)]
SERVED = Served(
    reference=tuple[Side, Side, Side, Side] | tuple[Side, Side, Side, Side, Side, Side],
    takes="[left, top, right, bottom] in pixels of the screenshot, and maybe its width and height",
    fields={
        "coordinates": (
            Annotated[str, Field(max_length=200)],
            Field(
                "pixels",
                description="grounding: what the numbers of the answer mean, such as `thousand`; "
                "all but `pixels` need the size of the screenshot.",
            ),
        )
    },
    examples={
        "point": {
            "summary": "A point against a box",
            "value": {"reference": [20, 20, 120, 50], "generated": "click(64, 31)"},
        },
    },
)


@dataclass(frozen=True, slots=True)
class WrittenPlace:
    """A point or a text with one; its numbers are read when the screenshot is known."""

    written: str
    coordinates: str


def reference_case(reference: Any, case_id: str) -> Case[Any, Any] | None:
    """Return the case of a box in pixels, with or without the size of its screenshot."""
    if isinstance(reference, Case):
        return reference if isinstance(reference.truth, Truth) else None
    if not _is_numbers(reference) or len(reference) not in (4, 6):
        return None
    left, top, right, bottom, *size = (float(value) for value in reference)
    width, height = (round(side) for side in size or (_NO_SCREEN, _NO_SCREEN))
    if not (0 <= left < right <= width and 0 <= top < bottom <= height):
        raise UsageError(
            f"{list(reference)} is not a box on a screenshot.",
            remedy="Give (left, top, right, bottom) in pixels, and maybe width and height.",
        )
    box = Box(left / width, top / height, (right - left) / width, (bottom - top) / height)
    element = AnnotatedElement("target", box, "", ElementType.UNKNOWN, "")
    truth = Truth("", element, (element,), width, height)
    return Case(case_id, Question(Path(), width, height, ""), truth)


def answer(generated: Any, coordinates: str = "pixels") -> Answer | WrittenPlace:
    """Return a point `(x, y)`, a text with one, or an answer, as the judge takes it."""
    parse_contract(coordinates)  # raises what is wrong with it
    if isinstance(generated, Answer):
        return generated
    if isinstance(generated, Completion):
        return WrittenPlace(generated.text, coordinates)
    if isinstance(generated, str):
        return WrittenPlace(generated, coordinates)
    if _is_numbers(generated) and len(generated) in (2, 4):
        return WrittenPlace(f"[{', '.join(str(float(value)) for value in generated)}]", coordinates)
    raise UsageError(
        f"{type(generated).__name__} is not a place on a screenshot.",
        remedy="Give a point (x, y), or the text of an answer.",
    )


class PlaceJudge(GroundingJudge):
    """The judge for cases of a data set, and for boxes that are given as they are."""

    def score(self, case: Case[Question, Truth], answer: Answer | WrittenPlace) -> Score:
        """Score one answer."""
        if isinstance(answer, WrittenPlace):
            answer = _read(answer, case.truth)
        return super().score(case, answer)


def _read(place: WrittenPlace, truth: Truth) -> Answer:
    contract = parse_contract(place.coordinates)
    parsed = parse(place.written)
    found = locate(parsed, contract, truth.width, truth.height)
    if isinstance(found, Box):
        return Answer(box=found)
    return Answer(point=found, refused=parsed.kind == "refusal")


def _is_numbers(value: Any) -> bool:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        return False
    return all(
        isinstance(one, int | float) and not isinstance(one, bool) and isfinite(one)
        for one in value
    )


# --- inspect_ai


def chat_task() -> ChatTask:
    """Return how inspect_ai runs the benchmark: a chat model answers in its own coordinates."""
    from uiproof.benchmarks.grounding.grounders import PROMPTS, ChatGrounder
    from uiproof.benchmarks.grounding.methods import Blind
    from uiproof.benchmarks.grounding.searches import BLIND_SEARCHES

    return ChatTask(
        prompts=PROMPTS,
        method=lambda model, prompt: Blind(
            ChatGrounder(model, contract_for(model.name), prompt), BLIND_SEARCHES["none"]
        ),
        scores=lambda: ("accuracy",),
        read=lambda _: (_written(Answer()), ()),  # only our own solver knows the coordinates
        write=_written,
        make=lambda text, _: _made(text),
    )


def _written(answer: Answer) -> str:
    box = answer.box
    return json.dumps(
        {
            "point": answer.click,
            "box": None if box is None else [box.x, box.y, box.w, box.h],
            "refused": answer.refused,
        }
    )


def _made(text: str) -> Answer:
    content = json.loads(text)
    point, box = content["point"], content["box"]
    return Answer(
        point=None if point is None else (point[0], point[1]),
        box=None if box is None else Box(*box),
        refused=content["refused"],
    )
