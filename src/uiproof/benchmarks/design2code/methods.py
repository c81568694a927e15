"""Methods of Design2Code: existing predictions, prompted models, and a floor without a model."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from uiproof.benchmark import Method
from uiproof.benchmarks.design2code.cases import PLACEHOLDER, Question, pages_in, same_page
from uiproof.browser.source import PageSource
from uiproof.engine.context import Context
from uiproof.errors import (
    AnswerError,
    CaseTimeoutError,
    InputError,
    MethodError,
    RenderError,
    UsageError,
    WorkerDiedError,
    suggestion,
)
from uiproof.files import path_suggestion
from uiproof.models.types import Exchange, Image, Message, Request, exchanges_as_json
from uiproof.prompts import SLOT, Slot, prompt_file
from uiproof.remote.mirror import local, name_of, shown

if TYPE_CHECKING:
    from uiproof.benchmarks.design2code.projects import Build
    from uiproof.models.answers import PageAnswer
    from uiproof.models.chat import ChatModel


METHODS: Mapping[str, str] = {
    "blueprint": "traces the screenshot with OCR and rectangles; needs no model",
    "replay:FOLDER": "predictions that exist already: a folder of pages or components (.jsx, .tsx, "
    ".vue) with the same names",
}


def method(name: str) -> Method[Question, PageSource]:
    """Return the method of this name, for example `blueprint` or `replay:predictions`."""
    if name == "blueprint":
        return Blueprint()
    if name.startswith("replay:") and len(name) > len("replay:"):
        return Replay(local(name.removeprefix("replay:")))
    raise UsageError(
        f"Design2Code has no method {name!r}.",
        remedy=f"{suggestion(name, METHODS)} Use one of: {', '.join(METHODS)}; a model such as "
        "openai/gpt-4o; or a function, my_module:function.".lstrip(),
    )


class Replay(Method[Question, PageSource]):
    """Answers with the pages of a folder, found by name; or with the one page that a file is.

    `builds` are what was built of project folders, in place of the pages of the folder.
    """

    needs_question: ClassVar[bool] = False

    def __init__(self, path: Path, builds: Mapping[str, Build] | None = None) -> None:
        if not path.exists():
            raise InputError(f"There is no file or folder {path}.", remedy=path_suggestion(path))
        self._path, self._builds = path, builds or {}
        self._pages = pages_in(path) if builds is None else _pages_of(builds)
        if not self._pages and not builds:
            raise InputError(
                f"There are no pages in {shown(path)}.",
                remedy="VLMEvalKit writes the pages of this table when it evaluates them: give the "
                "folder Design2Code/predictions beside it."
                if path.suffix.lower() in (".xlsx", ".tsv")
                else "Predictions are files named N.html.",
            )

    @property
    def name(self) -> str:
        """Return `replay:` and the folder."""
        return f"replay:{self._path.name}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return where the predictions are."""
        return {"folder": name_of(self._path)}

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the predictions, with the files that they show."""
        return (self._path,)

    def key(self, case_id: str) -> str | None:
        """Return a digest of the prediction, so that a changed or added one is scored anew."""
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
        """Return the prediction for a case; its name decides, or it is the only one."""
        page = self._page(case_id)
        build = self._builds.get(same_page(case_id, self._builds))
        if page is None and build is not None:
            raise MethodError(build.error, remedy=f"Repair the build in {shown(build.folder)}.")
        if page is None:
            raise MethodError(
                f"{shown(self._path)} has no prediction for {case_id}.",
                remedy=f"Add {case_id}.html to it, or limit the data set.",
            )
        return PageSource.from_file(page)

    def _page(self, case_id: str) -> Path | None:
        if self._path.is_file():
            return self._path
        return self._pages.get(same_page(case_id, self._pages))


def _pages_of(builds: Mapping[str, Build]) -> dict[str, Path]:
    return {name: build.page for name, build in builds.items() if build.page is not None}


class Blueprint(Method[Question, PageSource]):
    """Traces the screenshot; an honest floor for leaderboards."""

    concurrency = 2  # it is bound by the processor; OCR lets other threads work meanwhile

    @property
    def name(self) -> str:
        """`blueprint`."""
        return "blueprint"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return what reads the text."""
        return {"ocr": f"rapidocr {version('rapidocr')}"}

    async def answer(
        self,
        case_id: str,
        question: Question,
        context: Context,  # noqa: ARG002
    ) -> PageSource:
        """Return HTML with absolutely positioned text and rectangles."""
        if question.screenshot is None:
            raise MethodError(f"The question {case_id} has no screenshot.")
        return await asyncio.to_thread(_trace, question.screenshot)


def _trace(screenshot: Path) -> PageSource:
    from uiproof.benchmarks.tracing import trace
    from uiproof.vision.images import read
    from uiproof.vision.ocr import read_lines

    rgb = read(screenshot)
    return PageSource.from_html(trace(rgb, read_lines(rgb), lambda _: PLACEHOLDER))


PROMPTS: Mapping[str, str] = {
    "direct": "the screenshot alone",
    "text-augmented": "the screenshot and all texts of the page",
    "self-revision": "text-augmented, then shown its own page beside the screenshot to revise it",
    "self-revision:differences": "the same with the judge's list of what is different; assisted",
}
REVISION_FAILED = "answer:revision_failed"  # the second answer was unusable: the first is judged
NOT_RENDERED = "answer:attempt_not_rendered"  # so there was nothing to revise it by

SLOTS: Mapping[str, Slot] = {
    "screenshot": Slot("the screenshot of the page", required=True),
    "texts": Slot("all texts of the page, one on each line"),
}

