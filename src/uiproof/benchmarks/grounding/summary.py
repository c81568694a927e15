"""The summary of a grounding run: rates with intervals over all of its cases.

Every case is in the denominator. One that failed counts as wrong; where a server or this machine is
to blame, the summary says `incomplete` and counts such cases. Intervals are over screenshots,
because elements of one screenshot are alike.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Metric, Record
from uiproof.benchmarks.grounding.judge import (
    AREA_RULE,
    NEAR,
    SHORT_SIDE_RULE,
    SIZES,
    ClickVerdict,
    size_by_area,
    size_by_short_side,
)
from uiproof.geometry import Box

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, Any]

METRICS = (
    Metric("accuracy", "Accuracy"),
    Metric("macro", "Macro"),
    Metric("detected", "Detected"),
    Metric("blind_hit", "Blind hit"),
    Metric("iou", "IoU"),
)

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
_ABSENT = -1

SERVER_ERROR = "model"  # the code of cases that failed because of a server
_OWN_FAULTS = ("method", "answer")  # how codes begin that are the method's own fault


def summarise(records: Iterable[Record]) -> dict[str, Any]:
    """Return the content of `summary.json`; reads the records once and keeps only numbers."""
    tally = Tally()
    for record in records:
        tally.add(record)
    import numpy as np

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
        "refusals": _refusals(tally, table),
        "verdicts": {
            kind.value: tally.verdicts[kind] for kind in ClickVerdict if tally.verdicts[kind]
        },
        "by_size": table.cells(tally.sizes, SIZES),
        "by_area": table.cells(tally.areas, SIZES),
        "by_type": table.cells(tally.types),
        "by_tag": {
            name: {"macro": table.macro(labels.codes(tally.n)), "cells": table.cells(labels)}
            for name, labels in sorted(tally.tags.items())
        },
        "near_miss": _spread(tally.near_px, {"median_px": 50, "p90_px": 90}),
        "all_misses": _spread(tally.miss_px, {"median_px": 50, "p90_px": 90}),
        "mean_iou_found": _mean_iou_found(tally),
        "wrong_format": _share(table.ended(_is_wrong_format), table.screens),
        "attempts": _mean(tally.attempts),
        "latency": _latency(tally),
        "confidence": _risk_coverage(np.array(tally.confidence), table),
        "rules": RULES,
    }


class Labels:
    """One label per case, such as its size, kept as small numbers."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._codes = array("i")

    def put(self, case: int, label: str | None) -> None:
        """Label a case; cases that are skipped have no label."""
        self._codes.extend([_ABSENT] * (case - len(self._codes)))
        code = _ABSENT if label is None else self.names.setdefault(label, len(self.names))
        self._codes.append(code)

    def codes(self, cases: int) -> np.ndarray[Any, Any]:
        """Return the label of each case as its number in `names`, -1 for none."""
        import numpy as np

        codes = np.full(cases, _ABSENT, dtype=np.int32)
        codes[: len(self._codes)] = self._codes
        return codes


class Tally:
    """The numbers of records in columns, small enough for a hundred thousand cases."""

    def __init__(self) -> None:
        self.accuracy, self.detected, self.blind_hit = array("d"), array("d"), array("d")
        self.iou, self.confidence, self.seconds = array("d"), array("d"), array("d")
        self.failed, self.refusal, self.answered = array("b"), array("b"), array("b")
        self.screens, self.sizes, self.areas, self.types = Labels(), Labels(), Labels(), Labels()
        self.tags: dict[str, Labels] = {}
        self.attempts, self.near_px, self.miss_px = array("d"), array("d"), array("d")
        self.network, self.queue, self.cached = array("d"), array("d"), 0
        self.endings = Labels()  # the verdict of each case, or the code of its error
        self.verdicts: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.flags: Counter[str] = Counter()
        self.region_errors = self.misses_with_region_errors = 0

    @property
    def n(self) -> int:
        """Return the number of cases."""
        return len(self.failed)

    def add(self, record: Record) -> None:
        """Add the numbers of one case."""
        case, details = self.n, record.details
        for name in ("accuracy", "detected", "blind_hit", "iou"):
            getattr(self, name).append(_value(record.scores.get(name)))
        self.failed.append(record.status == "failed")
        self.answered.append(record.error is None or is_own_fault(record.error.code))
        self.screens.put(case, details.get("sample") or record.id.rpartition("/")[0] or record.id)
        self.seconds.append(latency_seconds(record))
        self.flags.update(record.flags)
        self._add_target(case, details)
        self._add_answer(record)
        for call in record.calls:
            self.cached += bool(call.get("cached"))
            if (taken := call.get("network_seconds")) is not None:
                self.network.append(taken)
                if not call.get("cached"):  # what came from the cache did not wait
                    self.queue.append(call.get("queue_seconds") or 0.0)

    def _add_target(self, case: int, details: Mapping[str, Any]) -> None:
        truth = details.get("truth")
        refusal = bool(truth and truth["refusal"])
        self.refusal.append(refusal)
        if not refusal:  # an absent element has neither size nor type
            if truth:
                box = Box(*truth["bbox"])
                self.areas.put(case, size_by_area(box))
                if details.get("width") and details.get("height"):
                    size = size_by_short_side(box, details["width"], details["height"])
                    self.sizes.put(case, size)
            if details.get("element_type"):
                self.types.put(case, details["element_type"])
        for name, value in details.get("tags", {}).items():
            self.tags.setdefault(name, Labels()).put(case, value)

    def _add_answer(self, record: Record) -> None:
        details = record.details
        answer = details.get("answer") or {}
        self.confidence.append(_value(answer.get("confidence")))
        if record.error is not None:
            self.errors[record.error.code] += 1
            self.endings.put(self.n - 1, record.error.code)
            return
        kind = details.get("verdict", ClickVerdict.UNPARSEABLE)
        self.endings.put(self.n - 1, kind)
        self.verdicts[kind] += 1
        self.attempts.append(details.get("attempts", 1))
        distance = record.scores.get("distance_px")
        if distance:
            self.miss_px.append(distance)
            if kind == ClickVerdict.NEAR_MISS:
                self.near_px.append(distance)
        if errors := (details.get("assisted") or {}).get("region_errors"):
            self.region_errors += len(errors)
            self.misses_with_region_errors += not record.scores.get("detected")


