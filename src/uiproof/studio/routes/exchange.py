"""Labels in and out as files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect

from uiproof.errors import InputError
from uiproof.studio.app import Asked, Here, Id, number_in
from uiproof.studio.exchange.exchange import Imported, export_task, import_labels
from uiproof.studio.exchange.importing import PUBLISHED
from uiproof.studio.exchange.packing import MOST_BYTES, safe_word, zipped
from uiproof.studio.exchange.parcels import check_text

router = APIRouter()

_MOST_FILES = 500
_ENVELOPE = 1024 * 1024  # what a form needs around the files themselves


@router.get("/tasks/{task}/export")
def export(here: Asked, task: Id) -> Response:
    """A task as a zip file."""
    here.owner_only()
    name = safe_word(here.store.task(task).title, set(), "labels")
    ascii_name = name.encode("ascii", "ignore").decode() or "labels"
    with TemporaryDirectory(prefix="uiproof-export-") as place:
        folder = Path(place)
        export_task(here.store, task, folder)
        content = zipped(folder)
    headers = {"Content-Disposition": f'attachment; filename="{ascii_name}.zip"'}
    return Response(content, media_type="application/zip", headers=headers)


@router.get("/import")
def import_page(here: Asked) -> Response:
    """Where label files are given to the studio."""
    here.owner_only()
    return here.page("import.html", section="tasks", tasks=here.store.tasks(), annotator=PUBLISHED)


@router.post("/import")
async def import_files(here: Asked, request: Request) -> Response:
    """Take label files in, all of them or none."""
    here.owner_only()
    _check_size(request)
    try:
        async with request.form(max_files=_MOST_FILES, max_fields=20) as form:
            files = await _contents(form)
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
    except (MultiPartException, ClientDisconnect) as error:
        raise InputError(
            f"The upload could not be read: {error}.",
            remedy=f"At most {_MOST_FILES} files at once; put more into a zip file.",
        ) from error
    done = await run_in_threadpool(_import, here, files, fields)
    return here.page("import_done.html", done=done)


def _import(here: Here, files: Iterable[tuple[str, bytes]], fields: dict[str, str]) -> Imported:
    into = fields.get("into", "").strip()
    task = number_in(into)
    if into and task is None:
        raise InputError("There is no such task.", remedy="Choose one of the list.")
    with TemporaryDirectory(prefix="uiproof-upload-") as place:
        return import_labels(
            here.store,
            _stored(files, Path(place)),
            runs=here.studio.runs,
            annotator=fields.get("annotator", "").strip() or PUBLISHED,
            into=task,
            title=fields.get("title", "").strip()[:200] or None,
        )


def _check_size(request: Request) -> None:
    size = request.headers.get("content-length", "")
    if not size.isdecimal() or int(size) > MOST_BYTES + _ENVELOPE:
        raise InputError(
            f"An upload has at most {MOST_BYTES // 2**20} MB.",
            remedy="Use `uiproof studio import` for more.",
        )


async def _contents(form: FormData) -> list[tuple[str, bytes]]:
    uploads = [one for one in form.getlist("files") if isinstance(one, UploadFile)]
    return [(one.filename or "", await one.read()) for one in uploads if one.filename]


def _stored(files: Iterable[tuple[str, bytes]], folder: Path) -> list[Path]:
    """The files below a folder under the last part of their names; zip files by themselves."""
    loose, packed = folder / "files", folder / "zips"
    loose.mkdir()
    packed.mkdir()
    zips = []
    for given, content in files:
        name = PurePosixPath(given.replace("\\", "/")).name
        check_text(name, "The name of a file")
        suffix = PurePosixPath(name).suffix.lower()
        if suffix not in (".json", ".jsonl", ".zip") or len(name.encode()) > 250 or "\0" in name:
            raise InputError(
                f"{name[:80]!r} is neither a label file nor a zip file.",
                remedy="Choose .json, .jsonl or .zip files. Nothing was imported.",
            )
        target = (packed if suffix == ".zip" else loose) / name
        if target.exists():
            raise InputError(f"{name} is there twice.", remedy="Nothing was imported.")
        target.write_bytes(content)
        if suffix == ".zip":
            zips.append(target)
    some = any(loose.iterdir())
    if not some and not zips:
        raise InputError("No file was chosen.", remedy="Choose label files or a zip file.")
    return [*([loose] if some else []), *zips]
