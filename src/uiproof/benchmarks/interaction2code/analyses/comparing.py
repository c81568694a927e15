"""What `uiproof compare` adds for Interaction2Code: the paper's tables, and its charts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory

MARKDOWN = "tables.md"


def compared(runs: Sequence[RunDirectory], charts_dir: Path | None) -> str:
    """The tables of the paper for these runs.

    With `charts_dir`, its charts and all tables, of both profiles, are written there.
    """
    from uiproof.benchmarks.interaction2code.analyses.grid import console, markdown
    from uiproof.benchmarks.interaction2code.analyses.outcomes import results_of
    from uiproof.benchmarks.interaction2code.analyses.tables import all_tables

    found = results_of(runs)
    text = console(all_tables(found, analyses=["strict"]))
    if charts_dir is None:
        return text
    from uiproof.benchmarks.interaction2code.analyses.charts import draw_charts
    from uiproof.export import replacing

    drawn = draw_charts(found, charts_dir)
    file = charts_dir / MARKDOWN
    with replacing(file, makes_folders=True) as stream:
        stream.write(markdown(all_tables(found)))
    return "\n".join([text, "", *(f"Written: {path}" for path in (*drawn, file))])
