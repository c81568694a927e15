"""The trigger of an interaction: the element of a generated page that it acts on.

Pages are asked to number their interactive elements by id: `interact1`, also written `interact-1`,
`interact_1`, `Interact 01`, `interaction-1`. Without such an id, the element is searched by the
name in the data set's sentence, then by the position of the mark.

The action goes to the element with the id, with these exceptions:

- typing, selecting, dragging and pressing a key in a wrapper go to the first field in it that
  accepts them
- clicking or hovering a wrapper without listeners goes to the control in it, if it is the only one
- an id on a hidden check box or radio button means its label, an id on an option its list
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from uiproof.benchmarks.interaction2code.cases import Form
from uiproof.benchmarks.interaction2code.verifier.constants import ACTIVE, CONTROL_ROLES
from uiproof.benchmarks.interaction2code.verifier.evidence import FoundBy
from uiproof.browser.snapshots import Action, Element, Snapshot
from uiproof.geometry import PixelBox

_NUMBERED = re.compile(r"interact(?:ion|ive)?[-_ .:]*0*(\d+)", re.IGNORECASE)
_STEMS = ("interact", "interaction", "interactive")
_BETWEEN = ("", "-", "_", " ", "--", "__", ".", ":")
_ZEROS = ("", "0", "00")
_CONTROLS = ACTIVE | {"details"}
# Types of inputs in which nothing can be written.
_NOT_FOR_TEXT = frozenset(
    ("button", "checkbox", "color", "file", "hidden", "image", "radio", "range", "reset", "submit")
)
_SAME_PLACE = 0.3  # overlap (intersection over union) from which boxes are at one place
_FAR = 0.3  # of the mean of the page's sides
_ALIKE = 4.0  # how many times larger a control may be that is pointed at in its middle


class _Page(Protocol):
    """A live page that can be searched, such as `uiproof.browser.stage.Stage`."""

    def find(self, selector: str) -> Element | None: ...


@dataclass(frozen=True, slots=True)
class TriggerQuery:
    """The data set's facts about the element that an interaction acts on."""

    number: str  # of the interaction
    action: Action
    form: Form
    trigger: PixelBox | None  # the mark, in CSS pixels of the screenshot
    size: tuple[int, int]  # of that screenshot, in CSS pixels
    name: str | None  # in its sentence
    # The mark of the first interaction of the page, if this is another one; asked for if needed.
    first: Callable[[], PixelBox | None] = lambda: None


@dataclass(frozen=True, slots=True)
class FoundTrigger:
    """An element and how it was found; one without area exists but cannot be seen."""

    element: Element
    by: FoundBy


def find_trigger(page: _Page, snapshot: Snapshot, query: TriggerQuery) -> FoundTrigger | None:
    """Return the element that an interaction acts on, or None where there is nothing like it."""
    by_id = _by_id(page, snapshot, query)
    if by_id is not None:
        return FoundTrigger(acted_on(page, snapshot, by_id, query.action), "id")
    if query.name and (named := _by_name(snapshot, query)):
        return FoundTrigger(acted_on(page, snapshot, named, query.action), "text")
    if query.trigger and (placed := _by_place(snapshot, query)):
        return FoundTrigger(acted_on(page, snapshot, placed, query.action), "position")
    return None


def acted_on(page: _Page, snapshot: Snapshot, element: Element, action: Action) -> Element:
    """Return the element that a person would use when told to act on this one."""
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
    """Find an element again after a reload: by its id, or by tag and position."""
    if element.id:
        same_id = [one for one in snapshot.elements if one.id == element.id]
        if same_id:
            return same_id[0]
    alike = [one for one in snapshot.elements if one.tag == element.tag]
    exact = [one for one in alike if one.box == element.box and one.label == element.label]
    if exact:
        return exact[0]
    overlapping = [(one.box.iou(element.box), one) for one in alike]
    best = max(overlapping, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] >= _SAME_PLACE else None


