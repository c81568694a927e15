"""Results as the described framework stores and compares them: a file for each method and set.

    <results>/<method>_<dataset>.json

The keys are those of openadapt-grounding, whose files can be read too, and some of our own
(`assisted`, `protocol`, `incomplete`, `intervals` …). A file without those is one of the
framework's: its methods are `assisted`, and its sizes go by the area.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import combinations
from math import dist, fsum, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

from uiproof.benchmark import Record
from uiproof.benchmarks.grounding.cases import OPENADAPT, UIPROOF
from uiproof.benchmarks.grounding.judge import (
    AREA_RULE,
    SHORT_SIDE_RULE,
    SIZES,
    sizes,
)
from uiproof.benchmarks.grounding.summary import SERVER_ERROR, is_own_fault, latency_seconds
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError, UiproofError
from uiproof.files import access, replacing
from uiproof.geometry import Box
from uiproof.settings import CHARTS_DIR, RESULTS_DIR, Settings
from uiproof.stats.intervals import (
    Interval,
    clustered_rate,
    detectable_paired_difference,
    mcnemar,
    paired_difference,
)

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory
    from uiproof.stats.intervals import Interval

COMPARISON = "comparison.json"
# The names of methods in the tables of the described framework.
DESCRIBED_NAMES: Mapping[str, str] = {
    f"{backend}{suffix}": f"{title} + {cropping}"
    for backend, title in (("omniparser", "OmniParser"), ("uitars", "UI-TARS"))
    for suffix, cropping in (
        ("", "baseline"),
        ("-fixed", "fixed_crop"),
        ("-screenseeker", "screenseeker"),
    )
}


@dataclass(frozen=True, slots=True)
class ElementResult:
    """The result of one element. Places are fractions of the screenshot."""

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
        """Return the messages of looks that failed because of the server."""
        return tuple(self.method_info.get("region_errors", ()))


@dataclass(frozen=True, slots=True)
class MethodMetrics:
    """The metrics of one method on one data set.

    `mean_iou` is over found elements whose boxes overlap. Rates of sizes that do not occur are 0
    and not in `by_size`.
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
    incomplete: bool = False  # a server or machine failed: the rates are too low
    server_errors: int = 0
    size_rule: str = ""  # empty if unknown
    protocol: str = UIPROOF  # one of `cases.PROTOCOLS`
    interval: Interval | None = None  # of the detection rate
    by_size: Mapping[str, Interval] = field(default_factory=dict)
    by_type: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def marks(self) -> tuple[str, ...]:
        """Return the marks that every table and chart shows beside the name."""
        pairs = (("assisted", self.assisted), ("incomplete", self.incomplete))
        return tuple(mark for mark, on in pairs if on)

    @property
    def title(self) -> str:
        """Return the name for tables: `OmniParser + baseline` for `omniparser`."""
        return DESCRIBED_NAMES.get(self.method_name, self.method_name)

    @property
    def label(self) -> str:
        """Return the title with its marks, for example `OmniParser + fixed_crop [assisted]`."""
        marks = (*self.marks, *((self.protocol,) if self.protocol != UIPROOF else ()))
        return f"{self.title} [{', '.join(marks)}]" if marks else self.title


def metrics_of_run(run: RunDirectory | Path | str) -> MethodMetrics:
    """Return the metrics of a run."""
    run = RunDirectory.of(run)
    manifest = run.manifest
    return metrics_of(
        run.records(),
        method=str(manifest["method"]),
        dataset=Path(str(manifest["dataset"])).name,
        assisted=bool(manifest.get("assisted")),
        protocol=str((manifest.get("settings") or {}).get("protocol", UIPROOF)),
    )


