"""Our own format: `annotations.json` with `samples/*.png`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from uiproof.benchmarks.grounding.data import (
    ANNOTATIONS,
    BrokenItem,
    Sample,
    annotations_file,
    read_samples,
)
from uiproof.benchmarks.grounding.loaders.base import Screen
from uiproof.benchmarks.grounding.loaders.rows import tags_of
from uiproof.errors import InputError

# What of the metadata results are broken down by.
_TAGS = (
    "group",
    "platform",
    "application",
    "data_type",
    "split",
    "difficulty",
    "theme",
    "language",
    "scale",
    "resolution",
)


class OwnFormat:
    """Data sets that `uiproof generate` writes, and those of the described framework."""

    name = "annotations"

    def recognises(self, path: Path) -> bool:
        """Whether there is an `annotations.json`, or a file of another name, with samples."""
        file = annotations_file(path)
        if file.suffix != ".json" or not _begins_like_an_object(file):
            return False
        try:
            content = json.loads(file.read_bytes())
        except (ValueError, RecursionError):
            # A damaged file of this name is still ours: loading it says what is wrong.
            return file.name == ANNOTATIONS
        return isinstance(content, dict) and isinstance(content.get("samples"), list)

    def screens(self, path: Path) -> Sequence[Screen]:
        """All samples; what cannot be used comes as a screenshot without elements."""
        folder = annotations_file(path).parent
        return list(_screens(path, folder))


def _screens(path: Path, folder: Path) -> Iterator[Screen]:
    for sample in read_samples(path):
        if isinstance(sample, BrokenItem):
            nothing = partial(_find, folder, "")
            yield Screen(sample.id, nothing, None, (), (), broken=(sample,))
        else:
            yield Screen(
                id=sample.id,
                image=partial(_find, folder, sample.image_path),
                size=(sample.width, sample.height),
                elements=sample.elements,
                tags=tuple(_tags(sample, element.metadata) for element in sample.elements),
            )


def _tags(sample: Sample, of_element: Mapping[str, Any]) -> dict[str, str]:
    both = {**sample.metadata, **of_element}
    wanted = {name: both[name] for name in _TAGS if isinstance(both.get(name), str | int | float)}
    return tags_of(**wanted)


def _find(folder: Path, name: str) -> Path:
    path = folder / name.replace("\\", "/")
    if not path.is_file():
        raise InputError(
            f"The image {path} is missing.", remedy="Copy it there, or make the data set again."
        )
    return path


def _begins_like_an_object(file: Path) -> bool:
    try:
        with file.open("rb") as content:
            return content.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    except OSError:
        return False


LOADERS = (OwnFormat(),)
