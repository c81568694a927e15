"""A run from beginning to end: pose, answer, score and write down each case of a data set."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from uiproof.benchmark import BrokenCase, Case, CaseError, JudgeOptions, Method, Record, Score
from uiproof.engine.context import Context
from uiproof.engine.executors import Pool, Trace, as_error, make_pool
from uiproof.engine.progress import Progress
from uiproof.engine.rundir import FORMAT, Journal, RunDirectory, dataset_key, encode, locked
from uiproof.engine.shards import AnyCase, Shard, chosen, sampled
from uiproof.engine.summary import summarise
from uiproof.errors import (
    BudgetReachedError,
    InputError,
    InternalError,
    MethodError,
    MissingDependencyError,
    ModelAccessError,
    ModelError,
    StorageError,
    UiproofError,
    UsageError,
    WorkerStartError,
)
from uiproof.files import access
from uiproof.remote.mirror import name_of

if TYPE_CHECKING:
    from uiproof.benchmark import Benchmark

# No case is to blame for these: the run stops and can be continued.
_STOPS_THE_RUN = (
    MissingDependencyError,
    ModelAccessError,
    StorageError,
    WorkerStartError,
    BudgetReachedError,
)


def execute(
    *,
    directory: Path,
    benchmark: Benchmark,
    dataset: Path,
    dataset_name: str,
    method: Method[Any, Any],
    executor: str = "processes",
    workers: int | None = None,
    limit: int | None = None,
    only: Sequence[str] | None = None,
    samples: int = 1,
    pass_score: float | None = None,
    shard: Shard | None = None,
    case_timeout: float = 300,
    retry_failed: bool = False,
    progress: Progress | None = None,
    options: JudgeOptions | None = None,
    cases: Iterable[AnyCase] | None = None,
    ray_address: str | None = None,
) -> RunDirectory:
    """Run a method on a data set, or continue the run that is in `directory`.

    Every case ends in the journal as scored or failed. Cases in it are not done again, failed
    ones only with `retry_failed`. With `only` just the cases with these ids are done, with
    `samples` each as often, and with `shard` only its part of the data set; the limit is that of
    the whole. `options` are those of the judge, `cases` replace those of the data set.
    `case_timeout` is for each stage of judging, in seconds;
    methods have their own. Ctrl-C ends the run cleanly, keeps what is finished and
    raises `KeyboardInterrupt`. Raises `RunMismatchError` when the directory holds a run with
    other settings and `RunLockedError` while another process writes to it.
    """
    _check_call(workers=workers, limit=limit, samples=samples)
    run = RunDirectory(directory)
    log = run.path / "workers.log"
    if cases is None:
        cases = benchmark.cases(dataset)  # before anything is written: what is wrong shows here
    if only:
        cases = chosen(cases, only)
    options = options or benchmark.judge_options()
    manifest = {
        "format": FORMAT,
        "uiproof": version("uiproof"),
        "benchmark": benchmark.name,
        "dataset": dataset_name,
        "dataset_path": name_of(dataset),
        "dataset_key": dataset_key(dataset, run=directory),
        "method": method.name,
        "settings": dict(method.settings),
        "assisted": method.assisted,
        "limit": limit,
        **({"only": sorted(set(only))} if only else {}),
        **({"samples": samples, "pass_score": pass_score} if samples > 1 else {}),
        "shard": None if shard is None else str(shard),
        "cases": _total(cases, limit, samples) if shard is None else None,
        "executor": executor,
        "fingerprint": dict(benchmark.fingerprint(options)),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    with ExitStack() as held:
        pool = make_pool(
            executor,
            partial(benchmark.judge, run.path, options),
            workers=workers,
            case_timeout=case_timeout,
            log=log,
            folders=(dataset, *method.folders, *([options.web] if options.web else [])),
            fingerprint=partial(benchmark.fingerprint, options),
            ray_address=ray_address,
        )
        held.callback(pool.release)
        run.create()
        held.enter_context(locked(run.path / "lock"))
        run.describe({**manifest, "workers": pool.workers})
        session = _Session(run, benchmark, method, pool, progress or Progress(), options)
        wanted, total = _wanted(cases, limit, shard, samples)
        try:
            asyncio.run(session.run(wanted, total, retry_failed))
        except BaseException:
            with suppress(OSError, UiproofError):  # why the run ended matters more
                session.summarise(complete=False)
            raise
        finally:
            with suppress(OSError):
                if log.exists() and log.stat().st_size == 0:
                    log.unlink()
        session.summarise(complete=True)
    return run


def _check_call(**numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None and value < 1:
            raise UsageError(f"{name} is {value}; it must be at least 1.")


def _total(cases: Iterable[AnyCase], limit: int | None, samples: int) -> int | None:
    """Return how many answers a run will have at most; None where it is unknown."""
    if isinstance(cases, Sized):
        limit = len(cases) if limit is None else min(len(cases), limit)
    return None if limit is None else limit * samples


class _Session:
    """One process's work on a run."""

    def __init__(
        self,
        run: RunDirectory,
        benchmark: Benchmark,
        method: Method[Any, Any],
        pool: Pool,
        progress: Progress,
        options: JudgeOptions,
    ) -> None:
        self._run, self._benchmark, self._method = run, benchmark, method
        self._pool, self._progress = pool, progress
        self._judge = benchmark.judge(run.path, options)  # only asked for the scores of failures
        concurrency = max(method.concurrency, 1)
        self._answering = asyncio.Semaphore(concurrency)
        # How many cases may be under way: memory does not grow with the size of the data set.
        self._window = asyncio.Semaphore(2 * pool.workers + concurrency)
        self._began = time.monotonic()
        self._finished = 0
        self._writing = False
        self._ask_again: set[str] = set()  # cases whose last answer was useless
        self._budget_reached: BudgetReachedError | None = None
        try:
            self._earlier_timing = run.summary.get("timing")
        except InputError:
            self._earlier_timing = None

    async def run(
        self, wanted: Iterable[tuple[AnyCase, int]], total: int | None, retry_failed: bool
    ) -> None:
        """Finish every case that is not in the journal or has another answer now."""
        done, failed = self._done(retry_failed)
        async with AsyncExitStack() as cleanup:
            cleanup.callback(self._judge.close)
            cleanup.push_async_callback(self._method.close)
            cleanup.push_async_callback(self._pool.close)
            journal = cleanup.enter_context(Journal(self._run.journal))
            self._writing = True
            # A stale summary must not survive, even if this process dies.
            summary = self._run.path / "summary.json"
            with access(summary, "deleted"):
                summary.unlink(missing_ok=True)
            self._progress.start(total=total, done=len(done), failed=failed)
            cleanup.callback(self._progress.stop)
            try:
                async with asyncio.TaskGroup() as tasks:
                    for case, sample in wanted:
                        if case.id in done:
                            continue
                        await self._window.acquire()
                        if self._budget_reached:
                            break
                        tasks.create_task(self._finish(case, sample, journal))
            except BaseExceptionGroup as group:
                raise group.exceptions[0] from None  # the first one has stopped the others
            if self._budget_reached:
                raise self._budget_reached

    def _done(self, retry_failed: bool) -> tuple[set[str], int]:
        done, failed = set(), 0
        for record in self._run.records():
            again = retry_failed and record.status == "failed"
            if not again and self._is_current(record):
                done.add(record.id)
                failed += record.status == "failed"
            elif again and record.error and record.error.stage == "answer":
                self._ask_again.add(record.id)
        return done, failed

    def _is_current(self, record: Record) -> bool:
        try:
            key = self._method.key(record.id)
        except Exception:  # noqa: BLE001 - doing the case again writes down what is wrong
            return False
        return key is None or key == record.answer_key

    async def _finish(self, case: AnyCase, sample: int, journal: Journal) -> None:
        try:
            line, failed = await self._line(case, sample)
            journal.append(line)
        except BudgetReachedError as reached:
            self._budget_reached = reached  # the case stays undone; others may have their answers
            return
        finally:
            self._window.release()
        self._finished += 1
        self._progress.advance(failed=failed)

    async def _line(self, case: AnyCase, sample: int) -> tuple[bytes, bool]:
        """Take one case through its stages; return its journal line and whether it failed."""
        trace = Trace()
        context = self._context(case, sample, trace)
        key: str | None = None
        stage: Literal["load", "pose", "answer", "score"] = "answer"
        try:
            key = self._method.key(case.id)  # before the answer: no change in between is missed
            stage = "load"
            if isinstance(case, BrokenCase):
                raise case.error  # noqa: TRY301
            stage = "pose"
            question = case.question
            if self._method.needs_question:
                question = await self._pool.call("pose", case, trace=trace)
            stage = "answer"
            answer = await self._answer(case.id, question, context, trace)
            stage = "score"
            score: Score = await self._pool.call("score", case, answer, trace=trace)
            return _encode(case.id, key, score, trace, context), False
        except Exception as raised:  # noqa: BLE001 - every case ends in the journal
            error = as_error(raised)
            if isinstance(error, _STOPS_THE_RUN):
                raise error from (None if error is raised else raised)
        if isinstance(error, ModelError) and error.attempts:
            context.note_call({"cached": False, "answered": False, "attempts": error.attempts})
        failure = self._judge.failure(case if isinstance(case, Case) else case.known)
        if isinstance(error, InternalError) and error.traceback:
            details = {**failure.details, "traceback": error.traceback}
            failure = replace(failure, details=details)
        why = CaseError(error.code, stage, error.message, error.remedy)
        return _encode(case.id, key, failure, trace, context, why), True

    def _context(self, case: AnyCase, sample: int, trace: Trace) -> Context:
        async def render(answer: Any) -> bytes:
            picture: bytes = await self._pool.call("picture", case, answer, trace=trace)
            return picture

        async def compare(answer: Any) -> Sequence[Mapping[str, Any]]:
            found: Sequence[Mapping[str, Any]] = await self._pool.call(
                "differences", case, answer, trace=trace
            )
            return found

        assisted = self._method.assisted
        truth = case.truth if assisted and isinstance(case, Case) else None
        again = case.id in self._ask_again
        return Context(
            case.id,
            run=self._run,
            render=render,
            compare=compare if assisted else None,
            ask_again=again,
            truth=truth,
            sample=sample,
        )

    async def _answer(self, case_id: str, question: Any, context: Context, trace: Trace) -> Any:
        async with self._answering:
            began = time.perf_counter()
            try:
                return await self._method.answer(case_id, question, context)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                # A task inside the method was cancelled, not this run: the case still counts.
                raise MethodError("The method cancelled one of its tasks.") from None
            finally:
                trace.add("answer", time.perf_counter() - began)

    def summarise(self, *, complete: bool) -> None:
        """Write `summary.json`, unless the run was interrupted before it had results."""
        if not complete and (not self._writing or next(self._run.records(), None) is None):
            return
        seconds = time.monotonic() - self._began
        timing = {
            "cases": self._finished,
            "wall_seconds": round(seconds, 3),
            "cases_per_second": round(self._finished / max(seconds, 1e-9), 3),
        }
        summary = summarise(self._run.records(), self._benchmark, self._run.manifest)
        timing = timing if self._finished else self._earlier_timing or timing
        self._run.write_summary({**summary, "complete": complete, "timing": timing})


