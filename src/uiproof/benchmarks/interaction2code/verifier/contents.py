"""What a generated page newly shows, held against what the reference newly shows, by its words.

Pixels say whether two changes are the same; where they are not, words say how far they are from it:
`recall` is the share of the reference's new words that are there, `precision` the share of the new
words that are the reference's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from uiproof.benchmarks.interaction2code.verifier import effects, looks, loose, wording
from uiproof.benchmarks.interaction2code.verifier.case import Case
from uiproof.benchmarks.interaction2code.verifier.effects import Assessment, Seen
from uiproof.benchmarks.interaction2code.verifier.loose import Texts
from uiproof.benchmarks.interaction2code.verifier.scene import Scene
from uiproof.benchmarks.interaction2code.verifier.units import Unit, leaves
from uiproof.boxes import PixelBox

SAME = 0.7  # share of words from which the content is the same
ALL = 0.85  # and from which nothing of it is missing: readers make slips
_AWAY = 40  # pixels, beyond how the pages differ before
_TRIFLE = 48  # pixels
_SHADE = 60  # of 255: colours that differ by less are the same colour in another style
_AWAY_BEFORE = 100  # for what was displaced before: pages are laid out in different ways


@dataclass(frozen=True, slots=True)
class Contents:
    """The changes of a generated page, judged by pixels and words together."""

    seen: tuple[Seen, ...]
    recall: float | None  # None where the reference shows no new words
    precision: float | None  # None where the generated page shows no new words
    texts: Texts | None

    def having(self, *statuses: effects.Status) -> list[Seen]:
        """The changes that were judged so."""
        return [one for one in self.seen if one.status in statuses]

    @property
    def same(self) -> bool:
        """Whether both say the same."""
        return (self.recall or 0) >= ALL and (self.precision or 0) >= SAME


def compare(case: Case, assessed: Assessment) -> Contents:
    """Judge again by words what is not the same by pixels."""
    texts = case.texts()
    if texts is None:
        return Contents(assessed.seen, None, None, None)
    if not case.scene.close:
        return Contents(tuple(_of_weight(assessed.seen)), texts.recall, texts.precision, texts)
    seen = tuple(_judge(case, texts, one) for one in _of_weight(assessed.seen))
    # What looks the same need not have been read well.
    alike = [text for one in seen if one.status == "right" for text in one.unit.texts]
    given, wanted = (*texts.came, *alike, *_unharmed(case, texts)), (*texts.reference_came, *alike)
    if case.reference.action.kind == "drag":  # how far, and so to which number, is anybody's guess
        recall = wording.found_share(_masked(texts.reference_came), _masked(given))
        precision = wording.found_share(_masked(texts.came), _masked(wanted))
    else:
        recall = wording.found_share(texts.reference_came, given)
        precision = wording.found_share(texts.came, wanted)
    return Contents(seen, recall, precision, texts)


def _masked(texts: Iterable[str]) -> list[str]:
    """Texts in which all numbers are the same."""
    return [re.sub(r"\d+", "0", text) for text in texts]


def _unharmed(case: Case, texts: Texts) -> list[str]:
    """Lines of the reference where the generated page looks the same, however they were read."""
    return [
        line.text
        for line in texts.lines
        if loose.is_new(case.scene, line)
        and not looks.clusters(
            case.scene.error[line.box.top : line.box.bottom, line.box.left : line.box.right],
            least=4,
        )
    ]


def _judge(case: Case, texts: Texts, one: Seen) -> Seen:
    unit, scene = one.unit, case.scene
    if one.status == "right" or unit.after is None:
        return one
    box = looks.grown(unit.box, 0, *scene.size)
    if not any(unit.texts):
        if one.status != "wrong" or "recoloured" not in unit.kinds or not _differs(scene, unit):
            return one
        there = _displaced(box, scene.offset(unit.before or box), scene.size)
        return replace(one, status=loose.colour_status(scene, box, there))
    if (wording.found_share(unit.texts, texts.for_unit(unit)) or 0) < SAME:
        return one
    shift = _shift(case, texts, unit)
    if shift is None:
        return one
    far = _AWAY
    if changes_there_too(unit, texts):
        # It is the reference's own element. That other things push it elsewhere, or do not, is
        # not its fault; that it was elsewhere before may be a matter of layout.
        far = _AWAY_BEFORE
        shift = _shift_before(case, texts, unit) or (0, 0)
    if max(abs(shift[0]), abs(shift[1])) > far:
        return Seen(unit, "elsewhere", shift)
    # What was the same before has to be the same afterwards, to the pixel.
    if one.status == "wrong" and not _differs(scene, unit) and not unit.is_new:
        return one
    return Seen(unit, "right", shift)


def changes_there_too(unit: Unit, texts: Texts) -> bool:
    """Whether the words that an element no longer shows go in the reference too."""
    left = wording.words(unit.texts)
    gone = [word for word in wording.words(unit.gone) if word not in left]
    return (wording.found_share(gone, texts.reference_went) or 0) >= SAME


def other_numbers(said: Contents, wrong: Sequence[Seen]) -> bool:
    """Whether something that does not look like the reference's says another number."""
    if said.texts is None:
        return False
    theirs = {word for word in said.texts.reference_came if any(map(str.isdigit, word))}
    mine = {word for one in wrong for word in wording.words(one.unit.texts)}
    mine = {word for word in mine if any(map(str.isdigit, word))}
    known = {word for line in said.texts.lines for word in wording.words([line.text])}
    return bool(theirs - mine) and bool(mine - theirs - known)


