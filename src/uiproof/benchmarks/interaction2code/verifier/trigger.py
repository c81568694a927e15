"""The trigger: is the element of the generated page the one that the reference acts on?

Also the opposite: acts that have nothing to do with the trigger.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import median

from uiproof.benchmarks.interaction2code.categories import category_of, tag_categories
from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier import pixels, text_compare
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    Outcome,
    ReferenceEvidence,
    Target,
)
from uiproof.browser.snapshots import Action, Element, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb


@dataclass(frozen=True, slots=True)
class Identity:
    """The element that was found, compared with the one that the reference acts on."""

    visible: bool
    at_place: bool
    same_look: bool
    same_text: bool
    still_there: bool  # the reference's element is at its place, and is another one
    same_kind: bool
    shift: tuple[int, int]  # from the reference's place to the found one
    kinds: str
    by_id: bool
    on_place: bool = True  # not only near the reference's place, but on it
    near: bool = True  # at least so near that another kind of element explains the distance
    stranger: bool = False  # the reference has the same thing at the same place: it is another one

    @property
    def same_element(self) -> bool:
        """Return whether it looks or reads like the reference's."""
        return self.same_look or self.same_text

    @property
    def lost(self) -> bool:
        """Return whether it is another element, and the reference's is not at its place."""
        return not self.same_element and not self.still_there


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
    visible, by_id = _is_visible(reference, generated, found), generated.found_by == "id"
    trigger, tags = reference.trigger, trigger_tags(reference.tags, reference.sentence)
    if trigger is None or not visible:
        same_kind = kind_fits(tags, kinds, alike=alike)
        text = reference.name is not None and text_compare.reads_like(reference.name, found.label)
        return Identity(
            visible, True, trigger is None, text, False, same_kind, (0, 0), listed(kinds), by_id
        )
    pair = _Pair(reference, generated, trigger, found)
    shift = _shift(trigger, found.box)
    at_place = pair.at_place(shift, close=close)
    same_look = pair.same_look()
    same_kind = kind_fits(tags, kinds, alike=alike or same_look)
    pressed = set(kinds) & const.WORKING <= {"button", "link"}  # not a field, used otherwise
    if at_place and ((same_look and pressed) or pair.styled_so(tags, kinds)):
        same_kind = True  # a button and a link that look the same are no different to a person
    if reference.action.kind == "drag" and _is_no_slider(reference, found):
        same_kind = False
    # OCR is slow: last.
    same_text = same_look or pair.same_look(recoloured=True) or _same_text(reference, found)
    there = pair.still_there()
    known = (there or not same_look) and pair.is_in_reference()
    stranger = not same_look and known
    return Identity(
        visible,
        at_place,
        same_look,
        same_text,
        # Of things that look alike it is another one if the reference has both.
        still_there=there and (not same_look or (known and not at_place)),
        same_kind=same_kind,
        shift=shift,
        kinds=listed(kinds),
        by_id=by_id,
        on_place=max(map(abs, shift)) <= const.NEAR or trigger.iou(found.box) >= 0.2,
        near=_gap(trigger, found.box) <= const.BESIDE_TRIGGER and not stranger,
        stranger=stranger,
    )


