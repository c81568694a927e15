"""Runs as tables and charts need them: how each interaction ended, by model and prompt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from uiproof.benchmark import look_up
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.benchmarks.interaction2code.prompting import PROMPTS, Prompt
from uiproof.benchmarks.interaction2code.summary import (
    FULL,
    PART,
    PROFILES,
    Profile,
    page_of,
)
from uiproof.errors import InputError, UsageError
from uiproof.labels import Outcome as Preference
from uiproof.tables import MISSING

if TYPE_CHECKING:
    from uiproof.benchmark import Record
    from uiproof.engine.rundir import RunDirectory
    from uiproof.stats.intervals import Interval

# An interaction that is not implemented scores 0 in its part (`all`), or is left out
# (`implemented`).
Counted = Literal["all", "implemented"]
NO_TOPIC = "(no topic)"
_FARTHEST = 1_000_000  # pixels: no edge of a page is beyond
KEYS = (*(f"full.{name}" for name in FULL), *(f"part.{name}" for name in PART))
EDGES = (0.025, 0.05, 0.1, 0.2)  # the paper's
GROUPS = ("[0, 0.025)", "[0.025, 0.05)", "[0.05, 0.1)", "[0.1, 0.2)", "[0.2, 1]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one interaction of a data set in one run."""

    id: str
    page: str
    topic: str
    failed: bool  # there was no page, or it could not be judged
    implemented: bool
    usable: bool
    failure: str  # `none`, or a letter of `FAILURES`
    tags: tuple[str, ...]
    visuals: tuple[str, ...]
    saliency: Mapping[str, float | None]  # by profile
    scores: Mapping[str, float | None]  # `paper.part.ssim` and its like
    # By how much the pictures were magnified; None: not recorded.
    magnified: float | None = 1.0
    # What a report shows, such as `reference_after`, and by side where it was acted and what
    # changed, in CSS pixels: left, top, right, bottom.
    pictures: Mapping[str, Path] = field(default_factory=dict)
    boxes: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Results:
    """One run."""

    model: str  # or the name of a method that asks none
    prompt: Prompt | None
    outcomes: tuple[Outcome, ...]
    dataset: str = ""  # runs on the same content have the same
    assisted: bool = False
    complete: bool = True

    @property
    def prompt_name(self) -> str:
        """Return the prompt as tables show it."""
        return self.prompt.name if self.prompt else MISSING

    @property
    def label(self) -> str:
        """Return model and prompt, as charts name the run."""
        return f"{self.model} {self.prompt.name}" if self.prompt else self.model

    @property
    def shown(self) -> tuple[str, float]:
        """Return the inputs of the model and their magnification."""
        return (self.prompt.inputs, self.prompt.magnification) if self.prompt else ("V", 1.0)


def results_of(runs: Sequence[RunDirectory]) -> list[Results]:
    """Read runs, ordered by model and prompt; `UsageError` where one is of another benchmark."""
    found = [_results(run) for run in runs]
    labels = [one.label for one in found]
    found = [
        replace(one, model=f"{one.model} ({run.path.resolve().name})")
        if labels.count(one.label) > 1
        else one
        for one, run in zip(found, runs, strict=True)
    ]
    return sorted(_saliency_shared(found), key=_order)


def comparable(found: Sequence[Results]) -> list[Results]:
    """Return the runs that most tables are about: those that saw the same kind of input.

    That is unmagnified pictures. Runs with words or magnified pictures have separate tables,
    unless all runs saw the same.
    """
    kinds = {one.shown for one in found}
    return [one for one in found if len(kinds) == 1 or one.shown == ("V", 1.0)]


