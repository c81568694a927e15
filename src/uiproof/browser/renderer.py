"""The renderer: hostile HTML in, a frozen page to photograph and measure out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType

from uiproof.browser.devtools import BrowserError
from uiproof.browser.page import Limits, LivePage
from uiproof.browser.source import PageSource
from uiproof.browser.stage import Stage
from uiproof.browser.tab import Tab, is_active
from uiproof.browser.warm_browser import WarmBrowser
from uiproof.errors import RenderError

_REFRESH = re.compile(rb"http-equiv(?=\s*=\s*[\"']?\s*refresh)", re.IGNORECASE)

# A tab that shows page after page is replaced now and then, so that nothing can pile up in it.
_PAGES_PER_TAB = 100


class Renderer:
    """A warm Chromium that opens pages one after the other, to look at them or to act on them.

    It is started when it is first needed. A page that can run code gets a context of its own,
    and a page that cannot (no scripts, no frames) a tab in which scripts are switched off.

    ```python
    with Renderer() as renderer, renderer.open(PageSource.from_file(path)) as page:
        png = page.screenshot()
        page.flags       # what was unusual, for example ("load_timeout",)
    ```

    Not thread-safe: one renderer per thread or process.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._browser = WarmBrowser(self.limits.memory_mb)
        self._still_tab: Tab | None = None

    def __enter__(self) -> Renderer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process of the browser, if one is running."""
        return self._browser.pid

    @contextmanager
    def open(self, source: PageSource) -> Iterator[LivePage]:
        """Load a page, stop it, and hand it over; it is gone after the `with` block.

        A browser that dies or hangs is replaced and the page loaded again. A page that takes two
        browsers down, or that leaves its document, is shown without scripts, and flagged.
        """
        page, tab = self._load(source)
        try:
            yield page
        except BrowserError as error:
            raise self._browser.as_render_error(error) from error
        finally:
            self._release(tab)

    @contextmanager
    def stage(self, source: PageSource, viewport: tuple[int, int] | None = None) -> Iterator[Stage]:
        """Load a page into a context of its own, to act on it; it is gone after the `with` block.

        `viewport` is the size of its window, else that of `limits`. A browser that dies or hangs
        while the page is loaded is replaced once.
        """
        limits = replace(self.limits, viewport=viewport) if viewport else self.limits
        stage: Stage | None = None
        try:
            try:
                stage = self._stage(source, limits)
            except BrowserError:
                # The browser may have died of anything: only a page that does it twice is at fault.
                self._end_browser()
                stage = self._stage(source, limits)
            yield stage
        except BrowserError as error:
            raise self._browser.as_render_error(error) from error
        finally:
            if stage is not None:
                self._close(stage)

    def close(self) -> None:
        """End the browser. The renderer starts a new one if it is used again."""
        self._end_browser()

    def _end_browser(self) -> None:
        self._still_tab = None
        self._browser.end()

    def _stage(self, source: PageSource, limits: Limits) -> Stage:
        browser, watchdog = self._browser.get()
        with watchdog.limit(2 * limits.load_seconds + limits.step_seconds):
            stage = Stage(browser.tools, limits, watchdog, source)
            try:
                stage.load()
            except BaseException:
                self._close(stage)
                raise
        return stage

    def _close(self, shown: Stage | Tab) -> None:
        """Close what a page was shown in; a browser that cannot even do that is replaced."""
        if (watchdog := self._browser.watchdog) is None:
            return
        try:
            with watchdog.limit(self.limits.step_seconds):
                shown.close()
        except BrowserError:
            self._browser.check()

    def _load(self, source: PageSource) -> tuple[LivePage, Tab]:
        active = is_active(source)
        flag = ""
        for _ in range(2):
            try:
                return self._attempt(source, scripts=active)
            except _LeftDocument:
                flag = "left_document"
                break
            except BrowserError:
                # The browser may have died of anything: only a page that does it twice is at fault.
                flag = self._browser.what_happened()
                self._end_browser()
        try:
            page, tab = self._attempt(_inert(source), scripts=False)
        except _LeftDocument as second:
            raise RenderError(
                "The page leaves itself even without scripts.",
                remedy="Look for automatic redirection in it.",
            ) from second
        except BrowserError as second:
            raise self._browser.as_render_error(second) from second
        page.flags |= {flag, "scripts_off"}
        return page, tab

    def _attempt(self, source: PageSource, *, scripts: bool) -> tuple[LivePage, Tab]:
        """One try at loading a page up to the point where it stands still."""
        browser, watchdog = self._browser.get()
        with watchdog.limit(2 * self.limits.load_seconds + self.limits.step_seconds):
            tab = None if scripts else self._usable_still_tab()
            if tab is None:
                tab = Tab(browser.tools, self.limits, watchdog, scripts=scripts)
            if not scripts:
                self._still_tab = tab
            try:
                page = tab.show(source)
                # To go elsewhere before everything is loaded stops the loading, also if refused.
                cut_short = scripts and {"load_timeout", "navigation_blocked"} <= page.flags
                if cut_short or not page.is_itself:
                    raise _LeftDocument("The page replaced its document.")  # noqa: TRY301
            except BrowserError as error:
                # Who asks a document that is just being replaced hears of many errors.
                is_sound = browser.alive and not tab.crashed and not watchdog.timed_out
                self._discard(tab)
                if is_sound and tab.left:
                    raise _LeftDocument("The page replaced its document.") from error
                raise
            except BaseException:
                self._discard(tab)
                raise
        return page, tab

    def _usable_still_tab(self) -> Tab | None:
        """The tab for pages without scripts, unless its browser is gone."""
        tab = self._still_tab
        return None if tab is None or tab.crashed else tab

    def _release(self, tab: Tab) -> None:
        """Keep a tab for the next page or let it go."""
        if tab is not self._still_tab or tab.crashed or tab.pages_shown >= _PAGES_PER_TAB:
            self._discard(tab)

    def _discard(self, tab: Tab) -> None:
        """Close a tab."""
        if tab is self._still_tab:
            self._still_tab = None
        self._close(tab)


class _LeftDocument(RenderError):  # noqa: N818 - a private signal
    """The page is no longer the document that was served."""


def _inert(source: PageSource) -> PageSource:
    """The page without automatic refresh, for the attempt without scripts."""
    return replace(source, html=_REFRESH.sub(b"data-was-http-equiv", source.html))
