"""Intervals for values that come in groups, such as elements of one screenshot.

Values of one group are alike and say less than their number suggests. The functions here need no
resampling, so that they can be used for every cell of a table; the bootstrap over whole groups is
`uiproof.stats.intervals.bootstrap_mean` with `clusters`.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uiproof.stats.intervals import Interval, _finite, _successes, bootstrap_mean

__all__ = ["bootstrap_mean", "clustered_mean", "clustered_rate", "design_effect"]

Floats = NDArray[np.float64]


def clustered_mean(
    values: ArrayLike,
    clusters: ArrayLike,
    confidence: float = 0.95,
    cells: ArrayLike | None = None,
) -> Interval | None:
    """The mean of values with an interval that knows about groups; None if there are no values.

    Linearised ("sandwich", CR1) variance with a t quantile of groups - 1 degrees of freedom. With
    `cells`, which names the cell of each value, it is the mean of the means of the cells: every
    cell weighs the same however many values it has. With fewer than two groups there are no
    bounds.
    """
    sample = _finite(values)
    if sample.size == 0:
        return None
    cell = np.zeros(sample.size, dtype=np.intp) if cells is None else _codes(cells, sample.size)
    counts = np.bincount(cell)
    means = np.bincount(cell, weights=sample) / counts
    mean = float(means.mean())
    # How much each value moves the result: its distance from the mean of its cell, weighted.
    moves = (sample - means[cell]) / (counts[cell] * counts.size)
    sums = np.bincount(_codes(clusters, sample.size), weights=moves)
    if sums.size < 2:
        return Interval(mean, None, None, sample.size)
    error = sqrt(sums.size / (sums.size - 1) * float(sums @ sums))
    reach = _t_quantile(confidence, sums.size - 1) * error
    return Interval(mean, mean - reach, mean + reach, sample.size)


def clustered_rate(
    successes: ArrayLike, clusters: ArrayLike, confidence: float = 0.95
) -> Interval | None:
    """The share of successes (values of 0 or 1) with an interval inside 0-1 that knows of groups.

    The Wilson interval for as many independent cases as the grouped ones are worth, which is
    their number divided by the design effect, with a t quantile (Korn and Graubard 1998, Dean and
    Pagano 2015). Like Wilson's it keeps a width at 0 and 1. With fewer than two groups there are
    no bounds.
    """
    sample = _successes(successes)
    if sample.size == 0:
        return None
    group = _codes(clusters, sample.size)
    groups = int(group.max()) + 1
    hits, share = int(sample.sum()), float(sample.mean())
    if groups < 2:
        return Interval(share, None, None, sample.size)
    # Groups that differ less than chance would have it are no reason for a narrower interval.
    n = sample.size / max(_design_effect(sample, group), 1.0)
    t = _t_quantile(confidence, groups - 1)
    centre = (share + t * t / (2 * n)) / (1 + t * t / n)
    reach = t * sqrt(share * (1 - share) / n + t * t / (4 * n * n)) / (1 + t * t / n)
    low = 0.0 if hits == 0 else max(centre - reach, 0.0)
    high = 1.0 if hits == sample.size else min(centre + reach, 1.0)
    return Interval(share, low, high, sample.size)


def design_effect(values: ArrayLike, clusters: ArrayLike) -> float:
    """How many times larger the variance of the mean is than that of independent values.

    1 where it cannot be known: all values are equal, or there are fewer than two groups.
    """
    sample = _finite(values)
    return _design_effect(sample, _codes(clusters, sample.size)) if sample.size else 1.0


def _design_effect(sample: Floats, group: NDArray[np.intp]) -> float:
    centred = sample - sample.mean()
    sums = np.bincount(group, weights=centred)
    independent = float(centred @ centred)
    if sums.size < 2 or independent == 0:
        return 1.0
    return sums.size / (sums.size - 1) * float(sums @ sums) / independent


def _t_quantile(confidence: float, degrees: int) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + confidence / 2))


def _codes(names: ArrayLike, size: int) -> NDArray[np.intp]:
    """The groups numbered from 0 without gaps."""
    array: NDArray[Any] = np.asarray(names)
    if array.shape != (size,):
        raise ValueError("there must be one cluster or cell name for each value")
    return np.unique(array, return_inverse=True)[1].astype(np.intp)
