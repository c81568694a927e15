"""Three charts of results: detection rates, the same by size, and accuracy against latency.

Methods that were given the truth are hatched and say `assisted`. Error bars are 95 % intervals
that know that elements of one screenshot are alike. Colours are those of Okabe and Ito, which
people with any kind of colour vision can tell apart.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.data import write_atomically
from uiproof.benchmarks.grounding.results import MethodMetrics
from uiproof.benchmarks.grounding.sizes import AREA_RULE, SHORT_SIDE_RULE, SIZES
from uiproof.engine.storage import access
from uiproof.stats.clusters import clustered_mean
from uiproof.stats.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
GOOD_RATE = 0.8  # the guide line of detection rates
QUICK_MS = 2000  # the guide line of latencies
_COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7"),
    *("#56B4E9", "#D55E00", "#999999", "#F0E442"),
)
_MARKERS = "osD^vPX*"
_HATCH = "////"
_LIMITS = {
    SHORT_SIDE_RULE: dict(zip(SIZES, ("short side < 32 px", "32-100 px", "> 100 px"), strict=True)),
    AREA_RULE: dict(zip(SIZES, ("area < 0.1 %", "0.1-1 %", "from 1 %"), strict=True)),
}


def draw_charts(metrics: Sequence[MethodMetrics], folder: Path) -> list[Path]:
    """Draw all three as PNG; returns the files, or none where there is nothing to draw."""
    if not metrics:
        return []
    ordered = sorted(metrics, key=lambda one: (one.dataset_name, -one.detection_rate))
    charts: dict[str, tuple[Callable[[Figure, Sequence[MethodMetrics]], None], tuple[int, int]]] = {
        "detection_rate_overall": (_overall, (12, 6)),
        "detection_rate_by_size": (_by_size, (12, 6)),
        "accuracy_vs_latency": (_against_latency, (10, 8)),
    }
    from matplotlib.figure import Figure as NewFigure

    files = []
    for name, (draw, inches) in charts.items():
        figure = NewFigure(figsize=inches, dpi=DPI, layout="constrained")
        draw(figure, ordered)
        files.append(_save(figure, folder / f"{name}.png"))
    return files


def _save(figure: Figure, file: Path) -> Path:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    content = io.BytesIO()
    FigureCanvasAgg(figure).print_png(content)  # type: ignore[no-untyped-call]
    with access(file, "written"):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content.getvalue())
    return file


def _overall(figure: Figure, metrics: Sequence[MethodMetrics]) -> None:
    axes = figure.add_subplot()
    names = _names(metrics, "\n")
    size = _font_size(len(metrics), 12)
    for row, (one, colour) in enumerate(zip(metrics, _colours(metrics), strict=True)):
        reach = _reach(one.interval)
        axes.barh(
            row,
            one.detection_rate,
            height=0.7,
            xerr=reach,
            error_kw={"ecolor": "black", "capsize": 3, "elinewidth": 1.2},
            **_look(one, colour),
        )
        axes.text(
            one.detection_rate + reach[1][0] + 0.01,
            row,
            f"{one.detection_rate * 100:.1f} %   n = {one.total_elements}",
            va="center",
            fontsize=size,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    axes.set_yticks(range(len(metrics)), names, fontsize=size)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.22)  # room for what is written behind a full bar
    axes.axvline(GOOD_RATE, color="black", linestyle="--", linewidth=1, zorder=0)
    axes.set_xticks([0, 0.2, 0.4, 0.6, GOOD_RATE, 1], ["0", "20", "40", "60", "80", "100 %"])
    axes.set_xlabel("detection rate; whiskers are 95 % intervals, the dashed line is at 80 %")
    axes.set_title("Detection rate")
    _tidy(axes)


def _by_size(figure: Figure, metrics: Sequence[MethodMetrics]) -> None:
    datasets = sorted({one.dataset_name for one in metrics})
    panels = figure.subplots(1, len(datasets), sharey=True, squeeze=False)[0]
    coloured = list(zip(metrics, _colours(metrics), strict=True))
    for axes, dataset in zip(panels, datasets, strict=True):
        chosen = [(one, colour) for one, colour in coloured if one.dataset_name == dataset]
        _size_panel(axes, chosen, crowded=len(metrics) > 8)
        axes.set_title(dataset if len(datasets) > 1 else "")
    panels[0].set_ylabel("detection rate with 95 % intervals")
    figure.suptitle("Detection rate by size of the element")
    _legend(figure, panels)


def _size_panel(axes: Axes, metrics: Sequence[tuple[MethodMetrics, str]], *, crowded: bool) -> None:
    width = 0.86 / len(metrics)
    for place, (one, colour) in enumerate(metrics):
        for group, size in enumerate(SIZES):
            if (rate := one.by_size.get(size)) is None:
                continue
            x, reach = group - 0.43 + (place + 0.5) * width, _reach(rate)
            axes.bar(
                x,
                rate.mean,
                width=width * 0.9,
                yerr=reach,
                error_kw={"ecolor": "black", "capsize": 2, "elinewidth": 1},
                label=one.label,
                **_look(one, colour),
            )
            if not crowded:  # numbers would touch each other
                axes.text(x, rate.mean + reach[1][0] + 0.012, f"{rate.mean * 100:.0f}", ha="center")
    names = [_size_name([one for one, _ in metrics], size) for size in SIZES]
    axes.set_xticks(range(len(SIZES)), names)
    axes.set_xlim(-0.5, len(SIZES) - 0.5)
    axes.set_ylim(0, 1.08)
    axes.set_yticks([0, 0.2, 0.4, 0.6, GOOD_RATE, 1], ["0", "20", "40", "60", "80", "100 %"])
    axes.axhline(GOOD_RATE, color="black", linestyle="--", linewidth=1, zorder=0)
    _tidy(axes)


def _against_latency(figure: Figure, metrics: Sequence[MethodMetrics]) -> None:
    axes = figure.add_subplot()
    places = [max(one.mean_latency_ms, 1.0) for one in metrics]
    names = _names(metrics, ", ")
    for number, (one, colour) in enumerate(zip(metrics, _colours(metrics), strict=True)):
        axes.errorbar(
            places[number],
            one.detection_rate,
            xerr=_reach(_latency_interval(one)),
            yerr=_reach(one.interval),
            fmt="none",
            ecolor=colour,
            elinewidth=1.2,
            capsize=3,
        )
        axes.scatter(
            places[number],
            one.detection_rate,
            s=130,
            marker=_MARKERS[number % len(_MARKERS)],
            label=names[number],
            zorder=3,
            **_look(one, colour),
        )
    if max(places) > 20 * min(places):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("mean latency in ms (logarithmic); dashed line at 2 s")
    else:
        axes.set_xlim(0, max(*places, QUICK_MS) * 1.1)
        axes.set_xlabel("mean latency in ms; dashed line at 2 s")
    axes.axvline(QUICK_MS, color="black", linestyle="--", linewidth=1, zorder=0)
    axes.set_ylim(-0.03, 1.05)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "20", "40", "60", "80", "100 %"])
    axes.set_ylabel("detection rate with 95 % intervals")
    axes.set_title("Detection rate against latency")
    axes.grid(alpha=0.25)
    _legend(figure, [axes])
    _tidy(axes)


def _look(one: MethodMetrics, colour: str) -> dict[str, Any]:
    """Filled for blind methods; light and hatched for those that were given the truth."""
    if not one.assisted:
        return {"facecolor": colour, "edgecolor": "black", "linewidth": 0.8}
    from matplotlib.colors import to_rgba

    light = to_rgba(colour, 0.3)
    return {"facecolor": light, "edgecolor": colour, "hatch": _HATCH, "linewidth": 1.2}


def _colours(metrics: Sequence[MethodMetrics]) -> list[str]:
    """A colour for each method, the same on every data set."""
    methods = sorted({one.method_name for one in metrics})
    return [_COLOURS[methods.index(one.method_name) % len(_COLOURS)] for one in metrics]


def _names(metrics: Sequence[MethodMetrics], separator: str) -> list[str]:
    """Names with their marks, and the data set where there are several."""
    several = len({one.dataset_name for one in metrics}) > 1
    return [one.label + (separator + one.dataset_name if several else "") for one in metrics]


def _reach(interval: Interval | None) -> list[list[float]]:
    """How far an error bar goes down and up; nowhere where nothing is known."""
    if interval is None or interval.low is None or interval.high is None:
        return [[0.0], [0.0]]
    return [[max(interval.mean - interval.low, 0.0)], [max(interval.high - interval.mean, 0.0)]]


def _latency_interval(one: MethodMetrics) -> Interval | None:
    timed = [result for result in one.results if result.latency_ms is not None]
    return clustered_mean(
        [result.latency_ms or 0.0 for result in timed], [result.sample_id for result in timed]
    )


def _size_name(metrics: Sequence[MethodMetrics], size: str) -> str:
    rules = {one.size_rule for one in metrics}
    limits = _LIMITS.get(rules.pop(), {}) if len(rules) == 1 else {}
    counts = {one.by_size[size].n for one in metrics if size in one.by_size}
    n = f"n = {counts.pop()}" if len(counts) == 1 else "" if counts else "none"
    return "\n".join(filter(None, (size, limits.get(size, ""), n)))


def _legend(figure: Figure, panels: Iterable[Axes]) -> None:
    """One legend below all panels, with each name once."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside lower center",
        ncols=3 if len(found) > 4 else 2,
        frameon=False,
        fontsize=_font_size(len(found), 10),
    )


def _font_size(entries: int, largest: float) -> float:
    return max(5.0, min(largest, largest * 16 / max(entries, 1)))


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
