from __future__ import annotations

import html
import json
import re

import pytest
from annotate_runs import PAGE, make_run
from studio_server import running_studio

from uiproof.benchmark import CaseError, Record
from uiproof.engine.rundir import encode
from uiproof.errors import InputError
from uiproof.labels import Choice, Item, Judgement
from uiproof.registry import benchmarks, resolve_dataset
from uiproof.studio.cases import case_files
from uiproof.studio.runs import find_runs, open_run
from uiproof.studio.store import labels, next_item, skip, undo
from uiproof.studio.tasks import compare_items, result_is_left, sample, single_items

NOTHING = CaseError("answer_empty", "answer", "nothing")
PAGES = {"shop/1": PAGE, "shop/2": PAGE, "blog/1": None}


@pytest.fixture
def runs(studio):
    folder = studio.studio.runs
    make_run(folder / "ours-run", PAGES)
    make_run(folder / "base-run", {**PAGES, "blog/1": PAGE, "more/1": PAGE}, model="other-model")
    return folder


def opened(folder, *names):
    return [open_run(folder, name) for name in names]


def shown(answer):
    """The key, the draft's name and the former label of the item on a page."""
    text = answer.json()["html"] if "json" in answer.headers["content-type"] else answer.text
    found = {
        name: html.unescape(re.search(f'data-{name}="([^"]*)"', text)[1])
        for name in ("key", "draft", "former")
    }
    return {**found, "text": text}


# Tasks from runs


def test_every_case_is_an_item_also_one_without_a_page(runs):
    items = single_items(opened(runs, "ours-run"))
    assert {(item.case, item.model, item.prompt, item.run) for item in items} == {
        (case, "secret-model", "secret-prompt", "ours-run") for case in PAGES
    }


def test_a_comparison_has_the_cases_that_both_runs_have_and_never_the_baseline_itself(runs):
    ours, base = opened(runs, "ours-run", "base-run")
    items = compare_items([ours, base], base)
    assert {item.case for item in items} == set(PAGES)
    assert {(item.run, item.baseline) for item in items} == {("ours-run", "base-run")}
    with pytest.raises(InputError, match="nothing to compare"):
        compare_items([base], base)


def test_runs_that_people_do_not_judge_this_way_are_refused(runs):
    make_run(runs / "pages", {"home": PAGE}, benchmark="design2code")
    with pytest.raises(InputError, match="design2code"):
        single_items(opened(runs, "pages"))
    with pytest.raises(InputError, match="other runs are not"):
        compare_items(opened(runs, "ours-run"), open_run(runs, "pages"))


def test_two_runs_of_one_model_and_prompt_are_refused_instead_of_dropping_one(runs):
    make_run(runs / "again", PAGES)
    with pytest.raises(InputError, match="same model and prompt"):
        single_items(opened(runs, "ours-run", "again"))


def test_a_sample_has_the_same_cases_of_every_run_and_is_the_same_for_a_seed():
    items = [Item(f"p/{n}", model) for n in range(20) for model in ("a", "b")]
    drawn = sample(items, 10, seed=3)
    assert drawn == sample(items, 10, seed=3) != sample(items, 10, seed=4)
    assert len(drawn) == 10
    assert len({item.case for item in drawn}) == 5
    assert sample(items, 99, seed=1) == items


def test_a_case_without_a_page_says_so_and_takes_its_reference_from_another_run(runs):
    alone = case_files(runs, "ours-run", "blog/1")
    assert (alone.page, alone.reference) == (None, ())
    assert alone.missing == "No page was generated."  # not the error's words, which name a model
    assert len(case_files(runs, "ours-run", "blog/1", ["ours-run", "base-run"]).reference) == 2


def test_a_case_that_failed_in_every_run_has_its_reference_from_the_data_set(studio, tmp_path):
    folder = studio.studio.runs
    data = resolve_dataset("design2code-demo")[1]
    page = make_run(folder / "pages", {"docs": PAGE}, benchmark="design2code")
    told(page.path, dataset_path=str(data))
    page.journal.write_bytes(encode(Record("docs", "failed", {}, error=NOTHING)))
    (picture,) = case_files(folder, "pages", "docs").reference
    assert (picture.label, picture.width) == ("Screenshot", 1280)
    assert picture.path.read_bytes().startswith(b"\x89PNG")
    shop = resolve_dataset("interaction2code-shop")[1]
    case = next(iter(benchmarks()["interaction2code"].cases(shop))).id
    run = make_run(folder / "acts", {case: None})
    told(run.path, dataset_path=str(shop))
    before, after = case_files(folder, "acts", case).reference
    assert [before.label, after.label] == ["Before", "After"]
    told(run.path, dataset_path=str(tmp_path / "gone"))
    assert case_files(folder, "acts", case).reference == ()


def told(run, **more):
    """Write more into the manifest of a run."""
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**manifest, **more}))


# Queues


