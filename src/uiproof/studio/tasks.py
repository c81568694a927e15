"""Annotation tasks made from runs, and one item as an annotator sees it.

    store.add_task("judge", "Round 1", sample(single_items(runs), 90, seed=1), per_item=3)

Every case of a run becomes an item, including failed ones: annotators see that there is no page, so
nothing is missing from a rate. An item view is blind: its addresses are sealed, the sides of a
comparison are shuffled by item and person, and nothing names a model, a prompt, a run or a file.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from uiproof.errors import InputError
from uiproof.files import access
from uiproof.labels import (
    NONE,
    Annotator,
    Choice,
    Item,
    Judgement,
    Kind,
    LabelValue,
    Question,
    Task,
    questions_from_json,
    value_from_json,
)
from uiproof.stats.ranking import paired_design
from uiproof.studio.app import RequestContext
from uiproof.studio.cases import (
    CaseFiles,
    Picture,
    all_annotations,
    annotation_of,
    case_files,
    urgent_items,
)
from uiproof.studio.frames import FrameKey, Part, seal, unseal
from uiproof.studio.runs import FoundRun, open_run
from uiproof.studio.store import Progress, Store, former_label, outlook

_SIDES = ("left", "equal", "right")


def single_items(runs: Sequence[FoundRun], kind: Kind = "judge") -> list[Item]:
    """Return every case of these runs, to be judged or rated by itself; ordered by case."""
    _check_runs(runs, kind)
    return [
        Item(case, run.model, run.prompt, run.name)
        for case, with_it in _by_case(runs).items()
        for run in with_it
    ]


def compare_items(runs: Sequence[FoundRun], baseline: FoundRun) -> list[Item]:
    """Return every case that a run and the baseline both have; ordered by case."""
    others = [run for run in runs if run.name != baseline.name]
    if not others:
        raise InputError(
            "There is nothing to compare the baseline with.",
            remedy="Choose at least one other run.",
        )
    _check_runs(others, "compare")
    if {run.benchmark for run in others} != {baseline.benchmark}:
        raise InputError(f"The baseline is a run of {baseline.benchmark}; other runs are not.")
    known = {record.id for record in baseline.directory.records()}
    items = [
        Item(case, run.model, run.prompt, run.name, baseline.name)
        for case, with_it in _by_case(others).items()
        for run in with_it
        if case in known
    ]
    if not items:
        raise InputError("These runs have no case in common with the baseline.")
    return items


def pair_items(
    runs: Sequence[FoundRun], *, dense: bool = True, size: int | None = None, seed: int = 0
) -> list[Item]:
    """Return pairs of these runs for every case that two of them have; ordered by case.

    With `dense` these are all pairs. Otherwise those of a ring, which connects all runs of a case,
    balanced over cases. At most `size` items, from as many random cases as that takes.
    """
    _check_runs(runs, "compare")
    if len(runs) < 2:
        raise InputError("A comparison needs at least two runs.", remedy="Choose another run.")
    cases = {case: some for case, some in _by_case(runs).items() if len(some) > 1}
    if not cases:
        raise InputError("These runs have no case in common.")
    drawn = sorted(cases)
    random.Random(seed).shuffle(drawn)  # the design is balanced over those that a sample keeps
    known = {run.name: run for run in runs}
    design = paired_design(
        [[run.name for run in cases[case]] for case in drawn], dense=dense, seed=seed
    )
    items = [
        Item(case, known[one].model, known[one].prompt, one, other, known[other].method)
        for case, pairs in zip(drawn, design, strict=True)
        for one, other in pairs
    ]
    place = {case: number for number, case in enumerate(cases)}
    return sorted(items[:size], key=lambda item: place[item.case])


def make_items(
    folder: Path,
    kind: Kind,
    names: Sequence[str],
    *,
    baseline: str = "",
    pairs: str = "",
    size: int | None = None,
    seed: int = 0,
) -> tuple[list[Item], str]:
    """Return the items of a new task about runs below a folder, and their benchmark.

    A comparison is with a `baseline`, or its `pairs` are "all" or "sparse".
    """
    runs = [open_run(folder, name) for name in dict.fromkeys(names)]
    if kind == "compare" and pairs:
        items = pair_items(runs, dense=pairs == "all", size=size, seed=seed)
    elif kind == "compare":
        if not baseline:
            raise InputError("Choose the baseline.", remedy="Or compare all pairs of runs.")
        items = compare_items(runs, open_run(folder, baseline))
    else:
        items = single_items(runs, kind)
    if size is not None:
        items = sample(items, size, seed=seed)
    return items, runs[0].benchmark


def read_questions(path: Path) -> tuple[Question, ...]:
    """Return the questions in a JSON file."""
    try:
        with access(path, "read"):
            content = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}.") from error
    return questions_from_json(content)


def sample(items: Sequence[Item], size: int, *, seed: int = 0) -> list[Item]:
    """Return at most `size` random items, the same ones for the same seed.

    Cases are drawn, and with a case come the items of all runs that have it, so that runs are
    compared on the same cases; only the last case may be incomplete.
    """
    if size < 1:
        raise InputError("A sample has at least one item.")
    cases = sorted({item.case for item in items})
    random.Random(seed).shuffle(cases)
    rank = {case: number for number, case in enumerate(cases)}
    chosen = sorted(range(len(items)), key=lambda number: rank[items[number].case])[:size]
    return [items[number] for number in sorted(chosen)]


def _by_case(runs: Sequence[FoundRun]) -> dict[str, list[FoundRun]]:
    found: dict[str, list[FoundRun]] = {}
    for run in runs:
        for record in run.directory.records():
            found.setdefault(record.id, []).append(run)
    return found


def _check_runs(runs: Sequence[FoundRun], kind: Kind) -> None:
    if not runs:
        raise InputError("Choose at least one run.")
    known = all_annotations().items()
    allowed = [name for name, one in known if kind == "rate" or kind in one.kinds]
    named: dict[tuple[str, str], str] = {}
    for run in runs:
        if run.benchmark not in allowed:
            raise InputError(
                f"{run.name} is a run of {run.benchmark}, which has no {kind} tasks.",
                remedy=f"Choose runs of {' or '.join(allowed)}.",
            )
        other = named.setdefault((run.model, run.prompt), run.name)
        if other != run.name:
            raise InputError(
                f"{other} and {run.name} are runs of the same model and prompt.",
                remedy="Choose one of them: labels are kept by model and prompt.",
            )
    if len({run.benchmark for run in runs}) > 1:
        raise InputError("These runs are of different benchmarks.", remedy="Choose runs of one.")


class Pane(NamedTuple):
    """A generated page under its sealed address, and pictures of it."""

    title: str
    address: str | None
    width: int
    missing: str
    shots: tuple[Picture, ...]


class ItemView(NamedTuple):
    """Everything that is shown of one item."""

    key: str  # names the item when it is answered
    draft: str  # names the item to the browser, across restarts of the studio
    case: str
    sentence: str
    reference: tuple[Picture, ...]
    panes: tuple[Pane, ...]
    progress: Progress
    former: Mapping[str, Any]  # the label before, as the page's script knows it
    note: str
    ahead: tuple[str, ...]  # pictures of the next item


def item_view(context: RequestContext, task: Task, person: Annotator, item: Item) -> ItemView:
    """Return an item as this person sees it."""
    sealed = _SealedItem(context, task, person, item)
    left = result_is_left(context.store, person, item)
    panes = [sealed.pane("Generated", of_baseline=False)]
    if task.kind == "compare":
        panes = [sealed.pane("Left", of_baseline=not left), sealed.pane("Right", of_baseline=left)]
    first = first_items(context, task)
    progress, following = outlook(context.store, task.id, person.id, first=first)
    ahead = _SealedItem(context, task, person, following).reference() if following else ()
    former = former_label(context.store, item.id, person.id)
    return ItemView(
        sealed.key("item", of_baseline=not left),
        context.store.chance(f"draft {person.id} {item.id}").hex()[:24],
        item.case,
        sealed.files(item.run).sentence,
        sealed.reference(),
        tuple(panes),
        progress,
        {} if former is None else _as_answered(former.value, result_left=left),
        "" if former is None else former.note,
        tuple(shot.address for shot in ahead),
    )


def first_items(context: RequestContext, task: Task) -> set[int]:
    """Return the items that are offered first: those whose judge is not sure, where one judges."""
    if task.kind != "judge":
        return set()
    return urgent_items(context.studio.runs, context.store.items(task.id))


def result_is_left(store: Store, person: Annotator, item: Item) -> bool:
    """Return on which side of a comparison the result is: random, and always the same.

    Labels say whether the result won, not which side did, so their meaning never depends on this.
    """
    return store.chance(f"side {person.id} {item.id}")[0] < 128


def answered_item(
    context: RequestContext, person: Annotator, task: Task, key: object
) -> tuple[Item, bool]:
    """Return the item that an answer is about, and whether the result was on the left.

    Raises `InputError` unless it was shown to this person.
    """
    seen = unseal(context.studio.access, key) if isinstance(key, str) else None
    if seen is None or seen.part != "item" or seen.annotator != person.id:
        raise InputError(
            "This page is from an earlier start of the studio, or for another person.",
            remedy="Reload it; what you typed is kept.",
        )
    return item_of_task(context.store, seen.item, task.id)[0], not seen.of_baseline


def item_of_task(store: Store, item: int, task: int) -> tuple[Item, Task]:
    """Return an item and its task; raise `InputError` if it belongs to another task."""
    found = store.item(item)
    if found[1].id != task:
        raise InputError("This item belongs to another task.")
    return found


def answered_value(task: Task, answer: Mapping[str, Any], *, result_left: bool) -> LabelValue:
    """Return the label that the page's script sent."""
    content = dict(answer)
    if task.kind == "compare":
        side = answer.get("side")
        if side not in _SIDES:
            raise InputError("Choose the better side.")
        won = "win" if (side == "left") == result_left else "lose"
        content["outcome"] = "tie" if side == "equal" else won
    elif task.kind == "judge":
        also = answer.get("also", [])
        if not isinstance(also, list) or not all(isinstance(one, str) for one in also):
            raise InputError("Other failures must be a list of letters.")
        content |= {"usable": answer.get("usable"), "failure": str(answer.get("failure"))}
    said = answer.get("answers") or {}
    for question in task.questions:  # every one but free text must be answered
        question.checked(said.get(question.key) if isinstance(said, Mapping) else None)
    value = value_from_json(task.kind, content, task.questions)
    check_failures(task, value)
    return value


