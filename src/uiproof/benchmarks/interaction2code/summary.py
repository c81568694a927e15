"""The summary of a run: means and rates with intervals, and counts of failures.

Interactions of one page are alike, so intervals are over pages. A failed case is in every mean
with 0. What a page does not implement counts 0 in the interaction part, and the same means without
these interactions are in `implemented_only`; rates without verdicts that are unsure are in
`sure_only`. Positions that a data set does not give are left out; their `n` is smaller.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal

from uiproof.benchmark import Metric, Record, look_up
from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE

if TYPE_CHECKING:
    import numpy as np

Profile = Literal["paper", "strict"]
PROFILES: tuple[Profile, ...] = ("paper", "strict")
FULL = ("clip", "ssim", "text")
PART = ("clip", "ssim", "text", "position_before", "position_after")
RATES = ("implemented", "usable")
_KEYS = tuple(
    f"{profile}.{part}.{name}"
    for profile in PROFILES
    for part, names in (("full", FULL), ("part", PART))
    for name in names
)
UNSURE = "unsure"  # the flag of verdicts that a person should look at first
_SIMILARITY = (-1.0, 1.0)  # CLIP and SSIM can say that two pictures are opposites

METRICS = (
    Metric("usable", "Usable"),
    Metric("implemented", "Implemented"),
    Metric("paper.full.clip", "Page CLIP", bounds=_SIMILARITY),
    Metric("paper.full.ssim", "Page SSIM", bounds=_SIMILARITY),
    Metric("paper.full.text", "Page text"),
    Metric("paper.part.clip", "CLIP", bounds=_SIMILARITY),
    Metric("paper.part.ssim", "SSIM", bounds=_SIMILARITY),
    Metric("paper.part.text", "Text"),
    Metric("paper.part.position_before", "Pos. before"),
    Metric("paper.part.position_after", "Pos. after"),
    Metric("strict.full.ssim", "Strict page SSIM", bounds=_SIMILARITY),
    Metric("strict.full.text", "Strict page text"),
    Metric("strict.part.ssim", "Strict SSIM", bounds=_SIMILARITY),
    Metric("strict.part.text", "Strict text"),
    Metric("strict.part.position_before", "Strict pos. before"),
    Metric("strict.part.position_after", "Strict pos. after"),
)


@dataclass(slots=True)
class _Columns:
    """The numbers of all records, and nothing else of them."""

    scores: dict[str, list[float]] = field(default_factory=dict)
    pages: list[str] = field(default_factory=list)
    failed: list[bool] = field(default_factory=list)
    sure: list[bool] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    usable: Counter[str] = field(default_factory=Counter)  # by failure type
    paths: list[Mapping[str, Any]] = field(default_factory=list)

    def add(self, record: Record) -> None:
        for key in (*_KEYS, *RATES):
            value = look_up(record.scores, key)
            self.scores.setdefault(key, []).append(float("nan") if value is None else float(value))
        self.pages.append(str(record.details.get("page") or page_of(record.id)))
        self.failed.append(record.status == "failed")
        self.sure.append(UNSURE not in record.flags)
        verdict = record.details.get("verdict") or {}
        failure = str(verdict.get("failure") or "a")
        self.failures[failure] += 1
        self.usable[failure] += bool(verdict.get("usable"))
        if sequence := record.details.get("sequence"):
            self.paths.append({**sequence, "page": self.pages[-1]})


def summed_details(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `summarise` reads of a record's details."""
    verdict, sequence = details.get("verdict") or {}, details.get("sequence")
    found: dict[str, Any] = {
        "page": details.get("page"),
        "verdict": {name: verdict.get(name) for name in ("failure", "usable")} if verdict else None,
        "sequence": {name: sequence[name] for name in ("steps", "done")} if sequence else None,
        "seconds": details.get("seconds"),
    }
    return {name: value for name, value in found.items() if value is not None}


def page_of(case_id: str) -> str:
    """Return the page of a case `page/interaction`."""
    return case_id.rpartition("/")[0] or case_id


