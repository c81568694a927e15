"""Pieces of text with their places, put together to what a person would read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uiproof.boxes import PixelBox

if TYPE_CHECKING:
    from uiproof.browser.snapshots import Snapshot

_LONGEST = 8  # words that are taken together when spaces are compared
_CUT_TEXT = 500  # characters at which snapshots cut an element's own text
_TEXT_ONLY = frozenset(
    ("a", "abbr", "b", "br", "code", "em", "i", "kbd", "mark", "s", "small", "span", "strong")
)


@dataclass(frozen=True, slots=True)
class Words:
    """Some text and where it is."""

    text: str
    box: PixelBox


def written_inside(snapshot: Snapshot, box: PixelBox | None) -> list[Words]:
    """What the elements of a page say inside a box; None stands for the whole page.

    An element says what is in it where only pieces of a sentence are (`<p>some <b>bold</b> text`),
    and otherwise its own text. It is inside where half of its height is, and half of its width or
    of that of the box: a heading is as wide as its column, whatever it says.
    """
    with_children = {element.parent for element in snapshot.elements}
    mixed: set[int | None] = set()  # elements in which there is more than text
    for element in reversed(snapshot.elements):  # what is in an element comes after it
        if element.tag not in _TEXT_ONLY or element.ref in mixed:
            mixed.add(element.parent)

    said: list[Words] = []
    covered: set[int] = set()
    for element in snapshot.elements:  # in document order: parents come before what is in them
        if element.parent in covered:
            covered.add(element.ref)
            continue
        text = element.label if len(element.text) >= _CUT_TEXT else element.text
        if text and element.ref in with_children and element.ref not in mixed:
            text = element.label or text
            covered.add(element.ref)
        if text.strip() and (box is None or _mostly_in(box, element.box)):
            said.append(Words(" ".join(text.split()), element.box))
    return said


def published_text(words: Iterable[Words]) -> str:
    """One text of all lines in reading order, as the published evaluator puts it together."""
    return "".join(f" {one.text}" for one in words)


def reading_text(words: Sequence[Words]) -> str:
    """One text of all lines, block by block instead of row by row.

    Lines that stand below each other at the same left edge or centre are one block, so that
    columns side by side are not mixed.
    """
    blocks: list[list[Words]] = []
    for one in sorted(words, key=lambda one: (one.box.top, one.box.left)):
        home = next((block for block in blocks if _continues(block[-1].box, one.box)), None)
        if home is None:
            blocks.append([one])
        else:
            home.append(one)
    rows = sorted(blocks, key=lambda block: _reading_order(block[0].box))
    return " ".join(one.text for block in rows for one in block)


def respaced(read: str, written: str) -> str:
    """A text that was read, with its words parted as in a text that was written.

    OCR loses and finds spaces. Where a stretch of letters is the same in both, the spaces of the
    written one are right.
    """
    known: dict[str, str] = {}
    parts = written.split()
    for start in range(len(parts)):
        for end in range(start + 1, min(start + _LONGEST, len(parts)) + 1):
            known.setdefault("".join(parts[start:end]), " ".join(parts[start:end]))
    tokens, spaced, at = read.split(), [], 0
    while at < len(tokens):
        for end in range(min(at + _LONGEST, len(tokens)), at, -1):
            joined = "".join(tokens[at:end])
            if joined in known:
                spaced.append(known[joined])
                at = end
                break
        else:
            spaced.append(tokens[at])
            at += 1
    return " ".join(spaced)


def _mostly_in(outer: PixelBox, inner: PixelBox) -> bool:
    across = min(outer.right, inner.right) - max(outer.left, inner.left)
    down = min(outer.bottom, inner.bottom) - max(outer.top, inner.top)
    return 2 * across >= min(outer.width, inner.width) > 0 and 2 * down >= inner.height > 0


def _continues(above: PixelBox, below: PixelBox) -> bool:
    """Whether a line goes on in the one below: as high, close to it, and aligned with it."""
    size = min(above.height, below.height)
    if max(above.height, below.height) > 1.5 * size:
        return False
    gap = below.top - above.bottom
    aligned = abs(above.left - below.left) <= size or (
        abs((above.left + above.right) - (below.left + below.right)) <= size
    )
    return -0.5 * size <= gap <= 0.9 * size and aligned


def _reading_order(box: PixelBox) -> tuple[int, int]:
    # Things in one row are seldom at exactly the same height.
    return round((box.top + min(box.height, 40) / 2) / 12), box.left
