"""Elements that are like each other, such as fields, cards and rows: which one has the effect?

What appears at one of them as the reference's appears at another is an effect on the wrong element;
what appears at no such place is only misplaced.
"""

from __future__ import annotations

from collections.abc import Iterator

from uiproof.benchmarks.interaction2code.verifier import looks
from uiproof.benchmarks.interaction2code.verifier.case import Case
from uiproof.benchmarks.interaction2code.verifier.units import Unit
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Element

_SLACK = 10  # pixels by which peers may be placed or sized differently
_BESIDE = 16  # pixels between an element and what belongs to it
_LARGEST = 0.25  # of the page: what is larger is a frame, not one of several
_LEAST = 12  # pixels


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
    for part in scene.reference_parts()[:4]:
        shift = box.left + dx - part.box.left, box.top + dy - part.box.top
        if max(map(abs, shift)) > _SLACK and (peer := peer_at(case, unit, shift)):
            return peer
    return None


def _pairs(case: Case, unit: Unit) -> Iterator[tuple[Element, Element]]:
    """Elements of the page before and another one of the same kind at which a unit is."""
    most = _LARGEST * case.scene.size[0] * case.scene.size[1]
    shown = [
        one
        for one in case.generated.snapshot.elements
        if min(one.box.width, one.box.height) >= _LEAST and one.box.width * one.box.height <= most
    ]
    at = [one for one in shown if _beside(one.box, unit.box) and not _is_next_of(one, unit)]
    for other in at:
        for one in shown:
            if one.ref != other.ref and one.tag == other.tag and _peers(one, other):
                yield one, other


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


def _beside(one: PixelBox, other: PixelBox) -> bool:
    grown = looks.grown(one, _BESIDE, 10**6, 10**6)
    return (
        min(grown.right, other.right) > max(grown.left, other.left)
        and min(grown.bottom, other.bottom) > max(grown.top, other.top)
    )  # fmt: skip
