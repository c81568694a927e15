"""Limits on costs and requests."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_time import run_virtually

from uiproof.errors import BudgetReachedError, UsageError
from uiproof.models.budget import Budget


async def spend(budget, most, real, seconds=1.0):
    async with budget.reserved(most) as reservation:
        await asyncio.sleep(seconds)
        reservation.settle(real)


def test_without_limits_everything_is_only_counted():
    budget = Budget()
    run_virtually(spend(budget, 1000.0, 900.0))
    assert (budget.spent, budget.requests) == (900.0, 1)


def test_requests_under_way_together_cannot_overspend():
    budget = Budget(max_cost=1.0)

    async def main():
        calls = (spend(budget, 0.3, 0.3) for _ in range(10))
        return await asyncio.gather(*calls, return_exceptions=True)

    results = run_virtually(main())
    assert results.count(None) == 3
    assert all(isinstance(one, BudgetReachedError) for one in results if one)
    assert budget.spent == pytest.approx(0.9)


def test_what_turns_out_cheaper_than_feared_makes_room_for_others():
    budget = Budget(max_cost=1.0)

    async def main():
        await asyncio.gather(*(spend(budget, 0.6, 0.1) for _ in range(5)))

    run_virtually(main())
    assert budget.spent == pytest.approx(0.5)


def test_the_error_says_what_was_spent_the_limit_and_how_to_go_on():
    budget = Budget(max_cost=1.0)
    run_virtually(spend(budget, 0.9, 0.9))
    with pytest.raises(BudgetReachedError, match=r"\$0\.9000.*\$0\.2000.*\$1\.00.*--max-cost"):
        run_virtually(spend(budget, 0.2, 0.1))


def test_requests_are_limited_too():
    budget = Budget(max_requests=2)

    async def main():
        calls = (spend(budget, 0.0, 0.0) for _ in range(4))
        return await asyncio.gather(*calls, return_exceptions=True)

    results = run_virtually(main())
    assert [type(one) for one in results].count(BudgetReachedError) == 2
    assert "2 requests were made; the limit is 2." in str(results[-1])
    assert "--max-requests" in str(results[-1])


def test_an_attempt_that_is_cancelled_counts_in_full():
    budget = Budget()

    async def main():
        task = asyncio.create_task(spend(budget, 0.4, 0.1))
        await asyncio.sleep(0.5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_virtually(main())
    assert (budget.spent, budget.requests) == (0.4, 1)


def test_it_goes_on_in_the_next_event_loop():
    budget = Budget(max_cost=1.0)

    async def stopped():
        tasks = [asyncio.create_task(spend(budget, 0.6, 0.1)) for _ in range(3)]
        await asyncio.sleep(0.5)  # one is under way, the others wait
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run_virtually(stopped())
    run_virtually(spend(budget, 0.4, 0.1))
    assert budget.spent == pytest.approx(0.7)


@pytest.mark.parametrize("limits", [{"max_cost": -1.0}, {"max_cost": float("nan")}])
def test_a_limit_that_is_none_is_refused(limits):
    with pytest.raises(UsageError):
        Budget(**limits)


@settings(max_examples=60, deadline=None)
@given(
    max_cost=st.floats(0, 5),
    max_requests=st.integers(0, 12),
    calls=st.lists(
        st.tuples(st.floats(0, 3), st.floats(0, 1), st.floats(0, 2), st.none() | st.floats(0, 4)),
        max_size=15,
    ),
)
def test_no_limit_is_ever_passed_and_no_call_waits_forever(max_cost, max_requests, calls):
    budget = Budget(max_cost, max_requests)

    async def main():
        loop = asyncio.get_running_loop()
        tasks = []
        for most, share, seconds, cancelled in calls:
            tasks.append(asyncio.create_task(spend(budget, most, most * share, seconds)))
            if cancelled is not None:
                loop.call_later(cancelled, tasks[-1].cancel)
        await asyncio.gather(*tasks, return_exceptions=True)

    run_virtually(main())
    assert budget.spent <= max_cost + 1e-6
    assert budget.requests <= max_requests
