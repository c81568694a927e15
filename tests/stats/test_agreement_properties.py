"""What must hold for the agreement of any labels."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uiproof.stats.agreement import (
    by_item,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    majority,
    pairwise_kappa,
)

# No deadline: the machine may be busy, and what is tested here is not how fast it is.
anything = settings(deadline=None, max_examples=60)
labels = st.sampled_from([1, 2, 3])
some_labels = st.none() | labels
tables = st.integers(2, 5).flatmap(
    lambda people: st.lists(
        st.lists(some_labels, min_size=people, max_size=people), min_size=1, max_size=15
    )
)


def coefficients(items, **options):
    """Every coefficient of a table of labels with a column for each person."""
    first, second = [item[0] for item in items], [item[1] for item in items]
    yield cohen_kappa(first, second, **options)
    yield cohen_kappa(first, second, weights="linear", **options)
    yield fleiss_kappa(items, **options)
    for level in ("nominal", "ordinal", "interval"):
        yield krippendorff_alpha(items, level=level, **options)


def same(one, other):
    return one is other is None or one == pytest.approx(other)


@anything
@given(tables, st.sampled_from([0.02, 0.95]))
def test_the_value_is_at_most_one_and_inside_of_its_interval(items, confidence):
    for found in coefficients(items, resamples=50, confidence=confidence):
        if found.value is None:
            assert found.low is found.high is None
        elif found.low is not None:
            assert found.low <= found.value <= found.high <= 1 + 1e-9


@anything
@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_items_and_people_changes_nothing_not_even_the_bounds(items, chance):
    rows, others = list(range(len(items))), list(range(2, len(items[0])))
    chance.shuffle(rows)
    chance.shuffle(others)
    columns = [1, 0, *others]  # the two of Cohen change places
    shuffled = [[items[row][column] for column in columns] for row in rows]
    found = coefficients(items, resamples=50)
    for one, other in zip(found, coefficients(shuffled, resamples=50), strict=True):
        assert one == other


@anything
@given(tables, st.permutations(["x", "y", "z"]))
def test_what_labels_are_called_changes_nothing(items, names):
    def called(label):
        return None if label is None else names[label - 1]

    renamed = [[called(label) for label in item] for item in items]
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        one, other = coefficient(items, resamples=1), coefficient(renamed, resamples=1)
        assert same(one.value, other.value)
        assert one.n == other.n
    ordinal = krippendorff_alpha(items, level="ordinal", resamples=1)
    renamed_ordinal = krippendorff_alpha(renamed, level="ordinal", order=names, resamples=1)
    assert same(ordinal.value, renamed_ordinal.value)


@anything
@given(tables)
def test_a_scale_that_is_turned_around_changes_nothing(items):
    turned = [[None if label is None else -label for label in item] for item in items]
    for one, other in zip(
        coefficients(items, resamples=1), coefficients(turned, resamples=1), strict=True
    ):
        assert same(one.value, other.value)


@anything
@given(st.lists(labels, min_size=2, max_size=20).filter(lambda row: len(set(row)) > 1))
def test_who_always_agrees_agrees_completely(row):
    for found in coefficients([[label] * 3 for label in row], resamples=50):
        assert found.value == pytest.approx(1)
        assert (found.low, found.high) == (None, None)  # nothing varies


@anything
@given(tables)
def test_items_that_nobody_labelled_change_nothing(items):
    padded = [[None] * len(items[0]), *items, [None] * len(items[0])]
    for one, other in zip(
        coefficients(items, resamples=20), coefficients(padded, resamples=20), strict=True
    ):
        assert one == other


@anything
@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=20))
def test_people_who_label_everything_are_paired_the_same_either_way(pairs):
    said = {name: {item: pair[k] for item, pair in enumerate(pairs)} for k, name in enumerate("ab")}
    first, second = zip(*pairs, strict=True)
    assert pairwise_kappa(said, resamples=20) == {
        ("a", "b"): cohen_kappa(first, second, resamples=20)
    }
    assert list(by_item(said).values()) == pairs


@anything
@given(st.lists(some_labels, max_size=9), st.randoms(use_true_random=False))
def test_the_majority_has_more_votes_than_any_other_and_no_order_matters(votes, chance):
    winner = majority(votes)
    given_votes = [vote for vote in votes if vote is not None]
    ranked = sorted((given_votes.count(label) for label in (1, 2, 3)), reverse=True)
    if winner is None:
        assert ranked[0] == ranked[1]
    else:
        assert given_votes.count(winner) == ranked[0] > ranked[1]
    chance.shuffle(votes)
    assert majority(votes) == winner
