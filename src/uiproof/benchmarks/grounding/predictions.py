"""Published predictions as answers that can be scored.

    predictions = read_predictions(Path("venus_72b_in_depth_3.json"))
    rates(predictions.methods["pred"]).rescored      # 0.7210626185958254

Files carry their boxes, so neither the screenshots nor the data set are needed. They don't say
whether points are pixels, fractions or thousandths, or whether boxes are two corners or a corner
and a size. The evidence, in this order: what is possible at all (a box that ends before it begins
is no pair of corners), which reading gives the verdicts that the file itself states, and, between
pixels and thousandths, which one hits more. How often boxes are hit never decides how boxes are
read: the larger reading would always win.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from uiproof.benchmarks.grounding.cases import Answer, Look
from uiproof.benchmarks.grounding.coordinates import WHOLE, Space
from uiproof.benchmarks.grounding.data import (
    AnnotatedElement,
    ElementType,
    Point,
    unused_name,
)
from uiproof.benchmarks.grounding.judge import is_hit
from uiproof.benchmarks.grounding.prediction_files import (
    ORACLE,
    REMEDY,
    Numbers,
    RawAnswer,
    RawItem,
    Size,
    read_content,
)
from uiproof.errors import InputError, UsageError
from uiproof.geometry import Box

T = TypeVar("T")

_SPACES = {space.value: space for space in (Space.PIXELS, Space.UNIT, Space.THOUSAND)}
_NOISE = 1e-6
_MAX_EVIDENCE = 4000  # items that are looked at, taken from all over the file
_MOST = 0.9  # the habit of a file; single answers of models may be anything
_IMPOSSIBLE = 0.2  # more impossible boxes than this are no slips of annotators


class BoxForm(StrEnum):
    """The meaning of the four numbers of a box."""

    CORNERS = "corners"  # x1, y1, x2, y2
    SIZE = "size"  # x, y, width, height


@dataclass(frozen=True, slots=True)
class Reading:
    """The meaning of the numbers of a file."""

    boxes: BoxForm
    points: Mapping[str, Space]  # by method


@dataclass(frozen=True, slots=True)
class Prediction:
    """One answer with its target."""

    id: str  # `sample/element`
    sample_id: str
    image: str  # as the file names it; it need not exist
    width: int
    height: int
    element: AnnotatedElement
    answer: Answer
    tags: Mapping[str, str]
    stored: bool | None  # whether the file calls it correct
    rescored: bool  # whether it is: the point inside of the box, edges included


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An item that cannot be scored; it stays in every denominator."""

    id: str
    error: InputError
    tags: Mapping[str, str] = field(default_factory=dict)
    stored: bool | None = None
    rescored: bool = False


@dataclass(frozen=True, slots=True)
class Predictions:
    """A file of predictions."""

    path: Path
    format: str
    methods: Mapping[str, tuple[Prediction | Unreadable, ...]]
    reading: Reading
    assisted: frozenset[str] = frozenset()  # methods that chose with the truth in view
    published: float | None = None  # the accuracy that the file itself states
    sizes_known: bool = True  # False where pixels are on a canvas that is only large enough


def read_predictions(
    path: Path,
    *,
    field: str | None = None,
    points: str | None = None,
    boxes: str | None = None,
    annotations: Path | None = None,
) -> Predictions:
    """Read a published file of predictions, whose format shows from its content.

        read_predictions(Path("kv_capture.json")).methods.keys()    # step1, final

    A file may hold several predictions per item; each field is a method, and `field` picks one.
    `points` (`pixels`, `unit`, `thousand`) and `boxes` (`corners`, `size`) overrule the evidence
    of the numbers. `annotations` is Showdown's `data.csv`, for files without targets. An item that
    cannot be used becomes an `Unreadable`, so that no denominator gets smaller.
    """
    space = None if points is None else _choice("points", points, _SPACES)
    form = None if boxes is None else _choice("boxes", boxes, {one.value: one for one in BoxForm})
    content = read_content(path, only=field, targets=annotations)
    items = content.items
    if all(item.problem for item in items):
        raise InputError(
            f"Nothing in {path} can be scored. {items[0].where}: {items[0].problem}.",
            remedy=REMEDY,
        )
    oracle = ORACLE in content.methods and bool(content.oracle_of)
    own = [method for method in content.methods if not oracle or method != ORACLE]
    needed = tuple(dict.fromkeys([*own, *(content.oracle_of if oracle else ())]))
    reading = _find_reading(items, needed, content.thousandths, space, form)
    targets = _targets(items, reading)
    scored = {method: _score(items, targets, reading, method) for method in needed}
    if oracle:
        scored[ORACLE] = tuple(
            next((one for one in same if one.rescored), same[0])
            for same in zip(*(scored[method] for method in content.oracle_of), strict=True)
        )
    return Predictions(
        path=path,
        format=content.format,
        methods={method: scored[method] for method in content.methods},
        reading=reading,
        assisted=frozenset({ORACLE} if oracle else ()),
        published=content.published,
        sizes_known=all(item.size for item in items if not item.problem),
    )


