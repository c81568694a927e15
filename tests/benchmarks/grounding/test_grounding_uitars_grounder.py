"""UI-TARS, against servers that resize pictures and write answers as the real ones do."""

from __future__ import annotations

import asyncio

import pytest
from seeing_server import pixel_error, screenshot, seen

from provider_servers import Fault, ProviderServer
from uiproof.benchmarks.grounding.coordinates import parse_contract, smart_resize
from uiproof.benchmarks.grounding.grounders import UiTarsGrounder, version_of
from uiproof.benchmarks.grounding.methods import make_search
from uiproof.engine.context import Context
from uiproof.errors import ModelError, UsageError
from uiproof.geometry import Box
from uiproof.models.chat import ModelOptions, connect

SIZE, TARGET = (1920, 1080), (1233, 217)
INSTRUCTION = "Click on the 'Save {instruction}' button"


@pytest.fixture(scope="module")
def connected(tmp_path_factory):
    """All tests share a model, because it takes a second to start."""
    with (
        ProviderServer() as server,
        pytest.MonkeyPatch.context() as patch,
        asyncio.Runner() as loop,
    ):
        patch.setenv("UIPROOF_CACHE", str(tmp_path_factory.mktemp("cache")))
        address = server.base_url("openai")
        model = connect(f"compatible:{address}#ByteDance-Seed/UI-TARS-1.5-7B")
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
    _, model, loop = connected

    def asked(picture, answer, version=None, contract=None):
        server.answer = answer
        grounder = UiTarsGrounder(model, version, contract and parse_contract(contract))
        context = Context("case", ask_again=True)
        return loop.run(grounder.ground(picture, INSTRUCTION, context)), context

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
def test_coordinates_of_1_5_are_pixels_after_smart_resize(ground, form):
    picture = screenshot(SIZE, TARGET)
    guess, context = ground(picture, resized_pixels(form))
    assert pixel_error(guess, picture, TARGET) < 1
    assert len(context.calls) == 1


@pytest.mark.parametrize("form", ["({},{})", "click(start_box='({},{})')", "[{}, {}]"])
def test_coordinates_of_1_0_are_thousandths(ground, form):
    picture = screenshot(SIZE, TARGET)
    guess, _ = ground(picture, thousandths(form), "1.0")
    assert pixel_error(guess, picture, TARGET) < 2


def test_the_resize_is_that_of_the_part_which_was_sent(ground):
    part = screenshot(SIZE, TARGET).crop(Box(0.6, 0.1, 0.11, 0.21))
    guess, _ = ground(part, resized_pixels("({},{})"))
    assert pixel_error(guess, part, TARGET) < 1
    small = screenshot((90, 40), (30, 20))  # is enlarged to at least 78,400 pixels
    guess, _ = ground(small, resized_pixels("({},{})"))
    assert pixel_error(guess, small, (30, 20)) < 1


def test_a_server_with_another_limit_needs_a_contract_that_says_so(ground):
    picture, limit = screenshot(SIZE, TARGET), 1003520
    server = resized_pixels("({},{})", limit)
    wrong, _ = ground(picture, server)
    right, _ = ground(picture, server, contract=f"resized:28:78400:{limit},xy,point")
    assert pixel_error(wrong, picture, TARGET) > 100
    assert pixel_error(right, picture, TARGET) < 2


def test_1_5_is_asked_in_its_own_words_before_the_picture(ground, server):
    ground(screenshot(SIZE, TARGET), resized_pixels("({},{})"))
    text, image = server.log[0].parts
    assert isinstance(image, bytes)
    assert text == (
        "You are a GUI agent. You are given a task and your action history, with screenshots. "
        "You need to perform the next action to complete the task. \n\n"
        "## Output Format\n\nAction: ...\n\n\n"
        "## Action Space\nclick(point='<point>x1 y1</point>'')\n\n"
        f"## User Instruction\n{INSTRUCTION}"
    )
    assert server.log[0].body["max_tokens"] == 512
    assert server.log[0].body["temperature"] == 0


def test_1_0_is_asked_in_its_own_words_after_the_picture(ground, server):
    ground(screenshot(SIZE, TARGET), thousandths("({},{})"), "1.0")
    image, text = server.log[0].parts
    assert isinstance(image, bytes)
    assert text == (
        "Output only the coordinate of one point in your response. What element matches the "
        f"following task: {INSTRUCTION}"
    )
    assert server.log[0].body["max_tokens"] == 128


@pytest.mark.parametrize(
    "answer", ["click(start_box='=')", "Action: wait()", "finished()", "", "start_box"]
)
def test_malformed_answers_are_unparseable(ground, answer):
    guess, _ = ground(screenshot((100, 100), (50, 50)), answer)
    assert guess.unparseable
    assert guess.click is None
    assert guess.raw == answer


def test_call_user_is_a_refusal(ground):
    guess, _ = ground(screenshot((100, 100), (50, 50)), "Action: call_user()")
    assert guess.refused


def test_a_server_error_is_an_error(ground, server):
    server.faults = [Fault(status=400, message="image too large")]
    with pytest.raises(ModelError):
        ground(screenshot((100, 100), (50, 50)), "(1, 1)")


def test_it_composes_with_a_search(connected, server):
    _, model, loop = connected
    server.answer = resized_pixels("({},{})", 12845056)
    picture, context = screenshot(SIZE, TARGET), Context("case")
    search = make_search("reground", connect)
    answer = loop.run(search.find(picture, INSTRUCTION, UiTarsGrounder(model), context))
    assert answer.point[0] * 1920 == pytest.approx(1233, abs=1)
    assert [look.sent for look in answer.looks] == [SIZE, (1024, 1024)]


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


def test_settings_say_how_it_is_asked(connected):
    settings = [UiTarsGrounder(connected[1], version).settings for version in ("1.0", "1.5")]
    assert [one["prompt"] for one in settings] == ["UI-TARS 1.0", "UI-TARS 1.5"]
    assert [one["parameters"]["max_tokens"] for one in settings] == [128, 512]
    assert settings[0]["prompt_digest"] != settings[1]["prompt_digest"]
    assert settings[0]["model"].endswith("#ByteDance-Seed/UI-TARS-1.5-7B")


def test_parameters_that_the_user_gave_stay():
    options = ModelOptions.of(max_tokens=64, temperature=0.5)
    model = connect("compatible:http://localhost:1/v1#UI-TARS-7B-DPO", options=options)
    parameters = UiTarsGrounder(model).settings["parameters"]
    assert (parameters["max_tokens"], parameters["temperature"]) == (64, 0.5)


def test_an_unknown_version_is_refused(connected):
    with pytest.raises(UsageError, match="no UI-TARS '3'"):
        UiTarsGrounder(connected[1], "3")
