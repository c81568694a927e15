"""A page that goes on living: act on it as a person would, and see what becomes of it."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from uiproof.boxes import PixelBox
from uiproof.browser.acts import Actor
from uiproof.browser.devtools import BrowserError, NoAnswerError
from uiproof.browser.glyphs import MISSING_GLYPHS, missing_glyphs
from uiproof.browser.guard import StageGuard
from uiproof.browser.input import Keyboard, Mouse
from uiproof.browser.listeners import Listeners
from uiproof.browser.notes import Notes
from uiproof.browser.page import Limits, LivePage
from uiproof.browser.snapshots import Action, Element, Events, Ink, Snapshot
from uiproof.browser.tab import SETTLE_MS, Tab
from uiproof.errors import PageTimeoutError

if TYPE_CHECKING:
    from uiproof.browser.devtools import DevTools
    from uiproof.browser.source import PageSource
    from uiproof.browser.watchdog import Watchdog

MAX_ELEMENTS = 8_000  # in a snapshot

# How long the page's own clock runs on after an act, in milliseconds: in steps, until nothing has
# happened for a while. Where nothing at all has happened, a call that is due gets longer.
STEP_MS = 250
QUIET_MS = 500
LONGEST_MS = 3_000
LONGEST_WAIT_MS = 2_000

# What the browser says when the page became another one while it was asked something.
_WENT_AWAY = re.compile(
    "destroyed|navigated|cannot find context|promise was collected|uniqueContextId", re.IGNORECASE
)

# What it says when a script took longer than it may.
_TERMINATED = re.compile("terminated|internal error", re.IGNORECASE)


class Stage:
    """A page whose scripts run, and that real input events reach.

    ```python
    with Renderer() as renderer, renderer.stage(PageSource.from_file(path)) as stage:
        before = stage.snapshot()
        why_not = stage.act(stage.find("#menu"), Action("click"))
        stage.settle()
        changes(before, stage.snapshot()), stage.events(), stage.screenshot()
    ```

    `flags` are those of `LivePage`, and `busy`: the page never came to rest. See
    `docs/rendering.md` for what a page may do here.
    """

    def __init__(
        self, tools: DevTools, limits: Limits, watchdog: Watchdog, source: PageSource
    ) -> None:
        self.flags: set[str] = set()
        self._limits = limits
        self.watchdog = watchdog
        self._guard = StageGuard(source)
        self._notes = Notes(self._guard)
        self._last_ref = 0
        self._listeners = Listeners()
        self._live: LivePage | None = None
        self._shown = 0  # which of the page's documents `_live` is
        self._tab = Tab(tools, limits, watchdog, live=True)
        self._tab.handler = self._guard
        self._tab.on_record = self._notes.note_record
        self._tab.on_load = self._note_load
        session = self._tab.session
        self._notes.listen_to(session)
        mouse = Mouse(session, lambda: bool(self._evaluate("uiproof.drags()")))
        self._actor = Actor(mouse, Keyboard(session), self._run, self.settle, limits.viewport)

    # --- looking

    def screenshot(self) -> bytes:
        """The whole page as PNG, as it is: hovered, focused, scrolled; without a caret."""
        self._run("still", {"frames": 1})
        self._evaluate("uiproof.posing(true)")
        try:
            return self._page().screenshot()
        finally:
            self._evaluate("uiproof.posing(false)")

    def snapshot(self) -> Snapshot:
        """Every visible element, up to `MAX_ELEMENTS`."""
        snapshot = self._snapshot()
        if missing_glyphs(self._run, (element.text for element in snapshot.elements)):
            self.flags.add(MISSING_GLYPHS)
        return snapshot

    def find(self, selector: str) -> Element | None:
        """The first element that fits a CSS selector; its box is empty where it is not visible."""
        return next(iter(self._snapshot(selector=selector).elements), None)

    def at(self, x: float, y: float) -> Element | None:
        """The topmost element at a point of the whole page."""
        return next(iter(self._snapshot(point=[x, y]).elements), None)

    def events(self) -> Events:
        """What happened since this was last asked, or since the page was loaded."""
        mutations = self._evaluate("uiproof.flush().then(uiproof.take)")
        return self._notes.take(mutations)

    # --- acting

    def reveal(self, element: Element | tuple[float, float]) -> None:
        """Scroll so that an element is in the window, as `act` does before it acts.

        Fixed parts of the page stay with the window: a picture that is to be compared with one
        after acting should be taken after this.
        """
        self._actor.reach(element, "hover")
        self.settle()

    def act(self, element: Element | tuple[float, float], action: Action) -> str | None:
        """Do to an element what a person would; call `settle` next.

        None when it was done, else why it could not be, in words: `it is covered by <div …>`.
        """
        with self.watchdog.limit(self._limits.step_seconds):
            return self._actor.act(element, action)

    def settle(self) -> None:
        """Let the page's own clock run until nothing more happens, then end all movement."""
        self._settle(least=QUIET_MS)
        self._note_flags()

    def close(self) -> None:
        """Close the page and forget everything that was in it."""
        self._tab.close()

    # --- loading and clock

    def load(self) -> None:
        """Show the page and let it come to rest; called once, by the renderer."""
        until = time.monotonic() + self._limits.load_seconds
        self._tab.navigate(self._guard.page_url, until)
        self._wait_for_load()
        self._settle(least=SETTLE_MS)
        self._note_flags()
        self._guard.navigations.clear()
        self._notes.take({})
        self._evaluate("uiproof.take()")

    def _note_flags(self) -> None:
        for flag, raised in (
            ("navigation_blocked", self._guard.left),
            ("requests_blocked", self._guard.blocked),
            ("files_missing", self._guard.missing),
            ("scripts_off", self._guard.stopped),
        ):
            if raised:
                self.flags.add(flag)

    def _settle(self, *, least: int) -> None:
        until = time.monotonic() + self._limits.step_seconds / 2
        ran = quiet = 0
        something = False
        before = self._activity()
        with self.watchdog.limit(self._limits.step_seconds):
            while ran < LONGEST_MS:
                try:
                    due = self._page().evaluate(f"uiproofClock.advance({STEP_MS})")
                    moving = self._run("still", {"frames": 2})
                except BrowserError as error:
                    if _TERMINATED.search(str(error)):
                        raise PageTimeoutError(
                            "A timer of the page does not end.", remedy="Look for endless loops."
                        ) from error
                    if not _WENT_AWAY.search(str(error)):
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

    def _wait_for_load(self) -> None:
        """Wait for a document that is on its way."""
        until = time.monotonic() + self._limits.load_seconds
        try:
            self._tab.session.wait(lambda: not self._guard.awaited, until=until)
        except NoAnswerError:
            self.flags.add("load_timeout")
            self._guard.awaited = False

    def _activity(self) -> tuple[int, ...]:
        """Numbers that change when anything happens on the page."""
        total = self._evaluate("uiproof.total()")
        return (total, self._guard.answered, self._tab.documents)

    # --- talking to the page

    def _page(self) -> LivePage:
        """The document that is shown now."""
        if self._live is None or self._shown != self._tab.documents:
            self._shown = self._tab.documents
            self._listeners = Listeners()
            self._live = LivePage(
                self._tab.session,
                self._limits,
                self.watchdog,
                self._guard.page_url,
                flags=self.flags,
            )
        self._live.forget_size()
        return self._live

    def _run(self, name: str, argument: Any = None) -> Any:
        """Run one of our scripts in our own world of the document that is shown now."""
        return self._again(lambda: self._page().run_script(name, argument))

    def _evaluate(self, expression: str) -> Any:
        return self._again(lambda: self._page().evaluate(expression))

    def _again(self, ask: Any) -> Any:
        for attempt in range(5):
            try:
                return ask()
            except BrowserError as error:
                # It became another page in this moment.
                if attempt == 4 or not _WENT_AWAY.search(str(error)):
                    raise
                self._live = None
                self._wait_for_load()
        raise AssertionError("unreachable")

    def _snapshot(self, selector: str | None = None, point: list[float] | None = None) -> Snapshot:
        found = self._run(
            "snapshot",
            {
                "most": MAX_ELEMENTS,
                "after": self._last_ref,
                "selector": selector,
                "point": point,
            },
        )
        self._last_ref = max(self._last_ref, found["last"])
        # Where there are too many elements to list, there may be too many listeners as well.
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

    def _note_load(self) -> None:
        self._guard.awaited = False


def _element(found: dict[str, Any], listeners: dict[int, tuple[str, ...]]) -> Element:
    left, top, right, bottom = found["box"]
    return Element(
        ref=found["ref"],
        parent=found["parent"],
        tag=found["tag"],
        id=found["id"],
        box=PixelBox(left, top, right, bottom),
        text=found["text"],
        label=found["label"],
        role=found["role"],
        type=found["type"],
        color=tuple(found["color"]),
        background=tuple(found["background"]),
        style=found["style"],
        state=found["state"],
        listeners=listeners.get(found["ref"], ()),
        enabled=found["enabled"],
        attributes=found["attributes"],
        ink=_ink(found["ink"]),
    )


def _ink(found: dict[str, Any] | None) -> Ink | None:
    if found is None:
        return None
    box = PixelBox(*found["box"])
    return Ink(box, tuple(found["color"]), found["opacity"], found["covered"])
