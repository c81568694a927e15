"""Differences between two pictures of a page, with or without moved content.

    mask = difference(before, after)              # pixel by pixel
    mask = aligned_difference(before, after)      # after matching equal rows
    boxes = parts(mask, gap=16)                   # close pieces become one part

Masks have the size of the second picture and are true where it differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import groupby

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb

Mask = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint64]

_CELL = 4  # pixels; parts are joined on a grid of cells of this size
_SPECK = 16  # changed pixels; as few beside something a thousand times as large are noise
_SAMPLE = 8  # pixels
_RARE = 8  # occurrences up to which a row identifies its position
_STRIP = 2**16  # pixels
_LCS_BYTES = 64 * 2**20  # of bit vectors kept for backtracking


def difference(before: Rgb, after: Rgb, *, tolerance: int = 0) -> Mask:
    """Return the pixels that differ by more than `tolerance` in a channel.

    Pixels outside of the first picture differ.
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
    """Return the bounding box of a mask; None if it is empty."""
    x, y, w, h = cv2.boundingRect(mask.view(np.uint8))
    return PixelBox(x, y, x + w, y + h) if w and h else None


def parts(mask: Mask, *, gap: int) -> tuple[PixelBox, ...]:
    """Return the boxes of connected parts from top to bottom; pieces closer than `gap` are joined.

    Specks beside something very much larger are left out.
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
    # The mean of a cell is above zero if any of its 16 pixels is set: 255 / 16 > 15.
    filled = np.asarray(cv2.resize(padded, (columns, rows), interpolation=cv2.INTER_AREA)) > 0
    reach = max(-(-gap // (2 * _CELL)), 1)  # on either side
    joined = cv2.morphologyEx(
        np.pad(filled.view(np.uint8), reach),
        cv2.MORPH_CLOSE,
        np.ones((2 * reach + 1, 2 * reach + 1), np.uint8),
    )[reach:-reach, reach:-reach]
    _, labels, stats, _ = cv2.connectedComponentsWithStats(joined)
    labels = np.where(filled, labels, 0)
    boxes = []
    for label, (left, top, wide, high, _) in enumerate(stats.tolist()[1:], 1):
        cells = labels[top : top + high, left : left + wide] == label
        place = slice(top * _CELL, (top + high) * _CELL), slice(left * _CELL, (left + wide) * _CELL)
        own = padded[place].astype(bool) & cells.repeat(_CELL, axis=0).repeat(_CELL, axis=1)
        if (box := box_of(own)) is not None:
            count = int(np.count_nonzero(cells))
            size = count * _CELL**2 if count > _SPECK else int(np.count_nonzero(own))
            boxes.append((_shifted(box, left * _CELL, top * _CELL), size))
    largest = max(size for _, size in boxes)
    kept = [box for box, size in boxes if size > _SPECK or size * 1000 > largest]
    found = (_shifted(box, whole.left, whole.top) for box in _overlapping_joined(kept))
    return tuple(sorted(found, key=lambda box: (box.top, box.left)))


def _shifted(box: PixelBox, dx: int, dy: int) -> PixelBox:
    return PixelBox(box.left + dx, box.top + dy, box.right + dx, box.bottom + dy)


def _overlapping_joined(boxes: list[PixelBox]) -> list[PixelBox]:
    done: list[PixelBox] = []
    waiting = sorted(boxes, key=lambda box: (box.top, box.left))
    while waiting:
        box = waiting.pop(0)
        other = next((one for one in done if _overlap(box, one)), None)
        if other is None:
            done.append(box)
        else:
            done.remove(other)
            waiting.insert(0, box.union(other))
    return done


def _overlap(a: PixelBox, b: PixelBox) -> bool:
    """Return whether two boxes overlap; called for every pair, so without making a third one."""
    return a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom


def around(boxes: Sequence[PixelBox]) -> PixelBox:
    """Return the smallest box around all of them."""
    return reduce(PixelBox.union, boxes)


def aligned_difference(
    before: Rgb, after: Rgb, *, tolerance: int = 0, least_moved: int = 0
) -> Mask | None:
    """Return the pixels that differ after equal rows have been matched in order.

    Both pictures have the same width. Inserted rows are compared with the row above them, so that
    their content is marked and not the empty space beside it. For deleted rows, an area of their
    height is marked where they were; but rows pushed out of a picture of the same height, at its
    bottom or behind something fixed there, are not a difference.

    Return None if fewer than `least_moved` rows have moved. Only rare rows count, because common
    ones, such as empty rows, match anywhere.
    """
    if least_moved:
        # Every eighth pixel is enough to reject most pictures.
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
    """Return the row above a position, or the first row at the top."""
    row = min(max(row - 1, 0), len(picture) - 1)
    return picture[row : row + 1]


def _standing_out(rows: Rgb, seam: Rgb, tolerance: int) -> Mask:
    return _differs(rows, np.broadcast_to(seam, rows.shape), tolerance)


def _replaced(before: Rgb, after: Rgb, rows: slice, there: slice, tolerance: int) -> Mask:
    """Return the pixels that differ where rows were replaced by fewer or more rows."""
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
    # Strips of rows fit the processor's cache and need little memory.
    strip = max(_STRIP // max(a.shape[1], 1), 1)
    for top in range(0, len(a), strip):
        rows = slice(top, top + strip)
        red, green, blue = cv2.split(cv2.absdiff(a[rows], np.ascontiguousarray(b[rows])))
        np.greater(cv2.max(cv2.max(red, green), blue), tolerance, out=mask[rows])
    return mask


def row_hashes(picture: Rgb) -> Hashes:
    """Return a hash for every row."""
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
        # Multiplication drops the upper half, so it is folded in before.
        mixed = (mixed ^ (mixed >> np.uint64(32))) * chance
        hashes[top : top + len(rows)] = (mixed ^ (mixed >> np.uint64(29))).sum(
            axis=1, dtype=np.uint64
        )
    return hashes


def gaps(
    matched: Sequence[tuple[int, int]], before: int, after: int
) -> Iterator[tuple[slice, slice]]:
    """Yield the unmatched rows before and the rows that replace them, as pairs of slices.

    One slice is empty if rows were only inserted or deleted. `before` and `after` are row counts.
    """
    i = j = 0
    for row, there in [*matched, (before, after)]:
        if row > i or there > j:
            yield slice(i, row), slice(j, there)
        i, j = row + 1, there + 1


def common_rows(before: Hashes, after: Hashes) -> list[tuple[int, int]]:
    """Return a longest common subsequence of two sequences of hashes, as pairs of indices.

    Only the common head and tail are matched if the whole would need too much memory, as for tens
    of thousands of rows that are nearly all different.
    """
    shortest = min(len(before), len(after))
    unequal = np.flatnonzero(before[:shortest] != after[:shortest])
    head = int(unequal[0]) if len(unequal) else shortest
    rest = shortest - head
    unequal = np.flatnonzero(before[::-1][:rest] != after[::-1][:rest])
    tail = int(unequal[0]) if len(unequal) else rest
    i = np.arange(head, len(before) - tail)
    j = np.arange(head, len(after) - tail)
    # Rows that the other picture lacks cannot match.
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
        # If the length does not grow at `j`, it was reached further to the left.
        while j >= 0 and vector >> j & 1:
            j -= 1
        if j < 0:
            break
        vector = history[i]
        if vector >> j & 1:  # without row i there is no growth at j, so they match
            found.append((i, j))
            j -= 1
    return found[::-1]


def runs(flags: Mask, *, gap: int) -> list[tuple[int, int]]:
    """Return runs of set flags as `(start, end)`; runs less than `gap` apart are joined."""
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
