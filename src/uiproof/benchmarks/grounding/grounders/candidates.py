"""What is on a screen, found without a model: lines of text, frames and small marks.

screen = look_at(rgb, read(rgb))
screen.find("Save as")     # where these words are written, exactly or nearly
screen.frame_around(box)   # the button or field that a text stands in
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from uiproof.benchmarks.grounding.grounders.instructions import stem
from uiproof.benchmarks.grounding.grounders.vocabulary import FUNCTION_WORDS
from uiproof.boxes import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine, read_lines

ENLARGED = 4 / 3
ONE_LOOK = 3_700_000  # pixels: 1920 x 1080, enlarged; takes about 1 GB
_LEAST_LIKENESS = 0.75  # of words that are not the same; below, they are other words
_SHORTEST_FUZZY = 4  # letters: shorter words are too easily alike
_FUZZY_LINES = 6  # looked at closely, of those that share most pairs of letters
_MARK_SIDES = 5, 72  # pixels: from a tick to an icon
_LOOKALIKES = str.maketrans({"×": "x", "✕": "x", "✖": "x", "−": "-", "–": "-", "—": "-", "＋": "+"})


@dataclass(frozen=True, slots=True)
class Span:
    """A place where something is written."""

    line: int
    box: PixelBox
    quality: float  # 0-1: how well it fits, and how little else stands in the line


class Text:
    """A line, prepared for searching: without spaces, which OCR often loses, and without case."""

    def __init__(self, line: OcrLine) -> None:
        self.text, self.box = line.text, line.box
        self.plain, self.raw = "", ""
        self._edges: list[tuple[float, float]] = []  # left and right of every letter of `plain`
        self.starts: set[int] = set()  # where words may begin, which is also where they may end
        for word, left, right in _placed_words(line):
            kept = _letters(word)
            self.starts.add(len(self.plain))
            # Words that were read as one still show where the next begins: "SelectAll", "10pt".
            for place, (before, after) in enumerate(pairwise(kept), start=1):
                if (before.islower() and after.isupper()) or before.isdigit() != after.isdigit():
                    self.starts.add(len(self.plain) + place)
            step = (right - left) / max(len(kept), 1)
            self._edges += [(left + step * i, left + step * (i + 1)) for i in range(len(kept))]
            self.raw += kept
            self.plain += "".join(letter.lower()[:1] for letter in kept)
        self.starts.add(len(self.plain))

    @cached_property
    def pairs(self) -> frozenset[str]:
        """Pairs of neighbouring letters."""
        return _pairs(self.plain)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """Its words that carry meaning, each once, without case and plural."""
        words = (stem(word) for word in re.findall(r"\w{2,}", self.text))
        return tuple(dict.fromkeys(word for word in words if word not in FUNCTION_WORDS))

    def part(self, start: int, end: int) -> PixelBox:
        """The box around some letters of `plain`."""
        if start == 0 and end == len(self.plain):
            return self.box
        left, right = round(self._edges[start][0]), round(self._edges[end - 1][1])
        return PixelBox(left, self.box.top, max(right, left + 1), self.box.bottom)


def _placed_words(line: OcrLine) -> Iterator[tuple[str, float, float]]:
    if line.words:
        yield from ((word.text, word.box.left, word.box.right) for word in line.words)
        return
    step, place = line.box.width / max(len(line.text), 1), 0
    for word in line.text.split():
        place = line.text.index(word, place)
        yield word, line.box.left + step * place, line.box.left + step * (place + len(word))
        place += len(word)


def _letters(word: str) -> str:
    """Letters and digits; of a word that has none, its signs."""
    word = unicodedata.normalize("NFKC", word).translate(_LOOKALIKES)
    return "".join(letter for letter in word if letter.isalnum()) or word


def _pairs(text: str) -> frozenset[str]:
    return frozenset(a + b for a, b in pairwise(text))


@dataclass(frozen=True)
class Screen:
    """What was found on a screen."""

    width: int
    height: int
    lines: tuple[OcrLine, ...]
    frames: tuple[PixelBox, ...]  # outlines of buttons, fields, cards …, the smallest first
    marks: tuple[PixelBox, ...]  # icons, boxes to tick, arrows: small things that are not text
    texts: tuple[Text, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", tuple(Text(line) for line in self.lines))

    @cached_property
    def _all(self) -> tuple[str, list[int]]:
        """All lines as one text, to search them at once, and where each begins."""
        starts, place = [], 0
        for text in self.texts:
            starts.append(place)
            place += len(text.plain) + 1
        return "\n".join(text.plain for text in self.texts), starts

    def find(self, words: str, *, nearly: bool = True) -> list[Span]:
        """Where these words are written; with `nearly`, if nowhere, then where the like is."""
        raw = "".join(map(_letters, words.split()))
        plain = "".join(letter.lower()[:1] for letter in raw)
        if not plain:
            return []
        everything, starts = self._all
        spans, place = [], everything.find(plain)
        while place >= 0:
            line = bisect_right(starts, place) - 1
            quality = self._quality(line, place - starts[line], raw)
            if quality > 0:
                box = self.texts[line].part(place - starts[line], place - starts[line] + len(plain))
                spans.append(Span(line, box, quality))
            place = everything.find(plain, place + 1)
        if not spans and nearly and len(plain) >= _SHORTEST_FUZZY:
            spans = list(self._alike(plain))
        return spans

    def _quality(self, line: int, start: int, raw: str) -> float:
        """1 for a whole line; less where it is a part; 0 where it only happens to be in a word."""
        text, end = self.texts[line], start + len(raw)
        cover = len(raw) / len(text.plain)
        edges = (start in text.starts) + (end in text.starts)
        if edges < 2 and len(raw) < _SHORTEST_FUZZY:
            return 0.0
        same_case = 1.0 if text.raw[start:end] == raw else 0.97
        return ((0.3, 0.55, 0.8)[edges] + 0.2 * cover) * same_case

    def _alike(self, plain: str) -> Iterator[Span]:
        from cydifflib import SequenceMatcher

        wanted = _pairs(plain)
        shared = [
            (len(wanted & text.pairs), -abs(len(text.plain) - len(plain)), -line)
            for line, text in enumerate(self.texts)
        ]
        for pairs, _, line in sorted(shared, reverse=True)[:_FUZZY_LINES]:
            if pairs < 0.5 * len(wanted):
                break
            text = self.texts[-line]
            blocks = SequenceMatcher(None, plain, text.plain, False).get_matching_blocks()
            blocks = [block for block in blocks if block.size]
            start = max(blocks[0].b - blocks[0].a, 0)
            end = min(blocks[-1].b + len(plain) - blocks[-1].a, len(text.plain))
            likeness = 2 * sum(block.size for block in blocks) / (len(plain) + end - start)
            if likeness >= _LEAST_LIKENESS:
                cover = (end - start) / len(text.plain)
                edges = sum(
                    any(place + i in text.starts for i in (-1, 0, 1)) for place in (start, end)
                )
                quality = likeness**2 * ((0.3, 0.5, 0.75)[edges] + 0.2 * cover)
                yield Span(-line, text.part(start, end), quality)

    def frame_around(self, box: PixelBox) -> PixelBox | None:
        """The smallest frame around a text, if it is not much higher than the text."""
        for frame in self.frames:
            if _holds(frame, box):
                return frame if frame.height <= 4.5 * box.height else None
        return None


def read(rgb: Rgb) -> list[OcrLine]:
    """The lines of text on a screen, see `vision.ocr`: 4 to 15 CPU-seconds for 1920 x 1080.

    The detector overlooks small type that stands alone less often when it sees the whole screen,
    and when it is enlarged: as far as one look can take.
    """
    height, width = rgb.shape[:2]
    scale = min(max((ONE_LOOK / (width * height)) ** 0.5, 1.0), ENLARGED)
    return read_lines(rgb, scale=scale, tile_pixels=ONE_LOOK)


def look_at(rgb: Rgb, lines: Sequence[OcrLine]) -> Screen:
    """What is on a screen, of which the text was read already."""
    lines = [_without_neighbours(line) for line in lines]
    frames, marks = find_outlines(rgb, [line.box for line in lines])
    height, width = rgb.shape[:2]
    signs = [
        word.box
        for line in lines
        for word in line.words
        if len(word.text) == 1 and (not word.text.isascii() or len(line.words) == 1)
    ]
    return Screen(width, height, tuple(lines), tuple(frames), tuple(marks + signs))


def _without_neighbours(line: OcrLine) -> OcrLine:
    """A line without the box to tick or the icon that was taken for a part of it."""
    if not line.words:
        return line
    box, room = line.box, line.box.height // 2
    left, right = line.words[0].box.left, line.words[-1].box.right
    left = left - 2 if left - box.left > room else box.left
    right = right + 2 if box.right - right > room else box.right
    if right - left < 2:
        return line
    return replace(line, box=PixelBox(left, box.top, right, box.bottom))


def find_outlines(rgb: Rgb, texts: Sequence[PixelBox]) -> tuple[list[PixelBox], list[PixelBox]]:
    """Frames and marks, from the edges between colours."""
    import cv2
    import numpy as np

    edges = cv2.Canny(cv2.cvtColor(np.ascontiguousarray(rgb), cv2.COLOR_RGB2GRAY), 10, 30)
    closed = cv2.morphologyEx(edges, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    outlines, _ = cv2.findContours(closed, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    frames = set()
    for outline in outlines:
        left, top, width, height = cv2.boundingRect(outline)
        if width >= 16 and height >= 12 and cv2.contourArea(outline) > 0.8 * width * height:
            frames.add((width * height, left, top, left + width, top + height))
    for box in texts:
        closed[box.top : box.bottom, box.left : box.right] = 0
    count, _, stats, _ = cv2.connectedComponentsWithStats(closed)
    least, most = _MARK_SIDES
    marks = [
        PixelBox(left, top, left + width, top + height)
        for left, top, width, height, _ in stats[1:count].tolist()
        if least <= min(width, height) and max(width, height) <= most
    ]
    return [PixelBox(*place) for _, *place in sorted(frames)], marks


def _holds(outer: PixelBox, inner: PixelBox) -> bool:
    # Text boxes are generous: their middle half has to be inside, from top to bottom.
    slack = inner.height // 4
    return (
        outer.left <= inner.left + slack
        and outer.right >= inner.right - slack
        and outer.top <= inner.top + slack
        and outer.bottom >= inner.bottom - slack
    )
