"""Repetition in generated pages: text that comes again and again."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 100  # characters of text without tags that are compared at a time
SIMILAR = 0.8  # the ratio from which two chunks count as the same
REPEATS = 5  # so many similar chunks make a page repetitive
READABLE = 0.5  # how much of such a chunk must be there to read
MAX_CHUNKS = 4_000  # how far into a page repetition is looked for: 400,000 characters of text

# Elements whose text is not displayed, with the tags that end them.
_UNREAD = re.compile(r"<(?:(style|script|title)\b|!--)", re.IGNORECASE)
_UNREAD_ENDS = {
    tag: re.compile(f"</{tag}" if tag else "-->", re.IGNORECASE)
    for tag in ("style", "script", "title", "")
}
# Blanks, and tags that go over several lines, which are not removed with the others.
_BLANK = re.compile(r"&nbsp;|<[a-z/!][^<>]*>", re.IGNORECASE)


def cut_repetition(html: str, reference: str = "") -> str:
    """Cut a page where its text begins to repeat itself.

    The text without tags is taken in chunks of 100 characters; five chunks with a similarity of
    0.8 or more to the first of them make the page repetitive, and it ends where the first of them
    begins. The reference implementation also takes style sheets, scripts and indentation for text
    and so cuts most ordinary pages; here at least half of each of the five must be there to read.
    What the reference page also repeats does not count.

    The reference implementation finds the place in the HTML by matching characters greedily, also
    inside tags, and so may cut too early. Its place is kept where something to read is left, so
    that scores stay comparable; otherwise the true place is used and the first chunk stays.
    """
    repeated = readable_repetition(html)
    if repeated and reference:
        firsts = [chunks[0] for chunks in repeated.values()]
        known = _known_repetition(firsts, reference)
        repeated = {n: chunks for n, chunks in repeated.items() if chunks[0] not in known}
    if not repeated:
        return html
    first = min(repeated)
    text, origin = _without_tags(html)
    start = _greedy_position(text, html, first * CHUNK)
    if start >= len(text):  # such places the reference implementation does not accept
        return html
    if not _is_readable(html)[:start].any():
        start = int(origin[min((first + 1) * CHUNK, len(text) - 1)])
    return html[:start]


def readable_repetition(html: str) -> dict[int, list[str]]:
    """Return the readable chunks that repeat often, by the number of the first of each kind."""
    chunks, readable = _chunks(html)
    kinds = _readable_kinds(chunks, readable)
    return {first: [chunks[n] for n in members] for first, members in kinds.items()}


def _chunks(html: str) -> tuple[list[str], NDArray[np.bool_]]:
    """Return the text without tags in chunks, and which of them are there to read."""
    text, origin = _without_tags(html)
    begins = np.arange(0, len(text), CHUNK)[:MAX_CHUNKS]
    if len(begins) < REPEATS:
        return [], np.zeros(0, np.bool_)
    chunks = [text[begin : begin + CHUNK] for begin in begins]
    end = min(len(text), MAX_CHUNKS * CHUNK)
    read = np.add.reduceat(_is_readable(html)[origin[:end]], begins, dtype=np.int64)
    return chunks, read / np.array([len(chunk) for chunk in chunks]) >= READABLE


def _known_repetition(firsts: list[str], reference: str) -> set[str]:
    """Return which of some chunks are like one that the reference page repeats."""
    from cydifflib import SequenceMatcher

    def alike(chunk: str, others: list[str]) -> bool:
        return any(SequenceMatcher(None, chunk, other).ratio() >= SIMILAR for other in others)

    chunks, readable = _chunks(reference)
    others = [chunks[n] for n in np.flatnonzero(readable)]
    if len(others) < REPEATS:
        return set()
    counts = _character_counts([*firsts, *others])
    # Chunks unlike anything in the reference page need no comparison with its repetitions.
    found = set()
    for n, first in enumerate(firsts):
        near = np.flatnonzero(_may_be_similar(counts[:, len(firsts) :], counts[:, n]))
        if alike(first, [others[m] for m in near]):
            found.add(first)
    if not found:
        return set()
    repeated = _readable_kinds(chunks, readable).values()
    known = [chunks[n] for members in repeated for n in members][:1_000]
    return {first for first in found if alike(first, known)}


def _is_readable(html: str) -> NDArray[np.bool_]:
    """Return for every character of a page whether a person can read it."""
    codes = np.frombuffer(html.encode("utf-32-le", "surrogatepass"), np.uint32)
    spaces = _spaces()
    readable = ~spaces[np.minimum(codes, len(spaces) - 1)]
    position = 0
    while unread := _UNREAD.search(html, position):
        end = _UNREAD_ENDS[(unread[1] or "").lower()].search(html, unread.end())
        position = html.find(">", end.start()) + 1 if end else 0
        position = position or len(html)
        readable[unread.start() : position] = False
    for blank in _BLANK.finditer(html):
        readable[blank.start() : blank.end()] = False
    return readable


@cache
def _spaces() -> NDArray[np.bool_]:
    """Return which characters are blanks, up to the last blank."""
    last = 0x3000
    return np.array([*(chr(code).isspace() for code in range(last + 1)), False])


def _without_tags(html: str) -> tuple[str, NDArray[np.int64]]:
    """Return the text outside tags and the position of each character; tags end with their line.

    The same as removing every `<.*?>`, in linear time.
    """
    kept = []
    position = 0
    line_end = -1
    while (begin := html.find("<", position)) >= 0:
        if line_end < begin:
            line_end = html.find("\n", begin)
            line_end = len(html) if line_end < 0 else line_end
        end = html.find(">", begin, line_end)
        if end < 0:
            kept.append((position, line_end))
            position = line_end
        else:
            kept.append((position, begin))
            position = end + 1
    kept.append((position, len(html)))
    text = "".join(html[a:b] for a, b in kept)
    places = [np.arange(a, b) for a, b in kept]
    return text, np.concatenate(places) if places else np.zeros(0, np.int64)


def _greedy_position(text: str, html: str, index: int) -> int:
    """Return where the reference implementation believes character `index` of the text to be."""
    if index >= len(text):
        return len(html)
    place = -1
    for character in text[: index + 1]:
        place = html.index(character, place + 1)
    return place


def _readable_kinds(chunks: list[str], readable: NDArray[np.bool_]) -> dict[int, list[int]]:
    """Return groups of similar readable chunks, by the number of the first one.

    A chunk is of the first kind whose first chunk it is similar to. Kinds of which fewer than
    five chunks can be read are left out.
    """
    if np.count_nonzero(readable) < REPEATS:
        return {}
    similarity = _Similarity()
    counts = _character_counts(chunks)
    kinds: dict[int, list[int]] = {}
    exact: dict[str, int] = {}
    for number, chunk in enumerate(chunks):
        kind = exact.get(chunk)
        if kinds:
            # An earlier kind may be similar too and then goes before the equal one.
            firsts = np.fromiter(kinds, np.int64, len(kinds))
            for candidate in firsts[_may_be_similar(counts[:, firsts], counts[:, number])]:
                if int(candidate) == kind:
                    break
                if similarity(chunk, chunks[candidate]) >= SIMILAR:
                    kind = int(candidate)
                    break
        if kind is None:
            exact.setdefault(chunk, number)
        kinds.setdefault(number if kind is None else kind, []).append(number)
    read = {first: [n for n in members if readable[n]] for first, members in kinds.items()}
    return {first: members for first, members in read.items() if len(members) >= REPEATS}


def _may_be_similar(some: NDArray[np.uint8], one: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which of some chunks may be similar to another one, by their character counts.

    The overlap of character counts is never less than the ratio, so most chunks need no comparison.
    """
    overlap = np.minimum(some, one[:, np.newaxis]).sum(axis=0, dtype=np.int32)
    together = some.sum(axis=0, dtype=np.int32) + one.sum(dtype=np.int32)
    similar: NDArray[np.bool_] = 2 * overlap / together >= SIMILAR - 1e-9
    return similar


def _character_counts(chunks: list[str]) -> NDArray[np.uint8]:
    """Return how often each character occurs in each chunk: a column for each chunk.

    Rare characters share rows, which is safe.
    """
    rows = 256
    codes = np.frombuffer("".join(chunks).encode("utf-32-le", "surrogatepass"), np.uint32) % rows
    numbers = np.repeat(np.arange(len(chunks)), [len(chunk) for chunk in chunks])
    often = np.bincount(codes * len(chunks) + numbers, minlength=rows * len(chunks))
    counts = often.astype(np.uint8).reshape(rows, len(chunks))
    return counts[counts.any(axis=1)]


class _Similarity:
    """The similarity of two chunks; what a chunk needs to be compared is made once."""

    def __init__(self) -> None:
        self._matchers: dict[str, Any] = {}

    def __call__(self, chunk: str, other: str) -> float:
        from cydifflib import SequenceMatcher  # most commands never need it

        if chunk == other:
            return 1.0
        if other not in self._matchers:
            self._matchers[other] = SequenceMatcher(None, "", other)
        self._matchers[other].set_seq1(chunk)
        return float(self._matchers[other].ratio())