def _by_id(page: _Page, snapshot: Snapshot, query: TriggerQuery) -> Element | None:
    numbered = [
        (int(match[1]), element)
        for element in snapshot.elements
        if (match := _NUMBERED.fullmatch(element.id.strip()))
    ]
    if not query.number.isdecimal():
        return None
    number = int(query.number)
    for n, element in numbered:
        if n == number:
            return element
    if hidden := page.find(_selector(number)):
        return hidden
    if query.form == "all":
        return None
    # A page for one interaction numbers from 1. Another number may be the right element under a
    # wrong name, or belong to another interaction: its position decides.
    if not numbered:
        return page.find(_selector(1))
    trigger, first = query.trigger, query.first()
    if trigger is not None:
        for _, element in numbered:
            if _is_at(element, trigger, snapshot, query):
                return element
    (n, only), several = numbered[0], len(numbered) > 1
    if several or n != 1 or (first is not None and _is_at(only, first, snapshot, query)):
        return None
    return only


def _by_name(snapshot: Snapshot, query: TriggerQuery) -> Element | None:
    name = _plain(query.name or "")
    if not name:
        return None
    equal = [one for one in snapshot.elements if _plain(one.label) == name]
    # A short label that has the name as whole words is the same label with an icon or a count.
    holds = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    close = [
        one
        for one in snapshot.elements
        if one.label and len(one.label) <= 2 * len(name) + 4 and holds.search(_plain(one.label))
    ]
    found = equal or close
    if not found:
        return None
    # Of nested elements the control, else the innermost: clicking it clicks them all.
    controls = [one for one in found if _is_control(one)]
    if not controls:
        refs = {one.parent for one in found}
        controls = [one for one in found if one.ref not in refs]
    trigger = query.trigger
    if trigger is None:
        return controls[0]
    nearest = min(controls, key=lambda one: _distance(one.box, trigger, snapshot, query))
    # The same words elsewhere are another element: a link of the footer is not the button on top,
    # and of buttons that are all called the same each has its place.
    if len(controls) > 1:
        return nearest if _is_at(nearest, trigger, snapshot, query) else None
    far = _FAR * sum(snapshot.size) / 2
    return nearest if _distance(nearest.box, trigger, snapshot, query) <= far else None


def _by_place(snapshot: Snapshot, query: TriggerQuery) -> Element | None:
    assert query.trigger is not None
    places = _places(query.trigger, snapshot, query)
    scored: list[tuple[bool, float, Element]] = []
    for element in snapshot.elements:
        overlap = max(element.box.iou(place) for place in places)
        control = _is_control(element)
        if not control and not _shows_something(element):
            continue
        if overlap >= _SAME_PLACE or (control and any(_at(element.box, one) for one in places)):
            scored.append((control, overlap, element))
    return max(scored, key=lambda one: one[:2], default=(False, 0.0, None))[2]


def _is_at(element: Element, mark: PixelBox, snapshot: Snapshot, query: TriggerQuery) -> bool:
    """Return whether an element is at the position of a mark."""
    places = _places(mark, snapshot, query)
    return any(element.box.iou(one) >= _SAME_PLACE or _at(element.box, one) for one in places)


def _at(box: PixelBox, place: PixelBox) -> bool:
    """Return whether a box contains the centre of another one of about its size."""
    ratio = box.area / max(place.area, 1)
    return box.contains(*place.centre) and 1 / _ALIKE <= ratio <= _ALIKE


def _places(trigger: PixelBox, snapshot: Snapshot, query: TriggerQuery) -> list[PixelBox]:
    """Return the positions of a mark on another page: in the same pixels, and in proportion."""
    width, height = query.size
    return [trigger, trigger.normalised(width, height).to_pixels(*snapshot.size)]


def _distance(box: PixelBox, trigger: PixelBox, snapshot: Snapshot, query: TriggerQuery) -> float:
    x, y = box.centre
    return min(
        abs(x - place.centre[0]) + abs(y - place.centre[1])
        for place in _places(trigger, snapshot, query)
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
    """Return whether an element shows anything itself, apart from its children."""
    drawn = element.tag in ("img", "svg", "canvas", "video", "iframe")
    coloured = element.background[3] > 0 or "background-image" in element.style
    return drawn or coloured or bool(element.label.strip()) or "border" in element.style


def _is_control(element: Element) -> bool:
    return (
        element.tag in _CONTROLS
        or element.role in CONTROL_ROLES
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
    """Return a label without case and decoration."""
    return " ".join(re.findall(r"[\w$€£%]+", text.casefold()))
