"""What a line of text looks like: colour, exact place, weight, serifs, type size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import log

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.boxes import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine
from uiproof.vision.typefaces import MONO, SANS, SERIF, WIDE_SANS, WIDE_SERIF, Typeface

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


@dataclass(frozen=True, slots=True)
class Lettering:
    """A line of text, ready to be set again."""

    text: str
    box: PixelBox
    colour: Colour
    face: Typeface
    bold: bool
    underlined: bool
    size: float  # pixels
    spacing: float  # extra pixels between letters
    baseline: float


def read_lettering(rgb: Rgb, lines: Sequence[OcrLine]) -> list[Lettering]:
    """Find out how each line is set. Lines without visible ink are left out.

    A reading that runs across a wide gap, as over the entries of a menu, becomes several lines.
    """
    parts = (part for line in lines for part in _split(rgb, line))
    inks = [ink for part in parts if (ink := find_ink(rgb, part)) is not None]
    alike: dict[object, list[int]] = {}
    for index, ink in enumerate(inks):
        key = (_is_bold(ink), ink.colour, round(4 * log(_height_size(ink))))
        alike.setdefault(key, []).append(index)
    groups = [[inks[index] for index in members] for members in alike.values()]
    sans, serif = min(
        ((WIDE_SANS, WIDE_SERIF), (SANS, SERIF)), key=lambda faces: _misfit(groups, faces)
    )
    serif_page = sum(_serif_evidence(ink, sans, serif) for ink in inks) > 0
    settings: dict[int, Lettering] = {}
    for members, group in zip(alike.values(), groups, strict=True):
        has_serifs = _has_serifs(group, sans, serif)
        face = serif if (serif_page if has_serifs is None else has_serifs) else sans
        settings.update(zip(members, _set_alike(group, face), strict=True))
    return [settings[index] for index in range(len(inks))]


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
    common = most_common(pixels)
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


def _split(rgb: Rgb, line: OcrLine) -> list[OcrLine]:
    """Part a reading at changes of background (a price and a button) and at wide gaps (a menu)."""
    if " " not in line.text:
        return [line]
    return [
        part
        for area in _allot(rgb, line, _backgrounds(rgb, line.box))
        for part in _allot(rgb, area, _columns(rgb, area))
    ]


def _backgrounds(rgb: Rgb, box: PixelBox) -> list[tuple[int, int]]:
    """The columns of a box, parted where another background begins."""
    pixels = rgb[box.top : box.bottom, box.left : box.right].astype(np.int32)
    # Letters cover less than half of most columns, so the median is the background.
    away = np.abs(np.median(pixels, axis=0) - most_common(pixels)).max(axis=1) > _FAINT
    edges = [0, *(np.flatnonzero(np.diff(away)) + 1).tolist(), box.width]
    cuts = {0, box.width}
    for start, end in pairwise(edges):
        if away[start] and end - start > 1.2 * box.height:
            cuts |= {start, end}
    return [(box.left + start, box.left + end) for start, end in pairwise(sorted(cuts))]


def _columns(rgb: Rgb, line: OcrLine) -> list[tuple[int, int]]:
    """The columns of a line, parted at gaps that are wider than a space."""
    ink = find_ink(rgb, line)
    if ink is None:
        return [(line.box.left, line.box.right)]
    wide = [gap for gap in ink.gaps if gap[1] - gap[0] > 0.9 * _height_size(ink)]
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
            wanted = ink.box.width / _height_size(ink)
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


def _sizes(ink: Ink, face: Typeface, *, bold: bool) -> tuple[float, float]:
    """The type size by the height and by the width of the ink."""
    above, below = face.extent(ink.text)
    advance = face.width(ink.text, bold=bold) - 2 * face.bearing / 1000
    return ink.box.height / (above + below), ink.box.width / max(advance, 0.1)


def _height_size(ink: Ink) -> float:
    return _sizes(ink, WIDE_SANS, bold=False)[0]


def _is_bold(ink: Ink) -> bool:
    size = _height_size(ink)
    # Measured: regular strokes are 0.11-0.14 of the size (0.19 at 12 pixels), bold ones 0.18-0.25.
    return ink.stroke / size > 0.15 + 0.6 / size


def _misfit(groups: Iterable[Sequence[Ink]], faces: Sequence[Typeface]) -> float:
    """How badly a page agrees with a pair of typefaces, without and with serifs."""
    heights, rhythms, spreads = [0.0], [0.0], [0.0]
    for group in groups:
        bold = _is_bold(group[0])
        long = [ink for ink in group if len(ink.text) >= 4 and ink.text.isascii()]
        for ink in long:
            by_height, by_width = _sizes(ink, faces[0], bold=bold)
            heights.append(min(abs(log(by_width / by_height)), 0.3))
            off = [_rhythm_misfit(ink, face, bold=bold) for face in faces]
            rhythms += [min(value, 0.15) for value in off if value is not None]
        if len(long) >= 4:
            spreads.append(min(_spread(long, face, bold=bold) for face in faces))
    return float(np.mean(heights) + np.mean(rhythms) + 5 * np.mean(spreads))


def _spread(group: Sequence[Ink], face: Typeface, *, bold: bool) -> float:
    """How much lines of one size differ in the size that their widths tell.

    Small in the right typeface only; up to 0.06, because beyond that the lines were not alike.
    """
    sizes = [log(_sizes(ink, face, bold=bold)[1]) for ink in group if len(ink.text) >= 15]
    return min(float(np.std(sizes)), 0.06) if len(sizes) >= 4 else 0.06


def _rhythm_misfit(ink: Ink, face: Typeface, *, bold: bool) -> float | None:
    """How far, in type sizes, the gaps in the ink are from where a typeface parts its letters.

    About 0.03 in the right typeface; `None` where there is too little to tell.
    """
    if len(ink.gaps) < 5 or not ink.text.isascii():
        return None
    advances = np.array(face.widths(ink.text, bold=bold))
    ends = np.cumsum(advances)
    spaces = np.array([letter == " " for letter in ink.text])
    # Around a space there is one gap, in its middle.
    parts = np.where(spaces, ends - advances / 2, ends)[:-1]
    parts = parts[~np.append(spaces[1:], False)[:-1]] - face.bearing / 1000
    total = ends[-1] - 2 * face.bearing / 1000
    middles = np.array(ink.gaps).mean(axis=1) / ink.box.width * total
    return float(np.abs(middles[:, None] - parts[None, :]).min(axis=1).mean())


def _serif_evidence(ink: Ink, sans: Typeface, serif: Typeface) -> float:
    """Above 0 for serifs, weighted by how much text says so."""
    size, bold = _height_size(ink), _is_bold(ink)
    # Measured on DejaVu: regular sans 1.1-1.4 (1.6 in headings), serif 1.6-2.2; bold sans 0.9-1.2,
    # bold serif 1.2-1.6.
    border = 1.2 if bold else 1.5 if size < 22 else 1.62
    evidence = min(max((ink.feet - border) / 0.3, -1), 1)
    without, with_serifs = (_rhythm_misfit(ink, face, bold=bold) for face in (sans, serif))
    if without is not None and with_serifs is not None and min(without, with_serifs) < 0.08:
        evidence += 2 * min(max((without - with_serifs) / 0.03, -1), 1)
    return evidence * len(ink.text)


def _has_serifs(group: Sequence[Ink], sans: Typeface, serif: Typeface) -> bool | None:
    """Whether lines that look alike have serifs; `None` where they say too little."""
    bold, size = _is_bold(group[0]), _height_size(group[0])
    without, with_serifs = (_spread(group, face, bold=bold) for face in (sans, serif))
    if min(without, with_serifs) < 0.5 * max(without, with_serifs):
        return with_serifs < without
    if sum(len(ink.text) for ink in group) < (20 if size < 18 else 8):
        return None
    return sum(_serif_evidence(ink, sans, serif) for ink in group) > 0


def _set_alike(group: Sequence[Ink], face: Typeface) -> list[Lettering]:
    bold = _is_bold(group[0])
    widths = [
        by_width
        for ink in group
        for by_height, by_width in [_sizes(ink, face, bold=bold)]
        if len(ink.text) >= 4 and abs(log(by_width / by_height)) < 0.12
    ]
    usual = float(np.median(widths)) if widths else 0.0
    return [_set(ink, face, bold=bold, usual=usual) for ink in group]


def _set(ink: Ink, face: Typeface, *, bold: bool, usual: float) -> Lettering:
    by_height, by_width = _sizes(ink, face, bold=bold)
    letters = len(ink.text)
    if letters >= 6 and abs(log(by_width / by_height)) > 0.1:
        mono_height, mono_width = _sizes(ink, MONO, bold=False)
        if abs(log(mono_width / mono_height)) < 0.05:
            face, by_height, by_width = MONO, mono_height, mono_width
    # Ink that seems too high has something else in it; ink that is too wide may be letter-spaced.
    loose = log(by_width / by_height)
    trusted = letters >= 3 and loose < (0.15 if letters < 8 else 0.2)
    estimate = by_width if trusted else by_height
    if usual and abs(log(estimate / usual)) < (0.04 if letters >= 8 else 0.1):
        estimate = usual
    size = _likely_size(estimate, exact=letters >= 12 or estimate == usual)
    spacing = 0.0
    advance = face.width(ink.text, bold=bold) - 2 * face.bearing / 1000
    if letters > 1 and abs(advance * size / ink.box.width - 1) > 0.05:
        spacing = round((ink.box.width - advance * size) / (letters - 1), 2)
    above, below = face.extent(ink.text)
    baseline = float(ink.box.bottom)
    if below:
        baseline = round((ink.box.top + above * size + ink.box.bottom - below * size) / 2)
    return Lettering(
        ink.text, ink.box, ink.colour, face, bold, ink.underlined, size, spacing, baseline
    )


def _likely_size(estimate: float, *, exact: bool) -> float:
    """Sizes on pages are mostly whole pixels, so a rough estimate means the nearest one."""
    whole = max(round(estimate), 1)
    if abs(estimate / whole - 1) < (0.012 if exact else 0.035):
        return float(whole)
    return max(round(estimate, 2), 1.0)
