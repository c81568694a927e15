"""Runs inside somebody else's event loop, such as that of a notebook."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from uiproof.engine.progress import Progress

Result = TypeVar("Result")


def call_anywhere(call: Callable[..., Result], progress: Progress) -> Result:
    """`call(progress=...)` here, or in a thread of its own where an event loop runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return call(progress=progress)
    return _in_thread(call, progress)


def _in_thread(call: Callable[..., Result], progress: Progress) -> Result:
    """Call where no event loop runs; Ctrl-C, which only this thread gets, ends the run cleanly."""
    stoppable = _Stoppable(progress)
    with _plain_ctrl_c(), ThreadPoolExecutor(1, "uiproof run") as threads:
        running = threads.submit(call, progress=stoppable)
        try:
            return running.result()
        except KeyboardInterrupt:
            stoppable.cancel()
            raise


@contextmanager
def _plain_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C interrupt at once: `asyncio.run` would only note it for when its loop goes on."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Stoppable(Progress):
    """Passes progress on, and learns from its start which task another thread has to cancel."""

    def __init__(self, shown: Progress) -> None:
        self._shown, self._cancelled = shown, False
        self._task: asyncio.Task[Any] | None = None

    def start(self, *, total: int | None, done: int, failed: int) -> None:
        self._task = asyncio.current_task()
        self._shown.start(total=total, done=done, failed=failed)
        if self._cancelled:
            self.cancel()

    def advance(self, *, failed: bool) -> None:
        self._shown.advance(failed=failed)

    def stop(self) -> None:
        self._shown.stop()

    def cancel(self) -> None:
        """End the run as Ctrl-C does where the run is in the main thread."""
        self._cancelled = True
        if self._task is not None:
            with suppress(RuntimeError):  # the run has just ended by itself
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
