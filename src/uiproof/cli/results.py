"""Verbs that show results, and how every verb prints them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from uiproof.cli.main import EXIT_FAILED_CASES, EXIT_REGRESSION, complain, exit_code_of
from uiproof.cli.options import Json, ModelNames, Runs, model_names, on_this_machine
from uiproof.errors import UsageError
from uiproof.tables import printable

if TYPE_CHECKING:
    from uiproof.api import Matrix
    from uiproof.dry_run import CostEstimate
    from uiproof.engine.rundir import RunDirectory

_SHOWN_FAILURES = 5
_SHOWN_ADDRESSES = 8
_SHOWN_WORST = 5
_SHOWN_FLAGS = 8
_OF = {"answer": "answer of the model"}


def compare(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Directories or URLs of runs.")
    ] = None,
    results_dir: Annotated[
        Path | None,
        typer.Option(
            help="Result files, compared where no RUN is named. "
            "[default: EVAL_RESULTS_DIR or evaluation/results]"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For the comparison of result files. [default: comparison.json beside them]",
            callback=on_this_machine,
        ),
    ] = None,
    charts_dir: Annotated[
        Path | None,
        typer.Option(
            help="Draw charts into this folder. [default: EVAL_CHARTS_DIR; for result files "
            "evaluation/charts]",
            callback=on_this_machine,
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables as markdown.")
    ] = False,
    fail_under: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SCORE",
            help="Of BASELINE and NEW: exit with 5 where the mean or a case fell by more than "
            "this, beyond noise.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="The score that decides. [default: the one that ranks runs]"
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the cases of BASELINE and NEW as JUnit tests. [--fail-under 0.02]",
            callback=on_this_machine,
        ),
    ] = None,
    name: ModelNames = None,
    json: Json = None,
) -> None:
    """Put the summaries of several runs side by side, or the result files of a benchmark.

    With --fail-under or --junit, two runs are compared case by case: BASELINE NEW.

    \b
    Examples:
      uiproof compare runs/demo/blueprint runs/demo/replay
      uiproof compare runs/* --json leaderboard.json
      uiproof compare s3://bucket/runs/a s3://bucket/runs/b
      uiproof compare runs/* --markdown >> notes.md
      uiproof compare runs/main runs/branch --fail-under 0.02 --junit junit.xml
      {examples}
    """
    import uiproof
    from uiproof.api import compare_result_files
    from uiproof.export import check_writable, write_comparison
    from uiproof.report.regression import FAIL_UNDER, change_tables, write_junit
    from uiproof.tables import console
    from uiproof.tables import markdown as as_markdown

    check_json(json)
    if junit is not None:
        check_writable(junit)
    if not runs:
        table = compare_result_files(
            results_dir,
            charts_dir=charts_dir,
            markdown=markdown,
            output=output,
            json=sys.stdout if json == "-" else json,
        )
        if json != "-":
            typer.echo(table)
        return
    if results_dir is not None or output is not None:
        raise UsageError(
            "--results-dir and --output are for result files, and runs are named.",
            remedy="Drop the runs, or write their comparison with --json.",
        )
    names = model_names(name)
    directories = [uiproof.RunDirectory.of(run, pictures=False, names=names) for run in runs]
    change = None
    if fail_under is not None or junit is not None or metric is not None:
        if len(directories) != 2:
            raise UsageError(
                f"--fail-under, --metric and --junit take two runs, not {len(directories)}.",
                remedy="Write uiproof compare BASELINE NEW.",
            )
        under = FAIL_UNDER if fail_under is None else fail_under
        change = uiproof.regressions(*directories, fail_under=under, metric=metric)
        if junit is not None:
            write_junit(change, junit)
    if json is not None:
        more = {} if change is None else {"change": change.as_json()}
        write_comparison(directories, sys.stdout if json == "-" else json, **more)
    if json == "-":
        pass
    elif change is not None:
        tables = change_tables(change)
        typer.echo(as_markdown(tables) if markdown else console(tables), nl=not markdown)
    elif markdown:
        from uiproof.report.tables import comparison_markdown

        typer.echo(comparison_markdown(directories, charts_dir=charts_dir))
    else:
        typer.echo(uiproof.comparison(directories))
        typer.echo(uiproof.comparison_details(directories, charts_dir=charts_dir), nl=False)
    if change is not None and change.regressed:
        raise typer.Exit(EXIT_REGRESSION)


def report(
    runs: Runs,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    name: ModelNames = None,
) -> None:
    """Write one self-contained page about one or more runs.

    \b
    Example:
      uiproof report runs/demo/blueprint runs/demo/replay --out report.html
    """
    import uiproof

    names = model_names(name)
    uiproof.write_report([uiproof.RunDirectory.of(run, names=names) for run in runs], out)
    typer.echo(f"Report: {out}")


def export(
    runs: Runs,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Ends in .jsonl, .csv or .parquet.")
    ] = Path("results.csv"),
) -> None:
    """Write every case of runs as one row of a table.

    Columns are the run, the case, its error and flags, tokens and cost, every score by its path
    (`paper.text`), and the seconds of each stage. In Python, `uiproof.dataframe(runs)` is the same
    for pandas.

    \b
    Examples:
      uiproof export runs/demo/blueprint runs/demo/replay --out results.csv
      uiproof export runs/* --out results.parquet
    """
    import uiproof

    uiproof.write_table(runs, out)
    typer.echo(f"Table: {out}")


def check_json(json: str | None) -> None:
    """Check before the work that its result can be written."""
    from uiproof.export import check_writable

    if json not in (None, "-"):
        check_writable(json)


def print_result(finished: RunDirectory, json: str | None) -> None:
    """Print a run as a table, and write it as JSON where that was asked for."""
    import uiproof
    from uiproof.registry import benchmarks
    from uiproof.report.tables import samples_table
    from uiproof.tables import console

    if json == "-":
        uiproof.write_json(finished, sys.stdout)
        return
    if json is not None:
        uiproof.write_json(finished, json)
    typer.echo(uiproof.comparison([finished]))
    if (samples := samples_table(finished)) is not None:
        typer.echo(f"\n{console([samples])}")
    benchmark = benchmarks().get(str(finished.manifest["benchmark"]))
    if benchmark is not None and (text := benchmark.shown(finished)):
        typer.echo(f"\n{text}")


def print_matrix(matrix: Matrix, json: str | None, *, quiet: bool) -> None:
    """Print the runs of one command as one table, report those that stopped, and exit."""
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
    for one in () if quiet or matrix.alone else runs:
        typer.echo(f"Run: {one.place}", err=True)
    for label, error in matrix.stopped:
        complain(f"{label}: {error.message}", error.remedy)
    if matrix.not_begun:
        complain(f"Not begun: {', '.join(matrix.not_begun)}.", "")
    if matrix.stopped:
        raise typer.Exit(exit_code_of(matrix.stopped[0][1]))
    exit_for(runs, quiet=quiet, kept=True if matrix.alone else None)


def print_plans(plans: Sequence[CostEstimate], json: str | None) -> None:
    """Print what runs would take."""
    from uiproof.report.tables import plan_table

    if json is not None:
        from uiproof.export import write_plans

        write_plans(plans, sys.stdout if json == "-" else json)
    if json != "-":
        typer.echo(plan_table(plans))


def exit_for(runs: Iterable[RunDirectory], *, quiet: bool, kept: bool | None = None) -> None:
    """Print the worst cases, flags and missing files; exit with 1 and errors where cases failed.

    `kept` says whether a single run is kept; None prints nothing about it.
    """
    runs = list(runs)
    if not quiet:
        if len(runs) == 1:
            _print_worst(runs[0])
        _print_flags(runs)
        _print_missing(runs)
    failed = [one for one in runs if one.summary["failed"]]
    for one in failed:
        errors = ((record.id, record.error) for record in one.records() if record.error)
        for case, error in islice(errors, _SHOWN_FAILURES):
            typer.echo(f"failed: {case}: {error.message}", err=True)
        if (more := one.summary["failed"] - _SHOWN_FAILURES) > 0:
            typer.echo(f"… and {more} more; --json lists them all", err=True)
    if not quiet and kept is not None and runs:
        _print_place(runs[0], kept)
    if failed:
        raise typer.Exit(EXIT_FAILED_CASES)


def _print_place(run: RunDirectory, kept: bool) -> None:
    if kept:
        typer.echo(f"Run: {run.place}\nShow it: uiproof report {quote(run.place)}", err=True)
    else:
        typer.echo("The run was not kept: --out DIR keeps it, for `uiproof report DIR`.", err=True)


def _print_worst(run: RunDirectory) -> None:
    """Print the cases with the lowest scores."""
    from uiproof.leaderboard import worst_cases

    metric, worst = worst_cases(run, _SHOWN_WORST)
    if metric is None or not worst:
        return
    typer.echo(f"Lowest {metric.label}:", err=True)
    for record in worst:
        score = metric.of(record.scores)
        about = f"failed: {record.error.code}" if record.error else ", ".join(record.flags)
        shown = f"{score or 0.0:.{metric.digits}f}"
        typer.echo(f"  {shown}  {printable(record.id)}  {printable(about)}".rstrip(), err=True)


def _print_flags(runs: Iterable[RunDirectory]) -> None:
    """Print how many cases have each flag, most frequent first."""
    from uiproof.views.details import meaning

    counts: Counter[str] = Counter()
    for one in runs:
        counts.update(one.summary.get("flags", {}))
    shown = counts.most_common(_SHOWN_FLAGS)
    for flag, number in shown:
        side, _, name = flag.rpartition(":")
        what = meaning(name)
        of = f"{side} page" if side in ("generated", "reference") else _OF.get(side, "case")
        cases = f"1 {of}" if number == 1 else f"{number:,} {_plural(of)}"
        typer.echo(f"flag {flag}: {cases}: {what}", err=True)
    if (more := len(counts) - len(shown)) > 0:
        typer.echo(f"… and {more} more kinds of flags; --json counts them all", err=True)
    if any(flag.endswith(":missing_glyphs") for flag in counts):
        from uiproof.browser.page import GLYPH_PACKAGES

        fonts = ", ".join(f"{package} ({scripts})" for package, scripts in GLYPH_PACKAGES.items())
        typer.echo(f"Fonts to install: {fonts}.", err=True)


def _plural(words: str) -> str:
    first, _, rest = words.partition(" ")
    return f"{words}s" if rest in ("", "page") else f"{first}s {rest}"


def _print_missing(runs: Iterable[RunDirectory]) -> None:
    """Print the addresses that pages could not load, with counts and the remedy."""
    from uiproof.views.details import missing_addresses

    for one in runs:
        flags = one.summary.get("flags", {})
        if not any(flag.endswith((":requests_blocked", ":fonts_missing")) for flag in flags):
            continue
        missing = missing_addresses(one.records())
        if not missing:
            continue
        cases = sum(flags.get(flag, 0) for flag in flags if flag.endswith(":incomplete"))
        typer.echo("Pages loaded addresses that have no frozen copy:", err=True)
        for kind, address, count in missing[:_SHOWN_ADDRESSES]:
            typer.echo(f"  {count:>5} × {kind:<7} {address}", err=True)
        if (more := len(missing) - _SHOWN_ADDRESSES) > 0:
            typer.echo(f"  … and {more} more; the report shows them by case", err=True)
        if cases:
            complete = one.summary.get("complete_pages", {})
            first = next((key for key in complete if key != "n" and complete[key] is not None), "")
            mean = f", {first} {complete[first]:.3f} on the other {complete['n']}" if first else ""
            pages = "1 page lacks" if cases == 1 else f"{cases} pages lack"
            typer.echo(f"incomplete: {pages} a style sheet or script{mean}.", err=True)
        typer.echo(
            "Get the usual files with `uiproof web get`, any others with `uiproof web record PAGES "
            "--out ARCHIVE` and --web ARCHIVE.",
            err=True,
        )
