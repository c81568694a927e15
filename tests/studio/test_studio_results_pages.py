"""The pages of results, decisions and imports in a real Chromium."""

from __future__ import annotations

import random
import re
import zipfile

import pytest
from playwright.sync_api import expect
from said_tasks import HOSTILE, many, noisy_task, say, written
from studio_server import running_studio

from page_looks import barriers, overflows
from uiproof.labels import Choice, Item, Judgement
from uiproof.studio.results import disagreements, gather, settled_items
from uiproof.studio.store import save_label

NAME = f"Ann {HOSTILE}"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A studio with a judged and a compared task, both about runs that are there."""
    runs = tmp_path_factory.mktemp("studio") / "runs"
    records = {}
    for number, prompt in enumerate(("direct", "mark")):
        records[prompt] = many(number, better=number / 2, pages=7)
        written(runs / prompt, f"gpt {HOSTILE}", records[prompt], prompt=prompt)
    with running_studio(runs) as server:
        judged = [
            Item(one.id, f"gpt {HOSTILE}", prompt, run=prompt)
            for prompt, some in records.items()
            for one in some
        ]
        compared = [
            Item(one.id, "gpt", "mark", run="mark", baseline="direct") for one in records["mark"]
        ]
        chance = random.Random(1)
        server.store.add_task("judge", f"Judged {HOSTILE}", judged, per_item=3)
        server.store.add_task("compare", "Compared", compared, per_item=3)
        for name in (NAME, "Ben", "Cleo"):
            judgements = [
                Judgement(bool(one.scores["usable"]) ^ (chance.random() < 0.2), chance.choice("bi"))
                for some in records.values()
                for one in some
            ]
            say(server.store, 1, name, judgements, note=HOSTILE if name == "Ben" else "")
            votes = [Choice(chance.choice(["win", "win", "tie", "lose"])) for _ in compared]
            say(server.store, 2, name, votes)
        yield server


@pytest.mark.parametrize(
    "address",
    ["/tasks/1/results", "/tasks/2/results", "/tasks/1/decide", "/tasks/1/items/1", "/import"],
)
def test_every_page_fits_and_has_no_barrier_in_light_and_dark(place, look, address):
    page = look(place, address)
    for theme in ("light", "dark"):
        page.evaluate("theme => localStorage.setItem('theme', theme)", theme)
        page.goto(place.url + address)
        if address.endswith("results"):
            expect(page.locator("#runs")).to_contain_text("Metrics", timeout=30_000)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert barriers(page) == []
    assert overflows(page) == []


def test_the_results_show_rates_failures_agreement_and_the_program(place, look):
    page = look(place, "/tasks/1/results")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Judged {HOSTILE}")
    rates = page.locator("#rates tbody tr")
    expect(rates).to_have_count(2)
    expect(rates.first).to_contain_text(f"gpt {HOSTILE}")
    usable = [
        final.answers["usable"]
        for final in settled_items(gather(place.store, 1))
        if final.item.prompt == "direct" and final.answers["usable"] is not None
    ]
    expect(rates.first).to_contain_text(f"{100 * sum(usable) / len(usable):.2f}")
    expect(page.locator("#agreement")).to_contain_text(f"{NAME} & Ben")
    program = page.locator("#runs")
    expect(program).to_contain_text("Usability rate by tag category", timeout=30_000)
    expect(program).to_contain_text("Usable: people and verifier")
    expect(program).to_contain_text("strict.part.text")
    page.goto(place.url + "/tasks/2/results")
    expect(page.locator("#comparisons tbody tr")).to_have_count(1)
    expect(page.locator("#agreement")).to_contain_text("Krippendorff’s alpha, ordinal")
    expect(page.locator("#runs")).to_contain_text("Same direction", timeout=30_000)


def test_agreement_renews_itself_while_people_label(tmp_path, look):
    with running_studio(tmp_path / "runs") as studio:
        task = noisy_task(studio.store, pages=4)
        page = look(studio, f"/tasks/{task.id}/results")
        fleiss = page.locator("#agreement tr", has_text="Fleiss").first
        before = fleiss.inner_text()
        expect(page.locator("#counts")).to_contain_text("48")
        dora = studio.store.add_annotator("Dora").id
        for item in studio.store.items(task.id):
            save_label(studio.store, item.id, dora, Judgement(False, "j"))
        expect(page.locator("#agreement")).to_contain_text("Ann & Dora", timeout=30_000)
        assert fleiss.inner_text() != before
        expect(page.locator("#counts")).to_contain_text("64")
        page.get_by_role("link", name="Reload").click()
        expect(page.locator("#agreement .fresh")).to_have_count(0)


def test_disputes_are_decided_with_the_keyboard_alone(tmp_path, look):
    with running_studio(tmp_path / "runs") as studio:
        store = studio.store
        task = noisy_task(store, pages=6).id
        left = disagreements(gather(store, task))
        page = look(studio, f"/tasks/{task}/decide")
        cards = page.locator(".dispute")
        expect(cards).to_have_count(len(left))
        order = [int(one.get_attribute("id").split("-")[1]) for one in cards.all()]
        by_item = {one.item.id: one for one in left}
        page.keyboard.press("j")
        expect(cards.first).to_be_focused()
        page.keyboard.press("2")
        expect(cards.first).to_contain_text("decided:")
        expect(cards.nth(1)).to_be_focused()
        decided = gather(store, task).decisions[order[0]]
        assert decided.value == by_item[order[0]].options()[1][0]
        page.keyboard.press("o")
        page.keyboard.press("u")  # "usable", as typed into a list of choices
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.type("jjj because")
        page.keyboard.press("Enter")
        expect(cards.nth(1)).to_contain_text("decided: usable, no failure")
        assert gather(store, task).decisions[order[1]].note == "jjj because"
        expect(cards.nth(1)).to_be_focused()
        page.keyboard.press("k")
        expect(cards.first).to_be_focused()
        page.keyboard.press("x")
        expect(cards.first).not_to_contain_text("decided:")
        assert order[0] not in gather(store, task).decisions
        page.goto(f"{studio.url}/tasks/{task}/decide")
        expect(page.locator(".dispute")).to_have_count(len(left) - 1)
        expect(page.locator(".results-head")).to_contain_text(
            f"{len(left) - 1} of {len(left)} disputed items are not decided"
        )


def test_an_item_can_be_looked_at_again_without_seeing_whose_it_is(place, look):
    page = look(place, "/tasks/2/decide")
    href = page.locator(".look-again").first.get_attribute("href")
    assert re.fullmatch(r"/tasks/2/items/\d+", href)
    page.goto(place.url + href)
    expect(page.get_by_role("heading", name="Baseline")).to_be_visible()
    expect(page.get_by_role("heading", name="Result")).to_be_visible()
    assert "gpt" not in page.locator("main").inner_text()


def test_what_was_exported_on_one_page_is_imported_on_another(tmp_path, look):
    with (
        running_studio(tmp_path / "one") as first,
        running_studio(tmp_path / "two") as second,
    ):
        task = noisy_task(first.store).id
        page = look(first, f"/tasks/{task}/results")
        with page.expect_download() as download:
            page.get_by_role("link", name="Export labels").click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        assert "labels.jsonl" in zipfile.ZipFile(file).namelist()
        table = page.locator("#rates table").inner_text()
        agreed = page.locator("#agreement").inner_text()
        page = look(second, "/import")
        page.locator("input[type=file]").set_input_files(file)
        page.get_by_role("button", name="Import").click()
        expect(page.locator("#imported")).to_contain_text("120 labels")
        page.locator("#imported a").click()
        expect(page.locator("#rates table")).to_be_visible()
        assert page.locator("#rates table").inner_text() == table
        assert page.locator("#agreement").inner_text() == agreed
        page = look(second, "/import")
        page.locator("input[type=file]").set_input_files(file)
        page.get_by_role("button", name="Import").click()
        expect(page.locator("#imported")).to_contain_text("nothing new")
