"""The cache of answers as `uiproof cache` shows it."""

from __future__ import annotations

import io
import shutil
import sys
from datetime import datetime

from uiproof.models.cache import ReplyCache
from uiproof.quantities import size_text

_PIPE_WIDTH = 160


def cache_table(cache: ReplyCache, *, width: int | None = None) -> str:
    """What is stored per model, for a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    totals = cache.totals()
    if not totals:
        return f"No answers are stored in {cache.folder}."
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("Model", overflow="fold")
    for label in ("Answers", "Tokens in", "Tokens out", "Size", "Oldest", "Newest"):
        table.add_column(label, justify="right", no_wrap=True)
    for one in totals:
        table.add_row(
            Text("".join(c if c.isprintable() else "?" for c in one.model)),
            f"{one.answers:,}",
            f"{one.input_tokens:,}",
            f"{one.output_tokens:,}",
            size_text(one.bytes),
            *(datetime.fromtimestamp(day).strftime("%Y-%m-%d") for day in (one.oldest, one.newest)),
        )
    terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns if terminal else _PIPE_WIDTH
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=width or columns, highlight=False)
    console.print(table)
    answers, size = sum(one.answers for one in totals), sum(one.bytes for one in totals)
    limit = "" if cache.max_bytes is None else f" of at most {size_text(cache.max_bytes)}"
    last = f"{answers:,} answers, {size_text(size)}{limit}, in {cache.folder}"
    return "\n".join([*(line.rstrip() for line in out.getvalue().splitlines()), last])
