"""Chat models and UI-TARS as grounders, against a server that looks at what it is sent."""

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
    UiTarsGrounder,
    family_name,
    version_of,
)
from uiproof.benchmarks.grounding.methods import make_search
from uiproof.engine.context import Context
from uiproof.errors import MethodError, ModelError, UsageError
from uiproof.geometry import Box
from uiproof.models.chat import ModelOptions, connect

SIZE, TARGET = (1920, 1080), (1233, 217)
RESIZED = "resized:28:78400:12845056,xy,point"
UITARS_ASKED = "Click on the 'Save {instruction}' button"


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


# --- UI-TARS


@pytest.fixture
def ground_uitars(connected, server):
    _, model, loop = connected

    def asked(picture, answer, version=None, contract=None):
        server.answer = answer
        grounder = UiTarsGrounder(model, version, contract and parse_contract(contract))
        context = Context("case", ask_again=True)
        return loop.run(grounder.ground(picture, UITARS_ASKED, context)), context

    return asked


def resized_pixels(form, max_pixels=12845056):
    """A server of UI-TARS 1.5: coordinates are pixels of the picture after smart-resize."""

    def answer(asked):
        place, (width, height) = seen(asked.images[0])
        tall, wide = smart_resize(height, width, 28, 78400, max_pixels)
        return form.format(round(place[0] * wide), round(place[1] * tall))

    return answer


def thousandths(form):
    """A server of UI-TARS 1.0: coordinates are 0-1000 whatever the size."""

    def answer(asked):
        place, _ = seen(asked.images[0])
        return form.format(round(place[0] * 1000), round(place[1] * 1000))

    return answer


@pytest.mark.parametrize(
    "form",
    [
        "Action: click(point='<point>{} {}</point>')",
        "Action: click(point='<point>{} {}</point>'')",
        "Thought: I see it.\nAction: click(start_box='({},{})')",
        "click(start_box='<|box_start|>({},{})<|box_end|>')",
        "({}, {})",
    ],
)
def test_coordinates_of_1_5_are_pixels_after_smart_resize(ground_uitars, form):
    picture = screenshot(SIZE, TARGET)
    guess, context = ground_uitars(picture, resized_pixels(form))
    assert pixel_error(guess, picture, TARGET) < 1
    assert len(context.calls) == 1


@pytest.mark.parametrize("form", ["({},{})", "click(start_box='({},{})')", "[{}, {}]"])
def test_coordinates_of_1_0_are_thousandths(ground_uitars, form):
    picture = screenshot(SIZE, TARGET)
    guess, _ = ground_uitars(picture, thousandths(form), "1.0")
    assert pixel_error(guess, picture, TARGET) < 2


def test_the_resize_is_that_of_the_part_which_was_sent(ground_uitars):
    part = screenshot(SIZE, TARGET).crop(Box(0.6, 0.1, 0.11, 0.21))
    guess, _ = ground_uitars(part, resized_pixels("({},{})"))
    assert pixel_error(guess, part, TARGET) < 1
    small = screenshot((90, 40), (30, 20))  # is enlarged to at least 78,400 pixels
    guess, _ = ground_uitars(small, resized_pixels("({},{})"))
    assert pixel_error(guess, small, (30, 20)) < 1


def test_a_server_with_another_limit_needs_a_contract_that_says_so(ground_uitars):
    picture, limit = screenshot(SIZE, TARGET), 1003520
    server = resized_pixels("({},{})", limit)
    wrong, _ = ground_uitars(picture, server)
    right, _ = ground_uitars(picture, server, contract=f"resized:28:78400:{limit},xy,point")
    assert pixel_error(wrong, picture, TARGET) > 100
    assert pixel_error(right, picture, TARGET) < 2


def test_1_5_is_asked_in_its_own_words_before_the_picture(ground_uitars, server):
    ground_uitars(screenshot(SIZE, TARGET), resized_pixels("({},{})"))
    text, image = server.log[0].parts
    assert isinstance(image, bytes)
    assert text == (
        "You are a GUI agent. You are given a task and your action history, with screenshots. "
        "You need to perform the next action to complete the task. \n\n"
        "## Output Format\n\nAction: ...\n\n\n"
        "## Action Space\nclick(point='<point>x1 y1</point>'')\n\n"
        f"## User Instruction\n{UITARS_ASKED}"
    )
    assert server.log[0].body["max_tokens"] == 512
    assert server.log[0].body["temperature"] == 0


def test_1_0_is_asked_in_its_own_words_after_the_picture(ground_uitars, server):
    ground_uitars(screenshot(SIZE, TARGET), thousandths("({},{})"), "1.0")
    image, text = server.log[0].parts
    assert isinstance(image, bytes)
    assert text == (
        "Output only the coordinate of one point in your response. What element matches the "
        f"following task: {UITARS_ASKED}"
    )
    assert server.log[0].body["max_tokens"] == 128


def test_call_user_is_a_refusal(ground_uitars):
    guess, _ = ground_uitars(screenshot((100, 100), (50, 50)), "Action: call_user()")
    assert guess.refused


@pytest.mark.parametrize(
    ("name", "version", "contract"),
    [
        ("ByteDance-Seed/UI-TARS-1.5-7B", "1.5", "resized:28:78400:12845056,xy,point"),
        ("ui_tars_1.5_7b", "1.5", "resized:28:78400:12845056,xy,point"),
        ("bytedance-research/UI-TARS-7B-DPO", "1.0", "thousand,xy,point"),
        ("UI-TARS-2B-SFT", "1.0", "thousand,xy,point"),
        ("UI-TARS-72B-DPO", "1.0", "thousand,xy,point"),
        ("doubao-1-5-ui-tars-250428", "1.5", "thousand,xy,point"),
        ("ui-tars-2", "1.5", "thousand,xy,point"),
        ("tgi", "1.5", "resized:28:78400:12845056,xy,point"),
    ],
)
def test_prompt_and_contract_go_by_the_model_s_name(name, version, contract):
    grounder = UiTarsGrounder(connect(f"compatible:http://localhost:1/v1#{name}"))
    assert (grounder.version, str(grounder.contract)) == (version, contract)
    assert version_of(name) == version
    assert grounder.name == "uitars"


def test_settings_say_how_uitars_is_asked(connected):
    settings = [UiTarsGrounder(connected[1], version).settings for version in ("1.0", "1.5")]
    assert [one["prompt"] for one in settings] == ["UI-TARS 1.0", "UI-TARS 1.5"]
    assert [one["parameters"]["max_tokens"] for one in settings] == [128, 512]
    assert settings[0]["prompt_digest"] != settings[1]["prompt_digest"]
    assert settings[0]["model"].endswith("#mini")


def test_parameters_that_the_user_gave_stay():
    options = ModelOptions.of(max_tokens=64, temperature=0.5)
    model = connect("compatible:http://localhost:1/v1#UI-TARS-7B-DPO", options=options)
    parameters = UiTarsGrounder(model).settings["parameters"]
    assert (parameters["max_tokens"], parameters["temperature"]) == (64, 0.5)


def test_an_unknown_version_is_refused(connected):
    with pytest.raises(UsageError, match="no UI-TARS '3'"):
        UiTarsGrounder(connected[1], "3")
