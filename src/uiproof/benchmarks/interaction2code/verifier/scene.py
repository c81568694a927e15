"""The four pictures of an interaction on one canvas: what changed, and what differs.

Other margins, line heights and letter spacings displace a page piece by piece. Such a page is
compared pixel by pixel once every piece of the reference is moved to its counterpart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import hypot
from statistics import median

import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier import pixels, text_compare
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    Mask,
    Outcome,
    ReferenceEvidence,
)
from uiproof.browser.snapshots import Element, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine


@dataclass(frozen=True, slots=True)
class Anchor:
    """A piece of the generated page, and the way from it to the same piece of the reference."""

    box: PixelBox
    dx: int
    dy: int


@dataclass(frozen=True, slots=True)
class Alignment:
    """The pieces of the reference on the generated page, before and after."""

    before: tuple[Anchor, ...]
    after: tuple[Anchor, ...]

    def landed(self, box: PixelBox, *, after: bool) -> PixelBox:
        """Return the place of something of the reference on the moved picture."""
        anchors = self.after if after else self.before
        near = min(
            anchors, key=lambda one: _away(pixels.shifted(one.box, (one.dx, one.dy)), box.centre)
        )
        left, top = box.left - near.dx, box.top - near.dy
        right, bottom = box.right - near.dx, box.bottom - near.dy
        return PixelBox(max(left, 0), max(top, 0), max(right, 0), max(bottom, 0))


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything visible of an interaction; all pictures and masks have one size."""

    reference_before: Rgb
    reference_after: Rgb
    before: Rgb  # of the generated page, as the next one
    after: Rgb
    reference_changed: Mask
    changed: Mask
    static: Mask  # where the pages differ before the act
    error: Mask  # where they differ afterwards, and did not before or have changed since
    trigger: PixelBox | None  # of the reference
    distance: float  # share of the drawn edges that differ before the act
    sharp: bool  # both sides draw letters alike, to the pixel
    snapshot: Snapshot  # before
    outcome: Outcome
    anchors: tuple[Anchor, ...] = ()  # texts of the generated page in the reference
    text_count: int = 0  # texts of the generated page that anchors were searched for
    read: Callable[[Rgb], Sequence[OcrLine]] | None = None
    alignment: Alignment | None = None  # of the reference's pictures, if they were moved

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height of the canvas."""
        return self.before.shape[1], self.before.shape[0]

    @property
    def area(self) -> int:
        """Return the number of pixels of the canvas."""
        return self.size[0] * self.size[1]

    @property
    def close(self) -> bool:
        """Return whether the pages look the same before: then small differences count."""
        return self.distance <= const.CLOSE

    @property
    def exact(self) -> bool:
        """Return whether the pages are compared to the pixel, without any alignment."""
        return self.close and self.sharp and self.alignment is None

    @property
    def alike(self) -> bool:
        """Return whether the pages look the same, or their texts do and only lie elsewhere."""
        return self.close or len(self.anchors) >= const.ALIKE_PAGE * max(self.text_count, 1)

    @property
    def begins_at_the_end(self) -> bool:
        """Return whether the page looks, before the act, as the reference does afterwards."""
        return not self.close and _distance(self.reference_after, self.before)[0] <= const.CLOSE

    def inside(self, box: PixelBox, margin: int = 0) -> PixelBox:
        """Return a box with a margin, as far as it is on the canvas."""
        return pixels.grown(box, margin, *self.size)

    def zone(self, box: PixelBox | None, margin: int = const.FOCUS_RING) -> Mask:
        """Return a mask of a box and its surroundings."""
        return pixels.filled([None if box is None else self.inside(box, margin)], self.size)

    def trigger_zone(self, trigger: PixelBox, *, whole: bool) -> Mask:
        """Return where browsers draw the focus of the trigger, with all of it or only around it."""
        mask = self.zone(trigger) | self.zone(self.trigger)
        if not whole:
            mask &= ~(self.zone(trigger, -1) | self.zone(self.trigger, -1))
        return mask

    def differing(self, one: Rgb, other: Rgb) -> Mask:
        """Return where pictures of the two sides differ by more than the way they are drawn."""
        return _differing(one, other, sharp=self.sharp)

    def significant(self, mask: Mask) -> list[pixels.Cluster]:
        """Return differences that are more than the way in which letters are drawn."""
        return pixels.clusters(mask, least=const.SPECK if self.sharp else 2 * const.SPECK)

    def reads_alike(self, one: Rgb, other: Rgb) -> bool:
        """Return whether two patches have the same text; True without OCR."""
        if self.read is None or one.size > const.LONGEST_READING:
            return True
        texts = [" ".join(line.text for line in self.read(patch)) for patch in (one, other)]
        return text_compare.similarity(*texts) >= const.ALIKE_TEXT

    def lines(self, lines: Sequence[OcrLine], *, after: bool) -> tuple[OcrLine, ...]:
        """Return lines of a picture of the reference, at their places here."""
        if self.alignment is None:
            return tuple(lines)
        landed = self.alignment.landed
        return tuple(replace(one, box=landed(one.box, after=after)) for one in lines)

    def offset(self, box: PixelBox) -> tuple[int, int]:
        """Return the way from a place of the generated page to the same place of the reference.

        Its surroundings before the act decide: pages are displaced piece by piece.
        """
        if not self.anchors:
            return 0, 0
        near = sorted(self.anchors, key=lambda one: _away(one.box, box.centre))[:3]
        return round(median(one.dx for one in near)), round(median(one.dy for one in near))

    def reference_parts(self) -> list[pixels.Cluster]:
        """Return the reference's change, piece by piece."""
        return pixels.clusters(self.reference_changed, reach=const.PART_GAP)

    def reference_changes_at(self, box: PixelBox, offset: tuple[int, int]) -> bool:
        """Return whether the reference changes where the generated page changes in a box."""
        inside = self.inside(box)
        pieces = pixels.clusters(pixels.crop(self.changed, inside), least=const.TRACE)
        for piece in pieces[:6]:
            there = pixels.shifted(piece.box, (inside.left + offset[0], inside.top + offset[1]))
            around = PixelBox(there.left - 4, there.top - 4, there.right + 4, there.bottom + 4)
            changed = pixels.count(self.reference_changed, around)
            if changed >= min(const.SPECK, piece.pixels):
                return True
        return False

    def without(self, approached: Rgb) -> Scene:
        """Return the scene without the effect of merely approaching the element."""
        picture = pixels.fitted(approached, *self.size)
        since = pixels.changed(picture, self.after)
        only_approach = pixels.changed(self.before, picture) & ~since
        error = self.error & ~(only_approach & ~self.reference_changed)
        return replace(self, changed=self.changed & since, error=error)


