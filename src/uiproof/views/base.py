"""Types that the view hooks of a benchmark get and return, and the files that pages load."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Protocol

from uiproof.benchmark import Metric
from uiproof.tables import Table

INTERVALS = (
    "[low, high]: 95 % interval over clusters, which are the pages or screenshots of the cases."
)


@dataclass(frozen=True, slots=True)
class MetricMean:
    """The mean of one metric in one run; `mean` is None where it was not measured."""

    mean: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    note: str = ""  # why there is no mean, or which variant of the metric this is
    best: bool = False
    tie: bool = False  # a paired permutation test finds no difference from the best
    clusters: int | None = None  # pages or screenshots that the interval is over
    no_interval: str | None = None  # why a mean has none


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of a leaderboard."""

    name: str
    dataset: str
    assisted: bool  # the method was given the truth
    complete: bool
    n: int
    failed: int
    cells: tuple[MetricMean, ...]
    usage: Mapping[str, Any] | None = None  # requests, tokens and cost of its models
    answers: Mapping[str, int] = field(default_factory=dict)  # how many were fenced, empty, …
    running: bool = False  # still being written
    total: int | None = None  # how many cases a running run will have, if known
    incomplete: bool = False  # servers or machines failed, so its rates are too low
    scores: Mapping[str, Any] = field(default_factory=dict)  # all means of its summary

    @property
    def clusters(self) -> int | None:
        """Return how many pages or screenshots its cases are of; None if unknown."""
        return max((cell.clusters for cell in self.cells if cell.clusters), default=None)


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """One row per run in the order the runs were given, one cell per metric."""

    benchmark: str
    metrics: tuple[Metric, ...]
    rows: tuple[RunRow, ...]
    primary: int | None  # index of the metric that ranks the runs
    shared: int | None = None  # how many cases all runs have, where some run has others too

    def ranked(self) -> list[RunRow]:
        """Return the rows, best first."""
        if self.primary is None:
            return list(self.rows)
        key = self.primary

        def rank(row: RunRow) -> tuple[bool, float]:
            mean = row.cells[key].mean
            return mean is None, -(mean or 0.0)

        return sorted(self.rows, key=rank)


class CaseView(Protocol):
    """The part of a report about single cases.

    `styles` and `scripts` are loaded after those of the page: files of `uiproof.views`, or of
    another package as `package:file`.
    """

    styles: ClassVar[tuple[str, ...]]
    scripts: ClassVar[tuple[str, ...]]

    def index(self) -> Mapping[str, Any]:
        """Return what scripts know besides the leaderboard; `results` is the number of cases."""
        ...

    def places(self) -> Mapping[tuple[int, str], int]:
        """Return what `openCase` of the scripts takes for a case, by run and id, where shown."""
        ...

    def body(self) -> Iterator[str]:
        """Yield the HTML, piece by piece."""
        ...


@dataclass(frozen=True, slots=True)
class Analyses:
    """Tables and charts about runs. A chart without data is not drawn and not shown."""

    tables: Sequence[Table] = ()
    charts: Mapping[str, str] = field(default_factory=dict)  # caption by name
    draw: Callable[[Path], object] = lambda _: None  # writes `<name>.svg` and `.png` to a folder
    photos: frozenset[str] = frozenset()  # charts with screenshots, not inverted in the dark theme
    native: frozenset[str] = frozenset()  # files of `compare` that a report shows in its own way


def asset(name: str) -> str:
    """Return the text of a file of this package, or of another one as `package:file`."""
    package, _, file = name.rpartition(":")
    return files(package or __package__).joinpath(file).read_text("utf-8")


def safe_json(value: Any) -> str:
    """Return JSON that is safe inside a script element: without `<` no tag or comment begins."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def policy_hash(content: str) -> str:
    """Return the source of a content security policy for exactly this style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def shortened(text: str, longest: int) -> str:
    """Cut a text that is longer than allowed."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
