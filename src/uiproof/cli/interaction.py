"""Verbs of Interaction2Code: published labels recomputed, statistics of a data set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uiproof.cli.app import app
from uiproof.cli.options import Json
from uiproof.cli.results import check_json
from uiproof.endings import EXIT_FAILED_CASES

if TYPE_CHECKING:
    from uiproof.benchmarks.interaction2code.analyses.grid import Grid
    from uiproof.benchmarks.interaction2code.analyses.labels import LabelFolder

Charts = Annotated[Path | None, typer.Option(help="Draw charts into this folder.")]


@app.command()
def anchors(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="The published label files, in it or below it."),
    ],
    dataset: Annotated[
        str | None,
        typer.Option(help="Also by category, with the categories of this data set."),
    ] = None,
    charts_dir: Charts = None,
    json: Json = None,
) -> None:
    """Recompute the published numbers of Interaction2Code from the labels of people.

    Prints ours beside the published. Exit code 1 when a number that can be recomputed differs, or
    when labels could not be read.

    \b
    Examples:
      uiproof anchors human_evaluation
      uiproof anchors human_evaluation --json anchors.json
      uiproof anchors human_evaluation --dataset interaction2code
    """
    from uiproof.benchmarks.interaction2code.analyses.anchor_tables import anchor_tables
    from uiproof.benchmarks.interaction2code.analyses.anchors import agree, as_json, recompute
    from uiproof.benchmarks.interaction2code.analyses.grid import console
    from uiproof.benchmarks.interaction2code.analyses.labels import read_label_folder

    check_json(json)
    labels = read_label_folder(folder)
    found = recompute(labels)
    if json is not None:
        _write(json, as_json(found, labels))
    tables = anchor_tables(found, labels)
    if dataset is not None:
        tables += _by_category(labels, _dataset(dataset))
    if json != "-":
        typer.echo(console(tables))
        right = "agrees" if agree(found) else "DOES NOT AGREE"
        typer.echo(f"\nWhat can be recomputed {right} with what was published.")
    if charts_dir is not None:
        from uiproof.benchmarks.interaction2code.analyses.charts import draw_label_charts

        _say_written(draw_label_charts(labels, charts_dir), json)
    for problem in labels.problems:
        typer.echo(f"not read: {problem}", err=True)
    if labels.problems or not agree(found):
        raise typer.Exit(EXIT_FAILED_CASES)


@app.command()
def stats(
    dataset: Annotated[
        str,
        typer.Argument(metavar="DATASET", help="A folder, or a name that `uiproof list` shows."),
    ],
    charts_dir: Charts = None,
    json: Json = None,
) -> None:
    """Describe an Interaction2Code data set: topics, tags, effects, length and depth of pages.

    Exit code 1 when something of it could not be read.

    \b
    Examples:
      uiproof stats interaction2code-demo
      uiproof stats interaction2code --charts-dir charts --json stats.json
    """
    from uiproof.benchmarks.interaction2code.analyses.grid import console
    from uiproof.benchmarks.interaction2code.analyses.statistics import (
        dataset_statistics,
        statistics_tables,
    )

    check_json(json)
    found = dataset_statistics(_dataset(dataset))
    if json is not None:
        _write(json, found.as_json())
    if json != "-":
        typer.echo(console(statistics_tables(found)))
    if charts_dir is not None:
        from uiproof.benchmarks.interaction2code.analyses.dataset_charts import draw_dataset_charts

        _say_written(draw_dataset_charts(found, charts_dir), json)
    for name, error in found.broken:
        typer.echo(f"not read: {name}: {error}", err=True)
    if found.broken:
        raise typer.Exit(EXIT_FAILED_CASES)


def _by_category(labels: LabelFolder, dataset: Path) -> list[Grid]:
    from uiproof.benchmarks.interaction2code.analyses.anchor_tables import label_categories
    from uiproof.benchmarks.interaction2code.graph import Graph
    from uiproof.benchmarks.interaction2code.layout import read_dataset

    graphs = [page for page in read_dataset(dataset) if isinstance(page, Graph)]
    return [
        label_categories(labels.failures, graphs, "tags"),
        label_categories(labels.failures, graphs, "visuals"),
    ]


def _dataset(name: str) -> Path:
    from uiproof.errors import InputError
    from uiproof.registry import resolve_dataset

    if Path(name).expanduser().exists():
        return Path(name).expanduser()
    benchmark, path = resolve_dataset(name)
    if benchmark.name != "interaction2code":
        raise InputError(
            f"{name} is a data set of {benchmark.name}.",
            remedy="These statistics are of Interaction2Code data sets only.",
        )
    return path


def _write(target: str, content: Any) -> None:
    import json

    from uiproof.export import replacing

    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    with replacing(target) as stream:
        stream.write(text)


def _say_written(paths: list[Path], json: str | None) -> None:
    for path in paths:
        typer.echo(f"Written: {path}", err=json == "-")
