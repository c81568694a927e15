"""`uiproof web`: frozen copies of what pages load from elsewhere: show, get, record."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from uiproof.cli.main import group

web_app = group("Answer what pages load from elsewhere from frozen copies.")


@web_app.callback(invoke_without_command=True)
def show(
    ctx: typer.Context,
    packages: Annotated[bool, typer.Option("--packages", help="List all packages.")] = False,
) -> None:
    """Show what is installed, get the default set, record what else pages load.

    \b
    Examples:
      uiproof web                                   show what is installed
      uiproof web get                               get the default set
      uiproof web record pages/ --out pages.web.zip
    """
    if ctx.invoked_subcommand:
        return
    from uiproof.settings import Settings
    from uiproof.units import size_text
    from uiproof.web.frozen import FrozenWeb
    from uiproof.web.packages import Lock, Store

    folder = Settings.from_environment().web_dir
    lock, store, web = Lock.packaged(), Store(folder), FrozenWeb(folder)
    here = lock.hashes & store.present
    for left, right in (
        ("folder", str(folder)),
        ("as of", lock.date),
        ("packages", f"{len(web.packages)} of {len(lock.packages)}"),
        ("files", f"{len(here)} of {len(lock.hashes)}, {size_text(store.size(store.present))}"),
        ("modules", str(web.modules)),
        ("digest", web.digest[:16]),
    ):
        typer.echo(f"  {left:<10}{right}")
    if len(here) < len(lock.hashes):
        typer.echo("Get what is missing: uiproof web get")
    if packages:
        for name, versions in sorted(web.packages.items()):
            typer.echo(f"  {name:<44}{', '.join(versions)}")


@web_app.command("get")
def get_(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    npm: Annotated[bool, typer.Option(help="Use npm where it is installed.")] = True,
    cdn: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where files come from without npm.")
    ] = "",
) -> None:
    """Get the default set: about 390 packages, 50 MB, every file checked against the lock.

    Uses npm where it is installed, else the CDN. Existing files stay, so the command continues
    where it was interrupted.
    """
    from uiproof.download import shown_on
    from uiproof.errors import UiproofError
    from uiproof.settings import Settings
    from uiproof.web.modules import build
    from uiproof.web.packages import CDN, Lock, Store, find_npm, get

    def say(line: str) -> None:
        typer.echo(line, err=True)

    progress = None if quiet else shown_on(sys.stderr, "files")
    client = find_npm() if npm else None
    lock, store = Lock.packaged(), Store(Settings.from_environment().web_dir)
    get(lock, store, npm=client, cdn=cdn or CDN, progress=progress, say=say)
    if client is None:
        say("Without npm, modules of esm.sh and +esm are not built and stay without an answer.")
    else:
        try:
            build(store, client)
        except UiproofError as error:  # everything else works without
            say(str(error))
    typer.echo(str(store.folder))


@web_app.command("record")
def record_(
    pages: Annotated[
        list[str], typer.Argument(metavar="PAGES|DATASET", help="Pages, folders, or a data set.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="ARCHIVE", help="A folder, or a name ending in .zip.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Also from private addresses and over HTTP.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the result.")] = False,
) -> None:
    """Fetch what pages load and the frozen web does not have, once, into an archive.

    This opens the network, and the hosts that pages name learn your address. Nothing of a page is
    executed: its text is searched for addresses. Use the archive with --web.
    """
    from uiproof.units import size_text
    from uiproof.web.archive import find_pages, record
    from uiproof.web.frozen import FrozenWeb

    found = find_pages(map(_folder, pages))
    if not yes:
        typer.confirm(
            f"Fetch what {len(found)} pages load from elsewhere, from the hosts that they name?",
            abort=True,
        )

    def say(line: str) -> None:
        if not quiet:
            typer.echo(line, err=True)

    made = record(found, out, FrozenWeb.installed(), allow_private=allow_private, say=say)
    typer.echo(
        f"{made.fetched} files, {size_text(made.bytes)}, are in {out}; {made.answered} addresses "
        f"need no recording, {len(made.missing)} could not be fetched."
    )
    typer.echo(f"Use it: --web {out}")


def _folder(name: str) -> Path:
    """Return a path, or the folder of a data set by its name."""
    from uiproof.errors import UiproofError
    from uiproof.registry import resolve_dataset

    path = Path(name)
    if path.exists():
        return path
    try:
        return resolve_dataset(name)[1]
    except UiproofError:
        return path
