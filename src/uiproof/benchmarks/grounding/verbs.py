"""What people ask of grounding besides running methods: make data, audit protocols, diagnose."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
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
    seed: int = 42,
    compat: str | None = None,
    resolutions: Sequence[str] = (),
    scales: Sequence[float] = (),
    negatives: float = 0.0,
    quiet: bool = False,
) -> Path:
    """Make a data set and return its folder; the same arguments make the same bytes.

        uiproof.generate(count=100, out="data", resolutions=["1280x720"], negatives=0.1)

    With `compat="openadapt-v1"` it has the layouts on which openadapt-grounding published.
    """
    from uiproof.benchmarks.grounding import openadapt, synthetic

    if kind != "synthetic":
        raise UsageError(f"There is no type {kind!r} of data to make.", remedy="Use synthetic.")
    settings = Settings.from_environment()
    folder = Path(out) if out is not None else (settings.datasets_dir or Path("datasets")) / kind
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
    if compat != openadapt.COMPAT:
        raise UsageError(f"There is no layout {compat!r}.", remedy=f"Use {openadapt.COMPAT}.")
    if resolutions or scales or negatives:
        raise UsageError("The published layouts have one size and no targets that are not there.")
    openadapt.generate(folder, count=count, seed=seed, progress=progress)
    return folder


def audit(dataset: str | Path, *, limit: int | None = None, quiet: bool = False) -> list[Audited]:
    """Let controls that never look play under every protocol; see `grounding.audit`."""
    from uiproof.benchmarks.grounding import audit as auditing
    from uiproof.registry import resolve_dataset

    benchmark, path = resolve_dataset(str(dataset))
    if benchmark.name != "grounding":
        raise InputError(f"{dataset} is a data set of {benchmark.name}, not of grounding.")
    tell: Callable[[str], None] | None = None
    if not quiet:
        tell = _say
    return auditing.audit(path, limit=limit, progress=tell)


def diagnose_run(run: str | Path, *, contract: str | None = None) -> str:
    """Which coordinates the model of a run really used, in words."""
    from uiproof.benchmarks.grounding.contracts import parse_contract
    from uiproof.benchmarks.grounding.diagnose import diagnose
    from uiproof.engine.rundir import RunDirectory

    directory = RunDirectory.of(run)
    settings = directory.manifest.get("settings", {})
    declared = contract or settings.get("grounder", settings).get("contract")
    if declared is None:
        raise UsageError(
            f"{run} does not say which coordinates its model was to use.",
            remedy="Say it with --contract, for example --contract thousand,xy,point",
        )
    replayed = [one for record in directory.records() for one in _replayed(record.details)]
    if not replayed:
        raise InputError(f"There are no raw answers of a model in {run}.")
    return diagnose(replayed, declared=parse_contract(declared)).verdict


def _replayed(details: Any) -> Iterator[Replayed]:
    from uiproof.benchmarks.grounding.diagnose import Replayed
    from uiproof.boxes import Box

    truth = details.get("truth") or {}
    polygon = tuple((x, y) for x, y in truth.get("polygon") or ())
    target = None if truth.get("refusal") else polygon or Box(*truth.get("bbox", (0, 0, 0, 0)))
    for look in details.get("looks", ())[:1]:  # later looks depend on how the first was read
        if look["raw"]:
            width, height = look["sent"]
            yield Replayed(look["raw"], width, height, Box(*look["region"]), target)


def _shown(done: int, total: int) -> None:
    if sys.stderr.isatty() or done == total or done % 50 == 0:
        end = "\n" if done == total or not sys.stderr.isatty() else "\r"
        sys.stderr.write(f"uiproof: {done}/{total} screenshots{end}")


def _say(what: str) -> None:
    sys.stderr.write(f"uiproof: {what}\n")
