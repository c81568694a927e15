"""Elements that change their colours: does the reference recolour them, and to the same colours?

Another shade is the same colour in another style. An element is looked for at its place, or, where
other things push it about, where the reference shows what it says.
"""

from __future__ import annotations

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import effects, looks, loose
from uiproof.benchmarks.interaction2code.verifier.loose import Texts
from uiproof.benchmarks.interaction2code.verifier.scene import Scene
from uiproof.benchmarks.interaction2code.verifier.units import Unit
from uiproof.boxes import PixelBox

_SHADE = 60  # of 255: colours that differ by less are the same colour in another style
_FAINT = 12  # of 255: less is no other colour
_SAME_WAY = 0.9  # cosine of the ways of two colours that become the same, or shades of it


def colours_agree(scene: Scene, unit: Unit, shift: tuple[int, int] | None = None) -> bool:
    """Whether an element has the reference's colours afterwards, whatever it says.

    It is compared with its place in the reference, which is `shift` pixels before its own.
    """
    box = looks.grown(unit.box, 0, *scene.size)
    by = scene.offset(unit.before or box) if shift is None else (-shift[0], -shift[1])
    there = displaced(box, by, scene.size)
    mine, theirs = looks.crop(scene.after, box), looks.crop(scene.reference_after, there)
    if not mine.size or not theirs.size:
        return False
    pairs = (
        (looks.background(mine), looks.background(theirs)),
        (looks.foreground(mine), looks.foreground(theirs)),
    )
    return all(float(abs(one - other).max()) <= _SHADE for one, other in pairs)


def recoloured_alike(scene: Scene, unit: Unit, shift: tuple[int, int] | None = None) -> bool:
    """Whether the reference recolours an element too, to the same colours or a shade of them."""
    if unit.before is None or unit.after is None:
        return False
    box = looks.grown(unit.box, 0, *scene.size)
    by = scene.offset(unit.before) if shift is None else (-shift[0], -shift[1])
    there = displaced(box, by, scene.size)
    was = looks.grown(unit.before, 0, *scene.size)
    if not (box.width and box.height and there.width and there.height and was.width and was.height):
        return False
    moves: list[tuple[float, float, float]] = []
    for colour in (looks.background, looks.foreground):
        # What is the same before is the reference's before too, wherever it is afterwards.
        old = colour(looks.crop(scene.before, was))
        mine = colour(looks.crop(scene.after, box)) - old
        theirs = colour(looks.crop(scene.reference_after, there)) - old
        strength, other = float(np.linalg.norm(mine)), float(np.linalg.norm(theirs))
        moves.append((strength, other, float(mine @ theirs)))
    if max(strength for strength, _, _ in moves) < _FAINT:
        return False
    return all(
        abs(strength - other) < _FAINT
        if min(strength, other) < _FAINT
        else along >= _SAME_WAY * strength * other
        and max(strength, other) <= 2 * min(strength, other)
        for strength, other, along in moves
    )


def recoloured_elsewhere(scene: Scene, texts: Texts, unit: Unit) -> bool:
    """Whether the reference recolours what says the same, which other things pushed elsewhere."""
    return any(recoloured_alike(scene, unit, by) for by in _places(scene, texts, unit))


def stays_as_it_was(scene: Scene, texts: Texts, unit: Unit) -> bool:
    """Whether the reference shows what an element says in the colours that it had before."""
    places = _places(scene, texts, unit)
    if not places or unit.before is None:
        return False
    was = looks.crop(scene.before, looks.grown(unit.before, 0, *scene.size))
    for x, y in places:
        there = looks.crop(scene.reference_after, displaced(unit.box, (-x, -y), scene.size))
        for colour in (looks.background, looks.foreground):
            if not there.size or float(abs(colour(was) - colour(there)).max()) > _FAINT / 2:
                return False
    return True


def _places(scene: Scene, texts: Texts, unit: Unit) -> list[tuple[int, int]]:
    """How far an element is from where the reference shows what it says, now or anew."""
    if unit.element is None or not unit.element.label.strip():
        return []
    mine = effects.tight_box(scene.after, unit.box)
    return [
        (mine.left - line.box.left, mine.top - line.box.top)
        for line in texts.lines
        if loose.is_new(scene, line) and loose.same_line(unit.element.label, line.text)
    ]


def displaced(box: PixelBox, by: tuple[int, int], size: tuple[int, int] | None) -> PixelBox:
    """A box moved by some pixels, and cut at the edges of a picture of this size."""
    moved = PixelBox(box.left + by[0], box.top + by[1], box.right + by[0], box.bottom + by[1])
    return moved if size is None else looks.grown(moved, 0, *size)
