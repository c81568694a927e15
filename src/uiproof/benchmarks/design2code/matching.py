"""Match the text blocks of a generated page with those of the reference page.

    matching = match_blocks(generated, reference)
    for match in matching.kept():
        print(matching.generated[match.generated].text, match.similarity)

The result is that of the reference implementation of Design2Code, to the last bit, in a small
fraction of the time: `MergeScreen` proves for most merges that they cannot help.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.blocks import TextBlock
from uiproof.geometry import Box

MIN_SIMILARITY = 0.5  # pairs below it are no matches; at or below it, context adds nothing
MOST_LINES = 3  # between two parts of a text that are read as one
_CONTEXT_BONUS = 0.1
_PLACE_BONUS = 0.01  # small, so that place decides only between texts that are equally alike


@dataclass(frozen=True, slots=True)
class Match:
    """Two blocks that belong together, by their indices, and how alike their texts are."""

    generated: int
    reference: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Matching:
    """The blocks of two pages after merging, and the best one-to-one assignment between them."""

    generated: tuple[TextBlock, ...]
    reference: tuple[TextBlock, ...]
    pairs: tuple[Match, ...]  # as many as the shorter side has blocks, however unlike

    def kept(self) -> tuple[Match, ...]:
        """Return the pairs that are alike enough to count as matches."""
        return tuple(pair for pair in self.pairs if pair.similarity >= MIN_SIMILARITY)


def match_blocks(
    generated: Sequence[TextBlock],
    reference: Sequence[TextBlock],
    similarity: TextSimilarity | None = None,
) -> Matching:
    """Match the text blocks of two pages, as they were detected.

    Blocks with the same box are joined; neighbours are merged where that helps; then blocks are
    assigned to each other so that the total similarity of texts, with a bonus for matches whose
    neighbours match too, is as high as possible. A `similarity` that has compared the same texts
    before saves work.
    """
    return _match(
        generated, reference, similarity, lambda table, _ours, _theirs: _with_context(table)
    )


def match_by_place(
    generated: Sequence[TextBlock],
    reference: Sequence[TextBlock],
    similarity: TextSimilarity | None = None,
) -> Matching:
    """Return the same, but where texts are equally alike, the nearer blocks are matched.

    So a page is always matched with itself block by block, however often its texts repeat.
    """
    return _match(generated, reference, similarity, _with_place)


def match_with_itself(blocks: Sequence[TextBlock]) -> Matching:
    """Match the blocks of a page with those of the very same page, each with itself.

    The search for the best assignment does not always find that one: of equal texts that repeat,
    it may prefer others whose neighbours are alike too.
    """
    merged = tuple(merge_same_box(blocks))
    return Matching(merged, merged, tuple(Match(i, i, 1.0) for i in range(len(merged))))


def as_read(matching: Matching) -> Matching:
    """Return a matching in which texts are only as alike as what reads the same in the same order.

    Of the letters of words in another order, and of letters in another order within words, some are
    always in the same sequence: enough for the paper to match a text with the same words shuffled.
    Merged blocks that are not met in their order on the page are not read as one text either.
    """
    ours, theirs = matching.generated, matching.reference
    pairs = (
        replace(
            pair,
            similarity=min(pair.similarity, _read(ours[pair.generated], theirs[pair.reference])),
        )
        if pair.similarity >= MIN_SIMILARITY
        else pair
        for pair in matching.pairs
    )
    return replace(matching, pairs=tuple(pairs))


def _read(ours: TextBlock, theirs: TextBlock) -> float:
    """Return how alike two blocks read; parts of ours that are torn are in another order."""
    parts = read_together(ours)
    torn = len(parts) > len(read_together(theirs))
    return in_order(" ".join(reversed(parts)) if torn else ours.text, theirs.text)


def read_together(block: TextBlock) -> list[str]:
    """Return the text of a block, cut where what follows does not continue it on the page."""
    found: list[str] = []
    last: Box | None = None
    for part in block.parts or (block,):
        if last is None or not _continues(last, part.box):
            found.append(part.text)
        else:
            found[-1] += f" {part.text}"
        last = part.box
    return found


def _continues(first: Box, second: Box) -> bool:
    """Return whether a second box is not left of the first on its line, nor above or far below."""
    shared = min(first.y + first.h, second.y + second.h) - max(first.y, second.y)
    if shared > min(first.h, second.h) / 2:
        return second.x + second.w > first.x
    is_below = second.y + second.h / 2 > first.y
    return is_below and -shared < MOST_LINES * max(first.h, second.h)


def with_unreadable(
    matching: Matching, unreadable: Sequence[TextBlock], expected: int = 0
) -> Matching:
    """Return a matching with texts of ours that lie on each other, where there are too many.

    One of them may stand for every text of the reference that found no partner, and for `expected`
    ones that cannot be read there either; the others are extra.
    """
    lost = len(matching.reference) - len(matching.kept())
    return replace(matching, generated=(*matching.generated, *unreadable[lost + expected :]))


def in_order(ours: str, theirs: str) -> float:
    """Return the share of two texts that reads the same, less what both have in another order.

    Words are compared first, then the letters of what is between words that are the same.
    """
    if ours == theirs:
        return 1.0
    a, b = ours.split(), theirs.split()
    letters = sum(map(len, a)) + sum(map(len, b))
    same, ours_read, theirs_read = 0, 0, 0
    for i, j, count in _matcher(b, a).get_matching_blocks():
        same += _letters_in_order("".join(a[ours_read:i]), "".join(b[theirs_read:j]))
        same += 2 * sum(map(len, a[i : i + count]))
        ours_read, theirs_read = i + count, j + count
    same -= sum(len(word) * count for word, count in (Counter(a) & Counter(b)).items())
    return max(2 * same / letters, 0.0) if letters else 1.0


def _letters_in_order(ours: str, theirs: str) -> int:
    """Return how many letters two texts share in the same order, less those in another one."""
    same = sum(int(count) for *_, count in _matcher(theirs, ours).get_matching_blocks())
    return max(2 * same - (Counter(ours) & Counter(theirs)).total(), 0)


def _match(
    generated: Sequence[TextBlock],
    reference: Sequence[TextBlock],
    similarity: TextSimilarity | None,
    preference: Callable[[Floats, list[TextBlock], list[TextBlock]], Floats],
) -> Matching:
    ours, theirs = merge_same_box(generated), merge_same_box(reference)
    if not ours or not theirs:
        return Matching(tuple(ours), tuple(theirs), ())
    ours, theirs, similarities = merge_neighbours(ours, theirs, similarity or TextSimilarity())
    rows, columns = assign(preference(similarities, ours, theirs))
    pairs = (
        Match(int(i), int(j), float(similarities[i, j])) for i, j in zip(rows, columns, strict=True)
    )
    return Matching(tuple(ours), tuple(theirs), tuple(pairs))


def _with_context(similarities: Floats) -> Floats:
    """Raise similarities above 0.5 by a tenth of their two best neighbours in the table."""
    n, m = similarities.shape
    # Outside the table there are zeros: they never displace a neighbour that would have counted.
    padded = np.pad(similarities, 1)
    around = np.stack(
        [padded[1 + y : 1 + y + n, 1 + x : 1 + x + m] for y, x in _NEIGHBOURS], axis=-1
    )
    best_two = np.partition(around, -2, axis=-1)[..., -2:].sum(axis=-1)
    raised: Floats = np.where(
        similarities > MIN_SIMILARITY, similarities + _CONTEXT_BONUS * best_two, similarities
    )
    return raised


def _with_place(
    similarities: Floats, ours: Sequence[TextBlock], theirs: Sequence[TextBlock]
) -> Floats:
    """Return similarities, raised a little by how near the two blocks are to each other."""
    a = np.array([block.box.centre for block in ours])
    b = np.array([block.box.centre for block in theirs])
    nearness: Floats = 1 - np.abs(a[:, None] - b[None]).max(axis=-1)
    return similarities + _PLACE_BONUS * nearness


_NEIGHBOURS = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0)]


_GENERATED, _REFERENCE = 0, 1  # the axes of a table of similarities


def merge_same_box(blocks: Sequence[TextBlock]) -> list[TextBlock]:
    """Join blocks that have exactly the same box, in the place of the first of them.

    Several pieces of text directly inside one element come out of detection this way. Colours are
    averaged one by one, so that later pieces weigh more, as in the reference implementation.
    """
    merged: dict[Box, TextBlock] = {}
    for block in blocks:
        if block.box in merged:
            block = _join(merged[block.box], block, block.box, lambda a, b: (a + b) / 2)
        merged[block.box] = block
    return list(merged.values())


def merge_neighbours(
    generated: Sequence[TextBlock], reference: Sequence[TextBlock], similarity: TextSimilarity
) -> tuple[list[TextBlock], list[TextBlock], Floats]:
    """Merge neighbouring blocks on either side as long as that makes matched texts more alike.

    Returns both lists of blocks and the table of their similarities. Neither may be empty.
    """
    sides = [list(generated), list(reference)]
    ours, theirs = [b.text for b in generated], [b.text for b in reference]
    table = similarity.table(ours, theirs)
    counts = LetterCounts([*ours, *theirs, " "])
    # Sides take turns. Two turns without a change, one for each side, mean that no turn would
    # change anything any more.
    side, unchanged = _GENERATED, 0
    while unchanged < 2:
        merges = _find_merges(sides, side, table, similarity, counts)
        if merges:
            sides[side] = _apply(sides[side], merges)
            table = _with_merges(table, side, merges)
        unchanged = 0 if merges else unchanged + 1
        side = 1 - side
    return sides[_GENERATED], sides[_REFERENCE], table


def assign(similarities: Floats) -> tuple[Indices, Indices]:
    """Return the one-to-one matching with the highest total: row and column indices, by rows."""
    # The method is that of SciPy's `linear_sum_assignment` (Crouse 2016), step by step: of several
    # best matchings, published scores follow from the one that it finds.
    upright = similarities.shape[0] <= similarities.shape[1]
    costs = np.ascontiguousarray(-(similarities if upright else similarities.T))
    partners = _partners(costs)
    if upright:
        return np.arange(len(partners)), partners
    order = np.argsort(partners)
    return partners[order], order


def _partners(costs: Floats) -> Indices:
    """Return the column of each row in the matching with the lowest total cost.

    There are at least as many columns as rows. Rows are added one by one, each by the shortest path
    to a free column under the prices of rows and columns so far.
    """
    n, m = costs.shape
    row_prices, column_prices = [0.0] * n, np.zeros(m)
    owners, partners = np.full(m, -1, np.intp), np.full(n, -1, np.intp)
    for row in range(n):
        places = np.arange(m - 1, -1, -1)  # of columns, in the order in which ties are broken
        path = np.full(m, row, np.intp)
        lengths = costs[row] - column_prices
        ahead = lengths.copy()  # infinite where the column was reached
        reached: list[int] = []
        while True:
            shortest = float(ahead.min())
            column = _tied(np.flatnonzero(ahead == shortest), places, owners)
            # The last column takes the place of the one that is reached.
            last = m - 1 - len(reached)
            places[places == last] = places[column]
            places[column] = -1
            reached.append(column)
            ahead[column] = np.inf
            owner = int(owners[column])
            if owner < 0:
                break
            via = shortest + costs[owner] - row_prices[owner] - column_prices
            via[reached] = np.inf
            shorter = via < ahead
            np.copyto(lengths, via, where=shorter)
            np.copyto(ahead, via, where=shorter)
            path[shorter] = owner
        row_prices[row] += shortest
        for between in reached[:-1]:
            row_prices[owners[between]] += shortest - float(lengths[between])
        column_prices[reached] -= shortest - lengths[reached]
        while True:
            owner = int(path[column])
            owners[column] = owner
            column, partners[owner] = int(partners[owner]), column
            if owner == row:
                break
    return partners


def _tied(columns: Indices, places: Indices, owners: Indices) -> int:
    """Return one of the nearest columns: the last free one, else the first one, by their places."""
    if len(columns) == 1:
        return int(columns[0])
    free = columns[owners[columns] < 0]
    if len(free):
        return int(free[places[free].argmax()])
    return int(columns[places[columns].argmin()])


def _find_merges(
    sides: Sequence[Sequence[TextBlock]],
    side: int,
    table: Floats,
    similarity: TextSimilarity,
    counts: LetterCounts,
) -> dict[int, list[float]]:
    """Return the merges to make on one side.

    Keys are the first of two blocks, values the similarities of their joint text to the other side.
    """
    texts = [block.text for block in sides[side]]
    others = [block.text for block in sides[1 - side]]
    rows, columns = assign(table)
    before: list[float] = table[rows, columns].tolist()

    def compare(text: str, other: str) -> float:
        return similarity(text, other) if side == _GENERATED else similarity(other, text)

    if side == _GENERATED:
        screen = MergeScreen(texts, others, table, rows, columns, compare, counts)
    else:
        screen = MergeScreen(texts, others, table.T, columns, rows, compare, counts)

    hopeful = screen.hopeful()
    merged = [f"{texts[i]} {texts[i + 1]}" for i in hopeful]
    if side == _GENERATED:
        lines = similarity.table(merged, others)
    else:
        lines = similarity.table(others, merged).T
    found: list[tuple[float, int, list[float]]] = []
    for i, line in zip(hopeful, lines.tolist(), strict=True):
        changed = _with_merges(table, side, {i: line})
        gain = _gain(before, changed[assign(changed)].tolist())
        if gain > MIN_GAIN:
            found.append((gain, i, line))

    chosen: dict[int, list[float]] = {}
    for _, i, line in sorted(found, key=lambda merge: merge[0], reverse=True):
        if not chosen.keys() & {i - 1, i, i + 1}:
            chosen[i] = line
    return chosen


def _gain(before: Sequence[float], after: Sequence[float]) -> float:
    """Return by how much the mean similarity rises over what is not the same before and after.

    No gain unless the best of the new similarities is better than the best of the old ones.
    """
    # Counters keep the order of first appearance, and sums must be taken in that order: merges
    # that are equally good are told apart by their last bits.
    lost = list((Counter(before) - Counter(after)).elements())
    won = list((Counter(after) - Counter(before)).elements())
    if not lost or not won or max(won) <= max(lost):
        return 0.0
    return sum(won) / len(won) - sum(lost) / len(lost)


def _with_merges(table: Floats, side: int, merges: dict[int, list[float]]) -> Floats:
    """Return the table of similarities once these merges are made on one side."""
    result = np.delete(table, [i + 1 for i in merges], axis=side)
    lines = result if side == _GENERATED else result.T
    for gone, i in enumerate(sorted(merges)):
        lines[i - gone] = merges[i]
    return result


def _apply(blocks: Sequence[TextBlock], merges: dict[int, list[float]]) -> list[TextBlock]:
    return [
        _join_neighbours(block, blocks[i + 1]) if i in merges else block
        for i, block in enumerate(blocks)
        if i - 1 not in merges
    ]


def _join_neighbours(first: TextBlock, second: TextBlock) -> TextBlock:
    joint = _join(first, second, first.box.union(second.box), lambda a, b: (a + b) // 2)
    return replace(joint, parts=(*(first.parts or (first,)), *(second.parts or (second,))))


def _join(
    first: TextBlock, second: TextBlock, box: Box, blend: Callable[[float, float], float]
) -> TextBlock:
    (r1, g1, b1), (r2, g2, b2) = first.color, second.color
    color = (blend(r1, r2), blend(g1, g2), blend(b1, b2))
    legibility = min(first.legibility, second.legibility)
    return TextBlock(f"{first.text} {second.text}", box, color, legibility)


Floats = npt.NDArray[np.float64]
Letters = npt.NDArray[np.int32]

MAX_ALPHABET = 512  # letters that are counted apart


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
        """Return how alike the two texts are: 1 if identical, 0 if they share no character."""
        row = self._known[generated]
        known = row.get(reference)
        if known is None:
            known = 1.0 if generated == reference else self._ratio(generated, reference)
            row[reference] = known
        return known

    def table(self, generated: Sequence[str], reference: Sequence[str]) -> Floats:
        """Return all similarities: a row per generated text, a column per reference text."""
        rows = [[self(text, other) for other in reference] for text in generated]
        return np.array(rows, dtype=np.float64).reshape(len(generated), len(reference))

    def _ratio(self, generated: str, reference: str) -> float:
        # A matcher prepares its second text once for all comparisons, so each text keeps its own.
        matcher = self._matchers.get(reference)
        if matcher is None:
            matcher = self._matchers[reference] = _matcher(reference, "")
        matcher.set_seq1(generated)
        return float(matcher.ratio())


def ratio(paired: npt.ArrayLike, characters: npt.ArrayLike) -> Floats:
    """Return similarities from the number of paired characters and the total length of both texts.

    Fewer paired ones never give more, to the last bit, so this is also for bounds: no pairing can
    use a character more often than both texts have it.
    """
    # Two empty texts are alike.
    alike: Floats = np.where(
        np.equal(characters, 0), 1.0, 2.0 * np.asarray(paired) / np.maximum(characters, 1)
    )
    return alike


def total_lengths(generated: Sequence[str], reference: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return how many characters every two texts have together: a row for each generated text."""
    ours, theirs = (np.array([len(text) for text in texts]) for texts in (generated, reference))
    together: npt.NDArray[np.int64] = ours[:, np.newaxis] + theirs
    return together


