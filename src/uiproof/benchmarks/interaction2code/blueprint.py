"""The built-in method: the traced page, with the pixels of each effect behind its element.

Each element that is acted on is one of the right kind with the pixels of its mark; doing to it what
the interaction says shows the changed parts of the picture after. No model is asked: it is a
baseline for what pixels alone can score.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np

from uiproof.benchmarks.interaction2code.actions import named_in
from uiproof.benchmarks.interaction2code.cases import Demonstration
from uiproof.benchmarks.interaction2code.judging.text import Reader, read_inside
from uiproof.benchmarks.interaction2code.prompting import density, effect_of, trigger_of
from uiproof.benchmarks.tracing import place, trace
from uiproof.geometry import PixelBox
from uiproof.vision.difference import difference, parts
from uiproof.vision.images import Rgb, encode_png, read

if TYPE_CHECKING:
    from uiproof.vision.ocr import OcrLine

_GAP = 16  # CSS pixels; what is closer together is one piece
_SCRIPT = Path(__file__).with_name("blueprint.js")
_STYLE = """
[data-on] { position: absolute; z-index: 1; box-sizing: border-box; margin: 0; padding: 0;
  border: 0; outline: 0; appearance: none; color: transparent;
  caret-color: transparent; cursor: pointer; overflow: hidden; }
