"""Asking a model: real servers on loopback, a real cache."""

import asyncio
import io
import json
import os
import random
import shutil
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest
from PIL import Image as Picture

from provider_servers import Fault, ProviderServer
from uiproof.errors import (
    BudgetReachedError,
    MissingDependencyError,
    ModelAccessError,
    ModelError,
    StorageError,
    UsageError,
)
from uiproof.models.budget import Budget
from uiproof.models.chat import ChatModel, ModelOptions, connect
from uiproof.models.types import Image, Message, Parameters, Reply, Request
from uiproof.settings import Settings


@pytest.fixture(scope="module", autouse=True)
def _no_keys():
    with pytest.MonkeyPatch.context() as patch:
        for variable in list(os.environ):
            if variable.endswith(("_API_KEY", "_BASE_URL")) or variable == "UIPROOF_PRICES":
                patch.delenv(variable)
        yield


@dataclass
class Stage:
    """A server, a model there, and an event loop."""

    server: ProviderServer
    budget: Budget
    model: ChatModel
    run: Callable[[Coroutine[Any, Any, Any]], Any]

    def ask(self, *requests, **options):
        """Ask one after the other."""
        replies = [self.run(self.model.ask(request, **options)) for request in requests]
        return replies if len(requests) > 1 else replies[0]

    def ask_at_once(self, *requests):
        async def main():
            calls = (self.model.ask(request) for request in requests)
            return await asyncio.gather(*calls, return_exceptions=True)

        return self.run(main())


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    budget = Budget()
    with ProviderServer() as server, asyncio.Runner() as runner:
        model = connect(
            f"compatible:{server.base_url('compatible')}#toy",
            budget=budget,
            settings=Settings(cache_dir=tmp_path_factory.mktemp("cache")),
        )
        yield Stage(server, budget, model, runner.run)
        runner.run(model.close())


@pytest.fixture
def stage(shared):
    """All tests share the cache, so each asks something else."""
    shared.server.answer = lambda asked: f"answer to {asked.prompt}"
    shared.server.latency, shared.server.faults = 0.0, ()
    shared.server.log.clear()
    shared.server.answered.clear()
    shared.server.most_at_once = 0
    yield shared
    shared.budget.max_cost = shared.budget.max_requests = None


@pytest.fixture
def prices(tmp_path, monkeypatch):
    """A dollar for a thousand tokens, in or out."""
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"models": {"toy": {"input": 1000, "output": 1000}}}))
    monkeypatch.setenv("UIPROOF_PRICES", str(file))


def question(text, **parameters):
    return Request((Message("user", (text,)),), Parameters(**parameters))


def ask_once(model, text):
    """Ask in an event loop of its own."""

    async def main():
        try:
            return await model.ask(question(text))
        finally:
            await model.close()

    return asyncio.run(main())


async def until_asked(server):
    while not server.log:
        await asyncio.sleep(0.01)


def test_what_was_answered_once_is_never_asked_again(stage):
    first, again = stage.ask(question("a"), question("a"))
    assert (first.text, first.cached) == ("answer to a", False)
    assert (again.text, again.cached) == ("answer to a", True)
    assert len(stage.server.log) == 1


