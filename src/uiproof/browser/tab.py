"""A browser context of its own with one tab, whose every request is answered by us."""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from uiproof.browser.devtools import BrowserError, NoAnswerError
from uiproof.browser.guard import Guard, Request
from uiproof.browser.page import WORLD, Limits, LivePage, script

if TYPE_CHECKING:
    from uiproof.browser.devtools import DevTools, Parameters, Session
    from uiproof.browser.source import PageSource
    from uiproof.browser.watchdog import Watchdog

_BARS = 80  # pixels
SETTLE_MS = 1_000  # how long the page's own clock runs after loading

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
_WENT_AWAY = re.compile(
    "destroyed|navigated|cannot find context|promise was collected", re.IGNORECASE
)

# The fonts that Chromium has for these words where nobody has chosen others.
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
    "prefers-reduced-motion": "reduce",
    "prefers-contrast": "no-preference",
    "forced-colors": "none",
}


def is_active(source: PageSource) -> bool:
    """Whether a page may do anything by itself; says yes in doubt."""
    plain = source.charset == "utf-8" and b"\0" not in source.html
    if not plain:
        return True
    html = source.html.lower()
    return any(pattern.search(html) for pattern in _ACTIVE)


class Handler(Protocol):
    """Who answers the requests of a page."""

    def handle(self, request: Request) -> None:
        """Answer one request."""


class Tab:
    """One browser context with one tab, which remembers and reaches nothing.

    With scripts it is for a single page. Without scripts nothing in a page can run or remember
    anything, so that the tab can show one page after the other, which saves starting a process
    for each. A `live` tab is for a page that is acted on.
    """

    def __init__(
        self,
        tools: DevTools,
        limits: Limits,
        watchdog: Watchdog,
        *,
        scripts: bool = True,
        live: bool = False,
    ) -> None:
        self.pages_shown = 0
        self.handler: Handler | None = None  # nothing is answered without one
        self.on_record: Callable[[str], None] = lambda _: None
        self.on_load: Callable[[], None] = lambda: None
        self.documents = 0  # how many documents the page was, one after the other
        self._tools = tools
        self._limits = limits
        self._watchdog = watchdog
        self._scripts, self._live = scripts, live
        # Where live pages' records go; no page can guess it.
        self._records = f"https://{token_hex(16)}.invalid/"
        self._document = ""  # the number of the document that is shown
        self._loaded = ""  # the number of the last one that was complete
        self._moves = 0  # how often a document of the page or of a frame was replaced
        browser = tools.browser
        made = browser.send("Target.createBrowserContext", {"disposeOnDetach": True})
        self._context = str(made["browserContextId"])
        refused = {"behavior": "deny", "browserContextId": self._context}
        browser.post("Browser.setDownloadBehavior", refused)
        self._target, self.session = tools.new_tab(self._context, limits.viewport)
        self._listen(self.session)
        self.session.on("Page.frameNavigated", self._note_document)
        self.session.on("Page.loadEventFired", self._note_load)
        width, height = limits.viewport
        # Above the page are the bars of a browser, so that places on the screen are not its own.
        place = {"positionX": 0, "positionY": _BARS}
        screen = {"screenWidth": width, "screenHeight": height + _BARS, **place}
        window = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.session.send_all(
            [
                ("Emulation.setDeviceMetricsOverride", {**window, **screen}),
                ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
                ("Page.setFontFamilies", {"fontFamilies": _FONTS}),
                # No pointer, not even the one that the browser imagines at (0, 0), reaches a page
                # that is only looked at.
                ("Input.setIgnoreInputEvents", {"ignore": not live}),
                *self._rules(),
                ("Runtime.runIfWaitingForDebugger", {}),
            ]
        )

    @property
    def crashed(self) -> bool:
        """Whether nothing can be shown here any more."""
        return self.session.lost is not None

    @property
    def left(self) -> bool:
        """Whether the page became another document, or tried to."""
        refused = isinstance(self.handler, Guard) and self.handler.left
        return refused or self.documents > self.pages_shown

    def show(self, source: PageSource) -> LivePage:
        """Load a page and stop it. Check `LivePage.is_itself` before use."""
        # Pages that share a tab have addresses of their own, so that none gets another's files.
        guard = self.handler = Guard(source, number=None if self._scripts else self.pages_shown)
        self.pages_shown += 1
        page = LivePage(self.session, self._limits, self._watchdog, guard.page_url)
        until = time.monotonic() + self._limits.load_seconds
        try:
            self.load(guard.page_url, until)
            if self._scripts:
                self._settle(until)
        except NoAnswerError:
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
        gone = {"browserContextId": self._context}
        self._tools.browser.send("Target.disposeBrowserContext", gone)

    def load(self, url: str, until: float) -> None:
        """Wait until the page is complete, or has become another one."""
        number = self.navigate(url, until)
        self.session.wait(lambda: self._loaded == number or self._document != number, until=until)

    def navigate(self, url: str, until: float) -> str:
        """Wait until the page has begun; returns the number of its document."""
        begun = self.session.send("Page.navigate", {"url": url}, until=until)
        if failure := begun.get("errorText"):
            raise BrowserError(f"The page cannot be shown: {failure}")
        number = str(begun["loaderId"])
        self.session.wait(lambda: self._document == number, until=until)
        return number

    def _settle(self, until: float) -> None:
        """Let the page's own clock run a while, so that late content is there, always the same.

        A frame that becomes another page takes its clock along; then nothing more is waited for.
        """
        moves = self._moves
        try:
            # The browser makes the page's own world, and runs our first scripts, when it is needed.
            self.session.send("Runtime.evaluate", {"expression": "0"}, until=until)
            world = self.session.send(
                "Page.createIsolatedWorld",
                {"frameId": self._target, "worldName": WORLD},
                until=until,
            )
            asked = self.session.ask(
                "Runtime.evaluate",
                {
                    "expression": f"uiproofClock.settle({SETTLE_MS})",
                    "awaitPromise": True,
                    "contextId": world["executionContextId"],
                },
            )
            self.session.answer(asked, until=until, unless=lambda: self._moves != moves)
        except NoAnswerError:
            raise
        except BrowserError as error:
            if self.crashed or (self._moves == moves and not _WENT_AWAY.search(str(error))):
                raise

    def _rules(self) -> Iterator[tuple[str, Parameters]]:
        """What holds for the page and for every frame that has a process of its own."""
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
        features = [{"name": name, "value": value} for name, value in _MEDIA.items()]
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
        """Yield what runs in every document before its own scripts, and in which world.

        The order matters: our own world listens before the page's speaks to it.
        """
        yield script("clock"), WORLD
        if self._live:
            yield f"({script('observe')})({json.dumps({'records': self._records})})", WORLD
        yield f"({script('steady')})({json.dumps({'live': self._live})})", ""

    def _listen(self, session: Session) -> None:
        session.on("Fetch.requestPaused", lambda event: self._answer(session, event))
        session.on("Target.attachedToTarget", self._adopt)
        session.on("Page.javascriptDialogOpening", lambda _: _dismiss(session))

    def _adopt(self, event: dict[str, Any]) -> None:
        """A frame of the page got a process of its own, and waits for its rules."""
        frame = self._tools.session(event["sessionId"])
        self._listen(frame)
        for rule in self._rules():
            frame.post(*rule)
        frame.post("Runtime.runIfWaitingForDebugger")

    def _answer(self, session: Session, event: dict[str, Any]) -> None:
        request = _Request(session, event, main_frame=self._target)
        if request.url == self._records:
            self.on_record(event["request"].get("postData", ""))
            request.refuse()
        elif self.handler is None:
            request.refuse()
        else:
            self.handler.handle(request)

    def _note_document(self, event: dict[str, Any]) -> None:
        self._moves += 1
        if not event["frame"].get("parentId"):
            self._document = event["frame"]["loaderId"]
            self.documents += 1

    def _note_load(self, _: dict[str, Any]) -> None:
        self._loaded = self._document
        self.on_load()


