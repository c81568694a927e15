"""The command line: verbs only. Each parses, calls one public function and prints.

Nothing but typer is imported before a verb runs, so that `uiproof --help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from uiproof.endings import EXIT_FAILED_CASES, EXIT_INTERRUPTED, EXIT_MISSING, complain, ending_well
from uiproof.errors import UiproofError

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory

_SHOWN_FAILURES = 5


class _Verbs(TyperGroup):
    """Says what to do next when a person presses Ctrl-C."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            complain("Stopped.", "\n  ".join(getattr(stop, "__notes__", [])))
            raise typer.Exit(EXIT_INTERRUPTED) from stop


def _group(help_text: str) -> typer.Typer:
    # Rich help would take longer to import than everything else together.
    return typer.Typer(
        help=help_text,
        cls=_Verbs,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


app = _group(
    """Measure how well a model sees and rebuilds user interfaces.

    \b
    First steps:
      uiproof doctor                                   is everything here?
      uiproof demo                                     bundled pages, built-in methods, a report
      uiproof score design2code reference/ generated/  your own pages
      uiproof run --dataset design2code-demo --method blueprint

    \b
    Exit codes: 0 done, 1 finished with failed cases, 2 wrong use, 3 something missing,
    70 stopped by an error that is not your fault.
    """
)
data_app = _group(
    """Published data sets and weights: list, fetch.

    Lists where each comes from, its size and licence, and whether it is here.

    \b
    Examples:
      uiproof data                         list them
      uiproof data get design2code-hard    fetch one; an interrupted download continues
    """
)
score_app = _group("Score what a model has generated already.")
app.add_typer(data_app, name="data")
app.add_typer(score_app, name="score", no_args_is_help=True)


class Executor(StrEnum):
    """Where judges work."""

    processes = "processes"
    inline = "inline"


Workers = Annotated[
    int | None, typer.Option(min=1, help="Judge processes. [default: one per core]")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N cases.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only results.")]
Where = Annotated[Executor, typer.Option(help="Where judges work; inline is for debugging.")]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Try cases again that failed before.")
]
Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Also write JSON; - for stdout.")
]
Runs = Annotated[list[Path], typer.Argument(metavar="RUN", help="Run directories.")]


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


@app.command()
def demo(
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the runs and the report. [default: runs/demo, report.html]"),
    ] = None,
    limit: Limit = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Score bundled pages with built-in methods.

    Prints a table and writes a report that opens in any browser.
    """
    import uiproof

    runs, report = uiproof.demo(out, limit=limit, workers=workers, quiet=quiet)
    typer.echo(uiproof.comparison(runs))
    typer.echo(f"\nReport: {report}")
    _exit_for(runs, quiet=quiet)


@app.command()
def doctor(
    dev: Annotated[
        bool, typer.Option("--dev", help="Also look for what is needed to work on uiproof itself.")
    ] = False,
) -> None:
    """Say what is installed, what is missing and how to get it.

    It renders a page to see that the browser works. Exit code 3 when something required is missing.
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


@app.command("list")
def list_() -> None:
    """List data sets and methods, and which are here."""
    import uiproof

    for benchmark in uiproof.benchmarks().values():
        typer.echo(benchmark.name)
        rows = [(name, "bundled") for name in benchmark.bundled]
        for entry in uiproof.catalogue().values():
            if entry.kind == "dataset" and entry.benchmark == benchmark.name:
                rows.append((entry.name, _presence(entry.name)))
        _print_columns("data sets", rows)
        _print_columns("methods", benchmark.methods.items())


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

    typer.echo(str(uiproof.fetch(name, progress=None if quiet else shown_on(sys.stderr))))


