"""Scoring pages from Python, without files or runs: for notebooks, tests and training loops."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any

from uiproof.browser.source import PageSource
from uiproof.errors import UsageError

if TYPE_CHECKING:
    from uiproof.benchmarks.design2code.judge import Design2CodeJudge

Page = str | Path
_LONGEST_PATH = 1_000  # longer strings are no paths, and asking the system would be an error


class PageScorer:
    """A warm browser that scores one pair of pages after the other.

    ```python
    with PageScorer() as scorer:
        scorer.score("<h1>Hello</h1>", "<h1>Hallo</h1>")["paper"]["text"]
    ```

    A `str` is HTML, a `Path` is a file. Calls may come from any thread and from inside asyncio;
    they are worked off one by one.
    """

    def __init__(self) -> None:
        # The browser lives in a thread of its own: its interface allows no running event loop. A
        # daemon, because executors of the standard library end before exit handlers are called.
        self._judge: Design2CodeJudge | None = None
        self._tasks: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="page-scorer", daemon=True)
        self._thread.start()

    def __enter__(self) -> PageScorer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def score(self, reference: Page, generated: Page) -> dict[str, Any]:
        """The scores of a generated page: `paper`, `strict` and `human`, as in a run's journal."""
        scores: dict[str, Any] = self._in_thread(lambda: self._score(reference, generated))
        return scores

    def close(self) -> None:
        """End the browser."""
        if self._thread.is_alive():
            self._in_thread(self._close)
            self._tasks.put(None)
            self._thread.join()

    def _in_thread(self, task: Callable[[], Any]) -> Any:
        if not self._thread.is_alive():
            raise UsageError("This scorer was closed.", remedy="Make a new PageScorer.")
        done: Future[Any] = Future()
        self._tasks.put((task, done))
        return done.result()

    def _work(self) -> None:
        while (work := self._tasks.get()) is not None:
            task, done = work
            try:
                done.set_result(task())
            except BaseException as error:  # noqa: BLE001 - it is raised where the caller waits
                done.set_exception(error)

    def _close(self) -> None:
        if self._judge is not None:
            self._judge.close()
            self._judge = None

    def _score(self, reference: Page, generated: Page) -> dict[str, Any]:
        from uiproof.benchmarks.design2code.judge import Design2CodeJudge

        if self._judge is None:
            self._judge = Design2CodeJudge()
        score, _ = self._judge.compare(_source(reference), _source(generated))
        return dict(score.scores)


_lock = threading.Lock()
_shared: PageScorer | None = None


def score_page(reference: Page, generated: Page) -> dict[str, Any]:
    """Score a generated page against a reference page.

        uiproof.score_page("<h1>Hello</h1>", "<h1>Hallo</h1>")["strict"]["text"]
        uiproof.score_page(Path("reference/1.html"), Path("generated/1.html"))

    A `str` is HTML, a `Path` is a file. The browser stays warm for the next call and ends with
    Python; references that come again are not rendered again.
    """
    global _shared
    with _lock:
        if _shared is None:
            _shared = PageScorer()
            atexit.register(_shared.close)
    return _shared.score(reference, generated)


def _source(page: Page) -> PageSource:
    if isinstance(page, Path):
        return PageSource.from_file(page)
    if not isinstance(page, str):
        raise UsageError(f"A page is HTML (str) or a file (Path), not {type(page).__name__}.")
    if page and "<" not in page and len(page) < _LONGEST_PATH and Path(page).is_file():
        raise UsageError(
            f"{page!r} names a file, but a str is taken for HTML.",
            remedy="Give a pathlib.Path to score a file.",
        )
    return PageSource.from_html(page)
