"""difflib's comparison of texts for many pairs at once, in array operations.

difflib pairs the longest run of characters that two texts have in common: of several, the one that
comes first in the first text, then the one that comes first in the second. It goes on with the two
areas that are left of the run in both texts and right of it in both. `paired_characters` does the
same with all pairs of texts in lockstep: each round finds the longest run of every open area.

Runs of two characters and more are known by where they begin; a run that a split cuts short is
clipped. Where an area has no such run, single characters are paired: the first of the first text
that the second has, then the next one to the right of both (to the left there is none).

difflib's `autojunk` is not done here, so second texts must have fewer than 200 characters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

AUTOJUNK = 200  # from this length on, difflib ignores frequent characters of the second text
_MAX_CELLS = 1 << 20  # so many array elements at a time: more do not fit into a processor's caches
_LONG = 8  # runs of so many letters are rare

Ints = npt.NDArray[np.int64]
# Areas are the columns of an array: number of the pair, begin and end in `a`, begin and end in `b`.
_PAIR, _A_BEGIN, _A_END, _B_BEGIN, _B_END = range(5)


def paired_characters(first: Sequence[str], second: Sequence[str]) -> Ints:
    """How many characters difflib pairs: a row for each first text, a column for each second."""
    if any(len(text) >= AUTOJUNK for text in second):
        raise ValueError(f"second texts must have fewer than {AUTOJUNK} characters")
    if not first or not second:
        return np.zeros((len(first), len(second)), np.int64)
    a, a_begin, a_end = _joined(first)
    b, b_begin, b_end = _joined(second)
    alphabet = _number_shared(a, b, a_end, b_end)
    pairs = len(first) * len(second)
    if pairs > 1 and pairs + alphabet * (alphabet + len(a) + len(b)) > _MAX_CELLS:
        return _by_halves(first, second)
    a_runs, b_runs = _bigrams(a, alphabet), _bigrams(b, alphabet)
    a_often, b_often = (np.bincount(code, minlength=alphabet**2) for _, code in (a_runs, b_runs))
    if pairs > 1 and a_often @ b_often > _MAX_CELLS:
        return _by_halves(first, second)

    areas = np.empty((5, pairs), np.int64)
    areas[_PAIR] = np.arange(pairs)
    areas[_A_BEGIN : _A_END + 1] = np.repeat([a_begin, a_end], len(second), axis=1)
    areas[_B_BEGIN:] = np.tile([b_begin, b_end], len(first))
    a_text = np.repeat(np.arange(len(first)) * len(second), a_end - a_begin + 1)
    b_text = np.repeat(np.arange(len(second)), b_end - b_begin + 1)

    p, q = _same_bigrams(a_runs, b_runs, b_often)
    pair = a_text[p] + b_text[q]
    # Numbers of 16 bits are sorted in linear time.
    order = np.argsort(pair.astype(np.uint16) if pairs < 1 << 16 else pair, kind="stable")
    p, q, pair = p[order], q[order], pair[order]
    paired, areas = _pair_runs(p, q, _run_lengths(a, b, p, q), pair, areas)
    paired += _pair_singles(a, b, alphabet, areas, pairs)
    return paired.reshape(len(first), len(second))


def _by_halves(first: Sequence[str], second: Sequence[str]) -> Ints:
    if len(first) >= len(second):
        middle = len(first) // 2
        parts = [paired_characters(part, second) for part in (first[:middle], first[middle:])]
        return np.concatenate(parts)
    middle = len(second) // 2
    parts = [paired_characters(first, part) for part in (second[:middle], second[middle:])]
    return np.concatenate(parts, axis=1)


def _joined(texts: Sequence[str]) -> tuple[Ints, Ints, Ints]:
    """The characters of all texts, one place free after each, and where each begins and ends."""
    everything = "\0".join([*texts, ""])
    encoded = np.frombuffer(everything.encode("utf-32-le", "surrogatepass"), np.uint32)
    lengths = np.array([len(text) for text in texts])
    ends = np.cumsum(lengths + 1) - 1
    return encoded.astype(np.int64), ends - lengths, ends


def _number_shared(a: Ints, b: Ints, a_end: Ints, b_end: Ints) -> int:
    """Number the characters that both have, in place; returns how many numbers there are.

    All others, and the places after texts, get one of two numbers, which the other side never has.
    """
    size = int(max(a.max(), b.max())) + 1
    in_a, in_b = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    in_a[a] = True
    in_b[b] = True
    shared = np.flatnonzero(in_a & in_b)
    for side, ends, other in ((a, a_end, len(shared)), (b, b_end, len(shared) + 1)):
        number = np.full(size, other)
        number[shared] = np.arange(len(shared))
        side[:] = number[side]
        side[ends] = other
    return len(shared) + 2


def _bigrams(letters: Ints, alphabet: int) -> tuple[Ints, Ints]:
    """Where two letters in a row may be in the other side too, and the number of the two."""
    shared = letters < alphabet - 2
    places = np.flatnonzero(shared[:-1] & shared[1:])
    return places, letters[places] * alphabet + letters[places + 1]


def _same_bigrams(
    a_runs: tuple[Ints, Ints], b_runs: tuple[Ints, Ints], b_often: Ints
) -> tuple[Ints, Ints]:
    """All places in `a` and in `b` that have the same two letters, by place in `a`, then in `b`."""
    (a_places, a_codes), (b_places, b_codes) = a_runs, b_runs
    by_code = b_places[np.argsort(b_codes, kind="stable")]
    begin = np.cumsum(b_often) - b_often
    often = b_often[a_codes]
    rank = np.arange(int(often.sum())) - np.repeat(np.cumsum(often) - often, often)
    return np.repeat(a_places, often), by_code[np.repeat(begin[a_codes], often) + rank]


def _run_lengths(a: Ints, b: Ints, p: Ints, q: Ints) -> Ints:
    """How many letters in a row are the same from each place on."""
    lengths = np.full(len(p), 2)
    growing = np.arange(len(p))
    for length in range(2, _LONG):
        growing = growing[a[p[growing] + length] == b[q[growing] + length]]
        lengths[growing] += 1
    # What is left are long runs and most of the runs inside them: each of these is one letter
    # longer than the next one, which begins one place further on in both texts.
    diagonal = q[growing] - p[growing]
    order = np.lexsort((p[growing], diagonal))
    growing, diagonal = growing[order], diagonal[order]
    # Numbers that are the same for the runs inside one run, as each begins one place further on.
    inside = _is_new(diagonal * len(a) + p[growing] - np.arange(len(growing)))
    group = np.cumsum(inside)
    last = np.cumsum(np.bincount(group)) - 1
    lengths[growing] += last[group] - np.arange(len(growing))
    return lengths


def _pair_runs(p: Ints, q: Ints, length: Ints, area: Ints, areas: Ints) -> tuple[Ints, Ints]:
    """Pair runs of two letters and more, the longest of each area first.

    Returns how many characters of each pair are paired, and the areas that are left. Runs are
    sorted by area, then by place.
    """
    pairs = areas.shape[1]
    done = []  # numbers of pairs, and how many characters
    left_over = []
    while True:
        has_runs = np.zeros(areas.shape[1], np.bool_)
        has_runs[area] = True
        left_over.append(areas.take(np.flatnonzero(~has_runs), axis=1))
        if not len(area):
            break
        areas = areas.take(np.flatnonzero(has_runs), axis=1)
        new = _is_new(area)
        number = np.cumsum(new) - 1
        # The longest run of each area, and of several the first.
        rank = (length << 32) - np.arange(len(length))
        longest = -np.maximum.reduceat(rank, np.flatnonzero(new)) & 0xFFFFFFFF
        i, j, size = p[longest], q[longest], length[longest]
        done.append((areas[_PAIR], size))

        before_i, before_j = i[number] - p, j[number] - q
        room = np.minimum(before_i, before_j)  # for runs on the left, which may be cut short
        right = np.maximum(before_i, before_j) <= -size[number]
        kept = np.flatnonzero((room >= 2) | right)
        right = right[kept]
        p, q, length = p[kept], q[kept], length[kept]
        length = np.where(right, length, np.minimum(length, room[kept]))
        area = 2 * number[kept] + right

        areas = np.repeat(areas, 2, axis=1)
        areas[_A_END, ::2], areas[_B_END, ::2] = i, j
        areas[_A_BEGIN, 1::2], areas[_B_BEGIN, 1::2] = i + size, j + size
    return _total(done, pairs), np.concatenate(left_over, axis=1)


def _is_new(groups: Ints) -> npt.NDArray[np.bool_]:
    """Where, in sorted numbers, another number begins."""
    new = np.ones(len(groups), np.bool_)
    np.not_equal(groups[1:], groups[:-1], out=new[1:])
    return new


def _total(counts: Sequence[tuple[Ints, Ints]], pairs: int) -> Ints:
    """How many characters of each pair are paired, by some numbers of pairs and their counts."""
    if not counts:
        return np.zeros(pairs, np.int64)
    numbers, paired = (np.concatenate(part) for part in zip(*counts, strict=True))
    return np.bincount(numbers, paired, pairs).astype(np.int64)


def _pair_singles(a: Ints, b: Ints, alphabet: int, areas: Ints, pairs: int) -> Ints:
    """How many characters of each pair are paired in areas without runs."""
    a_size, b_size = areas[_A_END] - areas[_A_BEGIN], areas[_B_END] - areas[_B_BEGIN]
    # What is looked for are the characters of the side that has fewer of them.
    tall = areas.take(np.flatnonzero((a_size > 0) & (a_size <= b_size)), axis=1)
    wide = areas.take(np.flatnonzero((b_size > 0) & (b_size < a_size)), axis=1)
    a_span, b_span = slice(_A_BEGIN, _A_END + 1), slice(_B_BEGIN, _B_END + 1)
    in_tall = _pair_along(a, tall[a_span], b, tall[b_span], alphabet, first_of_other=False)
    in_wide = _pair_along(b, wide[b_span], a, wide[a_span], alphabet, first_of_other=True)
    return _total([(tall[_PAIR], in_tall), (wide[_PAIR], in_wide)], pairs)


def _pair_along(
    letters: Ints,
    spans: Ints,
    others: Ints,
    other_spans: Ints,
    alphabet: int,
    *,
    first_of_other: bool,
) -> Ints:
    """Pair single characters of areas, given by their spans in both sides; returns how many.

    The next one is the first that the other side has, or the one that it has first.
    """
    (begin, end), (other_begin, other_end) = spans, other_spans
    sizes = end - begin
    area = np.repeat(np.arange(len(sizes)), sizes)
    letter = letters[np.arange(len(area)) + np.repeat(end - np.cumsum(sizes), sizes)]
    following = _next_places(others, alphabet)
    letter *= len(others)
    paired = np.zeros(len(sizes), np.int64)
    while True:
        found = following[letter + other_begin[area]]
        kept = np.flatnonzero(found < letter + other_end[area])
        if not len(kept):
            return paired
        area, letter = area[kept], letter[kept]
        place = found[kept] - letter
        chosen = np.flatnonzero(_is_new(area))
        if first_of_other:
            rank = (place << 32) + np.arange(len(place))
            chosen = np.minimum.reduceat(rank, chosen) & 0xFFFFFFFF
        now = area[chosen]
        paired[now] += 1
        other_begin[now] = place[chosen] + 1
        done = np.zeros(len(sizes), np.int64)
        done[now] = chosen
        kept = np.flatnonzero(np.arange(len(area)) > done[area])
        area, letter = area[kept], letter[kept]


def _next_places(letters: Ints, alphabet: int) -> Ints:
    """Where each letter comes next, from each place on.

    `result[letter * len(letters) + place]` is again of that form. As the last place is that after
    the last text, where a letter does not come again another letter or the end is found.
    """
    places = np.sort(letters * len(letters) + np.arange(len(letters)))
    places = np.append(places, alphabet * len(letters))
    return np.repeat(places, np.diff(places, prepend=-1))
