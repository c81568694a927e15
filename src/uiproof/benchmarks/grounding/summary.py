"""What a grounding run amounts to: rates with intervals over all of its cases.

Every case is in the denominator. One that failed counts as wrong, and where a server or this
machine is to blame for that, the summary says `incomplete` and how many such cases there are.
Intervals know that elements of one screenshot are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding import sizes
from uiproof.benchmarks.grounding.tally import SERVER_ERROR, Labels, Tally, is_own_fault
from uiproof.benchmarks.grounding.verdicts import NEAR, Kind
from uiproof.engine.types import Record
from uiproof.registry import Metric

if TYPE_CHECKING:
    import numpy as np

    from uiproof.stats.intervals import Interval

    Numbers = np.ndarray[Any, Any]

METRICS = (
    Metric("accuracy", "Accuracy"),
    Metric("macro", "Macro"),
    Metric("detected", "Detected"),
    Metric("blind_hit", "Blind hit"),
    Metric("iou", "IoU"),
)

CELL_TAG = "group"  # in which a data set says what its cells are
MEMBER = "yes"  # the value of a tag that is a category of its own, where cases can have several
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)

RULES = {
    "hit": "the click is on the element, edges included: inside of its outline or box, or of its "
    "clickable area; for an element that is not there, a refusal",
    "detected": "what an assisted method found by its own rule, with the truth in sight",
    "size": sizes.SHORT_SIDE_RULE,
    "area": sizes.AREA_RULE,
    "near_miss": f"on no annotated element, within {NEAR} of the diagonal from the target",
    "interval": "95 %, clustered by screenshot: bootstrap for scores, Wilson with the effective "
    "number of cases for cells",
    "macro": "the mean of the rates of the cells, each weighing the same",
    "latency": "seconds on the network for each call, without waiting for a turn",
}


def summarise(records: Iterable[Record]) -> dict[str, Any]:
    """The content of `summary.json`; reads the records once and keeps only their numbers."""
    tally = Tally()
    for record in records:
        tally.add(record)
    import numpy as np  # not above: naming a benchmark must not cost what summing it up does

    table = _Table(tally)
    blames = [code for code in tally.errors if not is_own_fault(code)]
    blamed = sum(tally.errors[code] for code in blames)
    macro = _macro(tally, table)
    return {
        "benchmark": "grounding",
        "n": tally.n,
        "failed": tally.errors.total(),
        "screens": len(tally.screens.names),
        "assisted": table.assisted,
        "incomplete": blamed + tally.misses_with_region_errors > 0,
        "server_errors": tally.errors[SERVER_ERROR],
        "not_measured": blamed,
        "region_errors": {
            "looks": tally.region_errors,
            "misses": tally.misses_with_region_errors,
        },
        "errors": dict(sorted(tally.errors.items())),
        "flags": dict(sorted(tally.flags.items())),
        "scores": _scores(tally, table, macro),
        "macro": macro,
        "without_refusals": table.rate(~table.refusal),
        "without_errors": table.rate(np.array(tally.answered, dtype=bool)),
        "refusals": _refusals(tally, int(table.refusal.sum())),
        "verdicts": {kind.value: tally.verdicts[kind] for kind in Kind if tally.verdicts[kind]},
        "by_size": table.cells(tally.sizes, sizes.SIZES),
        "by_area": table.cells(tally.areas, sizes.SIZES),
        "by_type": table.cells(tally.types),
        "by_tag": {
            name: {"macro": table.macro(labels.codes(tally.n)), "cells": table.cells(labels)}
            for name, labels in sorted(tally.tags.items())
        },
        "near_miss": _spread(tally.near_px, {"median_px": 50, "p90_px": 90}),
        "all_misses": _spread(tally.miss_px, {"median_px": 50, "p90_px": 90}),
        "mean_iou_found": _mean_iou_found(tally),
        "wrong_format": _share(_wrong_format(tally), tally.n),
        "attempts": _mean(tally.attempts),
        "latency": _latency(tally),
        "confidence": _risk_coverage(np.array(tally.confidence), table),
        "rules": RULES,
    }


class _Table:
    """The columns as arrays, with the rates that can be taken over a part of the cases."""

    def __init__(self, tally: Tally) -> None:
        import numpy as np

        detected = np.array(tally.detected)
        self.assisted = bool(np.isfinite(detected).any())
        right = detected if self.assisted else np.array(tally.accuracy)
        self.right = np.nan_to_num(right)  # what failed has no such score and is not right
        self.refusal = np.array(tally.refusal, dtype=bool)
        self.screens = tally.screens.codes(tally.n)
        self.n = tally.n

    def rate(self, chosen: Numbers) -> dict[str, Any] | None:
        """The share that is right among the chosen cases."""
        from uiproof.stats.clusters import clustered_rate

        return _as_json(clustered_rate(self.right[chosen], self.screens[chosen]))

    def cells(self, labels: Labels, order: Iterable[str] = ()) -> dict[str, Any]:
        """The share that is right for each label."""
        codes = labels.codes(self.n)
        names = [*(name for name in order if name in labels.names)] or sorted(labels.names)
        return {name: self.rate(codes == labels.names[name]) for name in names}

    def macro(self, codes: Numbers, rows: Numbers | None = None) -> dict[str, Any] | None:
        """The mean of the rates of the cells, with an interval; cases in no cell are left out.

        `codes` has the cell of each case, or of those in `rows`, where a case may be repeated.
        """
        import numpy as np

        from uiproof.stats.clusters import clustered_mean

        rows = np.arange(self.n) if rows is None else rows
        rows, codes = rows[codes >= 0], codes[codes >= 0]
        interval = clustered_mean(self.right[rows], self.screens[rows], cells=codes)
        if interval is None:
            return None
        low, high = interval.low, interval.high
        return {
            "mean": interval.mean,
            "low": None if low is None else max(low, 0.0),
            "high": None if high is None else min(high, 1.0),
            "n": len(np.unique(rows)),
            "cells": len(np.unique(codes)),
        }


def _scores(tally: Tally, table: _Table, macro: dict[str, Any] | None) -> dict[str, Any]:
    import numpy as np

    main = _with_intervals(table.right, table.screens)
    blind = np.nan_to_num(np.array(tally.blind_hit)) if table.assisted else None
    iou = np.array(tally.iou)
    # A box that is missing overlaps with nothing; where no answer has one there is no such score.
    boxes = np.nan_to_num(iou)[~table.refusal] if np.isfinite(iou).any() else None
    return {
        "accuracy": None if table.assisted else main,
        "macro": None if table.assisted else macro,
        "detected": main if table.assisted else None,
        "blind_hit": None if blind is None else _with_intervals(blind, table.screens),
        "iou": None if boxes is None else _bootstrap(boxes, table.screens[~table.refusal]),
    }


def _macro(tally: Tally, table: _Table) -> dict[str, Any] | None:
    """The macro mean over the cells that the data set defines, else over element types."""
    import numpy as np

    members = sorted(name for name, one in tally.tags.items() if set(one.names) == {MEMBER})
    rows = None
    if CELL_TAG in tally.tags:
        codes, over = tally.tags[CELL_TAG].codes(tally.n), CELL_TAG
    elif members:
        found = [np.flatnonzero(tally.tags[name].codes(tally.n) >= 0) for name in members]
        codes = np.repeat(np.arange(len(members)), [len(one) for one in found])
        rows, over = np.concatenate(found), ", ".join(members)
    else:
        codes, over = tally.types.codes(tally.n), "element_type"
    macro = table.macro(codes, rows)
    return None if macro is None else {**macro, "over": over}


def _with_intervals(right: Numbers, screens: Numbers) -> dict[str, Any] | None:
    """A rate with its bootstrap over screenshots, and Wilson's interval beside it."""
    from uiproof.stats.clusters import clustered_rate
    from uiproof.stats.intervals import wilson

    score, hits = _bootstrap(right, screens), int(right.sum())
    plain = wilson(hits, right.size)
    if score is None or plain is None:
        return None
    if hits in (0, right.size):
        # A bootstrap of equal values has no width and would claim certainty.
        score = _as_json(clustered_rate(right, screens)) or score
    return {**score, "hits": hits, "wilson": [plain.low, plain.high]}


