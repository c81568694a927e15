"""Labels of people, and who sees which item next.

Everything a person does in a task is an event; what counts is the last `label` or `skip` of a
person for an item that was not undone. A decision settles an item on which people disagree.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from dataclasses import dataclass

from uiproof.errors import InputError
from uiproof.studio.labels import Item, Kind, Label, Value, value_from_json
from uiproof.studio.store import Store, now

_LEASE_SECONDS = 30 * 60  # an item that somebody looks at is kept for them this long
_LONGEST_NOTE = 4000
_LAST = """
SELECT item, annotator, action, value, note, at, seconds, max(id) FROM events
WHERE action IN ('label', 'skip') AND item IN (SELECT id FROM items WHERE task = ?)
  AND id NOT IN (SELECT undoes FROM events WHERE undoes IS NOT NULL)
"""
_CURRENT = f"{_LAST} GROUP BY item, annotator ORDER BY max(id)"
_CURRENT_OF_ONE = f"{_LAST} AND annotator = ? GROUP BY item"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one annotator is in one task."""

    done: int
    skipped: int
    open: int  # what is left for this person, skipped ones included

    @property
    def total(self) -> int:
        """How many items this person has had or will have, as things are."""
        return self.done + self.open


def save_label(
    store: Store,
    item: int,
    annotator: int,
    value: Value,
    *,
    note: str = "",
    seconds: float | None = None,
    nonce: str | None = None,
) -> int:
    """Write a label down; when this returns it is on disk. Returns the number of the event.

    Saving again replaces what this person said before. `nonce` names the attempt: a save that is
    sent again because its answer was lost counts once.
    """
    _, task = store.item(item)
    value_from_json(task.kind, value.as_json())  # a choice cannot answer a judge task
    return _add(store, item, annotator, "label", value, note, seconds, nonce)


def skip(store: Store, item: int, annotator: int, *, nonce: str | None = None) -> int:
    """Put an item at the end of this person's queue."""
    store.item(item)
    return _add(store, item, annotator, "skip", None, "", None, nonce)


def decide(store: Store, item: int, annotator: int, value: Value | None, note: str = "") -> int:
    """Settle an item, whatever the majority says; None takes the decision back."""
    _, task = store.item(item)
    if value is not None:
        value_from_json(task.kind, value.as_json())
    return _add(store, item, annotator, "decide", value, note, None, None)


def undo(store: Store, task: int, annotator: int) -> int | None:
    """Take back the last label or skip of this person in a task, and show that item next.

    Returns the item, or None if there is nothing to take back.
    """
    with store.writing() as db:
        last = db.execute(
            "SELECT id, item FROM events WHERE annotator = ? AND action IN ('label', 'skip') "
            "AND item IN (SELECT id FROM items WHERE task = ?) "
            "AND id NOT IN (SELECT undoes FROM events WHERE undoes IS NOT NULL) "
            "ORDER BY id DESC LIMIT 1",
            (annotator, task),
        ).fetchone()
        if last is None:
            return None
        db.execute(
            "INSERT INTO events (at, item, annotator, action, undoes) VALUES (?, ?, ?, 'undo', ?)",
            (now(), last[1], annotator, last[0]),
        )
        _show(db, last[1], annotator)
        return int(last[1])


def labels(store: Store, task: int) -> list[Label]:
    """What counts now, in the order it was said; without skips."""
    kind = store.task(task).kind
    with store.reading() as db:
        rows = db.execute(_CURRENT, (task,)).fetchall()
    return [
        Label(item, annotator, _value(kind, value), note, at, seconds)
        for item, annotator, action, value, note, at, seconds, _ in rows
        if action == "label"
    ]


def decisions(store: Store, task: int) -> dict[int, Value]:
    """Items that were settled by a decision."""
    return {one.item: one.value for one in decision_labels(store, task)}


def decision_labels(store: Store, task: int) -> list[Label]:
    """The decisions that count now, with who made them, when, and why."""
    kind = store.task(task).kind
    with store.reading() as db:
        rows = db.execute(
            "SELECT item, annotator, value, note, at, max(id) FROM events WHERE action = 'decide' "
            "AND item IN (SELECT id FROM items WHERE task = ?) GROUP BY item",
            (task,),
        ).fetchall()
    return [
        Label(item, annotator, _value(kind, value), note, at)
        for item, annotator, value, note, at, _ in rows
        if value is not None
    ]


