"""A live page: act on it with real input events, and observe what changes."""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from uiproof.browser.devtools import BrowserError, NoAnswerError, is_replaced
from uiproof.browser.guard import StageGuard
from uiproof.browser.input import Actor, Keyboard, Mouse
from uiproof.browser.page import MISSING_GLYPHS, Limits, LivePage, missing_glyphs
from uiproof.browser.snapshots import Action, Element, Events, Ink, Snapshot
from uiproof.browser.tab import SETTLE_MS, STEP_MS, Tab
from uiproof.errors import PageTimeoutError
from uiproof.geometry import PixelBox

if TYPE_CHECKING:
    from uiproof.browser.devtools import Session
    from uiproof.browser.foreign import WebLog
    from uiproof.browser.process import RunningBrowser
    from uiproof.browser.source import PageSource
    from uiproof.web import FrozenWeb

MAX_ELEMENTS = 8_000  # in a snapshot

# How far the page's clock advances after an action, in milliseconds: until nothing has happened for
# QUIET_MS, and if nothing has happened at all, until a timer due within LONGEST_WAIT_MS has fired.
QUIET_MS = 500
LONGEST_MS = 3_000
LONGEST_WAIT_MS = 2_000
PRESS_MS = 80  # between pressing and releasing a button

MAX_EVENTS = 50  # of each kind
MAX_EVENT_TEXT = 300  # characters
MAX_HANDLING = 1_000  # elements whose listeners are looked up; each takes a command

# Fields of an element that snapshot.js returns in their final form.
_PLAIN_FIELDS = (
    *("ref", "parent", "tag", "id", "text", "label", "role", "type"),
    *("style", "state", "enabled", "attributes"),
)
# The browser's errors for a script that exceeded its timeout.
_TERMINATED = re.compile("terminated|internal error", re.IGNORECASE)
_BLOCKED_WINDOW = re.compile(r"Blocked opening '(.*)' in a new window")


