"""From a published file to predictions that can be scored."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from uiproof.benchmarks.grounding.answers import WHOLE, Answer, Look
from uiproof.benchmarks.grounding.data import AnnotatedElement, ElementType
from uiproof.benchmarks.grounding.predictions import conventions
from uiproof.benchmarks.grounding.predictions.conventions import (
    BoxForm,
    PointSpace,
    Reading,
    decide,
)
from uiproof.benchmarks.grounding.predictions.details import read_details
from uiproof.benchmarks.grounding.predictions.files import REMEDY, read_entries
from uiproof.benchmarks.grounding.predictions.model import (
    Content,
    Item,
    Numbers,
    Prediction,
    Predictions,
    Said,
    Size,
    Unreadable,
)
from uiproof.benchmarks.grounding.predictions.showdown import METHOD, read_showdown
from uiproof.benchmarks.grounding.predictions.zoom import is_capture, read_capture
from uiproof.benchmarks.grounding.verdicts import hits
from uiproof.boxes import Box
from uiproof.errors import InputError, UsageError

Choice = TypeVar("Choice", PointSpace, BoxForm)

_ELEMENT_TYPES: Mapping[str, ElementType] = {kind.value: kind for kind in ElementType}
_NO_BOX = Box(0.0, 0.0, 0.0, 0.0)


def read_predictions(
    path: Path,
    *,
    field: str | None = None,
    points: str | None = None,
    boxes: str | None = None,
    annotations: Path | None = None,
) -> Predictions:
    """Read a published file of predictions; which format it has shows from its content.

        read_predictions(Path("kv_capture.json")).methods.keys()    # step1, final

    A file may hold several predictions per item; each field is a method, and `field` picks one.
    What the numbers mean is decided by evidence, unless `points` (`pixels`, `unit`, `thousand`) or
    `boxes` (`corners`, `size`) says it. `annotations` is Showdown's `data.csv`, for files that
    have no targets. `InputError` says what is wrong with a file; an item that cannot be used is an
    `Unreadable` in its place, so that no denominator gets smaller.
    """
    with _without_collecting():
        return _read(path, field, points, boxes, annotations)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """What is read has no cycles, and looking for them takes longer than reading a large file."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read(
    path: Path,
    field: str | None,
    points: str | None,
    boxes: str | None,
    annotations: Path | None,
) -> Predictions:
    space = None if points is None else _choice(PointSpace, "points", points)
    form = None if boxes is None else _choice(BoxForm, "boxes", boxes)
    content = _content(path, field, annotations)
    if all(item.problem for item in content.items):
        raise InputError(
            f"Nothing in {path} can be scored. {content.items[0].where}: "
            f"{content.items[0].problem}.",
            remedy=REMEDY,
        )
    parts = [part for name in content.methods for part in content.best_of.get(name, (name,))]
    needed = tuple(dict.fromkeys(parts))
    reading = decide(content.items, needed, content.thousandths, points=space, boxes=form)
    targets = _targets(content.items, reading)
    scored = {name: _predictions(content.items, targets, reading, name) for name in needed}
    for name, others in content.best_of.items():
        if name in content.methods:
            scored[name] = _best_of([scored[other] for other in others])
    return Predictions(
        path=path,
        format=content.format,
        methods={name: scored[name] for name in content.methods},
        reading=reading,
        assisted=frozenset(content.best_of) & frozenset(content.methods),
        published=content.published,
        sizes_known=all(item.size for item in content.items if not item.problem),
    )


def _choice(kind: type[Choice], name: str, value: str) -> Choice:
    try:
        return kind(value)
    except ValueError:
        raise UsageError(
            f"{name} cannot be {value!r}.", remedy=f"Use one of: {', '.join(kind)}."
        ) from None


def _content(path: Path, field: str | None, annotations: Path | None) -> Content:
    entries = read_entries(path)
    if entries.kind == "csv":
        if field not in (None, METHOD):
            raise UsageError(f"{path} has no method {field}.", remedy=f"It has: {METHOD}.")
        return read_showdown(entries, annotations)
    if annotations is not None:
        raise UsageError(f"{path} has its own targets.", remedy="Leave out the annotations.")
    if is_capture(entries):
        return read_capture(entries, field)
    return read_details(entries, field)


@dataclass(frozen=True, slots=True)
class _Target:
    """Where an item's element is."""

    id: str
    size: Size
    element: AnnotatedElement


