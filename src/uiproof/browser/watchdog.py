"""Ends a browser that takes too long or too much memory, whatever it is doing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from uiproof.proctree import Brood, kill_tree, resident_mb

_EVERY_SECONDS = 0.25


class Watchdog:
    """Watches one browser from a thread of its own.

    - within `limit(seconds)` the browser is ended when the time is up, so that nothing that waits
      for it waits forever; `timed_out` says that this happened
    - a process of the browser that holds more than `memory_mb` is ended; its page crashes
    """

    def __init__(self, pid: int, memory_mb: int) -> None:
        self._pid = pid
        self._memory_mb = memory_mb
        self._deadline: float | None = None
        self._stopped = threading.Event()
        self.timed_out = False
        threading.Thread(target=self._watch, name="browser-watchdog", daemon=True).start()

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Give the browser so long for what happens inside, or less if an outer limit says so."""
        outer = self._deadline
        deadline = time.monotonic() + seconds
        self._deadline = deadline if outer is None else min(outer, deadline)
        try:
            yield
        finally:
            self._deadline = outer

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()

    def _watch(self) -> None:
        browser = Brood(self._pid)
        while not self._stopped.wait(_EVERY_SECONDS):
            deadline = self._deadline
            if deadline is not None and time.monotonic() > deadline:
                self.timed_out = True
                kill_tree(self._pid)
                return
            for pid in browser.members():
                if resident_mb(pid) > self._memory_mb:
                    kill_tree(pid)
