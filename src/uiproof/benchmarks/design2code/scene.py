"""The things that are drawn on a page, as a tree: what differences are looked for in."""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from uiproof.benchmarks.design2code.blocks import EDGE_CONTRAST, Color, PixelRect
from uiproof.benchmarks.design2code.pages import Element, PageView
from uiproof.benchmarks.design2code.strict import seen_contents
from uiproof.vision.images import Rgb

_RGB = re.compile(r"rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)")
_PICTURES = frozenset(
    ("img", "svg", "canvas", "video", "picture", "object", "embed", "iframe", "frame")
)
_RADIUS = re.compile(r"([\d.]+)(px|%)")
DISC_RIM = 2  # pixels on either side of the edge of a round thing that are compared
DISC_EDGES = 3  # of its four ends that must be seen
OUTER = 8.0  # times the area of a thing: what is larger is not marked for it
RUN_GAP = 60.0  # pixels between things that are missing together
_NO_FONT = "0px|400||normal|normal|normal|none|none|"
_NO_PAINT = "rgba(0, 0, 0, 0)|none||0px|none|1"
_NOT_PAINTED = "rgba(0, 0, 0, 0)|none||"


@dataclass(eq=False, slots=True)
class Node:
    """A text, a picture, a control, a painted surface, or an element that only holds such."""

    kind: str  # text, image, control, surface or group
    box: PixelRect
    order: int = 0  # in the document
    tag: str = ""
    selector: str = ""
    text: str = ""
    color: Color = (0, 0, 0)
    font: str = _NO_FONT
    paint: str = _NO_PAINT
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    partner: Node | None = None  # the same thing on the other page

    @property
    def twin(self) -> Node:
        """Return the partner of a node that has one."""
        assert self.partner is not None
        return self.partner

    @property
    def is_drawn(self) -> bool:
        """Return whether it can be seen itself."""
        return self.kind != "group"

    @property
    def is_leaf(self) -> bool:
        """Return whether it is seen and holds nothing else that is."""
        return self.is_drawn and not self.children

    def walk(self) -> Iterator[Node]:
        """Yield the node and everything in it, in the order of the document."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> Iterator[Node]:
        """Yield what is seen in it and holds nothing else."""
        return (node for node in self.walk() if node.is_leaf)

    def ancestors(self) -> Iterator[Node]:
        """Yield what holds it, from the inside out."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def font_size(self) -> float:
        """Return the size of its letters in pixels."""
        return float(self.font.split("|", 1)[0].removesuffix("px") or 0)

    @property
    def is_painted(self) -> bool:
        """Return whether it has a background colour or picture."""
        return self.kind == "image" or not self.paint.startswith(_NOT_PAINTED[:-1])

    @property
    def background(self) -> Color | None:
        """Return its background colour; None where that is transparent."""
        return colour_of(self.paint.split("|", 1)[0])


def colour_of(css: str) -> Color | None:
    """Return a computed colour; None where it is transparent or not a plain one."""
    found = _RGB.match(css)
    if found is None or (found[4] is not None and float(found[4]) < 0.05):
        return None
    return int(found[1]), int(found[2]), int(found[3])


