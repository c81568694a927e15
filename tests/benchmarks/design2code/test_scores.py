from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uiproof.benchmarks.design2code.blocks import TextBlock
from uiproof.benchmarks.design2code.matching import (
    Match,
    Matching,
    match_blocks,
    match_with_itself,
)
from uiproof.benchmarks.design2code.scores import (
    BlockScores,
    block_scores,
    color_similarity,
    position_similarity,
    strict_block_scores,
)
from uiproof.geometry import Box

BLACK, WHITE = (0.0, 0.0, 0.0), (255.0, 255.0, 255.0)
NOTHING = BlockScores(0.0, 0.0, 0.0, 0.0)


def block(text, *, box=(0.0, 0.0, 0.2, 0.1), color=BLACK) -> TextBlock:
    return TextBlock(text, Box(*box), color)


fractions = st.floats(0.01, 0.4)
colors = st.tuples(*[st.integers(0, 255)] * 3)
some_blocks = st.lists(
    st.builds(
        TextBlock,
        st.text("abc ", min_size=1, max_size=8),
        st.builds(Box, fractions, fractions, fractions, fractions),
        colors,
    ),
    max_size=6,
)


@pytest.mark.parametrize("which", ["ours", "real"])
def test_scores_are_those_of_the_reference_implementation(shared_data, which):
    oracle = json.loads((shared_data / f"data/design2code/oracle_{which}.json").read_text())

    def blocks(listed):
        return tuple(TextBlock(b["text"], Box(*b["bbox"]), tuple(b["color"])) for b in listed)

    compared = 0
    for name, pair in oracle["pairs"].items():
        if pair.get("matching") is None:
            continue
        merged = pair["blocks_merged"]
        pairs = tuple(Match(*match) for match in pair["matching"])
        scores = asdict(block_scores(Matching(blocks(merged["gen"]), blocks(merged["ref"]), pairs)))
        expected = {key: pair["scores"][key] for key in scores}
        assert scores == pytest.approx(expected, abs=1e-12), name
        compared += 1
    assert compared


def test_the_paper_scores_are_means_over_matched_pairs_and_ignore_what_is_missing():
    generated = (block("abcd"), block("new", box=(0.5, 0.5, 0.1, 0.1)))
    reference = (block("abcx", box=(0.1, 0.3, 0.2, 0.1), color=WHITE), block("gone"))
    scores = block_scores(Matching(generated, reference, (Match(0, 0, 0.75), Match(1, 1, 0.2))))
    assert scores.block_match == pytest.approx(0.04 / (0.04 + 0.01 + 0.02))
    assert scores.text == 0.75
    assert scores.position == pytest.approx(0.7)
    assert scores.color == pytest.approx(0.0, abs=1e-6)


def test_the_strict_scores_count_unmatched_blocks_of_both_pages_as_zero():
    generated = (block("abcd"), block("new", box=(0.5, 0.5, 0.1, 0.1)))
    reference = (block("abcx", box=(0.1, 0.3, 0.2, 0.1)), block("gone"))
    matching = Matching(generated, reference, (Match(0, 0, 0.75), Match(1, 1, 0.2)))
    paper, strict = block_scores(matching), strict_block_scores(matching)
    assert strict.block_match == pytest.approx(paper.block_match)
    assert strict.text == pytest.approx(
        0.75 * 8 / 15
    )  # 8 of the 15 characters are in a matched pair
    assert strict.position == pytest.approx(paper.position / 2)  # 2 of the 4 blocks are
    assert strict.color == pytest.approx(paper.color / 2)


@settings(max_examples=60, deadline=None)
@given(some_blocks, some_blocks)
def test_strict_scores_lie_between_nothing_and_the_paper_scores_where_those_are_means(ours, theirs):
    matching = match_blocks(ours, theirs)
    paper, strict = block_scores(matching), strict_block_scores(matching)
    assert 0 <= strict.position <= paper.position + 1e-12
    assert 0 <= strict.color <= paper.color + 1e-12
    assert 0 <= strict.text <= 1
    assert strict.block_match == pytest.approx(paper.block_match)


@settings(max_examples=60, deadline=None)
@given(some_blocks.filter(bool))
def test_a_page_compared_with_itself_scores_exactly_one_in_block_match_and_text(blocks):
    strict = strict_block_scores(match_blocks(blocks, blocks))
    assert strict.block_match == 1.0
    assert strict.text == 1.0


@settings(max_examples=60, deadline=None)
@given(some_blocks.filter(bool))
def test_a_page_with_distinct_texts_compared_with_itself_scores_exactly_one_in_everything(blocks):
    distinct = list({b.text: b for b in blocks}.values())
    assert strict_block_scores(match_blocks(distinct, distinct)) == BlockScores(1.0, 1.0, 1.0, 1.0)


@settings(max_examples=60, deadline=None)
@given(some_blocks, some_blocks)
def test_all_scores_are_fractions_to_the_last_bit(ours, theirs):
    for scores in (block_scores, strict_block_scores):
        for matching in (match_blocks(ours, theirs), match_blocks(ours, ours)):
            assert all(0 <= score <= 1 for score in asdict(scores(matching)).values())


@settings(max_examples=60, deadline=None)
@given(some_blocks.filter(bool))
def test_where_every_block_has_a_partner_the_paper_finds_exactly_all_of_the_area(blocks):
    # Sums of the same areas in another order are off by a bit, to either side.
    assert block_scores(match_with_itself(blocks)).block_match == 1.0


def test_text_that_is_harder_to_read_than_the_references_is_worth_less():
    faint = replace(block("abcd"), legibility=0.25)
    clear = block("abcd")
    pairs = (Match(0, 0, 1.0),)
    assert strict_block_scores(Matching((faint,), (clear,), pairs)) == BlockScores(*[0.25] * 4)
    for same_or_better in ((faint, faint), (clear, faint)):
        ours, theirs = same_or_better
        assert strict_block_scores(Matching((ours,), (theirs,), pairs)) == BlockScores(*[1.0] * 4)


def test_nothing_matched_scores_exactly_zero():
    for matching in (
        Matching((), (), ()),
        Matching((block("a"),), (), ()),
        Matching((block("a"),), (block("b"),), (Match(0, 0, 0.0),)),
    ):
        assert block_scores(matching) == NOTHING
        assert strict_block_scores(matching) == NOTHING


def test_blocks_without_extent_do_not_break_the_scores():
    flat = (block("thin", box=(0.1, 0.1, 0.3, 0.0)),)
    assert block_scores(match_blocks(flat, flat)) == BlockScores(1.0, 1.0, 1.0, 1.0)


def test_position_is_judged_by_the_larger_shift_of_the_centres():
    assert position_similarity(Box(0, 0, 0.2, 0.2), Box(0.05, 0.05, 0.1, 0.1)) == 1
    shifted = position_similarity(Box(0, 0, 0.2, 0.2), Box(0.3, 0.1, 0.2, 0.2))
    assert shifted == pytest.approx(0.7)


def test_colour_similarity_falls_from_one_for_equal_colours_to_zero_for_opposite_ones():
    assert color_similarity((12, 200, 7), (12, 200, 7)) == 1
    assert color_similarity(BLACK, WHITE) == pytest.approx(0, abs=1e-6)
    near, far = color_similarity(BLACK, (20, 20, 20)), color_similarity(BLACK, (120, 20, 20))
    assert 1 > near > far > 0
