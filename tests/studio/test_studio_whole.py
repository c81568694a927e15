"""A study from beginning to end, as people do it: make a task, label, agree, export, import."""

from __future__ import annotations

import pytest
from annotate_runs import PAGE, make_run
from playwright.sync_api import expect
from studio_server import running_studio

PEOPLE = ("Ann", "Ben", "Cleo")
# What each person presses for the cases in order; they differ on some.
USABLE, BROKEN, WRONG = ("y", "0", "Enter"), ("n", "b", "Enter"), ("n", "g", "h", "Enter")
ANSWERS = {
    "Ann": [USABLE] * 5 + [BROKEN] * 3 + [WRONG] * 2,
    "Ben": [USABLE] * 4 + [BROKEN] * 4 + [WRONG] * 2,
    "Cleo": [BROKEN] * 2 + [USABLE] * 6 + [BROKEN] * 2,
}


@pytest.fixture
def open_page(browser):
    contexts = []

    def opened(url):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()


def label_all(page, answers):
    """Nothing but keys, until the studio says that there is nothing left."""
    for _ in range(10):
        item = page.locator("#item")
        case = int(item.get_attribute("data-place").split()[0])
        assert 1 <= case <= 10
        key = item.get_attribute("data-key")
        number = int(page.locator("#item").inner_text().split("shop/")[1].split()[0])
        for press in answers[number]:
            page.keyboard.press(press)
        page.wait_for_function(
            "key => document.getElementById('item')?.dataset.key !== key", arg=key
        )
    expect(page.locator("#item")).to_have_count(0)


def alpha(page):
    row = page.locator("#agreement tr", has_text="Krippendorff").first
    return row.locator("td").first.inner_text()


def test_three_people_label_thirty_items_and_the_numbers_survive_export_and_import(
    tmp_path, open_page
):
    with running_studio(tmp_path / "first") as studio:
        make_run(studio.studio.runs / "ours", {f"shop/{n}": PAGE for n in range(10)})
        owner = open_page(studio.owner_url)
        owner.goto(f"{studio.url}/tasks/new")
        owner.get_by_role("checkbox", name="ours").check()
        owner.get_by_label("Title").fill("Round 1")
        owner.get_by_role("button", name="Create task").click()
        owner.wait_for_url("**/tasks")
        (task,) = studio.store.tasks()
        tokens = {name: studio.store.add_annotator(name).token for name in PEOPLE}
        for name in PEOPLE[:2]:
            page = open_page(f"{studio.url}/tasks/{task.id}?token={tokens[name]}")
            label_all(page, ANSWERS[name])
        owner.goto(f"{studio.url}/tasks/{task.id}/results")
        of_two = alpha(owner)
        label_all(
            open_page(f"{studio.url}/tasks/{task.id}?token={tokens['Cleo']}"), ANSWERS["Cleo"]
        )
        expect(owner.locator("#agreement")).to_contain_text("Ben & Cleo")  # without a reload
        assert alpha(owner) != of_two
        with owner.expect_download() as download:
            owner.get_by_role("link", name="Export labels").click()
        exported = tmp_path / "labels.zip"
        download.value.save_as(exported)
        numbers = studio.client().get(f"/tasks/{task.id}/results.json").json()
    assert numbers["counts"]["labels"] == 30

    with running_studio(tmp_path / "second") as studio:
        make_run(studio.studio.runs / "ours", {f"shop/{n}": PAGE for n in range(10)})
        owner = open_page(studio.owner_url)
        owner.goto(f"{studio.url}/import")
        owner.locator("input[type=file]").set_input_files(exported)
        owner.get_by_role("button", name="Import").click()
        expect(owner.locator("#imported")).to_contain_text("30")
        (task,) = studio.store.tasks()
        again = studio.client().get(f"/tasks/{task.id}/results.json").json()
    assert again == numbers
