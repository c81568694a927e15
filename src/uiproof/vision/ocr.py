"""Text recognition with rapidocr and the models in its wheel."""

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

TILE_PIXELS = 1_600_000  # per detector run; more takes memory without finding more
OVERLAP = 160  # rows shared by neighbouring tiles, so that every line is whole in one of them
MIN_CONFIDENCE = 0.5
_MIN_SIDE = 64
_UNLIMITED = 1 << 20
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")  # kana and Han characters
_WIDE_GAP = 0.8  # of the line height, which is about the width of such a character
_MANY_PIXELS = 400_000  # from this tile size on, reading leaves 100 MB and more unreturned
_KNOWN_LINES = 10_000  # each takes about a kilobyte
MOST_BYTES = 500_000_000  # per cache folder: some hundred thousand pictures


@dataclass(frozen=True, slots=True)
class OcrWord:
    """A word of a line; widely spaced letters are separate words."""

    text: str
    box: PixelBox


@dataclass(frozen=True, slots=True)
class OcrLine:
    """A recognized line of text."""

    text: str
    box: PixelBox
    confidence: float  # 0-1
    words: tuple[OcrWord, ...] = ()  # with boxes that are less exact than that of the line


def read_lines(rgb: Rgb, *, scale: float = 1.0, tile_pixels: int | None = None) -> list[OcrLine]:
    """Return the lines of text in a picture, from top to bottom.

    Tall pictures are read in overlapping tiles, so that small type is not scaled down. A `scale`
    above 1 enlarges the picture for reading, which finds more small type; boxes stay in pixels of
    the given picture. `tile_pixels` is the largest tile after scaling (`TILE_PIXELS` by default):
    on sparse screens, the detector misses less in larger tiles, at about 250 bytes per pixel.

    Takes about 2.5 CPU seconds for a page of 1280 x 720. The engine is loaded once, on first use.
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
    # Prefer whole lines to those cut by the edge of a tile, then the higher confidence.
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
    # The engine would enlarge a narrow strip a lot, so it is padded with its edge.
    room = ((0, max(_MIN_SIDE - height, 0)), (0, max(_MIN_SIDE - width, 0)), (0, 0))
    picture = np.pad(rgb, room, mode="edge") if min(height, width) < _MIN_SIDE else rgb
    result: Any = _engine()(cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))  # the models expect BGR
    if result.txts is None:
        return
    words = result.word_results
    if not words or len(words) != len(result.txts):
        words = [()] * len(result.txts)  # the engine drops lines that it cannot split
    for text, corners, confidence, parts in zip(
        result.txts, result.boxes, result.scores, words, strict=True
    ):
        box = _around(corners, width, height, top)
        if text.strip() and box.width > 0 and box.height > 0:
            read = [OcrWord(part[0], _around(part[2], width, height, top)) for part in parts]
            yield OcrLine(text.strip(), box, float(confidence), _joined(text, read))


def _joined(text: str, words: Sequence[OcrWord]) -> tuple[OcrWord, ...]:
    """Return the words of a line, joining characters of scripts without spaces.

    The engine splits a line with Chinese or Japanese into single characters, even Latin ones. Words
    are separated by spaces of the line, or by gaps of most of a character.
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
    """Return the bounding box of corners in a tile that begins at row `top`."""
    corners = np.asarray(corners)
    left, upper = np.floor(corners.min(axis=0)).astype(int).tolist()
    right, lower = np.ceil(corners.max(axis=0)).astype(int).tolist()
    return PixelBox(max(left, 0), max(upper, 0) + top, min(right, width), min(lower, height) + top)


def _same_place(a: PixelBox, b: PixelBox) -> bool:
    return a.overlap(b) > 0.5 * min(a.area, b.area)


def _give_memory_back() -> None:
    """Return freed memory to the system, which takes 20 ms.

    The C library would keep it in the heaps of all threads, so a worker that reads large pages
    would hold twice the memory that it needs.
    """
    if (trim := _malloc_trim()) is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    import ctypes

    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None  # not glibc


