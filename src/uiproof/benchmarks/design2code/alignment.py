"""Take a displacement down the page out of a comparison, so that it is charged once.

A margin that is too wide pushes everything below it down. Texts that both pages have tell where
the rest of a page was displaced and by how much; there, rows are inserted into the picture that
lacks them, and `position` is charged for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from math import floor

import cv2
import numpy as np
import numpy.typing as npt

from uiproof.benchmarks.design2code.blocks import LegibleText, PixelRect

JUMP = 1.5  # texts that must be displaced by the same distance to make up for a new displacement
FAR = 12.0  # pixels: a text that is farther from a displacement does not belong to it at all
MOST_STATES = 48  # displacements that are told apart on one page
MOST_TEXTS = 2_000  # of a page that are looked at
MOST_TAKEN_OUT = 0.5  # of the height of the canvas; a page that is torn apart more stays as it is

Gray = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Alignment:
    """Two pages of which rows are repeated so that what both have stands on the same rows."""

    generated: Rows  # for every row of the aligned picture, the row of the page that it shows
    reference: Rows
    starts: tuple[float, ...] = ()  # on the reference page: where displacements begin
    shifts: tuple[float, ...] = ()  # by how much what follows is displaced, in pixels

    def displacement(self, y: float) -> tuple[float, float]:
        """Return by how much a place of the reference page is displaced, and what to charge for it.

        The charge is the mean of that distance and the way that led to it: what is pushed down and
        pulled up again stands where it should, but not because the page is right.
        """
        now = way = 0.0
        for start, shift in zip(self.starts, self.shifts, strict=True):
            if y < start:
                break
            way += abs(shift - now)
            now = shift
        return now, (way + abs(now)) / 2

    def of_generated(self, boxes: Iterable[PixelRect]) -> tuple[PixelRect, ...]:
        """Return boxes of the generated page on the aligned canvas."""
        return _moved(boxes, self._generated_places)

    def of_reference(self, boxes: Iterable[PixelRect]) -> tuple[PixelRect, ...]:
        """Return boxes of the reference page on the aligned canvas."""
        return _moved(boxes, self._reference_places)

    @cached_property
    def _generated_places(self) -> Rows:
        return _places(self.generated)

    @cached_property
    def _reference_places(self) -> Rows:
        return _places(self.reference)


def align(
    ours: Sequence[LegibleText],
    theirs: Sequence[LegibleText],
    our_gray: Gray,
    their_gray: Gray,
    height: int,
) -> Alignment:
    """Find the displacements between two pages, and take them out.

    `height` is that of the canvas, without an empty end of the generated page.
    """
    unmoved = Alignment(np.arange(len(our_gray)), np.arange(len(their_gray)))
    anchors = _anchors(ours, theirs)
    if len(anchors) == 0:
        return unmoved
    shifts = _displacements(anchors)
    steps = np.diff(shifts, prepend=0.0)
    fits = np.abs(anchors[:, 2] - shifts) <= 1
    if not anchors[fits, 2].any() or np.abs(steps).sum() > MOST_TAKEN_OUT * height:
        return unmoved
    counts = np.ones(len(our_gray), np.int64), np.ones(len(their_gray), np.int64)
    before, end = 0.0, 0.0  # the displacement up to here, and where the last text ends
    for (top, bottom, own), shift, step, is_near in zip(anchors, shifts, steps, fits, strict=True):
        # Parts of pixels add up: a text that is off by one is aligned too, but not charged.
        now = own if is_near else shift
        if now != before and (step or top >= end):
            _insert(counts, our_gray, their_gray, min(end, top), top, before, now)
            before = now
        if is_near:
            end = max(end, bottom)
    jumps = np.flatnonzero(steps)
    return Alignment(
        np.repeat(np.arange(len(our_gray)), counts[0]),
        np.repeat(np.arange(len(their_gray)), counts[1]),
        tuple(float(anchors[jump, 0]) for jump in jumps),
        tuple(float(shifts[jump]) for jump in jumps),
    )


def _anchors(ours: Sequence[LegibleText], theirs: Sequence[LegibleText]) -> npt.NDArray[np.float64]:
    """Return top, bottom and displacement of the texts that both pages have, from top to bottom."""
    a, b = ([" ".join(one[1].split()) for one in side[:MOST_TEXTS]] for side in (theirs, ours))
    found = []
    for i, j, size in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
        for (_, y, _, h), (_, at, _, g) in zip(
            (one[0] for one in theirs[i : i + size]),
            (one[0] for one in ours[j : j + size]),
            strict=True,
        ):
            if abs(h - g) <= 2:
                # Letters are drawn on whole pixels.
                found.append((y, y + h, floor(at + 0.5) - floor(y + 0.5)))
    return np.array(sorted(found), np.float64).reshape(-1, 3)


def _displacements(anchors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the displacement of the page at every text, so that few texts stand elsewhere.

    Of all courses of displacements, the one is chosen that costs least: 1 for a text that does not
    follow it, `JUMP` for every change.
    """
    values, votes = np.unique(anchors[:, 2], return_counts=True)
    states = np.union1d(values[np.argsort(-votes, kind="stable")[:MOST_STATES]], [0.0])
    apart = np.abs(anchors[:, 2, None] - states)
    # A pixel may be rounding, but letters that are off by one are other pixels.
    costs = np.minimum(apart / FAR, 1.0) + np.minimum(apart, 2) * 0.25
    total = np.where(states == 0, 0.0, JUMP) + costs[0]
    came = np.zeros(costs.shape, np.int64)
    own = np.arange(len(states))
    for index in range(1, len(costs)):
        best = int(total.argmin())
        jumps = total[best] + JUMP < total
        came[index] = np.where(jumps, best, own)
        total = np.where(jumps, total[best] + JUMP, total) + costs[index]
    state = int(total.argmin())
    course = np.zeros(len(costs))
    for index in range(len(costs) - 1, -1, -1):
        course[index] = states[state]
        state = int(came[index][state])
    return course


