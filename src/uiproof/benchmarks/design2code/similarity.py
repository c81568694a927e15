"""How alike two texts are, and quick upper bounds on that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Letters = npt.NDArray[np.int32]


class TextSimilarity:
    """The similarity of a generated and a reference text, in 0-1; remembers what it has compared.

    It is `difflib.SequenceMatcher(None, generated, reference).ratio()`, to the last bit, so it
    is not symmetric, and characters that are frequent in a reference text of 200 characters or more
    are no anchors (difflib's `autojunk`). Scores in the literature have both properties.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], float] = {}
        self._matchers: dict[str, Any] = {}

    def __call__(self, generated: str, reference: str) -> float:
        """How alike the two texts are: 1 if identical, 0 if they share no character."""
        known = self._known.get((generated, reference))
        if known is None:
            known = 1.0 if generated == reference else self._ratio(generated, reference)
            self._known[generated, reference] = known
        return known

    def table(self, generated: Sequence[str], reference: Sequence[str]) -> Floats:
        """All similarities: a row for each generated text, a column for each reference text."""
        rows = [[self(text, other) for other in reference] for text in generated]
        return np.array(rows, dtype=np.float64).reshape(len(generated), len(reference))

    def _ratio(self, generated: str, reference: str) -> float:
        # A matcher prepares its second text once for all comparisons, so each text keeps its own.
        matcher = self._matchers.get(reference)
        if matcher is None:
            matcher = self._matchers[reference] = _matcher(reference)
        matcher.set_seq1(generated)
        return float(matcher.ratio())


def _matcher(reference: str) -> Any:
    # difflib's algorithm in compiled code. Imported here because most commands never need it.
    from cydifflib import SequenceMatcher

    return SequenceMatcher(None, "", reference)


class LetterCounts:
    """How often texts have each letter of an alphabet; every text is counted once."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._index = {letter: index for index, letter in enumerate(sorted(set().union(*texts)))}
        self._known: dict[str, Letters] = {}

    def __call__(self, text: str) -> Letters:
        """The counts of a text; letters that are not in the alphabet do not count."""
        counts = self._known.get(text)
        if counts is None:
            index = self._index
            places = [index[letter] for letter in text if letter in index]
            counts = np.bincount(places, minlength=len(index)).astype(np.int32)
            self._known[text] = counts
        return counts


class LetterBound:
    """Upper bounds on how similar any text can be to each of some fixed texts.

    A similarity is twice the number of characters that were paired, over the number of all
    characters. No pairing can use a character more often than both texts have it. The alphabet of
    `counts` must have all letters of the fixed texts.
    """

    def __init__(self, texts: Sequence[str], counts: LetterCounts | None = None) -> None:
        self._count = counts or LetterCounts(texts)
        self._lengths = np.array([len(text) for text in texts])
        self._counts = np.stack([self._count(text) for text in texts])

    def __call__(self, text: str) -> Floats:
        """A bound for each of the fixed texts, whichever of the two is the generated one."""
        return self.of(self._count(text), len(text))

    def of(self, letters: Letters, length: int) -> Floats:
        """The same for a text of which only the letters and the length are known."""
        paired = np.minimum(self._counts, letters).sum(axis=1)
        everything = self._lengths + length
        # Two empty texts are alike. The division rounds as the true ratio's does, so order is kept.
        bounds: Floats = np.where(everything == 0, 1.0, 2.0 * paired / np.maximum(everything, 1))
        return bounds
