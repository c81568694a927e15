"""Text blocks: what Design2Code compares. Found in pictures of a page with recoloured text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from uiproof.browser.page import (
    FIRST_SPARE,
    POOL,
    SHIFT,
    SPARE_REDS,
    SPARE_START,
    SPARE_STEP,
)
from uiproof.geometry import Box
from uiproof.vision.colour import ciede2000, srgb_to_lab
from uiproof.vision.images import Rgb, differing_rows, screenshot_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uiproof.browser.page import TextCapture, TextPlace


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A piece of text as it is seen on a page."""

    text: str  # stripped and lower case
    box: Box
    color: tuple[float, float, float]  # RGB, 0-255
    legibility: float = 1.0  # 0-1, how clearly it stands out; the paper does not ask
    # The blocks that were merged into it, in their order.
    parts: tuple[TextBlock, ...] = field(default=(), compare=False, repr=False)


def find_blocks(
    capture: TextCapture, screenshot: Rgb, glyphs: Glyphs | None = None
) -> list[TextBlock]:
    """Return the text blocks of a page, one per piece of text that left pixels.

    A pixel belongs to colour number n if it shows pool colour n in the first picture and the same
    colour moved by `SHIFT` in the second. A block is the box around all pixels of its colour; its
    colour is the mean of those pixels in the ordinary screenshot (RGB), truncated.
    """
    regions = (glyphs or Glyphs.read(capture, screenshot)).regions
    return [
        TextBlock(node.text.strip().lower(), *regions[node.color_number])
        for node in capture.nodes
        if node.color_number in regions
    ]


def seen_blocks(
    capture: TextCapture, glyphs: Glyphs, texts: Sequence[SeenText], bottom: float
) -> list[TextBlock]:
    """Return the same blocks, but of what is seen only.

    A text of which a part is seen is cut to that part, and its block is around that part; a text
    that is seen as a whole makes the very block that `find_blocks` finds. Positions are shares of
    the page without an empty end that begins below `bottom`, in CSS pixels.
    """
    regions = glyphs.regions
    width, height = glyphs.screenshot.shape[1], glyphs.screenshot.shape[0]
    seen = {text.index: text for text in texts}
    blocks = []
    for node in capture.nodes:
        text = None if node.listed_as is None else seen.get(node.listed_as)
        if text is None or node.color_number not in regions:
            continue
        if text.is_whole:
            # A style may show something else than what is written: dots, or letters turned round.
            same = text.text.split() == node.text.split()
            shown = node.text if same else text.text
            blocks.append(TextBlock(shown.strip().lower(), *regions[node.color_number]))
        else:
            x, y, w, h = text.ink
            box = Box(x / width, y / height, w / width, h / height)
            blocks.append(TextBlock(text.text.lower(), box, text.color))
    last = max(bottom + EMPTY_END, WINDOW_HEIGHT) * glyphs.scale
    if last >= height:
        return blocks
    longer = height / last
    return [
        replace(one, box=Box(one.box.x, one.box.y * longer, one.box.w, one.box.h * longer))
        for one in blocks
    ]


def blocks_as_json(blocks: Sequence[TextBlock]) -> list[dict[str, object]]:
    """Return blocks as reports and journals store them."""
    return [
        {
            "text": block.text,
            "box": [block.box.x, block.box.y, block.box.w, block.box.h],
            "color": [round(channel) for channel in block.color],
        }
        for block in blocks
    ]


PixelRect: TypeAlias = tuple[float, float, float, float]  # x, y, width, height in page pixels
Color: TypeAlias = tuple[int, int, int]
Gray: TypeAlias = NDArray[np.uint8]
ListedText: TypeAlias = tuple[PixelRect, str, Color]  # a text of the inventory
LegibleText: TypeAlias = tuple[PixelRect, str, Color, float]  # one that is seen, how clearly

# Tolerances of the reference implementation, in channel steps of 0-255.
SHIFT_TOLERANCE = 8  # between the expected and the seen second colour
COLOR_TOLERANCE = 4  # between a pool colour and the pixel of the first picture
POOL_START, POOL_STEP = 10, 16  # channels of pool colours: 10, 26, ... 250

SPARE_TOLERANCE = 6

