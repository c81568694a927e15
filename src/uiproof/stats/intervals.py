"""Confidence intervals and paired tests, for independent and for clustered cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb, exp, fsum, lgamma, log, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uiproof.stats.distributions import beta_quantile, noncentral_t_cdf, t_quantile

_CELLS_AT_ONCE = 2_000_000  # bounds the memory of resampling, however many values there are
_MOST_DIGITS = 12
_EXACT_UP_TO = 13  # 2^13 sign patterns are fewer than the default number of random ones
_NOISE = 1e-12  # sums of the same numbers in another order may differ by this, relatively

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """A mean or a rate, the bounds of its confidence interval, and what it stands on.

    The bounds are None where none can be given that would hold; `no_interval` says why.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    clusters: int | None = None
    no_interval: str | None = None


def bounds_text(low: float | None, high: float | None, digits: int = 3, sign: str = "") -> str:
    """Return `[low, high]` for a table; an empty text without bounds.

    Digits are added until the two bounds differ.
    With `sign="+"` positive bounds have a sign.
    """
    if low is None or high is None:
        return ""
    texts = [f"{low:{sign}.{digits}f}", f"{high:{sign}.{digits}f}"]
    while texts[0] == texts[1] and low != high and digits < _MOST_DIGITS:
        digits += 1
        texts = [f"{low:{sign}.{digits}f}", f"{high:{sign}.{digits}f}"]
    return f"[{texts[0]}, {texts[1]}]"


def percent_bounds(rate: Interval | None, digits: int = 1) -> str:
    """Return the interval of a share as `[low, high]` in percent; an empty text without one."""
    if rate is None or rate.low is None or rate.high is None:
        return ""
    return bounds_text(100 * rate.low, 100 * rate.high, digits)


def percent(rate: Interval | None, digits: int = 1) -> str:
    """Return a share as percent for a table; a dash where there is none."""
    return "-" if rate is None else f"{100 * rate.mean:.{digits}f}"


def bounds(rate: Interval | None, digits: int = 1) -> str:
    """Return the interval of a share as percent for a table; a dash where there is none."""
    return percent_bounds(rate, digits) or "-"


def share(rate: Interval | None) -> str:
    """Return a share with its interval: `72.7 [68, 77]`."""
    return f"{percent(rate)} {percent_bounds(rate, 0)}".rstrip()


def paired_permutation(
    a: ArrayLike,
    b: ArrayLike,
    resamples: int = 9999,
    seed: int = 0,
    *,
    clusters: ArrayLike | None = None,
) -> float | None:
    """Return the p-value of the mean of `a - b` under the hypothesis that a and b are the same.

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


def pass_at_k(n: int, passed: int, k: int) -> float:
    """Return the chance that at least one of k answers passes, if `passed` of n did.

    The unbiased estimator of Chen et al. (2021): one minus the share of draws of k answers out of
    the n, without replacement, in which none passes.
    """
    if not 0 <= passed <= n or not 1 <= k <= n:
        raise ValueError(f"k of n answers were expected, got k = {k}, {passed} of n = {n}")
    return 1.0 - comb(n - passed, k) / comb(n, k)


class McNemar(NamedTuple):
    """Two methods on the same cases: how often both, one or neither was right, and p."""

    both: int
    only_a: int
    only_b: int
    neither: int
    p: float

    @property
    def n(self) -> int:
        """Return how many cases there were."""
        return self.both + self.only_a + self.only_b + self.neither


def mcnemar(a: ArrayLike, b: ArrayLike) -> McNemar:
    """Compare two methods that are right or wrong on the same cases, given in the same order.

    For cases in clusters `paired_permutation` with `clusters` is the test that knows of them.
    """
    first, second = (_successes(x) == 1 for x in (a, b))
    if first.size != second.size:
        raise ValueError(f"pairs need two arrays of one length, got {first.size} and {second.size}")
    both = int(np.sum(first & second))
    only_a, only_b = int(np.sum(first & ~second)), int(np.sum(~first & second))
    neither = first.size - both - only_a - only_b
    return McNemar(both, only_a, only_b, neither, mcnemar_p(only_a, only_b))


def mcnemar_p(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p of McNemar's test from its two discordant counts.

    If a and b were equally good, each such case would be a fair coin.
    """
    if min(only_a, only_b) < 0:
        raise ValueError(f"counts cannot be negative, got {only_a} and {only_b}")
    n, few = only_a + only_b, min(only_a, only_b)
    # Logarithms, because the coefficients of a few thousand cases do not fit into a float.
    logs = (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2) for k in range(few + 1))
    return min(1.0, 2 * fsum(map(exp, logs)))


