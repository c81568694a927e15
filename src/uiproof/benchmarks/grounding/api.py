"""The Python functions behind `uiproof generate`, `audit` and `diagnose`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.errors import InputError, UsageError
from uiproof.settings import Settings

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.audit import Audited
    from uiproof.benchmarks.grounding.diagnose import Replayed


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


def diagnose_run(run: str | Path, *, contract: str | None = None) -> str:
    """Return which coordinates the model of a run really used, in words."""
    from uiproof.benchmarks.grounding.coordinates import parse_contract
    from uiproof.benchmarks.grounding.diagnose import diagnose
    from uiproof.engine.rundir import RunDirectory

    directory = RunDirectory.of(run)
    settings = directory.manifest.get("settings", {})
    declared = contract or settings.get("grounder", settings).get("contract")
    if declared is None:
        raise UsageError(
            f"{run} does not say which coordinates its model was to use.",
            remedy="Add --contract, for example --contract thousand,xy,point",
        )
    replayed = [one for record in directory.records() for one in _replayed(record.details)]
    if not replayed:
        raise InputError(f"There are no raw answers of a model in {run}.")
    return diagnose(replayed, declared=parse_contract(declared)).verdict


def _replayed(details: Any) -> Iterator[Replayed]:
    from uiproof.benchmarks.grounding.diagnose import Replayed
    from uiproof.geometry import Box

    truth = details.get("truth") or {}
    polygon = tuple((x, y) for x, y in truth.get("polygon") or ())
    target = None if truth.get("refusal") else polygon or Box(*truth.get("bbox", (0, 0, 0, 0)))
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
