"""The objects of a page that change in an interaction, on either side.

The reference is known by its pictures: words are read, everything else is pixels. The generated
page is known by its elements. Both end as the same list of words, places and masks, so that they
can be compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import median

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier import pixels
from uiproof.benchmarks.interaction2code.verifier.evidence import Mask, Outcome
from uiproof.benchmarks.interaction2code.verifier.layout import moved as moved_box
from uiproof.benchmarks.interaction2code.verifier.layout import text_box
from uiproof.benchmarks.interaction2code.verifier.text_compare import (
    has_digit,
    is_readable,
    is_word,
    plain,
    same_word,
    similarity,
    size,
)
from uiproof.browser.snapshots import Element, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb
from uiproof.vision.ocr import OcrLine


@dataclass(frozen=True, slots=True)
class Word:
    """A word at its place; on generated pages the place of the text that it is in."""

    text: str  # plain
    box: PixelBox
    ref: int = 0  # of the element that it is in, on generated pages


@dataclass(frozen=True, slots=True)
class Motion:
    """A word that is elsewhere afterwards."""

    text: str
    before: PixelBox
    after: PixelBox

    @property
    def way(self) -> tuple[float, float]:
        """Return how far it went."""
        (x, y), (to_x, to_y) = self.before.centre, self.after.centre
        return to_x - x, to_y - y


@dataclass(frozen=True, slots=True)
class Side:
    """The texts of one page before and after an action, and the change between them."""

    before: Rgb
    after: Rgb
    changed: Mask  # in any pixel, without noise
    fresh: Mask  # the same without what is only pushed elsewhere
    own: Mask  # the place of the trigger and its focus ring
    trigger: PixelBox | None
    kept: tuple[Word, ...]  # words that stay where they are
    came: tuple[Word, ...]
    went: tuple[Word, ...]
    moved: tuple[Motion, ...]
    front: PixelBox | None = None  # what stands before the page, which is dimmed

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height of the canvas."""
        return self.changed.shape[1], self.changed.shape[0]

    @property
    def elsewhere(self) -> Mask:
        """Return the change without the trigger."""
        return self.changed & ~self.own

    def parts(self) -> list[pixels.Cluster]:
        """Return the change without the trigger and what is pushed, piece by piece."""
        return pixels.clusters(self.news, reach=const.PART_GAP, least=const.TRACE)

    @property
    def news(self) -> Mask:
        """Return the change without the trigger and what is pushed, unless that is all."""
        news = self.fresh & ~self.own
        return news if news.any() else self.elsewhere


def reference_side(
    before: Rgb,
    after: Rgb,
    trigger: PixelBox | None,
    lines: tuple[Sequence[OcrLine], Sequence[OcrLine]],
    *,
    mute: bool,
    scaled: bool = False,
) -> Side:
    """Return the reference's side. With `mute` the words on the trigger itself do not count."""
    height, width = max(before.shape[0], after.shape[0]), max(before.shape[1], after.shape[1])
    first, last = (pixels.fitted(one, width, height) for one in (before, after))
    changed = pixels.changed(first, last)
    if scaled:  # edges differ by themselves
        changed &= pixels.widened(pixels.differing(first, last), const.SCALED)
    own = _zone(trigger, width, height)
    if mute and trigger is not None:
        own |= _zone(_field(changed, trigger), width, height)
    words = [_read(some, trigger if mute else None) for some in lines]
    # A word on which no pixel changes has not changed, whatever was read; nor has one in a shade.
    still = [[one for one in some if _stays(first, last, changed, one.box)] for some in words]
    other = [[one for one in some if not _stays(first, last, changed, one.box)] for some in words]
    came, went, moved, kept = compare_words(*other)
    came, went = (tuple(one for one in some if is_word(one.text)) for some in (came, went))
    fresh = _fresh(first, last, changed, moved)
    kept = (*still[0], *kept)
    if (front := pixels.in_front(first, last)) is not None:
        # OCR is unreliable behind a veil, and only the dialog in front matters.
        fresh &= pixels.filled([front], (width, height))
        behind = [one for one in went if not front.overlap(one.box)]
        kept = (*kept, *behind, *(Word(one.text, one.before) for one in moved))
        came = tuple(one for one in came if front.contains(*one.box.centre))
        went = tuple(one for one in went if front.overlap(one.box))
        moved = ()
    elif (closed := pixels.in_front(last, first)) is not None:
        # A dialog that closes: what was behind it was there before.
        fresh &= pixels.filled([closed], (width, height))
        behind = [one for one in came if closed.overlap(one.box)]
        kept = (*kept, *behind, *(Word(one.text, one.after) for one in moved))
        came = tuple(one for one in came if not closed.overlap(one.box))
        went = tuple(one for one in went if closed.contains(*one.box.centre))
        moved = ()
    return Side(first, last, changed, fresh, own, trigger, kept, came, went, moved, front)


