"""What the reports of all benchmarks have in common, in a real browser and from disk."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from large_runs import MAKERS, failed, write
from page_checks import EVIL, INTRUDERS, barriers, loaded, poisoned
from playwright.sync_api import expect

from uiproof.report import write_report
from uiproof.report.html import Embedded, report_page

BENCHMARKS = list(MAKERS)
CASES = 8
# What names files, and what the program itself chose from a few words.
OWN_WORDS = frozenset({"image", "failure", "verdict", "kind"})


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A report about two runs of each benchmark, one case of which failed."""
    found = {}
    for benchmark, make in MAKERS.items():
        folder = tmp_path_factory.mktemp(benchmark)
        first = make(folder / "first", CASES, method="first", size=(640, 480))
        records = list(make(folder / "second", CASES, seed=1, size=(640, 480)).records())
        if "usable" in records[0].scores:  # the only case that tells the runs apart
            records[0] = replace(records[0], scores={**records[0].scores, "usable": 1.0})
        records[-1] = failed(records[-1], "The model said nothing.")
        second = write(folder / "second", benchmark, "second", records)
        found[benchmark] = write_report([first, second], folder / "report.html")
    return found


def card(page, benchmark):
    return page.locator(".card" if benchmark == "design2code" else ".find")


def open_first(page, benchmark):
    found = card(page, benchmark).filter(visible=True).first
    (found if benchmark == "design2code" else found.locator(".enlarge")).click()


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_report_is_opened_sorted_filtered_and_a_case_looked_at(look, reports, benchmark):
    page = look(reports[benchmark])
    methods = page.locator("#leaderboard tbody th .named")
    page.get_by_role("button", name="Method", exact=True).click()
    assert methods.all_text_contents() == ["first", "second"]
    page.get_by_role("button", name="Method", exact=True).click()
    assert methods.all_text_contents() == ["second", "first"]
    form = "#controls" if benchmark == "design2code" else "#filters"
    run = page.locator(f"{form} label", has_text=re.compile("^Run")).locator("select")
    run.select_option(label="second")
    visible = card(page, benchmark).filter(visible=True)
    expect(visible.first).to_contain_text("second")
    assert not any("first" in text for text in visible.all_inner_texts())
    page.locator(f"{form} #search").fill("nothing is called like this")
    expect(visible).to_have_count(0)
    page.locator(f"{form} #search").fill("")
    open_first(page, benchmark)
    expect(page.locator("#viewer")).to_be_visible()
    title = page.locator("#viewer-title").text_content()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#viewer-title")).not_to_have_text(title)
    page.keyboard.press("Escape")
    expect(page.locator("#viewer")).to_be_hidden()


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_distributions_and_extremes_are_those_of_the_records(look, reports, benchmark):
    page = look(reports[benchmark])
    metric = {"design2code": "Text", "grounding": "IoU", "interaction2code": "SSIM"}[benchmark]
    figure = page.locator(".distribution").filter(
        has=page.locator("figcaption", has_text=re.compile(f"^{metric}$"))
    )
    bars = figure.locator(".strip").first.locator("title").all_text_contents()
    counted = sum(int(re.search(r": (\d+) of", text)[1]) for text in bars)
    assert counted == CASES
    page.locator("#extremes-run").select_option(label="first")
    page.locator("#extremes-metric").select_option(label=metric)
    lists = {kind: page.locator(f"#{kind} .extreme") for kind in ("worst", "best")}
    scores = {
        kind: [
            float(text) for text in found.locator(":scope > span:last-child").all_text_contents()
        ]
        for kind, found in lists.items()
    }
    assert scores["worst"] == sorted(scores["worst"])
    assert scores["best"] == sorted(scores["best"], reverse=True)
    assert len(scores["worst"]) == len(scores["best"]) == CASES // 2
    assert max(scores["worst"]) <= min(scores["best"])
    name = lists["best"].first.locator(".case-id").text_content()
    lists["best"].first.click()
    expect(page.locator("#viewer-title")).to_have_text(name)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_first_screen_has_the_main_score_warnings_and_pictures(look, reports, benchmark):
    page = look(reports[benchmark])
    best = page.locator("#leaderboard tbody tr").first
    number = page.locator(".headline-number")
    assert number.text_content() in best.inner_text()
    expect(page.locator("#headline")).to_contain_text("interval")
    expect(page.locator("#warnings")).to_contain_text("second: 1 of 8 cases failed: answer empty 1")
    pictures = page.locator("#worst .extreme:has([data-picture])")
    assert pictures.count() >= 2
    assert pictures.first.bounding_box()["y"] < 700


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_link_leads_to_a_case_of_a_run(look, reports, benchmark):
    page = look(reports[benchmark])
    open_first(page, benchmark)
    page.keyboard.press("ArrowRight")
    title, address = page.locator("#viewer-title").text_content(), page.url
    assert "#case=" in address
    page.keyboard.press("+")
    assert page.locator("#stage").evaluate("e => e.style.getPropertyValue('--zoom')") == "1.5"
    page.keyboard.press("Escape")
    expect(page).to_have_url(reports[benchmark].as_uri())
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#viewer-title")).to_have_text(title)
    page.keyboard.press("Escape")
    page.evaluate("location.hash = '#case=unheard-of'")
    expect(page.locator("#no-case")).to_have_text("This page does not show a case unheard-of.")


