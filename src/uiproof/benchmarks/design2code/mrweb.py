"""MRWeb's published picture scores, recomputed from its screenshots.

    MRWeb/reference/N.png, RUN/N.png, published.json    [{"page", "run", "MAE", "PSNR", …}]
    MRWeb/dataset_collection/all_data/N.png             the authors' repository
         /experiment/results/RUN/N.png
         /experiment/RQ2/performance_visual_intersection.csv

There, the two pictures of a pair are laid on noise of the size of the larger one, and scaled so
that the longer side has 512 pixels (96 for NEMD). The noise has no seed: pairs of one size come out
exactly, the others differ from the published value by what noise is worth.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite, log10
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from uiproof.benchmark import Recomputed
from uiproof.errors import InputError
from uiproof.tables import MISSING, Table
from uiproof.vision.images import Rgb, read
from uiproof.vision.ssim import ssim

Pixels = npt.NDArray[np.uint8]

METRICS = ("MAE", "PSNR", "SSIM", "NEMD", "CLIP", "LPIPS")
_SIDE, _SIDE_NEMD = 512, 96
_PEAK = 32_767  # of 16-bit numbers, in which the bytes were kept when PSNR was computed
_CSV = Path("experiment/RQ2/performance_visual_intersection.csv")
# Tolerances: for pictures of one size, and for those that the authors padded with noise.
# The latter are twice the largest difference on the 49 such pairs that were tried.
_REACH: Mapping[str, tuple[float, float]] = {
    "MAE": (1e-4, 0.13),
    "PSNR": (1e-4, 0.015),
    "SSIM": (1e-4, 0.002),
    "NEMD": (1e-4, 0.0012),
    "CLIP": (5e-3, 5e-3),  # sees the pictures as they are
    "LPIPS": (1e-4, 1e-2),
}


@dataclass(frozen=True, slots=True)
class _Pair:
    """A generated page and its reference, with the published values."""

    page: str
    run: str
    reference: Path
    generated: Path
    published: Mapping[str, float]


def recompute(folder: Path) -> Recomputed | None:
    """Return MRWeb's values beside ours; None for a folder that is not MRWeb."""
    if not (folder / "published.json").is_file() and not (folder / _CSV).is_file():
        return None
    pairs = list(_pairs(folder))
    if not pairs:
        return None
    scores = _Scores()
    rows: list[dict[str, Any]] = []
    missing = 0
    for pair in pairs:
        if not (pair.reference.is_file() and pair.generated.is_file()):
            missing += 1
            continue
        a, b = read(pair.reference), read(pair.generated)
        ours = scores.of(a, b)
        for metric in METRICS:
            value, published = ours.get(metric), pair.published.get(metric)
            if value is not None and published is not None:
                same = a.shape == b.shape
                off = abs(value - published)
                rows.append(
                    {
                        **{"page": pair.page, "run": pair.run, "metric": metric},
                        **{"published": published, "ours": value, "one_size": same},
                        "agrees": off <= _REACH[metric][not same],
                    }
                )
    agrees = bool(rows) and all(row["agrees"] for row in rows)
    good = sum(row["agrees"] for row in rows)
    said = f"{good} of {len(rows)} published values of MRWeb come out, {len(pairs) - missing} pairs"
    if missing:
        said += f"; {missing} pairs without both pictures"
    return Recomputed(
        (_table(rows, scores),), agrees, {"agrees": agrees, "values": rows}, f"{said}."
    )


def _pairs(folder: Path) -> Iterator[_Pair]:
    file = folder / "published.json"
    try:
        if file.is_file():
            rows = json.loads(file.read_text("utf-8"))
            known = isinstance(rows, list) and all(
                isinstance(row, dict) and {"page", "run"} <= set(row) for row in rows
            )
            for row in rows if known else ():
                page, run = _name(row["page"]), _name(row["run"])
                yield _Pair(
                    *(page, run, folder / "reference" / f"{page}.png"),
                    *(folder / run / f"{page}.png", _values(row)),
                )
            return
        file = folder / _CSV
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                *_, run, name = ("", *PurePosixPath(row.get("file_name") or "").parts)
                page = _name(PurePosixPath(name).stem)
                yield _Pair(
                    *(page, run, folder / "dataset_collection" / "all_data" / f"{page}.png"),
                    *(folder / "experiment" / "results" / run / f"{page}.png", _values(row)),
                )
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        raise InputError(
            f"{file} cannot be read: {error}.", remedy="Get MRWeb's files again."
        ) from error


def _name(value: Any) -> str:
    """Return the name of a page or run, which is no path."""
    name = str(value)
    if PurePosixPath(name).name != name:
        raise ValueError(f"{name!r} is not the name of a page or run")
    return name


