"""Published data sets as they lie on disk, one module each.

    loader = find_loader(Path("ScreenSpot-Pro"))
    for screen in loader.screens(Path("ScreenSpot-Pro")):
        ...

A folder means the whole set; one of its annotation files means that part alone.
"""

from __future__ import annotations

from pathlib import Path

from uiproof.benchmarks.grounding.loaders import (
    cagui,
    mmbench_gui,
    osworld_g,
    own,
    screenspot,
    screenspot_pro,
    showdown,
    ui_vision,
    webclick,
)
from uiproof.benchmarks.grounding.loaders.base import Loader, Screen

LOADERS: tuple[Loader, ...] = (
    *own.LOADERS,
    *screenspot.LOADERS,
    *screenspot_pro.LOADERS,
    *osworld_g.LOADERS,
    *ui_vision.LOADERS,
    *mmbench_gui.LOADERS,
    *showdown.LOADERS,
    *webclick.LOADERS,
    *cagui.LOADERS,
)


def find_loader(path: Path) -> Loader | None:
    """The loader that knows a folder or file, or None."""
    return next((loader for loader in LOADERS if loader.recognises(path)), None)


def data_folder(path: Path) -> Path:
    """Where the data is: the path itself, or the current snapshot of a Hugging Face cache."""
    snapshots, reference = path / "snapshots", path / "refs" / "main"
    if not snapshots.is_dir() or not (path / "blobs").is_dir():
        return path
    if reference.is_file():
        named = snapshots / reference.read_text("utf-8").strip()
        if named.is_dir():
            return named
    found = [entry for entry in snapshots.iterdir() if entry.is_dir()]
    return max(found, key=lambda entry: entry.stat().st_mtime, default=path)


__all__ = ["LOADERS", "Loader", "Screen", "data_folder", "find_loader"]
