"""Which data sets a studio opens, and what is in them.

    library = Library((Path("screenshots"), Path("interaction2code-demo")))
    for data_set in library.sets():
        print(data_set.id, data_set.name, data_set.format)

A data set is a folder of screenshots, a grounding data set in any layout that is read here, or
pages with interactions in the published layout. It is only ever read: see `edits`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TypeAlias

from uiproof.benchmarks.grounding.data import AnnotatedElement, BrokenItem, annotations_file
from uiproof.benchmarks.grounding.loaders import Loader, data_folder, find_loader
from uiproof.benchmarks.grounding.loaders.images import image_size
from uiproof.benchmarks.interaction2code import layout
from uiproof.benchmarks.interaction2code.graph import Graph
from uiproof.errors import InputError, UiproofError
from uiproof.remote.mirror import name_of
from uiproof.studio.datasets.pictures import SUFFIXES, kept_inside, media_type

SCREENSHOTS = "screenshots"  # the format of a folder that holds nothing but pictures
_MOST_SCREENSHOTS = 50_000
_FRESH_SECONDS = 2.0  # a page asks for all of its pictures at once
_LEVELS_UP = 3  # how far above an annotation file its pictures may be


@dataclass(frozen=True, slots=True)
class Shot:
    """A screenshot, with the elements that its data set says are on it."""

    name: str
    find: Callable[[], Path]
    annotated_size: tuple[int, int] | None = None
    elements: tuple[AnnotatedElement, ...] = ()
    tags: tuple[Mapping[str, str], ...] = ()  # of each element
    broken: tuple[BrokenItem, ...] = ()  # what its data set says of it and cannot be used

    def picture(self) -> tuple[Path, tuple[int, int]]:
        """The file and its size; raises `InputError` where it is missing or not what it seems."""
        path = self.find()
        media_type(path)
        size = image_size(path)
        said = self.annotated_size or size
        if said != size:
            raise InputError(
                f"{path.name} has {size[0]} x {size[1]} pixels, but is annotated with "
                f"{said[0]} x {said[1]}."
            )
        return path, size


@dataclass(frozen=True, slots=True)
class ScreenshotSet:
    """Screenshots to draw boxes on."""

    id: str
    name: str
    path: Path
    format: str
    shots: Mapping[str, Shot]

    def shot(self, name: str) -> Shot:
        """The screenshot of this name; raises `InputError` if there is none."""
        if name not in self.shots:
            raise InputError(f"There is no screenshot {name!r} in {self.name}.")
        return self.shots[name]


@dataclass(frozen=True, slots=True)
class InteractionSet:
    """Pages with interactions to correct."""

    id: str
    name: str
    path: Path
    pages: Mapping[str, Graph | layout.BrokenPage]
    format: str = "interaction2code"

    def page(self, name: str) -> Graph:
        """The page of this name; raises `InputError` if there is none that can be read."""
        found = self.pages.get(name)
        if isinstance(found, Graph):
            return found
        raise found.error if found else InputError(f"There is no page {name!r} in {self.name}.")

    def picture(self, page: str, node: str) -> tuple[Path, tuple[int, int]]:
        """A screenshot of a page; raises `InputError` where it has none of this name."""
        graph = self.page(page)
        if not any(node in (one.source, one.target) for one in graph.interactions):
            raise InputError(f"There is no screenshot {node!r} of page {page}.")
        path = kept_inside(graph.screenshot(node), self.path)
        media_type(path)
        return path, image_size(path)


@dataclass(frozen=True, slots=True)
class BrokenSet:
    """A data set that cannot be opened, and why."""

    name: str
    error: UiproofError


DataSet: TypeAlias = ScreenshotSet | InteractionSet


class Library:
    """The data sets of a studio, read again when they change."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(dict.fromkeys(paths))
        self._opened: dict[Path, _Opened] = {}
        self._ids: dict[Path, str] = {}

    def sets(self) -> list[DataSet | BrokenSet]:
        """All of them, in the order they were named."""
        return [self._open(path) for path in self._paths]

    def get(self, id: str) -> DataSet:
        """The data set with this id; raises `InputError` if there is none."""
        for path in self._paths:
            if path not in self._ids:
                self._ids[path] = dataset_id(path)
            if self._ids[path] == id:
                found = self._open(path)
                if isinstance(found, BrokenSet):
                    raise found.error
                return found
        raise InputError(
            "There is no such data set.", remedy="Name it with --dataset when you start the studio."
        )

    def _open(self, path: Path) -> DataSet | BrokenSet:
        kept = self._opened.get(path)
        if kept and (monotonic() - kept.at < _FRESH_SECONDS or kept.is_as_it_was()):
            return kept.found
        try:
            found: DataSet | BrokenSet = open_dataset(path)
        except UiproofError as error:
            found = BrokenSet(path.name, error)
        annotated = isinstance(found, ScreenshotSet) and found.format != SCREENSHOTS
        state = _state(found.path) if annotated and not isinstance(found, BrokenSet) else None
        self._opened[path] = _Opened(found, monotonic(), state)
        return found


