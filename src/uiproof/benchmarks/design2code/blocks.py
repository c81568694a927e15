"""Text blocks: what Design2Code compares. Found in pictures of a page with recoloured text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uiproof.benchmarks.design2code.glyphs import Glyphs, SeenText
from uiproof.boxes import Box
from uiproof.vision.images import Rgb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uiproof.browser.text_capture import TextCapture


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A piece of text as it is seen on a page."""

    text: str  # stripped and lower case
    box: Box
    color: tuple[float, float, float]  # RGB, 0-255
    legibility: float = 1.0  # 0-1, how clearly it stands out; the paper does not ask


def find_blocks(
    capture: TextCapture, screenshot: Rgb, glyphs: Glyphs | None = None
) -> list[TextBlock]:
    """The text blocks of a page, one per piece of text that left pixels.

    A pixel belongs to colour number n if it shows pool colour n in the first picture and the same
    colour moved by `SHIFT` in the second. A block is the box around all pixels of its colour; its
    colour is the mean of those pixels in the ordinary screenshot (RGB), truncated.
    """
    regions = (glyphs or Glyphs.read(capture, screenshot)).regions
    return [
        TextBlock(node.text.strip().lower(), *regions[node.color_number])
        for node in capture.nodes
        if node.color_number in regions
    ]


def seen_blocks(capture: TextCapture, glyphs: Glyphs, texts: Sequence[SeenText]) -> list[TextBlock]:
    """The same blocks, but of what is seen only.

    A text of which a part is seen is cut to that part, and its block is around that part; a text
    that is seen as a whole makes the very block that `find_blocks` finds.
    """
    regions = glyphs.regions
    width, height = glyphs.screenshot.shape[1], glyphs.screenshot.shape[0]
    seen = {text.index: text for text in texts}
    blocks = []
    for node in capture.nodes:
        text = None if node.listed_as is None else seen.get(node.listed_as)
        if text is None or node.color_number not in regions:
            continue
        if text.is_whole:
            # A style may show something else than what is written: dots, or letters turned round.
            same = text.text.split() == node.text.split()
            shown = node.text if same else text.text
            blocks.append(TextBlock(shown.strip().lower(), *regions[node.color_number]))
        else:
            x, y, w, h = text.ink
            box = Box(x / width, y / height, w / width, h / height)
            blocks.append(TextBlock(text.text.lower(), box, text.color))
    return blocks


def blocks_as_json(blocks: Sequence[TextBlock]) -> list[dict[str, object]]:
    """Blocks as reports and journals keep them."""
    return [
        {
            "text": block.text,
            "box": [block.box.x, block.box.y, block.box.w, block.box.h],
            "color": [round(channel) for channel in block.color],
        }
        for block in blocks
    ]