def detectable_difference(
    share: float, n: float, *, power: float = 0.8, confidence: float = 0.95
) -> float | None:
    """Return the detectable difference to `share`, for two methods on `n` other cases each.

    The difference at which the usual two-sided test of two shares finds something in `power` of
    all repetitions (normal approximation, pooled variance under the null hypothesis; Fleiss,
    Levin and Paik 2003, section 4.2). None where not even a share of 1 would be noticed. For
    cases in clusters divide `n` by the design effect.
    """
    _check_shares(share, n)
    alpha, beta = _quantiles(power, confidence)

    def shortfall(difference: float) -> float:
        other = share + difference
        middle = (share + other) / 2
        null = alpha * sqrt(2 * middle * (1 - middle) / n)
        alternative = beta * sqrt((share * (1 - share) + max(other * (1 - other), 0.0)) / n)
        return null + alternative - difference

    return _root(shortfall, 1 - share)


def detectable_paired_difference(
    discordant: float, n: float, *, power: float = 0.8, confidence: float = 0.95
) -> float | None:
    """Return the difference that McNemar's test detects on `n` cases that both have answered.

    `discordant` is the share of cases that exactly one of the two gets right: methods that agree
    more often are easier to tell apart. Normal approximation (Miettinen 1968, Connor 1987). None
    where not even a difference of that whole share would be noticed.
    """
    _check_shares(discordant, n)
    alpha, beta = _quantiles(power, confidence)

    def shortfall(difference: float) -> float:
        spread = max(discordant - difference**2, 0.0)
        return (alpha * sqrt(discordant) + beta * sqrt(spread)) / sqrt(n) - difference

    return _root(shortfall, discordant)


def detectable_mean_difference(
    spread: float, n: int, *, power: float = 0.8, confidence: float = 0.95
) -> float | None:
    """Return the mean difference that a paired t test detects on `n` cases.

    `spread` is the standard deviation of the differences between the scores of a case. From the
    noncentral t distribution (Cohen 1988, chapter 2). None for a single case.
    """
    if not (spread >= 0 and n >= 1):
        raise ValueError(f"a spread of at least one case was expected, got {spread} of {n}")
    _quantiles(power, confidence)
    if n < 2:
        return None
    needed = t_quantile(n - 1, 0.5 + confidence / 2)

    def shortfall(errors: float) -> float:
        return power - 1 + noncentral_t_cdf(n - 1, errors, needed)

    limit = 1.0
    while shortfall(limit) > 0:
        limit *= 2
    errors = _root(shortfall, limit)
    return None if errors is None else errors * spread / sqrt(n)


def _check_shares(share: float, n: float) -> None:
    if not 0 <= share <= 1 or n <= 0:
        raise ValueError(f"a share in 0-1 of at least one case was expected, got {share} of {n}")


def _quantiles(power: float, confidence: float) -> tuple[float, float]:
    if not (0 < power < 1 and 0 < confidence < 1):
        raise ValueError(f"power and confidence lie between 0 and 1, got {power} and {confidence}")
    normal = NormalDist()
    return normal.inv_cdf(0.5 + confidence / 2), normal.inv_cdf(power)


def _root(falling: Callable[[float], float], limit: float) -> float | None:
    """Return the root of a falling function by bisection; None if it is beyond `limit`."""
    low, high = 0.0, limit
    if limit <= 0 or falling(high) > 0:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high


FEWEST = 8  # clusters from which on their spread is estimated
ONE_CLUSTER = "only one cluster"
TOO_FEW = f"fewer than {FEWEST} clusters"
NO_SPREAD = "no variation between clusters"

Codes = NDArray[np.intp]


