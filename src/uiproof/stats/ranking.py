"""Ranking from comparisons of two at a time: the model of Bradley and Terry (1952).

    ranked = bradley_terry(["a", "a", "b"], ["b", "c", "c"], [1.0, 0.5, 0.0], clusters=pages)

The probability that one beats another is the logistic function of the difference of their
strengths. A tie is half a win for each. The mean of all strengths is 0, as only differences matter.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uiproof.stats.intervals import _CELLS_AT_ONCE, FEWEST, Floats, _codes, _draw

_Name = TypeVar("_Name", bound=Hashable)
_MOST_STEPS = 200
_PRECISE = 1e-9


class Ranked(NamedTuple, Generic[_Name]):
    """One of those compared: its strength with the bounds of its interval, and what it stands on.

    `beats_average` is the chance to win against an opponent of strength 0. The bounds are None
    where there are fewer than eight clusters.
    """

    name: _Name
    strength: float
    low: float | None
    high: float | None
    beats_average: float
    wins: float  # ties count half
    n: int


def bradley_terry(
    first: Sequence[_Name],
    second: Sequence[_Name],
    scores: ArrayLike,
    *,
    prior: float = 0.0,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> list[Ranked[_Name]]:
    """Return all that were compared, the strongest first.

    `scores` are from the view of `first`: 1 is a win, 0 a loss, 0.5 a tie; a mean of several votes
    is a number in between. `prior` adds so many ties to every pair that was compared, which keeps
    the strength of one that won or lost everything finite. `clusters` names the group of each
    comparison, for example its page; the intervals are percentiles of a bootstrap over groups.

    Raises `ValueError` where strengths cannot be compared: some were never compared with the
    others, even through a third, or without a prior some lost or won every comparison with them.
    """
    values = np.asarray(scores, dtype=np.float64)
    if not len(first) == len(second) == len(values) or not ((values >= 0) & (values <= 1)).all():
        raise ValueError("there must be one score from 0 to 1 for each comparison")
    if any(one == other for one, other in zip(first, second, strict=True)):
        raise ValueError("nothing is compared with itself")
    names = sorted({*first, *second}, key=lambda name: (type(name).__name__, repr(name)))
    if not names:
        return []
    place = {name: number for number, name in enumerate(names)}
    k = len(names)
    cells = np.array([[place[a], place[b]] for a, b in zip(first, second, strict=True)])
    # How often each beat each, in every group; groups are what the bootstrap draws.
    group = _codes(clusters, len(values))
    wins = np.zeros((int(group.max()) + 1, k, k))
    np.add.at(wins, (group, cells[:, 0], cells[:, 1]), values)
    np.add.at(wins, (group, cells[:, 1], cells[:, 0]), 1 - values)
    total = wins.sum(0)
    compared = (total + total.T > 0).astype(np.float64)
    if not _connected(compared[None])[0]:
        raise ValueError("some were never compared with the others")
    virtual = compared * prior / 2
    if not _connected((total + virtual > 0).astype(np.float64)[None])[0]:
        raise ValueError("some won or lost everything against the others; use a prior")
    strengths = _fit((total + virtual)[None])[0]
    low, high = _bounds(
        wins.reshape(len(wins), -1), virtual, strengths, confidence, resamples, seed
    )
    played = total.sum(1) + total.sum(0)
    found = [
        Ranked(
            name,
            float(strengths[i]),
            None if low is None else float(low[i]),
            None if high is None else float(high[i]),
            float(_logistic(strengths[i])),
            float(total[i].sum()),
            round(float(played[i])),
        )
        for i, name in enumerate(names)
    ]
    return sorted(found, key=lambda one: -one.strength)


def paired_design(
    sets: Sequence[Sequence[_Name]], *, dense: bool = False, seed: int = 0
) -> list[list[tuple[_Name, _Name]]]:
    """Return which pairs of each set are compared, for example of the methods that have a case.

    With `dense` all of them; otherwise those of a ring, in which everyone meets two others, so that
    every set by itself connects all of its members. Rings are drawn at random such that over all
    sets every pair comes up about equally often, and everyone is equally often the first of a pair.
    """
    generator = np.random.default_rng(seed)
    met: dict[frozenset[_Name], int] = {}
    first: dict[_Name, int] = {}
    design = []
    for members in sets:
        rings = [list(members)]
        if not dense and len(members) > 3:
            orders = (generator.permutation(len(members)) for _ in range(_RINGS))
            rings = [[members[at] for at in order] for order in orders]
        pairs = [_pairs(ring, dense=dense) for ring in rings]
        # Squares: a pair that came up often weighs more than two that came up sometimes.
        chosen = min(pairs, key=lambda ring: sum(met.get(frozenset(p), 0) ** 2 for p in ring))
        turned = []
        for one, other in chosen:
            met[frozenset((one, other))] = met.get(frozenset((one, other)), 0) + 1
            gap = first.get(one, 0) - first.get(other, 0) or int(generator.integers(2)) * 2 - 1
            pair = (other, one) if gap > 0 else (one, other)
            first[pair[0]] = first.get(pair[0], 0) + 1
            turned.append(pair)
        design.append(turned)
    return design


_RINGS = 64  # that are drawn, to take the best one


def _pairs(ring: list[_Name], *, dense: bool) -> list[tuple[_Name, _Name]]:
    if dense or len(ring) <= 3:
        return list(combinations(ring, 2))
    return list(zip(ring, [*ring[1:], ring[0]], strict=True))


def _fit(wins: Floats) -> Floats:
    """Return the strengths of greatest likelihood for each matrix of wins, by Newton's method."""
    k = wins.shape[1]
    games = wins + wins.transpose(0, 2, 1)
    strengths = np.zeros(wins.shape[:2])
    for _ in range(_MOST_STEPS):
        chances = _logistic(strengths[:, :, None] - strengths[:, None, :])
        slope = (wins - games * chances).sum(2)
        bend = games * chances * (1 - chances)
        curve = np.einsum("ri,ij->rij", bend.sum(2), np.eye(k)) - bend
        # All strengths can be moved together; the added matrix keeps their mean at 0.
        step = np.linalg.solve(curve + 1 / k, slope[:, :, None])[:, :, 0]
        strengths += np.clip(step, -1, 1)  # a full step may lead away from the solution
        if np.abs(step).max() < _PRECISE:
            break
    return np.asarray(strengths - strengths.mean(1, keepdims=True))


