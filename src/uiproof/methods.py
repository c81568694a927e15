"""From names to methods: what is built in, and models with their prompts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.errors import UsageError
from uiproof.models.names import is_model_name
from uiproof.remote.pushing import holds_run, run_place
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.engine.types import Method
    from uiproof.models.budget import Budget
    from uiproof.models.chat import ModelOptions
    from uiproof.registry import Benchmark


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a matrix: a method, with its prompt if it is a model, and where its run is."""

    label: str
    method: Method[Any, Any]
    directory: Path


def make_cells(
    benchmark: Benchmark,
    dataset: str | Path,
    methods: Sequence[str],
    *,
    prompts: Sequence[str] = (),
    out: str | Path | None = None,
    models: ModelOptions | None = None,
    budget: Budget | None = None,
    shard: str | None = None,
) -> list[Cell]:
    """Every model with every prompt (or the default one), every other method once, none twice.

    With `out`, a path or a URL, one run alone is in that directory, and of several each in a folder
    below it. Without it, a shard has a folder of its own.
    """
    ending = "" if shard is None else f"-shard-{shard.replace('/', '-of-')}"
    wanted: list[tuple[str, str | None]] = []
    for name in methods:
        wanted += [(name, prompt) for prompt in (prompts if is_model_name(name) else ())] or [
            (name, None)
        ]
    if prompts and not any(prompt for _, prompt in wanted):
        raise UsageError(
            f"{', '.join(methods)}: not a model, so there is nothing to prompt.",
            remedy="Leave --prompt away.",
        )
    cells: dict[str, Cell] = {}
    for asked, prompt in wanted:
        method = make_method(benchmark, asked, prompt=prompt, models=models, budget=budget)
        # A model's own name has no secrets in it and says which prompt.
        label = method.name if is_model_name(asked) or benchmark.composed else asked
        if out is None:
            name = f"{Path(dataset).name}-{label}{ending}"
            folder = run_place(Settings.from_environment().runs_dir, _slug(name))
        else:
            folder = run_place(out, _slug(label))
        cells.setdefault(label, Cell(label, method, folder))
    if out is not None and len(cells) == 1:
        return [Cell(cell.label, cell.method, run_place(out)) for cell in cells.values()]
    if out is not None and holds_run(out):
        raise UsageError(
            f"{out} is a run, and {len(cells)} runs do not go into one.",
            remedy="Give them another folder with --out.",
        )
    return list(cells.values())


def make_method(
    benchmark: Benchmark,
    name: str,
    *,
    prompt: str | None = None,
    models: ModelOptions | None = None,
    budget: Budget | None = None,
) -> Method[Any, Any]:
    """The built-in method of this name, or the model of this name with a prompt."""
    from uiproof.models.chat import ModelOptions, connect

    if benchmark.composed is not None:
        if prompt is not None:
            raise UsageError(f"The methods of {benchmark.name} have no prompts to choose from.")
        return benchmark.composed(
            name, partial(connect, options=models or ModelOptions(), budget=budget)
        )
    if not is_model_name(name):
        return benchmark.method(name)
    if benchmark.prompted is None:
        raise UsageError(f"{benchmark.name} has no prompts for models.")
    prompt = prompt or next(iter(benchmark.prompts))
    benchmark.check_prompt(prompt)
    options = models or ModelOptions()
    if benchmark.parameters is not None:
        options = options.with_defaults(benchmark.parameters)
    model = connect(name, options=options, budget=budget)
    return benchmark.prompted(model, prompt)


def _slug(text: str) -> str:
    """A name as a file name."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")
