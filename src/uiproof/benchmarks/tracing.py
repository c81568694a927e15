"""Trace a screenshot into HTML without a model: OCR lines, rectangles, colours, positions.

The result knows nothing of the page's structure: it is the floor that a model has to beat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.errors import MissingDependencyError
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

Colour = tuple[int, int, int]
Mask = npt.NDArray[np.bool_]

_COVERED = 0.35  # of the contrast of a line from which a pixel belongs to a letter
_FAINT = 12  # levels of contrast below which nothing counts as text
_MIN_AREA = 64  # pixels of a rectangle
_MIN_RULE = 16  # a line shorter than this is more likely part of a letter
_MIN_PICTURE = 20  # pixels of its sides
_FLAT_AREA = 400  # pixels of one colour from which an area is no part of a picture
_ENCLOSED = 0.6  # of its bounding box that the outline of a rectangle encloses
_LETTERING = 0.6  # of its bounding box from which an area inside a text is part of its letters
# CSS families, and the files of their regular and bold typefaces. DejaVu comes with matplotlib; the
# others are used where Pillow finds them among the fonts of the system.
_FAMILIES = {
    "'DejaVu Sans', Verdana, sans-serif": ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    "'DejaVu Serif', Georgia, serif": ("DejaVuSerif.ttf", "DejaVuSerif-Bold.ttf"),
    "Arial, 'Liberation Sans', sans-serif": (
        "LiberationSans-Regular.ttf",
        "LiberationSans-Bold.ttf",
    ),
    "'Times New Roman', 'Liberation Serif', serif": (
        "LiberationSerif-Regular.ttf",
        "LiberationSerif-Bold.ttf",
    ),
}


@dataclass(frozen=True, slots=True)
class _Rectangle:
    """An area of one colour, or a picture (`colour` is None)."""

    box: PixelBox
    colour: Colour | None


def trace(rgb: Rgb, lines: Sequence[OcrLine], picture_source: Callable[[PixelBox], str]) -> str:
    """Return an HTML page of the screenshot's size; `picture_source` names the pictures on it."""
    height, width = rgb.shape[:2]
    background = _most_common(np.concatenate([rgb[0], rgb[-1], rgb[:, 0], rgb[:, -1]]))
    parts = []
    for one in _rectangles(rgb, [line.box for line in lines], background):
        if one.colour is None:
            parts.append(f'<img src="{picture_source(one.box)}" alt="" style="{place(one.box)}">')
        else:
            colour = _css(one.colour)
            parts.append(f'<div style="{place(one.box)}; background: {colour}"></div>')
    parts += _texts_html([ink for line in lines if (ink := _Ink.of(rgb, line)) is not None])
    body = "\n".join(parts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Blueprint</title>
<style>
html {{ background: {_css(background)}; }}
body {{ position: relative; width: {width}px; height: {height}px; margin: 0; overflow: hidden; }}
div, img, p {{ position: absolute; box-sizing: border-box; margin: 0; }}
p {{ white-space: nowrap; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def place(box: PixelBox) -> str:
    """Return the CSS of an absolute position."""
    return f"left: {box.left}px; top: {box.top}px; width: {box.width}px; height: {box.height}px"


@dataclass(frozen=True, slots=True)
class _Ink:
    """The pixels of a line of text."""

    text: str
    box: PixelBox  # close around the letters
    colour: Colour
    covered: npt.NDArray[np.float64]  # how much of each pixel in the box is covered

    @classmethod
    def of(cls, rgb: Rgb, line: OcrLine) -> _Ink | None:
        """Find the ink of a line; None where nothing stands out from the background."""
        box = line.box
        pixels = rgb[box.top : box.bottom, box.left : box.right].astype(np.int16)
        if not pixels.size:
            return None
        contrast = np.abs(pixels - _most_common(pixels)).max(axis=2)
        peak = int(contrast.max())
        if peak < _FAINT:
            return None
        rows, columns = np.nonzero(contrast >= _COVERED * peak)
        top, left = int(rows.min()), int(columns.min())
        bottom, right = int(rows.max()) + 1, int(columns.max()) + 1
        place = PixelBox(box.left + left, box.top + top, box.left + right, box.top + bottom)
        colour = _most_common(pixels[contrast >= 0.8 * peak])
        return cls(line.text, place, colour, contrast[top:bottom, left:right] / peak)


@dataclass(frozen=True, slots=True)
class _Setting:
    """A text in a typeface, as wide as its ink."""

    bold: bool
    size: int
    left: int  # of the line box
    top: int
    misfit: float  # mean difference between the ink and the typeface

    @classmethod
    def of(cls, file: str, ink: _Ink, *, bold: bool) -> _Setting:
        """Set the text of some ink."""
        from PIL import Image, ImageDraw

        left, _, right, _ = _font(file, 100).getbbox(ink.text)
        size = max(round(100 * ink.box.width / max(right - left, 1)), 1)
        size = min(size, 2 * ink.box.height + 2)
        font = _font(file, size)
        left, top, right, bottom = map(int, font.getbbox(ink.text))
        picture = Image.new("L", (max(right - left, 1), max(bottom - top, 1)))
        ImageDraw.Draw(picture).text((-left, -top), ink.text, font=font, fill=255)
        covered = np.asarray(picture.resize((ink.box.width, ink.box.height))) / 255
        misfit = float(np.abs(covered - ink.covered).mean())
        return cls(bold, size, ink.box.left - left, ink.box.top - top, misfit)


def _texts_html(inks: Sequence[_Ink]) -> list[str]:
    """Return lines of text in the family that fits all of them best."""
    settings: dict[str, list[_Setting]] = {}
    for family, files in _FAMILIES.items():
        with suppress(OSError):  # this machine does not have it
            settings[family] = [
                min(
                    (_Setting.of(file, ink, bold=file != files[0]) for file in files),
                    key=lambda one: one.misfit,
                )
                for ink in inks
            ]
    if not settings:
        raise MissingDependencyError(
            "There is no font to set text in.", remedy="apt-get install fonts-dejavu-core"
        )
    family = min(settings, key=lambda name: sum(one.misfit for one in settings[name]))
    return [
        f'<p style="left: {one.left}px; top: {one.top}px; color: {_css(ink.colour)}; '
        f'font: {"bold " if one.bold else ""}{one.size}px {family}">{escape(ink.text)}</p>'
        for ink, one in zip(inks, settings[family], strict=True)
    ]


@lru_cache(maxsize=256)
def _font(file: str, size: int) -> FreeTypeFont:
    from PIL import ImageFont

    try:
        return ImageFont.truetype(file, size)
    except OSError:  # not among the system's fonts; matplotlib brings some
        if find_spec("matplotlib") is None:
            raise
        from matplotlib import get_data_path

        return ImageFont.truetype(Path(get_data_path(), "fonts", "ttf", file), size)


def _rectangles(rgb: Rgb, text: Sequence[PixelBox], background: Colour) -> list[_Rectangle]:
    """Return areas of one colour and pictures in painting order: large ones first."""
    from scipy import ndimage

    packed = _packed(rgb)
    labels = _areas(packed)
    areas = np.bincount(labels.ravel())
    written = np.zeros(rgb.shape[:2], bool)
    for box in text:
        written[max(box.top - 2, 0) : box.bottom + 2, max(box.left - 2, 0) : box.right + 2] = True
    flat = areas >= _FLAT_AREA
    found: list[_Rectangle] = []
    for number, area in enumerate(ndimage.find_objects(labels), start=1):
        rows, columns = area
        box = PixelBox(columns.start, rows.start, columns.stop, rows.stop)
        if areas[number] < _MIN_RULE or float(written[area].mean()) > _LETTERING:
            continue
        mask = labels[area] == number
        if _is_rectangle(mask, box, int(areas[number])):
            flat[number] = True
            row, column = np.unravel_index(int(mask.argmax()), mask.shape)
            found.append(_Rectangle(box, _unpacked(int(packed[area][row, column]))))
    found += [_Rectangle(box, None) for box in _pictures(~flat[labels] & ~written)]
    found.sort(key=lambda one: (-one.box.area, one.box.top))
    return _without_repainting(found, np.full(rgb.shape, background, np.int16))


def _areas(packed: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Number the connected areas of one colour from 1, in reading order."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # Rows are cut into runs of one colour; runs that touch above each other are connected.
    begins = np.ones(packed.shape, bool)
    begins[:, 1:] = packed[:, 1:] != packed[:, :-1]
    runs = np.cumsum(begins.ravel()).reshape(packed.shape) - 1
    alike = packed[1:] == packed[:-1]
    above, below = runs[:-1][alike], runs[1:][alike]
    size = int(runs[-1, -1]) + 1
    touching = coo_array((np.ones(above.size, bool), (above, below)), shape=(size, size))
    _, areas = connected_components(touching, directed=False)
    return np.asarray(areas[runs] + 1, np.int64)


def _is_rectangle(mask: Mask, box: PixelBox, area: int) -> bool:
    """Return whether the outline of an area is one; holes in it are painted later."""
    if min(box.width, box.height) <= 3:
        return max(box.width, box.height) >= _MIN_RULE and float(mask.mean()) > 0.8
    outlines, _ = cv2.findContours(
        np.pad(mask, 1).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE
    )
    enclosed = cv2.contourArea(outlines[0])
    return area >= _MIN_AREA and enclosed >= _ENCLOSED * (box.width - 1) * (box.height - 1)


def _pictures(busy: Mask) -> list[PixelBox]:
    """Return the boxes of areas that are neither flat nor text."""
    closed = cv2.morphologyEx(busy.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    # Text over a picture leaves holes in it, which belong to the picture.
    closed = cv2.morphologyEx(closed, cv2.MORPH_CLOSE, np.ones((15, 15), np.uint8))
    outlines, _ = cv2.findContours(closed, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    boxes = []
    for outline in outlines:
        left, top, width, height = cv2.boundingRect(outline)
        if min(width, height) >= _MIN_PICTURE and cv2.contourArea(outline) >= 0.5 * width * height:
            boxes.append(PixelBox(left, top, left + width, top + height))
    return boxes


def _without_repainting(
    found: Sequence[_Rectangle], canvas: npt.NDArray[np.int16]
) -> list[_Rectangle]:
    """Leave out areas that would change nothing."""
    needed = []
    for one in found:
        area = canvas[one.box.top : one.box.bottom, one.box.left : one.box.right]
        if one.colour is None or (area == one.colour).all(axis=2).mean() <= 0.99:
            area[:] = -1 if one.colour is None else one.colour
            needed.append(one)
    return needed


def _most_common(pixels: npt.NDArray[np.uint8] | npt.NDArray[np.int16]) -> Colour:
    values, counts = np.unique(_packed(pixels), return_counts=True)
    return _unpacked(int(values[counts.argmax()]))


def _packed(pixels: npt.NDArray[np.uint8] | npt.NDArray[np.int16]) -> npt.NDArray[np.int32]:
    wide = pixels.astype(np.int32)
    return np.asarray((wide[..., 0] << 16) | (wide[..., 1] << 8) | wide[..., 2])


def _unpacked(value: int) -> Colour:
    return value >> 16, value >> 8 & 255, value & 255


def _css(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