class Stage:
    """A page whose scripts keep running and that receives real input events.

    ```python
    with Renderer() as renderer, renderer.stage(PageSource.from_file(path)) as stage:
        before = stage.snapshot()
        why_not = stage.act(stage.find("#menu"), Action("click"))
        stage.settle()
        changes(before, stage.snapshot()), stage.events(), stage.screenshot()
    ```

    `flags` are those of `LivePage`, and `busy` for a page that never settles. See
    `docs/rendering.md` for what a page may do here.
    """

    def __init__(
        self,
        browser: RunningBrowser,
        limits: Limits,
        source: PageSource,
        web: FrozenWeb | None = None,
    ) -> None:
        self.flags: set[str] = set()
        self._limits = limits
        self._watchdog = browser.watchdog
        self._guard = StageGuard(source, web)
        self._log = EventLog(self._guard)
        self._last_ref = 0
        self._listeners = _Listeners()
        self._live: LivePage | None = None
        self._shown = 0  # number of the document that `_live` belongs to
        self._painted = 0  # how many pictures of the page have been painted
        self._tab = Tab(browser, limits, web, live=True)
        self._tab.handler = self._guard.handle
        self._tab.on_record = self._log.add_record
        self._tab.on_load = self._note_load
        session = self._tab.session
        self._log.listen_to(session)
        mouse = Mouse(session, lambda: bool(self._evaluate("uiproof.drags()")))
        self._actor = Actor(
            mouse, Keyboard(session), self.run_script, self.settle, self._hold, limits.viewport
        )

    @property
    def web(self) -> WebLog:
        """Return the log of requests to other hosts and of script errors."""
        return self._guard.log

    # --- looking

    def screenshot(self) -> bytes:
        """Return the whole page as PNG, with its hover, focus and scroll state but no caret."""
        if self.run_script("still", {"frames": 1}):
            self.run_script("still", {"frames": 2})  # the compositor may still show an older frame
        self._evaluate("uiproof.posing(true)")
        try:
            page, pictures = self._page(), len(self._guard.pictures)
            if pictures > self._painted:
                self._painted = pictures
                page.repaint()
            return page.screenshot()
        finally:
            self._evaluate("uiproof.posing(false)")

    def snapshot(self) -> Snapshot:
        """Return the visible elements, up to `MAX_ELEMENTS`."""
        snapshot = self._snapshot()
        if missing_glyphs(self.run_script, (element.text for element in snapshot.elements)):
            self.flags.add(MISSING_GLYPHS)
        return snapshot

    def find(self, selector: str) -> Element | None:
        """Return the first match of a CSS selector; an invisible element has no area."""
        return next(iter(self._snapshot(selector=selector).elements), None)

    def at(self, x: float, y: float) -> Element | None:
        """Return the topmost element at a point in page coordinates."""
        return next(iter(self._snapshot(point=[x, y]).elements), None)

    def events(self) -> Events:
        """Return the events since the last call, or since the page loaded."""
        return self._log.take(self._evaluate("uiproof.flush().then(uiproof.take)"))

    def run_script(self, name: str, argument: Any = None) -> Any:
        """Run one of our scripts in the isolated world of the current document."""
        return self._retry(lambda page: page.run_script(name, argument))

    # --- acting

    def reveal(self, element: Element | tuple[float, float]) -> None:
        """Scroll an element into view, as `act` does first.

        Fixed elements move with the window, so call this before taking a screenshot that is to be
        compared with one after the action.
        """
        self._actor.reach(element, "hover")
        self.settle()

    def act(self, element: Element | tuple[float, float], action: Action) -> str | None:
        """Perform an action on an element; call `settle` next.

        Return None if it was performed, or the reason why not: `it is covered by <div …>`.
        """
        with self._watchdog.limit(self._limits.step_seconds):
            return self._actor.act(element, action)

    def settle(self) -> None:
        """Advance the page's clock until nothing more happens, then finish all animations."""
        self._settle(least=QUIET_MS)
        self.flags |= self._guard.flags()

    def close(self) -> None:
        """Close the page and delete its context."""
        self._tab.close()

    # --- loading and clock

    def load(self) -> None:
        """Load the page and let it settle; called once, by the renderer."""
        until = time.monotonic() + self._limits.load_seconds
        self._tab.navigate(self._guard.page_url, until)
        self._wait_for_load()
        self._settle(least=SETTLE_MS)
        if self.web.is_muted:
            self.web.unmute(self._tab.uncaught_errors(until))
        self.flags |= self._guard.flags()
        self._log.take({})
        self._evaluate("uiproof.take()")

    def _settle(self, *, least: int) -> None:
        # Ample, so that the state of a busy page does not depend on the load of the machine.
        until = time.monotonic() + self._limits.step_seconds
        ran = quiet = 0
        something = False
        before = self._activity()
        with self._watchdog.limit(2 * self._limits.step_seconds):
            while ran < LONGEST_MS:
                try:
                    with _endless_as_timeout():
                        with self._tab.clock_moving():
                            due = self._page().evaluate(f"uiproofClock.advance({STEP_MS})")
                        self._tab.wait_for_requests(until)
                        moving = self.run_script("still", {"frames": 2})
                except BrowserError as error:
                    if not is_replaced(error):
                        raise
                    due, moving = None, 1
                self._wait_for_load()
                ran += STEP_MS
                now = self._activity()
                quiet = 0 if moving or now != before else quiet + STEP_MS
                something = something or quiet == 0
                before = now
                expected = not something and due is not None and ran + due <= LONGEST_WAIT_MS
                if ran >= least and quiet >= QUIET_MS and not expected:
                    return
                if time.monotonic() > until:
                    self.flags.add("busy")
                    return

    def _hold(self) -> None:
        """Advance the page's clock by the time between pressing and releasing a button."""
        with _endless_as_timeout():
            self._evaluate(f"uiproofClock.advance({PRESS_MS})")

    def _wait_for_load(self) -> None:
        """Wait for a document that is being loaded."""
        until = time.monotonic() + self._limits.load_seconds
        try:
            self._tab.session.wait(lambda: not self._guard.loading, until=until)
        except NoAnswerError:
            self.flags.add("load_timeout")
            self._guard.loading = False

    def _note_load(self) -> None:
        self._guard.loading = False

    def _activity(self) -> tuple[int, ...]:
        """Return counters that change when anything happens on the page."""
        total = self._evaluate("uiproof.total()")
        return (total, self._guard.answered, self._tab.documents)

    # --- scripts

    def _page(self) -> LivePage:
        """Return the current document."""
        if self._live is None or self._shown != self._tab.documents:
            self._shown = self._tab.documents
            self._listeners = _Listeners()
            self._live = LivePage(
                self._tab.session,
                self._limits,
                self._watchdog,
                self._guard.page_url,
                flags=self.flags,
            )
        self._live.forget_size()
        return self._live

    def _evaluate(self, expression: str) -> Any:
        return self._retry(lambda page: page.evaluate(expression))

    def _retry(self, ask: Callable[[LivePage], Any]) -> Any:
        """Try again if the document was replaced meanwhile."""
        for attempt in range(5):
            try:
                return ask(self._page())
            except BrowserError as error:
                if attempt == 4 or not is_replaced(error):
                    raise
                self._live = None
                self._wait_for_load()
        raise AssertionError("unreachable")

    def _snapshot(self, selector: str | None = None, point: list[float] | None = None) -> Snapshot:
        wanted = {"most": MAX_ELEMENTS, "after": self._last_ref}
        found = self.run_script("snapshot", {**wanted, "selector": selector, "point": point})
        self._last_ref = max(self._last_ref, found["last"])
        # With too many elements to list, there may be too many listeners as well.
        listeners = {} if found["cut"] else self._listeners.by_ref(self._page())
        return Snapshot(
            elements=tuple(_element(one, listeners) for one in found["elements"]),
            size=tuple(found["size"]),
            url=found["url"],
            scroll=tuple(found["scroll"]),
            title=found["title"],
            focus=found["focus"],
            document=self._tab.documents,
            cut=found["cut"],
        )


