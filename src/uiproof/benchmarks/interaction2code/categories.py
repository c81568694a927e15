"""The paper's categories of elements and of visible changes, by rule.

`collect` annotates pages with them; the verifier describes generated pages with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from uiproof.benchmarks.interaction2code.graph import TAG_CATEGORIES, VISUAL_CATEGORIES
from uiproof.benchmarks.interaction2code.visible import (
    COLOUR_STEP,
    MOVE_STEP,
    colour_step,
    font_size,
    grew,
    has_edges,
    kept_an_end,
    moved_house,
    shares_place,
    visible_recolouring,
    widened,
)
from uiproof.browser.snapshots import Changes, Element, Events, Snapshot
from uiproof.geometry import PixelBox

_BUTTON_TYPES = frozenset({"button", "submit", "reset", "image"})
_BY_TAG = {
    **dict.fromkeys(("iframe", "frame"), "iframe"),
    **dict.fromkeys(("textarea", "option", "select", "form", "label", "datalist"), ""),
    **dict.fromkeys(("summary", "output", "video", "audio", "template", "dialog", "button"), ""),
    **dict.fromkeys(("progress", "meter"), "progress"),
    **dict.fromkeys(("img", "svg", "canvas", "picture", "map"), "image"),
    **dict.fromkeys(("table", "tr", "td", "th", "thead", "tbody", "tfoot"), "table"),
    **dict.fromkeys(("p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "dt", "dd", "pre"), "text"),
    **dict.fromkeys(("blockquote", "figcaption", "caption", "legend", "address"), "text"),
    **dict.fromkeys(("span", "b", "i", "em", "strong", "small", "mark", "code", "kbd"), "span"),
    **dict.fromkeys(("abbr", "u", "s", "sub", "sup", "time", "cite", "q", "dfn", "ins"), "span"),
    "a": "link",
    "details": "detail",
    "area": "area",
}
_BY_ROLE = {
    **dict.fromkeys(("button", "tab", "menuitem", "switch", "menuitemradio"), "button"),
    **dict.fromkeys(("checkbox", "radio", "textbox", "searchbox", "spinbutton"), "input"),
    **dict.fromkeys(("slider", "progressbar", "scrollbar", "meter"), "progress"),
    **dict.fromkeys(("combobox", "listbox"), "select"),
    **dict.fromkeys(("table", "grid", "row", "cell", "gridcell"), "table"),
    **dict.fromkeys(("dialog", "alertdialog"), "dialog"),
    **dict.fromkeys(("img", "image"), "image"),
    **dict.fromkeys(("menuitemcheckbox",), "button"),
    "option": "option",
    "link": "link",
    "form": "form",
}
# What a person means when they point at something inside it.
_HOLDERS = frozenset({"button", "link", "summary", "label", "select", "option", "detail"})
_HOLDERS_REACH = 4  # ancestors; beyond that it is the page's frame, not a control
# States that change when a switch is turned; others merely open something.
_ARIA_STATES = ("checked", "pressed", "selected", "current")
_SWITCHING = ("checked", "selected", *(f"aria-{name}" for name in _ARIA_STATES))
_CONTROLS = frozenset({"button", "input", "textarea", "select", "link", "label", "progress"})
FIELDS = frozenset({"input", "textarea", "select"})
_CHOICES = frozenset({"menu", "listbox", "option", "menuitem", "tree", "grid"})
_FLOATING = frozenset({"fixed", "absolute"})
_WINDOW_AREA = 0.06  # of what the viewport shows: a menu is smaller, a pop-up window larger
_SENTENCE = 60  # characters: entries of menus are shorter


def category_of(element: Element) -> str:
    """Return the category that fits an element best, its explicit role before its tag."""
    if by_role := _BY_ROLE.get(element.role):
        return by_role
    if element.tag == "input":
        return "button" if element.type in _BUTTON_TYPES else "input"
    if element.tag in _BY_TAG:
        return _BY_TAG[element.tag] or element.tag
    return "area"


def tag_categories(chain: Sequence[Element], content: Iterable[Element] = ()) -> tuple[str, ...]:
    """Return the tag categories of what is acted on, in the paper's order.

    `chain` is the element and then the elements around it, from the inside out; `content` are the
    elements in it. An icon in a button is a button and an image; a link that looks like a button is
    a link and a button; a label around a check box is a label and an input.
    """
    if not chain:
        return ()
    first = chain[0]
    found = {category_of(first)}
    if "summary" in found:
        found.add("detail")
    if "option" in found:
        found.add("select")
    if "link" in found and _looks_like_a_button(first):
        found.add("button")
    if not found & _HOLDERS and not found & {"input", "textarea", "progress"}:
        for around in chain[1 : 1 + _HOLDERS_REACH]:
            category = category_of(around)
            if category in _HOLDERS and around.box.height <= 4 * max(first.box.height, 16):
                found.add(category)
                break
    held = {category_of(one) for one in content}
    if "label" in found:
        # A label that shows no field has one that is hidden: the box that it ticks is drawn.
        found |= held & FIELDS or {"input"}
    if "area" in found or first.label == "" or len(held) == 1:
        found |= held & {"image", "video"}
    return tuple(name for name in TAG_CATEGORIES if name in found)


def visual_categories(
    changes: Changes,
    events: Events,
    *,
    before: Snapshot,
    after: Snapshot,
    trigger: Element | None = None,
) -> tuple[str, ...]:
    """Return the visible changes of an interaction, in the paper's order.

    - new page: another document, or the wish to go to one
    - new window: a dialog, a window, or something that lies over the page like one
    - new component: something else that was not there; also what a new window brings with it
    - switch: a control changes its state, or something takes the place of something else
    - text, color, position, size: of what was there before

    `trigger` is what was acted on: that a field shows what was typed, or a list what was selected,
    is no change of text.
    """
    if changes.new_page or events.navigations:
        return ("new page",)
    found: set[str] = set()
    if not events.mutations.get("added"):
        changes, toggled = _without_toggled(changes, before)
        if toggled:
            found.add("switch")
    fresh, swapped = _without_swaps(changes)
    if any(is_window(one, after) for one in fresh) or events.windows or events.dialogs:
        found.add("new window")
    if fresh:
        found.add("new component")
    restated = ((old, new) for old, new in changes.restated if new.tag != "select")
    switched = any(
        old.state.get(k) != new.state.get(k) for old, new in restated for k in _SWITCHING
    )
    if switched or (trigger is not None and _hides_its_box(trigger, before)):
        found.add("switch")
    messages = [one for one in fresh if _is_message(one, after)]
    retexted = any(not own_value_changed(pair, trigger) for pair in changes.retexted)
    if retexted or (messages and messages == fresh):
        found.add("text")
    if visible_recolouring(changes, before, after):
        found.add("color")
    if _moved(changes) or after.scroll != before.scroll or moved_house(before, after):
        found.add("position")
    if _resized(changes) or widened(before, after):
        found.add("size")
    for old, new in swapped:
        is_remade = bool(events.mutations.get("removed"))
        found |= _remade(old, new, before, after) if is_remade else {"switch"}
    if changes.vanished and not fresh and not swapped:
        found |= {"position"} if changes.pushed else set() if found else {"switch"}
    return tuple(name for name in VISUAL_CATEGORIES if name in found)


def is_window(element: Element, after: Snapshot) -> bool:
    """Return whether an element lies over the page: a dialog, or a box before a veil."""
    if element.tag == "dialog" or element.role in {"dialog", "alertdialog"}:
        return True
    if any(one.role in {"dialog", "alertdialog"} for one in after.inside(element)):
        return True
    if element.style.get("position") not in _FLOATING:
        return False
    width, height = after.size
    covers = element.box.width >= 0.9 * width and element.box.height >= 0.6 * min(height, 800)
    if covers and any(_is_in_the_middle(one.box, width) for one in after.inside(element)):
        return True
    big = element.box.area >= _WINDOW_AREA * width * min(height, 800)
    fixed = element.style.get("position") == "fixed"
    return fixed and big and _is_in_the_middle(element.box, width)


def window_box(element: Element, after: Snapshot) -> PixelBox:
    """Return the box of what appeared; of a veil over the page, the window before it."""
    if element.box.width < 0.9 * after.size[0]:
        return element.box
    within = (one.box for one in after.inside(element))
    return next((box for box in within if _is_in_the_middle(box, after.size[0])), element.box)


def own_value_changed(pair: tuple[Element, Element], trigger: Element | None) -> bool:
    """Return whether a field merely shows what was typed or chosen in it."""
    if trigger is None:
        return False
    is_it = pair[1].ref in (trigger.ref, trigger.parent)
    return is_it and (pair[1].tag in FIELDS or "contenteditable" in pair[1].attributes)


def _looks_like_a_button(link: Element) -> bool:
    filled = link.background[3] > 0.2 or (
        "border" in link.style and "/" not in link.style["border"]
    )
    return filled and link.box.height >= 24


def _without_swaps(changes: Changes) -> tuple[list[Element], list[tuple[Element, Element]]]:
    """Return what appeared where nothing was, and what replaced something that went."""
    left = list(changes.vanished)
    fresh, swapped = [], []
    for one in changes.appeared:
        place = next((old for old in left if shares_place(one.box, old.box)), None)
        if place is None:
            fresh.append(one)
        else:
            left.remove(place)
            swapped.append((place, one))
    return fresh, swapped


def _without_toggled(changes: Changes, before: Snapshot) -> tuple[Changes, bool]:
    """Leave out elements that were in the document before and took turns to be seen.

    Only for a page to which nothing was added. Such elements look like those whose place they
    take, so that they may have been taken for the same.
    """
    known = {one.ref for one in before.elements}

    same: dict[str, Any] = {
        name: tuple((old, new) for old, new in getattr(changes, name) if old.ref == new.ref)
        for name in ("moved", "resized", "recoloured", "retexted", "restated", "restyled")
    }
    if all(len(same[name]) == len(getattr(changes, name)) for name in ("retexted", "resized")):
        return changes, False
    appeared = (one for one in changes.appeared if one.parent is None or one.parent in known)
    return replace(changes, appeared=tuple(appeared), **same), True


def _remade(old: Element, new: Element, before: Snapshot, after: Snapshot) -> set[str]:
    """Return how something differs from what a script put in its place."""
    if old.tag != new.tag:
        return {"switch"}
    found = set()
    if old.label != new.label:
        found.add("text")
    if grew(old.box.width, new.box.width) or grew(old.box.height, new.box.height):
        found.add("size")
    if colour_step(old, new, before, after) >= COLOUR_STEP:
        found.add("color")
    return found


def _hides_its_box(trigger: Element, before: Snapshot) -> bool:
    """Return whether a label has no field: the box that it ticks is drawn otherwise."""
    held = {category_of(one) for one in before.inside(trigger)}
    named = trigger.attributes.get("for")
    elsewhere = named and any(one.id == named for one in before.elements)
    return trigger.tag == "label" and not held & FIELDS and not elsewhere


def _moved(changes: Changes) -> bool:
    written = {new.ref for _, new in changes.retexted}
    return any(
        abs(before.box.left - after.box.left) >= MOVE_STEP
        or abs(before.box.top - after.box.top) >= MOVE_STEP
        for before, after in changes.moved
        if after.ref not in written or not kept_an_end(before.box, after.box)
    )


def _resized(changes: Changes) -> bool:
    """Return whether something visible changed its size."""
    pairs = (*changes.resized, *changes.restyled)
    if any(font_size(old) != font_size(new) for old, new in pairs if new.text):
        return True
    return any(
        grew(old.box.width, new.box.width) or grew(old.box.height, new.box.height)
        for old, new in changes.resized
        if new.tag not in {"html", "body"} and has_edges(new)
    )


def _is_message(element: Element, after: Snapshot) -> bool:
    """Return whether what appeared is text to be read: no window, menu or control."""
    if not element.label or is_window(element, after) or element.role in _CHOICES:
        return False
    whole = (element, *after.inside(element))
    if any(category_of(one) in _CONTROLS or one.role in _CHOICES for one in whole):
        return False
    texts = [one.text for one in whole if one.text]
    is_list = element.tag in {"ul", "ol", "menu"} or len(texts) > 2
    return not is_list or max(map(len, texts), default=0) >= _SENTENCE


def _is_in_the_middle(box: PixelBox, width: int) -> bool:
    centre = (box.left + box.right) / 2
    return abs(centre - width / 2) <= 0.12 * width and 120 <= box.width <= 0.85 * width
