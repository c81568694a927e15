"""Verbs about this machine: installation, data, methods and models, cached answers."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from uiproof.cli.main import EXIT_MISSING, group
from uiproof.cli.options import Quiet
from uiproof.errors import MissingDependencyError, UiproofError, UsageError

if TYPE_CHECKING:
    from uiproof.hub import Entry
    from uiproof.models.cache import ReplyCache

data_app = group(
    """Published data sets and weights: list, fetch.

    Lists where each comes from, its size and licence, and whether it is here.

    \b
    Examples:
      uiproof data                         list them
      uiproof data get NAME                fetch one; an interrupted download continues
    """
)
cache_app = group(
    """The cache of model answers, so that nothing is paid for twice: show, prune.

    \b
    Examples:
      uiproof cache                              stored answers by model
      uiproof cache prune --older-than 30d       delete answers unused for a month
      uiproof cache prune --max-size 2GB         delete the least recently used
    """
)


def doctor(
    dev: Annotated[
        bool, typer.Option("--dev", help="Also check for what is needed to work on uiproof itself.")
    ] = False,
) -> None:
    """Report what is installed, what is missing and how to get it.

    Renders a page to check that the browser works. Exit code 3 when something required is missing.
    """
    import uiproof

    missing = False
    for finding in uiproof.examine(dev=dev):
        state = "ok" if finding.found else "MISSING" if finding.required else "absent"
        typer.echo(f"{state:<9}{finding.name:<34}{finding.detail}")
        if finding.remedy and not finding.found:
            typer.echo(f"{'':<43}get it: {finding.remedy}")
        missing |= finding.required and not finding.found
    if missing:
        raise typer.Exit(EXIT_MISSING)


def list_() -> None:
    """List data sets, methods, prompts and models, and which are here."""
    import uiproof
    from uiproof.models.names import EXAMPLES
    from uiproof.registry import benchmarks, made_datasets

    made = made_datasets()
    for benchmark in benchmarks().values():
        typer.echo(benchmark.name)
        rows = [(name, "bundled") for name in benchmark.bundled]
        rows += [(path.name, str(path)) for path in made if benchmark.recognises(path)]
        for entry in uiproof.catalogue().values():
            if entry.kind == "dataset" and entry.benchmark == benchmark.name:
                rows.append((entry.name, _presence(entry.name)))
        _print_columns("data sets", rows)
        _print_columns("methods", benchmark.methods.items(), width=26)
        if benchmark.prompts:
            _print_columns("prompts for models", benchmark.prompts.items())
        if benchmark.prompt_options:
            _print_columns(
                "options after PROMPT:, with commas between", benchmark.prompt_options.items()
            )
        if benchmark.protocols:
            _print_columns("protocols", benchmark.protocols.items())
    typer.echo("models")
    _print_columns("", [(name, _readiness(name)) for name in EXAMPLES[:-1]], width=34)
    _print_columns("", [("compatible:http://HOST/v1#MODEL", "any server like vLLM")], width=34)


@data_app.callback(invoke_without_command=True)
def data(context: typer.Context) -> None:
    """List the catalogue, unless a verb follows."""
    if context.invoked_subcommand is not None:
        return
    import uiproof

    for entry in uiproof.catalogue().values():
        typer.echo(f"{entry.name}: {entry.purpose}")
        size = f"{entry.megabytes} MB" if entry.megabytes else "unknown"
        _print_columns(
            "",
            [
                ("source", entry.source),
                ("size", size),
                ("licence", entry.licence or "unknown"),
                ("commit", _commit(entry)),
                ("here", _presence(entry.name)),
            ],
        )


@data_app.command("get")
def data_get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name that `uiproof data` lists.")],
    quiet: Quiet = False,
) -> None:
    """Fetch a data set or weights: checked against digests, continued where it stopped."""
    import uiproof
    from uiproof.download import shown_on

    path = uiproof.fetch(name, progress=None if quiet else shown_on(sys.stderr))
    entry = uiproof.catalogue()[name]
    if entry.revision is None and not quiet:
        typer.echo(
            f"{name} is not pinned by uiproof: here it is {_commit(entry)}. "
            "Others may have fetched another one; name the commit with your results.",
            err=True,
        )
    typer.echo(str(path))


@cache_app.callback(invoke_without_command=True)
def cache(context: typer.Context) -> None:
    """Show the stored answers, unless a verb follows."""
    if context.invoked_subcommand is not None:
        return
    from uiproof.models.cache import cache_table

    typer.echo(cache_table(_cache()))


@cache_app.command()
def prune(
    max_size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Keep at most this much, such as 2GB; the newest stay."),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Delete answers unused for this long, such as 30d."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Only answers of this model, such as openai/gpt-4o."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all answers.")] = False,
) -> None:
    """Delete stored answers. Deleted answers are paid for again when needed."""
    from uiproof.units import parse_age, parse_size, size_text

    if not everything and (max_size, older_than, model) == (None, None, None):
        raise UsageError(
            "Nothing selected to delete.",
            remedy="Use --older-than, --max-size or --model, or delete all answers with --all.",
        )
    files, size = _cache().prune(
        max_bytes=None if max_size is None else parse_size(max_size),
        older_than=None if older_than is None else parse_age(older_than),
        model=model,
        everything=everything,
    )
    answers = "1 answer" if files == 1 else f"{files:,} answers"
    typer.echo(f"{answers} deleted, {size_text(size)}.")


def _cache() -> ReplyCache:
    from uiproof.models.cache import ReplyCache
    from uiproof.settings import Settings

    settings = Settings.from_environment()
    return ReplyCache(settings.cache_dir / "models", settings.model_cache_bytes)


def _commit(entry: Entry) -> str:
    from uiproof.hub import commit_here

    here = commit_here(entry.name)
    if entry.revision is None:
        return f"{here}, the newest when it was fetched" if here else "not pinned: the newest"
    other = f"; {here} is here, get it again" if here not in (None, entry.revision) else ""
    return entry.revision + other


def _presence(name: str) -> str:
    from uiproof.hub import local_path

    try:
        path = local_path(name)
    except UiproofError as error:
        return f"no; {error.message}"
    return str(path) if path else f"no; get it: uiproof data get {name}"


def _readiness(name: str) -> str:
    from uiproof.models.names import parse_name, require_key

    try:
        require_key(parse_name(name))
    except MissingDependencyError as error:
        return f"no; {error.remedy[0].lower()}{error.remedy[1:]}"
    except UiproofError as error:
        return f"no; {error.message}"
    return "ready"


def _print_columns(title: str, rows: Iterable[tuple[str, str]], width: int = 24) -> None:
    if title:
        typer.echo(f"  {title}")
    indent = "    " if title else "  "
    for left, right in rows:
        typer.echo(f"{indent}{left:<{width - 1}} {right}")