class _Request:
    """A request that the browser holds back until it is answered."""

    def __init__(self, session: Session, event: dict[str, Any], *, main_frame: str) -> None:
        self.session, self._event = session, event
        self.url: str = event["request"]["url"]
        self.method: str = event["request"]["method"]
        self.is_for_the_page = (
            event["resourceType"] == "Document" and event.get("frameId") == main_frame
        )

    def fulfill(self, body: bytes, headers: Mapping[str, str], status: int = 200) -> None:
        """Answer with content."""
        answer = {**headers, "content-length": str(len(body)), **self._for_other_origins()}
        self.session.post(
            "Fetch.fulfillRequest",
            {
                "requestId": self._event["requestId"],
                "responseCode": status,
                "responseHeaders": [{"name": name, "value": answer[name]} for name in answer],
                "body": b64encode(body).decode(),
            },
        )

    def refuse(self, *, keep_page: bool = False) -> None:
        """Answer with nothing."""
        reason = "Aborted" if keep_page else "Failed"
        refusal = {"requestId": self._event["requestId"], "errorReason": reason}
        self.session.post("Fetch.failRequest", refusal)

    def _for_other_origins(self) -> Mapping[str, str]:
        """Frames in a sandbox have no origin, and yet may use the files of the page."""
        asking = self._event["request"]["headers"]
        origin = asking.get("Origin") or asking.get("origin")
        own = urlsplit(self.url)
        if not origin or origin == f"{own.scheme}://{own.netloc}":
            return {}
        return {"access-control-allow-origin": origin, "access-control-allow-credentials": "true"}


def _dismiss(session: Session) -> None:
    with suppress(BrowserError):
        session.post("Page.handleJavaScriptDialog", {"accept": False})
