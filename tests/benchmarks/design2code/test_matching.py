from __future__ import annotations

import difflib
import json
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from uiproof.benchmarks.design2code.blocks import TextBlock
from uiproof.benchmarks.design2code.matching import (
    LetterCounts,
    Match,
    Matching,
    TextSimilarity,
    assign,
    in_order,
    match_blocks,
    merge_same_box,
    ratio,
)
from uiproof.geometry import Box

# --- The algorithm as it is described, with no thought for speed --------------------------------


@cache
def described_similarity(generated: str, reference: str) -> float:
    return difflib.SequenceMatcher(None, generated, reference).ratio()


def described_costs(generated, reference):
    costs = [[-described_similarity(a.text, b.text) for b in reference] for a in generated]
    return np.array(costs).reshape(len(generated), len(reference))


def described_gain(before, after):
    before, after = Counter(before), Counter(after)
    only_before = list((before - after).elements())
    only_after = list((after - before).elements())
    if only_before and only_after and min(only_before) > min(only_after):
        return sum(only_before) / len(only_before) - sum(only_after) / len(only_after)
    return 0.0


def described_merge(blocks, i):
    a, b = blocks[i : i + 2]
    x, y = min(a.box.x, b.box.x), min(a.box.y, b.box.y)
    right, bottom = (
        max(a.box.x + a.box.w, b.box.x + b.box.w),
        max(a.box.y + a.box.h, b.box.y + b.box.h),
    )
    color = tuple((p + q) // 2 for p, q in zip(a.color, b.color, strict=True))
    merged = TextBlock(a.text + " " + b.text, Box(x, y, right - x, bottom - y), color)
    return [*blocks[:i], merged, *blocks[i + 2 :]]


def described_turn(blocks, others, *, generated):
    def matched_costs(blocks):
        costs = described_costs(*((blocks, others) if generated else (others, blocks)))
        return costs[linear_sum_assignment(costs)].tolist()

    current = matched_costs(blocks)
    candidates = []
    for i in range(len(blocks) - 1):
        gain = described_gain(current, matched_costs(described_merge(blocks, i)))
        if gain > 0.05:
            candidates.append((i, gain))
    candidates.sort(key=lambda candidate: candidate[1], reverse=True)
    chosen = []
    for i, _ in candidates:
        if all(abs(i - other) > 1 for other in chosen):
            chosen.append(i)
    for i in sorted(chosen, reverse=True):
        blocks = described_merge(blocks, i)
    return blocks, bool(chosen)


def described_matching(generated, reference):
    changed = bool(generated and reference)
    while changed:
        generated, one = described_turn(generated, reference, generated=True)
        reference, two = described_turn(reference, generated, generated=False)
        changed = one or two

    costs = described_costs(generated, reference)
    adjusted = costs.copy()
    for (i, j), cost in np.ndenumerate(costs):
        if cost < -0.5:
            around = costs[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2].ravel().tolist()
            around.remove(cost)
            adjusted[i, j] += 0.1 * sum(sorted(around)[:2])
    rows, columns = linear_sum_assignment(adjusted)
    pairs = [Match(int(i), int(j), -costs[i, j]) for i, j in zip(rows, columns, strict=True)]
    return Matching(tuple(generated), tuple(reference), tuple(pairs))


# --- Pages ---------------------------------------------------------------------------------------


def page(texts) -> list[TextBlock]:
    """Blocks with these texts, each with a box and a colour of its own."""
    return [
        TextBlock(text, Box(0.1, 0.01 * i, 0.3 + 0.001 * i, 0.008), (i % 256, 7 * i % 256, 90))
        for i, text in enumerate(texts)
    ]


# A few words only, so that there are many ties, duplicates and near-duplicates; and some whose
# similarity depends on which of them comes first.
words = st.sampled_from(
    ["a", "b", "ab", "home", "about", "about us", "pricing", "tide", "diet edit"]
)
short_texts = st.lists(words, max_size=4).map(" ".join)
long_texts = st.lists(words, min_size=35, max_size=60).map(" ".join)  # where autojunk sets in
pages = st.lists(short_texts, max_size=9) | st.lists(short_texts | long_texts, max_size=5)


@st.composite
def rewritten(draw):
    """A page and what a model might make of it: pieces split, joined, dropped, doubled, changed."""
    original = draw(st.lists(st.lists(words, min_size=1, max_size=5), min_size=1, max_size=9))
    copy: list[str] = []
    for piece in original:
        change = draw(
            st.sampled_from(["keep", "keep", "split", "join", "drop", "double", "change"])
        )
        cut = draw(st.integers(0, len(piece) - 1))
        if change == "join" and copy:
            copy[-1] += " " + " ".join(piece)
        elif change == "split" and cut:
            copy += [" ".join(piece[:cut]), " ".join(piece[cut:])]
        elif change == "change":
            copy.append(" ".join([*piece[:cut], draw(words), *piece[cut + 1 :]]))
        elif change != "drop":
            copy += [" ".join(piece)] * (2 if change == "double" else 1)
    return copy, [" ".join(piece) for piece in original]


# --- Tests ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(pages, pages)
def test_any_two_pages_are_matched_as_the_description_says(generated, reference):
    generated, reference = page(generated), page(reference)
    assert match_blocks(generated, reference) == described_matching(generated, reference)


@settings(max_examples=80, deadline=None)
@given(rewritten())
def test_a_rewritten_page_is_matched_as_the_description_says_in_both_directions(case):
    one, other = map(page, case)
    assert match_blocks(one, other) == described_matching(one, other)
    assert match_blocks(other, one) == described_matching(other, one)


@pytest.mark.parametrize("which", ["ours", "real"])
def test_blocks_merges_and_matches_are_those_of_the_reference_implementation(shared_data, which):
    oracle = json.loads((shared_data / f"data/design2code/oracle_{which}.json").read_text())

    def blocks(listed):
        return [TextBlock(b["text"], Box(*b["bbox"]), tuple(b["color"])) for b in listed]

    compared, different = 0, []
    for name, pair in oracle["pairs"].items():
        if pair.get("matching") is None:
            continue
        compared += 1
        generated, reference = (blocks(pair["blocks_raw"][side]) for side in ("gen", "ref"))
        found = match_blocks(generated, reference)
        same = (
            merge_same_box(generated) == blocks(pair["blocks_bbox_merged"]["gen"])
            and merge_same_box(reference) == blocks(pair["blocks_bbox_merged"]["ref"])
            and list(found.generated) == blocks(pair["blocks_merged"]["gen"])
            and list(found.reference) == blocks(pair["blocks_merged"]["ref"])
            and found.pairs == tuple(Match(*match) for match in pair["matching"])
        )
        if not same:
            different.append(name)
    assert compared
    assert different == []


@settings(max_examples=80, deadline=None)
@given(short_texts | long_texts, st.lists(short_texts | long_texts, min_size=1, max_size=3))
def test_similarity_is_that_of_difflib_to_the_last_bit_and_never_above_its_bound(text, others):
    similarity, letters = TextSimilarity(), LetterCounts(others)
    for other in others:
        forth = difflib.SequenceMatcher(None, text, other).ratio()
        back = difflib.SequenceMatcher(None, other, text).ratio()
        assert similarity(text, other) == forth
        assert similarity(other, text) == back
        shared = np.minimum(letters(text), letters(other)).sum()
        assert max(forth, back) <= ratio(shared, len(text) + len(other))


def test_letters_of_a_large_alphabet_share_places_and_bounds_stay_bounds():
    texts = ["".join(map(chr, range(begin, begin + 900, 3))) for begin in (0x4E00, 0x4E01, 0x4E90)]
    letters = LetterCounts(texts)
    assert len(letters(texts[0])) == 512
    for text in texts:
        assert letters(text).sum() == len(text)
        for other in texts:
            alike = difflib.SequenceMatcher(None, text, other).ratio()
            shared = np.minimum(letters(text), letters(other)).sum()
            assert alike <= ratio(shared, len(text) + len(other))


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_similarity_of_arbitrary_text_is_that_of_difflib(text, other):
    assert TextSimilarity()(text, other) == difflib.SequenceMatcher(None, text, other).ratio()
    if text != other:
        assert TextSimilarity()(text, other) < 1


@settings(max_examples=25, deadline=None)
@given(
    st.lists(short_texts | long_texts | st.text(max_size=20), min_size=9, max_size=14),
    st.lists(short_texts | long_texts | st.text(max_size=20), min_size=9, max_size=14),
)
def test_a_table_has_the_similarities_of_difflib_whatever_was_compared_before(ours, theirs):
    described = [[described_similarity(text, other) for other in theirs] for text in ours]
    similarity = TextSimilarity()
    similarity.table(ours[:4], theirs[3:])
    assert similarity.table(ours, theirs).tolist() == described
    assert similarity.table(ours[::-1], theirs).tolist() == described[::-1]
    assert [similarity(text, theirs[0]) for text in ours] == [row[0] for row in described]


def test_frequent_characters_of_a_long_reference_text_are_no_anchors():
    long = "the quick brown fox jumps over the lazy dog " * 6
    swapped = "dog lazy the over jumps fox brown quick the " * 6
    strict = difflib.SequenceMatcher(None, swapped, long, autojunk=False).ratio()
    assert TextSimilarity()(swapped, long) < strict


def test_neighbours_are_merged_when_the_other_page_has_them_in_one_piece():
    reference = page(["welcome to our little shop", "opening hours"])
    generated = page(["welcome to", "our little shop", "opening hours"])
    found = match_blocks(generated, reference)
    assert [block.text for block in found.generated] == [block.text for block in reference]
    first, second = generated[:2]
    assert found.generated[0].box == first.box.union(second.box)
    assert found.generated[0].color == (0, 3, 90)  # rounded down
    assert [(m.generated, m.reference, m.similarity) for m in found.kept()] == [
        (0, 0, 1.0),
        (1, 1, 1.0),
    ]


def test_context_decides_between_identical_texts():
    # Both "more" fit; the one beside the matched heading is the right one.
    reference = page(["chapter one is long", "more"])
    generated = page(["more", "something else entirely", "chapter one is long", "more"])
    kept = match_blocks(generated, reference).kept()
    assert [(m.generated, m.reference) for m in kept] == [(2, 0), (3, 1)]


def test_pieces_with_one_box_become_one_block_whose_colour_leans_to_the_last():
    box, other = Box(0.1, 0.2, 0.3, 0.4), Box(0.5, 0.2, 0.3, 0.4)
    blocks = [
        TextBlock("one", box, (0, 0, 0)),
        TextBlock("apart", other, (9, 9, 9)),
        TextBlock("two", box, (100, 40, 1)),
        TextBlock("three", box, (200, 40, 0)),
    ]
    assert merge_same_box(blocks) == [
        TextBlock("one two three", box, (125, 30, 0.25)),
        TextBlock("apart", other, (9, 9, 9)),
    ]


def test_a_page_without_text_matches_nothing():
    blocks = page(["hello", "world"])
    assert match_blocks([], blocks) == Matching((), tuple(blocks), ())
    assert match_blocks(blocks, []) == Matching(tuple(blocks), (), ())
    assert match_blocks([], []).kept() == ()


def test_pairs_at_the_threshold_count_and_pairs_below_it_do_not():
    found = match_blocks(page(["ab", "wxyz"]), page(["ac", "wijk"]))
    assert [m.similarity for m in found.pairs] == [0.5, 0.25]
    assert [m.similarity for m in found.kept()] == [0.5]


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, 14), st.integers(1, 14), st.integers(0, 2**32 - 1), st.sampled_from([2, 5, 99])
)
def test_of_equally_good_assignments_it_finds_the_one_that_scipy_finds(n, m, seed, values):
    table = np.random.default_rng(seed).integers(0, values, (n, m)) / values
    found, wanted = assign(table), linear_sum_assignment(table, maximize=True)
    assert [side.tolist() for side in found] == [side.tolist() for side in wanted]


@pytest.mark.parametrize(
    ("ours", "theirs", "low", "high"),
    [
        ("sign up", "up sign", 0, 0.49),
        ("mrofepnraec", "performance", 0, 0.3),
        ("one two three four five six", "six two five four one three", 0, 0.4),
        ("contact us", "contact", 0.8, 0.9),
        ("analtyics", "analytics", 0.7, 0.9),
        ("color palette", "colour palette", 0.9, 1),
        ("今天天气很好我们去公园", "今天天气不好我们去公园", 0.85, 0.95),
        ("", "", 1, 1),
    ],
)
def test_only_what_reads_the_same_in_the_same_order_is_alike(ours, theirs, low, high):
    assert low <= in_order(ours, theirs) <= high


@given(st.text("ab c", max_size=30), st.text("ab c", max_size=30))
def test_what_reads_the_same_is_a_fraction_and_all_of_equal_texts(ours, theirs):
    assert 0 <= in_order(ours, theirs) <= 1
    assert in_order(ours, ours) == 1
