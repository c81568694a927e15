"""Several answers to each case: their ids, and what the best of them scores.

The first answer has the id of its case, the second `id#2`, the third `id#3`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Metric, Record, number_at
from uiproof.errors import InputError, suggestion

if TYPE_CHECKING:
    from uiproof.engine.shards import AnyCase

PASS_SCORE = 0.9  # the least score that passes, for pass@k
_SHOWN_K = (1, 2, 3, 5, 10, 20, 50, 100)


def sample_id(case_id: str, sample: int) -> str:
    """Return the id of one of several answers, counted from 0."""
    return f"{case_id}#{sample + 1}" if sample else case_id


def sampled(cases: Iterable[AnyCase], samples: int) -> Iterator[tuple[AnyCase, int]]:
    """Yield each case as often as it is answered, with the number of the answer."""
    for case in cases:
        yield case, 0
        for sample in range(1, samples):
            yield replace(case, id=sample_id(case.id, sample)), sample


def chosen(cases: Iterable[AnyCase], only: Sequence[str]) -> list[AnyCase]:
    """Return the cases with these ids, or below them: `101` means `101/1` and `101/2`.

    Raises `InputError` for an id that no case has.
    """
    found: list[AnyCase] = []
    missing, ids = set(only), []
    for case in cases:
        ids.append(case.id)
        if named := {one for one in only if case.id == one or case.id.startswith(f"{one}/")}:
            found.append(case)
            missing -= named
    if missing:
        name = min(missing)
        raise InputError(
            f"The data set has no case {name!r}.",
            remedy=suggestion(name, ids)
            or f"It has {', '.join(ids[:8])}{' …' if len(ids) > 8 else ''}.",
        )
    return found


class SampleScores:
    """Collects the scores of all answers by case."""

    def __init__(self, metrics: Sequence[Metric], pass_score: float | None) -> None:
        self._metrics = metrics
        self._pass_score = PASS_SCORE if pass_score is None else pass_score
        self._scores: dict[str, list[list[float]]] = {}  # by case: for each answer, each metric

    def add(self, record: Record) -> None:
        """Add one answer; what a failed one has no score for counts as 0."""
        values = [number_at(record.scores, metric.key) for metric in self._metrics]
        missing = 0.0 if record.status == "failed" else float("nan")
        self._scores.setdefault(record.case, []).append(
            [missing if value is None else value for value in values]
        )

    def as_json(self) -> dict[str, Any]:
        """Return the best of N and pass@k of every metric, with intervals over cases."""
        if not self._scores:
            return {}
        from uiproof.stats.intervals import clustered_mean, pass_at_k

        fewest = min(map(len, self._scores.values()))
        shown = sorted({k for k in _SHOWN_K if k <= fewest} | {fewest})
        found: dict[str, Any] = {}
        for column, metric in enumerate(self._metrics):
            cases = [[answer[column] for answer in answers] for answers in self._scores.values()]
            if any(value != value for answers in cases for value in answers):
                continue  # not measured for all answers: neither has a mean
            best = clustered_mean([max(answers) for answers in cases], within=metric.bounds)
            passing = [
                (len(answers), sum(value >= self._pass_score for value in answers))
                for answers in cases
            ]
            rates = {
                k: clustered_mean([pass_at_k(n, c, k) for n, c in passing], within=(0.0, 1.0))
                for k in shown
            }
            found[metric.key] = {
                "best": best and best._asdict(),
                "pass": {str(k): rate and rate._asdict() for k, rate in rates.items()},
            }
        return {
            "samples": {
                "cases": len(self._scores),
                "each": fewest,
                "pass_score": self._pass_score,
                "scores": found,
            }
        }
