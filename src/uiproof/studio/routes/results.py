"""Results of tasks, decisions, and labels in and out as files.

The page shows at once what follows from the labels alone; what needs the journals of runs is loaded
after it. Numbers are kept until a label changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Form, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect

from uiproof.errors import InputError
from uiproof.labels import NONE, OUTCOMES, LabelValue, Task, value_from_json
from uiproof.studio import label_bundle
from uiproof.studio.app import Count, Id, OwnerContext, RequestContext, number_in, paged
from uiproof.studio.cases import annotation_of, read_facts
from uiproof.studio.label_bundle import (
    PUBLISHED,
    ImportReport,
    check_text,
    export_task,
    import_labels,
    labels_csv,
    safe_word,
    zipped,
)
from uiproof.studio.results import (
    SettledItem,
    TaskLabels,
    agreements,
    category_tables,
    disagreements,
    gather,
    machine_agreement,
    ranking_tables,
    results_json,
    task_results,
)
from uiproof.studio.store import decide
from uiproof.studio.tasks import check_failures, item_of_task, item_view, result_is_left

router = APIRouter()
_PER_PAGE = 30
_MOST_FILES = 500
_ENVELOPE = 1024 * 1024  # what a form needs around the files themselves
_Made = TypeVar("_Made")


@router.get("/tasks/{task}/results")
def results(context: OwnerContext, task: Id) -> Response:
    """Show the results of a task."""
    return context.page("results.html", section="tasks", **_results(context, task))


@router.get("/tasks/{task}/results/agreement")
def live_agreement(context: OwnerContext, task: Id, seen: Count = 0, opened: Count = 0) -> Response:
    """Answer with the numbers that change while people label; 204 if none has."""
    if _stamp(context, task) == seen:
        return Response(status_code=204)
    return context.page("results_live.html", **{**_results(context, task), "opened": opened})


@router.get("/tasks/{task}/results/runs")
def beside_runs(context: OwnerContext, task: Id) -> Response:
    """Answer with what needs the runs: categories, the verifier and metrics beside people."""
    stamp, said = _labels(context, task)
    facts = read_facts(context.studio.runs, said.items)
    key = (stamp, facts.version)
    return context.page(
        "results_runs.html",
        task=said.task,
        machine=_kept(context, task, "runs", key, lambda: machine_agreement(said, facts)),
        categories=category_tables(said, facts),
    )


@router.get("/tasks/{task}/results.json")
def results_as_json(context: OwnerContext, task: Id) -> Response:
    """Answer with all numbers of a task for other programs."""
    _, said = _labels(context, task)
    facts = read_facts(context.studio.runs, said.items)
    content = {**results_json(said, facts), "program": machine_agreement(said, facts).as_json()}
    return JSONResponse(content)


@router.get("/tasks/{task}/decide")
def disputed(context: OwnerContext, task: Id, show: str = "open", page: Count = 1) -> Response:
    """List the items with different labels, to be decided."""
    _, said = _labels(context, task)
    every = disagreements(said)
    left = [one for one in every if one.decision is None]
    # Ties first: the others have at least a majority.
    chosen = sorted(every if show == "all" else left, key=lambda one: not one.open)
    disputes, number, pages = paged(chosen, page, _PER_PAGE)
    return context.page(
        "decide.html",
        section="tasks",
        disputes=disputes,
        left=len(left),
        total=len(every),
        show=show,
        number=number,
        pages=pages,
        **_vocabulary(said),
    )


@router.get("/tasks/{task}/items/{item}")
def look_again(context: OwnerContext, task: Id, item: Id) -> Response:
    """Show one item as annotators see it, without its model."""
    person = context.named_person()
    shown, its_task = item_of_task(context.store, item, task)
    view = item_view(context, its_task, person, shown)
    panes = [pane._replace(title="Generated") for pane in view.panes[:1]]
    if its_task.kind == "compare":
        left = result_is_left(context.store, person, shown)
        result, baseline = view.panes if left else view.panes[::-1]
        other = "Other result" if shown.against else "Baseline"
        panes = [result._replace(title="Result"), baseline._replace(title=other)]
    return context.page("look.html", section="tasks", task=its_task, view=view, panes=panes)


@router.post("/tasks/{task}/decide/{item}")
def settle(
    context: OwnerContext,
    task: Id,
    item: Id,
    value: Annotated[str, Form()] = "",
    usable: Annotated[str, Form()] = "",
    failure: Annotated[str, Form()] = NONE,
    outcome: Annotated[str, Form()] = "",
    note: Annotated[str, Form()] = "",
) -> Response:
    """Decide an item; an empty form withdraws the decision."""
    person = context.named_person()
    known, its_task = item_of_task(context.store, item, task)
    decided = _value(its_task, value, usable, failure, outcome)
    decide(context.store, item, person.id, decided, note)
    said = gather(context.store, task)
    dispute = next((one for one in disagreements(said) if one.item.id == item), None)
    if dispute is None:  # labels changed in the meantime
        dispute = SettledItem(known, {}, said.decisions.get(item), {})
    return context.page("decide_item.html", dispute=dispute, **_vocabulary(said))


@router.get("/tasks/{task}/export")
def export(context: OwnerContext, task: Id) -> Response:
    """Serve a task as a zip file."""
    name = safe_word(context.store.task(task).title, set(), "labels")
    ascii_name = name.encode("ascii", "ignore").decode() or "labels"
    with TemporaryDirectory(prefix="uiproof-export-") as folder:
        export_task(context.store, task, Path(folder))
        content = zipped(Path(folder))
    headers = {"Content-Disposition": f'attachment; filename="{ascii_name}.zip"'}
    return Response(content, media_type="application/zip", headers=headers)


@router.get("/tasks/{task}/labels.csv")
def labels_table(context: OwnerContext, task: Id) -> Response:
    """Serve all labels of a task as a table."""
    headers = {"Content-Disposition": f'attachment; filename="labels-{task}.csv"'}
    # The mark at the beginning lets spreadsheets read it as UTF-8.
    content = "\ufeff" + labels_csv(gather(context.store, task))
    return Response(content.encode("utf-8", "replace"), media_type="text/csv", headers=headers)


@router.get("/import")
def import_page(context: OwnerContext) -> Response:
    """Show the form that imports label files."""
    return context.page(
        "import.html", section="tasks", tasks=context.store.tasks(), annotator=PUBLISHED
    )


@router.post("/import")
async def import_files(context: OwnerContext, request: Request) -> Response:
    """Import label files, all of them or none."""
    size = request.headers.get("content-length", "")
    if not size.isdecimal() or int(size) > label_bundle.MOST_BYTES + _ENVELOPE:
        raise InputError(
            f"An upload has at most {label_bundle.MOST_BYTES // 2**20} MB.",
            remedy="Use `uiproof studio import` for more.",
        )
    try:
        async with request.form(max_files=_MOST_FILES, max_fields=20) as form:
            uploads = [one for one in form.getlist("files") if isinstance(one, UploadFile)]
            files = [(one.filename, await one.read()) for one in uploads if one.filename]
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
    except (MultiPartException, ClientDisconnect) as error:
        raise InputError(
            f"The upload could not be read: {error}.",
            remedy=f"At most {_MOST_FILES} files at once; put more into a zip file.",
        ) from error
    done = await run_in_threadpool(_import, context, files, fields)
    return context.page("import_done.html", done=done)


def _import(
    context: RequestContext, files: Iterable[tuple[str, bytes]], fields: dict[str, str]
) -> ImportReport:
    into = fields.get("into", "").strip()
    task = number_in(into)
    if into and task is None:
        raise InputError("There is no such task.", remedy="Choose one of the list.")
    with TemporaryDirectory(prefix="uiproof-upload-") as folder:
        return import_labels(
            context.store,
            _stored(files, Path(folder)),
            runs=context.studio.runs,
            annotator=fields.get("annotator", "").strip() or PUBLISHED,
            into=task,
            title=fields.get("title", "").strip()[:200] or None,
        )


def _stored(files: Iterable[tuple[str, bytes]], folder: Path) -> list[Path]:
    """Write uploads into a folder under the last part of their names; zip files beside it."""
    loose, packed = folder / "files", folder / "zips"
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
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(content)
    found = [*([loose] if loose.exists() else []), *sorted(packed.glob("*"))]
    if not found:
        raise InputError("No file was chosen.", remedy="Choose label files or a zip file.")
    return found


def _value(task: Task, value: str, usable: str, failure: str, outcome: str) -> LabelValue | None:
    content: Any
    if value:
        try:
            content = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InputError("This is not a label.") from error
    elif task.kind == "judge" and usable in ("yes", "no"):
        content = {"usable": usable == "yes", "failure": failure}
    elif task.kind == "compare" and outcome:
        content = {"outcome": outcome}
    else:
        return None
    found = value_from_json(task.kind, content, task.questions)
    check_failures(task, found)
    return found


def _vocabulary(said: TaskLabels) -> dict[str, Any]:
    failures = annotation_of(said.task.benchmark).failures
    return {"task": said.task, "failures": failures, "outcomes": OUTCOMES}


def _results(context: RequestContext, task: int) -> dict[str, Any]:
    stamp, said = _labels(context, task)
    found = _kept(context, task, "results", stamp, lambda: task_results(said))
    return {
        "said": said,
        "found": found,
        "agreements": _kept(context, task, "agreement", stamp, lambda: agreements(said)),
        "tables": ranking_tables(found.ranking) if found.ranking is not None else [],
        "stamp": stamp,
        "opened": stamp,
        "unimplemented": sorted(annotation_of(said.task.benchmark).unimplemented),
        **_vocabulary(said),
    }


def _labels(context: RequestContext, task: int) -> tuple[int, TaskLabels]:
    stamp = _stamp(context, task)
    return stamp, _kept(context, task, "labels", stamp, lambda: gather(context.store, task))


def _stamp(context: RequestContext, task: int) -> int:
    """Return a number that changes with every event of a task and every new item."""
    context.store.task(task)
    with context.store.reading() as db:
        events, items = db.execute(
            "SELECT (SELECT coalesce(max(id), 0) FROM events "
            "WHERE item IN (SELECT id FROM items WHERE task = :task)), "
            "(SELECT count(*) FROM items WHERE task = :task)",
            {"task": task},
        ).fetchone()
    return int(events) * 10_000_000 + int(items)


def _kept(
    context: RequestContext, task: int, what: str, key: object, make: Callable[[], _Made]
) -> _Made:
    """Return what was made before for the same key, or make it."""
    known = context.studio.results
    found = known.get((task, what))
    if found is None or found[0] != key:
        found = known[task, what] = (key, make())
    made: _Made = found[1]
    return made
