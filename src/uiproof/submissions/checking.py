"""Check that a submission is what its cases say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from uiproof.benchmark import Metric, means_in
from uiproof.engine.rundir import dataset_key
from uiproof.engine.summary import summarise
from uiproof.registry import benchmarks, resolve_dataset
from uiproof.submissions.model import (
    NotASubmissionError,
    Submission,
    SubmittedRun,
    digest,
    read_json,
    why_partial,
)
from uiproof.tables import printable

if TYPE_CHECKING:
    from uiproof.benchmark import Benchmark

_SHOWN = 10  # of one kind: the first few tell what is wrong
_DEEPEST = 10  # names in the path of a score or a detail
_MOST_DETAILS = 500  # different ones in a run: summaries have a table for some of them
_ROUNDING = 1e-4  # cosines of 32-bit vectors miss 1 by a little
_CHANGED = "digest: it does not fit the content, so the file was changed after it was written."
_INTERVAL = ("low", "high", "clusters", "no_interval", "wilson")


def check_submission(path: str | Path, *, dataset: str | Path | None = None) -> list[str]:
    """Return what is wrong with a submission, in sentences that name the place.

        for problem in uiproof.check_submission("submission.json", dataset="my/pages"):
            print(problem)

    The summary is computed again from the cases. With `dataset` the cases must be those of this
    data set. Raises `InputError` where there is no such file or data set.
    """
    wanted = None if dataset is None else resolve_dataset(str(dataset))
    try:
        document = read_json(Path(path))
    except NotASubmissionError as error:
        return [error.message]
    found = problems_of(document)
    if not found and wanted is not None:
        for place, run in _placed(Submission.model_validate(document)):
            found += list(_dataset_problems(place, run, *wanted))
    return [plain(problem) for problem in found]


def problems_of(document: Any) -> list[str]:
    """Return what is wrong with a document in itself."""
    try:
        submission = Submission.model_validate(document)
        found = [] if submission.digest == digest(document) else [_CHANGED]
        for place, run in _placed(submission):
            found += list(_run_problems(place, run))
    except ValidationError as error:
        return schema_problems(error)
    except (RecursionError, ValueError) as error:
        # Numbers are finite and texts are texts by now; only depth is left.
        return [f"It is nested too deeply: {type(error).__name__}."]
    return found


def plain(text: str) -> str:
    """Return text of unknown origin for a terminal: one short line without control characters."""
    return _cut(printable(" ".join(text.split())), 500)


def differences(stored: Any, made: Any, place: str) -> list[str]:
    """Return in words where two JSON values differ, numbers up to rounding."""
    if isinstance(stored, Mapping) and isinstance(made, Mapping):
        # Before intervals said how many clusters they are over they were computed in other ways.
        old = "mean" in stored and "clusters" not in stored
        return [
            difference
            for name in {**made, **stored}
            if not (old and name in _INTERVAL)
            for difference in differences(stored.get(name), made.get(name), f"{place}.{name}")
        ]
    if isinstance(stored, list) and isinstance(made, list) and len(stored) == len(made):
        pairs = enumerate(zip(stored, made, strict=True))
        return [one for i, pair in pairs for one in differences(*pair, f"{place}[{i}]")]
    if _same(stored, made):
        return []
    return [f"{place} is {_cut(repr(stored))}, but its cases give {_cut(repr(made))}"]


def _same(stored: Any, made: Any) -> bool:
    if isinstance(stored, bool) or isinstance(made, bool):
        return stored is made
    if isinstance(stored, int | float) and isinstance(made, int | float):
        return math.isclose(stored, made, rel_tol=1e-9, abs_tol=1e-12)
    return type(stored) is type(made) and bool(stored == made)


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def schema_problems(error: ValidationError) -> list[str]:
    """Return in words where a document is not as the schema says."""
    found = []
    for one in error.errors(include_url=False, include_input=False, include_context=False):
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in one["loc"])
        found.append(f"{place.lstrip('.') or 'the document'}: {one['msg']}.")
    return _few(found)


def _few(problems: Iterable[str]) -> list[str]:
    found = list(problems)
    if len(found) <= _SHOWN:
        return found
    return [*found[:_SHOWN], f"… and {len(found) - _SHOWN} more of this kind."]


def _placed(submission: Submission) -> Iterator[tuple[str, SubmittedRun]]:
    return ((f"runs[{i}]", run) for i, run in enumerate(submission.runs))


def _run_problems(place: str, run: SubmittedRun) -> Iterator[str]:
    counts = Counter(case.id for case in run.cases)
    yield from _few(f"{place}: the case {id!r} is there twice." for id in counts if counts[id] > 1)
    if not run.partial and (reasons := why_partial(run)):
        yield f"{place}.partial: it says that nothing is missing, but {'; '.join(reasons)}."
    if run.planned is not None and len(run.cases) > run.planned:
        yield f"{place}: it has {len(run.cases)} cases, more than the {run.planned} of the run."
    benchmark = benchmarks().get(run.benchmark)
    if benchmark is None:
        yield f"{place}.benchmark: {run.benchmark!r} is not installed here."
        return
    yield from _few(_out_of_bounds(place, run, benchmark))
    if len({path for case in run.cases for path, _ in _nodes(case.details)}) > _MOST_DETAILS:
        yield f"{place}: its cases have more than {_MOST_DETAILS} different details."
        return
    try:
        made = summarise((case.record() for case in run.cases), benchmark)
        # The texts of rules are for people, and their wording changes between versions.
        stored = {**run.summary, "rules": made.get("rules")}
        found = differences(stored, made, f"{place}.summary")
    except Exception as error:  # noqa: BLE001 - untrusted details may be anything
        yield f"{place}: its cases cannot be summed up: {type(error).__name__}: {error}."
        return
    here, there = version("uiproof"), run.versions.get("uiproof", "an unknown version")
    made_by = "" if here == there else f" (it was made by uiproof {there}, this is {here})"
    yield from _few(f"{difference}{made_by}." for difference in found)


def _out_of_bounds(place: str, run: SubmittedRun, benchmark: Benchmark) -> Iterator[str]:
    metrics = list(benchmark.metrics)
    if metrics and all(one.bounds[0] >= -1 and one.bounds[1] <= 1 for one in metrics):
        known = {metric.key for metric in metrics}
        means = means_in(run.summary.get("scores"))
        others = {key for key, mean in means if mean is not None} - known
        metrics += [Metric(key, key, bounds=(-1.0, 1.0)) for key in sorted(others)]
    bounds = {tuple(metric.key.split(".")): metric.bounds for metric in metrics}
    for i, case in enumerate(run.cases):
        # Go over what a case has: a summary may name any number of scores that no case has.
        for path, value in _nodes(case.scores):
            if value is None or path not in bounds:
                continue
            low, high = bounds[path]
            where = f"{place}.cases[{i}].scores.{'.'.join(path)}"
            if not isinstance(value, int | float):
                yield f"{where}: {_cut(repr(value))} is not a number."
            elif not low - _ROUNDING <= value <= high + _ROUNDING:
                yield f"{where}: {value} is not between {low:g} and {high:g}."


def _nodes(
    values: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all values of nested objects with their paths, as deep as a score can be."""
    for name, value in values.items():
        yield (*path, name), value
        if isinstance(value, Mapping) and len(path) + 1 < _DEEPEST:
            yield from _nodes(value, (*path, name))


def _dataset_problems(
    place: str, run: SubmittedRun, benchmark: Benchmark, path: Path
) -> Iterator[str]:
    if run.benchmark != benchmark.name:
        yield f"{place}.benchmark: it is {run.benchmark}, but the data set is {benchmark.name}'s."
        return
    nowhere = path / ".no-run"
    if (key := dataset_key(path, run=nowhere)) != run.dataset_key:
        yield f"{place}.dataset_key: it is {run.dataset_key}, but that of {path.name} is {key}."
    wanted = {case.id for case in islice(benchmark.cases(path), run.limit)}
    there = {case.id for case in run.cases}
    yield from _few(f"{place}: the data set has no case {id!r}." for id in sorted(there - wanted))
    if not run.partial or (run.shard is None and run.complete):
        absent = sorted(wanted - there)
        yield from _few(f"{place}: the case {id!r} is missing." for id in absent)
