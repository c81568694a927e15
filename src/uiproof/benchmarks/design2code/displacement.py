"""Find where a displacement begins: things that keep their distance to their neighbours follow.

Every thing with a partner on the reference page is compared with what stands around it: the things
above and beside it, and the surface that holds it. It stands right if any of these relations is
that of the reference, so a margin that pushes the rest of a page down is found once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.blocks import PixelRect
from uiproof.benchmarks.design2code.scene import Node, around

TOLERANCE = 2.0  # pixels that nobody sees
MATES_APART = 12.0  # pixels between the lines that things of one row are aligned by
MATES = 0.5  # of the height of the lower of two things that stand in one row

OVERLAP = 12.0  # pixels by which things may lie on each other
MARGIN = 80.0  # pixels that a thing which is gone or came may take beyond its own height
LEAST_MIRRORED = 5  # things that stand on the other side of a mirrored page
MOST_MIRRORED = 0.6  # of what is displaced to one side stands there
END_APART = 80.0  # pixels between the end of a surface and of one that reaches down as far

Edges = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shift:
    """A thing that does not stand, or is not as large, as its neighbours let expect."""

    kind: Literal["moved", "spacing", "resized"]
    nodes: tuple[Node, ...]  # of the generated page: where it begins, and what else it is about
    dx: float = 0.0  # pixels; for `resized`, how much wider
    dy: float = 0.0
    was: float = 0.0  # the distance on the reference page, for `spacing`
    area: float = 0.0  # of everything that is displaced by it
    rows: tuple[int, int] | None = None  # in which the nodes stand, and should, if these differ


def shifts(
    root: Node,
    other_root: Node,
    *,
    missing: Sequence[Node],
    extra: Sequence[Node],
    unsteady: set[Node],
    unordered: set[Node],
    mirrored: bool = False,
) -> list[Shift]:
    """Return where displacements begin.

    `missing` and `extra` are the nodes that only one page has, `unsteady` the nodes of the
    generated page whose own size is a difference of another kind, `unordered` those that stand in
    another order. Of a `mirrored` page, left and right are compared the other way round.
    """
    found: list[Shift] = []
    rearranged: set[Node] = set()
    fitted: set[Node] = set()
    for holder in root.walk():
        if holder is root or (holder.is_drawn and holder.partner is not None and holder.children):
            other = other_root if holder is root else holder.partner
            assert other is not None
            group = _Group(holder, other, missing, extra, unsteady, unordered)
            group.is_rearranged, group.is_fitted = holder in rearranged, holder in fitted
            if mirrored:
                width = root.box[2]
                group.g, group.outer_g = (
                    _mirrored(edges, width) for edges in (group.g, group.outer_g)
                )
            of_group = group.shifts()
            if mirrored:
                of_group = [_with_dx(one, -one.dx) for one in of_group if not _stays(one, holder)]
            found += of_group
            rearranged.update(group.rearranged)
            fitted.update(group.fitted)
    return found


def is_mirrored(root: Node, other_root: Node) -> bool:
    """Return whether what a page shows left should be right, as of another writing direction."""
    pairs = [(leaf.box, leaf.partner.box) for leaf in root.leaves() if leaf.partner is not None]
    if not pairs or abs(root.box[2] - other_root.box[2]) > TOLERANCE:
        return False
    g, r = (_edges(boxes) for boxes in zip(*pairs, strict=True))
    displaced, opposite = (
        np.abs(edges - r)[:, [LEFT, RIGHT]].max(axis=1) > TOLERANCE
        for edges in (g, _mirrored(g, root.box[2]))
    )
    there = int((displaced & ~opposite).sum())
    return there >= LEAST_MIRRORED and there > MOST_MIRRORED * int(displaced.sum())


def _mirrored(edges: Edges, width: float) -> Edges:
    found = edges.copy()
    found[..., LEFT], found[..., RIGHT] = width - edges[..., RIGHT], width - edges[..., LEFT]
    return found


def _flat(holder: Node) -> Iterator[Node]:
    """Yield the nearest things inside of a surface that have partners."""
    for child in holder.children:
        if child.is_drawn and child.partner is not None:
            yield child
        else:
            yield from _flat(child)


def _edges(boxes: Sequence[PixelRect]) -> Edges:
    return np.array([(x, y, x + w, y + h) for x, y, w, h in boxes], np.float64).reshape(-1, 4)


LEFT, TOP, RIGHT, BOTTOM = range(4)


class _Group:
    """The things inside of one surface, or on the page itself."""

    def __init__(
        self,
        holder: Node,
        other: Node,
        missing: Sequence[Node],
        extra: Sequence[Node],
        unsteady: set[Node],
        unordered: set[Node],
    ) -> None:
        self.holder, self.other = holder, other
        self.is_page = holder.parent is None
        self.nodes = list(_flat(holder))
        partners = [node.partner for node in self.nodes if node.partner is not None]
        self.partners = partners
        self.g, self.r = _edges([one.box for one in self.nodes]), _edges([p.box for p in partners])
        self.outer_g, self.outer_r = _edges([holder.box])[0], _edges([other.box])[0]
        inside = {id(one) for both in (holder, other) for one in both.walk()}
        missing, extra = ([one for one in lost if id(one) in inside] for lost in (missing, extra))
        self.missing, self.extra = missing, extra
        self.unsteady, self.unordered = unsteady, unordered
        self.missing_boxes = _edges([one.box for one in missing])
        self.extra_boxes = _edges([one.box for one in extra])
        # Siblings flow into the place of a missing child, or away from an extra one.
        self.gappy, self.crowded = _rows(missing), _rows(extra)
        self.is_rearranged = False  # with others, which may have made it as high as they are
        self.rearranged: set[Node] = set()
        self.is_fitted = False  # as wide as what it holds, and no longer so for that alone
        self.fitted: set[Node] = set()

    def shifts(self) -> list[Shift]:
        found: list[Shift] = []
        count = len(self.nodes)
        if count == 0:
            return found
        down = [self._down(index) for index in range(count)]
        done: set[int] = set()
        for units in self._in_other_rows():
            inside = {index for unit in units for index in unit}
            self.rearranged.update(self.nodes[index] for index in inside)
            # Only the first things of a unit are done: those below may be too far from them.
            done |= {i for unit in units for i in unit if self._is_first(i, unit)}
            begins = tuple(self.nodes[unit[0]] for unit in units)
            rows, wanted = (_rows_of(_bounds(edges, units)) for edges in (self.g, self.r))
            area = sum(_area(self.nodes[index]) for index in inside)
            found.append(Shift("moved", begins, area=area, rows=(rows, wanted)))
        moved: set[int] = set()  # things that push nothing
        order = sorted(range(count), key=lambda i: (self.r[i, TOP], self.r[i, LEFT]))
        for index in order:
            dy, was = down[index]
            if index in done or abs(dy) <= self._tolerance(index):
                continue
            if self.nodes[index] in self.unordered:
                continue
            if moved and not self._down(index, moved)[0]:
                continue
            back = self._way_back(index, dy)
            if back is not None:
                done |= back
                moved.add(index)
            back = back or set()
            followers = self._followers(index, back)
            kind: Literal["moved", "spacing"] = "moved" if back else "spacing"
            if back and self.nodes[index] in self.unsteady:
                continue
            if not back and was + dy < -OVERLAP <= was:
                # It is not below what it should be below: nothing is pushed by it.
                shift = float(self.g[index, TOP] - self.r[index, TOP])
                area = _area(self.nodes[index])
                if abs(shift) > TOLERANCE:
                    found.append(Shift("moved", (self.nodes[index],), dy=shift, area=area))
                continue
            nodes = (self.nodes[index], *(followers if back else ()))
            area = sum(_area(node) for node in (followers if not back else nodes))
            found.append(Shift(kind, nodes, dy=dy, was=was, area=area))
        begun = {id(shift.nodes[0]): number for number, shift in enumerate(found)}
        order = [index for index in order if self.nodes[index] not in self.rearranged]
        for index in order:
            dx = self._across(index)
            if abs(dx) <= TOLERANCE or abs(dx) <= abs(self._grown(index)[0]):
                continue  # or it is told as resized
            node = self.nodes[index]
            if (number := begun.get(id(node))) is not None and found[number].kind == "moved":
                found[number] = _with_dx(found[number], dx)
            else:
                found.append(Shift("moved", (node,), dx=dx, area=_area(node)))
        for index in order:
            dw, dh = self._grown(index)
            if dw or dh:
                node = self.nodes[index]
                found.append(Shift("resized", (node,), dx=dw, dy=dh, area=_area(node)))
        return found

    # --- rows

    def _in_other_rows(self) -> Iterator[list[list[int]]]:
        """Yield children of one element that stand below each other instead of side by side.

        Or the other way round. Each child is the things in it, by their numbers.
        """
        taken: set[int] = set()
        for parent in _holders_of(self.nodes, self.holder):
            units = []
            for child in parent.children:
                inside = {id(node) for node in child.walk()}
                units.append([i for i, node in enumerate(self.nodes) if id(node) in inside])
            units = [unit for unit in units if unit]
            g, r = (_bounds(edges, units) for edges in (self.g, self.r))
            pairs = combinations(range(len(units)), 2)
            turned = {one for two in pairs if _is_turned(g[[*two]], r[[*two]]) for one in two}
            units = [unit for number, unit in enumerate(units) if number in turned]
            every = [index for unit in units for index in unit]
            if not units or taken.intersection(every) or id(parent) in self.crowded:
                continue
            if self.unordered.intersection(self.nodes[index] for index in every):
                continue
            if not _holds(self.gappy, self.partners[every[0]]):
                taken.update(every)
                yield units

    def _is_first(self, index: int, unit: Sequence[int]) -> bool:
        return bool(self.r[index, TOP] <= self.r[unit, TOP].min() + 3)

    # --- down

    def _tolerance(self, index: int) -> float:
        """Return what distance above a thing is right; margins may grow with the letters."""
        above = [i for i in range(len(self.nodes)) if self.r[i, BOTTOM] <= self.r[index, TOP] + 3]
        nearest = max((self.r[i, BOTTOM] for i in above), default=0.0)
        near = [index, *(i for i in above if self.r[i, BOTTOM] >= nearest - 3)]
        return TOLERANCE + max(self._letters_grown(i) for i in near)

    def _letters_grown(self, index: int) -> float:
        return max(
            (
                abs(leaf.font_size - leaf.partner.font_size) * 1.3 + 2
                for leaf in self.nodes[index].leaves()
                if leaf.partner is not None
                and leaf.kind == "text"
                and leaf.font_size != leaf.partner.font_size
            ),
            default=0.0,
        )

    def _down(self, index: int, moved: Collection[int] = ()) -> tuple[float, float]:
        """Return how much too low a thing stands below what is above it, and the right distance.

        Things that are moved by themselves say nothing about what is below them.
        """
        g, r = self.g, self.r
        above = r[:, BOTTOM] <= r[index, TOP] + 3
        above[[index, *moved]] = False
        across = (r[:, LEFT] < r[index, RIGHT]) & (r[:, RIGHT] > r[index, LEFT])
        gaps = []
        for which in (above & across, above):
            if which.any():
                floor_g, floor_r = g[which, BOTTOM].max(), r[which, BOTTOM].max()
                gaps.append((g[index, TOP] - floor_g, r[index, TOP] - floor_r, floor_g, floor_r))
        if not above.any():
            top_g, top_r = self.outer_g[TOP], self.outer_r[TOP]
            gaps.append((g[index, TOP] - top_g, r[index, TOP] - top_r, top_g, top_r))
        gap_g, gap_r, floor_g, floor_r = min(gaps, key=lambda gap: abs(gap[0] - gap[1]))
        dy = float(gap_g - gap_r)
        gone = _between(self.missing_boxes, floor_r, r[index])
        came = _between(self.extra_boxes, floor_g, g[index])
        if (gone and dy < 0) != (came and dy > 0) and abs(dy) > max(gone, came) + MARGIN:
            dy += gone if dy < 0 else -came  # more than what is gone or came explains
        elif (gone and dy < 0) or (came and dy > 0) or (gone and came):
            return 0.0, float(gap_r)
        if abs(dy) <= TOLERANCE or self._is_explained_down(index):
            return 0.0, float(gap_r)
        return dy, float(gap_r)

    def _is_explained_down(self, index: int) -> bool:
        g, r = self.g, self.r
        stays = (g[index, TOP] - self.outer_g[TOP]) - (r[index, TOP] - self.outer_r[TOP])
        if abs(stays) <= TOLERANCE or self._flows(index):
            return True  # what is above it is not where it should be, or beside it
        ends = (g[index, BOTTOM] - self.outer_g[BOTTOM]) - (r[index, BOTTOM] - self.outer_r[BOTTOM])
        on_ground = not self.is_page and abs(ends) <= TOLERANCE
        if on_ground and (self.is_rearranged or self._grown(index)[1]):
            return True  # it stands on the ground, and that is told
        mates = self._mates(index)
        sizes = {i: (r[i, BOTTOM] - r[i, TOP], -r[i, LEFT]) for i in (index, *mates)}
        leaders = (mate for mate in mates if sizes[mate] > sizes[index])
        if any(_aligned(g, r, index, mate, TOP, BOTTOM, MATES_APART) for mate in leaders):
            return True
        # A single row in the middle of a surface that is higher or lower than it should be.
        rows = len(mates) + 1 == len(self.nodes)
        if rows and not self.is_page:
            middle_g = g[index, TOP] + g[index, BOTTOM] - self.outer_g[TOP] - self.outer_g[BOTTOM]
            middle_r = r[index, TOP] + r[index, BOTTOM] - self.outer_r[TOP] - self.outer_r[BOTTOM]
            return bool(abs(middle_g - middle_r) / 2 <= TOLERANCE)
        return self._is_centred(index, mates)

    def _is_centred(self, index: int, mates: Sequence[int]) -> bool:
        """Return whether a thing begins a column whose height changed, but not its middle."""
        for column in self._columns(index):
            if not self._is_first(index, column):
                break
            top_g, top_r = self.g[column, TOP].min(), self.r[column, TOP].min()
            middle_g = (top_g + self.g[column, BOTTOM].max()) / 2
            middle_r = (top_r + self.r[column, BOTTOM].max()) / 2
            beside = [self.outer_g - self.outer_r] if not self.is_page else []
            beside += [self.g[one] - self.r[one] for one in mates if one not in column]
            if abs((middle_g - top_g) - (middle_r - top_r)) > TOLERANCE and any(
                abs(middle_g - middle_r - (by[TOP] + by[BOTTOM]) / 2) <= TOLERANCE for by in beside
            ):
                return True
        return False

    def _columns(self, index: int) -> Iterator[list[int]]:
        """Yield what elements around a thing hold, from the inside out."""
        for one in self.nodes[index].ancestors():
            if one.is_drawn or one.tag in ("html", "body"):
                return
            inside = {id(node) for node in one.walk()}
            yield [i for i, node in enumerate(self.nodes) if id(node) in inside]

    def _mates(self, index: int) -> list[int]:
        r = self.r
        shared = np.minimum(r[:, BOTTOM], r[index, BOTTOM]) - np.maximum(r[:, TOP], r[index, TOP])
        heights = np.minimum(r[:, BOTTOM] - r[:, TOP], r[index, BOTTOM] - r[index, TOP])
        apart = (r[:, LEFT] >= r[index, RIGHT] - 3) | (r[:, RIGHT] <= r[index, LEFT] + 3)
        mates = (shared > MATES * heights) & apart
        mates[index] = False
        return [int(one) for one in np.flatnonzero(mates)]

    def _flows(self, index: int) -> bool:
        """Return whether a thing stands elsewhere because a sibling of it is gone or came."""
        if abs(self.g[index, LEFT] - self.r[index, LEFT]) <= TOLERANCE:
            return False
        return _holds(self.gappy, self.partners[index]) or _holds(self.crowded, self.nodes[index])

    def _way_back(self, index: int, dy: float) -> set[int] | None:
        """Return the things that stand where they should as if nothing was moved, or None.

        These are the next ones below a moved thing, or those beside it if nothing is below it.
        """
        g, r = self.g, self.r
        apart = g[:, TOP] - r[:, TOP]
        before = apart[index] - dy
        most = self._tolerance(index)
        stays = np.abs(apart - before) <= most
        mates = self._mates(index)
        across = (r[:, LEFT] < r[index, RIGHT]) & (r[:, RIGHT] > r[index, LEFT])
        below = across & (r[:, TOP] >= r[index, BOTTOM] - 3)
        below[index] = False
        if below.any():
            nearest = r[below, TOP].min()
            behind = {int(one) for one in np.flatnonzero(below & (r[:, TOP] <= nearest + 3))}
            back = {one for one in behind if stays[one]}
            if back or len(behind) > 1 or not self._follows(index, behind):
                return back or None
            # Content that moves along may end further down.
            later = {int(one) for one in np.flatnonzero(below & stays)}
            return later or self._beside_column(index, behind, mates, stays)
        grown = (self.outer_g[BOTTOM] - self.outer_g[TOP]) - (
            self.outer_r[BOTTOM] - self.outer_r[TOP]
        )
        if mates and all(stays[one] for one in mates):
            # Its neighbours stay. Unless the surface grew by as much, it has a margin of its own.
            return None if abs(grown - dy) <= TOLERANCE else set(mates)
        if self.is_page:
            # The page ends where it should, and not because it is lower than the window.
            ends = self.outer_r[BOTTOM] - r[index, BOTTOM] <= END_APART
            return {index} if ends and abs(grown - before) <= most else None
        # The surface ends where it should, and would have grown with a margin.
        above, left = (self.r[:, side].min() - self.outer_r[side] for side in (TOP, LEFT))
        below = self.outer_r[BOTTOM] - r[index, BOTTOM]
        is_filled = below <= 1.5 * max(above, left, MATES_APART)
        return {index} if abs(grown) <= TOLERANCE and is_filled else None

    def _beside_column(
        self, index: int, behind: set[int], mates: Sequence[int], stays: npt.NDArray[np.bool_]
    ) -> set[int] | None:
        """Return what stands right beside a column that is displaced as a whole.

        What is behind a thing is in its column, or is pushed down by it.
        """
        apart = self.g[:, TOP] - self.r[:, TOP]
        column: set[int] = set()
        for held in self._columns(index):
            if any(abs(apart[i] - apart[index]) > TOLERANCE for i in held):
                break
            column = {*held}
        others = {one for one in mates if one not in column}
        if not behind <= column or not others or not all(stays[one] for one in others):
            return None
        return others

    def _follows(self, index: int, others: set[int]) -> bool:
        apart = self.g[:, TOP] - self.r[:, TOP]
        return all(abs(apart[one] - apart[index]) <= TOLERANCE for one in others)

    def _followers(self, index: int, back: set[int]) -> list[Node]:
        """Return what is displaced with a thing."""
        r = self.r
        end = min((r[other, TOP] for other in back if other != index), default=np.inf)
        return [
            node
            for other, node in enumerate(self.nodes)
            if r[index, TOP] - 1 <= r[other, TOP] < end - 1 and other != index
        ]

    # --- across

    def _across(self, index: int) -> float:
        """Return how much too far to the right a thing stands; 0 where something explains it."""
        g, r = self.g, self.r
        apart = [g[index, side] - r[index, side] for side in (LEFT, RIGHT)]
        dx = float(min(apart, key=abs) if apart[0] * apart[1] > 0 else 0.0)
        outer = [
            ours - theirs
            for ours, theirs in zip(
                _three(g[index], LEFT, RIGHT) - _three(self.outer_g, LEFT, RIGHT),
                _three(r[index], LEFT, RIGHT) - _three(self.outer_r, LEFT, RIGHT),
                strict=True,
            )
        ]
        if min(map(abs, outer)) <= TOLERANCE or self._scales(index):
            return 0.0
        if {self.nodes[index]} & (self.unsteady | self.unordered):
            return 0.0
        if self._flows(index) or self._row_changed(index) or self._is_in_changed_table(index):
            return 0.0
        for other in range(len(self.nodes)):
            if other == index:
                continue
            beside = min(r[other, BOTTOM], r[index, BOTTOM]) > max(r[other, TOP], r[index, TOP])
            if beside:
                before = r[other, RIGHT] <= r[index, LEFT] + 3
                gaps = (
                    (g[index, LEFT] - g[other, RIGHT]) - (r[index, LEFT] - r[other, RIGHT])
                    if before
                    else (g[other, LEFT] - g[index, RIGHT]) - (r[other, LEFT] - r[index, RIGHT])
                )
                grown = (g[other, RIGHT] - g[other, LEFT]) - (r[other, RIGHT] - r[other, LEFT])
                if abs(gaps) <= TOLERANCE and (before or abs(grown) > TOLERANCE):
                    return 0.0
                continue
            near = r[other, BOTTOM] <= r[index, TOP] + 3
            if near and _aligned(g, r, index, other, LEFT, RIGHT):
                return 0.0
        return float(min(outer, key=abs)) if not self.is_page else dx or float(min(outer, key=abs))

    def _row_changed(self, index: int) -> bool:
        """Return whether something in the row of a thing is gone or came."""
        return _beside(self.missing_boxes, self.r[index]) or _beside(
            self.extra_boxes, self.g[index]
        )

    # --- sizes

    def _grown(self, index: int) -> tuple[float, float]:
        """Return how much wider and higher a thing is for no other reason."""
        node = self.nodes[index]
        if node.kind == "text" or node in self.unsteady or node in self.unordered:
            return 0.0, 0.0
        if self._is_in_changed_table(index):
            return 0.0, 0.0
        g, r = self.g[index], self.r[index]
        dw = float((g[RIGHT] - g[LEFT]) - (r[RIGHT] - r[LEFT]))
        dh = float((g[BOTTOM] - g[TOP]) - (r[BOTTOM] - r[TOP]))
        if abs(dw) > TOLERANCE and self._is_explained_width(index):
            dw = 0.0
        if abs(dh) > TOLERANCE and self._is_explained_height(index, dw):
            dh = 0.0
        return dw if abs(dw) > TOLERANCE else 0.0, dh if abs(dh) > TOLERANCE else 0.0

    def _is_in_changed_table(self, index: int) -> bool:
        """Return whether a thing is in a table of which anything else differs: columns adapt."""
        for node, lost in ((self.nodes[index], self.extra), (self.partners[index], self.missing)):
            table = next((one for one in node.ancestors() if one.tag == "table"), None)
            if table is None:
                continue
            inside = {id(one) for one in table.walk()}
            if any(id(one) in inside for one in (*lost, *self.unsteady)):
                return self._moves_with_its_cell(index)
        return False

    def _moves_with_its_cell(self, index: int) -> bool:
        node = self.nodes[index]
        cell = next((one for one in node.ancestors() if one.tag in ("td", "th")), None)
        if cell is None:
            return True
        own = {id(one) for one in node.walk()}
        dx = self.g[index, LEFT] - self.r[index, LEFT]
        others = [leaf for leaf in cell.leaves() if leaf.partner and id(leaf) not in own]
        return all(
            abs(leaf.box[0] - leaf.partner.box[0] - dx) <= TOLERANCE
            for leaf in others
            if leaf.partner is not None
        )

    def _is_explained_width(self, index: int) -> bool:
        g, r = self.g, self.r
        fills = all(
            abs((g[index, s] - self.outer_g[s]) - (r[index, s] - self.outer_r[s])) <= TOLERANCE
            for s in (LEFT, RIGHT)
        )
        if (fills and not self.is_fitted) or self._row_changed(index) or self._flows(index):
            return True
        if self._scales(index):
            return True
        inner_g, inner_r = _contents(self.nodes[index], self.partners[index])
        if inner_g is None or inner_r is None:
            return False
        fits = all(
            abs((inner_g[s] - g[index, s]) - (inner_r[s] - r[index, s])) <= TOLERANCE
            for s in (LEFT, RIGHT)
        )
        if fits:
            self.fitted.add(self.nodes[index])
        return fits

    def _scales(self, index: int) -> bool:
        """Return whether both sides of a thing follow the width of what holds it."""
        (a, _, b, _), (c, _, d, _) = self.outer_g, self.outer_r
        grown = abs((b - a) - (d - c))
        if grown <= TOLERANCE:
            return False
        return all(
            abs((self.g[index, side] - a) - (self.r[index, side] - c) * (b - a) / max(d - c, 1))
            <= min(MATES_APART, grown / 2)
            for side in (LEFT, RIGHT)
        )

    def _is_explained_height(self, index: int, dw: float) -> bool:
        g, r = self.g, self.r
        if self._flows(index):
            return True
        inner_g, inner_r = _contents(self.nodes[index], self.partners[index])
        if inner_g is not None and inner_r is not None:
            grown = (inner_g[BOTTOM] - inner_g[TOP]) - (inner_r[BOTTOM] - inner_r[TOP])
            dh = (g[index, BOTTOM] - g[index, TOP]) - (r[index, BOTTOM] - r[index, TOP])
            top = (inner_g[TOP] - g[index, TOP]) - (inner_r[TOP] - r[index, TOP])
            bottom = dh - grown - top
            # A shift of what it holds is told there; but not one that pushes on both sides.
            if abs(bottom) <= TOLERANCE or abs(dh - grown) <= TOLERANCE:
                return True
            if self._holds_change(index) or (grown * dh > 0 and self._holds_unsteady(index)):
                return True
        elif dw and node_is_scaled(self.nodes[index], self.partners[index]):
            return False
        # It reaches down to the end of what holds it, or of what is beside it.
        mates = self._mates(index)
        if not mates:
            return False
        others = np.arange(len(self.nodes)) != index
        ends = [
            (self.outer_g[BOTTOM], self.outer_r[BOTTOM]),
            (g[others, BOTTOM].max(), r[others, BOTTOM].max()),
        ]
        ends += [
            (g[mate, BOTTOM], r[mate, BOTTOM])
            for mate in mates
            if self.nodes[mate].children and abs(r[mate, TOP] - r[index, TOP]) <= MATES_APART
        ]
        return any(
            abs(end_r - r[index, BOTTOM]) <= END_APART
            and abs((end_g - g[index, BOTTOM]) - (end_r - r[index, BOTTOM])) <= TOLERANCE
            and abs(end_g - end_r) > TOLERANCE
            for end_g, end_r in ends
        )

    def _holds_unsteady(self, index: int) -> bool:
        """Return whether letters in a surface have another size, and lines with them."""
        return any(one in self.unsteady for one in self.nodes[index].walk())

    def _holds_change(self, index: int) -> bool:
        """Return whether something in a surface is gone or came."""
        inside = {id(one) for one in self.nodes[index].walk()}
        if any(id(one) in inside for one in self.extra):
            return True
        inside = {id(one) for one in self.partners[index].walk()}
        return any(id(one) in inside for one in self.missing)


def _holders_of(nodes: Sequence[Node], holder: Node) -> list[Node]:
    """Return the elements in a surface that hold more than one of some things, outer ones first."""
    found: dict[int, Node] = {id(holder): holder}
    for node in nodes:
        between: list[Node] = []
        for one in node.ancestors():
            if one is holder:
                break
            between.append(one)
        found |= {id(one): one for one in reversed(between)}
    return [one for one in found.values() if len(one.children) > 1]


def _bounds(edges: Edges, units: Sequence[Sequence[int]]) -> Edges:
    """Return the edges around the things of each unit."""
    found = [[*edges[unit, :2].min(axis=0), *edges[unit, 2:].max(axis=0)] for unit in units]
    return np.array(found, np.float64).reshape(-1, 4)


def _is_turned(ours: Edges, theirs: Edges) -> bool:
    """Return whether two things are side by side on one page, and one column on the other."""
    return (_are_beside(ours) and _are_below(theirs)) or (_are_beside(theirs) and _are_below(ours))


def _are_beside(two: Edges) -> bool:
    (a, b), low = two, (two[:, BOTTOM] - two[:, TOP]).min()
    shared = min(a[BOTTOM], b[BOTTOM]) - max(a[TOP], b[TOP])
    return bool(shared > MATES * low and (a[RIGHT] <= b[LEFT] + 3 or b[RIGHT] <= a[LEFT] + 3))


def _are_below(two: Edges) -> bool:
    (a, b), narrow = two, (two[:, RIGHT] - two[:, LEFT]).min()
    shared = min(a[RIGHT], b[RIGHT]) - max(a[LEFT], b[LEFT])
    return bool(shared > MATES * narrow and (a[BOTTOM] <= b[TOP] + 3 or b[BOTTOM] <= a[TOP] + 3))


def _rows_of(units: Edges) -> int:
    """Return in how many rows things stand."""
    rows, floor = 0, -np.inf
    for top, middle, bottom in sorted(
        (one[TOP], (one[TOP] + one[BOTTOM]) / 2, one[BOTTOM]) for one in units
    ):
        if middle > floor:
            rows, floor = rows + 1, bottom
        floor = min(floor, bottom) if top < floor else floor
    return rows


def _rows(nodes: Sequence[Node]) -> set[int]:
    """Return the parents of nodes that have children side by side."""
    found = set()
    for node in nodes:
        parent = node.parent
        if parent is None:
            continue
        boxes = _edges([one.box for one in parent.children if one.box[3] > 0])
        own = _edges([node.box])[0]
        if len(boxes) > 1 and any(_beside(boxes, edges) for edges in (own, *boxes)):
            found.add(id(parent))
    return found


def _holds(parents: set[int], node: Node) -> bool:
    return any(id(one) in parents for one in node.ancestors())


def node_is_scaled(node: Node, partner: Node) -> bool:
    """Return whether a thing keeps its proportions."""
    (w, h), (v, g) = node.box[2:], partner.box[2:]
    return abs(w * g - v * h) <= 0.03 * max(w * g, v * h)


def _contents(node: Node, partner: Node) -> tuple[Any, Any]:
    """Return the edges of what two surfaces hold that both have; None for nothing."""
    held = {id(one) for one in partner.walk()}
    pairs = [
        (one.box, one.partner.box)
        for one in _flat(node)
        if one.partner is not None and id(one.partner) in held and not _fills(one, node)
    ]
    if not pairs:
        return None, None
    return tuple(_edges([around(boxes)])[0] for boxes in zip(*pairs, strict=True))


def _fills(text: Node, field: Node) -> bool:
    """Return whether a text is given the box of its field."""
    return text.kind == "text" and all(
        abs(a - b) <= TOLERANCE for a, b in zip(text.box, field.box, strict=True)
    )


def _stays(shift: Shift, holder: Node) -> bool:
    """Return whether a thing that should be moved to the other side has its own direction."""
    node, surface = shift.nodes[0], holder.partner
    if abs(shift.dy) > TOLERANCE or surface is None:
        return False
    return abs((node.box[0] - holder.box[0]) - (node.twin.box[0] - surface.box[0])) <= TOLERANCE


def _with_dx(shift: Shift, dx: float) -> Shift:
    return replace(shift, dx=dx)


def _three(edges: Edges, first: int, last: int) -> Edges:
    """Return start, middle and end of a thing in one direction."""
    return np.array([edges[first], (edges[first] + edges[last]) / 2, edges[last]])


def _aligned(
    g: Edges, r: Edges, one: int, other: int, first: int, last: int, most: float = np.inf
) -> bool:
    """Return whether two things keep a common line: of their starts, middles or ends.

    Such lines are at most so far apart on the reference page.
    """
    ours = _three(g[one], first, last) - _three(g[other], first, last)
    theirs = _three(r[one], first, last) - _three(r[other], first, last)
    return bool(((np.abs(ours - theirs) <= TOLERANCE) & (np.abs(theirs) <= most)).any())


def _between(boxes: Edges, top: float, edges: Edges) -> float:
    """Return how much height is taken by boxes of which half lies above a thing; 0 for none."""
    if len(boxes) == 0:
        return 0.0
    shared = np.minimum(boxes[:, BOTTOM], edges[TOP] + 3) - np.maximum(boxes[:, TOP], top - 3)
    across = (boxes[:, LEFT] < edges[RIGHT]) & (boxes[:, RIGHT] > edges[LEFT])
    found = boxes[(shared > 0.5 * (boxes[:, BOTTOM] - boxes[:, TOP])) & across]
    return float(found[:, BOTTOM].max() - found[:, TOP].min()) if len(found) else 0.0


def _beside(boxes: Edges, edges: Edges) -> bool:
    if len(boxes) == 0:
        return False
    shared = np.minimum(boxes[:, BOTTOM], edges[BOTTOM]) - np.maximum(boxes[:, TOP], edges[TOP])
    apart = (boxes[:, LEFT] >= edges[RIGHT] - 3) | (boxes[:, RIGHT] <= edges[LEFT] + 3)
    return bool(((shared > 0) & apart).any())


def _area(node: Node) -> float:
    return node.box[2] * node.box[3]