@pytest.mark.parametrize("benchmark", ["design2code", "interaction2code"])
def test_cases_are_sorted_by_the_difference_between_runs(look, reports, benchmark):
    page = look(reports[benchmark])
    if benchmark == "design2code":
        page.locator("#sort").select_option("difference")
        values = page.locator(".card .score:last-child").all_inner_texts()
        found = [float(one.strip(" ()")) for one in values if "(" in one]
        assert len(found) >= 2 * CASES - 2
    else:
        page.locator("#order").select_option("difference")
        shown = page.locator(".find").evaluate_all("all => all.map((e) => e.dataset.ahead)")
        found = [float(one) for one in shown if one is not None]
    assert found == sorted(found)
    assert found[0] < 0


@pytest.mark.parametrize("benchmark", ["design2code", "interaction2code"])
def test_pictures_of_both_sides_are_swiped_by_finger_and_blinked(look, reports, benchmark):
    page = look(reports[benchmark], width=390, height=800, has_touch=True, is_mobile=True)
    open_first(page, benchmark)
    panes = page.locator(".panes.swipe")  # two pages do not fit beside each other
    loaded(page, page.locator("#stage img"))
    frame = panes.bounding_box()
    finger = page.context.new_cdp_session(page)
    y = frame["y"] + min(frame["height"], 200) / 2

    def touch(kind, share=None):
        points = [] if share is None else [{"x": frame["x"] + share * frame["width"], "y": y}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 0.5)
    for share in (0.45, 0.4, 0.3, 0.2):
        touch("touchMove", share)
    touch("touchEnd")
    cut = panes.evaluate("e => parseFloat(e.style.getPropertyValue('--cut'))")
    assert cut == pytest.approx(20, abs=3)
    page.get_by_role("button", name="Blink").click()
    expect(page.locator(".blink-name")).to_contain_text("Generated")


def test_both_sides_of_an_interaction_are_seen_before_after_and_as_a_difference(look, reports):
    page = look(reports["interaction2code"])
    first = page.locator(".find").first
    labels = first.locator("figcaption").all_text_contents()
    moments = ("before", "after", "difference")
    assert labels == [f"{side} {when}" for side in ("reference", "generated") for when in moments]
    first.locator(".enlarge").click()
    captions = page.locator("#stage figcaption")
    expect(captions).to_have_text(["Reference after", "Generated after"])
    loaded(page, page.locator("#stage img"))
    for moment in ("Before", "Difference"):
        page.locator("#viewer-choices").get_by_role("button", name=moment).click()
        expect(captions).to_have_text([f"{s} {moment.lower()}" for s in ("Reference", "Generated")])
        loaded(page, page.locator("#stage img"))
    expect(page.locator("#viewer-modes")).to_be_hidden()  # parts do not lie on each other
    expect(page.locator("#facts")).to_contain_text("the page looks otherwise")


