"""What the numbers of a file mean, decided by evidence.

Points are pixels, fractions or thousandths of the screenshot; boxes are two corners, or a corner
and a size. Files don't say which. The evidence, in this order: what is possible at all (a box that
ends before it begins is no pair of corners), which reading gives the verdicts that the file itself
states, and, between points in pixels and thousandths, which one hits more. How often boxes are hit
never decides how boxes are read: the larger reading would always win.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from uiproof.benchmarks.grounding.predictions.model import Item, Numbers, Said, Size

_NOISE = 1e-6
_ENOUGH = 4000  # items that are looked at, taken from all over the file
_MOST = 0.9  # a file's own habit; single answers of models may be anything
_IMPOSSIBLE = 0.2  # more impossible boxes than this are no slips of annotators


class PointSpace(StrEnum):
    """What the numbers of a point count."""

    PIXELS = "pixels"
    UNIT = "unit"  # fractions of the screenshot
    THOUSAND = "thousand"  # thousandths of the screenshot


class BoxForm(StrEnum):
    """What the four numbers of a box are."""

    CORNERS = "corners"  # x1, y1, x2, y2
    SIZE = "size"  # x, y, width, height


@dataclass(frozen=True, slots=True)
class Reading:
    """What the numbers of a file are taken for."""

    boxes: BoxForm
    points: Mapping[str, PointSpace]  # by method


def decide(
    items: Sequence[Item],
    methods: Sequence[str],
    thousandths: Collection[str] = (),
    *,
    points: PointSpace | None = None,
    boxes: BoxForm | None = None,
) -> Reading:
    """The reading of a file; what the user says about it counts more than any evidence.

    `thousandths` are methods whose points are known to be that where the numbers leave it open.
    """
    usable = [item for item in items if item.box is not None and not item.problem]
    usable = usable[:: len(usable) // _ENOUGH + 1]
    forms = [boxes] if boxes else _possible_forms(usable)
    spaces: dict[str, list[PointSpace]] = {
        method: [points] if points else _possible_spaces(usable, method, method in thousandths)
        for method in methods
    }
    judged = [m for m in methods if any(_said(item, m).stored is not None for item in usable)]
    form = forms[0]
    if len(forms) > 1 and judged:
        # `max` keeps the first of equals, which is the more usual one.
        form = max(forms, key=lambda one: sum(_best(usable, m, spaces[m], one)[1] for m in judged))
    return Reading(form, {m: _best(usable, m, spaces[m], form)[0] for m in methods})


def corners(box: Numbers, form: BoxForm) -> Numbers:
    """Left, top, right and bottom of a box; some annotators began at another corner."""
    a, b, c, d = box
    if form is BoxForm.SIZE:
        c, d = a + c, b + d
    return min(a, c), min(b, d), max(a, c), max(b, d)


def is_unit(box: Numbers) -> bool:
    """Whether a box is in fractions: no element is smaller than a pixel in the first corner."""
    return max(map(abs, box)) <= 1 + _NOISE


def scale(item: Item, space: PointSpace) -> tuple[float, float] | None:
    """What to multiply a point with to get to the space of the item's box; None if unknown."""
    unit = item.box is not None and is_unit(item.box)
    if space is PointSpace.PIXELS:
        if not unit:
            return 1.0, 1.0
        return None if item.size is None else (1 / item.size[0], 1 / item.size[1])
    part = 1.0 if space is PointSpace.UNIT else 0.001
    if unit:
        return part, part
    return None if item.size is None else (part * item.size[0], part * item.size[1])


