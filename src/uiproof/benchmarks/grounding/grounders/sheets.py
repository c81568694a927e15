"""Cells of spreadsheets, found by the letters above them and the numbers before them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median

from uiproof.boxes import PixelBox
from uiproof.vision.ocr import OcrLine

_FEWEST = 3  # letters or numbers one after the other that make a header
_ALIGNED = 12  # pixels by which the entries of a header may be out of line

Header = list[tuple[int, float]]  # numbers and their places in pixels, in order


def find_cell(lines: Sequence[OcrLine], column: str, row: int) -> PixelBox | None:
    """The middle of the cell at a column such as `B` and a row such as 12.

    None where no such sheet is seen. Rows that are not read are where their neighbours say;
    columns, which have any width, must be between two that are read.
    """
    across = _header(lines, r"[A-Z]{1,2}", _column_number, down=False)
    down = _header(lines, r"[1-9]\d{0,3}", int, down=True)
    x, y = _place(across, _column_number(column)), _place(down, row)
    if x is None or y is None:
        return None
    high = max(round(_step(down) / 4), 2)
    box = PixelBox(round(x) - high, round(y) - high, round(x) + high, round(y) + high)
    return box if box.left >= 0 and box.top >= 0 else None


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _header(
    lines: Sequence[OcrLine], pattern: str, number: Callable[[str], int], *, down: bool
) -> Header:
    """The longest row of letters or column of numbers that count up; empty without."""
    entries: list[tuple[float, float, int]] = []  # out of line, along the line, number
    for line in lines:
        words = [(word.text, word.box) for word in line.words] or [(line.text, line.box)]
        if all(re.fullmatch(pattern, text) for text, _ in words):
            for text, box in words:
                x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
                entries.append((x, y, number(text)) if down else (y, x, number(text)))
    best: Header = []
    for aligned, _, _ in entries:
        row = sorted(
            (along, value) for off, along, value in entries if abs(off - aligned) <= _ALIGNED
        )
        chain = _counting_up([(value, along) for along, value in row])
        if len(chain) > len(best):
            best = chain
    return best if len(best) >= _FEWEST else []


def _counting_up(entries: Header) -> Header:
    """The longest part in which every number is larger than the one before, by little."""
    best: Header = []
    chain: Header = []
    for value, place in entries:
        if chain and not 0 < value - chain[-1][0] <= 5:
            chain = []
        chain.append((value, place))
        if len(chain) > len(best):
            best = list(chain)
    return best


def _step(header: Header) -> float:
    """From one entry to the next, as is usual."""
    return median((b - a) / (later - earlier) for (earlier, a), (later, b) in pairwise(header))


def _place(header: Header, wanted: int) -> float | None:
    if not header:
        return None
    for (earlier, a), (later, b) in pairwise(header):
        if earlier <= wanted <= later:
            return a + (b - a) * (wanted - earlier) / (later - earlier)
    (first, a), (last, b) = header[0], header[-1]
    steps = wanted - last if wanted > last else wanted - first
    # A little beyond what was read may be trusted.
    return (b if wanted > last else a) + steps * _step(header) if abs(steps) <= 5 else None
