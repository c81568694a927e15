"""What numbers mean under each contract, and how contracts are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uiproof.benchmarks.grounding.coordinates import (
    DEFAULT_CONTRACT,
    EXAMPLES,
    Contract,
    Order,
    Resize,
    Shape,
    Space,
    contract_for,
    parse_contract,
    sent_size,
    smart_resize,
    to_unit,
)
from uiproof.benchmarks.grounding.parsing import locate, parse
from uiproof.errors import UsageError
from uiproof.geometry import Box

UITARS = (28, 78400, 12845056)


@pytest.mark.parametrize(
    ("height", "width", "settings", "expected"),
    [
        (1080, 1920, UITARS, (1092, 1932)),
        (2160, 3840, UITARS, (2156, 3836)),
        (1092, 1932, UITARS, (1092, 1932)),
        (100, 100, UITARS, (280, 280)),  # grown to the smallest area
        (4320, 7680, UITARS, (2688, 4760)),  # shrunk to the largest
        (1080, 1920, (32, 65536, 16777216), (1088, 1920)),
        (70, 1000, (28, 784, 12845056), (56, 1008)),  # 2.5 steps round to 2, as in Python
        (10, 1000, (28, 784, 12845056), (28, 1008)),
    ],
)
def test_smart_resize_gives_the_sizes_of_the_models(height, width, settings, expected):
    assert smart_resize(height, width, *settings) == expected


@given(st.integers(28, 9000), st.integers(28, 9000))
def test_smart_resize_keeps_to_its_steps_and_limits(height, width):
    if max(height, width) > 100 * min(height, width):
        return
    tall, wide = smart_resize(height, width, *UITARS)
    assert tall % 28 == wide % 28 == 0
    assert 78400 <= tall * wide <= 12845056


def test_smart_resize_refuses_what_the_models_refuse():
    with pytest.raises(UsageError, match="too long and thin"):
        smart_resize(10, 2001, *UITARS)
    assert smart_resize(10, 2000, *UITARS)
    with pytest.raises(UsageError, match="no size"):
        smart_resize(0, 100, *UITARS)


@pytest.mark.parametrize(
    ("numbers", "contract", "expected"),
    [
        ((0.5, 0.25), "unit", (0.5, 0.25)),
        ((50, 25), "percent", (0.5, 0.25)),
        ((500, 250), "thousand", (0.5, 0.25)),
        ((250, 500), "thousand,yx", (0.5, 0.25)),
        ((999, 0), "thousand-999", (1, 0)),
        ((960, 270), "pixels", (0.5, 0.25)),
        ((966, 273), "resized:28:78400:12845056", (0.5, 0.25)),
        ((-10, 1500), "thousand", (-0.01, 1.5)),
    ],
)
def test_a_point_is_read_in_the_space_and_order_of_the_contract(numbers, contract, expected):
    place = to_unit(numbers, parse_contract(contract), 1920, 1080)
    assert isinstance(place, tuple)
    assert place == pytest.approx(expected)


@pytest.mark.parametrize(
    ("numbers", "contract"),
    [
        ((100, 200, 300, 600), "thousand"),
        ((300, 600, 100, 200), "thousand"),
        ((300, 200, 100, 600), "thousand,xy,point"),
        ((200, 100, 600, 300), "thousand,yx,box"),
    ],
)
def test_a_box_is_read_from_any_two_opposite_corners(numbers, contract):
    box = to_unit(numbers, parse_contract(contract), 1920, 1080)
    assert isinstance(box, Box)
    assert (box.x, box.y, box.w, box.h) == pytest.approx((0.1, 0.2, 0.2, 0.4))


@pytest.mark.parametrize("numbers", [(), (1,), (1, 2, 3), (1, float("nan")), (float("inf"), 2)])
def test_other_than_two_or_four_finite_numbers_are_no_place(numbers):
    with pytest.raises(ValueError, match="two or four"):
        to_unit(numbers, DEFAULT_CONTRACT, 100, 100)


def test_places_beside_the_picture_are_not_moved_into_it():
    assert to_unit((1500, -100), DEFAULT_CONTRACT, 1920, 1080) == (1.5, -0.1)


def test_what_the_answer_says_itself_goes_before_the_contract():
    gemini = contract_for("gemini-2.5-pro")
    assert locate(parse("[200, 100]"), gemini, 1920, 1080) == (0.1, 0.2)
    assert locate(parse('{"x": 100, "y": 200}'), gemini, 1920, 1080) == (0.1, 0.2)
    assert locate(parse("(10%, 20%)"), parse_contract("pixels"), 1920, 1080) == (0.1, 0.2)
    assert locate(parse("(10%, 20%)"), parse_contract("resized"), 1920, 1080) == (0.1, 0.2)
    assert locate(parse("I cannot find it."), gemini, 1920, 1080) is None


FAMILIES = {
    "ByteDance-Seed/UI-TARS-1.5-7B": "resized:28:78400:12845056,xy,point",
    "ui_tars_1_5": "resized:28:78400:12845056,xy,point",
    "bytedance-research/UI-TARS-7B-DPO": "thousand,xy,point",
    "ui-tars-72b-sft": "thousand,xy,point",
    "doubao-1-5-ui-tars-250428": "thousand,xy,point",
    "Qwen/Qwen2-VL-7B-Instruct": "thousand,xy,either",
    "Qwen/Qwen2.5-VL-7B-Instruct": "resized:28:3136:12845056,xy,either",
    "qwen2_5-vl-72b": "resized:28:3136:12845056,xy,either",
    "Qwen/Qwen3-VL-235B-A22B-Instruct": "thousand,xy,either",
    "qwen/qwen3.5-27b": "thousand,xy,either",
    "google/gemini-2.5-flash": "thousand,yx,either",
    "anthropic/claude-sonnet-4-5": "pixels,xy,point,sent:1568:1150000",
    "openai/gpt-4o": "pixels,xy,point",
    "o4-mini": "pixels,xy,point",
    "computer-use-preview": "pixels,xy,point",
    "OS-Copilot/OS-Atlas-Base-7B": "thousand,xy,box",
    "showlab/ShowUI-2B": "unit,xy,point",
    "xlangai/Aguvis-7B-720P": "unit,xy,point",
    "cckevinn/SeeClick": "unit,xy,point",
    "OpenGVLab/InternVL3-8B": "thousand,xy,either",
    "zai-org/GLM-4.5V": "thousand,xy,either",
    "inclusionAI/UI-Venus-Ground-7B": "resized:28:2000000:4800000,xy,box",
    "inclusionAI/UI-Venus-1.5-30B": "thousand,xy,point",
    "HelloKKMe/GTA1-7B": "resized:28:3136:12845056,xy,point",
    "xlangai/Jedi-7B-1080p": "resized:28:3136:2116800,xy,point",
    "Hcompany/Holo1.5-7B": "resized:28:3136:12845056,xy,point",
    "Hcompany/Holo2-8B": "thousand,xy,point",
    "vocaela/KV-Ground-8B": "thousand,xy,point",
    "osunlp/UGround-V1-7B": "thousand,xy,point",
    "allenai/Molmo-7B-D-0924": "percent,xy,point",
    "somebody/never-heard-of-it": "thousand,xy,point",
    "": "thousand,xy,point",
}


@pytest.mark.parametrize(("name", "contract"), FAMILIES.items())
def test_known_families_have_their_contract_and_unknown_ones_the_default(name, contract):
    assert str(contract_for(name)) == contract


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_examples_in_error_messages_are_contracts(text):
    assert str(parse_contract(text)) == text


CONTRACTS = st.builds(
    lambda space, order, shape, resize, sent: Contract(
        space, order, shape, resize if space is Space.RESIZED else None, *sent
    ),
    st.sampled_from(Space),
    st.sampled_from(Order),
    st.sampled_from(Shape),
    st.builds(Resize, st.integers(1, 64), st.integers(1, 10**5), st.integers(10**5, 10**8)),
    st.sampled_from([(None, None), (1568, None), (1568, 1150000)]),
)


@given(CONTRACTS)
def test_every_contract_survives_being_written_and_read(contract):
    assert parse_contract(str(contract)) == contract


def test_parts_that_are_left_out_have_defaults():
    assert str(parse_contract("unit")) == "unit,xy,point"
    assert str(parse_contract(" Thousand , YX ")) == "thousand,yx,point"
    assert str(parse_contract("resized")) == "resized:28:3136:12845056,xy,point"
    assert str(parse_contract("resized:32")) == "resized:32:65536:16777216,xy,point"


@pytest.mark.parametrize(
    "text",
    ["", "xy", "thousands", "thousand,xz", "unit:3", "resized:0", "resized:28:9:3", "resized:a",
     "resized:1:2:3:4", "pixels,sent:", "pixels,sent:-5", "thousand,,xy", "resized:" + "9" * 5000],
)  # fmt: skip
def test_what_is_no_contract_is_refused_with_examples(text):
    with pytest.raises(UsageError, match="not a coordinate contract") as caught:
        parse_contract(text)
    assert "thousand,xy,point" in caught.value.remedy


def test_contracts_that_contradict_themselves_cannot_be_made():
    with pytest.raises(ValueError, match="resize"):
        Contract(Space.RESIZED)
    with pytest.raises(ValueError, match="resize"):
        Contract(Space.UNIT, resize=Resize())
    with pytest.raises(ValueError, match="side"):
        Contract(Space.PIXELS, sent_pixels=5)


@pytest.mark.parametrize(
    ("contract", "size", "expected"),
    [
        ("pixels", (3840, 2160), (3840, 2160)),
        ("pixels,xy,point,sent:1920", (3840, 2160), (1920, 1080)),
        ("pixels,xy,point,sent:1568:1150000", (1280, 720), (1280, 720)),
        ("pixels,xy,point,sent:1568:1150000", (1920, 1080), (1429, 804)),
        ("pixels,xy,point,sent:10", (5000, 10), (10, 1)),
    ],
)
def test_pictures_larger_than_a_provider_takes_are_sent_smaller(contract, size, expected):
    assert sent_size(parse_contract(contract), *size) == expected
