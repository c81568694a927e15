"""Words for differences: what things, places and colours are called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from uiproof.benchmarks.design2code.blocks import Color, PixelRect
from uiproof.benchmarks.design2code.pixels import colours_apart
from uiproof.benchmarks.design2code.scene import Node, area_of, drawn_box, union_of

SAME_PAINT = 1.25  # CIEDE2000 between two colours of a style that look the same
LONGEST_TEXT = 60  # characters of a text in a sentence


def role_of(node: Node) -> str:
    """Return what kind of thing a node is to a reader."""
    for one in (node, *node.ancestors()):
        if one.tag in _ROLES:
            return _ROLES[one.tag]
        if one.kind != "text" and one.tag not in _INLINE:
            break
    return "text"


_ROLES = {
    **{f"h{level}": "heading" for level in range(1, 7)},
    **{"a": "link", "button": "button", "li": "list item", "label": "label", "p": "paragraph"},
    **{
        "th": "table heading",
        "tr": "table row",
        "td": "table cell",
        "figcaption": "caption",
        "input": "field",
    },
    **{"select": "field", "textarea": "field", "nav": "navigation", "footer": "footer"},
    **{"header": "header", "table": "table", "form": "form", "ul": "list", "ol": "list"},
    **{"img": "picture", "svg": "picture", "video": "video", "hr": "line", "summary": "summary"},
    **{"section": "section", "article": "article", "aside": "sidebar", "body": "page"},
}


_INLINE = frozenset(
    (
        *("span", "b", "i", "em", "strong", "small", "u", "s", "code", "mark"),
        *("sub", "sup", "font"),
    )
)


def name_of(node: Node, leaves: Sequence[Node] | None = None) -> str:
    """Return what to call a node in a sentence: `the button “Buy”`."""
    leaves = list(node.leaves()) if leaves is None else leaves
    texts = [leaf.text for leaf in leaves if leaf.text]
    role = _seen_role(node, leaves)
    if role == "page":
        return "the page"
    if texts:
        return f"the {role} “{shortened(_telling(texts), 40)}”"
    return f"the {role} {place_of(node)}"


def _seen_role(node: Node, leaves: Sequence[Node]) -> str:
    """Return what kind of thing a node is, by its look where its element does not tell."""
    role = role_of(node)
    is_bare = role == "table row" and len(leaves) == 1
    if (role != "text" and not is_bare) or node.kind == "text":
        return role
    kinds = {"image": "picture", "control": "control", "surface": "area"}
    return kinds.get(node.kind, "block" if len(leaves) > 1 else kinds.get(leaves[0].kind, "text"))


def _telling(texts: Sequence[str]) -> str:
    """Return the first text that is more than a letter or a symbol."""
    return next((one for one in texts if sum(map(str.isalnum, one)) > 2), texts[0])


def names_of(nodes: Sequence[Node], leaves: Sequence[Node]) -> str:
    """Return what to call neighbours of one kind."""
    texts = [leaf.text for leaf in leaves if leaf.text]
    roles = {_seen_role(node, [*node.leaves()]) for node in nodes}
    role = roles.pop() if len(roles) == 1 else "thing"
    plural = f"{role[:-1]}ies" if role.endswith("y") else f"{role}s"
    if texts:
        return f"{len(nodes)} {plural} from “{shortened(_telling(texts), 40)}” on"
    return f"{len(nodes)} {plural} {at(union_of(nodes))}"


def subject_of(nodes: Sequence[Node]) -> str:
    """Return what to call some nodes in a sentence."""
    first = max(nodes, key=area_of)
    if len(nodes) == 1:
        return name_of(first)
    return f"{name_of(first)} and {len(nodes) - 1} more"


def be(nodes: Sequence[Any]) -> str:
    """Return the verb for one thing or several."""
    return "is" if len(nodes) == 1 else "are"


def place_of(node: Node) -> str:
    """Return where a node is, in words."""
    return at(node.box if node.is_drawn else drawn_box(node))


def at(box: PixelRect) -> str:
    """Return where a box is, in words."""
    x, y, w, h = box
    return f"at {x:.0f}, {y:.0f} ({w:.0f} × {h:.0f} px)"


def how_far(dx: float, dy: float) -> str:
    """Return a displacement in words."""
    parts = []
    if abs(dy) >= 1:
        parts.append(f"{abs(dy):.0f} px too {'low' if dy > 0 else 'high'}")
    if abs(dx) >= 1:
        parts.append(f"{abs(dx):.0f} px too far to the {'right' if dx > 0 else 'left'}")
    return " and ".join(parts)


def size_of(box: PixelRect) -> str:
    """Return the size of a box in words."""
    return f"{box[2]:.0f} × {box[3]:.0f}"


def capital(text: str) -> str:
    """Return a sentence with a capital letter."""
    return text[:1].upper() + text[1:]


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def cut(text: str) -> str:
    """Return a text that is kept with a difference."""
    return shortened(text, 300)


def apart_at(was: str, is_: str) -> tuple[str, str]:
    """Return two texts, cut to where they differ if they are long."""
    start = 0
    while start < min(len(was), len(is_)) and was[start] == is_[start]:
        start += 1
    start = max(was.rfind(" ", 0, max(start - 15, 0)) + 1, 0)
    cut = "…" if start else ""
    return cut + shortened(was[start:]), cut + shortened(is_[start:])


def border_words(css: str) -> str:
    """Return a style in words where it is that of four sides."""
    sides = re.split(r", (?![^(]*\))", css)
    if len(sides) != 4 or all(sides):
        return css
    names = ("above", "right", "below", "left")
    return ", ".join(f"{side} {name}" for side, name in zip(sides, names, strict=True) if side)


def hex_of(colour: Color) -> str:
    """Return a colour as CSS writes it."""
    return "#" + "".join(f"{channel:02x}" for channel in colour)


def paint_change(node: Node, other: Node) -> tuple[str, str, str] | None:
    """Return what is painted in another way: what, how it should be, and how it is."""
    a, b = node.paint.split("|"), other.paint.split("|")
    ours, theirs = node.background, other.background
    if ours != theirs:
        if ours is None or theirs is None:
            was, is_ = (
                hex_of(colour) if colour else border_words(paint[1]) or "none"
                for colour, paint in ((theirs, b), (ours, a))
            )
            return "colour", was, is_
        if colours_apart([(ours, theirs)])[0] >= SAME_PAINT:
            return "colour", hex_of(theirs), hex_of(ours)
    names = ("", "picture", "border", "radius", "shadow", "opacity")
    for place in (1, 2, 3, 4, 5):
        if place == 1 and node.kind == "image":
            continue
        if a[place] != b[place]:
            return names[place], border_words(b[place]) or "none", border_words(a[place]) or "none"
    return None
