"""Retries, pauses, giving up, and the number of requests at once; in simulated time."""

import asyncio
import math
import random
from contextlib import AsyncExitStack
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_time import Provider, ask_all, run_virtually

from uiproof.errors import ModelAccessError, ModelError
from uiproof.models.retries import Limiter, Retrier
from uiproof.models.types import AttemptError, Finish, Reply

ANSWER = Reply(text="yes", finish=Finish.STOP, network_seconds=1.0)


def retrier(concurrency=4, patience=900.0):
    return Retrier(
        "a/model",
        concurrency=concurrency,
        patience=patience,
        remedy="Look.",
        chance=random.Random(1),
    )


class Script:
    """Attempts that go as written: an error's kind, an error, or an answer after a second."""

    def __init__(self, *script):
        self.times = []
        self._script = list(script)

    async def __call__(self):
        self.times.append(asyncio.get_running_loop().time())
        step = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(step, Reply):
            await asyncio.sleep(step.network_seconds)
            return step
        raise step if isinstance(step, AttemptError) else AttemptError(step, f"a {step} error")

    def pauses(self):
        return [later - sooner for sooner, later in zip(self.times, self.times[1:], strict=False)]


def outcome(attempt, **options):
    return run_virtually(retrier(**options).call(attempt))


def test_an_answer_tells_how_many_attempts_and_seconds_it_took():
    attempt = Script("server", "rate_limited", "connection", ANSWER)
    reply = outcome(attempt)
    assert reply.attempts == 4
    assert reply.queue_seconds == pytest.approx(sum(attempt.pauses()))
    assert reply.queue_seconds > 0


def test_a_pause_that_the_server_asks_for_is_kept():
    attempt = Script(AttemptError("rate_limited", "slow", retry_after=30.0), ANSWER)
    outcome(attempt)
    assert 30 <= attempt.pauses()[0] < 32


def test_refusals_never_use_up_the_tries():
    attempt = Script(*["rate_limited"] * 40, ANSWER)
    assert outcome(attempt, patience=3600.0).attempts == 41


def test_patience_has_an_end():
    attempt = Script("rate_limited")
    with pytest.raises(ModelError, match=r"gave no answer in \d+ tries. Last: a rate_limited"):
        outcome(attempt, patience=100.0)
    assert 20 < attempt.times[-1] <= 100


@pytest.mark.parametrize(("kind", "tries"), [("server", 12), ("malformed", 12), ("timeout", 3)])
def test_errors_are_tried_again_so_many_times(kind, tries):
    attempt = Script(kind)
    with pytest.raises(ModelError, match=f"in {tries} tries. Last: a {kind} error"):
        outcome(attempt)
    assert len(attempt.times) == tries
    pauses = attempt.pauses()
    assert pauses[-1] > pauses[0]


def test_a_request_that_is_rejected_fails_at_once():
    attempt = Script("rejected")
    with pytest.raises(ModelError, match="rejected"):
        outcome(attempt)
    assert len(attempt.times) == 1


@pytest.mark.parametrize("kind", ["no_access", "quota"])
def test_denied_access_stops_the_run_with_a_remedy(kind):
    with pytest.raises(ModelAccessError, match=f"a/model said: a {kind} error Look."):
        outcome(Script(kind))


def test_a_server_that_closes_for_hours_stops_the_run():
    attempt = Script(AttemptError("rate_limited", "the day is used up", retry_after=7200.0))
    with pytest.raises(ModelAccessError, match="no requests for 7200 seconds"):
        outcome(attempt)


def results(attempts, **options):
    async def main():
        asked = retrier(**options)
        calls = (asked.call(attempt) for attempt in attempts)
        return await asyncio.gather(*calls, return_exceptions=True)

    return run_virtually(main())


def test_an_outage_stops_the_run_and_fails_no_case():
    attempts = [Script("server") for _ in range(16)]
    assert {type(one) for one in results(attempts)} == {ModelAccessError}
    assert 100 < max(attempt.times[-1] for attempt in attempts) < 400
    assert sum(len(attempt.times) for attempt in attempts) < 400


def test_requests_that_always_get_500_fail_and_the_run_goes_on():
    # All that is left of a run are requests that never work: it must get past them.
    broken = [Script("fault") for _ in range(8)]
    assert {type(one) for one in results(broken)} == {ModelError}
    assert max(attempt.times[-1] for attempt in broken) < 400
    *broken, good = results([*[Script("fault") for _ in range(8)], Script(ANSWER)])
    assert {type(one) for one in broken} == {ModelError}
    assert isinstance(good, Reply)


def test_a_server_that_answers_all_requests_with_500_stops_the_run_in_the_end():
    kinds = [type(one) for one in results([Script("fault") for _ in range(100)])]
    assert kinds.count(ModelError) == 32  # these are not asked again: the next run gets further
    assert kinds.count(ModelAccessError) == 68


def test_few_faults_are_enough_where_they_are_about_the_request():
    async def main(attempts):
        asked = Retrier("a", concurrency=4, patience=900.0, fault_tries=3)
        calls = (asked.call(attempt) for attempt in attempts)
        return await asyncio.gather(*calls, return_exceptions=True)

    broken = [Script("fault") for _ in range(30)]
    passing = Script("fault", "fault", ANSWER)
    *failed, answered = run_virtually(main([*broken, passing]))
    assert {type(one) for one in failed} == {ModelError}
    assert [len(attempt.times) for attempt in broken] == [3] * 30
    assert answered.attempts == 3


def test_a_server_that_was_never_there_stops_the_run_soon():
    attempts = [Script("connection") for _ in range(16)]
    assert {type(one) for one in results(attempts)} == {ModelAccessError}
    assert max(attempt.times[-1] for attempt in attempts) < 40
    with pytest.raises(ModelAccessError, match="cannot be reached"):
        outcome(Script("connection"))


