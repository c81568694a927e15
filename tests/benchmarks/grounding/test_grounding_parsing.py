"""What the parser reads out of answers as models really write them."""

import json
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uiproof.benchmarks.grounding.parsing import Parsed, parse

PLACES = [
    # UI-TARS, all versions
    ("Action: click(start_box='(197,525)')", (197, 525)),
    ("Thought: Yes.\nAction: click(start_box='<|box_start|>(197,525)<|box_end|>')", (197, 525)),
    ("Action: click(point='<point>966 546</point>')", (966, 546)),
    ("Action: click(point='<point>966 546</point>'')", (966, 546)),
    ("left_double(point='<point>10 20</point>')", (10, 20)),
    ("right_single(start_box='(33, 44)')", (33, 44)),
    ("long_press(point='<point>5 6</point>')", (5, 6)),
    ("click(start_box='[0.1, 0.2, 0.3, 0.4]')", (0.1, 0.2, 0.3, 0.4)),
    ("drag(start_box='(1,2)', end_box='(30,40)')", (1, 2)),
    ("scroll(point='<point>500 600</point>', direction='down')", (500, 600)),
    ("<|box_start|>(12,34)<|box_end|>", (12, 34)),
    ("<|box_start|>(12,34),(56,78)<|box_end|>", (12, 34, 56, 78)),
    ("(235,512)", (235, 512)),
    ("(235, 512)", (235, 512)),
    ("( 235 , 512 )", (235, 512)),
    ("[235,512]", (235, 512)),
    ("[[235, 512]]", (235, 512)),
    ("[650,53,684,79]", (650, 53, 684, 79)),
    ("[[650, 53, 684, 79]]", (650, 53, 684, 79)),
    ("<bbox>650 53 684 79</bbox>", (650, 53, 684, 79)),
    ("<bbox>[650, 53, 684, 79]</bbox>", (650, 53, 684, 79)),
    ("<box>(1,2),(3,4)</box>", (1, 2, 3, 4)),
    ("<ref>OK</ref><box>[[100, 200, 300, 400]]</box>", (100, 200, 300, 400)),
    # OS-Atlas, CogAgent, SeeClick, ShowUI, Aguvis, Kimi, Holo
    (
        "<|object_ref_start|>save<|object_ref_end|><|box_start|>(576,12),(592,42)<|box_end|>",
        (576, 12, 592, 42),
    ),
    ("actions:\nCLICK <point>[[235,512]]</point>", (235, 512)),
    ("CLICK(box=[[012,345,678,901]], element_type='button')", (12, 345, 678, 901)),
    ("(0.49,0.40)", (0.49, 0.40)),
    ("{'action': 'CLICK', 'value': None, 'position': [0.49, 0.42]}", (0.49, 0.42)),
    ("pyautogui.click(x=0.3531, y=0.7219)", (0.3531, 0.7219)),
    ("```python\npyautogui.click(100, 200)\n```", (100, 200)),
    ("pyautogui.doubleClick(x=100, y=200, interval=0.1)", (100, 200)),
    ("pyautogui.moveTo(100, 200, duration=1)", (100, 200)),
    ("pyautogui.click(100, 200, 1)", (100, 200)),
    ("pyautogui.click(button='left', x=7, y=8)", (7, 8)),
    ("Click(352, 348)", (352, 348)),
    ('{"action": "click_element", "x": 352, "y": 348}', (352, 348)),
    ("click_at(y=300, x=400)", (400, 300)),
    ("page.mouse.click(10, 20)", (10, 20)),
    ("adb shell input tap 540 1200", (540, 1200)),
    # Qwen
    (
        '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", '
        '"coordinate": [960, 540]}}\n</tool_call>',
        (960, 540),
    ),
    (r'{"name": "computer_use", "arguments": "{\"coordinate\": [960, 540]}"}', (960, 540)),
    ('```json\n[\n\t{"bbox_2d": [10, 20, 30, 40], "label": "save"}\n]\n```', (10, 20, 30, 40)),
    ('```json\n{"point_2d": [10, 20], "label": "save"}\n```', (10, 20)),
    ('{"point_2d": "10, 20"}', (10, 20)),
    (
        '[{"bbox_2d": [1, 2, 3, 4], "label": "best"}, {"bbox_2d": [5, 6, 7, 8], "label": "other"}]',
        (1, 2, 3, 4),
    ),
    # Gemini, Claude, GPT, GLM, Molmo, Florence, DeepSeek
    ('[{"box_2d": [120, 340, 160, 420], "label": "close"}]', (120, 340, 160, 420)),
    ('[{"point": [140, 380], "label": "close"}]', (140, 380)),
    ('{"click_point": [14.5, 38.25]}', (14.5, 38.25)),
    ('{"coordinates": {"x": 14, "y": 38}}', (14, 38)),
    ('{"y": 38, "x": 14}', (14, 38)),
    ('{"x": "14", "y": "38"}', (14, 38)),
    ('{"x": 10, "y": 20, "width": 30, "height": 40}', (10, 20, 40, 60)),
    ('{"x1": 10, "y1": 20, "x2": 30, "y2": 40}', (10, 20, 30, 40)),
    ('{"bbox": {"left": 10, "top": 20, "right": 30, "bottom": 40}}', (10, 20, 30, 40)),
    ('<parameter name="coordinate">[512, 384]</parameter>', (512, 384)),
    ("<click>512, 384</click>", (512, 384)),
    ("<x>512</x><y>384</y>", (512, 384)),
    (
        "<think>at [1, 2]?</think><answer><|begin_of_box|>[[512,384]]<|end_of_box|></answer>",
        (512, 384),
    ),
    ('<point x="10.5" y="20.1" alt="the (3, 4) icon">the icon</point>', (10.5, 20.1)),
    ('<points x1="10.5" y1="20.1" x2="50" y2="60" alt="icons">icons</points>', (10.5, 20.1)),
    ("button<loc_52><loc_334><loc_932><loc_774>", (52, 334, 932, 774)),
    ("<|ref|>save<|/ref|><|det|>[[10, 20, 30, 40]]<|/det|>", (10, 20, 30, 40)),
    (r"The answer is $\boxed{512, 384}$", (512, 384)),
    # plain words around the numbers
    ("x=0.3, y=0.5", (0.3, 0.5)),
    ("x: 120 and y: 340", (120, 340)),
    ("The icon is at **(512, 384)**.", (512, 384)),
    ("Answer: 512, 384", (512, 384)),
    ("512 384", (512, 384)),
    ("512,384\n", (512, 384)),
    ("0.512 0.384", (0.512, 0.384)),
    ("the centre is (.5, .25)", (0.5, 0.25)),
    ("[5e-05, 0.3]", (5e-05, 0.3)),
    ("(100px, 200px)", (100, 200)),
    ("It is at x≈120, y≈340 or so", (120, 340)),
    (json.dumps({"a": [{"b": [{"c": [{"bbox_2d": [1, 2, 3, 4]}]}]}]}, indent=8), (1, 2, 3, 4)),
    ("(-12, 40)", (-12, 40)),
    ("<120, 340>", (120, 340)),
    ("坐标为（512，384）。", (512, 384)),
    ("点击位置：［５１２、３８４］", (512, 384)),
    ("坐标：512，384", (512, 384)),
    # thousands separators
    ("(1,234, 567)", (1234, 567)),
    ("(567, 1,234)", (567, 1234)),
    ("(1,234, 1,567)", (1234, 1567)),
    ("x=1,234, y=567", (1234, 567)),
    ("(1,234)", (1, 234)),
    ("(100,200), (300,400)", (100, 200, 300, 400)),
    ("Among 1,234 files in 5,678 folders it is the one at (10, 20).", (10, 20)),
    # corners in any order
    ("[30, 40, 10, 20]", (30, 40, 10, 20)),
    ("<|box_start|>(30,20),(10,40)<|box_end|>", (30, 20, 10, 40)),
    # the answer among other numbers
    ("<think>The bar is at (10, 20), 300 px wide.</think>\n(400, 500)", (400, 500)),
    ("First I thought of (10, 20), but it is (400, 500).", (400, 500)),
    ("The menu (10, 20) opens it.\nAction: click(start_box='(5,6)')\nThat is in (7, 8).", (5, 6)),
    ('I looked at [1, 2, 3, 4]. {"point_2d": [50, 60]} is it, 1920x1080 (16, 9).', (50, 60)),
    ("click(start_box='(1,2)')\nNo, better:\nclick(start_box='(3,4)')", (3, 4)),
    ("<think>click(start_box='(3,4)')</think>", (3, 4)),
    ("I could not find the exact icon; the closest is (40, 50).", (40, 50)),
    ("<answer>[40, 50]</answer> was better than [60, 70]", (40, 50)),
]