def summed_details(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a record's details that `Tally` reads."""
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
    """The columns as arrays, and rates over subsets of the cases."""

    def __init__(self, tally: Tally) -> None:
        import numpy as np

        detected = np.array(tally.detected)
        self.assisted = bool(np.isfinite(detected).any())
        right = detected if self.assisted else np.array(tally.accuracy)
        self.right = np.nan_to_num(right)  # failed cases have no score and are wrong
        self.refusal = np.array(tally.refusal, dtype=bool)
        self.screens = tally.screens.codes(tally.n)
        self.n = tally.n
        self._endings = tally.endings

    def rate(self, chosen: Numbers) -> dict[str, Any] | None:
        """Return the share of right answers among the chosen cases."""
        return _share(self.right[chosen], self.screens[chosen])

    def ended(self, how: Callable[[str], bool]) -> Numbers:
        """Return the cases whose verdict or error code fulfils a condition."""
        import numpy as np

        chosen = [code for name, code in self._endings.names.items() if how(name)]
        return np.isin(self._endings.codes(self.n), chosen)

    def cells(self, labels: Labels, order: Iterable[str] = ()) -> dict[str, Any]:
        """Return the share of right answers for each label."""
        codes = labels.codes(self.n)
        names = [*(name for name in order if name in labels.names)] or sorted(labels.names)
        return {name: self.rate(codes == labels.names[name]) for name in names}

    def macro(self, codes: Numbers, rows: Numbers | None = None) -> dict[str, Any] | None:
        """Return the mean of the rates of the cells with its interval, without cases in no cell.

        `codes` has the cell of each case, or of those in `rows`, where a case may be repeated.
        """
        import numpy as np

        from uiproof.stats.intervals import clustered_mean

        rows = np.arange(self.n) if rows is None else rows
        rows, codes = rows[codes >= 0], codes[codes >= 0]
        interval = clustered_mean(
            self.right[rows], self.screens[rows], cells=codes, within=(0.0, 1.0)
        )
        if interval is None:
            return None
        cells = len(np.unique(codes))
        return {**interval._asdict(), "n": len(np.unique(rows)), "cells": cells}


def _scores(tally: Tally, table: _Table, macro: dict[str, Any] | None) -> dict[str, Any]:
    import numpy as np

    main = _share(table.right, table.screens)
    blind = np.nan_to_num(np.array(tally.blind_hit)) if table.assisted else None
    iou = np.array(tally.iou)
    # A missing box has overlap 0; if no answer has a box there is no such score.
    boxes = np.nan_to_num(iou)[~table.refusal] if np.isfinite(iou).any() else None
    return {
        "accuracy": None if table.assisted else main,
        "macro": None if table.assisted else macro,
        "detected": main if table.assisted else None,
        "blind_hit": None if blind is None else _share(blind, table.screens),
        "iou": None if boxes is None else _overlap(boxes, table.screens[~table.refusal]),
    }


def _macro(tally: Tally, table: _Table) -> dict[str, Any] | None:
    """Return the macro mean over the cells of the data set, else over element types."""
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


def _share(hits: Numbers, screens: Numbers) -> dict[str, Any] | None:
    """Return the share of hits with its interval over screenshots; None without cases."""
    from uiproof.stats.intervals import clustered_rate

    rate = clustered_rate(hits, screens)
    return None if rate is None else {**rate._asdict(), "hits": int(hits.sum())}


def _overlap(boxes: Numbers, screens: Numbers) -> dict[str, Any] | None:
    from uiproof.stats.intervals import clustered_mean

    interval = clustered_mean(boxes, screens, within=(0.0, 1.0))
    return None if interval is None else interval._asdict()


def _refusals(tally: Tally, table: _Table) -> dict[str, Any]:
    """Return precision and recall of refusals."""
    right = table.ended(lambda name: name == ClickVerdict.CORRECT_REFUSAL)
    refused = right | table.ended(lambda name: name == ClickVerdict.REFUSED)
    return {
        "n": int(table.refusal.sum()),
        "precision": _share(right[refused], table.screens[refused]),
        "recall": _share(right[table.refusal], table.screens[table.refusal]),
        "false_points": tally.verdicts[ClickVerdict.FALSE_POINT],
    }


def _is_wrong_format(ending: str) -> bool:
    """Return whether an answer was unreadable, whether or not the case failed for it."""
    return ending == ClickVerdict.UNPARSEABLE or ending.startswith("answer")


def _mean_iou_found(tally: Tally) -> dict[str, Any] | None:
    """Return the mean over found elements with any overlap, as openadapt-grounding does."""
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
    """Return accuracy and coverage of the answers above each confidence; None without any."""
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
