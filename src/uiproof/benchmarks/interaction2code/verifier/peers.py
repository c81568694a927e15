"""Elements that are like each other, such as fields, cards and rows: which one has the effect?

What appears at one of them as the reference's appears at another is an effect on the wrong element;
what appears at no such place is only misplaced.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import contents, looks, recolouring
from uiproof.benchmarks.interaction2code.verifier.case import Case
from uiproof.benchmarks.interaction2code.verifier.contents import Contents
from uiproof.benchmarks.interaction2code.verifier.units import Kind, Unit
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Element

_SLACK = 10  # pixels by which peers may be placed or sized differently
_BESIDE = 16  # pixels between an element and what belongs to it
_LARGEST = 0.25  # of the page: what is larger is a frame, not one of several
_LEAST = 12  # pixels
_MUCH = 0.3  # share of an element that changes where it is another one
_SAME_PLACE = 0.75  # share of two boxes that is in both
_UNFOLDED = 40  # pixels between a header and what unfolds below it
_OWN: frozenset[Kind] = frozenset({"recoloured", "retexted", "resized"})


def peer_at(case: Case, unit: Unit, shift: tuple[int, int]) -> Element | None:
    """The peer at which something appeared that the reference shows `shift` pixels from it."""
    for own, other in _pairs(case, unit):
        away = other.box.left - own.box.left, other.box.top - own.box.top
        if abs(away[0] - shift[0]) <= _SLACK and abs(away[1] - shift[1]) <= _SLACK:
            return other
    return None


def peer_like(case: Case, unit: Unit) -> Element | None:
    """The peer at which something appeared as something else appears in the reference."""
    scene = case.scene
    dx, dy = scene.offset(unit.box)
    mine = [
        one.box for one in looks.clusters(scene.changed, reach=12) if _beside(one.box, unit.box)
    ]
    box = mine[0] if mine else unit.box  # with its shadow, as the reference's parts
    shifts = [
        (box.left + dx - part.box.left, box.top + dy - part.box.top)
        for part in scene.reference_parts()[:4]
    ]
    parts = [part.box for part in scene.reference_parts()[:4]]
    if peer := _header(case, unit):
        return peer
    here = any(_share(box, part) >= _SAME_PLACE for part in parts)
    here = here and not case.outcome.changes.pushed  # all that follows changes with it
    if here or any(max(map(abs, shift)) <= _SLACK for shift in shifts):
        return None  # it is where the reference's is
    return next((peer for one in shifts if (peer := peer_at(case, unit, one))), None)


def _header(case: Case, unit: Unit) -> Element | None:
    """The peer of the trigger right below which something unfolds, as the reference's below its."""
    trigger = case.scene.trigger
    if trigger is None:
        return None
    below = case.scene.reference_changed[trigger.bottom + _SLACK :, trigger.left : trigger.right]
    rows = np.flatnonzero(below.any(axis=1))
    own = next((one for one in case.outcome.snapshot.elements if one.ref == case.found.ref), None)
    if not len(rows) or rows[0] > _UNFOLDED or own is None:
        return None
    headers = [
        one
        for one in case.outcome.snapshot.elements
        if one.tag == own.tag and _in_column(one.box, own.box) and _is_below(unit.box, one.box)
    ]
    nearest = max(headers, key=lambda one: one.box.bottom, default=own)
    return nearest if nearest.ref != own.ref else None


def _in_column(one: PixelBox, other: PixelBox) -> bool:
    """Whether two boxes are as high, and as wide or begin one below the other."""
    aligned = min(abs(one.width - other.width), abs(one.left - other.left)) <= _SLACK
    return aligned and abs(one.height - other.height) <= _SLACK


def _is_below(one: PixelBox, other: PixelBox) -> bool:
    across = min(one.right, other.right) - max(one.left, other.left)
    return across > 0 and -_SLACK <= one.top - other.bottom <= _UNFOLDED


