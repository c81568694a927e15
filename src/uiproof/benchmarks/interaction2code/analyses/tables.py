"""Tables: the paper's from any set of runs, and the scores of one run for a terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from uiproof.benchmarks.interaction2code.analyses.labels import (
    FAILURE_COLUMNS,
    IMPACT_NOTE,
    failure_cells,
    failure_name,
)
from uiproof.benchmarks.interaction2code.analyses.outcomes import (
    KEYS,
    Counted,
    Outcome,
    Results,
    by_category,
    by_model,
    by_topic,
    comparable,
    grouped,
    mean,
    rate,
    results_of,
    versus,
)
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.benchmarks.interaction2code.graph import TAG_CATEGORIES, VISUAL_CATEGORIES
from uiproof.benchmarks.interaction2code.prompting import Inputs
from uiproof.benchmarks.interaction2code.summary import FULL, PART, PROFILES, UNSURE, Profile
from uiproof.labels import OUTCOMES
from uiproof.stats.intervals import FEWEST, Interval, bounds_text, percent, share
from uiproof.tables import MISSING, Table, console, markdown

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory

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
AVERAGE = "Average"
MARKDOWN = "tables.md"
NOT_MEASURED = "not measured"
CategoryKind = Literal["tags", "visuals"]
Number = float | Interval | str | None
_RATES = ("IR %", "UR %")
_FULL = tuple(key for key in KEYS if key.startswith("full."))
_PART = tuple(key for key in KEYS if key.startswith("part."))
_RATE_NOTE = (
    "IR: implemented, UR: usable, as the program judges; in brackets 95 % intervals over pages."
)
_MARK_NOTE = "Best: bold, or *. Second-best: underlined, or +."
_IN_FULL = 0.98  # of the magnification that was asked for: edges are whole pixels


def all_tables(
    found: Sequence[Results], analyses: Sequence[Profile] = ("paper", "strict")
) -> list[Table]:
    """Return every table that these runs have something for.

    Table 4 has both profiles; `analyses` says which ones the tables by saliency, magnification
    and modality have. Runs that saw words or magnified pictures are only in tables about that.
    """
    runs = comparable(found)
    others = [one for one in found if one not in runs]
    tables = [model_table(runs, profile, others=others) for profile in PROFILES]
    tables += [model_table(runs, profile, "implemented", others=others) for profile in PROFILES]
    tables += [comparison_table(runs), topic_table(runs)]
    tables += [category_table(runs, "tags"), category_table(runs, "visuals")]
    tables += [failure_table(runs), distribution_table(runs)]
    tables += [saliency_table(runs, profile) for profile in analyses]
    for table in (magnification_table, modality_table):
        tables += [table(found, profile) for profile in analyses]
    return [table for table in tables if table.rows]


def model_table(
    found: Sequence[Results],
    profile: Profile,
    counted: Counted = "all",
    *,
    others: Sequence[Results] = (),
) -> Table:
    """Return Table 4: models and prompts, the whole page and the interaction part.

    What is not implemented counts 0 in the interaction part, or is left out (`implemented`).
    """
    lines = _Lines()
    if counted == "implemented" and len({o.implemented for one in found for o in one.outcomes}) < 2:
        found = ()  # it would be the other table again, or empty
    for model in dict.fromkeys(one.model for one in found):
        runs = [one for one in found if one.model == model]
        rows = []
        for one in runs:
            chosen = [o for o in one.outcomes if counted == "all" or o.implemented]
            page, part = _means(one.outcomes, profile, _FULL), _means(chosen, profile, _PART)
            implemented = rate(one.outcomes, lambda outcome: outcome.implemented)
            rows.append([*page, *part, implemented, _usable(chosen)])
            groups = (f"model {model}", *(["averages"] if len(runs) == 1 else []))
            name = (model, one.prompt_name, f"{len(chosen):,}")
            lines.add(name, rows[-1], *(() if one.assisted else groups))
        if len(rows) > 1:
            lines.add((model, AVERAGE, ""), _average(rows), "averages")
    left_out = {
        "all": "What is not implemented counts 0 in the interaction part.",
        "implemented": "The interaction part and UR leave out what is not implemented, as version "
        "1 of the paper does; the page and IR are those of all interactions.",
    }
    notes = [left_out[counted], _RATE_NOTE]
    notes += lines.notes(
        f"{AVERAGE}: of the rows above it, each counting the same. {_MARK_NOTE} Among the prompts "
        "of a model, and among the averages of the models."
    )
    notes += [f"{one.label}: unfinished." for one in found if not one.complete]
    notes += [f"{one.label}: assisted, it was given the truth." for one in found if one.assisted]
    ids = [{outcome.id for outcome in one.outcomes} for one in found]
    shared = set.intersection(*ids) if ids else set()
    if any(some != shared for some in ids):
        notes.append(
            f"Only {len(shared)} interactions are in all runs; the others cannot be compared."
        )
    if others:
        names = ", ".join(one.label for one in others)
        notes.append(f"In separate tables, as they were shown other inputs: {names}.")
    only = "" if counted == "all" else ", implemented interactions only"
    title = f"Models and prompts (Table 4), profile {profile}{only}"
    return lines.grid(title, ("Model", "Prompt", "n"), (*COLUMNS.values(), *_RATES), notes)


def comparison_table(found: Sequence[Results]) -> Table:
    """Return Fig. 6a: how often a run beats the first one with the direct prompt."""
    baseline, votes = versus(found)
    rows = []
    for one, outcomes in votes:
        total = len(outcomes)
        shares = [f"{100 * outcomes.count(word) / total:.1f}" for word in OUTCOMES]
        rows.append((one.model, one.prompt_name, f"{total:,}", *shares))
    notes = (
        "As the program judges, not people: win where only this run's interaction is usable, tie "
        "where both or none are.",
    )
    name = baseline.label if baseline else ""
    header = ("Model", "Prompt", "n", *(f"{word} %" for word in OUTCOMES))
    return Table(f"Against {name} (Fig. 6a)", header, tuple(rows), notes, 2)


def topic_table(found: Sequence[Results]) -> Table:
    """Return Fig. 1c: implemented interactions by topic and model, prompts together."""
    models = by_model(found)
    topics = by_topic([outcome for one in found for outcome in one.outcomes])
    rows = []
    for topic, everything in topics.items():
        shares = [
            share(rate(by_topic(some).get(topic, []), lambda one: one.implemented))
            for some in models.values()
        ]
        rows.append((topic, f"{len({one.id for one in everything}):,}", *shares))
    header = ("Topic", "interactions", *models)
    notes = ("Of the interactions of the data set, not of all elements of its pages.",)
    return Table("Implemented % by topic (Fig. 1c)", header, tuple(rows), notes)


def category_table(found: Sequence[Results], kind: CategoryKind) -> Table:
    """Return Table 5 or 6: usability by category of element or of change."""
    groups = [
        (
            one.model,
            one.prompt_name,
            {
                name: [outcome.usable for outcome in some]
                for name, some in by_category(one.outcomes, kind).items()
            },
        )
        for one in found
    ]
    note = (
        "Share of usable interactions, as the program judges. An interaction with several "
        "categories counts in each of them."
    )
    return category_grid(groups, kind, "", [note])


def category_grid(
    groups: Sequence[tuple[str, str, Mapping[str, Sequence[bool]]]],
    kind: CategoryKind,
    judged_by: str,
    notes: Sequence[str],
) -> Table:
    """Return the usable share of each category for models and prompts, their average, and n."""
    known = TAG_CATEGORIES if kind == "tags" else VISUAL_CATEGORIES
    present = {name for _, _, group in groups for name in group}
    names = [name for name in known if name in present] + sorted(present - set(known))
    rates: list[list[Number]] = []
    rows: list[tuple[str, ...]] = []
    for model, prompt, group in groups:
        hits = [group.get(name, ()) for name in names]
        rates.append([sum(some) / len(some) if some else None for some in hits])
        rows.append((model, prompt, *map(_shown, rates[-1])))
    if names and len(rows) > 1:
        rows.append((AVERAGE, "", *map(_shown, _average(rates))))
    counts = [sorted({len(group.get(name, ())) for _, _, group in groups}) for name in names]
    n = [f"{some[0]}" if len(some) == 1 else f"{some[0]}-{some[-1]}" for some in counts]
    rows.append(("n", "", *n))
    title = "tag category (Table 5)" if kind == "tags" else "visual category (Table 6)"
    average = f"{AVERAGE}: of the rows above it, each counting the same, as in the paper."
    return Table(
        f"Usability rate by {title}{judged_by}",
        ("Model", "Prompt", *names),
        tuple(rows) if names else (),
        (*notes, average),
        2,
    )


def failure_table(found: Sequence[Results]) -> Table:
    """Return Table 7: types of failure, what they affect, and their usability."""
    everything = [outcome for one in found for outcome in one.outcomes]
    rows = []
    for letter in FAILURES if everything else ():
        chosen = [one for one in everything if one.failure == letter]
        rows.append((*failure_cells(letter), f"{len(chosen):,}", share(_usable(chosen))))
    notes = ("Types and usability are judged by the program, not by people.", IMPACT_NOTE)
    header = (*FAILURE_COLUMNS, "n", "Usability rate %")
    return Table("Failure types (Table 7)", header, tuple(rows), notes, len(FAILURE_COLUMNS))


def distribution_table(found: Sequence[Results]) -> Table:
    """Return Fig. 9 as numbers: how often each failure was seen, by model."""
    models = by_model(found)
    everything = [outcome for one in found for outcome in one.outcomes]
    rows = []
    for letter in (NONE, *FAILURES) if everything else ():
        shares = [percent(_share_of(letter, group), 2) for group in models.values()]
        rows.append((failure_name(letter), share(_share_of(letter, everything)), *shares))
    notes = (
        "Of a model's interactions, all its prompts together: "
        + ", ".join(f"{model} {len(some):,}" for model, some in models.items())
        + ". Judged by the program, not by people.",
    )
    header = ("Failure", "all %", *(f"{model} %" for model in models))
    return Table("Distribution of failures (Fig. 9)", header, tuple(rows), notes)


def saliency_table(found: Sequence[Results], profile: Profile) -> Table:
    """Return Fig. 10 as numbers: the interaction part by how much of the page changes."""
    rows = []
    for one in found:
        prompt = one.prompt_name
        for name, group in grouped(one.outcomes, profile).items():
            if group:
                rows.append((one.model, prompt, name, *_part_cells(group, profile)))
    unknown = sum(one.saliency.get(profile) is None for run in found for one in run.outcomes)
    notes = ["Saliency: area of what changes / area of the screenshot after."]
    if unknown:
        notes.append(f"Without a known saliency, and in no group: {unknown}.")
    header = ("Model", "Prompt", "Saliency", "n", *(COLUMNS[key] for key in _PART), *_RATES)
    title = f"By visual saliency (Fig. 10), profile {profile}"
    return Table(title, header, tuple(rows), tuple(notes), 3)


def magnification_table(found: Sequence[Results], profile: Profile) -> Table:
    """Return Fig. 12 as numbers: runs that differ only in their magnification."""
    rows = []
    for one in (one for series in magnified(found) for one in series):
        if one.prompt is None:
            continue
        asked = one.prompt.magnification
        full = [outcome for outcome in one.outcomes if in_full(outcome, asked)]
        name = (one.model, _recipe(one), f"{asked:g}x")
        known = all(outcome.magnified is None for outcome in one.outcomes) is False
        reached = f"{reach_of(one.outcomes):.2f}x" if known else "not recorded"
        some = f"{len(full):,} of {len(one.outcomes):,}" if known else MISSING
        rows.append((*name, "all", reached, some, *_part_cells(one.outcomes, profile)))
        if 0 < len(full) < len(one.outcomes):
            cells = _part_cells(full, profile)
            rows.append((*name, "in full", f"{reach_of(full):.2f}x", "", *cells))
    header = ("Model", "Prompt", "Asked", "Cases", "Reached", "In full", "n")
    notes = (
        "A crop holds the element and all that changes: where they take much of the page it cannot "
        "be as small as was asked. Reached: the mean over cases; in full: cases that reached it.",
        _RATE_NOTE,
    )
    columns = (*header, *(COLUMNS[key] for key in _PART), *_RATES)
    return Table(f"By magnification (Fig. 12), profile {profile}", columns, tuple(rows), notes, 4)


def modality_table(found: Sequence[Results], profile: Profile) -> Table:
    """Return Table 8: models side by side that saw pictures, words, or both."""
    inputs: tuple[Inputs, ...] = ("V", "T", "V+T")
    runs = {
        (_recipe(one, form=True), one.prompt.inputs, one.model): one
        for one in found
        if one.prompt and one.prompt.magnification == 1
    }
    worded = [key for key in runs if key[1] != "V"]
    recipes, models = (
        [name for name in dict.fromkeys(key[n] for key in runs) if name in {k[n] for k in worded}]
        for n in (0, 2)
    )
    lines = _Lines()
    for recipe in recipes:
        for kind in inputs:
            there = [runs.get((recipe, kind, model)) for model in models]
            numbers: list[Number] = []
            for one in there:
                outcomes = one.outcomes if one else ()
                usable, n = _usable(outcomes), f"{len(outcomes):,}" if one else None
                numbers += [*_means(outcomes, profile, _PART), usable, n]
            if any(there):
                lines.add((recipe, kind), numbers, recipe)
    columns = [
        f"{model} {name}"
        for model in models
        for name in (*(COLUMNS[k] for k in _PART), "UR %", "n")
    ]
    notes = [
        "V: pictures, T: words and the picture before, V+T: both.",
        "UR: usable, as the program judges, with 95 % intervals over pages.",
        *lines.notes(f"{_MARK_NOTE} Among the inputs of a model with one prompt."),
    ]
    title = f"By modality (Table 8), profile {profile}"
    return lines.grid(title, ("Prompt", "Modality"), columns, notes)


def magnified(found: Iterable[Results]) -> list[list[Results]]:
    """Return runs that differ only in their magnification, in its order, if one is magnified."""
    series: dict[tuple[str, str, str], list[Results]] = {}
    for one in found:
        if one.prompt and one.prompt.form == "single":
            series.setdefault((one.model, one.prompt.recipe, one.prompt.inputs), []).append(one)
    return [
        sorted(some, key=lambda one: one.prompt.magnification if one.prompt else 1.0)
        for some in series.values()
        if any(one.prompt.magnification > 1 for one in some if one.prompt)
    ]


def in_full(outcome: Outcome, asked: float) -> bool:
    """Return whether the pictures of a case were magnified as much as was asked."""
    return outcome.magnified is not None and outcome.magnified >= _IN_FULL * asked


def reach_of(outcomes: Sequence[Outcome]) -> float:
    """Return the mean magnification that cases reached; 1 where none is known."""
    known = [one.magnified for one in outcomes if one.magnified is not None]
    return sum(known) / len(known) if known else 1.0


class _Lines:
    """The rows of a table, with the groups in which the best and second-best are marked."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, ...]] = []
        self._numbers: list[Sequence[Number]] = []
        self._groups: dict[str, list[int]] = defaultdict(list)

    def add(self, names: Sequence[str], numbers: Sequence[Number], *groups: str) -> None:
        """Add a row that belongs to some groups."""
        for group in groups:
            self._groups[group].append(len(self._rows))
        self._rows.append((*names, *map(_shown, numbers)))
        self._numbers.append(numbers)

    def notes(self, text: str) -> list[str]:
        """Return a note that is needed only where something is marked."""
        return [text] if any(len(rows) > 1 for rows in self._groups.values()) else []

    def grid(
        self, title: str, names: Sequence[str], columns: Sequence[str], notes: Sequence[str]
    ) -> Table:
        """Return the table."""
        best: list[tuple[int, int]] = []
        second: list[tuple[int, int]] = []
        for rows in self._groups.values():
            for column in range(len(columns)):
                # As shown: of two numbers that read the same, both are the best.
                values = {
                    row: float(_shown(number).split()[0])
                    for row in rows
                    if isinstance(number := self._numbers[row][column], float | Interval)
                }
                if len(values) > 1:
                    ranks = sorted(set(values.values()), reverse=True)
                    place = len(names) + column
                    best += [(row, place) for row, value in values.items() if value == ranks[0]]
                    second += [(row, place) for row in rows if values.get(row) in ranks[1:2]]
        header = (*names, *columns)
        return Table(title, header, tuple(self._rows), tuple(notes), 2, tuple(best), tuple(second))


