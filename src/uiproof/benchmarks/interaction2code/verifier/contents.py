"""What a generated page newly shows, held against what the reference newly shows, by its words.

Pixels say whether two changes are the same; where they are not, words say how far they are from it:
`recall` is the share of the reference's new words that are there, `precision` the share of the new
words that are the reference's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from uiproof.benchmarks.interaction2code.verifier import effects, looks, loose, wording
from uiproof.benchmarks.interaction2code.verifier.case import Case
from uiproof.benchmarks.interaction2code.verifier.effects import Assessment, Seen
from uiproof.benchmarks.interaction2code.verifier.loose import Texts
from uiproof.benchmarks.interaction2code.verifier.recolouring import (
    displaced,
    recoloured_alike,
    recoloured_elsewhere,
)
from uiproof.benchmarks.interaction2code.verifier.scene import Scene
from uiproof.benchmarks.interaction2code.verifier.units import Unit, leaves
from uiproof.boxes import PixelBox

SAME = 0.7  # share of words from which the content is the same
ALL = 0.85  # and from which nothing of it is missing: readers make slips
_AWAY = 40  # pixels, beyond how the pages differ before
_TRIFLE = 48  # pixels
_MOST_READ = 4  # parts of a picture
_SOME = 0.3  # share of words from which they are there in some form
_SENTENCE = 8  # letters: fewer may be a slip of the reader
_GROWTH = 12  # pixels around an element into which it grows
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
    def lacks(self) -> bool:
        """Whether what is said is the reference's, and some of that is missing."""
        return (self.precision or 0) >= SAME and self.recall is not None and self.recall < ALL

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
        recall = wording.found_share(_certain(texts.reference_came), given)
        precision = wording.found_share(texts.came, wanted)
    return Contents(seen, recall, precision, texts)


def says_nothing(case: Case) -> bool:
    """Whether the reference newly shows words, and the page none of them.

    What else it shows, an empty window or a veil, is not what a person acted for. A page that does
    nothing may do it in another way.
    """
    texts = case.texts() if case.changes_elsewhere() else None
    if texts is None:
        return False
    wanted = texts.reference_came
    if case.scene.close:  # lines that look the same were only not read well
        unharmed = wording.words(_unharmed(case, texts))
        wanted = tuple(one for one in wanted if one not in unharmed)
    wanted = tuple(_certain(wanted))
    if sum(map(len, wanted)) < _SENTENCE or wording.found_share(wanted, texts.came):
        return False
    return (wording.found_share(wanted, _newly_drawn(case)) or 0) < _SOME


def _newly_drawn(case: Case) -> list[str]:
    """The words that can be read on what changed, and not before: they may be part of a picture."""
    read = case.reference.read
    if read is None:
        return []
    parts = looks.clusters(case.scene.changed & ~case.own_area(), reach=_GROWTH)[:_MOST_READ]
    before, after = (
        Counter(
            wording.words(
                line.text for part in parts for line in read(looks.crop(picture, part.box))
            )
        )
        for picture in (case.scene.before, case.scene.after)
    )
    return list((after - before).elements())


def _certain(words: Sequence[str]) -> Sequence[str]:
    """Words without the shortest, which readers see in stars and frames; all if there are none."""
    return [one for one in words if len(one) > 2 or any(map(str.isdigit, one))] or words


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
        if "recoloured" not in unit.kinds:
            return one
        pushed = "moved" not in unit.kinds and recoloured_elsewhere(scene, texts, unit)
        if one.status != "elsewhere" and (pushed or recoloured_alike(scene, unit)):
            return replace(one, status="right")
        if one.status != "wrong" or not _differs(scene, unit):
            return one
        there = displaced(box, scene.offset(unit.before or box), scene.size)
        return replace(one, status=loose.colour_status(scene, box, there))
    if (wording.found_share(unit.texts, texts.for_unit(unit)) or 0) < SAME:
        return one
    shift = _shift(case, texts, unit)
    if shift is None:
        return replace(one, status="right") if unit.is_new and _is_part(scene, box) else one
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
    if any(
        loose.same_line(text, line.text) and unit.before and _meet(unit.before, line.box)
        for text in unit.gone
        for line in texts.lines
    ):
        return False  # the reference still says it there
    left = wording.words(unit.texts)
    gone = [word for word in wording.words(unit.gone) if not _is_left(word, left)]
    return (wording.found_share(gone, texts.reference_went) or 0) >= SAME


def _is_left(word: str, left: Sequence[str]) -> bool:
    """Whether a word stays, slips of reading and other endings aside."""
    return word in left or (
        len(word) > 3 and any(wording.likeness(word, one) > 0.8 for one in left)
    )


def rearranged(case: Case, unit: Unit) -> bool:
    """Whether an element says what others said before: it was made anew, and only gave way."""
    old = {one.text for one in case.generated.snapshot.elements}
    return bool(unit.texts) and old.issuperset(unit.texts)


def other_numbers(said: Contents, wrong: Sequence[Seen]) -> bool:
    """Whether something that does not look like the reference's says another number."""
    if said.texts is None:
        return False
    theirs = {word for word in said.texts.reference_came if any(map(str.isdigit, word))}
    mine = {word for one in wrong for word in wording.words(one.unit.texts)}
    mine = {word for word in mine if any(map(str.isdigit, word))}
    known = {word for line in said.texts.lines for word in wording.words([line.text])}
    return bool(theirs - mine) and bool(mine - theirs - known)


