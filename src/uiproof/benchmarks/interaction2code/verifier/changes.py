"""The changes of a generated page, one element at a time, each compared with the reference.

On pages that look alike before, every change is searched in the reference's picture after, at the
same place and then anywhere else. On other pages texts, rough places and rough colours decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier import pixels, text_compare
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask, ReferenceEvidence
from uiproof.benchmarks.interaction2code.verifier.scene import Scene
from uiproof.benchmarks.interaction2code.verifier.text_compare import TextChanges
from uiproof.browser.snapshots import Element, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb

Kind = Literal[
    "appeared", "vanished", "moved", "resized", "recoloured", "retexted", "restated", "restyled"
]
# right: as in the reference; elsewhere: as in the reference, at another place; wrong: the reference
# changes here, to something else; extra: the reference does not change here.
Status = Literal["right", "elsewhere", "wrong", "extra"]


@dataclass(frozen=True, slots=True)
class ElementChange:
    """An element that changed; `element` is as after the change, or as before if it went."""

    element: Element | None  # None: pixels changed outside of all elements (a canvas, a picture)
    before: PixelBox | None
    after: PixelBox | None
    kinds: frozenset[Kind]
    texts: tuple[str, ...] = ()  # that came
    gone: tuple[str, ...] = ()  # that went
    status: Status = "extra"
    shift: tuple[int, int] = (0, 0)  # from the reference's place to this one

    @property
    def box(self) -> PixelBox:
        """Return its place: after the change, or before if it went."""
        box = self.after or self.before
        assert box is not None
        return box

    @property
    def is_new(self) -> bool:
        """Return whether something is shown where this element showed nothing."""
        if "appeared" in self.kinds:
            return True
        return "retexted" in self.kinds and not any(self.gone) and any(self.texts)

    @property
    def hides(self) -> bool:
        """Return whether the element went, or has much less text than before."""
        went, came = sum(map(len, self.gone)), sum(map(len, self.texts))
        return "vanished" in self.kinds or (went > 0 and 3 * came <= went)

    def is_of(self, element: Element) -> bool:
        """Return whether this element changed."""
        return self.element is not None and self.element.ref == element.ref


@dataclass(frozen=True, slots=True)
class Assessment:
    """All changes of the generated page, compared with the reference's."""

    complete: bool  # afterwards both pages look the same where either changed
    right_share: float  # of the reference's change
    changes: tuple[ElementChange, ...]


# --- from snapshots to changes


def element_changes(scene: Scene) -> list[ElementChange]:
    """Return the visible changes, outermost elements only, in the order of their kinds."""
    told = scene.outcome.changes
    pairs: dict[int, tuple[Element | None, Element | None]] = {}
    kinds: dict[int, set[Kind]] = {}
    by_kind: tuple[tuple[Kind, Iterable[tuple[Element | None, Element | None]]], ...] = (
        ("appeared", [(None, one) for one in told.appeared]),
        ("vanished", [(one, None) for one in told.vanished]),
        ("retexted", told.retexted),
        ("recoloured", told.recoloured),
        ("moved", told.moved),
        ("resized", told.resized),
        ("restated", told.restated),
        ("restyled", told.restyled),
    )
    for kind, changed in by_kind:
        for old, new in changed:
            one = new or old
            assert one is not None
            kinds.setdefault(one.ref, set()).add(kind)
            pairs.setdefault(one.ref, (old, new))
    found = []
    for ref, (old, new) in pairs.items():
        came, went = _texts_of(old, new, scene)
        change = ElementChange(
            new or old,
            old.box if old else None,
            new.box if new else None,
            frozenset(kinds[ref]),
            came,
            went,
        )
        boxes = (box for box in (change.before, change.after) if box is not None)
        if any(pixels.count(scene.changed, box) >= const.TRACE for box in boxes):
            found.append(change)
    return found + list(_unexplained(found, scene))


