"""Which benchmarks there are, and which of them a data set belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.engine.types import BrokenCase, Case, Judge, Method, Record
from uiproof.errors import InputError, MissingDependencyError, UsageError
from uiproof.remote.urls import is_url
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory
    from uiproof.models.chat import ChatModel
    from uiproof.models.types import Parameters

    Connect = Callable[[str], ChatModel]

ENTRY_POINTS = "uiproof.benchmarks"


@dataclass(frozen=True, slots=True)
class Metric:
    """A column of a table: which score it shows, and how."""

    key: str  # a path into the scores, for example `paper.block_match`
    label: str
    digits: int = 3
    bounds: tuple[float, float] = (0.0, 1.0)  # what the score of a case can be


def _browser_fingerprint() -> Mapping[str, Any]:
    from uiproof.browser.fingerprint import fingerprint

    return fingerprint()


def _no_details(_: Mapping[str, Any]) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Benchmark:
    """Everything the engine, the tables and the reports need to know about one benchmark.

    `cases` yields lazily and in a stable order; where it returns something with a length, progress
    shows the time left. A case that cannot be loaded is yielded as a `BrokenCase`.
    `judge` is a function that a worker process can import. It is given the run's directory and
    makes a judge, cheaply: browsers and models start with the first case. The main process makes
    one too, only to ask what a failure scores.
    `summarise` streams over the records of a run, which may be none.
    """

    name: str
    recognises: Callable[[Path], bool]  # does this folder or file hold such a data set
    cases: Callable[[Path], Iterable[Case[Any, Any] | BrokenCase]]
    method: Callable[[str], Method[Any, Any]]  # `UsageError` for names that it does not know
    methods: Mapping[str, str]  # name of a built-in method -> one line: what it is, what it needs
    judge: Callable[[Path], Judge[Any, Any, Any]]
    summarise: Callable[[Iterable[Record]], dict[str, Any]]
    metrics: tuple[Metric, ...] = ()
    # For chat models: prompt -> one line about it (the first is the default), and who asks with it.
    prompts: Mapping[str, str] = field(default_factory=dict)
    prompted: Callable[[ChatModel, str], Method[Any, Any]] | None = None
    # What may follow a prompt after a colon, as in `mark:all,T`: option -> one line about it.
    # `prompted` reads them, and says `UsageError` where they make no sense.
    prompt_options: Mapping[str, str] = field(default_factory=dict)
    parameters: Parameters | None = None  # how models answer where the user does not say
    # For methods that are put together by their names, such as `openai/gpt-4o@zoom`: takes the
    # place of `method` and `prompted`, and gets models by their names.
    composed: Callable[[str, Connect], Method[Any, Any]] | None = None
    # What `uiproof compare` says beyond the common table; may draw charts into a folder.
    compared: Callable[[Sequence[RunDirectory], Path | None], str] | None = None
    finished: Callable[[RunDirectory], None] | None = None  # called after each run
    # Which part of a record's details `summarise` reads: a submission carries that and no more.
    summed_details: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _no_details
    layout: str = ""  # how its data lies on disk, in one sentence
    bundled: Mapping[str, Path] = field(default_factory=dict)  # data sets that ship with it
    # What on this machine changes the scores; compared when a run is continued.
    fingerprint: Callable[[], Mapping[str, Any]] = _browser_fingerprint

    def check_prompt(self, prompt: str) -> None:
        """Raise `UsageError` where there is no such prompt; its options are read by `prompted`."""
        name, colon, _ = prompt.partition(":")
        if name in self.prompts and (self.prompt_options or not colon):
            return
        remedy = f"Use one of: {', '.join(self.prompts)}"
        if self.prompt_options:
            remedy += f"; with options after a colon: {', '.join(self.prompt_options)}"
        raise UsageError(f"{self.name} has no prompt {prompt!r}.", remedy=f"{remedy}.")


def benchmarks() -> dict[str, Benchmark]:
    """All installed benchmarks by name, those of other packages included."""
    found: dict[str, Benchmark] = {}
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
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
    folder = Settings.from_environment().datasets_dir
    if folder is not None and (folder / name).exists():
        return _benchmark_of(folder / name, known), (folder / name).absolute()
    fetched = _fetched(name, known)
    return _benchmark_of(fetched, known), fetched


def _fetched(name: str, known: Mapping[str, Benchmark]) -> Path:
    from uiproof import hub  # only names that are nowhere else need the catalogue

    published = [entry.name for entry in hub.catalogue().values() if entry.kind == "dataset"]
    if name not in published:
        names = [*(bundled for one in known.values() for bundled in one.bundled), *published]
        raise InputError(
            f"There is no file or folder {name}, and no data set of that name.",
            remedy=f"Give a path or one of: {', '.join(names)}.",
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
