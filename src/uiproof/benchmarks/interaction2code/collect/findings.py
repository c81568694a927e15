"""Findings: the effects of actions on a page. Which are trivial, the same, or meaningful."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

from uiproof.benchmarks.interaction2code.categories import (
    FIELDS,
    category_of,
    own_value_changed,
)
from uiproof.benchmarks.interaction2code.visible import colour_step, visible_recolouring
from uiproof.browser.snapshots import Action, Changes, Element, Events, Snapshot
from uiproof.vision.images import decode

_HOVER_STEP = 40  # of 255: on hover a smaller change of colour is a shade
_HOVER_AREA = 1_500  # square pixels that must change colour on hover
_HOVER_SHIFT = 8  # pixels: less is a lift
_HOVER_GROWTH = 0.05
_PIXELS = 400  # that must differ where nothing but pixels does
_TINY = 100  # square pixels
# Of two actions with the same effect the more natural one is kept.
_NATURAL = {"hover": 0, "click": 1, "select": 1, "type": 1, "drag": 2, "scroll": 2, "key": 3}
_TEXT_TYPES = frozenset({"", "text", "search", "email", "password", "url", "tel", "number"})
_CONTROLS = frozenset({"button", "link", "label", "summary", "select", "option", "input"})
_BY_VISUAL = {
    **{"new window": 1.0, "new component": 0.8, "switch": 0.7, "position": 0.6, "new page": 0.6},
    **{"text": 0.5, "size": 0.5, "color": 0.4},
}
# Roles and states of parts of a component: each part is a separate interaction, and they mean
# more than links of the site around the component.
_PART_ROLES = frozenset(
    {
        *("tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "switch", "checkbox"),
        *("radio", "treeitem", "combobox", "slider", "spinbutton", "gridcell", "listbox"),
    }
)
_PART_STATES = frozenset({"aria-expanded", "aria-pressed", "aria-selected", "aria-checked"})
_VALUED = frozenset({"slider", "spinbutton"})  # keys set a value that may only be drawn
_DRAWN_STATES = ("aria-checked", "aria-pressed", "aria-selected")
_PART_BONUS = 0.5
_LINK_COST = 0.5
_OPENED_SHARE = 0.6  # of its worth counts for an interaction inside what another one opened
_OPENED_REPEATED_SHARE = 0.5  # the same for what menus and folders hold, which is much alike
_REPEATED_SHARE = 0.8  # the same for each further interaction of elements made by one rule
# These are rare, and should not be lost among the clicks.
_BY_KIND = {"type": 0.3, "select": 0.4, "drag": 0.4, "key": 0.3, "scroll": 0.2}


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """An action on an element and everything that it changed.

    A pointer that goes to an element hovers over it first. What that alone does is no effect of
    clicking: `hovered` is the page in that state, and `changes` counts from there.
    """

    element: Element
    action: Action
    sure: bool  # the element itself looks interactive
    before: bytes  # PNG of the page as it was loaded
    after: bytes
    hovered: bytes  # PNG; the same as `before` for everything but clicks
    snapshot: Snapshot  # where `changes` counts from
    later: Snapshot
    changes: Changes
    events: Events
    tags: tuple[str, ...]
    visuals: tuple[str, ...]
    opener: Finding | None = None  # the interaction that opened what this one acts on

    @property
    def effect_key(self) -> tuple[object, ...]:
        """Return a key that is equal for actions with the same effect on the same elements."""
        changed = self.changes
        if changed.new_page:
            return ("new page", self.later.url)
        pairs = (*changed.moved, *changed.resized, *changed.retexted, *changed.restated)
        return (
            frozenset((one.tag, one.label, one.box) for one in changed.appeared),
            frozenset((one.tag, one.label, one.box) for one in changed.vanished),
            frozenset(
                (new.tag, new.label, new.box)
                for old, new in pairs
                if not own_value_changed((old, new), self.element)
            ),
            frozenset(new.box for _, new in changed.recoloured if new.ref != self.element.ref),
        )

    @property
    def outcome(self) -> frozenset[tuple[object, ...]]:
        """Return what is there, gone, or in another state, whatever it looks like."""
        changed = self.changes
        pairs = (*changed.retexted, *changed.restated)
        return frozenset(
            (
                # Elements are numbered when they are first seen: new ones have no fixed number.
                *((one.tag, one.label, one.box) for one in changed.appeared),
                *((one.ref, "vanished") for one in changed.vanished),
                *((new.ref, new.text, *sorted(new.state.items())) for _, new in pairs),
            )
        )


def is_part(element: Element) -> bool:
    """Return whether an element is a part of a component by its role or state."""
    return (
        element.role in _PART_ROLES
        or element.tag == "summary"
        or bool(_PART_STATES & set(element.state))
        or bool({"aria-controls", "aria-haspopup", "popovertarget"} & set(element.attributes))
    )


def leaves_page(finding: Finding) -> bool:
    """Return whether a link, or a form sent to another window, only leads to another document."""
    element, events = finding.element, finding.events
    if category_of(element) == "link" or element.tag == "area":
        windows = () if element.listeners else events.windows
        return finding.changes.new_page or bool(events.navigations or windows)
    is_sent = bool(events.windows) and element.type in {"submit", "image"}
    return is_sent and not (element.listeners or events.mutations)


def is_trivial(finding: Finding) -> bool:
    """Return whether an effect is too slight, or too natural, to be an interaction.

    - nothing that can be seen
    - only lines, shadows, cursors, or a shade, a lift or a slight growth on hover
    - a field that shows what was typed or chosen, or that it has the focus, a box that shows its
      tick, and nothing else
    - scrolling that only scrolls, a link that only scrolls
    """
    changes, kind = finding.changes, finding.action.kind
    if changes.new_page:
        return finding.events.navigations == () and kind == "scroll"
    if finding.after == finding.hovered or not finding.visuals:
        return True
    if changes == Changes():
        return False  # only pixels differ, and enough of them
    if kind != "scroll" and finding.later.scroll != finding.snapshot.scroll:
        # A link or a key to further down; code may also bring into view what it chose.
        jumps = finding.element.tag in {"a", "body"} and not finding.element.listeners
        if jumps or not finding.outcome:
            return True
    if kind == "scroll":
        return not finding.events.mutations or not set(finding.visuals) - {"position"}
    if kind == "hover":
        return not (_content_changed(finding) or _hover_is_visible(finding))
    is_moved = kind == "key" and finding.element.role not in _VALUED
    if is_moved and is_part(finding.element) and not finding.outcome:
        return set(finding.visuals) <= {"color", "size"}  # only the focus moved, in its own look
    return not (_content_changed(finding) or _is_visible(finding))


def strong_difference(before: bytes, after: bytes) -> bool:
    """Return whether two pictures differ in enough pixels, and enough to be seen."""
    from uiproof.vision.difference import difference

    mask = difference(decode(before), decode(after), tolerance=_HOVER_STEP)
    return int(mask.sum()) >= _PIXELS


def _content_changed(finding: Finding) -> bool:
    """Return whether anything appeared, vanished or changed its text."""
    if {"new window", "text"} & set(finding.visuals):
        return True
    looks = (*finding.changes.appeared, *finding.changes.vanished)
    return any(one.box.area >= _TINY for one in looks)


def _hover_is_visible(finding: Finding) -> bool:
    changes, states = finding.changes, (finding.snapshot, finding.later)
    recoloured = sum(
        new.box.area
        for old, new in visible_recolouring(changes, *states)
        if colour_step(old, new, *states) >= _HOVER_STEP and _fills(old, new)
    )
    shifts = (
        max(abs(old.box.left - new.box.left), abs(old.box.top - new.box.top))
        for old, new in changes.moved
    )
    if recoloured >= _HOVER_AREA or max(shifts, default=0) >= _HOVER_SHIFT:
        return True
    return "size" in finding.visuals and any(
        abs(new.box.width - old.box.width) >= _HOVER_GROWTH * old.box.width
        or abs(new.box.height - old.box.height) >= _HOVER_GROWTH * old.box.height
        for old, new in changes.resized
    )


def _is_visible(finding: Finding) -> bool:
    """Return whether more changed than the state of the element itself."""
    changes, own = finding.changes, _own(finding)
    # Skip native ticks: the browser draws them. Keep states that the page draws itself.
    if any(
        old.state.get(name) != new.state.get(name) and new.tag not in (*FIELDS, "option")
        for old, new in changes.restated
        for name in _DRAWN_STATES
    ):
        return True
    if any(new.ref not in own for _, new in (*changes.moved, *changes.resized)):
        return True
    if any(new.ref not in own for _, new in changes.restated if new.tag != "select"):
        return True
    if "position" in finding.visuals or "size" in finding.visuals:
        return True
    link = finding.element.tag == "a"  # turns another colour when it has the focus or was visited
    focused = _focused(finding)
    return any(
        not (link and new.ref == finding.element.ref and not _fills(old, new))
        and new.ref not in focused
        for old, new in visible_recolouring(changes, finding.snapshot, finding.later)
    )


def _focused(finding: Finding) -> set[int]:
    """Return what got or lost the focus; how it looks then is no effect of the action.

    Around a text field, its box and label count as well. What the page's code changed itself is an
    effect, but for fields.
    """
    by_ref = {one.ref: one for one in finding.later.elements}
    field, former = (by_ref.get(one.focus or 0) for one in (finding.later, finding.snapshot))
    refs: set[int] = set()
    if field is not None and field.tag in FIELDS and field.type in _TEXT_TYPES:
        refs = {field.ref, *([field.parent] if field.parent else []), finding.element.ref}
    elif field is not None and field.tag != "body" and not finding.events.mutations:
        refs = {field.ref, *(one.ref for one in finding.later.inside(field))}
    if former is not None and former.tag != "body" and former.ref != finding.later.focus:
        lost = {former.ref, *(one.ref for one in finding.later.inside(former))}
        refs |= lost if finding.element.ref not in lost else set()
    return refs


def _own(finding: Finding) -> set[int]:
    """Return the element, and a box to tick in it or around it."""
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
    """Return whether more than the letters changed colour."""
    other = ("background-image", "opacity", "filter", "fill")
    return old.background != new.background or any(
        old.style.get(name) != new.style.get(name) for name in other
    )


def choose(
    findings: Iterable[Finding], tree: Tree, most: int, *, links: bool = False
) -> tuple[list[Finding], Counter[str]]:
    """Return the findings to keep, parts of components first, and how many others by reason.

    Links that only leave the page are kept with `links`. What another interaction opened is kept
    only with that one.
    """
    found = list(findings)
    staying = found if links else [one for one in found if not leaves_page(one)]
    dropped = Counter({"leaves the page": len(found) - len(staying)})
    single = _without_duplicates(staying, tree, dropped)
    kept = _best(single, tree, most)
    dropped["others mean more"] = len(single) - len(kept)
    return kept, +dropped


def _without_duplicates(
    findings: Iterable[Finding], tree: Tree, dropped: Counter[str]
) -> list[Finding]:
    """Return one finding out of each group of equals, in their order; count the others.

    The same are: the same kind of action on the same element; actions that lead to the same
    picture or do the same to the same elements (an icon and its button, a label and its box); and
    the same action on elements made by one rule that does the same kind of thing (ten cards with
    one hover effect), except for the parts of a component, such as its tabs.
    """
    tries: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for one in findings:
        opener = one.opener.element.ref if one.opener else 0
        key = one.action.value if one.action.kind == "key" else None  # each does something else
        tries[opener, one.element.ref, one.action.kind, key].append(one)
    dropped["same action"] += sum(len(group) - 1 for group in tries.values())
    tried = [max(group, key=significance) for group in tries.values()]

    def single(
        found: list[Finding],
        reason: str,
        same: Callable[[Finding, Finding, Tree], bool],
        prefers: Callable[[Finding, Finding, Tree], bool],
    ) -> list[Finding]:
        kept: list[Finding] = []
        for one in found:
            place = next((n for n, old in enumerate(kept) if same(old, one, tree)), None)
            if place is None:
                kept.append(one)
            elif prefers(one, kept[place], tree):
                kept[place] = one
        dropped[reason] += len(found) - len(kept)
        return kept

    distinct = single(tried, "same effect", _same_effect, _prefers)
    return single(
        distinct,
        "like another",
        _same_rule,
        lambda one, old, _: len(one.visuals) > len(old.visuals),
    )


def _same_rule(one: Finding, other: Finding, tree: Tree) -> bool:
    if one.action.kind != other.action.kind or one.opener is not other.opener:
        return False
    if tree.rule_key(one.element) != tree.rule_key(other.element):
        return False
    if one.action.kind == "click":
        if is_part(one.element) and one.element.label != other.element.label:
            return False
        return one.visuals == other.visuals  # buttons in a row look alike and do other things
    few, many = sorted((set(one.visuals), set(other.visuals)), key=len)
    return few <= many


def _same_effect(one: Finding, other: Finding, tree: Tree) -> bool:
    if one.after == other.after:
        return True
    if "key" in (one.action.kind, other.action.kind) and one.outcome:
        return one.outcome == other.outcome  # a click leaves the pointer where it was
    if one.effect_key != other.effect_key:
        return False
    nested = tree.is_in(one.element, other.element) or tree.is_in(other.element, one.element)
    return nested or one.action.kind != other.action.kind or "new page" in one.visuals


def _prefers(new: Finding, old: Finding, tree: Tree) -> bool:
    """Return whether a person would name the newer of two findings with the same effect."""
    if _NATURAL[new.action.kind] != _NATURAL[old.action.kind]:
        return _NATURAL[new.action.kind] < _NATURAL[old.action.kind]
    if new.sure != old.sure:
        return new.sure
    if new.action.kind != "hover":
        is_control = category_of(new.element) in _CONTROLS
        if is_control != (category_of(old.element) in _CONTROLS):
            return is_control
    elif not new.sure:
        # Only an ancestor listens, for whatever is below the pointer.
        return tree.is_in(new.element, old.element)
    # The outer one: a card rather than its title, a button rather than its icon.
    return tree.is_in(old.element, new.element)


def significance(finding: Finding) -> float:
    """Return how much an interaction means, by kind and area of change and new words."""
    visuals = sorted((_BY_VISUAL.get(name, 0.0) for name in finding.visuals), reverse=True)
    score = sum(value * 0.5**place for place, value in enumerate(visuals))
    width, height = finding.later.size
    looks = (*finding.changes.appeared, *(new for _, new in finding.changes.recoloured))
    changed = sum(one.box.area for one in looks)
    score += 0.5 * sqrt(min(changed / max(width * height, 1), 1.0))
    score += min(len(_words(finding.later) - _words(finding.snapshot)), 20) / 40
    score += _BY_KIND.get(finding.action.kind, 0.0) + (0.1 if finding.sure else 0.0)
    score += _PART_BONUS if is_part(finding.element) else 0.0
    score -= _LINK_COST if leaves_page(finding) else 0.0
    return score * (1.0 if finding.opener is None else _OPENED_SHARE)


def _words(snapshot: Snapshot) -> set[str]:
    return {word for one in snapshot.elements for word in re.findall(r"\w+", one.text.lower())}


def _best(findings: list[Finding], tree: Tree, most: int) -> list[Finding]:
    """Return the interactions that mean most: parts of components first, in the page's order."""
    chosen: list[Finding] = []
    waiting = list(findings)
    alike: Counter[tuple[object, ...]] = Counter()

    def repeated(one: Finding) -> tuple[object, ...]:
        return (one.opener is None, one.action.kind, *tree.rule_key(one.element))

    def worth(one: Finding) -> float:
        share = _REPEATED_SHARE if one.opener is None else _OPENED_REPEATED_SHARE
        return significance(one) * share ** alike[repeated(one)]

    def with_opened(finding: Finding) -> list[Finding]:
        inside = [one for one in chosen if one.opener is finding]
        return [finding, *(other for one in inside for other in with_opened(one))]

    while waiting and len(chosen) < most:
        ready = [one for one in waiting if one.opener is None or one.opener in chosen]
        if not ready:
            break
        one = max(ready, key=worth)
        alike[repeated(one)] += 1
        waiting.remove(one)
        chosen.append(one)
    first = sorted(
        (one for one in chosen if one.opener is None),
        key=lambda one: (
            not is_part(one.element),
            one.action.kind == "hover" and one.visuals == ("color",),
            one.element.box.top // 8,
            one.element.box.left,
        ),
    )
    return [other for one in first for other in with_opened(one)]


