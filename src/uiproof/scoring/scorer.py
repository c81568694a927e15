"""Score answers from Python, without files or runs: for notebooks, tests and training loops."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from uiproof.benchmark import Record, Scores
from uiproof.engine.executors import Trace, gather
from uiproof.errors import UsageError
from uiproof.scoring.pool import PAGE_CHECK, Order, WarmPool, find_case, order_for, page_order

if TYPE_CHECKING:
    from uiproof.page_check import PageCheck

Pair = tuple[Any, Any]  # a reference and what was generated
_LONGEST_PATH = 1_000  # longer texts are not paths, and `stat` fails for them
_T = TypeVar("_T")
_lock = threading.Lock()
# By process, as threads do not survive a fork, and by the options of judges.
_shared: dict[tuple[int, str], Scorer] = {}


class Scorer:
    """Warm judges that score generated answers against references.

    ```python
    with Scorer() as scorer:
        scorer.score("<h1>Hello</h1>", "<h1>Hallo</h1>")["paper"]["text"]
        scorer.score(Path("dataset/101/3"), html)["usable"]
        records = scorer.score_many([(reference, html) for html in generated])
    ```

    A reference is a page (a `str` is HTML, a `Path` is a file), a screenshot (`bytes`, or a `Path`
    to a PNG or JPEG), or an interaction: `Path(FOLDER/N)`
    for interaction N of a page's folder, or an `InteractionReference`. A generated page is HTML, a
    file, or a `Completion`. With `benchmark`, references and answers are those of any other
    benchmark, such as the cases of its data sets. Further options are those of the benchmark, such
    as `form="all"` for a page that was made for all interactions of its data set's page. Those of
    judges are given to the scorer itself: `Scorer(viewport=["1280x720", "390x844"], dark=True)`.

    Calls may come from any thread and from inside asyncio and notebooks. Nothing starts before the
    first page; up to `workers` processes do (default: one for each core). They end with `close`,
    with the `with` block or with Python. The same pages always score the same.
    """

    def __init__(
        self,
        *,
        benchmark: str | None = None,
        workers: int | None = None,
        case_timeout: float | None = None,
        **judge_options: Any,
    ) -> None:
        if workers is not None and workers < 1:
            raise UsageError(f"workers is {workers}; it must be at least 1.")
        self._benchmark = benchmark
        self._process = os.getpid()
        self._closed = False
        self._lock = threading.Lock()
        self._pool = WarmPool(
            workers=workers, case_timeout=case_timeout, judge_options=judge_options
        )
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

    def score(self, reference: Any, generated: Any, **options: Any) -> Scores:
        """Return the scores of one answer, as in a run's journal, with its `flags`.

        Raises what goes wrong.
        """
        return self._wait(self._score(reference, generated, options))

    async def score_async(self, reference: Any, generated: Any, **options: Any) -> Scores:
        """Score as `score` does, awaited; others score meanwhile."""
        return await asyncio.wrap_future(self._submit(self._score(reference, generated, options)))

    def score_many(self, pairs: Iterable[Pair], **options: Any) -> list[Record]:
        """Score many pairs of a reference and a generated page at once, in their order.

        Each gives a record with `status`, `scores` and `error`, as in a run's journal. What is
        wrong with one pair is in its record: its scores are those of a failure. Only what is wrong
        with this machine is raised.
        """
        return self._wait(self._score_many(list(pairs), options))

    async def score_many_async(self, pairs: Iterable[Pair], **options: Any) -> list[Record]:
        """Score as `score_many` does, awaited."""
        return await asyncio.wrap_future(self._submit(self._score_many(list(pairs), options)))

    async def record_async(
        self, reference: Any, generated: Any, **options: Any
    ) -> tuple[str, Record]:
        """Return the benchmark and the record of one pair, as `score_many` does, awaited.

        Without a reference (None) the page is checked by itself, and the benchmark is "".
        """
        work = self._named_record(reference, generated, options)
        return await asyncio.wrap_future(self._submit(work))

    def check(self, page: Any, *, weights: Mapping[str, float] | None = None) -> PageCheck:
        """Check a page without a reference; see `check_page`."""
        return self._wait(self._check(page, weights))

    async def check_async(
        self, page: Any, *, weights: Mapping[str, float] | None = None
    ) -> PageCheck:
        """Check as `check` does, awaited."""
        return await asyncio.wrap_future(self._submit(self._check(page, weights)))

    def close(self) -> None:
        """Stop the workers; unfinished answers are not scored."""
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
            future.cancel()  # after Ctrl-C
            raise

    async def _score(self, reference: Any, generated: Any, options: dict[str, Any]) -> Scores:
        order = self._order(reference, generated, options)
        if order.error is not None:
            raise order.error
        score = await self._pool.score(order)
        return Scores(score.scores, score.flags)

    async def _check(self, page: Any, weights: Mapping[str, float] | None) -> PageCheck:
        from uiproof.page_check import Finding, PageCheck, combined

        trace, order = Trace(), _page_order(page)
        if order.error is not None:
            raise order.error
        score = await self._pool.score(order, trace)
        return PageCheck(
            score=combined(score.scores, weights),
            components=score.scores,
            findings=tuple(Finding(**one) for one in score.details["findings"]),
            flags=score.flags,
            seconds=round(trace.seconds["score"], 4),
        )

    async def _score_many(self, pairs: list[Pair], options: dict[str, Any]) -> list[Record]:
        # Files of pages are read when it is nearly their turn.
        window = asyncio.Semaphore(2 * self._pool.workers)

        async def record(number: str, pair: Pair) -> Record:
            async with window:
                try:
                    reference, generated = pair
                except (TypeError, ValueError):
                    benchmark, _ = find_case("", name=self._benchmark)
                    wrong = UsageError("A pair is (reference, generated).")
                    return await self._pool.record(Order(benchmark.name, error=wrong), number)
                order = self._order(reference, generated, options, number)
                return await self._pool.record(order, number)

        return await gather(record(str(number), pair) for number, pair in enumerate(pairs))

    async def _named_record(
        self, reference: Any, generated: Any, options: dict[str, Any]
    ) -> tuple[str, Record]:
        page = reference is None
        order = _page_order(generated) if page else self._order(reference, generated, options)
        return order.benchmark, await self._pool.record(order)

    def _order(
        self, reference: Any, generated: Any, options: dict[str, Any], number: str = ""
    ) -> Order:
        benchmark, case = find_case(reference, number, self._benchmark)
        wrong = _mistaken(reference) or _mistaken(generated)
        return order_for(benchmark, wrong or case, generated, options)


def _page_order(page: Any) -> Order:
    wrong = _mistaken(page)
    return Order(PAGE_CHECK, error=wrong, stage="answer") if wrong else page_order(page)


def score_page(
    reference: str | Path | bytes | Any, generated: str | Path | Any, **judge_options: Any
) -> Scores:
    """Score a generated page against a reference page.

        uiproof.score_page("<h1>Hello</h1>", "<h1>Hallo</h1>")["strict"]["text"]
        uiproof.score_page(Path("reference/1.html"), Path("generated/1.html"))

    A `str` is HTML, a `Path` is a file. The result is a dictionary that also has `flags`, what was
    unusual. The browser stays warm for the next call and ends with
    Python; references that come again are not rendered again. May be called from several threads,
    which score at the same time. `Scorer` says how many workers there are, and what else may be
    compared. Options such as `viewport="390x844"` have separate workers.
    """
    return shared_scorer(judge_options).score(reference, generated)


async def score_page_async(
    reference: str | Path | bytes | Any, generated: str | Path | Any, **judge_options: Any
) -> Scores:
    """Score as `score_page` does, awaited.

    await asyncio.gather(*(uiproof.score_page_async(reference, page) for page in pages))
    """
    return await shared_scorer(judge_options).score_async(reference, generated)


def score_pages(pairs: Iterable[Pair], **judge_options: Any) -> list[Record]:
    """Score many pairs of a reference and a generated page at once, in their order.

        for record in uiproof.score_pages([(reference, page) for page in pages]):
            record.status, record.scores["paper"]["text"], record.error

    What is wrong with one pair is in its record; see `Scorer.score_many`.
    """
    return shared_scorer(judge_options).score_many(pairs)


def check_page(
    page: Any, *, weights: Mapping[str, float] | None = None, **judge_options: Any
) -> PageCheck:
    """Check a page without a reference: does it work, can it be read, does it fit.

        check = uiproof.check_page(Path("page.html"))
        check.score, check.components["legible"]
        for finding in check.findings:
            finding.kind, finding.selector, finding.box, finding.says

    A `str` is HTML, a `Path` is a file, a `Completion` is all that a model wrote. The score is in
    0-1; `docs/rewards.md` defines its components, and `weights` changes how much each of them
    counts. The browser stays warm for the next call.
    """
    return shared_scorer(judge_options).check(page, weights=weights)


def shared_scorer(judge_options: Mapping[str, Any]) -> Scorer:
    """Return the scorer of this process with these options; it stays warm until Python ends."""
    key = os.getpid(), repr(sorted(judge_options.items()))
    with _lock:
        if key not in _shared:
            _shared[key] = Scorer(**judge_options)
        return _shared[key]


def _mistaken(text: Any) -> UsageError | None:
    """Return the error for a text that is the name of a file, which was meant as a path."""
    if isinstance(text, str) and text and "<" not in text and len(text) < _LONGEST_PATH:
        with suppress(OSError, ValueError):
            if Path(text).is_file():
                return UsageError(
                    f"{text!r} names a file, but a str is taken for its content.",
                    remedy="Give a pathlib.Path to score a file.",
                )
    return None
