"""The list of runs with live progress, and reports about them.

The list updates itself in pieces: htmx asks `/runs/live` and swaps only the progress of runs, so
ticked boxes, focus and scroll position stay. The whole list is swapped when runs come or go.

A report is the page that `uiproof report` writes. It takes scripts and styles from `/runs/files`,
so that the studio's content security policy holds for it too, and polls `/runs/state`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from pydantic import BaseModel

from uiproof.errors import InputError
from uiproof.models.names import EXAMPLES
from uiproof.registry import benchmarks
from uiproof.report.html import media_type, report_file
from uiproof.studio.app import Id, OwnerContext, RequestContext, number_in
from uiproof.studio.datasets import folders_here, known_datasets
from uiproof.studio.runs import FoundRun, RunState, open_run

router = APIRouter(prefix="/runs")

_FAST, _SLOW = 2, 10  # seconds between polls: while something runs, and otherwise
_MANY = 8  # runs; a longer list can be filtered

# Of methods such as `replay:FOLDER`, which cannot be chosen as they are.
_PLACEHOLDER = re.compile(r"[A-Z]{3,}|…").search

Names = Annotated[list[str], Query(alias="run")]


@router.get("")
def all_runs(context: OwnerContext) -> Response:
    """List all runs."""
    return context.page("runs.html", section="runs", **_listed(context))


class RunForm(BaseModel):
    """The form for a new run."""

    dataset: str = ""
    method: str = ""
    prompt: str = ""
    limit: str = ""
    max_cost: str = ""


@router.get("/new")
def new_run(context: OwnerContext, dataset: str = "") -> Response:
    """Show the form that starts a run."""
    known = [one for one in known_datasets() if one.path is not None]
    methods = {
        name: [method for method in _without_search(one.methods) if not _PLACEHOLDER(method)]
        for name, one in benchmarks().items()
    }
    return context.page(
        "run_new.html",
        section="runs",
        datasets=known,
        opened=[one.editor.path for one in context.studio.library.datasets() if not one.error],
        chosen=dataset,
        methods=methods,
        models=EXAMPLES[:-1],
        prompts={name: list(one.prompts) for name, one in benchmarks().items() if one.prompts},
        folders=folders_here(),
        folder=context.studio.runs,
    )


@router.post("/new")
def start_run(context: OwnerContext, form: Annotated[RunForm, Form()]) -> Response:
    """Start a run, and go to the list."""
    dataset = form.dataset.strip()
    if not dataset:
        raise InputError("Choose a data set.", remedy="A name of the list, or a folder.")
    context.studio.launcher.start(
        dataset,
        form.method.strip(),
        prompt=form.prompt.strip(),
        limit=_whole(form.limit),
        max_cost=_dollars(form.max_cost),
    )
    return Response(headers={"HX-Redirect": "/runs"})


@router.post("/stop")
def stop_run(context: OwnerContext, run: Annotated[str, Form()] = "") -> Response:
    """Stop a run as Ctrl-C does."""
    if run not in {one.name for one in context.studio.launcher.started()}:
        open_run(context.studio.runs, run)  # nothing outside of the folder
    context.studio.launcher.stop(run)
    return news(context)


@router.post("/dismiss")
def dismiss(context: OwnerContext, run: Annotated[str, Form()] = "") -> Response:
    """Take a run that could not be started from the list."""
    context.studio.launcher.dismiss(run)
    return news(context)


@router.get("/live")
def news(context: OwnerContext, known: str = "") -> Response:
    """Answer with what has changed; the whole list if it is not the `known` one."""
    listed = _listed(context)
    return context.page("runs_live.html", whole=listed["key"] != known, **listed)


@router.get("/view")
def view(context: OwnerContext, names: Names = []) -> Response:  # noqa: B006 - FastAPI copies it
    """Show the report about one or more runs."""
    return HTMLResponse(context.studio.reports.page(_chosen(context, names)))


@router.get("/state")
def state(context: OwnerContext, names: Names = []) -> dict[str, Any]:  # noqa: B006 - FastAPI copies it
    """Answer with the progress of the runs of a report."""
    states = [context.studio.monitor.state(run) for run in _chosen(context, names)]
    return {
        "results": sum(one.n for one in states),
        "running": any(one.state == "running" for one in states),
    }


@router.get("/pictures/{key}/{number}")
def picture(context: OwnerContext, key: str, number: Id) -> Response:
    """Serve a picture of a report."""
    content = context.studio.reports.picture(key, number)
    if content is None:
        return PlainTextResponse("There is no such picture.\n", 404)
    # The same number always shows the same picture.
    kept = {"Cache-Control": "private, max-age=86400, immutable"}
    return Response(content, media_type=media_type(content), headers=kept)


@router.get("/files/{name}")
def file(name: str) -> Response:
    """Serve a style or script of reports."""
    found = report_file(name)
    if found is None:
        return PlainTextResponse("There is no such file.\n", 404)
    return Response(found[0], media_type=found[1])


def _chosen(context: RequestContext, names: Iterable[str]) -> list[FoundRun]:
    runs = [open_run(context.studio.runs, name) for name in dict.fromkeys(names)]
    if not runs:
        raise InputError("No run was chosen.", remedy="Tick one or more runs of one benchmark.")
    return runs


def _listed(context: RequestContext) -> dict[str, Any]:
    """Return the values of the templates of the list."""
    states = context.studio.monitor.states(context.studio.runs)
    # Newest first; progress never changes the order.
    states.sort(key=lambda one: (str(one.run.manifest.get("created", "")), one.run.name))
    states.reverse()
    states.sort(key=lambda one: one.run.benchmark)
    damaged = [one for one in states if not one.run.benchmark]
    groups = {
        benchmark: list(members)
        for benchmark, members in groupby(states, lambda one: one.run.benchmark)
        if benchmark
    }
    started = context.studio.launcher.started()
    running = sum(one.state == "running" for one in states)
    starting = any(not one.problem for one in started)
    return {
        "started": started,
        "is_stopping": context.studio.launcher.is_stopping,
        "groups": groups,
        "damaged": damaged,
        "states": states,
        "running": running,
        "seconds": _FAST if running or starting else _SLOW,
        "many": len(states) > _MANY,
        "key": _key(states),
        "anchor": _anchor,
        "address": _address,
        "left": _left,
        "at": _at,
        "folder": context.studio.runs,
    }


def _without_search(methods: Iterable[str]) -> list[str]:
    """Return methods such as `ocr@SEARCH` by the part that can be used alone."""
    return list(dict.fromkeys(method.partition("@")[0] for method in methods))


def _whole(text: str) -> int | None:
    number = number_in(text.strip())
    if text.strip() and not number:
        raise InputError("The limit is not a number.", remedy="Use 1 or more, or leave it empty.")
    return number


def _dollars(text: str) -> float | None:
    try:
        dollars = float(text) if text.strip() else None
    except ValueError:
        dollars = -1.0
    if dollars is not None and not 0 < dollars < 1e6:
        raise InputError(
            "The most dollars are not a number.", remedy="Leave it empty for no limit."
        )
    return dollars


def _key(states: Iterable[RunState]) -> str:
    """Return a digest of the listed runs in order, without their progress."""
    listed = repr([(one.run.name, one.run.manifest) for one in states])
    return hashlib.blake2b(listed.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _anchor(one: RunState) -> str:
    """Return an id for the page; names may hold anything."""
    name = one.run.name.encode("utf-8", "surrogateescape")
    return f"run-{hashlib.blake2b(name, digest_size=8).hexdigest()}"


def _address(one: RunState) -> str:
    return f"/runs/view?{urlencode({'run': one.run.name}, errors='surrogateescape')}"


def _at(value: float) -> float:
    """Return the position of a score on a scale from 0 to 100."""
    return round(100 * min(max(value, 0.0), 1.0), 2)


def _left(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 60:
        return "less than a minute"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"
