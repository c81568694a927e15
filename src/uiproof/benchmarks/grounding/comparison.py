"""Comparisons of methods: the described table, rankings, paired tests, and `comparison.json`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from uiproof.benchmarks.grounding.results import (
    COMPARISON,
    DESCRIBED_NAMES,
    MethodMetrics,
    compare,
    loss,
    metrics_of_run,
    read_results,
    result_file,
    write_comparison,
    write_results,
)
from uiproof.errors import InputError, UiproofError
from uiproof.files import access
from uiproof.settings import CHARTS_DIR, RESULTS_DIR, Settings

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory

_log = logging.getLogger("uiproof")

_FEW_ENOUGH = 12  # pairs that get a line each; all of them are in comparison.json


def compared(runs: Sequence[RunDirectory], charts_dir: Path | None) -> str:
    """Return the described table and the paired tests of some runs.

    With `charts_dir`, three charts and `comparison.json` are written there.
    """
    metrics = [metrics_of_run(run) for run in runs]
    written = []
    if charts_dir is not None:
        written += _draw(metrics, charts_dir)
        written.append(_write(metrics, charts_dir / COMPARISON))
    return "\n".join([*_described(metrics), *_paths(written)])


def compare_results(
    results_dir: str | Path | None = None,
    *,
    charts_dir: str | Path | None = None,
    markdown: bool = False,
    output: str | Path | None = None,
    json: str | Path | TextIO | None = None,
) -> str:
    """Compare the result files of a folder: the described table and paired tests.

        print(uiproof.compare_results("evaluation/results"))

    Draws the charts, and writes the comparison as JSON to `output` and `json`; by default to
    `evaluation/charts`, and to `comparison.json` beside the results.
    """
    from uiproof.benchmarks.grounding.tables import markdown_table

    settings = Settings.from_environment()
    folder = Path(results_dir or settings.results_dir or RESULTS_DIR)
    metrics, left_out = read_results(folder) if folder.is_dir() else ([], [])
    if not metrics:
        raise InputError(
            f"There are no results in {folder}." + "".join(f" {one.message}" for one in left_out),
            remedy="Make some with `uiproof run --method omniparser --dataset synthetic`, name "
            "another folder with --results-dir, or name run directories.",
        )
    notes = [f"Left out: {one.message}" for one in left_out]
    written = []
    for target in (output, json):
        if isinstance(target, str | Path):
            written.append(_write(metrics, Path(target)))
        elif target is not None:
            write_comparison(metrics, target)
    charts = charts_dir or settings.charts_dir
    if charts is not None:
        written += _draw(metrics, Path(charts))
    # The default places may be read-only: the table is shown all the same.
    if output is None and json is None:
        with _noting(notes):
            written.append(_write(metrics, folder / COMPARISON))
    if charts is None:
        with _noting(notes):
            written += _draw(metrics, CHARTS_DIR)
    table = [markdown_table(metrics).rstrip("\n")] if markdown else _described(metrics)
    return "\n".join([*table, *(["", *notes] if notes else []), *_paths(written)])


@contextmanager
def _noting(notes: list[str]) -> Iterator[None]:
    try:
        yield
    except UiproofError as error:
        notes.append(f"Not written: {error.message}")


def described_table(run: RunDirectory) -> str:
    """Return the described table for one run."""
    from uiproof.benchmarks.grounding.tables import console_table

    return console_table([metrics_of_run(run)])


def store(run: RunDirectory, folder: Path | None) -> None:
    """Write the results of a run in the described format; not those of a shard."""
    if folder is None or run.manifest.get("shard") is not None:
        return
    metrics = metrics_of_run(run)
    if problem := loss(result_file(metrics, folder), metrics):
        _log.warning(
            "%s It was not replaced; this run is in %s. Name another folder with --output-dir, "
            "or move that file away and run again.",
            problem,
            run.place,
        )
    else:
        write_results(metrics, folder)


def _described(metrics: Sequence[MethodMetrics]) -> list[str]:
    from uiproof.benchmarks.grounding.tables import console_table

    lines = [console_table(metrics)]
    pairs = compare(metrics)["pairs"]
    if pairs:
        lines += ["", "Paired on the same elements (exact McNemar):"]
        varied = [key for key in ("dataset", "protocol") if len({pair[key] for pair in pairs}) > 1]
        lines += [_in_words(pair, varied) for pair in pairs[:_FEW_ENOUGH]]
        if len(pairs) > _FEW_ENOUGH:
            lines.append(f"… and {len(pairs) - _FEW_ENOUGH} more pairs; --charts-dir writes all")
    return lines


def _draw(metrics: Sequence[MethodMetrics], charts_dir: Path) -> list[Path]:
    from uiproof.benchmarks.grounding.charts import draw_charts

    with access(charts_dir, "made"):
        charts_dir.mkdir(parents=True, exist_ok=True)
    return draw_charts(metrics, charts_dir)


def _write(metrics: Sequence[MethodMetrics], file: Path) -> Path:
    write_comparison(metrics, file)
    return file


def _paths(files: Sequence[Path]) -> list[str]:
    return ["", *(f"Written: {file}" for file in files)] if files else []


def _in_words(pair: Mapping[str, Any], varied: Sequence[str]) -> str:
    """Return a pair as a line, with those of data set and protocol that differ between pairs."""
    where = "".join(f" [{pair[key]}]" for key in varied)
    a, b = (DESCRIBED_NAMES.get(pair[key], pair[key]) for key in "ab")
    alone = f"{pair['only_a']} against {pair['only_b']} of {pair['n']}"
    sure = "" if pair["p"] < 0.05 else ", which may be chance"
    return f"  {a} - {b}{where}: found alone {alone}, p = {pair['p']:.2g}{sure}"
