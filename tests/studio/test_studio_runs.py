"""The list of runs and the report's view of them, in a real Chromium, while real runs go on."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from going_runs import going_run
from playwright.sync_api import expect
from studio_server import running_studio

from page_looks import barriers

sys.path.append(str(Path(__file__).parents[1] / "report"))

from page_checks import HOSTILE
from report_runs import failed, make_run, scored

CASES = [scored("one", 0.9), scored("two", 0.4), failed("three")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A studio that several tests look at; each makes runs in a folder of its own."""
    folder = tmp_path_factory.mktemp("studio") / "runs"
    make_run(folder / "first", CASES, created="2026-01-01T00:00:00+00:00")
    make_run(folder / "second", CASES[:2], method="other", created="2026-01-02T00:00:00+00:00")
    with running_studio(folder) as server:
        yield server


def row(page, text):
    return page.locator("tr", has=page.get_by_text(text, exact=True))


def test_the_list_follows_a_run_that_is_going_on(look, studio):
    runs = studio.studio.runs
    make_run(runs / "done", CASES)
    with going_run(runs / "live", "a b c mute d e") as going:
        page = look(studio)
        live = row(page, "waiting")
        expect(live.locator(".state")).to_have_text("running")
        expect(live.locator(".cases-cell")).to_have_text("0 of 6")
        live.get_by_role("checkbox").check()
        going.finish(4)
        expect(live.locator(".count")).to_have_text("4 of 6", timeout=20_000)
        expect(live.locator(".failed")).to_have_text("1 failed")
        expect(live.locator(".metric-cell")).to_contain_text("Same", timeout=20_000)
        expect(live.locator(".pace")).to_contain_text("a minute")
        expect(live.locator("progress")).to_have_attribute("value", "4")
        expect(live.get_by_role("checkbox")).to_be_focused()
        with going_run(runs / "newer", "a b", name="newcomer"):
            expect(row(page, "newcomer").locator(".state")).to_have_text("running", timeout=20_000)
            expect(live.get_by_role("checkbox")).to_be_checked()
            expect(live.get_by_role("checkbox")).to_be_focused()
        going.finish(2)
        expect(live.locator(".state")).to_have_text("finished", timeout=20_000)
        expect(live.locator(".mean")).to_have_text("0.833")
        expect(live.locator(".count")).to_have_text("6")
        expect(page.locator("#poller")).to_have_attribute("hx-trigger", "every 10s")


def test_a_run_can_be_looked_at_while_it_is_going_on(look, studio):
    client = studio.client()
    with going_run(studio.studio.runs / "live", "a b c d") as going:
        going.finish(1)
        page = look(studio)
        expect(row(page, "waiting").locator(".count")).to_have_text("1 of 4", timeout=20_000)
        row(page, "waiting").get_by_role("link").click()
        expect(page.locator("#leaderboard")).to_contain_text("1 of 4 so far")
        assert client.get("/runs/state?run=live").json() == {"results": 1, "running": True}
        page.locator("main input").first.fill("a")  # whoever searches is not interrupted
        going.finish(1)
        page.get_by_role("button", name="new").click(timeout=20_000)
        expect(page.locator("#leaderboard")).to_contain_text("2 of 4 so far")
        going.finish(2)
        going.thread.join(60)
    assert client.get("/runs/state?run=live").json() == {"results": 4, "running": False}
    page.reload()
    expect(page.locator("#subtitle")).to_contain_text("4 results")
    expect(page.locator("#leaderboard")).not_to_contain_text("so far")
    page.get_by_role("link", name="All runs").click()
    expect(page).to_have_url(f"{studio.url}/runs")


def test_two_runs_are_chosen_with_the_keyboard_and_compared(look, place):
    page = look(place)
    page.locator("tbody input").first.focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="View this run")).to_be_enabled()
    page.keyboard.press("Tab")  # the link of this run
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Compare 2 runs").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{place.url}/runs/view?run=second&run=first")
    names = page.locator("#leaderboard tbody th")
    expect(names).to_have_text(["other", "blueprint"])
    with page.expect_response(lambda answer: "/runs/pictures/" in answer.url) as loaded:
        page.locator("[data-picture]").first.scroll_into_view_if_needed()
    assert loaded.value.headers["content-type"] == "image/webp"  # the worst pages come first
    picture = page.locator("img[src*='/runs/pictures/']").first
    assert picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0


