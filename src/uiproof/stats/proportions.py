"""Comparing shares, such as the accuracies of two methods, and what a comparison can notice.

The interval of one share is `uiproof.stats.intervals.wilson`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, fsum, lgamma, log, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uiproof.stats.intervals import _successes, wilson

__all__ = [
    "McNemar",
    "detectable_difference",
    "detectable_mean_difference",
    "detectable_paired_difference",
    "mcnemar",
    "mcnemar_p",
    "wilson",
]


class McNemar(NamedTuple):
    """Two methods on the same cases: how often both, one or neither was right, and p."""

    both: int
    only_a: int
    only_b: int
    neither: int
    p: float

    @property
    def n(self) -> int:
        """How many cases there were."""
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
    """The exact two-sided p of McNemar's test from the cases that only one of the two got right.

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
    """How much better than `share` another method must be to be noticed, each on `n` other cases.

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
    """The difference that McNemar's test notices on `n` cases that both methods have answered.

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
    """The mean difference that a paired t test notices on `n` cases with a score of both methods.

    `spread` is the standard deviation of the differences between the scores of a case. From the
    noncentral t distribution (Cohen 1988, chapter 2). None for a single case.
    """
    if not (spread >= 0 and n >= 1):
        raise ValueError(f"a spread of at least one case was expected, got {spread} of {n}")
    _quantiles(power, confidence)
    if n < 2:
        return None
    from scipy.special import nctdtr, stdtrit

    needed = stdtrit(n - 1, 0.5 + confidence / 2)

    def shortfall(errors: float) -> float:
        return float(power - 1 + nctdtr(n - 1, errors, needed))

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
    """Where a function that is positive at 0 first reaches 0, by bisection; None beyond `limit`."""
    low, high = 0.0, limit
    if limit <= 0 or falling(high) > 0:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high