def generated_side(
    before: Rgb,
    snapshot: Snapshot,
    outcome: Outcome,
    trigger: Element,
    noise: Mask | None,
    *,
    mute: bool,
    known: Collection[str] = (),
) -> Side:
    """Return the generated page's side; words in an unknown script count if they are `known`."""
    after = outcome.picture
    height, width = max(before.shape[0], after.shape[0]), max(before.shape[1], after.shape[1])
    first, last = (pixels.fitted(one, width, height) for one in (before, after))
    changed = pixels.changed(first, last)
    restless = np.zeros(changed.shape, np.bool_)
    if noise is not None and noise.any():
        rest = ((0, max(height - noise.shape[0], 0)), (0, max(width - noise.shape[1], 0)))
        restless = pixels.widened(np.pad(noise, rest)[:height, :width], 3)
        changed &= ~restless
    silent: frozenset[int] = frozenset()
    if mute:
        silent = frozenset({trigger.ref, *(one.ref for one in snapshot.inside(trigger))})
    # A text that was there before stays, whatever covers it.
    seen = {one.ref: one.text for one in snapshot.elements if not _is_covered(one)}
    words = _written(snapshot, silent, {}), _written(outcome.snapshot, silent, seen)
    came, went, moved, kept = compare_words(*words)
    if (closed := pixels.in_front(last, first)) is not None:
        # A dialog that closes: what was behind it was there before.
        old = {one.ref for one in snapshot.elements}
        behind = [one for one in came if one.ref in old and closed.overlap(one.box)]
        kept, came = (*kept, *behind), tuple(one for one in came if one not in behind)

    def is_noise(one: Word) -> bool:  # a clock that goes on, say, or nothing to compare it with
        strange = not is_readable(one.text) and one.text not in known
        return strange or pixels.count(restless, one.box) > pixels.count(changed, one.box)

    came, went = (tuple(one for one in some if not is_noise(one)) for some in (came, went))
    fresh = _fresh(first, last, changed, moved)
    if (front := pixels.in_front(first, last)) is not None:
        fresh &= pixels.filled([front], (width, height))
    return Side(
        first,
        last,
        changed,
        fresh,
        _zone(trigger.box, width, height),
        trigger.box,
        kept,
        came,
        went,
        moved,
        front,
    )


def _fresh(before: Rgb, after: Rgb, changed: Mask, moved: Sequence[Motion]) -> Mask:
    return changed & ~pixels.displaced(before, after, changed, _ways(before, after, moved))


def _ways(before: Rgb, after: Rgb, moved: Sequence[Motion]) -> list[tuple[int, int]]:
    """Return how far parts of the page went, to the pixel: most words go together."""
    groups: dict[tuple[int, int], list[Motion]] = defaultdict(list)
    for one in moved:
        groups[round(one.way[0] / 8), round(one.way[1] / 8)].append(one)
    found = []
    for some in sorted(groups.values(), key=lambda some: -letters(some))[: const.MOST_WAYS]:
        chosen = sorted(some, key=lambda one: -len(one.text))[:6]
        dx, dy = (round(median(one.way[axis] for one in some)) for axis in (0, 1))
        reach = [(dx + x, dy + y) for x in range(-2, 3) for y in range(-5, 6)]
        found.append(min(reach, key=lambda way: (_misfit(before, after, chosen, way), way)))
    return found


def _misfit(before: Rgb, after: Rgb, moved: Iterable[Motion], way: tuple[int, int]) -> float:
    total = 0.0
    for one in moved:
        old, new = pixels.crop(before, one.before), pixels.crop(after, moved_box(one.before, *way))
        if old.size and old.shape == new.shape:
            total += float(np.abs(old.astype(np.int16) - new).mean())
        else:
            total += 255.0
    return total


def _zone(box: PixelBox | None, width: int, height: int) -> Mask:
    grown = None if box is None else pixels.grown(box, const.FOCUS_RING, width, height)
    return pixels.filled([grown], (width, height))


def _field(changed: Mask, text: PixelBox) -> PixelBox | None:
    """Return the frame that is drawn around a text in a field when it has the focus."""
    for one in pixels.clusters(changed, reach=const.PART_GAP):
        if one.box.encloses(text) and one.box.height <= const.FIELD_HEIGHT:
            return one.box
    return None


