"""What all loaders have in common: from the rows of a published set to screenshots with elements.

A loader says which files a set consists of, how to read one of their entries and how boxes are
written; the checks, the conversion and the grouping by screenshot happen here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from uiproof.benchmarks.grounding.data import AnnotatedElement, BrokenItem
from uiproof.benchmarks.grounding.loaders import rows
from uiproof.benchmarks.grounding.loaders.conventions import (
    BAD_SHARE,
    Annotated,
    Convention,
    read_box,
    read_polygon,
    settle,
)
from uiproof.benchmarks.grounding.loaders.images import ImageFolder, Images, image_size
from uiproof.benchmarks.grounding.loaders.rows import BadRow, Entry, Row, Size
from uiproof.boxes import Box
from uiproof.errors import InputError

Tags = Mapping[str, str]

_REMEDY = "Check that the annotations and the images belong to the same release."


@dataclass(frozen=True, slots=True)
class Screen:
    """A screenshot with its elements, as a loader hands it over."""

    id: str
    image: Callable[[], Path]  # raises `InputError` where it is missing
    size: Size | None  # as annotated; None where only the image itself tells
    elements: tuple[AnnotatedElement, ...]
    tags: tuple[Tags, ...]  # of each element
    broken: tuple[BrokenItem, ...] = ()  # items that cannot be used


class Loader(Protocol):
    """Reads one kind of data set."""

    @property
    def name(self) -> str:
        """What the set is called, for example `screenspot-pro`."""

    def recognises(self, path: Path) -> bool:
        """Whether a folder or file is such a data set. Looks at names and first entries only."""

    def screens(self, path: Path) -> Sequence[Screen]:
        """All screenshots in a stable order; `InputError` where the set as a whole is wrong."""


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A set in the layout in which it was published.

    `patterns` are where its annotation files are inside a folder; the first group of patterns that
    finds something counts. `keys` are what its entries have, by which a file is told apart.
    """

    name: str
    patterns: tuple[tuple[str, ...], ...]
    keys: frozenset[str]
    read: Callable[[Entry, int, Path], Row]
    conventions: tuple[Convention, ...]
    entries: Callable[[Path], Iterable[Entry]] = rows.entries
    keys_of: Callable[[Path], frozenset[str]] = rows.first_keys
    images: Callable[[Path], Images] = ImageFolder
    suffixes: tuple[str, ...] = (".json",)

    def recognises(self, path: Path) -> bool:
        """Whether a folder or file is such a data set."""
        return next(self._files(path), None) is not None

    def screens(self, path: Path) -> Sequence[Screen]:
        """The screenshots of all annotation files, after the checks."""
        # Files of one set show the same screenshots: their elements belong together.
        collected: dict[str, _Collector] = {}
        names: set[str] = set()
        for file in self._files(path):
            images = self.images(file)
            sizes = _Sizes(images)
            read = list(self._rows(file))
            boxes = [_annotated(row, sizes) for row in read if isinstance(row, Row)]
            convention = settle(file, [box for box in boxes if box], self.conventions)
            bad: list[InputError] = []
            for row in read:
                if row.image not in collected:
                    name = _unused(_screen_id(row.image), names)
                    collected[row.image] = _Collector(name, row.image, images)
                if error := collected[row.image].add(row, convention, sizes):
                    bad.append(error)
            _check_share(file, bad, len(read))
        return [collector.screen() for collector in collected.values()]

    def _files(self, path: Path) -> Iterator[Path]:
        if path.is_file():
            if path.suffix in self.suffixes and self._is_ours(path):
                yield path
            return
        for group in self.patterns:
            found = [file for pattern in group for file in sorted(path.glob(pattern))]
            if any(map(self._is_ours, found)):
                # A damaged file beside good ones is part of the set: reading it says so.
                yield from (file for file in found if self._is_ours(file) or not self.keys_of(file))
                return

    def _is_ours(self, file: Path) -> bool:
        return self.keys <= self.keys_of(file)

    def _rows(self, file: Path) -> Iterator[Row | BadRow]:
        for number, entry in enumerate(self.entries(file)):
            try:
                yield self.read(entry, number, file)
            except InputError as error:
                message = f"{file}, item {number}: {error.message}"
                yield BadRow(f"{file.stem}-{number}", InputError(message, remedy=error.remedy))


