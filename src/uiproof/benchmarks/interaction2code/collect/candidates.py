"""What could be done to a page: which actions fit which of its elements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from uiproof.benchmarks.interaction2code.collect.tree import Tree
from uiproof.browser.snapshots import Action, Element, Snapshot

_CLICKS = frozenset({"click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick"})
HOVERS = frozenset(
    {"mouseover", "mouseenter", "mousemove", "pointerover", "pointerenter", "pointermove"}
)
_GRABS = frozenset({"pointerdown", "mousedown", "dragstart", "touchstart"})
_KEYS = frozenset({"keydown", "keyup", "keypress"})
_CLICKABLE_TAGS = frozenset({"a", "button", "summary", "label", "area"})
_CLICKABLE_ROLES = frozenset(
    {
        *("button", "link", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option"),
        *("switch", "checkbox", "radio", "treeitem", "combobox"),
    }
)
_CLICKABLE_INPUTS = frozenset({"button", "submit", "reset", "image", "checkbox", "radio"})
_TYPED_INPUTS = frozenset({"text", "search", "email", "password", "url", "tel", "number", ""})
_ENTRIES = frozenset({"h3", "h4", "li", "td", "a", "dt", "b"})
_FRAMES = frozenset({"html", "body"})
_NAMED_KEY = re.compile(
    r"""["'`](Enter|Escape|Tab|Space|Backspace|Delete|Home|End|Page(?:Up|Down)"""
    r"""|Arrow(?:Up|Down|Left|Right)|F\d{1,2}|[/?a-z0-9+\- ])["'`]"""
)
_LEGACY_KEYS = {"13": "Enter", "27": "Escape", "37": "ArrowLeft", "38": "ArrowUp"} | {
    "39": "ArrowRight",
    "40": "ArrowDown",
}
_USUAL_KEYS = ("Enter", "ArrowDown", "ArrowRight", "Escape")
_MOST_KEYS = 6
_MOST_DELEGATED = 60  # elements tried only because something above them listens
_SMALLEST = 6  # pixels across
_FRAME_SHARE = 0.25  # of the page
_CONTROL_AREA = 50_000  # square pixels: what can be clicked and is larger may hold other controls


@dataclass(frozen=True, slots=True)
class Candidate:
    """An action that may do something to an element."""

    element: Element
    action: Action
    sure: bool = True  # whether the element itself says that it can be acted on


def candidates(
    snapshot: Snapshot, *, scripts: str = "", hovered: Iterable[int] = ()
) -> list[Candidate]:
    """All actions that fit the elements of a page, in document order.

    `scripts` is everything that the page says in code, in which names of keys are looked for;
    `hovered` are the numbers of elements that a style sheet has a `:hover` rule for.
    """
    tree = Tree(snapshot)
    keys = keys_in(scripts)
    word = common_word(snapshot)
    css = frozenset(hovered)
    heard = _heard_above(tree)
    found: list[Candidate] = []
    delegated = 0
    for element in snapshot.elements:
        if not element.enabled or min(element.box.width, element.box.height) < _SMALLEST:
            continue
        if element.tag == "html" or (element.tag == "body" and not element.listeners):
            continue
        above = heard[element.ref]
        own = frozenset(element.listeners)
        sure = is_clickable(element, tree)
        guess = not sure and bool(above & (_CLICKS | HOVERS)) and _may_be_meant(element, tree)
        if guess:
            delegated += 1
            guess = delegated <= _MOST_DELEGATED
        clicked = sure or (guess and bool(above & _CLICKS))
        clicked = clicked and not _is_stage_wide(element, snapshot)
        hears = element.ref in css or bool(own & HOVERS)
        if not clicked and (hears or (guess and above & HOVERS)) and element.tag not in _FRAMES:
            found.append(Candidate(element, Action("hover"), hears))
        if element.tag == "select":
            found.append(Candidate(element, Action("select")))
        elif is_typed_into(element):
            found += [Candidate(element, Action("type", text)) for text in texts(element, word)]
        elif (element.tag == "input" and element.type == "range") or element.role == "slider":
            found.append(Candidate(element, Action("drag")))
        elif clicked:
            found.append(Candidate(element, Action("click"), sure))
        if own & _GRABS or element.attributes.get("draggable") == "true":
            found += [Candidate(element, Action("drag", way)) for way in _ways(element, tree)]
        if (own | above) & _KEYS and _takes_keys(element):
            found += [Candidate(element, Action("key", key)) for key in keys]
        if "scrollable" in element.attributes and element.tag not in _FRAMES:
            found.append(Candidate(element, Action("scroll", _scroll(element))))
    return found + _page_candidates(snapshot, heard, keys)


