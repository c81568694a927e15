"""Pixels compared as people compare them: letters drawn a little differently are the same.

Pictures given to one function have the same size unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask
from uiproof.geometry import PixelBox
from uiproof.vision.images import Gray, Rgb

Picture = TypeVar("Picture", Rgb, Mask)
Colour = npt.NDArray[np.float64]
Drawing = npt.NDArray[np.float32]  # what is drawn on a patch, in a square of one size
Size = tuple[int, int]
_SQUARE = np.ones((3, 3), np.uint8)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Pixels that belong together."""

    box: PixelBox
    pixels: int


# --- boxes and masks


def fitted(picture: Rgb, width: int, height: int) -> Rgb:
    """Return a picture cut, or continued as it ends, to this size."""
    picture = picture[:height, :width]
    rest = ((0, height - picture.shape[0]), (0, width - picture.shape[1]), (0, 0))
    return np.pad(picture, rest, mode="edge") if any(r[1] for r in rest) else picture


def crop(picture: Picture, box: PixelBox) -> Picture:
    """Return the part of a picture or mask in a box, as far as the box is on it."""
    return picture[max(box.top, 0) : max(box.bottom, 0), max(box.left, 0) : max(box.right, 0)]


def grown(box: PixelBox, by: int, width: int, height: int) -> PixelBox:
    """Return a box with a margin, cut at the edges of the picture."""
    return PixelBox(
        max(box.left - by, 0),
        max(box.top - by, 0),
        min(box.right + by, width),
        min(box.bottom + by, height),
    )


def filled(boxes: Iterable[PixelBox | None], size: Size) -> Mask:
    """Return a mask of all these boxes."""
    mask = np.zeros((size[1], size[0]), np.bool_)
    for box in boxes:
        if box is not None:
            mask[max(box.top, 0) : box.bottom, max(box.left, 0) : box.right] = True
    return mask


def count(mask: Mask, box: PixelBox) -> int:
    """Return the number of set pixels in a box."""
    return int(crop(mask, box).sum())


def widened(mask: Mask, side: int) -> Mask:
    """Return a mask grown by half of `side` pixels in each direction."""
    if mask.size == 0:
        return mask
    return np.asarray(cv2.dilate(mask.astype(np.uint8), np.ones((side, side), np.uint8)) > 0)


def clusters(mask: Mask, *, reach: int = 6, least: int = const.SPECK) -> list[Cluster]:
    """Return groups of set pixels that are at most `reach` pixels apart, the largest first."""
    if not mask.any():
        return []
    wide = cv2.dilate(mask.astype(np.uint8), np.ones((reach + 1, reach + 1), np.uint8))
    number, labels, stats, _ = cv2.connectedComponentsWithStats(wide, connectivity=8)
    sizes = np.bincount(labels[mask], minlength=number)
    found: list[Cluster] = []
    for index in range(1, number):
        if sizes[index] >= least:
            left, top, width, height = (int(v) for v in stats[index][:4])
            inside = mask[top : top + height, left : left + width] & (
                labels[top : top + height, left : left + width] == index
            )
            rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
            box = PixelBox(
                left + int(columns[0]),
                top + int(rows[0]),
                left + int(columns[-1]) + 1,
                top + int(rows[-1]) + 1,
            )
            found.append(Cluster(box, int(sizes[index])))
    return sorted(found, key=lambda one: -one.pixels)


# --- differences


def distance(one: Rgb, other: Rgb) -> Gray:
    """Return the difference of two pictures, in the channel in which it is largest."""
    if one.size == 0:
        return np.zeros(one.shape[:2], np.uint8)
    return _highest(np.asarray(cv2.absdiff(one, other)))


def changed(before: Rgb, after: Rgb) -> Mask:
    """Return where two pictures by the same browser differ at all."""
    return distance(before, after) > const.CHANGE


def differing(one: Rgb, other: Rgb) -> Mask:
    """Return where two pictures differ by more than antialiasing and a pixel of displacement."""
    if one.size == 0:
        return np.zeros(one.shape[:2], np.bool_)
    return _outside(one, other) | _outside(other, one)


def _outside(one: Rgb, other: Rgb) -> Mask:
    """Return where `other` is lighter or darker than everything next to it in `one`."""
    above = _highest(np.asarray(cv2.subtract(other, cv2.dilate(one, _SQUARE))))
    below = _highest(np.asarray(cv2.subtract(cv2.erode(one, _SQUARE), other)))
    return np.asarray(cv2.max(above, below) > const.TOLERANCE)


def _highest(picture: npt.NDArray[np.uint8]) -> Gray:
    # A fifth of the time that numpy takes for the same.
    red, green, blue = cv2.split(picture)
    return np.asarray(cv2.max(red, cv2.max(green, blue)), np.uint8)


