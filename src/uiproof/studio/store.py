"""The studio's file: people, tasks, labels and corrections of data sets.

    store = Store(Path("runs/studio.sqlite3"))
    ann = store.add_annotator("Ann")
    task = store.add_task("judge", "Round 1", items, per_item=3)
    save_label(store, next_item(store, task.id, ann.id).id, ann.id, Judgement(usable=True))

An SQLite database in WAL mode to which rows are only added. What a person does is an event: the
current label of a person for an item is the last `label` or `skip` that was not undone. A call
returns when its transaction is on disk, so what was acknowledged survives a kill or a power cut.
Every thread has its own connection; writers wait for each other.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from uiproof.errors import InputError, UsageError
from uiproof.files import access
from uiproof.labels import (
    KINDS,
    Annotator,
    Item,
    Kind,
    Label,
    LabelValue,
    Question,
    Task,
    questions_from_json,
    value_from_json,
)

VERSION = 1
_BUSY_SECONDS = 30
_LEASE_SECONDS = 30 * 60  # an item that is being looked at is reserved this long
_LONGEST_NOTE = 4000
_ITEM_COLUMNS = """(
  id INTEGER PRIMARY KEY AUTOINCREMENT, task INTEGER NOT NULL REFERENCES tasks,
  "case" TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL, run TEXT, baseline TEXT,
  against TEXT NOT NULL DEFAULT '', UNIQUE (task, "case", model, prompt, against)
)"""
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS annotators (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE, token TEXT NOT NULL UNIQUE,
  at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS tasks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, title TEXT NOT NULL,
  per_item INTEGER NOT NULL, at TEXT NOT NULL, benchmark TEXT, questions TEXT
);
CREATE TABLE IF NOT EXISTS items {_ITEM_COLUMNS};
CREATE TABLE IF NOT EXISTS task_keys (
  key TEXT PRIMARY KEY, task INTEGER NOT NULL REFERENCES tasks
);
CREATE TABLE IF NOT EXISTS events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, item INTEGER NOT NULL REFERENCES items,
  annotator INTEGER NOT NULL REFERENCES annotators, action TEXT NOT NULL, value TEXT,
  note TEXT NOT NULL DEFAULT '', seconds REAL, undoes INTEGER REFERENCES events, nonce TEXT UNIQUE
);
CREATE INDEX IF NOT EXISTS events_of_item ON events (item, annotator);
CREATE TABLE IF NOT EXISTS shown (
  item INTEGER NOT NULL REFERENCES items, annotator INTEGER NOT NULL REFERENCES annotators,
  at REAL NOT NULL, PRIMARY KEY (item, annotator)
);
CREATE TABLE IF NOT EXISTS edits (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL,
  annotator INTEGER NOT NULL REFERENCES annotators, dataset TEXT NOT NULL, entry TEXT NOT NULL,
  content TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS edits_of_entry ON edits (dataset, entry);
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS datasets (path TEXT PRIMARY KEY, at TEXT NOT NULL);
"""
# For files of earlier versions, which can read what this makes of them.
_NEW_ITEMS = f"""
PRAGMA foreign_keys = OFF;
BEGIN IMMEDIATE;
CREATE TABLE new_items {_ITEM_COLUMNS};
INSERT INTO new_items SELECT id, task, "case", model, prompt, run, baseline, '' FROM items;
DROP TABLE items;
ALTER TABLE new_items RENAME TO items;
COMMIT;
PRAGMA foreign_keys = ON;
"""

