"""Element boxes on screenshots: as a data set has them, as people corrected them, as they go out.

A state of one screenshot is what `edits` keeps of it: all of its boxes in whole pixels, and whether
somebody said that it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from uiproof.benchmarks.grounding.data import (
    ANNOTATIONS,
    AnnotatedElement,
    BrokenItem,
    Dataset,
    ElementType,
    Sample,
    read_dataset,
    read_samples,
    write_dataset,
)
from uiproof.benchmarks.grounding.loaders import data_folder
from uiproof.boxes import Box, PixelBox
from uiproof.errors import InputError
from uiproof.studio.datasets.exporting import File, safe_name, without_suffix
from uiproof.studio.datasets.pictures import media_type
from uiproof.studio.datasets.sets import SCREENSHOTS, ScreenshotSet, Shot
from uiproof.studio.edits import Edit, edits
from uiproof.studio.store import Store

TYPES = tuple(kind.value for kind in ElementType)
OWN_FORMAT = "annotations"
_FREE_TYPE = "type"  # where the metadata of an element has a type that the format does not know
_MOST_BOXES = 5_000
_MOST_CHARACTERS = 20_000
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}

Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ElementBox:
    """One element as people see and correct it."""

    id: str
    box: PixelBox | None  # None: nothing on the screenshot fits the instruction
    instruction: str = ""
    type: str = ElementType.UNKNOWN.value  # one of `TYPES`, or any other word
    text: str = ""

    def json(self) -> dict[str, Any]:
        """As it is sent and stored."""
        return {
            "id": self.id,
            "box": edges(self.box),
            "instruction": self.instruction,
            "type": self.type,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Boxes:
    """All boxes of a screenshot."""

    boxes: tuple[ElementBox, ...]
    done: bool = False

    def json(self) -> dict[str, Any]:
        """As it is sent and stored."""
        return {"boxes": [box.json() for box in self.boxes], "done": self.done}


def annotated_boxes(shot: Shot, size: Size) -> Boxes:
    """What the data set itself says about a screenshot."""
    return Boxes(tuple(_element_box(element, size) for element in shot.elements))


def current_boxes(shot: Shot, size: Size, edit: Edit | None) -> Boxes:
    """What holds now: the newest correction, or what the data set says."""
    if edit is None:
        return annotated_boxes(shot, size)
    try:
        return read_boxes(edit.content, size)
    except InputError as error:
        raise InputError(
            f"The boxes of {shot.name} were drawn on another picture: {error.message}",
            remedy="Put the picture back that was there.",
        ) from error


def read_boxes(content: Any, size: Size) -> Boxes:
    """Check what a browser sent; raises `InputError` where it cannot be meant."""
    entries = content.get("boxes") if isinstance(content, dict) else None
    if not isinstance(entries, list) or len(entries) > _MOST_BOXES:
        raise InputError(f"A list of at most {_MOST_BOXES:,} boxes was expected.")
    boxes = tuple(_read_box(entry, size) for entry in entries)
    if len({box.id for box in boxes}) < len(boxes):
        raise InputError("Two boxes have the same id.")
    return Boxes(boxes, done=content.get("done") is True)


def read_edges(value: Any, size: Size) -> PixelBox | None:
    """A box as `[left, top, right, bottom]` in whole pixels of a picture, or None."""
    if value is None:
        return None
    numbers = isinstance(value, list) and all(type(edge) is int for edge in value)
    if not numbers or len(value) != 4:
        raise InputError("A box is [left, top, right, bottom] in whole pixels.")
    left, top, right, bottom = value
    if not (0 <= left < right <= size[0] and 0 <= top < bottom <= size[1]):
        raise InputError(f"The box {value} is not inside a picture of {size[0]} x {size[1]}.")
    return PixelBox(left, top, right, bottom)


def edges(box: PixelBox | None) -> list[int] | None:
    """The other way: a box as it is sent and stored."""
    return None if box is None else [box.left, box.top, box.right, box.bottom]


def read_text(value: Any, *, most: int = _MOST_CHARACTERS) -> str:
    """A text that somebody typed; raises `InputError` where it is none or too long."""
    if not isinstance(value, str) or len(value) > most:
        raise InputError(f"A text of at most {most:,} characters was expected.")
    # Half a surrogate pair cannot be shown or stored as UTF-8.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def exported_boxes(store: Store, data_set: ScreenshotSet, *, only_done: bool) -> Iterator[File]:
    """The files of a data set in our own grounding format, with everything that was corrected.

    Screenshots without a box are left out, unless `annotations.json` has them too. With `only_done`
    those that nobody marked as done are left out as well.
    """
    made = edits(store, data_set.id)
    own = _own_samples(data_set)
    samples: list[Sample] = []
    files: set[str] = set()
    ids: set[str] = set()
    for shot in data_set.shots.values():
        edit = made.get(shot.name)
        if only_done and not (edit and edit.content.get("done") is True):
            continue
        known = own.get(shot.name)
        if edit is None and not shot.elements and known is None:
            continue
        try:
            path, size = shot.picture()
        except InputError:
            if edit is None:
                continue  # it could not be used before either
            raise
        state = current_boxes(shot, size, edit)
        if not state.boxes and known is None:
            continue
        file = f"samples/{safe_name(shot.name, files)}{_SUFFIXES[media_type(path)]}"
        yield File(file, path)
        sample = known or Sample(_sample_id(shot.name, ids), file, *size, elements=())
        elements = _exported_elements(shot, state, size, keep_tags=known is None)
        samples.append(replace(sample, image_path=file, elements=elements))
    with TemporaryDirectory() as folder:
        yield File(ANNOTATIONS, write_dataset(_described(data_set, samples), Path(folder)))


def _read_box(entry: Any, size: Size) -> ElementBox:
    if not isinstance(entry, dict):
        raise InputError("A box has fields.")
    id = read_text(entry.get("id"), most=500)
    if not id:
        raise InputError("A box needs an id.")
    return ElementBox(
        id=id,
        box=read_edges(entry.get("box"), size),
        instruction=read_text(entry.get("instruction", "")),
        type=read_text(entry.get("type", ""), most=100).strip() or ElementType.UNKNOWN.value,
        text=read_text(entry.get("text", "")),
    )


def _element_box(element: AnnotatedElement, size: Size) -> ElementBox:
    kind: Any = element.element_type.value
    if element.element_type is ElementType.UNKNOWN:
        kind = element.metadata.get(_FREE_TYPE) or kind
    return ElementBox(
        id=element.id,
        box=None if element.refusal else _whole_pixels(element.bbox, size),
        instruction=element.instruction,
        type=str(kind),
        text=element.text,
    )


def _whole_pixels(box: Box, size: Size) -> PixelBox:
    """A box that can be seen, however thin it is."""
    found = box.to_pixels(*size)
    left, top = min(found.left, size[0] - 1), min(found.top, size[1] - 1)
    return PixelBox(left, top, max(found.right, left + 1), max(found.bottom, top + 1))


def _exported_elements(
    shot: Shot, state: Boxes, size: Size, *, keep_tags: bool
) -> tuple[AnnotatedElement, ...]:
    before = {
        element.id: (element, tags) for element, tags in zip(shot.elements, shot.tags, strict=True)
    }
    exported = []
    for box in state.boxes:
        element, tags = before.get(box.id, (None, {}))
        exported.append(_exported(box, element, tags if keep_tags else {}, size))
    return tuple(exported)


def _exported(
    box: ElementBox, before: AnnotatedElement | None, tags: Mapping[str, str], size: Size
) -> AnnotatedElement:
    fitting = box.type if box.type in TYPES else ElementType.UNKNOWN.value
    metadata = dict(before.metadata) if before else {}
    metadata.pop(_FREE_TYPE, None)
    if fitting != box.type:
        metadata[_FREE_TYPE] = box.type
    area = Box(0, 0, 0, 0) if box.box is None else box.box.normalised(*size)
    element = AnnotatedElement(
        id=box.id,
        bbox=area,
        text=_typed(box.text, before.text if before else ""),
        element_type=ElementType(fitting),
        instruction=_typed(box.instruction, before.instruction if before else ""),
        refusal=box.box is None,
        metadata={**tags, **metadata},
        extra=before.extra if before else {},
    )
    if before is not None and _element_box(before, size).box == box.box:
        # Nobody moved it: fractions of pixels, outlines and areas to click stay as they were.
        element = replace(
            element, bbox=before.bbox, clickable=before.clickable, polygon=before.polygon
        )
    return element


def _typed(text: str, before: str) -> str:
    """A text without the spaces around it, unless they were there before."""
    return text if text == before else text.strip()


def _own_samples(data_set: ScreenshotSet) -> dict[str, Sample]:
    if data_set.format != OWN_FORMAT:
        return {}
    samples = read_samples(data_folder(data_set.path))
    return {sample.id: sample for sample in samples if not isinstance(sample, BrokenItem)}


def _described(data_set: ScreenshotSet, samples: list[Sample]) -> Dataset:
    if data_set.format == OWN_FORMAT:
        try:
            return replace(read_dataset(data_folder(data_set.path)), samples=tuple(samples))
        except InputError:
            pass  # some sample of it is broken; what is left is described below
    source = {} if data_set.format in (SCREENSHOTS, OWN_FORMAT) else {"source": data_set.format}
    return Dataset(data_set.name, "1.0", tuple(samples), metadata=source)


def _sample_id(name: str, taken: set[str]) -> str:
    """A name without slashes, which separate screenshot and element in the ids of cases."""
    id = without_suffix(name).replace("\\", "/").replace("/", "__") or "screenshot"
    unused, count = id, 1
    while unused in taken:
        count += 1
        unused = f"{id}#{count}"
    taken.add(unused)
    return unused
