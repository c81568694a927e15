"""Compare a page with a screenshot: everything on the page is looked for in the picture.

What is found again is put into a copy of the page's own tree, so both sides have the same
structure. Texts that are not found letter by letter are compared with the lines that are read in
the screenshot where nothing was found; what is left of its pixels is missing on the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from math import hypot
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.blocks import Color, LegibleText, PixelRect
from uiproof.benchmarks.design2code.matching import TextSimilarity
from uiproof.benchmarks.design2code.pages import Inventory, PageView
from uiproof.benchmarks.design2code.pairing import (
    is_before,
    marry,
    pair_rest,
    sibling_shifts,
)
from uiproof.benchmarks.design2code.picture import PictureView
from uiproof.benchmarks.design2code.scene import Node, Scene, around, overlap, scene_of
from uiproof.benchmarks.design2code.strict import commonest_colour
from uiproof.vision.images import Rgb
from uiproof.vision.ssim import grayscale

SAME_PIXEL = 24  # levels by which pixels of the same thing may differ
SAME_SHARE = 0.02  # of its pixels may differ more
LIKE_TEMPLATE = 0.8  # correlation of a text with the place where it may be
OTHER_INK = 0.58  # of what two other texts differ by chance
NEAR = (60, 120)  # pixels across and down in which a text is looked for first
FAR = 1200  # pixels down for texts that are long enough to be told from others
LONG = 40  # pixels of such a text
SAME_SIDE = 0.85  # of the pixels along a side of a thing that is found again
SAME_PICTURE = 0.9  # correlation of a picture with the place where it is
EDGE_SAMPLES = 48  # pixels of a side that are looked at
MOST_INK = 0.6  # of a box that letters cover
SHORTEST = 6  # pixels of a side that is looked for
SAME_SHAPE = 0.3  # of what two things of one shape show may differ
EDGE = 6  # levels between the two sides of an edge
SEARCH = 90  # pixels that an edge of a thing may be displaced by
STRIP = 3  # pixels on either side of an edge that are compared
PLAIN = 0.3  # of the free pixels of a surface have its plain colour
CELL = 4  # pixels; what is left over is looked for on a grid of such cells
LEFT_OVER = 24  # levels by which it differs
SMALLEST = 10  # cells of it
CLAIMED = 0.35  # of a line that was read may belong to texts that were found
_PARAGRAPH = (5.0, 0.3, 1.0)  # pixels, and shares of a line's height, between lines of one text

CLOSE = (40, 28)  # pixels across and down between things that are missing together
MOST_SHAPE = 3 * 64 * 64  # values of a picture that is compared by its shape
MOST_PLACES = 12  # that look like a text
MOST_SHIFTS = 60  # of texts, at which a thing is looked for
MOST_SIBLINGS = 200  # whose order is compared

LEFT, TOP, RIGHT, BOTTOM = range(4)

Gray = npt.NDArray[np.uint8]
Shift = tuple[int, int]


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
    _TextSearch(ours, theirs).run()
    _read(ours, theirs, reference.texts)
    _find_again(ours, theirs)
    _copy_structure(ours, theirs)
    displaced = _displaced(ours.root)
    _add_left_over(ours, theirs)
    return ours, theirs, displaced


# --- texts that are found letter by letter


class _TextSearch:
    """Looks for the texts of a page in a screenshot, by their pixels."""

    def __init__(self, ours: Scene, theirs: Scene) -> None:
        self.ours, self.theirs = ours, theirs
        self.gray, self.other = grayscale(ours.rgb), grayscale(theirs.rgb)
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
                    last = [_shift(node)]
        for node in self.texts:  # short ones that have gone with others
            if node.partner is None:
                self._find(node, [(round(-dx), round(-dy)) for dx, dy in sibling_shifts(node)])

    def _is_seen(self, node: Node) -> bool:
        return _contrast(_part(self.ours.rgb, _whole(node.box))) >= LEFT_OVER

    def _next_shift(self, index: int) -> list[Shift]:
        following = self.texts[index + 1 : index + 12]
        return [_shift(node) for node in following if node.partner is not None][:1]

    def _find(self, node: Node, expected: Sequence[Shift]) -> None:
        box = _whole(node.box)
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
        x, y, w, h = _whole(node.box)
        part = _part(self.gray, (x, y, w, h))
        windows = [(dx, dy, *NEAR) for dx, dy in shifts]
        if w >= LONG:
            windows.append((*shifts[0], self.other.shape[1], FAR))
        for dx, dy, across, down in windows:
            left, top = max(x + dx - across, 0), max(y + dy - down, 0)
            area = self.other[top : max(y + dy + h + down, 0), left : max(x + dx + w + across, 0)]
            if area.shape[0] < h or area.shape[1] < w:
                continue
            alike = cv2.matchTemplate(area, part, cv2.TM_CCOEFF_NORMED)
            alike[~np.isfinite(alike)] = -1
            places = []
            for _ in range(MOST_PLACES):
                _, best, _, (column, row) = cv2.minMaxLoc(alike)
                if best < LIKE_TEMPLATE:
                    break
                places.append((column + left, row + top))
                alike[max(row - 4, 0) : row + 5, max(column - 4, 0) : column + 5] = -1
            yield from sorted(places, key=lambda at: hypot(at[0] - x - dx, at[1] - y - dy))

    def _is_exact(self, box: tuple[int, int, int, int], place: tuple[int, int]) -> bool:
        a = _part(self.ours.rgb, box)
        b = _part(self.theirs.rgb, (*place, *box[2:]))
        if min(place) < 0 or a.shape != b.shape:
            return False
        return float((cv2.absdiff(a, b).max(axis=2) > SAME_PIXEL).mean()) <= SAME_SHARE and (
            self._has_same_letters(box, place)
        )

    def _has_same_letters(self, box: tuple[int, int, int, int], place: tuple[int, int]) -> bool:
        """Return whether the same letters stand at two places, in whatever colours."""
        a, b = _part(self.ours.rgb, box), _part(self.theirs.rgb, (*place, *box[2:]))
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
            a = _part(self.gray, (x + dx, y, 4, h))
            b = _part(self.other, (place[0] + dx, place[1], 4, h))
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
        x, y, *_ = _whole(node.box)
        dx, dy = place[0] - x, place[1] - y
        box = node.box[0] + dx, node.box[1] + dy, node.box[2], node.box[3]
        self.taken.append((box, node))
        twin = Node("text", box, node.order, node.tag, text=node.text, parent=self.theirs.root)
        twin.color, twin.font = node.color, node.font
        if not _equal(self.ours.rgb, self.theirs.rgb, node.box, box):
            node.color = letters_colour(self.ours.rgb, node.box)
            twin.color = letters_colour(self.theirs.rgb, box)
        self.theirs.root.children.append(twin)
        marry(node, twin)


def _shift(node: Node) -> Shift:
    assert node.partner is not None
    return round(node.partner.box[0] - node.box[0]), round(node.partner.box[1] - node.box[1])


def _whole(box: PixelRect) -> tuple[int, int, int, int]:
    x, y, w, h = (round(value) for value in box)
    return max(x, 0), max(y, 0), w + min(x, 0), h + min(y, 0)


def _part(picture: npt.NDArray[np.uint8], box: tuple[int, int, int, int]) -> npt.NDArray[np.uint8]:
    x, y, w, h = box
    return picture[max(y, 0) : max(y + h, 0), max(x, 0) : max(x + w, 0)]


def _equal(ours: Rgb, theirs: Rgb, box: PixelRect, other: PixelRect) -> bool:
    a, b = _part(ours, _whole(box)), _part(theirs, _whole(other))
    return a.shape == b.shape and float(cv2.absdiff(a, b).mean()) < 1.0


def has_same_shape(a: Rgb, b: Rgb) -> bool:
    """Return whether two small pictures show the same in other colours."""
    if a.shape != b.shape or a.size > MOST_SHAPE or min(_contrast(a), _contrast(b)) < LEFT_OVER:
        return False
    ours, theirs = ink_map(a), ink_map(b)
    return float(cv2.absdiff(ours, theirs).sum()) <= SAME_SHAPE * float((ours + theirs).sum()) / 2


def _contrast(part: npt.NDArray[np.uint8]) -> int:
    """Return the levels between the darkest and the lightest pixel, in the channel with most."""
    if not part.size:
        return 0
    pixels = part.reshape(-1, part.shape[-1])
    return int((pixels.max(axis=0).astype(np.int16) - pixels.min(axis=0)).max())


def ink_map(part: Rgb) -> npt.NDArray[np.float32]:
    """Return how much each pixel stands out from what is behind a text, in 0-1."""
    behind = np.median(part.reshape(-1, 3), axis=0).astype(np.float32)
    apart = np.abs(part.astype(np.float32) - behind).max(axis=2)
    most = float(np.quantile(apart, 0.99)) if apart.size > 200 else float(apart.max())
    return np.asarray(np.minimum(apart / max(most, 8.0), 1.0), np.float32)


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


# --- texts that are read


def _read(ours: Scene, theirs: Scene, lines: Sequence[LegibleText]) -> None:
    """Add the lines of the screenshot in which no text of the page was found, and pair them."""
    texts = [node for node in ours.leaves if node.kind == "text"]
    found = [node.partner for node in texts if node.partner is not None]
    shifts = [*dict.fromkeys([(0, 0), *(_shift(node) for node in texts if node.partner)])]
    rest = [
        part
        for line in lines
        if (part := _unclaimed(theirs.rgb, line, found)) is not None
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
    x, y, w, h = _whole(box)
    for dx, dy in shifts[:MOST_SHIFTS]:
        there = float(x - dx), float(y - dy), float(w), float(h)
        if min(there) >= 0 and _equal(theirs, ours.rgb, box, there):
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
    part = _part(picture, _whole(own))
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
            last = _shift(node)
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
    other = node.partner
    assert other is not None
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
        dy = _shift(one)[1]
        (_, y, _, h), (a, b, c, d) = node.box, other.box
        if abs(y + dy - b) <= 5 and abs(y + h + dy - b - d) <= 5:
            other.box = a, y + dy, c, h
            return


def _as_read(text: str, read: str) -> str:
    """Return what was read of a text, with the page's words for those that were read almost so."""
    if _plain(text) == _plain(read):
        return text
    similarity = TextSimilarity()
    if len(_plain(text)) > 3 and similarity(_plain(text), _plain(read)) >= 1 - 1 / len(
        _plain(text)
    ):
        return text
    ours, theirs = text.split(), read.split()
    match = SequenceMatcher(None, [*map(_plain, theirs)], [*map(_plain, ours)], autojunk=False)
    words: list[str] = []
    for name, i1, i2, j1, j2 in match.get_opcodes():
        a, b = _plain("".join(theirs[i1:i2])), _plain("".join(ours[j1:j2]))
        alike = name == "equal" or a == b or (a and b and similarity(a, b) >= 0.75)
        words += ours[j1:j2] if alike else theirs[i1:i2]
    return " ".join(words)


