"""What acting on the generated page changed, held against what changed in the reference.

On pages that look alike before, every change of the generated page is compared with the reference's
picture after, at the same place and, if it is not there, anywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import looks
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask, Outcome
from uiproof.benchmarks.interaction2code.verifier.scene import RING, Scene
from uiproof.benchmarks.interaction2code.verifier.units import Unit, area, leaves, units
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Element, Snapshot
from uiproof.vision.images import Rgb

FIELDS = frozenset({"input", "select", "textarea", "option"})

# right: as in the reference; elsewhere: as in the reference, at another place; wrong: the reference
# changed here, to something else; extra: the reference did not change here.
Status = Literal["right", "elsewhere", "wrong", "extra"]

_FLAT_SLACK = 0.1  # share of recoloured pixels that may differ
_SHADE = 48  # of 255: colours that differ by less are the same colour in another style
_MOVED = 16  # pixels from which a thing is elsewhere
_FIT = 0.8
_MOST_UNITS = 12  # the largest changes; a hundred that are alike say no more
_MOST_LEAVES = 16
_SHARED = 0.4  # share of a change that must be where the reference changes too


@dataclass(frozen=True, slots=True)
class Seen:
    """One change of the generated page, judged."""

    unit: Unit
    status: Status
    shift: tuple[int, int] = (0, 0)  # from the reference's place to this one


@dataclass(frozen=True, slots=True)
class Assessment:
    """All changes of the generated page, judged together."""

    complete: bool  # afterwards both pages look the same where either changed
    right_share: float  # of what changed in the reference
    seen: tuple[Seen, ...]
    errors: tuple[looks.Cluster, ...]  # where the pages differ afterwards
    changed_pixels: int

    def having(self, *statuses: Status) -> list[Seen]:
        """The changes that were judged so."""
        return [one for one in self.seen if one.status in statuses]


def without_hover(scene: Scene, hovered: Rgb) -> Scene:
    """The scene without what merely pointing at the element does."""
    width, height = scene.size
    picture = looks.fitted(hovered, width, height)
    since = looks.changed(picture, scene.after)
    only_hover = looks.changed(scene.before, picture) & ~since
    error = scene.error & ~(only_hover & ~scene.reference_changed)
    return replace(scene, changed=scene.changed & since, error=error)


def significant(scene: Scene, mask: Mask) -> list[looks.Cluster]:
    """Differences that are more than the way in which letters are drawn on these pages."""
    return looks.clusters(mask, least=looks.SPECK if scene.sharp else 2 * looks.SPECK)


def assess(
    scene: Scene,
    before: Snapshot,
    outcome: Outcome,
    trigger: Element,
    *,
    ignore_trigger: bool,
    closely: bool = True,
) -> Assessment:
    """Judge every change of the generated page, or, less closely, only all of them together.

    With `ignore_trigger`, what the trigger itself looks like does not count: not its typed text,
    and not its style where it is another kind of element.
    """
    own = ring(scene, trigger, whole=ignore_trigger)
    error = scene.error & ~own
    if looks.clusters(scene.reference_changed & ~scene.zone(scene.trigger)):
        error &= ~_mere_shade(scene, trigger)
    error &= ~area(_pushed_strangers(scene, before, outcome), scene.size)
    wrong_places = significant(scene, error)
    of_reference = scene.reference_changed & ~own
    total = int(of_reference.sum())
    bad = int((looks.widened(error, 3) & of_reference).sum()) if wrong_places else 0
    found = units(before, outcome, scene.changed)
    if ignore_trigger or trigger.tag in FIELDS:
        others = [one for one in found if one.element is None or one.element.ref != trigger.ref]
        # Unless it is all that changes; what is typed in a field is never an effect.
        found = others or ([] if trigger.tag in FIELDS else found)
    found = sorted(found, key=lambda one: -_count(scene.changed, one.box))[:_MOST_UNITS]
    seen = tuple(_judge(scene, one) for one in found) if wrong_places and closely else ()
    return Assessment(
        not wrong_places,
        1 - bad / total if total else 1.0,
        seen,
        tuple(wrong_places),
        int((scene.changed & ~ring(scene, trigger, whole=False)).sum()),
    )


def _pushed_strangers(scene: Scene, before: Snapshot, outcome: Outcome) -> list[PixelBox]:
    """Where things are now that the reference never had, and that others only pushed about."""
    if not outcome.changes.pushed or not scene.static.any():
        return []
    old = {one.ref: one for one in before.elements}
    pushed: list[PixelBox] = []
    for one in outcome.snapshot.elements:
        was = old.get(one.ref)
        if was is None or was.box == one.box or not one.text.strip() or was.text != one.text:
            continue
        box = looks.grown(was.box, 0, *scene.size)
        drawn = int(looks.ink(looks.crop(scene.before, box)).sum())
        place = looks.find(looks.crop(scene.before, box), scene.reference_before)
        if _count(scene.static, box) > 0.3 * max(drawn, 1) and (place is None or place.fit < _FIT):
            pushed += [looks.grown(one.box, 4, *scene.size), looks.grown(was.box, 4, *scene.size)]
    return pushed


def ring(scene: Scene, trigger: Element, *, whole: bool) -> Mask:
    """Where browsers draw the focus of the trigger, or all of the trigger too."""
    mask = scene.zone(trigger.box, RING) | scene.zone(scene.trigger, RING)
    if not whole:
        mask &= ~(scene.zone(trigger.box, -1) | scene.zone(scene.trigger, -1))
    return mask


def _mere_shade(scene: Scene, trigger: Element) -> Mask:
    """The trigger's area, where on both sides its colours change a little or not at all.

    Pointing at a button shades it; whether the reference's pointer was there is not known.
    """
    none = np.zeros(scene.changed.shape, np.bool_)
    width, height = scene.size
    box = looks.grown(trigger.box, 0, width, height)
    if box.width <= 0 or box.height <= 0:
        return none
    pictures = [looks.crop(one, box) for one in (scene.before, scene.after)]
    other = [looks.crop(one, box) for one in (scene.reference_before, scene.reference_after)]
    for one, two in (pictures, other):
        if not looks.same_drawing(one, two):
            return none
        if np.abs(looks.background(one) - looks.background(two)).max() > _SHADE:
            return none
    return area([box], scene.size)


def _judge(scene: Scene, unit: Unit) -> Seen:
    width, height = scene.size
    box = looks.grown(unit.box, 0, width, height)
    if box.width <= 0 or box.height <= 0:
        return Seen(unit, "extra")
    offset = scene.offset(unit.before or box)
    if unit.after is None:
        return _judge_vanished(scene, unit, box)
    if _agrees(scene, unit, box, offset):
        there = _moved(box, offset, scene.size)
        if _count(scene.reference_changed, there) >= looks.SPECK:
            return Seen(unit, "right")
    here = scene.reference_changes_at(box, offset)
    # A thing that merely looks different is where it was, wherever the reference moves it; one that
    # says something else where the reference does too says the wrong thing.
    rewritten = here and "retexted" in unit.kinds and any(unit.gone)
    able = unit.kinds & {"appeared", "retexted", "moved"} and not rewritten
    if able and (place := _found(scene, box)):
        shift = box.left - place[0] + offset[0], box.top - place[1] + offset[1]
        if max(abs(shift[0]), abs(shift[1])) > _MOVED:
            return Seen(unit, "elsewhere", shift)
        return Seen(unit, "right", shift)
    return Seen(unit, "wrong" if here else "extra")


def _judge_vanished(scene: Scene, unit: Unit, box: PixelBox) -> Seen:
    patch = looks.crop(scene.before, box)
    place = looks.find(patch, scene.reference_after)
    if place is not None and place.fit >= _FIT and _fits(scene, patch, place):
        # The reference still shows it.
        return Seen(unit, "extra")
    if _count(scene.reference_changed, box) < looks.SPECK:
        return Seen(unit, "extra")
    return Seen(unit, "right")


def _agrees(scene: Scene, unit: Unit, box: PixelBox, offset: tuple[int, int]) -> bool:
    """Whether both pages look the same afterwards where this element is."""
    there = _moved(box, offset, scene.size)
    mine, theirs = _pair(scene.after, box, scene.reference_after, there)
    if mine.size == 0:
        return False
    changed = scene.changed[box.top : box.top + mine.shape[0], box.left : box.left + mine.shape[1]]
    also = looks.widened(scene.reference_changed, 5)[
        there.top : there.top + mine.shape[0], there.left : there.left + mine.shape[1]
    ]
    if int((changed & also).sum()) < _SHARED * int(changed.sum()):
        return False
    bad = scene.differing(theirs, mine) & changed
    shows = "moved" in unit.kinds and unit.element is not None and unit.element.label.strip()
    if not shows and (not unit.kinds & {"appeared", "retexted"} or not any(unit.texts)):
        far = looks.distance(theirs, mine)
        slack = _FLAT_SLACK if scene.sharp else 3 * _FLAT_SLACK
        return int(((far > looks.TOLERANCE) & changed).sum()) <= slack * int(changed.sum())
    if not significant(scene, bad):
        return scene.sharp or not any(unit.texts) or scene.reads_alike(mine, theirs)
    near = np.abs(looks.background(mine) - looks.background(theirs)).max() <= _SHADE
    new = unit.is_new or "retexted" in unit.kinds
    if not (near or new) or not looks.same_drawing(mine, theirs, slack=0.03):
        return False
    return scene.reads_alike(mine, theirs)


def _found(scene: Scene, box: PixelBox) -> tuple[int, int] | None:
    """Where the reference shows, as something that changed, what is in a box now."""
    patch, left, top = _tight(scene.after, box)
    if patch.size == 0:
        return None
    offset = scene.offset(box)
    expected = box.left + left + offset[0], box.top + top + offset[1]
    place = looks.find(patch, scene.reference_after, near=expected)
    if place is None or place.fit < _FIT or not _fits(scene, patch, place):
        return None
    there = PixelBox(place.left, place.top, place.left + patch.shape[1], place.top + patch.shape[0])
    if _count(scene.reference_changed, there) < looks.SPECK:
        return None
    return place.left - left, place.top - top


def _fits(scene: Scene, patch: Rgb, place: looks.Place) -> bool:
    there = scene.reference_after[
        place.top : place.top + patch.shape[0], place.left : place.left + patch.shape[1]
    ]
    if not significant(scene, scene.differing(patch, there)):
        return scene.sharp or scene.reads_alike(patch, there)
    return looks.same_drawing(patch, there, slack=0.02) and scene.reads_alike(patch, there)


def _tight(picture: Rgb, box: PixelBox) -> tuple[Rgb, int, int]:
    """The drawn part of a box, and how far from its corner that begins."""
    patch = looks.crop(picture, box)
    drawn = looks.ink(patch)
    if int(drawn.sum()) < looks.SPECK:
        return patch[:0], 0, 0
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    top, bottom = max(int(rows[0]) - 2, 0), int(rows[-1]) + 3
    left, right = max(int(columns[0]) - 2, 0), int(columns[-1]) + 3
    return patch[top:bottom, left:right], left, top


def tight_box(picture: Rgb, box: PixelBox) -> PixelBox:
    """The box around what is drawn in a box; the box itself where nothing is."""
    inside = looks.grown(box, 0, picture.shape[1], picture.shape[0])
    patch, left, top = _tight(picture, inside)
    if patch.size == 0:
        return box
    left, top = inside.left + left, inside.top + top
    return PixelBox(left, top, left + patch.shape[1], top + patch.shape[0])


def missing_leaves(scene: Scene, outcome: Outcome, unit: Unit) -> tuple[int, int]:
    """How many texts of a changed element the reference shows too, and how many it does not."""
    if unit.element is None or unit.after is None:
        return 0, 0
    width, height = scene.size
    shown = absent = 0
    for leaf in leaves(outcome.snapshot, unit.element)[:_MOST_LEAVES]:
        box = looks.grown(leaf.box, 0, width, height)
        if box.width <= 0 or box.height <= 0 or looks.is_blank(looks.crop(scene.after, box)):
            continue
        if _found(scene, box) is not None:
            shown += 1
        else:
            absent += 1
    return shown, absent


def _moved(box: PixelBox, by: tuple[int, int], size: tuple[int, int]) -> PixelBox:
    return PixelBox(
        min(max(box.left + by[0], 0), size[0]),
        min(max(box.top + by[1], 0), size[1]),
        min(max(box.right + by[0], 0), size[0]),
        min(max(box.bottom + by[1], 0), size[1]),
    )


def _pair(one: Rgb, box: PixelBox, other: Rgb, place: PixelBox) -> tuple[Rgb, Rgb]:
    a, b = looks.crop(one, box), looks.crop(other, place)
    height, width = min(a.shape[0], b.shape[0]), min(a.shape[1], b.shape[1])
    return a[:height, :width], b[:height, :width]


def _count(mask: Mask, box: PixelBox) -> int:
    return int(mask[box.top : box.bottom, box.left : box.right].sum())
