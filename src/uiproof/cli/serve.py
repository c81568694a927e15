"""Scores over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uiproof.cli.main import JUDGE_OPTIONS
from uiproof.cli.options import Port, Workers
from uiproof.errors import UsageError


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Port = 8720,
    workers: Workers = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PATH",
            help="A data set whose cases requests may name; repeatable.",
        ),
    ] = None,
    queue: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Pages that may wait; more are refused with 429."),
    ] = 256,
    deadline: Annotated[
        float,
        typer.Option(min=1, metavar="SECONDS", help="Longest wait for a score, and the default."),
    ] = 120,
    drain: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Time to finish after SIGTERM or Ctrl-C."),
    ] = 60,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="UIPROOF_SERVE_TOKEN",
            show_envvar=True,
            help="What clients send as `Authorization: Bearer …`.",
        ),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Serve without a token on a public --host.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Another name that clients call this machine by; repeatable."
        ),
    ] = None,
    client_timeout: Annotated[
        float,
        typer.Option(
            min=1, metavar="SECONDS", help="Longest time to send a request or take an answer."
        ),
    ] = 20,
    web: Annotated[
        str | None,
        typer.Option(
            metavar="ARCHIVE", help="What pages load from elsewhere, kept by `uiproof web record`."
        ),
    ] = None,
) -> None:
    """Score pages over HTTP, as a reward for training loops.

    POST /score takes one item or a batch, of any benchmark that can be served; /docs describes
    it. GET /health and /ready are for probes, /metrics is for Prometheus. The first SIGTERM or
    Ctrl-C drains the queue, the second exits at once.

    \b
    Examples:
      uiproof serve
      uiproof serve --dataset web=pages/ --dataset clicks=interactions/
      UIPROOF_SERVE_TOKEN=... uiproof serve --host 0.0.0.0 --allow-host scores --workers 16
      curl localhost:8720/score -H 'Content-Type: application/json' \\
        -d '{"reference": "<h1>Hello</h1>", "generated": "<h1>Hallo</h1>"}'
    """
    if token is not None and no_token:
        raise UsageError("--token and --no-token exclude each other.", remedy="Drop one of them.")
    from uiproof.serve.server import serve_scores

    serve_scores(
        host=host,
        port=port,
        workers=workers,
        queue=queue,
        deadline=deadline,
        drain=drain,
        datasets=dataset or (),
        token=token,
        open_to_all=no_token,
        allowed_hosts=allow_host or (),
        client_timeout=client_timeout,
        judge_options={**context.meta.get(JUDGE_OPTIONS, {}), **({"web": web} if web else {})},
        say=typer.echo,
    )


def mcp(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER...", help="Only files in these can be read."),
    ],
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP on this machine, not stdio.")
    ] = False,
    port: Port = 8721,
) -> None:
    """Give agents the tools render, diff, score and check, over the Model Context Protocol.

    Pages are shown without a network. `docs/agents.md` shows how clients are set up.

    \b
    Examples:
      uiproof mcp site/ designs/
      uiproof mcp . --http --port 8721
    """
    from uiproof.integrations.mcp import serve as serve_tools

    serve_tools(folders, http=http, port=port)
