"""What runs would take, as a table for a terminal."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uiproof.planning import Plan

_HEADER = ("Method", "Cases", "Done", "Requests", "In cache", "Tokens in", "Tokens out")


def plan_table(plans: Sequence[Plan]) -> str:
    """One line per run and a total; costs where all prices are known."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, label in enumerate((*_HEADER, "Cost", "at most")):
        table.add_column(label, justify="right" if number else "left", overflow="fold")
    for one in plans:
        table.add_row(
            one.method,
            *(f"{n:,}" for n in (one.cases, one.done, one.requests, one.cached)),
            f"{one.input_tokens:,}",
            f"{one.output_tokens:,}",
            dollars(one.cost),
            dollars(one.most_cost),
        )
    if len(plans) > 1:
        table.add_row(*_total(plans), style="bold")
    out = io.StringIO()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 160
    Console(file=out, width=width, highlight=False).print(table)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "\n".join([*lines, *_notes(plans)])


def dollars(amount: float | None) -> str:
    """An amount for people."""
    if amount is None:
        return "unknown"
    if 0 < amount < 0.0001:
        return "<$0.0001"
    return f"${amount:,.2f}" if amount >= 0.1 or amount == 0 else f"${amount:.4f}"


def _total(plans: Sequence[Plan]) -> list[str]:
    def summed(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    return [
        "total",
        *(
            f"{sum(column):,}"
            for column in zip(
                *(
                    (p.cases, p.done, p.requests, p.cached, p.input_tokens, p.output_tokens)
                    for p in plans
                ),
                strict=True,
            )
        ),
        dollars(summed([one.cost for one in plans])),
        dollars(summed([one.most_cost for one in plans])),
    ]


def _notes(plans: Sequence[Plan]) -> list[str]:
    notes = [
        "Nothing was sent. Tokens are estimates; a cost is at most what its last column says if",
        "no answer has to be asked for twice.",
    ]
    if any(one.cost is None for one in plans):
        notes.append("Prices that are unknown can be given in a file: see UIPROOF_PRICES.")
    if broken := sum(one.broken for one in plans):
        cases = "1 case" if broken == 1 else f"{broken:,} cases"
        notes.append(f"{cases} cannot be asked about and will fail.")
    return notes
