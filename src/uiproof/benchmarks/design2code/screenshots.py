"""Compare a page with a screenshot: everything on the page is looked for in the picture.

Texts that are found again, pixel by pixel, are the same; the others are compared with the lines
that are read in the screenshot where nothing was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.blocks import Color, LegibleText, PixelRect
from uiproof.benchmarks.design2code.matching import TextSimilarity
from uiproof.benchmarks.design2code.pages import Inventory, PageView
from uiproof.benchmarks.design2code.pairing import marry, pair
from uiproof.benchmarks.design2code.picture import PictureView
from uiproof.benchmarks.design2code.scene import (
    Node,
    Scene,
    around,
    overlap,
    scene_of,
    scene_of_lines,
)
from uiproof.vision.images import Rgb
from uiproof.vision.ssim import grayscale

SAME_OUTLINE = 7.0  # mean levels between the outlines of a thing in two pictures
EDGE = 6  # levels between the two sides of an edge
SEARCH = 90  # pixels that an edge of a thing may be displaced by
STRIP = 3  # pixels on either side of an edge that are compared
CELL = 8  # pixels; what is left over is looked for on a grid of such cells
LEFT_OVER = 24  # levels by which it differs
SMALLEST = 10  # cells of it
SAME_PIXEL = 24  # levels by which pixels of the same thing may differ
SAME_SHARE = 0.02  # of its pixels may differ more
SAME_TEMPLATE = 40.0  # mean squared levels between a text and the place where it is found
MISREAD = 1.0  # letters of a text that may be read wrongly
_PARAGRAPH = (5.0, 0.25, 0.7)  # pixels, and shares of a line's height, between lines of one text


def scenes_of(generated: PictureView, reference: PictureView) -> tuple[Scene, Scene, set[Node]]:
    """Return both scenes with partners, and what stands in another order."""
    inventory = generated.inventory or Inventory()
    texts = tuple((box, text, color, 1.0) for box, text, color in inventory.texts)
    view = PageView(
        *(generated.png, (), (), inventory, texts, generated.flags, generated.scale),
        seen_elements=inventory.text_elements,
    )
    view.__dict__["rgb"] = generated.rgb
    ours, theirs = scene_of(view), scene_of_lines(reference.rgb, ())
    _find_texts(ours, theirs)
    _add_lines(ours, theirs, reference.texts)
    displaced = pair(ours, theirs, by_place=True)
    for node in ours.leaves:
        if node.kind == "text" and node.partner is not None:
            _as_read(node, node.partner)
            if node.color != node.partner.color:
                node.color = _letters(ours.rgb, node.box)
                node.partner.color = _letters(theirs.rgb, node.partner.box)
    _find_again(ours, theirs)
    _add_left_over(ours, theirs)
    return ours, theirs, displaced


def paragraphs(lines: Iterable[LegibleText]) -> tuple[LegibleText, ...]:
    """Join lines that stand closely below each other and look alike."""
    indent, other, gap = _PARAGRAPH
    found: list[list[LegibleText]] = []
    for line in sorted(lines, key=lambda one: one[0][1]):
        x, y, _, h = line[0]
        for text in reversed(found[-12:]):
            (left, top, _, height), _, color, _ = text[-1]
            below = y - (top + height)
            if (
                abs(x - left) <= indent
                and abs(h - height) <= other * height
                and -0.4 * height <= below <= gap * height
                and max(abs(a - b) for a, b in zip(color, line[2], strict=True)) <= 40
            ):
                text.append(line)
                break
        else:
            found.append([line])
    return tuple(
        (
            around(line[0] for line in text),
            " ".join(line[1] for line in text),
            text[0][2],
            min(line[3] for line in text),
        )
        for text in found
    )


# --- texts


def _find_texts(ours: Scene, theirs: Scene) -> None:
    """Give texts partners that stand somewhere in the screenshot just as they are."""
    gray, other = grayscale(ours.rgb), grayscale(theirs.rgb)
    last = (0, 0)
    taken: list[PixelRect] = []
    for node in ours.leaves:
        if node.kind != "text":
            continue
        x, y, w, h = (round(value) for value in node.box)
        part = gray[max(y, 0) : y + h, max(x, 0) : x + w]
        if part.size == 0 or int(part.max()) - int(part.min()) < LEFT_OVER:
            if node.parent is not None:  # it is not seen
                node.parent.children.remove(node)
            continue
        place = _same_at(ours.rgb, theirs.rgb, (x, y, w, h), (last, (0, 0)))
        if place is None:
            place = _same_near(part, other, x, y, last)
            shown = ours.rgb[max(y, 0) : y + h, max(x, 0) : x + w]
            if place is not None and not _is_same(theirs.rgb, shown, place):
                place = None
        if place is None:
            continue
        box = float(place[0]), float(place[1]), node.box[2], node.box[3]
        if any(overlap(box, one) > 0.5 * box[2] * box[3] for one in taken):
            continue
        taken.append(box)
        last = place[0] - x, place[1] - y
        twin = Node("text", box, node.order, node.tag, text=node.text, parent=theirs.root)
        twin.color, twin.font = node.color, node.font
        theirs.root.children.append(twin)
        marry(node, twin)


def _same_at(
    ours: Rgb,
    theirs: Rgb,
    box: tuple[int, int, int, int],
    shifts: Iterable[tuple[int, int]],
) -> tuple[int, int] | None:
    x, y, w, h = box
    part = ours[max(y, 0) : y + h, max(x, 0) : x + w]
    for dx, dy in shifts:
        if x + dx >= 0 and y + dy >= 0 and _is_same(theirs, part, (x + dx, y + dy)):
            return x + dx, y + dy
    return None


def _is_same(picture: Rgb, part: Rgb, place: tuple[int, int]) -> bool:
    x, y = place
    there = picture[y : y + part.shape[0], x : x + part.shape[1]]
    if there.shape != part.shape:
        return False
    apart = cv2.absdiff(there, part).max(axis=2)
    return float((apart > SAME_PIXEL).mean()) <= SAME_SHARE


def _same_near(
    part: npt.NDArray[np.uint8],
    picture: npt.NDArray[np.uint8],
    x: int,
    y: int,
    last: tuple[int, int],
) -> tuple[int, int] | None:
    """Return where a part of a page is in the screenshot, nearest to where it is expected."""
    width = picture.shape[1]
    h, w = part.shape
    for across, down in ((60, 120), (width, 1200)):
        left, top = max(x + last[0] - across, 0), max(y + last[1] - down, 0)
        area = picture[top : y + last[1] + h + down, left : x + last[0] + w + across]
        if area.shape[0] < h or area.shape[1] < w:
            continue
        costs = cv2.matchTemplate(area, part, cv2.TM_SQDIFF) / part.size
        rows, columns = np.nonzero(costs <= SAME_TEMPLATE)
        if len(rows):
            apart = np.abs(rows + top - y - last[1]) + np.abs(columns + left - x - last[0])
            best = int(apart.argmin())
            return int(columns[best]) + left, int(rows[best]) + top
    return None


def _add_lines(ours: Scene, theirs: Scene, lines: Iterable[LegibleText]) -> None:
    """Add the lines of the screenshot in which no text of the page was found."""
    known = [one.box for one in theirs.root.children]
    rest = [
        line
        for line in lines
        if sum(overlap(line[0], one) for one in known) <= 0.35 * line[0][2] * line[0][3]
    ]
    for box, text, color, _ in paragraphs(rest):
        node = Node("text", ink(theirs.rgb, box), len(theirs.root.children), parent=theirs.root)
        node.text, node.color = " ".join(text.split()), color
        theirs.root.children.append(node)
    for node in ours.leaves:
        if node.kind == "text" and node.partner is None:
            node.box = ink(ours.rgb, node.box)


def _letters(picture: Rgb, box: PixelRect) -> Color:
    """Return the colour of the letters in a box: of the pixels that stand out most."""
    x, y, w, h = (max(round(value), 0) for value in box)
    part = picture[y : y + h, x : x + w].reshape(-1, 3).astype(np.int16)
    if part.size == 0:
        return 0, 0, 0
    wide = picture[max(y - 3, 0) : y + h + 3, max(x - 3, 0) : x + w + 3]
    rim = np.concatenate([wide[:2].reshape(-1, 3), wide[-2:].reshape(-1, 3)])
    apart = np.abs(part - np.median(rim, axis=0)).max(axis=1)
    red, green, blue = np.median(part[apart >= 0.8 * apart.max()], axis=0)
    return int(red), int(green), int(blue)


def _as_read(node: Node, other: Node) -> None:
    """Take a text that was read for the one of the page if it differs as misread letters do."""
    if node.text == other.text:
        return
    plain = ["".join(filter(str.isalnum, one.lower())) for one in (node.text, other.text)]
    alike = TextSimilarity()(plain[0], plain[1]) if all(plain) else 0.0
    most = 1 - MISREAD / max(len(plain[0]), 1)
    if plain[0] == plain[1] or alike >= max(most, 0.97 if len(plain[0]) > 40 else 0.0):
        other.text = node.text


def ink(picture: Rgb, box: PixelRect) -> PixelRect:
    """Return the box around the letters in a box."""
    x, y, w, h = (round(value) for value in box)
    x, y = max(x, 0), max(y, 0)
    part = picture[y : y + h, x : x + w].astype(np.int16)
    if part.size == 0:
        return box
    rim = np.concatenate([part[0], part[-1], part[:, 0], part[:, -1]])
    apart = np.abs(part - np.median(rim, axis=0)).max(axis=2)
    rows, columns = np.nonzero(apart >= max(0.4 * float(apart.max()), 12))
    if len(rows) == 0:
        return box
    left, top = int(columns.min()), int(rows.min())
    return (
        *(float(x + left), float(y + top)),
        *(float(columns.max() + 1 - left), float(rows.max() + 1 - top)),
    )


# --- pictures, controls and surfaces


def _find_again(ours: Scene, theirs: Scene) -> None:
    """Give the drawn things of a page partners where the screenshot shows the same."""
    shifts = [
        ((one.box[1] + one.box[3] / 2), one.partner.box[0] - one.box[0],
         one.partner.box[1] - one.box[1], one.partner.box[1] + one.partner.box[3]
         - one.box[1] - one.box[3])
        for one in ours.leaves
        if one.partner is not None
    ]  # fmt: skip
    known = np.array(shifts, np.float64).reshape(-1, 4)
    nodes = [n for n in ours.root.walk() if n.kind in ("surface", "image", "control")]
    for node in nodes:
        box = _found(ours.rgb, theirs.rgb, node.box, _candidates(node, known))
        node.paint = _with_colour(node, ours.rgb)
        if box is None:
            continue
        twin = Node(node.kind, box, node.order, node.tag, parent=theirs.root)
        twin.font = node.font
        twin.paint = node.paint
        twin.paint = _with_colour(twin, theirs.rgb, but=[one.box for one in theirs.leaves])
        marry(node, twin)
        theirs.root.children.append(twin)


def _candidates(node: Node, known: npt.NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return by how much a thing may be displaced, the likeliest first."""
    inside = [
        (leaf.partner.box[0] - leaf.box[0], leaf.partner.box[1] - leaf.box[1])
        for leaf in node.leaves()
        if leaf.partner is not None and leaf is not node
    ]
    found = [(round(x), round(y)) for x, y in inside[:6]]
    if len(known):
        middle = node.box[1] + node.box[3] / 2
        near = known[np.argsort(np.abs(known[:, 0] - middle), kind="stable")[:8]]
        found += [(0, round(y)) for y in near[:, 2]] + [(0, round(y)) for y in near[:, 3]]
        found += [(round(x), round(y)) for x, y in near[:, 1:3]]
    return list(dict.fromkeys([*found, (0, 0)]))


