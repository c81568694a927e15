"""Grounding cases: how many of each verdict, and a gallery of where the clicks went.

All of it is plain HTML; scripts add the pictures, the filters and the viewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from uiproof.benchmarks.grounding.sizes import SIZES
from uiproof.engine.rundir import RunDirectory
from uiproof.report.filters import Filter, form, useful
from uiproof.report.gallery_card import case_card, words
from uiproof.report.gallery_cases import (
    MOST_FAILURES,
    MOST_RIGHT,
    OUTCOMES,
    Shown,
    all_shown,
    select,
)
from uiproof.report.gallery_drawing import Pane, Scene, panes, read_scene, whole
from uiproof.report.leaderboard import Leaderboard
from uiproof.report.listing import count_table, group, legend, notes, run_name
from uiproof.report.markup import Markup, tag
from uiproof.report.pictures import Cut, Limits, Pictures, image
from uiproof.report.views import package_file

_WHOLE = Limits(pixels=300_000, bytes=30_000)
_ALONE = Limits(pixels=220_000, bytes=40_000)  # a picture of target and click
_HALF = Limits(pixels=120_000, bytes=20_000)  # a picture of one of them


class Gallery:
    """The view for grounding runs."""

    styles: ClassVar[tuple[str, ...]] = ("viewer.css", "gallery.css")
    scripts: ClassVar[tuple[str, ...]] = ("compare.js", "dialog.js", "gallery.js", "cards.js")

    def __init__(
        self, board: Leaderboard, runs: Sequence[RunDirectory], pictures: Pictures
    ) -> None:
        self._names = [row.name for row in board.rows]
        self._ranked = [board.rows.index(row) for row in board.ranked()]
        failures = max(MOST_FAILURES // len(runs), 60)
        right = max(MOST_RIGHT // len(runs), 20)
        self._selections = [
            select(number, run.records(), most_failures=failures, most_right=right)
            for number, run in enumerate(runs)
        ]
        self._cases = [
            *all_shown(self._selections, right=False),
            *all_shown(self._selections, right=True),
        ]
        self._pictures = pictures

    def index(self) -> Mapping[str, Any]:
        """The number of cases; everything else is in the HTML."""
        return {"results": sum(selection.cases for selection in self._selections)}

    def places(self) -> Mapping[tuple[int, str], int]:
        """The number of the card of each case that has one, by run and id."""
        return {(case.run, case.record.id): place for place, case in enumerate(self._cases)}

    def body(self) -> Iterator[str]:
        """The table of verdicts, and the cards."""
        rows = [(run_name(self._names, n), self._selections[n].outcomes) for n in self._ranked]
        yield count_table("Verdicts", rows, OUTCOMES, words)
        yield '<section id="gallery" aria-labelledby="gallery-title">'
        yield tag("h2", "Gallery", id="gallery-title")
        yield legend(_LEGEND)
        yield notes(self._left_out())
        choices = _filters(self._cases, self._names)
        yield form(choices, "instruction, id or answer")
        some_fail = any(not case.right for case in self._cases)
        for title, right in (("Failures", False), ("Right answers", True)):
            cards = [
                self._card(place, case, choices)
                for place, case in enumerate(self._cases)
                if case.right == right
            ]
            yield from group(title, cards, open_=not (right and some_fail), class_="finds")
        yield "</section>"
        yield package_file("viewer.html")

    def _left_out(self) -> list[str]:
        """What is not shown, for each run where something is not."""
        found = []
        for name, selection in zip(self._names, self._selections, strict=True):
            parts = []
            if left := selection.left_out(right=False):
                shown = f"{selection.failures - left:,} of {selection.failures:,}"
                parts.append(f"{shown} failures are shown, the worst of each verdict")
            if left := selection.left_out(right=True):
                shown = f"{selection.right - left:,} of {selection.right:,}"
                parts.append(f"{shown} right answers are shown")
            if parts:
                found.append(f"{name}: {'; '.join(parts)}.")
        return found

    def _card(self, place: int, case: Shown, choices: Sequence[Filter[Shown]]) -> Markup:
        codes = " ".join(choice.code(case) for choice in choices)
        run = run_name(self._names, case.run) if len(self._names) > 1 else None
        scene = read_scene(case.details)
        parts = [] if scene is None else [*panes(scene), whole(scene)]
        pictures = [] if scene is None else self._shown(case, scene, parts)
        anchor = f"card-{place}"
        return case_card(case, scene, parts, pictures, run=run, codes=codes, anchor=anchor)

    def _shown(self, case: Shown, scene: Scene, parts: Sequence[Pane]) -> list[Markup | None]:
        """Parts of the screenshot, the whole of it last; nothing of what is another picture."""
        path = Path(str(case.details.get("image", "")))
        # Published files name images relative to folders that are not known here.
        if not path.is_absolute() or self._pictures.size(path) != (scene.width, scene.height):
            return [None] * len(parts)
        zoomed = _ALONE if len(parts) == 2 else _HALF
        shown: list[Markup | None] = []
        for part in parts:
            cut = Cut(path, part.region, _WHOLE if part is parts[-1] else zoomed)
            number = self._pictures.add(cut)
            shown.append(None if number is None else image(number, part.region))
        return shown


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


_LEGEND = {
    "truth": "target",
    "clickable": "clickable area",
    "click": "click",
    "said": "box of the answer",
    "look": "looked at",
}
