"""The effect as a whole: all changes together, held against all changes of the reference.

Pixels tell whether two changes are the same; where they are not, words tell how far they are from
it: `recall` is the share of the reference's new words that are there, `precision` the share of the
new words that are the reference's. Peers are elements of one kind, such as fields, cards and rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from uiproof.benchmarks.interaction2code.graph import VISUAL_CATEGORIES
from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier import pixels, text_compare
from uiproof.benchmarks.interaction2code.verifier.changes import (
    Assessment,
    ElementChange,
    Kind,
    Status,
    colour_status,
    colours_agree,
    leaves,
    recoloured_alike,
    recoloured_elsewhere,
    says_the_same,
    shown_and_absent,
    stays_as_it_was,
    tight_box,
)
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask, ReferenceEvidence
from uiproof.benchmarks.interaction2code.verifier.scene import Scene
from uiproof.benchmarks.interaction2code.verifier.text_compare import TextChanges
from uiproof.browser.snapshots import Element
from uiproof.geometry import PixelBox


@dataclass(frozen=True, slots=True)
class Effect:
    """The changes of a generated page, judged by pixels and words together."""

    scene: Scene
    changes: tuple[ElementChange, ...]
    right_share: float  # of the reference's change
    texts: TextChanges | None = None  # None without OCR
    recall: float | None = None  # None where the reference shows no new words
    precision: float | None = None  # None where the generated page shows no new words

    def having(self, *statuses: Status) -> list[ElementChange]:
        """Return the changes that were judged so."""
        return [one for one in self.changes if one.status in statuses]

    @property
    def shows_its_words(self) -> bool:
        """Return whether the new words are the reference's."""
        return (self.precision or 0) >= const.SAME_WORDS

    @property
    def same(self) -> bool:
        """Return whether both show the same new words."""
        return (self.recall or 0) >= const.ALL_WORDS and self.shows_its_words

    @property
    def lacks_words(self) -> bool:
        """Return whether some of the reference's new words are missing."""
        return self.recall is not None and self.recall < const.ALL_WORDS

    # --- numbers

    @property
    def other_numbers(self) -> bool:
        """Return whether a change unlike the reference's shows another number."""
        if self.texts is None:
            return False
        shown = (word for one in self.having("wrong") for word in text_compare.words(one.texts))
        mine = {word for word in shown if text_compare.has_digit(word)}
        theirs = {word for word in self.texts.reference_came if text_compare.has_digit(word)}
        known = set(text_compare.words(line.text for line in self.texts.lines))
        return bool(theirs - mine) and bool(mine - theirs - known)

    @property
    def stale_number(self) -> bool:
        """Return whether a number stays as it was that the reference replaces by another."""
        if self.texts is None:
            return False
        texts = self.texts
        old = {one for one in texts.reference_went if one.isdigit()} - set(texts.went)
        new = {one for one in texts.reference_came if one.isdigit()} - set(texts.came)
        return bool(old and new)

    @property
    def opposite_numbers(self) -> bool:
        """Return whether numbers fall where the reference's rise, or the other way."""
        if self.texts is None:
            return False
        theirs = text_compare.number_step(self.texts.reference_went, self.texts.reference_came)
        return theirs * text_compare.number_step(self.texts.went, self.texts.came) < 0

    # --- single changes

    def existing(self, *statuses: Status) -> list[ElementChange]:
        """Return changes of elements that were there before, more than a frame or a push."""
        return [
            one
            for one in self.having(*statuses)
            if one.before is not None
            and not one.is_new
            and one.kinds & {"recoloured", "retexted", "vanished", "moved"}
        ]

    def in_right_row(self, change: ElementChange) -> bool:
        """Return whether elements beside this one are rightly recoloured: it belongs to them."""
        right = [one.element for one in self.having("right") if "recoloured" in one.kinds]
        rows = {one.parent for one in right if one is not None}
        element = change.element
        return element is not None and "retexted" not in change.kinds and element.parent in rows

    def rearranged(self, change: ElementChange) -> bool:
        """Return whether an element has texts of others before: it was made anew, and gave way."""
        old = {one.text for one in self.scene.snapshot.elements}
        return bool(change.texts) and old.issuperset(change.texts)

    def faded(self, change: ElementChange) -> bool:
        """Return whether most of an element looks different without another colour or place."""
        if change.element is None or change.kinds != {"restyled"}:
            return False
        part = pixels.crop(self.scene.changed, change.box)
        return part.size > 0 and float(part.mean()) > const.HALF

    def shrinks_instead(self, change: ElementChange) -> bool:
        """Return whether an element becomes smaller where the reference's becomes larger."""
        if "resized" not in change.kinds or change.before is None or change.after is None:
            return False
        scene = self.scene
        around = scene.zone(change.before, const.GROWTH) & ~scene.zone(change.before, 2)
        smaller = change.after.area < change.before.area
        return smaller and bool(pixels.clusters(scene.reference_changed & around))

    def within_the_new(self, change: ElementChange) -> bool:
        """Return whether something new is inside of a new part of the reference, unless a page."""
        box, most = change.box, 0.3 * self.scene.area
        return change.is_new and any(
            part.box.area <= most
            and pixels.grown(part.box, const.AROUND, 10**6, 10**6).encloses(box)
            for part in self.scene.reference_parts()
        )

    def closed_a_gap(self, change: ElementChange) -> bool:
        """Return whether something begins at its place, or is one of a list's items."""
        if self.texts is not None and any(
            not text_compare.farther(one, const.AWAY)
            for one in _text_shifts(self.scene, self.texts, change)
        ):
            return True
        return change.is_new and any(
            _beside(one.box, change.box) and _is_next_of(one, change)
            for one in self.scene.snapshot.elements
        )

    def is_another_element(self, change: ElementChange) -> bool:
        """Return whether an element that was there before is not the one the reference changes.

        It had a text that the reference still shows, or it is drawn without a text: a field.
        """
        if any(change.gone):
            return self.texts is None or not _changes_there_too(change, self.texts)
        if change.before is None:
            return False
        around = pixels.crop(self.scene.before, self.scene.inside(change.before, 3))
        return not pixels.is_blank(around)

    def overwritten(self, change: ElementChange) -> Element | None:
        """Return the element that something new replaced, if the reference leaves it there."""
        going = self.texts.reference_went if self.texts is not None else None
        for gone in self.scene.outcome.changes.vanished if going is not None else ():
            shared = gone.box.overlap(change.box)
            if not shared or shared < const.HALF * min(gone.box.area, change.box.area):
                continue
            share = text_compare.found_share([gone.label], going or ()) or 0
            if gone.label.strip() and share < const.SAME_WORDS:
                return gone
        return None

    # --- the whole

    @property
    def only_hides(self) -> bool:
        """Return whether things went or were emptied, and the rest only follows from that."""
        rest = [one for one in self.changes if not one.hides]
        return len(rest) < len(self.changes) and all(
            not one.kinds - {"resized", "moved", "restyled"} for one in rest
        )

    @property
    def only_recolours(self) -> bool:
        """Return whether the reference shows or hides words, and the page recolours things."""
        texts = self.texts
        if texts is None or not (texts.reference_came or texts.reference_went):
            return False
        return not any(
            one.is_new or one.texts or one.gone or "moved" in one.kinds for one in self.changes
        )

    @property
    def only_empties(self) -> bool:
        """Return whether the words go that the reference replaces, and none come."""
        return self.precision is None and self.removes_its_words

    @property
    def removes_words(self) -> bool:
        """Return whether words go."""
        return self.texts is not None and bool(self.texts.went)

    @property
    def removes_its_words(self) -> bool:
        """Return whether words go that the reference removes too."""
        return self.texts is not None and self.texts.gone_share >= const.SAME_WORDS

    def misplaced(self) -> str | None:
        """Return a new line of the reference that is there, but nowhere near its place."""
        texts, scene = self.texts, self.scene
        before, after = scene.snapshot.elements, scene.outcome.snapshot.elements
        old, new = (Counter(one.text for one in elements) for elements in (before, after))
        kept = {(one.ref, one.text) for one in before}
        right = self.having("right")
        for line in texts.lines if texts is not None else ():
            if not pixels.clusters(pixels.crop(scene.error, line.box), least=const.TRACE):
                continue
            share = text_compare.found_share([line.text], texts.reference_came if texts else ())
            if (share or 0) < const.SAME_WORDS:
                continue
            shifts = [
                text_compare.line_shift(leaf.box, line.box, scene.offset(leaf.box))
                for leaf in after
                if leaf.text.strip()
                and (leaf.ref, leaf.text) not in kept
                and not (
                    text_compare.similarity(leaf.text, line.text) < const.ALIKE_TEXT
                    and any(leaf.box.overlap(one.box) for one in right)
                )
                and new[leaf.text] > old[leaf.text]
                and text_compare.same_line(leaf.text, line.text)
            ]
            if shifts and all(text_compare.farther(one, const.AWAY_BEFORE) for one in shifts):
                return line.text[:40]
        return None

    def texts_in_reference(self) -> tuple[int, int]:
        """Count the texts of wrong changes that the reference shows too, and the others."""
        counts = [shown_and_absent(self.scene, one) for one in self.having("wrong")]
        return sum(shown for shown, _ in counts), sum(absent for _, absent in counts)

    def covered(self) -> float:
        """Return the share of the reference's change where the page changes at all."""
        theirs = self.scene.reference_changed
        there = theirs & pixels.widened(self.scene.changed, 5)
        return int(there.sum()) / max(int(theirs.sum()), 1)


