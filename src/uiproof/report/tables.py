"""Runs as a table, for a terminal or as markdown."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from uiproof.engine.rundir import RunDirectory
from uiproof.registry import Metric
from uiproof.report.leaderboard import Cell, Leaderboard, Row, leaderboard
from uiproof.report.plans import dollars

NOT_MEASURED = "not measured"
TIE = "≈"
_SPREAD = "± is half the width of the 95 % bootstrap interval of the mean."
_PIPE_WIDTH = 160  # what is written to a file or pipe is not squeezed into a terminal's width


def comparison(runs: Sequence[RunDirectory | Path | str], *, width: int | None = None) -> str:
    """A table for people at a terminal: means, half widths of their intervals, ties, failures."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def shown(cell: Cell, metric: Metric) -> Text:
        text = Text(_mean(cell, metric), style=_style(cell))
        if (spread := _spread(cell, metric)) is not None:
            text.append(f" {spread}", style="not bold dim")
        return text

    def table(lines: Sequence[Sequence[Text]]) -> Table:
        made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for number, label in enumerate(lines[0]):
            made.add_column(label, justify="right" if number else "left", overflow="fold")
        for line in lines[1:]:
            made.add_row(*line)
        return made

    board = leaderboard(runs)
    header = ["Method", "n", "Failed", *(metric.label for metric in board.metrics)]
    lines = [[Text(label) for label in header]]
    for row in board.ranked():
        failed = Text(str(row.failed), style="red" if row.failed else "")
        cells = [shown(cell, metric) for cell, metric in zip(row.cells, board.metrics, strict=True)]
        lines.append([Text(_label(row)), Text(str(row.n)), failed, *cells])
    terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns if terminal else _PIPE_WIDTH
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=width or columns, highlight=False)
    wide = table(lines)
    needed = console.measure(wide, options=console.options.update(max_width=10_000)).maximum
    if needed > console.width and len(lines) < len(header):
        wide = table(list(zip(*lines, strict=True)))  # few runs read better as columns then
    console.print(wide)
    for note in (_SPREAD, *notes(board)):
        console.print(Text(note, style="dim"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def markdown(runs: Sequence[RunDirectory | Path | str]) -> str:
    """The same table as markdown, with the best of each metric in bold."""
    board = leaderboard(runs)
    header = ["Method", "n", "Failed", *(metric.label for metric in board.metrics)]
    lines = [
        _markdown_row(header),
        _markdown_row([":---", *["---:"] * (len(header) - 1)]),
    ]
    for row in board.ranked():
        cells = []
        for cell, metric in zip(row.cells, board.metrics, strict=True):
            mean, spread = _mean(cell, metric), _spread(cell, metric)
            mean = f"**{mean}**" if cell.best else mean
            cells.append(mean if spread is None else f"{mean} {spread}")
        lines.append(_markdown_row([_escaped(_label(row)), str(row.n), str(row.failed), *cells]))
    return "\n".join([*lines, *(f"\n{_escaped(note)}" for note in (_SPREAD, *notes(board)))]) + "\n"


def notes(board: Leaderboard) -> list[str]:
    """What a reader has to know to read the table, and nothing that does not occur in it."""
    found = []
    if any(cell.tie for row in board.rows for cell in row.cells):
        found.append(
            f"{TIE} cannot be told apart from the best on the same cases (paired bootstrap, 95 %)."
        )
    if board.shared is not None:
        found.append(
            f"Only {board.shared} cases are in all runs; means over different cases compare badly."
        )
    if any(row.failed for row in board.rows):
        found.append("Failed cases count in every mean.")
    if any(row.assisted for row in board.rows):
        found.append("Assisted methods were given the truth.")
    found += [f"{row.name}: {_usage(row.usage)}." for row in board.rows if row.usage]
    found += [f"{row.name}: {_answers(row.answers)}." for row in board.rows if row.answers]
    for index, metric in enumerate(board.metrics):
        for row in board.rows:
            cell = row.cells[index]
            if cell.mean is None and cell.note != NOT_MEASURED:
                found.append(f"{metric.label}, {row.name}: {cell.note}.")
        variants = {
            row.cells[index].note for row in board.rows if row.cells[index].mean is not None
        }
        if len(variants) == 1 and "" not in variants:
            found.append(f"{metric.label} is the variant {variants.pop()}.")
        elif len(variants) > 1:
            found.append(
                f"{metric.label} is on different scales ({', '.join(sorted(variants))}) and is "
                "not compared."
            )
    return found


def _usage(usage: Mapping[str, Any]) -> str:
    requests = "1 request" if usage["requests"] == 1 else f"{usage['requests']:,} requests"
    if usage["cached"]:
        requests += f" ({usage['cached']:,} answered from the cache)"
    tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
    price = dollars(usage["cost"])
    if usage["cost"] is None:
        price = "price unknown"
    elif usage["unpriced"]:
        price = f"{price} without {usage['unpriced']:,} of unknown price"
    return f"{requests}, {tokens}, {price}"


def _answers(answers: Mapping[str, int]) -> str:
    return "answers " + ", ".join(f"{what} {count:,}" for what, count in answers.items())


def _label(row: Row) -> str:
    marks = [
        mark for mark, on in (("assisted", row.assisted), ("unfinished", not row.complete)) if on
    ]
    # A name may come from a folder that somebody else made: no control characters for terminals.
    name = "".join(character if character.isprintable() else "?" for character in row.name)
    return f"{name} [{', '.join(marks)}]" if marks else name


def _mean(cell: Cell, metric: Metric) -> str:
    if cell.mean is None:
        return NOT_MEASURED
    return f"{TIE if cell.tie else ''}{cell.mean:.{metric.digits}f}"


def _spread(cell: Cell, metric: Metric) -> str | None:
    if cell.low is None or cell.high is None:
        return None
    return f"±{(cell.high - cell.low) / 2:.{metric.digits}f}"


def _style(cell: Cell) -> str:
    return "dim" if cell.mean is None else "bold" if cell.best else ""


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Text that stays text inside a markdown table."""
    text = " ".join(text.split())
    for character in "\\|`*_<>[]":
        text = text.replace(character, f"\\{character}")
    return text