def _means(outcomes: Sequence[Outcome], profile: Profile, keys: Sequence[str]) -> list[Number]:
    found = [mean(outcomes, profile, key) for key in keys]
    return [None if one is None else one.mean for one in found]


def _average(rows: Sequence[Sequence[Number]]) -> list[Number]:
    """Return the mean of each column, every row counting the same; what is missing is left out."""
    made: list[Number] = []
    for column in zip(*rows, strict=True):
        rates = [one for one in column if isinstance(one, Interval)]
        values = [one.mean for one in rates] or [one for one in column if isinstance(one, float)]
        average = sum(values) / len(values) if values else None
        is_rate = average is not None and rates
        made.append(Interval(average or 0.0, None, None, len(values)) if is_rate else average)
    return made


def _shown(number: Number) -> str:
    if isinstance(number, Interval):
        return share(number)
    return number if isinstance(number, str) else MISSING if number is None else f"{number:.4f}"


def _part_cells(outcomes: Sequence[Outcome], profile: Profile) -> tuple[str, ...]:
    means = map(_shown, _means(outcomes, profile, _PART))
    implemented = rate(outcomes, lambda one: one.implemented)
    return (f"{len(outcomes):,}", *means, share(implemented), share(_usable(outcomes)))


def _recipe(one: Results, *, form: bool = False) -> str:
    """Return a prompt's name without its inputs and magnification."""
    if one.prompt is None:
        return MISSING
    kind = "rounds" if one.prompt.rounds else one.prompt.form
    return one.prompt.recipe if kind == "single" or not form else f"{one.prompt.recipe}:{kind}"


