"""Which element of a generated page an interaction is about.

Pages are asked to number their interactive elements by id: `interact1`, also written `interact-1`,
`interact_1`, `Interact 01`, `interaction-1`. Where no such id is there, the element is looked for
by what the data set says about it: the name in its sentence, then the place of its mark.

What is acted on is the element with the id, with these exceptions:

- to type, select, drag or press a key in a wrapper goes to the first field in it that takes that
- to click or hover a wrapper that handles nothing itself goes to the one control in it, if there is
  only one
- an id on a check box or radio button that cannot be seen means its label, on an option its list
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from uiproof.benchmarks.interaction2code.cases import Form
from uiproof.benchmarks.interaction2code.verifier.evidence import FoundBy
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Action, Element, Snapshot

_NUMBERED = re.compile(r"interact(?:ion|ive)?[-_ .:]*0*(\d+)", re.IGNORECASE)
_STEMS = ("interact", "interaction", "interactive")
_BETWEEN = ("", "-", "_", " ", "--", "__", ".", ":")
_ZEROS = ("", "0", "00")
_CONTROLS = frozenset({"a", "button", "details", "input", "label", "select", "summary", "textarea"})
_CONTROL_ROLES = frozenset(
    (
        *("button", "checkbox", "combobox", "link", "menuitem", "option", "radio", "slider"),
        *("searchbox", "spinbutton", "switch", "tab", "textbox"),
    )
)
# Types of inputs in which nothing can be written.
_NOT_FOR_TEXT = frozenset(
    ("button", "checkbox", "color", "file", "hidden", "image", "radio", "range", "reset", "submit")
)
_SAME_PLACE = 0.3  # overlap (intersection over union) from which boxes are at one place
_FAR = 0.3  # of the mean of the page's sides
_ALIKE = 4.0  # how many times larger a control may be that is pointed at in its middle


class _Page(Protocol):
    """What is asked of a live page here; `uiproof.browser.stage.Stage` is one."""

    def find(self, selector: str) -> Element | None: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the data set says about the element that an interaction acts on."""

    number: str  # of the interaction
    action: Action
    form: Form
    trigger: PixelBox | None  # the mark, in CSS pixels of the screenshot
    size: tuple[int, int]  # of that screenshot, in CSS pixels
    name: str | None  # in its sentence
    # The mark of the first interaction of the page, if this is another one; asked for if needed.
    first: Callable[[], PixelBox | None] = lambda: None


@dataclass(frozen=True, slots=True)
class Found:
    """An element and how it was found; one without area is there but cannot be seen."""

    element: Element
    by: FoundBy


def find_trigger(page: _Page, snapshot: Snapshot, wanted: Wanted) -> Found | None:
    """The element that an interaction is about, or None where there is nothing like it."""
    by_id = _by_id(page, snapshot, wanted)
    if by_id is not None:
        return Found(acted_on(page, snapshot, by_id, wanted.action), "id")
    if wanted.name and (named := _by_name(snapshot, wanted)):
        return Found(acted_on(page, snapshot, named, wanted.action), "text")
    if wanted.trigger and (placed := _by_place(snapshot, wanted)):
        return Found(acted_on(page, snapshot, placed, wanted.action), "position")
    return None


def acted_on(page: _Page, snapshot: Snapshot, element: Element, action: Action) -> Element:
    """What a person would act on when they are told to act on this element."""
    if element.tag == "option":
        return page.find(f"select:has({_with_id(element.id)})") or element
    if element.tag == "input" and element.type in ("checkbox", "radio") and not _seen(element):
        around = page.find(f"label:has({_with_id(element.id)})")
        label = around or page.find(f"label[for={_quoted(element.id)}]")
        return label if label is not None and _seen(label) else element
    takes = _TAKES.get(action.kind)
    inside = [one for one in snapshot.inside(element) if _seen(one)]
    if takes is not None:
        if takes(element):
            return element
        return next((one for one in inside if takes(one)), element)
    if _is_control(element):
        return element
    outermost: list[Element] = []
    covered: set[int | None] = set()
    for one in inside:
        # A label and its field, or an icon in a button, are one control.
        if one.parent not in covered and _is_control(one):
            outermost.append(one)
            covered.add(one.ref)
        elif one.parent in covered:
            covered.add(one.ref)
    return outermost[0] if len(outermost) == 1 else element


