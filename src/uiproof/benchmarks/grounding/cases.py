"""Grounding data as cases: one for each element of each screenshot.

    for case in cases(Path("OSWorld-G")):
        print(case.id, case.question.instruction)      # I8B0XHIW8M/I8B0XHIW8M-0 …

A path is a data set in our own format (`annotations.json` with `samples/*.png`) or one of the
published sets as it lies on disk; a folder means all of it, one of its files that part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from uiproof.benchmarks.grounding.data import AnnotatedElement
from uiproof.benchmarks.grounding.loaders import Screen, data_folder, find_loader
from uiproof.benchmarks.grounding.loaders.images import image_size
from uiproof.engine.types import BrokenCase, Case
from uiproof.errors import InputError


@dataclass(frozen=True, slots=True)
class Question:
    """What a method sees: a screenshot and what to find on it."""

    image: Path
    width: int
    height: int
    instruction: str


@dataclass(frozen=True, slots=True)
class Truth:
    """Where the element is, and what else is annotated on the same screenshot."""

    sample_id: str
    element: AnnotatedElement
    # What is on the screenshot, this element included; without their instructions and metadata.
    others: tuple[AnnotatedElement, ...]
    width: int
    height: int
    tags: Mapping[str, str] = field(default_factory=dict)  # what results are broken down by


GroundingCase = Case[Question, Truth]


def recognises(path: Path) -> bool:
    """Whether a folder or file is a grounding data set that is known here."""
    return path.exists() and find_loader(data_folder(path)) is not None


def cases(path: Path) -> Iterable[GroundingCase | BrokenCase]:
    """The cases of a data set, in a stable order; what they are is checked before the first comes.

    Raises `InputError` where the set as a whole is wrong: boxes that are not written as documented,
    or too many that do not fit into their images. Single items that cannot be used, and those whose
    image is missing or has another size than annotated, come as `BrokenCase`.
    """
    folder = data_folder(path)
    loader = find_loader(folder)
    if loader is None:
        raise InputError(
            f"{path} is not a grounding data set that is known here.",
            remedy="docs/grounding-data.md says how each of them lies on disk.",
        )
    screens = loader.screens(folder)
    if not any(screen.elements or screen.broken for screen in screens):
        raise InputError(
            f"There is nothing to find in {path}.", remedy="Check that it is complete."
        )
    return _Cases(screens)


class _Cases:
    """Makes cases while they are asked for: images are looked at one by one."""

    def __init__(self, screens: Sequence[Screen]) -> None:
        self._screens = screens

    def __len__(self) -> int:
        return sum(len(screen.elements) + len(screen.broken) for screen in self._screens)

    def __iter__(self) -> Iterator[GroundingCase | BrokenCase]:
        for screen in self._screens:
            yield from _cases_of(screen)


def _cases_of(screen: Screen) -> Iterator[GroundingCase | BrokenCase]:
    if screen.elements:
        ids = [f"{screen.id}/{element.id}" for element in screen.elements]
        try:
            image, width, height = _checked_image(screen)
        except InputError as error:
            for case_id in ids:
                yield BrokenCase(case_id, error)
        else:
            others = tuple(_slim(element) for element in screen.elements if not element.refusal)
            for case_id, element, tags in zip(ids, screen.elements, screen.tags, strict=True):
                question = Question(image, width, height, element.instruction)
                truth = Truth(screen.id, element, others, width, height, tags)
                yield Case(case_id, question, truth)
    for item in screen.broken:
        yield BrokenCase(item.id, item.error)


def _checked_image(screen: Screen) -> tuple[Path, int, int]:
    image = screen.image().absolute()
    size = image_size(image)
    if screen.size is not None and size != screen.size:
        raise InputError(
            f"{image} has {size[0]}x{size[1]} pixels, but is annotated with "
            f"{screen.size[0]}x{screen.size[1]}.",
            remedy="Get the images of the same release, in their original size.",
        )
    return image, *size


def _slim(element: AnnotatedElement) -> AnnotatedElement:
    """An element with only what tells it from others: it travels with every case."""
    return replace(element, instruction="", metadata={}, extra={})