def metrics_of(
    records: Iterable[Record],
    *,
    method: str,
    dataset: str,
    assisted: bool = False,
    protocol: str = UIPROOF,
) -> MethodMetrics:
    """Return the metrics of records; all 0 without records."""
    by_area = protocol == OPENADAPT
    results, server_errors, incomplete = [], 0, False
    for record in records:
        result = _result(record, by_area, protocol)
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
        **{
            f"detection_rate_{size}": by_size[size].mean if size in by_size else 0.0
            for size in SIZES
        },
        detection_rate_by_type={name: one.mean for name, one in by_type.items()},
        total_elements=len(results),
        detected_elements=sum(one.found for one in results),
        results=tuple(results),
        assisted=assisted,
        incomplete=incomplete,
        server_errors=server_errors,
        size_rule=AREA_RULE if by_area else SHORT_SIDE_RULE,
        protocol=protocol,
        interval=overall,
        by_size=by_size,
        by_type=by_type,
    )


def write_results(metrics: MethodMetrics, folder: Path) -> Path:
    """Write the file of one method and data set, atomically."""

    content = asdict(metrics)
    for key in ("interval", "by_size", "by_type"):
        del content[key]
    content["intervals"] = {
        "detection_rate": metrics.interval._asdict() if metrics.interval else None,
        "by_size": {key: one._asdict() for key, one in metrics.by_size.items()},
        "by_type": {key: one._asdict() for key, one in metrics.by_type.items()},
    }
    content["results"] = content.pop("results")  # last: it is long
    file = result_file(metrics, folder)
    with replacing(file, makes_folders=True) as stream:
        json.dump(content, stream, indent=1, allow_nan=False)
        stream.write("\n")
    return file


def result_file(metrics: MethodMetrics, folder: Path) -> Path:
    """Return the path of the result file of one method and data set, as the framework names it."""
    described = {shown: name for name, shown in DESCRIBED_NAMES.items()}
    names = (described.get(metrics.method_name, metrics.method_name), metrics.dataset_name)
    return folder / f"{'_'.join(quote(name, safe='@+ ') for name in names)}.json"


def loss(file: Path, metrics: MethodMetrics) -> str:
    """Say which results would be lost if these replaced the file; empty if none.

    A trial run with a limit must not replace the results of a whole run.
    """
    if not file.exists():
        return ""
    try:
        old = read_result(file)
    except UiproofError as error:
        return error.message
    if old.protocol != metrics.protocol:
        return f"{file} has results by the protocol {old.protocol}."
    covered = _element_ids(old) <= _element_ids(metrics)
    if covered and old.total_elements <= metrics.total_elements:
        return ""
    return (
        f"{file} has the results of {old.total_elements} elements, which are not all among the "
        f"{metrics.total_elements} of this run."
    )


def _element_ids(metrics: MethodMetrics) -> set[tuple[str, str]]:
    return {(one.sample_id, one.element_id) for one in metrics.results}


def read_results(folder: Path) -> tuple[list[MethodMetrics], list[UiproofError]]:
    """Read all result files of a folder, ordered by name; comparisons are not results.

    Also returns why other JSON files were left out.
    """
    with access(folder, "read"):
        files = sorted(file for file in folder.glob("*.json") if file.name != COMPARISON)
    found, left_out = [], []
    for file in files:
        try:
            found.append(read_result(file))
        except UiproofError as error:
            left_out.append(error)
    return found, left_out


