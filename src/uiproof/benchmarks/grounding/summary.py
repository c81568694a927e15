"""The summary of a grounding run: rates with intervals over all of its cases.

Every case is in the denominator. One that failed counts as wrong; where a server or this machine is
to blame, the summary says `incomplete` and counts such cases. Intervals are over screenshots,
because elements of one screenshot are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uiproof.benchmark import Record
from uiproof.benchmarks.grounding.judge import (
    AREA_RULE,
    NEAR,
    SHORT_SIDE_RULE,
    SIZES,
    ClickVerdict,
    sizes,
)
from uiproof.stats.intervals import clustered_mean, clustered_rate

Numbers = NDArray[Any]

CELL_TAG = "group"  # the tag with the cells of a data set
MEMBER = "yes"  # the value of tags that are categories, where a case can have several
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)

RULES = {
    "hit": "the click is on the element, edges included: inside of its outline or box, or of its "
    "clickable area; for an element that is not there, a refusal",
    "detected": "what an assisted method found by its own rule, with the truth in sight",
    "size": SHORT_SIDE_RULE,
    "area": AREA_RULE,
    "near_miss": f"on no annotated element, within {NEAR} of the diagonal from the target",
    "interval": "95 %, over screenshots: Korn and Graubard's for rates, jackknife with t for means",
    "macro": "the mean of the rates of the cells, each weighing the same",
    "latency": "seconds on the network for each call, without waiting for a turn",
}
_NAN = float("nan")
_PIXELS = {"median_px": 50, "p90_px": 90}

SERVER_ERROR = "model"  # the code of cases that failed because of a server
_OWN_FAULTS = ("method", "answer")  # how codes begin that are the method's own fault


def summarise(records: Iterable[Record]) -> dict[str, Any]:
    """Return the content of `summary.json`; reads the records once and keeps little of each."""
    rows: list[_Row] = []
    calls: list[Mapping[str, Any]] = []
    flags: Counter[str] = Counter()
    for record in records:
        rows.append(_row(record))
        names = ("network_seconds", "queue_seconds", "cached")
        calls += [{name: call.get(name) for name in names} for call in record.calls]
        flags.update(record.flags)
    table = _Table(rows)
    errors = Counter(row.error for row in rows if row.error)
    blamed = sum(n for code, n in errors.items() if not is_own_fault(code))
    verdicts = Counter(row.ending for row in rows if not row.error)
    failed_looks = [row for row in rows if row.region_errors]
    misses = sum(not row.detected > 0 for row in failed_looks)
    tags = sorted({name for row in rows for name in row.tags})
    macro = _macro(table, tags)
    distances = [row for row in rows if row.distance and not row.error]
    return {
        "benchmark": "grounding",
        "n": len(rows),
        "failed": errors.total(),
        "screens": len({row.screen for row in rows}),
        "assisted": table.assisted,
        "incomplete": blamed + misses > 0,
        "server_errors": errors[SERVER_ERROR],
        "not_measured": blamed,
        "region_errors": {
            "looks": sum(row.region_errors for row in failed_looks),
            "misses": misses,
        },
        "errors": dict(sorted(errors.items())),
        "flags": dict(sorted(flags.items())),
        "scores": _scores(table, macro),
        "macro": macro,
        "without_refusals": table.rate(lambda row: not row.refusal),
        "without_errors": table.rate(lambda row: not row.error or is_own_fault(row.error)),
        "refusals": _refusals(table, verdicts),
        "verdicts": {kind.value: verdicts[kind] for kind in ClickVerdict if verdicts[kind]},
        "by_size": table.cells([row.size for row in rows], SIZES),
        "by_area": table.cells([row.area for row in rows], SIZES),
        "by_type": table.cells([row.kind for row in rows]),
        "by_tag": {
            name: {
                "macro": table.macro(_codes(table.tagged(name))),
                "cells": table.cells(table.tagged(name)),
            }
            for name in tags
        },
        "near_miss": _spread(
            [row.distance for row in distances if row.ending == ClickVerdict.NEAR_MISS], _PIXELS
        ),
        "all_misses": _spread([row.distance for row in distances], _PIXELS),
        # Over found elements with any overlap, as in openadapt-grounding.
        "mean_iou_found": _mean(
            [r.iou for r in rows if r.iou > 0 and (r.detected > 0 or r.accuracy > 0)]
        ),
        "wrong_format": _share(
            table.chosen(  # whether or not the case failed for it
                lambda row: row.ending.startswith((ClickVerdict.UNPARSEABLE, "answer"))
            ),
            table.screens,
        ),
        "attempts": _mean([row.attempts for row in rows if not row.error]),
        "latency": _latency(rows, calls),
        "confidence": _risk_coverage(table),
        "rules": RULES,
    }


class _Row(NamedTuple):
    """The numbers of one case that a summary needs; NaN is a missing score."""

    screen: str
    accuracy: float
    detected: float
    blind_hit: float
    iou: float
    confidence: float
    seconds: float
    refusal: bool  # the right answer is to refuse
    error: str  # its code, or empty
    ending: str  # the verdict, or the code of the error
    size: str | None
    area: str | None
    kind: str | None
    tags: Mapping[str, str]
    attempts: int
    distance: float | None
    region_errors: int


def _row(record: Record) -> _Row:
    details, scores = record.details, record.scores
    error = record.error.code if record.error else ""
    truth = details.get("truth")
    refusal = bool(truth and truth["refusal"])
    size, area = sizes(details)
    failed_looks = (details.get("assisted") or {}).get("region_errors") or ()
    return _Row(
        screen=details.get("sample") or record.id.rpartition("/")[0] or record.id,
        accuracy=_value(scores.get("accuracy")),
        detected=_value(scores.get("detected")),
        blind_hit=_value(scores.get("blind_hit")),
        iou=_value(scores.get("iou")),
        confidence=_value((details.get("answer") or {}).get("confidence")),
        seconds=latency_seconds(record),
        refusal=refusal,
        error=error,
        ending=error or details.get("verdict", ClickVerdict.UNPARSEABLE),
        size=size,
        area=area,
        kind=None if refusal else details.get("element_type") or None,
        tags=details.get("tags", {}),
        attempts=details.get("attempts", 1),
        distance=scores.get("distance_px"),
        region_errors=0 if error else len(failed_looks),
    )


def summed_details(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a record's details that a summary reads."""
    answer, truth = details.get("answer") or {}, details.get("truth")
    looks_failed = (details.get("assisted") or {}).get("region_errors")
    names = ("sample", "width", "height", "element_type", "tags", "verdict", "attempts")
    found = {name: details.get(name) for name in names}
    found["truth"] = {name: truth.get(name) for name in ("refusal", "bbox")} if truth else None
    if answer.get("confidence") is not None:
        found["answer"] = {"confidence": answer["confidence"]}
    if looks_failed:  # their number, without the messages of servers
        found["assisted"] = {"region_errors": ["" for _ in looks_failed]}
    return {name: value for name, value in found.items() if value is not None}


