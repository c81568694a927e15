"""Is the element of the generated page the one that the reference acts on?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from statistics import median

from uiproof.benchmarks.interaction2code.verifier import looks, wording
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    ReferenceEvidence,
)
from uiproof.benchmarks.interaction2code.verifier.tagkinds import (
    WORKING,
    is_button_for_area,
    kind_fits,
    kinds_of,
    trigger_tags,
)
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Element, Snapshot

NEAR = 28  # pixels: on pages that look the same nothing moves so far by chance
FAR = 0.12  # of the page's width, or of the window's height: on pages that do not
_SAME_LOOK = 0.85
_SEARCH = 12  # pixels around an element in which its picture is looked for
_NEIGHBOURS = 6
_BESIDE = 60  # pixels between an element and the place of one of another kind that it replaces
_PUSHED = 240  # pixels around an element in which the reference may show it
_LEAST_SIDE = 3
_MARK = 14  # pixels by which a mark is larger than its element, at most
_SAME_GROUND = 8  # of 255: browsers draw buttons on a gray that is twice as far from white
_SAME_LETTERS = 48  # of 255


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
    near: bool = True  # at least so near that another kind of element explains the distance
    stranger: bool = False  # the reference has the same thing at the same place: it is another one

    @property
    def same_element(self) -> bool:
        """Whether it looks or reads like the reference's."""
        return self.same_look or self.same_text


def identify(
    reference: ReferenceEvidence,
    generated: GeneratedEvidence,
    found: Element,
    *,
    close: bool,
    alike: bool,
) -> Identity:
    """Compare the found element with the reference's trigger.

    Pages that are `close` look the same; on those that are `alike` the same things lie elsewhere.
    """
    kinds = kinds_of(found, generated.snapshot)
    visible = is_visible(reference, generated, found)
    trigger, tags = reference.trigger, trigger_tags(reference.tags, reference.sentence)
    if trigger is None or not visible:
        same_kind = kind_fits(tags, kinds, alike=alike)
        text = reference.name is not None and reads_like(reference.name, found.label)
        return Identity(visible, True, trigger is None, text, False, same_kind, (0, 0), kinds)
    shift = _shift(trigger, found.box)
    at_place = _at_place(shift, trigger, found.box, reference, generated, found, close=close)
    same_look = looks_like(reference, generated, found)
    same_kind = kind_fits(tags, kinds, alike=alike or same_look)
    pressed = set(kinds) & WORKING <= {"button", "link"}  # not a field, which is used otherwise
    alike_here = same_look and pressed
    if at_place and (alike_here or _is_styled_so(reference, generated, found, tags, kinds)):
        same_kind = True  # nobody sees a difference between a button and a link that looks so
    if reference.action.kind == "drag" and _is_no_slider(reference, found):
        same_kind = False
    same_text = (
        same_look
        or looks_like(reference, generated, found, recoloured=True)
        or _same_text(reference, found)  # reading takes time
    )
    there = _still_there(reference, generated, trigger, found)
    known = (there or not same_look) and _is_in_reference(reference, generated, trigger, found)
    # Of things that look alike it is another one if the reference has both.
    still_there = there and (not same_look or (known and not at_place))
    on_place = max(map(abs, shift)) <= NEAR or _overlap(trigger, found.box) >= 0.2
    near = _gap(trigger, found.box) <= _BESIDE
    stranger = not same_look and known
    return Identity(
        visible,
        at_place,
        same_look,
        same_text,
        still_there,
        same_kind,
        shift,
        kinds,
        on_place,
        near and not stranger,
        stranger,
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
    reference: ReferenceEvidence,
    generated: GeneratedEvidence,
    element: Element,
    *,
    recoloured: bool = False,
) -> bool:
    """Whether an element looks like the reference's trigger, if need be in other colours."""
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
    if not looks.clusters(looks.differing(patch, there), least=3 * looks.SPECK):
        return True
    # On another ground the same sign has other colours.
    return recoloured and looks.same_drawing(patch, there, slack=0.04)


def _is_styled_so(
    reference: ReferenceEvidence,
    generated: GeneratedEvidence,
    found: Element,
    tags: Sequence[str],
    kinds: Sequence[str],
) -> bool:
    """Whether a button or a link has the size and the colours of what only looks like something."""
    assert reference.trigger is not None
    if not is_button_for_area(tags, kinds) or not _same_text(reference, found):
        return False
    trigger, box = reference.trigger, found.box
    size = max(abs(trigger.width - box.width), abs(trigger.height - box.height))
    mine, theirs = looks.crop(generated.before, box), looks.crop(reference.before, trigger)
    ground = abs(looks.background(mine) - looks.background(theirs)).max()
    letters = abs(looks.foreground(mine) - looks.foreground(theirs)).max()
    return size <= _MARK and ground <= _SAME_GROUND and letters <= _SAME_LETTERS


def _similar_size(one: PixelBox, other: PixelBox) -> bool:
    ratio = (one.width * one.height) / max(other.width * other.height, 1)
    return 0.4 <= ratio <= 2.5


def _is_no_slider(reference: ReferenceEvidence, found: Element) -> bool:
    """Whether the reference drags a slider and this is a field of another type."""
    slider = "input" in {one.strip().lower() for one in reference.tags}
    return slider and found.tag == "input" and found.type != "range"


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


def _holds_middle(one: PixelBox, other: PixelBox) -> bool:
    """Whether the middle of one of two boxes is in the other."""
    x, y = (one.left + one.right) / 2, (one.top + one.bottom) / 2
    u, v = (other.left + other.right) / 2, (other.top + other.bottom) / 2
    return (other.left <= x < other.right and other.top <= y < other.bottom) or (
        one.left <= u < one.right and one.top <= v < one.bottom
    )


def _gap(one: PixelBox, other: PixelBox) -> float:
    """How far two boxes are apart, from edge to edge."""
    across = max(one.left - other.right, other.left - one.right, 0)
    down = max(one.top - other.bottom, other.top - one.bottom, 0)
    return hypot(across, down)


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
    if looks.is_blank(patch) or _holds_middle(trigger, found.box):
        return False
    height, width = generated.before.shape[:2]
    place = looks.find(patch, generated.before, within=looks.grown(trigger, NEAR, width, height))
    if place is None or place.fit < _SAME_LOOK:
        return False
    there = generated.before[
        place.top : place.top + patch.shape[0], place.left : place.left + patch.shape[1]
    ]
    return not looks.clusters(looks.differing(patch, there), least=3 * looks.SPECK)


def _is_in_reference(
    reference: ReferenceEvidence, generated: GeneratedEvidence, trigger: PixelBox, found: Element
) -> bool:
    """Whether the reference has this element too, so that it did not replace the trigger."""
    patch = looks.crop(generated.before, found.box)
    named = len(wording.plain(found.label)) >= 3
    if looks.is_blank(patch) or (not named and _holds_middle(trigger, found.box)):
        return False
    height, width = reference.before.shape[:2]
    # Something with a name may also have been pushed, by what is missing, to where that was.
    reach = _PUSHED if named else _SEARCH
    around = looks.grown(found.box, reach, width, height)
    place = looks.find(patch, reference.before, within=around)
    if place is None or place.fit < _SAME_LOOK:
        return False
    there = reference.before[
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
