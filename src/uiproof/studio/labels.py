"""What people say about results: the types that tasks, queues, files and tables share.

A *task* is a set of *items* to look at. Its kind decides what is said about an item: a `Judgement`
(can the interaction be used, and what is wrong with it) or a `Choice` (better or worse than the
baseline). Labels are plain JSON in the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from uiproof.benchmarks.interaction2code.analyses.labels import OUTCOMES, Outcome
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.errors import InputError

Kind = Literal["judge", "compare"]
KINDS: dict[Kind, str] = {
    "judge": "Usable or not, and what fails",
    "compare": "Better or worse than a baseline",
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether an interaction can be used, what is mainly wrong with it, and what else is."""

    usable: bool
    failure: str = NONE  # `none`, or a letter of `FAILURES`
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = {NONE, *FAILURES}
        if not isinstance(self.usable, bool) or self.failure not in known:
            raise InputError(f"{self.failure!r} is not a failure.", remedy="Use none or a to j.")
        if self.also and self.failure == NONE:
            raise InputError("Other failures need a main one.", remedy="Choose the main failure.")
        if set(self.also) - set(FAILURES) or self.failure in self.also:
            raise InputError("The other failures must be letters a to j, not the main one again.")
        object.__setattr__(self, "also", tuple(sorted(set(self.also))))

    def as_json(self) -> dict[str, Any]:
        """As the store and exported files have it."""
        return {"usable": self.usable, "failure": self.failure, "also": list(self.also)}


@dataclass(frozen=True, slots=True)
class Choice:
    """How a result compares with the baseline's: from the side of the result, whichever side of
    the screen it was on."""

    outcome: Outcome

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise InputError(f"{self.outcome!r} is not an outcome.", remedy="Use win, tie or lose.")

    def as_json(self) -> dict[str, Any]:
        """As the store and exported files have it."""
        return {"outcome": self.outcome}


Value = Judgement | Choice


def value_from_json(kind: Kind, content: Mapping[str, Any]) -> Value:
    """What `as_json` wrote; raises `InputError` for anything else."""
    if not isinstance(content, Mapping):
        raise InputError("A label must be an object.")
    try:
        if kind == "compare":
            return Choice(content["outcome"])
        return Judgement(
            content["usable"], content.get("failure", NONE), tuple(content.get("also") or ())
        )
    except (KeyError, TypeError) as error:
        raise InputError(f"This is no label for a {kind} task: {dict(content)!r}.") from error


@dataclass(frozen=True, slots=True)
class Item:
    """One result of one model, to be looked at; in a comparison beside the baseline's.

    `run` and `baseline` name run directories below the studio's folder of runs. Both are None where
    labels were imported without what they are about.
    """

    case: str  # the id in the run: `page/interaction` or a page
    model: str
    prompt: str = ""
    run: str | None = None
    baseline: str | None = None
    id: int = 0  # given by the store

    @property
    def page(self) -> str:
        """The page that the case belongs to; cases of one page are alike."""
        return self.case.rpartition("/")[0] or self.case

    @property
    def interaction(self) -> str:
        """The number of the interaction on its page, or nothing for whole pages."""
        return self.case.rpartition("/")[2] if "/" in self.case else ""


@dataclass(frozen=True, slots=True)
class Task:
    """A set of items, and how many people shall look at each."""

    id: int
    kind: Kind
    title: str
    per_item: int
    created: str
    items: int  # how many


@dataclass(frozen=True, slots=True)
class Annotator:
    """Somebody who labels; the token opens the studio under this name."""

    id: int
    name: str
    token: str


@dataclass(frozen=True, slots=True)
class Label:
    """What one annotator says about one item now; earlier and undone ones stay in the store."""

    item: int
    annotator: int
    value: Value
    note: str
    at: str
    seconds: float | None = None  # from seeing the item to saving