def clustered_rate(
    successes: ArrayLike, clusters: ArrayLike | None = None, confidence: float = 0.95
) -> Interval | None:
    """Return the share of successes (values of 0 or 1) with its interval; None without values.

    Korn and Graubard (1998): the exact interval of Clopper and Pearson (1934) for as many
    independent cases as the clustered ones are worth, which is their number divided by the design
    effect. Where that cannot be estimated, the worst is assumed: every cluster is worth one case.
    This is so for fewer than eight clusters, and where the rarer outcome occurs in one cluster at
    most. One cluster alone has no bounds.
    """
    sample, tail = _successes(successes), (1 - _checked(confidence)) / 2
    if sample.size == 0:
        return None
    group = _codes(clusters, sample.size)
    groups = int(group.max()) + 1
    hits, share = int(sample.sum()), float(sample.mean())
    if groups < 2:
        return Interval(share, None, None, sample.size, groups, ONE_CLUSTER)
    worth = _worth(np.bincount(group) / sample.size)
    rarer = sample == (1.0 if 2 * hits <= sample.size else 0.0)
    n = worth
    if FEWEST <= groups < sample.size and np.unique(group[rarer]).size > 1:
        quantiles = [_t_quantile(confidence, df) for df in (sample.size - 1, max(worth - 1, 1))]
        effect = max(_design_effect(sample, group), 1.0)
        n = max(worth, sample.size / effect * (quantiles[0] / quantiles[1]) ** 2)
    right, wrong = share * n, (1 - share) * n
    low = 0.0 if hits == 0 else beta_quantile(right, wrong + 1, tail)
    high = 1.0 if hits == sample.size else beta_quantile(right + 1, wrong, 1 - tail)
    return Interval(share, low, high, sample.size, groups)


def clustered_mean(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
    cells: ArrayLike | None = None,
    within: tuple[float, float] | None = None,
) -> Interval | None:
    """Return the mean of values with its interval; None without values.

    Jackknife over clusters (CV3; Bell and McCaffrey 2002, MacKinnon, Nielsen and Webb 2023) with a
    t quantile, whose degrees of freedom are Kish's effective number of clusters less one. With
    `cells`, which names the cell of each value, it is the mean of the means of the cells: every
    cell weighs the same however many values it has. `within` are limits that no mean can exceed.
    There are no bounds for fewer than eight clusters, nor where nothing varies between them.
    """
    sample = _finite(values)
    _checked(confidence)
    if sample.size == 0:
        return None
    group = _codes(clusters, sample.size)
    cell = np.zeros(sample.size, dtype=np.intp) if cells is None else _codes(cells, sample.size)
    counts = np.bincount(cell)
    mean = float((np.bincount(cell, weights=sample) / counts).mean())
    groups = int(group.max()) + 1
    if groups < FEWEST:
        return Interval(mean, None, None, sample.size, groups, TOO_FEW)
    moves = _without_each(sample, group, cell) - mean
    weights = np.bincount(group, weights=1 / (counts[cell] * counts.size)).astype(np.float64)
    if np.abs(moves).max() <= _NOISE * np.abs(sample).max():
        return Interval(mean, None, None, sample.size, groups, NO_SPREAD)
    worth = _worth(weights)
    error = sqrt((groups - 1) / groups * float(moves @ moves))
    reach = _t_quantile(confidence, max(worth - 1, 1)) * error
    low, high = mean - reach, mean + reach
    if within is not None:
        low, high = max(low, within[0]), min(high, within[1])
    return Interval(mean, low, high, sample.size, groups)


def paired_difference(
    a: ArrayLike, b: ArrayLike, clusters: ArrayLike | None = None, confidence: float = 0.95
) -> Interval | None:
    """Return the mean of `a - b`, measured on the same cases in the same order, with its interval.

    The interval is that of `clustered_mean`. If it holds 0, the two cannot be told apart on these
    cases; `paired_permutation` is the test for that and needs no least number of clusters.
    """
    return clustered_mean(_differences(a, b), clusters, confidence)


def design_effect(values: ArrayLike, clusters: ArrayLike) -> float:
    """Return how many times larger the variance of the mean is than that of independent values.

    1 where it cannot be known: all values are equal, or there are fewer than two clusters.
    """
    sample = _finite(values)
    return _design_effect(sample, _codes(clusters, sample.size)) if sample.size else 1.0