def compare_words(
    scene: Scene, texts: TextChanges | None, assessed: Assessment, *, dragged: bool
) -> Effect:
    """Judge by words again what is not the same by pixels."""
    if texts is None:
        return Effect(scene, assessed.changes, assessed.right_share)
    weighty = tuple(one for one in assessed.changes if not _is_trifle(one)) or assessed.changes
    if not scene.close:
        return Effect(scene, weighty, assessed.right_share, texts, texts.recall, texts.precision)
    judged = tuple(_judge(scene, texts, one) for one in weighty)
    # OCR may have misread what looks the same.
    alike = [text for one in judged if one.status == "right" for text in one.texts]
    given = (*texts.came, *alike, *unharmed_lines(scene, texts))
    wanted = (*texts.reference_came, *alike)
    if dragged:  # how far, and so to which number, is arbitrary
        masked = text_compare.masked_numbers
        recall = text_compare.found_share(masked(texts.reference_came), masked(given))
        precision = text_compare.found_share(masked(texts.came), masked(wanted))
    else:
        recall = text_compare.found_share(text_compare.certain(texts.reference_came), given)
        precision = text_compare.found_share(texts.came, wanted)
    return Effect(scene, judged, assessed.right_share, texts, recall, precision)


def unharmed_lines(scene: Scene, texts: TextChanges) -> list[str]:
    """Return new lines of the reference where the generated page looks the same."""
    return [
        line.text
        for line in texts.new_lines
        if not pixels.clusters(pixels.crop(scene.error, line.box), least=const.TRACE)
    ]


