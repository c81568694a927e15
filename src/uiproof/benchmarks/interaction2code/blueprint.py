"""The built-in method: the traced page, with the pixels of each effect behind its element.

The page before is traced as Design2Code's blueprint does it. Each element that is acted on is one
of the right kind with the pixels of its mark; doing to it what the interaction says shows what
changes, cut out of the picture after. No model is asked and nothing is understood: it says how far
pictures alone go.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np

from uiproof.benchmarks.design2code.blueprint import trace
from uiproof.benchmarks.design2code.cases import PLACEHOLDER
from uiproof.benchmarks.interaction2code.actions import named_in
from uiproof.benchmarks.interaction2code.asking.pictures import density, effect_of, trigger_of
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.benchmarks.interaction2code.judging.reading import Reader, read_inside
from uiproof.boxes import PixelBox
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
# What stands for a category of elements, the first that an interaction has: opening and closing.
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
_PICTURE = re.compile(
    rf'src="{re.escape(PLACEHOLDER)}" alt="" style="left: (-?\d+)px; top: (-?\d+)px; '
    r"width: (\d+)px; height: (\d+)px"
)


@dataclass(frozen=True, slots=True)
class _Effect:
    """What a page looks like after an interaction, as far as it has changed."""

    pieces: tuple[tuple[PixelBox, bytes], ...]  # where, and a PNG
    texts: tuple[tuple[PixelBox, str], ...]
    height: int  # of the page


def blueprint(graph: Graph, interactions: Sequence[Interaction], reader: Reader) -> str:
    """A page that looks like the page before the first interaction and does what all of them do.

    The first one is `interact1`, and so on.
    """
    before = read(graph.screenshot(interactions[0].source))
    scale = density(before.shape[1])
    before = _reduced(before, scale)
    lines = reader.lines(before)
    added = []
    for number, interaction in enumerate(interactions, start=1):
        after = _reduced(read(graph.screenshot(interaction.target)), scale)
        effect = _effect(before, after, reader)
        trigger = trigger_of(graph, interaction) or effect_of(graph, interaction)
        box = _scaled(trigger, scale, before) or _middle(effect, before)
        words = " ".join(word.text for word in read_inside(lines, box))
        label = words or named_in(interaction.sentence) or interaction.sentence
        looks = encode_png(_cut(before, box))
        added.append(_element_html(number, interaction, box, label, looks))
        added.append(_effect_html(number, effect))
    page = _PICTURE.sub(lambda found: _embedded(found, before), trace(before, lines))
    script = _SCRIPT.read_text(encoding="utf-8")
    added.append(f"<script>\n{script}</script>")
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
    """The parts of a picture that have to be laid over another one to make them the same."""
    if before.shape == after.shape:
        return parts(difference(before, after), gap=_GAP)
    height, width = after.shape[:2]
    if before.shape[1] != width:
        return (PixelBox(0, 0, width, height),)
    # Where a page grew, all that is below has moved.
    common = min(height, before.shape[0])
    rows = np.flatnonzero(np.any(before[:common] != after[:common], axis=(1, 2)))
    top = int(rows[0]) if rows.size else common
    return (PixelBox(0, top, width, height),) if top < height else ()


def _element_html(
    number: int, interaction: Interaction, box: PixelBox, label: str, looks: bytes
) -> str:
    action = interaction.action
    opening, closing = _kind_of_element(interaction)
    inside = ""
    if opening == "select":
        choices = ("", action.value or "other")
        inside = "".join(f"<option>{escape(choice)}</option>" for choice in choices)
    return (
        f'<{opening} id="interact{number}" data-on="{action.kind}" data-effect="effect{number}"'
        f' aria-label="{escape(label)}"'
        f' style="{_place(box)}; background: url({_data_uri(looks)})">{inside}{closing}'
    )


def _kind_of_element(interaction: Interaction) -> tuple[str, str]:
    kind, tags = interaction.action.kind, interaction.tags
    if kind == "select":
        return _ELEMENTS["select"]
    if kind == "type" or (kind == "key" and "input" in tags):
        return _ELEMENTS["textarea"] if "textarea" in tags else _TEXT_FIELD
    return next((_ELEMENTS[tag] for tag in tags if tag in _ELEMENTS), _ANYTHING)


def _effect_html(number: int, effect: _Effect) -> str:
    pieces = [
        f'<img alt="" src="{_data_uri(png)}" style="{_place(box)}">' for box, png in effect.pieces
    ]
    texts = [
        f'<p style="{_place(box)}; font-size: {0.8 * box.height:.0f}px">{escape(text)}</p>'
        for box, text in effect.texts
    ]
    inside = "\n".join((*pieces, *texts))
    return (
        f'<div class="effect" id="effect{number}" data-height="{effect.height}" hidden>\n'
        f"{inside}\n</div>"
    )


def _embedded(found: re.Match[str], picture: Rgb) -> str:
    """An image of the traced page with its own pixels in place of the usual placeholder."""
    left, top, width, height = map(int, found.groups())
    box = PixelBox(max(left, 0), max(top, 0), left + width, top + height)
    return found[0].replace(PLACEHOLDER, _data_uri(encode_png(_cut(picture, box))))


def _data_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _place(box: PixelBox) -> str:
    return f"left: {box.left}px; top: {box.top}px; width: {box.width}px; height: {box.height}px"


def _cut(rgb: Rgb, box: PixelBox) -> Rgb:
    return rgb[box.top : box.bottom, box.left : box.right]


def _middle(effect: _Effect, before: Rgb) -> PixelBox:
    """Where something is acted on of which only the effect is known."""
    height, width = before.shape[:2]
    shown = (_scaled(box, 1, before) for box, _ in effect.pieces)
    return next(filter(None, shown), PixelBox(0, 0, width, height))


def _reduced(rgb: Rgb, scale: int) -> Rgb:
    if scale == 1:
        return rgb
    size = rgb.shape[1] // scale, rgb.shape[0] // scale
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def _scaled(box: PixelBox | None, scale: int, picture: Rgb) -> PixelBox | None:
    """A box in CSS pixels, as far as it is on the picture."""
    if box is None:
        return None
    height, width = picture.shape[:2]
    left, right = (min(max(round(edge / scale), 0), width) for edge in (box.left, box.right))
    top, bottom = (min(max(round(edge / scale), 0), height) for edge in (box.top, box.bottom))
    return PixelBox(left, top, right, bottom) if left < right and top < bottom else None