def _bootstrap(values: Numbers, screens: Numbers) -> dict[str, Any] | None:
    from uiproof.stats.intervals import bootstrap_mean

    interval = bootstrap_mean(values, clusters=screens)
    return None if interval is None else interval._asdict()


def _as_json(rate: Interval | None) -> dict[str, Any] | None:
    return None if rate is None else {**rate._asdict(), "hits": round(rate.mean * rate.n)}


def _share(hits: int, n: int) -> dict[str, Any] | None:
    from uiproof.stats.intervals import wilson

    return _as_json(wilson(hits, n))


def _refusals(tally: Tally, asked: int) -> dict[str, Any]:
    """How good the method is at saying that something is not there."""
    right, wrong = tally.verdicts[Kind.CORRECT_REFUSAL], tally.verdicts[Kind.REFUSED]
    return {
        "n": asked,
        "precision": _share(right, right + wrong),
        "recall": _share(right, asked),
        "false_points": tally.verdicts[Kind.FALSE_POINT],
    }


def _wrong_format(tally: Tally) -> int:
    """Answers that could not be understood, those that made the case fail included."""
    return tally.verdicts[Kind.UNPARSEABLE] + sum(
        n for code, n in tally.errors.items() if code.startswith("answer")
    )


def _mean_iou_found(tally: Tally) -> dict[str, Any] | None:
    """The mean over found elements with any overlap, as openadapt-grounding computes it."""
    import numpy as np

    iou = np.array(tally.iou)
    found = np.nan_to_num(np.array(tally.detected)) + np.nan_to_num(np.array(tally.accuracy)) > 0
    return _mean(iou[found & (np.nan_to_num(iou) > 0)])


