"""Pages that only seem to work: effects that are invisible or not caused do not count."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace

import pytest
from interaction_pages import SHOP, WINDOW, make_shop

from uiproof.benchmarks.interaction2code.cases import Answer, cases
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction, write_graph
from uiproof.benchmarks.interaction2code.judge import Interaction2CodeJudge
from uiproof.benchmarks.interaction2code.region import region
from uiproof.browser import PageSource, Renderer
from uiproof.browser.snapshots import Action
from uiproof.vision.images import decode

SHOW = "document.getElementById('menu').hidden = false"
CLICK = f'onclick="{SHOW}"'
HELLO = "document.getElementById('hello').textContent = 'Hello ' + this.value"
STRIPES = "repeating-linear-gradient(#fff 0 3px,#ddd 3px 6px)"


@pytest.fixture(scope="module")
def verdict(tmp_path_factory):
    """The verdict on a version of the shop, for one of its interactions."""
    dataset = make_shop(tmp_path_factory.mktemp("shop"))
    shop = {case.id: case for case in cases(dataset)}
    judge = Interaction2CodeJudge(readings=tmp_path_factory.mktemp("readings"))

    def verdict(html, number=1):
        score = judge.score(shop[f"shop/{number}"], Answer(PageSource.from_html(html), "all"))
        return score.details["verdict"]

    verdict.after = b64encode((dataset / "shop" / "1.png").read_bytes()).decode()
    yield verdict
    judge.close()


def styled(css):
    return SHOP.replace("</body>", f"<style>{css}</style></body>")


def scripted(js, *, old=CLICK, new=""):
    assert old in SHOP
    return SHOP.replace(old, new).replace("</body>", f"<script>{js}</script></body>")


# --- invisible content


@pytest.mark.parametrize(
    "css",
    [
        "#menu { width:60px !important; height:30px; overflow:hidden; padding:0 !important }"
        "#menu * { margin:40px 0 0 80px !important }",
        "#menu, #menu * { color:#ffd; border-color:#ffd; background:#ffd !important }",
        "#menu > * { opacity:.01 }",
        "#menu, #menu * { font-size:1px !important; line-height:1px }",
        "#menu > * { position:relative; z-index:-1 } #menu { isolation:isolate; position:relative }"
        "#menu::before { content:''; position:absolute; inset:0; background:#ffd }",
        "#menu { position:relative } #menu::after { content:''; position:absolute; inset:0;"
        f"background:{STRIPES}; pointer-events:none }}",
    ],
)
def test_a_window_in_which_nothing_can_be_read_is_not_usable(verdict, css):
    assert verdict(styled(css))["usable"] is False


def test_a_window_that_can_be_read_is_usable_in_another_style(verdict):
    assert verdict(styled("#menu { color:#432; background:#ffb !important }"))["usable"]
    assert verdict(styled("#menu { opacity:.9; border-radius:9px }"))["usable"]


def test_words_in_a_picture_are_words(verdict):
    picture = f"<img src='data:image/png;base64,{verdict.after}' style='position:absolute;inset:0'>"
    page = scripted(
        f"document.getElementById('interact1').onclick = () => "
        f'document.body.insertAdjacentHTML("beforeend", "{picture}")'
    )
    assert verdict(page)["usable"]


# --- effects that the act does not cause


@pytest.mark.parametrize("event", ["pointerdown", "click"])
def test_what_a_click_anywhere_shows_is_not_the_element_s_doing(verdict, event):
    said = verdict(scripted(f"document.addEventListener('{event}', () => {{ {SHOW} }}, true)"))
    assert (said["failure"], said["usable"], said["implemented"]) == ("b", False, False)
    assert "a place that is not #interact1" in said["evidence"][0]


@pytest.mark.parametrize(
    "page",
    [
        # only where nothing is written
        scripted(
            f"onmousedown = (event) => {{ if (event.target.id || event.target.tagName === 'HTML') "
            f"{SHOW} }}"
        ),
        # a part that is as large as the page
        SHOP.replace(CLICK, "").replace(
            "<h1", f'<main style="height:400px" onmousedown="{SHOW}"><h1', 1
        ),
        # a label over everything, and no script at all
        SHOP.replace(CLICK, "").replace(
            "<h1",
            "<style>body:has(#on:checked) #menu { display:block }</style><label>"
            "<input type=checkbox id=on style='position:absolute;opacity:0'>"
            "<div style='position:absolute;inset:0;height:400px'></div></label><h1",
            1,
        ),
    ],
)
def test_not_even_where_the_page_chooses_the_places(verdict, page):
    assert verdict(page)["usable"] is False


@pytest.mark.parametrize(
    "page",
    [
        # the header around the element and another link
        SHOP.replace(CLICK, "")
        .replace(
            "<h1",
            f"<header {CLICK} style='padding:0 0 24px'><a href='#'>About</a><h1",
            1,
        )
        .replace('<p id="hello"', '</header><p id="hello"'),
    ],
)
def test_what_a_wide_part_of_the_page_does_is_not_the_element_s_doing(verdict, page):
    assert verdict(page)["usable"] is False


def test_what_the_focus_does_is_not_what_typing_does(verdict):
    focus = "document.getElementById('hello').textContent = 'Hello Ann'"
    said = verdict(SHOP.replace(f'oninput="{HELLO}"', f'onfocus="{focus}"'), 3)
    assert (said["failure"], said["usable"]) == ("b", False)
    assert "without any letter" in said["evidence"][0]
    # A field may change its own looks.
    ring = "<style>#interact3:focus { outline: 3px solid #06c; background: #eef }</style>"
    assert verdict(ring + SHOP, 3)["usable"]


@pytest.mark.parametrize("event", ["keypress", "mousedown"])
def test_what_keys_do_anywhere_is_not_the_field_s_doing(verdict, event):
    shows = "document.getElementById('hello').textContent = 'Hello Ann'"
    js = f"document.addEventListener('{event}', () => {{ {shows} }}, true)"
    said = verdict(scripted(js, old=f'oninput="{HELLO}"'), 3)
    assert (said["failure"], said["usable"]) == ("b", False)


@pytest.mark.parametrize(
    ("page", "number"),
    [
        (SHOP.replace('id="menu" hidden', 'id="menu"'), 1),
        # acting does something else, which is not what it is about
        (
            scripted("", new="onclick=\"this.style.outline = '2px solid red'\"").replace(
                'id="menu" hidden', 'id="menu"'
            ),
            1,
        ),
        (SHOP.replace('24px"></p>', '24px">Hello Ann</p>'), 3),
    ],
)
def test_what_is_there_before_is_not_the_element_s_doing(verdict, page, number):
    said = verdict(page, number)
    assert (said["failure"], said["usable"]) == ("b", False)


@pytest.mark.parametrize(
    "page",
    [
        # one listener for all, which looks at what was clicked
        scripted(
            "document.addEventListener('click', (event) => { if (event.target.id === 'interact1')"
            f" {SHOW} }})"
        ),
        # clicking elsewhere does something else
        SHOP.replace(
            "</body>",
            "<script>document.addEventListener('click', ({ target }) => { if (!target.closest("
            "'#interact1, #menu')) document.getElementById('menu').hidden = true })"
            "</script></body>",
        ),
        # the part around the element works as well
        SHOP.replace("<button id=", f'<section style="height:60px" {CLICK}><button id=', 1).replace(
            '<p id="hello"', '</section><p id="hello"'
        ),
    ],
)
def test_other_ways_to_bind_the_effect_to_the_element_are_as_good(verdict, page):
    assert verdict(page)["usable"]


def test_an_effect_that_is_screens_away_is_not_usable(verdict):
    said = verdict(styled("#menu { position:absolute; top:3000px }"))
    assert said["usable"] is False
    assert "screens away" in said["evidence"][0]
    assert verdict(styled("#menu { position:absolute; top:420px }"))["usable"]


# --- scrolling

TALL = """<!doctype html><html><body style="margin:0;font:18px sans-serif"><h1>Long story</h1>
<p style="height:1500px">Once upon a time</p><button id="up" {} style="position:fixed;right:20px;
bottom:20px;padding:12px;background:#06c;color:#fff">Up</button><script>{}</script></body></html>"""
SCROLLED = TALL.format("hidden", "onscroll = () => { up.hidden = scrollY < 200 }")


