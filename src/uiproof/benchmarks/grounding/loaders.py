"""Loaders of grounding data sets: annotation files become screenshots with checked elements.

`published_sets` lists the known data sets; each one is a `PublishedSet`, which names its annotation
files, reads one of their entries as a `Row` and documents how its boxes are written. This module
reads the files, finds and unpacks the images, verifies and converts the boxes, and groups the rows
by screenshot.
"""

from __future__ import annotations

import csv
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial
from hashlib import sha256
from itertools import islice
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, Protocol

from uiproof.benchmarks.grounding.data import (
    AnnotatedElement,
    BrokenItem,
    ElementType,
    Point,
    unused_name,
)
from uiproof.errors import InputError, MissingDependencyError
from uiproof.files import access, write_atomic
from uiproof.geometry import Box
from uiproof.settings import Settings

Entry = Mapping[str, Any]
Size = tuple[int, int]  # width, height in pixels
Tags = Mapping[str, str]
Images = Callable[[str], Path]  # annotated name -> file; raises `InputError` where it is missing

_MAX_BAD_SHARE = 0.05  # more bad items than this and the whole file is refused
_DOWNLOAD_AGAIN = "Download the file again, or correct it."
_SAME_RELEASE = "Check that the annotations and the images belong to the same release."


@dataclass(frozen=True, slots=True)
class Screen:
    """A screenshot with its elements, as a loader returns it."""

    id: str
    image: Callable[[], Path]  # raises `InputError` where it is missing
    size: Size | None = None  # as annotated
    elements: tuple[AnnotatedElement, ...] = ()
    tags: tuple[Tags, ...] = ()  # of each element
    broken: tuple[BrokenItem, ...] = ()

    def picture(self) -> tuple[Path, Size]:
        """Return the image and its size; raise `InputError` if it is not as annotated."""
        path = self.image()
        size = image_size(path)
        if self.size is not None and size != self.size:
            raise InputError(
                f"{path} has {size[0]}x{size[1]} pixels, but is annotated with "
                f"{self.size[0]}x{self.size[1]}.",
                remedy="Get the images of the same release, in their original size.",
            )
        return path, size


class Loader(Protocol):
    """Reads one kind of data set."""

    @property
    def name(self) -> str:
        """Return the name of the data set, for example `screenspot-pro`."""

    def recognises(self, path: Path) -> bool:
        """Return whether a folder or file is such a data set, by names and first entries."""

    def screens(self, path: Path) -> Sequence[Screen]:
        """Return all screenshots in a stable order; `InputError` where the set is unusable."""


def data_folder(path: Path) -> Path:
    """Return the path itself, or the current snapshot if it is a Hugging Face cache folder."""
    snapshots, reference = path / "snapshots", path / "refs" / "main"
    if not snapshots.is_dir() or not (path / "blobs").is_dir():
        return path
    if reference.is_file():
        named = snapshots / reference.read_text("utf-8").strip()
        if named.is_dir():
            return named
    found = [entry for entry in snapshots.iterdir() if entry.is_dir()]
    return max(found, key=lambda entry: entry.stat().st_mtime, default=path)


def image_size(path: Path) -> Size:
    """Return width and height from the header of an image file."""
    from uiproof.vision import images

    try:
        return images.size(path)
    except InputError as error:
        raise InputError(
            f"{path} is not a readable image. {error.message}", remedy="Download the set again."
        ) from error


# --- rows


@dataclass(frozen=True, slots=True)
class Row:
    """One item of a published set, as it is written there."""

    id: str
    image: str  # rows with the same image share the screenshot
    instruction: str
    numbers: tuple[float, ...]  # four of a box, or x, y, x, y … of a polygon
    kind: Literal["box", "polygon", "refusal"] = "box"
    size: Size | None = None  # of the image, where it is annotated
    text: str = ""
    element_type: ElementType = ElementType.UNKNOWN
    tags: Tags = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BadRow:
    """An item that cannot be read."""

    id: str
    error: InputError
    image: str = "unreadable"


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_TYPES = {kind.value: kind for kind in ElementType} | {
    "label": ElementType.TEXT,
    "dropdown menu": ElementType.DROPDOWN,
    "input box": ElementType.TEXT_FIELD,
    "search bar": ElementType.TEXT_FIELD,
    "text field": ElementType.TEXT_FIELD,
    "text field/input box": ElementType.TEXT_FIELD,
}