def _is_trifle(change: ElementChange) -> bool:
    """Return whether a change only follows from others: a shadow, a column that is wider."""
    old, new = change.before, change.after
    if change.element is None:
        return True
    if change.kinds - {"moved", "resized", "restyled"} or old is None or new is None:
        return False
    sides = (
        old.left - new.left,
        old.top - new.top,
        old.right - new.right,
        old.bottom - new.bottom,
    )
    return any(sides) and max(map(abs, sides)) <= const.TRIFLE


def _judge(scene: Scene, texts: TextChanges, change: ElementChange) -> ElementChange:
    if change.status == "right" or change.after is None:
        return change
    if not any(change.texts):
        return _judge_colour(scene, texts, change) if "recoloured" in change.kinds else change
    if not says_the_same(texts, change):
        return change
    shifts = _text_shifts(scene, texts, change)
    if not shifts:
        part = change.is_new and _is_reference_part(scene, scene.inside(change.box))
        return replace(change, status="right") if part else change
    shift = round(median(x for x, _ in shifts)), round(median(y for _, y in shifts))
    far = const.AWAY
    if _changes_there_too(change, texts):
        # It is the reference's own element. Others may push it elsewhere or not, and its place
        # before may be a matter of layout.
        far = const.AWAY_BEFORE
        shift = _shift_before(scene, texts, change) or (0, 0)
    if text_compare.farther(shift, far):
        return replace(change, status="elsewhere", shift=shift)
    # What was the same before has to be the same afterwards, to the pixel.
    if change.status == "wrong" and was_same(scene, change) and not change.is_new:
        return change
    return replace(change, status="right", shift=shift)