def same_element(snapshot: Snapshot, element: Element) -> Element | None:
    """An element of one load of a page in another load of it: by its id, or its tag and place."""
    if element.id:
        same_id = [one for one in snapshot.elements if one.id == element.id]
        if same_id:
            return same_id[0]
    alike = [one for one in snapshot.elements if one.tag == element.tag]
    exact = [one for one in alike if one.box == element.box and one.label == element.label]
    if exact:
        return exact[0]
    overlapping = [(iou(one.box, element.box), one) for one in alike]
    best = max(overlapping, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] >= _SAME_PLACE else None


def iou(a: PixelBox, b: PixelBox) -> float:
    """What two boxes cover together, as a share of what they cover at all."""
    across = min(a.right, b.right) - max(a.left, b.left)
    down = min(a.bottom, b.bottom) - max(a.top, b.top)
    if across <= 0 or down <= 0:
        return 0.0
    shared = across * down
    return shared / (a.width * a.height + b.width * b.height - shared)


def centre(box: PixelBox) -> tuple[float, float]:
    """The middle of a box."""
    return (box.left + box.right) / 2, (box.top + box.bottom) / 2


def _by_id(page: _Page, snapshot: Snapshot, wanted: Wanted) -> Element | None:
    numbered = [
        (int(match[1]), element)
        for element in snapshot.elements
        if (match := _NUMBERED.fullmatch(element.id.strip()))
    ]
    if not wanted.number.isdecimal():
        return None
    number = int(wanted.number)
    for n, element in numbered:
        if n == number:
            return element
    if hidden := page.find(_selector(number)):
        return hidden
    if wanted.form == "all":
        return None
    # A page for one interaction numbers from 1. Where it has another number, that may be what is
    # wanted under a wrong name, or what belongs to another interaction: the place tells.
    if not numbered:
        return page.find(_selector(1))
    trigger, first = wanted.trigger, wanted.first()
    if trigger is not None:
        for _, element in numbered:
            if _is_at(element, trigger, snapshot, wanted):
                return element
    (n, only), several = numbered[0], len(numbered) > 1
    if several or n != 1 or (first is not None and _is_at(only, first, snapshot, wanted)):
        return None
    return only


def _by_name(snapshot: Snapshot, wanted: Wanted) -> Element | None:
    name = _plain(wanted.name or "")
    if not name:
        return None
    equal = [one for one in snapshot.elements if _plain(one.label) == name]
    # A short label that holds the name as whole words is the same label with an icon or a count.
    holds = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    close = [
        one
        for one in snapshot.elements
        if one.label and len(one.label) <= 2 * len(name) + 4 and holds.search(_plain(one.label))
    ]
    found = equal or close
    if not found:
        return None
    # Of elements in each other the control, else the innermost: clicking it clicks them all.
    controls = [one for one in found if _is_control(one)]
    if not controls:
        refs = {one.parent for one in found}
        controls = [one for one in found if one.ref not in refs]
    trigger = wanted.trigger
    if trigger is None:
        return controls[0]
    nearest = min(controls, key=lambda one: _distance(one.box, trigger, snapshot, wanted))
    # The same words elsewhere are another element: a link of the footer is not the button on top,
    # and of buttons that are all called the same each has its place.
    if len(controls) > 1:
        return nearest if _is_at(nearest, trigger, snapshot, wanted) else None
    far = _FAR * sum(snapshot.size) / 2
    return nearest if _distance(nearest.box, trigger, snapshot, wanted) <= far else None