def test_after_an_undo_that_item_is_shown_although_another_one_was_on_screen(studio, runs):
    task = studio.store.add_task("judge", "t", single_items(opened(runs, "ours-run")), per_item=1)
    ann = studio.store.add_annotator("Ann").id
    first = next_item(studio.store, task.id, ann)
    skip(studio.store, first.id, ann)
    next_item(studio.store, task.id, ann)
    undo(studio.store, task.id, ann)
    assert next_item(studio.store, task.id, ann) == first


def test_what_the_judge_is_not_sure_about_is_offered_first_to_everybody(studio, runs):
    pages = {f"p/{number}": PAGE for number in range(12)}
    make_run(runs / "doubtful", pages, model="third-model", unsure=("p/4", "p/9"))
    items = single_items(opened(runs, "doubtful"))
    task = studio.store.add_task("judge", "t", items, per_item=2, benchmark="interaction2code")
    for name in ("Ann", "Ben"):
        person = studio.client(studio.store.add_annotator(name).token)
        page = person.get(f"/tasks/{task.id}")
        assert "unless the place is the function" in page.text  # the guidelines, in the help
        item = shown(page)
        for _ in range(2):
            assert "unsure" not in item["text"]  # what the judge thinks is not to sway people
            answer = {"item": item["key"], "usable": True, "failure": "none"}
            item = shown(person.post(f"/tasks/{task.id}/answer", json=answer))
    labelled = {label.item for label in labels(studio.store, task.id)}
    assert {studio.store.item(one)[0].case for one in labelled} == {"p/4", "p/9"}


# Pages and what they send


def test_the_owner_makes_a_task_and_sees_before_how_much_work_it_is(studio, runs):
    owner = studio.client()
    form = {"kind": "judge", "runs": ["ours-run", "base-run"], "title": "Round 1", "per_item": "2"}
    assert "7 items" in owner.post("/tasks/new/count", data=form).text
    assert (
        "Choose the baseline"
        in owner.post("/tasks/new/count", data={**form, "kind": "compare"}).text
    )
    made = owner.post("/tasks/new", data={**form, "size": "4", "seed": "9"})
    assert made.headers["hx-redirect"] == "/tasks"
    (task,) = studio.store.tasks()
    assert (task.title, task.items, task.per_item) == ("Round 1", 4, 2)


def test_one_person_types_a_name_once_and_labels(studio, runs):
    task = studio.store.add_task("judge", "t", single_items(opened(runs, "ours-run")), per_item=1)
    owner = studio.client()
    assert "Your name" in owner.get(f"/tasks/{task.id}").text
    owner.post("/people/me", data={"name": "Ann"})
    item = shown(owner.get(f"/tasks/{task.id}"))
    answer = {"item": item["key"], "usable": False, "failure": "b", "also": ["g"], "note": "dead"}
    after = shown(owner.post(f"/tasks/{task.id}/answer", json=answer))
    assert after["key"] != item["key"]
    (label,) = labels(studio.store, task.id)
    assert (label.value, label.note) == (Judgement(False, "b", ("g",)), "dead")
    back = shown(owner.post(f"/tasks/{task.id}/undo"))
    assert json.loads(back["former"]) == {"usable": False, "failure": "b", "also": ["g"]}
    assert ">dead</textarea>" in back["text"]


def test_an_answer_that_arrives_twice_counts_once(studio, runs):
    task = studio.store.add_task("judge", "t", single_items(opened(runs, "ours-run")), per_item=1)
    ann = studio.client(studio.store.add_annotator("Ann").token)
    item = shown(ann.get(f"/tasks/{task.id}"))
    answer = {"item": item["key"], "usable": True, "failure": "none", "nonce": "n"}
    ann.post(f"/tasks/{task.id}/answer", json=answer)
    ann.post(f"/tasks/{task.id}/answer", json=answer)
    ann.post(f"/tasks/{task.id}/undo")
    assert labels(studio.store, task.id) == []


def test_answers_that_make_no_sense_are_refused_in_words(studio, runs):
    task = studio.store.add_task("judge", "t", single_items(opened(runs, "ours-run")), per_item=1)
    ann = studio.client(studio.store.add_annotator("Ann").token)
    item = shown(ann.get(f"/tasks/{task.id}"))
    for wrong in (
        {},
        {"usable": True},
        {"usable": "yes", "failure": "none"},
        {"usable": True, "failure": "z"},
        {"usable": True, "failure": "a", "also": "b"},
        {"usable": True, "failure": "a", "also": [1]},
        {"side": "left"},
    ):
        answer = ann.post(f"/tasks/{task.id}/answer", json={"item": item["key"], **wrong})
        assert answer.status_code == 400, wrong
        assert answer.headers["content-type"].startswith("text/plain")
    assert labels(studio.store, task.id) == []


def test_nobody_can_answer_for_somebody_else_or_with_a_made_up_key(studio, runs):
    task = studio.store.add_task("judge", "t", single_items(opened(runs, "ours-run")), per_item=1)
    ann, ben = (studio.client(studio.store.add_annotator(name).token) for name in ("Ann", "Ben"))
    item = shown(ann.get(f"/tasks/{task.id}"))
    good = {"usable": True, "failure": "none"}
    for key in (item["key"], "0" * 120, "x", 7, None, item["key"][:-1] + "0"):
        answer = ben.post(f"/tasks/{task.id}/answer", json={"item": key, **good})
        assert answer.status_code == 400
    assert labels(studio.store, task.id) == []