_EVENTS = "SELECT item, annotator, action, value, note, at, seconds, max(id) FROM events WHERE "
_OF_TASK = "item IN (SELECT id FROM items WHERE task = ?)"
_NOT_UNDONE = "id NOT IN (SELECT undoes FROM events WHERE undoes IS NOT NULL)"
_LAST = f"{_EVENTS} action IN ('label', 'skip') AND {_OF_TASK} AND {_NOT_UNDONE}"
_CURRENT = f"{_LAST} GROUP BY item, annotator ORDER BY max(id)"
_DECISIONS = f"{_EVENTS} action = 'decide' AND {_OF_TASK} GROUP BY item"
_FORMER = f"{_EVENTS} action = 'label' AND item = ? AND annotator = ? GROUP BY item"
_ITEMS = 'SELECT task, "case", model, prompt, run, baseline, against, id FROM items'
_TASKS = (
    "SELECT tasks.id, kind, title, per_item, tasks.at, count(items.id), benchmark, questions "
    "FROM tasks LEFT JOIN items ON items.task = tasks.id"
)


def now() -> str:
    """Return the time as the store writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Store:
    """People, tasks and their items; the functions below add labels and corrections."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        with access(self.path, "opened"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch(mode=0o600)  # it holds tokens
        try:
            connection = self._connection()
            connection.execute("PRAGMA journal_mode = WAL")
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found > VERSION:
                raise InputError(
                    f"{self.path} was written by a newer uiproof.", remedy="Upgrade uiproof."
                )
            connection.executescript(_SCHEMA)
            columns = [row[1] for row in connection.execute("PRAGMA table_info(tasks)")]
            for name in ("benchmark", "questions"):
                if name not in columns:
                    connection.execute(f"ALTER TABLE tasks ADD COLUMN {name} TEXT")
            if "against" not in [row[1] for row in connection.execute("PRAGMA table_info(items)")]:
                connection.executescript(_NEW_ITEMS)
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute(
                "INSERT OR IGNORE INTO secrets (name, value) VALUES ('order', ?)",
                (secrets.token_bytes(32),),
            )
            row = connection.execute("SELECT value FROM secrets WHERE name = 'order'").fetchone()
            self._secret = bytes(row[0])
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{self.path} cannot be opened as a studio file: {error}.",
                remedy="Name another file with --store.",
            ) from error

    def chance(self, what: str) -> bytes:
        """Return 32 bytes that depend on the text and on a secret in the studio's file.

        They decide what annotators must not be able to predict, such as the sides of a comparison.
        """
        return hmac.digest(self._secret, what.encode(), "sha256")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction that writes: all of it or nothing."""
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction that reads one state of the file."""
        connection = self._connection()
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            connection.execute("COMMIT")

    def close(self) -> None:
        """Close the connections of all threads, which must not be in use."""
        while self._connections:
            self._connections.pop().close()
        self._local = threading.local()

    def annotators(self) -> list[Annotator]:
        """Return all annotators in the order they were added."""
        rows = self._read("SELECT id, name, token FROM annotators ORDER BY id")
        return [Annotator(*row) for row in rows]

    def add_annotator(self, name: str) -> Annotator:
        """Return the annotator of this name, added if needed; case makes no difference."""
        with self.writing() as db:
            return insert_annotator(db, name)

    def add_task(
        self,
        kind: Kind,
        title: str,
        items: Iterable[Item],
        *,
        per_item: int,
        benchmark: str | None = None,
        questions: Sequence[Question] = (),
    ) -> Task:
        """Add a task. Duplicate items are kept once, and `Item.id` is assigned."""
        if kind not in KINDS or not title.strip() or per_item < 1:
            raise InputError("A task needs a kind, a title and at least one annotator per item.")
        if kind == "rate" and not questions:
            raise InputError("There is nothing to rate.", remedy="Add at least one question.")
        with self.writing() as db:
            task = insert_task(db, kind, title.strip()[:200], per_item, now(), benchmark, questions)
            insert_items(db, task, items)
            if not db.execute("SELECT 1 FROM items WHERE task = ?", (task,)).fetchone():
                raise InputError("There is nothing to label in this task.")
        return self.task(task)

    def tasks(self) -> list[Task]:
        """Return all tasks, the newest first."""
        rows = self._read(_TASKS + " GROUP BY tasks.id ORDER BY tasks.id DESC")
        return [_task(row) for row in rows]

    def task(self, id: int) -> Task:
        """Return one task; raise `InputError` if there is none."""
        for row in self._read(_TASKS + " WHERE tasks.id = ? GROUP BY tasks.id", id):
            return _task(row)
        raise InputError(f"There is no task {id}.")

    def items(self, task: int) -> list[Item]:
        """Return the items of a task in the order they were added."""
        return [Item(*row[1:]) for row in self._read(_ITEMS + " WHERE task = ? ORDER BY id", task)]

    def item(self, id: int) -> tuple[Item, Task]:
        """Return one item and its task; raise `InputError` if there is none."""
        for task, *row in self._read(_ITEMS + " WHERE id = ?", id):
            return Item(*row), self.task(task)
        raise InputError(f"There is no item {id}.")

    def runs_of_case(self, task: int, case: str) -> list[str]:
        """Return all runs that a task shows for a case, including baselines."""
        query = 'SELECT run, baseline FROM items WHERE task = ? AND "case" = ? ORDER BY id'
        found = (run for row in self._read(query, task, case) for run in row if run is not None)
        return list(dict.fromkeys(found))

    def datasets(self) -> list[Path]:
        """Return the data sets that were opened in the page, in that order."""
        return [Path(row[0]) for row in self._read("SELECT path FROM datasets ORDER BY rowid")]

    def open_dataset(self, path: Path) -> None:
        """Remember a data set that was opened in the page."""
        self._write("INSERT OR IGNORE INTO datasets (path, at) VALUES (?, ?)", str(path), now())

    def close_dataset(self, path: Path) -> None:
        """Forget a data set that was opened in the page; its corrections stay."""
        self._write("DELETE FROM datasets WHERE path = ?", str(path))

    def renew_token(self, annotator: int) -> None:
        """Replace the token of an annotator; the old one stops working."""
        token = secrets.token_urlsafe(18)
        self._write("UPDATE annotators SET token = ? WHERE id = ?", token, annotator)

    def _read(self, query: str, *values: int | str) -> list[Any]:
        with self.reading() as db:
            return db.execute(query, values).fetchall()

    def _write(self, query: str, *values: int | str) -> None:
        with self.writing() as db:
            db.execute(query, values)

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            self._local.connection = connection
            self._connections.append(connection)
        return connection


