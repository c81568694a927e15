"""Joining runs that were made apart."""

from __future__ import annotations

from typing import Annotated

import typer

from uiproof.cli.app import app
from uiproof.cli.options import Json, Quiet, Runs
from uiproof.cli.results import check_json, exit_for, print_result


@app.command()
def merge(
    runs: Runs,
    out: Annotated[str, typer.Option(metavar="DIR", help="Where the new run goes; may be a URL.")],
    partial: Annotated[
        bool, typer.Option("--partial", help="Although shards are missing or unfinished.")
    ] = False,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Join shards, or other runs of the same thing, into one run.

    Refuses runs that differ in data set, method, settings, version or environment, and says in
    what. The runs stay as they are. `uiproof run` with the same options and this --out continues
    what was merged with --partial.

    \b
    Example:
      uiproof run --dataset design2code --method blueprint --shard 1/2 --out shards/1
      uiproof run --dataset design2code --method blueprint --shard 2/2 --out shards/2
      uiproof merge shards/1 shards/2 --out runs/blueprint
    """
    import uiproof

    check_json(json)
    merged = uiproof.merge(runs, out, partial=partial)
    print_result(merged, json)
    exit_for([merged], quiet=quiet)
