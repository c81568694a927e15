"""What the editors of data sets share: finding the set, and saving every change at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from uiproof.studio.app import Here
from uiproof.studio.datasets.sets import Library
from uiproof.studio.edits import Edit, EditConflictError, edits, save_edit


class Change(BaseModel):
    """What an editor sends: the whole new state, and the revision that it was made from."""

    name: str
    revision: int = Field(ge=0, lt=2**53)
    content: dict[str, Any]


def library(here: Here) -> Library:
    """The data sets of this studio."""
    state = here.request.app.state
    if not hasattr(state, "library"):
        state.library = Library(here.studio.datasets)
    found: Library = state.library
    return found


def save_change(
    here: Here, set_id: str, change: Change, content: Mapping[str, Any]
) -> JSONResponse:
    """Keep a checked state; answers 409 with the other one where somebody else was faster."""
    person = here.named_person()
    try:
        saved = save_edit(
            here.store,
            set_id,
            change.name,
            content,
            annotator=person.id,
            revision=change.revision,
        )
    except EditConflictError:
        theirs = edits(here.store, set_id)[change.name]
        if theirs.content == content:  # the same was sent twice, or two people agree
            return JSONResponse(described(here, theirs))
        return JSONResponse({**described(here, theirs), "content": theirs.content}, 409)
    return JSONResponse(described(here, saved))


def neighbours(names: Sequence[str], name: str) -> dict[str, Any]:
    """Where an entry stands among the others, as the pages show it."""
    at = names.index(name)
    return {
        "number": at + 1,
        "total": len(names),
        "previous": names[at - 1] if at else None,
        "following": names[at + 1] if at + 1 < len(names) else None,
    }


def described(here: Here, edit: Edit | None) -> dict[str, Any]:
    """The revision of a state, and who made it when."""
    if edit is None:
        return {"revision": 0, "by": "", "at": ""}
    names = {person.id: person.name for person in here.store.annotators()}
    return {"revision": edit.id, "by": names.get(edit.annotator, ""), "at": edit.at}


def as_attribute(content: Any) -> str:
    """JSON for an attribute of a page, where scripts find it."""
    return json.dumps(content)
