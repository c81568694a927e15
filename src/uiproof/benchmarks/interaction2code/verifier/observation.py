"""Both sides of one interaction, put together, with what a person would try on the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier import pixels
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    Mask,
    Outcome,
    ReferenceEvidence,
)
from uiproof.benchmarks.interaction2code.verifier.layout import (
    Layout,
    around,
    gap,
    layout,
    names_its_frame,
    readable,
    shift,
)
from uiproof.benchmarks.interaction2code.verifier.objects import (
    Side,
    Word,
    found_letters,
    generated_side,
    letters,
    reference_side,
)
from uiproof.benchmarks.interaction2code.verifier.text_compare import (
    is_readable,
    plain,
    similarity,
    size,
)
from uiproof.browser.snapshots import Action, Element, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine


@dataclass(frozen=True, slots=True)
class Try:
    """The effect of acting on another element."""

    element: Element
    outcome: Outcome
    side: Side
    shows: float  # share of the reference's new words; -1 without any


@dataclass(frozen=True)
class Observation:
    """Both sides of one interaction, put together: from it come features and messages."""

    reference: ReferenceEvidence
    generated: GeneratedEvidence
    found: Element
    outcome: Outcome
    layout: Layout
    theirs: Side
    mine: Side
    lines: tuple[Sequence[OcrLine], Sequence[OcrLine]]
    again: Outcome | None
    tries: tuple[Try, ...]

    @cached_property
    def later(self) -> Layout:
        """Return the layout of both pages afterwards, by the texts that were there before."""
        old = {one.text for one in self.layout.anchors}
        found = layout(self.lines[1], self.outcome.snapshot, self.theirs.size)
        kept = tuple(one for one in found.anchors if one.text in old)
        return Layout(kept, found.theirs, found.mine, found.shared) if kept else self.layout

    @cached_property
    def arrived(self) -> tuple[Word, ...]:
        """Return the words that come, and those that move to where the reference's come."""
        ends: dict[str, list[PixelBox]] = {}
        for one in self.theirs.came:
            ends.setdefault(one.text, []).append(self.later.place(one.box))
        moved = [
            Word(one.text, one.after)
            for one in self.mine.moved
            if any(gap(box, one.after) <= const.SAME_SPOT for box in ends.get(one.text, ()))
        ]
        return (*self.mine.came, *moved)


def observe(reference: ReferenceEvidence, generated: GeneratedEvidence) -> Observation | None:
    """Compare both sides and try what a person would; None where there is no element."""
    found, outcome = generated.found, generated.outcome
    if found is None or outcome is None or min(found.box.width, found.box.height) < 1:
        return None
    read = reference.read
    lines: tuple[Sequence[OcrLine], Sequence[OcrLine]] = ((), ())
    if read is not None:
        first, last = (
            readable(read(one), generated.snapshot, outcome.snapshot)
            for one in (reference.before, reference.after)
        )
        lines = first, last
    mute = reference.action.kind in ("type", "select")
    described = described_words(reference, generated.snapshot)
    theirs = reference_side(
        reference.before,
        reference.after,
        reference.trigger,
        lines,
        mute=mute,
        scaled=reference.scaled,
    )
    if described:
        box = reference_box(theirs)
        theirs = replace(theirs, came=(*theirs.came, *(Word(one, box) for one in described)))

    def side_of(done: Outcome, element: Element) -> Side:
        return generated_side(
            *(generated.before, generated.snapshot, done, element, generated.noise),
            mute=mute,
            known=described,
        )

    mine = side_of(outcome, found)
    if theirs.front is None and theirs.changed.mean() >= const.PAGE_SHARE:
        # Words on a page in other colours are read otherwise; this page says which are the same.
        same = {one.text for one in mine.kept}
        came, went = (
            tuple(one for one in some if one.text not in same)
            for some in (theirs.came, theirs.went)
        )
        if letters(theirs.came) - letters(came) <= const.MUCH * letters(mine.kept):
            theirs = replace(theirs, came=came, went=went)
    # A number in a small mark is hardly read, but the description may say it.
    if (count := told_count(reference)) and _shows_count(generated.snapshot, count[0]):
        shown = {one.text for one in (*theirs.came, *theirs.kept)}
        marks = [
            part.box
            for part in theirs.parts()
            if not any(part.box.overlap(one.box) for one in theirs.came)
        ]
        if count[1] not in shown and marks:
            theirs = replace(theirs, came=(*theirs.came, Word(count[1], marks[-1])))
    mine = _with_options(theirs, _with_drawn_words(theirs, mine), found, reference.action)
    if pointed := _pointed_words(generated):
        # The reference shows them, too, as the pointer is on its element.
        theirs, mine = (replace(one, came=_without(one.came, pointed)) for one in (theirs, mine))
    where = layout(
        lines[0], generated.snapshot, (reference.before.shape[1], reference.before.shape[0])
    )
    dead = not pixels.clusters(mine.elsewhere & beyond_pointing(generated, mine), least=const.TRACE)
    opened = outcome.events.dialogs or outcome.events.windows
    tries: list[Try] = []
    # A guessed element with another effect is probably not the one that is meant; nor is one that
    # nothing is written on.
    guess = _is_guess(reference, generated, lines[0])
    unlike = guess and 0 <= found_letters(theirs.came, mine.came) < const.HALF
    if (dead and not opened and not outcome.changes.new_page) or unlike:
        for other in generated.others:
            if (tried := generated.attempt(other, reference.action)) is None:
                continue
            side = side_of(tried, other)
            tries.append(Try(other, tried, side, found_letters(theirs.came, side.came)))
            if tries[-1].shows >= const.ALL_WORDS:
                break  # it has the effect
    if tries and (better := _better(reference, generated, where, lines[0], tries)):
        # The element was taken for another one: this one is more like it, and works.
        swapped = replace(
            generated, found=better.element, outcome=better.outcome, found_by="text", others=()
        )
        return observe(reference, replace(swapped, again=lambda: None))
    if reference.action.kind == "drag":
        theirs, mine = _masked(theirs), _masked(mine)
    again = None
    something = pixels.clusters(mine.changed, least=const.TRACE)
    if something and reference.action.kind in ("click", "hover") and not outcome.changes.new_page:
        again = generated.again()
    return Observation(
        reference, generated, found, outcome, where, theirs, mine, lines, again, tuple(tries)
    )


