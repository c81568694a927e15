"""Which of the things on a screen an instruction means.

Every place where words of the instruction are written gets a score: how surely these words name
the target x how well they fit x how well the place agrees with what else is said (beside what, in
which corner, what kind of control). The best one wins; an ordinal picks among equals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import hypot

from uiproof.benchmarks.grounding.grounders.candidates import Screen, Span
from uiproof.benchmarks.grounding.grounders.instructions import Anchor, Rank, Wanted
from uiproof.benchmarks.grounding.grounders.sheets import find_cell
from uiproof.benchmarks.grounding.grounders.vocabulary import SIGNS, Axis, Kind, Relation
from uiproof.benchmarks.grounding.grounders.widgets import LOOKED_FOR, control_of
from uiproof.boxes import PixelBox

MIN_SCORE = 0.42  # below, nothing on the screen is what is wanted
_EQUAL = 0.9  # of the best score of its words: one of those that an ordinal counts
_SURE_NAME = 0.85  # weight from which words are looked for even when misread
_SIGN_WEIGHT = 0.8  # of a sign such as × for "close"
_CELL_SCORE = 0.9
_OVERLAP_WEIGHT = 0.85  # of a line that is made of the instruction's words
_FEWEST_SHARED = 2  # words that make such a line
_LEAST_ANCHOR = 0.7
_UNQUOTED = 0.4  # what counts of surroundings that are described rather than quoted


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen."""

    point: tuple[float, float]  # pixels
    box: PixelBox
    text: str  # the line that it was chosen for
    score: float  # 0-1: how well it fits
    confidence: float  # 0-1: the same, less where others fit as well


@dataclass(frozen=True, slots=True)
class _Candidate:
    span: Span
    said: float  # the score of its words alone
    relation: Relation | None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class _Surroundings:
    relation: Relation
    boxes: list[PixelBox]
    strength: float  # 0-1: how much it counts


def choose(screen: Screen, wanted: Wanted) -> Choice | None:
    """The thing that is wanted, or None when there is nothing like it."""
    if wanted.cell is not None and (cell := find_cell(screen.lines, *wanted.cell)) is not None:
        return Choice(_middle(cell), cell, "", _CELL_SCORE, _CELL_SCORE)
    anchors = [found for anchor in wanted.anchors if (found := _locate(screen, anchor))]
    candidates = [
        replace(one, score=one.said * _agreement(screen, wanted, one, anchors))
        for one in _candidates(screen, wanted)
    ]
    if not candidates:
        return None
    # Equal ones in reading order, so that the answer never depends on how they were found.
    candidates.sort(key=_best_first)
    if wanted.kind in LOOKED_FOR:
        # Of labels that say the same, the one with such a control is meant.
        closest = [
            replace(one, score=one.score * _has(screen, wanted, one)) for one in candidates[:6]
        ]
        candidates = sorted(closest, key=_best_first) + candidates[6:]
    best, rivals = candidates[0], candidates[1:2]
    if wanted.rank is not None:
        equals = [one for one in candidates if one.said >= _EQUAL * best.said]
        best, rivals = _ranked(equals, wanted.rank) or best, []
    if best.score < MIN_SCORE:
        return None
    control = control_of(screen, best.span.box, wanted.kind, best.relation)
    box, point = control.box, control.point
    doubt = 0.5 * (rivals[0].score / best.score) ** 4 if rivals else 0.0
    score = min(best.score, 1.0)
    text = screen.texts[best.span.line].text
    return Choice(point, box, text, score, score * (1 - doubt))


def _best_first(one: _Candidate) -> tuple[float, int, int]:
    return -one.score, one.span.box.top, one.span.box.left


def _has(screen: Screen, wanted: Wanted, one: _Candidate) -> float:
    control = control_of(screen, one.span.box, wanted.kind, one.relation)
    return 1.0 if control.found else 0.85


def _candidates(screen: Screen, wanted: Wanted) -> list[_Candidate]:
    found: list[_Candidate] = []
    for phrase in wanted.phrases:
        spans = screen.find(phrase.text, nearly=phrase.quoted or phrase.weight >= _SURE_NAME)
        if not spans and phrase.quoted:
            spans = _pieces(screen, phrase.text)
        found += [_Candidate(span, phrase.weight * span.quality, phrase.relation) for span in spans]
        found += [
            _Candidate(span, phrase.weight * _SIGN_WEIGHT * span.quality, phrase.relation)
            for sign in SIGNS.get(phrase.text.lower(), ())
            for span in screen.find(sign, nearly=False)
        ]
    if not any(phrase.quoted and phrase.relation is None for phrase in wanted.phrases):
        found += _overlapping(screen, wanted.words)
    found.sort(key=lambda one: (-one.said, one.span.line, one.span.box.left))
    kept: list[_Candidate] = []
    taken: dict[int, list[PixelBox]] = {}
    for one in found:
        boxes = taken.setdefault(one.span.line, [])
        if not any(_across(one.span.box, box) > 0 for box in boxes):
            boxes.append(one.span.box)
            kept.append(one)
    return kept


