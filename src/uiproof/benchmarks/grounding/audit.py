"""Does a protocol give the target away? Controls that never look say so.

    for row in audit(Path("my/data")):
        print(row.protocol, row.control, row.rate.mean, row.chance, row.leaks)

Every control plays under every protocol. One that claims to be blind and lets a control do much
better than chance is broken. The assisted protocols of the described framework are shown beside
them: they are known to leak, and this says how much.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding.cases import GroundingCase, cases
from uiproof.benchmarks.grounding.controls import CONTROLS
from uiproof.benchmarks.grounding.judge import GroundingJudge
from uiproof.benchmarks.grounding.methods import make_method
from uiproof.benchmarks.grounding.searches import SEARCHES
from uiproof.engine.context import Context
from uiproof.engine.types import Case, Method
from uiproof.errors import InputError, UsageError
from uiproof.stats.intervals import Interval, wilson

if TYPE_CHECKING:
    from uiproof.models.chat import ChatModel

MARGIN = 0.03  # above chance: what a data set with many targets in the middle may give a control
_FACTOR = 3.0
_ASSISTED = {"baseline": "assisted", "fixed": "fixed", "screenseeker": "screenseeker"}
_GRID_CASES = 200  # it names thousands of boxes, which takes its time


@dataclass(frozen=True, slots=True)
class Audited:
    """How one control did under one protocol."""

    protocol: str  # `blind none`, `assisted fixed`, …
    control: str
    rate: Interval
    chance: float  # of a click anywhere

    @property
    def claims_blind(self) -> bool:
        """Whether methods under this protocol are not to know the target."""
        return self.protocol.startswith("blind")

    @property
    def leaks(self) -> bool:
        """Whether the control did much better than chance: surely, and by more than a margin."""
        low = self.rate.low if self.rate.low is not None else self.rate.mean
        return low > max(self.chance + MARGIN, self.chance * _FACTOR)


def audit(
    dataset: Path,
    *,
    limit: int | None = None,
    searches: Sequence[str] | None = None,
    make: Callable[[str], Method[Any, Any]] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Audited]:
    """Play all controls under all protocols on a data set. Nothing is asked of any model.

    `make` is for protocols of your own: a function that makes the method of a name such as
    `centre@mine`, where `mine` is one of `searches`.
    """
    chosen = [
        case
        for case in islice(cases(dataset), limit)
        if isinstance(case, Case) and not case.truth.element.refusal
    ]
    if not chosen:
        raise InputError(f"There is nothing to find in {dataset}.")
    make = make or (lambda name: make_method(name, _no_models))
    names = [(f"blind {s}", c, f"{c}@{s}") for s in searches or SEARCHES for c in CONTROLS]
    names += [(f"assisted {a}", c, f"{c}-{s}") for a, s in _ASSISTED.items() for c in CONTROLS]
    found = []
    for protocol, control, name in names:
        if progress:
            progress(f"{control} under {protocol}")
        some = chosen[:: -(-len(chosen) // _GRID_CASES)] if control == "grid" else chosen
        found.append(asyncio.run(_play(protocol, control, make(name), some)))
    return found


async def _play(
    protocol: str, control: str, method: Method[Any, Any], chosen: Iterable[GroundingCase]
) -> Audited:
    judge = GroundingJudge()
    hits = n = 0
    chance = 0.0
    for case in chosen:
        truth = case.truth if method.assisted else None
        context = Context(case.id, truth=truth)
        answer = await method.answer(case.id, case.question, context)
        scores = judge.score(case, answer).scores
        hits += int(scores["detected" if method.assisted else "accuracy"])
        n += 1
        chance += max(case.truth.element.bbox.area, _area(case))
    await method.close()
    rate = wilson(hits, n)
    assert rate is not None
    return Audited(protocol, control, rate, chance / n)


def _area(case: GroundingCase) -> float:
    clickable = case.truth.element.clickable
    return clickable.area if clickable else 0.0


def _no_models(name: str) -> ChatModel:
    raise UsageError(f"An audit asks no models, and {name} is one.")
