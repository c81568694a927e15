"""How ordinary, animated, endless and crashing pages are rendered."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from browser_tools import BLUE, GREEN, RED, WHITE, colour_at, pixels, save_square, shot

from uiproof.browser import Limits, LivePage, PageSource, Renderer
from uiproof.browser.chromium import FONTS_CONF, SWITCHES, find_chromium
from uiproof.browser.tab import Tab
from uiproof.errors import BrowserDiedError, RenderError
from uiproof.process_tree import descendants, kill_tree

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DEMO = Path(str(files("uiproof"))) / "demo" / "design2code" / "reference"
LIMITS = Limits(load_seconds=8, step_seconds=20, max_width=2_000)
BLOCK = "position:absolute;left:0;width:50px;height:50px"


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer(LIMITS) as renderer:
        yield renderer


@contextmanager
def hurried(renderer: Renderer) -> Iterator[None]:
    """Little patience with pages that are known to go on forever."""
    renderer.limits = replace(LIMITS, load_seconds=3, step_seconds=20)
    try:
        yield
    finally:
        renderer.limits = LIMITS


@pytest.mark.parametrize(
    ("body", "size", "flags"),
    [
        ("", (1280, 720), set()),
        ('<div style="height:100px">', (1280, 720), set()),
        ('<div style="height:721px">', (1280, 721), set()),
        ('<div style="width:1500px;height:9px">', (1500, 720), set()),
        ('<div style="width:2500px;height:9px">', (2000, 720), {"cut_width"}),
        ('<div style="height:99999px">', (1280, 32_000), {"cut_height"}),
    ],
)
def test_a_picture_holds_the_whole_page_up_to_the_limits(
    renderer: Renderer, body: str, size: tuple[int, int], flags: set[str]
) -> None:
    with renderer.open(
        PageSource.from_html(f'<!DOCTYPE html><body style="margin:0">{body}')
    ) as page:
        assert page.size == size
        assert page.flags == flags
        if size[1] < 32_000:
            assert pixels(page.screenshot()).shape == (size[1], size[0], 3)


def test_a_page_of_30000_pixels_is_complete_and_every_band_of_it_right(renderer: Renderer) -> None:
    bands = [((i * 53) % 256, (i * 101) % 256, (i * 197) % 256) for i in range(300)]
    html = "".join(f'<div style="height:100px;background:rgb{colour}"></div>' for colour in bands)
    png, flags = shot(renderer, f'<!DOCTYPE html><body style="margin:0">{html}')
    found = pixels(png)
    assert found.shape == (30_000, 1280, 3)
    expected = np.repeat(np.array(bands, np.uint8), 100, axis=0)
    for x in (0, 255, 256, 640, 1279):
        assert (found[:, x] == expected).all()
    assert flags == set()


@pytest.mark.parametrize("name", ["article", "dashboard", "pricing", "news"])
def test_a_picture_is_pixel_for_pixel_what_playwright_takes(
    renderer: Renderer, playwright_shot: PlaywrightShot, name: str
) -> None:
    ours, flags = shot(renderer, DEMO / f"{name}.html")
    assert flags == set()
    assert (pixels(ours) == pixels(playwright_shot(DEMO / f"{name}.html"))).all()


TALL = (
    '<!DOCTYPE html><body style="margin:0"><div style="height:100vh;background:teal"></div>'
    '<div style="position:fixed;bottom:0;right:0;background:red">fixed</div><pre>monospace</pre>'
    '<div style="height:1500px;background:linear-gradient(45deg, white, navy)"></div>'
)


@pytest.mark.parametrize("script", ["", "<script>document.body.append('more')</script>"])
def test_all_pictures_of_a_tall_page_are_as_the_browser_takes_a_single_one(
    renderer: Renderer, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with renderer.open(PageSource.from_html(TALL + script)) as page:
        pictures = {page.screenshot() for _ in range(3)}
        assert page.evaluate("[innerWidth, innerHeight]") == [1280, 720]
    monkeypatch.setattr(Tab, "_draw", lambda *_: None)
    assert pictures == {shot(renderer, TALL + script)[0]}
    # The next page has nothing of the size of the last.
    assert pixels(shot(renderer, "<p>short</p>")[0]).shape == (720, 1280, 3)


class PlaywrightShot:
    """Playwright's own full-page screenshot, by a browser that was started in the same way."""

    def __init__(self, browser: Browser) -> None:
        self._context = browser.new_context(
            viewport={"width": 1280, "height": 720}, reduced_motion="reduce", locale="en-US"
        )

    def __call__(self, path: Path) -> bytes:
        page = self._context.new_page()
        page.goto(path.as_uri())
        return page.screenshot(full_page=True, animations="disabled")


