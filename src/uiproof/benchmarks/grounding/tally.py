"""The numbers of a run's records in columns, small enough for a hundred thousand cases."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from uiproof.benchmarks.grounding import sizes
from uiproof.benchmarks.grounding.verdicts import Kind
from uiproof.boxes import Box
from uiproof.engine.types import Record

if TYPE_CHECKING:
    import numpy as np

_NAN = float("nan")
_ABSENT = -1

# Why a case failed although its method may be good: the server, or else this machine or the data.
SERVER_ERROR = "model"
_OWN_FAULTS = ("method", "answer")  # and what begins with them: the method had its chance


class Labels:
    """One label per case, such as its size, kept as small numbers."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._codes = array("i")

    def put(self, case: int, label: str | None) -> None:
        """Label a case; those in between that were not mentioned have no label."""
        self._codes.extend([_ABSENT] * (case - len(self._codes)))
        code = _ABSENT if label is None else self.names.setdefault(label, len(self.names))
        self._codes.append(code)

    def codes(self, cases: int) -> np.ndarray[Any, Any]:
        """The label of each case as its number in `names`, -1 where there is none."""
        import numpy as np

        codes = np.full(cases, _ABSENT, dtype=np.int32)
        codes[: len(self._codes)] = self._codes
        return codes


class Tally:
    """Takes records one by one and keeps only their numbers."""

    def __init__(self) -> None:
        self.accuracy, self.detected, self.blind_hit = array("d"), array("d"), array("d")
        self.iou, self.confidence, self.seconds = array("d"), array("d"), array("d")
        self.failed, self.refusal, self.answered = array("b"), array("b"), array("b")
        self.screens, self.sizes, self.areas, self.types = Labels(), Labels(), Labels(), Labels()
        self.tags: dict[str, Labels] = {}
        self.attempts, self.near_px, self.miss_px = array("d"), array("d"), array("d")
        self.network, self.queue, self.cached = array("d"), array("d"), 0
        self.verdicts: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.flags: Counter[str] = Counter()
        self.region_errors = self.misses_with_region_errors = 0

    @property
    def n(self) -> int:
        """How many cases there are."""
        return len(self.failed)

    def add(self, record: Record) -> None:
        """Take the numbers of one case."""
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
        if truth and not refusal:  # what is not there has neither size nor type
            box = Box(*truth["bbox"])
            self.sizes.put(case, sizes.by_short_side(box, details["width"], details["height"]))
            self.areas.put(case, sizes.by_area(box))
            self.types.put(case, details["element_type"])
        for name, value in details.get("tags", {}).items():
            self.tags.setdefault(name, Labels()).put(case, value)

    def _add_answer(self, record: Record) -> None:
        details = record.details
        answer = details.get("answer") or {}
        self.confidence.append(_value(answer.get("confidence")))
        if record.error is not None:
            self.errors[record.error.code] += 1
            return
        kind = details.get("verdict", Kind.UNPARSEABLE)
        self.verdicts[kind] += 1
        self.attempts.append(details.get("attempts", 1))
        distance = record.scores.get("distance_px")
        if distance:
            self.miss_px.append(distance)
            if kind == Kind.NEAR_MISS:
                self.near_px.append(distance)
        if errors := (details.get("assisted") or {}).get("region_errors"):
            self.region_errors += len(errors)
            self.misses_with_region_errors += not record.scores.get("detected")


def summed_details(details: Mapping[str, Any]) -> dict[str, Any]:
    """What `Tally` reads of a record's details."""
    answer, truth = details.get("answer") or {}, details.get("truth")
    looks_failed = (details.get("assisted") or {}).get("region_errors")
    names = ("sample", "width", "height", "element_type", "tags", "verdict", "attempts")
    found = {name: details.get(name) for name in names}
    found["truth"] = {name: truth.get(name) for name in ("refusal", "bbox")} if truth else None
    if answer.get("confidence") is not None:
        found["answer"] = {"confidence": answer["confidence"]}
    if looks_failed:  # how many; what servers said is nobody else's business
        found["assisted"] = {"region_errors": ["" for _ in looks_failed]}
    return {name: value for name, value in found.items() if value is not None}


def is_own_fault(code: str) -> bool:
    """Whether an error is the method's own: it was asked and gave nothing that can be judged."""
    return code.startswith(_OWN_FAULTS)


def latency_seconds(record: Record) -> float:
    """How long a case's answer took: its calls without waiting for a turn; NaN if unknown.

    A method that makes no calls took as long as its answer did.
    """
    taken = [call.get("network_seconds") for call in record.calls]
    if taken:
        return float(sum(seconds or 0.0 for seconds in taken))
    return _value(record.seconds.get("answer"))


def _value(number: float | None) -> float:
    return _NAN if number is None else float(number)
