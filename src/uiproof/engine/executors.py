"""Pools of workers: judges in a thread, in processes, or on a cluster.

A worker holds one judge and keeps it warm. The pool starts workers as they are needed, gives each
one call at a time and replaces those that die or hang. To run judges somewhere new, write a
`Worker` and name it in `make_pool`.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
import traceback
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from uiproof.benchmark import Judge, Score
from uiproof.errors import (
    BrowserDiedError,
    CaseTimeoutError,
    InternalError,
    MissingDependencyError,
    NodeLostError,
    OutOfMemoryError,
    StorageError,
    UiproofError,
    UsageError,
    WorkerDiedError,
    WorkerStartError,
)
from uiproof.files import storage_fault

Stage = Literal["score", "picture", "differences", "pose"]
Result = TypeVar("Result")
MakeJudge = Callable[[], Judge[Any, Any, Any]]

START_SECONDS = 120.0
_BYTES_PER_WORKER = 1 << 30  # a judge with its browser and models
_ORDER: tuple[Stage, ...] = ("score", "picture", "differences", "pose")  # what goes first
_SAY_ENOUGH = (MissingDependencyError, StorageError, WorkerStartError)  # of a failed start
_MOST_DEATHS, _MOST_LOST_NODES = 1, 4  # after which a case or a start is tried again
_LONGEST_MESSAGE, _LONGEST_TRACEBACK = 2_000, 10_000  # some libraries quote whole pages


def make_pool(
    name: str,
    make_judge: MakeJudge,
    *,
    workers: int | None,
    case_timeout: float,
    log: Path,
    folders: Sequence[Path] = (),
    fingerprint: Callable[[], Mapping[str, Any]] = dict,
    ray_address: str | None = None,
) -> Pool:
    """Return the pool for an executor's name; workers print to `log` in the run's directory.

    Without `workers` there are as many as there is room for. Judges on other machines are given
    the data and predictions in `folders`; what `fingerprint` says must be the same there.
    """
    if name == "inline":
        from uiproof.engine.workers import ThreadWorker

        return Pool(lambda: ThreadWorker(make_judge), workers=1, case_timeout=case_timeout)
    if name == "processes":
        from uiproof.engine.workers import process_workers

        new_worker = process_workers(make_judge, log)
        workers = workers or default_workers()
        return Pool(new_worker, workers=workers, case_timeout=case_timeout)
    if name == "ray":
        from uiproof.engine.ray_pool import ray_pool

        return ray_pool(
            make_judge,
            workers=workers,
            case_timeout=case_timeout,
            log=log,
            folders=folders,
            fingerprint=fingerprint,
            address=ray_address,
        )
    raise UsageError(
        f"There is no executor called {name!r}.", remedy="Use `processes`, `ray` or `inline`."
    )


class Worker(Protocol):
    """A process, thread or actor that keeps one judge warm."""

    async def start(self) -> None:
        """Start and make the judge; raise whatever that raises."""

    async def call(self, stage: Stage, *args: Any) -> Any:
        """Call one stage of the judge; raise `WorkerDiedError` or what `perform` raises."""

    async def end(self) -> None:
        """Stop: close the judge if idle, kill it if busy. Calling it again does nothing."""


@dataclass(slots=True)
class Trace:
    """The attempts and seconds of one case in the pool."""

    seconds: dict[str, float] = field(default_factory=dict)  # by stage, without waiting for a turn
    attempts: int = 1

    def add(self, stage: str, seconds: float) -> None:
        """Add the time spent in a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds


class _Tries:
    """A count of retries after the death of a worker."""

    def __init__(self) -> None:
        self._deaths = self._lost_nodes = 0

    def again_after(self, error: WorkerDiedError) -> bool:
        """Return whether to retry: a page may have killed its worker, or a node went away."""
        if isinstance(error, NodeLostError):
            self._lost_nodes += 1
        else:
            self._deaths += 1
        return self._deaths <= _MOST_DEATHS and self._lost_nodes <= _MOST_LOST_NODES


