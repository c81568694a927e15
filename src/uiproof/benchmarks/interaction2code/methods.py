"""What answers Interaction2Code questions without a model: a tracing, and existing pages."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from uiproof.benchmarks.interaction2code.cases import Answer, Form, Question
from uiproof.benchmarks.interaction2code.replay import Replay
from uiproof.browser.source import PageSource
from uiproof.engine.context import Context
from uiproof.engine.types import Method
from uiproof.errors import UsageError
from uiproof.remote.mirror import local
from uiproof.settings import Settings

METHODS: Mapping[str, str] = {
    "blueprint": "traces the page, shows the pixels of the effect on the right action; no model",
    "blueprint:all": "the same with all interactions on one page",
    "replay:FOLDER": "existing pages: PAGE/K-*.html for interaction K, or PAGE.html for all",
}


def method(name: str) -> Method[Question, Answer]:
    """The method of this name, for example `blueprint` or `replay:predictions`."""
    if name in ("blueprint", "blueprint:all"):
        return Blueprint("all" if name.endswith(":all") else "single")
    if name.startswith("replay:") and len(name) > len("replay:"):
        return Replay(local(name.removeprefix("replay:")))
    raise UsageError(
        f"Interaction2Code has no method {name!r}.",
        remedy=f"Use one of: {', '.join(METHODS)}; or a model such as openai/gpt-4o.",
    )


class Blueprint(Method[Question, Answer]):
    """Traces the page before and plays back the pixels of the effect: how far pictures alone go."""

    concurrency = 2  # it is bound by the processor; OCR lets other threads work meanwhile

    def __init__(self, form: Form = "single") -> None:
        self.form = form

    @property
    def name(self) -> str:
        """`blueprint`, or `blueprint:all`."""
        return "blueprint" if self.form == "single" else f"blueprint:{self.form}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """What reads the text."""
        return {"ocr": f"rapidocr {version('rapidocr')}"}

    async def answer(
        self,
        case_id: str,  # noqa: ARG002
        question: Question,
        context: Context,  # noqa: ARG002
    ) -> Answer:
        """HTML with absolutely positioned text, rectangles and pieces of the picture after."""
        return Answer(await asyncio.to_thread(_traced, question, self.form), self.form)


def _traced(question: Question, form: Form) -> PageSource:
    from uiproof.benchmarks.interaction2code.blueprint import blueprint
    from uiproof.benchmarks.interaction2code.judging.reading import Reader

    graph = question.graph
    interactions = graph.interactions if form == "all" else (question.interaction,)
    reader = Reader(Settings.from_environment().cache_dir / "readings")
    return PageSource.from_html(blueprint(graph, interactions, reader))