@contextmanager
def _endless_as_timeout() -> Iterator[None]:
    """Raise `PageTimeoutError` if a timer of the page had to be terminated."""
    try:
        yield
    except BrowserError as error:
        if not _TERMINATED.search(str(error)):
            raise
        raise PageTimeoutError(
            "A timer of the page does not end.", remedy="Look for endless loops."
        ) from error


def _element(found: dict[str, Any], listeners: dict[int, tuple[str, ...]]) -> Element:
    ink = None
    if letters := found["ink"]:
        box = PixelBox(*letters["box"])
        ink = Ink(box, tuple(letters["color"]), letters["opacity"], letters["covered"])
    return Element(
        **{name: found[name] for name in _PLAIN_FIELDS},
        box=PixelBox(*found["box"]),
        color=tuple(found["color"]),
        background=tuple(found["background"]),
        listeners=listeners.get(found["ref"], ()),
        ink=ink,
    )


class EventLog:
    """The dialogs, windows, navigations, errors and downloads of a page since the last `take`."""

    def __init__(self, guard: StageGuard) -> None:
        self._guard = guard
        self._noted: dict[str, list[str]] = defaultdict(list)

    def listen_to(self, session: Session) -> None:
        """Record the events that the browser reports for a tab."""
        session.on("Page.downloadWillBegin", self._add_download)
        session.on("Page.fileChooserOpened", lambda _: self._add("dialogs", "file: "))
        session.on("Log.entryAdded", self._add_refusal)
        choosers = ("Page.setInterceptFileChooserDialog", {"enabled": True})
        with suppress(BrowserError):  # older browsers refuse; then nothing is recorded
            session.send_all([("Log.enable", {}), choosers])

    def add_record(self, text: str) -> None:
        """Add a dialog, window or error that our script in the page reports."""
        try:
            kind, content = map(str, json.loads(text))
        except (ValueError, TypeError, RecursionError):
            return  # not from our script
        if kind == "window":
            self._add("windows", self._guard.short(content))
        elif kind == "error":
            self._add("errors", content.removeprefix("Uncaught ").removeprefix("Error: "))
            self._guard.log.add_error(content, uncaught=True)
        elif kind == "console":
            self._guard.log.add_error(content, uncaught=False)
        else:
            self._add("dialogs", f"{kind}: {content}")

    def take(self, mutations: dict[str, int]) -> Events:
        """Return and clear the events since the last call."""
        noted = {kind: tuple(texts) for kind, texts in self._noted.items()}
        navigations = tuple(self._guard.navigations[:MAX_EVENTS])
        self._noted.clear()
        self._guard.navigations.clear()
        return Events(mutations=mutations, navigations=navigations, **noted)

    def _add_download(self, event: dict[str, Any]) -> None:
        self._add("downloads", self._guard.short(event["url"]))

    def _add_refusal(self, event: dict[str, Any]) -> None:
        """Add a window that the sandbox blocked."""
        if found := _BLOCKED_WINDOW.match(event["entry"].get("text", "")):
            self._add("windows", self._guard.short(found[1]))

    def _add(self, kind: str, text: str) -> None:
        if len(self._noted[kind]) < MAX_EVENTS:
            self._noted[kind].append(text[:MAX_EVENT_TEXT])