def read_result(file: Path) -> MethodMetrics:
    """Read a result file; raise `InputError` for other files."""
    try:
        with access(file, "read"):
            return _metrics_from(json.loads(file.read_bytes()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{file} is not a result file of the grounding benchmark: {why}.",
            remedy="Move it elsewhere, or make it again with `uiproof run`.",
        ) from error


def _metrics_from(content: Any) -> MethodMetrics:
    if not isinstance(content, Mapping):
        raise TypeError("it is not an object")
    for name in ("method_name", "dataset_name"):
        if not isinstance(content[name], str):
            raise TypeError(f"{name} is not a text")
    for name in _NUMBERS:
        _number(name, content[name])
    results = tuple(_result_from(one) for one in content.get("results", ()))
    overall, by_size, by_type = _intervals(results)
    known = {name: content[name] for name in MethodMetrics.__dataclass_fields__ if name in content}
    if not results and (n := content["total_elements"]):
        reason = "the file does not list the elements"
        overall = Interval(int(content["detected_elements"]) / n, None, None, n, no_interval=reason)
    if "assisted" not in content and "size_rule" not in content:
        known |= {"assisted": True, "protocol": OPENADAPT, "size_rule": AREA_RULE}
    return MethodMetrics(
        **{**known, "results": results, "interval": overall, "by_size": by_size, "by_type": by_type}
    )


_NUMBERS = (
    *("detection_rate", "mean_iou", "mean_latency_ms", "mean_attempts"),
    *("detection_rate_small", "detection_rate_medium", "detection_rate_large"),
    *("total_elements", "detected_elements"),
)


def _number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise TypeError(f"{name} is not a number: {value!r}")


def _result_from(content: Mapping[str, Any]) -> ElementResult:
    _number("iou", content["iou"])
    known = {name: content[name] for name in ElementResult.__dataclass_fields__ if name in content}
    places = {name: tuple(known[name]) for name in ("click_point", "bbox") if known.get(name)}
    return ElementResult(**{**known, **places})


def _result(record: Record, by_area: bool, protocol: str) -> ElementResult:
    details, scores = record.details, record.scores
    sample, slash, element = record.id.rpartition("/")
    if not slash:  # a sample that has no elements
        sample, element = element, ""
    found = bool(scores.get("detected", scores.get("accuracy")))
    answer = details.get("answer") or {}
    click, box = answer.get("click"), answer.get("box")
    nowhere = None
    if protocol == OPENADAPT and not found:
        click, nowhere = None, 0.0  # its misses have no click
    seconds = latency_seconds(record)
    # Older runs kept the overlap of matches that an assisted method had rejected.
    rejected = "detected" in scores and not found
    return ElementResult(
        sample_id=details.get("sample", sample),
        element_id=details.get("element", element),
        found=found,
        iou=0.0 if rejected else scores.get("iou") or 0.0,
        latency_ms=round(seconds * 1000, 3) if isfinite(seconds) else None,
        attempts=details.get("attempts", 1),
        size_category=sizes(details)[by_area] or "none",
        element_type=details.get("element_type", "unknown"),
        distance_from_target=nowhere if click is None else _distance(details, click),
        click_point=tuple(click) if click else None,
        bbox=tuple(box) if box else None,
        method_info=_info(record),
    )


def _distance(details: Mapping[str, Any], click: Any) -> float | None:
    truth = details.get("truth")
    if not click or None in click or not truth or truth["refusal"]:
        return None
    return dist(click, Box(*truth["bbox"]).centre)


def _info(record: Record) -> dict[str, Any]:
    """Return further details of a result, without empty ones."""
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
    """Return the detection rate over all, by size and by type, with intervals."""
    results = list(results)

    def rate(chosen: list[ElementResult]) -> Interval | None:
        return clustered_rate([one.found for one in chosen], [one.sample_id for one in chosen])

    def rates(key: str, names: Iterable[str]) -> dict[str, Interval]:
        split = {
            name: rate([one for one in results if getattr(one, key) == name]) for name in names
        }
        return {name: found for name, found in split.items() if found is not None}

    types = sorted({one.element_type for one in results})
    return rate(results), rates("size_category", SIZES), rates("element_type", types)


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return fsum(values) / len(values) if values else 0.0


# --- comparison.json


def compare(metrics: Sequence[MethodMetrics]) -> dict[str, Any]:
    """Return the content of `comparison.json`.

    `best_overall` and its like may be assisted methods, which `assisted` says; `best_blind` are the
    best of the others.
    """
    by_dataset: dict[str, list[MethodMetrics]] = defaultdict(list)
    for one in metrics:
        by_dataset[one.dataset_name].append(one)
    by_rate = sorted(metrics, key=_rank)
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
            "by_rule": {
                rule: _size_analysis(one for one in metrics if one.size_rule == rule)
                for rule in sorted({one.size_rule for one in metrics})
            },
        },
        "pairs": [
            _pair(a, b)
            for group in by_dataset.values()
            for a, b in combinations(sorted(group, key=_rank), 2)
            if a.protocol == b.protocol  # the rates of two protocols are not one measure
        ],
    }