def is_own_fault(code: str) -> bool:
    """Return whether an error is the method's own: its answer could not be judged."""
    return code.startswith(_OWN_FAULTS)


def latency_seconds(record: Record) -> float:
    """Return the seconds of a case's calls on the network, or of its answer without calls."""
    taken = [call.get("network_seconds") for call in record.calls]
    if taken:
        return float(sum(seconds or 0.0 for seconds in taken))
    return _value(record.seconds.get("answer"))


def _value(number: float | None) -> float:
    return _NAN if number is None else float(number)


class _Table:
    """The rows of a run, and rates over some of them."""

    def __init__(self, rows: Sequence[_Row]) -> None:
        self.rows = rows
        detected = self.column("detected")
        self.assisted = bool(np.isfinite(detected).any())
        right = detected if self.assisted else self.column("accuracy")
        self.right = np.nan_to_num(right)  # failed cases have no score and are wrong
        self.screens = _codes([row.screen for row in rows])

    def column(self, name: str) -> Numbers:
        """Return a score of each case."""
        return np.array([getattr(row, name) for row in self.rows], dtype=float)

    def chosen(self, which: Callable[[_Row], bool]) -> Numbers:
        """Return for each case whether it fulfils a condition."""
        return np.array([which(row) for row in self.rows], dtype=bool)

    def rate(self, which: Callable[[_Row], bool]) -> dict[str, Any] | None:
        """Return the share of right answers among the chosen cases."""
        chosen = self.chosen(which)
        return _share(self.right[chosen], self.screens[chosen])

    def tagged(self, name: str) -> list[str | None]:
        """Return the value of a tag for each case."""
        return [row.tags.get(name) for row in self.rows]

    def cells(self, labels: Sequence[str | None], order: Iterable[str] = ()) -> dict[str, Any]:
        """Return the share of right answers for each label."""
        there = {label for label in labels if label is not None}
        names = [name for name in order if name in there] or sorted(there)
        chosen = {name: np.array([label == name for label in labels]) for name in names}
        return {name: _share(self.right[one], self.screens[one]) for name, one in chosen.items()}

    def macro(self, codes: Numbers, rows: Numbers | None = None) -> dict[str, Any] | None:
        """Return the mean of the rates of the cells with its interval, without cases in no cell.

        `codes` has the cell of each case, or of those in `rows`, where a case may be repeated.
        """
        rows = np.arange(len(self.rows)) if rows is None else rows
        rows, codes = rows[codes >= 0], codes[codes >= 0]
        interval = clustered_mean(
            self.right[rows], self.screens[rows], cells=codes, within=(0.0, 1.0)
        )
        if interval is None:
            return None
        cells = len(np.unique(codes))
        return {**interval._asdict(), "n": len(np.unique(rows)), "cells": cells}


