"""Find benchmarks, data sets and methods by name."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Benchmark, JudgeOptions, Method
from uiproof.errors import (
    InputError,
    MissingDependencyError,
    UsageError,
    suggestion,
)
from uiproof.files import path_suggestion

if TYPE_CHECKING:
    from uiproof.models.budget import Budget
    from uiproof.models.chat import ModelOptions
    from uiproof.settings import Settings

ENTRY_POINTS = "uiproof.benchmarks"
# A name, a function that answers questions, or a method of the user's own.
AnyMethod = str | Method[Any, Any] | Callable[..., Any]
_REPLAY = "replay:"  # how methods begin that answer with what exists already


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a matrix: a method, with its prompt if it is a model, and its directory."""

    label: str
    method: Method[Any, Any]
    directory: Path


def benchmarks() -> dict[str, Benchmark]:
    """Return all installed benchmarks by name, those of other packages included."""
    return dict(_installed(entry_points, tuple(sys.path)))


@lru_cache(maxsize=4)
def _installed(find: Callable[..., EntryPoints], _path: tuple[str, ...]) -> dict[str, Benchmark]:
    """Look for benchmarks once for each search path: looking takes tens of milliseconds."""
    found: dict[str, Benchmark] = {}
    for entry in sorted(find(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            benchmark = entry.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"The benchmark {entry.name} ({entry.value}) cannot be loaded: {error}.",
                remedy="Reinstall or remove the package that brings it.",
            ) from error
        found[benchmark.name] = benchmark
    return found


def resolve_dataset(name: str) -> tuple[Benchmark, Path]:
    """Find a data set and its benchmark: a path, a URL, a bundled name, or one that was fetched."""
    from uiproof.remote.store import is_url
    from uiproof.settings import Settings

    known = benchmarks()
    if is_url(name):
        from uiproof.remote.mirror import fetch

        mirror = fetch(name)
        return _benchmark_of(mirror, known), mirror.absolute()
    path = Path(name).expanduser()
    if path.exists():
        return _benchmark_of(path, known), path.absolute()
    for benchmark in known.values():
        if name in benchmark.bundled:
            return benchmark, benchmark.bundled[name]
    made = Settings.from_environment().datasets_dir / name
    if made.exists():
        return _benchmark_of(made, known), made.absolute()
    fetched = _fetched(name, known)
    return _benchmark_of(fetched, known), fetched


def made_datasets() -> list[Path]:
    """Return the folders in EVAL_DATASETS_DIR."""
    from uiproof.settings import Settings

    folder = Settings.from_environment().datasets_dir
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def _fetched(name: str, known: Mapping[str, Benchmark]) -> Path:
    from uiproof import hub  # only names that are nowhere else need the catalogue

    published = [entry.name for entry in hub.catalogue().values() if entry.kind == "dataset"]
    if name not in published:
        names = [*(bundled for one in known.values() for bundled in one.bundled), *published]
        likely = suggestion(name, [*names, "synthetic"]) or path_suggestion(name)
        remedy = f"{likely} Give a path, or a name that `uiproof list` shows.".lstrip()
        raise InputError(
            f"There is no file or folder {name}, and no data set of that name.",
            remedy="Make it with `uiproof generate`." if name == "synthetic" else remedy,
        )
    path = hub.local_path(name)
    if path is None:
        raise MissingDependencyError(
            f"The data set {name} is not on this machine.",
            remedy=f"Fetch it with `uiproof data get {name}`.",
        )
    return path


def _benchmark_of(path: Path, known: Mapping[str, Benchmark]) -> Benchmark:
    for benchmark in known.values():
        if benchmark.recognises(path):
            return benchmark
    from uiproof.remote.mirror import shown

    layouts = [f"{one.name}: {one.layout}" for one in known.values() if one.layout]
    examples = [str(example) for one in known.values() for example in one.bundled.values()]
    if examples:
        layouts.append(f"To compare with: {', '.join(examples)}")
    raise InputError(
        f"{shown(path)} does not look like a data set of {' or '.join(known) or 'any benchmark'}.",
        remedy="\n  ".join(layouts),
    )


def judge_options_for(
    benchmark: Benchmark, dataset: Path | None, *, web: str | Path | None = None, **chosen: Any
) -> JudgeOptions:
    """Return the options for judges; `web` is by default the archive that a data set has beside it.

    That is `web.zip`, or `web/` with an `index.json`, in the folder of the data set.
    """
    options = benchmark.judge_options(**chosen)
    if benchmark.shows_pages:
        from uiproof.remote.mirror import local

        return replace(options, web=archive_beside(dataset) if web is None else local(web))
    if web is not None:
        raise UsageError(f"{benchmark.name} shows no pages.", remedy="Drop --web.")
    return options


def archive_beside(dataset: Path | None) -> Path | None:
    """Return the archive of the web that a data set has in its folder."""
    if dataset is None:
        return None
    folder = dataset if dataset.is_dir() else dataset.parent
    if (folder / "web.zip").is_file():
        return folder / "web.zip"
    return folder / "web" if (folder / "web" / "index.json").is_file() else None


def planned_runs(
    benchmark: Benchmark,
    dataset: str | Path,
    methods: Sequence[AnyMethod],
    *,
    prompts: Sequence[str] = (),
    out: str | Path | None = None,
    models: ModelOptions | None = None,
    budget: Budget | None = None,
    shard: str | None = None,
    cases: Sequence[str] = (),
    protocol: str | None = None,
    settings: Settings | None = None,
    replay: Callable[[Path], Method[Any, Any]] | None = None,
) -> list[PlannedRun]:
    """Return every model with every prompt (or the default one) and every other method once.

    With `out`, a path or a URL, one run alone is in that directory, and of several each in a folder
    below it. Without it, shards and chosen cases have separate folders. `replay` makes
    the methods `replay:PATH` where options for these are given.
    """
    from uiproof.engine.run_sync import holds_run, run_place
    from uiproof.models.names import is_model_name
    from uiproof.settings import Settings

    settings = settings or Settings.from_environment()
    ending = "" if shard is None else f"-shard-{shard.replace('/', '-of-')}"
    ending += f"-case-{slug('-'.join(sorted(cases)))[:40]}" if cases else ""
    wanted: list[tuple[AnyMethod, str | None]] = []
    for name in methods:
        asks = isinstance(name, str) and is_model_name(name)
        wanted += [(name, prompt) for prompt in (prompts if asks else ())] or [(name, None)]
    if prompts and not any(prompt for _, prompt in wanted):
        raise UsageError(
            f"{', '.join(map(str, methods))}: not a model, so there is nothing to prompt.",
            remedy="Drop --prompt.",
        )
    if replay is not None and not any(str(name).startswith(_REPLAY) for name in methods):
        raise UsageError(
            f"{', '.join(map(str, methods))}: nothing to build, because no answers exist yet.",
            remedy="Use --method replay:FOLDER, or drop --build.",
        )
    planned: dict[str, PlannedRun] = {}
    for asked, prompt in wanted:
        if replay is not None and isinstance(asked, str) and asked.startswith(_REPLAY):
            from uiproof.remote.mirror import local

            method = replay(local(asked.removeprefix(_REPLAY)))
        else:
            method = make_method(
                benchmark,
                asked,
                prompt=prompt,
                models=models,
                budget=budget,
                protocol=protocol,
                settings=settings,
            )
        # A model's own name has no secrets in it and says which prompt.
        label = method.name
        if isinstance(asked, str) and not (is_model_name(asked) or benchmark.labels_by_method):
            label = asked
        if out is None:
            name = f"{Path(dataset).name}-{label}{ending}"
            folder = run_place(settings.runs_dir, slug(name))
        else:
            folder = run_place(out, slug(label))
        before = planned.setdefault(label, PlannedRun(label, method, folder))
        if before.method.settings != method.settings:
            raise UsageError(
                f"Two runs would be called {label!r}.",
                remedy="Give prompt files and functions different names.",
            )
    if out is not None and len(planned) == 1:
        return [PlannedRun(one.label, one.method, run_place(out)) for one in planned.values()]
    if out is not None and holds_run(out):
        raise UsageError(
            f"{out} is a run and cannot hold {len(planned)} runs.",
            remedy="Give them another folder with --out.",
        )
    return list(planned.values())


def make_method(
    benchmark: Benchmark,
    name: AnyMethod,
    *,
    prompt: str | None = None,
    models: ModelOptions | None = None,
    budget: Budget | None = None,
    protocol: str | None = None,
    settings: Settings | None = None,
) -> Method[Any, Any]:
    """Return the method of this name, the model of this name with a prompt, or a function's."""
    from uiproof.models.chat import ModelOptions, connect
    from uiproof.models.names import is_model_name
    from uiproof.settings import Settings

    benchmark.check_protocol(protocol)
    if isinstance(name, Method):
        return name
    if not isinstance(name, str) or not (is_model_name(name) or is_built_in(benchmark, name)):
        from uiproof.functions import FunctionMethod, imported

        if not isinstance(name, str):
            return FunctionMethod(benchmark, name)
        if function := imported(name):
            return FunctionMethod(benchmark, function, name)
    if prompt is None and is_model_name(name):
        prompt = next(iter(benchmark.prompts), None)
    if prompt is not None:
        benchmark.check_prompt(prompt)
    options = models or ModelOptions()
    if benchmark.parameters is not None:
        options = options.with_defaults(benchmark.parameters)
    settings = settings or Settings.from_environment()
    return benchmark.method(
        name,
        connect=partial(connect, options=options, budget=budget, settings=settings),
        prompt=prompt,
        protocol=protocol,
        settings=settings,
    )


def is_built_in(benchmark: Benchmark, name: str) -> bool:
    """Return whether a name is that of a method of the benchmark, with or without arguments."""
    return name.split(":")[0] in {re.split("[:@]", known)[0] for known in benchmark.methods}


def slug(text: str) -> str:
    """Return a name as a file name."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")
