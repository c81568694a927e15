"""What answers Design2Code questions: existing predictions, and a floor that needs no model."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from uiproof.benchmarks.design2code.cases import Question, pages_in
from uiproof.browser.source import PageSource
from uiproof.engine.context import Context
from uiproof.engine.types import Method
from uiproof.errors import InputError, MethodError, UsageError
from uiproof.remote.mirror import local, name_of, shown

METHODS: Mapping[str, str] = {
    "blueprint": "traces the screenshot with OCR and rectangles; needs no model",
    "replay:FOLDER": "predictions that exist already: a folder of pages with the same names",
}


def method(name: str) -> Method[Question, PageSource]:
    """The method of this name, for example `blueprint` or `replay:predictions`."""
    if name == "blueprint":
        return Blueprint()
    if name.startswith("replay:") and len(name) > len("replay:"):
        return Replay(local(name.removeprefix("replay:")))
    raise UsageError(
        f"Design2Code has no method {name!r}.",
        remedy=f"Use one of: {', '.join(METHODS)}; or a model such as openai/gpt-4o.",
    )


class Replay(Method[Question, PageSource]):
    """Answers with the pages of a folder, found by name; or with the one page that a file is."""

    needs_question: ClassVar[bool] = False

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise InputError(f"There is no file or folder {path}.")
        self._path = path
        self._pages = pages_in(path)
        if not self._pages:
            raise InputError(
                f"There are no pages in {shown(path)}.",
                remedy="Predictions are files named N.html.",
            )

    @property
    def name(self) -> str:
        """`replay:` and the folder."""
        return f"replay:{self._path.name}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Where the predictions are."""
        return {"folder": name_of(self._path)}

    @property
    def folders(self) -> tuple[Path, ...]:
        """The predictions, with the files that they show."""
        return (self._path,)

    def key(self, case_id: str) -> str | None:
        """A digest of the prediction, so that a changed or added one is scored anew."""
        page = self._page(case_id)
        try:
            return hashlib.sha256(page.read_bytes()).hexdigest()[:16] if page else "missing"
        except OSError:
            return "unreadable"

    async def answer(
        self,
        case_id: str,
        question: Question,  # noqa: ARG002
        context: Context,  # noqa: ARG002
    ) -> PageSource:
        """The prediction for a case; its name decides, or it is the only one."""
        page = self._page(case_id)
        if page is None:
            raise MethodError(
                f"{shown(self._path)} has no prediction for {case_id}.",
                remedy=f"Add {case_id}.html to it, or limit the data set.",
            )
        return PageSource.from_file(page)

    def _page(self, case_id: str) -> Path | None:
        if self._path.is_file():
            return self._path
        return self._pages.get(case_id)


class Blueprint(Method[Question, PageSource]):
    """Traces the screenshot; an honest floor for leaderboards."""

    concurrency = 2  # it is bound by the processor; OCR lets other threads work meanwhile

    @property
    def name(self) -> str:
        """`blueprint`."""
        return "blueprint"

    @property
    def settings(self) -> Mapping[str, Any]:
        """What reads the text."""
        return {"ocr": f"rapidocr {version('rapidocr')}"}

    async def answer(
        self,
        case_id: str,
        question: Question,
        context: Context,  # noqa: ARG002
    ) -> PageSource:
        """HTML with absolutely positioned text and rectangles."""
        if question.screenshot is None:
            raise MethodError(f"The question {case_id} has no screenshot.")
        return await asyncio.to_thread(_trace, question.screenshot)


def _trace(screenshot: Path) -> PageSource:
    from uiproof.benchmarks.design2code.blueprint import blueprint
    from uiproof.vision.images import read

    return PageSource.from_html(blueprint(read(screenshot)))
