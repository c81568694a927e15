"""The expected changes of an interaction, each assigned to what the generated page does.

Expected are the objects that change in the reference: texts that appear, go or move, areas that
look different, the element itself. Each is *present*, *misplaced* (the same, at another place),
on a *peer* (the same, on another thing of its kind), *different* (something else happens there) or
*absent*. What the page does besides is a *substitute* where something expected is not there,
*harmful* where it takes away what the reference keeps, else harmless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from statistics import median
from typing import Literal, get_args

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier import pixels
from uiproof.benchmarks.interaction2code.verifier.evidence import Difference
from uiproof.benchmarks.interaction2code.verifier.layout import around, gap, moved
from uiproof.benchmarks.interaction2code.verifier.objects import (
    Motion,
    Side,
    Word,
    found_letters,
    letters,
    matched_words,
)
from uiproof.benchmarks.interaction2code.verifier.observation import (
    Observation,
    beyond_pointing,
    same_kind,
    told_count,
)
from uiproof.benchmarks.interaction2code.verifier.text_compare import has_digit, plain, size
from uiproof.geometry import PixelBox
from uiproof.vision.images import Rgb

Kind = Literal["appears", "goes", "moves", "looks different"]
Status = Literal["present", "misplaced", "peer", "different", "absent"]
STATUSES: tuple[Status, ...] = get_args(Status)
_SEEN: dict[Status, str] = {
    "present": "as in the reference",
    "misplaced": "at another place",
    "peer": "on another element of its kind",
    "different": "something else happens there",
    "absent": "nothing happens there",
}


# The description says that the element itself looks different.
_TURNS = re.compile(
    r"(?i)\b(?:turns?|becomes?|fills?|lights? up|is (?:marked|filled|lit|highlighted|selected))\b"
)


@dataclass(frozen=True, slots=True)
class Expected:
    """A change of the reference, and what the generated page has of it."""

    kind: Kind
    text: str  # the words; else what it is
    box: PixelBox  # on the reference
    importance: float
    status: Status = "absent"
    place: PixelBox | None = None  # on the generated page: where it is, or should be
    named: float = inf  # where the description names it

    @property
    def says(self) -> str:
        """Return the change in words."""
        return f"{self.text} {self.kind}"

    def difference(self) -> Difference:
        """Return it as reports show it."""
        seen = _SEEN[self.status]
        return Difference(
            f"{self.says}: {seen}", self.box, self.place, self.says, seen, self.importance
        )


@dataclass(frozen=True, slots=True)
class Assignment:
    """All expected changes, and what happens besides."""

    expected: tuple[Expected, ...]  # the most important first
    substitute: float  # letters that come besides, as a share of what is expected
    harmful: float  # letters that go besides, likewise
    others: tuple[Difference, ...] = ()

    def shares(self) -> dict[str, float]:
        """Return how much of the expected has which status, and what comes and goes besides."""
        found: dict[str, float] = dict.fromkeys(STATUSES, 0.0)
        for one in self.expected:
            found[one.status] += one.importance
        main = min(self.expected, key=lambda one: one.named, default=None)
        told = main is not None and main.named < inf
        there = main is not None and main.status in ("present", "misplaced")
        lacks = [one for one in self.expected if one.status == "absent" and one.kind != "moves"]
        return {
            **found,
            "substitute": self.substitute,
            "harmful": self.harmful,
            "lacks": float(len([one for one in lacks if one.kind != "goes"])),
            "main": float(there) if told else -1.0,
        }

    def differences(self, most: int = 8) -> tuple[Difference, ...]:
        """Return what is not as in the reference, the most important first."""
        wrong = [one.difference() for one in self.expected if one.status != "present"]
        return (*wrong, *self.others)[:most]


def assign(o: Observation) -> Assignment:
    """Assign the expected changes of an interaction to the observed ones."""
    found = [*_words(o), *_areas(o)]
    total = sum(one.importance for one in found) or 1.0
    shares = sorted(
        (replace(one, importance=one.importance / total) for one in found),
        key=lambda one: -one.importance,
    )
    came, went = _besides(o)
    scale = max(letters(o.theirs.came) + letters(o.theirs.went), const.FEW_LETTERS)
    others = [
        Difference(f"{text} {kind} besides", None, box, "", f"{text} {kind}", size / scale)
        for kind, words in (("appears", came), ("goes", went))
        for text, box, size in map(_summary, _groups(words)[:3])
    ]
    return Assignment(
        tuple(shares),
        min(letters(came) / scale, 3.0),
        min(letters(went) / scale, 3.0),
        tuple(others),
    )


def _words(o: Observation) -> list[Expected]:
    """Return the texts that should appear, go and move."""
    theirs, mine = o.theirs, o.mine
    found: list[Expected] = []
    left = list(o.arrived)
    count = [*(told_count(o.reference) or ())][1:]

    def away(group: Sequence[Word]) -> float:
        pairs = matched_words(group, left, o.later.place)
        return min((gap(o.later.place(a.box), b.box) for a, b in pairs), default=1e6)

    # Each word is that of one group only: the nearest one.
    for group in sorted(_groups(theirs.came), key=away):
        text, box, size = _summary(group)
        counts = [one.text for one in group] == count
        size = max(size, const.LEAST_LETTERS * (2 if counts else 1))
        share = found_letters(group, left)
        one = Expected("appears", text, box, float(size))
        if share >= const.MOSTLY:
            pairs = matched_words(group, left, o.later.place)
            status, place = _placed(o, pairs)
            for _, word in pairs:
                left.remove(word)
        else:
            place = o.later.place(box)
            other = _changes_at(o, place) and not _stays(o, box)
            status = "different" if other else "absent"
        found.append(replace(one, status=status, place=place, named=_named(o, group)))
    new = around([one.box for one in theirs.came])
    veiled = float(theirs.changed.mean()) > const.PAGE_SHARE  # hard to read, not gone
    for group in _groups(theirs.went):
        text, box, size = _summary(group)
        # Words that new ones cover or replace matter less than words that only go.
        weight = 0.25 if new is not None and new.overlap(box) else 0.05 if veiled else 0.6
        weight = 0.05 if theirs.front is not None else weight  # something else covers them
        there = found_letters(group, mine.went) >= const.MOSTLY
        place = o.layout.place(box)
        status = "present" if there else "different" if _changes_at(o, place) else "absent"
        found.append(Expected("goes", text, box, weight * size, status, place))
    pushed = not _is_reordered(theirs.moved)
    if theirs.trigger is not None and o.reference.action.kind == "drag":
        box = theirs.trigger
        own = [one for one in theirs.moved if box.contains(*one.before.centre)]
        found += _dragged(o, own)
    for group in _groups([Word(one.text, one.after) for one in theirs.moved])[:12]:
        text, box, size = _summary(group)
        there = found_letters(group, mine.moved) >= const.MOSTLY
        place = o.later.place(box)
        status = "present" if there else "different" if _changes_at(o, place) else "absent"
        if there and _goes_back(group, theirs.moved, mine.moved):
            status = "different"
        elif there and not pushed:
            ends = [Word(one.text, one.after) for one in mine.moved]
            status, at = _placed(o, matched_words(group, ends, o.layout.place), moving=True)
            place = at or place
        weight = 0.05 if pushed else 0.6
        found.append(Expected("moves", text, box, weight * size, status, place))
    return found


def _named(o: Observation, group: Sequence[Word]) -> float:
    """Return where the description of the effect first names a text, apart from the trigger."""
    own = {*map(plain, o.reference.sentence.split())}
    texts = {one.text for one in group if size(one.text) > 1 or has_digit(one.text)} - own
    told = enumerate(map(plain, o.reference.description.split()))
    return next((float(number) for number, word in told if word in texts), inf)


def _is_reordered(moved: Sequence[Motion]) -> bool:
    """Return whether words change places: some go one way and some the other.

    Words that make room for others go one way.
    """
    for axis in (0, 1):
        forth = letters([one for one in moved if one.way[axis] > const.STILL])
        back = letters([one for one in moved if one.way[axis] < -const.STILL])
        if min(forth, back) > const.HARDLY * (forth + back):
            return True
    return False


def _goes_back(group: Sequence[Word], theirs: Sequence[Motion], mine: Sequence[Motion]) -> bool:
    """Return whether words go the other way than they should."""
    texts = {one.text for one in group}
    ways = [[one.way for one in side if one.text in texts] for side in (theirs, mine)]
    if not all(ways):
        return False
    (x, y), (to_x, to_y) = ([median(way[axis] for way in some) for axis in (0, 1)] for some in ways)
    return x * to_x + y * to_y < -(const.STILL**2)


def _stays(o: Observation, box: PixelBox) -> bool:
    """Return whether a text that another one should replace is still there."""
    old = [one for one in o.theirs.went if one.box.overlap(box)]
    return any(
        one.text == kept.text and gap(o.later.place(one.box), kept.box) <= const.SAME_SPOT
        for one in old
        for kept in o.mine.kept
    )


def _dragged(o: Observation, own: Sequence[Motion]) -> list[Expected]:
    """Return what is dragged: its place is the function."""
    if not own:
        return []
    text, box, size = _summary([Word(one.text, one.after) for one in own])
    ends = [Word(one.text, one.after) for one in o.mine.moved]
    pairs = matched_words([Word(one.text, one.after) for one in own], ends, o.layout.place)
    status, place = ("absent", o.later.place(box)) if not pairs else _placed(o, pairs, moving=True)
    return [Expected("moves", text, box, 2.0 * size, status, place)]


def _areas(o: Observation) -> list[Expected]:
    """Return the areas without new words that should look different, and the element itself."""
    theirs, mine = o.theirs, o.mine
    words = [one.box for one in (*theirs.came, *theirs.went)]
    words += [box for one in theirs.moved for box in (one.before, one.after)]
    # Words that come tell more than the boxes around them.
    most = (
        const.AREA_WEIGHT if letters(theirs.came) >= const.FEW_LETTERS else 10 * const.AREA_WEIGHT
    )
    found: list[Expected] = []
    pieces = mine.parts()[: const.MOST_PARTS]
    for part in theirs.parts()[: const.MOST_PARTS]:
        written = sum(min(box.area, part.box.overlap(box)) for box in words)
        if written > const.WRITTEN * part.pixels:
            continue
        place = o.later.place(part.box)
        one = Expected(
            "looks different", "an area", part.box, min(sqrt(part.pixels) / 8, most), place=place
        )
        new = _new_pixels(theirs, part.box)
        if _changes_at(o, place, const.MUCH * part.pixels):
            around = pixels.grown(place, const.PART_GAP, *mine.size)
            # Without readable text, any change at the expected place counts as present.
            alike = not o.layout.anchors or (
                pixels.same_colours(new, _new_pixels(mine, around)) >= const.HALF
            )
            found.append(replace(one, status="present" if alike else "different"))
            continue
        twins = [
            piece.box
            for piece in pieces
            if 0.5 <= piece.pixels / part.pixels <= 2
            and pixels.same_colours(new, _new_pixels(mine, piece.box)) >= const.MOSTLY
        ]
        if twins:
            twin = min(twins, key=lambda box: gap(box, place))
            one = replace(one, status=_elsewhere(o, part.box, place, twin), place=twin)
        found.append(one)
    own = theirs.changed & theirs.own
    drawn = (
        theirs.trigger is not None
        and redrawn(theirs.before, theirs.after, theirs.trigger) > const.REDRAWN
        and _TURNS.search(o.reference.description.partition(".")[0]) is not None
    )
    if theirs.trigger is not None and (drawn or own.sum() > const.HARDLY * theirs.own.sum()):
        mask = mine.changed & mine.own
        if drawn:
            mask &= beyond_pointing(o.generated, mine)
        status: Status = "absent"
        box = mine.trigger
        if mask.sum() > 0.03 * mine.own.sum():
            # A field shows what is written in it, in whatever colour.
            alike = o.reference.action.kind in ("type", "select") or (
                pixels.same_colours(theirs.after[own], mine.after[mask]) >= const.HALF
            )
            status = "present" if alike else "different"
        elif (peer := _changed_peer(o, theirs.after[own], pieces)) is not None:
            status, box = "peer", peer
        weight = 12.0 if drawn or not (found or words) else 4.0
        found.append(
            Expected("looks different", "the element", theirs.trigger, weight, status, box)
        )
    return found


def redrawn(before: Rgb, after: Rgb, box: PixelBox) -> float:
    """Return the share of a box that clearly looks different."""
    old, new = (np.ascontiguousarray(pixels.crop(one, box)) for one in (before, after))
    return float((pixels.distance(old, new) > const.CLEAR).mean()) if old.size else 0.0


def _changed_peer(o: Observation, new: Rgb, pieces: Sequence[pixels.Cluster]) -> PixelBox | None:
    """Return a thing like the element that changes as the element should."""
    peers = [
        one.box
        for one in o.generated.snapshot.elements
        if one.ref != o.found.ref and same_kind(one, o.found) and in_line(one.box, o.found.box)
    ]
    for box in peers[: const.MOST_PARTS]:
        if redrawn(o.mine.before, o.mine.after, box) > const.REDRAWN:
            return box
    for piece in pieces:
        alike = 0.5 <= piece.pixels / max(len(new), 1) <= 2 and in_line(o.found.box, piece.box)
        if alike and pixels.same_colours(new, _new_pixels(o.mine, piece.box)) >= const.MOSTLY:
            return piece.box
    return None


def _placed(
    o: Observation, pairs: Sequence[tuple[Word, Word]], *, moving: bool = False
) -> tuple[Status, PixelBox | None]:
    """Return whether words that are there are at their place, and where they are."""
    if not pairs:
        return "present", None
    at = around([b.box for _, b in pairs])
    want = around([a.box for a, _ in pairs])
    assert at is not None
    assert want is not None
    # Moved text is a landmark for other text, but not for its own position.
    where = o.layout if moving else o.later
    mapped = where.place(want)
    copy = o.layout.close >= const.NEAR_COPY
    # On a near copy, text that moves or changes in place must be at its exact position.
    exact = copy and (moving or not o.outcome.changes.appeared)
    limit = const.RETEXT_AWAY if exact else const.TEXT_AWAY

    def near(place: Callable[[PixelBox], PixelBox]) -> bool:
        # Boxes around words that are scattered overlap wherever most of the words are.
        return median(gap(place(a.box), b.box) for a, b in pairs) <= limit

    if not copy and not moving and _replaces_the_same(o, pairs):
        return "present", at
    same_row = None if copy or moving else _in_same_row(o, want, at)
    if same_row is False:
        return "peer", at
    if not moving and _at_another(o, want, at):
        return "peer", at
    beside = not copy and not moving and _same_neighbours(o, want, at)
    if same_row or near(where.place) or beside:
        return "present", at
    trigger = o.reference.trigger
    if trigger is not None and not moving:
        (x, y), (to_x, to_y) = trigger.centre, o.found.box.centre
        if near(lambda box: moved(box, round(to_x - x), round(to_y - y))):
            return "present", at
    return _elsewhere(o, want, mapped, at), at


def _replaces_the_same(o: Observation, pairs: Sequence[tuple[Word, Word]]) -> bool:
    """Return whether words take the place of the same text on both sides, wherever that is."""
    old = [one for one in o.theirs.went if any(one.box.overlap(a.box) for a, _ in pairs)]
    given = [one for one in o.mine.went if any(one.box.overlap(b.box) for _, b in pairs)]
    told = "".join(one.text for one in old if not has_digit(one.text))
    return len(told) >= const.FEW_LETTERS and found_letters(old, given) >= const.MOSTLY


def _in_same_row(o: Observation, want: PixelBox, at: PixelBox) -> bool | None:
    """Return whether a text that changes in a row of the reference does so in that row here.

    None where it replaces no other text, or has no text beside it.
    """
    if not all(
        any(one.box.overlap(box) for one in side.went)
        for side, box in ((o.theirs, want), (o.mine, at))
    ):
        return None

    def row(box: PixelBox, boxes: Iterable[tuple[int, PixelBox]]) -> set[int]:
        return {number for number, one in boxes if one.top <= box.centre[1] <= one.bottom}

    theirs = row(want, enumerate(one.theirs for one in o.later.anchors))
    mine = row(at, enumerate(one.mine for one in o.later.anchors))
    if not theirs or not mine:
        return None
    return len(theirs & mine) >= const.MUCH * min(len(theirs), len(mine))


def _elsewhere(o: Observation, want: PixelBox, place: PixelBox, at: PixelBox) -> Status:
    """Return whether something that is not at its place is on a peer, or only misplaced."""
    if not o.layout.anchors:  # places can hardly be told
        return "present" if gap(place, at) <= const.AROUND_TEXT else "misplaced"
    if _at_another(o, want, at):
        return "peer"
    if o.outcome.changes.appeared:
        return "peer" if _beside_peer(o, place, at) else "misplaced"
    overwritten = any(one.box.overlap(at) for one in o.mine.went)
    return "peer" if overwritten or in_line(place, at) else "misplaced"


def _at_another(o: Observation, want: PixelBox, at: PixelBox) -> bool:
    """Return whether what belongs beside the element is beside another one of its kind."""
    if o.reference.trigger is None:
        return False
    alike = [one for one in o.generated.snapshot.elements if same_kind(one, o.found)]
    nearest = min((gap(one.box, at) for one in alike if one.ref != o.found.ref), default=1e6)
    beside = gap(o.reference.trigger, want) <= const.TEXT_AWAY and nearest <= const.TEXT_AWAY
    least = min(const.AWAY, const.MOSTLY * o.found.box.height)  # a row lies between
    return beside and nearest + least < gap(o.found.box, at)


def _beside_peer(o: Observation, place: PixelBox, at: PixelBox) -> bool:
    """Return whether it is beside one of two things of a kind, and belongs beside the other."""
    old = {one.ref for one in o.generated.snapshot.elements}
    stay = [one for one in o.outcome.snapshot.elements if one.ref in old]
    hosts = []
    for box in (place, at):
        beside = [one for one in stay if 0 < gap(one.box, box) <= const.BESIDE]
        hosts.append(min(beside, key=lambda one: gap(one.box, box), default=None))
    mine, other = hosts
    return (
        mine is not None
        and other is not None
        and mine.ref != other.ref
        and mine.tag == other.tag
        and abs(mine.box.width - other.box.width) <= const.PEER_SLACK
        and abs(mine.box.height - other.box.height) <= const.PEER_SLACK
        and in_line(mine.box, other.box)
    )


def _same_neighbours(o: Observation, theirs: PixelBox, mine: PixelBox) -> bool:
    wanted = {one.theirs for one in o.later.around(theirs, mine=False, most=3)}
    given = {one.theirs for one in o.later.around(mine, mine=True, most=3)}
    return bool(wanted) and len(wanted & given) >= 0.6 * len(wanted)


def in_line(one: PixelBox, other: PixelBox) -> bool:
    """Return whether two boxes are in one row or column, as things of one kind are."""
    column = abs(one.left - other.left) <= const.PEER_SLACK
    return column or abs(one.top - other.top) <= const.PEER_SLACK


def _besides(o: Observation) -> tuple[list[Word], list[Word]]:
    """Return words that come and that go although the reference neither shows nor removes them."""
    theirs, mine = o.theirs, o.mine
    came = unmatched(mine.came, theirs.came)
    kept = {one.text for one in theirs.kept} | {one.text for one in theirs.moved}
    return came, [one for one in unmatched(mine.went, theirs.went) if one.text in kept]


def unmatched(words: Sequence[Word], others: Sequence[Word]) -> list[Word]:
    """Return the words that are not among others, each of which stands for one."""
    left = [one.text for one in others]
    rest = []
    for one in words:
        if one.text in left:
            left.remove(one.text)
        else:
            rest.append(one)
    return rest


def _changes_at(o: Observation, place: PixelBox, least: float = 0) -> bool:
    around = pixels.grown(place, const.PART_GAP, *o.mine.size)
    return pixels.count(o.mine.changed, around) >= max(const.SPECK, least)


def _groups(words: Iterable[Word]) -> list[list[Word]]:
    """Return words that stand together, the largest groups first."""
    groups: list[tuple[PixelBox, list[Word]]] = []
    for word in sorted(words, key=lambda one: (one.box.top, one.box.left))[: const.MOST_WORDS]:
        near = [one for one in groups if gap(one[0], word.box) <= const.PART_GAP]
        box, joined = word.box, [word]
        for one in near:
            groups.remove(one)
            box, joined = box.union(one[0]), [*one[1], *joined]
        groups.append((box, joined))
    return sorted((some for _, some in groups), key=lambda some: -letters(some))


def _summary(group: Sequence[Word]) -> tuple[str, PixelBox, int]:
    box = around([one.box for one in group])
    assert box is not None
    text = " ".join(one.text for one in group)
    return f"“{text[:57]}…”" if len(text) > 60 else f"“{text}”", box, letters(group)


def _new_pixels(side: Side, box: PixelBox) -> Rgb:
    """Return the pixels that changed in a box, as they are afterwards."""
    return pixels.crop(side.after, box)[pixels.crop(side.changed, box)]
