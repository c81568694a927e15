"""Several interactions in order on one page that is not loaded again in between.

A path is a way through the graph of more than one interaction: each starts from the screenshot that
the one before leads to. Playing stops at the first interaction that breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from uiproof.benchmarks.interaction2code.graph import Graph, Interaction


@dataclass(frozen=True, slots=True)
class Played:
    """How far a path went."""

    edges: tuple[str, ...]  # the numbers of its interactions
    done: int  # how many of them worked
    stopped: str = ""  # why it ended before its end

    @property
    def steps(self) -> int:
        """How many interactions there are on the path."""
        return len(self.edges)

    def as_json(self) -> dict[str, Any]:
        """As it is written into the details of its last interaction."""
        return {
            "edges": list(self.edges),
            "steps": self.steps,
            "done": self.done,
            "stopped": self.stopped,
        }


def paths(graph: Graph) -> tuple[tuple[Interaction, ...], ...]:
    """The longest paths of a graph that have more than one interaction."""
    ways = {one.id: (*graph.way_to(one), one) for one in graph.interactions}
    on_the_way = {one.id for way in ways.values() for one in way[:-1]}
    return tuple(way for end, way in ways.items() if len(way) > 1 and end not in on_the_way)


def path_to(graph: Graph, interaction: Interaction) -> tuple[Interaction, ...] | None:
    """The path that ends with an interaction; None where it is not the last of one."""
    return next((path for path in paths(graph) if path[-1].id == interaction.id), None)


def play(edges: Iterable[Interaction], act: Callable[[Interaction], str | None]) -> Played:
    """Play interactions in order until one breaks.

    `act` does one of them on a page that stays as it is between them, and returns None, or why it
    does not work.
    """
    path = tuple(edges)
    numbers = tuple(one.id for one in path)
    for done, interaction in enumerate(path):
        problem = act(interaction)
        if problem is not None:
            return Played(numbers, done, f"{interaction.id}: {problem}")
    return Played(numbers, len(path))
