"""The paper's figures from runs, and from labels of people.

Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart.
Whiskers on bars are 95 % intervals that know that interactions of one page are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from uiproof.benchmarks.interaction2code.analyses.anchors import label_rate, models_of
from uiproof.benchmarks.interaction2code.analyses.canvas import (
    COLOURS,
    GREY,
    bar_room,
    bars,
    draw,
    legend,
    not_measured,
    percent_axis,
    reach,
    rows_down,
    stacked,
    tidy,
)
from uiproof.benchmarks.interaction2code.analyses.labels import (
    OUTCOMES,
    Label,
    LabelFile,
    LabelFolder,
    Vote,
    failure_name,
)
from uiproof.benchmarks.interaction2code.analyses.outcomes import (
    Outcome,
    Results,
    by_category,
    by_model,
    mean,
    rate,
)
from uiproof.benchmarks.interaction2code.analyses.saliency import (
    EDGES,
    GROUPS,
    cumulative,
    distinct,
    grouped,
)
from uiproof.benchmarks.interaction2code.analyses.tables import COLUMNS, magnified
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from uiproof.benchmarks.interaction2code.analyses.canvas import Chart
_PARTS = ("part.clip", "part.ssim", "part.text", "part.position_after")


def draw_charts(found: Sequence[Results], folder: Path) -> list[Path]:
    """Draw what these runs have something for, as PNG; returns the files."""
    outcomes = [outcome for one in found for outcome in one.outcomes]
    if not outcomes:
        return []
    models = by_model(found)
    charts: dict[str, Chart] = {
        "usability": (lambda figure: _usability(figure, found), (10, bar_room(len(found)))),
        "implemented": (lambda figure: _implemented(figure, models), (10, bar_room(len(models)))),
        "failures": (lambda figure: _run_failures(figure, models), _failure_size(models)),
    }
    kinds: tuple[Literal["tags", "visuals"], ...] = ("tags", "visuals")
    for kind in kinds:
        if groups := by_category(outcomes, kind):
            size = (10.0, bar_room(len(groups)))
            charts[f"usability_by_{kind}"] = (_category_chart(groups, kind), size)
    if values := distinct(outcomes, "strict"):
        charts["saliency_scores"] = (lambda figure: _saliency_boxes(figure, outcomes), (12, 8))
        charts["saliency"] = (lambda figure: _saliency(figure, values), (12, 5))
    if series := magnified(found):
        charts["magnification"] = (lambda figure: _magnification(figure, series), (12, 8))
    return draw(charts, folder)


def draw_label_charts(labels: LabelFolder, folder: Path) -> list[Path]:
    """What people said: usability (Fig. 6), types of failure (Fig. 9), which page is better."""
    charts: dict[str, Chart] = {}
    if groups := models_of(labels.failures):
        counts = {model: [label.failure for label in some] for model, some in groups.items()}
        note = "labelled by people"
        charts["usability"] = (
            lambda figure: _label_usability(figure, labels.failures),
            (10, bar_room(len(labels.failures))),
        )
        charts["failures"] = (
            lambda figure: _failures(figure, counts, note),
            _failure_size(groups),
        )
    if votes := labels.comparisons:
        charts["comparisons"] = (lambda figure: _votes(figure, votes), (10, bar_room(len(votes))))
    return draw(charts, folder)


def _label_usability(figure: Figure, files: Sequence[LabelFile[Label]]) -> None:
    axes = figure.add_subplot()
    rates = {
        f"{file.model} {file.prompt}": label_rate([one.usable for one in file.labels], file.labels)
        for file in files
    }
    bars(axes, rates, [COLOURS[0]] * len(rates))
    axes.set_title("Usable interactions, labelled by people (Fig. 6)")


def _votes(figure: Figure, files: Sequence[LabelFile[Vote]]) -> None:
    axes = figure.add_subplot()
    looks = dict(zip(OUTCOMES, (COLOURS[2], GREY, COLOURS[5]), strict=True))
    parts: dict[str, tuple[list[float], str]] = {
        outcome: (
            [
                sum(vote.outcome == outcome for vote in file.labels) / max(len(file.labels), 1)
                for file in files
            ],
            colour,
        )
        for outcome, colour in looks.items()
    }
    stacked(axes, [f"{file.model} {file.prompt}" for file in files], parts)
    axes.set_title("Preferred by people, against Gemini 1.5 with the direct prompt")
    legend(figure, [axes])


def _usability(figure: Figure, found: Sequence[Results]) -> None:
    axes = figure.add_subplot()
    rates = {one.label: rate(one.outcomes, lambda outcome: outcome.usable) for one in found}
    bars(axes, rates, [COLOURS[0]] * len(rates))
    axes.set_title("Usable interactions, as the program judges")


def _implemented(figure: Figure, models: Mapping[str, Sequence[Outcome]]) -> None:
    axes = figure.add_subplot()
    rates = {name: rate(some, lambda one: one.implemented) for name, some in models.items()}
    shares = {name: one.mean if one else 0.0 for name, one in rates.items()}
    parts = {
        "implemented": (list(shares.values()), COLOURS[2]),
        "not implemented": ([1 - share for share in shares.values()], GREY),
    }
    stacked(axes, [f"{name}\nn = {len(some):,}" for name, some in models.items()], parts)
    axes.set_title("Implemented interactions by model (Fig. 1)")
    legend(figure, [axes])


def _category_chart(
    groups: Mapping[str, Sequence[Outcome]], kind: Literal["tags", "visuals"]
) -> Callable[[Figure], None]:
    def drawn(figure: Figure) -> None:
        axes = figure.add_subplot()
        ordered = sorted(groups, key=lambda name: -len(groups[name]))
        rates = {name: rate(groups[name], lambda one: one.usable) for name in ordered}
        bars(axes, rates, [COLOURS[0 if kind == "tags" else 1]] * len(rates))
        title = "tag category (Table 5)" if kind == "tags" else "visual category (Table 6)"
        axes.set_title(f"Usable interactions by {title}, all runs together")

    return drawn


def _run_failures(figure: Figure, models: Mapping[str, Sequence[Outcome]]) -> None:
    counts = {name: [one.failure for one in some] for name, some in models.items()}
    _failures(figure, counts, "as the program judges")


def _failures(figure: Figure, counts: Mapping[str, Sequence[str]], note: str) -> None:
    """One panel for each failure would be ten; bars side by side, a group for each failure."""
    axes = figure.add_subplot()
    letters = (NONE, *FAILURES)
    height = 0.84 / len(counts)
    for place, (model, seen) in enumerate(counts.items()):
        shares = [seen.count(letter) / len(seen) for letter in letters]
        rows = [row - 0.42 + (place + 0.5) * height for row in range(len(letters))]
        label = f"{model} (n = {len(seen):,})"
        colour = COLOURS[place % len(COLOURS)]
        axes.barh(rows, shares, height * 0.92, color=colour, label=label)
        for row, share in zip(rows, shares, strict=True):
            axes.text(share + 0.004, row, f"{100 * share:.1f}", va="center", fontsize=7)
    rows_down(axes, [failure_name(letter) for letter in letters])
    largest = max(seen.count(letter) / len(seen) for seen in counts.values() for letter in letters)
    percent_axis(axes, largest * 1.08)
    axes.set_title(f"Types of failure by model (Fig. 9), {note}")
    legend(figure, [axes])
    tidy(axes)


def _failure_size(groups: Mapping[str, object]) -> tuple[float, float]:
    return 11.0, 2.5 + 11 * (0.2 + 0.13 * len(groups))


def _saliency_boxes(figure: Figure, outcomes: Sequence[Outcome]) -> None:
    panels = figure.subplots(2, 2, sharex=True)
    for axes, key in zip(panels.flat, _PARTS, strict=True):
        groups = grouped(outcomes, "strict")
        scores = [
            [score for one in some if (score := one.scores.get(f"strict.{key}")) is not None]
            for some in groups.values()
        ]
        if mean(outcomes, "strict", key) is not None:
            axes.boxplot(
                scores,
                positions=range(len(GROUPS)),
                widths=0.6,
                patch_artist=True,
                boxprops={"facecolor": COLOURS[4], "alpha": 0.55},
                medianprops={"color": "black", "linewidth": 1.6},
                flierprops={"marker": ".", "markersize": 3, "alpha": 0.5},
            )
            axes.set_ylim(-0.03, 1.03)
        else:
            not_measured(axes)
        axes.set_title(COLUMNS[key])
        ticks = [f"{name}\nn = {len(some):,}" for name, some in zip(GROUPS, scores, strict=True)]
        axes.set_xticks(range(len(GROUPS)), ticks, fontsize=8)
        axes.tick_params(labelbottom=True)
        tidy(axes)
    figure.suptitle(
        "Interaction part by visual saliency (Fig. 10), profile strict, all runs together"
    )
    figure.supxlabel("area of what changes / area of the screenshot")


def _saliency(figure: Figure, values: Sequence[float]) -> None:
    left, right = figure.subplots(1, 2)
    left.hist(values, bins=[place / 40 for place in range(41)], color=COLOURS[0], edgecolor="white")
    left.set_ylabel("interactions")
    left.yaxis.get_major_locator().set_params(integer=True)
    left.set_title("Histogram")
    steps, shares = cumulative(values)
    right.step([0, *steps, 1], [0, *shares, 1], where="post", color=COLOURS[0], linewidth=2)
    right.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    right.set_ylim(0, 1.02)
    right.set_title("Cumulative share")
    for axes in (left, right):
        axes.set_xlim(0, 1)
        axes.set_xlabel("saliency; dashed lines are the limits of the groups")
        for edge in EDGES:
            axes.axvline(edge, color="black", linestyle="--", linewidth=0.7, alpha=0.6)
        tidy(axes)
    figure.suptitle(f"Visual saliency of {len(values):,} interactions (Fig. 11), profile strict")


def _magnification(figure: Figure, series: Sequence[Sequence[Results]]) -> None:
    panels = figure.subplots(2, 2, sharex=True)
    factors = sorted({one.prompt.magnification for runs in series for one in runs if one.prompt})
    for axes, key in zip(panels.flat, _PARTS, strict=True):
        measured = False
        for number, runs in enumerate(series):
            points = [
                (one.prompt.magnification, found)
                for one in runs
                if one.prompt and (found := mean(one.outcomes, "strict", key)) is not None
            ]
            if not points:
                continue
            measured = True
            axes.errorbar(
                [factor for factor, _ in points],
                [found.mean for _, found in points],
                yerr=list(zip(*(reach(found) for _, found in points), strict=True)),
                capsize=3,
                marker="osD^vPX*"[number % 8],
                color=COLOURS[number % len(COLOURS)],
                label=_series_name(runs[0]),
            )
        if not measured:
            not_measured(axes)
        axes.set_title(COLUMNS[key])
        axes.set_xticks(factors, [f"{factor:g}x" for factor in factors])
        axes.tick_params(labelbottom=True)
        axes.grid(alpha=0.25)
        tidy(axes)
    figure.suptitle("Interaction part by magnification (Fig. 12), profile strict, 95 % intervals")
    legend(figure, panels.flat)


def _series_name(one: Results) -> str:
    if one.prompt is None:
        return one.model
    inputs = "" if one.prompt.inputs == "V" else f" {one.prompt.inputs}"
    return f"{one.model} {one.prompt.recipe}{inputs}"
