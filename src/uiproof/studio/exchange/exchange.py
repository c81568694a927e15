"""Labels in and out of the studio as files.

    done = import_labels(store, [Path("human_evaluation")], runs=Path("runs"))
    export_task(store, done.tasks[0].task, Path("export"))

An export has what counts (`majority/`) and what each person said (`annotators/NAME/`) in the
published format, and `labels.jsonl`, which holds everything and comes back exactly. An import is
all or nothing, and doing it again adds nothing: see `import_labels`.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from uiproof.benchmarks.interaction2code.analyses.labels import (
    Label,
    LabelFile,
    Vote,
    write_comparisons,
    write_failures,
)
from uiproof.engine.storage import access
from uiproof.errors import InputError
from uiproof.export import replacing
from uiproof.studio.exchange.importing import PUBLISHED, read_files, run_finder
from uiproof.studio.exchange.packing import safe_word, unpacked
from uiproof.studio.exchange.parcels import NAME, Entry, Parcel, check_text, lines_of
from uiproof.studio.labels import Item
from uiproof.studio.outcomes.agreement import FACETS, Final, Said, facet_of, finals, gather
from uiproof.studio.outcomes.results import comparison_files, failure_files
from uiproof.studio.store import Store, now

_One = TypeVar("_One", Label, Vote)


@dataclass(frozen=True, slots=True)
class ImportedTask:
    """What an import did to one task."""

    task: int
    title: str
    new: bool
    items: int  # that were added
    labels: int  # labels and decisions that were added
    known: int  # that were there already, or were older than what is


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, and what could not be read, in words."""

    tasks: tuple[ImportedTask, ...]
    problems: tuple[str, ...]


def import_labels(
    store: Store,
    paths: Sequence[Path],
    *,
    runs: Path | None = None,
    annotator: str = PUBLISHED,
    into: int | None = None,
    title: str | None = None,
) -> Imported:
    """Add labels from files, folders or zip files, all of them or none.

    `labels.jsonl` of an export is taken as it is. Published label files become one task for
    failures and one for comparisons, said by `annotator` (or by NAME for files below
    `annotators/NAME`); files about the same items go into the same task, so that the labels of
    several people come together. `into` adds to a task that is there. Items are linked to `runs`
    of the same model and prompt that have their case.

    A label that is known already is not added again; where a person said something later, that
    stays.
    """
    with unpacked(paths) as found:
        parcels, problems = read_files(found, annotator)
    if title:
        parcels = [replace(parcel, title=title) for parcel in parcels]
    link = run_finder(runs)  # before the transaction: reading runs can take a while
    linked = [
        replace(parcel, items=tuple(link(item, parcel.kind == "compare") for item in parcel.items))
        for parcel in parcels
    ]
    with store.writing() as db:
        done = [_add(db, parcel, into) for parcel in linked]
    return Imported(tuple(done), tuple(problems))


def export_task(store: Store, task: int, folder: Path) -> list[Path]:
    """Write a task into an empty folder; returns the files. Open items are not in `majority/`."""
    said = gather(store, task)
    with access(folder, "made"):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder} is not empty.", remedy="Name another folder.")
    files = [folder / NAME]
    with replacing(files[0]) as stream:
        stream.writelines(lines_of(said, _key_of(store, task)))
    files += _published(finals(said), folder / "majority", said.task.kind == "judge")
    taken: set[str] = set()
    for name in said.people:
        own = folder / "annotators" / safe_word(name, taken)
        files += _published(_finals_of(said, name), own, said.task.kind == "judge")
    return files


def _published(found: Iterable[Final], folder: Path, judge: bool) -> list[Path]:
    """The files of the published format."""
    words = _Words()
    if judge:
        return [write_failures(_readable(file, words), folder) for file in failure_files(found)]
    return [write_comparisons(_readable(file, words), folder) for file in comparison_files(found)]


class _Words:
    """Models and prompts as names of files have them, each with a word of its own."""

    def __init__(self) -> None:
        self._taken: tuple[set[str], set[str]] = (set(), set())
        self._known: dict[tuple[int, str], str] = {}

    def model(self, name: str) -> str:
        return self._word(0, name, "model")

    def prompt(self, name: str) -> str:
        # The first `_prompt_` in the name of a file is where the model begins.
        return self._word(1, name.replace("_prompt", "-prompt"), "no")

    def _word(self, kind: int, name: str, otherwise: str) -> str:
        key = (kind, name)
        if key not in self._known:
            self._known[key] = safe_word(name, self._taken[kind], otherwise)
        return self._known[key]


def _readable(file: LabelFile[_One], words: _Words) -> LabelFile[_One]:
    """The same labels without what names and keys of the published files cannot hold."""
    taken: set[tuple[str, str]] = set()
    found: list[_One] = []
    for label in file.labels:
        page = label.page.replace("/", "_").replace("\\", "_")
        interaction = label.interaction.replace("-", "_").replace("\\", "_")
        while (page, interaction) in taken:
            page += "_"
        taken.add((page, interaction))
        found.append(replace(label, page=page, interaction=interaction))
    return LabelFile(words.model(file.model), words.prompt(file.prompt), tuple(found))


