"""Texts compared as people read them: without case, decoration and OCR errors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.geometry import PixelBox
from uiproof.vision.ocr import OcrLine


@dataclass(frozen=True, slots=True)
class TextChanges:
    """Words that came and went on both sides, and the reference's lines."""

    reference_came: tuple[str, ...]
    reference_went: tuple[str, ...]
    came: tuple[str, ...]
    went: tuple[str, ...]
    lines_before: tuple[OcrLine, ...]
    lines: tuple[OcrLine, ...]  # after
    new_lines: tuple[OcrLine, ...]  # those in which any pixel changed

    @property
    def recall(self) -> float | None:
        """Return the share of the reference's new words that the generated page shows as new."""
        return found_share(self.reference_came, self.came)

    @property
    def precision(self) -> float | None:
        """Return the share of the generated page's new words that the reference shows as new."""
        return found_share(self.came, self.reference_came)

    @property
    def gone_share(self) -> float:
        """Return the share of the words that went here which the reference removes too."""
        return found_share(self.went, self.reference_went) or 0


# --- words


def plain(text: str) -> str:
    """Return a text without case, spaces and punctuation; symbols that stand alone stay."""
    letters = re.sub(r"[\W_]+", "", text.casefold())
    return letters or "".join(text.split())


def words(texts: Iterable[str]) -> list[str]:
    """Return the words of some texts, plain."""
    return [word for text in texts for one in text.split() if (word := plain(one))]


def similarity(one: str, other: str) -> float:
    """Return how similar two texts are, 0-1; with other numbers, at most 0.5."""
    a, b = plain(one), plain(other)
    if a == b:
        return 1.0
    if not a or not b:
        return 0.0
    ratio = SequenceMatcher(None, a, b, autojunk=False).ratio()
    return min(ratio, 0.5) if re.findall(r"\d+", a) != re.findall(r"\d+", b) else ratio


def found_share(wanted: Iterable[str], given: Iterable[str]) -> float | None:
    """Return the share of words, by their letters, that another text has; None without words.

    Words that OCR joined or split are found as well.
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
        if whole or any(similarity(word, one) >= const.ALIKE_TEXT for one in there):
            found += len(word)
    return found / total


def more_words(some: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return the words that one list has more often than the other, OCR errors aside."""
    fewer = list((Counter(others) - Counter(some)).elements())
    kept: list[str] = []
    for word in (Counter(some) - Counter(others)).elements():
        twin = next((one for one in fewer if same_word(word, one)), None)
        if twin is None:
            kept.append(word)
        else:
            fewer.remove(twin)
    return tuple(kept)


def same_word(word: str, other: str) -> bool:
    """Return whether two words are the same, OCR errors and other endings aside."""
    return len(word) > 3 and similarity(other, word) > const.SAME_WORD


def certain(found: Sequence[str]) -> Sequence[str]:
    """Return words without the shortest, which OCR sees in frames; all if none is left."""
    return [one for one in found if len(one) > 2 or has_digit(one)] or found


def is_word(read: str) -> bool:
    """Return whether a reading is a word or a number: OCR reads frames as symbols."""
    return has_digit(read) or (len(read) > 1 and any(map(str.isalpha, read)))


def has_digit(word: str) -> bool:
    """Return whether any character is a digit."""
    return any(map(str.isdigit, word))


def masked_numbers(texts: Iterable[str]) -> list[str]:
    """Return texts in which all numbers are the same."""
    return [re.sub(r"\d+", "0", text) for text in texts]


def number_step(went: Sequence[str], came: Sequence[str]) -> int:
    """Return 1 where the numbers of some words rise, -1 where they fall, else 0."""
    old, new = (re.findall(r"\d+", " ".join(words)) for words in (went, came))
    if len(old) != len(new):
        return 0
    pairs = zip(sorted(map(int, old)), sorted(map(int, new)), strict=True)
    steps = {(after > before) - (after < before) for before, after in pairs}
    return steps.pop() if len(steps) == 1 else 0


# --- labels and lines


def reads_like(name: str, label: str) -> bool:
    """Return whether a label is a name, perhaps with something added to it."""
    a, b = plain(name), plain(label)
    if not a or not b:
        return False
    if similarity(a, b) >= const.ALIKE_TEXT:
        return True
    shorter, longer = sorted((a, b), key=len)
    return len(shorter) >= 3 and shorter in longer and len(longer) <= 2 * len(shorter) + 4


def same_line(mine: str, theirs: str) -> bool:
    """Return whether a line of the reference is a text, or one of the lines of a longer text."""
    a, b = plain(mine), plain(theirs)
    return similarity(a, b) >= const.ALIKE_TEXT or (len(b) >= 6 and b in a)


def line_shift(mine: PixelBox, theirs: PixelBox, offset: tuple[int, int]) -> tuple[int, int]:
    """Return the way from a line of the reference to a text, by the nearest of its edges."""
    across = (
        mine.left - theirs.left,
        mine.right - theirs.right,
        (mine.left + mine.right - theirs.left - theirs.right) // 2,
    )
    middle = (theirs.top + theirs.bottom) // 2 - offset[1]
    down = min(mine.bottom - middle, 0) + max(mine.top - middle, 0)
    return min((one + offset[0] for one in across), key=abs), down


def shortest(shifts: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the shortest of some shifts; None where there is none."""
    return min(shifts, key=lambda one: abs(one[0]) + abs(one[1]), default=None)


def farther(shift: tuple[int, int], limit: float) -> bool:
    """Return whether a shift is longer than a limit in either direction."""
    return max(abs(shift[0]), abs(shift[1])) > limit
