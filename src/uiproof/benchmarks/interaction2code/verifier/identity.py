"""Is the element of the generated page the one that the reference acts on?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import median

from uiproof.benchmarks.interaction2code.categories import category_of, tag_categories
from uiproof.benchmarks.interaction2code.verifier import looks, wording
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    ReferenceEvidence,
)
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Element, Snapshot

NEAR = 28  # pixels: on pages that look the same nothing moves so far by chance
FAR = 0.12  # of the page's width, or of the window's height: on pages that do not
_SAME_LOOK = 0.85
_SEARCH = 12  # pixels around an element in which its picture is looked for
_NEIGHBOURS = 6
_LEAST_SIDE = 3

# Categories that say how an element works; the others only say what it looks like.
_WORKING = frozenset(
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


@dataclass(frozen=True, slots=True)
class Identity:
    """How the element that was found compares with the one that the reference acts on."""

    visible: bool
    at_place: bool
    same_look: bool
    same_text: bool
    still_there: bool  # what the reference acts on is at its place, and is another element
    same_kind: bool
    shift: tuple[int, int]  # from the reference's place to the found one
    kinds: tuple[str, ...]
    on_place: bool = True  # not only near the reference's place, but on it

    @property
    def same_element(self) -> bool:
        """Whether it looks or reads like the reference's."""
        return self.same_look or self.same_text


def identify(
    reference: ReferenceEvidence, generated: GeneratedEvidence, found: Element, *, close: bool
) -> Identity:
    """Compare the found element with the reference's trigger."""
    kinds = kinds_of(found, generated.snapshot)
    visible = is_visible(reference, generated, found)
    trigger = reference.trigger
    if trigger is None or not visible:
        same_kind = kind_fits(reference.tags, kinds, alike=close)
        text = reference.name is not None and reads_like(reference.name, found.label)
        return Identity(visible, True, trigger is None, text, False, same_kind, (0, 0), kinds)
    shift = _shift(trigger, found.box)
    at_place = _at_place(shift, trigger, found.box, reference, generated, found, close=close)
    same_look = looks_like(reference, generated, found)
    same_kind = kind_fits(reference.tags, kinds, alike=close or same_look)
    same_text = same_look or _same_text(reference, found)  # reading takes time
    still_there = not at_place and _still_there(reference, generated, trigger, found)
    on_place = max(map(abs, shift)) <= NEAR or _overlap(trigger, found.box) >= 0.2
    return Identity(
        visible, at_place, same_look, same_text, still_there, same_kind, shift, kinds, on_place
    )


def is_visible(
    reference: ReferenceEvidence, generated: GeneratedEvidence, element: Element
) -> bool:
    """Whether a person can see an element: it has a size, is on the page, and shows something."""
    box = element.box
    if box.width < _LEAST_SIDE or box.height < _LEAST_SIDE:
        return False
    shown = looks.crop(generated.before, box)
    if shown.shape[0] < _LEAST_SIDE or shown.shape[1] < _LEAST_SIDE:
        return False
    height, width = generated.before.shape[:2]
    if not looks.is_blank(looks.crop(generated.before, looks.grown(box, 2, width, height))):
        return True
    # Nothing is drawn there. That is as it should be where the reference has a blank area too.
    trigger = reference.trigger
    return trigger is not None and looks.is_blank(looks.crop(reference.before, trigger))


