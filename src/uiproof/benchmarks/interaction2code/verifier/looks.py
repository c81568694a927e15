"""Pixels compared as people compare them: letters drawn a little differently are the same.

Pictures given to one function have the same size unless it says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.interaction2code.verifier.evidence import Mask
from uiproof.boxes import PixelBox
from uiproof.vision.images import Rgb

Gray = npt.NDArray[np.uint8]

TOLERANCE = 40  # of 255: antialiasing differs by less where an edge is the same
CHANGE = 3  # of 255: what one browser draws twice alike differs by less
SPECK = 10  # pixels: less than the least letter that reads differently
_AS_GOOD = 0.03  # places that fit a patch almost as well as the best
_SQUARE = np.ones((3, 3), np.uint8)


def fitted(picture: Rgb, width: int, height: int) -> Rgb:
    """A picture cut, or continued as it ends, to this size."""
    picture = picture[:height, :width]
    rest = ((0, height - picture.shape[0]), (0, width - picture.shape[1]), (0, 0))
    return np.pad(picture, rest, mode="edge") if any(r[1] for r in rest) else picture


def changed(before: Rgb, after: Rgb) -> Mask:
    """Where two pictures by the same browser differ at all."""
    return distance(before, after) > CHANGE


def distance(one: Rgb, other: Rgb) -> Gray:
    """How far two pictures are apart, in the channel in which they are farthest."""
    if one.size == 0:
        return np.zeros(one.shape[:2], np.uint8)
    return _highest(np.asarray(cv2.absdiff(one, other)))


def _highest(picture: npt.NDArray[np.uint8]) -> Gray:
    # A fifth of the time that numpy takes for the same.
    red, green, blue = cv2.split(picture)
    return np.asarray(cv2.max(red, cv2.max(green, blue)), np.uint8)


def differing(one: Rgb, other: Rgb, tolerance: int = TOLERANCE) -> Mask:
    """Where two pictures differ by more than antialiasing and a pixel of displacement."""
    if one.size == 0:
        return np.zeros(one.shape[:2], np.bool_)
    return _outside(one, other, tolerance) | _outside(other, one, tolerance)


def _outside(one: Rgb, other: Rgb, tolerance: int) -> Mask:
    """Where `other` is lighter or darker than everything next to the same place in `one`."""
    above = _highest(np.asarray(cv2.subtract(other, cv2.dilate(one, _SQUARE))))
    below = _highest(np.asarray(cv2.subtract(cv2.erode(one, _SQUARE), other)))
    return np.asarray(cv2.max(above, below) > tolerance)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Pixels that belong together."""

    box: PixelBox
    pixels: int


def clusters(mask: Mask, *, reach: int = 6, least: int = SPECK) -> list[Cluster]:
    """Groups of set pixels that are at most `reach` pixels apart, the largest first."""
    if not mask.any():
        return []
    grown = cv2.dilate(mask.astype(np.uint8), np.ones((reach + 1, reach + 1), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(grown, connectivity=8)
    sizes = np.bincount(labels[mask], minlength=count)
    found: list[Cluster] = []
    for index in range(1, count):
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


def crop(picture: Rgb, box: PixelBox) -> Rgb:
    """The part of a picture in a box, as far as the box is on the picture."""
    return picture[max(box.top, 0) : max(box.bottom, 0), max(box.left, 0) : max(box.right, 0)]


def crop_mask(mask: Mask, box: PixelBox) -> Mask:
    """The part of a mask in a box, as far as the box is on it."""
    return mask[max(box.top, 0) : max(box.bottom, 0), max(box.left, 0) : max(box.right, 0)]


def grown(box: PixelBox, by: int, width: int, height: int) -> PixelBox:
    """A box with a margin, cut at the edges of the picture."""
    return PixelBox(
        max(box.left - by, 0),
        max(box.top - by, 0),
        min(box.right + by, width),
        min(box.bottom + by, height),
    )


def gray(picture: Rgb) -> Gray:
    """A picture without its colours."""
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2GRAY), np.uint8)


