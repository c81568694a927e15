"""Merging blocks: those with the same box, and neighbours that match better together.

A model may write as one paragraph what the reference page has as two, or the other way round.
The merge search of Design2Code finds out by trying every pair of neighbours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

from uiproof.benchmarks.design2code.blocks import TextBlock
from uiproof.benchmarks.design2code.screening import MIN_GAIN, Indices, MergeScreen
from uiproof.benchmarks.design2code.similarity import Floats, LetterCounts, TextSimilarity
from uiproof.boxes import Box

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
    """The one-to-one matching with the highest total: row and column indices, by rows."""
    rows, columns = _solver()(similarities, maximize=True)
    return rows, columns


@cache
def _solver() -> Callable[..., tuple[Indices, Indices]]:
    """scipy's `linear_sum_assignment`, without the rest of `scipy.optimize` where possible.

    That rest takes a second to load, in every worker; the solver is a compiled module of its own.
    """
    with suppress(ImportError, AttributeError):
        return _solver_alone()
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment  # type: ignore[no-any-return]


def _solver_alone() -> Callable[..., tuple[Indices, Indices]]:
    scipy = find_spec("scipy")
    folders = list(scipy.submodule_search_locations or []) if scipy else []
    for path in (path for folder in folders for path in Path(folder).glob("optimize/_lsap.*")):
        spec = spec_from_file_location("_lsap", path)
        if spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            solver: Callable[..., tuple[Indices, Indices]] = module.linear_sum_assignment
            return solver
    raise ImportError("scipy keeps its solver elsewhere")


def _find_merges(
    sides: Sequence[Sequence[TextBlock]],
    side: int,
    table: Floats,
    similarity: TextSimilarity,
    counts: LetterCounts,
) -> dict[int, list[float]]:
    """The merges to make on one side.

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
    """By how much the mean similarity rises over what is not the same before and after.

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
    """The table of similarities once these merges are made on one side."""
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
    return _join(first, second, first.box.union(second.box), lambda a, b: (a + b) // 2)


def _join(
    first: TextBlock, second: TextBlock, box: Box, blend: Callable[[float, float], float]
) -> TextBlock:
    (r1, g1, b1), (r2, g2, b2) = first.color, second.color
    color = (blend(r1, r2), blend(g1, g2), blend(b1, b2))
    legibility = min(first.legibility, second.legibility)
    return TextBlock(f"{first.text} {second.text}", box, color, legibility)
