"""Acting on a generated page: its states before and after, further probes, and whole paths."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.benchmarks.interaction2code.judging.triggers import (
    FoundTrigger,
    TriggerQuery,
    find_trigger,
    same_element,
)
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask, Outcome, Target
from uiproof.benchmarks.interaction2code.verifier.layout import Layout, gap
from uiproof.benchmarks.interaction2code.verifier.observation import is_control, options_of
from uiproof.benchmarks.interaction2code.verifier.text_compare import plain
from uiproof.benchmarks.interaction2code.visible import without_unseen_texts
from uiproof.browser import PageSource, Renderer
from uiproof.browser.changes import changes
from uiproof.browser.devtools import BrowserError
from uiproof.browser.input import parse_offset
from uiproof.browser.snapshots import Action, Element, Snapshot
from uiproof.browser.stage import Stage
from uiproof.errors import RenderError
from uiproof.vision.images import Rgb, decode

MOST_PROBES = 16  # pages that are opened to find out why an interaction does nothing
PROBE_SECONDS = 180.0  # after which no more are opened: a case has a time limit
_NOT_FILLED_IN = frozenset({"button", "checkbox", "image", "radio", "range", "reset", "submit"})
_CLICKED = frozenset({"a", "button", "summary"})
# Anything that may make a page look different on the next load, without any action on it.
_RESTLESS = re.compile(
    rb"set(?:Timeout|Interval)|requestAnimationFrame|random|Date\b|performance\.|crypto"
    rb"|<(?:iframe|video|canvas|marquee|animate)|@keyframes|\.gif|WebAssembly",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PageState:
    """A page at one moment."""

    png: bytes
    picture: Rgb
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Act:
    """One act on a page: the element, and the page before and after.

    `loaded` is the page before it was scrolled to the element.
    """

    loaded: PageState
    before: PageState
    found: FoundTrigger | None
    after: PageState | None = None  # None where nothing was acted on
    outcome: Outcome | None = None
    action: Action | None = None  # the one performed, where it is not the one asked for
    approach: PageState | None = None  # while the pointer is on it; None where nothing changes


def act(stage: Stage, query: TriggerQuery, steps: Sequence[TriggerQuery] = ()) -> Act:
    """Find the trigger of an interaction, act on it, and capture the result.

    `steps` are done before; the result is then that of all, compared with the page before the
    first of them.
    """
    loaded = capture(stage)
    follow(stage, steps)
    found = find_trigger(
        stage,
        stage.snapshot() if steps else loaded.snapshot,
        query,
        None if steps else loaded.picture,
    )
    if found is None or not found.element.box.area:
        return Act(loaded, loaded, found)
    if steps:
        after, outcome = perform(stage, loaded, found.element, query.action)
        return Act(loaded, loaded, found, after, outcome)
    before = _revealed(stage, found.element, loaded)
    element = _current(before.snapshot, found.element)
    action = aimed(query, found.where, element, before.snapshot)
    approach = _approached(stage, element, before) if action.kind == "click" else None
    after, outcome = perform(stage, before, element, action)
    done = None if action == query.action else action
    if not _did_anything(outcome):
        for target, other in _alternatives(element, query, before.snapshot):
            after, outcome = perform(stage, before, target, other)
            done = other
            if _did_anything(outcome, besides=element.ref):
                break
    found = replace(found, element=element)
    return Act(loaded, before, found, after, outcome, done, approach)


def aimed(
    query: TriggerQuery, where: Layout | None, element: Element, snapshot: Snapshot
) -> Action:
    """Return the action, with a drag led to what it leads to on this page.

    That is the element that the sentence names as its target, else, for a slider, the same share of
    its length, else the place with the same surroundings.
    """
    action, trigger = query.action, query.trigger
    offset = parse_offset(action.value or "", (0, 0)) if action.kind == "drag" else None
    if offset is None or trigger is None or where is None:
        return action
    dx, dy = offset
    inside = abs(dx) <= trigger.width and abs(dy) <= max(trigger.height, 20)
    if inside:
        scale = element.box.width / max(trigger.width, 1)
        return replace(action, value=f"{dx * scale:.0f},{dy:.0f}")
    x, y = trigger.centre
    to_x, to_y = where.point(x + dx, y + dy)
    for name in re.findall(r"[\"“]([^\"”]+)[\"”]", query.sentence)[1:]:
        same = [one for one in snapshot.elements if plain(one.text) == plain(name)]
        if same:
            frame = _frame_of(min(same, key=lambda one: abs(one.box.centre[0] - to_x)), snapshot)
            # The middle of what is below the heading, unless the mapped place is in there as well.
            if not frame.box.contains(to_x, to_y):
                to_x, to_y = frame.box.centre
            break
    x, y = element.box.centre
    return replace(action, value=f"{to_x - x:.0f},{to_y - y:.0f}")


def _frame_of(heading: Element, snapshot: Snapshot) -> Element:
    """Return the part of the page that a heading belongs to."""
    by_ref = {one.ref: one for one in snapshot.elements}
    frame = heading
    while (up := by_ref.get(frame.parent or 0)) is not None:
        if up.box.area > 0.4 * snapshot.size[0] * snapshot.size[1]:
            break
        frame = up
        if frame.box.height >= 3 * heading.box.height:
            break
    return frame


def _approached(stage: Stage, element: Element, before: PageState) -> PageState | None:
    """Point at an element; return the page, or None where that changes nothing."""
    if stage.act(element, Action("hover")) is not None:
        return None
    stage.settle()
    now = capture(stage)
    return None if now.png == before.png else now


def capture(stage: Stage) -> PageState:
    """Return the present state of a page."""
    png = stage.screenshot()
    return PageState(png, decode(png), stage.snapshot())


def perform(
    stage: Stage, before: PageState, target: Target, action: Action
) -> tuple[PageState, Outcome]:
    """Act on an element or a point; `before` is the state of the page until then."""
    stage.events()  # earlier events are not an effect
    refused = stage.act(target, action)
    stage.settle()
    after = capture(stage)
    seen = without_unseen_texts(after.picture, after.snapshot, before.snapshot)
    outcome = Outcome(
        picture=after.picture,
        snapshot=seen,
        changes=changes(before.snapshot, seen),
        events=stage.events(),
        refused=refused,
    )
    return replace(after, snapshot=seen), outcome


def _alternatives(
    element: Element, query: TriggerQuery, snapshot: Snapshot
) -> list[tuple[Element, Action]]:
    """Return what a person would do next to an element of another kind than expected.

    A list is not only clicked or written in, something in it is chosen; what cannot be chosen from
    a list is written and confirmed, or clicked by its name; a field or a button that stands for a
    slider is filled in or clicked; a number is counted up.
    """
    action = query.action
    written = element.tag == "input" and element.type not in _NOT_FILLED_IN
    if action.kind == "click" and element.type == "number":
        return [(element, Action("key", "ArrowUp"))]
    if action.kind == "type" and element.tag == "select":
        return [(element, Action("select", action.value)), (element, Action("select"))]
    if action.kind == "click" and element.tag == "select":
        is_option = plain(query.name or "") in map(plain, options_of(element))
        return [(element, Action("select", query.name if is_option else None))]
    if action.kind == "drag" and written:
        return [(element, Action("type"))]
    if action.kind == "drag" and (element.tag in _CLICKED or element.role == "button"):
        return [(element, Action("click"))]
    if action.kind == "select" and action.value:
        if written or element.tag == "textarea":
            return [(element, Action("type", action.value)), (element, Action("key", "Enter"))]
        named = [one for one in snapshot.elements if plain(one.label) == plain(action.value)]
        named.sort(key=lambda one: (not is_control(one), gap(one.box, element.box)))
        return [(one, Action("click")) for one in named[:2]]
    return []


def _did_anything(outcome: Outcome, besides: int | None = None) -> bool:
    """Return whether anything has changed, if need be other than one element itself."""
    changed, events = outcome.changes, outcome.events
    pairs = (
        *(*changed.moved, *changed.resized, *changed.recoloured),
        *(*changed.retexted, *changed.restated),
    )
    seen = (changed.appeared, changed.vanished, events.dialogs, events.windows, events.navigations)
    return changed.new_page or any(seen) or any(new.ref != besides for _, new in pairs)


def _left_alone(before: PageState, after: PageState, outcome: Outcome) -> bool:
    """Return whether an act has left everything as it was, seen or unseen."""
    unchanged = after.png == before.png and not _did_anything(outcome)
    return unchanged and not any(outcome.events.mutations.values())


def _revealed(stage: Stage, element: Element, loaded: PageState) -> PageState:
    """Scroll to an element and return the page: its fixed parts move with the window."""
    stage.reveal(element)
    return loaded if stage.snapshot() == loaded.snapshot else capture(stage)


def _current(snapshot: Snapshot, element: Element) -> Element:
    return next((one for one in snapshot.elements if one.ref == element.ref), element)


def repeat(stage: Stage, done: Act, action: Action) -> Callable[[], Outcome | None]:
    """Return a function that acts once more, or leaves what is pointed at.

    Its changes are told against the page before both.
    """

    def once_more() -> Outcome | None:
        if done.found is None:
            return None
        target: Target = done.found.element
        if done.after is not None and all(
            one.ref != done.found.element.ref for one in done.after.snapshot.elements
        ):  # a page that draws itself anew has another element there
            target = same_element(done.after.snapshot, done.found.element) or target
        if action.kind == "hover":
            target = _away_from(done.found.element, done.before)
        try:
            return perform(stage, done.before, target, action)[1]
        except RenderError:
            return None

    return once_more


def _away_from(element: Element, state: PageState) -> tuple[float, float]:
    """Return the corner of the window that is farthest from an element."""
    left, top = state.snapshot.scroll
    height, width = state.picture.shape[:2]
    bottom = min(top + 700, height)
    corners = [(x, y) for x in (left + 3.0, width - 4.0) for y in (top + 3.0, bottom - 4.0)]
    x, y = element.box.centre
    return max(corners, key=lambda one: abs(one[0] - x) + abs(one[1] - y))


@dataclass(slots=True)
class Probes:
    """Further tries, each from the same state of the page; `way` leads to it.

    `steps` are those of the interaction itself, which come before the act that is tried. Call
    `close` at the end.
    """

    renderer: Renderer
    page: PageSource
    window: tuple[int, int]
    way: Sequence[TriggerQuery] = ()
    steps: Sequence[TriggerQuery] = ()
    left: int = MOST_PROBES
    began: float = field(default_factory=time.monotonic)
    _open: ExitStack = field(default_factory=ExitStack)
    _idle: Stage | None = None  # opened before, and nothing has happened on it since

    def attempt(self, element: Element, action: Action) -> Outcome | None:
        """Try an action on an element; None if that is not possible."""
        return next(iter(self.elsewhere(element, [element], action)), None)

    def elsewhere(
        self, element: Element, targets: Sequence[Target], action: Action
    ) -> Sequence[Outcome]:
        """Act on targets one after the other, with an element in view that may be one of them.

        Changes are told against the page before all of them. Empty where the element is gone.
        """
        if self.left <= 0 or time.monotonic() - self.began > PROBE_SECONDS:
            return ()
        self.left -= 1
        outcomes: list[Outcome] = []
        try:
            stage, self._idle = self._idle or self._opened((*self.way, *self.steps)), None
            same = same_element(stage.snapshot(), element)
            if same is None:
                return ()
            stage.reveal(same)
            before = capture(stage)
            for target in targets:
                now = _current(before.snapshot, same) if target is element else target
                after, outcome = perform(stage, before, now, action)
                outcomes.append(outcome)
                self._idle = stage if _left_alone(before, after, outcome) else None
        except (BrowserError, RenderError):
            self.close()  # a page that breaks when it is acted on says nothing more
        return outcomes

    def start_on(self, stage: Stage, done: Act) -> None:
        """Use the page of an act for the next try if the act has done nothing to it."""
        if done.after is None or done.outcome is None or done.action is not None or self.steps:
            return
        if _left_alone(done.before, done.after, done.outcome):
            self._idle = stage

    def close(self) -> None:
        """Close the pages that were opened."""
        self._idle = None
        self._open.close()

    def _opened(self, way: Iterable[TriggerQuery]) -> Stage:
        """Open the page and lead it to the state that tries start from."""
        self._open.close()  # something has happened on the one before
        stage = self._open.enter_context(self.renderer.stage(self.page, self.window))
        follow(stage, way)
        return stage

    def noise(self, before: PageState) -> Mask | None:
        """Return where the page changes without any action; None where it stands still."""
        if not _RESTLESS.search(self.page.html):
            return None
        try:
            stage = self._opened(self.way)
            if before.snapshot.scroll != (0, 0):
                x, y = before.snapshot.scroll
                stage.reveal((x + self.window[0] / 2, y + self.window[1] / 2))
            for _ in range(3):  # as long as pointing at an element and acting on it take
                stage.settle()
            second = decode(stage.screenshot())
        except (BrowserError, RenderError):
            return None
        if second.shape != before.picture.shape:
            return None
        if np.array_equal(second, before.picture):
            self._idle = None if self.steps else stage
            return None
        return np.asarray((second != before.picture).any(axis=2))


def follow(stage: Stage, steps: Iterable[TriggerQuery]) -> None:
    """Act on the elements that are there, one after the other."""
    for step in steps:
        found = find_trigger(stage, stage.snapshot(), step)
        if found is not None:
            stage.act(found.element, step.action)
            stage.settle()


# --- paths: interactions in order on one page that is not reloaded in between


@dataclass(frozen=True, slots=True)
class PathResult:
    """The result of playing the interactions of a path."""

    edges: tuple[str, ...]  # the numbers of its interactions
    done: int  # how many of them worked
    stopped: str = ""  # why it ended before its end

    @property
    def steps(self) -> int:
        """Return the number of interactions on the path."""
        return len(self.edges)

    def as_json(self) -> dict[str, Any]:
        """Return it as the details of its last interaction have it."""
        return {
            "edges": list(self.edges),
            "steps": self.steps,
            "done": self.done,
            "stopped": self.stopped,
        }


def paths(graph: Graph) -> tuple[tuple[Interaction, ...], ...]:
    """Return the longest paths of a graph that have more than one interaction.

    Each interaction starts from the screenshot that the one before leads to.
    """
    ways = {one.id: (*graph.way_to(one), one) for one in graph.interactions}
    on_the_way = {one.id for way in ways.values() for one in way[:-1]}
    return tuple(way for end, way in ways.items() if len(way) > 1 and end not in on_the_way)


def path_to(graph: Graph, interaction: Interaction) -> tuple[Interaction, ...] | None:
    """Return the path that ends with an interaction; None where it is not the last of one."""
    return next((path for path in paths(graph) if path[-1].id == interaction.id), None)


def play(edges: Iterable[Interaction], act: Callable[[Interaction], str | None]) -> PathResult:
    """Play interactions in order until one breaks.

    `act` performs one of them on a page that stays open, and returns why it fails, or None.
    """
    path = tuple(edges)
    numbers = tuple(one.id for one in path)
    for done, interaction in enumerate(path):
        problem = act(interaction)
        if problem is not None:
            return PathResult(numbers, done, f"{interaction.id}: {problem}")
    return PathResult(numbers, len(path))
