"""How a published set writes boxes, and the check that its files really do.

The traps are known: the same set exists with corners in one copy and with width and height in
another, in pixels here and in fractions there. So every file is compared with what is documented
for it, and one that says otherwise is refused, not guessed at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from uiproof.boxes import Box
from uiproof.errors import InputError

Quad = tuple[float, float, float, float]

BAD_SHARE = 0.05  # more bad items than this and the whole set is refused
_TOLERANCE = 2.0  # pixels by which a box may leave the image; annotators draw by hand
_ENOUGH = 10  # boxes from which a pattern is no accident
_FRACTIONS_UP_TO = 1.5  # no real box in pixels has all its numbers below this


@dataclass(frozen=True, slots=True)
class Convention:
    """What the four numbers of a box mean."""

    ends: Literal["corners", "size"]  # x1, y1, x2, y2 or x, y, width, height
    unit: Literal["pixels", "fractions", "either"]
    swapped: bool = False  # the two corners may come in any order

    def __str__(self) -> str:
        ends = "[x1, y1, x2, y2]" if self.ends == "corners" else "[x, y, width, height]"
        unit = "pixels or fractions" if self.unit == "either" else self.unit
        return f"{ends} in {unit}"


CORNERS_PIXELS = Convention("corners", "pixels")
CORNERS_FRACTIONS = Convention("corners", "fractions")
SIZE_PIXELS = Convention("size", "pixels")
SIZE_FRACTIONS = Convention("size", "fractions")
_PLAIN = (CORNERS_PIXELS, SIZE_PIXELS, CORNERS_FRACTIONS, SIZE_FRACTIONS)


@dataclass(frozen=True, slots=True)
class Annotated:
    """A box as it is written, with the size of its image (None where only that is unknown)."""

    id: str
    quad: Quad
    size: tuple[int, int] | None


def settle(
    file: Path, boxes: Sequence[Annotated], documented: tuple[Convention, ...]
) -> Convention:
    """Which of the documented conventions a file follows.

    The first one counts unless the boxes speak against it. `InputError` where none of them fits,
    naming the one that does.
    """
    if not boxes:
        return documented[0]
    for convention in documented:
        if _fits(boxes, convention):
            return convention
    first = documented[0]
    found = [other for other in _PLAIN if other not in documented and _fits(boxes, other)]
    bad = _misfits(boxes, first)
    example = f"for example {list(bad[0].quad)} of {bad[0].id}" + (
        f" in an image of {bad[0].size[0]}x{bad[0].size[1]}" if bad[0].size else ""
    )
    message = f"{file}: {len(bad)} of {len(boxes)} boxes are not {first} as documented, {example}."
    if found:
        raise InputError(
            f"{message} They look like {found[0]}.",
            remedy="This is another copy of the set, or the wrong file: get the documented one.",
        )
    raise InputError(
        message, remedy="Check that the annotations and the images belong to the same release."
    )


def read_box(box: Annotated, convention: Convention) -> Box | None:
    """The box as fractions of its image, cut at the border; None where it does not fit into it."""
    unit = convention.unit
    if unit == "either":
        unit = "fractions" if max(map(abs, box.quad)) <= _FRACTIONS_UP_TO else "pixels"
    if unit == "pixels" and box.size is None:
        return None
    width, height = box.size or (1, 1)
    across, down = (width, height) if unit == "pixels" else (1, 1)
    left, top, right, bottom = (
        box.quad[0] / across,
        box.quad[1] / down,
        box.quad[2] / across,
        box.quad[3] / down,
    )
    if convention.ends == "size":
        right, bottom = left + right, top + bottom
    if convention.swapped:
        left, right = min(left, right), max(left, right)
        top, bottom = min(top, bottom), max(top, bottom)
    # Where the size is not known, fractions get what two pixels are on a small screen.
    slack_x, slack_y = (_TOLERANCE / n if box.size else 0.005 for n in (width, height))
    inside = -slack_x <= left < right <= 1 + slack_x and -slack_y <= top < bottom <= 1 + slack_y
    left, right = max(left, 0.0), min(right, 1.0)
    top, bottom = max(top, 0.0), min(bottom, 1.0)
    if not inside or right <= left or bottom <= top:
        return None
    return Box(left, top, right - left, bottom - top)


def read_polygon(
    numbers: Sequence[float], size: tuple[int, int]
) -> tuple[tuple[float, float], ...] | None:
    """The points of a polygon in pixels as fractions; None where it does not fit into its image."""
    if len(numbers) < 6 or len(numbers) % 2:
        return None
    width, height = size
    points = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    for x, y in points:
        if not (-_TOLERANCE <= x <= width + _TOLERANCE and -_TOLERANCE <= y <= height + _TOLERANCE):
            return None
    return tuple((min(max(x / width, 0), 1), min(max(y / height, 0), 1)) for x, y in points)


def _fits(boxes: Sequence[Annotated], convention: Convention) -> bool:
    return len(_misfits(boxes, convention)) <= BAD_SHARE * len(boxes)


def _misfits(boxes: Sequence[Annotated], convention: Convention) -> list[Annotated]:
    bad = [box for box in boxes if _contradicts(box, convention)]
    if convention.ends == "size" and len(boxes) >= _ENOUGH:
        # Corners near the top left fit as width and height too. But no real width is larger than
        # the distance to the left, and height to the top, for item after item.
        corners = Convention("corners", convention.unit)
        ordered = [box for box in boxes if not _contradicts(box, corners)]
        if len(boxes) - len(ordered) <= BAD_SHARE * len(boxes):
            return ordered
    if convention.swapped and len(bad) <= BAD_SHARE * len(boxes):
        # Corners in any order fit almost everything: numbers that are a width and a height too.
        # Real corners do not all fit when they are read that way.
        backwards = [b for b in boxes if b.quad[2] < b.quad[0] or b.quad[3] < b.quad[1]]
        size = Convention("size", convention.unit)
        if len(backwards) > BAD_SHARE * len(boxes) and _fits(boxes, size):
            return backwards
    return bad


def _contradicts(box: Annotated, convention: Convention) -> bool:
    small = max(map(abs, box.quad)) <= _FRACTIONS_UP_TO
    if small != (convention.unit == "fractions") and convention.unit != "either":
        return True
    if box.size is None and not small:
        # Only the order of the corners can be seen.
        x1, y1, x2, y2 = box.quad
        if convention.ends == "corners":
            return not convention.swapped and (x2 <= x1 or y2 <= y1)
        return x2 <= 0 or y2 <= 0
    return read_box(box, convention) is None
