"""Scoring pages from Python, without files or runs: for notebooks, tests and training loops."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Literal, TypeVar

from uiproof.benchmarks.interaction2code.cases import Form
from uiproof.engine.executors import as_error
from uiproof.engine.types import Record
from uiproof.errors import MethodError, UsageError
from uiproof.scoring.pool import WarmPool
from uiproof.scoring.references import Generated, Reference, as_answer, as_case, benchmark_of

Pair = tuple[Reference, Generated]
_T = TypeVar("_T")


class Scorer:
    """Warm browsers that score generated pages against references.

    ```python
    with Scorer() as scorer:
        scorer.score("<h1>Hello</h1>", "<h1>Hallo</h1>")["paper"]["text"]
        scorer.score(Path("dataset/101/3"), html)["usable"]
        records = scorer.score_many([(reference, html) for html in generated])
    ```

    A reference is a page of Design2Code (a `str` is HTML, a `Path` is a file), or an interaction
    of Interaction2Code: `Path(FOLDER/N)` for interaction N of a page's folder, or an
    `InteractionReference`. A generated page is HTML, a file, or a `Completion`. `form` says whether
    it was made for one interaction (`single`) or for all of its data set's page (`all`).

    Calls may come from any thread and from inside asyncio and notebooks. Nothing starts before the
    first page; up to `workers` processes do (default: one for each core). They end with `close`,
    with the `with` block or with Python. The same pages always score the same.
    """

    def __init__(self, *, workers: int | None = None, case_timeout: float | None = None) -> None:
        if workers is not None and workers < 1:
            raise UsageError(f"workers is {workers}; it must be at least 1.")
        self._process = os.getpid()
        self._closed = False
        self._lock = threading.Lock()
        self._pool = WarmPool(workers=workers, case_timeout=case_timeout)
        # A daemon, because executors of the standard library end before exit handlers are called.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="uiproof scorer", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def __enter__(self) -> Scorer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def score(
        self, reference: Reference, generated: Generated, *, form: Form = "single"
    ) -> dict[str, Any]:
        """The scores of a generated page, as in a run's journal; raises what goes wrong."""
        return self._wait(self._score(reference, generated, form))

    async def score_async(
        self, reference: Reference, generated: Generated, *, form: Form = "single"
    ) -> dict[str, Any]:
        """The same, awaited; others score meanwhile."""
        return await asyncio.wrap_future(self._submit(self._score(reference, generated, form)))

    def score_many(self, pairs: Iterable[Pair], *, form: Form = "single") -> list[Record]:
        """Score many pairs of a reference and a generated page at once, in their order.

        Each gives a record with `status`, `scores` and `error`, as in a run's journal. What is
        wrong with one pair is in its record: its scores are those of a failure. Only what is wrong
        with this machine is raised.
        """
        return self._wait(self._score_many(list(pairs), form))

    async def score_many_async(
        self, pairs: Iterable[Pair], *, form: Form = "single"
    ) -> list[Record]:
        """The same, awaited."""
        return await asyncio.wrap_future(self._submit(self._score_many(list(pairs), form)))

    def close(self) -> None:
        """End the workers. What is not finished is not scored."""
        with self._lock:
            if self._closed or os.getpid() != self._process:  # a fork has copied this object
                return
            self._closed = True
        atexit.unregister(self.close)
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()

    async def _end(self) -> None:
        await self._pool.close()

    def _submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        with self._lock:
            if not self._closed and os.getpid() == self._process:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        if self._closed:
            raise UsageError("This scorer was closed.", remedy="Make a new Scorer.")
        raise UsageError(
            "This scorer belongs to another process.", remedy="Make a Scorer in each process."
        )

    def _wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        future = self._submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C: nobody waits for it any more
            raise

    async def _score(
        self, reference: Reference, generated: Generated, form: Form
    ) -> dict[str, Any]:
        case = as_case(reference)
        score = await self._pool.score(case, as_answer(case, generated, form))
        return dict(score.scores)

    async def _score_many(self, pairs: list[Pair], form: Form) -> list[Record]:
        # Files of pages are read when it is nearly their turn.
        window = asyncio.Semaphore(2 * self._pool.workers)

        async def record(number: int, pair: Pair) -> Record:
            async with window:
                return await self._record(str(number), pair, form)

        try:
            async with asyncio.TaskGroup() as tasks:
                made = [
                    tasks.create_task(record(number, pair)) for number, pair in enumerate(pairs)
                ]
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None  # the first one has stopped the others
        return [task.result() for task in made]

    async def _record(self, number: str, pair: Pair, form: Form) -> Record:
        try:
            reference, generated = pair
        except (TypeError, ValueError):
            wrong = UsageError("A pair is (reference, generated).")
            return self._pool.failed(wrong, "design2code", number, stage="load")
        try:
            case = as_case(reference, number)
            answer = as_answer(case, generated, form)
        except Exception as raised:  # noqa: BLE001 - every pair gets its record
            error = as_error(raised)
            stage: Literal["answer", "load"]
            stage = "answer" if isinstance(error, MethodError) else "load"
            return self._pool.failed(error, benchmark_of(reference), number, stage=stage)
        return await self._pool.record(case, answer, number)
