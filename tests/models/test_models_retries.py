"""What is tried again, after which pause, and when it is given up; in simulated time."""

import asyncio
import random

import pytest
from virtual_time import run_virtually

from uiproof.errors import ModelAccessError, ModelError
from uiproof.models.retries import Persistence
from uiproof.models.types import AttemptError, Finish, Reply

ANSWER = Reply(text="yes", finish=Finish.STOP, network_seconds=1.0)


def persistence(concurrency=4, patience=900.0):
    return Persistence(
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
    return run_virtually(persistence(**options).call(attempt))


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
def test_where_nobody_gets_in_the_run_stops_with_a_remedy(kind):
    with pytest.raises(ModelAccessError, match=f"a/model said: a {kind} error Look."):
        outcome(Script(kind))


def test_a_server_that_closes_for_hours_stops_the_run():
    attempt = Script(AttemptError("rate_limited", "the day is used up", retry_after=7200.0))
    with pytest.raises(ModelAccessError, match="no requests for 7200 seconds"):
        outcome(attempt)


def results(attempts, **options):
    async def main():
        asked = persistence(**options)
        calls = (asked.call(attempt) for attempt in attempts)
        return await asyncio.gather(*calls, return_exceptions=True)

    return run_virtually(main())


def test_an_outage_stops_the_run_and_fails_no_case():
    attempts = [Script("server") for _ in range(16)]
    assert {type(one) for one in results(attempts)} == {ModelAccessError}
    assert 100 < max(attempt.times[-1] for attempt in attempts) < 400
    assert sum(len(attempt.times) for attempt in attempts) < 400


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
        asked = persistence()
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