def mean(
    outcomes: Sequence[Outcome], profile: Profile, key: str, counted: Counted = "all"
) -> Interval | None:
    """Return the mean of a score with an interval over pages; None where it is not measured.

    A case that failed counts 0. What was measured for some cases only has no mean: these would
    not be the same cases in every run.
    """
    from uiproof.stats.intervals import clustered_mean

    chosen = [one for one in outcomes if counted == "all" or one.implemented]
    values = [one.scores.get(f"{profile}.{key}") for one in chosen]
    known = [
        0.0 if value is None and one.failed else value
        for one, value in zip(chosen, values, strict=True)
    ]
    numbers = [value for value in known if value is not None]
    if len(numbers) < len(known) or all(value is None for value in values):
        return None
    return clustered_mean(numbers, [one.page for one in chosen], within=(-1.0, 1.0))


def rate(outcomes: Sequence[Outcome], hit: Callable[[Outcome], bool]) -> Interval | None:
    """Return the share of hits, with an interval over pages."""
    from uiproof.stats.intervals import clustered_rate

    return clustered_rate([hit(one) for one in outcomes], [one.page for one in outcomes])


def by_model(found: Iterable[Results]) -> dict[str, list[Outcome]]:
    """Return the outcomes of each model, all its prompts together."""
    return _grouped((one.model, outcome) for one in found for outcome in one.outcomes)


def by_category(
    outcomes: Iterable[Outcome], kind: Literal["tags", "visuals"]
) -> dict[str, list[Outcome]]:
    """Return the outcomes of each category; one with several is in each of them."""
    return _grouped((name, one) for one in outcomes for name in dict.fromkeys(getattr(one, kind)))


