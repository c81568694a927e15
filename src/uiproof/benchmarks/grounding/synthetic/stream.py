"""A stream of random numbers that is the same in every Python and on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, MutableSequence, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Stream:
    """Random choices that follow from a key alone: `Stream("42/7").between(1, 6)`."""

    def __init__(self, key: str) -> None:
        self._words = _words(key)

    def below(self, end: int) -> int:
        """A number from 0 to just below `end`."""
        return next(self._words) * end >> 64

    def between(self, first: int, last: int) -> int:
        """A number from `first` to `last`, both included."""
        return first + self.below(last - first + 1)

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self.below(100) < percent

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[tuple[T, int]]) -> T:
        """One of the items, each as often as its weight says."""
        place = self.below(sum(weight for _, weight in items))
        for item, weight in items:
            place -= weight
            if place < 0:
                return item
        raise ValueError("there is nothing to choose from")

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Bring the items into another order."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def _words(key: str) -> Iterator[int]:
    """Numbers of 64 bits: SHA-256 of the key and a counter, cut into four."""
    counter = 0
    while True:
        digest = hashlib.sha256(f"{key}/{counter}".encode()).digest()
        for start in range(0, 32, 8):
            yield int.from_bytes(digest[start : start + 8], "big")
        counter += 1
