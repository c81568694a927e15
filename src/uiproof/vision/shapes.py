"""Rectangles, lines, borders, gradients and pictures in a screenshot, found without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.boxes import PixelBox
from uiproof.vision.images import Rgb

Colour = tuple[int, int, int]
Kind = Literal["fill", "border", "gradient", "picture"]

_MIN_AREA = 12  # a bullet
_MIN_RULE = 16  # a line shorter than this is more likely part of a letter
_MIN_PICTURE = 20
_MIN_BANDED = 5000  # pixels that an area needs to be taken apart into rectangles
_MIN_VARIETY = 14  # levels of spread in a picture; less is shading
_GRADIENT_STEP = 4  # levels between neighbouring bands of a gradient

Labels = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Shape:
    """Something that is painted on the page."""

    kind: Kind
    box: PixelBox
    colour: Colour  # of a picture: its mean
    radius: int = 0  # of rounded corners
    thickness: int = 0  # of a border
    angle: int = 0  # of a gradient, in CSS degrees
    end: Colour = (0, 0, 0)  # of a gradient


def page_colour(rgb: Rgb) -> Colour:
    """The colour of a page's background: the most common one along its edges."""
    packed = _packed(np.concatenate([rgb[0], rgb[-1], rgb[:, 0], rgb[:, -1]]))
    values, counts = np.unique(packed, return_counts=True)
    return _unpacked(int(values[counts.argmax()]))


def find_shapes(rgb: Rgb, text: Sequence[PixelBox]) -> list[Shape]:
    """What is painted on a page besides its text, in painting order: large things first.

    Areas of one colour are taken as they are; what is left and is neither flat nor text becomes
    a gradient where it is smooth, else a picture.
    """
    from scipy import ndimage
    from skimage.measure import label

    packed = _packed(rgb)
    labels: Labels = label(packed, connectivity=1, background=-1)  # type: ignore[no-untyped-call]
    areas = np.bincount(labels.ravel())
    kept = np.flatnonzero(areas >= _MIN_AREA)
    renumber = np.zeros(len(areas), np.int32)
    renumber[kept] = np.arange(1, len(kept) + 1)
    labels = renumber[labels]
    written = _text_mask(rgb.shape, text)
    calm = np.zeros(len(kept) + 1, bool)
    shapes = []
    for number, place in enumerate(ndimage.find_objects(labels), start=1):
        box = _box(place)
        area = int(areas[kept[number - 1]])
        if _is_lettering(box, area, written):
            continue
        colour = _unpacked(int(packed[_pixel(labels, place, number)]))
        if _is_gradient_step(rgb, box, colour):
            continue
        calm[number] = area >= 400 or min(box.width, box.height) <= 3
        found = _solid(labels[place] == number, box, colour)
        calm[number] |= bool(found)
        shapes += found
    busy = ~calm[labels] & ~written
    shapes += _busy_shapes(rgb, busy, written)
    shapes.sort(key=lambda shape: (-shape.box.width * shape.box.height, shape.box.top))
    return _without_repainting(rgb.shape, page_colour(rgb), shapes)


def _packed(rgb: Rgb) -> npt.NDArray[np.int32]:
    wide = rgb.astype(np.int32)
    return np.asarray((wide[..., 0] << 16) | (wide[..., 1] << 8) | wide[..., 2])


def _unpacked(value: int) -> Colour:
    return value >> 16, value >> 8 & 255, value & 255


def _box(place: tuple[slice, slice]) -> PixelBox:
    rows, columns = place
    return PixelBox(columns.start, rows.start, columns.stop, rows.stop)


def _pixel(labels: Labels, place: tuple[slice, slice], number: int) -> tuple[int, int]:
    """Any pixel of an area: the first one in its top row."""
    row = place[0].start
    return row, place[1].start + int((labels[row, place[1]] == number).argmax())


def _text_mask(shape: tuple[int, ...], text: Sequence[PixelBox]) -> npt.NDArray[np.bool_]:
    mask = np.zeros(shape[:2], bool)
    for box in text:
        mask[max(box.top - 2, 0) : box.bottom + 2, max(box.left - 2, 0) : box.right + 2] = True
    return mask


def _is_lettering(box: PixelBox, area: int, written: npt.NDArray[np.bool_]) -> bool:
    if box.width * box.height > 40_000:
        return False
    inside = written[box.top : box.bottom, box.left : box.right]
    # A label's background is larger than the label; what lies inside one is part of its letters.
    return float(inside.mean()) > (0.85 if area > 400 else 0.6)


def _is_gradient_step(rgb: Rgb, box: PixelBox, colour: Colour) -> bool:
    """A band between slightly darker and slightly lighter neighbours."""
    return _steps_down(rgb, box, colour) or _steps_down(
        rgb.transpose(1, 0, 2), PixelBox(box.top, box.left, box.bottom, box.right), colour
    )


