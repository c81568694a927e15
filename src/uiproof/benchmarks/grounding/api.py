"""The Python functions behind `uiproof generate`, `audit`, `score grounding` and `diagnose`."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.errors import InputError, UiproofError, UsageError
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.audit import Audited
    from uiproof.benchmarks.grounding.diagnose import Replayed
    from uiproof.benchmarks.grounding.rescoring import Published, Rescored
    from uiproof.engine.rundir import RunDirectory


def generate(
    *,
    kind: str = "synthetic",
    count: int = 500,
    out: str | Path | None = None,
    output_dir: str | Path | None = None,
    seed: int = 42,
    compat: str | None = None,
    resolutions: Sequence[str] = (),
    scales: Sequence[float] = (),
    negatives: float = 0.0,
    quiet: bool = False,
) -> Path:
    """Make a data set and return its folder; the same arguments make the same pixels.

        uiproof.generate(count=100, out="data", resolutions=["1280x720"], negatives=0.1)

    `out` is the folder itself, `output_dir` one in which it is called after the kind; the default
    is `evaluation/datasets/synthetic`. With `compat="openadapt-v1"` it is the data set of
    openadapt-grounding 0.1.2: the same ids, boxes, texts, instructions and metadata for the same
    seed, count and resolution.
    """
    from uiproof.benchmarks.grounding import openadapt, synthetic

    if kind != "synthetic":
        raise UsageError(f"There is no type {kind!r} of data to make.", remedy="Use synthetic.")
    if out is not None and output_dir is not None:
        raise UsageError(
            "Both --out and --output-dir say where the data set goes.", remedy="Use one of them."
        )
    parent = Path(output_dir or Settings.from_environment().datasets_dir)
    folder = parent / kind if out is None else Path(out)
    progress = None if quiet else _shown
    if compat is None:
        synthetic.generate(
            folder,
            count=count,
            seed=seed,
            resolutions=tuple(map(synthetic.parse_resolution, resolutions)) or ((1920, 1080),),
            scales=tuple(scales) or (1.0,),
            negatives=negatives,
            progress=progress,
        )
        return folder
    if compat not in openadapt.COMPAT:
        raise UsageError(f"There is no layout {compat!r}.", remedy=f"Use {openadapt.COMPAT[0]}.")
    if scales or negatives or len(resolutions) > 1:
        raise UsageError(
            "The data sets of openadapt-grounding have one size, and all targets are there.",
            remedy="Leave out --scale and --negatives, and give one --resolution.",
        )
    sizes = list(map(synthetic.parse_resolution, resolutions))
    width, height = sizes[0] if sizes else (openadapt.WIDTH, openadapt.HEIGHT)
    openadapt.generate(
        folder, count=count, seed=seed, width=width, height=height, progress=progress
    )
    return folder


def audit(dataset: str | Path, *, limit: int | None = None, quiet: bool = False) -> list[Audited]:
    """Run blind controls under every protocol to detect leaks of the target."""
    from uiproof.benchmarks.grounding import audit as auditing
    from uiproof.registry import resolve_dataset

    benchmark, path = resolve_dataset(str(dataset))
    if benchmark.name != "grounding":
        raise InputError(f"{dataset} is a data set of {benchmark.name}, not of grounding.")
    return auditing.audit(path, limit=limit, progress=None if quiet else _say)


def score_predictions(
    dataset: str,
    file: str | Path,
    *,
    field: str | None = None,
    points: str | None = None,
    boxes: str | None = None,
    annotations: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    out: str | Path | None = None,
    limit: int | None = None,
    quiet: bool = False,
) -> list[Rescored]:
    """Score predictions that another harness has left; it needs nothing that they carry.

        for one in uiproof.score_predictions("screenspot-pro", "venus_72b_in_depth_3.json"):
            print(one.method, one.run.summary["scores"]["accuracy"]["mean"], one.rates.stored)

    `dataset` is the name in the results; targets and sizes of screenshots come from it where it is
    a data set on this machine. A file with several predictions for each item gives several results;
    `field` takes one of them. `points`, `boxes` and `columns` are as for `read_predictions`. With
    `out` each run is kept in a folder below it.
    """
    from uiproof.benchmarks.grounding.predictions import read_predictions
    from uiproof.benchmarks.grounding.rescoring import Rescored, published_methods
    from uiproof.engine.run_sync import run_place
    from uiproof.remote.mirror import local

    path = local(file)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    predictions = read_predictions(
        path,
        field=field,
        points=points,
        boxes=boxes,
        annotations=None if annotations is None else local(annotations),
        dataset=_dataset_here(dataset),
        columns=columns,
    )
    folder: str | Path = tempfile.mkdtemp(prefix="uiproof-") if out is None else out
    if out is None:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    results = []
    for method in published_methods(predictions):
        name = str(method.settings["field"])
        run = _run_published(dataset, path, method, run_place(folder, name), limit, quiet)
        results.append(Rescored(name, run, method.rates, predictions.in_set))
    return results


def _run_published(
    dataset: str, file: Path, method: Published, directory: Path, limit: int | None, quiet: bool
) -> RunDirectory:
    from uiproof.benchmarks.grounding import BENCHMARK
    from uiproof.engine.progress import call_anywhere, make_progress
    from uiproof.engine.run import execute
    from uiproof.engine.run_sync import kept_at_url

    call = partial(
        execute,
        directory=directory,
        benchmark=BENCHMARK,
        cases=method.cases(file.resolve()),
        dataset=file.resolve(),
        dataset_name=dataset,
        method=method,
        executor="inline",
        limit=limit,
    )
    with kept_at_url(directory):
        return call_anywhere(call, make_progress(quiet=quiet))


def _dataset_here(name: str | Path | None) -> Path | None:
    """Return the data set of a name or path; None where it is only a name."""
    from uiproof.registry import resolve_dataset

    if name is None:
        return None
    try:
        benchmark, path = resolve_dataset(str(name))
    except UiproofError:
        if Path(name).exists():
            raise
        return None
    return path if benchmark.name == "grounding" else None


def diagnose_run(
    run: str | Path,
    *,
    contract: str | None = None,
    dataset: str | Path | None = None,
    field: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> str:
    """Return which coordinates a model really used, in one line.

    `run` is a run of ours, or a file of predictions that another harness has left; `dataset`,
    `field` and `columns` are only for such a file.
    """
    from uiproof.benchmarks.grounding.coordinates import parse_contract
    from uiproof.benchmarks.grounding.diagnose import diagnose
    from uiproof.engine.rundir import RunDirectory

    if Path(run).is_file():
        return _diagnose_file(Path(run), contract, dataset, field, columns)
    directory = RunDirectory.of(run)
    settings = directory.manifest.get("settings", {})
    declared = contract or settings.get("grounder", settings).get("contract")
    declared = declared or settings.get("points")
    if declared is None:
        raise UsageError(
            f"{run} does not name the coordinates that its model was asked for.",
            remedy="Add --contract, for example --contract thousand,xy,point",
        )
    replayed = [one for record in directory.records() for one in _replayed(record.details)]
    if not replayed:
        raise InputError(f"There are no raw answers of a model in {run}.")
    return diagnose(replayed, declared=parse_contract(declared)).verdict


def _diagnose_file(
    path: Path,
    contract: str | None,
    dataset: str | Path | None,
    field: str | None,
    columns: Mapping[str, str] | None,
) -> str:
    from uiproof.benchmarks.grounding.diagnose import diagnose, replayed_predictions
    from uiproof.benchmarks.grounding.predictions import read_predictions

    here = _dataset_here(dataset)
    if dataset is not None and here is None:
        raise InputError(f"There is no data set {dataset} here.", remedy="Give its folder.")
    found = read_predictions(path, field=field, points=contract, dataset=here, columns=columns)
    lines = []
    for method in found.methods:
        if method in found.assisted:
            continue
        replayed = replayed_predictions(found, method)
        verdict = diagnose(replayed, declared=found.points[method]).verdict
        lines.append(verdict if len(found.methods) == 1 else f"{method}: {verdict}")
    return "\n".join(lines)


def _replayed(details: Any) -> Iterator[Replayed]:
    from uiproof.benchmarks.grounding.diagnose import Replayed
    from uiproof.geometry import Box

    truth = details.get("truth") or {}
    polygon = tuple((x, y) for x, y in truth.get("polygon") or ())
    target = (
        None
        if truth.get("refusal")
        else polygon or Box(*(truth.get("clickable") or truth.get("bbox", (0, 0, 0, 0))))
    )
    for look in details.get("looks", ())[:1]:  # later looks depend on the first
        if look["raw"]:
            width, height = look["sent"]
            yield Replayed(look["raw"], width, height, Box(*look["region"]), target)


def _shown(done: int, total: int) -> None:
    if sys.stderr.isatty() or done == total or done % 50 == 0:
        end = "\n" if done == total or not sys.stderr.isatty() else "\r"
        sys.stderr.write(f"uiproof: {done}/{total} screenshots{end}")


def _say(what: str) -> None:
    sys.stderr.write(f"uiproof: {what}\n")
