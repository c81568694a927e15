"""How many requests go out at once, in simulated time and against simulated providers."""

import asyncio
import random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_time import Provider, ask_all, run_virtually

from uiproof.models.limiter import AdaptiveLimit, Place
from uiproof.models.retries import Persistence

SEEDS = range(5)


def measured(requests, *, concurrency=16, change=None, **provider):
    """By seed: the seconds, the provider and the level after so many requests."""

    async def main(seed):
        served = Provider(seed=seed, **provider)
        persistence = Persistence(
            "test", concurrency=concurrency, patience=900, chance=random.Random(seed)
        )
        seconds = await ask_all(persistence, served, requests, 4 * concurrency)
        if change is not None:
            change(served)
            await ask_all(persistence, served, requests, 4 * concurrency)
        return seconds, served, persistence.limit.level

    return [run_virtually(main(seed)) for seed in SEEDS]


@pytest.mark.parametrize("refusal_seconds", [0.01, 1.0])
@pytest.mark.parametrize("concurrency", [8, 16])
def test_refusals_that_come_at_random_cost_no_concurrency(concurrency, refusal_seconds):
    runs = measured(
        600,
        concurrency=concurrency,
        random_refusals=1 / 3,
        random_errors=0.15,
        refusal_seconds=refusal_seconds,
    )
    ratios = [seconds / (one.handling_seconds / concurrency) for seconds, one, _ in runs]
    assert median(ratios) < 1.2
    assert max(ratios) < 1.4


@pytest.mark.parametrize("at_once", [1, 5, 12])
def test_a_server_that_takes_only_so_many_at_once_gets_about_that_many(at_once):
    runs = measured(600, at_once=at_once)
    assert all(seconds < 1.1 * 600 / at_once for seconds, _, _ in runs)
    assert all(abs(level - at_once) <= max(1, at_once // 2) for _, _, level in runs)


@pytest.mark.parametrize("per_second", [2.0, 5.0])
def test_a_server_that_takes_only_so_many_a_second_is_asked_about_that_often(per_second):
    runs = measured(600, per_second=per_second)
    assert median(seconds for seconds, _, _ in runs) < 1.1 * 600 / per_second
    assert median(level for _, _, level in runs) <= 2 * per_second


def test_few_requests_are_wasted_once_the_limit_is_known():
    known = []
    runs = measured(400, at_once=5, change=lambda provider: known.append(provider.refused))
    wasted = [one.refused - before for (_, one, _), before in zip(runs, known, strict=True)]
    assert median(wasted) < 0.25 * 400


def test_a_server_that_recovers_gets_as_many_as_before():
    def recover(provider):
        provider.at_once = None

    assert [level for _, _, level in measured(400, at_once=5, change=recover)] == [16] * len(SEEDS)


def test_a_server_without_complaints_always_gets_all():
    for seconds, provider, level in measured(200):
        assert level == 16
        assert provider.most_under_way == 16
        assert seconds < 1.1 * provider.handling_seconds / 16


def test_whoever_has_stood_in_line_for_longest_is_next_even_after_a_pause():
    order = []

    async def request(limit, name, attempts):
        with limit.place() as place:
            for _ in range(attempts):
                async with place.turn():
                    order.append(name)
                    await asyncio.sleep(1)
                await asyncio.sleep(0.5)

    async def main():
        limit = AdaptiveLimit(1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(request(limit, "old", 2))
            for name in "abc":
                tasks.create_task(request(limit, name, 1))

    run_virtually(main())
    assert order == ["old", "a", "old", "b", "c"]


@settings(max_examples=60, deadline=None)
@given(
    maximum=st.integers(1, 4),
    requests=st.lists(
        st.tuples(
            st.sampled_from(["ok", "limited", "failed"]),
            st.floats(0, 3),  # it comes
            st.floats(0, 2),  # it takes
            st.none() | st.floats(0, 3),  # it is cancelled
        ),
        max_size=30,
    ),
)
def test_no_turn_is_ever_lost_or_given_twice(maximum, requests):
    async def request(limit: AdaptiveLimit, outcome, comes, takes):
        await asyncio.sleep(comes)
        with limit.place() as place:
            async with place.turn() as turn:
                assert limit.under_way <= maximum
                await asyncio.sleep(takes)
                turn.outcome = outcome

    async def main():
        limit = AdaptiveLimit(maximum)
        loop = asyncio.get_running_loop()
        tasks = []
        for outcome, comes, takes, cancelled in requests:
            tasks.append(asyncio.create_task(request(limit, outcome, comes, takes)))
            if cancelled is not None:
                loop.call_later(cancelled, tasks[-1].cancel)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(one is None or isinstance(one, asyncio.CancelledError) for one in results)
        await asyncio.sleep(60)  # turns may rest
        assert limit.under_way == 0
        assert limit.level >= 1
        async with asyncio.timeout(1):  # and all of them can be had again
            with limit.place() as place:
                await all_turns(place, limit.level)

    run_virtually(main())


async def all_turns(place: Place, count: int) -> None:
    if count:
        async with place.turn():
            await all_turns(place, count - 1)
