"""What a data set consists of: topics, actions, categories, and the pages behind it.

    found = dataset_statistics(Path("interaction2code"))
    print(found.topics, found.spread("tokens"))

Length, tags, depth and the share of interactive elements need the source of a page, `page.html`
beside its screenshots, which `uiproof collect` keeps. The published data set has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from uiproof.benchmarks.interaction2code.analyses.grid import MISSING, Grid
from uiproof.benchmarks.interaction2code.graph import Graph

if TYPE_CHECKING:
    from uiproof.benchmarks.interaction2code.analyses.source_page import SourceFacts

# What is measured on the source of a page, and how tables call it.
MEASURES = {
    "tokens": "length in tokens",
    "tags": "tags",
    "depth": "DOM depth",
    "unique_tags": "unique tags",
}
NO_TOPIC = "(no topic)"
SOURCE = "page.html"


class Spread(NamedTuple):
    """How numbers are spread; the deviation is that of these numbers, not of more to come."""

    min: float
    max: float
    mean: float
    std: float
    n: int


@dataclass(frozen=True, slots=True)
class PageStatistics:
    """One page; `source` is None where there is no HTML."""

    page: str
    topic: str
    interactions: int
    source: SourceFacts | None


@dataclass(frozen=True, slots=True)
class DatasetStatistics:
    """A whole data set. Categories are counted over interactions, which may have several."""

    pages: tuple[PageStatistics, ...]
    topics: Mapping[str, int]  # pages
    frameworks: Mapping[str, int]  # pages
    actions: Mapping[str, int]  # interactions
    tags: Mapping[str, int]
    visuals: Mapping[str, int]
    # Pages, and interactions `page/3`, that could not be read, and why.
    broken: tuple[tuple[str, str], ...] = ()

    @property
    def interactions(self) -> int:
        """How many interactions there are."""
        return sum(page.interactions for page in self.pages)

    @property
    def sources(self) -> list[tuple[PageStatistics, SourceFacts]]:
        """The pages whose HTML is there."""
        return [(page, page.source) for page in self.pages if page.source is not None]

    def spread(self, measure: str) -> Spread | None:
        """How one of `MEASURES` is spread over the pages; None where no page has a source."""
        return spread(getattr(source, measure) for _, source in self.sources)

    def as_json(self) -> dict[str, Any]:
        """Everything as numbers, for other programs; what is not available is null."""
        counts = ("topics", "frameworks", "actions", "tags", "visuals")
        return {
            "pages": len(self.pages),
            "interactions": self.interactions,
            "interactions_per_page": _as_json(spread(p.interactions for p in self.pages)),
            **{name: dict(getattr(self, name)) for name in counts},
            **{name: _as_json(self.spread(name)) for name in MEASURES},
            "interactive": interactive_by_topic(self),
            "by_page": [_page_json(page) for page in self.pages],
            "broken": [{"id": name, "error": error} for name, error in self.broken],
        }


def dataset_statistics(folder: Path) -> DatasetStatistics:
    """Read a data set and count. What cannot be read is in `broken` and nowhere else."""
    from uiproof.benchmarks.interaction2code.layout import read_dataset

    graphs: list[Graph] = []
    broken: list[tuple[str, str]] = []
    for entry in read_dataset(folder):
        if isinstance(entry, Graph):
            graphs.append(entry)
            broken += [(f"{entry.page}/{id}", why.message) for id, why in entry.broken.items()]
        else:
            broken.append((entry.page, entry.error.message))
    return statistics_of(graphs, broken)


def statistics_of(
    graphs: Sequence[Graph], broken: Iterable[tuple[str, str]] = ()
) -> DatasetStatistics:
    """Count over graphs that are read already."""
    interactions = [one for graph in graphs for one in graph.interactions]
    return DatasetStatistics(
        pages=tuple(_page(graph) for graph in graphs),
        topics=_counted(_topic(graph) for graph in graphs),
        frameworks=_counted(graph.framework for graph in graphs if graph.framework),
        actions=_counted(one.action.kind for one in interactions),
        tags=_counted(name for one in interactions for name in dict.fromkeys(one.tags)),
        visuals=_counted(name for one in interactions for name in dict.fromkeys(one.visuals)),
        broken=tuple(broken),
    )


def spread(values: Iterable[float]) -> Spread | None:
    """Minimum, maximum, mean and population standard deviation; None of nothing."""
    numbers = [float(value) for value in values]
    if not numbers:
        return None
    mean = sum(numbers) / len(numbers)
    deviation = sqrt(sum((value - mean) ** 2 for value in numbers) / len(numbers))
    return Spread(min(numbers), max(numbers), mean, deviation, len(numbers))


def interactive_by_topic(found: DatasetStatistics) -> dict[str, dict[str, int]]:
    """Interactive and static elements of all pages of a topic, the pages that have a source."""
    topics: dict[str, dict[str, int]] = {}
    for page, source in found.sources:
        counts = topics.setdefault(page.topic, {"pages": 0, "interactive": 0, "static": 0})
        counts["pages"] += 1
        counts["interactive"] += source.interactive
        counts["static"] += source.static
    return topics


def statistics_tables(found: DatasetStatistics) -> list[Grid]:
    """Tables 2 and 3 and their like."""
    per_page = spread(page.interactions for page in found.pages)
    rows = [("interactions per page", *_cells(per_page))]
    rows += [(name, *_cells(found.spread(key))) for key, name in MEASURES.items()]
    missing = len(found.pages) - len(found.sources)
    notes = [
        f"{len(found.pages):,} pages, {found.interactions:,} interactions.",
        *([f"{missing:,} pages have no {SOURCE}: not available for them."] if missing else []),
    ]
    header = ("Per page", "min", "max", "mean", "std", "pages")
    grids = [Grid("Pages (Table 2)", header, tuple(rows), tuple(notes))]
    wholes = {"interactions": found.interactions, "pages": len(found.pages)}
    for title, counts, unit in (
        ("Topics (Fig. 4)", found.topics, "pages"),
        ("Actions", found.actions, "interactions"),
        ("Tag categories (Table 3)", found.tags, "interactions"),
        ("Visual categories (Table 3)", found.visuals, "interactions"),
    ):
        lines = tuple(
            (name, f"{n:,}", f"{100 * n / wholes[unit]:.1f}") for name, n in counts.items()
        )
        if lines:
            grids.append(Grid(title, ("", unit, "%"), lines))
    if topics := interactive_by_topic(found):
        grids.append(_interactive(topics))
    return grids


def _interactive(topics: Mapping[str, Mapping[str, int]]) -> Grid:
    rows = []
    for topic, counts in topics.items():
        both = counts["interactive"] + counts["static"]
        share = MISSING if not both else f"{100 * counts['interactive'] / both:.1f}"
        numbers = (counts["pages"], counts["interactive"], counts["static"])
        rows.append((topic, *(f"{n:,}" for n in numbers), share))
    return Grid(
        "Interactive against static elements (Fig. 1)",
        ("Topic", "pages", "interactive", "static", "interactive %"),
        tuple(rows),
        ("By the HTML alone: what only a script listens to counts as static.",),
    )


def _page(graph: Graph) -> PageStatistics:
    from uiproof.benchmarks.interaction2code.analyses.source_page import source_facts

    source = graph.folder / SOURCE
    facts = source_facts(source.read_bytes()) if source.is_file() else None
    return PageStatistics(graph.page, _topic(graph), len(graph.interactions), facts)


def _topic(graph: Graph) -> str:
    return " ".join(graph.topic.split()).lower() or NO_TOPIC


def _counted(names: Iterable[str]) -> dict[str, int]:
    """How often each name is there, the most frequent first."""
    counts = Counter(names)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _cells(found: Spread | None) -> tuple[str, ...]:
    if found is None:
        return (*["not available"] * 4, "0")
    return (
        *(f"{value:,.0f}" for value in found[:2]),
        *(f"{value:,.1f}" for value in found[2:4]),
        f"{found.n:,}",
    )


def _as_json(found: Spread | None) -> dict[str, float] | None:
    return None if found is None else found._asdict()


def _page_json(page: PageStatistics) -> dict[str, Any]:
    values = {field.name: getattr(page, field.name) for field in fields(page)}
    return {**values, "source": None if page.source is None else asdict(page.source)}