def insert_annotator(db: sqlite3.Connection, name: str) -> Annotator:
    """Return the annotator of this name, added if needed."""
    plain = " ".join(name.split())
    if not plain or len(plain) > 80:
        raise InputError("A name has 1 to 80 characters.")
    db.execute(
        "INSERT INTO annotators (name, token, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (plain, secrets.token_urlsafe(18), now()),
    )
    row = db.execute("SELECT id, name, token FROM annotators WHERE name = ?", (plain,))
    return Annotator(*row.fetchone())


def insert_task(
    db: sqlite3.Connection,
    kind: Kind,
    title: str,
    per_item: int,
    at: str,
    benchmark: str | None,
    questions: Sequence[Question] = (),
) -> int:
    """Add a task without items; return its number."""
    asked = json.dumps([one.as_json() for one in questions]) if questions else None
    added = db.execute(
        "INSERT INTO tasks (kind, title, per_item, at, benchmark, questions) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (kind, title, per_item, at, benchmark, asked),
    )
    return int(added.lastrowid or 0)


def insert_items(db: sqlite3.Connection, task: int, items: Iterable[Item]) -> None:
    """Add items to a task; known ones are only linked to runs that they lack."""
    db.executemany(
        'INSERT INTO items (task, "case", model, prompt, run, baseline, against) '
        "VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET run = coalesce(run, excluded.run), "
        "baseline = coalesce(baseline, excluded.baseline)",
        ((task, i.case, i.model, i.prompt, i.run, i.baseline, i.against) for i in items),
    )


