"""Element boxes on screenshots, corrected in the studio and exported in our own format.

Opens every grounding data set that is known here, and any folder of screenshots.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictBool

from uiproof.benchmarks.grounding.data import (
    ANNOTATIONS,
    AnnotatedElement,
    BrokenItem,
    Dataset,
    ElementType,
    Sample,
    annotations_file,
    read_dataset,
    read_samples,
    unused_name,
    write_dataset,
)
from uiproof.benchmarks.grounding.loaders import Screen, data_folder
from uiproof.benchmarks.grounding.published_sets import find_loader
from uiproof.dataset_editor import (
    PICTURE_SUFFIXES,
    DatasetEditor,
    Edges,
    EntrySummary,
    ExportFile,
    Size,
    State,
    Text,
    check_inside,
    edges_of,
    is_done,
    parse_state,
    picture_inside,
    picture_type,
)
from uiproof.errors import InputError
from uiproof.geometry import Box, PixelBox

TYPES = tuple(kind.value for kind in ElementType)
SCREENSHOTS = "screenshots"  # the format of a folder that holds nothing but pictures
_OWN_FORMAT = "annotations"
_FREE_TYPE = "type"  # where the metadata of an element has a type that the format does not know
_MOST_SCREENSHOTS = 50_000
_LEVELS_UP = 3  # how far above an annotation file its pictures may be
_LONGEST_NAME = 100
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}


def _type_or_unknown(text: str) -> str:
    return text.strip() or ElementType.UNKNOWN.value


class ElementBox(State):
    """One element as people see and correct it."""

    id: Annotated[str, Field(min_length=1, max_length=500)]
    box: Edges | None = None  # None: nothing on the screenshot fits the instruction
    instruction: Text = ""
    type: Annotated[str, Field(max_length=100), AfterValidator(_type_or_unknown)] = "unknown"
    text: Text = ""


class Boxes(State):
    """All boxes of a screenshot."""

    boxes: Annotated[tuple[ElementBox, ...], Field(max_length=5_000)]
    done: StrictBool = False


def read_boxes(content: Any, size: Size) -> Boxes:
    """Return the boxes that a browser sent; raise `InputError` if they are invalid."""
    state = parse_state(Boxes, content)
    for box in state.boxes:
        check_inside(box.box, size)
    if len({box.id for box in state.boxes}) < len(state.boxes):
        raise InputError("Two boxes have the same id.")
    return state


class ScreenshotEditor(DatasetEditor):
    """Screenshots to draw boxes on."""

    form = "shot"

    def __init__(self, path: Path, format: str, shots: Mapping[str, Screen]) -> None:
        self.path, self.name, self.format, self.shots = path, path.name, format, shots

    def names(self) -> Sequence[str]:
        """Return the names of all screenshots."""
        return list(self.shots)

    def summary(self, name: str, state: Mapping[str, Any] | None) -> EntrySummary:
        """Return a screenshot as lists show it."""
        shot = self.shots[name]
        return EntrySummary(
            name=name,
            count=len(shot.elements) if state is None else len(state["boxes"]),
            done=is_done(state),
            changed=state is not None,
            note=f"{len(shot.broken)} cannot be read" if shot.broken else "",
        )

    def picture(self, name: str, node: str | None = None) -> tuple[Path, Size]:  # noqa: ARG002
        """Return a screenshot and its size."""
        return _picture(self._shot(name))

    def view(self, name: str, state: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the boxes of a screenshot."""
        shot = self._shot(name)
        _, size = _picture(shot)
        content = _current(shot, size, state).model_dump(mode="json")
        return {
            "state": {"name": name, "size": size, "content": content},
            "size": size,
            "types": TYPES,
            "broken": [item.error.message for item in shot.broken],
        }

    def checked(self, name: str, content: Any) -> dict[str, Any]:
        """Return valid boxes as they are kept."""
        _, size = self.picture(name)
        return read_boxes(content, size).model_dump(mode="json")

    def export(
        self, states: Mapping[str, Mapping[str, Any]], *, only_done: bool
    ) -> Iterator[ExportFile]:
        """Yield the data set in our own format.

        Screenshots without a box are left out, unless `annotations.json` has them too.
        """
        own = self._own_samples()
        samples: list[Sample] = []
        files: set[str] = set()
        ids: dict[str, int] = {}
        for name, shot in self.shots.items():
            state, known = states.get(name), own.get(name)
            if only_done and not is_done(state):
                continue
            if state is None and not shot.elements and known is None:
                continue
            try:
                path, size = _picture(shot)
            except InputError:
                if state is None:
                    continue  # it could not be used before either
                raise
            boxes = _current(shot, size, state).boxes
            if not boxes and known is None:
                continue
            file = f"samples/{_file_name(name, files)}{_SUFFIXES[picture_type(path)]}"
            yield ExportFile(file, path)
            # Slashes separate screenshot and element in the ids of cases.
            plain = _stem(name).replace("\\", "/").replace("/", "__") or "screenshot"
            sample = known or Sample(unused_name(plain, ids), file, *size, elements=())
            before = {element.id: element for element in shot.elements}
            tags = {} if known else dict(zip(before, shot.tags, strict=True))
            elements = [_exported(b, before.get(b.id), tags.get(b.id, {}), size) for b in boxes]
            samples.append(replace(sample, image_path=file, elements=tuple(elements)))
        with TemporaryDirectory() as folder:
            yield ExportFile(ANNOTATIONS, write_dataset(self._described(samples), Path(folder)))

    def stamp(self) -> object:
        """Return the times of the annotations; folders of screenshots are just read again."""
        if self.format == SCREENSHOTS:
            return None
        folder = data_folder(self.path)
        paths = [path for path in (folder, annotations_file(folder)) if path.exists()]
        return [(path, path.stat().st_mtime_ns) for path in paths]

    def _shot(self, name: str) -> Screen:
        if name not in self.shots:
            raise InputError(f"There is no screenshot {name!r} in {self.name}.")
        return self.shots[name]

    def _own_samples(self) -> dict[str, Sample]:
        if self.format != _OWN_FORMAT:
            return {}
        samples = read_samples(data_folder(self.path))
        return {sample.id: sample for sample in samples if not isinstance(sample, BrokenItem)}

    def _described(self, samples: list[Sample]) -> Dataset:
        if self.format == _OWN_FORMAT:
            try:
                return replace(read_dataset(data_folder(self.path)), samples=tuple(samples))
            except InputError:
                pass  # a sample of it is broken; the rest is described below
        source = {} if self.format in (SCREENSHOTS, _OWN_FORMAT) else {"source": self.format}
        return Dataset(self.name, "1.0", tuple(samples), metadata=source)


