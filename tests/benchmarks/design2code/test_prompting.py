from __future__ import annotations

import asyncio
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

import uiproof
from uiproof.benchmarks.design2code import BENCHMARK
from uiproof.benchmarks.design2code.cases import Question, cases
from uiproof.benchmarks.design2code.judge import Design2CodeJudge
from uiproof.benchmarks.design2code.methods import PROMPTS, Prompted
from uiproof.browser import PageSource
from uiproof.engine.context import Context
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import (
    EmptyAnswerError,
    MethodError,
    PageTimeoutError,
    RefusedAnswerError,
    UsageError,
    WorkerDiedError,
)
from uiproof.models.chat import ModelOptions, connect
from uiproof.models.types import Image, Parameters

sys.path.append(str(Path(__file__).parents[2] / "models"))
from provider_servers import ProviderServer

DEMO = Path(uiproof.__file__).parent / "demo" / "design2code" / "reference"
TEXTS = ("Hello {texts} {html}", "{screenshot} 100 %", "two\n  lines", "<b>&amp;</b>")


def page(words, more=""):
    return (
        f"<!DOCTYPE html><html><head><style>h1 {{ color: red }}</style></head><body>{more}"
        f"<h1>{words}</h1><img src='rick.jpg' width='90' height='60'></body></html>"
    )


ORIGINAL, FIRST, SECOND = page("Original"), page("First"), page("Second")
NO_ANSWER = "I'm sorry, but I can't assist with that."


@pytest.fixture(scope="module")
def connected(tmp_path_factory):
    """A server, a model that asks it, and the event loop in which it does: all tests share them,
    because a model takes a second to start."""
    with (
        ProviderServer() as server,
        pytest.MonkeyPatch.context() as patch,
        asyncio.Runner() as loop,
    ):
        patch.setenv("UIPROOF_CACHE", str(tmp_path_factory.mktemp("cache")))
        model = connect(f"compatible:{server.base_url('openai')}#tiny")
        yield server, model, loop
        loop.run(model.close())


@pytest.fixture
def server(connected):
    server = connected[0]
    server.log.clear()
    server.answer = lambda asked: f"```html\n{(FIRST, SECOND)[asked.number % 2]}\n```"
    return server


@pytest.fixture
def model(connected):
    return connected[1]


@pytest.fixture
def answered(connected):
    """The HTML that a method answers with."""

    def answered(method, question, context=None):
        return connected[2].run(method.answer("1", question, context or Context("1"))).text

    return answered


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Real screenshots of an original and of the first page, as the judge makes them."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "1.html").write_text(ORIGINAL)
    shutil.copy(DEMO / "rick.jpg", folder)
    judge = Design2CodeJudge()
    (case,) = cases(folder)
    try:
        return [judge.picture(case, PageSource.from_html(html)) for html in (ORIGINAL, FIRST)]
    finally:
        judge.close()  # an event loop cannot run beside it


@pytest.fixture
def picture(pictures):
    return pictures[1]


@pytest.fixture
def question(pictures, tmp_path):
    """A question that was never asked before: what comes after the end of a PNG is ignored."""
    (tmp_path / "question.png").write_bytes(pictures[0] + uuid4().bytes)
    return Question(tmp_path / "question.png", TEXTS)


def rendering(picture, tmp_path, **options):
    """A context that keeps files and shows every answer as the same picture."""
    shown = []

    async def render(answer):
        shown.append(answer.text)
        if isinstance(picture, Exception):
            raise picture
        return picture

    run = RunDirectory(tmp_path / "run")
    context = Context("1", run=run, render=render, **options)
    context.shown = shown
    return context


def test_the_model_gets_the_screenshot_and_then_the_task(
    model, server, question, pictures, answered
):
    assert answered(Prompted(model, "direct"), question) == FIRST
    (asked,) = server.log
    before, image, after = asked.parts
    assert image == question.screenshot.read_bytes()
    assert before.endswith("screenshot of a whole web page, from top to bottom:")
    for wanted in (
        "one complete HTML file",
        "rick.jpg",
        "no JavaScript",
        "nothing from the network",
    ):
        assert wanted.lower() in after.lower()
    for matter in ("size", "text", "position", "color", "layout"):
        assert matter in after
    assert "Hello" not in asked.prompt


def test_the_texts_of_the_page_go_with_it_one_on_a_line_whatever_they_hold(
    model, server, question, answered
):
    answered(Prompted(model, "text-augmented"), question)
    (asked,) = server.log
    lines = "\n".join(TEXTS).replace("two\n  lines", "two lines")
    assert f"<texts>\n{lines}\n</texts>" in asked.prompt
    assert len(asked.images) == 1


