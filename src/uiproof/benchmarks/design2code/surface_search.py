"""Find the pictures, controls and surfaces of a page in a screenshot, by their sides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isqrt
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.blocks import Color, PixelRect
from uiproof.benchmarks.design2code.pairing import marry, sibling_shifts
from uiproof.benchmarks.design2code.pixels import (
    EDGE,
    LEFT_OVER,
    contrast,
    crop,
    has_same_shape,
    is_equal,
    levels_apart,
    surrounding_colour,
    whole,
)
from uiproof.benchmarks.design2code.scene import Node, Scene, Shift, overlap, shift_of
from uiproof.benchmarks.design2code.strict import commonest_colour
from uiproof.benchmarks.design2code.text_search import CLAIMED, NEAR, SAME_PIXEL
from uiproof.benchmarks.design2code.wording import size_of
from uiproof.vision.images import Rgb

SAME_SIDE = 0.85  # of the pixels along a side of a thing that is found again
SAME_PICTURE = 0.9  # correlation of a picture with the place where it is
EDGE_SAMPLES = 32  # pixels of a side that are looked at
MOST_EDGE = 0.8  # of the pixels of a side between which there is an edge
SHORTEST = 6  # pixels of a side that is looked for
SEARCH = 90  # pixels that an edge of a thing may be displaced by
MOST_GUESSES = 3  # of where a picture of another size may be
MOST_SAMPLED = 20_000  # pixels of a surface, to tell whether it is plain
FILLS = 0.8  # of a surface is filled by what is made wider with it
PLAIN = 0.3  # of the free pixels of a surface have its plain colour

LEFT, TOP, RIGHT, BOTTOM = range(4)

Gray = npt.NDArray[np.uint8]


def find_surfaces(ours: Scene, theirs: Scene) -> None:
    """Give the drawn things of a page partners where the screenshot shows the same."""
    leaves = [one for one in ours.leaves if one.partner is not None]
    known = np.array(
        [
            (one.box[1] + one.box[3] / 2, one.box[0] + one.box[2] / 2, *shift_of(one))
            for one in leaves
        ],
        np.float64,
    ).reshape(-1, 4)
    search = _SurfaceSearch(ours.rgb, theirs.rgb)
    nodes = [n for n in ours.root.walk() if n.kind in ("surface", "image", "control")]
    found = [one.partner for one in leaves if one.partner is not None]
    # First what stands beside texts that were found: a copy of it may be new.
    for node in sorted(nodes, key=_is_beside_lost_texts):
        texts = [leaf for leaf in node.leaves() if leaf.kind == "text"]
        if texts and all(leaf.partner is None for leaf in texts):
            continue  # what it holds is not there either
        expected = _expected(node, known)
        if _is_beside_lost_texts(node):
            if (shift := _shift_around(node, leaves)) is None:
                continue
            expected = [shift]
        box = search.find(node, expected)
        if texts and node.background and (box is None or size_of(box) != size_of(node.box)):
            there = [leaf.partner.box for leaf in texts if leaf.partner is not None]
            box = search.plain_around(there) or box
        if box is None and node.is_leaf:
            box = search.other_picture(node, expected[0], found)
        if box is not None and texts and not _holds_any(box, texts):
            box = _moved(node.box, [*shift_of(texts[0])] * 2) if texts[0].partner else None
        if box is None or (node.is_leaf and _is_taken(box, node, found)):
            continue
        twin = Node(node.kind, box, node.order, node.tag, parent=theirs.root)
        twin.font, twin.paint = node.font, node.paint
        marry(node, twin)
        theirs.root.children.append(twin)
        if node.is_leaf:
            found.append(twin)
    for node in nodes:
        paint_plain(node, ours.rgb, theirs.rgb)


def _is_beside_lost_texts(node: Node) -> bool:
    """Return whether none of the texts nearest to a thing was found."""
    for one in (node, *node.ancestors()):
        texts = [leaf for leaf in one.leaves() if leaf.kind == "text"]
        if texts:
            return all(leaf.partner is None for leaf in texts)
    return False


def _shift_around(node: Node, paired: Sequence[Node]) -> Shift | None:
    """Return by how much what is before and after a thing is displaced; None if not the same."""
    before = [one for one in paired if one.order < node.order][-1:]
    after = [one for one in paired if one.order > node.order][:1]
    shifts = [shift_of(one) for one in (*before, *after)]
    return shifts[0] if shifts and all(one == shifts[0] for one in shifts) else None


def _holds_any(box: PixelRect, texts: Iterable[Node]) -> bool:
    """Return whether a place holds one of the texts that were found, or there are none."""
    there = [one.partner.box for one in texts if one.partner is not None]
    return not there or any(overlap(box, one) >= 0.5 * one[2] * one[3] for one in there)


def _is_taken(box: PixelRect, node: Node, found: Iterable[Node]) -> bool:
    """Return whether a place belongs to another thing, beyond those that it lies on anyway."""
    area = box[2] * box[3]
    return any(
        overlap(box, one.box) > 0.7 * max(area, one.box[2] * one.box[3])
        and (one.partner is None or overlap(node.box, one.partner.box) < 0.5 * area)
        for one in found
    )


def _expected(node: Node, known: npt.NDArray[np.float64]) -> list[Shift]:
    """Return by how much a thing may be displaced, the likeliest first."""
    inside = [shift_of(leaf) for leaf in node.leaves() if leaf.partner is not None]
    found = [*dict.fromkeys(inside)][:4]
    found += [(round(-dx), round(-dy)) for dx, dy in sibling_shifts(node)]
    if inside and len(inside) > 4:
        found = [Counter(inside).most_common(1)[0][0], *found]
    if len(known):
        x, y, w, h = node.box
        apart = np.abs(known[:, 0] - y - h / 2) + 0.3 * np.abs(known[:, 1] - x - w / 2)
        near = known[np.argsort(apart, kind="stable")[:6], 2:]
        found += [(round(dx), round(dy)) for dx, dy in near]
        found += [(0, round(dy)) for _, dy in near]
    return [*dict.fromkeys([*found, (0, 0)])]


class _SurfaceSearch:
    """Looks for pictures, controls and surfaces in a screenshot, by their four sides."""

    def __init__(self, ours: Rgb, theirs: Rgb) -> None:
        self.ours, self.theirs = ours, theirs
        self.radius = 0  # of the corners of the thing that is looked for
        self.plain: dict[Color, Any] = {}  # areas of each colour, and their boxes

    def find(self, node: Node, expected: Sequence[Shift]) -> PixelRect | None:
        """Return where a thing is: displaced, of another size or of another colour."""
        x, y, w, h = (round(value) for value in node.box)
        if w < 2 or h < 2:
            return None
        (height, width), (their_height, their_width) = self.ours.shape[:2], self.theirs.shape[:2]
        # Sides at the edge of the page stay there.
        fixed = {LEFT: 0} if x <= 0 else {}
        fixed |= {TOP: 0} if y <= 0 else {}
        fixed |= {RIGHT: their_width - width} if x + w >= width else {}
        fixed |= {BOTTOM: their_height - height} if y + h >= height else {}
        box = x, y, w, h
        self.radius = _radius(node)
        is_picture = node.kind == "image" and not node.children
        if is_picture:
            place = self._like(box, expected)
            shifts = expected[:MOST_GUESSES] if place is None else [(place[0] - x, place[1] - y)]
            for dx, dy in shifts:
                # The place that fits may be a part of the same surface in another size.
                ground = surrounding_colour(self.ours, box)
                there = self._extent((x + dx, y + dy, w, h), (), ground)
                if there[2:] != (w, h) and self._is_scaled(box, whole(there)):
                    return there
            if place is not None:
                return _moved(node.box, [*shifts[0]] * 2)
        drawn = _drawn_sides(node)
        visible = [side in drawn and side not in fixed for side in range(4)]
        for side in range(4):
            if visible[side]:
                box, visible[side] = self._sharpened(box, side)
        if not any(visible) and not node.children:  # round, for example
            place = self._unchanged(box, expected)
            return None if place is None else _moved(node.box, [place[0] - x, place[1] - y] * 2)
        if not any(visible):  # it ends where what it holds ends
            held = any(leaf.partner for leaf in node.leaves())
            return self._by_sides(node, box, visible, fixed, expected) if held else None
        for axis, sides in ((0, (LEFT, RIGHT)), (1, (TOP, BOTTOM))):
            if not any(visible[side] for side in sides) and not set(sides) & set(fixed):
                fixed |= dict(zip(sides, _shifts_of_holder(node, axis), strict=True))
        inside = {shift_of(leaf) for leaf in node.leaves() if leaf.partner is not None}
        # A container is placed around its children that were found.
        for dx, dy in [one for one in expected if one in inside] or expected:
            moved = [dx, dy, dx, dy]
            there = box[0] + dx, box[1] + dy, *box[2:]
            if all(moved[side] == value for side, value in fixed.items()) and all(
                self._sides(box, there, side, (0, 1, -1))[0].any()
                for side in range(4)
                if visible[side]
            ):
                return _moved(node.box, moved)
        return self._by_sides(node, box, visible, fixed, expected)

    def _sharpened(
        self, box: tuple[int, int, int, int], side: int
    ) -> tuple[tuple[int, int, int, int], bool]:
        """Return a box with one side where its edge is seen, and whether it is."""
        edges = [
            float(one) for one in self._sides(box, box, side, (0, 1, -1), of_theirs=self.ours)[2]
        ]
        by = next((by for by, share in zip((0, 1, -1), edges, strict=True) if share >= 0.5), None)
        if not by:
            return box, by is not None
        x, y, w, h = box
        if side in (LEFT, TOP):
            return (x + by, y, w - by, h) if side == LEFT else (x, y + by, w, h - by), True
        return (x, y, w + by, h) if side == RIGHT else (x, y, w, h + by), True

    def other_picture(self, node: Node, shift: Shift, found: Sequence[Node]) -> PixelRect | None:
        """Return the place of a thing where the screenshot shows another one in its stead."""
        x, y, w, h = node.box
        box = x + shift[0], y + shift[1], w, h
        part = crop(self.theirs, whole(box))
        if part.size < 0.9 * 3 * w * h or contrast(part) < LEFT_OVER:
            return None
        claimed = sum(overlap(box, one.box) for one in found)
        if claimed > CLAIMED * w * h:
            return None
        return self._extent(box, found)

    def _extent(
        self, box: PixelRect, found: Sequence[Node], ground: Color | None = None
    ) -> PixelRect:
        """Return the box around what stands out from the plain ground at a place."""
        x, y, w, h = whole(box)
        margin = max(w, h, 12) // 2
        left, top = max(x - margin, 0), max(y - margin, 0)
        window = crop(self.theirs, (left, top, x + w + margin - left, y + h + margin - top))
        ground = ground or surrounding_colour(self.theirs, box)
        shown = (levels_apart(window, ground) > EDGE).astype(np.uint8)
        for one in found:
            a, b, c, d = (round(value) for value in one.box)
            shown[
                max(b - top, 0) : max(b + d - top, 0), max(a - left, 0) : max(a + c - left, 0)
            ] = 0
        _, labels, stats, _ = cv2.connectedComponentsWithStats(shown, connectivity=8)
        inside = labels[y - top : y - top + h, x - left : x - left + w]
        often = np.bincount(inside[inside > 0]) if (inside > 0).any() else np.zeros(1)
        a, b, c, d, area = stats[int(often.argmax())].tolist()
        is_cut = min(a, b) <= 0 or a + c >= window.shape[1] or b + d >= window.shape[0]
        plain = float((_rim(shown) == 0).mean()) > 1 - PLAIN
        if not often.any() or is_cut or not plain or area < 0.3 * min(w * h, c * d):
            return box
        return float(left + a), float(top + b), float(c), float(d)

    def plain_around(self, texts: Sequence[PixelRect]) -> PixelRect | None:
        """Return the box of what has the plain colour behind all of some texts; None for a page."""
        behind = Counter(surrounding_colour(self.theirs, box) for box in texts)
        colour = behind.most_common(1)[0][0]
        if colour not in self.plain:
            same = (levels_apart(self.theirs, colour) <= EDGE // 2).astype(np.uint8)
            self.plain[colour] = cv2.connectedComponentsWithStats(same, connectivity=4)[1:3]
        labels, stats = self.plain[colour]
        x, y, w, h = whole(texts[0])
        beside = labels[max(y - 3, 0) : y + h + 3, max(x - 3, 0) : x + w + 3]
        often = np.bincount(beside[beside > 0]) if beside.any() else np.zeros(1)
        left, top, width, height, _ = stats[int(often.argmax())].tolist()
        found = float(left), float(top), float(width), float(height)
        holds_all = all(overlap(found, one) >= 0.9 * one[2] * one[3] for one in texts)
        is_page = height > 0.9 * len(self.theirs)
        return found if often.any() and holds_all and not is_page else None

    def _like(self, box: tuple[int, int, int, int], expected: Sequence[Shift]) -> Shift | None:
        """Return where the same picture is, near to where it is expected."""
        x, y, w, h = box
        part = crop(self.ours, box)
        if part.size == 0 or int(part.max()) - int(part.min()) < LEFT_OVER or w * h > 400_000:
            return None
        if (place := self._unchanged(box, expected)) is not None:
            return place
        for dx, dy in expected[:2]:
            left, top = max(x + dx - NEAR[0], 0), max(y + dy - NEAR[1], 0)
            right, bottom = max(x + dx + w + NEAR[0], 0), max(y + dy + h + NEAR[1], 0)
            area = self.theirs[top:bottom, left:right]
            if area.shape[0] < part.shape[0] or area.shape[1] < part.shape[1]:
                continue
            alike = cv2.matchTemplate(area, part, cv2.TM_CCOEFF_NORMED)
            alike[~np.isfinite(alike)] = -1
            _, best, _, (column, row) = cv2.minMaxLoc(alike)
            if best >= SAME_PICTURE:
                return left + column, top + row
        return None

    def _unchanged(self, box: tuple[int, int, int, int], expected: Sequence[Shift]) -> Shift | None:
        """Return where the same pixels are, of all places where a thing may be."""
        x, y, w, h = box
        for dx, dy in expected:
            there = float(x + dx), float(y + dy), float(w), float(h)
            if min(x + dx, y + dy) >= 0 and is_equal(self.ours, self.theirs, box, there):
                return x + dx, y + dy
        for dx, dy in expected[:4]:
            part = crop(self.theirs, (x + dx, y + dy, w, h))
            if min(x + dx, y + dy) >= 0 and has_same_shape(crop(self.ours, box), part):
                return x + dx, y + dy
        return None

    def _by_sides(
        self,
        node: Node,
        box: tuple[int, int, int, int],
        visible: Sequence[bool],
        fixed: Mapping[int, int],
        expected: Sequence[Shift],
    ) -> PixelRect | None:
        """Look for each side by itself, nearest to where what is beside it lets expect it.

        An upper side can only be told where its ends are known, and the other way round.
        """
        for sides in ((TOP, BOTTOM, LEFT, RIGHT), (LEFT, RIGHT, TOP, BOTTOM)):
            if (there := self._in_order(sides, node, box, visible, fixed, expected)) is not None:
                return there
        return None

    def _in_order(
        self,
        sides: Sequence[int],
        node: Node,
        box: tuple[int, int, int, int],
        visible: Sequence[bool],
        fixed: Mapping[int, int],
        expected: Sequence[Shift],
    ) -> PixelRect | None:
        guesses = _guesses(node, expected)
        found = [fixed.get(side, guess[0]) for side, guess in enumerate(guesses)]
        lost = weak = 0
        # Twice, as the second time the length of each side is known; then any edge will do.
        for is_last in (False, True):
            lost = weak = 0
            for side in sides:
                if not visible[side]:
                    continue
                by, is_same = self._side(box, side, found, guesses[side], bool(node.children))
                if by is None or not (is_same or is_last):
                    lost += 1
                else:
                    found[side] = by
                    weak += not is_same
        there = _moved(node.box, found)
        if (lost > sum(visible) // 3 and len(fixed) < 3) or min(there[2:]) < 4:
            return None
        is_moved = found[LEFT] == found[RIGHT] and found[TOP] == found[BOTTOM]
        stays = is_moved and (found[LEFT], found[TOP]) in expected
        if weak > 1 and not stays and not node.children and not self._is_scaled(box, whole(there)):
            return None  # edges of anything
        return there

    def _is_scaled(self, box: tuple[int, int, int, int], there: tuple[int, int, int, int]) -> bool:
        """Return whether a thing shows the same in another size."""
        a, b = crop(self.ours, box), crop(self.theirs, there)
        if not a.size or not b.size:
            return False
        small = [cv2.resize(one, (16, 16), interpolation=cv2.INTER_AREA) for one in (a, b)]
        return float(cv2.absdiff(*small).mean()) <= LEFT_OVER

    def _side(
        self,
        box: tuple[int, int, int, int],
        side: int,
        found: Sequence[int],
        guesses: Sequence[int],
        holds: bool,
    ) -> tuple[int | None, bool]:
        """Return by how much a side is displaced, and whether it looks the same.

        A side of few straight pixels is not told from the letters that the thing `holds`.
        """
        there = whole(_moved(box, found))
        if min(there[2:]) < 2:
            return None, False
        most = max(SEARCH, min(box[2 if side in (LEFT, RIGHT) else 3], 4 * SEARCH))
        straight = there[3 if side in (LEFT, RIGHT) else 2] - 2 * self._inset(there)
        if holds and straight < SHORTEST:
            most = 2
        # Try the neighbours' displacement, then the same size, then anywhere nearby.
        likely = [*dict.fromkeys([*guesses, found[(side + 2) % 4]])]
        same, half, edges = self._sides(box, there, side, [by - found[side] for by in likely])
        if (which := same | half & (edges >= MOST_EDGE)).any():
            return likely[int(which.argmax())], True
        scan = [guesses[0] + by for by in sorted(range(-most, most + 1), key=abs)]
        likely_edge = edges >= MOST_EDGE
        same, half, edges = self._sides(box, there, side, [by - found[side] for by in scan])
        edge = edges >= MOST_EDGE
        for steps, which, is_same in (
            *((scan, same, True), (scan, half & edge, True)),
            *((likely, likely_edge, False), (scan, edge, False)),
        ):
            if which.any():
                return steps[int(which.argmax())], is_same
        return (guesses[0], True) if most == 2 else (None, False)

    def _inset(self, box: tuple[int, int, int, int]) -> int:
        """Return how much of a side belongs to its corners."""
        low = min(box[2:])
        return max(low // 5, min(self.radius, round(0.42 * low)), 1)

    def _lines(
        self, picture: Rgb, box: tuple[int, int, int, int], side: int, steps: Sequence[int]
    ) -> tuple[Rgb, Rgb, npt.NDArray[np.bool_]]:
        """Return the pixels just inside and outside of a side for some steps, and which exist."""
        x, y, w, h = box
        height, width = picture.shape[:2]
        inset = self._inset(box)
        across = side in (TOP, BOTTOM)
        start, end, limit = (x, x + w, width) if across else (y, y + h, height)
        places = np.linspace(start + inset, end - 1 - inset, EDGE_SAMPLES).round().astype(int)
        on_page = (places >= 0) & (places < limit)
        places = places.clip(0, limit - 1)
        inner = {TOP: y, BOTTOM: y + h - 1, LEFT: x, RIGHT: x + w - 1}[side]
        out = -1 if side in (TOP, LEFT) else 1
        lines = inner + np.array(steps)
        depth = height if across else width
        valid = (lines >= 0) & (lines < depth) & (lines + out >= 0) & (lines + out < depth)
        insides, outsides = lines.clip(0, depth - 1), (lines + out).clip(0, depth - 1)
        if across:
            pair_ = picture[insides[:, None], places], picture[outsides[:, None], places]
        else:
            pair_ = picture[places, insides[:, None]], picture[places, outsides[:, None]]
        return *pair_, valid[:, None] & on_page

    def _sides(
        self,
        box: tuple[int, int, int, int],
        other: tuple[int, int, int, int],
        side: int,
        steps: Sequence[int],
        of_theirs: Rgb | None = None,
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
        """Compare a side with that of another box, for some steps.

        Returns whether both pixels of the edge are the same, whether one of them is, and how much
        of the side is an edge at all.
        """
        a, b, there = self._lines(self.ours, box, side, [0])
        theirs = self.theirs if of_theirs is None else of_theirs
        c, d, valid = self._lines(theirs, other, side, steps)
        valid = valid & there
        # An edge of few levels is none where both sides may differ by as many.
        most = (levels_apart(a, b) / 2).clip(2, SAME_PIXEL / 2)
        inside, outside = levels_apart(c, a), levels_apart(d, b)
        same = (np.maximum(inside, outside) <= most) & valid
        half = (np.minimum(inside, outside) <= np.minimum(most, EDGE)) & valid
        edges = (levels_apart(c, d) >= EDGE) & valid
        return (
            same.mean(axis=1) >= SAME_SIDE,
            half.mean(axis=1) >= SAME_SIDE,
            np.asarray(edges.mean(axis=1), np.float64),
        )


def _moved(box: Sequence[float], by: Sequence[float]) -> PixelRect:
    """Return a box with its left, upper, right and lower sides displaced."""
    x, y, w, h = box
    left, top = x + by[LEFT], y + by[TOP]
    return left, top, x + w + by[RIGHT] - left, y + h + by[BOTTOM] - top


def _rim(shown: Gray) -> Gray:
    """Return the pixels along the four sides of a window."""
    return np.concatenate([shown[0], shown[-1], shown[:, 0], shown[:, -1]])


def _radius(node: Node) -> int:
    """Return the radius of a thing's corners, in pixels; shares are of its height."""
    found = re.match(r"([\d.]+)(px|%)", node.paint.split("|")[3])
    if found is None:
        return 0
    return round(float(found[1]) * (1 if found[2] == "px" else node.box[3] / 100))