def _matcher(reference: Sequence[str], generated: Sequence[str]) -> Any:
    # difflib's algorithm in compiled code. Imported here because most commands never need it.
    from cydifflib import SequenceMatcher

    return SequenceMatcher(None, generated, reference)


class LetterCounts:
    """Counts of each letter of an alphabet in texts; every text is counted once.

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
        """Return the counts of a text; letters that are not in the alphabet do not count."""
        counts = self._known.get(text)
        if counts is None:
            index = self._index
            places = [index[letter] for letter in text if letter in index]
            counts = np.bincount(places, minlength=self._size).astype(np.int32)
            self._known[text] = counts
        return counts


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
        """Return the merges that may help: each i stands for blocks i and i + 1."""
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
        """Return how many more identical pairs there can be with `more` copies of a text."""
        wanted = self._wanted.get(text)
        if not wanted:
            return 0
        have = self._have[text]
        return min(have + more, wanted) - min(have, wanted)

    def _worth_their_price(self, merges: list[int]) -> set[int]:
        """Return the merges whose joint text is similar enough to another text."""
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
        """Return how many letters joint texts share with texts of the other page, each with one."""
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
    """Return the highest prices at which every matched block still likes its partner best.

    They are the dual variables of the assignment, found by lowering prices until they are feasible.
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
