"""The pixels of lines of text: which belong to letters, their colour, their exact place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.boxes import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine
from uiproof.vision.typefaces import WIDE_SANS, Typeface

Colour = tuple[int, int, int]
Pixels = npt.NDArray[np.int32]

_FAINT = 12  # levels of contrast below which nothing counts as ink
_INK = 0.35  # coverage from which a pixel belongs to a letter


@dataclass(frozen=True, slots=True)
class Ink:
    """The pixels of one line of text."""

    text: str
    box: PixelBox  # close around the letters
    colour: Colour
    stroke: float  # mean thickness of strokes, pixels
    gaps: tuple[tuple[int, int], ...]  # columns without ink, from the left of the box
    feet: float  # ink at the baseline against ink above it: large with serifs
    underlined: bool


def find_inks(rgb: Rgb, line: OcrLine) -> Iterator[Ink]:
    """The ink of a reading, parted where the background changes (a price and a button) and at wide
    gaps (a menu)."""
    areas = _allot(rgb, line, _backgrounds(rgb, line.box)) if " " in line.text else [line]
    for area in areas:
        ink = find_ink(rgb, area)
        if ink is None:
            continue
        parts = _allot(rgb, area, _columns(ink)) if " " in area.text else [area]
        if len(parts) == 1:
            yield ink
        else:
            yield from (found for part in parts if (found := find_ink(rgb, part)) is not None)


def find_ink(rgb: Rgb, line: OcrLine) -> Ink | None:
    """The ink of a line, or `None` where nothing stands out from the background."""
    height, width = rgb.shape[:2]
    left, right = max(line.box.left - 2, 0), min(line.box.right + 2, width)
    top, bottom = line.box.top, min(line.box.bottom, height)
    colour, coverage = _coverage(rgb[top:bottom, left:right].astype(np.int32))
    if colour is None:
        return None
    underlined = _remove_rules(coverage)
    rows = _main_band(np.asarray((coverage > _INK).any(axis=1)))
    columns = np.flatnonzero((coverage[rows] > _INK).any(axis=0))
    if columns.size == 0:
        return None
    first, last = int(columns[0]), int(columns[-1]) + 1
    letters = coverage[rows, first:last]
    steps = float(np.abs(np.diff(letters, axis=1, prepend=0, append=0)).sum())
    return Ink(
        text=line.text,
        box=PixelBox(left + first, top + rows.start, left + last, top + rows.stop),
        colour=(int(colour[0]), int(colour[1]), int(colour[2])),
        stroke=2 * float(letters.sum()) / max(steps, 1.0),
        feet=_feet(letters, line.text),
        gaps=_gaps(letters),
        underlined=underlined,
    )


def _coverage(pixels: Pixels) -> tuple[Pixels | None, npt.NDArray[np.float64]]:
    """The colour of the letters, and how much of each pixel they cover."""
    common = most_common(pixels[::2])  # half of it tells as much
    away = np.abs(pixels - common).max(axis=2)
    if (away == 0).mean() < 0.2:
        # No flat background: on a picture, the one colour that repeats is the letters'.
        return common, np.clip(1 - away / 64, 0, 1)
    away[_strangers(away > max(0.25 * away.max(initial=0), _FAINT))] = 0
    peak = int(away.max(initial=0))
    if peak < _FAINT:
        return None, away.astype(np.float64)
    # Antialiasing only weakens a colour, so the common one among the strongest is the true one.
    colour = most_common(pixels[away >= 0.8 * peak])
    return colour, np.minimum(away / max(int(np.abs(colour - common).max()), 1), 1.0)


def _strangers(ink: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """What is not lettering: bits of other lines, a button's surroundings, highlighted areas."""
    height, width = ink.shape
    count, labels, stats, _ = cv2.connectedComponentsWithStats(ink.astype(np.uint8), connectivity=8)
    strange = np.zeros(count, bool)
    for label in range(1, count):
        left, top, across, down, area = stats[label].tolist()
        sides = (top == 0) + (top + down == height) + (left == 0) + (left + across == width)
        bit = sides > 0 and (sides > 1 or down < 0.35 * height or across > 0.6 * width)
        block = across > 1.5 * height and down > 0.5 * height and area > 0.55 * across * down
        strange[label] = bit or block
    if strange[1:].all():
        strange[:] = False
    return np.asarray(strange[labels])


def _gaps(letters: npt.NDArray[np.float64]) -> tuple[tuple[int, int], ...]:
    """The columns without ink: where each run of them begins and ends."""
    blank = np.concatenate([[False], (letters <= _INK).all(axis=0), [False]]).astype(np.int8)
    steps = np.diff(blank)
    starts, ends = np.flatnonzero(steps > 0), np.flatnonzero(steps < 0)
    return tuple((int(start), int(end)) for start, end in zip(starts, ends, strict=True))


