"""ScreenSpot and ScreenSpot-v2: phones, desktops and web pages, 1272 items each.

Published as `screenspot_{mobile,desktop,web}[_v2].json` with boxes `[x, y, width, height]` in
pixels, and as parquet copies with `[x1, y1, x2, y2]` in fractions.
"""

from __future__ import annotations

from pathlib import Path

from uiproof.benchmarks.grounding.loaders import parquet
from uiproof.benchmarks.grounding.loaders.base import PublishedSet
from uiproof.benchmarks.grounding.loaders.conventions import CORNERS_FRACTIONS, SIZE_PIXELS
from uiproof.benchmarks.grounding.loaders.images import ImageFolder
from uiproof.benchmarks.grounding.loaders.rows import (
    Entry,
    Row,
    numbers_of,
    tags_of,
    text_of,
    type_of,
)

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
_KEYS = frozenset({"bbox", "instruction", "data_type", "data_source"})


def _read(entry: Entry, number: int, file: Path) -> Row:
    named = [part for part in file.stem.split("_") if part in _PLATFORMS.values()]
    platform = named[0] if named else ""
    return _row(
        entry, text_of(entry, "img_filename"), platform, f"{platform or file.stem}-{number}"
    )


def _read_parquet(entry: Entry, number: int, file: Path) -> Row:
    return _row(entry, entry["image_name"], "", f"{file.stem}-{number}")


def _row(entry: Entry, image: str, platform: str, identifier: str) -> Row:
    source = str(entry.get("data_source") or "").lower()
    platform = platform or _PLATFORMS.get(source, "")
    data_type = str(entry.get("data_type") or "")
    return Row(
        id=identifier,
        image=image,
        instruction=text_of(entry, "instruction"),
        numbers=numbers_of(entry.get("bbox")),
        element_type=type_of(data_type),
        tags=tags_of(
            group=f"{platform} {data_type}".strip(),
            platform=platform,
            data_type=data_type,
            source=source,
        ),
    )


LOADERS = (
    PublishedSet(
        name="screenspot",
        patterns=(("screenspot_*_v2.json",), ("screenspot_*.json",)),
        keys=_KEYS | {"img_filename"},
        read=_read,
        conventions=(SIZE_PIXELS,),
        images=lambda file: ImageFolder(file, levels=1),
    ),
    PublishedSet(
        name="screenspot",
        patterns=(("*.parquet",), ("data/*.parquet",)),
        keys=_KEYS | {parquet.IMAGE},
        read=_read_parquet,
        conventions=(CORNERS_FRACTIONS,),
        entries=parquet.entries,
        keys_of=parquet.columns,
        images=parquet.ParquetImages,
        suffixes=(".parquet",),
    ),
)
