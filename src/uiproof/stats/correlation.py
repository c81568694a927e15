"""Correlation of scores and answers with what people say; corrections for many tests."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uiproof.stats.intervals import (
    Floats,
    Interval,
    _codes,
    _finite,
    clustered_rate,
    percentile_bounds,
)


class Correlation(NamedTuple):
    """A coefficient from -1 to 1, the bounds of its confidence interval, and how many pairs.

    The bounds are None for fewer than eight pairs or clusters, and where nothing varies.
    """

    value: float
    low: float | None
    high: float | None
    n: int


def rank_correlation(
    x: ArrayLike,
    y: ArrayLike,
    *,
    kind: Literal["spearman", "kendall"] = "spearman",
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Correlation | None:
    """Return the rank correlation of `x` and `y`: Spearman's rho or Kendall's tau-b.

    Equal values share their mean rank (rho), or are no evidence either way (tau-b). The interval
    is a percentile bootstrap over pairs, or over whole `clusters`, which name the group of each
    pair. None where one of them is constant. With 5,000 pairs Spearman's takes
    less than a second, Kendall's one second for a few grades and several for as many values.
    """
    first, second = _finite(x), _finite(y)
    if first.size != second.size:
        raise ValueError(f"pairs need two arrays of one length, got {first.size} and {second.size}")
    if any(values.size == 0 or values.min() == values.max() for values in (first, second)):
        return None
    ranks = np.stack([np.unique(values, return_inverse=True)[1] for values in (first, second)])
    if clusters is None:
        # Equal pairs are drawn together, in an order that does not depend on the one they came in.
        ranks, sizes = np.unique(ranks, axis=1, return_counts=True)
        group = np.arange(sizes.size)
    else:
        group = _codes(clusters, first.size)
        sizes = np.ones(int(group.max()) + 1, dtype=np.intp)

    def coefficient(drawn: Floats) -> Floats:
        return (_spearman if kind == "spearman" else _kendall)(ranks, drawn[:, group])

    value = float(coefficient(sizes[None, :].astype(np.float64))[0])
    low, high = percentile_bounds(
        coefficient,
        sizes,
        value=value,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        width=first.size,
    )
    return Correlation(value, low, high, first.size)


def accuracy(
    predicted: Sequence[Hashable | None],
    actual: Sequence[Hashable | None],
    *,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Interval | None:
    """Return the share of cases where a program agrees with people; None without cases.

    A case without a label by people (None) does not count; one without an answer of the program
    is wrong. The interval is that of `clustered_rate`; `clusters` name
    the group of each case.
    """
    if len(predicted) != len(actual):
        raise ValueError(f"{len(predicted)} answers for {len(actual)} cases")
    known = np.array([truth is not None for truth in actual], dtype=bool)
    right = np.array(
        [a == b for a, b in zip(predicted, actual, strict=True) if b is not None], dtype=float
    )
    return clustered_rate(right, _codes(clusters, known.size)[known], confidence)


def _spearman(ranks: NDArray[np.intp], times: Floats) -> Floats:
    """Return rho for each row of `times`, which has the count of each pair."""
    n = times.sum(1, keepdims=True)
    by_pair, squares = [], []
    for codes in ranks:
        _, order, starts = _cells(codes)
        counts = np.add.reduceat(times[:, order], starts, axis=1)
        # The mean rank of each value, measured from the middle.
        centred = np.cumsum(counts, axis=1) - counts / 2 - n / 2
        by_pair.append(centred[:, codes])
        squares.append((counts * centred**2).sum(1))
    together = np.einsum("ri,ri,ri->r", times, *by_pair)
    return _ratio(together, np.sqrt(squares[0] * squares[1]))


def _kendall(ranks: NDArray[np.intp], times: Floats) -> Floats:
    """Return tau-b for each row of `times`, which has the count of each pair.

    Ranks of y are compared bit by bit from the highest: two that share all higher bits are in one
    block, and differ if their bits do. A block sorted by x then shows with sums how many have a
    lower x, so that no two pairs have to be looked at together.
    """
    x, y = sorted(ranks, key=lambda codes: int(codes.max()), reverse=True)
    levels = int(x.max()) + 1
    together = np.zeros(len(times))
    for bit in range(int(y.max()).bit_length()):
        cells, order, starts = _cells((y >> bit + 1) * levels + x)
        upper = (times * (y >> bit & 1))[:, order]
        every, upper = (np.add.reduceat(part, starts, 1) for part in (times[:, order], upper))
        lower_x, upper_of_lower_x = (np.cumsum(part, 1) - part for part in (every, upper))
        block = np.searchsorted(cells // levels, cells // levels)
        together += (upper * (lower_x - lower_x[:, block])).sum(1)
        together -= (every * (upper_of_lower_x - upper_of_lower_x[:, block])).sum(1)
    all_pairs = times.sum(1) ** 2
    untied = []
    for codes in ranks:
        _, order, starts = _cells(codes)
        untied.append((all_pairs - (np.add.reduceat(times[:, order], starts, 1) ** 2).sum(1)) / 2)
    return _ratio(together, np.sqrt(untied[0]) * np.sqrt(untied[1]))


def _cells(codes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct codes, the order that sorts all codes, and where each begins."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return codes[order][starts], order, starts


def _ratio(upper: Floats, lower: Floats) -> Floats:
    possible = lower > 0
    found = np.where(possible, upper / np.where(possible, lower, 1), np.nan)
    return np.clip(found, -1, 1)


def holm(p_values: ArrayLike) -> Floats:
    """Correct p-values after Holm (1979), which bounds the chance of any false alarm."""
    found, order = _sorted(p_values)
    factors = found.size - np.arange(found.size)
    return _back(np.minimum(np.maximum.accumulate(found * factors), 1), order)


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Correct p-values after Benjamini and Hochberg (1995), bounding the false discovery rate."""
    found, order = _sorted(p_values)
    factors = found.size / np.arange(1, found.size + 1)
    falling = np.minimum.accumulate((found * factors)[::-1])[::-1]
    return _back(np.minimum(falling, 1), order)


def _sorted(p_values: ArrayLike) -> tuple[Floats, NDArray[np.intp]]:
    found = np.asarray(p_values, dtype=np.float64).ravel()
    if not ((found >= 0) & (found <= 1)).all():
        raise ValueError("p-values must lie between 0 and 1")
    order = np.argsort(found, kind="stable")
    return found[order], order


def _back(values: Floats, order: NDArray[np.intp]) -> Floats:
    corrected = np.empty_like(values)
    corrected[order] = values
    return corrected
