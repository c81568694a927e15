"""Labels as files: what goes out comes back the same, and published files give published rates."""

from __future__ import annotations

import json
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from said_tasks import noisy_task, published, say, scored, written
from typer.testing import CliRunner

from uiproof.benchmarks.interaction2code.analyses.labels import read_label_folder
from uiproof.cli import app
from uiproof.errors import InputError
from uiproof.labels import Choice, Item, Judgement
from uiproof.studio.label_bundle import export_task, import_labels
from uiproof.studio.results import gather, results_json, task_results
from uiproof.studio.store import Store, decide, save_label, undo

RATES = {
    "gemini": (46.26, 52.41, 63.10),
    "gpt": (72.73, 73.53, 80.21),
    "claude": (65.51, 68.18, 76.20),
}
GOOD, BAD = Judgement(True), Judgement(False, "b", ("g", "i"))


@pytest.fixture
def studio(tmp_path):
    opened = {}

    def open_store(name="one"):
        if name not in opened:
            opened[name] = Store(tmp_path / f"{name}.sqlite3")
        return opened[name]

    yield open_store
    for store in opened.values():
        store.close()


def everything(store, task):
    """What a task holds, without the numbers that each studio gives anew."""
    said = gather(store, task)
    cases = {item.id: (item.case, item.model, item.prompt, item.run) for item in said.items}
    return {
        "task": (said.task.kind, said.task.title, said.task.per_item, said.task.created),
        "items": list(cases.values()),
        "labels": {
            (cases[item], name): (one.value, one.note, one.at, one.seconds)
            for item, by in said.labels.items()
            for name, one in by.items()
        },
        "decisions": {
            cases[item]: (one.value, one.note, one.at, said.names[one.annotator])
            for item, one in said.decisions.items()
        },
    }


def numbers(store, task):
    found = results_json(gather(store, task))
    found["task"].pop("id")
    return found


def test_the_published_label_files_give_the_published_rates(studio, shared_data):
    folder = shared_data / "data" / "interaction2code"
    done = import_labels(studio(), [folder / "human_failure", folder / "human_compare"])
    assert [(one.items, one.labels) for one in done.tasks] == [(6732, 6732), (6358, 6358)]
    assert not done.problems
    judged, compared = (task_results(gather(studio(), one.task)) for one in done.tasks)
    rates = {name: round(100 * one.mean, 2) for name, one in judged.usability.items()}
    for model, expected in RATES.items():
        assert tuple(rates[model, prompt] for prompt in ("direct", "cot", "mark")) == expected
    assert {one.n for one in judged.usability.values()} == {374}
    titles = [grid.title for grid in (*judged.published, *compared.published)]
    assert [title.rpartition("(")[2] for title in titles] == [
        *("Fig. 6b)", "Table 7)", "Fig. 9)", "Fig. 6a)"),
    ]


def test_the_command_line_imports_prints_and_exports_them(tmp_path):
    folder = published(tmp_path / "labels")
    for file in folder.glob("compare_*.json"):
        file.unlink()

    def run(*arguments):
        done = CliRunner().invoke(app, ["studio", *map(str, arguments)])
        assert done.exit_code == 0, done.output
        return done.output

    runs, other = ("--runs", tmp_path), ("--runs", tmp_path / "other")
    assert "10 labels added" in run("import", folder, *runs)
    printed = run("results", "--json", tmp_path / "first.json", *runs)
    assert "80.00" in printed
    assert "60.00" in printed
    run("export", tmp_path / "out", *runs)
    read = read_label_folder(tmp_path / "out" / "task-1" / "majority")
    original = read_label_folder(folder)
    assert [set(file.labels) for file in read.failures] == [
        set(file.labels) for file in original.failures
    ]
    run("import", tmp_path / "out", *other)
    assert run("results", "--json", "-", *other) == (tmp_path / "first.json").read_text()


