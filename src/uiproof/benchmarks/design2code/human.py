"""The human-calibrated composite: the Design2Code scores weighted as people's votes weigh them.

    human_score(block_match=0.9, text=0.98, position=0.85, color=0.8, clip=0.88)   # 0.86…
    preference_probability(record_a.scores["paper"], record_b.scores["paper"])

The weights stand in `human_weights.json` with how they came about and how well they agree with
people. They were fitted on scores of the `paper` profile; the judge gives the composite the same
scores of what is seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from math import exp
from typing import Literal

Variant = Literal["with_clip", "without_clip"]


def human_score(
    block_match: float, text: float, position: float, color: float, clip: float | None
) -> float:
    """The weighted mean of the scores: 1 is perfect, 0 is nothing.

    Without a CLIP score the weights of the variant without CLIP are used. The two variants are
    different scales: never average or compare one with the other.
    """
    scores = {
        "block_match": block_match,
        "text": text,
        "position": position,
        "color": color,
        "clip": clip,
    }
    weights = coefficients(variant(clip))
    # Summed up in the same way above and below, so that all ones give exactly 1.
    best = _weighted_sum(dict.fromkeys(weights, 1.0), weights)
    return min(max(_weighted_sum(scores, weights) / best, 0.0), 1.0)


def preference_probability(a: Mapping[str, float | None], b: Mapping[str, float | None]) -> float:
    """The predicted share of people who would prefer page a over page b, both of one reference.

    Takes the `paper` scores of both, as records hold them. CLIP counts if both have it.
    """
    both = None if a.get("clip") is None or b.get("clip") is None else 0.0
    weights = coefficients(variant(both))
    return 1 / (1 + exp(_weighted_sum(b, weights) - _weighted_sum(a, weights)))


def variant(clip: float | None) -> Variant:
    """Which weights go with a CLIP score that was measured, or was not."""
    return "without_clip" if clip is None else "with_clip"


@cache
def coefficients(variant: Variant) -> Mapping[str, float]:
    """The fitted logistic coefficients, by score."""
    data = json.loads(files(__package__).joinpath("human_weights.json").read_text("utf-8"))
    return {name: float(weight) for name, weight in data[variant]["coefficients"].items()}


def _weighted_sum(scores: Mapping[str, float | None], weights: Mapping[str, float]) -> float:
    total = 0.0
    for name, weight in weights.items():
        score = scores.get(name)
        if score is None:
            raise ValueError(f"the score {name} is needed and was not measured")
        total += weight * score
    return total
