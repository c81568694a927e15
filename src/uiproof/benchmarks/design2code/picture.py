"""The picture profile: two screenshots are compared, and nothing but their pixels is known.

Texts are read by OCR on both sides alike, so that what it misreads it misreads twice.
`docs/design2code.md` has the definition. Every score is in 0-1; equal pictures score exactly 1.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.blocks import (
    CLEAR_CONTRAST,
    EDGE_CONTRAST,
    MIN_CONTRAST,
    Color,
    PixelRect,
    TextBlock,
    painted_height,
)
from uiproof.benchmarks.design2code.cases import Screenshot
from uiproof.benchmarks.design2code.matching import Matching, match_by_place, match_with_itself
from uiproof.benchmarks.design2code.pages import MOST_PIXELS_KEPT, Inventory, reduced
from uiproof.benchmarks.design2code.scores import BlockScores, clamped, strict_block_scores
from uiproof.benchmarks.design2code.strict import (
    LAYOUT_CELL,
    MATCHED_SHARE,
    VISIBLE_CONTRAST,
    commonest_colour,
    layout_cells,
    ratio,
    structure,
)
from uiproof.files import write_atomic
from uiproof.geometry import Box
from uiproof.settings import Settings
from uiproof.vision.colour import ciede2000, srgb_to_lab
from uiproof.vision.images import Rgb, decode, encode_png
from uiproof.vision.ocr import KeptReadings, OcrLine, read_lines
from uiproof.vision.ssim import grayscale

INK = 0.7  # of the strongest contrast of a line: such pixels show its own colour
RING = 2  # pixels around a line that show what is behind it

Cells = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class PictureView:
    """A screenshot as far as it can be read."""

    png: bytes
    picture: Rgb = field(repr=False)  # device pixels
    texts: tuple[tuple[PixelRect, str, Color, float], ...]  # in CSS pixels, with legibility
    scale: int = 1
    flags: tuple[str, ...] = ()
    inventory: Inventory | None = None  # of the page, where one is known and was asked for
    memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def rgb(self) -> Rgb:
        """Return the CSS pixels."""
        return reduced(self.picture, self.scale)

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height in CSS pixels."""
        return self.rgb.shape[1], self.rgb.shape[0]

    @property
    def seen_blocks(self) -> tuple[TextBlock, ...]:
        """Return the texts as blocks of this picture."""
        return tuple(text_blocks(self.texts, *self.size))


@dataclass(frozen=True, slots=True)
class PictureScores:
    """The scores of the picture profile."""

    block_match: float
    text: float
    position: float
    color: float
    layout: float
    page_height: float
    ssim: float
    clip: float | None

    def as_json(self) -> dict[str, float | None]:
        """Return all scores and their means; `final` is None where CLIP was not measured."""
        scores: dict[str, float | None] = asdict(self)
        measured = [value for value in scores.values() if value is not None]
        seven = measured if self.clip is None else measured[:-1]
        return {
            **scores,
            "final": None if self.clip is None else fmean(measured),
            "mean_without_clip": fmean(seven),
        }


def picture_scores(
    generated: PictureView, reference: PictureView, *, clip: float | None = None
) -> tuple[PictureScores, Matching]:
    """Compare two pictures of pages; also returns which texts were matched."""
    width = max(generated.size[0], reference.size[0])
    height = max(generated.size[1], reference.size[1])
    ours, theirs = (text_blocks(view.texts, width, height) for view in (generated, reference))
    matching = match_by_place(ours, theirs)
    our_gray, their_gray = grayscale(generated.rgb), grayscale(reference.rgb)
    heights = painted_height(our_gray), painted_height(their_gray)
    blank = sum(one == 0 for one in heights)  # how many of the two show nothing
    if ours or theirs:
        blocks = strict_block_scores(matching)
    else:  # nothing to compare; but an empty page is not right about a page of pictures
        alike = 0.0 if blank == 1 else 1.0
        blocks = BlockScores(alike, alike, alike, alike)
    layout = _overlap(_kinds(generated, width, height), _kinds(reference, width, height))
    matched = min(max(blocks.block_match, layout) / MATCHED_SHARE, 1.0)
    scores = PictureScores(
        **asdict(blocks),
        layout=layout,
        page_height=ratio(*heights) * matched,
        ssim=clamped(structure(our_gray, their_gray)) if blank != 1 else 0.0,
        clip=clip,
    )
    return scores, matching


def same_pictures(view: PictureView, *, clip: bool) -> tuple[PictureScores, Matching]:
    """Return the scores of a picture against itself."""
    one = 1.0
    scores = PictureScores(one, one, one, one, one, one, one, one if clip else None)
    return scores, match_with_itself(view.seen_blocks)


# --- reading