def test_what_the_command_line_cannot_do_it_says(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(app, ["studio", *map(str, arguments)])

    assert "no studio file" in str(run("results", "--runs", tmp_path).exception)
    folder = published(tmp_path / "labels", models=("gpt",))
    (folder / "notes.json").write_text("{}")
    done = run("--runs", tmp_path, "import", folder)  # options may stand before the verb
    assert done.exit_code == 1
    assert "not read: Left out" in done.stderr
    assert "no task 9" in str(
        run("export", tmp_path / "x", "--task", 9, "--runs", tmp_path).exception
    )
    assert run("export", tmp_path / "y", "--task", 1, "--runs", tmp_path).exit_code == 0
    assert (tmp_path / "y" / "labels.jsonl").is_file()


texts = st.text(min_size=1, max_size=12)
names = texts.map(lambda text: " ".join(text.split())).filter(bool)
judgements = st.builds(Judgement, st.booleans(), st.sampled_from(["none", "a", "j"])) | st.builds(
    Judgement, st.booleans(), st.just("c"), st.sets(st.sampled_from("abdej")).map(tuple)
)
choices = st.builds(Choice, st.sampled_from(["win", "tie", "lose"]))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), kind=st.sampled_from(["judge", "compare"]))
def test_any_task_comes_back_exactly(tmp_path_factory, data, kind):
    folder = tmp_path_factory.mktemp("any")
    first, second = Store(folder / "1.sqlite3"), Store(folder / "2.sqlite3")
    values = judgements if kind == "judge" else choices
    items = data.draw(
        st.lists(st.builds(Item, texts, st.text(max_size=9), st.text(max_size=9)), min_size=1)
    )
    title = data.draw(texts.filter(str.strip))
    task = first.add_task(kind, title, items, per_item=2)
    for name in data.draw(st.lists(names, max_size=3)):
        person = first.add_annotator(name)
        for item in first.items(task.id):
            if (value := data.draw(st.none() | values)) is not None:
                note, seconds = data.draw(st.text(max_size=9)), data.draw(st.none() | st.just(3.25))
                save_label(first, item.id, person.id, value, note=note, seconds=seconds)
        if data.draw(st.booleans()):
            undo(first, task.id, person.id)
            decide(first, first.items(task.id)[0].id, person.id, data.draw(values))
    files = export_task(first, task.id, folder / "out")
    assert all(file.resolve().is_relative_to(folder / "out") for file in files)
    for _ in range(2):
        import_labels(second, [folder / "out" / "labels.jsonl"])
    assert everything(second, 1) == everything(first, task.id)
    assert numbers(second, 1) == numbers(first, task.id)
    export_task(second, 1, folder / "again")
    lines = [(folder / name / "labels.jsonl").read_bytes() for name in ("out", "again")]
    assert lines[0] == lines[1]
    first.close()
    second.close()


def test_importing_again_adds_nothing_and_later_labels_are_kept(tmp_path, studio):
    store = studio()
    task = noisy_task(store)
    export_task(store, task.id, tmp_path / "old")
    person, item = store.annotators()[0].id, store.items(task.id)[0].id
    save_label(store, item, person, Judgement(False, "j"))
    undo(store, task.id, store.annotators()[1].id)  # what was taken back stays taken back
    before = everything(store, task.id)
    done = import_labels(store, [tmp_path / "old"])
    assert [(one.task, one.new, one.items, one.labels) for one in done.tasks] == [
        (task.id, False, 0, 0)
    ]
    assert everything(store, task.id) == before
    export_task(store, task.id, tmp_path / "new")
    import_labels(studio("two"), [tmp_path / "old"])
    done = import_labels(studio("two"), [tmp_path / "new"])  # only what came meanwhile
    assert [one.labels for one in done.tasks] == [1]
    said = gather(studio("two"), 1)
    assert said.labels[said.items[0].id]["Ann"].value == Judgement(False, "j")


def test_published_files_of_several_people_come_together_in_one_task(tmp_path, studio):
    store = studio()
    published(tmp_path / "ann")
    published(tmp_path / "ben", models=("claude", "gpt"))  # says the other way round
    for name in ("ann", "ben", "ben"):
        import_labels(store, [tmp_path / name], annotator=name)
    assert [task.kind for task in store.tasks()] == ["compare", "judge"]
    said = gather(store, store.tasks()[1].id)
    assert said.people == ["ann", "ben"]
    assert said.n_labels == 20
    corrected = published(tmp_path / "ann", models=("gpt", "claude"), pages=5)
    file = corrected / "failure_cot_prompt_gpt.json"
    file.write_text(file.read_text().replace('"2/1"', '"1/1"'))
    done = import_labels(store, [corrected], annotator="ann")
    assert [(one.labels, one.known) for one in done.tasks] == [(1, 9), (0, 10)]


def test_the_files_of_an_export_can_be_imported_without_its_labels_jsonl(tmp_path, studio):
    task = noisy_task(studio())
    export_task(studio(), task.id, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out" / "annotators").iterdir()) == [
        *("Ann", "Ben", "Cleo")
    ]
    import_labels(studio("two"), [tmp_path / "out" / "annotators"])
    theirs, ours = numbers(studio("two"), 1), numbers(studio(), task.id)
    assert theirs["agreement"] == ours["agreement"]
    assert theirs["usability"] == ours["usability"]


