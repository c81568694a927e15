"""Verbs that score what was generated elsewhere."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from uiproof.cli.app import score_app
from uiproof.cli.options import (
    Executor,
    Json,
    Limit,
    Quiet,
    RayAddress,
    RetryFailed,
    Where,
    Workers,
)
from uiproof.cli.results import check_json, exit_for, print_result


@score_app.command("design2code")
def score_design2code(
    reference: Annotated[
        str, typer.Argument(metavar="REFERENCE", help="A page, or a folder of pages; or its URL.")
    ],
    generated: Annotated[
        str, typer.Argument(metavar="GENERATED", help="A page, or a folder with the same names.")
    ],
    json: Json = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Keep the run, with renderings, there; may be a URL."),
    ] = None,
    limit: Limit = None,
    workers: Workers = None,
    executor: Where = Executor.processes,
    ray_address: RayAddress = None,
    retry_failed: RetryFailed = False,
    quiet: Quiet = False,
) -> None:
    """Score generated pages against reference pages with the Design2Code metrics.

    A reference without a generated page counts as failed, never as left out.

    \b
    Examples:
      uiproof score design2code reference.html generated.html
      uiproof score design2code reference/ generated/ --json scores.json
      uiproof score design2code reference/ generated/ --out runs/mine && uiproof report runs/mine
    """
    import uiproof

    check_json(json)
    if ray_address is not None:
        os.environ["RAY_ADDRESS"] = ray_address
    finished = uiproof.score_folders(
        reference,
        generated,
        out=out,
        limit=limit,
        workers=workers,
        executor=executor.value,
        retry_failed=retry_failed,
        quiet=quiet,
    )
    print_result(finished, json)
    exit_for([finished], quiet=quiet)


@score_app.command("interaction2code")
def score_interaction2code(
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
            help="PAGE/K-*.html for interaction K, also in PAGE/result; or PAGE.html for all.",
        ),
    ],
    json: Json = None,
    variant: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which, if there are several: direct_prompt-gpt."),
    ] = None,
    published_contours: Annotated[
        bool,
        typer.Option(
            "--published-contours",
            help="Positions of the paper profile by the published rule, which misses most marks.",
        ),
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Keep the run, with pictures, there; may be a URL."),
    ] = None,
    limit: Limit = None,
    workers: Workers = None,
    executor: Where = Executor.processes,
    ray_address: RayAddress = None,
    retry_failed: RetryFailed = False,
    quiet: Quiet = False,
) -> None:
    """Act on generated pages and score their interactions against a data set.

    An interaction without a generated page counts as failed, never as left out.

    \b
    Examples:
      uiproof score interaction2code dataset/ generated/ --json scores.json
      uiproof score interaction2code dataset/ dataset/ --variant mark_prompt-gpt
      uiproof score interaction2code dataset/ mine/ --out runs/mine && uiproof report runs/mine
    """
    import uiproof

    check_json(json)
    if ray_address is not None:
        os.environ["RAY_ADDRESS"] = ray_address
    finished = uiproof.score_interactions(
        dataset,
        generated,
        variant=variant,
        contours=published_contours,
        out=out,
        limit=limit,
        workers=workers,
        executor=executor.value,
        retry_failed=retry_failed,
        quiet=quiet,
    )
    if json != "-":
        from uiproof.benchmarks.interaction2code.analyses.printing import score_table

        if json is not None:
            uiproof.write_json(finished, json)
        typer.echo(score_table(finished.summary))
    else:
        print_result(finished, json)
    exit_for([finished], quiet=quiet)
