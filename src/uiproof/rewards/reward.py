"""One number in 0-1 for what a model wrote, with or without a reference.

    r = uiproof.reward(html, reference=Path("page.html"))
    float(r), r.components["text"], r.flags, r.reason
    uiproof.reward(html)                                   # without a reference: `check_page`
    uiproof.reward((64, 31), reference=(20, 20, 120, 50))  # a point against a box

The same answers get the same reward, whatever else is scored at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import wraps
from math import isfinite
from typing import Any, ParamSpec, TypeVar

from uiproof.benchmark import Record
from uiproof.engine.executors import gather
from uiproof.errors import UiproofError, UsageError
from uiproof.page_check import checked_weights, combined
from uiproof.registry import benchmarks
from uiproof.scoring.pool import MACHINE_ERRORS, PAGE_CHECK
from uiproof.scoring.scorer import shared_scorer

PROFILE = "strict"
_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Reward:
    """A number in 0-1, and what it is made of."""

    value: float
    components: Mapping[str, float] = field(default_factory=dict)  # each in 0-1
    flags: tuple[str, ...] = ()  # what was unusual, such as `generated:load_timeout`
    seconds: float = 0.0  # of scoring, without waiting
    reason: str = ""  # why it is 0

    def __float__(self) -> float:
        return self.value

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON has it."""
        return {**asdict(self), "components": dict(self.components), "flags": list(self.flags)}


def wait_for(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to completion, also inside a running event loop such as a notebook's."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()


def blocking(work: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, _T]:
    """Return a function that waits for a coroutine function, with the same parameters."""

    @wraps(work)
    def call(*args: _P.args, **options: _P.kwargs) -> _T:
        return wait_for(work(*args, **options))

    for name in ("__name__", "__qualname__"):
        setattr(call, name, getattr(work, name).removesuffix("_async"))
    return call


async def reward_async(
    generated: Any,
    reference: Any = None,
    *,
    profile: str = PROFILE,
    weights: Mapping[str, float] | None = None,
    deadline: float | None = None,
    judge_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Reward | None:
    """Return the reward of an answer; 0 with a reason where it cannot be judged.

    `generated` and `reference` are what `Scorer` takes: HTML (`str`), a file (`Path`), a screenshot
    (`bytes`), an `InteractionReference`; a `Completion` is all that a model wrote. A box
    `(left, top, right, bottom)` is the reference of a point. Without a reference the page is
    checked by itself. `weights` says how much each component counts, those that it does not name
    count as before. None where there is no score within `deadline` seconds.

    Raises what is wrong with the call, and with this machine.
    """
    scorer = shared_scorer(judge_options or {})
    try:
        async with asyncio.timeout(deadline):
            benchmark, record = await scorer.record_async(reference, generated, **options)
    except TimeoutError:
        return None
    if record.error is not None and record.error.stage == "load":
        raise UsageError(record.error.message, remedy=record.error.remedy)
    return reward_of(benchmark, record, profile=profile, weights=weights)


reward = blocking(reward_async)


async def reward_many_async(
    pairs: Iterable[tuple[Any, Any]],
    *,
    profile: str = PROFILE,
    weights: Mapping[str, float] | None = None,
    deadline: float | None = None,
    judge_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> list[Reward | None]:
    """Return the rewards of pairs (generated, reference) in their order.

    What is wrong with one pair is its own reason, and costs no other. None for those that have no
    score within `deadline` seconds from the call. Raises what is wrong with this machine, and a
    profile or weights that no pair could have.
    """
    scorer = shared_scorer(judge_options or {})

    async def one(pair: tuple[Any, Any]) -> Reward | None:
        try:
            generated, reference = pair
        except (TypeError, ValueError):
            return Reward(0.0, reason="A pair is (generated, reference).")
        try:
            async with asyncio.timeout(deadline):
                benchmark, record = await scorer.record_async(reference, generated, **options)
        except TimeoutError:
            return None
        except UiproofError as error:
            if isinstance(error, MACHINE_ERRORS):
                raise
            return Reward(0.0, reason=str(error))
        return reward_of(benchmark, record, profile=profile, weights=weights)

    return await gather(map(one, pairs))


reward_many = blocking(reward_many_async)


def reward_of(
    benchmark: str,
    record: Record,
    *,
    profile: str = PROFILE,
    weights: Mapping[str, float] | None = None,
) -> Reward:
    """Return the reward of a record; `benchmark` is "" for a page without a reference."""
    if benchmark == PAGE_CHECK:
        components: Mapping[str, float] = record.scores
        checked_weights(weights)
        value = combined(components, weights)
    else:
        known = benchmarks()[benchmark]
        components = known.reward_components(record.scores, profile)
        value = weighted_mean(components, {**known.reward_weights, **(weights or {})})
    failed = record.error is not None
    value = 0.0 if failed else min(max(value, 0.0), 1.0)
    return Reward(
        value=value,
        components=dict(components),
        flags=tuple(record.flags),
        seconds=record.seconds.get("score", 0.0),
        reason=_reason(benchmark, record) if value == 0 else "",
    )


def weighted_mean(components: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the weighted mean of components; weights default to 1."""
    for name, weight in weights.items():
        if name not in components:
            raise UsageError(
                f"There is no component {name!r}.", remedy=f"Use some of: {', '.join(components)}."
            )
        if not isinstance(weight, int | float) or not isfinite(weight) or weight < 0:
            raise UsageError(f"The weight of {name!r} is {weight!r}; it must be at least 0.")
    used = {name: weights.get(name, 1.0) for name in components}
    total = sum(used.values())
    if not total:
        raise UsageError("All weights are 0.", remedy="Give at least one component a weight.")
    return sum(components[name] * weight for name, weight in used.items()) / total


def _reason(benchmark: str, record: Record) -> str:
    if record.error is not None:
        return f"{record.error.message} {record.error.remedy}".strip()
    return "Nothing is as in the reference." if benchmark else "The page shows nothing."
