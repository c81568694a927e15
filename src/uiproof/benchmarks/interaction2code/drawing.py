"""The interaction graph of a page as SVG: thumbnails of its states, and actions between them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from textwrap import wrap

from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.markup import Markup, tag

_WIDTH, _MOST_HEIGHT = 220, 300  # of a thumbnail; taller pages are cut at the bottom
NO_PICTURE_HEIGHT = _WIDTH * 9 // 16
_GAP, _ROW = 250, 28  # between columns, which holds the texts of edges; and between rows
_TRUNK = 20  # from a state to where its edges part
_MARGIN = 24
_LINE = 16  # height of a line of text
_STYLE = """
.ground { fill: #f7f8fa } .page { fill: none; stroke: #9aa4b2 }
.edge { fill: none; stroke: #4263eb; stroke-width: 1.5 } .head { fill: #4263eb }
text { font: 12px system-ui, sans-serif; fill: #1f2430 } .what { fill: #5b6472 }
.title { font-size: 15px; font-weight: 600 }
@media (prefers-color-scheme: dark) {
  .ground { fill: #15181e } text { fill: #e8eaee } .what { fill: #a3acba } .page { stroke: #596273 }
  .edge { stroke: #91a7ff } .head { fill: #91a7ff }
}
"""


# A node's picture: attributes of its image, none where it cannot be read, and its height.
Thumbnail = Callable[[str], tuple[Mapping[str, str | int], int]]


def draw_graph(graph: Graph) -> str:
    """Return a page's graph as an SVG file: its first state at the left, what follows to the right.

    The pictures are in the file itself. A state whose screenshot cannot be read is an empty box.
    """
    return graph_svg(graph, lambda node: _embedded(graph.screenshot(node)), style=_STYLE) + "\n"


def cut_height(size: tuple[int, int]) -> int:
    """Return how many rows of a screenshot of this size its thumbnail shows."""
    width, height = size
    return min(height, round(_MOST_HEIGHT * width / _WIDTH))


def thumbnail_height(size: tuple[int, int]) -> int:
    """Return how high the thumbnail of a screenshot of this size is drawn."""
    return max(round(cut_height(size) * _WIDTH / size[0]), 1)


def graph_svg(graph: Graph, thumbnail: Thumbnail, *, style: str = "", name: str = "head") -> Markup:
    """Return the same as an element, for pages with their own style and pictures.

    `name` is the id of its arrow heads.
    """
    columns = _columns(graph)
    heights = {node: 0 for column in columns for node in column}
    pictures = {}
    for node in heights:
        pictures[node], heights[node] = thumbnail(node)
    places: dict[str, tuple[float, float]] = {}
    bottom = 0.0
    for number, column in enumerate(columns):
        y = _MARGIN + 32.0
        for node in column:
            places[node] = (_MARGIN + number * (_WIDTH + _GAP), y)
            y += heights[node] + _ROW
        bottom = max(bottom, y)
    width = _MARGIN * 2 + len(columns) * _WIDTH + (len(columns) - 1) * _GAP
    shape = tag("path", class_="head", d="M0 0 8 4 0 8z")
    head: dict[str, str | float] = {"viewBox": "0 0 8 8", "refX": 7, "refY": 4}
    marker = tag("marker", shape, id=name, **head, markerWidth=7, markerHeight=7, orient="auto")
    title = f"{graph.page}: {len(graph.interactions)} interactions"
    parts = [
        tag("style", Markup(style)) if style else Markup(""),
        tag("defs", marker),
        tag("rect", class_="ground", width="100%", height="100%"),
        tag("text", title, class_="title", x=_MARGIN, y=_MARGIN + 8),
    ]
    for node, (x, y) in places.items():
        box = {"x": x, "y": y, "width": _WIDTH, "height": heights[node]}
        if pictures[node]:
            parts.append(tag("image", **box, **pictures[node], preserveAspectRatio="none"))
        parts.append(tag("rect", class_="page", rx=4, **box))
    parts += [_edge(one, places, heights, name) for one in graph.interactions]
    return tag(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        class_="graph",
        viewBox=f"0 0 {width} {bottom:.0f}",
        width=width,
        height=round(bottom),
        role="img",
        aria_label=f"Interaction graph of {graph.page}",
    )


def _columns(graph: Graph) -> list[list[str]]:
    """Return the nodes by how many interactions lead to them; each node once."""
    depths: dict[str, int] = {}
    for one in graph.interactions:
        depth = len(graph.way_to(one))
        depths.setdefault(one.source, depth)
        depths.setdefault(one.target, depth + 1)
    return [
        [node for node, its in depths.items() if its == depth]
        for depth in sorted(set(depths.values()))
    ]


def _edge(
    one: Interaction,
    places: Mapping[str, tuple[float, float]],
    heights: Mapping[str, int],
    head: str,
) -> Markup:
    (x0, y0), (x1, y1) = places[one.source], places[one.target]
    forward = x1 > x0
    if forward:
        # Edges leave a state on one line down the gap, so that none crosses a text.
        from_y, to_y = y0 + heights[one.source] / 2, y1 + heights[one.target] / 2
        curve = f"M{x0 + _WIDTH:.0f} {from_y:.0f}H{x1 - _GAP + _TRUNK:.0f}V{to_y:.0f}H{x1 - 2:.0f}"
    else:
        from_y = to_y = min(y0, y1)
        start, end = x0 + _WIDTH / 2, x1 + _WIDTH / 2
        arch = f"C{start:.0f} {y0 - 40:.0f} {end:.0f} {y1 - 40:.0f}"
        curve = f"M{start:.0f} {y0:.0f}{arch} {end:.0f} {y1:.0f}"
    lines = wrap(f"{one.id}. {one.sentence or one.action.kind}", 34)[:3]
    text_x = x1 - _GAP + _TRUNK + 8 if forward else x1
    text_y = to_y - 8 - _LINE * (len(lines) - 1)
    drawn = [tag("path", class_="edge", d=curve, marker_end=f"url(#{head})")]
    drawn += [
        tag("text", line, x=round(text_x), y=round(text_y + number * _LINE))
        for number, line in enumerate(lines)
    ]
    if one.visuals:
        looks = ", ".join(one.visuals)
        drawn.append(tag("text", looks, class_="what", x=round(text_x), y=round(to_y + _LINE)))
    return tag("g", *drawn, data_interaction=one.id)


def _embedded(path: Path) -> tuple[Mapping[str, str | int], int]:
    """Return a small picture as data, nothing where there is none, and its height."""
    from PIL import Image

    try:
        with Image.open(path) as picture:
            height = thumbnail_height(picture.size)
            part = picture.convert("RGB").crop((0, 0, picture.width, cut_height(picture.size)))
            size = 2 * _WIDTH, 2 * height  # sharp on screens with small pixels
            out = BytesIO()
            small = part.resize(size, Image.Resampling.LANCZOS)
            small.quantize(128).save(out, "PNG", optimize=True)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return {}, NO_PICTURE_HEIGHT
    return {"href": f"data:image/png;base64,{b64encode(out.getvalue()).decode()}"}, height