def read_text(entry: Entry, key: str) -> str:
    """Return the text of a key; `InputError` where there is none."""
    value = entry.get(key)
    if isinstance(value, str) and value.strip():
        return value
    raise InputError(f"There is no text in `{key}`.", remedy=_DOWNLOAD_AGAIN)


def read_numbers(value: Any) -> tuple[float, ...]:
    """Return the numbers of a list, or of a text such as `<1, 2, 3, 4>`."""
    if isinstance(value, str):
        return tuple(map(float, _NUMBER.findall(value)))
    if isinstance(value, list | tuple):
        good = [n for n in value if isinstance(n, int | float) and not isinstance(n, bool)]
        if len(good) == len(value) and all(map(isfinite, good)):
            return tuple(map(float, good))
    raise InputError(f"These are not coordinates: {value!r}.", remedy=_DOWNLOAD_AGAIN)


def read_size(value: Any) -> Size | None:
    """Return the size of an image, or None where it is not annotated."""
    if value is None:
        return None
    numbers = read_numbers(value)
    if len(numbers) != 2 or min(numbers) < 1:
        raise InputError(f"This is not the size of an image: {value!r}.", remedy=_DOWNLOAD_AGAIN)
    return round(numbers[0]), round(numbers[1])


def read_type(*names: Any) -> ElementType:
    """Return the element type if all names mean the same one."""
    kinds = {_TYPES.get(str(name).lower(), ElementType.UNKNOWN) for name in names}
    return kinds.pop() if len(kinds) == 1 else ElementType.UNKNOWN


def make_tags(**tags: Any) -> dict[str, str]:
    """Return tags as texts, without empty ones."""
    return {name: str(value) for name, value in tags.items() if value not in (None, "")}


# --- annotation files


def read_entries(file: Path) -> Iterator[Entry]:
    """Yield the entries of a JSON, JSON lines, CSV or parquet file."""
    with access(file, "read"):
        if file.suffix == ".parquet":
            yield from _parquet_entries(file)
        elif file.suffix == ".csv":
            try:
                with file.open(encoding="utf-8-sig", newline="") as rows:
                    yield from csv.DictReader(rows)
            except (csv.Error, UnicodeDecodeError) as error:
                raise InputError(f"{file} is not CSV: {error}.", remedy=_DOWNLOAD_AGAIN) from error
        elif file.suffix == ".jsonl":
            with file.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    if line.strip():
                        entry = _json(line, file, f", line {number}")
                        yield entry if isinstance(entry, dict) else {}
        else:
            content = _json(file.read_bytes(), file)
            if not isinstance(content, list):
                raise InputError(f"{file} is not a list of items.", remedy=_DOWNLOAD_AGAIN)
            yield from (entry if isinstance(entry, dict) else {} for entry in content)


