"""The summary of a run as a compact table, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from uiproof.benchmarks.interaction2code.analyses.grid import Grid, console
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.benchmarks.interaction2code.summary import FULL, PART, PROFILES

NOT_MEASURED = "not measured"
_LABELS = ("CLIP", "SSIM", "Text", "Pos. before", "Pos. after")


def score_table(summary: Mapping[str, Any], *, width: int | None = None) -> str:
    """Full page and interaction part in both profiles, how much works, and how the rest fails."""
    return console((_scores(summary), _rates(summary)), width=width)


def _scores(summary: Mapping[str, Any]) -> Grid:
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
    notes = ["± is half the width of the 95 % bootstrap interval over pages."]
    if summary["failed"]:
        notes.append("Failed cases count in every mean.")
    return Grid(title, ("", *_LABELS), tuple(rows), tuple(notes))


def _rates(summary: Mapping[str, Any]) -> Grid:
    rows = [
        (name.capitalize(), _count(summary["scores"][name]), _rate(summary["scores"][name]))
        for name in ("implemented", "usable")
    ]
    for kind in (NONE, *FAILURES):
        entry = summary["failures"][kind]
        if entry["n"]:
            label = "No failure" if kind == NONE else f"({kind}) {FAILURES[kind]}"
            rows.append((label, str(entry["n"]), f"{100 * entry['share']:.1f} %"))
    if paths := summary.get("sequences"):
        done = f"{paths['done']} of {paths['steps']} steps"
        rows.append(
            ("Sequences, whole", _count(paths["whole"]), f"{_rate(paths['whole'])}; {done}")
        )
    return Grid("What works, and how the rest fails", ("", "n", "Share"), tuple(rows))


def _means(means: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [_mean(means.get(name)) for name in names]


def _mean(mean: Mapping[str, Any] | None) -> str:
    if mean is None or mean["mean"] is None:
        return NOT_MEASURED
    if mean["low"] is None:
        return f"{mean['mean']:.3f}"
    return f"{mean['mean']:.3f} ±{(mean['high'] - mean['low']) / 2:.3f}"


def _rate(rate: Mapping[str, Any] | None) -> str:
    if rate is None:
        return NOT_MEASURED
    share = f"{100 * rate['mean']:.1f} %"
    if rate["low"] is None:
        return share
    return f"{share} ({100 * rate['low']:.1f}-{100 * rate['high']:.1f})"


def _count(rate: Mapping[str, Any] | None) -> str:
    return "" if rate is None else str(round(rate["mean"] * rate["n"]))


def _counted(n: int, name: str) -> str:
    return f"{n} {name}" if n == 1 else f"{n} {name}s"
