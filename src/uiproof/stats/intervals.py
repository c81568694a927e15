"""Intervals and paired tests: arrays in, numbers out."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_CELLS_AT_ONCE = 2_000_000  # bounds the memory of resampling, however many values there are
_EXACT_UP_TO = 13  # 2^13 sign patterns are fewer than the default number of random ones
_NOISE = 1e-12  # sums of the same numbers in another order may differ by this, relatively

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """A mean, the bounds of its confidence interval, and how many values it stands on.

    The bounds are None where nothing can be said about them: one value alone has no spread.
    """

    mean: float
    low: float | None
    high: float | None
    n: int


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval | None:
    """The Wilson score interval of a share, for example of cases that passed; None if n is 0.

    Wilson (1927), without continuity correction. Unlike the textbook interval it stays inside 0-1
    and keeps a width when every case passed or none did.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n, got {successes} of {n}")
    if n == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + _checked(confidence) / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes == 0 else centre - reach
    high = 1.0 if successes == n else centre + reach
    return Interval(share, low, high, n)


def bootstrap_mean(
    values: ArrayLike,
    confidence: float = 0.95,
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    seed: int = 0,
    *,
    method: Literal["percentile", "bca"] = "percentile",
) -> Interval | None:
    """The mean of values with a bootstrap interval; None if there are no values.

    `clusters` names the group of each value, for example the page that it was measured on: whole
    groups are then drawn, because values of one group are alike and say less than their number
    suggests. With fewer than two groups the bounds are None. Values that are all equal give an
    interval of no width: a bootstrap cannot know what it has never seen. `bca` corrects for bias
    and skewness (Efron 1987), which matters for few and lopsided values.
    """
    sample, tail = _finite(values), (1 - _checked(confidence)) / 2
    if sample.size == 0:
        return None
    if clusters is None:
        sums, counts = sample, np.ones_like(sample)
    else:
        sums, counts = _group_sums(sample, np.asarray(clusters))
    mean = float(sample.mean())
    if sums.size < 2:
        return Interval(mean, None, None, sample.size)
    if sample.min() == sample.max():
        constant = float(sample[0])
        return Interval(constant, constant, constant, sample.size)
    generator = np.random.default_rng(seed)
    means = np.concatenate(
        [
            sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
            for rows in _chunks(resamples, sums.size)
            for drawn in [generator.integers(sums.size, size=(rows, sums.size), dtype=np.int32)]
        ]
    )
    tails = (tail, 1 - tail)
    if method == "bca":
        tails = _corrected_tails(tails, means, mean, sums, counts)
    low, high = np.quantile(means, tails)
    return Interval(mean, float(low), float(high), sample.size)


def _corrected_tails(
    tails: tuple[float, float], means: Floats, mean: float, sums: Floats, counts: Floats
) -> tuple[float, float]:
    """Where in the drawn means the bounds lie, after bias and acceleration."""
    normal = NormalDist()
    # Means that equal the observed one lie half below it, as with sums of whole numbers.
    noise = _NOISE * np.abs(sums).sum() / counts.sum()
    below = (np.sum(means < mean - noise) + np.sum(means <= mean + noise)) / (2 * means.size)
    bias = normal.inv_cdf(float(np.clip(below, 1 / means.size, 1 - 1 / means.size)))
    without = (sums.sum() - sums) / (counts.sum() - counts)
    spread = without.mean() - without
    acceleration = float(np.sum(spread**3) / (6 * np.sum(spread**2) ** 1.5 or 1.0))
    low, high = (
        normal.cdf(bias + z / (1 - acceleration * z))
        for z in (bias + normal.inv_cdf(tail) for tail in tails)
    )
    return low, high


def paired_bootstrap_difference(
    a: ArrayLike,
    b: ArrayLike,
    confidence: float = 0.95,
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    seed: int = 0,
    *,
    method: Literal["percentile", "bca"] = "percentile",
) -> Interval | None:
    """The mean of `a - b`, measured on the same cases in the same order, with its interval.

    An interval that holds 0 means that the two cannot be told apart on these cases. `clusters`
    and `method` are those of `bootstrap_mean`.
    """
    return bootstrap_mean(_differences(a, b), confidence, clusters, resamples, seed, method=method)


def paired_permutation(
    a: ArrayLike,
    b: ArrayLike,
    resamples: int = 9999,
    seed: int = 0,
    *,
    clusters: ArrayLike | None = None,
) -> float | None:
    """How likely a mean difference as large as that of `a - b` is if a and b were the same.

    Two-sided: the signs of the differences are flipped in every way if there are few of them
    (cases without a difference change nothing), at random otherwise. With `clusters`, which name
    the group of each case, all signs of a group flip together. None if there are no cases.
    """
    differences = _differences(a, b)
    if differences.size == 0:
        return None
    if clusters is not None:
        differences, _ = _group_sums(differences, np.asarray(clusters))
    differences = differences[differences != 0]
    if differences.size == 0:
        return 1.0
    threshold = abs(differences.sum()) - _NOISE * np.abs(differences).sum()
    if differences.size <= _EXACT_UP_TO:
        patterns = np.arange(2**differences.size)[:, None] >> np.arange(differences.size) & 1
        return float(np.mean(np.abs((1 - 2 * patterns) @ differences) >= threshold))
    generator = np.random.default_rng(seed)
    extreme = 0
    for rows in _chunks(resamples, differences.size):
        flips = generator.integers(2, size=(rows, differences.size), dtype=np.int8)
        extreme += int(np.sum(np.abs((1 - 2 * flips) @ differences) >= threshold))
    # The pattern that was observed counts as one of those drawn: p is never 0.
    return (extreme + 1) / (resamples + 1)


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    return confidence


def _finite(values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64).ravel()
    if not np.isfinite(array).all():
        raise ValueError("values must be finite; decide what a missing value counts as first")
    return array


def _successes(values: ArrayLike) -> Floats:
    array = _finite(values)
    if not np.isin(array, (0, 1)).all():
        raise ValueError("successes are 0 or 1")
    return array


def _differences(a: ArrayLike, b: ArrayLike) -> Floats:
    first, second = _finite(a), _finite(b)
    if first.size != second.size:
        raise ValueError(f"pairs need two arrays of one length, got {first.size} and {second.size}")
    return first - second


def _group_sums(values: Floats, clusters: NDArray[Any]) -> tuple[Floats, Floats]:
    if clusters.shape != values.shape:
        raise ValueError("there must be one cluster name for each value")
    _, group = np.unique(clusters, return_inverse=True)
    sums = np.bincount(group, weights=values).astype(np.float64)
    return sums, np.bincount(group).astype(np.float64)


def _chunks(resamples: int, size: int) -> Iterator[int]:
    """Split a number of resamples so that each part stays within the memory bound."""
    step = max(1, _CELLS_AT_ONCE // size)
    for start in range(0, resamples, step):
        yield min(step, resamples - start)
