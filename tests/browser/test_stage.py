"""A staged page: snapshots, settling and events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_tools import BLUE, GREEN, RED, WHITE, colour_at, pixels

from uiproof.browser import PageSource, Renderer, Stage
from uiproof.browser.changes import changes
from uiproof.browser.snapshots import Action, Element, Events


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


def page(body: str) -> PageSource:
    return PageSource.from_html(f'<!DOCTYPE html><body style="margin:0">{body}')


def found(stage: Stage, selector: str) -> Element:
    element = stage.find(selector)
    assert element is not None, selector
    return element


def do(stage: Stage, selector: str, kind: str = "click", value: str | None = None) -> None:
    """Act and settle; it must work."""
    assert stage.act(found(stage, selector), Action(kind, value)) is None  # type: ignore[arg-type]
    stage.settle()


# --- what a snapshot holds

SHOP = """
<style>.tag::after { content: "new" } #gone { display: none } #clear { opacity: 0 }</style>
<h1 id="title">Shop <em id="em">today</em></h1>
<button id="buy" onclick="1" class="tag" style="color:#0000ff;background:#ff0000">Buy</button>
<input id="name" placeholder="Your name"><input id="pw" type="password" value="abc">
<label id="lab"><input id="ok" type="checkbox" checked>Terms</label>
<select id="size"><option>S<option selected>M</select>
<details id="more"><summary id="sum">More</summary><p id="hidden-text">inside</p></details>
<div id="gone">x</div><div id="clear">x</div>
<div id="off" style="position:absolute;left:-999px">x</div>
<div id="clip" style="height:20px;overflow:hidden"><p id="in" style="margin:0">a</p>
  <div style="height:50px"></div><p id="below">b</p></div>
<a id="link" href="a.html" target="_blank">Link</a><button id="off2" disabled>no</button>
<div id="tab" role="tab" aria-selected="true">Tab</div><img id="pic" alt="A dog" width=20 height=20>
<div id="host"></div><iframe id="frame" srcdoc="<b id=b>bold</b>" width=90 height=40></iframe>
<script>
  host.attachShadow({ mode: "open" }).innerHTML = '<i id="deep">deep</i>';
  title.addEventListener("click", () => 1);
  title.addEventListener("keyup", () => 1);
  document.addEventListener("scroll", () => 1);
  window.addEventListener("hashchange", () => 1);