def summarise(records: Iterable[Record]) -> dict[str, Any]:
    """Return the content of `summary.json`; only the numbers of records are kept."""
    columns = _Columns()
    flags: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    for record in records:
        columns.add(record)
        flags.update(record.flags)
        if record.error is not None:
            errors[record.error.code] += 1
        for stage, taken in record.seconds.items():
            seconds[stage] += taken
        for step, taken in (record.details.get("seconds") or {}).items():
            seconds[f"judge.{step}"] += float(taken)
    n = len(columns.pages)
    return {
        "benchmark": "interaction2code",
        "n": n,
        "pages": len(set(columns.pages)),
        "failed": sum(columns.failed),
        "scores": _scores(columns),
        "implemented_only": _implemented_only(columns),
        "sure_only": _sure_only(columns),
        "failures": {
            kind: {
                "n": columns.failures[kind],
                "share": columns.failures[kind] / n if n else None,
                "usable": columns.usable[kind],
            }
            for kind in (NONE, *FAILURES)
        },
        "sequences": _sequences(columns.paths),
        "flags": dict(sorted(flags.items())),
        "errors": dict(sorted(errors.items())),
        "seconds": {stage: round(taken, 3) for stage, taken in sorted(seconds.items())},
    }


def _scores(columns: _Columns) -> dict[str, Any]:
    import numpy as np  # imported late: listing benchmarks must stay fast

    everything = np.ones(len(columns.pages), dtype=bool)
    made: dict[str, Any] = {
        profile: {
            "full": {name: _mean(columns, f"{profile}.full.{name}", everything) for name in FULL},
            "part": {name: _mean(columns, f"{profile}.part.{name}", everything) for name in PART},
        }
        for profile in PROFILES
    }
    return {**made, **{name: _rate(columns.scores.get(name, []), columns.pages) for name in RATES}}


def _implemented_only(columns: _Columns) -> dict[str, Any]:
    """Return the interaction part of implemented interactions, and the usable share."""
    import numpy as np

    chosen = np.array(columns.scores.get("implemented", [])) == 1
    made: dict[str, Any] = {
        profile: {"part": {name: _mean(columns, f"{profile}.part.{name}", chosen) for name in PART}}
        for profile in PROFILES
    }
    usable = np.array(columns.scores.get("usable", []))[chosen]
    pages = np.array(columns.pages)[chosen]
    return {"n": int(chosen.sum()), **made, "usable": _rate(usable.tolist(), pages.tolist())}


def _sure_only(columns: _Columns) -> dict[str, Any]:
    """Return the rates without the verdicts that a person should look at."""
    pages = list(compress(columns.pages, columns.sure))
    rates = {
        name: _rate(list(compress(columns.scores.get(name, []), columns.sure)), pages)
        for name in RATES
    }
    return {"n": len(pages), **rates}


def _mean(columns: _Columns, key: str, chosen: np.ndarray[Any, Any]) -> dict[str, Any] | None:
    import numpy as np

    from uiproof.stats.intervals import clustered_mean

    if "position" in key:
        # Some interactions have no mark to measure from, whatever was generated.
        chosen = chosen & ~np.isnan(np.array(columns.scores.get(key, [])))
    values = np.array(columns.scores.get(key, []))[chosen]
    failed = np.array(columns.failed, dtype=bool)[chosen]
    implemented = np.array(columns.scores.get("implemented", []))[chosen] == 1
    missing = np.isnan(values)
    # A 0 for something that is missing is not a measurement.
    looked_at = implemented if ".part." in key else ~failed
    if missing.all() or (looked_at.any() and missing[looked_at].all()):
        return None
    unmeasured = missing & ~failed
    if unmeasured.any():
        measured = int((~unmeasured).sum())
        reason = f"measured for {measured} of {values.size} cases only"
        return {"mean": None, "low": None, "high": None, "n": measured, "reason": reason}
    pages = np.array(columns.pages)[chosen]
    within = _SIMILARITY if key.endswith(("clip", "ssim")) else (0.0, 1.0)
    interval = clustered_mean(np.where(missing, 0.0, values), pages, within=within)
    return None if interval is None else interval._asdict()


def _rate(values: Sequence[float], pages: Sequence[str]) -> dict[str, Any] | None:
    import numpy as np

    from uiproof.stats.intervals import clustered_rate

    if not values:
        return None
    rate = clustered_rate(np.nan_to_num(np.array(values)), pages)
    return None if rate is None else rate._asdict()


def _sequences(paths: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return how far paths of several interactions go before one breaks; None without paths."""
    if not paths:
        return None
    whole = [float(path["done"] == path["steps"]) for path in paths]
    return {
        "paths": len(paths),
        "whole": _rate(whole, [path["page"] for path in paths]),
        "steps": sum(path["steps"] for path in paths),
        "done": sum(path["done"] for path in paths),
    }
