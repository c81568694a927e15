"""Leaderboards of runs: means of every metric, the best of each, and ties with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from pathlib import Path
from typing import Any

from uiproof.benchmark import Metric, Record, look_up, means_in, number_at
from uiproof.engine.rundir import RunDirectory, is_locked
from uiproof.engine.summary import summarise
from uiproof.errors import UsageError
from uiproof.registry import benchmarks
from uiproof.stats.intervals import paired_permutation
from uiproof.views.base import Leaderboard, MetricMean, RunRow

_LEVEL = 0.05  # of the test for ties

CaseScores = dict[str, tuple[float | None, ...]]  # case id -> a score for each metric


def leaderboard(
    named: Sequence[RunDirectory | Path | str], *, running: bool = False
) -> Leaderboard:
    """Return the leaderboard of runs of one benchmark, from their summaries and case scores.

    With `running`, a run without a summary counts with its cases so far.
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
    summaries = [summary_of(run, running=running) for run in runs]
    metrics = _metrics(benchmark, summaries)
    rows = [
        _row(run.manifest, summary, name, metrics)
        for run, summary, name in zip(runs, summaries, _names(runs), strict=True)
    ]
    shared = None
    if len(runs) > 1:
        scores = [case_scores(run.records(), metrics) for run in runs]
        rows = _compared(rows, scores, len(metrics))
        common = len(set.intersection(*map(set, scores)))
        shared = common if any(len(one) != common for one in scores) else None
    return Leaderboard(benchmark, metrics, tuple(rows), _primary(metrics, rows), shared)


def worst_cases(run: RunDirectory, most: int) -> tuple[Metric | None, list[Record]]:
    """Return the metric that ranks a run, and the cases that score least by it.

    There are none where all cases would be shown. Ties are broken by the other scores.
    """
    board = leaderboard([run])
    if board.primary is None or not most < board.rows[0].n:
        return None, []
    metric = board.metrics[board.primary]

    def rank(record: Record) -> tuple[float, float]:
        scores = (number_at(record.scores, one.key) for one in board.metrics)
        known = [score for score in scores if score is not None]
        return number_at(record.scores, metric.key) or 0.0, sum(known) / max(len(known), 1)

    slim = (replace(record, details={}) for record in run.records())  # some are large
    return metric, nsmallest(most, slim, rank)


def summary_of(run: RunDirectory, *, running: bool = True) -> Mapping[str, Any]:
    """Return `summary.json`, or a summary of the journal so far.

    Then `running` says whether the run is still being written, and `total` how many cases it will
    have. Intervals of earlier versions are computed again, so that runs can be compared.
    """
    if not running or (run.path / "summary.json").exists():
        return _with_new_intervals(run, run.summary)
    manifest = run.manifest
    benchmark = benchmarks().get(str(manifest["benchmark"]))
    if benchmark is None:
        records = list(run.records())
        failed = sum(record.error is not None for record in records)
        summary: dict[str, Any] = {"n": len(records), "failed": failed, "scores": {}}
    else:
        summary = summarise(run.records(), benchmark, manifest)
    return {
        **summary,
        "complete": False,
        "running": is_locked(run.path / "lock"),
        "total": manifest.get("cases"),
    }


def case_scores(records: Iterable[Record], metrics: Sequence[Metric]) -> CaseScores:
    """Return the scores of each case, in the order of the metrics: means over its answers."""
    found: dict[str, list[tuple[float | None, ...]]] = {}
    for record in records:
        scores = tuple(number_at(record.scores, metric.key) for metric in metrics)
        found.setdefault(record.case, []).append(scores)
    return {case: _means(answers) if answers[1:] else answers[0] for case, answers in found.items()}


def _means(answers: Sequence[tuple[float | None, ...]]) -> tuple[float | None, ...]:
    columns = (
        [value for value in column if value is not None] for column in zip(*answers, strict=True)
    )
    return tuple(sum(known) / len(answers) if known else None for known in columns)


