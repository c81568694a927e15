"""The region of an interaction: the part of the page that it changed.

    found = region(before, after, noise=rendered_again)
    found.box, found.parts, saliency(found.box, (width, height))

`region` is the repaired rule, `paper_region` the published one, both in pixels of the picture
after the interaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Literal

import cv2
import numpy as np

from uiproof.geometry import PixelBox
from uiproof.vision.difference import (
    Hashes,
    Mask,
    aligned_difference,
    around,
    box_of,
    common_rows,
    difference,
    gaps,
    parts,
    row_hashes,
    runs,
)
from uiproof.vision.images import Rgb

TOLERANCE = 2  # per channel: less cannot be seen
_GAP_SHARE = 100  # parts closer than 1 / 100 of the width are one
_SCROLL_BAR_SHARE = 80  # a scroll bar is at most 1 / 80 of the width
_SMALL_SHARE = 0.02  # of the picture: what is pushed away is more
_CLEARLY_BETTER = 0.5  # another explanation must leave at most so much of the area
_MOST_STRIPS = 6
_NEARLY_ALL = 0.95  # of the width: not worth aligning the rest separately
_MOVED_ROWS = 16  # that have been found again before something counts as pushed
_DIFF_CONTEXT = 3  # lines that `git diff` shows around a change

Alignment = Literal["place", "rows", "columns"]


@dataclass(frozen=True, slots=True)
class Region:
    """The changed part of a page, in pixels of the picture after an interaction."""

    box: PixelBox | None  # around everything; None where nothing changed or the rule fails
    parts: tuple[PixelBox, ...] = ()  # its connected parts, from top to bottom
    # How the pictures were laid on each other: place by place, or by equal rows or columns.
    aligned: Alignment = "place"
    reason: str = ""  # why there is no box


def region(
    before: Rgb, after: Rgb, *, noise: Mask | Rgb | None = None, tolerance: int = TOLERANCE
) -> Region:
    """Return where two pictures of a page differ, apart from noise.

    `noise` is the picture before rendered a second time, or a mask of pixels that change by
    themselves. Where the page grew or shrank, or content was clearly pushed up, down or aside,
    rows or columns are matched by their content first: the region is what came in or changed and
    not everything behind it. Where something went and nothing came, the region is its place.
    """
    before, after = _without(noise, before, after)
    plain = difference(before, after, tolerance=tolerance)
    found = _parts(plain)
    same_size = before.shape == after.shape
    if same_size and not found:
        return Region(None, reason="nothing changed")
    aligned: Alignment = "place"
    if not same_size or _area(found) >= _SMALL_SHARE * plain.size:
        enough = _CLEARLY_BETTER if same_size else 1
        for way, mask in _explanations(before, after, plain, tolerance):
            explained = _parts(mask)
            if explained and (not found or _is_better(explained, found, enough)):
                found, aligned = explained, way
    if not found:
        # The page lost rows or columns at its end: its last ones are where they were.
        found = (_end(before, after),)
    return Region(around(found), found, aligned)


def paper_region(before: Rgb, after: Rgb) -> Region:
    """Apply the published rule, to the pixel, without its files and crashes.

    Same size: from the first to the last row and column that differ, the last ones lost as they
    are taken for exclusive bounds. Other height: the lines that `git diff` shows for the rows, from
    1 and with three lines of context, at full width; other width: the same for columns. Both: the
    whole picture. Where the published program fails there is no box but a reason.
    """
    (height, width), (high, wide) = before.shape[:2], after.shape[:2]
    if (height, width) == (high, wide):
        changed = box_of(difference(before, after))
        if changed is None:
            return Region(None, reason="the pictures are equal")
        box = PixelBox(changed.left, changed.top, changed.right - 1, changed.bottom - 1)
        if not box.width or not box.height:
            return Region(None, reason="the change is a single row or column of pixels")
        return Region(box, (box,))
    if height != high and width != wide:
        whole = PixelBox(0, 0, wide, high)
        return Region(whole, (whole,))
    by_rows = height != high
    pictures = (before, after) if by_rows else (_turned(before), _turned(after))
    first, last = _diff_lines(*map(row_hashes, pictures))
    box = PixelBox(0, first, wide, last) if by_rows else PixelBox(first, 0, last, high)
    return Region(box, (box,), "rows" if by_rows else "columns")


def saliency(box: PixelBox | None, size: tuple[int, int]) -> float:
    """Return the share of a picture of this size that the box covers; 0 without a box."""
    if box is None or size[0] * size[1] == 0:
        return 0.0
    return box.area / (size[0] * size[1])


def _diff_lines(before: Hashes, after: Hashes) -> tuple[int, int]:
    """Return the first and the last line, from 1, that `git diff` shows of the file after."""
    between = list(gaps(common_rows(before, after), len(before), len(after)))
    equal_before = between[0][0].start
    first = max(equal_before + 1 - _DIFF_CONTEXT, 1)
    rows, there = between[-1]
    i, end_i, j, end_j = rows.start, rows.stop, there.start, there.stop
    # If repeated lines allow several positions for the change, choose the last one.
    if i == end_i:
        while end_j < len(after) and after[j] == after[end_j]:
            j, end_j = j + 1, end_j + 1
    elif j == end_j:
        while end_i < len(before) and before[i] == before[end_i]:
            i, end_i, j, end_j = i + 1, end_i + 1, j + 1, end_j + 1
        if end_j == len(after):
            return first, len(after) + 1  # lines that went have the number of the one after them
    return first, min(end_j + _DIFF_CONTEXT, len(after))


def _explanations(
    before: Rgb, after: Rgb, plain: Mask, tolerance: int
) -> Iterator[tuple[Alignment, Mask]]:
    # Rows can only have been pushed where there are more or less of them, or the picture ends where
    # the window does; columns likewise.
    same_size = before.shape == after.shape
    if same_size or before.shape[0] != after.shape[0]:
        for mask in _by_rows(before, after, plain, tolerance):
            yield "rows", mask
    if same_size or before.shape[1] != after.shape[1]:
        for mask in _by_rows(_turned(before), _turned(after), plain.T, tolerance):
            yield "columns", np.ascontiguousarray(mask.T)


def _by_rows(before: Rgb, after: Rgb, plain: Mask, tolerance: int) -> Iterator[Mask]:
    """Explain a difference by rows that moved: all together, then strip by strip."""
    width = min(before.shape[1], after.shape[1])
    strips = list(_strips(plain[: before.shape[0], :width]))
    least_moved = _MOVED_ROWS
    if before.shape[0] != after.shape[0]:
        least_moved = 0
        yield from _strip_by_strip(before, after, plain, [(0, width)], 0, tolerance)
        if any(right - left > _NEARLY_ALL * width for left, right in strips):
            return
        # With those between them they cover the whole width.
        strips = list(pairwise(sorted({0, width, *(edge for strip in strips for edge in strip)})))
    yield from _strip_by_strip(before, after, plain, strips, least_moved, tolerance)


def _strip_by_strip(
    before: Rgb,
    after: Rgb,
    plain: Mask,
    strips: list[tuple[int, int]],
    least_moved: int,
    tolerance: int,
) -> Iterator[Mask]:
    explained = plain
    for left, right in strips:
        mask = aligned_difference(
            before[:, left:right],
            after[:, left:right],
            tolerance=tolerance,
            least_moved=least_moved,
        )
        changed = np.count_nonzero(plain[:, left:right])
        if mask is not None and np.count_nonzero(mask) < changed:
            explained = plain.copy() if explained is plain else explained
            explained[:, left:right] = mask
    if explained is not plain:
        yield explained


def _strips(plain: Mask) -> Iterator[tuple[int, int]]:
    """Yield the runs of columns that differ; a scroll bar is a separate strip."""
    width = plain.shape[1]
    columns = np.asarray(plain.any(axis=0))
    bar = width - ceil(width / _SCROLL_BAR_SHARE)
    gap = _gap(width)
    found = runs(columns[:bar], gap=gap)
    # Many narrow ones, such as lines of text that moved aside, are looked at together.
    yield from found if len(found) <= _MOST_STRIPS else [(found[0][0], found[-1][1])]
    yield from ((left + bar, right + bar) for left, right in runs(columns[bar:], gap=gap))


def _parts(mask: Mask) -> tuple[PixelBox, ...]:
    width = mask.shape[1]
    found = parts(mask, gap=_gap(width))
    bar = width - ceil(width / _SCROLL_BAR_SHARE)
    # A scroll bar belongs to the window and adds no information.
    return tuple(part for part in found if part.left < bar) or found


def _gap(width: int) -> int:
    return max(width // _GAP_SHARE, 4)


def _is_better(new: tuple[PixelBox, ...], old: tuple[PixelBox, ...], enough: float) -> bool:
    """Return whether parts cover so much less than others, singly or with all between them."""
    singly, together = _area(new) / _area(old), around(new).area / around(old).area
    return singly < 1 and min(singly, together) <= enough


def _area(boxes: tuple[PixelBox, ...]) -> int:
    return sum(box.area for box in boxes)


def _end(before: Rgb, after: Rgb) -> PixelBox:
    height, width = after.shape[:2]
    lost_rows, lost_columns = before.shape[0] - height, before.shape[1] - width
    if lost_rows >= 0 and lost_columns <= 0:
        return PixelBox(0, max(height - max(lost_rows, 1), 0), width, height)
    return PixelBox(max(width - max(lost_columns, 1), 0), 0, width, height)


def _turned(picture: Rgb) -> Rgb:
    """Return columns as rows, without a copy."""
    return picture.transpose(1, 0, 2)


def _without(noise: Mask | Rgb | None, before: Rgb, after: Rgb) -> tuple[Rgb, Rgb]:
    """Return both pictures with the pixels blackened that change by themselves."""
    if noise is not None and noise.ndim == 3:
        height, width = min(len(before), len(noise)), min(before.shape[1], noise.shape[1])
        unstable = difference(before[:height, :width], np.asarray(noise[:height, :width], np.uint8))
        # Flicker may extend a pixel beyond what one comparison showed.
        noise = cv2.dilate(unstable.view(np.uint8), np.ones((3, 3), np.uint8)) > 0
    if noise is None or not noise.any():
        return before, after
    before, after = before.copy(), after.copy()
    for picture in (before, after):
        height, width = min(len(picture), len(noise)), min(picture.shape[1], noise.shape[1])
        picture[:height, :width][noise[:height, :width] > 0] = 0
    return before, after
