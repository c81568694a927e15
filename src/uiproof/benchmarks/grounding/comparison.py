"""What `uiproof compare` adds for grounding: the described table, paired tests, charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.results import MethodMetrics
    from uiproof.engine.rundir import RunDirectory


_FEW_ENOUGH = 12  # pairs that are worth a line each; all of them are in comparison.json


def compared(runs: Sequence[RunDirectory], charts_dir: Path | None) -> str:
    """The table of the described framework and who beats whom on the same elements.

    With `charts_dir`, three charts and `comparison.json` are written there.
    """
    from uiproof.benchmarks.grounding.results import metrics_of_run

    return compared_results([metrics_of_run(run) for run in runs], charts_dir)


def compared_results(metrics: Sequence[MethodMetrics], charts_dir: Path | None) -> str:
    """The same for results that were stored in the described format."""
    from uiproof.benchmarks.grounding.comparing import compare, write_comparison
    from uiproof.benchmarks.grounding.tables import console_table

    lines = [console_table(metrics)]
    pairs = compare(metrics)["pairs"]
    if pairs:
        lines += ["", "Paired on the same elements (exact McNemar):"]
        lines += [_in_words(pair) for pair in pairs[:_FEW_ENOUGH]]
        if len(pairs) > _FEW_ENOUGH:
            lines.append(f"… and {len(pairs) - _FEW_ENOUGH} more pairs; --charts-dir writes all")
    if charts_dir is not None:
        from uiproof.benchmarks.grounding.charts import draw_charts

        charts_dir.mkdir(parents=True, exist_ok=True)
        drawn = [*draw_charts(metrics, charts_dir), write_comparison(metrics, charts_dir)]
        lines += ["", *(f"Written: {file}" for file in drawn)]
    return "\n".join(lines)


def store(run: RunDirectory) -> None:
    """Write the results in the described format where EVAL_RESULTS_DIR says."""
    from uiproof.settings import Settings

    folder = Settings.from_environment().results_dir
    if folder is not None:
        from uiproof.benchmarks.grounding.results import metrics_of_run, write_results

        write_results(metrics_of_run(run), folder)


def _in_words(pair: Mapping[str, Any]) -> str:
    alone = f"{pair['only_a']} against {pair['only_b']} of {pair['n']}"
    sure = "" if pair["p"] < 0.05 else ", which may be chance"
    return f"  {pair['a']} - {pair['b']}: found alone {alone}, p = {pair['p']:.2g}{sure}"
