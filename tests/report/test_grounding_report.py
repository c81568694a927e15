from __future__ import annotations

import json
import re
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from page_checks import HOSTILE
from PIL import Image
from playwright.sync_api import expect

from uiproof.benchmark import Method, Record
from uiproof.benchmarks.grounding import BENCHMARK
from uiproof.benchmarks.grounding.cases import Answer, Look
from uiproof.benchmarks.grounding.data import (
    AnnotatedElement,
    Dataset,
    ElementType,
    Sample,
    read_dataset,
    write_dataset,
)
from uiproof.benchmarks.grounding.methods import make_method
from uiproof.benchmarks.grounding.synthetic import generate
from uiproof.benchmarks.grounding.view import select
from uiproof.engine.run import execute
from uiproof.errors import ModelError
from uiproof.geometry import Box
from uiproof.report import write_report
from uiproof.report.html import Embedded, report_page

HALVES = (Look(Box(0, 0, 0.5, 1), (480, 540), "no"), Look(Box(0.5, 0, 0.5, 1), (480, 540), "maybe"))
RAW = "click(x=<b>1</b>) " + HOSTILE


class Scripted(Method):
    """Says what a list of answers says; one that is an error is raised."""

    def __init__(self, answers, name="scripted", *, assisted=False):
        self._answers, self._name, self.assisted = answers, name, assisted

    @property
    def name(self):
        return self._name

    async def answer(self, case_id, question, context):
        answer = self._answers.get(case_id, Answer(point=(0.999, 0.999)))
        if isinstance(answer, Exception):
            raise answer
        if case_id == "s/far":
            context.note_call({"prompt": f"[picture]\n\nWhere is {case_id}? {HOSTILE}"})
        return answer


def element(name, box, **more):
    kind = more.pop("element_type", ElementType.BUTTON)
    return AnnotatedElement(name, Box(*box), name, kind, f"Click {name}", **more)


ELEMENTS = (
    element("hit", (0.1, 0.1, 0.1, 0.05)),
    element("wrong", (0.3, 0.1, 0.1, 0.05), clickable=Box(0.29, 0.09, 0.12, 0.07)),
    element("near", (0.5, 0.1, 0.02, 0.02), element_type=ElementType.ICON),
    element("far", (0.8, 0.8, 0.1, 0.15), polygon=((0.8, 0.8), (0.9, 0.8), (0.82, 0.95))),
    element("outside", (0.1, 0.4, 0.1, 0.05)),
    element("refused", (0.3, 0.4, 0.1, 0.05)),
    element("unparseable", (0.5, 0.4, 0.1, 0.05)),
    element("server", (0.7, 0.4, 0.1, 0.05)),
    element("absent", (0, 0, 0, 0), refusal=True),
)
ANSWERS = {
    "s/hit": Answer(point=(0.15, 0.12)),
    "s/wrong": Answer(point=(0.15, 0.12), looks=HALVES),
    "s/near": Answer(point=(0.53, 0.11), box=Box(0.52, 0.1, 0.02, 0.02)),
    "s/far": Answer(point=(0.05, 0.95)),
    "s/outside": Answer(point=(3.0, 0.4)),
    "s/refused": Answer(refused=True),
    "s/unparseable": Answer(looks=(Look(Box(0, 0, 1, 1), (960, 540), RAW),)),
    "s/server": ModelError("The server said no."),
    "s/absent": Answer(refused=True),
}


def run_on(folder, directory, method):
    options = {"benchmark": BENCHMARK, "dataset": folder, "dataset_name": "mine"}
    with ThreadPoolExecutor(1) as pool:  # Playwright keeps an event loop in this one
        call = pool.submit(
            execute, directory=directory, method=method, executor="inline", **options
        )
        return call.result()


def written(folder):
    """One screenshot with a target for every verdict."""
    (folder / "samples").mkdir(parents=True)
    noise = np.random.default_rng(0).integers(0, 256, (540, 960, 3), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "samples" / "s.png")
    write_dataset(Dataset("mine", "1", (Sample("s", "samples/s.png", 960, 540, ELEMENTS),)), folder)
    return folder


@pytest.fixture
def data(tmp_path):
    return written(tmp_path / "data")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    run = run_on(written(folder / "data"), folder / "run", Scripted(ANSWERS))
    return write_report([run], folder / "report.html")


def shown(page):
    """The ids of the cards that can be seen, in their order."""
    cards = page.locator(".find:visible .about p:last-child").all_text_contents()
    return [text.split(" · ")[0].removeprefix("s/") for text in cards]


def choose(page, label, choice):
    labelled = page.locator("#filters label", has_text=re.compile(f"^{label}"))
    labelled.locator("select").select_option(label=choice)


def card(page, instruction):
    return page.locator(".find", has=page.get_by_text(instruction, exact=True))


