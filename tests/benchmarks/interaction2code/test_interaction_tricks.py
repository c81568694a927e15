"""Pages that only seem to work: effects that are invisible or not caused do not count."""

from __future__ import annotations

import pytest
from interaction_pages import SHOP, make_shop

from uiproof.benchmarks.interaction2code.cases import Answer, cases
from uiproof.benchmarks.interaction2code.judge import Interaction2CodeJudge
from uiproof.browser import PageSource

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
        "#menu, #menu * { -webkit-text-fill-color:transparent }",
        "#menu > * { opacity:.01 }",
        "#menu > * { position:relative; left:-2000px }",
        "#menu, #menu * { font-size:1px !important; line-height:1px }",
        "#menu > * { position:relative; z-index:-1 } #menu { isolation:isolate; position:relative }"
        "#menu::before { content:''; position:absolute; inset:0; background:#ffd }",
        "#menu { position:relative } #menu::after { content:''; position:absolute; inset:0;"
        f"background:{STRIPES}; pointer-events:none }}",
        "#menu > * { clip-path:circle(1px) }",
    ],
)
def test_a_window_in_which_nothing_can_be_read_is_not_usable(verdict, css):
    assert verdict(styled(css))["usable"] is False


def test_a_window_that_can_be_read_is_usable_in_another_style(verdict):
    assert verdict(styled("#menu { color:#432; background:#ffb !important }"))["usable"]
    assert verdict(styled("#menu { opacity:.9; border-radius:9px }"))["usable"]


# --- effects that the act does not cause


@pytest.mark.parametrize("event", ["mousedown", "pointerdown", "mouseup", "click"])
def test_what_a_click_anywhere_shows_is_not_the_element_s_doing(verdict, event):
    said = verdict(scripted(f"document.addEventListener('{event}', () => {{ {SHOW} }}, true)"))
    assert (said["failure"], said["usable"], said["implemented"]) == ("b", False, False)
    assert "a place that is not #interact1" in said["evidence"][0]


@pytest.mark.parametrize(
    "page",
    [
        # only where something is written, or only where nothing is
        scripted(f"onmousedown = (event) => {{ if (event.target !== document.body) {SHOW} }}"),
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


@pytest.mark.parametrize("event", ["keydown", "keypress", "keyup", "mousedown"])
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
