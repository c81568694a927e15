"""The built-in method: trace a screenshot into HTML without any model.

Text is read by OCR and set again where it was; areas of colour, borders, gradients and pictures
are found by their pixels. The result knows nothing of the page's structure: it is an honest
tracing, a floor that a model has to beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import floor

import numpy as np

from uiproof.benchmarks.design2code.cases import PLACEHOLDER
from uiproof.vision.images import Rgb
from uiproof.vision.lettering import Lettering, read_lettering
from uiproof.vision.ocr import OcrLine, read_lines
from uiproof.vision.shapes import Colour, Shape, find_shapes, page_colour


def blueprint(rgb: Rgb) -> str:
    """Trace a screenshot into an HTML page of the same size."""
    return trace(rgb, read_lines(rgb))


def trace(rgb: Rgb, lines: Sequence[OcrLine]) -> str:
    """Trace a screenshot whose text has been read already."""
    height, width = rgb.shape[:2]
    letterings = read_lettering(rgb, lines)
    shapes = find_shapes(rgb, [lettering.box for lettering in letterings])
    paragraphs = group_paragraphs(letterings)
    parts = [_shape_html(shape) for shape in shapes]
    parts += [_paragraph_html(paragraph) for paragraph in paragraphs]
    return _page_html(width, height, page_colour(rgb), parts)


def group_paragraphs(lines: Sequence[Lettering]) -> list[list[Lettering]]:
    """Join lines that are one wrapped text: set alike, evenly spaced, each one full."""
    paragraphs: list[list[Lettering]] = []
    for line in sorted(lines, key=lambda line: (line.baseline, line.box.left)):
        for paragraph in reversed(paragraphs):
            if _continues(paragraph, line):
                paragraph.append(line)
                break
        else:
            paragraphs.append([line])
    return [part for paragraph in paragraphs for part in _split_unwrapped(paragraph)]


def _continues(paragraph: Sequence[Lettering], line: Lettering) -> bool:
    last = paragraph[-1]
    pitch = line.baseline - last.baseline
    alike = (
        line.face == last.face
        and line.bold == last.bold
        and line.underlined == last.underlined
        and abs(line.size - last.size) <= 0.06 * last.size
        and _near(line.colour, last.colour)
    )
    if not alike or not 0.9 * last.size < pitch < 2.1 * last.size:
        return False
    if len(paragraph) > 1 and abs(pitch - _pitch(paragraph)) > 0.15 * last.size:
        return False
    return _same_left(last, line) or _same_middle(last, line)


def _same_left(a: Lettering, b: Lettering) -> bool:
    return abs(a.box.left - b.box.left) <= 0.25 * a.size


def _same_middle(a: Lettering, b: Lettering) -> bool:
    return abs(a.box.left + a.box.right - b.box.left - b.box.right) <= 0.4 * a.size


def _near(a: Colour, b: Colour) -> bool:
    return max(abs(x - y) for x, y in zip(a, b, strict=True)) <= 24


def _pitch(paragraph: Sequence[Lettering]) -> float:
    return (paragraph[-1].baseline - paragraph[0].baseline) / (len(paragraph) - 1)


def _split_unwrapped(paragraph: list[Lettering]) -> list[list[Lettering]]:
    """Part the entries of a list: somewhere the next line's first word would have fitted."""
    width = max(line.box.width for line in paragraph)
    for last, line in pairwise(paragraph):
        word = line.face.width(f" {line.text.split()[0]}", bold=line.bold) * line.size
        if last.box.width + word < width - 0.5 * line.size:
            return [[line] for line in paragraph]
    return [paragraph]


def _paragraph_html(paragraph: Sequence[Lettering]) -> str:
    first = paragraph[0]
    size = float(np.median([line.size for line in paragraph]))
    spacing = float(np.median([line.spacing for line in paragraph]))
    pitch = round(_pitch(paragraph), 2) if len(paragraph) > 1 else round(1.25 * size)
    left = min(line.box.left for line in paragraph) - first.face.bearing / 1000 * size
    right = max(line.box.right for line in paragraph) + first.face.bearing / 1000 * size
    # Browsers round both, and round down what they add above the letters.
    ascent, descent = (
        round(part * size / 1000) for part in (first.face.ascent, first.face.descent)
    )
    top = first.baseline - ascent - floor((pitch - ascent - descent) / 2)
    style = {
        "left": f"{round(left)}px",
        "top": f"{round(top)}px",
        "width": f"{round(right - left)}px",
        "font": f"{'bold ' if first.bold else ''}{size:g}px/{pitch:g}px {first.face.css}",
        "color": _css(first.colour),
    }
    if first.underlined:
        style["text-decoration"] = "underline"
    if spacing:
        style["letter-spacing"] = f"{spacing:g}px"
    if len(paragraph) > 1 and not all(_same_left(first, line) for line in paragraph):
        style["text-align"] = "center"
    text = "<br>\n".join(escape(line.text) for line in paragraph)
    return f"<p {_style(style)}>{text}</p>"


def _shape_html(shape: Shape) -> str:
    box = shape.box
    style = {
        "left": f"{box.left}px",
        "top": f"{box.top}px",
        "width": f"{box.width}px",
        "height": f"{box.height}px",
    }
    if shape.kind == "border":
        style["border"] = f"{shape.thickness}px solid {_css(shape.colour)}"
    elif shape.kind == "gradient":
        ends = f"{_css(shape.colour)}, {_css(shape.end)}"
        style["background"] = f"linear-gradient({shape.angle}deg, {ends})"
    else:
        style["background"] = _css(shape.colour)
    if shape.radius:
        style["border-radius"] = f"{shape.radius}px"
    if shape.kind == "picture":
        return f'<img src="{PLACEHOLDER}" alt="" {_style(style)}>'
    return f"<div {_style(style)}></div>"


def _style(properties: dict[str, str]) -> str:
    # Families are quoted inside the attribute.
    declarations = "; ".join(f"{name}: {value}" for name, value in properties.items())
    return f'style="{escape(declarations, quote=False).replace(chr(34), chr(39))}"'


def _css(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _page_html(width: int, height: int, background: Colour, parts: Sequence[str]) -> str:
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
