"""Agreement, what counts in the end, and the tables that are made of it."""

from __future__ import annotations

import shutil

import pytest
from said_tasks import noisy_task, outcome, say, scored, without_page, written

from uiproof.labels import Choice, Item, Judgement
from uiproof.stats.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from uiproof.studio.cases import read_facts
from uiproof.studio.results import (
    agreement,
    disagreements,
    gather,
    machine_agreement,
    results_json,
    settled_items,
    task_results,
)
from uiproof.studio.store import Store, decide, save_label, undo

GOOD, BAD, PARTLY = Judgement(True), Judgement(False, "b"), Judgement(True, "i", ("f",))


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "studio.sqlite3")
    yield opened
    opened.close()


def judged(store, *people, models=("gpt",)):
    """A task about as many items as the first person has labels; people are called A, B, C."""
    count = len(people[0]) // len(models)
    items = [Item(f"{page}/1", model, "cot") for model in models for page in range(count)]
    task = store.add_task("judge", "Task", items, per_item=3)
    for name, values in zip("ABC", people, strict=False):
        say(store, task.id, name, values)
    return task.id


def test_coefficients_are_those_of_the_labels_with_their_pages_as_clusters(store):
    task = noisy_task(store)
    said = gather(store, task.id)
    found = agreement(said, "failure")
    rows = [[label.value.failure for label in by.values()] for by in said.labels.values()]
    pages = [item.page for item in said.items]
    assert found.fleiss == fleiss_kappa(rows, clusters=pages)
    assert found.alpha == krippendorff_alpha(rows, clusters=pages)
    assert found.fleiss.low < found.fleiss.value < found.fleiss.high
    assert list(found.pairs) == [("Ann", "Ben"), ("Ann", "Cleo"), ("Ben", "Cleo")]
    assert found.pairs["Ann", "Ben"] == cohen_kappa(
        [row[0] for row in rows], [row[1] for row in rows], clusters=pages
    )
    assert found.ordinal is None
    assert found.percent.mean == pytest.approx(
        sum(len(set(row)) == 1 for row in rows) / len(rows)
        + sum(len(set(row)) == 2 for row in rows) / len(rows) / 3
    )


def test_comparisons_have_an_ordinal_alpha_that_forgives_ties_more_than_reversals(store):
    items = [Item(f"{page}/1", "gpt") for page in range(6)]
    near, far = (store.add_task("compare", name, items, per_item=2).id for name in ("near", "far"))
    first = ["win", "win", "tie", "lose", "lose", "win"]
    say(store, near, "A", map(outcome, first))
    say(store, near, "B", map(outcome, ["tie", *first[1:]]))
    say(store, far, "A", map(outcome, first))
    say(store, far, "B", map(outcome, ["lose", *first[1:]]))
    close, apart = (agreement(gather(store, task), "outcome") for task in (near, far))
    assert close.ordinal.value > apart.ordinal.value
    assert close.alpha.value > close.ordinal.value - 1  # both are there
    assert close.split == apart.split == 1


def test_one_person_alone_agrees_with_nobody(store):
    task = judged(store, [GOOD, BAD])
    found = agreement(gather(store, task), "usable")
    assert (found.items, found.percent, found.fleiss.value, found.pairs) == (0, None, None, {})


def test_the_majority_counts_a_tie_is_open_and_a_decision_settles_it(store):
    task = judged(store, [GOOD, GOOD, GOOD], [GOOD, BAD, BAD], [BAD, None, PARTLY])
    person = store.annotators()[0].id
    first, tied, mixed = settled_items(gather(store, task))
    assert first.answers == {"usable": True, "failure": "none"}
    assert tied.answers == {"usable": None, "failure": None}
    assert tied.open
    # Two of three can use it, but no two say the same of what fails.
    assert mixed.answers == {"usable": True, "failure": None}
    assert mixed.open
    decide(store, tied.item.id, person, PARTLY)
    decide(store, first.item.id, person, BAD)
    first, tied, _ = settled_items(gather(store, task))
    assert tied.answers == {"usable": True, "failure": "i"}
    assert tied.decision is not None
    assert first.answers == {"usable": False, "failure": "b"}  # more than the majority
    decide(store, first.item.id, person, None)
    assert settled_items(gather(store, task))[0].answers["usable"] is True


def test_disagreements_list_what_was_said_the_most_frequent_first(store):
    task = judged(store, [GOOD, GOOD, BAD], [GOOD, BAD, BAD], [PARTLY, BAD, BAD])
    found = disagreements(gather(store, task))
    assert [one.item.case for one in found] == ["0/1", "1/1"]
    assert [(value.failure, names) for value, names in found[1].options()] == [
        ("b", ["B", "C"]),
        ("none", ["A"]),
    ]


def test_rates_stand_on_what_is_settled_and_say_how_much_that_is(store):
    task = judged(
        store,
        [GOOD, GOOD, BAD, GOOD] * 2,
        [GOOD, BAD, BAD, GOOD] + [None] * 4,
        models=("gpt", "claude"),
    )
    found = task_results(gather(store, task))
    rates = {name: (one.mean, one.n) for name, one in found.usability.items()}
    assert rates == {("gpt", "cot"): (2 / 3, 3), ("claude", "cot"): (0.75, 4)}
    assert (found.counts.items, found.counts.labelled, found.counts.open) == (8, 8, 1)
    assert all(one.low < one.mean < one.high for one in found.usability.values())
    failures = {row[0]: row[1] for row in found.failures.rows}
    assert (failures["no failure"], failures["(b) no interaction"]) == ("5", "2")


