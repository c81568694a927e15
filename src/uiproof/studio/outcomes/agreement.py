"""How far the people of a task agree, and what counts in the end.

    said = gather(store, task=1)
    for facet in FACETS[said.task.kind]:
        found = agreement(said, facet)
        print(facet, found.fleiss, found.alpha, found.pairs)

Every aspect of a label is looked at by itself: people can agree that an interaction is usable and
not on what is wrong with it. What counts is a decision, else what more people said than anything
else; a tie is open.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from uiproof.stats.agreement import (
    Agreement,
    fleiss_kappa,
    krippendorff_alpha,
    majority,
    pairwise_kappa,
)
from uiproof.stats.clusters import clustered_mean
from uiproof.stats.intervals import Interval
from uiproof.studio.labelling import decision_labels, labels
from uiproof.studio.labels import Item, Judgement, Kind, Label, Task, Value
from uiproof.studio.store import Store

Facet = Literal["usable", "failure", "outcome"]
FACETS: dict[Kind, tuple[Facet, ...]] = {"judge": ("usable", "failure"), "compare": ("outcome",)}
WORST_TO_BEST = ("lose", "tie", "win")


@dataclass(frozen=True, slots=True)
class Said:
    """A task with everything that counts now, people by their names."""

    task: Task
    items: tuple[Item, ...]
    labels: Mapping[int, Mapping[str, Label]]  # item -> name -> label
    decisions: Mapping[int, Label]
    names: Mapping[int, str]  # of all annotators of the studio

    @property
    def people(self) -> list[str]:
        """Those who have labelled something, by name."""
        found = {name for by in self.labels.values() for name in by}
        return sorted(found, key=lambda name: (name.casefold(), name))

    @property
    def n_labels(self) -> int:
        """How many labels count."""
        return sum(map(len, self.labels.values()))


@dataclass(frozen=True, slots=True)
class Final:
    """What counts for one item; None where people are tied, or nobody has said anything."""

    item: Item
    answers: Mapping[Facet, Hashable | None]
    settled: bool  # by a decision

    @property
    def open(self) -> bool:
        """Whether something about it is still to be decided."""
        return None in self.answers.values()


class Pair(NamedTuple):
    """Two annotators on the items that both have labelled."""

    first: str
    second: str
    kappa: Agreement


@dataclass(frozen=True, slots=True)
class FacetAgreement:
    """How far people agree on one aspect of their labels; intervals are over pages."""

    facet: Facet
    items: int  # with two or more labels
    split: int  # of these, where not everybody says the same
    percent: Interval | None  # of pairs of labels of one item that are the same
    fleiss: Agreement
    alpha: Agreement  # labels that differ are all equally far apart
    ordinal: Agreement | None  # win and lose are further apart than either is from a tie
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item about which people differ, with all that was said."""

    item: Item
    labels: Mapping[str, Label]
    decision: Label | None
    final: Final

    def options(self) -> list[tuple[Value, list[str]]]:
        """What was said, each with who said it, the most frequent first."""
        found: dict[tuple[Hashable, ...], tuple[Value, list[str]]] = {}
        for name, label in self.labels.items():
            key = tuple(facet_of(label.value, facet) for facet in self.final.answers)
            found.setdefault(key, (label.value, []))[1].append(name)
        return sorted(found.values(), key=lambda option: (-len(option[1]), option[1]))


def gather(store: Store, task: int) -> Said:
    """Everything that counts in a task now."""
    names = {person.id: person.name for person in store.annotators()}
    by_item: dict[int, dict[str, Label]] = {}
    for label in labels(store, task):
        by_item.setdefault(label.item, {})[names[label.annotator]] = label
    decided = {label.item: label for label in decision_labels(store, task)}
    return Said(store.task(task), tuple(store.items(task)), by_item, decided, names)


def facet_of(value: Value, facet: Facet) -> Hashable:
    """One aspect of a label."""
    if isinstance(value, Judgement):
        return value.usable if facet == "usable" else value.failure
    return value.outcome


def agreement(said: Said, facet: Facet) -> FacetAgreement:
    """The coefficients for one aspect, over all items that two or more people have labelled."""
    pages = {item.id: item.page for item in said.items}
    shared = {item: by for item, by in said.labels.items() if len(by) > 1}
    rows = [[facet_of(label.value, facet) for label in by.values()] for by in shared.values()]
    clusters = [pages[item] for item in shared]
    by_person = {
        name: {item: facet_of(by[name].value, facet) for item, by in shared.items() if name in by}
        for name in said.people
    }
    order = WORST_TO_BEST if facet == "outcome" else None
    kappas = pairwise_kappa(by_person, clusters=pages)
    return FacetAgreement(
        facet=facet,
        items=len(rows),
        split=sum(len(set(row)) > 1 for row in rows),
        percent=_percent(rows, clusters),
        fleiss=fleiss_kappa(rows, clusters=clusters),
        alpha=krippendorff_alpha(rows, clusters=clusters),
        ordinal=krippendorff_alpha(rows, level="ordinal", order=order, clusters=clusters)
        if order
        else None,
        pairs=tuple(Pair(*names, kappa) for names, kappa in kappas.items() if kappa.n),
    )


def finals(said: Said) -> list[Final]:
    """What counts for each item that somebody has labelled or decided, in the order of items."""
    facets = FACETS[said.task.kind]
    found = []
    for item in said.items:
        decision, by = said.decisions.get(item.id), said.labels.get(item.id, {})
        if decision is not None:
            answers = {facet: facet_of(decision.value, facet) for facet in facets}
        elif by:
            answers = {
                facet: majority([facet_of(label.value, facet) for label in by.values()])
                for facet in facets
            }
        else:
            continue
        found.append(Final(item, answers, decision is not None))
    return found


def disagreements(said: Said, settled: Iterable[Final] | None = None) -> list[Disagreement]:
    """The items about which people differ, in the order of items, decided ones included."""
    found = []
    for final in finals(said) if settled is None else settled:
        by = said.labels.get(final.item.id, {})
        if any(
            len({facet_of(label.value, facet) for label in by.values()}) > 1
            for facet in final.answers
        ):
            decision = said.decisions.get(final.item.id)
            found.append(Disagreement(final.item, by, decision, final))
    return found


def _percent(rows: list[list[Hashable]], clusters: list[str]) -> Interval | None:
    shares = []
    for row in rows:
        same = sum(row.count(label) - 1 for label in row)
        shares.append(same / (len(row) * (len(row) - 1)))
    found = clustered_mean(shares, clusters)
    if found is None or found.low is None or found.high is None:
        return found
    return found._replace(low=max(found.low, 0.0), high=min(found.high, 1.0))
