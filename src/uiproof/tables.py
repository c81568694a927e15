"""Tables of text, for a terminal and as markdown."""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

MISSING = "-"
_PIPE_WIDTH = 160  # a file or pipe has no width to fit into
_INTERVAL = re.compile(r" \[[^\[\]]*\]$")
_NUMBERS = re.compile(r"[\d.,+≈%$ \[\]-]*")  # cannot be anything but text in markdown
_MARKDOWN = re.compile(r"[\\|`*_<>\[\]]")
_LINKS = re.compile(r"[{}#!~:@&$]|(?<=\bwww)(?=\.)", re.IGNORECASE)  # mentions, links, emoji, math

Places = tuple[tuple[int, int], ...]  # rows and columns of cells


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its title, the names of its columns, its rows, and notes below it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    names: int = 1  # columns at the left that are names and not numbers
    best: Places = ()  # cells to be marked
    second: Places = ()
    warnings: Places = ()  # cells in red
    starred: bool = True  # best and second are marked in plain text too: `*` and `+`


def console(tables: Iterable[Table], *, width: int | None = None) -> str:
    """Return tables for a terminal, one below the other."""
    from rich.console import Console
    from rich.text import Text

    terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns if terminal else _PIPE_WIDTH
    out = io.StringIO()
    screen = Console(file=out, force_terminal=terminal, width=width or columns, highlight=False)
    for number, table in enumerate(tables):
        if number:
            screen.print("")
        if table.title:
            screen.print(Text(printable(table.title), style="bold"))
        if table.header:
            _print(screen, table)
        for note in table.notes:
            screen.print(Text(printable(note), style="dim"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def markdown(tables: Iterable[Table], *, untrusted: bool = False) -> str:
    """Return tables as markdown, with cells and titles as plain text.

    With `untrusted`, text cannot become links or mentions on servers that create them either.
    """

    def escaped(text: str) -> str:
        """Return text that stays text inside a markdown table."""
        text = printable(" ".join(text.split()))
        if _NUMBERS.fullmatch(text):
            return text
        text = _MARKDOWN.sub(r"\\\g<0>", text)
        return _LINKS.sub(r"\\\g<0>", text) if untrusted else text

    parts = []
    for table in tables:
        if table.title:
            parts.append(f"### {escaped(table.title)}")
        if table.header:
            marks = [":---" if _is_left(table, n) else "---:" for n in range(len(table.header))]
            lines = [_line(map(escaped, table.header)), _line(marks)]
            for number, row in enumerate(table.rows):
                lines.append(
                    _line(_marked(table, (number, n), escaped(cell)) for n, cell in enumerate(row))
                )
            parts.append("\n".join(lines))
        parts += [escaped(note) for note in table.notes]
    return "\n\n".join(parts) + "\n"


def printable(text: str) -> str:
    """Return text without control characters, which untrusted files may hold."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _print(screen: Console, table: Table) -> None:
    from rich.table import Table as RichTable
    from rich.text import Text

    def rich_table(lines: Sequence[Sequence[Text]], left: Sequence[bool]) -> RichTable:
        made = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for label, is_left in zip(lines[0], left, strict=True):
            justify: Literal["left", "right"] = "left" if is_left else "right"
            made.add_column(label, justify=justify, overflow="fold")
        for line in lines[1:]:
            made.add_row(*line)
        return made

    lines = [[Text(printable(label)) for label in table.header]]
    for number, row in enumerate(table.rows):
        lines.append([_styled(table, (number, column), cell) for column, cell in enumerate(row)])
    wide = rich_table(lines, [_is_left(table, column) for column in range(len(table.header))])
    needed = screen.measure(wide, options=screen.options.update(max_width=10_000)).maximum
    has_numbers = table.names < len(table.header)
    if needed > screen.width and len(lines) < len(table.header) and has_numbers:
        turned = list(zip(*lines, strict=True))  # few rows read better as columns then
        wide = rich_table(turned, [column == 0 for column in range(len(lines))])
    screen.print(wide)


def _is_left(table: Table, column: int) -> bool:
    return column < table.names or not table.header[column]  # without a name it holds remarks


def _styled(table: Table, place: tuple[int, int], cell: str) -> Text:
    from rich.text import Text

    shown = printable(cell)
    if table.starred:
        mark = "*" if place in table.best else "+" if place in table.second else ""
        # Cells below and above marked ones stay aligned.
        has_marks = any(column == place[1] for _, column in (*table.best, *table.second))
        shown += mark or (" " if has_marks else "")
    style = "red" if place in table.warnings else "bold" if place in table.best else ""
    text = Text(shown, style=style)
    if place[1] >= table.names and (interval := _INTERVAL.search(shown)):
        text.stylize("not bold dim", interval.start())
    return text


def _marked(table: Table, place: tuple[int, int], cell: str) -> str:
    value, bracket, interval = cell.partition(" [")
    if place in table.best:
        return f"**{value}**{bracket}{interval}"
    return f"<u>{value}</u>{bracket}{interval}" if place in table.second else cell


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
