"""Agreement of people, or of a person and a program, about the same items.

Labels can be anything hashable and are compared for equality only, except where an order matters.
None and nan stand for a label that was not given. Intervals come from resampling the items (or
whole clusters of them), not the single labels: labels of one item belong together. The order in
which items or annotators are given changes nothing, not even the bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uiproof.stats.intervals import Floats, percentile_bounds
from uiproof.stats.intervals import _codes as _numbered

Label = Hashable | None
Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["linear", "quadratic"]
_Codes = NDArray[np.intp]
_Annotator = TypeVar("_Annotator", bound=Hashable)
_Item = TypeVar("_Item", bound=Hashable)

_MISSING = -1


class Agreement(NamedTuple):
    """A coefficient, the bounds of its confidence interval, and how many items it stands on.

    1 is complete agreement, 0 what chance would give, less than 0 worse than that. `value` is
    None where it is not defined: no item has two labels, or everyone gave one and the same label
    to everything. The latter is agreement, but chance would have given the same, 0 / 0: nothing
    has shown to be able to tell anything apart. The bounds are None for a single item or cluster.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int


def cohen_kappa(
    first: Sequence[Label],
    second: Sequence[Label],
    *,
    weights: Weights | None = None,
    order: Sequence[Label] | None = None,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Return Cohen's kappa (1960) of two people; items that one of them left out do not count.

    With `weights` (Cohen 1968) labels disagree as much as they are apart, or its square. They are
    then numbers, or have their place in `order`, such as `("lose", "tie", "win")`. `clusters`
    names the group of each item, for example its page.
    """
    if len(first) != len(second):
        raise ValueError(f"two people, but {len(first)} and {len(second)} labels")
    codes, values = _coded(
        list(zip(first, second, strict=True)), order, ordered=weights is not None
    )
    given, kinds = (codes != _MISSING).all(axis=1), len(values)
    ours, theirs = codes.reshape(-1, 2)[given].T
    cells, turned = ours * kinds + theirs, theirs * kinds + ours
    if np.sort(cells).tolist() > np.sort(turned).tolist():
        cells = turned  # so that the order of the two does not change the bootstrap
    tables = np.zeros((len(cells), kinds * kinds))
    tables[np.arange(len(cells)), cells] = 1
    apart = np.abs(values[:, None] - values)
    distance = apart**2 if weights == "quadratic" else apart if weights else 1 - np.eye(kinds)

    def kappa(sums: Floats) -> Floats:
        table = sums.reshape(len(sums), kinds, kinds)
        by_chance = table.sum(2)[:, :, None] * table.sum(1)[:, None, :]
        expected = (by_chance * distance).sum((1, 2)) / table.sum((1, 2))
        return _one_minus_ratio((table * distance).sum((1, 2)), expected)

    return _with_interval(tables, kappa, _kept(clusters, given), confidence, resamples, seed)


def fleiss_kappa(
    items: Sequence[Sequence[Label]],
    *,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Return Fleiss' kappa (1971) of any number of people, from the labels of each item.

    Items may have different numbers of labels, each item then weighs the same (Gwet 2014,
    chapter 2); those with fewer than two do not count. `clusters` names the group of each item.
    """
    codes, values = _coded(items)
    counts = _counts(codes, len(values))
    given = counts.sum(1) >= 2
    counts = counts[given]
    raters = counts.sum(1)
    agreeing = (counts * (counts - 1)).sum(1) / (raters * (raters - 1))
    parts = np.column_stack([counts / raters[:, None], agreeing, np.ones(len(counts))])

    def kappa(sums: Floats) -> Floats:
        means = sums[:, :-1] / sums[:, -1:]
        return _one_minus_ratio(1 - means[:, -1], 1 - (means[:, :-1] ** 2).sum(1))

    return _with_interval(parts, kappa, _kept(clusters, given), confidence, resamples, seed)


def krippendorff_alpha(
    items: Sequence[Sequence[Label]],
    *,
    level: Level = "nominal",
    order: Sequence[Label] | None = None,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Return Krippendorff's alpha (2011 notation): any number of people, labels may be missing.

    `ordinal` and `interval` need labels that are numbers or have their place in `order`, such as
    `("lose", "tie", "win")`. Unlike in `fleiss_kappa` every label weighs the same, and chance
    never pairs a label with itself. `clusters` names the group of each item.
    """
    codes, values = _coded(items, order, ordered=level != "nominal")
    kinds = len(values)
    counts = _counts(codes, kinds)
    given = counts.sum(1) >= 2
    counts = counts[given]
    # How often two labels of one item are c and k, each item counted with the weight of its labels.
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(kinds)
    coincidences = (pairs / (counts.sum(1) - 1)[:, None, None]).reshape(len(counts), kinds * kinds)

    def alpha(sums: Floats) -> Floats:
        seen = sums.reshape(len(sums), kinds, kinds)
        totals = seen.sum(2)
        distance = _distances(values, totals, level)
        expected = (totals[:, :, None] * totals[:, None, :] * distance).sum((1, 2))
        return _one_minus_ratio((seen * distance).sum((1, 2)), expected / (totals.sum(1) - 1))

    return _with_interval(coincidences, alpha, _kept(clusters, given), confidence, resamples, seed)


def pairwise_kappa(
    labels: Mapping[_Annotator, Mapping[_Item, Label]],
    *,
    weights: Weights | None = None,
    order: Sequence[Label] | None = None,
    clusters: Mapping[_Item, Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[tuple[_Annotator, _Annotator], Agreement]:
    """Return Cohen's kappa of every two annotators on the items that both have labelled.

    `labels` has what each annotator said of each item, `clusters` the group of each item. The
    pairs are in the order of `labels`.
    """
    found = {}
    for (one, ours), (other, theirs) in combinations(labels.items(), 2):
        shared = [item for item in ours if item in theirs]
        found[one, other] = cohen_kappa(
            [ours[item] for item in shared],
            [theirs[item] for item in shared],
            weights=weights,
            order=order,
            clusters=None if clusters is None else _group_numbers([clusters[i] for i in shared]),
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    return found


def by_item(
    labels: Mapping[_Annotator, Mapping[_Item, Label]],
) -> dict[_Item, tuple[Label, ...]]:
    """Return the labels of each item in the order of annotators; None where one is missing.

    The values are what `fleiss_kappa`, `krippendorff_alpha` and `majority` take.
    """
    items = dict.fromkeys(item for said in labels.values() for item in said)
    return {item: tuple(said.get(item) for said in labels.values()) for item in items}


def majority(labels: Sequence[Label]) -> Label:
    """Return the most frequent label; None in a tie."""
    ranked = Counter(label for label in labels if not _is_missing(label)).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _is_missing(label: Label) -> bool:
    return label is None or bool(label != label)  # only nan differs from itself


def _coded(
    items: Sequence[Sequence[Label]],
    order: Sequence[Label] | None = None,
    *,
    ordered: bool = False,
) -> tuple[_Codes, Floats]:
    """Return labels as codes, a row for each item, and the value of each label on its scale.

    A missing label is `_MISSING`.
    """
    rows = [[None if _is_missing(label) else label for label in item] for item in items]
    found = dict.fromkeys(label for row in rows for label in row if label is not None)
    values: dict[Label, float]
    if order is not None:
        values = {label: float(place) for place, label in enumerate(order)}
        unknown = [label for label in found if label not in values]
        if unknown or len(values) < len(order):
            raise ValueError(f"the order must name every label once, got {order} and {unknown}")
    elif ordered:
        numbers = [label for label in found if isinstance(label, (int, float, np.number))]
        if len(numbers) < len(found):
            raise ValueError("labels on a scale must be numbers, or have their place in `order`")
        values = {number: float(number) for number in sorted(numbers)}
    else:
        values = {label: float(place) for place, label in enumerate(_listed(found))}
    numbered: dict[Label, int] = {label: number for number, label in enumerate(values)}
    width = max(map(len, rows), default=0)
    codes = np.full((len(rows), width), _MISSING, dtype=np.intp)
    for number, row in enumerate(rows):
        codes[number, : len(row)] = [numbered.get(label, _MISSING) for label in row]
    return codes, np.array(list(values.values()), dtype=np.float64)


def _counts(codes: _Codes, kinds: int) -> Floats:
    """Return how often each item got each label."""
    counts = np.zeros((len(codes), kinds))
    for kind in range(kinds):
        counts[:, kind] = (codes == kind).sum(1)
    return counts


def _distances(values: Floats, totals: Floats, level: Level) -> Floats:
    """Return the squared distances of labels; on an ordinal scale they depend on the totals."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values) ** 2)
    # Between two ranks lie all labels in between, and half of those at both ends.
    up_to = np.cumsum(totals, axis=1) - totals / 2
    return np.asarray((up_to[:, :, None] - up_to[:, None, :]) ** 2)


def _one_minus_ratio(observed: Floats, expected: Floats) -> Floats:
    """Return agreement beyond chance from two disagreements; nan if chance always agrees."""
    possible = expected > 0
    return np.where(possible, 1 - observed / np.where(possible, expected, 1), np.nan)


def _kept(clusters: ArrayLike | None, given: NDArray[np.bool_]) -> _Codes | None:
    return None if clusters is None else _numbered(clusters, given.size)[given]


def _group_numbers(names: Sequence[Hashable]) -> list[int]:
    numbers = {name: number for number, name in enumerate(_listed(names))}
    return [numbers[name] for name in names]


def _listed(names: Iterable[Hashable]) -> list[Hashable]:
    """Return the distinct names in an order that does not depend on the input."""
    return sorted(set(names), key=lambda name: (type(name).__name__, repr(name)))


def _with_interval(
    parts: Floats,
    coefficient: Callable[[Floats], Floats],
    clusters: _Codes | None,
    confidence: float,
    resamples: int,
    seed: int,
) -> Agreement:
    """Return a coefficient of sums over items with a percentile bootstrap interval over items."""
    n = len(parts)
    if n == 0:
        return Agreement(None, None, None, 0)
    if clusters is None:
        # Items with the same labels are drawn together. Bytes are faster than np.unique of rows.
        alike = Counter(row.tobytes() for row in parts)
        groups = np.frombuffer(b"".join(sorted(alike))).reshape(len(alike), -1)
        sizes = np.array([alike[row] for row in sorted(alike)], dtype=np.intp)
    else:
        group = np.unique(clusters, return_inverse=True)[1]
        groups = np.zeros((int(group.max()) + 1, parts.shape[1]))
        np.add.at(groups, group, parts)
        sizes = np.ones(len(groups), dtype=np.intp)
    value = float(coefficient((sizes @ groups)[None, :])[0])
    if not np.isfinite(value):
        return Agreement(None, None, None, n)
    low, high = percentile_bounds(
        lambda drawn: coefficient(drawn @ groups),
        sizes,
        value=value,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        width=parts.shape[1],
    )
    return Agreement(value, low, high, n)
