"""Labels that people give to results: the types that the studio and benchmarks share.

A *task* is a set of *items* to look at. Its kind decides what is said about an item: a `Judgement`
(can it be used, and what fails) or a `Choice` (better or worse than the baseline).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from uiproof.errors import InputError

Kind = Literal["judge", "compare"]
KINDS: dict[Kind, str] = {
    "judge": "Usable or not, and what fails",
    "compare": "Better or worse than a baseline",
}
Outcome = Literal["win", "tie", "lose"]
OUTCOMES: tuple[Outcome, ...] = ("win", "tie", "lose")
NONE = "none"  # in place of a failure
LETTERS = "abcdefghij"  # each names a failure; a benchmark says which one

Facet = Literal["usable", "failure", "outcome"]
FACETS: dict[Kind, tuple[Facet, ...]] = {"judge": ("usable", "failure"), "compare": ("outcome",)}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A label: usable or not, the main failure, and other failures."""

    usable: bool
    failure: str = NONE  # `none`, or one of `LETTERS`
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.usable, bool) or self.failure not in (NONE, *LETTERS):
            raise InputError(f"{self.failure!r} is not a failure.", remedy="Use none or a to j.")
        if self.also and self.failure == NONE:
            raise InputError("Other failures need a main one.", remedy="Choose the main failure.")
        if set(self.also) - set(LETTERS) or self.failure in self.also:
            raise InputError("The other failures must be letters a to j, without the main one.")
        object.__setattr__(self, "also", tuple(sorted(set(self.also))))

    def as_json(self) -> dict[str, Any]:
        """Return the label as the store and exported files hold it."""
        return {"usable": self.usable, "failure": self.failure, "also": list(self.also)}


@dataclass(frozen=True, slots=True)
class Choice:
    """A label: better, equal or worse than the baseline, independent of the side shown."""

    outcome: Outcome

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise InputError(f"{self.outcome!r} is not an outcome.", remedy="Use win, tie or lose.")

    def as_json(self) -> dict[str, Any]:
        """Return the label as the store and exported files hold it."""
        return {"outcome": self.outcome}


LabelValue = Judgement | Choice


def value_from_json(kind: Kind, content: Mapping[str, Any]) -> LabelValue:
    """Return the label that `as_json` wrote; raise `InputError` for anything else."""
    if not isinstance(content, Mapping):
        raise InputError("A label must be an object.")
    try:
        if kind == "compare":
            return Choice(content["outcome"])
        return Judgement(
            content["usable"], content.get("failure", NONE), tuple(content.get("also") or ())
        )
    except (KeyError, TypeError) as error:
        raise InputError(f"Not a label for a {kind} task: {dict(content)!r}.") from error


def facet_of(value: LabelValue, facet: Facet) -> Hashable:
    """Return one aspect of a label."""
    if isinstance(value, Judgement):
        return value.usable if facet == "usable" else value.failure
    return value.outcome


@dataclass(frozen=True, slots=True)
class Item:
    """One result of one model to look at; in a comparison beside the baseline's.

    `run` and `baseline` name run directories below the studio's folder of runs. Both are None for
    labels that were imported without their runs.
    """

    case: str  # the id in the run: `page/interaction` or a page
    model: str
    prompt: str = ""
    run: str | None = None
    baseline: str | None = None
    id: int = 0  # given by the store

    @property
    def page(self) -> str:
        """Return the page of the case; cases of one page are not independent."""
        return self.case.rpartition("/")[0] or self.case

    @property
    def interaction(self) -> str:
        """Return the number of the interaction on its page; empty for whole pages."""
        return self.case.rpartition("/")[2] if "/" in self.case else ""


@dataclass(frozen=True, slots=True)
class Task:
    """A set of items, and how many people look at each."""

    id: int
    kind: Kind
    title: str
    per_item: int
    created: str
    items: int  # how many
    benchmark: str | None = None  # None: not known, as in files of earlier versions


@dataclass(frozen=True, slots=True)
class Annotator:
    """A person who labels; the token opens the studio under this name."""

    id: int
    name: str
    token: str


@dataclass(frozen=True, slots=True)
class Label:
    """The current label of one annotator for one item."""

    item: int
    annotator: int
    value: LabelValue
    note: str
    at: str
    seconds: float | None = None  # from seeing the item to saving


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """A label with the page and the interaction that it is about."""

    page: str
    interaction: str  # `0` for whole pages
    value: LabelValue


@dataclass(frozen=True, slots=True)
class LabelGroup:
    """All labels of one kind for one model with one prompt, as published files hold them."""

    kind: Kind
    model: str
    prompt: str
    labels: tuple[PlacedLabel, ...]
    problems: tuple[str, ...] = ()  # what could not be read
