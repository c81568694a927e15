"""The paper's figures: of runs, of labels by people, and of a data set.

Whiskers on bars are 95 % intervals over pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from uiproof.benchmarks.interaction2code.analyses import outcomes as of_runs
from uiproof.benchmarks.interaction2code.analyses.anchors import label_rate, models_of
from uiproof.benchmarks.interaction2code.analyses.labels import LabelFolder, failure_name
from uiproof.benchmarks.interaction2code.analyses.outcomes import EDGES, GROUPS, Outcome, Results
from uiproof.benchmarks.interaction2code.analyses.statistics import (
    DatasetStatistics,
    interactive_by_topic,
)
from uiproof.benchmarks.interaction2code.analyses.tables import (
    COLUMNS,
    in_full,
    magnified,
    reach_of,
)
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.benchmarks.interaction2code.summary import PROFILES, Profile
from uiproof.charts import (
    COLOURS,
    GREY,
    bar_room,
    bars,
    draw,
    legend,
    named,
    percent_axis,
    reach,
    rows_down,
    stacked,
    tidy,
)
from uiproof.labels import OUTCOMES
from uiproof.stats.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL.Image import Image

    from uiproof.charts import Chart

    Charts = Iterator[tuple[str, Chart]]
    Example = tuple[str, dict[str, Image | None]]  # its name, and a picture of each side

# The paper's figures of scores have these four, in these pairs.
_PARTS = ("part.clip", "part.text", "part.ssim", "part.position_after")
_PAIRS = (_PARTS[:2], _PARTS[2:])
_EXAMPLE_SIZE = (400, 300)  # pixels of a picture in Figs. 7 and 8
_GAP = 12  # pixels between the pictures before and after
_AROUND = 32  # CSS pixels around what is shown of a page, at least
_ACROSS = 3  # panels
_CATEGORIES: tuple[tuple[Literal["tags", "visuals"], str, str], ...] = (
    ("tags", "tag category (Table 5)", COLOURS[0]),
    ("visuals", "visual category (Table 6)", COLOURS[1]),
)


def draw_charts(found: Sequence[Results], folder: Path) -> list[Path]:
    """Draw the charts that these runs have data for, and return the SVG files."""
    return _draw(run_charts(found), folder)


def draw_label_charts(labels: LabelFolder, folder: Path) -> list[Path]:
    """Draw labels of people: usability and preferences (Fig. 6), types of failure (Fig. 9)."""
    return _draw(_of_labels(labels), folder)


def draw_dataset_charts(found: DatasetStatistics, folder: Path) -> list[Path]:
    """Draw the composition of a data set, and return the SVG files."""
    return _draw(_of_dataset(found), folder)


def _draw(charts: Charts, folder: Path) -> list[Path]:
    return [file for file in draw(dict(charts), folder) if file.suffix == ".svg"]


def run_charts(found: Sequence[Results]) -> Charts:
    """Yield the charts that these runs have data for, by name."""
    runs = of_runs.comparable(found)
    outcomes = [outcome for one in runs for outcome in one.outcomes]
    if outcomes:
        models = of_runs.by_model(runs)
        rates = {one.label: _usable(one.outcomes) for one in runs}
        yield "usability", _rates(rates, "(Fig. 6b), as the program judges")
        yield "implemented", _implemented(models, len(of_runs.by_topic(outcomes)))
        counts = {name: [one.failure for one in some] for name, some in models.items()}
        yield "failures", _failures(counts, "as the program judges")
        baseline, votes = of_runs.versus(runs)
        if baseline is not None and votes:
            title = f"Against {baseline.label} (Fig. 6a), as the program judges"
            yield "comparisons", _votes({one.label: shares for one, shares in votes}, title)
        elements = {letter: _example(letter, runs) for letter in "abcde"}
        effects = {letter: _example(letter, runs) for letter in "fghij"}
        if any(elements.values()):
            title = "Failures of interactive elements (Fig. 7)"
            yield "failures_of_elements", _examples(elements, title)
        if any(effects.values()):
            yield (
                "failures_of_effects",
                _examples(effects, "Failures of interaction effects (Fig. 8)"),
            )
    for kind, title, colour in _CATEGORIES:
        groups = of_runs.by_category(outcomes, kind)
        ordered = sorted(groups, key=lambda name: -len(groups[name]))
        rates = {name: _usable(groups[name]) for name in ordered}
        if rates:
            yield f"usability_by_{kind}", _rates(rates, f"by {title}, all runs together", colour)
    values = {name: of_runs.distinct(outcomes, name) for name in PROFILES}
    if all(values.values()):
        boxed = _first_of_each_model(runs)
        for profile in PROFILES:
            yield _name("saliency_scores", profile), _saliency_boxes(boxed, profile)
        yield "saliency", _saliency_panels(values)
    if series := magnified(found):
        for profile in PROFILES:
            yield _name("magnification", profile), _magnification(series, profile)


def _of_labels(labels: LabelFolder) -> Charts:
    if groups := models_of(labels.failures):
        rates = {
            " ".join(file.name): label_rate(file.labels, lambda one: one.usable)
            for file in labels.failures
        }
        counts = {model: [label.failure for label in some] for model, some in groups.items()}
        yield "usability", _rates(rates, "(Fig. 6b), labelled by people")
        yield "failures", _failures(counts, "labelled by people")
    if labels.comparisons:
        votes = {
            " ".join(file.name): [vote.outcome for vote in file.labels]
            for file in labels.comparisons
        }
        title = "Against Gemini 1.5 with the direct prompt (Fig. 6a), labelled by people"
        yield "comparisons", _votes(votes, title)


def _of_dataset(found: DatasetStatistics) -> Charts:
    pages, interactions = len(found.pages), found.interactions
    if found.topics:
        yield "topics", _counts("Topics (Fig. 4)", found.topics, "pages", pages)
    if found.tags:
        title = "Tag categories (Table 3)"
        yield "tags", _counts(title, found.tags, "interactions", interactions)
    if found.visuals:
        title = "Visual categories (Table 3)"
        yield "visuals", _counts(title, found.visuals, "interactions", interactions)
    if topics := interactive_by_topic(found):
        yield "interactive", _interactive(topics)
        shown = [(page.page, *page.elements) for page in found.pages if page.elements]
        yield "interactive_by_page", (partial(_interactive_pages, shown), (12, 5))
    values = found.saliencies()
    if all(values.values()):
        yield "saliency", _saliency_panels(values)


def _name(chart: str, profile: Profile) -> str:
    """Return how a chart is called; reports show those of the profile `strict`."""
    return chart if profile == "strict" else f"{chart}_{profile}"


def _usable(outcomes: Sequence[Outcome]) -> Interval | None:
    return of_runs.rate(outcomes, lambda outcome: outcome.usable)


def _panels(figure: Figure, count: int, across: int = _ACROSS) -> list[Axes]:
    """Return panels, at most so many beside each other."""
    across = min(count, across)
    made = list(figure.subplots(-(-count // across), across, squeeze=False).flat)
    for axes in made[count:]:
        axes.set_axis_off()
    return made[:count]


def _rates(rates: Mapping[str, Interval | None], title: str, colour: str = COLOURS[0]) -> Chart:
    """Draw shares of usable interactions as bars."""

    def fill(figure: Figure) -> None:
        axes = figure.add_subplot()
        bars(axes, rates, [colour] * len(rates))
        axes.set_title(f"Usable interactions {title}")

    return fill, (10, bar_room(len(rates)))


def _votes(votes: Mapping[str, Sequence[str]], title: str) -> Chart:
    def fill(figure: Figure) -> None:
        axes = figure.add_subplot()
        looks = dict(zip(OUTCOMES, (COLOURS[2], GREY, COLOURS[5]), strict=True))
        parts: dict[str, tuple[list[float], str]] = {
            outcome: ([some.count(outcome) / max(len(some), 1) for some in votes.values()], colour)
            for outcome, colour in looks.items()
        }
        stacked(axes, list(votes), parts)
        axes.set_title(named(title, 80))
        legend(figure, [axes])

    return fill, (10, bar_room(len(votes)))


def _implemented(models: Mapping[str, Sequence[Outcome]], topics: int) -> Chart:
    """Draw Fig. 1c: a panel for each model, a bar for each topic."""

    def fill(figure: Figure) -> None:
        panels = _panels(figure, len(models))
        for axes, (model, some) in zip(panels, models.items(), strict=True):
            groups = of_runs.by_topic(some)
            shares = [sum(one.implemented for one in here) / len(here) for here in groups.values()]
            names = [f"{name} ({len(here)})" for name, here in groups.items()]
            stacked(axes, names, _with_rest("implemented", shares, COLOURS[2]), narrow=True)
            axes.set_title(named(model, 28), fontsize=10)
        about = "Implemented interactions by topic (Fig. 1c); in brackets how many there are"
        figure.suptitle(about)
        legend(figure, panels)

    return fill, (13, -(-len(models) // _ACROSS) * (1.2 + 0.36 * max(topics, 2)) + 0.6)


def _with_rest(
    name: str, shares: list[float], colour: str, rest: str = ""
) -> dict[str, tuple[list[float], str]]:
    """Return the parts of bars: some shares, and the rest up to 1."""
    others = [1 - share for share in shares]
    return {name: (shares, colour), rest or f"not {name}": (others, GREY)}


def _failures(counts: Mapping[str, Sequence[str]], note: str) -> Chart:
    """Draw Fig. 9: a panel for each model, the most frequent failure on top."""

    def fill(figure: Figure) -> None:
        panels = _panels(figure, len(counts))
        largest = max(max(map(seen.count, set(seen))) / len(seen) for seen in counts.values())
        for place, (axes, (model, seen)) in enumerate(zip(panels, counts.items(), strict=True)):
            shares = {letter: seen.count(letter) / len(seen) for letter in (NONE, *FAILURES)}
            ordered = sorted(shares, key=lambda letter: -shares[letter])
            values = [shares[letter] for letter in ordered]
            colour = COLOURS[place % len(COLOURS)]
            _labelled_bars(axes, values, [f"{100 * v:.2f} %" for v in values], 0.72, colour)
            rows_down(axes, [failure_name(letter) for letter in ordered])
            percent_axis(axes, largest * 1.25)
            axes.set_title(f"{named(model, 28)}\nn = {len(seen):,}", fontsize=10)
            tidy(axes)
        figure.suptitle(f"Distribution of failures (Fig. 9), {note}")

    across = min(len(counts), _ACROSS)
    return fill, (max(11.0, 5.2 * across), 0.9 + 3.9 * -(-len(counts) // across))


def _labelled_bars(
    axes: Axes, values: Sequence[float], texts: Sequence[str], height: float, colour: str
) -> None:
    axes.barh(range(len(values)), values, height=height, color=colour)
    for row, (value, text) in enumerate(zip(values, texts, strict=True)):
        axes.annotate(text, (value, row), (4, 0), textcoords="offset points", va="center")


# --- Figs. 7 and 8: an example of each failure


def _example(letter: str, found: Sequence[Results]) -> Example | None:
    """Return the first interaction with such a failure whose reference has pictures."""
    for one in found:
        for outcome in one.outcomes:
            if outcome.failure == letter:
                theirs = outcome.boxes.get("reference") or {}
                sides = {side: _pair(outcome, side, theirs) for side in ("reference", "generated")}
                if sides["reference"] is not None:
                    return f"{one.label}, {outcome.id}", sides
    return None


def _pair(outcome: Outcome, side: str, theirs: Mapping[str, Sequence[int]]) -> Image | None:
    """Return the page before above the page after, cut to where something happens."""
    from PIL import Image, ImageDraw

    boxes = outcome.boxes.get(side) or {}
    before, after = (
        _picture(outcome.pictures.get(f"{side}_{when}")) for when in ("before", "after")
    )
    if before is None:
        return None
    width, height = _EXAMPLE_SIZE
    whole = Image.new("RGB", (width, 2 * height + _GAP), "white")
    for place, (picture, name) in enumerate(((before, "trigger"), (after, "region"))):
        shown = (picture or before).copy()
        if name in boxes and picture is not None:
            left, top, right, bottom = boxes[name]
            edges = (left - 3, top - 3, max(right, left) + 3, max(bottom, top) + 3)
            ImageDraw.Draw(shown).rectangle(edges, None, "red", 3)
        part = shown.crop(_window(shown.size, {**theirs, **boxes}.values()))
        scale = min(width / part.width, height / part.height)
        size = round(part.width * scale), round(part.height * scale)
        whole.paste(part.resize(size), (0, place * (height + _GAP)))
    return whole


def _picture(path: Path | None) -> Image | None:
    from PIL import Image

    try:
        with Image.open(path or "") as opened:
            return opened.convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError):
        return None


def _window(size: tuple[int, int], boxes: Iterable[Sequence[int]]) -> tuple[int, int, int, int]:
    """Return the part of a page that shows some boxes, in the proportions of an example."""
    lefts, tops, rights, bottoms = zip(*(list(boxes) or [(0, 0, *size)]), strict=True)
    left, top, right, bottom = min(lefts), min(tops), max(rights), max(bottoms)
    wide, high = _EXAMPLE_SIZE
    width = max(right - left + 2 * _AROUND, (bottom - top + 2 * _AROUND) * wide / high, wide)
    width = min(width, size[0])
    height = min(width * high / wide, size[1])
    x = min(max((left + right - width) / 2, 0), size[0] - width)
    # Boxes that are too tall are shown from their top.
    y = (top + bottom - height) / 2 if bottom - top <= height else top - _AROUND
    y = min(max(y, 0), size[1] - height)
    return round(x), round(y), round(x + width), round(y + height)


def _examples(examples: Mapping[str, Example | None], title: str) -> Chart:
    """Draw a column for each type of failure, the reference above the generated page."""

    def fill(figure: Figure) -> None:
        panels = figure.subplots(2, len(examples), squeeze=False)
        for column, (letter, example) in enumerate(examples.items()):
            for row, side in enumerate(("reference", "generated")):
                axes = panels[row][column]
                axes.set_xticks([])
                axes.set_yticks([])
                picture = example[1][side] if example else None
                if picture is not None:
                    axes.imshow(picture)
                else:
                    why = "no page" if example else "none in these runs"
                    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", color="#666666")
                    axes.set_box_aspect((2 * _EXAMPLE_SIZE[1] + _GAP) / _EXAMPLE_SIZE[0])
                if column == 0:
                    axes.set_ylabel(side)
            panels[0][column].set_title(named(failure_name(letter), 24), fontsize=10)
            if example:
                panels[1][column].set_xlabel(named(example[0], 32), fontsize=7)
        figure.suptitle(f"{title}, as the program judges: each before and after")

    return fill, (15, 10)


# --- scores by saliency and magnification


def _first_of_each_model(found: Sequence[Results]) -> list[Results]:
    """Return the run of each model with the direct prompt, else its first one."""
    models: dict[str, Results] = {}
    for one in found:
        if one.model not in models or (one.prompt and one.prompt.name == "direct"):
            models[one.model] = one
    return list(models.values())


def _saliency_boxes(found: Sequence[Results], profile: Profile) -> Chart:
    """Draw Fig. 10: a row for each model, CLIP and text left, SSIM and position right."""

    def fill(figure: Figure) -> None:
        panels = figure.subplots(len(found), 2, squeeze=False, sharey=True)
        for row, one in zip(panels, found, strict=True):
            groups = of_runs.grouped(one.outcomes, profile)
            for axes, pair in zip(row, _PAIRS, strict=True):
                title = one.label
                for place, key in enumerate(pair):
                    if of_runs.mean(one.outcomes, profile, key) is None:
                        title += f" ({_short(key)} was not measured)"
                    else:
                        _boxes(axes, groups, f"{profile}.{key}", 0.4 * place - 0.2, key)
                ticks = [f"{name}\nn = {len(some):,}" for name, some in groups.items()]
                axes.set_xticks(range(len(GROUPS)), ticks, fontsize=8)
                axes.set_xlim(-0.5, len(GROUPS) - 0.5)
                axes.set_ylim(-0.03, 1.03)
                axes.set_title(named(title, 72), fontsize=10)
                tidy(axes)
        figure.suptitle(
            "Interaction part by visual saliency (Fig. 10): area of what changes / area of the "
            f"screenshot. Profile {profile}"
        )
        legend(figure, panels.flat)

    return fill, (13.0, 1.0 + 3.6 * len(found))


def _boxes(
    axes: Axes, groups: Mapping[str, Sequence[Outcome]], score: str, shift: float, key: str
) -> None:
    colour = COLOURS[_PARTS.index(key)]
    axes.boxplot(
        [[v for o in some if (v := o.scores.get(score)) is not None] for some in groups.values()],
        positions=[group + shift for group in range(len(GROUPS))],
        widths=0.34,
        patch_artist=True,
        boxprops={"facecolor": colour, "alpha": 0.7},
        medianprops={"color": "black", "linewidth": 1.4},
        flierprops={"marker": ".", "markersize": 3, "alpha": 0.5},
    )
    axes.plot([], [], "s", color=colour, label=_short(key))


def _magnification(series: Sequence[Sequence[Results]], profile: Profile) -> Chart:
    """Draw Fig. 12: a panel for each model and prompt, a line for each score."""

    def fill(figure: Figure) -> None:
        panels = _panels(figure, len(series), 2)
        for axes, runs in zip(panels, series, strict=True):
            places = [_reached(one) for one in runs]
            for number, key in enumerate(_PARTS):
                means = [of_runs.mean(one.outcomes, profile, key) for one in runs]
                points = [(at, one) for (at, _), one in zip(places, means, strict=True) if one]
                axes.errorbar(
                    [at for at, _ in points],
                    [one.mean for _, one in points],
                    yerr=list(zip(*(reach(one) for _, one in points), strict=True)) or None,
                    capsize=3,
                    marker="osD^"[number],
                    color=COLOURS[number],
                    label=_short(key) if points else f"{_short(key)}: not measured",
                )
            ticks: dict[float, list[str]] = {}
            for at, text in places:
                ticks.setdefault(at, []).append(text)
            axes.set_xticks(list(ticks), ["\n".join(texts) for texts in ticks.values()], fontsize=8)
            axes.set_ylim(-0.03, 1.03)
            axes.set_title(named(_series_name(runs[0]), 60), fontsize=10)
            axes.grid(alpha=0.25)
            tidy(axes)
        figure.suptitle(
            "Interaction part by the magnification that was reached (Fig. 12), "
            f"profile {profile}, 95 % intervals"
        )
        legend(figure, panels)

    return fill, (13.0, 1.2 + 4.2 * -(-len(series) // 2))


def _reached(one: Results) -> tuple[float, str]:
    """Return the position of a run on the x axis of Fig. 12, and its tick label."""
    asked = one.prompt.magnification if one.prompt else 1.0
    if asked == 1:
        return 1.0, "1x"
    if all(outcome.magnified is None for outcome in one.outcomes):
        return asked, f"{asked:g}x asked,\nnot recorded"
    reached = reach_of(one.outcomes)
    full = sum(in_full(outcome, asked) for outcome in one.outcomes)
    return reached, f"{reached:.2f}x\n{asked:g}x asked, in full\nin {full} of {len(one.outcomes)}"


def _short(key: str) -> str:
    """Return the paper's name of a score."""
    return "Position" if "position" in key else COLUMNS[key]