def test_an_answer_in_the_cache_needs_neither_key_nor_network(stage, tmp_path, monkeypatch):
    def model():
        return connect("openai/gpt-4o", settings=Settings(cache_dir=tmp_path))

    monkeypatch.setenv("OPENAI_BASE_URL", stage.server.base_url("openai"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    ask_once(model(), "a")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert ask_once(model(), "a").cached
    with pytest.raises(MissingDependencyError):
        ask_once(model(), "b")
    assert len(stage.server.log) == 1


def test_fresh_asks_anew_and_replaces_what_was_stored(stage):
    stage.server.answer = lambda asked: f"answer {asked.number}"
    replies = stage.ask(question("fresh"), question("fresh"), fresh=True)
    assert [one.text for one in replies] == ["answer 0", "answer 1"]
    assert stage.ask(question("fresh")).text == "answer 1"


def test_the_same_request_asked_twice_at_once_is_one_request(stage):
    stage.server.latency = 0.2
    replies = stage.ask_at_once(*[question("same")] * 5, question("other"))
    assert len(stage.server.log) == 2
    assert [one.cached for one in replies].count(False) == 2
    assert {one.text for one in replies} == {"answer to same", "answer to other"}


def test_cancelling_one_of_two_calls_leaves_the_other_its_answer(stage):
    stage.server.latency = 0.3

    async def main():
        calls = [asyncio.create_task(stage.model.ask(question("for two"))) for _ in range(2)]
        await until_asked(stage.server)
        calls[0].cancel()
        return await calls[1]

    assert stage.run(main()).text == "answer to for two"
    assert len(stage.server.log) == 1


def test_a_request_whose_calls_were_all_cancelled_is_answered_and_stored_all_the_same(stage):
    stage.server.latency = 0.3

    async def main():
        call = asyncio.create_task(stage.model.ask(question("cancelled")))
        await until_asked(stage.server)
        call.cancel()
        return await stage.model.ask(question("cancelled"))

    assert stage.run(main()).text == "answer to cancelled"
    assert len(stage.server.log) == 1


def test_closing_cancels_what_is_under_way_and_the_model_can_be_used_again(tmp_path):
    with ProviderServer("yes", latency=lambda asked: 0.0 if asked.number else 30.0) as server:
        name = f"compatible:{server.base_url('compatible')}#toy"
        model = connect(name, settings=Settings(cache_dir=tmp_path))

        async def main():
            call = asyncio.create_task(model.ask(question("slow")))
            await until_asked(server)
            await model.close()
            with pytest.raises(asyncio.CancelledError):
                await call

        asyncio.run(main())
        assert ask_once(model, "slow").text == "yes"


def test_an_answer_that_cannot_be_stored_is_delivered_and_the_next_request_fails(stage, tmp_path):
    model = connect(stage.model.name, settings=Settings(cache_dir=tmp_path))

    async def main():
        await model.ask(question("stored"))
        shutil.rmtree(tmp_path / "models")
        (tmp_path / "models").write_text("a file in place of the folder")
        delivered = await model.ask(question("not stored"))
        with pytest.raises(StorageError, match="cannot be written"):
            await model.ask(question("another"))
        await model.close()
        return delivered

    assert asyncio.run(main()).text == "answer to not stored"
    assert len(stage.server.log) == 2


def test_nothing_is_asked_where_no_answer_can_be_stored(stage, tmp_path):
    (tmp_path / "models").write_text("a file in place of the folder")
    model = connect(stage.model.name, settings=Settings(cache_dir=tmp_path))

    async def main():
        with pytest.raises(StorageError, match="cannot be written"):
            await model.ask(question("not asked"))
        await model.close()

    asyncio.run(main())
    assert not stage.server.log


def test_a_server_never_gets_more_at_once_than_was_asked_for(stage, tmp_path):
    stage.server.latency = 0.05
    model = connect(
        stage.model.name,
        options=ModelOptions(concurrency=4),
        settings=Settings(cache_dir=tmp_path),
    )

    async def main():
        await asyncio.gather(*(model.ask(question(f"question {n}")) for n in range(40)))
        await model.close()

    asyncio.run(main())
    assert stage.server.most_at_once == 4


def test_a_model_is_usable_in_one_event_loop_after_the_other(stage, tmp_path):
    model = connect(stage.model.name, settings=Settings(cache_dir=tmp_path))
    assert [ask_once(model, text).text for text in "ab"] == ["answer to a", "answer to b"]


def test_a_provider_that_fails_all_the_time_still_answers_everything_once(stage):
    chance = random.Random(3)

    def fault(asked):
        roll = chance.random()
        if roll < 1 / 3:
            headers = {"Retry-After": "0.2"} if chance.random() < 0.5 else {}
            return Fault(status=429, headers=headers)
        if roll < 1 / 3 + 1 / 10:
            return Fault(status=500)
        return Fault(cut="inside") if roll < 1 / 3 + 1 / 10 + 1 / 20 else None

    stage.server.faults, stage.server.latency = fault, 0.2
    replies = stage.ask_at_once(*(question(f"q{number}") for number in range(120)))
    assert [one.text for one in replies] == [f"answer to q{number}" for number in range(120)]
    attempts = len(stage.server.log)
    assert attempts == sum(one.attempts for one in replies) > 150
    assert stage.server.stats()["answered"] == 120
    assert stage.server.stats()["answered_twice"] == 0
    assert stage.server.most_at_once <= 16


def test_what_the_server_says_is_in_the_error(stage):
    stage.server.faults = lambda asked: Fault(status=400, message="the picture is too odd")
    with pytest.raises(ModelError, match="the picture is too odd"):
        stage.ask(question("odd"))
    assert len(stage.server.log) == 1


def test_a_wrong_key_stops_the_run_and_names_the_variable(stage, tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_API_KEY", "sk-wrong-0123456789")
    stage.server.faults = lambda asked: Fault(status=401, message="bad key sk-wrong-0123456789")
    options = ModelOptions(parameters=Parameters(max_tokens=77))
    model = connect(stage.model.name, options=options, settings=Settings(cache_dir=tmp_path))
    with pytest.raises(ModelAccessError) as caught:
        ask_once(model, "a")
    assert "UIPROOF_API_KEY" in caught.value.remedy
    assert f"{stage.server.base_url('compatible')}/models" in caught.value.remedy
    assert "sk-wrong" not in str(caught.value)
    assert stage.server.log[0].body["max_tokens"] == 77  # the options win over the request


def test_a_limit_on_requests_counts_failed_ones_but_nothing_from_the_cache(stage):
    stage.server.faults = [Fault(status=500)]
    stage.budget.max_requests = stage.budget.requests + 2
    replies = stage.ask(*(question("limited") for _ in range(3)))
    assert [one.cached for one in replies] == [False, True, True]
    with pytest.raises(BudgetReachedError, match="requests were made"):
        stage.ask(question("too much"))
    assert len(stage.server.log) == 2


@pytest.mark.usefixtures("prices")
def test_a_limit_on_costs_holds_with_many_requests_at_once(stage):
    before = stage.budget.spent
    stage.budget.max_cost = before + 0.3
    replies = stage.ask_at_once(*(question(f"c{n}", max_tokens=200) for n in range(60)))
    answered = [one for one in replies if isinstance(one, Reply)]
    errors = [one for one in replies if not isinstance(one, Reply)]
    spent = stage.budget.spent - before
    assert {type(one) for one in errors} == {BudgetReachedError}
    assert 0 < spent <= 0.3
    assert spent == pytest.approx(sum(stage.model.facts(one)["cost"] for one in answered))


@pytest.mark.usefixtures("prices")
def test_facts_are_what_the_answer_took(stage):
    facts, cached = map(stage.model.facts, stage.ask(question("facts"), question("facts")))
    tokens = facts["input_tokens"] + facts["output_tokens"]
    assert facts["cost"] == cached["cost"] == pytest.approx(tokens / 1000)
    assert (facts["cached"], facts["attempts"], facts["finish"]) == (False, 1, "stop")
    assert (cached["cached"], cached["attempts"], cached["queue_seconds"]) == (True, 0, 0.0)
    json.dumps(facts, allow_nan=False)


def test_costs_that_are_not_known_cannot_be_limited():
    with pytest.raises(UsageError, match="UIPROOF_PRICES") as caught:
        connect("compatible:http://localhost:1/v1#toy", budget=Budget(max_cost=1.0))
    example = caught.value.remedy.partition("UIPROOF_PRICES: ")[2].rpartition(". Or")[0]
    assert "models" in json.loads(example)


def test_settings_say_how_the_model_is_asked(tmp_path, monkeypatch):
    settings = Settings(cache_dir=tmp_path)
    asked = {"max_tokens": 10_000_000, "temperature": 0.5}
    options = ModelOptions.of(concurrency=None, tall="scale", **asked)
    model = connect("openai/gpt-4o", options=options, settings=settings)
    assert model.settings["model"] == "openai/gpt-4o"
    assert model.settings["parameters"]["max_tokens"] == 16_384  # all that it can
    assert model.settings["parameters"]["temperature"] == 0.5
    assert model.settings["images"]["tall"] == "scale"
    assert "base_url" not in model.settings
    json.dumps(model.settings)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:secret-word@localhost:1/v1")
    elsewhere = connect("openai/gpt-4o", settings=settings)
    assert elsewhere.settings["base_url"] == "http://localhost:1/v1"


def test_a_dry_run_can_tell_what_is_cached_and_how_much_the_rest_is(stage):
    buffer = io.BytesIO()
    Picture.new("RGB", (1000, 800)).save(buffer, "PNG")
    seen = Request((Message("user", ("what is this?", Image(buffer.getvalue()))),))
    assert not stage.run(stage.model.is_cached(seen))
    assert 500 < stage.run(stage.model.estimated_tokens(seen)) < 5000
    stage.ask(seen)
    assert stage.run(stage.model.is_cached(seen))
    usual = stage.model.usual_output_tokens()
    assert usual is not None
    assert usual > 0


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"timeout": 0.0}, {"patience": -1.0}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(UsageError):
        ModelOptions(**options)
