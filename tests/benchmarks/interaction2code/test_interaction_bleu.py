"""The text scores: to the digit as published, and as they should be."""

from __future__ import annotations

import json

import pytest

from uiproof.benchmarks.interaction2code.judging.bleu import character_bleu, word_bleu


def test_characters_score_as_published_to_the_digit(shared_data):
    oracle = json.loads((shared_data / "data" / "interaction2code" / "oracle.json").read_text())
    for probe in oracle["bleu_probe"]:
        ours = character_bleu(probe["ref_full"], probe["cand_full"])
        assert ours == pytest.approx(probe["char_bleu"], rel=1e-12), probe["ref"]


def test_equal_texts_of_less_than_four_characters_score_next_to_nothing_as_published():
    assert 0 < character_bleu(" OK", " OK") < 1e-70
    assert character_bleu(" Log in", " Log in") == pytest.approx(1)


@pytest.mark.parametrize("score", [character_bleu, word_bleu])
def test_two_empty_texts_are_equal_and_one_empty_text_is_nothing(score):
    assert score("", "") == 1
    assert score("a text of words", "") == 0
    assert score("", "a text of words") == 0


def test_equal_texts_score_one_in_words_however_short_they_are():
    for text in ("OK", "Log in", "Add to cart now", "a b c d e f g", "登录", "!"):
        assert word_bleu(text, text) == pytest.approx(1)


def test_words_in_another_order_score_much_less_than_their_characters():
    text, shuffled = "the quick brown fox jumps over it", "it over jumps fox brown quick the"
    assert word_bleu(text, shuffled) < 0.3 < character_bleu(text, shuffled)


def test_missing_and_added_words_both_cost():
    text = "Welcome back, please sign in to continue"
    assert word_bleu(text, "Welcome back") < word_bleu(text, text[:-12]) < 1
    assert word_bleu(text, text + " or register for a new account") < 1


def test_chinese_characters_are_words():
    assert word_bleu("欢迎回来请登录", "欢迎回来请注册") > 0.4


def test_no_letter_in_common_is_nothing():
    assert character_bleu("abcd", "xyz") == 0
    assert word_bleu("one two three", "four five six") < 0.2
