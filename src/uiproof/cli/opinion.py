"""The verb that asks a chat model what it thinks of the verifier's verdicts."""

from __future__ import annotations

from typing import Annotated

import typer

from uiproof.cli.app import app
from uiproof.cli.options import Concurrency, MaxCost, MaxRequests, Quiet, Runs, Timeout


@app.command()
def opinion(
    runs: Runs,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="Who is asked, such as openai/gpt-4o.")
    ],
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    quiet: Quiet = False,
) -> None:
    """Let a chat model judge the interactions of runs, too, and say how far both agree.

    It sees the pictures before and after, not the verdicts. Its opinions are kept in the run, in
    opinions.json; they change no score.

    \b
    Example:
      uiproof opinion runs/mine --model openai/gpt-4o --max-cost 5
    """
    import uiproof

    options = uiproof.ModelOptions.of(concurrency=concurrency, timeout=timeout)
    budget = uiproof.Budget(max_cost=max_cost, max_requests=max_requests)
    for run in runs:
        said = uiproof.second_opinion(run, model, quiet=quiet, models=options, budget=budget)
        left_out = f"; {said.not_asked} without pictures" if said.not_asked else ""
        failed = f"; {said.failed} without an opinion" if said.failed else ""
        typer.echo(f"{run}: {len(said.opinions)} interactions{left_out}{failed}")
        for name, found in (("usable", said.usable), ("failure type", said.failure)):
            kappa = "not defined" if found["kappa"] is None else f"{found['kappa']:.2f}"
            if found["n"]:
                typer.echo(f"  {name}: the same in {found['accuracy']:.1%}, kappa {kappa}")
