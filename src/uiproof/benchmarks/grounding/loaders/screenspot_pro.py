"""ScreenSpot-Pro: 1581 items of professional software; also the variants of ScreenSpot-v2.

`annotations/*.json` beside `images/`, boxes `[x1, y1, x2, y2]` in pixels. The variants of
ScreenSpot-v2 (other instructions for the same items) have the same layout.
"""

from __future__ import annotations

from pathlib import Path

from uiproof.benchmarks.grounding.loaders import parquet
from uiproof.benchmarks.grounding.loaders.base import PublishedSet
from uiproof.benchmarks.grounding.loaders.conventions import CORNERS_FRACTIONS, CORNERS_PIXELS
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

_KEYS = frozenset({"bbox", "instruction", "application", "ui_type"})
_DEVICES = {"mobile", "desktop", "web"}  # the platforms of ScreenSpot-v2
_FILES = (
    "*_windows.json",
    "*_macos.json",
    "*_linux.json",
    "desktop.json",
    "mobile.json",
    "web.json",
)


def _read(entry: Entry, number: int, file: Path) -> Row:
    return _row(entry, number, file, text_of(entry, "img_filename"))


def _read_parquet(entry: Entry, number: int, file: Path) -> Row:
    return _row(entry, number, file, entry["image_name"])


def _row(entry: Entry, number: int, file: Path, image: str) -> Row:
    platform = str(entry.get("platform") or "")
    data_type = str(entry.get("ui_type") or "")
    of_v2 = platform in _DEVICES
    return Row(
        id=str(entry.get("id") or f"{file.stem}-{number}"),
        image=image,
        instruction=text_of(entry, "instruction"),
        numbers=numbers_of(entry.get("bbox")),
        size=size_of(entry.get("img_size")),
        element_type=type_of(data_type),
        tags=tags_of(
            group=f"{platform} {data_type}" if of_v2 else entry.get("group"),
            platform=platform,
            application=entry.get("application"),
            data_type=data_type,
        ),
    )


LOADERS = (
    PublishedSet(
        name="screenspot-pro",
        patterns=(("annotations/*.json",), _FILES),
        keys=_KEYS | {"img_filename"},
        read=_read,
        conventions=(CORNERS_PIXELS,),
        images=lambda file: ImageFolder(file, levels=1),
    ),
    PublishedSet(
        name="screenspot-pro",
        patterns=(("*.parquet",), ("data/*.parquet",)),
        keys=_KEYS | {parquet.IMAGE},
        read=_read_parquet,
        conventions=(CORNERS_PIXELS, CORNERS_FRACTIONS),
        entries=parquet.entries,
        keys_of=parquet.columns,
        images=parquet.ParquetImages,
        suffixes=(".parquet",),
    ),
)
