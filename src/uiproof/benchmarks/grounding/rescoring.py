"""Score published prediction files: one run for each method of a file."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from uiproof.benchmark import BrokenCase, Case, Method
from uiproof.benchmarks.grounding.cases import Answer, GroundingCase
from uiproof.benchmarks.grounding.predictions import Prediction, Predictions
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import MethodError, UsageError
from uiproof.remote.mirror import name_of
from uiproof.tables import Table, console

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.cases import Question
    from uiproof.engine.context import Context


@dataclass(frozen=True, slots=True)
class Rescored:
    """The run of one method of a prediction file, with the rates that the file itself states."""

    method: str
    run: RunDirectory
    rates: Rates
    in_set: int | None = None  # items of the data set, where it is here


def rescored_json(results: list[Rescored]) -> dict[str, Mapping[str, Any]]:
    """Return for each method its summary, and its rates beside those that the file states."""
    return {
        one.method: {
            "summary": one.run.summary,
            "correct": one.rates.correct,
            "total": one.rates.total,
            "rescored": one.rates.rescored,
            "stored_correct": one.rates.stored_correct,
            "stored": one.rates.stored,
            "differing": list(one.rates.differing),
            "why": one.rates.why,
            "macro": dict(one.rates.macro),
        }
        for one in results
    }


def rescored_table(results: list[Rescored]) -> str:
    """Return rates computed from published files beside the rates they state, for a terminal."""
    rows = []
    for one in results:
        rates = one.rates
        stored = "" if rates.stored is None else f"{100 * rates.stored:.2f} %"
        macro = ", ".join(f"{name} {100 * rate:.2f} %" for name, rate in rates.macro.items())
        counts = (f"{rates.total:,}", f"{rates.correct:,}", f"{100 * rates.rescored:.2f} %")
        rows.append((one.method, *counts, stored, macro))
    notes = [f"{one.method}: {one.rates.why}" for one in results if one.rates.why]
    if (in_set := results[0].in_set) is not None and in_set != results[0].rates.total:
        notes.append(f"The file has {results[0].rates.total:,} of the data set's {in_set:,} items.")
    header = ("Method", "n", "Correct", "Rescored", "Stored", "Macro")
    return console([Table("", header, tuple(rows), tuple(notes))])


DIFFERS = "published:differs"  # flag of cases that the file itself judges differently


class Published(Method["Question", Answer]):
    """Answers with the predictions of one method of a file."""

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
        # An oracle has seen the truth.
        self.assisted = self._method in predictions.assisted
        self._predictions = predictions.methods[self._method]
        self._by_id = {one.case.id: one for one in self._predictions if isinstance(one.case, Case)}

    @property
    def name(self) -> str:
        """Return `published:`, the file, and the method where the file has several."""
        several = len(self._file.methods) > 1 or self._method != "pred"
        return f"published:{self._file.path.stem}" + (f":{self._method}" if several else "")

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the file, the field and the meaning of its numbers."""
        contract = self._file.points.get(self._method)
        return {
            "file": name_of(self._file.path),
            "format": self._file.format,
            "field": self._method,
            "points": None if contract is None else str(contract).removesuffix(",xy,point"),
            "boxes": self._file.boxes,
        }

    @property
    def rates(self) -> Rates:
        """Return the rates that the file states beside those of its numbers."""
        return rates(self._predictions)

    def cases(self, path: Path | None = None) -> list[GroundingCase | BrokenCase]:  # noqa: ARG002 - the engine names the file that was read
        """Return the targets of the file, as a benchmark's `cases`."""
        return [one.case for one in self._predictions]

    def key(self, case_id: str) -> str | None:
        """Return a digest of the prediction, so that a changed one is scored again."""
        one = self._by_id.get(case_id)
        if one is None or isinstance(one.case, BrokenCase):
            return "unreadable"
        box = one.case.truth.element.bbox
        content = f"{one.answer.point} {one.answer.box} {one.answer.refused} {box}"
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:  # noqa: ARG002
        """Return the prediction for a case."""
        one = self._by_id.get(case_id)
        if one is None:
            raise MethodError(f"{self._file.path} has no prediction for {case_id}.")
        if one.stored is not None and one.stored != one.rescored:
            context.flag(DIFFERS)
        return one.answer


def published_methods(predictions: Predictions) -> list[Published]:
    """Return the methods of a file."""
    return [Published(predictions, name) for name in predictions.methods]