def _mean(values: Any) -> dict[str, Any] | None:
    import numpy as np

    return {"mean": float(np.mean(values)), "n": len(values)} if len(values) else None


def _spread(values: Any, percentiles: Mapping[str, float]) -> dict[str, Any]:
    import numpy as np

    found: dict[str, Any] = {"n": len(values)}
    for name, percentile in percentiles.items():
        found[name] = round(float(np.percentile(values, percentile)), 3) if len(values) else None
    return found


def _latency(tally: Tally) -> dict[str, Any]:
    import numpy as np

    def seconds(values: Any) -> dict[str, Any] | None:
        if not len(values):
            return None
        mean = round(float(np.mean(values)), 4)
        return {"mean": mean, **_spread(values, {"p50": 50, "p95": 95})}

    per_case = np.array(tally.seconds)
    return {
        "per_call": seconds(tally.network),
        "queue": seconds(tally.queue),
        "per_case": seconds(per_case[np.isfinite(per_case)]),
        "cached_calls": tally.cached,
    }


def _risk_coverage(confidence: Numbers, table: _Table) -> list[dict[str, Any]] | None:
    """How accurate the answers are that reach a confidence, and how many those are.

    None where no answer has a confidence; one without it reaches no threshold.
    """
    import numpy as np

    if not np.isfinite(confidence).any():
        return None
    sure = np.nan_to_num(confidence, nan=-np.inf)
    return [
        {
            "threshold": threshold,
            "coverage": float(np.mean(sure >= threshold)),
            "accuracy": table.rate(sure >= threshold),
        }
        for threshold in THRESHOLDS
    ]
