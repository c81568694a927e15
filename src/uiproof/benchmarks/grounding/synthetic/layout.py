"""Where things go on a synthetic page: a bar, a side column and cards, each with elements in rows.

Everything is in whole pixels. `arrange` may find no room; trying again with a higher `attempt`
gives other, and at last plainer and tighter, arrangements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from uiproof.benchmarks.grounding.synthetic.stream import Stream

_PLAIN_FROM = 10  # attempts from here on fill one area, row by row

Size = tuple[int, int]
Place = tuple[int, int]
Pixels = Callable[[int], int]  # from design pixels to those of the screen


class Surface(StrEnum):
    """What an area of a page is."""

    BAR = "bar"
    SIDE = "side"
    CARD = "card"


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the page."""

    surface: Surface
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The place of every element, in the order of their sizes, and the areas below them."""

    places: tuple[Place, ...]
    areas: tuple[Area, ...]


def arrange(
    stream: Stream, sizes: Sequence[Size], width: int, height: int, *, px: Pixels, attempt: int = 0
) -> Arrangement | None:
    """Put elements of these sizes on a page so that none is near another; None without room."""
    waiting = list(range(len(sizes)))
    stream.shuffle(waiting)
    page = _Page(stream, sizes, px, waiting)
    if attempt >= _PLAIN_FROM:
        page.fill(Area(Surface.CARD, 0, 0, width, height), len(waiting), plain=True)
        return page.arrangement()
    left = top = 0
    if len(sizes) >= 6 and stream.chance(55):
        top = page.bar(width)
    if len(sizes) >= 10 and stream.chance(45):
        left = page.side(top, width // 4, height)
    rest = Area(Surface.CARD, left, top, width - left, height - top)
    cells = _split(stream, rest, 1 + len(sizes) // stream.between(4, 9), px)
    open_area = sum(cell.width * cell.height for cell in cells)
    for cell in cells:
        area = cell.width * cell.height
        share = -(-len(waiting) * area // open_area)
        page.fill(cell, share, plain=False)
        open_area -= area
    return page.arrangement()


class _Page:
    """A page that is being filled: takes elements from those that wait."""

    def __init__(
        self, stream: Stream, sizes: Sequence[Size], px: Pixels, waiting: list[int]
    ) -> None:
        self._stream, self._sizes, self._px, self._waiting = stream, sizes, px, waiting
        self._places: dict[int, Place] = {}
        self._areas: list[Area] = []

    def arrangement(self) -> Arrangement | None:
        if self._waiting:
            return None
        places = tuple(self._places[number] for number in range(len(self._sizes)))
        return Arrangement(places, tuple(self._areas))

    def bar(self, width: int) -> int:
        """Put some low elements into a bar at the top; how high the bar is, 0 for none."""
        inner = self._px(self._stream.between(32, 48))
        fitting = [number for number in self._waiting if self._sizes[number][1] <= inner]
        limit = width - 2 * self._px(24)
        chosen = fitting[: len(self._sizes) // 4 + 1]
        gap = self._px(self._stream.between(16, 36))
        found = self._flow(chosen, limit, inner, gap, 0, even=False)
        if not found:
            return 0
        height = inner + 2 * self._px(10)
        taken = max(x + self._sizes[number][0] for number, (x, _) in found.items())
        x = self._px(24) + (limit - taken if self._stream.chance(30) else 0)
        row = max(self._sizes[number][1] for number in found)
        self._take(found, x, (height - row) // 2)
        self._areas.append(Area(Surface.BAR, 0, 0, width, height))
        return height

    def side(self, top: int, limit: int, height: int) -> int:
        """Put some narrow elements into a column at the left; how wide it is, 0 for none."""
        inner = min(self._px(self._stream.between(130, 220)), limit) - 2 * self._px(18)
        fitting = [number for number in self._waiting if self._sizes[number][0] <= inner]
        chosen = fitting[: len(self._sizes) // 4 + 1]
        gap = self._px(self._stream.between(14, 30))
        pad = self._px(18)
        found = self._flow(chosen, inner, height - top - 2 * pad, inner, gap, even=True)
        if not found:
            return 0
        self._take(found, pad, top + pad)
        self._areas.append(Area(Surface.SIDE, 0, top, inner + 2 * pad, height - top))
        return inner + 2 * pad

    def fill(self, cell: Area, share: int, *, plain: bool) -> None:
        """Put up to `share` elements into a card somewhere inside a cell."""
        px, stream = self._px, self._stream
        margin = px(6) if plain else px(stream.between(10, 22))
        pad = px(6) if plain else px(stream.between(12, 28))
        wide, high = cell.width - 2 * (margin + pad), cell.height - 2 * (margin + pad)
        chosen = [number for number in self._waiting if self._sizes[number][0] <= wide][:share]
        if not chosen:
            return
        gap_x, gap_y = (px(12), px(12)) if plain else self._gaps()
        even = not plain and stream.chance(50)
        narrowest = max(self._sizes[number][0] for number in chosen)
        width = wide if plain else stream.between(narrowest, wide)
        found = self._flow(chosen, width, high, gap_x, gap_y, even=even)
        if len(found) < len(chosen):
            found = self._flow(chosen, wide, high, px(14), px(14), even=False)
        if not found:
            return
        used_wide = max(x + self._sizes[number][0] for number, (x, _) in found.items())
        used_high = max(y + self._sizes[number][1] for number, (_, y) in found.items())
        x = cell.x + margin + stream.below(wide - used_wide + 1)
        y = cell.y + margin + stream.below(high - used_high + 1)
        self._take(found, x + pad, y + pad)
        card = Area(Surface.CARD, x, y, used_wide + 2 * pad, used_high + 2 * pad)
        if plain or stream.chance(20):
            return
        if stream.chance(60):  # as large as the cell, as on a dashboard
            wide, high = cell.width - 2 * margin, cell.height - 2 * margin
            card = Area(Surface.CARD, cell.x + margin, cell.y + margin, wide, high)
        self._areas.append(card)

    def _gaps(self) -> tuple[int, int]:
        return self._px(self._stream.between(16, 90)), self._px(self._stream.between(14, 64))

    def _take(self, found: dict[int, Place], x: int, y: int) -> None:
        for number, (across, down) in found.items():
            self._places[number] = (x + across, y + down)
            self._waiting.remove(number)

    def _flow(
        self, chosen: Sequence[int], wide: int, high: int, gap_x: int, gap_y: int, *, even: bool
    ) -> dict[int, Place]:
        """Rows from left to right, in even columns or close together; as many as there is room."""
        step = max((self._sizes[number][0] for number in chosen), default=0) if even else 0
        rows: list[list[tuple[int, int]]] = [[]]
        x = 0
        for number in chosen:
            own = self._sizes[number][0]
            if rows[-1] and x + own > wide:
                rows.append([])
                x = 0
            rows[-1].append((number, x))
            x += max(step, own) + gap_x
        found: dict[int, Place] = {}
        y = 0
        for row in rows:
            row_height = max((self._sizes[number][1] for number, _ in row), default=0)
            if y + row_height > high:
                break
            for number, x in row:
                found[number] = (x, y + (row_height - self._sizes[number][1]) // 2)
            y += row_height + gap_y
        return found


def _split(stream: Stream, whole: Area, count: int, px: Pixels) -> list[Area]:
    """Cut an area into cells, always the largest one, while they stay large enough."""
    cells = [whole]
    for _ in range(count - 1):
        cell = max(cells, key=lambda one: one.width * one.height)
        share = stream.between(35, 65)
        if cell.width * 10 >= cell.height * 13:
            cut = cell.width * share // 100
            if min(cut, cell.width - cut) < px(280):
                break
            parts = [
                Area(cell.surface, cell.x, cell.y, cut, cell.height),
                Area(cell.surface, cell.x + cut, cell.y, cell.width - cut, cell.height),
            ]
        else:
            cut = cell.height * share // 100
            if min(cut, cell.height - cut) < px(200):
                break
            parts = [
                Area(cell.surface, cell.x, cell.y, cell.width, cut),
                Area(cell.surface, cell.x, cell.y + cut, cell.width, cell.height - cut),
            ]
        cells.remove(cell)
        cells += parts
    stream.shuffle(cells)
    return cells