def _choice(name: str, value: str, known: Mapping[str, T]) -> T:
    if value not in known:
        raise UsageError(f"{name} cannot be {value!r}.", remedy=f"Use one of: {', '.join(known)}.")
    return known[value]


# --- targets and answers


def _targets(
    items: Sequence[RawItem], reading: Reading
) -> list[tuple[str, Size, AnnotatedElement]]:
    """Return the case id, the size of the screenshot and the element of each item."""
    canvas = _canvas(items, reading)
    taken: dict[str, int] = {}
    targets = []
    for item in items:
        name = unused_name(f"{item.sample}/{item.name}", taken)
        size = item.size or canvas
        kind = item.tags.get("ui_type", "").lower()
        element = AnnotatedElement(
            id=name.removeprefix(f"{item.sample}/"),
            bbox=Box(0.0, 0.0, 0.0, 0.0)
            if item.box is None
            else _box(item.box, reading.boxes, size),
            text="",
            element_type=ElementType(kind) if kind in list(ElementType) else ElementType.UNKNOWN,
            instruction=item.instruction,
            refusal=item.negative,
            metadata=dict(item.tags),
        )
        targets.append((name, size, element))
    return targets


def _score(
    items: Sequence[RawItem],
    targets: Sequence[tuple[str, Size, AnnotatedElement]],
    reading: Reading,
    method: str,
) -> tuple[Prediction | Unreadable, ...]:
    space = reading.points[method]
    result: list[Prediction | Unreadable] = []
    for item, (case_id, size, element) in zip(items, targets, strict=True):
        given = _given(item, method)
        problem = item.problem
        if not problem and not item.negative and given.place and _scale(item, space) is None:
            problem = f"points in {space} cannot be compared with its box without the image's size"
        if problem:
            error = InputError(f"{item.where}: {problem}.", remedy="Correct the file.")
            result.append(Unreadable(case_id, error, item.tags, given.stored))
            continue
        answer = _answer(item, given, space, size)
        click = answer.click
        hit = click is not None and not answer.refused and is_hit(element, click, *size)
        result.append(
            Prediction(
                id=case_id,
                sample_id=item.sample,
                image=item.image,
                width=size[0],
                height=size[1],
                element=element,
                answer=answer,
                tags=item.tags,
                stored=given.stored,
                rescored=answer.refused if item.negative else hit,
            )
        )
    return tuple(result)


def _answer(item: RawItem, given: RawAnswer, space: Space, size: Size) -> Answer:
    notes = () if given.stored is None else (f"stored: {'correct' if given.stored else 'wrong'}",)
    if given.place is None:
        return Answer(refused=given.refused, looks=(Look(WHOLE, size, given.raw),), notes=notes)
    sides = {Space.PIXELS: size, Space.UNIT: (1, 1)}.get(space, (1000, 1000))
    place = tuple(value / sides[order % 2] for order, value in enumerate(given.place))
    point = _click(place)
    looks: tuple[Look, ...] = (Look(WHOLE, size, given.raw, point),)
    if given.crop is not None and item.size is not None:
        # The second look of a capture; the first one is a method of its own.
        region = _box(given.crop, BoxForm.CORNERS, item.size)
        looks = (Look(WHOLE, size), Look(region, size, given.raw, point))
    if len(place) == 2:
        return Answer(point=point, looks=looks, notes=notes)
    left, top, right, bottom = _corners(place, BoxForm.CORNERS)
    return Answer(box=Box(left, top, right - left, bottom - top), looks=looks, notes=notes)


def _box(box: Numbers, form: BoxForm, size: Size) -> Box:
    unit = _is_unit(box)
    if form is BoxForm.SIZE and unit:
        return Box(*box)  # as it is: sums and differences would only add noise
    left, top, right, bottom = _corners(box, form)
    width, height = (1, 1) if unit else size
    return Box(left / width, top / height, (right - left) / width, (bottom - top) / height)


def _canvas(items: Sequence[RawItem], reading: Reading) -> Size:
    """Return a size for screenshots of unknown size: large enough for boxes and points."""
    pixels = [item for item in items if item.box is not None and not _is_unit(item.box)]
    if not pixels:
        return 1000, 1000
    ends = [_corners(item.box, reading.boxes) for item in pixels if item.box]
    width, height = max(end[2] for end in ends), max(end[3] for end in ends)
    places = [
        given.place
        for item in pixels
        for method, given in item.answers.items()
        if given.place and reading.points.get(method) is Space.PIXELS
    ]
    # A wild answer must not make the canvas wide: what lies far beyond is outside.
    right = max((p[0] for p in places if p[0] <= 1.25 * width), default=0)
    bottom = max((p[1] for p in places if p[1] <= 1.25 * height), default=0)
    return max(int(max(width, right)) + 1, 1), max(int(max(height, bottom)) + 1, 1)


