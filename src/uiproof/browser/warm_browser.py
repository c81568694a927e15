"""A browser that is kept at hand: started when it is needed, replaced when it died or hung."""

from __future__ import annotations

from uiproof.browser.chromium import find_chromium
from uiproof.browser.running import RunningBrowser
from uiproof.browser.watchdog import Watchdog
from uiproof.errors import BrowserDiedError, PageTimeoutError, RenderError


class WarmBrowser:
    """One browser and its watchdog."""

    def __init__(self, memory_mb: int) -> None:
        self._memory_mb = memory_mb
        self._browser: RunningBrowser | None = None
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

    def get(self) -> tuple[RunningBrowser, Watchdog]:
        """Return the browser, started or replaced as needed."""
        if self._browser is not None and not self._browser.alive:
            self.end()
        if self._browser is None or self._watchdog is None:
            self._browser = RunningBrowser(find_chromium())
            self._watchdog = Watchdog(self._browser.pid, self._memory_mb)
            self._hung = False
        return self._browser, self._watchdog

    def what_happened(self) -> str:
        """Return a word for an error of the browser; one that died or hung is let go."""
        self.check()
        return "timeout" if self._hung else "crashed"

    def check(self) -> None:
        """Let the browser go unless it can still be used after an error."""
        if self._browser is None or self._watchdog is None:
            return
        if self._watchdog.timed_out or not self._browser.alive:
            self.end()

    def as_render_error(self, error: Exception) -> RenderError:
        """Return an error of this package for one of the browser; what is left of it goes."""
        if self.what_happened() == "timeout":
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
