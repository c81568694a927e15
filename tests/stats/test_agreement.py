"""Coefficients of agreement against published examples, and what they must do at the edges."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uiproof.stats.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha, majority

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", example C: four observers.
_OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)
_UNITS = list(zip(*_OBSERVERS, strict=True))

# Fleiss (1971) as ten subjects with fourteen raters each: how many chose each of five categories.
_FLEISS = (
    (0, 0, 0, 0, 14),
    (0, 2, 6, 4, 2),
    (0, 0, 3, 5, 6),
    (0, 3, 9, 2, 0),
    (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0),
    (3, 2, 6, 3, 0),
    (2, 5, 3, 2, 2),
    (6, 5, 2, 1, 0),
    (0, 2, 2, 3, 7),
)

labels = st.sampled_from(["yes", "no", "maybe"])


@pytest.mark.parametrize(
    ("level", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_the_published_example(level, expected):
    assert krippendorff_alpha(_UNITS, level=level).value == pytest.approx(expected, abs=5e-4)


def test_fleiss_kappa_of_the_published_example():
    items = [[kind for kind, n in enumerate(row) for _ in range(n)] for row in _FLEISS]
    assert fleiss_kappa(items).value == pytest.approx(0.210, abs=5e-4)


def test_cohen_kappa_of_a_two_by_two_table():
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = cohen_kappa(first, second)
    assert found.value == pytest.approx(0.4)
    assert found.n == 50
    assert found.low < 0.4 < found.high


def test_items_that_one_of_two_people_left_out_do_not_count():
    assert cohen_kappa([1, 1, 2, None], [1, 2, 2, 2]) == cohen_kappa([1, 1, 2], [1, 2, 2])


@given(st.lists(st.tuples(labels, labels), min_size=2, max_size=30))
def test_two_people_agree_with_each_other_as_much_either_way(pairs):
    first, second = zip(*pairs, strict=True)
    one = cohen_kappa(first, second, resamples=1).value
    other = cohen_kappa(second, first, resamples=1).value
    assert one is other is None or one == pytest.approx(other)


@given(st.lists(labels, min_size=2, max_size=30).filter(lambda row: len(set(row)) > 1))
def test_who_always_agrees_agrees_completely(row):
    items = [[label] * 3 for label in row]
    for found in (fleiss_kappa(items), krippendorff_alpha(items), cohen_kappa(row, row)):
        assert found.value == pytest.approx(1)
        assert found.high == pytest.approx(1)


def test_labels_at_random_agree_by_chance_only():
    chance = random.Random(1)
    items = [[chance.randrange(3) for _ in range(3)] for _ in range(3000)]
    for found in (fleiss_kappa(items, resamples=200), krippendorff_alpha(items, resamples=200)):
        assert abs(found.value) < 0.03
        assert found.low < 0.01
        assert found.high > -0.01


def test_where_only_one_label_was_ever_given_nothing_can_be_said():
    assert cohen_kappa([1, 1], [1, 1]).value is None
    assert fleiss_kappa([[1, 1], [1, 1]]).value is None
    assert krippendorff_alpha([[1, 1], [1, 1]]).value is None
    assert krippendorff_alpha([[1, None], [None, 2]]).value is None
    assert fleiss_kappa([]).n == 0


def test_ordinal_labels_must_be_numbers():
    with pytest.raises(ValueError, match="must be numbers"):
        krippendorff_alpha([["a", "b"]], level="ordinal")


def test_the_majority_is_what_more_people_said_than_anything_else():
    assert majority(["a", "b", "a"]) == "a"
    assert majority(["a", "b", None]) is None
    assert majority([None]) is None
