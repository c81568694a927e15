"""Sections of a report that every benchmark has: distributions, extremes, charts, analyses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from importlib.util import find_spec
from typing import Any

from uiproof.benchmark import Record, number_at
from uiproof.engine.rundir import RunDirectory
from uiproof.markup import Markup, tag
from uiproof.registry import benchmarks
from uiproof.tables import Table
from uiproof.views.base import Analyses, CaseView, Leaderboard, RunRow
from uiproof.views.details import HARMLESS, flag_words
from uiproof.views.pages import Pages
from uiproof.views.pictures import Charts, Pictures

_BINS = 20
_EXTREMES = 6  # worst and best cases of each score
_PIXELS = (0, 5, 10, 25, 50, 100, 250, 500)  # distances from the target, up to and including

_MOST_WARNINGS = 6  # of a run

Places = Mapping[tuple[int, str], int]


def case_view(board: Leaderboard, runs: Sequence[RunDirectory], pictures: Pictures) -> CaseView:
    """Return the case view of the runs' benchmark; pages side by side if it has none."""
    benchmark = benchmarks().get(board.benchmark)
    view = None if benchmark is None else benchmark.case_view(board, runs, pictures)
    return Pages(board, runs, pictures) if view is None else view


def analyses(board: Leaderboard, runs: Sequence[RunDirectory]) -> Analyses:
    """Return the tables and charts of the runs' benchmark; none without cases."""
    benchmark = benchmarks().get(board.benchmark)
    if benchmark is None or not any(row.n for row in board.rows):
        return Analyses()
    return benchmark.analyses(board, runs) or Analyses()


def overview(board: Leaderboard, runs: Sequence[RunDirectory], places: Places) -> dict[str, Any]:
    """Return distributions and extremes of every metric, as the scripts of the page draw them.

    A case that has no score for a metric is in neither.
    """
    keys = [metric.key for metric in board.metrics]
    cases = [[_Case.of(record, keys) for record in run.records()] for run in runs]
    distributions = [
        _distribution(metric.label, column, cases) for column, metric in enumerate(board.metrics)
    ]
    if any(case.distance is not None for run in cases for case in run):
        distributions.append(_distances(cases))
    return {
        "warnings": [
            [number, text]
            for number, (row, run) in enumerate(zip(board.rows, cases, strict=True))
            for text in _warnings(row, run)
        ],
        "distributions": distributions,
        "extremes": [
            [_extremes(run, column, number, places) for column in range(len(keys))]
            for number, run in enumerate(cases)
        ],
    }


def charts_section(found: Analyses, pictures: Pictures, state: object) -> Iterator[str]:
    """Yield the charts of the page; `state` changes when those of these runs would."""
    drawn = {name: text for name, text in found.charts.items() if name not in found.native}
    if not drawn:
        return
    yield '<section id="charts" aria-labelledby="charts-title">'
    yield tag("h2", "Charts", id="charts-title")
    if find_spec("matplotlib") is None:
        remedy = "Charts are left out: they need matplotlib (pip install 'uiproof[charts]')."
        yield tag("p", remedy, class_="notes") + "</section>"
        return
    charts = Charts(found.draw)
    figures = [
        tag(
            "figure",
            tag("figcaption", caption),
            tag(
                "img",
                alt=f"Chart: {caption}",
                data_picture=pictures.add_chart(charts, name, state),
            ),
            class_="chart photo" if name in found.photos else "chart",
            tabindex=0,  # it can be scrolled where it is wider than the screen
            aria_label=caption,
        )
        for name, caption in drawn.items()
    ]
    yield tag("div", *figures, class_="charts")
    yield "</section>"


def tables_section(found: Analyses) -> Iterator[str]:
    """Yield the tables of the page."""
    if not found.tables:
        return
    yield '<section id="analyses" aria-labelledby="analyses-title">'
    yield tag("h2", "Analyses", id="analyses-title")
    for number, table in enumerate(found.tables):
        yield _table(table, f"analysis-{number}")
    yield "</section>"


@dataclass(frozen=True, slots=True)
class _Case:
    id: str
    scores: tuple[float | None, ...]
    distance: float | None  # of a click from its target, in pixels
    flags: tuple[str, ...]
    error: str | None

    @classmethod
    def of(cls, record: Record, keys: Sequence[str]) -> _Case:
        scores = tuple(number_at(record.scores, key) for key in keys)
        error = record.error.code if record.error else None
        return cls(record.id, scores, number_at(record.scores, "distance_px"), record.flags, error)


def _warnings(row: RunRow, cases: Sequence[_Case]) -> list[str]:
    """Return what a reader has to know before the scores of a run are trusted, in words."""
    found = []
    if row.running:
        found.append("The run is not finished.")
    elif not row.complete:
        found.append(f"The run ended early, after {row.n:,} cases.")
    if row.incomplete:
        found.append("Servers, machines or files failed; those cases count as wrong.")
    errors = Counter(case.error for case in cases if case.error)
    if errors:
        named = ", ".join(f"{code.replace('_', ' ')} {n:,}" for code, n in errors.most_common(4))
        found.append(f"{errors.total():,} of {len(cases):,} cases failed: {named}.")
    flags = Counter(flag for case in cases for flag in set(case.flags) - HARMLESS)
    found += [
        f"{count:,} of {len(cases):,} cases: {flag_words(flag)}."
        for flag, count in flags.most_common()
    ]
    if (rest := len(found) - _MOST_WARNINGS) > 1:
        found[_MOST_WARNINGS:] = [f"{rest} more kinds of flags; the filter of the cases has all."]
    return found


def _distribution(label: str, column: int, runs: Sequence[Sequence[_Case]]) -> dict[str, Any]:
    """Count cases by score, for each run; as yes and no if there is nothing in between."""
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
    """Return the worst and the best cases; of ties those that are shown, then by other scores."""

    def rank(case: _Case, shown: int) -> tuple[float, int, float, float]:
        known = [score for score in case.scores if score is not None]
        first = shown if (run, case.id) in places else 0
        return case.scores[column] or 0.0, first, sum(known) / len(known), -(case.distance or 0.0)

    measured = [case for case in cases if case.scores[column] is not None]
    most = min(_EXTREMES, len(measured) // 2)  # no case is both
    return {
        name: [[case.id, case.scores[column], places.get((run, case.id))] for case in chosen]
        for name, chosen in (
            ("worst", nsmallest(max(most, 1), measured, lambda case: rank(case, -1))),
            ("best", nlargest(most, measured, lambda case: rank(case, 1))),
        )
    }


def _table(grid: Table, titled: str) -> Markup:
    def cell(row: int, column: int, text: str) -> Markup:
        if column < grid.names:
            return tag("th", text, scope="row") if text else tag("td")
        kind = "b" if (row, column) in grid.best else "u" if (row, column) in grid.second else None
        return tag("td", text if kind is None else tag(kind, text))

    heads = [
        tag("th", text or "–", scope="col", class_="name" if column < grid.names else None)
        for column, text in enumerate(grid.header)
    ]
    rows = [
        tag("tr", *(cell(row, column, text) for column, text in enumerate(cells)))
        for row, cells in enumerate(grid.rows)
    ]
    head = tag("thead", tag("tr", *heads))
    table = tag("table", head, tag("tbody", *rows), class_="analysis")
    notes = [tag("li", note) for note in grid.notes]
    return tag(
        "div",
        tag("h3", grid.title, id=titled),
        tag("div", table, class_="scroll", tabindex=0, role="region", aria_labelledby=titled),
        tag("ul", *notes, class_="notes") if notes else "",
        class_="analysed",
    )