def first_keys(file: Path) -> frozenset[str]:
    """Return the keys of the first entries, by which a set is recognised; none if unreadable."""
    try:
        status = file.stat()
    except OSError:
        return frozenset()
    return _first_keys(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _first_keys(file: Path, _changed: int, _size: int) -> frozenset[str]:
    try:
        if file.suffix == ".parquet":
            return frozenset(_open_parquet(file).schema_arrow.names)
        return frozenset().union(*islice(read_entries(file), 20))  # a single one may be damaged
    except InputError:
        return frozenset()


def _json(text: bytes, file: Path, place: str = "") -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        remedy = _DOWNLOAD_AGAIN
        if text.startswith(b"version https://git-lfs"):
            remedy = "It is only a pointer of git LFS: run `git lfs pull` in that folder."
        raise InputError(f"{file}{place} is not JSON: {error}.", remedy=remedy) from error


# --- box conventions

# The same set exists with corners in one copy and with width and height in another, in pixels here
# and in fractions there. So every file is verified against its documented convention, and one that
# contradicts it is refused instead of guessed at.

_TOLERANCE = 2.0  # pixels by which a box may leave the image; annotators draw by hand
_MIN_PATTERN = 10  # boxes from which a pattern is no accident
_MAX_FRACTION = 1.5  # no real box in pixels has all its numbers below this


@dataclass(frozen=True, slots=True)
class Convention:
    """The meaning of the four numbers of a box."""

    ends: Literal["corners", "size"]  # x1, y1, x2, y2 or x, y, width, height
    unit: Literal["pixels", "fractions", "either"]
    swapped: bool = False  # the two corners may come in any order

    def __str__(self) -> str:
        ends = "[x1, y1, x2, y2]" if self.ends == "corners" else "[x, y, width, height]"
        unit = "pixels or fractions" if self.unit == "either" else self.unit
        return f"{ends} in {unit}"


CORNERS_PIXELS = Convention("corners", "pixels")
CORNERS_FRACTIONS = Convention("corners", "fractions")
SIZE_PIXELS = Convention("size", "pixels")
SIZE_FRACTIONS = Convention("size", "fractions")
_PLAIN = (CORNERS_PIXELS, SIZE_PIXELS, CORNERS_FRACTIONS, SIZE_FRACTIONS)


class _RawBox(NamedTuple):
    """A box as it is written, with the size of its image where that is known."""

    id: str
    numbers: tuple[float, ...]
    size: Size | None

    @property
    def largest(self) -> float:
        return max(map(abs, self.numbers))


def _find_convention(
    file: Path, boxes: Sequence[_RawBox], documented: tuple[Convention, ...]
) -> Convention:
    """Return the first documented convention that the boxes don't contradict.

    `InputError` where there is none, naming the convention that does fit.
    """
    first = documented[0]
    if not boxes:
        return first
    for convention in documented:
        if _fits(boxes, convention):
            return convention
    bad = _misfits(boxes, first)
    message = (
        f"{file}: {len(bad)} of {len(boxes)} boxes are not {first} as documented, "
        f"for example {list(bad[0].numbers)} of {bad[0].id}"
    )
    message += f" in an image of {bad[0].size[0]}x{bad[0].size[1]}." if bad[0].size else "."
    found = [other for other in _PLAIN if other not in documented and _fits(boxes, other)]
    if found:
        raise InputError(
            f"{message} They look like {found[0]}.",
            remedy="This is another copy of the set, or the wrong file: get the documented one.",
        )
    raise InputError(message, remedy=_SAME_RELEASE)


def _convert_box(box: _RawBox, convention: Convention) -> Box | None:
    """Return the box as fractions, clipped to the image; None where it does not fit into it."""
    unit = convention.unit
    if unit == "either":
        unit = "fractions" if box.largest <= _MAX_FRACTION else "pixels"
    if unit == "pixels" and box.size is None:
        return None
    width, height = box.size or (1, 1)
    across, down = (width, height) if unit == "pixels" else (1, 1)
    a, b, c, d = box.numbers
    left, top, right, bottom = a / across, b / down, c / across, d / down
    if convention.ends == "size":
        right, bottom = left + right, top + bottom
    if convention.swapped:
        left, right = min(left, right), max(left, right)
        top, bottom = min(top, bottom), max(top, bottom)
    # Without a size, fractions get the tolerance of two pixels on a small screen.
    slack_x, slack_y = (_TOLERANCE / n if box.size else 0.005 for n in (width, height))
    inside = -slack_x <= left < right <= 1 + slack_x and -slack_y <= top < bottom <= 1 + slack_y
    left, right = max(left, 0.0), min(right, 1.0)
    top, bottom = max(top, 0.0), min(bottom, 1.0)
    if not inside or right <= left or bottom <= top:
        return None
    return Box(left, top, right - left, bottom - top)


def _convert_polygon(numbers: Sequence[float], size: Size) -> tuple[Point, ...] | None:
    """Return the points as fractions; None where the polygon does not fit into its image."""
    if len(numbers) < 6 or len(numbers) % 2:
        return None
    width, height = size
    points = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    for x, y in points:
        if not (-_TOLERANCE <= x <= width + _TOLERANCE and -_TOLERANCE <= y <= height + _TOLERANCE):
            return None
    return tuple((min(max(x / width, 0), 1), min(max(y / height, 0), 1)) for x, y in points)


def _fits(boxes: Sequence[_RawBox], convention: Convention) -> bool:
    return len(_misfits(boxes, convention)) <= _MAX_BAD_SHARE * len(boxes)


def _misfits(boxes: Sequence[_RawBox], convention: Convention) -> list[_RawBox]:
    bad = [box for box in boxes if _contradicts(box, convention)]
    if convention.ends == "size" and len(boxes) >= _MIN_PATTERN:
        # Corners near the top left fit as width and height too. But no real width is larger than
        # the distance to the left, and height to the top, for item after item.
        corners = Convention("corners", convention.unit)
        ordered = [box for box in boxes if not _contradicts(box, corners)]
        if len(boxes) - len(ordered) <= _MAX_BAD_SHARE * len(boxes):
            return ordered
    if convention.swapped and len(bad) <= _MAX_BAD_SHARE * len(boxes):
        # Corners in any order fit almost everything: numbers that are a width and a height too.
        # Real corners do not all fit when they are read that way.
        backwards = [b for b in boxes if b.numbers[2] < b.numbers[0] or b.numbers[3] < b.numbers[1]]
        size = Convention("size", convention.unit)
        if len(backwards) > _MAX_BAD_SHARE * len(boxes) and _fits(boxes, size):
            return backwards
    return bad


def _contradicts(box: _RawBox, convention: Convention) -> bool:
    small = box.largest <= _MAX_FRACTION
    if small != (convention.unit == "fractions") and convention.unit != "either":
        return True
    if box.size is None and not small:
        # Only the order of the corners can be seen.
        x1, y1, x2, y2 = box.numbers
        if convention.ends == "corners":
            return not convention.swapped and (x2 <= x1 or y2 <= y1)
        return x2 <= 0 or y2 <= 0
    return _convert_box(box, convention) is None


# --- images

_IMAGE_FOLDERS = (
    "images",
    "frames",
    "screenspot_imgs",
    "screenspotv2_image",
    "screenspotv2_imgs",
    "offline_images",
    "MMBench-GUI-OfflineImages",
    "MMBench-GUI-OfflineImages/offline_images",
)
_MAX_UNPACKED = 256 << 20  # bytes of one image of an archive; screenshots have a few million
_SIGNATURES = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"RIFF": ".webp"}