def _stays(before: Rgb, after: Rgb, changed: Mask, box: PixelBox) -> bool:
    """Return whether a word is drawn as before, be it under a veil, or light on dark."""
    count = pixels.count(changed, box)
    if count < const.TRACE:
        return True
    if count < const.SHADED * box.area:
        return False  # on the same ground: its letters are others
    one, other = (
        pixels.gray(pixels.crop(each, box)).astype(np.float64) for each in (before, after)
    )
    spread = float(one.std() * other.std())
    alike = float(((one - one.mean()) * (other - other.mean())).mean())
    return spread > const.CHANGE**2 and abs(alike) >= const.SAME_DRAWING * spread


def _read(lines: Iterable[OcrLine], without: PixelBox | None) -> list[Word]:
    return [
        Word(text, word.box)
        for line in lines
        for word in line.words
        if (text := plain(word.text))
        and (without is None or not without.contains(*word.box.centre))
    ]


def _written(snapshot: Snapshot, silent: frozenset[int], known: Mapping[int, str]) -> list[Word]:
    """Return the words that can be seen, and those under something opaque that are known."""
    return [
        Word(text, text_box(one), one.ref)
        for one in snapshot.elements
        if one.text.strip()
        and one.ref not in silent
        and (not _is_covered(one) or known.get(one.ref) == one.text)
        for part in one.text.split()
        if (text := plain(part)) and any(map(str.isalnum, text))
    ]


def _is_covered(element: Element) -> bool:
    return element.ink is not None and element.ink.covered


Compared = tuple[tuple[Word, ...], tuple[Word, ...], tuple[Motion, ...], tuple[Word, ...]]


def compare_words(before: Sequence[Word], after: Sequence[Word]) -> Compared:
    """Return the words that came, that went, that moved, and that stayed."""
    old: dict[str, list[Word]] = defaultdict(list)
    for one in before:
        old[one.text].append(one)
    kept: list[Word] = []
    rest: list[Word] = []
    for one in after:
        same = [was for was in old[one.text] if _off(was.box, one.box) <= const.STILL]
        if same:
            old[one.text].remove(same[0])
            kept.append(one)
        else:
            rest.append(one)
    # Words that moved: long ones first, short ones only along with them.
    moved: list[Motion] = []
    came: list[Word] = []
    ways: list[tuple[float, float]] = []
    for one in sorted(rest, key=lambda word: (has_digit(word.text), -len(word.text))):
        twins = old[one.text]
        long = size(one.text) > 3 and not has_digit(one.text)
        same = [was for was in twins if one.ref and was.ref == one.ref]
        if same:
            twins = same
        elif not long:
            twins = [was for was in twins if _follows(Motion(one.text, was.box, one.box), ways)]
        if not twins:
            came.append(one)
            continue
        was = min(twins, key=lambda word: _off(word.box, one.box))
        old[one.text].remove(was)
        motion = Motion(one.text, was.box, one.box)
        moved.append(motion)
        ways.append(motion.way)
    if len(ways) >= const.REFLOW:
        # A text that is broken into other lines: its short words have moved as well.
        for one in [word for word in came if not has_digit(word.text)]:
            if old[one.text]:
                came.remove(one)
                moved.append(Motion(one.text, old[one.text].pop().box, one.box))
    _pushed_along(came, old, moved)
    went = [one for some in old.values() for one in some]
    # Letters that were read differently at the same place are the same word.
    for one in list(came):
        twin = next(
            (was for was in went if _misread(one, was)),
            None,
        )
        if twin is not None:
            came.remove(one)
            went.remove(twin)
            kept.append(one)
    # And words that were read as one, or one that was read as several.
    for some, others in ((came, went), (went, came)):
        for one in [word for word in some if len(word.text) >= const.LONG_WORD]:
            parts = [each for each in others if _share_in(each.box, one.box) > const.HALF]
            parts.sort(key=lambda each: each.box.left)
            if len(parts) > 1 and same_word("".join(each.text for each in parts), one.text):
                some.remove(one)
                kept.append(one)
                for each in parts:
                    others.remove(each)
    return tuple(came), tuple(went), tuple(moved), tuple(kept)


def _pushed_along(came: list[Word], old: Mapping[str, list[Word]], moved: list[Motion]) -> None:
    """Take short words that go one way together, such as a column of numbers, for moved ones."""
    ways: dict[tuple[int, int], list[Motion]] = defaultdict(list)
    for one in came:
        if len(old[one.text]) == 1:
            motion = Motion(one.text, old[one.text][0].box, one.box)
            ways[round(motion.way[0] / 8), round(motion.way[1] / 8)].append(motion)
    for some in ways.values():
        if len({one.text for one in some}) < const.COLUMN:
            continue
        moved += some
        for motion in some:
            old[motion.text].clear()
            came[:] = [one for one in came if one.box != motion.after]


