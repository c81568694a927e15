"""The layout of a generated page compared with the reference's: which text is which.

Texts that both pages show are anchors. They tell where a place of the reference is on a page that
was built anew, with other fonts, widths and sections.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import hypot

from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier.text_compare import (
    plain,
    similarity,
    size,
    unreadable_letters,
)
from uiproof.browser.snapshots import Element, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.ocr import OcrLine


@dataclass(frozen=True, slots=True)
class Text:
    """A text and its place, on either page."""

    text: str
    box: PixelBox
    ref: int = 0  # of the element that it is in; 0 on the reference


@dataclass(frozen=True, slots=True)
class Anchor:
    """A text that both pages show."""

    text: str
    theirs: PixelBox
    mine: PixelBox


@dataclass(frozen=True, slots=True)
class Layout:
    """A map from places of the reference to the generated page."""

    anchors: tuple[Anchor, ...]
    theirs: tuple[int, int]  # size of the reference
    mine: tuple[int, int]
    shared: float  # share of the reference's texts that the page shows

    def place(self, box: PixelBox, *, without: PixelBox | None = None) -> PixelBox:
        """Return the place on the generated page that has the same surroundings.

        Anchors inside of `without` do not count: they are what is looked for.
        """
        near = [
            one
            for one in self.anchors
            if without is None or not without.contains(*one.theirs.centre)
        ]
        if not near:
            return box.normalised(*self.theirs).to_pixels(*self.mine)
        near = sorted(near, key=lambda one: gap(one.theirs, box))[: const.NEAREST]
        total = dx = dy = 0.0
        for one in near:
            weight = 1 / (gap(one.theirs, box) + 20) ** 2
            (x, y), (to_x, to_y) = one.theirs.centre, one.mine.centre
            total += weight
            dx += weight * (to_x - x)
            dy += weight * (to_y - y)
        return moved(box, round(dx / total), round(dy / total))

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return the point of the generated page that has the surroundings of a point."""
        at = self.place(PixelBox(round(x) - 1, round(y) - 1, round(x) + 1, round(y) + 1))
        return at.centre

    @property
    def close(self) -> float:
        """Return the share of the anchors that are where they are in the reference."""
        if not self.anchors:
            return 0.0
        still = [one for one in self.anchors if shift(one.theirs, one.mine) <= const.SAME_SPOT]
        return len(still) / len(self.anchors)

    def around(self, box: PixelBox, *, mine: bool, most: int = const.NEAREST) -> list[Anchor]:
        """Return the anchors next to a box of either page."""

        def away(one: Anchor) -> float:
            return gap(one.mine if mine else one.theirs, box)

        near = sorted((one for one in self.anchors if away(one) <= const.AROUND_TEXT), key=away)
        return near[:most]


def layout(
    lines: Sequence[OcrLine],
    snapshot: Snapshot,
    theirs: tuple[int, int],
) -> Layout:
    """Find the texts of the reference, as they were read, on a generated page."""
    mine = texts_of(snapshot)
    spans = _spans(lines)
    found: list[tuple[Text, list[PixelBox]]] = []
    missed: list[Text] = []
    for one in mine:
        key = plain(one.text)
        if len(key) < const.ANCHOR_LETTERS:
            continue
        if key in spans:
            found.append((one, spans[key]))
        else:
            missed.append(one)
    keys = sorted((len(key), key) for key in spans if len(key) >= 5)
    for one in missed[: const.MOST_FUZZY]:
        key = plain(one.text)
        best = max(
            (
                (similarity(key, other), other)
                for length, other in keys
                if 0.75 * len(key) <= length <= 1.33 * len(key) and other[0] == key[0]
            ),
            default=(0.0, ""),
        )
        if best[0] >= const.ALIKE_TEXT:
            found.append((one, spans[best[1]]))
        elif start := _beginning(key, keys):
            found.append((_first_line(one), spans[start]))
    anchors = _resolved(found)
    lettered = [one for one in lines if len(plain(one.text)) >= const.ANCHOR_LETTERS]
    seen = {one.theirs for one in anchors}
    kept = [one for one in lettered if any(one.box.overlap(box) for box in seen)]
    return Layout(
        tuple(anchors), theirs, snapshot.size, len(kept) / len(lettered) if lettered else 0.0
    )


def readable(lines: Sequence[OcrLine], *snapshots: Snapshot) -> Sequence[OcrLine]:
    """Return lines as they were read; of a page with a script unknown to OCR, words that it shows.

    What OCR makes of Hebrew or Cyrillic letters are other words, and numbers.
    """
    written = [one.text for snapshot in snapshots for one in snapshot.elements]
    letters = [one for one in "".join(written) if one.isalpha()]
    if unreadable_letters("".join(letters)) <= const.OTHER_SCRIPT * len(letters):
        return lines
    known = {plain(word) for text in written for word in text.split()}
    return [
        OcrLine(word.text, word.box, line.confidence, (word,))
        for line in lines
        for word in line.words
        if plain(word.text) in known
    ]


def texts_of(snapshot: Snapshot) -> list[Text]:
    """Return the visible texts of a page, also those under something else."""
    return [Text(one.text, text_box(one), one.ref) for one in snapshot.elements if one.text.strip()]


def text_box(element: Element) -> PixelBox:
    """Return the place of an element's own letters."""
    return element.ink.box if element.ink is not None and element.ink.box.area else element.box


