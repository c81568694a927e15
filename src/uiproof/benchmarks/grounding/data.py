"""Grounding data sets: screenshots with annotated elements, and their file `annotations.json`.

    folder/
      annotations.json      {name, version, metadata, samples: [{id, image_path, …, elements}]}
      samples/<id>.png      the screenshots

Boxes are `[x, y, width, height]` as fractions of the screenshot. Keys that this module does not
know are kept in `extra` and written back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from uiproof.errors import InputError
from uiproof.files import access, write_atomic
from uiproof.geometry import Box

ANNOTATIONS = "annotations.json"
_BOX_NOISE = 1e-6  # what rounding may add to a box that ends at the edge of the image
_KINDS = {str: "a text", dict: "an object", list: "a list", bool: "true or false"}
_REMEDY = "Correct the file, or make the data set again with `uiproof generate`."

T = TypeVar("T")
Json = Mapping[str, Any]
Point = tuple[float, float]


class ElementType(StrEnum):
    """The kinds of elements."""

    BUTTON = "button"
    ICON = "icon"
    TEXT = "text"
    TEXT_FIELD = "text_field"
    CHECKBOX = "checkbox"
    DROPDOWN = "dropdown"
    LINK = "link"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AnnotatedElement:
    """One element of a screenshot with the instruction that asks for it.

    A `refusal` asks for something that is not there: its box is all zeros, and the right answer is
    to say so.
    """

    id: str
    bbox: Box  # what is drawn
    text: str  # what is written on it, or the name of an icon
    element_type: ElementType
    instruction: str
    clickable: Box | None = None  # the area that reacts, where it is larger than what is drawn
    polygon: tuple[Point, ...] = ()  # the outline, where a box is too coarse
    refusal: bool = False
    metadata: Json = field(default_factory=dict)
    extra: Json = field(default_factory=dict)  # keys of the file that are not known here

    @property
    def click_point(self) -> Point:
        """Return the middle of the box, as fractions of the image."""
        return self.bbox.centre


@dataclass(frozen=True, slots=True)
class Sample:
    """A screenshot with its elements."""

    id: str
    image_path: str  # relative to the folder of the data set, for example `samples/0001.png`
    width: int
    height: int
    elements: tuple[AnnotatedElement, ...]
    metadata: Json = field(default_factory=dict)
    extra: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: samples with a name and metadata."""

    name: str
    version: str
    samples: tuple[Sample, ...]
    metadata: Json = field(default_factory=dict)
    extra: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokenItem:
    """A sample (`id` is its id) or an element (`sample/element`) that cannot be used.

    The element has the values that can be read, by which it counts in the cells of a summary; a
    box that cannot be read is empty.
    """

    id: str
    error: InputError
    element: AnnotatedElement | None = None
    size: tuple[int, int] | None = None  # of the screenshot, as annotated
    image_path: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


def unused_name(name: str, taken: dict[str, int]) -> str:
    """Return the name and mark it as taken; one that is used again gets a number: `name#2`."""
    unused = name
    while unused in taken:
        taken[name] += 1
        unused = f"{name}#{taken[name]}"
    taken[unused] = 1
    return unused


def annotations_file(folder: Path) -> Path:
    """Return the annotations of a data set, which is given by its folder or by the file itself."""
    return folder / ANNOTATIONS if folder.is_dir() else folder


def read_dataset(folder: Path) -> Dataset:
    """Read a whole data set; `InputError` names the first thing that is wrong with it."""
    file = annotations_file(folder)
    content = _content(file)
    samples = []
    for item in _items(file, content):
        if isinstance(item, BrokenItem):
            raise item.error
        samples.append(item)
    fields = _Fields(content, str(file))
    dataset = Dataset(
        name=fields.get("name", ""),
        version=str(content.get("version", "")),
        samples=tuple(samples),
        metadata=fields.get("metadata", {}),
        extra=fields.others(Dataset),
    )
    if fields.error:
        raise fields.error
    return dataset


def read_samples(folder: Path) -> Iterator[Sample | BrokenItem]:
    """Yield sample by sample, so that one bad entry does not affect the others.

    A bad element is left out of its sample and follows as a `BrokenItem`. Of a bad sample every
    element becomes one; the sample itself if it has none.
    """
    file = annotations_file(folder)
    yield from _items(file, _content(file))


