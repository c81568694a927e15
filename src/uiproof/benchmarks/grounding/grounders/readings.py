"""What was read on screenshots, kept on disk; see `uiproof.vision.readings`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from pathlib import Path

from uiproof.benchmarks.grounding.grounders.base import Picture
from uiproof.benchmarks.grounding.grounders.candidates import (
    ENLARGED,
    ONE_LOOK,
    Screen,
    look_at,
    read,
)
from uiproof.vision.readings import KeptReadings


@cache
def reader_name() -> str:
    """What reads, and how: readings of another one are not used."""
    return f"rapidocr {version('rapidocr')}, enlarged {ENLARGED:.3g} up to {ONE_LOOK} pixels"


class Readings:
    """Lines of text by picture. Making this object touches no file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def screen(self, picture: Picture) -> Screen:
        """What is on a picture, which is read unless that was done before."""
        rgb = picture.rgb()
        kept = KeptReadings(self.folder, reader_name())
        return look_at(rgb, kept.lines(picture.digest, lambda: read(rgb)))
