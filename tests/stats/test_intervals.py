from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from uiproof.stats.intervals import Interval, bounds_text, paired_permutation, percent_bounds


def test_bounds_are_printed_in_brackets_and_never_without_a_width():
    assert bounds_text(0.8123, 0.9) == "[0.812, 0.900]"
    assert bounds_text(-1.25, 3.0, 1, "+") == "[-1.2, +3.0]"
    assert bounds_text(None, 1.0) == bounds_text(0.0, None) == ""
    # Of 100,000 elements one was missed: three digits would say that nothing can go wrong.
    assert bounds_text(0.99994, 0.9999997) == "[0.9999, 1.0000]"
    assert bounds_text(0.99991, 0.99994) == "[0.99991, 0.99994]"
    assert bounds_text(1.0, 1.0) == "[1.000, 1.000]"
    assert percent_bounds(Interval(0.5, 0.25, 0.75, 4)) == "[25.0, 75.0]"
    assert percent_bounds(Interval(0.5, None, None, 4)) == percent_bounds(None) == ""


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
