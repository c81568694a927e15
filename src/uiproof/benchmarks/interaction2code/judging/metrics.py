"""The scores of one interaction, in both profiles. Pictures and boxes in, numbers out.

`paper` keeps the published rules: pictures are stretched to the size of the reference, text is
compared character by character, places are shares of the page. `strict` lays pictures on one canvas
without stretching, compares words (those of the DOM on the generated side), gives CLIP whole
pictures instead of their middles, and measures places in CSS pixels of one window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import cv2
import numpy as np

from uiproof.benchmarks.interaction2code.judging.bleu import character_bleu, word_bleu
from uiproof.benchmarks.interaction2code.judging.texts import (
    Words,
    published_text,
    reading_text,
    respaced,
)
from uiproof.boxes import PixelBox
from uiproof.vision.clip import Vector, clip_similarity
from uiproof.vision.images import Rgb
from uiproof.vision.ssim import Pixels, aligned_ssim, ssim

Embed: TypeAlias = Callable[[Rgb], Vector]
Point: TypeAlias = tuple[float, float]
Scores: TypeAlias = dict[str, float | None]

_GRAY_WEIGHTS = (9797, 19234, 3737)  # of red, green and blue in 32768 parts


@dataclass(frozen=True, slots=True)
class View:
    """A picture, or a part of one, and what is written on it."""

    picture: Rgb
    words: Sequence[Words]


@dataclass(frozen=True, slots=True)
class Place:
    """A point on a page of some size, in CSS pixels."""

    point: Point
    size: tuple[int, int]

    @classmethod
    def middle_of(cls, box: PixelBox, size: tuple[int, int]) -> Place:
        """The middle of a box on a page."""
        return cls(((box.left + box.right) / 2, (box.top + box.bottom) / 2), size)


def paper_look(reference: View, generated: View, embed: Embed | None) -> Scores:
    """`clip`, `ssim` and `text` by the published rules; `clip` is None without a model for it."""
    return {
        "clip": _clip(reference.picture, generated.picture, embed),
        "ssim": max(stretched_ssim(reference.picture, generated.picture), 0.0),
        "text": character_bleu(published_text(reference.words), published_text(generated.words)),
    }


def strict_look(reference: View, generated: View, embed: Embed | None) -> Scores:
    """`clip`, `ssim` and `text` of the strict profile."""
    same = np.array_equal(reference.picture, generated.picture)
    clip = None
    if embed is not None:
        clip = _clip(_on_square(reference.picture), _on_square(generated.picture), embed)
    return {
        "clip": clip,
        "ssim": aligned_ssim(reference.picture, generated.picture),
        # What was read on one side and written on the other differs where OCR errs; a picture that
        # is the same says the same.
        "text": 1.0 if same else strict_text(reference.words, generated.words),
    }


def strict_text(reference: Sequence[Words], generated: Sequence[Words]) -> float:
    """BLEU of words, block by block; spaces that OCR lost or found do not count."""
    written = reading_text(generated)
    return word_bleu(respaced(reading_text(reference), written), written)


def stretched_ssim(reference: Rgb, generated: Rgb) -> float:
    """Structural similarity after stretching the generated picture to the reference's size."""
    a, b = published_gray(reference), published_gray(generated)
    if a.shape != b.shape:
        size = (a.shape[1], a.shape[0])
        b = np.asarray(cv2.resize(b, size, interpolation=cv2.INTER_LINEAR), dtype=np.uint8)
    return ssim(a, b)


def published_gray(rgb: Rgb) -> Pixels:
    """A picture in gray as the published evaluator has it.

    It lets OpenCV read PNG files as gray, which leaves the conversion to libpng: cut off instead of
    rounded. On nearly flat pages that changes the second digit of the similarity.
    """
    red, green, blue = _GRAY_WEIGHTS
    weighted = rgb[..., 0] * np.uint32(red)
    weighted += rgb[..., 1] * np.uint32(green)
    weighted += rgb[..., 2] * np.uint32(blue)
    return np.asarray(weighted >> 15, dtype=np.uint8)


def paper_position(reference: Place | None, generated: Place | None) -> float | None:
    """`1 - max(|dx|, |dy|)` of two places as shares of their pages.

    0 where the generated one is missing; None, not measured, where the data set does not tell.
    """
    if reference is None or generated is None:
        return None if reference is None else 0.0
    distances = (
        abs(a / size_a - b / size_b)
        for a, b, size_a, size_b in zip(
            reference.point, generated.point, reference.size, generated.size, strict=True
        )
    )
    return 1 - min(max(distances), 1.0)


def strict_position(reference: Place | None, generated: Place | None) -> float | None:
    """The same with distances in CSS pixels, as shares of the reference's size.

    Both pages are shown in a window of one width: what is at the same pixels is at the same place,
    however much longer one of the pages is. 0 where the generated one is missing; None, not
    measured, where the data set does not tell.
    """
    if reference is None or generated is None:
        return None if reference is None else 0.0
    distances = (
        abs(a - b) / size
        for a, b, size in zip(reference.point, generated.point, reference.size, strict=True)
    )
    return 1 - min(max(distances), 1.0)


def zeros(*names: str) -> Scores:
    """What is not there scores 0 in everything."""
    return dict.fromkeys(names, 0.0)


def _clip(reference: Rgb, generated: Rgb, embed: Embed | None) -> float | None:
    if embed is None:
        return None
    if np.array_equal(reference, generated):
        return 1.0
    return max(clip_similarity(embed(reference), embed(generated)), 0.0)


def _on_square(rgb: Rgb) -> Rgb:
    """A picture in the middle of a white square: CLIP looks at the middle square of a picture."""
    height, width = rgb.shape[:2]
    side = max(height, width)
    square = np.full((side, side, 3), 255, dtype=np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = rgb
    return square
