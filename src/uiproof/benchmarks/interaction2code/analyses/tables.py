"""The paper's tables from any set of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from uiproof.benchmarks.interaction2code.analyses.grid import MISSING, Grid, percent, share
from uiproof.benchmarks.interaction2code.analyses.labels import failure_name
from uiproof.benchmarks.interaction2code.analyses.outcomes import (
    KEYS,
    Counted,
    Outcome,
    Profile,
    Results,
    by_category,
    by_model,
    mean,
    rate,
)
from uiproof.benchmarks.interaction2code.analyses.saliency import grouped
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.benchmarks.interaction2code.graph import TAG_CATEGORIES, VISUAL_CATEGORIES
from uiproof.stats.intervals import Interval

COLUMNS = {
    "full.clip": "Page CLIP",
    "full.ssim": "Page SSIM",
    "full.text": "Page Text",
    "part.clip": "CLIP",
    "part.ssim": "SSIM",
    "part.text": "Text",
    "part.position_before": "Pos. before",
    "part.position_after": "Pos. after",
}
_RATES = ("IR %", "UR %")
_PART = tuple(key for key in KEYS if key.startswith("part."))
_RATE_NOTE = (
    "IR: implemented, UR: usable, as the program judges; in brackets 95 % intervals over pages."
)


def all_tables(
    found: Sequence[Results], analyses: Sequence[Profile] = ("paper", "strict")
) -> list[Grid]:
    """Every table that these runs have something for.

    Table 4 has both profiles; `analyses` says which ones the tables by saliency, magnification
    and modality have.
    """
    tables = [model_table(found, "paper"), model_table(found, "strict")]
    tables += [category_table(found, "tags"), category_table(found, "visuals")]
    tables.append(failure_table(found))
    for table in (saliency_table, magnification_table, modality_table):
        tables += [table(found, profile) for profile in analyses]
    return [table for table in tables if table.rows]


def model_table(found: Sequence[Results], profile: Profile) -> Grid:
    """Table 4: models and prompts, the whole page and the interaction part.

    The second line of a run leaves out what is not implemented, which the first counts as 0.
    """
    rows = []
    for one in found:
        rows.append(_row(one, profile, "all"))
        if any(outcome.implemented for outcome in one.outcomes):
            rows.append(_row(one, profile, "implemented"))
    notes = [
        "What is not implemented counts 0 in the interaction part; the lines that say implemented "
        "leave it out.",
        _RATE_NOTE,
    ]
    notes += [f"{one.label}: unfinished." for one in found if not one.complete]
    notes += [f"{one.label}: assisted, it was given the truth." for one in found if one.assisted]
    if (shared := _shared(found)) is not None:
        notes.append(f"Only {shared} interactions are in all runs; the others compare badly.")
    header = ("Model", "Prompt", "n", *COLUMNS.values(), *_RATES)
    return Grid(
        f"Models and prompts (Table 4), profile {profile}", header, tuple(rows), tuple(notes), 2
    )


def category_table(found: Sequence[Results], kind: Literal["tags", "visuals"]) -> Grid:
    """Tables 5 and 6: usability by what is acted on, or by what changes."""
    groups = [by_category(one.outcomes, kind) for one in found]
    known = TAG_CATEGORIES if kind == "tags" else VISUAL_CATEGORIES
    present = {name for group in groups for name in group}
    names = [name for name in known if name in present] + sorted(present - set(known))
    rows = []
    for name in names:
        chosen = [group.get(name, []) for group in groups]
        counts = sorted({len(some) for some in chosen})
        n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"
        rows.append((name, n, *(share(_usable(some)) for some in chosen)))
    title = "tag category (Table 5)" if kind == "tags" else "visual category (Table 6)"
    return Grid(
        f"Usability % by {title}",
        ("Category", "n", *(one.label for one in found)),
        tuple(rows),
        ("An interaction with several categories counts in each of them.",),
    )


def failure_table(found: Sequence[Results]) -> Grid:
    """Table 7 and Fig. 9: how often each failure was seen, by model, and how usable it leaves."""
    models = by_model(found)
    everything = [outcome for one in found for outcome in one.outcomes]
    rows = []
    for letter in (NONE, *FAILURES) if everything else ():
        chosen = [one for one in everything if one.failure == letter]
        shares = [percent(_share_of(letter, group)) for group in models.values()]
        rows.append(
            (
                failure_name(letter),
                f"{len(chosen):,}",
                share(_share_of(letter, everything)),
                *shares,
                share(_usable(chosen)),
            )
        )
    return Grid(
        "Failures (Table 7, Fig. 9)",
        ("Failure", "n", "all %", *(f"{model} %" for model in models), "usable %"),
        tuple(rows),
        ("Types and usability are judged by the program, not by people; prompts together.",),
    )


def saliency_table(found: Sequence[Results], profile: Profile) -> Grid:
    """Fig. 10 as numbers: the interaction part by how much of the page changes."""
    rows = []
    for model, outcomes in by_model(found).items():
        for name, group in grouped(outcomes, profile).items():
            if group:
                rows.append((model, name, *_numbers(group, profile)))
    unknown = sum(one.saliency.get(profile) is None for run in found for one in run.outcomes)
    notes = ["Saliency: area of what changes / area of the screenshot after."]
    if unknown:
        notes.append(f"Without a known saliency, and in no group: {unknown}.")
    header = ("Model", "Saliency", "n", *(COLUMNS[key] for key in _PART), *_RATES)
    title = f"By visual saliency (Fig. 10), profile {profile}"
    return Grid(title, header, tuple(rows), tuple(notes), 2)


def magnification_table(found: Sequence[Results], profile: Profile) -> Grid:
    """Fig. 12 as numbers: runs of one model and recipe whose crops were magnified differently."""
    rows = [
        (
            one.model,
            one.prompt.recipe,
            f"{one.prompt.magnification:g}x",
            *_numbers(one.outcomes, profile),
        )
        for series in magnified(found)
        for one in series
        if one.prompt
    ]
    header = ("Model", "Prompt", "Crop", "n", *(COLUMNS[key] for key in _PART), *_RATES)
    title = f"By magnification (Fig. 12), profile {profile}"
    return Grid(title, header, tuple(rows), (_RATE_NOTE,), 3)


def modality_table(found: Sequence[Results], profile: Profile) -> Grid:
    """Table 8: runs of one model and recipe that saw pictures, words, or both."""
    groups: dict[tuple[str, str, str, float], list[Results]] = {}
    for one in found:
        if one.prompt:
            form = "rounds" if one.prompt.rounds else one.prompt.form
            key = (one.model, one.prompt.recipe, form, one.prompt.magnification)
            groups.setdefault(key, []).append(one)
    rows = []
    for (model, recipe, kind, _), some in groups.items():
        if len({one.prompt.inputs for one in some if one.prompt}) < 2:
            continue
        name = recipe if kind == "single" else f"{recipe}:{kind}"
        ordered = sorted(
            some, key=lambda one: ("V", "T", "V+T").index(one.prompt.inputs) if one.prompt else 0
        )
        rows += [
            (model, name, one.prompt.inputs, *_numbers(one.outcomes, profile))
            for one in ordered
            if one.prompt
        ]
    header = ("Model", "Prompt", "Input", "n", *(COLUMNS[key] for key in _PART), *_RATES)
    title = f"By modality (Table 8), profile {profile}"
    notes = ("V: pictures, T: words and the picture before, V+T: both.", _RATE_NOTE)
    return Grid(title, header, tuple(rows), notes, 3)


def magnified(found: Iterable[Results]) -> list[list[Results]]:
    """Runs that differ only in their magnification, in its order; single ones are no series."""
    series: dict[tuple[str, str, str], list[Results]] = {}
    for one in found:
        if one.prompt and one.prompt.form == "single":
            series.setdefault((one.model, one.prompt.recipe, one.prompt.inputs), []).append(one)
    return [
        sorted(some, key=lambda one: one.prompt.magnification if one.prompt else 1.0)
        for some in series.values()
        if len({one.prompt.magnification for one in some if one.prompt}) > 1
    ]


def _row(one: Results, profile: Profile, counted: Counted) -> tuple[str, ...]:
    chosen = [outcome for outcome in one.outcomes if counted == "all" or outcome.implemented]
    means = [
        "" if counted == "implemented" and key.startswith("full.") else _score(chosen, profile, key)
        for key in KEYS
    ]
    prompt = one.prompt.name if one.prompt else MISSING
    implemented = share(_implemented(chosen)) if counted == "all" else ""
    name = (one.model, prompt) if counted == "all" else ("", counted)
    return (*name, f"{len(chosen):,}", *means, implemented, share(_usable(chosen)))


def _numbers(outcomes: Sequence[Outcome], profile: Profile) -> tuple[str, ...]:
    means = [_score(outcomes, profile, key) for key in _PART]
    return (f"{len(outcomes):,}", *means, share(_implemented(outcomes)), share(_usable(outcomes)))


def _score(outcomes: Sequence[Outcome], profile: Profile, key: str) -> str:
    found = mean(outcomes, profile, key)
    return MISSING if found is None else f"{found.mean:.3f}"


def _usable(outcomes: Sequence[Outcome]) -> Interval | None:
    return rate(outcomes, lambda one: one.usable)


def _implemented(outcomes: Sequence[Outcome]) -> Interval | None:
    return rate(outcomes, lambda one: one.implemented)


def _share_of(letter: str, outcomes: Sequence[Outcome]) -> Interval | None:
    return rate(outcomes, lambda one: one.failure == letter)


def _shared(found: Sequence[Results]) -> int | None:
    """How many interactions all runs have, where some run has others too."""
    ids = [{outcome.id for outcome in one.outcomes} for one in found]
    shared = len(set.intersection(*ids)) if ids else 0
    return shared if any(len(some) != shared for some in ids) else None
