"""What people said: rates, tables, agreement, decisions.

The page shows what can be had from the labels alone at once; what needs the journals of runs comes
after it. Numbers are kept until somebody says something new.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Form
from fastapi.responses import JSONResponse, Response

from uiproof.benchmarks.interaction2code.analyses.labels import OUTCOMES
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.errors import InputError
from uiproof.studio.annotating.desk import lay_out, result_is_left
from uiproof.studio.app import Asked, Count, Here, Id
from uiproof.studio.labelling import decide
from uiproof.studio.labels import Value, value_from_json
from uiproof.studio.outcomes import charts
from uiproof.studio.outcomes.agreement import (
    FACETS,
    Disagreement,
    FacetAgreement,
    Final,
    Said,
    agreement,
    disagreements,
    gather,
)
from uiproof.studio.outcomes.results import category_tables, results_json, task_results
from uiproof.studio.outcomes.verdicts import machine_agreement, read_facts

router = APIRouter()

_PER_PAGE = 30
_Made = TypeVar("_Made")


@router.get("/tasks/{task}/results")
def results(here: Asked, task: Id) -> Response:
    """Everything that the labels of a task say."""
    here.owner_only()
    stamp, said = _said(here, task)
    return here.page(
        "results.html",
        section="tasks",
        said=said,
        task=said.task,
        found=_kept(here, task, "results", stamp, lambda: task_results(said)),
        agreements=_agreements(here, said, stamp),
        stamp=stamp,
        opened=stamp,
        charts=charts,
        failures=FAILURES,
    )


@router.get("/tasks/{task}/results/agreement")
def live_agreement(here: Asked, task: Id, seen: Count = 0, opened: Count = 0) -> Response:
    """The numbers that change while people label; nothing if none has."""
    here.owner_only()
    if _last_event(here, task) == seen:
        return Response(status_code=204)
    stamp, said = _said(here, task)
    return here.page(
        "results_live.html",
        said=said,
        task=said.task,
        found=_kept(here, task, "results", stamp, lambda: task_results(said)),
        agreements=_agreements(here, said, stamp),
        stamp=stamp,
        opened=opened,
        charts=charts,
    )


@router.get("/tasks/{task}/results/runs")
def beside_runs(here: Asked, task: Id) -> Response:
    """What needs the runs: categories, the verifier and the metrics beside the people."""
    here.owner_only()
    stamp, said = _said(here, task)
    facts = read_facts(here.studio.runs, said.items)
    now = (stamp, facts.version)
    found = _kept(here, task, "runs", now, lambda: machine_agreement(said, facts))
    return here.page(
        "results_runs.html",
        task=said.task,
        machine=found,
        categories=category_tables(said, facts),
        charts=charts,
    )


@router.get("/tasks/{task}/results.json")
def results_as_json(here: Asked, task: Id) -> Response:
    """All numbers of a task for other programs."""
    here.owner_only()
    _, said = _said(here, task)
    facts = read_facts(here.studio.runs, said.items)
    content = {**results_json(said, facts), "program": machine_agreement(said, facts).as_json()}
    return JSONResponse(content)


@router.get("/tasks/{task}/decide")
def disputed(here: Asked, task: Id, show: str = "open", page: Count = 1) -> Response:
    """The items about which people differ, to be decided."""
    here.owner_only()
    _, said = _said(here, task)
    every = disagreements(said)
    left = [one for one in every if one.decision is None]
    # Where the majority decides there is less to win than where nothing does.
    chosen = sorted(every if show == "all" else left, key=lambda one: not one.final.open)
    pages = max(-(-len(chosen) // _PER_PAGE), 1)
    page = min(max(page, 1), pages)
    return here.page(
        "decide.html",
        section="tasks",
        task=said.task,
        disputes=chosen[(page - 1) * _PER_PAGE : page * _PER_PAGE],
        left=len(left),
        total=len(every),
        show=show,
        number=page,
        pages=pages,
        failures=FAILURES,
        outcomes=OUTCOMES,
    )


@router.get("/tasks/{task}/items/{item}")
def look_again(here: Asked, task: Id, item: Id) -> Response:
    """One item as annotators see it, to decide about it; still blind to the model."""
    here.owner_only()
    person = here.named_person()
    shown, its_task = here.store.item(item)
    if its_task.id != task:
        raise InputError("This item belongs to another task.")
    desk = lay_out(here, its_task, person, shown)
    panes = [replace(pane, title="Generated") for pane in desk.panes[:1]]
    if its_task.kind == "compare":
        result, baseline = (
            desk.panes if result_is_left(here.store, person, shown) else desk.panes[::-1]
        )
        panes = [replace(result, title="Result"), replace(baseline, title="Baseline")]
    return here.page("look.html", section="tasks", task=its_task, desk=desk, panes=panes)


@router.post("/tasks/{task}/decide/{item}")
def settle(
    here: Asked,
    task: Id,
    item: Id,
    value: Annotated[str, Form()] = "",
    usable: Annotated[str, Form()] = "",
    failure: Annotated[str, Form()] = NONE,
    outcome: Annotated[str, Form()] = "",
    note: Annotated[str, Form()] = "",
) -> Response:
    """Decide about an item; an empty value takes the decision back."""
    here.owner_only()
    person = here.named_person()
    if here.store.item(item)[1].id != task:
        raise InputError("This item belongs to another task.")
    decide(here.store, item, person.id, _value(here, task, value, usable, failure, outcome), note)
    said = gather(here.store, task)
    dispute = next((one for one in disagreements(said) if one.item.id == item), None)
    if dispute is None:  # labels changed meanwhile
        known = next(one for one in said.items if one.id == item)
        dispute = Disagreement(known, {}, said.decisions.get(item), Final(known, {}, settled=True))
    return here.page(
        "decide_item.html",
        task=said.task,
        dispute=dispute,
        failures=FAILURES,
        outcomes=OUTCOMES,
    )


def _value(
    here: Here, task: int, value: str, usable: str, failure: str, outcome: str
) -> Value | None:
    kind = here.store.task(task).kind
    content: Any
    if value:
        try:
            content = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InputError("This is no label.") from error
    elif kind == "judge" and usable in ("yes", "no"):
        content = {"usable": usable == "yes", "failure": failure}
    elif kind == "compare" and outcome:
        content = {"outcome": outcome}
    else:
        return None
    return value_from_json(kind, content)


def _said(here: Here, task: int) -> tuple[int, Said]:
    stamp = _last_event(here, task)
    return stamp, _kept(here, task, "said", stamp, lambda: gather(here.store, task))


def _agreements(here: Here, said: Said, stamp: int) -> list[FacetAgreement]:
    facets = FACETS[said.task.kind]
    return _kept(
        here,
        said.task.id,
        "agreement",
        stamp,
        lambda: [agreement(said, facet) for facet in facets],
    )


def _last_event(here: Here, task: int) -> int:
    """Changes whenever somebody does something in a task, or items come."""
    here.store.task(task)
    with here.store.reading() as db:
        events, items = db.execute(
            "SELECT (SELECT coalesce(max(id), 0) FROM events "
            "WHERE item IN (SELECT id FROM items WHERE task = :task)), "
            "(SELECT count(*) FROM items WHERE task = :task)",
            {"task": task},
        ).fetchone()
    return int(events) * 10_000_000 + int(items)


def _kept(here: Here, task: int, what: str, stamp: object, make: Callable[[], _Made]) -> _Made:
    """What was made before, if nothing has happened since."""
    state = here.request.app.state
    if not hasattr(state, "results"):
        state.results = {}
    known: dict[tuple[int, str], tuple[object, Any]] = state.results
    found = known.get((task, what))
    if found is None or found[0] != stamp:
        found = (stamp, make())
        known[task, what] = found
    made: _Made = found[1]
    return made