def colours_agree(scene: Scene, unit: Unit) -> bool:
    """Whether an element has the reference's colours afterwards, whatever it says."""
    box = looks.grown(unit.box, 0, *scene.size)
    there = _displaced(box, scene.offset(unit.before or box), scene.size)
    mine, theirs = looks.crop(scene.after, box), looks.crop(scene.reference_after, there)
    if not mine.size or not theirs.size:
        return False
    pairs = (
        (looks.background(mine), looks.background(theirs)),
        (looks.foreground(mine), looks.foreground(theirs)),
    )
    return all(float(abs(one - other).max()) <= _SHADE for one, other in pairs)


def _of_weight(seen: Sequence[Seen]) -> list[Seen]:
    """The changes without those that only follow from others: a shadow, a column that is wider."""
    weighty = [one for one in seen if not _is_trifle(one.unit)]
    return weighty or list(seen)


def _is_trifle(unit: Unit) -> bool:
    """Whether a part without an element changed, or one only moved or grew a little."""
    if unit.element is None:
        return True
    if unit.kinds - {"moved", "resized", "restyled"} or unit.before is None or unit.after is None:
        return False
    old, new = unit.before, unit.after
    sides = (
        old.left - new.left,
        old.top - new.top,
        old.right - new.right,
        old.bottom - new.bottom,
    )
    return any(sides) and max(map(abs, sides)) <= _TRIFLE


def _differs(scene: Scene, unit: Unit) -> bool:
    """Whether the pages differ around an element before anything is done."""
    box = looks.grown(unit.before or unit.box, 8, *scene.size)
    dx, dy = scene.offset(unit.before or unit.box)
    part = scene.static[box.top : box.bottom, box.left : box.right]
    return bool(dx or dy or looks.clusters(part))


def _shift(case: Case, texts: Texts, unit: Unit) -> tuple[int, int] | None:
    """How far the texts of an element are from where the reference newly shows the same."""
    if unit.element is None:
        return None
    scene = case.scene
    offset = scene.offset(unit.before or unit.box)
    lines = [line for line in texts.lines if loose.is_new(scene, line)]
    found: list[tuple[int, int]] = []
    for leaf in leaves(case.outcome.snapshot, unit.element):
        mine = effects.tight_box(scene.after, leaf.box)
        shifts = [
            loose.shift(mine, line.box, offset)
            for line in lines
            if loose.same_line(leaf.text, line.text)
        ]
        if shifts:
            found.append(min(shifts, key=lambda one: abs(one[0]) + abs(one[1])))
    if not found:
        return None
    return round(median(x for x, _ in found)), round(median(y for _, y in found))


def misplaced(case: Case, said: Contents) -> str | None:
    """A new line of the reference that is there, but nowhere near its place."""
    texts, scene = said.texts, case.scene
    for line in texts.lines if texts is not None else ():
        assert texts is not None
        part = scene.error[line.box.top : line.box.bottom, line.box.left : line.box.right]
        if not looks.clusters(part, least=4):
            continue
        if (wording.found_share([line.text], texts.reference_came) or 0) < SAME:
            continue
        shifts = [
            loose.shift(leaf.box, line.box, scene.offset(leaf.box))
            for leaf in case.outcome.snapshot.elements
            if leaf.text.strip() and loose.same_line(leaf.text, line.text)
        ]
        if shifts and min(max(abs(x), abs(y)) for x, y in shifts) > _AWAY_BEFORE:
            return line.text[:40]
    return None


def _shift_before(case: Case, texts: Texts, unit: Unit) -> tuple[int, int] | None:
    """How far an element was, before anything was done, from where the reference has it."""
    if unit.before is None:
        return None
    mine = effects.tight_box(case.scene.before, unit.before)
    offset = case.scene.offset(unit.before)
    shifts = [
        loose.shift(mine, line.box, offset)
        for line in texts.lines_before
        if any(loose.same_line(text, line.text) for text in unit.gone)
    ]
    return min(shifts, key=lambda one: abs(one[0]) + abs(one[1]), default=None)


def _displaced(box: PixelBox, by: tuple[int, int], size: tuple[int, int] | None) -> PixelBox:
    moved = PixelBox(box.left + by[0], box.top + by[1], box.right + by[0], box.bottom + by[1])
    return moved if size is None else looks.grown(moved, 0, *size)


def existing(changes: Sequence[Seen]) -> list[Seen]:
    """The changes of elements that were there before, and that are more than a frame or a push."""
    return [
        one
        for one in changes
        if one.unit.before is not None
        and not one.unit.is_new
        and one.unit.kinds & {"recoloured", "retexted", "vanished", "moved"}
    ]
