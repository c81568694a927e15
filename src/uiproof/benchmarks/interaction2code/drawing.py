"""The interaction graph of a page as SVG: thumbnails of its states, and actions between them."""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from html import escape
from io import BytesIO
from pathlib import Path
from textwrap import wrap

from uiproof.benchmarks.interaction2code.graph import Graph, Interaction

_WIDTH, _MOST_HEIGHT = 220, 300  # of a thumbnail; taller pages are cut at the bottom
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


def draw_graph(graph: Graph) -> str:
    """Return a page's graph as SVG: its first state at the left, what follows to the right of it.

    The pictures are in the file itself. A state whose screenshot cannot be read is an empty box.
    """
    columns = _columns(graph)
    heights = {node: 0 for column in columns for node in column}
    pictures = {}
    for node in heights:
        pictures[node], heights[node] = _thumbnail(graph.screenshot(node))
    places: dict[str, tuple[float, float]] = {}
    bottom = 0.0
    for number, column in enumerate(columns):
        y = _MARGIN + 32.0
        for node in column:
            places[node] = (_MARGIN + number * (_WIDTH + _GAP), y)
            y += heights[node] + _ROW
        bottom = max(bottom, y)
    width = _MARGIN * 2 + len(columns) * _WIDTH + (len(columns) - 1) * _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom:.0f}" '
        f'width="{width}" height="{bottom:.0f}" role="img" '
        f'aria-label="Interaction graph of {escape(graph.page, quote=True)}">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        '<rect class="ground" width="100%" height="100%"/>',
        f'<text class="title" x="{_MARGIN}" y="{_MARGIN + 8}">{escape(graph.page)}: '
        f"{len(graph.interactions)} interactions</text>",
    ]
    for node, (x, y) in places.items():
        height = heights[node]
        if pictures[node]:
            parts.append(
                f'<image x="{x}" y="{y}" width="{_WIDTH}" height="{height}" '
                f'href="data:image/png;base64,{pictures[node]}"/>'
            )
        parts.append(
            f'<rect class="page" x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="4"/>'
        )
    for one in graph.interactions:
        parts += _edge(one, places, heights)
    return "\n".join((*parts, "</svg>", ""))


def _columns(graph: Graph) -> list[list[str]]:
    """Return the nodes by how many interactions lead to them; each node once."""
    depths: dict[str, int] = {}
    for one in graph.interactions:
        depth = len(graph.way_to(one))
        depths.setdefault(one.source, depth)
        depths.setdefault(one.target, depth + 1)
    columns: dict[int, list[str]] = defaultdict(list)
    for node, depth in depths.items():
        columns[depth].append(node)
    return [columns[depth] for depth in sorted(columns)]


def _edge(
    one: Interaction, places: dict[str, tuple[float, float]], heights: dict[str, int]
) -> list[str]:
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
    drawn = [f'<path class="edge" d="{curve}" marker-end="url(#head)"/>']
    for number, line in enumerate(lines):
        drawn.append(
            f'<text x="{text_x:.0f}" y="{text_y + number * _LINE:.0f}">{escape(line)}</text>'
        )
    if one.visuals:
        looks = escape(", ".join(one.visuals))
        drawn.append(f'<text class="what" x="{text_x:.0f}" y="{to_y + _LINE:.0f}">{looks}</text>')
    return drawn


def _thumbnail(path: Path) -> tuple[str, int]:
    """Return a small picture as base64, empty where there is none, and its height."""
    from PIL import Image

    try:
        with Image.open(path) as picture:
            scale = 2 * _WIDTH / picture.width  # sharp on screens with small pixels
            seen = min(picture.height, round(2 * _MOST_HEIGHT / scale))
            part = picture.convert("RGB").crop((0, 0, picture.width, seen))
            size = 2 * _WIDTH, max(round(seen * scale), 2)
            out = BytesIO()
            small = part.resize(size, Image.Resampling.LANCZOS)
            small.quantize(128).save(out, "PNG", optimize=True)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return "", _WIDTH * 9 // 16
    return b64encode(out.getvalue()).decode(), size[1] // 2
