from __future__ import annotations

import difflib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from uiproof.benchmarks.design2code import gestalt
from uiproof.benchmarks.design2code.gestalt import paired_characters

WORDS = [
    "the",
    "theme",
    "tide",
    "diet edit",
    "a",
    "aa",
    "home",
    "about us",
    "",
    "été",
    "日本",
    "😀",
]
few_letters = st.text("ab", max_size=30)  # many runs that overlap and are equally long
some_letters = st.text("abcd ", max_size=60)
sentences = st.lists(st.sampled_from(WORDS), max_size=18).map(" ".join)
texts = few_letters | some_letters | sentences | st.text(max_size=40)


def described(first, second):
    return [
        [
            sum(
                match.size
                for match in difflib.SequenceMatcher(
                    None, a, b, autojunk=False
                ).get_matching_blocks()
            )
            for b in second
        ]
        for a in first
    ]


@settings(max_examples=150, deadline=None)
@given(st.lists(texts, max_size=6), st.lists(texts, max_size=6))
@example(["ab", "acab", ""], ["acab", "ab", ""])  # no prefix may be taken before a longer run
@example(["\0", "a\0b", "\ud800a"], ["\0", "a\0b", "\ud800a", "\U0010ffff"])
@example(["x" * 40, "xy" * 30], ["x" * 199, "yx" * 99])
def test_as_many_characters_are_paired_as_by_difflib(first, second):
    found = paired_characters(first, second)
    assert found.shape == (len(first), len(second))
    assert found.tolist() == (described(first, second) if second else [[]] * len(first))


@settings(max_examples=30, deadline=None)
@given(st.text("abc", max_size=900), st.text("abc", max_size=199))
def test_a_long_first_text_is_compared_as_difflib_does(first, second):
    assert paired_characters([first], [second]).tolist() == described([first], [second])


@settings(max_examples=30, deadline=None)
@given(
    st.lists(texts, max_size=9), st.lists(texts, max_size=9), st.sampled_from([1, 50, 500, 5_000])
)
def test_large_tables_in_small_parts_are_the_same(first, second, cells):
    whole = paired_characters(first, second)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gestalt, "_MAX_CELLS", cells)
        assert paired_characters(first, second).tolist() == whole.tolist()


def test_second_texts_for_which_difflib_ignores_frequent_characters_are_refused():
    with pytest.raises(ValueError, match="fewer than 200"):
        paired_characters(["a"], ["b", "c" * 200])
