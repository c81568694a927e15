"""The four scores that Design2Code takes from matched text blocks, and a strict version of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, fsum
from typing import Any, Literal

import numpy as np

from uiproof.benchmarks.design2code.blocks import TextBlock
from uiproof.benchmarks.design2code.matching import Match, Matching
from uiproof.geometry import Box
from uiproof.vision.colour import Floats, ciede2000, srgb_to_lab

_FARTHEST_COLOR = 100  # the CIEDE2000 difference at and above which colours have nothing in common


@dataclass(frozen=True, slots=True)
class BlockScores:
    """Scores of the text blocks of a generated page against the reference; all in 0-1."""

    block_match: float
    text: float
    position: float
    color: float


_NOTHING_MATCHED = BlockScores(0.0, 0.0, 0.0, 0.0)


def block_scores(matching: Matching) -> BlockScores:
    """Return the scores as the paper's reference implementation computes them.

    `block_match` is the area of matched blocks over the area of all blocks, on both pages together;
    `text`, `position` and `color` are plain means over matched pairs only, so that they say nothing
    about what is missing. All are 0 if nothing matched.
    """
    kept = matching.kept()
    if not kept:
        return _NOTHING_MATCHED
    matched = [_areas(matching, match) for match in kept]
    unmatched = _unmatched_area(matching)
    # numpy's order of summation, with what is unmatched first, gives the published last digits,
    # but for those that make all blocks together more or less than all of them.
    area = _share(float(np.sum(matched)), float(np.sum([unmatched, *matched])))
    return BlockScores(
        block_match=clamped(area) if unmatched else 1.0,
        text=clamped(np.mean([match.similarity for match in kept])),
        position=clamped(np.mean(positions(matching, kept))),
        color=clamped(np.mean(colors(matching, kept))),
    )


def strict_block_scores(matching: Matching, places: Sequence[float] | None = None) -> BlockScores:
    """Return the scores with everything that found no partner, on either page, counted as 0.

    With A the generated and B the reference blocks, and sums over matched pairs (a, b):

        block_match = sum(v * (area(a) + area(b))) / (area(A) + area(B))
        text        = sum(v * similarity * (len(a) + len(b))) / (characters of A + characters of B)
        position    = sum(v * 2 * position_similarity(a, b)) / (blocks in A + blocks in B)
        color       = sum(v * 2 * color_similarity(a, b)) / (blocks in A + blocks in B)

    where v = min(legibility(a) / legibility(b), 1): text that can hardly be read is worth little,
    unless the reference's is no better.

    Text is weighted by characters because that makes it the paper's own Dice coefficient, twice the
    shared characters over all characters, of the two pages as wholes. Position and colour are
    decisions made once for each block, whatever its length, so every block has one vote, and either
    score is the paper's mean times the share of blocks that found a partner. Area weighs in
    `block_match` only, so that a large headline cannot dominate all four scores at once.

    Identical pages score exactly 1 and pages with nothing in common exactly 0.

    `places` are the position similarities of the kept pairs, where they are not those of the boxes.
    """
    kept = matching.kept()
    if not kept:
        return _NOTHING_MATCHED
    blocks = (*matching.generated, *matching.reference)
    pairs = _blocks(matching, kept)
    worth = [_worth(ours, theirs) for ours, theirs in pairs]
    areas = [_areas(matching, match) for match in kept]
    matched_text = fsum(
        value * match.similarity * (len(ours.text) + len(theirs.text))
        for value, match, (ours, theirs) in zip(worth, kept, pairs, strict=True)
    )
    return BlockScores(
        block_match=clamped(
            _share(_weighted(worth, areas), fsum(areas) + _unmatched_area(matching))
        ),
        text=clamped(_share(matched_text, sum(len(block.text) for block in blocks))),
        position=clamped(
            2
            * _weighted(worth, positions(matching, kept) if places is None else places)
            / len(blocks)
        ),
        color=clamped(2 * _weighted(worth, colors(matching, kept)) / len(blocks)),
    )


def _worth(ours: TextBlock, theirs: TextBlock) -> float:
    """Return what a match is worth: 1, or less where our text is harder to read than theirs."""
    if ours.legibility >= theirs.legibility:
        return 1.0
    return ours.legibility / theirs.legibility


def _weighted(weights: Sequence[float], values: Iterable[float]) -> float:
    return fsum(weight * value for weight, value in zip(weights, values, strict=True))


def clamped(score: float | np.floating[Any]) -> float:
    """Return a score without what rounding adds to it: never below 0 or above 1."""
    return min(max(float(score), 0.0), 1.0)


def position_similarity(a: Box, b: Box) -> float:
    """Return 1 minus the larger of the horizontal and vertical distance of the centres."""
    (ax, ay), (bx, by) = a.centre, b.centre
    return 1 - max(abs(bx - ax), abs(by - ay))


def color_similarity(rgb_a: tuple[float, float, float], rgb_b: tuple[float, float, float]) -> float:
    """Return 1 for equal colours, falling to 0 at a CIEDE2000 difference of 100."""
    return float(_color_similarities([rgb_a], [rgb_b])[0])


def _color_similarities(
    ours: Sequence[tuple[float, float, float]], theirs: Sequence[tuple[float, float, float]]
) -> Floats:
    difference = ciede2000(srgb_to_lab(ours), srgb_to_lab(theirs))
    similarities: Floats = np.maximum(1 - difference / _FARTHEST_COLOR, 0)
    return similarities


def _blocks(matching: Matching, kept: Sequence[Match]) -> list[tuple[TextBlock, TextBlock]]:
    return [(matching.generated[m.generated], matching.reference[m.reference]) for m in kept]


def positions(matching: Matching, kept: Sequence[Match]) -> list[float]:
    """Return the `position_similarity` of each pair."""
    return [position_similarity(a.box, b.box) for a, b in _blocks(matching, kept)]


def colors(matching: Matching, kept: Sequence[Match]) -> Floats:
    """Return the `color_similarity` of each pair."""
    pairs = _blocks(matching, kept)
    if not pairs:
        return np.zeros(0)
    return _color_similarities([a.color for a, _ in pairs], [b.color for _, b in pairs])


def _areas(matching: Matching, match: Match) -> float:
    ours, theirs = matching.generated[match.generated], matching.reference[match.reference]
    return ours.box.area + theirs.box.area


def _unmatched_area(matching: Matching) -> float:
    kept = matching.kept()
    ours, theirs = {m.generated for m in kept}, {m.reference for m in kept}
    return sum(block.box.area for i, block in enumerate(matching.generated) if i not in ours) + sum(
        block.box.area for i, block in enumerate(matching.reference) if i not in theirs
    )


def _share(part: float, whole: float) -> float:
    # Blocks without any extent leave nothing to be missed.
    return part / whole if whole else 1.0


Variant = Literal["with_clip", "without_clip"]
LEAST_MATCHED = 0.05  # of the area of all texts; below it, `human` falls to 0
MOST_TEXT = 2  # times as many letters as the reference has; beyond it, `human` falls, too


def human_score(
    block_match: float, text: float, position: float, color: float, clip: float | None
) -> float:
    """Return the weighted mean of the scores: 1 is perfect, 0 is nothing.

    Position and colour are those of matched texts, be there only one: a page of which hardly any
    text is matched gets less.

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
    matched = min(block_match / LEAST_MATCHED, 1.0)
    return min(max(_weighted_sum(scores, weights) / best, 0.0), 1.0) * matched


def preference_probability(a: Mapping[str, float | None], b: Mapping[str, float | None]) -> float:
    """Predict the share of people who prefer page a to page b, both of one reference.

    Takes the `paper` scores of both, as records hold them. CLIP counts if both have it.
    """
    both = None if a.get("clip") is None or b.get("clip") is None else 0.0
    weights = coefficients(variant(both))
    return 1 / (1 + exp(_weighted_sum(b, weights) - _weighted_sum(a, weights)))


def variant(clip: float | None) -> Variant:
    """Return which weights go with a CLIP score that was measured, or was not."""
    return "without_clip" if clip is None else "with_clip"


@cache
def coefficients(variant: Variant) -> Mapping[str, float]:
    """Return the fitted logistic coefficients, by score."""
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
