"""What was recomputed from the published labels as tables: ours beside the published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from uiproof.benchmarks.interaction2code.analyses.anchors import (
    COMPARISONS,
    FAILURE_USABILITY,
    IMPLEMENTED,
    KNOWN,
    USABILITY,
    VERSION_1,
    Anchor,
    label_rate,
    models_of,
    pooled,
    published,
)
from uiproof.benchmarks.interaction2code.analyses.grid import MISSING, Grid, bounds, percent, share
from uiproof.benchmarks.interaction2code.analyses.labels import (
    OUTCOMES,
    Label,
    LabelFile,
    LabelFolder,
    failure_name,
)
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.benchmarks.interaction2code.graph import (
    TAG_CATEGORIES,
    VISUAL_CATEGORIES,
    Graph,
)
from uiproof.stats.intervals import Interval

_SOURCES = {
    USABILITY: "label_usability",
    VERSION_1: "version_1",
    FAILURE_USABILITY: "version_1",
    COMPARISONS: "label_comparisons",
    IMPLEMENTED: "leaderboard",
}
_NOTES = {
    VERSION_1: (
        "The paper's numbers are those of the labels rounded up to whole percent.",
        "Which 97 pages they were is not documented: 1 to 100 without 40, 54 and 85 is the only "
        "choice that gives all seven usabilities below.",
    ),
    FAILURE_USABILITY: (
        "The paper has 0 for a, h and j; the published labels do not. Known, and not counted.",
        "In the files 3 is (d) and 4 is (c), as their tool has it and not as their README says.",
    ),
    IMPLEMENTED: (
        "Not the same thing: the published rate was measured by a program that clicks. It is shown "
        "only to compare.",
    ),
}


def anchor_tables(anchors: Sequence[Anchor], folder: LabelFolder) -> list[Grid]:
    """Ours beside the published, the failures of every model, and what it amounts to."""
    tables = {
        title: [one for one in anchors if one.table == title]
        for title in (USABILITY, VERSION_1, FAILURE_USABILITY, IMPLEMENTED)
    }
    grids = [_grid(title, some) for title, some in tables.items() if some]
    if folder.failures:
        grids.append(failure_distribution(folder.failures))
    if folder.comparisons:
        grids.append(_comparison_grid([one for one in anchors if one.table == COMPARISONS]))
    return grids


def failure_distribution(found: Sequence[LabelFile[Label]]) -> Grid:
    """How often each failure was seen, by model, and how many of its pages can be used."""
    groups = models_of(found)
    everything = pooled(found)
    rows = []
    for letter in (NONE, *FAILURES):
        chosen = [label for label in everything if label.failure == letter]
        rate = label_rate([label.usable for label in chosen], chosen)
        shares = [
            percent(label_rate([label.failure == letter for label in group], group))
            for group in groups.values()
        ]
        usable = (percent(rate), bounds(rate))
        whole = percent(label_rate([label.failure == letter for label in everything], everything))
        rows.append((failure_name(letter), f"{len(chosen):,}", whole, *shares, *usable))
    return Grid(
        "Failures, all labels (Table 7, Fig. 9)",
        ("Failure", "n", "all %", *(f"{model} %" for model in groups), "usable %", "95 %"),
        tuple(rows),
        ("Shares of a model's interactions, all its prompts together.",),
    )


def label_categories(
    found: Sequence[LabelFile[Label]], graphs: Iterable[Graph], kind: Literal["tags", "visuals"]
) -> Grid:
    """Tables 5 and 6 from the labels, with the categories that the data set has for them."""
    categories = {
        (graph.page, one.id): one.tags if kind == "tags" else one.visuals
        for graph in graphs
        for one in graph.interactions
    }
    groups = models_of(found)
    joined = {
        model: [(label, categories.get((label.page, label.interaction))) for label in labels]
        for model, labels in groups.items()
    }
    known = TAG_CATEGORIES if kind == "tags" else VISUAL_CATEGORIES
    present = {name for names in categories.values() for name in names}
    rows = []
    for name in (*(one for one in known if one in present), *sorted(present - set(known))):
        shown = []
        counts = set()
        for pairs in joined.values():
            chosen = [label for label, names in pairs if names and name in names]
            counts.add(len(chosen))
            shown.append(share(label_rate([label.usable for label in chosen], chosen)))
        if any(counts):
            n = "-".join(str(count) for count in sorted({min(counts), max(counts)}))
            rows.append((name, n, *shown))
    missing = {place for pairs in joined.values() for place in _unknown(pairs)}
    notes = ["By model, all its prompts together; n counts labels."]
    if missing:
        notes.append(f"{len(missing):,} labelled interactions are not in this data set.")
    title = "tag category (Table 5)" if kind == "tags" else "visual category (Table 6)"
    return Grid(
        f"Usability % by {title}, labelled by people",
        ("Category", "n", *groups),
        tuple(rows),
        tuple(notes),
    )


def _unknown(
    pairs: Iterable[tuple[Label, tuple[str, ...] | None]],
) -> Iterator[tuple[str, str]]:
    return ((label.page, label.interaction) for label, names in pairs if names is None)


def _grid(title: str, anchors: Sequence[Anchor]) -> Grid:
    names = ("Failure",) if title == FAILURE_USABILITY else ("Model", "Prompt")
    rows = []
    for one in anchors:
        rate = Interval(one.rate, one.low, one.high, one.n)
        name = (failure_name(one.name[0]),) if len(names) == 1 else one.name
        digits = 0 if title == VERSION_1 else 2
        theirs = MISSING if one.published is None else f"{100 * one.published:.{digits}f}"
        numbers = (f"{one.n:,}", percent(rate, 2), bounds(rate), theirs, _difference(one))
        rows.append((*name, *numbers, _verdict(one)))
    header = (*names, "n", "ours %", "95 %", "published %", "difference", "")
    return Grid(title, header, tuple(rows), _notes(title), len(names))


def _comparison_grid(anchors: Sequence[Anchor]) -> Grid:
    """One line for each model and prompt, with all three results."""
    groups: dict[tuple[str, ...], list[Anchor]] = {}
    for one in anchors:
        groups.setdefault(one.name[:2], []).append(one)
    rows = []
    for name, group in groups.items():
        numbers: list[str] = []
        for one in group:
            rate = Interval(one.rate, one.low, one.high, one.n)
            theirs = MISSING if one.published is None else f"{100 * one.published:.1f}"
            numbers += [percent(rate, 2), bounds(rate, 0), theirs]
        verdict = next((one for one in group if one.agrees is False), group[0])
        rows.append((*name, f"{group[0].n:,}", *numbers, _verdict(verdict)))
    columns = [part for word in OUTCOMES for part in (f"{word} %", "95 %", "published")]
    header = ("Model", "Prompt", "n", *columns, "")
    return Grid(COMPARISONS, header, tuple(rows), _notes(COMPARISONS), 2)


def _notes(title: str) -> tuple[str, ...]:
    return (f"Published: {published()[_SOURCES[title]]['source']}.", *_NOTES.get(title, ()))


def _difference(one: Anchor) -> str:
    """In percentage points; never `-0.00`."""
    if one.published is None:
        return MISSING
    points = round(100 * (one.rate - one.published), 2)
    return f"{points:+.2f}" if points else "0.00"


def _verdict(one: Anchor) -> str:
    if one.agrees is None:
        return {KNOWN: "differs, as known"}.get(one.note, one.note or "nothing published")
    return "ok" if one.agrees else "DIFFERS"
