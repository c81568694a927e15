"""Cases of runs: what annotators see of them, and what the judge noted about them.

Nothing that annotators see names the model. Errors are put in our own words, since their messages
may name it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from io import BytesIO
from math import isfinite
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from uiproof.annotation import USUAL_WIDTH, Annotation, CaseMedia, CasePicture, PixelEdges
from uiproof.benchmark import Case, Metric, number_at
from uiproof.browser.renderer import Renderer
from uiproof.browser.source import PageSource, is_page_asset
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError, UiproofError
from uiproof.files import BoundedCache
from uiproof.labels import Item
from uiproof.registry import benchmarks
from uiproof.settings import Settings
from uiproof.studio.runs import FoundRun, open_run, stamp

_RUNS_KEPT = 32
_MOST_CACHED = 256 * 2**20  # bytes of references that were rendered
_RENDERING = Lock()
_WIDELY = 0.6  # of a picture: larger changes are not outlined
_WHY_NO_PAGE = {
    "load": "This case could not be read, so there is no page.",
    "pose": "This case could not be prepared, so there is no page.",
    "answer": "No page was generated.",
    "score": "A page was generated, but it could not be opened within the limits.",
}
_NOT_HERE = "The run of this item is not in the studio's folder of runs."


def all_annotations() -> dict[str, Annotation]:
    """Return the annotation of each benchmark that can be annotated, by name."""
    found = {name: benchmark.annotation() for name, benchmark in benchmarks().items()}
    return {name: one for name, one in found.items() if one is not None}


def annotation_of(benchmark: str | None) -> Annotation:
    """Return how a benchmark is annotated.

    Tasks of earlier versions do not name their benchmark. They belong to the one that can be
    annotated in most ways, which was the only one with failure types.
    """
    known = all_annotations()
    if benchmark is not None:
        return known.get(benchmark) or Annotation()
    return max(
        known.values(), key=lambda one: (len(one.kinds), len(one.failures)), default=Annotation()
    )


# Records of runs.


class CaseFacts(NamedTuple):
    """The part of a record that the studio keeps."""

    media: CaseMedia
    artifacts: Mapping[str, str]
    stage: str  # where it failed
    urgent: bool  # its judge is not sure
    scores: Mapping[str, float]  # by the key of the metric; only what was measured
    usable: bool | None  # as the judge has it; None for benchmarks without such a score
    failure: str | None
    categories: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Facts:
    """The cases of all runs that the items of a task name."""

    cases: Mapping[str, Mapping[str, CaseFacts]]  # run -> case
    metrics: tuple[Metric, ...]
    gone: tuple[str, ...]  # runs that cannot be read
    version: tuple[object, ...] = ()  # changes when a journal does

    def of(self, item: Item) -> CaseFacts | None:
        """Return the facts of an item's own run."""
        return self.cases.get(item.run or "", {}).get(item.case)

    def baseline(self, item: Item) -> CaseFacts | None:
        """Return the facts of the run that an item is compared with."""
        return self.cases.get(item.baseline or "", {}).get(item.case)


def read_facts(folder: Path, items: Iterable[Item]) -> Facts:
    """Return the facts of the items' runs below a folder."""
    wanted = {name for item in items for name in (item.run, item.baseline) if name}
    cases, gone, version = {}, [], []
    metrics: dict[str, Metric] = {}
    for name in sorted(wanted):
        try:
            run = open_run(folder, name)
            cases[name] = cases_of(run)
        except (InputError, OSError):
            gone.append(name)
            continue
        version.append((name, stamp(run.directory.journal)))
        metrics.update((metric.key, metric) for metric in _metrics(run.benchmark))
    return Facts(cases, tuple(metrics.values()), tuple(gone), tuple(version))


def urgent_items(folder: Path, items: Iterable[Item]) -> set[int]:
    """Return the items that people should look at first, since their judges are not sure."""
    listed = list(items)
    facts = read_facts(folder, listed)
    return {item.id for item in listed if (known := facts.of(item)) is not None and known.urgent}


def cases_of(run: FoundRun) -> Mapping[str, CaseFacts]:
    """Return the cases of a run; read again when its journal has changed."""
    status = run.directory.journal.stat()
    return _read(run.directory.path, run.benchmark, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=_RUNS_KEPT)
def _read(path: Path, benchmark: str, _modified: int, _size: int) -> Mapping[str, CaseFacts]:
    annotation = annotation_of(benchmark)
    keys = [metric.key for metric in _metrics(benchmark)]
    found = {}
    for record in RunDirectory(path).records():
        numbers = {key: number_at(record.scores, key) for key in keys}
        scores = {key: one for key, one in numbers.items() if one is not None and isfinite(one)}
        usable = scores.get(annotation.usable_score)
        found[record.id] = CaseFacts(
            annotation.media(record),
            dict(record.artifacts),
            record.error.stage if record.error else "answer",
            annotation.urgent(record),
            scores,
            None if usable is None else usable > 0.5,
            annotation.verdict(record),
            annotation.categories(record),
        )
    return found


def _metrics(benchmark: str) -> tuple[Metric, ...]:
    known = benchmarks().get(benchmark)
    return () if known is None else known.metrics


# Files of a case.


@dataclass(frozen=True, slots=True)
class Picture:
    """A screenshot, with what to outline on it."""

    label: str
    path: Path
    width: float  # of the page that it shows, which may be less than the pixels of the file
    height: float
    trigger: PixelEdges | None = None
    changed: PixelEdges | None = None
    address: str = ""  # sealed, for one person


