"""Analyses of Design2Code runs: parts of the scores, and scores by how much text a page has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import look_up, number_at
from uiproof.benchmarks.design2code.summary import METRICS
from uiproof.charts import COLOURS, MARKERS, draw, drawable, tidy
from uiproof.engine.rundir import RunDirectory
from uiproof.stats.intervals import Interval, bounds_text, clustered_mean
from uiproof.tables import MISSING, Table, console
from uiproof.views.base import INTERVALS, Analyses, Leaderboard

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PARTS = {
    "block_match": "Block",
    "text": "Text",
    "position": "Position",
    "color": "Color",
    "clip": "CLIP",
    "layout": "Layout",
    "page_height": "Height",
    "ssim": "SSIM",
    "mean_without_clip": "Mean w/o CLIP",
}
_PROFILES = ("paper", "strict", "picture")
_MOST_NUMBERS = 40  # more would touch each other


def analyses(board: Leaderboard, runs: Sequence[RunDirectory]) -> Analyses:
    """Return the tables of the report, and a chart of the means of all metrics."""
    rows = [(row.name, row.scores) for row in board.rows]
    tables = [_screens(rows), _parts(board), _by_text(board, runs)]
    return Analyses(
        [table for table in tables if table is not None],
        {"scores": "Scores, means with 95 % intervals"},
        partial(_draw_charts, board),
        native=frozenset({"scores"}),
    )


def _draw_charts(board: Leaderboard, folder: Path) -> list[Path]:
    measured = [
        number
        for number in range(len(board.metrics))
        if any(row.cells[number].mean is not None for row in board.rows)
    ]

    def fill(figure: Figure) -> None:
        _points(figure.add_subplot(), board, measured)
        figure.legend(loc="outside lower center", ncols=3, frameon=False)

    return draw({"scores": (fill, (12, 5))} if measured else {}, folder, dpi=150, pad=None)


def _points(axes: Axes, board: Leaderboard, measured: Sequence[int]) -> None:
    """Draw the mean of each metric with its number, on an axis that ends where they do."""
    step = 0.8 / len(board.rows)
    few = len(board.rows) * len(measured) <= _MOST_NUMBERS
    for place, row in enumerate(board.rows):
        known = [
            (number, cell.mean, cell.low, cell.high)
            for number, cell in enumerate(row.cells[one] for one in measured)
            if cell.mean is not None
        ]
        at = [number + (place - (len(board.rows) - 1) / 2) * step for number, *_ in known]
        means = [mean for _, mean, _, _ in known]
        reach = [
            [0.0 if low is None else max(mean - low, 0.0) for _, mean, low, _ in known],
            [0.0 if high is None else max(high - mean, 0.0) for _, mean, _, high in known],
        ]
        axes.errorbar(
            at,
            means,
            yerr=reach,
            fmt=MARKERS[place % len(MARKERS)],
            markersize=8,
            capsize=3,
            color=COLOURS[place % len(COLOURS)],
            markerfacecolor="none" if row.assisted else None,
            label=drawable(row.name) + (" [assisted]" if row.assisted else ""),
        )
        for x, mean in zip(at, means, strict=True) if few else ():
            axes.annotate(
                f"{mean:.2f}",
                (x, mean),
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
    axes.set_xticks(range(len(measured)), [board.metrics[number].label for number in measured])
    axes.set_xlim(-0.5, len(measured) - 0.5)
    for edge in range(1, len(measured)):
        axes.axvline(edge - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    axes.margins(y=0.06)
    axes.grid(axis="y", alpha=0.25)
    axes.set_ylabel("mean; whiskers are 95 % intervals")
    tidy(axes)


def shown(run: RunDirectory) -> str:
    """Return what the table of methods leaves out: a row for each screen if several, and LPIPS."""
    scores = run.summary["scores"]
    table = _screens([(str(run.manifest["method"]), scores)])
    parts = [] if table is None else [console([table])]
    if scores.get("lpips"):
        parts.append(f"LPIPS (AlexNet, a distance: less is better): {_shown(scores['lpips'])}")
    return "\n".join(parts)


def _screens(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Table | None:
    """Return the scores on each screen, where pages were compared on several, and their mean."""
    lines = []
    for name, scores in rows:
        screens = {**(scores.get("viewports") or {})}
        if not screens:
            continue
        for place, (screen, own) in enumerate([*screens.items(), ("responsive mean", scores)]):
            means = [_shown(look_up(own, metric.key)) for metric in METRICS]
            lines.append((name if place == 0 else "", screen, *means))
    if not lines:
        return None
    header = ("Method", "Screen", *(metric.label for metric in METRICS))
    remarks = (INTERVALS,) if any("[" in cell for line in lines for cell in line[2:]) else ()
    return Table("Each screen", header, tuple(lines), remarks, 2)


def _parts(board: Leaderboard) -> Table:
    rows = []
    measured = any(row.scores.get("lpips") for row in board.rows)
    for row in board.rows:
        profiles = [name for name in _PROFILES if row.scores.get(name)]
        if look_up(row.scores, "paper.text") is None and "picture" in profiles:
            profiles = ["picture"]
        for place, profile in enumerate(profiles):
            means = [_shown(look_up(row.scores, f"{profile}.{name}")) for name in _PARTS]
            if measured:
                means.append(_shown(row.scores.get("lpips")) if place == 0 else "")
            rows.append((row.name if place == 0 else "", profile, *means))
    return Table(
        "Parts of the scores, both profiles",
        ("Method", "Profile", *_PARTS.values(), *(("LPIPS (less is better)",) if measured else ())),
        tuple(rows),
        (INTERVALS,),
        2,
    )


def _by_text(board: Leaderboard, runs: Sequence[RunDirectory]) -> Table | None:
    """Return the main score of pages with few, some and many text blocks, in thirds."""
    if board.primary is None:
        return None
    metric = board.metrics[board.primary]
    scores: list[dict[str, float]] = []
    blocks: dict[str, int] = {}
    for run in runs:
        scores.append({})
        for record in run.records():
            scores[-1][record.id] = number_at(record.scores, metric.key) or 0.0
            page = record.details.get("reference")
            if isinstance(page, Mapping):  # a page that failed in one run may be known from another
                blocks[record.id] = len(page.get("blocks") or ())
    ordered = sorted(blocks.values())
    if len(set(ordered)) < 3:
        return None
    few, some = ordered[len(ordered) // 3], ordered[2 * len(ordered) // 3]
    groups = {
        f"up to {few}": [page for page, n in blocks.items() if n <= few],
        f"{few + 1} to {some}": [page for page, n in blocks.items() if few < n <= some],
        f"more than {some}": [page for page, n in blocks.items() if n > some],
    }
    rows = []
    for name, pages in groups.items():
        means = []
        for run_scores in scores:
            values = [run_scores[page] for page in pages if page in run_scores]
            means.append(_mean(clustered_mean(values, within=metric.bounds)))
        if pages:
            rows.append((name, f"{len(pages):,}", *means))
    return Table(
        f"{metric.label} by how many text blocks a reference has",
        ("Blocks", "Pages", *(row.name for row in board.rows)),
        tuple(rows),
    )


def _shown(mean: Any) -> str:
    if not isinstance(mean, Mapping) or mean.get("mean") is None:
        return MISSING
    return _mean(Interval(mean["mean"], mean["low"], mean["high"], mean["n"]))


def _mean(interval: Interval | None) -> str:
    if interval is None:
        return MISSING
    return f"{interval.mean:.3f} {bounds_text(interval.low, interval.high)}".rstrip()
