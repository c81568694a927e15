"""The written guidelines as a first opinion: what a person says of the features.

The model weighs this opinion with the features themselves; see `model.py`. Lengths and amounts in
the features are logarithms, so the limits here are written as `log1p(pixels)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p

from uiproof.benchmarks.interaction2code.failures import Failure
from uiproof.benchmarks.interaction2code.verifier.constants import GUESS, NEAR_COPY
from uiproof.benchmarks.interaction2code.verifier.features import Features

F = Failure
Said = tuple[Failure, bool]

HARDLY = log1p(12)  # pixels: a change that nobody sees
CLEARLY = log1p(30)
LETTERS = log1p(3)
SMALL = log1p(5000)  # pixels: no more than a mark or a few words change
POINTED = 0.95  # share of a change from which pointing does it, not the click
SOME = 0.03  # share of the effect that is more than noise
AWAY = log1p(60)  # pixels from which something is elsewhere
FAR = log1p(90)
SAME = 0.95  # share of a change that looks the same, from which it is the same
COPY = 0.9  # share of texts at their places from which what changes nowhere is missing
SIMPLER = 0.7  # share of the reference's texts below which a page leaves out much of it
VEIL = 0.4  # share of a page from which it is covered


@dataclass(frozen=True, slots=True)
class Opinion:
    """The verdict of the guidelines on an interaction."""

    failure: Failure
    usable: bool
    presence: float  # share of the reference's effect that is there, weighed by importance


def opinion(f: Features) -> Opinion:
    """Return what the guidelines say."""
    share = presence(f)
    return Opinion(*_first(f, share), share)


def presence(f: Features) -> float:
    """Return the share of the reference's effect that is there, wherever it is."""
    if _looks_the_same(f):
        return 1.0
    there = f.present + f.misplaced + f.peer
    # Words that the page never had, before or after, were left out of it on purpose.
    left_out = f.relative >= 0 and f.came_precision > 0.8 and not _keeps_all(f)
    return max(there, f.relative) if left_out else there


def _keeps_all(f: Features) -> bool:
    """Return whether most of the reference's change is that words go, and they do not."""
    elsewhere = f.misplaced + f.peer > 0.2
    less = f.reference_went > f.reference_came + 0.7
    return less and 0 <= f.went_recall < 0.3 and not elsewhere


def _looks_the_same(f: Features) -> bool:
    """Return whether a near copy looks afterwards as the reference does."""
    read = not 0 <= f.came_recall < 0.6
    looks = min(f.same_after, f.area_recall, f.area_precision) >= SAME
    return looks and read and f.close >= NEAR_COPY


def _first(f: Features, share: float) -> Said:
    opened = bool(f.dialog or f.window or f.leaves)
    recall = f.came_recall if f.reference_came > 0 else -1.0
    if f.scrolls and f.reference_elsewhere <= HARDLY:
        return F.NONE, True
    if nothing := _nothing(f, opened=opened, recall=recall):
        return nothing
    if not f.visible and f.look >= 0 and not f.drag:  # the reference's shows something
        return F.MISSING, False
    elsewhere = f.says_browser_window or f.says_page
    if opened and not elsewhere:
        return F.EFFECT_TYPE, bool(recall > 0.6 or f.dialog)
    # A page of its own may be shown by a script in place of this one.
    if elsewhere and not (f.window or f.leaves) and (f.says_browser_window or recall < 0.5):
        if recall > 0.5:
            return F.PARTIAL, False
        return F.EFFECT_TYPE, f.came > log1p(8)
    if not f.by_id and _stranger(f, share):
        return F.MISSING, False
    if f.says_browser_window and f.window and f.reference_elsewhere <= HARDLY:
        return F.NONE, True  # nothing else should happen
    if f.contrary:
        return (F.WRONG_FUNCTION if not f.click or f.number_recall >= 0 else F.EFFECT_TARGET), False
    if f.told == 0 and f.strange and share >= 0.3:
        return F.WRONG_FUNCTION, False
    if _less(f):
        return F.PARTIAL, f.absent < 0.5 and f.main != 0
    pure = f.came_precision < 0 or f.came_precision >= 0.6 or f.came < log1p(8)
    pure = pure or f.substitute < 0.15
    complete = share >= 0.7 and pure
    element = _element(f)
    if element is not None and (complete or recall >= 0.75 or share >= 0.6):
        return element, element is not F.WRONG_ELEMENT or bool(f.belongs)
    # It should change, and does not.
    itself = f.reference_own > 0.05 and f.own < 0.02 and f.reference_came <= log1p(4)
    if f.sibling and (not complete or itself):
        return F.EFFECT_TARGET, False
    if _other_layer(f) and not _looks_the_same(f) and (complete or recall >= 0.6):
        return F.EFFECT_TYPE, True
    if displaced := _displaced(f, recall, share):
        return displaced
    if _other_numbers(f):
        return F.WRONG_FUNCTION, False
    if complete:
        return _complete(f)
    return _incomplete(f, recall, share)