def _finals_of(said: Said, name: str) -> list[Final]:
    """What one person said, as if nobody else had said anything."""
    facets = FACETS[said.task.kind]
    return [
        Final(item, {facet: facet_of(label.value, facet) for facet in facets}, settled=False)
        for item in said.items
        if (label := said.labels.get(item.id, {}).get(name)) is not None
    ]


def _key_of(store: Store, task: int) -> str:
    """The key of a task, made when it is exported for the first time."""
    with store.writing() as db:
        row = db.execute("SELECT key FROM task_keys WHERE task = ?", (task,)).fetchone()
        if row is not None:
            return str(row[0])
        key = secrets.token_hex(16)
        db.execute("INSERT INTO task_keys (key, task) VALUES (?, ?)", (key, task))
        return key


def _add(db: sqlite3.Connection, parcel: Parcel, into: int | None) -> ImportedTask:
    row = None
    if into is not None:
        row = db.execute("SELECT id, kind, title FROM tasks WHERE id = ?", (into,)).fetchone()
        if row is None or row[1] != parcel.kind:
            raise InputError(
                f"There is no task {into} for such labels: they are of the kind {parcel.kind}.",
                remedy="Name another task, or none to make a new one.",
            )
    else:
        row = db.execute(
            "SELECT tasks.id, kind, title FROM tasks JOIN task_keys ON task = tasks.id "
            "WHERE key = ? AND kind = ?",
            (parcel.key, parcel.kind),
        ).fetchone()
    new = row is None
    task = int(row[0]) if row else _new_task(db, parcel)
    db.execute("INSERT OR IGNORE INTO task_keys (key, task) VALUES (?, ?)", (parcel.key, task))
    before = len(_numbers(db, task))
    _add_items(db, task, parcel.items)
    items = _numbers(db, task)
    numbers = [items[item.case, item.model, item.prompt] for item in parcel.items]
    said = _add_entries(db, task, parcel.labels, numbers, "label")
    said += _add_entries(db, task, parcel.decisions, numbers, "decide")
    total = len(parcel.labels) + len(parcel.decisions)
    title = parcel.title if row is None else str(row[2])
    return ImportedTask(task, title, new, len(items) - before, said, total - said)


def _new_task(db: sqlite3.Connection, parcel: Parcel) -> int:
    if not parcel.items:
        raise InputError(f"There is nothing in {parcel.title!r}.", remedy="Nothing was imported.")
    check_text(parcel.title, "title")
    task = db.execute(
        "INSERT INTO tasks (kind, title, per_item, at) VALUES (?, ?, ?, ?)",
        (parcel.kind, parcel.title, parcel.per_item, parcel.created or now()),
    ).lastrowid
    return int(task or 0)


def _add_items(db: sqlite3.Connection, task: int, items: Sequence[Item]) -> None:
    for item in items:
        for text in (item.case, item.model, item.prompt):
            check_text(text, "item")
    db.executemany(
        'INSERT INTO items (task, "case", model, prompt, run, baseline) VALUES (?, ?, ?, ?, ?, ?) '
        "ON CONFLICT DO UPDATE SET run = coalesce(run, excluded.run), "
        "baseline = coalesce(baseline, excluded.baseline)",  # the run may have come meanwhile
        ((task, i.case, i.model, i.prompt, i.run, i.baseline) for i in items),
    )


def _numbers(db: sqlite3.Connection, task: int) -> dict[tuple[str, str, str], int]:
    rows = db.execute('SELECT "case", model, prompt, id FROM items WHERE task = ?', (task,))
    return {(case, model, prompt): number for case, model, prompt, number in rows}


def _add_entries(
    db: sqlite3.Connection,
    task: int,
    entries: Sequence[Entry],
    items: Sequence[int],
    action: str,
) -> int:
    """Write down what is not known yet; returns how many that are."""
    people = {name: _person(db, name) for name in dict.fromkeys(entry.by for entry in entries)}
    # A decision is the last one of anybody, a label the last one of its person.
    actions = ("decide",) if action == "decide" else ("label", "skip", "undo")
    last: dict[tuple[int, int], tuple[str, str | None]] = {}
    for item, person, at, value in db.execute(
        "SELECT item, annotator, at, value FROM events "
        "WHERE item IN (SELECT id FROM items WHERE task = ?) "
        f"AND action IN ({', '.join('?' * len(actions))}) ORDER BY id",
        (task, *actions),
    ):
        last[item, 0 if action == "decide" else person] = (at, value)
    added = 0
    for entry in entries:
        person = people[entry.by]
        place = (items[entry.item], 0 if action == "decide" else person)
        at, value = entry.at or now(), json.dumps(entry.value.as_json())
        known = last.get(place)
        if known is not None and (known[1] == value if entry.at is None else known[0] >= at):
            continue
        db.execute(
            "INSERT INTO events (at, item, annotator, action, value, note, seconds) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (at, items[entry.item], person, action, value, entry.note, entry.seconds),
        )
        last[place] = (at, value)
        added += 1
    return added


def _person(db: sqlite3.Connection, name: str) -> int:
    plain = " ".join(name.split())
    if not plain or len(plain) > 80:
        raise InputError("A name of an annotator has 1 to 80 characters.")
    check_text(plain, "annotator")
    db.execute(
        "INSERT INTO annotators (name, token, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (plain, secrets.token_urlsafe(18), now()),
    )
    row = db.execute("SELECT id FROM annotators WHERE name = ?", (plain,)).fetchone()
    return int(row[0])
