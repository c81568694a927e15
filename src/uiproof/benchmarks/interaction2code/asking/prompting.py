"""Asking a chat model for a page whose interactions work, in the ways of the paper."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.interaction2code.asking import pictures
from uiproof.benchmarks.interaction2code.asking.prompt import OPTIONS, PROMPTS, Prompt
from uiproof.benchmarks.interaction2code.asking.wording import Parts, digest, fill, joined
from uiproof.benchmarks.interaction2code.cases import Answer, Question
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.browser.source import PageSource
from uiproof.engine.context import Context
from uiproof.engine.types import Method
from uiproof.errors import AnswerError, InputError
from uiproof.models.types import Image, Message, Parameters, Reply, Request

if TYPE_CHECKING:
    from uiproof.models.answers import PageAnswer
    from uiproof.models.chat import ChatModel

__all__ = ["OPTIONS", "PARAMETERS", "PROMPTS", "Prompt", "Prompted"]

PARAMETERS = Parameters(max_tokens=4096, temperature=1.0)  # as in the paper
ROUND_FAILED = "answer:round_failed"  # a page without the interactions of these rounds is judged


class Prompted(Method[Question, Answer]):
    """A chat model that is shown interactions with one of the `PROMPTS` and answers with HTML."""

    def __init__(self, model: ChatModel, prompt: str) -> None:
        self.model = model
        self.prompt = Prompt.named(prompt)
        self.concurrency = model.concurrency
        # When a page that all of its interactions share is asked for again, once is enough.
        self._again: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._renewed: set[tuple[str, int]] = set()

    @property
    def name(self) -> str:
        """The model and the prompt, for example `openai/gpt-4o mark:all`."""
        return f"{self.model.name} {self.prompt.name}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """How the model is asked; a prompt with other words is another method."""
        return {
            **self.model.settings,
            "prompt": self.prompt.name,
            "prompt_digest": digest(self.prompt.recipe),
        }

    async def answer(self, case_id: str, question: Question, context: Context) -> Answer:  # noqa: ARG002
        """The page that the model wrote; all its answers are kept in `answer.json`."""
        replies: list[Reply] = []
        try:
            if self.prompt.rounds:
                page = await self._by_rounds(question.graph, context, replies)
            else:
                request = await asyncio.to_thread(self._request, question)
                page = await self._ask(request, question.graph, 1, context, replies)
        finally:
            if replies:
                context.keep("answer.json", _as_json(replies))
        for flag in page.flags:
            context.flag(flag)
        return Answer(PageSource.from_html(page.html), self.prompt.form)

    def planned_requests(self, question: Question) -> tuple[Request, ...]:
        """What will be asked; of later rounds without the page so far, which is not known yet."""
        if not self.prompt.rounds:
            return (self._request(question),)
        graph = question.graph
        return tuple(
            self._round(graph, number, "") for number in range(1, len(graph.interactions) + 1)
        )

    async def close(self) -> None:
        """End the connection to the model."""
        self._again.clear()
        self._renewed.clear()
        await self.model.close()

    async def _by_rounds(self, graph: Graph, context: Context, replies: list[Reply]) -> PageAnswer:
        page: PageAnswer | None = None
        failure: AnswerError | None = None
        for number in range(1, len(graph.interactions) + 1):
            request = await asyncio.to_thread(self._round, graph, number, page.html if page else "")
            try:
                page = await self._ask(request, graph, number, context, replies)
            except AnswerError as error:
                failure = error
                context.flag(ROUND_FAILED)
        if page is None:
            raise failure or InputError(f"The page {graph.page} has no interactions.")
        return page

    async def _ask(
        self, request: Request, graph: Graph, number: int, context: Context, replies: list[Reply]
    ) -> PageAnswer:
        from uiproof.models.answers import page_in

        if context.ask_again and self.prompt.form == "all":
            turn = graph.page, number
            async with self._again[graph.page]:
                reply = await self.model.ask(request, fresh=turn not in self._renewed)
                self._renewed.add(turn)
        else:
            reply = await self.model.ask(request, fresh=context.ask_again)
        replies.append(reply)
        context.note_call(self.model.facts(reply))
        return page_in(reply)

    def _request(self, question: Question) -> Request:
        graph, interaction = question.graph, question.interaction
        if self.prompt.form == "all":
            shown, window = self._all_shown(graph), graph.interactions[0].source
            task = fill("parts/task-all", **_numbered(len(graph.interactions)))
        else:
            shown, window = self._shown(graph, interaction), interaction.source
            task = fill("parts/task-single", ids=_id(1))
        return self._said(shown, task, pictures.page_width(graph, window))

    def _round(self, graph: Graph, number: int, html: str) -> Request:
        """The request that adds one interaction to the page so far."""
        interaction = graph.interactions[number - 1]
        task = fill("parts/task-single", ids=_id(number))
        if html:
            task = fill("parts/task-round", ids=_id(number), html=html)
        width = pictures.page_width(graph, interaction.source)
        return self._said(self._shown(graph, interaction), task, width)

    def _said(self, shown: Parts, task: Parts, width: int) -> Request:
        rules = fill("parts/rules", window=width)
        said = fill(self.prompt.recipe, shown=shown, task=task, rules=rules)
        return Request((Message("user", said),), self.model.parameters)

    def _shown(self, graph: Graph, interaction: Interaction) -> Parts:
        """One interaction: the page before it, and after it or in words what happens."""
        marked, times = self.prompt.recipe == "mark", self.prompt.magnification
        after: Image | Parts = ()
        note: Parts = ()
        if times > 1:
            before, after, crop = pictures.cropped(graph, interaction, times, marked=marked)
            box = crop.box
            note = fill(
                "parts/crop",
                page_width=crop.page[0],
                page_height=crop.page[1],
                left=box.left,
                top=box.top,
                width=box.width,
                height=box.height,
            )
        else:
            before = pictures.before(graph, interaction, marked=marked)
            if self.prompt.inputs != "T":
                after = pictures.after(graph, interaction, marked=marked)
        template = f"parts/shown-{self.prompt.inputs}"
        shown = fill(template, before=before, after=after, words=_words(interaction))
        return joined((*shown, "\n\n", *note))

    def _all_shown(self, graph: Graph) -> Parts:
        """All interactions of a page: the page as it is first, then what each one does."""
        marked = self.prompt.recipe == "mark"
        first = graph.interactions[0].source
        here = [one for one in graph.interactions if pictures.same_state(graph, first, one.source)]
        steps: list[str | Image] = []
        for number, one in enumerate(graph.interactions, start=1):
            earlier = graph.way_to(one)[-1:]
            apart: Parts = ()
            after: Image | Parts = ()
            # What is acted on is not marked on the picture after an earlier interaction.
            if one not in here and (marked or not earlier):
                picture = pictures.before(graph, one, marked=marked)
                apart = fill("parts/start", id=_id(number), before=picture)
            if self.prompt.inputs != "T":
                after = pictures.after(graph, one, marked=marked)
            used = [_id(graph.interactions.index(other) + 1) for other in earlier]
            steps += fill(
                f"parts/step-{self.prompt.inputs}",
                start=apart,
                id=_id(number),
                state=f", once {used[0]} has been used" if used else "",
                after=after,
                words=_words(one),
            )
            steps.append("\n\n")
        return fill(
            "parts/shown-all",
            before=pictures.original(graph, here, marked=marked),
            steps=tuple(steps),
            **_numbered(len(graph.interactions)),
        )


def _words(interaction: Interaction) -> str:
    lines = (("Action", interaction.sentence), ("Effect", interaction.description))
    return "\n".join(f"{name}: {' '.join(text.split())}" for name, text in lines if text.strip())


def _id(number: int) -> str:
    return f"interact{number}"


def _ids(numbers: Sequence[int]) -> str:
    names = [_id(number) for number in numbers]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _numbered(count: int) -> dict[str, str | int]:
    return {"count": count, "ids": _ids(range(1, count + 1))}


def _as_json(replies: Sequence[Reply]) -> bytes:
    answers = [{"text": one.text, "finish": one.finish, "raw": one.raw} for one in replies]
    return json.dumps(answers, indent=2).encode()