def _is_readable(text: str) -> bool:
    """Return whether most letters are of scripts that OCR knows: Latin, and those of East Asia."""
    known = sum(char < "\u0250" or "\u3040" <= char <= "\u9fff" for char in text)
    return known >= 0.5 * len(text)


def _is_scaled(a: PixelRect, b: PixelRect) -> bool:
    return abs(a[2] * b[3] - b[2] * a[3]) <= 0.15 * max(a[2] * b[3], b[2] * a[3])


def _plain(text: str) -> str:
    """Return the letters of a text as OCR may be trusted with them."""
    return "".join(filter(str.isalnum, text.lower())).translate(_LOOK_ALIKE)


_LOOK_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "5": "s", "8": "b", "|": "l"})


def letters_colour(picture: Rgb, box: PixelRect) -> Color:
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


def _away_from_sides(shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Return where a surface has no part of its outline."""
    found = np.zeros(shape, np.bool_)
    found[2:-2, 4:-4] = True
    return found


def ink(picture: Rgb, box: PixelRect) -> PixelRect:
    """Return the box around the letters in a box."""
    x, y, w, h = (round(value) for value in box)
    x, y = max(x, 0), max(y, 0)
    part = picture[y : y + h, x : x + w].astype(np.int16)
    if part.size == 0:
        return box
    rim = np.concatenate([part[0], part[-1], part[:, 0], part[:, -1]])
    behind = np.median(rim, axis=0)
    apart = np.abs(part - behind).max(axis=2)
    shown = apart >= max(0.4 * float(apart.max()), 12)
    rows, columns = np.nonzero(shown)
    if len(rows):
        inner = np.s_[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        is_wide = np.ptp(columns) > 1.5 * np.ptp(rows)
        if is_wide and float(shown[inner].mean()) > MOST_INK:  # a surface around the letters
            behind = np.median(part[inner].reshape(-1, 3), axis=0)
            within = np.abs(part[inner] - behind).max(axis=2)
            shown[:] = False
            shown[inner] = within >= max(0.4 * float(within.max()), 12)
            shown[inner] &= _away_from_sides(shown[inner].shape)
    # Text outside of a button is not its label.
    for axis in (0, 1):
        full = np.flatnonzero(shown.mean(axis=1 - axis) < 0.75)
        if len(full) and shown.shape[axis] > 6:
            keep = np.zeros(shown.shape[axis], np.bool_)
            keep[full[0] : full[-1] + 1] = True
            shown &= keep[:, None] if axis == 0 else keep[None]
    rows, columns = np.nonzero(shown)
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
    leaves = [one for one in ours.leaves if one.partner is not None]
    known = np.array(
        [
            (one.box[1] + one.box[3] / 2, one.box[0] + one.box[2] / 2, *_shift(one))
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
        if box is None and node.is_leaf:
            box = search.other_picture(node, expected[0], found)
        if box is None or (node.is_leaf and _is_taken(box, node, found)):
            continue
        twin = Node(node.kind, box, node.order, node.tag, parent=theirs.root)
        twin.font, twin.paint = node.font, node.paint
        marry(node, twin)
        theirs.root.children.append(twin)
        if node.is_leaf:
            found.append(twin)
    for node in nodes:
        _paint(node, ours.rgb, theirs.rgb)


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
    shifts = [_shift(one) for one in (*before, *after)]
    return shifts[0] if shifts and all(one == shifts[0] for one in shifts) else None


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
    inside = [_shift(leaf) for leaf in node.leaves() if leaf.partner is not None]
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
        if is_picture and (place := self._like(box, expected)) is not None:
            return _moved(node.box, [place[0] - x, place[1] - y] * 2)
        if is_picture:
            dx, dy = expected[0]
            there = self._extent((x + dx, y + dy, w, h), ())
            if there[2:] != (w, h) and self._is_scaled(box, _whole(there)):
                return there
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
                by = _shift_of_holder(node)[axis]
                fixed |= dict.fromkeys(sides, by)
        inside = {_shift(leaf) for leaf in node.leaves() if leaf.partner is not None}
        # A container is placed around its children that were found.
        for dx, dy in [one for one in expected if one in inside] or expected:
            by = [dx, dy, dx, dy]
            there = box[0] + dx, box[1] + dy, *box[2:]
            if all(by[side] == value for side, value in fixed.items()) and all(
                self._sides(box, there, side, (0, 1, -1))[0].any()
                for side in range(4)
                if visible[side]
            ):
                return _moved(node.box, by)
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
        part = _part(self.theirs, _whole(box))
        if part.size < 0.9 * 3 * w * h or _contrast(part) < LEFT_OVER:
            return None
        claimed = sum(overlap(box, one.box) for one in found)
        if claimed > CLAIMED * w * h:
            return None
        return self._extent(box, found)

    def _extent(self, box: PixelRect, found: Sequence[Node]) -> PixelRect:
        """Return the box around what stands out from the plain ground at a place."""
        x, y, w, h = _whole(box)
        margin = max(w, h, 12) // 2
        left, top = max(x - margin, 0), max(y - margin, 0)
        window = _part(self.theirs, (left, top, x + w + margin - left, y + h + margin - top))
        ground = np.array(surrounding_colour(self.theirs, box), np.int16)
        shown = (np.abs(window.astype(np.int16) - ground).max(axis=2) > EDGE).astype(np.uint8)
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

    def _like(self, box: tuple[int, int, int, int], expected: Sequence[Shift]) -> Shift | None:
        """Return where the same picture is, near to where it is expected."""
        x, y, w, h = box
        part = _part(self.ours, box)
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
            if min(x + dx, y + dy) >= 0 and _equal(self.ours, self.theirs, box, there):
                return x + dx, y + dy
        for dx, dy in expected[:4]:
            part = _part(self.theirs, (x + dx, y + dy, w, h))
            if min(x + dx, y + dy) >= 0 and has_same_shape(_part(self.ours, box), part):
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
        """Look for each side by itself, nearest to where what is beside it lets expect it."""
        guesses = _guesses(node, expected)
        found = [fixed.get(side, guess[0]) for side, guess in enumerate(guesses)]
        lost = weak = 0
        # Twice, as the second time the length of each side is known; then any edge will do.
        for is_last in (False, True):
            lost = weak = 0
            for side in (TOP, BOTTOM, LEFT, RIGHT):
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
        if weak > 1 and not stays and not node.children and not self._is_scaled(box, _whole(there)):
            return None  # edges of anything
        return there

    def _is_scaled(self, box: tuple[int, int, int, int], there: tuple[int, int, int, int]) -> bool:
        """Return whether a thing shows the same in another size."""
        a, b = _part(self.ours, box), _part(self.theirs, there)
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
        there = _whole(_moved(box, found))
        if min(there[2:]) < 2:
            return None, False
        most = max(SEARCH, min(box[2 if side in (LEFT, RIGHT) else 3], 4 * SEARCH))
        straight = there[3 if side in (LEFT, RIGHT) else 2] - 2 * self._inset(there)
        if holds and straight < SHORTEST:
            most = 2
        # As its neighbours are, or without a change of size; then anywhere near.
        likely = [*dict.fromkeys([*guesses, found[(side + 2) % 4]])]
        scan = [guesses[0] + by for by in sorted(range(-most, most + 1), key=abs)]
        steps = [*likely, *scan]
        same, half, edges = self._sides(box, there, side, [by - found[side] for by in steps])
        first = np.arange(len(steps)) < len(likely)
        edge = edges >= 0.8
        for which, is_same in (
            *(((same | half & edge) & first, True), (same, True), (half & edge, True)),
            *((edge & first, False), (edge, False)),
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
    ) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16], npt.NDArray[np.bool_]]:
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
        return pair_[0].astype(np.int16), pair_[1].astype(np.int16), valid[:, None] & on_page

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
        most = (np.abs(a - b).max(axis=2) / 2).clip(2, SAME_PIXEL / 2)
        inside, outside = np.abs(a - c).max(axis=2), np.abs(b - d).max(axis=2)
        same = (np.maximum(inside, outside) <= most) & valid
        half = (np.minimum(inside, outside) <= np.minimum(most, EDGE)) & valid
        edges = (np.abs(c - d).max(axis=2) >= EDGE) & valid
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


def _shift_of_holder(node: Node) -> Shift:
    """Return by how much the surface around a thing is displaced."""
    return next((_shift(one) for one in node.ancestors() if one.partner is not None), (0, 0))


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
            own = [_shift(leaf)[axis] + (round(grown) if side in (RIGHT, BOTTOM) else 0)]
        found.append([*dict.fromkeys([*own, *(one[axis] for one in expected), 0])])
    return found


def _strips(box: tuple[int, int, int, int]) -> list[tuple[slice, slice]]:
    x, y, w, h = box
    rows, columns = slice(max(y, 0), max(y + h, 0)), slice(max(x, 0), max(x + w, 0))
    across = [slice(max(edge - STRIP, 0), max(edge + STRIP, 0)) for edge in (y, y + h)]
    down = [slice(max(edge - STRIP, 0), max(edge + STRIP, 0)) for edge in (x, x + w)]
    return [*((part, columns) for part in across), *((rows, part) for part in down)]


def _paint(node: Node, ours: Rgb, theirs: Rgb) -> None:
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
    part = _part(picture, (x, y, w, h))
    free = np.ones(part.shape[:2], np.bool_)
    x, y = max(x, 0), max(y, 0)
    for a, b, c, d in held:
        rows = slice(max(round(b - y), 0), max(round(b + d - y), 0))
        free[rows, max(round(a - x), 0) : max(round(a + c - x), 0)] = False
    if free.sum() < 0.04 * free.size or free.sum() < 20:
        return None
    pixels = part[free]
    plain = np.array(commonest_colour(pixels[None]), np.int16)
    if float((np.abs(pixels - plain).max(axis=1) <= EDGE).mean()) < PLAIN:
        return None  # a gradient or a picture
    red, green, blue = plain.tolist()
    return red, green, blue


def surrounding_colour(picture: Rgb, box: PixelRect) -> Color:
    """Return the commonest colour just outside of a box."""
    x, y, w, h = (round(value) for value in box)
    wide = _part(picture, (x - 3, y - 3, w + 6, h + 6))
    rim = [wide[:2], wide[-2:]], [wide[:, :2], wide[:, -2:]]
    pixels = np.concatenate([one.reshape(-1, 3) for both in rim for one in both])
    return commonest_colour(pixels[None]) if len(pixels) else (255, 255, 255)


# --- the tree of the screenshot


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
        # What is read in a picture that both have is no text.
        if all(overlap(node.box, one) < 0.7 * w * h for one in pictures):
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
    _paint(whole, ours.rgb, theirs.rgb)
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


# --- the order


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
                    one for one in _paired(child) if counts[one.text] == 1 and _plain(one.text)
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
        _shift(one) for one in (*paired[max(first - 1, 0) : first], *paired[last + 1 :][:1])
    }
    return {
        index
        for index, (a, b) in enumerate(zip(ours, theirs, strict=True))
        if any(abs(b[0] - a[0] - x) <= 3 and abs(b[1] - a[1] - y) <= 3 for x, y in around_it)
    }


def _paired(node: Node) -> list[Node]:
    return [leaf for leaf in node.leaves() if leaf.partner is not None and leaf.kind == "text"]


# --- what else the screenshot shows


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
        part = _part(theirs.rgb, (x * CELL, y * CELL, w * CELL, h * CELL))
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
    apart[valid, :across] = cv2.absdiff(theirs.rgb[valid, :across], there).max(axis=2)
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
            x, y, w, h = _whole(node.box)
            there, part = _part(painted, (x, y, w, h)), _part(ours.rgb, _whole(node.partner.box))
            if node.paint.split("|")[1] != "none" and part.size and there.size:
                there[:] = cv2.resize(part, there.shape[1::-1], interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.absdiff(theirs.rgb, painted).max(axis=2), np.uint8)


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