@pytest.fixture(scope="module")
def playwright_shot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlaywrightShot]:
    from playwright.sync_api import sync_playwright

    fonts = tmp_path_factory.mktemp("fonts") / "fonts.conf"
    fonts.write_text(FONTS_CONF)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium().path,
            args=[*SWITCHES, "--no-sandbox"],
            env={**os.environ, "FONTCONFIG_FILE": str(fonts)},
        )
        yield PlaywrightShot(browser)
        browser.close()


@pytest.mark.parametrize(
    "script",
    [
        "while (true);",
        "setTimeout(() => { while (true); }, 20)",
        "const again = () => Promise.resolve().then(again); setTimeout(again, 20)",
    ],
    ids=["while parsing", "in a timer", "in promises"],
)
def test_a_page_that_never_finishes_is_shot_as_far_as_it_came(
    renderer: Renderer, script: str
) -> None:
    html = f'<div style="{BLOCK};top:0;background:green"></div><script>{script}</script>'
    with hurried(renderer):
        png, flags = shot(renderer, html)
    assert colour_at(png, 25, 25) == GREEN
    assert "load_timeout" in flags
    assert colour_at(shot(renderer, '<body style="background:blue">')[0], 5, 5) == BLUE


@pytest.mark.parametrize(
    ("script", "flag"),
    [
        ("setTimeout(() => { location = 'http://example.org/' }, 10)", "navigation_blocked"),
        ("setTimeout(() => location.reload(), 10)", "navigation_blocked"),
        ("location = 'about:blank'", "left_document"),
        ("location = URL.createObjectURL(new Blob(['other'], {type: 'text/html'}))", None),
    ],
)
def test_a_page_that_goes_elsewhere_is_shown_as_itself(
    renderer: Renderer, script: str, flag: str | None
) -> None:
    html = f'<div style="{BLOCK};top:0;background:green"></div><script>{script}</script>'
    png, flags = shot(renderer, html)
    assert colour_at(png, 25, 25) == GREEN
    assert flag is None or flag in flags


def test_a_page_that_goes_elsewhere_at_once_is_shown_whole_without_its_scripts(
    renderer: Renderer,
) -> None:
    html = f"""<script>location = "http://example.org/"</script>
        <div style="{BLOCK};top:0;background:green"></div>"""
    with hurried(renderer):
        png, flags = shot(renderer, html)
    assert colour_at(png, 25, 25) == GREEN
    assert flags == {"left_document", "scripts_off"}


def test_a_page_that_only_rewrites_its_address_keeps_its_scripts(renderer: Renderer) -> None:
    html = "<body><script>history.pushState({}, '', '/home');document.body.style.background='green'"
    png, flags = shot(renderer, html + "</script>")
    assert (colour_at(png, 5, 5), flags) == (GREEN, set())


def test_dialogs_and_windows_answer_at_once_with_nothing(renderer: Renderer) -> None:
    html = """<body><script>
        alert("hello");
        const answers = [confirm("sure?"), prompt("name?"), window.open("about:blank")];
        const nothing = JSON.stringify(answers) === "[false,null,null]";
        document.body.style.background = nothing ? "green" : "red";
    </script>"""
    png, flags = shot(renderer, html)
    assert (colour_at(png, 5, 5), flags) == (GREEN, set())


@pytest.mark.parametrize("script", ["", "<script>1</script>"], ids=["still", "with scripts"])
def test_what_is_for_browsers_without_scripts_is_not_shown(renderer: Renderer, script: str) -> None:
    html = f"""<!DOCTYPE html><head>{script}
        <noscript><style>body {{ background: red }}</style></noscript><body style="margin:0">
        <noscript><div style="{BLOCK};top:0;background:red">no</div></noscript>"""
    png, _ = shot(renderer, html)
    assert (pixels(png) == WHITE).all()


MOVING = f"""<!DOCTYPE html><style>
    @keyframes paint {{ from {{ background: red }} to {{ background: blue }} }}
    div {{ background: green }}
    .once {{ animation: paint 15s linear forwards }}
    .endless {{ animation: paint 0.1s linear infinite }}
    .late {{ animation: paint 5s linear 10s both }}
    .changing {{ background: blue; transition: background 15s; }}
    @starting-style {{ .changing {{ background: red }} }}
    </style><body style="margin:0">
    <div style="{BLOCK};top:0" class="once"></div>
    <div style="{BLOCK};top:50px" class="endless"></div>
    <div style="{BLOCK};top:100px" class="late"></div>
    <div style="{BLOCK};top:150px" class="changing"></div>"""


