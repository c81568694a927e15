"""What the people of a task say about models and prompts: rates, comparisons, failures.

    said = gather(store, task=1)
    for one in task_results(said).usability:
        print(*one.name, one.rate, one.low, one.high, one.n)

The labels that count become label files as they are published, so that the tables are those of
`uiproof anchors`, computed by the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

from uiproof.benchmarks.interaction2code.analyses.anchor_tables import (
    anchor_tables,
    failure_distribution,
    label_categories,
)
from uiproof.benchmarks.interaction2code.analyses.anchors import (
    COMPARISONS,
    FAILURE_USABILITY,
    IMPLEMENTED,
    USABILITY,
    VERSION_1,
    Anchor,
    recompute,
)
from uiproof.benchmarks.interaction2code.analyses.grid import Grid
from uiproof.benchmarks.interaction2code.analyses.labels import (
    Label,
    LabelFile,
    LabelFolder,
    Outcome,
    Vote,
    order,
)
from uiproof.benchmarks.interaction2code.failures import NONE
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.browser.snapshots import Action
from uiproof.studio.labels import Item
from uiproof.studio.outcomes.agreement import (
    FACETS,
    FacetAgreement,
    Final,
    Said,
    agreement,
    disagreements,
    finals,
)
from uiproof.studio.outcomes.verdicts import CaseFacts, Facts

WHOLE_PAGE = "0"  # where published files want the number of an interaction


@dataclass(frozen=True, slots=True)
class Counts:
    """How far a task is."""

    items: int
    labelled: int  # items with a label or a decision
    labels: int
    people: int
    open: int  # labelled items with something still to be decided
    disputed: int  # items about which people differ
    settled: int  # items with a decision


@dataclass(frozen=True, slots=True)
class TaskResults:
    """The tables of one task; those that it has nothing for are empty."""

    counts: Counts
    usability: tuple[Anchor, ...] = ()
    implemented: tuple[Anchor, ...] = ()  # neither (a) nor (b)
    comparisons: tuple[Anchor, ...] = ()
    failures: Grid | None = None
    categories: tuple[Grid, ...] = ()  # by tag and by visual category
    published: tuple[Grid, ...] = ()  # beside the paper's tables, where these are its labels

    def as_json(self) -> dict[str, Any]:
        """For other programs; rates are fractions."""
        return {
            "counts": asdict(self.counts),
            **{
                name: [_anchor_json(one) for one in getattr(self, name)]
                for name in ("usability", "implemented", "comparisons")
            },
            "failures": None if self.failures is None else asdict(self.failures),
            "categories": [asdict(grid) for grid in self.categories],
        }


def task_results(said: Said, facts: Facts | None = None) -> TaskResults:
    """Every table of a task. `facts` of runs add the tables by category."""
    found = finals(said)
    counts = Counts(
        items=len(said.items),
        labelled=len(found),
        labels=said.n_labels,
        people=len(said.people),
        open=sum(final.open for final in found),
        disputed=len(disagreements(said, found)),
        settled=sum(final.settled for final in found),
    )
    if said.task.kind == "compare":
        rates = recompute(LabelFolder((), comparison_files(found)))
        return TaskResults(counts, comparisons=_of(rates, COMPARISONS))
    whole, usable = failure_files(found), failure_files(found, partly=True)
    anchors = recompute(LabelFolder(whole, ()))
    rates = anchors if usable == whole else recompute(LabelFolder(usable, ()))
    known = [one for one in anchors if one.table in (VERSION_1, FAILURE_USABILITY)]
    known = known if any(one.agrees is not None for one in known) else []
    return TaskResults(
        counts,
        usability=_of(rates, USABILITY),
        implemented=_of(anchors, IMPLEMENTED),
        failures=failure_distribution(whole) if whole else None,
        categories=() if facts is None else _categories(usable, facts, said.items),
        published=tuple(anchor_tables(known, LabelFolder((), ()))),
    )


def category_tables(said: Said, facts: Facts) -> tuple[Grid, ...]:
    """Usability by tag and by visual category, as far as the records of runs have them."""
    if said.task.kind == "compare":
        return ()
    return _categories(failure_files(finals(said), partly=True), facts, said.items)


def results_json(said: Said, facts: Facts | None = None) -> dict[str, Any]:
    """Task, tables and agreement as one JSON object."""
    task = said.task
    return {
        "task": {"id": task.id, "kind": task.kind, "title": task.title, "people": said.people},
        **task_results(said, facts).as_json(),
        "agreement": [agreement_json(agreement(said, facet)) for facet in FACETS[task.kind]],
    }


def agreement_json(found: FacetAgreement) -> dict[str, Any]:
    """The coefficients of one aspect for other programs."""
    coefficients = {"fleiss_kappa": found.fleiss, "krippendorff_alpha": found.alpha}
    if found.ordinal is not None:
        coefficients["krippendorff_alpha_ordinal"] = found.ordinal
    return {
        "facet": found.facet,
        "items": found.items,
        "split": found.split,
        "percent": None if found.percent is None else found.percent._asdict(),
        **{name: value._asdict() for name, value in coefficients.items()},
        "cohen_kappa": [
            {"annotators": [pair.first, pair.second], **pair.kappa._asdict()}
            for pair in found.pairs
        ],
    }


def failure_files(found: Iterable[Final], *, partly: bool = False) -> tuple[LabelFile[Label], ...]:
    """The labels that count as published files, in the order of the paper.

    What is open is left out. `partly` keeps items of which only the failure is open, for what asks
    for nothing but usability: their failure is `none` then.
    """
    groups: dict[tuple[str, str], list[Label]] = {}
    for final in found:
        usable, failure = final.answers["usable"], final.answers["failure"]
        if usable is not None and (partly or failure is not None):
            item = final.item
            label = Label(item.page, place_of(item), str(failure or NONE), bool(usable))
            groups.setdefault((item.model, item.prompt), []).append(label)
    return tuple(LabelFile(*name, tuple(groups[name])) for name in _ordered(groups))


def comparison_files(found: Iterable[Final]) -> tuple[LabelFile[Vote], ...]:
    """The votes that count as published files, in the order of the paper; ties are left out."""
    groups: dict[tuple[str, str], list[Vote]] = {}
    for final in found:
        outcome = final.answers["outcome"]
        if outcome is not None:
            item = final.item
            vote = Vote(item.page, place_of(item), cast(Outcome, outcome))
            groups.setdefault((item.model, item.prompt), []).append(vote)
    return tuple(LabelFile(*name, tuple(groups[name])) for name in _ordered(groups))


def place_of(item: Item) -> str:
    """The number of the interaction; whole pages have 0."""
    return item.interaction or WHOLE_PAGE


def _categories(
    found: tuple[LabelFile[Label], ...], facts: Facts, items: Iterable[Item]
) -> tuple[Grid, ...]:
    """Tables 5 and 6, with the categories that the records of the runs have."""
    pages: dict[str, dict[str, CaseFacts]] = {}
    for item in items:
        known = facts.of(item)
        if known is not None and (known.tags or known.visuals):
            pages.setdefault(item.page, {})[place_of(item)] = known
    graphs = [
        Graph(
            page,
            Path(),
            tuple(
                Interaction(
                    place, "", "", Action("click"), "", tags=known.tags, visuals=known.visuals
                )
                for place, known in places.items()
            ),
        )
        for page, places in pages.items()
    ]
    kinds: tuple[Literal["tags", "visuals"], ...] = ("tags", "visuals")
    grids = [label_categories(found, graphs, kind) for kind in kinds]
    return tuple(grid for grid in grids if grid.rows)


def _ordered(groups: Mapping[tuple[str, str], Any]) -> list[tuple[str, str]]:
    return sorted(groups, key=lambda name: order(*name))


def _of(anchors: Iterable[Anchor], table: str) -> tuple[Anchor, ...]:
    return tuple(one for one in anchors if one.table == table and one.n)


def _anchor_json(one: Anchor) -> dict[str, Any]:
    return {
        "model": one.name[0],
        "prompt": one.name[1],
        **({"outcome": one.name[2]} if len(one.name) > 2 else {}),
        **{name: getattr(one, name) for name in ("n", "rate", "low", "high", "published")},
    }
