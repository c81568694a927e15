"""Runs in experiment trackers."""

from __future__ import annotations

from typing import Annotated

import typer

from uiproof.cli.app import app
from uiproof.cli.options import Runs


@app.command()
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
    from uiproof.errors import UsageError

    if (wandb is None) == (mlflow is None):
        raise UsageError("Where to?", remedy="Name either --wandb PROJECT or --mlflow EXPERIMENT.")
    if wandb is not None and tracking_uri is not None:
        raise UsageError("--tracking-uri is for MLflow.", remedy="Leave it out.")
    if mlflow is not None and entity is not None:
        raise UsageError("--entity is for Weights & Biases.", remedy="Leave it out.")
    if wandb is not None:
        ids = uiproof.track_wandb(runs, project=wandb, entity=entity, report=report)
    else:
        ids = uiproof.track_mlflow(
            runs, experiment=str(mlflow), tracking_uri=tracking_uri, report=report
        )
    for run, id in zip(runs, ids, strict=True):
        typer.echo(f"{run}: {id}")
