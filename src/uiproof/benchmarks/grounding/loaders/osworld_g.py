"""OSWorld-G: 564 items on Linux desktops, some with polygons, some that nothing on screen fits.

`OSWorld-G.json` and, with the same items and clearer instructions, `OSWorld-G_refined.json` beside
`images/`. A folder means the original; name the refined file to get that. Boxes are
`[x, y, width, height]` in pixels, polygons `[x, y, x, y, …]`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from uiproof.benchmarks.grounding.loaders.base import PublishedSet
from uiproof.benchmarks.grounding.loaders.conventions import SIZE_PIXELS
from uiproof.benchmarks.grounding.loaders.images import ImageFolder
from uiproof.benchmarks.grounding.loaders.rows import (
    Entry,
    Row,
    numbers_of,
    size_of,
    tags_of,
    text_of,
    type_of,
)
from uiproof.engine.storage import access
from uiproof.errors import InputError

_CLASSES = "classification_result.json"
_BUCKETS = "buckets.json"
_KINDS: dict[str, Literal["box", "polygon", "refusal"]] = {
    "bbox": "box",
    "polygon": "polygon",
    "refusal": "refusal",
}


def _read(entry: Entry, _number: int, file: Path) -> Row:
    kind = _KINDS.get(str(entry.get("box_type")))
    if kind is None:
        raise InputError(
            f"The box type {entry.get('box_type')!r} is not known.",
            remedy=f"Known are {', '.join(_KINDS)}.",
        )
    identifier = text_of(entry, "id")
    types = entry.get("GUI_types")
    types = types if isinstance(types, list) else []
    return Row(
        id=identifier,
        image=text_of(entry, "image_path"),
        instruction=text_of(entry, "instruction"),
        numbers=numbers_of(entry.get("box_coordinates")),
        kind=kind,
        size=size_of(entry.get("image_size")),
        element_type=type_of(*types),
        tags=tags_of(
            split="refined" if "refined" in file.stem else "original",
            kind=kind,
            # An item can be of several categories, so each is a tag of its own.
            **dict.fromkeys(_categories(file, identifier, kind, types), "yes"),
        ),
    )


def _categories(file: Path, identifier: str, kind: str, types: list[str]) -> list[str]:
    """The published categories of an item, or what the published rule gives."""
    for folder in (file.parent, file.parent.parent):
        if (folder / _CLASSES).is_file():
            classes = folder / _CLASSES
            found = _classified(classes, classes.stat().st_mtime_ns).get(identifier)
            if found:
                return list(found)
        if (folder / _BUCKETS).is_file():
            if kind == "refusal":
                return ["refusal"]
            rule = folder / _BUCKETS
            buckets = _buckets(rule, rule.stat().st_mtime_ns)
            return [name for name, members in buckets if members & set(types)]
    return ["refusal"] if kind == "refusal" else []


@lru_cache(maxsize=4)
def _classified(file: Path, _changed: int) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    with _understood(file) as content:
        for category, items in content["classified"].items():
            for item in items:
                found[item["id"]] = (*found.get(item["id"], ()), category)
    return found


@lru_cache(maxsize=4)
def _buckets(file: Path, _changed: int) -> tuple[tuple[str, frozenset[str]], ...]:
    with _understood(file) as content:
        return tuple((name, frozenset(members)) for name, members in content.items())


@contextmanager
def _understood(file: Path) -> Iterator[Any]:
    try:
        with access(file, "read"):
            yield json.loads(file.read_bytes())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{file} is not the published file: {error}.", remedy="Download it again."
        ) from error


LOADERS = (
    PublishedSet(
        name="osworld-g",
        patterns=(
            ("OSWorld-G.json",),
            ("benchmark/OSWorld-G.json",),
            ("OSWorld-G_refined.json",),
            ("benchmark/OSWorld-G_refined.json",),
        ),
        keys=frozenset({"id", "image_path", "image_size", "box_type", "box_coordinates"}),
        read=_read,
        conventions=(SIZE_PIXELS,),
        images=lambda file: ImageFolder(file, levels=1),
    ),
)
