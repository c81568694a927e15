"""Tasks made from runs: which results people shall look at.

    runs = find_runs(folder)
    store.add_task("judge", "Round 1", sample(judge_items(runs), 90, seed=1), per_item=3)

Every case of a run's journal becomes an item, failed ones too: people see that there is no page and
say what that is worth, so nothing is missing from a rate and nothing was said for them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from uiproof.errors import InputError
from uiproof.studio.browsing.runs import FoundRun
from uiproof.studio.labels import Item

JUDGED = frozenset({"interaction2code"})
COMPARED = frozenset({"interaction2code", "design2code"})


def judge_items(runs: Sequence[FoundRun]) -> list[Item]:
    """Every interaction of these runs, to be judged by itself; ordered by case."""
    _check(runs, JUDGED)
    return [
        Item(case, run.model, run.prompt, run.name)
        for case, with_it in _by_case(runs).items()
        for run in with_it
    ]


def compare_items(runs: Sequence[FoundRun], baseline: FoundRun) -> list[Item]:
    """Every case that a run and the baseline both have, side by side; ordered by case."""
    others = [run for run in runs if run.name != baseline.name]
    if not others:
        raise InputError(
            "There is nothing to compare the baseline with.",
            remedy="Choose at least one other run.",
        )
    _check(others, COMPARED)
    if {run.benchmark for run in others} != {baseline.benchmark}:
        raise InputError(f"The baseline is a run of {baseline.benchmark}; other runs are not.")
    known = {record.id for record in baseline.directory.records()}
    items = [
        Item(case, run.model, run.prompt, run.name, baseline.name)
        for case, with_it in _by_case(others).items()
        for run in with_it
        if case in known
    ]
    if not items:
        raise InputError("These runs have no case in common with the baseline.")
    return items


def sample(items: Sequence[Item], size: int, *, seed: int = 0) -> list[Item]:
    """At most `size` items by chance, the same ones for the same seed.

    Cases are drawn, and with a case come the items of all runs that have it, so that runs can be
    compared on the same cases; only of the last case some may be missing.
    """
    if size < 1:
        raise InputError("A sample has at least one item.")
    cases = sorted({item.case for item in items})
    random.Random(seed).shuffle(cases)
    place = {case: number for number, case in enumerate(cases)}
    chosen = sorted(range(len(items)), key=lambda number: place[items[number].case])[:size]
    return [items[number] for number in sorted(chosen)]


def _by_case(runs: Sequence[FoundRun]) -> dict[str, list[FoundRun]]:
    found: dict[str, list[FoundRun]] = {}
    for run in runs:
        for record in run.directory.records():
            found.setdefault(record.id, []).append(run)
    return found


def _check(runs: Sequence[FoundRun], benchmarks: frozenset[str]) -> None:
    if not runs:
        raise InputError("Choose at least one run.")
    named: dict[tuple[str, str], str] = {}
    for run in runs:
        if run.benchmark not in benchmarks:
            raise InputError(
                f"{run.name} is a run of {run.benchmark}, which is not labelled this way.",
                remedy=f"Choose runs of {' or '.join(sorted(benchmarks))}.",
            )
        other = named.setdefault((run.model, run.prompt), run.name)
        if other != run.name:
            raise InputError(
                f"{other} and {run.name} are runs of the same model and prompt.",
                remedy="Choose one of them: labels are kept by model and prompt.",
            )
