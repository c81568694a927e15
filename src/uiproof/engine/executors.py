"""Where judges work: in a thread, in processes, or wherever else a `Worker` can be.

A worker holds one judge and keeps it warm. The pool starts workers as they are needed, gives each
one call at a time and replaces those that die or hang. To run judges somewhere new, write a
`Worker` and name it in `make_pool`.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from uiproof.engine.storage import storage_fault
from uiproof.engine.types import Judge, Score
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

Stage = Literal["pose", "picture", "score"]
MakeJudge = Callable[[], Judge[Any, Any, Any]]

_START_SECONDS = 120.0
_CLOSE_SECONDS = 5.0  # for a judge to close its browser
_ABANDON_SECONDS = 0.5
_LONGEST_MESSAGE, _LONGEST_TRACEBACK = 2_000, 10_000  # some libraries quote whole pages


def make_pool(
    name: str, make_judge: MakeJudge, *, workers: int, case_timeout: float, log: Path
) -> Pool:
    """The pool for an executor's name; `log` gets what workers print."""
    if name == "inline":
        return Pool(lambda: ThreadWorker(make_judge), workers=1, case_timeout=case_timeout)
    if name == "processes":
        from uiproof.engine.processes import process_workers

        new_worker = process_workers(make_judge, log)
        return Pool(new_worker, workers=workers, case_timeout=case_timeout)
    raise UsageError(
        f"There is no executor called {name!r}.", remedy="Use `processes` or `inline`."
    )


class Worker(Protocol):
    """One judge that is kept warm somewhere."""

    async def start(self) -> None:
        """Get ready and make the judge; raises what making the judge raised."""

    async def call(self, stage: Stage, *args: Any) -> Any:
        """Let the judge do one thing. Raises `WorkerDiedError` or what `perform` raises."""

    async def end(self) -> None:
        """Go away: after closing the judge when idle, at once when busy. May be called twice."""


