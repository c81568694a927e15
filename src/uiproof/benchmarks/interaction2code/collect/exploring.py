"""Trying out a page: every action that fits, each on the page as it was loaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from uiproof.benchmarks.interaction2code.categories import tag_categories, visual_categories
from uiproof.benchmarks.interaction2code.collect.candidates import HOVERS, Candidate, candidates
from uiproof.benchmarks.interaction2code.collect.findings import Finding
from uiproof.benchmarks.interaction2code.collect.hovering import hovered_elements
from uiproof.benchmarks.interaction2code.collect.tree import Tree
from uiproof.benchmarks.interaction2code.collect.trivial import is_trivial, strong_difference
from uiproof.benchmarks.interaction2code.graph import VISUAL_CATEGORIES
from uiproof.browser.changes import changes
from uiproof.browser.snapshots import Action, Changes, Element, Events, Snapshot
from uiproof.errors import RenderError

if TYPE_CHECKING:
    from uiproof.browser.renderer import Renderer
    from uiproof.browser.source import PageSource
    from uiproof.browser.stage import Stage

_ENOUGH_ALIKE = 3  # elements made by one rule that all did the same kind of thing
_ENOUGH_NOTHING = 6  # elements made by one rule none of which did anything
_ENOUGH_GUESSED = 3  # the same where nothing says that they could do something


class Explorer:
    """Acts on a page and says what came of it.

    A page on which an action did nothing at all is used for the next one; any other is loaded
    anew, so that no action sees the effects of another.
    """

    def __init__(self, renderer: Renderer, source: PageSource, viewport: tuple[int, int]) -> None:
        self._renderer, self._source, self._viewport = renderer, source, viewport
        self._stack = ExitStack()
        self._stage: Stage | None = None
        self._results: dict[tuple[object, ...], list[tuple[str, Finding | None]]] = defaultdict(
            list
        )
        self.flags: set[str] = set()

    def __enter__(self) -> Explorer:
        stage = self._fresh()
        self.start = stage.snapshot()
        self.picture = stage.screenshot()
        self.tree = Tree(self.start)
        scripts = _code_of(self._source)
        hovered = hovered_elements(stage, scripts)
        self._hovered_kin = {
            self.tree.kin(one) for one in self.start.elements if one.ref in hovered
        }
        found = candidates(self.start, scripts=scripts, hovered=hovered)
        self.candidates = sorted(found, key=lambda one: one.action.kind == "hover", reverse=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def findings(self) -> Iterator[list[Finding]]:
        """For each candidate what it did, if that means something; clicking hovers as well."""
        for candidate in self.candidates:
            if self._is_known(candidate):
                yield []
                continue
            try:
                found = [one for one in self._try(candidate) if not is_trivial(one)]
            except RenderError:
                self._drop()  # the page took its browser along, or hangs; the others go on
                found = []
            acted = next((one for one in found if one.action.kind == candidate.action.kind), None)
            self._results[self._group(candidate)].append((candidate.element.label, acted))
            yield found

    # --- which candidates are worth a try

    def _group(self, candidate: Candidate) -> tuple[object, ...]:
        return (candidate.action.kind, candidate.action.value, self.tree.twin(candidate.element))

    def _is_known(self, candidate: Candidate) -> bool:
        """Whether elements made by the same rule have shown what this one will do."""
        results = self._results[self._group(candidate)]
        did = [finding for _, finding in results if finding is not None]
        label = candidate.element.label
        if label and any(label == name for name, finding in results if finding is not None):
            return True
        if len(did) >= _ENOUGH_ALIKE and len({one.visuals for one in did}) == 1:
            return True
        enough = _ENOUGH_NOTHING if candidate.sure else _ENOUGH_GUESSED
        return not did and len(results) >= enough

    # --- one try

    def _try(self, candidate: Candidate) -> list[Finding]:
        stage = self._stage or self._fresh()
        element, kind = candidate.element, candidate.action.kind
        before, start = self.picture, self.start
        if kind != "scroll" and not self._is_in_window(element):
            stage.reveal(element)
            before, start = stage.screenshot(), stage.snapshot()
        found = []
        hovered = before
        if kind in {"click", "drag"}:
            if stage.act(element, Action("hover")) is not None:
                return []
            stage.settle()
            hovered, events = stage.screenshot(), stage.events()
            if hovered != before:
                later = stage.snapshot()
                hears = self.tree.kin(element) in self._hovered_kin
                hears = hears or bool(HOVERS & set(element.listeners))
                hover = Candidate(element, Action("hover"), hears)
                found.append(self._finding(hover, before, before, hovered, start, later, events))
                start = later
        if stage.act(element, candidate.action) is not None:
            self._drop()
            return found
        stage.settle()
        after, events = stage.screenshot(), stage.events()
        if after != hovered:
            later = stage.snapshot()
            found.append(self._finding(candidate, before, hovered, after, start, later, events))
        still = events == Events() and (after == hovered or kind == "hover")
        if not still or kind not in {"click", "hover"}:
            self._drop()
        return found

    def _finding(
        self,
        candidate: Candidate,
        before: bytes,
        hovered: bytes,
        after: bytes,
        start: Snapshot,
        later: Snapshot,
        events: Events,
    ) -> Finding:
        element, action = candidate.element, candidate.action
        changed = changes(start, later)
        visuals = visual_categories(changed, events, before=start, after=later, trigger=element)
        if not visuals and changed == Changes() and strong_difference(hovered, after):
            visuals = ("color",)  # something drawn, as on a canvas: only pixels tell of it
        if action.kind == "select":
            action = replace(action, value=_chosen(element, later))
        elif action.kind == "scroll":  # also where only a part of the page is scrolled
            known = {*visuals, "position"}
            visuals = tuple(name for name in VISUAL_CATEGORIES if name in known)
        return Finding(
            element=element,
            action=action,
            sure=candidate.sure,
            before=before,
            after=after,
            hovered=hovered,
            snapshot=start,
            later=later,
            changes=changed,
            events=events,
            tags=tag_categories(self.tree.chain(element), self.tree.inside(element)),
            visuals=visuals,
        )

    def _is_in_window(self, element: Element) -> bool:
        return element.box.bottom <= self._viewport[1] and element.box.right <= self._viewport[0]

    # --- the page

    def _fresh(self) -> Stage:
        self._drop()
        self._stage = self._stack.enter_context(self._renderer.stage(self._source, self._viewport))
        if hasattr(self, "start"):
            self._stage.snapshot()  # numbers the elements as the first one did
        self.flags |= self._stage.flags
        return self._stage

    def _drop(self) -> None:
        self._stage = None
        self._stack.close()


def _chosen(element: Element, later: Snapshot) -> str | None:
    return next(
        (one.state.get("selected") for one in later.elements if one.ref == element.ref), None
    )


def _code_of(source: PageSource) -> str:
    """Everything that a page says in its own files, to look for names in."""
    parts = [source.text]
    if source.folder is not None:
        for path in sorted(source.folder.rglob("*")):
            if path.suffix.lower() in {".js", ".mjs", ".css"} and path.stat().st_size < 3_000_000:
                parts.append(path.read_text("utf-8", "replace"))
    return "\n".join(parts)
