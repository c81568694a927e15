"""The studio's file: an SQLite database in WAL mode to which things are only ever added.

    store = Store(Path("runs/studio.sqlite3"))
    ann = store.add_annotator("Ann")
    task = store.add_task("judge", "GPT, direct prompt", items, per_item=3)

What a person did is an event and is never changed: undoing is another event. A call returns when
its transaction is on disk, so what was acknowledged survives a kill or a power cut. Every thread
has its own connection; writers wait for each other.
"""

from __future__ import annotations

import hmac
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from uiproof.engine.storage import access
from uiproof.errors import InputError
from uiproof.studio.labels import KINDS, Annotator, Item, Kind, Task

VERSION = 1
_BUSY_SECONDS = 30
_SCHEMA = """
CREATE TABLE IF NOT EXISTS annotators (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE, token TEXT NOT NULL UNIQUE,
  at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS tasks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, title TEXT NOT NULL,
  per_item INTEGER NOT NULL, at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS items (
  id INTEGER PRIMARY KEY AUTOINCREMENT, task INTEGER NOT NULL REFERENCES tasks,
  "case" TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL, run TEXT, baseline TEXT,
  UNIQUE (task, "case", model, prompt)
);
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
"""


def now() -> str:
    """The time as the store writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Store:
    """People, tasks and their items. `labelling` and `edits` read and write the rest."""

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
        """Return 32 bytes that are the same for the same text, and that nobody outside can know.

        The secret behind them is made once and stays in the studio's file. It decides what people
        must not be able to work out from what they know, such as the sides of a comparison.
        """
        return hmac.digest(self._secret, what.encode(), "sha256")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that changes something: all of it or nothing."""
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
        """One state of the file for several questions, whatever others write meanwhile."""
        connection = self._connection()
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            connection.execute("COMMIT")

    def close(self) -> None:
        """Close the connections of all threads; nobody may be using them any more."""
        while self._connections:
            self._connections.pop().close()
        self._local = threading.local()

    def annotators(self) -> list[Annotator]:
        """Everybody, in the order they came."""
        with self.reading() as db:
            rows = db.execute("SELECT id, name, token FROM annotators ORDER BY id")
            return [Annotator(*row) for row in rows]

    def add_annotator(self, name: str) -> Annotator:
        """The annotator of this name, who is added if needed; capitals make no difference."""
        plain = " ".join(name.split())
        if not plain or len(plain) > 80:
            raise InputError("A name has 1 to 80 characters.")
        with self.writing() as db:
            db.execute(
                "INSERT INTO annotators (name, token, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (plain, secrets.token_urlsafe(18), now()),
            )
            row = db.execute("SELECT id, name, token FROM annotators WHERE name = ?", (plain,))
            return Annotator(*row.fetchone())

    def add_task(self, kind: Kind, title: str, items: Iterable[Item], *, per_item: int) -> Task:
        """A new task. Items that are there twice are kept once; `Item.id` is given anew."""
        if kind not in KINDS or not title.strip() or per_item < 1:
            raise InputError("A task needs a kind, a title and at least one annotator per item.")
        with self.writing() as db:
            at = now()
            task = db.execute(
                "INSERT INTO tasks (kind, title, per_item, at) VALUES (?, ?, ?, ?)",
                (kind, title.strip()[:200], per_item, at),
            ).lastrowid
            db.executemany(
                'INSERT OR IGNORE INTO items (task, "case", model, prompt, run, baseline) '
                "VALUES (?, ?, ?, ?, ?, ?)",
                ((task, i.case, i.model, i.prompt, i.run, i.baseline) for i in items),
            )
            if not db.execute("SELECT 1 FROM items WHERE task = ?", (task,)).fetchone():
                raise InputError("There is nothing to label in this task.")
        return self.task(task or 0)

    def tasks(self) -> list[Task]:
        """All tasks, the newest first."""
        with self.reading() as db:
            rows = db.execute(_TASKS + " GROUP BY tasks.id ORDER BY tasks.id DESC")
            return [Task(*row) for row in rows]

    def task(self, id: int) -> Task:
        """One task; raises `InputError` if there is none."""
        with self.reading() as db:
            row = db.execute(_TASKS + " WHERE tasks.id = ? GROUP BY tasks.id", (id,)).fetchone()
        if row is None:
            raise InputError(f"There is no task {id}.")
        return Task(*row)

    def items(self, task: int) -> list[Item]:
        """The items of a task, in the order they were given."""
        with self.reading() as db:
            rows = db.execute(_ITEMS + " WHERE task = ? ORDER BY id", (task,))
            return [Item(*row) for row in rows]

    def item(self, id: int) -> tuple[Item, Task]:
        """One item and its task; raises `InputError` if there is none."""
        with self.reading() as db:
            row = db.execute(_ITEMS + " WHERE id = ?", (id,)).fetchone()
            task = db.execute("SELECT task FROM items WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise InputError(f"There is no item {id}.")
        return Item(*row), self.task(task[0])

    def runs_of_case(self, task: int, case: str) -> list[str]:
        """All runs that a task shows for a case, baselines too."""
        with self.reading() as db:
            rows = db.execute(
                'SELECT run, baseline FROM items WHERE task = ? AND "case" = ? ORDER BY id',
                (task, case),
            ).fetchall()
        return list(dict.fromkeys(run for row in rows for run in row if run is not None))

    def renew_token(self, annotator: int) -> None:
        """Give an annotator another token; the one they had opens nothing from now on."""
        with self.writing() as db:
            db.execute(
                "UPDATE annotators SET token = ? WHERE id = ?",
                (secrets.token_urlsafe(18), annotator),
            )

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


_ITEMS = 'SELECT "case", model, prompt, run, baseline, id FROM items'
_TASKS = (
    "SELECT tasks.id, kind, title, per_item, tasks.at, count(items.id) "
    "FROM tasks LEFT JOIN items ON items.task = tasks.id"
)
