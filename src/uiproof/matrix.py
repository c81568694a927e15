"""Several methods and prompts in one command, each a run of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.api import run_cell
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import BudgetReachedError, StorageError, UiproofError, UsageError
from uiproof.methods import make_cells

if TYPE_CHECKING:
    from uiproof.models.budget import Budget
    from uiproof.models.chat import ModelOptions


@dataclass(frozen=True, slots=True)
class Matrix:
    """The runs of one command."""

    runs: tuple[RunDirectory, ...]  # those that have results, finished or not
    stopped: tuple[tuple[str, UiproofError], ...] = ()  # the method, and what has stopped its run
    not_begun: tuple[str, ...] = ()  # methods whose turn did not come
    alone: bool = False  # only one run was asked for


def run_matrix(
    dataset: str | Path,
    methods: Sequence[str],
    *,
    prompts: Sequence[str] = (),
    out: str | Path | None = None,
    quiet: bool = False,
    models: ModelOptions | None = None,
    budget: Budget | None = None,
    shard: str | None = None,
    **options: Any,
) -> Matrix:
    """Run every model with every prompt, and every built-in method once: one run after another.

        uiproof.run_matrix("design2code-demo", ["openai/gpt-4o", "google/gemini-2.5-pro"],
                           prompts=["direct", "text-augmented"], out="runs/friday")

    Each is a run of its own, in a folder of its own below `out`, and continues what is there.
    A run that has to stop does not stop the others, unless the budget that they share is used up
    or the disk is full. The other options are those of `run`.
    """
    from uiproof.registry import resolve_dataset

    benchmark, path = resolve_dataset(str(dataset))
    # All methods are made before the first one runs: a wrong name is noticed at once.
    cells = make_cells(
        benchmark,
        dataset,
        methods,
        prompts=prompts,
        out=out,
        models=models,
        budget=budget,
        shard=shard,
    )
    options["shard"] = shard
    number = 0
    runs: list[RunDirectory] = []
    stopped: list[tuple[str, UiproofError]] = []
    for number, cell in enumerate(cells, start=1):
        if len(cells) > 1 and not quiet:
            sys.stderr.write(f"uiproof: run {number} of {len(cells)}: {cell.label}\n")
        try:
            runs.append(run_cell(cell, benchmark, dataset, path, quiet=quiet, **options))
        except UiproofError as error:
            stopped.append((cell.label, error))
            # Where the command is wrong, what lies there is not of this run.
            wrong_use = error.exit_code == UsageError.exit_code
            if not wrong_use and (cell.directory / "summary.json").is_file():
                runs.append(RunDirectory(cell.directory))
            if isinstance(error, (BudgetReachedError, StorageError)):
                break
    not_begun = tuple(cell.label for cell in cells[number:])
    return Matrix(tuple(runs), tuple(stopped), not_begun, alone=len(cells) == 1)
