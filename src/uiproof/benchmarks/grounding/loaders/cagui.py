"""CAGUI grounding: Chinese Android apps, 1500 functions (`cap`) and 1500 texts (`ocr`).

`code/{cap,ocr}.jsonl` beside `images/{cap,ocr}/`. Boxes are texts: `<x1, y1, x2, y2>` in pixels.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from uiproof.benchmarks.grounding.data import ElementType
from uiproof.benchmarks.grounding.loaders.base import PublishedSet
from uiproof.benchmarks.grounding.loaders.conventions import CORNERS_PIXELS
from uiproof.benchmarks.grounding.loaders.images import ImageFolder
from uiproof.benchmarks.grounding.loaders.rows import Entry, Row, numbers_of, tags_of, text_of

_SPLITS = ("cap", "ocr")


def _read(entry: Entry, number: int, file: Path) -> Row:
    split = file.stem
    identifier = entry.get("id")
    text = text_of(entry, "text")
    return Row(
        id=f"{split}-{number if identifier is None else identifier}",
        image=_image(text_of(entry, "image"), split),
        instruction=text,
        numbers=numbers_of(entry.get("abs_position")),
        text=text if split == "ocr" else "",
        element_type=ElementType.TEXT if split == "ocr" else ElementType.UNKNOWN,
        tags=tags_of(
            group=split, split=split, platform="android", language="zh", task=entry.get("task")
        ),
    )


def _image(annotated: str, split: str) -> str:
    """Annotated paths leave out the folder of the split, where both have a `0.jpeg`."""
    path = PurePosixPath(annotated)
    return annotated if split in path.parts[:-1] else f"images/{split}/{path.name}"


_FOLDERS = ("", "code/", "CAGUI_grounding/code/", "eval/grounding_eval/dataset/code/")

LOADERS = (
    PublishedSet(
        name="cagui",
        patterns=tuple(tuple(f"{folder}{split}.jsonl" for split in _SPLITS) for folder in _FOLDERS),
        keys=frozenset({"image", "id", "abs_position", "text"}),
        read=_read,
        conventions=(CORNERS_PIXELS,),
        images=lambda file: ImageFolder(file, levels=1, shorten=True),
        suffixes=(".jsonl",),
    ),
)
