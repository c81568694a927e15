"""Verbs that score what was generated elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uiproof.cli.app import score_app
from uiproof.cli.options import Executor, Json, Limit, Quiet, RetryFailed, Where, Workers
from uiproof.cli.results import check_json, exit_for, print_result


@score_app.command("design2code")
def score_design2code(
    reference: Annotated[
        Path, typer.Argument(metavar="REFERENCE", help="A page, or a folder of pages.")
    ],
    generated: Annotated[
        Path, typer.Argument(metavar="GENERATED", help="A page, or a folder with the same names.")
    ],
    json: Json = None,
    out: Annotated[
        Path | None, typer.Option(help="Keep the run, with renderings, in this directory.")
    ] = None,
    limit: Limit = None,
    workers: Workers = None,
    executor: Where = Executor.processes,
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