def _texts_of(
    old: Element | None, new: Element | None, scene: Scene
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the texts that came and went with an element."""
    if old is None or new is None:
        came = () if new is None else tuple(one.text for one in _leaves(scene, new))
        went = () if old is None else tuple(one.text for one in _leaves(scene, old, before=True))
        return came, went
    return ((new.text,), (old.text,)) if new.text != old.text else ((), ())


def _leaves(scene: Scene, element: Element, *, before: bool = False) -> list[Element]:
    """Return the elements with text of their own in an element, itself included."""
    snapshot: Snapshot = scene.snapshot if before else scene.outcome.snapshot
    return [one for one in (element, *snapshot.inside(element)) if one.text.strip()]


def leaves(scene: Scene, change: ElementChange) -> list[Element]:
    """Return the elements with text of their own in a changed element."""
    return [] if change.element is None else _leaves(scene, change.element)


def _unexplained(found: Iterable[ElementChange], scene: Scene) -> Iterator[ElementChange]:
    """Yield pieces that changed outside of every changed element, if nothing was pushed about."""
    if scene.outcome.changes.pushed or scene.outcome.changes.new_page:
        return
    known = (box for one in found for box in (one.before, one.after) if box is not None)
    frames = pixels.filled((scene.inside(box, const.FRAME) for box in known), scene.size)
    for piece in pixels.clusters(scene.changed & ~frames, reach=12, least=24)[:12]:
        yield ElementChange(None, piece.box, piece.box, frozenset({"restyled"}))


def read_changes(
    scene: Scene, reference: ReferenceEvidence, *, own: frozenset[int] = frozenset()
) -> TextChanges | None:
    """Read the words that came and went on both sides; None without OCR.

    The elements `own`, and the reference's trigger if there are any, are left out: that a field
    shows the text typed in it is no effect.
    """
    if reference.read is None:
        return None
    at = reference.trigger if own else None
    # Whole pictures: they are read once for all pages that are compared with them.
    old, new = (
        [line for line in reference.read(one) if at is None or not at.contains(*line.box.centre)]
        for one in (reference.before, reference.after)
    )
    lines_before, lines = scene.lines(old, after=False), scene.lines(new, after=True)
    theirs = [text_compare.words(one.text for one in some) for some in (lines_before, lines)]
    mine = [
        text_compare.words(one.text for one in snapshot.elements if one.ref not in own)
        for snapshot in (scene.snapshot, scene.outcome.snapshot)
    ]
    came = text_compare.more_words(theirs[1], theirs[0])
    return TextChanges(
        reference_came=tuple(one for one in came if text_compare.is_word(one)),
        reference_went=text_compare.more_words(theirs[0], theirs[1]),
        came=text_compare.more_words(mine[1], mine[0]),
        went=text_compare.more_words(mine[0], mine[1]),
        lines_before=lines_before,
        lines=lines,
        new_lines=tuple(
            one
            for one in lines
            if pixels.crop(scene.reference_changed, scene.inside(one.box)).any()
        ),
    )


def says_the_same(texts: TextChanges, change: ElementChange) -> bool:
    """Return whether the new text of an element is the reference's.

    Words that stay count where the element had another text before.
    """
    lines = tuple(line.text for line in texts.new_lines)
    expected = lines if any(change.gone) else texts.reference_came
    return (text_compare.found_share(change.texts, expected) or 0) >= const.SAME_WORDS


# --- compared by pixels


def assess_pixels(
    scene: Scene, trigger: Element, *, ignore_trigger: bool, closely: bool = True
) -> Assessment:
    """Compare every change of the generated page, or, less closely, only all of them together.

    With `ignore_trigger`, the look of the trigger itself does not count: not its typed text, and
    not its style where it is another kind of element.
    """
    own = scene.trigger_zone(trigger.box, whole=ignore_trigger)
    error = scene.error & ~own
    if pixels.clusters(scene.reference_changed & ~scene.zone(scene.trigger)):
        error &= ~_mere_shade(scene, trigger)
    error &= ~pixels.filled(_pushed_strangers(scene), scene.size)
    wrong_places = scene.significant(error)
    of_reference = scene.reference_changed & ~own
    total = int(of_reference.sum())
    bad = int((pixels.widened(error, 3) & of_reference).sum()) if wrong_places else 0
    judged: tuple[ElementChange, ...] = ()
    if wrong_places and closely:
        found = element_changes(scene)
        if ignore_trigger or trigger.tag in const.FIELDS:
            others = [one for one in found if not one.is_of(trigger)]
            # Unless it is the only change; text typed in a field is never an effect.
            found = others or ([] if trigger.tag in const.FIELDS else found)
        found.sort(key=lambda one: -pixels.count(scene.changed, one.box))
        judged = tuple(_compare_pixels(scene, one) for one in found[: const.MOST_CHANGES])
    return Assessment(not wrong_places, 1 - bad / total if total else 1.0, judged)


def _pushed_strangers(scene: Scene) -> list[PixelBox]:
    """Return where elements are now that the reference never had, and that were only pushed."""
    if not scene.outcome.changes.pushed or not scene.static.any():
        return []
    old = {one.ref: one for one in scene.snapshot.elements}
    pushed: list[PixelBox] = []
    for one in scene.outcome.snapshot.elements:
        was = old.get(one.ref)
        if was is None or was.box == one.box or not one.text.strip() or was.text != one.text:
            continue
        box = scene.inside(was.box)
        patch = pixels.crop(scene.before, box)
        drawn = int(pixels.ink(patch).sum())
        if (
            pixels.count(scene.static, box) > 0.3 * max(drawn, 1)
            and pixels.find(patch, scene.reference_before, least=const.FIT) is None
        ):
            pushed += [scene.inside(one.box, 4), scene.inside(was.box, 4)]
    return pushed


def _mere_shade(scene: Scene, trigger: Element) -> Mask:
    """Return the trigger's area, where its colours hardly change on either side.

    Pointing at a button shades it, and the reference's pointer may have been elsewhere.
    """
    box = scene.inside(trigger.box)
    sides = (
        (scene.before, scene.after),
        (scene.reference_before, scene.reference_after),
    )
    nothing = pixels.filled([], scene.size)
    if not box.area:
        return nothing
    for before, after in sides:
        one, two = pixels.crop(before, box), pixels.crop(after, box)
        if not pixels.same_drawing(one, two) or pixels.ground_distance(one, two) > const.SHADE:
            return nothing
    return pixels.filled([box], scene.size)


def _compare_pixels(scene: Scene, change: ElementChange) -> ElementChange:
    box = scene.inside(change.box)
    if box.width <= 0 or box.height <= 0:
        return replace(change, status="extra")
    if change.after is None:
        return replace(change, status=_vanished_status(scene, box))
    offset = scene.offset(change.before or box)
    there = scene.inside(pixels.shifted(box, offset))
    if (
        _agrees(scene, change, box, there)
        and pixels.count(scene.reference_changed, there) >= const.SPECK
    ):
        return replace(change, status="right")
    here = scene.reference_changes_at(box, offset)
    # A thing that merely looks different is where it was, wherever the reference moves it; one with
    # another text where the reference changes too has the wrong text.
    rewritten = here and "retexted" in change.kinds and any(change.gone)
    able = change.kinds & {"appeared", "retexted", "moved"} and not rewritten
    if able and (place := _found(scene, box)):
        shift = box.left - place[0] + offset[0], box.top - place[1] + offset[1]
        far = text_compare.farther(shift, const.MOVED)
        return replace(change, status="elsewhere" if far else "right", shift=shift)
    return replace(change, status="wrong" if here else "extra")


def _vanished_status(scene: Scene, box: PixelBox) -> Status:
    place = pixels.find(pixels.crop(scene.before, box), scene.reference_after, least=const.FIT)
    if place is not None and _fits(scene, place):
        return "extra"  # the reference still shows it
    changes = pixels.count(scene.reference_changed, box) >= const.SPECK
    return "right" if changes else "extra"


def _agrees(scene: Scene, change: ElementChange, box: PixelBox, there: PixelBox) -> bool:
    """Return whether both pages look the same afterwards where this element is."""
    mine, theirs = pixels.crop(scene.after, box), pixels.crop(scene.reference_after, there)
    height = min(mine.shape[0], theirs.shape[0])
    width = min(mine.shape[1], theirs.shape[1])
    mine, theirs = mine[:height, :width], theirs[:height, :width]
    if mine.size == 0:
        return False
    changed = pixels.crop(scene.changed, box)[:height, :width]
    also = pixels.crop(pixels.widened(scene.reference_changed, 5), there)[:height, :width]
    if int((changed & also).sum()) < const.SHARED * int(changed.sum()):
        return False
    moves = "moved" in change.kinds and change.element is not None and change.element.label.strip()
    if not moves and (not change.kinds & {"appeared", "retexted"} or not any(change.texts)):
        slack = const.FLAT_SLACK if scene.sharp else 3 * const.FLAT_SLACK
        far = (pixels.distance(theirs, mine) > const.TOLERANCE) & changed
        return int(far.sum()) <= slack * int(changed.sum())
    if not scene.significant(scene.differing(theirs, mine) & changed):
        return scene.sharp or not any(change.texts) or scene.reads_alike(mine, theirs)
    near = pixels.ground_distance(mine, theirs) <= const.SHADE
    new = change.is_new or "retexted" in change.kinds
    if not (near or new) or not pixels.same_drawing(mine, theirs, slack=0.03):
        return False
    return scene.reads_alike(mine, theirs)


def _found(scene: Scene, box: PixelBox) -> tuple[int, int] | None:
    """Find where the reference newly shows what is in a box now; return its corner."""
    drawn = pixels.drawn_part(scene.after, box)
    if drawn is None:
        return None
    offset = scene.offset(box)
    place = pixels.find(
        pixels.crop(scene.after, drawn),
        scene.reference_after,
        least=const.FIT,
        near=(drawn.left + offset[0], drawn.top + offset[1]),
    )
    if place is None or not _fits(scene, place):
        return None
    if pixels.count(scene.reference_changed, place.box) < const.SPECK:
        return None
    return place.left - (drawn.left - box.left), place.top - (drawn.top - box.top)


def _fits(scene: Scene, place: pixels.Match) -> bool:
    patch, there = place.patch, pixels.crop(scene.reference_after, place.box)
    if not scene.significant(scene.differing(patch, there)):
        return scene.sharp or scene.reads_alike(patch, there)
    return pixels.same_drawing(patch, there, slack=0.02) and scene.reads_alike(patch, there)


def tight_box(picture: Rgb, box: PixelBox) -> PixelBox:
    """Return the box around the drawing in a box; the box itself where nothing is drawn."""
    inside = pixels.grown(box, 0, picture.shape[1], picture.shape[0])
    return pixels.drawn_part(picture, inside) or box


def shown_and_absent(scene: Scene, change: ElementChange) -> tuple[int, int]:
    """Count the texts of a changed element that the reference shows too, and those it does not."""
    if change.after is None:
        return 0, 0
    shown = absent = 0
    for leaf in leaves(scene, change)[: const.MOST_TEXTS]:
        box = scene.inside(leaf.box)
        if not box.area or pixels.is_blank(pixels.crop(scene.after, box)):
            continue
        if _found(scene, box) is not None:
            shown += 1
        else:
            absent += 1
    return shown, absent


# --- compared by texts, rough places and rough colours


def assess_loosely(
    scene: Scene, texts: TextChanges | None, found: Sequence[ElementChange]
) -> Assessment:
    """Compare every change of the generated page by its words, its place and its colour."""
    judged = tuple(_compare_loosely(scene, texts, one) for one in found[: const.MOST_LOOSE_CHANGES])
    right = [one for one in judged if one.status == "right"]
    covered = _covered(scene, right)
    recall = texts.recall if texts is not None else None
    if texts is not None and recall is None:  # where words only go, those count
        recall = text_compare.found_share(texts.reference_went, texts.went)
    share = covered if recall is None else recall
    enough = const.COVERED
    if not scene.outcome.changes.pushed:
        # Where things are pushed about, much more changes than the elements that caused it.
        share, enough = min(share, covered), const.COVERED_ALONE
    precision = texts.precision if texts is not None else None
    content = recall is None or recall >= const.ALL_WORDS
    clean = precision is None or precision >= const.SAME_WORDS
    # Styles differ in shades and frames.
    styles = {"restyled", "resized", "moved", "restated"}
    others = any(one.status != "right" and one.kinds - styles for one in judged)
    complete = bool(right) and content and clean and not others and covered >= enough
    return Assessment(complete, share, judged)


def _compare_loosely(
    scene: Scene, texts: TextChanges | None, change: ElementChange
) -> ElementChange:
    box = scene.inside(change.box)
    offset = scene.offset(change.before or box)
    changed_there = scene.reference_changes_at(box, offset)
    if texts is not None and any(change.texts):
        return _compare_texts(scene, texts, change, offset, changed_there=changed_there)
    if texts is not None and change.after is None and any(change.gone):
        share = text_compare.found_share(change.gone, texts.reference_went) or 0
        return replace(change, status="right" if share >= const.SAME_WORDS else "extra")
    if not changed_there:
        return replace(change, status="extra")
    if "recoloured" in change.kinds and change.after is not None:
        there = scene.inside(pixels.shifted(box, offset), 8)
        return replace(change, status=colour_status(scene, box, there))
    return replace(change, status="right")


def _compare_texts(
    scene: Scene,
    texts: TextChanges,
    change: ElementChange,
    offset: tuple[int, int],
    *,
    changed_there: bool,
) -> ElementChange:
    if not says_the_same(texts, change):
        return replace(change, status="wrong" if changed_there else "extra")
    shift = text_compare.shortest(
        text_compare.line_shift(tight_box(scene.after, leaf.box), line.box, offset)
        for leaf in leaves(scene, change)
        for line in texts.lines
        if text_compare.same_line(leaf.text, line.text)
    )
    if shift is None:
        return replace(change, status="right" if changed_there else "elsewhere")
    far = max(const.TEXT_AWAY, const.TEXT_AWAY_SHARE * scene.size[0])
    if abs(shift[0]) > far or abs(shift[1]) > const.TEXT_AWAY:
        return replace(change, status="elsewhere", shift=shift)
    return replace(change, status="right")


def _covered(scene: Scene, right: Sequence[ElementChange]) -> float:
    """Return the share of the reference's change that right changes lie on."""
    total = int(scene.reference_changed.sum())
    if not total:
        return 1.0
    boxes = [
        scene.inside(pixels.shifted(box, scene.offset(change.before or box)), const.COVER_REACH)
        for change in right
        for box in (change.before, change.after)
        if box is not None
    ]
    return int((scene.reference_changed & pixels.filled(boxes, scene.size)).sum()) / total


# --- colours: another shade is the same colour in another style


def colour_status(scene: Scene, box: PixelBox, there: PixelBox) -> Status:
    """Return whether the reference becomes lighter, darker or redder at a place in the same way."""
    mine = pixels.mean_colour(scene.after, box) - pixels.mean_colour(scene.before, box)
    theirs = pixels.mean_colour(scene.reference_after, there) - pixels.mean_colour(
        scene.reference_before, there
    )
    strength, other = float(np.linalg.norm(mine)), float(np.linalg.norm(theirs))
    if other < 0.3 * strength:
        return "extra"
    alike = float(mine @ theirs) / max(strength * other, 1e-9)
    return "right" if strength < 2 or alike > const.ROUGHLY_SAME_WAY else "wrong"


def colours_agree(
    scene: Scene, change: ElementChange, shift: tuple[int, int] | None = None
) -> bool:
    """Return whether an element has the reference's colours afterwards, whatever its text.

    It is compared with its place in the reference, from which it is `shift` pixels away.
    """
    box, there = _counterpart(scene, change, shift)
    mine, theirs = pixels.crop(scene.after, box), pixels.crop(scene.reference_after, there)
    if not mine.size or not theirs.size:
        return False
    return (
        pixels.ground_distance(mine, theirs) <= const.STYLE_SHADE
        and pixels.letter_distance(mine, theirs) <= const.STYLE_SHADE
    )


def recoloured_alike(
    scene: Scene, change: ElementChange, shift: tuple[int, int] | None = None
) -> bool:
    """Return whether the reference recolours an element too, to the same colours or shades."""
    if change.before is None or change.after is None:
        return False
    box, there = _counterpart(scene, change, shift)
    was = scene.inside(change.before)
    if not all(one.width and one.height for one in (box, there, was)):
        return False
    moves: list[tuple[float, float, float]] = []
    for colour in (pixels.background, pixels.foreground):
        # What is the same before is the reference's before too, wherever it is afterwards.
        old = colour(pixels.crop(scene.before, was))
        mine = colour(pixels.crop(scene.after, box)) - old
        theirs = colour(pixels.crop(scene.reference_after, there)) - old
        strength, other = float(np.linalg.norm(mine)), float(np.linalg.norm(theirs))
        moves.append((strength, other, float(mine @ theirs)))
    if max(strength for strength, _, _ in moves) < const.FAINT_COLOUR:
        return False
    return all(
        abs(strength - other) < const.FAINT_COLOUR
        if min(strength, other) < const.FAINT_COLOUR
        else along >= const.SAME_WAY * strength * other
        and max(strength, other) <= 2 * min(strength, other)
        for strength, other, along in moves
    )


def recoloured_elsewhere(scene: Scene, texts: TextChanges, change: ElementChange) -> bool:
    """Return whether the reference recolours an element of the same text that was pushed away."""
    return any(recoloured_alike(scene, change, by) for by in _shifts(scene, texts, change))


def stays_as_it_was(scene: Scene, texts: TextChanges, change: ElementChange) -> bool:
    """Return whether the reference shows the element's text in the colours that it had before."""
    shifts = _shifts(scene, texts, change)
    if not shifts or change.before is None:
        return False
    was = pixels.crop(scene.before, scene.inside(change.before))
    for x, y in shifts:
        place = scene.inside(pixels.shifted(change.box, (-x, -y)))
        there = pixels.crop(scene.reference_after, place)
        if not there.size or max(
            pixels.ground_distance(was, there), pixels.letter_distance(was, there)
        ) > (const.FAINT_COLOUR / 2):
            return False
    return True


def _counterpart(
    scene: Scene, change: ElementChange, shift: tuple[int, int] | None
) -> tuple[PixelBox, PixelBox]:
    """Return the box of an element, and its place in the reference."""
    box = scene.inside(change.box)
    by = scene.offset(change.before or box) if shift is None else (-shift[0], -shift[1])
    return box, scene.inside(pixels.shifted(box, by))


def _shifts(scene: Scene, texts: TextChanges, change: ElementChange) -> list[tuple[int, int]]:
    """Return how far an element is from the places where the reference newly shows its label."""
    if change.element is None or not change.element.label.strip():
        return []
    label = change.element.label
    mine = tight_box(scene.after, change.box)
    return [
        (mine.left - line.box.left, mine.top - line.box.top)
        for line in texts.new_lines
        if text_compare.same_line(label, line.text)
    ]
