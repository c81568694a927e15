"""The summary of a run: its benchmark's, with failures and the usage of models."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Record

if TYPE_CHECKING:
    from uiproof.benchmark import Benchmark

_ALWAYS = ("input_tokens", "output_tokens")
_THIS_TIME = ("attempts", "network_seconds", "queue_seconds")  # not of answers from the cache


def summarise(records: Iterable[Record], benchmark: Benchmark) -> dict[str, Any]:
    """Yield the content of `summary.json`, but for how long it took; streams over the records."""
    n = 0
    errors: Counter[str] = Counter()
    usage = UsageTotals()

    def counted() -> Iterator[Record]:
        nonlocal n
        for record in records:
            n += 1
            if record.error:
                errors[record.error.code] += 1
            usage.add(record)
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
        "usage": usage.as_json(),
    }


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
