"""A task outside of the studio: `labels.jsonl`, which holds everything and comes back the same.

The first line is the task, then come its items, the labels that count, and the decisions:

    {"format": 1, "task": {"key": "…", "kind": "judge", "title": "…", "per_item": 3, "created": …}}
    {"item": 1, "case": "12/3", "model": "gpt", "prompt": "cot", "run": null, "baseline": null}
    {"label": 1, "by": "Ann", "value": {"usable": true, "failure": "i", "also": ["f"]},
     "note": "", "at": "2025-01-31T12:00:00.000+00:00", "seconds": 12.5}
    {"decision": 1, "by": "Ann", "value": {…}, "note": "", "at": "…"}

`label` and `decision` name the number of the item that they are about.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any

from uiproof.engine.storage import access
from uiproof.errors import InputError
from uiproof.studio.labels import KINDS, Item, Kind, Label, Value, value_from_json
from uiproof.studio.outcomes.agreement import Said

NAME = "labels.jsonl"
FORMAT = 1
_LONGEST = {"name": 80, "title": 200, "note": 4000}  # as the store has it
_LONGEST_TEXT = 1000
_MOST_PER_ITEM = 10_000


@dataclass(frozen=True, slots=True)
class Entry:
    """What somebody said about an item."""

    item: int  # its place in the parcel
    by: str
    value: Value
    note: str = ""
    at: str | None = None  # None: when it is imported
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Parcel:
    """A task as files have it."""

    key: str  # the same task has the same, in every studio
    kind: Kind
    title: str
    per_item: int
    items: tuple[Item, ...]
    labels: tuple[Entry, ...]
    decisions: tuple[Entry, ...] = ()
    created: str | None = None  # None: when it is imported


def lines_of(said: Said, key: str) -> Iterator[str]:
    """The lines of `labels.jsonl` for a task."""
    task = said.task
    about = {name: getattr(task, name) for name in ("kind", "title", "per_item", "created")}
    yield _line({"format": FORMAT, "task": {"key": key, **about}})
    numbers = {item.id: number for number, item in enumerate(said.items, start=1)}
    for item in said.items:
        fields = {name: getattr(item, name) for name in ("case", "model", "prompt")}
        linked = {"run": item.run, "baseline": item.baseline}
        yield _line({"item": numbers[item.id], **fields, **linked})
    for by in said.labels.values():
        for label in by.values():
            entry = _entry(label, said)
            yield _line({"label": numbers[label.item], **entry, "seconds": label.seconds})
    for label in said.decisions.values():
        yield _line({"decision": numbers[label.item], **_entry(label, said)})


def read_parcel(path: Path) -> Parcel:
    """Read `labels.jsonl`; raises `InputError` that names the line where something is wrong."""
    with access(path, "read"):
        content = path.read_bytes()
    parts = content.decode("utf-8", "surrogateescape").split("\n")
    found = _Reader(path.name)
    for number, line in enumerate(parts, start=1):
        if line.strip():
            found.line(number, line)
    return found.parcel()


class _Reader:
    """Puts a parcel together line by line."""

    def __init__(self, name: str) -> None:
        self._where = name
        self._task: dict[str, Any] | None = None
        self._kind: Kind = "judge"
        self._items: dict[int, Item] = {}
        self._places: dict[int, int] = {}
        self._labels: list[Entry] = []
        self._decisions: list[Entry] = []
        self._name = name

    def line(self, number: int, text: str) -> None:
        self._where = f"{self._name}, line {number}"
        try:
            fields = json.loads(text, parse_constant=self._no_number)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self._where} is not JSON: {error}.") from error
        if not isinstance(fields, dict):
            raise self._wrong("an object was expected")
        if self._task is None:
            self._begin(fields)
        elif "item" in fields:
            self._add_item(fields)
        elif "label" in fields:
            self._labels.append(self._entry(fields, "label"))
        elif "decision" in fields:
            self._decisions.append(self._entry(fields, "decision"))
        else:
            raise self._wrong("it is neither an item nor a label nor a decision")

    def parcel(self) -> Parcel:
        if self._task is None:
            raise InputError(f"{self._name} is empty.")
        task = self._task
        return Parcel(
            key=self._text(task, "key"),
            kind=self._kind,
            title=self._text(task, "title", _LONGEST["title"]).strip() or "Imported labels",
            per_item=task["per_item"],
            items=tuple(self._items.values()),
            labels=tuple(self._labels),
            decisions=tuple(self._decisions),
            created=self._time(task, "created"),
        )

    def _begin(self, fields: dict[str, Any]) -> None:
        task = fields.get("task")
        if fields.get("format") != FORMAT or not isinstance(task, dict):
            raise InputError(
                f"{self._name} does not begin with a task in format {FORMAT}.",
                remedy="Import the labels.jsonl of an export; newer ones need a newer uiproof.",
            )
        per_item = task.get("per_item")
        if task.get("kind") not in KINDS or not _is_count(per_item):
            raise self._wrong("the task has no known kind, or no number of annotators per item")
        self._task, self._kind = task, task["kind"]

    def _add_item(self, fields: dict[str, Any]) -> None:
        number = fields["item"]
        if not isinstance(number, int) or number in self._items:
            raise self._wrong(f"{number!r} is no number of an item, or is there twice")
        case, model = self._text(fields, "case"), self._text(fields, "model")
        if not case:
            raise self._wrong("the item has no case")
        self._places[number] = len(self._items)
        run, baseline = (
            self._text(fields, name) if fields.get(name) else None for name in ("run", "baseline")
        )
        self._items[number] = Item(case, model, self._text(fields, "prompt"), run, baseline)

    def _entry(self, fields: dict[str, Any], key: str) -> Entry:
        number = fields[key]
        if not isinstance(number, int) or number not in self._places:
            raise self._wrong(f"there is no item {number!r} above it")
        by = self._text(fields, "by", _LONGEST["name"])
        if not by.strip():
            raise self._wrong("it does not say whose label it is")
        try:
            value = value_from_json(self._kind, fields.get("value", {}))
        except InputError as error:
            raise self._wrong(error.message) from error
        seconds = fields.get("seconds")
        if seconds is not None:
            is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
            if not is_number or not isfinite(seconds) or seconds < 0:
                raise self._wrong(f"{seconds!r} is no number of seconds")
            seconds = float(seconds)
        note = self._text(fields, "note", _LONGEST["note"]) if "note" in fields else ""
        return Entry(self._places[number], by, value, note, self._time(fields, "at"), seconds)

    def _text(self, fields: dict[str, Any], key: str, longest: int = _LONGEST_TEXT) -> str:
        text = fields.get(key)
        if not isinstance(text, str) or len(text) > longest:
            raise self._wrong(f"{key} must be a text of at most {longest:,} characters")
        check_text(text, self._where)
        return text

    def _time(self, fields: dict[str, Any], key: str) -> str:
        try:
            at = datetime.fromisoformat(fields[key]).astimezone(UTC)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._wrong(f"{key} is no time") from error
        return at.isoformat(timespec="milliseconds")

    def _no_number(self, constant: str) -> None:
        raise self._wrong(f"{constant} is no number")

    def _wrong(self, problem: str) -> InputError:
        return InputError(f"{self._where}: {problem}.", remedy="Nothing was imported.")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and 1 <= value <= _MOST_PER_ITEM


def check_text(text: str, where: str) -> None:
    """Refuse text that is not text, such as half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where}: {text[:60]!a} has characters that cannot be written.",
            remedy="Nothing was imported.",
        ) from error


def _entry(label: Label, said: Said) -> dict[str, Any]:
    return {
        "by": said.names[label.annotator],
        "value": label.value.as_json(),
        "note": label.note,
        "at": label.at,
    }


def _line(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n"
