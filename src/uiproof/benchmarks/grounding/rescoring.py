"""Published prediction files, scored: one run for each method of a file."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from uiproof.benchmarks.grounding.predictions import (
    Published,
    Rates,
    published_methods,
    read_predictions,
)
from uiproof.engine.notebook import call_anywhere
from uiproof.engine.progress import make_progress
from uiproof.engine.run import execute
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError
from uiproof.remote.mirror import local
from uiproof.remote.pushing import kept_at_url, run_place


@dataclass(frozen=True, slots=True)
class Rescored:
    """One method of a prediction file: its run, and what the file says about itself."""

    method: str
    run: RunDirectory
    rates: Rates


def score_predictions(
    dataset: str,
    file: str | Path,
    *,
    field: str | None = None,
    points: str | None = None,
    boxes: str | None = None,
    annotations: str | Path | None = None,
    out: str | Path | None = None,
    limit: int | None = None,
    quiet: bool = False,
) -> list[Rescored]:
    """Score published predictions again; the files carry their boxes, so nothing else is needed.

        for one in uiproof.score_predictions("screenspot-pro", "venus_72b_in_depth_3.json"):
            print(one.method, one.run.summary["scores"]["accuracy"]["mean"], one.rates.stored)

    `dataset` is what the results are filed under. A file with several predictions for each item
    gives several results; `field` takes one of them. `points` and `boxes` say
    how numbers are meant where the file leaves that open. With `out` each run is kept in a folder
    below it.
    """
    file = local(file)
    if not file.is_file():
        raise InputError(f"There is no file {file}.")
    predictions = read_predictions(
        file, field=field, points=points, boxes=boxes, annotations=_path(annotations)
    )
    folder: str | Path = tempfile.mkdtemp(prefix="uiproof-") if out is None else out
    if out is None:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    methods = published_methods(predictions)
    return [
        _scored(dataset, file, one, run_place(folder, one.settings["field"]), limit, quiet)
        for one in methods
    ]


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else local(given)


def _scored(
    dataset: str, file: Path, method: Published, directory: Path, limit: int | None, quiet: bool
) -> Rescored:
    from uiproof.benchmarks.grounding import BENCHMARK

    call = partial(
        execute,
        directory=directory,
        benchmark=replace(BENCHMARK, cases=method.cases),
        dataset=file.resolve(),
        dataset_name=dataset,
        method=method,
        executor="inline",
        limit=limit,
    )
    with kept_at_url(directory):
        run = call_anywhere(call, make_progress(quiet=quiet))
    return Rescored(str(method.settings["field"]), run, method.rates)


def write_rescored(results: list[Rescored], target: str | Path | TextIO) -> None:
    """Write `{"benchmark", "summary", "cases", "methods": {name: {"summary", "stored", …}}}`.

    `summary` and `cases` are those of the method `final`, or of the first one.
    """
    from uiproof.export import write_json

    main = next((one for one in results if one.method == "final"), results[0])
    write_json(main.run, target, methods=dict(_methods(results)))


def _methods(results: list[Rescored]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for one in results:
        yield (
            one.method,
            {
                "summary": one.run.summary,
                "correct": one.rates.correct,
                "total": one.rates.total,
                "rescored": one.rates.rescored,
                "stored_correct": one.rates.stored_correct,
                "stored": one.rates.stored,
                "differing": list(one.rates.differing),
                "why": one.rates.why,
                "macro": dict(one.rates.macro),
            },
        )


def rescored_table(results: list[Rescored]) -> str:
    """What the files' numbers say beside what they state, for a terminal."""
    lines = [f"{'Method':<24}{'n':>7}{'Correct':>9}{'Rescored':>10}{'Stored':>9}  Macro"]
    for one in results:
        rates = one.rates
        stored = "" if rates.stored is None else f"{100 * rates.stored:.2f} %"
        macro = ", ".join(f"{name} {100 * rate:.2f} %" for name, rate in rates.macro.items())
        lines.append(
            f"{one.method:<24}{rates.total:>7,}{rates.correct:>9,}{100 * rates.rescored:>8.2f} %"
            f"{stored:>9}  {macro}".rstrip()
        )
    lines += [f"{one.method}: {one.rates.why}" for one in results if one.rates.why]
    return "\n".join(lines)
