"""Decide what the numbers of a prediction file mean, and compare its answers with their targets.

Readers (`prediction_files`) return numbers as they are written. What they mean is said by the user,
else by the format. A data set that is here gives targets and sizes of screenshots to files that
lack them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from uiproof.benchmark import BrokenCase, Case
from uiproof.benchmarks.grounding.cases import Answer, GroundingCase, Look, Question, Truth, cases
from uiproof.benchmarks.grounding.coordinates import WHOLE, Contract, Space, parse_contract
from uiproof.benchmarks.grounding.data import AnnotatedElement, ElementType, unused_name
from uiproof.benchmarks.grounding.judge import is_hit
from uiproof.benchmarks.grounding.parsing import locate
from uiproof.benchmarks.grounding.prediction_files import (
    ORACLE,
    REMEDY,
    BoxForm,
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


@dataclass(frozen=True, slots=True)
class Prediction:
    """One answer with its target; of a `BrokenCase` it is wrong and stays in every denominator."""

    case: GroundingCase | BrokenCase
    answer: Answer
    tags: Mapping[str, str]
    stored: bool | None  # whether the file calls it correct
    rescored: bool  # whether it is: the point inside of the box, edges included


@dataclass(frozen=True, slots=True)
class Predictions:
    """A file of predictions, and the meaning of its numbers."""

    path: Path
    format: str
    methods: Mapping[str, tuple[Prediction, ...]]
    points: Mapping[str, Contract]  # by method
    boxes: BoxForm
    items: tuple[RawItem, ...]  # as they are written
    assisted: frozenset[str] = frozenset()  # methods that have seen the truth
    in_set: int | None = None  # the number of items of the data set, where it is here

    @property
    def sizes_known(self) -> bool:
        """Return whether sizes of screenshots are known; else pixels are on a large canvas."""
        return all(item.size for item in self.items if not item.problem)


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
    of no known format. An item that cannot be used stays in every denominator.
    """
    contract = None if points is None else parse_contract(points)
    if boxes not in (None, "corners", "size"):
        raise UsageError(f"boxes cannot be {boxes!r}.", remedy="Use corners or size.")
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
    oracle = content.oracle_of if ORACLE in content.methods else ()
    needed = dict.fromkeys([*(m for m in content.methods if not (oracle and m == ORACLE)), *oracle])
    spaces = {one: contract or content.contract or _contract(content, one) for one in needed}
    form: BoxForm = "size" if (boxes or content.boxes) == "size" else "corners"
    targets = _targets(items, form, spaces)
    scored = {
        method: tuple(
            _score(item, target, method, space) for item, target in zip(items, targets, strict=True)
        )
        for method, space in spaces.items()
    }
    if oracle:
        scored[ORACLE] = tuple(
            next((one for one in same if one.rescored), same[0])
            for same in zip(*(scored[method] for method in oracle), strict=True)
        )
    return Predictions(
        path=path,
        format=content.format,
        methods={method: scored[method] for method in content.methods},
        points=spaces,
        boxes=form,
        items=items,
        assisted=frozenset({ORACLE} if oracle else ()),
        in_set=in_set,
    )


def _contract(content: FileContent, method: str) -> Contract:
    """Return what the format says; numbers within 0-1 are fractions."""
    places = [place for item in content.items if (place := _given(item, method).place)]
    if places and sum(map(_is_unit, places)) >= _MOST * len(places):
        return Contract(Space.UNIT)
    return Contract(Space.THOUSAND if method in content.thousandths else Space.PIXELS)


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
        whole = f"{item.sample}/{item.name}"
        names = (whole, (stem, item.instruction), item.instruction, item.name)
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


# --- targets and answers


def _targets(
    items: Sequence[RawItem], form: BoxForm, points: Mapping[str, Contract]
) -> list[GroundingCase]:
    """Return the cases of all items, also of those with a problem."""
    canvas = _canvas(items, form, points)
    taken: dict[str, int] = {}
    found = []
    others: dict[str, list[AnnotatedElement]] = defaultdict(list)
    for item in items:
        case_id = unused_name(f"{item.sample}/{item.name}", taken)
        size = item.size or canvas
        element = item.element or _element(item, case_id, form, size)
        found.append((case_id, size, element))
        if not item.problem:
            # Cases travel to other processes: leave out what does not tell elements apart.
            others[item.sample].append(replace(element, instruction="", metadata={}))
    shared = {sample: tuple(elements) for sample, elements in others.items()}
    return [
        Case(
            case_id,
            Question(Path(item.image or item.sample), *size, element.instruction),
            Truth(item.sample, element, shared.get(item.sample, ()), *size, dict(item.tags)),
        )
        for item, (case_id, size, element) in zip(items, found, strict=True)
    ]