def _values(row: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for metric in METRICS:
        try:
            value = float(row.get(metric) or "nan")
        except (TypeError, ValueError):
            continue
        if isfinite(value):
            found[metric] = value
    return found


class _Scores:
    """The scores of a pair; CLIP and LPIPS where their weights are on this machine."""

    def __init__(self) -> None:
        from uiproof.vision import clip, lpips

        weights = clip.find_weights()
        self._clip = None if weights is None else clip.ClipModel(weights)
        network = lpips.find_weights("vgg16")
        self._lpips = None if network is None else lpips.LpipsModel(network)

    def of(self, a: Rgb, b: Rgb) -> dict[str, float]:
        """Return the scores of a reference and a generated picture."""
        x, y = _laid_out(a, b, _SIDE)
        error = float(np.mean((x.astype(np.float64) - y) ** 2))
        found = {
            "MAE": float(np.mean(np.abs(x.astype(np.int16) - y))),
            "SSIM": float(np.mean([ssim(x[..., c], y[..., c]) for c in range(3)])),
            "NEMD": _earth_mover(*_laid_out(a, b, _SIDE_NEMD)),
        }
        if error:
            found["PSNR"] = 10 * log10(_PEAK**2 / error)
        if self._clip is not None:
            from uiproof.vision.clip import clip_similarity

            found["CLIP"] = clip_similarity(self._clip.embed(a), self._clip.embed(b))
        if self._lpips is not None:  # they let it scale 0-1 to -1-1, but gave it 0 to 255
            first, second = (2 * one.astype(np.float32) - 1 for one in (x, y))
            found["LPIPS"] = self._lpips.raw_distance(first, second)
        return found

    @property
    def not_measured(self) -> dict[str, str]:
        """Return the metrics that cannot be had here, and what is missing."""
        needs: dict[str, tuple[Any, Callable[[], str]]] = {
            "CLIP": (self._clip, lambda: "needs `uiproof data get clip-vit-b-32`"),
            "LPIPS": (self._lpips, lambda: "needs `uiproof data get lpips-alexnet`"),
        }
        return {metric: why() for metric, (model, why) in needs.items() if model is None}


def _laid_out(a: Rgb, b: Rgb, side: int) -> tuple[Pixels, Pixels]:
    """Return both pictures on noise of a common size, scaled down to a longest side."""
    height, width = max(a.shape[0], b.shape[0]), max(a.shape[1], b.shape[1])
    factor = min(side / width, side / height)
    size = (max(int(width * factor), 1), max(int(height * factor), 1))
    noise = np.random.default_rng(0)
    laid = []
    for picture in (a, b):
        ground = noise.integers(0, 256, (height, width, 3), dtype=np.uint8)
        ground[: picture.shape[0], : picture.shape[1]] = picture
        scaled = Image.fromarray(ground).resize(size, Image.Resampling.LANCZOS)
        laid.append(np.asarray(scaled, dtype=np.uint8))
    return laid[0], laid[1]


def _earth_mover(a: Pixels, b: Pixels) -> float:
    """Return NEMD: 1 less the cost of making one picture's levels of the other's, as a share.

    Of levels in one dimension the cheapest assignment is that in order of size; the most that it
    could cost is counted from the reference.
    """
    cost = most = 0.0
    for channel in range(3):
        levels = np.sort(a[..., channel].ravel()).astype(np.int64)
        others = np.sort(b[..., channel].ravel()).astype(np.int64)
        cost += float(np.abs(levels - others).sum())
        most += float(np.maximum(levels, 255 - levels).sum())
    return 1 - cost / most


def _table(rows: list[dict[str, Any]], scores: _Scores) -> Table:
    lines = []
    for metric in METRICS:
        for same in (True, False):
            some = [row for row in rows if row["metric"] == metric and row["one_size"] is same]
            offs = [abs(row["ours"] - row["published"]) for row in some]
            name = (metric, "one size" if same else "padded with noise")
            if some:
                agree = f"{sum(row['agrees'] for row in some)} of {len(some)}"
                mean, most = f"{np.mean(offs):.6f}", f"{max(offs):.6f}"
                lines.append((*name, agree, mean, most, f"{_REACH[metric][not same]:g}"))
            elif why := scores.not_measured.get(metric):
                lines.append((*name, why, MISSING, MISSING, MISSING))
    header = ("Metric", "Pairs", "come out", "mean difference", "largest", "allowed")
    notes = (
        "PSNR is 42.18 dB above the usual one: its peak is 32767 instead of 255.",
        "LPIPS is that of VGG16, given -1 to 509 (twice 0 to 255, less 1) instead of -1 to 1.",
        "Theirs pads with noise without a seed: such pairs agree within what noise is worth.",
    )
    return Table("MRWeb, recomputed from its pictures", header, tuple(lines), notes, 2)
