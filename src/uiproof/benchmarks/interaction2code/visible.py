"""Visible changes: colours, sizes and places, measured on elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from uiproof.browser.snapshots import Changes, Element, Ink, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb

Colour = tuple[float, float, float]

COLOUR_STEP = 24  # of 255, in any channel: less is a mere shade
MOVE_STEP = 4  # pixels
_SIZE_STEP = 0.05  # of its length, and at least `MOVE_STEP` pixels
_SAME_PLACE = 0.3  # share of the smaller box from which two boxes are at one place
_PART_HEIGHT, _PART_STEP = 100, 24  # pixels: of a part of the page, and of its change
_CONTRAST = 12  # of 255, in any channel: letters with less contrast are invisible
_STROKE = 0.4  # thin letters have at least so much of their colour somewhere
_VEILED = 0.25  # share of the contrast of letters that a dark veil leaves


def without_unseen_texts(picture: Rgb, after: Snapshot, before: Snapshot) -> Snapshot:
    """Return a snapshot without new texts that cannot be seen in its picture.

    Texts that were there before stay, whatever covers them now: covering does not change a text.
    """
    known = {one.ref: one.text for one in before.elements}
    by_ref = {one.ref: one for one in after.elements}
    unseen = {
        one.ref: one.text
        for one in after.elements
        if one.text.strip()
        and known.get(one.ref) != one.text
        and one.ink is not None
        and not shows(picture, one.ink, _plain_ground(one, one.ink, by_ref))
    }
    if not unseen:
        return after
    lost: dict[int, list[str]] = {}  # of what an element and those around it say
    for ref, text in unseen.items():
        at: Element | None = by_ref[ref]
        while at is not None:
            lost.setdefault(at.ref, []).append(text)
            at = by_ref.get(at.parent or 0)
    elements = []
    for one in after.elements:
        label = one.label
        for text in lost.get(one.ref, ()):
            label = " ".join(label.replace(text, " ", 1).split())
        elements.append(replace(one, text="" if one.ref in unseen else one.text, label=label))
    return replace(after, elements=tuple(elements))


def shows(picture: Rgb, ink: Ink, ground: Colour | None = None) -> bool:
    """Return whether a picture shows letters: their colour, on another one.

    `ground` is the colour behind them, as far as styles tell: some of the way from it to the colour
    of the letters has to be there too, also through a veil.
    """
    box = ink.box
    part = picture[max(box.top, 0) : max(box.bottom, 0), max(box.left, 0) : max(box.right, 0)]
    if ink.covered:
        return False
    if not part.size:
        return True  # outside the picture
    pixels = part.reshape(-1, 3).astype(np.float64)
    if ink.opacity == 0:
        return float(np.ptp(pixels, axis=0).max()) >= _CONTRAST
    away = np.abs(pixels - ink.color).max(axis=1)
    nearest, farthest = float(away.min()), float(away.max())
    if farthest - nearest < _CONTRAST * min(2 * ink.opacity, 1):
        return False
    if nearest > (1 - _STROKE * ink.opacity) * farthest:
        return False
    way = np.subtract(ink.color, ground) if ground is not None else np.zeros(3)
    length = float(np.linalg.norm(way))
    if length < 2 * _CONTRAST:
        return True
    return float(np.ptp(pixels @ (way / length))) >= _VEILED * ink.opacity * length


def _plain_ground(element: Element, ink: Ink, by_ref: Mapping[int, Element]) -> Colour | None:
    """Return the colour behind letters by the styles around them; None where they do not tell."""
    layers: list[tuple[int, int, int, float]] = []
    box = ink.box
    core = PixelBox(box.left + 2, box.top + 2, box.right - 2, box.bottom - 2)
    at: Element | None = element
    while at is not None:
        if "background-image" in at.style or (at.background[3] > 0 and not at.box.encloses(core)):
            return None
        layers.append(at.background)
        if at.background[3] >= 1:
            break
        at = by_ref.get(at.parent or 0)
    return _blended(layers)


def visible_recolouring(
    changes: Changes, before: Snapshot, after: Snapshot
) -> tuple[tuple[Element, Element], ...]:
    """Return the elements whose colours changed clearly."""
    pairs = (*changes.recoloured, *changes.restyled)
    return tuple(
        (old, new) for old, new in pairs if colour_step(old, new, before, after) >= COLOUR_STEP
    )


def colour_step(old: Element, new: Element, before: Snapshot, after: Snapshot) -> float:
    """Return by how much an element's text or background changed its colour, in steps of 255."""
    steps = [_channels(ground(old, before), ground(new, after))]
    if old.background == new.background:
        steps = [0.0]  # the element behind it is reported separately
    if new.text or new.tag in {"svg", "path", "i"}:
        steps.append(_channels(old.color, new.color))
    for name, step in (("background-image", 255.0), ("fill", 255.0), ("filter", 100.0)):
        if old.style.get(name) != new.style.get(name):
            steps.append(step)
    return max(*steps, 160 * abs(_opacity(old) - _opacity(new)))