def _found(
    ours: Rgb, theirs: Rgb, box: PixelRect, candidates: Sequence[tuple[int, int]]
) -> PixelRect | None:
    """Return where a thing is in the other picture: displaced, of another colour or size."""
    x, y, w, h = (round(value) for value in box)
    for dx, dy in candidates:
        if _outline_apart(ours, theirs, (x, y, w, h), dx, dy) <= SAME_OUTLINE:
            return float(x + dx), float(y + dy), float(w), float(h)
    for dx, dy in candidates:
        if _has_outline(theirs, (x + dx, y + dy, w, h)):
            return float(x + dx), float(y + dy), float(w), float(h)
    for dx, dy in candidates[:4]:
        if (found := _resized(theirs, (x, y, w, h), dx, dy)) is not None:
            return found
    return None


def _strips(box: tuple[int, int, int, int]) -> list[tuple[slice, slice]]:
    x, y, w, h = box
    rows, columns = slice(max(y, 0), max(y + h, 0)), slice(max(x, 0), max(x + w, 0))
    across = [slice(max(edge - STRIP, 0), max(edge + STRIP, 0)) for edge in (y, y + h)]
    down = [slice(max(edge - STRIP, 0), max(edge + STRIP, 0)) for edge in (x, x + w)]
    return [*((part, columns) for part in across), *((rows, part) for part in down)]


