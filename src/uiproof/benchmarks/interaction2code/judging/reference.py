"""The reference side of an interaction: its pictures in CSS pixels, its marks, its change.

Made once for an interaction and kept for a while, because several answers are compared with it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import cv2
import numpy as np

from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.benchmarks.interaction2code.marks import find_mark, published_contour
from uiproof.benchmarks.interaction2code.region import paper_region, region, saliency
from uiproof.errors import InputError
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb, cut_png, decode, encode_png, has_transparency, read

_WIDEST_WINDOW = 1920  # CSS pixels; wider pictures were taken on a screen of a higher density
_TALLEST_WINDOW = 1200  # pictures up to here show the window, taller ones the whole page
_SMALLEST_SIDE, _LARGEST_SIDE = 100, 4_000  # of a window, whatever a data set says
_KEPT = 8  # each holds two or three pictures of some megabytes
_SAME_PICTURE = 0.9  # correlation from which a crop is taken to be cut out of a picture
_SAME_TRIGGER = 0.5  # overlap of the marks of two interactions with one element


@dataclass(frozen=True, slots=True)
class Reference:
    """The data set's view of an interaction. Pictures and boxes are in CSS pixels.

    `after_file` and `part_file` are in pixels of the published pictures: the `paper` profile
    compares these as they are.
    """

    before: Rgb
    after: Rgb
    after_file: bytes
    part_file: bytes  # what changed: the published manual crop, else cut out by the published rule
    scale: int  # pixels of the published pictures for each CSS pixel
    window: tuple[int, int]
    trigger: PixelBox | None  # in the picture before
    effect: PixelBox | None  # the mark in the picture after
    box: PixelBox | None  # of everything that changed, in the picture after
    parts: tuple[PixelBox, ...]
    paper_box: PixelBox | None  # the same by the published rule
    crop: Rgb | None  # the published manual crop of what changed
    crop_box: PixelBox | None  # where it was cut out, if that can be seen
    saliency: dict[str, float | None]  # by profile
    contours: tuple[tuple[float, float] | None, tuple[float, float] | None]  # published positions
    reverts: bool  # acting again leads back, says the graph
    flags: tuple[str, ...]

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height of the picture before."""
        return self.before.shape[1], self.before.shape[0]

    @property
    def size_after(self) -> tuple[int, int]:
        """Return width and height of the picture after."""
        return self.after.shape[1], self.after.shape[0]


