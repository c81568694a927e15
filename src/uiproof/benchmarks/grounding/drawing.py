"""Draw user interfaces: controls as sprites on a canvas that is saved as PNG.

A mask says for each pixel how much of it is covered, from 0 to `FULL`. Everything is whole-number
arithmetic, with letters from a sheet that ships with the package (`fonts/`) and icons defined
below, so the pixels are the same on every machine, whatever fonts it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

FULL = 16
_FONTS = Path(__file__).parents[2] / "fonts"
_CORNER_DETAIL = 8  # samples per pixel and axis at rounded corners
_PALETTE_SIZE = 256
_COMPRESSION = 6

Colour = tuple[int, int, int]
Mask = npt.NDArray[np.uint8]


# --- canvas


def colour(code: str) -> Colour:
    """Parse a colour such as `#2196f3`."""
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)


@dataclass(frozen=True, slots=True)
class Layer:
    """A mask in one colour."""

    x: int
    y: int
    mask: Mask
    colour: Colour


@dataclass(frozen=True, slots=True)
class Sprite:
    """A drawing, exactly as large as its ink."""

    width: int
    height: int
    layers: tuple[Layer, ...]


def sprite(layers: Iterable[Layer]) -> Sprite:
    """Combine layers, moved so that the first row and column with ink are at zero."""
    given = tuple(layers)
    left, top = min(layer.x for layer in given), min(layer.y for layer in given)
    return Sprite(
        max(layer.x + layer.mask.shape[1] for layer in given) - left,
        max(layer.y + layer.mask.shape[0] for layer in given) - top,
        tuple(Layer(one.x - left, one.y - top, one.mask, one.colour) for one in given),
    )


class Canvas:
    """An image of at most 256 colours; further ones become the nearest of these."""

    def __init__(self, width: int, height: int, background: Colour) -> None:
        self.pixels = np.zeros((height, width), np.uint8)
        self.palette: list[Colour] = []
        self._indices: dict[Colour, int] = {}
        self._index(background)

    def paint(self, drawn: Sprite, x: int, y: int) -> None:
        """Blend a sprite into the image with its top left corner at `x`, `y`."""
        for layer in drawn.layers:
            self._lay(layer, x + layer.x, y + layer.y)

    def png(self) -> bytes:
        """Encode the image; the compression level is fixed for the sake of equal bytes."""
        image = Image.fromarray(self.pixels)
        image.putpalette([part for one in self.palette for part in one])
        file = BytesIO()
        image.save(file, "PNG", compress_level=_COMPRESSION)
        return file.getvalue()

    def _lay(self, layer: Layer, x: int, y: int) -> None:
        # Clip to the image.
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


# --- controls


def text_width(text: str, size: int) -> int:
    """Return how many pixels the ink of a text is wide."""
    return lettering(text, size).width


def panel(width: int, height: int, fill: Colour, radius: int, border: Colour | None) -> Sprite:
    """Draw a box with round corners, and with a line of one pixel if there is a border."""
    if border is None:
        return sprite([Layer(0, 0, rounded_box(width, height, radius), fill)])
    return sprite(_bordered(width, height, fill, border, radius, 1))


def text(content: str, size: int, ink: Colour) -> Sprite:
    """Draw a line of text."""
    return sprite([Layer(0, 0, lettering(content, size).mask, ink)])


def link(content: str, size: int, ink: Colour) -> Sprite:
    """Draw an underlined text."""
    line = lettering(content, size)
    thickness = max(1, size // 14)
    underline = np.full((thickness, line.width), FULL, np.uint8)
    gap = max(1, size // 10)
    return sprite([Layer(0, -line.rise, line.mask, ink), Layer(0, gap, underline, ink)])


def icon(name: str, size: int, ink: Colour) -> Sprite:
    """Draw a pictogram whose longer side is `size` pixels."""
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
    """Draw a box with a centred text."""
    radius = max(2, size // 3)
    box = panel(width, height, fill, radius, border)
    x = (width - text_width(content, size)) // 2
    return sprite([*box.layers, _text_layer(content, size, x, height, ink)])


def text_field(
    content: str, size: int, width: int, height: int, *, fill: Colour, ink: Colour, border: Colour
) -> Sprite:
    """Draw a bordered box with a text at its left."""
    box = _bordered(width, height, fill, border, max(2, size // 5), max(1, size // 12))
    return sprite([*box, _text_layer(content, size, field_padding(size), height, ink)])


def dropdown(
    content: str, size: int, width: int, height: int, *, fill: Colour, ink: Colour, border: Colour
) -> Sprite:
    """Draw a text field with a small triangle at its right."""
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
    """Draw a square, ticked or not, with its label to the right."""
    side = size + max(1, size // 8)
    square = _bordered(side, side, fill, border, max(1, size // 6), max(1, size // 10))
    layers = [*square, _text_layer(content, size, side + max(4, size // 2), side, ink)]
    if ticked:
        mark = pictogram("check mark", side * 5 // 8)
        x, y = (side - mark.shape[1]) // 2, (side - mark.shape[0] + 1) // 2
        layers.append(Layer(x, y, mark, tick))
    return sprite(layers)


def field_padding(size: int) -> int:
    """Return the distance of a field's text from its edge."""
    return max(4, size * 6 // 10)


def dropdown_extra(size: int) -> int:
    """Return the width of a dropdown's triangle with the gap before it."""
    return 2 * max(3, size * 3 // 10) + field_padding(size)


def _text_layer(content: str, size: int, x: int, height: int, ink: Colour) -> Layer:
    """Return a text whose capital letters are centred in a box of this height."""
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


# --- letters and boxes


@dataclass(frozen=True, slots=True)
class Lettering:
    """The ink of a line of text; its first row is `rise` pixels above the baseline."""

    mask: Mask
    rise: int

    @property
    def width(self) -> int:
        """Return the number of pixels across."""
        return int(self.mask.shape[1])


@lru_cache(maxsize=4096)
def lettering(text: str, size: int) -> Lettering:
    """Render a text; `size` is the height of a line without leading, in pixels."""
    sheet, em, baseline, letters = _sheet()
    # The baseline falls between two rows of pixels, so that letters stand on a sharp edge.
    lead = next(rows for rows in range(em) if (baseline + rows) * size % em == 0)
    glyphs = [letters.get(character, letters["?"]) for character in text]
    line = np.zeros((sheet.shape[0] + lead, sum(glyph[3] for glyph in glyphs) + 2 * em), np.uint8)
    pen = em
    for left, width, bearing, advance in glyphs:
        spot = line[lead:, pen + bearing : pen + bearing + width]
        np.maximum(spot, sheet[:, left : left + width], out=spot)
        pen += advance
    mask = _resampled(line, size, em)
    top, _, ink = _trimmed(mask)
    return Lettering(ink, (baseline + lead) * size // em - top)


@cache
def cap_height(size: int) -> int:
    """Return how many pixels capital letters rise above the baseline."""
    return lettering("H", size).rise


@cache
def _sheet() -> tuple[Mask, int, int, dict[str, tuple[int, int, int, int]]]:
    measures = json.loads((_FONTS / "lettering.json").read_text("utf-8"))
    with Image.open(_FONTS / "lettering.png") as sheet:
        return np.asarray(sheet), measures["em"], measures["baseline"], measures["letters"]


def _resampled(source: Mask, numerator: int, denominator: int) -> Mask:
    """Scale an image of 0 to 255 to a mask, by area."""
    grown = _grown(
        _grown(source.astype(np.int64), numerator, denominator).T, numerator, denominator
    )
    whole = 255 * denominator * denominator
    return ((grown.T * FULL + whole // 2) // whole).astype(np.uint8)


def _grown(
    source: npt.NDArray[np.int64], numerator: int, denominator: int
) -> npt.NDArray[np.int64]:
    """Scale the rows by area; sums are `denominator` times the mean of the pixels."""
    rows = source.shape[0]
    edges = np.arange(-(-rows * numerator // denominator) + 1) * denominator
    whole, part = np.minimum(edges // numerator, rows), edges % numerator
    below = np.zeros((rows + 1, source.shape[1]), np.int64)
    np.cumsum(source, axis=0, out=below[1:])
    padded = np.vstack((source, np.zeros((1, source.shape[1]), np.int64)))
    sums: npt.NDArray[np.int64] = below[whole] * numerator + padded[whole] * part[:, None]
    return sums[1:] - sums[:-1]


def _trimmed(mask: Mask) -> tuple[int, int, Mask]:
    """Return the covered part of a mask with its position: top, left, part."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return 0, 0, mask[:0, :0]
    top, left = int(rows[0]), int(columns[0])
    return top, left, mask[top : rows[-1] + 1, left : columns[-1] + 1]


def rounded_box(width: int, height: int, radius: int) -> Mask:
    """Return a filled box with round corners."""
    mask = np.full((height, width), FULL, np.uint8)
    radius = min(radius, width // 2, height // 2)
    if radius > 0:
        corner = _corner(radius)
        mask[:radius, :radius] = corner
        mask[:radius, width - radius :] = corner[:, ::-1]
        mask[height - radius :, :radius] = corner[::-1]
        mask[height - radius :, width - radius :] = corner[::-1, ::-1]
    return mask


@cache
def _corner(radius: int) -> Mask:
    fine = radius * _CORNER_DETAIL
    steps = 2 * (fine - np.arange(fine)) - 1  # twice the distance of each sample from the centre
    inside = (steps[:, None] ** 2 + steps[None, :] ** 2 <= (2 * fine) ** 2).astype(np.uint8) * 255
    return _resampled(inside, 1, _CORNER_DETAIL)


# --- icons

# Pictograms are made of shapes on a square of 96 units, sampled six times per unit and axis, and
# then scaled down.

_UNITS, _SAMPLES = 96, 6
_STEP = 2 * _SAMPLES  # coordinates are doubled, so that the middles of samples are whole numbers
_X = np.arange(_UNITS * _SAMPLES, dtype=np.int64)[None, :] * 2 + 1
_Y = _X.T

_Area = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Pictogram:
    """An icon: shapes that are added (+), cut out (-) or intersected (&) from left to right."""

    shapes: str
    meanings: tuple[str, ...]  # words that could ask for it without naming the shape


@lru_cache(maxsize=2048)
def pictogram(name: str, size: int) -> Mask:
    """Return the ink of an icon whose longer side is this many pixels."""
    large = _large(name)
    return _trimmed(_resampled(large, size, max(large.shape)))[2]


@cache
def _large(name: str) -> Mask:
    area = np.zeros((_UNITS * _SAMPLES, _UNITS * _SAMPLES), np.bool_)
    parts = re.split(r"([-+&])", f"+{PICTOGRAMS[name].shapes}")[1:]
    for operator, part in zip(parts[::2], parts[1::2], strict=True):
        shape, *numbers = part.split()
        drawn = _SHAPES[shape](*map(int, numbers))
        area = area | drawn if operator == "+" else area & (drawn if operator == "&" else ~drawn)
    return _trimmed(area.astype(np.uint8) * 255)[2]


def _disc(x: int, y: int, radius: int) -> _Area:
    return (_X - x * _STEP) ** 2 + (_Y - y * _STEP) ** 2 <= (radius * _STEP) ** 2


def _ring(x: int, y: int, radius: int, thickness: int) -> _Area:
    return _disc(x, y, radius) & ~_disc(x, y, radius - thickness)


def _box(left: int, top: int, right: int, bottom: int) -> _Area:
    return _between(_X, left, right) & _between(_Y, top, bottom)


def _between(values: npt.NDArray[np.int64], low: int, high: int) -> _Area:
    return (values >= low * _STEP) & (values < high * _STEP)


def _frame(left: int, top: int, right: int, bottom: int, thickness: int) -> _Area:
    inner = _box(left + thickness, top + thickness, right - thickness, bottom - thickness)
    return _box(left, top, right, bottom) & ~inner


def _line(thickness: int, *numbers: int) -> _Area:
    """Return a line with round ends and joints; `thickness` must be even."""
    radius = thickness // 2
    area = _disc(numbers[0], numbers[1], radius)
    for (x1, y1), (x2, y2) in pairwise(_points(numbers)):
        dx, dy = (x2 - x1) * _STEP, (y2 - y1) * _STEP
        across, down = _X - x1 * _STEP, _Y - y1 * _STEP
        length = dx * dx + dy * dy
        along = across * dx + down * dy
        near = (across * dy - down * dx) ** 2 <= (radius * _STEP) ** 2 * length
        area |= ((along >= 0) & (along <= length) & near) | _disc(x2, y2, radius)
    return area


def _polygon(*numbers: int) -> _Area:
    points = _points(numbers)
    area = np.zeros((_UNITS * _SAMPLES, _UNITS * _SAMPLES), np.bool_)
    for start, end in zip(points, (*points[1:], points[0]), strict=True):
        (x1, y1), (x2, y2) = sorted((start, end), key=lambda point: point[1])
        left_of = (_X - x1 * _STEP) * (y2 - y1) < (_Y - y1 * _STEP) * (x2 - x1)
        area ^= _between(_Y, y1, y2) & left_of
    return area


def _points(numbers: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(numbers[::2], numbers[1::2], strict=True))


_SHAPES: Mapping[str, Callable[..., _Area]] = {
    "disc": _disc,  # x, y, radius
    "ring": _ring,  # x, y, radius, thickness
    "box": _box,  # left, top, right, bottom
    "frame": _frame,  # left, top, right, bottom, thickness
    "line": _line,  # thickness, x, y, x, y, …
    "polygon": _polygon,  # x, y, x, y, …
}
_ROWS = """
magnifier: ring 40 40 32 10 + line 14 64 64 86 86 : search, find, look, zoom
gear: line 18 48 6 48 90 + line 18 6 48 90 48 + line 18 18 18 78 78 + line 18 78 18 18 78
      + disc 48 48 33 - disc 48 48 14 : setting, option, preference, configur, setup
house: polygon 48 6 92 48 80 48 80 90 16 90 16 48 4 48 - box 40 58 56 90
      : home, start page, address
heart: disc 27 32 23 + disc 69 32 23 + polygon 9 46 48 26 87 46 48 90 : favo, like, wish, love
star: polygon 48 4 61 34 94 37 69 58 77 91 48 74 19 91 27 58 2 37 35 34 : favo, rat, review
bell: disc 48 36 24 + box 24 36 72 62 + polygon 24 60 72 60 86 76 10 76 + disc 48 82 9
      + disc 48 11 6 : notif, alert, remind, alarm
envelope: frame 6 18 90 78 7 + line 8 10 23 48 54 86 23 : mail, message, inbox, contact, letter
trash can: polygon 20 30 76 30 70 92 26 92 - box 35 40 41 82 - box 45 40 51 82 - box 55 40 61 82
      + box 12 16 84 25 + frame 36 6 60 20 6 : delete, remove, clear, discard, bin
plus: box 40 8 56 88 + box 8 40 88 56 : add, new, create, zoom, insert
cross: line 16 16 16 80 80 + line 16 80 16 16 80 : close, cancel, dismiss, clear, stop
check mark: line 16 12 50 38 76 84 22 : ok, done, confirm, apply, accept, agree, finish
left arrow: polygon 8 48 48 10 48 32 88 32 88 64 48 64 48 86 : back, previous, undo, return
right arrow: polygon 88 48 48 86 48 64 8 64 8 32 48 32 48 10
      : next, forward, continue, redo, proceed
up arrow: polygon 48 8 86 48 64 48 64 88 32 88 32 48 10 48 : upload, top, up
down arrow: polygon 48 88 10 48 32 48 32 8 64 8 64 48 86 48 : download, down, more, export
padlock: ring 48 32 25 9 & box 0 0 96 32 + box 23 32 32 44 + box 64 32 73 44 + box 14 42 82 92
      - disc 48 62 7 - box 45 62 51 78 : lock, password, secur, privacy, private
person: disc 48 94 40 & box 0 54 96 90 + disc 48 28 21
      : profile, account, user, person, customer, team, sign in, log in
camera: box 6 26 90 82 + polygon 32 26 38 14 58 14 64 26 - disc 48 54 21 + disc 48 54 13
      : photo, picture, capture, image
clock: ring 48 48 42 9 + line 8 48 24 48 50 66 58 : time, history, recent, later, hour
calendar: frame 8 16 88 88 7 + box 8 16 88 38 + box 24 6 33 20 + box 63 6 72 20
      + box 24 48 35 58 + box 24 65 35 75 + box 42 48 53 58 + box 42 65 53 75
      + box 60 48 71 58 + box 60 65 71 75 : date, event, schedule, day, month, week
folder: polygon 6 18 38 18 48 30 90 30 90 82 6 82 : file, open, browse, director
document: polygon 18 6 56 6 80 30 80 90 18 90 - box 30 44 68 50 - box 30 58 68 64
      - box 30 72 68 78 - line 4 55 8 55 31 78 31 : file, paper, page, report, note, terms
play: polygon 20 6 88 48 20 90 : play, run, start, video
pause: box 20 10 40 86 + box 56 10 76 86 : pause, hold
speaker: ring 44 48 24 7 + ring 44 48 42 7 & polygon 48 44 96 8 96 88 48 52
      + polygon 6 34 24 34 48 12 48 84 24 62 6 62 : sound, volume, audio, mute, music
cloud: disc 26 58 20 + disc 50 42 26 + disc 74 60 18 + box 26 56 74 78
      : sync, weather, upload, backup
flag: box 16 6 25 92 + polygon 25 10 84 10 70 31 84 52 25 52 : report, language, country, mark
bookmark: polygon 22 6 74 6 74 92 48 68 22 92 : save, read later, mark
pencil: polygon 66 10 86 30 34 82 14 62 - line 4 57 19 77 39 + polygon 12 66 30 84 6 90
      : edit, rename, write, draft, change
menu: box 8 16 88 28 + box 8 42 88 54 + box 8 68 88 80 : menu, more, navigation
sun: line 8 48 6 48 90 + line 8 6 48 90 48 + line 8 19 19 77 77 + line 8 77 19 19 77
      - disc 48 48 28 + disc 48 48 20 : bright, light, theme, weather, day
moon: disc 46 48 40 - disc 66 36 36 : dark, night, theme, sleep
shopping cart: polygon 22 26 90 26 80 60 30 60 + line 8 6 12 18 12 32 68 78 68
      + disc 38 82 9 + disc 72 82 9 : cart, basket, buy, shop, checkout, order
bar chart: box 12 52 30 88 + box 39 10 57 88 + box 66 32 84 88
      : chart, statistic, analy, report, dashboard
map pin: disc 48 36 30 + polygon 20 46 76 46 48 92 - disc 48 36 12
      : location, map, place, store, direction, city
globe: ring 8 48 56 6 + ring 88 48 56 6 + box 45 6 51 90 + box 6 45 90 51 & disc 48 48 42
      + ring 48 48 42 7 : language, web, world, region, internet, country
"""


def _parse_icons(rows: str) -> dict[str, Pictogram]:
    icons = {}
    for row in re.sub(r"\n +", " ", rows.strip()).splitlines():
        name, shapes, meanings = (part.strip() for part in row.split(":"))
        icons[name] = Pictogram(shapes, tuple(meanings.split(", ")))
    return icons


PICTOGRAMS = _parse_icons(_ROWS)
