"""Scores and answers against what people say: scipy's coefficients, and what must hold for all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from uiproof.stats.correlation import accuracy, rank_correlation
from uiproof.stats.intervals import clustered_rate

KINDS = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}
kinds = pytest.mark.parametrize("kind", KINDS)
pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3)), min_size=2, max_size=12)


def related(n, seed=0):
    """A score, and how people rate the same: three grades, so that there are many ties."""
    generator = np.random.default_rng(seed)
    score = generator.random(n)
    return score, np.digitize(score + generator.normal(0, 0.4, n), [0.3, 0.7])


@kinds
@settings(deadline=None, max_examples=50)
@given(pairs)
def test_ties_are_handled_as_in_scipy(kind, pairs):
    x, y = np.transpose(pairs)
    found = rank_correlation(x, y, kind=kind, resamples=10)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert found is None
        return
    assert found.value == pytest.approx(KINDS[kind](x, y).statistic)
    assert found.n == len(pairs)
    assert found.low is None or -1 <= found.low <= found.value <= found.high <= 1


@kinds
def test_the_interval_is_that_of_scipys_percentile_bootstrap(kind):
    x, y = related(60)
    ours = rank_correlation(x, y, kind=kind)
    theirs = stats.bootstrap(
        (x, y),
        lambda a, b: KINDS[kind](a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=1000,
        method="percentile",
        rng=1,
    ).confidence_interval
    width = theirs.high - theirs.low
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.12 * width)


@kinds
def test_copies_of_a_pair_in_its_cluster_say_nothing_new(kind):
    x, y = related(40, seed=2)
    copies, pages = (np.repeat(x, 8), np.repeat(y, 8)), np.repeat(np.arange(40), 8)
    once = rank_correlation(x, y, kind=kind)
    grouped = rank_correlation(*copies, kind=kind, clusters=pages)
    assert grouped.value == pytest.approx(once.value)
    assert grouped.low == pytest.approx(once.low, abs=0.05)
    assert grouped.high == pytest.approx(once.high, abs=0.05)
    assert grouped.n == 320
    assert rank_correlation(*copies, kind=kind).low > once.low + 0.1


@kinds
@settings(deadline=None, max_examples=40)
@given(pairs=pairs, chance=st.randoms(use_true_random=False))
def test_only_ranks_count_and_no_order_of_pairs(kind, pairs, chance):
    x, y = np.transpose(pairs)
    found = rank_correlation(x, y, kind=kind, resamples=20)
    assert rank_correlation(np.exp(x), y, kind=kind, resamples=20) == found
    chance.shuffle(pairs)
    assert rank_correlation(*np.transpose(pairs), kind=kind, resamples=20) == found
    if found is not None:
        turned = rank_correlation(-x, y, kind=kind, resamples=20)
        swapped = rank_correlation(y, x, kind=kind, resamples=20)
        assert turned.value == pytest.approx(-found.value)
        assert swapped.value == pytest.approx(found.value)


@kinds
def test_what_always_rises_together_is_one(kind):
    found = rank_correlation([1, 2, 3, 9], [0, 5, 6, 7], kind=kind)
    assert found == (pytest.approx(1), None, None, 4)  # nothing varies
    assert rank_correlation([1, 2, 3, 9], [3, 2, 1, 0], kind=kind).value == pytest.approx(-1)


def test_large_arrays_are_drawn_in_parts(monkeypatch):
    x, y = related(50)
    whole = rank_correlation(x, y)
    monkeypatch.setattr("uiproof.stats.intervals._CELLS_AT_ONCE", 1000)
    assert rank_correlation(x, y) == whole != rank_correlation(x, y, seed=1)


def test_intervals_cover_the_truth_as_often_as_they_say():
    truth = stats.spearmanr(*related(200_000, seed=99)).statistic
    found = [rank_correlation(*related(60, seed=k), resamples=300) for k in range(200)]
    assert 0.9 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.99


def test_a_correlation_that_cannot_be_known_is_none_and_what_is_wrong_is_refused():
    assert rank_correlation([], []) is None
    assert rank_correlation([1], [2]) is None
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
    assert rank_correlation([1, 2, 3], [4, 4, 4], kind="kendall") is None
    alone = rank_correlation([1, 2, 3], [1, 3, 2], clusters=["a", "a", "a"])
    assert alone == (pytest.approx(0.5), None, None, 3)
    with pytest.raises(ValueError, match="one length"):
        rank_correlation([1, 2], [1])
    with pytest.raises(ValueError, match="finite"):
        rank_correlation([1, np.nan], [1, 2])
    with pytest.raises(ValueError, match="one cluster"):
        rank_correlation([1, 2], [1, 2], clusters=["a"])


def test_accuracy_is_the_share_of_answers_that_people_agree_with():
    predicted, actual = ["a", "b", "b", "c", "a"], ["a", "b", "c", "c", "b"]
    assert accuracy(predicted, actual) == clustered_rate([1, 1, 0, 1, 0])
    at_80 = clustered_rate([1, 1, 0, 1, 0], confidence=0.8)
    assert accuracy(predicted, actual, confidence=0.8) == at_80
    pages = ["x", "x", "y", "y", "z"]
    assert accuracy(predicted, actual, clusters=pages) == clustered_rate([1, 1, 0, 1, 0], pages)


def test_without_a_truth_a_case_does_not_count_and_without_an_answer_it_is_wrong():
    assert accuracy([1, None, 1, None], [1, 1, None, None]) == clustered_rate([1, 0])
    pages = ["x", "y", "z", "z"]
    found = accuracy([1, None, 1, None], [1, 1, None, None], clusters=pages)
    assert found == clustered_rate([1, 0], ["x", "y"])
    assert accuracy([1], [None]) is None
    assert accuracy([], []) is None
    assert accuracy([], [], clusters=[]) is None
    with pytest.raises(ValueError, match="2 answers for 1"):
        accuracy([1, 2], [1])
