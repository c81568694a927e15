"""Interaction2Code data as cases: one for each interaction, named `page/interaction`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from uiproof.benchmark import BrokenCase, Case
from uiproof.benchmarks.interaction2code.graph import (
    BrokenPage,
    Graph,
    Interaction,
    check_pictures,
    read_dataset,
)
from uiproof.browser.snapshots import Action
from uiproof.browser.source import PageSource
from uiproof.errors import InputError
from uiproof.geometry import PixelBox

# Whether a page was made for one interaction (`interact1` is that one) or for all of its page.
Form = Literal["single", "all"]


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One interaction as a method sees it: pictures, marks and words."""

    before: Path
    after: Path
    marked_before: Path  # with a red frame around what is acted on; need not exist
    marked_after: Path  # with a red frame around what changes; need not exist
    trigger: PixelBox | None  # in pixels of `before`; None: look at the marks
    effect: PixelBox | None  # in pixels of `after`; None: look at the marks
    action: Action
    sentence: str  # the action in English, after those of the steps before it
    description: str  # the effect in English
    tags: tuple[str, ...]  # categories of the element
    follows: int | None  # the index of the interaction that leads to `before`


@dataclass(frozen=True, slots=True)
class Question:
    """The interactions of a page, and which one is asked for. It holds no source of the page."""

    page: str
    interactions: tuple[Demonstration, ...]
    index: int

    @property
    def interaction(self) -> Demonstration:
        """Return the interaction that is asked for."""
        return self.interactions[self.index]


@dataclass(frozen=True, slots=True)
class Truth:
    """An interaction of a page's graph, for the judge to compare with."""

    graph: Graph
    interaction: Interaction


@dataclass(frozen=True, slots=True)
class Answer:
    """A generated page."""

    page: PageSource
    form: Form


InteractionCase = Case[Question, Truth]


def cases(path: Path) -> Iterable[InteractionCase | BrokenCase]:
    """Return the interactions of all pages below a folder, in natural order.

    An interaction whose entry or screenshots cannot be used is a `BrokenCase`, and so is a page
    whose `action.json` cannot be read, under the name of the page.
    """
    found: list[InteractionCase | BrokenCase] = []
    for page in read_dataset(path.absolute()):
        if isinstance(page, BrokenPage):
            found.append(BrokenCase(page.page, page.error))
            continue
        for interaction in page.interactions:
            try:
                check_pictures(page, interaction)
                found.append(case_of(page, interaction))
            except InputError as error:
                found.append(BrokenCase(f"{page.page}/{interaction.id}", error))
        found += [BrokenCase(f"{page.page}/{id}", error) for id, error in page.broken.items()]
    return found


def case_of(graph: Graph, interaction: Interaction) -> InteractionCase:
    """Return the case of one interaction."""
    return Case(
        f"{graph.page}/{interaction.id}",
        question_of(graph, interaction),
        Truth(graph, interaction),
    )


def question_of(graph: Graph, interaction: Interaction) -> Question:
    """Return what a method may see of an interaction and its page."""
    shown = tuple(_demonstration(graph, one) for one in graph.interactions)
    return Question(graph.page, shown, graph.interactions.index(interaction))


def _demonstration(graph: Graph, one: Interaction) -> Demonstration:
    way = graph.way_to(one)
    return Demonstration(
        before=graph.screenshot(one.source),
        after=graph.screenshot(one.target),
        marked_before=graph.marked(one.source),
        marked_after=graph.marked(one.target),
        trigger=one.trigger,
        effect=one.effect,
        action=one.action,
        sentence=", then ".join([*(step.sentence for step in one.steps), one.sentence]),
        description=one.description,
        tags=one.tags,
        follows=graph.interactions.index(way[-1]) if way else None,
    )
