"""Runs as tables and charts need them: how each interaction ended, by model and prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from uiproof.benchmarks.interaction2code.asking.prompt import Prompt
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.benchmarks.interaction2code.summary import FULL, PART, PROFILES, page_of
from uiproof.errors import UsageError

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory
    from uiproof.engine.types import Record
    from uiproof.stats.intervals import Interval

Profile = Literal["paper", "strict"]
# What is not implemented counts 0 in the interaction part (`all`), or is left out (`implemented`).
Counted = Literal["all", "implemented"]
KEYS = (*(f"full.{name}" for name in FULL), *(f"part.{name}" for name in PART))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one interaction of a data set ended in one run."""

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
    def label(self) -> str:
        """How charts call it: model and prompt."""
        return f"{self.model} {self.prompt.name}" if self.prompt else self.model


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


def mean(
    outcomes: Sequence[Outcome], profile: Profile, key: str, counted: Counted = "all"
) -> Interval | None:
    """The mean of a score with an interval over pages; None where it was not measured.

    A case that failed counts 0. What was measured for some cases only has no mean: these would
    not be the same cases in every run.
    """
    from uiproof.stats.clusters import clustered_mean

    chosen = [one for one in outcomes if counted == "all" or one.implemented]
    values = [one.scores.get(f"{profile}.{key}") for one in chosen]
    known = [
        0.0 if value is None and one.failed else value
        for one, value in zip(chosen, values, strict=True)
    ]
    numbers = [value for value in known if value is not None]
    if len(numbers) < len(known) or all(value is None for value in values):
        return None
    return clustered_mean(numbers, [one.page for one in chosen])


def rate(outcomes: Sequence[Outcome], hit: Callable[[Outcome], bool]) -> Interval | None:
    """The share of interactions of which something is true, with an interval over pages."""
    from uiproof.stats.clusters import clustered_rate

    return clustered_rate([hit(one) for one in outcomes], [one.page for one in outcomes])


def by_model(found: Iterable[Results]) -> dict[str, list[Outcome]]:
    """The outcomes of each model, all its prompts together."""
    groups: dict[str, list[Outcome]] = {}
    for one in found:
        groups.setdefault(one.model, []).extend(one.outcomes)
    return groups


def by_category(
    outcomes: Iterable[Outcome], kind: Literal["tags", "visuals"]
) -> dict[str, list[Outcome]]:
    """The outcomes of each category; an interaction with several is in each of them."""
    groups: dict[str, list[Outcome]] = {}
    for one in outcomes:
        for name in dict.fromkeys(one.tags if kind == "tags" else one.visuals):
            groups.setdefault(name, []).append(one)
    return groups


def _results(run: RunDirectory) -> Results:
    manifest = run.manifest
    if manifest.get("benchmark") != "interaction2code":
        raise UsageError(
            f"{run.path} is a run of {manifest.get('benchmark')}, not of interaction2code.",
            remedy="Name runs of one benchmark only.",
        )
    method, prompt = str(manifest["method"]), _prompt(manifest.get("settings") or {})
    asked = str((manifest.get("settings") or {}).get("prompt", ""))
    return Results(
        model=method.removesuffix(f" {asked}") if prompt else method,
        prompt=prompt,
        outcomes=tuple(_outcome(record) for record in run.records()),
        dataset=str(manifest.get("dataset_key") or manifest.get("dataset") or ""),
        assisted=bool(manifest.get("assisted", False)),
        complete=bool(run.summary.get("complete", True)),
    )


def _saliency_shared(found: Sequence[Results]) -> list[Results]:
    """The same runs, with the saliency that a failed case lacks taken from another run.

    It belongs to the interaction. Without it failed cases would be in no group, and a run would
    look better for each of them.
    """
    known = {
        (one.dataset, outcome.id): outcome.saliency
        for one in found
        for outcome in one.outcomes
        if any(value is not None for value in outcome.saliency.values())
    }
    return [
        replace(
            one,
            outcomes=tuple(
                replace(outcome, saliency=known.get((one.dataset, outcome.id), outcome.saliency))
                for outcome in one.outcomes
            ),
        )
        for one in found
    ]


def _prompt(settings: Mapping[str, Any]) -> Prompt | None:
    asked = settings.get("prompt")
    try:
        return Prompt.named(asked) if isinstance(asked, str) else None
    except UsageError:
        return None  # a method of somebody else's, with prompts of its own


def _outcome(record: Record) -> Outcome:
    details = record.details
    verdict = details.get("verdict") or {}
    failure = str(verdict.get("failure") or "a")  # no page: nothing to act on
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
            f"{profile}.{part}.{name}": ((record.scores.get(profile) or {}).get(part) or {}).get(
                name
            )
            for profile in PROFILES
            for part, names in (("full", FULL), ("part", PART))
            for name in names
        },
    )


def _order(one: Results) -> tuple[str, int, str]:
    recipes = ("direct", "cot", "mark", "failure-aware")
    place = recipes.index(one.prompt.recipe) if one.prompt else len(recipes)
    return one.model, place, one.prompt.name if one.prompt else ""
