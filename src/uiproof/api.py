"""What people ask for: run methods on a data set, score folders."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.engine.notebook import call_anywhere
from uiproof.engine.progress import make_progress
from uiproof.errors import InputError, UsageError
from uiproof.methods import Cell, make_cells
from uiproof.remote.mirror import local, shown
from uiproof.remote.pushing import kept_at_url, run_place
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.benchmarks.interaction2code.replay import Replay
    from uiproof.engine.rundir import RunDirectory
    from uiproof.engine.types import Method
    from uiproof.models.budget import Budget
    from uiproof.models.chat import ModelOptions
    from uiproof.registry import Benchmark

_log = logging.getLogger("uiproof")


def run(
    dataset: str | Path,
    method: str,
    *,
    prompt: str | None = None,
    out: str | Path | None = None,
    limit: int | None = None,
    shard: str | None = None,
    workers: int | None = None,
    executor: str = "processes",
    retry_failed: bool = False,
    quiet: bool = False,
    models: ModelOptions | None = None,
    budget: Budget | None = None,
) -> RunDirectory:
    """Run a method on a data set and return the run, which is a directory.

        uiproof.run("design2code-demo", "blueprint", limit=3)
        uiproof.run("my/pages", "replay:my/predictions", out="runs/mine")
        uiproof.run("my/pages", "openai/gpt-4o", prompt="direct", budget=Budget(max_cost=5))

    `dataset` is a folder, a bundled name or one fetched with `uiproof data get`. `method` is a
    built-in method or a model; `prompt` is for models, `models` says how they are asked. Without
    `out` the run gets a folder of its own under `runs/`. Running again continues what is there;
    failed cases are tried again only with `retry_failed`. `shard="3/16"` does only the third of
    sixteen parts, for `merge` to join. Folders and runs can also be URLs, such as `s3://bucket/x`.
    """
    from uiproof.registry import resolve_dataset

    benchmark, path = resolve_dataset(str(dataset))
    (cell,) = make_cells(
        benchmark,
        dataset,
        [method],
        prompts=[] if prompt is None else [prompt],
        out=out,
        models=models,
        budget=budget,
        shard=shard,
    )
    return run_cell(
        cell,
        benchmark,
        dataset,
        path,
        limit=limit,
        shard=shard,
        workers=workers,
        executor=executor,
        retry_failed=retry_failed,
        quiet=quiet,
    )


def run_cell(
    cell: Cell, benchmark: Benchmark, dataset: str | Path, path: Path, **options: Any
) -> RunDirectory:
    """One run of a matrix; the options are those of `run`."""
    try:
        finished = _execute(
            directory=cell.directory,
            benchmark=benchmark,
            dataset=path,
            dataset_name=str(dataset),
            method=cell.method,
            **options,
        )
    except KeyboardInterrupt as stop:
        place = shown(cell.directory)
        stop.add_note(f"What is done is kept in {place}. The same command continues it.")
        raise
    if benchmark.finished is not None:
        benchmark.finished(finished)
    return finished


def score_folders(
    reference: str | Path,
    generated: str | Path,
    *,
    out: str | Path | None = None,
    workers: int | None = None,
    executor: str = "processes",
    limit: int | None = None,
    retry_failed: bool = False,
    quiet: bool = False,
) -> RunDirectory:
    """Score generated pages against reference pages: two folders with the same names, or two files.

        run = uiproof.score_folders("reference", "generated")
        run.summary["scores"]["paper"]["block_match"]["mean"]

    A reference page without a generated one is a failed case, never left out; a generated page
    without a reference is only warned about. Without `out` the run is made in a temporary
    directory that is removed when Python exits; an interrupted one is kept. With `out`, calling
    again continues what is there; failed cases are tried again only with `retry_failed`.
    """
    from uiproof.registry import benchmarks

    name = str(reference)
    reference, generated = local(reference), local(generated)
    for path in (reference, generated):
        if not path.exists():
            raise InputError(f"There is no file or folder {path}.")
    if reference.is_dir() != generated.is_dir():
        raise UsageError(
            f"{shown(reference)} and {shown(generated)} are a file and a folder.",
            remedy="Give two files, or two folders that hold pages of the same names.",
        )
    if reference.is_dir():
        _check_names(reference, generated, quiet=quiet)
    benchmark = benchmarks()["design2code"]
    return _scored(
        benchmark,
        reference,
        benchmark.method(f"replay:{generated}"),
        name=name,
        out=out,
        executor=executor,
        workers=workers,
        limit=limit,
        retry_failed=retry_failed,
        quiet=quiet,
    )


def score_interactions(
    dataset: str | Path,
    generated: str | Path,
    *,
    variant: str | None = None,
    contours: bool = False,
    out: str | Path | None = None,
    workers: int | None = None,
    executor: str = "processes",
    limit: int | None = None,
    retry_failed: bool = False,
    quiet: bool = False,
) -> RunDirectory:
    """Act on generated pages and score their interactions against a data set of Interaction2Code.

        run = uiproof.score_interactions("dataset", "generated", variant="mark_prompt-gpt")
        run.summary["scores"]["usable"]["mean"]

    `generated` holds `PAGE/K-*.html`, also under `PAGE/result/`, for interaction K alone, or
    `PAGE.html` for all of a page. Where there are several for one interaction, `variant` chooses by
    what follows the number. An interaction without a page is a failed case, never left out. With
    `contours` the `paper` positions follow the published contour rule, to compare with published
    numbers; it mostly does not find the marks. The rest is as for `score_folders`.
    """
    from uiproof.benchmarks.interaction2code.replay import Replay
    from uiproof.registry import benchmarks, resolve_dataset

    known, path = resolve_dataset(str(dataset))
    benchmark = benchmarks()["interaction2code"]
    if known.name != benchmark.name and not benchmark.recognises(path):
        raise InputError(
            f"{dataset} is no data set of Interaction2Code.", remedy=f"It is {benchmark.layout}"
        )
    method = Replay(local(generated), variant=variant)
    _check_pages(path, method, quiet=quiet)
    with _contours(on=contours):
        return _scored(
            benchmark,
            path,
            method,
            name=str(dataset),
            out=out,
            executor=executor,
            workers=workers,
            limit=limit,
            retry_failed=retry_failed,
            quiet=quiet,
        )


def _scored(
    benchmark: Benchmark,
    dataset: Path,
    method: Method[Any, Any],
    *,
    out: str | Path | None,
    name: str | None = None,
    **options: Any,
) -> RunDirectory:
    """A run of existing answers; without `out` its directory goes when Python exits."""
    directory = Path(tempfile.mkdtemp(prefix="uiproof-")) if out is None else run_place(out)
    try:
        finished = _execute(
            directory=directory,
            benchmark=benchmark,
            dataset=dataset.resolve(),
            dataset_name=name or str(dataset),
            method=method,
            **options,
        )
    except KeyboardInterrupt as stop:
        stop.add_note(f"What is done is kept. Continue with --out {shown(directory)}")
        raise
    except BaseException:
        if out is None:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    if out is None:
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return finished


@contextmanager
def _contours(*, on: bool) -> Iterator[None]:
    """Judges are made in other processes, which only know the environment."""
    variable = "UIPROOF_PUBLISHED_CONTOURS"
    before = os.environ.get(variable)
    if on:
        os.environ[variable] = "1"
    try:
        yield
    finally:
        if on and before is None:
            del os.environ[variable]
        elif on and before is not None:
            os.environ[variable] = before


def _check_names(reference: Path, generated: Path, *, quiet: bool) -> None:
    from uiproof.benchmarks.design2code.cases import pages_in

    wanted, given = set(pages_in(reference)), set(pages_in(generated))
    if wanted and given and not wanted & given:
        raise UsageError(
            f"No page of {shown(generated)} has the name of one of {shown(reference)}.",
            remedy="Pages belong together by their names: 1.html is compared with 1.html.",
        )
    if (strangers := sorted(given - wanted)) and not quiet:
        names = ", ".join(strangers[:5]) + (", …" if len(strangers) > 5 else "")
        _log.warning(
            "Generated pages without a reference, which are not scored (%d): %s",
            len(strangers),
            names,
        )


def _check_pages(dataset: Path, generated: Replay, *, quiet: bool) -> None:
    from uiproof.benchmarks.interaction2code.layout import read_dataset

    wanted = {page.page for page in read_dataset(dataset)}
    given = generated.pages
    if "" in given:
        # The folder itself is that of a page, without saying of which.
        if len(wanted) > 1:
            raise UsageError(
                f"The pages of {generated.settings['folder']} do not say of which page they are.",
                remedy="Put them into a folder for each page, or name one page of the data set.",
            )
        return
    if given and not wanted & given:
        raise UsageError(
            f"Nothing in {generated.settings['folder']} has the name of a page of {dataset}.",
            remedy="Predictions are PAGE/K-anything.html for interaction K, or PAGE.html.",
        )
    if (strangers := sorted(given - wanted)) and not quiet:
        names = ", ".join(strangers[:5]) + (", …" if len(strangers) > 5 else "")
        _log.warning(
            "Generated pages that are not in the data set and not scored (%d): %s",
            len(strangers),
            names,
        )


def _execute(
    *, workers: int | None = None, shard: str | None = None, quiet: bool = False, **options: Any
) -> RunDirectory:
    """`engine.run.execute` with what the environment says, also inside a notebook."""
    from uiproof.engine.run import execute
    from uiproof.engine.shards import Shard

    settings = Settings.from_environment(workers=workers)
    call = partial(
        execute,
        workers=settings.workers,
        shard=None if shard is None else Shard.parse(shard),
        case_timeout=settings.case_timeout,
        **options,
    )
    with kept_at_url(options["directory"]):
        return call_anywhere(call, make_progress(quiet=quiet))
