"""Data sets: their entries and pictures, the editors of entries, and exports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, Response
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask

from uiproof.dataset_editor import (
    DatasetEditor,
    Edges,
    EntrySummary,
    check_inside,
    picture_type,
)
from uiproof.errors import InputError
from uiproof.remote.store import is_url
from uiproof.studio.app import Context, OwnerContext, RequestContext, paged
from uiproof.studio.datasets import (
    OpenDataset,
    folders_here,
    is_huge,
    known_datasets,
    open_dataset,
    picture_version,
    scaled_down,
    thumbnail,
    write_export,
)
from uiproof.studio.store import Edit, EditConflictError, edits, save_edit

router = APIRouter(prefix="/data")
_PER_PAGE = 60
_OCR = Lock()  # the engine uses all cores
_MARGIN = 6  # pixels around a box: letters at the very edge are read badly
_SMALL = 48  # pixels high: lower boxes are enlarged for OCR


@router.get("")
def show_datasets(context: Context) -> Response:
    """List all data sets."""
    found = context.studio.library.datasets()
    rows = [(one, one.editor, _summaries(context, one)) for one in found if one.error is None]
    broken = [one for one in found if one.error is not None]
    owner = context.visitor.owner
    opened = {one.editor.path for one, *_ in rows}
    known = known_datasets() if owner else []
    return context.page(
        "data.html",
        section="data",
        rows=rows,
        broken=broken,
        closable=[one.id for one in found if context.studio.library.closable(one.id)],
        known=[one for one in known if one.path not in opened],
        here=Path.cwd() if owner else "",
        folders=folders_here() if owner else [],
    )


@router.post("/open")
def open_set(context: OwnerContext, path: Annotated[str, Form()] = "") -> Response:
    """Open a data set: a name that the registry knows, or a folder."""
    given = path.strip()
    if not given or is_url(given):
        raise InputError("Name a folder of this machine, or a data set of the list.")
    wanted = Path(given).expanduser()
    wanted = wanted.absolute() if wanted.exists() else Path(given)
    open_dataset(wanted)
    context.store.open_dataset(wanted)
    return Response(headers={"HX-Refresh": "true"})


@router.post("/{set_id}/close")
def close_set(context: OwnerContext, set_id: str) -> Response:
    """Close a data set that was opened here; corrections stay in the studio's file."""
    path = context.studio.library.closable(set_id)
    if path is None:
        raise InputError("This data set was not opened here.", remedy="It was named at the start.")
    context.store.close_dataset(path)
    return Response(headers={"HX-Refresh": "true"})


@router.get("/{set_id}")
def show_dataset(
    context: Context,
    set_id: str,
    show: Literal["all", "open", "done"] = "all",
    find: Annotated[str, Query(max_length=200)] = "",
    page: Annotated[int, Query(ge=1, le=10_000)] = 1,
) -> Response:
    """List the entries of a data set."""
    data_set = context.studio.library.get(set_id)
    entries = _summaries(context, data_set)
    wanted = [
        one
        for one in entries
        if (show == "all" or one.done == (show == "done")) and find.lower() in one.name.lower()
    ]
    shown, number, pages = paged(wanted, page, _PER_PAGE)
    return context.page(
        "data_set.html",
        section="data",
        data_set=data_set,
        editor=data_set.editor,
        entries=shown,
        found=len(wanted),
        total=len(entries),
        done=sum(one.done for one in entries),
        show=show,
        find=find,
        number=number,
        pages=pages,
    )


@router.get("/{set_id}/continue")
def go_on(context: Context, set_id: str) -> Response:
    """Redirect to the first entry that is not done."""
    data_set = context.studio.library.get(set_id)
    for one in _summaries(context, data_set):
        if not one.done and not one.problem:
            query = urlencode({"name": one.name})
            return RedirectResponse(f"/data/{set_id}/{data_set.editor.form}?{query}", 303)
    return RedirectResponse(f"/data/{set_id}", 303)


@router.get("/{set_id}/picture")
def show_picture(
    context: Context,
    set_id: str,
    name: str,
    node: str | None = None,
    size: Literal["full", "thumbnail"] = "full",
) -> Response:
    """Serve a picture of a data set: as it is, scaled down if it is huge, or as a thumbnail."""
    path, pixels = context.studio.library.get(set_id).editor.picture(name, node)
    tag = f'"{picture_version(path)}-{size}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if context.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if size == "thumbnail":
        return Response(thumbnail(path), media_type="image/jpeg", headers=headers)
    if is_huge(pixels):
        return Response(scaled_down(path), media_type="image/jpeg", headers=headers)
    return Response(path.read_bytes(), media_type=picture_type(path), headers=headers)


