"""A place to show pages in: a context of its own with one tab, whose every request is guarded."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from uiproof.browser.guard import Guard
from uiproof.browser.page import Limits, LivePage, script

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Route

    from uiproof.browser.source import PageSource
    from uiproof.browser.watchdog import Watchdog

SETTLE_MS = 1_000  # how long the page's own clock runs after loading
SETTLED = "uiproof: settled"  # what settle.js says when that is over

# What could run by itself in the page or in a frame of it, or make it another page. Handlers that
# wait for a person (onclick and the like) never run here, so they are not among it.
# Looked for in lower case and one by one: what begins with plain letters is found quickly.
_ACTIVE = tuple(
    re.compile(pattern)
    for pattern in (
        rb"<\s*(?:script|i?frame|frameset|object|embed|applet|portal|fencedframe)\b",
        rb"<(?:noscript|canvas|video|audio)\b",  # browsers show these differently without scripts
        rb"on(?<=[\s\"'/]on)(?!(?:(?:dbl|aux)?click|mouse|key|touch|pointer|submit|change|input|drag"
        rb"|drop|select|contextmenu|wheel|copy|cut|paste|reset|blur)[a-z]*\s*=)[a-z]+\s*=",
        rb"http-equiv\s*=\s*[\"']?\s*refresh",
        rb"shadowroot",
    )
)
# What the browser says when a page became another one while it was asked something.
_WENT_AWAY = re.compile("destroyed|navigated|cannot find context", re.IGNORECASE)


def is_active(source: PageSource) -> bool:
    """Whether a page may do anything by itself; says yes in doubt."""
    plain = source.charset == "utf-8" and b"\0" not in source.html
    if not plain:
        return True
    html = source.html.lower()
    return any(pattern.search(html) for pattern in _ACTIVE)


def new_context(browser: Browser, limits: Limits, *, scripts: bool) -> BrowserContext:
    """A context that remembers nothing, reaches nothing and is the same everywhere."""
    context = browser.new_context(
        viewport={"width": limits.viewport[0], "height": limits.viewport[1]},
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
    context.set_default_timeout(limits.step_seconds * 1000)
    return context


class Tab:
    """One browser context with one tab.

    With scripts it is for a single page. Without scripts nothing in a page can run or remember
    anything, so that the tab can show one page after the other, which saves starting a process
    for each.
    """

    def __init__(
        self, browser: Browser, limits: Limits, watchdog: Watchdog, *, scripts: bool
    ) -> None:
        self.pages_shown = 0
        self.crashed = False
        self._limits = limits
        self._watchdog = watchdog
        self._scripts = scripts
        self._guard: Guard | None = None
        self._context = new_context(browser, limits, scripts=scripts)
        self._context.route("**/*", self._answer)
        if scripts:
            self._context.add_init_script(script("steady"))
        self._tab = self._context.new_page()
        self._tab.on("crash", self._give_up)
        self._cdp = self._context.new_cdp_session(self._tab)

    def show(self, source: PageSource) -> LivePage:
        """Load a page and stop it. Check `LivePage.is_itself` before use."""
        from playwright.sync_api import TimeoutError

        # Pages that share a tab have addresses of their own, so that none gets another's files.
        guard = self._guard = Guard(source, number=self.pages_shown)
        self.pages_shown += 1
        page = LivePage(self._cdp, self._limits, self._watchdog, guard.page_url)
        until = time.monotonic() + self._limits.load_seconds
        try:
            self._tab.goto(guard.page_url, timeout=self._limits.load_seconds * 1000)
            if self._scripts:
                self._settle(page, until)
        except TimeoutError:
            page.flags.add("load_timeout")
            page.stop_scripts()
        page.freeze(scripts_running=self._scripts)
        if guard.left:
            page.flags.add("navigation_blocked")
        if guard.blocked:
            page.flags.add("requests_blocked")
        if guard.missing:
            page.flags.add("files_missing")
        return page

    def close(self) -> None:
        """Close the tab and forget everything that was in it."""
        self._context.close()

    def _give_up(self, _: Page) -> None:
        """End a tab that crashed, so that whoever waits for it hears of it at once."""
        from playwright.sync_api import Error

        self.crashed = True
        with suppress(Error):
            self._context.close()

    def _settle(self, page: LivePage, until: float) -> None:
        """Let the page's own clock run a while, so that late content is there, always the same.

        A timer of the page may hang, so this only ever waits for what the page reports.
        """
        from playwright.sync_api import Error, TimeoutError

        reported: list[str] = []
        self._tab.on("console", lambda message: reported.append(message.text))
        self._tab.on("framenavigated", lambda _frame: reported.append(SETTLED))
        try:
            page.start_clock(SETTLE_MS)
        except Error as error:
            if _WENT_AWAY.search(str(error)):
                return
            if "terminated" in str(error):
                raise TimeoutError("A timer of the page does not end.") from error
            raise
        pause = 1.0
        while SETTLED not in reported:
            if time.monotonic() > until:
                raise TimeoutError("The page's timers run too long.")
            reported.clear()
            self._tab.wait_for_timeout(pause)
            pause = min(pause * 2, 50)

    def _answer(self, route: Route) -> None:
        if self._guard is None:
            route.abort("failed")
        else:
            self._guard.handle(route)
