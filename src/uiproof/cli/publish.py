"""Verbs that publish results: submissions, leaderboards, experiment trackers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from uiproof.cli.main import EXIT_FAILED_CASES
from uiproof.cli.options import Json, Runs
from uiproof.cli.results import check_json
from uiproof.errors import UsageError

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Submissions.")]


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
        bool, typer.Option("--partial", help="Even if runs do not cover their data set.")
    ] = False,
    hub: Annotated[
        str | None,
        typer.Option(metavar="OWNER/SET", help="Write the hub's .eval_results form instead."),
    ] = None,
) -> None:
    """Write runs as one file for a leaderboard.

    The file holds the scores of every case, settings and versions, and neither pages, prompts,
    secrets nor paths. Runs that are unfinished, limited or shards are refused without --partial.

    \b
    Example:
      uiproof submit runs/model-x --name "Model X" --by "Team Y" --out model-x.json
      uiproof check model-x.json
      uiproof submit runs/model-x --name "Model X" --hub likaixin/ScreenSpot-Pro
    """
    import uiproof

    if hub is not None:
        from uiproof.submissions.writing import write_hub_results

        target = Path(".eval_results/uiproof.yaml") if out == Path("submission.json") else out
        target.parent.mkdir(parents=True, exist_ok=True)
        write_hub_results(runs, target, dataset=hub, link=link, note=note)
        typer.echo(f"Hub results: {target}")
        return
    uiproof.write_submission(runs, out, name=name, by=by, link=link, note=note, partial=partial)
    typer.echo(f"Submission: {out}")


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A submission.")],
    dataset: Annotated[
        str | None, typer.Option(metavar="D", help="Must be about all cases of this data set.")
    ] = None,
) -> None:
    """Check a submission: its form, its digest, and whether its summary is that of its cases.

    Exits with 0 if it is valid and with 1 if not; each problem is one line.

    \b
    Examples:
      uiproof check submission.json
      uiproof check submission.json --dataset my/pages
    """
    import uiproof

    problems = uiproof.check_submission(file, dataset=dataset)
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise typer.Exit(EXIT_FAILED_CASES)
    typer.echo(f"{file}: nothing is wrong.")


def leaderboard(
    files: Files,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as markdown.")] = False,
    json: Json = None,
) -> None:
    """Check submissions and rank them by the main metric of their benchmark.

    Marks those that do not differ from the leader (paired test on the same cases), and those that
    are not comparable and why. Exits with 1 if a file is invalid.

    \b
    Examples:
      uiproof leaderboard submissions/*.json
      uiproof leaderboard submissions/*.json --markdown >> notes.md
    """
    import uiproof
    from uiproof.export import write_document
    from uiproof.submissions.ranking import ranking_json, ranking_markdown, ranking_table

    check_json(json)
    board = uiproof.rank_submissions(files)
    if json is not None:
        write_document(ranking_json(board), sys.stdout if json == "-" else json)
    if json != "-":
        typer.echo(ranking_markdown(board) if markdown else ranking_table(board))
    if not all(one.valid for one in board.apart):
        raise typer.Exit(EXIT_FAILED_CASES)


def track(
    runs: Runs,
    wandb: Annotated[
        str | None, typer.Option(metavar="PROJECT", help="A project in Weights & Biases.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option(metavar="E", help="The team or user it belongs to.")
    ] = None,
    mlflow: Annotated[
        str | None, typer.Option(metavar="EXPERIMENT", help="An experiment in MLflow.")
    ] = None,
    tracking_uri: Annotated[
        str | None,
        typer.Option(
            metavar="URI", help="An MLflow server or a folder. [default: MLFLOW_TRACKING_URI]"
        ),
    ] = None,
    report: Annotated[bool, typer.Option("--report", help="Send the HTML report, too.")] = False,
) -> None:
    """Send runs to Weights & Biases or MLflow: parameters, means with intervals, cases.

    Each run becomes one run there; doing it again updates it. With WANDB_MODE=offline nothing
    leaves this machine until `wandb sync`. Neither secrets nor paths of this machine are sent.

    \b
    Examples:
      uiproof track runs/* --wandb my-project
      uiproof track runs/* --mlflow my-experiment --tracking-uri http://localhost:5000
      uiproof track runs/* --mlflow my-experiment --tracking-uri mlruns --report
    """
    import uiproof

    if (wandb is None) == (mlflow is None):
        raise UsageError(
            "No tracker given.", remedy="Name either --wandb PROJECT or --mlflow EXPERIMENT."
        )
    if wandb is not None and tracking_uri is not None:
        raise UsageError("--tracking-uri is for MLflow.", remedy="Drop it.")
    if mlflow is not None and entity is not None:
        raise UsageError("--entity is for Weights & Biases.", remedy="Drop it.")
    if wandb is not None:
        ids = uiproof.track_wandb(runs, project=wandb, entity=entity, report=report)
    else:
        ids = uiproof.track_mlflow(
            runs, experiment=str(mlflow), tracking_uri=tracking_uri, report=report
        )
    for run, id in zip(runs, ids, strict=True):
        typer.echo(f"{run}: {id}")
