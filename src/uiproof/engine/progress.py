"""The progress of a run: a bar on a terminal, lines in a log, or nothing."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

if TYPE_CHECKING:
    import rich.progress


_LINE_SECONDS = 5.0
LABEL: ContextVar[str] = ContextVar("label", default="")  # such as `run 2 of 3`


class Progress:
    """Progress that shows nothing; the base of the others."""

    def start(self, *, total: int | None, done: int, failed: int) -> None:
        """Begin, with this many cases finished already; the total may be unknown."""

    def advance(self, *, failed: bool) -> None:
        """Count one more finished case."""

    def stop(self) -> None:
        """End, however the run ended."""


def make_progress(quiet: bool = False, stream: TextIO | None = None) -> Progress:
    """Return a bar for a terminal, lines for a pipe or file."""
    stream = stream or sys.stderr
    if quiet:
        return Progress()
    label = LABEL.get()
    return Bar(stream, label) if stream.isatty() else Lines(stream, label=label)


class Lines(Progress):
    """A plain line every few seconds and one at the end."""

    def __init__(self, stream: TextIO, every: float = _LINE_SECONDS, label: str = "") -> None:
        self._stream, self._every, self._label = stream, every, label

    def start(self, *, total: int | None, done: int, failed: int) -> None:
        """See `Progress`."""
        self._total, self._done, self._failed = total, done, failed
        self._done_before = done
        self._began = self._said = time.monotonic()
        self._news = True

    def advance(self, *, failed: bool) -> None:
        """See `Progress`."""
        self._news = True
        self._done += 1
        self._failed += failed
        if time.monotonic() - self._said >= self._every:
            self._say()

    def stop(self) -> None:
        """See `Progress`."""
        if self._news:
            self._say()

    def _say(self) -> None:
        self._news = False
        self._said = time.monotonic()
        seconds = max(self._said - self._began, 1e-9)
        rate = (self._done - self._done_before) / seconds
        parts = [f"{self._done}/{self._total}" if self._total else str(self._done)]
        parts += [f"{self._failed} failed"] if self._failed else []
        if rate:
            parts.append(f"{rate:.2f}/s")
            if self._total and self._total > self._done:
                parts.append(f"{_clock((self._total - self._done) / rate)} left")
        label = f"{self._label}: " if self._label else ""
        self._stream.write(f"uiproof: {label}{', '.join(parts)}\n")
        self._stream.flush()


class Bar(Progress):
    """A bar with counts, rate and time left."""

    def __init__(self, stream: TextIO, label: str = "") -> None:
        self._stream, self._label = stream, label
        self._bar: rich.progress.Progress | None = None

    def start(self, *, total: int | None, done: int, failed: int) -> None:
        """See `Progress`."""
        from rich import progress as parts
        from rich.console import Console

        self._failed, self._finished, self._began = failed, 0, time.monotonic()
        self._bar = parts.Progress(
            *([parts.TextColumn(self._label)] if self._label else []),
            parts.BarColumn(),
            parts.MofNCompleteColumn(),
            parts.TextColumn("[red]{task.fields[failed]}[/red]{task.fields[rate]}"),
            parts.TimeElapsedColumn(),
            parts.TimeRemainingColumn(),
            parts.TextColumn("left"),
            console=Console(file=self._stream),
        )
        self._task = self._bar.add_task("", total=total, completed=done, **self._fields())
        self._bar.start()

    def advance(self, *, failed: bool) -> None:
        """See `Progress`."""
        self._failed += failed
        self._finished += 1
        if self._bar is not None:
            self._bar.update(self._task, advance=1, **self._fields())

    def stop(self) -> None:
        """See `Progress`."""
        if self._bar is not None:
            self._bar.stop()

    def _fields(self) -> dict[str, Any]:
        rate = self._finished / max(time.monotonic() - self._began, 1e-9)
        return {
            "failed": f"{self._failed} failed " if self._failed else "",
            "rate": f"{rate:.2f}/s" if self._finished else "",
        }


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


Result = TypeVar("Result")


def call_anywhere(call: Callable[..., Result], progress: Progress) -> Result:
    """Run `call(progress=...)`, in another thread where an event loop runs already.

    There Ctrl-C, which only the main thread gets, ends the run cleanly, too.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return call(progress=progress)
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
    """Let Ctrl-C interrupt at once; the handler of `asyncio.run` waits for its own loop."""
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
    """Pass progress on, and remember the task of the run so that another thread can cancel it."""

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
        """Cancel the run, as Ctrl-C does in the main thread."""
        self._cancelled = True
        if self._task is not None:
            with suppress(RuntimeError):  # the run has just ended by itself
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