def open_screenshots(path: Path) -> ScreenshotEditor | None:
    """Open a grounding data set, or a folder of screenshots; None where there is no picture."""
    folder = data_folder(path)
    loader = find_loader(folder)
    if loader is not None:
        shots = {
            screen.id: replace(screen, image=partial(_inside_the_set, folder, screen.image))
            for screen in loader.screens(folder)
        }
        return ScreenshotEditor(path, loader.name, shots)
    shots = {shot.id: shot for shot in _plain_shots(path)}
    return ScreenshotEditor(path, SCREENSHOTS, shots) if shots else None


def _picture(shot: Screen) -> tuple[Path, Size]:
    """Return the file and its size; errors name the file without its folder."""
    path = shot.image()
    picture_type(path)  # raises for other files
    try:
        return shot.picture()
    except InputError as error:
        raise InputError(error.message.replace(str(path), path.name)) from error


def _inside_the_set(path: Path, find: Callable[[], Path]) -> Path:
    from uiproof.settings import Settings

    picture = find().absolute()
    unpacked = Settings.from_environment().cache_dir.absolute() / "grounding"
    if picture.is_relative_to(unpacked):
        return picture_inside(picture, unpacked)
    folder = (path if path.is_dir() else path.parent).absolute()
    around = (folder, *folder.parents[:_LEVELS_UP])
    base = next((one for one in around if picture.is_relative_to(one)), folder)
    # A snapshot of the Hugging Face cache is made of links into its neighbour `blobs`.
    if base.parent.name == "snapshots":
        return picture_inside(picture, base, base.parent.parent / "blobs")
    return picture_inside(picture, base)