def _by_place(snapshot: Snapshot, wanted: Wanted) -> Element | None:
    assert wanted.trigger is not None
    places = _places(wanted.trigger, snapshot, wanted)
    scored: list[tuple[bool, float, Element]] = []
    for element in snapshot.elements:
        overlap = max(iou(element.box, place) for place in places)
        control = _is_control(element)
        if not control and not _shows_something(element):
            continue
        if overlap >= _SAME_PLACE or (control and any(_at(element.box, one) for one in places)):
            scored.append((control, overlap, element))
    return max(scored, key=lambda one: one[:2], default=(False, 0.0, None))[2]


def _is_at(element: Element, mark: PixelBox, snapshot: Snapshot, wanted: Wanted) -> bool:
    """Whether an element stands where a mark is."""
    places = _places(mark, snapshot, wanted)
    return any(iou(element.box, one) >= _SAME_PLACE or _at(element.box, one) for one in places)


def _at(box: PixelBox, place: PixelBox) -> bool:
    """Whether a box holds the middle of a place and is about as large."""
    x, y = centre(place)
    inside = box.left <= x < box.right and box.top <= y < box.bottom
    ratio = box.width * box.height / max(place.width * place.height, 1)
    return inside and 1 / _ALIKE <= ratio <= _ALIKE


def _places(trigger: PixelBox, snapshot: Snapshot, wanted: Wanted) -> list[PixelBox]:
    """Where a mark would be on another page: at the same pixels, or at the same share of it."""
    width, height = wanted.size
    return [trigger, trigger.normalised(width, height).to_pixels(*snapshot.size)]


def _distance(box: PixelBox, trigger: PixelBox, snapshot: Snapshot, wanted: Wanted) -> float:
    x, y = centre(box)
    return min(
        abs(x - centre(place)[0]) + abs(y - centre(place)[1])
        for place in _places(trigger, snapshot, wanted)
    )


def _selector(number: int) -> str:
    forms = (
        f"[id={_quoted(f'{stem}{between}{zeros}{number}')} i]"
        for stem in _STEMS
        for between in _BETWEEN
        for zeros in _ZEROS
    )
    return ", ".join(forms)


def _with_id(id: str) -> str:
    return f"[id={_quoted(id)}]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\a ")
    return f'"{escaped}"'


def _seen(element: Element) -> bool:
    return element.box.width > 0 and element.box.height > 0


def _shows_something(element: Element) -> bool:
    """Whether there is anything of an element to see, apart from what is in it."""
    drawn = element.tag in ("img", "svg", "canvas", "video", "iframe")
    coloured = element.background[3] > 0 or "background-image" in element.style
    return drawn or coloured or bool(element.label.strip()) or "border" in element.style


def _is_control(element: Element) -> bool:
    return (
        element.tag in _CONTROLS
        or element.role in _CONTROL_ROLES
        or bool(element.listeners)
        or element.style.get("cursor") == "pointer"
    )


def _takes_text(element: Element) -> bool:
    return (
        (element.tag == "input" and element.type not in _NOT_FOR_TEXT)
        or element.tag == "textarea"
        or element.role in ("textbox", "searchbox")
        or element.attributes.get("contenteditable", "false") != "false"
    )


def _takes_choice(element: Element) -> bool:
    return element.tag == "select" or element.role in ("combobox", "listbox", "radiogroup")


def _takes_drag(element: Element) -> bool:
    return (
        (element.tag == "input" and element.type == "range")
        or element.role == "slider"
        or bool({"mousedown", "pointerdown", "touchstart", "dragstart"} & set(element.listeners))
    )


def _takes_keys(element: Element) -> bool:
    return _takes_text(element) or element.tag in ("select", "button", "input", "a", "summary")


_TAKES: dict[str, Callable[[Element], bool]] = {
    "type": _takes_text,
    "select": _takes_choice,
    "drag": _takes_drag,
    "key": _takes_keys,
}


def _plain(text: str) -> str:
    """A label without case, spaces at its ends and what only decorates it."""
    words: Iterable[str] = re.findall(r"[\w$€£%]+", text.casefold())
    return " ".join(words)
