"""Results as files that others can check and rank."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from uiproof.cli.app import app
from uiproof.cli.options import Json, Runs
from uiproof.cli.results import check_json
from uiproof.endings import EXIT_FAILED_CASES

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Submissions.")]


@app.command()
def submit(
    runs: Runs,
    name: Annotated[str, typer.Option(help="What leaderboards call it.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")] = Path(
        "submission.json"
    ),
    by: Annotated[str | None, typer.Option(metavar="TEAM", help="Who submits.")] = None,
    link: Annotated[str | None, typer.Option(metavar="URL", help="Where to read more.")] = None,
    note: Annotated[str | None, typer.Option(help="What others should know.")] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Although runs do not cover their data set.")
    ] = False,
) -> None:
    """Write runs as one file for a leaderboard.

    The file holds the scores of every case, settings and versions, and neither pages, prompts,
    secrets nor paths. Runs that are unfinished, limited or shards are refused without --partial.

    \b
    Example:
      uiproof submit runs/model-x --name "Model X" --by "Team Y" --out model-x.json
      uiproof check model-x.json
    """
    import uiproof

    uiproof.write_submission(runs, out, name=name, by=by, link=link, note=note, partial=partial)
    typer.echo(f"Submission: {out}")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A submission.")],
    dataset: Annotated[
        str | None, typer.Option(metavar="D", help="Must be about all cases of this data set.")
    ] = None,
) -> None:
    """Check a submission: its form, its digest, and whether its summary is that of its cases.

    Ends with 0 where all is well and with 1 where something is wrong; each problem is one line.

    \b
    Examples:
      uiproof check submission.json
      uiproof check submission.json --dataset design2code
    """
    import uiproof

    problems = uiproof.check_submission(file, dataset=dataset)
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise typer.Exit(EXIT_FAILED_CASES)
    typer.echo(f"{file}: nothing is wrong.")


@app.command()
def leaderboard(
    files: Files,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as markdown.")] = False,
    json: Json = None,
) -> None:
    """Check submissions and rank them by the main metric of their benchmark.

    Says who cannot be told from the leader (paired test on the same cases), and who is not
    comparable and why. Ends with 1 where a file is not as it should be.

    \b
    Examples:
      uiproof leaderboard submissions/*.json
      uiproof leaderboard submissions/*.json --markdown >> notes.md
    """
    import uiproof
    from uiproof.export import write_ranking
    from uiproof.submissions import showing

    check_json(json)
    board = uiproof.rank_submissions(files)
    if json is not None:
        write_ranking(board, sys.stdout if json == "-" else json)
    if json != "-":
        typer.echo(showing.markdown(board) if markdown else showing.table(board))
    if not all(one.valid for one in board.apart):
        raise typer.Exit(EXIT_FAILED_CASES)
