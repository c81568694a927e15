"""Pages that try to escape from a stage, to hang it, or to hide their actions."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from uiproof.browser import Limits, PageSource, Renderer, Stage
from uiproof.browser.changes import changes
from uiproof.browser.guard import MAX_DOCUMENTS
from uiproof.browser.snapshots import Action, Element
from uiproof.browser.stage import MAX_ELEMENTS
from uiproof.errors import BrowserDiedError, PageTimeoutError, RenderError
from uiproof.process_tree import kill_tree
from uiproof.web import FrozenWeb

LIMITS = Limits(load_seconds=6, step_seconds=10)


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer(LIMITS, web=FrozenWeb.installed()) as renderer:
        yield renderer


def page(body: str) -> PageSource:
    return PageSource.from_html(f"<!DOCTYPE html><title>t</title>{body}")


def button(handler: str) -> PageSource:
    return page(f'<button id="x" onclick="{handler}">x</button><p id="out"></p>')


def found(stage: Stage, selector: str) -> Element:
    element = stage.find(selector)
    assert element is not None
    return element


def click(stage: Stage) -> None:
    stage.act(found(stage, "#x"), Action("click"))
    stage.settle()


def is_well(renderer: Renderer) -> bool:
    """Return whether the next page works as usual."""
    with renderer.stage(button("out.textContent = 1")) as stage:
        click(stage)
        return found(stage, "#out").text == "1"


@pytest.mark.parametrize(
    "handler",
    [
        "while (true) {}",
        "setTimeout(() => { for (;;); }, 50)",
        "(function f() { Promise.resolve().then(f) })()",
    ],
)
def test_a_handler_that_never_ends_ends_in_a_timeout(renderer: Renderer, handler: str) -> None:
    renderer.limits = replace(LIMITS, step_seconds=2)
    try:
        with pytest.raises(PageTimeoutError), renderer.stage(button(handler)) as stage:
            click(stage)
    finally:
        renderer.limits = LIMITS
    assert is_well(renderer)


def test_a_page_that_never_loads_ends_in_a_timeout(renderer: Renderer) -> None:
    renderer.limits = replace(LIMITS, load_seconds=1, step_seconds=2)
    try:
        with pytest.raises(RenderError), renderer.stage(page("<script>while (1);</script>")):
            pytest.fail("it cannot be loaded")
    finally:
        renderer.limits = LIMITS
    assert is_well(renderer)


@pytest.mark.parametrize(
    "handler",
    [
        "for (let i = 0; i < 1e5; i++) alert(i)",
        "for (let i = 0; i < 1e4; i++) window.open('http://a.example/' + i)",
        "for (let i = 0; i < 300; i++) { const a = document.createElement('a'); a.href = 'b' + i; "
        "a.target = '_blank'; a.click() }",
        "for (let i = 0; i < 1e5; i++) console.log('x'.repeat(100))",
        "setInterval(() => { out.textContent += 'x' }, 0)",
        "(function f() { requestAnimationFrame(f); out.append('.') })()",
        "for (let i = 0; i < 1e3; i++) reportError(new Error('no'))",
        "document.documentElement.requestFullscreen(); document.body.requestPointerLock(); print()",
        "onbeforeunload = () => 'stay'; location = 'http://b.example/'",
        "for (let i = 0; i < 300; i++) history.pushState(0, '', 'a' + i)",
        "for (let i = 0; i < 20; i++) history.back()",
        "document.open(); document.write('<p id=out>written</p>'); document.close()",
        "document.documentElement.remove()",
        "const a = document.createElement('a'); a.download = 'x'; a.href = 'data:,x'; "
        "for (let i = 0; i < 50; i++) a.click()",
    ],
)
def test_storms_pass(renderer: Renderer, handler: str) -> None:
    with renderer.stage(button(handler)) as stage:
        click(stage)
        stage.screenshot()
        stage.snapshot()
        events = stage.events()
        noted = (
            events.dialogs,
            events.windows,
            events.navigations,
            events.errors,
            events.downloads,
        )
        assert all(len(one) <= 60 for one in noted)
    assert is_well(renderer)


def test_a_page_cannot_hide_what_it_does(renderer: Renderer) -> None:
    body = """<button id="x">x</button><p id="p">a</p><script>
      const none = () => { throw new Error("not here") };
      for (const name of ["createElement", "querySelectorAll", "elementFromPoint"]) {
        Document.prototype[name] = none;
      }
      Element.prototype.getBoundingClientRect = Element.prototype.matches = none;
      window.MutationObserver = window.getComputedStyle = window.WeakMap = window.JSON = none;
      Object.defineProperty(window, "uiproof", { value: 0 });
      EventTarget.prototype.addEventListener = none;
      Array.prototype.map = Array.prototype.filter = String.prototype.slice = none;
      globalThis.uiproofTell = null;
      x.onclick = () => { p.textContent = "b"; alert("seen") };
    </script>"""
    with renderer.stage(page(body)) as stage:
        before = stage.snapshot()
        click(stage)
        events = stage.events()
        assert events.mutations == {"text": 1}
        assert events.dialogs == ("alert: seen",)
        assert [new.text for _, new in changes(before, stage.snapshot()).retexted] == ["b"]
        assert found(stage, "#x").listeners == ("click",)


def test_elements_named_like_properties_do_no_harm(renderer: Renderer) -> None:
    names = "matches getAttribute localName childNodes getBoundingClientRect labels type style id"
    fields = "".join(f'<input name="{name}" value="{name}">' for name in names.split())
    body = (
        f'<form id="f" onsubmit="out.textContent=1;return false">{fields}<button id="x">x</button>'
    )
    extra = (
        "<img name=body><img name=querySelector><img name=activeElement><img name=getAnimations>"
    )
    with renderer.stage(page(f'{body}</form>{extra}<p id="out"></p>')) as stage:
        before = stage.snapshot()
        assert {"f", "x"} <= {element.id for element in before.elements}
        click(stage)
        stage.screenshot()
        assert found(stage, "#out").text == "1"


def test_nothing_of_the_network_or_the_disk_is_reached(renderer: Renderer, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "next.html").write_text('<p id="next">next</p>')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        secret = (tmp_path / "secret.txt").as_uri()
        body = f"""<button id="x">x</button><a id="a" href="{address}/a" ping="{address}/ping">a</a>
        <a id="b" href="{address}/b" target="_blank">b</a><a id="f" href="{secret}">f</a>
        <form action="{address}/form" method="post"><button id="s">s</button></form>
        <form action="{address}/g" target="_blank"><button id="t">t</button></form>
        <a id="d" href="{address}/d" download>d</a><p id="out"></p>
        <script>x.onclick = () => {{
          window.open("{address}/open"); fetch("{address}/fetch").catch(() => {{}});
          navigator.sendBeacon("{address}/beacon", "x"); new WebSocket("ws{address[4:]}/ws");
          try {{ new Worker("{address}/w") }} catch {{}}
          const f = document.createElement("iframe");
          f.src = "{address}/frame";
          document.body.append(f);
          const read = (r) => r.text().then((t) => {{ out.textContent = t }});
          fetch("../secret.txt").then(read, () => {{}});
        }}</script>"""
        with renderer.stage(PageSource.from_html(f"<!DOCTYPE html>{body}", folder=folder)) as stage:
            for selector in ("#x", "#a", "#b", "#f", "#s", "#t", "#d"):
                assert stage.act(found(stage, selector), Action("click")) is None
                stage.settle()
            assert found(stage, "#out").text == ""
            events = stage.events()
            assert f"{address}/a" in events.navigations
            assert f"POST {address}/form" in events.navigations
            assert {f"{address}/open", f"{address}/b"} <= set(events.windows)
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_page_that_goes_on_and_on_to_itself_is_stopped(
    renderer: Renderer, tmp_path: Path
) -> None:
    (tmp_path / "a.html").write_text("<script>location = 'b.html'</script>")
    (tmp_path / "b.html").write_text("<script>location = 'a.html'</script>")
    (tmp_path / "start.html").write_text('<a id="x" href="a.html">x</a>')
    with renderer.stage(PageSource.from_file(tmp_path / "start.html")) as stage:
        click(stage)
        for _ in range(MAX_DOCUMENTS):
            stage.settle()
        assert len(stage.events().navigations) <= 60
        stage.screenshot()
        assert stage.snapshot().document <= MAX_DOCUMENTS + 2
    assert is_well(renderer)


def test_a_page_with_very_many_elements_is_cut(renderer: Renderer) -> None:
    body = """<button id="x">x</button><script>x.onclick = () => {
      document.body.insertAdjacentHTML("beforeend", "<i>i</i> ".repeat(9000)) }
    </script>"""
    with renderer.stage(page(body)) as stage:
        click(stage)
        snapshot = stage.snapshot()
        assert len(snapshot.elements) == MAX_ELEMENTS
        assert snapshot.cut


def test_a_browser_that_dies_while_a_page_is_acted_on_is_replaced(renderer: Renderer) -> None:
    def lose_the_browser() -> None:
        with renderer.stage(button("1")) as stage:
            assert renderer.pid is not None
            kill_tree(renderer.pid)
            click(stage)

    with pytest.raises(BrowserDiedError):
        lose_the_browser()
    assert is_well(renderer)
