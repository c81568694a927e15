"""Grounding as a task of inspect_ai."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspect_ai import Task, task
from inspect_ai.scorer import Scorer, scorer
from inspect_ai.solver import Solver, solver

from uiproof.benchmarks.grounding import BENCHMARK
from uiproof.benchmarks.grounding.answers import Answer
from uiproof.benchmarks.grounding.contracts import contract_for
from uiproof.benchmarks.grounding.grounders.chat import PROMPTS, ChatGrounder
from uiproof.benchmarks.grounding.methods import Blind
from uiproof.benchmarks.grounding.searches.simple import NoSearch
from uiproof.boxes import Box
from uiproof.engine.types import Method
from uiproof.inspect_tasks.shape import METRICS, Answered, Wiring, asking, judging, make_task
from uiproof.models.types import Reply

if TYPE_CHECKING:
    from uiproof.models.chat import ChatModel


@task
def grounding(dataset: str = "grounding-demo", prompt: str = "point") -> Task:
    """Find elements on screenshots; scored by whether the click is on the element.

    Args:
        dataset: A folder, a bundled data set or one fetched with `uiproof data get`.
        prompt: `point` or `box`.
    """
    return make_task(
        _WIRING,
        dataset,
        prompt,
        solver=grounding_prompt(dataset, prompt),
        scorer=grounding_judge(dataset),
    )


@solver
def grounding_prompt(dataset: str = "grounding-demo", prompt: str = "point") -> Solver:
    """Ask for elements as `uiproof run --method MODEL@none` does."""
    return asking(_WIRING, dataset, prompt)


@scorer(metrics=METRICS)
def grounding_judge(dataset: str = "grounding-demo") -> Scorer:
    """Score the place in the last answer; our own solver has to have asked for it."""
    return judging(_WIRING, dataset)


def _prompted(model: ChatModel, prompt: str) -> Method[Any, Any]:
    return Blind(ChatGrounder(model, contract_for(model.name), prompt), NoSearch())


def _written(answer: Answer) -> str:
    box = answer.box
    return json.dumps(
        {
            "point": answer.click,
            "box": None if box is None else [box.x, box.y, box.w, box.h],
            "refused": answer.refused,
        }
    )


def _made(text: str) -> Answer:
    content = json.loads(text)
    point, box = content["point"], content["box"]
    return Answer(
        point=None if point is None else (point[0], point[1]),
        box=None if box is None else Box(*box),
        refused=content["refused"],
    )


def _read(reply: Reply) -> Answered:  # noqa: ARG001 - in which coordinates, only our solver knows
    return Answered(_written(Answer()))


_WIRING: Wiring[Answer] = Wiring(
    benchmark=replace(BENCHMARK, prompts=PROMPTS, prompted=_prompted),
    measured=lambda: ("accuracy",),
    read=_read,
    write=_written,
    make=_made,
)