AROUND = (-3, -2, 0, 2, 3)  # pixels, across and down: where to look for what is behind a text
MIN_CONTRAST = 2.5  # CIEDE2000 between a seen text and what is behind it; #f2f2f2 on white has 2.6
CLEAR_CONTRAST = 10.0  # the same for one that is easily read; #d2d2d2 on white has 10.1
PIXEL_CONTRAST = 6.0  # levels of 0-255 by which a seen pixel of a text stands out
MIN_SHARE = 0.3  # of the pixels of a text must be seen, or none of it counts
PIECE_SHARE = 0.6  # of the pixels of a part of a text must be seen, or that part does not count
MIN_SHARE_OF_BLENDED = 0.75  # the same for a text that covers no pixel completely
MIN_INK = 0.015  # pixels of a letter, as a share of the square of its size
MIN_TALL = 0.3  # of the size of its letters: lower parts of them cannot be read
THIN = frozenset("一ーㅡ─")  # letters that are a single stroke
MIN_OWN = 4  # pixels that a text covers completely
MIN_DISTINCT = 0.6  # of the seen pixels of a text must have no pixel like them around
WHOLE_SHARE = 0.9  # of the pixels of a text must be seen, or its parts are looked at one by one
MIN_STEADINESS = 0.5  # mean over deviation of how much the pixels of a text stand out
MIN_LINE_HEIGHT = 6.5  # pixels; lower text cannot be read
MIN_ADVANCE = 0.2  # of the height of a line for each character: what is denser cannot be read
MIN_LINE_STEP = 0.6  # of the height of a line, from one line of a text to the next
MAX_INK = 0.45  # of the area of a line; letters that cover more of it have run into a blot
FITTING_ADVANCE = 0.4  # of the font's size for each character, to guess how much text a box shows
PSEUDO_REACH = 48  # pixels around an element in which its pseudo-elements are looked for
WINDOW_HEIGHT = 720.0  # pixels; no page is shorter
EMPTY_END = 60.0  # pixels that the end of a page may be empty
MOST_EMPTY = 3600  # empty pixels below which a reader stops scrolling
LINE_EDGE = 0.1  # of the height of a line, above and below, that lines of other texts may cover
HEAP = 2  # texts on the same place, none of which can be read
HEAP_SHARE = 0.35  # of a text must lie in such a heap
CELL = 2  # pixels; heaps are looked for on a grid of such cells
SAMPLES = 48  # pixels of a text that are looked at
MOST_PIXELS = 20_000  # the same for one of which parts are not seen
EDGE_CONTRAST = 6  # levels between the two sides of a seen edge
VISIBLE_RANGE = 12  # levels between the darkest and the lightest pixel of a seen symbol

_PIECE = re.compile(r"\S{1,8}\s*")
_COLLAPSED = re.compile(r"[ \t\n\r\f]+")  # what browsers show as one space
_NONE = np.empty(0, np.int64)


