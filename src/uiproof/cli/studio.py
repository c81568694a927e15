"""The studio, and its labels without a browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from uiproof.cli.app import app, group

studio_app = group(
    """Browse runs and annotate them in a web browser; labels in and out as files.

    Listens on this machine only and prints an address with a token. Labels go to one file,
    studio.sqlite3 in the folder of runs.

    \b
    Examples:
      uiproof studio                                      the runs in runs/
      uiproof studio --runs results --dataset screenshots/
      uiproof studio --host 0.0.0.0 --annotator Ann --annotator Ben --annotator Cleo
    """
)
app.add_typer(studio_app, name="studio")

RunsFolder = Annotated[Path, typer.Option("--runs", help="Folder with run directories.")]
StoreFile = Annotated[
    Path | None,
    typer.Option("--store", help="File with tasks and labels. [default: studio.sqlite3 in --runs]"),
]


@studio_app.callback(invoke_without_command=True)
def studio(
    context: typer.Context,
    runs: RunsFolder = Path("runs"),
    store: StoreFile = None,
    dataset: Annotated[
        list[Path] | None,
        typer.Option(help="A data set or a folder of screenshots to annotate; repeatable."),
    ] = None,
    annotator: Annotated[
        list[str] | None,
        typer.Option(help="A name that gets an address of its own; repeatable."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8710,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Another name that this machine is called by; repeatable."),
    ] = None,
) -> None:
    """Start the studio."""
    if context.invoked_subcommand is not None:
        return
    from uiproof.studio import serve_studio

    def say(line: str) -> None:
        typer.echo(line)
        sys.stdout.flush()  # who reads it through a pipe is waiting for the address

    serve_studio(
        runs,
        store=store,
        datasets=dataset or (),
        annotators=annotator or (),
        host=host,
        port=port,
        allowed_hosts=allow_host or (),
        say=say,
    )
