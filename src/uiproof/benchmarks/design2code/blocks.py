"""Text blocks: what Design2Code compares. Found in pictures of a page with recoloured text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from uiproof.boxes import Box
from uiproof.browser.text_capture import POOL, SHIFT
from uiproof.vision.images import Rgb
from uiproof.vision.screenshots import differing_rows, screenshot_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uiproof.browser.text_capture import TextCapture

# Tolerances of the reference implementation, in channel steps of 0-255.
SHIFT_TOLERANCE = 8  # between the expected and the seen second colour
COLOR_TOLERANCE = 4  # between a pool colour and the pixel of the first picture
POOL_START, POOL_STEP = 10, 16  # channels of pool colours: 10, 26, ... 250

_NONE = np.empty(0, np.int64)


def _digits() -> NDArray[np.int32]:
    """For each value of a channel the digit that it stands for, within the tolerance.

    For values that stand for none it is one that makes every number too large.
    """
    steps = np.arange(256, dtype=np.int32) - (POOL_START - COLOR_TOLERANCE)
    near = (steps >= 0) & (steps % POOL_STEP <= 2 * COLOR_TOLERANCE)
    return np.where(near, steps // POOL_STEP, np.int32(POOL))


_DIGITS = _digits()


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A piece of text as it is seen on a page."""

    text: str  # stripped and lower case
    box: Box
    color: tuple[float, float, float]  # RGB, 0-255


def find_blocks(capture: TextCapture, screenshot: Rgb) -> list[TextBlock]:
    """The text blocks of a page, one per piece of text that left pixels.

    A pixel belongs to colour number n if it shows pool colour n in the first picture and the same
    colour moved by `SHIFT` in the second. A block is the box around all pixels of its colour; its
    colour is the mean of those pixels in the ordinary screenshot (RGB), truncated.
    """
    regions: dict[int, tuple[Box, tuple[int, int, int]]] = {}
    for group, (first, second) in enumerate(capture.pairs):
        if screenshot_size(first) == screenshot_size(second):
            regions.update(_regions(first, second, screenshot, group * POOL))
    blocks = []
    for node in capture.nodes:
        if node.color_number is not None and node.color_number in regions:
            box, color = regions[node.color_number]
            blocks.append(TextBlock(node.text.strip().lower(), box, color))
    return blocks


def _regions(
    first: bytes,
    second: bytes,
    screenshot: Rgb,
    base: int,
) -> dict[int, tuple[Box, tuple[int, int, int]]]:
    """Box and mean colour of every colour number that is seen."""
    xs, ys, shown = _moved(first, second)
    red, green, blue = _DIGITS[shown].T
    numbers = red << 8 | green << 4 | blue
    exact = numbers < POOL
    if not exact.any():
        return {}
    # The pool is used from its end.
    xs, ys, numbers = xs[exact], ys[exact], (POOL - 1 - numbers[exact]).astype(np.int16)

    order = np.argsort(numbers, kind="stable")  # by number, and from top to bottom as before
    numbers, xs, ys = numbers[order], xs[order], ys[order]
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    left, right = np.minimum.reduceat(xs, starts), np.maximum.reduceat(xs, starts)
    top, bottom = ys[starts], ys[np.append(starts[1:], len(ys)) - 1]
    inside = (xs < screenshot.shape[1]) & (ys < screenshot.shape[0])
    seen = screenshot.reshape(-1, 3)[np.where(inside, ys * screenshot.shape[1] + xs, 0)]
    seen[~inside] = 0
    counts = np.add.reduceat(inside, starts, dtype=np.int64)
    sums = np.add.reduceat(seen, starts, axis=0, dtype=np.int64)

    width, height = screenshot_size(first)
    columns = (numbers[starts], left, top, right, bottom, counts, sums)
    regions = {}
    for number, x, y, x_end, y_end, count, (r, g, b) in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        if count:
            box = Box(x / width, y / height, (x_end - x + 1) / width, (y_end - y + 1) / height)
            regions[base + number] = (box, (int(r / count), int(g / count), int(b / count)))
    return regions


def _moved(
    first: bytes, second: bytes
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Where every channel has moved by the shift: columns, rows, colours in the first picture."""
    columns, rows, colors = [_NONE], [_NONE], [np.empty((0, 3), np.uint8)]
    for numbers, a, b in differing_rows(first, second):
        # Wraps around at 256, as the colours do.
        apart = cv2.absdiff(a + np.uint8(SHIFT), b)
        moved = cv2.inRange(apart, (0, 0, 0), (SHIFT_TOLERANCE,) * 3)
        places = np.flatnonzero(moved != 0)
        ys, xs = np.divmod(places, a.shape[1])
        columns.append(xs)
        rows.append(numbers[ys])
        colors.append(a.reshape(-1, 3)[places])
    return np.concatenate(columns), np.concatenate(rows), np.concatenate(colors)


def blocks_as_json(blocks: Sequence[TextBlock]) -> list[dict[str, object]]:
    """Blocks as reports and journals keep them."""
    return [
        {
            "text": block.text,
            "box": [block.box.x, block.box.y, block.box.w, block.box.h],
            "color": [round(channel) for channel in block.color],
        }
        for block in blocks
    ]
