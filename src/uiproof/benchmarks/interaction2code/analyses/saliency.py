"""Groups of interactions by how much of the page they change (Figs. 10 and 11)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uiproof.benchmarks.interaction2code.analyses.outcomes import Outcome, Profile

EDGES = (0.025, 0.05, 0.1, 0.2)  # the paper's
GROUPS = ("[0, 0.025)", "[0.025, 0.05)", "[0.05, 0.1)", "[0.1, 0.2)", "[0.2, 1]")


def group_of(saliency: float) -> str:
    """The group of a share of the screenshot: area of what changed / area of the screenshot."""
    return GROUPS[bisect_right(EDGES, saliency)]


def grouped(outcomes: Iterable[Outcome], profile: Profile) -> dict[str, list[Outcome]]:
    """Outcomes by group, every group there; those whose saliency is not known are in none."""
    groups: dict[str, list[Outcome]] = {name: [] for name in GROUPS}
    for one in outcomes:
        value = one.saliency.get(profile)
        if value is not None:
            groups[group_of(value)].append(one)
    return groups


def distinct(outcomes: Iterable[Outcome], profile: Profile) -> list[float]:
    """The saliency of each interaction once, however many runs it is in, smallest first."""
    known = {one.id: one.saliency.get(profile) for one in outcomes}
    return sorted(value for value in known.values() if value is not None)


def cumulative(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """The steps of the cumulative distribution: values, and the share that is not above each."""
    ordered = sorted(values)
    return ordered, [(place + 1) / len(ordered) for place in range(len(ordered))]
