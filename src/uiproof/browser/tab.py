"""One tab in its own browser context, with every request intercepted."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from uiproof.browser.devtools import BrowserError, NoAnswerError, is_replaced
from uiproof.browser.foreign import MAX_ERRORS
from uiproof.browser.guard import Guard, Request
from uiproof.browser.page import WORLD, Limits, LivePage, script

if TYPE_CHECKING:
    from uiproof.browser.devtools import Parameters, Session
    from uiproof.browser.process import RunningBrowser
    from uiproof.browser.source import PageSource
    from uiproof.web import FrozenWeb

SETTLE_MS = 1_000  # how far the page's clock advances after loading
# The clock advances in steps. Requests made during a step are answered after it, and more steps
# follow, so that the page can use the responses.
STEP_MS = 250
_STEPS_AFTER_ANSWERS = 2
_MOST_STEPS = 8
_MOST_ROUNDS = 20  # in which a page may keep changing while its clock is stopped
_IDLE_SECONDS = 5.0  # to wait for responses that were sent to arrive
_SMALL_WINDOW = (16, 16)
_BARS_HEIGHT = 80  # pixels of browser UI above the page
_TASKBAR_HEIGHT = 40  # pixels of the screen below the browser

# Markup that runs code without input, in the page or in a frame, or that navigates. Handlers of
# input events, such as onclick, never run here. Separate patterns on lower-case text are faster
# than one pattern, because most begin with a literal.
_ACTIVE = tuple(
    re.compile(pattern)
    for pattern in (
        rb"<\s*(?:script|i?frame|frameset|object|embed|applet|portal|fencedframe)\b",
        rb"<(?:noscript|canvas|video|audio)\b",  # rendered differently without scripts
        rb"on(?<=[\s\"'/]on)(?!(?:(?:dbl|aux)?click|mouse|key|touch|pointer|submit|change|input|drag"
        rb"|drop|select|contextmenu|wheel|copy|cut|paste|reset|blur)[a-z]*\s*=)[a-z]+\s*=",
        rb"http-equiv\s*=\s*[\"']?\s*refresh",
        rb"shadowroot",
    )
)

# Chromium's defaults for the generic font families.
_FONTS = {
    "standard": "Times New Roman",
    "fixed": "Monospace",
    "serif": "Times New Roman",
    "sansSerif": "Arial",
    "cursive": "Comic Sans MS",
    "fantasy": "Impact",
}
_MEDIA = {
    "prefers-color-scheme": "light",
    "prefers-contrast": "no-preference",
    "forced-colors": "none",
}


def is_active(source: PageSource) -> bool:
    """Return whether a page may run code or navigate by itself; true if in doubt."""
    if source.charset != "utf-8" or b"\0" in source.html:
        return True
    html = source.html.lower()
    return any(pattern.search(html) for pattern in _ACTIVE)


def _window(limits: Limits, drawn: tuple[int, int] | None) -> list[tuple[str, Parameters]]:
    """Return the commands that set the window size, and the surface size for larger pictures."""
    width, height = limits.viewport
    # With browser UI above the page, screen and page coordinates differ, as on a desktop.
    window: Parameters = {
        **{"width": width, "height": height, "mobile": False, "deviceScaleFactor": limits.scale},
        **{"screenWidth": width, "screenHeight": height + _BARS_HEIGHT + _TASKBAR_HEIGHT},
        **{"positionX": 0, "positionY": _BARS_HEIGHT},
    }
    if drawn is None:
        return [("Emulation.setDeviceMetricsOverride", window)]
    size = {"width": drawn[0], "height": drawn[1]}
    window |= {"dontSetVisibleSize": True, "viewport": {"x": 0, "y": 0, **size, "scale": 1}}
    return [
        ("Emulation.setDeviceMetricsOverride", window),
        ("Emulation.setVisibleSize", size),
    ]


class Tab:
    """A tab in its own browser context, which stores nothing and reaches no network.

    A tab with scripts is for a single page. Without scripts, a page can neither run nor store
    anything, so the tab is reused, which saves starting a process for each page. A `live` tab is
    for a page on a stage.
    """

    def __init__(
        self,
        browser: RunningBrowser,
        limits: Limits,
        web: FrozenWeb | None = None,
        *,
        scripts: bool = True,
        live: bool = False,
    ) -> None:
        self.pages_shown = 0
        self.handler: Callable[[Request], None] = Request.refuse  # called for every request
        self.on_record: Callable[[str], None] = lambda _: None
        self.on_load: Callable[[], None] = lambda: None
        self.documents = 0  # documents shown so far
        self._tools, self._watchdog = browser.tools, browser.watchdog
        self._drawn: tuple[int, int] | None = None  # the surface size, if not that of the window
        self._limits, self._web = limits, web
        self._scripts, self._live = scripts, live
        self._held: list[Request] | None = None  # requests held until the clock has stopped
        self._guard: Guard | None = None
        # The URL to which our script in a live page sends its records; the page cannot guess it.
        self._records = f"https://{token_hex(16)}.invalid/"
        self._document = ""  # id of the document that is shown
        self._loaded = ""  # id of the document that loaded last
        self._frames: list[Session] = []  # out-of-process frames
        self._moves = 0  # number of times that a document of the page or a frame was replaced
        made = self._tools.browser.send("Target.createBrowserContext", {"disposeOnDetach": True})
        self._context = {"browserContextId": str(made["browserContextId"])}
        no_downloads = {"behavior": "deny", **self._context}
        self._tools.browser.post("Browser.setDownloadBehavior", no_downloads)
        # Every frame is also drawn to the window, so a small window is cheaper. Only scripts can
        # see its size.
        window = limits.viewport if scripts or live else _SMALL_WINDOW
        self._target, self.session = self._tools.new_tab(self._context["browserContextId"], window)
        self._listen(self.session)
        self.session.on("Page.frameNavigated", self._note_document)
        self.session.on("Page.loadEventFired", self._note_load)
        self.session.send_all(
            [
                *_window(limits, None),
                ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
                ("Page.setFontFamilies", {"fontFamilies": _FONTS}),
                # The browser itself sends pointer events at (0, 0), which must not reach the page.
                ("Input.setIgnoreInputEvents", {"ignore": not live}),
                *self._rules(),
                ("Runtime.runIfWaitingForDebugger", {}),
            ]
        )

    @property
    def crashed(self) -> bool:
        """Return whether the tab is gone."""
        return self.session.lost is not None

    @property
    def left(self) -> bool:
        """Return whether the page navigated away, or tried to."""
        refused = self._guard is not None and self._guard.left
        return refused or self.documents > self.pages_shown

    def show(self, source: PageSource) -> LivePage:
        """Load a page and freeze it; check `LivePage.is_itself` before use."""
        guard = Guard(source, self._web, number=None if self._scripts else self.pages_shown)
        self._guard, self.handler = guard, guard.handle
        self.pages_shown += 1
        self._draw(None)
        page = LivePage(self.session, self._limits, self._watchdog, guard.page_url, draw=self._draw)
        until = time.monotonic() + self._limits.load_seconds
        try:
            self.load(guard.page_url, until)
            if self._scripts:
                self._settle(guard, until)
        except NoAnswerError:
            page.flags.add("load_timeout")
            page.stop_scripts()
        page.freeze(scripts_running=self._scripts, pictures=len(guard.pictures))
        page.flags |= guard.flags()
        page.web = guard.log
        return page

    def _draw(self, size: tuple[int, int] | None) -> None:
        """Keep a drawing surface of this size, or that of the window; the layout does not change.

        Otherwise the browser would allocate a surface for every picture larger than the window.
        """
        if self._limits.scale == 1 and size != self._drawn:
            self._drawn = size
            with self._watchdog.limit(self._limits.step_seconds):
                self.session.send_all(_window(self._limits, size))

    def close(self) -> None:
        """Close the tab and delete its context."""
        self._tools.browser.send("Target.disposeBrowserContext", self._context)

    def load(self, url: str, until: float) -> None:
        """Navigate, and wait until the page has loaded or was replaced."""
        document = self.navigate(url, until)
        self.session.wait(
            lambda: self._loaded == document or self._document != document, until=until
        )

    def navigate(self, url: str, until: float) -> str:
        """Navigate, wait until the page begins to load, and return the id of its document."""
        begun = self.session.send("Page.navigate", {"url": url}, until=until)
        if failure := begun.get("errorText"):
            raise BrowserError(f"The page cannot be loaded: {failure}")
        document = str(begun["loaderId"])
        self.session.wait(lambda: self._document == document, until=until)
        return document

    @contextmanager
    def clock_moving(self) -> Iterator[None]:
        """Hold responses while the page's clock moves, so that they arrive at a fixed time.

        A synchronous request blocks its script: it is answered once the browser goes silent.
        """
        self._held = []
        self._tools.on_silence = self._answer_held
        try:
            yield
        finally:
            self._tools.on_silence = None
            self._answer_held()
            self._held = None

    def _answer_held(self) -> None:
        while self._held:
            self.handler(self._held.pop(0))

    def wait_for_requests(self, until: float) -> bool:
        """Wait until no request is in flight; return whether there were any.

        Requests whose end is never reported are dropped after some seconds.
        """
        sessions = (self.session, *self._frames)
        if not any(one.in_flight for one in sessions):
            return False
        until = min(until, time.monotonic() + _IDLE_SECONDS)
        try:
            self.session.wait(lambda: not any(one.in_flight for one in sessions), until=until)
        except NoAnswerError:
            for one in sessions:
                one.in_flight.clear()
        return True

    def uncaught_errors(self, until: float) -> list[str]:
        """Return the errors of the page so far, including those muted for its own scripts.

        The browser reports recorded errors when `Runtime` is enabled. A page could detect that, so
        it is disabled again at once.
        """
        found: list[str] = []

        def note(event: dict[str, Any]) -> None:
            details = event["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details.get("text", "")
            if len(found) < MAX_ERRORS:
                found.append(str(text).partition("\n    at ")[0])

        self.session.on("Runtime.exceptionThrown", note)
        try:
            self.session.send("Runtime.enable", until=until)
        finally:
            self.session.post("Runtime.disable")
            del self.session.listeners["Runtime.exceptionThrown"]
        return found

    def _settle(self, guard: Guard, until: float) -> None:
        """Advance the page's clock, so that late content appears deterministically.

        A replaced frame takes its clock with it, which ends the wait.
        """
        moves = self._moves
        try:
            # Evaluating makes the browser create the main world, in which our init scripts run.
            self.session.send("Runtime.evaluate", {"expression": "0"}, until=until)
            made = self.session.send(
                "Page.createIsolatedWorld",
                {"frameId": self._target, "worldName": WORLD},
                until=until,
            )

            def ask(call: str) -> Any:
                asked = self.session.ask(
                    "Runtime.evaluate",
                    {
                        "expression": f"uiproofClock.{call}",
                        "awaitPromise": True,
                        "returnByValue": True,
                        "contextId": made["executionContextId"],
                    },
                )
                answer = self.session.answer(asked, until=until, unless=is_replaced_now)
                return answer.get("result", {}).get("value")

            def is_replaced_now() -> bool:
                return self._moves != moves

            self._rest(ask, until)
            done, last = 0, SETTLE_MS // STEP_MS
            while done < last and not is_replaced_now():
                done += 1
                with self.clock_moving():
                    ask(f"advance({STEP_MS})")
                if self.wait_for_requests(until):
                    self._rest(ask, until)
                    last = min(max(last, done + _STEPS_AFTER_ANSWERS), _MOST_STEPS)
            self._rest(ask, until)
            for text, uncaught in ask("errors()") or ():
                guard.log.add_error(str(text), uncaught=bool(uncaught))
            if guard.log.is_muted:
                guard.log.unmute(self.uncaught_errors(until))
        except NoAnswerError:
            raise
        except BrowserError as error:
            if self.crashed or (self._moves == moves and not is_replaced(error)):
                raise

    def _rest(self, ask: Callable[[str], Any], until: float) -> None:
        """Wait until the page is drawn and no longer changes while its clock is stopped."""
        for _ in range(_MOST_ROUNDS):
            changed = ask("rest()")
            if not self.wait_for_requests(until) and not changed:
                return

    def _rules(self) -> Iterator[tuple[str, Parameters]]:
        """Yield the setup commands of the page and of every out-of-process frame."""
        yield "Page.enable", {}
        yield "Fetch.enable", {"patterns": [{"urlPattern": "*"}]}
        yield "Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}
        yield "Network.setCacheDisabled", {"cacheDisabled": True}
        yield "Network.setBypassServiceWorker", {"bypass": True}
        yield (
            "Network.emulateNetworkConditions",
            {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
        )
        yield "Emulation.setUserAgentOverride", {**self._tools.identity, "acceptLanguage": "en-US"}
        yield "Emulation.setLocaleOverride", {"locale": "en-US"}
        yield "Emulation.setTimezoneOverride", {"timezoneId": "UTC"}
        # Frozen pages do not move anyway; live pages settle sooner with reduced motion.
        media = {**_MEDIA, "prefers-reduced-motion": "reduce" if self._live else "no-preference"}
        if self._limits.dark:
            media["prefers-color-scheme"] = "dark"
        features = [{"name": name, "value": value} for name, value in media.items()]
        yield "Emulation.setEmulatedMedia", {"media": "", "features": features}
        if self._scripts:
            for text, world in self._init_scripts():
                in_world = {"worldName": world} if world else {}
                yield "Page.addScriptToEvaluateOnNewDocument", {"source": text, **in_world}
        else:
            yield "Emulation.setScriptExecutionDisabled", {"value": True}
        frames = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        yield "Target.setAutoAttach", frames

    def _init_scripts(self) -> Iterator[tuple[str, str]]:
        """Yield the scripts that run first in every document, each with its world.

        The order matters: our isolated world must listen before the main world sends to it.
        """
        yield script("clock"), WORLD
        if self._live:
            yield f"({script('observe')})({json.dumps({'records': self._records})})", WORLD
        yield f"({script('steady')})({json.dumps({'live': self._live})})", ""

    def _listen(self, session: Session) -> None:
        session.on("Fetch.requestPaused", lambda event: self._answer(session, event))
        session.on("Target.attachedToTarget", self._set_up_frame)
        dismissal = ("Page.handleJavaScriptDialog", {"accept": False})
        session.on("Page.javascriptDialogOpening", lambda _: session.post(*dismissal))

    def _set_up_frame(self, event: dict[str, Any]) -> None:
        """Set up an out-of-process frame, which is paused until then."""
        frame = self._tools.session(event["sessionId"])
        self._frames.append(frame)
        self._listen(frame)
        for rule in self._rules():
            frame.post(*rule)
        frame.post("Runtime.runIfWaitingForDebugger")

    def _answer(self, session: Session, event: dict[str, Any]) -> None:
        request = Request(session, event, main_frame=self._target)
        if request.url == self._records:
            self.on_record(request.body)
            request.refuse()
        elif self._held is not None:
            self._held.append(request)
        else:
            self.handler(request)

    def _note_document(self, event: dict[str, Any]) -> None:
        self._moves += 1
        if not event["frame"].get("parentId"):
            self._document = event["frame"]["loaderId"]
            self.documents += 1

    def _note_load(self, _: dict[str, Any]) -> None:
        self._loaded = self._document
        self.on_load()
