from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from uiproof.stats.intervals import (
    NO_SPREAD,
    ONE_CLUSTER,
    TOO_FEW,
    clustered_mean,
    clustered_rate,
    design_effect,
    paired_difference,
)

# How many values clusters have: one each, the same, some more than others, many, most in one.
SIZES = {
    "1 each": lambda clusters: [1] * clusters,
    "10 each": lambda clusters: [10] * clusters,
    "4 to 16": lambda clusters: np.resize([4, 8, 12, 16], clusters),
    "60 each": lambda clusters: [60] * clusters,
    "half in one": lambda clusters: [10 * (clusters - 1), *[10] * (clusters - 1)],
}
LIKENESS = (0.0, 0.1, 0.3, 0.6, 0.95)  # the correlation of two values of one cluster
SHARES = (0.5, 0.8, 0.9, 0.95, 0.99)


def grouped(groups, each, spread, seed=0):
    """Successes in groups; `spread` says how much groups differ."""
    generator = np.random.default_rng(seed)
    shares = np.clip(generator.normal(0.6, spread, groups), 0, 1)
    successes = generator.random((groups, each)) < shares[:, None]
    return successes.ravel().astype(float), np.repeat(np.arange(groups), each)


def coverage_of_rates(sizes, likeness, share, repetitions):
    """How often the interval holds the share that values were drawn with."""
    generator = np.random.default_rng(len(sizes))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    alike = (1 - likeness) / likeness if likeness else 0
    covered = 0
    for _ in range(repetitions):
        shares = np.full(len(sizes), share)
        if likeness:
            shares = generator.beta(share * alike, (1 - share) * alike, len(sizes))
        found = clustered_rate(generator.random(groups.size) < shares[groups], groups)
        covered += found.low <= share <= found.high
    return covered / repetitions


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("clusters", [2, 4, 7])
def test_with_few_clusters_the_interval_of_a_rate_holds(clusters, sizes):
    found = [
        coverage_of_rates(SIZES[sizes](clusters), likeness, share, 40)
        for likeness in LIKENESS
        for share in SHARES
    ]
    # 1,000 repetitions in all, with room for chance in the 40 of each.
    assert np.mean(found) >= 0.97
    assert min(found) >= 0.9


@pytest.mark.parametrize("clusters", [8, 20])
def test_with_more_clusters_the_interval_of_a_rate_holds_on_the_whole(clusters):
    found = [
        coverage_of_rates(sizes(clusters), likeness, share, 20)
        for sizes in SIZES.values()
        for likeness in LIKENESS
        for share in SHARES
    ]
    assert np.mean(found) >= 0.95
    assert min(found) >= 0.8


@pytest.mark.parametrize("clusters", [8, 30])
def test_the_interval_of_a_mean_covers_it_as_often_as_it_says(clusters):
    sizes = SIZES["4 to 16"](clusters)
    groups = np.repeat(np.arange(clusters), sizes)
    generator, covered = np.random.default_rng(clusters), []
    for _ in range(1000):
        values = generator.normal(0.6, 0.1, clusters)[groups] + generator.normal(
            0, 0.1, groups.size
        )
        found = clustered_mean(values, groups)
        covered.append(found.low <= 0.6 <= found.high)
    assert 0.93 <= np.mean(covered) <= 0.98


@pytest.mark.parametrize(
    ("successes", "n"), [(0, 2), (2, 2), (3, 7), (0, 50), (50, 50), (480, 484)]
)
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_independent_cases_have_the_exact_interval_of_scipy(successes, n, confidence):
    values = np.arange(n) < successes
    ours = clustered_rate(values, confidence=confidence)
    theirs = stats.binomtest(successes, n).proportion_ci(confidence, method="exact")
    assert (ours.mean, ours.n, ours.clusters) == (successes / n, n, n)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert ours == clustered_rate(values, np.arange(n), confidence)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), min_size=2, max_size=60))
