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

import numpy as np

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


# Labels and names of controls that close something.
_CLOSES = re.compile(
    r"(?i)[×✕✖⨯❌]|\bx\b|\b(?:close|cancel|dismiss|done|ok|got it|not now|back)\b|schlie|abbrech"
    r"|fermer|annuler|cerrar|cancelar|chiudi|annulla|取消|关闭|閉じる|キャンセル|닫기|취소"
    r"|закрыть|отмена|إغلاق|إلغاء|סגור|ביטול"
)
SHOWN_BEFORE = "the page shows the effect before anything is done"


def objection(o: Observation) -> str | None:
    """Return why an effect is not that of acting on the element, else None."""
    kind = o.reference.action.kind
    if _is_out_of_sight(o):
        return f"{DOING[kind]} {name_of(o.found)} changes only what is screens away from it"
    acts = NeutralActs(o.reference, o.generated, o.found, o.outcome)
    targets, action = acts.choose()
    if targets and _has_effect(o, targets, action):
        if kind == "key":
            return f"any other key in {name_of(o.found)} has the effect too"
        return f"{DOING[action.kind]} a place that is not {name_of(o.found)} has the effect too"
    is_written = _is_field(o.found) and o.found.tag != "select"
    if kind == "type" and is_written and pixels.clusters(o.theirs.elsewhere):
        # Only changes outside of the field count: a focus ring is no effect.
        click = Action("click")
        if pixels.clusters(o.mine.elsewhere) and _has_effect(o, [o.found], click):
            return f"clicking {name_of(o.found)} has the effect without any letter"
    return None


def stuck(o: Observation) -> bool:
    """Return whether what covers the page stays, although it shows a control that closes it.

    Tried are the same act again, the controls, and a place beside it.
    """
    mine, after = o.mine, o.outcome.snapshot
    covers = min(float(side.changed.mean()) for side in (o.theirs, mine)) >= const.PAGE_SHARE
    if o.reference.action.kind != "click" or not covers or o.again is None:
        return False
    old = {one.ref for one in o.generated.snapshot.elements}
    veils = [
        one
        for one in after.elements
        if one.ref not in old
        and one.style.get("position") in ("fixed", "absolute")
        and one.box.area >= const.HALF * o.generated.viewport[0] * o.generated.viewport[1]
    ]
    if not veils or _is_restored(o, o.again):
        return False
    closing = [
        one
        for one in after.elements
        if one.ref not in old
        and (_is_named_control(one) or one.style.get("cursor") == "pointer" or one.listeners)
        and _CLOSES.search(f"{one.label} {one.attributes.get('title', '')} {one.id}")
    ]
    if not closing:
        return False
    left, top = after.scroll
    targets = [one.box.centre for one in closing[: const.MOST_CLOSING]]
    corner = (left + const.EDGE, top + o.generated.viewport[1] - const.EDGE)
    outcomes = o.generated.elsewhere(o.found, [o.found, *targets, corner], Action("click"))
    return len(outcomes) > 1 and not any(_is_restored(o, one) for one in outcomes[1:])


def _is_restored(o: Observation, outcome: Outcome) -> bool:
    """Return whether most of what the act changed is as it was before."""
    if outcome.changes.new_page:
        return True
    picture = pixels.fitted(outcome.picture, *o.mine.size)
    same = o.mine.changed & ~pixels.changed(o.mine.before, picture)
    return int(same.sum()) >= const.EFFECT_SHARE * int(o.mine.changed.sum())


def _is_out_of_sight(o: Observation) -> bool:
    """Return whether the effect is more than a screen away, and that of the reference is not."""
    height = o.generated.viewport[1]
    top = o.outcome.snapshot.scroll[1]
    mine = np.flatnonzero(o.mine.elsewhere.any(axis=1))
    theirs = np.flatnonzero(o.theirs.elsewhere.any(axis=1))
    if not len(mine) or not len(theirs) or o.outcome.changes.new_page:
        return False
    start = 0.0 if o.reference.trigger is None else o.reference.trigger.top
    in_reach = theirs[(theirs >= start - height) & (theirs < start + height)]
    in_sight = mine[(mine >= top - height) & (mine < top + 2 * height)]
    return len(in_reach) > 0 and len(in_sight) == 0