def _pieces(screen: Screen, words: str) -> list[Span]:
    """Where the largest piece of a name is that does not stand in one line as a whole."""
    parts = words.split()
    for length in range(len(parts) - 1, 0, -1):
        for piece in (" ".join(parts[:length]), " ".join(parts[-length:])):
            share = len(piece) / len(words)
            if share >= 0.6 and (spans := screen.find(piece, nearly=False)):
                return [replace(span, quality=span.quality * share**0.5) for span in spans]
    return []


def _overlapping(screen: Screen, words: frozenset[str]) -> Iterator[_Candidate]:
    """Lines that are made of words of the instruction, in any order: "Restore From Trash"."""
    for number, text in enumerate(screen.texts):
        shared = [word for word in text.stems if word in words]
        if len(shared) >= _FEWEST_SHARED:
            quality = sum(map(len, shared)) / sum(map(len, text.stems))
            yield _Candidate(Span(number, text.box, quality), _OVERLAP_WEIGHT * quality, None)


def _locate(screen: Screen, anchor: Anchor) -> _Surroundings | None:
    """Where the thing is that the target stands beside: all places that say the same."""
    best: list[Span] = []
    best_score, quoted = 0.0, False
    for phrase in anchor.phrases:
        if best and phrase.weight <= best_score:
            continue
        spans = screen.find(phrase.text, nearly=phrase.quoted)
        quality = max((span.quality for span in spans), default=0.0)
        if quality >= _LEAST_ANCHOR and quality * phrase.weight > best_score:
            best, best_score, quoted = spans, quality * phrase.weight, phrase.quoted
    if not best:
        return None
    top = max(span.quality for span in best)
    boxes = [span.box for span in best if span.quality >= _EQUAL * top]
    return _Surroundings(anchor.relation, boxes, 1.0 if quoted else _UNQUOTED)


def _agreement(
    screen: Screen,
    wanted: Wanted,
    one: _Candidate,
    anchors: Sequence[_Surroundings],
) -> float:
    """How well a place agrees with what the instruction says besides the words; about 1."""
    box = one.span.box
    factor = 1.0
    for side in wanted.places:
        factor *= 1 - 0.3 * _distance_to(side, box, screen)
    for anchor in anchors:
        if box not in anchor.boxes:
            fit = max(_fits(anchor.relation, box, other, screen) for other in anchor.boxes)
            factor *= 1 - (1 - fit) * anchor.strength
    if wanted.kind in (Kind.BUTTON, Kind.FIELD, Kind.DROPDOWN):
        factor *= 1.0 if screen.frame_around(box) else 0.94
    return factor


def _distance_to(side: str, box: PixelBox, screen: Screen) -> float:
    x, y = _middle(box)
    across, down = x / screen.width, y / screen.height
    if side == "middle":
        return min(hypot(across - 0.5, down - 0.5) * 1.4, 1.0)
    return {"left": across, "right": 1 - across, "top": down, "bottom": 1 - down}[side]


def _fits(relation: Relation, box: PixelBox, other: PixelBox, screen: Screen) -> float:
    """How well a box lies to another one as a preposition says."""
    (x, y), (other_x, other_y) = _middle(box), _middle(other)
    gap_across = max(-_across(box, other), 0) / screen.width
    gap_down = max(-_down(box, other), 0) / screen.height
    away = min(hypot(gap_across, gap_down), 1.0)
    if relation is Relation.NEAR:
        return 1 - 0.6 * min(4 * away, 1.0)
    if relation is Relation.OF:
        return 1 - 0.5 * min(2 * away, 1.0)
    if relation is Relation.INSIDE:
        return 1 - 0.25 * away
    if relation in (Relation.LEFT, Relation.RIGHT):
        right_side = (x > other_x) == (relation is Relation.RIGHT)
        aligned = _down(box, other) > 0
    else:
        right_side = (y > other_y) == (relation is Relation.BELOW)
        aligned = _across(box, other) > 0
    return (1.0 if right_side else 0.55) * (1.0 if aligned else 0.7) * (1 - 0.3 * away)


def _ranked(equals: Sequence[_Candidate], rank: Rank) -> _Candidate | None:
    """The one that an ordinal means; None when there are not so many."""
    middles = [_middle(one.span.box) for one in equals]
    axis = rank.axis
    if axis is None:
        xs, ys = zip(*middles, strict=True)
        axis = Axis.ACROSS if max(xs) - min(xs) > max(ys) - min(ys) else Axis.DOWN
    which = 0 if axis is Axis.ACROSS else 1
    order = sorted(range(len(equals)), key=lambda i: (middles[i][which], middles[i][1 - which]))
    if not -len(order) <= rank.index < len(order):
        return None
    return equals[order[rank.index]]


def _middle(box: PixelBox) -> tuple[float, float]:
    return (box.left + box.right) / 2, (box.top + box.bottom) / 2


def _across(a: PixelBox, b: PixelBox) -> int:
    """By how many pixels two boxes overlap from left to right; negative for a gap."""
    return min(a.right, b.right) - max(a.left, b.left)


def _down(a: PixelBox, b: PixelBox) -> int:
    return min(a.bottom, b.bottom) - max(a.top, b.top)
