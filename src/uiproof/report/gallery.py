"""Grounding cases: how many of each verdict, and a gallery of where the clicks went.

All of it is plain HTML that reads without scripts; those add the filters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from uiproof.benchmarks.grounding.sizes import SIZES
from uiproof.boxes import PixelBox
from uiproof.engine.rundir import RunDirectory
from uiproof.report.filters import Filter, form, useful
from uiproof.report.gallery_card import case_card, words
from uiproof.report.gallery_cases import OUTCOMES, Shown, all_shown, select
from uiproof.report.gallery_drawing import Pane, Scene, panes, read_scene
from uiproof.report.gallery_pictures import ALONE, HALF, THUMBNAIL, Cut, Stock
from uiproof.report.leaderboard import Leaderboard
from uiproof.report.markup import Markup, joined, tag

_LEAST_FOR_PICTURES = 4_000_000
_CARD = 4_000  # characters of a card, about


class Gallery:
    """The view for grounding runs."""

    styles: ClassVar[tuple[str, ...]] = ("gallery.css",)
    scripts: ClassVar[tuple[str, ...]] = ("gallery.js",)

    def __init__(self, board: Leaderboard, runs: Sequence[RunDirectory]) -> None:
        self._names = [row.name for row in board.rows]
        self._ranked = [board.rows.index(row) for row in board.ranked()]
        self._selections = [select(number, run.records()) for number, run in enumerate(runs)]
        self._stock = Stock()

    def index(self) -> Mapping[str, Any]:
        """The number of cases; everything else is in the HTML."""
        return {"results": sum(selection.cases for selection in self._selections)}

    def body(self, room: int) -> Iterator[str]:
        """The table of verdicts, the pictures, and the cards that use them."""
        failures = [_Drawn.of(one) for one in all_shown(self._selections, right=False)]
        right = [_Drawn.of(one) for one in all_shown(self._selections, right=True)]
        for drawn in (*failures, *right):
            for cut in drawn.cuts:
                self._stock.add(cut)
        filters = _filters([one.case for one in (*failures, *right)], self._names)
        yield self._verdicts()
        yield '<section id="gallery" aria-labelledby="gallery-title">'
        yield tag("h2", "Gallery", id="gallery-title")
        yield _LEGEND
        yield tag("ul", *(tag("li", note) for note in self._notes()), class_="notes")
        yield form(filters, "instruction, id or answer")
        yield '<svg class="stock" aria-hidden="true"><defs>\n'
        text = _CARD * (len(failures) + len(right))
        for picture in self._stock.pieces(max(room - text, _LEAST_FOR_PICTURES)):
            yield picture + "\n"
        yield "</defs></svg>"
        yield from self._group("Failures", failures, filters, open_=True)
        yield from self._group("Right answers", right, filters, open_=not failures)
        yield "</section>"

    def _verdicts(self) -> Markup:
        """How many cases of each run ended how."""
        found = [
            outcome
            for outcome in OUTCOMES
            if any(one.outcomes[outcome] for one in self._selections)
        ]
        head = tag("tr", *(tag("th", name, scope="col") for name in ("Method", *map(words, found))))
        rows = []
        for number in self._ranked:
            selection = self._selections[number]
            cells = [_count(selection.outcomes[outcome], selection.cases) for outcome in found]
            rows.append(tag("tr", tag("th", self._named(number), scope="row"), *cells))
        table = tag("table", tag("thead", head), tag("tbody", *rows), class_="verdicts")
        titled = "verdicts-title"
        return tag(
            "section",
            tag("h2", "Verdicts", id=titled),
            tag("div", table, class_="scroll", tabindex=0, role="region", aria_labelledby=titled),
            aria_labelledby=titled,
        )

    def _named(self, run: int) -> Markup:
        """The name of a run with the colour that it has in the whole report."""
        if len(self._names) == 1:
            return joined(self._names[run])
        return tag(
            "span", tag("span", class_=f"dot run-{run % 8}"), self._names[run], class_="run-name"
        )

    def _notes(self) -> list[str]:
        """What is left out, for each run where something is."""
        notes = []
        for name, selection in zip(self._names, self._selections, strict=True):
            parts = []
            if left := selection.left_out(right=False):
                shown = f"{selection.failures - left:,} of {selection.failures:,}"
                parts.append(f"{shown} failures are shown, the worst of each verdict")
            if left := selection.left_out(right=True):
                shown = f"{selection.right - left:,} of {selection.right:,}"
                parts.append(f"{shown} right answers are shown")
            if parts:
                notes.append(f"{name}: {'; '.join(parts)}.")
        return notes

    def _group(
        self, title: str, drawn: Sequence[_Drawn], filters: Sequence[Filter[Shown]], *, open_: bool
    ) -> Iterator[str]:
        if not drawn:
            return
        count = tag("span", f"{len(drawn):,}", class_="group-count quiet")
        yield f'<details class="group"{" open" if open_ else ""}>'
        yield tag("summary", title, " ", count) + '<ol class="finds">'
        several = len(self._names) > 1
        for one in drawn:
            codes = " ".join(choice.code(one.case) for choice in filters)
            pictures = [self._stock.use(cut) for cut in one.cuts]
            run = self._named(one.case.run) if several else None
            yield case_card(one.case, one.scene, one.panes, pictures, run=run, codes=codes) + "\n"
        yield "</ol></details>"


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A case with the parts of its screenshot that are shown; the whole of it comes last."""

    case: Shown
    scene: Scene | None
    panes: tuple[Pane, ...]
    cuts: tuple[Cut, ...]

    @classmethod
    def of(cls, case: Shown) -> _Drawn:
        scene = read_scene(case.details)
        if scene is None:
            return cls(case, None, (), ())
        parts = panes(scene)
        limits = ALONE if len(parts) == 1 else HALF
        parts.append(Pane("", PixelBox(0, 0, scene.width, scene.height)))
        image = str(case.details.get("image", ""))
        cuts = [
            Cut(image, scene.width, scene.height, pane.region, THUMBNAIL if last else limits)
            for pane, last in ((pane, pane is parts[-1]) for pane in parts)
        ]
        return cls(case, scene, tuple(parts), tuple(cuts))


