"""Interactions in English: what is done, and what comes of it."""

from __future__ import annotations

import re

from uiproof.benchmarks.interaction2code.categories import (
    category_of,
    own_value_changed,
)
from uiproof.benchmarks.interaction2code.collect.findings import Finding
from uiproof.benchmarks.interaction2code.collect.tree import Tree
from uiproof.benchmarks.interaction2code.visible import visible_recolouring
from uiproof.browser.snapshots import Element

_LONGEST = 48  # characters of a name
_NOUNS = {
    **{"button": "button", "link": "link", "input": "field", "textarea": "field"},
    **{"select": "list", "label": "switch", "summary": "heading", "option": "option"},
    **{"image": "image", "progress": "slider", "table": "row", "text": "text"},
    **{"video": "video", "iframe": "frame", "dialog": "dialog"},
}
_WHOLES = frozenset({"button", "link", "summary"})  # everything on them is their name
_GERUNDS = {
    **{
        "click": "clicking",
        "hover": "hovering over",
        "type": "typing in",
        "select": "selecting in",
    },
    **{"drag": "dragging", "scroll": "scrolling", "key": "pressing a key in"},
}


def sentence(finding: Finding, tree: Tree) -> str:
    """What is done, such as `click the "Save" button`."""
    what, value = thing(finding.element, tree), finding.action.value
    match finding.action.kind:
        case "click":
            return f"click {what}"
        case "hover":
            return f"hover on {what}"
        case "type":
            return f'type "{value}" in {what}'
        case "select":
            return f'select "{value}" in {what}'
        case "drag":
            return f"drag {what}{_way(value)}"
        case "scroll":
            return (
                f"scroll down {what}" if finding.element.tag != "body" else "scroll down the page"
            )
        case "key":
            where = "" if finding.element.tag == "body" else f" in {what}"
            return f"press the {value} key{where}"


def description(finding: Finding, tree: Tree) -> str:
    """What is done and what comes of it."""
    told = effects(finding)
    done = f"{_GERUNDS[finding.action.kind]} {thing(finding.element, tree)}"
    if finding.action.kind == "key":
        done = f"pressing the {finding.action.value} key"
    elif finding.action.kind == "type":
        done = f'typing "{finding.action.value}" in {thing(finding.element, tree)}'
    elif finding.action.kind == "select":
        done = f'selecting "{finding.action.value}" in {thing(finding.element, tree)}'
    elif finding.action.kind == "scroll" and finding.element.tag == "body":
        done = "scrolling down the page"
    return f"after {done}, {_listed(told)}"


def effects(finding: Finding) -> list[str]:
    """What comes of an interaction, in clauses."""
    changed, visuals = finding.changes, set(finding.visuals)
    if "new page" in visuals:
        title = finding.later.title
        return [
            f'the page turns to "{_short(title)}"' if title else "the page turns to another page"
        ]
    told = []
    if changed.appeared and visuals & {"new window", "new component", "switch"}:
        kind = "a window pops up" if "new window" in visuals else "a new component appears"
        if not visuals & {"new window", "new component"}:
            kind = "the content changes"
        named = [_quoted(one.label) for one in changed.appeared if one.label][:2]
        told.append(f"{kind} with {' and '.join(named)}" if named else kind)
    texts = [pair for pair in changed.retexted if not own_value_changed(pair, finding.element)]
    for old, new in texts[:2] if "text" in visuals else []:
        if old.text and new.text:
            told.append(f"the text {_quoted(old.text)} changes to {_quoted(new.text)}")
        else:
            told.append(
                f"the text {_quoted(new.text or old.text)} {'appears' if new.text else 'goes'}"
            )
    if "color" in visuals:
        many = len(visible_recolouring(changed, finding.snapshot, finding.later))
        told.append(
            "the color changes"
            if many <= 2
            else "the colors of the page change"
            if many > 20
            else "the colors of several parts change"
        )
    if "position" in visuals:
        told.append(
            "other parts move"
            if not changed.moved
            else "its position changes"
            if len(changed.moved) == 1
            else "elements change their position"
        )
    if "size" in visuals:
        told.append("the size changes")
    if changed.vanished and not changed.appeared:
        names = [_quoted(one.label) for one in changed.vanished if one.label][:2]
        told.append(f"{' and '.join(names)} disappears" if names else "something disappears")
    if "switch" in visuals and not told:
        told.append("it is switched over")
    return told or ["the page changes"]


def thing(element: Element, tree: Tree) -> str:
    """An element as a person would call it: `the "Save" button`."""
    name = name_of(element, tree)
    noun = noun_of(element)
    return f'the "{name}" {noun}' if name else f"the {noun}"


def noun_of(element: Element) -> str:
    """What kind of thing an element is, in one word."""
    if element.tag == "input" and element.type in {"checkbox", "radio"}:
        return "checkbox" if element.type == "checkbox" else "radio button"
    if element.tag == "input" and element.type == "range":
        return "slider"
    if element.role == "tab":
        return "tab"
    if "scrollable" in element.attributes:
        return "list"
    area = element.box.width * element.box.height
    return _NOUNS.get(category_of(element), "block" if area > 20_000 else "item")


def name_of(element: Element, tree: Tree) -> str:
    """What is written on an element, or beside it, cut to a few words."""
    around = [one for one in tree.chain(element)[1:4] if one.tag == "label"]
    if element.tag in {"input", "textarea", "select"} and around:
        heading = around[0].text or next(
            (one.text for one in tree.inside(around[0]) if one.text and one.ref != element.ref), ""
        )
        if heading:
            return _short(heading)
    if "scrollable" in element.attributes:
        return ""  # what it begins with is not its name
    if element.text and element.tag != "select":
        whole = category_of(element) in _WHOLES and len(element.label) <= _LONGEST
        return _short(element.label if whole and element.tag != "label" else element.text)
    first = next((one.text for one in tree.inside(element) if one.text), "")
    return _short(first or element.label or element.attributes.get("title", ""))


def _way(value: str | None) -> str:
    numbers = [float(part) for part in re.findall(r"-?\d+(?:\.\d+)?", value or "")]
    if len(numbers) != 2:
        return ""
    dx, dy = numbers
    if abs(dx) >= abs(dy):
        return " to the right" if dx > 0 else " to the left"
    return " down" if dy > 0 else " up"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _quoted(text: str) -> str:
    return f'"{_short(text)}"'


def _short(text: str) -> str:
    text = " ".join(text.replace('"', "'").split())
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST].rsplit(' ', 1)[0]} …"
