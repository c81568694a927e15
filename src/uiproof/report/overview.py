"""All cases of some runs at a glance: how each score is distributed, the worst and the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from typing import Any

from uiproof.engine.rundir import RunDirectory
from uiproof.engine.types import Record
from uiproof.report.leaderboard import Leaderboard, look_up

_BINS = 20
_EXTREMES = 6  # worst and best cases of each score
_PIXELS = (0, 5, 10, 25, 50, 100, 250, 500)  # distances from the target, up to and including

Places = Mapping[tuple[int, str], int]


@dataclass(frozen=True, slots=True)
class _Case:
    id: str
    scores: tuple[float | None, ...]
    distance: float | None  # of a click from its target, in pixels

    @classmethod
    def of(cls, record: Record, keys: Sequence[str]) -> _Case:
        scores = tuple(_number(look_up(record.scores, key)) for key in keys)
        return cls(record.id, scores, _number(record.scores.get("distance_px")))


def overview(board: Leaderboard, runs: Sequence[RunDirectory], places: Places) -> dict[str, Any]:
    """Distributions and extremes of every metric, as the scripts of the page draw them.

    Only reads: a case that has no score for a metric is in neither.
    """
    keys = [metric.key for metric in board.metrics]
    cases = [[_Case.of(record, keys) for record in run.records()] for run in runs]
    distributions = [
        _distribution(metric.label, column, cases) for column, metric in enumerate(board.metrics)
    ]
    if any(case.distance is not None for run in cases for case in run):
        distributions.append(_distances(cases))
    return {
        "distributions": distributions,
        "extremes": [
            [_extremes(run, column, number, places) for column in range(len(keys))]
            for number, run in enumerate(cases)
        ],
    }


def _distribution(label: str, column: int, runs: Sequence[Sequence[_Case]]) -> dict[str, Any]:
    """Counts of cases by score, for each run; yes and no where there is nothing in between."""
    values = [[v for case in run if (v := case.scores[column]) is not None] for run in runs]
    if all(value in (0.0, 1.0) for run in values for value in run):
        return _counted(label, column, ("no", "yes"), values, int)
    names = [f"{number / _BINS:.2f}–{(number + 1) / _BINS:.2f}" for number in range(_BINS)]

    def place(value: float) -> int:
        return min(max(int(value * _BINS), 0), _BINS - 1)

    return _counted(label, column, names, values, place)


def _distances(runs: Sequence[Sequence[_Case]]) -> dict[str, Any]:
    names = ["0", *(f"≤{pixels}" for pixels in _PIXELS[1:]), f">{_PIXELS[-1]}"]

    def place(value: float) -> int:
        return next((n for n, most in enumerate(_PIXELS) if value <= most), len(_PIXELS))

    values = [[case.distance for case in run if case.distance is not None] for run in runs]
    return _counted("Distance from the target, px", None, names, values, place)


def _counted(
    label: str,
    metric: int | None,
    names: Sequence[str],
    values: Iterable[Sequence[float]],
    place: Callable[[float], int],
) -> dict[str, Any]:
    counts = [Counter(map(place, run)) for run in values]
    return {
        "label": label,
        "metric": metric,
        "bins": list(names),
        "counts": [[count[number] for number in range(len(names))] for count in counts],
    }


def _extremes(
    cases: Iterable[_Case], column: int, run: int, places: Places
) -> dict[str, list[list[Any]]]:
    """The worst and the best; of equal ones, those that are worse or better otherwise."""

    def rank(case: _Case) -> tuple[float, float, float]:
        known = [score for score in case.scores if score is not None]
        return case.scores[column] or 0.0, sum(known) / len(known), -(case.distance or 0.0)

    measured = [case for case in cases if case.scores[column] is not None]
    most = min(_EXTREMES, len(measured) // 2)  # no case is both
    return {
        name: [[case.id, case.scores[column], places.get((run, case.id))] for case in chosen]
        for name, chosen in (
            ("worst", nsmallest(max(most, 1), measured, rank)),
            ("best", nlargest(most, measured, rank)),
        )
    }


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