class ImageFolder:
    """Images beside an annotation file, or in the folders and zip archives around it.

    `levels` is the number of folders from the file up to the root of the set. With `shorten`, the
    front of an annotated path may be one that exists only on its author's machine.
    """

    def __init__(self, file: Path, *, levels: int, shorten: bool) -> None:
        self._file = file
        self._shorten = shorten
        bases = [file.parent, *file.parent.parents[:levels]]
        self._roots = [base / name for base in bases for name in ("", *_IMAGE_FOLDERS)]

    def __call__(self, name: str) -> Path:
        """Return the image with this name; packed ones are unpacked into the cache folder."""
        path = PurePosixPath(name.replace("\\", "/"))
        if ".." in path.parts or path.is_absolute() or not path.name or "\0" in name:
            raise InputError(
                f"The image {name!r} is outside of the data set.", remedy="Correct the annotations."
            )
        ends = [path]
        if self._shorten:
            # Never to the name alone: the folders of a set hold different images of one name.
            ends += [PurePosixPath(*path.parts[n:]) for n in range(1, len(path.parts) - 1)]
        for end in ends:
            for root in self._roots:
                if (root / end).is_file():
                    return root / end
        for archive, members in self._archives.items():
            for end in ends:
                if member := members.get(end.as_posix()):
                    return _extract(archive, member)
        raise InputError(
            f"The image {name} of {self._file} is missing.",
            remedy=f"It was looked for in {self._file.parent} and the folders of images there.",
        )

    @cached_property
    def _archives(self) -> dict[Path, dict[str, str]]:
        files = sorted(self._file.parent.glob("*.zip"))
        return {file: _members(file) for file in files if zipfile.is_zipfile(file)}


