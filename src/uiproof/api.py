"""The Python API behind every verb: run methods, score existing answers, join runs."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Benchmark, JudgeOptions
from uiproof.engine.progress import LABEL, call_anywhere, make_progress
from uiproof.engine.run_sync import kept_at_url, run_place
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import (
    BudgetReachedError,
    InputError,
    StorageError,
    UiproofError,
    UsageError,
    suggestion,
)
from uiproof.files import path_suggestion
from uiproof.registry import (
    AnyMethod,
    PlannedRun,
    benchmarks,
    judge_options_for,
    planned_runs,
    resolve_dataset,
)
from uiproof.remote.mirror import local, shown
from uiproof.remote.store import is_url
from uiproof.settings import RESULTS_DIR, Settings

if TYPE_CHECKING:
    from uiproof.benchmark import Method
    from uiproof.models.budget import Budget
    from uiproof.models.chat import ModelOptions


@dataclass(frozen=True, slots=True)
class Execution:
    """The options of one run, with the meaning that they have in `run`."""

    limit: int | None = None
    cases: Sequence[str] = ()
    samples: int = 1
    pass_score: float | None = None
    shard: str | None = None
    workers: int | None = None
    executor: str = "processes"
    ray_address: str | None = None
    retry_failed: bool = False
    quiet: bool = False
    judge: JudgeOptions | None = None


@dataclass(frozen=True, slots=True)
class Matrix:
    """The runs of one command."""

    runs: tuple[RunDirectory, ...]  # those that have results, finished or not
    stopped: tuple[tuple[str, UiproofError], ...] = ()  # the method, and what has stopped its run
    not_begun: tuple[str, ...] = ()  # methods whose turn did not come
    alone: bool = False  # only one run was asked for


@dataclass(frozen=True, slots=True)
class Step:
    """One run of a matrix: its label, its directory if that is known, and what makes it."""

    label: str
    directory: Path | None
    make: Callable[[], RunDirectory] = field(repr=False)


def run(
    dataset: str | Path,
    method: AnyMethod,
    *,
    prompt: str | None = None,
    out: str | Path | None = None,
    limit: int | None = None,
    cases: Sequence[str] = (),
    samples: int = 1,
    pass_score: float | None = None,
    shard: str | None = None,
    workers: int | None = None,
    executor: str = "processes",
    ray_address: str | None = None,
    retry_failed: bool = False,
    quiet: bool = False,
    models: ModelOptions | None = None,
    budget: Budget | None = None,
    results_dir: str | Path | None = None,
    protocol: str | None = None,
    settings: Settings | None = None,
    **judge_options: Any,
) -> RunDirectory:
    """Run a method on a data set and return the run, which is a directory.

        uiproof.run("my/pages", "replay:my/predictions", out="runs/mine")
        uiproof.run("my/pages", "openai/gpt-4o", prompt="direct", budget=Budget(max_cost=5))
        uiproof.run("my/pages", my_function)

    - `dataset`: a folder, a URL, a bundled name or one fetched with `uiproof data get`
    - `method`: a built-in method or a model; `prompt` and `models` say how a model is asked. Or a
      function, plain or async, that is given a question and returns an answer; see docs/models.md
    - `cases`: only those with these ids
    - `samples`: how often each case is answered; the summary then has the best of them and pass@k,
      where an answer passes with a score of at least `pass_score` (default 0.9)
    - `out`: the run's directory, which may be a URL; by default a new folder in `runs/`.
      Calling again continues the run; failed cases are retried with `retry_failed`
    - `shard`: `"3/16"` does only the third of sixteen parts, for `merge` to join
    - `executor`: `processes`, `ray` (at `ray_address`, by default RAY_ADDRESS) or `inline`
    - `protocol`: the rules that a benchmark follows, where it has several
    - `results_dir`: the folder for result files, where a benchmark writes some
    - `judge_options`: those of the benchmark's judge, where it has some; `web`, for benchmarks of
      pages, is an archive of `uiproof web record`, by default that of the data set
    """
    matrix = run_matrix(
        dataset,
        [method],
        prompts=[] if prompt is None else [prompt],
        out=out,
        limit=limit,
        cases=cases,
        samples=samples,
        pass_score=pass_score,
        shard=shard,
        workers=workers,
        executor=executor,
        ray_address=ray_address,
        retry_failed=retry_failed,
        quiet=quiet,
        models=models,
        budget=budget,
        results_dir=results_dir,
        protocol=protocol,
        settings=settings,
        **judge_options,
    )
    for _, error in matrix.stopped:
        raise error
    return matrix.runs[0]


def run_matrix(
    dataset: str | Path,
    methods: Sequence[AnyMethod],
    *,
    prompts: Sequence[str] = (),
    out: str | Path | None = None,
    limit: int | None = None,
    cases: Sequence[str] = (),
    samples: int = 1,
    pass_score: float | None = None,
    shard: str | None = None,
    workers: int | None = None,
    executor: str = "processes",
    ray_address: str | None = None,
    retry_failed: bool = False,
    quiet: bool = False,
    models: ModelOptions | None = None,
    budget: Budget | None = None,
    results_dir: str | Path | None = None,
    protocol: str | None = None,
    settings: Settings | None = None,
    **judge_options: Any,
) -> Matrix:
    """Run every model with every prompt, and every built-in method once: one run after another.

        uiproof.run_matrix("my/pages", ["openai/gpt-4o", "google/gemini-2.5-pro"],
                           prompts=["direct", "text-augmented"], out="runs/friday")

    Each is a separate run in a folder below `out`, and continues an unfinished one.
    A run that has to stop does not stop the others, unless the budget that they share is used up
    or the disk is full. The options are those of `run`.
    """
    benchmark, path = resolve_dataset(str(dataset))
    replayed, judge = _split_options(benchmark, path, judge_options)
    how = Execution(
        limit=limit,
        cases=tuple(cases),
        samples=samples,
        pass_score=pass_score,
        shard=shard,
        workers=workers,
        executor=executor,
        ray_address=ray_address,
        retry_failed=retry_failed,
        quiet=quiet,
        judge=judge,
    )
    # All methods are made before the first one runs: a wrong name is noticed at once.
    planned = planned_runs(
        benchmark,
        dataset,
        methods,
        prompts=prompts,
        out=out,
        models=models,
        budget=budget,
        shard=shard,
        cases=cases,
        protocol=protocol,
        settings=settings,
        replay=partial(benchmark.replay, path, quiet=quiet, **replayed) if replayed else None,
    )
    if samples > 1 and not quiet:
        _warn_about_equal_answers(planned)
    chosen = results_dir or (settings or Settings.from_environment()).results_dir
    # With --out alone, no result file is written.
    results = Path(chosen) if chosen else RESULTS_DIR if out is None else None
    return make_runs(
        [
            Step(
                one.label,
                one.directory,
                partial(_run, one, benchmark, str(dataset), path, how, results),
            )
            for one in planned
        ],
        quiet=quiet,
    )


def _split_options(
    benchmark: Benchmark, dataset: Path, options: dict[str, Any]
) -> tuple[dict[str, Any], JudgeOptions]:
    """Return the options for `Benchmark.replay`, and those of the judge."""
    replayed = {name: options.pop(name) for name in benchmark.replay_options if name in options}
    return replayed, judge_options_for(benchmark, dataset, **options)


def _warn_about_equal_answers(planned: Sequence[PlannedRun]) -> None:
    for one in planned:
        settings = one.method.settings
        asked = settings.get("grounder", settings).get("parameters") or {}
        if asked.get("temperature") == 0:
            sys.stderr.write(
                f"uiproof: {one.label}: at temperature 0 several answers hardly differ; "
                "--temperature 0.7 makes them.\n"
            )


def make_runs(steps: Sequence[Step], *, quiet: bool = False) -> Matrix:
    """Make one run after another; see `run_matrix`."""
    number = 0
    runs: list[RunDirectory] = []
    stopped: list[tuple[str, UiproofError]] = []
    for number, step in enumerate(steps, start=1):
        if len(steps) > 1 and not quiet:
            sys.stderr.write(f"uiproof: run {number} of {len(steps)}: {step.label}\n")
        if len(steps) > 1:
            LABEL.set(f"run {number} of {len(steps)}")
        try:
            runs.append(step.make())
        except UiproofError as error:
            stopped.append((step.label, error))
            # After wrong use, the directory may hold another run.
            wrong_use = error.exit_code == UsageError.exit_code
            if not wrong_use and step.directory and (step.directory / "summary.json").is_file():
                runs.append(RunDirectory(step.directory))
            if isinstance(error, (BudgetReachedError, StorageError)):
                break
    LABEL.set("")
    not_begun = tuple(step.label for step in steps[number:])
    return Matrix(tuple(runs), tuple(stopped), not_begun, alone=len(steps) == 1)


def score(
    benchmark: str,
    dataset: str | Path,
    answers: str | Path,
    *,
    out: str | Path | None = None,
    limit: int | None = None,
    cases: Sequence[str] = (),
    workers: int | None = None,
    executor: str = "processes",
    ray_address: str | None = None,
    retry_failed: bool = False,
    quiet: bool = False,
    **judge_options: Any,
) -> RunDirectory:
    """Score answers that exist already against a data set of a benchmark.

    A case without an answer is a failed case, never left out. Without `out` the run is made in a
    temporary directory that is removed when Python exits; an interrupted one is kept. With `out`,
    calling again continues the run; failed cases are retried only with `retry_failed`.
    `cases` are the ids of those to score, by default all. Further options are those of the
    benchmark, such as `viewport="390x844"`.
    """
    chosen = benchmarks().get(benchmark)
    if chosen is None:
        raise UsageError(
            f"There is no benchmark {benchmark!r}.",
            remedy=suggestion(benchmark, benchmarks()) or f"Use one of: {', '.join(benchmarks())}.",
        )
    path, given = dataset_of(dataset), local(answers)
    if not given.exists():
        raise InputError(f"There is no file or folder {given}.", remedy=path_suggestion(given))
    replayed, judge = _split_options(chosen, path, judge_options)
    how = Execution(
        limit=limit,
        cases=tuple(cases),
        workers=workers,
        executor=executor,
        ray_address=ray_address,
        retry_failed=retry_failed,
        quiet=quiet,
        judge=judge,
    )
    method = chosen.replay(path, given, quiet=quiet, **replayed)
    return score_answers(chosen, path, method, how, name=str(dataset), out=out)


def score_answers(
    benchmark: Benchmark,
    dataset: Path,
    method: Method[Any, Any],
    how: Execution,
    *,
    name: str,
    out: str | Path | None,
) -> RunDirectory:
    """Run a method that has its answers already; see `score`."""
    directory = Path(tempfile.mkdtemp(prefix="uiproof-")) if out is None else run_place(out)
    try:
        finished = _execute(directory, benchmark, dataset.resolve(), name, method, how)
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


def dataset_of(name: str | Path) -> Path:
    """Return the folder or file of a data set, whatever it holds: a path, a URL or a name."""
    if is_url(str(name)) or Path(name).expanduser().exists():
        return local(name)
    return resolve_dataset(str(name))[1]


def compare_result_files(folder: str | Path | None = None, **options: Any) -> str:
    """Compare the result files of the benchmark that writes some; see `compare_files`."""
    place = None if folder is None else Path(folder)
    for benchmark in benchmarks().values():
        if (table := benchmark.compare_files(place, **options)) is not None:
            return table
    raise UsageError("No benchmark here writes result files.", remedy="Name runs to compare.")


def merge(
    runs: Sequence[str | Path | RunDirectory], out: str | Path, *, partial: bool = False
) -> RunDirectory:
    """Join shards, or other runs with the same settings, into a new run in `out`.

        uiproof.merge(["shards/1", "shards/2"], "runs/blueprint")

    Raises `RunMismatchError` that names the difference where they do not belong together. With
    `partial`, shards may be missing or unfinished. The runs are not changed. All may be URLs.
    """
    from uiproof.engine.shards import merge_runs

    directories = [RunDirectory.of(run) for run in runs]
    name = str(directories[0].manifest.get("benchmark")) if directories else ""
    known = benchmarks()
    if directories and name not in known:
        raise InputError(f"The benchmark {name!r} is not installed here.")
    place = run_place(out)
    with kept_at_url(place):
        return merge_runs(directories, place, known[name], partial=partial)


def _run(
    planned: PlannedRun,
    benchmark: Benchmark,
    name: str,
    path: Path,
    how: Execution,
    results_dir: Path | None,
) -> RunDirectory:
    try:
        finished = _execute(planned.directory, benchmark, path, name, planned.method, how)
    except KeyboardInterrupt as stop:
        place = shown(planned.directory)
        stop.add_note(f"What is done is kept in {place}. The same command continues it.")
        raise
    benchmark.finished(finished, results_dir)
    return finished


def _execute(
    directory: Path,
    benchmark: Benchmark,
    dataset: Path,
    name: str,
    method: Method[Any, Any],
    how: Execution,
) -> RunDirectory:
    """Call `engine.run.execute`, also inside a notebook."""
    from uiproof.engine.run import execute
    from uiproof.engine.shards import Shard

    settings = Settings.from_environment(workers=how.workers)
    call = partial(
        execute,
        directory=directory,
        benchmark=benchmark,
        dataset=dataset,
        dataset_name=name,
        method=method,
        executor=how.executor,
        ray_address=how.ray_address,
        workers=settings.workers,
        limit=how.limit,
        only=how.cases,
        samples=how.samples,
        pass_score=how.pass_score,
        shard=None if how.shard is None else Shard.parse(how.shard),
        case_timeout=settings.case_timeout,
        retry_failed=how.retry_failed,
        options=how.judge,
    )
    with kept_at_url(directory):
        return call_anywhere(call, make_progress(quiet=how.quiet))