@pytest.mark.parametrize("framed", [False, True])
def test_finite_animations_are_over_and_endless_ones_are_at_their_start(
    renderer: Renderer, framed: bool
) -> None:
    html = MOVING
    if framed:
        quoted = MOVING.replace('"', "&quot;")
        html = (
            "<!DOCTYPE html><body style='margin:0'>"
            f'<iframe style="border:0;width:300px;height:300px" srcdoc="{quoted}"></iframe>'
        )
    png, flags = shot(renderer, html)
    assert [colour_at(png, 25, y) for y in (25, 75, 125, 175)] == [BLUE, RED, BLUE, BLUE]
    assert flags == set()


@pytest.mark.parametrize("direction", ["left", "right", "up", "down"])
def test_the_text_of_a_marquee_is_there_stands_still_and_keeps_its_style(
    renderer: Renderer, direction: str
) -> None:
    html = f"""<!DOCTYPE html><style>marquee b {{ color: red }}</style><body style="margin:0">
        <marquee direction="{direction}" scrollamount="50" height="80">
        <b style="font:60px sans-serif">███</b></marquee>"""
    with renderer.open(PageSource.from_html(html)) as page:
        first = page.screenshot()
        assert page.screenshot() == first
    assert (pixels(first) == RED).all(axis=2).sum() > 2_000


def test_system_ui_has_the_widths_of_desktop_fonts(renderer: Renderer) -> None:
    fonts = ("system-ui", "Arial", "sans-serif")
    spans = "".join(f"<span style='font:40px {font}'>The quick brown fox</span>" for font in fonts)
    with renderer.open(PageSource.from_html(spans)) as page:
        widths = page.evaluate(
            "[...document.querySelectorAll('span')].map((e) => e.getBoundingClientRect().width)"
        )
    assert widths[0] == widths[1] == widths[2]


def test_a_measuring_script_is_out_of_reach_of_the_page(renderer: Renderer) -> None:
    body = "<h1 style='color:#123456'>Hello</h1><p>World <b>again</b></p><button>ok</button>"
    sabotage = """<script>
        const refuse = () => { throw new Error("mine"); };
        for (const kind of [Document, Element, Node, EventTarget]) {
          for (const name of Object.getOwnPropertyNames(kind.prototype)) {
            try { Object.defineProperty(kind.prototype, name, { get: refuse }); } catch {}
          }
        }
        window.getComputedStyle = refuse;
        JSON.stringify = JSON.parse = Array.prototype.map = Array.prototype.push = () => "mine";
        window.Promise = window.Map = window.Set = window.Math = null;
    </script>"""
    with renderer.open(PageSource.from_html(body)) as page:
        size = page.size
        argument = {"width": size[0], "height": size[1]}
        honest = page.run_script("inventory", argument)
        assert "Hello" in str(honest)
    with hurried(renderer), renderer.open(PageSource.from_html(body + sabotage)) as page:
        assert page.run_script("inventory", argument) == honest
        assert page.size == size
        assert "scripts_off" not in page.flags


def test_a_measuring_script_that_fails_says_which_and_why(renderer: Renderer) -> None:
    with (
        renderer.open(PageSource.from_html("<p>Hello")) as page,
        pytest.raises(RenderError, match=r"'recolor'.*TypeError"),
    ):
        page.run_script("recolor", None)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("whole_browser", [False, True])
@pytest.mark.parametrize("html", ["<script>1</script>one", "<p>one"], ids=["active", "still"])
def test_a_browser_that_dies_fails_its_page_only(
    renderer: Renderer, html: str, whole_browser: bool
) -> None:
    def lose_the_browser() -> None:
        with renderer.open(PageSource.from_html(html)) as page:
            root = renderer.pid
            assert root is not None
            for pid in [root] if whole_browser else _renderer_processes(root):
                kill_tree(pid)
            page.screenshot()

    with pytest.raises(BrowserDiedError):
        lose_the_browser()
    png, flags = shot(renderer, '<body style="background:green">')
    assert (colour_at(png, 5, 5), flags) == (GREEN, set())


def _renderer_processes(root: int) -> list[int]:
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(root)}
    return [pid for pid, command in commands.items() if b"--type=renderer" in command]


def test_a_renderer_works_again_after_it_was_closed(renderer: Renderer) -> None:
    first, _ = shot(renderer, "<p>Hello")
    renderer.close()
    second, _ = shot(renderer, "<p>Hello")
    assert first == second


