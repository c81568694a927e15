"""Where requests are taken in: a queue with an end, deadlines, and a time to close."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from uiproof.browser.source import PageSource
from uiproof.engine.executors import as_error
from uiproof.engine.types import BrokenCase, Case, Record
from uiproof.errors import InputError, PageTooLargeError, UiproofError
from uiproof.scoring.judge import CACHED
from uiproof.scoring.pool import WarmPool
from uiproof.scoring.references import BenchmarkName, Completion, as_answer, as_case, benchmark_of
from uiproof.serve.datasets import Dataset
from uiproof.serve.metrics import Metrics
from uiproof.serve.schema import InteractionPictures, Item, Result
from uiproof.serve.wording import problem

_LONGEST_COMPLETION = 4_000_000  # finding a page in more takes seconds; no model writes as much
_LONGEST_RETRY = 60  # seconds; nobody knows how fast a queue will be


@dataclass(frozen=True, slots=True)
class Limits:
    """What a service takes on.

    - `queue`: pages that may wait, besides those that are being scored
    - `deadline`: seconds that a page may take, waiting included; also for those that say nothing
    - `body_bytes`: of one request
    - `held_bytes`: of all requests that are not answered yet
    """

    queue: int = 256
    deadline: float = 120.0
    body_bytes: int = 64 * 2**20
    held_bytes: int = 512 * 2**20


class RefusedError(UiproofError):
    """A request that is not carried out."""

    def __init__(self, status: int, code: str, message: str, remedy: str, after: int = 0) -> None:
        super().__init__(message, remedy=remedy)
        self.status, self.code, self.after = status, code, after


@dataclass(frozen=True, slots=True)
class _Order:
    """An item, looked up: ready to be judged, or the reason why it cannot be."""

    id: str | int | None
    benchmark: BenchmarkName
    deadline: float
    case: Case[Any, Any] | None = None
    answer: Any = None
    error: UiproofError | None = None


class Desk:
    """Takes items, has them scored, and knows how busy it is."""

    def __init__(
        self, pool: WarmPool, limits: Limits, datasets: Mapping[str, Dataset], metrics: Metrics
    ) -> None:
        self.limits, self.metrics = limits, metrics
        self.warm = self.draining = False
        self.pending = 0  # items that were taken and are not answered
        self._pool, self._datasets = pool, datasets
        self.capacity = limits.queue + pool.workers  # items at once
        self._mean_seconds = 1.0  # of scoring, lately
        self._answering: set[asyncio.Task[Any] | None] = set()

    def check_open(self) -> None:
        """Raise `RefusedError` where nothing can be taken now, whatever it is."""
        if self.draining:
            self.metrics.rejected.labels("draining").inc()
            raise RefusedError(
                503, "draining", "The service is shutting down.", "Ask another one.", after=1
            )
        if self.pending >= self.capacity:
            self.refuse_for_now()

    def look_up(self, items: Sequence[Item]) -> list[_Order]:
        """Look up what items ask for; raises `RefusedError` for names that are not known here.

        May be called from any thread.
        """
        return [self._order(item) for item in items]

    async def answer(self, orders: Sequence[_Order]) -> list[Result]:
        """The results of items, in their order; to cancel gives up their places in the queue."""
        self.check_open()
        if self.pending + len(orders) > self.capacity:
            self.refuse_for_now()
        self.pending += len(orders)
        task = asyncio.current_task()
        self._answering.add(task)
        try:
            async with asyncio.TaskGroup() as tasks:
                made = [tasks.create_task(self._result(order)) for order in orders]
                for one in made:
                    one.add_done_callback(self._count_answered)  # also if it never began
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None  # the first one has stopped the others
        finally:
            self._answering.discard(task)
        return [one.result() for one in made]

    async def drain(self, seconds: float) -> None:
        """Take nothing more; come back when all is answered, or given up after a while."""
        self.draining = True
        until = time.monotonic() + seconds
        while self.pending and time.monotonic() < until:
            await asyncio.sleep(0.05)
        for task in self._answering:
            if task is not None:
                task.cancel()

    def _count_answered(self, _: asyncio.Task[Result]) -> None:
        self.pending -= 1

    def refuse_for_now(self) -> NoReturn:
        """Raise the `RefusedError` that says when to come back."""
        self.metrics.rejected.labels("queue").inc()
        after = math.ceil(self.pending * self._mean_seconds / self._pool.workers)
        raise RefusedError(
            429,
            "queue_full",
            "The queue is full.",
            "Try again after the seconds that the header Retry-After says.",
            after=min(max(after, 1), _LONGEST_RETRY),
        )

    def _order(self, item: Item) -> _Order:
        deadline = self._deadline(item)
        benchmark: BenchmarkName
        try:
            case = self._case(item)
        except PageTooLargeError as error:  # only references that come with the item
            wrong = PageTooLargeError(f"In the reference: {error.message}", remedy=error.remedy)
            return _Order(item.id, "design2code", deadline, error=wrong)
        if isinstance(case, BrokenCase):
            benchmark = self._datasets[item.dataset or ""].benchmark
            return _Order(item.id, benchmark, deadline, error=as_error(case.error))
        benchmark = benchmark_of(case)
        try:
            answer = as_answer(case, _generated(item), item.form)
        except Exception as raised:  # noqa: BLE001 - a page fails by itself, whatever is in it
            return _Order(item.id, benchmark, deadline, case, error=as_error(raised))
        return _Order(item.id, benchmark, deadline, case, answer)

    def _case(self, item: Item) -> Case[Any, Any] | BrokenCase:
        if isinstance(item.reference, InteractionPictures):
            return as_case(item.reference.as_reference(), "request")
        if item.reference is not None:
            return as_case(PageSource.from_html(item.reference), "request")
        dataset = self._datasets.get(item.dataset or "")
        if dataset is None:
            known = ", ".join(self._datasets) or "none: it is started with --dataset NAME=PATH"
            raise RefusedError(
                422,
                "request",
                f"There is no data set {item.dataset!r} here.",
                f"This service has {known}.",
            )
        case = dataset.cases.get(item.case or "")
        if case is None:
            some = ", ".join(list(dataset.cases)[:5])
            raise RefusedError(
                422,
                "request",
                f"The data set {dataset.name!r} has no case {item.case!r}.",
                f"It has {len(dataset.cases)}, such as {some}.",
            )
        if item.benchmark not in (None, dataset.benchmark):
            raise RefusedError(
                422,
                "request",
                f"The data set {dataset.name!r} is one of {dataset.benchmark}.",
                "Leave out `benchmark`, or name that one.",
            )
        return case

    def _deadline(self, item: Item) -> float:
        return min(item.deadline or self.limits.deadline, self.limits.deadline)

    async def _result(self, order: _Order) -> Result:
        came = time.monotonic()
        outcome = "error"
        try:
            async with asyncio.timeout(order.deadline):
                record = await self._record(order)
            outcome = record.status
            return self._told(order, record)
        except TimeoutError:
            outcome = "deadline"
            why = problem(
                "deadline",
                f"There was no score within {order.deadline:g} s.",
                "Ask again later, or allow more time.",
            )
            return Result(
                id=order.id, benchmark=order.benchmark, status="failed", scores=None, error=why
            )
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            self.metrics.requests.labels(order.benchmark, outcome).inc()
            self.metrics.latency.labels(order.benchmark).observe(time.monotonic() - came)

    async def _record(self, order: _Order) -> Record:
        if order.case is None:
            broken = order.error or InputError("The case cannot be loaded.")
            return self._pool.failed(broken, order.benchmark, "", stage="load")
        if order.error is not None:
            return self._pool.failed(order.error, order.benchmark, "", stage="answer")
        return await self._pool.record(order.case, order.answer)

    def _told(self, order: _Order, record: Record) -> Result:
        if (taken := record.seconds.get("score")) is not None:
            self._mean_seconds += 0.05 * (taken - self._mean_seconds)
        if CACHED in record.details:
            result = "hit" if record.details[CACHED] else "miss"
            self.metrics.references.labels(result).inc()
        why = None
        if (error := record.error) is not None:
            # What nobody foresaw is only logged: there, its traceback says more.
            message = str(record.details.get("traceback") or error.message)
            why = problem(error.code, message, error.remedy)
        return Result(
            id=order.id,
            benchmark=order.benchmark,
            status=record.status,
            scores=dict(record.scores),
            error=why,
            flags=list(record.flags),
            seconds=dict(record.seconds),
        )


def _generated(item: Item) -> PageSource | Completion:
    if not item.completion:
        # Not the text itself: that could tell whether there is a file of this name here.
        return PageSource.from_html(item.generated)
    if len(item.generated) > _LONGEST_COMPLETION:
        raise PageTooLargeError(
            f"The completion has more than {_LONGEST_COMPLETION:,} characters.",
            remedy="Send the page itself, without `completion`.",
        )
    return Completion(item.generated)
