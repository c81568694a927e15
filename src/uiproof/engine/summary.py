"""The summary of a run: its benchmark's, with failures, incomplete pages and usage of models."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Metric, Record, number_at

if TYPE_CHECKING:
    from uiproof.benchmark import Benchmark

PASS_SCORE = 0.9  # the least score that passes, for pass@k
_SHOWN_K = (1, 2, 3, 5, 10, 20, 50, 100)
INCOMPLETE = ":incomplete"  # ends the flag of a page that lacks a style sheet or script
_ALWAYS = ("input_tokens", "output_tokens")
_THIS_TIME = ("attempts", "network_seconds", "queue_seconds")  # not of answers from the cache


def summarise(
    records: Iterable[Record], benchmark: Benchmark, manifest: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the content of `summary.json` without timing; records are read as a stream.

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
    deque(seen, maxlen=0)  # also count records that the benchmark did not read
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
    """Means over the cases whose pages got all their style sheets and scripts."""

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


class SampleScores:
    """Scores of all answers, by case."""

    def __init__(self, metrics: Sequence[Metric], pass_score: float | None) -> None:
        self._metrics = metrics
        self._pass_score = PASS_SCORE if pass_score is None else pass_score
        self._scores: dict[str, list[list[float]]] = {}  # by case: for each answer, each metric

    def add(self, record: Record) -> None:
        """Add one answer; what a failed one has no score for counts as 0."""
        values = [number_at(record.scores, metric.key) for metric in self._metrics]
        missing = 0.0 if record.status == "failed" else float("nan")
        self._scores.setdefault(record.case, []).append(
            [missing if value is None else value for value in values]
        )

    def as_json(self) -> dict[str, Any]:
        """Return the best of N and pass@k of every metric, with intervals over cases."""
        if not self._scores:
            return {}
        from uiproof.stats.intervals import clustered_mean, pass_at_k

        fewest = min(map(len, self._scores.values()))
        shown = sorted({k for k in _SHOWN_K if k <= fewest} | {fewest})
        found: dict[str, Any] = {}
        for column, metric in enumerate(self._metrics):
            cases = [[answer[column] for answer in answers] for answers in self._scores.values()]
            if any(value != value for answers in cases for value in answers):
                continue  # not measured for all answers: neither has a mean
            best = clustered_mean([max(answers) for answers in cases], within=metric.bounds)
            passing = [
                (len(answers), sum(value >= self._pass_score for value in answers))
                for answers in cases
            ]
            rates = {
                k: clustered_mean([pass_at_k(n, c, k) for n, c in passing], within=(0.0, 1.0))
                for k in shown
            }
            found[metric.key] = {
                "best": best and best._asdict(),
                "pass": {str(k): rate and rate._asdict() for k, rate in rates.items()},
            }
        return {
            "samples": {
                "cases": len(self._scores),
                "each": fewest,
                "pass_score": self._pass_score,
                "scores": found,
            }
        }


class UsageTotals:
    """Totals over the calls of records, as in `summary["usage"]`.

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