@dataclass(slots=True)
class Trace:
    """What the way of one case through the pool took."""

    seconds: dict[str, float] = field(default_factory=dict)  # by stage, without waiting for a turn
    attempts: int = 1

    def add(self, stage: str, seconds: float) -> None:
        """Note time spent in a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds


class Pool:
    """Up to `workers` workers. Scoring goes before posing, so that answers do not pile up."""

    def __init__(
        self, new_worker: Callable[[], Worker], *, workers: int, case_timeout: float
    ) -> None:
        self.workers = workers
        self._new_worker = new_worker
        self._case_timeout = case_timeout
        self._free_turns = workers
        self._waiting: dict[Stage, deque[asyncio.Future[None]]] = {
            "score": deque(),
            "picture": deque(),
            "pose": deque(),
        }
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()

    async def call(self, stage: Stage, *args: Any, trace: Trace | None = None) -> Any:
        """Run one stage of a case on some worker.

        A case whose worker dies is tried once more on a fresh one, then `WorkerDiedError` is
        raised; one that takes longer than the limit raises `CaseTimeoutError`.
        """
        trace = trace or Trace()
        async with self._turn(stage):
            worker = self._idle.pop() if self._idle else await self._start_worker()
            try:
                return await self._timed(worker, stage, args, trace)
            except WorkerDiedError:
                trace.attempts += 1
            return await self._timed(await self._start_worker(), stage, args, trace)

    async def close(self) -> None:
        """End all workers."""
        await asyncio.gather(*(worker.end() for worker in self._all))

    async def _timed(
        self, worker: Worker, stage: Stage, args: tuple[Any, ...], trace: Trace
    ) -> Any:
        began = time.perf_counter()
        usable = False
        try:
            async with asyncio.timeout(self._case_timeout):
                result = await worker.call(stage, *args)
            usable = True
        except TimeoutError:
            raise CaseTimeoutError(
                f"It took longer than {self._case_timeout:g} s to {stage} and was stopped.",
                remedy="Raise the time limit per case if it is known to need longer.",
            ) from None
        except UiproofError as error:
            usable = not isinstance(error, WorkerDiedError)  # the judge said no: nothing is broken
            raise
        else:
            return result
        finally:
            trace.add(stage, time.perf_counter() - began)
            if usable:
                self._idle.append(worker)
            else:
                self._all.discard(worker)
                await worker.end()

    async def _start_worker(self) -> Worker:
        for last_try in (False, True):
            worker = self._new_worker()
            self._all.add(worker)
            try:
                async with asyncio.timeout(_START_SECONDS):
                    await worker.start()
            except (MissingDependencyError, StorageError):
                raise
            except (UiproofError, TimeoutError) as error:
                if last_try or not isinstance(error, WorkerDiedError):
                    raise WorkerStartError(
                        f"No worker could be started. {error or 'It took too long.'}",
                        remedy="The inline executor shows more of what is wrong.",
                    ) from error
            else:
                break
        return worker

    @asynccontextmanager
    async def _turn(self, stage: Stage) -> AsyncIterator[None]:
        if self._free_turns:
            self._free_turns -= 1
        else:
            turn = asyncio.get_running_loop().create_future()
            self._waiting[stage].append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # given and cancelled in the same moment
                    self._next_turn()
                raise
        try:
            yield
        finally:
            self._next_turn()

    def _next_turn(self) -> None:
        for waiting in self._waiting.values():  # score first
            while waiting:
                turn = waiting.popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._free_turns += 1


def perform(judge: Judge[Any, Any, Any], stage: Stage, *args: Any) -> Any:
    """Let a judge do one thing; whatever goes wrong becomes a `UiproofError`."""
    try:
        result = getattr(judge, stage)(*args)
    except (Exception, SystemExit) as error:
        raise as_error(error) from error
    if stage == "score" and not isinstance(result, Score):
        raise InternalError(f"The judge returned {type(result).__name__} in place of a Score.")
    return result


def as_error(error: BaseException) -> UiproofError:
    """The error itself if it was raised on purpose, else an `InternalError` about it.

    A full or read-only disk behind it always becomes a `StorageError`: no case is to blame.
    """
    if fault := storage_fault(error):
        return fault
    if isinstance(error, UiproofError):
        return error
    return InternalError(
        f"{type(error).__name__}: {error}"[:_LONGEST_MESSAGE],
        traceback="".join(traceback.format_exception(error))[-_LONGEST_TRACEBACK:],
    )


class DaemonThread:
    """Runs one function after another off the event loop; never keeps the program from ending."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[..., Any], Any] | None]
        self._jobs = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def run(self, function: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """What the function returns or raises, to be awaited."""
        future: Future[Any] = Future()
        self._jobs.put((future, function, args))
        return asyncio.wrap_future(future)

    def stop(self) -> None:
        """End the thread after what it was given so far."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, function, args = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function(*args))
            except BaseException as error:  # noqa: BLE001 - handed on to who awaits it
                future.set_exception(error)


class ThreadWorker:
    """A judge in a thread of this process: Playwright must not run in the event loop's thread.

    A judge that hangs cannot be stopped here, only left behind.
    """

    def __init__(self, make_judge: MakeJudge) -> None:
        self._make_judge = make_judge
        self._judge: Any = None
        self._thread = DaemonThread("uiproof judge")
        self._busy = self._ended = False

    async def start(self) -> None:
        """See `Worker`."""
        await self._thread.run(self._make)

    async def call(self, stage: Stage, *args: Any) -> Any:
        """See `Worker`."""
        self._busy = True  # here and not in the thread: `end` may come before that has begun
        return await self._thread.run(self._perform, stage, *args)

    async def end(self) -> None:
        """See `Worker`."""
        if self._ended:
            return
        self._ended = True
        closing = self._thread.run(self._close)
        self._thread.stop()
        # A busy thread closes its judge when it gets to it; nobody waits for that.
        await asyncio.wait([closing], timeout=_ABANDON_SECONDS if self._busy else _CLOSE_SECONDS)

    def _make(self) -> None:
        try:
            self._judge = self._make_judge()
        except Exception as error:
            raise as_error(error) from error

    def _perform(self, stage: Stage, *args: Any) -> Any:
        try:
            return perform(self._judge, stage, *args)
        finally:
            self._busy = False

    def _close(self) -> None:
        try:
            if self._judge is not None:
                self._judge.close()
        except Exception:  # whatever its libraries raise: a run must not fail at its very end
            logging.getLogger(__name__).exception("A judge could not be closed.")
