"""Warm workers that score single answers, in one event loop; see `Scorer`."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from uiproof.benchmark import Benchmark, Case, CaseError, Judge, JudgeOptions, Record, Score
from uiproof.benchmarks.generated import generated_page
from uiproof.engine.executors import Trace, as_error, default_workers, make_pool
from uiproof.errors import (
    CaseTimeoutError,
    InternalError,
    MethodError,
    MissingDependencyError,
    StorageError,
    UiproofError,
    UsageError,
    WorkerDiedError,
    WorkerStartError,
)
from uiproof.process_tree import known_descendants, resident_mb
from uiproof.registry import benchmarks, judge_options_for
from uiproof.scratch import ScratchFolder
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.browser import Renderer

# Faults of the machine: no page scores 0 because of them.
MACHINE_ERRORS = (MissingDependencyError, StorageError, WorkerStartError)

_LONGEST_LOG = 1_000_000  # bytes of what workers print

# A browser is replaced after so many answers, or when it and its worker hold more memory than this
# (pages that processes share are counted for each); looking takes milliseconds.
_MOST_ANSWERS = 500
_MOST_MEGABYTES = 1_500
_LOOK_EVERY = 10

PAGE_CHECK = ""  # the name of the judge that needs no reference, in the place of a benchmark's
CACHED = "reference_cached"  # in the details of a score: whether its reference was known already


@dataclass(frozen=True, slots=True)
class Order:
    """An answer, looked up: ready to be judged, or the reason why it cannot be."""

    benchmark: str
    case: Case[Any, Any] | None = None  # as far as it is known
    answer: Any = None
    error: UiproofError | None = None
    stage: Literal["load", "answer"] = "load"  # of the error


def order_for(
    benchmark: Benchmark, case: Case[Any, Any] | Exception, generated: Any, options: Any
) -> Order:
    """Return the order of an answer to a case, or to what `find_case` returns in its place."""
    if isinstance(case, Exception):
        return Order(benchmark.name, error=as_error(case))
    try:
        return Order(benchmark.name, case, benchmark.answer(generated, **options))
    except Exception as raised:  # noqa: BLE001 - an answer fails by itself, whatever is in it
        error = as_error(raised)
        wrong = isinstance(error, MethodError)
        return Order(benchmark.name, case, error=error, stage="answer" if wrong else "load")


def page_order(generated: Any) -> Order:
    """Return the order of a page that is checked without a reference."""
    try:
        return Order(PAGE_CHECK, Case("request", None, None), generated_page(generated))
    except Exception as raised:  # noqa: BLE001
        return Order(PAGE_CHECK, error=as_error(raised), stage="answer")


def find_case(
    reference: Any, case_id: str = "", name: str | None = None
) -> tuple[Benchmark, Case[Any, Any] | Exception]:
    """Return the benchmark and case of a reference, or an error in place of the case.

    The benchmark is the named one, or the one that claims the reference.
    """
    known = benchmarks()
    claiming = sorted(one.name for one in known.values() if one.claims_references)
    found = known.get(name or claiming[0])
    if found is None:
        raise UsageError(
            f"There is no benchmark {name!r}.", remedy=f"Use one of: {', '.join(known)}."
        )
    for one in [found.name] if name else reversed(claiming):  # the first takes what is left
        try:
            case = known[one].reference_case(reference, case_id)
        except Exception as error:  # noqa: BLE001 - the caller writes it down
            return known[one], error
        if case is not None:
            return known[one], case
    served, kind = found.served(), type(reference).__name__
    takes = served.takes if served else "only cases of its data sets"
    return found, UsageError(
        f"{found.name} does not take {kind} as a reference, but {takes}.",
        remedy="Name the benchmark that it belongs to: Scorer(benchmark=NAME).",
    )


def _judge_options(chosen: Mapping[str, Any]) -> dict[str, JudgeOptions]:
    """Return the options of every benchmark's judge, with the chosen ones where they apply."""
    found, unknown = {}, set(chosen)
    for benchmark in benchmarks().values():
        names = {flag.name for flag in benchmark.flags} - set(benchmark.replay_options)
        names |= {"web"} if benchmark.shows_pages else set()
        own = {name: value for name, value in chosen.items() if name in names}
        found[benchmark.name] = judge_options_for(benchmark, None, **own)
        unknown -= own.keys()
    if unknown:
        raise UsageError(f"No benchmark has an option {min(unknown)!r} for its judge.")
    return found