</script>"""


@pytest.fixture(scope="module")
def shop(renderer: Renderer) -> dict[str, Element]:
    with renderer.stage(page(SHOP)) as stage:
        snapshot = stage.snapshot()
        assert stage.flags == set()
        assert [element.ref for element in stage.snapshot().elements] == [
            element.ref for element in snapshot.elements
        ]
        return {element.id or element.tag: element for element in reversed(snapshot.elements)}


def test_a_snapshot_holds_what_can_be_seen_and_nothing_else(shop: dict[str, Element]) -> None:
    assert {"title", "em", "buy", "name", "more", "sum", "clip", "in", "deep", "b"} <= set(shop)
    assert not {"gone", "clear", "off", "below", "hidden-text", "script", "style"} & set(shop)


def test_a_snapshot_says_what_is_written_on_elements(shop: dict[str, Element]) -> None:
    assert (shop["title"].text, shop["title"].label) == ("Shop", "Shop today")
    assert shop["em"].parent == shop["title"].ref
    assert shop["buy"].text == "Buy new"
    assert (shop["name"].text, shop["name"].state["value"]) == ("Your name", "")
    assert shop["pw"].text == "•••"
    assert shop["ok"].label == "Terms"
    assert (shop["size"].text, shop["size"].state["selected"]) == ("M", "M")
    assert shop["pic"].label == "A dog"
    assert shop["frame"].label == "bold"
    assert shop["html"].label.startswith("Shop today Buy")


def test_a_snapshot_says_what_elements_look_like_and_can_do(shop: dict[str, Element]) -> None:
    assert (shop["buy"].color, shop["buy"].background) == ((0, 0, 255), (255, 0, 0, 1))
    assert shop["buy"].listeners == ("click",)
    assert shop["title"].listeners == ("click", "keyup")
    assert {"scroll", "hashchange"} <= set(shop["html"].listeners)
    assert shop["ok"].state["checked"] == "true"
    assert shop["more"].state["open"] == "false"
    assert (shop["tab"].role, shop["tab"].state["aria-selected"]) == ("tab", "true")
    assert (shop["off2"].enabled, shop["buy"].enabled) == (False, True)
    assert shop["link"].attributes == {"href": "a.html", "target": "_blank"}
    assert shop["link"].style["text-decoration"] == "underline"


def test_boxes_are_in_pixels_of_the_whole_page_also_when_it_is_scrolled(renderer: Renderer) -> None:
    body = """<div id="a" style="margin:1500px 0 2000px 40px;width:50px;height:30px">a</div>
    <div id="f" style="position:fixed;top:10px;left:0;width:20px;height:20px">f</div>
    <div id="none" hidden>n</div>"""
    with renderer.stage(page(body), viewport=(800, 600)) as stage:
        for scroll in (0, 1200):
            box = found(stage, "#a").box
            assert (box.left, box.top, box.right, box.bottom) == (40, 1500, 90, 1530)
            assert found(stage, "#f").box.top == scroll + 10
            assert stage.snapshot().size == (800, 3530)
            do(stage, "html", "scroll", "0,1200")
        none = found(stage, "#none")
        assert (none.box.width, none.box.height) == (0, 0)
        assert stage.find("#nothing") is None


# --- pictures


def test_hover_focus_and_scroll_survive_the_picture_and_the_caret_is_not_in_it(
    renderer: Renderer,
) -> None:
    body = """<style>div { width: 50px; height: 50px; position: absolute; left: 0 }
    #h { background: red } #h:hover { background: green }
    #i { position: absolute; top: 100px; left: 0; width: 50px; height: 50px; border: 0; outline: 0;
      background: red; caret-color: black } #i:focus { background: blue }
    #f { position: fixed; left: 100px; top: 0; background: red } #t { top: 3000px }</style>
    <div id="h"></div><input id="i"><div id="f"></div><div id="t"></div>"""
    with renderer.stage(page(body)) as stage:
        do(stage, "#h", "hover")
        for _ in range(2):
            assert colour_at(stage.screenshot(), 25, 25) == GREEN
        do(stage, "#i")
        picture = pixels(stage.screenshot())
        assert picture.shape == (3050, 1280, 3)
        assert (picture[100:150, 0:50] == BLUE).all()
        do(stage, "html", "scroll", "0,700")
        scrolled = stage.screenshot()
        assert pixels(scrolled).shape == (3050, 1280, 3)
        # Fixed parts are where the window is; everything else is where it is on the page.
        assert colour_at(scrolled, 110, 710) == RED
        assert colour_at(scrolled, 110, 10) == WHITE
        assert colour_at(scrolled, 25, 125) == BLUE


LIVELY = """<style>@keyframes turn { to { transform: rotate(360deg) } }
  @keyframes come { from { opacity: 0 } to { opacity: 1 } }
  #p { width: 10px; height: 40px; background: red; transition: width 700ms }
  #p.open { width: 400px } #s { width: 40px; height: 40px; background: linear-gradient(red, blue);
  animation: turn 1s linear infinite } .new { animation: come 400ms 300ms both }</style>
  <button id="x">x</button><div id="p"></div><div id="s"></div><div id="out"></div><input id="i">
  <script>
    let frames = 0;
    const tick = () => { document.title = ++frames; requestAnimationFrame(tick) };
    tick();
    x.onclick = () => {
      p.classList.add("open");
      const late = () => '<p class="new">' + Math.random() + ' ' + new Date();
      setTimeout(() => { out.innerHTML = late() }, 450);
      fetch("data:,late").then((r) => r.text()).then((t) => { x.textContent = t });
      i.focus();
    };
    p.ontransitionend = () => { p.textContent = "ended" };
  </script>"""


def test_the_same_act_on_the_same_page_gives_the_same_pixels(renderer: Renderer) -> None:
    def play() -> tuple[bytes, bytes, bytes]:
        def picture() -> bytes:
            # Whether Chromium stores an alpha channel depends on its compositor layers.
            return pixels(stage.screenshot()).tobytes()

        with renderer.stage(page(LIVELY)) as stage:
            before = picture()
            do(stage, "#x")
            after = picture()
            texts = {element.id: element.text for element in stage.snapshot().elements}
            assert texts["p"] == "ended"
            assert texts["x"] == "late"
            assert found(stage, "#out p").style.get("opacity", "1") == "1"
            assert found(stage, "#p").box.width == 400
            return before, after, picture()

    first = play()
    assert first[0] != first[1] == first[2]
    for _ in range(2):
        # Not compared as tuples: pytest would print every byte.
        assert [one == other for one, other in zip(play(), first, strict=True)] == [True] * 3


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        ("setTimeout(() => out.textContent = 'late', 1500)", "late"),
        ("out.textContent = 'saved'; setTimeout(() => out.textContent = '', 2500)", "saved"),
        (
            "let n = 0; const t = setInterval(() => { out.textContent = ++n; "
            "if (n == 6) clearInterval(t) }, 300)",
            "6",
        ),
        ("new IntersectionObserver(() => out.textContent = 'seen').observe(x)", "seen"),
        ("window.scrollTo({ top: 900, behavior: 'smooth' })", ""),
        ("Promise.resolve().then(() => queueMicrotask(() => out.textContent = 'soon'))", "soon"),
    ],
)
def test_a_page_comes_to_rest_after_what_it_started(
    renderer: Renderer, handler: str, text: str
) -> None:
    body = f'<button id="x" onclick="{handler}">x</button><div id="out"></div>'
    with renderer.stage(page(body + '<div style="height:3000px">')) as stage:
        do(stage, "#x")
        assert found(stage, "#out").text == text
        if "smooth" in handler:
            assert stage.snapshot().scroll == (0, 900)


# --- events


def after(renderer: Renderer, body: str, kind: str = "click", folder: Path | None = None) -> Events:
    source = PageSource.from_html(f"<!DOCTYPE html>{body}", folder=folder)
    with renderer.stage(source) as stage:
        assert stage.events() == Events()
        do(stage, "#x", kind)
        events = stage.events()
        assert stage.events() == Events()
        return events


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (
            """<button id="x">x</button><p id="p">a</p><script>x.onclick = () => {
            p.textContent = "b"; p.firstChild.data = "c"; p.className = "d"; p.remove();
            document.body.append(...[1, 2].map(() => document.createElement("hr"))) }</script>""",
            Events(mutations={"text": 2, "attribute:class": 1, "removed": 1, "added": 2}),
        ),
        (
            "<button id=x onclick=\"alert('a'); confirm('b') || prompt('c')\">x</button>",
            Events(dialogs=("alert: a", "confirm: b", "prompt: c")),
        ),
        (
            "<button id=x onclick=\"window.open('a.html').focus(); window.open('https://b.example/')\">",
            Events(windows=("a.html", "https://b.example/")),
        ),
        ('<a id="x" href="a.html" target="_blank">x</a>', Events(windows=("a.html",))),
        ('<a id="x" href="#part">x</a><p id="part">', Events()),
        (
            '<a id="x" href="https://shop.example/?a=1">x</a>',
            Events(navigations=("https://shop.example/?a=1",)),
        ),
        ('<a id="x" href="missing.html">x</a>', Events(navigations=("missing.html",))),
        (
            '<form action="send" method="post"><button id="x">x</button></form>',
            Events(navigations=("POST send",)),
        ),
        (
            '<a id="x" download="a.txt" href="data:text/plain,hello">x</a>',
            Events(downloads=("data:text/plain,hello",)),
        ),
        (
            "<button id=x onclick=\"setTimeout(() => { throw Error('late') }); "
            "throw Error('now')\">",
            Events(errors=("now", "late")),
        ),
        ('<input id="x" type="file">', Events(dialogs=("file: ",))),
    ],
    ids=[
        *("mutations", "dialogs", "windows", "blank", "hash", "elsewhere", "missing", "post"),
        *("download", "errors", "file"),
    ],
)
def test_events_tell_what_happened(renderer: Renderer, body: str, events: Events) -> None:
    assert after(renderer, body) == events


def test_taking_pictures_and_snapshots_leaves_no_trace(renderer: Renderer) -> None:
    body = """<p id="p">0</p><marquee>m</marquee><svg width=9 height=9></svg>
    <script>onresize = () => { p.textContent = 'resized' }</script><div style="height:2000px">"""
    with renderer.stage(page(body)) as stage:
        before = stage.snapshot()
        first = stage.screenshot()
        stage.settle()
        assert stage.screenshot() == first
        assert stage.events() == Events()
        assert changes(before, stage.snapshot()) == changes(before, before)


# --- other pages of the folder


def test_links_and_forms_lead_to_other_pages_of_the_folder(
    renderer: Renderer, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text('<a id="x" href="start.html">back</a>')
    (tmp_path / "start.html").write_text(
        '<a id="a" href="sub/next.html?q=1">next</a><a id="up" href="../secret.html">up</a>'
        '<form action="sub/next.html"><input name="q" value="2"><button id="b">go</button></form>'
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "next.html").write_text(
        '<p id="q"></p><a id="home" href="../start.html">home</a><a id="i" href="/">index</a>'
        "<script>q.textContent = location.search</script>"
    )
    with renderer.stage(PageSource.from_file(tmp_path / "start.html")) as stage:
        start = stage.snapshot()
        do(stage, "#a")
        there = stage.snapshot()
        assert changes(start, there).new_page
        assert not {e.ref for e in start.elements} & {e.ref for e in there.elements}
        assert found(stage, "#q").text == "?q=1"
        do(stage, "#home")
        do(stage, "#b")
        assert found(stage, "#q").text == "?q=2"
        do(stage, "#i")
        assert found(stage, "#x").text == "back"
        assert stage.events().navigations == (
            *("sub/next.html?q=1", "start.html", "sub/next.html?q=2", "./"),
        )
        do(stage, "#x")
        do(stage, "#up")
        assert stage.events().navigations[-1].endswith("secret.html")
        assert found(stage, "#up").text == "up"


def test_what_an_endless_or_paused_animation_hides_is_not_seen(renderer: Renderer) -> None:
    body = """<!doctype html><style>
      @keyframes hide { from, to { opacity: 0 } } @keyframes show { from { opacity: 0 } }
      @keyframes blink { 50% { opacity: 0 } }
      #never { animation: hide 5s infinite } #later { animation: show 1s paused both }
      #now { animation: blink 1s infinite }</style>
      <p id=never>never</p><p id=later>later</p><p id=now>now</p>"""
    with renderer.stage(PageSource.from_html(body), (800, 600)) as stage:
        seen = {one.text for one in stage.snapshot().elements}
    assert "now" in seen
    assert not seen & {"never", "later"}
