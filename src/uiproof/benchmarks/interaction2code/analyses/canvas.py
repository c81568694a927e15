"""What the charts share: colours, bars with intervals, legends, files."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.engine.storage import access
from uiproof.stats.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    # What draws a chart, and how large it is in inches.
    Chart = tuple[Callable[[Figure], None], tuple[float, float]]

DPI = 150
GREY = "#D9D9D9"
COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7"),
    *("#56B4E9", "#D55E00", "#999999", "#F0E442"),
)


def draw(charts: Mapping[str, Chart], folder: Path) -> list[Path]:
    """Draw charts into a folder, each a PNG of its name; returns the files."""
    from matplotlib.figure import Figure

    files = []
    for name, (fill, inches) in charts.items():
        figure = Figure(figsize=inches, dpi=DPI, layout="constrained")
        fill(figure)
        files.append(_save(figure, folder / f"{name}.png"))
    return files


def _save(figure: Figure, file: Path) -> Path:
    """Write a figure as PNG; a file of that name stays until the new one is whole."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    content = io.BytesIO()
    FigureCanvasAgg(figure).print_png(content)  # type: ignore[no-untyped-call]
    with access(file, "written"):
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.tmp")
        partial.write_bytes(content.getvalue())
        partial.replace(file)
    return file


def bar_room(rows: int) -> float:
    """How tall a chart with so many horizontal bars has to be, in inches."""
    return 1.8 + 0.42 * max(rows, 2)


def bars(axes: Axes, rates: Mapping[str, Interval | None], colours: Sequence[str]) -> None:
    """Horizontal bars of shares with their intervals, their numbers and n."""
    for row, (one, colour) in enumerate(zip(rates.values(), colours, strict=True)):
        if one is None:
            continue
        down, up = reach(one)
        axes.barh(
            row,
            one.mean,
            height=0.7,
            xerr=[[down], [up]],
            color=colour,
            error_kw={"ecolor": "black", "capsize": 3, "elinewidth": 1.2},
        )
        text = f"{100 * one.mean:.1f} %   n = {one.n:,}"
        axes.text(one.mean + up + 0.012, row, text, va="center", fontsize=9)
    rows_down(axes, list(rates))
    axes.set_xlim(0, 1.24)  # room for what is written behind a full bar
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "20", "40", "60", "80", "100 %"])
    axes.set_xlabel("whiskers are 95 % intervals over pages")
    tidy(axes)


def stacked(axes: Axes, names: Sequence[str], parts: Mapping[str, tuple[list[float], str]]) -> None:
    """Horizontal bars from 0 to 100 %, each cut into parts that have a number where it fits."""
    starts = [0.0] * len(names)
    for label, (shares, colour) in parts.items():
        axes.barh(range(len(names)), shares, left=starts, height=0.7, color=colour, label=label)
        for row, (start, share) in enumerate(zip(starts, shares, strict=True)):
            if share > 0.05:
                text = f"{100 * share:.1f} %"
                axes.text(start + share / 2, row, text, ha="center", va="center", fontsize=9)
        starts = [start + share for start, share in zip(starts, shares, strict=True)]
    rows_down(axes, names)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    tidy(axes)


def rows_down(axes: Axes, names: Sequence[str]) -> None:
    """Names of rows at the left, the first one on top."""
    axes.set_yticks(range(len(names)), list(names))
    axes.set_ylim(len(names) - 0.45, -0.55)


def percent_axis(axes: Axes, reach: float) -> None:
    """Numbers of a share along the bottom, as far as the bars reach."""
    step = 0.1 if reach > 0.25 else 0.05
    ticks = [place * step for place in range(int(reach / step) + 1)]
    axes.set_xlim(0, reach)
    axes.set_xticks(ticks, [f"{100 * tick:.0f}" for tick in ticks])
    axes.set_xlabel("% of interactions")


def legend(figure: Figure, panels: Iterable[Axes]) -> None:
    """One legend below all panels, with each name once."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside lower center",
        ncols=2 if len(found) in (2, 4) else 3,
        frameon=False,
    )


def not_measured(axes: Axes) -> None:
    """Say in an empty panel why it is empty."""
    axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color="#666666")
    axes.set_yticks([])


def reach(one: Interval) -> tuple[float, float]:
    """How far the whisker of a mean goes down and up; nowhere where nothing is known."""
    if one.low is None or one.high is None:
        return 0.0, 0.0
    return max(one.mean - one.low, 0.0), max(one.high - one.mean, 0.0)


def tidy(axes: Axes) -> None:
    """No frame where it says nothing."""
    axes.spines[["top", "right"]].set_visible(False)
