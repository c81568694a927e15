"""How far people, or a person and a program, say the same of the same things.

Every function takes labels of any kind and compares them for equality only, except where a level
of measurement is given. Intervals come from resampling the items, not the single labels: labels of
one item belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Label = Hashable | None  # None: this person did not label this item
Level = Literal["nominal", "ordinal", "interval"]
_Floats = NDArray[np.float64]
_Codes = NDArray[np.intp]

_MISSING = -1
_CELLS_AT_ONCE = 2_000_000  # bounds the memory of resampling, however many items there are


class Agreement(NamedTuple):
    """A coefficient, the bounds of its confidence interval, and how many items it stands on.

    `value` is None where it is not defined: no item has two labels, or all labels are the same
    one, so that agreement by chance is certain.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int


def cohen_kappa(
    first: Sequence[Label],
    second: Sequence[Label],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Cohen's kappa (1960) of two people; items that one of them left out do not count."""
    if len(first) != len(second):
        raise ValueError(f"two people, but {len(first)} and {len(second)} labels")
    codes, kinds = _codes(list(zip(first, second, strict=True)))
    codes = codes[(codes != _MISSING).all(axis=1)]
    tables = np.zeros((len(codes), kinds * kinds))
    tables[np.arange(len(codes)), codes[:, 0] * kinds + codes[:, 1]] = 1

    def kappa(sums: _Floats) -> _Floats:
        table = sums.reshape(len(sums), kinds, kinds)
        n = table.sum((1, 2))
        seen = np.trace(table, axis1=1, axis2=2) / n
        chance = (table.sum(2) * table.sum(1)).sum(1) / n**2
        return _beyond_chance(seen, chance)

    return _with_interval(tables, kappa, confidence, resamples, seed)


def fleiss_kappa(
    items: Sequence[Sequence[Label]],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Fleiss' kappa (1971): each item with its labels, the same number for every item.

    Items with fewer labels than most are left out, and those that have more are an error: use
    `krippendorff_alpha` where people skip items.
    """
    codes, kinds = _codes(items)
    raters = (codes != _MISSING).sum(1)
    most = int(raters.max(initial=0))
    counts = _counts(codes, kinds)[raters == most]
    if most < 2:
        return Agreement(None, None, None, 0)

    agreeing = (counts * (counts - 1)).sum(1) / (most * (most - 1))
    parts = np.column_stack([counts, agreeing, np.ones(len(counts))])

    def kappa(sums: _Floats) -> _Floats:
        n = sums[:, -1]
        shares = sums[:, :kinds] / (n * most)[:, None]
        return _beyond_chance(sums[:, kinds] / n, (shares**2).sum(1))

    return _with_interval(parts, kappa, confidence, resamples, seed)


def krippendorff_alpha(
    items: Sequence[Sequence[Label]],
    *,
    level: Level = "nominal",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Krippendorff's alpha (2011 notation): any number of people, labels may be missing.

    `ordinal` and `interval` need labels that are numbers.
    """
    codes, kinds = _codes(items)
    counts = _counts(codes, kinds)
    pairable = counts.sum(1) >= 2
    counts = counts[pairable]
    values = np.array(_values(items, level), dtype=float)
    raters = counts.sum(1)
    # How often two labels of one item are c and k, each item counted with the weight of its labels.
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(kinds)
    coincidences = (pairs / np.maximum(raters - 1, 1)[:, None, None]).reshape(
        len(counts), kinds * kinds
    )

    def alpha(sums: _Floats) -> _Floats:
        seen = sums.reshape(len(sums), kinds, kinds)
        totals = seen.sum(2)
        n = totals.sum(1)
        distance = np.stack([_distances(values, one, level) for one in totals])
        expected = (totals[:, :, None] * totals[:, None, :] * distance).sum((1, 2)) / (n - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 - (seen * distance).sum((1, 2)) / expected)

    return _with_interval(coincidences, alpha, confidence, resamples, seed)


def majority(labels: Sequence[Label]) -> Label:
    """What more people said than anything else; None where there is no such label."""
    given = [label for label in labels if label is not None]
    ranked = sorted(set(given), key=given.count, reverse=True)
    if not ranked or (len(ranked) > 1 and given.count(ranked[0]) == given.count(ranked[1])):
        return None
    return ranked[0]


def _codes(items: Sequence[Sequence[Label]]) -> tuple[_Codes, int]:
    """Labels as numbers, a row for each item; `_MISSING` where there is none."""
    kinds = {label: number for number, label in enumerate(_kinds(items))}
    width = max((len(item) for item in items), default=0)
    codes = np.full((len(items), width), _MISSING, dtype=np.intp)
    for row, item in enumerate(items):
        for column, label in enumerate(item):
            if label is not None:
                codes[row, column] = kinds[label]
    return codes, len(kinds)


def _kinds(items: Sequence[Sequence[Label]]) -> list[Hashable]:
    found = {label for item in items for label in item if label is not None}
    return sorted(found, key=lambda label: (type(label).__name__, label))


def _values(items: Sequence[Sequence[Label]], level: Level) -> list[float]:
    kinds = _kinds(items)
    if level == "nominal":
        return [float(number) for number in range(len(kinds))]
    if not all(isinstance(kind, (int, float)) for kind in kinds):
        raise ValueError(f"labels on an {level} scale must be numbers")
    return [float(kind) for kind in kinds if isinstance(kind, (int, float))]


def _counts(codes: _Codes, kinds: int) -> _Floats:
    """How often each item got each label."""
    counts = np.zeros((len(codes), kinds))
    for kind in range(kinds):
        counts[:, kind] = (codes == kind).sum(1)
    return counts


def _distances(values: _Floats, totals: _Floats, level: Level) -> _Floats:
    """How much two labels differ, squared."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    # Between two ranks lie all labels in between, and half of those at both ends.
    up_to = np.cumsum(totals) - totals / 2
    return np.asarray((up_to[:, None] - up_to[None, :]) ** 2)


def _beyond_chance(seen: _Floats, chance: _Floats) -> _Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.isclose(chance, 1), np.nan, (seen - chance) / (1 - chance))


def _with_interval(
    parts: _Floats,
    coefficient: Callable[[_Floats], _Floats],
    confidence: float,
    resamples: int,
    seed: int,
) -> Agreement:
    """A coefficient of sums over items, with a percentile bootstrap interval over the items."""
    n = len(parts)
    if n == 0 or parts.shape[1] == 0:
        return Agreement(None, None, None, n)
    value = float(coefficient(parts.sum(0, keepdims=True))[0])
    if not np.isfinite(value):
        return Agreement(None, None, None, n)
    if n == 1:
        return Agreement(value, None, None, n)
    chance = np.random.default_rng(seed)
    at_once = max(_CELLS_AT_ONCE // n, 1)
    drawn = np.concatenate(
        [
            coefficient(
                chance.multinomial(n, np.full(n, 1 / n), min(at_once, resamples - done)) @ parts
            )
            for done in range(0, resamples, at_once)
        ]
    )
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return Agreement(value, None, None, n)
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Agreement(value, float(low), float(high), n)
