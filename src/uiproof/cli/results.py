"""Verbs that show results, and how every verb prints them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uiproof.cli.app import app
from uiproof.cli.options import Json, Runs, on_this_machine
from uiproof.endings import EXIT_FAILED_CASES, complain, exit_code_of

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory
    from uiproof.matrix import Matrix
    from uiproof.planning import Plan

_SHOWN_FAILURES = 5


@app.command()
def compare(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Directories or URLs of runs.")
    ] = None,
    results_dir: Annotated[
        Path | None,
        typer.Option(help="Grounding results in the described format. [default: EVAL_RESULTS_DIR]"),
    ] = None,
    charts_dir: Annotated[
        Path | None,
        typer.Option(
            help="Draw charts into this folder. [default: EVAL_CHARTS_DIR]",
            callback=on_this_machine,
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables as markdown.")
    ] = False,
    json: Json = None,
) -> None:
    """Put the summaries of several runs side by side.

    \b
    Examples:
      uiproof compare runs/demo/blueprint runs/demo/replay
      uiproof compare runs/* --json leaderboard.json
      uiproof compare s3://bucket/runs/a s3://bucket/runs/b
      uiproof compare runs/* --markdown >> notes.md
      uiproof compare runs/grounding-* --charts-dir charts
    """
    import uiproof
    from uiproof.export import write_comparison

    if not runs:
        typer.echo(uiproof.compare_results(results_dir, charts_dir=charts_dir, markdown=markdown))
        return
    check_json(json)
    directories = [uiproof.RunDirectory.of(run, pictures=False) for run in runs]
    if json is not None:
        write_comparison(directories, sys.stdout if json == "-" else json)
    if json == "-":
        return
    if markdown:
        from uiproof.report.details import comparison_markdown

        typer.echo(comparison_markdown(directories, charts_dir=charts_dir))
    else:
        typer.echo(uiproof.comparison(directories))
        typer.echo(uiproof.comparison_details(directories, charts_dir=charts_dir), nl=False)


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


def check_json(json: str | None) -> None:
    """Notice before the work, not after it, that its result cannot be written."""
    from uiproof.export import check_writable

    if json not in (None, "-"):
        check_writable(json)


def print_result(finished: RunDirectory, json: str | None) -> None:
    """Print a run as a table, and write it as JSON where that was asked for."""
    import uiproof

    if json == "-":
        uiproof.write_json(finished, sys.stdout)
        return
    if json is not None:
        uiproof.write_json(finished, json)
    typer.echo(uiproof.comparison([finished]))


def print_matrix(matrix: Matrix, json: str | None, *, quiet: bool) -> None:
    """Print the runs of one command as one table, say what has stopped some, and exit."""
    from uiproof.export import write_comparison

    runs = matrix.runs
    if runs and matrix.alone:
        print_result(runs[0], json)
    elif runs:
        if json is not None:
            write_comparison(runs, sys.stdout if json == "-" else json)
        if json != "-":
            import uiproof

            typer.echo(uiproof.comparison(runs))
            typer.echo(uiproof.comparison_details(runs), nl=False)
    for one in () if quiet else runs:
        typer.echo(f"Run: {one.place}", err=True)
    for label, error in matrix.stopped:
        complain(f"{label}: {error.message}", error.remedy)
    if matrix.not_begun:
        complain(f"Not begun: {', '.join(matrix.not_begun)}.", "")
    if matrix.stopped:
        raise typer.Exit(exit_code_of(matrix.stopped[0][1]))
    exit_for(runs, quiet=quiet)


def print_plans(plans: Sequence[Plan], json: str | None) -> None:
    """Print what runs would take."""
    from uiproof.report.plans import plan_table

    if json is not None:
        from uiproof.export import write_plans

        write_plans(plans, sys.stdout if json == "-" else json)
    if json != "-":
        typer.echo(plan_table(plans))


def exit_for(runs: Iterable[RunDirectory], *, quiet: bool) -> None:
    """Say what was unusual; end with 1 where cases failed, and say of the first few why."""
    runs = list(runs)
    if not quiet:
        _tell_unusual(runs)
    failed = [one for one in runs if one.summary["failed"]]
    for one in failed if not quiet else []:
        errors = ((record.id, record.error) for record in one.records() if record.error)
        for case, error in islice(errors, _SHOWN_FAILURES):
            typer.echo(f"failed: {case}: {error.message}", err=True)
        if (more := one.summary["failed"] - _SHOWN_FAILURES) > 0:
            typer.echo(f"… and {more} more; --json lists them all", err=True)
    if failed:
        raise typer.Exit(EXIT_FAILED_CASES)


def _tell_unusual(runs: Iterable[RunDirectory]) -> None:
    """Say on how many pages something was found that makes their scores doubtful."""
    from uiproof.browser.glyphs import PACKAGES

    fonts = ", ".join(f"{package} ({scripts})" for package, scripts in PACKAGES.items())
    counts: Counter[str] = Counter()
    for one in runs:
        for flag, count in one.summary.get("flags", {}).items():
            counts[flag.partition(":")[2]] += count
    for flag, what in (
        ("missing_glyphs", f"text that no font here can draw; boxes stand for it. Fonts: {fonts}"),
        ("not_html", "something else than HTML, such as a picture or an archive"),
        ("unfenced", "a page inside a Markdown fence, JSON or thoughts; it was taken out"),
    ):
        if number := counts[flag]:
            pages = "1 page has" if number == 1 else f"{number} pages have"
            typer.echo(f"{flag}: {pages} {what}.", err=True)
