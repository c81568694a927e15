"""Results for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uiproof.cli.app import app
from uiproof.cli.options import Runs


@app.command()
def export(
    runs: Runs,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Ends in .jsonl, .csv or .parquet.")
    ] = Path("results.csv"),
) -> None:
    """Write every case of runs as one row of a table.

    Columns are the run, the case, its error and flags, every score by its path (`paper.text`), and
    the seconds of each stage. In Python, `uiproof.dataframe(runs)` is the same for pandas.

    \b
    Examples:
      uiproof export runs/demo/blueprint runs/demo/replay --out results.csv
      uiproof export runs/* --out results.parquet
    """
    import uiproof

    uiproof.write_table(runs, out)
    typer.echo(f"Table: {out}")
