"""Find the texts of a page in a screenshot, by their letters and among the lines that are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from math import hypot
from typing import Any, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.blocks import LegibleText, PixelRect
from uiproof.benchmarks.design2code.matching import TextSimilarity
from uiproof.benchmarks.design2code.pairing import marry, pair_rest, sibling_shifts
from uiproof.benchmarks.design2code.pixels import (
    LEFT_OVER,
    contrast,
    crop,
    ink,
    ink_map,
    is_equal,
    letters_colour,
    levels_apart,
    whole,
)
from uiproof.benchmarks.design2code.scene import Node, Scene, Shift, around, overlap, shift_of
from uiproof.vision.images import Rgb
from uiproof.vision.ssim import grayscale

SAME_PIXEL = 24  # levels by which pixels of the same thing may differ
SAME_SHARE = 0.02  # of its pixels may differ more
LIKE_TEMPLATE = 0.8  # correlation of a text with the place where it may be
LIKE_HALF = 0.5  # the same in half the size, where lines fall between pixels
OTHER_INK = 0.58  # of what two other texts differ by chance
NEAR = (60, 120)  # pixels across and down in which a text is looked for first
FAR = 1200  # pixels down for texts that are long enough to be told from others
LONG = 40  # pixels of such a text
SHORTEST_READ = 3  # letters of a line that tell where a text is
MOST_LINES = 4  # with the same letters
BESIDE = 8  # pixels around a line that was read
MOST_PLACES = 12  # that look like a text
MOST_SHIFTS = 60  # of texts, at which a thing is looked for
CLAIMED = 0.35  # of a line that was read may belong to texts that were found
Gray: TypeAlias = npt.NDArray[np.uint8]

_PARAGRAPH = (5.0, 0.3, 1.0)  # pixels, and shares of a line's height, between lines of one text


class TextSearch:
    """Looks for the texts of a page in a screenshot, by their pixels."""

    def __init__(self, ours: Scene, theirs: Scene, lines: Iterable[LegibleText]) -> None:
        self.ours, self.theirs = ours, theirs
        self.lines = [(whole(line[0]), plain_letters(line[1])) for line in lines]
        self.gray, self.other = grayscale(ours.rgb), grayscale(theirs.rgb)
        self.half = _halved(self.other)
        self.taken: list[tuple[PixelRect, Node]] = []
        self.texts = [node for node in ours.leaves if node.kind == "text"]

    def run(self) -> None:
        """Make partners of texts that the screenshot shows; unseen texts are left out."""
        for node in self.texts:
            node.box = _letters_box(self.ours.rgb, node)
        unseen = [node for node in self.texts if not self._is_seen(node)]
        for node in unseen:
            _remove(node)
        self.texts = [node for node in self.texts if node not in set(unseen)]
        counts = Counter(node.text for node in self.texts)
        # Of equal texts, each is expected beside the neighbours that were found before.
        for repeated in (False, True):
            last: list[Shift] = []
            for index, node in enumerate(self.texts):
                if node.partner is None and (counts[node.text] > 1) == repeated:
                    self._find(node, [*last, *self._next_shift(index)])
                if node.partner is not None:
                    last = [shift_of(node)]
        for node in self.texts:  # short ones that have gone with others
            if node.partner is None:
                self._find(node, [(round(-dx), round(-dy)) for dx, dy in sibling_shifts(node)])

    def _is_seen(self, node: Node) -> bool:
        return contrast(crop(self.ours.rgb, whole(node.box))) >= LEFT_OVER

    def _next_shift(self, index: int) -> list[Shift]:
        following = self.texts[index + 1 : index + 12]
        return [shift_of(node) for node in following if node.partner is not None][:1]

    def _find(self, node: Node, expected: Sequence[Shift]) -> None:
        box = whole(node.box)
        shifts = [*dict.fromkeys([*expected, (0, 0)])]
        for dx, dy in shifts:
            place = box[0] + dx, box[1] + dy
            if self._is_free(place, node) and self._is_exact(box, place):
                self._found(node, place)
                return
        for dx, dy in shifts:
            place = box[0] + dx, box[1] + dy
            if self._is_free(place, node) and self._has_same_letters(box, place):
                self._found(node, place)
                return
        for place in self._like(node, shifts):
            if self._is_free(place, node) and self._has_same_letters(box, place):
                self._found(node, place)
                return

    def _like(self, node: Node, shifts: Sequence[Shift]) -> Iterator[tuple[int, int]]:
        """Yield where something like a text is, nearest to where it is expected."""
        x, y, w, h = whole(node.box)
        part = crop(self.gray, (x, y, w, h))
        dx, dy = shifts[0]
        for window in self._windows(node, shifts):
            left, top, right, bottom = (max(side, 0) // 2 for side in window)
            places = [
                place
                for column, row in _peaks(
                    self.half[top:bottom, left:right], _halved(part), LIKE_HALF
                )
                if (place := self._refined(part, 2 * (column + left), 2 * (row + top)))
            ]
            yield from sorted({*places}, key=lambda at: hypot(at[0] - x - dx, at[1] - y - dy))

    def _windows(self, node: Node, shifts: Sequence[Shift]) -> Iterator[tuple[int, int, int, int]]:
        """Yield the parts of the screenshot in which a text is looked for.

        These are the lines in which the same letters were read, if there are any.
        """
        x, y, w, h = whole(node.box)
        letters, (dx, dy) = plain_letters(node.text), shifts[0]
        lines = [
            (line, read)
            for line, read in self.lines
            if min(len(read), len(letters)) >= SHORTEST_READ
            and (read in letters or letters in read)
        ]
        lines.sort(key=lambda one: hypot(one[0][0] - x - dx, one[0][1] - y - dy))
        for (left, top, width, height), read in lines[:MOST_LINES]:
            down = BESIDE if letters in read else h
            right = left + max(w, width) + BESIDE
            yield left - BESIDE, top - down, right, top + max(h, height) + down
        if lines:
            return
        for dx, dy in shifts[: 1 if _is_readable(node.text) else None]:
            across, down = NEAR
            yield x + dx - across, y + dy - down, x + dx + w + across, y + dy + h + down
        if w >= LONG and not _is_readable(node.text):
            dx, dy = shifts[0]
            yield 0, y + dy - FAR, self.other.shape[1], y + dy + h + FAR

    def _refined(self, part: Gray, x: int, y: int) -> tuple[int, int] | None:
        """Return the place of a text that the picture of half the size shows here."""
        h, w = part.shape
        left, top = max(x - 2, 0), max(y - 2, 0)
        places = _peaks(self.other[top : y + h + 3, left : x + w + 3], part, LIKE_TEMPLATE, most=1)
        return next(((column + left, row + top) for column, row in places), None)

    def _is_exact(self, box: tuple[int, int, int, int], place: tuple[int, int]) -> bool:
        a = crop(self.ours.rgb, box)
        b = crop(self.theirs.rgb, (*place, *box[2:]))
        if min(place) < 0 or a.shape != b.shape:
            return False
        return float((levels_apart(a, b) > SAME_PIXEL).mean()) <= SAME_SHARE and (
            self._has_same_letters(box, place)
        )

    def _has_same_letters(self, box: tuple[int, int, int, int], place: tuple[int, int]) -> bool:
        """Return whether the same letters stand at two places, in whatever colours."""
        a, b = crop(self.ours.rgb, box), crop(self.theirs.rgb, (*place, *box[2:]))
        if min(place) < 0 or a.shape != b.shape or not a.size:
            return False
        if self._is_cut(box, place):
            return False
        ours, theirs = ink_map(a), ink_map(b)
        # Word by word, so that one other word in a long text is seen; lines may be off by a pixel.
        tile = max(min(box[3], 18), 6)
        both = _tiles(ours + theirs, tile)
        shifted = [theirs, np.roll(theirs, 1, axis=0), np.roll(theirs, -1, axis=0)]
        apart = np.minimum.reduce([_tiles(cv2.absdiff(ours, one), tile) for one in shifted])
        # Dense letters, such as those of East Asia, have much in common by chance.
        share = both / (2 * min(tile, box[2]) * min(tile, box[3]))
        most = OTHER_INK * (1 - np.minimum(share, 0.8)) * both
        written = both > 0.06 * tile * tile
        if not written.any():
            return float(apart.sum()) <= float(most.sum())
        return bool((apart[written] <= most[written]).all())

    def _is_cut(self, box: tuple[int, int, int, int], place: tuple[int, int]) -> bool:
        """Return whether a text goes on where it ends on the page: letters in a longer word."""
        x, y, w, h = box
        for dx in (-4, w):
            a = crop(self.gray, (x + dx, y, 4, h))
            b = crop(self.other, (place[0] + dx, place[1], 4, h))
            if not a.size or not b.size or x + dx < 0 or place[0] + dx < 0:
                continue
            empty = int(a.max()) - int(a.min()) < LEFT_OVER
            if empty and int(b.max()) - int(b.min()) > 4 * LEFT_OVER:
                return True
        return False

    def _is_free(self, place: tuple[int, int], node: Node) -> bool:
        """Return whether no other text was found there, beyond those that it lies on anyway."""
        _, _, w, h = node.box
        there = float(place[0]), float(place[1]), w, h
        return all(
            overlap(there, box) <= 0.3 * min(w * h, box[2] * box[3])
            or overlap(node.box, one.box) > 0.2 * min(w * h, box[2] * box[3])
            for box, one in self.taken
        )

    def _found(self, node: Node, place: tuple[int, int]) -> None:
        x, y, *_ = whole(node.box)
        dx, dy = place[0] - x, place[1] - y
        box = node.box[0] + dx, node.box[1] + dy, node.box[2], node.box[3]
        self.taken.append((box, node))
        twin = Node("text", box, node.order, node.tag, text=node.text, parent=self.theirs.root)
        twin.color, twin.font = node.color, node.font
        if not is_equal(self.ours.rgb, self.theirs.rgb, node.box, box):
            node.color = letters_colour(self.ours.rgb, node.box)
            twin.color = letters_colour(self.theirs.rgb, box)
        self.theirs.root.children.append(twin)
        marry(node, twin)


def _halved(gray: Gray) -> Gray:
    height, width = gray.shape
    size = max(width // 2, 1), max(height // 2, 1)
    return np.asarray(cv2.resize(gray, size, interpolation=cv2.INTER_AREA), np.uint8)


def _peaks(area: Gray, part: Gray, least: float, most: int = MOST_PLACES) -> list[tuple[int, int]]:
    """Return the columns and rows at which an area is most like a part."""
    if area.shape[0] < part.shape[0] or area.shape[1] < part.shape[1]:
        return []
    alike = cv2.matchTemplate(area, part, cv2.TM_CCOEFF_NORMED)
    alike[~np.isfinite(alike)] = -1
    found = []
    for _ in range(most):
        _, best, _, (column, row) = cv2.minMaxLoc(alike)
        if best < least:
            break
        found.append((column, row))
        alike[max(row - 4, 0) : row + 5, max(column - 4, 0) : column + 5] = -1
    return found


def _tiles(values: npt.NDArray[Any], tile: int) -> npt.NDArray[np.float64]:
    """Return the sums over the tiles of a picture."""
    height, width = values.shape
    down, across = -(-height // tile), -(-width // tile)
    padded = np.zeros((down * tile, across * tile), np.float32)
    padded[:height, :width] = values
    sums = padded.reshape(down, tile, across, tile).sum(axis=(1, 3))
    return np.asarray(sums, np.float64)


def _letters_box(picture: Rgb, node: Node) -> PixelRect:
    """Return the box around the letters of a text; that of a field is the field's own."""
    x, y, w, h = node.box
    holder = node.parent
    if (
        holder is not None
        and holder.kind == "control"
        and overlap(node.box, holder.box) > 0.8 * (holder.box[2] * holder.box[3])
    ):
        return ink(picture, (x + 3, y + 3, max(w - 6, 1), max(h - 6, 1)))
    return ink(picture, node.box)