def test_an_item_whose_failure_alone_is_open_still_counts_as_usable(store):
    task = judged(store, [GOOD], [PARTLY])
    found = task_results(gather(store, task))
    assert [(one.mean, one.n) for one in found.usability.values()] == [(1.0, 1)]
    assert found.failures is None


def test_comparisons_are_shares_of_win_tie_and_lose(store):
    items = [Item(f"{page}/1", "gpt") for page in range(4)]
    task = store.add_task("compare", "Task", items, per_item=1).id
    say(store, task, "A", map(outcome, ["win", "win", "tie", "lose"]))
    found = task_results(gather(store, task)).comparisons
    shares = {names[2]: one.mean for names, one in found.items()}
    assert shares == {"win": 0.5, "tie": 0.25, "lose": 0.25}


def test_undone_and_replaced_labels_count_for_nothing(store):
    task = judged(store, [GOOD, GOOD])
    person = store.annotators()[0].id
    items = store.items(task)
    save_label(store, items[0].id, person, BAD)
    save_label(store, items[1].id, person, BAD)
    undo(store, task, person)
    assert [one.answers["usable"] for one in settled_items(gather(store, task))] == [False, True]


def with_runs(tmp_path, store, people, *, kind="judge"):
    """Ten cases in two runs; the first is usable and scores well where its number is even."""
    runs = tmp_path / "runs"
    records = {
        "new": [
            scored(f"{n}/1", failure="b" if n % 2 else "none", score=0.2 if n % 2 else 0.9)
            for n in range(10)
        ],
        "old": [scored(f"{n}/1", score=0.5) for n in range(10)],
    }
    for name, some in records.items():
        written(runs / name, "gpt", some, prompt="cot" if name == "new" else "direct")
    items = [
        Item(f"{n}/1", "gpt", "cot", run="new", baseline="old" if kind == "compare" else None)
        for n in range(10)
    ]
    task = store.add_task(kind, "Task", items, per_item=1).id
    say(store, task, "A", people)
    return runs, task


def test_the_verifier_is_set_beside_the_people(tmp_path, store):
    people = [BAD if n % 2 else GOOD for n in range(9)] + [GOOD]
    runs, task = with_runs(tmp_path, store, people)
    said = gather(store, task)
    found = machine_agreement(said, read_facts(runs, said.items))
    assert found.verifier.usable.mean == 0.9
    assert found.verifier.usable.low < 0.9 < found.verifier.usable.high
    assert found.verifier.kappa.value == pytest.approx(0.8)
    assert found.verifier.failure.mean == 0.9
    assert found.verifier.confusion == {(True, True): 5, (False, False): 4, (True, False): 1}
    metrics = {one.metric.key: one for one in found.metrics}
    assert "usable" not in metrics  # that is the verifier
    assert metrics["paper.full.ssim"].spearman.value == pytest.approx(0.8165, abs=1e-3)
    assert metrics["paper.full.ssim"].n == 10
    assert "paper.full.clip" not in metrics  # it was not measured


def test_a_metric_points_the_way_people_do_or_not(tmp_path, store):
    people = [Choice("lose" if n % 2 else "win") for n in range(8)] + [Choice("tie"), Choice("win")]
    runs, task = with_runs(tmp_path, store, people, kind="compare")
    said = gather(store, task)
    found = machine_agreement(said, read_facts(runs, said.items))
    assert found.verifier is None
    ssim = next(one for one in found.metrics if one.metric.key == "paper.full.ssim")
    assert (ssim.accuracy.mean, ssim.accuracy.n) == (pytest.approx(8 / 9), 9)  # ties do not count
    assert ssim.kappa.n == ssim.spearman.n == ssim.kendall.n == 10
    assert 0.5 < ssim.kendall.value < 1
    assert 0.5 < ssim.kappa.value < 1
    usable = next(one for one in found.metrics if one.metric.key == "usable")
    assert usable.accuracy.mean == pytest.approx(4 / 9)  # it never says win


def test_items_whose_run_is_gone_are_counted_and_not_compared(tmp_path, store):
    runs, task = with_runs(tmp_path, store, [GOOD] * 5 + [BAD] * 5)
    shutil.rmtree(runs / "new")
    say(store, store.add_task("judge", "x", [Item("1", "m")], per_item=1).id, "A", [GOOD])
    said = gather(store, task)
    found = machine_agreement(said, read_facts(runs, said.items))
    assert (found.items, found.unlinked, found.gone) == (10, 0, 10)
    assert (found.gone_runs, found.verifier, found.metrics) == (("new",), None, ())
    other = gather(store, task + 1)
    assert machine_agreement(other, read_facts(runs, other.items)).unlinked == 1


def test_a_case_for_which_there_was_no_page_is_a_missing_element(tmp_path, store):
    runs = tmp_path / "runs"
    written(runs / "run", "gpt", [without_page("1/1"), scored("2/1")], prompt="cot")
    items = [Item("1/1", "gpt", "cot", run="run"), Item("2/1", "gpt", "cot", run="run")]
    task = store.add_task("judge", "Task", items, per_item=1).id
    say(store, task, "A", [Judgement(False, "a"), GOOD])
    said = gather(store, task)
    assert machine_agreement(said, read_facts(runs, said.items)).verifier.failure.mean == 1


def test_tables_by_category_use_what_the_records_of_runs_say(tmp_path, store):
    runs, task = with_runs(tmp_path, store, [GOOD] * 5 + [BAD] * 5)
    said = gather(store, task)
    tags, visuals = task_results(said, read_facts(runs, said.items)).categories
    assert tags.header[2:] == ("button",)
    assert [row[2] for row in tags.rows] == ["0.5000", "10"]  # the rate, and n
    assert visuals.header[2:] == ("text",)
    assert results_json(said)["usability"][0]["rate"] == 0.5
