"""The renderer: hostile HTML in, a frozen page to photograph and measure out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from uiproof.browser.chromium import RunningChromium, find_chromium
from uiproof.browser.guard import PAGE_URL, Guard
from uiproof.browser.page import Limits, LivePage, script
from uiproof.browser.source import PageSource
from uiproof.browser.watchdog import Watchdog
from uiproof.errors import BrowserDiedError, PageTimeoutError, RenderError

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Playwright

# Anything that could run code in the page or in a frame of it.
_ACTIVE_CONTENT = re.compile(
    rb"<\s*(?:script|i?frame|frameset|object|embed|applet|svg|portal|fencedframe)\b"
    rb"|\son[a-z]+\s*=|[\s\"'=]on[a-z]+\s*=|javascript\s*:|http-equiv|shadowroot",
    re.IGNORECASE,
)
_REFRESH = re.compile(rb"http-equiv(?=\s*=\s*[\"']?\s*refresh)", re.IGNORECASE)

FIXED_TIME_MS = 1_735_689_600_000  # 2025-01-01 00:00 UTC, what every page believes it is
SETTLE_MS = 1_000  # how long the page's own clock runs after loading


class Renderer:
    """One warm Chromium that opens pages one after the other, each in a fresh context.

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
        page, context = self._load(source)
        try:
            yield page
        finally:
            self._discard(context)

    def close(self) -> None:
        """End the browser. The renderer starts a new one if it is used again."""
        self._end_browser()
        if self._playwright is not None:
            self._playwright.stop()
            self._playwright = None

    def _load(self, source: PageSource) -> tuple[LivePage, BrowserContext]:
        from playwright.sync_api import Error

        try:
            return self._attempt(source, scripts=True)
        except (_LeftDocument, Error) as first:
            flag = self._what_happened(first)
        try:
            page, context = self._attempt(_inert(source), scripts=False)
        except _LeftDocument as second:
            raise RenderError(
                "The page leaves itself even without scripts.",
                remedy="Look for automatic redirection in it.",
            ) from second
        except Error as second:
            if self._what_happened(second) == "timeout":
                raise PageTimeoutError(
                    "The page took too long, also without its scripts.",
                    remedy="It may be too large; raise the time limit.",
                ) from second
            raise BrowserDiedError(
                f"The browser could not load the page: {_first_line(second)}",
                remedy="Open the page in a browser; it may be too large for this machine.",
            ) from second
        page.flags |= {flag, "scripts_off"}
        return page, context

    def _what_happened(self, error: Exception) -> str:
        """A word for why a page could not be used; a browser that died or hung is let go."""
        if isinstance(error, _LeftDocument):
            return "left_document"
        hung = self._watchdog is not None and self._watchdog.timed_out
        if hung or not self._alive():
            self._end_browser()
        return "timeout" if hung else "crashed"

    def _attempt(self, source: PageSource, *, scripts: bool) -> tuple[LivePage, BrowserContext]:
        """One try at loading a page up to the point where it stands still."""
        chromium, watchdog = self._start()
        with watchdog.limit(self.limits.load_seconds + self.limits.step_seconds):
            context = chromium.browser.new_context(
                viewport={"width": self.limits.viewport[0], "height": self.limits.viewport[1]},
                device_scale_factor=1,
                locale="en-US",
                timezone_id="UTC",
                color_scheme="light",
                reduced_motion="reduce",
                service_workers="block",
                accept_downloads=False,
                java_script_enabled=scripts,
                offline=True,
            )
            try:
                return self._fill(context, source, watchdog, scripts=scripts), context
            except BaseException:
                self._discard(context)
                raise

    def _fill(
        self, context: BrowserContext, source: PageSource, watchdog: Watchdog, *, scripts: bool
    ) -> LivePage:
        """Load a page into a fresh context and stop it."""
        from playwright.sync_api import TimeoutError

        context.set_default_timeout(self.limits.step_seconds * 1000)
        guard = Guard(source)
        context.route("**/*", guard.handle)
        active = scripts and _ACTIVE_CONTENT.search(source.html) is not None
        if active:
            context.add_init_script(script("steady"))
            context.clock.install(time=FIXED_TIME_MS / 1000)
            context.clock.pause_at(FIXED_TIME_MS / 1000)
        tab = context.new_page()
        page = LivePage(tab, self.limits, watchdog)
        try:
            tab.goto(PAGE_URL, timeout=self.limits.load_seconds * 1000)
            if active:
                self._settle(tab)
        except TimeoutError:
            page.flags.add("load_timeout")
            page.stop_scripts()
        page.freeze()
        if guard.left:
            page.flags.add("navigation_blocked")
        if guard.blocked:
            page.flags.add("requests_blocked")
        if not page.shows(PAGE_URL):
            raise _LeftDocument("The page replaced its document.")
        return page

    def _settle(self, tab: Page) -> None:
        """Let the page's own clock run a while, so that late content is there, always the same."""
        from playwright.sync_api import Error, TimeoutError

        try:
            tab.context.clock.run_for(SETTLE_MS)
        except TimeoutError:
            raise
        except Error as error:
            # A page that throws in its own timer stops the clock; that is its own affair.
            if tab.is_closed() or "crash" in str(error).lower():
                raise

    def _start(self) -> tuple[RunningChromium, Watchdog]:
        """The running browser, started or replaced as needed."""
        if self._chromium is not None and not self._alive():
            self._end_browser()
        if self._chromium is None or self._watchdog is None:
            from playwright.sync_api import sync_playwright

            if self._playwright is None:
                self._playwright = sync_playwright().start()
            self._chromium = RunningChromium(self._playwright, find_chromium())
            self._watchdog = Watchdog(self._chromium.pid, self.limits.memory_mb)
        return self._chromium, self._watchdog

    def _alive(self) -> bool:
        return self._chromium is not None and self._chromium.browser.is_connected()

    def _end_browser(self) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None
        if self._chromium is not None:
            self._chromium.close()
            self._chromium = None

    def _discard(self, context: BrowserContext) -> None:
        """Close a page; a browser that cannot even do that is replaced."""
        from playwright.sync_api import Error

        if self._watchdog is None:
            return
        try:
            with self._watchdog.limit(self.limits.step_seconds):
                context.close()
        except Error:
            if not self._alive():
                self._end_browser()


class _LeftDocument(RenderError):  # noqa: N818 - a private signal
    """The page is no longer the document that was served."""


def _inert(source: PageSource) -> PageSource:
    """The page without automatic refresh, for the attempt without scripts."""
    return replace(source, html=_REFRESH.sub(b"data-was-http-equiv", source.html))


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