def _codes(labels: Sequence[str | None]) -> Numbers:
    """Return a number for each label, counted as they appear; -1 for none."""
    numbers: dict[str, int] = {}
    found = [-1 if one is None else numbers.setdefault(one, len(numbers)) for one in labels]
    return np.array(found, dtype=np.int32)


def _scores(table: _Table, macro: dict[str, Any] | None) -> dict[str, Any]:
    main = _share(table.right, table.screens)
    blind = np.nan_to_num(table.column("blind_hit")) if table.assisted else None
    iou, there = table.column("iou"), table.chosen(lambda row: not row.refusal)
    # A missing box has overlap 0; if no answer has a box there is no such score.
    boxes = np.nan_to_num(iou)[there] if np.isfinite(iou).any() else np.array([])
    overlap = clustered_mean(boxes, table.screens[there][: len(boxes)], within=(0.0, 1.0))
    return {
        "accuracy": None if table.assisted else main,
        "macro": None if table.assisted else macro,
        "detected": main if table.assisted else None,
        "blind_hit": None if blind is None else _share(blind, table.screens),
        "iou": None if overlap is None else overlap._asdict(),
    }


def _macro(table: _Table, tags: Sequence[str]) -> dict[str, Any] | None:
    """Return the macro mean over the cells of the data set, else over element types."""
    members = [name for name in tags if set(table.tagged(name)) - {None} == {MEMBER}]
    rows = None
    if CELL_TAG in tags:
        codes, over = _codes(table.tagged(CELL_TAG)), CELL_TAG
    elif members:
        found = [np.flatnonzero(_codes(table.tagged(name)) >= 0) for name in members]
        codes = np.repeat(np.arange(len(members)), [len(one) for one in found])
        rows, over = np.concatenate(found), ", ".join(members)
    else:
        codes, over = _codes([row.kind for row in table.rows]), "element_type"
    macro = table.macro(codes, rows)
    return None if macro is None else {**macro, "over": over}


def _share(hits: Numbers, screens: Numbers) -> dict[str, Any] | None:
    """Return the share of hits with its interval over screenshots; None without cases."""
    rate = clustered_rate(hits, screens)
    return None if rate is None else {**rate._asdict(), "hits": int(hits.sum())}


def _refusals(table: _Table, verdicts: Mapping[str, int]) -> dict[str, Any]:
    """Return precision and recall of refusals."""
    right = table.chosen(lambda row: row.ending == ClickVerdict.CORRECT_REFUSAL)
    refused = right | table.chosen(lambda row: row.ending == ClickVerdict.REFUSED)
    absent = table.chosen(lambda row: row.refusal)
    return {
        "n": int(absent.sum()),
        "precision": _share(right[refused], table.screens[refused]),
        "recall": _share(right[absent], table.screens[absent]),
        "false_points": verdicts[ClickVerdict.FALSE_POINT],
    }


def _mean(values: Any) -> dict[str, Any] | None:
    return {"mean": float(np.mean(values)), "n": len(values)} if len(values) else None


def _spread(values: Any, percentiles: Mapping[str, float]) -> dict[str, Any]:
    found: dict[str, Any] = {"n": len(values)}
    for name, percentile in percentiles.items():
        found[name] = round(float(np.percentile(values, percentile)), 3) if len(values) else None
    return found


def _latency(rows: Sequence[_Row], calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    def seconds(values: Sequence[float]) -> dict[str, Any] | None:
        if not values:
            return None
        mean = round(float(np.mean(values)), 4)
        return {"mean": mean, **_spread(values, {"p50": 50, "p95": 95})}

    timed = [call for call in calls if call["network_seconds"] is not None]
    return {
        "per_call": seconds([call["network_seconds"] for call in timed]),
        # A cached answer has no latency.
        "queue": seconds([call["queue_seconds"] or 0.0 for call in timed if not call["cached"]]),
        "per_case": seconds([row.seconds for row in rows if isfinite(row.seconds)]),
        "cached_calls": sum(bool(call["cached"]) for call in calls),
    }


def _risk_coverage(table: _Table) -> list[dict[str, Any]] | None:
    """Return accuracy and coverage of the answers above each confidence; None without any."""
    confidence = table.column("confidence")
    if not np.isfinite(confidence).any():
        return None
    sure = {threshold: confidence >= threshold for threshold in THRESHOLDS}
    return [
        {
            "threshold": threshold,
            "coverage": float(np.mean(one)),
            "accuracy": _share(table.right[one], table.screens[one]),
        }
        for threshold, one in sure.items()
    ]
