"""The page as a server shows it: pictures behind links, while a run is going on."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from large_runs import MAKERS
from page_checks import loaded
from playwright.sync_api import expect

from uiproof.engine.rundir import RunDirectory, encode, locked
from uiproof.report.html import Linked, media_type, report_file, report_page

POLICY = "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'"


class Served:
    """Answers as the studio does, under a policy that allows nothing inline."""

    def __init__(self, runs):
        self.runs, self.pictures, self.asked = runs, Linked("/pictures", files_url="/files"), []
        self.state = {"results": 0, "running": True}

    def answer(self, path):
        kind, _, name = path.strip("/").partition("/")
        if kind == "pictures":
            picture = self.pictures.picture(int(name))
            return picture, media_type(picture)
        if kind == "files":
            return report_file(name)
        if kind == "live":
            return json.dumps(self.state), "application/json"
        options = {"pictures": self.pictures, "back_url": "/all?a=1&b=2", "live_url": "/live"}
        return "".join(report_page(self.runs, **options)), "text/html; charset=utf-8"


@pytest.fixture
def serve():
    servers = []

    def start(runs):
        served = Served(runs)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                served.asked.append(self.path)
                content, kind = served.answer(self.path) or (None, "text/plain")
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Security-Policy", f"{POLICY}; connect-src 'self'")
                self.end_headers()
                self.wfile.write(content.encode() if isinstance(content, str) else content or b"")

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return served, f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("benchmark", list(MAKERS))
def test_a_served_page_has_nothing_inline_and_asks_for_pictures_that_are_seen(
    browser, serve, tmp_path, benchmark
):
    run = MAKERS[benchmark](tmp_path / "run", 6, size=(640, 480))
    served, address = serve([run])
    page = browser.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    expect(page.locator("#leaderboard tbody tr")).to_have_count(1)
    expect(page.locator(".back")).to_have_attribute("href", "/all?a=1&b=2")
    asked = [path for path in served.asked if path.startswith("/pictures")]
    assert len(asked) < page.locator("[data-picture]").count()
    opened = page.locator(".card" if benchmark == "design2code" else ".enlarge").first
    opened.scroll_into_view_if_needed()
    opened.click()
    if benchmark == "grounding":
        expect(page.locator("#stage image[href^='/pictures/']")).to_have_count(1)
    else:
        loaded(page, page.locator("#stage img"))
    assert complaints == []
    first = served.pictures.picture(0)
    assert first[8:12] == b"WEBP" or media_type(first) == "image/svg+xml"  # or a chart
    assert served.pictures.picture(10_000) is None
    page.close()


def test_files_of_a_page_are_styles_and_scripts_only():
    assert report_file("report.css")[1] == "text/css"
    assert report_file("report.js")[1] == "text/javascript"
    for name in ("html.py", "template.html", "../report/report.css", "nothing.js", ""):
        assert report_file(name) is None


def test_a_run_that_is_going_on_is_shown_so_far_and_grows(browser, serve, tmp_path):
    finished = MAKERS["design2code"](tmp_path / "run", 4, size=(320, 240))
    records = list(finished.records())
    run = RunDirectory(tmp_path / "run")
    (run.path / "summary.json").unlink()
    manifest = json.loads((run.path / "run.json").read_text()) | {"cases": 4}
    (run.path / "run.json").write_text(json.dumps(manifest))
    run.journal.write_bytes(b"".join(map(encode, records[:2])))
    served, address = serve([run])
    served.state["results"] = 2
    page = browser.new_page()
    with locked(run.path / "lock"):
        page.goto(address)
        badge = page.locator("#leaderboard .running")
        expect(badge).to_have_text("running, 2 of 4 so far")
        first = page.locator(".card").first.locator("img").first.get_attribute("data-picture")
        with run.journal.open("ab") as journal:
            journal.write(encode(records[2]))
        served.state["results"] = 3
        expect(badge).to_have_text("running, 3 of 4 so far", timeout=15_000)
        expect(page.locator(".card")).to_have_count(3)
        numbers = page.locator(".card img").evaluate_all("all => all.map(i => i.dataset.picture)")
        assert first in numbers  # a picture keeps its number
        page.locator("#search").fill("page")  # who has begun something is not disturbed
        served.state["results"] = 4
        expect(page.locator(".live")).to_have_text("Show 1 new", timeout=15_000)
    page.close()


def test_a_run_that_has_nothing_yet_can_be_looked_at(tmp_path):
    for benchmark, make in MAKERS.items():
        run = make(tmp_path / benchmark, 1, size=(320, 240))
        (run.path / "summary.json").unlink()
        run.journal.write_bytes(b"")
        page = "".join(report_page([run], pictures=Linked("/pictures")))
        assert '"n":0' in page
