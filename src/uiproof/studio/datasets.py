"""The data sets that a studio opens, their pictures for browsers, and exports of corrections.

    library = Library((Path("screenshots"), Path("pages")))
    for data_set in library.datasets():
        print(data_set.id, data_set.editor.name, data_set.editor.format)
    export_dataset(store, Path("screenshots"), Path("corrected.zip"))

A benchmark opens data sets with its `DatasetEditor`. They are only ever read: corrections are in
the studio's file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import TYPE_CHECKING

from uiproof.benchmark import Benchmark
from uiproof.dataset_editor import DatasetEditor, ExportFile
from uiproof.errors import InputError, UiproofError, UsageError
from uiproof.files import access, replacing_file
from uiproof.registry import benchmarks, made_datasets, resolve_dataset
from uiproof.remote.mirror import name_of
from uiproof.studio.store import Store, edits

if TYPE_CHECKING:
    from uiproof.vision.images import Rgb

THUMBNAIL = (400, 250)  # pixels; twice what is shown, for sharp screens
_MOST_PIXELS = 40_000_000  # that a browser shows as they are
_LONGEST_SIDE = 30_000
_QUALITY = 80
_MOST_FOLDERS = 200  # that are suggested
_FRESH_SECONDS = 2.0  # a page asks for all of its pictures at once
_COMPRESSED = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".zip", ".woff2", ".mp4"}


@dataclass(frozen=True, slots=True)
class OpenDataset:
    """A data set with its editor, or the reason why it cannot be opened."""

    id: str
    name: str
    result: DatasetEditor | UiproofError

    @property
    def editor(self) -> DatasetEditor:
        """Return the editor; raise the error if the data set cannot be opened."""
        if isinstance(self.result, UiproofError):
            raise self.result
        return self.result

    @property
    def error(self) -> UiproofError | None:
        """Return why it cannot be opened."""
        return self.result if isinstance(self.result, UiproofError) else None


class Library:
    """The data sets of a studio, read again when they change."""

    def __init__(
        self, paths: Sequence[Path], opened_later: Callable[[], Sequence[Path]] = tuple
    ) -> None:
        self._named, self._opened_later = tuple(paths), opened_later
        self._opened: dict[Path, tuple[OpenDataset, float, object]] = {}
        self._id = cache(dataset_id)

    def closable(self, id: str) -> Path | None:
        """Return the path of a data set that was opened in the page; None for all others."""
        later = (path for path in self._opened_later() if path not in self._named)
        return next((path for path in later if self._id(path) == id), None)

    def datasets(self) -> list[OpenDataset]:
        """Return all data sets in the order they were named."""
        return [self._open(path) for path in dict.fromkeys((*self._named, *self._opened_later()))]

    def get(self, id: str) -> OpenDataset:
        """Return the data set with this id; raise `InputError` if there is none to open."""
        for path in (*self._named, *self._opened_later()):
            if self._id(path) == id:
                found = self._open(path)
                if found.error is not None:
                    raise found.error
                return found
        raise InputError(
            "There is no such data set.",
            remedy="Open it under Data sets, or name it with --dataset when you start the studio.",
        )

    def _open(self, path: Path) -> OpenDataset:
        if path in self._opened:
            known, at, stamp = self._opened[path]
            fresh = monotonic() - at < _FRESH_SECONDS
            if fresh or (stamp is not None and stamp == known.editor.stamp()):
                return known
        result: DatasetEditor | UiproofError
        try:
            result = open_dataset(path)
            stamp = result.stamp()
        except UiproofError as error:
            result, stamp = error, None
        found = OpenDataset(self._id(path), path.name, result)
        self._opened[path] = found, monotonic(), stamp
        return found


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A data set that the registry knows."""

    name: str
    benchmark: str
    path: Path | None  # None: it has to be fetched first
    editable: bool  # whether its benchmark has an editor


def known_datasets() -> list[KnownDataset]:
    """Return bundled and published data sets, and the folders in EVAL_DATASETS_DIR."""
    from uiproof import hub

    published = [one for one in hub.catalogue().values() if one.kind == "dataset"]
    made, found = made_datasets(), []
    for benchmark in benchmarks().values():
        named: dict[str, Path | None] = dict(benchmark.bundled)
        named |= {path.name: path for path in made if benchmark.recognises(path)}
        mine = (one.name for one in published if one.benchmark == benchmark.name)
        named |= {name: hub.local_path(name) for name in mine}
        editable = type(benchmark).editor is not Benchmark.editor
        found += [KnownDataset(n, benchmark.name, path, editable) for n, path in named.items()]
    return found


