"""Submissions side by side: the leader, those that do not differ from it, and the others.

board = uiproof.rank_submissions(["a.json", "b.json"])
for row in board.rows:
    print(row.rank, row.name, row.mean, row.p_value)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from uiproof import tables
from uiproof.benchmark import Metric, look_up
from uiproof.errors import UsageError
from uiproof.leaderboard import paired_scores
from uiproof.registry import benchmarks
from uiproof.stats.correlation import holm
from uiproof.stats.intervals import bounds_text, paired_difference, paired_permutation
from uiproof.submissions.checking import plain, problems_of
from uiproof.submissions.model import NotASubmissionError, Submission, SubmittedRun, read_json

_LEVEL = 0.05
_OLD_INTERVAL = "made by a version of uiproof whose intervals differ"


@dataclass(frozen=True, slots=True)
class Ranked:
    """One run on a leaderboard. The differences are those of the leader's cases to its own."""

    rank: int
    name: str
    by: str | None
    link: str | None
    method: str
    assisted: bool
    uiproof: str
    mean: float
    low: float | None
    high: float | None
    n: int
    failed: int
    behind: float | None = None  # how far behind the leader, on the cases that both have
    behind_low: float | None = None
    behind_high: float | None = None
    p_value: float | None = None  # of a paired permutation test, corrected after Holm
    tied: bool = False  # the test cannot tell it from the leader
    clusters: int | None = None  # pages or screenshots that the interval is over
    no_interval: str | None = None  # why there is none


@dataclass(frozen=True, slots=True)
class Apart:
    """A submission, or one of its runs, that is not ranked."""

    name: str
    reason: str
    valid: bool  # False where the file itself is wrong


