"""Grounding cases: a question and a truth for each element of each screenshot, and answers.

    for case in cases(Path("OSWorld-G")):
        print(case.id, case.question.instruction)      # I8B0XHIW8M/I8B0XHIW8M-0 …

A path is a data set in our own format (`annotations.json` with `samples/*.png`) or a published set
in its original layout: a folder, or one of its files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from uiproof.benchmark import BrokenCase, Case
from uiproof.benchmarks.grounding.coordinates import Point
from uiproof.benchmarks.grounding.data import AnnotatedElement, BrokenItem
from uiproof.benchmarks.grounding.loaders import Screen, data_folder, image_size
from uiproof.benchmarks.grounding.published_sets import find_loader
from uiproof.errors import InputError, MethodError
from uiproof.geometry import Box

UIPROOF = "uiproof"
OPENADAPT = "openadapt-0.1.2"
PROTOCOLS: Mapping[str, str] = {
    UIPROOF: "our own rules",
    OPENADAPT: "the arithmetic of openadapt-grounding 0.1.2, for its six methods",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A screenshot and the instruction: all that a blind method sees."""

    image: Path
    width: int
    height: int
    instruction: str


@dataclass(frozen=True, slots=True)
class Truth:
    """The element that is asked for, and all elements of the same screenshot."""

    sample_id: str
    element: AnnotatedElement
    others: tuple[AnnotatedElement, ...]  # this one included; without instructions and metadata
    width: int
    height: int
    tags: Mapping[str, str] = field(default_factory=dict)  # what results are broken down by


GroundingCase = Case[Question, Truth]


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a part of the screenshot, and the answer to it."""

    region: Box  # of the whole screenshot
    sent: tuple[int, int]  # width and height in pixels of the picture, perhaps scaled
    raw: str = ""  # the text of the answer
    point: Point | None = None  # as fractions of the whole screenshot


@dataclass(frozen=True, slots=True)
class Answer:
    """The place of an element, as fractions of the whole screenshot.

    A box without a point means the middle of the box. `refused` says that there is no such element,
    `undetected` that a parser listed nothing that counts as the element. An answer with none of
    these could not be read.
    """

    point: Point | None = None
    box: Box | None = None
    refused: bool = False
    confidence: float | None = None
    looks: tuple[Look, ...] = ()  # in their order, without those at which the server failed
    assisted: AssistedFinding | None = None  # only of methods that were given the truth
    notes: tuple[str, ...] = ()  # for readers, such as the words of a planner
    undetected: bool = False

    @property
    def click(self) -> Point | None:
        """Return the point to click."""
        return self.point if self.point is not None or self.box is None else self.box.centre

    @property
    def attempts(self) -> int:
        """Return the number of crops tried; openadapt-grounding counts failed requests, too."""
        finding = self.assisted
        failed = finding.region_errors if finding and finding.protocol == OPENADAPT else ()
        return len(self.looks) + len(failed) or 1


@dataclass(frozen=True, slots=True)
class AssistedFinding:
    """The result under the rules of the described framework, which show methods the truth."""

    found: bool
    iou: float
    matched_text: str = ""
    region_errors: tuple[str, ...] = ()  # looks that failed because of the server
    protocol: str = UIPROOF  # whose rules, one of `PROTOCOLS`


def function_answer(generated: Any) -> Answer:
    """Return what a function returned as the judge takes it; `MethodError` where it is no place.

    A place is an `Answer`, a point `(x, y)` or a box `(x, y, width, height)` in fractions of the
    screenshot, or None for an element that is not there.
    """
    if isinstance(generated, Answer):
        return generated
    if generated is None:
        return Answer(refused=True)
    try:
        place = [float(number) for number in generated]
    except (TypeError, ValueError):
        place = []
    if len(place) not in (2, 4) or not all(0 <= number <= 1 for number in place):
        raise MethodError(
            f"{generated!r:.100} is not a place on a screenshot.",
            remedy="Return (x, y) or (x, y, width, height) from 0 to 1: divide pixels by the "
            "question's width and height.",
        )
    if len(place) == 2:
        return Answer(point=(place[0], place[1]))
    return Answer(box=Box(*place))


def recognises(path: Path) -> bool:
    """Return whether a folder or file is a known grounding data set."""
    return path.exists() and find_loader(data_folder(path)) is not None


def cases(path: Path) -> Iterable[GroundingCase | BrokenCase]:
    """Return the cases of a data set in a stable order, checked before the first is yielded.

    Raises `InputError` if the whole set is wrong: boxes that are not written as documented, or too
    many that do not fit into their images. Single items that cannot be used, and those whose image
    is missing or has another size than annotated, are `BrokenCase`s and count as wrong.
    """
    folder = data_folder(path)
    loader = find_loader(folder)
    if loader is None:
        raise InputError(
            f"{path} is not a known grounding data set.",
            remedy="docs/grounding-data.md shows the folders of each set.",
        )
    screens = loader.screens(folder)
    if not any(screen.elements or screen.broken for screen in screens):
        raise InputError(
            f"There is nothing to find in {path}.", remedy="Check that it is complete."
        )
    return _Cases(screens)


class _Cases:
    """Yields cases lazily: each image is opened when its turn comes."""

    def __init__(self, screens: Sequence[Screen]) -> None:
        self._screens = screens

    def __len__(self) -> int:
        return sum(len(screen.elements) + len(screen.broken) for screen in self._screens)

    def __iter__(self) -> Iterator[GroundingCase | BrokenCase]:
        for screen in self._screens:
            yield from _cases_of(screen)


def _cases_of(screen: Screen) -> Iterator[GroundingCase | BrokenCase]:
    if screen.elements:
        problem: InputError | None = None
        image, size = Path(), screen.size or (0, 0)
        try:
            image, size = screen.picture()
            image = image.absolute()
        except InputError as error:
            problem = error
        # Without what is not needed: all elements are sent to workers with every case.
        others = tuple(
            replace(element, instruction="", metadata={}, extra={})
            for element in screen.elements
            if not element.refusal
        )
        for element, tags in zip(screen.elements, screen.tags, strict=True):
            question = Question(image, *size, element.instruction)
            truth = Truth(screen.id, element, others, *size, tags)
            case = Case(f"{screen.id}/{element.id}", question, truth)
            yield case if problem is None else BrokenCase(case.id, problem, case)
    for item in screen.broken:
        yield BrokenCase(item.id, item.error, _known(screen, item))


def _known(screen: Screen, item: BrokenItem) -> GroundingCase | None:
    if item.element is None:
        return None
    size = item.size or screen.size or (0, 0)
    if not size[0]:
        with suppress(InputError):
            size = image_size(screen.image())
    question = Question(Path(), *size, item.element.instruction)
    return Case(item.id, question, Truth(screen.id, item.element, (), *size, item.tags))
