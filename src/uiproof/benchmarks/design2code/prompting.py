"""Asking a chat model for a page, in the three ways of the Design2Code paper."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.design2code.cases import Question
from uiproof.browser.source import PageSource
from uiproof.engine.context import Context
from uiproof.engine.types import Method
from uiproof.errors import (
    AnswerError,
    CaseTimeoutError,
    MethodError,
    RenderError,
    UsageError,
    WorkerDiedError,
)
from uiproof.models.types import Image, Message, Reply, Request

if TYPE_CHECKING:
    from uiproof.models.answers import PageAnswer
    from uiproof.models.chat import ChatModel

PROMPTS: Mapping[str, str] = {
    "direct": "the screenshot alone",
    "text-augmented": "the screenshot and all texts of the page",
    "self-revision": "text-augmented, then shown its own page beside the screenshot to revise it",
}
REVISION_FAILED = "answer:revision_failed"  # the second answer was unusable: the first is judged
NOT_RENDERED = "answer:attempt_not_rendered"  # so there was nothing to revise it by

_FOLDER = Path(__file__).parent / "prompts"
_PLACEHOLDER = re.compile(r"\{(screenshot|attempt|texts|html)\}")


class Prompted(Method[Question, PageSource]):
    """A chat model that is shown a page with one of the `PROMPTS` and answers with HTML."""

    def __init__(self, model: ChatModel, prompt: str) -> None:
        if prompt not in PROMPTS:
            raise UsageError(
                f"Design2Code has no prompt {prompt!r}.",
                remedy=f"Use one of: {', '.join(PROMPTS)}.",
            )
        self.model = model
        self.prompt = prompt
        self.concurrency = model.concurrency
        # A revision begins with a text-augmented attempt.
        self._revises = prompt == "self-revision"
        self._first = "text-augmented" if self._revises else prompt

    @property
    def name(self) -> str:
        """The model and the prompt, for example `openai/gpt-4o direct`."""
        return f"{self.model.name} {self.prompt}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """How the model is asked; a prompt with other words is another method."""
        words = "".join(map(_template, dict.fromkeys((self._first, self.prompt))))
        digest = hashlib.sha256(words.encode()).hexdigest()[:16]
        return {**self.model.settings, "prompt": self.prompt, "prompt_digest": digest}

    async def answer(self, case_id: str, question: Question, context: Context) -> PageSource:
        """The page that the model wrote; all its answers are kept in `answer.json`."""
        if question.screenshot is None:
            raise MethodError(f"The question {case_id} has no screenshot.")
        replies: list[Reply] = []
        try:
            page = await self._ask(self._request(self._first, question), context, replies)
            if self._revises:
                page = await self._revised(page, question, context, replies)
        finally:
            if replies:
                context.keep("answer.json", _as_json(replies))
        for flag in page.flags:
            context.flag(flag)
        return PageSource.from_html(page.html)

    def planned_requests(self, question: Question) -> tuple[Request, ...]:
        """What will be asked about a page.

        A revision depends on the first answer: the screenshot stands in for the picture of that
        attempt, and its HTML is left out.
        """
        first = self._request(self._first, question)
        if not self._revises:
            return (first,)
        stand_in = Image(question.screenshot) if question.screenshot else None
        return first, self._request(self.prompt, question, attempt=stand_in)

    async def close(self) -> None:
        """End the connection to the model."""
        await self.model.close()

    async def _revised(
        self, first: PageAnswer, question: Question, context: Context, replies: list[Reply]
    ) -> PageAnswer:
        try:
            picture = await context.render(PageSource.from_html(first.html))
        except (RenderError, WorkerDiedError, CaseTimeoutError):
            context.flag(NOT_RENDERED)
            return first
        context.keep("attempt.png", picture)
        request = self._request(self.prompt, question, attempt=Image(picture), html=first.html)
        try:
            return await self._ask(request, context, replies)
        except AnswerError:
            context.flag(REVISION_FAILED)
            return first

    async def _ask(self, request: Request, context: Context, replies: list[Reply]) -> PageAnswer:
        from uiproof.models.answers import page_in

        reply = await self.model.ask(request, fresh=context.ask_again)
        replies.append(reply)
        context.note_call(self.model.facts(reply))
        return page_in(reply)

    def _request(
        self, prompt: str, question: Question, *, attempt: Image | None = None, html: str = ""
    ) -> Request:
        """A prompt with its pictures and texts in their places."""
        fillings: dict[str, str | Image | None] = {
            "screenshot": Image(question.screenshot) if question.screenshot else None,
            "attempt": attempt,
            "texts": "\n".join(" ".join(text.split()) for text in question.texts),
            "html": html,
        }
        parts: list[str | Image] = [""]
        # What is filled in is never looked at again, so a page may hold braces and placeholders.
        for number, piece in enumerate(_PLACEHOLDER.split(_template(prompt))):
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
    return (_FOLDER / f"{prompt}.txt").read_text(encoding="utf-8")


def _as_json(replies: list[Reply]) -> bytes:
    answers = [{"text": one.text, "finish": one.finish, "raw": one.raw} for one in replies]
    return json.dumps(answers, indent=2).encode()
