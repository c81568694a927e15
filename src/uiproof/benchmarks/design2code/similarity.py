"""How alike two texts are, and quick upper bounds on that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.gestalt import AUTOJUNK, paired_characters

Floats = npt.NDArray[np.float64]
Letters = npt.NDArray[np.int32]

MAX_ALPHABET = 512  # letters that are counted apart
_MIN_BULK = 200_000  # with fewer pairs of characters, texts are faster compared one by one
_MAX_BULK_LENGTH = 2_000  # for longer texts, comparing is more work than preparing it


class TextSimilarity:
    """The similarity of a generated and a reference text, in 0-1; remembers what it has compared.

    It is `difflib.SequenceMatcher(None, generated, reference).ratio()`, to the last bit, so it
    is not symmetric, and characters that are frequent in a reference text of 200 characters or more
    are no anchors (difflib's `autojunk`). Scores in the literature have both properties.
    """

    def __init__(self) -> None:
        self._known: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._matchers: dict[str, Any] = {}

    def __call__(self, generated: str, reference: str) -> float:
        """How alike the two texts are: 1 if identical, 0 if they share no character."""
        row = self._known[generated]
        known = row.get(reference)
        if known is None:
            known = 1.0 if generated == reference else self._ratio(generated, reference)
            row[reference] = known
        return known

    def table(self, generated: Sequence[str], reference: Sequence[str]) -> Floats:
        """All similarities: a row for each generated text, a column for each reference text."""
        self._compare_many(generated, reference)
        rows = []
        for text in generated:
            known = self._known[text].get
            row = [known(other) for other in reference]
            if None in row:
                row = [self(text, other) for other in reference]
            rows.append(row)
        return np.array(rows, dtype=np.float64).reshape(len(generated), len(reference))

    def _compare_many(self, generated: Sequence[str], reference: Sequence[str]) -> None:
        """Get to know most of these similarities, where they are so many that it is worth while."""
        columns = dict.fromkeys(text for text in reference if len(text) < AUTOJUNK)
        new, partly_known, missing = [], [], set()
        for text in dict.fromkeys(generated):
            unknown = columns.keys() - self._known[text].keys()
            if unknown and len(text) < _MAX_BULK_LENGTH:
                if len(unknown) == len(columns):
                    new.append(text)
                else:
                    partly_known.append(text)
                    missing |= unknown
        self._compare_bulk(new, list(columns))
        self._compare_bulk(partly_known, [text for text in columns if text in missing])

    def _compare_bulk(self, generated: list[str], reference: list[str]) -> None:
        ours, theirs = (sum(map(len, texts)) for texts in (generated, reference))
        if ours * theirs < _MIN_BULK:
            return
        paired = paired_characters(generated, reference)
        ratios: list[list[float]] = ratio(paired, total_lengths(generated, reference)).tolist()
        for text, values in zip(generated, ratios, strict=True):
            self._known[text].update(zip(reference, values, strict=True))

    def _ratio(self, generated: str, reference: str) -> float:
        # A matcher prepares its second text once for all comparisons, so each text keeps its own.
        matcher = self._matchers.get(reference)
        if matcher is None:
            matcher = self._matchers[reference] = _matcher(reference)
        matcher.set_seq1(generated)
        return float(matcher.ratio())


def ratio(paired: npt.ArrayLike, characters: npt.ArrayLike) -> Floats:
    """Similarities by how many characters were paired, and how many both texts have together.

    Fewer paired ones never give more, to the last bit, so this is also for bounds: no pairing can
    use a character more often than both texts have it.
    """
    # Two empty texts are alike.
    alike: Floats = np.where(
        np.equal(characters, 0), 1.0, 2.0 * np.asarray(paired) / np.maximum(characters, 1)
    )
    return alike


def total_lengths(generated: Sequence[str], reference: Sequence[str]) -> npt.NDArray[np.int64]:
    """How many characters every two texts have together: a row for each generated text."""
    ours, theirs = (np.array([len(text) for text in texts]) for texts in (generated, reference))
    together: npt.NDArray[np.int64] = ours[:, np.newaxis] + theirs
    return together


def _matcher(reference: str) -> Any:
    # difflib's algorithm in compiled code. Imported here because most commands never need it.
    from cydifflib import SequenceMatcher

    return SequenceMatcher(None, "", reference)


class LetterCounts:
    """How often texts have each letter of an alphabet; every text is counted once.

    Letters beyond `MAX_ALPHABET` share places with others: bounds stay bounds, and a page with
    thousands of texts in thousands of letters does not exhaust memory.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        distinct = list(dict.fromkeys(texts))
        joined = "".join(distinct)
        places = enumerate(dict.fromkeys(joined))
        self._index = {letter: place % MAX_ALPHABET for place, letter in places}
        letters = np.array([self._index[letter] for letter in joined], np.int64)
        size = self._size = min(len(self._index), MAX_ALPHABET)
        rows = np.repeat(np.arange(len(distinct)) * size, [len(text) for text in distinct])
        counts = np.bincount(rows + letters, minlength=size * len(distinct)).astype(np.int32)
        self._known = dict(zip(distinct, counts.reshape(len(distinct), size), strict=True))

    def __call__(self, text: str) -> Letters:
        """The counts of a text; letters that are not in the alphabet do not count."""
        counts = self._known.get(text)
        if counts is None:
            index = self._index
            places = [index[letter] for letter in text if letter in index]
            counts = np.bincount(places, minlength=self._size).astype(np.int32)
            self._known[text] = counts
        return counts