def background(picture: Rgb) -> npt.NDArray[np.float64]:
    """The commonest colour of a patch, roughly: the middle of its commonest coarse shade."""
    flat = picture.reshape(-1, 3)
    if not len(flat):
        return np.zeros(3)
    coarse = (flat >> 4).astype(np.int32) @ np.array([256, 16, 1])
    return np.asarray(np.median(flat[coarse == np.bincount(coarse).argmax()], axis=0))


def foreground(picture: Rgb) -> npt.NDArray[np.float64]:
    """The colour of what is drawn on a patch: of what is farthest from its background."""
    flat = picture.reshape(-1, 3).astype(np.float64)
    away = np.abs(flat - background(picture)).max(axis=1)
    if not len(flat) or away.max() <= 32:
        return background(picture)
    return np.asarray(np.median(flat[away >= 0.7 * away.max()], axis=0))


def ink(picture: Rgb) -> Mask:
    """What stands out from the background of a patch, whatever the colours."""
    if picture.size == 0:
        return np.zeros(picture.shape[:2], np.bool_)
    plain = np.broadcast_to(background(picture).astype(np.uint8), picture.shape)
    return distance(np.ascontiguousarray(picture), np.ascontiguousarray(plain)) > 32


def is_blank(picture: Rgb) -> bool:
    """Whether nothing at all can be seen on a patch."""
    return picture.size == 0 or int(ink(picture).sum()) < SPECK


def same_drawing(one: Rgb, other: Rgb, *, slack: float = 0.08) -> bool:
    """Whether two patches show the same letters and lines, whatever their colours."""
    if one.shape != other.shape:
        return False
    a, b = edges(one), edges(other)
    odd = int((a & ~widened(b, 3)).sum() + (b & ~widened(a, 3)).sum())
    return odd <= max(slack * (int(a.sum()) + int(b.sum())), SPECK)


def widened(mask: Mask, side: int) -> Mask:
    """A mask grown by half of `side` pixels in each direction."""
    if mask.size == 0:
        return mask
    return np.asarray(cv2.dilate(mask.astype(np.uint8), np.ones((side, side), np.uint8)) > 0)


def edges(picture: Rgb) -> Mask:
    """The edges of what is drawn: they stay where they are when colours change."""
    if picture.size == 0:
        return np.zeros(picture.shape[:2], np.bool_)
    step = cv2.morphologyEx(gray(picture), cv2.MORPH_GRADIENT, _SQUARE)
    strong = max(int(np.percentile(step, 99)) // 3, 12)
    return np.asarray(step > strong)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a patch was found on a picture, and how well it fits there (at most 1)."""

    left: int
    top: int
    fit: float


def find(
    patch: Rgb,
    picture: Rgb,
    *,
    within: PixelBox | None = None,
    near: tuple[int, int] | None = None,
) -> Place | None:
    """The place on a picture that looks most like a patch; None for a patch without any drawing.

    Of places that look the same, such as the stars of a rating, it is the one next to `near`.
    """
    area = within or PixelBox(0, 0, picture.shape[1], picture.shape[0])
    ground = crop(picture, area)
    if (
        patch.size == 0
        or patch.shape[0] > ground.shape[0]
        or patch.shape[1] > ground.shape[1]
        or float(gray(patch).std()) < 3
    ):
        return None
    fits = cv2.matchTemplate(gray(ground), gray(patch), cv2.TM_CCOEFF_NORMED)
    fits[~np.isfinite(fits)] = -1
    _, fit, _, (x, y) = cv2.minMaxLoc(fits)
    if near is not None:
        rows, columns = np.nonzero(fits >= fit - _AS_GOOD)
        away = np.hypot(columns + area.left - near[0], rows + area.top - near[1])
        nearest = int(away.argmin())
        x, y = int(columns[nearest]), int(rows[nearest])
    return Place(max(area.left, 0) + int(x), max(area.top, 0) + int(y), float(fit))
