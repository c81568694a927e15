"""Pages that are laid out a few pixels differently: the reference is moved to where they show it.

Other margins, line heights and letter spacings displace things piece by piece. What a person would
call the same page is compared pixel by pixel once every piece lies on its counterpart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.interaction2code.verifier import looks
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Element, Snapshot
from uiproof.vision.images import Rgb

_REACH = 24  # pixels: what is farther away than this is elsewhere
_FITS = 0.9
_MOST = 300
_BLOCK = 16  # pixels: the pieces that move as one
_LEAST_SIDE, _WIDEST, _HIGHEST = 8, 600, 200


@dataclass(frozen=True, slots=True)
class Anchor:
    """A piece of the generated page and how far from it the reference shows the same."""

    box: PixelBox
    dx: int
    dy: int


@dataclass(frozen=True, slots=True)
class Alignment:
    """Where the pieces of the reference are on the generated page, before and after."""

    before: tuple[Anchor, ...]
    after: tuple[Anchor, ...]

    def landed(self, box: PixelBox, *, after: bool) -> PixelBox:
        """Where something of the reference is on the moved picture."""
        anchors = self.after if after else self.before
        x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2

        def away(one: Anchor) -> float:
            across = max(one.box.left + one.dx - x, x - one.box.right - one.dx, 0)
            down = max(one.box.top + one.dy - y, y - one.box.bottom - one.dy, 0)
            return float(np.hypot(across, 2 * down))

        near = min(anchors, key=away)
        return PixelBox(
            max(box.left - near.dx, 0),
            max(box.top - near.dy, 0),
            max(box.right - near.dx, 0),
            max(box.bottom - near.dy, 0),
        )


def align(
    reference: tuple[Rgb, Rgb], generated: tuple[Rgb, Rgb], before: Snapshot, after: Snapshot
) -> Alignment | None:
    """Find the pieces of a generated page on the reference, if they are all near their places."""
    pieces = _pieces(before)
    first = _matched(reference[0], generated[0], pieces, (0, 0))
    if len(first) < max(3, len(pieces) // 3):
        return None
    usual = (
        round(median(one.dx for one in first.values())),
        round(median(one.dy for one in first.values())),
    )
    first = _matched(reference[0], generated[0], pieces, usual)
    old = {one.ref: one for one in before.elements}
    kept: dict[int, Anchor] = {}
    others: list[Element] = []
    for one in _pieces(after):
        was = old.get(one.ref)
        if was is not None and was.box == one.box and was.text == one.text and one.ref in first:
            kept[one.ref] = first[one.ref]
        else:
            others.append(one)
    kept |= _matched(reference[1], generated[1], others, usual)
    return Alignment(tuple(first.values()), tuple((kept or first).values()))


def moved(picture: Rgb, anchors: Sequence[Anchor]) -> Rgb:
    """A picture of the reference with every piece where the generated page has it."""
    height, width = picture.shape[:2]
    rows, columns = -(-height // _BLOCK), -(-width // _BLOCK)
    y = (np.arange(rows) * _BLOCK + _BLOCK / 2)[:, None]
    x = (np.arange(columns) * _BLOCK + _BLOCK / 2)[None, :]
    nearest = np.full((rows, columns), np.inf, np.float32)
    dx, dy = np.zeros((rows, columns), np.int32), np.zeros((rows, columns), np.int32)
    for one in anchors:
        across = np.maximum(np.maximum(one.box.left - x, x - one.box.right), 0)
        down = np.maximum(np.maximum(one.box.top - y, y - one.box.bottom), 0)
        away = np.hypot(across, 2 * down)  # a line moves as a whole
        closer = away < nearest
        nearest[closer] = away[closer]
        dx[closer], dy[closer] = one.dx, one.dy
    across = _spread(dx, width, height) + np.arange(width)[None, :]
    down = _spread(dy, width, height) + np.arange(height)[:, None]
    rows_of, columns_of = np.clip(down, 0, height - 1), np.clip(across, 0, width - 1)
    return np.asarray(picture[rows_of, columns_of], np.uint8)


def _spread(blocks: npt.NDArray[np.int32], width: int, height: int) -> npt.NDArray[np.int32]:
    return np.repeat(np.repeat(blocks, _BLOCK, axis=0), _BLOCK, axis=1)[:height, :width]


def _pieces(snapshot: Snapshot) -> list[Element]:
    """Elements with a text of their own, and those with nothing in them: pictures, fields, dots."""
    frames = {one.parent for one in snapshot.elements}
    return [
        one
        for one in snapshot.elements
        if (one.text.strip() or one.ref not in frames)
        and _LEAST_SIDE <= one.box.width <= _WIDEST
        and _LEAST_SIDE <= one.box.height <= _HIGHEST
    ][:_MOST]


def _matched(
    reference: Rgb, picture: Rgb, pieces: Iterable[Element], usual: tuple[int, int]
) -> dict[int, Anchor]:
    """The pieces that the reference shows near their places, and how far from them."""
    height, width = picture.shape[:2]
    found: dict[int, Anchor] = {}
    for one in pieces:
        box = looks.grown(one.box, 0, width, height)
        if min(box.width, box.height) < _LEAST_SIDE:
            continue
        place = looks.find(
            looks.crop(picture, box),
            reference,
            within=looks.grown(box, _REACH, width, height),
            near=(box.left + usual[0], box.top + usual[1]),
        )
        if place is not None and place.fit >= _FITS:
            found[one.ref] = Anchor(box, place.left - box.left, place.top - box.top)
    return found
