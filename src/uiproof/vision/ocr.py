"""Lines of text in a picture, read by rapidocr with the models that ship in its wheel."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from uiproof.errors import MissingDependencyError, needs_extra
from uiproof.files import BoundedCache
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb

if TYPE_CHECKING:
    from rapidocr import RapidOCR


TILE_PIXELS = 1_600_000  # one look of the detector; more would cost memory, not find more
OVERLAP = 160  # rows that neighbouring tiles share, so that a line is whole in one of them
MIN_CONFIDENCE = 0.5
_MIN_SIDE = 64
_UNLIMITED = 1 << 20
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")  # kana and Han characters
_WIDE_GAP = 0.8  # of the height of a line, which is about the width of such a character
_MANY_PIXELS = 400_000  # of a tile, from which reading leaves a hundred megabytes and more behind
_KNOWN_LINES = 10_000  # each takes about a kilobyte


@dataclass(frozen=True, slots=True)
class OcrWord:
    """A word of a line. Letters that stand far apart are words too, spaced or not."""

    text: str
    box: PixelBox


@dataclass(frozen=True, slots=True)
class OcrLine:
    """One line of text as it was read."""

    text: str
    box: PixelBox
    confidence: float  # 0-1
    words: tuple[OcrWord, ...] = ()  # their boxes are less exact than that of the line


def read_lines(rgb: Rgb, *, scale: float = 1.0, tile_pixels: int | None = None) -> list[OcrLine]:
    """Read the lines of text in a picture, from top to bottom.

    The picture is read at its own scale: tall ones in overlapping tiles, so that small type on a
    long page is not shrunk away. With a `scale` above 1 it is enlarged for reading, which finds
    more of the small type; boxes are in pixels of the picture as given. `tile_pixels` is the most
    that is looked at in one piece (after scaling; `TILE_PIXELS` unless given): on sparse screens,
    the detector overlooks less in larger pieces, at about 250 bytes a pixel.

    About 2.5 CPU-seconds for a page of 1280 x 720. The engine is made on first use and kept for the
    life of the process.
    """
    if scale != 1:
        how = cv2.INTER_CUBIC if scale > 1 else cv2.INTER_AREA
        scaled = cv2.resize(rgb, None, fx=scale, fy=scale, interpolation=how)
        lines = read_lines(np.asarray(scaled, np.uint8), tile_pixels=tile_pixels)
        return [_scaled_back(line, scale) for line in lines]
    found: list[tuple[bool, OcrLine]] = []
    height, width = rgb.shape[:2]
    for top, bottom in _tiles(height, width, tile_pixels):
        read = list(_read_tile(rgb[top:bottom], top))
        if (bottom - top) * width >= _MANY_PIXELS:
            _give_memory_back()
        for line in read:
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


def _scaled_back(line: OcrLine, scale: float) -> OcrLine:
    def box(large: PixelBox) -> PixelBox:
        left, top = round(large.left / scale), round(large.top / scale)
        right, bottom = round(large.right / scale), round(large.bottom / scale)
        return PixelBox(left, top, max(right, left + 1), max(bottom, top + 1))

    words = tuple(OcrWord(word.text, box(word.box)) for word in line.words)
    return OcrLine(line.text, box(line.box), line.confidence, words)


def _tiles(height: int, width: int, tile_pixels: int | None = None) -> Iterator[tuple[int, int]]:
    rows = max((tile_pixels or TILE_PIXELS) // width, 3 * OVERLAP)
    if height <= rows:
        yield 0, height
        return
    count = -(-(height - OVERLAP) // (rows - OVERLAP))
    step = (height - OVERLAP) / count
    for index in range(count):
        yield round(index * step), min(round((index + 1) * step) + OVERLAP, height)


def _read_tile(rgb: Rgb, top: int) -> Iterator[OcrLine]:
    height, width = rgb.shape[:2]
    if (rgb[0] == rgb[0, 0]).all() and (rgb == rgb[0, 0]).all():
        return
    # The engine would enlarge a narrow strip a great deal; more of its edge does no harm.
    room = ((0, max(_MIN_SIDE - height, 0)), (0, max(_MIN_SIDE - width, 0)), (0, 0))
    picture = np.pad(rgb, room, mode="edge") if min(height, width) < _MIN_SIDE else rgb
    result: Any = _engine()(cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))  # the models know BGR
    if result.txts is None:
        return
    words = result.word_results
    if not words or len(words) != len(result.txts):
        words = [()] * len(result.txts)  # the engine drops lines that it could not take apart
    for text, corners, confidence, parts in zip(
        result.txts, result.boxes, result.scores, words, strict=True
    ):
        box = _around(corners, width, height, top)
        if text.strip() and box.width > 0 and box.height > 0:
            read = [OcrWord(part[0], _around(part[2], width, height, top)) for part in parts]
            yield OcrLine(text.strip(), box, float(confidence), _joined(text, read))


def _joined(text: str, words: Sequence[OcrWord]) -> tuple[OcrWord, ...]:
    """Return the words of a line, with characters of scripts without spaces put together.

    The engine takes a line with Chinese or Japanese apart into characters, Latin ones too. Here
    words are what stands between two spaces of the line, or gaps of most of a character.
    """
    if len(words) < 2 or not _UNSPACED.search(text):
        return tuple(words)
    starts, offset = set(), 0
    for token in text.split():
        starts.add(offset)
        offset += len(token)
    found: list[OcrWord] = []
    offset = 0
    for word in words:
        last = found[-1] if found else None
        if last is not None and offset not in starts:
            gap = word.box.left - last.box.right
            if gap <= _WIDE_GAP * max(word.box.height, last.box.height):
                found[-1] = OcrWord(last.text + word.text, last.box.union(word.box))
                offset += len("".join(word.text.split()))
                continue
        found.append(word)
        offset += len("".join(word.text.split()))
    return tuple(found)


def _around(corners: Any, width: int, height: int, top: int) -> PixelBox:
    """Return the box around the corners of something in a tile that begins at row `top`."""
    corners = np.asarray(corners)
    left, upper = np.floor(corners.min(axis=0)).astype(int).tolist()
    right, lower = np.ceil(corners.max(axis=0)).astype(int).tolist()
    return PixelBox(max(left, 0), max(upper, 0) + top, min(right, width), min(lower, height) + top)


def _same_place(a: PixelBox, b: PixelBox) -> bool:
    across = min(a.right, b.right) - max(a.left, b.left)
    down = min(a.bottom, b.bottom) - max(a.top, b.top)
    smaller = min(a.width * a.height, b.width * b.height)
    return across > 0 and down > 0 and across * down > 0.5 * smaller


def _give_memory_back() -> None:
    """Return what reading has freed to the system.

    The C library would keep it, spread over the heaps of all threads: a worker that reads large
    pages would hold twice what it needs for the rest of its life. Takes 20 ms.
    """
    if (trim := _malloc_trim()) is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    import ctypes

    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None  # only glibc has it


@cache
def _engine() -> RapidOCR:
    try:
        import rapidocr
    except ModuleNotFoundError as error:
        raise needs_extra("Reading text in pictures needs rapidocr.", "ocr") from error

    models = Path(rapidocr.__file__).parent / "models"
    engine = rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,  # text on pages is upright
            "Global.text_score": MIN_CONFIDENCE,
            "Global.return_word_box": True,
            "Global.max_side_len": _UNLIMITED,
            # Its default enlarges small pictures to 736 pixels a side, which costs time and
            # breaks lines into words.
            "Det.limit_type": "max",
            "Det.limit_side_len": _UNLIMITED,
            # Named files are never downloaded.
            "Det.model_path": str(_model(models, "det")),
            "Rec.model_path": str(_model(models, "rec")),
            # A second thread would mostly wait for the first in a busy loop: the same lines for
            # two thirds more processor time. Processes and threads read side by side instead.
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )
    load = getattr(engine, "_load_rec_model", None)  # newer versions load it on first use
    recognizer: Any = engine.text_rec if load is None else load()
    recognizer.session = _LineNetwork(recognizer.session)
    return engine


class _LineNetwork:
    """The network that recognizes lines, which is not asked twice about the same input.

    Two thirds of the time of reading is spent in it, and pictures of one page share most of their
    lines. Inputs are compared as the network gets them, scaled and padded: what is read is the same
    as without a memory. Lines are fed one at a time, which is also quicker than in batches.
    """

    def __init__(self, network: Callable[[Any], Any]) -> None:
        self._network = network
        self._known: OrderedDict[bytes, tuple[Any, Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, lines: Any) -> Any:
        """Return the output for a batch of lines: the best character of every column, else 0."""
        best = [self._best(line) for line in lines]
        output = np.zeros((len(best), len(best[0][0]), best[0][2]), np.float32)
        for columns, (characters, shares, _) in zip(output, best, strict=True):
            columns[np.arange(len(characters)), characters] = shares
        return output

    def _best(self, line: Any) -> tuple[Any, Any, int]:
        key = hashlib.sha256(np.ascontiguousarray(line).data).digest()
        with self._lock:
            if (found := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return found
        columns = self._network(line[None])[0]
        found = columns.argmax(axis=1), columns.max(axis=1), columns.shape[1]
        with self._lock:
            self._known[key] = found
            if len(self._known) > _KNOWN_LINES:
                self._known.popitem(last=False)
        return found


def _model(folder: Path, task: str) -> Path:
    found = sorted(folder.glob(f"*_{task}_*.onnx"))
    if not found:
        raise MissingDependencyError(
            f"The installed rapidocr has no {task} model in {folder}.",
            remedy="Reinstall it: pip install --force-reinstall rapidocr",
        )
    return found[-1]


MOST_BYTES = 500_000_000  # of one folder: some hundred thousand pictures


class KeptReadings:
    """Lines of text by the digest of a picture. Making this object touches no file.

    `reader` says what reads, and how: what another one has read is not used.
    """

    def __init__(self, folder: Path, reader: str) -> None:
        self.folder, self.reader = folder, reader

    def lines(self, digest: str, read: Callable[[], list[OcrLine]]) -> list[OcrLine]:
        """Return what is on a picture; `read` is called unless that was done before."""
        cache, name = BoundedCache(self.folder, MOST_BYTES), f"{digest[:2]}/{digest}.json"
        lines = self._parse(cache.read(name))
        if lines is None:
            lines = read()
            with suppress(OSError):  # a read-only cache is useful too
                cache.write(name, json.dumps(self._as_json(lines)).encode())
        return lines

    def _parse(self, stored: bytes | None) -> list[OcrLine] | None:
        """Return the lines in a stored file; None where they can't be used."""
        if stored is None:
            return None
        try:
            content = json.loads(stored)
            if content["reader"] != self.reader:
                return None
            return [
                OcrLine(text, PixelBox(*box), confidence, _joined(text, _words(words)))
                for text, box, confidence, words in content["lines"]
            ]
        except (ValueError, KeyError, TypeError):
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