def _members(file: Path) -> dict[str, str]:
    """Return the files of an archive, also by their paths without leading folders."""
    try:
        with access(file, "read"), zipfile.ZipFile(file) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, ValueError, RuntimeError) as error:
        raise InputError(
            f"{file} cannot be unpacked: {error}.", remedy="Download the archive again."
        ) from error
    found = {name: name for name in names}
    for name in names:
        parts = name.split("/")
        for start in range(1, len(parts)):
            found.setdefault("/".join(parts[start:]), name)
    return found


def _extract(file: Path, member: str) -> Path:
    target = _cache_folder(file) / _cache_name(member, PurePosixPath(member).suffix)
    if target.is_file():
        return target
    try:
        with (
            access(file, "read"),
            zipfile.ZipFile(file) as archive,
            archive.open(member) as image,
        ):
            content = image.read(_MAX_UNPACKED + 1)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, ValueError) as error:
        raise InputError(
            f"{member} in {file} cannot be unpacked: {error}.",
            remedy="Download the archive again.",
        ) from error
    if len(content) > _MAX_UNPACKED:
        raise InputError(
            f"{member} in {file} unpacks to more than {_MAX_UNPACKED >> 20} MB.",
            remedy="Download the archive again.",
        )
    _store(target, content)
    return target


def _cache_folder(file: Path) -> Path:
    """Return the folder for the images of a packed file; another one when the file changes."""
    status = file.stat()
    identity = f"{file.resolve()}\0{status.st_size}\0{status.st_mtime_ns}"
    cache = Settings.from_environment().cache_dir
    return cache / "grounding" / sha256(identity.encode(errors="surrogateescape")).hexdigest()[:24]


def _cache_name(name: str, suffix: str) -> str:
    return f"{sha256(name.encode()).hexdigest()[:16]}{suffix}"


def _store(target: Path, content: bytes) -> None:
    with access(target, "written"):
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, content)


# --- parquet files

_NAME_COLUMNS = ("img_filename", "file_name", "image_path", "filename")
_BATCH = 4  # images in memory


