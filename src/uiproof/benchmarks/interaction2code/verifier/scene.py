"""The four pictures of an interaction on one canvas: what changed, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import hypot
from statistics import median

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import looks, wording
from uiproof.benchmarks.interaction2code.verifier.aligning import Alignment, Anchor, align, moved
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    Mask,
    Outcome,
    ReferenceEvidence,
)
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Snapshot
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine

CLOSE = 0.12  # share of what is drawn that may differ between pages that look the same
RING = 6  # pixels around a trigger in which browsers draw its focus
_MOST_ANCHORS = 120
_SPREAD = 0.5  # share of the page's parts that differ when letters are drawn differently
_TILE = 64
_LONGEST_READING = 3 * 200_000  # values of a patch that is read to make sure
_FITS = 0.8
_ALIKE = 0.7  # share of the texts that look as they do in the reference
_HEIGHT_SLACK = 8
_KEPT = 0.9  # share of what changed that must not get lost where pieces are moved together
_FAINT_AREA = 100  # pixels: a shade of fewer is antialiasing


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that can be seen of an interaction; all pictures and masks have one size."""

    reference_before: Rgb
    reference_after: Rgb
    before: Rgb  # of the generated page, as the next one
    after: Rgb
    reference_changed: Mask
    changed: Mask
    static: Mask  # where the pages differ before anything is done
    error: Mask  # where they differ afterwards, and did not before or have changed since
    trigger: PixelBox | None  # of the reference
    distance: float  # share of what is drawn that differs before anything is done
    sharp: bool  # both sides draw letters alike, to the pixel
    anchors: tuple[Anchor, ...] = ()  # where texts of the generated page are in the reference
    read: Callable[[Rgb], Sequence[OcrLine]] | None = None
    texts: int = 0  # of the generated page that anchors were looked for
    alignment: Alignment | None = None  # how the reference's pictures were moved, if they were

    def lines(self, lines: Sequence[OcrLine], *, after: bool) -> tuple[OcrLine, ...]:
        """Lines that were read on a picture of the reference, at their places here."""
        if self.alignment is None:
            return tuple(lines)
        landed = self.alignment.landed
        return tuple(replace(one, box=landed(one.box, after=after)) for one in lines)

    def differing(self, one: Rgb, other: Rgb, tolerance: int = looks.TOLERANCE) -> Mask:
        """Where pictures of the two sides differ by more than the way they are drawn."""
        return _differing(one, other, self.sharp, tolerance)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the canvas."""
        return self.before.shape[1], self.before.shape[0]

    @property
    def close(self) -> bool:
        """Whether the pages look the same before: then small differences afterwards count."""
        return self.distance <= CLOSE

    @property
    def exact(self) -> bool:
        """Whether the pages are compared to the pixel, without having been moved."""
        return self.close and self.sharp and self.alignment is None

    @property
    def alike(self) -> bool:
        """Whether the pages look the same, or their texts do and only lie elsewhere."""
        return self.close or len(self.anchors) >= _ALIKE * max(self.texts, 1)

    @property
    def begins_at_the_end(self) -> bool:
        """Whether the page looks, before anything is done, as the reference does afterwards."""
        return not self.close and _distance(self.reference_after, self.before)[0] <= CLOSE

    def reads_alike(self, one: Rgb, other: Rgb) -> bool:
        """Whether the same is written on two patches; True where nothing can read."""
        if self.read is None or one.size > _LONGEST_READING:
            return True
        texts = [" ".join(line.text for line in self.read(patch)) for patch in (one, other)]
        return wording.likeness(*texts) >= wording.ALIKE

    def reference_changes_at(self, box: PixelBox, offset: tuple[int, int]) -> bool:
        """Whether the reference changes where the generated page changes in a box."""
        inside = looks.grown(box, 0, *self.size)
        pieces = looks.clusters(
            self.changed[inside.top : inside.bottom, inside.left : inside.right], least=4
        )
        for piece in pieces[:6]:
            left, top = inside.left + offset[0] - 4, inside.top + offset[1] - 4
            there = self.reference_changed[
                max(top + piece.box.top, 0) : max(top + piece.box.bottom + 8, 0),
                max(left + piece.box.left, 0) : max(left + piece.box.right + 8, 0),
            ]
            if int(there.sum()) >= min(looks.SPECK, piece.pixels):
                return True
        return False

    def zone(self, box: PixelBox | None, margin: int = RING) -> Mask:
        """A mask of a box and its surroundings."""
        mask = np.zeros(self.changed.shape, np.bool_)
        if box is not None:
            large = looks.grown(box, margin, *self.size)
            mask[large.top : large.bottom, large.left : large.right] = True
        return mask

    def reference_parts(self) -> list[looks.Cluster]:
        """What changed in the reference, piece by piece."""
        return looks.clusters(self.reference_changed, reach=12)

    def offset(self, box: PixelBox) -> tuple[int, int]:
        """How far from a place of the generated page the same place of the reference is.

        By what surrounds it in the pictures before: pages that flow differently are displaced
        piece by piece.
        """
        if not self.anchors:
            return 0, 0
        x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2

        def away(one: Anchor) -> float:
            across = max(one.box.left - x, x - one.box.right, 0)
            down = max(one.box.top - y, y - one.box.bottom, 0)
            return float(hypot(across, 2 * down))  # a line moves as a whole

        near = sorted(self.anchors, key=away)[:3]
        return round(median(one.dx for one in near)), round(median(one.dy for one in near))


def build(reference: ReferenceEvidence, generated: GeneratedEvidence, outcome: Outcome) -> Scene:
    """Put the pictures of both sides on one canvas."""
    pictures = [reference.before, reference.after, generated.before, outcome.picture]
    heights = [one.shape[0] for one in pictures]
    width = reference.before.shape[1]
    height = max(heights)
    below = generated.found is not None and generated.found.box.bottom > heights[0]
    if heights[0] == heights[1] and heights[0] < heights[2] - _HEIGHT_SLACK and not below:
        height = heights[0]  # the reference shows a window only, or the generated page goes on
    rb, ra, gb, ga = (looks.fitted(one, width, height) for one in pictures)
    quiet = ~_noise(generated.noise, width, height)
    # A page that became longer shows more even where that is as blank as what was there before.
    reference_changed = looks.changed(rb, ra)
    changed = looks.changed(gb, ga) & quiet
    distance, sharp = _distance(rb, gb)
    trigger, alignment = reference.trigger, None
    if distance > CLOSE:
        alignment = align((rb, ra), (gb, ga), generated.snapshot, outcome.snapshot)
    if alignment is not None:
        there = moved(rb, alignment.before)
        nearer, as_sharp = _distance(there, gb)
        # What changed is where it was before and where it is afterwards.
        mask = reference_changed.astype(np.uint8)[:, :, None]
        masks = [moved(mask, one)[:, :, 0] > 0 for one in (alignment.before, alignment.after)]
        least = _KEPT * int(reference_changed.sum())
        if nearer <= CLOSE and all(int(one.sum()) >= least for one in masks):
            distance, sharp = nearer, as_sharp
            reference_changed = masks[0] | masks[1]
            rb, ra = there, moved(ra, alignment.after)
            if trigger is not None:
                trigger = alignment.landed(trigger, after=False)
        else:
            alignment = None
    static = _differing(rb, gb, sharp)
    either = reference_changed | changed
    known = looks.widened(static, 5)
    error = _differing(ra, ga, sharp) & quiet & (~known | either)
    error |= _faint(reference_changed & ~known, looks.widened(changed, 7), ra, ga)
    if alignment is not None:
        error &= looks.widened(either, 5)  # the pieces do not meet without seams
    if heights[0] == heights[1]:
        error[heights[0] :] = False  # beyond what the reference shows
    texts = _texts(generated.snapshot, height)
    return Scene(
        rb,
        ra,
        gb,
        ga,
        reference_changed,
        changed,
        static,
        error,
        trigger,
        distance,
        sharp,
        _anchors(rb, gb, static, texts),
        reference.read,
        len(texts),
        alignment,
    )


def _distance(reference: Rgb, picture: Rgb) -> tuple[float, bool]:
    """The share of what is drawn that differs, and whether letters are drawn alike.

    Counted on edges: a letter counts as much as a large area that is filled.
    """
    exact = _differing(reference, picture, True)
    there = looks.edges(reference)
    sharp = _spread(exact, there) < _SPREAD
    drawn = there | looks.edges(picture)
    static = exact if sharp else _differing(reference, picture, False)
    return int((static & drawn).sum()) / max(int(drawn.sum()), 1), sharp


def _differing(one: Rgb, other: Rgb, sharp: bool, tolerance: int = looks.TOLERANCE) -> Mask:
    if sharp:
        return looks.distance(one, other) > tolerance
    return looks.differing(one, other, tolerance)


def _spread(mask: Mask, drawn: Mask) -> float:
    """The share of the page's drawn parts in which something is set."""
    height, width = mask.shape
    rows, columns = -(-height // _TILE), -(-width // _TILE)
    room = ((0, rows * _TILE - height), (0, columns * _TILE - width))

    def tiles(of: Mask) -> Mask:
        blocks = np.pad(of, room).reshape(rows, _TILE, columns, _TILE)
        return np.asarray(blocks.any(axis=(1, 3)))

    parts = tiles(drawn)
    return float((tiles(mask & drawn) & parts).sum() / max(int(parts.sum()), 1))


def _texts(snapshot: Snapshot, height: int) -> list[PixelBox]:
    texts = (
        one.box
        for one in snapshot.elements
        if one.text.strip() and 8 <= one.box.width <= 600 and 8 <= one.box.height <= 60
    )
    return [one for one in texts if one.bottom <= height][:_MOST_ANCHORS]


def _anchors(
    reference: Rgb, before: Rgb, static: Mask, texts: Sequence[PixelBox]
) -> tuple[Anchor, ...]:
    """Where texts of the generated page are in the reference, if anything is displaced at all."""
    if not static.any():
        return ()
    height, width = before.shape[:2]
    found: list[Anchor] = []
    for box in texts:
        inside = looks.grown(box, 0, width, height)
        if inside.width < 8 or inside.height < 8:
            continue
        if not static[inside.top : inside.bottom, inside.left : inside.right].any():
            found.append(Anchor(box, 0, 0))
            continue
        patch = looks.crop(before, inside)
        window = PixelBox(
            max(box.left - 160, 0),
            max(box.top - 240, 0),
            min(box.right + 160, width),
            min(box.bottom + 240, height),
        )
        place = looks.find(patch, reference, within=window, near=(inside.left, inside.top))
        if place is not None and place.fit >= _FITS:
            found.append(Anchor(box, place.left - inside.left, place.top - inside.top))
    return tuple(found)


def _faint(reference_changed: Mask, changed: Mask, ra: Rgb, ga: Rgb) -> Mask:
    """Where the reference changes by a shade, too little to be a difference, and this page not."""
    missing = reference_changed & ~changed & looks.changed(ra, ga)
    mask = np.zeros(missing.shape, np.bool_)
    for one in looks.clusters(missing, reach=2, least=_FAINT_AREA):
        box = one.box
        mask[box.top : box.bottom, box.left : box.right] = True
    return mask & missing


def _noise(noise: Mask | None, width: int, height: int) -> Mask:
    if noise is None or not noise.any():
        return np.zeros((height, width), np.bool_)
    cut = noise[:height, :width]
    rest = ((0, height - cut.shape[0]), (0, width - cut.shape[1]))
    return looks.widened(np.pad(cut, rest), 3)