@dataclass(frozen=True, slots=True)
class Scene:
    """A page as a tree of what is drawn on it, and its picture."""

    root: Node
    rgb: Rgb

    @property
    def leaves(self) -> list[Node]:
        """Return everything that is seen and holds nothing else, in the order of the document."""
        return list(self.root.leaves())

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height in CSS pixels."""
        return self.rgb.shape[1], self.rgb.shape[0]


Tree: TypeAlias = dict[int, Node]
Shift: TypeAlias = tuple[int, int]


def scene_of(view: PageView) -> Scene:
    """Return what is seen of a page; elements without anything that is seen are left out."""
    contents = seen_contents(view)
    seen = dict.fromkeys(contents.surfaces, "surface")
    seen |= dict.fromkeys(contents.controls, "control")
    seen |= dict.fromkeys(contents.images, "image")
    listed = {box for box, _ in view.inventory.surfaces}
    listed |= {*view.inventory.controls, *view.inventory.images}
    elements = view.inventory.elements
    selectors = _selectors(elements)
    texts: dict[int, list[Node]] = {}
    height, width = view.rgb.shape[:2]
    root = Node("group", (0.0, 0.0, float(width), float(height)), tag="html", selector="html")
    tops: list[Node] = []
    for (box, text, color, _), index in zip(view.seen_texts, view.seen_elements, strict=True):
        element = elements[index]
        node = Node("text", box, tag=element.tag, selector=selectors[index], font=element.font)
        node.text, node.color = " ".join(text.split()), color
        texts.setdefault(index, []).append(node)
    nodes: list[Node] = []
    for index, element in enumerate(elements):
        kind = seen.get(element.box, "group") if element.box in listed else "group"
        if kind == "surface" and element.paint.startswith(_NOT_PAINTED):
            kind = "group"  # its box is that of another one, which is painted
        elif kind == "group" and element.box in listed and _is_seen_disc(element, view.reachable):
            kind = "surface"
        node = Node(kind, element.box, index, element.tag, selectors[index])
        node.font, node.paint = element.font, element.paint
        nodes.append(node)
        if element.parent < 0:
            tops.append(node)
        else:
            nodes[element.parent].children.append(node)
    for index, own in texts.items():
        _insert(nodes[index], own)
    if not elements:
        tops = [one for own in texts.values() for one in own]
    root.children = [kept for top in tops if (kept := _pruned(top)) is not None]
    for order, node in enumerate(root.walk()):
        node.order = order
        for child in node.children:
            child.parent = node
    return Scene(root, view.reachable)


def _is_seen_disc(element: Element, rgb: Rgb) -> bool:
    """Return whether a round thing is seen, whose box has hardly any edge."""
    x, y, w, h = (round(value) for value in element.box)
    radius, low = _RADIUS.match(element.paint.split("|")[3]), min(w, h)
    if radius is None or element.paint.startswith(_NOT_PAINTED) or not 8 <= low >= max(w, h) / 1.5:
        return False
    if float(radius[1]) < (50 if radius[2] == "%" else low / 2):
        return False
    down, across = y + h // 2, x + w // 2
    ends = (
        (down, x, 0, -1),
        (down, x + w - 1, 0, 1),
        (y, across, -1, 0),
        (y + h - 1, across, 1, 0),
    )
    edges = 0
    for row, column, *out in ends:
        pair_ = [(row + by * out[0], column + by * out[1]) for by in (-DISC_RIM, DISC_RIM)]
        if all(0 <= i < rgb.shape[0] and 0 <= j < rgb.shape[1] for i, j in pair_):
            inside, outside = (rgb[one].astype(np.int16) for one in pair_)
            edges += int(np.abs(inside - outside).max()) >= EDGE_CONTRAST
    return edges >= DISC_EDGES


def _insert(element: Node, texts: Sequence[Node]) -> None:
    """Put the texts of an element among its children, by where they stand."""
    for text in texts:
        x, y, _, h = text.box
        place = len(element.children)
        for index, child in enumerate(element.children):
            cx, cy, _, ch = child.box
            below = cy >= y + h * 0.6
            beside = abs((cy + ch / 2) - (y + h / 2)) < max(h, ch) * 0.6 and cx >= x + 0.5
            if child.box[2] > 0 and (below or beside):
                place = index
                break
        element.children.insert(place, text)


def _pruned(node: Node) -> Node | None:
    node.children = [kept for child in node.children if (kept := _pruned(child)) is not None]
    if node.kind == "image" and node.tag in _PICTURES:
        node.children = []  # its fallbacks
    return node if node.is_drawn or node.children else None


def _selectors(elements: Sequence[Element]) -> list[str]:
    found: list[str] = []
    for element in elements:
        inner = element.step.startswith(" ") and element.parent >= 0
        found.append(found[element.parent] + element.step if inner else element.step.strip(" >"))
    return found


def shift_of(node: Node) -> Shift:
    """Return by how much the partner of a node is displaced, in whole pixels."""
    other = node.twin
    return round(other.box[0] - node.box[0]), round(other.box[1] - node.box[1])


def around(boxes: Iterable[PixelRect]) -> PixelRect:
    """Return the smallest box around some."""
    every = list(boxes)
    x, y = min(box[0] for box in every), min(box[1] for box in every)
    right, bottom = max(x + w for x, _, w, _ in every), max(y + h for _, y, _, h in every)
    return x, y, right - x, bottom - y


def overlap(a: PixelRect, b: PixelRect) -> float:
    """Return the area that two boxes share."""
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return max(w, 0.0) * max(h, 0.0)


def area_of(node: Node) -> float:
    """Return the area of a thing; of a surface that holds others, a part of it."""
    area = max(node.box[2], 1.0) * max(node.box[3], 1.0)
    return area if not node.children else area / 2


def drawn_box(node: Node) -> PixelRect:
    """Return the box around what is drawn of a node."""
    return around(one.box for one in node.walk() if one.is_drawn)


def union_of(nodes: Sequence[Node]) -> PixelRect:
    """Return the box around what is drawn of some nodes."""
    return around(node.box if node.is_drawn else drawn_box(node) for node in nodes)


def unpaired(scene: Scene) -> list[Node]:
    """Return the outermost nodes that hold nothing the other page has."""
    paired: set[int] = set()
    for node in scene.root.walk():
        if node.partner is not None:
            paired.add(id(node))
            paired.update(id(one) for one in node.ancestors())
    found: list[Node] = []

    def visit(node: Node) -> None:
        if id(node) not in paired and node.tag not in ("html", "body"):
            found.append(node)
            return
        for child in node.children:
            visit(child)

    visit(scene.root)
    return [node for node in found if any(True for _ in node.leaves())]


def outermost(nodes: Iterable[Node], belongs: Any) -> list[Node]:
    """Return the outermost nodes whose leaves all belong to some."""
    found: dict[int, Node] = {}
    for node in nodes:
        top = node
        for one in node.ancestors():
            if one.tag in ("html", "body") or not all(
                belongs(leaf) or leaf.kind != "text" or leaf.partner is None
                for leaf in one.leaves()
            ):
                break
            top = one
        found[id(top)] = top
    return sorted(found.values(), key=lambda one: one.order)


def not_on_surfaces(node: Node) -> Iterator[Node]:
    """Yield a node and what it holds, but not what stands on a surface of its own."""
    yield node
    if not (node.is_drawn and node.partner is not None):
        for child in node.children:
            yield from not_on_surfaces(child)


def by_parent(nodes: Iterable[Node]) -> list[list[Node]]:
    """Return nodes of the same parent together."""
    groups: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        groups[id(node.parent)].append(node)
    return list(groups.values())


def runs_of(nodes: Sequence[Node]) -> list[list[Node]]:
    """Return neighbours together: on one surface, and with nothing paired between them."""
    if not nodes:
        return []
    root = [nodes[0], *nodes[0].ancestors()][-1]
    places = {id(node): place for place, node in enumerate(root.walk())}
    paired = [places[id(leaf)] for leaf in root.leaves() if leaf.partner is not None]
    runs: list[list[Node]] = []
    for node in sorted(nodes, key=lambda one: places[id(one)]):
        if runs:
            last = runs[-1][-1]
            between = bisect(paired, places[id(last)]) != bisect(paired, places[id(node)])
            if not between and _holder(last) is _holder(node) and _is_near(last, node):
                runs[-1].append(node)
                continue
        runs.append([node])
    return runs


def _holder(node: Node) -> Node | None:
    return next((one for one in node.ancestors() if one.is_drawn), None)


def _is_near(a: Node, b: Node) -> bool:
    """Return whether two neighbours stand side by side, or closely below each other."""
    (x, y, w, h), (left, top, width, height) = union_of([a]), union_of([b])
    across = max(left - (x + w), x - (left + width))
    down = max(top - (y + h), y - (top + height))
    return max(across, down) <= RUN_GAP and min(across, down) <= 0


def moving_with(node: Node) -> Node | None:
    """Return the element around a thing that is displaced as a whole, and begins with it."""
    assert node.partner is not None
    dx, dy = (node.partner.box[axis] - node.box[axis] for axis in (0, 1))
    found = None
    most = 0.0
    for one in node.ancestors():
        if one.is_drawn or one.tag in ("html", "body"):
            break
        area = one.box[2] * one.box[3]
        most = most or max(OUTER * area, OUTER * node.box[2] * node.box[3])
        displaced = (
            (leaf.partner.box[0] - leaf.box[0], leaf.partner.box[1] - leaf.box[1])
            if leaf.partner is not None
            else (dx, dy)
            for leaf in one.leaves()
        )
        if area > most or not all(abs(x - dx) <= 2 and abs(y - dy) <= 2 for x, y in displaced):
            break
        if min(leaf.box[1] for leaf in one.leaves()) < node.box[1] - 2:
            break
        found = one
    return found


def ground_of(leaf: Node) -> Node | None:
    """Return the surface that is seen behind a text or a control."""
    painted = (one for one in leaf.ancestors() if one.is_drawn and one.is_painted)
    return None if leaf.kind == "image" else next(painted, None)


def shares_rows(a: PixelRect, b: PixelRect) -> bool:
    """Return whether two boxes stand beside each other."""
    return a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def replace_box(node: Node, box: PixelRect) -> Node:
    """Return a node by itself with another box."""
    return Node("surface", box, 0, node.tag, node.selector, paint=node.paint)
