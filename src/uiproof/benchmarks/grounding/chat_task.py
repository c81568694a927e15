"""Grounding for inspect_ai: a chat model names a place, in its own coordinates."""

from __future__ import annotations

import json

from uiproof.benchmark import ChatTask
from uiproof.benchmarks.grounding.cases import Answer
from uiproof.benchmarks.grounding.coordinates import contract_for
from uiproof.benchmarks.grounding.grounders import PROMPTS, ChatGrounder
from uiproof.benchmarks.grounding.methods import Blind
from uiproof.benchmarks.grounding.searches import BLIND_SEARCHES
from uiproof.geometry import Box


def chat_task() -> ChatTask:
    """Return how inspect_ai runs the benchmark."""
    return ChatTask(
        prompts=PROMPTS,
        method=lambda model, prompt: Blind(
            ChatGrounder(model, contract_for(model.name), prompt), BLIND_SEARCHES["none"]
        ),
        scores=lambda: ("accuracy",),
        read=lambda _: (_written(Answer()), ()),  # only our own solver knows the coordinates
        write=_written,
        make=lambda text, _: _made(text),
    )


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
