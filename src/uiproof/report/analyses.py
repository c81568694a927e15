"""The analyses of the papers in a report: their tables and charts, from records only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from uiproof.benchmarks.interaction2code.analyses.grid import Grid
from uiproof.engine.rundir import RunDirectory
from uiproof.report.charts import Charts, drawable
from uiproof.report.leaderboard import Leaderboard
from uiproof.report.markup import Markup, tag
from uiproof.report.pictures import Pictures

_INTERACTION_CHARTS = {
    "usability": "Usability (Fig. 6)",
    "implemented": "Implemented and usable interactions",
    "failures": "Types of failure (Fig. 9)",
    "usability_by_tags": "Usability by what is acted on (Table 5)",
    "usability_by_visuals": "Usability by what changes (Table 6)",
    "saliency_scores": "Scores by visual saliency (Fig. 10)",
    "saliency": "Visual saliency of the interactions",
    "magnification": "Scores by magnification (Fig. 12)",
}
_GROUNDING_CHARTS = {
    "detection_rate_overall": "Detection rate",
    "detection_rate_by_size": "Detection rate by size of the element",
    "accuracy_vs_latency": "Detection rate and latency",
}
_PAIR = ("A", "B", "n", "only A %", "only B %", "A - B %", "95 %", "p")


@dataclass(frozen=True, slots=True)
class Analyses:
    """Tables, and charts by their names with what they show; some may turn out to be empty."""

    tables: Sequence[Grid]
    charts: Mapping[str, str] = field(default_factory=dict)
    draw: Callable[[Path], object] = lambda _: None


def analyses(board: Leaderboard, runs: Sequence[RunDirectory]) -> Analyses:
    """What the paper of the runs' benchmark shows, for these runs. Drawing comes later."""
    if not any(row.n for row in board.rows):
        return Analyses(())
    if board.benchmark == "grounding":
        return _of_grounding(runs)
    if board.benchmark == "interaction2code":
        return _of_interactions(runs)
    if board.benchmark == "design2code":
        from uiproof.report.page_analyses import CHARTS, draw_charts, tables

        return Analyses(tables(board, runs), CHARTS, lambda folder: draw_charts(board, folder))
    return Analyses(())


def section(found: Analyses, pictures: Pictures, state: object) -> Iterator[str]:
    """The section of the page; `state` changes when the charts of these runs would."""
    if not found.tables and not found.charts:
        return
    yield '<section id="analyses" aria-labelledby="analyses-title">'
    yield tag("h2", "Analyses", id="analyses-title")
    charts = Charts(found.draw)
    figures = []
    for name, caption in found.charts.items():
        number = pictures.add_chart(charts, name, state)
        picture = tag("img", alt=f"Chart: {caption}", data_picture=number)
        figures.append(
            tag(
                "figure",
                tag("figcaption", caption),
                picture,
                class_="chart",
                tabindex=0,  # it can be scrolled where it is wider than the screen
                aria_label=caption,
            )
        )
    yield tag("div", *figures, class_="charts")
    for number, table in enumerate(found.tables):
        yield _table(table, f"analysis-{number}")
    yield "</section>"


def _table(grid: Grid, titled: str) -> Markup:
    names = grid.names

    def row(cells: Sequence[str]) -> Markup:
        heads = [tag("th", cell, scope="row") for cell in cells[:names]]
        return tag("tr", *heads, *(tag("td", cell) for cell in cells[names:]))

    head = tag(
        "tr",
        *(
            tag("th", cell or "–", scope="col", class_="name" if place < names else None)
            for place, cell in enumerate(grid.header)
        ),
    )
    body = tag("tbody", *map(row, grid.rows))
    table = tag("table", tag("thead", head), body, class_="analysis")
    notes = [tag("li", note) for note in grid.notes]
    return tag(
        "div",
        tag("h3", grid.title, id=titled),
        tag("div", table, class_="scroll", tabindex=0, role="region", aria_labelledby=titled),
        tag("ul", *notes, class_="notes") if notes else "",
        class_="analysed",
    )


