"""How lines of text are set: typeface, weight, size, spacing, baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from uiproof.boxes import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ink import Colour, Ink, find_inks, height_size, sizes
from uiproof.vision.ocr import OcrLine
from uiproof.vision.typefaces import MONO, SANS, SERIF, WIDE_SANS, WIDE_SERIF, Typeface


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
    inks = [ink for line in lines for ink in find_inks(rgb, line)]
    alike: dict[object, list[int]] = {}
    for index, ink in enumerate(inks):
        key = (_is_bold(ink), ink.colour, round(4 * log(height_size(ink))))
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


def _is_bold(ink: Ink) -> bool:
    size = height_size(ink)
    # Measured: regular strokes are 0.11-0.14 of the size (0.19 at 12 pixels), bold ones 0.18-0.25.
    return ink.stroke / size > 0.15 + 0.6 / size


def _misfit(groups: Iterable[Sequence[Ink]], faces: Sequence[Typeface]) -> float:
    """How badly a page agrees with a pair of typefaces, without and with serifs."""
    heights, rhythms, spreads = [0.0], [0.0], [0.0]
    for group in groups:
        bold = _is_bold(group[0])
        long = [ink for ink in group if len(ink.text) >= 4 and ink.text.isascii()]
        for ink in long:
            by_height, by_width = sizes(ink, faces[0], bold=bold)
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
    told = [log(sizes(ink, face, bold=bold)[1]) for ink in group if len(ink.text) >= 15]
    return min(float(np.std(told)), 0.06) if len(told) >= 4 else 0.06


def _rhythm_misfit(ink: Ink, face: Typeface, *, bold: bool) -> float | None:
    """How far, in type sizes, the gaps in the ink are from where a typeface parts its letters.

    About 0.03 in the right typeface; `None` where there is too little to tell.
    """
    if len(ink.gaps) < 5 or len(ink.text) < 4 or not ink.text.isascii():
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
    size, bold = height_size(ink), _is_bold(ink)
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
    bold, size = _is_bold(group[0]), height_size(group[0])
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
        for by_height, by_width in [sizes(ink, face, bold=bold)]
        if len(ink.text) >= 4 and abs(log(by_width / by_height)) < 0.12
    ]
    usual = float(np.median(widths)) if widths else 0.0
    return [_set(ink, face, bold=bold, usual=usual) for ink in group]


def _set(ink: Ink, face: Typeface, *, bold: bool, usual: float) -> Lettering:
    by_height, by_width = sizes(ink, face, bold=bold)
    letters = len(ink.text)
    if letters >= 6 and abs(log(by_width / by_height)) > 0.1:
        mono_height, mono_width = sizes(ink, MONO, bold=False)
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