def test_what_is_open_is_not_in_the_majority(tmp_path, studio):
    store = studio()
    items = [Item(f"{page}/1", "gpt", "cot") for page in range(3)]
    task = store.add_task("judge", "Task", items, per_item=2).id
    say(store, task, "A", [GOOD, GOOD, BAD])
    say(store, task, "B", [GOOD, BAD, BAD])
    export_task(store, task, tmp_path / "out")
    content = json.loads((tmp_path / "out/majority/failure_cot_prompt_gpt.json").read_text())
    assert content == {"0/1-cot_prompt-gpt.html": "0/0", "2/1-cot_prompt-gpt.html": "2/1"}


def test_items_are_linked_to_runs_of_the_same_model_prompt_and_case(tmp_path, studio):
    runs = tmp_path / "runs"
    written(runs / "a", "openai/gpt-4o", [scored("1/1"), scored("2/1")], prompt="cot")
    written(runs / "b", "gemini", [scored("1/1")], prompt="direct")
    folder = published(tmp_path / "labels", models=("openai-gpt-4o",), pages=3)
    import_labels(studio(), [folder], runs=runs)
    judged, compared = (studio().items(task) for task in (1, 2))
    assert [(item.run, item.baseline) for item in judged] == [
        ("a", None),
        ("a", None),
        (None, None),
    ]
    assert [(item.run, item.baseline) for item in compared] == [
        ("a", "b"),
        ("a", None),
        (None, None),
    ]
    written(runs / "c", "openai/gpt-4o", [scored("3/1")], prompt="cot")  # it comes later
    import_labels(studio(), [folder], runs=runs)
    assert [item.run for item in studio().items(1)] == ["a", "a", "c"]


def test_whole_pages_and_odd_names_can_be_read_back_from_published_files(tmp_path, studio):
    items = [
        Item("home", "a/b", ""),
        Item("home", "a-b", ""),
        Item("x/y/1-2", "a/b", "p_prompt_q"),
        Item("x_y/1_2", "a/b", "p_prompt_q"),
    ]
    task = studio().add_task("judge", "Task", items, per_item=1).id
    say(studio(), task, "A", [GOOD, BAD, GOOD, BAD])
    files = export_task(studio(), task, tmp_path / "out")
    assert len({file for file in files if "majority" in file.parts}) == 3
    done = import_labels(studio("two"), [tmp_path / "out" / "majority"])
    assert not done.problems
    assert done.tasks[0].labels == 4
    assert {item.case for item in studio("two").items(1)} == {"home", "x_y/1_2", "x_y_/1_2"}


def test_what_cannot_be_read_is_told_and_the_rest_is_imported(tmp_path, studio):
    folder = published(tmp_path / "labels", models=("gpt",))
    (folder / "failure_mark_prompt_gpt.json").write_text('{"1/1-x": "0/0", "2/1-x": "77/0"}')
    (folder / "notes.json").write_text("{}")
    done = import_labels(studio(), [folder])
    assert len(done.problems) == 2
    assert any("notes.json" in problem for problem in done.problems)
    assert any("'77/0' is not a label" in problem for problem in done.problems)
    assert done.tasks[0].labels == 6


def test_labels_can_be_added_to_a_task_that_is_there(tmp_path, studio):
    items = [Item(f"{page}/1", model, "cot") for model in ("gpt", "claude") for page in range(1, 6)]
    task = studio().add_task("judge", "Mine", items, per_item=2).id
    folder = published(tmp_path / "labels")
    failures = sorted(folder.glob("failure*"))
    done = import_labels(studio(), failures, annotator="Ann", into=task)
    assert [(one.task, one.items, one.labels) for one in done.tasks] == [(task, 0, 10)]
    with pytest.raises(InputError, match="no task 1 for such labels"):
        import_labels(studio(), [folder], into=task)
    assert len(studio().tasks()) == 1


def test_a_zip_file_is_as_good_as_a_folder(tmp_path, studio):
    folder = published(tmp_path / "labels")
    with zipfile.ZipFile(tmp_path / "labels.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"some/where/{file.name}")
        archive.writestr("__MACOSX/._failure_cot_prompt_gpt.json", b"\0\1")
    import_labels(studio(), [tmp_path / "labels.zip"])
    import_labels(studio("two"), [folder])
    assert numbers(studio(), 1) == numbers(studio("two"), 1)


def test_an_export_needs_an_empty_folder(tmp_path, studio):
    task = noisy_task(studio())
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="not empty"):
        export_task(studio(), task.id, tmp_path)
