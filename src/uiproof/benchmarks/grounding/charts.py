"""Charts of results: detection rates, the same by size, and accuracy against latency.

Methods that were given the truth are hatched and say `assisted`. Error bars are 95 % intervals
over screenshots.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.cases import OPENADAPT, UIPROOF
from uiproof.benchmarks.grounding.judge import AREA_RULE, SHORT_SIDE_RULE, SIZES
from uiproof.benchmarks.grounding.results import MethodMetrics
from uiproof.charts import COLOURS, MARKERS, draw, font_size, legend, reach, tidy
from uiproof.stats.intervals import Interval, clustered_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from uiproof.charts import Chart

DPI = 150
GOOD_RATE = 0.8  # the guide line of detection rates
QUICK_MS = 2000  # the guide line of latencies
_LEAST_MS = 0.01  # a logarithmic axis has no 0
_HATCHES = {UIPROOF: "////", OPENADAPT: "...."}  # of assisted methods, by protocol
_LIMITS = {
    SHORT_SIDE_RULE: dict(zip(SIZES, ("short side < 32 px", "32-100 px", "> 100 px"), strict=True)),
    AREA_RULE: dict(zip(SIZES, ("area < 0.1 %", "0.1-1 %", "from 1 %"), strict=True)),
}
_RULES = {SHORT_SIDE_RULE: "sizes by the short side", AREA_RULE: "sizes by the area"}


def draw_charts(metrics: Sequence[MethodMetrics], folder: Path) -> list[Path]:
    """Draw all three as PNG and SVG and return the files; none without results."""
    if not metrics:
        return []
    ordered = sorted(metrics, key=lambda one: (one.dataset_name, -one.detection_rate))
    charts: dict[str, Chart] = {
        "detection_rate_overall": (lambda figure: _overall(figure, ordered), (12, 6)),
        "detection_rate_by_size": (lambda figure: _by_size(figure, ordered), (12, 6)),
        "accuracy_vs_latency": (lambda figure: _against_latency(figure, ordered), (10, 8)),
    }
    return draw(charts, folder, dpi=DPI, pad=None)


def _overall(figure: Figure, metrics: Sequence[MethodMetrics]) -> None:
    axes = figure.add_subplot()
    names = _names(metrics, "\n")
    size = font_size(len(metrics), 12)
    for row, (one, colour) in enumerate(zip(metrics, _colours(metrics), strict=True)):
        axes.barh(
            row,
            one.detection_rate,
            height=0.7,
            xerr=_bars(one.interval),
            error_kw={"ecolor": "black", "capsize": 3, "elinewidth": 1.2},
            **_look(one, colour),
        )
    axes.set_yticks(range(len(metrics)), names, fontsize=size)
    room = 0.5 + max(4 - len(metrics), 0) / 2  # few bars do not become wide ones
    axes.set_ylim(len(metrics) - 1 + room, -room)
    # Rates stand at the right, in one column: behind the bars they would leave the chart.
    counts = axes.secondary_yaxis("right")
    screens = [one.interval.clusters if one.interval else None for one in metrics]
    counted = [
        f"{one.detection_rate * 100:.1f} %   {_count(one.total_elements, number)}"
        for one, number in zip(metrics, screens, strict=True)
    ]
    counts.set_yticks(range(len(metrics)), counted, fontsize=size)
    counts.tick_params(length=0)
    counts.spines["right"].set_visible(False)
    axes.set_xlim(0, 1)
    axes.axvline(GOOD_RATE, color="black", linestyle="--", linewidth=1, zorder=0)
    axes.set_xticks([0, 0.2, 0.4, 0.6, GOOD_RATE, 1], ["0", "20", "40", "60", "80", "100 %"])
    axes.set_xlabel("detection rate; whiskers are 95 % intervals, the dashed line is at 80 %")
    axes.set_title("Detection rate")
    tidy(axes)


def _by_size(figure: Figure, metrics: Sequence[MethodMetrics]) -> None:
    # Two rules for sizes never share a panel.
    cells = sorted({(one.dataset_name, one.size_rule) for one in metrics})
    panels = figure.subplots(1, len(cells), sharey=True, squeeze=False)[0]
    coloured = list(zip(metrics, _colours(metrics), strict=True))
    for axes, (dataset, rule) in zip(panels, cells, strict=True):
        chosen = [
            (one, colour)
            for one, colour in coloured
            if (one.dataset_name, one.size_rule) == (dataset, rule)
        ]
        _size_panel(axes, chosen, crowded=len(metrics) > 8)
        axes.set_title(_panel_title(dataset, rule, cells))
    panels[0].set_ylabel("detection rate with 95 % intervals")
    figure.suptitle("Detection rate by size of the element")
    _legend(figure, panels)


def _panel_title(dataset: str, rule: str, cells: Sequence[tuple[str, str]]) -> str:
    """Return what a panel has that others do not: its data set, its rule for sizes."""
    several = [len({cell[part] for cell in cells}) > 1 for part in (0, 1)]
    names = (dataset, _RULES.get(rule, "sizes by an unknown rule"))
    return ", ".join(name for name, shown in zip(names, several, strict=True) if shown)


def _size_panel(axes: Axes, metrics: Sequence[tuple[MethodMetrics, str]], *, crowded: bool) -> None:
    width = 0.86 / len(metrics)
    for place, (one, colour) in enumerate(metrics):
        for group, size in enumerate(SIZES):
            if (rate := one.by_size.get(size)) is None:
                continue
            x = group - 0.43 + (place + 0.5) * width
            axes.bar(
                x,
                rate.mean,
                width=width * 0.9,
                yerr=_bars(rate),
                error_kw={"ecolor": "black", "capsize": 2, "elinewidth": 1},
                label=one.label,
                **_look(one, colour),
            )
            if not crowded:  # numbers would touch each other
                # At the foot: above a whisker it would look like the height of the whisker.
                white = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
                axes.text(x, 0.02, f"{rate.mean * 100:.0f}", ha="center", va="bottom", bbox=white)
    names = [_size_name([one for one, _ in metrics], size) for size in SIZES]
    axes.set_xticks(range(len(SIZES)), names)
    axes.set_xlim(-0.5, len(SIZES) - 0.5)
    axes.set_ylim(0, 1.08)
    axes.set_yticks([0, 0.2, 0.4, 0.6, GOOD_RATE, 1], ["0", "20", "40", "60", "80", "100 %"])
    axes.axhline(GOOD_RATE, color="black", linestyle="--", linewidth=1, zorder=0)
    tidy(axes)


def _against_latency(figure: Figure, metrics: Sequence[MethodMetrics]) -> None:
    axes = figure.add_subplot()
    places = [max(one.mean_latency_ms, _LEAST_MS) for one in metrics]
    names = _names(metrics, ", ")
    reaches = [(_reach(_latency_interval(one)), _reach(one.interval)) for one in metrics]
    for number, (one, colour) in enumerate(zip(metrics, _colours(metrics), strict=True)):
        axes.errorbar(
            places[number],
            one.detection_rate,
            xerr=_bars(_latency_interval(one)),
            yerr=_bars(one.interval),
            fmt="none",
            ecolor=colour,
            elinewidth=1.2,
            capsize=3,
        )
        axes.scatter(
            places[number],
            one.detection_rate,
            s=130,
            marker=MARKERS[number % len(MARKERS)],
            label=names[number],
            zorder=3,
            **_look(one, colour),
        )
    ends = [
        (max(place - x[0][0], place / 10), place + x[1][0])
        for place, (x, _) in zip(places, reaches, strict=True)
    ]
    logarithmic = max(places) > 20 * min(places)
    left, right = min(low for low, _ in ends), max(high for _, high in ends)
    if logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlim(left / 1.5, right * 1.5)
    else:
        room = 0.15 * (right - left) or 0.5 * right
        axes.set_xlim(max(left - room, 0), right + room)
    # The axis of rates ends where the rates and their intervals end.
    low = min(one.detection_rate - y[0][0] for one, (_, y) in zip(metrics, reaches, strict=True))
    high = max(one.detection_rate + y[1][0] for one, (_, y) in zip(metrics, reaches, strict=True))
    room = max(0.06 * (high - low), 0.02)
    axes.set_ylim(low - room, high + room)
    axes.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:.3g} %" if 0 <= rate <= 1 else "")
    label = "mean latency in ms" + (" (logarithmic)" if logarithmic else "")
    if axes.get_xlim()[0] < QUICK_MS < axes.get_xlim()[1]:
        axes.axvline(QUICK_MS, color="black", linestyle="--", linewidth=1, zorder=0)
        label += "; dashed line at 2 s"
    axes.set_xlabel(label)
    axes.set_ylabel("detection rate with 95 % intervals")
    axes.set_title("Detection rate against latency")
    axes.grid(alpha=0.25)
    tidy(axes)
    _legend(figure, [axes])


def _count(elements: int, screens: int | None) -> str:
    where = f" on {screens} screen{'' if screens == 1 else 's'}" if screens else ""
    return f"n = {elements}{where}"


def _look(one: MethodMetrics, colour: str) -> dict[str, Any]:
    """Return a filled style for blind methods, a light and hatched one for assisted methods."""
    if not one.assisted:
        return {"facecolor": colour, "edgecolor": "black", "linewidth": 0.8}
    from matplotlib.colors import to_rgb

    # Not transparent: in an SVG the lines of the hatch would be as transparent as what is below.
    light = tuple(1 - 0.3 * (1 - part) for part in to_rgb(colour))
    return {
        "facecolor": light,
        "edgecolor": colour,
        "hatch": _HATCHES.get(one.protocol, "xxxx"),
        "linewidth": 1.2,
    }


def _colours(metrics: Sequence[MethodMetrics]) -> list[str]:
    """Return a colour for each method, the same on every data set and under every protocol."""
    methods = sorted({one.title for one in metrics})
    return [COLOURS[methods.index(one.title) % len(COLOURS)] for one in metrics]


def _names(metrics: Sequence[MethodMetrics], separator: str) -> list[str]:
    """Return names with their marks, and the data set where there are several."""
    several = len({one.dataset_name for one in metrics}) > 1
    return [one.label + (separator + one.dataset_name if several else "") for one in metrics]


def _bars(interval: Interval | None) -> list[list[float]] | None:
    """Return the whiskers of a bar; none, not one without a length, where there is no interval."""
    return None if interval is None or interval.low is None else _reach(interval)


def _reach(interval: Interval | None) -> list[list[float]]:
    down, up = reach(interval)
    return [[down], [up]]


def _latency_interval(one: MethodMetrics) -> Interval | None:
    timed = [result for result in one.results if result.latency_ms is not None]
    return clustered_mean(
        [result.latency_ms or 0.0 for result in timed],
        [result.sample_id for result in timed],
        within=(0.0, inf),
    )


def _legend(figure: Figure, panels: Sequence[Axes]) -> None:
    names = {label for axes in panels for label in axes.get_legend_handles_labels()[1]}
    legend(figure, panels, size=font_size(len(names), 10))


def _size_name(metrics: Sequence[MethodMetrics], size: str) -> str:
    rules = {one.size_rule for one in metrics}
    limits = _LIMITS.get(rules.pop(), {}) if len(rules) == 1 else {}
    counts = {
        (one.by_size[size].n, one.by_size[size].clusters) for one in metrics if size in one.by_size
    }
    n = "" if counts else "none"
    if len(counts) == 1:
        elements, screens = counts.pop()
        n = _count(elements, screens)
    return "\n".join(filter(None, (size, limits.get(size, ""), n)))