@app.command()
def run(
    dataset: Annotated[str, typer.Option(help="A folder, or a name that `uiproof list` shows.")],
    method: Annotated[str, typer.Option(help="blueprint, replay:FOLDER, …: see `uiproof list`.")],
    out: Annotated[
        Path | None, typer.Option(help="The run's directory. [default: runs/DATASET-METHOD]")
    ] = None,
    limit: Limit = None,
    workers: Workers = None,
    executor: Where = Executor.processes,
    retry_failed: RetryFailed = False,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run a method on a data set. Running again continues what is there.

    \b
    Examples:
      uiproof run --dataset design2code-demo --method blueprint
      uiproof run --dataset design2code --method replay:predictions/ --out runs/mine --limit 50
    """
    import uiproof

    _check_json(json)
    finished = uiproof.run(
        dataset,
        method,
        out=out,
        limit=limit,
        workers=workers,
        executor=executor.value,
        retry_failed=retry_failed,
        quiet=quiet,
    )
    _print_result(finished, json)
    if not quiet:
        typer.echo(f"Run: {finished.path}", err=True)
    _exit_for([finished], quiet=quiet)


@score_app.command("design2code")
def score_design2code(
    reference: Annotated[
        Path, typer.Argument(metavar="REFERENCE", help="A page, or a folder of pages.")
    ],
    generated: Annotated[
        Path, typer.Argument(metavar="GENERATED", help="A page, or a folder with the same names.")
    ],
    json: Json = None,
    out: Annotated[
        Path | None, typer.Option(help="Keep the run, with renderings, in this directory.")
    ] = None,
    limit: Limit = None,
    workers: Workers = None,
    executor: Where = Executor.processes,
    retry_failed: RetryFailed = False,
    quiet: Quiet = False,
) -> None:
    """Score generated pages against reference pages with the Design2Code metrics.

    A reference without a generated page counts as failed, never as left out.

    \b
    Examples:
      uiproof score design2code reference.html generated.html
      uiproof score design2code reference/ generated/ --json scores.json
      uiproof score design2code reference/ generated/ --out runs/mine && uiproof report runs/mine
    """
    import uiproof

    _check_json(json)
    finished = uiproof.score_folders(
        reference,
        generated,
        out=out,
        limit=limit,
        workers=workers,
        executor=executor.value,
        retry_failed=retry_failed,
        quiet=quiet,
    )
    _print_result(finished, json)
    _exit_for([finished], quiet=quiet)


@app.command()
def compare(runs: Runs, json: Json = None) -> None:
    """Put the summaries of several runs side by side.

    \b
    Examples:
      uiproof compare runs/demo/blueprint runs/demo/replay
      uiproof compare runs/* --json leaderboard.json
    """
    import uiproof
    from uiproof.export import write_comparison

    _check_json(json)
    if json is not None:
        write_comparison(runs, sys.stdout if json == "-" else json)
    if json != "-":
        typer.echo(uiproof.comparison(runs))


@app.command()
def report(
    runs: Runs,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
) -> None:
    """Write one self-contained page about one or more runs.

    \b
    Example:
      uiproof report runs/demo/blueprint runs/demo/replay --out report.html
    """
    import uiproof

    uiproof.write_report(runs, out)
    typer.echo(f"Report: {out}")


def _check_json(json: str | None) -> None:
    """Notice before the work, not after it, that its result cannot be written."""
    from uiproof.export import check_writable

    if json not in (None, "-"):
        check_writable(json)


def _print_result(finished: RunDirectory, json: str | None) -> None:
    import uiproof

    if json == "-":
        uiproof.write_json(finished, sys.stdout)
        return
    if json is not None:
        uiproof.write_json(finished, json)
    typer.echo(uiproof.comparison([finished]))


def _exit_for(runs: Iterable[RunDirectory], *, quiet: bool) -> None:
    """End with 1 where cases failed, and say of the first few why."""
    failed = [one for one in runs if one.summary["failed"]]
    for one in failed if not quiet else []:
        errors = ((record.id, record.error) for record in one.records() if record.error)
        for case, error in islice(errors, _SHOWN_FAILURES):
            typer.echo(f"failed: {case}: {error.message}", err=True)
        if (more := one.summary["failed"] - _SHOWN_FAILURES) > 0:
            typer.echo(f"… and {more} more; --json lists them all", err=True)
    if failed:
        raise typer.Exit(EXIT_FAILED_CASES)


def _presence(name: str) -> str:
    from uiproof.hub import local_path

    try:
        path = local_path(name)
    except UiproofError as error:
        return f"no; {error.message}"
    return str(path) if path else f"no; get it: uiproof data get {name}"


def _print_columns(title: str, rows: Iterable[tuple[str, str]]) -> None:
    if title:
        typer.echo(f"  {title}")
    indent = "    " if title else "  "
    for left, right in rows:
        typer.echo(f"{indent}{left:<22}{right}")


def main() -> NoReturn:
    """The entry point: turns every error into a message and an exit code."""
    ending_well(app)
