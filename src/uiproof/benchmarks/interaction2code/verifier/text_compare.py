"""Texts compared as people read them: without case, decoration and OCR errors."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from uiproof.benchmarks.interaction2code.verifier import constants as const

_SIGNS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def is_readable(text: str) -> bool:
    """Return whether OCR knows most letters of a text: Latin ones, and Chinese and its like."""
    return 2 * unreadable_letters(text) <= len(text)


def unreadable_letters(text: str) -> int:
    """Return how many letters of a text are of a script unknown to OCR."""
    strange = [one for one in text if one.isalpha() and ord(one) >= 0x250]
    return len(strange) - len(_SIGNS.findall(text))


def size(text: str) -> int:
    """Return the length of a text in letters; a sign of Chinese or its like stands for three."""
    return len(text) + 2 * len(_SIGNS.findall(text))


def plain(text: str) -> str:
    """Return a text without case, spaces and punctuation; symbols that stand alone stay."""
    letters = re.sub(r"[\W_]+", "", text.casefold())
    return letters or "".join(text.split())


def similarity(one: str, other: str) -> float:
    """Return how similar two texts are, 0-1; with other numbers, at most 0.5."""
    a, b = plain(one), plain(other)
    if a == b:
        return 1.0
    if not a or not b:
        return 0.0
    ratio = SequenceMatcher(None, a, b, autojunk=False).ratio()
    return min(ratio, 0.5) if re.findall(r"\d+", a) != re.findall(r"\d+", b) else ratio


def same_word(word: str, other: str) -> bool:
    """Return whether two words are the same, OCR errors and other endings aside."""
    return len(word) > 3 and similarity(other, word) > const.SAME_WORD


def is_word(read: str) -> bool:
    """Return whether a reading is a word or a number: OCR reads frames and dots as symbols."""
    if len(read) >= 3 and len(set(read)) == 1:
        return False
    return has_digit(read) or (len(read) > 1 and any(map(str.isalpha, read)))


def has_digit(word: str) -> bool:
    """Return whether any character is a digit."""
    return any(map(str.isdigit, word))
