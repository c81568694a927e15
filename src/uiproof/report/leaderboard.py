"""Runs side by side: which is best at what, and which cannot be told apart from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from uiproof.engine.rundir import RunDirectory
from uiproof.engine.types import Record
from uiproof.errors import UsageError
from uiproof.registry import Metric, benchmarks
from uiproof.report.running import summary_of
from uiproof.stats.intervals import paired_bootstrap_difference

_PRIMARY = ("final", "mean_without_clip")  # what a leaderboard is sorted by, in this order

CaseScores = dict[str, tuple[float | None, ...]]  # case id -> a score for each metric


@dataclass(frozen=True, slots=True)
class Cell:
    """The mean of one metric in one run; `mean` is None where it was not measured."""

    mean: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    note: str = ""  # why there is no mean, or which variant of the metric this is
    best: bool = False
    tie: bool = False  # a paired bootstrap cannot tell it from the best


@dataclass(frozen=True, slots=True)
class Row:
    """One run."""

    name: str
    dataset: str
    assisted: bool  # the method was given the truth
    complete: bool
    n: int
    failed: int
    cells: tuple[Cell, ...]
    usage: Mapping[str, Any] | None = None  # what its models took
    answers: Mapping[str, int] = field(default_factory=dict)  # how many were fenced, empty, …
    running: bool = False  # not finished and not interrupted: what is there is what there is so far
    total: int | None = None  # how many cases a running run will have, if that is known


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """One row per run in the order the runs were given, one cell per metric."""

    benchmark: str
    metrics: tuple[Metric, ...]
    rows: tuple[Row, ...]
    primary: int | None  # index of the metric that ranks the runs
    shared: int | None = None  # how many cases all runs have, where some run has others too

    def ranked(self) -> list[Row]:
        """The rows, best first."""
        if self.primary is None:
            return list(self.rows)
        key = self.primary

        def rank(row: Row) -> tuple[bool, float]:
            mean = row.cells[key].mean
            return mean is None, -(mean or 0.0)

        return sorted(self.rows, key=rank)


def leaderboard(
    named: Sequence[RunDirectory | Path | str], *, running: bool = False
) -> Leaderboard:
    """Read the summaries and the scores of all cases; scores are never computed here.

    With `running`, a run that has no summary yet is taken as far as it is.
    """
    runs = [RunDirectory.of(run, pictures=False) for run in named]
    if not runs:
        raise UsageError("There is no run to show.", remedy="Name at least one run directory.")
    kinds = {str(run.manifest["benchmark"]) for run in runs}
    if len(kinds) > 1:
        raise UsageError(
            f"Runs of different benchmarks cannot be compared: {', '.join(sorted(kinds))}.",
            remedy="Name runs of one benchmark only.",
        )
    benchmark = kinds.pop()
    summaries = [summary_of(run) if running else run.summary for run in runs]
    metrics = _metrics(benchmark, summaries[0])
    rows = [
        _row(run.manifest, summary, name, metrics)
        for run, summary, name in zip(runs, summaries, _names(runs), strict=True)
    ]
    if len(runs) > 1:
        scores = [case_scores(run.records(), metrics) for run in runs]
        rows = _compared(rows, scores, len(metrics))
        shared = len(set.intersection(*(set(one) for one in scores)))
        if any(len(one) != shared for one in scores):
            return Leaderboard(benchmark, metrics, tuple(rows), _primary(metrics, rows), shared)
    return Leaderboard(benchmark, metrics, tuple(rows), _primary(metrics, rows))


def case_scores(records: Iterable[Record], metrics: Sequence[Metric]) -> CaseScores:
    """The scores of each case, in the order of the metrics."""
    return {
        record.id: tuple(_number(look_up(record.scores, metric.key)) for metric in metrics)
        for record in records
    }


def look_up(scores: Mapping[str, Any], key: str) -> Any:
    """What stands at a path such as `paper.text`; None if there is nothing."""
    value: Any = scores
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _metrics(benchmark: str, summary: Mapping[str, Any]) -> tuple[Metric, ...]:
    known = benchmarks().get(benchmark)
    if known is not None and known.metrics:
        return known.metrics
    # A run of a benchmark that is not installed here can still be looked at.
    return tuple(Metric(key, key) for key in _summary_keys(summary.get("scores", {})))


def _summary_keys(scores: Mapping[str, Any], prefix: str = "") -> Iterable[str]:
    for name, value in scores.items():
        if value is None or (isinstance(value, Mapping) and "mean" in value):
            yield prefix + name
        elif isinstance(value, Mapping):
            yield from _summary_keys(value, f"{prefix}{name}.")


def _names(runs: Sequence[RunDirectory]) -> list[str]:
    methods = [str(run.manifest["method"]) for run in runs]
    return [
        f"{method} ({run.path.resolve().name})" if methods.count(method) > 1 else method
        for run, method in zip(runs, methods, strict=True)
    ]


def _row(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], name: str, metrics: Sequence[Metric]
) -> Row:
    return Row(
        name=name,
        dataset=str(manifest.get("dataset", "")),
        assisted=bool(manifest.get("assisted", False)),
        complete=bool(summary.get("complete", True)),
        n=int(summary["n"]),
        failed=int(summary["failed"]),
        cells=tuple(_cell(look_up(summary["scores"], metric.key)) for metric in metrics),
        usage=summary.get("usage"),
        answers=_answers(summary),
        running=bool(summary.get("running")),
        total=summary.get("total"),
    )


def _answers(summary: Mapping[str, Any]) -> dict[str, int]:
    """What was unusual about a model's answers, the useless ones last."""
    flags, errors = summary.get("flags") or {}, summary.get("errors") or {}
    counts = [*_named(flags, "answer:"), *_named(errors, "answer_")]
    return {what.replace("_", " "): n for what, n in counts}


