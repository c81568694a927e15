"""Warm workers that score one page after the other. Lives in one event loop; see `Scorer`."""

from __future__ import annotations

import asyncio
import shutil
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from uiproof.benchmarks.interaction2code.layout import read_graph
from uiproof.browser.source import PageSource
from uiproof.engine.executors import Trace, as_error, make_pool
from uiproof.engine.machine import default_workers
from uiproof.engine.types import Case, CaseError, Record, Score
from uiproof.errors import (
    CaseTimeoutError,
    InternalError,
    MissingDependencyError,
    StorageError,
    UiproofError,
    UsageError,
    WorkerDiedError,
    WorkerStartError,
)
from uiproof.scoring.folders import ReferenceFolders
from uiproof.scoring.judge import ScoringJudge
from uiproof.scoring.references import (
    BenchmarkName,
    InteractionReference,
    benchmark_of,
    interaction_case,
)
from uiproof.scratch import ScratchFolder
from uiproof.settings import Settings

# These are about the machine, not about a page: no page scores nothing because of them.
MACHINE_ERRORS = (MissingDependencyError, StorageError, WorkerStartError)

_LONGEST_LOG = 1_000_000  # bytes of what workers print
_MOST_DELETIONS = 100
_WARM_UP = Case("warm-up", None, PageSource.from_html("<p>Warm</p>"))


class WarmPool:
    """Workers, each with a judge that stays warm, started as they are needed.

    What is asked for waits for its turn in the order in which it came. To cancel takes it out of
    the queue; what a worker has begun it finishes, so that nobody's impatience costs a browser.
    """

    def __init__(self, *, workers: int | None = None, case_timeout: float | None = None) -> None:
        settings = Settings.from_environment(workers=workers, case_timeout=case_timeout)
        self.workers = settings.workers or default_workers()
        self.waiting = 0  # for their turn
        self.running = 0
        self.deaths = 0  # of workers so far, those included that were ended because they hung
        self._scratch = ScratchFolder()
        self.folder = self._scratch.path
        self._log = self.folder / "workers.log"
        self._interactions = ReferenceFolders(self.folder / "interactions")
        self._pool = make_pool(
            "processes",
            partial(ScoringJudge, self.folder / "references"),
            workers=self.workers,
            case_timeout=settings.case_timeout,
            log=self._log,
        )
        self._here = ScoringJudge(self.folder)  # only ever asked what a failure scores
        self._turns = asyncio.Semaphore(self.workers)
        self._begun: set[asyncio.Task[Score]] = set()
        self._closed = False

    async def warm(self) -> None:
        """Start all workers and their browsers."""
        self._here.failure(_WARM_UP)  # imports what takes long
        page = _WARM_UP.truth
        await asyncio.gather(*(self.score(_WARM_UP, page) for _ in range(self.workers)))

    async def score(self, case: Case[Any, Any], answer: Any, trace: Trace | None = None) -> Score:
        """Compare a generated page with its reference; raises what the judge raises.

        The trace gets the seconds of waiting (`queue`) and of scoring (`score`).
        """
        trace = trace or Trace()
        came = time.perf_counter()
        self.waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self.waiting -= 1
        if self._closed:
            self._turns.release()
            raise UsageError("The workers have ended.")
        trace.add("queue", time.perf_counter() - came)
        task = asyncio.create_task(self._score(case, answer, trace))
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return await asyncio.shield(task)

    async def record(self, case: Case[Any, Any], answer: Any, case_id: str = "") -> Record:
        """The same as a journal has it: whatever is wrong with a page is in the record.

        Raises only what is wrong with this machine.
        """
        trace = Trace()
        try:
            score = await self.score(case, answer, trace)
        except Exception as raised:  # noqa: BLE001 - every page gets its record
            benchmark = benchmark_of(case)
            record = self.failed(as_error(raised), benchmark, case_id or case.id, stage="score")
        else:
            record = Record(
                id=case_id or case.id,
                status="scored",
                scores=score.scores,
                details=score.details,
                flags=score.flags,
            )
        seconds = {stage: round(taken, 4) for stage, taken in trace.seconds.items()}
        return replace(record, seconds=seconds, attempts=trace.attempts)

    def failed(
        self,
        error: UiproofError,
        benchmark: BenchmarkName,
        case_id: str,
        *,
        stage: Literal["load", "answer", "score"],
    ) -> Record:
        """The record of a page that could not be scored; raises what is wrong with the machine."""
        if isinstance(error, MACHINE_ERRORS):
            raise error
        failure = self._here.failure_of(benchmark)
        details = dict(failure.details)
        if isinstance(error, InternalError) and error.traceback:
            details["traceback"] = error.traceback
        why = CaseError(error.code, stage, error.message, error.remedy)
        return Record(case_id, "failed", failure.scores, error=why, details=details)

    async def close(self) -> None:
        """End all workers at once, whatever they do, and delete what was kept for them."""
        self._closed = True
        for task in self._begun:
            task.cancel()
        await asyncio.gather(*self._begun, return_exceptions=True)
        try:
            await self._pool.close()
        finally:
            self._here.close()
            self._scratch.remove()

    def delete_folder(self) -> None:
        """Delete what is kept for workers, also while they still write into it."""
        for _ in range(_MOST_DELETIONS):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                return
            time.sleep(0.01)

    async def _score(self, case: Case[Any, Any], answer: Any, trace: Trace) -> Score:
        self.running += 1
        try:
            with ExitStack() as held:
                if isinstance(case.truth, InteractionReference):
                    case = self._laid_out(case, case.truth, held)
                score: Score = await self._pool.call("score", case, answer, trace=trace)
                return score
        except (WorkerDiedError, CaseTimeoutError):
            self.deaths += 1
            raise
        except MACHINE_ERRORS:
            self._pool.mend()  # whoever asks next may find the machine in a better state
            raise
        finally:
            self.deaths += trace.attempts - 1
            self.running -= 1
            self._turns.release()
            self._keep_log_short()

    def _laid_out(
        self, case: Case[Any, Any], reference: InteractionReference, held: ExitStack
    ) -> Case[Any, Any]:
        folder = held.enter_context(self._interactions.holding(reference))
        return replace(interaction_case(read_graph(folder), "1"), id=case.id)

    def _keep_log_short(self) -> None:
        with suppress(OSError):
            if self._log.stat().st_size > _LONGEST_LOG:
                self._log.write_bytes(b"")  # workers append: what they print next comes first
