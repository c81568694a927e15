"""`uiproof diff`: says what is different between pages."""

from __future__ import annotations

import json as json_module
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from uiproof.cli.main import EXIT_FAILED_CASES
from uiproof.cli.options import Json, Port, Quiet, Web
from uiproof.cli.results import check_json
from uiproof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uiproof.benchmarks.design2code.api import Differ
    from uiproof.benchmarks.design2code.diff_cases import DiffCase, Pair
    from uiproof.tables import Table

_MOST_ROWS = 20  # of the table of one pair; JSON and HTML have all


def diff(
    reference: Annotated[
        str,
        typer.Argument(metavar="REFERENCE", help="A page, a screenshot, or a folder of such."),
    ],
    generated: Annotated[
        str,
        typer.Argument(
            metavar="GENERATED",
            help="A page, a screenshot, a folder of such, or with --allow-network a URL.",
        ),
    ],
    json: Json = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with both and their marks.")
    ] = None,
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an annotated picture of one pair.")
    ] = None,
    fail_over: Annotated[
        float | None,
        typer.Option(
            "--fail-over",
            min=0,
            max=1,
            metavar="IMPACT",
            help="Exit with 1 where a difference has more impact.",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Compare again when a file changes, in a browser page.")
    ] = False,
    port: Port = 0,
    allow_network: Annotated[
        bool,
        typer.Option("--allow-network", help="Fetch a URL, and what it loads from that server."),
    ] = False,
    viewport: Annotated[
        str | None,
        typer.Option(
            metavar="WxH",
            help="The window of pages, such as 390x844; auto takes the width of the reference "
            "screenshot. [default: 1280x720]",
        ),
    ] = None,
    dark: Annotated[
        bool, typer.Option("--dark", help="Pages are told to prefer dark colours.")
    ] = False,
    scale: Annotated[
        int, typer.Option(min=1, max=3, metavar="N", help="Device pixels for each CSS pixel.")
    ] = 1,
    web: Web = None,
    quiet: Quiet = False,
) -> None:
    """Say what is different between a page and its reference, worst first.

    The reference may be a page or a screenshot. One cause is one difference: a margin that moves
    the rest of a page is listed once. Pages are shown without a network. Exit codes: 0, or 1
    where a difference is above --fail-over or a page could not be compared.

    \b
    Examples:
      uiproof diff design.png page.html
      uiproof diff reference/ generated/ --html diff.html --json diff.json
      uiproof diff design.html page.html --png diff.png --fail-over 0.05
      uiproof diff design.png http://localhost:5173/ --allow-network
      uiproof diff --watch design.png page.html
    """
    from uiproof.benchmarks.design2code.api import Differ
    from uiproof.benchmarks.design2code.diff_cases import (
        NOT_REPEATABLE,
        compare,
        frozen_web,
        is_url,
        opened,
        pairs,
    )

    check_json(json)
    _check_options(generated, watch=watch, web=web, files=(json, html, png))
    with ExitStack() as stack:
        page, archive = stack.enter_context(opened(generated, allow_network=allow_network))
        found = pairs(Path(reference), page)
        if png is not None and len(found) > 1:
            raise UsageError("--png shows one pair.", remedy="Use --html for folders.")
        chosen = archive if archive is not None else web and Path(web)
        differ = stack.enter_context(
            Differ(viewport=viewport, dark=dark, scale=scale, web=frozen_web(chosen or None))
        )
        if watch:
            _watch(differ, found, port)
        cases = []
        for pair in found:
            cases.append(compare(differ, pair))
            if len(found) == 1 and (error := cases[0].error) is not None:
                raise error
            if len(found) > 1 and not quiet:
                typer.echo(f"{len(cases)}/{len(found)} {pair.id}", err=True)
    notes = [NOT_REPEATABLE] if is_url(generated) else []
    _write(cases, notes, json=json, html=html, png=png)
    if json != "-":
        from uiproof.tables import console

        typer.echo(console([_table(one) for one in cases]))
        for note in notes:
            typer.echo(f"Note: {note}.")
    limit = 1.0 if fail_over is None else fail_over
    if any(one.error is not None or one.worst > limit for one in cases):
        raise typer.Exit(EXIT_FAILED_CASES)


def _check_options(
    generated: str, *, watch: bool, web: str | None, files: Sequence[object]
) -> None:
    from uiproof.benchmarks.design2code.diff_cases import is_url
    from uiproof.export import check_writable

    for file in files[1:]:
        if isinstance(file, Path):
            check_writable(file, makes_folders=True)
    if watch and any(file is not None for file in files):
        raise UsageError("--watch writes no files.", remedy="Drop --json, --html and --png.")
    if watch and is_url(generated):
        raise UsageError("--watch looks at files.", remedy="Name the page's file, not its URL.")
    if web is not None and is_url(generated):
        raise UsageError("--web goes with files.", remedy="Drop --web: the server is asked.")


def _watch(differ: Differ, found: Sequence[Pair], port: int) -> NoReturn:
    from uiproof.benchmarks.design2code.watch import Watch

    if len(found) > 1:
        raise UsageError("--watch looks at one pair.", remedy="Name two files.")

    def report(case: DiffCase) -> None:
        if case.found is None:
            typer.echo(str(case.error), err=True)
            return
        typer.echo(_headline(case))
        for one in case.found.differences[:3]:
            typer.echo(f"  {one.impact:.2f} {one.kind}: {one.says}")

    watched = Watch(differ, found[0])
    first = watched.step()
    with watched.served(port) as address:
        typer.echo(f"Watching. Open {address} (Ctrl-C ends)")
        if first is not None:
            report(first)
        watched.run(report)
    raise AssertionError  # it only ends by being interrupted


def _write(
    cases: Sequence[DiffCase],
    notes: Sequence[str],
    *,
    json: str | None,
    html: Path | None,
    png: Path | None,
) -> None:
    if json is not None:
        text = json_module.dumps({"cases": [one.as_json() for one in cases]}, indent=2)
        if json == "-":
            typer.echo(text)
        else:
            from uiproof.files import write_atomic

            write_atomic(Path(json), text + "\n")
    if html is not None:
        from uiproof.benchmarks.design2code.diff_page import write_diff_page

        write_diff_page(cases, html, notes=notes)
    if png is not None and cases[0].found is not None:
        from uiproof.benchmarks.design2code.diff_picture import annotated_picture
        from uiproof.files import write_atomic

        png.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(png, annotated_picture(cases[0].found))


def _headline(case: DiffCase) -> str:
    from uiproof.benchmarks.design2code.diff_cases import headline

    assert case.found is not None
    count = len(case.found.differences)
    profile, score = headline(case.found.scores)
    said = (
        "no differences" if not count else "1 difference" if count == 1 else f"{count} differences"
    )
    return f"{case.id}: {said}" + ("" if score is None else f", {profile} {score:.3f}")


def _table(case: DiffCase) -> Table:
    from uiproof.tables import Table

    if case.found is None:
        return Table(f"{case.id}: {case.error}", (), ())
    differences = case.found.differences
    rows = tuple(
        (str(number), f"{one.impact:.2f}", one.kind, one.says, one.selector or "")
        for number, one in enumerate(differences[:_MOST_ROWS], 1)
    )
    rest = len(differences) - len(rows)
    notes = (f"… and {rest} more, which --json and --html list.",) if rest else ()
    header = ("", "Impact", "Kind", "Difference", "Selector") if rows else ()
    return Table(_headline(case), header, rows, notes, len(header))
