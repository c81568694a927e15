"""What was read on pictures, kept on disk: reading takes seconds, and pictures come again.

One file per picture: `<folder>/<first two digits of its digest>/<digest>.json`. Processes may share
a folder. What was not used for longest is deleted when they are too many.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from uiproof import pruning
from uiproof.boxes import PixelBox
from uiproof.vision.ocr import OcrLine, OcrWord

MOST_BYTES = 500_000_000  # of one folder: some hundred thousand pictures


class KeptReadings:
    """Lines of text by the digest of a picture. Making this object touches no file.

    `reader` says what reads, and how: what another one has read is not used.
    """

    def __init__(self, folder: Path, reader: str) -> None:
        self.folder, self.reader = folder, reader

    def lines(self, digest: str, read: Callable[[], list[OcrLine]]) -> list[OcrLine]:
        """What is on a picture; `read` is called unless that was done before."""
        file = self.folder / digest[:2] / f"{digest}.json"
        lines = self._stored(file)
        if lines is None:
            lines = read()
            with suppress(OSError):  # a cache that may only be read is useful too
                file.parent.mkdir(parents=True, exist_ok=True)
                partial = file.with_name(f".{uuid4().hex}")
                content = json.dumps(self._as_json(lines)).encode()
                partial.write_bytes(content)
                partial.replace(file)
                pruning.written(self.folder, len(content), MOST_BYTES)
        else:
            with suppress(OSError):
                os.utime(file)  # used now: others go first
        return lines

    def _stored(self, file: Path) -> list[OcrLine] | None:
        """The reading in a file; None where there is none that can be used."""
        try:
            content = json.loads(file.read_bytes())
            if content["reader"] != self.reader:
                return None
            return [
                OcrLine(text, PixelBox(*box), confidence, tuple(_words(words)))
                for text, box, confidence, words in content["lines"]
            ]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _as_json(self, lines: list[OcrLine]) -> dict[str, Any]:
        return {
            "reader": self.reader,
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


def _words(words: Any) -> list[OcrWord]:
    return [OcrWord(text, PixelBox(*box)) for text, box in words]


def _edges(box: PixelBox) -> list[int]:
    return [box.left, box.top, box.right, box.bottom]
