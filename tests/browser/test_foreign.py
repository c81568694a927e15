"""Requests to other hosts are answered from frozen copies, refused otherwise, and logged."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from browser_tools import BLUE, GREEN, RED, WHITE, colour_at, shot

from uiproof.browser import PageSource, Renderer
from uiproof.browser.foreign import MAX_ADDRESSES, MAX_ERRORS
from uiproof.browser.snapshots import Action
from uiproof.web import Answer, FrozenWeb

CDN = "https://cdn.jsdelivr.net/npm"
FONT = Path(__file__).parents[2] / "src/uiproof/demo/design2code/reference/teashop.woff2"
PICTURE = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">'
    b'<path fill="#008000" d="M0 0h20v20H0"/></svg>'
)
STYLE = b"body{margin:0;background:#008000}"
SCRIPT = b"document.body.style.background = 'rgb(0,128,0)'"
MODULE = b"export const colour = 'rgb(0,128,0)'"


class Copies(FrozenWeb):
    """A frozen web of a few files that records requested URLs."""

    digest = "copies"
    system_fonts: list[bytes] = []  # noqa: RUF012

    def __init__(self, files: Mapping[str, Answer]) -> None:
        self.files, self.asked = files, list[str]()

    def answer(self, url: str) -> Answer | None:
        self.asked.append(url)
        return self.files.get(url)


def copy(body: bytes, kind: str, *, note: str = "") -> Answer:
    return Answer(body, kind, "frozen", note=note)


WEB = Copies(
    {
        f"{CDN}/style.css": copy(STYLE, "text/css"),
        f"{CDN}/imports.css": copy(b"@import 'style.css'", "text/css"),
        f"{CDN}/script.js": copy(SCRIPT, "text/javascript"),
        f"{CDN}/standin.js": copy(SCRIPT, "text/javascript", note="2.0.0 instead of 1.0.0"),
        f"{CDN}/module.js": copy(MODULE, "text/javascript"),
        f"{CDN}/fails.js": copy(
            b"function f() { throw new TypeError('odd') }; f()", "text/javascript"
        ),
        f"{CDN}/data.json": copy(b'{"colour": "rgb(0,128,0)"}', "application/json"),
        f"{CDN}/font.woff2": copy(FONT.read_bytes(), "font/woff2"),
        f"{CDN}/page.html": copy(b"<body style='background:red'>", "text/html"),
        "https://picsum.photos/20": Answer(PICTURE, "image/svg+xml", "placeholder"),
        "https://fonts.googleapis.com/css2?family=Nowhere": copy(
            b"", "text/css", note="not available: Nowhere"
        ),
    }
)


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer(web=WEB) as renderer:
        yield renderer


def page(markup: str) -> PageSource:
    return PageSource.from_html(f"<!DOCTYPE html><meta charset=utf-8><body>{markup}")


def sri(body: bytes) -> str:
    return f"sha384-{b64encode(hashlib.sha384(body).digest()).decode()}"


@pytest.mark.parametrize(
    "markup",
    [
        f"<link rel=stylesheet href={CDN}/style.css>",
        f"<link rel=stylesheet href={CDN}/imports.css>",
        "<link rel=stylesheet href=//cdn.jsdelivr.net/npm/style.css>",
        "<link rel=stylesheet href=http://cdn.jsdelivr.net/npm/style.css>",
        f"<style>@import url({CDN}/style.css)</style>",
        "<style>body{background:url(https://picsum.photos/20)}</style>",
        f"<script src={CDN}/script.js></script>",
        f"<script src={CDN}/script.js crossorigin integrity={sri(SCRIPT)}></script>",
        f"<script src={CDN}/standin.js crossorigin integrity='{sri(b'another version')}'></script>",
        f"<script type=module>import {{ colour }} from '{CDN}/module.js';"
        "document.body.style.background = colour</script>",
        f'<script type=importmap>{{"imports": {{"m": "{CDN}/module.js"}}}}</script>'
        "<script type=module>import { colour } from 'm'; document.body.style.background = colour"
        "</script>",
        f"<script>fetch('{CDN}/data.json').then((r) => r.json()).then((found) => "
        "setTimeout(() => document.body.style.background = found.colour, 100))</script>",
        f"<script>setTimeout(() => import('{CDN}/module.js').then((m) => "
        "setTimeout(() => document.body.style.background = m.colour, 300)), 900)</script>",
        f"<script>setTimeout(() => document.head.append(Object.assign(document.createElement("
        f"'script'), {{src: '{CDN}/script.js'}})), 400)</script>",
    ],
)
def test_a_page_gets_what_it_asks_for_however_it_asks(renderer: Renderer, markup: str) -> None:
    pictures = set()
    for _ in range(2):
        with renderer.open(page(markup)) as shown:
            pictures.add(shown.screenshot())
            assert not shown.flags
            asked = shown.web.as_json()
    assert len(pictures) == 1
    assert colour_at(pictures.pop(), 640, 360) == GREEN
    assert sum(len(files) for files in asked.values()) >= 1


def test_fonts_are_there_before_the_picture_is_taken(renderer: Renderer) -> None:
    face = f"@font-face{{font-family:F;src:url({CDN}/font.woff2)}}p{{font:60px F,monospace}}"
    fallback, _ = shot(renderer, "<style>p{font:60px monospace}</style><p>Hamburg")
    for script in ("", "<script>1</script>"):  # tabs with and without scripts
        png, flags = shot(renderer, f"<style>{face}</style><p>Hamburg{script}")
        assert png != fallback
        assert not flags


def test_pages_that_share_a_tab_are_told_apart(renderer: Renderer) -> None:
    """Nothing comes from a cache that an earlier page has filled."""
    markup = f"<link rel=stylesheet href={CDN}/style.css><img src=https://picsum.photos/20>"
    for _ in range(2):
        with renderer.open(page(markup)) as shown:
            assert shown.web.as_json() == {
                "frozen": [["style", f"{CDN}/style.css"]],
                "placeholder": [["picture", "https://picsum.photos/20"]],
            }
    with renderer.open(page("<p>Nothing")) as shown:
        assert shown.web.as_json() == {}
        assert colour_at(shown.screenshot(), 640, 360) == WHITE


@pytest.mark.parametrize(
    ("markup", "kind", "flags"),
    [
        ("<link rel=stylesheet href=https://a.test/x.css>", "style", {"incomplete"}),
        ("<script src=https://a.test/x.js></script>", "script", {"incomplete"}),
        ("<img src=https://a.test/x.png>", "picture", set()),
        (
            "<style>@font-face{font-family:F;src:url(https://a.test/f.woff2)}p{font-family:F}"
            "</style><p>Text",
            "font",
            {"fonts_missing"},
        ),
        (
            "<link rel=stylesheet href=https://fonts.googleapis.com/css?family=X>",
            "font",
            {"fonts_missing"},
        ),
    ],
)
def test_missing_files_are_flagged_by_what_they_are_for(
    renderer: Renderer, markup: str, kind: str, flags: set[str]
) -> None:
    with renderer.open(page(markup)) as shown:
        ((found, address),) = shown.web.as_json()["missing"]
        assert (found, shown.flags) == (kind, flags | {"requests_blocked"})
        assert address in markup


def test_a_family_that_is_not_there_is_flagged(renderer: Renderer) -> None:
    sheet = "<link rel=stylesheet href=https://fonts.googleapis.com/css2?family=Nowhere>"
    _, flags = shot(renderer, sheet)
    assert flags == {"fonts_missing"}


def test_a_hash_that_does_not_fit_the_very_file_keeps_it_out(renderer: Renderer) -> None:
    """Every browser would refuse it, so a person would not have seen it either."""
    wrong = f"<script src={CDN}/script.js crossorigin integrity={sri(b'other')}></script>"
    png, flags = shot(renderer, wrong)
    assert colour_at(png, 640, 360) == WHITE
    assert "integrity_mismatch" in flags


@pytest.mark.parametrize(
    "address",
    [
        "https://user:secret@cdn.jsdelivr.net/npm/script.js",
        "https://cdn.jsdelivr.net:8443/npm/script.js",
        "https://cdn.jsdelivr.net:443@evil.test/npm/script.js",
        "https://cdn.jsdelivr.net.evil.test/npm/script.js",
        "https://cdn.jsdelivr.net/npm/../../etc/passwd",
        "https://cdn.jsdelivr.net/npm/%2e%2e/%2e%2e/etc/passwd",
        "https://cdn.jsdelivr.net/npm/script.js?" + "stolen" * 4_000,
        "ftp://cdn.jsdelivr.net/npm/script.js",
    ],
)
def test_odd_addresses_get_nothing(renderer: Renderer, address: str) -> None:
    png, flags = shot(renderer, f"<body style='background:#fff'><script src='{address}'></script>")
    assert colour_at(png, 640, 360) == WHITE
    assert flags <= {"requests_blocked", "incomplete"}
    assert not any(word in url for url in WEB.asked for word in ("secret", "stolen", ":8443"))


def test_only_reading_is_answered_and_frames_stay_empty(renderer: Renderer) -> None:
    before = len(WEB.asked)
    markup = f"""<iframe src={CDN}/page.html></iframe><object data={CDN}/page.html></object><script>
      fetch("{CDN}/data.json", {{ method: "POST", body: "stolen" }});
      fetch("{CDN}/other.json", {{ headers: {{ "x-stolen": "yes" }} }});
      navigator.sendBeacon("{CDN}/data.json", "stolen");
      new WebSocket("wss://cdn.jsdelivr.net/npm/data.json");
      new EventSource("{CDN}/none");
    </script>"""
    with renderer.open(page(markup)) as shown:
        png, asked = shown.screenshot(), shown.web.as_json()
    assert RED not in {colour_at(png, x, y) for x in range(10, 900, 40) for y in range(10, 160, 10)}
    assert "frozen" not in asked
    assert ["other", f"{CDN}/data.json"] in asked["refused"]
    assert ["other", f"{CDN}/page.html"] in asked["refused"]
    assert WEB.asked[before:] == [f"{CDN}/none"]


def test_the_account_of_a_page_is_bounded(renderer: Renderer) -> None:
    many = "".join(f"<img src='https://a.test/{n}/{'x' * 999}.png'>" for n in range(100))
    throw = "setTimeout(() => { throw Error(`${n}`.repeat(999)) })"
    errors = f"<script>for (let n = 0; n < 999; n++) {throw}</script>"
    with renderer.open(page(many + errors)) as shown:
        asked = shown.web.as_json()
    assert len(asked["missing"]) == MAX_ADDRESSES
    assert asked["left_out"] == {"missing": 100 - MAX_ADDRESSES}
    assert 0 < len(asked["errors"]) <= MAX_ERRORS
    assert max(len(text) for _, text in asked["missing"]) <= 300
    assert max(map(len, asked["errors"])) <= 300


def test_errors_of_scripts_are_told_also_those_that_pages_may_not_see(renderer: Renderer) -> None:
    markup = f"""<script>window.onerror = (message) => {{ document.title = message }}</script>
      <script src={CDN}/fails.js></script><script>
      console.error("%s is deprecated", "render", 3); Promise.reject(new RangeError("late"));
      null.x</script>"""
    with renderer.open(page(markup)) as shown:
        assert shown.flags == {"script_errors"}
        told = "\n".join(shown.web.as_json()["errors"])
    for text in ("TypeError: odd", "render is deprecated 3", "RangeError: late", "null"):
        assert text in told


def test_a_page_that_is_acted_on_gets_them_too(renderer: Renderer) -> None:
    markup = f"""<button onclick="import('{CDN}/module.js').then((m) =>
      setTimeout(() => document.body.style.background = m.colour, 200))">Go</button>
      <link rel=stylesheet href=https://a.test/x.css><script src={CDN}/fails.js></script>"""
    pictures = set()
    for _ in range(2):
        with renderer.stage(page(markup)) as stage:
            assert stage.flags == {"incomplete", "requests_blocked", "script_errors"}
            button = stage.find("button")
            assert button is not None
            assert stage.act(button, Action("click")) is None
            stage.settle()
            pictures.add(stage.screenshot())
            asked = stage.web.as_json()
    assert len(pictures) == 1
    assert colour_at(pictures.pop(), 640, 360) == GREEN
    assert ["script", f"{CDN}/module.js"] in asked["frozen"]
    assert "TypeError: odd" in asked["errors"][0]