def _less(f: Features) -> bool:
    """Return whether a part of what is expected happens, and nothing else."""
    other = f.different + f.peer + f.misplaced
    besides = max(f.substitute, f.harmful)
    there = SOME < f.present < 0.7 and f.absent > 0.3
    return there and max(other, besides) < 0.1 and (f.elsewhere < SMALL or f.area_precision > 0.8)


def _nothing(f: Features, *, opened: bool, recall: float) -> Said | None:
    """Return a failure where only the element itself changes, or nothing at all."""
    itself = f.elsewhere <= HARDLY and not opened
    dead = itself and f.own < 0.02
    if not dead and not (itself and f.reference_elsewhere > CLEARLY and recall < 0.5):
        return None
    copied = f.close < NEAR_COPY or f.other_same > 0.8
    alike = f.reference_came == 0 and not f.drag and copied and f.other_area < 1
    if f.other_works >= 0.8 if f.reference_came else f.other_works > 0 and alike:
        return F.WRONG_ELEMENT, bool(f.other_belongs)
    unlike = 0 <= f.reads < 0.7 and f.score < 0.6 if f.reference_reads else f.look < 0.4
    if not f.visible or (not f.by_id and (unlike or not f.kind_fits or f.score < GUESS)):
        return F.MISSING, False
    small = f.reference_came <= log1p(4) and f.click
    if small and min(f.own_colour, 10 * f.reference_own, 10 * f.own) > 0.5:
        return F.PARTIAL, True  # it does what it should; a count somewhere does not follow
    usual = dead or f.type or f.select or f.approach > 0.8 or f.own_state
    if (not usual and f.own > 0.15) or (f.click and f.came > LETTERS and f.approach < POINTED):
        return F.EFFECT_TYPE, False
    return F.NO_INTERACTION, False


def _stranger(f: Features, share: float) -> bool:
    """Return whether an element that was found without an id is another one."""
    if f.score < GUESS and share < 0.5 and f.at_place < 0.5:
        return True
    if f.reference_reads:
        return 0 <= f.reads < 0.7 and share < 0.9
    return 0 <= f.look < 0.6 and f.at_place < 0.3 and share < 0.6


def _element(f: Features) -> Failure | None:
    """Return what is wrong with the element, given that it has the effect."""
    still = 0 <= f.look < 0.6 and f.place_look > 0.8 and f.look < f.place_look - 0.3
    other = f.reference_reads and 0 <= f.reads < 0.85 and f.rival + f.reads > 0.95
    away = f.at_place < 0.3
    if away and ((still and f.offset > log1p(16)) or (other and f.offset > log1p(25))):
        return F.WRONG_ELEMENT
    if not f.kind_fits or f.other_action:
        return F.WRONG_TYPE
    anew = f.close < 0.5
    if anew and f.offset > log1p(150) and f.raw_offset > AWAY:
        return F.WRONG_POSITION
    if not anew and f.offset > log1p(75) and f.raw_offset > AWAY:
        return F.WRONG_POSITION
    # Everything else is in place, so the element and its label have moved together.
    apart = f.close > COPY or f.offset > AWAY
    if f.close > 0.7 and f.raw_offset > FAR and apart:
        return F.WRONG_POSITION
    return None


def _displaced(f: Features, recall: float, share: float) -> Said | None:
    """Return a failure where the effect is there, at another place or on another thing."""
    same_kind = f.vanished == 0 or f.reference_came == 0
    if f.peer >= 0.25 and f.misplaced < 0.1 and f.appeared == 0 and f.present < 0.7 and same_kind:
        return F.EFFECT_TARGET, False
    if share < 0.5 or f.present >= 0.6:
        return None
    if f.drag and f.misplaced + f.peer >= 0.4:
        return F.EFFECT_POSITION, False  # the place is the function
    other_went = f.harmful > 0.4 or (0 <= f.went_recall < 0.3 and f.went > log1p(5))
    if f.peer >= 0.4:
        return F.EFFECT_TARGET, False
    if f.peer + f.misplaced < 0.4:
        return None
    if other_went:
        return F.EFFECT_TARGET, False
    if recall >= 0.6 or (recall < 0 and f.appeared > 0):
        return F.EFFECT_POSITION, True
    return F.EFFECT_TARGET, False