def _targets(items: Sequence[Item], reading: Reading) -> list[_Target]:
    unknown = conventions.canvas(items, reading.boxes, reading.points)
    taken: dict[str, int] = {}
    targets = []
    for item in items:
        name = _unused(f"{item.sample}/{item.name}", taken)
        size = item.size or unknown
        element = AnnotatedElement(
            id=name.removeprefix(f"{item.sample}/"),
            bbox=_NO_BOX if item.box is None else _box(item.box, reading.boxes, size),
            text="",
            element_type=_element_type(item.tags.get("ui_type", "")),
            instruction=item.instruction,
            refusal=item.negative,
            metadata=dict(item.tags),
        )
        targets.append(_Target(name, size, element))
    return targets


def _predictions(
    items: Sequence[Item], targets: Sequence[_Target], reading: Reading, method: str
) -> tuple[Prediction | Unreadable, ...]:
    space = reading.points[method]
    result: list[Prediction | Unreadable] = []
    for item, target in zip(items, targets, strict=True):
        said = item.said.get(method) or Said()
        problem = item.problem or _unscorable(item, said, space)
        if problem:
            error = InputError(f"{item.where}: {problem}.", remedy="Correct the file.")
            result.append(Unreadable(target.id, error, item.tags, said.stored))
            continue
        answer = _answer(item, said, space, target.size)
        click = answer.click
        rescored = (
            answer.refused
            if item.negative
            else (
                click is not None
                and not answer.refused
                and hits(target.element, click, *target.size)
            )
        )
        result.append(
            Prediction(
                id=target.id,
                sample_id=item.sample,
                image=item.image,
                width=target.size[0],
                height=target.size[1],
                element=target.element,
                answer=answer,
                tags=item.tags,
                stored=said.stored,
                rescored=rescored,
            )
        )
    return tuple(result)


def _unscorable(item: Item, said: Said, space: PointSpace) -> str:
    if item.negative or said.place is None or conventions.scale(item, space) is not None:
        return ""
    return f"points in {space.value} cannot be compared with its box without the image's size"


def _answer(item: Item, said: Said, space: PointSpace, size: Size) -> Answer:
    notes = () if said.stored is None else (f"stored: {'correct' if said.stored else 'wrong'}",)
    if said.place is None:
        return Answer(refused=said.refused, looks=(Look(WHOLE, size, said.raw),), notes=notes)
    place = _fractions(said.place, space, size)
    point = conventions.click(place)
    looks: tuple[Look, ...] = (Look(WHOLE, size, said.raw, point),)
    if said.crop is not None and item.size is not None:
        # The second look of a capture; what the first one saw is a method of its own.
        region = _box(said.crop, BoxForm.CORNERS, item.size)
        looks = (Look(WHOLE, size), Look(region, size, said.raw, point))
    if len(place) == 2:
        return Answer(point=point, looks=looks, notes=notes)
    left, top, right, bottom = conventions.corners(place, BoxForm.CORNERS)
    box = Box(left, top, right - left, bottom - top)
    return Answer(box=box, looks=looks, notes=notes)


def _fractions(place: Numbers, space: PointSpace, size: Size) -> Numbers:
    by = (1, 1) if space is PointSpace.UNIT else (1000, 1000)
    sides = size if space is PointSpace.PIXELS else by
    return tuple(value / sides[order % 2] for order, value in enumerate(place))


def _box(box: Numbers, form: BoxForm, size: Size) -> Box:
    if form is BoxForm.SIZE and conventions.is_unit(box):
        return Box(*box)  # as it is: sums and differences would only add noise
    left, top, right, bottom = conventions.corners(box, form)
    width, height = (1, 1) if conventions.is_unit(box) else size
    return Box(left / width, top / height, (right - left) / width, (bottom - top) / height)


def _best_of(
    methods: Sequence[Sequence[Prediction | Unreadable]],
) -> tuple[Prediction | Unreadable, ...]:
    """Of each item a prediction that is right, or the first if none is."""
    return tuple(
        next((one for one in same if isinstance(one, Prediction) and one.rescored), same[0])
        for same in zip(*methods, strict=True)
    )


def _element_type(name: str) -> ElementType:
    return _ELEMENT_TYPES.get(name.lower(), ElementType.UNKNOWN)


def _unused(name: str, taken: dict[str, int]) -> str:
    """The name, or with a number when it was used before: the same for the same file."""
    unused = name
    while unused in taken:
        taken[name] += 1
        unused = f"{name}#{taken[name]}"
    taken[unused] = 1
    return unused
