"""The summary of a run: its benchmark's, with failures, incomplete pages and usage of models."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Record, number_at
from uiproof.engine.samples import SampleScores

if TYPE_CHECKING:
    from uiproof.benchmark import Benchmark

INCOMPLETE = ":incomplete"  # ends the flag of a page that lacks a style sheet or script
_ALWAYS = ("input_tokens", "output_tokens")
_THIS_TIME = ("attempts", "network_seconds", "queue_seconds")  # not of answers from the cache


def summarise(
    records: Iterable[Record], benchmark: Benchmark, manifest: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the content of `summary.json`, but for how long it took; streams over the records.

    The manifest of the run says whether cases have several answers.
    """
    n = 0
    errors: Counter[str] = Counter()
    usage = UsageTotals()
    complete = CompletePages(benchmark)
    about = manifest or {}
    several = about.get("samples", 1) > 1
    samples = SampleScores(benchmark.metrics, about.get("pass_score"))

    def counted() -> Iterator[Record]:
        nonlocal n
        for record in records:
            n += 1
            if record.error:
                errors[record.error.code] += 1
            usage.add(record)
            complete.add(record)
            if several:
                samples.add(record)
            yield record

    seen = counted()
    summary = benchmark.summarise(seen)
    deque(seen, maxlen=0)  # count also what the benchmark did not look at
    return {
        **summary,
        "benchmark": benchmark.name,
        "n": n,
        "failed": errors.total(),
        "errors": dict(sorted(errors.items())),
        **complete.as_json(),
        **samples.as_json(),
        "usage": usage.as_json(),
    }


class CompletePages:
    """Means without the cases of pages that did not get all style sheets and scripts."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._sums: dict[str, float | None] = {metric.key: 0.0 for metric in benchmark.metrics}
        self._complete = self._incomplete = 0

    def add(self, record: Record) -> None:
        """Add one case; failed ones count with the scores of a failure, and 0 where it has none."""
        if any(flag.endswith(INCOMPLETE) for flag in record.flags):
            self._incomplete += 1
            return
        self._complete += 1
        for key, so_far in self._sums.items():
            value = number_at(record.scores, key)
            if value is None and record.status == "failed":
                value = 0.0
            # A score that some cases do not have has no mean.
            self._sums[key] = None if so_far is None or value is None else so_far + value

    def as_json(self) -> dict[str, Any]:
        """Return the number of such cases, and the means of the others; nothing without any."""
        if not self._incomplete:
            return {}
        means = {
            key: None if total is None or not self._complete else total / self._complete
            for key, total in self._sums.items()
        }
        complete = {"n": self._complete, **means}
        return {"incomplete_pages": self._incomplete, "complete_pages": complete}


class UsageTotals:
    """Adds up the calls of records, as `summary["usage"]` has them.

    `cost` is in US dollars and is what the answers cost when they were made, those that came from
    the cache included; `paid` leaves those out. `unpriced` calls are in neither.
    """

    def __init__(self) -> None:
        self._requests = self._cached = self._unpriced = 0
        self._cost = self._paid = 0.0
        self._sums: dict[str, float] = dict.fromkeys((*_THIS_TIME, *_ALWAYS), 0)

    def add(self, record: Record) -> None:
        """Count the calls of one case."""
        for call in record.calls:
            cached, cost = bool(call.get("cached")), call.get("cost")
            self._requests += 1
            self._cached += cached
            for name in _ALWAYS if cached else self._sums:
                self._sums[name] += call.get(name) or 0
            if call.get("answered") is False:
                pass  # unknown whether failed requests cost anything
            elif cost is None:
                self._unpriced += 1
            else:
                self._cost += cost
                self._paid += 0.0 if cached else cost

    def as_json(self) -> dict[str, Any] | None:
        """Return the totals, or None where no model was asked."""
        if not self._requests:
            return None
        priced = self._unpriced < self._requests
        return {
            "requests": self._requests,
            "cached": self._cached,
            **{name: round(value, 3) for name, value in self._sums.items()},
            "cost": round(self._cost, 6) if priced else None,
            "paid": round(self._paid, 6) if priced else None,
            "unpriced": self._unpriced,
        }