def test_verdicts_are_counted_and_failures_come_first(look, report):
    page = look(report)
    heads = page.locator(".verdicts thead th").all_text_contents()
    counts = page.locator(".verdicts tbody .mean").all_text_contents()
    assert set(counts) == {"1"}
    assert heads[1:] == [
        *("hit", "correct refusal", "wrong element", "near miss", "miss", "outside", "refused"),
        *("unparseable", "server error"),
    ]
    # The farthest first, then what names no place, and what was not measured at the end.
    assert shown(page) == [
        *("outside", "far", "wrong", "near"),
        *("refused", "unparseable"),
        "server",
    ]
    page.get_by_text("Right answers").click()
    expect(page.locator(".find:visible .about p:last-child").last).to_contain_text("s/hit")
    assert shown(page)[-2:] == ["absent", "hit"]


def test_a_card_says_what_was_asked_and_where_the_click_went(look, report):
    page = look(report)
    wrong = card(page, "Click wrong")
    expect(wrong.locator(".verdict")).to_have_text("wrong element134 px from the target · on hit")
    expect(wrong.locator(".overview .look")).to_have_count(2)
    expect(wrong.locator(".zoomed .line.clickable")).to_have_count(1)
    expect(card(page, "Click near").locator(".verdict")).to_contain_text("9.6 px from the target")
    expect(card(page, "Click near").locator(".zoomed .line.said")).to_have_count(1)
    expect(card(page, "Click far").locator("polygon.line")).to_have_count(3)
    expect(card(page, "Click far").locator("figcaption")).to_have_text(["Target", "Click"])
    server = card(page, "Click server")
    server.locator("summary").click()
    expect(server.locator("dd").first).to_have_text("model (answer): The server said no.")
    outside = card(page, "Click outside")
    outside.locator("summary").click()
    expect(outside.locator("dd").first).to_have_text("2,880, 216 px of 960 × 540")


def test_boxes_and_crosses_lie_where_the_screenshot_has_them(look, report):
    page = look(report)
    whole = card(page, "Click wrong").locator(".overview svg").bounding_box()
    box = card(page, "Click wrong").locator(".overview .line.truth").bounding_box()
    cross = card(page, "Click wrong").locator(".overview .line.click").bounding_box()
    assert (box["x"] - whole["x"]) / whole["width"] == pytest.approx(0.3, abs=0.02)
    assert box["width"] / whole["width"] == pytest.approx(0.1, abs=0.02)
    middle = cross["y"] + cross["height"] / 2
    assert (middle - whole["y"]) / whole["height"] == pytest.approx(0.12, abs=0.02)
    # In the enlarged picture as well: the click is to the left of the box, and both can be seen.
    near = card(page, "Click wrong").locator(".zoomed svg")
    frame, target, click = (
        near.locator(part).bounding_box() if part else near.bounding_box()
        for part in ("", ".line.truth", ".line.click")
    )
    assert frame["x"] < click["x"] < target["x"]
    assert target["x"] + target["width"] < frame["x"] + frame["width"]
    assert target["width"] > 2 * box["width"]


def test_filters_leave_what_fits(look, data, tmp_path):
    runs = [
        run_on(data, tmp_path / "one", Scripted(ANSWERS)),
        run_on(data, tmp_path / "two", make_method("corner", lambda name: None)),
    ]
    page = look(write_report(runs, tmp_path / "report.html"))
    choose(page, "Run", "scripted")
    choose(page, "Verdict", "near miss")
    assert shown(page) == ["near"]
    expect(page.locator("#count")).to_have_text("1 of 18 shown cases fit")
    choose(page, "Verdict", "All")
    choose(page, "Element", "icon")
    assert shown(page) == ["near"]
    choose(page, "Element", "All")
    choose(page, "Size", "medium")
    assert shown(page) == ["far"]
    choose(page, "Size", "All")
    choose(page, "Verdict", "hit")  # opens what was closed
    assert shown(page) == ["hit"]
    choose(page, "Verdict", "All")
    choose(page, "Run", "corner")
    assert "absent" in shown(page)
    page.locator("#search").fill("click FAR")
    assert shown(page) == ["far"]
    page.locator("#search").fill("nothing like it")
    assert shown(page) == []


def test_tags_of_the_data_become_filters(look, tmp_path):
    generate(tmp_path / "data", count=3, seed=1)
    run = run_on(tmp_path / "data", tmp_path / "run", make_method("corner", lambda name: None))
    page = look(write_report([run], tmp_path / "report.html"))
    tags = {one.id: one.details["tags"]["difficulty"] for one in run.records()}
    assert len(set(tags.values())) > 1
    for difficulty in sorted(set(tags.values())):
        choose(page, "Difficulty", difficulty)
        while (more := page.locator(".more:visible")).count():
            more.first.click()
        assert set(shown(page)) == {name for name, tag in tags.items() if tag == difficulty}


def test_it_can_be_read_without_scripts(look, report):
    page = look(report, java_script_enabled=False)
    expect(card(page, "Click wrong")).to_be_visible()
    expect(page.locator("#filters")).to_be_hidden()
    expect(card(page, "Click hit")).to_be_hidden()
    page.locator("summary", has_text="Right answers").press("Enter")
    expect(card(page, "Click hit")).to_be_visible()