class PictureViews:
    """Screenshots that are references, each read once: kept in memory and in a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._views: OrderedDict[tuple[str, int], PictureView] = OrderedDict()
        self.read = 0

    def get(self, reference: Screenshot, scale: int) -> PictureView:
        """Return what can be read of a screenshot."""
        key = reference.key, scale
        if key not in self._views:
            picture = decode(reference.data)
            self._views[key] = view_of(picture, reference.data, scale)
            self.read += 1
        self._views.move_to_end(key)
        while len(self._views) > 1 and self._pixels() > MOST_PIXELS_KEPT:
            self._views.popitem(last=False)
        return self._views[key]

    def path(self, reference: Screenshot, view: PictureView) -> Path | None:
        """Return a PNG file of a screenshot for methods and reports; made if needed."""
        if self._folder is None:
            return None
        file = self._folder / f"{reference.key}.png"
        if not file.is_file():
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomic(file, encode_png(view.picture))
        return file

    def _pixels(self) -> int:
        return sum(view.picture.shape[0] * view.picture.shape[1] for view in self._views.values())


def view_of(picture: Rgb, png: bytes, scale: int, flags: tuple[str, ...] = ()) -> PictureView:
    """Read a screenshot; what was read on the same picture before is not read again."""
    digest = hashlib.sha256(repr(picture.shape).encode() + picture.tobytes()).hexdigest()
    reader = f"rapidocr {version('rapidocr')}, screenshots"
    kept = KeptReadings(Settings.from_environment().cache_dir / "screenshots", reader)
    lines = kept.lines(digest, lambda: read_lines(picture))
    return PictureView(png, picture, read_texts(picture, lines, scale), scale, flags)


def text_blocks(
    texts: Iterable[tuple[PixelRect, str, Color, float]], width: int, height: int
) -> list[TextBlock]:
    """Return texts as blocks on a canvas."""
    return [
        TextBlock(
            " ".join(text.split()).lower(),
            Box(x / width, y / height, w / width, h / height),
            color,
            legibility,
        )
        for (x, y, w, h), text, color, legibility in texts
    ]


def read_texts(
    picture: Rgb, lines: Iterable[OcrLine], scale: int = 1
) -> tuple[tuple[PixelRect, str, Color, float], ...]:
    """Return the lines of a picture in CSS pixels, with the colours of their pixels.

    Lines are not put together here: matching merges those that belong to one text of the other
    side, and ranks real pages better than fixed rules for paragraphs do.
    """
    texts = []
    for line in lines:
        if (found := _colours(picture, line)) is not None:
            box = line.box
            rect = box.left / scale, box.top / scale, box.width / scale, box.height / scale
            texts.append((rect, line.text, *found))
    return tuple(texts)


def _colours(picture: Rgb, line: OcrLine) -> tuple[Color, float] | None:
    """Return the colour of a line's letters, and how clearly they stand out; None for no ink."""
    box, (height, width) = line.box, picture.shape[:2]
    top, bottom = max(box.top - RING, 0), min(box.bottom + RING, height)
    left, right = max(box.left - RING, 0), min(box.right + RING, width)
    part = picture[top:bottom, left:right].astype(np.float64)
    if part.size == 0:
        return None
    ring = np.concatenate(
        [part[:RING].reshape(-1, 3), part[-RING:].reshape(-1, 3), part[:, :RING].reshape(-1, 3)]
    )
    behind = np.median(ring, axis=0)
    pixels = part.reshape(-1, 3)
    apart = np.abs(pixels - behind).max(axis=1)
    strongest = float(np.quantile(apart, 0.98))
    if strongest < 1:
        return None
    color = np.median(pixels[apart >= INK * strongest], axis=0)
    contrast = float(ciede2000(srgb_to_lab(color[None]), srgb_to_lab(behind[None]))[0])
    legibility = (contrast - MIN_CONTRAST) / (CLEAR_CONTRAST - MIN_CONTRAST)
    red, green, blue = (round(float(value)) for value in color)
    return (red, green, blue), round(min(max(legibility, 0.0), 1.0), 4)


# --- layout


def _kinds(view: PictureView, width: int, height: int) -> tuple[Cells, Cells, Cells]:
    """Return where texts, other details, and surfaces of another colour than the page's are."""
    texts = layout_cells((box for box, *_ in view.texts), width, height)
    rows, columns = texts.shape
    gray = grayscale(view.rgb)
    lightest, darkest = (
        _pooled(kind(gray, np.ones((LAYOUT_CELL, LAYOUT_CELL), np.uint8)))
        for kind in (cv2.dilate, cv2.erode)
    )
    contrast = lightest.astype(np.int16) - darkest
    mean = cv2.resize(
        view.rgb, (contrast.shape[1], contrast.shape[0]), interpolation=cv2.INTER_AREA
    )
    background = np.array(commonest_colour(view.rgb), np.int16)
    apart = np.abs(mean.astype(np.int16) - background).max(axis=2)
    details, surfaces = np.zeros((rows, columns), np.bool_), np.zeros((rows, columns), np.bool_)
    down, across = min(rows, contrast.shape[0]), min(columns, contrast.shape[1])
    details[:down, :across] = contrast[:down, :across] >= VISIBLE_CONTRAST
    surfaces[:down, :across] = apart[:down, :across] >= EDGE_CONTRAST
    return texts, details & ~texts, surfaces & ~details


def _pooled(gray: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return one value for each cell of the layout."""
    half = LAYOUT_CELL // 2
    return np.asarray(gray[half::LAYOUT_CELL, half::LAYOUT_CELL], np.uint8)


def _overlap(ours: Sequence[Cells], theirs: Sequence[Cells]) -> float:
    """Return the cells that both have over the cells that either has, summed over the kinds."""
    shared = sum(int(np.count_nonzero(a & b)) for a, b in zip(ours, theirs, strict=True))
    either = sum(int(np.count_nonzero(a | b)) for a, b in zip(ours, theirs, strict=True))
    return shared / either if either else 1.0