def _metrics(benchmark: str, summaries: Sequence[Mapping[str, Any]]) -> tuple[Metric, ...]:
    known = benchmarks().get(benchmark)
    scores = [summary.get("scores", {}) for summary in summaries]
    if known is not None and known.metrics:
        return known.columns(scores)
    # A run of a benchmark that is not installed here can still be looked at.
    return tuple(Metric(key, key) for key, _ in means_in(scores[0]))


def _names(runs: Sequence[RunDirectory]) -> list[str]:
    methods = [str(run.manifest["method"]) for run in runs]
    return [
        f"{method} ({run.path.resolve().name})" if methods.count(method) > 1 else method
        for run, method in zip(runs, methods, strict=True)
    ]


def _row(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], name: str, metrics: Sequence[Metric]
) -> RunRow:
    return RunRow(
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
        incomplete=bool(summary.get("incomplete")),
        scores=summary["scores"],
    )


def _answers(summary: Mapping[str, Any]) -> dict[str, int]:
    """Return how many answers of a model were unusual, useless ones last."""
    return {
        name.removeprefix(prefix).replace("_", " "): n
        for part, prefix in (("flags", "answer:"), ("errors", "answer_"))
        for name, n in (summary.get(part) or {}).items()
        if name.startswith(prefix)
    }


def _cell(mean: Any) -> MetricMean:
    if not isinstance(mean, Mapping):
        return MetricMean(None, note="not measured")
    note = str(mean.get("reason") or mean.get("variant") or "").replace("_", " ")
    if mean.get("mean") is None:
        return MetricMean(None, n=int(mean.get("n", 0)), note=note or "not measured")
    return MetricMean(
        mean["mean"],
        mean["low"],
        mean["high"],
        int(mean["n"]),
        note,
        clusters=mean.get("clusters"),
        no_interval=mean.get("no_interval"),
    )


def _compared(rows: list[RunRow], scores: list[CaseScores], width: int) -> list[RunRow]:
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


def cluster_of(case_id: str) -> str:
    """Return the page or screenshot of a case `sample/element`: its cases are alike."""
    return case_id.rpartition("/")[0] or case_id


def paired_scores(
    one: Mapping[str, float | None], other: Mapping[str, float | None]
) -> tuple[list[float], list[float], list[str]] | None:
    """Return the scores of the cases that both runs have, and the cluster of each case.

    None if no case has a score: then the mean is not one over cases, such as a macro mean.
    """
    shared = [case_id for case_id in one if case_id in other]
    if all(run[case_id] is None for run in (one, other) for case_id in shared):
        return None
    # If a metric has a mean, only failed cases can lack a score, and they count as 0.
    a, b = ([run[case_id] or 0.0 for case_id in shared] for run in (one, other))
    return a, b, list(map(cluster_of, shared))


def _tied(best: CaseScores, other: CaseScores, column: int) -> bool:
    runs = ({case_id: row[column] for case_id, row in run.items()} for run in (best, other))
    if (paired := paired_scores(*runs)) is None:
        return False
    a, b, clusters = paired
    p_value = paired_permutation(a, b, clusters=clusters)
    return p_value is not None and p_value >= _LEVEL


def _primary(metrics: Sequence[Metric], rows: Sequence[RunRow]) -> int | None:
    """Return the metric that most runs have, of these one that ranks, else the first."""
    counts = [sum(row.cells[i].mean is not None for row in rows) for i in range(len(metrics))]
    most = max(counts, default=0)
    measured = [i for i, count in enumerate(counts) if count == most > 0]
    return next((i for i in measured if metrics[i].ranks), measured[0] if measured else None)


def _with_new_intervals(run: RunDirectory, summary: Mapping[str, Any]) -> Mapping[str, Any]:
    benchmark = benchmarks().get(str(summary.get("benchmark")))
    if benchmark is None or not _has_old_intervals(summary.get("scores")):
        return summary
    return {**summary, "scores": summarise(run.records(), benchmark)["scores"]}


def _has_old_intervals(scores: Any) -> bool:
    """Return whether some interval does not say how many clusters it is over."""
    if not isinstance(scores, Mapping):
        return False
    if scores.get("mean") is not None and "low" in scores:
        return "clusters" not in scores
    return any(map(_has_old_intervals, scores.values()))
