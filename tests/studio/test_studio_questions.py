"""Own questions, ratings and comparisons in pairs: from the form to tables and files."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import sqlite3
from collections import Counter

import pytest
from annotate_runs import PAGE, make_run
from said_tasks import say
from typer.testing import CliRunner

from uiproof.cli.studio import studio_app
from uiproof.errors import InputError
from uiproof.labels import Choice, Item, Judgement, Rating, questions_from_json
from uiproof.studio.label_bundle import export_task, import_labels
from uiproof.studio.results import agreements, gather, question_results, ranking
from uiproof.studio.store import Store, labels, save_label
from uiproof.studio.tasks import make_items

METHODS = ("a", "b", "c", "d", "e")
ASKED = [
    {"ask": "How close?", "kind": "scale", "options": ["far", "same"]},
    {"ask": "What is worst?", "kind": "choice", "options": ["text", "colours"]},
    {"ask": "Why?", "kind": "text"},
]


@pytest.fixture
def runs(studio):
    for name in METHODS:
        cases = {f"page{n}": PAGE for n in range(12)}
        make_run(studio.studio.runs / name, cases, model=name, prompt="", benchmark="design2code")
    return studio.studio.runs


def rating(close, worst="text", **more):
    return Rating((("how_close", close), ("what_is_worst", worst), *more.items()))


def rated(store, items=8, **options):
    given = [Item(f"p{n}", "m") for n in range(items)]
    questions = questions_from_json(ASKED)
    return store.add_task("rate", "t", given, per_item=3, questions=questions, **options)


def test_a_rating_goes_from_the_form_to_the_page_and_into_the_results(studio, runs):
    studio.store.add_annotator("Ann")
    owner = studio.client()
    form = {
        "kind": "rate",
        "runs": ["a", "b"],
        "per_item": "1",
        "ask": [one["ask"] for one in ASKED] + [""],
        "answer": [one["kind"] for one in ASKED] + ["scale"],
        "options": ["far, same", "text, colours", "left over", ""],
    }
    assert "24 items" in owner.post("/tasks/new/count", data=form).text
    nothing = {**form, "ask": [""] * 4}
    assert "at least one question" in owner.post("/tasks/new/count", data=nothing).text
    assert owner.post("/tasks/new", data={**form, "options": ["x", "", "", ""]}).status_code == 400
    assert owner.post("/tasks/new", data=form).status_code == 200
    (task,) = studio.store.tasks()
    assert task.questions == questions_from_json(ASKED)
    page = owner.get("/tasks/1").text
    assert all(text in page for text in ("How close?", "colours", "far", "Why?"))
    answer = {"item": html.unescape(re.search('data-key="([^"]*)"', page)[1])}
    for wrong in ({}, {"how_close": 8, "what_is_worst": "text"}, {"how_close": 3}, {"x": 1}, []):
        assert owner.post("/tasks/1/answer", json={**answer, "answers": wrong}).status_code == 400
    said = {"how_close": 6, "what_is_worst": "text", "why": "  =1+1 "}
    assert owner.post("/tasks/1/answer", json={**answer, "answers": said}).status_code == 200
    (label,) = labels(studio.store, 1)
    assert label.value == rating(6, why="=1+1")
    back = owner.post("/tasks/1/undo").json()["html"]
    former = html.unescape(re.search('data-former="([^"]*)"', back)[1])
    assert json.loads(former)["answers"] == {**said, "why": "=1+1"}
    save_label(studio.store, label.item, 1, label.value)
    results = owner.get("/tasks/1/results").text
    assert "Mean, 1 to 7" in results
    assert "=1+1" in results
    assert owner.get("/tasks/1/results/runs").status_code == 200


def test_questions_that_cannot_be_asked_are_refused_with_the_remedy():
    for wrong in (
        {},
        "x",
        [1],
        [{"ask": "", "kind": "text"}],
        [{"ask": "x", "kind": "slider"}],
        [{"ask": "x", "kind": "choice", "options": ["one", "one"]}],
        [{"ask": "x", "kind": "choice", "options": "ab"}],
        [{"ask": "x", "kind": "scale", "options": ["low"]}],
        [{"ask": "x", "kind": "text", "key": "usable"}],
        [{"ask": "x", "kind": "text", "key": "a b"}],
        [{"ask": "x", "kind": "text", "required": True}],
    ):
        with pytest.raises(InputError):
            questions_from_json(wrong)
    twice = questions_from_json([{"ask": "Note", "kind": "text"}, {"ask": "note?", "kind": "text"}])
    assert [one.key for one in twice] == ["note_2", "note_3"]  # a column of every table is `note`


def test_means_shares_and_agreement_of_each_question(tmp_path):
    store = Store(tmp_path / "s.sqlite3")
    task = rated(store, items=2).id
    say(store, task, "Ann", [rating(2), rating(6)])
    say(store, task, "Ben", [rating(4, "colours", why="small"), rating(6)])
    say(store, task, "Cleo", [None, rating(7, "colours")])
    said = gather(store, task)
    scale, choice, text = question_results(said)
    # Every item weighs the same: (3 + 19/3) / 2, and (1/2 + 2/3) / 2.
    assert scale.means["m", ""]["mean"].mean == pytest.approx((3 + 19 / 3) / 2)
    assert choice.means["m", ""]["text"].mean == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert [(item.case, by, words) for item, by, words in text.texts] == [("p0", "Ben", "small")]
    close, worst = agreements(said)
    assert (close.facet, close.items, close.split) == ("how_close", 2, 2)
    assert close.fleiss is None
    # By hand for 2 4 | 6 6 7: coincidences 24, 66 and 67, squared distances by ranks 1 and 2.25.
    assert close.ordinal.value == pytest.approx(1 - 4 * 6.5 / 95)
    assert worst.ordinal is None
    assert worst.fleiss.n == 2


def test_ratings_survive_an_export_and_are_a_table(tmp_path):
    store, other = Store(tmp_path / "one.sqlite3"), Store(tmp_path / "two.sqlite3")
    task = rated(store, items=3).id
    say(store, task, "Ann", [rating(2), rating(6, why="@x"), None], note="=cmd()")
    say(store, task, "Ben", [rating(4), None, rating(7)])
    files = export_task(store, task, tmp_path / "out")
    assert sorted(file.name for file in files) == ["labels.csv", "labels.jsonl"]
    import_labels(other, [tmp_path / "out"])
    assert other.task(1).questions == store.task(task).questions
    assert gather(other, 1).n_labels == 4
    (again,) = import_labels(other, [tmp_path / "out"]).tasks
    assert (again.labels, again.new) == (0, False)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "labels.csv").read_text())))
    assert [(row["case"], row["by"], row["how_close"]) for row in rows] == [
        ("p0", "Ann", "2"),
        ("p0", "Ben", "4"),
        ("p1", "Ann", "6"),
        ("p2", "Ben", "7"),
    ]
    assert (rows[2]["why"], rows[2]["note"]) == ("'@x", "'=cmd()")  # no formula of a spreadsheet
    judged = other.add_task("judge", "other", [Item("p0", "m")], per_item=1).id
    with pytest.raises(InputError):
        import_labels(other, [tmp_path / "out"], into=judged)


def test_judging_and_comparing_can_ask_more(tmp_path):
    store = Store(tmp_path / "s.sqlite3")
    (sure,) = questions_from_json([{"ask": "Sure?", "kind": "scale"}])
    judge = store.add_task("judge", "j", [Item("p", "m")], per_item=1, questions=[sure]).id
    compare = store.add_task("compare", "c", [Item("p", "m")], per_item=1, questions=[sure]).id
    ann = store.add_annotator("Ann").id
    for task, value in (
        (judge, Judgement(True, answers=(("sure", 5),))),
        (compare, Choice("win", (("sure", 2),))),
    ):
        item = store.items(task)[0].id
        save_label(store, item, ann, value)
        assert [one.value for one in labels(store, task)] == [value]
        with pytest.raises(InputError):
            save_label(store, item, ann, rating(3))
        assert [one.facet for one in agreements(gather(store, task))][-1] == "sure"


# Pairs


def test_all_pairs_and_a_sparse_design_of_five_runs(runs):
    dense, benchmark = make_items(runs, "compare", METHODS, pairs="all")
    assert (len(dense), benchmark) == (12 * 10, "design2code")
    sparse, _ = make_items(runs, "compare", METHODS, pairs="sparse", seed=3)
    assert len(sparse) == 12 * 5
    for case in {item.case for item in sparse}:
        met = Counter(name for i in sparse if i.case == case for name in (i.model, i.against))
        assert set(met.values()) == {2}
    some, _ = make_items(runs, "compare", METHODS, pairs="sparse", size=20, seed=3)
    assert (len(some), len({item.case for item in some})) == (20, 4)
    pairs = Counter(frozenset((item.model, item.against)) for item in some)
    assert set(pairs.values()) == {2}  # balanced over those that are kept
    with pytest.raises(InputError, match="at least two runs"):
        make_items(runs, "compare", ["a"], pairs="all")


def test_a_ranking_from_pairs_counts_ties_half_and_decisions_whole(tmp_path, studio, runs):
    items, benchmark = make_items(runs, "compare", METHODS, pairs="all")
    store = studio.store
    task = store.add_task("compare", "t", items, per_item=2, benchmark=benchmark).id

    def better(item, tie="tie"):
        first, second = METHODS.index(item.model), METHODS.index(item.against)
        if {first, second} == {0, 1}:
            return Choice(tie)
        return Choice("win" if first < second else "lose")

    say(store, task, "Ann", [better(item) for item in items])
    say(store, task, "Ben", [better(item) for item in items])
    found = ranking(gather(store, task))
    assert {one.name for one in found.ranked[:2]} == {"a", "b"}
    assert found.ranked[0].strength == pytest.approx(found.ranked[1].strength)
    assert [one.name for one in found.ranked[2:]] == ["c", "d", "e"]
    assert found.pairs["a", "b"] == (6.0, 12)
    assert found.pairs["c", "d"] == (12.0, 12)
    assert all(one.low <= one.strength <= one.high for one in found.ranked)
    owner = studio.client()
    page = owner.get(f"/tasks/{task}/results").text
    assert "Ranking" in page
    assert "Against the baseline" not in page
    numbers = owner.get(f"/tasks/{task}/results.json").json()["ranking"]
    assert [one["name"] for one in numbers["methods"]][2:] == ["c", "d", "e"]
    table = owner.get(f"/tasks/{task}/labels.csv")
    assert table.content.startswith(b"\xef\xbb\xbfcase,model,prompt,against,by")
    assert len(table.text.splitlines()) == 1 + 2 * len(items)
    export_task(store, task, tmp_path / "out")
    other = Store(tmp_path / "other.sqlite3")
    import_labels(other, [tmp_path / "out"])
    assert ranking(gather(other, 1)) == found


def test_methods_that_never_met_have_no_common_ranking(tmp_path):
    store = Store(tmp_path / "s.sqlite3")
    items = [Item("p", "a", against="b"), Item("p", "c", against="d")]
    task = store.add_task("compare", "t", items, per_item=1).id
    say(store, task, "Ann", [Choice("win"), Choice("win")])
    assert "never compared" in ranking(gather(store, task)).problem


def test_a_task_with_questions_is_made_on_the_command_line(tmp_path, runs):
    file = tmp_path / "questions.json"
    file.write_text(json.dumps(ASKED))
    command = ["task", "a", "b", "--questions", str(file), "--size", "6", "--runs", str(runs)]
    done = CliRunner().invoke(studio_app, command)
    assert done.exit_code == 0, done.output
    assert "6 items" in done.output
    compare = ["task", *METHODS, "--kind", "compare", "--pairs", "sparse", "--runs", str(runs)]
    assert "60 items" in CliRunner().invoke(studio_app, compare).output
    file.write_text("{")
    failed = CliRunner().invoke(studio_app, command)
    assert isinstance(failed.exception, InputError)
    assert "not JSON" in failed.exception.message


def test_a_file_of_an_earlier_version_keeps_its_labels_and_takes_pairs(tmp_path):
    path = tmp_path / "old.sqlite3"
    with sqlite3.connect(path) as db:
        db.executescript(
            "CREATE TABLE annotators (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
            "token TEXT NOT NULL UNIQUE, at TEXT NOT NULL);"
            "CREATE TABLE tasks (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, "
            "title TEXT NOT NULL, per_item INTEGER NOT NULL, at TEXT NOT NULL);"
            "CREATE TABLE items (id INTEGER PRIMARY KEY AUTOINCREMENT, task INTEGER NOT NULL "
            'REFERENCES tasks, "case" TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL, '
            'run TEXT, baseline TEXT, UNIQUE (task, "case", model, prompt));'
            "CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, item "
            "INTEGER NOT NULL REFERENCES items, annotator INTEGER NOT NULL REFERENCES annotators, "
            "action TEXT NOT NULL, value TEXT, note TEXT NOT NULL DEFAULT '', seconds REAL, undoes "
            "INTEGER REFERENCES events, nonce TEXT UNIQUE);"
            "INSERT INTO annotators VALUES (1, 'Ann', 't', 'x');"
            "INSERT INTO tasks VALUES (1, 'compare', 'old', 1, 'x');"
            "INSERT INTO items VALUES (7, 1, 'p', 'm', '', NULL, NULL);"
            "INSERT INTO events (at, item, annotator, action, value) "
            "VALUES ('x', 7, 1, 'label', '{\"outcome\": \"win\"}');"
        )
    store = Store(path)
    assert [one.value for one in labels(store, 1)] == [Choice("win")]
    assert store.task(1).questions == ()
    items = [Item("p", "a", against="b"), Item("p", "a", against="c")]
    task = store.add_task("compare", "new", items, per_item=1).id
    assert [(item.against, item.id) for item in store.items(task)] == [("b", 8), ("c", 9)]
    save_label(store, 8, 1, Choice("tie"))
    assert Store(path).item(7)[0].model == "m"