@cache
def _engine() -> RapidOCR:
    try:
        import rapidocr
    except ModuleNotFoundError as error:
        raise needs_extra("Text recognition needs rapidocr.", "ocr") from error

    models = Path(rapidocr.__file__).parent / "models"
    engine = rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,  # text on pages is upright
            "Global.text_score": MIN_CONFIDENCE,
            "Global.return_word_box": True,
            "Global.max_side_len": _UNLIMITED,
            # The default enlarges small pictures to 736 pixels, which costs time and breaks lines
            # into words.
            "Det.limit_type": "max",
            "Det.limit_side_len": _UNLIMITED,
            # With explicit paths, nothing is downloaded.
            "Det.model_path": str(_model(models, "det")),
            "Rec.model_path": str(_model(models, "rec")),
            # A second thread mostly waits in a busy loop, for two thirds more CPU time. Parallel
            # callers are more efficient.
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )
    # Newer versions load models lazily.
    detector: Any = getattr(engine, "_load_det_model", lambda: engine.text_det)()
    recognizer: Any = getattr(engine, "_load_rec_model", lambda: engine.text_rec)()
    prepare = detector.get_preprocess
    detector.get_preprocess = lambda *given: _by_table(prepare(*given))
    recognizer.session = _LineNetwork(recognizer.session)
    return engine


def _by_table(prepare: Any) -> Any:
    """Let the preparation of pictures look up its 256 levels, which takes a tenth of the time."""
    levels = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(1, 256, 3)
    table = prepare.normalize(levels).astype(np.float32)
    prepare.normalize = lambda picture: cv2.LUT(picture, table)
    return prepare


@dataclass(frozen=True, slots=True)
class _BestCharacters:
    """The best character of every column, with its probability, for a batch of lines.

    Stands for the network's output, of which nothing else is asked.
    """

    characters: Any
    shares: Any

    def argmax(self, axis: int) -> Any:  # noqa: ARG002 - always that of characters
        """Return the characters."""
        return self.characters

    def max(self, axis: int) -> Any:  # noqa: ARG002
        """Return their probabilities."""
        return self.shares


class _LineNetwork:
    """The recognition network with a cache by input.

    It takes two thirds of the time, and pictures of one page share most of their lines. Keys are
    the network's inputs, scaled and padded, so the cache does not change results. Lines are fed one
    at a time, which is also faster than in batches.
    """

    def __init__(self, network: Callable[[Any], Any]) -> None:
        self._network = network
        self._known: OrderedDict[bytes, tuple[Any, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, lines: Any) -> _BestCharacters:
        """Return the best characters for a batch of lines."""
        characters, shares = zip(*map(self._best, lines), strict=True)
        return _BestCharacters(np.stack(characters), np.stack(shares))

    def _best(self, line: Any) -> tuple[Any, Any]:
        key = hashlib.sha256(np.ascontiguousarray(line).data).digest()
        with self._lock:
            if (found := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return found
        columns = self._network(line[None])[0]
        found = columns.argmax(axis=1), columns.max(axis=1)
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


class KeptReadings:
    """A disk cache of recognized lines by the digest of a picture.

    `reader` identifies engine and settings; entries of another reader are ignored.
    """

    def __init__(self, folder: Path, reader: str) -> None:
        self.folder, self.reader = folder, reader

    def lines(self, digest: str, read: Callable[[], list[OcrLine]]) -> list[OcrLine]:
        """Return the lines of a picture, from the cache or from `read`."""
        cache, name = BoundedCache(self.folder, MOST_BYTES), f"{digest[:2]}/{digest}.json"
        lines = self._parse(cache.read(name))
        if lines is None:
            lines = read()
            with suppress(OSError):  # the cache may be read-only
                cache.write(name, json.dumps(self._as_json(lines)).encode())
        return lines

    def _parse(self, stored: bytes | None) -> list[OcrLine] | None:
        """Return the lines of a cache entry; None if it is missing or not usable."""
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
