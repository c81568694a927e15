"""Showdown-clicks: clicks of people at work on macOS; the published part has 557.

`showdown-clicks-dev/data.csv` with the images in `frames/` beside it. Boxes are corners in pixels.
"""

from __future__ import annotations

from pathlib import Path

from uiproof.benchmarks.grounding.loaders.base import PublishedSet
from uiproof.benchmarks.grounding.loaders.conventions import CORNERS_PIXELS
from uiproof.benchmarks.grounding.loaders.rows import (
    Entry,
    Row,
    numbers_of,
    size_of,
    tags_of,
    text_of,
)
from uiproof.errors import InputError


def _read(entry: Entry, _number: int, file: Path) -> Row:
    return Row(
        id=text_of(entry, "id"),
        image=text_of(entry, "image"),
        instruction=text_of(entry, "instruction"),
        numbers=numbers_of([_number_in(entry, key) for key in ("x1", "y1", "x2", "y2")]),
        size=size_of([_number_in(entry, key) for key in ("width", "height")]),
        tags=tags_of(platform="macos", split=file.parent.name.removeprefix("showdown-clicks-")),
    )


def _number_in(entry: Entry, key: str) -> float:
    try:
        return float(entry.get(key) or "")
    except ValueError:
        raise InputError(
            f"`{key}` is not a number: {entry.get(key)!r}.", remedy="Download the file again."
        ) from None


LOADERS = (
    PublishedSet(
        name="showdown-clicks",
        patterns=(("data.csv",), ("showdown-clicks-*/data.csv",)),
        keys=frozenset({"id", "image", "instruction", "x1", "y1", "x2", "y2", "width", "height"}),
        read=_read,
        conventions=(CORNERS_PIXELS,),
        suffixes=(".csv",),
    ),
)
