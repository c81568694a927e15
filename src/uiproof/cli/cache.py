"""Verbs about the cache of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from uiproof.cli.app import cache_app

if TYPE_CHECKING:
    from uiproof.models.cache import ReplyCache


@cache_app.callback(invoke_without_command=True)
def cache(context: typer.Context) -> None:
    """Show what is stored, unless a verb follows."""
    if context.invoked_subcommand is not None:
        return
    from uiproof.models.cache_report import cache_table

    typer.echo(cache_table(_cache()))


@cache_app.command()
def prune(
    max_size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Keep at most this much, such as 2GB, and what is new."),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Delete what was not used for so long, such as 30d."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Only answers of this model, such as openai/gpt-4o."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all answers.")] = False,
) -> None:
    """Delete stored answers. What is deleted is paid for again when it is needed again."""
    from uiproof.errors import UsageError
    from uiproof.quantities import parse_age, parse_size, size_text

    if not everything and (max_size, older_than, model) == (None, None, None):
        raise UsageError(
            "Which answers may go?",
            remedy="Say it with --older-than, --max-size or --model, or delete them --all.",
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
