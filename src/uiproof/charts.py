"""Charts: matplotlib figures with the colours, bars, legends and names that all of them share."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from uiproof.errors import needs_extra
from uiproof.files import access, write_atomic
from uiproof.stats.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    # What fills a figure, and its size in inches.
    Chart = tuple[Callable[[Figure], None], tuple[float, float]]

DPI = 100  # of pictures inside a chart, everything else is lines
GREY = "#D9D9D9"
COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7"),
    *("#56B4E9", "#D55E00", "#999999", "#F0E442"),
)  # of Okabe and Ito, which are distinct with any kind of colour vision
MARKERS = "osD^vPX*"
_MOST_LINES = 4  # of a name
_LONGEST = 60  # characters of a name on one line
_CHARACTERS = 11  # of a legend, for each inch of a chart


def draw(
    charts: Mapping[str, Chart], folder: Path, *, dpi: int = DPI, pad: float | None = 0.1
) -> list[Path]:
    """Draw charts into a folder, each as `<name>.png` and `<name>.svg`, and return the files."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ModuleNotFoundError as error:
        raise needs_extra("Charts need matplotlib.", "charts") from error

    files = []
    for name, (fill, inches) in charts.items():
        layout = ConstrainedLayoutEngine(w_pad=pad, h_pad=pad)
        figure = Figure(figsize=inches, dpi=dpi, layout=layout)
        fill(figure)
        files += _write(figure, folder, name)
    return files


def _write(figure: Figure, folder: Path, name: str) -> list[Path]:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    # The same chart is the same file; text that is text takes a tenth of the bytes of outlines.
    style: dict[Any, Any] = {"svg.hashsalt": "uiproof", "svg.fonttype": "none"}
    png, svg = io.BytesIO(), io.BytesIO()
    FigureCanvasAgg(figure).print_png(png)  # type: ignore[no-untyped-call]
    figure.set_layout_engine("none")  # everything stays where it is in the PNG
    with rc_context(style):
        FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None})  # type: ignore[no-untyped-call]
    files = [folder / f"{name}.png", folder / f"{name}.svg"]
    for file, drawn in zip(files, (png, svg), strict=True):
        with access(file, "written"):
            folder.mkdir(parents=True, exist_ok=True)
            write_atomic(file, drawn.getvalue())
    return files


def drawable(name: str) -> str:
    """Return a name from a run as a chart can show it: printable, short, no formulas."""
    shown = _printable(name)
    shown = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
    return shown.replace("$", r"\$")


def named(name: str, width: int = 36) -> str:
    """Return the same on several lines where it is long."""
    lines = wrap(_printable(name), width) or [""]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], lines[_MOST_LINES - 1][: width - 1] + "…"]
    return "\n".join(lines).replace("$", r"\$")


def bar_room(rows: int) -> float:
    """Return the height in inches of a chart with so many horizontal bars."""
    return 1.8 + 0.42 * max(rows, 2)


def bars(axes: Axes, rates: Mapping[str, Interval | None], colours: Sequence[str]) -> None:
    """Draw horizontal bars of shares with their intervals, their numbers and n."""
    for row, (one, colour) in enumerate(zip(rates.values(), colours, strict=True)):
        if one is None:
            continue
        down, up = reach(one)
        axes.barh(
            row,
            one.mean,
            height=0.7,
            xerr=[[down], [up]] if one.low is not None else None,
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


def stacked(
    axes: Axes,
    names: Sequence[str],
    parts: Mapping[str, tuple[list[float], str]],
    *,
    narrow: bool = False,
) -> None:
    """Draw bars from 0 to 100 %, each cut into parts that have a number where it fits."""
    starts = [0.0] * len(names)
    for label, (shares, colour) in parts.items():
        axes.barh(range(len(names)), shares, left=starts, height=0.7, color=colour, label=label)
        for row, (start, share) in enumerate(zip(starts, shares, strict=True)):
            if share > (0.14 if narrow else 0.05):
                text = f"{100 * share:.{0 if narrow else 1}f} %"
                axes.text(start + share / 2, row, text, ha="center", va="center", fontsize=9)
        starts = [start + share for start, share in zip(starts, shares, strict=True)]
    rows_down(axes, names)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    tidy(axes)


def rows_down(axes: Axes, names: Sequence[str]) -> None:
    """Write the names of rows at the left, the first one on top."""
    axes.set_yticks(
        range(len(names)), [shown if "\n" in shown else named(shown) for shown in names]
    )
    axes.set_ylim(len(names) - 0.45, -0.55)


def percent_axis(axes: Axes, reach: float) -> None:
    """Write a few percentages along the bottom, as far as the bars reach and at most to 100."""
    step = next((step for limit, step in ((0.25, 0.05), (0.6, 0.1)) if reach <= limit), 0.2)
    ticks = [place * step for place in range(int(min(reach, 1) / step + 1e-9) + 1)]
    axes.set_xlim(0, reach)
    axes.set_xticks(ticks, [f"{100 * tick:.0f}" for tick in ticks])
    axes.set_xlabel("% of interactions")


def legend(figure: Figure, panels: Iterable[Axes], *, size: float | None = None) -> None:
    """Add one legend below all panels, with each name once.

    Names are wrapped and have as many columns as there is room for. With a font `size`, names stay
    on one line, in two columns or three.
    """
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(named(label) if size is None else label, handle)
    if not found:
        return
    longest = max(len(line) for label in found for line in label.split("\n"))
    room = int(figure.get_figwidth() * _CHARACTERS / (longest + 6))
    columns = 3 if len(found) > 4 else 2
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside lower center",
        ncols=max(1, min(room, 2 if len(found) == 4 else 3)) if size is None else columns,
        frameon=False,
        fontsize=size,
    )


def reach(one: Interval | None) -> tuple[float, float]:
    """Return how far the whisker of a mean goes down and up; 0 without an interval."""
    if one is None or one.low is None or one.high is None:
        return 0.0, 0.0
    return max(one.mean - one.low, 0.0), max(one.high - one.mean, 0.0)


def tidy(axes: Axes) -> None:
    """Remove the frame at the top and right."""
    axes.spines[["top", "right"]].set_visible(False)


def font_size(entries: int, largest: float) -> float:
    """Return the size of texts, smaller where there are many."""
    return max(5.0, min(largest, largest * 16 / max(entries, 1)))


def _printable(name: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in name)
