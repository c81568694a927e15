"""Every clock and random source of the platform is deterministic."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from uiproof.browser import PageSource, Renderer

# Expressions, plain or promised, that tell a moment, chance or the machine.
SOURCES = {
    "Date": "[Date.now(), new Date().toISOString(), Date(), new Date().constructor.now()]",
    "Temporal": "typeof Temporal === 'undefined' ? 0 : ['instant', 'zonedDateTimeISO',"
    " 'plainDateTimeISO', 'plainDateISO', 'plainTimeISO'].map((name) => `${Temporal.Now[name]()}`)",
    "Intl": "[new Intl.DateTimeFormat('en').format(),"
    " new Intl.DateTimeFormat('en', {timeStyle: 'long'}).formatToParts().map((p) => p.value)]",
    "performance": "[performance.now(), performance.timeOrigin, performance.toJSON(),"
    " performance.timing.toJSON(), performance.timing.domLoading, performance.memory]",
    "marks": "[performance.mark('a').startTime, performance.measure('m').duration,"
    " performance.measure('n', 'a').startTime,"
    " performance.measure('o', 'navigationStart').duration,"
    " performance.getEntries().map((e) => [e.name, e.startTime, e.duration])]",
    "observers": "new Promise((done) => { const seen = [];"
    " new PerformanceObserver((list) => seen.push(...list.getEntries()))"
    ".observe({entryTypes: ['mark', 'resource', 'navigation', 'paint']});"
    " performance.mark('z');"
    " setTimeout(() => done(seen.map((e) => [e.name, e.startTime])), 100) })",
    "events": "[new Event('x').timeStamp, document.timeline.currentTime]",
    "file": "[new File([], 'a').lastModified, new File([], 'b', {lastModified: 5}).lastModified,"
    " (() => { const form = new FormData(); form.append('x', new Blob());"
    " return form.get('x').lastModified })()]",
    "documents": "[document.lastModified,"
    " document.implementation.createHTMLDocument().lastModified,"
    " new DOMParser().parseFromString('<a/>', 'text/xml').lastModified]",
    "blob": "URL.createObjectURL(new Blob(['hi'], {type: 'text/plain'}))",
    "chance": "[Math.random(), crypto.randomUUID(),"
    " [...crypto.getRandomValues(new Uint8Array(4))]]",
    "keys": "crypto.subtle.generateKey({name: 'AES-GCM', length: 256}, true, ['encrypt'])"
    ".then((key) => crypto.subtle.exportKey('raw', key)).then((raw) => [...new Uint8Array(raw)])",
    "hmac": "crypto.subtle.generateKey({name: 'HMAC', hash: 'SHA-256'}, true, ['sign'])"
    ".then((key) => crypto.subtle.exportKey('raw', key)).then((raw) => [...new Uint8Array(raw)])",
    "names": "[new MediaStream().id]",
    "svg": "document.createElementNS('http://www.w3.org/2000/svg', 'svg').getCurrentTime()",
    "sound": "new AudioContext().currentTime",
    "machine": "[navigator.hardwareConcurrency, navigator.deviceMemory, navigator.onLine,"
    " navigator.connection && [navigator.connection.rtt, navigator.connection.downlink],"
    " 'getBattery' in navigator, 'gpu' in navigator, speechSynthesis.getVoices().length]",
    "disk": "navigator.storage.estimate()",
    "memory": "new Promise((done) => { let freed = 0;"
    " const watch = new FinalizationRegistry(() => freed++);"
    " for (let i = 0; i < 1e5; i++) watch.register({ i: new Array(9) });"
    " setTimeout(() => done(freed), 500) })",
}
# Calls that come back after a while: by the page's clock.
DELAYS = {
    "timeout": "setTimeout(done, 300)",
    "signal": "AbortSignal.timeout(300).onabort = done",
    "task": "scheduler.postTask(done, {delay: 300})",
    "shared memory": "Atomics.waitAsync(new Int32Array("
    "new WebAssembly.Memory({initial: 1, maximum: 1, shared: true}).buffer), 0, 0, 300)"
    ".value.then(done)",
}


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


def values_in(renderer: Renderer, expressions: dict[str, str], *, stage: bool = False) -> Any:
    """Return the values of expressions in a page, by name."""
    asked = ",".join(f"[{json.dumps(name)}, async () => ({e})]" for name, e in expressions.items())
    html = f"""<!DOCTYPE html><p id="p"></p><script>
      (async () => {{
        const found = {{}};
        for (const [name, ask] of [{asked}]) {{
          try {{ found[name] = await ask() }} catch (error) {{ found[name] = `failed: ${{error}}` }}
        }}
        p.textContent = JSON.stringify(found);
      }})();
    </script>"""
    source = PageSource.from_html(html)
    if stage:
        with renderer.stage(source) as page:
            page.screenshot()
            return json.loads(page._evaluate("p.textContent"))
    with renderer.open(source) as page:
        return json.loads(page.evaluate("p.textContent"))


def test_no_source_of_time_or_chance_differs_between_two_moments(renderer: Renderer) -> None:
    first = values_in(renderer, SOURCES)
    time.sleep(1.1)
    again = values_in(renderer, SOURCES)
    assert first == again
    assert [name for name, value in first.items() if str(value).startswith("failed")] == []
    assert first["Date"][1].startswith("2025-03-18T10:24:37")
    assert first["file"] == [first["Date"][0], 5, first["Date"][0]]
    assert first["machine"][:3] == [4, 8, True]


def test_the_same_in_another_browser(renderer: Renderer) -> None:
    with Renderer() as other:
        assert values_in(renderer, SOURCES) == values_in(other, SOURCES)


@pytest.mark.parametrize("name", DELAYS)
def test_a_delay_is_one_of_the_pages_own_clock(renderer: Renderer, name: str) -> None:
    waited = f"new Promise((done) => {{ {DELAYS[name]} }}).then(() => performance.now())"
    assert values_in(renderer, {name: waited}) == {name: 300}


def test_a_page_that_waits_in_a_loop_comes_to_an_end(renderer: Renderer) -> None:
    waits = {
        "Date": "(() => { const t = Date.now(); while (Date.now() - t < 50); return t })()",
        "performance": "(() => { const t = performance.now();"
        " while (performance.now() - t < 50); return performance.now() })()",
    }
    assert values_in(renderer, waits) == values_in(renderer, waits)


def test_a_blob_works_by_its_address(renderer: Renderer) -> None:
    html = """<p id="p"></p><img id="i"><script>
      const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="5"/>';
      i.src = URL.createObjectURL(new Blob([svg], {type: "image/svg+xml"}));
      fetch(URL.createObjectURL(new Blob(["\\u00e9\\u{1f600}"]))).then((r) => r.text())
        .then((text) => { p.textContent = text });
    </script>"""
    with renderer.open(PageSource.from_html(html)) as page:
        assert page.evaluate("[p.textContent, i.naturalWidth]") == ["é😀", 7]


# Traces by which pages recognise an automated browser, and the values of a desktop.
TRACES = {
    "Object.getOwnPropertySymbols(window).length": 0,
    "Object.getOwnPropertyNames(window).filter((n) => /uiproof|playwright|driver/i.test(n))": [],
    "navigator.webdriver": False,
    "/Headless/.test(navigator.userAgent + JSON.stringify(navigator.userAgentData))": False,
    "location.protocol": "https:",
    r"/^www\.[a-z]+\.com$/.test(location.hostname)": True,
    "isSecureContext": True,
    "typeof chrome": "object",
    "navigator.plugins.length": 5,
    "navigator.plugins instanceof PluginArray": True,
    "navigator.languages": ["en-US", "en"],
    "outerWidth >= innerWidth && outerHeight > innerHeight && outerHeight <= screen.height": True,
    "screen.availHeight < screen.height && outerHeight <= screen.availHeight": True,
    "Notification.permission": "default",
    "speechSynthesis.getVoices().map((voice) => voice.lang)": ["en-US"],
    "navigator.getBattery().then((one) => [one.level, one instanceof EventTarget])": [1, True],
    "['hover', 'any-hover'].filter((n) => !matchMedia(`(${n}: hover)`).matches)": [],
    "['pointer', 'any-pointer'].filter((n) => !matchMedia(`(${n}: fine)`).matches)": [],
    "navigator.maxTouchPoints": 0,
    "document.adoptedStyleSheets.length": 0,
    "document.documentElement.getAttributeNames()": [],
    "document.hasFocus() && document.visibilityState": "visible",
    "'onLine' in navigator && navigator.onLine": True,
    "[setTimeout, Date, Date.now, Math.random, performance.now, alert, open, fetch,"
    " Function.prototype.toString, File, URL.createObjectURL].filter("
    "(f) => !/^function \\w+\\(\\) { \\[native code\\] }$/.test(f))": [],
    "setTimeout.name + setTimeout.length": "setTimeout1",
    "performance.now() % 1 === 0 && performance.now() % 1 === 0": False,
    "Object.getOwnPropertyDescriptor(Navigator.prototype, 'webdriver').get.name": "get webdriver",
}


@pytest.mark.parametrize("stage", [False, True], ids=["looked at", "acted on"])
def test_a_page_cannot_tell_that_it_is_judged(renderer: Renderer, stage: bool) -> None:
    assert values_in(renderer, {name: name for name in TRACES}, stage=stage) == TRACES


CHANCE = """<p id=p></p><iframe srcdoc="<script>parent.kept = Math.random()</script>"></iframe>
<script>onload = () => { p.textContent = JSON.stringify([Math.random(), kept]) }</script>"""


def test_no_page_can_know_its_random_numbers(renderer: Renderer) -> None:
    def drawn(source: PageSource) -> list[float]:
        with renderer.open(source) as page:
            drawn: list[float] = json.loads(page.evaluate("p.textContent"))
            return drawn

    page, edited = (PageSource.from_html(html) for html in (CHANCE, CHANCE + "<!-- edited -->"))
    assert drawn(page) == drawn(page)
    # Neither the page nor a frame of it.
    assert not set(drawn(page)) & set(drawn(edited))
    # A page has the random numbers of the reference that it is compared with.
    assert drawn(replace(edited, seed=page.html)) == drawn(page)


def test_no_page_can_know_its_own_origin(renderer: Renderer) -> None:
    origin = values_in(renderer, {"o": "location.origin"})["o"]
    assert values_in(renderer, {"o": "location.origin"})["o"] == origin
    assert values_in(renderer, {"o": f"location.origin === '{origin}'"})["o"] is False


POINTED = """<!DOCTYPE html><style>body{margin:0}nav{height:200px}nav:hover{background:red}</style>
<nav>Nav</nav><p id="p"></p><script>
  for (const type of ["mouseover", "mousemove", "mouseenter", "pointerover", "pointermove",
                      "pointerenter", "mouseout", "mousedown", "touchstart", "wheel"])
    addEventListener(type, (event) => { p.textContent += type }, true);
</script>"""


@pytest.mark.parametrize("html", [POINTED, POINTED.split("<script>")[0]], ids=["scripts", "still"])
def test_no_pointer_is_on_a_page_before_its_first_act(html: str) -> None:
    hovered = "[p.textContent, document.querySelector('nav').matches(':hover')]"
    source = PageSource.from_html(html)
    with Renderer() as renderer:  # the first page of a browser is where it happened
        pictures = set()
        for _ in range(3):
            with renderer.open(source) as page:
                pictures.add(page.screenshot())
                assert page.evaluate(hovered) == ["", False]
            with renderer.stage(source) as stage:
                pictures.add(stage.screenshot())
                stage.settle()
                text = stage.find("#p")
                assert text is not None
                assert text.text == ""
                pictures.add(stage.screenshot())
    assert len(pictures) == 1
