"""From a text to the control that it belongs to: the box to tick before it, the field after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from uiproof.benchmarks.grounding.grounders.candidates import Screen
from uiproof.benchmarks.grounding.grounders.vocabulary import Kind, Relation
from uiproof.boxes import PixelBox

Point = tuple[float, float]

# Kinds that stand beside their words or around them.
LOOKED_FOR = (Kind.CHECKBOX, Kind.TOGGLE, Kind.FIELD, Kind.DROPDOWN, Kind.STEPPER)
_BESIDE = (Relation.LEFT, Relation.RIGHT, Relation.ABOVE, Relation.BELOW, Relation.NEAR)
_NEAR = 6  # heights of a text: what is within is next to it
_WORDLESS = (Kind.ICON, Kind.STEPPER, Kind.BUTTON, Kind.CHECKBOX)


@dataclass(frozen=True, slots=True)
class Control:
    """A control and where to click it."""

    box: PixelBox
    point: Point
    found: bool  # False: only the text was found


def control_of(
    screen: Screen, text: PixelBox, kind: Kind | None, relation: Relation | None
) -> Control:
    """The control that a text belongs to.

    `relation` says how the control lies to the text; None means that the text is written on it.
    """
    found: PixelBox | None = None
    if kind is Kind.CHECKBOX:
        found = _tick_box(screen, text)
    elif kind is Kind.TOGGLE:
        found = _switch(screen, text) or _tick_box(screen, text)
    elif kind in (Kind.FIELD, Kind.DROPDOWN):
        around = screen.frame_around(text) if relation is not Relation.BELOW else None
        found = around or _field(screen, text, relation)
    elif kind is Kind.STEPPER or (kind in _WORDLESS and relation in (*_BESIDE, Relation.OF)):
        found = _nearest_mark(screen, text, relation)
    if found is not None:
        return Control(found, _middle(found), True)
    if relation is Relation.BELOW and kind in (Kind.FIELD, Kind.TEXT):
        # Cells of tables have no frame of their own.
        high = text.height
        text = PixelBox(text.left, text.bottom, text.right, text.bottom + high)
    return Control(screen.frame_around(text) or text, _middle(text), False)


def _tick_box(screen: Screen, text: PixelBox) -> PixelBox | None:
    """The small square or circle right before a label."""
    high = text.height
    return _nearest(
        (
            mark
            for mark in screen.marks
            if _beside(mark, text)
            and mark.left < text.left + high // 2
            and text.left - mark.right <= 1.5 * high
            and 0.4 * high <= mark.height <= 1.6 * high
            and 0.6 <= mark.width / mark.height <= 1.6
        ),
        text,
    )


def _switch(screen: Screen, text: PixelBox) -> PixelBox | None:
    """The first longish shape to the right of a label."""
    return _nearest(
        (
            shape
            for shape in (*screen.marks, *screen.frames)
            if _beside(shape, text)
            and shape.left >= text.right
            and 1.3 <= shape.width / shape.height <= 3
            and 0.5 * text.height <= shape.height <= 2.5 * text.height
        ),
        text,
    )


def _field(screen: Screen, text: PixelBox, relation: Relation | None) -> PixelBox | None:
    """The frame after a label, in its row or below it."""
    high = text.height
    frames = [
        frame
        for frame in screen.frames
        if 0.7 * high <= frame.height <= 4 * high and frame.width >= 1.5 * frame.height
    ]
    after = (
        frame
        for frame in frames
        if _beside(frame, text) and 0 <= frame.left - text.right + high // 2 <= 15 * high
    )
    below = (
        frame
        for frame in frames
        if 0 <= frame.top - text.bottom + high // 2 <= 2 * high
        and frame.left - high <= text.left <= frame.right
    )
    if relation is Relation.BELOW:
        return _nearest(below, text)
    return _nearest(after, text) or _nearest(below, text)


def _nearest_mark(screen: Screen, text: PixelBox, relation: Relation | None) -> PixelBox | None:
    """The nearest thing that is not text, on the side that is said."""
    if relation in (Relation.ABOVE, Relation.BELOW):
        above = relation is Relation.ABOVE
        return _nearest(
            (m for m in screen.marks if (_below(text, m) if above else _below(m, text))), text
        )
    row = [mark for mark in screen.marks if _beside(mark, text)]
    left = [mark for mark in row if mark.right <= text.left + 4]
    right = [mark for mark in row if mark.left >= text.right - 4]
    if relation is Relation.LEFT:
        return _nearest(left, text)
    if relation is Relation.RIGHT:
        return _nearest(right, text)
    near = [mark for mark in (*left, *right) if _gap(mark, text) <= _NEAR * text.height]
    return _nearest(near or right, text)


def _beside(a: PixelBox, b: PixelBox) -> bool:
    """In one row: the middle of the lower one is within the higher one."""
    low, high = sorted((a, b), key=lambda box: box.height)
    return high.top <= (low.top + low.bottom) / 2 <= high.bottom


def _below(lower: PixelBox, upper: PixelBox) -> bool:
    across = min(lower.right, upper.right) - max(lower.left, upper.left)
    return across > 0 and lower.top >= upper.bottom - 4


def _gap(a: PixelBox, b: PixelBox) -> int:
    across = max(a.left, b.left) - min(a.right, b.right)
    down = max(a.top, b.top) - min(a.bottom, b.bottom)
    return max(across, 0) + max(down, 0)


def _nearest(boxes: Iterable[PixelBox], text: PixelBox) -> PixelBox | None:
    return min(boxes, key=lambda box: (_gap(box, text), box.left, box.top, box.width), default=None)


def _middle(box: PixelBox) -> Point:
    return (box.left + box.right) / 2, (box.top + box.bottom) / 2
