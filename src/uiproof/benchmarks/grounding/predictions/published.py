"""Published predictions in the engine: their targets as cases, their answers as a method."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from uiproof.benchmarks.grounding.answers import Answer
from uiproof.benchmarks.grounding.data import AnnotatedElement
from uiproof.benchmarks.grounding.predictions.model import Prediction, Predictions, Unreadable
from uiproof.benchmarks.grounding.predictions.rates import Rates, rates
from uiproof.engine.types import BrokenCase, Case, Method
from uiproof.errors import MethodError, UsageError
from uiproof.remote.mirror import name_of

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.cases import Question, Truth
    from uiproof.engine.context import Context

DIFFERS = "published:differs"  # flag of cases that the file itself judges differently


class Published(Method["Question", Answer]):
    """Answers with what a published file says.

    method = Published(read_predictions(path), "final")
    execute(benchmark=replace(BENCHMARK, cases=method.cases), dataset=path, method=method, …)
    """

    needs_question: ClassVar[bool] = False
    concurrency = 64

    def __init__(self, predictions: Predictions, method: str | None = None) -> None:
        names = tuple(predictions.methods)
        self._method = names[0] if method is None else method
        if self._method not in names:
            raise UsageError(
                f"{predictions.path} has no method {method}.", remedy=f"It has: {', '.join(names)}."
            )
        self._file = predictions
        self._predictions = predictions.methods[self._method]
        self._by_id = {one.id: one for one in self._predictions if isinstance(one, Prediction)}

    @property
    def name(self) -> str:
        """`published:`, the file, and the method where the file has several."""
        several = len(self._file.methods) > 1 or self._method != "pred"
        return f"published:{self._file.path.stem}" + (f":{self._method}" if several else "")

    @property
    def settings(self) -> Mapping[str, Any]:
        """The file, the field, and what its numbers are taken for."""
        space = self._file.reading.points.get(self._method)
        return {
            "file": name_of(self._file.path),
            "format": self._file.format,
            "field": self._method,
            "points": None if space is None else space.value,
            "boxes": self._file.reading.boxes.value,
        }

    @property
    def rates(self) -> Rates:
        """What the file states about itself beside what its numbers say."""
        return rates(self._predictions)

    def cases(self, path: Path | None = None) -> list[Case[Question, Truth] | BrokenCase]:  # noqa: ARG002 - the engine names the file that was read
        """The targets of the file, as a benchmark's `cases`."""
        return cases(self._predictions)

    def key(self, case_id: str) -> str | None:
        """A digest of the prediction, so that a changed one is scored anew."""
        one = self._by_id.get(case_id)
        if one is None:
            return "unreadable"
        said = f"{one.answer.point} {one.answer.box} {one.answer.refused} {one.element.bbox}"
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:  # noqa: ARG002
        """The prediction for a case."""
        one = self._by_id.get(case_id)
        if one is None:
            raise MethodError(f"{self._file.path} has no prediction for {case_id}.")
        if one.stored is not None and one.stored != one.rescored:
            context.flag(DIFFERS)
        return one.answer


class PublishedBound(Published):
    """A method of a file that was made with the truth in view, such as an oracle."""

    assisted: ClassVar[bool] = True


def published_methods(predictions: Predictions) -> list[Published]:
    """One method for each one of the file."""
    return [
        (PublishedBound if name in predictions.assisted else Published)(predictions, name)
        for name in predictions.methods
    ]


def cases(
    predictions: Sequence[Prediction | Unreadable],
) -> list[Case[Question, Truth] | BrokenCase]:
    """The targets of one method's predictions, in the order of the file."""
    from uiproof.benchmarks.grounding.cases import Question, Truth

    elements: dict[str, list[AnnotatedElement]] = defaultdict(list)
    for one in predictions:
        if isinstance(one, Prediction):
            # Without what is not needed to tell them apart: cases travel to other processes.
            elements[one.sample_id].append(replace(one.element, instruction="", metadata={}))
    same_screenshot = {sample: tuple(found) for sample, found in elements.items()}
    made: list[Case[Question, Truth] | BrokenCase] = []
    for one in predictions:
        if isinstance(one, Unreadable):
            made.append(BrokenCase(one.id, one.error))
            continue
        question = Question(
            Path(one.image or one.sample_id), one.width, one.height, one.element.instruction
        )
        truth = Truth(
            sample_id=one.sample_id,
            element=one.element,
            others=same_screenshot[one.sample_id],
            width=one.width,
            height=one.height,
            tags=dict(one.tags),
        )
        made.append(Case(one.id, question, truth))
    return made
