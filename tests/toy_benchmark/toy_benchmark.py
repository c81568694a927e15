"""A benchmark as a package of its own: repeat a word. `docs/new-benchmark.md` explains it.

A data set is a folder with `words.txt`, one word a line. The judge sleeps at the word `slow`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import ClassVar

from uiproof.benchmark import Benchmark, Case, Judge, JudgeOptions, Method, Metric, Score, Served
from uiproof.errors import EmptyAnswerError, MethodError, UsageError
from uiproof.models.types import Message, Request


class Echo(Method[str, str]):
    """Repeats the question, except `mute`, to which it has no answer."""

    name = "echo"

    async def answer(self, case_id: str, question: str, context) -> str:
        if question == "mute":
            raise MethodError("It said nothing.")
        if question == "bug":
            raise ZeroDivisionError("a mistake in the method")
        return question


class Replay(Method[str, str]):
    """Answers with the words of a file."""

    name, needs_question = "replay", False

    def __init__(self, words: list[str]) -> None:
        self._words = words

    async def answer(self, case_id: str, question: str, context) -> str:
        if int(case_id) > len(self._words):
            raise MethodError(f"There is no word {case_id}.")
        return self._words[int(case_id) - 1]


class Prompted(Method[str, str]):
    """Lets a model repeat the word."""

    def __init__(self, model, prompt: str) -> None:
        self.model, self.prompt, self.concurrency = model, prompt, model.concurrency

    @property
    def name(self) -> str:
        return f"{self.model.name} {self.prompt}"

    @property
    def settings(self):
        return {**self.model.settings, "prompt": self.prompt}

    def planned_requests(self, question: str):
        text = f"{self.prompt} {question}"
        return (Request((Message("user", (text,)),), self.model.parameters),)

    async def answer(self, case_id: str, question: str, context) -> str:
        (request,) = self.planned_requests(question)
        reply = await context.ask(self.model, request)
        if not reply.text:
            raise EmptyAnswerError("Nothing was said.")
        return reply.text

    async def close(self) -> None:
        await self.model.close()


class SameWord(Judge[str, str, str]):
    """Gives 1 for the same word, else 0."""

    def score(self, case: Case[str, str], answer: str) -> Score:
        if case.truth == "slow":
            time.sleep(60)
        return Score({"same": float(answer == case.truth)})

    def failure(self, case: Case[str, str] | None) -> Score:
        return Score({"same": 0.0})


class Toy(Benchmark):
    """Repeat a word."""

    name = "toy"
    layout = "a folder with words.txt, one word a line."
    metrics = (Metric("same", "Same"),)
    methods: ClassVar = {"echo": "repeats the question; needs nothing"}
    prompts: ClassVar = {"say": "asks politely", "shout": "asks loudly"}

    def recognises(self, path: Path) -> bool:
        return (path / "words.txt").is_file()

    def cases(self, path: Path) -> list[Case[str, str]]:
        words = (path / "words.txt").read_text().split()
        return [Case(f"{number}", word, word) for number, word in enumerate(words, 1)]

    def method(self, name, *, connect, prompt=None, **_) -> Method[str, str]:
        if prompt is not None:
            return Prompted(connect(name), prompt)
        if name != "echo":
            raise UsageError(f"There is no method {name!r}.", remedy="There is only echo.")
        return Echo()

    def judge(self, run: Path, options: JudgeOptions) -> SameWord:
        return SameWord()

    def replay(self, dataset: Path, answers: Path, *, quiet: bool = False) -> Replay:
        return Replay(answers.read_text().split())

    def reference_case(self, reference, case_id: str) -> Case[str, str] | None:
        if isinstance(reference, str):
            return Case(case_id, reference, reference)
        return super().reference_case(reference, case_id)

    def served(self) -> Served:
        return Served(reference=str, takes="a word")


BENCHMARK = Toy()