class References:
    """The latest references, by the files that they were made of."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], Reference] = OrderedDict()
        self.loaded = 0  # how many were not in memory

    def get(self, graph: Graph, interaction: Interaction) -> Reference:
        """Return the reference of an interaction; raise `InputError` for broken screenshots."""
        key = (graph.folder, interaction.id, *map(_stamp, _files(graph, interaction)))
        if key not in self._kept:
            self._kept[key] = load_reference(graph, interaction)
            self.loaded += 1
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def load_reference(graph: Graph, interaction: Interaction) -> Reference:
    """Read the pictures of an interaction and find its change."""
    before = read(graph.screenshot(interaction.source))
    after = read(graph.screenshot(interaction.target))
    after_file = graph.screenshot(interaction.target).read_bytes()
    flags: list[str] = []
    if graph.viewport is not None and before.shape[1] < graph.viewport[0]:
        # Pictures that were scaled down: at the window's size they are compared with pages.
        before, after = (_enlarged(one, graph.viewport[0]) for one in (before, after))
        after_file = encode_png(after)
        flags.append("enlarged")
    scale = max(ceil(before.shape[1] / _WIDEST_WINDOW), 1)

    marked = [
        _optional(graph.marked(node), flags, "mark")
        for node in (interaction.source, interaction.target)
    ]
    trigger, effect = interaction.trigger, interaction.effect
    if trigger is None and marked[0] is not None:
        trigger = find_mark(before, marked[0])
    if effect is None and marked[1] is not None:
        effect = find_mark(after, marked[1])
    if trigger is None:
        flags.append("no_mark_before")
    if effect is None:
        flags.append("no_mark_after")

    changed = region(before, after)
    by_paper = paper_region(
        _published(graph.screenshot(interaction.source), before),
        _published(graph.screenshot(interaction.target), after),
    ).box
    if changed.box is None:
        flags.append("no_change")
    # A crop that comes with a box of our own was cut by rule, not by hand: the published rule for
    # pages without manual crops applies.
    by_hand = interaction.effect is None
    crop = _optional(graph.crop(interaction.id), flags, "crop", expected=False) if by_hand else None
    if crop is None:
        part = (
            by_paper
            or changed.box
            or (effect and effect.intersection(whole(after)))
            or whole(after)
        )
        part_file = cut_png(after_file, part)
    else:
        part_file = graph.crop(interaction.id).read_bytes()
    small_after = reduced(after, scale)
    small_crop = None if crop is None else reduced(crop, scale)
    size_after = (after.shape[1], after.shape[0])
    return Reference(
        before=reduced(before, scale),
        after=small_after,
        after_file=after_file,
        part_file=part_file,
        scale=scale,
        window=_bounded(graph.viewport or window_of(before, scale)),
        trigger=_small(trigger, scale),
        effect=_small(effect, scale),
        box=_small(changed.box, scale),
        parts=tuple(box for part in changed.parts if (box := _small(part, scale))),
        paper_box=_small(by_paper, scale),
        crop=small_crop,
        crop_box=None if small_crop is None else locate(small_crop, small_after),
        saliency={
            "strict": None if changed.box is None else saliency(changed.box, size_after),
            "paper": None if by_paper is None else saliency(by_paper, size_after),
        },
        contours=(
            _contour(graph.marked(interaction.source), marked[0]),
            _contour(graph.marked(interaction.target), marked[1]),
        ),
        reverts=_reverts(graph, interaction, trigger),
        flags=tuple(dict.fromkeys(flags)),
    )


def reduced(rgb: Rgb, scale: int) -> Rgb:
    """Return a picture with one pixel for each CSS pixel."""
    if scale == 1:
        return rgb
    height, width = rgb.shape[:2]
    size = (max(round(width / scale), 1), max(round(height / scale), 1))
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _enlarged(rgb: Rgb, width: int) -> Rgb:
    size = (width, round(rgb.shape[0] * width / rgb.shape[1]))
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_CUBIC), dtype=np.uint8)


def window_of(rgb: Rgb, scale: int) -> tuple[int, int]:
    """Return the window that a screenshot was taken in, as far as its size tells."""
    width, height = round(rgb.shape[1] / scale), round(rgb.shape[0] / scale)
    return width, height if height <= _TALLEST_WINDOW else round(width * 9 / 16)


def _bounded(window: tuple[int, int]) -> tuple[int, int]:
    width, height = (min(max(side, _SMALLEST_SIDE), _LARGEST_SIDE) for side in window)
    return width, height


def locate(crop: Rgb, picture: Rgb) -> PixelBox | None:
    """Return where a crop was cut out of a picture; None where it is not in it."""
    height, width = crop.shape[:2]
    if height > picture.shape[0] or width > picture.shape[1] or min(height, width) < 4:
        return None
    gray = [np.asarray(cv2.cvtColor(one, cv2.COLOR_RGB2GRAY)) for one in (picture, crop)]
    if int(gray[1].max()) - int(gray[1].min()) < 4:
        return None  # one colour: it fits anywhere
    match = cv2.matchTemplate(gray[0], gray[1], cv2.TM_CCOEFF_NORMED)
    _, best, _, (left, top) = cv2.minMaxLoc(match)
    if best < _SAME_PICTURE:
        return None
    return PixelBox(left, top, left + width, top + height)


def _reverts(graph: Graph, interaction: Interaction, trigger: PixelBox | None) -> bool:
    """Return whether the graph leads back by the same action on the same element."""
    for other in graph.interactions:
        if (other.source, other.target) != (interaction.target, interaction.source):
            continue
        if other.action.kind != interaction.action.kind:
            continue
        if trigger is not None and other.trigger is not None:
            return trigger.iou(other.trigger) >= _SAME_TRIGGER
        return bool(other.sentence) and other.sentence == interaction.sentence
    return False


def _small(box: PixelBox | None, scale: int) -> PixelBox | None:
    """Return a box of a published picture in CSS pixels, rounded outwards."""
    if box is None or scale == 1:
        return box
    return PixelBox(
        box.left // scale, box.top // scale, -(-box.right // scale), -(-box.bottom // scale)
    )


def whole(picture: Rgb) -> PixelBox:
    """Return the box around all of a picture."""
    return PixelBox(0, 0, picture.shape[1], picture.shape[0])


def _contour(file: Path, marked: Rgb | None) -> tuple[float, float] | None:
    return None if marked is None else published_contour(_published(file, marked))


def _published(file: Path, picture: Rgb) -> Rgb:
    """Return a picture from a file as the published rules see it: without transparency."""
    data = file.read_bytes()
    return decode(data, blend=False) if has_transparency(data) else picture


def _optional(path: Path, flags: list[str], what: str, *, expected: bool = True) -> Rgb | None:
    """Read a picture that may be missing or broken: then the interaction is judged without it."""
    if not path.is_file():
        if expected:
            flags.append(f"{what}_missing")
        return None
    try:
        return read(path)
    except InputError:
        flags.append(f"{what}_unreadable")
        return None


def _files(graph: Graph, interaction: Interaction) -> list[Path]:
    nodes = (interaction.source, interaction.target)
    pictures = [graph.screenshot(node) for node in nodes] + [graph.marked(node) for node in nodes]
    return [*pictures, graph.crop(interaction.id)]


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
