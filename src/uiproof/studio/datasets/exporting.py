"""Files of an export, into a folder or a zip file.

export_dataset(store, Path("screenshots"), Path("corrected.zip"))
"""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from uiproof.engine.storage import access
from uiproof.errors import UsageError
from uiproof.studio.datasets.pictures import SUFFIXES
from uiproof.studio.store import Store

_PACKED = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".zip", ".woff2", ".mp4"}
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class File:
    """A file to write: its place in the export, and where its content is until the next one."""

    name: str  # with slashes
    source: Path


def export_dataset(store: Store, path: Path, out: Path, *, only_done: bool = False) -> int:
    """Write a data set with its corrections, in the format it is published in; returns the files.

    `path` names the data set as `uiproof studio --dataset` does. Boxes are written in our own
    grounding format, interactions in the published layout. `out` becomes a zip file if it is called
    so, else a folder, which must be empty. The data set itself is only read.
    """
    from uiproof.studio.datasets.boxes import exported_boxes
    from uiproof.studio.datasets.corrections import exported_pages
    from uiproof.studio.datasets.sets import ScreenshotSet, open_dataset

    data_set = open_dataset(path)
    if isinstance(data_set, ScreenshotSet):
        files = exported_boxes(store, data_set, only_done=only_done)
    else:
        files = exported_pages(store, data_set, only_done=only_done)
    return write_files(files, out)


def write_files(files: Iterable[File], out: Path) -> int:
    """Write files into a zip file, or into an empty or new folder; returns how many."""
    with access(out, "written"):
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.suffix.lower() == ".zip":
            return _write_zip(files, out)
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(f"{out} is not an empty folder.", remedy="Name another one.")
        count = 0
        for file in files:
            target = out / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.source, target)
            count += 1
        return count


def _write_zip(files: Iterable[File], out: Path) -> int:
    partial = out.with_name(f".{out.name}.tmp")
    count = 0
    try:
        # Times of files may be before 1980, which zip files do not know.
        with zipfile.ZipFile(partial, "w", strict_timestamps=False) as archive:
            for file in files:
                packed = PurePosixPath(file.name).suffix.lower() in _PACKED
                how = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
                archive.write(file.source, file.name, how)
                count += 1
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)
    return count


def safe_name(name: str, taken: set[str]) -> str:
    """A name for a file on any system, unlike those that were given before."""
    base = (
        re.sub(r"[^\w.-]+", "_", without_suffix(name)).strip("._")[:_LONGEST_NAME] or "screenshot"
    )
    unused, count = base, 1
    while unused.lower() in taken:
        count += 1
        unused = f"{base}-{count}"
    taken.add(unused.lower())
    return unused


def without_suffix(name: str) -> str:
    """The name of a picture without what says that it is one."""
    return name.rpartition(".")[0] if name.lower().endswith(SUFFIXES) else name
