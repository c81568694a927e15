"""The editor of boxes on a screenshot."""

from __future__ import annotations

from threading import Lock
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from uiproof.boxes import PixelBox
from uiproof.errors import InputError
from uiproof.studio.app import Asked, Here
from uiproof.studio.datasets.boxes import TYPES, current_boxes, read_boxes, read_edges
from uiproof.studio.datasets.pictures import is_huge
from uiproof.studio.datasets.sets import ScreenshotSet
from uiproof.studio.edits import edits
from uiproof.studio.routes.data_common import (
    Change,
    as_attribute,
    described,
    library,
    neighbours,
    save_change,
)

router = APIRouter()
_READING = Lock()  # the engine that reads text is one, and busy with all cores
_MARGIN = 6  # pixels around a box: letters at the very edge are read badly
_SMALL = 48  # pixels high: what is lower is enlarged for reading


@router.get("/data/{set_id}/shot")
def edit_boxes(here: Asked, set_id: str, name: str) -> Response:
    """One screenshot with its boxes."""
    data_set = _screenshots(here, set_id)
    shot = data_set.shot(name)
    _, size = shot.picture()
    edit = edits(here.store, set_id).get(name)
    state = {
        "name": name,
        "size": size,
        "content": current_boxes(shot, size, edit).json(),
        **described(here, edit),
    }
    return here.page(
        "data_shot.html",
        section="data",
        data_set=data_set,
        name=name,
        size=size,
        huge=is_huge(size),
        state=as_attribute(state),
        types=TYPES,
        broken=shot.broken,
        **neighbours(list(data_set.shots), name),
    )


@router.post("/data/{set_id}/boxes")
def save_boxes(here: Asked, set_id: str, change: Change) -> JSONResponse:
    """Keep the boxes of a screenshot."""
    _, size = _screenshots(here, set_id).shot(change.name).picture()
    return save_change(here, set_id, change, read_boxes(change.content, size).json())


class Place(BaseModel):
    """A part of a screenshot."""

    name: str
    box: list[int]


@router.post("/data/{set_id}/text")
def read_text(here: Asked, set_id: str, place: Place) -> dict[str, Any]:
    """What is written inside of a box, as far as it can be read."""
    path, size = _screenshots(here, set_id).shot(place.name).picture()
    box = read_edges(place.box, size)
    if box is None:
        raise InputError("There is no box to read in.")
    from uiproof.vision.images import read
    from uiproof.vision.ocr import read_lines

    around = PixelBox(
        max(box.left - _MARGIN, 0),
        max(box.top - _MARGIN, 0),
        min(box.right + _MARGIN, size[0]),
        min(box.bottom + _MARGIN, size[1]),
    )
    part = read(path)[around.top : around.bottom, around.left : around.right]
    with _READING:
        lines = read_lines(part, scale=2 if box.height < _SMALL else 1)
    return {"text": " ".join(line.text.strip() for line in lines)}


def _screenshots(here: Here, set_id: str) -> ScreenshotSet:
    found = library(here).get(set_id)
    if not isinstance(found, ScreenshotSet):
        raise InputError(f"{found.name} has pages with interactions, not single screenshots.")
    return found