class ParquetImages:
    """Images inside of a parquet file; a whole row group is unpacked when one is needed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._folder = _cache_folder(file)

    def __call__(self, name: str) -> Path:
        """Return the image with this name from the cache folder."""
        found = self._cached(name)
        if found is None and name in self._groups:
            self._unpack(*self._groups[name])
            found = self._cached(name)
        if found is None:
            raise InputError(
                f"The image {name} of {self._file} is missing.", remedy="Download the file again."
            )
        return found

    def _cached(self, name: str) -> Path | None:
        paths = (self._folder / _cache_name(name, suffix) for suffix in _SIGNATURES.values())
        return next((path for path in paths if path.is_file()), None)

    @cached_property
    def _names(self) -> list[str]:
        return [entry["image_name"] for entry in _parquet_entries(self._file)]

    @cached_property
    def _groups(self) -> dict[str, tuple[int, int]]:
        """Return the first row group that holds an image, and the number of its first row."""
        metadata = _open_parquet(self._file).metadata
        found: dict[str, tuple[int, int]] = {}
        start = 0
        for group in range(metadata.num_row_groups):
            end = start + metadata.row_group(group).num_rows
            for name in self._names[start:end]:
                found.setdefault(name, (group, start))
            start = end
        return found

    def _unpack(self, group: int, start: int) -> None:
        # Without buffering ahead, a group of large screenshots does not fill the memory.
        parquet = _open_parquet(self._file, pre_buffer=False, buffer_size=1 << 20)
        batches = parquet.iter_batches(_BATCH, row_groups=[group], columns=["image"])
        images = (image for batch in batches for image in batch.column(0).to_pylist())
        for name, image in zip(self._names[start:], images, strict=False):
            content = image.get("bytes") if isinstance(image, dict) else image
            if not isinstance(content, bytes) or self._cached(name):
                continue
            for signature, suffix in _SIGNATURES.items():
                if content.startswith(signature):
                    _store(self._folder / _cache_name(name, suffix), content)


def _parquet_entries(file: Path) -> Iterator[Entry]:
    """Yield the rows without their images; those with the same `image_name` share one."""
    parquet = _open_parquet(file)
    columns = [name for name in parquet.schema_arrow.names if name != "image"]
    number = 0
    for batch in parquet.iter_batches(columns=columns):
        for entry in batch.to_pylist():
            names = (entry.get(key) for key in _NAME_COLUMNS)
            # The file's name is part of it because a set may be split into several files.
            unnamed = f"{file.stem}-{number:05d}"
            name = next((name for name in names if isinstance(name, str) and name), unnamed)
            yield {**entry, "image_name": name}
            number += 1


def _open_parquet(file: Path, **options: Any) -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow.", remedy="pip install 'uiproof[parquet]'"
        ) from error
    try:
        return pyarrow.parquet.ParquetFile(file, **options)
    except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
        raise InputError(
            f"{file} is not a readable parquet file: {error}.", remedy="Download the file again."
        ) from error


# --- published sets


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A data set in the layout in which it was published.

    Its annotation files are those of the first group of `patterns` that matches something with the
    `keys` of the set.
    """

    name: str
    patterns: tuple[tuple[str, ...], ...]
    keys: frozenset[str]
    read: Callable[[Entry, int, Path], Row]
    conventions: tuple[Convention, ...]
    levels: int = 0  # see `ImageFolder`
    shorten: bool = False

    def recognises(self, path: Path) -> bool:
        """Return whether a folder or file is such a data set."""
        return next(self._files(path), None) is not None

    def screens(self, path: Path) -> Sequence[Screen]:
        """Return the screenshots of all annotation files; shared ones have the elements of all."""
        screens: dict[str, _ScreenBuilder] = {}
        names: dict[str, int] = {}
        for file in self._files(path):
            images: Images = ImageFolder(file, levels=self.levels, shorten=self.shorten)
            if file.suffix == ".parquet":
                images = ParquetImages(file)
            rows = list(self._rows(file))
            size_of = _sizes(images)
            boxes = [_raw_box(row, size_of) for row in rows if isinstance(row, Row)]
            convention = _find_convention(file, [box for box in boxes if box], self.conventions)
            bad: list[InputError] = []
            for row in rows:
                if row.image not in screens:
                    name = unused_name(_screen_id(row.image), names)
                    screens[row.image] = _ScreenBuilder(name, partial(images, row.image))
                if error := screens[row.image].add(row, convention, size_of):
                    bad.append(error)
            if len(bad) > _MAX_BAD_SHARE * len(rows):
                raise InputError(
                    f"{file}: {len(bad)} of {len(rows)} items are wrong, which is too many. "
                    f"The first: {bad[0].message}",
                    remedy=_SAME_RELEASE,
                )
        return [screen.build() for screen in screens.values()]

    def _files(self, path: Path) -> Iterator[Path]:
        if path.is_file():
            suffixes = {PurePosixPath(pattern).suffix for pattern in self.patterns[0]}
            if path.suffix in suffixes and self.keys <= first_keys(path):
                yield path
            return
        for group in self.patterns:
            keys = {file: first_keys(file) for one in group for file in sorted(path.glob(one))}
            if any(self.keys <= found for found in keys.values()):
                # A damaged file beside good ones is part of the set: reading it says so.
                yield from (file for file, found in keys.items() if self.keys <= found or not found)
                return

    def _rows(self, file: Path) -> Iterable[Row | BadRow]:
        for number, entry in enumerate(read_entries(file)):
            try:
                yield self.read(entry, number, file)
            except InputError as error:
                message = f"{file}, item {number}: {error.message}"
                yield BadRow(f"{file.stem}-{number}", InputError(message, remedy=error.remedy))


