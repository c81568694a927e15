"""Which interactions a report shows, and what there is to see of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.boxes import PixelBox
from uiproof.engine.rundir import RunDirectory
from uiproof.engine.types import Record
from uiproof.report.filters import Filter, useful
from uiproof.report.pictures import Cut, Limits, Pictures

FAILED = "failed"  # there was nothing to judge
OUTCOMES = (NONE, *FAILURES, FAILED)
SIDES = ("reference", "generated")
MOST_CASES = 1000  # of a page; the runs share them
_WHOLE = Limits(pixels=700_000, bytes=60_000, width=900)
_CHANGE = Limits(pixels=160_000, bytes=20_000)
_MARGIN = 24  # pixels around what changed


@dataclass(frozen=True, slots=True)
class Pane:
    """A part of a picture by its number, with boxes to draw on it."""

    label: str
    picture: int | None = None
    region: PixelBox | None = None
    boxes: tuple[tuple[str, PixelBox], ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """One case of one run."""

    run: int
    record: Record
    panes: tuple[Pane, ...] = ()

    @property
    def failure(self) -> str:
        """What is wrong with it, as one of `OUTCOMES`."""
        if self.record.error is not None:
            return FAILED
        return str((self.record.details.get("verdict") or {}).get("failure", NONE))

    @property
    def usable(self) -> bool:
        """Whether somebody could work with it."""
        return bool(self.record.scores.get("usable"))

    def pictures(self, moment: str) -> list[int | None]:
        """The numbers of what both sides look like `before` and `after`, and their `difference`."""
        found = {pane.label: pane.picture for pane in self.panes}
        return [found.get(f"{side} {moment}") for side in SIDES]


@dataclass(frozen=True, slots=True)
class Selection:
    """What is shown of one run, and what there is."""

    shown: tuple[Shown, ...]
    outcomes: Mapping[str, int]  # of all cases
    left_out: int

    @property
    def cases(self) -> int:
        """All of them."""
        return sum(self.outcomes.values())


def select(number: int, run: RunDirectory, pictures: Pictures, most: int) -> Selection:
    """Choose from one run: what is not usable comes first, and some of the rest stays."""
    cases = [Shown(number, record) for record in run.records()]
    outcomes = Counter(case.failure for case in cases)
    bad = [case for case in cases if not case.usable][: max(most - most // 5, 1)]
    good = [case for case in cases if case.usable][: most - len(bad)]
    shown = [
        Shown(number, case.record, tuple(_panes(run, case.record, pictures)))
        for case in (*bad, *good)
    ]
    return Selection(tuple(shown), outcomes, len(cases) - len(shown))


def filters(cases: Sequence[Shown], names: Sequence[str]) -> list[Filter[Shown]]:
    """What these cases can be chosen by; `names` are those of the runs."""

    def listed(name: str) -> Any:
        return lambda case: [str(one) for one in case.record.details.get(name) or ()]

    def action(case: Shown) -> Sequence[str]:
        kind = (case.record.details.get("action") or {}).get("kind")
        return [str(kind)] if kind else []

    def topic(case: Shown) -> Sequence[str]:
        found = case.record.details.get("topic")
        return [str(found)] if found else []

    runs = [str(number) for number in range(len(names))]
    found = [
        Filter.of(
            "Run", cases, lambda c: [str(c.run)], order=runs, shown=lambda run: names[int(run)]
        ),
        Filter.of("Failure", cases, lambda c: [c.failure], order=OUTCOMES, shown=named),
        Filter.of("Action", cases, action),
        Filter.of("Element", cases, listed("tags")),
        Filter.of("Effect", cases, listed("visuals")),
        Filter.of("Topic", cases, topic),
    ]
    return useful(found, cases)


def named(failure: str) -> str:
    """A type of failure for people."""
    if failure in FAILURES:
        return f"({failure}) {FAILURES[failure]}"
    return {FAILED: "Not judged", NONE: "No failure"}.get(failure, failure)


@dataclass(frozen=True, slots=True)
class _Picture:
    path: Path
    width: int
    height: int


def _panes(run: RunDirectory, record: Record, pictures: Pictures) -> Iterator[Pane]:
    """Before, after and the difference; first of the reference, then of the generated page."""
    for side in SIDES:
        facts = record.details.get(side) or {}
        if not facts:
            continue
        width = (facts.get("size") or [None])[0]
        before = _picture(run, record, f"{side}_before", pictures)
        after = _picture(run, record, f"{side}_after", pictures)
        trigger = _boxes("truth", [facts.get("trigger")], before, width)
        parts = _boxes("said", facts.get("parts") or [facts.get("region")], after, width)
        yield _whole(f"{side} before", before, trigger, pictures)
        yield _whole(f"{side} after", after, parts, pictures)
        region = _boxes("said", [facts.get("region")], after, width)
        around = _around(after, region[0][1] if region else None)
        label = f"{side} difference"
        if before is None or after is None or around is None:
            yield Pane(label)
            continue
        number = pictures.add(Cut(after.path, around, _CHANGE, before=before.path))
        yield Pane(label, number, around)


def _picture(run: RunDirectory, record: Record, name: str, pictures: Pictures) -> _Picture | None:
    if name not in record.artifacts:
        return None
    path = run.artifact(record.artifacts[name])
    size = pictures.size(path)
    return None if size is None else _Picture(path, *size)


def _whole(
    label: str,
    picture: _Picture | None,
    boxes: tuple[tuple[str, PixelBox], ...],
    pictures: Pictures,
) -> Pane:
    if picture is None:
        return Pane(label)
    box = PixelBox(0, 0, picture.width, picture.height)
    return Pane(label, pictures.add(Cut(picture.path, box, _WHOLE)), box, boxes)


def _around(picture: _Picture | None, box: PixelBox | None) -> PixelBox | None:
    """A box with some room around it; all of a picture where nothing is known to have changed."""
    if picture is None:
        return None
    if box is None:
        return PixelBox(0, 0, picture.width, picture.height)
    return PixelBox(
        max(box.left - _MARGIN, 0),
        max(box.top - _MARGIN, 0),
        min(box.right + _MARGIN, picture.width),
        min(box.bottom + _MARGIN, picture.height),
    )


def _boxes(
    kind: str, found: Sequence[Any], picture: _Picture | None, width: int | None
) -> tuple[tuple[str, PixelBox], ...]:
    """Boxes that lie on a picture, given for a page that is `width` wide."""
    boxes: list[tuple[str, PixelBox]] = []
    if picture is None:
        return ()
    scale = picture.width / width if width else 1.0
    for corners in found:
        if not isinstance(corners, Sequence) or len(corners) != 4:
            continue
        left, top, right, bottom = (round(scale * float(value)) for value in corners)
        box = PixelBox(
            max(left, 0), max(top, 0), min(right, picture.width), min(bottom, picture.height)
        )
        if box.width > 0 and box.height > 0:
            boxes.append((kind, box))
    return tuple(boxes)
