"""Open untrusted pages in Chromium: frozen, to photograph and measure them, or live on a stage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from uiproof.browser.devtools import BrowserError
from uiproof.browser.page import Limits, LivePage
from uiproof.browser.process import RunningBrowser
from uiproof.browser.source import PageSource
from uiproof.browser.stage import Stage
from uiproof.browser.tab import Tab, is_active
from uiproof.errors import BrowserDiedError, PageTimeoutError, RenderError

if TYPE_CHECKING:
    from uiproof.web import FrozenWeb

_REFRESH = re.compile(rb"http-equiv(?=\s*=\s*[\"']?\s*refresh)", re.IGNORECASE)

_PAGES_PER_TAB = 100  # a reused tab is replaced after this, so that nothing accumulates in it
_MOST_STILL_TABS = 4  # reused tabs, one for each `Limits`


class Renderer:
    """A warm Chromium that opens one page at a time, to look at it or to act on it.

    The browser starts on first use. Requests to other hosts are answered from `web`; without it,
    they are refused. A page that can run code gets a new browser context. A page that cannot (no
    scripts, no frames) is shown in a reused tab with scripts disabled.

    ```python
    with Renderer() as renderer, renderer.open(PageSource.from_file(path)) as page:
        png = page.screenshot()
        page.flags       # what was unusual, for example {"load_timeout"}
    ```

    Not thread-safe: one renderer per thread or process.
    """

    def __init__(self, limits: Limits | None = None, *, web: FrozenWeb | None = None) -> None:
        self.limits = limits or Limits()
        self._web = web
        self._running: RunningBrowser | None = None
        self._hung = False  # whether the last browser was killed because it took too long
        self._still_tabs: dict[Limits, Tab] = {}  # for pages without scripts; last used comes last

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def web_digest(self) -> str:
        """Return the digest of the frozen web."""
        return self._web.digest if self._web else ""

    @property
    def pid(self) -> int | None:
        """Return the process id of the browser, if one is running."""
        return None if self._running is None else self._running.pid

    @contextmanager
    def open(self, source: PageSource, limits: Limits | None = None) -> Iterator[LivePage]:
        """Load and freeze a page; it is closed after the `with` block.

        `limits` overrides those of the renderer. A browser that dies or hangs is replaced and the
        page is loaded again. A page that takes down two browsers, or navigates away, is shown
        without scripts and flagged.
        """
        page, tab = self._load(source, limits or self.limits)
        try:
            yield page
        except BrowserError as error:
            raise self._as_render_error(error) from error
        finally:
            is_worn = tab.crashed or tab.pages_shown >= _PAGES_PER_TAB
            if is_worn or tab not in self._still_tabs.values():
                self._close(tab)

    @contextmanager
    def stage(self, source: PageSource, viewport: tuple[int, int] | None = None) -> Iterator[Stage]:
        """Load a page into a new context, to act on it; it is closed after the `with` block.

        `viewport` overrides that of `limits`. A browser that dies or hangs while the page loads is
        replaced once.
        """
        limits = replace(self.limits, viewport=viewport) if viewport else self.limits
        stage: Stage | None = None
        try:
            try:
                stage = self._stage(source, limits)
            except BrowserError:
                # A browser can die for any reason: blame the page only if it happens twice.
                self.close()
                stage = self._stage(source, limits)
            yield stage
        except BrowserError as error:
            raise self._as_render_error(error) from error
        finally:
            if stage is not None:
                self._close(stage)

    def close(self) -> None:
        """Stop the browser; it starts again if the renderer is used again."""
        self._still_tabs = {}
        browser, self._running = self._running, None
        if browser is not None:
            self._hung = browser.watchdog.timed_out
            browser.close()

    # --- loading

    def _stage(self, source: PageSource, limits: Limits) -> Stage:
        browser = self._browser()
        with browser.watchdog.limit(2 * limits.load_seconds + limits.step_seconds):
            stage = Stage(browser, limits, source, self._web)
            try:
                stage.load()
            except BaseException:
                self._close(stage)
                raise
        return stage

    def _load(self, source: PageSource, limits: Limits) -> tuple[LivePage, Tab]:
        active = is_active(source)
        flag = ""
        for _ in range(2):
            try:
                return self._attempt(source, limits, scripts=active)
            except _LeftDocument:
                flag = "left_document"
                break
            except BrowserError:
                flag = self._failure()
                self.close()
        # Automatic refresh works without scripts, so it has to be removed.
        inert = replace(source, html=_REFRESH.sub(b"data-was-http-equiv", source.html))
        try:
            page, tab = self._attempt(inert, limits, scripts=False)
        except _LeftDocument as second:
            raise RenderError(
                "The page navigates away even without scripts.",
                remedy="Remove automatic redirects from it.",
            ) from second
        except BrowserError as second:
            raise self._as_render_error(second) from second
        page.flags |= {flag, "scripts_off"}
        return page, tab

    def _attempt(
        self, source: PageSource, limits: Limits, *, scripts: bool
    ) -> tuple[LivePage, Tab]:
        """Load and freeze a page, without retrying."""
        browser = self._browser()
        watchdog = browser.watchdog
        with watchdog.limit(2 * limits.load_seconds + limits.step_seconds):
            tab = None if scripts else self._still_tabs.pop(limits, None)
            if tab is None or tab.crashed:
                tab = Tab(browser, limits, self._web, scripts=scripts)
            if not scripts:
                self._still_tabs[limits] = tab
                if len(self._still_tabs) > _MOST_STILL_TABS:
                    self._close(next(iter(self._still_tabs.values())))
            try:
                page = tab.show(source)
                # A navigation before the page has loaded stops the loading even if it is refused.
                cut_short = scripts and {"load_timeout", "navigation_blocked"} <= page.flags
                if cut_short or not page.is_itself:
                    raise _LeftDocument("The page replaced its document.")  # noqa: TRY301
            except BrowserError as error:
                # A document that is being replaced can fail with any error.
                is_sound = browser.alive and not tab.crashed and not watchdog.timed_out
                self._close(tab)
                if is_sound and tab.left:
                    raise _LeftDocument("The page replaced its document.") from error
                raise
            except BaseException:
                self._close(tab)
                raise
        return page, tab

    # --- the browser

    def _browser(self) -> RunningBrowser:
        """Return the running browser; start or replace it if necessary."""
        if self._running is not None and not self._running.alive:
            self.close()
        if self._running is None:
            self._running = RunningBrowser(
                self.limits.memory_mb, self._web.system_fonts if self._web else ()
            )
            self._hung = False
        return self._running

    def _close(self, shown: Stage | Tab) -> None:
        """Close a tab; if that fails, check whether the browser has to be replaced."""
        kept = {limits: tab for limits, tab in self._still_tabs.items() if tab is not shown}
        self._still_tabs = kept
        if self._running is None:
            return
        try:
            with self._running.watchdog.limit(self.limits.step_seconds):
                shown.close()
        except BrowserError:
            self._failure()

    def _failure(self) -> str:
        """Return `timeout` or `crashed` after an error, and close a browser that died or hung."""
        browser = self._running
        if browser is not None and (browser.watchdog.timed_out or not browser.alive):
            self.close()
        return "timeout" if self._hung else "crashed"

    def _as_render_error(self, error: BrowserError) -> RenderError:
        if self._failure() == "timeout":
            return PageTimeoutError(
                "The page took too long.",
                remedy="It may be too large; raise the time limit.",
            )
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return BrowserDiedError(
            f"The browser could not show the page: {lines[0]}",
            remedy="Open the page in a browser; it may be too large for this machine.",
        )


class _LeftDocument(RenderError):  # noqa: N818 - a private signal
    """The page is no longer the served document."""
