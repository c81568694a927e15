"""Tables of text: for a terminal, and as markdown."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from uiproof.stats.intervals import Interval

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 160  # what is written to a file or pipe is not squeezed into a terminal's width
MISSING = "-"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: its title, the names of its columns, its rows, and what one has to know of it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    names: int = 1  # how many columns at the left are names and not numbers


def console(grids: Iterable[Grid], *, width: int | None = None) -> str:
    """Tables for people at a terminal, one below the other."""
    from rich.console import Console
    from rich.text import Text

    terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns if terminal else _PIPE_WIDTH
    out = io.StringIO()
    screen = Console(file=out, force_terminal=terminal, width=width or columns, highlight=False)
    for number, grid in enumerate(grids):
        screen.print(*([] if number == 0 else [""]), Text(grid.title, style="bold"), sep="\n")
        _print(screen, grid)
        for note in grid.notes:
            screen.print(Text(note, style="dim"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def markdown(grids: Iterable[Grid]) -> str:
    """The same tables as markdown."""
    parts = []
    for grid in grids:
        marks = [
            ":---" if number < grid.names or not label else "---:"
            for number, label in enumerate(grid.header)
        ]
        lines = [_line(map(_escaped, grid.header)), _line(marks)]
        lines += [_line(map(_escaped, row)) for row in grid.rows]
        notes = [_escaped(note) for note in grid.notes]
        parts.append("\n\n".join([f"### {_escaped(grid.title)}", "\n".join(lines), *notes]))
    return "\n\n".join(parts) + "\n"


def percent(rate: Interval | None, digits: int = 1) -> str:
    """A share as percent; a dash where there is none."""
    return MISSING if rate is None else f"{100 * rate.mean:.{digits}f}"


def bounds(rate: Interval | None, digits: int = 1) -> str:
    """The interval of a share as percent."""
    if rate is None or rate.low is None or rate.high is None:
        return MISSING
    return f"{100 * rate.low:.{digits}f}-{100 * rate.high:.{digits}f}"


def share(rate: Interval | None) -> str:
    """A share with its interval: `72.7 (68.0-77.0)`."""
    if rate is None or rate.low is None:
        return percent(rate)
    return f"{percent(rate)} ({bounds(rate, 0)})"


def _print(screen: Console, grid: Grid) -> None:
    from rich.table import Table
    from rich.text import Text

    def table(lines: Sequence[Sequence[str]], names: int) -> Table:
        made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for number, label in enumerate(lines[0]):
            # A column without a name holds remarks.
            left = number < names or not label
            justify: Literal["left", "right"] = "left" if left else "right"
            made.add_column(Text(_printable(label)), justify=justify, overflow="fold")
        for line in lines[1:]:
            made.add_row(*(Text(_printable(cell)) for cell in line))
        return made

    lines = [grid.header, *grid.rows]
    wide = table(lines, grid.names)
    needed = screen.measure(wide, options=screen.options.update(max_width=10_000)).maximum
    if needed > screen.width and len(lines) < len(grid.header):
        wide = table(list(zip(*lines, strict=True)), 1)  # few rows read better as columns then
    screen.print(wide)


def _printable(text: str) -> str:
    # A name may come from a file that somebody else made: no control characters for terminals.
    return "".join(character if character.isprintable() else "?" for character in text)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Text that stays text inside a markdown table."""
    text = " ".join(text.split())
    for character in "\\|`*_<>[]":
        text = text.replace(character, f"\\{character}")
    return text