def next_item(store: Store, task: int, annotator: int) -> Item | None:
    """What this person should look at now; None when there is nothing left for them.

    The same one until it is labelled or skipped. Items that others have begun come first, so that
    there is something to compare early; otherwise everybody has an order of their own.
    """
    with store.writing() as db:
        queue = _queue(store, db, task, annotator)
        if not queue:
            return None
        _show(db, queue[0], annotator)
    return store.item(queue[0])[0]


def outlook(store: Store, task: int, annotator: int) -> tuple[Progress, Item | None]:
    """How far this person is, and what comes after `next_item` as things are now."""
    with store.reading() as db:
        queue = _queue(store, db, task, annotator)
        done = _progress(db, task, annotator, len(queue))
    return done, store.item(queue[1])[0] if len(queue) > 1 else None


def former_label(store: Store, item: int, annotator: int) -> Label | None:
    """What this person said last about an item, even if they took it back."""
    _, task = store.item(item)
    with store.reading() as db:
        row = db.execute(
            "SELECT value, note, at, seconds FROM events WHERE item = ? AND annotator = ? "
            "AND action = 'label' ORDER BY id DESC LIMIT 1",
            (item, annotator),
        ).fetchone()
    return None if row is None else Label(item, annotator, _value(task.kind, row[0]), *row[1:])


def progress(store: Store, task: int, annotator: int) -> Progress:
    """How far this person is."""
    with store.reading() as db:
        return _progress(db, task, annotator, len(_queue(store, db, task, annotator)))


def _progress(db: sqlite3.Connection, task: int, annotator: int, left: int) -> Progress:
    own = [row[2] for row in db.execute(_CURRENT_OF_ONE, (task, annotator))]
    return Progress(own.count("label"), own.count("skip"), left)


def _queue(store: Store, db: sqlite3.Connection, task: int, annotator: int) -> list[int]:
    """The items that are open for a person, best first."""
    per_item = int(db.execute("SELECT per_item FROM tasks WHERE id = ?", (task,)).fetchone()[0])
    items = [row[0] for row in db.execute("SELECT id FROM items WHERE task = ?", (task,))]
    taken: Counter[int] = Counter()
    answered: set[int] = set()
    skipped: dict[int, int] = {}
    acted = set()
    for item, by, action, *_, event in db.execute(_CURRENT, (task,)):
        acted.add((item, by))
        if by != annotator:
            taken[item] += action == "label"
        elif action == "label":
            answered.add(item)
        else:
            skipped[item] = event
    labelled = taken.copy()
    being_shown: dict[int, float] = {}
    for item, by, at in db.execute(
        "SELECT item, annotator, at FROM shown WHERE item IN (SELECT id FROM items WHERE task = ?)",
        (task,),
    ):
        if (item, by) in acted:
            continue
        if by == annotator:
            being_shown[item] = at
        elif at > time.time() - _LEASE_SECONDS:
            taken[item] += 1

    def place(item: int) -> tuple[int, float, int, bytes]:
        """Skipped ones go round; what was shown last stays, which after an undo is that one."""
        # With an order that people could work out they would know which item it is, and so whose.
        key = store.chance(f"order {annotator} {item}")
        return skipped.get(item, 0), -being_shown.get(item, 0.0), -labelled[item], key

    open_ = [item for item in items if item not in answered and taken[item] < per_item]
    return sorted(open_, key=place)


def _show(db: sqlite3.Connection, item: int, annotator: int) -> None:
    db.execute(
        "INSERT OR REPLACE INTO shown (item, annotator, at) VALUES (?, ?, ?)",
        (item, annotator, time.time()),
    )


def _add(
    store: Store,
    item: int,
    annotator: int,
    action: str,
    value: Value | None,
    note: str,
    seconds: float | None,
    nonce: str | None,
) -> int:
    if len(note) > _LONGEST_NOTE:
        raise InputError(f"A note has at most {_LONGEST_NOTE} characters.")
    content = None if value is None else json.dumps(value.as_json())
    with store.writing() as db:
        if nonce is not None:
            known = db.execute("SELECT id FROM events WHERE nonce = ?", (nonce,)).fetchone()
            if known is not None:
                return int(known[0])
        added = db.execute(
            "INSERT INTO events (at, item, annotator, action, value, note, seconds, nonce) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (now(), item, annotator, action, content, note.strip(), seconds, nonce),
        )
        return int(added.lastrowid or 0)


def _value(kind: Kind, content: str) -> Value:
    return value_from_json(kind, json.loads(content))