def build(reference: ReferenceEvidence, generated: GeneratedEvidence, outcome: Outcome) -> Scene:
    """Put the pictures of both sides on one canvas."""
    pictures = [reference.before, reference.after, generated.before, outcome.picture]
    heights = [one.shape[0] for one in pictures]
    width, height = reference.before.shape[1], max(heights)
    below = generated.found is not None and generated.found.box.bottom > heights[0]
    if heights[0] == heights[1] and heights[0] < heights[2] - const.HEIGHT_SLACK and not below:
        height = heights[0]  # the reference shows a window only, or the generated page goes on
    rb, ra, gb, ga = (pixels.fitted(one, width, height) for one in pictures)
    quiet = ~_noise(generated.noise, width, height)
    # A page that became longer shows more even where that is as blank as what was there before.
    reference_changed = pixels.changed(rb, ra)
    changed = pixels.changed(gb, ga) & quiet
    distance, sharp = _distance(rb, gb)
    trigger, alignment = reference.trigger, None
    if distance > const.CLOSE:
        alignment = _align((rb, ra), (gb, ga), generated.snapshot, outcome.snapshot)
    if alignment is not None:
        there = _moved(rb, alignment.before)
        nearer, as_sharp = _distance(there, gb)
        # What changed is where it was before and where it is afterwards.
        mask = reference_changed.astype(np.uint8)[:, :, None]
        masks = [_moved(mask, one)[:, :, 0] > 0 for one in (alignment.before, alignment.after)]
        least = const.ALIGN_KEPT * int(reference_changed.sum())
        if nearer <= const.CLOSE and all(int(one.sum()) >= least for one in masks):
            distance, sharp = nearer, as_sharp
            reference_changed = masks[0] | masks[1]
            rb, ra = there, _moved(ra, alignment.after)
            if trigger is not None:
                trigger = alignment.landed(trigger, after=False)
        else:
            alignment = None
    static = _differing(rb, gb, sharp=sharp)
    either = reference_changed | changed
    known = pixels.widened(static, 5)
    error = _differing(ra, ga, sharp=sharp) & quiet & (~known | either)
    error |= _faint(reference_changed & ~known, pixels.widened(changed, 7), ra, ga)
    if alignment is not None:
        error &= pixels.widened(either, 5)  # the pieces do not meet without seams
    if heights[0] == heights[1]:
        error[heights[0] :] = False  # beyond what the reference shows
    texts = _texts(generated.snapshot, height)
    return Scene(
        reference_before=rb,
        reference_after=ra,
        before=gb,
        after=ga,
        reference_changed=reference_changed,
        changed=changed,
        static=static,
        error=error,
        trigger=trigger,
        distance=distance,
        sharp=sharp,
        snapshot=generated.snapshot,
        outcome=outcome,
        anchors=_anchors(rb, gb, static, texts),
        text_count=len(texts),
        read=reference.read,
        alignment=alignment,
    )