def _wanted(
    cases: Iterable[AnyCase], limit: int | None, shard: Shard | None, samples: int
) -> tuple[Iterable[tuple[AnyCase, int]], int | None]:
    """Return the cases to be done, and how many answers they are where that is known."""
    unique = _unique(islice(cases, limit))
    if shard is None:
        return sampled(unique, samples), _total(cases, limit, samples)
    part = list(shard.part(unique))  # cases are small: what is rendered is not in them
    return sampled(part, samples), len(part) * samples


def _unique(cases: Iterable[AnyCase]) -> Iterator[AnyCase]:
    seen: set[str] = set()
    for case in cases:
        if not case.id:
            raise InputError("The data set has a case with an empty id.")
        if case.id in seen:
            raise InputError(
                f"The data set has two cases with the id {case.id!r}.",
                remedy="Give each case a unique id.",
            )
        seen.add(case.id)
        yield case


def _encode(
    case_id: str,
    key: str | None,
    score: Score,
    trace: Trace,
    context: Context,
    error: CaseError | None = None,
) -> bytes:
    record = Record(
        id=case_id,
        status="failed" if error else "scored",
        scores=score.scores,
        error=error,
        details=score.details,
        artifacts={**context.artifacts, **score.artifacts},
        flags=(*context.flags, *score.flags),
        seconds={stage: round(seconds, 4) for stage, seconds in trace.seconds.items()},
        attempts=trace.attempts,
        answer_key=key,
        sample=context.sample,
        calls=tuple(context.calls),
    )
    try:
        return encode(record)
    except (TypeError, ValueError, RecursionError) as problem:
        raise InternalError(f"The judge's result cannot be written as JSON: {problem}.") from None
