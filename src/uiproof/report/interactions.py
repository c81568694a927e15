"""Interaction2Code cases: both sides before and after, what changed, the verdict and its evidence.

All of it is plain HTML that reads without scripts; those add the filters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.boxes import PixelBox
from uiproof.engine.rundir import RunDirectory
from uiproof.engine.types import Record
from uiproof.report.filters import Filter, form, useful
from uiproof.report.gallery_pictures import HALF, Cut, Stock
from uiproof.report.leaderboard import Leaderboard
from uiproof.report.markup import Markup, joined, tag

_MOST_CASES = 300  # of one run; what is not usable comes first
_LEAST_FOR_PICTURES = 4_000_000
_CARD = 6_000  # characters of a card, about
_LONGEST = 400
_MARGIN = 24  # pixels around what changed
_SIDES = ("reference", "generated")
_SCORES = (
    *(("full", name) for name in ("clip", "ssim", "text")),
    *(("part", name) for name in ("clip", "ssim", "text", "position_before", "position_after")),
)


@dataclass(frozen=True, slots=True)
class _Shown:
    """One case of one run."""

    run: int
    record: Record
    panes: tuple[_Pane, ...]

    @property
    def failure(self) -> str:
        if self.record.error is not None:
            return "failed"
        return str((self.record.details.get("verdict") or {}).get("failure", NONE))

    @property
    def usable(self) -> bool:
        return bool(self.record.scores.get("usable"))


@dataclass(frozen=True, slots=True)
class _Pane:
    """A part of a picture, with boxes to draw on it."""

    label: str
    cut: Cut | None
    boxes: tuple[tuple[str, PixelBox], ...] = ()


class Interactions:
    """The view for Interaction2Code runs."""

    styles: ClassVar[tuple[str, ...]] = ("gallery.css", "interactions.css")
    scripts: ClassVar[tuple[str, ...]] = ("gallery.js",)

    def __init__(self, board: Leaderboard, runs: Sequence[RunDirectory]) -> None:
        self._names = [row.name for row in board.rows]
        self._ranked = [board.rows.index(row) for row in board.ranked()]
        self._outcomes: list[Counter[str]] = [Counter() for _ in runs]
        self._cases: list[_Shown] = []
        self._left_out: list[int] = []
        for number, run in enumerate(runs):
            records = list(run.records())
            records.sort(key=lambda record: (bool(record.scores.get("usable")), record.id))
            for record in records:
                self._outcomes[number][_Shown(number, record, ()).failure] += 1
            self._left_out.append(max(len(records) - _MOST_CASES, 0))
            self._cases += [
                _Shown(number, record, tuple(_panes(run, record)))
                for record in records[:_MOST_CASES]
            ]
        self._stock = Stock()

    def index(self) -> Mapping[str, Any]:
        """The number of cases; everything else is in the HTML."""
        return {"results": sum(outcomes.total() for outcomes in self._outcomes)}

    def body(self, room: int) -> Iterator[str]:
        """The table of failure types, the pictures, and the cards that use them."""
        for case in self._cases:
            for pane in case.panes:
                if pane.cut is not None:
                    self._stock.add(pane.cut)
        filters = _filters(self._cases, self._names)
        yield self._failures()
        yield '<section id="gallery" aria-labelledby="gallery-title">'
        yield tag("h2", "Interactions", id="gallery-title")
        yield _LEGEND
        notes = [
            f"{name}: {left:,} usable interactions are not shown."
            for name, left in zip(self._names, self._left_out, strict=True)
            if left
        ]
        yield tag("ul", *(tag("li", note) for note in notes), class_="notes")
        yield form(filters, "what is done, id or evidence")
        yield '<svg class="stock" aria-hidden="true"><defs>\n'
        for picture in self._stock.pieces(
            max(room - _CARD * len(self._cases), _LEAST_FOR_PICTURES)
        ):
            yield picture + "\n"
        yield "</defs></svg>"
        for title, usable in (("Not usable", False), ("Usable", True)):
            yield from self._group(title, [c for c in self._cases if c.usable == usable], filters)
        yield "</section>"

    def _failures(self) -> Markup:
        """How many cases of each run failed how."""
        found = [
            kind
            for kind in (NONE, *FAILURES, "failed")
            if any(outcomes[kind] for outcomes in self._outcomes)
        ]
        head = tag(
            "tr", *(tag("th", name, scope="col") for name in ("Method", *map(_named, found)))
        )
        rows = []
        for number in self._ranked:
            outcomes = self._outcomes[number]
            cells = [_count(outcomes[kind], outcomes.total()) for kind in found]
            rows.append(tag("tr", tag("th", self._run(number), scope="row"), *cells))
        table = tag("table", tag("thead", head), tag("tbody", *rows), class_="verdicts wordy")
        titled = "verdicts-title"
        return tag(
            "section",
            tag("h2", "Failure types", id=titled),
            tag("div", table, class_="scroll", tabindex=0, role="region", aria_labelledby=titled),
            aria_labelledby=titled,
        )

    def _run(self, number: int) -> Markup:
        if len(self._names) == 1:
            return joined(self._names[number])
        dot = tag("span", class_=f"dot run-{number % 8}")
        return tag("span", dot, self._names[number], class_="run-name")

    def _group(
        self, title: str, cases: Sequence[_Shown], filters: Sequence[Filter[_Shown]]
    ) -> Iterator[str]:
        if not cases:
            return
        count = tag("span", f"{len(cases):,}", class_="group-count quiet")
        yield '<details class="group" open>'
        yield tag("summary", title, " ", count) + '<ol class="finds wide">'
        for case in cases:
            codes = " ".join(choice.code(case) for choice in filters)
            yield self._card(case, codes) + "\n"
        yield "</ol></details>"

    def _card(self, case: _Shown, codes: str) -> Markup:
        figures = [
            tag("figure", self._drawing(pane), tag("figcaption", pane.label)) for pane in case.panes
        ]
        pictures = tag("div", *figures, class_="states") if figures else Markup("")
        about = tag("div", self._about(case), class_="about")
        return tag("li", pictures, about, _numbers(case.record), class_="find", data_values=codes)

    def _drawing(self, pane: _Pane) -> Markup:
        picture = self._stock.use(pane.cut) if pane.cut is not None else None
        if pane.cut is None or picture is None:
            return tag("p", "no picture", class_="missing quiet")
        region = pane.cut.region
        boxes = [
            tag(
                "rect",
                x=box.left,
                y=box.top,
                width=box.width,
                height=box.height,
                class_=f"{layer} {kind}",
            )
            for kind, box in pane.boxes
            for layer in ("halo", "line")
        ]
        return tag(
            "svg",
            picture,
            *boxes,
            viewBox=f"{region.left} {region.top} {region.width} {region.height}",
            preserveAspectRatio="xMidYMin meet",
            role="img",
            aria_label=pane.label,
        )

    def _about(self, case: _Shown) -> Markup:
        record, details = case.record, case.record.details
        verdict = details.get("verdict") or {}
        colour = "bad" if not case.usable else "good" if case.failure == NONE else "warn"
        word = "usable" if case.usable else "not usable"
        badge = tag("span", word, class_=f"badge {colour}")
        lines = [tag("p", badge, _named(case.failure), class_="verdict")]
        sentence = details.get("sentence") or (details.get("action") or {}).get("kind") or ""
        lines.append(tag("p", _short(str(sentence)), class_="instruction", dir="auto"))
        facts = [record.id, *map(str, details.get("tags") or ()), "→"]
        facts += map(str, details.get("visuals") or ())
        if len(self._names) > 1:
            lines.append(tag("p", self._run(case.run), class_="small"))
        lines.append(tag("p", " · ".join(facts), class_="small quiet"))
        if record.error is not None:
            error = f"{record.error.code} ({record.error.stage}): {record.error.message}"
            lines.append(tag("p", _short(error), class_="small bad", dir="auto"))
        evidence = [
            tag("li", _short(str(one)), dir="auto") for one in verdict.get("evidence") or ()
        ]
        return tag("div", *lines, tag("ul", *evidence, class_="evidence small"))


def _panes(run: RunDirectory, record: Record) -> Iterator[_Pane]:
    """Before, after and what changed; first of the reference, then of the generated page."""
    for side in _SIDES:
        facts = record.details.get(side) or {}
        if not facts:
            continue
        width = (facts.get("size") or [None])[0]
        before = _picture(run, record, f"{side}_before")
        after = _picture(run, record, f"{side}_after")
        trigger = _boxes("truth", [facts.get("trigger")], before, width)
        parts = _boxes("said", facts.get("parts") or [facts.get("region")], after, width)
        yield _Pane(f"{side} before", _whole(before), trigger)
        yield _Pane(f"{side} after", _whole(after), parts)
        region = _boxes("said", [facts.get("region")], after, width)
        yield _Pane(f"{side} change", _around(after, region[0][1]) if after and region else None)


@dataclass(frozen=True, slots=True)
class _Picture:
    path: Path
    width: int
    height: int


def _picture(run: RunDirectory, record: Record, name: str) -> _Picture | None:
    from PIL import Image

    if name not in record.artifacts:
        return None
    path = run.artifact(record.artifacts[name]).absolute()
    try:
        with Image.open(path) as opened:
            return _Picture(path, *opened.size)
    except (OSError, ValueError, Image.DecompressionBombError):
        return None


def _whole(picture: _Picture | None) -> Cut | None:
    if picture is None:
        return None
    box = PixelBox(0, 0, picture.width, picture.height)
    return Cut(str(picture.path), picture.width, picture.height, box, HALF)


def _around(picture: _Picture, box: PixelBox) -> Cut:
    region = PixelBox(
        max(box.left - _MARGIN, 0),
        max(box.top - _MARGIN, 0),
        min(box.right + _MARGIN, picture.width),
        min(box.bottom + _MARGIN, picture.height),
    )
    return Cut(str(picture.path), picture.width, picture.height, region, HALF)


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


def _filters(cases: Sequence[_Shown], names: Sequence[str]) -> list[Filter[_Shown]]:
    def listed(name: str) -> Any:
        return lambda case: [str(one) for one in case.record.details.get(name) or ()]

    def action(case: _Shown) -> Sequence[str]:
        kind = (case.record.details.get("action") or {}).get("kind")
        return [str(kind)] if kind else []

    def topic(case: _Shown) -> Sequence[str]:
        found = case.record.details.get("topic")
        return [str(found)] if found else []

    runs = [str(number) for number in range(len(names))]
    kinds = (NONE, *FAILURES, "failed")
    filters = [
        Filter.of(
            "Run", cases, lambda c: [str(c.run)], order=runs, shown=lambda run: names[int(run)]
        ),
        Filter.of("Failure", cases, lambda c: [c.failure], order=kinds, shown=_named),
        Filter.of("Action", cases, action),
        Filter.of("Element", cases, listed("tags")),
        Filter.of("Effect", cases, listed("visuals")),
        Filter.of("Topic", cases, topic),
    ]
    return useful(filters, cases)


def _numbers(record: Record) -> Markup:
    """The scores, for who wants to know."""
    rows = []
    for part, name in _SCORES:
        values = [
            (record.scores.get(profile) or {}).get(part, {}).get(name)
            for profile in ("paper", "strict")
        ]
        cells = [tag("td", "–" if value is None else f"{value:.3f}") for value in values]
        label = f"{'Full page' if part == 'full' else 'Part'} {name.replace('_', ' ')}"
        rows.append(tag("tr", tag("th", label, scope="row"), *cells))
    head = tag("tr", *(tag("th", name, scope="col") for name in ("", "paper", "strict")))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="numbers")
    return tag("details", tag("summary", "Scores"), table)


def _named(failure: str) -> str:
    if failure in FAILURES:
        return f"({failure}) {FAILURES[failure]}"
    return {"failed": "Not judged", NONE: "No failure"}.get(failure, failure)


def _count(count: int, of: int) -> Markup:
    if not count:
        return tag("td", "–", class_="quiet")
    share = tag("span", f"{100 * count / of:.1f} %", class_="range")
    return tag("td", tag("span", f"{count:,}", class_="mean"), share)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


_LEGEND = tag(
    "p",
    *(
        tag(
            "span",
            tag(
                "svg",
                tag("rect", x=2, y=2, width=14, height=10, class_=f"line {kind}"),
                viewBox="0 0 18 14",
                aria_hidden="true",
            ),
            text,
        )
        for kind, text in (("truth", "acted on"), ("said", "changed"))
    ),
    class_="legend",
)
