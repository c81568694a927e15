"""Interaction2Code cases: both sides before and after, what changed, the verdict and its evidence.

All of it is plain HTML; scripts add the pictures, the filters and the viewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from uiproof.engine.rundir import RunDirectory
from uiproof.report.filters import Filter, form
from uiproof.report.interaction_card import case_card
from uiproof.report.interaction_cases import (
    MOST_CASES,
    OUTCOMES,
    Shown,
    filters,
    named,
    select,
)
from uiproof.report.leaderboard import Leaderboard
from uiproof.report.listing import count_table, group, legend, notes, run_name
from uiproof.report.markup import Markup, tag
from uiproof.report.pictures import Pictures
from uiproof.report.views import package_file


class Interactions:
    """The view for Interaction2Code runs."""

    styles: ClassVar[tuple[str, ...]] = ("viewer.css", "gallery.css", "interactions.css")
    scripts: ClassVar[tuple[str, ...]] = ("compare.js", "dialog.js", "gallery.js", "cards.js")

    def __init__(
        self, board: Leaderboard, runs: Sequence[RunDirectory], pictures: Pictures
    ) -> None:
        self._names = [row.name for row in board.rows]
        self._ranked = [board.rows.index(row) for row in board.ranked()]
        most = max(MOST_CASES // len(runs), 50)
        self._selections = [select(number, run, pictures, most) for number, run in enumerate(runs)]
        self._cases = [case for selection in self._selections for case in selection.shown]

    def index(self) -> Mapping[str, Any]:
        """The number of cases; everything else is in the HTML."""
        return {"results": sum(one.cases for one in self._selections)}

    def places(self) -> Mapping[tuple[int, str], int]:
        """The number of the card of each case that has one, by run and id."""
        return {(case.run, case.record.id): place for place, case in enumerate(self._cases)}

    def body(self) -> Iterator[str]:
        """The table of failure types, and the cards."""
        rows = [(run_name(self._names, n), self._selections[n].outcomes) for n in self._ranked]
        yield count_table("Failure types", rows, OUTCOMES, named, class_="wordy")
        yield '<section id="gallery" aria-labelledby="gallery-title">'
        yield tag("h2", "Interactions", id="gallery-title")
        yield legend({"truth": "acted on", "said": "changed"})
        yield notes(
            [
                f"{name}: {selection.left_out:,} more interactions are not shown."
                for name, selection in zip(self._names, self._selections, strict=True)
                if selection.left_out
            ]
        )
        choices = filters(self._cases, self._names)
        yield form(choices, "what is done, id or evidence")
        for title, usable in (("Not usable", False), ("Usable", True)):
            cards = [
                self._card(place, case, choices)
                for place, case in enumerate(self._cases)
                if case.usable == usable
            ]
            yield from group(title, cards, class_="finds wide")
        yield "</section>"
        yield package_file("viewer.html")

    def _card(self, place: int, case: Shown, choices: Sequence[Filter[Shown]]) -> Markup:
        run = run_name(self._names, case.run) if len(self._names) > 1 else None
        codes = " ".join(choice.code(case) for choice in choices)
        return case_card(case, run=run, codes=codes, anchor=f"card-{place}")