def _remove(node: Node) -> None:
    if node.parent is not None:
        node.parent.children.remove(node)
        node.parent = None


def read_rest(ours: Scene, theirs: Scene, lines: Sequence[LegibleText]) -> None:
    """Add the lines of the screenshot in which no text of the page was found, and pair them."""
    texts = [node for node in ours.leaves if node.kind == "text"]
    found = [node.partner for node in texts if node.partner is not None]
    shifts = [*dict.fromkeys([(0, 0), *(shift_of(node) for node in texts if node.partner)])]
    rest = [
        part
        for line in lines
        if any(map(str.isalnum, line[1]))  # others are icons
        and (part := _unclaimed(theirs.rgb, line, found)) is not None
        and not _is_in_picture(ours, theirs.rgb, part[0], shifts)
    ]
    read = []
    for box, text, color, _ in [*_at_texts(texts, rest), *paragraphs(rest)]:
        node = Node("text", box, tag="p", parent=theirs.root)
        node.text, node.color = " ".join(text.split()), color
        theirs.root.children.append(node)
        read.append(node)
    pair_rest(texts, [*found, *read])
    for node in texts:
        if node.partner is not None and node.partner in read:
            _settle(ours, theirs, node, texts)


def _is_in_picture(ours: Scene, theirs: Rgb, box: PixelRect, shifts: Sequence[Shift]) -> bool:
    """Return whether the page shows the same without a text of its own: in a picture."""
    x, y, w, h = whole(box)
    for dx, dy in shifts[:MOST_SHIFTS]:
        there = float(x - dx), float(y - dy), float(w), float(h)
        if min(there) >= 0 and is_equal(theirs, ours.rgb, box, there):
            texts = (leaf.box for leaf in ours.leaves if leaf.kind == "text")
            if all(overlap(there, one) <= CLAIMED * w * h for one in texts):
                return True
    return False