def _of_interactions(runs: Sequence[RunDirectory]) -> Analyses:
    from uiproof.benchmarks.interaction2code.analyses.charts import draw_charts
    from uiproof.benchmarks.interaction2code.analyses.outcomes import results_of
    from uiproof.benchmarks.interaction2code.analyses.tables import all_tables

    ended = [run for run in runs if (run.path / "summary.json").exists()]
    if not ended:
        return Analyses(())
    found = results_of(ended)
    tables = all_tables(found, analyses=["strict"])
    named = [replace(one, model=drawable(one.model)) for one in found]
    return Analyses(tables, _INTERACTION_CHARTS, lambda folder: draw_charts(named, folder))


def _of_grounding(runs: Sequence[RunDirectory]) -> Analyses:
    from uiproof.benchmarks.grounding.charts import draw_charts
    from uiproof.benchmarks.grounding.comparing import compare
    from uiproof.benchmarks.grounding.results import MethodMetrics, metrics_of_run
    from uiproof.benchmarks.grounding.sizes import SIZES
    from uiproof.benchmarks.interaction2code.analyses.grid import share
    from uiproof.stats.intervals import Interval

    metrics = [metrics_of_run(run) for run in runs]

    def rates(one: MethodMetrics, by: Mapping[str, Interval], names: Sequence[str]) -> list[str]:
        return [one.label, *(share(by.get(name)) for name in names)]

    header = ("Method", "Data set", "n", "Detected %", "IoU", "Latency ms", "Looks")
    overall = [
        (
            one.label,
            one.dataset_name,
            f"{one.total_elements:,}",
            share(one.interval),
            f"{one.mean_iou:.3f}",
            f"{one.mean_latency_ms:,.0f}",
            f"{one.mean_attempts:.1f}",
        )
        for one in metrics
    ]
    kinds = sorted({kind for one in metrics for kind in one.by_type})
    rules = sorted({one.size_rule for one in metrics if one.size_rule})
    tables = [
        Grid("Results", header, tuple(overall), ("In brackets 95 % intervals.",), 2),
        Grid(
            "Detection rate by size of the element, %",
            ("Method", *SIZES),
            tuple(tuple(rates(one, one.by_size, SIZES)) for one in metrics),
            tuple(f"Sizes by the {rule}." for rule in rules),
        ),
        Grid(
            "Detection rate by type of the element, %",
            ("Method", *kinds),
            tuple(tuple(rates(one, one.by_type, kinds)) for one in metrics),
        ),
    ]
    pairs = [_pair(pair) for pair in compare(metrics)["pairs"]]
    notes = (
        "p: exact McNemar on the same elements; the interval of the difference knows that "
        "elements of one screenshot are alike.",
    )
    tables.append(Grid("Two methods on the same elements", _PAIR, tuple(pairs), notes, 2))
    named = [
        replace(one, method_name=drawable(one.method_name), dataset_name=drawable(one.dataset_name))
        for one in metrics
    ]
    return Analyses(
        [table for table in tables if table.rows and len(table.header) > 1],
        _GROUNDING_CHARTS,
        lambda folder: draw_charts(named, folder),
    )


def _pair(pair: Mapping[str, object]) -> tuple[str, ...]:
    n = int(str(pair["n"]))

    def of_all(count: object) -> str:
        return f"{100 * int(str(count)) / n:.1f}" if n else "-"

    difference = pair["difference"]
    shown = ["-", "-"]
    if isinstance(difference, Mapping):
        shown[0] = f"{100 * difference['mean']:+.1f}"
        if difference["low"] is not None:
            shown[1] = f"{100 * difference['low']:+.1f} to {100 * difference['high']:+.1f}"
    counts = (of_all(pair["only_a"]), of_all(pair["only_b"]))
    return str(pair["a"]), str(pair["b"]), f"{n:,}", *counts, *shown, f"{pair['p']:.2g}"
