"""Draw user interfaces with Pillow: controls as sprites that are pasted onto a picture.

Letters come from a sheet that ships with the package (`fonts/`) and icons are defined below, so
the pixels are the same on every machine with the same Pillow, whatever fonts it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw

_FONTS = Path(__file__).parents[2] / "fonts"
_DETAIL = 8  # samples per pixel and axis at rounded corners

Colour = str  # such as `#2196f3`
Mask = Image.Image  # of mode L: how much of each pixel is covered


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
        max(layer.x + layer.mask.width for layer in given) - left,
        max(layer.y + layer.mask.height for layer in given) - top,
        tuple(Layer(one.x - left, one.y - top, one.mask, one.colour) for one in given),
    )


def paint(picture: Image.Image, drawn: Sprite, x: int, y: int) -> None:
    """Blend a sprite into a picture with its top left corner at `x`, `y`."""
    for layer in drawn.layers:
        picture.paste(layer.colour, (x + layer.x, y + layer.y), layer.mask)


def png(picture: Image.Image) -> bytes:
    """Encode a picture; the compression level is fixed for the sake of equal bytes."""
    file = BytesIO()
    picture.save(file, "PNG", compress_level=6)
    return file.getvalue()


# --- controls


def text_width(text: str, size: int) -> int:
    """Return how many pixels the ink of a text is wide."""
    return lettering(text, size).mask.width


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
    underline = Image.new("L", (line.mask.width, max(1, size // 14)), 255)
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
    box = panel(width, height, fill, max(2, size // 3), border)
    x = (width - text_width(content, size)) // 2
    return sprite([*box.layers, text_layer(content, size, x, height, ink)])


def text_field(
    content: str, size: int, width: int, height: int, *, fill: Colour, ink: Colour, border: Colour
) -> Sprite:
    """Draw a bordered box with a text at its left."""
    box = _bordered(width, height, fill, border, max(2, size // 5), max(1, size // 12))
    return sprite([*box, text_layer(content, size, field_padding(size), height, ink)])


def dropdown(
    content: str, size: int, width: int, height: int, *, fill: Colour, ink: Colour, border: Colour
) -> Sprite:
    """Draw a text field with a small triangle at its right."""
    field = text_field(content, size, width, height, fill=fill, ink=ink, border=border)
    half = max(3, size * 3 // 10)
    mask = Image.new("L", (2 * half, half))
    ImageDraw.Draw(mask).polygon(((0, 0), (2 * half - 1, 0), (half, half - 1)), fill=255)
    x = width - field_padding(size) - mask.width
    return sprite([*field.layers, Layer(x, (height - mask.height) // 2, mask, ink)])


def checkbox(
    content: str, size: int, *, ticked: bool, fill: Colour, ink: Colour, border: Colour
) -> Sprite:
    """Draw a square, ticked or not, with its label to the right."""
    side = size + max(1, size // 8)
    square = _bordered(side, side, fill, border, max(1, size // 6), max(1, size // 10))
    layers = [*square, text_layer(content, size, side + max(4, size // 2), side, ink)]
    if ticked:
        mark = pictogram("check mark", side * 5 // 8)
        layers.append(Layer((side - mark.width) // 2, (side - mark.height + 1) // 2, mark, ink))
    return sprite(layers)


def field_padding(size: int) -> int:
    """Return the distance of a field's text from its edge."""
    return max(4, size * 6 // 10)


def dropdown_extra(size: int) -> int:
    """Return the width of a dropdown's triangle with the gap before it."""
    return 2 * max(3, size * 3 // 10) + field_padding(size)


def text_layer(content: str, size: int, x: int, height: int, ink: Colour) -> Layer:
    """Return a text whose capital letters are centred in a box of this height."""
    line = lettering(content, size)
    return Layer(x, (height + cap_height(size)) // 2 - line.rise, line.mask, ink)


def _bordered(
    width: int, height: int, fill: Colour, border: Colour, radius: int, thickness: int
) -> list[Layer]:
    inner = rounded_box(width - 2 * thickness, height - 2 * thickness, max(radius - thickness, 0))
    outer = Layer(0, 0, rounded_box(width, height, radius), border)
    return [outer, Layer(thickness, thickness, inner, fill)]


# --- letters and boxes


@dataclass(frozen=True, slots=True)
class Lettering:
    """The ink of a line of text; its first row is `rise` pixels above the baseline."""

    mask: Mask
    rise: int


@lru_cache(maxsize=4096)
def lettering(text: str, size: int) -> Lettering:
    """Render a text; `size` is the height of a line without leading, in pixels."""
    sheet, em, baseline, letters = _sheet()
    # The baseline falls between two rows of pixels, so that letters stand on a sharp edge.
    lead = next(rows for rows in range(em) if (baseline + rows) * size % em == 0)
    glyphs = [letters.get(character, letters["?"]) for character in text]
    across = sum(glyph[3] for glyph in glyphs) + 2 * em
    line = Image.new("L", (across, sheet.height + lead + em))
    pen = em
    for left, width, bearing, advance in glyphs:
        glyph = sheet.crop((left, 0, left + width, sheet.height))
        line.paste(255, (pen + bearing, lead), glyph)
        pen += advance
    wide, high = across * size // em, line.height * size // em
    covered = (0, 0, wide * em / size, high * em / size)
    ink = _trimmed(line.resize((wide, high), Image.Resampling.BOX, covered))
    return Lettering(ink[1], (baseline + lead) * size // em - ink[0])


@cache
def cap_height(size: int) -> int:
    """Return how many pixels capital letters rise above the baseline."""
    return lettering("H", size).rise


@cache
def _sheet() -> tuple[Mask, int, int, dict[str, tuple[int, int, int, int]]]:
    measures = json.loads((_FONTS / "lettering.json").read_text("utf-8"))
    with Image.open(_FONTS / "lettering.png") as sheet:
        return sheet.convert("L"), measures["em"], measures["baseline"], measures["letters"]


def _trimmed(mask: Mask) -> tuple[int, Mask]:
    """Return the first covered row of a mask, and its covered part."""
    box = mask.getbbox() or (0, 0, 0, 0)
    return box[1], mask.crop(box)


def rounded_box(width: int, height: int, radius: int) -> Mask:
    """Return a filled box with round corners."""
    mask = Image.new("L", (width, height), 255)
    radius = min(radius, width // 2, height // 2)
    if radius > 0:
        disc = _disc(radius)
        for x, left in ((0, 0), (width - radius, radius)):
            for y, top in ((0, 0), (height - radius, radius)):
                mask.paste(disc.crop((left, top, left + radius, top + radius)), (x, y))
    return mask


@cache
def _disc(radius: int) -> Mask:
    side = 2 * radius * _DETAIL
    disc = Image.new("L", (side, side))
    ImageDraw.Draw(disc).ellipse((0, 0, side - 1, side - 1), fill=255)
    return disc.reduce(_DETAIL)


# --- icons

_UNITS, _SAMPLES = 96, 6  # the square that icons are drawn on, and samples per unit and axis


@dataclass(frozen=True, slots=True)
class Pictogram:
    """An icon: shapes that are added (+), cut out (-) or intersected (&) from left to right."""

    shapes: str
    meanings: tuple[str, ...]  # words that could ask for it without naming the shape


@lru_cache(maxsize=2048)
def pictogram(name: str, size: int) -> Mask:
    """Return the ink of an icon whose longer side is this many pixels."""
    large = _large(name)
    scale = size / max(large.size)
    width, height = (max(round(side * scale), 1) for side in large.size)
    return _trimmed(large.resize((width, height), Image.Resampling.BOX))[1]


@cache
def _large(name: str) -> Mask:
    area = Image.new("L", (_UNITS * _SAMPLES, _UNITS * _SAMPLES))
    parts = re.split(r"([-+&])", f"+{PICTOGRAMS[name].shapes}")[1:]
    for operator, part in zip(parts[::2], parts[1::2], strict=True):
        shape, *numbers = part.split()
        drawn = _shape(shape, [int(number) * _SAMPLES for number in numbers])
        combine = {"+": ImageChops.lighter, "-": ImageChops.subtract, "&": ImageChops.darker}
        area = combine[operator](area, drawn)
    return _trimmed(area)[1]


def _shape(name: str, numbers: list[int]) -> Mask:
    """Draw a disc or ring (x, y, radius, thickness), a box or frame (left, top, right, bottom,
    thickness), a line (thickness, x, y, x, y, …) or a polygon (x, y, x, y, …).
    """
    mask = Image.new("L", (_UNITS * _SAMPLES, _UNITS * _SAMPLES))
    draw = ImageDraw.Draw(mask)
    if name in ("disc", "ring"):
        x, y, radius, *thickness = numbers
        for r, ink in ((radius, 255), *((radius - one, 0) for one in thickness)):
            draw.ellipse((x - r, y - r, x + r - 1, y + r - 1), fill=ink)
    elif name in ("box", "frame"):
        left, top, right, bottom, *thickness = numbers
        for t, ink in ((0, 255), *((one, 0) for one in thickness)):
            draw.rectangle((left + t, top + t, right - t - 1, bottom - t - 1), fill=ink)
    elif name == "line":
        radius, points = numbers[0] // 2, list(zip(numbers[1::2], numbers[2::2], strict=True))
        draw.line(points, fill=255, width=numbers[0])
        for x, y in points:
            draw.ellipse((x - radius, y - radius, x + radius - 1, y + radius - 1), fill=255)
    else:
        draw.polygon(numbers, fill=255)
    return mask


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


def _parse_icons(rows: str) -> Mapping[str, Pictogram]:
    icons = {}
    for row in re.sub(r"\n +", " ", rows.strip()).splitlines():
        name, shapes, meanings = (part.strip() for part in row.split(":"))
        icons[name] = Pictogram(shapes, tuple(meanings.split(", ")))
    return icons


PICTOGRAMS = _parse_icons(_ROWS)