def _pointed_words(generated: GeneratedEvidence) -> Counter[str]:
    """Return the words that come when the pointer is on the element, before anything is done."""
    if generated.pointed is None:
        return Counter()
    now, before = (
        Counter(
            plain(word)
            for one in snapshot.elements
            if one.ink is None or not one.ink.covered
            for word in one.text.split()
        )
        for snapshot in (generated.pointed, generated.snapshot)
    )
    return now - before


def _without(words: Sequence[Word], others: Counter[str]) -> tuple[Word, ...]:
    left, rest = Counter(others), []
    for one in words:
        if left[one.text] > 0:
            left[one.text] -= 1
        else:
            rest.append(one)
    return tuple(rest)


def beyond_pointing(generated: GeneratedEvidence, mine: Side) -> Mask:
    """Return where the page differs from what it shows while the pointer is on the element."""
    if generated.approach is None:
        return mine.changed
    return pixels.changed(pixels.fitted(generated.approach, *mine.size), mine.after)


def described_words(reference: ReferenceEvidence, before: Snapshot) -> list[str]:
    """Return the words that come, of those that OCR cannot read: the description names them.

    What the sentence says is the name of the trigger or what is typed.
    """
    known = {plain(word) for one in before.elements for word in one.text.split()}
    known |= {plain(word) for word in reference.sentence.split()}
    words = [plain(word) for word in re.split(r"[\s,،;؛:()·]+", reference.description)]
    strange = [one for one in words if len(one) > 2 and not is_readable(one)]
    return [one for one in dict.fromkeys(strange) if one not in known]


def _masked(side: Side) -> Side:
    """Return a side on which all numbers are the same: nobody drags to the pixel."""

    def mask(words: Sequence[Word]) -> tuple[Word, ...]:
        return tuple(Word(re.sub(r"\d+", "0", one.text), one.box) for one in words)

    return replace(side, came=mask(side.came), went=mask(side.went))


def told_count(reference: ReferenceEvidence) -> tuple[str, str] | None:
    """Return the numbers between which the description says that a count changes."""
    found = re.search(r"\bfrom (\d{1,4}) to (\d{1,4})\b(?![.:/%]\d)", reference.description)
    return (found[1], found[2]) if found else None


def _shows_count(snapshot: Snapshot, number: str) -> bool:
    return any(one.text.strip() == number for one in snapshot.elements)


def reference_box(theirs: Side) -> PixelBox:
    """Return the place of a change."""
    return around(one.box for one in theirs.parts()) or PixelBox(0, 0, *theirs.size)


def _with_options(theirs: Side, mine: Side, found: Element, action: Action) -> Side:
    """Add the options of a native list that is clicked: the browser shows them, not the page."""
    if found.tag != "select" or action.kind not in ("click", "hover"):
        return mine
    box = found.box
    below = PixelBox(box.left, box.bottom, box.right, box.bottom + box.height)
    words = Counter(plain(word) for one in options_of(found) for word in one.split())
    wanted = Counter(one.text for one in theirs.came) - Counter(one.text for one in mine.came)
    shown = (words & wanted).elements()
    return replace(mine, came=(*mine.came, *(Word(one, below) for one in shown)))


def _with_drawn_words(theirs: Side, mine: Side) -> Side:
    """Add the words that the page shows in a picture or a canvas, where no element has them.

    Where both pages look the same to the pixel before and after, a word comes or goes on both.
    """
    width, height = min(theirs.size[0], mine.size[0]), min(theirs.size[1], mine.size[1])

    def cut(picture: Rgb) -> Rgb:
        return np.ascontiguousarray(picture[:height, :width])

    other = pixels.differing(cut(theirs.before), cut(mine.before)) | pixels.differing(
        cut(theirs.after), cut(mine.after)
    )

    def same(box: PixelBox) -> bool:
        inside = box.right <= width and box.bottom <= height
        changes = pixels.count(mine.changed, box) >= const.TRACE
        return inside and changes and not pixels.count(other, box)

    def drawn(wanted: Sequence[Word], written: Sequence[Word]) -> list[Word]:
        known = Counter(one.text for one in written)
        found = []
        for one in wanted:
            if known[one.text]:
                known[one.text] -= 1
            elif same(one.box):
                found.append(one)
        return found

    came, went = drawn(theirs.came, mine.came), drawn(theirs.went, mine.went)
    return replace(mine, came=(*mine.came, *came), went=(*mine.went, *went))