def _outline_apart(
    ours: Rgb, theirs: Rgb, box: tuple[int, int, int, int], dx: int, dy: int
) -> float:
    """Return by how much the outline of a thing differs, at the worst of its sides."""
    x, y, w, h = box
    worst = 0.0
    for a, b in zip(_strips(box), _strips((x + dx, y + dy, w, h)), strict=True):
        mine, other = ours[a], theirs[b]
        if mine.size == 0 and other.size == 0:
            continue
        rows, columns = (min(mine.shape[axis], other.shape[axis]) for axis in (0, 1))
        if rows < 1 or columns < 1:
            return 255.0
        mine, other = mine[:rows, :columns], other[:rows, :columns]
        worst = max(worst, float(cv2.absdiff(mine, other).mean()))
    return worst


def _has_outline(picture: Rgb, box: tuple[int, int, int, int]) -> bool:
    """Return whether a box has edges on most of its sides."""
    x, y, w, h = box
    height, width = picture.shape[:2]
    if x < 0 or y < 0 or x + w > width or y + h > height or w < 4 or h < 4:
        return False
    inset = max(min(w, h) // 5, 1)
    down, across = slice(y + inset, y + h - inset), slice(x + inset, x + w - inset)
    lines = (
        (picture[y, across], picture[y - 1, across], y > 0),
        (picture[y + h - 1, across], picture[min(y + h, height - 1), across], y + h < height),
        (picture[down, x], picture[down, x - 1], x > 0),
        (picture[down, x + w - 1], picture[down, min(x + w, width - 1)], x + w < width),
    )
    shown = [
        float((np.abs(inside.astype(np.int16) - outside).max(axis=-1) >= EDGE).mean()) >= 0.7
        for inside, outside, on_page in lines
        if on_page and inside.size
    ]
    seen, sides = sum(shown), len(shown)
    return sides > 0 and seen >= max(sides - 1, 1) and seen >= 2


def _resized(theirs: Rgb, box: tuple[int, int, int, int], dx: int, dy: int) -> PixelRect | None:
    """Return a thing of another size with the same top left corner, or the same middle."""
    x, y, w, h = box
    best: tuple[float, PixelRect] | None = None
    for wide, high in ((True, False), (False, True), (True, True)):
        for by in range(-min(SEARCH, (w if wide else h) // 2), SEARCH + 1):
            if by == 0:
                continue
            grown_w = w + by if wide else w
            grown_h = h + (round(by * h / max(w, 1)) if wide and high else by) if high else h
            for left in {x + dx, x + dx - (grown_w - w) // 2, x + dx - (grown_w - w)}:
                placed = left, y + dy, grown_w, grown_h
                if grown_h < 4 or grown_w < 4 or not _has_outline(theirs, placed):
                    continue
                cost = abs(by)
                if best is None or cost < best[0]:
                    best = cost, tuple(float(value) for value in placed)  # type: ignore[assignment]
    return None if best is None else best[1]


def _with_colour(node: Node, picture: Rgb, but: Sequence[PixelRect] = ()) -> str:
    """Return the paint of a node with the colour that its pixels have."""
    _, rest = node.paint.split("|", 1)
    if node.kind == "image":
        return node.paint
    colour = _plain_colour(node, picture, but)
    return node.paint if colour is None else f"rgb({colour[0]}, {colour[1]}, {colour[2]})|{rest}"


def _plain_colour(node: Node, picture: Rgb, but: Sequence[PixelRect]) -> Color | None:
    """Return the commonest colour of a surface beside what lies on it."""
    x, y, w, h = (round(value) for value in node.box)
    part = picture[max(y, 0) : y + h, max(x, 0) : x + w]
    if part.size == 0:
        return None
    free = np.ones(part.shape[:2], np.bool_)
    for a, b, c, d in [*(one.box for child in node.children for one in child.walk()), *but]:
        if c * d < 0.7 * w * h:
            rows = slice(max(round(b - y), 0), max(round(b + d - y), 0))
            free[rows, max(round(a - x), 0) : max(round(a + c - x), 0)] = False
    pixels = part[free] if free.any() else part.reshape(-1, 3)
    values, counts = np.unique(pixels.astype(np.uint32) @ np.array([65536, 256, 1], np.uint32),
                               return_counts=True)  # fmt: skip
    common = int(values[counts.argmax()])
    return common >> 16, common >> 8 & 255, common & 255


# --- what else the screenshot shows


def _add_left_over(ours: Scene, theirs: Scene) -> None:
    """Add what the screenshot shows where the page has nothing: pictures that are missing."""
    height, width = theirs.rgb.shape[:2]
    moved = sorted(
        (one.box[1], one.partner.box[1] - one.box[1])
        for one in theirs.root.children
        if one.partner is not None
    )
    rows = np.arange(height)
    if moved:
        tops = np.array([top for top, _ in moved])
        shifts = np.array([shift for _, shift in moved])
        rows = rows + np.round(shifts[np.searchsorted(tops, rows).clip(0, len(tops) - 1)]).astype(
            int
        )
    valid = (rows >= 0) & (rows < ours.rgb.shape[0])
    across = min(width, ours.rgb.shape[1])
    apart = np.zeros((height, width), np.uint8)
    there = ours.rgb[rows[valid], :across]
    apart[valid, :across] = cv2.absdiff(theirs.rgb[valid, :across], there).max(axis=2)
    for node in theirs.root.children:
        x, y, w, h = (round(value) for value in node.box)
        apart[max(y - 4, 0) : y + h + 4, max(x - 4, 0) : x + w + 4] = 0
    for node in ours.root.walk():  # what the page shows there is told as it is
        if node.is_drawn and node.partner is None:
            x, y, w, h = (round(value) for value in node.box)
            apart[max(y - 4, 0) : y + h + 4, max(x - 4, 0) : x + w + 4] = 0
    small = cv2.resize(apart, (max(width // CELL, 1), max(height // CELL, 1)),
                       interpolation=cv2.INTER_AREA)  # fmt: skip
    _, _, stats, _ = cv2.connectedComponentsWithStats((small >= LEFT_OVER).astype(np.uint8))
    for x, y, w, h, area in stats[1:].tolist():
        box = float(x * CELL), float(y * CELL), float(w * CELL), float(h * CELL)
        gray = theirs.rgb[y * CELL : (y + h) * CELL, x * CELL : (x + w) * CELL]
        shown = gray.size and int(gray.max()) - int(gray.min()) >= LEFT_OVER
        if area >= SMALLEST and shown and area >= 0.4 * w * h:
            theirs.root.children.append(Node("image", box, tag="img", parent=theirs.root))