def _drawn_sides(node: Node) -> set[int]:
    """Return the sides of a thing that its style draws; what it holds may end there as well."""
    _, picture, border, _, shadow, _ = node.paint.split("|")
    if node.kind != "surface" or node.background or picture != "none" or shadow != "none":
        return {LEFT, TOP, RIGHT, BOTTOM}
    sides = re.split(r", (?![^(]*\))", border)  # above, right, below, left; one if all are alike
    if len(sides) == 1:
        sides *= 4
    return {side for side, line in zip((TOP, RIGHT, BOTTOM, LEFT), sides, strict=True) if line}


def _shifts_of_holder(node: Node, axis: int) -> tuple[int, int]:
    """Return by how much both ends of a thing are displaced with the surface around it."""
    holder = next((one for one in node.ancestors() if one.partner is not None), None)
    if holder is None:
        return 0, 0
    ours, theirs = holder.box, holder.twin.box
    start = round(theirs[axis] - ours[axis])
    fills = node.box[axis + 2] > FILLS * ours[axis + 2]
    return start, start + (round(theirs[axis + 2] - ours[axis + 2]) if fills else 0)


def _guesses(node: Node, expected: Sequence[Shift]) -> list[list[int]]:
    """Return by how much each side may be displaced: as what it holds beside it, or around it."""
    inside = [leaf for leaf in node.leaves() if leaf.partner is not None]
    ends = {
        LEFT: lambda leaf: leaf.box[0],
        TOP: lambda leaf: leaf.box[1],
        RIGHT: lambda leaf: -leaf.box[0] - leaf.box[2],
        BOTTOM: lambda leaf: -leaf.box[1] - leaf.box[3],
    }
    found = []
    for side in range(4):
        axis = 0 if side in (LEFT, RIGHT) else 1
        own = []
        if inside:
            leaf = min(inside, key=ends[side])
            assert leaf.partner is not None
            grown = leaf.partner.box[axis + 2] - leaf.box[axis + 2]
            own = [shift_of(leaf)[axis] + (round(grown) if side in (RIGHT, BOTTOM) else 0)]
        found.append([*dict.fromkeys([*own, *(one[axis] for one in expected), 0])])
    return found


