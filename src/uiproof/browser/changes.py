"""Compare two snapshots of a page: pair their elements, then compare each pair."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from uiproof.browser.snapshots import Changes, Element, Snapshot

Pair = tuple[Element, Element]

_TEXT_STATES = ("value", "selected")
_COLOUR_STYLES = ("background-image", "fill")
_PLACE_STYLES = ("transform", "translate", "position")
_DRAWN = ("svg", "path", "rect", "circle", "ellipse", "polygon", "line", "polyline", "g", "text")
_UNSEEN = 0.02  # a background below this opacity is invisible
_SLACK = 1  # pixels by which rounding may move an edge
_ENOUGH = 3  # least `_likeness` of an element and its recreated version


def changes(before: Snapshot, after: Snapshot) -> Changes:
    """Return the changes that a person would name.

    An element that a script recreated with the same look counts as the same element. Elements that
    moved only because others appeared, grew or vanished are counted, not listed.
    """
    pairs = _match(before, after)
    same = pairs.all()
    retexted = [pair for pair in same if _text_of(pair[0]) != _text_of(pair[1])]
    recoloured = [pair for pair in same if _is_recoloured(*pair)]
    restated = [pair for pair in same if _states(pair[0]) != _states(pair[1])]
    resized = _resized(pairs, same, {new.ref for _, new in retexted})
    moved, pushed = _moved(before, after, pairs, same, resized)
    kinds = (retexted, recoloured, restated, resized, moved)
    listed = {new.ref for kind in kinds for _, new in kind}
    restyled = [
        (old, new)
        for old, new in same
        if new.ref not in listed and _other_style(old) != _other_style(new)
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
    """Return the elements whose parent exists in both snapshots."""
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
    # Colour is inherited; it is visible only on elements with text or drawings.
    shows = bool(new.text) or new.tag in _DRAWN
    if shows and old.color != new.color:
        return True
    seen = max(old.background[3], new.background[3]) >= _UNSEEN
    if seen and old.background != new.background:
        return True
    return any(old.style.get(name) != new.style.get(name) for name in _COLOUR_STYLES)


def _other_style(element: Element) -> dict[str, str]:
    return {name: value for name, value in element.style.items() if name not in _COLOUR_STYLES}


def _resized(pairs: _Pairs, same: list[Pair], retexted: set[int]) -> list[Pair]:
    """Return the elements whose size changed on its own account.

    Width usually follows the parent, and height the content, so an element whose parent became as
    much wider, or whose content changed, is not listed.
    """
    wider = {new.ref: new.box.width - old.box.width for old, new in same}
    higher = {new.ref: new.box.height - old.box.height for old, new in same}
    stirred = _with_ancestors(  # elements whose content changed, which explains their height
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
            both_sides = old.box.height != new.box.height  # as if scaled
            if abs(parent) <= _SLACK and (new.ref not in stirred or both_sides):
                found.append((old, new))
        elif abs(higher[new.ref]) > _SLACK and new.ref not in stirred:
            found.append((old, new))
    return found


def _with_ancestors(pairs: _Pairs, refs: list[int | None]) -> set[int]:
    found: set[int] = set()
    for ref in refs:
        while ref is not None and ref not in found and ref in pairs.after:
            found.add(ref)
            ref = pairs.after[ref].parent
    return found


def _moved(
    before: Snapshot, after: Snapshot, pairs: _Pairs, same: list[Pair], resized: list[Pair]
) -> tuple[list[Pair], int]:
    """Return the elements that moved on their own account, and the number of others that moved."""
    ways = {new.ref: (new.box.left - old.box.left, new.box.top - old.box.top) for old, new in same}
    scrolled = (after.scroll[0] - before.scroll[0], after.scroll[1] - before.scroll[1])
    sizes = {new.ref for old, new in same if _differs(old, new) and new.tag not in ("html", "body")}
    # Parents with a child that appeared, vanished or changed its size.
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
    """Return whether an element was resized around an edge or its centre."""
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


@dataclass(frozen=True)
class _Pairs:
    """The elements of two snapshots, and those that correspond."""

    before: dict[int, Element]
    after: dict[int, Element]
    after_of: dict[int, int] = field(default_factory=dict)  # ref before -> ref after
    before_of: dict[int, int] = field(default_factory=dict)  # ref after -> ref before

    def add(self, before: Element, after: Element) -> None:
        """Pair two elements."""
        self.after_of[before.ref] = after.ref
        self.before_of[after.ref] = before.ref

    def all(self) -> list[Pair]:
        """Return every pair, in the order of the second snapshot."""
        return [
            (self.before[self.before_of[ref]], element)
            for ref, element in self.after.items()
            if ref in self.before_of
        ]

    @property
    def new(self) -> list[Element]:
        """Return the elements that appeared."""
        return [element for ref, element in self.after.items() if ref not in self.before_of]

    @property
    def gone(self) -> list[Element]:
        """Return the elements that vanished."""
        return [element for ref, element in self.before.items() if ref not in self.after_of]


def _match(before: Snapshot, after: Snapshot) -> _Pairs:
    """Pair elements by identity, then recreated ones by id, place and look."""
    pairs = _Pairs(
        {element.ref: element for element in before.elements},
        {element.ref: element for element in after.elements},
    )
    for ref, element in pairs.after.items():
        if ref in pairs.before:
            pairs.add(pairs.before[ref], element)
    _match_by_id(pairs)
    _match_by_place(pairs)
    return pairs


def _match_by_id(pairs: _Pairs) -> None:
    gone = defaultdict(list)
    for element in pairs.gone:
        if element.id:
            gone[element.tag, element.id].append(element)
    for element in pairs.new:
        same = gone.get((element.tag, element.id), [])
        if len(same) == 1:
            pairs.add(same.pop(), element)


def _match_by_place(pairs: _Pairs) -> None:
    """Pair the most similar children of paired parents, from the top down."""
    gone: dict[tuple[int | None, str], list[Element]] = defaultdict(list)
    for element in pairs.gone:
        gone[element.parent, element.tag].append(element)
    new: dict[tuple[int | None, str], list[Element]] = defaultdict(list)
    for element in pairs.new:
        new[element.parent, element.tag].append(element)
    # Parents come before their children, so pairs found here let their children be paired.
    for (parent, tag), candidates in new.items():
        if parent is not None and parent not in pairs.before_of:
            continue
        earlier = gone.get((None if parent is None else pairs.before_of[parent], tag), [])
        ranked = sorted(
            (
                (-_likeness(old, one), abs(i - j), i, j)
                for i, one in enumerate(candidates[:200])
                for j, old in enumerate(earlier[:200])
            ),
        )
        taken_new: set[int] = set()
        taken_old: set[int] = set()
        for likeness, _, i, j in ranked:
            if -likeness < _ENOUGH or i in taken_new or j in taken_old:
                continue
            taken_new.add(i)
            taken_old.add(j)
            pairs.add(earlier[j], candidates[i])


def _likeness(old: Element, new: Element) -> int:
    if old.id and new.id and old.id != new.id:
        return 0
    same_place = (old.box.left, old.box.top) == (new.box.left, new.box.top)
    same_size = (old.box.width, old.box.height) == (new.box.width, new.box.height)
    near = abs(old.box.left - new.box.left) <= 2 and abs(old.box.top - new.box.top) <= 2
    return (
        3 * (old.label == new.label and bool(new.label))
        + 1 * (old.text == new.text)
        + 2 * same_place
        + 1 * (near and not same_place)
        + 1 * same_size
        + 1 * (old.role == new.role and old.type == new.type)
    )
