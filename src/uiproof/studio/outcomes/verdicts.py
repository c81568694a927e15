"""What the program said about the items of a task, and how well that goes with the people.

    facts = read_facts(Path("runs"), said.items)
    found = machine_agreement(said, facts)
    print(found.verifier, found.metrics)

Scores are read from the journals of runs, never computed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.engine.types import Record
from uiproof.errors import InputError
from uiproof.registry import Metric, benchmarks
from uiproof.stats.agreement import Agreement, cohen_kappa
from uiproof.stats.correlation import Correlation, accuracy, rank_correlation
from uiproof.stats.intervals import Interval
from uiproof.studio.browsing.runs import FoundRun, open_run
from uiproof.studio.labels import Item
from uiproof.studio.outcomes.agreement import Facet, Final, Said, finals

_USABLE = "usable"
_STEPS = {"lose": -1, "tie": 0, "win": 1}
_RESAMPLED = 1_000_000  # values drawn for the interval of each of many correlations


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """What a run's journal has about one case."""

    scores: Mapping[str, float]  # by the key of the metric; only what was measured
    failure: str | None  # as the verifier has it; None for benchmarks that have no such thing
    tags: tuple[str, ...] = ()
    visuals: tuple[str, ...] = ()

    @property
    def usable(self) -> bool | None:
        """Whether the verifier calls it usable; None for benchmarks that have no such thing."""
        found = self.scores.get(_USABLE)
        return None if found is None else found > 0.5


@dataclass(frozen=True, slots=True)
class Facts:
    """The cases of all runs that the items of a task name."""

    cases: Mapping[str, Mapping[str, CaseFacts]]  # run -> case
    metrics: tuple[Metric, ...]
    gone: tuple[str, ...]  # runs that are not there any more
    version: tuple[tuple[str, int, int], ...] = ()  # changes when a journal does

    def of(self, item: Item) -> CaseFacts | None:
        """What the item's own run says about its case."""
        return self.cases.get(item.run or "", {}).get(item.case)

    def baseline(self, item: Item) -> CaseFacts | None:
        """What the run that the item is compared with says about its case."""
        return self.cases.get(item.baseline or "", {}).get(item.case)


class Verifier(NamedTuple):
    """How well the verifier says what people say about usability and failures."""

    usable: Interval | None  # the share of items where both say the same
    kappa: Agreement
    failure: Interval | None
    failure_kappa: Agreement
    confusion: Mapping[tuple[bool, bool], int]  # (people, verifier) -> items


class MetricAgreement(NamedTuple):
    """How well a metric goes with what people say."""

    metric: Metric
    n: int  # items that it was measured for
    spearman: Correlation | None
    kendall: Correlation | None
    accuracy: Interval | None = None  # comparisons: does the difference point as people do
    kappa: Agreement | None = None  # comparisons: win, tie at a difference of 0, lose


@dataclass(frozen=True, slots=True)
class MachineAgreement:
    """The program beside the people, over items that people have settled."""

    items: int  # about which people say something
    unlinked: int  # of these, imported without a run
    gone: int  # of these, whose run or case is not there any more
    gone_runs: tuple[str, ...]
    verifier: Verifier | None
    metrics: tuple[MetricAgreement, ...]

    def as_json(self) -> dict[str, Any]:
        """For other programs."""
        verifier = None
        if self.verifier is not None:
            verifier = {name: _json(value) for name, value in self.verifier._asdict().items()}
            verifier["confusion"] = [
                {"people": people, "verifier": program, "n": n}
                for (people, program), n in self.verifier.confusion.items()
            ]
        return {
            "items": self.items,
            "without_run": self.unlinked,
            "run_gone": self.gone,
            "verifier": verifier,
            "metrics": [
                {name: _json(value) for name, value in one._asdict().items() if value is not None}
                for one in self.metrics
            ],
        }


def read_facts(folder: Path, items: Iterable[Item]) -> Facts:
    """What the journals of the items' runs say. Runs that are gone are told in `gone`."""
    wanted = {name for item in items for name in (item.run, item.baseline) if name}
    cases, gone, version = {}, [], []
    metrics: dict[str, Metric] = {}
    for name in sorted(wanted):
        try:
            run = open_run(folder, name)
            status = run.directory.journal.stat()
            cases[name] = cases_of(run)
        except (InputError, OSError):
            gone.append(name)
            continue
        version.append((name, status.st_mtime_ns, status.st_size))
        metrics.update((metric.key, metric) for metric in _metrics(run.benchmark))
    return Facts(cases, tuple(metrics.values()), tuple(gone), tuple(version))


def cases_of(run: FoundRun) -> Mapping[str, CaseFacts]:
    """What a run's journal says about each case; read again only when it has changed."""
    journal = run.directory.journal
    status = journal.stat()
    keys = tuple(metric.key for metric in _metrics(run.benchmark))
    return _read(journal, status.st_mtime_ns, status.st_size, keys)


