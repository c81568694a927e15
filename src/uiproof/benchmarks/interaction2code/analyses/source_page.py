"""The HTML of a page as numbers: length, tags, depth, interactive elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.interaction2code.analyses.tokens import count_tokens

if TYPE_CHECKING:
    from lxml.etree import _Element

# What is not shown as an element of its own, with everything inside it.
_UNSEEN = frozenset(
    ("script", "style", "template", "noscript", "head", "link", "meta", "title", "base")
)
_PARTS = frozenset(
    ("br", "wbr", "source", "track", "param", "option", "optgroup", "col", "colgroup")
)
_WHOLE = frozenset(
    ("svg", "math", "select", "datalist")
)  # counted once; what is inside belongs to it
_CONTROLS = frozenset(("button", "select", "textarea", "summary", "label"))
_ROLES = frozenset(
    (
        *("button", "link", "checkbox", "radio", "switch", "tab", "menuitem", "menuitemcheckbox"),
        *("menuitemradio", "option", "combobox", "listbox", "textbox", "searchbox", "slider"),
        *("spinbutton", "treeitem", "scrollbar", "gridcell"),
    )
)
_HANDLERS = (
    *("onclick", "ondblclick", "onmousedown", "onmouseup", "onmouseover", "onmouseenter"),
    *(
        "onmousemove",
        "onpointerdown",
        "onpointerup",
        "onpointerenter",
        "onpointerover",
        "ontouchstart",
    ),
    *(
        "onchange",
        "oninput",
        "onkeydown",
        "onkeyup",
        "onkeypress",
        "ondragstart",
        "onwheel",
        "ontoggle",
    ),
)


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What is measured on the HTML of a page."""

    tokens: int  # of GPT-2, of the whole file
    tags: int  # elements, `html` included
    depth: int  # elements on the longest way down, `html` included
    unique_tags: int
    interactive: int  # elements that a person can act on
    static: int  # all others that can be seen


def source_facts(html: bytes) -> SourceFacts:
    """Measure a page. An empty one has no tags and no depth."""
    root = _parsed(html)
    names: list[str] = []
    deepest = 0
    for element, depth in _walk(root) if root is not None else ():
        names.append(str(element.tag).lower())
        deepest = max(deepest, depth)
    interactive, static = _elements(root)
    tokens = count_tokens(html.decode("utf-8", "replace"))
    return SourceFacts(tokens, len(names), deepest, len(set(names)), interactive, static)


def is_interactive(element: Any) -> bool:
    """Whether a person can act on an element, as far as its HTML says.

    Links, buttons, fields and other native controls; what has an interactive role, an inline
    handler of input events, a place in the tab order, `contenteditable` or `draggable`.
    """
    tag, attributes = str(element.tag).lower(), element.attrib
    if tag in _CONTROLS:
        return True
    if tag in ("a", "area"):
        named = "href" in attributes
    elif tag == "input":
        named = str(attributes.get("type", "")).strip().lower() != "hidden"
    elif tag in ("audio", "video"):
        named = "controls" in attributes
    else:
        named = False
    return (
        named
        or str(attributes.get("role", "")).strip().lower() in _ROLES
        or any(handler in attributes for handler in _HANDLERS)
        or _tab_stop(attributes.get("tabindex"))
        or str(attributes.get("contenteditable", "false")).strip().lower() in ("", "true")
        or str(attributes.get("draggable", "")).strip().lower() == "true"
    )


def _tab_stop(value: Any) -> bool:
    try:
        return int(value) >= 0
    except (TypeError, ValueError):
        return False


def _parsed(html: bytes) -> _Element | None:
    from lxml import etree

    parser = etree.HTMLParser(huge_tree=True, encoding="utf-8", remove_comments=True)
    if not html.strip():
        return None
    try:
        return etree.fromstring(html, parser)
    except etree.XMLSyntaxError:  # nothing in it but comments
        return None


def _walk(root: _Element) -> Iterator[tuple[_Element, int]]:
    """Every element with its depth; by hand, because pages may nest deeper than Python recurses."""
    waiting = [(root, 1)]
    while waiting:
        element, depth = waiting.pop()
        if isinstance(element.tag, str):  # neither a comment nor a processing instruction
            yield element, depth
            waiting += [(child, depth + 1) for child in reversed(element)]


def _elements(root: _Element | None) -> tuple[int, int]:
    interactive = static = 0
    waiting = [] if root is None else [root]
    while waiting:
        element = waiting.pop()
        tag = element.tag.lower() if isinstance(element.tag, str) else "script"
        if tag in _UNSEEN:
            continue
        if tag not in _WHOLE:
            waiting += list(element)
        if tag in ("html", "body") or tag in _PARTS:
            continue
        if is_interactive(element):
            interactive += 1
        else:
            static += 1
    return interactive, static
