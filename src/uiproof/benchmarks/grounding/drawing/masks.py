"""Shapes as coverage masks, in whole numbers only, so that they are the same on every machine.

A mask says for each pixel how much of it is covered, from 0 to `FULL`. Letters come from a sheet
that ships with the package (`fonts/`), not from a font library.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

FULL = 16
_FONTS = Path(__file__).parents[1] / "fonts"
_CORNER_DETAIL = 8  # samples per pixel and axis at rounded corners

Mask = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Lettering:
    """A line of text: `mask` holds just the ink, its first row is `rise` above the baseline."""

    mask: Mask
    rise: int

    @property
    def width(self) -> int:
        """Pixels across."""
        return int(self.mask.shape[1])


@lru_cache(maxsize=4096)
def lettering(text: str, size: int) -> Lettering:
    """A text in letters of this size: the height of a line without leading, in pixels."""
    sheet, em, baseline, letters = _sheet()
    # The baseline falls between two rows of pixels, so that letters stand on a sharp edge.
    lead = next(rows for rows in range(em) if (baseline + rows) * size % em == 0)
    glyphs = [letters.get(character, letters["?"]) for character in text]
    line = np.zeros((sheet.shape[0] + lead, sum(glyph[3] for glyph in glyphs) + 2 * em), np.uint8)
    pen = em
    for left, width, bearing, advance in glyphs:
        spot = line[lead:, pen + bearing : pen + bearing + width]
        np.maximum(spot, sheet[:, left : left + width], out=spot)
        pen += advance
    mask = resampled(line, size, em)
    top, _, ink = trimmed(mask)
    return Lettering(ink, (baseline + lead) * size // em - top)


@cache
def cap_height(size: int) -> int:
    """How far capital letters of this size rise above the baseline."""
    return lettering("H", size).rise


@cache
def _sheet() -> tuple[Mask, int, int, dict[str, tuple[int, int, int, int]]]:
    from PIL import Image

    measures = json.loads((_FONTS / "lettering.json").read_text("utf-8"))
    with Image.open(_FONTS / "lettering.png") as sheet:
        return np.asarray(sheet), measures["em"], measures["baseline"], measures["letters"]


def resampled(source: Mask, numerator: int, denominator: int) -> Mask:
    """A drawing of 0 to 255 as a mask, `numerator / denominator` times as large."""
    grown = _grown(
        _grown(source.astype(np.int64), numerator, denominator).T, numerator, denominator
    )
    whole = 255 * denominator * denominator
    return ((grown.T * FULL + whole // 2) // whole).astype(np.uint8)


def _grown(
    source: npt.NDArray[np.int64], numerator: int, denominator: int
) -> npt.NDArray[np.int64]:
    """Rows resampled by area; sums are `denominator` times what the pixels hold on average."""
    rows = source.shape[0]
    edges = np.arange(-(-rows * numerator // denominator) + 1) * denominator
    whole, part = np.minimum(edges // numerator, rows), edges % numerator
    below = np.zeros((rows + 1, source.shape[1]), np.int64)
    np.cumsum(source, axis=0, out=below[1:])
    padded = np.vstack((source, np.zeros((1, source.shape[1]), np.int64)))
    sums: npt.NDArray[np.int64] = below[whole] * numerator + padded[whole] * part[:, None]
    return sums[1:] - sums[:-1]


def trimmed(mask: Mask) -> tuple[int, int, Mask]:
    """The covered part of a mask and where it begins: top, left, part."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return 0, 0, mask[:0, :0]
    top, left = int(rows[0]), int(columns[0])
    return top, left, mask[top : rows[-1] + 1, left : columns[-1] + 1]


def rounded_box(width: int, height: int, radius: int) -> Mask:
    """A filled box with round corners."""
    mask = np.full((height, width), FULL, np.uint8)
    radius = min(radius, width // 2, height // 2)
    if radius > 0:
        corner = _corner(radius)
        mask[:radius, :radius] = corner
        mask[:radius, width - radius :] = corner[:, ::-1]
        mask[height - radius :, :radius] = corner[::-1]
        mask[height - radius :, width - radius :] = corner[::-1, ::-1]
    return mask


@cache
def _corner(radius: int) -> Mask:
    fine = radius * _CORNER_DETAIL
    steps = 2 * (fine - np.arange(fine)) - 1  # twice the distance of each sample from the centre
    inside = (steps[:, None] ** 2 + steps[None, :] ** 2 <= (2 * fine) ** 2).astype(np.uint8) * 255
    return resampled(inside, 1, _CORNER_DETAIL)