def test_a_click_is_seen_large_with_target_click_and_looks(look, reports):
    page = look(reports["grounding"])
    page.locator("#filters label", has_text=re.compile("^Platform")).locator(
        "select"
    ).select_option("desktop")
    page.locator(".find:visible").first.locator(".enlarge").click()
    for drawn in (".line.truth", ".line.click", ".look", "image[href]"):
        expect(page.locator(f"#stage {drawn}")).to_have_count(1)
    whole = page.locator("#stage svg").bounding_box()
    assert whole["width"] > 700
    expect(page.locator("#facts")).to_contain_text("px from the target")


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_analyses_of_the_paper_are_there(look, reports, benchmark):
    page = look(reports[benchmark])
    titles = page.locator("#analyses h3").all_text_contents()
    expected = {
        "design2code": "Parts of the scores, both profiles",
        "grounding": "Two methods on the same elements",
        "interaction2code": "Failure types (Table 7)",
    }
    assert expected[benchmark] in titles
    charts = page.locator(".chart:visible img")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    loaded(page, charts)
    assert charts.count() == {"design2code": 0, "grounding": 3, "interaction2code": 9}[benchmark]
    # Each score has a point for each run, at its mean, in the run's colour.
    metric = {"design2code": "Text", "grounding": "IoU", "interaction2code": "SSIM"}[benchmark]
    named = page.locator(".means-name").get_by_text(metric, exact=True)
    row = page.locator(".means-row").filter(has=named)
    expect(row.locator(".point")).to_have_count(2)
    mean = float(row.locator(".means-values span").first.text_content())
    at = float(row.locator(".point.run-0 circle").get_attribute("cx").rstrip("%"))
    assert at == pytest.approx(2 + 96 * mean, abs=0.1)


def test_differences_are_listed_and_marked_on_both_pages(look, reports):
    page = look(reports["design2code"])
    page.evaluate("location.hash = '#case=page-0&run=first'")
    loaded(page, page.locator("#stage img"))
    items = page.locator("#facts .differences li")
    count = items.count()
    assert count >= 1
    expect(page.locator("#facts h3").first).to_have_text(f"Differences ({count})")
    first = items.first
    expect(first).to_contain_text("is #2563eb, should be #1d4ed8")
    expect(first).to_contain_text("impact 0.50")
    # Each has its number on both pictures; pointing at one lights up the others.
    numbered = page.locator("#stage .marks [data-difference='0']")
    expect(numbered).to_have_count(2)
    page.locator("#stage .reference .marks [data-difference='0'] circle").hover()
    expect(page.locator("#stage .generated .marks [data-difference='0']")).to_have_class(
        re.compile("active")
    )
    expect(first).to_have_class("active")
    place = page.locator("#stage .generated .marks [data-difference='0'] .marked")
    image = page.locator("#stage .generated img").bounding_box()
    x = float(place.get_attribute("x"))
    assert place.bounding_box()["x"] == pytest.approx(image["x"] + x * image["width"] / 640, abs=3)
    # The text blocks are there on demand.
    expect(page.locator("#stage .block").first).to_be_hidden()
    page.get_by_role("checkbox", name="Differences").uncheck()
    page.get_by_role("checkbox", name="Text blocks").check()
    expect(numbered.first).to_be_hidden()
    expect(page.locator("#stage .block").first).to_be_visible()


def test_the_html_the_prompt_and_the_answer_stand_beside_the_pictures(look, reports):
    page = look(reports["design2code"])
    page.evaluate("location.hash = '#case=page-0&run=first'")
    titles = page.locator("#facts .source summary").all_text_contents()
    assert [title.partition(" (")[0] for title in titles] == ["HTML", "Prompt", "Answer"]
    page.locator("#facts .source summary", has_text="Prompt").click()
    expect(page.locator("#facts .source pre").nth(1)).to_have_text("Build this:\n\n[picture]")