def _unclaimed(picture: Rgb, line: LegibleText, found: Sequence[Node]) -> LegibleText | None:
    """Return what a line shows beside the texts that were found in it."""
    box, text, color, legibility = line
    x, y, w, h = box
    inside = [
        node
        for node in found
        if overlap(box, node.box) > 0.5 * min(h, node.box[3]) * min(w, node.box[2])
    ]
    if not inside:
        return ink(picture, box), text, color, legibility
    columns = np.ones(max(round(w), 1), np.bool_)
    for node in inside:
        columns[
            max(round(node.box[0] - x) - 2, 0) : max(round(node.box[0] + node.box[2] - x) + 2, 0)
        ] = False
    for one in inside:
        text = _without(text, one.text)
    places = np.flatnonzero(columns)
    wide = len(places) >= max((1 - CLAIMED) * len(columns), 1)
    if sum(map(str.isalnum, text)) < 2 or (len(places) < 0.8 * h and not wide):
        return None
    # The longest piece that is not claimed.
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    longest = max(runs, key=len)
    own = ink(picture, (x + float(longest[0]), y, float(len(longest)), h))
    part = crop(picture, whole(own))
    if part.size == 0 or int(part.max()) - int(part.min()) < LEFT_OVER or own[2] < 4:
        return None
    return own, text, color, legibility


