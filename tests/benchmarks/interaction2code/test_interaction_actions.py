import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uiproof.benchmarks.interaction2code.actions import named_in, read_action
from uiproof.browser.snapshots import Action

SENTENCES = {
    'click the "theme-switch" button': ("click", None, "theme-switch"),
    'click to the "Log in" button': ("click", None, "Log in"),
    "click to the X button": ("click", None, "X"),
    'click on an option"male"': ("click", None, "male"),
    "click on one of the options": ("click", None, None),
    "click the user's avatar and name": ("click", None, "user's avatar and name"),
    "Click on the user's 'More' menu": ("click", None, "More"),
    'click the "Scroll down" link': ("click", None, "Scroll down"),
    'Click "Next" and the page scrolls down': ("click", None, "Next"),
    'press the "Search" button': ("click", None, "Search"),
    "click the Enter button": ("click", None, "Enter"),
    "click the input box": ("click", None, "input box"),
    "double click the cell": ("click", None, "cell"),
    "right-click on the image": ("click", None, "image"),
    "check the checkbox": ("click", None, "checkbox"),
    "focus on the search box": ("click", None, "search box"),
    'choose the "Yearly" tab': ("click", None, "Yearly"),
    "frobnicate the widget": ("click", None, None),
    "": ("click", None, None),
    "move the cursor to the card": ("hover", None, "card"),
    "hover on the React icon": ("hover", None, "React"),
    'hover the mouse over the "CASE STUDY\nHow it works " item': (
        "hover",
        None,
        "CASE STUDY How it works",
    ),
    "Mouse over the logo": ("hover", None, "logo"),
    'move the cursor to "x" and click': ("click", None, "x"),
    "Drag the progress bar": ("drag", None, "progress bar"),
    "slide the slider to the left": ("drag", "-100,0", "slider"),
    "drag the left handle to the right by 30 px": ("drag", "30,0", "left handle"),
    "move the slider to the right": ("drag", "100,0", "slider"),
    "swipe left on the carousel": ("drag", "-100,0", "carousel"),
    "scroll down": ("scroll", "0,500", None),
    "scroll to the bottom of the page": ("scroll", "0,10000", None),
    "input 'abc' in the search box": ("type", "abc", "search box"),
    'enter "hello" in the name field': ("type", "hello", "name"),
    "enter the password": ("type", None, None),
    "type in the search box": ("type", None, "search box"),
    "type Hello in the search box": ("type", "Hello", "search box"),
    'type "abc" into the "Search" input': ("type", "abc", "Search"),
    'input 123456 into the "phone" field': ("type", "123456", "phone"),
    'fill the "Email" field with "a@b.c"': ("type", "a@b.c", "Email"),
    'click the search box and type "abc"': ("type", "abc", None),
    'select "male" from the gender list': ("select", "male", "gender list"),
    'choose the "male" option': ("select", "male", "male"),
    "press the Enter key": ("key", "Enter", None),
    "press Enter": ("key", "Enter", None),
    "press the down arrow key": ("key", "ArrowDown", None),
    "press the downward arrow button": ("click", None, "downward arrow"),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_published_sentences_are_understood(sentence):
    kind, value, name = SENTENCES[sentence]
    assert read_action({"action": sentence}) == Action(kind, value)
    assert named_in(sentence) == name


@pytest.mark.parametrize(
    "sentence",
    [
        *("move the cursor to the card", "Move the curser to the card", "moves the cursor to card"),
        *(
            "move the coursor over the card",
            "move teh crusor on the card",
            "mvoe the cursor to card",
        ),
        *(
            "place the curosr on the card",
            "move the cusor onto the card",
            "the cursor moves to card",
        ),
        *(
            "move the moues to the card",
            "move the mouse cursur to the card",
            "hoover over the card",
        ),
    ],
)
def test_to_move_the_cursor_is_to_hover_however_it_is_spelt(sentence):
    assert read_action({"action": sentence}) == Action("hover")
    assert named_in(sentence) == "card"


@pytest.mark.parametrize("thing", ["course", "cross", "slider handle", "core module"])
def test_to_move_something_else_is_not_to_hover(thing):
    assert read_action({"action": f"move the {thing} to the right"}).kind != "hover"


def test_our_own_fields_win_over_the_sentence():
    entry = {"action": 'click the "x" button', "kind": "select", "value": "Two"}
    assert read_action(entry) == Action("select", "Two")


def test_a_sentence_fills_in_the_value_that_the_fields_leave_out():
    entry = {"action": 'type "tea" in the box', "kind": "type", "value": None}
    assert read_action(entry) == Action("type", "tea")


def test_an_unknown_kind_leaves_it_to_the_sentence():
    assert read_action({"kind": "levitate", "action": "hover on the logo"}).kind == "hover"


def test_a_select_element_is_selected_from_and_a_plain_choice_is_clicked():
    entry = {"action": 'choose the "Large" text', "tag type": ["select"]}
    assert read_action(entry) == Action("select", "Large")
    assert read_action({"action": 'choose the "Large" text'}) == Action("click")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("50,0", "50,0"),
        ([50, -3.5], "50,-3.5"),
        ({"dx": 50, "dy": 0}, "50,0"),
        ({"x": 7}, "7,0"),
        (3, "3"),
        (2.0, "2"),
        ({"text": "hello"}, "hello"),
        (True, "true"),
        (None, None),
        ({"odd": 1}, None),
    ],
)
def test_values_may_be_written_in_many_ways(value, text):
    assert read_action({"kind": "drag", "value": value}) == Action("drag", text)


@settings(deadline=None)
@given(st.text(), st.text())
def test_no_sentence_and_no_kind_breaks_the_reader(sentence, kind):
    assert read_action({"action": sentence, "kind": kind, "value": sentence}).value == sentence
    named_in(sentence)


def test_every_published_action_is_understood(shared_data):
    kinds = {}
    for file in sorted((shared_data / "data" / "interaction2code").glob("*/action.json")):
        for key, entry in json.loads(file.read_text()).items():
            if key.isdecimal():
                kinds.setdefault(read_action(entry).kind, []).append(entry["action"])
    assert {kind: len(found) for kind, found in kinds.items()} == {
        "click": 39,
        "hover": 10,
        "drag": 3,
    }