def _digits(start: int, step: int, tolerance: int, none: int) -> NDArray[np.int32]:
    """Return the digit of each channel value; `none` where it has none."""
    steps = np.arange(256, dtype=np.int32) - (start - tolerance)
    near = (steps >= 0) & (steps % step <= 2 * tolerance)
    return np.where(near, steps // step, np.int32(none))


_POOL_DIGITS = _digits(POOL_START, POOL_STEP, COLOR_TOLERANCE, POOL)
_SPARE_DIGITS = _digits(SPARE_START, SPARE_STEP, SPARE_TOLERANCE, -1)


@dataclass(frozen=True, slots=True)
class SeenText:
    """A text of the inventory as far as it is seen."""

    index: int  # in the inventory
    box: PixelRect
    text: str
    color: Color  # of its pixels in the ordinary picture
    ink: PixelRect  # around its pixels that are seen
    is_whole: bool
    legibility: float = 1.0  # 0-1: 0 where it can hardly be noticed, 1 where it is easily read
    in_heap: bool = False  # cannot be read, because other texts lie on it


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A text of the inventory, and its pixels."""

    index: int
    box: PixelRect
    text: str
    place: TextPlace
    pixels: NDArray[np.int64]
    least: float  # what share of the pixels must be seen
    is_cut: bool  # parts of its lines have no pixels


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """Some pixels, and what is around each of them that belongs to no text."""

    behind: NDArray[np.float32]  # the mean of it, for the pixels that have any around them
    contrast: NDArray[np.float32]  # the pixels' own colours less that
    nearest: NDArray[np.int16]  # how far the colour around that is most like it is from it, at most
    pixels: NDArray[np.int64]

    def __getitem__(self, which: slice | NDArray[np.bool_]) -> _Surroundings:
        return _Surroundings(
            self.behind[which], self.contrast[which], self.nearest[which], self.pixels[which]
        )


@dataclass(frozen=True)
class Glyphs:
    """Hold all pixels that recolouring changed, from top to bottom."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    numbers: NDArray[np.int32]  # of the colour; -1 where several are blended
    moved: NDArray[np.uint8]  # by how much each channel differs
    screenshot: Rgb  # the ordinary picture
    size: tuple[int, int]  # of the recoloured pictures
    scale: int = 1  # device pixels for each CSS pixel; all places here are in device pixels

    @classmethod
    def read(cls, capture: TextCapture, screenshot: Rgb, scale: int = 1) -> Glyphs:
        """Find the pixels in which the pictures of each pair differ."""
        found = [
            _changed(*pair, group * POOL)
            for group, pair in enumerate(capture.pairs)
            if screenshot_size(pair[0]) == screenshot_size(pair[1])
        ]
        if not found:
            none = _NONE, _NONE, _NONE.astype(np.int32), np.empty((0, 3), np.uint8)
            return cls(*none, screenshot, (0, 0), scale)
        arrays = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        if len(found) > 1:
            order = np.argsort(arrays[0], kind="stable")
            arrays = [array[order] for array in arrays]
        rows, columns, numbers, moved = arrays
        size = screenshot_size(capture.pairs[0][0])
        return cls(rows, columns, numbers, moved, screenshot, size, scale)

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Mark the pixels that lie on the ordinary picture."""
        height, width = self.screenshot.shape[:2]
        inside: NDArray[np.bool_] = (self.columns < width) & (self.rows < height)
        return inside

    @cached_property
    def shown(self) -> NDArray[np.uint8]:
        """Return the colours of the pixels in the ordinary picture, black outside of it."""
        width = self.screenshot.shape[1]
        places = np.where(self.inside, self.rows * width + self.columns, 0)
        shown = self.screenshot.reshape(-1, 3)[places]
        shown[~self.inside] = 0
        return shown

    @cached_property
    def regions(self) -> dict[int | None, tuple[Box, Color]]:
        """Return box and mean colour of every pool colour that is there."""
        chosen = np.flatnonzero((self.numbers >= 0) & (self.numbers < FIRST_SPARE))
        if len(chosen) == 0:
            return {}
        # By number, and from top to bottom as before.
        chosen = chosen[np.argsort(self.numbers[chosen], kind="stable")]
        numbers, xs, ys = (a[chosen] for a in (self.numbers, self.columns, self.rows))
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        left, right = np.minimum.reduceat(xs, starts), np.maximum.reduceat(xs, starts)
        top, bottom = ys[starts], ys[np.append(starts[1:], len(ys)) - 1]
        counts = np.add.reduceat(self.inside[chosen], starts, dtype=np.int64)
        sums = np.add.reduceat(self.shown[chosen], starts, axis=0, dtype=np.int64)

        width, height = self.size
        columns: tuple[NDArray[Any], ...] = (
            *(numbers[starts], left, top, right, bottom),
            *(counts, sums),
        )
        regions: dict[int | None, tuple[Box, Color]] = {}
        for number, x, y, x_end, y_end, count, (r, g, b) in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            if count:
                box = Box(x / width, y / height, (x_end - x + 1) / width, (y_end - y + 1) / height)
                regions[number] = (box, (int(r / count), int(g / count), int(b / count)))
        return regions

    @cached_property
    def _free(self) -> NDArray[np.uint8]:
        """Return 1 where a pixel belongs to no text."""
        free = np.ones(self.screenshot.shape[:2], np.uint8)
        free[self.rows[self.inside], self.columns[self.inside]] = 0
        return free

    def within(self, boxes: Iterable[PixelRect]) -> list[NDArray[np.int64]]:
        """Return the indices of the pixels in each of some boxes."""
        found = []
        for x, y, w, h in boxes:
            top, bottom = np.searchsorted(self.rows, (round(y), round(y + h)))
            columns = self.columns[top:bottom]
            found.append(
                top + np.flatnonzero((columns >= round(x)) & (columns < max(round(x + w), x + 1)))
            )
        return found

    def seen_texts(
        self, texts: Sequence[ListedText], places: Sequence[TextPlace]
    ) -> tuple[SeenText, ...]:
        """Return the texts of an inventory that are seen, each cut to its visible part.

        Those that lie on each other are among them, marked.
        """
        lines: dict[int, list[PixelRect]] = {}  # of text nodes, by colour
        for place in places:
            if place.kind == "node":
                lines.setdefault(place.color_number, []).extend(place.lines)
        found: list[tuple[SeenText, NDArray[np.float64], NDArray[np.float64]]] = []
        candidates = []
        taken = self._taken(places)
        for index, (listed, place) in enumerate(zip(texts, places, strict=True)):
            own_lines = lines.get(place.color_number, [])
            candidate = self._candidate(index, listed, place, own_lines, taken)
            if candidate is not None and len(candidate.pixels):
                candidates.append(candidate)
            elif candidate is not None and (symbol := self._symbol(candidate, listed[2])):
                found.append((symbol, np.zeros(3), np.full(3, 255.0)))
        samples = [one.pixels[:: max(len(one.pixels) // SAMPLES, 1)] for one in candidates]
        around = self._surroundings(np.concatenate([_NONE, *samples]))
        start = 0
        for candidate, sample in zip(candidates, samples, strict=True):
            own = around[start : start + len(sample)]
            start += len(sample)
            if (one := self._see(candidate, own)) is not None:
                found.append(one)
        if not found:
            return ()
        colors, behind = (np.array(column) for column in list(zip(*found, strict=True))[1:])
        contrasts = ciede2000(srgb_to_lab(colors), srgb_to_lab(behind))
        clear = ((contrasts - MIN_CONTRAST) / (CLEAR_CONTRAST - MIN_CONTRAST)).clip(max=1)
        seen = (
            replace(text, legibility=round(legibility, 4))
            for (text, *_), legibility in zip(found, clear.tolist(), strict=True)
            if legibility >= 0
        )
        ordered = sorted(seen, key=lambda text: text.index)
        return tuple(self._with_heaps(ordered, places))

    def _with_heaps(self, texts: Sequence[SeenText], places: Sequence[TextPlace]) -> list[SeenText]:
        """Mark texts that lie with others on one place, and leave out parts of texts that do."""
        height, width = (length // CELL + 1 for length in self.screenshot.shape[:2])
        layers = np.zeros((height, width), np.int16)
        last = np.full((height, width), -1, np.int32)  # the text that was there last
        spots: list[list[tuple[slice, slice]]] = []
        painted = set()  # copies of a text on the same place are read as one
        for text in texts:
            lines = places[text.index].lines  # none where the browser does not report them
            spots.append([_cells(_core(line), height, width) for line in lines])
            key = text.text, *(round(value / 4) for value in text.box)
            if key not in painted:
                painted.add(key)
                for spot in spots[-1]:
                    layers[spot] += last[spot] != text.index
                    last[spot] = text.index

        def is_free(parts: Sequence[PixelRect], _: float) -> bool:
            covered = [layers[_cells(_core(part), height, width)] for part in parts]
            heaped = sum(int(np.count_nonzero(part >= HEAP)) for part in covered)
            return heaped <= HEAP_SHARE * sum(part.size for part in covered)

        found = []
        for text, own in zip(texts, spots, strict=True):
            parts = [layers[spot] for spot in own]
            total = sum(part.size for part in parts)
            heaped = sum(int(np.count_nonzero(part >= HEAP)) for part in parts)
            if heaped > HEAP_SHARE * total:  # 0 without lines
                text = replace(text, in_heap=True)
            elif heaped > (1 - WHOLE_SHARE) * total and text.is_whole:
                kept = _kept_pieces(text.text, places[text.index].lines, is_free)
                if kept is None:
                    text = replace(text, in_heap=True)
                elif kept[0].split() != text.text.split():
                    box = _overlap(kept[1], text.box)
                    text = replace(text, text=kept[0], box=box, ink=box, is_whole=False)
            found.append(text)
        return found

    def _taken(self, places: Sequence[TextPlace]) -> NDArray[np.int16]:
        """Return the colours of texts that cover some pixels completely where their lines are."""
        width, height = self.size
        taken = np.full((height, width), -1, np.int16)
        pixels = np.bincount(self.numbers[self.numbers >= 0], minlength=1)
        for place in places:
            if place.color_number < len(pixels) and pixels[place.color_number] >= MIN_OWN:
                for x, y, w, h in place.lines:
                    rows = slice(max(int(y), 0), max(int(y + h) + 1, 0))
                    columns = slice(max(int(x), 0), max(int(x + w) + 1, 0))
                    taken[rows, columns] = place.color_number
        return taken

    def _candidate(
        self,
        index: int,
        listed: ListedText,
        place: TextPlace,
        lines: Sequence[PixelRect],
        taken: NDArray[np.int16],
    ) -> _Candidate | None:
        """Return a text that may be read, with its pixels; without pixels if there are too few."""
        box, text, _ = listed
        if place.lines and not _is_readable(place, text, self.scale):
            return None
        if not place.lines:
            text = text[: _fitting(box, place.font_size)]
        parts = self.within(_search_area(box, place, PSEUDO_REACH * self.scale))
        near = np.concatenate([_NONE, *parts])
        pixels, ink, least = self._own(near, place, lines, taken)
        letter = max(MIN_INK * place.font_size**2, 1.0)
        if ink < letter * _share_inside(place.lines, box) * len("".join(text.split())):
            pixels = _NONE
        elif place.lines and any(one.isalnum() and one not in THIN for one in text):
            inside = (line for line in place.lines if 2 * _overlap(line, box)[3] > line[3])
            tops = [round(y) for _, y, _, _ in inside] or [0]
            letters = round(min(place.font_size, max(h for *_, h in place.lines)))
            rows = {top + row for top in tops for row in range(letters)}
            # The rows of all texts there, so rather too many.
            if len(np.unique(self.rows[near])) < MIN_TALL * len(rows):
                pixels = _NONE
        covered = np.count_nonzero(self.numbers[pixels] == place.color_number)
        if place.lines and covered > MAX_INK * sum(w * h for _, _, w, h in place.lines):
            return None
        is_cut = _is_cut(box, place.lines, parts, self.columns)
        return _Candidate(index, box, text, place, pixels, least, is_cut)

    def _surroundings(self, pixels: NDArray[np.int64]) -> _Surroundings:
        """Look at the pixels around each of some."""
        height, width = self.screenshot.shape[:2]
        free, colors = self._free.reshape(-1), self.screenshot.reshape(-1, 3)
        own = self.shown[pixels].astype(np.int16)
        nearest = np.full(len(pixels), 255, np.int16)
        sums, counts = np.zeros((len(pixels), 3), np.int32), np.zeros(len(pixels), np.int32)
        rows, columns = self.rows[pixels], self.columns[pixels]
        across = [(columns + step).clip(0, width - 1) for step in AROUND]
        for step in AROUND:
            line = (rows + step).clip(0, height - 1) * width
            for column in across:
                places = line + column
                is_free = free[places]
                there = colors[places]
                apart = _largest(np.abs(there - own))
                np.minimum(nearest, apart, out=nearest, where=is_free.view(np.bool_))
                sums += there * is_free[:, None]
                counts += is_free
        behind = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
        found = _Surroundings(behind, own - behind, nearest, pixels)
        return found if counts.all() else replace(found, nearest=np.where(counts, nearest, -1))

    def _see(
        self, candidate: _Candidate, around: _Surroundings
    ) -> tuple[SeenText, NDArray[np.float64], NDArray[np.float64]] | None:
        """Return a text as far as it is seen, its colour, and the colour of what is behind it."""
        box, text, place = candidate.box, candidate.text, candidate.place
        around = around[around.nearest >= 0]
        if len(around.pixels) == 0:
            return None
        mean = around.contrast.mean(axis=0)
        length = float(np.sqrt(mean @ mean))
        along = around.contrast @ (mean / max(length, 1e-9))
        if length < PIXEL_CONTRAST / 2 or length < MIN_STEADINESS * float(along.std()):
            return None
        least = max(PIXEL_CONTRAST, 0.3 * length)
        stands_out = along >= least
        share = np.count_nonzero(stands_out) / len(along)
        if share < candidate.least:
            return None
        seen = around[stands_out]
        color = self._unblended(seen, along[stands_out], place.color_number)
        behind = seen.behind.mean(axis=0, dtype=np.float64)
        apart = np.abs(seen.contrast).max(axis=1)
        distinct = np.count_nonzero(seen.nearest >= 0.5 * apart)
        if distinct < MIN_DISTINCT * len(seen.pixels):
            # Glyphs that show through the gaps of a pattern stand out from the pattern, but not
            # from the rest of what is seen through the gaps.
            return None
        ink, whole = box, share >= WHOLE_SHARE and not candidate.is_cut
        if not whole:
            every = self._surroundings(
                candidate.pixels[:: len(candidate.pixels) // MOST_PIXELS + 1]
            )
            every = every[every.nearest >= 0]
            is_seen = every.contrast @ (mean / length) >= least
            ink = self._extent(every.pixels[is_seen])
            kept = self._seen_part(text, place.lines, every.pixels, is_seen)
            if kept is None:
                return None
            whole = not place.lines or kept[0].split() == text.split()
            if not whole:
                text, box = kept[0], _overlap(kept[1], box)
        red, green, blue = (round(float(value)) for value in color)
        found = SeenText(candidate.index, box, text, (red, green, blue), ink, whole)
        return found, color, behind

    def _unblended(
        self, seen: _Surroundings, along: NDArray[np.float32], number: int
    ) -> NDArray[np.float64]:
        """Return the colour that a text has where it covers a pixel completely.

        Taken from its pixels that stand out most, as their median.
        """
        ranked = np.sort(along)
        most = seen[along >= 0.8 * ranked[int(0.9 * (len(ranked) - 1))]]
        covered = np.maximum(self._coverage(most.pixels, number), 0.25)
        colors = most.behind + most.contrast / covered[:, None]
        color: NDArray[np.float64] = np.sort(colors, axis=0)[len(colors) // 2].clip(0, 255)
        return color

    def _coverage(self, pixels: NDArray[np.int64], number: int) -> NDArray[np.float64]:
        """Estimate the coverage of each pixel by a text of one colour from the channel shifts."""
        whole = _movement(number)
        covered: NDArray[np.float64] = (self.moved[pixels] @ whole / (whole @ whole)).clip(0, 1)
        return covered

    def _extent(self, pixels: NDArray[np.int64]) -> PixelRect:
        """Return the box around some pixels."""
        rows, columns = self.rows[pixels], self.columns[pixels]
        x, y = int(columns.min()), int(rows.min())
        return x, y, int(columns.max()) + 1 - x, int(rows.max()) + 1 - y

    def _own(
        self,
        pixels: NDArray[np.int64],
        place: TextPlace,
        lines: Sequence[PixelRect],
        taken: NDArray[np.int16],
    ) -> tuple[NDArray[np.int64], int, float]:
        """Return the pixels of a text among those in its place, how many may belong to it, and
        what share of them must be seen."""
        numbers = self.numbers[pixels]
        is_own, is_blended = numbers == place.color_number, numbers < 0
        if place.kind == "pseudo" and place.color_number < FIRST_SPARE:
            # It has the colour of the element's own text, which must not be taken for it.
            is_own &= ~np.isin(pixels, np.concatenate([_NONE, *self.within(lines)]))
        ink = int(np.count_nonzero(is_own | is_blended))
        if np.count_nonzero(is_own) >= MIN_OWN:
            return pixels[is_own], ink, MIN_SHARE
        # Small and thin letters may have no pixel that they cover completely. Blended pixels beside
        # those of another text, or in its lines, are taken to be of that one.
        owner = taken[self.rows[pixels], self.columns[pixels]]
        is_blended &= (owner < 0) | (owner == place.color_number)
        is_foreign = ~is_own & ~is_blended
        if is_foreign.any():
            x, y, w, h = self._extent(pixels)
            near = np.zeros((int(h), int(w)), np.uint8)
            rows, columns = self.rows[pixels] - int(y), self.columns[pixels] - int(x)
            near[rows[is_foreign], columns[is_foreign]] = 1
            is_blended &= cv2.dilate(near, np.ones((5, 5), np.uint8))[rows, columns] == 0
        if is_blended.any():
            # At the edges of letters next to nothing is covered.
            covered = self._coverage(pixels, place.color_number)
            is_blended &= covered >= 0.5 * float(covered[is_blended].max())
        return pixels[is_own | is_blended], ink, MIN_SHARE_OF_BLENDED

    def _symbol(self, candidate: _Candidate, color: Color) -> SeenText | None:
        """Return a text without letters and digits: emoji have colours that nothing changes."""
        if any(letter.isalnum() for letter in candidate.text):
            return None
        x, y, w, h = candidate.box
        part = self.screenshot[int(y) : int(y + h) + 1, int(x) : int(x + w) + 1]
        if part.size == 0 or int(part.max()) - int(part.min()) < VISIBLE_RANGE:
            return None
        return SeenText(candidate.index, candidate.box, candidate.text, color, candidate.box, True)

    def _seen_part(
        self,
        text: str,
        lines: Sequence[PixelRect],
        own: NDArray[np.int64],
        stands_out: NDArray[np.bool_],
    ) -> tuple[str, PixelRect] | None:
        """Return the pieces of a text whose pixels are seen, and the box around them."""
        if not lines:
            return text, (0.0, 0.0, 0.0, 0.0)
        rows, columns = self.rows[own], self.columns[own]

        def is_seen(parts: Sequence[PixelRect], advance: float) -> bool:
            total = seen = 0
            for x, y, w, h in parts:
                there = (rows >= round(y)) & (rows < round(y + h))
                there &= (columns >= x - advance / 2) & (columns < x + w + advance / 2)
                total += int(np.count_nonzero(there))
                seen += int(np.count_nonzero(there & stands_out))
            return total > 0 and seen >= PIECE_SHARE * total

        return _kept_pieces(text, lines, is_seen)


def _kept_pieces(
    text: str,
    lines: Sequence[PixelRect],
    is_kept: Callable[[Sequence[PixelRect], float], bool],
) -> tuple[str, PixelRect] | None:
    """Return the pieces of a text that are to be kept, and the box around them.

    Characters are taken to be spread evenly over the lines; `is_kept` gets their advance.
    """
    plain = _COLLAPSED.sub(" ", text).strip(" ")
    advance = sum(w for _, _, w, _ in lines) / max(len(plain), 1)
    kept: list[str] = []
    boxes: list[PixelRect] = []
    for piece in _PIECE.finditer(plain):
        span = piece.start() * advance, (piece.start() + len(piece[0].rstrip())) * advance
        found = _along(lines, *span)
        if is_kept(found, advance):
            kept.append(piece[0])
            boxes += found
    return ("".join(kept).strip(), _around(boxes)) if boxes else None


def _largest(channels: NDArray[Any]) -> NDArray[Any]:
    """Return the largest of the three channels of each pixel: quicker than `max(axis=1)`."""
    red, green, blue = channels.T
    largest: NDArray[Any] = np.maximum(np.maximum(red, green), blue)
    return largest


def end_of_page(rgb: Rgb) -> int:
    """Return the row where a stretch begins that is too long for readers to scroll past."""
    if len(rgb) <= MOST_EMPTY:
        return len(rgb)
    spread = rgb.max(axis=1).astype(np.int16) - rgb.min(axis=1)
    painted = np.flatnonzero((spread >= VISIBLE_RANGE).any(axis=1))
    edges = np.concatenate([[-1], painted, [len(rgb)]])
    gaps = np.flatnonzero(np.diff(edges) > MOST_EMPTY)
    return int(edges[gaps[0]]) + 1 if len(gaps) else len(rgb)


def painted_height(gray: Gray) -> float:
    """Return where the empty end of a page begins: rows of its commonest brightness alone."""
    background = commonest_level(gray)
    lightest, darkest = (
        cv2.reduce(gray, 1, kind).ravel() for kind in (cv2.REDUCE_MAX, cv2.REDUCE_MIN)
    )
    is_empty = (lightest < background + EDGE_CONTRAST) & (darkest > background - EDGE_CONTRAST)
    painted = np.flatnonzero(~is_empty)
    return float(painted[-1] + 1) if len(painted) else 0.0


def commonest_level(gray: Gray) -> int:
    """Return the brightness that most pixels have."""
    return int(cv2.calcHist([gray], [0], None, [256], [0, 256]).argmax())


def _core(line: PixelRect) -> PixelRect:
    """Return a line without its edges: neighbours overlap a little where they are set tightly."""
    x, y, w, h = line
    return x, y + LINE_EDGE * h, w, (1 - 2 * LINE_EDGE) * h


def _cells(box: PixelRect, height: int, width: int) -> tuple[slice, slice]:
    """Return the cells of a grid that a box covers."""
    x, y, w, h = (value / CELL for value in box)
    rows = slice(min(max(int(y), 0), height), min(max(int(y + h) + 1, 0), height))
    return rows, slice(min(max(int(x), 0), width), min(max(int(x + w) + 1, 0), width))


def _changed(first: bytes, second: bytes, base: int) -> tuple[NDArray[Any], ...]:
    """Return rows, columns, colour numbers and differences of the pixels that differ."""
    rows, columns = [_NONE], [_NONE]
    numbers, moved = [_NONE.astype(np.int32)], [np.empty((0, 3), np.uint8)]
    for lines, a, b in differing_rows(first, second):
        difference = cv2.absdiff(a, b)
        same = cv2.inRange(difference, (0, 0, 0), (0, 0, 0))
        places = np.flatnonzero(same == 0)
        ys, xs = np.divmod(places, a.shape[1])
        rows.append(lines[ys])
        columns.append(xs)
        numbers.append(_numbers(a.reshape(-1, 3)[places], b.reshape(-1, 3)[places], base))
        moved.append(np.asarray(difference, np.uint8).reshape(-1, 3)[places])
    return tuple(np.concatenate(parts) for parts in (rows, columns, numbers, moved))


@cache
def _movement(number: int) -> NDArray[np.float64]:
    """Return the shift of each channel of a colour between the two pictures of a pair."""
    if number >= FIRST_SPARE:
        return np.array([SPARE_REDS[1] - SPARE_REDS[0], 0.0, 0.0])
    place = POOL - 1 - number % POOL
    channels = np.array([POOL_START + POOL_STEP * (place >> shift & 15) for shift in (8, 4, 0)])
    movement: NDArray[np.float64] = np.abs((channels + SHIFT) % 256 - channels).astype(np.float64)
    return movement


def _numbers(a: NDArray[np.uint8], b: NDArray[np.uint8], base: int) -> NDArray[np.int32]:
    """Return the colour numbers of pixels from their colours in both pictures; -1 for none."""
    numbers = np.full(len(a), -1, np.int32)
    if len(a) == 0:
        return numbers
    # Wraps around at 256, as the colours do.
    apart = cv2.absdiff(a + np.uint8(SHIFT), b).reshape(-1, 3)
    moved = np.flatnonzero(_largest(apart) <= SHIFT_TOLERANCE)
    red, green, blue = _POOL_DIGITS[a[moved]].T
    pool = red << 8 | green << 4 | blue
    # The pool is used from its end.
    numbers[moved] = np.where(pool < POOL, base + POOL - 1 - pool, -1)
    if base == 0:
        reds = zip((a, b), SPARE_REDS, strict=True)
        near = [np.abs(np.int16(c[:, 0]) - red) <= SPARE_TOLERANCE for c, red in reds]
        spare = np.flatnonzero(near[0] & near[1])
        (green, blue), again = (_SPARE_DIGITS[c[spare, 1:]].T for c in (a, b))
        fits = (green >= 0) & (blue >= 0) & (again == (green, blue)).all(axis=0)
        numbers[spare[fits]] = FIRST_SPARE + (green << 4 | blue)[fits]
    return numbers


def _is_readable(place: TextPlace, text: str, scale: int) -> bool:
    """Return whether lines are high, wide and far enough apart for so many characters."""
    lines = place.lines
    if max(h for _, _, _, h in lines) < MIN_LINE_HEIGHT * scale:
        return False
    # Lines may run from top to bottom, or at an angle: their boxes are higher then.
    thickness = min(max(min(w, h) for _, _, w, h in lines), 1.5 * place.font_size)
    length = sum(max(w, h) for _, _, w, h in lines)
    if length < MIN_ADVANCE * thickness * len(" ".join(text.split())):
        return False
    heaped = sum(_lie_on_each_other(a, b) for a, b in pairwise(lines))
    return 2 * heaped <= len(lines)


def _lie_on_each_other(a: PixelRect, b: PixelRect) -> bool:
    """Return whether two lines of a text cannot be told apart."""
    _, _, w, _ = _overlap(a, b)
    apart = abs(a[1] - b[1]) if max(a[2], b[2]) >= max(a[3], b[3]) else abs(a[0] - b[0])
    return w > 1 and apart < MIN_LINE_STEP * min(*a[2:], *b[2:])


def _share_inside(lines: Sequence[PixelRect], box: PixelRect) -> float:
    """Return how much of some lines is inside of a box; 1 where there are no lines."""
    if not lines:
        return 1.0
    parts = (_overlap(line, box) for line in lines)
    inside = sum(max(w, 0.0) * max(h, 0.0) for _, _, w, h in parts)
    return inside / max(sum(w * h for _, _, w, h in lines), 1e-9)


def _fitting(box: PixelRect, font_size: float) -> int:
    """Return how many characters of a font a box shows at most."""
    _, _, w, h = box
    size = max(font_size, 1.0)
    return (int(w / (FITTING_ADVANCE * size)) + 1) * max(int(h / size), 1)


def _search_area(box: PixelRect, place: TextPlace, reach: int) -> list[PixelRect]:
    """Return where the pixels of a text can be."""
    if place.lines:
        return [part for line in place.lines if (part := _overlap(line, box))[2] > 0 < part[3]]
    if place.kind == "pseudo":
        x, y, w, h = box
        return [(x - reach, y - reach, w + 2 * reach, h + 2 * reach)]
    return [box]


def _is_cut(
    box: PixelRect,
    lines: Sequence[PixelRect],
    parts: Sequence[NDArray[np.int64]],
    columns: NDArray[np.int64],
) -> bool:
    """Return whether parts of lines lie outside of the text's box or have no pixels."""
    if len(parts) < len(lines):
        return True
    for line, pixels in zip(lines, parts, strict=False):
        _, _, w, h = line
        _, _, w_inside, h_inside = _overlap(line, box)
        if w_inside < w - 2 or h_inside < 0.6 * h or len(pixels) == 0:
            return True
        found = columns[pixels]
        if int(found.max()) - int(found.min()) < 0.7 * w - 2 * h:
            return True
    return False


def _along(lines: Sequence[PixelRect], start: float, end: float) -> list[PixelRect]:
    """Return the parts of lines between two distances from the start of the first."""
    found = []
    passed = 0.0
    for x, y, w, h in lines:
        left, right = max(start - passed, 0.0), min(end - passed, w)
        if right > left:
            found.append((x + left, y, right - left, h))
        passed += w
    return found


def _overlap(a: PixelRect, b: PixelRect) -> PixelRect:
    x, y = max(a[0], b[0]), max(a[1], b[1])
    return x, y, min(a[0] + a[2], b[0] + b[2]) - x, min(a[1] + a[3], b[1] + b[3]) - y


def _around(boxes: Sequence[PixelRect]) -> PixelRect:
    x, y = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, bottom = max(x + w for x, _, w, _ in boxes), max(y + h for _, y, _, h in boxes)
    return x, y, right - x, bottom - y
