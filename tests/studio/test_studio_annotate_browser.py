"""Labelling as people do it: a real browser, and nothing but the keyboard."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
import pytest
from annotate_runs import PAGE, make_run
from playwright.sync_api import expect
from studio_server import running_studio

from uiproof.labels import Choice, Judgement, Rating, questions_from_json
from uiproof.studio.runs import open_run
from uiproof.studio.store import labels, save_label
from uiproof.studio.tasks import compare_items, make_items, result_is_left, single_items

PAGES = {f"shop/{n}": f"{PAGE}<p>{n}" for n in range(4)}
GREEDY = (
    PAGE + "<input id=grab><script>"
    "setInterval(() => { grab.blur(); grab.focus(); window.focus(); }, 50)</script>"
)
EAGER = f"{PAGE}<input id=grab><script>grab.focus(); grab.dataset.tried = 1</script>"
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
QUESTIONS = questions_from_json(
    [
        {"ask": "How close?", "kind": "scale", "options": ["far off", "the same"]},
        {"ask": "What?", "kind": "choice", "options": ["text", "colours"]},
        {"ask": "Why?", "kind": "text"},
    ]
)
WIDTHS = ((390, 844), (1280, 800), (1920, 1080))


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with running_studio(tmp_path_factory.mktemp("studio") / "runs") as server:
        folder = server.studio.runs
        make_run(folder / "ours", PAGES)
        make_run(folder / "base", PAGES, model="other-model")
        make_run(folder / "greedy", {"shop/1": GREEDY})
        make_run(folder / "eager", {"shop/1": EAGER})
        make_run(folder / "nothing", {"shop/1": None})
        yield server


@pytest.fixture
def task(studio):
    """A new task that asks about some runs, or compares one with another."""

    def make(*names, baseline=None, per_item=2):
        runs = [open_run(studio.studio.runs, name) for name in names]
        if baseline is None:
            return studio.store.add_task("judge", "Round", single_items(runs), per_item=per_item)
        items = compare_items(runs, open_run(studio.studio.runs, baseline))
        return studio.store.add_task("compare", "Round", items, per_item=per_item)

    return make


@pytest.fixture
def rating(studio):
    """A new task with questions."""

    def make(items, kind="rate"):
        names = ["ours", "base"]
        options = {"rate": {}, "compare": {"pairs": "all"}}[kind]
        made, benchmark = make_items(studio.studio.runs, kind, names, **options)
        return studio.store.add_task(
            kind, "Own", made[:items], per_item=2, benchmark=benchmark, questions=QUESTIONS
        )

    return make


@pytest.fixture
def at(studio, browser):
    """A page of somebody who has opened a task."""
    contexts = []

    def open_task(task, name="Ann", **options):
        person = studio.store.add_annotator(name)
        contexts.append(
            browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
        )
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.goto(f"{studio.url}/tasks/{task.id}?token={person.token}")
        page.wait_for_selector("#item")
        return page

    yield open_task
    for context in contexts:
        context.close()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def answer(page, *keys):
    """Press keys that save, and wait for what comes next."""
    before = page.evaluate("document.getElementById('item').dataset.key")
    press(page, *keys)
    page.wait_for_function(
        "(key) => document.getElementById('item')?.dataset.key !== key", arg=before
    )


def label_of(studio, task, page_case):
    items = {item.id: item.case for item in studio.store.items(task.id)}
    return [label for label in labels(studio.store, task.id) if items[label.item] == page_case]


def case_on(page):
    return page.locator(".strip h1 .quiet").inner_text().removeprefix("· ")


def test_two_people_label_everything_with_the_keyboard_alone(studio, task, at):
    given = task("ours")
    sayings = {
        "Ann": [
            ("y", "0", "Enter"),
            ("n", "b", "Enter"),
            ("n", "c", "g", "Shift+g", "Enter"),
            ("y", "i", "i", "d", "Enter"),
        ],
        "Ben": [("y", "0", "Enter")] * 4,
    }
    meant = [
        Judgement(True),
        Judgement(False, "b"),
        Judgement(False, "g", ("c",)),
        Judgement(True, "d"),
    ]
    for name, keys in sayings.items():
        page = at(given, name)
        for number, one in enumerate(keys, start=1):
            expect(page.locator(".place span")).to_have_text(f"{number} of 4")
            answer(page, *one)
        expect(page.get_by_role("heading", name="Done")).to_be_visible()
    people = {one.name: one.id for one in studio.store.annotators()}
    said = labels(studio.store, given.id)
    assert [one.value for one in said if one.annotator == people["Ann"]] == meant
    assert len([one for one in said if one.annotator == people["Ben"]]) == 4
    assert all(0 < one.seconds < 600 for one in said)


def test_comparing_takes_one_key_and_counts_for_the_result_whichever_side_it_is_on(
    studio, task, at
):
    given = task("ours", baseline="base")
    page = at(given)
    ann = next(one for one in studio.store.annotators() if one.name == "Ann")
    items = {item.case: item for item in studio.store.items(given.id)}
    for key, side in (("1", "left"), ("ArrowRight", "right"), ("ArrowDown", "equal")):
        case = case_on(page)
        answer(page, key)
        (label,) = label_of(studio, given, case)
        won = (side == "left") == result_is_left(studio.store, ann, items[case])
        assert label.value == Choice("tie" if side == "equal" else "win" if won else "lose")


def test_an_answer_needs_both_parts_and_nothing_is_assumed(studio, task, at):
    given = task("ours")
    page = at(given)
    press(page, "Enter")
    expect(page.get_by_role("alert")).to_have_text("Is it usable? Press y or n.")
    press(page, "y", "Enter")
    expect(page.get_by_role("alert")).to_contain_text("What fails?")
    assert labels(studio.store, given.id) == []


def test_undo_shows_the_item_before_as_it_was_labelled(studio, task, at):
    given = task("ours")
    page = at(given)
    first = case_on(page)
    press(page, "m")
    page.keyboard.type("the menu y n s u")
    press(page, "Escape", "n", "g")
    answer(page, "a", "Enter")
    answer(page, "u")
    assert case_on(page) == first
    pressed = page.locator(".answer [aria-pressed=true]").evaluate_all(
        "all => all.map(one => one.dataset.value)"
    )
    assert pressed == ["no", "a", "g"]
    expect(page.locator("button[data-value=g] .main")).to_be_visible()
    expect(page.locator("textarea")).to_have_value("the menu y n s u")
    page.reload()
    assert case_on(page) == first
    answer(page, "Enter")
    (label,) = label_of(studio, given, first)
    assert (label.value, label.note) == (Judgement(False, "g", ("a",)), "the menu y n s u")


def test_skipping_puts_an_item_last_and_a_reload_keeps_what_was_typed(task, at):
    page = at(task("ours"))
    first = case_on(page)
    answer(page, "s")
    second = case_on(page)
    press(page, "n", "e", "m")
    page.keyboard.type("half a")
    page.reload()
    assert case_on(page) == second
    expect(page.locator("textarea")).to_have_value("half a")
    expect(page.locator("button[data-value=e]")).to_have_attribute("aria-pressed", "true")
    for _ in range(3):
        answer(page, "y", "0", "Enter")
    assert case_on(page) == first


def test_a_save_that_fails_is_tried_again_and_counts_once(studio, task, at):
    given = task("ours")
    page = at(given)
    failures = []

    def broken(route):
        failures.append(1)
        if len(failures) == 1:
            route.abort()
        else:  # it arrived, only the answer was lost
            route.fetch()
            route.abort() if len(failures) == 2 else route.continue_()

    page.route("**/answer", broken)
    press(page, "n", "b", "Enter")
    expect(page.get_by_role("alert")).to_contain_text("your answer is kept")
    expect(page.locator(".place span")).to_have_text("2 of 4")
    assert [one.value for one in labels(studio.store, given.id)] == [Judgement(False, "b")]
    page.unroute("**/answer")
    page.route("**/answer", lambda route: route.fulfill(status=400, body="Not today."))
    press(page, "y", "0", "Enter")
    expect(page.get_by_role("alert")).to_have_text("Not today.")
    expect(page.locator("button[data-value=yes]")).to_have_attribute("aria-pressed", "true")


def test_the_generated_page_works_and_the_keyboard_comes_back(task, at):
    page = at(task("ours"))
    frame = page.frame_locator("iframe")
    expect(frame.locator("#interact1")).to_be_visible()
    page.wait_for_timeout(1500)  # who clicks later than this meant to
    frame.locator("#interact1").click()
    expect(frame.locator("body")).to_contain_text("Added")
    expect(page.locator(".away")).to_be_visible()
    press(page, "y")
    expect(page.locator("button[data-value=yes]")).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="Take it back").click()
    expect(page.locator(".away")).to_be_hidden()
    press(page, "y")
    expect(page.locator("button[data-value=yes]")).to_have_attribute("aria-pressed", "true")
    press(page, "r")
    expect(frame.locator("body")).not_to_contain_text("Added")
    assert frame.locator("html").evaluate("() => innerWidth") == 640  # what it was made for


def test_a_page_that_grabs_the_keyboard_once_does_not_get_it(studio, task, at):
    given = task("eager", per_item=1)
    page = at(given)
    page.frame_locator("iframe").locator("[data-tried]").wait_for(state="attached")
    page.wait_for_timeout(1000)  # as long as people need to look
    press(page, "n", "a", "Enter")
    page.get_by_role("heading", name="Done").wait_for()
    assert [one.value for one in labels(studio.store, given.id)] == [Judgement(False, "a")]


def test_of_a_page_that_grabs_the_keyboard_for_good_people_are_told(task, at):
    page = at(task("greedy"))
    not_usable = page.locator("button[data-value=no]")
    told = page.locator(".away")
    for _ in range(100):
        page.keyboard.press("n")
        if told.is_visible() or not_usable.get_attribute("aria-pressed") == "true":
            break
        page.wait_for_timeout(100)
    else:
        pytest.fail("the keys went to the page and nobody was told")
    not_usable.click()
    expect(not_usable).to_have_attribute("aria-pressed", "true")


def test_help_tells_all_keys_and_views_can_be_changed_without_the_mouse(task, at):
    page = at(task("ours"))
    press(page, "?")
    expect(page.get_by_role("dialog")).to_be_visible()
    press(page, "y", "Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator("button[data-value=yes]")).to_have_attribute("aria-pressed", "false")
    press(page, "v")
    expect(page.locator(".reference .after")).to_be_hidden()
    press(page, "p")
    expect(page.locator(".seen .before")).to_be_visible()
    expect(page.locator("iframe")).to_be_hidden()
    press(page, "p", "z")
    expect(page.locator(".reference")).to_be_hidden()
    press(page, "z", "k")
    assert page.evaluate("document.activeElement.localName") == "iframe"


def test_where_no_page_was_generated_people_see_that_and_can_say_what_it_is_worth(studio, task, at):
    given = task("nothing", per_item=1)
    page = at(given)
    expect(page.get_by_text("No page was generated.")).to_be_visible()
    press(page, "n", "a", "Enter")
    page.get_by_role("heading", name="Done").wait_for()
    assert [one.value for one in labels(studio.store, given.id)] == [Judgement(False, "a")]


def test_own_questions_are_answered_with_digits_and_kept_over_a_reload(studio, rating, at):
    page = at(rating(4), "Rae")
    press(page, "Enter")
    expect(page.get_by_role("alert")).to_have_text("Not answered: How close?")
    press(page, "6", "2")  # each answer marks the next question
    expect(page.locator(".question.marked .ask")).to_have_text("Why?")
    press(page, "q", "q", "q")
    expect(page.locator(".question.marked textarea")).to_be_focused()
    page.keyboard.type("1 2 n")
    page.reload()
    expect(page.locator(".question textarea")).to_have_value("1 2 n")
    expect(page.get_by_role("button", name="6", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    page.get_by_role("button", name="7", exact=True).click()
    answer(page, "Enter")
    expect(page.locator(".picks [aria-pressed=true]")).to_have_count(0)
    (label,) = labels(studio.store, int(page.locator("#item-view").get_attribute("data-task")))
    assert dict(label.value.answers) == {"how_close": 7, "what": "colours", "why": "1 2 n"}
    answer(page, "u")
    expect(page.get_by_role("button", name="colours")).to_have_attribute("aria-pressed", "true")


def test_the_owner_makes_a_task_with_pairs_and_questions(studio, look):
    page = look(studio, "/tasks/new")
    page.get_by_role("radio", name="Which of two pages is better").check()
    page.get_by_role("radio", name="All pairs of the runs").check()
    expect(page.get_by_label("Baseline", exact=True)).to_be_hidden()
    for name in ("ours", "base"):
        page.locator(f"input[name=runs][value={name}]").check()
    expect(page.locator("#count")).to_contain_text("4 items")
    page.get_by_role("button", name="Add a question").click()
    rows = page.locator(".question-row")
    expect(rows).to_have_count(2)
    for row, ask, kind, options in ((0, "Sure?", "scale", ""), (1, "Which?", "choice", "a, b")):
        rows.nth(row).get_by_label("Question").fill(ask)
        rows.nth(row).get_by_label("Answer").select_option(kind)
        rows.nth(row).get_by_label("Options").fill(options)
    page.get_by_label("Title").fill("Made in the page")
    page.get_by_role("button", name="Create task").click()
    expect(page.locator("article.task").first).to_contain_text("2 questions")
    task = studio.store.tasks()[0]
    assert (task.title, task.kind, task.items) == ("Made in the page", "compare", 4)
    assert [(one.ask, one.kind, one.options) for one in task.questions] == [
        ("Sure?", "scale", ()),
        ("Which?", "choice", ("a", "b")),
    ]


def test_a_comparison_with_questions_is_saved_when_all_are_answered(studio, rating, at):
    given = rating(4, "compare")
    page = at(given, "Rae")
    press(page, "1", "Enter")
    expect(page.get_by_role("alert")).to_contain_text("Not answered")
    page.get_by_role("button", name="3", exact=True).click()
    page.get_by_role("button", name="text").click()
    answer(page, "Enter")
    (label,) = labels(studio.store, given.id)
    assert label.value.outcome in ("win", "lose")
    assert dict(label.value.answers) == {"how_close": 3, "what": "text"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_fit_every_window_and_everybody_can_use_them(studio, task, rating, at, theme):
    judge, compare = task("ours"), task("ours", baseline="base")
    rate, pairs = rating(4), rating(4, "compare")
    people = [studio.store.add_annotator(name).id for name in ("Zoe", "Yan")]
    said = (("how_close", 5), ("what", "text"), ("why", "long words " * 30))
    for person in people:
        for item in studio.store.items(rate.id)[:3]:
            save_label(studio.store, item.id, person, Rating(said))
        for item in studio.store.items(pairs.id)[:3]:
            save_label(studio.store, item.id, person, Choice("win", said))
    page = at(judge, "Zoe", color_scheme=theme)
    press(page, "n", "a", "g")
    found = []
    owner = f"token={studio.studio.access.owner_token}"
    for address in (
        f"/tasks/{judge.id}",
        f"/tasks/{compare.id}",
        f"/tasks/{rate.id}",
        f"/tasks/{pairs.id}",
        f"/tasks?{owner}",
        "/tasks/new",
        f"/tasks/{rate.id}/results",
        f"/tasks/{pairs.id}/results",
        "/people",
        "/runs/new",
        "/data",
    ):
        if address != f"/tasks/{judge.id}":
            page.goto(studio.url + address)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.evaluate(AXE.read_text("utf-8"))
        result = page.evaluate("axe.run(document, {iframes: false})")
        found += [
            (address, one["id"], [node["html"] for node in one["nodes"]])
            for one in result["violations"]
        ]
        for width, height in WIDTHS:
            page.set_viewport_size({"width": width, "height": height})
            over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if over > 0:
                found.append((address, width, over))
        page.set_viewport_size({"width": 1280, "height": 800})
    assert found == []
