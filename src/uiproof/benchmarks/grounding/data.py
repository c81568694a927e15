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
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from uiproof.boxes import Box
from uiproof.engine.storage import access
from uiproof.errors import InputError

ANNOTATIONS = "annotations.json"
_BOX_NOISE = 1e-6  # what rounding may add to a box that ends at the edge of the image
_REMEDY = "Correct the file, or make the data set again with `uiproof generate`."

Json = Mapping[str, Any]
Point = tuple[float, float]


class ElementType(StrEnum):
    """What kind of control an element is."""

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

    A `refusal` asks for something that is not there: its box is empty (all zeros), and the right
    answer is to say so.
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
        """The middle of the box, as fractions of the image."""
        return self.bbox.center


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
    """Samples that belong together."""

    name: str
    version: str
    samples: tuple[Sample, ...]
    metadata: Json = field(default_factory=dict)
    extra: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokenItem:
    """A sample (`id` is its id) or an element (`sample/element`) that cannot be used, and why."""

    id: str
    error: InputError


def annotations_file(folder: Path) -> Path:
    """The annotations of a data set, which may be named by its folder or by the file itself."""
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
    return Dataset(
        name=_string(content, "name", str(file)),
        version=str(content.get("version", "")),
        samples=tuple(samples),
        metadata=_mapping(content, "metadata", str(file)),
        extra=_others(content, {"name", "version", "samples", "metadata"}),
    )


def read_samples(folder: Path) -> Iterator[Sample | BrokenItem]:
    """Read sample by sample, so that one bad entry spoils nothing but itself.

    A sample with a bad element comes without that element, which follows as a `BrokenItem`.
    """
    file = annotations_file(folder)
    yield from _items(file, _content(file))