def write_dataset(dataset: Dataset, folder: Path) -> Path:
    """Write `annotations.json` atomically: the same bytes for the same data."""
    content = {
        "name": dataset.name,
        "version": dataset.version,
        "metadata": _sorted(dataset.metadata),
        "samples": [_sample_json(sample) for sample in dataset.samples],
        **_sorted(dataset.extra),
    }
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    file = folder / ANNOTATIONS
    with access(file, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(file, text)
    return file


def _sample_json(sample: Sample) -> dict[str, Any]:
    return {
        "id": sample.id,
        "image_path": sample.image_path,
        "width": sample.width,
        "height": sample.height,
        "elements": [_element_json(element) for element in sample.elements],
        "metadata": _sorted(sample.metadata),
        **_sorted(sample.extra),
    }


def _element_json(element: AnnotatedElement) -> dict[str, Any]:
    content: dict[str, Any] = {
        "id": element.id,
        "bbox": _numbers(element.bbox),
        "text": element.text,
        "element_type": element.element_type.value,
        "instruction": element.instruction,
    }
    if element.clickable is not None:
        content["clickable"] = _numbers(element.clickable)
    if element.polygon:
        content["polygon"] = [list(point) for point in element.polygon]
    if element.refusal:
        content["refusal"] = True
    if element.metadata:
        content["metadata"] = _sorted(element.metadata)
    # `extra` remembers texts that were null; a text set since then counts more.
    extra = {key: value for key, value in element.extra.items() if not content.get(key)}
    return content | _sorted(extra)


def _numbers(box: Box) -> list[float]:
    return [box.x, box.y, box.w, box.h]


def _sorted(mapping: Json) -> dict[str, Any]:
    ordered: dict[str, Any] = json.loads(json.dumps(mapping, sort_keys=True, allow_nan=False))
    return ordered


def _content(file: Path) -> Json:
    if not file.is_file():
        raise InputError(
            f"{file} does not exist.",
            remedy=f"A grounding data set is a folder with {ANNOTATIONS} and samples/*.png.",
        )
    try:
        with access(file, "read"):
            content = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON: {error}.", remedy=_REMEDY) from error
    if not isinstance(content, dict):
        raise _wrong(str(file), "an object with `samples` was expected")
    if not isinstance(content.get("samples"), list):
        raise _wrong(str(file), "`samples` is not a list")
    return content


def _items(file: Path, content: Json) -> Iterator[Sample | BrokenItem]:
    for name, entry in _named(content["samples"]):
        where = f"{file}, sample {name}"
        fields = _Fields(entry, where)
        fields.check_id(name)
        elements = [
            _element(one, _Fields(value, f"{where}, element {one}"))
            for one, value in _named(fields.get("elements", [], required=True))
        ]
        sample = Sample(
            id=name,
            image_path=fields.image_path(),
            width=fields.pixels("width"),
            height=fields.pixels("height"),
            elements=tuple(element for element, error in elements if error is None),
            metadata=fields.get("metadata", {}),
            extra=fields.others(Sample),
        )
        if fields.error is None:
            yield sample
        elif not elements:
            yield BrokenItem(name, fields.error)
        size = (sample.width, sample.height) if sample.width and sample.height else None
        for element, error in elements:
            if problem := fields.error or error:
                metadata = {**sample.metadata, **element.metadata}
                known = replace(element, metadata=metadata, clickable=None, polygon=(), extra={})
                yield BrokenItem(f"{name}/{element.id}", problem, known, size, sample.image_path)


def _element(name: str, fields: _Fields) -> tuple[AnnotatedElement, InputError | None]:
    fields.check_id(name)
    refusal = fields.get("refusal", False, required="refusal" in fields.entry)
    nulls = {key: None for key in ("text", "instruction") if fields.entry.get(key, "") is None}
    element = AnnotatedElement(
        id=name,
        bbox=Box(0, 0, 0, 0) if refusal else fields.box("bbox"),
        text=fields.get("text", ""),
        element_type=fields.element_type(),
        instruction=fields.get("instruction", ""),
        clickable=None if fields.entry.get("clickable") is None else fields.box("clickable"),
        polygon=fields.polygon(),
        refusal=refusal,
        metadata=fields.get("metadata", {}),
        extra=fields.others(AnnotatedElement) | nulls,
    )
    return element, fields.error


def _named(entries: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield entries with unique names: their ids, or their numbers where those are unusable."""
    taken: dict[str, int] = {}
    for number, entry in enumerate(entries, start=1):
        identifier = entry.get("id") if isinstance(entry, dict) else None
        name = identifier if isinstance(identifier, str) and identifier else f"#{number}"
        yield unused_name(name, taken), entry


class _Fields:
    """Checked values of a JSON object; wrong ones are empty, and the first error is kept."""

    def __init__(self, entry: Any, where: str) -> None:
        self.entry: Json = entry if isinstance(entry, dict) else {}
        self.error: InputError | None = None
        self._where = where
        if not isinstance(entry, dict):
            self._fail("an object was expected")

    def _fail(self, problem: str) -> None:
        self.error = self.error or _wrong(self._where, problem)

    def check_id(self, name: str) -> None:
        identifier = self.entry.get("id")
        if not isinstance(identifier, str) or not identifier:
            self._fail("`id` is missing or not a text")
        elif identifier != name:
            self._fail(f"the id {identifier!r} is used more than once")

    def get(self, key: str, empty: T, *, required: bool = False) -> T:
        value = self.entry.get(key)
        if isinstance(value, type(empty)):
            return value
        if required or value is not None:
            self._fail(f"`{key}` is not {_KINDS[type(empty)]}: {value!r:.100}")
        return empty

    def pixels(self, key: str) -> int:
        value = self.entry.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self._fail(f"`{key}` is not a number of pixels: {value!r}")
            return 0
        return value

    def element_type(self) -> ElementType:
        value = self.entry.get("element_type", ElementType.UNKNOWN)
        if value not in list(ElementType):
            self._fail(f"`element_type` is {value!r}; known are {', '.join(ElementType)}")
            return ElementType.UNKNOWN
        return ElementType(value)

    def image_path(self) -> str:
        text = self.entry.get("image_path")
        if not isinstance(text, str) or not text or "\0" in text:
            self._fail("`image_path` is missing or not a text")
            return ""
        path = PurePosixPath(text.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            self._fail(f"`image_path` leaves the data set: {text}")
            return ""
        return text

    def box(self, key: str) -> Box:
        value = self.entry.get(key)
        if not isinstance(value, list) or len(value) != 4 or not all(map(_is_number, value)):
            self._fail(f"`{key}` is not [x, y, width, height]: {value!r}")
            return Box(0, 0, 0, 0)
        x, y, w, h = value
        if w > 0 and h > 0 and min(x, y) >= -_BOX_NOISE and max(x + w, y + h) <= 1 + _BOX_NOISE:
            return Box(x, y, w, h)
        problem = "has no area" if w <= 0 or h <= 0 else "is not inside the image, in 0-1"
        self._fail(f"`{key}` {problem}: {value}")
        return Box(0, 0, 0, 0)

    def polygon(self) -> tuple[Point, ...]:
        value = self.entry.get("polygon")
        if value is None:
            return ()
        pairs = isinstance(value, list) and all(
            isinstance(point, list) and len(point) == 2 and all(map(_is_number, point))
            for point in value
        )
        if not pairs or len(value) < 3:
            self._fail("`polygon` is not a list of at least three [x, y]")
            return ()
        if any(not -_BOX_NOISE <= part <= 1 + _BOX_NOISE for point in value for part in point):
            self._fail("`polygon` is not inside the image, in 0-1")
        return tuple((x, y) for x, y in value)

    def others(self, kind: type[Dataset | Sample | AnnotatedElement]) -> dict[str, Any]:
        """Return the keys that are no fields of a class."""
        known = set(kind.__dataclass_fields__) - {"extra"}
        return {key: value for key, value in self.entry.items() if key not in known}


def _is_number(value: Any) -> bool:
    # The comparison is false for what is not finite.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _wrong(where: str, problem: str) -> InputError:
    return InputError(f"{where}: {problem}.", remedy=_REMEDY)
