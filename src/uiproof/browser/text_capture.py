"""Photographs of a page whose text was given known colours, to find text without OCR."""

from __future__ import annotations

from dataclasses import dataclass

from uiproof.browser.page import LivePage

POOL = 4096  # colours that one pair of pictures can tell apart
SHIFT = 50  # what each channel moves by between the two pictures of a pair
MAX_PAIRS = 4  # pages with more than 4 x 4096 text elements lose the rest, and are flagged


@dataclass(frozen=True, slots=True)
class TextNode:
    """A piece of text of the page, and the number of the colour that it was given."""

    text: str
    color_number: int | None  # None: it has no colour of its own and cannot be found


@dataclass(frozen=True, slots=True)
class TextCapture:
    """Pairs of PNG pictures with known text colours; pair k holds colour numbers from k * POOL."""

    nodes: tuple[TextNode, ...]
    pairs: tuple[tuple[bytes, bytes], ...]


def capture_text(page: LivePage) -> TextCapture:
    """Recolour the text of a page twice and photograph it both times.

    The page keeps the last colours: take its ordinary screenshot before.
    """
    found = page.run_listing("recolor", {"offset": 0, "group": 0, "list": True})
    nodes = tuple(
        TextNode(text, number if number >= 0 else None) for text, number in found["nodes"]
    )
    if not any(node.color_number is not None for node in nodes):
        return TextCapture(nodes, ())
    wanted = -(-found["coloured"] // POOL)
    if wanted > MAX_PAIRS:
        page.flags.add("text_cut")
    pairs = []
    for group in range(min(wanted, MAX_PAIRS)):
        if group > 0:
            page.run_script("recolor", {"offset": 0, "group": group, "list": False})
        first = page.screenshot()
        page.run_script("recolor", {"offset": SHIFT, "group": group, "list": False})
        pairs.append((first, page.screenshot()))
    return TextCapture(nodes, tuple(pairs))