class WarmPool:
    """Workers, each with a judge that stays warm, started as they are needed.

    Requests wait for their turn in the order in which they came. Cancelling takes one out of the
    queue; what a worker has begun it finishes: cancelling never kills a browser.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        case_timeout: float | None = None,
        judge_options: Mapping[str, Any] | None = None,
    ) -> None:
        settings = Settings.from_environment(workers=workers, case_timeout=case_timeout)
        self.workers = settings.workers or default_workers()
        self.waiting = 0  # for their turn
        self.running = 0
        self.deaths = 0  # of workers so far, those included that were ended because they hung
        self._scratch = ScratchFolder()
        self.folder = self._scratch.path
        self._log = self.folder / "workers.log"
        options = _judge_options(judge_options or {})
        self._pool = make_pool(
            "processes",
            partial(ScoringJudge, self.folder / "references", options),
            workers=self.workers,
            case_timeout=settings.case_timeout,
            log=self._log,
        )
        self._here = ScoringJudge(self.folder, options)  # only asked for the scores of failures
        self._turns = asyncio.Semaphore(self.workers)
        self._begun: set[asyncio.Task[Score]] = set()
        self._closed = False

    async def warm(self) -> None:
        """Start all workers and their browsers."""
        for benchmark in benchmarks().values():
            if (first := benchmark.warm_up()) is not None:
                self._here.failure_of(benchmark.name)  # imports what takes long
                order = Order(benchmark.name, *first)
                await asyncio.gather(*(self.score(order) for _ in range(self.workers)))
                return  # judges share their browser

    async def score(self, order: Order, trace: Trace | None = None) -> Score:
        """Compare an answer with its reference; raises what the judge raises.

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
        task = asyncio.create_task(self._score(order, trace))
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return await asyncio.shield(task)

    async def record(self, order: Order, case_id: str = "") -> Record:
        """Return the score as a journal has it: what is wrong with an answer is in the record.

        Raise only what is wrong with this machine.
        """
        trace, error = Trace(), order.error
        stage: Literal["load", "answer", "score"] = order.stage
        if error is None:
            try:
                score = await self.score(order, trace)
            except Exception as raised:  # noqa: BLE001 - every page gets its record
                error, stage = as_error(raised), "score"
        if error is None:
            case_id = case_id or (order.case.id if order.case else "")
            record = Record(case_id, "scored", score.scores, None, score.details, flags=score.flags)
        elif isinstance(error, MACHINE_ERRORS):
            raise error
        else:
            failure = self._here.failure_of(order.benchmark, order.case)
            details = dict(failure.details)
            if isinstance(error, InternalError) and error.traceback:
                details["traceback"] = error.traceback
            why = CaseError(error.code, stage, error.message, error.remedy)
            record = Record(case_id, "failed", failure.scores, why, details)
        seconds = {stage: round(taken, 4) for stage, taken in trace.seconds.items()}
        return replace(record, seconds=seconds, attempts=trace.attempts)

    async def close(self) -> None:
        """Kill all workers at once and delete their folder."""
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
        """Delete the folder of the workers, even while they write into it."""
        self._scratch.remove()

    async def _score(self, order: Order, trace: Trace) -> Score:
        self.running += 1
        try:
            # The judge of a worker gets the benchmark in the place of the question.
            case = Case("", order.benchmark, order.case)
            return await self._pool.call("score", case, order.answer, trace=trace)  # type: ignore[no-any-return]
        except (WorkerDiedError, CaseTimeoutError):
            self.deaths += 1
            raise
        except MACHINE_ERRORS:
            self._pool.mend()  # the machine may have recovered by the next answer
            raise
        finally:
            self.deaths += trace.attempts - 1
            self.running -= 1
            self._turns.release()
            self._keep_log_short()

    def _keep_log_short(self) -> None:
        with suppress(OSError):
            if self._log.stat().st_size > _LONGEST_LOG:
                self._log.write_bytes(b"")  # workers append: what they print next comes first


class ScoringJudge(Judge[str, Case[Any, Any], Any]):
    """A judge that dispatches to the judges of all benchmarks, made on first use."""

    def __init__(self, references: Path, options: Mapping[str, JudgeOptions]) -> None:
        self._folder, self._options = references, options
        self._renderer: Renderer | None = None  # all judges use the same browser
        self._judges: dict[str, Judge[Any, Any, Any]] = {}
        self._scored = 0

    def score(self, case: Case[str, Case[Any, Any]], answer: Any) -> Score:
        """Compare one answer with its reference."""
        if self._is_worn():
            self.close()
        self._scored += 1
        judge = self._judge(case.question)
        before = judge.references_made
        score = judge.score(case.truth, answer)
        return replace(score, details={**score.details, CACHED: judge.references_made == before})

    def failure(self, case: Case[str, Case[Any, Any]] | None) -> Score:
        """Return the score of a failure in the benchmark of a case."""
        assert case is not None
        return self.failure_of(case.question, case.truth)

    def failure_of(self, benchmark: str, case: Case[Any, Any] | None = None) -> Score:
        """Return the score of a failure in a benchmark; `case` is what is known of it."""
        return self._judge(benchmark).failure(case)

    def close(self) -> None:
        """Close the browser and all judges; the next answer makes new ones."""
        for judge in self._judges.values():
            judge.close()
        self._judges, self._renderer, self._scored = {}, None, 0

    def _judge(self, name: str) -> Judge[Any, Any, Any]:
        if name == PAGE_CHECK:
            from uiproof.page_check import PageCheckJudge

            return self._judges.setdefault(name, PageCheckJudge(self._browser))
        if name not in self._judges:
            benchmark = benchmarks()[name]
            options = self._options[name]
            self._judges[name] = benchmark.scoring_judge(self._folder, options, self._browser)
        return self._judges[name]

    def _browser(self) -> Renderer:
        from uiproof.browser import Renderer
        from uiproof.web import FrozenWeb

        if self._renderer is None:
            archive = next((one.web for one in self._options.values() if one.web), None)
            self._renderer = Renderer(web=FrozenWeb.installed(archive))
        return self._renderer

    def _is_worn(self) -> bool:
        if self._scored >= _MOST_ANSWERS:
            return True
        if self._scored % _LOOK_EVERY:
            return False
        family = (os.getpid(), *known_descendants(os.getpid()))
        return self._scored > 0 and sum(map(resident_mb, family)) > _MOST_MEGABYTES
