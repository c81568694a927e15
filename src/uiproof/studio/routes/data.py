"""Data sets: what there is, their pictures, and exports. Editors are in `boxes` and `pages`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse, RedirectResponse, Response
from starlette.background import BackgroundTask

from uiproof.errors import InputError
from uiproof.studio.app import Asked
from uiproof.studio.datasets.boxes import exported_boxes
from uiproof.studio.datasets.corrections import exported_pages
from uiproof.studio.datasets.exporting import safe_name, write_files
from uiproof.studio.datasets.pictures import is_huge, media_type, scaled_down, thumbnail, version
from uiproof.studio.datasets.sets import BrokenSet, DataSet, InteractionSet, ScreenshotSet
from uiproof.studio.edits import Edit, edits
from uiproof.studio.routes import data_boxes, data_pages
from uiproof.studio.routes.data_common import library

router = APIRouter()
_PER_PAGE = 60

Show = Literal["all", "open", "done"]


@dataclass(frozen=True, slots=True)
class Tile:
    """One screenshot or page in the list of a data set."""

    name: str
    count: int  # of boxes or interactions
    done: bool
    changed: bool
    node: str | None = None  # which screenshot of a page is shown
    note: str = ""
    problem: str = ""


@router.get("/data")
def show_sets(here: Asked) -> Response:
    """All data sets."""
    sets = library(here).sets()
    opened = [one for one in sets if not isinstance(one, BrokenSet)]
    rows = [(one, _tiles(one, edits(here.store, one.id))) for one in opened]
    broken = [one for one in sets if isinstance(one, BrokenSet)]
    return here.page("data.html", section="data", rows=rows, broken=broken)


@router.get("/data/{set_id}")
def show_set(
    here: Asked,
    set_id: str,
    show: Show = "all",
    find: Annotated[str, Query(max_length=200)] = "",
    page: Annotated[int, Query(ge=1, le=10_000)] = 1,
) -> Response:
    """The screenshots or pages of a data set."""
    data_set = library(here).get(set_id)
    tiles = _tiles(data_set, edits(here.store, set_id))
    wanted = [
        tile
        for tile in tiles
        if (show == "all" or tile.done == (show == "done")) and find.lower() in tile.name.lower()
    ]
    pages = max(-(-len(wanted) // _PER_PAGE), 1)
    page = min(page, pages)
    return here.page(
        "data_set.html",
        section="data",
        data_set=data_set,
        editor="page" if isinstance(data_set, InteractionSet) else "shot",
        tiles=wanted[(page - 1) * _PER_PAGE : page * _PER_PAGE],
        found=len(wanted),
        total=len(tiles),
        done=sum(tile.done for tile in tiles),
        show=show,
        find=find,
        number=page,
        pages=pages,
    )


@router.get("/data/{set_id}/continue")
def go_on(here: Asked, set_id: str) -> Response:
    """The first screenshot or page that is not done."""
    data_set = library(here).get(set_id)
    tiles = _tiles(data_set, edits(here.store, set_id))
    editor = "page" if isinstance(data_set, InteractionSet) else "shot"
    for tile in tiles:
        if not tile.done and not tile.problem:
            return RedirectResponse(
                f"/data/{set_id}/{editor}?{urlencode({'name': tile.name})}", 303
            )
    return RedirectResponse(f"/data/{set_id}", 303)


@router.get("/data/{set_id}/picture")
def show_picture(
    here: Asked,
    set_id: str,
    name: str,
    node: str | None = None,
    size: Literal["full", "thumbnail"] = "full",
) -> Response:
    """A picture of a data set: as it is, scaled down where it is huge, or small."""
    path, pixels = find_picture(library(here).get(set_id), name, node)
    tag = f'"{version(path)}-{size}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if here.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if size == "thumbnail":
        return Response(thumbnail(path), media_type="image/jpeg", headers=headers)
    if is_huge(pixels):
        return Response(scaled_down(path), media_type="image/jpeg", headers=headers)
    return Response(path.read_bytes(), media_type=media_type(path), headers=headers)


@router.get("/data/{set_id}/export")
def export(here: Asked, set_id: str, done: bool = False) -> Response:
    """The data set with its corrections, as a zip file."""
    data_set = library(here).get(set_id)
    if isinstance(data_set, ScreenshotSet):
        files = exported_boxes(here.store, data_set, only_done=done)
    else:
        files = exported_pages(here.store, data_set, only_done=done)
    folder = TemporaryDirectory(prefix="uiproof-export-")
    out = Path(folder.name) / "export.zip"
    try:
        write_files(files, out)
    except BaseException:
        folder.cleanup()
        raise
    name = f"{safe_name(data_set.name, set())}-corrected.zip"
    return FileResponse(
        out, media_type="application/zip", filename=name, background=BackgroundTask(folder.cleanup)
    )


def find_picture(data_set: DataSet, name: str, node: str | None) -> tuple[Path, tuple[int, int]]:
    """The file of a screenshot and its size; nothing but pictures of the data set is found."""
    if isinstance(data_set, ScreenshotSet):
        return data_set.shot(name).picture()
    if node is None:
        raise InputError("A page has several screenshots: name one.")
    return data_set.picture(name, node)


def _tiles(data_set: DataSet, made: dict[str, Edit]) -> list[Tile]:
    if isinstance(data_set, ScreenshotSet):
        return [
            Tile(
                name=shot.name,
                count=len(made[name].content["boxes"]) if name in made else len(shot.elements),
                done=name in made and made[name].content["done"],
                changed=name in made,
                note=f"{len(shot.broken)} cannot be read" if shot.broken else "",
            )
            for name, shot in data_set.shots.items()
        ]
    return [_page_tile(name, data_set, made.get(name)) for name in data_set.pages]


def _page_tile(name: str, data_set: InteractionSet, edit: Edit | None) -> Tile:
    try:
        graph = data_set.page(name)
    except InputError as error:
        return Tile(name, 0, done=False, changed=False, problem=error.message)
    removed = sum(one["removed"] for one in edit.content["interactions"]) if edit else 0
    return Tile(
        name=name,
        count=len(graph.interactions) - removed,
        done=edit is not None and edit.content["done"],
        changed=edit is not None,
        node=graph.start,
        note=edit.content["topic"] if edit else graph.topic,
        problem="" if graph.start else "It has no interaction that can be read.",
    )


router.include_router(data_boxes.router)
router.include_router(data_pages.router)