def _judge_colour(scene: Scene, texts: TextChanges, change: ElementChange) -> ElementChange:
    if change.status != "elsewhere" and (
        ("moved" not in change.kinds and recoloured_elsewhere(scene, texts, change))
        or recoloured_alike(scene, change)
    ):
        return replace(change, status="right")
    if change.status != "wrong" or was_same(scene, change):
        return change
    box = scene.inside(change.box)
    there = scene.inside(pixels.shifted(box, scene.offset(change.before or box)))
    return replace(change, status=colour_status(scene, box, there))


def was_same(scene: Scene, change: ElementChange) -> bool:
    """Return whether both pages look the same around an element before the act."""
    place = change.before or change.box
    part = pixels.crop(scene.static, scene.inside(place, 8))
    return scene.offset(place) == (0, 0) and not pixels.clusters(part)


def _changes_there_too(change: ElementChange, texts: TextChanges) -> bool:
    """Return whether the words that an element lost go in the reference too."""
    if any(
        text_compare.same_line(text, line.text)
        and change.before is not None
        and change.before.overlap(line.box)
        for text in change.gone
        for line in texts.lines
    ):
        return False  # the reference still shows it there
    left = text_compare.words(change.texts)
    gone = [word for word in text_compare.words(change.gone) if not _is_left(word, left)]
    return (text_compare.found_share(gone, texts.reference_went) or 0) >= const.SAME_WORDS


def _is_left(word: str, left: Sequence[str]) -> bool:
    return word in left or (
        len(word) > 3 and any(text_compare.similarity(word, one) > const.SAME_WORD for one in left)
    )


def _is_reference_part(scene: Scene, box: PixelBox) -> bool:
    """Return whether something is where one of the reference's changes is, and as large."""
    return any(
        max(
            abs(box.left - part.box.left),
            abs(box.top - part.box.top),
            abs(box.right - part.box.right),
            abs(box.bottom - part.box.bottom),
        )
        <= const.AWAY / 2
        for part in scene.reference_parts()
    )


def _text_shifts(scene: Scene, texts: TextChanges, change: ElementChange) -> list[tuple[int, int]]:
    """Return how far each text of an element is from where the reference newly shows it."""
    offset = scene.offset(change.before or change.box)
    found: list[tuple[int, int]] = []
    for leaf in leaves(scene, change):
        mine = tight_box(scene.after, leaf.box)
        shift = text_compare.shortest(
            text_compare.line_shift(mine, line.box, offset)
            for line in texts.new_lines
            if text_compare.same_line(leaf.text, line.text)
        )
        if shift is not None:
            found.append(shift)
    return found


def _shift_before(
    scene: Scene, texts: TextChanges, change: ElementChange
) -> tuple[int, int] | None:
    """Return how far an element was, before the act, from its place in the reference."""
    if change.before is None:
        return None
    mine = tight_box(scene.before, change.before)
    offset = scene.offset(change.before)
    return text_compare.shortest(
        text_compare.line_shift(mine, line.box, offset)
        for line in texts.lines_before
        if any(text_compare.same_line(text, line.text) for text in change.gone)
    )


# --- kinds of effects, by the paper's visual categories