class Tree:
    """Parents, children and look-alikes of elements in document order."""

    def __init__(self, elements: Sequence[Element]) -> None:
        self.elements = elements
        self._by_ref = {one.ref: one for one in elements}

    def parent(self, element: Element) -> Element | None:
        """Return the nearest visible element around an element."""
        return None if element.parent is None else self._by_ref.get(element.parent)

    def chain(self, element: Element) -> list[Element]:
        """Return the element and those around it, from the inside out."""
        found, at = [element], self.parent(element)
        while at is not None:
            found.append(at)
            at = self.parent(at)
        return found

    def inside(self, element: Element) -> list[Element]:
        """Return the elements in an element, at any depth."""
        found, waiting = [], [element]
        while waiting:
            found.append(waiting.pop())
            waiting += reversed(self._children.get(found[-1].ref, []))
        return found[1:]

    def is_in(self, element: Element, other: Element) -> bool:
        """Return whether an element is inside another one, or is it."""
        return any(one.ref == other.ref for one in self.chain(element))

    def rule_key(self, element: Element) -> tuple[object, ...]:
        """Return a key that is equal for elements that seem to be made by the same rule."""
        parent = self.parent(element)
        return (
            *(element.tag, element.role, element.type, parent.tag if parent else ""),
            *(len(self.chain(element)), element.listeners, bool(element.text)),
            *(element.style.get("font-size"), element.style.get("position")),
        )

    def look_key(self, element: Element) -> tuple[object, ...]:
        """Return a key that is equal for elements of one rule that look alike now."""
        look = tuple(element.style.get(name) for name in ("cursor", "font-weight", "opacity"))
        return (*self.rule_key(element), look, element.color, element.background)

    def repeats(self, element: Element) -> bool:
        """Return whether an element has siblings of its kind."""
        siblings = self._children.get(element.parent or -1, [])
        kind = self.rule_key(element)
        return sum(self.rule_key(one) == kind for one in siblings) > 1

    @cached_property
    def page_listeners(self) -> tuple[str, ...]:
        """Return the events that the page as a whole listens to."""
        return next((one.listeners for one in self.elements if one.tag == "html"), ())

    @cached_property
    def _children(self) -> dict[int, list[Element]]:
        found = defaultdict[int, list[Element]](list)
        for one in self.elements:
            found[-1 if one.parent is None else one.parent].append(one)
        return found