_FOLDER = Path(__file__).parent / "prompts"
_MOST_DIFFERENCES = 40  # the worst; a model that mends these has a page to be proud of
_PLANNED = "A text stands 28 px lower than on the original page. (main > section > h2)"
_PLANNED_DIFFERENCES = 20  # an estimate for a dry run


class Prompted(Method[Question, PageSource]):
    """A chat model that is shown a page with one of the `PROMPTS`, or the user's own."""

    def __init__(self, model: ChatModel, prompt: str) -> None:
        self._file = prompt_file(prompt, PROMPTS, SLOTS)
        if prompt not in PROMPTS and self._file is None:
            raise UsageError(
                f"Design2Code has no prompt {prompt!r}.",
                remedy=f"Use one of: {', '.join(PROMPTS)}, or a text file.",
            )
        self.model = model
        self.prompt = prompt = prompt if self._file is None else self._file.name
        self.concurrency = model.concurrency
        # A revision begins with a text-augmented attempt.
        self._revises = prompt.startswith("self-revision")
        self.assisted = prompt == "self-revision:differences"
        self._first = "text-augmented" if self._revises else prompt

    @property
    def name(self) -> str:
        """Return the model and the prompt, for example `openai/gpt-4o direct`."""
        return f"{self.model.name} {self.prompt}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return how the model is asked; a prompt with other words is another method."""
        if self._file is not None:
            return {**self.model.settings, **self._file.settings}
        words = "".join(map(_template, dict.fromkeys((self._first, self.prompt))))
        digest = hashlib.sha256(words.encode()).hexdigest()[:16]
        return {**self.model.settings, "prompt": self.prompt, "prompt_digest": digest}

    async def answer(self, case_id: str, question: Question, context: Context) -> PageSource:
        """Return the page that the model wrote; all its answers are kept in `answer.json`."""
        if question.screenshot is None:
            raise MethodError(f"The question {case_id} has no screenshot.")
        replies: list[Exchange] = []
        try:
            page = await self._ask(self._request(self._first, question), context, replies)
            if self._revises:
                page = await self._revised(page, question, context, replies)
        finally:
            if replies:
                context.keep("answer.json", exchanges_as_json(replies))
        for flag in page.flags:
            context.flag(flag)
        return PageSource.from_html(page.html)

    def planned_requests(self, question: Question) -> tuple[Request, ...]:
        """Return what will be asked about a page.

        A revision depends on the first answer: the screenshot stands in for the picture of that
        attempt, and its HTML is left out.
        """
        first = self._request(self._first, question)
        if not self._revises:
            return (first,)
        stand_in = Image(question.screenshot) if question.screenshot else None
        listed = [{"says": _PLANNED}] * _PLANNED_DIFFERENCES if self.assisted else []
        return first, self._request(self.prompt, question, attempt=stand_in, differences=listed)

    async def close(self) -> None:
        """End the connection to the model."""
        await self.model.close()

    async def _revised(
        self, first: PageAnswer, question: Question, context: Context, replies: list[Exchange]
    ) -> PageAnswer:
        page = PageSource.from_html(first.html)
        try:
            picture = await context.render(page)
            differences = await context.differences(page) if self.assisted else []
        except (RenderError, WorkerDiedError, CaseTimeoutError):
            context.flag(NOT_RENDERED)
            return first
        context.keep("attempt.png", picture)
        request = self._request(
            self.prompt,
            question,
            attempt=Image(picture),
            html=first.html,
            differences=differences,
        )
        try:
            return await self._ask(request, context, replies)
        except AnswerError:
            context.flag(REVISION_FAILED)
            return first

    async def _ask(self, request: Request, context: Context, replies: list[Exchange]) -> PageAnswer:
        from uiproof.models.answers import page_in

        reply = await context.ask(self.model, request)
        replies.append((request, reply))
        return page_in(reply)

    def _request(
        self,
        prompt: str,
        question: Question,
        *,
        attempt: Image | None = None,
        html: str = "",
        differences: Sequence[Mapping[str, Any]] = (),
    ) -> Request:
        """Return a prompt with its pictures and texts in their places."""
        fillings: dict[str, str | Image | None] = {
            "screenshot": Image(question.screenshot) if question.screenshot else None,
            "attempt": attempt,
            "texts": "\n".join(" ".join(text.split()) for text in question.texts),
            "html": html,
            "differences": _listed(differences),
        }
        parts: list[str | Image] = [""]
        # Filled-in text is not expanded again, so a page may hold braces and placeholders.
        words = _template(prompt) if self._file is None else self._file.text
        for number, piece in enumerate(SLOT.split(words)):
            part = fillings[piece] if number % 2 else piece
            if isinstance(part, str) and isinstance(parts[-1], str):
                parts[-1] += part
            elif part is not None:
                parts.append(part)
        said = (part.strip() if isinstance(part, str) else part for part in parts)
        message = Message("user", tuple(part for part in said if part))
        return Request((message,), self.model.parameters)


@cache
def _template(prompt: str) -> str:
    """Return the words of a prompt, with the part that its option adds."""
    name, _, option = prompt.partition(":")
    words = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    part = (_FOLDER / f"{option}.txt").read_text(encoding="utf-8") if option else ""
    return words.replace("{option}", part)


def _listed(differences: Sequence[Mapping[str, Any]]) -> str:
    """Return differences for a model, one on each line, the worst first."""
    lines = [
        f"{number}. {' '.join(str(one['says']).split())}"
        + (f" ({one['selector']})" if one.get("selector") else "")
        for number, one in enumerate(differences[:_MOST_DIFFERENCES], 1)
    ]
    return "\n".join(lines) or "None were found."
