"""Actions on a live page, snapshots of its elements, and the data types of their changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from uiproof.geometry import PixelBox

ActionKind = Literal["click", "hover", "type", "select", "drag", "scroll", "key"]
ACTION_KINDS: tuple[ActionKind, ...] = get_args(ActionKind)


@dataclass(frozen=True, slots=True)
class Action:
    """An action on an element.

    `value` is the text to type, the label of the option to select, the distance to drag or scroll
    as `dx,dy` in pixels, or the key to press (`Enter`). None is a default for the kind.
    """

    kind: ActionKind
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Ink:
    """The position and the colour of the glyphs of an element's own text."""

    box: PixelBox  # around the visible glyphs, by layout and style
    color: tuple[int, int, int]
    opacity: float  # 0 if something else than the colour decides how they look
    covered: bool = False  # whether something opaque is painted over them


@dataclass(frozen=True, slots=True)
class Element:
    """A visible element of a page."""

    ref: int  # identifies the element as long as its page lives
    parent: int | None  # `ref` of the nearest visible ancestor
    tag: str  # lower case
    id: str
    box: PixelBox  # in page coordinates, also while the page is scrolled
    text: str  # its visible own text, without that of children; or value or placeholder
    label: str  # everything a person reads on it: inner text, value, placeholder, alt, aria-label
    role: str = ""  # explicit `role` attribute
    type: str = ""  # `type` of an input or a button
    color: tuple[int, int, int] = (0, 0, 0)  # of its text
    background: tuple[int, int, int, float] = (0, 0, 0, 0.0)  # with opacity
    # border, shadow, font, opacity, cursor …
    style: Mapping[str, str] = field(default_factory=dict)
    state: Mapping[str, str] = field(default_factory=dict)  # value, checked, open, selected, aria-*
    listeners: tuple[str, ...] = ()  # events that it handles itself, including inline handlers
    enabled: bool = True
    # href, target, draggable, contenteditable, tabindex, title, … as written; `scrollable` is `x`,
    # `y` or `xy` if the wheel scrolls its content; `icon` is the source's name for a small element
    # without text
    attributes: Mapping[str, str] = field(default_factory=dict)
    ink: Ink | None = None  # of its own text; None without text, or if a style sheet generates it


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The visible elements of a page at one moment, in document order."""

    elements: tuple[Element, ...]
    size: tuple[int, int]  # of the whole page
    url: str
    scroll: tuple[int, int] = (0, 0)
    title: str = ""
    focus: int | None = None  # `ref` of the focused element
    document: int = 0  # incremented when the document is replaced
    cut: bool = False  # whether the page has more elements than a snapshot holds

    def inside(self, element: Element) -> list[Element]:
        """Return the visible descendants of an element in document order."""
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

    mutations: Mapping[str, int] = field(default_factory=dict)  # number by kind
    dialogs: tuple[str, ...] = ()  # alert, confirm, prompt: `kind: message`
    windows: tuple[str, ...] = ()  # URLs of windows that the page tried to open
    navigations: tuple[str, ...] = ()  # URLs that it navigated to, or tried to
    errors: tuple[str, ...] = ()  # uncaught exceptions of its scripts
    downloads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences between two snapshots; pairs of elements are before and after."""

    appeared: tuple[Element, ...] = ()  # outermost elements only
    vanished: tuple[Element, ...] = ()  # outermost elements only
    moved: tuple[tuple[Element, Element], ...] = ()  # without elements pushed by others
    resized: tuple[tuple[Element, Element], ...] = ()
    recoloured: tuple[tuple[Element, Element], ...] = ()
    retexted: tuple[tuple[Element, Element], ...] = ()  # own text, value or selected option
    restated: tuple[tuple[Element, Element], ...] = ()  # checked, open, aria-…
    restyled: tuple[tuple[Element, Element], ...] = ()  # only border, shadow, underline, cursor …
    pushed: int = 0  # number of elements that moved because others appeared, grew or vanished
    new_page: bool = False  # whether the document was replaced
