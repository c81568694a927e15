"""The verb that makes interaction data: explore a page, keep what it can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uiproof.cli.app import app
from uiproof.cli.options import Quiet, on_this_machine


@app.command()
def collect(
    source: Annotated[
        str, typer.Argument(metavar="URL|FILE", help="A page, a folder with one, or an address.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="The folder to write; one per page.", callback=on_this_machine
        ),
    ],
    most: Annotated[
        int, typer.Option("--most", "-n", min=1, metavar="N", help="Interactions to keep.")
    ] = 10,
    topic: Annotated[str | None, typer.Option(help="What the page is about, such as shop.")] = None,
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="Fetch a live page, once, without cookies.")
    ] = False,
    viewport: Annotated[
        str, typer.Option(metavar="WxH", help="The size of the window.")
    ] = "1280x720",
    quiet: Quiet = False,
) -> None:
    """Explore a page and keep its meaningful interactions.

    Every action that fits an element is tried; trivial effects and duplicates are dropped. The
    result is a page of an Interaction2Code data set: screenshots before and after, marks, crops,
    action.json, and the page itself.

    \b
    Examples:
      uiproof collect shop/index.html --out data/shop --topic shop
      uiproof collect https://example.com --allow-network --out data/example -n 4
    """
    from uiproof.benchmarks.interaction2code.collect import collect as explore
    from uiproof.engine.progress import make_progress

    graph = explore(
        source,
        out,
        most=most,
        topic=topic,
        allow_network=allow_network,
        viewport=_size(viewport),
        progress=make_progress(quiet),
    )
    for one in graph.interactions:
        typer.echo(f"{one.id:>3}  {one.sentence}  [{', '.join(one.visuals)}]")
    typer.echo(str(out))


def _size(text: str) -> tuple[int, int]:
    from uiproof.errors import UsageError

    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and int(width) and int(height)):
        raise UsageError(f"{text} is not a window size.", remedy="Write it as 1280x720.")
    return int(width), int(height)
