"""Verbs of Interaction2Code: collect pages, score, describe data, recompute published numbers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uiproof.cli.main import EXIT_FAILED_CASES
from uiproof.cli.options import (
    Cases,
    Concurrency,
    Executor,
    Json,
    Limit,
    MaxCost,
    MaxRequests,
    ModelNames,
    Quiet,
    RayAddress,
    RetryFailed,
    RunOut,
    Runs,
    Timeout,
    Web,
    Where,
    Workers,
    model_names,
    on_this_machine,
)
from uiproof.cli.results import check_json, exit_for, print_matrix, print_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uiproof.benchmarks.interaction2code.collect import Outcome

Charts = Annotated[Path | None, typer.Option(help="Draw charts into this folder.")]


def score(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET", help="A folder with a folder for each page; its URL, or a name."
        ),
    ],
    generated: Annotated[
        str,
        typer.Argument(
            metavar="GENERATED",
            help="PAGE/K-*.html for interaction K, also in PAGE/result; PAGE.html for all, also in "
            "a folder for each model.",
        ),
    ],
    json: Json = None,
    variant: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this one of several, such as direct_prompt-gpt."),
    ] = None,
    name: ModelNames = None,
    published_contours: Annotated[
        bool,
        typer.Option(
            "--published-contours",
            help="Positions of the paper profile by the published rules, which miss most marks.",
        ),
    ] = False,
    out: RunOut = None,
    limit: Limit = None,
    case: Cases = None,
    workers: Workers = None,
    executor: Where = Executor.processes,
    ray_address: RayAddress = None,
    retry_failed: RetryFailed = False,
    web: Web = None,
    quiet: Quiet = False,
) -> None:
    """Act on generated pages and score their interactions against a data set.

    An interaction without a generated page counts as failed, never as left out. Where there are
    several pages for an interaction, as in the published result folders, every variant is scored:
    a run for each below --out, and the paper's tables by model and prompt.

    \b
    Examples:
      uiproof score interaction2code dataset/ generated/ --json scores.json
      uiproof score interaction2code dataset/ dataset/ --out runs/published --name gpt=GPT-4o
      uiproof score interaction2code dataset/ dataset/ --variant mark_prompt-gpt
      uiproof score interaction2code dataset/ mine/ --out runs/mine && uiproof report runs/mine
    """
    import uiproof

    check_json(json)
    options: dict[str, Any] = {
        "names": model_names(name),
        "contours": published_contours,
        "out": out,
        "limit": limit,
        "cases": tuple(case or ()),
        "workers": workers,
        "executor": executor.value,
        "ray_address": ray_address,
        "retry_failed": retry_failed,
        "web": web,
        "quiet": quiet,
    }
    if variant is None:
        matrix = uiproof.score_variants(dataset, generated, **options)
        if not matrix.alone:
            print_matrix(matrix, json, quiet=quiet)
            return
        (finished,) = matrix.runs
    else:
        finished = uiproof.score_interactions(dataset, generated, variant=variant, **options)
    if json == "-":
        print_result(finished, json)
    else:
        from uiproof.benchmarks.interaction2code.analyses.tables import score_table

        if json is not None:
            uiproof.write_json(finished, json)
        typer.echo(score_table(finished.summary))
    exit_for([finished], quiet=quiet or json == "-", kept=out is not None)


def collect(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="URL|FILE|FOLDER...", help="Pages, folders with pages, or addresses."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="The folder to write; for many pages, a folder for each is made in it.",
            callback=on_this_machine,
        ),
    ],
    most: Annotated[
        int,
        typer.Option("--most", "-n", min=1, metavar="N", help="Interactions to keep of a page."),
    ] = 10,
    at_least: Annotated[
        int, typer.Option(min=1, metavar="N", help="Leave out pages with fewer interactions.")
    ] = 1,
    depth: Annotated[
        int,
        typer.Option(min=1, max=4, metavar="N", help="1: the page as loaded; 2: what opens, too."),
    ] = 2,
    links: Annotated[
        bool, typer.Option("--links", help="Keep links that leave the page as interactions.")
    ] = False,
    root: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder above the page whose files it may use."),
    ] = None,
    topic: Annotated[str | None, typer.Option(help="What the page is about, such as shop.")] = None,
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="Fetch a live page, once, without cookies.")
    ] = False,
    viewport: Annotated[
        str, typer.Option(metavar="WxH", help="The size of the window.")
    ] = "1280x720",
    quiet: Quiet = False,
) -> None:
    """Explore pages and keep their meaningful interactions.

    Every action that fits an element is tried, also in dialogs and menus that open; trivial
    effects, duplicates and links that leave the page are dropped. The result is a page of an
    Interaction2Code data set: screenshots before and after, marks, crops, action.json, and the page
    itself. Many pages can be interrupted and continued.

    \b
    Examples:
      uiproof collect shop/index.html --out data/shop --topic shop
      uiproof collect site/ --out data --at-least 2
      uiproof collect site/menus/menu.html --root site --out data/menu
      uiproof collect https://example.com --allow-network --out data/example -n 4
    """
    from uiproof.benchmarks.interaction2code.collect import (
        collect_page,
        collect_pages,
        is_many,
    )
    from uiproof.engine.progress import make_progress

    options: dict[str, Any] = {
        "most": most,
        "at_least": at_least,
        "depth": depth,
        "links": links,
        "root": root,
        "topic": topic,
        "allow_network": allow_network,
        "viewport": _window_size(viewport),
        "progress": make_progress(quiet),
    }
    if is_many(sources):
        outcomes: list[Outcome] = []
        for one in collect_pages(sources, out, **options):
            outcomes.append(one)
            if not quiet:
                typer.echo(f"{one.page}: {one.error or f'{one.kept} interactions'}", err=True)
        typer.echo(_outcomes_table(outcomes))
        if any(one.error for one in outcomes):
            raise typer.Exit(EXIT_FAILED_CASES)
        return
    found = collect_page(sources[0], out, **options)
    for interaction in found.graph.interactions:
        inside = "    " if found.graph.way_to(interaction) else ""
        looks = ", ".join(interaction.visuals)
        typer.echo(f"{interaction.id:>3}  {inside}{interaction.sentence}  [{looks}]")
    if found.dropped and not quiet:
        said = ", ".join(f"{count} {reason}" for reason, count in sorted(found.dropped.items()))
        typer.echo(f"Dropped of {found.tried} actions: {said}.", err=True)
    if found.missing:
        names = ", ".join(found.missing[:3]) + (", …" if len(found.missing) > 3 else "")
        text = f"Missing files ({len(found.missing)}): {names}."
        typer.echo(f"{text} Name a folder that holds them with --root.", err=True)
    typer.echo(str(out))


def _outcomes_table(outcomes: Sequence[Outcome]) -> str:
    from uiproof.tables import Table, console

    reasons = sorted({reason for one in outcomes for reason in one.dropped})
    rows = []
    for one in outcomes:
        dropped = [one.dropped.get(reason, 0) for reason in reasons]
        rows.append((one.page, *map(str, (one.kept, one.tried, *dropped, one.missing)), one.error))
    header = ("page", "kept", "tried", *reasons, "missing files", "left out because")
    good = sum(not one.error for one in outcomes)
    return console([Table(f"{good} of {len(outcomes)} pages collected", header, tuple(rows))])


def graph(
    page: Annotated[
        Path, typer.Argument(metavar="PAGE", help="The folder of a page, with its action.json.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The SVG file; PAGE/graph.svg by default."),
    ] = None,
) -> None:
    """Draw the interaction graph of a page as SVG: screenshots, and the actions between them.

    \b
    Example:
      uiproof graph data/shop --out shop.svg
    """
    from uiproof.benchmarks.interaction2code.drawing import draw_graph
    from uiproof.benchmarks.interaction2code.graph import read_graph
    from uiproof.files import write_atomic

    found = read_graph(page)
    to = out or page / "graph.svg"
    write_atomic(to, draw_graph(found).encode())
    typer.echo(str(to))


def _window_size(text: str) -> tuple[int, int]:
    from uiproof.errors import UsageError

    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and int(width) and int(height)):
        raise UsageError(f"{text} is not a window size.", remedy="Write it as 1280x720.")
    return int(width), int(height)


def opinion(
    runs: Runs,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="The chat model, such as openai/gpt-4o.")
    ],
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    quiet: Quiet = False,
) -> None:
    """Ask a chat model for a second opinion on runs, and print how far it agrees.

    It sees the pictures before and after, not the verdicts. Its opinions are kept in the run, in
    opinions.json; they change no score.

    \b
    Example:
      uiproof opinion runs/mine --model openai/gpt-4o --max-cost 5
    """
    import uiproof

    options = uiproof.ModelOptions.of(concurrency=concurrency, timeout=timeout)
    budget = uiproof.Budget(max_cost=max_cost, max_requests=max_requests)
    for run in runs:
        said = uiproof.second_opinion(run, model, quiet=quiet, models=options, budget=budget)
        left_out = f"; {said.not_asked} without pictures" if said.not_asked else ""
        failed = f"; {said.failed} without an opinion" if said.failed else ""
        typer.echo(f"{run}: {len(said.opinions)} interactions{left_out}{failed}")
        for name, found in (("usable", said.usable), ("failure type", said.failure)):
            kappa = "not defined" if found["kappa"] is None else f"{found['kappa']:.2f}"
            if found["n"]:
                typer.echo(f"  {name}: the same in {found['accuracy']:.1%}, kappa {kappa}")


def anchors(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="The published label files, in it or below it; or WebVIA's pages, or MRWeb.",
        ),
    ],
    run: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN", help="Compare this run with WebVIA's verdicts; repeatable."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="Also by category, with the categories of this data set."),
    ] = None,
    charts_dir: Charts = None,
    json: Json = None,
) -> None:
    """Recompute published numbers from the data that they were published with.

    For Interaction2Code from the labels of people; for WebVIA from its verdicts, with the agreement
    of runs; for MRWeb from its pictures. Prints ours beside theirs. Exit code 1 when a number
    differs that is not known to, or when something could not be read.

    \b
    Examples:
      uiproof anchors human_evaluation
      uiproof anchors webvia/pages --run runs/webvia/gpt4o
      uiproof anchors MRWeb
      uiproof anchors human_evaluation --json anchors.json
      uiproof anchors human_evaluation --dataset interaction2code
    """
    from uiproof.benchmarks.interaction2code.analyses.anchors import (
        agree,
        anchor_tables,
        as_json,
        label_categories,
        recompute,
        verdict,
    )
    from uiproof.benchmarks.interaction2code.analyses.labels import read_label_folder
    from uiproof.benchmarks.interaction2code.graph import Graph, read_dataset
    from uiproof.tables import console

    check_json(json)
    if _other_anchors(folder, run or [], json):
        return
    labels = read_label_folder(folder)
    found = recompute(labels)
    if json is not None:
        _write(json, as_json(found, labels))
    tables = anchor_tables(found, labels)
    if dataset is not None:
        pages = [page for page in read_dataset(_dataset(dataset)) if isinstance(page, Graph)]
        edges = [(page.page, one) for page in pages for one in page.interactions]
        tags = {(page, one.id): one.tags for page, one in edges}
        visuals = {(page, one.id): one.visuals for page, one in edges}
        tables.append(label_categories(labels.failures, tags, "tags"))
        tables.append(label_categories(labels.failures, visuals, "visuals"))
    if json != "-":
        typer.echo(console(tables))
        typer.echo(f"\n{verdict(found)}")
    if charts_dir is not None:
        from uiproof.benchmarks.interaction2code.analyses.charts import draw_label_charts

        _say_written(draw_label_charts(labels, charts_dir), json)
    for problem in labels.problems:
        typer.echo(f"not read: {problem}", err=True)
    if labels.problems or not agree(found):
        raise typer.Exit(EXIT_FAILED_CASES)


def _other_anchors(folder: Path, runs: list[str], json: str | None) -> bool:
    """Print what a benchmark knows about a folder; return whether one knows it."""
    from uiproof.engine.rundir import RunDirectory
    from uiproof.errors import UsageError
    from uiproof.registry import benchmarks
    from uiproof.tables import console

    opened = [RunDirectory.of(one, pictures=False) for one in runs]
    for benchmark in benchmarks().values():
        if (found := benchmark.anchors(folder, opened)) is not None:
            if json is not None:
                _write(json, found.content)
            if json != "-":
                typer.echo(console(found.tables))
                typer.echo(f"\n{found.verdict}")
            if not found.agrees:
                raise typer.Exit(EXIT_FAILED_CASES)
            return True
    if runs:
        raise UsageError(
            f"{folder} has no published verdicts to compare runs with.", remedy="Drop --run."
        )
    return False


def stats(
    dataset: Annotated[
        str,
        typer.Argument(metavar="DATASET", help="A folder, or a name that `uiproof list` shows."),
    ],
    charts_dir: Charts = None,
    json: Json = None,
) -> None:
    """Describe an Interaction2Code data set: topics, tags, effects, pages, visual saliency.

    Pages with their HTML are rendered to count interactive elements. Exit code 1 when something
    could not be read.

    \b
    Examples:
      uiproof stats interaction2code-demo
      uiproof stats interaction2code --charts-dir charts --json stats.json
    """
    from uiproof.benchmarks.interaction2code.analyses.statistics import (
        dataset_statistics,
        statistics_tables,
    )
    from uiproof.tables import console

    check_json(json)
    found = dataset_statistics(_dataset(dataset))
    if json is not None:
        _write(json, found.as_json())
    if json != "-":
        typer.echo(console(statistics_tables(found)))
    if charts_dir is not None:
        from uiproof.benchmarks.interaction2code.analyses.charts import draw_dataset_charts

        _say_written(draw_dataset_charts(found, charts_dir), json)
    for name, error in found.broken:
        typer.echo(f"not read: {name}: {error}", err=True)
    if found.broken:
        raise typer.Exit(EXIT_FAILED_CASES)


def _dataset(name: str) -> Path:
    from uiproof.benchmarks.interaction2code import BENCHMARK
    from uiproof.errors import InputError
    from uiproof.registry import resolve_dataset

    if Path(name).expanduser().exists():
        return Path(name).expanduser()
    benchmark, path = resolve_dataset(name)
    if benchmark.name != BENCHMARK.name:
        raise InputError(
            f"{name} is a data set of {benchmark.name}.",
            remedy="These statistics are of Interaction2Code data sets only.",
        )
    return path


def _write(target: str, content: Any) -> None:
    from uiproof.export import write_document

    write_document(content, sys.stdout if target == "-" else target, indent=2)


def _say_written(paths: list[Path], json: str | None) -> None:
    for path in paths:
        typer.echo(f"Written: {path}", err=json == "-")