def _usable(outcomes: Sequence[Outcome]) -> Interval | None:
    return rate(outcomes, lambda one: one.usable)


def _share_of(letter: str, outcomes: Sequence[Outcome]) -> Interval | None:
    return rate(outcomes, lambda one: one.failure == letter)


# --- a terminal


def compared(runs: Sequence[RunDirectory], charts_dir: Path | None) -> str:
    """Return the tables of the paper for these runs.

    With `charts_dir`, its charts and all tables, of both profiles, are written there.
    """
    found = results_of(runs)
    text = console(all_tables(found, analyses=["strict"]))
    if charts_dir is None:
        return text
    from uiproof.benchmarks.interaction2code.analyses.charts import draw_charts
    from uiproof.files import replacing

    drawn = draw_charts(found, charts_dir)
    file = charts_dir / MARKDOWN
    with replacing(file, makes_folders=True) as stream:
        stream.write(markdown(all_tables(found)))
    return "\n".join([text, "", *(f"Written: {path}" for path in (*drawn, file))])


def score_table(summary: Mapping[str, Any], *, width: int | None = None) -> str:
    """Return scores in both profiles, how much works, and how the rest fails."""
    return console((_scores(summary), _rates(summary)), width=width)


def _scores(summary: Mapping[str, Any]) -> Table:
    def means(found: Mapping[str, Any], names: Sequence[str]) -> list[str]:
        known = (found.get(name) or {"mean": None} for name in names)
        return [
            NOT_MEASURED
            if one["mean"] is None
            else f"{one['mean']:.3f} {bounds_text(one['low'], one['high'])}".rstrip()
            for one in known
        ]

    rows = []
    for profile in PROFILES:
        scores, only = summary["scores"][profile], summary["implemented_only"][profile]
        rows += [
            (f"Full page, {profile}", *means(scores["full"], FULL), "", ""),
            (f"Interaction, {profile}", *means(scores["part"], PART)),
            (f"Interaction, {profile}, if implemented", *means(only["part"], PART)),
        ]
    n, pages = (
        f"{summary[key]} {name}" + ("" if summary[key] == 1 else "s")
        for key, name in (("n", "interaction"), ("pages", "page"))
    )
    failed = f", {summary['failed']} failed" if summary["failed"] else ""
    notes = [f"[low, high]: 95 % interval over pages; none for fewer than {FEWEST}."]
    if summary["failed"]:
        notes.append("Failed cases count in every mean.")
    header = ("", *(COLUMNS[f"part.{name}"] for name in PART))
    return Table(f"Interaction2Code: {n} on {pages}{failed}", header, tuple(rows), tuple(notes))