def is_gone(reference: ReferenceEvidence, generated: GeneratedEvidence, found: Element) -> bool:
    """Return whether something else was found, and nothing is drawn at the trigger's place.

    A label is found for its check box, a paragraph for a field that was in it.
    """
    trigger = reference.trigger
    if trigger is None or found.id.lower().startswith("interact"):
        return False
    across, down = min(trigger.width // 3, 10), min(trigger.height // 3, 10)
    core = PixelBox(
        trigger.left + across, trigger.top + down, trigger.right - across, trigger.bottom - down
    )
    return pixels.is_blank(pixels.crop(generated.before, core)) and not pixels.is_blank(
        pixels.crop(reference.before, core)
    )


def trigger_text(reference: ReferenceEvidence) -> str:
    """Return the text on the reference's trigger."""
    if reference.read is None or reference.trigger is None:
        return reference.name or ""
    area = _grown(reference.trigger, 4, reference.before)
    if area.area > 400_000:
        return reference.name or ""
    return " ".join(line.text for line in reference.read(pixels.crop(reference.before, area)))


def listed(names: Iterable[str]) -> str:
    """Join some names."""
    return " and ".join(sorted(names)) or "nothing"


def chain_of(snapshot: Snapshot, element: Element, most: int) -> list[Element]:
    """Return an element and those that it is in, from the inside out."""
    by_ref = {one.ref: one for one in snapshot.elements}
    chain = [element]
    while (up := chain[-1].parent) in by_ref and len(chain) < most:
        chain.append(by_ref[up])
    return chain


def family(snapshot: Snapshot, element: Element) -> set[int]:
    """Return the numbers of an element, of those around it and of those in it."""
    parents = {one.ref: one.parent for one in snapshot.elements}
    refs = {element.ref}
    up: int | None = element.parent
    while up is not None and up not in refs:
        refs.add(up)
        up = parents.get(up)
    return refs | {one.ref for one in snapshot.inside(element)}


# --- place and look


def _is_visible(
    reference: ReferenceEvidence, generated: GeneratedEvidence, element: Element
) -> bool:
    """Return whether an element has a size, is on the page, and shows something."""
    box = element.box
    if min(box.width, box.height) < const.LEAST_SIDE:
        return False
    if min(pixels.crop(generated.before, box).shape[:2]) < const.LEAST_SIDE:
        return False
    around = _grown(box, 2, generated.before)
    if not pixels.is_blank(pixels.crop(generated.before, around)):
        return True
    # A blank element is as it should be where the reference has a blank area too.
    trigger = reference.trigger
    return trigger is not None and pixels.is_blank(pixels.crop(reference.before, trigger))


@dataclass(frozen=True, slots=True)
class _Pair:
    """The place of the reference's trigger, and the element that was found."""

    reference: ReferenceEvidence
    generated: GeneratedEvidence
    trigger: PixelBox
    found: Element

    def same_look(self, *, recoloured: bool = False) -> bool:
        """Return whether the element looks like the trigger, with `recoloured` in any colours."""
        page, box = self.generated.before, self.found.box
        patch = pixels.crop(self.reference.before, self.trigger)
        if pixels.is_blank(patch):
            ratio = self.trigger.area / max(box.area, 1)
            return pixels.is_blank(pixels.crop(page, box)) and 0.4 <= ratio <= 2.5
        # Marks are drawn a little outside of elements.
        larger = max(self.trigger.width - box.width, self.trigger.height - box.height, 0)
        around = _grown(box, min(const.LOOK_REACH + larger, 60), page)
        place = pixels.find(patch, page, least=const.SAME_LOOK, within=around)
        if place is None or place.same_letters(page):
            return place is not None
        # On another background the same symbol has other colours.
        return recoloured and pixels.same_drawing(patch, pixels.crop(page, place.box), slack=0.04)

    def styled_so(self, tags: Iterable[str], kinds: Sequence[str]) -> bool:
        """Return whether a button or a link has the size and colours of a mere area or text."""
        working = set(kinds) & const.WORKING
        mere = not {_category(one) for one in tags} & const.WORKING
        if not (mere and working and working <= {"button", "link"}):
            return False
        if not _same_text(self.reference, self.found):
            return False
        trigger, box = self.trigger, self.found.box
        size = max(abs(trigger.width - box.width), abs(trigger.height - box.height))
        mine = pixels.crop(self.generated.before, box)
        theirs = pixels.crop(self.reference.before, trigger)
        return (
            size <= const.MARK_MARGIN
            and pixels.ground_distance(mine, theirs) <= const.SAME_GROUND
            and pixels.letter_distance(mine, theirs) <= const.SAME_LETTERS
        )

    def at_place(self, shift: tuple[int, int], *, close: bool) -> bool:
        """Return whether the element is at the trigger's place, as far as layouts allow."""
        if max(map(abs, shift)) <= const.NEAR or self.trigger.iou(self.found.box) >= 0.5:
            return True
        if close:
            return False
        pushed = self._neighbours_shift()
        if pushed is not None:
            shift = shift[0] - pushed[0], shift[1] - pushed[1]
            if max(map(abs, shift)) <= const.NEAR:
                return True
        width, height = self.generated.viewport
        down = max(const.FAR * height, 100)
        return abs(shift[0]) <= const.FAR * width and abs(shift[1]) <= down

    def _neighbours_shift(self) -> tuple[int, int] | None:
        """Return how far the elements around are from their places in the reference."""
        snapshot = self.generated.snapshot
        related = family(snapshot, self.found)
        others = [
            one
            for one in snapshot.elements
            if one.ref not in related
            and one.text.strip()
            and 8 <= one.box.width <= 500
            and 8 <= one.box.height <= 80
        ]
        others.sort(key=lambda one: hypot(*_shift(self.found.box, one.box)))
        shifts: list[tuple[int, int]] = []
        for one in others[: const.NEIGHBOURS]:
            patch = pixels.crop(self.generated.before, one.box)
            place = pixels.find(patch, self.reference.before, least=const.ALIGN_FIT)
            if place is not None:
                shifts.append((one.box.left - place.left, one.box.top - place.top))
        if len(shifts) < 2:
            return None
        return round(median(x for x, _ in shifts)), round(median(y for _, y in shifts))

    def still_there(self) -> bool:
        """Return whether the trigger is at its place, and another element was found."""
        patch, page = pixels.crop(self.reference.before, self.trigger), self.generated.before
        if pixels.is_blank(patch) or self._share_middle():
            return False
        around = _grown(self.trigger, const.NEAR, page)
        place = pixels.find(patch, page, least=const.SAME_LOOK, within=around)
        return place is not None and place.same_letters(page)

    def is_in_reference(self) -> bool:
        """Return whether the reference has this element too: it does not replace the trigger."""
        patch, page = pixels.crop(self.generated.before, self.found.box), self.reference.before
        named = len(text_compare.plain(self.found.label)) >= 3
        if pixels.is_blank(patch) or (not named and self._share_middle()):
            return False
        # Something with a name may also have been pushed, by what is missing, to where that was.
        reach = const.NAMED_REACH if named else const.LOOK_REACH
        around = _grown(self.found.box, reach, page)
        place = pixels.find(patch, page, least=const.SAME_LOOK, within=around)
        return place is not None and place.same_letters(page)

    def _share_middle(self) -> bool:
        """Return whether the middle of one of the boxes is in the other."""
        one, other = self.trigger, self.found.box
        return other.contains(*one.centre) or one.contains(*other.centre)


def _grown(box: PixelBox, by: int, page: Rgb) -> PixelBox:
    return pixels.grown(box, by, page.shape[1], page.shape[0])


def _is_no_slider(reference: ReferenceEvidence, found: Element) -> bool:
    """Return whether the reference drags a slider and this is a field of another type."""
    slider = "input" in {one.strip().lower() for one in reference.tags}
    return slider and found.tag == "input" and found.type != "range"


def _same_text(reference: ReferenceEvidence, found: Element) -> bool:
    if reference.name is not None and text_compare.reads_like(reference.name, found.label):
        return True
    if not text_compare.plain(found.label):
        return False
    return text_compare.reads_like(trigger_text(reference), found.label)


def _shift(trigger: PixelBox, box: PixelBox) -> tuple[int, int]:
    """Return the least displacement of a corner or the middle: elements also grow in place."""
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


def _gap(one: PixelBox, other: PixelBox) -> float:
    """Return how far two boxes are apart, from edge to edge."""
    across = max(one.left - other.right, other.left - one.right, 0)
    down = max(one.top - other.bottom, other.top - one.bottom, 0)
    return hypot(across, down)


# --- kind


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


# --- neutral acts, for negative controls


@dataclass(frozen=True, slots=True)
class NeutralActs:
    """The same act, on places and with keys that have nothing to do with the element."""

    reference: ReferenceEvidence
    generated: GeneratedEvidence
    found: Element
    outcome: Outcome

    def choose(self) -> tuple[Sequence[Target], Action]:
        """Return where to act instead of on the element, and how; no places if that is futile."""
        action = self.reference.action
        # Where the reference shows the element, a larger one that lies over all is a fraud.
        meant = self.reference.trigger or self.found.box
        if self._is_page(meant):
            # The whole page is the element. Its keys are those of the page, its wheel moves it.
            if action.kind == "key":
                return [self.found], self._other_keys()
            return ([], action) if action.kind != "scroll" else (self._places(), Action("hover"))
        told = self.outcome.changes
        shows = (*told.appeared, *told.retexted, *told.recoloured)
        if told.vanished and not shows and not told.new_page:
            return [], action  # menus and windows also close when something else is clicked
        if action.kind == "key":
            return [self.found], self._other_keys()
        if action.kind == "type":
            typed = re.findall(r"[A-Za-z0-9]", action.value or "")[:5] or ["a", "b"]
            return self._places(), Action("key", " ".join(typed))
        if action.kind == "select":
            return self._places(), Action("click")
        return self._places(), action

    def _other_keys(self) -> Action:
        wanted = (self.reference.action.value or "").casefold()
        field = self.found.tag in ("input", "textarea", "select") or _is_editable(self.found)
        keys = (*const.NEUTRAL_KEYS, *(() if field else ("q",)))
        return Action("key", " ".join(one for one in keys if one.casefold() != wanted))

    def _is_page(self, box: PixelBox) -> bool:
        width, height = self.generated.viewport
        return box.area >= const.PAGE_SHARE * width * height

    def _places(self) -> list[Target]:
        """Return up to two points of the window, one with and one without letters.

        They are far from the element, and neither on a control nor in a part of the page that the
        element is in.
        """
        around = {one.ref for one in chain_of(self.generated.snapshot, self.found, 50)}
        trigger = self.reference.trigger
        avoided = [] if trigger is None else [trigger]
        if trigger is None or not self._is_page(self.found.box):
            avoided.append(self.found.box)
        letters = []
        for one in self.generated.snapshot.elements:
            if one.ink is not None:
                letters.append(one.ink.box)
            if (one.ref in around or _is_control(one)) and not self._is_page(one.box):
                avoided.append(one.box)
        x, y = self.found.box.centre
        free = [
            point
            for point in self._grid()
            if not any(_holds(box, point, const.APART) for box in avoided)
        ]
        free.sort(key=lambda point: -hypot(point[0] - x, point[1] - y))
        written = [one for one in free if any(_holds(box, one, -1) for box in letters)]
        blank = [one for one in free if not any(_holds(box, one, 0) for box in letters)]
        return [*written[:1], *blank[:1]]

    def _grid(self) -> Iterator[tuple[float, float]]:
        left, top = self.generated.snapshot.scroll
        width, height = self.generated.viewport
        rows, columns = const.GRID
        for row in range(rows):
            for column in range(columns):
                yield (
                    left + const.EDGE + (width - 2 * const.EDGE) * (column + 0.5) / columns,
                    top + const.EDGE + (height - 2 * const.EDGE) * (row + 0.5) / rows,
                )


def _is_control(element: Element) -> bool:
    return (
        element.tag in const.CONTROLS
        or element.role in const.CONTROL_ROLES
        or (bool(element.listeners) and element.tag not in ("html", "body"))
        or element.style.get("cursor") == "pointer"
        or element.attributes.get("draggable") == "true"
        or _is_editable(element)
    )


def _is_editable(element: Element) -> bool:
    return element.attributes.get("contenteditable", "false") != "false"


def _holds(box: PixelBox, point: tuple[float, float], margin: int) -> bool:
    across = box.left - margin <= point[0] < box.right + margin
    return across and box.top - margin <= point[1] < box.bottom + margin
