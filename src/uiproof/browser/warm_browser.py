"""A browser that is kept at hand: started when it is needed, replaced when it died or hung."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from uiproof.browser.chromium import Chromium, find_chromium
from uiproof.browser.running import RunningBrowser
from uiproof.browser.watchdog import Watchdog
from uiproof.errors import BrowserDiedError, PageTimeoutError, RenderError

Browser = TypeVar("Browser", bound=RunningBrowser)


class WarmBrowser(Generic[Browser]):
    """One browser and its watchdog."""

    def __init__(self, start: Callable[[Chromium], Browser], memory_mb: int) -> None:
        self._start, self._memory_mb = start, memory_mb
        self._browser: Browser | None = None
        self._watchdog: Watchdog | None = None
        self._hung = False  # whether the last browser was ended because it took too long

    @property
    def pid(self) -> int | None:
        """The process of the browser, if one is running."""
        return None if self._browser is None else self._browser.pid

    @property
    def watchdog(self) -> Watchdog | None:
        """Who watches the browser, if one is running."""
        return self._watchdog

    def get(self) -> tuple[Browser, Watchdog]:
        """The browser, started or replaced as needed."""
        if self._browser is not None and not self._browser.alive:
            self.end()
        if self._browser is None or self._watchdog is None:
            self._browser = self._start(find_chromium())
            self._watchdog = Watchdog(self._browser.pid, self._memory_mb)
            self._hung = False
        return self._browser, self._watchdog

    def what_happened(self, error: Exception) -> str:
        """A word for an error of the browser; one that died or hung is let go."""
        self.check(error)
        return "timeout" if self._hung else "crashed"

    def check(self, error: Exception) -> None:
        """Let the browser go unless it can still be used after an error."""
        if self._browser is None or self._watchdog is None:
            return
        if self._watchdog.timed_out or not self._browser.survived(error):
            self.end()

    def as_render_error(self, error: Exception) -> RenderError:
        """An error of this package for one of the browser; what is left of the browser goes."""
        if self.what_happened(error) == "timeout":
            return PageTimeoutError(
                "The page took too long.",
                remedy="It may be too large; raise the time limit.",
            )
        return BrowserDiedError(
            f"The browser could not show the page: {_first_line(error)}",
            remedy="Open the page in a browser; it may be too large for this machine.",
        )

    def end(self) -> None:
        """End the browser; the next time a new one is started."""
        watchdog, self._watchdog = self._watchdog, None
        browser, self._browser = self._browser, None
        if watchdog is not None:
            self._hung = watchdog.timed_out
            watchdog.stop()
        if browser is not None:
            browser.close()


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
