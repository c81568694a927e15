"""Structural similarity of two pictures, fast enough for pages of ten thousand rows.

Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to structural
similarity", IEEE TIP 13(4), 2004, equation 13, with the defaults of scikit-image: a uniform window
of 7 x 7, sample covariance, K1 = 0.01, K2 = 0.03, values 0-255, windows inside the picture only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

WINDOW = 7
_C1 = (0.01 * 255) ** 2
_C2 = (0.03 * 255) ** 2
_STRIP = 256  # rows at a time, so that intermediate arrays fit the processor's cache
_CONTENT_STRIP = 64  # the same for `content_ssim`, which has more of them

_FLAT = 1.0  # variance below which a window is flat
# Replaces C2 in `content_ssim`. C2 would make any two faint patterns similar; since flat windows
# are excluded, a smaller constant is enough.
_FAINT = 0.5
_SAME_BRIGHTNESS = 3.0

Pixels = npt.NDArray[np.uint8]


def grayscale(pixels: Pixels) -> Pixels:
    """Return the rounded luma (ITU-R 601) of an RGB picture; leave grayscale as it is."""
    if pixels.ndim == 2:
        return pixels
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), dtype=np.uint8)


def ssim(a: Pixels, b: Pixels) -> float:
    """Return the mean structural similarity of two pictures of one size, from -1 to 1 for equal.

    Compares grayscale values of RGB or grayscale arrays. Equals scikit-image's
    `structural_similarity(a, b, data_range=255)`. If a side is shorter than the window, the window
    shrinks to the longest odd length that fits.
    """
    if a.shape[:2] != b.shape[:2]:
        raise ValueError(f"pictures differ in size: {a.shape[:2]} and {b.shape[:2]}")
    x, y = grayscale(a), grayscale(b)
    height, width = x.shape
    if height == 0 or width == 0:
        raise ValueError("an empty picture has no similarity")
    window = min(WINDOW, (min(height, width) - 1) // 2 * 2 + 1)
    windows_down, windows_across = height - window + 1, width - window + 1
    total = 0.0
    for top in range(0, windows_down, _STRIP):
        rows = slice(top, min(top + _STRIP, windows_down) + window - 1)
        total += _sum_of_similarities(x[rows], y[rows], window)
    return min(float(total / (windows_down * windows_across)), 1.0)


def _sum_of_similarities(x: Pixels, y: Pixels, window: int) -> float:
    n = window * window
    inside = slice(window // 2, -(window // 2) or None)

    def windowed(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        # Sums of 49 products of bytes are below 2**24, so float32 is exact.
        sums = cv2.boxFilter(values, cv2.CV_32F, (window, window), normalize=False)
        return np.asarray(sums[inside, inside], dtype=np.float64)

    fx, fy = x.astype(np.float32), y.astype(np.float32)
    sum_x, sum_y = windowed(fx), windowed(fy)
    product = sum_x * sum_y
    squares = sum_x * sum_x + sum_y * sum_y
    # Everything is scaled by n**2, and covariances by n * (n - 1) as well, so that differences of
    # large numbers are exact.
    covariance = n * windowed(fx * fy) - product
    variances = n * windowed(fx * fx + fy * fy) - squares
    c1, c2 = _C1 * n * n, _C2 * n * max(n - 1, 1)
    similarity = (2 * product + c1) * (2 * covariance + c2)
    similarity /= (squares + c1) * (variances + c2)
    return float(similarity.sum())


def aligned_ssim(a: Pixels, b: Pixels) -> float:
    """Return the structural similarity, 0-1, of two pictures whose sizes may differ.

    Both are aligned at the top left. Their overlap is compared by `ssim` (a negative value counts
    as 0), and the rest of either picture has similarity 0:
    `max(ssim(overlap), 0) * area(overlap) / area(union)`.
    """
    height, width = min(a.shape[0], b.shape[0]), min(a.shape[1], b.shape[1])
    overlap = height * width
    if overlap == 0:
        return 0.0
    union = a.shape[0] * a.shape[1] + b.shape[0] * b.shape[1] - overlap
    similarity = ssim(a[:height, :width], b[:height, :width])
    return float(max(similarity, 0.0) * overlap / union)


def content_ssim(a: Pixels, b: Pixels) -> float:
    """Return the structural similarity, 0-1, of the content of two pictures, without empty parts.

    Both are aligned at the top left. A window of 7 x 7 pixels has content unless it is flat
    (variance below 1). The score is the mean over all windows with content in either picture. A
    window with content in only one of them counts as 0, also beyond the end of the other one; a
    negative similarity counts as 0. Windows that are flat in both but differ in brightness by more
    than 3 count if they lower the mean: flat areas of almost the right colour must not compensate.

    Equal pictures score exactly 1, and a flat one against one with content exactly 0. `ssim` does
    not: pages are mostly background, so a blank page is similar to all.
    """
    if a.shape == b.shape and np.array_equal(a, b):
        return 1.0
    x, y = grayscale(a), grayscale(b)
    height = max(x.shape[0], y.shape[0])
    shown_x = shown_y = alone = counted = 0
    similarities, plain = [np.zeros(0, np.float32)], [np.zeros(0, np.float32)]
    for top in range(0, height, _CONTENT_STRIP):
        strip_x, strip_y = _windows(x, top), _windows(y, top)
        shown_x += int(np.count_nonzero(strip_x.shown))
        shown_y += int(np.count_nonzero(strip_y.shown))
        both = tuple(map(slice, np.minimum(strip_x.mean.shape, strip_y.mean.shape)))
        alone += int(np.count_nonzero(strip_x.shown)) - int(np.count_nonzero(strip_x.shown[both]))
        alone += int(np.count_nonzero(strip_y.shown)) - int(np.count_nonzero(strip_y.shown[both]))
        if min(strip_x.mean[both].shape) > 0:
            found, windows, differing = _content_similarities(strip_x, strip_y, both)
            similarities.append(found)
            plain.append(differing)
            counted += windows
    if (shown_x == 0) != (shown_y == 0):
        return 0.0
    # A single sum, so that the last digits do not depend on the strips.
    total, of_plain = (
        float(np.concatenate(parts).sum(dtype=np.float64)) for parts in (similarities, plain)
    )
    windows, plain_windows = counted + alone, sum(map(len, plain))
    means = [
        part / number
        for part, number in ((total, windows), (total + of_plain, windows + plain_windows))
        if number
    ]
    return min(1.0, *means) if means else 1.0


@dataclass(frozen=True, slots=True)
class _Windows:
    """The windows centred on some rows of a picture."""

    values: npt.NDArray[np.float32]  # with up to three more rows on either side
    above: int  # number of these rows above
    mean: npt.NDArray[Any]
    variance: npt.NDArray[Any]
    shown: npt.NDArray[np.bool_]  # not flat


def _windows(gray: Pixels, top: int) -> _Windows:
    first, last = max(top - WINDOW // 2, 0), top + _CONTENT_STRIP + WINDOW // 2
    values = gray[first:last].astype(np.float32)
    if values.shape[0] == 0 or top >= gray.shape[0]:
        nothing = np.zeros((0, gray.shape[1]), np.float32)
        return _Windows(nothing, 0, nothing, nothing, nothing > 0)
    inside = slice(top - first, top - first + _CONTENT_STRIP)
    mean = _box_mean(values)[inside]
    variance = np.maximum(_box_mean(values * values)[inside] - mean * mean, 0)
    return _Windows(values, top - first, mean, variance, variance >= _FLAT)


def _content_similarities(
    x: _Windows, y: _Windows, both: tuple[slice, ...]
) -> tuple[npt.NDArray[Any], int, npt.NDArray[Any]]:
    """Return similarities of windows with content in both pictures, the number of windows with
    content in either, and similarities of flat windows that differ."""
    mean_x, variance_x, flat_x = x.mean[both], x.variance[both], ~x.shown[both]
    mean_y, variance_y, flat_y = y.mean[both], y.variance[both], ~y.shown[both]
    flat = flat_x & flat_y
    differing = flat & (np.abs(mean_x - mean_y) > _SAME_BRIGHTNESS)
    rows, columns = (min(a, b) for a, b in zip(x.values.shape, y.values.shape, strict=True))
    products = _box_mean(x.values[:rows, :columns] * y.values[:rows, :columns])
    covariance = products[x.above :][both] - mean_x * mean_y
    # Flat windows are compared by brightness only.
    similarity = (2 * mean_x * mean_y + _C1) / (mean_x**2 + mean_y**2 + _C1)
    structure = (2 * covariance + _FAINT) / (variance_x + variance_y + _FAINT)
    similarity *= np.where(flat, 1, structure)
    np.clip(similarity, 0, 1, out=similarity)
    shown = int(flat.size - np.count_nonzero(flat))
    return similarity[~(flat_x | flat_y)], shown, similarity[differing]


def _box_mean(values: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    return np.asarray(cv2.boxFilter(values, cv2.CV_32F, (WINDOW, WINDOW)))