class _Sizes:
    """Sizes of images: as annotated, or else from the image; None where that is missing."""

    def __init__(self, images: Images) -> None:
        self._images = images
        self._known: dict[str, Size | None] = {}

    def of(self, row: Row) -> Size | None:
        if row.size is not None:
            return row.size
        if row.image not in self._known:
            try:
                self._known[row.image] = image_size(self._images(row.image))
            except InputError:
                self._known[row.image] = None
        return self._known[row.image]


def _annotated(row: Row, sizes: _Sizes) -> Annotated | None:
    if row.kind != "box" or len(row.numbers) != 4:
        return None
    a, b, c, d = row.numbers
    # Fractions say all by themselves: images that need unpacking stay packed.
    fractions = max(map(abs, row.numbers)) <= 1
    return Annotated(row.id, (a, b, c, d), row.size if fractions else sizes.of(row))


class _Collector:
    """What is known of one screenshot so far."""

    def __init__(self, name: str, image: str, images: Images) -> None:
        self._name = name
        self._image = image
        self._images = images
        self._size: Size | None = None
        self._elements: list[AnnotatedElement] = []
        self._tags: list[Tags] = []
        self._broken: list[BrokenItem] = []
        self._ids: set[str] = set()

    def add(self, row: Row | BadRow, convention: Convention, sizes: _Sizes) -> InputError | None:
        """Add an item; returns what is wrong with its annotation."""
        identifier = _unused(row.id.replace("/", "__"), self._ids)
        case_id = f"{self._name}/{identifier}"
        if isinstance(row, BadRow):
            self._broken.append(BrokenItem(case_id, row.error))
            return row.error
        annotated = _annotated(row, sizes)
        if annotated and annotated.size is None and max(map(abs, annotated.quad)) > 1:
            self._broken.append(BrokenItem(case_id, self._why_no_size()))
            return None  # the annotation may be right
        self._size = self._size or row.size
        area = _area(row, annotated, convention)
        if area is None or row.size != self._size:
            wrong = f"its {row.kind} {list(row.numbers)} does not fit into its image"
            if area is not None:
                wrong = f"its image has {row.size} here, and {self._size} for another item"
            error = InputError(f"The item {row.id} is wrong: {wrong}.", remedy=_REMEDY)
            self._broken.append(BrokenItem(case_id, error))
            return error
        box, polygon = area
        self._elements.append(
            AnnotatedElement(
                id=identifier,
                bbox=box,
                text=row.text,
                element_type=row.element_type,
                instruction=row.instruction,
                polygon=polygon,
                refusal=row.kind == "refusal",
            )
        )
        self._tags.append(row.tags)
        return None

    def screen(self) -> Screen:
        return Screen(
            id=self._name,
            image=lambda: self._images(self._image),
            size=self._size,
            elements=tuple(self._elements),
            tags=tuple(self._tags),
            broken=tuple(self._broken),
        )

    def _why_no_size(self) -> InputError:
        try:
            image_size(self._images(self._image))
        except InputError as error:
            return error
        return InputError(f"{self._image} appeared only now.", remedy="Load the set again.")


def _area(
    row: Row, annotated: Annotated | None, convention: Convention
) -> tuple[Box, tuple[tuple[float, float], ...]] | None:
    """Box and polygon of an item as fractions, or None where they do not fit."""
    if row.kind == "refusal":
        return Box(0, 0, 0, 0), ()
    if row.kind == "polygon":
        points = read_polygon(row.numbers, row.size) if row.size else None
        if not points:
            return None
        xs, ys = zip(*points, strict=True)
        box = Box(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))
        return (box, points) if box.area > 0 else None
    found = read_box(annotated, convention) if annotated else None
    return (found, ()) if found else None


def _check_share(file: Path, bad: Sequence[InputError], total: int) -> None:
    if len(bad) > BAD_SHARE * total:
        raise InputError(
            f"{file}: {len(bad)} of {total} items are wrong, which is too many. "
            f"The first: {bad[0].message}",
            remedy=_REMEDY,
        )


def _screen_id(image: str) -> str:
    """A readable id without slashes, which separate screenshot and element."""
    path = PurePosixPath(image.replace("\\", "/"))
    parts = path.with_suffix("").parts if path.name else (image,)
    if len(parts) > 1 and parts[0] in {"images", "frames"}:
        parts = parts[1:]
    return "__".join(parts)


def _unused(name: str, taken: set[str]) -> str:
    unused, count = name, 1
    while unused in taken:
        count += 1
        unused = f"{name}#{count}"
    taken.add(unused)
    return unused
