"""Acting on a generated page: what it shows before and after, and what else it did."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from uiproof.benchmarks.interaction2code.judging.finding import (
    Found,
    Wanted,
    find_trigger,
    same_element,
)
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask, Outcome, Target
from uiproof.benchmarks.interaction2code.visible import without_unseen_texts
from uiproof.browser import PageSource, Renderer
from uiproof.browser.changes import changes
from uiproof.browser.snapshots import Action, Element, Snapshot
from uiproof.browser.stage import Stage
from uiproof.errors import RenderError
from uiproof.vision.images import Rgb, decode

MOST_PROBES = 16  # pages that are opened to find out why an interaction does nothing
PROBE_SECONDS = 90.0  # after which no more are opened: a case has a time limit
_NOT_FILLED_IN = frozenset({"button", "checkbox", "image", "radio", "range", "reset", "submit"})
_CLICKED = frozenset({"a", "button", "summary"})
# What a page may have that looks another way the next time, without anybody acting on it.
_RESTLESS = re.compile(
    rb"set(?:Timeout|Interval)|requestAnimationFrame|random|Date\b|performance\.|crypto"
    rb"|<(?:iframe|video|canvas|marquee|animate)|@keyframes|\.gif|WebAssembly",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A page at one moment."""

    png: bytes
    picture: Rgb
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Act:
    """One act on a page: what it was done to, and what was to be seen before and after.

    `loaded` is the page before it was scrolled to the element.
    """

    loaded: Seen
    before: Seen
    found: Found | None
    after: Seen | None = None  # None where nothing was acted on
    outcome: Outcome | None = None
    action: Action | None = None  # what was done, where that is not what was asked for


def look(stage: Stage) -> Seen:
    """What a page shows now."""
    png = stage.screenshot()
    return Seen(png, decode(png), stage.snapshot())


def act(stage: Stage, wanted: Wanted) -> Act:
    """Find the element of an interaction, do to it what is to be done, and see what happens."""
    loaded = look(stage)
    found = find_trigger(stage, loaded.snapshot, wanted)
    if found is None or not _has_area(found.element):
        return Act(loaded, loaded, found)
    before = _revealed(stage, found.element, loaded)
    element = _now(before.snapshot, found.element)
    after, outcome = do(stage, before, element, wanted.action)
    other = instead(element, wanted.action)
    if other is not None and not _did_anything(outcome):
        after, outcome = do(stage, before, element, other)
    else:
        other = None
    return Act(loaded, before, Found(element, found.by), after, outcome, other)


def instead(element: Element, action: Action) -> Action | None:
    """What a person would do next to an element of another kind than the one that was asked for.

    A list is not only clicked, something in it is chosen; a field or a button that stands for a
    slider is filled in or clicked.
    """
    if action.kind == "click" and element.tag == "select":
        return Action("select")
    if action.kind == "drag" and element.tag == "input" and element.type not in _NOT_FILLED_IN:
        return Action("type")
    if action.kind == "drag" and (element.tag in _CLICKED or element.role == "button"):
        return Action("click")
    return None


def _did_anything(outcome: Outcome) -> bool:
    changed, events = outcome.changes, outcome.events
    seen = (
        *(changed.appeared, changed.vanished, changed.moved, changed.resized),
        *(changed.recoloured, changed.retexted, changed.restated),
        *(events.dialogs, events.windows, events.navigations),
    )
    return changed.new_page or any(seen)


def do(stage: Stage, before: Seen, target: Target, action: Action) -> tuple[Seen, Outcome]:
    """Act on an element or a point; `before` is what the page shows until then."""
    stage.events()  # what happened so far is not an effect
    refused = stage.act(target, action)
    stage.settle()
    after = look(stage)
    after = replace(
        after,
        snapshot=without_unseen_texts(after.picture, after.snapshot, before.snapshot),
    )
    outcome = Outcome(
        picture=after.picture,
        snapshot=after.snapshot,
        changes=changes(before.snapshot, after.snapshot),
        events=stage.events(),
        refused=refused,
    )
    return after, outcome


@dataclass(slots=True)
class Probes:
    """Further tries on a page that is opened anew for each of them.

    `way` are the interactions that lead to the state in which they are to be made.
    """

    renderer: Renderer
    page: PageSource
    window: tuple[int, int]
    way: Sequence[Wanted] = ()
    left: int = MOST_PROBES
    began: float = field(default_factory=time.monotonic)

    def attempt(self, element: Element, action: Action) -> Outcome | None:
        """What another act, or the same on another element, leads to; None if it cannot be made."""
        return next(iter(self.elsewhere(element, [element], action)), None)

    def elsewhere(
        self, element: Element, targets: Sequence[Target], action: Action
    ) -> Sequence[Outcome]:
        """What acting on targets leads to, one after the other, where an element is in view.

        Each outcome is told against the page before any of them; the element itself may be one of
        the targets. Empty where the element is not there any more.
        """
        if self.left <= 0 or time.monotonic() - self.began > PROBE_SECONDS:
            return ()
        self.left -= 1
        outcomes: list[Outcome] = []
        try:
            with self.renderer.stage(self.page, self.window) as stage:
                self._go(stage)
                same = same_element(stage.snapshot(), element)
                if same is None:
                    return ()
                stage.reveal(same)
                before = look(stage)
                for target in targets:
                    now = _now(before.snapshot, same) if target is element else target
                    outcomes.append(do(stage, before, now, action)[1])
        except RenderError:
            pass  # a page that breaks when it is acted on says nothing more
        return outcomes

    def noise(self, before: Seen) -> Mask | None:
        """Where the page changes without anybody acting on it; None where it stands still."""
        if not _RESTLESS.search(self.page.html):
            return None
        try:
            with self.renderer.stage(self.page, self.window) as stage:
                self._go(stage)
                if before.snapshot.scroll != (0, 0):
                    x, y = before.snapshot.scroll
                    stage.reveal((x + self.window[0] / 2, y + self.window[1] / 2))
                stage.settle()
                again = decode(stage.screenshot())
        except RenderError:
            return None
        if again.shape != before.picture.shape or np.array_equal(again, before.picture):
            return None
        return np.asarray((again != before.picture).any(axis=2))

    def _go(self, stage: Stage) -> None:
        for step in self.way:
            found = find_trigger(stage, stage.snapshot(), step)
            if found is not None:
                stage.act(found.element, step.action)
                stage.settle()


def again(stage: Stage, done: Act, action: Action) -> Callable[[], Outcome | None]:
    """Repeats an act on the page as it is after it; what changed is told against before it."""

    def repeat() -> Outcome | None:
        if done.found is None:
            return None
        try:
            return do(stage, done.before, done.found.element, action)[1]
        except RenderError:
            return None

    return repeat


def _revealed(stage: Stage, element: Element, loaded: Seen) -> Seen:
    """The page once it is scrolled to an element: fixed parts of it go with the window."""
    stage.reveal(element)
    snapshot = stage.snapshot()
    if snapshot == loaded.snapshot:
        return loaded
    return look(stage)


def _now(snapshot: Snapshot, element: Element) -> Element:
    return next((one for one in snapshot.elements if one.ref == element.ref), element)


def _has_area(element: Element) -> bool:
    return element.box.width > 0 and element.box.height > 0
