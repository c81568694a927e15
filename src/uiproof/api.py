"""The three things people ask for: run a method on a data set, score folders, see a demo."""

from __future__ import annotations

import atexit
import logging
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.errors import InputError, UsageError
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory
    from uiproof.registry import Benchmark

_log = logging.getLogger("uiproof")
_DEMO_DATASET = "design2code-demo"


def run(
    dataset: str | Path,
    method: str,
    *,
    out: Path | None = None,
    limit: int | None = None,
    workers: int | None = None,
    executor: str = "processes",
    retry_failed: bool = False,
    quiet: bool = False,
) -> RunDirectory:
    """Run a method on a data set and return the run, which is a directory.

        uiproof.run("design2code-demo", "blueprint", limit=3)
        uiproof.run("my/pages", "replay:my/predictions", out=Path("runs/mine"))

    `dataset` is a folder, a bundled name or one fetched with `uiproof data get`. Without `out` the
    run gets a folder of its own under `runs/`. Running again continues what is there; failed
    cases are tried again only with `retry_failed`.
    """
    from uiproof.registry import resolve_dataset

    benchmark, path = resolve_dataset(str(dataset))
    if out is None:
        name = re.sub(r"[^\w.-]+", "-", f"{Path(dataset).name}-{method}").strip("-.")
        out = Settings.from_environment().runs_dir / name
    try:
        return _execute(
            directory=out,
            benchmark=benchmark,
            dataset=path,
            dataset_name=str(dataset),
            method=method,
            executor=executor,
            workers=workers,
            limit=limit,
            retry_failed=retry_failed,
            quiet=quiet,
        )
    except KeyboardInterrupt as stop:
        stop.add_note(f"What is done is kept in {out}. The same command continues it.")
        raise


def score_folders(
    reference: Path,
    generated: Path,
    *,
    out: Path | None = None,
    workers: int | None = None,
    executor: str = "processes",
    limit: int | None = None,
    quiet: bool = False,
) -> RunDirectory:
    """Score generated pages against reference pages: two folders with the same names, or two files.

        run = uiproof.score_folders(Path("reference"), Path("generated"))
        run.summary["scores"]["paper"]["block_match"]["mean"]

    A reference page without a generated one is a failed case, never left out; a generated page
    without a reference is only warned about. Without `out` the run is made in a temporary
    directory that is removed when Python exits; an interrupted one is kept.
    """
    from uiproof.registry import benchmarks

    for path in (reference, generated):
        if not path.exists():
            raise InputError(f"There is no file or folder {path}.")
    if reference.is_dir() != generated.is_dir():
        raise UsageError(
            f"{reference} and {generated} are a file and a folder.",
            remedy="Give two files, or two folders that hold pages of the same names.",
        )
    if reference.is_dir():
        _check_names(reference, generated, quiet=quiet)
    benchmark = benchmarks()["design2code"]
    directory = out or Path(tempfile.mkdtemp(prefix="uiproof-"))
    try:
        finished = _execute(
            directory=directory,
            benchmark=benchmark,
            dataset=reference.resolve(),
            dataset_name=str(reference),
            method=f"replay:{generated}",
            executor=executor,
            workers=workers,
            limit=limit,
            quiet=quiet,
        )
    except KeyboardInterrupt as stop:
        stop.add_note(f"What is done is kept. Continue with --out {directory}")
        raise
    except BaseException:
        if out is None:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    if out is None:
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return finished


def demo(
    out: Path | None = None,
    *,
    limit: int | None = None,
    workers: int | None = None,
    quiet: bool = False,
) -> tuple[list[RunDirectory], Path]:
    """Score the bundled pages with built-in methods; return the runs and a report about them.

    Starts afresh each time. Without `out` the runs are in `runs/demo` and the report is
    `report.html` in the current folder, otherwise everything is in `out`.
    """
    from uiproof.registry import resolve_dataset
    from uiproof.report import write_report

    _, reference = resolve_dataset(_DEMO_DATASET)
    predictions = reference.parent / "generated"
    folder = out or Settings.from_environment().runs_dir / "demo"
    runs = []
    for name, method in (("blueprint", "blueprint"), ("replay", f"replay:{predictions}")):
        directory = folder / name
        if (directory / "run.json").is_file():  # never delete what is not a run
            shutil.rmtree(directory)
        runs.append(
            run(_DEMO_DATASET, method, out=directory, limit=limit, workers=workers, quiet=quiet)
        )
    report = (out or Path()) / "report.html"
    write_report([one.path for one in runs], report)
    return runs, report


def _check_names(reference: Path, generated: Path, *, quiet: bool) -> None:
    from uiproof.benchmarks.design2code.cases import pages_in

    wanted, given = set(pages_in(reference)), set(pages_in(generated))
    if wanted and given and not wanted & given:
        raise UsageError(
            f"No page of {generated} has the name of one of {reference}.",
            remedy="Pages belong together by their names: 1.html is compared with 1.html.",
        )
    if (strangers := sorted(given - wanted)) and not quiet:
        names = ", ".join(strangers[:5]) + (", …" if len(strangers) > 5 else "")
        _log.warning(
            "Generated pages without a reference, which are not scored (%d): %s",
            len(strangers),
            names,
        )


def _execute(
    *, benchmark: Benchmark, method: str, workers: int | None, quiet: bool, **options: Any
) -> RunDirectory:
    """`engine.run.execute` with what the environment says."""
    from uiproof.engine.progress import make_progress
    from uiproof.engine.run import execute

    settings = Settings.from_environment(workers=workers)
    return execute(
        benchmark=benchmark,
        method=benchmark.method(method),
        workers=settings.workers,
        case_timeout=settings.case_timeout,
        progress=make_progress(quiet=quiet),
        **options,
    )