def paint_plain(node: Node, ours: Rgb, theirs: Rgb) -> None:
    """Give a thing and its partner the plain colours that they have in both pictures."""
    twin = node.partner
    if twin is None or node.kind == "image" or node.paint.split("|")[1] != "none":
        return
    dx, dy = twin.box[0] - node.box[0], twin.box[1] - node.box[1]
    held = [one for child in node.children for one in child.walk() if one.is_drawn]
    there = [
        (one.box[0] + dx, one.box[1] + dy, *one.box[2:]) if one.partner is None else one.partner.box
        for one in held
    ]
    a = _plain_colour(ours, node.box, [one.box for one in held])
    b = _plain_colour(theirs, twin.box, there)
    if a is None or b is None:
        return
    if node.background is None and (a, b) == (
        surrounding_colour(ours, node.box),
        surrounding_colour(theirs, twin.box),
    ):
        return  # what is behind it is seen
    for one, (red, green, blue) in ((node, a), (twin, b)):
        one.paint = f"rgb({red}, {green}, {blue})|{one.paint.split('|', 1)[1]}"


def _plain_colour(picture: Rgb, box: PixelRect, held: Iterable[PixelRect]) -> Color | None:
    """Return the commonest colour of a surface beside what lies on it; None where nothing is."""
    x, y, w, h = (round(value) for value in box)
    part = crop(picture, (x, y, w, h))
    free = np.ones(part.shape[:2], np.bool_)
    x, y = max(x, 0), max(y, 0)
    for a, b, c, d in held:
        rows = slice(max(round(b - y), 0), max(round(b + d - y), 0))
        free[rows, max(round(a - x), 0) : max(round(a + c - x), 0)] = False
    step = max(isqrt(free.size // MOST_SAMPLED), 1)
    part, free = part[::step, ::step], free[::step, ::step]
    if free.sum() < max(0.04 * free.size, 20 / step**2):
        return None
    pixels = part[free]
    plain = commonest_colour(pixels[None])
    if float((levels_apart(pixels, plain) <= EDGE).mean()) < PLAIN:
        return None  # a gradient or a picture
    return plain
