"""Corrections of data sets: kept in the studio's file, never in the data set itself.

An *entry* is one screenshot or one page of a data set. Its newest edit is what an export writes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from uiproof.errors import UsageError
from uiproof.studio.store import Store, now


class EditConflictError(UsageError):
    """Somebody else saved the same entry meanwhile."""

    code = "edit_conflict"


@dataclass(frozen=True, slots=True)
class Edit:
    """One state of one entry; `id` is its revision."""

    id: int
    entry: str
    content: Any
    annotator: int
    at: str


def save_edit(
    store: Store, dataset: str, entry: str, content: Any, *, annotator: int, revision: int
) -> Edit:
    """Write a new state of an entry down. `revision` is the one it was made from, 0 for none.

    Raises `EditConflictError` when somebody else saved meanwhile; nothing is overwritten then.
    """
    with store.writing() as db:
        newest = db.execute(
            "SELECT max(id) FROM edits WHERE dataset = ? AND entry = ?", (dataset, entry)
        ).fetchone()[0]
        if (newest or 0) != revision:
            raise EditConflictError(
                "Somebody else has changed this meanwhile.",
                remedy="Load the page again to see their version; yours was not saved.",
            )
        at = now()
        added = db.execute(
            "INSERT INTO edits (at, annotator, dataset, entry, content) VALUES (?, ?, ?, ?, ?)",
            (at, annotator, dataset, entry, json.dumps(content)),
        )
        return Edit(int(added.lastrowid or 0), entry, content, annotator, at)


def edits(store: Store, dataset: str) -> dict[str, Edit]:
    """The newest state of each entry of a data set that was changed."""
    with store.reading() as db:
        rows = db.execute(
            "SELECT max(id), entry, content, annotator, at FROM edits "
            "WHERE dataset = ? GROUP BY entry",
            (dataset,),
        ).fetchall()
    return {row[1]: Edit(row[0], row[1], json.loads(row[2]), *row[3:]) for row in rows}
