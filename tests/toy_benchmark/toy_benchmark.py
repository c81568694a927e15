"""The smallest benchmark that works, as a package of its own: repeat a word.

A data set is a folder with `words.txt`, one word a line. The judge sleeps at the word `slow`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from typing import Any

from uiproof.engine.types import Case, Judge, Method, Record, Score
from uiproof.errors import EmptyAnswerError, MethodError, UsageError
from uiproof.models.types import Message, Request
from uiproof.registry import Benchmark, Metric


class Echo(Method[str, str]):
    """Says what it is asked, except to `mute`, where it has no answer."""

    name = "echo"

    async def answer(self, case_id: str, question: str, context) -> str:
        if question == "mute":
            raise MethodError("It said nothing.")
        if question == "bug":
            raise ZeroDivisionError("a mistake in the method")
        return question


class Asking(Method[str, str]):
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
        reply = await self.model.ask(request, fresh=context.ask_again)
        context.note_call(self.model.facts(reply))
        if not reply.text:
            raise EmptyAnswerError("Nothing was said.")
        return reply.text

    async def close(self) -> None:
        await self.model.close()


class SameWord(Judge[str, str, str]):
    """1 for the same word, else 0."""

    def score(self, case: Case[str, str], answer: str) -> Score:
        if case.truth == "slow":
            time.sleep(60)
        return Score({"same": float(answer == case.truth)})

    def failure(self, case: Case[str, str]) -> Score:
        return Score({"same": 0.0})


def cases(folder: Path) -> list[Case[str, str]]:
    words = (folder / "words.txt").read_text().split()
    return [Case(f"{number}", word, word) for number, word in enumerate(words, 1)]


def method(name: str) -> Method[Any, Any]:
    if name != "echo":
        raise UsageError(f"There is no method {name!r}.", remedy="There is only echo.")
    return Echo()


def judge(run: Path) -> SameWord:
    return SameWord()


def summarise(records: Iterable[Record]) -> dict[str, Any]:
    ended = list(records)
    scores = [record.scores["same"] for record in ended] or [0.0]
    same = {"mean": mean(scores), "low": min(scores), "high": max(scores), "n": len(ended)}
    return {
        "benchmark": "toy",
        "n": len(ended),
        "failed": sum(record.status == "failed" for record in ended),
        "scores": {"same": same if ended else None},
        "flags": {},
        "errors": {},
        "seconds": 0.0,
    }


BENCHMARK = Benchmark(
    name="toy",
    recognises=lambda path: (path / "words.txt").is_file(),
    cases=cases,
    method=method,
    methods={"echo": "repeats the question; needs nothing"},
    judge=judge,
    summarise=summarise,
    metrics=(Metric("same", "Same"),),
    prompts={"say": "asks politely", "shout": "asks loudly"},
    prompted=Asking,
    fingerprint=dict,
)