@pytest.fixture(scope="module")
def scrolled(tmp_path_factory):
    """The verdict on a version of the long page, where scrolling brings a button."""
    folder = tmp_path_factory.mktemp("long")
    action = Action("scroll", "0,700")
    with Renderer() as renderer, renderer.stage(PageSource.from_html(SCROLLED), WINDOW) as stage:
        before, page = stage.screenshot(), stage.find("html").box
        stage.act(stage.find("html"), action)
        stage.settle()
        after = stage.screenshot()
    edge = Interaction("1", "0", "1", action, "scroll down", ("area",), ("new component",))
    edge = replace(edge, trigger=page, effect=region(decode(before), decode(after)).box)
    graph = Graph("long", folder / "long", (edge,), topic="news", viewport=WINDOW)
    write_graph(graph, {"0": before, "1": after})
    (case,) = cases(folder)
    judge = Interaction2CodeJudge(readings=tmp_path_factory.mktemp("readings"))
    yield lambda html: judge.score(case, Answer(PageSource.from_html(html), "all")).details[
        "verdict"
    ]
    judge.close()


def test_what_scrolling_brings_is_its_doing(scrolled):
    assert scrolled(SCROLLED)["usable"]
    assert scrolled(SCROLLED.replace("#06c", "#c60"))["usable"]


@pytest.mark.parametrize(
    "page",
    [
        TALL.format("", ""),  # there from the start
        TALL.format("hidden", "setTimeout(() => { up.hidden = false }, 1800)"),
        TALL.format("hidden", "onmousemove = () => { up.hidden = false }"),
    ],
    ids=["start", "timer", "pointer"],
)
def test_what_is_there_without_scrolling_is_not_its_doing(scrolled, page):
    assert scrolled(page)["usable"] is False
