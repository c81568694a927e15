"""The verbs' groups: `uiproof`, and those with verbs of their own below it."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from uiproof.endings import EXIT_INTERRUPTED, complain


class _Verbs(TyperGroup):
    """Says what to do next when a person presses Ctrl-C."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            complain("Stopped.", "\n  ".join(getattr(stop, "__notes__", [])))
            raise typer.Exit(EXIT_INTERRUPTED) from stop


def group(help_text: str) -> typer.Typer:
    """A group of verbs, or the whole of them."""
    # Rich help would take longer to import than everything else together.
    return typer.Typer(
        help=help_text,
        cls=_Verbs,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


app = group(
    """Measure how well a model sees and rebuilds user interfaces.

    \b
    First steps:
      uiproof doctor                                   is everything here?
      uiproof demo                                     bundled pages, built-in methods, a report
      uiproof score design2code reference/ generated/  your own pages
      uiproof run --dataset design2code-demo --method blueprint

    \b
    Exit codes: 0 done, 1 finished with failed cases, 2 wrong use, 3 something missing,
    4 stopped at the limit you have set, 70 stopped by an error that is not your fault.
    """
)
data_app = group(
    """Published data sets and weights: list, fetch.

    Lists where each comes from, its size and licence, and whether it is here.

    \b
    Examples:
      uiproof data                         list them
      uiproof data get design2code-hard    fetch one; an interrupted download continues
    """
)
cache_app = group(
    """Answers of models that are kept, so that nothing is paid for twice: look, make room.

    \b
    Examples:
      uiproof cache                              what is there, by model
      uiproof cache prune --older-than 30d       delete what was not used for a month
      uiproof cache prune --max-size 2GB         delete what was not used for longest
    """
)
score_app = group("Score what a model has generated already.")
app.add_typer(data_app, name="data")
app.add_typer(cache_app, name="cache")
app.add_typer(score_app, name="score", no_args_is_help=True)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Print the help or the version where no verb is given."""
    if version:
        import uiproof

        typer.echo(f"uiproof {uiproof.__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