def _away(box: PixelBox, point: tuple[float, float]) -> float:
    across = max(box.left - point[0], point[0] - box.right, 0)
    down = max(box.top - point[1], point[1] - box.bottom, 0)
    return hypot(across, 2 * down)  # a line moves as a whole


def _distance(reference: Rgb, picture: Rgb) -> tuple[float, bool]:
    """Return the share of drawn edges that differ, and whether letters are drawn alike.

    Counted on edges, a letter weighs as much as a large area that is filled.
    """
    exact = _differing(reference, picture, sharp=True)
    there = pixels.edges(reference)
    sharp = _spread(exact, there) < const.SPREAD
    drawn = there | pixels.edges(picture)
    static = exact if sharp else _differing(reference, picture, sharp=False)
    return int((static & drawn).sum()) / max(int(drawn.sum()), 1), sharp


def _differing(one: Rgb, other: Rgb, *, sharp: bool) -> Mask:
    if sharp:
        return pixels.distance(one, other) > const.TOLERANCE
    return pixels.differing(one, other)


def _spread(mask: Mask, drawn: Mask) -> float:
    """Return the share of the page's drawn tiles in which something is set."""
    tile = const.SPREAD_TILE
    height, width = mask.shape
    rows, columns = -(-height // tile), -(-width // tile)
    room = ((0, rows * tile - height), (0, columns * tile - width))

    def tiles(of: Mask) -> Mask:
        blocks = np.pad(of, room).reshape(rows, tile, columns, tile)
        return np.asarray(blocks.any(axis=(1, 3)))

    parts = tiles(drawn)
    return float((tiles(mask & drawn) & parts).sum() / max(int(parts.sum()), 1))


def _texts(snapshot: Snapshot, height: int) -> list[PixelBox]:
    texts = (
        one.box
        for one in snapshot.elements
        if one.text.strip() and 8 <= one.box.width <= 600 and 8 <= one.box.height <= 60
    )
    return [one for one in texts if one.bottom <= height][: const.ANCHORS]


def _anchors(
    reference: Rgb, before: Rgb, static: Mask, texts: Sequence[PixelBox]
) -> tuple[Anchor, ...]:
    """Find texts of the generated page in the reference, if anything is displaced at all."""
    if not static.any():
        return ()
    height, width = before.shape[:2]
    across, down = const.ANCHOR_REACH
    found: list[Anchor] = []
    for box in texts:
        inside = pixels.grown(box, 0, width, height)
        if inside.width < 8 or inside.height < 8:
            continue
        if not pixels.crop(static, inside).any():
            found.append(Anchor(box, 0, 0))
            continue
        window = PixelBox(
            max(box.left - across, 0),
            max(box.top - down, 0),
            min(box.right + across, width),
            min(box.bottom + down, height),
        )
        place = pixels.find(
            pixels.crop(before, inside),
            reference,
            least=const.ANCHOR_FIT,
            within=window,
            near=(inside.left, inside.top),
        )
        if place is not None:
            found.append(Anchor(box, place.left - inside.left, place.top - inside.top))
    return tuple(found)


def _faint(reference_changed: Mask, changed: Mask, ra: Rgb, ga: Rgb) -> Mask:
    """Return where the reference changes by a shade, too little to be a difference, and only it."""
    missing = reference_changed & ~changed & pixels.changed(ra, ga)
    parts = pixels.clusters(missing, reach=2, least=const.FAINT_AREA)
    height, width = missing.shape
    return pixels.filled((one.box for one in parts), (width, height)) & missing


def _noise(noise: Mask | None, width: int, height: int) -> Mask:
    if noise is None or not noise.any():
        return np.zeros((height, width), np.bool_)
    cut = noise[:height, :width]
    rest = ((0, height - cut.shape[0]), (0, width - cut.shape[1]))
    return pixels.widened(np.pad(cut, rest), 3)


# --- alignment


def _align(
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


def _pieces(snapshot: Snapshot) -> list[Element]:
    """Return elements with a text of their own, and empty ones: pictures, fields, dots."""
    frames = {one.parent for one in snapshot.elements}
    return [
        one
        for one in snapshot.elements
        if (one.text.strip() or one.ref not in frames)
        and const.ALIGN_LEAST <= one.box.width <= const.ALIGN_WIDEST
        and const.ALIGN_LEAST <= one.box.height <= const.ALIGN_HIGHEST
    ][: const.ALIGN_PIECES]


def _matched(
    reference: Rgb, picture: Rgb, pieces: Iterable[Element], usual: tuple[int, int]
) -> dict[int, Anchor]:
    """Find the pieces that the reference shows near their places."""
    height, width = picture.shape[:2]
    found: dict[int, Anchor] = {}
    for one in pieces:
        box = pixels.grown(one.box, 0, width, height)
        if min(box.width, box.height) < const.ALIGN_LEAST:
            continue
        place = pixels.find(
            pixels.crop(picture, box),
            reference,
            least=const.ALIGN_FIT,
            within=pixels.grown(box, const.ALIGN_REACH, width, height),
            near=(box.left + usual[0], box.top + usual[1]),
        )
        if place is not None:
            found[one.ref] = Anchor(box, place.left - box.left, place.top - box.top)
    return found


def _moved(picture: Rgb, anchors: Sequence[Anchor]) -> Rgb:
    """Return a picture of the reference with every piece where the generated page has it."""
    height, width = picture.shape[:2]
    block = const.ALIGN_BLOCK
    rows, columns = -(-height // block), -(-width // block)
    y = (np.arange(rows) * block + block / 2)[:, None]
    x = (np.arange(columns) * block + block / 2)[None, :]
    nearest = np.full((rows, columns), np.inf, np.float32)
    dx, dy = np.zeros((rows, columns), np.int32), np.zeros((rows, columns), np.int32)
    for one in anchors:
        across = np.maximum(np.maximum(one.box.left - x, x - one.box.right), 0)
        down = np.maximum(np.maximum(one.box.top - y, y - one.box.bottom), 0)
        away = np.hypot(across, 2 * down)  # a line moves as a whole
        closer = away < nearest
        nearest[closer] = away[closer]
        dx[closer], dy[closer] = one.dx, one.dy
    across = _spread_blocks(dx, width, height) + np.arange(width)[None, :]
    down = _spread_blocks(dy, width, height) + np.arange(height)[:, None]
    rows_of, columns_of = np.clip(down, 0, height - 1), np.clip(across, 0, width - 1)
    return np.asarray(picture[rows_of, columns_of], np.uint8)


def _spread_blocks(blocks: npt.NDArray[np.int32], width: int, height: int) -> npt.NDArray[np.int32]:
    wide = np.repeat(np.repeat(blocks, const.ALIGN_BLOCK, axis=0), const.ALIGN_BLOCK, axis=1)
    return wide[:height, :width]
