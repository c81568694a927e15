from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from uiproof.stats.intervals import (
    bootstrap_mean,
    paired_bootstrap_difference,
    paired_permutation,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "n"), [(0, 1), (1, 1), (3, 7), (0, 50), (50, 50), (480, 484)]
)
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_equals_scipy(successes, n, confidence):
    ours = wilson(successes, n, confidence)
    theirs = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert ours is not None
    assert ours.mean == successes / n
    assert ours.n == n
    assert ours.low == pytest.approx(theirs.low, abs=1e-12)
    assert ours.high == pytest.approx(theirs.high, abs=1e-12)


@settings(deadline=None)
@given(st.integers(0, 500), st.integers(0, 500), st.floats(0.5, 0.999))
def test_wilson_equals_statsmodels_and_is_the_same_for_failures(successes, failures, confidence):
    from statsmodels.stats.proportion import proportion_confint

    ours = wilson(successes, successes + failures, confidence)
    if ours is None:
        assert successes + failures == 0
        return
    theirs = proportion_confint(successes, successes + failures, 1 - confidence, "wilson")
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=1e-9)
    assert 0 <= ours.low <= ours.mean <= ours.high <= 1
    turned = wilson(failures, successes + failures, confidence)
    assert (1 - turned.high, 1 - turned.low) == pytest.approx((ours.low, ours.high), abs=1e-12)


def test_wilson_bounds_are_exact_at_the_ends_and_absent_without_cases():
    assert wilson(0, 0) is None
    assert wilson(0, 9).low == 0.0
    assert wilson(9, 9).high == 1.0
    with pytest.raises(ValueError, match="between 0 and n"):
        wilson(3, 2)


@pytest.mark.parametrize("size", [10, 300])
def test_the_bootstrap_agrees_with_scipys_percentile_bootstrap(size):
    values = np.random.default_rng(5).beta(5, 2, size)
    ours = bootstrap_mean(values, resamples=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=1
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.mean == pytest.approx(values.mean())
    assert ours.low == pytest.approx(theirs.low, abs=0.03 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.03 * width)


def test_clusters_of_one_value_change_nothing():
    values = np.random.default_rng(0).random(80)
    assert bootstrap_mean(values, clusters=np.arange(80)) == bootstrap_mean(values)


def test_the_clustered_bootstrap_draws_whole_groups():
    generator = np.random.default_rng(2)
    groups = np.repeat([f"page {i}" for i in range(25)], 8)
    values = np.repeat(generator.normal(0, 1, 25), 8) + generator.normal(0, 0.1, 200)
    clustered = bootstrap_mean(values, clusters=groups, resamples=20_000)
    # With groups of one size, drawing groups is drawing their means.
    group_means = values.reshape(25, 8).mean(axis=1)
    theirs = stats.bootstrap(
        (group_means,), np.mean, n_resamples=20_000, method="percentile", rng=1
    ).confidence_interval
    assert clustered.n == 200
    assert clustered.low == pytest.approx(theirs.low, abs=0.03)
    assert clustered.high == pytest.approx(theirs.high, abs=0.03)
    plain = bootstrap_mean(values)
    assert clustered.high - clustered.low > 2 * (plain.high - plain.low)


def test_groups_of_different_sizes_keep_their_weight():
    values, groups = [0, 1, 1, 1], ["a", "b", "b", "b"]
    interval = bootstrap_mean(values, clusters=groups)
    assert (interval.mean, interval.low, interval.high) == (0.75, 0.0, 1.0)


def test_what_cannot_be_known_is_not_made_up():
    assert bootstrap_mean([]) is None
    assert bootstrap_mean([0.4]) == (0.4, None, None, 1)
    assert bootstrap_mean([0.4, 0.6], clusters=["a", "a"]) == (0.5, None, None, 2)
    assert bootstrap_mean([0.1] * 7) == (0.1, 0.1, 0.1, 7)
    with pytest.raises(ValueError, match="finite"):
        bootstrap_mean([0.4, float("nan")])
    with pytest.raises(ValueError, match="confidence"):
        bootstrap_mean([0.4, 0.4], confidence=95)


def test_the_same_seed_gives_the_same_interval_and_memory_chunks_do_not_matter(monkeypatch):
    values = np.random.default_rng(1).random(50)
    whole = bootstrap_mean(values, seed=3)
    assert whole == bootstrap_mean(values, seed=3)
    assert whole != bootstrap_mean(values, seed=4)
    monkeypatch.setattr("uiproof.stats.intervals._CELLS_AT_ONCE", 1000)
    assert bootstrap_mean(values, seed=3) == pytest.approx(whole)


def test_a_paired_difference_sees_what_two_intervals_hide():
    generator = np.random.default_rng(3)
    difficulty = generator.normal(0, 1, 200)
    a, b = difficulty + 0.1 + generator.normal(0, 0.05, 200), difficulty
    difference = paired_bootstrap_difference(a, b)
    assert difference.mean == pytest.approx(np.mean(a - b))
    assert 0.08 < difference.low < difference.high < 0.12
    assert bootstrap_mean(a).low < bootstrap_mean(b).high
    with pytest.raises(ValueError, match="one length"):
        paired_bootstrap_difference([1, 2], [1])


def test_the_paired_bootstrap_is_that_of_scipy():
    generator = np.random.default_rng(8)
    a = generator.exponential(size=40)
    b = a * generator.beta(2, 2, 40)
    theirs = stats.bootstrap(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        paired=True,
        n_resamples=20_000,
        method="BCa",
        rng=1,
    ).confidence_interval
    ours = paired_bootstrap_difference(a, b, resamples=20_000, method="bca")
    width = theirs.high - theirs.low
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03 * width)