def _other_layer(f: Features) -> bool:
    """Return whether something lies over the page that does not in the reference, or reversed."""
    meant = bool(f.says_overlay or f.says_window or f.reference_veil > VEIL)
    if meant:
        flows = not f.floating and f.floating_area == 0 and f.appeared > 0
        replaces = f.harmful > 1  # the page, by another one
        return flows and (f.growth > log1p(20) or f.pushed > 0 or replaces)
    stays = f.reference_moved > log1p(12) and f.moved_recall < 0.3
    return bool(f.floating and (f.over or f.veil > VEIL or stays))


def _other_numbers(f: Features) -> bool:
    """Return whether texts change as they should, but for their numbers.

    Only on near copies, where readings are reliable, and not in what appears: that may have a time.
    """
    other = 0 <= f.number_recall < 0.35 and 0 <= f.number_precision < 0.35
    read = f.close >= NEAR_COPY and f.same_after < 0.99
    return bool(other and read and not f.appeared and not f.drag)


def _complete(f: Features) -> Said:
    """Return what may still be wrong where all of the effect is there."""
    if f.says_back and 0 <= f.back < 0.6 and (f.click or f.hover):
        return F.PARTIAL, True
    if f.close > COPY and f.lacks and not f.drag:
        return F.PARTIAL, f.main != 0  # a count stays as it was, say
    return (F.PARTIAL, f.main != 0) if f.absent > 0.2 else (F.NONE, True)


def _incomplete(f: Features, recall: float, share: float) -> Said:
    """Return a failure where the effect is another one, or only a part of it is there."""
    precision = f.came_precision
    if f.shared < SIMPLER and f.relative >= 0.35 and precision >= 0.6:
        return F.PARTIAL, True  # less of it, as of all of the page
    if _keeps_all(f) and f.reference_went > log1p(12) and recall >= 0.6:
        return (F.EFFECT_TARGET if f.harmful > 0.4 else F.PARTIAL), False
    if f.close < 0.5 and recall >= 0.5 and precision >= 0.45 and f.reference_came > log1p(12):
        # In other words, and with other examples in it.
        return (F.NONE if min(recall, share) >= 0.5 else F.PARTIAL), True
    if _other_examples(f):
        return F.NONE, True
    if recall >= 0.75 and f.present >= 0.5 and f.absent < 0.2 and f.appeared > 0:
        return F.NONE, True  # and something besides, which a page built anew may show
    if recall >= 0.75 and precision >= 0.6:  # the words are there, what is around them is not
        return (F.EFFECT_TYPE if 0 <= f.went_recall < 0.4 else F.PARTIAL), True
    if precision >= 0.75 and recall > 0 and f.substitute < 0.3:
        # Some of several changed texts are of use; a dialog without its field is not.
        texts = f.says_text and not (f.says_component or f.says_window)
        some = bool(texts and recall >= 0.12) or share >= 0.5
        return F.PARTIAL, bool(f.main) if f.main >= 0 else some
    if recall >= 0:
        return _other_words(f)
    if f.came > LETTERS:
        return (F.EFFECT_TYPE, True) if f.context > 0.4 else (F.WRONG_FUNCTION, False)
    if f.reference_moved > log1p(4) and f.moved_recall < 0.3:
        if f.moved > log1p(4):
            return F.EFFECT_TARGET, False
        return (F.WRONG_FUNCTION if f.area_precision > 0.6 else F.EFFECT_TYPE), False
    if f.peer > 0.3 or 0 <= f.context < 0.4:
        return (F.EFFECT_TARGET if f.colour > 0.5 or f.peer else F.WRONG_FUNCTION), False
    if share > 0.35:
        return F.PARTIAL, True
    return (F.EFFECT_TYPE if f.colour < 0.4 else F.WRONG_FUNCTION), False


def _other_examples(f: Features) -> bool:
    """Return whether a page built anew shows other examples of the same, at the same place."""
    alike = 0.1 < f.came_recall < 0.5 and f.came > LETTERS
    alike = alike and abs(f.came - f.reference_came) < log1p(2)
    there = f.context > 0.5 or f.area_precision > 0.6
    gone = f.went_recall > 0.6 or f.reference_went < LETTERS
    other = max(f.harmful, 2 * f.peer) >= 0.2 or f.sibling
    return bool(f.close < 0.5 and alike and there and gone and not other)


def _other_words(f: Features) -> Said:
    """Return a failure where the reference shows words and the page does not show them."""
    if f.came >= LETTERS:
        return F.WRONG_FUNCTION, False
    if f.went_recall > 0.6:
        return F.PARTIAL, False
    if f.vanished > 0 and f.appeared == 0:
        return F.WRONG_FUNCTION, False
    if f.area_recall > 0.6 and f.area_precision > 0.5:
        return (F.PARTIAL if f.colour > 0.5 else F.EFFECT_TYPE), False
    if 0 <= f.area_precision < 0.35 and f.context < 0.4:
        return F.WRONG_FUNCTION, False
    return F.EFFECT_TYPE, False
