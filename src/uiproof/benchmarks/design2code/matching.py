"""Which block of a generated page stands for which block of the reference page.

    matching = match_blocks(generated, reference)
    for match in matching.kept():
        print(matching.generated[match.generated].text, match.similarity)

The result is that of the reference implementation of Design2Code, to the last bit, in a small
fraction of the time: see `screening` for what is left out and why nothing is lost by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from uiproof.benchmarks.design2code.blocks import TextBlock
from uiproof.benchmarks.design2code.merging import assign, merge_neighbours, merge_same_box
from uiproof.benchmarks.design2code.similarity import Floats, TextSimilarity

__all__ = [
    "MIN_SIMILARITY",
    "Match",
    "Matching",
    "match_blocks",
    "match_by_place",
    "match_with_itself",
    "merge_same_box",
]

MIN_SIMILARITY = 0.5  # pairs below it are no matches; at or below it, context adds nothing
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
        """The pairs that are alike enough to count as matches."""
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
    """The same, but where texts are equally alike, the nearer blocks are matched.

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
    """Similarities above 0.5, raised by a tenth of their two best neighbours in the table."""
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
    """Similarities, raised a little by how near the two blocks are to each other."""
    a = np.array([block.box.center for block in ours])
    b = np.array([block.box.center for block in theirs])
    nearness: Floats = 1 - np.abs(a[:, None] - b[None]).max(axis=-1)
    return similarities + _PLACE_BONUS * nearness


_NEIGHBOURS = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0)]
