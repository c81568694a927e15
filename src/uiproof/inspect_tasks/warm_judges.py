"""Judges for the samples of a task, in processes of their own, kept warm between samples.

inspect says nothing when a task has ended in vain, so nobody has to: the judges end when no
sample has held them for a while, and when the event loop ends, which is when `inspect eval` does.
Their processes do not outlive this one, however it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from uiproof.engine.executors import Stage, make_pool
from uiproof.engine.machine import default_workers
from uiproof.engine.types import Case, Score
from uiproof.errors import UsageError
from uiproof.registry import Benchmark
from uiproof.scratch import ScratchFolder
from uiproof.settings import Settings

IDLE_SECONDS = 10.0

_open: dict[tuple[asyncio.AbstractEventLoop, str], WarmJudges] = {}


@contextmanager
def warm_judges(benchmark: Benchmark) -> Iterator[WarmJudges]:
    """The judges of a benchmark, shared by all samples; what they rendered is kept while held."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise UsageError(
            "uiproof's tasks need inspect's asyncio backend.",
            remedy="Unset INSPECT_ASYNC_BACKEND.",
        ) from None
    key = loop, benchmark.name
    judges = _open.get(key)
    if judges is None:
        judges = _open[key] = WarmJudges(benchmark, partial(_open.pop, key, None))
    judges.hold()
    try:
        yield judges
    finally:
        judges.let_go()


class WarmJudges:
    """Workers with judges, and a folder for what they render. See `warm_judges`."""

    def __init__(self, benchmark: Benchmark, forget: partial[Any]) -> None:
        self._forget = forget
        self._scratch = ScratchFolder()
        folder = self._scratch.path
        settings = Settings.from_environment()
        self._pool = make_pool(
            "processes",
            partial(benchmark.judge, folder),
            workers=settings.workers or default_workers(),
            case_timeout=settings.case_timeout,
            log=folder / "workers.log",
        )
        self._here = benchmark.judge(folder)  # only ever asked what a failure scores
        self._holders = 0
        self._ending: asyncio.TimerHandle | None = None
        self._keeper = asyncio.create_task(self._keep())

    async def call(self, stage: Stage, case: Case[Any, Any], *args: Any) -> Any:
        """Let some judge do one thing; see `Pool.call`."""
        return await self._pool.call(stage, case, *args)

    def failure(self, case: Case[Any, Any] | None) -> Score:
        """What a case scores that has no answer."""
        return self._here.failure(case)

    def hold(self) -> None:
        """Say that a sample needs the judges."""
        self._holders += 1
        if self._ending:
            self._ending.cancel()
            self._ending = None

    def let_go(self) -> None:
        """Say that it does no longer."""
        self._holders -= 1
        if self._holders == 0:
            self._ending = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end)

    def _end(self) -> None:
        self._forget()  # at once: who comes now gets new ones
        self._keeper.cancel()

    async def _keep(self) -> None:
        """Wait to be cancelled, by `_end` or by the end of the event loop."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._forget()
            try:
                await self._pool.close()
            finally:
                self._here.close()
                self._scratch.remove()
