"""The renderer: hostile HTML in, a frozen page to photograph and measure out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from playwright.sync_api import Error as PlaywrightError

from uiproof.browser.chromium import RunningChromium, find_chromium
from uiproof.browser.page import Limits, LivePage
from uiproof.browser.source import PageSource
from uiproof.browser.stage import Stage
from uiproof.browser.tab import Tab, is_active
from uiproof.browser.watchdog import Watchdog
from uiproof.errors import BrowserDiedError, PageTimeoutError, RenderError

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

_REFRESH = re.compile(rb"http-equiv(?=\s*=\s*[\"']?\s*refresh)", re.IGNORECASE)

# What Playwright says when the process through which it talks to browsers is gone.
_DRIVER_DIED = re.compile("connection closed", re.IGNORECASE)

# A tab that shows page after page is replaced now and then, so that nothing can pile up in it.
_PAGES_PER_TAB = 100


class Renderer:
    """One warm Chromium that opens pages one after the other.

    A page that can run code gets a context of its own, and a page that cannot (no scripts, no
    frames) a tab in which scripts are switched off.

    ```python
    with Renderer() as renderer, renderer.open(PageSource.from_file(path)) as page:
        png = page.screenshot()
        page.flags       # what was unusual, for example ("load_timeout",)
    ```

    Not thread-safe: one renderer per thread or process.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._playwright: Playwright | None = None
        self._chromium: RunningChromium | None = None
        self._watchdog: Watchdog | None = None
        self._still_tab: Tab | None = None
        self._hung = False  # whether the last browser was ended because it took too long

    def __enter__(self) -> Renderer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def open(self, source: PageSource) -> Iterator[LivePage]:
        """Load a page, stop it, and hand it over; it is gone after the `with` block.

        A page that leaves its document or takes its browser down is tried once more without
        scripts, and flagged.
        """
        page, tab = self._load(source)
        try:
            yield page
        except PlaywrightError as error:
            raise self._as_render_error(error) from error
        finally:
            self._release(tab)

    @contextmanager
    def stage(self, source: PageSource, viewport: tuple[int, int] | None = None) -> Iterator[Stage]:
        """Load a page into a context of its own, to act on it; it is gone after the `with` block.

        `viewport` is the size of its window, else that of `limits`.
        """
        limits = replace(self.limits, viewport=viewport) if viewport else self.limits
        stage: Stage | None = None

        def make() -> Stage:
            chromium, watchdog = self._start()
            with watchdog.limit(2 * limits.load_seconds + limits.step_seconds):
                return Stage(chromium.browser, limits, watchdog, source)

        try:
            try:
                stage = make()
            except PlaywrightError:  # no page is at fault yet: the browser or its driver had died
                self.close()
                stage = make()
            assert self._watchdog is not None
            with self._watchdog.limit(2 * limits.load_seconds + limits.step_seconds):
                stage.load()
            yield stage
        except PlaywrightError as error:
            raise self._as_render_error(error) from error
        finally:
            if stage is not None:
                self._discard(stage)

    def close(self) -> None:
        """End the browser. The renderer starts a new one if it is used again."""
        self._end_browser()
        playwright, self._playwright = self._playwright, None
        if playwright is not None:
            with suppress(PlaywrightError):  # its driver may be dead
                playwright.stop()

    def _load(self, source: PageSource) -> tuple[LivePage, Tab]:
        active = is_active(source)
        try:
            return self._attempt(source, scripts=active)
        except (_LeftDocument, PlaywrightError) as first:
            flag = self._what_happened(first)
        try:
            page, tab = self._attempt_without_scripts(_inert(source))
        except _LeftDocument as second:
            raise RenderError(
                "The page leaves itself even without scripts.",
                remedy="Look for automatic redirection in it.",
            ) from second
        except PlaywrightError as second:
            raise self._as_render_error(second) from second
        if active or flag != "crashed":  # else it was the tab, not this page
            page.flags |= {flag, "scripts_off"}
        return page, tab

    def _attempt(self, source: PageSource, *, scripts: bool) -> tuple[LivePage, Tab]:
        """One try at loading a page up to the point where it stands still."""
        chromium, watchdog = self._start()
        with watchdog.limit(2 * self.limits.load_seconds + self.limits.step_seconds):
            tab = None if scripts else self._still_tab
            if tab is None:
                tab = Tab(chromium.browser, self.limits, watchdog, scripts=scripts)
            if not scripts:
                self._still_tab = tab
            try:
                page = tab.show(source)
                # To go elsewhere before everything is loaded stops the loading, also if refused.
                cut_short = scripts and {"load_timeout", "navigation_blocked"} <= page.flags
                if cut_short or not page.is_itself:
                    raise _LeftDocument("The page replaced its document.")  # noqa: TRY301
            except BaseException:
                self._discard(tab)
                raise
        return page, tab

    def _attempt_without_scripts(self, source: PageSource) -> tuple[LivePage, Tab]:
        """The second try; once more where it shows that Playwright's driver has died before."""
        try:
            return self._attempt(source, scripts=False)
        except PlaywrightError as error:
            if not _DRIVER_DIED.search(str(error)):
                raise
            self.close()
            return self._attempt(source, scripts=False)

    def _as_render_error(self, error: PlaywrightError) -> RenderError:
        """An error of this package for one of the browser; what is left of the browser goes."""
        if self._what_happened(error) == "timeout":
            return PageTimeoutError(
                "The page took too long.",
                remedy="It may be too large; raise the time limit.",
            )
        return BrowserDiedError(
            f"The browser could not show the page: {_first_line(error)}",
            remedy="Open the page in a browser; it may be too large for this machine.",
        )

    def _what_happened(self, error: Exception) -> str:
        """A word for why a page could not be used; a browser that died or hung is let go."""
        if isinstance(error, _LeftDocument):
            return "left_document"
        if _DRIVER_DIED.search(str(error)):
            self.close()
            return "crashed"
        if self._watchdog is not None and (self._watchdog.timed_out or not self._alive()):
            self._end_browser()
        return "timeout" if self._hung else "crashed"

    def _start(self) -> tuple[RunningChromium, Watchdog]:
        """The running browser, started or replaced as needed."""
        if self._chromium is not None and not self._alive():
            self._end_browser()
        if self._chromium is None or self._watchdog is None:
            from playwright.sync_api import sync_playwright

            if self._playwright is None:
                try:
                    self._playwright = sync_playwright().start()
                except PlaywrightError as error:
                    raise RenderError(
                        "A browser cannot be started from this thread: an asyncio loop runs in it, "
                        "or another renderer is open in it.",
                        remedy="Close the other renderer, or use a thread of its own.",
                    ) from error
            self._chromium = RunningChromium(self._playwright, find_chromium())
            self._watchdog = Watchdog(self._chromium.pid, self.limits.memory_mb)
            self._hung = False
        return self._chromium, self._watchdog

    def _alive(self) -> bool:
        return self._chromium is not None and self._chromium.browser.is_connected()

    def _end_browser(self) -> None:
        self._still_tab = None
        if self._watchdog is not None:
            self._hung = self._watchdog.timed_out
            self._watchdog.stop()
            self._watchdog = None
        if self._chromium is not None:
            self._chromium.close()
            self._chromium = None

    def _release(self, tab: Tab) -> None:
        """Keep a tab for the next page or let it go."""
        if tab is not self._still_tab or tab.crashed or tab.pages_shown >= _PAGES_PER_TAB:
            self._discard(tab)

    def _discard(self, tab: Tab | Stage) -> None:
        """Close a tab; a browser that cannot even do that is replaced."""
        if tab is self._still_tab:
            self._still_tab = None
        if self._watchdog is None:
            return
        try:
            with self._watchdog.limit(self.limits.step_seconds):
                tab.close()
        except PlaywrightError:
            if not self._alive():
                self._end_browser()


class _LeftDocument(RenderError):  # noqa: N818 - a private signal
    """The page is no longer the document that was served."""


def _inert(source: PageSource) -> PageSource:
    """The page without automatic refresh, for the attempt without scripts."""
    return replace(source, html=_REFRESH.sub(b"data-was-http-equiv", source.html))


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
