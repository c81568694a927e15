"""What a generated page changed, one element at a time, and how each change can be seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import looks
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask, Outcome
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Element, Snapshot

Kind = Literal[
    "appeared", "vanished", "moved", "resized", "recoloured", "retexted", "restated", "restyled"
]
_LEAST = 4  # changed pixels


@dataclass(frozen=True, slots=True)
class Unit:
    """An element that changed; `element` is as after the change, or as before if it went."""

    element: Element | None  # None: pixels changed and no element tells why (a canvas, a picture)
    before: PixelBox | None
    after: PixelBox | None
    kinds: frozenset[Kind]
    texts: tuple[str, ...] = ()  # that came
    gone: tuple[str, ...] = ()  # that went

    @property
    def box(self) -> PixelBox:
        """Where it is to be seen: after the change, or before if it went."""
        box = self.after or self.before
        assert box is not None
        return box

    @property
    def is_new(self) -> bool:
        """Whether something is shown where this element showed nothing."""
        if "appeared" in self.kinds:
            return True
        return "retexted" in self.kinds and not any(self.gone) and any(self.texts)


def units(before: Snapshot, outcome: Outcome, changed: Mask) -> list[Unit]:
    """The changes that can be seen, outermost elements only, in the order of their kinds."""
    changes = outcome.changes
    kinds: dict[int, set[Kind]] = {}
    pairs: dict[int, tuple[Element | None, Element | None]] = {}

    def note(kind: Kind, old: Element | None, new: Element | None) -> None:
        ref = (new or old or changes.appeared[0]).ref
        kinds.setdefault(ref, set()).add(kind)
        pairs.setdefault(ref, (old, new))

    for element in changes.appeared:
        note("appeared", None, element)
    for element in changes.vanished:
        note("vanished", element, None)
    both: tuple[tuple[Kind, tuple[tuple[Element, Element], ...]], ...] = (
        ("retexted", changes.retexted),
        ("recoloured", changes.recoloured),
        ("moved", changes.moved),
        ("resized", changes.resized),
        ("restated", changes.restated),
        ("restyled", changes.restyled),
    )
    for kind, changed_ones in both:
        for was, became in changed_ones:
            note(kind, was, became)
    found = []
    for ref, (old, new) in pairs.items():
        unit = Unit(
            new or old,
            old.box if old else None,
            new.box if new else None,
            frozenset(kinds[ref]),
            _came(old, new, outcome.snapshot),
            _went(old, new, before),
        )
        if _seen(unit, changed):
            found.append(unit)
    return found + list(_unexplained(found, changed, outcome))


def _seen(unit: Unit, changed: Mask) -> bool:
    return any(
        int(changed[box.top : box.bottom, box.left : box.right].sum()) >= _LEAST
        for box in (unit.before, unit.after)
        if box is not None
    )


def _unexplained(found: Iterable[Unit], changed: Mask, outcome: Outcome) -> Iterator[Unit]:
    """Pieces that changed outside of every changed element, if nothing was pushed about."""
    if outcome.changes.pushed or outcome.changes.new_page:
        return
    rest = changed.copy()
    height, width = changed.shape
    for unit in found:
        for box in (unit.before, unit.after):
            if box is not None:
                large = looks.grown(box, 16, width, height)  # shadows and rings belong to it
                rest[large.top : large.bottom, large.left : large.right] = False
    for piece in looks.clusters(rest, reach=12, least=24)[:12]:
        yield Unit(None, piece.box, piece.box, frozenset({"restyled"}))


def texts_in(snapshot: Snapshot, element: Element) -> tuple[str, ...]:
    """The texts of an element and of all elements in it, in document order."""
    inside = {element.ref}
    texts = [element.text] if element.text.strip() else []
    for one in snapshot.elements:
        if one.parent in inside and one.ref not in inside:
            inside.add(one.ref)
            if one.text.strip():
                texts.append(one.text)
    return tuple(texts)


def leaves(snapshot: Snapshot, element: Element) -> list[Element]:
    """The elements with text of their own in an element, itself included."""
    inside = {element.ref}
    found = [element] if element.text.strip() else []
    for one in snapshot.elements:
        if one.parent in inside and one.ref not in inside:
            inside.add(one.ref)
            if one.text.strip():
                found.append(one)
    return found


def _came(old: Element | None, new: Element | None, after: Snapshot) -> tuple[str, ...]:
    if new is None:
        return ()
    if old is None:
        return texts_in(after, new)
    return (new.text,) if new.text != old.text else ()


def _went(old: Element | None, new: Element | None, before: Snapshot) -> tuple[str, ...]:
    if old is None:
        return ()
    if new is None:
        return texts_in(before, old)
    return (old.text,) if new.text != old.text else ()


def area(boxes: Iterable[PixelBox | None], size: tuple[int, int]) -> Mask:
    """A mask of all these boxes."""
    mask = np.zeros((size[1], size[0]), np.bool_)
    for box in boxes:
        if box is not None:
            mask[max(box.top, 0) : box.bottom, max(box.left, 0) : box.right] = True
    return mask