def test_a_short_outage_is_waited_for():
    async def attempt():
        if asyncio.get_running_loop().time() < 90:
            raise AttemptError("server", "down")
        return ANSWER

    assert all(isinstance(one, Reply) for one in results([attempt] * 16))


def test_a_request_that_never_works_fails_alone():
    broken, *others = results([Script("server"), *[Script(ANSWER)] * 30])
    assert isinstance(broken, ModelError)
    assert all(isinstance(one, Reply) for one in others)


def test_long_pauses_that_the_server_asks_for_are_no_outage():
    asked = AttemptError("rate_limited", "slow", retry_after=150.0)
    attempts = [Script(asked, asked, ANSWER) for _ in range(30)]
    assert all(isinstance(one, Reply) for one in results(attempts))


def test_a_request_that_pauses_leaves_its_turn_to_others():
    slow = Script(AttemptError("rate_limited", "slow", retry_after=100.0), ANSWER)
    quick = [Script(ANSWER) for _ in range(5)]
    results([slow, *quick], concurrency=1)
    assert max(attempt.times[-1] for attempt in quick) < 10


@pytest.mark.parametrize("error", ["server", "connection", "rate_limited"])
def test_while_others_get_answers_a_failure_costs_a_fraction_of_what_an_answer_takes(error):
    unlucky = Script(ANSWER, *[error] * 3, ANSWER)

    async def main():
        asked = retrier()
        await asked.call(unlucky)
        others = [asyncio.create_task(asked.call(Script(ANSWER))) for _ in range(3)]
        await asked.call(unlucky)
        await asyncio.gather(*others)

    run_virtually(main())
    assert sum(unlucky.pauses()[1:]) < 1.5


def test_a_server_that_says_to_come_back_at_once_is_asked_at_once():
    again = AttemptError("rate_limited", "again", retry_after=0.0)
    attempt = Script(again, again, again, ANSWER)
    outcome(attempt)
    assert sum(attempt.pauses()) < 0.5


# How many requests go out at once

SEEDS = range(5)


def measured(requests, *, concurrency=16, change=None, **provider):
    """By seed: the seconds, the provider and the level after so many requests."""

    async def main(seed):
        served = Provider(seed=seed, **provider)
        retrier = Retrier("test", concurrency=concurrency, patience=900, chance=random.Random(seed))
        seconds = await ask_all(retrier, served, requests, 4 * concurrency)
        if change is not None:
            change(served)
            await ask_all(retrier, served, requests, 4 * concurrency)
        return seconds, served, retrier.limiter.level

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
def test_a_server_that_takes_only_so_many_at_once_is_kept_busy_without_many_refusals(at_once):
    for seconds, provider, level in measured(600, at_once=at_once):
        assert seconds < 1.1 * 600 / at_once
        assert provider.refused < 1.2 * 600
        assert level <= min(2 * at_once + 1, 16)


@pytest.mark.parametrize("per_second", [2.0, 5.0])
def test_a_server_that_takes_only_so_many_a_second_is_asked_about_that_often(per_second):
    runs = measured(600, per_second=per_second)
    assert median(seconds for seconds, _, _ in runs) < 1.1 * 600 / per_second
    assert median(level for _, _, level in runs) <= 2 * per_second + 1


def test_a_server_that_recovers_gets_as_many_as_before():
    def recover(provider):
        provider.at_once = None

    assert [level for _, _, level in measured(400, at_once=5, change=recover)] == [16] * len(SEEDS)


def test_a_server_without_complaints_always_gets_all():
    for seconds, provider, level in measured(200):
        assert level == 16
        assert provider.most_under_way == 16
        assert seconds < 1.1 * provider.handling_seconds / 16


def test_the_oldest_request_is_next_even_after_a_pause():
    order = []

    async def request(limiter, number, attempts):
        for _ in range(attempts):
            async with limiter.slot(number):
                order.append(number)
                await asyncio.sleep(1)
            await asyncio.sleep(0.5)

    async def main():
        limiter = Limiter(1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(request(limiter, 0, 2))
            for number in (1, 2, 3):
                tasks.create_task(request(limiter, number, 1))

    run_virtually(main())
    assert order == [0, 1, 0, 2, 3]


@settings(max_examples=60, deadline=None)
@given(
    maximum=st.integers(1, 4),
    requests=st.lists(
        st.tuples(
            st.sampled_from(["answered", "refused", "failed"]),
            st.floats(0, 3),  # it comes
            st.floats(0, 2),  # it takes
            st.none() | st.floats(0, 3),  # it is cancelled
        ),
        max_size=30,
    ),
)
def test_no_slot_is_ever_lost_or_given_twice(maximum, requests):
    async def request(limiter: Limiter, number, outcome, comes, takes):
        await asyncio.sleep(comes)
        async with limiter.slot(number):
            assert limiter.in_use <= maximum
            await asyncio.sleep(takes)
            if outcome != "failed":
                getattr(limiter, outcome)()

    async def main():
        limiter = Limiter(maximum)
        loop = asyncio.get_running_loop()
        tasks = []
        for number, (outcome, comes, takes, cancelled) in enumerate(requests):
            tasks.append(asyncio.create_task(request(limiter, number, outcome, comes, takes)))
            if cancelled is not None:
                loop.call_later(cancelled, tasks[-1].cancel)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(one is None or isinstance(one, asyncio.CancelledError) for one in results)
        assert limiter.in_use == 0
        assert 1 <= limiter.level <= maximum
        async with asyncio.timeout(1), AsyncExitStack() as stack:  # all of them can be had again
            for number in range(math.ceil(limiter.level)):
                await stack.enter_async_context(limiter.slot(number))

    run_virtually(main())
