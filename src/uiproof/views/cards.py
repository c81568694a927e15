"""Cards of cases with filters: plain HTML that reads without scripts; `gallery.js` adds to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from uiproof.benchmark import Record, number_at
from uiproof.markup import Markup, joined, tag
from uiproof.views.base import Leaderboard, asset

_COLOURS = 8  # of runs, in the style sheet
_MOST_CHOICES = 60  # a filter with more is a name, not a group
_MOST_FILTERS = 14


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A case of one run that has a card; benchmarks add what they show."""

    run: int
    record: Record


ShownT = TypeVar("ShownT", bound=ShownCase)


@dataclass(frozen=True, slots=True)
class Filter(Generic[ShownT]):
    """A property that cases are filtered by; a case may have several of its values, or none."""

    label: str
    choices: tuple[str, ...]
    values: Callable[[ShownT], Sequence[str]]
    shown: Callable[[str], str] = str

    @classmethod
    def of(
        cls,
        label: str,
        cases: Iterable[ShownT],
        values: Callable[[ShownT], Sequence[str]],
        *,
        order: Sequence[str] = (),
        shown: Callable[[str], str] = str,
    ) -> Filter[ShownT]:
        """Return a filter with the values that these cases have, in this order or by name."""
        found = {value for case in cases for value in values(case)}
        places = {value: place for place, value in enumerate(order)}
        ordered = sorted(found, key=lambda value: (places.get(value, len(places)), value))
        return cls(label, tuple(ordered), values, shown)

    def code(self, case: ShownT) -> str:
        """Return the values of a case by their numbers, as its card names them."""
        return ",".join(str(self.choices.index(value)) for value in self.values(case)) or "-"


class Group(NamedTuple):
    """Cards under a heading that can be closed."""

    title: str
    holds: Callable[[Any], bool]  # which cases are in it
    is_open: bool = True


class CardView(ABC, Generic[ShownT]):
    """A case view of cards: a table of outcomes, filters, groups of cards, a viewer.

    A benchmark fills in the class attributes, `filters` and `card`; see docs/report.md.
    """

    styles: ClassVar[tuple[str, ...]] = ("viewer.css", "differences.css", "gallery.css")
    scripts: ClassVar[tuple[str, ...]] = (
        *("compare.js", "differences.js", "dialog.js", "gallery.js", "cards.js"),
    )
    title: ClassVar[str]
    search: ClassVar[str]  # what the search field says when it is empty
    legend: ClassVar[Mapping[str, str]]  # meaning of lines in drawings, by their classes
    outcomes_title: ClassVar[str]
    outcomes: ClassVar[Sequence[str]]  # in the order of the table
    outcomes_class: ClassVar[str] = "verdicts"
    cards_class: ClassVar[str] = "finds"

    def __init__(
        self, board: Leaderboard, cases: Sequence[ShownT], counts: Sequence[Mapping[str, int]]
    ) -> None:
        """Show these cases; `counts` of outcomes are over all cases, by run."""
        self.names = [row.name for row in board.rows]
        self.cases = cases
        self._counts = counts
        self._ranked = [board.rows.index(row) for row in board.ranked()]
        self._differences = _differences(board, cases)

    @abstractmethod
    def filters(self) -> list[Filter[ShownT]]:
        """Return what cases can be filtered by, besides their run."""

    @abstractmethod
    def card(self, case: ShownT, run: Markup | None, **attributes: str) -> Markup:
        """Return a list item with these attributes; `run` names the run if there are several."""

    def groups(self) -> Sequence[Group]:
        """Return the groups of cards."""
        return [Group("Cases", lambda _: True)]

    def notes(self) -> list[str]:
        """Return remarks above the cards, such as how many cases have none."""
        return []

    def label(self, outcome: str) -> str:
        """Return an outcome for people."""
        return outcome.replace("_", " ")

    def index(self) -> Mapping[str, Any]:
        """Return the number of cases; everything else is in the HTML."""
        return {"results": sum(sum(counts.values()) for counts in self._counts)}

    def places(self) -> Mapping[tuple[int, str], int]:
        """Return the number of the card of each case that has one, by run and id."""
        return {(case.run, case.record.id): place for place, case in enumerate(self.cases)}

    def body(self) -> Iterator[str]:
        """Yield the table of outcomes, and the cards."""
        yield self._outcome_table()
        yield '<section id="gallery" aria-labelledby="gallery-title">'
        yield tag("h2", self.title, id="gallery-title")
        yield tag("p", *(_key(*entry) for entry in self.legend.items()), class_="legend")
        if notes := self.notes():
            yield tag("ul", *(tag("li", text) for text in notes), class_="notes")
        runs = [str(number) for number in range(len(self.names))]
        by_run: Filter[ShownT] = Filter.of(
            "Run",
            self.cases,
            lambda case: [str(case.run)],
            order=runs,
            shown=lambda run: self.names[int(run)],
        )
        filters = useful([by_run, *self.filters()], self.cases)
        yield _form(filters, self.search, sorts=any(self._differences))
        for group in self.groups():
            cards = [
                self._card(place, case, filters)
                for place, case in enumerate(self.cases)
                if group.holds(case)
            ]
            if cards:
                count = tag("span", f"{len(cards):,}", class_="group-count quiet")
                yield f'<details class="group"{" open" if group.is_open else ""}>'
                yield tag("summary", group.title, " ", count) + f'<ol class="{self.cards_class}">'
                yield from (card + "\n" for card in cards)
                yield "</ol></details>"
        yield "</section>"
        yield asset("viewer.html")

    def _card(self, place: int, case: ShownT, filters: Sequence[Filter[ShownT]]) -> Markup:
        return self.card(
            case,
            self._run_name(case.run) if len(self.names) > 1 else None,
            class_="find",
            id=f"card-{place}",
            data_values=" ".join(one.code(case) for one in filters),
            data_title=case.record.id,
            data_run=str(case.run),
            **self._differences[place],
        )

    def _run_name(self, run: int) -> Markup:
        """Return the name of a run with the colour that it has in the whole report."""
        if len(self.names) == 1:
            return joined(self.names[run])
        dot = tag("span", class_=f"dot run-{run % _COLOURS}")
        return tag("span", dot, tag("span", self.names[run]), class_="run-name")

    def _outcome_table(self) -> Markup:
        """Return how many cases of each run ended how, without outcomes of no case."""
        rows = [(self._run_name(run), self._counts[run]) for run in self._ranked]
        found = [one for one in self.outcomes if any(counts.get(one) for _, counts in rows)]
        labels = ("Method", *map(self.label, found))
        head = tag("tr", *(tag("th", name, scope="col") for name in labels))
        lines = [
            tag(
                "tr",
                tag("th", name, scope="row"),
                *(_count(counts.get(outcome, 0), sum(counts.values())) for outcome in found),
            )
            for name, counts in rows
        ]
        body = tag("tbody", *lines)
        table = tag("table", tag("thead", head), body, class_=self.outcomes_class)
        titled = "verdicts-title"
        return tag(
            "section",
            tag("h2", self.outcomes_title, id=titled),
            tag("div", table, class_="scroll", tabindex=0, role="group", aria_labelledby=titled),
            aria_labelledby=titled,
        )


