"""Verbs that run methods on data sets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from uiproof.cli.app import app
from uiproof.cli.options import (
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
    Seed,
    Tall,
    TallPictures,
    Temperature,
    Timeout,
    Where,
    Workers,
)
from uiproof.cli.results import check_json, exit_for, print_matrix, print_plans


@app.command()
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
    exit_for([run for one in shown for run in one.runs], quiet=quiet)


@app.command()
def run(
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
            help="blueprint, replay:FOLDER, openai/gpt-4o, …: see `uiproof list`. May be repeated.",
        ),
    ],
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROMPT",
            help="How models are asked, with options after a colon where there are some, such as "
            "mark:all,V+T: see `uiproof list`. May be repeated. [default: the first]",
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
        typer.Option("--dry-run", help="Only say how many requests, tokens and dollars it takes."),
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
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run a method on a data set. Running again continues what is there.

    Several methods or prompts make a matrix: every model with every prompt, each a run of its own.
    Answers of models are kept in a cache (see `uiproof cache`), so nothing is paid for twice.

    \b
    Examples:
      uiproof run --dataset design2code-demo --method blueprint
      uiproof run --dataset design2code --method replay:predictions/ --out runs/mine --limit 50
      uiproof run --dataset design2code --method openai/gpt-4o --prompt direct --dry-run
      uiproof run --dataset design2code --method openai/gpt-4o --method google/gemini-2.5-pro \\
                  --prompt direct --prompt self-revision --max-cost 20
      uiproof run --dataset interaction2code-demo --method openai/gpt-4o \\
                  --prompt direct --prompt mark --prompt mark:all --prompt direct:T
      uiproof run --dataset design2code --method blueprint --shard 3/16 --out shards/3
      uiproof run --dataset s3://bucket/pages --method replay:s3://bucket/predictions \\
                  --out s3://bucket/runs/mine
      uiproof run --dataset my/pages --method compatible:http://localhost:8000/v1#Qwen2.5-VL-7B
    """
    import uiproof

    check_json(json)
    for name, url in (
        ("EVAL_OMNIPARSER_URL", omniparser_url),
        ("EVAL_UITARS_URL", uitars_url),
        ("RAY_ADDRESS", ray_address),
    ):
        if url is not None:
            os.environ[name] = url
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
        "shard": shard,
        "workers": workers,
        "executor": executor.value,
        "retry_failed": retry_failed,
        "quiet": quiet,
        "models": models,
    }
    if dry_run:
        print_plans(uiproof.plan(dataset, method, **options), json)
        return
    budget = uiproof.Budget(max_cost=max_cost, max_requests=max_requests)
    matrix = uiproof.run_matrix(dataset, method, budget=budget, **options)
    print_matrix(matrix, json, quiet=quiet)
