"""Sets that are published as parquet files, with the screenshots inside."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from uiproof.benchmarks.grounding.loaders.images import store, suffix_of, suffixes, unpacked
from uiproof.benchmarks.grounding.loaders.rows import Entry
from uiproof.errors import InputError, MissingDependencyError

IMAGE = "image"  # the column with the pictures
_NAMES = ("img_filename", "file_name", "image_path", "filename")
_AT_A_TIME = 4  # pictures in memory


def columns(file: Path) -> frozenset[str]:
    """The names of the columns; none where it is no parquet file."""
    try:
        return frozenset(_open(file).schema_arrow.names)
    except InputError:
        return frozenset()


def entries(file: Path) -> Iterator[Entry]:
    """The rows without their pictures; `image_name` says which rows share one."""
    parquet = _open(file)
    wanted = [name for name in parquet.schema_arrow.names if name != IMAGE]
    number = 0
    for batch in parquet.iter_batches(columns=wanted):
        for entry in batch.to_pylist():
            yield {**entry, "image_name": _image_name(entry, file, number), "number": number}
            number += 1


class ParquetImages:
    """The pictures of a parquet file: one group of rows is unpacked when one of its is needed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._folder = unpacked(file)

    def __call__(self, name: str) -> Path:
        """The picture with this name, or `InputError`."""
        if found := self._on_disk(name):
            return found
        group = self._groups.get(name)
        if group is not None:
            self._unpack(group)
            if found := self._on_disk(name):
                return found
        raise InputError(
            f"The image {name} of {self._file} is missing.", remedy="Download the file again."
        )

    def _on_disk(self, name: str) -> Path | None:
        stem = sha256(name.encode()).hexdigest()[:16]
        candidates = (self._folder / f"{stem}{suffix}" for suffix in suffixes())
        return next((path for path in candidates if path.is_file()), None)

    @cached_property
    def _names(self) -> list[str]:
        return [entry["image_name"] for entry in entries(self._file)]

    @cached_property
    def _groups(self) -> dict[str, int]:
        """The first group of rows that holds a picture."""
        found: dict[str, int] = {}
        for group, (start, count) in enumerate(self._spans):
            for name in self._names[start : start + count]:
                found.setdefault(name, group)
        return found

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        metadata = _open(self._file).metadata
        spans, start = [], 0
        for group in range(metadata.num_row_groups):
            count = metadata.row_group(group).num_rows
            spans.append((start, count))
            start += count
        return spans

    def _unpack(self, group: int) -> None:
        number = self._spans[group][0]
        # Without buffering ahead, a group of large screenshots does not fill the memory.
        parquet = _open(self._file, pre_buffer=False, buffer_size=1 << 20)
        for batch in parquet.iter_batches(_AT_A_TIME, row_groups=[group], columns=[IMAGE]):
            for picture in batch.column(0).to_pylist():
                name = self._names[number]
                number += 1
                content = picture.get("bytes") if isinstance(picture, dict) else picture
                if not isinstance(content, bytes) or self._on_disk(name):
                    continue
                stem = sha256(name.encode()).hexdigest()[:16]
                try:
                    suffix = suffix_of(content)
                except InputError:
                    continue  # it will be missing where it is asked for
                store(self._folder / f"{stem}{suffix}", content)


def _image_name(entry: Entry, file: Path, number: int) -> str:
    for key in _NAMES:
        value = entry.get(key)
        if isinstance(value, str) and value:
            return value
    return f"{file.stem}-{number:05d}"  # a set may be split into several files


def _open(file: Path, **options: Any) -> Any:
    try:
        return _library().ParquetFile(file, **options)
    except (OSError, ValueError) as error:  # what pyarrow raises for other files is a ValueError
        raise InputError(
            f"{file} is not a readable parquet file: {error}.", remedy="Download the file again."
        ) from error


def _library() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow.", remedy="pip install 'uiproof[parquet]'"
        ) from error
    return pyarrow.parquet
