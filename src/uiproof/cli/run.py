"""Verbs that run methods and models on data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from uiproof.cli.main import JUDGE_OPTIONS
from uiproof.cli.options import (
    Cases,
    Concurrency,
    Executor,
    Json,
    Limit,
    MaxCost,
    MaxRequests,
    MaxTokens,
    Quiet,
    RayAddress,
    RetryFailed,
    Runs,
    Seed,
    Tall,
    TallPictures,
    Temperature,
    Timeout,
    Web,
    Where,
    Workers,
    on_this_machine,
)
from uiproof.cli.results import check_json, exit_for, print_matrix, print_plans, print_result


def demo(
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the runs and the report. [default: runs/demo, report.html]"),
    ] = None,
    limit: Limit = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Try every benchmark on bundled data with built-in methods.

    Prints a table of each and writes reports that open in any browser.
    """
    import uiproof

    shown = uiproof.demo(out, limit=limit, workers=workers, quiet=quiet)
    for one in shown:
        typer.echo(f"{one.benchmark}\n{uiproof.comparison(one.runs)}\n")
    for one in shown:
        typer.echo(f"Report: {one.report}")
        if one.differences is not None:
            typer.echo(f"Differences of one pair: {one.differences}")
    exit_for([run for one in shown for run in one.runs], quiet=quiet)


def run(
    context: typer.Context,
    dataset: Annotated[
        str,
        typer.Option(
            metavar="DATASET", help="A folder, a URL, or a name that `uiproof list` shows."
        ),
    ],
    method: Annotated[
        list[str],
        typer.Option(
            metavar="METHOD",
            help="blueprint, replay:FOLDER, openai/gpt-4o, …: see `uiproof list`; or a function of "
            "yours, my_module:function. May be repeated.",
        ),
    ],
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROMPT",
            help="How models are asked, with options after a colon where there are some, such as "
            "mark:all,V+T: see `uiproof list`; or a text file with slots, my_prompt.md. May be "
            "repeated. [default: the first]",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="The run's directory, or the folder for several; may be a URL such as "
            "s3://bucket/runs/mine. [default: runs/DATASET-METHOD]",
        ),
    ] = None,
    limit: Limit = None,
    case: Cases = None,
    samples: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Answers for each case; shows best of N and pass@k."),
    ] = 1,
    pass_score: Annotated[
        float | None,
        typer.Option(
            metavar="SCORE", help="The least score that passes, for pass@k. [default: 0.9]"
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="K/N", help="Only part K of N; `uiproof merge` joins the runs."),
    ] = None,
    workers: Workers = None,
    executor: Where = Executor.processes,
    ray_address: RayAddress = None,
    retry_failed: RetryFailed = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only estimate requests, tokens and dollars."),
    ] = False,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    concurrency: Concurrency = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    seed: Seed = None,
    timeout: Timeout = None,
    tall: Tall = TallPictures.SPLIT,
    omniparser_url: Annotated[
        str | None, typer.Option(metavar="URL", help="[default: EVAL_OMNIPARSER_URL]")
    ] = None,
    uitars_url: Annotated[
        str | None, typer.Option(metavar="URL", help="[default: EVAL_UITARS_URL]")
    ] = None,
    dataset_dir: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="The folder in which --dataset is found by its name. "
            "[default: EVAL_DATASETS_DIR or evaluation/datasets]",
        ),
    ] = None,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="For result files, where a benchmark writes some. [default: EVAL_RESULTS_DIR, or "
            "evaluation/results unless --out is given]",
            callback=on_this_machine,
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The rules that methods follow: see `uiproof list`. [default: the first]",
        ),
    ] = None,
    web: Web = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run a method on a data set. The same command continues an unfinished run.

    Several methods or prompts make a matrix: every model with every prompt, each a separate run.
    Answers of models are cached (see `uiproof cache`), so nothing is paid for twice.

    \b
    Examples:
      {examples}
      uiproof run --dataset my/pages --method compatible:http://localhost:8000/v1#Qwen2.5-VL-7B
      uiproof run --dataset my/pages --method openai/gpt-4o --prompt my_prompt.md --case 7
      uiproof run --dataset my/pages --method openai/gpt-4o --samples 5 --temperature 0.7
      uiproof run --dataset my/pages --method my_module:function
    """
    import uiproof

    check_json(json)
    if dataset_dir is not None:
        dataset = f"{dataset_dir.rstrip('/')}/{dataset}"
    settings = uiproof.Settings.from_environment(
        omniparser_url=omniparser_url, uitars_url=uitars_url
    )
    models = uiproof.ModelOptions.of(
        concurrency=concurrency,
        timeout=timeout,
        tall=tall.value,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
    )
    options: dict[str, Any] = {
        "prompts": prompt or [],
        "out": out,
        "limit": limit,
        "cases": case or [],
        "samples": samples,
        "pass_score": pass_score,
        "shard": shard,
        "workers": workers,
        "executor": executor.value,
        "ray_address": ray_address,
        "retry_failed": retry_failed,
        "quiet": quiet,
        "models": models,
        "protocol": protocol,
        "settings": settings,
    }
    chosen = context.meta.get(JUDGE_OPTIONS, {})
    if dry_run:
        print_plans(uiproof.plan(dataset, method, **options, **chosen), json)
        return
    budget = uiproof.Budget(max_cost=max_cost, max_requests=max_requests)
    judge_options: dict[str, Any] = {} if web is None else {"web": web}
    matrix = uiproof.run_matrix(
        dataset,
        method,
        budget=budget,
        results_dir=output_dir,
        **options,
        **judge_options,
        **chosen,
    )
    print_matrix(matrix, json, quiet=quiet)


def merge(
    runs: Runs,
    out: Annotated[str, typer.Option(metavar="DIR", help="Where the new run goes; may be a URL.")],
    partial: Annotated[
        bool, typer.Option("--partial", help="Merge even if shards are missing or unfinished.")
    ] = False,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Join shards, or other runs with the same settings, into one run.

    Refuses runs that differ in data set, method, settings, version or environment, and names the
    difference. The runs themselves are not changed. `uiproof run` with the same options and this
    --out finishes what was merged with --partial.

    \b
    Example:
      uiproof run --dataset my/pages --method blueprint --shard 1/2 --out shards/1
      uiproof run --dataset my/pages --method blueprint --shard 2/2 --out shards/2
      uiproof merge shards/1 shards/2 --out runs/blueprint
    """
    import uiproof

    check_json(json)
    merged = uiproof.merge(runs, out, partial=partial)
    print_result(merged, json)
    exit_for([merged], quiet=quiet, kept=True)