def folders_here() -> list[str]:
    """Return the folders in the current one, as suggestions."""
    try:
        found = [path.name for path in Path.cwd().iterdir() if path.is_dir()]
    except OSError:
        return []
    return sorted(name for name in found if not name.startswith((".", "_")))[:_MOST_FOLDERS]


def open_dataset(path: Path) -> DatasetEditor:
    """Open a data set by its path or name; raise `InputError` if no benchmark can edit it."""
    where = _located(path)
    # A benchmark may also open files that are not one of its data sets, such as screenshots.
    for benchmark in sorted(benchmarks().values(), key=lambda one: not one.recognises(where)):
        editor = benchmark.editor(where)
        if editor is not None:
            editor.name = path.name
            return editor
    raise InputError(
        f"There is nothing to annotate in {where}.",
        remedy="Name a folder of screenshots (PNG, JPEG, WebP), or a data set that a benchmark "
        "can edit.",
    )


def dataset_id(path: Path) -> str:
    """Return a short name for addresses and the studio's file, made from where the data set is.

    A data set from a URL keeps its id wherever its copy is.
    """
    try:
        where = name_of(_located(path))
    except UiproofError:
        where = str(path.absolute())
    return hashlib.sha256(os.fsencode(where)).hexdigest()[:10]


def _located(path: Path) -> Path:
    """Return where a data set is: a path, or a name that `uiproof run --dataset` knows too."""
    if path.expanduser().exists():
        return path.expanduser().absolute()
    return resolve_dataset(str(path))[1]


def export_dataset(store: Store, path: Path, out: Path, *, only_done: bool = False) -> int:
    """Write a data set with its corrections; return the number of files.

    `path` names the data set as `uiproof studio --dataset` does. `out` becomes a zip file if it is
    called so, else a folder, which must be empty.
    """
    return write_export(store, dataset_id(path), open_dataset(path), out, only_done=only_done)


def write_export(
    store: Store, id: str, editor: DatasetEditor, out: Path, *, only_done: bool = False
) -> int:
    """Write an open data set with its corrections; return the number of files."""
    states = {name: edit.content for name, edit in edits(store, id).items()}
    return _write(editor.export(states, only_done=only_done), out)


def _write(files: Iterable[ExportFile], out: Path) -> int:
    count = 0
    with access(out, "written"):
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.suffix.lower() == ".zip":
            # Zip files have no times before 1980.
            with (
                replacing_file(out) as partial,
                zipfile.ZipFile(partial, "w", strict_timestamps=False) as archive,
            ):
                for file in files:
                    stored = PurePosixPath(file.name).suffix.lower() in _COMPRESSED
                    how = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
                    archive.write(file.source, file.name, how)
                    count += 1
            return count
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(f"{out} is not an empty folder.", remedy="Name another one.")
        for file in files:
            target = out / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.source, target)
            count += 1
    return count


def picture_version(picture: Path) -> str:
    """Return a text that changes whenever the file does."""
    with access(picture, "read"):
        state = picture.stat()
    identity = f"{picture}\0{state.st_mtime_ns}\0{state.st_size}"
    return hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:20]


def is_huge(size: tuple[int, int]) -> bool:
    """Return whether browsers get a picture of this size scaled down."""
    return size[0] * size[1] > _MOST_PIXELS or max(size) > _LONGEST_SIDE


def scaled_down(picture: Path) -> bytes:
    """Return a huge picture as a JPEG that a browser can show."""
    from uiproof.vision.images import read

    rgb = read(picture)
    height, width = rgb.shape[:2]
    share = min(1.0, (_MOST_PIXELS / (width * height)) ** 0.5, _LONGEST_SIDE / max(width, height))
    return _jpeg(rgb, (max(int(width * share), 1), max(int(height * share), 1)))


def thumbnail(picture: Path) -> bytes:
    """Return the upper part of a picture as a small JPEG."""
    from uiproof.vision.images import read

    rgb, (wide, high) = read(picture), THUMBNAIL
    return _jpeg(rgb[: max(rgb.shape[1] * high // wide, 1)], THUMBNAIL)


def _jpeg(rgb: Rgb, size: tuple[int, int]) -> bytes:
    from PIL.Image import fromarray

    image, out = fromarray(rgb), BytesIO()
    image.thumbnail(size, reducing_gap=2.0)
    image.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