def _share_in(inner: PixelBox, outer: PixelBox) -> float:
    return inner.overlap(outer) / max(inner.area, 1)


def _misread(one: Word, other: Word) -> bool:
    """Return whether two words at one place are the same, read through a line or on a shade."""
    if not one.box.overlap(other.box):
        return False
    if same_word(one.text, other.text):
        return True
    long = min(len(one.text), len(other.text)) >= const.LONG_WORD
    return long and similarity(one.text, other.text) >= const.MISREAD


def _follows(motion: Motion, ways: Sequence[tuple[float, float]]) -> bool:
    dx, dy = motion.way
    # Rows go together; their columns may become wider or narrower.
    return any(abs(dx - x) <= 40 and abs(dy - y) <= 8 for x, y in ways) or hypot(dx, dy) <= 40


def _off(one: PixelBox, other: PixelBox) -> float:
    (x, y), (to_x, to_y) = one.centre, other.centre
    edges = min(abs(one.left - other.left), abs(one.right - other.right), abs(x - to_x))
    return max(edges, min(abs(one.top - other.top), abs(y - to_y)))


def letters(words: Iterable[Word | Motion]) -> int:
    """Return how many letters some words have."""
    return sum(size(one.text) for one in words)


def found_letters(wanted: Iterable[Word | Motion], given: Sequence[Word | Motion]) -> float:
    """Return the share of letters of words that are among others, each once; -1 without words.

    Words may be joined or split on one side: OCR reads a Chinese line as one word, and a page may
    put each part of it into an element of its own.
    """
    left = [one.text for one in given]
    total = found = 0.0
    rest = []
    for one in sorted(wanted, key=lambda word: -len(word.text)):
        total += size(one.text)
        twin = one.text if one.text in left else None
        if twin is None and not has_digit(one.text) and len(one.text) > 3:
            twin = next(
                (
                    each
                    for each in left
                    if len(each) > 3 and similarity(each, one.text) >= const.ALIKE_TEXT
                ),
                None,
            )
        if twin is None:
            rest.append(one.text)
        else:
            left.remove(twin)
            found += size(one.text)
    for text in rest:
        share = _covered(text, left)
        found += size(text) * (share if share >= const.HALF else 0.0)
    return found / total if total else -1.0


def _covered(text: str, left: list[str]) -> float:
    """Return the share of a text that others make up, or that is in one of them; use them up."""
    whole = next((each for each in left if len(text) >= 2 and _is_part(text, each)), None)
    if whole is not None and (size(text) >= const.LONG_WORD or has_digit(text)):
        left.remove(whole)
        left += [one for one in whole.split(text, 1) if one]
        return 1.0
    if len(text) < const.LONG_WORD:
        return 0.0
    open_, used = text, []
    for each in sorted(left, key=len, reverse=True):
        if (size(each) >= 2 or has_digit(each)) and _is_part(each, open_):
            open_ = open_.replace(each, " ", 1)
            used.append(each)
    share = 1 - size("".join(open_.split())) / size(text)
    if share >= const.HALF:
        for each in used:
            left.remove(each)
    return 1.0 if share >= const.SAME_WORD and not has_digit(open_) else share


def _is_part(part: str, whole: str) -> bool:
    """Return whether a text is in another one, without cutting through a number."""
    at = whole.find(part)
    if at < 0:
        return False
    before, after = whole[at - 1 : at], whole[at + len(part) : at + len(part) + 1]
    return not (before.isdigit() and part[0].isdigit()) and not (
        after.isdigit() and part[-1].isdigit()
    )


def matched_words(
    theirs: Sequence[Word],
    mine: Sequence[Word],
    place: Callable[[PixelBox], PixelBox] = lambda box: box,
) -> list[tuple[Word, Word]]:
    """Pair words of both sides that read the same, the nearest to the places of the others."""
    left = list(mine)
    pairs = []
    for one in theirs:
        same = [each for each in left if each.text == one.text]
        if not same and len(one.text) > 3:
            same = [each for each in left if similarity(each.text, one.text) >= const.SAME_WORD]
        if same:
            at = place(one.box) if len(same) > 1 else one.box
            twin = min(same, key=lambda each: _off(at, each.box))
            left.remove(twin)
            pairs.append((one, twin))
    return pairs
