"""The renderer: hostile HTML in, a frozen page to photograph and measure out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType

from uiproof.browser.devtools import BrowserError
from uiproof.browser.page import Limits, LivePage
from uiproof.browser.running import PipedChromium, PlaywrightChromium
from uiproof.browser.source import PageSource
from uiproof.browser.stage import Stage
from uiproof.browser.tab import Tab, is_active
from uiproof.browser.warm_browser import WarmBrowser
from uiproof.errors import RenderError

_REFRESH = re.compile(rb"http-equiv(?=\s*=\s*[\"']?\s*refresh)", re.IGNORECASE)

# A tab that shows page after page is replaced now and then, so that nothing can pile up in it.
_PAGES_PER_TAB = 100


class Renderer:
    """A warm Chromium that opens pages one after the other, and another one to act on pages.

    Each is started when it is first needed. A page that can run code gets a context of its own,
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
        self._pages = WarmBrowser(PipedChromium, self.limits.memory_mb)
        self._stages = WarmBrowser(PlaywrightChromium, self.limits.memory_mb)
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

    @contextmanager
    def open(self, source: PageSource) -> Iterator[LivePage]:
        """Load a page, stop it, and hand it over; it is gone after the `with` block.

        A page that leaves its document or takes its browser down is tried once more without
        scripts, and flagged.
        """
        page, tab = self._load(source)
        try:
            yield page
        except BrowserError as error:
            raise self._pages.as_render_error(error) from error
        finally:
            self._release(tab)

    @contextmanager
    def stage(self, source: PageSource, viewport: tuple[int, int] | None = None) -> Iterator[Stage]:
        """Load a page into a context of its own, to act on it; it is gone after the `with` block.

        `viewport` is the size of its window, else that of `limits`.
        """
        from playwright.sync_api import Error

        limits = replace(self.limits, viewport=viewport) if viewport else self.limits
        seconds = 2 * limits.load_seconds + limits.step_seconds
        stage: Stage | None = None

        def make() -> Stage:
            chromium, watchdog = self._stages.get()
            with watchdog.limit(seconds):
                return Stage(chromium.browser, limits, watchdog, source)

        try:
            try:
                stage = make()
            except (Error, BrowserError):  # no page is at fault yet: it had died before
                self._stages.end()
                stage = make()
            with stage.watchdog.limit(seconds):
                stage.load()
            yield stage
        except (Error, BrowserError) as error:
            raise self._stages.as_render_error(error) from error
        finally:
            if stage is not None and (watchdog := self._stages.watchdog) is not None:
                try:
                    with watchdog.limit(self.limits.step_seconds):
                        stage.close()
                except Error as error:
                    self._stages.check(error)

    def close(self) -> None:
        """End the browsers. The renderer starts new ones if it is used again."""
        self._still_tab = None
        self._pages.end()
        self._stages.end()

    def _load(self, source: PageSource) -> tuple[LivePage, Tab]:
        active = is_active(source)
        try:
            return self._attempt(source, scripts=active)
        except _LeftDocument:
            flag = "left_document"
        except BrowserError as error:
            flag = self._pages.what_happened(error)
        try:
            page, tab = self._attempt(_inert(source), scripts=False)
        except _LeftDocument as second:
            raise RenderError(
                "The page leaves itself even without scripts.",
                remedy="Look for automatic redirection in it.",
            ) from second
        except BrowserError as second:
            raise self._pages.as_render_error(second) from second
        if active or flag != "crashed":  # else it was the tab, not this page
            page.flags |= {flag, "scripts_off"}
        return page, tab

    def _attempt(self, source: PageSource, *, scripts: bool) -> tuple[LivePage, Tab]:
        """One try at loading a page up to the point where it stands still."""
        chromium, watchdog = self._pages.get()
        with watchdog.limit(2 * self.limits.load_seconds + self.limits.step_seconds):
            tab = None if scripts else self._usable_still_tab()
            if tab is None:
                tab = Tab(chromium.tools, self.limits, watchdog, scripts=scripts)
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

    def _usable_still_tab(self) -> Tab | None:
        """The tab for pages without scripts, unless its browser is gone."""
        tab = self._still_tab
        return None if tab is None or tab.crashed else tab

    def _release(self, tab: Tab) -> None:
        """Keep a tab for the next page or let it go."""
        if tab is not self._still_tab or tab.crashed or tab.pages_shown >= _PAGES_PER_TAB:
            self._discard(tab)

    def _discard(self, tab: Tab) -> None:
        """Close a tab; a browser that cannot even do that is replaced."""
        if tab is self._still_tab:
            self._still_tab = None
        if (watchdog := self._pages.watchdog) is None:
            return
        try:
            with watchdog.limit(self.limits.step_seconds):
                tab.close()
        except BrowserError as error:
            self._pages.check(error)


class _LeftDocument(RenderError):  # noqa: N818 - a private signal
    """The page is no longer the document that was served."""


def _inert(source: PageSource) -> PageSource:
    """The page without automatic refresh, for the attempt without scripts."""
    return replace(source, html=_REFRESH.sub(b"data-was-http-equiv", source.html))