def _series_name(one: Results) -> str:
    if one.prompt is None:
        return one.model
    inputs = "" if one.prompt.inputs == "V" else f" {one.prompt.inputs}"
    return f"{one.model} {one.prompt.recipe}{inputs}"


def _saliency_panels(values: Mapping[Profile, Sequence[float]]) -> Chart:
    """Draw Fig. 11: the share of the page that interactions change, by the rule of each profile."""

    def fill(figure: Figure) -> None:
        panels = figure.subplots(1, len(values), squeeze=False)[0]
        for axes, (rule, found) in zip(panels, values.items(), strict=True):
            bins = [place / 40 for place in range(41)]
            axes.hist(found, bins=bins, color=COLOURS[4], edgecolor="white", label="histogram")
            axes.yaxis.get_major_locator().set_params(integer=True)
            axes.set_ylabel("interactions")
            axes.set_xlim(0, 1)
            axes.set_xlabel("visual saliency; dotted lines are the limits of the groups")
            axes.set_title(f"rule of profile {rule}, {len(found):,} interactions")
            for edge in EDGES:
                axes.axvline(edge, color="black", linestyle=":", linewidth=0.7, alpha=0.6)
            steps, shares = of_runs.cumulative(found)
            beside = axes.twinx()
            look = {"color": COLOURS[5], "linewidth": 2, "label": "CDF"}
            beside.step([0, *steps, 1], [0, *shares, 1], where="post", **look)
            beside.set_ylim(0, 1.02)
            beside.set_ylabel("cumulative share")
            axes.spines["top"].set_visible(False)
            beside.spines["top"].set_visible(False)
        figure.suptitle("Visual saliency (Fig. 11): area of what changes / area of the screenshot")
        legend(figure, [panels[0], beside])

    return fill, (13, 4.6)