@dataclass(frozen=True, slots=True)
class CaseFiles:
    """One case: reference and generated pictures, and the generated page itself."""

    sentence: str = ""  # what is done to the page
    reference: tuple[Picture, ...] = ()
    generated: tuple[Picture, ...] = ()
    page: Path | None = None
    width: int = USUAL_WIDTH  # of the window that the page was made for
    missing: str = ""  # why there is no page


def case_files(folder: Path, run: str | None, case: str, others: Iterable[str] = ()) -> CaseFiles:
    """Return the files of a case of a run below `folder`.

    `others` are runs on the same data. The reference is taken from them, or from the data set, if
    this run has none, as for a case that failed.
    """
    found = _of_run(folder, run, case)
    for other in others:
        if found.reference:
            break
        also = _of_run(folder, other, case)
        found = replace(found, sentence=also.sentence, reference=also.reference, width=also.width)
    if run is not None and not found.reference:
        found = replace(found, reference=_of_dataset(folder, run, case))
    return found


def _of_run(folder: Path, run: str | None, case: str) -> CaseFiles:
    try:
        found = None if run is None else open_run(folder, run)
        known = None if found is None else cases_of(found).get(case)
    except (InputError, OSError):
        known = None
    if found is None or known is None:
        return CaseFiles(missing=_NOT_HERE)
    media, directory = known.media, found.directory
    page = _artifact(directory, known, media.page)
    return CaseFiles(
        media.sentence,
        tuple(_pictures(directory, known, media.reference)),
        tuple(_pictures(directory, known, media.generated)),
        page,
        media.width,
        "" if page else _WHY_NO_PAGE[known.stage],
    )


def _pictures(
    run: RunDirectory, case: CaseFacts, wanted: Iterable[CasePicture]
) -> Iterable[Picture]:
    for one in wanted:
        path = _artifact(run, case, one.artifact)
        pixels, rows = _pixels(path) if path else (0, 0)
        if path is None or not pixels:
            continue
        scale = pixels / (one.page_width or pixels)
        width, height = pixels / scale, rows / scale
        changed = _clipped(one.changed, width, height)
        if changed:
            area = (changed[2] - changed[0]) * (changed[3] - changed[1])
            changed = changed if area < _WIDELY * width * height else None
        yield Picture(one.label, path, width, height, _clipped(one.trigger, width, height), changed)


def _clipped(box: PixelEdges | None, width: float, height: float) -> PixelEdges | None:
    if box is None:
        return None
    left, top, right, bottom = box[0], box[1], min(box[2], width), min(box[3], height)
    return (left, top, right, bottom) if right > left and bottom > top else None


def _artifact(run: RunDirectory, case: CaseFacts, name: str) -> Path | None:
    """Return a file that a judge kept; None for everything else that a journal may name."""
    kept = case.artifacts.get(name)
    parts = Path(kept).parts if isinstance(kept, str) and is_page_asset(kept) else ()
    if not kept or len(parts) < 3 or parts[0] not in ("artifacts", "references"):
        return None
    try:
        path = run.artifact(kept)  # follows links, so the target is checked again
        asset = is_page_asset(str(path.relative_to(run.path.resolve())))
        return path if asset and path.is_file() else None
    except (InputError, OSError, ValueError):
        return None


def _of_dataset(folder: Path, run: str, case: str) -> tuple[Picture, ...]:
    """Return the reference of a case from the data set of a run, if it is still there."""
    try:
        manifest = open_run(folder, run).manifest
        dataset = Path(str(manifest["dataset_path"])).resolve()
        known = _dataset_cases(str(manifest["benchmark"]), dataset)
        named = annotation_of(manifest["benchmark"]).reference_files(known[case])
        inside = dataset if dataset.is_dir() else dataset.parent
        named = {label: path.resolve() for label, path in named.items()}
        if not all(is_page_asset(str(path.relative_to(inside))) for path in named.values()):
            return ()
    except (UiproofError, OSError, ValueError, LookupError):
        return ()
    shown = {label: file for label, path in named.items() if (file := _as_png(path))}
    return tuple(Picture(label, file, *_pixels(file)) for label, file in shown.items())


@lru_cache(maxsize=8)
def _dataset_cases(benchmark: str, path: Path) -> Mapping[str, Case[Any, Any]]:
    cases = benchmarks()[benchmark].cases(path)
    return {case.id: case for case in cases if isinstance(case, Case)}


def _as_png(path: Path) -> Path | None:
    """Return a PNG file of a picture, or of what a browser shows of a page."""
    from PIL import Image

    if path.suffix.lower() == ".png":
        return path if _pixels(path)[0] else None
    try:
        status = path.stat()
        identity = f"{path}\0{status.st_mtime_ns}\0{status.st_size}"
        name = f"{hashlib.sha256(os.fsencode(identity)).hexdigest()[:32]}.png"
        cache = BoundedCache(Settings.from_environment().cache_dir / "studio", _MOST_CACHED)
        with _RENDERING:  # several pictures of an item are asked for at once
            if cache.read(name) is None:
                if path.suffix.lower() in (".html", ".htm"):
                    with Renderer() as renderer, renderer.open(PageSource.from_file(path)) as page:
                        cache.write(name, page.screenshot())
                else:
                    out = BytesIO()
                    Image.open(path).convert("RGB").save(out, "PNG")
                    cache.write(name, out.getvalue())
    except (UiproofError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    return cache.folder / name


def _pixels(path: Path) -> tuple[int, int]:
    """Return the size of a PNG file; 0 if it cannot be read."""
    from PIL import Image

    try:
        with Image.open(path, formats=("PNG",)) as opened:
            return opened.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return 0, 0