@router.get("/{set_id}/export")
def export(context: Context, set_id: str, done: bool = False) -> Response:
    """Serve the data set with its corrections as a zip file."""
    data_set = context.studio.library.get(set_id)
    folder = TemporaryDirectory(prefix="uiproof-export-")
    out = Path(folder.name) / "export.zip"
    try:
        write_export(context.store, set_id, data_set.editor, out, only_done=done)
    except BaseException:
        folder.cleanup()
        raise
    name = re.sub(r"[^\w.-]+", "_", data_set.name).strip("._")[:100] or "data"
    return FileResponse(
        out,
        media_type="application/zip",
        filename=f"{name}-corrected.zip",
        background=BackgroundTask(folder.cleanup),
    )


@router.get("/{set_id}/shot")
@router.get("/{set_id}/page")
def edit_entry(context: Context, set_id: str, name: str) -> Response:
    """Show one screenshot with its boxes, or one page with its interactions."""
    form = context.request.url.path.rpartition("/")[2]
    editor = _editor(context, set_id, form)
    edit = edits(context.store, set_id).get(name)
    view = editor.view(name, None if edit is None else edit.content)
    state = {**view.pop("state"), **_described(context, edit)}
    names = editor.names()
    at = names.index(name)
    return context.page(
        f"data_{form}.html",
        section="data",
        data_set=context.studio.library.get(set_id),
        name=name,
        state=json.dumps(state),  # for an attribute, where the script finds it
        huge=is_huge(view.get("size", (0, 0))),
        number=at + 1,
        total=len(names),
        previous=names[at - 1] if at else None,
        following=names[at + 1] if at + 1 < len(names) else None,
        **view,
    )


class Change(BaseModel):
    """A change from an editing page: the whole new state, and the revision it is based on."""

    name: str
    revision: int = Field(ge=0, lt=2**53)
    content: dict[str, Any]


@router.post("/{set_id}/boxes")
@router.post("/{set_id}/interactions")
def save_entry(context: Context, set_id: str, change: Change) -> JSONResponse:
    """Save a valid state; answer 409 with the newer one if there is one."""
    form = "shot" if context.request.url.path.endswith("/boxes") else "page"
    content = _editor(context, set_id, form).checked(change.name, change.content)
    person, name, revision = context.named_person(), change.name, change.revision
    try:
        saved = save_edit(
            context.store, set_id, name, content, annotator=person.id, revision=revision
        )
    except EditConflictError:
        newer = edits(context.store, set_id)[name]
        if newer.content == content:  # the same was sent twice, or two people agree
            return JSONResponse(_described(context, newer))
        return JSONResponse({**_described(context, newer), "content": newer.content}, 409)
    return JSONResponse(_described(context, saved))


class PictureRegion(BaseModel):
    """A part of a screenshot."""

    name: str
    box: Edges


@router.post("/{set_id}/text")
def read_text(context: Context, set_id: str, region: PictureRegion) -> dict[str, Any]:
    """Return the text inside a box, as OCR reads it."""
    from uiproof.vision.images import read
    from uiproof.vision.ocr import read_lines

    path, size = _editor(context, set_id, "shot").picture(region.name)
    check_inside(region.box, size)
    left, top, right, bottom = region.box
    rows = slice(max(top - _MARGIN, 0), min(bottom + _MARGIN, size[1]))
    columns = slice(max(left - _MARGIN, 0), min(right + _MARGIN, size[0]))
    with _OCR:
        lines = read_lines(read(path)[rows, columns], scale=2 if bottom - top < _SMALL else 1)
    return {"text": " ".join(line.text.strip() for line in lines)}


def _described(context: RequestContext, edit: Edit | None) -> dict[str, Any]:
    """Return the revision of a state, and who made it when."""
    if edit is None:
        return {"revision": 0, "by": "", "at": ""}
    names = {person.id: person.name for person in context.store.annotators()}
    return {"revision": edit.id, "by": names.get(edit.annotator, ""), "at": edit.at}


def _summaries(context: RequestContext, data_set: OpenDataset) -> list[EntrySummary]:
    made = {name: edit.content for name, edit in edits(context.store, data_set.id).items()}
    editor = data_set.editor
    return [editor.summary(name, made.get(name)) for name in editor.names()]


def _editor(context: RequestContext, set_id: str, form: str) -> DatasetEditor:
    editor = context.studio.library.get(set_id).editor
    if editor.form != form:
        held = "pages with interactions" if editor.form == "page" else "screenshots with boxes"
        raise InputError(f"{editor.name} holds {held}.")
    return editor
