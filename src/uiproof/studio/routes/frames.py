"""Generated pages, each in a sandbox of its own, and pictures of them; found by key only."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response

from uiproof.studio.annotating.exhibits import Exhibit, exhibit
from uiproof.studio.annotating.frames import (
    FILE_POLICY,
    INDEX,
    Seen,
    document,
    file_beside,
    headers,
    notice,
    page_policy,
    unseal,
)
from uiproof.studio.app import Asked, Studio

router = APIRouter()
# Keys are made anew at every start and name one file, so what they open can be kept for a while.
_KEPT = {"Cache-Control": "private, max-age=3600"}


@router.get("/frame/{key}/{path:path}")
def frame(request: Request, key: str, path: str) -> Response:
    """A generated page, or a file beside it. No cookie is asked for: the page would have none."""
    studio: Studio = request.app.state.studio
    host = request.headers.get("host", "")
    # There is no way to write an IPv6 address in a policy.
    place = (
        f"{request.url.scheme}://{host}/frame/{quote(key, safe='')}/"  # any text may be asked for
    )
    own = "'self'" if host.startswith("[") else place
    policy = page_policy(own)
    seen = unseal(studio.gate, key)
    if seen is None or seen.part != "page":
        return HTMLResponse(notice("This page is no longer shown."), 404, headers(policy))
    if request.headers.get("sec-fetch-dest") == "document":
        return HTMLResponse(
            notice("Generated pages are only shown inside of the studio."), 403, headers(policy)
        )
    found = _exhibit(studio, seen)
    page = found.page
    if page is None:
        return HTMLResponse(notice(found.missing), 404, headers(policy))
    if path in ("", INDEX, page.name):
        return _document(page, policy)
    beside = file_beside(page, path)
    if beside is None:
        return PlainTextResponse("There is no such file.\n", 404, headers(FILE_POLICY))
    name, kind = beside
    if kind == "text/html":
        return _document(name, policy)
    return Response(name.read_bytes(), headers=headers(FILE_POLICY), media_type=kind)


@router.get("/picture/{key}")
def picture(here: Asked, key: str) -> Response:
    """A screenshot of a reference or of a generated page."""
    seen = unseal(here.studio.gate, key)
    if seen is None or seen.part not in ("reference", "generated"):
        return PlainTextResponse("This picture is no longer shown.\n", 404)
    found = _exhibit(here.studio, seen)
    pictures = found.reference if seen.part == "reference" else found.generated
    if seen.number >= len(pictures):
        return PlainTextResponse("There is no such picture.\n", 404)
    content = pictures[seen.number].path.read_bytes()
    return Response(content, headers=_KEPT, media_type="image/png")


def _exhibit(studio: Studio, seen: Seen) -> Exhibit:
    item, task = studio.store.item(seen.item)
    run = item.baseline if seen.of_baseline else item.run
    return exhibit(studio.runs, run, item.case, studio.store.runs_of_case(task.id, item.case))


def _document(path: Path, policy: str) -> Response:
    return HTMLResponse(document(path), headers=headers(policy))