def check_failures(task: Task, value: LabelValue) -> None:
    """Raise `InputError` for a failure that the task's benchmark does not have."""
    if isinstance(value, Judgement):
        known = (*annotation_of(task.benchmark).failures, NONE)
        for letter in (value.failure, *value.also):
            if letter not in known:
                raise InputError(f"{letter!r} is not a failure of {task.benchmark}.")


def _as_answered(value: LabelValue, *, result_left: bool) -> Mapping[str, Any]:
    """Return the answer that makes a label: the reverse of `answered_value`."""
    if not isinstance(value, Choice):
        return value.as_json()
    won = value.outcome == "win"
    side = "equal" if value.outcome == "tie" else "left" if won == result_left else "right"
    return {"side": side, **{k: v for k, v in value.as_json().items() if k != "outcome"}}


class _SealedItem:
    """The addresses of one item for one person."""

    def __init__(self, context: RequestContext, task: Task, person: Annotator, item: Item) -> None:
        self._studio, self._person, self._item = context.studio, person, item
        self._others = context.store.runs_of_case(task.id, item.case)

    def files(self, run: str | None) -> CaseFiles:
        return case_files(self._studio.runs, run, self._item.case, self._others)

    def key(self, part: Part, *, of_baseline: bool = False, number: int = 0) -> str:
        key = FrameKey(part, self._item.id, self._person.id, of_baseline, number)
        return seal(self._studio.access, key)

    def reference(self) -> tuple[Picture, ...]:
        return self._shots("reference", self.files(self._item.run).reference)

    def pane(self, title: str, *, of_baseline: bool) -> Pane:
        found = self.files(self._item.baseline if of_baseline else self._item.run)
        address = f"/frame/{self.key('page', of_baseline=of_baseline)}/" if found.page else None
        shots = self._shots("generated", found.generated, of_baseline=of_baseline)
        return Pane(title, address, found.width, found.missing, shots)

    def _shots(
        self, part: Part, pictures: tuple[Picture, ...], *, of_baseline: bool = False
    ) -> tuple[Picture, ...]:
        return tuple(
            replace(one, address=f"/picture/{self.key(part, of_baseline=of_baseline, number=n)}")
            for n, one in enumerate(pictures)
        )
