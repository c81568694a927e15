"""Drawing user interfaces: controls as sprites, and a canvas that becomes a PNG file.

Everything is whole-number arithmetic on numpy arrays with letters and icons of our own, so the
same calls give the same bytes on every machine, whatever font and image libraries it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from uiproof.benchmarks.grounding.drawing import png
from uiproof.benchmarks.grounding.drawing.masks import (
    FULL,
    Mask,
    cap_height,
    lettering,
    rounded_box,
)
from uiproof.benchmarks.grounding.drawing.pictograms import pictogram

_PALETTE_SIZE = 256

Colour = tuple[int, int, int]


def colour(code: str) -> Colour:
    """A colour from `#2196f3`."""
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)


@dataclass(frozen=True, slots=True)
class Layer:
    """One colour of a sprite, laid on where its mask says."""

    x: int
    y: int
    mask: Mask
    colour: Colour


@dataclass(frozen=True, slots=True)
class Sprite:
    """Something drawn, exactly as large as its ink."""

    width: int
    height: int
    layers: tuple[Layer, ...]


def sprite(layers: Iterable[Layer]) -> Sprite:
    """Layers as a sprite: moved so that the first inked row and column are at zero."""
    given = tuple(layers)
    left, top = min(layer.x for layer in given), min(layer.y for layer in given)
    return Sprite(
        max(layer.x + layer.mask.shape[1] for layer in given) - left,
        max(layer.y + layer.mask.shape[0] for layer in given) - top,
        tuple(Layer(one.x - left, one.y - top, one.mask, one.colour) for one in given),
    )


class Canvas:
    """A picture of at most 256 colours; after that, new tones become the nearest one there is."""

    def __init__(self, width: int, height: int, background: Colour) -> None:
        self.pixels = np.zeros((height, width), np.uint8)
        self.palette: list[Colour] = []
        self._indices: dict[Colour, int] = {}
        self._index(background)

    def paint(self, drawn: Sprite, x: int, y: int) -> None:
        """Lay a sprite on the picture with its top left corner at `x`, `y`."""
        for layer in drawn.layers:
            self._lay(layer, x + layer.x, y + layer.y)

    def png(self) -> bytes:
        """The picture as a file."""
        return png.encode(self.pixels, self.palette)

    def _lay(self, layer: Layer, x: int, y: int) -> None:
        # What is beyond the edge of the picture is not seen.
        left, top = max(-x, 0), max(-y, 0)
        mask = layer.mask[top : self.pixels.shape[0] - y, left : self.pixels.shape[1] - x]
        x, y = x + left, y + top
        spot = self.pixels[y : y + mask.shape[0], x : x + mask.shape[1]]
        steps = spot.astype(np.intp) * (FULL + 1) + mask
        mixed = np.zeros(_PALETTE_SIZE * (FULL + 1), np.uint8)
        present = np.flatnonzero(np.bincount(steps.reshape(-1), minlength=mixed.size))
        for step in present.tolist():
            below, coverage = divmod(step, FULL + 1)
            mixed[step] = self._mix(below, layer.colour, coverage)
        spot[...] = mixed[steps]

    def _mix(self, below: int, above: Colour, coverage: int) -> int:
        if coverage == 0:
            return below
        parts = zip(self.palette[below], above, strict=True)
        red, green, blue = ((a * (FULL - coverage) + b * coverage) // FULL for a, b in parts)
        return self._index((red, green, blue))

    def _index(self, wanted: Colour) -> int:
        found = self._indices.get(wanted)
        if found is None:
            if len(self.palette) < _PALETTE_SIZE:
                found = len(self.palette)
                self.palette.append(wanted)
            else:
                found = min(range(_PALETTE_SIZE), key=lambda i: _distance(self.palette[i], wanted))
            self._indices[wanted] = found
        return found


def _distance(one: Colour, other: Colour) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def text_width(text: str, size: int) -> int:
    """How many pixels the ink of a text takes."""
    return lettering(text, size).width


def panel(width: int, height: int, fill: Colour, radius: int, border: Colour | None) -> Sprite:
    """A box with round corners, with a line of one pixel around it if there is a border."""
    if border is None:
        return sprite([Layer(0, 0, rounded_box(width, height, radius), fill)])
    return sprite(_bordered(width, height, fill, border, radius, 1))


def text(content: str, size: int, ink: Colour) -> Sprite:
    """A line of text."""
    return sprite([Layer(0, 0, lettering(content, size).mask, ink)])


def link(content: str, size: int, ink: Colour) -> Sprite:
    """An underlined text."""
    line = lettering(content, size)
    thickness = max(1, size // 14)
    underline = np.full((thickness, line.width), FULL, np.uint8)
    gap = max(1, size // 10)
    return sprite([Layer(0, -line.rise, line.mask, ink), Layer(0, gap, underline, ink)])


def icon(name: str, size: int, ink: Colour) -> Sprite:
    """A pictogram whose longer side is this long."""
    return sprite([Layer(0, 0, pictogram(name, size), ink)])


def button(
    content: str,
    size: int,
    width: int,
    height: int,
    *,
    fill: Colour,
    ink: Colour,
    border: Colour | None = None,
) -> Sprite:
    """A box with a text in its middle."""
    radius = max(2, size // 3)
    box = panel(width, height, fill, radius, border)
    x = (width - text_width(content, size)) // 2
    return sprite([*box.layers, _line(content, size, x, height, ink)])


def text_field(
    content: str, size: int, width: int, height: int, *, fill: Colour, ink: Colour, border: Colour
) -> Sprite:
    """A bordered box with a text at its left."""
    box = _bordered(width, height, fill, border, max(2, size // 5), max(1, size // 12))
    return sprite([*box, _line(content, size, field_padding(size), height, ink)])


def dropdown(
    content: str, size: int, width: int, height: int, *, fill: Colour, ink: Colour, border: Colour
) -> Sprite:
    """A text field with a small triangle at its right."""
    field = text_field(content, size, width, height, fill=fill, ink=ink, border=border)
    mask = _triangle(max(3, size * 3 // 10))
    x = width - field_padding(size) - mask.shape[1]
    return sprite([*field.layers, Layer(x, (height - mask.shape[0]) // 2, mask, ink)])


def checkbox(
    content: str,
    size: int,
    *,
    ticked: bool,
    fill: Colour,
    ink: Colour,
    border: Colour,
    tick: Colour,
) -> Sprite:
    """A square, ticked or not, with its label to the right."""
    side = size + max(1, size // 8)
    square = _bordered(side, side, fill, border, max(1, size // 6), max(1, size // 10))
    layers = [*square, _line(content, size, side + max(4, size // 2), side, ink)]
    if ticked:
        mark = pictogram("check mark", side * 5 // 8)
        x, y = (side - mark.shape[1]) // 2, (side - mark.shape[0] + 1) // 2
        layers.append(Layer(x, y, mark, tick))
    return sprite(layers)


def field_padding(size: int) -> int:
    """How far the text of a field is from its edge."""
    return max(4, size * 6 // 10)


def dropdown_extra(size: int) -> int:
    """What the triangle of a dropdown takes, with the gap before it."""
    return 2 * max(3, size * 3 // 10) + field_padding(size)


def _line(content: str, size: int, x: int, height: int, ink: Colour) -> Layer:
    """A text whose capital letters are in the middle of a box of this height."""
    line = lettering(content, size)
    baseline = (height + cap_height(size)) // 2
    return Layer(x, baseline - line.rise, line.mask, ink)


def _bordered(
    width: int, height: int, fill: Colour, border: Colour, radius: int, thickness: int
) -> list[Layer]:
    inner = rounded_box(width - 2 * thickness, height - 2 * thickness, max(radius - thickness, 0))
    outer = Layer(0, 0, rounded_box(width, height, radius), border)
    return [outer, Layer(thickness, thickness, inner, fill)]


def _triangle(half: int) -> Mask:
    rows, columns = np.arange(half)[:, None], np.arange(2 * half)[None, :]
    return ((columns >= rows) & (columns < 2 * half - rows)).astype(np.uint8) * FULL
