"""A judge in a thread of this process, and threads that never keep a program from ending."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from uiproof.engine.executors import MakeJudge, Stage, as_error, perform

_CLOSE_SECONDS = 5.0  # for a judge to close its browser
_ABANDON_SECONDS = 0.5


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
    """Run a judge in a thread of this process, because it blocks and the event loop must not.

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