def is_gone(reference: ReferenceEvidence, generated: GeneratedEvidence, found: Element) -> bool:
    """Whether something else was found, and where the reference's trigger is nothing is drawn.

    A label is found for its check box, a paragraph for a field that was in it.
    """
    trigger = reference.trigger
    if trigger is None or found.id.lower().startswith("interact"):
        return False
    across, down = min(trigger.width // 3, 10), min(trigger.height // 3, 10)
    core = PixelBox(
        trigger.left + across, trigger.top + down, trigger.right - across, trigger.bottom - down
    )
    return looks.is_blank(looks.crop(generated.before, core)) and not looks.is_blank(
        looks.crop(reference.before, core)
    )


def reads_like(name: str, label: str) -> bool:
    """Whether a label is a name, perhaps with something added to it."""
    a, b = wording.plain(name), wording.plain(label)
    if not a or not b:
        return False
    if wording.likeness(a, b) >= wording.ALIKE:
        return True
    shorter, longer = sorted((a, b), key=len)
    return len(shorter) >= 3 and shorter in longer and len(longer) <= 2 * len(shorter) + 4


def looks_like(
    reference: ReferenceEvidence, generated: GeneratedEvidence, element: Element
) -> bool:
    """Whether an element looks like the reference's trigger, pixel for pixel."""
    assert reference.trigger is not None
    patch = looks.crop(reference.before, reference.trigger)
    if looks.is_blank(patch):
        shown = looks.crop(generated.before, element.box)
        return looks.is_blank(shown) and _similar_size(reference.trigger, element.box)
    # Marks are drawn a little outside of elements.
    reach = _SEARCH + max(reference.trigger.width - element.box.width, 0)
    reach = max(reach, _SEARCH + max(reference.trigger.height - element.box.height, 0))
    height, width = generated.before.shape[:2]
    around = looks.grown(element.box, min(reach, 60), width, height)
    place = looks.find(patch, generated.before, within=around)
    if place is None or place.fit < _SAME_LOOK:
        return False
    there = generated.before[
        place.top : place.top + patch.shape[0], place.left : place.left + patch.shape[1]
    ]
    # A field of buttons is alike in everything but the letters: those must agree.
    return not looks.clusters(looks.differing(patch, there), least=3 * looks.SPECK)


def _similar_size(one: PixelBox, other: PixelBox) -> bool:
    ratio = (one.width * one.height) / max(other.width * other.height, 1)
    return 0.4 <= ratio <= 2.5


def _same_text(reference: ReferenceEvidence, found: Element) -> bool:
    if reference.name is not None and reads_like(reference.name, found.label):
        return True
    if not wording.plain(found.label):
        return False
    return reads_like(trigger_text(reference), found.label)


def trigger_text(reference: ReferenceEvidence) -> str:
    """What is written on the reference's trigger."""
    if reference.read is None or reference.trigger is None:
        return reference.name or ""
    height, width = reference.before.shape[:2]
    area = looks.grown(reference.trigger, 4, width, height)
    if area.width * area.height > 400_000:
        return reference.name or ""
    return " ".join(line.text for line in reference.read(looks.crop(reference.before, area)))


def _shift(trigger: PixelBox, box: PixelBox) -> tuple[int, int]:
    """The least displacement of a corner or the middle: elements also grow where they stand."""
    pairs = (
        (box.left - trigger.left, box.top - trigger.top),
        (box.right - trigger.right, box.top - trigger.top),
        (box.left - trigger.left, box.bottom - trigger.bottom),
        (
            (box.left + box.right - trigger.left - trigger.right) // 2,
            (box.top + box.bottom - trigger.top - trigger.bottom) // 2,
        ),
    )
    return min(pairs, key=lambda pair: hypot(*pair))


def _at_place(
    shift: tuple[int, int],
    trigger: PixelBox,
    box: PixelBox,
    reference: ReferenceEvidence,
    generated: GeneratedEvidence,
    found: Element,
    *,
    close: bool,
) -> bool:
    if max(abs(shift[0]), abs(shift[1])) <= NEAR or _overlap(trigger, box) >= 0.5:
        return True
    if close:
        return False
    pushed = _neighbours_shift(reference, generated, found)
    if pushed is not None:
        shift = shift[0] - pushed[0], shift[1] - pushed[1]
        if max(abs(shift[0]), abs(shift[1])) <= NEAR:
            return True
    across, down = FAR * generated.viewport[0], max(FAR * generated.viewport[1], 100)
    return abs(shift[0]) <= across and abs(shift[1]) <= down


def _overlap(one: PixelBox, other: PixelBox) -> float:
    across = min(one.right, other.right) - max(one.left, other.left)
    down = min(one.bottom, other.bottom) - max(one.top, other.top)
    if across <= 0 or down <= 0:
        return 0.0
    shared = across * down
    return shared / (one.width * one.height + other.width * other.height - shared)


def _neighbours_shift(
    reference: ReferenceEvidence, generated: GeneratedEvidence, found: Element
) -> tuple[int, int] | None:
    """How far the elements around an element are from where they are in the reference."""
    related = family(generated.snapshot, found)
    others = [
        one
        for one in generated.snapshot.elements
        if one.ref not in related
        and one.text.strip()
        and 8 <= one.box.width <= 500
        and 8 <= one.box.height <= 80
    ]
    others.sort(key=lambda one: hypot(*_shift(found.box, one.box)))
    shifts: list[tuple[int, int]] = []
    for one in others[:_NEIGHBOURS]:
        place = looks.find(looks.crop(generated.before, one.box), reference.before)
        if place is not None and place.fit >= 0.9:
            shifts.append((one.box.left - place.left, one.box.top - place.top))
    if len(shifts) < 2:
        return None
    return round(median(x for x, _ in shifts)), round(median(y for _, y in shifts))


def _still_there(
    reference: ReferenceEvidence,
    generated: GeneratedEvidence,
    trigger: PixelBox,
    found: Element,
) -> bool:
    patch = looks.crop(reference.before, trigger)
    if looks.is_blank(patch) or _overlap(trigger, found.box) > 0.3:
        return False
    height, width = generated.before.shape[:2]
    place = looks.find(patch, generated.before, within=looks.grown(trigger, NEAR, width, height))
    if place is None or place.fit < _SAME_LOOK:
        return False
    there = generated.before[
        place.top : place.top + patch.shape[0], place.left : place.left + patch.shape[1]
    ]
    return not looks.clusters(looks.differing(patch, there), least=3 * looks.SPECK)


def family(snapshot: Snapshot, element: Element) -> set[int]:
    """The numbers of an element, of those around it and of those in it."""
    parents = {one.ref: one.parent for one in snapshot.elements}
    refs = {element.ref}
    up: int | None = element.parent
    while up is not None and up not in refs:
        refs.add(up)
        up = parents.get(up)
    inside = {element.ref}
    for one in snapshot.elements:
        if one.parent in inside:
            inside.add(one.ref)
    return refs | inside


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
    # A link that is drawn like a button is a link all the same.
    if element.tag == "a":
        found.add("link")
        if element.role != "button":
            found.discard("button")
    return tuple(sorted(found))


def kind_fits(tags: Iterable[str], kinds: Sequence[str], *, alike: bool) -> bool:
    """Whether an element of these kinds is one that the reference's tag categories allow."""
    named = {one.strip().lower() for one in tags if one.strip()}
    wanted = {_SYNONYMS.get(one, one) for one in named}
    given = set(kinds)
    for group in _ALIKE:
        if wanted & group:
            wanted |= group
    if not wanted or wanted & given:
        return True
    if wanted & _WORKING:
        return False
    # What only looks like something may be a button or a link, unless all else is as it was.
    return not given & (_WORKING if alike else _WORKING - {"button", "link"})
