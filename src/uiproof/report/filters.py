"""Filters of a list of cards: what cases can be chosen by, and the form for it.

Cards are plain HTML that reads without scripts; `gallery.js` makes the form work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from uiproof.report.markup import Markup, joined, tag

MOST_CHOICES = 60  # of a filter; a tag with more is a name, not a group
MOST_FILTERS = 14

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Filter(Generic[Item]):
    """One thing that cases can be chosen by; a case may have several of its values, or none."""

    label: str
    choices: tuple[str, ...]
    values: Callable[[Item], Sequence[str]]
    shown: Callable[[str], str] = str

    @classmethod
    def of(
        cls,
        label: str,
        items: Iterable[Item],
        values: Callable[[Item], Sequence[str]],
        *,
        order: Sequence[str] = (),
        shown: Callable[[str], str] = str,
    ) -> Filter[Item]:
        """A filter with the values that these cases have, in this order or by name."""
        found = {value for item in items for value in values(item)}
        places = {value: place for place, value in enumerate(order)}
        ordered = sorted(found, key=lambda value: (places.get(value, len(places)), value))
        return cls(label, tuple(ordered), values, shown)

    def code(self, item: Item) -> str:
        """The values of a case by their numbers, as its card names them."""
        return ",".join(str(self.choices.index(value)) for value in self.values(item)) or "-"


def useful(filters: Iterable[Filter[Item]], items: Sequence[Item]) -> list[Filter[Item]]:
    """The filters that can tell these cases apart."""

    def tells_apart(choice: Filter[Item]) -> bool:
        several = len({tuple(choice.values(item)) for item in items}) > 1
        return several and len(choice.choices) <= MOST_CHOICES

    return [choice for choice in filters if tells_apart(choice)][:MOST_FILTERS]


def form(filters: Sequence[Filter[Item]], placeholder: str) -> Markup:
    """Search and selects; hidden until a script can make them work."""
    search = tag("input", id="search", type="search", placeholder=placeholder, autocomplete="off")
    labels = [tag("label", "Search", search, class_="grow")]
    for choice in filters:
        options = [tag("option", "All", value="")]
        options += [
            tag("option", choice.shown(name), value=number)
            for number, name in enumerate(choice.choices)
        ]
        labels.append(tag("label", choice.label, tag("select", *options)))
    controls = tag("form", *labels, id="filters", class_="controls", hidden="")
    return joined(controls, tag("p", id="count", class_="quiet", role="status"))