def instead(case: Case, said: Contents) -> Element | None:
    """The element that changes as the reference changes a peer of it, which is left as it was."""
    old = {(one.tag, one.box): one for one in case.generated.snapshot.elements}
    coloured = any("recoloured" in one.unit.kinds for one in said.having("right"))
    for one in said.having("extra", "wrong"):
        unit, box = one.unit, one.unit.before
        was = old.get((unit.element.tag, box)) if unit.element is not None and box else None
        if was is None or box is None or unit.after is None or not unit.kinds & _OWN:
            continue
        if contents.rearranged(case, unit) or contents.of_right_row(said, unit):
            continue
        alone = said.texts is not None and "recoloured" in unit.kinds and not coloured
        if alone and said.texts and recolouring.stays_as_it_was(case.scene, said.texts, unit):
            return was
        here = case.scene.reference_changes_at(box, case.scene.offset(box))
        if here and recolouring.colours_agree(case.scene, unit):
            continue  # the reference changes it too
        for other in old.values():
            if other.ref == was.ref or other.tag != was.tag or not _alike(other.box, was.box):
                continue
            theirs = looks.crop_mask(case.scene.reference_changed, other.box)
            mine = looks.crop_mask(case.scene.changed, other.box)
            much = theirs.size and theirs.mean() > _MUCH
            if "retexted" in unit.kinds and not here:
                much = bool(looks.clusters(theirs))  # letters are few pixels
            if much and not looks.clusters(mine):
                return was
    return None


def _pairs(case: Case, unit: Unit) -> Iterator[tuple[Element, Element]]:
    """Elements of the page before and another one of the same kind at which a unit is."""
    most = _LARGEST * case.scene.size[0] * case.scene.size[1]
    if unit.box.width * unit.box.height > most:
        return
    shown = [
        one
        for one in case.generated.snapshot.elements
        if min(one.box.width, one.box.height) >= _LEAST and one.box.width * one.box.height <= most
    ]
    at = [one for one in shown if _beside(one.box, unit.box) and not _is_next_of(one, unit)]
    for other in at:
        if sum(_alike(one.box, other.box) and _meet(one.box, unit.box) for one in shown) > 2:
            continue  # what lies over several of them belongs to none
        for one in shown:
            if one.ref != other.ref and one.tag == other.tag and _peers(one, other):
                yield one, other


def continues_a_list(case: Case, unit: Unit) -> bool:
    """Whether what appeared is one more of the elements beside it."""
    return any(
        _beside(one.box, unit.box) and _is_next_of(one, unit)
        for one in case.generated.snapshot.elements
    )


def _is_next_of(one: Element, unit: Unit) -> bool:
    """Whether what appeared is one more of its neighbours, as in a list: it belongs to none."""
    return unit.element is not None and unit.element.tag == one.tag and _alike(one.box, unit.box)


def _peers(one: Element, other: Element) -> bool:
    """Whether two elements are of one size, or stand in one row or column."""
    if one.parent != other.parent:
        return _alike(one.box, other.box)
    a, b = one.box, other.box
    return abs(a.width - b.width) <= _SLACK or abs(a.height - b.height) <= _SLACK


def _alike(one: PixelBox, other: PixelBox) -> bool:
    return max(abs(one.width - other.width), abs(one.height - other.height)) <= _SLACK


def _share(one: PixelBox, other: PixelBox) -> float:
    """The part of two boxes that is in both."""
    across = min(one.right, other.right) - max(one.left, other.left)
    down = min(one.bottom, other.bottom) - max(one.top, other.top)
    shared = max(across, 0) * max(down, 0)
    return shared / max(one.width * one.height + other.width * other.height - shared, 1)


def _meet(one: PixelBox, other: PixelBox) -> bool:
    across = min(one.right, other.right) - max(one.left, other.left)
    return across > 0 and min(one.bottom, other.bottom) > max(one.top, other.top)


def _beside(one: PixelBox, other: PixelBox) -> bool:
    grown = looks.grown(one, _BESIDE, 10**6, 10**6)
    return (
        min(grown.right, other.right) > max(grown.left, other.left)
        and min(grown.bottom, other.bottom) > max(grown.top, other.top)
    )  # fmt: skip