class Pool:
    """Up to `workers` workers. Scoring goes before posing, so that answers do not pile up.

    A started worker belongs to no case: the next case takes the first that is free. So no
    case waits for room on a cluster while a worker of this pool is idle.
    """

    def __init__(
        self,
        new_worker: Callable[[], Worker],
        *,
        workers: int,
        case_timeout: float,
        start_seconds: float = START_SECONDS,
        why_not: Callable[[], str] = lambda: "It took too long.",
        release: Callable[[], None] = lambda: None,
    ) -> None:
        self.workers = workers
        self._new_worker = new_worker
        self._case_timeout, self._start_seconds = case_timeout, start_seconds
        self._why_not, self._release = why_not, release
        self._alive: set[Worker] = set()
        self._last_alive = time.monotonic()
        self._idle: list[Worker] = []
        self._starting: set[asyncio.Task[None]] = set()
        self._numbers = count()  # first come, first served
        self._waiting: list[tuple[int, int, asyncio.Future[Worker]]] = []  # a heap
        self._broken: UiproofError | None = None  # why no worker can be started

    async def call(self, stage: Stage, *args: Any, trace: Trace | None = None) -> Any:
        """Run one stage of a case on some worker.

        A case whose worker dies is tried once more on another one, then `WorkerDiedError` is
        raised; it is tried more often where whole nodes went away, which no case is to blame for.
        A case that exceeds its time limit raises `CaseTimeoutError`.
        """
        trace = trace or Trace()
        tries = _Tries()
        number = next(self._numbers)
        while True:
            worker = await self._worker(stage, number)
            try:
                return await self._timed(worker, stage, args, trace)
            except WorkerDiedError as error:
                if not tries.again_after(error):
                    raise
                trace.attempts += 1

    async def close(self) -> None:
        """Stop all workers."""
        starting = list(self._starting)
        for task in starting:
            task.cancel()
        await asyncio.gather(*starting, return_exceptions=True)
        await asyncio.gather(*(worker.end() for worker in self._alive))
        self.release()

    def mend(self) -> None:
        """Let the next call try to start a worker, although the last start failed."""
        self._broken = None

    def release(self) -> None:
        """Release what workers were to be started on, such as a cluster."""
        release, self._release = self._release, lambda: None
        release()

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
                self._hand_over(worker)
            else:
                self._alive.discard(worker)
                self._last_alive = time.monotonic()
                await worker.end()
                self._start_workers()

    async def _worker(self, stage: Stage, number: int) -> Worker:
        """Return a worker: one that is idle, or the next that gets free."""
        if self._broken:
            raise self._broken
        if self._idle:
            return self._idle.pop()
        wanted: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (_ORDER.index(stage), number, wanted))
        self._start_workers()
        try:
            return await wanted
        except asyncio.CancelledError:
            if wanted.done() and not wanted.cancelled() and not wanted.exception():
                self._hand_over(wanted.result())  # given and cancelled in the same moment
            raise

    def _next_waiting(self) -> asyncio.Future[Worker] | None:
        while self._waiting:
            _, _, wanted = heappop(self._waiting)
            if not wanted.done():  # else it was cancelled
                return wanted
        return None

    def _hand_over(self, worker: Worker) -> None:
        if wanted := self._next_waiting():
            wanted.set_result(worker)
        else:
            self._idle.append(worker)

    def _start_workers(self) -> None:
        """Start as many workers as calls wait for, within the limit."""
        room = self.workers - len(self._alive)
        while len(self._starting) < min(room, len(self._waiting)):
            task = asyncio.create_task(self._add_worker())
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _add_worker(self) -> None:
        try:
            worker = await self._start_worker()
        except Exception as error:  # noqa: BLE001 - raised in the calls that wait for a worker
            self._broken = as_error(error)
            while wanted := self._next_waiting():
                wanted.set_exception(self._broken)
        else:
            self._alive.add(worker)
            self._hand_over(worker)

    async def _start_worker(self) -> Worker:
        tries = _Tries()
        while True:
            worker = self._new_worker()
            try:
                await self._started(worker)
            except BaseException as error:
                await worker.end()
                if isinstance(error, WorkerDiedError) and tries.again_after(error):
                    continue
                if isinstance(error, (asyncio.CancelledError, *_SAY_ENOUGH)):
                    raise
                raise WorkerStartError(
                    f"No worker could be started. {as_error(error)}",
                    remedy="The inline executor shows more of what is wrong.",
                ) from error
            return worker

    async def _started(self, worker: Worker) -> None:
        """Wait for a start; without a time limit while others work, as a cluster may be full."""
        starting = asyncio.ensure_future(worker.start())
        began = time.monotonic()
        try:
            while not starting.done():
                now = time.monotonic()
                since = now if self._alive else max(began, self._last_alive)
                left = since + self._start_seconds - now
                if left <= 0:
                    raise WorkerStartError(f"No worker could be started. {self._why_not()}")
                await asyncio.wait([starting], timeout=left)
        finally:
            starting.cancel()  # does nothing where it is done
        starting.result()


