"""Text on pictures and pages, and the part of it that lies in a region.

Reading is the dearest step of the judge. A picture is read once and kept by its content; the
picture after an interaction is read only where it differs from the one before; the text of a
region comes from the lines inside it.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uiproof.benchmarks.interaction2code.judging.texts import Words
from uiproof.boxes import PixelBox
from uiproof.vision.ocr import OcrLine, OcrWord, read_lines
from uiproof.vision.readings import KeptReadings

if TYPE_CHECKING:
    from uiproof.vision.images import Rgb

_KEPT = 64  # readings in memory; each takes some kilobytes
_MARGIN = 24  # pixels around a change that are read with it: a line reaches beyond its ink
_WORTH_A_CROP = 0.7  # of a picture; where more than this has changed all of it is read


class Reader:
    """Reads pictures, each one once.

    Readings are kept below `folder`, or nowhere but in memory. `seconds` is what reading took.
    """

    def __init__(self, folder: Path | None) -> None:
        self._kept = None if folder is None else KeptReadings(folder, _reader())
        self._recent: OrderedDict[str, tuple[OcrLine, ...]] = OrderedDict()
        self.seconds = 0.0

    def lines(self, rgb: Rgb) -> tuple[OcrLine, ...]:
        """The lines of text on a picture, from top to bottom."""
        digest = _digest(rgb)
        if digest not in self._recent:
            if self._kept is None:
                self._remember(digest, self._read(rgb))
            else:
                self._remember(digest, self._kept.lines(digest, lambda: self._read(rgb)))
        self._recent.move_to_end(digest)
        return self._recent[digest]

    def lines_after(self, before: Rgb, after: Rgb) -> tuple[OcrLine, ...]:
        """The lines on a picture that shows mostly what another one shows.

        Rows that both begin and end with are not read again, nor, where the sizes are the same,
        columns that did not change.
        """
        # Not kept as the reading of that picture: what is read must not depend on what came first.
        key = f"{_digest(after)} after {_digest(before)}"
        if key not in self._recent:
            self._remember(key, self._changed_lines(before, after))
        self._recent.move_to_end(key)
        return self._recent[key]

    def part(
        self, crop: Rgb, wholes: Iterable[tuple[Rgb, Callable[[], Sequence[OcrLine]]]]
    ) -> Sequence[OcrLine]:
        """The lines on a part of a picture, which is not read again if the whole one was.

        `wholes` are the pictures that it may be a part of, each with what tells its lines.
        """
        place = _place_in_base(crop)
        for whole, lines in wholes if place is not None else ():
            if place is not None and np.array_equal(_cut(whole, place), crop):
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
        box, shift = change
        # `box` is in pixels of the picture after; what is above it has not moved, what is below
        # has by `shift`.
        moved = [line if line.box.top < box.top else _moved(line, 0, shift) for line in known]
        box = _with_whole_lines(box, [line.box for line in moved], after)
        height, width = after.shape[:2]
        if box.width * box.height > _WORTH_A_CROP * width * height:
            return self.lines(after)
        found = self.lines(np.ascontiguousarray(_cut(after, box)))
        kept = [line for line in moved if not _overlap(line.box, box)]
        kept += [_moved(line, box.left, box.top) for line in found]
        return sorted(kept, key=lambda line: (line.box.top, line.box.left))

    def _read(self, rgb: Rgb) -> list[OcrLine]:
        began = time.monotonic()
        lines = read_lines(rgb) if min(rgb.shape[:2]) > 0 else []
        self.seconds += time.monotonic() - began
        return lines

    def _remember(self, digest: str, lines: Sequence[OcrLine]) -> None:
        self._recent[digest] = tuple(lines)
        while len(self._recent) > _KEPT:
            self._recent.popitem(last=False)


def read_inside(lines: Iterable[OcrLine], box: PixelBox | None) -> list[Words]:
    """What is written inside a box; of lines that reach beyond it, the words in it.

    None stands for the whole picture.
    """
    inside = lines if box is None else lines_inside(lines, box)
    return [Words(line.text, line.box) for line in inside]


def lines_inside(lines: Iterable[OcrLine], box: PixelBox) -> list[OcrLine]:
    """The lines inside a box, cut where they reach beyond it."""
    inside = []
    for line in lines:
        if _contains(box, line.box):
            inside.append(line)
        elif words := tuple(word for word in line.words if _holds_centre(box, word.box)):
            text = " ".join(word.text for word in words)
            inside.append(OcrLine(text, _around(words), line.confidence, words))
        elif not line.words and _holds_centre(box, line.box):
            inside.append(line)
    return inside


@cache
def _reader() -> str:
    return f"rapidocr {version('rapidocr')}, as it is"


def _digest(rgb: Rgb) -> str:
    digest = hashlib.sha256(f"pixels {rgb.shape}".encode())
    digest.update(np.ascontiguousarray(rgb).data)
    return digest.hexdigest()


def _place_in_base(crop: Rgb) -> PixelBox | None:
    """Where an array was cut out of a larger one; None where it was not."""
    base = crop.base
    if not isinstance(base, np.ndarray) or base.ndim != 3 or crop.strides != base.strides:
        return None
    offset = crop.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    top, rest = divmod(offset, base.strides[0])
    left = rest // base.strides[1]
    return PixelBox(left, top, left + crop.shape[1], top + crop.shape[0])


def _changed_part(before: Rgb, after: Rgb) -> tuple[PixelBox, int] | None:
    """Where a picture differs from another of the same width, and how much longer it is."""
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
    """How many rows two pictures have in common, from the first one on."""
    rows = min(len(a), len(b))
    differs = (a[:rows] != b[:rows]).any(axis=(1, 2))
    return int(differs.argmax()) if differs.any() else rows


def _with_whole_lines(box: PixelBox, lines: Sequence[PixelBox], picture: Rgb) -> PixelBox:
    height, width = picture.shape[:2]
    grown = PixelBox(
        max(box.left - _MARGIN, 0),
        max(box.top - _MARGIN, 0),
        min(box.right + _MARGIN, width),
        min(box.bottom + _MARGIN, height),
    )
    while touched := [
        line for line in lines if _overlap(line, grown) and not _contains(grown, line)
    ]:
        lines = [line for line in lines if line not in touched]
        grown = PixelBox(
            max(min(grown.left, *(line.left - 2 for line in touched)), 0),
            max(min(grown.top, *(line.top - 2 for line in touched)), 0),
            min(max(grown.right, *(line.right + 2 for line in touched)), width),
            min(max(grown.bottom, *(line.bottom + 2 for line in touched)), height),
        )
    return grown


def _moved(line: OcrLine, right: int, down: int) -> OcrLine:
    def box(old: PixelBox) -> PixelBox:
        return PixelBox(old.left + right, old.top + down, old.right + right, old.bottom + down)

    words = tuple(OcrWord(word.text, box(word.box)) for word in line.words)
    return OcrLine(line.text, box(line.box), line.confidence, words)


def _cut(rgb: Rgb, box: PixelBox) -> Rgb:
    return rgb[box.top : box.bottom, box.left : box.right]


def _contains(outer: PixelBox, inner: PixelBox) -> bool:
    return (
        outer.left <= inner.left
        and outer.top <= inner.top
        and outer.right >= inner.right
        and outer.bottom >= inner.bottom
    )


def _overlap(a: PixelBox, b: PixelBox) -> bool:
    return a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom


def _holds_centre(outer: PixelBox, inner: PixelBox) -> bool:
    x, y = (inner.left + inner.right) / 2, (inner.top + inner.bottom) / 2
    return outer.left <= x < outer.right and outer.top <= y < outer.bottom


def _around(words: Sequence[OcrWord]) -> PixelBox:
    return PixelBox(
        min(word.box.left for word in words),
        min(word.box.top for word in words),
        max(word.box.right for word in words),
        max(word.box.bottom for word in words),
    )