def test_answers_arrive_while_the_clock_stands(renderer: Renderer) -> None:
    """Which of two comes first, an answer or a timer, never depends on the machine."""
    race = f"""<script>
      const order = [];
      setTimeout(() => {{
        fetch("{CDN}/data.json").then(() => order.push("answer"));
        for (let n = 1; n < 40; n++) setTimeout(() => order.push(n), n);
      }}, 10);
      setTimeout(() => {{ document.body.textContent = order.join(" ") }}, 900);
    </script>"""
    assert len({shot(renderer, race)[0] for _ in range(3)}) == 1


def test_a_script_that_stands_still_for_an_answer_gets_it(renderer: Renderer) -> None:
    png, flags = shot(
        renderer,
        f"""<body><script>setTimeout(() => {{
          const request = new XMLHttpRequest();
          request.open("GET", "{CDN}/data.json", false);
          request.send();
          document.body.style.background = JSON.parse(request.responseText).colour;
        }}, 100)</script>""",
    )
    assert colour_at(png, 640, 360) == GREEN
    assert not flags


def test_without_a_frozen_web_nothing_is_answered() -> None:
    with Renderer() as bare:
        png, flags = shot(bare, f"<script src={CDN}/script.js></script>")
    assert colour_at(png, 640, 360) not in {GREEN, BLUE}
    assert flags == {"incomplete", "requests_blocked"}
