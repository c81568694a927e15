"""One interaction out of many that are the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from uiproof.benchmarks.interaction2code.categories import category_of
from uiproof.benchmarks.interaction2code.collect.findings import Finding
from uiproof.benchmarks.interaction2code.collect.ranking import meaning
from uiproof.benchmarks.interaction2code.collect.tree import Tree

_NATURAL = {
    "hover": 0,
    "click": 1,
    "select": 1,
    "type": 1,
    "drag": 2,
    "scroll": 2,
    "key": 3,
}  # of two actions with the same effect the more natural one is kept
_CONTROLS = frozenset({"button", "link", "label", "summary", "select", "option", "input"})


def without_duplicates(findings: Iterable[Finding], tree: Tree) -> list[Finding]:
    """The findings with one out of each group, in the order in which they were made.

    The same are: the same kind of action on the same element; actions that lead to the same
    picture or do the same to the same elements (an icon and its button, a label and its box); and
    the same action on elements made by one rule that does the same kind of thing (ten cards with
    one hover effect).
    """
    tries: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for one in findings:
        tries[(one.element.ref, one.action.kind)].append(one)
    kept: list[Finding] = []
    for one in (max(group, key=meaning) for group in tries.values()):
        twin = next((old for old in kept if _same_effect(old, one, tree)), None)
        if twin is None:
            kept.append(one)
        elif _prefers(one, twin, tree):
            kept[kept.index(twin)] = one
    single: list[Finding] = []
    for one in kept:
        twin = next((old for old in single if _same_rule(old, one, tree)), None)
        if twin is None:
            single.append(one)
        elif len(one.visuals) > len(twin.visuals):
            single[single.index(twin)] = one
    return single


def _same_rule(one: Finding, other: Finding, tree: Tree) -> bool:
    if one.action.kind != other.action.kind or tree.kin(one.element) != tree.kin(other.element):
        return False
    if one.action.kind == "click":
        return one.visuals == other.visuals  # buttons in a row look alike and do other things
    few, many = sorted((set(one.visuals), set(other.visuals)), key=len)
    return few <= many


def _same_effect(one: Finding, other: Finding, tree: Tree) -> bool:
    if one.after == other.after:
        return True
    if one.effect_key != other.effect_key:
        return False
    nested = tree.is_in(one.element, other.element) or tree.is_in(other.element, one.element)
    return nested or one.action.kind != other.action.kind or "new page" in one.visuals


def _prefers(new: Finding, old: Finding, tree: Tree) -> bool:
    """Whether of two findings with the same effect the newer one is what a person would name."""
    if _NATURAL[new.action.kind] != _NATURAL[old.action.kind]:
        return _NATURAL[new.action.kind] < _NATURAL[old.action.kind]
    if new.sure != old.sure:
        return new.sure
    if new.action.kind != "hover":
        is_control = category_of(new.element) in _CONTROLS
        if is_control != (category_of(old.element) in _CONTROLS):
            return is_control
    elif not new.sure:
        # Only something further up listens, for what is right below the pointer.
        return tree.is_in(new.element, old.element)
    # What is around: a card rather than its title, a button rather than its icon.
    return tree.is_in(old.element, new.element)