def _named(counts: Mapping[str, int], prefix: str) -> Iterable[tuple[str, int]]:
    return ((name.removeprefix(prefix), n) for name, n in counts.items() if name.startswith(prefix))


def _cell(mean: Any) -> Cell:
    if not isinstance(mean, Mapping):
        return Cell(None, note="not measured")
    note = str(mean.get("reason") or mean.get("variant") or "").replace("_", " ")
    if mean.get("mean") is None:
        return Cell(None, n=int(mean.get("n", 0)), note=note or "not measured")
    return Cell(mean["mean"], mean["low"], mean["high"], int(mean["n"]), note)


def _compared(rows: list[Row], scores: list[CaseScores], width: int) -> list[Row]:
    """Mark the best of each metric, and what ties with it on the cases that both have."""
    table = [list(row.cells) for row in rows]
    for column in range(width):
        measured = [i for i, cells in enumerate(table) if cells[column].mean is not None]
        if len(measured) < 2 or len({table[i][column].note for i in measured}) > 1:
            continue  # nothing to compare, or two scales under one name
        best = max(measured, key=lambda i: table[i][column].mean or 0.0)
        table[best][column] = replace(table[best][column], best=True)
        for i in measured:
            if i != best and _tied(scores[best], scores[i], column):
                table[i][column] = replace(table[i][column], tie=True)
    return [replace(row, cells=tuple(cells)) for row, cells in zip(rows, table, strict=True)]


def _tied(best: CaseScores, other: CaseScores, column: int) -> bool:
    shared = [case_id for case_id in best if case_id in other]
    if all(scores[case_id][column] is None for scores in (best, other) for case_id in shared):
        return False  # a mean that is not one over cases, such as a macro mean
    # Where a metric has a mean, only failed cases can lack it, and those count as 0 in the mean.
    a, b = ([scores[case_id][column] or 0.0 for case_id in shared] for scores in (best, other))
    # `sample/element`: elements of one screenshot are alike, and so are interactions of one page.
    clusters = [case_id.rpartition("/")[0] or case_id for case_id in shared]
    difference = paired_bootstrap_difference(a, b, clusters=clusters)
    if difference is None or difference.low is None or difference.high is None:
        return False
    return difference.low <= 0 <= difference.high


def _primary(metrics: Sequence[Metric], rows: Sequence[Row]) -> int | None:
    measured = [
        i for i in range(len(metrics)) if all(row.cells[i].mean is not None for row in rows)
    ]
    for wanted in _PRIMARY:
        for i in measured:
            if metrics[i].key.rpartition(".")[2] == wanted:
                return i
    return measured[0] if measured else None