def stale_number(said: Contents) -> bool:
    """Whether a number stays as it was that the reference replaces by another."""
    if said.texts is None:
        return False
    texts = said.texts
    old = {one for one in texts.reference_went if one.isdigit()} - set(texts.went)
    new = {one for one in texts.reference_came if one.isdigit()} - set(texts.came)
    return bool(old and new)


def other_direction(said: Contents) -> bool:
    """Whether the numbers of the page fall where the reference's rise, or the other way."""
    if said.texts is None:
        return False
    texts = said.texts
    steps = [
        _step(texts.reference_went, texts.reference_came),
        _step(texts.went, texts.came),
    ]
    return steps[0] * steps[1] < 0


def _step(went: Sequence[str], came: Sequence[str]) -> int:
    """Whether the numbers of some words rise (1) or fall (-1); 0 where that cannot be told."""
    old, new = (re.findall(r"\d+", " ".join(words)) for words in (went, came))
    if len(old) != len(new):
        return 0
    pairs = zip(sorted(map(int, old)), sorted(map(int, new)), strict=True)
    steps = {(after > before) - (after < before) for before, after in pairs}
    return steps.pop() if len(steps) == 1 else 0


def of_right_row(said: Contents, unit: Unit) -> bool:
    """Whether elements beside this one are recoloured as in the reference: it belongs to them."""
    right = [one.unit.element for one in said.having("right") if "recoloured" in one.unit.kinds]
    rows = {one.parent for one in right if one is not None}
    return unit.element is not None and "retexted" not in unit.kinds and unit.element.parent in rows


def _is_part(scene: Scene, box: PixelBox) -> bool:
    """Whether something is where one of the reference's changes is, and as large."""
    return any(
        max(
            abs(box.left - part.box.left),
            abs(box.top - part.box.top),
            abs(box.right - part.box.right),
            abs(box.bottom - part.box.bottom),
        )
        <= _AWAY / 2
        for part in scene.reference_parts()
    )


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


def was_same(scene: Scene, unit: Unit) -> bool:
    """Whether both pages look the same where an element is, before anything is done."""
    return not _differs(scene, unit)


def is_opposite(scene: Scene, unit: Unit) -> bool:
    """Whether an element becomes smaller where the reference's becomes larger."""
    if "resized" not in unit.kinds or unit.before is None or unit.after is None:
        return False
    sizes = [one.width * one.height for one in (unit.before, unit.after)]
    around = scene.zone(unit.before, _GROWTH) & ~scene.zone(unit.before, 2)
    return sizes[1] < sizes[0] and bool(looks.clusters(scene.reference_changed & around))


def begins_at_place(case: Case, texts: Texts, unit: Unit) -> bool:
    """Whether at least one text of an element is where the reference newly shows the same."""
    shifts = _shifts(case, texts, unit)
    return any(max(abs(x), abs(y)) <= _AWAY for x, y in shifts)


def _shift(case: Case, texts: Texts, unit: Unit) -> tuple[int, int] | None:
    """How far an element is from where the reference newly shows its texts."""
    found = _shifts(case, texts, unit)
    if not found:
        return None
    return round(median(x for x, _ in found)), round(median(y for _, y in found))


def _shifts(case: Case, texts: Texts, unit: Unit) -> list[tuple[int, int]]:
    """How far each text of an element is from where the reference newly shows the same."""
    if unit.element is None:
        return []
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
    return found


def misplaced(case: Case, said: Contents) -> str | None:
    """A new line of the reference that is there, but nowhere near its place."""
    texts, scene = said.texts, case.scene
    before, after = case.generated.snapshot.elements, case.outcome.snapshot.elements
    old, new = (Counter(one.text for one in elements) for elements in (before, after))
    kept = {(one.ref, one.text) for one in before}
    for line in texts.lines if texts is not None else ():
        assert texts is not None
        part = scene.error[line.box.top : line.box.bottom, line.box.left : line.box.right]
        if not looks.clusters(part, least=4):
            continue
        if (wording.found_share([line.text], texts.reference_came) or 0) < SAME:
            continue
        shifts = [
            loose.shift(leaf.box, line.box, scene.offset(leaf.box))
            for leaf in after
            if leaf.text.strip()
            and (leaf.ref, leaf.text) not in kept
            and not (
                wording.likeness(leaf.text, line.text) < wording.ALIKE
                and any(_meet(leaf.box, one.unit.box) for one in said.having("right"))
            )
            and new[leaf.text] > old[leaf.text]
            and loose.same_line(leaf.text, line.text)
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


def _meet(one: PixelBox, other: PixelBox) -> bool:
    across = min(one.right, other.right) - max(one.left, other.left)
    return across > 0 and min(one.bottom, other.bottom) > max(one.top, other.top)


def existing(changes: Sequence[Seen]) -> list[Seen]:
    """The changes of elements that were there before, and that are more than a frame or a push."""
    return [
        one
        for one in changes
        if one.unit.before is not None
        and not one.unit.is_new
        and one.unit.kinds & {"recoloured", "retexted", "vanished", "moved"}
    ]
