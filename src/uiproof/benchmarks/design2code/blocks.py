"""Text blocks: what Design2Code compares. Found in pictures of a page with recoloured text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from uiproof.boxes import Box
from uiproof.browser.text_capture import POOL, SHIFT
from uiproof.vision.images import Rgb, decode_screenshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uiproof.browser.text_capture import TextCapture

# Tolerances of the reference implementation, in channel steps of 0-255.
SHIFT_TOLERANCE = 8  # between the expected and the seen second colour
COLOR_TOLERANCE = 4  # between a pool colour and the pixel of the first picture
POOL_START, POOL_STEP = 10, 16  # channels of pool colours: 10, 26, ... 250
_STRIP = 128  # rows at a time: keeps the intermediate pictures in the processor's cache


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
        a, b = decode_screenshot(first), decode_screenshot(second)
        if a.shape == b.shape:
            regions.update(_regions(a, b, screenshot, group * POOL))
    blocks = []
    for node in capture.nodes:
        if node.color_number is not None and node.color_number in regions:
            box, color = regions[node.color_number]
            blocks.append(TextBlock(node.text.strip().lower(), box, color))
    return blocks


def _regions(
    first: Rgb,
    second: Rgb,
    screenshot: Rgb,
    base: int,
) -> dict[int, tuple[Box, tuple[int, int, int]]]:
    """Box and mean colour of every colour number that is seen."""
    xs, ys = _moved(first, second)
    if len(xs) == 0:
        return {}
    steps = first[ys, xs].astype(np.int16) - (POOL_START - COLOR_TOLERANCE)
    exact = ((steps >= 0) & (steps % POOL_STEP <= 2 * COLOR_TOLERANCE)).all(axis=1)
    xs, ys, steps = xs[exact], ys[exact], steps[exact] // POOL_STEP
    # Blue is the fastest digit; the pool is used from its end.
    numbers = POOL - 1 - (steps[:, 0].astype(np.int32) << 8 | steps[:, 1] << 4 | steps[:, 2])

    height, width = first.shape[:2]
    left, right = _extent(numbers, xs)
    top, bottom = _extent(numbers, ys)
    inside = (xs < screenshot.shape[1]) & (ys < screenshot.shape[0])
    seen = screenshot[ys[inside], xs[inside]]
    count = np.bincount(numbers[inside], minlength=POOL)
    sums = [np.bincount(numbers[inside], seen[:, k], POOL) for k in range(3)]

    regions = {}
    for number in np.flatnonzero(count):
        x, y = int(left[number]), int(top[number])
        box = Box(
            x / width,
            y / height,
            (int(right[number]) - x + 1) / width,
            (int(bottom[number]) - y + 1) / height,
        )
        r, g, b = (int(total[number] / count[number]) for total in sums)
        regions[base + int(number)] = (box, (r, g, b))
    return regions


def _moved(first: Rgb, second: Rgb) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Where every channel has moved by the shift; columns and rows, from top to bottom."""
    found: list[NDArray[np.int32]] = [np.empty((0, 2), np.int32)]
    for top in range(0, len(first), _STRIP):
        a, b = first[top : top + _STRIP], second[top : top + _STRIP]
        # Most rows have no text and stay as they are.
        rows = np.flatnonzero((a != b).reshape(len(a), -1).any(axis=1))
        if len(rows) == 0:
            continue
        # Wraps around at 256, as the colours do.
        apart = cv2.absdiff(a[rows] + np.uint8(SHIFT), b[rows])
        points = cv2.findNonZero(cv2.inRange(apart, (0, 0, 0), (SHIFT_TOLERANCE,) * 3))
        if points is not None:
            xs, ys = np.asarray(points, np.int32)[:, 0].T
            found.append(np.stack((xs, rows[ys].astype(np.int32) + np.int32(top)), axis=1))
    places = np.concatenate(found)
    return places[:, 0], places[:, 1]


def _extent(
    numbers: NDArray[np.int32], values: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Smallest and largest value for every number."""
    low = np.full(POOL, np.iinfo(np.int32).max, np.int32)
    high = np.full(POOL, -1, np.int32)
    np.minimum.at(low, numbers, values)
    np.maximum.at(high, numbers, values)
    return low, high


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
