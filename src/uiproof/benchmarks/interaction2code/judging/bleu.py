"""How much of one text is in another: BLEU, by characters as published, by words as it should be.

Papineni, Roukos, Ward and Zhu, "BLEU: a method for automatic evaluation of machine translation",
ACL 2002. Texts are compared as they are: case matters, and so does order within four steps.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

_ORDERS = (1, 2, 3, 4)


def character_bleu(reference: str, candidate: str) -> float:
    """The published text score: BLEU over characters, without smoothing.

    Equals `sentence_bleu([reference], candidate)` of nltk on plain strings, whose items are
    characters. An order of n-grams without a match counts as the smallest positive number, so
    equal texts of less than four characters score almost 0. Two empty texts score 1, and one empty
    text 0 (published: nothing at all).
    """
    if not reference or not candidate:
        return 1.0 if reference == candidate else 0.0
    logs = []
    for order in _ORDERS:
        matched, found = _matches(reference, candidate, order)
        if order == 1 and matched == 0:
            return 0.0
        logs.append(math.log(matched / found if matched else sys.float_info.min))
    short = len(candidate) <= len(reference)
    brevity = math.exp(1 - len(reference) / len(candidate)) if short else 1.0
    return brevity * math.exp(math.fsum(log / len(_ORDERS) for log in logs))


def word_bleu(reference: str, candidate: str) -> float:
    """The strict text score, 0-1: BLEU over words, with exponential smoothing.

    That of sacrebleu, with only as many orders of n-grams as the candidate has words: equal texts
    score 1 however short they are. Chinese characters are words. Two empty texts score 1, and one
    empty text 0.
    """
    if not reference.split() or not candidate.split():
        return 1.0 if not reference.split() and not candidate.split() else 0.0
    score = _words().sentence_score(candidate, [reference]).score
    return min(float(score) / 100, 1.0)  # 100 comes with floating point noise


def _matches(reference: str, candidate: str, order: int) -> tuple[int, int]:
    """How many n-grams of a text are in another, no more often than there; and of how many."""
    ours, theirs = _ngrams(candidate, order), _ngrams(reference, order)
    matched = sum(min(count, theirs[ngram]) for ngram, count in ours.items())
    return matched, max(ours.total(), 1)


def _ngrams(text: str, order: int) -> Counter[str]:
    return Counter(text[start : start + order] for start in range(len(text) - order + 1))


@cache
def _words() -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize="zh", effective_order=True)
