"""A page is checked without a reference: each fault lowers its own component and is found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import uiproof
from uiproof.browser import PageSource, Renderer
from uiproof.errors import UsageError
from uiproof.geometry import PixelBox
from uiproof.page_check import (
    RENDERS,
    WEIGHTS,
    PageCheck,
    check_source,
    combined,
    contrast_in,
    placeholder_in,
)

STYLE = "body { font-family: Arial; margin: 20px; max-width: 900px; overflow-wrap: anywhere }"
GOOD = """
<h1>Opening hours</h1><p>The library is open from nine to five on weekdays.</p>
<label>Name <input id="name"></label>
<button id="more" onclick="out.textContent = 'We close at noon on Saturday.'">More</button>
<p id="out"></p>
"""


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


def page(body: str, style: str = STYLE) -> PageSource:
    return PageSource.from_html(f"<!DOCTYPE html><style>{style}</style><body>{body}")


def lowered(check: PageCheck) -> set[str]:
    return {name for name, value in check.components.items() if value < 1}


def test_a_sound_page_has_no_faults(renderer: Renderer) -> None:
    check = check_source(renderer, page(GOOD))
    assert check.findings == ()
    assert float(check) == check.score == 1.0
    assert set(check.components) == {RENDERS, *WEIGHTS}


FAULTS = {
    "a failing script": ("<script>nothing.here()</script>", "scripts", "script_error", ""),
    "an error that is printed": (
        "<script>console.error('bad')</script>",
        "scripts",
        "script_error",
        "",
    ),
    "a handler that fails": ("<button onclick='gone()'>Go</button>", "scripts", "script_error", ""),
    "a button without a handler": (
        "<button id=dead>Buy</button>",
        "controls",
        "dead_control",
        "#dead",
    ),
    "a wide block": ("<p id=wide style='width:1500px'>Wide</p>", "fits", "overflow", "#wide"),
    "a block for desktops": ("<p id=w style='width:700px'>Wide</p>", "fits", "overflow", "#w"),
    "pale text": (
        "<p id=pale style='color:#bbb'>Read the terms.</p>",
        "legible",
        "contrast",
        "#pale",
    ),
    "text on a picture": (
        "<p id=p style='color:#777;background:linear-gradient(#888,#666)'>Read the terms.</p>",
        "legible",
        "contrast",
        "#p",
    ),
    "placeholder text": (
        "<p id=x>Lorem ipsum dolor sit amet.</p>",
        "finished",
        "placeholder",
        "#x",
    ),
    "a template": ("<p id=t>Dear {{ user.name }},</p>", "finished", "placeholder", "#t"),
    "repetition": (
        "<p>This sentence comes again and again.</p>" * 9,
        "varied",
        "repetition",
        "body > p:nth-of-type(6)",
    ),
    "a field without a name": ("<input id=nameless>", "named", "unnamed_control", "#nameless"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_lowers_its_component_and_is_found(renderer: Renderer, fault: str) -> None:
    extra, component, kind, selector = FAULTS[fault]
    check = check_source(renderer, page(GOOD + extra))
    found = next(one for one in check.findings if one.kind == kind)
    assert component in lowered(check)
    assert found.selector == selector
    assert found.says.endswith((".", "…")) or kind == "script_error"
    assert check.score < 1


def test_a_page_without_style_says_so(renderer: Renderer) -> None:
    check = check_source(renderer, PageSource.from_html("<h1>Hello</h1><p>Some text"))
    assert check.components["styled"] == 0
    assert [one.kind for one in check.findings] == ["unstyled"]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<div style='height:400px;background:#eee'></div>",
        "<p style='display:none'>Nothing",
        "<p>Text<div style='position:fixed;inset:0;background:#000;z-index:9'></div>",
        "<p style='color:#fff'>White on white</p>",
    ],
)
def test_a_blank_page_scores_0(renderer: Renderer, body: str) -> None:
    check = check_source(renderer, page(body))
    assert check.score == 0
    assert [one.kind for one in check.findings] == ["blank"]


def test_controls_are_acted_on_as_by_a_person(renderer: Renderer) -> None:
    body = """
    <details><summary>Details</summary><p>Inside</p></details>
    <label><input type=checkbox> Agree</label>
    <label>Size <select><option>S<option>M</select></label>
    <label>Text <textarea></textarea></label>
    <div onclick="document.title = 'x'; this.textContent = 'Done'">Card</div>
    <form action="/next"><button>Send</button></form>
    <button onclick="alert('Hi')">Ask</button>
    """
    check = check_source(renderer, page(body))
    assert check.components["controls"] == 1


def test_a_clock_that_ticks_does_not_make_dead_buttons_alive(renderer: Renderer) -> None:
    body = "<p id=t>0</p><button id=dead>Buy</button>"
    body += "<script>setInterval(() => t.textContent++, 100)</script>"
    check = check_source(renderer, page(body))
    assert "#dead" in {one.selector for one in check.findings if one.kind == "dead_control"}


def test_the_same_page_is_checked_the_same(renderer: Renderer) -> None:
    source = page(GOOD + FAULTS["pale text"][0] + FAULTS["a button without a handler"][0])
    first, second = (check_source(renderer, source) for _ in range(2))
    assert (first.score, first.components, first.findings) == (
        second.score,
        second.components,
        second.findings,
    )


def test_one_grave_fault_costs_more_than_its_share_of_the_mean() -> None:
    sound = dict.fromkeys((RENDERS, *WEIGHTS), 1.0)
    assert combined(sound) == 1.0
    assert combined({**sound, "varied": 0.0}) < 0.5
    assert combined({**sound, RENDERS: 0.0}) == 0.0
    assert combined({**sound, "varied": 0.0}, {"varied": 0}) == 1.0


@pytest.mark.parametrize("weights", [{"beauty": 1}, {"varied": -1}, {"varied": float("nan")}])
def test_wrong_weights_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        combined(dict.fromkeys((RENDERS, *WEIGHTS), 1.0), weights)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Lorem ipsum dolor", "Lorem ipsum"),
        ("TODO: write this", "TODO"),
        ("Your text here", "Your text here"),
        ("Insert a short description here", "Insert a short description here"),
        ("Hello ${name}", "${name}"),
        ("[object Object]", "[object Object]"),
        ("undefined", "undefined"),
        ("My todo list", None),
        ("Things TODO today", None),
        ("The result is undefined behaviour", None),
        ("Enter your name", None),
    ],
)
def test_placeholders_are_told_from_words(text: str, found: str | None) -> None:
    assert placeholder_in(text) == found


def test_contrast_is_that_of_wcag() -> None:
    picture = np.full((20, 100, 3), 255, np.uint8)
    picture[8:12, 10:40] = 0
    box = PixelBox(0, 0, 100, 20)
    assert contrast_in(picture, box, (0, 0, 0), 1.0) == pytest.approx(21)
    assert contrast_in(picture, box, (0, 0, 0), 0.0) == pytest.approx(21)
    assert contrast_in(picture, box, (119, 119, 119), 1.0) == pytest.approx(4.48, abs=0.01)
    assert contrast_in(picture, box, (255, 255, 255), 1.0) == pytest.approx(1)
    assert contrast_in(picture, PixelBox(200, 0, 300, 20), (0, 0, 0), 1.0) is None


def test_pages_are_checked_by_warm_workers() -> None:
    check = uiproof.check_page("<h1>Hello</h1><button>Buy</button>", weights={"styled": 0})
    assert check.components["styled"] == 0
    assert "dead_control" in {one.kind for one in check.findings}
    assert 0 < check.score < 1
    assert check.seconds > 0