def ground(element: Element, snapshot: Snapshot) -> Colour:
    """Return the colour behind an element's text, transparency included."""
    by_ref = {one.ref: one for one in snapshot.elements}
    layers = []
    at: Element | None = element
    while at is not None:
        layers.append(at.background)
        if at.background[3] >= 1:
            break
        at = by_ref.get(at.parent) if at.parent is not None else None
    return _blended(layers)


def _blended(layers: Sequence[tuple[int, int, int, float]]) -> Colour:
    """Blend layers of colour, the topmost first, on a white page."""
    red, green, blue = 255.0, 255.0, 255.0
    for layer in reversed(layers):
        share = layer[3]
        red += (layer[0] - red) * share
        green += (layer[1] - green) * share
        blue += (layer[2] - blue) * share
    return red, green, blue


def _channels(one: Sequence[float], other: Sequence[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def _opacity(element: Element) -> float:
    return float(element.style.get("opacity", "1"))


def grew(before: int, after: int) -> bool:
    """Return whether a length changed visibly."""
    return abs(after - before) >= max(MOVE_STEP, _SIZE_STEP * before)


def has_edges(element: Element) -> bool:
    """Return whether the size of an element can be seen."""
    painted = element.background[3] > 0 or {"border", "box-shadow", "background-image"} & set(
        element.style
    )
    own = {"img", "svg", "canvas", "video", "input", "textarea", "select", "button", "iframe"}
    return bool(painted) or element.tag in own or "transform" in element.style


def shares_place(one: PixelBox, other: PixelBox) -> bool:
    """Return whether two boxes are at one place."""
    shared = one.overlap(other)
    return shared > 0 and shared >= _SAME_PLACE * min(one.area, other.area)


def kept_an_end(before: PixelBox, after: PixelBox) -> bool:
    """Return whether a box grew or shrank to one side, as it does around another text."""
    across = before.left == after.left or before.right == after.right
    return across and (before.top == after.top or before.bottom == after.bottom)


def widened(before: Snapshot, after: Snapshot) -> bool:
    """Return whether a part of the page was made wider or narrower."""
    old = {one.ref: one for one in before.elements}
    now = {one.ref: one for one in after.elements}
    for new in after.elements:
        was = old.get(new.ref)
        if was is None or new.box.height < _PART_HEIGHT or not has_edges(new):
            continue
        around, around_now = old.get(was.parent or 0), now.get(new.parent or 0)
        if around is None or around_now is None or new.tag in {"html", "body"}:
            continue
        changed = abs(new.box.width - was.box.width)
        same_frame = abs(around.box.width - around_now.box.width) <= 1
        if same_frame and changed >= max(_PART_STEP, 0.1 * was.box.width):
            return True
    return False


def moved_house(before: Snapshot, after: Snapshot) -> bool:
    """Return whether an element went to another parent, as a card that is dropped elsewhere."""
    old = {one.ref: one for one in before.elements}
    there = {one.ref for one in after.elements}
    for new in after.elements:
        was = old.get(new.ref)
        if was is None or was.parent == new.parent or new.parent not in old:
            continue
        shift = abs(was.box.left - new.box.left) + abs(was.box.top - new.box.top)
        if shift >= MOVE_STEP and was.parent in there:
            return True
    return False


def font_size(element: Element) -> str:
    """Return the size of an element's letters."""
    return element.style.get("font-size", "")
