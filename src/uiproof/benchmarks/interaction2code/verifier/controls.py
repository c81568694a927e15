"""Negative controls: what has to be so if the effect is that of acting on the element.

- Before anything is done, the page must not show the effect already.
- The same act on a place that has nothing to do with the element must not have the effect.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import hypot

from uiproof.benchmarks.interaction2code.verifier import looks, wording
from uiproof.benchmarks.interaction2code.verifier.case import Case
from uiproof.benchmarks.interaction2code.verifier.evidence import Outcome, Target, Verdict
from uiproof.benchmarks.interaction2code.verifier.telling import DOING, name_of, verdict
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Action, Element

_LARGE = 0.4  # share of the window from which an element is no place but the page
_THERE = 0.5  # share of an effect from which it is there
_PART = 12  # pixels between changes that are one
_ROWS, _COLUMNS = 12, 16  # of places that are thought of
_EDGE = 6  # pixels from the edge of the window
_APART = 12  # pixels from what must not be touched
_WORDS = 8  # letters of new words from which they are no accident
_CONTROLS = frozenset(
    (
        *("a", "audio", "button", "details", "embed", "iframe", "input", "label", "object"),
        *("option", "select", "summary", "textarea", "video"),
    )
)
_ROLES = frozenset(
    (
        *("button", "checkbox", "combobox", "link", "menuitem", "option", "radio", "slider"),
        *("searchbox", "spinbutton", "switch", "tab", "textbox"),
    )
)
_OTHER_KEYS = ("Shift", "F8")  # keys that do nothing by themselves


def not_caused(case: Case) -> Verdict | None:
    """Why the effect is not that of acting on the element; None where nothing speaks against it."""
    if shown_before(case):
        return verdict("b", 0.8, "the page shows the effect before anything is done")
    name, kind = name_of(case.found), case.reference.action.kind
    targets, action = neutral(case)
    if not targets:
        return None
    for outcome in case.generated.elsewhere(case.found, targets, action):
        if outcome.refused is None and _same_effect(case, outcome):
            if kind == "key":
                return verdict("b", 0.8, f"any other key in {name} has the effect too")
            done = f"{DOING[action.kind]} a place that is not {name}"
            return verdict("b", 0.8, f"{done} has the effect too")
    return None


# --- before must look like before


def shown_before(case: Case) -> bool:
    """Whether all that the reference changes is on the page before anything is done."""
    scene = case.scene
    if scene.close:
        changed = scene.reference_changed
        rest = changed & ~scene.zone(scene.trigger)
        changed = rest if looks.clusters(rest) else changed
        # Shades that are taken for the same cannot tell one side from the other.
        apart = looks.distance(scene.reference_before, scene.reference_after) > looks.TOLERANCE
        changed = changed & apart
        parts = looks.clusters(changed, reach=_PART)
        as_after = changed & ~scene.differing(scene.reference_after, scene.before)
        as_before = changed & ~scene.differing(scene.reference_before, scene.before)
        return bool(parts) and all(
            looks.crop_mask(as_after, one.box).sum() >= _THERE * one.pixels
            and looks.crop_mask(as_after, one.box).sum()
            > 2 * looks.crop_mask(as_before, one.box).sum()
            for one in parts
        )
    if scene.begins_at_the_end:
        return True
    texts = case.texts()
    if texts is None or sum(map(len, texts.reference_came)) < _WORDS:
        return False
    if (texts.recall or 0) >= _THERE:
        return False  # they come when the element is acted on
    mine = Counter(wording.words(one.text for one in case.generated.snapshot.elements))
    theirs = Counter(wording.words(line.text for line in texts.lines_before))
    more = list((mine - theirs).elements())
    return (wording.found_share(texts.reference_came, more) or 0) >= wording.ALIKE


# --- acting on a neutral place


def neutral(case: Case) -> tuple[Sequence[Target], Action]:
    """Where to act instead of on the element, and how; no places where that would say nothing."""
    action = case.reference.action
    # Where the reference shows which element is meant, a larger one that lies over all is a fraud.
    meant = case.reference.trigger or case.found.box
    if _is_page(case, meant):
        # The whole page is the element. Its keys are those of the page, its wheel moves the page.
        if action.kind == "key":
            return [case.found], _other_keys(case)
        return ([], action) if action.kind != "scroll" else (_places(case), Action("hover"))
    if _only_hides(case.outcome):
        return [], action  # menus and windows also close when something else is clicked
    if action.kind == "key":
        return [case.found], _other_keys(case)
    if action.kind == "type":
        typed = re.findall(r"[A-Za-z0-9]", action.value or "")[:5] or ["a", "b"]
        return _places(case), Action("key", " ".join(typed))
    if action.kind == "select":
        return _places(case), Action("click")
    return _places(case), action


def _other_keys(case: Case) -> Action:
    wanted = (case.reference.action.value or "").casefold()
    field = case.found.tag in ("input", "textarea", "select") or (
        case.found.attributes.get("contenteditable", "false") != "false"
    )
    keys = [one for one in (*_OTHER_KEYS, *(() if field else ("q",))) if one.casefold() != wanted]
    return Action("key", " ".join(keys))


def _only_hides(outcome: Outcome) -> bool:
    changes = outcome.changes
    shows = (*changes.appeared, *changes.retexted, *changes.recoloured)
    return bool(changes.vanished) and not shows and not changes.new_page


def _same_effect(case: Case, outcome: Outcome) -> bool:
    """Whether most of what changed when the element was acted on changed in the same way."""
    scene = case.scene
    changed = scene.changed
    rest = changed & ~case.own_area()
    changed = rest if looks.clusters(rest) else changed
    if not looks.clusters(changed, least=4):
        return False
    picture = looks.fitted(outcome.picture, *scene.size)
    same = looks.changed(scene.before, picture) & ~looks.changed(scene.after, picture)
    return int((changed & same).sum()) >= _THERE * int(changed.sum())


def _is_page(case: Case, box: PixelBox) -> bool:
    """Whether something is so large that it is as good as the whole page."""
    width, height = case.generated.viewport
    return box.width * box.height >= _LARGE * width * height


def _places(case: Case) -> list[Target]:
    """Up to two points in the window, one with and one without letters, far from the element.

    Neither is on a control, or in a part of the page that the element is in.
    """
    around = {one.ref for one in case.around(case.found)}
    trigger = case.reference.trigger
    kept_clear = [] if trigger is None else [trigger]
    if trigger is None or not _is_page(case, case.found.box):
        kept_clear.append(case.found.box)
    letters = []
    for one in case.generated.snapshot.elements:
        if one.ink is not None:
            letters.append(one.ink.box)
        if (one.ref in around or _is_control(one)) and not _is_page(case, one.box):
            kept_clear.append(one.box)
    x, y = _middle(case.found.box)
    free = [
        point for point in _grid(case) if not any(_holds(box, point, _APART) for box in kept_clear)
    ]
    free.sort(key=lambda point: -hypot(point[0] - x, point[1] - y))
    written = [one for one in free if any(_holds(box, one, -1) for box in letters)]
    blank = [one for one in free if not any(_holds(box, one, 0) for box in letters)]
    return [*written[:1], *blank[:1]]


def _grid(case: Case) -> Iterator[tuple[float, float]]:
    left, top = case.generated.snapshot.scroll
    width, height = case.generated.viewport
    for row in range(_ROWS):
        for column in range(_COLUMNS):
            yield (
                left + _EDGE + (width - 2 * _EDGE) * (column + 0.5) / _COLUMNS,
                top + _EDGE + (height - 2 * _EDGE) * (row + 0.5) / _ROWS,
            )


def _is_control(element: Element) -> bool:
    attributes = element.attributes
    return (
        element.tag in _CONTROLS
        or element.role in _ROLES
        or (bool(element.listeners) and element.tag not in ("html", "body"))
        or element.style.get("cursor") == "pointer"
        or attributes.get("draggable") == "true"
        or attributes.get("contenteditable", "false") != "false"
    )


def _middle(box: PixelBox) -> tuple[float, float]:
    return (box.left + box.right) / 2, (box.top + box.bottom) / 2


def _holds(box: PixelBox, point: tuple[float, float], margin: int) -> bool:
    across = box.left - margin <= point[0] < box.right + margin
    return across and box.top - margin <= point[1] < box.bottom + margin
