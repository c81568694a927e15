"""Many comparisons at once: p-values that stay honest when the best of many is looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Floats = NDArray[np.float64]


def holm(p_values: ArrayLike) -> _Floats:
    """P-values corrected after Holm (1979): the chance of even one false alarm stays bounded."""
    found, order = _sorted(p_values)
    factors = found.size - np.arange(found.size)
    return _back(np.minimum(np.maximum.accumulate(found * factors), 1), order)


def benjamini_hochberg(p_values: ArrayLike) -> _Floats:
    """P-values corrected after Benjamini and Hochberg (1995): the share of false alarms among
    those that are called significant stays bounded.
    """
    found, order = _sorted(p_values)
    factors = found.size / np.arange(1, found.size + 1)
    falling = np.minimum.accumulate((found * factors)[::-1])[::-1]
    return _back(np.minimum(falling, 1), order)


def _sorted(p_values: ArrayLike) -> tuple[_Floats, NDArray[np.intp]]:
    found = np.asarray(p_values, dtype=np.float64).ravel()
    if not ((found >= 0) & (found <= 1)).all():
        raise ValueError("p-values must lie between 0 and 1")
    order = np.argsort(found, kind="stable")
    return found[order], order


def _back(values: _Floats, order: NDArray[np.intp]) -> _Floats:
    corrected = np.empty_like(values)
    corrected[order] = values
    return corrected