def wanted_kinds(reference: ReferenceEvidence, scene: Scene) -> frozenset[str]:
    """Return the visual categories of the reference, guessed from pixels where it names none."""
    named = {one.strip().lower() for one in reference.visuals if one.strip()}
    kinds = {const.VISUAL_SYNONYMS.get(one, one) for one in named} & set(VISUAL_CATEGORIES)
    parts = scene.reference_parts() if not kinds else []
    if kinds or not parts:
        return frozenset(kinds)
    shade = all(
        pixels.same_drawing(
            pixels.crop(scene.reference_before, part.box),
            pixels.crop(scene.reference_after, part.box),
        )
        for part in parts[:5]
    )
    return frozenset({"color", "switch"} if shade else set(VISUAL_CATEGORIES) - {"color"})


def given_kinds(effect: Effect) -> frozenset[str]:
    """Return the visual categories that the changes of the generated page can be taken for."""
    scene = effect.scene
    kinds: set[str] = set()
    gone = [one.before for one in effect.changes if "vanished" in one.kinds and one.before]
    by_kind: dict[Kind, set[str]] = {
        "appeared": {"new component", "new window"},
        "vanished": {"switch", "position"},
        "retexted": {"text"},
        "recoloured": {"color"},
        "moved": {"position"},
        "restated": {"switch"},
    }
    for change in effect.changes:
        kinds = kinds.union(*(by_kind.get(one, set()) for one in change.kinds))
        if "appeared" in change.kinds and any(_covers(change.box, one) for one in gone):
            kinds |= {"switch", "text"}
        if "retexted" in change.kinds and change.is_new:
            kinds |= {"new component", "new window"}
        if "resized" in change.kinds and "retexted" not in change.kinds:
            kinds.add("size")
        if change.element is None:
            pictures = [pixels.crop(one, change.box) for one in (scene.before, scene.after)]
            shade = pixels.same_drawing(*pictures)
            kinds |= {"color"} if shade else {"switch", "new component"}
    if page_replaced(scene):
        kinds |= {"new page", "new component", "switch"}
    if {"new component", "switch"} <= kinds:
        kinds.add("new page")
    if scene.outcome.snapshot.scroll != scene.snapshot.scroll:
        kinds.add("position")
    return frozenset(kinds)


def _covers(box: PixelBox, other: PixelBox) -> bool:
    return box.overlap(other) >= 0.3 * max(min(box.area, other.area), 1)


def page_replaced(scene: Scene) -> bool:
    """Return whether it is another page, or hardly any text is left.

    Elements that a script makes anew with the same text are left.
    """
    if scene.outcome.changes.new_page:
        return True
    shown = [text for one in scene.snapshot.elements if (text := text_compare.plain(one.text))]
    left = {text_compare.plain(one.text) for one in scene.outcome.snapshot.elements}
    kept = sum(one in left for one in shown)
    return len(shown) >= 5 and kept < const.KEPT_PAGE * len(shown)


# --- peers


def peer_at(scene: Scene, change: ElementChange, shift: tuple[int, int]) -> Element | None:
    """Return the peer at which something appeared that the reference shows `shift` pixels away."""
    for own, other in _peer_pairs(scene, change):
        away = other.box.left - own.box.left - shift[0], other.box.top - own.box.top - shift[1]
        if not text_compare.farther(away, const.PEER_SLACK):
            return other
    return None


def peer_like(scene: Scene, change: ElementChange, found: Element) -> Element | None:
    """Return the peer at which something appeared as something else appears in the reference."""
    if peer := _header(scene, change, found):
        return peer
    mine = pixels.clusters(scene.changed, reach=const.PART_GAP)
    # With its shadow, as the reference's parts.
    box = next((one.box for one in mine if _beside(one.box, change.box)), change.box)
    dx, dy = scene.offset(change.box)
    parts = [part.box for part in scene.reference_parts()[:4]]
    shifts = [(box.left + dx - part.left, box.top + dy - part.top) for part in parts]
    here = any(box.iou(part) >= const.SAME_PLACE for part in parts)
    here = here and not scene.outcome.changes.pushed  # all that follows changes with it
    if here or not all(text_compare.farther(shift, const.PEER_SLACK) for shift in shifts):
        return None  # it is where the reference's is
    return next((peer for one in shifts if (peer := peer_at(scene, change, one))), None)


