"""What changed between two snapshots of a page, and what only gave way to it."""

from __future__ import annotations

from collections import defaultdict

from uiproof.browser.matching import Pairs, match
from uiproof.browser.snapshots import Changes, Element, Snapshot

Pair = tuple[Element, Element]

_TEXT_STATES = ("value", "selected")
_COLOUR_STYLES = ("background-image", "fill")
_PLACE_STYLES = ("transform", "translate", "position")
_DRAWN = ("svg", "path", "rect", "circle", "ellipse", "polygon", "line", "polyline", "g", "text")
_UNSEEN = 0.02  # opacity of a background that shows nothing
_SLACK = 1  # pixels that rounding may move an edge


def changes(before: Snapshot, after: Snapshot) -> Changes:
    """What a person would say has changed.

    Elements that a script made anew and that look the same are the same. Elements that moved
    because others appeared, grew or went are only counted.
    """
    pairs = match(before, after)
    same = pairs.all()
    retexted = [pair for pair in same if _text_of(pair[0]) != _text_of(pair[1])]
    recoloured = [pair for pair in same if _is_recoloured(*pair)]
    restated = [pair for pair in same if _states(pair[0]) != _states(pair[1])]
    resized = _resized(pairs, same, {new.ref for _, new in retexted})
    moved, pushed = _moved(before, after, pairs, same, resized)
    told = {new.ref for kind in (retexted, recoloured, restated, resized, moved) for _, new in kind}
    restyled = [
        (old, new)
        for old, new in same
        if new.ref not in told and _other_style(old) != _other_style(new)
    ]
    return Changes(
        appeared=tuple(_outermost(pairs.new, pairs.after, pairs.before_of)),
        vanished=tuple(_outermost(pairs.gone, pairs.before, pairs.after_of)),
        moved=tuple(moved),
        resized=tuple(resized),
        recoloured=tuple(recoloured),
        retexted=tuple(retexted),
        restated=tuple(restated),
        restyled=tuple(restyled),
        pushed=pushed,
        new_page=before.document != after.document,
    )


def _outermost(
    found: list[Element], around: dict[int, Element], paired: dict[int, int]
) -> list[Element]:
    """Those whose parent is there at both moments."""
    return [
        element
        for element in found
        if element.parent is None or element.parent in paired or element.parent not in around
    ]


def _text_of(element: Element) -> tuple[str | None, ...]:
    return (element.text, *(element.state.get(name) for name in _TEXT_STATES))


def _states(element: Element) -> dict[str, str]:
    return {name: value for name, value in element.state.items() if name not in _TEXT_STATES}


def _is_recoloured(old: Element, new: Element) -> bool:
    # Colour is inherited: only where there is something written or drawn can it be seen.
    shows = bool(new.text) or new.tag in _DRAWN
    if shows and old.color != new.color:
        return True
    seen = max(old.background[3], new.background[3]) >= _UNSEEN
    if seen and old.background != new.background:
        return True
    return any(old.style.get(name) != new.style.get(name) for name in _COLOUR_STYLES)


def _other_style(element: Element) -> dict[str, str]:
    return {name: value for name, value in element.style.items() if name not in _COLOUR_STYLES}


def _resized(pairs: Pairs, same: list[Pair], retexted: set[int]) -> list[Pair]:
    """Elements that became larger or smaller by themselves.

    Width comes from outside: where the parent changed as much, the parent is the one. Height comes
    from inside: where something inside changed, that is the reason.
    """
    wider = {new.ref: new.box.width - old.box.width for old, new in same}
    higher = {new.ref: new.box.height - old.box.height for old, new in same}
    stirred = _with_ancestors(  # elements in which something else explains another height
        pairs,
        [new.parent for new in pairs.new]
        + [pairs.after_of.get(old.parent or 0) for old in pairs.gone]
        + [pairs.after[ref].parent for ref in retexted]
        + [new.parent for _, new in same if abs(higher[new.ref]) > _SLACK],
    )
    found = []
    for old, new in same:
        if new.ref in retexted or new.tag == "html":
            continue
        if abs(wider[new.ref]) > _SLACK:
            parent = wider.get(new.parent or 0, 0)
            if abs(parent) <= _SLACK and (new.ref not in stirred or _is_set(old, new)):
                found.append((old, new))
        elif abs(higher[new.ref]) > _SLACK and new.ref not in stirred:
            found.append((old, new))
    return found


def _is_set(old: Element, new: Element) -> bool:
    """Whether both sides changed at once, as when an element is made larger."""
    return old.box.height != new.box.height


def _with_ancestors(pairs: Pairs, refs: list[int | None]) -> set[int]:
    found: set[int] = set()
    for ref in refs:
        while ref is not None and ref not in found and ref in pairs.after:
            found.add(ref)
            ref = pairs.after[ref].parent
    return found


def _moved(
    before: Snapshot, after: Snapshot, pairs: Pairs, same: list[Pair], resized: list[Pair]
) -> tuple[list[Pair], int]:
    """Elements that moved by themselves, and how many others moved."""
    ways = {new.ref: (new.box.left - old.box.left, new.box.top - old.box.top) for old, new in same}
    scrolled = (after.scroll[0] - before.scroll[0], after.scroll[1] - before.scroll[1])
    sizes = {new.ref for old, new in same if _differs(old, new) and new.tag not in ("html", "body")}
    # Parents among whose children something came, went or changed its size.
    unrest: dict[int | None, set[int]] = defaultdict(set)
    for new in pairs.new:
        unrest[new.parent].add(0)
    for old in pairs.gone:
        unrest[pairs.after_of.get(old.parent or 0)].add(0)
    for ref in sizes:
        unrest[pairs.after[ref].parent].add(ref)

    moved: list[Pair] = []
    pushed = 0
    grown = {new.ref for _, new in resized}
    for old, new in same:
        way = ways[new.ref]
        with_parent = ways.get(new.parent or 0, (0, 0))
        if _near(way, (0, 0)):
            continue
        if _near(way, with_parent) or (
            new.style.get("position") in ("fixed", "sticky") and scrolled != (0, 0)
        ):
            pushed += 1
            continue
        shifted = any(old.style.get(name) != new.style.get(name) for name in _PLACE_STYLES)
        flows = new.style.get("position") not in ("absolute", "fixed")
        others = unrest[new.parent] - {new.ref}
        made_room = not shifted and ((flows and others) or new.parent in sizes)
        if made_room or (new.ref in grown and _kept_an_edge(old, new)):
            pushed += 1
        else:
            moved.append((old, new))
    return moved, pushed


def _differs(old: Element, new: Element) -> bool:
    return (
        abs(new.box.width - old.box.width) > _SLACK or abs(new.box.height - old.box.height) > _SLACK
    )


def _kept_an_edge(old: Element, new: Element) -> bool:
    """Whether an element only grew to the left or upwards, or around its middle."""
    across = (old.box.left + old.box.right) - (new.box.left + new.box.right)
    down = (old.box.top + old.box.bottom) - (new.box.top + new.box.bottom)
    horizontal = (
        abs(across) <= 2 * _SLACK
        or old.box.right == new.box.right
        or (old.box.left == new.box.left)
    )
    vertical = (
        abs(down) <= 2 * _SLACK or old.box.bottom == new.box.bottom or (old.box.top == new.box.top)
    )
    return horizontal and vertical


def _near(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return abs(one[0] - other[0]) <= _SLACK and abs(one[1] - other[1]) <= _SLACK
