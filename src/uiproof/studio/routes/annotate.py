"""Tasks and their queues: what people see and say."""

from __future__ import annotations

import math
from typing import Annotated, Any

from fastapi import APIRouter, Body, Form
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, Field

from uiproof.benchmarks.interaction2code.failures import FAILURES
from uiproof.errors import InputError
from uiproof.studio.annotating.desk import EXPLAINED, answered, lay_out, value_of
from uiproof.studio.annotating.tasks import COMPARED, JUDGED, compare_items, judge_items, sample
from uiproof.studio.app import Asked, Here, Id, number_in
from uiproof.studio.browsing.runs import find_runs, open_run
from uiproof.studio.labelling import labels, next_item, progress, save_label, skip, undo
from uiproof.studio.labels import KINDS, Annotator, Item, Kind, Task

router = APIRouter()
Answer = Annotated[dict[str, Any], Body()]
_LONGEST_SECONDS = 24 * 3600


class Wanted(BaseModel):
    """The form for a new task, as it is sent."""

    title: str = ""
    kind: str = ""
    runs: list[str] = []
    baseline: str = ""
    per_item: Annotated[int, Field(ge=1, le=10_000)] = 3
    size: str = ""  # of a sample; empty for everything
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] = 0


@router.get("/tasks")
def tasks(here: Asked) -> Response:
    """All tasks, with how far people are: everybody for the owner, oneself for an annotator."""
    person = here.person()
    people = here.store.annotators() if here.visitor.owner else [person] if person else []
    listed = []
    for task in here.store.tasks():
        far = [(one, progress(here.store, task.id, one.id)) for one in people]
        said = len(labels(here.store, task.id)) if here.visitor.owner else 0
        listed.append((task, said, [(one, how) for one, how in far if how.done or one == person]))
    return here.page("tasks.html", section="tasks", tasks=listed, kinds=KINDS)


@router.get("/tasks/new")
def new_task(here: Asked) -> Response:
    """The form for a new task."""
    here.owner_only()
    runs = [run for run in find_runs(here.studio.runs) if run.benchmark in COMPARED]
    return here.page("task_new.html", section="tasks", runs=runs, kinds=KINDS, judged=JUDGED)


@router.post("/tasks/new")
def add_task(here: Asked, wanted: Annotated[Wanted, Form()]) -> Response:
    """Make a task and go to the list."""
    here.owner_only()
    items = _chosen(here, wanted)
    kind: Kind = "compare" if wanted.kind == "compare" else "judge"
    title = wanted.title.strip() or KINDS[kind]
    here.store.add_task(kind, title, items, per_item=wanted.per_item)
    return Response(headers={"HX-Redirect": "/tasks"})


@router.post("/tasks/new/count")
def count_items(here: Asked, wanted: Annotated[Wanted, Form()]) -> Response:
    """How much work the form as it is would make, or why it cannot be done."""
    here.owner_only()
    try:
        items = _chosen(here, wanted)
    except InputError as error:
        return here.page("task_count.html", problem=f"{error.message} {error.remedy}", count=0)
    return here.page("task_count.html", problem="", count=len(items), per_item=wanted.per_item)


@router.get("/tasks/{task_id}")
def annotate(here: Asked, task_id: Id) -> Response:
    """One's own queue in a task, an item at a time."""
    task = here.store.task(task_id)
    person = here.person()
    if person is None:
        people = here.store.annotators()
        return here.page("name.html", section="tasks", title=task.title, people=people)
    values = _desk(here, task, person, next_item(here.store, task.id, person.id))
    return here.page("annotate.html", section="tasks", **values)


@router.post("/tasks/{task_id}/answer")
def answer(here: Asked, task_id: Id, sent: Answer) -> dict[str, str]:
    """Keep a label. Answers with what comes next, once the label is on disk."""
    task, person = here.store.task(task_id), here.named_person()
    item, left = answered(here, person, task, sent.get("item"))
    save_label(
        here.store,
        item.id,
        person.id,
        value_of(task, sent, result_left=left),
        note=str(sent.get("note", "")),
        seconds=_seconds(sent.get("seconds")),
        nonce=_nonce(person, sent),
    )
    return _fragment(here, task, person)


@router.post("/tasks/{task_id}/skip")
def skip_item(here: Asked, task_id: Id, sent: Answer) -> dict[str, str]:
    """Put an item behind the others."""
    task, person = here.store.task(task_id), here.named_person()
    item, _ = answered(here, person, task, sent.get("item"))
    skip(here.store, item.id, person.id, nonce=_nonce(person, sent))
    return _fragment(here, task, person)


@router.post("/tasks/{task_id}/undo")
def undo_last(here: Asked, task_id: Id) -> dict[str, str]:
    """Take back the last label or skip; answers with that item, as it was labelled."""
    task, person = here.store.task(task_id), here.named_person()
    if undo(here.store, task.id, person.id) is None:
        raise InputError("There is nothing to take back.")
    return _fragment(here, task, person)


def _fragment(here: Here, task: Task, person: Annotator) -> dict[str, str]:
    values = _desk(here, task, person, next_item(here.store, task.id, person.id))
    page: HTMLResponse = here.page("annotate_desk.html", **values)
    return {"html": bytes(page.body).decode()}


def _desk(here: Here, task: Task, person: Annotator, item: Item | None) -> dict[str, Any]:
    desk = None if item is None else lay_out(here, task, person, item)
    return {
        "task": task,
        "desk": desk,
        "progress": desk.progress if desk else progress(here.store, task.id, person.id),
        "failures": [(letter, FAILURES[letter], EXPLAINED[letter]) for letter in FAILURES],
    }


def _chosen(here: Here, wanted: Wanted) -> list[Item]:
    """The items that the form stands for."""
    opened = [open_run(here.studio.runs, name) for name in wanted.runs]
    if wanted.kind == "compare":
        if not wanted.baseline:
            raise InputError("Choose the baseline.")
        items = compare_items(opened, open_run(here.studio.runs, wanted.baseline))
    elif wanted.kind == "judge":
        items = judge_items(opened)
    else:
        raise InputError("Choose what people shall say.")
    size = wanted.size.strip()
    if not size:
        return items
    number = number_in(size)
    if number is None:
        raise InputError("The size of the sample is a number.")
    return sample(items, number, seed=wanted.seed)


def _seconds(value: object) -> float | None:
    if isinstance(value, int | float) and math.isfinite(value) and 0 <= value < _LONGEST_SECONDS:
        return float(value)
    return None


def _nonce(person: Annotator, sent: dict[str, Any]) -> str | None:
    """The name of an attempt; people cannot take each other's."""
    given = sent.get("nonce")
    return f"{person.id}/{given[:64]}" if isinstance(given, str) and given else None