@dataclass(frozen=True, slots=True)
class _Opened:
    """A data set as it was when it was read."""

    found: DataSet | BrokenSet
    at: float
    state: object  # of its annotations, which may take seconds to read; None: just look again

    def is_as_it_was(self) -> bool:
        return (
            self.state is not None
            and not isinstance(self.found, BrokenSet)
            and self.state == _state(self.found.path)
        )


def open_dataset(path: Path) -> DataSet:
    """Open one data set; raises `InputError` where it is none."""
    where = _located(path)
    return _open(path.name, where, data_folder(where))


def dataset_id(path: Path) -> str:
    """A short name for addresses and for the studio's file; the same as long as it stays there.

    What was fetched from a URL stays there, wherever its copy is.
    """
    try:
        where = name_of(_located(path))
    except UiproofError:
        where = str(path.absolute())
    return hashlib.sha256(os.fsencode(where)).hexdigest()[:10]


def _located(path: Path) -> Path:
    """Where a data set is: a path, or a name that `uiproof run --dataset` knows too."""
    if path.expanduser().exists():
        return path.expanduser().absolute()
    from uiproof.registry import resolve_dataset  # loads all benchmarks

    return resolve_dataset(str(path))[1]


def _open(name: str, path: Path, folder: Path) -> DataSet:
    loader = find_loader(folder)
    id = dataset_id(path)
    if loader is not None:
        return ScreenshotSet(id, name, path, loader.name, dict(_annotated_shots(loader, folder)))
    if layout.recognises(path):
        pages = {page.page: page for page in layout.read_dataset(path)}
        return InteractionSet(id, name, path if path.is_dir() else path.parent, pages)
    shots = dict(_plain_shots(path))
    if not shots:
        raise InputError(
            f"There is nothing to annotate in {path}.",
            remedy="Name a folder of screenshots (PNG, JPEG, WebP), a grounding data set, or pages "
            "with interactions.",
        )
    return ScreenshotSet(id, name, path, SCREENSHOTS, shots)


def _annotated_shots(loader: Loader, folder: Path) -> Iterator[tuple[str, Shot]]:
    for screen in loader.screens(folder):
        find = partial(_inside_the_set, folder, screen.image)
        shot = Shot(screen.id, find, screen.size, screen.elements, screen.tags, screen.broken)
        yield screen.id, shot


def _inside_the_set(path: Path, find: Callable[[], Path]) -> Path:
    from uiproof.settings import Settings

    picture = find().absolute()
    unpacked = Settings.from_environment().cache_dir.absolute() / "grounding"
    if picture.is_relative_to(unpacked):
        return kept_inside(picture, unpacked)
    folder = (path if path.is_dir() else path.parent).absolute()
    around = (folder, *folder.parents[:_LEVELS_UP])
    base = next((one for one in around if picture.is_relative_to(one)), folder)
    # A snapshot of the Hugging Face cache is made of links into its neighbour `blobs`.
    if base.parent.name == "snapshots":
        return kept_inside(picture, base, base.parent.parent / "blobs")
    return kept_inside(picture, base)


def _plain_shots(path: Path) -> Iterator[tuple[str, Shot]]:
    if path.is_file():
        if path.suffix.lower() in SUFFIXES:
            yield path.name, Shot(path.name, partial(kept_inside, path, path.parent))
        return
    files = []
    for folder, below, names in os.walk(path):
        below[:] = [name for name in below if not name.startswith(".")]
        files += [
            Path(folder, name)
            for name in names
            if name.lower().endswith(SUFFIXES) and not name.startswith(".")
        ]
        if len(files) > _MOST_SCREENSHOTS:
            raise InputError(
                f"There are more than {_MOST_SCREENSHOTS:,} pictures in {path}.",
                remedy="Name one of its folders.",
            )
    for file in sorted(files, key=lambda one: _natural(one.relative_to(path).as_posix())):
        # Names that are not UTF-8 cannot be shown; what replaces them is still one of a kind.
        name = os.fsencode(file.relative_to(path)).decode("utf-8", "backslashreplace")
        yield name, Shot(name, partial(kept_inside, file, path))


def _state(path: Path) -> object:
    """What changes when somebody replaces the annotations of a data set."""
    folder = data_folder(path)
    paths = [path for path in (folder, annotations_file(folder)) if path.exists()]
    return [(path, path.stat().st_mtime_ns) for path in paths]


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sorts `2.png` before `10.png`."""
    return [
        (0, int(part), "") if part.isdecimal() and len(part) < 30 else (1, 0, part.lower())
        for part in re.split(r"(\d+)", name)
    ]
