"""The queue of the service: bounded, with deadlines, drained before the service ends."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from uiproof.benchmark import Benchmark, BrokenCase, Case, Completion
from uiproof.engine.executors import as_error, gather
from uiproof.errors import UsageError
from uiproof.registry import archive_beside, benchmarks, resolve_dataset
from uiproof.scoring.pool import CACHED, Order, WarmPool, find_case, order_for, page_order
from uiproof.serve.middleware import problem
from uiproof.serve.schema import Item, RefusedError, Requests, Result, RewardItem

_SECONDS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300)  # buckets of the latency
_LONGEST_RETRY = 60  # seconds; the speed of a queue is only an estimate


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a service.

    - `queue`: pages that may wait, besides those that are being scored
    - `deadline`: seconds that a page may take, waiting included; the default and the maximum
    - `body_bytes`: of one request
    - `held_bytes`: of all requests that are not answered yet
    """

    queue: int = 256
    deadline: float = 120.0
    body_bytes: int = 64 * 2**20
    held_bytes: int = 512 * 2**20


@dataclass(frozen=True, slots=True)
class Dataset:
    """The cases of one data set by their ids."""

    name: str
    benchmark: Benchmark
    cases: Mapping[str, Case[Any, Any] | BrokenCase]
    web: Path | None = None  # an archive of the web in its folder


def open_datasets(named: Iterable[str]) -> dict[str, Dataset]:
    """Open data sets from `NAME=PATH`, or from the names of data sets that are known here."""
    found: dict[str, Dataset] = {}
    for text in named:
        name, given, path = text.partition("=")
        if not name or name in found:
            raise UsageError(
                f"{text!r} has no name or repeats one.", remedy="Write --dataset NAME=PATH."
            )
        benchmark, folder = resolve_dataset(path if given else name)
        web = archive_beside(folder) if benchmark.shows_pages else None
        cases = {case.id: case for case in benchmark.cases(folder)}
        found[name] = Dataset(name, benchmark, cases, web)
    return found


def archive_of(datasets: Iterable[Dataset]) -> Path | None:
    """Return the archive of the web beside one of the data sets, which all share."""
    found = {one.web.resolve(): one.name for one in datasets if one.web is not None}
    if len(found) > 1:
        raise UsageError(
            f"The data sets {', '.join(found.values())} each have an archive of the web.",
            remedy="Name the one to use with --web, or serve them one by one.",
        )
    return next(iter(found), None)