def _header(scene: Scene, change: ElementChange, found: Element) -> Element | None:
    """Return the peer of the trigger below which something unfolds, as the reference's below it."""
    trigger = scene.trigger
    if trigger is None:
        return None
    below = scene.reference_changed[
        trigger.bottom + const.PEER_SLACK :, trigger.left : trigger.right
    ]
    rows = np.flatnonzero(below.any(axis=1))
    after = scene.outcome.snapshot.elements
    own = next((one for one in after if one.ref == found.ref), None)
    if not len(rows) or rows[0] > const.UNFOLDED or own is None:
        return None
    headers = [
        one
        for one in after
        if one.tag == own.tag
        and _in_column(one.box, own.box)
        and min(change.box.right, one.box.right) > max(change.box.left, one.box.left)
        and -const.PEER_SLACK <= change.box.top - one.box.bottom <= const.UNFOLDED
    ]
    nearest = max(headers, key=lambda one: one.box.bottom, default=own)
    return nearest if nearest.ref != own.ref else None


def changed_peer(effect: Effect) -> Element | None:
    """Return the element that changes as the reference changes a peer of it, which is left."""
    scene, texts = effect.scene, effect.texts
    old = {(one.tag, one.box): one for one in scene.snapshot.elements}
    coloured = any("recoloured" in one.kinds for one in effect.having("right"))
    for change in effect.having("extra", "wrong"):
        box = change.before
        was = old.get((change.element.tag, box)) if change.element is not None and box else None
        changes_itself = change.kinds & {"recoloured", "retexted", "resized"}
        if was is None or box is None or change.after is None or not changes_itself:
            continue
        if effect.rearranged(change) or effect.in_right_row(change):
            continue
        alone = texts is not None and "recoloured" in change.kinds and not coloured
        if alone and texts is not None and stays_as_it_was(scene, texts, change):
            return was
        here = scene.reference_changes_at(box, scene.offset(box))
        if here and colours_agree(scene, change):
            continue  # the reference changes it too
        for other in old.values():
            if other.ref == was.ref or other.tag != was.tag or not _same_size(other.box, was.box):
                continue
            theirs = pixels.crop(scene.reference_changed, other.box)
            much = bool(theirs.size and theirs.mean() > const.PEER_CHANGED)
            if "retexted" in change.kinds and not here:
                much = bool(pixels.clusters(theirs))  # letters are few pixels
            if much and not pixels.clusters(pixels.crop(scene.changed, other.box)):
                return was
    return None


def _peer_pairs(scene: Scene, change: ElementChange) -> Iterator[tuple[Element, Element]]:
    """Yield elements of the page before, with a peer at which something changed."""
    most = const.PEER_LARGEST * scene.area
    if change.box.area > most:
        return
    shown = [
        one
        for one in scene.snapshot.elements
        if min(one.box.width, one.box.height) >= const.PEER_LEAST and one.box.area <= most
    ]
    at = [one for one in shown if _beside(one.box, change.box) and not _is_next_of(one, change)]
    for other in at:
        under = (one for one in shown if _same_size(one.box, other.box))
        if sum(bool(one.box.overlap(change.box)) for one in under) > 2:
            continue  # what lies over several of them belongs to none
        for one in shown:
            if one.ref != other.ref and one.tag == other.tag and _are_peers(one, other):
                yield one, other


def _is_next_of(one: Element, change: ElementChange) -> bool:
    """Return whether a new element is one more of its neighbours, as in a list."""
    new = change.element
    return new is not None and new.tag == one.tag and _same_size(one.box, change.box)


def _are_peers(one: Element, other: Element) -> bool:
    """Return whether two elements are of one size, or stand in one row or column."""
    if one.parent != other.parent:
        return _same_size(one.box, other.box)
    wide, high = abs(one.box.width - other.box.width), abs(one.box.height - other.box.height)
    return min(wide, high) <= const.PEER_SLACK


