"""Which element of one snapshot is which element of another."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from uiproof.browser.snapshots import Element, Snapshot

_ENOUGH = 3  # how much two elements must have in common to be the same one, made anew


@dataclass(frozen=True)
class Pairs:
    """Elements before with the same elements after."""

    before: dict[int, Element]
    after: dict[int, Element]
    after_of: dict[int, int] = field(default_factory=dict)  # ref before -> ref after
    before_of: dict[int, int] = field(default_factory=dict)  # ref after -> ref before

    def add(self, before: Element, after: Element) -> None:
        """Take two elements as the same."""
        self.after_of[before.ref] = after.ref
        self.before_of[after.ref] = before.ref

    def all(self) -> list[tuple[Element, Element]]:
        """Every pair, in the order after."""
        return [
            (self.before[self.before_of[ref]], element)
            for ref, element in self.after.items()
            if ref in self.before_of
        ]

    @property
    def new(self) -> list[Element]:
        """Elements that were not there before."""
        return [element for ref, element in self.after.items() if ref not in self.before_of]

    @property
    def gone(self) -> list[Element]:
        """Elements that are not there any more."""
        return [element for ref, element in self.before.items() if ref not in self.after_of]


def match(before: Snapshot, after: Snapshot) -> Pairs:
    """Pair elements by identity, and those that a script made anew by what they look like."""
    pairs = Pairs(
        {element.ref: element for element in before.elements},
        {element.ref: element for element in after.elements},
    )
    for ref, element in pairs.after.items():
        if ref in pairs.before:
            pairs.add(pairs.before[ref], element)
    _match_by_id(pairs)
    _match_by_place(pairs)
    return pairs


def _match_by_id(pairs: Pairs) -> None:
    gone = defaultdict(list)
    for element in pairs.gone:
        if element.id:
            gone[element.tag, element.id].append(element)
    for element in pairs.new:
        same = gone.get((element.tag, element.id), [])
        if len(same) == 1:
            pairs.add(same.pop(), element)


def _match_by_place(pairs: Pairs) -> None:
    """Go down from paired parents: among their children, the most alike belong together."""
    gone: dict[tuple[int | None, str], list[Element]] = defaultdict(list)
    for element in pairs.gone:
        gone[element.parent, element.tag].append(element)
    new: dict[tuple[int | None, str], list[Element]] = defaultdict(list)
    for element in pairs.new:
        new[element.parent, element.tag].append(element)
    # Parents come before their children, so that pairs found here lead further down.
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