def _plain_shots(path: Path) -> Iterator[Screen]:
    if path.is_file():
        if path.suffix.lower() in PICTURE_SUFFIXES:
            yield Screen(path.name, partial(picture_inside, path, path.parent))
        return
    files = []
    for folder, below, names in os.walk(path):
        below[:] = [name for name in below if not name.startswith(".")]
        files += [
            Path(folder, name)
            for name in names
            if name.lower().endswith(PICTURE_SUFFIXES) and not name.startswith(".")
        ]
        if len(files) > _MOST_SCREENSHOTS:
            raise InputError(
                f"There are more than {_MOST_SCREENSHOTS:,} pictures in {path}.",
                remedy="Name one of its folders.",
            )
    for file in sorted(files, key=lambda one: _natural(one.relative_to(path).as_posix())):
        # Names that are not UTF-8 cannot be shown; their replacements are still unique.
        name = os.fsencode(file.relative_to(path)).decode("utf-8", "backslashreplace")
        yield Screen(name, partial(picture_inside, file, path))


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that puts `2.png` before `10.png`."""
    return [
        (0, int(part), "") if part.isdecimal() and len(part) < 30 else (1, 0, part.lower())
        for part in re.split(r"(\d+)", name)
    ]


def _current(shot: Screen, size: Size, state: Mapping[str, Any] | None) -> Boxes:
    """Return the newest correction, or what the data set has."""
    if state is None:
        boxes = tuple(_element_box(element, size) for element in shot.elements)
        return Boxes.model_construct(boxes=boxes, done=False)
    try:
        return read_boxes(state, size)
    except InputError as error:
        raise InputError(
            f"The boxes of {shot.id} were drawn on another picture: {error.message}",
            remedy="Restore the earlier picture.",
        ) from error


def _element_box(element: AnnotatedElement, size: Size) -> ElementBox:
    kind: Any = element.element_type.value
    if element.element_type is ElementType.UNKNOWN:
        kind = element.metadata.get(_FREE_TYPE) or kind
    found = element.bbox.to_pixels(*size)
    left, top = min(found.left, size[0] - 1), min(found.top, size[1] - 1)
    # At least one pixel, however thin it is.
    box = PixelBox(left, top, max(found.right, left + 1), max(found.bottom, top + 1))
    return ElementBox.model_construct(
        id=element.id,
        box=None if element.refusal else edges_of(box),
        instruction=element.instruction,
        type=str(kind),
        text=element.text,
    )


def _exported(
    box: ElementBox, before: AnnotatedElement | None, tags: Mapping[str, str], size: Size
) -> AnnotatedElement:
    fitting = box.type if box.type in TYPES else ElementType.UNKNOWN.value
    metadata = dict(before.metadata) if before else {}
    metadata.pop(_FREE_TYPE, None)
    if fitting != box.type:
        metadata[_FREE_TYPE] = box.type
    element = AnnotatedElement(
        id=box.id,
        bbox=Box(0, 0, 0, 0) if box.box is None else PixelBox(*box.box).normalised(*size),
        text=_typed(box.text, before.text if before else ""),
        element_type=ElementType(fitting),
        instruction=_typed(box.instruction, before.instruction if before else ""),
        refusal=box.box is None,
        metadata={**tags, **metadata},
        extra=before.extra if before else {},
    )
    if before is not None and _element_box(before, size).box == box.box:
        # It was not moved: fractions of pixels, outlines and areas to click stay as they were.
        element = replace(
            element, bbox=before.bbox, clickable=before.clickable, polygon=before.polygon
        )
    return element


def _typed(text: str, before: str) -> str:
    """Return a text without the spaces around it, unless they were there before."""
    return text if text == before else text.strip()


def _file_name(name: str, taken: set[str]) -> str:
    """Return a file name for any system that was not given before."""
    base = re.sub(r"[^\w.-]+", "_", _stem(name)).strip("._")[:_LONGEST_NAME] or "screenshot"
    unused, count = base, 1
    while unused.lower() in taken:  # some disks do not tell capitals apart
        count += 1
        unused = f"{base}-{count}"
    taken.add(unused.lower())
    return unused


def _stem(name: str) -> str:
    return name.rpartition(".")[0] if name.lower().endswith(PICTURE_SUFFIXES) else name
