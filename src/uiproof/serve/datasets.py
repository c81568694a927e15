"""Data sets on the server, so that requests need only name a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from uiproof.engine.types import BrokenCase, Case
from uiproof.errors import UsageError
from uiproof.scoring.references import BenchmarkName


@dataclass(frozen=True, slots=True)
class Dataset:
    """The cases of one data set by their ids."""

    name: str
    benchmark: BenchmarkName
    cases: Mapping[str, Case[Any, Any] | BrokenCase]


def open_datasets(named: Iterable[str]) -> dict[str, Dataset]:
    """Data sets from `NAME=PATH`, or from the names of data sets that are known here."""
    from uiproof.registry import resolve_dataset

    found: dict[str, Dataset] = {}
    for text in named:
        name, given, path = text.partition("=")
        if not name or name in found:
            raise UsageError(
                f"{text!r} names no data set of its own.", remedy="Write --dataset NAME=PATH."
            )
        benchmark, folder = resolve_dataset(path if given else name)
        if benchmark.name not in get_args(BenchmarkName):
            raise UsageError(
                f"The data set {name} is one of {benchmark.name}, which is not scored here.",
                remedy=f"Use one of {' or '.join(get_args(BenchmarkName))}.",
            )
        cases = {case.id: case for case in benchmark.cases(folder)}
        found[name] = Dataset(name, cast(BenchmarkName, benchmark.name), cases)
    return found
