from __future__ import annotations

import pytest

from uiproof.errors import InputError
from uiproof.labels import Choice, Item, Judgement
from uiproof.studio.store import (
    EditConflictError,
    Store,
    decide,
    decision_labels,
    edits,
    labels,
    next_item,
    progress,
    save_edit,
    save_label,
    skip,
    undo,
)

GOOD = Judgement(usable=True)
BAD = Judgement(usable=False, failure="b", also=("g", "f"))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "studio.sqlite3")


def some_task(store, items=3, per_item=2, kind="judge"):
    return store.add_task(
        kind, "t", [Item(f"1/{n}", "gpt", "direct") for n in range(items)], per_item=per_item
    )


def test_a_name_is_one_person_whatever_its_capitals(store):
    assert store.add_annotator(" Ann  Lee") == store.add_annotator("ann lee")


def test_everybody_gets_each_item_once_until_enough_have_labelled_it(store):
    task = some_task(store, items=4, per_item=2)
    people = [store.add_annotator(name).id for name in ("a", "b", "c")]
    seen = {person: [] for person in people}
    while True:
        shown = [(p, next_item(store, task.id, p)) for p in people]
        if all(item is None for _, item in shown):
            break
        for person, item in shown:
            if item is not None:
                save_label(store, item.id, person, GOOD)
                seen[person].append(item.id)
    assert sum(map(len, seen.values())) == 8
    assert all(len(set(ids)) == len(ids) for ids in seen.values())


def test_an_item_stays_until_it_is_answered(store):
    task = some_task(store)
    ann = store.add_annotator("Ann").id
    first = next_item(store, task.id, ann)
    assert next_item(store, task.id, ann) == first
    save_label(store, first.id, ann, GOOD)
    assert next_item(store, task.id, ann) != first


def test_a_skipped_item_comes_back_last(store):
    task = some_task(store)
    ann = store.add_annotator("Ann").id
    skipped = next_item(store, task.id, ann)
    skip(store, skipped.id, ann)
    order = []
    while item := next_item(store, task.id, ann):
        order.append(item.id)
        save_label(store, item.id, ann, GOOD)
    assert order[-1] == skipped.id
    assert len(order) == 3


def test_undo_brings_back_what_was_said_before_and_shows_the_item_again(store):
    task = some_task(store)
    ann = store.add_annotator("Ann").id
    item = next_item(store, task.id, ann)
    save_label(store, item.id, ann, GOOD)
    save_label(store, item.id, ann, BAD, note="the menu stays closed")
    assert [(one.value, one.note) for one in labels(store, task.id)] == [
        (BAD, "the menu stays closed")
    ]
    assert undo(store, task.id, ann) == item.id
    assert [one.value for one in labels(store, task.id)] == [GOOD]
    assert undo(store, task.id, ann) == item.id
    assert labels(store, task.id) == []
    assert next_item(store, task.id, ann) == item
    assert undo(store, task.id, ann) is None


def test_a_label_must_fit_its_task(store):
    task = some_task(store, kind="compare")
    ann = store.add_annotator("Ann").id
    with pytest.raises(InputError):
        save_label(store, store.items(task.id)[0].id, ann, GOOD)
    with pytest.raises(InputError):
        Judgement(usable=True, failure="k")
    with pytest.raises(InputError):
        Choice("better")


def test_a_decision_settles_and_can_be_taken_back(store):
    task = some_task(store)
    ann = store.add_annotator("Ann").id
    item = store.items(task.id)[0].id
    decide(store, item, ann, BAD)
    assert [(one.item, one.value) for one in decision_labels(store, task.id)] == [(item, BAD)]
    decide(store, item, ann, None)
    assert decision_labels(store, task.id) == []


def test_progress_counts_what_is_left_for_a_person(store):
    task = some_task(store, items=3, per_item=1)
    ann, ben = (store.add_annotator(name).id for name in ("Ann", "Ben"))
    save_label(store, next_item(store, task.id, ann).id, ann, GOOD)
    assert (progress(store, task.id, ann).done, progress(store, task.id, ann).open) == (1, 2)
    assert (progress(store, task.id, ben).done, progress(store, task.id, ben).open) == (0, 2)


def test_two_people_cannot_overwrite_each_others_edits(store):
    ann, ben = (store.add_annotator(name).id for name in ("Ann", "Ben"))
    first = save_edit(store, "set", "a.png", [1], annotator=ann, revision=0)
    with pytest.raises(EditConflictError):
        save_edit(store, "set", "a.png", [2], annotator=ben, revision=0)
    save_edit(store, "set", "a.png", [3], annotator=ben, revision=first.id)
    assert edits(store, "set")["a.png"].content == [3]


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes, long enough to be no empty file " * 20)
    with pytest.raises(InputError, match="--store"):
        Store(path)
    assert path.read_text().startswith("my notes")
