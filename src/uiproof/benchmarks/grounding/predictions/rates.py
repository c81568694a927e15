"""Rates of published predictions: as the file states them, and as its numbers say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uiproof.benchmarks.grounding.predictions.model import Prediction, Unreadable

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
    """How often a method is right; nothing is ever left out of the denominators."""

    total: int
    correct: int  # by the numbers: the point inside of the box, edges included
    stored_correct: int | None  # by the file's own verdicts; None where it has none
    differing: tuple[str, ...]  # ids where the two disagree
    unreadable: int
    cells: Mapping[str, Mapping[str, tuple[int, int]]]  # tag -> value -> (correct, total)
    why: str = ""  # what the two disagree about, for people

    @property
    def rescored(self) -> float:
        """The share of correct answers over all items (micro)."""
        return self.correct / self.total

    @property
    def stored(self) -> float | None:
        """The same by the file's own verdicts."""
        return None if self.stored_correct is None else self.stored_correct / self.total

    @property
    def macro(self) -> Mapping[str, float]:
        """The mean of the rates of the cells, by what the items are split up by."""
        return {
            tag: sum(correct / total for correct, total in cells.values()) / len(cells)
            for tag, cells in self.cells.items()
        }


def rates(predictions: Sequence[Prediction | Unreadable]) -> Rates:
    """Count one method of a file: `rates(predictions.methods["pred"])`."""
    readable = [one for one in predictions if isinstance(one, Prediction)]
    known = [one for one in predictions if one.stored is not None]
    differing = [one for one in readable if one.stored is not None and one.stored != one.rescored]
    return Rates(
        total=len(predictions),
        correct=sum(one.rescored for one in readable),
        stored_correct=sum(bool(one.stored) for one in known) if known else None,
        differing=tuple(one.id for one in differing),
        unreadable=len(predictions) - len(readable),
        cells=_cells(predictions),
        why=_why(differing, readable),
    )


def _cells(
    predictions: Sequence[Prediction | Unreadable],
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
    ids = ", ".join(one.id for one in differing[:_SHOWN])
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


def _pixels(one: Prediction) -> tuple[float, float] | None:
    click = one.answer.click
    return None if click is None else (click[0] * one.width, click[1] * one.height)


def _is_whole(one: Prediction) -> bool:
    point = _pixels(one)
    return point is None or all(abs(part - round(part)) < 1e-6 for part in point)


def _on_edge(one: Prediction) -> bool:
    point, box = _pixels(one), one.element.bbox
    if point is None:
        return False
    across = (box.x * one.width, (box.x + box.w) * one.width)
    down = (box.y * one.height, (box.y + box.h) * one.height)
    return any(abs(point[0] - edge) < 1e-6 for edge in across) or any(
        abs(point[1] - edge) < 1e-6 for edge in down
    )