def by_topic(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Return the outcomes of each topic, those of pages without one last."""
    groups = _grouped((topic_name(one.topic), one) for one in outcomes)
    return dict(sorted(groups.items(), key=lambda item: (item[0] == NO_TOPIC, item[0])))


def _grouped(pairs: Iterable[tuple[str, Outcome]]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for name, outcome in pairs:
        groups.setdefault(name, []).append(outcome)
    return groups


def topic_name(topic: str) -> str:
    """Return a topic as tables name it."""
    return " ".join(topic.split()).lower() or NO_TOPIC


def versus(
    found: Sequence[Results],
) -> tuple[Results | None, list[tuple[Results, list[Preference]]]]:
    """Return a baseline, and for every other run who is better at each interaction both have.

    The baseline is the first run with the direct prompt, else the first one; better is who made an
    interaction usable that the other did not.
    """
    blind = [one for one in found if not one.assisted]
    direct = [one for one in blind if one.prompt and one.prompt.name == "direct"]
    if not blind:
        return None, []
    baseline = (direct or blind)[0]
    usable = {outcome.id: outcome.usable for outcome in baseline.outcomes}
    votes = []
    for one in found:
        outcomes: list[Preference] = [
            "tie" if outcome.usable == usable[outcome.id] else "win" if outcome.usable else "lose"
            for outcome in one.outcomes
            if outcome.id in usable
        ]
        if one is not baseline and one.dataset == baseline.dataset and outcomes:
            votes.append((one, outcomes))
    return baseline, votes


def _results(run: RunDirectory) -> Results:
    manifest = run.manifest
    if manifest.get("benchmark") != "interaction2code":
        raise UsageError(
            f"{run.path} is a run of {manifest.get('benchmark')}, not of interaction2code.",
            remedy="Name runs of one benchmark only.",
        )
    method, asked = str(manifest["method"]), (manifest.get("settings") or {}).get("prompt")
    prompt = None
    if isinstance(asked, str):
        with suppress(UsageError):  # a method from outside, with other prompts
            prompt = Prompt.named(asked)
    magnified = prompt is not None and prompt.magnification > 1
    return Results(
        model=method.removesuffix(f" {asked}") if prompt else method,
        prompt=prompt,
        outcomes=tuple(_outcome(record, run, magnified=magnified) for record in run.records()),
        dataset=str(manifest.get("dataset_key") or manifest.get("dataset") or ""),
        assisted=bool(manifest.get("assisted", False)),
        complete=bool(run.summary.get("complete", True)),
    )


def _saliency_shared(found: Sequence[Results]) -> list[Results]:
    """Return the runs with the saliency that a failed case lacks taken from another run.

    It belongs to the interaction. Without it failed cases would be in no group, and a run would
    look better for each of them.
    """
    known = {
        (one.dataset, outcome.id): outcome.saliency
        for one in found
        for outcome in one.outcomes
        if any(value is not None for value in outcome.saliency.values())
    }

    def shared(one: Results, outcome: Outcome) -> Outcome:
        return replace(outcome, saliency=known.get((one.dataset, outcome.id), outcome.saliency))

    return [
        replace(one, outcomes=tuple(shared(one, outcome) for outcome in one.outcomes))
        for one in found
    ]


def _outcome(record: Record, run: RunDirectory, *, magnified: bool) -> Outcome:
    details = record.details
    failure = str((details.get("verdict") or {}).get("failure") or "a")  # no page: nothing to use
    reached = (call["magnified"] for call in record.calls if "magnified" in call)
    pictures = {}
    for name, file in record.artifacts.items():
        with suppress(InputError):  # only files that lie in the run are shown
            pictures[name] = run.artifact(file)
    return Outcome(
        id=record.id,
        page=str(details.get("page") or page_of(record.id)),
        topic=str(details.get("topic") or ""),
        failed=record.status == "failed",
        implemented=bool(record.scores.get("implemented")),
        usable=bool(record.scores.get("usable")),
        failure=failure if failure in FAILURES or failure == NONE else "a",
        tags=tuple(map(str, details.get("tags") or ())),
        visuals=tuple(map(str, details.get("visuals") or ())),
        saliency={name: (details.get("saliency") or {}).get(name) for name in PROFILES},
        scores={
            f"{profile}.{key}": look_up(record.scores, f"{profile}.{key}")
            for profile in PROFILES
            for key in KEYS
        },
        magnified=next(reached, None) if magnified else 1.0,
        pictures=pictures,
        boxes={side: _boxes(details.get(side)) for side in ("reference", "generated")},
    )


def _boxes(side: Any) -> dict[str, tuple[int, ...]]:
    """Return where a page was acted on and where it changed, as far as a record says."""
    known = side if isinstance(side, Mapping) else {}
    boxes = {name: known.get(name) for name in ("trigger", "region")}
    return {
        name: tuple(map(int, box))
        for name, box in boxes.items()
        if isinstance(box, list | tuple)
        and len(box) == 4
        and all(isinstance(edge, int | float) and abs(edge) < _FARTHEST for edge in box)
    }


def _order(one: Results) -> tuple[str, int, str]:
    place = list(PROMPTS).index(one.prompt.recipe) if one.prompt else len(PROMPTS)
    return one.model, place, one.prompt.name if one.prompt else ""


def group_of(saliency: float) -> str:
    """Return the group of a saliency: area of what changed / area of the screenshot."""
    return GROUPS[bisect_right(EDGES, saliency)]


def grouped(outcomes: Iterable[Outcome], profile: Profile) -> dict[str, list[Outcome]]:
    """Return outcomes by group, all groups included; unknown saliencies are in none."""
    groups: dict[str, list[Outcome]] = {name: [] for name in GROUPS}
    for one in outcomes:
        value = one.saliency.get(profile)
        if value is not None:
            groups[group_of(value)].append(one)
    return groups


def distinct(outcomes: Iterable[Outcome], profile: Profile) -> list[float]:
    """Return the saliency of each interaction once, smallest first."""
    known = {one.id: one.saliency.get(profile) for one in outcomes}
    return sorted(value for value in known.values() if value is not None)


def cumulative(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the steps of the cumulative distribution: values and shares."""
    ordered = sorted(values)
    return ordered, [(place + 1) / len(ordered) for place in range(len(ordered))]
