"""Who labels, and the addresses they open."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import Response

from uiproof.studio.app import Asked, Id
from uiproof.studio.labelling import progress

router = APIRouter()


@router.get("/people")
def people(here: Asked) -> Response:
    """Everybody, with their links."""
    here.owner_only()
    base = str(here.request.base_url).rstrip("/")
    tasks = here.store.tasks()
    listed = [
        (
            one,
            f"{base}/tasks?token={one.token}",
            sum(progress(here.store, task.id, one.id).done for task in tasks),
        )
        for one in here.store.annotators()
    ]
    local = (here.request.url.hostname or "") in ("127.0.0.1", "localhost", "::1")
    return here.page("people.html", section="people", people=listed, local=local)


@router.post("/people")
def add_person(here: Asked, name: Annotated[str, Form()] = "") -> Response:
    """Add an annotator."""
    here.owner_only()
    here.store.add_annotator(name)
    return _again()


@router.post("/people/me")
def label_as(here: Asked, name: Annotated[str, Form()] = "") -> Response:
    """Let the owner label under a name, which is added if needed."""
    here.owner_only()
    response = _again()
    here.remember(response, here.store.add_annotator(name))
    return response


@router.post("/people/{annotator}/link")
def new_link(here: Asked, annotator: Id) -> Response:
    """Make another link for somebody; the old one opens nothing any more."""
    here.owner_only()
    here.store.renew_token(annotator)
    return _again()


def _again() -> Response:
    return Response(headers={"HX-Refresh": "true"})
