"""Negative controls: is the effect that of acting on the element?

An effect that is there before the act, or that the same act has at a place that has nothing to do
with the element, does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot

from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier import pixels
from uiproof.benchmarks.interaction2code.verifier.element import chain_of, name_of
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    Outcome,
    ReferenceEvidence,
    Target,
)
from uiproof.benchmarks.interaction2code.verifier.objects import found_letters, letters
from uiproof.benchmarks.interaction2code.verifier.observation import Observation
from uiproof.browser.snapshots import Action, ActionKind, Element
from uiproof.geometry import PixelBox

DOING: dict[ActionKind, str] = {
    "click": "clicking",
    "hover": "pointing at",
    "type": "typing in",
    "select": "selecting in",
    "drag": "dragging",
    "scroll": "scrolling",
    "key": "pressing a key in",
}


SHOWN_BEFORE = "the page shows the effect before anything is done"


def objection(o: Observation) -> str | None:
    """Return why an effect is not that of acting on the element, else None."""
    acts = NeutralActs(o.reference, o.generated, o.found, o.outcome)
    targets, action = acts.choose()
    if not targets:
        return None
    for outcome in o.generated.elsewhere(o.found, targets, action):
        if outcome.refused is None and _changes_likewise(o, outcome):
            if o.reference.action.kind == "key":
                return f"any other key in {name_of(o.found)} has the effect too"
            place = f"a place that is not {name_of(o.found)}"
            return f"{DOING[action.kind]} {place} has the effect too"
    return None


def _changes_likewise(o: Observation, outcome: Outcome) -> bool:
    """Return whether most of the element's effect happens in the same way."""
    rest = o.mine.elsewhere
    changed = rest if pixels.clusters(rest) else o.mine.changed
    if not pixels.clusters(changed, least=const.TRACE):
        return False
    picture = pixels.fitted(outcome.picture, *o.mine.size)
    same = pixels.changed(o.mine.before, picture) & ~pixels.changed(o.mine.after, picture)
    return int((changed & same).sum()) >= const.EFFECT_SHARE * int(changed.sum())


def shown_before(o: Observation) -> bool:
    """Return whether all of the reference's change is on the page before the act."""
    theirs, mine = o.theirs, o.mine
    if letters(theirs.came) >= const.FEW_LETTERS:
        if found_letters(theirs.came, mine.came) >= const.EFFECT_SHARE:
            return False  # they come when the element is acted on
        kept = Counter(one.text for one in (*theirs.kept, *theirs.went))
        kept.update(one.text for one in theirs.moved)
        more = []
        for one in (*mine.kept, *mine.went):
            if kept[one.text]:
                kept[one.text] -= 1
            else:
                more.append(one)
        if found_letters(theirs.came, more) >= const.ALIKE_TEXT:
            return True
    return o.layout.close > const.NEAR_COPY and _parts_shown_before(o)


def _parts_shown_before(o: Observation) -> bool:
    """Return whether a near copy looks before the act as the reference does afterwards."""
    theirs, mine = o.theirs, o.mine
    if theirs.size[0] != mine.size[0]:
        return False
    width, height = theirs.size[0], min(theirs.size[1], mine.size[1])
    before, after, page = (
        pixels.fitted(one, width, height) for one in (theirs.before, theirs.after, mine.before)
    )
    rest = theirs.elsewhere[:height]
    changed = rest if pixels.clusters(rest) else theirs.changed[:height]
    # Shades that are taken for the same cannot tell one side from the other.
    changed = changed & (pixels.distance(before, after) > const.TOLERANCE)
    as_after = changed & ~pixels.differing(after, page)
    as_before = changed & ~pixels.differing(before, page)
    parts = [
        (one.pixels, pixels.count(as_after, one.box), pixels.count(as_before, one.box))
        for one in pixels.clusters(changed, reach=const.PART_GAP)
    ]
    return bool(parts) and all(
        there >= const.EFFECT_SHARE * size and there > 2 * not_yet for size, there, not_yet in parts
    )


