"""Texts compared as people read them: without case, decoration and the slips of a reader."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

ALIKE = 0.75


def plain(text: str) -> str:
    """A text without case, spaces and punctuation; signs that stand alone stay."""
    letters = re.sub(r"[\W_]+", "", text.casefold())
    return letters or "".join(text.split())


def words(texts: Iterable[str]) -> list[str]:
    """The words of some texts, plain."""
    return [word for text in texts for one in text.split() if (word := plain(one))]


def likeness(one: str, other: str) -> float:
    """How alike two texts are, from 0 to 1; numbers are alike or not."""
    a, b = plain(one), plain(other)
    if a == b:
        return 1.0
    if not a or not b:
        return 0.0
    if re.findall(r"\d+", a) != re.findall(r"\d+", b):
        return min(SequenceMatcher(None, a, b, autojunk=False).ratio(), 0.5)
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def found_share(wanted: Iterable[str], given: Iterable[str]) -> float | None:
    """The share of words, by their letters, that another text has too; None where there are none.

    Words that a reader ran together or took apart are found as well.
    """
    sought = words(wanted)
    if not sought:
        return None
    there = words(given)
    joined = "".join(there)
    total = found = 0
    for word in sought:
        total += len(word)
        whole = word in there or (len(word) >= 4 and word in joined)
        if whole or any(likeness(word, one) >= ALIKE for one in there):
            found += len(word)
    return found / total