def useful(filters: Iterable[Filter[ShownT]], cases: Sequence[ShownT]) -> list[Filter[ShownT]]:
    """Return the filters that tell these cases apart."""

    def tells_apart(one: Filter[ShownT]) -> bool:
        several = len({tuple(one.values(case)) for case in cases}) > 1
        return several and len(one.choices) <= _MOST_CHOICES

    return [one for one in filters if tells_apart(one)][:_MOST_FILTERS]


def _differences(board: Leaderboard, cases: Sequence[ShownCase]) -> list[dict[str, str]]:
    """Return by how much each case is above the mean of the other runs that show it, if any do."""
    if board.primary is None or len(board.rows) < 2:
        return [{}] * len(cases)
    key = board.metrics[board.primary].key
    scores = [number_at(case.record.scores, key) for case in cases]
    by_id: dict[str, list[int]] = {}
    for place, case in enumerate(cases):
        by_id.setdefault(case.record.id, []).append(place)
    found: list[dict[str, str]] = []
    for place, (case, own) in enumerate(zip(cases, scores, strict=True)):
        same = (scores[other] for other in by_id[case.record.id] if other != place)
        others = [score for score in same if score is not None]
        if own is None or not others:
            found.append({})
        else:
            found.append({"data_ahead": f"{own - sum(others) / len(others):.4f}"})
    return found


def _form(filters: Sequence[Filter[ShownT]], placeholder: str, *, sorts: bool) -> Markup:
    """Return search and selects; hidden until a script makes them work."""
    search = tag("input", id="search", type="search", placeholder=placeholder, autocomplete="off")
    labels = [tag("label", "Search", search, class_="grow")]
    for one in filters:
        options = [tag("option", "All", value="")]
        options += [
            tag("option", one.shown(name), value=number) for number, name in enumerate(one.choices)
        ]
        labels.append(tag("label", one.label, tag("select", *options)))
    if sorts:
        orders = {"": "Worst first", "difference": "Behind the other runs first"}
        options = [tag("option", text, value=value) for value, text in orders.items()]
        labels.append(tag("label", "Order", tag("select", *options, id="order")))
    controls = tag("form", *labels, id="filters", class_="controls", hidden="")
    return joined(controls, tag("p", id="count", class_="quiet", role="status"))


def _key(kind: str, text: str) -> Markup:
    if kind == "click":
        shape = tag("path", d="M4 2l10 10M4 12l10 -10", class_="line click")
    else:
        drawn = "look" if kind == "look" else f"line {kind}"
        shape = tag("rect", x=2, y=2, width=14, height=10, class_=drawn)
    return tag("span", tag("svg", shape, viewBox="0 0 18 14", aria_hidden="true"), text)


def _count(count: int, of: int) -> Markup:
    if not count:
        return tag("td", "–", class_="quiet")
    share = tag("span", f"{100 * count / of:.1f} %", class_="range")
    return tag("td", tag("span", f"{count:,}", class_="mean"), share)
