"""A part of a data set, so that machines which know nothing of each other can share a run.

for case in Shard.parse("3/16").part(cases): ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from uiproof.engine.types import BrokenCase, Case
from uiproof.errors import UsageError

AnyCase = Case[Any, Any] | BrokenCase


@dataclass(frozen=True, slots=True)
class Shard:
    """The `number`-th of `count` parts, counted from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """What `--shard 3/16` means."""
        match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text, re.ASCII)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(
                f"{text!r} is no part of a data set.",
                remedy="Write --shard 3/16 for the third of sixteen parts.",
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def part(self, cases: Iterable[AnyCase]) -> Iterator[AnyCase]:
        """The cases of this part. Cases of one page or screenshot stay together.

        Every case is in exactly one of the parts, as long as the data set is the same.
        """
        for place, (_, together) in enumerate(groupby(cases, _group)):
            if place % self.count == self.number - 1:
                yield from together


def _group(case: AnyCase) -> str:
    """What `page/interaction` and `screenshot/element` belong to: it is rendered or read once."""
    return case.id.rpartition("/")[0] or case.id