# --- data sets


def _counts(title: str, counts: Mapping[str, int], unit: str, whole: int) -> Chart:
    """Draw how many pages or interactions there are of each kind."""

    def fill(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        axes = figure.add_subplot()
        texts = [f"{count:,}  ({100 * count / whole:.0f} %)" for count in counts.values()]
        _labelled_bars(axes, list(counts.values()), texts, 0.7, COLOURS[0])
        rows_down(axes, list(counts))
        axes.set_xlim(0, max(counts.values()) * 1.15)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel(f"{unit}, of {whole:,}")
        axes.set_title(title)
        tidy(axes)

    return fill, (10, bar_room(len(counts)))


def _interactive(topics: Mapping[str, Mapping[str, int]]) -> Chart:
    def fill(figure: Figure) -> None:
        axes = figure.add_subplot()
        shares = [
            one["interactive"] / max(one["interactive"] + one["static"], 1)
            for one in topics.values()
        ]
        names = [
            f"{topic}\n{one['pages']} page{'' if one['pages'] == 1 else 's'}"
            for topic, one in topics.items()
        ]
        stacked(axes, names, _with_rest("interactive", shares, COLOURS[5], "static"))
        axes.set_title("Elements of the rendered page that can be acted on, by topic (Fig. 1b)")
        legend(figure, [axes])

    return fill, (10, bar_room(len(topics)))


def _interactive_pages(pages: Sequence[tuple[str, int, int]], figure: Figure) -> None:
    axes = figure.add_subplot()
    ordered = sorted(pages, key=lambda page: -page[1] / max(page[1] + page[2], 1))
    shares = [some / max(some + static, 1) for _, some, static in ordered]
    axes.bar(range(len(ordered)), shares, width=0.8, color=COLOURS[5])
    if len(ordered) <= 40:
        for place, share in enumerate(shares):
            axes.text(place, share + 0.01, f"{100 * share:.0f} %", ha="center", fontsize=8)
        names = [name for name, *_ in ordered]
        axes.set_xticks(range(len(ordered)), names, rotation=45, ha="right")
    else:
        axes.set_xlabel(f"{len(ordered):,} pages, in order")
        axes.set_xticks([])
    axes.set_ylim(0, 1.04)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.set_title("Share of elements of the rendered page that can be acted on, by page (Fig. 1b)")
    tidy(axes)