def _rates(summary: Mapping[str, Any]) -> Table:
    def cells(rate: Mapping[str, Any] | None) -> tuple[str, str]:
        if rate is None:
            return "", NOT_MEASURED
        count, known = str(round(rate["mean"] * rate["n"])), rate["low"] is not None
        bounds = bounds_text(100 * rate["low"], 100 * rate["high"], 1) if known else ""
        return count, f"{100 * rate['mean']:.1f} % {bounds}".rstrip()

    rows = [
        (name.capitalize(), *cells(summary["scores"][name])) for name in ("implemented", "usable")
    ]
    for kind in (NONE, *FAILURES):
        entry = summary["failures"][kind]
        if entry["n"]:
            label = failure_name(kind).replace("no failure", "No failure")
            rows.append((label, str(entry["n"]), f"{100 * entry['share']:.1f} %"))
    if unsure := summary["flags"].get(UNSURE):
        rows.append(("Unsure", str(unsure), f"{100 * unsure / summary['n']:.1f} %"))
        for name in ("implemented", "usable"):
            rate = (summary.get("sure_only") or {}).get(name)
            rows.append((f"{name.capitalize()}, without unsure", *cells(rate)))
    if paths := summary.get("sequences"):
        count, share = cells(paths["whole"])
        done = f"{paths['done']} of {paths['steps']} steps"
        rows.append(("Sequences, whole", count, f"{share}; {done}"))
    return Table("What works, and how the rest fails", ("", "n", "Share"), tuple(rows))
