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

from uiproof.benchmarks.design2code.similarity import (
    Floats,
    LetterCounts,
    ratio,
    total_lengths,
)

Indices = npt.NDArray[np.intp]

MIN_GAIN = 0.05
_ROUNDING = 1e-9  # far more than sums of similarities can be off by
_PRICE_ROUNDS = 100  # a limit for odd pages; a handful is usual
_AT_A_TIME = 4_000  # texts whose letters are looked at together: more need much memory


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
        profits = np.maximum((similarities - self._prices).max(axis=1), 0)
        slack = profits.sum() + self._prices.sum() - before.sum()
        most_lost = 0.0 if len(texts) > len(others) else before[before < 1].max(initial=0.0)
        margin = MIN_GAIN - _ROUNDING - most_lost - slack
        self._needed = margin + profits[:-1] + profits[1:]
        self._counts = counts or LetterCounts(others)

    def hopeful(self) -> list[int]:
        """The merges that may help: each i stands for blocks i and i + 1."""
        merges = [i for i in range(len(self._texts) - 1) if not self._loses_identical(i)]
        cheap = {i for i in merges if self._needed[i] < 0}
        worth = cheap | self._worth_their_price([i for i in merges if i not in cheap])
        return sorted(worth)

    def _merged(self, i: int) -> str:
        return f"{self._texts[i]} {self._texts[i + 1]}"

    def _loses_identical(self, i: int) -> bool:
        first, second, merged = self._texts[i], self._texts[i + 1], self._merged(i)
        if first == second:
            difference = self._more_identical(first, -2)
        else:
            difference = self._more_identical(first, -1) + self._more_identical(second, -1)
        # The joint text is longer than either, so it is neither of them.
        difference += self._more_identical(merged, 1)
        return self._spare_identical + difference < 0

    def _more_identical(self, text: str, more: int) -> int:
        """How many more pairs of this text there can be with so many more of it on our side."""
        wanted = self._wanted.get(text)
        if not wanted:
            return 0
        have = self._have[text]
        return min(have + more, wanted) - min(have, wanted)

    def _worth_their_price(self, merges: list[int]) -> set[int]:
        """Those of some merges whose joint text is as alike to another one as it needs to be."""
        if not merges:
            return set()
        merged = [self._merged(i) for i in merges]
        needed = self._needed[merges][:, np.newaxis] + self._prices
        # Bounds sort out most texts; for the rest, the likeliest first, the true value decides.
        characters = total_lengths(merged, self._others)
        theirs = np.array([len(other) for other in self._others])
        rows, columns = np.nonzero(
            ratio(np.minimum(characters - theirs, theirs), characters) > needed
        )
        paired = self._shared_letters(np.array(merges)[rows], columns)
        hopes = ratio(paired, characters[rows, columns]) - needed[rows, columns]
        worth: set[int] = set()
        for n in np.argsort(-hopes)[: np.count_nonzero(hopes > 0)].tolist():
            row, column = rows[n], columns[n]
            if merges[row] not in worth:
                alike = self._similarity(merged[row], self._others[column])
                if alike > needed[row, column]:
                    worth.add(merges[row])
        return worth

    def _shared_letters(self, merges: Indices, others: Indices) -> Indices:
        """How many letters joint texts share with texts of the other page, each with one."""
        count = self._counts
        ours = np.stack([count(text) for text in self._texts])
        theirs = np.stack([count(text) for text in self._others])
        # A joint text has the letters of both and a space between them.
        joint = ours[:-1] + ours[1:] + count(" ")
        parts = range(0, len(merges), _AT_A_TIME)
        return np.concatenate(
            [
                np.minimum(
                    joint[merges[n : n + _AT_A_TIME]], theirs[others[n : n + _AT_A_TIME]]
                ).sum(axis=1)
                for n in parts
            ]
            or [np.zeros(0, np.intp)]
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
