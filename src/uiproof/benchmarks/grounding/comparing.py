"""Many methods side by side: rankings, paired tests, and the file `comparison.json`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from uiproof.benchmarks.grounding.results import COMPARISON, MethodMetrics
from uiproof.benchmarks.grounding.sizes import SIZES
from uiproof.export import replacing
from uiproof.stats.intervals import paired_bootstrap_difference
from uiproof.stats.proportions import detectable_paired_difference, mcnemar


def compare(metrics: Sequence[MethodMetrics]) -> dict[str, Any]:
    """The content of `comparison.json`.

    `best_overall` and its like may be methods that were given the truth, which `assisted` says;
    `best_blind` are the best of those that were not.
    """
    by_dataset: dict[str, list[MethodMetrics]] = defaultdict(list)
    for one in metrics:
        by_dataset[one.dataset_name].append(one)
    by_rate = sorted(metrics, key=_by_rate)
    by_latency = sorted(metrics, key=lambda one: one.mean_latency_ms)
    return {
        "summary": _summary(by_rate, by_latency, len(by_dataset)),
        "best_per_dataset": {
            dataset: {**_best(group), "best_blind": _best(_blind(group)) or None}
            for dataset, group in by_dataset.items()
        },
        "ranking_by_detection_rate": [
            {**_who(one), "rate": one.detection_rate, **_bounds(one)} for one in by_rate
        ],
        "ranking_by_latency": [
            {**_who(one), "latency_ms": one.mean_latency_ms} for one in by_latency
        ],
        "size_analysis": {
            **_size_analysis(metrics),
            "by_dataset": {name: _size_analysis(group) for name, group in by_dataset.items()},
        },
        "pairs": [
            _pair(a, b)
            for group in by_dataset.values()
            for a, b in combinations(sorted(group, key=_by_rate), 2)
        ],
    }


def write_comparison(metrics: Sequence[MethodMetrics], folder: Path) -> Path:
    """Write `comparison.json` beside the results, replacing an older one when it is whole."""
    file = folder / COMPARISON
    with replacing(file, makes_folders=True) as stream:
        json.dump(compare(metrics), stream, indent=2, allow_nan=False)
        stream.write("\n")
    return file


def _summary(
    by_rate: Sequence[MethodMetrics], by_latency: Sequence[MethodMetrics], datasets: int
) -> dict[str, Any]:
    blind = _blind(by_rate)
    return {
        "total_methods": len({one.method_name for one in by_rate}),
        "total_datasets": datasets,
        "best_overall": by_rate[0].method_name if by_rate else None,
        "best_overall_rate": by_rate[0].detection_rate if by_rate else 0.0,
        "best_overall_assisted": bool(by_rate) and by_rate[0].assisted,
        "best_blind": blind[0].method_name if blind else None,
        "best_blind_rate": blind[0].detection_rate if blind else None,
        "fastest_method": by_latency[0].method_name if by_latency else None,
        "fastest_latency_ms": by_latency[0].mean_latency_ms if by_latency else 0.0,
    }


def _by_rate(one: MethodMetrics) -> float:
    return -one.detection_rate


def _blind(metrics: Iterable[MethodMetrics]) -> list[MethodMetrics]:
    return [one for one in metrics if not one.assisted]


def _best(group: Sequence[MethodMetrics]) -> dict[str, Any]:
    if not group:
        return {}
    best = min(group, key=_by_rate)
    return {
        "method": best.method_name,
        "detection_rate": best.detection_rate,
        "latency_ms": best.mean_latency_ms,
        "assisted": best.assisted,
        **_bounds(best),
    }


def _who(one: MethodMetrics) -> dict[str, Any]:
    return {
        "method": one.method_name,
        "dataset": one.dataset_name,
        "assisted": one.assisted,
        "incomplete": one.incomplete,
    }


def _bounds(one: MethodMetrics) -> dict[str, Any]:
    low, high = (one.interval.low, one.interval.high) if one.interval else (None, None)
    return {"low": low, "high": high, "n": one.total_elements}


def _size_analysis(metrics: Iterable[MethodMetrics]) -> dict[str, str | None]:
    """The best method for each size, among those that met elements of that size."""
    analysis: dict[str, str | None] = {}
    metrics = list(metrics)
    for size in SIZES:
        met = [one for one in metrics if size in one.by_size]
        best = max(met, key=lambda one: one.by_size[size].mean, default=None)
        analysis[f"{size}_best"] = best.method_name if best else None
    return analysis


def _pair(a: MethodMetrics, b: MethodMetrics) -> dict[str, Any]:
    """Two methods on the elements that both have: who got what the other did not, and by chance?

    `p` is McNemar's exact test, which takes elements as independent; the interval of the
    difference `a - b` knows that those of one screenshot are not.
    """
    found = {(one.sample_id, one.element_id): one.found for one in b.results}
    shared = [one for one in a.results if (one.sample_id, one.element_id) in found]
    ours = [one.found for one in shared]
    theirs = [found[one.sample_id, one.element_id] for one in shared]
    test = mcnemar(ours, theirs)
    screens = [one.sample_id for one in shared]
    difference = paired_bootstrap_difference(ours, theirs, clusters=screens)
    discordant = (test.only_a + test.only_b) / test.n if test.n else 0.0
    return {
        "dataset": a.dataset_name,
        "a": a.method_name,
        "b": b.method_name,
        "a_assisted": a.assisted,
        "b_assisted": b.assisted,
        "n": test.n,
        "both": test.both,
        "only_a": test.only_a,
        "only_b": test.only_b,
        "neither": test.neither,
        "p": test.p,
        "difference": difference._asdict() if difference else None,
        "detectable_difference": (
            detectable_paired_difference(discordant, test.n) if test.n else None
        ),
    }