def machine_agreement(said: Said, facts: Facts) -> MachineAgreement:
    """The verifier and every metric beside what counts in a task."""
    compare = said.task.kind == "compare"
    facet: Facet = "outcome" if compare else "usable"
    known = [final for final in finals(said) if final.answers[facet] is not None]
    linked = [one for one in known if one.item.run and (one.item.baseline or not compare)]
    there = [
        one for one in linked if facts.of(one.item) and (not compare or facts.baseline(one.item))
    ]
    metrics = [
        found
        for metric in facts.metrics
        if compare or metric.key != _USABLE
        if (found := _metric(metric, there, facts, compare=compare)) is not None
    ]
    return MachineAgreement(
        items=len(known),
        unlinked=len(known) - len(linked),
        gone=len(linked) - len(there),
        gone_runs=facts.gone,
        verifier=None if compare else _verifier(there, facts),
        metrics=tuple(metrics),
    )


def _verifier(found: Sequence[Final], facts: Facts) -> Verifier | None:
    pairs = [
        (one, known)
        for one in found
        if (known := facts.of(one.item)) is not None and known.usable is not None
    ]
    if not pairs:
        return None
    pages = [one.item.page for one, _ in pairs]
    people = [bool(one.answers["usable"]) for one, _ in pairs]
    program = [bool(known.usable) for _, known in pairs]
    said, meant = (
        [one.answers["failure"] for one, _ in pairs],
        [known.failure for _, known in pairs],
    )
    return Verifier(
        accuracy(program, people, clusters=pages),
        cohen_kappa(program, people, clusters=pages),
        accuracy(meant, said, clusters=pages),
        cohen_kappa(meant, said, clusters=pages),
        Counter(zip(people, program, strict=True)),
    )


def _metric(
    metric: Metric, found: Sequence[Final], facts: Facts, *, compare: bool
) -> MetricAgreement | None:
    values, answers, pages = [], [], []
    for one in found:
        ours, theirs = facts.of(one.item), facts.baseline(one.item)
        value = None if ours is None else ours.scores.get(metric.key)
        other = theirs.scores.get(metric.key) if compare and theirs else 0.0
        if value is None or other is None:
            continue  # not measured
        values.append(value - other)
        said = _STEPS[str(one.answers["outcome"])] if compare else one.answers["usable"] is True
        answers.append(float(said))
        pages.append(one.item.page)
    if not values:
        return None
    resamples = min(max(_RESAMPLED // len(values), 200), 1000)
    spearman, kendall = (
        rank_correlation(values, answers, kind=kind, clusters=pages, resamples=resamples)
        for kind in ("spearman", "kendall")
    )
    if spearman is None and len(values) < len(found):
        return None  # nothing but the zeros of what is not there
    if not compare:
        return MetricAgreement(metric, len(values), spearman, kendall)
    signs = [(value > 0) - (value < 0) for value in values]
    votes = [int(answer) for answer in answers]
    return MetricAgreement(
        metric,
        len(values),
        spearman,
        kendall,
        accuracy(signs, [vote or None for vote in votes], clusters=pages),
        cohen_kappa(signs, votes, clusters=pages),
    )


@lru_cache(maxsize=64)
def _read(
    journal: Path,
    changed: int,  # noqa: ARG001 - a journal that was written to is read again
    size: int,  # noqa: ARG001
    keys: tuple[str, ...],
) -> dict[str, CaseFacts]:
    from uiproof.engine.journal import last_records

    return {record.id: _facts(record, keys) for record in last_records(journal)}


def _facts(record: Record, keys: Sequence[str]) -> CaseFacts:
    details = record.details
    scores = {key: number for key in keys if (number := _number(record.scores, key)) is not None}
    verdict = details.get("verdict")
    failure = verdict.get("failure") if isinstance(verdict, dict) else None
    if failure not in (NONE, *FAILURES):
        failure = "a" if _USABLE in scores else None  # no page: nothing to act on
    return CaseFacts(
        scores,
        failure,
        tuple(map(str, details.get("tags") or ())),
        tuple(map(str, details.get("visuals") or ())),
    )


def _number(scores: Any, key: str) -> float | None:
    for part in key.split("."):
        scores = scores.get(part) if isinstance(scores, dict) else None
    if isinstance(scores, (int, float)) and isfinite(scores):
        return float(scores)
    return None


def _metrics(benchmark: str) -> tuple[Metric, ...]:
    known = benchmarks().get(benchmark)
    return () if known is None else known.metrics


def _json(value: Any) -> Any:
    if isinstance(value, Metric):
        return value.key
    return value._asdict() if hasattr(value, "_asdict") else value