def _steps_down(rgb: Rgb, box: PixelBox, colour: Colour) -> bool:
    samples = (np.array([0.1, 0.3, 0.5, 0.7, 0.9]) * (box.width - 1)).astype(int) + box.left
    # Browsers dither gradients: right beside a band there is more of the same.
    return any(
        box.top >= away
        and box.bottom + away <= rgb.shape[0]
        and _between(rgb[box.top - away, samples], rgb[box.bottom + away - 1, samples], colour)
        for away in (1, 2 + box.height // 2)
    )


def _between(before: Rgb, after: Rgb, colour: Colour) -> bool:
    """Whether most of the neighbours differ a little, in opposite directions."""
    down, up = before.astype(int) - colour, after.astype(int) - colour
    small = (np.abs(down).max(axis=1) <= _GRADIENT_STEP) & (
        np.abs(up).max(axis=1) <= _GRADIENT_STEP
    )
    opposite = ((down * up).min(axis=1) < 0) & ((down * up).max(axis=1) <= 0)
    return int((small & opposite).sum()) >= 2


def _solid(mask: npt.NDArray[np.bool_], box: PixelBox, colour: Colour) -> list[Shape]:
    """The rectangles or the border that an area of one colour looks like."""
    short, long = sorted((box.width, box.height))
    if short <= 3:
        return [Shape("fill", box, colour)] if long >= _MIN_RULE and mask.mean() > 0.8 else []
    outline, _ = cv2.findContours(
        np.pad(mask, 1).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE
    )
    enclosed = cv2.contourArea(outline[0]) / ((box.width - 1) * (box.height - 1))
    # How far the corners are cut off, along the diagonals; 0.15 of the side in a circle.
    reach = short // 2
    diagonal = np.arange(reach)
    cuts = [
        int(corner[diagonal, diagonal].argmax()) if corner[diagonal, diagonal].any() else reach
        for corner in (mask, mask[:, ::-1], mask[::-1], mask[::-1, ::-1])
    ]
    cut = sorted(cuts)[2]
    if enclosed < 0.6 or cut > 0.17 * short + 1:
        return _bands(mask, box, colour) if mask.sum() >= _MIN_BANDED else []
    radius = min(round(cut / (1 - 0.5**0.5)), short // 2)
    thickness = int(mask[box.height // 2].argmin())
    ring = 2 * thickness * (box.width + box.height - 2 * thickness)
    if 0 < thickness <= 8 and mask.sum() <= 1.1 * ring and mask.mean() < 0.6:
        return [Shape("border", box, colour, radius, thickness)]
    return [Shape("fill", box, colour, radius)]


def _bands(mask: npt.NDArray[np.bool_], box: PixelBox, colour: Colour) -> list[Shape]:
    """An angular area, such as a sidebar with a footer, as rectangles one below the other."""
    left = mask.argmax(axis=1)
    right = box.width - mask[:, ::-1].argmax(axis=1)
    turns = (np.abs(np.diff(left)) > 2) | (np.abs(np.diff(right)) > 2)
    edges = [0, *(np.flatnonzero(turns) + 1).tolist(), box.height]
    bands = []
    for top, bottom in pairwise(edges):
        first, last = int(left[top:bottom].min()), int(right[top:bottom].max())
        if bottom - top >= 8 and last - first >= 8 and mask[top:bottom, first:last].mean() > 0.3:
            band = PixelBox(box.left + first, box.top + top, box.left + last, box.top + bottom)
            bands.append(Shape("fill", band, colour))
    return bands


def _busy_shapes(
    rgb: Rgb, busy: npt.NDArray[np.bool_], written: npt.NDArray[np.bool_]
) -> list[Shape]:
    closed = cv2.morphologyEx(busy.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    # Text over a picture leaves holes in it, which belong to the picture.
    closed = cv2.morphologyEx(closed, cv2.MORPH_CLOSE, np.ones((15, 15), np.uint8))
    outlines, _ = cv2.findContours(closed, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    shapes = []
    for outline in outlines:
        left, top, width, height = cv2.boundingRect(outline)
        if min(width, height) < _MIN_PICTURE or cv2.contourArea(outline) < 0.5 * width * height:
            continue
        box = PixelBox(left, top, left + width, top + height)
        blank = ~written[top : box.bottom, left : box.right]
        if blank.mean() > 0.3:
            shapes.append(_textured(rgb[top : box.bottom, left : box.right], blank, box))
    return shapes


def _textured(pixels: Rgb, blank: npt.NDArray[np.bool_], box: PixelBox) -> Shape:
    values = pixels.astype(np.int16)
    changes = np.abs(np.diff(values, axis=1)).max(axis=2)[blank[:, 1:] & blank[:, :-1]]
    smooth = changes.mean() < 2 and np.percentile(changes, 99) < 3 * _GRADIENT_STEP
    strip = min(box.width, box.height) * 8 < max(box.width, box.height)
    if smooth or strip or values[blank].std(axis=0).max() < _MIN_VARIETY:
        return _gradient(pixels, box)
    return Shape("picture", box, _rounded(pixels[blank].mean(axis=0)))


def _gradient(pixels: Rgb, box: PixelBox) -> Shape:
    top_left, top_right, bottom_left, bottom_right = pixels[[1, 1, -2, -2], [1, -2, 1, -2]].astype(
        int
    )
    across = int(np.abs(top_right - top_left).max())
    down = int(np.abs(bottom_left - top_left).max())
    angle = 90 if across > 3 * down else 180 if down > 3 * across else 135
    return Shape("gradient", box, _rounded(top_left), angle=angle, end=_rounded(bottom_right))


def _rounded(values: npt.NDArray[Any]) -> Colour:
    return round(float(values[0])), round(float(values[1])), round(float(values[2]))


def _without_repainting(
    size: tuple[int, ...], background: Colour, shapes: Sequence[Shape]
) -> list[Shape]:
    """Leave out fills that would change nothing."""
    canvas = np.full((*size[:2], 3), background, np.int16)
    needed = []
    for shape in shapes:
        box = shape.box
        place = canvas[box.top : box.bottom, box.left : box.right]
        if shape.kind == "fill" and (place == shape.colour).all(axis=2).mean() > 0.99:
            continue
        if shape.kind == "border":
            ring = np.ones(place.shape[:2], bool)
            t = shape.thickness
            ring[t:-t, t:-t] = False
            place[ring] = shape.colour
        else:
            place[:] = shape.colour if shape.kind == "fill" else -1
        needed.append(shape)
    return needed