def _without(text: str, known: str) -> str:
    """Return a line that was read without the words of a text that stands in it."""
    match = SequenceMatcher(None, text.lower(), known.lower(), autojunk=False)
    blocks = [one for one in match.get_matching_blocks() if one.size]
    if not blocks or sum(one.size for one in blocks) < 0.6 * min(len(known), len(text)):
        return text
    start, end = blocks[0].a, blocks[-1].a + blocks[-1].size
    if end - start > 1.5 * len(known) + 2:
        longest = max(blocks, key=lambda one: one.size)
        start, end = longest.a, longest.a + longest.size
    return (text[:start] + " " + text[end:]).strip()


def _at_texts(texts: Sequence[Node], rest: list[LegibleText]) -> list[LegibleText]:
    """Join the lines where a text of the page is expected, and take them from the rest."""
    joined = []
    last: Shift = (0, 0)
    for node in texts:
        if node.partner is not None:
            last = shift_of(node)
            continue
        x, y, w, h = node.box
        x, y = x + last[0], y + last[1]
        own = [
            line
            for line in rest
            if x - 6 <= line[0][0] + line[0][2] / 2 <= x + w + 6
            and y - 3 <= line[0][1] + line[0][3] / 2 <= y + h + 3
            and line[0][3] < 1.8 * h
        ]
        if len(own) > 1:
            joined.append(_joined(own))
            rest[:] = [line for line in rest if line not in own]
    return joined


