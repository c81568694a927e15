"""Text on pictures and pages: reading it, cutting it to a region, comparing it by BLEU.

OCR is the most expensive step of the judge. A picture is read once and kept by its content; the
picture after an interaction is read only where it differs from the one before; the text of a
region comes from the lines inside it.
"""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import pixels
from uiproof.errors import needs_extra
from uiproof.geometry import PixelBox
from uiproof.vision.ocr import KeptReadings, OcrLine, OcrWord, read_lines

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

    from uiproof.browser.snapshots import Snapshot
    from uiproof.vision.images import Rgb

_KEPT = 64  # readings in memory; each takes some kilobytes
_MARGIN = 24  # pixels around a change that are read with it: a line reaches beyond its ink
_WORTH_A_CROP = 0.7  # of a picture; where more than this has changed all of it is read
_LONGEST = 8  # words that are taken together when spaces are compared
_CUT_TEXT = 500  # characters at which snapshots cut an element's own text
_TEXT_ONLY = frozenset(
    ("a", "abbr", "b", "br", "code", "em", "i", "kbd", "mark", "s", "small", "span", "strong")
)
_ORDERS = (1, 2, 3, 4)  # of n-grams


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Some text and its box."""

    text: str
    box: PixelBox


# --- reading pictures


class Reader:
    """Reads pictures, each one once.

    Readings are kept below `folder`, or only in memory. `seconds` is the time spent on OCR.
    """

    def __init__(self, folder: Path | None) -> None:
        self._kept = None if folder is None else KeptReadings(folder, _engine())
        self._recent: OrderedDict[str, tuple[OcrLine, ...]] = OrderedDict()
        self.seconds = 0.0

    def lines(self, rgb: Rgb) -> tuple[OcrLine, ...]:
        """Return the lines of text on a picture, from top to bottom."""
        digest = _digest(rgb)

        def read() -> Sequence[OcrLine]:
            if self._kept is None:
                return self._read(rgb)
            return self._kept.lines(digest, lambda: self._read(rgb))

        return self._remembered(digest, read)

    def lines_after(self, before: Rgb, after: Rgb) -> tuple[OcrLine, ...]:
        """Return the lines on a picture that shows mostly what another one shows.

        Rows that both begin and end with are not read again, nor, where the sizes are the same,
        columns that did not change.
        """
        # Not kept as the reading of that picture: what is read must not depend on what came first.
        key = f"{_digest(after)} after {_digest(before)}"
        return self._remembered(key, lambda: self._changed_lines(before, after))

    def part(
        self, crop: Rgb, wholes: Iterable[tuple[Rgb, Callable[[], Sequence[OcrLine]]]]
    ) -> Sequence[OcrLine]:
        """Return the lines on a picture or a part of it, without OCR if the whole one was read.

        `wholes` are the pictures that it may be a part of, each with a function for its lines.
        """
        place = _place_in_base(crop)
        for whole, lines in wholes:
            if crop is whole:
                return lines()
            if place is not None and np.array_equal(pixels.crop(whole, place), crop):
                found = lines_inside(lines(), place)
                return [_moved(line, -place.left, -place.top) for line in found]
        return self.lines(np.ascontiguousarray(crop))

    def _changed_lines(self, before: Rgb, after: Rgb) -> Sequence[OcrLine]:
        known = self.lines(before)
        if before.shape == after.shape and np.array_equal(before, after):
            return known
        change = _changed_part(before, after)
        if change is None:
            return self.lines(after)
        # `box` is in pixels of the picture after; what is above it has not moved, what is below
        # has by `shift`.
        box, shift = change
        moved = [line if line.box.top < box.top else _moved(line, 0, shift) for line in known]
        box = _with_whole_lines(box, [line.box for line in moved], after)
        height, width = after.shape[:2]
        if box.area > _WORTH_A_CROP * width * height:
            return self.lines(after)
        found = self.lines(np.ascontiguousarray(pixels.crop(after, box)))
        kept = [line for line in moved if not line.box.overlap(box)]
        kept += [_moved(line, box.left, box.top) for line in found]
        return sorted(kept, key=lambda line: (line.box.top, line.box.left))

    def _read(self, rgb: Rgb) -> list[OcrLine]:
        began = time.monotonic()
        lines = read_lines(rgb) if min(rgb.shape[:2]) > 0 else []
        self.seconds += time.monotonic() - began
        return lines

    def _remembered(self, key: str, read: Callable[[], Sequence[OcrLine]]) -> tuple[OcrLine, ...]:
        if key not in self._recent:
            self._recent[key] = tuple(read())
            while len(self._recent) > _KEPT:
                self._recent.popitem(last=False)
        self._recent.move_to_end(key)
        return self._recent[key]


def read_inside(lines: Iterable[OcrLine], box: PixelBox | None) -> list[TextPiece]:
    """Return the text inside a box, or of the whole picture without one.

    Of lines that reach beyond the box, the words in it count.
    """
    inside = lines if box is None else lines_inside(lines, box)
    return [TextPiece(line.text, line.box) for line in inside]


def lines_inside(lines: Iterable[OcrLine], box: PixelBox) -> list[OcrLine]:
    """Return the lines inside a box, cut where they reach beyond it."""
    inside = []
    for line in lines:
        if box.encloses(line.box):
            inside.append(line)
        elif words := tuple(word for word in line.words if box.contains(*word.box.centre)):
            text = " ".join(word.text for word in words)
            around = reduce(PixelBox.union, (word.box for word in words))
            inside.append(OcrLine(text, around, line.confidence, words))
        elif not line.words and box.contains(*line.box.centre):
            inside.append(line)
    return inside


@cache
def _engine() -> str:
    return f"rapidocr {version('rapidocr')}, as it is"


def _digest(rgb: Rgb) -> str:
    digest = hashlib.sha256(f"pixels {rgb.shape}".encode())
    digest.update(np.ascontiguousarray(rgb).data)
    return digest.hexdigest()


def _place_in_base(crop: Rgb) -> PixelBox | None:
    """Return the box of a crop in the array that it is a view of; None where it is no view."""
    base = crop.base
    if not isinstance(base, np.ndarray) or base.ndim != 3 or crop.strides != base.strides:
        return None
    offset = crop.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    top, rest = divmod(offset, base.strides[0])
    left = rest // base.strides[1]
    return PixelBox(left, top, left + crop.shape[1], top + crop.shape[0])


def _changed_part(before: Rgb, after: Rgb) -> tuple[PixelBox, int] | None:
    """Return the part in which pictures of one width differ, and by how much the second is longer.

    None where their widths differ.
    """
    if before.shape[1] != after.shape[1]:
        return None
    shorter = min(before.shape[0], after.shape[0])
    top = _equal_rows(before[:shorter], after[:shorter])
    below = _equal_rows(before[top:][::-1], after[top:][::-1])
    shift = after.shape[0] - before.shape[0]
    box = PixelBox(0, top, after.shape[1], max(after.shape[0] - below, top + 1))
    if shift == 0:
        differs = (before[box.top : box.bottom] != after[box.top : box.bottom]).any(axis=(0, 2))
        columns = np.flatnonzero(differs)
        box = PixelBox(int(columns[0]), box.top, int(columns[-1]) + 1, box.bottom)
    return box, shift


def _equal_rows(a: Rgb, b: Rgb) -> int:
    """Return how many rows two pictures have in common, from the first one on."""
    rows = min(len(a), len(b))
    differs = (a[:rows] != b[:rows]).any(axis=(1, 2))
    return int(differs.argmax()) if differs.any() else rows


def _with_whole_lines(box: PixelBox, lines: Sequence[PixelBox], picture: Rgb) -> PixelBox:
    """Return a box with a margin, grown until it cuts through no line."""
    height, width = picture.shape[:2]
    grown = pixels.grown(box, _MARGIN, width, height)
    while touched := [line for line in lines if line.overlap(grown) and not grown.encloses(line)]:
        lines = [line for line in lines if line not in touched]
        lines_around = (pixels.grown(line, 2, width, height) for line in touched)
        grown = reduce(PixelBox.union, lines_around, grown)
    return grown


def _moved(line: OcrLine, right: int, down: int) -> OcrLine:
    def box(old: PixelBox) -> PixelBox:
        return PixelBox(old.left + right, old.top + down, old.right + right, old.bottom + down)

    words = tuple(OcrWord(word.text, box(word.box)) for word in line.words)
    return OcrLine(line.text, box(line.box), line.confidence, words)


# --- text of a page's elements


def written_inside(snapshot: Snapshot, box: PixelBox | None) -> list[TextPiece]:
    """Return the texts of a page's elements inside a box, or of the whole page without one.

    An element with only pieces of a sentence in it (`<p>some <b>bold</b> text`) counts as one
    text, any other with its own text. It is inside where half of its height is, and half of its
    width or of that of the box: a heading is as wide as its column, however short its text.
    """
    with_children = {element.parent for element in snapshot.elements}
    mixed: set[int | None] = set()  # elements with more than text in them
    for element in reversed(snapshot.elements):  # what is in an element comes after it
        if element.tag not in _TEXT_ONLY or element.ref in mixed:
            mixed.add(element.parent)

    found: list[TextPiece] = []
    covered: set[int] = set()
    for element in snapshot.elements:  # in document order: parents come before what is in them
        if element.parent in covered:
            covered.add(element.ref)
            continue
        text = element.label if len(element.text) >= _CUT_TEXT else element.text
        if text and element.ref in with_children and element.ref not in mixed:
            text = element.label or text
            covered.add(element.ref)
        if text.strip() and (box is None or _mostly_in(box, element.box)):
            found.append(TextPiece(" ".join(text.split()), element.box))
    return found


def _mostly_in(outer: PixelBox, inner: PixelBox) -> bool:
    across = min(outer.right, inner.right) - max(outer.left, inner.left)
    down = min(outer.bottom, inner.bottom) - max(outer.top, inner.top)
    return 2 * across >= min(outer.width, inner.width) > 0 and 2 * down >= inner.height > 0


# --- joining pieces


def published_text(pieces: Iterable[TextPiece]) -> str:
    """Join all lines in reading order, as the published evaluator does."""
    return "".join(f" {one.text}" for one in pieces)


def reading_text(pieces: Sequence[TextPiece]) -> str:
    """Join all lines block by block instead of row by row.

    Lines below each other at the same left edge or centre are one block, so that columns side by
    side are not mixed.
    """
    blocks: list[list[TextPiece]] = []
    for one in sorted(pieces, key=lambda one: (one.box.top, one.box.left)):
        home = next((block for block in blocks if _continues(block[-1].box, one.box)), None)
        if home is None:
            blocks.append([one])
        else:
            home.append(one)
    rows = sorted(blocks, key=lambda block: _reading_order(block[0].box))
    return " ".join(one.text for block in rows for one in block)


def _continues(above: PixelBox, below: PixelBox) -> bool:
    """Return whether two lines are of one block: as high, close to each other, and aligned."""
    size = min(above.height, below.height)
    if max(above.height, below.height) > 1.5 * size:
        return False
    gap = below.top - above.bottom
    aligned = abs(above.left - below.left) <= size or (
        abs((above.left + above.right) - (below.left + below.right)) <= size
    )
    return -0.5 * size <= gap <= 0.9 * size and aligned


def _reading_order(box: PixelBox) -> tuple[int, int]:
    # Things in one row are seldom at exactly the same height.
    return round((box.top + min(box.height, 40) / 2) / 12), box.left


def respaced(read: str, written: str) -> str:
    """Return a text from OCR, which loses and adds spaces, with the spaces of a written text.

    The spaces of the written one are used for every stretch of letters that both have.
    """
    known: dict[str, str] = {}
    parts = written.split()
    for start in range(len(parts)):
        for end in range(start + 1, min(start + _LONGEST, len(parts)) + 1):
            known.setdefault("".join(parts[start:end]), " ".join(parts[start:end]))
    tokens, spaced, at = read.split(), [], 0
    while at < len(tokens):
        for end in range(min(at + _LONGEST, len(tokens)), at, -1):
            joined = "".join(tokens[at:end])
            if joined in known:
                spaced.append(known[joined])
                at = end
                break
        else:
            spaced.append(tokens[at])
            at += 1
    return " ".join(spaced)


# --- BLEU (Papineni, Roukos, Ward and Zhu, ACL 2002); case and order matter


def character_bleu(reference: str, candidate: str) -> float:
    """Return the published text score: BLEU over characters, without smoothing.

    Equals `sentence_bleu([reference], candidate)` of nltk on plain strings, whose items are
    characters. An order of n-grams without a match counts as the smallest positive number, so
    equal texts of less than four characters score almost 0. Two empty texts score 1, and one empty
    text 0 (published: nothing at all).
    """
    if not reference or not candidate:
        return 1.0 if reference == candidate else 0.0
    logs = []
    for order in _ORDERS:
        matched, found = _matches(reference, candidate, order)
        if order == 1 and matched == 0:
            return 0.0
        logs.append(math.log(matched / found if matched else sys.float_info.min))
    short = len(candidate) <= len(reference)
    brevity = math.exp(1 - len(reference) / len(candidate)) if short else 1.0
    return brevity * math.exp(math.fsum(log / len(_ORDERS) for log in logs))


def _matches(reference: str, candidate: str, order: int) -> tuple[int, int]:
    """Return how many n-grams of a text are in another, counted once each; and of how many."""
    ours, theirs = _ngrams(candidate, order), _ngrams(reference, order)
    matched = sum(min(count, theirs[ngram]) for ngram, count in ours.items())
    return matched, max(ours.total(), 1)


def _ngrams(text: str, order: int) -> Counter[str]:
    return Counter(text[start : start + order] for start in range(len(text) - order + 1))


def word_bleu(reference: str, candidate: str) -> float:
    """Return the strict text score, 0-1: BLEU over words, with exponential smoothing.

    That of sacrebleu, with only as many orders of n-grams as the candidate has words: equal texts
    score 1 however short they are. Chinese characters are words. Two empty texts score 1, and one
    empty text 0.
    """
    if not reference.split() or not candidate.split():
        return 1.0 if not reference.split() and not candidate.split() else 0.0
    score = _sacrebleu().sentence_score(candidate, [reference]).score
    return min(float(score) / 100, 1.0)  # 100 comes with floating point noise


@cache
def _sacrebleu() -> BLEU:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ModuleNotFoundError as error:
        raise needs_extra("Comparing texts needs sacrebleu.", "interactions") from error

    return BLEU(tokenize="zh", effective_order=True)
