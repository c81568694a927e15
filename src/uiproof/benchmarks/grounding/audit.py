"""Audit of protocols: controls that never look detect leaks of the target.

    for row in audit(Path("my/data")):
        print(row.protocol, row.control, row.rate.mean, row.chance, row.leaks)

Every control runs under every protocol. A blind protocol under which a control does much better
than chance is broken. The assisted protocols of the described framework are known to leak; the
audit shows how much.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Case, Method
from uiproof.benchmarks.grounding.cases import GroundingCase, cases
from uiproof.benchmarks.grounding.grounders import CONTROLS
from uiproof.benchmarks.grounding.judge import GroundingJudge
from uiproof.benchmarks.grounding.methods import SEARCHES, make_method
from uiproof.engine.context import Context
from uiproof.errors import InputError, UsageError
from uiproof.stats.intervals import Interval, clustered_rate

if TYPE_CHECKING:
    from uiproof.models.chat import ChatModel

MARGIN = 0.03  # above chance, for data sets with many targets in the middle
_FACTOR = 3.0
_ASSISTED = {"baseline": "assisted", "fixed": "fixed", "screenseeker": "screenseeker"}
_GRID_CASES = 200  # the grid has thousands of boxes, which takes time


@dataclass(frozen=True, slots=True)
class Audited:
    """The rate of one control under one protocol."""

    protocol: str  # `blind none`, `assisted fixed`, …
    control: str
    rate: Interval
    chance: float  # of a click anywhere
    least: float | None = None  # lower bound of the rate for independent elements

    @property
    def claims_blind(self) -> bool:
        """Return whether the protocol hides the target from methods."""
        return self.protocol.startswith("blind")

    @property
    def leaks(self) -> bool:
        """Return whether the control beats chance by more than the margin and the factor.

        Elements count as independent: a false warning is better than a leak that is missed because
        the data set has few screenshots.
        """
        low = self.rate.mean if self.least is None else self.least
        return low > max(self.chance + MARGIN, self.chance * _FACTOR)


def audit(
    dataset: Path,
    *,
    limit: int | None = None,
    searches: Sequence[str] | None = None,
    make: Callable[[str], Method[Any, Any]] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Audited]:
    """Run all controls under all protocols on a data set, without any model.

    `make` is for protocols of your own: it returns the method of a name such as `centre@mine`,
    where `mine` is one of `searches`.
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
        found.append(asyncio.run(_run(protocol, control, make(name), some)))
    return found


async def _run(
    protocol: str, control: str, method: Method[Any, Any], chosen: Iterable[GroundingCase]
) -> Audited:
    judge = GroundingJudge()
    hits, screens, chance = [], [], 0.0
    for case in chosen:
        truth = case.truth if method.assisted else None
        context = Context(case.id, truth=truth)
        answer = await method.answer(case.id, case.question, context)
        scores = judge.score(case, answer).scores
        hits.append(scores["detected" if method.assisted else "accuracy"])
        screens.append(case.id.rpartition("/")[0])
        chance += max(case.truth.element.bbox.area, _area(case))
    await method.close()
    rate, alone = clustered_rate(hits, screens), clustered_rate(hits)
    assert rate is not None
    return Audited(protocol, control, rate, chance / rate.n, alone.low if alone else None)


def _area(case: GroundingCase) -> float:
    clickable = case.truth.element.clickable
    return clickable.area if clickable else 0.0


def _no_models(name: str) -> ChatModel:
    raise UsageError(f"An audit asks no models, and {name} is one.")