@pytest.mark.parametrize(("text", "numbers"), PLACES, ids=[text[:60] for text, _ in PLACES])
def test_reads_the_place_that_the_answer_means(text, numbers):
    parsed = parse(text)
    assert parsed.numbers == pytest.approx(numbers)
    assert parsed.kind == ("point" if len(numbers) == 2 else "box")
    assert parsed.form


NOTHINGS = [
    "",
    "   \n",
    "click(start_box='=')",
    "Thought: it is near (10, 20).\nAction: click(start_box='=')",
    "click(point='<point>x1 y1</point>')",
    "The save button is in the toolbar.",
    "There are 1,234 rows and 5 columns.",
    "It was (NaN, 5).",
    "(inf, 5)",
    "(1e999, 5)",
    "[nan, nan]",
    '{"point": [1e999, 2]}',
    "(" + "9" * 400 + ", 5)",
    "[1, 2, 3]",
    "[1, 2, 3, 4, 5]",
    '{"bbox_2d": [100, 200, 300',
    "<point>1 2 3</point>",
    "<think>somewhere near (10, 20) or",
    "<think>near (10, 20)</think>Done.",
    "1920x1080",
    "v1.2.3 (build 77)",
    "x=5",
    "finished(content='done')",
]


@pytest.mark.parametrize("text", NOTHINGS, ids=[repr(text[:50]) for text in NOTHINGS])
def test_finds_nothing_where_no_place_is_given(text):
    assert parse(text) == Parsed("nothing")


