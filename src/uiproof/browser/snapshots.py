"""A live page at one moment, element by element, and what changed between two moments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from uiproof.geometry import PixelBox

ActionKind = Literal["click", "hover", "type", "select", "drag", "scroll", "key"]
ACTION_KINDS: tuple[ActionKind, ...] = get_args(ActionKind)


@dataclass(frozen=True, slots=True)
class Action:
    """An act of a person on an element.

    `value` is the text to type, the label of the option to select, the way to drag or scroll as
    `dx,dy` in pixels, or the name of the key to press (`Enter`). None stands for a default.
    """

    kind: ActionKind
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Ink:
    """The place and the colour of the letters of an element's own text."""

    box: PixelBox  # around what is seen of them by layout and style
    color: tuple[int, int, int]
    opacity: float  # 0 where something besides that colour decides how they look
    covered: bool = False  # something opaque is painted over them


@dataclass(frozen=True, slots=True)
class Element:
    """One visible element of a page at one moment."""

    ref: int  # the same element has the same number as long as its page lives
    parent: int | None  # the `ref` of the nearest visible element around it
    tag: str  # lower case
    id: str
    box: PixelBox  # in pixels of the whole page, also while it is scrolled
    text: str  # what is seen of its own text, not that in other elements; value or placeholder
    label: str  # everything that a person reads on it: text inside, value, placeholder, alt, aria
    role: str = ""  # explicit `role` attribute
    type: str = ""  # `type` of an input or a button
    color: tuple[int, int, int] = (0, 0, 0)  # of its text
    background: tuple[int, int, int, float] = (0, 0, 0, 0.0)  # with its opacity
    # border, shadow, font, opacity, cursor …
    style: Mapping[str, str] = field(default_factory=dict)
    state: Mapping[str, str] = field(default_factory=dict)  # value, checked, open, selected, aria-*
    listeners: tuple[str, ...] = ()  # events that it handles itself, inline handlers included
    enabled: bool = True
    # href, target, draggable, contenteditable, tabindex, title, … as written; `scrollable` is `x`,
    # `y` or `xy` where a wheel over it would move what is in it; `icon` is what the source calls
    # something small without letters
    attributes: Mapping[str, str] = field(default_factory=dict)
    ink: Ink | None = None  # of its own text; None without any, and where a style sheet wrote it


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything visible on a page at one moment, in document order."""

    elements: tuple[Element, ...]
    size: tuple[int, int]  # of the whole page
    url: str
    scroll: tuple[int, int] = (0, 0)
    title: str = ""
    focus: int | None = None  # the `ref` of the element that has the focus
    document: int = 0  # goes up when another document takes the place of this one
    cut: bool = False  # whether there were more elements than a snapshot holds

    def inside(self, element: Element) -> list[Element]:
        """Return the visible elements in an element, at any depth, in document order."""
        refs = {element.ref}
        found = []
        for one in self.elements:
            if one.parent in refs:
                refs.add(one.ref)
                found.append(one)
        return found


@dataclass(frozen=True, slots=True)
class Events:
    """The events between two moments, visible or not."""

    mutations: Mapping[str, int] = field(default_factory=dict)  # kind -> how many
    dialogs: tuple[str, ...] = ()  # alert, confirm, prompt: `kind: message`
    windows: tuple[str, ...] = ()  # addresses of windows that the page wanted to open
    navigations: tuple[str, ...] = ()  # addresses that it went to or wanted to go to
    errors: tuple[str, ...] = ()  # uncaught exceptions of its scripts
    downloads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences between two snapshots; elements are as after, gone ones as before."""

    appeared: tuple[Element, ...] = ()  # the outermost ones only
    vanished: tuple[Element, ...] = ()  # the outermost ones only
    moved: tuple[tuple[Element, Element], ...] = ()  # before, after; not those that others pushed
    resized: tuple[tuple[Element, Element], ...] = ()
    recoloured: tuple[tuple[Element, Element], ...] = ()
    retexted: tuple[tuple[Element, Element], ...] = ()  # own text, value or chosen option
    restated: tuple[tuple[Element, Element], ...] = ()  # checked, open, aria-…
    restyled: tuple[tuple[Element, Element], ...] = ()  # only border, shadow, underline, cursor …
    pushed: int = 0  # elements that moved because others appeared, grew or went
    new_page: bool = False  # another document took its place
