"""Compare a page with a screenshot: everything on the page is looked for in the picture.

What is found again is put into a copy of the page's own tree, so both sides have the same
structure. Texts that are not found letter by letter are compared with the lines that are read in
the screenshot where nothing was found; what is left of its pixels is missing on the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.blocks import PixelRect
from uiproof.benchmarks.design2code.pages import Inventory, PageView
from uiproof.benchmarks.design2code.pairing import is_before, marry
from uiproof.benchmarks.design2code.picture import PictureView
from uiproof.benchmarks.design2code.pixels import LEFT_OVER, crop, levels_apart, whole
from uiproof.benchmarks.design2code.scene import Node, Scene, around, overlap, scene_of, shift_of
from uiproof.benchmarks.design2code.strict import commonest_colour
from uiproof.benchmarks.design2code.surface_search import find_surfaces, paint_plain
from uiproof.benchmarks.design2code.text_search import TextSearch, plain_letters, read_rest

STRIP = 3  # pixels on either side of an edge that are compared
CELL = 4  # pixels; what is left over is looked for on a grid of such cells
SMALLEST = 10  # cells of it
CLOSE = (40, 28)  # pixels across and down between things that are missing together
ICON = 8.0  # times the area of what is read in it
MOST_SIBLINGS = 200  # whose order is compared

Gray = npt.NDArray[np.uint8]


def scenes_of(generated: PictureView, reference: PictureView) -> tuple[Scene, Scene, set[Node]]:
    """Return both scenes with partners, and what stands in another order."""
    inventory = generated.inventory or Inventory()
    texts = tuple((box, text, color, 1.0) for box, text, color in inventory.texts)
    view = PageView(
        *(generated.png, (), (), inventory, texts, generated.flags, generated.scale),
        seen_elements=inventory.text_elements,
    )
    view.__dict__["rgb"] = generated.rgb
    ours = scene_of(view)
    height, width = reference.rgb.shape[:2]
    root = Node("group", (0.0, 0.0, float(width), float(height)), tag="html", selector="html")
    theirs = Scene(root, reference.rgb)
    TextSearch(ours, theirs, reference.texts).run()
    read_rest(ours, theirs, reference.texts)
    find_surfaces(ours, theirs)
    _copy_structure(ours, theirs)
    displaced = _displaced(ours.root)
    _add_left_over(ours, theirs)
    return ours, theirs, displaced


def _strips(box: tuple[int, int, int, int]) -> list[tuple[slice, slice]]:
    x, y, w, h = box
    rows, columns = slice(max(y, 0), max(y + h, 0)), slice(max(x, 0), max(x + w, 0))
    across = [slice(max(edge - STRIP, 0), max(edge + STRIP, 0)) for edge in (y, y + h)]
    down = [slice(max(edge - STRIP, 0), max(edge + STRIP, 0)) for edge in (x, x + w)]
    return [*((part, columns) for part in across), *((rows, part) for part in down)]


def _copy_structure(ours: Scene, theirs: Scene) -> None:
    """Put what was found into a copy of the page's tree."""
    loose = [node for node in theirs.root.children if node.partner is None]
    theirs.root.children = []
    for child in ours.root.children:
        _copy(child, theirs.root)
    body = next((node for node in ours.root.walk() if node.tag == "body"), None)
    if body is not None and body.kind == "group":
        _paint_page(ours, theirs, body)
    pictures = [one.box for one in theirs.root.leaves() if one.kind == "image"]
    for node in loose:
        _, _, w, h = node.box
        # OCR reads letters into icons: skip a text that lies inside an icon of both pages.
        if not any(
            overlap(node.box, one) >= 0.7 * w * h and one[2] * one[3] <= ICON * w * h
            for one in pictures
        ):
            _put(theirs.root, node)


def _copy(node: Node, holder: Node) -> None:
    twin = node.partner
    if twin is None:
        if not node.children:
            return
        twin = Node("group", node.box, tag=node.tag, selector=node.selector, font=node.font)
        twin.paint = node.paint
    twin.parent, twin.order = holder, node.order
    for child in node.children:
        _copy(child, twin)
    if node.partner is not None or twin.children:
        holder.children.append(twin)
        if node.partner is None:
            twin.box = around(child.box for child in twin.children)


