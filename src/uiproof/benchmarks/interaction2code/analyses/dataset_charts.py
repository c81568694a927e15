"""Charts of a data set: topics and categories (Fig. 4), what can be acted on (Fig. 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from uiproof.benchmarks.interaction2code.analyses.canvas import (
    COLOURS,
    GREY,
    bar_room,
    draw,
    legend,
    rows_down,
    stacked,
    tidy,
)
from uiproof.benchmarks.interaction2code.analyses.statistics import (
    DatasetStatistics,
    interactive_by_topic,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from uiproof.benchmarks.interaction2code.analyses.canvas import Chart


def draw_dataset_charts(found: DatasetStatistics, folder: Path) -> list[Path]:
    """Topics, tags and effects of a data set (Fig. 4), and what can be acted on (Fig. 1)."""
    charts: dict[str, Chart] = {}
    for name, title, counts, unit in (
        ("topics", "Topics", found.topics, "pages"),
        ("tags", "Tag categories", found.tags, "interactions"),
        ("visuals", "Visual categories", found.visuals, "interactions"),
    ):
        if counts:
            charts[name] = (_counts(title, counts, unit), (10, bar_room(len(counts))))
    if topics := interactive_by_topic(found):
        charts["interactive"] = (
            lambda figure: _interactive(figure, topics),
            (10, bar_room(len(topics))),
        )
        pages = [(page.page, facts.interactive, facts.static) for page, facts in found.sources]
        charts["interactive_by_page"] = (lambda figure: _interactive_pages(figure, pages), (12, 5))
    return draw(charts, folder)


def _counts(title: str, counts: Mapping[str, int], unit: str) -> Callable[[Figure], None]:
    def drawn(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        axes = figure.add_subplot()
        rows = range(len(counts))
        axes.barh(rows, list(counts.values()), height=0.7, color=COLOURS[0])
        for row, count in zip(rows, counts.values(), strict=True):
            axes.annotate(
                f"{count:,}", (count, row), (4, 0), textcoords="offset points", va="center"
            )
        rows_down(axes, list(counts))
        axes.set_xlim(0, max(counts.values()) * 1.1)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel(unit)
        axes.set_title(f"{title} (Fig. 4)")
        tidy(axes)

    return drawn


def _interactive(figure: Figure, topics: Mapping[str, Mapping[str, int]]) -> None:
    axes = figure.add_subplot()
    shares = [
        one["interactive"] / max(one["interactive"] + one["static"], 1) for one in topics.values()
    ]
    parts = {
        "interactive": (shares, COLOURS[5]),
        "static": ([1 - share for share in shares], GREY),
    }
    pages = {1: "1 page"}
    names = [
        f"{topic}\n{pages.get(one['pages'], str(one['pages']) + ' pages')}"
        for topic, one in topics.items()
    ]
    stacked(axes, names, parts)
    axes.set_title("Elements that can be acted on, by topic (Fig. 1)")
    legend(figure, [axes])


def _interactive_pages(figure: Figure, pages: Sequence[tuple[str, int, int]]) -> None:
    axes = figure.add_subplot()
    ordered = sorted(pages, key=lambda page: -page[1] / max(page[1] + page[2], 1))
    shares = [some / max(some + static, 1) for _, some, static in ordered]
    axes.bar(range(len(ordered)), shares, width=0.8, color=COLOURS[5])
    if len(ordered) <= 40:
        axes.set_xticks(
            range(len(ordered)), [name for name, *_ in ordered], rotation=45, ha="right"
        )
    else:
        axes.set_xlabel(f"{len(ordered):,} pages, in order")
        axes.set_xticks([])
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.set_title("Share of elements that can be acted on, by page (Fig. 1)")
    tidy(axes)
