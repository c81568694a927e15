"""A generated page that tries everything to get out, in a real browser."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from annotate_runs import PAGE, make_run
from playwright.sync_api import expect
from studio_server import running_studio

from uiproof.studio.annotating.tasks import judge_items
from uiproof.studio.browsing.runs import open_run
from uiproof.studio.labelling import labels
from uiproof.studio.labels import Judgement


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
    }
    with running_studio(tmp_path_factory.mktemp("hostile") / "runs") as server:
        folder = server.studio.runs
        for name, html in pages.items():
            make_run(folder / name, {"shop/1": html})
            items = judge_items([open_run(folder, name)])
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