def _has_effect(o: Observation, targets: Sequence[Target], action: Action) -> bool:
    outcomes = o.generated.elsewhere(o.found, targets, action)
    return any(one.refused is None and _changes_likewise(o, one) for one in outcomes)


def _changes_likewise(o: Observation, outcome: Outcome) -> bool:
    """Return whether most of the element's effect happens in the same way."""
    if o.reference.action.kind == "scroll":
        # Fixed parts are elsewhere in the picture of a page that is scrolled.
        mine, likewise = (
            {(one.tag, one.id, one.text) for one in told.appeared}
            for told in (o.outcome.changes, outcome.changes)
        )
        if mine and mine <= likewise:
            return True
    rest = o.mine.elsewhere
    changed = rest if pixels.clusters(rest) else o.mine.changed
    if o.generated.approach is not None:
        # Leave out what moving the pointer changes, such as un-hovering another element.
        on_it = pixels.fitted(o.generated.approach, *o.mine.size)
        changed = changed & pixels.changed(on_it, o.mine.after)
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
        # Prefer the reference's box: a page may cheat with a larger element over everything.
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
        keys = (*const.NEUTRAL_KEYS, *(() if _is_field(self.found) else ("q",)))
        return Action("key", " ".join(one for one in keys if one.casefold() != wanted))

    def _is_page(self, box: PixelBox) -> bool:
        width, height = self.generated.viewport
        return box.area >= const.PAGE_SHARE * width * height

    def _places(self) -> list[Target]:
        """Return up to three points of the window.

        One with and one without letters are far from the element, and neither on a control nor in a
        part of the page that the element is in, but for a wide one: one more point is in that.
        """
        chain = chain_of(self.generated.snapshot, self.found, 50)
        around = {one.ref for one in chain}
        wide = next((one for one in chain[1:] if self._is_wide(one)), None)
        if wide is not None:
            around -= {one.ref for one in chain[chain.index(wide) :]}
        trigger = self.reference.trigger
        avoided = [] if trigger is None or self._is_page(trigger) else [trigger]
        if trigger is None or not self._is_page(self.found.box):
            avoided.append(self.found.box)
        letters = []
        for one in self.generated.snapshot.elements:
            if one.ink is not None:
                letters.append(one.ink.box)
            if one is wide or self._is_page(one.box):
                continue
            if one.ref in around or _is_control(one):
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
        inside = [] if wide is None else [one for one in free if _holds(wide.box, one, 0)]
        return list(dict.fromkeys([*written[:1], *blank[:1], *inside[:1]]))

    def _is_wide(self, element: Element) -> bool:
        """Return whether an element is a part of the page with more in it than one control.

        Menus often open when any part of what they are in is pointed at.
        """
        if self.reference.action.kind == "hover":
            return False
        width, height = self.generated.viewport
        is_large = element.box.area >= const.WIDE_SHARE * width * height
        return (is_large or element.tag in const.LANDMARKS) and not _is_named_control(element)

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


def _is_named_control(element: Element) -> bool:
    return element.tag in const.CONTROLS or element.role in const.CONTROL_ROLES


def _is_control(element: Element) -> bool:
    return (
        _is_named_control(element)
        or (bool(element.listeners) and element.tag not in ("html", "body"))
        or element.style.get("cursor") == "pointer"
        or element.attributes.get("draggable") == "true"
        or _is_editable(element)
    )


def _is_field(element: Element) -> bool:
    return element.tag in ("input", "textarea", "select") or _is_editable(element)


def _is_editable(element: Element) -> bool:
    return element.attributes.get("contenteditable", "false") != "false"


def _holds(box: PixelBox, point: tuple[float, float], margin: int) -> bool:
    across = box.left - margin <= point[0] < box.right + margin
    return across and box.top - margin <= point[1] < box.bottom + margin