def _insert(
    counts: tuple[Rows, Rows],
    our_gray: Gray,
    their_gray: Gray,
    floor: float,
    top: float,
    before: float,
    now: float,
) -> None:
    """Repeat a row between two texts in the picture that has too few there.

    The row is where both pictures fit best above and below it.
    """
    more = round(now - before)
    # Rows between the texts: of the picture with fewer of them, and of the other one.
    ours = range(round(floor + before), max(round(top + now), round(floor + before)))
    theirs = range(round(floor), max(round(top), round(floor)))
    short, long, picture, other, count = (
        (theirs, ours, their_gray, our_gray, counts[1])
        if more > 0
        else (ours, theirs, our_gray, their_gray, counts[0])
    )
    more = abs(more)
    start = min(max(short.start, 0), len(picture) - 1)
    length = min(len(short), len(picture) - start)
    begin = max(long.start, 0)
    split = 0
    if length > 0 and begin + length + more <= len(other):
        width = min(picture.shape[1], other.shape[1])
        rows = picture[start : start + length, :width]
        above = _apart(rows, other[begin : begin + length, :width])
        below = _apart(rows, other[begin + more : begin + more + length, :width])
        costs = np.concatenate([[0.0], above.cumsum()]) + np.concatenate(
            [below[::-1].cumsum()[::-1], [0.0]]
        )
        best = np.flatnonzero(costs <= costs.min() + 1e-6)
        split = int(best[len(best) // 2])
    count[min(start + max(split - 1, 0), len(picture) - 1)] += more


def _apart(a: Gray, b: Gray) -> npt.NDArray[np.float64]:
    """Return by how much each row of two pictures differs."""
    return np.asarray(cv2.absdiff(a, b).mean(axis=1), np.float64)


def _places(rows: Rows) -> Rows:
    """Return where every row of a page is first shown, and where the page ends."""
    starts = np.searchsorted(rows, np.arange(int(rows[-1]) + 1 if len(rows) else 0))
    return np.append(starts, len(rows))


def _moved(boxes: Iterable[PixelRect], places: Rows) -> tuple[PixelRect, ...]:
    last = len(places) - 1

    def at(y: float) -> float:
        whole = min(max(int(y), 0), last)
        return float(places[whole]) + (y - whole)

    return tuple((x, at(y), w, max(at(y + h) - at(y), 0.0)) for x, y, w, h in boxes)