def _paint_page(ours: Scene, theirs: Scene, body: Node) -> None:
    """Give the bodies of both pages the colours that are seen beside everything else."""
    other = next((node for node in theirs.root.walk() if node.tag == "body"), None)
    if other is None:
        return
    whole = Node("surface", ours.root.box, paint=body.paint, children=body.children)
    marry(whole, Node("surface", theirs.root.box, paint=body.paint))
    paint_plain(whole, ours.rgb, theirs.rgb)
    assert whole.partner is not None
    body.paint, other.paint = whole.paint, whole.partner.paint


def _put(root: Node, node: Node) -> None:
    """Put a thing into the innermost element that is around it."""
    _, y, w, h = node.box
    at = root
    while True:
        inner = [
            child
            for child in at.children
            if child.children and overlap(child.box, node.box) >= 0.9 * w * h
        ]
        if not inner:
            break
        at = inner[-1]
    place = sum(1 for child in at.children if child.box[1] + child.box[3] <= y + h / 2)
    at.children.insert(place, node)
    node.parent = at


def _displaced(root: Node) -> set[Node]:
    """Return texts that stand in another order among their siblings than in the screenshot."""
    found: set[Node] = set()
    for holder in root.walk():
        counts = Counter(leaf.text for leaf in holder.leaves())
        units = [
            (child, leaves)
            for child in holder.children
            if (
                leaves := [
                    one
                    for one in _paired(child)
                    if counts[one.text] == 1 and plain_letters(one.text)
                ]
            )
        ]
        if not 2 <= len(units) <= MOST_SIBLINGS:
            continue
        ours = [around(leaf.box for leaf in leaves) for _, leaves in units]
        theirs = [
            around(leaf.partner.box for leaf in leaves if leaf.partner is not None)
            for _, leaves in units
        ]
        turned = {
            (i, j)
            for i in range(len(units))
            for j in range(len(units))
            if i != j and is_before(ours[i], ours[j]) and is_before(theirs[j], theirs[i])
        }
        staying = _staying(holder, ours, theirs) if turned else set()
        turned = {both for both in turned if not staying.intersection(both)}
        while turned:
            often = Counter(index for both in turned for index in both)
            # The one that has changed places with most others; of two, the smaller.
            worst = max(often, key=lambda i: (often[i], -theirs[i][2] * theirs[i][3]))
            found.update(_paired(units[worst][0]))
            turned = {both for both in turned if worst not in both}
    return found


def _staying(holder: Node, ours: Sequence[PixelRect], theirs: Sequence[PixelRect]) -> set[int]:
    """Return which things are displaced as what is around their holder; others may be moved."""
    root = [*holder.ancestors()][-1] if holder.parent is not None else holder
    inside = {id(leaf) for leaf in holder.leaves()}
    paired = [one for one in root.leaves() if one.partner is not None]
    first = next((i for i, one in enumerate(paired) if id(one) in inside), 0)
    last = max((i for i, one in enumerate(paired) if id(one) in inside), default=-1)
    around_it = {
        shift_of(one) for one in (*paired[max(first - 1, 0) : first], *paired[last + 1 :][:1])
    }
    return {
        index
        for index, (a, b) in enumerate(zip(ours, theirs, strict=True))
        if any(abs(b[0] - a[0] - x) <= 3 and abs(b[1] - a[1] - y) <= 3 for x, y in around_it)
    }


def _paired(node: Node) -> list[Node]:
    return [leaf for leaf in node.leaves() if leaf.partner is not None and leaf.kind == "text"]


