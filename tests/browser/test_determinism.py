"""The same page gives the same bytes: now, later, in another browser, in another process."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_tools import BLUE, GREEN, colour_at, pixels, shot
from PIL import Image

from uiproof.browser import PageSource, Renderer

RESTLESS = """<!DOCTYPE html><html><head><style>
  @keyframes slide { to { transform: translateX(300px) } }
  .a { width: 40px; height: 40px; background: teal; animation: slide 0.7s infinite alternate }
  .b { width: 40px; height: 40px; background: navy; transition: width 3s }
</style></head><body>
<pre id="log"></pre><p id="ticks"></p><p id="frames"></p>
<canvas id="noise" width="80" height="40"></canvas>
<div class="a"></div><div class="b"></div>
<marquee>never still</marquee><marquee behavior="alternate" direction="up">nor this</marquee>
<input autofocus value="blinking caret"><progress></progress>
<svg width="200" height="40"><circle cx="20" cy="20" r="15">
  <animate attributeName="cx" values="20;180;20" dur="0.9s" repeatCount="indefinite"/>
</circle></svg>
<iframe srcdoc="<marquee>framed</marquee><p id=t></p><script>
  setInterval(() => { t.textContent = Date.now() + ' ' + Math.random(); }, 7)</script>"></iframe>
<script>
  const say = (...values) => { log.textContent += values.join(" ") + "\\n"; };
  say(Date.now(), new Date(), new Date().toLocaleString(), new Intl.DateTimeFormat().format());
  say(Math.random(), Math.random(), performance.now(), performance.timeOrigin);
  say(crypto.getRandomValues(new Uint32Array(3)), crypto.randomUUID?.());
  say(document.lastModified, performance.timing.navigationStart, document.timeline.currentTime);
  say(performance.getEntriesByType("navigation").map((entry) => entry.duration));
  say(navigator.language, new Date().getTimezoneOffset(), innerWidth, devicePixelRatio);
  let count = 0;
  setInterval(() => { ticks.textContent = `${++count} ${Date.now()} ${performance.now()}`; }, 3);
  requestAnimationFrame(function frame(at) {
    frames.textContent = `${at} ${Math.random()}`;
    requestAnimationFrame(frame);
  });
  addEventListener("load", (event) => say("loaded", event.timeStamp, Date.now()));
  setTimeout(() => { document.querySelector(".b").style.width = "400px"; }, 10);
  Promise.resolve().then(() => say("promised", Math.random()));
  const paint = noise.getContext("2d");
  for (let x = 0; x < 80; x++) {
    paint.fillStyle = `hsl(${Math.random() * 360} 80% 50%)`;
    paint.fillRect(x, 0, 1, 40);
  }
  try { new Worker(URL.createObjectURL(new Blob(["postMessage(Date.now())"]))).onmessage =
    (event) => say(event.data); } catch (error) { say(error.name); }
</script></body></html>"""

STILL = RESTLESS[: RESTLESS.index("<iframe")]  # moves by style only, so it shares a tab

IN_ANOTHER_PROCESS = """
import hashlib, sys
from uiproof.browser import PageSource, Renderer
with Renderer() as renderer:
    for page in sys.argv[1:]:
        with renderer.open(PageSource.from_html(page)) as opened:
            print(hashlib.sha256(opened.screenshot()).hexdigest())
"""


def digest(png: bytes) -> str:
    return hashlib.sha256(png).hexdigest()


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


@pytest.mark.parametrize("html", [RESTLESS, STILL], ids=["restless", "still"])
def test_a_restless_page_looks_the_same_every_time_and_stays_so(
    renderer: Renderer, html: str
) -> None:
    with renderer.open(PageSource.from_html(html)) as page:
        first = page.screenshot()
        time.sleep(1.2)  # longer than a caret's blink and every animation above
        assert digest(page.screenshot()) == digest(first)
    again, flags = shot(renderer, html)
    assert digest(again) == digest(first)
    assert flags == set()


def test_another_process_gives_the_same_bytes(renderer: Renderer) -> None:
    pages = [RESTLESS, STILL]
    printed = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS, *pages],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert printed.stdout.split() == [digest(shot(renderer, page)[0]) for page in pages]


def test_what_was_shown_before_leaves_no_trace(renderer: Renderer, tmp_path: Path) -> None:
    clean, _ = shot(renderer, STILL)
    shot(renderer, '<style>@page{size:a5}</style><body style="zoom:3;height:5000px" onscroll="1">x')
    shot(renderer, '<!DOCTYPE html><div style="width:3000px;height:4000px;background:red">')
    assert digest(shot(renderer, STILL)[0]) == digest(clean)


def test_what_waits_until_it_is_in_sight_is_always_there(renderer: Renderer) -> None:
    html = """<style>
      div { opacity: 0 }
      div.seen { opacity: 1; background: green; height: 50px }
    </style>
    <div></div><script>
      const watch = new IntersectionObserver(([{ isIntersecting, target }]) => {
        if (isIntersecting) setTimeout(() => target.classList.add("seen"), 300);
      });
      watch.observe(document.querySelector("div"));
    </script>"""
    for _ in range(15):
        png, _ = shot(renderer, html)
        assert colour_at(png, 25, 25) == GREEN


def test_a_page_sees_the_same_screen_everywhere(renderer: Renderer) -> None:
    html = """<body><script>
      const seen = [screen.width, screen.height, innerWidth, innerHeight, devicePixelRatio];
      const as_ever = String(seen) === "1280,840,1280,720,1" && navigator.language === "en-US";
      document.body.style.background = as_ever && navigator.onLine ? "green" : "red";
    </script>"""
    assert colour_at(shot(renderer, html)[0], 25, 25) == GREEN


ROUND = (
    '<div style="width:230px;margin:9px;border-radius:9px;overflow:hidden;background:red">{}</div>'
)
SHOWN = 'src="blue.png" style="width:230px;height:160px;display:block"'
IN_A_BOX = ROUND.format(f"<img {SHOWN}>")


@pytest.mark.parametrize("above", [0, 1500], ids=["in the window", "below the window"])
@pytest.mark.parametrize(
    "html",
    [
        IN_A_BOX,
        ROUND.format('<div style="background:url(blue.png);height:160px"></div>'),
        ROUND.format(f"<input type=image {SHOWN}>"),
        ROUND.format(
            "<video poster=blue.png "
            "style=width:230px;height:160px;object-fit:cover;display:block></video>"
        ),
        f"<iframe style='border:0;height:220px' srcdoc='{IN_A_BOX}'></iframe>",
        "<p id=host></p><script>host.attachShadow({mode: 'open'}).innerHTML = "
        f"'{IN_A_BOX}'</script>",
    ],
    ids=["img", "background", "input", "poster", "frame", "shadow"],
)
def test_the_background_behind_a_picture_never_shows_at_its_edges(
    renderer: Renderer, tmp_path: Path, html: str, above: int
) -> None:
    # Whether it shows depends on whether the picture is decoded when the page is painted.
    Image.new("RGB", (230, 160), BLUE).save(tmp_path / "blue.png")
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><body style='margin:0;padding-top:{above}px'>{html}")
    for picture in (shot(renderer, page)[0], _on_a_stage(renderer, page)):
        found = pixels(picture)
        assert (found[:, :, 2] == 255).all(), "only white and blue, and what is between"
        assert (found == BLUE).all(axis=2).any()


def _on_a_stage(renderer: Renderer, page: Path) -> bytes:
    with renderer.stage(PageSource.from_file(page)) as stage:
        return stage.screenshot()
