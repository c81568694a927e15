from __future__ import annotations

import importlib.util
import json
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

from uiproof.benchmarks.design2code import scores as human
from uiproof.benchmarks.design2code.scores import coefficients, human_score, preference_probability

REPOSITORY = Path(__file__).resolve().parents[3]
WEIGHTS = Path(human.__file__).with_name("human_weights.json")
GOOD = {"block_match": 0.9, "text": 0.97, "position": 0.9, "color": 0.8, "clip": 0.9}
POOR = {"block_match": 0.7, "text": 0.99, "position": 0.7, "color": 0.7, "clip": 0.8}


@pytest.mark.parametrize("clip", [True, False])
def test_perfect_pages_score_1_and_nothing_scores_0(clip):
    assert human_score(1, 1, 1, 1, 1 if clip else None) == pytest.approx(1)
    assert human_score(0, 0, 0, 0, 0 if clip else None) == 0


@pytest.mark.parametrize("variant", ["with_clip", "without_clip"])
def test_no_score_lowers_the_composite_when_it_gets_better(variant):
    weights = coefficients(variant)
    assert set(weights) == {"block_match", "text", "position", "color"} | (
        {"clip"} if variant == "with_clip" else set()
    )
    assert min(weights.values()) >= 0


def test_the_score_is_the_normalised_weighted_mean():
    weights = coefficients("with_clip")
    expected = sum(weights[k] * GOOD[k] for k in weights) / sum(weights.values())
    assert human_score(**GOOD) == pytest.approx(expected)
    assert human_score(**{**GOOD, "clip": None}) != pytest.approx(expected)


def test_a_page_of_which_hardly_any_text_is_matched_scores_less():
    one_word = {**GOOD, "block_match": 0.01}
    assert human_score(**one_word) < 0.2 * human_score(**{**GOOD, "block_match": 0.05})


def test_preference_turns_around_when_the_pages_are_swapped():
    share = preference_probability(GOOD, POOR)
    assert share > 0.9
    assert preference_probability(POOR, GOOD) == pytest.approx(1 - share)
    assert preference_probability(GOOD, GOOD) == 0.5


def test_preference_ranks_as_the_score_does():
    difference = human_score(**GOOD) - human_score(**POOR)
    share = preference_probability(GOOD, POOR)
    assert log(share / (1 - share)) == pytest.approx(
        difference * sum(coefficients("with_clip").values())
    )


def test_preference_leaves_clip_out_unless_both_pages_have_it():
    without = {**POOR, "clip": None}
    weights = coefficients("without_clip")
    logit = sum(weights[k] * (GOOD[k] - POOR[k]) for k in weights)
    assert preference_probability(GOOD, without) == pytest.approx(1 / (1 + exp(-logit)))


def test_a_missing_score_other_than_clip_is_an_error():
    with pytest.raises(ValueError, match="position"):
        preference_probability({**GOOD, "position": None}, POOR)


def test_the_shipped_file_says_how_the_weights_came_about():
    shipped = json.loads(WEIGHTS.read_text("utf-8"))
    assert (shipped["data"]["votes"], shipped["data"]["pages"]) == (588, 100)
    assert shipped["with_clip"]["equal_weights"] == {
        "auc": pytest.approx(0.763, abs=0.001),
        "accuracy": pytest.approx(0.730, abs=0.001),
    }
    for variant in ("with_clip", "without_clip"):
        agreement = shipped[variant]["agreement"]
        assert agreement["auc"] > shipped[variant]["equal_weights"]["auc"]
        assert agreement["auc"] > shipped[variant]["unconstrained"]["auc"] - 0.002
        low, high = agreement["auc_interval"]
        assert low < agreement["auc"] < high


def test_the_script_fits_the_shipped_coefficients_on_the_published_votes(shared_data):
    data = shared_data / "data" / "design2code"
    path = REPOSITORY / "scripts" / "fit_human_composite.py"
    specification = importlib.util.spec_from_file_location("fit_human_composite", path)
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    deltas, votes, pages = script.load(
        data / "human_votes.json", data / "published_scores_484x9.json"
    )
    assert (len(votes), len(np.unique(pages))) == (588, 100)
    shipped = json.loads(WEIGHTS.read_text("utf-8"))
    for variant, columns in (("with_clip", 5), ("without_clip", 4)):
        penalty = shipped[variant]["agreement"]["penalty"]
        fitted = script.fit(deltas[:, :columns], votes, penalty, signed=False)
        assert fitted == pytest.approx(list(coefficients(variant).values()), abs=0.01)
    held_out = script.held_out(deltas, votes, pages, 0, 3.1623, signed=False)
    assert script.auc(held_out, votes) == pytest.approx(0.80, abs=0.01)
    # The baseline that it has to beat, and the rank statistic behind both.
    assert script.auc(deltas.mean(axis=1), votes) == pytest.approx(0.763, abs=0.001)


@pytest.mark.parametrize("clip", [None, 1.0])
def test_all_ones_give_exactly_one_and_rounding_never_more(clip):
    assert human_score(1.0, 1.0, 1.0, 1.0, clip) == 1.0
    assert human_score(1.0000000000000002, 1.0, 1.0, 1.0, clip) == 1.0
    assert human_score(0.0, 0.0, 0.0, 0.0, clip and 0.0) == 0.0