def _backgrounds(rgb: Rgb, box: PixelBox) -> list[tuple[int, int]]:
    """The columns of a box, parted where another background begins."""
    pixels = rgb[box.top : box.bottom, box.left : box.right].astype(np.int32)
    # Letters cover less than half of most columns, so the median is the background.
    rows = np.linspace(0, box.height - 1, 9).astype(int)
    away = np.abs(np.median(pixels[rows], axis=0) - most_common(pixels)).max(axis=1) > _FAINT
    edges = [0, *(np.flatnonzero(np.diff(away)) + 1).tolist(), box.width]
    cuts = {0, box.width}
    for start, end in pairwise(edges):
        if away[start] and end - start > 1.2 * box.height:
            cuts |= {start, end}
    return [(box.left + start, box.left + end) for start, end in pairwise(sorted(cuts))]


def _columns(ink: Ink) -> list[tuple[int, int]]:
    """The columns of a line, parted at gaps that are wider than a space."""
    wide = [gap for gap in ink.gaps if gap[1] - gap[0] > 0.9 * height_size(ink)]
    starts, ends = [0, *(gap[1] for gap in wide)], [*(gap[0] for gap in wide), ink.box.width]
    return [(ink.box.left + s, ink.box.left + e) for s, e in zip(starts, ends, strict=True)]


def _allot(rgb: Rgb, line: OcrLine, columns: Sequence[tuple[int, int]]) -> list[OcrLine]:
    """Give each part of a line as many of its words as come nearest to filling its ink."""
    if len(columns) == 1:
        return [line]
    box, words = line.box, line.text.split()
    boxes = [PixelBox(start, box.top, end, box.bottom) for start, end in columns]
    inks = [
        ink
        for part in boxes
        if (ink := find_ink(rgb, OcrLine(line.text, part, line.confidence))) is not None
    ]
    if not 1 < len(inks) <= len(words):
        return [line]
    parts: list[OcrLine] = []
    for ink in inks:
        later = len(inks) - len(parts) - 1
        count = len(words)
        if later:
            wanted = ink.box.width / height_size(ink)
            count = min(range(1, len(words) - later + 1), key=partial(_unlike, words, wanted))
        part = PixelBox(ink.box.left, box.top, ink.box.right, box.bottom)
        parts.append(OcrLine(" ".join(words[:count]), part, line.confidence))
        words = words[count:]
    return parts


def _unlike(words: Sequence[str], wanted: float, count: int) -> float:
    return abs(WIDE_SANS.width(" ".join(words[:count]), bold=False) - wanted)


def most_common(pixels: Pixels) -> Pixels:
    """The colour that most of the pixels have; the darkest of several."""
    flat = pixels.reshape(-1, 3)
    packed = (flat[:, 0] << 16) | (flat[:, 1] << 8) | flat[:, 2]
    values, counts = np.unique(packed, return_counts=True)
    value = int(values[counts.argmax()])
    return np.array([value >> 16, value >> 8 & 255, value & 255], np.int32)


def _remove_rules(coverage: npt.NDArray[np.float64]) -> bool:
    """Blank rows that are ink from end to end: underlines and borders. Was it an underline?"""
    height, width = coverage.shape
    if width < 16:
        return False
    ink = coverage > _INK
    columns = np.flatnonzero(ink.any(axis=0))
    if columns.size == 0:
        return False
    full = ink.sum(axis=1) > 0.85 * (columns[-1] - columns[0] + 1)
    if full.sum() > height // 4:
        return False
    coverage[full] = 0
    lower = np.flatnonzero(full) > height // 2
    return bool(lower.any()) and bool((coverage > _INK).any())


def _main_band(inked: npt.NDArray[np.bool_]) -> slice:
    """The rows of the line itself, without bits of its neighbours at the top or the bottom."""
    rows = np.flatnonzero(inked)
    if rows.size == 0:
        return slice(0, 0)
    gap = max(2, len(inked) // 8)  # dots of letters stand this far off
    bands = np.split(rows, np.flatnonzero(np.diff(rows) > gap) + 1)
    band = max(bands, key=len)
    return slice(int(band[0]), int(band[-1]) + 1)


def _feet(letters: npt.NDArray[np.float64], text: str) -> float:
    above, below = WIDE_SANS.extent(text)
    size = letters.shape[0] / (above + below)
    baseline = round(letters.shape[0] - below * size)
    near = letters[max(baseline - round(0.07 * size) - 1, 0) : baseline + 1].sum(axis=1)
    body = letters[max(baseline - round(0.4 * size), 0) : max(baseline - round(0.12 * size), 1)]
    return float(near.max(initial=0) / max(body.sum(axis=1).mean(), 1e-6)) if body.size else 1.0


def sizes(ink: Ink, face: Typeface, *, bold: bool) -> tuple[float, float]:
    """The type size by the height and by the width of the ink."""
    above, below = face.extent(ink.text)
    advance = face.width(ink.text, bold=bold) - 2 * face.bearing / 1000
    return ink.box.height / (above + below), ink.box.width / max(advance, 0.1)


def height_size(ink: Ink) -> float:
    """The type size by the height of the ink alone."""
    return sizes(ink, WIDE_SANS, bold=False)[0]
