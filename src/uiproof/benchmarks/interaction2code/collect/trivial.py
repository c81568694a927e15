"""Which effects nobody would speak of: underlines, rings, cursors, shades, what was typed."""

from __future__ import annotations

from collections.abc import Iterable

from uiproof.benchmarks.interaction2code.collect.findings import Finding
from uiproof.benchmarks.interaction2code.visible import colour_step, visible_recolouring
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Changes, Element

_HOVER_STEP = 40  # of 255: on hover a smaller change of colour is a shade
_HOVER_AREA = 1_500  # square pixels that must change colour on hover
_HOVER_SHIFT = 8  # pixels: less is a lift
_HOVER_GROWTH = 0.05
_PIXELS = 400  # that must differ where nothing but pixels does
_TINY = 100  # square pixels


def is_trivial(finding: Finding) -> bool:
    """Whether an effect is too slight, or too natural, to be an interaction of the page.

    - nothing that can be seen
    - only lines, shadows, cursors, or a shade, a lift or a slight growth on hover
    - a field that shows what was typed or chosen, a box that shows its tick, and nothing else
    - scrolling that only scrolls, a link that only scrolls
    """
    changes, kind = finding.changes, finding.action.kind
    if changes.new_page:
        return finding.events.navigations == () and kind == "scroll"
    if finding.after == finding.hovered or not finding.visuals:
        return True
    if changes == Changes():
        return False  # only pixels tell of it, and enough of them
    if kind != "scroll" and finding.later.scroll != finding.snapshot.scroll:
        return True  # a link to further down
    if kind == "scroll":
        return not finding.events.mutations or not _beyond(finding, {"position"})
    if kind == "hover":
        return not (_shows_something(finding) or _hover_is_visible(finding))
    return not (_shows_something(finding) or _is_visible(finding))


def strong_difference(before: bytes, after: bytes) -> bool:
    """Whether two pictures differ in so many pixels, and so much, that a person sees it."""
    from uiproof.vision.difference import difference
    from uiproof.vision.images import decode

    mask = difference(decode(before), decode(after), tolerance=_HOVER_STEP)
    return int(mask.sum()) >= _PIXELS


def _beyond(finding: Finding, expected: set[str]) -> bool:
    return bool(set(finding.visuals) - expected)


def _shows_something(finding: Finding) -> bool:
    """Whether anything came, went or was written anew."""
    if {"new window", "text"} & set(finding.visuals):
        return True
    looks = (*finding.changes.appeared, *finding.changes.vanished)
    return any(_area(one.box) >= _TINY for one in looks)


def _hover_is_visible(finding: Finding) -> bool:
    changes = finding.changes
    recoloured = [
        new
        for old, new in visible_recolouring(changes, finding.snapshot, finding.later)
        if colour_step(old, new, finding.snapshot, finding.later) >= _HOVER_STEP
        and _fills(old, new)
    ]
    if sum(_area(one.box) for one in recoloured) >= _HOVER_AREA:
        return True
    shifts = [_shift(old, new) for old, new in changes.moved]
    if max(shifts, default=0) >= _HOVER_SHIFT:
        return True
    return any(
        _grew(old.box.width, new.box.width) or _grew(old.box.height, new.box.height)
        for old, new in changes.resized
        if "size" in finding.visuals
    )


def _is_visible(finding: Finding) -> bool:
    """Whether something but the element itself changed, or the element in more than its state."""
    changes, own = finding.changes, _own(finding)
    if any(new.ref not in own for _, new in (*changes.moved, *changes.resized)):
        return True
    if any(new.ref not in own for _, new in changes.restated if new.tag != "select"):
        return True
    if "position" in finding.visuals or "size" in finding.visuals:
        return True
    link = finding.element.tag == "a"  # turns another colour when it has the focus or was visited
    return any(
        not (link and new.ref == finding.element.ref and not _fills(old, new))
        for old, new in visible_recolouring(changes, finding.snapshot, finding.later)
    )


def _own(finding: Finding) -> set[int]:
    """The element, and a box to tick in it or around it."""
    refs = {finding.element.ref}
    refs |= {
        one.ref
        for one in finding.later.elements
        if one.tag == "input" and one.parent == finding.element.ref
    }
    if finding.element.parent is not None and finding.element.tag == "input":
        refs.add(finding.element.parent)
    return refs


def _fills(old: Element, new: Element) -> bool:
    """Whether more than the letters changed colour."""
    other = ("background-image", "opacity", "filter", "fill")
    return old.background != new.background or any(
        old.style.get(name) != new.style.get(name) for name in other
    )


def _shift(old: Element, new: Element) -> int:
    return max(abs(old.box.left - new.box.left), abs(old.box.top - new.box.top))


def _grew(old: int, new: int) -> bool:
    return abs(new - old) >= _HOVER_GROWTH * old


def _area(box: PixelBox) -> int:
    return box.width * box.height


def total_area(elements: Iterable[Element]) -> int:
    """The pixels that elements cover, each counted by itself."""
    return sum(_area(one.box) for one in elements)
