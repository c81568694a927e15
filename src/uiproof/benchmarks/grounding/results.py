"""Result files: one JSON file for each method and data set, with a line for every element.

    <results>/<method>_<dataset>.json

The keys are those of openadapt-grounding, whose files can be read too; what this module adds
(`assisted`, `incomplete`, `intervals` …) does not get in their way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import dist, isfinite
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import quote

from uiproof.benchmarks.grounding import sizes
from uiproof.benchmarks.grounding.tally import SERVER_ERROR, is_own_fault, latency_seconds
from uiproof.boxes import Box
from uiproof.engine.rundir import RunDirectory
from uiproof.engine.storage import access
from uiproof.engine.types import Record
from uiproof.errors import InputError
from uiproof.export import replacing
from uiproof.stats.intervals import Interval, wilson

COMPARISON = "comparison.json"


@dataclass(frozen=True, slots=True)
class ElementResult:
    """How one element went. Places are fractions of the screenshot."""

    sample_id: str
    element_id: str
    found: bool
    iou: float  # 0 where the method gave no box
    latency_ms: float | None
    attempts: int
    size_category: str
    element_type: str
    distance_from_target: float | None  # from the click to the middle of the target
    click_point: tuple[float, float] | None = None
    bbox: tuple[float, float, float, float] | None = None  # x, y, width, height of the answer
    method_info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def region_errors(self) -> tuple[str, ...]:
        """Looks that failed because of the server."""
        return tuple(self.method_info.get("region_errors", ()))


@dataclass(frozen=True, slots=True)
class MethodMetrics:
    """How one method did on one data set.

    `mean_iou` is over found elements whose boxes overlap. Rates of sizes that do not occur are 0;
    `by_size` has only those that do.
    """

    method_name: str
    dataset_name: str
    detection_rate: float
    mean_iou: float
    mean_latency_ms: float
    mean_attempts: float
    detection_rate_small: float
    detection_rate_medium: float
    detection_rate_large: float
    detection_rate_by_type: Mapping[str, float]
    total_elements: int
    detected_elements: int
    results: tuple[ElementResult, ...] = ()
    assisted: bool = False  # the method was given the truth
    incomplete: bool = False  # a server or machine failed, so that the rates are too low
    server_errors: int = 0
    size_rule: str = ""  # empty where it is not known
    interval: Interval | None = None  # of the detection rate
    by_size: Mapping[str, Interval] = field(default_factory=dict)
    by_type: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def marks(self) -> tuple[str, ...]:
        """What every table and chart has to say beside the name."""
        pairs = (("assisted", self.assisted), ("incomplete", self.incomplete))
        return tuple(mark for mark, on in pairs if on)

    @property
    def label(self) -> str:
        """The name with its marks, such as `omniparser-fixed [assisted]`."""
        return f"{self.method_name} [{', '.join(self.marks)}]" if self.marks else self.method_name


def metrics_of_run(run: RunDirectory | Path | str, *, by_area: bool = False) -> MethodMetrics:
    """The metrics of a run of the grounding benchmark; sizes by the short side or by the area."""
    run = RunDirectory.of(run)
    manifest = run.manifest
    return metrics_of(
        run.records(),
        method=str(manifest["method"]),
        dataset=Path(str(manifest["dataset"])).name,
        assisted=bool(manifest.get("assisted")),
        by_area=by_area,
    )


def metrics_of(
    records: Iterable[Record],
    *,
    method: str,
    dataset: str,
    assisted: bool = False,
    by_area: bool = False,
) -> MethodMetrics:
    """The metrics of records, which may be none: then everything is 0."""
    results, server_errors, incomplete = [], 0, False
    for record in records:
        result = _result(record, by_area)
        results.append(result)
        if record.error is not None:
            server_errors += record.error.code == SERVER_ERROR
            incomplete |= not is_own_fault(record.error.code)
        incomplete |= bool(result.region_errors) and not result.found
    overall, by_size, by_type = _intervals(results)
    return MethodMetrics(
        method_name=method,
        dataset_name=dataset,
        detection_rate=overall.mean if overall else 0.0,
        mean_iou=_mean(one.iou for one in results if one.found and one.iou > 0),
        mean_latency_ms=_mean(one.latency_ms for one in results if one.latency_ms is not None),
        mean_attempts=_mean(one.attempts for one in results),
        **{f"detection_rate_{size}": _rate(by_size, size) for size in sizes.SIZES},
        detection_rate_by_type={name: one.mean for name, one in by_type.items()},
        total_elements=len(results),
        detected_elements=sum(one.found for one in results),
        results=tuple(results),
        assisted=assisted,
        incomplete=incomplete,
        server_errors=server_errors,
        size_rule=sizes.AREA_RULE if by_area else sizes.SHORT_SIDE_RULE,
        interval=overall,
        by_size=by_size,
        by_type=by_type,
    )


def write_results(metrics: MethodMetrics, folder: Path) -> Path:
    """Write the file of one method and data set, replacing an older one when it is whole."""
    name = "_".join(quote(part, safe="@+ ") for part in (metrics.method_name, metrics.dataset_name))
    content = asdict(metrics)
    for key in ("interval", "by_size", "by_type"):
        del content[key]
    content["intervals"] = {
        "detection_rate": metrics.interval._asdict() if metrics.interval else None,
        "by_size": {key: one._asdict() for key, one in metrics.by_size.items()},
        "by_type": {key: one._asdict() for key, one in metrics.by_type.items()},
    }
    content["results"] = content.pop("results")  # last: it is long
    file = folder / f"{name}.json"
    with replacing(file, makes_folders=True) as stream:
        json.dump(content, stream, indent=1, allow_nan=False)
        stream.write("\n")
    return file


def read_results(folder: Path) -> list[MethodMetrics]:
    """All result files of a folder, ordered by name; comparisons are not results."""
    with access(folder, "read"):
        files = sorted(file for file in folder.glob("*.json") if file.name != COMPARISON)
    return [read_result(file) for file in files]


def read_result(file: Path) -> MethodMetrics:
    """One result file; `InputError` says what is wrong with it."""
    try:
        with access(file, "read"):
            return _metrics_from(json.loads(file.read_bytes()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{file} is not a result file of the grounding benchmark: {error!r}.",
            remedy="Move it elsewhere, or make it again with `uiproof run`.",
        ) from error


def _metrics_from(content: Mapping[str, Any]) -> MethodMetrics:
    results = tuple(_result_from(one) for one in content.get("results", ()))
    overall, by_size, by_type = _intervals(results)
    known = {name: content[name] for name in MethodMetrics.__dataclass_fields__ if name in content}
    if not results:
        overall = wilson(int(content["detected_elements"]), int(content["total_elements"]))
    return MethodMetrics(
        **{**known, "results": results, "interval": overall, "by_size": by_size, "by_type": by_type}
    )


def _result_from(content: Mapping[str, Any]) -> ElementResult:
    known = {name: content[name] for name in ElementResult.__dataclass_fields__ if name in content}
    places = {name: tuple(known[name]) for name in ("click_point", "bbox") if known.get(name)}
    return ElementResult(**{**known, **places})


def _result(record: Record, by_area: bool) -> ElementResult:
    details, scores = record.details, record.scores
    sample, _, element = record.id.rpartition("/")
    answer = details.get("answer") or {}
    click, box = answer.get("click"), answer.get("box")
    seconds = latency_seconds(record)
    return ElementResult(
        sample_id=details.get("sample", sample),
        element_id=details.get("element", element),
        found=bool(scores.get("detected", scores.get("accuracy"))),
        iou=scores.get("iou") or 0.0,
        latency_ms=round(seconds * 1000, 3) if isfinite(seconds) else None,
        attempts=details.get("attempts", 1),
        size_category=_size(details, by_area),
        element_type=details.get("element_type", "unknown"),
        distance_from_target=_distance(details, click),
        click_point=tuple(click) if click else None,
        bbox=tuple(box) if box else None,
        method_info=_info(record),
    )


def _size(details: Mapping[str, Any], by_area: bool) -> str:
    truth = details.get("truth")
    if not truth or truth["refusal"]:
        return "none"  # what is not there, or could not be loaded, has no size
    box = Box(*truth["bbox"])
    if by_area:
        return sizes.by_area(box)
    return sizes.by_short_side(box, details["width"], details["height"])


def _distance(details: Mapping[str, Any], click: Any) -> float | None:
    truth = details.get("truth")
    if not click or None in click or not truth or truth["refusal"]:
        return None
    return dist(click, Box(*truth["bbox"]).center)


def _info(record: Record) -> dict[str, Any]:
    """What only some methods or cases have to say; nothing that is empty."""
    details = record.details
    assisted = details.get("assisted") or {}
    info = {
        "verdict": details.get("verdict"),
        "hit_element": details.get("hit_element"),
        "confidence": (details.get("answer") or {}).get("confidence"),
        "matched_text": assisted.get("matched_text"),
        "region_errors": assisted.get("region_errors"),
        "error": f"{record.error.code}: {record.error.message}" if record.error else None,
    }
    return {key: value for key, value in info.items() if value not in (None, "", [])}


def _intervals(
    results: Iterable[ElementResult],
) -> tuple[Interval | None, dict[str, Interval], dict[str, Interval]]:
    """The detection rate over all, by size and by type, with intervals."""
    from uiproof.stats.clusters import clustered_rate

    results = list(results)

    def rate(chosen: list[ElementResult]) -> Interval | None:
        return clustered_rate([one.found for one in chosen], [one.sample_id for one in chosen])

    def rates(key: str, names: Iterable[str]) -> dict[str, Interval]:
        split = {
            name: rate([one for one in results if getattr(one, key) == name]) for name in names
        }
        return {name: found for name, found in split.items() if found is not None}

    types = sorted({one.element_type for one in results})
    return rate(results), rates("size_category", sizes.SIZES), rates("element_type", types)


def _rate(rates: Mapping[str, Interval], name: str) -> float:
    return rates[name].mean if name in rates else 0.0


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return fmean(values) if values else 0.0