def test_a_page_without_texts_can_be_asked_about(model, server, question, answered):
    assert answered(Prompted(model, "text-augmented"), replace(question, texts=())) == FIRST


def test_a_revision_shows_the_first_attempt_beside_the_original(
    model, server, question, pictures, tmp_path, answered
):
    context = rendering(pictures[1], tmp_path)
    assert answered(Prompted(model, "self-revision"), question, context) == SECOND
    first, second = server.log
    assert len(first.images) == 1
    assert "<texts>\nHello {texts}" in first.prompt
    assert context.shown == [FIRST]
    original, image, attempt, shown, rest = second.parts
    assert original.endswith("from top to bottom:")
    assert "original" in original
    assert attempt.startswith("The attempt:")
    assert [image, shown] == [question.screenshot.read_bytes(), pictures[1]]
    assert f"<attempt>\n{FIRST}\n</attempt>" in rest
    assert "<texts>\nHello {texts} {html}\n{screenshot} 100 %\n" in rest
    assert "<differences>" not in second.prompt


def test_flags_calls_and_all_answers_are_written_down(model, question, picture, tmp_path, answered):
    context = rendering(picture, tmp_path)
    answered(Prompted(model, "self-revision"), question, context)
    assert context.flags == ["answer:fenced"]
    assert [call["finish"] for call in context.calls] == ["stop", "stop"]
    assert set(context.artifacts) == {"answer", "attempt"}
    kept = json.loads((tmp_path / "run" / context.artifacts["answer"]).read_bytes())
    assert [one["text"] for one in kept] == [f"```html\n{html}\n```" for html in (FIRST, SECOND)]
    assert [one["finish"] for one in kept] == ["stop", "stop"]
    assert [one["prompt"].count("[picture]") for one in kept] == [1, 2]
    assert "<texts>\nHello" in kept[0]["prompt"]
    assert kept[0]["raw"]["choices"][0]["message"]["content"] == kept[0]["text"]
    assert (tmp_path / "run" / context.artifacts["attempt"]).read_bytes() == picture


def test_an_unusable_answer_fails_the_case_and_is_kept(
    model, server, question, tmp_path, picture, answered
):
    server.answer = NO_ANSWER
    for prompt in PROMPTS:
        context = rendering(picture, tmp_path)
        with pytest.raises(RefusedAnswerError, match="declined"):
            answered(Prompted(model, prompt), question, context)
        assert len(context.calls) == 1
        kept = json.loads((tmp_path / "run" / context.artifacts["answer"]).read_bytes())
        assert [one["text"] for one in kept] == [NO_ANSWER]


def test_where_the_revision_is_unusable_the_first_page_is_judged(
    model, server, question, picture, tmp_path, answered
):
    server.answer = lambda asked: NO_ANSWER if asked.number else FIRST
    context = rendering(picture, tmp_path)
    assert answered(Prompted(model, "self-revision"), question, context) == FIRST
    assert context.flags == ["answer:revision_failed"]
    assert len(context.calls) == 2


@pytest.mark.parametrize("error", [PageTimeoutError("too long"), WorkerDiedError("gone")])
def test_where_the_first_page_cannot_be_shown_it_is_judged_as_it_is(
    model, server, question, tmp_path, error, answered
):
    context = rendering(error, tmp_path)
    assert answered(Prompted(model, "self-revision"), question, context) == FIRST
    assert context.flags == ["answer:attempt_not_rendered", "answer:fenced"]
    assert len(server.log) == 1


def test_an_answer_that_was_useless_is_asked_for_anew(
    model, server, question, tmp_path, picture, answered
):
    server.answer = ""
    method = Prompted(model, "direct")
    for _ in range(2):
        with pytest.raises(EmptyAnswerError):
            answered(method, question)
    assert len(server.log) == 1  # the second came from the cache
    server.answer = FIRST
    assert answered(method, question, Context("1", ask_again=True)) == FIRST
    assert len(server.log) == 2


def test_a_method_is_named_after_its_model_and_prompt_and_says_how_it_asks(model):
    methods = {prompt: Prompted(model, prompt) for prompt in PROMPTS}
    assert methods["direct"].name == f"{model.name} direct"
    assert len({method.name for method in methods.values()}) == 4
    assert len({method.settings["prompt_digest"] for method in methods.values()}) == 4
    assert methods["direct"].settings.items() >= {"prompt": "direct", **model.settings}.items()
    assert methods["direct"].concurrency == model.concurrency
    assisted = [prompt for prompt, method in methods.items() if method.assisted]
    assert assisted == ["self-revision:differences"]


