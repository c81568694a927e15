"""What one person has in front of them: an item of a task, blind to where it comes from.

Addresses are sealed, sides of a comparison are shuffled by item and person, and nothing names a
model, a prompt, a run or a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uiproof.errors import InputError
from uiproof.studio.annotating.exhibits import Box, Exhibit, Picture, exhibit
from uiproof.studio.annotating.frames import Part, Seen, seal, unseal
from uiproof.studio.app import Here
from uiproof.studio.labelling import Progress, former_label, outlook
from uiproof.studio.labels import Annotator, Choice, Item, Judgement, Task, Value
from uiproof.studio.store import Store

# One line for each failure, as buttons show it below its name.
EXPLAINED: Mapping[str, str] = {
    "a": "there is nothing to use",
    "b": "it is there and does nothing",
    "c": "another element does it",
    "d": "say, a link instead of a button",
    "e": "it is there, in another place",
    "f": "the effect shows up elsewhere",
    "g": "something else happens",
    "h": "something else is changed by it",
    "i": "only some of the effect is there",
    "j": "it looks alike and does not do it",
}
SIDES = ("left", "equal", "right")


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture under its sealed address."""

    label: str
    address: str
    width: float
    height: float
    trigger: Box | None
    changed: Box | None


@dataclass(frozen=True, slots=True)
class Pane:
    """A generated page under its sealed address, and pictures of it."""

    title: str
    address: str | None
    width: int
    missing: str
    shots: tuple[Shot, ...]


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything that is shown for one item."""

    task: Task
    key: str  # names the item when it is answered
    draft: str  # names the item to the browser, also after the studio was started again
    case: str
    words: str
    reference: tuple[Shot, ...]
    panes: tuple[Pane, ...]
    progress: Progress
    former: Mapping[str, Any]  # what was said before, as the page's script knows it
    note: str
    ahead: tuple[str, ...]  # pictures that come next


def lay_out(here: Here, task: Task, person: Annotator, item: Item) -> Desk:
    """The desk of a person with an item on it."""
    shown = _Sealed(here, person, item)
    own = shown.exhibit(item.run)
    left = result_is_left(here.store, person, item)
    if task.kind == "judge":
        panes = [shown.pane("Generated", of_baseline=False)]
    else:
        panes = [shown.pane("Left", of_baseline=not left), shown.pane("Right", of_baseline=left)]
    done, coming = outlook(here.store, task.id, person.id)
    former = former_label(here.store, item.id, person.id)
    return Desk(
        task,
        shown.key("item", of_baseline=not left),
        here.store.chance(f"draft {person.id} {item.id}").hex()[:24],
        item.case,
        own.words,
        shown.shots("reference", own.reference),
        tuple(panes),
        done,
        {} if former is None else _as_said(former.value, result_left=left),
        "" if former is None else former.note,
        _ahead(here, person, coming),
    )


def result_is_left(store: Store, person: Annotator, item: Item) -> bool:
    """Tell on which side of a comparison the result is: by chance, and always the same one.

    Labels say whether the result won, not which side did, so they keep their meaning whatever
    decides about sides.
    """
    return store.chance(f"side {person.id} {item.id}")[0] < 128


def answered(here: Here, person: Annotator, task: Task, key: object) -> tuple[Item, bool]:
    """The item that an answer is about, and whether the result was on the left.

    Raises `InputError` unless it was shown to this person.
    """
    seen = unseal(here.studio.gate, key) if isinstance(key, str) else None
    if seen is None or seen.part != "item" or seen.annotator != person.id:
        raise InputError(
            "This page is of an earlier start of the studio, or of somebody else.",
            remedy="Load it again; what you typed is still there.",
        )
    item, its_task = here.store.item(seen.item)
    if its_task.id != task.id:
        raise InputError("This item belongs to another task.")
    return item, not seen.of_baseline


def value_of(task: Task, answer: Mapping[str, Any], *, result_left: bool) -> Value:
    """A label from what the page's script sent."""
    if task.kind == "judge":
        also = answer.get("also", [])
        if not isinstance(also, list) or not all(isinstance(one, str) for one in also):
            raise InputError("Other failures must be a list of letters.")
        return Judgement(answer.get("usable"), str(answer.get("failure")), tuple(also))  # type: ignore[arg-type]
    side = answer.get("side")
    if side not in SIDES:
        raise InputError("Say which side is better.")
    if side == "equal":
        return Choice("tie")
    return Choice("win" if (side == "left") == result_left else "lose")


def _as_said(value: Value, *, result_left: bool) -> Mapping[str, Any]:
    """The reverse of `value_of`."""
    if isinstance(value, Judgement):
        return value.as_json()
    if value.outcome == "tie":
        return {"side": "equal"}
    won = value.outcome == "win"
    return {"side": "left" if won == result_left else "right"}


def _ahead(here: Here, person: Annotator, item: Item | None) -> tuple[str, ...]:
    if item is None:
        return ()
    shown = _Sealed(here, person, item)
    pictures = shown.shots("reference", shown.exhibit(item.run).reference)
    return tuple(shot.address for shot in pictures)


class _Sealed:
    """Makes the addresses of one item for one person."""

    def __init__(self, here: Here, person: Annotator, item: Item) -> None:
        self._here, self._person, self._item = here, person, item
        _, task = here.store.item(item.id)
        self._others = here.store.runs_of_case(task.id, item.case)

    def exhibit(self, run: str | None) -> Exhibit:
        return exhibit(self._here.studio.runs, run, self._item.case, self._others)

    def key(self, part: Part, *, of_baseline: bool = False, number: int = 0) -> str:
        seen = Seen(part, self._item.id, self._person.id, of_baseline, number)
        return seal(self._here.studio.gate, seen)

    def shots(
        self, part: Part, pictures: tuple[Picture, ...], *, of_baseline: bool = False
    ) -> tuple[Shot, ...]:
        return tuple(
            Shot(
                picture.label,
                f"/picture/{self.key(part, of_baseline=of_baseline, number=number)}",
                picture.width,
                picture.height,
                picture.trigger,
                picture.changed,
            )
            for number, picture in enumerate(pictures)
        )

    def pane(self, title: str, *, of_baseline: bool) -> Pane:
        found = self.exhibit(self._item.baseline if of_baseline else self._item.run)
        address = f"/frame/{self.key('page', of_baseline=of_baseline)}/" if found.page else None
        shots = self.shots("generated", found.generated, of_baseline=of_baseline)
        return Pane(title, address, found.width, found.missing, shots)
