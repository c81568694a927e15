"""WebClick: 1639 web pages in three buckets, as parquet.

Its card does not say how boxes are written. Copies with corners in fractions are known; whichever
convention the boxes themselves allow is used, and a file that allows none is refused.
"""

from __future__ import annotations

from pathlib import Path

from uiproof.benchmarks.grounding.loaders import parquet
from uiproof.benchmarks.grounding.loaders.base import PublishedSet
from uiproof.benchmarks.grounding.loaders.conventions import (
    CORNERS_FRACTIONS,
    CORNERS_PIXELS,
    SIZE_FRACTIONS,
    SIZE_PIXELS,
)
from uiproof.benchmarks.grounding.loaders.rows import Entry, Row, numbers_of, tags_of, text_of


def _read(entry: Entry, number: int, file: Path) -> Row:
    bucket = entry.get("bucket")
    return Row(
        id=f"{file.stem}-{number}",
        image=entry["image_name"],
        instruction=text_of(entry, "instruction"),
        numbers=numbers_of(entry.get("bbox")),
        tags=tags_of(group=bucket, platform="web"),
    )


LOADERS = (
    PublishedSet(
        name="webclick",
        patterns=(("*.parquet",), ("data/*.parquet",)),
        keys=frozenset({parquet.IMAGE, "instruction", "bbox", "bucket"}),
        read=_read,
        conventions=(CORNERS_FRACTIONS, CORNERS_PIXELS, SIZE_PIXELS, SIZE_FRACTIONS),
        entries=parquet.entries,
        keys_of=parquet.columns,
        images=parquet.ParquetImages,
        suffixes=(".parquet",),
    ),
)
