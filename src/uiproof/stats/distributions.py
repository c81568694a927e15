"""Distribution functions that intervals need, so that scoring pages needs no SciPy.

They agree with `scipy.special` to about 1e-12.
"""

from __future__ import annotations

from functools import cache
from math import erfc, exp, expm1, lgamma, log, log1p, pi, sqrt

import numpy as np

_TINY = 1e-290
_STEPS = 10_000  # a limit; the continued fraction converges in about sqrt(a + b) steps
_NODES = 200
_REACH = 9  # standard deviations, beyond which nothing is left of a density


def beta_cdf(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction of the other side converges fast
        return 1 - beta_cdf(b, a, 1 - x)
    return _power(a, b, x) / (a * _fraction(a, b, x))


def _power(a: float, b: float, x: float) -> float:
    """Return x^a (1 - x)^b / B(a, b): small differences of large logarithms, taken apart."""
    mean = a / (a + b)
    apart = a * log(x / mean) + b * log1p((mean - x) / (1 - mean))
    scale = sqrt(a * b / (2 * pi * (a + b)))
    return scale * exp(apart + _stirling(a + b) - _stirling(a) - _stirling(b))


def _stirling(x: float) -> float:
    """Return what Stirling's formula lacks of the logarithm of the gamma function."""
    if x < 15:
        return lgamma(x) - (x - 0.5) * log(x) + x - log(2 * pi) / 2
    square = 1 / (x * x)
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of I_x(a, b) (DLMF 8.17.22), by Lentz's method."""
    value, c, d = 1.0, 1.0, 0.0
    for step in range(1, _STEPS):
        m = step // 2
        if step % 2:
            part = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            part = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + part * d or _TINY)
        c = 1 + part / c or _TINY
        value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def beta_quantile(a: float, b: float, p: float) -> float:
    """Return the x with I_x(a, b) = p: Newton's method, kept inside of a shrinking bracket.

    It works on the logarithm of x, as quantiles may be very small.
    """
    low, high, y = -700.0, 0.0, log(a / (a + b))
    for _ in range(200):
        excess = beta_cdf(a, b, exp(y)) - p
        low, high = (low, y) if excess > 0 else (y, high)
        slope = _power(a, b, exp(y)) / -expm1(y)
        following = y - excess / slope if slope > _TINY else low
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - y) <= 1e-15:
            break
        y = following
    return exp(y)


def t_quantile(degrees: float, p: float) -> float:
    """Return the quantile of Student's t distribution, for p of at least a half."""
    share = beta_quantile(0.5, degrees / 2, 2 * p - 1)
    return sqrt(degrees * share / (1 - share))


_gauss_legendre = cache(np.polynomial.legendre.leggauss)


def noncentral_t_cdf(degrees: float, shift: float, t: float) -> float:
    """Return the distribution function of the noncentral t distribution at `t`.

    The mean of Φ(t s - shift) over s, the root of a chi-squared variable over its degrees.
    """
    spread = _REACH / sqrt(2 * degrees)
    low, high = max(0.0, 1 - spread), 1 + spread
    nodes, weights = _gauss_legendre(_NODES)
    half = (high - low) / 2
    s = low + half * (nodes + 1)
    norm = log(2) + degrees / 2 * log(degrees / 2) - lgamma(degrees / 2)
    density = np.exp(norm + (degrees - 1) * np.log(s) - degrees * s * s / 2)
    below = np.array([erfc((shift - t * one) / sqrt(2)) / 2 for one in s])
    return float(half * (weights * density * below).sum())