@dataclass(frozen=True, slots=True)
class NeutralActs:
    """The same act, on places and with keys that have nothing to do with the element."""

    reference: ReferenceEvidence
    generated: GeneratedEvidence
    found: Element
    outcome: Outcome

    def choose(self) -> tuple[Sequence[Target], Action]:
        """Return where to act instead of on the element, and how; no places if that is futile."""
        action = self.reference.action
        # Where the reference shows the element, a larger one that lies over all is a fraud.
        meant = self.reference.trigger or self.found.box
        if self._is_page(meant):
            # The whole page is the element. Its keys are those of the page, its wheel moves it.
            if action.kind == "key":
                return [self.found], self._other_keys()
            return ([], action) if action.kind != "scroll" else (self._places(), Action("hover"))
        told = self.outcome.changes
        shows = (*told.appeared, *told.retexted, *told.recoloured)
        if told.vanished and not shows and not told.new_page:
            return [], action  # menus and windows also close when something else is clicked
        if action.kind == "key":
            return [self.found], self._other_keys()
        if action.kind == "type":
            typed = re.findall(r"[A-Za-z0-9]", action.value or "")[:5] or ["a", "b"]
            return self._places(), Action("key", " ".join(typed))
        if action.kind == "select":
            return self._places(), Action("click")
        return self._places(), action

    def _other_keys(self) -> Action:
        wanted = (self.reference.action.value or "").casefold()
        field = self.found.tag in ("input", "textarea", "select") or _is_editable(self.found)
        keys = (*const.NEUTRAL_KEYS, *(() if field else ("q",)))
        return Action("key", " ".join(one for one in keys if one.casefold() != wanted))

    def _is_page(self, box: PixelBox) -> bool:
        width, height = self.generated.viewport
        return box.area >= const.PAGE_SHARE * width * height

    def _places(self) -> list[Target]:
        """Return up to two points of the window, one with and one without letters.

        They are far from the element, and neither on a control nor in a part of the page that the
        element is in.
        """
        around = {one.ref for one in chain_of(self.generated.snapshot, self.found, 50)}
        trigger = self.reference.trigger
        avoided = [] if trigger is None else [trigger]
        if trigger is None or not self._is_page(self.found.box):
            avoided.append(self.found.box)
        letters = []
        for one in self.generated.snapshot.elements:
            if one.ink is not None:
                letters.append(one.ink.box)
            if (one.ref in around or _is_control(one)) and not self._is_page(one.box):
                avoided.append(one.box)
        x, y = self.found.box.centre
        free = [
            point
            for point in self._grid()
            if not any(_holds(box, point, const.APART) for box in avoided)
        ]
        free.sort(key=lambda point: -hypot(point[0] - x, point[1] - y))
        written = [one for one in free if any(_holds(box, one, -1) for box in letters)]
        blank = [one for one in free if not any(_holds(box, one, 0) for box in letters)]
        return [*written[:1], *blank[:1]]

    def _grid(self) -> Iterator[tuple[float, float]]:
        left, top = self.generated.snapshot.scroll
        width, height = self.generated.viewport
        rows, columns = const.GRID
        for row in range(rows):
            for column in range(columns):
                yield (
                    left + const.EDGE + (width - 2 * const.EDGE) * (column + 0.5) / columns,
                    top + const.EDGE + (height - 2 * const.EDGE) * (row + 0.5) / rows,
                )


def _is_control(element: Element) -> bool:
    return (
        element.tag in const.CONTROLS
        or element.role in const.CONTROL_ROLES
        or (bool(element.listeners) and element.tag not in ("html", "body"))
        or element.style.get("cursor") == "pointer"
        or element.attributes.get("draggable") == "true"
        or _is_editable(element)
    )


def _is_editable(element: Element) -> bool:
    return element.attributes.get("contenteditable", "false") != "false"


def _holds(box: PixelBox, point: tuple[float, float], margin: int) -> bool:
    across = box.left - margin <= point[0] < box.right + margin
    return across and box.top - margin <= point[1] < box.bottom + margin
