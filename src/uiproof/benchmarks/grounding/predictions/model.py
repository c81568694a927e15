"""What is in a file of predictions: first as written, then as places on screenshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from uiproof.benchmarks.grounding.answers import Answer
from uiproof.benchmarks.grounding.data import AnnotatedElement
from uiproof.errors import InputError

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.predictions.conventions import Reading

Numbers = tuple[float, ...]  # two for a point, four for a box
Size = tuple[int, int]

# How rates are split up; the keys of `Item.tags`.
TAGS = ("group", "platform", "application", "ui_type")


@dataclass(frozen=True, slots=True)
class Said:
    """What one method said about one item, in the file's own numbers."""

    place: Numbers | None = None  # None where nothing can be read
    refused: bool = False
    stored: bool | None = None  # whether the file calls it correct
    raw: str = ""
    crop: Numbers | None = None  # the part that was looked at last: corners in pixels


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a file, before it is decided what its numbers mean."""

    where: str  # for messages: the file and the place in it
    sample: str  # the screenshot
    name: str  # tells it from other items of the screenshot
    instruction: str = ""
    image: str = ""
    box: Numbers | None = None
    size: Size | None = None  # of the screenshot in pixels, where the file says it
    negative: bool = False  # there is no such element; to refuse is right
    tags: Mapping[str, str] = field(default_factory=dict)
    said: Mapping[str, Said] = field(default_factory=dict)  # by method
    problem: str = ""  # why the entry cannot be used


@dataclass(frozen=True, slots=True)
class Content:
    """What a reader of one format makes of a file."""

    format: str
    items: tuple[Item, ...]
    methods: tuple[str, ...]
    # Methods that take whichever of some others is right: bounds, made with the truth in view.
    best_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    thousandths: frozenset[str] = frozenset()  # methods that use them where numbers leave it open
    published: float | None = None  # the accuracy that the file itself states


@dataclass(frozen=True, slots=True)
class Prediction:
    """One answer with its target."""

    id: str  # `sample/element`
    sample_id: str
    image: str  # as the file names it; nothing needs to be there
    width: int
    height: int
    element: AnnotatedElement
    answer: Answer
    tags: Mapping[str, str]
    stored: bool | None  # whether the file calls it correct
    rescored: bool  # whether it is: the point inside of the box, edges included


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An item that cannot be scored, and why; it stays in every denominator."""

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
    reading: Reading  # what its numbers were taken for
    assisted: frozenset[str] = frozenset()  # methods that chose with the truth in view
    published: float | None = None  # the accuracy that the file itself states
    sizes_known: bool = True  # False where pixels are on a canvas that is only large enough