def _task(row: Sequence[Any]) -> Task:
    asked = questions_from_json(json.loads(row[7])) if row[7] else ()
    return replace(Task(*row[:7]), questions=asked)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of one annotator in one task."""

    done: int
    skipped: int
    open: int  # items left for this person, including skipped ones

    @property
    def total(self) -> int:
        """Return how many items this person has labelled or can label."""
        return self.done + self.open


def save_label(
    store: Store,
    item: int,
    annotator: int,
    value: LabelValue,
    *,
    note: str = "",
    seconds: float | None = None,
    nonce: str | None = None,
) -> int:
    """Save a label, replacing an earlier one of this person; return the number of the event.

    `nonce` names the attempt: a request that is sent again counts once.
    """
    return _add(store, item, annotator, "label", value, note, seconds, nonce)


def skip(store: Store, item: int, annotator: int, *, nonce: str | None = None) -> int:
    """Move an item to the end of this person's queue."""
    return _add(store, item, annotator, "skip", nonce=nonce)


def decide(
    store: Store, item: int, annotator: int, value: LabelValue | None, note: str = ""
) -> int:
    """Decide an item, whatever the majority says; None withdraws the decision."""
    return _add(store, item, annotator, "decide", value, note)


def _add(
    store: Store,
    item: int,
    annotator: int,
    action: str,
    value: LabelValue | None = None,
    note: str = "",
    seconds: float | None = None,
    nonce: str | None = None,
) -> int:
    if len(note) > _LONGEST_NOTE:
        raise InputError(f"A note has at most {_LONGEST_NOTE} characters.")
    _, task = store.item(item)
    content = None
    if value is not None:
        checked = value_from_json(task.kind, value.as_json(), task.questions)
        if type(checked) is not type(value):
            raise InputError(f"This is not a label for a {task.kind} task.")
        content = json.dumps(checked.as_json())
    with store.writing() as db:
        known = db.execute("SELECT id FROM events WHERE nonce = ?", (nonce,)).fetchone()
        if known is not None:
            return int(known[0])
        added = db.execute(
            "INSERT INTO events (at, item, annotator, action, value, note, seconds, nonce) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (now(), item, annotator, action, content, note.strip(), seconds, nonce),
        )
        return int(added.lastrowid or 0)


