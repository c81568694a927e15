"""Runs of the toy benchmark that go on for as long as a test wants."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from uiproof.engine.run import execute

TOY = Path(__file__).parents[1] / "toy_benchmark"
sys.path.append(str(TOY))  # where the engine finds the benchmark, too

import toy_benchmark  # noqa: E402


class Waiting(toy_benchmark.Echo):
    """Answers when it is allowed to."""

    concurrency = 1

    def __init__(self, name: str) -> None:
        self.name = name
        self.allowed = threading.Semaphore(0)

    async def answer(self, case_id, question, context):
        await asyncio.to_thread(self.allowed.acquire)
        return await super().answer(case_id, question, context)


@dataclass(frozen=True)
class Going:
    """A run in a thread of its own, by the engine itself."""

    method: Waiting
    thread: threading.Thread

    def finish(self, cases: int) -> None:
        """Let this many more cases end."""
        for _ in range(cases):
            self.method.allowed.release()


@contextmanager
def going_run(directory: Path, words: str, name: str = "waiting"):
    """A run on some words; what is left of it at the end of the block is done quickly."""
    dataset = directory.parent.parent / f"words-{directory.name}"
    dataset.mkdir()
    (dataset / "words.txt").write_text(words.replace(" ", "\n"))
    method = Waiting(name)
    options = {
        "directory": directory,
        "benchmark": toy_benchmark.BENCHMARK,
        "dataset": dataset,
        "dataset_name": "words",
        "method": method,
        "executor": "inline",
    }
    thread = threading.Thread(target=execute, kwargs=options)
    thread.start()
    going = Going(method, thread)
    try:
        yield going
    finally:
        going.finish(len(words.split()))
        thread.join(60)
