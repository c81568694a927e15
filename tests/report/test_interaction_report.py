"""The report on interactions in a real browser: pictures, verdicts, filters."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from page_checks import HOSTILE
from PIL import Image
from playwright.sync_api import expect

from uiproof.report import write_report

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "interaction2code"))

from interaction_runs import scored, without_page, written

SIDES = ("reference", "generated")
BOXES = {"size": [640, 400], "trigger": [10, 10, 90, 40], "region": [100, 50, 300, 200]}


def with_pictures(run, record, **details):
    """The record with pictures of both sides, as a judge leaves them."""
    artifacts = {}
    for side in SIDES:
        for moment in ("before", "after"):
            name = f"{side}_{moment}"
            path = run / "artifacts" / record.id / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (640, 400), "white" if moment == "before" else "teal").save(path)
            artifacts[name] = path.relative_to(run).as_posix()
    facts = {**BOXES, "parts": [BOXES["region"]]}
    more = {"reference": facts, "generated": facts, "action": {"kind": "click"}, **details}
    return replace(record, artifacts=artifacts, details={**record.details, **more})


def choice(page, label):
    return page.locator("#filters label", has_text=re.compile(f"^{label}")).locator("select")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    run = tmp_path_factory.mktemp("report") / "run"
    written(run, "blueprint", [])  # first, so that its pictures lie in a run
    verdict = {"implemented": True, "usable": False, "failure": "g", "evidence": [HOSTILE]}
    records = [
        with_pictures(run, scored("shop/1"), sentence='click the "Cart" button'),
        with_pictures(run, scored("shop/2", failure="g"), sentence=HOSTILE, verdict=verdict),
        with_pictures(run, scored("mail/1", failure="d", tags=("link", "image"))),
        scored("mail/2", failure="b", visuals=("new page",)),
        without_page("mail/3"),
    ]
    written(run, "blueprint", records)
    return write_report([run], run.parent / "report.html")


def test_every_interaction_has_a_card_with_its_pictures_and_verdict(look, report):
    page = look(report)
    expect(page.locator(".find")).to_have_count(5)
    card = page.locator(".find", has_text='click the "Cart" button')
    expect(card.locator(".states svg")).to_have_count(6)
    expect(card.locator(".badge")).to_have_text("usable")
    expect(page.locator(".group").first).to_contain_text("Not usable 3")
    expect(page.locator(".find", has_text="mail/2").locator(".verdict")).to_contain_text(
        "(b) no interaction"
    )
    expect(page.locator(".verdicts")).to_contain_text("(d) wrong type of element")
    expect(page.locator(".find", has_text="window.hacked=1")).to_have_count(1)  # stays text
    assert page.evaluate("window.hacked") is None


def test_a_box_is_drawn_where_the_page_was_acted_on_and_where_it_changed(look, report):
    page = look(report)
    card = page.locator(".find", has_text='click the "Cart" button')
    acted = card.locator("rect.line.truth").first
    assert [acted.get_attribute(name) for name in ("x", "width")] == ["10", "80"]
    assert card.locator("rect.line.said").first.get_attribute("height") == "150"


def test_interactions_are_chosen_by_what_they_are_and_by_any_of_their_tags(look, report):
    page = look(report)
    choice(page, "Element").select_option("image")
    expect(page.locator(".find:visible")).to_have_count(1)
    expect(page.locator(".find:visible")).to_contain_text("mail/1")
    choice(page, "Element").select_option("All")
    choice(page, "Failure").select_option("(b) no interaction")
    expect(page.locator(".find:visible")).to_contain_text("mail/2")