def _filters(cases: Sequence[Shown], names: Sequence[str]) -> list[Filter[Shown]]:
    def one_of(value: Callable[[Shown], str | None]) -> Callable[[Shown], Sequence[str]]:
        return lambda case: [] if (found := value(case)) is None else [found]

    def tagged(name: str) -> Callable[[Shown], Sequence[str]]:
        tags = one_of(lambda case: case.details.get("tags", {}).get(name))
        return lambda case: [str(value) for value in tags(case)]

    runs = [str(number) for number in range(len(names))]
    filters = [
        Filter.of(
            "Run",
            cases,
            lambda case: [str(case.run)],
            order=runs,
            shown=lambda run: names[int(run)],
        ),
        Filter.of("Verdict", cases, lambda case: [case.outcome], order=OUTCOMES, shown=words),
        Filter.of(
            "Element", cases, one_of(lambda case: case.details.get("element_type")), shown=words
        ),
        Filter.of("Size", cases, one_of(lambda case: case.size), order=SIZES),
    ]
    tags = sorted({str(name) for case in cases for name in case.details.get("tags", {})})
    filters += [Filter.of(words(name).capitalize(), cases, tagged(name)) for name in tags]
    return useful(filters, cases)


def _count(count: int, of: int) -> Markup:
    if not count:
        return tag("td", "–", class_="quiet")
    share = tag("span", f"{100 * count / of:.1f} %", class_="range")
    return tag("td", tag("span", f"{count:,}", class_="mean"), share)


def _key(kind: str, text: str) -> Markup:
    shape = (
        tag("path", d="M4 2l10 10M4 12l10 -10", class_="line click")
        if kind == "click"
        else tag(
            "rect",
            x=2,
            y=2,
            width=14,
            height=10,
            class_="look" if kind == "look" else f"line {kind}",
        )
    )
    return tag("span", tag("svg", shape, viewBox="0 0 18 14", aria_hidden="true"), text)


_LEGEND = tag(
    "p",
    _key("truth", "target"),
    _key("clickable", "clickable area"),
    _key("click", "click"),
    _key("said", "box of the answer"),
    _key("look", "looked at"),
    class_="legend",
)