def _spans(lines: Iterable[OcrLine]) -> dict[str, list[PixelBox]]:
    """Return all sequences of words that were read on one line, with their places."""
    found: dict[str, list[PixelBox]] = defaultdict(list)
    for line in lines:
        words = line.words
        whole = plain(line.text)
        if whole:
            found[whole].append(line.box)
        for first in range(len(words)):
            joined, box = "", words[first].box
            for last in range(first, min(first + const.LONGEST_SPAN, len(words))):
                if first == 0 and last == len(words) - 1:
                    continue
                joined += plain(words[last].text)
                box = box.union(words[last].box)
                if len(joined) >= const.ANCHOR_LETTERS:
                    found[joined].append(box)
    return found


def _beginning(key: str, keys: Sequence[tuple[int, str]]) -> str | None:
    """Return the longest line that a text begins with: paragraphs are read line by line."""
    starts = [other for length, other in keys if length >= 12 and key.startswith(other)]
    return max(starts, key=len, default=None)


def _first_line(text: Text) -> Text:
    box = text.box
    return Text(text.text, PixelBox(box.left, box.top, box.right, min(box.bottom, box.top + 22)))


def _resolved(found: Sequence[tuple[Text, list[PixelBox]]]) -> list[Anchor]:
    """Choose one place for each text: the only one, else the one that its surroundings suggest."""
    users: dict[PixelBox, int] = defaultdict(int)
    for _, boxes in found:
        for box in boxes:
            users[box] += 1
    sure = [
        Anchor(one.text, boxes[0], one.box)
        for one, boxes in found
        if len(boxes) == 1 and users[boxes[0]] == 1
    ]
    taken = {one.theirs for one in sure}
    rest = [(one, boxes) for one, boxes in found if len(boxes) > 1 or users[boxes[0]] > 1]
    groups: dict[tuple[PixelBox, ...], list[Text]] = defaultdict(list)
    for one, boxes in rest:
        groups[tuple(sorted(set(boxes), key=lambda box: (box.top, box.left)))].append(one)
    for places, texts in groups.items():
        free = [box for box in places if box not in taken]
        if len(texts) == len(free):
            # As many on both sides: they come in the same order.
            ordered = sorted(texts, key=lambda one: (one.box.top, one.box.left))
            pairs = list(zip(ordered, free, strict=True))
        else:
            pairs = _nearest(texts, free, sure)
        for one, box in pairs:
            taken.add(box)
            sure.append(Anchor(one.text, box, one.box))
    return sure


def _nearest(
    texts: Sequence[Text], free: Sequence[PixelBox], sure: Sequence[Anchor]
) -> list[tuple[Text, PixelBox]]:
    """Pair texts with places by the displacement of what is sure already."""

    def expected(box: PixelBox) -> PixelBox:
        near = sorted(sure, key=lambda one: gap(one.theirs, box))[:3]
        if not near:
            return box
        dx = sum(one.mine.centre[0] - one.theirs.centre[0] for one in near) / len(near)
        dy = sum(one.mine.centre[1] - one.theirs.centre[1] for one in near) / len(near)
        return moved(box, round(dx), round(dy))

    ranked = sorted(
        (shift(expected(box), one.box), i, j)
        for i, one in enumerate(texts[:40])
        for j, box in enumerate(free[:40])
    )
    used: tuple[set[int], set[int]] = (set(), set())
    pairs = []
    for _, i, j in ranked:
        if i not in used[0] and j not in used[1]:
            used[0].add(i)
            used[1].add(j)
            pairs.append((texts[i], free[j]))
    return pairs


def names_its_frame(
    name: str, trigger: PixelBox | None, lines: Sequence[OcrLine], sentence: str
) -> bool:
    """Return whether a name is that of something around a trigger: the card that a heart is on.

    It is where the reference shows the name clearly beside the trigger, or just not on it if the
    sentence says "of" or "beside" the name.
    """
    places = _spans(lines).get(plain(name), ())
    related = re.search(rf"{_RELATED}\W*{re.escape(name)}", sentence, re.IGNORECASE)
    if trigger is None:
        return False
    if not places or size(plain(name)) <= 2:
        return related is not None  # it cannot be read, in an unknown script, or is read anywhere
    if related:
        return not any(trigger.contains(*one.centre) for one in places)
    return min(gap(trigger, one) for one in places) > const.BESIDE_NAME


_RELATED = r"\b(?:of|beside|by|near|next to|under|above|below|before|after|from)(?: [a-z]+){0,4}"


# --- boxes


def gap(one: PixelBox, other: PixelBox) -> float:
    """Return how far two boxes are apart, from edge to edge."""
    across = max(one.left - other.right, other.left - one.right, 0)
    down = max(one.top - other.bottom, other.top - one.bottom, 0)
    return hypot(across, down)


def around(boxes: Iterable[PixelBox]) -> PixelBox | None:
    """Return the box around some boxes."""
    found = [*boxes]
    return reduce(PixelBox.union, found) if found else None


def shift(one: PixelBox, other: PixelBox) -> float:
    """Return the least displacement of an edge or the middle: texts also grow in place."""
    across = (
        other.left - one.left,
        other.right - one.right,
        (other.left + other.right - one.left - one.right) / 2,
    )
    down = (
        other.top - one.top,
        other.bottom - one.bottom,
        (other.top + other.bottom - one.top - one.bottom) / 2,
    )
    return hypot(min(across, key=abs), min(down, key=abs))


def moved(box: PixelBox, dx: int, dy: int) -> PixelBox:
    """Return a box at another place."""
    return PixelBox(box.left + dx, box.top + dy, box.right + dx, box.bottom + dy)