class _Listeners:
    """The event listeners of one document, from the browser, so that a page cannot hide any."""

    # Returns our numbers of elements; listeners of a document belong to its root element.
    _REFS = """(...nodes) => nodes.map((node) => {
      const element = node?.nodeType === Node.DOCUMENT_NODE ? node.documentElement : node;
      return element?.nodeType === Node.ELEMENT_NODE ? uiproof.refOf(element) : 0;
    })"""
    _GROUP = "uiproof-listeners"
    _OURS = frozenset({"error", "unhandledrejection"})  # added to the window by steady.js

    def __init__(self) -> None:
        self._refs: dict[int, int] = {}  # the browser's id of a node -> our number, or 0

    def by_ref(self, page: LivePage) -> dict[int, tuple[str, ...]]:
        """Return the events that elements handle; <html> has those of document and window."""
        handled: dict[int, set[str]] = defaultdict(set)
        for one in self._listeners_of(page, "document"):
            handled[one.get("backendNodeId", 0)].add(one["type"])
        unknown = [node for node in handled if node and node not in self._refs][:MAX_HANDLING]
        handles = [page.resolve(node, group=self._GROUP) for node in unknown]
        handles.append(page.handle("document", group=self._GROUP))
        *refs, html = page.call(self._REFS, handles)
        self._refs.update(zip(unknown, refs, strict=True))
        found: dict[int, set[str]] = defaultdict(set)
        for node, types in handled.items():
            found[self._refs.get(node, 0)] |= types
        of_window = self._listeners_of(page, "window")
        found[html] |= {one["type"] for one in of_window} - self._OURS
        page.send("Runtime.releaseObjectGroup", objectGroup=self._GROUP)
        return {ref: tuple(sorted(types)) for ref, types in found.items() if ref and types}

    def _listeners_of(self, page: LivePage, expression: str) -> list[dict[str, Any]]:
        # The browser crashes on handles that are not from the main world.
        handle = page.handle(expression, group=self._GROUP, main=True)
        command = "DOMDebugger.getEventListeners"
        answer = page.send(command, objectId=handle, depth=-1, pierce=True)
        found: list[dict[str, Any]] = answer["listeners"]
        return found
