"""The bootstrap for what is computed from how often each group was drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CELLS_AT_ONCE = 2_000_000  # bounds the memory of resampling, however many groups there are


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
    """The percentile bootstrap interval of a statistic; no bounds for fewer than two draws.

    A resample makes as many draws as `sizes` adds up to; `sizes` says how many of them stand for
    the same thing, so that a thousand items of three kinds cost as little as three. `statistic`
    gets how often each was drawn, a row for each resample, and answers with a value for each row,
    which may be nan where it is not defined: such resamples are left out. `width` is how many
    numbers it needs for one row. The bounds never exclude `value`.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    if sizes.sum() < 2:
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
    if not values.size:
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
