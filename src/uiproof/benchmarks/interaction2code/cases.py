"""Interaction2Code data as cases: one for each interaction, named `page/interaction`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from uiproof.benchmarks.interaction2code import layout
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.browser.source import PageSource
from uiproof.engine.types import BrokenCase, Case
from uiproof.errors import InputError

# Whether a page was made for one interaction (`interact1` is that one) or for all of its page.
Form = Literal["single", "all"]


@dataclass(frozen=True, slots=True)
class Question:
    """What a method sees: the screenshots and descriptions of a page, and which interaction."""

    graph: Graph
    interaction: Interaction


@dataclass(frozen=True, slots=True)
class Truth:
    """What the judge compares with: the same pictures, with their marks."""

    graph: Graph
    interaction: Interaction


@dataclass(frozen=True, slots=True)
class Answer:
    """A generated page."""

    page: PageSource
    form: Form


InteractionCase = Case[Question, Truth]


def recognises(path: Path) -> bool:
    """Whether a folder is a page with its `action.json`, or holds such pages."""
    return layout.recognises(path)


def cases(path: Path) -> Iterable[InteractionCase | BrokenCase]:
    """The interactions of all pages below a folder, in natural order.

    What cannot be used comes as a `BrokenCase`: an interaction whose entry or screenshots are
    wrong, or a page whose `action.json` cannot be read, under the name of the page.
    """
    found: list[InteractionCase | BrokenCase] = []
    for page in layout.read_dataset(path.absolute()):
        if isinstance(page, layout.BrokenPage):
            found.append(BrokenCase(page.page, page.error))
        else:
            found += _cases_of(page)
    return found


def _cases_of(graph: Graph) -> Iterable[InteractionCase | BrokenCase]:
    for interaction in graph.interactions:
        case_id = f"{graph.page}/{interaction.id}"
        try:
            layout.check_pictures(graph, interaction)
        except InputError as error:
            yield BrokenCase(case_id, error)
        else:
            yield Case(case_id, Question(graph, interaction), Truth(graph, interaction))
    for interaction_id, problem in graph.broken.items():
        yield BrokenCase(f"{graph.page}/{interaction_id}", problem)