def test_the_filter_hides_what_has_not_all_of_its_words(look, tmp_path):
    for number in range(10):
        make_run(tmp_path / f"run-{number}", CASES[:1], method=f"m{number}", pictures=False)
    with running_studio(tmp_path) as server:
        page = look(server)
        page.get_by_role("searchbox").fill("finished m7")
        expect(page.locator("tbody tr:visible")).to_have_count(1)
        page.get_by_role("checkbox", name="Tick all").check()
        expect(page.get_by_role("button", name="View this run")).to_be_visible()
        page.get_by_role("searchbox").fill("nowhere")
        page.get_by_role("button", name="Show all").click()
        expect(page.locator("tbody tr:visible")).to_have_count(10)


def test_an_empty_folder_says_how_to_make_runs(look, studio):
    page = look(studio)
    expect(page.locator("#list")).to_contain_text("uiproof demo --out")
    assert barriers(page) == []


def test_hostile_texts_are_only_text(look, tmp_path):
    name = HOSTILE.replace("/", "")
    make_run(
        tmp_path / name,
        [scored(HOSTILE, 0.5, flags=(HOSTILE,)), failed("bad", message=HOSTILE)],
        method=HOSTILE,
        dataset=HOSTILE,
        created=HOSTILE,
        settings={HOSTILE: HOSTILE},
    )
    make_run(tmp_path / "strange", CASES, benchmark=HOSTILE, method="\ud800", assisted=HOSTILE)
    (tmp_path / f"broken{name}").mkdir()
    (tmp_path / f"broken{name}" / "run.json").write_text(HOSTILE)
    with running_studio(tmp_path) as server:
        page = look(server)
        expect(page.locator("#list")).to_contain_text(HOSTILE)
        expect(page.locator(".damaged")).to_contain_text(name)
        expect(page.locator("tbody tr")).to_have_count(2)
        assert page.evaluate("window.hacked") is None
        page.locator("tr", has_text=HOSTILE[:20]).locator("a").first.click()
        expect(page.locator("h1")).to_contain_text(HOSTILE)
        assert page.evaluate("window.hacked") is None
        answer = page.request.get(f"{server.url}/runs/view", params={"run": "strange"})
        assert answer.status == 200


def test_damaged_runs_are_listed_with_the_reason_and_break_nothing(studio):
    runs = studio.studio.runs
    make_run(runs / "good", CASES)
    for name, content in {"list": "[]", "torn": '{"benchmark": ', "nameless": "{}"}.items():
        (runs / name).mkdir()
        (runs / name / "run.json").write_text(content)
    (runs / "bare").mkdir()
    (runs / "bare" / "run.json").write_text('{"benchmark": "unknown"}')
    journal = make_run(runs / "lines", CASES).journal
    journal.write_bytes(b"no json\n" + journal.read_bytes())
    (runs / "lines" / "summary.json").unlink()
    make_run(runs / "sums", CASES)
    (runs / "sums" / "summary.json").write_text(json.dumps({"n": "many", "failed": []}))
    client = studio.client()
    page = client.get("/runs")
    assert page.status_code == 200
    assert page.text.count('class="badge state damaged"') == 2
    assert page.text.count('class="badge bad"') == 3
    assert "Line 1 of" in page.text
    assert "does not name a benchmark" in page.text
    assert page.text.count('class="badge state finished"') == 1
    assert page.text.count('class="badge state failed"') == 1  # it has a benchmark, and no more
    for name in ("bare", "lines", "sums", "torn"):
        answer = client.get("/runs/view", params={"run": name}, headers={"X-CSRF-Token": ""})
        assert (answer.status_code, "<h1>Error</h1>" in answer.text) == (400, True), name


def test_a_run_that_disappears_is_an_error_page_and_its_pictures_are_missing(studio):
    run = make_run(studio.studio.runs / "passing", CASES)
    client = studio.client()
    page = client.get("/runs/view?run=passing")
    base = page.text.partition('"pictures":"')[2].partition('"')[0]
    picture = client.get(f"{base}/0")
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/webp")
    shutil.rmtree(run.path)
    answer = client.get("/runs/view?run=passing")
    assert answer.status_code == 400
    assert "There is no run" in answer.text
    assert client.get("/runs/state?run=passing").status_code == 400
    assert client.get(f"{base}/0").status_code == 404
    assert client.get("/runs/pictures/unknown/0").status_code == 404
    for address in ("/runs/view", "/runs/view?run=../passing", "/runs/view?run=%00"):
        assert client.get(address).status_code == 400


def test_a_report_in_the_studio_may_load_nothing_from_elsewhere_and_runs_nothing_inline(place):
    answer = place.client().get("/runs/view?run=first")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy + answer.text.partition("<body")[0]
    assert "<style" not in answer.text
    assert place.client().get("/runs/files/html.py").status_code == 404


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_and_everybody_can_read_it(look, place, scheme):
    page = look(place, color_scheme=scheme)
    for address in ("/runs", "/runs/view?run=first&run=second"):
        page.goto(place.url + address)
        for width in (390, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        assert barriers(page) == []