def keys_in(scripts: str) -> tuple[str, ...]:
    """The keys that a page's code names; a few usual ones where it names none."""
    if not re.search(r"keydown|keyup|keypress", scripts):
        return ()
    named = Counter(
        "Space" if key == " " else key
        for key in _NAMED_KEY.findall(scripts)
        if len(key) > 1 or re.search(rf"key\w*\s*===?\s*['\"`]{re.escape(key)}", scripts)
    )
    for code in re.findall(r"(?:keyCode|which)\s*={2,3}\s*(\d+)", scripts):
        if code in _LEGACY_KEYS:
            named[_LEGACY_KEYS[code]] += 1
    return tuple(key for key, _ in named.most_common(_MOST_KEYS)) or _USUAL_KEYS


def common_word(snapshot: Snapshot) -> str:
    """A word that a person could look for on this page: the last one of some entry on it."""
    entries = [one.text for one in snapshot.elements if one.tag in _ENTRIES and one.text]
    alone = [text for text in entries if entries.count(text) == 1]
    words = [found[-1] for text in alone if (found := re.findall(r"[^\W\d_]{3,12}", text.lower()))]
    return words[len(words) // 2] if words else "hello"


def texts(element: Element, word: str) -> tuple[str, ...]:
    """What to type into a field: something that it takes, and something that it should refuse."""
    match element.type:
        case "email":
            return ("someone@example.com", "someone")
        case "password":
            return ("Quiet-River-42",)
        case "url":
            return ("https://example.com", "example")
        case "tel":
            return ("+1 202 555 0143", "abc")
        case "number":
            return ("7",)
        case "search":
            return (word,)
    said = f"{element.label} {element.id} {element.attributes.get('name', '')}".lower()
    if re.search(r"e-?mail", said):
        return ("someone@example.com", "someone")
    if element.tag == "textarea" or "contenteditable" in element.attributes:
        return ("A few words to try it out.",)
    return (word,) if re.search(r"search|find|filter|look|query", said) else (word, "x1")


def is_typed_into(element: Element) -> bool:
    """Whether a person writes into an element."""
    if element.tag == "input":
        return element.type in _TYPED_INPUTS
    return element.tag == "textarea" or element.attributes.get("contenteditable") in {"", "true"}


def is_clickable(element: Element, tree: Tree) -> bool:
    """Whether an element says that it can be clicked, by its tag, role, listeners or cursor."""
    if element.tag == "label":
        fields = [one for one in tree.inside(element) if one.tag in {"input", "select", "textarea"}]
        return all(one.type in {"checkbox", "radio"} for one in fields)
    if element.tag == "a":
        return "href" in element.attributes or bool(_CLICKS & set(element.listeners))
    if element.tag in _CLICKABLE_TAGS or element.role in _CLICKABLE_ROLES:
        return True
    if element.tag == "input" and element.type in _CLICKABLE_INPUTS:
        return True
    if _CLICKS & set(element.listeners) or element.attributes.get("tabindex") == "0":
        return element.tag not in _FRAMES
    parent = tree.parent(element)
    is_hand = element.style.get("cursor") == "pointer"
    return is_hand and (parent is None or parent.style.get("cursor") != "pointer")


def _heard_above(tree: Tree) -> dict[int, frozenset[str]]:
    """For each element the events that something around it listens to."""
    heard: dict[int, frozenset[str]] = {}
    for element in tree.elements:
        parent = tree.parent(element)
        above = frozenset(tree.page_listeners)
        if parent is not None:
            above |= heard[parent.ref] | frozenset(parent.listeners)
        heard[element.ref] = above
    return heard


def _may_be_meant(element: Element, tree: Tree) -> bool:
    """Whether a listener further up may be about this element.

    It carries text or a picture itself, or is a box that repeats, and a pointer on its middle would
    not be on something that can be used by itself. What is inside a control belongs to the control.
    """
    if element.tag in _FRAMES or element.tag in {"input", "select", "textarea", "option"}:
        return False
    if any(_is_whole(one, tree) for one in tree.chain(element)[1:]):
        return False
    if element.text or element.tag in {"img", "svg", "canvas"}:
        return True
    x, y = element.box.left + element.box.width / 2, element.box.top + element.box.height / 2
    if any(_holds(one, x, y) and is_clickable(one, tree) for one in tree.inside(element)):
        return False
    return tree.repeats(element) and bool(element.label or element.background[3] > 0)


def _is_whole(element: Element, tree: Tree) -> bool:
    """Whether everything in an element is part of one control."""
    if element.tag in {"button", "a", "summary", "label"}:
        return True
    small = element.box.width * element.box.height < _CONTROL_AREA
    return small and is_clickable(element, tree)


def _holds(element: Element, x: float, y: float) -> bool:
    box = element.box
    return box.left <= x < box.right and box.top <= y < box.bottom


def _is_stage_wide(element: Element, snapshot: Snapshot) -> bool:
    """Whether an element is a part of the page's frame: it listens for what is in it."""
    width, height = snapshot.size
    share = element.box.width * element.box.height / max(width * height, 1)
    return element.tag in _FRAMES or (share > _FRAME_SHARE and not element.text)


def _takes_keys(element: Element) -> bool:
    return is_typed_into(element) or element.attributes.get("tabindex") == "0"


def _ways(element: Element, tree: Tree) -> tuple[str, ...]:
    """Where to drag an element: onto what waits for a drop, else beyond its own place."""
    around = {one.ref for one in tree.chain(element)}
    for other in tree.elements:
        if "drop" in other.listeners and other.ref not in around and other.tag not in _FRAMES:
            dx = (other.box.left + other.box.right - element.box.left - element.box.right) // 2
            dy = (other.box.top + other.box.bottom - element.box.top - element.box.bottom) // 2
            return (f"{dx},{dy}",)
    is_upright = element.box.height >= 3 * element.box.width  # a divider between two columns
    right = 80 if is_upright else max(element.box.width + 40, 80)
    down = max(element.box.height + 20, 60)
    return (f"{right},0",) if is_upright else (f"{right},0", f"0,{down}")


def _scroll(element: Element) -> str:
    down = max(element.box.height // 2, 120)
    return f"0,{down}" if "y" in element.attributes["scrollable"] else f"{element.box.width // 2},0"


def _page_candidates(
    snapshot: Snapshot, heard: dict[int, frozenset[str]], keys: tuple[str, ...]
) -> list[Candidate]:
    """What is done to the page as a whole: scroll it, press a key."""
    body = next((one for one in snapshot.elements if one.tag == "body"), None)
    if body is None:
        return []
    found = []
    if any("scrollable" in one.attributes for one in snapshot.elements if one.tag in _FRAMES):
        found.append(Candidate(body, Action("scroll", "0,400")))
    if _KEYS & (heard[body.ref] | set(body.listeners)):
        found += [Candidate(body, Action("key", key)) for key in keys]
    return found
