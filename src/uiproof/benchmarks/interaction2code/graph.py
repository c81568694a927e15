"""The webpage interaction graph: screenshots are nodes, interactions are directed edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Action
from uiproof.errors import InputError

# What is acted on, and what an interaction changes, in the words of the paper.
TAG_CATEGORIES: tuple[str, ...] = (
    *("button", "input", "link", "iframe", "textarea", "option", "select", "form", "label"),
    *("detail", "progress", "datalist", "summary", "output", "image", "video", "dialog", "audio"),
    *("template", "text", "area", "span", "table"),
)
VISUAL_CATEGORIES: tuple[str, ...] = (
    *("new component", "text", "color", "new window", "position", "size", "switch", "new page"),
)


@dataclass(frozen=True, slots=True)
class Interaction:
    """An edge: acting on an element leads from one screenshot to another."""

    id: str  # its number in `action.json`, such as `3`
    source: str  # the name of the screenshot before, such as `4`
    target: str  # and of the one after
    action: Action
    sentence: str  # the published `action`: what is done, in English
    description: str = ""  # what it does, in English
    tags: tuple[str, ...] = ()  # of `TAG_CATEGORIES`; data sets may have others
    visuals: tuple[str, ...] = ()  # of `VISUAL_CATEGORIES`; data sets may have others
    trigger: PixelBox | None = None  # in pixels of the screenshot before; None: look at the marks
    effect: PixelBox | None = None  # in pixels of the screenshot after; None: look at the marks
    extra: Mapping[str, Any] = field(default_factory=dict)  # whatever else the file says about it


@dataclass(frozen=True, slots=True)
class Graph:
    """One page of a data set. Nothing is read from its pictures until it is asked for."""

    page: str  # the name of its folder
    folder: Path
    interactions: tuple[Interaction, ...]
    topic: str = ""
    link: str = ""
    framework: str = ""
    viewport: tuple[int, int] | None = None  # our own field: the window it was collected in
    extra: Mapping[str, Any] = field(default_factory=dict)
    # Interactions that are listed but cannot be used, by their numbers, and why.
    broken: Mapping[str, InputError] = field(default_factory=dict)

    def screenshot(self, node: str) -> Path:
        """The picture of a node."""
        return self.folder / f"{node}.png"

    def marked(self, node: str) -> Path:
        """The picture of a node with a red box around the trigger or the effect."""
        return self.folder / f"{node}_mark.png"

    def crop(self, interaction: str) -> Path:
        """The published manual crop of what an interaction changed; need not be there."""
        return self.folder / f"interaction_{interaction}.png"

    def interaction(self, id: str) -> Interaction:
        """The interaction with this number."""
        return next(one for one in self.interactions if one.id == id)

    @property
    def start(self) -> str | None:
        """The screenshot of the page as it is loaded: what the first interaction starts from."""
        return self.interactions[0].source if self.interactions else None

    def way_to(self, interaction: Interaction) -> tuple[Interaction, ...]:
        """The interactions that lead to the screenshot before this one, first to last.

        Empty where that screenshot is where some way begins: it is the page as it is loaded, or a
        state that the data set does not say how to reach.
        """
        into = {one.target: one for one in reversed(self.interactions)}
        into.pop(self.start or "", None)  # a way back to the page as it is loaded leads nowhere new
        way: list[Interaction] = []
        node = interaction.source
        while node in into and into[node] not in way and into[node].id != interaction.id:
            way.append(into[node])
            node = into[node].source
        return tuple(reversed(way))