def _add_left_over(ours: Scene, theirs: Scene) -> None:
    """Add pictures that only the screenshot shows, and group what is missing."""
    apart = np.minimum(_from_aligned(ours, theirs), _from_painted(ours, theirs))
    for node in theirs.root.walk():
        x, y, w, h = (round(value) for value in node.box)
        if not node.is_drawn:
            continue
        if node.children:  # only the outline of a surface is its own
            for rows, columns in _strips((x, y, w, h)):
                apart[rows, columns] = 0
        else:
            apart[max(y - 5, 0) : max(y + h + 5, 0), max(x - 5, 0) : max(x + w + 5, 0)] = 0
    for node in ours.root.walk():  # what the page shows there is told as it is
        if node.is_leaf and node.partner is None:
            x, y, w, h = (round(value) for value in node.box)
            apart[max(y - 4, 0) : max(y + h + 4, 0), max(x - 4, 0) : max(x + w + 4, 0)] = 0
    height, width = apart.shape
    small = cv2.resize(apart, (max(width // CELL, 1), max(height // CELL, 1)),
                       interpolation=cv2.INTER_AREA)  # fmt: skip
    shown = cv2.morphologyEx(
        (small >= LEFT_OVER).astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)
    )
    _, _, stats, _ = cv2.connectedComponentsWithStats(shown)
    for x, y, w, h, area in stats[1:].tolist():
        box = float(x * CELL), float(y * CELL), float(w * CELL), float(h * CELL)
        part = crop(theirs.rgb, (x * CELL, y * CELL, w * CELL, h * CELL))
        seen = part.size and int(part.max()) - int(part.min()) >= LEFT_OVER
        if area >= SMALLEST and seen and area >= 0.25 * w * h and min(w, h) > 2:
            _put(theirs.root, Node("image", box, tag="img"))
    _group_missing(theirs)


def _from_aligned(ours: Scene, theirs: Scene) -> Gray:
    """Return by how much the screenshot differs from the page, row by row where its texts are."""
    height, width = theirs.rgb.shape[:2]
    moved = sorted(
        (one.box[1], one.partner.box[1] - one.box[1])
        for one in theirs.root.walk()
        if one.partner is not None
    )
    rows = np.arange(height)
    if moved:
        tops, shifts = (np.array(values) for values in zip(*moved, strict=True))
        nearest = shifts[np.searchsorted(tops, rows).clip(0, len(tops) - 1)]
        rows = rows + np.round(nearest).astype(int)
    valid = (rows >= 0) & (rows < ours.rgb.shape[0])
    across = min(width, ours.rgb.shape[1])
    apart = np.full((height, width), 255, np.uint8)
    there = ours.rgb[rows[valid], :across]
    apart[valid, :across] = levels_apart(theirs.rgb[valid, :across], there)
    return apart


def _from_painted(ours: Scene, theirs: Scene) -> Gray:
    """Return by how much the screenshot differs from the surfaces that were found in it."""
    height, width = theirs.rgb.shape[:2]
    painted = np.empty((height, width, 3), np.uint8)
    painted[:] = commonest_colour(theirs.rgb)
    for node in theirs.root.walk():
        if node.is_drawn and node.children and (colour := node.background) is not None:
            x, y, w, h = (round(value) for value in node.box)
            painted[max(y, 0) : max(y + h, 0), max(x, 0) : max(x + w, 0)] = colour
        elif node.is_drawn and node.children and node.partner is not None:
            x, y, w, h = whole(node.box)
            there, part = crop(painted, (x, y, w, h)), crop(ours.rgb, whole(node.partner.box))
            if node.paint.split("|")[1] != "none" and part.size and there.size:
                there[:] = cv2.resize(part, there.shape[1::-1], interpolation=cv2.INTER_AREA)
    return levels_apart(theirs.rgb, painted)


def _group_missing(theirs: Scene) -> None:
    """Put things that are missing side by side or closely below each other into one group."""
    lost = [node for node in theirs.leaves if node.partner is None]
    present = [node.box for node in theirs.leaves if node.partner is not None]
    groups: list[list[Node]] = []
    for node in lost:
        near = [group for group in groups if any(_is_close(node, one, present) for one in group)]
        joined = [node, *(one for group in near for one in group)]
        groups = [group for group in groups if group not in near] + [joined]
    for group in groups:
        if len(group) < 2:
            continue
        group.sort(key=lambda one: (one.box[1], one.box[0]))
        for node in group:
            assert node.parent is not None
            node.parent.children.remove(node)
        holder = Node("group", around(node.box for node in group), tag="div", children=group)
        for node in group:
            node.parent = holder
        _put(theirs.root, holder)


def _is_close(a: Node, b: Node, present: Sequence[PixelRect]) -> bool:
    """Return whether two things are near to each other, or in one row with nothing between them."""
    (x, y, w, h), (left, top, c, d) = a.box, b.box
    across = max(left - (x + w), x - (left + c))
    down = max(top - (y + h), y - (top + d))
    if down > 0:
        return down <= CLOSE[1] and across <= 0
    if across <= CLOSE[0]:
        return True
    start, row = min(x + w, left + c), (max(y, top), min(y + h, top + d))
    between = start, row[0], across, max(row[1] - row[0], 1.0)
    return all(overlap(between, one) == 0 for one in present)