REFUSALS = [
    "I'm sorry, I cannot find such an element.",
    "I can’t locate the button in this screenshot.",
    "Unable to clearly identify the target.",
    "The element could not be found.",
    "Target not found",
    "The dialog at (10, 20) is open, but the icon is not visible.",
    "There is no such button.",
    '{"point": null}',
    '{"bbox_2d": []}',
    '{"found": false, "reason": "nothing like it"}',
    '{"name": "computer_use", "arguments": {"action": "terminate", "status": "failure"}}',
    "Action: call_user()",
    "None",
    "null",
    "图中找不到该元素。",
    "<think>maybe (10, 20)</think>The element does not exist.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_knows_a_refusal_in_words(text):
    parsed = parse(text)
    assert (parsed.kind, parsed.numbers) == ("refusal", ())


@pytest.mark.parametrize("text", ["(-1,-1)", "click(start_box='(-1, -1)')", "[0, 0, 0, 0]"])
def test_numbers_are_never_a_refusal(text):
    assert parse(text).kind in ("point", "box")


@pytest.mark.parametrize(
    ("text", "percent"),
    [
        ("(45%, 30.5%)", True),
        ("x=45%, y=30.5 %", True),
        ("（45％，30.5％）", True),
        ("(45, 30.5)", False),
    ],
)
def test_percent_signs_are_kept_apart_from_plain_numbers(text, percent):
    parsed = parse(text)
    assert parsed.numbers == (45, 30.5)
    assert parsed.percent is percent


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"y": 38, "x": 14}', True),
        ("x=14, y=38", True),
        ("click(x=14, y=38)", True),
        ("(14, 38)", False),
    ],
)
def test_says_whether_the_answer_names_its_axes(text, named):
    parsed = parse(text)
    assert parsed.numbers == (14, 38)
    assert parsed.named is named


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ('{"point": [1, 2], "confidence": 0.87}', 0.87),
        ("(1, 2) Confidence: 87%", 0.87),
        ("(1, 2) confidence score = 87", 0.87),
        ("(1, 2) confidence: 1", 1),
        ("(1, 2) confidence: 870", None),
        ("(1, 2) confidence: high", None),
        ("(1, 2)", None),
    ],
)
def test_reads_a_stated_confidence_as_a_share(text, confidence):
    parsed = parse(text)
    assert parsed.numbers == (1, 2)
    assert parsed.confidence == (None if confidence is None else pytest.approx(confidence))


PIECES = st.sampled_from(
    [
        "(",
        ")",
        "[",
        "]",
        "<point>",
        "</point>",
        "click(",
        "start_box='",
        "'",
        '"',
        "x=",
        '"x": ',
        "1e999",
        "nan",
        "-",
        "+",
        ".",
        ",",
        " ",
        "\n",
        "%",
        "<|box_start|>",
        "<think>",
        "</think>",
        "<answer>",
        "{",
        "}",
        '"bbox_2d":',
        "1,234",
        "\\boxed{",
        "<loc_1>",
        "（",
        "，",
        "找不到",
        "confidence:",
        "px",
        "\x00",
        "\ud800",
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(PIECES, st.floats().map(str), st.integers().map(str), st.text(max_size=5)),
        max_size=40,
    ).map("".join)
)
def test_never_raises_and_only_returns_finite_numbers(text):
    parsed = parse(text)
    assert len(parsed.numbers) == {"point": 2, "box": 4, "refusal": 0, "nothing": 0}[parsed.kind]
    assert all(map(math.isfinite, parsed.numbers))
    assert parsed.confidence is None or 0 <= parsed.confidence <= 1


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(*[st.decimals(-9999, 9999, places=3)] * 2),
    st.sampled_from(
        [
            "({}, {})",
            "[{},{}]",
            "click(start_box='({},{})')",
            "<point>{} {}</point>",
            '{{"point_2d": [{}, {}]}}',
            "x={}, y={}",
        ]
    ),
)
def test_every_pair_of_numbers_survives_every_common_form(pair, form):
    assert parse(form.format(*pair)).numbers == tuple(map(float, pair))


@pytest.mark.parametrize(
    "piece",
    ["(", "click(", "1 ", "1,234, ", '"x": 1, ', '"bbox":[', "<point>", " ", "(1, 2", "{[(<", "e9"],
)
def test_five_megabytes_of_hostile_text_are_read_in_seconds(piece):
    start = time.thread_time()
    parse(piece * (5_000_000 // len(piece)))
    assert time.thread_time() - start < 10


def test_an_answer_is_found_at_either_end_of_a_text_without_end():
    junk = "blah blah (1, " * 300_000
    assert parse(f"{junk}\nclick(start_box='(3,4)')").numbers == (3, 4)
    assert parse(f"click(start_box='(3,4)')\n{junk}").numbers == (3, 4)
