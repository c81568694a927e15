"""Lines of text in a picture, read by rapidocr with the models that ship in its wheel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uiproof.boxes import PixelBox
from uiproof.errors import MissingDependencyError
from uiproof.vision.images import Rgb

if TYPE_CHECKING:
    from rapidocr import RapidOCR

TILE_PIXELS = 1_600_000  # one look of the detector; more would cost memory, not find more
OVERLAP = 160  # rows that neighbouring tiles share, so that a line is whole in one of them
MIN_CONFIDENCE = 0.5
_MIN_SIDE = 64
_UNLIMITED = 1 << 20


@dataclass(frozen=True, slots=True)
class OcrLine:
    """One line of text as it was read."""

    text: str
    box: PixelBox
    confidence: float  # 0-1


def read_lines(rgb: Rgb) -> list[OcrLine]:
    """Read the lines of text in a picture, from top to bottom.

    The picture is read at its own scale: tall ones in overlapping tiles, so that small type on a
    long page is not shrunk away. About 4 CPU-seconds for a page of 1280 x 900. The engine is made
    on first use and kept for the life of the process.
    """
    found: list[tuple[bool, OcrLine]] = []
    height, width = rgb.shape[:2]
    for top, bottom in _tiles(height, width):
        for line in _read_tile(rgb[top:bottom], top):
            cut = (top > 0 and line.box.top <= top + 1) or (
                bottom < height and line.box.bottom >= bottom - 1
            )
            found.append((cut, line))
    # A whole line beats one that a tile's edge cut; of two whole readings the surer one stays.
    found.sort(key=lambda item: (item[0], -item[1].confidence))
    kept: list[OcrLine] = []
    for _, line in found:
        if not any(_same_place(line.box, other.box) for other in kept):
            kept.append(line)
    return sorted(kept, key=lambda line: (line.box.top, line.box.left))


def _tiles(height: int, width: int) -> Iterator[tuple[int, int]]:
    rows = max(TILE_PIXELS // width, 3 * OVERLAP)
    if height <= rows:
        yield 0, height
        return
    count = -(-(height - OVERLAP) // (rows - OVERLAP))
    step = (height - OVERLAP) / count
    for index in range(count):
        yield round(index * step), min(round((index + 1) * step) + OVERLAP, height)


def _read_tile(rgb: Rgb, top: int) -> Iterator[OcrLine]:
    height, width = rgb.shape[:2]
    if (rgb == rgb[0, 0]).all():
        return
    # The engine would enlarge a narrow strip a great deal; more of its edge does no harm.
    room = ((0, max(_MIN_SIDE - height, 0)), (0, max(_MIN_SIDE - width, 0)), (0, 0))
    picture = np.pad(rgb, room, mode="edge")
    result: Any = _engine()(np.ascontiguousarray(picture[..., ::-1]))  # the models know BGR
    if result.txts is None:
        return
    for text, corners, confidence in zip(result.txts, result.boxes, result.scores, strict=True):
        left, upper = np.floor(corners.min(axis=0)).astype(int).tolist()
        right, lower = np.ceil(corners.max(axis=0)).astype(int).tolist()
        box = PixelBox(
            max(left, 0), max(upper, 0) + top, min(right, width), min(lower, height) + top
        )
        if text.strip() and box.width > 0 and box.height > 0:
            yield OcrLine(text.strip(), box, float(confidence))


def _same_place(a: PixelBox, b: PixelBox) -> bool:
    across = min(a.right, b.right) - max(a.left, b.left)
    down = min(a.bottom, b.bottom) - max(a.top, b.top)
    smaller = min(a.width * a.height, b.width * b.height)
    return across > 0 and down > 0 and across * down > 0.5 * smaller


@cache
def _engine() -> RapidOCR:
    import rapidocr

    models = Path(rapidocr.__file__).parent / "models"
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,  # text on pages is upright
            "Global.text_score": MIN_CONFIDENCE,
            "Global.max_side_len": _UNLIMITED,
            # Its default enlarges small pictures to 736 pixels a side, which costs time and
            # breaks lines into words.
            "Det.limit_type": "max",
            "Det.limit_side_len": _UNLIMITED,
            # Named files are never downloaded.
            "Det.model_path": str(_model(models, "det")),
            "Rec.model_path": str(_model(models, "rec")),
            # A run judges in other processes meanwhile: leave cores for them.
            "EngineConfig.onnxruntime.intra_op_num_threads": min(2, os.cpu_count() or 1),
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _model(folder: Path, task: str) -> Path:
    found = sorted(folder.glob(f"*_{task}_*.onnx"))
    if not found:
        raise MissingDependencyError(
            f"The installed rapidocr has no {task} model in {folder}.",
            remedy="Reinstall it: pip install --force-reinstall rapidocr",
        )
    return found[-1]
