"""Which kind of element something is, and whether the reference's tag categories allow it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from uiproof.benchmarks.interaction2code.categories import category_of, tag_categories
from uiproof.browser.snapshots import Element, Snapshot

_WRAPPED = 0.5  # share of an element that the control in it takes up

# Categories that say how an element works; the others only say what it looks like.
WORKING = frozenset(
    ("button", "link", "input", "textarea", "select", "option", "datalist", "detail", "summary")
) | {"progress"}
_SYNONYMS = {
    **dict.fromkeys(("div", "section", "container", "card", "nav", "header", "li", "ul"), "area"),
    **dict.fromkeys(("a", "anchor", "hyperlink"), "link"),
    **dict.fromkeys(("checkbox", "radio", "slider", "range", "switch", "search"), "input"),
    **dict.fromkeys(("img", "svg", "icon", "picture", "canvas"), "image"),
    **dict.fromkeys(("p", "h1", "h2", "h3", "h4", "heading", "paragraph"), "text"),
    **dict.fromkeys(("dropdown", "combobox", "listbox"), "select"),
    "details": "detail",
    "btn": "button",
    "tab": "button",
}
_ALIKE = ({"select", "option", "datalist"}, {"detail", "summary"}, {"input", "progress"})


def kinds_of(element: Element, snapshot: Snapshot) -> tuple[str, ...]:
    """The tag categories of an element, by its tag, its role, and what it holds or is held by."""
    by_ref = {one.ref: one for one in snapshot.elements}
    chain = [element]
    while chain[-1].parent in by_ref and len(chain) < 6:
        chain.append(by_ref[chain[-1].parent])
    inside_refs = {element.ref}
    inside: list[Element] = []
    for one in snapshot.elements:
        if one.parent in inside_refs:
            inside_refs.add(one.ref)
            inside.append(one)
    found = set(tag_categories(chain, inside)) | {category_of(element)}
    found |= _wrapped(element, inside)
    # A link that is drawn like a button is a link all the same.
    if element.tag == "a":
        found.add("link")
        if element.role != "button":
            found.discard("button")
    return tuple(sorted(found))


def _wrapped(element: Element, inside: Sequence[Element]) -> set[str]:
    """The kind of the control that an element is no more than a wrapper of."""
    if category_of(element) not in ("area", "span", "form"):
        return set()
    area = element.box.width * element.box.height
    controls = [one for one in inside if category_of(one) in WORKING]
    large = [one for one in controls if one.box.width * one.box.height >= _WRAPPED * area]
    return {category_of(one) for one in large}


def trigger_tags(tags: Sequence[str], sentence: str) -> Sequence[str]:
    """The tag categories that are the trigger's: some data sets also list those of the effect.

    Where the sentence calls it one of them (click the "Log in" button), it is that one.
    """
    outside = re.sub(r"[\"“'‘][^\"”'’]*[\"”'’]", " ", sentence.lower())
    said = set(re.findall(r"[a-z]+", outside))
    working = [one for one in tags if _category(one) in WORKING]
    called = [one for one in working if _category(one) in {_category(word) for word in said}]
    return called if called and len(working) > 1 else tags


def _category(name: str) -> str:
    plain = name.strip().lower()
    return _SYNONYMS.get(plain, plain)


def kind_fits(tags: Iterable[str], kinds: Sequence[str], *, alike: bool) -> bool:
    """Whether an element of these kinds is one that the reference's tag categories allow."""
    wanted = {_category(one) for one in tags if one.strip()}
    given = set(kinds)
    for group in _ALIKE:
        if wanted & group:
            wanted |= group
    if not wanted or wanted & given:
        return True
    if wanted & WORKING:
        return False
    # What only looks like something may be a button or a link, unless all else is as it was.
    return not given & (WORKING if alike else WORKING - {"button", "link"})


def is_button_for_area(tags: Iterable[str], kinds: Sequence[str]) -> bool:
    """Whether the reference's element only looks like something, and this is a button or a link."""
    working = set(kinds) & WORKING
    return (
        bool(working)
        and working <= {"button", "link"}
        and not {_category(one) for one in tags} & WORKING
    )