def test_a_rate_lies_in_its_interval_and_failures_have_the_mirrored_one(cases):
    values, groups = np.array(cases, dtype=int).T
    ours, turned = clustered_rate(values, groups), clustered_rate(1 - values, groups)
    if ours.clusters == 1:
        assert (ours.low, ours.high, ours.no_interval) == (None, None, ONE_CLUSTER)
        return
    assert 0 <= ours.low <= ours.mean <= ours.high <= 1
    assert ours.high - ours.low > 0.01
    assert (1 - turned.high, 1 - turned.low) == pytest.approx((ours.low, ours.high), abs=1e-9)


def test_a_rate_is_never_certain_but_at_its_own_end():
    none, everything = (clustered_rate(np.full(20, x), np.arange(20) // 2) for x in (0.0, 1.0))
    assert (none.low, everything.high) == (0, 1)
    # Ten screenshots on which all went right are worth ten cases: they may just be alike.
    exact = stats.binomtest(10, 10).proportion_ci(0.95, method="exact")
    assert everything.low == pytest.approx(exact.low) == pytest.approx(1 - none.high)
    almost = clustered_rate(np.arange(100_000) > 0)
    assert almost.low < almost.mean < almost.high < 1


def test_copies_of_a_case_say_nothing_new():
    for outcomes in ([1, 0, 1, 1, 0, 1], [1, 1, 1, 0], [1, 0] * 20, [1] * 9):
        once = clustered_rate(outcomes)
        groups = np.repeat(np.arange(len(outcomes)), 50)
        copied = clustered_rate(np.repeat(outcomes, 50), groups)
        assert (copied.low, copied.high) == pytest.approx((once.low, once.high))
        assert (copied.n, copied.clusters) == (50 * len(outcomes), len(outcomes))
    found = design_effect(np.repeat([1, 0, 1, 1], 50), np.repeat(np.arange(4), 50))
    assert found == pytest.approx(50 * 4 / 3)


def test_clusters_that_do_not_differ_lose_nothing():
    # Every cluster has the same share: they differ less than chance.
    values, groups = np.tile([1.0, 0.0, 1.0], 3000), np.repeat(np.arange(3000), 3)
    theirs = stats.binomtest(6000, 9000).proportion_ci(0.95, method="exact")
    ours = clustered_rate(values, groups)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-4)


def test_the_effective_number_of_cases_is_korn_and_graubards():
    values, groups = grouped(80, 12, 0.3, seed=5)
    means = values.reshape(80, 12).mean(axis=1)
    share, variance = means.mean(), means.var(ddof=1) / 80
    cases = share * (1 - share) / variance
    cases *= (stats.t.ppf(0.975, values.size - 1) / stats.t.ppf(0.975, 79)) ** 2
    right = share * cases
    ours = clustered_rate(values, groups)
    assert ours.low == pytest.approx(stats.beta.ppf(0.025, right, cases - right + 1))
    assert ours.high == pytest.approx(stats.beta.ppf(0.975, right + 1, cases - right))
    assert ours.high - ours.low > 1.5 * (clustered_rate(values).high - clustered_rate(values).low)


def test_clusters_of_one_value_give_the_t_interval_of_the_mean():
    values = np.random.default_rng(1).normal(3, 2, 40)
    ours = clustered_mean(values)
    theirs = stats.ttest_1samp(values, 0).confidence_interval()
    assert ours == clustered_mean(values, np.arange(40))
    assert (ours.mean, ours.clusters) == (pytest.approx(values.mean()), 40)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_clusters_of_one_size_give_the_t_interval_of_their_means():
    values, groups = grouped(30, 8, 0.3)
    ours = clustered_mean(values, groups, confidence=0.9)
    means = values.reshape(30, 8).mean(axis=1)
    theirs = stats.ttest_1samp(means, 0).confidence_interval(0.9)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    assert (ours.n, ours.clusters) == (240, 30)


def test_clusters_of_different_sizes_give_the_jackknife_by_hand():
    sizes = np.array([1, 2, 3, 4, 5, 6, 7, 8])
    groups = np.repeat(np.arange(8), sizes)
    values = np.random.default_rng(2).random(sizes.sum())
    without = np.array([values[groups != group].mean() for group in range(8)])
    error = np.sqrt(7 / 8 * np.sum((without - values.mean()) ** 2))
    worth = sizes.sum() ** 2 / np.sum(sizes**2)
    ours = clustered_mean(values, groups)
    assert ours.high - ours.mean == pytest.approx(stats.t.ppf(0.975, worth - 1) * error)
    assert ours.mean - ours.low == pytest.approx(ours.high - ours.mean)


def test_a_macro_mean_weighs_cells_the_same_and_agrees_with_a_bootstrap():
    values, groups = grouped(60, 9, 0.2, seed=3)
    cells = np.where(np.arange(values.size) % 9 < 7, "many", "few")
    ours = clustered_mean(values, groups, cells=cells)
    macro = (values[cells == "many"].mean() + values[cells == "few"].mean()) / 2
    assert ours.mean == pytest.approx(macro)
    generator, drawn = np.random.default_rng(0), []
    table, few = values.reshape(60, 9), cells.reshape(60, 9)[0] == "few"
    for _ in range(4000):
        sample = table[generator.integers(60, size=60)]
        drawn.append((sample[:, few].mean() + sample[:, ~few].mean()) / 2)
    assert ours.high - ours.low == pytest.approx(2 * 1.96 * np.std(drawn), rel=0.07)


def test_a_cell_of_one_cluster_makes_a_macro_mean_less_certain():
    values, groups = grouped(20, 5, 0.2, seed=4)
    one_cell = clustered_mean(values, groups)
    values, groups = np.append(values, 0.0), np.append(groups, 99)
    cells = np.where(groups == 99, "alone", "many")
    both = clustered_mean(values, groups, cells=cells)
    assert both.mean == pytest.approx(one_cell.mean / 2)
    assert both.high - both.low > 2 * (one_cell.high - one_cell.low)


def test_limits_cut_the_interval_of_a_mean():
    values = [1.0, 0.9, 1.0, 1.0, 0.2, 1.0, 1.0, 1.0]
    assert clustered_mean(values).high > 1
    assert clustered_mean(values, within=(0.0, 1.0)).high == 1


def test_a_paired_difference_sees_what_two_intervals_hide():
    generator = np.random.default_rng(3)
    difficulty = generator.normal(0, 1, 200)
    a, b = difficulty + 0.1 + generator.normal(0, 0.05, 200), difficulty
    difference = paired_difference(a, b)
    theirs = stats.ttest_rel(a, b).confidence_interval()
    assert (difference.low, difference.high) == pytest.approx((theirs.low, theirs.high))
    assert 0.08 < difference.low < difference.high < 0.12
    assert clustered_mean(a).low < clustered_mean(b).high
    turned = paired_difference(b, a)
    assert (turned.low, turned.high) == pytest.approx((-difference.high, -difference.low))
    with pytest.raises(ValueError, match="one length"):
        paired_difference([1, 2], [1])


def test_what_cannot_be_known_is_none_and_says_why():
    assert clustered_rate([], []) is None
    assert clustered_mean([], []) is None
    assert clustered_rate([1, 0], ["a", "a"]) == (0.5, None, None, 2, 1, ONE_CLUSTER)
    assert clustered_mean([0.4] * 7) == (pytest.approx(0.4), None, None, 7, 7, TOO_FEW)
    assert clustered_mean([0.1] * 9) == (pytest.approx(0.1), None, None, 9, 9, NO_SPREAD)
    assert paired_difference([1, 0] * 5, [1, 0] * 5).no_interval == NO_SPREAD
    assert design_effect([1, 1], ["a", "b"]) == 1
    with pytest.raises(ValueError, match="0 or 1"):
        clustered_rate([0.5], ["a"])
    with pytest.raises(ValueError, match="one cluster"):
        clustered_mean([1, 0], ["a"])
    with pytest.raises(ValueError, match="finite"):
        clustered_mean([np.nan], ["a"])
    with pytest.raises(ValueError, match="confidence"):
        clustered_mean([0.4, 0.4], confidence=95)
