"""The results of a task as tables of text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from uiproof.benchmarks.interaction2code.analyses.anchors import Anchor
from uiproof.benchmarks.interaction2code.analyses.grid import MISSING, Grid, bounds, percent
from uiproof.benchmarks.interaction2code.analyses.labels import OUTCOMES
from uiproof.stats.agreement import Agreement
from uiproof.stats.correlation import Correlation
from uiproof.stats.intervals import Interval
from uiproof.studio.outcomes.agreement import FACETS, FacetAgreement, Said, agreement
from uiproof.studio.outcomes.results import TaskResults, task_results
from uiproof.studio.outcomes.verdicts import Facts, MachineAgreement

_FACETS = {"usable": "usable or not", "failure": "what mainly fails", "outcome": "win, tie or lose"}


def result_tables(said: Said, facts: Facts, machine: MachineAgreement) -> list[Grid]:
    """Every table that a task has something for."""
    found = task_results(said, facts)
    grids = [_rates(found, said)]
    if found.comparisons:
        grids.append(_comparisons(found.comparisons))
    if found.failures is not None:
        grids.append(found.failures)
    grids += found.categories
    grids += [_agreement(agreement(said, facet)) for facet in FACETS[said.task.kind]]
    if machine.verifier or machine.metrics:
        grids.append(_program(machine))
    return grids


def _rates(found: TaskResults, said: Said) -> Grid:
    counts = found.counts
    rows: list[tuple[str, ...]] = [
        (
            *one.name,
            f"{one.n:,}",
            percent(_interval(one), 2),
            bounds(_interval(one)),
            _published(one),
        )
        for one in found.usability
    ]
    header: tuple[str, ...] = ("Model", "Prompt", "n", "usable %", "95 %", "published %")
    if not any(one.published for one in found.usability):
        header, rows = header[:-1], [row[:-1] for row in rows]
    people = "1 person" if counts.people == 1 else f"{counts.people} people"
    note = (
        f"{counts.labels:,} labels of {people} for {counts.labelled:,} of {counts.items:,} items. "
        f"People differ on {counts.disputed:,}; {counts.settled:,} are decided, {counts.open:,} "
        "are tied and in no table."
    )
    title = f"Task {said.task.id}: {said.task.title}"
    return Grid(title, header if rows else (), tuple(rows), (note,), 2)


def _comparisons(anchors: Iterable[Anchor]) -> Grid:
    groups: dict[tuple[str, ...], list[Anchor]] = {}
    for one in anchors:
        groups.setdefault(one.name[:2], []).append(one)
    rows: list[tuple[str, ...]] = [
        (
            *name,
            f"{group[0].n:,}",
            *(
                text
                for one in group
                for text in (percent(_interval(one), 1), bounds(_interval(one)), _published(one, 1))
            ),
        )
        for name, group in groups.items()
    ]
    columns = [part for word in OUTCOMES for part in (f"{word} %", "95 %", "published")]
    return Grid("Against the baseline", ("Model", "Prompt", "n", *columns), tuple(rows), (), 2)


def _agreement(found: FacetAgreement) -> Grid:
    rows: list[tuple[str, ...]] = [
        ("same label, pairs %", percent(found.percent), bounds(found.percent), f"{found.items:,}"),
        ("Fleiss' kappa", *_numbers(found.fleiss)),
        ("Krippendorff's alpha", *_numbers(found.alpha)),
    ]
    if found.ordinal is not None:
        rows.append(("Krippendorff's alpha, ordinal", *_numbers(found.ordinal)))
    rows += [
        (f"Cohen's kappa, {pair.first} and {pair.second}", *_numbers(pair.kappa))
        for pair in found.pairs
    ]
    title = f"Agreement: {_FACETS[found.facet]}"
    if not found.items:
        return Grid(title, (), (), ("No item has labels of two people.",))
    return Grid(title, ("", "value", "95 %", "n"), tuple(rows))


def _program(machine: MachineAgreement) -> Grid:
    rows: list[tuple[str, ...]] = []
    if machine.verifier is not None:
        verifier = machine.verifier
        for name, share, kappa in (
            ("verifier: usable", verifier.usable, verifier.kappa),
            ("verifier: what fails", verifier.failure, verifier.failure_kappa),
        ):
            n = "0" if share is None else f"{share.n:,}"
            rows.append((name, percent(share), bounds(share), *_numbers(kappa)[:2], *[""] * 4, n))
    for one in machine.metrics:
        kappa_numbers = _numbers(one.kappa)[:2] if one.kappa else ("", "")
        same = (percent(one.accuracy), bounds(one.accuracy)) if one.accuracy else ("", "")
        ranks = (*_numbers(one.spearman)[:2], *_numbers(one.kendall)[:2])
        rows.append((one.metric.label, *same, *kappa_numbers, *ranks, f"{one.n:,}"))
    header = ("", "same %", "95 %", "kappa", "95 %", "Spearman", "95 %", "Kendall", "95 %", "n")
    notes = []
    if machine.unlinked or machine.gone:
        notes.append(
            f"Of {machine.items:,} items {machine.unlinked:,} were imported without a run, and of "
            f"{machine.gone:,} the run or its case is gone: they are not counted here."
        )
    return Grid("The program beside the people", header, tuple(rows), tuple(notes))


def _numbers(found: Agreement | Correlation | None) -> tuple[str, str, str]:
    if found is None or found.value is None:
        return MISSING, MISSING, MISSING if found is None else f"{found.n:,}"
    low, high = found.low, found.high
    reach = MISSING if low is None or high is None else f"{_plain(low, 2)} to {_plain(high, 2)}"
    return _plain(found.value, 3), reach, f"{found.n:,}"


def _plain(number: float, digits: int) -> str:
    return f"{round(number, digits) + 0.0:.{digits}f}"  # never -0.00


def _interval(one: Anchor) -> Interval:
    return Interval(one.rate, one.low, one.high, one.n)


def _published(one: Anchor, digits: int = 2) -> str:
    return MISSING if one.published is None else f"{100 * one.published:.{digits}f}"