def test_pages_one_after_the_other_do_not_see_each_other(renderer: Renderer) -> None:
    look = """<body><script>
        const seen = [document.cookie, localStorage.length, sessionStorage.length];
        document.body.style.background = JSON.stringify(seen) === '["",0,0]' ? "green" : "red";
        document.cookie = "a=1"; localStorage.setItem("a", 1); sessionStorage.setItem("a", 1);
    </script>"""
    for _ in range(2):
        assert colour_at(shot(renderer, look)[0], 5, 5) == GREEN


def test_pages_without_scripts_share_a_process_but_no_files(tmp_path: Path) -> None:
    processes = set()
    with Renderer(LIMITS) as renderer:
        for name, colour in (("a", GREEN), ("b", RED), ("c", BLUE)):
            save_square(tmp_path / name / "square.png", colour)
            page = tmp_path / name / "page.html"
            page.write_text(f'<img src="/square.png" style="{BLOCK};top:0"><!-- {name} -->')
            with renderer.open(PageSource.from_file(page)) as shown:
                assert colour_at(shown.screenshot(), 5, 5) == colour
                below = descendants(renderer.pid or 0)
                lines = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in below}
                processes |= {pid for pid, line in lines.items() if b"--type=renderer" in line}
    # The first tab begins on a blank page, whose process is used again or is gone.
    assert len(processes) == 1


def test_what_a_page_makes_the_browser_say_is_not_kept_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Renderer(replace(LIMITS, load_seconds=2)) as renderer:
        shot(renderer, "<p>start<script>1</script>")
        before = _bytes_in(tmp_path)
        shot(renderer, "<p>loud<script>while (true) { alert(1); console.error(1) }</script>")
        assert _bytes_in(tmp_path) < before + 5_000_000


def _bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def dying(monkeypatch: pytest.MonkeyPatch, renderer: Renderer, times: int) -> None:
    """Let the browser die while it shows a page, so many times."""
    left = [times]
    show = Tab.show

    def fatal(tab: Tab, source: PageSource) -> LivePage:
        if left[0] > 0 and renderer.pid is not None:
            left[0] -= 1
            kill_tree(renderer.pid)
        return show(tab, source)

    monkeypatch.setattr(Tab, "show", fatal)


WRITTEN = f"""<body><script>
  document.body.innerHTML = '<div style="{BLOCK};top:0;background:green"></div>';
</script>"""


def test_a_browser_that_dies_once_leaves_no_trace_on_the_page(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = shot(renderer, WRITTEN)
    dying(monkeypatch, renderer, 1)
    assert shot(renderer, WRITTEN) == before
    assert before[1] == set()
    assert colour_at(before[0], 25, 25) == GREEN


def test_a_page_that_takes_two_browsers_down_is_shown_without_scripts(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying(monkeypatch, renderer, 2)
    png, flags = shot(renderer, WRITTEN)
    assert flags == {"crashed", "scripts_off"}
    assert colour_at(png, 25, 25) == WHITE
    assert colour_at(shot(renderer, WRITTEN)[0], 25, 25) == GREEN


@pytest.mark.parametrize(
    "style",
    [
        "animation: late 100000s",
        "opacity: 0; transition: opacity 100000s",
        "opacity: 0; transition: opacity 100000s !important",
    ],
)
def test_animations_that_end_too_late_are_not_shown_at_their_end(
    renderer: Renderer, style: str
) -> None:
    html = f"""<style>@keyframes late {{ from {{ opacity: 0 }} to {{ opacity: 1 }} }}
      div {{ position: absolute; width: 50px; height: 50px; background: red; {style} }}
      div.on {{ opacity: 1 }}</style><div id="d"></div><script>
      requestAnimationFrame(() => requestAnimationFrame(() => {{ d.className = "on" }}))</script>"""
    assert colour_at(shot(renderer, html)[0], 25, 25) == WHITE


def test_what_ends_soon_is_shown_as_it_ends(renderer: Renderer) -> None:
    html = """<style>@keyframes soon { from { opacity: 0 } to { opacity: 1 } }
      div { position: absolute; width: 50px; height: 50px; background: green;
      animation: soon 5s }</style><div></div>"""
    assert colour_at(shot(renderer, html)[0], 25, 25) == GREEN


@pytest.mark.parametrize(
    "leaving",
    [
        '<meta http-equiv="refresh" content="0;url=https://example.org/">',
        "<script>location = 'about:blank'</script>",
        "<script>setTimeout(() => document.location.reload())</script>",
    ],
)
def test_a_page_that_leaves_has_not_crashed(renderer: Renderer, leaving: str) -> None:
    html = f"<!DOCTYPE html><head>{leaving}<body><p>Words</p><script>1</script>"
    with hurried(renderer):
        for _ in range(2):
            assert "crashed" not in shot(renderer, html)[1]
