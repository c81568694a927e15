"""The kinds of an element, by its tag, its role and its content, compared with the reference's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from uiproof.benchmarks.interaction2code.categories import category_of, tag_categories
from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.browser.snapshots import Element, Snapshot


def chain_of(snapshot: Snapshot, element: Element, most: int) -> list[Element]:
    """Return an element and those that it is in, from the inside out."""
    by_ref = {one.ref: one for one in snapshot.elements}
    chain = [element]
    while (up := chain[-1].parent) in by_ref and len(chain) < most:
        chain.append(by_ref[up])
    return chain


def kinds_of(element: Element, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the tag categories of an element, by its tag, its role, its content and its frame."""
    inside = snapshot.inside(element)
    found = set(tag_categories(chain_of(snapshot, element, 6), inside)) | {category_of(element)}
    if category_of(element) in ("area", "span", "form"):
        # A mere wrapper is of the kind of the control that fills it.
        least = const.WRAPPED * element.box.area
        found |= {category_of(one) for one in inside if one.box.area >= least} & const.WORKING
    # A link that is drawn like a button is a link all the same.
    if element.tag == "a":
        found.add("link")
        if element.role != "button":
            found.discard("button")
    return tuple(sorted(found))


def trigger_tags(tags: Sequence[str], sentence: str) -> Sequence[str]:
    """Return the tag categories that are the trigger's: some data sets add those of the effect.

    Where the sentence calls it one of them (click the "Log in" button), it is that one.
    """
    outside = re.sub(r"[\"“'‘][^\"”'’]*[\"”'’]", " ", sentence.lower())
    named = {_category(word) for word in re.findall(r"[a-z]+", outside)}
    working = [one for one in tags if _category(one) in const.WORKING]
    called = [one for one in working if _category(one) in named]
    return called if called and len(working) > 1 else tags


def kind_fits(tags: Iterable[str], kinds: Sequence[str], *, alike: bool) -> bool:
    """Return whether the reference's tag categories allow an element of these kinds."""
    wanted = {_category(one) for one in tags if one.strip()}
    given = set(kinds)
    for group in const.ALIKE_TAGS:
        if wanted & group:
            wanted |= group
    if not wanted or wanted & given:
        return True
    if wanted & const.WORKING:
        return False
    # A mere area or text may be a button or a link, unless all else is as it was.
    return not given & (const.WORKING if alike else const.WORKING - {"button", "link"})


def _category(name: str) -> str:
    plain = name.strip().lower()
    return const.TAG_SYNONYMS.get(plain, plain)


def name_of(element: Element | None) -> str:
    """Return a name of an element: its id, else its tag and label."""
    if element is None:
        return "a part without an element"
    if element.id:
        return f"#{element.id}"
    label = element.label.strip()[:30]
    return f"<{element.tag}> “{label}”" if label else f"<{element.tag}>"