def undo(store: Store, task: int, annotator: int) -> int | None:
    """Undo the last label or skip of this person in a task, and show that item next.

    Returns the item, or None if there is nothing to undo.
    """
    with store.writing() as db:
        last = db.execute(
            "SELECT id, item FROM events WHERE annotator = ? AND action IN ('label', 'skip') "
            f"AND {_OF_TASK} AND {_NOT_UNDONE} ORDER BY id DESC LIMIT 1",
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
    """Return the current labels of a task, oldest first."""
    return _labels(store, store.task(task), _CURRENT, (task,))


def decision_labels(store: Store, task: int) -> list[Label]:
    """Return the current decisions of a task."""
    return _labels(store, store.task(task), _DECISIONS, (task,))


def former_label(store: Store, item: int, annotator: int) -> Label | None:
    """Return the last label of this person for an item, even if it was undone."""
    found = _labels(store, store.item(item)[1], _FORMER, (item, annotator))
    return found[0] if found else None


def _labels(store: Store, task: Task, query: str, values: tuple[int, ...]) -> list[Label]:
    with store.reading() as db:
        rows = db.execute(query, values).fetchall()
    return [
        Label(item, annotator, _value(task, value), note, at, seconds)
        for item, annotator, action, value, note, at, seconds, _ in rows
        if action != "skip" and value is not None
    ]


def _value(task: Task, content: str) -> LabelValue:
    return value_from_json(task.kind, json.loads(content), task.questions)


def next_item(
    store: Store, task: int, annotator: int, *, first: Collection[int] = ()
) -> Item | None:
    """Return the item that this person looks at now; None when nothing is left for them.

    It stays the same until it is labelled or skipped. The items `first` come before others. Items
    that others have begun come early, so that agreement can be measured; otherwise each person has
    a random order.
    """
    with store.writing() as db:
        queue = _queue(store, db, task, annotator, first)
        if not queue:
            return None
        _show(db, queue[0], annotator)
    return store.item(queue[0])[0]


def outlook(
    store: Store, task: int, annotator: int, *, first: Collection[int] = ()
) -> tuple[Progress, Item | None]:
    """Return the progress of this person, and the item that comes after `next_item`."""
    with store.reading() as db:
        queue = _queue(store, db, task, annotator, first)
        rows = db.execute(f"{_LAST} AND annotator = ? GROUP BY item", (task, annotator))
        own = [action for _, _, action, *_ in rows]
    done = Progress(own.count("label"), own.count("skip"), len(queue))
    return done, store.item(queue[1])[0] if len(queue) > 1 else None


def progress(store: Store, task: int, annotator: int) -> Progress:
    """Return the progress of this person."""
    return outlook(store, task, annotator)[0]


def _queue(
    store: Store, db: sqlite3.Connection, task: int, annotator: int, first: Collection[int]
) -> list[int]:
    """Return the items that are open for a person, the next one first."""
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
        f"SELECT item, annotator, at FROM shown WHERE {_OF_TASK}", (task,)
    ):
        if (item, by) in acted:
            continue
        if by == annotator:
            being_shown[item] = at
        elif at > time.time() - _LEASE_SECONDS:
            taken[item] += 1

    def position(item: int) -> tuple[int, float, bool, int, bytes]:
        """Put skipped items last, and the one that was shown last first."""
        # People who could predict the order would know which item it is, and so which model.
        key = store.chance(f"order {annotator} {item}")
        shown = -being_shown.get(item, 0.0)
        return skipped.get(item, 0), shown, item not in first, -labelled[item], key

    open_ = [item for item in items if item not in answered and taken[item] < per_item]
    return sorted(open_, key=position)


def _show(db: sqlite3.Connection, item: int, annotator: int) -> None:
    db.execute(
        "INSERT OR REPLACE INTO shown (item, annotator, at) VALUES (?, ?, ?)",
        (item, annotator, time.time()),
    )


class EditConflictError(UsageError):
    """The entry was saved by another person in the meantime."""

    code = "edit_conflict"


@dataclass(frozen=True, slots=True)
class Edit:
    """One corrected state of one entry (a screenshot or a page); `id` is its revision."""

    id: int
    entry: str
    content: Any
    annotator: int
    at: str


def save_edit(
    store: Store, dataset: str, entry: str, content: Any, *, annotator: int, revision: int
) -> Edit:
    """Save a new state of an entry; `revision` is the one it was made from, 0 for none.

    Raises `EditConflictError`, and changes nothing, if there is a newer one.
    """
    with store.writing() as db:
        newest = db.execute(
            "SELECT max(id) FROM edits WHERE dataset = ? AND entry = ?", (dataset, entry)
        ).fetchone()[0]
        if (newest or 0) != revision:
            raise EditConflictError(
                "Another person has changed this in the meantime.",
                remedy="Reload the page to see their version; yours was not saved.",
            )
        at = now()
        added = db.execute(
            "INSERT INTO edits (at, annotator, dataset, entry, content) VALUES (?, ?, ?, ?, ?)",
            (at, annotator, dataset, entry, json.dumps(content)),
        )
        return Edit(int(added.lastrowid or 0), entry, content, annotator, at)


def edits(store: Store, dataset: str) -> dict[str, Edit]:
    """Return the newest state of each corrected entry of a data set."""
    with store.reading() as db:
        rows = db.execute(
            "SELECT max(id), entry, content, annotator, at FROM edits "
            "WHERE dataset = ? GROUP BY entry",
            (dataset,),
        ).fetchall()
    return {row[1]: Edit(row[0], row[1], json.loads(row[2]), *row[3:]) for row in rows}