def _element(item: RawItem, case_id: str, form: BoxForm, size: Size) -> AnnotatedElement:
    pairs = zip(item.polygon[::2], item.polygon[1::2], strict=False)
    polygon = tuple((x / size[0], y / size[1]) for x, y in pairs)
    box = Box(0.0, 0.0, 0.0, 0.0)
    if item.box is not None:
        box = unit_box(item.box, form, size)
    elif polygon:
        box = Box.around(polygon)
    kind = item.tags.get("ui_type", "").lower()
    return AnnotatedElement(
        id=case_id.removeprefix(f"{item.sample}/"),
        bbox=box,
        text="",
        element_type=ElementType(kind) if kind in list(ElementType) else ElementType.UNKNOWN,
        instruction=item.instruction,
        polygon=polygon,
        refusal=item.negative,
        metadata=dict(item.tags),
    )


def _score(item: RawItem, case: GroundingCase, method: str, contract: Contract) -> Prediction:
    given, size = _given(item, method), (case.truth.width, case.truth.height)
    problem = item.problem
    if not problem and given.place and not _comparable(item, contract):
        problem = (
            f"points in {contract.space} cannot be compared with its box without the image's size"
        )
    if problem:
        error = InputError(f"{item.where}: {problem}.", remedy="Correct the file.")
        return Prediction(BrokenCase(case.id, error), Answer(), item.tags, given.stored, False)
    answer = _answer(item, given, contract, size)
    hit = answer.refused
    if not item.negative:
        click = answer.click
        hit = not hit and click is not None and is_hit(case.truth.element, click, *size)
    return Prediction(case, answer, item.tags, given.stored, hit)


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
        # The second look of a capture; the first one is another method.
        region = unit_box(given.crop, "corners", item.size)
        looks = (Look(WHOLE, size), Look(region, size, given.raw, point))
    if isinstance(place, Box):
        return Answer(box=place, looks=looks, notes=notes)
    # To point beside the picture is how some models say that there is no such element.
    refused = item.negative and max(point) < 0
    return Answer(point=None if refused else point, refused=refused, looks=looks, notes=notes)


def unit_box(box: Numbers, form: BoxForm, size: Size) -> Box:
    """Return a box of four numbers as fractions of a screenshot of this size."""
    unit = _is_unit(box)
    if form == "size" and unit:
        return Box(*box)  # as it is: sums and differences would only add noise
    left, top, right, bottom = _corners(box, form)
    width, height = (1, 1) if unit else size
    return Box(left / width, top / height, (right - left) / width, (bottom - top) / height)


def _canvas(items: Sequence[RawItem], form: BoxForm, points: Mapping[str, Contract]) -> Size:
    """Return a size for screenshots of unknown size: large enough for boxes and points."""
    pixels = [item for item in items if item.box is not None and not _is_unit(item.box)]
    if not pixels:
        return 1000, 1000
    ends = [_corners(item.box, form) for item in pixels if item.box]
    methods = [method for method, space in points.items() if space.space is Space.PIXELS]
    answers = (_given(item, method).place for item in pixels for method in methods)
    places = [place for place in answers if place]
    sides = []
    for axis in (0, 1):
        end = max(one[2 + axis] for one in ends)
        # A wild answer must not make the canvas wide: what lies far beyond is outside.
        near = max((one[axis] for one in places if one[axis] <= 1.25 * end), default=0)
        sides.append(max(int(max(end, near)) + 1, 1))
    return sides[0], sides[1]


def _corners(box: Numbers, form: BoxForm) -> Numbers:
    """Return left, top, right and bottom of a box; some annotators began at another corner."""
    a, b, c, d = box
    if form == "size":
        c, d = a + c, b + d
    return min(a, c), min(b, d), max(a, c), max(b, d)


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