def displaced(before: Rgb, after: Rgb, mask: Mask, ways: Iterable[tuple[int, int]]) -> Mask:
    """Return where changed pixels only show what was before at another place.

    `ways` are the displacements to look for. Squares count as a whole: single pixels fit anywhere.
    """
    found = np.zeros(mask.shape, np.bool_)
    height, width = mask.shape
    for dx, dy in ways:
        if abs(dx) >= width or abs(dy) >= height or not (dx or dy):
            continue
        to = slice(max(dy, 0), height + min(dy, 0)), slice(max(dx, 0), width + min(dx, 0))
        at = slice(max(-dy, 0), height - max(dy, 0)), slice(max(-dx, 0), width - max(dx, 0))
        part = mask[to]
        # Pictures that were scaled show what moves a little differently.
        off = distance(np.ascontiguousarray(before[at]), np.ascontiguousarray(after[to]))
        same = part & (off <= const.TOLERANCE // 2)
        size = (const.CELL, const.CELL)
        all_, fits = (
            cv2.boxFilter(one.astype(np.float32), -1, size, normalize=False) for one in (part, same)
        )
        found[to] |= part & (fits >= const.ALL_WORDS * all_)
    return found


def in_front(before: Rgb, after: Rgb) -> PixelBox | None:
    """Return the box of what stands before a page that was dimmed; None where none was.

    A veil makes the bright ground of a page one darker shade. What is brighter than that shade is
    in front of it, in one piece.
    """
    step = const.VEIL_STEP
    old, new = (gray(one[::step, ::step]) for one in (before, after))
    bright = old >= const.BRIGHT
    if bright.mean() < const.HALF:
        return None
    shades = np.bincount(new[bright], minlength=256)
    shade = int(shades.argmax())
    dimmed = (old > shade) & (np.abs(new.astype(np.int16) - shade) <= const.CHANGE)
    if shade > const.BRIGHT - const.INK or dimmed.mean() < const.MUCH:
        return None
    # A veil covers the window; the rest of a longer page stays as it was.
    moved = np.abs(old.astype(np.int16) - new) > const.CHANGE
    rows, columns = np.flatnonzero(moved.any(axis=1)), np.flatnonzero(moved.any(axis=0))
    lit = np.zeros(new.shape, np.bool_)
    around = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    lit[around] = new[around] > shade + const.INK // 2
    found = clusters(lit, reach=const.VEIL_STEP)
    if not found or found[0].pixels < const.MOSTLY * lit.sum():
        return None
    box = found[0].box
    share = box.area / lit.size
    if not const.LEAST_FRONT <= share <= const.MOST_FRONT:
        return None
    if found[0].pixels < const.HALF * box.area:
        return None
    return PixelBox(box.left * step, box.top * step, box.right * step, box.bottom * step)


# --- drawings and colours


def gray(picture: Rgb) -> Gray:
    """Return a picture without its colours."""
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2GRAY), np.uint8)


def background(picture: Rgb) -> Colour:
    """Return the middle of the most frequent coarse shade of a patch."""
    flat = picture.reshape(-1, 3)
    if not len(flat):
        return np.zeros(3)
    coarse = (flat >> 4).astype(np.int32) @ np.array([256, 16, 1])
    return np.asarray(np.median(flat[coarse == np.bincount(coarse).argmax()], axis=0))


def ink(picture: Rgb) -> Mask:
    """Return what stands out from the background of a patch."""
    if picture.size == 0:
        return np.zeros(picture.shape[:2], np.bool_)
    plain = np.broadcast_to(background(picture).astype(np.uint8), picture.shape)
    return distance(np.ascontiguousarray(picture), np.ascontiguousarray(plain)) > const.INK


def is_blank(picture: Rgb) -> bool:
    """Return whether nothing at all can be seen on a patch."""
    return picture.size == 0 or int(ink(picture).sum()) < const.SPECK


def drawing(picture: Rgb) -> Drawing | None:
    """Return the drawing on a patch, cut out and scaled, however large it is and in any colour."""
    side = const.DRAWING
    height, width = picture.shape[:2]
    # The corners of a round button are no part of its drawing.
    inner = picture[height // 8 : height - height // 8, width // 8 : width - width // 8]
    mask = ink(inner)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if mask.sum() < const.SPECK:
        return None
    cut = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(np.float32)
    scale = side / max(cut.shape)
    size = max(round(cut.shape[1] * scale), 1), max(round(cut.shape[0] * scale), 1)
    small = cv2.resize(cut, size, interpolation=cv2.INTER_AREA)
    square = np.zeros((side + 4, side + 4), np.float32)
    top, left = (square.shape[0] - size[1]) // 2, (square.shape[1] - size[0]) // 2
    square[top : top + size[1], left : left + size[0]] = small
    return np.asarray(cv2.GaussianBlur(square, (5, 5), 0), np.float32)


def alike(one: Drawing, other: Drawing) -> float:
    """Return how much two drawings look alike, 0-1."""
    a, b = one - one.mean(), other - other.mean()
    return max(float((a * b).sum() / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-6)), 0.0)


def same_colours(one: Rgb, other: Rgb) -> float:
    """Return the overlap of two distributions of coarse colours, 0-1; -1 for hardly any pixels."""
    if len(one) < 4 or len(other) < 4:
        return -1.0
    shares = []
    for some in (one, other):
        coarse = (some >> 5).astype(np.int32) @ np.array([64, 8, 1])
        counts = np.bincount(coarse, minlength=512).astype(np.float64).reshape(8, 8, 8)
        counts = np.asarray(cv2.GaussianBlur(counts.reshape(8, 64), (3, 3), 0), np.float64)
        shares.append(counts / counts.sum())
    # Two shades on either side of the edge of a step are the same colour all the same.
    near = float(np.abs(np.median(one, axis=0) - np.median(other, axis=0)).max()) <= const.TOLERANCE
    return max(float(np.minimum(*shares).sum()), const.MOSTLY if near else 0.0)
