"""Chat models as grounders, against a server that really looks at what it is sent."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from seeing_server import pixel_error, screenshot, seen

from provider_servers import Fault, ProviderServer
from uiproof.benchmarks.grounding.coordinates import parse_contract, smart_resize
from uiproof.benchmarks.grounding.grounders import (
    DECLINED,
    SCALED,
    TRUNCATED,
    ChatGrounder,
    family_name,
)
from uiproof.benchmarks.grounding.methods import make_search
from uiproof.engine.context import Context
from uiproof.errors import MethodError, ModelError, UsageError
from uiproof.geometry import Box
from uiproof.models.chat import connect

SIZE, TARGET = (1920, 1080), (1233, 217)
RESIZED = "resized:28:78400:12845056,xy,point"


@pytest.fixture(scope="module")
def connected(tmp_path_factory):
    """All tests share a model, because it takes a second to start."""
    with (
        ProviderServer() as server,
        pytest.MonkeyPatch.context() as patch,
        asyncio.Runner() as loop,
    ):
        patch.setenv("UIPROOF_CACHE", str(tmp_path_factory.mktemp("cache")))
        model = connect(f"compatible:{server.base_url('openai')}#mini")
        yield server, model, loop
        loop.run(model.close())


@pytest.fixture
def server(connected):
    server = connected[0]
    server.log.clear()
    server.faults = ()
    return server


@pytest.fixture
def ground(connected, server):
    """Ask about a picture; every request is a new one."""
    _, model, loop = connected

    def asked(picture, contract=None, instruction="the red square", *, answer=None, prompt=None):
        grounder = ChatGrounder(model, contract and parse_contract(contract), prompt)
        server.answer = answer if answer is not None else lambda asked: honest(asked, contract)
        context = Context("case", ask_again=True)
        return loop.run(grounder.ground(picture, instruction, context)), context

    return asked


def honest(asked, contract):
    """The place of the red square under a contract, in the form that was asked for."""
    place, (width, height) = seen(asked.images[0])
    if place is None:
        return "The red square is not visible."
    terms = parse_contract(contract)
    if terms.resize:
        resize = terms.resize
        tall, wide = smart_resize(
            height, width, resize.factor, resize.min_pixels, resize.max_pixels
        )
        extent = wide, tall
    else:
        most = {"unit": 1, "percent": 100, "thousand": 1000, "thousand-999": 999}
        extent = (most[terms.space],) * 2 if terms.space in most else (width, height)
    digits = 4 if terms.space == "unit" else 0
    x, y = (round(a * b, digits) for a, b in zip(place, extent, strict=True))
    numbers = [x, y] if terms.order == "xy" else [y, x]
    if '"box"' in asked.prompt:
        numbers = [numbers[0] - 2, numbers[1] - 2, numbers[0] + 2, numbers[1] + 2]
    form = "box" if '"box"' in asked.prompt else "point"
    return json.dumps({form: numbers})


@pytest.mark.parametrize(
    "contract",
    [
        "unit",
        "percent",
        "thousand",
        "thousand,yx,point",
        "thousand,yx,box",
        "thousand-999,xy,box",
        "pixels",
        "pixels,xy,point,sent:1568:1150000",
        RESIZED,
        "resized:28:3136:500000,xy,box",
        "resized:32",
    ],
)
def test_answers_are_read_in_the_coordinates_of_the_contract(ground, server, contract):
    picture = screenshot(SIZE, TARGET)
    guess, _ = ground(picture, contract)
    # 0-100 is as coarse as it gets: a hundredth of the width.
    assert pixel_error(guess, picture, TARGET) < (12 if contract == "percent" else 2)
    assert (guess.box is not None) == contract.endswith("box")
    arrived = seen(server.log[0].images[0])[1]
    assert guess.sent == arrived


def test_the_prompt_says_what_the_numbers_are_to_mean(ground, server):
    picture = screenshot(SIZE, TARGET)
    said = []
    for contract in ("thousand,yx,point", "pixels,xy,point,sent:1568", RESIZED, "unit,xy,box"):
        ground(picture, contract, 'Type "{form}" {instruction}')
        said.append(server.log[-1].prompt)
    thousand, pixels, resized, unit = said
    assert all('Type "{form}" {instruction}' in prompt for prompt in said)
    assert "from 0 to 1000" in thousand
    assert '{"point": [y, x]}' in thousand
    assert "1568 pixels wide and 882 pixels high" in pixels
    assert "1932 pixels wide and 1092 pixels high" in resized
    assert "from 0 to 1 " in unit
    assert '{"box": [x1, y1, x2, y2]}' in unit


def test_pictures_are_sent_as_they_are_where_the_contract_says_nothing_else(ground, server):
    picture = screenshot(SIZE, TARGET)
    ground(picture, "pixels")
    assert server.log[0].images == [picture.png()]


def test_a_picture_that_is_too_large_is_scaled_before_its_size_is_told(ground, server):
    picture = screenshot((9000, 600), (8100, 300))
    guess, context = ground(picture, "pixels")
    assert "8000 pixels wide and 533 pixels high" in server.log[0].prompt
    assert guess.sent == (8000, 533)
    assert pixel_error(guess, picture, (8100, 300)) < 2
    assert not context.flags


class Careless(ChatGrounder):
    """Sends what the provider then has to change."""

    def fitted(self, picture):
        return picture


def test_a_picture_that_was_scaled_on_its_way_is_read_in_the_size_that_arrived(connected, server):
    _, model, loop = connected
    server.answer = lambda asked: honest(asked, "pixels")
    picture, context = screenshot((9000, 700), (8100, 300)), Context("case")
    grounder = Careless(model, parse_contract("pixels"))
    guess = loop.run(grounder.ground(picture, "the red square", context))
    assert guess.sent[0] == 8000
    assert pixel_error(guess, picture, (8100, 300)) < 2
    assert context.flags == [SCALED]


def test_a_picture_in_pieces_is_an_error_and_not_a_guess(connected, server):
    _, model, loop = connected
    server.answer = "(1, 1)"
    picture = screenshot((300, 9000), (50, 50))
    with pytest.raises(MethodError, match="in 2 pieces"):
        loop.run(Careless(model).ground(picture, "find", Context("case")))


def test_parts_that_were_enlarged_are_answered_in_their_own_pixels(ground):
    whole = screenshot(SIZE, TARGET)
    part = whole.crop(Box(0.6, 0.1, 0.1, 0.2), scale=3)
    for contract in ("pixels", "thousand", RESIZED):
        guess, _ = ground(part, contract)
        assert guess.sent == part.size
        assert pixel_error(guess, part, TARGET) < 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ('{"point": null}', "refused"),
        ("I cannot find such an element.", "refused"),
        ("not found", "refused"),
        ("", "unparseable"),
        ("Sure! Let me have a look at it.", "unparseable"),
        ("click(start_box='=')", "unparseable"),
        ('{"point": [12]}', "unparseable"),
        ('{"point": ["left", "top"]}', "unparseable"),
        ("{" * 5000, "unparseable"),
        ("[500, 250]", (0.5, 0.25)),
        ("It is at <point>500 250</point>", (0.5, 0.25)),
        ("click(start_box='<|box_start|>(500,250)<|box_end|>')", (0.5, 0.25)),
        ('```json\n{"bbox_2d": [400, 200, 600, 300]}\n```', (0.5, 0.25)),
        ('{"point": [1500, 250]}', (1.5, 0.25)),  # beside the picture, and left there
        ('<think>(1, 2)?</think>{"point": [500, 250], "confidence": 0.75}', (0.5, 0.25)),
    ],
)
def test_every_answer_is_a_place_a_refusal_or_unparseable(ground, answer, kind):
    guess, _ = ground(screenshot((100, 100), (50, 50)), "thousand", answer=answer)
    assert guess.raw == answer
    assert guess.refused == (kind == "refused")
    assert guess.unparseable == (kind == "unparseable")
    assert guess.click == (pytest.approx(kind) if isinstance(kind, tuple) else None)
    assert guess.confidence == (0.75 if "confidence" in answer else None)


def finished(text, reason):
    return {
        "choices": [{"message": {"content": text}, "finish_reason": reason}],
        "model": "mini",
        "usage": {},
    }


def test_a_filter_that_steps_in_says_nothing_about_the_element(ground):
    refusing = finished("I'm unable to identify people.", "content_filter")
    guess, context = ground(screenshot((100, 100), (50, 50)), answer=refusing)
    assert not guess.refused
    assert guess.unparseable
    assert context.flags == [DECLINED]


def test_an_answer_that_was_cut_off_is_flagged(ground):
    cut = finished("The button is probably at the", "length")
    guess, context = ground(screenshot((100, 100), (50, 50)), answer=cut)
    assert guess.unparseable
    assert context.flags == [TRUNCATED]


def test_a_server_that_fails_is_never_a_guess(ground, server):
    server.faults = [Fault(status=400)]
    with pytest.raises(ModelError):
        ground(screenshot((100, 100), (50, 50)))


def test_every_call_is_written_down_and_nothing_is_asked_twice(connected, server):
    _, model, loop = connected
    grounder, picture = ChatGrounder(model), screenshot((123, 45), (50, 20))
    server.answer = '{"point": [500, 500]}'
    context = Context("case")
    for _ in range(2):
        loop.run(grounder.ground(picture, "once", context))
    assert len(server.log) == 1
    assert [call["cached"] for call in context.calls] == [False, True]
    assert all(call["prompt"].startswith("[picture]") for call in context.calls)
    assert all("once" in call["prompt"] for call in context.calls)
    loop.run(grounder.ground(picture, "once", Context("case", ask_again=True)))
    assert len(server.log) == 2


def test_a_search_narrows_down_to_the_real_thing(connected, server):
    _, model, loop = connected
    contract = "resized:28:3136:200000,xy,point"  # coarse: 560 pixels across
    server.answer = lambda asked: honest(asked, contract)
    grounder = ChatGrounder(model, parse_contract(contract))
    picture, search = screenshot((2400, 1500), (2001, 777)), make_search("narrow", connect)
    context = Context("case")
    answer = loop.run(search.find(picture, "the red square", grounder, context))
    assert answer.point[0] * 2400 == pytest.approx(2001, abs=2)
    assert answer.point[1] * 1500 == pytest.approx(777, abs=2)
    assert len(answer.looks) == len(context.calls) == len(server.log) == 3


def test_settings_tell_one_way_of_asking_from_another(connected):
    model = connected[1]
    grounders = [
        ChatGrounder(model),
        ChatGrounder(model, prompt="box"),
        ChatGrounder(model, parse_contract("pixels")),
        ChatGrounder(model, parse_contract("unit")),
    ]
    written = [json.dumps(dict(grounder.settings), sort_keys=True) for grounder in grounders]
    assert len(set(written)) == 4
    assert re.search(r'"contract": "thousand,xy,point"', written[0])
    assert grounders[0].name == model.name
    assert grounders[0].concurrency == model.concurrency


@pytest.mark.parametrize(
    ("name", "contract"),
    [
        ("openai/gpt-4o", "pixels,xy,point"),
        ("anthropic/claude-sonnet-4-5", "pixels,xy,point,sent:1568:1150000"),
        ("google/gemini-2.5-pro", "thousand,yx,either"),
        ("compatible:http://localhost:8000/v1#OS-Copilot/OS-Atlas-Base-7B", "thousand,xy,box"),
        # The address of a server says nothing about the model behind it.
        ("compatible:http://claude.example/v1#some-model", "thousand,xy,point"),
    ],
)
def test_the_contract_goes_by_the_model(name, contract):
    grounder = ChatGrounder(connect(name))
    assert str(grounder.contract) == contract
    assert grounder.prompt == ("box" if contract.endswith("box") else "point")
    assert "http" not in family_name(grounder.model)


def test_an_unknown_prompt_is_refused(connected):
    with pytest.raises(UsageError, match="no prompt 'poem'"):
        ChatGrounder(connected[1], prompt="poem")
