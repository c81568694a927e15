from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from uiproof.stats.clusters import bootstrap_mean, clustered_mean, clustered_rate, design_effect
from uiproof.stats.intervals import wilson


def grouped(groups, each, spread, seed=0):
    """Successes in groups; `spread` says how much groups differ."""
    generator = np.random.default_rng(seed)
    shares = np.clip(generator.normal(0.6, spread, groups), 0, 1)
    successes = generator.random((groups, each)) < shares[:, None]
    return successes.ravel().astype(float), np.repeat(np.arange(groups), each)


def test_groups_of_one_value_give_the_t_interval_of_the_mean():
    values = np.random.default_rng(1).normal(3, 2, 40)
    ours = clustered_mean(values, np.arange(40))
    theirs = stats.ttest_1samp(values, 0).confidence_interval()
    assert ours.mean == pytest.approx(values.mean())
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_groups_of_one_size_give_the_t_interval_of_the_group_means():
    values, groups = grouped(30, 8, 0.3)
    ours = clustered_mean(values, groups, confidence=0.9)
    means = values.reshape(30, 8).mean(axis=1)
    theirs = stats.ttest_1samp(means, 0).confidence_interval(0.9)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    assert ours.n == 240


def test_groups_of_different_sizes_give_the_ratio_estimate_by_hand():
    # Groups with sums 2 of 2 and 0 of 1: mean 2/3, residual sums 2/3 and -2/3.
    ours = clustered_mean([1, 1, 0], ["a", "a", "b"])
    error = np.sqrt(2 / 1 * 2 * (2 / 3) ** 2) / 3
    assert ours.high - ours.mean == pytest.approx(stats.t.ppf(0.975, 1) * error)


def test_a_macro_mean_weighs_cells_the_same_and_agrees_with_the_bootstrap():
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


def test_a_clustered_rate_is_the_wilson_interval_where_groups_do_not_matter():
    # Every group has the same share: they differ less than chance, and t is almost normal.
    values, groups = np.tile([1.0, 0.0, 1.0], 3000), np.repeat(np.arange(3000), 3)
    ours, theirs = clustered_rate(values, groups), wilson(6000, 9000)
    assert (ours.mean, ours.n) == (theirs.mean, theirs.n)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-5)


def test_a_clustered_rate_agrees_with_the_bootstrap_over_groups():
    values, groups = grouped(80, 12, 0.3, seed=5)
    ours, theirs = clustered_rate(values, groups), bootstrap_mean(values, clusters=groups)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.006)
    plain = wilson(int(values.sum()), values.size)
    assert ours.high - ours.low > 1.5 * (plain.high - plain.low)


def test_copies_of_a_group_say_nothing_new():
    once = clustered_rate([1, 0, 1, 1, 0, 1], np.arange(6))
    copied = clustered_rate(np.repeat([1, 0, 1, 1, 0, 1], 50), np.repeat(np.arange(6), 50))
    assert (copied.low, copied.high) == pytest.approx((once.low, once.high), abs=0.03)
    assert design_effect(np.repeat([1, 0, 1, 1], 50), np.repeat(np.arange(4), 50)) == pytest.approx(
        50 * 4 / 3
    )


def test_intervals_cover_the_truth_as_often_as_they_say():
    covered = []
    for seed in range(300):
        generator = np.random.default_rng(seed)
        shares = generator.beta(4, 2, 40)  # mean 2/3
        values = (generator.random((40, 10)) < shares[:, None]).ravel().astype(float)
        interval = clustered_rate(values, np.repeat(np.arange(40), 10))
        covered.append(interval.low <= 2 / 3 <= interval.high)
    assert 0.92 <= np.mean(covered) <= 0.98


def test_at_the_ends_the_interval_keeps_a_width_and_stays_inside():
    none, everything = (clustered_rate(np.full(20, x), np.arange(20) // 2) for x in (0.0, 1.0))
    assert none.low == 0
    assert 0.1 < none.high < 0.3
    assert everything.high == 1
    assert everything.low == pytest.approx(1 - none.high)


def test_what_cannot_be_known_is_none_and_what_is_wrong_is_refused():
    assert clustered_rate([], []) is None
    assert clustered_mean([], []) is None
    assert clustered_rate([1, 0], ["a", "a"]) == (0.5, None, None, 2)
    assert clustered_mean([1, 0], ["a", "a"]) == (0.5, None, None, 2)
    assert design_effect([1, 1], ["a", "b"]) == 1
    with pytest.raises(ValueError, match="0 or 1"):
        clustered_rate([0.5], ["a"])
    with pytest.raises(ValueError, match="one cluster"):
        clustered_mean([1, 0], ["a"])
    with pytest.raises(ValueError, match="finite"):
        clustered_mean([np.nan], ["a"])