class ScoreQueue:
    """A bounded queue of items to score."""

    def __init__(
        self, pool: WarmPool, limits: Limits, datasets: Mapping[str, Dataset], metrics: Metrics
    ) -> None:
        self.limits, self.metrics = limits, metrics
        self.warm = self.draining = False
        self.pending = 0  # items that were taken and are not answered
        self.requests = Requests(benchmarks().values())
        self.reward_requests = Requests(benchmarks().values(), RewardItem)
        self._pool, self._datasets = pool, datasets
        self.capacity = limits.queue + pool.workers  # items at once
        self._mean_seconds = 1.0  # of scoring, lately
        self._answering: set[asyncio.Task[Any] | None] = set()

    def check_open(self) -> None:
        """Raise `RefusedError` while nothing is accepted."""
        if self.draining:
            self.metrics.rejected.labels("draining").inc()
            raise RefusedError(
                503, "draining", "The service is shutting down.", "Ask another one.", after=1
            )
        if self.pending >= self.capacity:
            self.refuse_for_now()

    def look_up(self, items: Sequence[Item]) -> list[Order]:
        """Look up what items ask for; raise `RefusedError` for unknown names.

        May be called from any thread.
        """
        return [self._order(item) for item in items]

    async def answer(self, items: Sequence[Item], orders: Sequence[Order]) -> list[Result]:
        """Return the results of items in order; cancelling gives up their places in the queue."""
        self.check_open()
        if self.pending + len(items) > self.capacity:
            self.refuse_for_now()
        left = len(items)
        self.pending += left
        task = asyncio.current_task()
        self._answering.add(task)

        async def answered(item: Item, order: Order) -> Result:
            nonlocal left
            try:
                return await self._result(item, order)
            finally:
                left -= 1
                self.pending -= 1

        try:
            return await gather(map(answered, items, orders))
        finally:
            self.pending -= left  # those that never began
            self._answering.discard(task)

    async def drain(self, seconds: float) -> None:
        """Accept nothing more; return when everything is answered or the time is up."""
        self.draining = True
        until = time.monotonic() + seconds
        while self.pending and time.monotonic() < until:
            await asyncio.sleep(0.05)
        for task in self._answering:
            if task is not None:
                task.cancel()

    def refuse_for_now(self) -> NoReturn:
        """Raise the `RefusedError` that says when to retry."""
        self.metrics.rejected.labels("queue").inc()
        after = math.ceil(self.pending * self._mean_seconds / self._pool.workers)
        raise RefusedError(
            429,
            "queue_full",
            "The queue is full.",
            "Try again after the seconds that the header Retry-After says.",
            after=min(max(after, 1), _LONGEST_RETRY),
        )

    def _order(self, item: Item) -> Order:
        generated = Completion(item.generated) if item.completion else item.generated
        if item.reference is None and item.dataset is None:
            return page_order(generated)
        benchmark, case = self._case(item)
        if isinstance(case, Exception) and item.reference is not None:
            case = as_error(case)
            case.message = f"In the reference: {case.message}"
        return order_for(benchmark, case, generated, self.requests.options(item, benchmark.name))

    def _case(self, item: Item) -> tuple[Benchmark, Case[Any, Any] | Exception]:
        if item.reference is not None:
            try:
                benchmark, case = find_case(item.reference, "request", item.benchmark)
            except UsageError as error:
                raise _wrong(error.message, error.remedy) from error
            if type(case) is UsageError:  # not its kinds, which are about the content
                served = benchmark.served()
                takes = served.takes if served else "no `reference`: name a `dataset` and a `case`"
                raise _wrong(
                    f"benchmark: this `reference` is not one of {benchmark.name}",
                    f"{benchmark.name} takes {takes}.",
                )
            return benchmark, case
        dataset = self._datasets.get(item.dataset or "")
        if dataset is None:
            known = ", ".join(self._datasets) or "none: it is started with --dataset NAME=PATH"
            raise _wrong(f"Unknown data set {item.dataset!r}.", f"This service has {known}.")
        found = dataset.cases.get(item.case or "")
        if found is None:
            some = ", ".join(list(dataset.cases)[:5])
            raise _wrong(
                f"The data set {dataset.name!r} has no case {item.case!r}.",
                f"It has {len(dataset.cases)}, such as {some}.",
            )
        if item.benchmark not in (None, dataset.benchmark.name):
            raise _wrong(
                f"The data set {dataset.name!r} is one of {dataset.benchmark.name}.",
                "Drop `benchmark`, or name that one.",
            )
        return dataset.benchmark, found.error if isinstance(found, BrokenCase) else found

    async def _result(self, item: Item, order: Order) -> Result:
        came = time.monotonic()
        deadline = min(item.deadline or self.limits.deadline, self.limits.deadline)
        outcome = "error"
        try:
            async with asyncio.timeout(deadline):
                record = await self._pool.record(order)
            outcome = record.status
        except TimeoutError:
            outcome = "deadline"
            message = f"There was no score within {deadline:g} s."
            return Result(
                id=item.id,
                benchmark=order.benchmark,
                status="failed",
                scores=None,
                error=problem("deadline", message, "Ask again later, or allow more time."),
            )
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            benchmark = order.benchmark or "page check"
            self.metrics.requests.labels(benchmark, outcome).inc()
            self.metrics.latency.labels(benchmark).observe(time.monotonic() - came)
        if (taken := record.seconds.get("score")) is not None:
            self._mean_seconds += 0.05 * (taken - self._mean_seconds)
        if CACHED in record.details:
            self.metrics.references.labels("hit" if record.details[CACHED] else "miss").inc()
        why = None
        if (error := record.error) is not None:
            # Unexpected errors are only logged, where the traceback says more.
            message = str(record.details.get("traceback") or error.message)
            why = problem(error.code, message, error.remedy)
        return Result(
            id=item.id,
            benchmark=order.benchmark,
            status=record.status,
            scores=dict(record.scores),
            error=why,
            flags=list(record.flags),
            seconds=dict(record.seconds),
        )


def _wrong(message: str, remedy: str) -> RefusedError:
    return RefusedError(422, "request", message, remedy)


class Metrics:
    """Counters of one service, in a separate registry."""

    def __init__(self, pool: WarmPool) -> None:
        self._pool = pool
        self._deaths_counted = 0
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "uiproof_requests",
            "Pages answered; outcome: scored, failed, deadline, cancelled or error.",
            ["benchmark", "outcome"],
            registry=self._registry,
        )
        self.latency = Histogram(
            "uiproof_request_seconds",
            "Seconds from accepting a page to its score, waiting included.",
            ["benchmark"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.rejected = Counter(
            "uiproof_rejected",
            "Requests that were refused; reason: queue, draining, size, token, host, origin or "
            "invalid.",
            ["reason"],
            registry=self._registry,
        )
        self.references = Counter(
            "uiproof_reference_cache",
            "References that were known already (hit) or had to be made (miss).",
            ["result"],
            registry=self._registry,
        )
        self._deaths = Counter(
            "uiproof_worker_deaths",
            "Workers that died or hung and were replaced.",
            registry=self._registry,
        )
        self._gauge("uiproof_queue_length", "Pages that wait for a worker.", lambda: pool.waiting)
        self._gauge("uiproof_in_flight", "Pages that workers score now.", lambda: pool.running)
        self._gauge("uiproof_workers", "Workers of this service.", lambda: pool.workers)

    def text(self) -> bytes:
        """Return everything in the text format of Prometheus."""
        self._deaths.inc(self._pool.deaths - self._deaths_counted)
        self._deaths_counted = self._pool.deaths
        return generate_latest(self._registry)

    def _gauge(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        Gauge(name, help_text, registry=self._registry).set_function(value)
