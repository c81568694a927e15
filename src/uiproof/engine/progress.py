"""How a run tells how far it is: a bar on a terminal, lines in a log, or nothing."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import rich.progress

_LINE_SECONDS = 5.0


class Progress:
    """What a run reports to; this one says nothing."""

    def start(self, *, total: int | None, done: int, failed: int) -> None:
        """A run begins, with this many cases finished already; the total may be unknown."""

    def advance(self, *, failed: bool) -> None:
        """One more case is finished."""

    def stop(self) -> None:
        """The run has ended, one way or another."""


def make_progress(quiet: bool = False, stream: TextIO | None = None) -> Progress:
    """The progress that suits where stderr goes."""
    stream = stream or sys.stderr
    if quiet:
        return Progress()
    return Bar(stream) if stream.isatty() else Lines(stream)


class Lines(Progress):
    """A plain line every few seconds and one at the end."""

    def __init__(self, stream: TextIO, every: float = _LINE_SECONDS) -> None:
        self._stream, self._every = stream, every

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
        self._stream.write(f"uiproof: {', '.join(parts)}\n")
        self._stream.flush()


class Bar(Progress):
    """A bar with counts, rate and time left."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: rich.progress.Progress | None = None

    def start(self, *, total: int | None, done: int, failed: int) -> None:
        """See `Progress`."""
        from rich import progress as parts
        from rich.console import Console

        self._failed, self._finished, self._began = failed, 0, time.monotonic()
        self._bar = parts.Progress(
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
