"""Differences of two pictures of a page, also where contents have moved.

    mask = difference(before, after)              # same place, pixel by pixel
    mask = aligned_difference(before, after)      # rows found again by their content first
    boxes = parts(mask, gap=16)                   # what is close together is one part

Masks are as large as the picture after: true where it shows something else than before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb

Mask = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint64]

_CELL = 4  # pixels; parts are joined on a grid of such cells and their sides found in pixels
_SPECK = 16  # changed pixels; fewer beside something a thousand times as large are noise
_SAMPLE = 8  # pixels
_RARE = 8  # times that a row may occur and still tell where it is
_STRIP = 2**16  # pixels
_LCS_BYTES = 64 * 2**20  # of bit vectors to keep for finding the way back


def difference(before: Rgb, after: Rgb, *, tolerance: int = 0) -> Mask:
    """Return the pixels that differ by more than `tolerance` in a channel, at the same place.

    What lies outside the picture before differs.
    """
    mask = np.ones(after.shape[:2], np.bool_)
    both = (
        slice(0, min(before.shape[0], after.shape[0])),
        slice(0, min(before.shape[1], after.shape[1])),
    )
    if before[both].size:
        mask[both] = _differs(before[both], after[both], tolerance)
    return mask


def box_of(mask: Mask) -> PixelBox | None:
    """Return the smallest box around everything that is true."""
    x, y, w, h = cv2.boundingRect(mask.view(np.uint8))
    return PixelBox(x, y, x + w, y + h) if w and h else None


def parts(mask: Mask, *, gap: int) -> tuple[PixelBox, ...]:
    """Return the boxes of what is connected, from top to bottom; pieces closer than `gap` are one.

    Single specks beside something very much larger are left out.
    """
    whole = box_of(mask)
    if whole is None:
        return ()
    inner = mask[whole.top : whole.bottom, whole.left : whole.right]
    height, width = inner.shape
    rows, columns = -(-height // _CELL), -(-width // _CELL)
    padded = cv2.copyMakeBorder(
        inner.view(np.uint8) * 255,
        0,
        rows * _CELL - height,
        0,
        columns * _CELL - width,
        cv2.BORDER_CONSTANT,
    )
    # The mean of a cell is above zero wherever one of its 16 pixels is set: 255 / 16 > 15.
    filled = np.asarray(cv2.resize(padded, (columns, rows), interpolation=cv2.INTER_AREA)) > 0
    reach = max(-(-gap // (2 * _CELL)), 1)  # on either side
    joined = cv2.morphologyEx(
        np.pad(filled.view(np.uint8), reach),
        cv2.MORPH_CLOSE,
        np.ones((2 * reach + 1, 2 * reach + 1), np.uint8),
    )[reach:-reach, reach:-reach]
    count, labels = cv2.connectedComponents(joined)
    labels[~filled] = 0
    boxes = _boxes(inner, np.asarray(labels), count)
    largest = max(size for _, size in boxes)
    kept = [box for box, size in boxes if size > _SPECK or size * 1000 > largest]
    shifted = [
        PixelBox(
            box.left + whole.left,
            box.top + whole.top,
            box.right + whole.left,
            box.bottom + whole.top,
        )
        for box in _overlapping_joined(kept)
    ]
    return tuple(sorted(shifted, key=lambda box: (box.top, box.left)))


def _boxes(mask: Mask, labels: npt.NDArray[np.int32], count: int) -> list[tuple[PixelBox, int]]:
    """Return the exact box and the number of set pixels of each label of a grid of cells."""
    sizes = np.bincount(labels.ravel(), minlength=count) * _CELL * _CELL
    found = []
    for label, (top, bottom, left, right) in _ends(labels):
        # Only cells on the four sides decide about the exact box.
        down = _pixels(mask, labels, label, slice(top, top + 1), slice(left, right))
        up = _pixels(mask, labels, label, slice(bottom - 1, bottom), slice(left, right))
        first = _pixels(mask, labels, label, slice(top, bottom), slice(left, left + 1))
        last = _pixels(mask, labels, label, slice(top, bottom), slice(right - 1, right))
        box = PixelBox(
            left * _CELL + int(np.flatnonzero(first.any(axis=0))[0]),
            top * _CELL + int(np.flatnonzero(down.any(axis=1))[0]),
            (right - 1) * _CELL + int(np.flatnonzero(last.any(axis=0))[-1]) + 1,
            (bottom - 1) * _CELL + int(np.flatnonzero(up.any(axis=1))[-1]) + 1,
        )
        size = int(sizes[label])
        if size <= _SPECK * _CELL * _CELL:  # only what may be a speck needs to be counted
            whole = _pixels(mask, labels, label, slice(top, bottom), slice(left, right))
            size = int(np.count_nonzero(whole))
        found.append((box, size))
    return found


def _ends(labels: npt.NDArray[np.int32]) -> Iterator[tuple[int, tuple[int, int, int, int]]]:
    """Yield each label above 0 with its rows and columns: the first, and the one after the last."""
    rows, columns = np.nonzero(labels)
    order = np.argsort(labels[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    numbers, begins = np.unique(labels[rows, columns], return_index=True)
    if not numbers.size:
        return
    ends = (
        np.minimum.reduceat(rows, begins),
        np.maximum.reduceat(rows, begins) + 1,
        np.minimum.reduceat(columns, begins),
        np.maximum.reduceat(columns, begins) + 1,
    )
    for label, top, bottom, left, right in zip(
        numbers.tolist(), *(e.tolist() for e in ends), strict=True
    ):
        yield label, (top, bottom, left, right)


def _pixels(
    mask: Mask, labels: npt.NDArray[np.int32], label: int, rows: slice, columns: slice
) -> Mask:
    """Return the set pixels in some cells that belong to one label."""
    own = np.repeat(np.repeat(labels[rows, columns] == label, _CELL, axis=0), _CELL, axis=1)
    inner = mask[
        rows.start * _CELL : rows.stop * _CELL, columns.start * _CELL : columns.stop * _CELL
    ]
    return np.asarray(inner & own[: inner.shape[0], : inner.shape[1]])


def _overlapping_joined(boxes: list[PixelBox]) -> list[PixelBox]:
    done: list[PixelBox] = []
    waiting = sorted(boxes, key=lambda box: (box.top, box.left))
    while waiting:
        box = waiting.pop(0)
        for other in done:
            if (
                box.left < other.right
                and other.left < box.right
                and box.top < other.bottom
                and other.top < box.bottom
            ):
                done.remove(other)
                waiting.insert(0, around([box, other]))
                break
        else:
            done.append(box)
    return done


def around(boxes: Sequence[PixelBox]) -> PixelBox:
    """Return the smallest box around all of them."""
    return PixelBox(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )


def aligned_difference(
    before: Rgb, after: Rgb, *, tolerance: int = 0, least_moved: int = 0
) -> Mask | None:
    """Return the pixels that differ once equal rows have been matched, in order, by their content.

    Both pictures have the same width. Rows that came in are compared with the row that they came
    after, so that only what stands out is marked, not empty space beside it. Where rows went, what
    took their place is marked, as tall as they were; but rows that others pushed out of a picture
    of the same height, at its bottom or behind something fixed there, are not a difference.

    None if less than `least_moved` rows were found again elsewhere. Only rows that are unlike
    nearly all others count: empty ones are found everywhere and say nothing.
    """
    if least_moved:
        # Equal rows are equal in every eighth pixel: most pictures are decided by these few.
        some, others = row_hashes(before[:, ::_SAMPLE]), row_hashes(after[:, ::_SAMPLE])
        if _moved(some, common_rows(some, others)) < least_moved:
            return None
    before, after = np.ascontiguousarray(before), np.ascontiguousarray(after)
    height = after.shape[0]
    hashes = row_hashes(before)
    matched = common_rows(hashes, row_hashes(after))
    if least_moved and _moved(hashes, matched) < least_moved:
        return None
    mask = np.zeros(after.shape[:2], np.bool_)
    for rows, there in gaps(matched, len(before), len(after)):
        lost, new = before[rows], after[there]
        if len(lost) and len(new):
            mask[there] |= _replaced(before, after, rows, there, tolerance)
        elif len(new):
            mask[there] |= _standing_out(new, _seam(before, rows.start), tolerance)
        elif len(before) != height or there.start <= rows.start:
            top = min(there.start, max(height - len(lost), 0))
            shown = _standing_out(lost, _seam(after, there.start), tolerance)
            mask[top : top + len(lost)] |= shown[: height - top]
    return mask


def _moved(hashes: Hashes, matched: Sequence[tuple[int, int]]) -> int:
    elsewhere = [row for row, there in matched if row != there]
    values, counts = np.unique(hashes, return_counts=True)
    return int(np.isin(hashes[elsewhere], values[counts <= _RARE]).sum()) if elsewhere else 0


def _seam(picture: Rgb, row: int) -> Rgb:
    """Return the row above a place, or the one below where there is none above."""
    row = min(max(row - 1, 0), len(picture) - 1)
    return picture[row : row + 1]


def _standing_out(rows: Rgb, seam: Rgb, tolerance: int) -> Mask:
    return _differs(rows, np.broadcast_to(seam, rows.shape), tolerance)


def _replaced(before: Rgb, after: Rgb, rows: slice, there: slice, tolerance: int) -> Mask:
    """Return what differs where some rows took the place of others, which may be fewer or more."""
    lost, new = before[rows], after[there]
    both = min(len(lost), len(new))
    if len(lost) == len(new):
        return _differs(lost, new, tolerance)
    candidates = []
    for at_top in (True, False):
        kept = slice(0, both) if at_top else slice(len(new) - both, len(new))
        other = slice(0, both) if at_top else slice(len(lost) - both, len(lost))
        mask = np.zeros(new.shape[:2], np.bool_)
        mask[kept] = _differs(lost[other], new[kept], tolerance)
        rest = slice(both, None) if at_top else slice(0, len(new) - both)
        if len(new) > both:
            seam = new[both - 1 : both] if at_top else _seam(before, rows.start)
            mask[rest] = _standing_out(new[rest], seam, tolerance)
        candidates.append(mask)
    return min(candidates, key=np.count_nonzero)


def _differs(a: Rgb, b: Rgb, tolerance: int) -> Mask:
    mask = np.empty(a.shape[:2], np.bool_)
    # Some rows at a time stay in the processor's cache and need little memory.
    strip = max(_STRIP // max(a.shape[1], 1), 1)
    for top in range(0, len(a), strip):
        rows = slice(top, top + strip)
        red, green, blue = cv2.split(cv2.absdiff(a[rows], np.ascontiguousarray(b[rows])))
        np.greater(cv2.max(cv2.max(red, green), blue), tolerance, out=mask[rows])
    return mask


def row_hashes(picture: Rgb) -> Hashes:
    """Return a number for every row; equal rows have equal numbers, others practically never."""
    height, width = picture.shape[:2]
    words = -(-width * 3 // 8)
    chance = np.random.default_rng(words).integers(0, 2**64, words, dtype=np.uint64) | np.uint64(1)
    hashes = np.empty(height, np.uint64)
    strip = max(_STRIP // max(words, 1), 1)
    for top in range(0, height, strip):
        rows = np.ascontiguousarray(picture[top : top + strip]).reshape(-1, width * 3)
        padded = np.zeros((len(rows), words * 8), np.uint8)
        padded[:, : width * 3] = rows
        mixed = padded.view(np.uint64)
        # Products lose their upper half: the upper half of each word is folded in before.
        mixed = (mixed ^ (mixed >> np.uint64(32))) * chance
        hashes[top : top + len(rows)] = (mixed ^ (mixed >> np.uint64(29))).sum(
            axis=1, dtype=np.uint64
        )
    return hashes


def gaps(
    matched: Sequence[tuple[int, int]], before: int, after: int
) -> Iterator[tuple[slice, slice]]:
    """Yield what is between matched rows: rows before and the rows after that stand in their place.

    A slice is empty where rows only came or went. `before` and `after` count all rows.
    """
    i = j = 0
    for row, there in [*matched, (before, after)]:
        if row > i or there > j:
            yield slice(i, row), slice(j, there)
        i, j = row + 1, there + 1


def common_rows(before: Hashes, after: Hashes) -> list[tuple[int, int]]:
    """Return a longest common subsequence of two rows of numbers, as pairs of indices.

    Only the equal beginning and end are matched where everything together would need too much
    memory: tens of thousands of rows that are nearly all different.
    """
    shortest = min(len(before), len(after))
    unequal = np.flatnonzero(before[:shortest] != after[:shortest])
    head = int(unequal[0]) if len(unequal) else shortest
    rest = shortest - head
    unequal = np.flatnonzero(before[::-1][:rest] != after[::-1][:rest])
    tail = int(unequal[0]) if len(unequal) else rest
    i = np.arange(head, len(before) - tail)
    j = np.arange(head, len(after) - tail)
    # Rows that the other picture does not have take no part.
    i, j = i[np.isin(before[i], after[j])], j[np.isin(after[j], before[i])]
    pairs = [(row, row) for row in range(head)]
    if len(i) * len(j) // 8 <= _LCS_BYTES:
        found = _longest_common(before[i].tolist(), after[j].tolist())
        pairs += [(int(i[one]), int(j[other])) for one, other in found]
    pairs += [(len(before) - tail + n, len(after) - tail + n) for n in range(tail)]
    return pairs


def _longest_common(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Return a longest common subsequence, computed bit-parallel on large integers.

    Crochemore, Iliopoulos, Pinzon and Reid, "A fast and practical bit-vector algorithm for the
    longest common subsequence problem", Information Processing Letters 80, 2001.
    """
    places: dict[int, int] = {}
    for index, value in enumerate(b):
        places[value] = places.get(value, 0) | 1 << index
    full = (1 << len(b)) - 1
    vector = full
    history = []
    for value in a:
        history.append(vector)
        hits = vector & places.get(value, 0)
        vector = ((vector + hits) | (vector - hits)) & full
    found = []
    j = len(b) - 1
    for i in range(len(a) - 1, -1, -1):
        # Where the length does not grow at `j` it was reached further to the left.
        while j >= 0 and vector >> j & 1:
            j -= 1
        if j < 0:
            break
        vector = history[i]
        if vector >> j & 1:  # without row i there is no growth at j: they belong together
            found.append((i, j))
            j -= 1
    return found[::-1]


def runs(flags: Mask, *, gap: int) -> list[tuple[int, int]]:
    """Return where flags are set, as `(start, end)`; runs less than `gap` apart are one."""
    found: list[tuple[int, int]] = []
    index = 0
    for is_set, group in groupby(flags.tolist()):
        length = sum(1 for _ in group)
        if is_set:
            if found and index - found[-1][1] < gap:
                found[-1] = found[-1][0], index + length
            else:
                found.append((index, index + length))
        index += length
    return found