def _design_effect(sample: Floats, group: Codes) -> float:
    centred = sample - sample.mean()
    independent = float(centred @ centred) / sample.size**2
    groups = int(group.max()) + 1
    if groups < 2 or independent == 0:
        return 1.0
    moves = _without_each(sample, group, np.zeros_like(group)) - sample.mean()
    return (groups - 1) / groups * float(moves @ moves) / independent


def _without_each(sample: Floats, group: Codes, cell: Codes) -> Floats:
    """Return the mean of the means of the cells without the first cluster, the second, …"""
    width, groups = int(cell.max()) + 1, int(group.max()) + 1
    counts = np.bincount(cell).astype(np.float64)
    sums = np.bincount(cell, weights=sample)
    means = sums / counts
    # Only the cells that a cluster has values in change without it.
    pairs, place = np.unique(group * width + cell, return_inverse=True)
    owner, changed = pairs // width, pairs % width
    left = counts[changed] - np.bincount(place)
    rest = sums[changed] - np.bincount(place, weights=sample)
    gone = left == 0  # a cell that only this cluster has values in
    moved = np.where(gone, 0.0, rest / np.where(gone, 1.0, left)) - means[changed]
    total = means.sum() + np.bincount(owner, weights=moved, minlength=groups)
    cells_left = width - np.bincount(owner, weights=gone, minlength=groups)
    return np.asarray(total / np.maximum(cells_left, 1), dtype=np.float64)


def _worth(weights: Floats) -> float:
    """Return Kish's effective number of clusters, given their shares of the mean."""
    return float(1 / (weights @ weights))


def _t_quantile(confidence: float, degrees: float) -> float:
    return t_quantile(degrees, 0.5 + confidence / 2)


def _codes(names: ArrayLike | None, size: int) -> Codes:
    """Return the clusters numbered from 0 without gaps; without names each value is its own."""
    if names is None:
        return np.arange(size, dtype=np.intp)
    array: NDArray[Any] = np.asarray(names)
    if array.shape != (size,):
        raise ValueError("there must be one cluster or cell name for each value")
    return np.unique(array, return_inverse=True)[1].astype(np.intp)


def percentile_bounds(
    statistic: Callable[[Floats], Floats],
    sizes: NDArray[np.intp],
    *,
    value: float,
    confidence: float,
    resamples: int,
    seed: int,
    width: int = 1,
) -> tuple[float, float] | tuple[None, None]:
    """Return the percentile bootstrap interval of a statistic, where there is one.

    A resample makes as many draws as `sizes` adds up to; `sizes` counts equal items, so that a
    thousand items of three kinds cost as little as three. `statistic`
    gets how often each was drawn, a row for each resample, and answers with a value for each row,
    which may be nan where it is not defined: such resamples are left out. `width` is how many
    numbers it needs for one row. The bounds never exclude `value`. There are none for fewer than
    eight draws, whose interval would be too narrow, nor where all resamples give the same value.
    """
    _checked(confidence)
    if sizes.sum() < FEWEST:
        return None, None
    generator = np.random.default_rng(seed)
    at_once = max(_CELLS_AT_ONCE // max(sizes.size, width), 1)
    values = np.concatenate(
        [
            statistic(_draw(generator, sizes, min(at_once, resamples - done)))
            for done in range(0, resamples, at_once)
        ]
    )
    values = values[np.isfinite(values)]
    if not values.size or np.ptp(values) <= _NOISE:
        return None, None
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return min(float(low), value), max(float(high), value)


def _draw(generator: np.random.Generator, sizes: NDArray[np.intp], rows: int) -> Floats:
    draws = int(sizes.sum())
    if draws > sizes.size:
        return generator.multinomial(draws, sizes / draws, rows).astype(np.float64)
    # The same, but faster where every draw stands for itself.
    drawn = generator.integers(draws, size=(rows, draws)) + np.arange(rows)[:, None] * draws
    counts = np.bincount(drawn.ravel(), minlength=rows * draws)
    return counts.reshape(rows, draws).astype(np.float64)