def paragraphs(lines: Iterable[LegibleText]) -> list[LegibleText]:
    """Join lines that stand closely below each other and look alike."""
    indent, other, gap = _PARAGRAPH
    found: list[list[LegibleText]] = []
    for line in sorted(lines, key=lambda one: one[0][1]):
        x, y, w, h = line[0]
        for text in reversed(found[-12:]):
            (left, top, width, height), words, color, _ = text[-1]
            widest = max(one[0][2] for one in text)
            if (
                abs(x - left) <= indent
                and abs(h - height) <= max(other * height, 4)
                and 0 <= y - (top + height) <= gap * height
                and max(abs(a - b) for a, b in zip(color, line[2], strict=True)) <= 40
                # A line that ends early is followed by another text.
                and width >= 0.75 * max(widest, w)
                and len(words.split()) > 2
            ):
                text.append(line)
                break
        else:
            found.append([line])
    return [_joined(text) for text in found]


def _joined(lines: Sequence[LegibleText]) -> LegibleText:
    return (
        around(line[0] for line in lines),
        " ".join(
            line[1] for line in sorted(lines, key=lambda one: (round(one[0][1] / 6), one[0][0]))
        ),
        lines[0][2],
        min(line[3] for line in lines),
    )


def _settle(ours: Scene, theirs: Scene, node: Node, texts: Sequence[Node]) -> None:
    """Correct what was read of a text by what the page has in its place."""
    other = node.twin
    other.text = _as_read(node.text, other.text)
    if not _is_readable(node.text) and _is_scaled(node.box, other.box):
        other.text = node.text
    other.font, other.tag = node.font, node.tag
    if other.text == node.text and node.box[2] * node.box[3] > 0:
        (_, _, w, h), (_, _, v, g) = node.box, other.box
        one_line = max(h, g) < 1.7 * min(h, g)
        times = v / w if one_line else ((v * g) / (w * h)) ** 0.5
        size, rest = node.font.split("|", 1)
        other.font = f"{float(size.removesuffix('px') or 0) * times:.1f}px|{rest}"
    node.color = letters_colour(ours.rgb, node.box)
    other.color = letters_colour(theirs.rgb, other.box)
    # Letters of other words reach up and down in another way; the line is the same.
    index = texts.index(node)
    for one in (*reversed(texts[max(index - 3, 0) : index]), *texts[index + 1 : index + 4]):
        if one.partner is None:
            continue
        dy = shift_of(one)[1]
        (_, y, _, h), (a, b, c, d) = node.box, other.box
        if abs(y + dy - b) <= 5 and abs(y + h + dy - b - d) <= 5:
            other.box = a, y + dy, c, h
            return


def _as_read(text: str, read: str) -> str:
    """Return what was read of a text, with the page's words for those that were read almost so."""
    if plain_letters(text) == plain_letters(read):
        return text
    similarity = TextSimilarity()
    letters = plain_letters(text)
    if len(letters) > 3 and similarity(letters, plain_letters(read)) >= 1 - 1 / len(letters):
        return text
    ours, theirs = text.split(), read.split()
    match = SequenceMatcher(
        None, [*map(plain_letters, theirs)], [*map(plain_letters, ours)], autojunk=False
    )
    words: list[str] = []
    for name, i1, i2, j1, j2 in match.get_opcodes():
        a, b = plain_letters("".join(theirs[i1:i2])), plain_letters("".join(ours[j1:j2]))
        alike = name == "equal" or a == b or (a and b and similarity(a, b) >= 0.75)
        words += ours[j1:j2] if alike else theirs[i1:i2]
    return " ".join(words)


def _is_readable(text: str) -> bool:
    """Return whether most letters are of scripts that OCR knows: Latin, and those of East Asia."""
    known = sum(char < "\u0250" or "\u3040" <= char <= "\u9fff" for char in text)
    return known >= 0.5 * len(text)


def _is_scaled(a: PixelRect, b: PixelRect) -> bool:
    return abs(a[2] * b[3] - b[2] * a[3]) <= 0.15 * max(a[2] * b[3], b[2] * a[3])


def plain_letters(text: str) -> str:
    """Return the letters of a text as OCR may be trusted with them."""
    return "".join(filter(str.isalnum, text.lower())).translate(_LOOK_ALIKE)


_LOOK_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "5": "s", "8": "b", "|": "l"})
