"""Bradley-Terry strengths and the pairs that are compared, against published and known numbers."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import log

import numpy as np
import pytest

from uiproof.stats.ranking import bradley_terry, paired_design

# Wins in the American League East, 1987 (Agresti, Categorical Data Analysis, section 10.6); the
# row beat the column. Log abilities relative to Baltimore as published for this table.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)
PUBLISHED = (1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0.0)


def league():
    games = [
        (TEAMS[i], TEAMS[j])
        for i, row in enumerate(WINS)
        for j, count in enumerate(row)
        for _ in range(count)
    ]
    return [a for a, _ in games], [b for _, b in games]


def test_the_published_strengths_of_a_league_come_out():
    first, second = league()
    ranked = bradley_terry(first, second, np.ones(len(first)))
    assert [one.name for one in ranked] == list(TEAMS)
    least = ranked[-1].strength
    assert [one.strength - least for one in ranked] == pytest.approx(PUBLISHED, abs=5e-5)
    assert sum(one.strength for one in ranked) == pytest.approx(0)
    assert ranked[0][-2:] == (50, 78)


def test_two_that_were_compared_four_times_differ_by_the_logarithm_of_their_odds():
    ranked = bradley_terry(["a", "b", "a", "a"], ["b", "a", "b", "b"], [1, 1, 1, 1])
    assert [one.name for one in ranked] == ["a", "b"]
    assert ranked[0].strength - ranked[1].strength == pytest.approx(log(3))
    assert ranked[0].beats_average == pytest.approx(3**0.5 / (1 + 3**0.5))


def test_a_tie_is_half_a_win_for_each():
    # Two wins, one tie, one loss: 2.5 to 1.5.
    tied = bradley_terry(["a"] * 4, ["b"] * 4, [1, 1, 0.5, 0])
    assert tied[0].strength - tied[1].strength == pytest.approx(log(2.5 / 1.5))
    assert (tied[0].wins, tied[1].wins, tied[0].n) == (2.5, 1.5, 4)


def test_a_regression_gives_the_same_strengths():
    from statsmodels.discrete.discrete_model import Logit

    generator = np.random.default_rng(3)
    pairs = [(a, b) for a, b in combinations(range(5), 2) for _ in range(12)]
    won = [float(generator.random() < 0.3 + 0.08 * (b - a)) for a, b in pairs]
    rows = np.zeros((len(pairs), 5))
    for row, (a, b) in zip(rows, pairs, strict=True):
        row[a], row[b] = 1, -1
    fit = Logit(np.array(won), rows[:, 1:]).fit(disp=0, tol=1e-12)
    wanted = np.array([0, *fit.params]) - np.mean([0, *fit.params])
    found = bradley_terry([a for a, _ in pairs], [b for _, b in pairs], won)
    assert {one.name: one.strength for one in found} == pytest.approx(
        dict(enumerate(wanted)), abs=1e-6
    )


def test_strengths_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="never compared"):
        bradley_terry(["a", "b", "c", "d"], ["b", "a", "d", "c"], [1, 1, 1, 1])
    with pytest.raises(ValueError, match="prior"):
        bradley_terry(["a", "a"], ["b", "b"], [1, 1])
    assert bradley_terry([], [], []) == []


def test_with_a_prior_one_that_won_everything_has_a_finite_strength():
    ranked = bradley_terry(["a"] * 4, ["b"] * 4, [1] * 4, prior=0.5)
    assert ranked[0].strength - ranked[1].strength == pytest.approx(log(4.25 / 0.25))


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    truth = np.array([1.0, 0.2, -0.2, -1.0])
    held = []
    for seed in range(30):
        generator = np.random.default_rng(seed)
        design = paired_design([range(4)] * 40, seed=seed)
        games = [(a, b, page) for page, pairs in enumerate(design) for a, b in pairs]
        chances = [1 / (1 + np.exp(truth[b] - truth[a])) for a, b, _ in games]
        won = (generator.random(len(games)) < chances).astype(float)
        ranked = bradley_terry(
            *zip(*((a, b) for a, b, _ in games), strict=True),
            won,
            clusters=[page for *_, page in games],
            resamples=200,
        )
        held += [one.low <= truth[one.name] <= one.high for one in ranked]
    assert 0.88 <= np.mean(held) <= 0.995


def test_few_pages_give_no_interval():
    ranked = bradley_terry(["a", "b"] * 3, ["b", "a"] * 3, [1, 0, 1, 1, 0, 1], clusters=range(6))
    assert {(one.low, one.high) for one in ranked} == {(None, None)}


def test_all_pairs_are_all_pairs():
    (pairs,) = paired_design([("a", "b", "c", "d")], dense=True)
    assert sorted(map(sorted, pairs)) == sorted(map(list, combinations("abcd", 2)))


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_a_sparse_design_connects_every_case_and_is_balanced_and_the_same_for_a_seed(k):
    sets = [tuple(range(k))] * 60
    design = paired_design(sets, seed=5)
    assert design == paired_design(sets, seed=5)
    assert k == 2 or design != paired_design(sets, seed=6)
    for pairs in design:
        assert len({frozenset(pair) for pair in pairs}) == len(pairs) == max(k if k > 2 else 1, 1)
        reached = {0}
        for _ in range(k):
            reached |= {x for pair in pairs if reached & set(pair) for x in pair}
        assert reached == set(range(k))
    met = Counter(frozenset(pair) for pairs in design for pair in pairs)
    assert len(met) == k * (k - 1) // 2
    assert max(met.values()) - min(met.values()) <= 2
    first = Counter(pair[0] for pairs in design for pair in pairs)
    assert max(first.values()) - min(first.values()) <= 2