async def gather(works: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Return the results of all coroutines in order; the first that raises stops the others."""
    try:
        async with asyncio.TaskGroup() as tasks:
            made = [tasks.create_task(work) for work in works]
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    return [task.result() for task in made]


def perform(judge: Judge[Any, Any, Any], stage: Stage, *args: Any) -> Any:
    """Call one stage of a judge; whatever goes wrong becomes a `UiproofError`.

    If the browser dies, try once more with a new one: the machine may be at fault.
    """
    work = getattr(judge, stage)
    try:
        try:
            result = work(*args)
        except BrowserDiedError:
            result = work(*args)
    except (Exception, SystemExit) as error:
        raise as_error(error) from error
    if stage == "score" and not isinstance(result, Score):
        raise InternalError(f"The judge returned {type(result).__name__} in place of a Score.")
    return result


def as_error(error: BaseException) -> UiproofError:
    """Return a `UiproofError` as it is, anything else as an `InternalError`.

    A full or read-only disk behind it always becomes a `StorageError`: no case is to blame.
    """
    if fault := storage_fault(error):
        return fault
    if isinstance(error, UiproofError):
        return error
    if isinstance(error, MemoryError):
        return OutOfMemoryError(
            f"There was not enough memory for the case. {error}".strip()[:_LONGEST_MESSAGE],
            remedy="Use fewer workers, or a machine with more memory.",
        )
    return InternalError(
        f"{type(error).__name__}: {error}"[:_LONGEST_MESSAGE],
        traceback="".join(traceback.format_exception(error))[-_LONGEST_TRACEBACK:],
    )


def default_workers() -> int:
    """Return one worker per usable core, as long as there is a gigabyte for each."""
    return max(1, min(usable_cores(), usable_memory() // _BYTES_PER_WORKER))


def usable_cores() -> int:
    """Return the cores that this process may use, by affinity and container limits."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        cores = os.cpu_count() or 1
    for text in _cgroup_values("cpu.max"):
        quota, period = text.split()
        if quota != "max":
            cores = min(cores, math.ceil(int(quota) / int(period)))
    return max(cores, 1)


def usable_memory() -> int:
    """Return the bytes that are free for this process, by memory and container limits."""
    limits = [int(text) for text in _cgroup_values("memory.max") if text != "max"]
    try:
        meminfo = Path("/proc/meminfo").read_text("ascii")
        available = next(line for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
        limits.append(int(available.split()[1]) * 1024)
    except (OSError, StopIteration):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(limits)


def _cgroup_values(name: str) -> Iterator[str]:
    """Yield the contents of a control file in this process's group and all groups around it."""
    root = Path("/sys/fs/cgroup")
    try:
        lines = Path("/proc/self/cgroup").read_text("utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        if line.startswith("0::/"):
            group = root / line.removeprefix("0::/")
            for folder in (group, *group.parents):
                if folder.is_relative_to(root) and (folder / name).is_file():
                    yield (folder / name).read_text("ascii").strip()
