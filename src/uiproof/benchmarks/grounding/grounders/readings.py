"""What was read on pictures, kept on disk: reading takes seconds, and pictures come again.

One file per picture: `<folder>/<first two digits of its digest>/<digest>.json`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from uiproof.benchmarks.grounding.data import write_atomically
from uiproof.benchmarks.grounding.grounders.base import Picture
from uiproof.benchmarks.grounding.grounders.candidates import (
    ENLARGED,
    ONE_LOOK,
    Screen,
    look_at,
    read,
)
from uiproof.boxes import PixelBox
from uiproof.vision.ocr import OcrLine, OcrWord


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
        file = self.folder / picture.digest[:2] / f"{picture.digest}.json"
        lines = _stored(file)
        if lines is None:
            lines = read(rgb)
            with suppress(OSError):  # a cache that may only be read is useful too
                file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(file, json.dumps(_as_json(lines)).encode())
        return look_at(rgb, lines)


def _stored(file: Path) -> list[OcrLine] | None:
    """The reading in a file; None where there is none that can be used."""
    try:
        content = json.loads(file.read_bytes())
        if content["reader"] != reader_name():
            return None
        return [
            OcrLine(text, PixelBox(*box), confidence, tuple(_words(words)))
            for text, box, confidence, words in content["lines"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _words(words: Any) -> list[OcrWord]:
    return [OcrWord(text, PixelBox(*box)) for text, box in words]


def _as_json(lines: list[OcrLine]) -> dict[str, Any]:
    return {
        "reader": reader_name(),
        "lines": [
            [
                line.text,
                _edges(line.box),
                line.confidence,
                [[word.text, _edges(word.box)] for word in line.words],
            ]
            for line in lines
        ],
    }


def _edges(box: PixelBox) -> list[int]:
    return [box.left, box.top, box.right, box.bottom]
