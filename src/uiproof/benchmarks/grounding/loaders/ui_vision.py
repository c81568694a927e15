"""UI-Vision element grounding: desktop software; basic, functional and spatial instructions.

`annotations/element_grounding/element_grounding_{basic,functional,spatial}.json` beside `images/`.
Boxes are two corners in pixels, in any order. The layout task of the set is something else.
"""

from __future__ import annotations

from pathlib import Path

from uiproof.benchmarks.grounding.loaders.base import PublishedSet
from uiproof.benchmarks.grounding.loaders.conventions import Convention
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


def _read(entry: Entry, number: int, file: Path) -> Row:
    split = file.stem.removeprefix("element_grounding_")
    kind = entry.get("element_type")
    return Row(
        id=f"{split}-{number}",
        image=text_of(entry, "image_path"),
        instruction=text_of(entry, "prompt_to_evaluate"),
        numbers=numbers_of(entry.get("bbox")),
        size=size_of(entry.get("image_size")),
        element_type=type_of(kind),
        tags=tags_of(
            group=split,
            split=split,
            application=entry.get("platform"),  # the software, in spite of the name
            category=entry.get("category"),
            data_type=kind,
        ),
    )


_FOLDER = "annotations/element_grounding"

LOADERS = (
    PublishedSet(
        name="ui-vision",
        patterns=(
            (f"{_FOLDER}/element_grounding_*.json",),
            ("element_grounding/element_grounding_*.json",),
            ("element_grounding_*.json",),
        ),
        keys=frozenset({"image_path", "image_size", "prompt_to_evaluate", "bbox"}),
        read=_read,
        conventions=(Convention("corners", "pixels", swapped=True),),
        images=lambda file: ImageFolder(file, levels=2),
    ),
)
