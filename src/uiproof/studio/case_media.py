"""The files of one case of one run: pictures of the reference, and the generated page.

Nothing here names the model. Errors are put in our own words, since their messages may name it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from uiproof.annotation import USUAL_WIDTH, Annotation, CaseMedia, CasePicture, PixelEdges
from uiproof.benchmark import Case, Record
from uiproof.browser.renderer import Renderer
from uiproof.browser.source import PageSource, is_page_asset
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError, UiproofError
from uiproof.files import BoundedCache
from uiproof.labels import Item
from uiproof.registry import benchmarks
from uiproof.settings import Settings
from uiproof.studio.runs import FoundRun, open_run

_RUNS_KEPT = 8
_MOST_CACHED = 256 * 2**20  # bytes of references that were rendered
_PAGES = (".html", ".htm")
_RENDERING = Lock()
_WIDELY = 0.6  # of a picture: larger changes are not outlined
_WHY_NO_PAGE = {
    "load": "This case could not be read, so there is no page.",
    "pose": "This case could not be prepared, so there is no page.",
    "answer": "No page was generated.",
    "score": "A page was generated, but it could not be opened within the limits.",
}
_NOT_HERE = "The run of this item is not in the studio's folder of runs."


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


def all_annotations() -> dict[str, Annotation]:
    """Return how people annotate the results of benchmarks, by the names of those that allow it."""
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
    files = {label: shown for label, path in named.items() if (shown := _as_png(path))}
    sizes = {label: _pixels(path) for label, path in files.items()}
    return tuple(Picture(label, files[label], *size) for label, size in sizes.items())


@lru_cache(maxsize=_RUNS_KEPT)
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
                if path.suffix.lower() in _PAGES:
                    with Renderer() as renderer, renderer.open(PageSource.from_file(path)) as page:
                        cache.write(name, page.screenshot())
                else:
                    out = BytesIO()
                    Image.open(path).convert("RGB").save(out, "PNG")
                    cache.write(name, out.getvalue())
    except (UiproofError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    return cache.folder / name


class _Case(NamedTuple):
    """The part of a record that is kept."""

    media: CaseMedia
    artifacts: Mapping[str, str]
    stage: str
    urgent: bool


def urgent_items(folder: Path, items: Iterable[Item]) -> set[int]:
    """Return the items that people should look at first, since their judges are not sure."""
    runs: dict[str, Mapping[str, _Case]] = {}
    found = set()
    for item in items:
        if item.run is None:
            continue
        if item.run not in runs:
            runs[item.run] = _cases_of(folder, item.run)[1]
        case = runs[item.run].get(item.case)
        if case is not None and case.urgent:
            found.add(item.id)
    return found


def _cases_of(folder: Path, run: str) -> tuple[FoundRun | None, Mapping[str, _Case]]:
    """Return a run and all of its cases; none where it is not here."""
    try:
        found = open_run(folder, run)
        state = found.directory.journal.stat()
    except (InputError, OSError):
        return None, {}
    path = found.directory.path
    return found, _cases(path, found.benchmark, state.st_mtime_ns, state.st_size)


def _of_run(folder: Path, run: str | None, case: str) -> CaseFiles:
    if run is None:
        return CaseFiles(missing=_NOT_HERE)
    found, cases = _cases_of(folder, run)
    known = cases.get(case)
    if found is None or known is None:
        return CaseFiles(missing=_NOT_HERE)
    page = _artifact(found.directory, known.artifacts, known.media.page)
    return CaseFiles(
        known.media.sentence,
        tuple(_pictures(found.directory, known, known.media.reference)),
        tuple(_pictures(found.directory, known, known.media.generated)),
        page,
        known.media.width,
        "" if page else _WHY_NO_PAGE[known.stage],
    )


@lru_cache(maxsize=_RUNS_KEPT)
def _cases(path: Path, benchmark: str, _modified: int, _size: int) -> Mapping[str, _Case]:
    """Return all cases of a journal; it is read again when it has changed."""
    annotation = annotation_of(benchmark)

    def kept(record: Record) -> _Case:
        stage = record.error.stage if record.error else "answer"
        media, urgent = annotation.media(record), annotation.urgent(record)
        return _Case(media, dict(record.artifacts), stage, urgent)

    return {record.id: kept(record) for record in RunDirectory(path).records()}


def _pictures(run: RunDirectory, case: _Case, wanted: Iterable[CasePicture]) -> Iterable[Picture]:
    for one in wanted:
        path = _artifact(run, case.artifacts, one.artifact)
        pixels, rows = _pixels(path) if path else (0, 0)
        if path is None or not pixels:
            continue
        scale = pixels / (one.page_width or pixels)
        width, height = pixels / scale, rows / scale
        changed = _clipped(one.changed, width, height)
        if changed and _area(changed) >= _WIDELY * width * height:
            changed = None
        yield Picture(one.label, path, width, height, _clipped(one.trigger, width, height), changed)


def _clipped(box: PixelEdges | None, width: float, height: float) -> PixelEdges | None:
    if box is None:
        return None
    left, top, right, bottom = box
    right, bottom = min(right, width), min(bottom, height)
    return (left, top, right, bottom) if right > left and bottom > top else None


def _area(box: PixelEdges) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _artifact(run: RunDirectory, artifacts: Mapping[str, str], name: str) -> Path | None:
    """Return a file that a judge kept; None for everything else that a journal may name."""
    kept = artifacts.get(name)
    if not isinstance(kept, str) or len(Path(kept).parts) < 3:  # artifacts/case/file
        return None
    if Path(kept).parts[0] not in ("artifacts", "references") or not is_page_asset(kept):
        return None
    try:
        path = run.artifact(kept)  # follows links, so the target is checked again
        asset = is_page_asset(str(path.relative_to(run.path.resolve())))
        return path if asset and path.is_file() else None
    except (InputError, OSError, ValueError):
        return None


def _pixels(path: Path) -> tuple[int, int]:
    from PIL import Image

    try:
        with Image.open(path, formats=("PNG",)) as opened:
            return opened.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return 0, 0
