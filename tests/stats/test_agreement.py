"""Coefficients of agreement against published examples, statsmodels and their definitions."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest

from uiproof.stats.agreement import (
    by_item,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    majority,
    pairwise_kappa,
)

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
_OUTCOMES = ("lose", "tie", "win")


def labelled(n, people, kinds, *, right=0.7, missing=0.0, seed=0):
    """Labels of people who know the truth, or guess, or say nothing."""
    chance = random.Random(seed)

    def label(truth):
        if chance.random() < missing:
            return None
        return truth if chance.random() < right else chance.choice(kinds)

    return [[label(truth) for _ in range(people)] for truth in chance.choices(kinds, k=n)]


def alpha_by_definition(items, level):
    """One minus the mean distance within items over that between any two labels, pair by pair."""
    units = [[label for label in item if label is not None] for item in items]
    units = [unit for unit in units if len(unit) > 1]
    everything = [label for unit in units for label in unit]

    def distance(a, b):
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return float((a - b) ** 2)
        between = sum(min(a, b) <= label <= max(a, b) for label in everything)
        return (between - (everything.count(a) + everything.count(b)) / 2) ** 2 if a != b else 0.0

    within = sum(
        sum(distance(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units
    ) / len(everything)
    pairs = [distance(a, b) for a, b in permutations(everything, 2)]
    return 1 - within / (sum(pairs) / len(pairs))


@pytest.mark.parametrize(
    ("level", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_the_published_example(level, expected):
    found = krippendorff_alpha(_UNITS, level=level)
    assert found.value == pytest.approx(expected, abs=5e-4)
    assert found.n == 11  # the last unit has one value only
    assert found.low < found.value < found.high


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_alpha_is_what_its_definition_says(level, missing):
    items = labelled(25, 4, (1, 2, 4, 9), missing=missing, seed=3)
    found = krippendorff_alpha(items, level=level, resamples=10)
    assert found.value == pytest.approx(alpha_by_definition(items, level))


def test_alpha_takes_words_on_an_ordinal_scale():
    items = labelled(60, 3, _OUTCOMES, missing=0.1)
    numbers = [[_OUTCOMES.index(one) if one else None for one in item] for item in items]
    found = krippendorff_alpha(items, level="ordinal", order=_OUTCOMES)
    assert found == krippendorff_alpha(numbers, level="ordinal")
    # To win where another loses is worse than to win where another sees a tie.
    near = [["win", "tie"], ["lose", "lose"], ["win", "win"], ["tie", "tie"]]
    far = [["win", "lose"], ["lose", "lose"], ["win", "win"], ["tie", "tie"]]
    values = [krippendorff_alpha(x, level="ordinal", order=_OUTCOMES).value for x in (near, far)]
    assert values[0] > values[1]


def test_numbers_of_different_types_keep_their_order():
    whole = krippendorff_alpha([[1, 2], [2, 4], [4, 4], [1, 1]], level="ordinal")
    mixed = krippendorff_alpha([[1, 1.5], [1.5, np.int64(2)], [2, 2], [1, 1]], level="ordinal")
    assert mixed.value == pytest.approx(whole.value)


def test_the_unit_of_a_scale_does_not_matter():
    items = labelled(30, 3, (1, 2, 5))
    tiny = [[label * 1e-9 for label in item] for item in items]
    one, other = (krippendorff_alpha(x, level="interval") for x in (items, tiny))
    assert other == pytest.approx(one)


def test_fleiss_kappa_is_that_of_statsmodels_and_of_the_published_example():
    from statsmodels.stats import inter_rater

    items = [[kind for kind, n in enumerate(row) for _ in range(n)] for row in _FLEISS]
    found = fleiss_kappa(items)
    assert found.value == pytest.approx(0.210, abs=5e-4)
    assert found.value == pytest.approx(inter_rater.fleiss_kappa(np.array(_FLEISS)))
    more = labelled(300, 5, "abc")
    table, _ = inter_rater.aggregate_raters(np.array(more))
    assert fleiss_kappa(more).value == pytest.approx(inter_rater.fleiss_kappa(table))


def test_fleiss_kappa_takes_items_with_different_numbers_of_labels():
    items = labelled(50, 5, "abc", missing=0.4, seed=2)
    given = [[one for one in item if one] for item in items]
    given = [one for one in given if len(one) > 1]
    agreeing = np.mean([np.mean([a == b for a, b in permutations(one, 2)]) for one in given])
    shares = [np.mean([one.count(kind) / len(one) for one in given]) for kind in "abc"]
    chance = sum(share**2 for share in shares)
    found = fleiss_kappa(items)
    assert found.value == pytest.approx((agreeing - chance) / (1 - chance))
    assert found.n == len(given) < 50
    # One item that everyone looked at must not make the others disappear.
    assert fleiss_kappa([*labelled(40, 2, "ab"), ["a"] * 9]).n == 41


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohen_kappa_is_that_of_statsmodels(weights):
    from statsmodels.stats import inter_rater

    first, second = zip(*labelled(600, 2, (0, 1, 2, 3)), strict=True)
    table = np.zeros((4, 4))
    np.add.at(table, (first, second), 1)
    ours = cohen_kappa(first, second, weights=weights)
    theirs = inter_rater.cohens_kappa(table, wt=weights)
    assert ours.value == pytest.approx(theirs.kappa)
    assert ours.n == 600
    # Theirs is the interval for very many items; the bootstrap comes close to it.
    width = theirs.kappa_upp - theirs.kappa_low
    assert ours.low == pytest.approx(theirs.kappa_low, abs=0.08 * width)
    assert ours.high == pytest.approx(theirs.kappa_upp, abs=0.08 * width)


def test_weights_count_places_in_an_order_even_if_a_label_was_never_given():
    first, second = ["a", "a", "d", "d", "b"], ["a", "b", "d", "a", "b"]
    words = cohen_kappa(first, second, weights="linear", order="abcd")
    numbers = cohen_kappa([0, 0, 3, 3, 1], [0, 1, 3, 0, 1], weights="linear")
    assert words == numbers


def test_every_two_annotators_are_compared_on_what_both_have_labelled():
    items = dict(enumerate(labelled(80, 3, "abc", missing=0.2)))
    names = ("Ada", "Bob", "Cleo")
    labels = {
        name: {item: row[k] for item, row in items.items() if row[k] is not None}
        for k, name in enumerate(names)
    }
    found = pairwise_kappa(labels)
    assert list(found) == [("Ada", "Bob"), ("Ada", "Cleo"), ("Bob", "Cleo")]
    rows = items.values()
    assert found["Ada", "Cleo"] == cohen_kappa([row[0] for row in rows], [row[2] for row in rows])
    assert by_item(labels) == {item: tuple(row) for item, row in items.items() if any(row)}
    assert pairwise_kappa({"Ada": {1: "a"}, "Bob": {2: "a"}})["Ada", "Bob"].n == 0
    assert pairwise_kappa({"Ada": {1: "a"}}) == {}
    assert by_item({}) == {}


def test_pairwise_kappa_knows_of_clusters_and_of_an_order():
    rows = labelled(60, 2, _OUTCOMES)
    labels = {name: {item: row[k] for item, row in enumerate(rows)} for k, name in enumerate("ab")}
    pages = {item: ("page", item // 5) for item in range(60)}
    found = pairwise_kappa(labels, weights="linear", order=_OUTCOMES, clusters=pages)
    first, second = zip(*rows, strict=True)
    alone = cohen_kappa(first, second, weights="linear", order=_OUTCOMES)
    assert found["a", "b"].value == pytest.approx(alone.value)
    assert found["a", "b"].low != alone.low


def test_copies_of_an_item_in_its_cluster_say_nothing_new():
    once = labelled(60, 3, "abc", missing=0.1)
    copied, pages = [row for row in once for _ in range(10)], np.repeat(np.arange(60), 10)
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        alone, grouped = coefficient(once), coefficient(copied, clusters=pages)
        assert grouped.value == pytest.approx(alone.value, abs=0.01)
        assert grouped.low == pytest.approx(alone.low, abs=0.03)
        assert grouped.high == pytest.approx(alone.high, abs=0.03)
        assert coefficient(copied).low > alone.low + 0.05
    with pytest.raises(ValueError, match="one cluster"):
        fleiss_kappa(once, clusters=[1, 2])


def test_intervals_cover_the_truth_as_often_as_they_say():
    right = 0.7 + 0.3 / 3  # three labels: who guesses is right one time in three
    agreeing = right**2 + 2 * ((1 - right) / 2) ** 2
    truth = (agreeing - 1 / 3) / (2 / 3)
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        found = [coefficient(labelled(80, 3, "abc", seed=k), resamples=400) for k in range(200)]
        assert 0.9 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.99


def test_labels_at_random_agree_by_chance_only():
    items = labelled(3000, 3, (0, 1, 2), right=0, seed=1)
    for found in (fleiss_kappa(items), krippendorff_alpha(items)):
        assert abs(found.value) < 0.03
        assert found.low < 0.01
        assert found.high > -0.01


def test_where_only_one_label_was_ever_given_nothing_can_be_said():
    assert cohen_kappa([1, 1], [1, 1]) == (None, None, None, 2)
    assert cohen_kappa([1, 1], [1, 1], weights="linear").value is None
    assert fleiss_kappa([[1, 1], [1, 1, 1]]) == (None, None, None, 2)
    for level in ("nominal", "ordinal", "interval"):
        assert krippendorff_alpha([[1, 1], [1, 1]], level=level) == (None, None, None, 2)
    # One label in a million that differs is enough to say something.
    many = [[1, 1]] * 200_000
    assert fleiss_kappa([*many, [1, 2]], resamples=2).value == pytest.approx(0, abs=1e-5)


def test_where_no_item_has_two_labels_nothing_can_be_said():
    for items in (
        [],
        [[]],
        [[1, None], [None, 2]],
        [[1], [2]],
        [[None, None]],
        [[float("nan"), 1]],
    ):
        assert krippendorff_alpha(items) == (None, None, None, 0)
        assert fleiss_kappa(items) == (None, None, None, 0)
    assert cohen_kappa([], []) == (None, None, None, 0)
    assert cohen_kappa([None, 1], [2, None]) == (None, None, None, 0)
    assert krippendorff_alpha([[1, 2]])[1:] == (None, None, 1)  # one item has no spread
    assert fleiss_kappa([[1, 2], [2, 2]], clusters=["a", "a"])[1:] == (None, None, 2)


def test_labels_that_cannot_be_sorted_are_still_compared():
    one, other = frozenset("ab"), ("a", 1, None)
    items = [[one, one], [other, other], [one, other], [one, one]]
    letters = [["x" if label == one else "y" for label in item] for item in items]
    assert fleiss_kappa(items).value == pytest.approx(fleiss_kappa(letters).value)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="must be numbers"):
        krippendorff_alpha([["a", "b"]], level="ordinal")
    with pytest.raises(ValueError, match="every label once"):
        krippendorff_alpha([["a", "b"]], level="ordinal", order=["a", "c"])
    with pytest.raises(ValueError, match="every label once"):
        cohen_kappa(["a"], ["a"], weights="linear", order=["a", "b", "a"])
    with pytest.raises(ValueError, match="2 and 1 labels"):
        cohen_kappa([1, 2], [1])
    with pytest.raises(ValueError, match="confidence"):
        fleiss_kappa([[1, 2], [1, 1]], confidence=95)


def test_the_majority_is_what_more_people_said_than_anything_else():
    assert majority(["a", "b", "a"]) == "a"
    assert majority(["a", "b", None, "b"]) == "b"
    assert majority(["c", "a", "b", "a"]) == "a"


def test_a_tie_has_no_majority():
    assert majority(["a", "b"]) is None
    assert majority(["b", "a", "a", "b", "c"]) is None
    assert majority(["a", "b", "c"]) is None
    assert majority([None, float("nan")]) is None
    assert majority([]) is None