def write_comparison(metrics: Sequence[MethodMetrics], target: Path | TextIO) -> None:
    """Write the comparison as JSON; a file is replaced atomically."""

    if isinstance(target, Path):
        with replacing(target, makes_folders=True) as stream:
            write_comparison(metrics, stream)
        return
    json.dump(compare(metrics), target, indent=2, allow_nan=False)
    target.write("\n")


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


def _rank(one: MethodMetrics) -> float:
    return -one.detection_rate


def _blind(metrics: Iterable[MethodMetrics]) -> list[MethodMetrics]:
    return [one for one in metrics if not one.assisted]


def _best(group: Sequence[MethodMetrics]) -> dict[str, Any]:
    if not group:
        return {}
    best = min(group, key=_rank)
    return {
        "method": best.method_name,
        "detection_rate": best.detection_rate,
        "latency_ms": best.mean_latency_ms,
        "protocol": best.protocol,
        "assisted": best.assisted,
        **_bounds(best),
    }


def _who(one: MethodMetrics) -> dict[str, Any]:
    return {
        "method": one.method_name,
        "dataset": one.dataset_name,
        "protocol": one.protocol,
        "assisted": one.assisted,
        "incomplete": one.incomplete,
    }


def _bounds(one: MethodMetrics) -> dict[str, Any]:
    if one.interval is None:
        return {"low": None, "high": None, "n": one.total_elements, "clusters": None}
    known = ("low", "high", "n", "clusters", "no_interval")
    return {name: getattr(one.interval, name) for name in known}


def _size_analysis(metrics: Iterable[MethodMetrics]) -> dict[str, str | None]:
    """Return the best method for each size; None where methods have different size rules."""
    analysis: dict[str, str | None] = {}
    metrics = list(metrics)
    mixed = len({one.size_rule for one in metrics}) > 1
    for size in SIZES:
        met = [one for one in metrics if size in one.by_size and not mixed]
        best = max(met, key=lambda one: one.by_size[size].mean, default=None)
        analysis[f"{size}_best"] = best.method_name if best else None
    return analysis