def write_dataset(dataset: Dataset, folder: Path) -> Path:
    """Write `annotations.json`: all of it or nothing, and the same bytes for the same data.

    The screenshots are not touched: they are where `image_path` says.
    """
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
        write_atomically(file, text.encode())
    return file


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file so that readers see the old one or the new one, never a part of it."""
    partial = file.with_name(f".{file.name}.tmp")
    partial.write_bytes(content)
    partial.replace(file)


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
    taken: set[str] = set()
    for number, entry in enumerate(content["samples"], start=1):
        name = _unused(_name(entry, number), taken)
        where = f"{file}, sample {name}"
        broken: list[BrokenItem] = []
        try:
            sample = _sample(entry, name, where, broken)
        except InputError as error:
            yield BrokenItem(name, error)
            continue
        yield sample
        yield from broken


def _sample(entry: Any, name: str, where: str, broken: list[BrokenItem]) -> Sample:
    _check_id(entry, name, where)
    elements = entry.get("elements")
    if not isinstance(elements, list):
        raise _wrong(where, "`elements` is not a list")
    good: list[AnnotatedElement] = []
    taken: set[str] = set()
    for number, element in enumerate(elements, start=1):
        element_name = _unused(_name(element, number), taken)
        try:
            good.append(_element(element, element_name, f"{where}, element {element_name}"))
        except InputError as error:
            broken.append(BrokenItem(f"{name}/{element_name}", error))
    return Sample(
        id=name,
        image_path=_image_path(entry, where),
        width=_pixels(entry, "width", where),
        height=_pixels(entry, "height", where),
        elements=tuple(good),
        metadata=_mapping(entry, "metadata", where),
        extra=_others(entry, {"id", "image_path", "width", "height", "elements", "metadata"}),
    )


def _element(entry: Any, name: str, where: str) -> AnnotatedElement:
    _check_id(entry, name, where)
    refusal = entry.get("refusal", False)
    if not isinstance(refusal, bool):
        raise _wrong(where, "`refusal` is neither true nor false")
    kind = entry.get("element_type", ElementType.UNKNOWN)
    if kind not in list(ElementType):
        known = ", ".join(ElementType)
        raise _wrong(where, f"`element_type` is {kind!r}; known are {known}")
    bbox = Box(0, 0, 0, 0) if refusal else _box(entry.get("bbox"), "bbox", where)
    clickable = entry.get("clickable")
    known_keys = set(AnnotatedElement.__dataclass_fields__) - {"extra"}
    nulls = {key: None for key in ("text", "instruction") if entry.get(key, "") is None}
    return AnnotatedElement(
        id=name,
        bbox=bbox,
        text=_string(entry, "text", where),
        element_type=ElementType(kind),
        instruction=_string(entry, "instruction", where),
        clickable=None if clickable is None else _box(clickable, "clickable", where),
        polygon=_polygon(entry.get("polygon"), where),
        refusal=refusal,
        metadata=_mapping(entry, "metadata", where),
        extra=_others(entry, known_keys) | nulls,
    )


def _name(entry: Any, number: int) -> str:
    """How an entry is called in messages, even when it has no usable id."""
    identifier = entry.get("id") if isinstance(entry, dict) else None
    return identifier if isinstance(identifier, str) and identifier else f"#{number}"


def _unused(name: str, taken: set[str]) -> str:
    """The name itself, or with a number when it was used before."""
    unused, count = name, 1
    while unused in taken:
        count += 1
        unused = f"{name}#{count}"
    taken.add(unused)
    return unused


def _check_id(entry: Any, name: str, where: str) -> None:
    if not isinstance(entry, dict):
        raise _wrong(where, "an object was expected")
    identifier = entry.get("id")
    if not isinstance(identifier, str) or not identifier:
        raise _wrong(where, "`id` is missing or not a text")
    if identifier != name:
        raise _wrong(where, f"the id {identifier!r} is used more than once")


def _image_path(entry: Json, where: str) -> str:
    text = entry.get("image_path")
    if not isinstance(text, str) or not text or "\0" in text:
        raise _wrong(where, "`image_path` is missing or not a text")
    path = PurePosixPath(text.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise _wrong(where, f"`image_path` leaves the data set: {text}")
    return text


def _pixels(entry: Json, key: str, where: str) -> int:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _wrong(where, f"`{key}` is not a number of pixels: {value!r}")
    return value


def _string(entry: Json, key: str, where: str) -> str:
    value = entry.get(key)
    if value is not None and not isinstance(value, str):
        raise _wrong(where, f"`{key}` is not a text: {value!r}")
    return value or ""


def _mapping(entry: Json, key: str, where: str) -> Json:
    value = entry.get(key)
    if value is not None and not isinstance(value, dict):
        raise _wrong(where, f"`{key}` is not an object")
    return value or {}


def _others(entry: Json, known: set[str]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in known}


def _box(value: Any, key: str, where: str) -> Box:
    if not isinstance(value, list) or len(value) != 4 or not all(map(_is_number, value)):
        raise _wrong(where, f"`{key}` is not [x, y, width, height]: {value!r}")
    x, y, w, h = value
    if w <= 0 or h <= 0:
        raise _wrong(where, f"`{key}` has no area: {value}")
    if min(x, y) < -_BOX_NOISE or max(x + w, y + h) > 1 + _BOX_NOISE:
        raise _wrong(where, f"`{key}` is not inside the image; fractions of 0-1 count: {value}")
    return Box(x, y, w, h)


def _polygon(value: Any, where: str) -> tuple[Point, ...]:
    if value is None:
        return ()
    pairs = isinstance(value, list) and all(
        isinstance(point, list) and len(point) == 2 and all(map(_is_number, point))
        for point in value
    )
    if not pairs or len(value) < 3:
        raise _wrong(where, "`polygon` is not a list of at least three [x, y]")
    if any(not -_BOX_NOISE <= part <= 1 + _BOX_NOISE for point in value for part in point):
        raise _wrong(where, "`polygon` is not inside the image; fractions of 0-1 count")
    return tuple((x, y) for x, y in value)


def _is_number(value: Any) -> bool:
    # The comparison is false for what is not finite.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _wrong(where: str, what: str) -> InputError:
    return InputError(f"{where}: {what}.", remedy=_REMEDY)