def _same_size(one: PixelBox, other: PixelBox) -> bool:
    away = one.width - other.width, one.height - other.height
    return not text_compare.farther(away, const.PEER_SLACK)


def _in_column(one: PixelBox, other: PixelBox) -> bool:
    """Return whether two boxes are as high, and as wide or begin one below the other."""
    aligned = min(abs(one.width - other.width), abs(one.left - other.left)) <= const.PEER_SLACK
    return aligned and abs(one.height - other.height) <= const.PEER_SLACK


def _beside(one: PixelBox, other: PixelBox) -> bool:
    return bool(pixels.grown(one, const.BESIDE, 10**6, 10**6).overlap(other))


# --- missing parts: shades, shadows, corners and sizes are a matter of style


def is_missing(effect: Effect, own: Mask, window_bottom: int) -> bool:
    """Return whether any of the reference's change is missing that a person would miss.

    That is a part that does not change at all, an area that is not filled, drawings that are not
    there. `own` is the area of the trigger, which does not count.
    """
    scene = effect.scene
    mask = _unlike_reference(scene, own, window_bottom)
    there = []
    for change in effect.having("right"):
        reach = max(map(abs, change.shift)) + const.FOCUS_RING
        if not _lacks_lines(scene, change.box, change.shift):
            there.append(scene.inside(change.box, reach))
            if reach > const.FOCUS_RING:  # it is all there, a few pixels away
                mask &= ~scene.zone(change.box, reach)
    # Where the page has a style of its own, so have corners and frames of what is new on it.
    least = const.CORNER if pixels.clusters(scene.static) else const.SPECK
    for part in pixels.clusters(mask, least=least):
        both = pixels.crop(mask, part.box) & pixels.crop(scene.changed, part.box)
        touched = int(both.sum()) >= const.TOUCHED * part.pixels
        known = touched or any(one.encloses(part.box) for one in there)
        if not known or _lacks(scene, part.box):
            return True
    return False


def _unlike_reference(scene: Scene, own: Mask, window_bottom: int) -> Mask:
    """Return where the reference changes, and the page does not look like it afterwards."""
    mask = scene.reference_changed & ~own
    if scene.close:
        # What the reference never showed cannot look as it does there.
        mask &= scene.error & ~pixels.widened(scene.static, const.STRANGE)
    if scene.alignment is not None:
        # Where things are a little larger or smaller, they still change.
        mask &= ~pixels.widened(scene.changed, const.LAID_OUT)
    faint = pixels.distance(scene.reference_before, scene.reference_after) <= const.SHADOW_FAINT
    mask &= ~(faint & pixels.widened(scene.changed, const.SHADOW))
    if window_bottom < scene.size[1]:
        # How far a veil reaches below the window cannot be seen.
        pictures = (scene.reference_before, scene.reference_after)
        if pixels.same_drawing(*(one[max(window_bottom, 0) :] for one in pictures)):
            mask[window_bottom:] = False
    return np.asarray(mask)


def _lacks(scene: Scene, box: PixelBox) -> bool:
    """Return whether a part is not filled as the reference's is, or much less is drawn on it."""
    mine, theirs = pixels.crop(scene.after, box), pixels.crop(scene.reference_after, box)
    other_ground = pixels.ground_distance(mine, theirs) > const.STYLE_SHADE
    return other_ground or _lacks_lines(scene, box, (0, 0))


def _lacks_lines(scene: Scene, box: PixelBox, shift: tuple[int, int]) -> bool:
    """Return whether much less is drawn in a box than in the reference, `shift` pixels before."""
    place = scene.inside(pixels.shifted(box, (-shift[0], -shift[1])))
    theirs = pixels.crop(scene.reference_after, place)
    mine = pixels.crop(scene.after, scene.inside(box, const.FOCUS_RING))
    return int(pixels.edges(mine).sum()) < const.DRAWN * int(pixels.edges(theirs).sum())
