"""The red frames around triggers and effects: found in published pictures, drawn on our own.

The published marks are frames of pure red, about 1/560 of the picture's width thick, drawn by hand
around what is acted on or what changed. Where a picture has several, the mark is the box around
all of them: together they say where the effect is.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.geometry import PixelBox
from uiproof.vision.difference import around
from uiproof.vision.images import Rgb

RED = (255, 0, 0)
_WIDTH_SHARE = 560  # a stroke is one pixel wide for so many pixels of the picture's width
_REDNESS = 60  # how much more red than green or blue a pixel of a mark has
_REDDENED = 40  # how much redder a mark makes a pixel, where pictures are noisy
_SIDE_COVERED = 0.85  # of a side of a frame
_SAME_SHAPE = 0.02  # relative difference in aspect ratio of a picture that was only scaled

Mask = npt.NDArray[np.bool_]


def find_mark(plain: Rgb | None, marked: Rgb) -> PixelBox | None:
    """Return the outer box of the mark in pixels of the plain picture; None without a mark.

    A mark is what is red in the marked picture and is not in the plain one. Where the two differ
    by more than the mark (encoded again, scaled, another moment), hollow frames are preferred to
    other things that turned red. Without a plain picture it is the red frame that stands out.
    """
    if plain is None:
        return _frame_alone(marked)
    if plain.shape == marked.shape:
        return _difference(plain, marked)
    height, width = plain.shape[:2]
    high, wide = marked.shape[:2]
    if abs(width / height - wide / high) <= _SAME_SHAPE * width / height:
        scaled = cv2.resize(plain, (wide, high), interpolation=cv2.INTER_AREA)
        found = _reddened(np.asarray(scaled, np.uint8), marked) or _frame_alone(marked)
        return None if found is None else found.normalised(wide, high).to_pixels(width, height)
    both = slice(0, min(height, high)), slice(0, min(width, wide))
    return _reddened(plain[both], marked[both]) or _frame_alone(marked[both])


def draw_mark(rgb: Rgb, box: PixelBox) -> Rgb:
    """Return a copy of the picture with a red frame just inside the box."""
    height, width = rgb.shape[:2]
    drawn = rgb.copy()
    if (seen := box.intersection(PixelBox(0, 0, width, height))) is not None:
        stroke = stroke_width(width)
        frame = drawn[seen.top : seen.bottom, seen.left : seen.right]
        frame[:stroke] = frame[-stroke:] = RED
        frame[:, :stroke] = frame[:, -stroke:] = RED
    return drawn


def stroke_width(width: int) -> int:
    """Return the thickness of the mark on a picture of this width, in pixels."""
    return max(2, round(width / _WIDTH_SHARE))


def published_contour(marked: Rgb) -> tuple[float, float] | None:
    """Return the published evaluator's position of the mark, as fractions.

    That is the centre of the first contour of anything red, which OpenCV finds from the bottom up:
    in more than half of the published pictures it is not the mark. Only here to reproduce that;
    None where nothing is red and the published rule fails.
    """
    hsv = cv2.cvtColor(marked, cv2.COLOR_RGB2HSV)
    low = cv2.inRange(hsv, np.array((0, 120, 70)), np.array((10, 255, 255)))
    high = cv2.inRange(hsv, np.array((170, 120, 70)), np.array((180, 255, 255)))
    red = cv2.bitwise_or(low, high)
    contours, _ = cv2.findContours(red, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)
    if not contours:
        return None
    x, y, w, h = cv2.boundingRect(contours[0])
    return (x + w // 2) / marked.shape[1], (y + h // 2) / marked.shape[0]


def _difference(plain: Rgb, marked: Rgb) -> PixelBox | None:
    one, two, three = cv2.split(cv2.absdiff(plain, marked))
    changed = np.asarray(cv2.max(cv2.max(one, two), three), np.uint8)
    x, y, w, h = cv2.boundingRect(changed)
    if w == 0 or h == 0:
        return None
    inside = slice(y, y + h), slice(x, x + w)
    differs = changed[inside] > 0
    red = _redness(marked[inside]) >= _REDNESS
    drawn = (differs & red).astype(np.uint8)
    # Softened edges lie along the strokes; anything else that differs is noise.
    near = cv2.dilate(drawn, np.ones((5, 5), np.uint8))
    if bool((differs & ~red & (near == 0)).any()):
        return _reddened(plain, marked) or _frame_alone(marked)
    left, top, w, h = cv2.boundingRect(drawn)
    return PixelBox(x + left, y + top, x + left + w, y + top + h) if w and h else None


def _reddened(plain: Rgb, marked: Rgb) -> PixelBox | None:
    """Return the mark on pictures that differ in other ways as well."""
    redness = _redness(marked)
    drawn = (redness >= _REDNESS) & (redness - _redness(plain) >= _REDDENED)
    if frames := _frames(drawn):
        return around(frames)
    # Open or crossed-out marks: everything of about the size of the largest stroke.
    pieces = [box for box, _ in _pieces(drawn)]
    least = max((max(box.width, box.height) / 4 for box in pieces), default=0)
    large = [box for box in pieces if max(box.width, box.height) >= max(least, 8)]
    return around(large) if large else None


def _frame_alone(marked: Rgb) -> PixelBox | None:
    """Return the frames of pure red, else the largest of about that colour."""
    for softness in (0, 60, 120):
        low, high = np.array((255 - softness, 0, 0)), np.array((255, softness, softness))
        if frames := _frames(cv2.inRange(marked, low, high) > 0):
            return max(frames, key=lambda box: box.area) if softness else around(frames)
    return None


def _frames(mask: Mask) -> list[PixelBox]:
    return [box for box, shape in _pieces(mask) if _is_frame(shape, box, mask.shape)]


def _pieces(mask: Mask) -> list[tuple[PixelBox, Mask]]:
    """Return the connected pieces of a mask that are larger than specks."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    found = []
    for label in range(1, count):
        x, y, w, h = (int(value) for value in stats[label][:4])
        if max(w, h) >= 8:
            shape = labels[y : y + h, x : x + w] == label
            found.append((PixelBox(x, y, x + w, y + h), shape))
    return found


def _is_frame(shape: Mask, box: PixelBox, size: tuple[int, ...]) -> bool:
    """Return whether pixels run along the sides of their box and leave its middle free.

    A side that lies on the border of the picture may be missing: the frame goes on outside.
    """
    height, width = shape.shape
    if height < 8 or width < 8:
        return False
    # Strokes made by hand wander.
    down, across = max(2, height // 8), max(2, width // 8)
    sides = (  # how much of each is covered, and whether it is at the border
        (shape[:down].any(axis=0).mean(), box.top == 0),
        (shape[-down:].any(axis=0).mean(), box.bottom == size[0]),
        (shape[:, :across].any(axis=1).mean(), box.left == 0),
        (shape[:, -across:].any(axis=1).mean(), box.right == size[1]),
    )
    open_sides = [at_border for covered, at_border in sides if covered < _SIDE_COVERED]
    if not all(open_sides) or len(open_sides) > 2:
        return False
    middle = shape[height // 4 : -(height // 4), width // 4 : -(width // 4)]
    return float(middle.mean()) < 0.3


def _redness(rgb: Rgb) -> npt.NDArray[np.int16]:
    red, green, blue = cv2.split(rgb)
    return np.asarray(cv2.subtract(red, cv2.max(green, blue)), np.int16)