def _corners(box: Numbers, form: BoxForm) -> Numbers:
    """Return left, top, right and bottom of a box; some annotators began at another corner."""
    a, b, c, d = box
    if form is BoxForm.SIZE:
        c, d = a + c, b + d
    return min(a, c), min(b, d), max(a, c), max(b, d)


def _click(place: Numbers) -> Point:
    """Return a point itself, or the middle of a box given by its corners."""
    if len(place) == 2:
        return place[0], place[1]
    return (place[0] + place[2]) / 2, (place[1] + place[3]) / 2


def _is_unit(numbers: Numbers) -> bool:
    """Return whether numbers are fractions: no element is within a pixel of the first corner."""
    return max(map(abs, numbers)) <= 1 + _NOISE


def _scale(item: RawItem, space: Space) -> tuple[float, float] | None:
    """Return the factors from points to the space of the item's box; None if unknown."""
    unit = item.box is not None and _is_unit(item.box)
    if unit is (space is not Space.PIXELS):
        part = 0.001 if space is Space.THOUSAND else 1.0
        return part, part
    if item.size is None:
        return None
    width, height = item.size
    if space is Space.PIXELS:
        return 1 / width, 1 / height
    part = 1.0 if space is Space.UNIT else 0.001
    return part * width, part * height


def _given(item: RawItem, method: str) -> RawAnswer:
    return item.answers.get(method) or RawAnswer()


# --- the meaning of the numbers


def _find_reading(
    items: Sequence[RawItem],
    methods: Sequence[str],
    thousandths: Collection[str],
    space: Space | None,
    form: BoxForm | None,
) -> Reading:
    """Choose the reading with the most evidence; `space` and `form` overrule it.

    `thousandths` are methods whose points are known to be that where the numbers leave it open.
    """
    usable = [item for item in items if item.box is not None and not item.problem]
    usable = usable[:: len(usable) // _MAX_EVIDENCE + 1]
    forms = [form] if form else _possible_forms(usable)
    spaces = {
        method: [space] if space else _possible_spaces(usable, method, method in thousandths)
        for method in methods
    }
    judged = [m for m in methods if any(_given(item, m).stored is not None for item in usable)]
    best = forms[0]
    if len(forms) > 1 and judged:
        # `max` keeps the first of equals, which is the more usual one.
        best = max(forms, key=lambda one: sum(_best(usable, m, spaces[m], one)[1] for m in judged))
    return Reading(best, {m: _best(usable, m, spaces[m], best)[0] for m in methods})


def _possible_forms(items: Sequence[RawItem]) -> list[BoxForm]:
    crossed = sum(box[2] <= box[0] or box[3] <= box[1] for item in items if (box := item.box))
    beyond = sum(map(_leaves_as_size, items))
    if crossed > _IMPOSSIBLE * len(items):
        possible = [BoxForm.SIZE, BoxForm.CORNERS]
        return possible if beyond > _IMPOSSIBLE * len(items) else [BoxForm.SIZE]
    possible = [BoxForm.CORNERS, BoxForm.SIZE]
    return [BoxForm.CORNERS] if beyond > _IMPOSSIBLE * len(items) else possible


def _leaves_as_size(item: RawItem) -> bool:
    """Return whether a box would leave the screenshot if its last two numbers were its size."""
    if item.box is None:
        return False
    size = (1, 1) if _is_unit(item.box) else item.size
    x, y, w, h = item.box
    return size is not None and (x + w > size[0] * (1 + _NOISE) or y + h > size[1] * (1 + _NOISE))


def _possible_spaces(items: Sequence[RawItem], method: str, thousandths_first: bool) -> list[Space]:
    places = [place for item in items if (place := _given(item, method).place) and any(place)]
    if not places:
        return [Space.PIXELS]
    if sum(map(_is_unit, places)) >= _MOST * len(places):
        return [Space.UNIT]
    if sum(max(place) <= 1000 for place in places) < _MOST * len(places):
        return [Space.PIXELS]
    usual = [Space.PIXELS, Space.THOUSAND]
    return usual[::-1] if thousandths_first else usual


def _best(
    items: Sequence[RawItem], method: str, spaces: Sequence[Space], form: BoxForm
) -> tuple[Space, int]:
    """Return the space that agrees most with the stored verdicts, else hits most; and how often."""

    def evidence(space: Space) -> tuple[int, int]:
        agree = hits = 0
        for item in items:
            given = _given(item, method)
            hit = _hits(item, given, space, form)
            hits += hit
            agree += given.stored is not None and hit == given.stored
        return agree, hits

    counts = {space: evidence(space) for space in spaces}
    best = max(counts, key=lambda space: counts[space])
    return best, counts[best][0]


def _hits(item: RawItem, given: RawAnswer, space: Space, form: BoxForm) -> bool:
    factors = _scale(item, space)
    if given.place is None or item.box is None or factors is None:
        return False
    x, y = _click(given.place)
    x, y = x * factors[0], y * factors[1]
    left, top, right, bottom = _corners(item.box, form)
    return left - _NOISE <= x <= right + _NOISE and top - _NOISE <= y <= bottom + _NOISE