@settings(deadline=None)
@given(st.lists(st.integers(0, 20), min_size=3, max_size=12), st.sampled_from([0.1, 0.7, 3.3]))
def test_another_unit_gives_the_same_interval(values, unit):
    # Means that are equal but for rounding must count as equal when bias is corrected.
    for method in ("percentile", "bca"):
        whole = bootstrap_mean(values, resamples=200, method=method)
        scaled = bootstrap_mean(np.multiply(values, unit), resamples=200, method=method)
        assert scaled[:3] == pytest.approx([one * unit for one in whole[:3]])


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=12), st.sampled_from(["percentile", "bca"]))
def test_turning_two_methods_around_turns_their_difference_around(values, method):
    zeros = np.zeros(len(values))
    one, other = (
        paired_bootstrap_difference(a, b, method=method)
        for a, b in ((values, zeros), (zeros, values))
    )
    assert one.mean == pytest.approx(-other.mean)
    assert one.low <= one.high
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-9)
    assert paired_permutation(values, zeros) == paired_permutation(zeros, values)


@pytest.mark.parametrize("size", [6, 12, 60])
def test_the_permutation_test_equals_scipys(size):
    generator = np.random.default_rng(size)
    a = generator.random(size)
    b = a + generator.normal(0.05, 0.2, size)
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=9999,
        rng=1,
    ).pvalue
    assert paired_permutation(a, b) == pytest.approx(theirs, abs=1e-12 if size <= 12 else 0.015)


def test_the_permutation_test_at_its_ends():
    assert paired_permutation([], []) is None
    assert paired_permutation([1, 2, 3], [1, 2, 3]) == 1.0
    assert paired_permutation([1], [0]) == 1.0
    assert paired_permutation(np.ones(100), np.zeros(100)) == pytest.approx(1e-4)


def test_the_permutation_test_flips_whole_groups():
    generator = np.random.default_rng(4)
    pages = np.repeat(np.arange(10), 6)
    b = generator.random(60)
    a = b + np.repeat(generator.normal(0.05, 0.1, 10), 6)
    sums = (a - b).reshape(10, 6).sum(axis=1)
    theirs = stats.permutation_test(
        (sums, np.zeros(10)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    ).pvalue
    assert paired_permutation(a, b, clusters=pages) == pytest.approx(theirs)
    # Copies of a page are no further evidence.
    assert paired_permutation(a, b) < theirs
    assert paired_permutation(a, b, clusters=np.arange(60)) == paired_permutation(a, b)
    with pytest.raises(ValueError, match="one cluster"):
        paired_permutation(a, b, clusters=[1])