_SizeOf = Callable[[Row], Size | InputError]


def _sizes(images: Images) -> _SizeOf:
    """Return a function for sizes of images: as annotated, or else from the image."""

    @cache
    def measured(image: str) -> Size | InputError:
        try:
            return image_size(images(image))
        except InputError as error:
            return error

    return lambda row: row.size or measured(row.image)


def _raw_box(row: Row, size_of: _SizeOf) -> _RawBox | None:
    if row.kind != "box" or len(row.numbers) != 4:
        return None
    if max(map(abs, row.numbers)) <= 1:  # fractions need no size: packed images stay packed
        return _RawBox(row.id, row.numbers, row.size)
    size = size_of(row)
    return _RawBox(row.id, row.numbers, None if isinstance(size, InputError) else size)


@dataclass(slots=True)
class _ScreenBuilder:
    """Collects the items of one screenshot."""

    name: str
    image: Callable[[], Path]
    size: Size | None = None
    elements: list[AnnotatedElement] = field(default_factory=list)
    tags: list[Tags] = field(default_factory=list)
    broken: list[BrokenItem] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)

    def add(self, row: Row | BadRow, convention: Convention, size_of: _SizeOf) -> InputError | None:
        """Add an item and return what is wrong with its annotation."""
        identifier = unused_name(row.id.replace("/", "__"), self.ids)
        case_id = f"{self.name}/{identifier}"
        if isinstance(row, BadRow):
            self.broken.append(BrokenItem(case_id, row.error))
            return row.error
        element = AnnotatedElement(
            id=identifier,
            bbox=Box(0, 0, 0, 0),
            text=row.text,
            element_type=row.element_type,
            instruction=row.instruction,
            refusal=row.kind == "refusal",
        )
        box = _raw_box(row, size_of)
        missing = size_of(row) if box and box.size is None and box.largest > 1 else None
        if isinstance(missing, InputError):  # the annotation may be right
            self.broken.append(BrokenItem(case_id, missing, element, row.size, tags=row.tags))
            return None
        self.size = self.size or row.size
        area = _area(row, box, convention)
        if area is not None and row.size == self.size:
            self.elements.append(replace(element, bbox=area[0], polygon=area[1]))
            self.tags.append(row.tags)
            return None
        wrong = f"its {row.kind} {list(row.numbers)} does not fit into its image"
        if area is not None:
            wrong = f"its image has {row.size} here, and {self.size} for another item"
        error = InputError(f"The item {row.id} is wrong: {wrong}.", remedy=_SAME_RELEASE)
        self.broken.append(BrokenItem(case_id, error, element, row.size, tags=row.tags))
        return error

    def build(self) -> Screen:
        elements, tags, broken = tuple(self.elements), tuple(self.tags), tuple(self.broken)
        return Screen(self.name, self.image, self.size, elements, tags, broken)


def _area(
    row: Row, raw: _RawBox | None, convention: Convention
) -> tuple[Box, tuple[Point, ...]] | None:
    """Return box and polygon of an item as fractions, or None where they do not fit."""
    if row.kind == "refusal":
        return Box(0, 0, 0, 0), ()
    if row.kind == "polygon":
        points = _convert_polygon(row.numbers, row.size) if row.size else None
        return (Box.around(points), points) if points and Box.around(points).area > 0 else None
    found = _convert_box(raw, convention) if raw else None
    return (found, ()) if found else None


def _screen_id(image: str) -> str:
    """Return a readable id without slashes, which separate screenshot and element."""
    path = PurePosixPath(image.replace("\\", "/"))
    parts = path.with_suffix("").parts if path.name else (image,)
    if len(parts) > 1 and parts[0] in {"images", "frames"}:
        parts = parts[1:]
    return "__".join(parts)
