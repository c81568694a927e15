"""Tables for a terminal: the summary of a run, and the comparison of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.benchmarks.interaction2code.summary import FULL, PART, PROFILES, UNSURE
from uiproof.stats.intervals import FEWEST, bounds_text
from uiproof.tables import Table, console, markdown

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory

MARKDOWN = "tables.md"
NOT_MEASURED = "not measured"
_LABELS = ("CLIP", "SSIM", "Text", "Pos. before", "Pos. after")


def score_table(summary: Mapping[str, Any], *, width: int | None = None) -> str:
    """Return scores in both profiles, how much works, and how the rest fails."""
    return console((_scores(summary), _rates(summary)), width=width)


def compared(runs: Sequence[RunDirectory], charts_dir: Path | None) -> str:
    """Return the tables of the paper for these runs.

    With `charts_dir`, its charts and all tables, of both profiles, are written there.
    """
    from uiproof.benchmarks.interaction2code.analyses.outcomes import results_of
    from uiproof.benchmarks.interaction2code.analyses.tables import all_tables

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


def _scores(summary: Mapping[str, Any]) -> Table:
    scores, only = summary["scores"], summary["implemented_only"]
    rows = []
    for profile in PROFILES:
        full, part = scores[profile]["full"], scores[profile]["part"]
        rows += [
            (f"Full page, {profile}", *_means(full, FULL), "", ""),
            (f"Interaction, {profile}", *_means(part, PART)),
            (f"Interaction, {profile}, if implemented", *_means(only[profile]["part"], PART)),
        ]
    failed = f", {summary['failed']} failed" if summary["failed"] else ""
    n, pages = (
        _counted(summary[key], name) for key, name in (("n", "interaction"), ("pages", "page"))
    )
    title = f"Interaction2Code: {n} on {pages}{failed}"
    notes = [f"[low, high]: 95 % interval over pages; none for fewer than {FEWEST}."]
    if summary["failed"]:
        notes.append("Failed cases count in every mean.")
    return Table(title, ("", *_LABELS), tuple(rows), tuple(notes))


def _rates(summary: Mapping[str, Any]) -> Table:
    rows = [
        (name.capitalize(), _count(summary["scores"][name]), _rate(summary["scores"][name]))
        for name in ("implemented", "usable")
    ]
    for kind in (NONE, *FAILURES):
        entry = summary["failures"][kind]
        if entry["n"]:
            label = "No failure" if kind == NONE else f"({kind}) {FAILURES[kind]}"
            rows.append((label, str(entry["n"]), f"{100 * entry['share']:.1f} %"))
    if unsure := summary["flags"].get(UNSURE):
        rows.append(("Unsure", str(unsure), f"{100 * unsure / summary['n']:.1f} %"))
        for name in ("implemented", "usable"):
            rate = (summary.get("sure_only") or {}).get(name)
            rows.append((f"{name.capitalize()}, without unsure", _count(rate), _rate(rate)))
    if paths := summary.get("sequences"):
        done = f"{paths['done']} of {paths['steps']} steps"
        rows.append(
            ("Sequences, whole", _count(paths["whole"]), f"{_rate(paths['whole'])}; {done}")
        )
    return Table("What works, and how the rest fails", ("", "n", "Share"), tuple(rows))


def _means(means: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [_mean(means.get(name)) for name in names]


def _mean(mean: Mapping[str, Any] | None) -> str:
    if mean is None or mean["mean"] is None:
        return NOT_MEASURED
    return f"{mean['mean']:.3f} {bounds_text(mean['low'], mean['high'])}".rstrip()


def _rate(rate: Mapping[str, Any] | None) -> str:
    if rate is None:
        return NOT_MEASURED
    share = f"{100 * rate['mean']:.1f} %"
    if rate["low"] is None:
        return share
    return f"{share} {bounds_text(100 * rate['low'], 100 * rate['high'], 1)}"


def _count(rate: Mapping[str, Any] | None) -> str:
    return "" if rate is None else str(round(rate["mean"] * rate["n"]))


def _counted(n: int, name: str) -> str:
    return f"{n} {name}" if n == 1 else f"{n} {name}s"
