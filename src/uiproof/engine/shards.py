"""The cases of a run: chosen ones, several answers to each, shards, and merging those.

for case in Shard.parse("3/16").part(cases): ...

Of several answers to a case, the first has its id, the second `id#2`, the third `id#3`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import BrokenCase, Case, Record
from uiproof.engine.rundir import Journal, RunDirectory, encode, locked, mismatch
from uiproof.engine.summary import summarise
from uiproof.errors import InputError, RunMismatchError, UsageError, suggestion
from uiproof.files import access

if TYPE_CHECKING:
    from uiproof.benchmark import Benchmark


AnyCase = Case[Any, Any] | BrokenCase


@dataclass(frozen=True, slots=True)
class Shard:
    """The `number`-th of `count` parts, counted from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse `3/16`."""
        match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text, re.ASCII)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(
                f"Invalid shard {text!r}.",
                remedy="Write --shard 3/16 for the third of sixteen parts.",
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def part(self, cases: Iterable[AnyCase]) -> Iterator[AnyCase]:
        """Yield the cases of this part. Cases of one page or screenshot stay together.

        Every case is in exactly one of the parts, as long as the data set is the same.
        """
        for place, (_, together) in enumerate(groupby(cases, _group)):
            if place % self.count == self.number - 1:
                yield from together


def _group(case: AnyCase) -> str:
    """Return the page or screenshot of a case id: each is rendered or read once."""
    return case.id.rpartition("/")[0] or case.id


def sample_id(case_id: str, sample: int) -> str:
    """Return the id of one of several answers, counted from 0."""
    return f"{case_id}#{sample + 1}" if sample else case_id


def sampled(cases: Iterable[AnyCase], samples: int) -> Iterator[tuple[AnyCase, int]]:
    """Yield each case as often as it is answered, with the number of the answer."""
    for case in cases:
        yield case, 0
        for sample in range(1, samples):
            yield replace(case, id=sample_id(case.id, sample)), sample


def chosen(cases: Iterable[AnyCase], only: Sequence[str]) -> list[AnyCase]:
    """Return the cases with these ids, or below them: `101` means `101/1` and `101/2`.

    Raises `InputError` for an id that no case has.
    """
    found: list[AnyCase] = []
    missing, ids = set(only), []
    for case in cases:
        ids.append(case.id)
        if named := {one for one in only if case.id == one or case.id.startswith(f"{one}/")}:
            found.append(case)
            missing -= named
    if missing:
        name = min(missing)
        raise InputError(
            f"The data set has no case {name!r}.",
            remedy=suggestion(name, ids)
            or f"It has {', '.join(ids[:8])}{' …' if len(ids) > 8 else ''}.",
        )
    return found


def merge_runs(
    runs: Sequence[RunDirectory], out: Path, benchmark: Benchmark, *, partial: bool = False
) -> RunDirectory:
    """Join runs into a new one in `out`; they stay as they are.

    They must agree in everything that makes results comparable: version, data set, method,
    settings, environment. Raises `RunMismatchError` that says what differs, where two of them have
    the same case with different results, and, unless `partial`, where a shard is missing or
    unfinished. The same `uiproof run` without `--shard` continues what comes out.
    """
    if len(runs) < 2:
        raise UsageError("One run alone cannot be merged.", remedy="Name at least two runs.")
    if len({run.path.resolve() for run in runs}) < len(runs):
        raise UsageError("The same run was named twice.")
    merged = RunDirectory(out)
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is not empty.", remedy="Choose another folder with --out.")
    with ExitStack() as held:
        for run in runs:
            held.enter_context(locked(run.path / "lock"))
        manifests = [run.manifest for run in runs]
        _check_alike(runs, manifests)
        complete = _check_whole(runs, manifests, partial=partial)
        owners = _owners(runs)
        merged.create()
        held.enter_context(locked(merged.path / "lock"))
        manifest = {**manifests[0], "shard": None, "limit": _limit(manifests)}
        manifest["merged"] = [
            {"run": run.path.resolve().name, "shard": one.get("shard"), "created": one["created"]}
            for run, one in zip(runs, manifests, strict=True)
        ]
        manifest["created"] = min(str(one["created"]) for one in manifests)
        for run in runs:
            _copy_files(run.path, merged.path)
        with Journal(merged.journal) as journal:
            for run in runs:
                for record in run.records():
                    if owners[record.id] is run:
                        journal.append(encode(record))
        merged.describe(manifest)
        summary = summarise(merged.records(), benchmark, manifest)
        merged.write_summary({**summary, "complete": complete, "timing": _timing(runs)})
    return merged


def _check_alike(runs: Sequence[RunDirectory], manifests: Sequence[Mapping[str, Any]]) -> None:
    for run, manifest in zip(runs[1:], manifests[1:], strict=True):
        if difference := mismatch(manifests[0], manifest, except_for=("shard",)):
            raise RunMismatchError(
                f"{runs[0].path} and {run.path} do not belong together: {difference}.",
                remedy="Merge runs of one data set, method, version and environment only.",
            )
        if _is_shard(manifest) != _is_shard(manifests[0]):
            raise RunMismatchError(
                f"{runs[0].path} and {run.path}: one is a shard and the other is not.",
                remedy="Merge shards with shards.",
            )


def _check_whole(
    runs: Sequence[RunDirectory], manifests: Sequence[Mapping[str, Any]], *, partial: bool
) -> bool:
    """Return whether all shards are finished; raise if not, unless `partial`."""
    missing = [f"{run.path} is not finished" for run in runs if not _finished(run)]
    shards = [Shard.parse(str(one["shard"])) for one in manifests if _is_shard(one)]
    counts = {shard.count for shard in shards}
    if len(counts) > 1:
        raise RunMismatchError(
            f"The data set was cut differently: into {' and '.join(map(str, sorted(counts)))}."
        )
    if shards:
        absent = sorted(set(range(1, shards[0].count + 1)) - {shard.number for shard in shards})
        if absent:
            named = ", ".join(str(Shard(number, shards[0].count)) for number in absent[:8])
            more = f" and {len(absent) - 8} more" if len(absent) > 8 else ""
            missing.append(f"there is no run of shard {named}{more}")
    if missing and not partial:
        raise RunMismatchError(
            f"The runs are incomplete: {'; '.join(missing)}.",
            remedy="Finish them first, or merge them anyway with --partial.",
        )
    return not missing


def _finished(run: RunDirectory) -> bool:
    try:
        return bool(run.summary.get("complete", True))
    except InputError:
        return False


def _owners(runs: Sequence[RunDirectory]) -> dict[str, RunDirectory]:
    """Return the run that each case is taken from: the first that has it; others must agree."""
    owners: dict[str, RunDirectory] = {}
    results: dict[str, bytes] = {}  # digests: all records would take too much memory
    for run in runs:
        for record in run.records():
            owner = owners.setdefault(record.id, run)
            digest = blake2b(encode(_result(record)), digest_size=16).digest()
            if results.setdefault(record.id, digest) != digest:
                raise RunMismatchError(
                    f"{owner.path} and {run.path} have different results for {record.id!r}.",
                    remedy="Merge only one of them.",
                )
    return owners


def _result(record: Record) -> Record:
    """Return a record without the fields that differ between machines."""
    return replace(record, details={}, seconds={}, attempts=1, calls=(), artifacts={})


def _copy_files(source: Path, target: Path) -> None:
    """Copy artifacts, because continuing the merged run must not change the others."""
    with access(target, "written"):
        for folder in source.iterdir():
            if folder.is_dir():
                shutil.copytree(folder, target / folder.name, dirs_exist_ok=True)


def _is_shard(manifest: Mapping[str, Any]) -> bool:
    return manifest.get("shard") is not None


def _limit(manifests: Sequence[Mapping[str, Any]]) -> int | None:
    limits = [manifest.get("limit") for manifest in manifests]
    return None if None in limits else max(limit for limit in limits if limit is not None)


def _timing(runs: Sequence[RunDirectory]) -> dict[str, Any]:
    """Return the total timing: the longest wall time, as machines worked in parallel."""
    found = [run.summary["timing"] for run in runs if _has_timing(run)]
    cases = sum(int(one["cases"]) for one in found)
    seconds = max((float(one["wall_seconds"]) for one in found), default=0.0)
    return {
        "cases": cases,
        "wall_seconds": round(seconds, 3),
        "cases_per_second": round(cases / max(seconds, 1e-9), 3) if cases else 0.0,
    }


def _has_timing(run: RunDirectory) -> bool:
    try:
        return isinstance(run.summary.get("timing"), Mapping)
    except InputError:
        return False