.effect { pointer-events: none; z-index: 2; left: 0; top: 0; }
.effect:not([hidden]) { display: block; }
.effect p { color: transparent; overflow: hidden; }
"""
# The opening and closing tag for the first category of elements that an interaction has.
_ELEMENTS: Mapping[str, tuple[str, str]] = {
    "button": ('button type="button"', "</button>"),
    "link": ('a href="#"', "</a>"),
    "select": ("select", "</select>"),
    "textarea": ("textarea", "</textarea>"),
    "input": ('input type="checkbox"', ""),
    "option": ('div role="option" tabindex="0"', "</div>"),
    "progress": ('div role="slider" tabindex="0"', "</div>"),
    "image": ('div role="img" tabindex="0"', "</div>"),
    "dialog": ('div role="dialog" tabindex="0"', "</div>"),
    "table": ('div role="table" tabindex="0"', "</div>"),
    "label": ("label", "</label>"),
    "summary": ("summary", "</summary>"),
    "detail": ("summary", "</summary>"),
    "output": ("output", "</output>"),
    "span": ('span tabindex="0"', "</span>"),
    "text": ('p tabindex="0"', "</p>"),
}
_ANYTHING = ('div tabindex="0"', "</div>")
_TEXT_FIELD = ('input type="text"', "")


@dataclass(frozen=True, slots=True)
class _Effect:
    """The changed parts of the picture after an interaction."""

    pieces: tuple[tuple[PixelBox, bytes], ...]  # boxes and PNGs
    texts: tuple[tuple[PixelBox, str], ...]
    height: int  # of the page


def blueprint(interactions: Sequence[Demonstration], reader: Reader) -> str:
    """Return a page that looks like the one before the first interaction and does all of them.

    The first one is `interact1`, and so on.
    """
    before = read(interactions[0].before)
    scale = density(before.shape[1])
    before = _reduced(before, scale)
    lines = reader.lines(before)
    added = []
    for number, interaction in enumerate(interactions, start=1):
        effect = _effect(before, _reduced(read(interaction.after), scale), reader)
        trigger = trigger_of(interaction) or effect_of(interaction)
        # Without a known trigger, act on the place of the effect.
        places = (
            _scaled(trigger, scale, before),
            *(_scaled(o, 1, before) for o, _ in effect.pieces),
        )
        box = next(filter(None, places), PixelBox(0, 0, before.shape[1], before.shape[0]))
        words = " ".join(word.text for word in read_inside(lines, box))
        label = words or named_in(interaction.sentence) or interaction.sentence
        added.append(_element_html(number, interaction, box, label, _data_uri(before, box)))
        added.append(_effect_html(number, effect))
    page = trace(before, lines, lambda box: _data_uri(before, box))
    added.append(f"<script>\n{_SCRIPT.read_text(encoding='utf-8')}</script>")
    page = page.replace("</style>", f"{_STYLE}</style>", 1)
    page = page.replace("<body>", f'<body style="height: {before.shape[0]}px">', 1)
    return page.replace("</body>", "\n".join((*added, "</body>")), 1)


def _effect(before: Rgb, after: Rgb, reader: Reader) -> _Effect:
    boxes = _changed(before, after)
    pieces = tuple((box, encode_png(_cut(after, box))) for box in boxes)
    lines: Sequence[OcrLine] = reader.lines_after(before, after) if boxes else ()
    texts = {word.box: word.text for box in boxes for word in read_inside(lines, box)}
    return _Effect(pieces, tuple(texts.items()), after.shape[0])


def _changed(before: Rgb, after: Rgb) -> tuple[PixelBox, ...]:
    """Return the parts of a picture that make another one the same when laid over it."""
    if before.shape == after.shape:
        return parts(difference(before, after), gap=_GAP)
    height, width = after.shape[:2]
    if before.shape[1] != width:
        return (PixelBox(0, 0, width, height),)
    # Everything below the place where a page grew has moved.
    common = min(height, before.shape[0])
    rows = np.flatnonzero(np.any(before[:common] != after[:common], axis=(1, 2)))
    top = int(rows[0]) if rows.size else common
    return (PixelBox(0, top, width, height),) if top < height else ()


def _element_html(
    number: int, interaction: Demonstration, box: PixelBox, label: str, picture: str
) -> str:
    action = interaction.action
    opening, closing = _tags_of(interaction)
    inside = ""
    if opening == "select":
        choices = ("", action.value or "other")
        inside = "".join(f"<option>{escape(choice)}</option>" for choice in choices)
    return (
        f'<{opening} id="interact{number}" data-on="{action.kind}" data-effect="effect{number}"'
        f' aria-label="{escape(label)}"'
        f' style="{place(box)}; background: url({picture})">{inside}{closing}'
    )


def _tags_of(interaction: Demonstration) -> tuple[str, str]:
    kind, tags = interaction.action.kind, interaction.tags
    if kind == "select":
        return _ELEMENTS["select"]
    if kind == "type" or (kind == "key" and "input" in tags):
        return _ELEMENTS["textarea"] if "textarea" in tags else _TEXT_FIELD
    return next((_ELEMENTS[tag] for tag in tags if tag in _ELEMENTS), _ANYTHING)


def _effect_html(number: int, effect: _Effect) -> str:
    pieces = [
        f'<img alt="" src="{_png_uri(png)}" style="{place(box)}">' for box, png in effect.pieces
    ]
    texts = [
        f'<p style="{place(box)}; font-size: {0.8 * box.height:.0f}px">{escape(text)}</p>'
        for box, text in effect.texts
    ]
    inside = "\n".join((*pieces, *texts))
    return (
        f'<div class="effect" id="effect{number}" data-height="{effect.height}" hidden>\n'
        f"{inside}\n</div>"
    )


def _data_uri(rgb: Rgb, box: PixelBox) -> str:
    return _png_uri(encode_png(_cut(rgb, box)))


def _png_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _cut(rgb: Rgb, box: PixelBox) -> Rgb:
    return rgb[box.top : box.bottom, box.left : box.right]


def _reduced(rgb: Rgb, scale: int) -> Rgb:
    if scale == 1:
        return rgb
    size = rgb.shape[1] // scale, rgb.shape[0] // scale
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def _scaled(box: PixelBox | None, scale: int, picture: Rgb) -> PixelBox | None:
    """Return a box in CSS pixels, cut at the picture's borders; None where nothing is left."""
    if box is None:
        return None
    edges = (box.left, box.top, box.right, box.bottom)
    small = PixelBox(*(round(edge / scale) for edge in edges))
    return small.intersection(PixelBox(0, 0, picture.shape[1], picture.shape[0]))