def test_sides_are_shuffled_by_item_and_person_and_stay(studio, runs):
    people = [studio.store.add_annotator(name) for name in ("Ann", "Ben")]
    many = [Item(f"p/{n}", "m", id=n) for n in range(200)]
    sides = [[result_is_left(studio.store, one, item) for item in many] for one in people]
    assert sides[0] != sides[1]
    assert all(60 < sum(one) < 140 for one in sides)
    ours, base = opened(runs, "ours-run", "base-run")
    task = studio.store.add_task("compare", "t", compare_items([ours], base), per_item=2)
    client = studio.client(people[0].token)
    before = shown(client.get(f"/tasks/{task.id}"))
    addresses = re.findall(r'src="(/frame/[^"]+)"', before["text"])
    assert addresses == re.findall(r'src="(/frame/[^"]+)"', client.get(f"/tasks/{task.id}").text)
    client.post(f"/tasks/{task.id}/answer", json={"item": before["key"], "side": "left"})
    (label,) = labels(studio.store, task.id)
    item = next(one for one in studio.store.items(task.id) if one.id == label.item)
    assert label.value == Choice("win" if result_is_left(studio.store, people[0], item) else "lose")
    back = shown(client.post(f"/tasks/{task.id}/undo"))
    assert json.loads(back["former"]) == {"side": "left"}


def test_nothing_that_an_annotator_gets_says_what_it_comes_from(studio, runs):
    base, other = opened(runs, "base-run", "ours-run")
    tasks = [
        studio.store.add_task("judge", "Round 1", single_items([base, other]), per_item=2),
        studio.store.add_task("compare", "Round 2", compare_items([other], base), per_item=2),
    ]
    ann = studio.client(studio.store.add_annotator("Ann").token)
    secrets = ("secret-", "other-model", "ours-run", "base-run", str(runs), "artifacts", "journal")
    for task in tasks:
        page = ann.get(f"/tasks/{task.id}")
        for count in range(8):
            text = page.json()["html"] if count else page.text
            if 'data-key="' not in text:
                break
            addresses = re.findall(r'(?:src|href)="(/(?:frame|picture)/[^"]+)"', text)
            assert addresses
            answers = [page, *(ann.get(address) for address in addresses)]
            for answer in answers:
                assert answer.status_code == 200
                said = str(answer.url) + str(answer.headers)
                if "image" not in answer.headers["content-type"]:
                    said += answer.text
                assert not [word for word in secrets if word in said]
                assert not {"etag", "last-modified"} & set(answer.headers)
            page = ann.post(f"/tasks/{task.id}/skip", json={"item": shown(page)["key"]})
    keys = {len(address) for address in addresses if address.startswith("/picture/")}
    assert len(keys) == 1  # a longer key would be one of a later item


def test_annotators_see_their_own_progress_alone(studio, runs):
    task = studio.store.add_task("judge", "t", single_items(opened(runs, "ours-run")), per_item=2)
    studio.store.add_annotator("Ben")
    ann = studio.client(studio.store.add_annotator("Ann").token)
    item = shown(ann.get(f"/tasks/{task.id}"))
    ann.post(
        f"/tasks/{task.id}/answer", json={"item": item["key"], "usable": True, "failure": "none"}
    )
    listed = ann.get("/tasks").text
    assert "1 of 3" in listed
    assert "Ben" not in listed
    assert "/results" not in listed


def test_a_new_link_closes_the_old_one(studio):
    ann = studio.store.add_annotator("Ann")
    owner = studio.client()
    assert f"/tasks?token={ann.token}" in owner.get("/people").text
    owner.post(f"/people/{ann.id}/link")
    assert studio.studio.access.visitor(ann.token) is None
    assert studio.store.annotators()[0].token in owner.get("/people").text


def test_what_comes_from_runs_and_people_is_text_and_nothing_else(tmp_path):
    attack = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
    with running_studio(tmp_path / "runs") as studio:
        folder = studio.studio.runs
        make_run(folder / "run", {f"{attack}/1": PAGE}, sentence=attack, model=attack)
        studio.store.add_task("judge", attack, single_items(find_runs(folder)), per_item=1)
        studio.store.add_annotator(attack)
        owner = studio.client()
        item = shown(owner.get("/tasks/1"))
        sent = {"item": item["key"], "usable": True, "failure": "none", "note": attack}
        owner.post("/tasks/1/answer", json=sent)
        for answer in (
            owner.get("/tasks"),
            owner.get("/tasks/new"),
            owner.get("/people"),
            owner.get("/tasks/1"),
            owner.post("/tasks/1/undo"),
        ):
            text = answer.json()["html"] if answer.request.method == "POST" else answer.text
            assert "<img src=x" not in text
            assert "<script>" not in text
            assert "onerror=alert(1)" in text
