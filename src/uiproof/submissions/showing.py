"""A leaderboard of submissions for a terminal, as markdown, as JSON."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from uiproof.submissions.ranking import Ranked, Ranking

_HEADER = ("", "Name", "By", "n", "Failed", "95 %", "Behind", "p")
_WIDTH = 160
_LONGEST = 60
_MARKDOWN = set("\\`*_{}[]<>#!|~:@&$")


def table(board: Ranking) -> str:
    """For people at a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, label in enumerate(_header(board)):
        made.add_column(label, justify="left" if number in (1, 2) else "right", overflow="fold")
    for row in board.rows:
        made.add_row(*(Text(cell) for cell in _cells(row, board)))  # Text: no markup of strangers
    out = io.StringIO()
    console = Console(file=out, width=_WIDTH, highlight=False)
    if board.rows:
        console.print(Text(_title(board), style="bold"))
        console.print(made)
    for note in notes(board):
        console.print(Text(note))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def markdown(board: Ranking) -> str:
    """The same as markdown, in which names of strangers are nothing but text."""
    lines = []
    if board.rows:
        header = _header(board)
        lines = [
            f"**{escaped(_title(board))}**\n",
            _line(header),
            _line(["---:" if i not in (1, 2) else ":---" for i in range(len(header))]),
            *(_line([escaped(cell) for cell in _cells(row, board)]) for row in board.rows),
        ]
    return "\n".join([*lines, *(f"\n{escaped(note)}" for note in notes(board))]) + "\n"


def as_json(board: Ranking) -> dict[str, Any]:
    """`{"benchmark", "dataset", "dataset_key", "metric", "rows": […], "apart": […]}`."""
    return {**asdict(board), "metric": board.metric.key if board.metric else None}


def notes(board: Ranking) -> list[str]:
    """What a reader has to know, and who is not ranked."""
    found = []
    if len(board.rows) > 1:
        found.append(
            "Behind: the leader's mean minus its own on the same cases, with a 95 % interval. "
            "p: paired permutation test against the leader, corrected after Holm; "
            "≈ cannot be told from the leader."
        )
    if any(row.assisted for row in board.rows):
        found.append("Assisted methods were given the truth.")
    if len({row.uiproof for row in board.rows}) > 1:
        made_by = ", ".join(f"{row.name}: {row.uiproof}" for row in board.rows)
        found.append(f"Made by different versions of uiproof ({made_by}).")
    found += [f"Not ranked: {one.name}: {one.reason}." for one in board.apart]
    return found


def escaped(text: str) -> str:
    """Text that stays text inside a markdown table."""
    line = "".join(f"\\{one}" if one in _MARKDOWN else one for one in " ".join(text.split()))
    return re.sub(r"\bwww\.", r"www\\.", line, flags=re.IGNORECASE)  # would become a link


def _title(board: Ranking) -> str:
    return f"{board.benchmark} on {_cut(board.dataset)} ({board.dataset_key[:12]})"


def _header(board: Ranking) -> list[str]:
    metric = board.metric.label if board.metric else ""
    return [*_HEADER[:5], metric, *_HEADER[5:]]


def _cells(row: Ranked, board: Ranking) -> list[str]:
    digits = board.metric.digits if board.metric else 3
    name = _cut(row.name) + (" [assisted]" if row.assisted else "")
    behind = "" if row.behind is None else f"{row.behind:.{digits}f}"
    if reach := _interval(row.behind_low, row.behind_high, digits):
        behind += f" ({reach})"
    p_value = "" if row.p_value is None else f"{row.p_value:.3g}"
    return [
        f"{'≈' if row.tied else ''}{row.rank}",
        name,
        _cut(row.by or ""),
        str(row.n),
        str(row.failed),
        f"{row.mean:.{digits}f}",
        _interval(row.low, row.high, digits),
        behind,
        p_value,
    ]


def _interval(low: float | None, high: float | None, digits: int) -> str:
    return "" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
