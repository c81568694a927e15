"""Corrections for many comparisons, against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from uiproof.stats.correlation import benjamini_hochberg, holm

chances = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@settings(deadline=None)
@given(chances)
def test_benjamini_hochberg_is_that_of_scipy(found):
    assert benjamini_hochberg(found) == pytest.approx(stats.false_discovery_control(found))


def test_holm_multiplies_the_smallest_by_all_the_next_by_one_less():
    # 0.01 x 4, 0.02 x 3, 0.03 x 2 (not below the one before), 0.04 x 1 (neither)
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1, 1])


@pytest.mark.parametrize("size", [1, 2, 30])
def test_both_corrections_are_those_of_statsmodels(size):
    from statsmodels.stats.multitest import multipletests

    found = np.round(np.random.default_rng(size).beta(0.3, 1, size), 2)  # some are equal
    assert holm(found) == pytest.approx(multipletests(found, method="holm")[1])
    assert benjamini_hochberg(found) == pytest.approx(multipletests(found, method="fdr_bh")[1])


@settings(deadline=None)
@given(chances, st.randoms(use_true_random=False))
def test_each_comparison_keeps_its_correction_in_any_order(found, chance):
    places = list(range(len(found)))
    chance.shuffle(places)
    for correct in (holm, benjamini_hochberg):
        shuffled = correct([found[place] for place in places])
        assert shuffled == pytest.approx(correct(found)[places])


def test_no_comparisons_need_no_correction():
    assert holm([]).size == benjamini_hochberg([]).size == 0


@settings(deadline=None)
@given(chances)
def test_corrections_never_help_and_keep_the_order(found):
    for corrected in (holm(found), benjamini_hochberg(found)):
        assert (corrected >= np.asarray(found) - 1e-12).all()
        assert (np.diff(corrected[np.argsort(found, kind="stable")]) >= -1e-12).all()
    assert (holm(found) >= benjamini_hochberg(found) - 1e-12).all()


def test_what_is_no_chance_is_refused():
    for wrong in (1.2, -0.1, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            holm([0.5, wrong])
