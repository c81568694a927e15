"""Which merges of neighbouring blocks cannot possibly help, so that only the others are tried.

Trying a merge means comparing its text with the whole other page and solving an assignment. On real
pages nearly all merges are hopeless, and two cheap arguments prove it for most of them.

Let `before` be the similarities of the pairs matched now, and `after` those of the pairs matched
once blocks i and i + 1 are one. Values that both have cancel out, one for one, which leaves `lost`
and `won`. The merge is kept if mean(won) - mean(lost) > 0.05 and max(won) > max(lost).

Identical texts. Only identical texts have similarity 1. If there are more ones in `before` than
any matching of the merged lists can have, then 1 is in `lost`, and no value of `won` exceeds it.

Prices. Give every text j of the other page a price v[j] >= 0 and every block its profit
u[i] = max(0, max over j of s[i, j] - v[j]). As s[i, j] <= u[i] + v[j], no matching is worth more
than all profits and prices together. With t[j] the similarities of the merged text, and its profit

    best  := max(0, max over j of t[j] - v[j])
    slack := sum(u) + sum(v) - sum(before)

this says of the merged lists that sum(after) <= sum(u) - u[i] - u[i + 1] + best + sum(v), hence

    G := sum(won) - sum(lost) = sum(after) - sum(before) <= slack - u[i] - u[i + 1] + best

If there are more blocks than other texts, `before` and `after` are equally long, so are `lost` and
`won`, and mean(won) - mean(lost) = G / len(won) <= max(0, G). Otherwise `after` is one shorter,
sum(lost) = (len(won) + 1) * mean(lost), and mean(won) - mean(lost) = (G + mean(lost)) / len(won),
where mean(lost) is at most the largest value below 1 in `before`: 1 is not in `lost` if the merge
is to be kept. Either way the merge is kept only if

    best > 0.05 - (0, or that largest value) - slack + u[i] + u[i + 1]

and where the right side is not negative, that takes a t[j] - v[j] above it. All this is true for
any prices; the best ones make the slack zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.similarity import Floats, LetterBound, LetterCounts

Indices = npt.NDArray[np.intp]

MIN_GAIN = 0.05
_ROUNDING = 1e-9  # far more than sums of similarities can be off by
_PRICE_ROUNDS = 100  # a limit for odd pages; a handful is usual


class MergeScreen:
    """Tells for the blocks of one page, against the texts of the other, which merges are hopeless.

    `similarities` has a row for each of `texts` and a column for each of `others`; `rows` and
    `columns` are its current matching; `similarity` compares a text of ours with one of theirs.
    `counts` saves counting letters again; its alphabet must have all letters of `others`.
    """

    def __init__(
        self,
        texts: Sequence[str],
        others: Sequence[str],
        similarities: Floats,
        rows: Indices,
        columns: Indices,
        similarity: Callable[[str, str], float],
        counts: LetterCounts | None = None,
    ) -> None:
        self._texts, self._others, self._similarity = texts, others, similarity
        before = similarities[rows, columns]

        self._have, self._wanted = Counter(texts), Counter(others)
        most_identical = sum(min(n, self._wanted[text]) for text, n in self._have.items())
        self._spare_identical = most_identical - int((before == 1).sum())

        self._prices = _prices(similarities, rows, columns)
        self._profits = np.maximum((similarities - self._prices).max(axis=1), 0)
        slack = self._profits.sum() + self._prices.sum() - before.sum()
        most_lost = 0.0 if len(texts) > len(others) else before[before < 1].max(initial=0.0)
        self._margin = MIN_GAIN - _ROUNDING - most_lost - slack
        count = counts or LetterCounts(others)
        self._bound = LetterBound(others, count)
        # A joint text has the letters of both and a space between them.
        self._letters = [count(text) for text in texts]
        self._space = count(" ")

    def hopeless(self, i: int, merged: str) -> bool:
        """Whether blocks i and i + 1 certainly stay apart; `merged` is their joint text."""
        return self._loses_identical(i, merged) or self._too_dear(i, merged)

    def _loses_identical(self, i: int, merged: str) -> bool:
        first, second = self._texts[i], self._texts[i + 1]
        gone = (first, second)
        if first == second:
            difference = self._identical(first, -2) - self._identical(first, 0)
        else:
            difference = sum(self._identical(text, -1) - self._identical(text, 0) for text in gone)
        # The joint text is longer than either, so it is neither of them.
        difference += self._identical(merged, 1) - self._identical(merged, 0)
        return self._spare_identical + difference < 0

    def _identical(self, text: str, more: int) -> int:
        """How many pairs of this text there can be, with so many more of it on our side."""
        return min(self._have[text] + more, self._wanted[text])

    def _too_dear(self, i: int, merged: str) -> bool:
        needed = self._margin + self._profits[i] + self._profits[i + 1]
        if needed < 0:
            return False
        # The bound sorts out most texts; for the rest, the likeliest first, the true value decides.
        letters = self._letters[i] + self._letters[i + 1] + self._space
        hopes = self._bound.of(letters, len(merged)) - self._prices - needed
        hopeful = np.flatnonzero(hopes > 0)
        return not any(
            self._similarity(merged, self._others[j]) - self._prices[j] > needed
            for j in hopeful[np.argsort(-hopes[hopeful])]
        )


def _prices(similarities: Floats, rows: Indices, columns: Indices) -> Floats:
    """The highest prices at which every matched block still likes its partner best.

    These are the dual variables of the assignment, found by lowering prices until nobody objects.
    """
    matched = similarities[rows, columns]
    preference = matched[:, np.newaxis] - similarities[rows]
    prices = np.zeros(similarities.shape[1])
    prices[columns] = matched
    for _ in range(_PRICE_ROUNDS):
        lowered = np.clip((preference + prices).min(axis=1), 0, prices[columns])
        if np.array_equal(lowered, prices[columns]):
            break
        prices[columns] = lowered
    return prices