_MACROS: Mapping[str, tuple[str, ...]] = {
    "application": ("application",),
    "group": ("group",),
    "platform": ("platform",),
    "ui_type": ("ui_type",),
    "cell": ("group", "ui_type"),  # the cells of the papers' tables
}
_SHOWN = 5  # ids in a message
_MANY = 0.1  # a part of all items that rounding does not explain


@dataclass(frozen=True, slots=True)
class Rates:
    """The share of correct answers of a method; denominators always have all items."""

    total: int
    correct: int  # by the numbers: the point inside of the box, edges included
    stored_correct: int | None  # by the file's own verdicts; None where it has none
    differing: tuple[str, ...]  # ids where the two disagree
    unreadable: int
    cells: Mapping[str, Mapping[str, tuple[int, int]]]  # tag -> value -> (correct, total)
    why: str = ""  # the likely reason, for people

    @property
    def rescored(self) -> float:
        """Return the share of correct answers over all items (micro)."""
        return self.correct / self.total

    @property
    def stored(self) -> float | None:
        """Return the same by the file's own verdicts."""
        return None if self.stored_correct is None else self.stored_correct / self.total

    @property
    def macro(self) -> Mapping[str, float]:
        """Return the mean of the rates of the cells for each tag."""
        return {
            tag: sum(correct / total for correct, total in cells.values()) / len(cells)
            for tag, cells in self.cells.items()
        }


def rates(predictions: Sequence[Prediction]) -> Rates:
    """Count one method of a file: `rates(predictions.methods["pred"])`."""
    readable = [one for one in predictions if isinstance(one.case, Case)]
    known = [one for one in predictions if one.stored is not None]
    differing = [one for one in readable if one.stored is not None and one.stored != one.rescored]
    return Rates(
        total=len(predictions),
        correct=sum(one.rescored for one in readable),
        stored_correct=sum(bool(one.stored) for one in known) if known else None,
        differing=tuple(one.case.id for one in differing),
        unreadable=len(predictions) - len(readable),
        cells=_cells(predictions),
        why=_why(differing, readable),
    )


def _cells(
    predictions: Sequence[Prediction],
) -> dict[str, dict[str, tuple[int, int]]]:
    cells: dict[str, dict[str, tuple[int, int]]] = {}
    for name, tags in _MACROS.items():
        counts: dict[str, list[bool]] = defaultdict(list)
        for one in predictions:
            if all(tag in one.tags for tag in tags):
                counts[" ".join(one.tags[tag] for tag in tags)].append(one.rescored)
        if counts:
            cells[name] = {key: (sum(hit), len(hit)) for key, hit in sorted(counts.items())}
    return cells


def _why(differing: Sequence[Prediction], all_of_them: Sequence[Prediction]) -> str:
    if not differing:
        return ""
    ids = ", ".join(one.case.id for one in differing[:_SHOWN])
    more = ", …" if len(differing) > _SHOWN else ""
    if all(_on_edge(one) for one in differing) and all(_is_whole(one) for one in all_of_them):
        return (
            f"The points of this file are whole pixels. {len(differing)} of them lie exactly on an "
            "edge of the box; the points that were judged had fractions and probably lay on the "
            f"other side: {ids}{more}."
        )
    text = f"The file's own verdict is another one for {len(differing)} items: {ids}{more}."
    if len(differing) > _MANY * len(all_of_them):
        text += " With so many, its numbers may mean something else: say what points and boxes are."
    return text


def _is_whole(one: Prediction) -> bool:
    (x, y), (width, height) = one.answer.click or (0.0, 0.0), _size(one)
    return all(abs(part - round(part)) < 1e-6 for part in (x * width, y * height))


def _on_edge(one: Prediction) -> bool:
    click = one.answer.click
    if click is None or isinstance(one.case, BrokenCase):
        return False
    box, (width, height) = one.case.truth.element.bbox, _size(one)
    across = min(abs(click[0] - edge) for edge in (box.x, box.x + box.w)) * width
    down = min(abs(click[1] - edge) for edge in (box.y, box.y + box.h)) * height
    return min(across, down) < 1e-6


def _size(one: Prediction) -> tuple[int, int]:
    return (one.case.truth.width, one.case.truth.height) if isinstance(one.case, Case) else (0, 0)