def _better(
    reference: ReferenceEvidence,
    generated: GeneratedEvidence,
    where: Layout,
    lines: Sequence[OcrLine],
    tries: Sequence[Try],
) -> Try | None:
    """Return an element that has the effect and is more like the reference's than the found one."""
    found = generated.found
    names = names_of(reference, lines)
    if found is None:
        return None

    def like(element: Element) -> float:
        reads = likeness(names, element.label) if names else 0.0
        near = 0.0
        if reference.trigger is not None:
            away = shift(where.place(reference.trigger), element.box)
            near = 1 / (1 + away / 60)
        return reads + near + 0.4 * is_control(element)

    alike = [
        one
        for one in generated.snapshot.elements
        if one.text.strip() and likeness(names, one.label) > const.SAME_WORD
    ]
    several = generated.found_by != "id" and len(alike) > 1
    guess = _is_guess(reference, generated, lines)
    for one in tries:
        works = one.shows >= const.ALL_WORDS or (
            one.shows < 0
            and bool(pixels.clusters(one.side.elsewhere))
            # What another thing of its kind does at itself is that one's own effect.
            and (not same_kind(one.element, found) or one.side.changed.mean() >= const.PAGE_SHARE)
        )
        if works and like(one.element) > like(found) + const.MORE_ALIKE:
            return one
        if works and not is_control(found) and one.element.box.encloses(found.box):
            return one  # a text over the shape that it is on
        if guess and (one.shows >= const.HALF or (works and one.shows < 0)):
            return one
        # Of several with the same name it is the one that works.
        same = several and likeness(names, one.element.label) > const.MOSTLY
        if same and one.shows >= const.ALL_WORDS:
            return one
    return None


def same_kind(one: Element, other: Element) -> bool:
    """Return whether two elements are of one tag and size."""
    (a, b), (c, d) = ((each.box.width, each.box.height) for each in (one, other))
    return one.tag == other.tag and max(abs(a - c), abs(b - d)) <= const.PEER_SLACK


def _is_guess(
    reference: ReferenceEvidence, generated: GeneratedEvidence, lines: Sequence[OcrLine]
) -> bool:
    mute = generated.found_by == "position" and not names_of(reference, lines)
    return generated.found_by != "id" and (mute or generated.score < const.GUESS)


def trigger_names(o: Observation) -> list[str]:
    """Return what the reference's trigger is called, and what is written on it."""
    return names_of(o.reference, o.lines[0])


def names_of(reference: ReferenceEvidence, lines: Sequence[OcrLine]) -> list[str]:
    """Return what a trigger is called, and what is written on it."""
    name, sentence = reference.name, reference.sentence
    quoted = name and re.search(r"[\"“«`']\s*" + re.escape(name), sentence)
    beside = name and names_its_frame(name, reference.trigger, lines, sentence)
    names = [name] if name and not beside and (quoted or not sentence) else []
    trigger = reference.trigger
    if trigger is not None:
        names.append(read_on(trigger, lines, sentence))
    return [one for one in names if plain(one)]


def read_on(trigger: PixelBox, lines: Iterable[OcrLine], sentence: str) -> str:
    """Return what is written on a trigger; a letter or two that nobody speaks of are a drawing."""
    read = " ".join(
        word.text for line in lines for word in line.words if trigger.contains(*word.box.centre)
    )
    return read if len(plain(read)) > 2 or plain(read) in plain(sentence) else ""


def options_of(element: Element) -> list[str]:
    """Return what can be chosen in a native list."""
    return [one for one in element.attributes.get("options", "").split("|") if one]


def is_control(element: Element) -> bool:
    """Return whether a person sees, or the page says, that something can be done with it."""
    return (
        element.tag in const.ACTIVE
        or element.role in const.CONTROL_ROLES
        or element.style.get("cursor") == "pointer"
        or bool(element.listeners)
    )


def likeness(names: Iterable[str], label: str) -> float:
    """Return how much a label reads like one of some names."""
    best = 0.0
    b = plain(label)
    for name in names:
        a = plain(name)
        if not a or not b:
            continue
        if a == b and size(a) <= 2:
            # Signs decide where there is hardly a letter: A+ is not A-.
            same = "".join(name.split()).casefold() == "".join(label.split()).casefold()
            best = max(best, 1.0 if same else 0.5)
            continue
        found = similarity(a, b)
        shorter, longer = sorted((a, b), key=len)
        if size(shorter) >= 3 and shorter in longer:
            found = max(found, 0.5 + 0.5 * len(shorter) / len(longer))
        best = max(best, found)
    return best
