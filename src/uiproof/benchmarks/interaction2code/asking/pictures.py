"""The pictures that models are shown: plain, marked with red boxes, or cropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING

from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.boxes import PixelBox
from uiproof.errors import InputError
from uiproof.models.types import Image

if TYPE_CHECKING:
    from uiproof.vision.images import Rgb

_WIDEST_WINDOW = 1920  # CSS pixels; a picture that is wider was taken on a denser screen
# Pictures that differ in less than this share (a caret, a clock) show a page in the same state;
# they are compared in cells of some pixels, of which the mean colours differ by some levels.
_SAME, _GLANCE, _NOTICEABLE = 0.002, 4, 8


@dataclass(frozen=True, slots=True)
class Crop:
    """A part of a picture that stands for all of it, in CSS pixels."""

    box: PixelBox
    page: tuple[int, int]  # how large all of it is


def density(width: int) -> int:
    """Pixels of a screenshot of this width for each CSS pixel."""
    return ceil(width / _WIDEST_WINDOW)


def page_width(graph: Graph, node: str) -> int:
    """How wide the window of a screenshot was, in CSS pixels."""
    from PIL import Image as Picture

    try:
        with Picture.open(graph.screenshot(node)) as picture:
            return picture.width // density(picture.width)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{graph.screenshot(node)} cannot be read as a picture: {error}."
        ) from error


def before(graph: Graph, interaction: Interaction, *, marked: bool) -> Image:
    """The page before an interaction, with a box around what is acted on or without."""
    if not marked:
        return Image(_file(graph, interaction.source))
    return _marked(graph, interaction.source, [interaction.trigger])


def after(graph: Graph, interaction: Interaction, *, marked: bool) -> Image:
    """The page after an interaction, with a box around what has changed or without."""
    if not marked:
        return Image(_file(graph, interaction.target))
    return _marked(graph, interaction.target, [interaction.effect])


def original(graph: Graph, interactions: Sequence[Interaction], *, marked: bool) -> Image:
    """The page where several interactions begin, with boxes around all that is acted on."""
    first = interactions[0]
    if not marked or len(interactions) == 1:
        return before(graph, first, marked=marked)
    return _marked(graph, first.source, [trigger_of(graph, one) for one in interactions])


def trigger_of(graph: Graph, interaction: Interaction) -> PixelBox | None:
    """Where the element is that is acted on: as the data set says, or as its picture is marked."""
    return interaction.trigger or _box_on(graph, interaction.source)


def effect_of(graph: Graph, interaction: Interaction) -> PixelBox | None:
    """Where the effect is: as the data set says, or as its picture is marked."""
    return interaction.effect or _box_on(graph, interaction.target)


def cropped(
    graph: Graph, interaction: Interaction, times: float, *, marked: bool
) -> tuple[Image, Image, Crop]:
    """Both pictures, cut so that the interaction takes `times` as much of them, or all it can."""
    from uiproof.benchmarks.interaction2code.region import region
    from uiproof.vision.images import decode, read

    plain = [read(graph.screenshot(node)) for node in (interaction.source, interaction.target)]
    sizes = [(picture.shape[1], picture.shape[0]) for picture in plain]
    canvas = max(width for width, _ in sizes), max(height for _, height in sizes)
    places = [trigger_of(graph, interaction), region(plain[0], plain[1]).box]
    box = _window(canvas, [place for place in places if place], times)
    shown = plain
    if marked:
        shown = [decode(one(graph, interaction, marked=True).read()) for one in (before, after)]
    scale = density(sizes[0][0])
    pieces = [_cut(picture, box) for picture in shown]
    small = PixelBox(*(edge // scale for edge in (box.left, box.top, box.right, box.bottom)))
    page = sizes[0][0] // scale, sizes[0][1] // scale
    return pieces[0], pieces[1], Crop(small, page)


def same_state(graph: Graph, one: str, other: str) -> bool:
    """Whether two screenshots show a page in the same state."""
    import numpy as np

    if one == other:
        return True
    a, b = (
        _glance(file, file.stat().st_mtime_ns) for file in (_file(graph, one), _file(graph, other))
    )
    if a.shape != b.shape:
        return False
    off = np.abs(a.astype(np.int16) - b).max(axis=2) > _NOTICEABLE
    return float(off.mean()) < _SAME


@lru_cache(maxsize=64)
def _glance(file: Path, stamp: int) -> Rgb:  # noqa: ARG001 - a file that was changed is another one
    """A picture so small that many can be kept."""
    import cv2
    import numpy as np

    from uiproof.vision.images import read

    rgb = read(file)
    size = max(rgb.shape[1] // _GLANCE, 1), max(rgb.shape[0] // _GLANCE, 1)
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def _marked(graph: Graph, node: str, boxes: Sequence[PixelBox | None]) -> Image:
    """A screenshot with boxes drawn on it, or as it was published where boxes are not known."""
    from uiproof.benchmarks.interaction2code.marks import draw_mark
    from uiproof.vision.images import encode_png, read

    known = [box for box in boxes if box]
    if not known:
        published = graph.marked(node)
        return Image(published if published.is_file() else _file(graph, node))
    rgb = read(graph.screenshot(node))
    for box in known:
        rgb = draw_mark(rgb, box)
    return Image(encode_png(rgb))


def _file(graph: Graph, node: str) -> Path:
    file = graph.screenshot(node)
    if not file.is_file():
        raise InputError(f"The page {graph.page} has no picture {file.name}.")
    return file


def _box_on(graph: Graph, node: str) -> PixelBox | None:
    from uiproof.benchmarks.interaction2code.marks import find_mark
    from uiproof.vision.images import read

    if not graph.marked(node).is_file():
        return None
    return find_mark(read(graph.screenshot(node)), read(graph.marked(node)))


def _window(canvas: tuple[int, int], places: Iterable[PixelBox], times: float) -> PixelBox:
    """The part of a picture around some places that has 1/`times` of its area, or more if it must.

    "Cropped to one half, the interaction takes twice as much": the paper counts areas.
    """
    width, height = canvas
    places = list(places) or [PixelBox(0, 0, width, height)]
    left, right = _span([(one.left, one.right) for one in places], width, times)
    top, bottom = _span([(one.top, one.bottom) for one in places], height, times)
    return PixelBox(left, top, right, bottom)


def _span(spans: Sequence[tuple[int, int]], length: int, times: float) -> tuple[int, int]:
    first, last = max(min(a for a, _ in spans), 0), min(max(b for _, b in spans), length)
    size = max(round(length / sqrt(times)), last - first)
    start = min(max((first + last - size) // 2, 0), length - size)
    return start, start + size


def _cut(picture: Rgb, box: PixelBox) -> Image:
    from uiproof.vision.images import encode_png

    part = picture[box.top : box.bottom, box.left : box.right]
    return Image(encode_png(part if part.size else picture))  # a page that has become smaller
