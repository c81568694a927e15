"""An annotated picture of two pages: numbered marks with their meaning, small enough for a chat."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.design2code.blocks import PixelRect

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

    from uiproof.benchmarks.design2code.page_diff import Difference, PageDiff

LARGEST_SIDE = 1568  # pixels; what chat models look at without scaling it down
_MOST_MARKS = 12
_GAP = 16  # pixels between and around the pages
_AROUND = 48  # CSS pixels that are shown above and below a difference
_TALLEST = 480  # CSS pixels of one difference that are shown
_LINE = 19  # pixels of a line of text
_GROUND, _TEXT, _QUIET, _LINES = "#f7f7f5", "#1b1d21", "#565b63", "#c9c9c4"
_COLOURS = {
    **dict.fromkeys(("missing", "extra"), "#c2188b"),
    **dict.fromkeys(("text", "font"), "#b3261e"),
    **dict.fromkeys(("colour", "background", "picture"), "#8a4b00"),
    **dict.fromkeys(("moved", "resized", "spacing", "order"), "#1f55c4"),
}
_OTHER = "#0d6b5a"

Band = tuple[float, float]  # from and to, in CSS pixels


def annotated_picture(found: PageDiff, *, largest: int = LARGEST_SIDE) -> bytes:
    """Return both pages beside each other as PNG, the worst differences marked and explained.

    Parts of long pages without differences are cut out; no side is longer than `largest`.
    """
    from PIL import Image, ImageDraw

    pages = [
        Image.open(io.BytesIO(png)).convert("RGB")
        for png in (found.reference_picture, found.generated_picture)
    ]
    sizes = (found.reference_size, found.generated_size)
    widest = max(width for width, _ in sizes)
    scale = min((largest - 3 * _GAP) / (2 * widest), 1.0)
    pane = round(widest * scale)
    width = 2 * pane + 3 * _GAP
    text, bold = _font(14), _font(15)
    shown = list(found.differences[:_MOST_MARKS])
    lines = [_wrapped(text, one.says, width - 4 * _GAP) for one in shown]
    while shown and sum(map(len, lines)) * _LINE > largest // 3:
        shown.pop()
        lines.pop()
    rest = len(found.differences) - len(shown)
    notes = [f"{rest} more, which are smaller"] if rest else []
    notes += [] if found.differences else ["No differences"]
    legend = (sum(map(len, lines)) + len(notes)) * _LINE + 2 * _GAP
    head = _GAP + _LINE + 4
    room = largest - legend - head
    bands = _bands(shown, max(height for _, height in sizes), room / scale, _GAP / scale)
    cuts = 0 if len(bands) < 2 else (len(bands) - 1) * _GAP
    height = head + round(sum(to - start for start, to in bands) * scale) + cuts + legend
    sheet = Image.new("RGB", (width, min(height, largest)), _GROUND)
    drawing = ImageDraw.Draw(sheet)
    for side, label in enumerate(("Reference", "Generated")):
        left = _GAP + side * (pane + _GAP)
        drawing.text((left, _GAP - 4), label, font=bold, fill=_TEXT)
        top = float(head)
        for band in bands:
            _paste(sheet, pages[side], sizes[side], band, (left, round(top)), scale)
            for number, one in reversed(list(enumerate(shown, 1))):
                box = one.reference_box if side == 0 else one.box
                if box is not None:
                    beside = _beside(shown[: number - 1], box, side)
                    _mark(drawing, box, band, (left, top), scale, number, one.kind, pane, beside)
            top += (band[1] - band[0]) * scale + _GAP
    top = height - legend + _GAP
    for number, (one, wrapped) in enumerate(zip(shown, lines, strict=True), 1):
        _badge(drawing, (_GAP + 9, top + 9), number, one.kind)
        for line in wrapped:
            drawing.text((_GAP + 28, top), line, font=text, fill=_TEXT)
            top += _LINE
    for note in notes:
        drawing.text((_GAP + 28, top), note, font=text, fill=_QUIET)
        top += _LINE
    out = io.BytesIO()
    sheet.save(out, "PNG", optimize=True)
    return out.getvalue()


def _bands(shown: Sequence[Difference], tallest: int, room: float, gap: float) -> list[Band]:
    """Return the parts of the pages that are shown: all, or those around the worst differences."""
    if tallest <= room:
        return [(0.0, float(tallest))]
    chosen: list[Band] = []
    for one in shown:
        boxes = [box for box in (one.reference_box, one.box) if box is not None]
        wanted = [(max(y - _AROUND, 0.0), y + min(h, _TALLEST) + _AROUND) for _, y, _, h in boxes]
        joined = _joined([*chosen, *((a, min(b, float(tallest))) for a, b in wanted)])
        if not chosen or _height(joined, gap) <= room:
            chosen = joined
    if not chosen:
        return [(0.0, room)]
    # Room that is left goes to the top of the page, which says what page it is.
    left = room - gap - _height(chosen, gap)
    if left > _AROUND:
        chosen = _joined([*chosen, (0.0, min(left, chosen[0][0]))])
    start, to = chosen[0]
    return [(start, min(to, start + room)), *chosen[1:]] if len(chosen) == 1 else chosen


def _height(bands: Sequence[Band], gap: float) -> float:
    return sum(to - start for start, to in bands) + gap * (len(bands) - 1)


def _joined(bands: Sequence[Band]) -> list[Band]:
    found: list[Band] = []
    for start, to in sorted(band for band in bands if band[1] > band[0]):
        if found and start <= found[-1][1] + _GAP:
            found[-1] = found[-1][0], max(found[-1][1], to)
        else:
            found.append((start, to))
    return found


def _paste(
    sheet: Image,
    page: Image,
    size: tuple[int, int],
    band: Band,
    place: tuple[int, int],
    scale: float,
) -> None:
    from PIL import Image

    density = page.width / max(size[0], 1)  # device pixels for each CSS pixel
    start, to = band[0] * density, min(band[1] * density, page.height)
    if to - start < 1:
        return
    part = page.crop((0, round(start), page.width, round(to)))
    shown = (
        max(round(size[0] * scale), 1),
        max(round((to - start) / density * scale), 1),
    )
    sheet.paste(part.resize(shown, Image.Resampling.LANCZOS, reducing_gap=3), place)


def _mark(
    drawing: ImageDraw,
    box: PixelRect,
    band: Band,
    place: tuple[int, float],
    scale: float,
    number: int,
    kind: str,
    pane: int,
    beside: int,
) -> None:
    x, y, w, h = box
    top, bottom = max(y, band[0]), min(y + h, band[1])
    if bottom < top or not band[0] <= y + h or y > band[1]:
        return
    left = min(max(place[0] + x * scale, place[0]), place[0] + pane - 2)
    right = min(max(place[0] + (x + w) * scale, left + 2), place[0] + pane)
    upper = place[1] + (top - band[0]) * scale
    lower = max(place[1] + (bottom - band[0]) * scale, upper + 2)
    colour = _COLOURS.get(kind, _OTHER)
    drawing.rectangle((left, upper, right, lower), outline=colour, width=2)
    if y >= band[0]:
        _badge(drawing, (left + 20 * beside, upper), number, kind)


def _beside(others: Sequence[Difference], box: PixelRect, side: int) -> int:
    """Return how many others begin where a box does, whose numbers would be hidden by its own."""
    boxes = (one.reference_box if side == 0 else one.box for one in others)
    return sum(abs(at[0] - box[0]) < 24 and abs(at[1] - box[1]) < 24 for at in boxes if at)


def _badge(drawing: ImageDraw, centre: tuple[float, float], number: int, kind: str) -> None:
    x, y = max(centre[0], 9), max(centre[1], 9)
    drawing.ellipse((x - 9, y - 9, x + 9, y + 9), fill=_COLOURS.get(kind, _OTHER), outline="white")
    drawing.text((x, y), str(number), font=_font(12), fill="white", anchor="mm")


def _font(size: int) -> FreeTypeFont | Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _wrapped(font: Any, text: str, width: int) -> list[str]:
    # The font has the Latin alphabet only; the list that goes with a picture has the whole text.
    text = text.replace("×", "x")
    words = "".join(char if char < "\u0250" or char in "“”’…–" else "·" for char in text).split()
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and font.getlength(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