def test_an_interaction_shows_what_did_not_change_and_its_place_in_the_graph(look, reports):
    page = look(reports["interaction2code"])
    marked = page.locator(".find", has=page.locator(".badge", has_text="unsure"))
    assert marked.count() >= 1
    page.locator("#filters label", has_text=re.compile("^Verdict")).locator("select").select_option(
        label="unsure"
    )
    shown = page.locator(".find:visible")
    assert shown.count() == marked.count()
    shown.first.locator(".enlarge").click()
    loaded(page, page.locator("#stage img"))
    expect(page.locator("#facts .differences .says").first).to_have_text(
        "“total 0” appears: nothing happens there"
    )
    marks = {
        side: page.locator(f"#stage .{side} .mark-group") for side in ("reference", "generated")
    }
    expect(marks["reference"]).to_have_count(3)
    expect(marks["generated"]).to_have_count(1)  # the others have no place there
    page.locator("#viewer-choices").get_by_role("button", name="Graph").click()
    graph = page.locator("#stage .graph")
    expect(graph.locator("image[href]")).to_have_count(5)
    expect(graph.locator("[data-interaction]")).to_have_count(4)
    number = page.locator("#viewer-title").text_content().rpartition("/")[2]
    expect(graph.locator(".current")).to_contain_text(f"{number}. click number")
    page.keyboard.press("Escape")
    page.locator(".page-graph summary").first.click()
    expect(page.locator(".page-graph .graph").first).to_be_visible()


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("width", [390, 1280])
def test_everything_fits_and_axe_finds_nothing(browser, reports, benchmark, width):
    schemes = ("light", "dark") if width == 1280 else ("light",)
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    page = context.new_page()
    page.goto(reports[benchmark].as_uri())
    fits = "document.documentElement.scrollWidth <= innerWidth"
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(fits)
        assert barriers(page) == []
    open_first(page, benchmark)
    page.keyboard.press("ArrowRight")  # the first one may have failed
    assert page.locator(".viewer-bar, #facts").evaluate_all(
        "all => all.every((e) => e.scrollWidth <= e.clientWidth)"
    )
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(fits)
        assert barriers(page) == []
    context.close()


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_nothing_of_a_hostile_run_becomes_more_than_text(look, tmp_path, benchmark):
    made = MAKERS[benchmark](tmp_path / "run", 3, size=(320, 240))
    records = [
        replace(
            record,
            id=record.id + EVIL,
            details=poisoned(dict(record.details), OWN_WORDS)
            | {"notes": [EVIL], "assisted": {"matched_text": EVIL, "region_errors": [EVIL]}},
            flags=("answer:" + EVIL,),
            seconds={"score" + EVIL: 1.0},
            answer_key=EVIL,
        )
        for record in made.records()
    ]
    for file in (tmp_path / "run").glob("artifacts/*/*.json"):
        file.write_text(json.dumps(poisoned(json.loads(file.read_text()))))
    error = failed(records[-1], EVIL)
    records[-1] = replace(error, error=replace(error.error, code=EVIL, remedy=EVIL))
    names = {"dataset": EVIL, "settings": {EVIL: EVIL}, "fingerprint": {"browser": EVIL}}
    run = write(tmp_path / "run", benchmark, EVIL, records, **names)
    second = MAKERS[benchmark](tmp_path / "second", 3, method=EVIL + "2", size=(320, 240))
    page = look(write_report([run, second], tmp_path / "report.html", title=EVIL))
    assert page.title().startswith("\"'></title>")
    for text in (EVIL[:40], "<script>window.hacked=1</script>"):
        assert text in page.locator("main").inner_text()
    count = card(page, benchmark).count()
    assert count >= 5
    open_first(page, benchmark)
    hostile = 0
    for _ in range(count):
        hostile += "<x-evil onclick=steal()>" in page.locator("#viewer").inner_text()
        assert page.evaluate(INTRUDERS) == []
        page.keyboard.press("ArrowRight")
    assert hostile >= 2
    page.keyboard.press("Escape")
    assert page.evaluate(INTRUDERS) == []
    assert page.evaluate("window.hacked") is None
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    assert "default-src 'none'; img-src data:;" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_500_cases_are_all_there_and_stay_below_30_megabytes(look, tmp_path, benchmark):
    run = MAKERS[benchmark](tmp_path / "run", 500, size=(96, 64))
    report = write_report([run], tmp_path / "report.html")
    assert report.stat().st_size < 30_000_000
    page = look(report)
    index = json.loads(page.locator("#index").text_content())
    assert index["results"] == 500
    expect(page.locator("#subtitle")).to_contain_text("500 results")
    if benchmark == "design2code":
        expect(page.locator("#count")).to_contain_text("500 of 500")
    else:
        expect(card(page, benchmark)).to_have_count(500)
        visible = card(page, benchmark).filter(visible=True)  # the rest is a page away
        expect(visible).to_have_count(24 * page.locator(".group[open]").count())
        before = visible.count()
        page.locator(".more:visible").first.click()
        expect(visible).to_have_count(before + 24)
    # Only what is about to be seen is decoded.
    assert page.locator("[data-picture][src], [data-picture][href]").count() < 60


def test_a_budget_that_is_too_small_makes_pictures_small(tmp_path, monkeypatch):
    monkeypatch.setattr("uiproof.report.html._LEAST_FOR_PICTURES", 50_000)
    for benchmark, make in MAKERS.items():
        run = make(tmp_path / benchmark, 12)
        page = "".join(report_page([run], pictures=Embedded()))
        text = len(page.split('id="picture-')[0])
        most = text + (len(page) - text) // 2
        # Markup beside the pictures is estimated: within one per cent.
        assert sum(map(len, report_page([run], pictures=Embedded(most)))) <= most * 1.01