def canvas(items: Iterable[Item], form: BoxForm, reading: Mapping[str, PointSpace]) -> Size:
    """A size for screenshots whose size is in no file: large enough for boxes and points."""
    pixels = [item for item in items if item.box is not None and not is_unit(item.box)]
    if not pixels:
        return 1000, 1000
    ends = [corners(item.box, form) for item in pixels if item.box]
    width, height = max(end[2] for end in ends), max(end[3] for end in ends)
    places = [
        said.place
        for item in pixels
        for method, said in item.said.items()
        if said.place and reading.get(method) is PointSpace.PIXELS
    ]
    # A wild answer must not make the canvas wide: what lies far beyond is outside.
    right = max((p[0] for p in places if p[0] <= 1.25 * width), default=0)
    bottom = max((p[1] for p in places if p[1] <= 1.25 * height), default=0)
    return max(int(max(width, right)) + 1, 1), max(int(max(height, bottom)) + 1, 1)


def _possible_forms(items: Sequence[Item]) -> list[BoxForm]:
    if not items:
        return [BoxForm.CORNERS]
    crossed = sum(1 for item in items if item.box and _crossed(item.box)) / len(items)
    beyond = sum(1 for item in items if _beyond(item)) / len(items)
    if crossed > _IMPOSSIBLE:
        return [BoxForm.SIZE] if beyond <= _IMPOSSIBLE else [BoxForm.SIZE, BoxForm.CORNERS]
    return [BoxForm.CORNERS] if beyond > _IMPOSSIBLE else [BoxForm.CORNERS, BoxForm.SIZE]


def _crossed(box: Numbers) -> bool:
    return box[2] <= box[0] or box[3] <= box[1]


def _beyond(item: Item) -> bool:
    """Whether a box would leave the screenshot if its last two numbers were its size."""
    if item.box is None:
        return False
    unit = is_unit(item.box)
    if not unit and item.size is None:
        return False
    width, height = (1, 1) if unit or item.size is None else item.size
    x, y, w, h = item.box
    return x + w > width * (1 + _NOISE) or y + h > height * (1 + _NOISE)


def _possible_spaces(
    items: Sequence[Item], method: str, thousandths_first: bool
) -> list[PointSpace]:
    places = [place for item in items if (place := _said(item, method).place) and any(place)]
    if not places:
        return [PointSpace.PIXELS]
    small = sum(1 for place in places if max(map(abs, place)) <= 1 + _NOISE)
    if small >= _MOST * len(places):
        return [PointSpace.UNIT]
    thousand = sum(1 for place in places if max(place) <= 1000)
    if thousand < _MOST * len(places):
        return [PointSpace.PIXELS]
    usual = [PointSpace.PIXELS, PointSpace.THOUSAND]
    return usual[::-1] if thousandths_first else usual


def _best(
    items: Sequence[Item], method: str, spaces: Sequence[PointSpace], form: BoxForm
) -> tuple[PointSpace, int]:
    """The space that agrees best with the stored verdicts, and how often; else that hits most."""
    counts = [(_agreeing(items, method, space, form), space) for space in spaces]
    count, space = max(counts, key=lambda one: one[0])
    return space, count[0]


def _agreeing(
    items: Sequence[Item], method: str, space: PointSpace, form: BoxForm
) -> tuple[int, int]:
    """How many verdicts of the file a reading gives, and how many hits."""
    agree = hits = 0
    for item in items:
        said = _said(item, method)
        hit = _hits(item, said, space, form)
        hits += hit
        agree += said.stored is not None and hit == said.stored
    return agree, hits


def _hits(item: Item, said: Said, space: PointSpace, form: BoxForm) -> bool:
    factors = scale(item, space)
    if said.place is None or item.box is None or factors is None:
        return False
    x, y = click(said.place)
    x, y = x * factors[0], y * factors[1]
    left, top, right, bottom = corners(item.box, form)
    return left - _NOISE <= x <= right + _NOISE and top - _NOISE <= y <= bottom + _NOISE


def click(place: Numbers) -> tuple[float, float]:
    """A point itself, or the middle of a box given by its corners."""
    if len(place) == 2:
        return place[0], place[1]
    return (place[0] + place[2]) / 2, (place[1] + place[3]) / 2


def _said(item: Item, method: str) -> Said:
    return item.said.get(method) or Said()
