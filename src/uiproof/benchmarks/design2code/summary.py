"""The summary of a Design2Code run: means with intervals over all of its cases.

A failed case is in every mean with the scores that the judge gives to a failure, and where a
failure has no score (nothing was rendered, so CLIP saw nothing) it counts as 0. A score that was
measured for some of the scored cases only has no mean: its `reason` says so.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from uiproof.benchmark import Metric, Record, look_up
from uiproof.benchmarks.design2code.scores import variant

if TYPE_CHECKING:
    import numpy as np

PAPER = ("block_match", "text", "position", "color", "clip", "final", "mean_without_clip")
STRICT = (
    *("block_match", "text", "position", "color", "layout", "page_height", "ssim"),
    *("clip", "final", "mean_without_clip"),
)
PICTURE = STRICT  # the same names, but read off pixels
KEYS = (
    *(f"paper.{name}" for name in PAPER),
    *(f"strict.{name}" for name in STRICT),
    "human",
    "lpips",
)
PICTURE_KEYS = tuple(f"picture.{name}" for name in PICTURE)
_UNIT, _SIGNED = (0.0, 1.0), (-1.0, 1.0)
_CAN_BE_NEGATIVE = (
    *("paper.clip", "paper.final", "human"),
    *("strict.clip", "strict.final", "strict.ssim", "strict.mean_without_clip"),
)

_GET_CLIP = "uiproof data get clip-vit-b-32"
METRICS = (
    Metric("paper.block_match", "Block"),
    Metric("paper.text", "Text"),
    Metric("paper.position", "Position"),
    Metric("paper.color", "Color"),
    Metric("paper.clip", "CLIP", bounds=(-1.0, 1.0), remedy=_GET_CLIP),  # the cosine of an angle
    Metric("paper.final", "Final", bounds=(-1.0, 1.0), ranks=True, remedy=_GET_CLIP),
    Metric("paper.mean_without_clip", "Mean w/o CLIP", ranks=True),
    # SSIM is in it, which can be negative.
    Metric("strict.mean_without_clip", "Strict w/o CLIP", bounds=(-1.0, 1.0), ranks=True),
    Metric("human", "Human", bounds=(-1.0, 1.0)),
)
# For references that are screenshots: another scale, in columns of its own.
PICTURE_METRICS = (
    Metric("picture.block_match", "Picture block"),
    Metric("picture.text", "Picture text"),
    Metric("picture.position", "Picture position"),
    Metric("picture.color", "Picture color"),
    Metric("picture.layout", "Picture layout"),
    Metric("picture.ssim", "Picture SSIM"),
    Metric("picture.clip", "Picture CLIP", remedy=_GET_CLIP),
    Metric("picture.final", "Picture final", ranks=True, remedy=_GET_CLIP),
    Metric("picture.mean_without_clip", "Picture w/o CLIP", ranks=True),
)


def columns(scores: Sequence[Mapping[str, Any]]) -> tuple[Metric, ...]:
    """Return the columns of the profiles that some of the summaries have."""
    pictures = any(one.get("picture") for one in scores)
    pages = not pictures or any(look_up(one, "paper.text") for one in scores)
    return (*(METRICS if pages else ()), *(PICTURE_METRICS if pictures else ()))


def summarise(records: Iterable[Record]) -> dict[str, Any]:
    """Return the content of `summary.json`; reads the records once and keeps only their numbers."""
    columns = {key: array("d") for key in (*KEYS, *PICTURE_KEYS)}
    screens: dict[str, dict[str, array[float]]] = {}  # by viewport, where there are several
    failed_on: defaultdict[str, array[int]] = defaultdict(lambda: array("b"))
    failed = array("b")
    cases: dict[str, int] = {}  # numbered; answers to one case are a cluster
    clusters = array("q")
    flags: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    variants: Counter[str] = Counter()
    for record in records:
        for key, column in columns.items():
            value = look_up(record.scores, key)
            column.append(float("nan") if value is None else float(value))
        for name, scores in (record.scores.get("viewports") or {}).items():
            own = screens.setdefault(name, {key: array("d") for key in KEYS})
            failed_on[name].append(record.status == "failed")
            for key, column in own.items():
                value = look_up(scores, key)
                column.append(float("nan") if value is None else float(value))
        failed.append(record.status == "failed")
        clusters.append(cases.setdefault(record.case, len(cases)))
        flags.update(record.flags)
        if record.error is not None:
            errors[record.error.code] += 1
        for stage, taken in record.seconds.items():
            seconds[stage] += taken
        if record.status == "scored" and record.scores.get("human") is not None:
            # A failure is 0 on either scale, so only scored cases tell which one was used.
            variants[variant(look_up(record.scores, "paper.clip"))] += 1
    import numpy as np  # not above: naming a benchmark must not cost what summing it up does

    groups = None if len(cases) == len(clusters) else np.array(clusters)
    means = {
        key: _mean(np.array(column), np.array(failed), _within(key), groups)
        for key, column in columns.items()
    }
    picture = {name: means[f"picture.{name}"] for name in PICTURE}
    viewports = {
        # Only cases that were compared on this screen count: `auto` has many.
        name: _profiles(
            {
                key: _mean(np.array(column), np.array(failed_on[name]), _within(key))
                for key, column in own.items()
            },
            variants,
        )
        for name, own in screens.items()
    }
    return {
        "benchmark": "design2code",
        "n": len(failed),
        "failed": sum(failed),
        "scores": {
            **_profiles(means, variants),
            **({"picture": picture} if any(picture.values()) else {}),
            **({"lpips": means["lpips"]} if means["lpips"] else {}),
            **({"viewports": viewports} if viewports else {}),
        },
        "flags": dict(sorted(flags.items())),
        "errors": dict(sorted(errors.items())),
        "seconds": {stage: round(taken, 3) for stage, taken in sorted(seconds.items())},
    }


def _profiles(means: Mapping[str, Any], variants: Counter[str]) -> dict[str, Any]:
    return {
        "paper": {name: means[f"paper.{name}"] for name in PAPER},
        "strict": {name: means[f"strict.{name}"] for name in STRICT},
        "human": _with_variant(means["human"], variants),
    }


def _within(key: str) -> tuple[float, float]:
    return _SIGNED if key in _CAN_BE_NEGATIVE else _UNIT


def _mean(
    values: np.ndarray[Any, Any],
    failed: np.ndarray[Any, Any],
    within: tuple[float, float],
    clusters: np.ndarray[Any, Any] | None = None,
) -> dict[str, Any] | None:
    import numpy as np

    from uiproof.stats.intervals import clustered_mean

    missing = np.isnan(values)
    if missing.all():
        return None
    unmeasured = missing & (failed == 0)
    if unmeasured.any():
        measured = len(values) - int(unmeasured.sum())
        return _without_mean(measured, f"measured for {measured} of {len(values)} cases only")
    interval = clustered_mean(np.where(missing, 0.0, values), clusters, within=within)
    return None if interval is None else interval._asdict()


def _with_variant(mean: dict[str, Any] | None, variants: Counter[str]) -> dict[str, Any] | None:
    if mean is None:
        return None
    if len(variants) > 1:
        counts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in sorted(variants.items()))
        mean = _without_mean(mean["n"], f"two scales that cannot be averaged: {counts}")
        return {**mean, "variants": dict(sorted(variants.items()))}
    return {**mean, "variant": next(iter(variants), None)}


def _without_mean(n: int, reason: str) -> dict[str, Any]:
    return {"mean": None, "low": None, "high": None, "n": n, "reason": reason}