def _bounds(
    wins: Floats, virtual: Floats, value: Floats, confidence: float, resamples: int, seed: int
) -> tuple[Floats, Floats] | tuple[None, None]:
    """Return percentile bounds of all strengths from a bootstrap over groups of comparisons."""
    k = len(virtual)
    if len(wins) < FEWEST:
        return None, None
    generator = np.random.default_rng(seed)
    sizes = np.ones(len(wins), dtype=np.intp)
    at_once = max(_CELLS_AT_ONCE // max(len(wins), k * k), 1)
    found = []
    for done in range(0, resamples, at_once):
        drawn = _draw(generator, sizes, min(at_once, resamples - done)) @ wins
        some = drawn.reshape(-1, k, k) + virtual
        fits = some[_connected((some > 0).astype(np.float64))]
        if len(fits):
            found.append(_fit(fits))
    if sum(map(len, found)) < resamples / 2:
        return None, None  # most resamples have no finite strengths, so the others are too narrow
    outside = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(found), [outside, 1 - outside], axis=0)
    return np.minimum(low, value), np.maximum(high, value)


def _connected(links: Floats) -> NDArray[np.bool_]:
    """Return for each matrix of directed links whether everyone can be reached from everyone."""
    k = links.shape[1]
    reached = links + np.eye(k)
    for _ in range(max(k - 1, 1).bit_length()):
        reached = ((reached @ reached) > 0).astype(np.float64)
    return np.asarray(reached.all(axis=(1, 2)))


def _logistic(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(values / 2)))
