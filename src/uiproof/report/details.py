"""What benchmarks of their own say about several runs, beyond the common table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError, UsageError
from uiproof.registry import benchmarks
from uiproof.settings import Settings


def comparison_details(
    runs: Sequence[RunDirectory | Path | str], *, charts_dir: str | Path | None = None
) -> str:
    """The tables and tests of the runs' benchmark; draws its charts where `charts_dir` says.

    Empty where the benchmark has none. Without `charts_dir`, EVAL_CHARTS_DIR counts.
    """
    found = [run if isinstance(run, RunDirectory) else RunDirectory(run) for run in runs]
    benchmark = benchmarks().get(str(found[0].manifest["benchmark"]))
    folder = Path(charts_dir) if charts_dir else Settings.from_environment().charts_dir
    if benchmark is None or benchmark.compared is None:
        if charts_dir:
            raise UsageError(f"There are no charts of {found[0].manifest['benchmark']} runs yet.")
        return ""
    return f"\n{benchmark.compared(found, folder)}\n"


def compare_results(
    results_dir: str | Path | None = None, *, charts_dir: str | Path | None = None
) -> str:
    """Compare grounding results that were stored in the described format."""
    from uiproof.benchmarks.grounding.comparison import compared_results
    from uiproof.benchmarks.grounding.results import read_results

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
    return compared_results(metrics, Path(charts_dir) if charts_dir else settings.charts_dir)
