"""What benchmarks of their own say about several runs, beyond the common table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from uiproof.engine.rundir import RunDirectory
from uiproof.engine.storage import access
from uiproof.errors import InputError, UsageError
from uiproof.registry import benchmarks
from uiproof.report.leaderboard import leaderboard
from uiproof.report.tables import markdown
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.report.analyses import Analyses


def comparison_details(
    runs: Sequence[RunDirectory | Path | str], *, charts_dir: str | Path | None = None
) -> str:
    """The tables and tests of the runs' benchmark; draws its charts where `charts_dir` says.

    Empty where the benchmark has none. Without `charts_dir`, EVAL_CHARTS_DIR counts.
    """
    found = [RunDirectory.of(run, pictures=False) for run in runs]
    benchmark = benchmarks().get(str(found[0].manifest["benchmark"]))
    if benchmark is not None and benchmark.compared is not None:
        folder = Path(charts_dir) if charts_dir else Settings.from_environment().charts_dir
        return f"\n{benchmark.compared(found, folder)}\n"
    from uiproof.benchmarks.interaction2code.analyses.grid import console

    analysed = _analyses(found)
    drawn = _drawn(analysed, found, charts_dir)
    lines = [console(analysed.tables)] if analysed.tables else []
    lines += [f"Written: {file}" for file in drawn]
    return "\n".join(["", *lines, ""]) if lines else ""


def comparison_markdown(
    runs: Sequence[RunDirectory | Path | str], *, charts_dir: str | Path | None = None
) -> str:
    """The leaderboard and the tables of the report as markdown; draws charts as above."""
    from uiproof.benchmarks.interaction2code.analyses.grid import markdown as as_markdown

    found = [RunDirectory.of(run, pictures=False) for run in runs]
    parts = [markdown(found)]
    analysed = _analyses(found)
    if analysed.tables:
        parts.append(as_markdown(analysed.tables))
    if charts_dir:
        _drawn(analysed, found, charts_dir)
    return "\n".join(parts).rstrip("\n")


def _analyses(runs: Sequence[RunDirectory]) -> Analyses:
    from uiproof.report.analyses import analyses

    return analyses(leaderboard(runs), runs)


def _drawn(
    analysed: Analyses, runs: Sequence[RunDirectory], charts_dir: str | Path | None
) -> list[Path]:
    """Draw the charts where somebody asked for them; returns the files."""
    if not charts_dir:
        return []
    if not analysed.charts:
        raise UsageError(f"There are no charts of {runs[0].manifest['benchmark']} runs yet.")
    folder = Path(charts_dir)
    with access(folder, "made"):
        folder.mkdir(parents=True, exist_ok=True)
    analysed.draw(folder)
    return [folder / f"{name}.png" for name in analysed.charts if (folder / f"{name}.png").exists()]


def compare_results(
    results_dir: str | Path | None = None,
    *,
    charts_dir: str | Path | None = None,
    markdown: bool = False,
) -> str:
    """Compare grounding results that were stored in the described format."""
    from uiproof.benchmarks.grounding.comparison import compared_results
    from uiproof.benchmarks.grounding.results import read_results
    from uiproof.benchmarks.grounding.tables import markdown_table

    settings = Settings.from_environment()
    folder = Path(results_dir) if results_dir else settings.results_dir
    if folder is None:
        raise UsageError(
            "Nothing says what to compare.",
            remedy="Name run directories, or a folder of results with --results-dir.",
        )
    metrics = read_results(folder)
    if not metrics:
        raise InputError(f"There are no results in {folder}.")
    text = compared_results(metrics, Path(charts_dir) if charts_dir else settings.charts_dir)
    return markdown_table(metrics).rstrip("\n") if markdown else text
