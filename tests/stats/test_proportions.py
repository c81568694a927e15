from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from uiproof.stats.intervals import (
    detectable_difference,
    detectable_mean_difference,
    detectable_paired_difference,
    mcnemar,
    mcnemar_p,
    paired_permutation,
)


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_the_exact_test_of_a_fair_coin(only_a, only_b):
    theirs = stats.binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0
    assert mcnemar_p(only_a, only_b) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    # A router against its base and zooming against none, as published; then by hand.
    [(48, 35, 0.19), (162, 54, 1e-13), (0, 0, 1.0), (0, 5, 2 / 32), (1, 1, 1.0), (3, 0, 0.25)],
)
def test_mcnemar_gives_the_known_values(only_a, only_b, p):
    assert mcnemar_p(only_a, only_b) == pytest.approx(p, rel=0.05)


def test_mcnemar_stays_exact_for_more_cases_than_a_float_can_count_patterns_of():
    assert mcnemar_p(30_000, 30_000) == 1.0
    theirs = stats.binomtest(29_700, 60_000).pvalue
    assert mcnemar_p(29_700, 30_300) == pytest.approx(theirs, rel=1e-6)


def test_mcnemar_counts_what_only_one_of_two_methods_got_right():
    result = mcnemar([1, 1, 1, 0, 0, 1], [1, 0, 0, 1, 0, 0])
    assert result[:4] == (1, 3, 1, 1)
    assert result.n == 6
    assert result.p == pytest.approx(2 * 5 / 16)
    with pytest.raises(ValueError, match="one length"):
        mcnemar([1], [1, 0])
    with pytest.raises(ValueError, match="negative"):
        mcnemar_p(-1, 2)


@pytest.mark.parametrize("counts", [(40, 9, 3, 12), (5, 0, 6, 1), (100, 80, 95, 300)])
def test_mcnemar_is_that_of_statsmodels(counts):
    from statsmodels.stats import contingency_tables

    both, only_a, only_b, neither = counts
    a = [1] * (both + only_a) + [0] * (only_b + neither)
    b = [1] * both + [0] * only_a + [1] * only_b + [0] * neither
    ours = mcnemar(a, b)
    table = np.array([[both, only_a], [only_b, neither]])
    assert ours[:4] == counts
    assert ours.p == pytest.approx(contingency_tables.mcnemar(table, exact=True).pvalue)
    # A test that flips whole pairs is the same one.
    assert paired_permutation(a, b, resamples=20_000) == pytest.approx(ours.p, abs=0.015)


def test_what_is_neither_right_nor_wrong_is_refused():
    for wrong in (0.5, float("nan")):
        with pytest.raises(ValueError, match=r"0 or 1|finite"):
            mcnemar([1, wrong], [1, 0])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.85])
@pytest.mark.parametrize("n", [150, 1581])
@pytest.mark.parametrize(("power", "confidence"), [(0.8, 0.95), (0.9, 0.99)])
def test_statsmodels_finds_a_detectable_difference_as_often_as_asked(share, n, power, confidence):
    from statsmodels.stats.proportion import power_proportions_2indep

    difference = detectable_difference(share, n, power=power, confidence=confidence)
    if difference is None:
        limit = power_proportions_2indep(1 - share - 1e-9, share, n, alpha=1 - confidence).power
        assert limit < power
    else:
        theirs = power_proportions_2indep(difference, share, n, alpha=1 - confidence)
        assert theirs.power == pytest.approx(power, abs=1e-4)


@pytest.mark.parametrize("n", [3, 20, 484, 20_000])
@pytest.mark.parametrize(("power", "confidence"), [(0.8, 0.95), (0.95, 0.9)])
def test_the_detectable_mean_difference_is_that_of_statsmodels(n, power, confidence):
    from statsmodels.stats.power import TTestPower

    ours = detectable_mean_difference(0.3, n, power=power, confidence=confidence)
    theirs = TTestPower().power(ours / 0.3, n, 1 - confidence)
    assert theirs == pytest.approx(power, abs=1e-4)


def test_a_detectable_mean_difference_is_found_four_times_out_of_five():
    n, spread = 30, 0.2
    difference = detectable_mean_difference(spread, n)
    scores = np.random.default_rng(2).normal(difference, spread, (5000, n))
    assert np.mean(stats.ttest_1samp(scores, 0, axis=1).pvalue < 0.05) == pytest.approx(
        0.8, abs=0.02
    )


@pytest.mark.parametrize("share", [0.05, 0.5, 0.8])
@pytest.mark.parametrize("n", [200, 1581])
def test_the_detectable_difference_is_where_the_sample_size_formula_gives_n(share, n):
    difference = detectable_difference(share, n, power=0.9, confidence=0.99)
    other, z = share + difference, stats.norm.ppf
    middle = (share + other) / 2
    needed = (
        z(0.995) * np.sqrt(2 * middle * (1 - middle))
        + z(0.9) * np.sqrt(share * (1 - share) + other * (1 - other))
    ) ** 2 / difference**2
    assert needed == pytest.approx(n, rel=1e-6)


def test_a_detectable_difference_is_found_four_times_out_of_five():
    n, share = 400, 0.6
    better = share + detectable_difference(share, n)
    a, b = np.random.default_rng(4).binomial(n, [[share], [better]], (2, 20_000)) / n
    middle = (a + b) / 2
    found = np.abs(b - a) > 1.959964 * np.sqrt(2 * middle * (1 - middle) / n)
    assert found.mean() == pytest.approx(0.8, abs=0.02)


def test_a_paired_difference_is_found_four_times_out_of_five():
    n, discordant = 1581, 0.12
    difference = detectable_paired_difference(discordant, n)
    only_a = (discordant + difference) / 2
    draws = np.random.default_rng(1).multinomial(
        n, [only_a, discordant - only_a, 1 - discordant], 4000
    )
    found = [mcnemar_p(int(a), int(b)) <= 0.05 for a, b, _ in draws]
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)  # the exact test is a little careful
    # Methods that agree more often can be told apart by less.
    assert detectable_paired_difference(0.05, n) < difference < detectable_difference(0.8, n)


def test_what_no_difference_could_show_is_none():
    assert detectable_difference(0.9, 10) is None
    assert detectable_paired_difference(0.01, 50) is None
    assert detectable_difference(1.0, 10_000) is None  # nothing is better than everything
    assert detectable_paired_difference(0.0, 10_000) is None  # they never differ
    assert detectable_mean_difference(0.2, 1) is None
    assert detectable_mean_difference(0.0, 9) == 0
    with pytest.raises(ValueError, match="spread"):
        detectable_mean_difference(-1, 9)
    for call in (lambda: detectable_difference(1.5, 10), lambda: detectable_difference(0.5, 0)):
        with pytest.raises(ValueError, match="share"):
            call()
    with pytest.raises(ValueError, match="power"):
        detectable_difference(0.5, 10, power=1)
