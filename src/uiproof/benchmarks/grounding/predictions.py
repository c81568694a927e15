"""Decide what the numbers of a prediction file mean, and compare its answers with their targets.

Readers (`prediction_files`) return numbers as they are written. What they mean is said by the user,
else by the format. A data set that is here gives targets and sizes of screenshots to files that
lack them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath

from uiproof.benchmark import Case
from uiproof.benchmarks.grounding.cases import Answer, GroundingCase, Look, cases
from uiproof.benchmarks.grounding.coordinates import (
    WHOLE,
    Contract,
    Space,
    parse_contract,
)
from uiproof.benchmarks.grounding.data import (
    AnnotatedElement,
    ElementType,
    Point,
    unused_name,
)
from uiproof.benchmarks.grounding.judge import is_hit
from uiproof.benchmarks.grounding.parsing import locate
from uiproof.benchmarks.grounding.prediction_files import (
    ORACLE,
    REMEDY,
    FileContent,
    Numbers,
    RawAnswer,
    RawItem,
    Size,
    read_content,
)
from uiproof.errors import InputError, UsageError
from uiproof.geometry import Box

_NOISE = 1e-6
_MOST = 0.9  # the habit of a file; single answers of models may be anything
_UNIT, _PIXELS, _THOUSAND = (Contract(s) for s in (Space.UNIT, Space.PIXELS, Space.THOUSAND))


class BoxForm(StrEnum):
    """The meaning of the four numbers of a box."""

    CORNERS = "corners"  # x1, y1, x2, y2
    SIZE = "size"  # x, y, width, height


@dataclass(frozen=True, slots=True)
class Reading:
    """The meaning of the numbers of a file."""

    boxes: BoxForm
    points: Mapping[str, Contract]  # by method


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
    in_set: int | None = None  # the number of items of the data set, where it is here
    items: tuple[RawItem, ...] = ()  # as they are written


def read_predictions(
    path: Path,
    *,
    field: str | None = None,
    points: str | None = None,
    boxes: str | None = None,
    annotations: Path | None = None,
    dataset: Path | None = None,
    columns: Mapping[str, str] | None = None,
) -> Predictions:
    """Read a file of predictions, whose format shows from its content.

        read_predictions(Path("kv_capture.json")).methods.keys()    # step1, final

    A file may hold several predictions per item; each field is a method, and `field` picks one.
    `points` (a contract such as `pixels`, `thousand` or `resized:28`) and `boxes` (`corners`,
    `size`) overrule what the format says. `annotations` is Showdown's `data.csv`, for files
    without targets; `dataset` is a data set with the targets; `columns` names the columns of a file
    of no known format. An item that cannot be used becomes an `Unreadable`, so that no denominator
    gets smaller.
    """
    contract = None if points is None else parse_contract(points)
    if boxes is not None and boxes not in tuple(BoxForm):
        raise UsageError(f"boxes cannot be {boxes!r}.", remedy=f"Use {' or '.join(BoxForm)}.")
    content = read_content(path, only=field, targets=annotations, columns=columns)
    in_set = None
    if dataset is not None:
        content, in_set = _with_targets(content, dataset)
    items = content.items
    if all(item.problem for item in items):
        raise InputError(
            f"Nothing in {path} can be scored. {items[0].where}: {items[0].problem}.",
            remedy="Give the data set's folder as DATASET, for its targets."
            if dataset is None and "target" in items[0].problem
            else REMEDY,
        )
    oracle = ORACLE in content.methods and bool(content.oracle_of)
    own = [method for method in content.methods if not oracle or method != ORACLE]
    needed = tuple(dict.fromkeys([*own, *(content.oracle_of if oracle else ())]))
    form = None if boxes is None else BoxForm(boxes)
    reading = _reading(content, needed, contract or content.contract, form)
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
        in_set=in_set,
        items=items,
    )


# --- targets and answers


def _with_targets(content: FileContent, dataset: Path) -> tuple[FileContent, int]:
    """Give items the targets, sizes and ids that they have in a data set.

    They belong together by their id, by screenshot and instruction, or by an instruction that is
    there only once. What the data set does not have stays as the file has it.
    """
    known = [case for case in cases(dataset) if isinstance(case, Case)]
    index: dict[object, list[GroundingCase]] = defaultdict(list)
    for case in known:
        instruction = case.question.instruction.strip()
        stems = (case.question.image.stem, PurePosixPath(case.truth.sample_id).stem)
        own: set[object] = {case.id, case.truth.element.id, instruction}
        for name in own | {(stem, instruction) for stem in stems}:
            index[name].append(case)
    items = []
    for item in content.items:
        stem = PurePosixPath(item.image.replace("\\", "/") or item.sample).stem
        names = (
            f"{item.sample}/{item.name}",
            (stem, item.instruction),
            item.instruction,
            item.name,
        )
        found = next((index[name][0] for name in names if len(index.get(name, ())) == 1), None)
        if found is None or not item.answers:
            items.append(item)
            continue
        truth = found.truth
        items.append(
            replace(
                item,
                sample=truth.sample_id,
                name=truth.element.id,
                instruction=found.question.instruction,
                image=str(found.question.image),
                box=None,
                polygon=(),
                size=(truth.width, truth.height),
                negative=truth.element.refusal,
                tags={**truth.tags, **item.tags},
                problem="",
                element=truth.element,
            )
        )
    return replace(content, items=tuple(items)), len(known)


def other_target(box: Numbers, reading: Reading, size: Size) -> tuple[BoxForm, Box]:
    """Return the form that the box of a target was not read in, and the box in that form."""
    other = BoxForm.SIZE if reading.boxes is BoxForm.CORNERS else BoxForm.CORNERS
    return other, _unit_box(box, other, size)


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
        polygon = tuple((x / size[0], y / size[1]) for x, y in _pairs(item.polygon))
        box = Box(0.0, 0.0, 0.0, 0.0)
        if item.box is not None:
            box = _unit_box(item.box, reading.boxes, size)
        elif polygon:
            box = Box.around(polygon)
        element = item.element or AnnotatedElement(
            id=name.removeprefix(f"{item.sample}/"),
            bbox=box,
            text="",
            element_type=ElementType(kind) if kind in list(ElementType) else ElementType.UNKNOWN,
            instruction=item.instruction,
            polygon=polygon,
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
    contract = reading.points[method]
    result: list[Prediction | Unreadable] = []
    for item, (case_id, size, element) in zip(items, targets, strict=True):
        given = _given(item, method)
        problem = item.problem
        if not problem and given.place and not _comparable(item, contract):
            problem = (
                f"points in {contract.space} cannot be compared with its box without the image's "
                "size"
            )
        if problem:
            error = InputError(f"{item.where}: {problem}.", remedy="Correct the file.")
            result.append(Unreadable(case_id, error, item.tags, given.stored))
            continue
        answer = _answer(item, given, contract, size)
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


def _answer(item: RawItem, given: RawAnswer, contract: Contract, size: Size) -> Answer:
    notes = () if given.stored is None else (f"stored: {'correct' if given.stored else 'wrong'}",)
    try:
        place = locate(given.parsed, contract, *size)
    except UsageError:  # the picture is too thin for smart-resize
        place = None
    if place is None:
        refused = given.parsed.kind == "refusal"
        return Answer(refused=refused, looks=(Look(WHOLE, size, given.raw),), notes=notes)
    point = place.centre if isinstance(place, Box) else place
    looks: tuple[Look, ...] = (Look(WHOLE, size, given.raw, point),)
    if given.crop is not None and item.size is not None:
        # The second look of a capture; the first one is a method of its own.
        region = _unit_box(given.crop, BoxForm.CORNERS, item.size)
        looks = (Look(WHOLE, size), Look(region, size, given.raw, point))
    if isinstance(place, Box):
        return Answer(box=place, looks=looks, notes=notes)
    # To point beside the picture is how some models say that there is no such element.
    refused = item.negative and max(point) < 0
    return Answer(point=None if refused else point, refused=refused, looks=looks, notes=notes)


def _unit_box(box: Numbers, form: BoxForm, size: Size) -> Box:
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
        if given.place and method in reading.points
        if reading.points[method].space is Space.PIXELS
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


def _pairs(numbers: Numbers) -> list[Point]:
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _is_unit(numbers: Numbers) -> bool:
    """Return whether numbers are fractions: no element is within a pixel of the first corner."""
    return max(map(abs, numbers)) <= 1 + _NOISE


def _comparable(item: RawItem, contract: Contract) -> bool:
    """Return whether points can be compared with the target: in its unit, or by its size."""
    if item.size is not None or item.negative:
        return True
    unit = item.box is not None and _is_unit(item.box)
    relative = contract.space not in (Space.PIXELS, Space.RESIZED)
    return unit is relative and contract.space is not Space.RESIZED


def _given(item: RawItem, method: str) -> RawAnswer:
    return item.answers.get(method) or RawAnswer()


def _reading(
    content: FileContent, methods: Sequence[str], contract: Contract | None, form: BoxForm | None
) -> Reading:
    """Return what the user says, or what the format says; numbers within 0-1 are fractions."""

    def points(method: str) -> Contract:
        places = [place for item in content.items if (place := _given(item, method).place)]
        if places and sum(map(_is_unit, places)) >= _MOST * len(places):
            return _UNIT
        return _THOUSAND if method in content.thousandths else _PIXELS

    spaces = {method: contract or points(method) for method in methods}
    return Reading(form or BoxForm(content.boxes), spaces)
