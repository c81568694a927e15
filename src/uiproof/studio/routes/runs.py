"""Runs as the report shows them, live while they go on.

The list renews itself in pieces: htmx asks `/runs/live` and swaps the few elements that say how
far a run is, so boxes that are ticked, the focus and the place on the page stay. Only where runs
have come or gone the whole list is swapped.

A run is looked at with the page that `uiproof report` writes, not in a frame: it takes its scripts
and styles from `/runs/files`, so the studio's policy (nothing inline, no connection but to the
studio) holds for it as for every page, on top of its own. The page itself asks `/runs/state`
whether there is more to see, and offers to load it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, PlainTextResponse, Response

from uiproof.errors import InputError
from uiproof.report.html import report_file
from uiproof.studio.app import Asked, Here, Id
from uiproof.studio.browsing.live import RunState
from uiproof.studio.browsing.runs import FoundRun, open_run

router = APIRouter(prefix="/runs")

_FAST, _SLOW = 2, 10  # seconds between looks: while something runs, and else
_MANY = 8  # from here on there is a field to search in

Names = Annotated[list[str], Query(alias="run")]


@router.get("")
def all_runs(here: Asked) -> Response:
    """The list of all runs."""
    here.owner_only()
    return here.page("runs.html", section="runs", **_listed(here))


@router.get("/live")
def news(here: Asked, known: str = "") -> Response:
    """What has changed in the list; all of it where it is not the one that is `known`."""
    here.owner_only()
    listed = _listed(here)
    return here.page("runs_live.html", whole=listed["key"] != known, **listed)


@router.get("/view")
def view(here: Asked, names: Names = []) -> Response:  # noqa: B006 - FastAPI copies it
    """The report about one or more runs."""
    here.owner_only()
    return HTMLResponse(here.studio.reports.page(_chosen(here, names)))


@router.get("/state")
def state(here: Asked, names: Names = []) -> dict[str, Any]:  # noqa: B006 - FastAPI copies it
    """How far the runs of a report are."""
    here.owner_only()
    states = [here.studio.lookout.state(run) for run in _chosen(here, names)]
    return {
        "results": sum(one.n for one in states),
        "running": any(one.state == "running" for one in states),
    }


@router.get("/pictures/{key}/{number}")
def picture(here: Asked, key: str, number: Id) -> Response:
    """A picture of a report."""
    here.owner_only()
    content = here.studio.reports.picture(key, number)
    if content is None:
        return PlainTextResponse("There is no such picture any more.\n", 404)
    # The same number always shows the same picture.
    kept = {"Cache-Control": "private, max-age=86400, immutable"}
    return Response(content, media_type="image/webp", headers=kept)


@router.get("/files/{name}")
def file(name: str) -> Response:
    """A style or script of reports."""
    found = report_file(name)
    if found is None:
        return PlainTextResponse("There is no such file.\n", 404)
    return Response(found[0], media_type=found[1])


def _chosen(here: Here, names: Iterable[str]) -> list[FoundRun]:
    runs = [open_run(here.studio.runs, name) for name in dict.fromkeys(names)]
    if not runs:
        raise InputError("No run was chosen.", remedy="Tick one or more runs of one benchmark.")
    return runs


def _listed(here: Here) -> dict[str, Any]:
    """What the templates of the list know."""
    states = here.studio.lookout.look(here.studio.runs)
    # The newest first; where a run stands never depends on how far it is.
    states.sort(key=lambda one: (str(one.run.manifest.get("created", "")), one.run.name))
    states.reverse()
    states.sort(key=lambda one: one.run.benchmark)
    damaged = [one for one in states if not one.run.benchmark]
    groups = {
        benchmark: list(members)
        for benchmark, members in groupby(states, lambda one: one.run.benchmark)
        if benchmark
    }
    running = sum(one.state == "running" for one in states)
    return {
        "groups": groups,
        "damaged": damaged,
        "states": states,
        "running": running,
        "seconds": _FAST if running else _SLOW,
        "many": len(states) > _MANY,
        "key": _key(states),
        "anchor": _anchor,
        "address": _address,
        "left": _left,
        "at": _at,
        "folder": here.studio.runs,
    }


def _key(states: Iterable[RunState]) -> str:
    """Which runs are listed, in which order; not how far they are."""
    listed = repr([(one.run.name, one.run.manifest) for one in states])
    return hashlib.blake2b(listed.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _anchor(one: RunState) -> str:
    """An id in the page; names may hold anything."""
    name = one.run.name.encode("utf-8", "surrogateescape")
    return f"run-{hashlib.blake2b(name, digest_size=8).hexdigest()}"


def _address(one: RunState) -> str:
    return f"/runs/view?{urlencode({'run': one.run.name}, errors='surrogateescape')}"


def _at(value: float) -> float:
    """Where a score is on a scale from 0 to 100."""
    return round(100 * min(max(value, 0.0), 1.0), 2)


def _left(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 60:
        return "less than a minute"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"