@dataclass(frozen=True, slots=True)
class Ranking:
    """A leaderboard of one data set; `metric` is None where nothing could be ranked."""

    benchmark: str
    dataset: str
    dataset_key: str
    metric: Metric | None
    rows: tuple[Ranked, ...]
    apart: tuple[Apart, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    submission: Submission
    run: SubmittedRun
    label: str


def rank_submissions(files: Sequence[str | Path]) -> Ranking:
    """Check submissions and rank their runs by the main metric of their benchmark, best first.

    The majority decides the data set and the environment; the others are listed apart with the
    reason, as are invalid files.
    """
    if not files:
        raise UsageError("There is no submission to rank.", remedy="Name at least one file.")
    apart: list[Apart] = []
    entries: list[_Entry] = []
    seen: dict[str, str] = {}  # digest -> the first file that has it
    for path in map(Path, files):
        try:
            document = read_json(path)
            problems = problems_of(document)
        except NotASubmissionError as error:
            problems = [error.message]
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            reason = plain(problems[0]).removesuffix(".") + more
            apart.append(Apart(plain(path.name), reason, valid=False))
            continue
        submission = Submission.model_validate(document)
        if (first := seen.get(submission.digest)) is not None:
            apart.append(Apart(plain(path.name), f"the same as {plain(first)}", valid=True))
            continue
        seen[submission.digest] = path.name
        for run in submission.runs:
            several = f": {run.method}" if len(submission.runs) > 1 else ""
            entries.append(_Entry(submission, run, plain(f"{submission.name}{several}")))
    return _ranking(_set_apart(entries, apart), apart)


def _set_apart(entries: list[_Entry], apart: list[Apart]) -> list[_Entry]:
    """Return the runs that can be compared with each other; note why the others cannot."""
    whole = []
    for entry in entries:
        if entry.run.partial:
            reason = f"it does not cover its data set: {'; '.join(entry.run.partial)}"
            apart.append(Apart(entry.label, plain(reason), valid=True))
        else:
            whole.append(entry)

    keys: dict[str, Callable[[SubmittedRun], Hashable]] = {
        "benchmark": lambda run: run.benchmark,
        "content of the data set": lambda run: run.dataset_key,
        "environment": lambda run: json.dumps(run.fingerprint, sort_keys=True),
        "cases": lambda run: tuple(sorted(case.id for case in run.cases)),
    }
    for what, key in keys.items():
        found = [(entry, key(entry.run)) for entry in whole]
        most = Counter(own for _, own in found).most_common(1)[0][0] if found else None
        for entry, own in found:
            if own != most:
                apart.append(Apart(entry.label, plain(_reason(what, own, most)), valid=True))
        whole = [entry for entry, own in found if own == most]
    return whole


def _reason(what: str, own: Any, others: Any) -> str:
    if what == "environment":
        theirs, most = json.loads(own), json.loads(others)
        names = [name for name in {**most, **theirs} if theirs.get(name) != most.get(name)]
        return f"other environment: {', '.join(names[:6])}"
    return f"other {what}" + ("" if what == "cases" else f": {own} and not {others}")


def _ranking(entries: list[_Entry], apart: list[Apart]) -> Ranking:
    if not entries:
        return Ranking("", "", "", None, (), tuple(apart))
    first = entries[0].run
    metric = _main_metric(entries)
    measured = []
    for entry in entries:
        cell = _cell(entry, metric)
        if cell is None:
            apart.append(Apart(entry.label, f"{metric.label} was not measured", valid=True))
        else:
            measured.append((entry, cell))
    measured.sort(key=lambda pair: -pair[1]["mean"])
    rows = _compared(
        [_row(entry, cell) for entry, cell in measured],
        [{c.id: look_up(c.scores, metric.key) for c in entry.run.cases} for entry, _ in measured],
    )
    return Ranking(
        first.benchmark, plain(first.dataset), first.dataset_key, metric, tuple(rows), tuple(apart)
    )


def _main_metric(entries: Sequence[_Entry]) -> Metric:
    """Return the metric that most runs have, preferably one that ranks."""
    metrics = benchmarks()[entries[0].run.benchmark].metrics

    def order(metric: Metric) -> tuple[int, bool]:
        measured = sum(_cell(entry, metric) is not None for entry in entries)
        return -measured, not metric.ranks

    if not metrics:
        raise UsageError(f"The benchmark {entries[0].run.benchmark} has no metric to rank by.")
    return min(metrics, key=order)


def _cell(entry: _Entry, metric: Metric) -> dict[str, Any] | None:
    found = look_up(entry.run.summary.get("scores"), metric.key)
    return found if isinstance(found, dict) and found.get("mean") is not None else None


def _row(entry: _Entry, cell: dict[str, Any]) -> Ranked:
    submission, run = entry.submission, entry.run
    if "clusters" not in cell:
        cell = {**cell, "low": None, "high": None, "no_interval": _OLD_INTERVAL}
    return Ranked(
        rank=0,
        name=entry.label,
        by=None if submission.by is None else plain(submission.by),
        link=submission.link,
        method=plain(run.method),
        assisted=run.assisted,
        uiproof=plain(run.versions.get("uiproof", "unknown")),
        mean=float(cell["mean"]),
        low=cell.get("low"),
        high=cell.get("high"),
        n=int(cell["n"]),
        failed=int(run.summary["failed"]),
        clusters=cell.get("clusters"),
        no_interval=cell.get("no_interval"),
    )


def _compared(rows: list[Ranked], scores: list[dict[str, float | None]]) -> list[Ranked]:
    """Rank runs, with the paired test of each against the leader."""
    p_values: dict[int, float] = {}
    for place, own in enumerate(scores[1:], start=1):
        if (paired := paired_scores(scores[0], own)) is None:
            continue
        a, b, clusters = paired
        if behind := paired_difference(a, b, clusters):
            mean, low, high, *_ = behind
            rows[place] = replace(rows[place], behind=mean, behind_low=low, behind_high=high)
        if (p_value := paired_permutation(a, b, clusters=clusters)) is not None:
            p_values[place] = p_value
    if p_values:
        p_values = dict(zip(p_values, holm(list(p_values.values())).tolist(), strict=True))
    rank, final = 0, []
    for place, row in enumerate(rows):
        rank = rank if place and row.mean == rows[place - 1].mean else place + 1
        p = p_values.get(place)
        final.append(replace(row, rank=rank, p_value=p, tied=p is not None and p >= _LEVEL))
    return final


_LONGEST = 60


def ranking_table(board: Ranking) -> str:
    """Return a leaderboard for a terminal."""
    return tables.console([_table(board)])


def ranking_markdown(board: Ranking) -> str:
    """Return a leaderboard as markdown, in which untrusted names are plain text."""
    return tables.markdown([_table(board)], untrusted=True)


def ranking_json(board: Ranking) -> dict[str, Any]:
    """Return `{"benchmark", "dataset", "dataset_key", "metric", "rows": […], "apart": […]}`."""
    return {**asdict(board), "metric": board.metric.key if board.metric else None}


def notes(board: Ranking) -> list[str]:
    """Return what explains the table, and which submissions are not ranked and why."""
    found = []
    if any(row.no_interval for row in board.rows):
        reasons = sorted({row.no_interval for row in board.rows if row.no_interval})
        found.append(f"No interval: {'; '.join(reasons)}.")
    if len(board.rows) > 1:
        found.append(
            "Behind: the leader's mean minus its own on the same cases, with a 95 % interval. "
            "p: paired permutation test against the leader, corrected after Holm; "
            "≈ is not distinguishable from the leader."
        )
    if any(row.assisted for row in board.rows):
        found.append("Assisted methods were given the truth.")
    if len({row.uiproof for row in board.rows}) > 1:
        made_by = ", ".join(f"{row.name}: {row.uiproof}" for row in board.rows)
        found.append(f"Made by different versions of uiproof ({made_by}).")
    found += [f"Not ranked: {one.name}: {one.reason}." for one in board.apart]
    return found


def _table(board: Ranking) -> tables.Table:
    if not board.rows:
        return tables.Table("", (), (), tuple(notes(board)))
    title = f"{board.benchmark} on {_cut(board.dataset)} ({board.dataset_key[:12]})"
    metric = board.metric.label if board.metric else ""
    header = ("", "Name", "By", "n", "Clusters", "Failed", metric, "95 % interval", "Behind", "p")
    rows = tuple(_cells(row, board) for row in board.rows)
    return tables.Table(title, header, rows, tuple(notes(board)), names=3)


def _cells(row: Ranked, board: Ranking) -> tuple[str, ...]:
    digits = board.metric.digits if board.metric else 3
    name = _cut(row.name) + (" [assisted]" if row.assisted else "")
    behind = "" if row.behind is None else f"{row.behind:.{digits}f}"
    if reach := bounds_text(row.behind_low, row.behind_high, digits):
        behind += f" {reach}"
    p_value = "" if row.p_value is None else f"{row.p_value:.3g}"
    return (
        f"{'≈' if row.tied else ''}{row.rank}",
        name,
        _cut(row.by or ""),
        str(row.n),
        "" if row.clusters is None else str(row.clusters),
        str(row.failed),
        f"{row.mean:.{digits}f}",
        bounds_text(row.low, row.high, digits),
        behind,
        p_value,
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