def _pair(a: MethodMetrics, b: MethodMetrics) -> dict[str, Any]:
    """Return the paired test of two methods on the elements that both have.

    `p` is McNemar's exact test, which takes elements as independent; the interval of the
    difference `a - b` is over screenshots.
    """
    found = {(one.sample_id, one.element_id): one.found for one in b.results}
    shared = [one for one in a.results if (one.sample_id, one.element_id) in found]
    ours = [one.found for one in shared]
    theirs = [found[one.sample_id, one.element_id] for one in shared]
    test = mcnemar(ours, theirs)
    screens = [one.sample_id for one in shared]
    difference = paired_difference(ours, theirs, screens)
    discordant = (test.only_a + test.only_b) / test.n if test.n else 0.0
    return {
        "dataset": a.dataset_name,
        "protocol": a.protocol,
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


# --- `uiproof compare` and `uiproof run`

_log = logging.getLogger("uiproof")
_FEW_ENOUGH = 12  # pairs that get a line each; all of them are in comparison.json


def compared(runs: Sequence[RunDirectory], charts_dir: Path | None) -> str:
    """Return the described table and the paired tests of some runs.

    With `charts_dir`, three charts and `comparison.json` are written there.
    """
    metrics = [metrics_of_run(run) for run in runs]
    written = []
    if charts_dir is not None:
        written += _draw(metrics, charts_dir)
        written.append(_write(metrics, charts_dir / COMPARISON))
    return "\n".join([*_described(metrics), *_paths(written)])


def compare_results(
    results_dir: str | Path | None = None,
    *,
    charts_dir: str | Path | None = None,
    markdown: bool = False,
    output: str | Path | None = None,
    json: str | Path | TextIO | None = None,
) -> str:
    """Compare the result files of a folder: the described table and paired tests.

        print(uiproof.compare_results("evaluation/results"))

    Draws the charts, and writes the comparison as JSON to `output` and `json`; by default to
    `evaluation/charts`, and to `comparison.json` beside the results.
    """
    from uiproof.benchmarks.grounding.tables import markdown_table

    settings = Settings.from_environment()
    folder = Path(results_dir or settings.results_dir or RESULTS_DIR)
    metrics, left_out = read_results(folder) if folder.is_dir() else ([], [])
    if not metrics:
        raise InputError(
            f"There are no results in {folder}." + "".join(f" {one.message}" for one in left_out),
            remedy="Make some with `uiproof run --method omniparser --dataset synthetic`, name "
            "another folder with --results-dir, or name run directories.",
        )
    notes = [f"Left out: {one.message}" for one in left_out]
    written = []
    for target in (output, json):
        if isinstance(target, str | Path):
            written.append(_write(metrics, Path(target)))
        elif target is not None:
            write_comparison(metrics, target)
    charts = charts_dir or settings.charts_dir
    if charts is not None:
        written += _draw(metrics, Path(charts))
    # The default places may be read-only: the table is shown all the same.
    if output is None and json is None:
        with _noting(notes):
            written.append(_write(metrics, folder / COMPARISON))
    if charts is None:
        with _noting(notes):
            written += _draw(metrics, CHARTS_DIR)
    table = [markdown_table(metrics).rstrip("\n")] if markdown else _described(metrics)
    return "\n".join([*table, *(["", *notes] if notes else []), *_paths(written)])


@contextmanager
def _noting(notes: list[str]) -> Iterator[None]:
    try:
        yield
    except UiproofError as error:
        notes.append(f"Not written: {error.message}")


def described_table(run: RunDirectory) -> str:
    """Return the described table for one run."""
    from uiproof.benchmarks.grounding.tables import console_table

    return console_table([metrics_of_run(run)])


def store(run: RunDirectory, folder: Path | None) -> None:
    """Write the results of a run in the described format; not those of a shard."""
    if folder is None or run.manifest.get("shard") is not None:
        return
    metrics = metrics_of_run(run)
    if problem := loss(result_file(metrics, folder), metrics):
        _log.warning(
            "%s It was not replaced; this run is in %s. Name another folder with --output-dir, "
            "or move that file away and run again.",
            problem,
            run.place,
        )
    else:
        write_results(metrics, folder)


def _described(metrics: Sequence[MethodMetrics]) -> list[str]:
    from uiproof.benchmarks.grounding.tables import console_table

    lines = [console_table(metrics)]
    pairs = compare(metrics)["pairs"]
    if pairs:
        lines += ["", "Paired on the same elements (exact McNemar):"]
        varied = [key for key in ("dataset", "protocol") if len({pair[key] for pair in pairs}) > 1]
        lines += [_in_words(pair, varied) for pair in pairs[:_FEW_ENOUGH]]
        if len(pairs) > _FEW_ENOUGH:
            lines.append(f"… and {len(pairs) - _FEW_ENOUGH} more pairs; --charts-dir writes all")
    return lines


def _draw(metrics: Sequence[MethodMetrics], charts_dir: Path) -> list[Path]:
    from uiproof.benchmarks.grounding.charts import draw_charts

    with access(charts_dir, "made"):
        charts_dir.mkdir(parents=True, exist_ok=True)
    return draw_charts(metrics, charts_dir)


def _write(metrics: Sequence[MethodMetrics], file: Path) -> Path:
    write_comparison(metrics, file)
    return file


def _paths(files: Sequence[Path]) -> list[str]:
    return ["", *(f"Written: {file}" for file in files)] if files else []


def _in_words(pair: Mapping[str, Any], varied: Sequence[str]) -> str:
    """Return a pair as a line, with those of data set and protocol that differ between pairs."""
    where = "".join(f" [{pair[key]}]" for key in varied)
    a, b = (DESCRIBED_NAMES.get(pair[key], pair[key]) for key in "ab")
    alone = f"{pair['only_a']} against {pair['only_b']} of {pair['n']}"
    sure = "" if pair["p"] < 0.05 else ", which may be chance"
    return f"  {a} - {b}{where}: found alone {alone}, p = {pair['p']:.2g}{sure}"
