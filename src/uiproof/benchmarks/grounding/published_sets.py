"""The known grounding data sets in the layouts in which they are published.

    loader = find_loader(Path("ScreenSpot-Pro"))
    for screen in loader.screens(Path("ScreenSpot-Pro")):
        ...

A folder means the whole set; one of its annotation files means that part alone.
docs/grounding-data.md describes the layouts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from uiproof.benchmarks.grounding.data import (
    ANNOTATIONS,
    BrokenItem,
    ElementType,
    annotations_file,
    read_samples,
)
from uiproof.benchmarks.grounding.loaders import (
    CORNERS_FRACTIONS,
    CORNERS_PIXELS,
    SIZE_FRACTIONS,
    SIZE_PIXELS,
    Convention,
    Entry,
    Loader,
    PublishedSet,
    Row,
    Screen,
    make_tags,
    read_numbers,
    read_size,
    read_text,
    read_type,
)
from uiproof.errors import InputError
from uiproof.files import access


def find_loader(path: Path) -> Loader | None:
    """Return the loader that recognises a folder or file, or None."""
    return next((loader for loader in LOADERS if loader.recognises(path)), None)


# --- our own format

# The metadata by which results are split up.
_METADATA_TAGS = (
    "group",
    "platform",
    "application",
    "data_type",
    "split",
    "difficulty",
    "theme",
    "language",
    "scale",
    "resolution",
)


class OwnFormat:
    """`annotations.json` with `samples/*.png`, as `uiproof generate` writes it."""

    name = "annotations"

    def recognises(self, path: Path) -> bool:
        """Return whether there is an `annotations.json`, or a JSON file with samples."""
        file = annotations_file(path)
        if file.suffix != ".json":
            return False
        try:
            with file.open("rb") as start:
                if not start.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
                    return False
            content = json.loads(file.read_bytes())
        except OSError:
            return False
        except (ValueError, RecursionError):
            # A damaged file of this name is still ours: loading it says what is wrong.
            return file.name == ANNOTATIONS
        return isinstance(content, dict) and isinstance(content.get("samples"), list)

    def screens(self, path: Path) -> Sequence[Screen]:
        """Return all samples; a broken item is a screenshot without elements."""
        folder = annotations_file(path).parent
        screens = []
        for sample in read_samples(path):
            image = partial(_find_image, folder, sample.image_path)
            if isinstance(sample, BrokenItem):
                element = sample.element
                name = sample.id if element is None else sample.id.removesuffix(f"/{element.id}")
                tags = {} if element is None else _metadata_tags(element.metadata)
                broken = (replace(sample, tags=tags),)
                screens.append(Screen(name, image, sample.size, (), (), broken))
            else:
                size = sample.width, sample.height
                all_tags = tuple(
                    _metadata_tags({**sample.metadata, **element.metadata})
                    for element in sample.elements
                )
                screens.append(Screen(sample.id, image, size, sample.elements, all_tags))
        return screens


def _metadata_tags(metadata: Mapping[str, Any]) -> dict[str, str]:
    found = {name: metadata.get(name) for name in _METADATA_TAGS}
    return make_tags(**{k: v for k, v in found.items() if isinstance(v, str | int | float)})


def _find_image(folder: Path, name: str) -> Path:
    path = folder / name.replace("\\", "/")
    if not path.is_file():
        raise InputError(
            f"The image {path} is missing.", remedy="Copy it there, or make the data set again."
        )
    return path


# --- entries of published sets


def _row(
    entry: Entry,
    identifier: str,
    image: str,
    *,
    instruction: str = "instruction",
    numbers: str = "bbox",
    size: str = "",
    types: Sequence[Any] = (),
    **tags: Any,
) -> Row:
    """Return an item whose instruction, numbers and image size are in the keys of these names."""
    return Row(
        id=identifier,
        image=image,
        instruction=read_text(entry, instruction),
        numbers=read_numbers(entry.get(numbers)),
        size=read_size(entry.get(size)),
        element_type=read_type(*types),
        tags=make_tags(**tags),
    )


def _image_name(entry: Entry, file: Path) -> str:
    return read_text(entry, "image_name" if file.suffix == ".parquet" else "img_filename")


_PLATFORMS = {
    "ios": "mobile",
    "android": "mobile",
    "windows": "desktop",
    "macos": "desktop",
    "gitlab": "web",
    "shop": "web",
    "forum": "web",
    "tool": "web",
}


def _screenspot(entry: Entry, number: int, file: Path) -> Row:
    words = () if file.suffix == ".parquet" else file.stem.split("_")
    named = next((word for word in words if word in _PLATFORMS.values()), "")
    source = str(entry.get("data_source") or "").lower()
    platform = named or _PLATFORMS.get(source, "")
    data_type = str(entry.get("data_type") or "")
    return _row(
        entry,
        f"{named or file.stem}-{number}",
        _image_name(entry, file),
        types=[data_type],
        group=f"{platform} {data_type}".strip(),
        platform=platform,
        data_type=data_type,
        source=source,
    )


def _screenspot_pro(entry: Entry, number: int, file: Path) -> Row:
    """Read an item of ScreenSpot-Pro, or of the variants of ScreenSpot-v2 in its layout."""
    platform = str(entry.get("platform") or "")
    data_type = str(entry.get("ui_type") or "")
    of_v2 = platform in _PLATFORMS.values()
    return _row(
        entry,
        str(entry.get("id") or f"{file.stem}-{number}"),
        _image_name(entry, file),
        size="img_size",
        types=[data_type],
        group=f"{platform} {data_type}" if of_v2 else entry.get("group"),
        platform=platform,
        application=entry.get("application"),
        data_type=data_type,
    )


def _ui_vision(entry: Entry, number: int, file: Path) -> Row:
    split = file.stem.removeprefix("element_grounding_")
    return _row(
        entry,
        f"{split}-{number}",
        read_text(entry, "image_path"),
        instruction="prompt_to_evaluate",
        size="image_size",
        types=[entry.get("element_type")],
        group=split,
        split=split,
        application=entry.get("platform"),  # the software, in spite of the name
        category=entry.get("category"),
        data_type=entry.get("element_type"),
    )


def _mmbench_gui(entry: Entry, number: int, _file: Path) -> Row:
    platform = read_text(entry, "platform")
    image = read_text(entry, "image_path")
    level = str(entry.get("grounding_type") or "")
    index = entry.get("index")
    name = platform.removeprefix("os_")
    return _row(
        entry,
        str(number if index is None else index),
        image if platform in Path(image).parts else f"{platform}/{image}",
        size="image_size",
        types=[entry.get("data_type")],
        group=f"{name} {level}".strip(),
        platform=name,
        difficulty=level,
        application=entry.get("app_name"),
        data_type=entry.get("data_type"),
    )


def _showdown(entry: Entry, _number: int, file: Path) -> Row:
    def number(key: str) -> float:
        try:
            return float(entry.get(key) or "")
        except ValueError:
            raise InputError(
                f"`{key}` is not a number: {entry.get(key)!r}.", remedy="Download the file again."
            ) from None

    box = [number(key) for key in ("x1", "y1", "x2", "y2")]
    return _row(
        {**entry, "bbox": box, "size": [number("width"), number("height")]},
        read_text(entry, "id"),
        read_text(entry, "image"),
        size="size",
        platform="macos",
        split=file.parent.name.removeprefix("showdown-clicks-"),
    )


def _webclick(entry: Entry, number: int, file: Path) -> Row:
    name = f"{file.stem}-{number}"
    return _row(entry, name, entry["image_name"], group=entry.get("bucket"), platform="web")


def _cagui(entry: Entry, number: int, file: Path) -> Row:
    split = file.stem
    identifier = entry.get("id")
    image = PurePosixPath(read_text(entry, "image"))
    if split not in image.parts[:-1]:
        # Annotated paths leave out the folder of the split, where both have a `0.jpeg`.
        image = PurePosixPath("images", split, image.name)
    row = _row(
        entry,
        f"{split}-{number if identifier is None else identifier}",
        str(image),
        instruction="text",
        numbers="abs_position",
        group=split,
        split=split,
        platform="android",
        language="zh",
        task=entry.get("task"),
    )
    if split == "ocr":
        return replace(row, text=row.instruction, element_type=ElementType.TEXT)
    return row


def _venusbench_gd(entry: Entry, number: int, file: Path) -> Row:
    """Read an item of VenusBench-GD: its subtask is the name of its file.

    Fields are those that its authors' program reads; platform and application are folders of the
    image. What the box of a refusal is was nowhere to be seen, so it is not read.
    """
    refusal = file.stem.startswith("refusal")
    image = read_text(entry, "img_filename")
    platform, application = (*PurePosixPath(image).parts[:-1], "", "")[:2]
    row = _row(
        {**entry, "bbox": [0, 0, 0, 0]} if refusal else entry,
        str(entry.get("id") or f"{file.stem}-{number}"),
        image,
        types=[entry.get("ui_type")],
        group=file.stem,
        split=file.stem,
        platform=entry.get("platform") or platform,
        application=entry.get("application") or application,
        language="zh" if re.search("[\u4e00-\u9fff]", str(entry.get("instruction"))) else "en",
        data_type=entry.get("ui_type"),
    )
    return replace(row, kind="refusal") if refusal else row


_KINDS: dict[str, Literal["box", "polygon", "refusal"]] = {
    "bbox": "box",
    "polygon": "polygon",
    "refusal": "refusal",
}


def _osworld_g(entry: Entry, _number: int, file: Path) -> Row:
    kind = _KINDS.get(str(entry.get("box_type")))
    if kind is None:
        raise InputError(
            f"The box type {entry.get('box_type')!r} is not known.",
            remedy=f"Known are {', '.join(_KINDS)}.",
        )
    identifier = read_text(entry, "id")
    types = entry.get("GUI_types")
    types = types if isinstance(types, list) else []
    row = _row(
        entry,
        identifier,
        read_text(entry, "image_path"),
        numbers="box_coordinates",
        size="image_size",
        types=types,
        split="refined" if "refined" in file.stem else "original",
        kind=kind,
        # An item can belong to several categories: each is a tag.
        **dict.fromkeys(_categories(file, identifier, kind, types), "yes"),
    )
    return replace(row, kind=kind)


def _categories(file: Path, identifier: str, kind: str, types: list[str]) -> list[str]:
    """Return the published categories of an item, or those of the published rule."""
    for folder in (file.parent, file.parent.parent):
        classes, buckets = folder / "classification_result.json", folder / "buckets.json"
        if classes.is_file() and identifier in (found := _read_published(classes)):
            return found[identifier]
        if buckets.is_file():
            if kind == "refusal":
                break
            rule = _read_published(buckets)
            return [name for name, members in rule.items() if set(members) & set(types)]
    return ["refusal"] if kind == "refusal" else []


def _read_published(file: Path) -> dict[str, list[str]]:
    return _read_cached(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _read_cached(file: Path, _changed: int) -> dict[str, list[str]]:
    """Return the types of each bucket, or the categories of each classified item."""
    try:
        with access(file, "read"):
            content = json.loads(file.read_bytes())
        if file.stem == "buckets":
            return {name: list(members) for name, members in content.items()}
        found: dict[str, list[str]] = {}
        for category, items in content["classified"].items():
            for item in items:
                found.setdefault(item["id"], []).append(category)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{file} is not the published file: {error}.", remedy="Download it again."
        ) from error
    return found


# --- the table

_PARQUET = (("*.parquet",), ("data/*.parquet",))
_SCREENSPOT_KEYS = frozenset({"bbox", "instruction", "data_type", "data_source"})
_PRO_KEYS = frozenset({"bbox", "instruction", "application", "ui_type"})
_UI_VISION_FILES = "element_grounding_*.json"
_CAGUI_FOLDERS = ("", "code/", "CAGUI_grounding/code/", "eval/grounding_eval/dataset/code/")

LOADERS: tuple[Loader, ...] = (
    OwnFormat(),
    PublishedSet(
        name="screenspot",
        patterns=(("screenspot_*_v2.json",), ("screenspot_*.json",)),
        keys=_SCREENSPOT_KEYS | {"img_filename"},
        read=_screenspot,
        conventions=(SIZE_PIXELS,),
        levels=1,
    ),
    PublishedSet(
        name="screenspot",
        patterns=_PARQUET,
        keys=_SCREENSPOT_KEYS | {"image"},
        read=_screenspot,
        conventions=(CORNERS_FRACTIONS,),
    ),
    PublishedSet(
        name="screenspot-pro",
        patterns=(
            ("annotations/*.json",),
            (
                *("*_windows.json", "*_macos.json", "*_linux.json"),
                *("desktop.json", "mobile.json", "web.json"),
            ),
        ),
        keys=_PRO_KEYS | {"img_filename"},
        read=_screenspot_pro,
        conventions=(CORNERS_PIXELS,),
        levels=1,
    ),
    PublishedSet(
        name="screenspot-pro",
        patterns=_PARQUET,
        keys=_PRO_KEYS | {"image"},
        read=_screenspot_pro,
        conventions=(CORNERS_PIXELS, CORNERS_FRACTIONS),
    ),
    PublishedSet(
        name="osworld-g",
        patterns=(
            ("OSWorld-G.json",),
            ("benchmark/OSWorld-G.json",),
            ("OSWorld-G_refined.json",),
            ("benchmark/OSWorld-G_refined.json",),
        ),
        keys=frozenset({"id", "image_path", "image_size", "box_type", "box_coordinates"}),
        read=_osworld_g,
        conventions=(SIZE_PIXELS,),
        levels=1,
    ),
    PublishedSet(
        name="ui-vision",
        patterns=(
            (f"annotations/element_grounding/{_UI_VISION_FILES}",),
            (f"element_grounding/{_UI_VISION_FILES}",),
            (_UI_VISION_FILES,),
        ),
        keys=frozenset({"image_path", "image_size", "prompt_to_evaluate", "bbox"}),
        read=_ui_vision,
        conventions=(Convention("corners", "pixels", swapped=True),),
        levels=2,
    ),
    PublishedSet(
        name="mmbench-gui-l2",
        patterns=(("L2_annotations.json",), ("MMBench-GUI/L2_annotations.json",)),
        keys=frozenset({"image_path", "platform", "instruction", "bbox", "grounding_type"}),
        read=_mmbench_gui,
        conventions=(Convention("corners", "either"),),
        shorten=True,
    ),
    PublishedSet(
        name="showdown-clicks",
        patterns=(("data.csv",), ("showdown-clicks-*/data.csv",)),
        keys=frozenset({"id", "image", "instruction", "x1", "y1", "x2", "y2", "width", "height"}),
        read=_showdown,
        conventions=(CORNERS_PIXELS,),
    ),
    PublishedSet(
        name="webclick",
        patterns=_PARQUET,
        keys=frozenset({"image", "instruction", "bbox", "bucket"}),
        read=_webclick,
        # Its card does not say how boxes are written; copies with corners in fractions are known.
        conventions=(CORNERS_FRACTIONS, CORNERS_PIXELS, SIZE_PIXELS, SIZE_FRACTIONS),
    ),
    PublishedSet(
        name="cagui",
        patterns=tuple((f"{folder}cap.jsonl", f"{folder}ocr.jsonl") for folder in _CAGUI_FOLDERS),
        keys=frozenset({"image", "id", "abs_position", "text"}),
        read=_cagui,
        conventions=(CORNERS_PIXELS,),
        levels=1,
        shorten=True,
    ),
    PublishedSet(
        name="venusbench-gd",
        patterns=(("instruction/*.json",), ("*_grounding.json", "refusal_*.json")),
        keys=frozenset({"bbox", "instruction", "img_filename"}),
        read=_venusbench_gd,
        conventions=(CORNERS_PIXELS,),
        levels=2,
    ),
)
