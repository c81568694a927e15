"""Pixels of things in a screenshot: crops, letters and colours."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.blocks import Color, PixelRect
from uiproof.benchmarks.design2code.scene import Node, colour_of
from uiproof.benchmarks.design2code.strict import commonest_colour
from uiproof.vision.colour import ciede2000, srgb_to_lab
from uiproof.vision.images import Rgb

SAME_SHAPE = 0.3  # of what two things of one shape show may differ
MOST_SHAPE = 3 * 64 * 64  # values of a picture that is compared by its shape
MOST_INK = 0.6  # of a box that letters cover
LEFT_OVER = 24  # levels by which it differs
EDGE = 6  # levels between the two sides of an edge


def whole(box: PixelRect) -> tuple[int, int, int, int]:
    """Return a box in whole pixels, without what is above or left of the picture."""
    x, y, w, h = (round(value) for value in box)
    return max(x, 0), max(y, 0), w + min(x, 0), h + min(y, 0)


def crop(picture: npt.NDArray[np.uint8], box: tuple[int, int, int, int]) -> npt.NDArray[np.uint8]:
    """Return the pixels in a box."""
    x, y, w, h = box
    return picture[max(y, 0) : max(y + h, 0), max(x, 0) : max(x + w, 0)]


def levels_apart(part: Rgb, other: Rgb | Color) -> npt.NDArray[np.uint8]:
    """Return by how many levels pixels differ from others or a colour: their channel with most."""
    there = np.asarray(other, np.uint8)
    apart = np.maximum(part, there)
    apart -= np.minimum(part, there)
    # Much quicker than `max` of a short axis.
    found = np.maximum(apart[..., 0], apart[..., 1])
    return np.asarray(np.maximum(found, apart[..., 2], out=found), np.uint8)


def is_equal(ours: Rgb, theirs: Rgb, box: PixelRect, other: PixelRect) -> bool:
    """Return whether two places show the same."""
    a, b = crop(ours, whole(box)), crop(theirs, whole(other))
    return a.shape == b.shape and float(cv2.absdiff(a, b).mean()) < 1.0


def has_same_shape(a: Rgb, b: Rgb) -> bool:
    """Return whether two small pictures show the same in other colours."""
    if a.shape != b.shape or a.size > MOST_SHAPE or min(contrast(a), contrast(b)) < LEFT_OVER:
        return False
    ours, theirs = ink_map(a), ink_map(b)
    return float(cv2.absdiff(ours, theirs).sum()) <= SAME_SHAPE * float((ours + theirs).sum()) / 2


def contrast(part: npt.NDArray[np.uint8]) -> int:
    """Return the levels between the darkest and the lightest pixel, in the channel with most."""
    if not part.size:
        return 0
    pixels = part.reshape(-1, part.shape[-1])
    return int((pixels.max(axis=0).astype(np.int16) - pixels.min(axis=0)).max())


def median_colour(part: Rgb) -> Color:
    """Return the median of each channel, in whole levels."""
    pixels = part.reshape(-1, 3)
    middle = len(pixels) // 2
    red, green, blue = np.partition(pixels, middle, axis=0)[middle].tolist()
    return red, green, blue


def ink_map(part: Rgb) -> npt.NDArray[np.float32]:
    """Return how much each pixel stands out from what is behind a text, in 0-1."""
    apart = levels_apart(part, median_colour(part)).astype(np.float32)
    most = float(np.quantile(apart, 0.99)) if apart.size > 200 else float(apart.max())
    return np.asarray(np.minimum(apart / max(most, 8.0), 1.0), np.float32)


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
    part = picture[y : y + h, x : x + w]
    if part.size == 0:
        return box
    rim = np.concatenate([part[0], part[-1], part[:, 0], part[:, -1]])
    apart = levels_apart(part, median_colour(rim))
    shown = apart >= max(0.4 * float(apart.max()), 12)
    rows, columns = np.nonzero(shown)
    if len(rows):
        inner = np.s_[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        is_wide = np.ptp(columns) > 1.5 * np.ptp(rows)
        if is_wide and float(shown[inner].mean()) > MOST_INK:  # a surface around the letters
            within = levels_apart(part[inner], median_colour(part[inner]))
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


def surrounding_colour(picture: Rgb, box: PixelRect) -> Color:
    """Return the commonest colour just outside of a box."""
    x, y, w, h = (round(value) for value in box)
    wide = crop(picture, (x - 3, y - 3, w + 6, h + 6))
    rim = [wide[:2], wide[-2:]], [wide[:, :2], wide[:, -2:]]
    pixels = np.concatenate([one.reshape(-1, 3) for both in rim for one in both])
    return commonest_colour(pixels[None]) if len(pixels) else (255, 255, 255)


def widened(box: PixelRect) -> PixelRect:
    """Return a box with a pixel more on every side."""
    return box[0] - 1, box[1] - 1, box[2] + 2, box[3] + 2


def rounded_crop(rgb: Rgb, box: PixelRect) -> Rgb:
    """Return the pixels in a box whose sides are rounded."""
    x, y, w, h = box
    return rgb[max(round(y), 0) : max(round(y + h), 0), max(round(x), 0) : max(round(x + w), 0)]


def line_lengths(rgb: Rgb, box: PixelRect) -> list[int]:
    """Return how long the lines of a text are."""
    part = rounded_crop(rgb, box)
    if not part.size:
        return [1]
    apart = levels_apart(part, median_colour(part))
    shown = apart >= max(0.4 * float(apart.max()), 12)
    edges = np.flatnonzero(np.diff(shown.any(axis=1), prepend=False, append=False))
    runs = [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
    most = max((b - a for a, b in runs), default=1)
    found = []
    for a, b in runs:
        if b - a > 0.5 * most:
            columns = np.flatnonzero(shown[a:b].any(axis=0))
            found.append(int(columns[-1] - columns[0] + 1))
    return found or [part.shape[1]]


def letters_height(rgb: Rgb, node: Node) -> float:
    """Return the height of the highest line of a text."""
    part = rounded_crop(rgb, node.box)
    rows = ink_map(part).max(axis=1) > 0.4 if part.size else np.zeros(1, np.bool_)
    edges = np.flatnonzero(np.diff(rows, prepend=False, append=False)).reshape(-1, 2)
    return float(max((b - a for a, b in edges), default=1))


def colours_apart(pairs: Sequence[tuple[Color, Color]]) -> list[float]:
    """Return the distances (CIEDE2000) of pairs of colours."""
    if not pairs:
        return []
    ours, theirs = (np.array(side, np.float64) for side in zip(*pairs, strict=True))
    return [float(one) for one in ciede2000(srgb_to_lab(ours), srgb_to_lab(theirs))]


def own_colour(node: Node) -> Color:
    """Return the colour that its style names, if that is what is seen."""
    declared = colour_of(node.font.rsplit("|", 1)[-1])
    if declared is None or colours_apart([(declared, node.color)])[0] > 12:
        return node.color
    return declared