def test_without_screenshots_boxes_are_drawn_on_a_canvas(look, data, tmp_path):
    run = run_on(data, tmp_path / "run", Scripted(ANSWERS))
    (data / "samples" / "s.png").unlink()
    page = look(write_report([run], tmp_path / "report.html"))
    expect(page.locator("image")).to_have_count(0)
    far = card(page, "Click far")
    expect(far).to_contain_text("no screenshot")
    expect(far.locator(".zoomed figure")).to_have_count(1)  # all of it: two empty ones say nothing
    whole = far.locator(".zoomed .canvas").bounding_box()
    assert whole["width"] / whole["height"] == pytest.approx(960 / 540, rel=0.02)
    expect(far.locator(".zoomed polygon.line")).to_have_count(1)


@pytest.mark.parametrize("content", ["another size", "a program"])
def test_what_is_not_the_screenshot_is_not_shown(look, data, tmp_path, content):
    run = run_on(data, tmp_path / "run", Scripted(ANSWERS))
    image = data / "samples" / "s.png"
    if content == "another size":
        Image.new("RGB", (10, 10)).save(image)
    else:
        image.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 960 540\n" * 3)
    page = look(write_report([run], tmp_path / "report.html"))
    expect(page.locator("image")).to_have_count(0)
    expect(page.locator(".find")).to_have_count(len(ELEMENTS))


def test_cases_that_could_not_be_loaded_are_shown_too(look, data, tmp_path):
    (data / "samples" / "s.png").unlink()
    run = run_on(data, tmp_path / "run", Scripted({}))
    page = look(write_report([run], tmp_path / "report.html"))
    expect(page.locator(".find")).to_have_count(len(ELEMENTS))
    first = page.locator(".find").first
    expect(first).to_contain_text("failed")
    expect(first).to_contain_text("could not be loaded")


def record(number, verdict, distance):
    details = {
        "width": 960,
        "height": 540,
        "verdict": verdict,
        "truth": {"bbox": [0.4, 0.4, 0.1, 0.1], "clickable": None, "polygon": [], "refusal": False},
    }
    scores = {"accuracy": float(verdict == "hit"), "distance_px": distance}
    return Record(f"s/{number:04}", "scored", scores, details=details)


def test_the_worst_of_each_verdict_are_chosen_where_there_are_too_many():
    records = [record(number, "miss", 100.0 + number) for number in range(100)]
    records += [record(100 + number, "near_miss", 1.0 + number) for number in range(3)]
    records += [record(200 + number, "hit", 0.0) for number in range(50)]
    chosen = select(0, records, most_failures=10, most_right=5)
    failures = [one.record.id for one in chosen.shown if not one.right]
    assert failures == [
        *("s/0099", "s/0098", "s/0097", "s/0096", "s/0095", "s/0094", "s/0093"),
        *("s/0102", "s/0101", "s/0100"),
    ]
    assert (chosen.failures, chosen.right) == (103, 50)
    assert sum(one.right for one in chosen.shown) == 5
    assert chosen.outcomes == {"miss": 100, "near_miss": 3, "hit": 50}


def test_an_assisted_run_is_judged_by_its_own_rule(look, tmp_path):
    generate(tmp_path / "data", count=1, seed=1)
    method = make_method("centre-fixed", lambda name: None)
    run = run_on(tmp_path / "data", tmp_path / "run", method)
    page = look(write_report([run], tmp_path / "report.html"))
    assert any(one.scores["detected"] for one in run.records())
    page.locator(".group summary", has_text="Right answers").click()
    expect(page.locator(".group", has_text="Right answers").locator(".find").first).to_contain_text(
        "detected by its own rule"
    )


def test_pictures_of_noisy_screenshots_keep_to_the_size_budget(data, tmp_path, monkeypatch):
    places = np.random.default_rng(1).uniform(0.05, 0.9, (40, 2))
    many = tuple(
        element(f"e{number}", (*map(float, place), 0.02, 0.02))
        for number, place in enumerate(places)
    )
    sample = replace(read_dataset(data).samples[0], elements=many)
    write_dataset(Dataset("mine", "1", (sample,)), data)
    run = run_on(data, tmp_path / "run", make_method("random", lambda name: None))
    full = write_report([run], tmp_path / "full.html").read_text("utf-8")
    pictures = [len(b64decode(uri)) for uri in re.findall(r"base64,([A-Za-z0-9+/=]+)", full)]
    assert len(pictures) > 40
    assert max(pictures) <= 80_000
    assert len(full) < 30_000_000 * 40 / 500  # nothing compresses worse than noise
    monkeypatch.setattr("uiproof.report.html._LEAST_FOR_PICTURES", 100_000)
    small = "".join(report_page([run], pictures=Embedded(900_000)))
    assert len(small) <= 900_000


def test_the_index_of_a_page_is_json(report):
    text = report.read_text("utf-8")
    found = re.search(r'<script type="application/json" id="index">(.*?)</script>', text, re.S)
    assert json.loads(found[1])["results"] == len(ELEMENTS)


def test_a_card_has_the_prompt_that_was_sent(report):
    text = report.read_text()
    assert "Where is s/far?" in text
    assert text.count("<dt>Prompt</dt>") == 1
