"""MMBench-GUI L2: element grounding on six platforms, basic and advanced instructions.

`L2_annotations.json` beside `offline_images/<platform>/` or `MMBench-GUI-OfflineImages.zip`.
Boxes are `[x1, y1, x2, y2]`, in fractions or in pixels, also within one file.
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


def _read(entry: Entry, number: int, _file: Path) -> Row:
    platform = text_of(entry, "platform")
    image = text_of(entry, "image_path")
    level = str(entry.get("grounding_type") or "")
    index = entry.get("index")
    name = platform.removeprefix("os_")
    return Row(
        id=str(number if index is None else index),
        image=image if platform in Path(image).parts else f"{platform}/{image}",
        instruction=text_of(entry, "instruction"),
        numbers=numbers_of(entry.get("bbox")),
        size=size_of(entry.get("image_size")),
        element_type=type_of(entry.get("data_type")),
        tags=tags_of(
            group=f"{name} {level}".strip(),
            platform=name,
            difficulty=level,
            application=entry.get("app_name"),
            data_type=entry.get("data_type"),
        ),
    )


LOADERS = (
    PublishedSet(
        name="mmbench-gui-l2",
        patterns=(("L2_annotations.json",), ("MMBench-GUI/L2_annotations.json",)),
        keys=frozenset({"image_path", "platform", "instruction", "bbox", "grounding_type"}),
        read=_read,
        conventions=(Convention("corners", "either"),),
        images=lambda file: ImageFolder(file, shorten=True),
    ),
)
