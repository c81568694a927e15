"""What models are asked: which pictures, in which order, with which words, and how often."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_pages import (
    GREEN,
    LIST,
    MENU,
    RED,
    RESULT,
    SEARCH,
    WORDS,
    interaction,
    picture,
    question,
    two_interactions,
    write_page,
)

from uiproof.benchmarks.interaction2code.prompting import (
    PARAMETERS,
    PROMPTS,
    ROUND_FAILED,
    Prompt,
    Prompted,
)
from uiproof.engine.context import Context
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import EmptyAnswerError, InputError, UsageError
from uiproof.geometry import PixelBox
from uiproof.models.answers import TRUNCATED
from uiproof.models.chat import ModelOptions, connect
from uiproof.models.types import Image
from uiproof.vision.images import decode, read

sys.path.append(str(Path(__file__).parents[2] / "models"))
from provider_servers import ProviderServer

PAGE = "<!DOCTYPE html><html><body><button id='interact1'>{n}</button></body></html>"


@pytest.fixture(scope="module")
def connected(tmp_path_factory):
    """A server, a model that asks it, and the event loop in which it does: starting takes time."""
    with (
        ProviderServer() as server,
        pytest.MonkeyPatch.context() as patch,
        asyncio.Runner() as loop,
    ):
        patch.setenv("UIPROOF_CACHE", str(tmp_path_factory.mktemp("cache")))
        options = ModelOptions().with_defaults(PARAMETERS)
        model = connect(f"compatible:{server.base_url('openai')}#tiny", options=options)
        yield server, model, loop
        loop.run(model.close())


@pytest.fixture
def server(connected):
    server = connected[0]
    server.log.clear()
    server.latency = 0.0
    server.answer = lambda asked: f"```html\n{PAGE.format(n=asked.number)}\n```"
    return server


@pytest.fixture
def model(connected):
    return connected[1]


@pytest.fixture
def loop(connected):
    return connected[2]


@pytest.fixture
def graph(tmp_path):
    return two_interactions(tmp_path / "page")


def parts(model, prompt, question):
    """The one request about a question, with pictures as arrays."""
    (request,) = Prompted(model, prompt).planned_requests(question)
    (message,) = request.messages
    return [decode(part.read()) if isinstance(part, Image) else part for part in message.parts]


def pictures(model, prompt, question):
    return [part for part in parts(model, prompt, question) if not isinstance(part, str)]


def words(model, prompt, question):
    return "\n".join(part for part in parts(model, prompt, question) if isinstance(part, str))


def same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


# Names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("direct", "direct"),
        ("direct:V", "direct"),
        ("direct:single,1x", "direct"),
        ("mark:all", "mark:all"),
        ("direct:v+t", "direct:V+T"),
        ("direct:T+V", "direct:V+T"),
        ("cot:T,all", "cot:all,T"),
        ("mark:2x", "mark:2x"),
        ("mark:1.50x,T", "mark:T,1.5x"),
        ("direct:rounds", "direct:rounds"),
        ("failure-aware:all,rounds", "failure-aware:rounds"),
    ],
)
def test_a_prompt_has_one_name_however_it_is_written(text, name):
    assert Prompt.named(text).name == name
    assert Prompt.named(name) == Prompt.named(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("marks", "no prompt 'marks'"),
        ("mark:", "unknown option ''"),
        ("mark:everything", "unknown option 'everything'"),
        ("mark:4x", "1x to 3x"),
        ("mark:0.5x", "1x to 3x"),
        ("direct:V,T", "twice"),
        ("direct:all,single", "twice"),
        ("direct:all,2x", "one interaction at a time"),
        ("direct:2x,rounds", "one interaction at a time"),
        ("direct:single,rounds", "takes several"),
    ],
)
def test_options_that_make_no_sense_are_refused_with_the_reason(text, problem):
    with pytest.raises(UsageError, match=problem):
        Prompt.named(text)


# What is shown


@pytest.mark.parametrize("prompt", ["direct", "cot", "failure-aware"])
def test_one_interaction_is_a_picture_before_and_a_picture_after(model, graph, prompt):
    before, after = picture(), picture((LIST, GREEN))
    same(pictures(model, prompt, question(graph)), [before, after])
    same(pictures(model, prompt, question(graph, 2)), [before, picture((RESULT, RED))])
    said = words(model, prompt, question(graph, 2))
    assert '<button id="interact1">' in said
    assert "interact2" not in said
    assert "480 pixels wide" in said
    assert "tea" not in said  # V: pictures alone


def test_all_interactions_are_the_page_and_then_what_each_one_does(model, graph):
    expected = [picture(), picture((LIST, GREEN)), picture((RESULT, RED))]
    for number in (1, 2):
        same(pictures(model, "direct:all", question(graph, number)), expected)
    said = words(model, "direct:all", question(graph))
    assert "all 2 interactions" in said
    assert "interact1 and interact2" in said


def test_a_state_of_its_own_is_shown_and_one_that_was_reached_is_named(model, tmp_path):
    elsewhere = picture((PixelBox(0, 100, 480, 300), (0, 0, 90)))
    graph = write_page(
        tmp_path / "page",
        {
            "0": picture(),
            "1": picture((LIST, GREEN)),
            "2": picture((LIST, RED)),
            "3": elsewhere,
            "4": picture((RESULT, RED)),
        },
        [
            interaction(0, 1, "click the menu"),
            interaction(1, 2, "hover on the list"),
            interaction(3, 4, "click on the foot"),
        ],
    )
    shown = parts(model, "direct:all", question(graph))
    texts = [part if isinstance(part, str) else None for part in shown]
    same(
        [part for part in shown if not isinstance(part, str)],
        [
            picture(),
            picture((LIST, GREEN)),
            picture((LIST, RED)),
            elsewhere,
            picture((RESULT, RED)),
        ],
    )
    assert "interacted with interact2, once interact1 has been used:" in texts[4]
    assert "before somebody interacts with interact3" in texts[6]
    assert "once" not in texts[8].partition("Write a page")[0]


def test_words_come_with_the_picture_before_and_never_with_the_one_after(model, graph):
    same(pictures(model, "direct:T", question(graph)), [picture()])
    same(pictures(model, "direct:V+T", question(graph)), [picture(), picture((LIST, GREEN))])
    for prompt in ("direct:T", "direct:V+T", "direct:all,T"):
        said = words(model, prompt, question(graph))
        assert all(text in said for text in WORDS), prompt
    assert len(pictures(model, "direct:all,T", question(graph))) == 1
    assert len(pictures(model, "direct:all,V+T", question(graph))) == 3
    assert "results" in words(model, "direct:all,T", question(graph))


def test_marks_are_red_boxes_around_the_element_and_the_effect(model, graph):
    before, after = pictures(model, "mark", question(graph))
    assert framed(before, MENU)
    assert not framed(before, SEARCH)
    assert framed(after, LIST)
    (only,) = pictures(model, "mark:T", question(graph))
    assert framed(only, MENU)
    first, *others = pictures(model, "mark:all", question(graph))
    assert framed(first, MENU)
    assert framed(first, SEARCH)
    assert [framed(one, box) for one, box in zip(others, (LIST, RESULT), strict=True)] == [True] * 2
    assert "do not draw them" in words(model, "mark", question(graph))


def test_published_marks_are_shown_as_they_are(model, tmp_path):
    graph = write_page(
        tmp_path / "page",
        {
            "0": picture(),
            "1": picture((LIST, GREEN)),
            "0_mark": picture((PixelBox(18, 18, 122, 20), RED)),
            "1_mark": picture((LIST, GREEN), (PixelBox(18, 58, 182, 60), RED)),
        },
        [interaction(0, 1, "click the menu")],
    )
    shown = pictures(model, "mark", question(graph))
    same(shown, [read(graph.marked("0")), read(graph.marked("1"))])


@pytest.mark.parametrize("times", [2, 3])
def test_magnified_pictures_are_parts_around_the_interaction(model, graph, times):
    before, after = pictures(model, f"direct:{times}x", question(graph))
    assert before.shape == after.shape
    height, width = before.shape[:2]
    assert width * height == pytest.approx(480 * 300 / times, rel=0.02)
    assert (after == np.array(GREEN)).all(axis=2).sum() == LIST.width * LIST.height
    said = words(model, f"direct:{times}x", question(graph))
    assert f"{width} pixels wide and {height} pixels high; it begins 0 pixels from the left" in said
    assert "480 pixels wide and 300 pixels high" in said


def test_an_interaction_that_is_everywhere_cannot_be_magnified(model, tmp_path):
    everything = picture((PixelBox(0, 0, 480, 300), GREEN))
    graph = write_page(
        tmp_path / "page", {"0": picture(), "1": everything}, [interaction(0, 1, "click")]
    )
    same(pictures(model, "direct:3x", question(graph)), [picture(), everything])


def test_the_recipes_differ_in_what_they_say(model, graph):
    said = {prompt: words(model, prompt, question(graph)) for prompt in PROMPTS}
    assert len(set(said.values())) == 4
    assert "step by step" in said["cot"]
    assert "ten ways" in said["failure-aware"]
    digests = {Prompted(model, prompt).settings["prompt_digest"] for prompt in PROMPTS}
    assert len(digests) == 4


def test_a_picture_that_is_missing_is_said_by_its_name(model, graph):
    graph.screenshot("1").unlink()
    with pytest.raises(InputError, match=r"no picture .*1\.png"):
        Prompted(model, "direct").planned_requests(question(graph))


# What is asked and answered


def answered(loop, method, *questions, again=False, run=None):
    """The answers to questions that are asked at the same time, and their contexts."""
    contexts = [
        Context(f"page/{number}", ask_again=again, run=run)
        for number in range(1, len(questions) + 1)
    ]

    async def all_answers():
        return await asyncio.gather(
            *(
                method.answer(f"page/{number}", one, context)
                for number, (one, context) in enumerate(zip(questions, contexts, strict=True), 1)
            ),
            return_exceptions=True,
        )

    return loop.run(all_answers()), contexts


def test_the_paper_decides_how_long_and_how_freely_models_answer(server, model, loop, graph):
    answered(loop, Prompted(model, "direct"), question(graph))
    (asked,) = server.log
    assert asked.body["temperature"] == 1.0
    assert asked.body.get("max_tokens", asked.body.get("max_completion_tokens")) == 4096
    assert Prompted(model, "direct").settings["parameters"]["max_tokens"] == 4096


def test_what_a_crop_really_magnifies_is_written_down_with_the_case(model, loop, graph, tmp_path):
    wide = PixelBox(0, 0, 480, 60)  # a fifth of the page: 3x would cut it
    other = write_page(
        tmp_path / "wide", {"0": picture(), "1": picture((wide, GREEN))}, [interaction(0, 1, "x")]
    )
    reached = {}
    for name, page in (("small", graph), ("wide", other)):
        for prompt in ("direct", "direct:3x"):
            _, (context,) = answered(loop, Prompted(model, prompt), question(page))
            reached[name, prompt] = [call.get("magnified") for call in context.calls]
    assert reached["small", "direct"] == reached["wide", "direct"] == [None]
    assert reached["small", "direct:3x"] == [pytest.approx(3, rel=0.02)]
    assert reached["wide", "direct:3x"] == [pytest.approx(3**0.5, rel=0.02)]


def test_what_a_user_chooses_wins_over_the_paper_one_by_one():
    chosen = ModelOptions.of(temperature=0.0).with_defaults(PARAMETERS).parameters
    assert (chosen.temperature, chosen.max_tokens) == (0.0, 4096)
    chosen = ModelOptions.of(max_tokens=9000).with_defaults(PARAMETERS).parameters
    assert (chosen.temperature, chosen.max_tokens) == (1.0, 9000)
    whole = ModelOptions(parameters=PARAMETERS).with_defaults(PARAMETERS)
    assert whole.parameters == PARAMETERS


@pytest.mark.parametrize("prompt", ["cot:all", "cot:rounds"])
def test_what_all_interactions_of_a_page_share_is_asked_once(server, model, loop, graph, prompt):
    server.latency = 0.1
    method = Prompted(model, prompt)
    answers, _ = answered(loop, method, question(graph), question(graph, 2), question(graph))
    requests = 2 if prompt == "cot:rounds" else 1
    assert len(server.log) == requests
    assert len({answer.page.html for answer in answers}) == 1
    assert {answer.form for answer in answers} == {"all"}
    server.latency = 0.0
    answered(loop, method, question(graph, 2))
    assert len(server.log) == requests
    # A page that was useless is asked for again, once for all of its interactions.
    again, _ = answered(loop, method, question(graph), question(graph, 2), again=True)
    assert len(server.log) == 2 * requests
    assert {answer.page.html for answer in again} != {answer.page.html for answer in answers}
    assert len({answer.page.html for answer in again}) == 1


def test_single_pages_are_asked_for_one_by_one_and_kept_as_they_came(
    server, model, loop, graph, tmp_path
):
    run = RunDirectory(tmp_path / "run")
    method = Prompted(model, "failure-aware")
    answers, contexts = answered(loop, method, question(graph), question(graph, 2), run=run)
    assert len(server.log) == 2
    assert {answer.form for answer in answers} == {"single"}
    assert all(answer.page.text.startswith("<!DOCTYPE html>") for answer in answers)
    assert contexts[0].flags == ["answer:fenced"]
    kept = json.loads((run.path / contexts[0].artifacts["answer"]).read_text())
    assert kept[0]["text"].startswith("```html")


def test_rounds_add_one_interaction_to_the_page_so_far(server, model, loop, graph):
    pages = [f"<html><body>{'round ' * number} {{html}}</body></html>" for number in (1, 2)]
    server.answer = lambda asked: pages[asked.number]
    method = Prompted(model, "failure-aware:rounds,V+T")
    (answer,), _ = answered(loop, method, question(graph, 2))
    assert answer.page.text == pages[1]
    first, second = server.log
    assert pages[0] not in first.prompt
    assert "id interact1" in first.prompt
    assert pages[0] in second.prompt
    assert "id interact2" in second.prompt
    same([decode(one) for one in second.images], [picture(), picture((RESULT, RED))])
    assert len(method.planned_requests(question(graph))) == 2


def test_a_round_that_fails_leaves_the_page_as_it_was(server, model, loop, graph):
    server.answer = lambda asked: ("<html><body>kept</body></html>", "")[asked.number]
    (answer,), (context,) = answered(loop, Prompted(model, "mark:rounds"), question(graph))
    assert answer.page.text == "<html><body>kept</body></html>"
    assert ROUND_FAILED in context.flags
    server.log.clear()
    server.answer = ""
    (error,), _ = answered(loop, Prompted(model, "cot:rounds,T"), question(graph))
    assert isinstance(error, EmptyAnswerError)
    assert len(server.log) == 2  # the second interaction was still tried


def test_answers_that_were_cut_off_are_flagged(server, model, loop, graph):
    def cut(asked):
        from provider_servers import success

        body = success(asked, "<html><body><p>and so")
        body["choices"][0]["finish_reason"] = "length"
        return body

    server.answer = cut
    (answer,), (context,) = answered(loop, Prompted(model, "mark:V+T"), question(graph))
    assert answer.page.text == "<html><body><p>and so"
    assert TRUNCATED in context.flags


def framed(rgb, box):
    """Whether there is a red line on all four sides of a box, a few pixels around its edges."""
    red = (rgb[..., 0] > 180) & (rgb[..., 1] < 90) & (rgb[..., 2] < 90)
    middle = (box.left + box.right) // 2, (box.top + box.bottom) // 2
    near = 8
    return bool(
        red[max(box.top - near, 0) : box.top + near, middle[0]].any()
        and red[box.bottom - near : box.bottom + near, middle[0]].any()
        and red[middle[1], max(box.left - near, 0) : box.left + near].any()
        and red[middle[1], box.right - near : box.right + near].any()
    )
