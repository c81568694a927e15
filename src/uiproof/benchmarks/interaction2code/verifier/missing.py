"""What the reference changes and the generated page does not: would a person miss it?

Shades, shadows, corners and another size of what is there are a matter of style. A part that does
not change at all, an area that is not filled and drawings that are not there are missing.
"""

from __future__ import annotations

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import effects, looks
from uiproof.benchmarks.interaction2code.verifier.case import Case
from uiproof.benchmarks.interaction2code.verifier.contents import Contents
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask
from uiproof.benchmarks.interaction2code.verifier.scene import RING, Scene
from uiproof.boxes import PixelBox

_LAID_OUT = 25  # pixels: twice as far as things may end elsewhere in another layout
_CORNER = 64  # pixels
_STRANGE = 9  # pixels around what is different before
_SHADOW = 49  # pixels: twice as far as shadows reach
_FAINT = 40  # of 255: shadows are fainter
_SHADE = 60  # of 255: colours that differ by less are the same colour in another style
_TOUCHED = 0.3  # share of a part that changes here too
_DRAWN = 0.5  # share of the reference's lines from which as much is drawn


def is_missing(case: Case, said: Contents) -> bool:
    """Whether anything of the reference's change is missing that a person would miss."""
    scene = case.scene
    mask = _different(case)
    there = []
    for one in said.having("right"):
        reach = max(map(abs, one.shift)) + RING
        if not _lacks_lines(scene, one.unit.box, one.shift):
            there.append(looks.grown(one.unit.box, reach, *scene.size))
            if reach > RING:  # it is all there, a few pixels away
                mask &= ~scene.zone(one.unit.box, reach)
    # Where the page has a style of its own, so have corners and frames of what is new on it.
    least = _CORNER if looks.clusters(scene.static) else looks.SPECK
    for part in looks.clusters(mask, least=least):
        box = part.box
        inside = mask[box.top : box.bottom, box.left : box.right]
        here = scene.changed[box.top : box.bottom, box.left : box.right]
        touched = int((inside & here).sum()) >= _TOUCHED * part.pixels
        if not (touched or any(holds(one, box) for one in there)) or _lacks(scene, box):
            return True
    return False


def _different(case: Case) -> Mask:
    """Where the reference changes, and the page does not look like it afterwards."""
    scene = case.scene
    own = effects.ring(scene, case.found, whole=not scene.exact or case.trigger_says_nothing())
    mask = scene.reference_changed & ~own
    if scene.close:
        # What the reference never showed cannot look as it does there.
        mask &= scene.error & ~looks.widened(scene.static, _STRANGE)
    if scene.alignment is not None:
        # Where things are a little larger or smaller, they still change.
        mask &= ~looks.widened(scene.changed, _LAID_OUT)
    strength = looks.distance(scene.reference_before, scene.reference_after)
    mask &= ~((strength <= _FAINT) & looks.widened(scene.changed, _SHADOW))
    # Nobody sees how far a veil reaches below the window.
    bottom = case.generated.snapshot.scroll[1] + case.generated.viewport[1]
    if bottom < scene.size[1]:
        below = PixelBox(0, bottom, scene.size[0], scene.size[1])
        pictures = (scene.reference_before, scene.reference_after)
        if looks.same_drawing(*(looks.crop(one, below) for one in pictures)):
            mask[bottom:] = False
    return np.asarray(mask)


def _lacks(scene: Scene, box: PixelBox) -> bool:
    """Whether a part is not filled as the reference's is, or much less is drawn on it."""
    mine, theirs = looks.crop(scene.after, box), looks.crop(scene.reference_after, box)
    away = np.abs(looks.background(mine) - looks.background(theirs))
    return float(away.max()) > _SHADE or _lacks_lines(scene, box, (0, 0))


def _lacks_lines(scene: Scene, box: PixelBox, shift: tuple[int, int]) -> bool:
    """Whether much less is drawn in a box than the reference draws there, `shift` pixels before."""
    place = PixelBox(
        box.left - shift[0], box.top - shift[1], box.right - shift[0], box.bottom - shift[1]
    )
    theirs = looks.crop(scene.reference_after, looks.grown(place, 0, *scene.size))
    mine = looks.crop(scene.after, looks.grown(box, RING, *scene.size))
    return int(looks.edges(mine).sum()) < _DRAWN * int(looks.edges(theirs).sum())


def holds(large: PixelBox, small: PixelBox) -> bool:
    """Whether a box is inside of another."""
    return (
        large.left <= small.left
        and large.top <= small.top
        and large.right >= small.right
        and large.bottom >= small.bottom
    )
