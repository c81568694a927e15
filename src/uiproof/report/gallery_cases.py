"""Which cases of grounding runs are worth looking at: failures first, the worst of them first."""

from __future__ import annotations

import heapq
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from math import hypot
from typing import Any

from uiproof.benchmarks.grounding import sizes
from uiproof.benchmarks.grounding.tally import SERVER_ERROR
from uiproof.benchmarks.grounding.verdicts import Kind
from uiproof.boxes import Box
from uiproof.engine.types import Record

MOST_FAILURES = 800  # of a page; its runs share them
MOST_RIGHT = 200

# What became of a case: the kinds of verdicts, and what prevents one.
OUTCOMES = (*(kind.value for kind in Kind), "server_error", "failed")
_NOT_MEASURED = ("server_error", "failed")


@dataclass(frozen=True, slots=True)
class Shown:
    """One case of one run, as the gallery shows it."""

    run: int
    record: Record
    outcome: str
    right: bool
    badness: float

    @property
    def details(self) -> Mapping[str, Any]:
        """What the judge left for reports; empty where the case could not even be loaded."""
        return self.record.details

    @property
    def size(self) -> str | None:
        """`small`, `medium` or `large`; None where nothing is to be found."""
        truth = self.details.get("truth")
        if not truth or truth["refusal"]:
            return None
        box = Box(*truth["bbox"])
        return sizes.by_short_side(box, self.details["width"], self.details["height"])


@dataclass(frozen=True, slots=True)
class Selection:
    """What was chosen of one run, and of how many."""

    shown: tuple[Shown, ...]
    outcomes: Mapping[str, int]  # of all cases
    failures: int
    right: int

    @property
    def cases(self) -> int:
        """All of them."""
        return self.failures + self.right

    def left_out(self, *, right: bool) -> int:
        """How many failures, or right answers, are not shown."""
        return (self.right if right else self.failures) - sum(
            one.right == right for one in self.shown
        )


def select(
    run: int,
    records: Iterable[Record],
    *,
    most_failures: int = MOST_FAILURES,
    most_right: int = MOST_RIGHT,
) -> Selection:
    """Choose from one run: the worst failures, and a sample of what is right.

    Where there are too many failures, the kinds of verdicts share the places, so that no kind
    hides another. Reads the records once and keeps only what may be shown.
    """
    outcomes: Counter[str] = Counter()
    right = 0
    worst = {outcome: _Shortlist(most_failures) for outcome in OUTCOMES}
    sample = _Shortlist(most_right)
    for record in records:
        one = _shown(run, record)
        outcomes[one.outcome] += 1
        right += one.right
        if one.right:  # the checksum chooses the same ones in every run of a data set
            sample.add(zlib.crc32(record.id.encode("utf-8", "replace")), one)
        else:
            worst[one.outcome].add(one.badness, one)
    turns = zip_longest(*(shortlist.best_first() for shortlist in worst.values()))
    failures = islice((one for one in chain.from_iterable(turns) if one), most_failures)
    shown = (*_worst_first(failures), *_worst_first(sample.best_first()))
    return Selection(shown, outcomes, outcomes.total() - right, right)


def all_shown(selections: Sequence[Selection], *, right: bool) -> list[Shown]:
    """The failures, or the right answers, of all runs; the worst first."""
    return _worst_first(
        one for selection in selections for one in selection.shown if one.right == right
    )


def _worst_first(shown: Iterable[Shown]) -> list[Shown]:
    return sorted(shown, key=lambda one: (-one.badness, one.record.id, one.run))


def _shown(run: int, record: Record) -> Shown:
    outcome = _outcome(record)
    # Assisted methods are judged by their own rule, as in their summaries.
    score = record.scores.get("detected", record.scores.get("accuracy"))
    return Shown(run, record, outcome, bool(score), _badness(record, outcome))


def _outcome(record: Record) -> str:
    if record.error is None:
        found = str(record.details.get("verdict"))
        return found if found in OUTCOMES else Kind.UNPARSEABLE.value
    if record.error.code == SERVER_ERROR:
        return "server_error"
    return Kind.UNPARSEABLE.value if record.error.code.startswith("answer") else "failed"


def _badness(record: Record, outcome: str) -> float:
    """How far off, in diagonals of the screenshot: then come those that name no place.

    What was not measured is nobody's failure and comes last.
    """
    if outcome in _NOT_MEASURED:
        return -1.0
    distance = record.scores.get("distance_px")
    if distance is None:
        return 0.0
    return float(distance) / hypot(record.details["width"], record.details["height"])


class _Shortlist:
    """The `most` highest of many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, int, Shown]] = []
        self._added = 0

    def add(self, value: float, one: Shown) -> None:
        self._added += 1  # of equal ones the first stay
        entry = (value, -self._added, one)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, entry)
        elif self._heap:
            heapq.heappushpop(self._heap, entry)

    def best_first(self) -> list[Shown]:
        return [one for _, _, one in sorted(self._heap, key=lambda e: e[:2], reverse=True)]
