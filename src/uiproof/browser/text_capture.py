"""Photographs of a page whose text was given known colours, to find text without OCR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uiproof.browser.page import LivePage

POOL = 4096  # colours that one pair of pictures can tell apart
SHIFT = 50  # what each channel moves by between the two pictures of a pair
MAX_PAIRS = 4  # pages with more than 4 x 4096 text elements lose the rest, and are flagged
FIRST_SPARE = MAX_PAIRS * POOL  # the numbers of spare colours follow those of all pools
SPARE_REDS = (30, 220)  # the red of spare colours in the first and in the second picture
SPARE_START, SPARE_STEP = 2, 16  # their green and blue, the same in both: 2, 18, ... 242


@dataclass(frozen=True, slots=True)
class TextNode:
    """A piece of text of the page, and the number of the colour that it was given."""

    text: str
    color_number: int | None  # None: it has no colour of its own and cannot be found
    listed_as: int | None = None  # which of the inventory's texts it is; None: it is not there


@dataclass(frozen=True, slots=True)
class TextPlace:
    """Where a text of the inventory is painted, and in which of the given colours.

    A text that is not a text node has no lines: the browser does not tell where they are.
    """

    color_number: int  # from `FIRST_SPARE` on it is a spare colour
    kind: Literal["node", "pseudo", "element"]
    font_size: float
    lines: tuple[tuple[float, float, float, float], ...]  # x, y, width, height in page pixels


@dataclass(frozen=True, slots=True)
class TextCapture:
    """Pairs of PNG pictures with known text colours; pair k holds colour numbers from k * POOL.

    Spare colours are in the first pair.
    """

    nodes: tuple[TextNode, ...]
    pairs: tuple[tuple[bytes, bytes], ...]
    places: tuple[TextPlace, ...] = ()  # one for each text of the inventory that was taken before


def capture_text(page: LivePage) -> TextCapture:
    """Recolour the text of a page twice and photograph it both times.

    The page keeps the last colours: take its ordinary screenshot and its inventory before.
    """
    found = page.run_listing("recolor", {"offset": 0, "group": 0, "list": True})
    nodes = tuple(
        TextNode(text, number if number >= 0 else None, listed_as if listed_as >= 0 else None)
        for text, number, listed_as in found["nodes"]
    )
    places = tuple(
        TextPlace(number, kind, size, tuple((x, y, w, h) for x, y, w, h in lines))
        for number, kind, size, lines in found["texts"]
    )
    if not places and not any(node.color_number is not None for node in nodes):
        return TextCapture(nodes, ())
    wanted = max(-(-found["coloured"] // POOL), 1)
    if wanted > MAX_PAIRS:
        page.flags.add("text_cut")
    pairs = []
    for group in range(min(wanted, MAX_PAIRS)):
        if group > 0:
            page.run_script("recolor", {"offset": 0, "group": group, "list": False})
        first = page.screenshot()
        page.run_script("recolor", {"offset": SHIFT, "group": group, "list": False})
        pairs.append((first, page.screenshot()))
    return TextCapture(nodes, tuple(pairs), places)
