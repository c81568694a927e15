"""Design2Code: the parts of the scores in both profiles, and by how much text a page has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.interaction2code.analyses.grid import MISSING, Grid
from uiproof.engine.rundir import RunDirectory
from uiproof.report.charts import drawable
from uiproof.report.leaderboard import Leaderboard, look_up
from uiproof.report.running import summary_of
from uiproof.stats.intervals import Interval, bootstrap_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHARTS = {"scores": "Scores, means with 95 % intervals"}
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
_COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7"),
    *("#56B4E9", "#D55E00", "#999999", "#F0E442"),
)  # of Okabe and Ito, which people with any kind of colour vision can tell apart


def tables(board: Leaderboard, runs: Sequence[RunDirectory]) -> list[Grid]:
    """The parts of the scores of each run, and its main score by how much text a page has."""
    made = [_parts(board, runs), _by_text(board, runs)]
    return [grid for grid in made if grid.rows]


def draw_charts(board: Leaderboard, folder: Path) -> list[Path]:
    """A chart of the means of all metrics as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    measured = [
        number
        for number in range(len(board.metrics))
        if any(row.cells[number].mean is not None for row in board.rows)
    ]
    if not measured:
        return []
    figure = Figure(figsize=(12, 5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    _bars(axes, board, measured)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    FigureCanvasAgg(figure).print_png(str(folder / "scores.png"))  # type: ignore[no-untyped-call]
    return [folder / "scores.png"]


def _bars(axes: Axes, board: Leaderboard, measured: Sequence[int]) -> None:
    thick = 0.8 / len(board.rows)
    for place, row in enumerate(board.rows):
        cells = [row.cells[number] for number in measured]
        at = [number + (place - (len(board.rows) - 1) / 2) * thick for number in range(len(cells))]
        means = [cell.mean or 0.0 for cell in cells]
        reach = [
            [
                max(m - (m if c.low is None else c.low), 0)
                for c, m in zip(cells, means, strict=True)
            ],
            [
                max((m if c.high is None else c.high) - m, 0)
                for c, m in zip(cells, means, strict=True)
            ],
        ]
        name = drawable(row.name) + (" [assisted]" if row.assisted else "")
        axes.bar(
            at,
            means,
            width=0.92 * thick,
            yerr=reach,
            color=_COLOURS[place % len(_COLOURS)],
            label=name,
            hatch="////" if row.assisted else None,
            error_kw={"ecolor": "black", "capsize": 3, "elinewidth": 1},
        )
    axes.set_xticks(range(len(measured)), [board.metrics[number].label for number in measured])
    axes.set_ylim(0, 1.02)
    axes.spines[["top", "right"]].set_visible(False)


def _parts(board: Leaderboard, runs: Sequence[RunDirectory]) -> Grid:
    rows = []
    for row, run in zip(board.rows, runs, strict=True):
        scores = summary_of(run)["scores"]
        for profile in ("paper", "strict"):
            means = [_shown(look_up(scores, f"{profile}.{name}")) for name in _PARTS]
            rows.append((row.name if profile == "paper" else "", profile, *means))
    return Grid(
        "Parts of the scores, both profiles",
        ("Method", "Profile", *_PARTS.values()),
        tuple(rows),
        ("± is half the width of the 95 % bootstrap interval of the mean.",),
        2,
    )


def _by_text(board: Leaderboard, runs: Sequence[RunDirectory]) -> Grid:
    """The main score of pages with few, some and many text blocks, each a third of the pages."""
    empty = Grid("", (), ())
    if board.primary is None:
        return empty
    metric = board.metrics[board.primary]
    scores: list[dict[str, float]] = []
    blocks: dict[str, int] = {}
    for run in runs:
        scores.append({})
        for record in run.records():
            scores[-1][record.id] = float(look_up(record.scores, metric.key) or 0.0)
            page = record.details.get("reference")
            if isinstance(page, Mapping):  # what failed in one run may be known from another
                blocks[record.id] = len(page.get("blocks") or ())
    ordered = sorted(blocks.values())
    if len(set(ordered)) < 3:
        return empty
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
            means.append(_mean(bootstrap_mean(values)) if values else MISSING)
        if pages:
            rows.append((name, f"{len(pages):,}", *means))
    return Grid(
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
    if interval.low is None or interval.high is None:
        return f"{interval.mean:.3f}"
    return f"{interval.mean:.3f} ±{(interval.high - interval.low) / 2:.3f}"