def test_the_parameters_of_the_model_are_those_of_its_requests(server, question):
    options = ModelOptions(parameters=Parameters(max_tokens=4096, temperature=0.0, seed=2024))
    model = connect(f"compatible:{server.base_url('openai')}#tiny", options=options)
    for prompt in PROMPTS:
        for request in Prompted(model, prompt).planned_requests(question):
            assert request.parameters == options.parameters


def test_what_will_be_asked_is_known_before(model, server, question):
    planned = {prompt: Prompted(model, prompt).planned_requests(question) for prompt in PROMPTS}
    assert {prompt: len(requests) for prompt, requests in planned.items()} == {
        "direct": 1,
        "text-augmented": 1,
        "self-revision": 2,
        "self-revision:differences": 2,
    }
    first, second = planned["self-revision"]
    assert first == planned["text-augmented"][0]  # so that one answer serves both
    pictures = [part for part in second.messages[0].parts if isinstance(part, Image)]
    assert [one.source for one in pictures] == [question.screenshot] * 2
    listed = planned["self-revision:differences"][1]
    assert "px lower" in "".join(map(str, listed.messages[0].parts))
    assert not server.log


def test_an_answer_that_one_prompt_has_paid_for_serves_another(
    model, server, question, picture, tmp_path, answered
):
    answered(Prompted(model, "text-augmented"), question)
    answered(Prompted(model, "self-revision"), question, rendering(picture, tmp_path))
    assert len(server.log) == 2


def test_an_unknown_prompt_is_an_error_that_lists_the_known_ones(model):
    with pytest.raises(UsageError, match=r"'mark'.*direct, text-augmented, self-revision"):
        Prompted(model, "mark")


def test_a_question_without_a_screenshot_cannot_be_asked(model, answered):
    with pytest.raises(MethodError, match="no screenshot"):
        answered(Prompted(model, "direct"), Question())


def test_the_benchmark_offers_the_prompts_and_direct_is_the_default(model):
    revisions = ["self-revision", "self-revision:differences"]
    assert list(BENCHMARK.prompts) == ["direct", "text-augmented", *revisions]
    with pytest.raises(UsageError, match="direct:differences"):
        BENCHMARK.check_prompt("direct:differences")
    BENCHMARK.check_prompt("self-revision:differences")
    assert all(BENCHMARK.prompts.values())
    assert isinstance(BENCHMARK.method("a/b", connect=lambda _: model, prompt="direct"), Prompted)


def test_a_run_with_self_revision_shows_the_model_what_scoring_sees(server, tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    data = tmp_path / "data"
    data.mkdir()
    (data / "1.html").write_text(ORIGINAL)
    shutil.copy(DEMO / "rick.jpg", data)
    name = f"compatible:{server.base_url('openai')}#tiny"
    server.answer = f"```html\n{FIRST}\n```"  # the revision changes nothing
    run = uiproof.run(
        data, name, prompt="self-revision", out=tmp_path / "run", workers=1, quiet=True
    )
    (record,) = run.records()
    assert record.status == "scored"
    assert "answer:fenced" in record.flags
    assert len(record.calls) == 2
    shown = server.log[1].images
    assert shown[0] == (run.path / record.artifacts["reference"]).read_bytes()
    assert shown[1] == (run.path / record.artifacts["generated"]).read_bytes()
    assert "Original" in server.log[0].prompt


def test_a_revision_with_differences_gets_the_list_of_the_judge(server, tmp_path, monkeypatch):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path / "cache"))
    data = tmp_path / "data"
    data.mkdir()
    (data / "1.html").write_text(ORIGINAL)
    shutil.copy(DEMO / "rick.jpg", data)
    name = f"compatible:{server.base_url('openai')}#tiny"
    server.answer = lambda asked: FIRST if asked.number == 0 else ORIGINAL
    run = uiproof.run(
        data, name, prompt="self-revision:differences", out=tmp_path / "run", workers=1, quiet=True
    )
    (record,) = run.records()
    assert record.scores["strict"]["mean_without_clip"] == 1
    assert run.manifest["assisted"]
    (data / "first.htm").write_text(FIRST)  # beside the picture that it shows
    found = uiproof.diff(data / "1.html", data / "first.htm").differences
    lines = server.log[1].prompt.split("<differences>\n")[1].split("\n</differences>")[0]
    assert [line.partition(". ")[2] for line in lines.splitlines()] == [
        one.says + (f" ({one.selector})" if one.selector else "") for one in found
    ]
    # The revised page is the original: its own list is empty.
    assert json.loads((run.path / record.artifacts["differences"]).read_text()) == []
