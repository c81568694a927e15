"""Annotators, tasks and their queues, and the pages and pictures of an item."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Body, Form, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from pydantic import BaseModel, Field

from uiproof.errors import InputError
from uiproof.labels import (
    KINDS,
    QUESTION_KINDS,
    SCALE,
    Annotator,
    Item,
    Kind,
    Question,
    Task,
    questions_from_json,
)
from uiproof.studio.app import Context, Id, OwnerContext, RequestContext, Studio, number_in
from uiproof.studio.cases import CaseFiles, all_annotations, annotation_of, case_files
from uiproof.studio.frames import (
    FILE_POLICY,
    INDEX,
    FrameKey,
    document,
    file_beside,
    headers,
    notice,
    page_policy,
    unseal,
)
from uiproof.studio.runs import find_runs
from uiproof.studio.store import labels, next_item, progress, save_label, skip, undo
from uiproof.studio.tasks import (
    answered_item,
    answered_value,
    first_items,
    item_view,
    make_items,
)

router = APIRouter()
Answer = Annotated[dict[str, Any], Body()]
_LONGEST_SECONDS = 24 * 3600
_OPTIONS = re.compile(r"[^,;\n]+")
# Keys are made at every start and name one file, so browsers can cache what they open.
_CACHED = {"Cache-Control": "private, max-age=3600"}


class TaskForm(BaseModel):
    """The form for a new task."""

    title: str = ""
    kind: str = ""
    runs: list[str] = []
    baseline: str = ""
    pairs: Literal["", "all", "sparse"] = ""
    ask: list[str] = []  # the questions, with `answer` and `options` beside each
    answer: list[str] = []  # kinds; no field may be called `form`, which htmx looks up
    options: list[str] = []  # separated by commas
    per_item: Annotated[int, Field(ge=1, le=10_000)] = 3
    size: str = ""  # of a sample; empty for everything
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] = 0


@router.get("/people")
def people(context: OwnerContext) -> Response:
    """Show all annotators with their links."""
    base = str(context.request.base_url).rstrip("/")
    tasks = context.store.tasks()
    listed = [
        (
            one,
            f"{base}/tasks?token={one.token}",
            sum(progress(context.store, task.id, one.id).done for task in tasks),
        )
        for one in context.store.annotators()
    ]
    local = (context.request.url.hostname or "") in ("127.0.0.1", "localhost", "::1")
    return context.page("people.html", section="people", people=listed, local=local)


@router.post("/people")
def add_person(context: OwnerContext, name: Annotated[str, Form()] = "") -> Response:
    """Add an annotator."""
    context.store.add_annotator(name)
    return Response(headers={"HX-Refresh": "true"})


@router.post("/people/me")
def label_as(context: OwnerContext, name: Annotated[str, Form()] = "") -> Response:
    """Let the owner label under a name, which is added if needed."""
    response = Response(headers={"HX-Refresh": "true"})
    context.remember(response, context.store.add_annotator(name))
    return response


@router.post("/people/{annotator}/link")
def new_link(context: OwnerContext, annotator: Id) -> Response:
    """Make a new link for an annotator; the old one stops working."""
    context.store.renew_token(annotator)
    return Response(headers={"HX-Refresh": "true"})


@router.get("/tasks")
def tasks(context: Context) -> Response:
    """List all tasks with progress: of all people for the owner, else of the annotator."""
    person = context.person()
    people = context.store.annotators() if context.visitor.owner else [person] if person else []
    listed = []
    for task in context.store.tasks():
        far = [(one, progress(context.store, task.id, one.id)) for one in people]
        said = len(labels(context.store, task.id)) if context.visitor.owner else 0
        listed.append((task, said, [(one, how) for one, how in far if how.done or one == person]))
    return context.page("tasks.html", section="tasks", tasks=listed, kinds=KINDS)


@router.get("/tasks/new")
def new_task(context: OwnerContext) -> Response:
    """Show the form for a new task."""
    known = all_annotations()
    runs = [run for run in find_runs(context.studio.runs) if run.benchmark in known]
    allowed = {
        kind: [name for name, one in known.items() if kind == "rate" or kind in one.kinds]
        for kind in KINDS
    }
    usual = (kind for kind in KINDS if any(run.benchmark in allowed[kind] for run in runs))
    return context.page(
        "task_new.html",
        section="tasks",
        runs=runs,
        kinds=KINDS,
        allowed=allowed,
        first=next(usual, "judge"),
        names=list(known),
        forms=QUESTION_KINDS,
    )


@router.get("/tasks/new/question")
def new_question(context: OwnerContext) -> Response:
    """Answer with the fields of one more question."""
    return context.page("task_question.html", forms=QUESTION_KINDS)


@router.post("/tasks/new")
def add_task(context: OwnerContext, form: Annotated[TaskForm, Form()]) -> Response:
    """Add a task and go to the list."""
    items, benchmark = _chosen(context, form)
    kind = _kind(form)
    context.store.add_task(
        kind,
        form.title.strip() or KINDS[kind],
        items,
        per_item=form.per_item,
        benchmark=benchmark,
        questions=_questions(form),
    )
    return Response(headers={"HX-Redirect": "/tasks"})


@router.post("/tasks/new/count")
def count_items(context: OwnerContext, form: Annotated[TaskForm, Form()]) -> Response:
    """Show how many items the form would make, or what is wrong with it."""
    try:
        items, _ = _chosen(context, form)
        _questions(form)
    except InputError as error:
        return context.page("task_count.html", problem=f"{error.message} {error.remedy}", count=0)
    return context.page("task_count.html", problem="", count=len(items), per_item=form.per_item)


@router.get("/tasks/{task_id}")
def annotate(context: Context, task_id: Id) -> Response:
    """Show the next item of a task."""
    task = context.store.task(task_id)
    person = context.person()
    if person is None:
        people = context.store.annotators()
        return context.page("name.html", section="tasks", title=task.title, people=people)
    return context.page("annotate.html", section="tasks", **_next(context, task, person))


@router.post("/tasks/{task_id}/answer")
def answer(context: Context, task_id: Id, sent: Answer) -> dict[str, str]:
    """Save a label; answer with the next item once the label is on disk."""
    task, person = context.store.task(task_id), context.named_person()
    item, left = answered_item(context, person, task, sent.get("item"))
    save_label(
        context.store,
        item.id,
        person.id,
        answered_value(task, sent, result_left=left),
        note=str(sent.get("note", "")),
        seconds=_seconds(sent.get("seconds")),
        nonce=_nonce(person, sent),
    )
    return _next_fragment(context, task, person)


@router.post("/tasks/{task_id}/skip")
def skip_item(context: Context, task_id: Id, sent: Answer) -> dict[str, str]:
    """Move an item to the end of the queue."""
    task, person = context.store.task(task_id), context.named_person()
    item, _ = answered_item(context, person, task, sent.get("item"))
    skip(context.store, item.id, person.id, nonce=_nonce(person, sent))
    return _next_fragment(context, task, person)


@router.post("/tasks/{task_id}/undo")
def undo_last(context: Context, task_id: Id) -> dict[str, str]:
    """Undo the last label or skip; answer with that item as it was labelled."""
    task, person = context.store.task(task_id), context.named_person()
    if undo(context.store, task.id, person.id) is None:
        raise InputError("There is nothing to undo.")
    return _next_fragment(context, task, person)


@router.get("/frame/{key}/{path:path}")
def frame(request: Request, key: str, path: str) -> Response:
    """Serve a generated page, or a file beside it; it has no cookie, so none is needed."""
    studio: Studio = request.app.state.studio
    host = request.headers.get("host", "")
    # A policy cannot hold an IPv6 address.
    own = f"{request.url.scheme}://{host}/frame/{quote(key, safe='')}/"
    policy = page_policy("'self'" if host.startswith("[") else own)
    seen = unseal(studio.access, key)
    if seen is None or seen.part != "page":
        return HTMLResponse(notice("This page is no longer shown."), 404, headers(policy))
    if request.headers.get("sec-fetch-dest") == "document":
        return HTMLResponse(
            notice("Generated pages are only shown inside the studio."), 403, headers(policy)
        )
    found = _files(studio, seen)
    page = found.page
    if page is None:
        return HTMLResponse(notice(found.missing), 404, headers(policy))
    if path in ("", INDEX, page.name):
        return HTMLResponse(document(page), headers=headers(policy))
    beside = file_beside(page, path)
    if beside is None:
        return PlainTextResponse("There is no such file.\n", 404, headers(FILE_POLICY))
    file, kind = beside
    if kind == "text/html":
        return HTMLResponse(document(file), headers=headers(policy))
    return Response(file.read_bytes(), headers=headers(FILE_POLICY), media_type=kind)


@router.get("/picture/{key}")
def picture(context: Context, key: str) -> Response:
    """Serve a screenshot of a reference or of a generated page."""
    seen = unseal(context.studio.access, key)
    if seen is None or seen.part not in ("reference", "generated"):
        return PlainTextResponse("This picture is no longer shown.\n", 404)
    found = _files(context.studio, seen)
    pictures = found.reference if seen.part == "reference" else found.generated
    if seen.number >= len(pictures):
        return PlainTextResponse("There is no such picture.\n", 404)
    content = pictures[seen.number].path.read_bytes()
    return Response(content, headers=_CACHED, media_type="image/png")


def _files(studio: Studio, seen: FrameKey) -> CaseFiles:
    item, task = studio.store.item(seen.item)
    run = item.baseline if seen.of_baseline else item.run
    return case_files(studio.runs, run, item.case, studio.store.runs_of_case(task.id, item.case))


def _next_fragment(context: RequestContext, task: Task, person: Annotator) -> dict[str, str]:
    page = context.page("item_view.html", **_next(context, task, person))
    return {"html": bytes(page.body).decode()}


def _next(context: RequestContext, task: Task, person: Annotator) -> dict[str, Any]:
    first = first_items(context, task)
    item = next_item(context.store, task.id, person.id, first=first)
    view = None if item is None else item_view(context, task, person, item)
    return {
        "task": task,
        "view": view,
        "progress": view.progress if view else progress(context.store, task.id, person.id),
        "failures": annotation_of(task.benchmark).failures,
        "guidelines": annotation_of(task.benchmark).guidelines,
        "scale": SCALE,
    }


def _chosen(context: RequestContext, form: TaskForm) -> tuple[list[Item], str]:
    """Return the items that the form asks for, and their benchmark."""
    size = form.size.strip()
    number = number_in(size)
    if size and not number:
        raise InputError("The size of the sample is not a number.", remedy="Use 1 or more.")
    return make_items(
        context.studio.runs,
        _kind(form),
        form.runs,
        baseline=form.baseline,
        pairs=form.pairs,
        size=number,
        seed=form.seed,
    )


def _kind(form: TaskForm) -> Kind:
    kind = next((kind for kind in KINDS if kind == form.kind), None)
    if kind is None:
        raise InputError("Choose a kind of task.")
    return kind


def _questions(form: TaskForm) -> tuple[Question, ...]:
    """Return the questions of the form; rows without a text do not count."""
    if not len(form.ask) == len(form.answer) == len(form.options):
        raise InputError("The questions of this form are not complete.", remedy="Reload it.")
    rows = zip(form.ask, form.answer, form.options, strict=True)
    questions = questions_from_json(
        [
            {"ask": ask, "kind": kind, "options": _OPTIONS.findall(o) if kind != "text" else []}
            for ask, kind, o in rows
            if ask.strip()
        ]
    )
    if form.kind == "rate" and not questions:
        raise InputError("There is nothing to rate.", remedy="Add at least one question.")
    return questions


def _seconds(value: object) -> float | None:
    if isinstance(value, int | float) and math.isfinite(value) and 0 <= value < _LONGEST_SECONDS:
        return float(value)
    return None


def _nonce(person: Annotator, sent: dict[str, Any]) -> str | None:
    """Return the name of an attempt; the person in it keeps those of others apart."""
    given = sent.get("nonce")
    return f"{person.id}/{given[:64]}" if isinstance(given, str) and given else None
