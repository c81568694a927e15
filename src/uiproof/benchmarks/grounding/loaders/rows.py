"""Published annotation files as rows: JSON lists, JSON lines and CSV."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from uiproof.benchmarks.grounding.data import ElementType
from uiproof.engine.storage import access
from uiproof.errors import InputError

Entry = Mapping[str, Any]
Size = tuple[int, int]  # width, height in pixels

_DOWNLOAD_AGAIN = "Download the file again, or correct it."
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# What published sets call the kinds of controls that are known here.
_TYPES = {kind.value: kind for kind in ElementType} | {
    "label": ElementType.TEXT,
    "dropdown menu": ElementType.DROPDOWN,
    "input box": ElementType.TEXT_FIELD,
    "search bar": ElementType.TEXT_FIELD,
    "text field": ElementType.TEXT_FIELD,
    "text field/input box": ElementType.TEXT_FIELD,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One item of a published set, as it is written there."""

    id: str
    image: str  # as annotated: rows with the same image share the screenshot
    instruction: str
    numbers: tuple[float, ...]  # four of a box, or x, y, x, y … of a polygon
    kind: Literal["box", "polygon", "refusal"] = "box"
    size: Size | None = None  # of the image, where it is annotated
    text: str = ""
    element_type: ElementType = ElementType.UNKNOWN
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BadRow:
    """An item that cannot be understood."""

    id: str
    error: InputError
    image: str = "unreadable"


def entries(file: Path) -> Iterator[Entry]:
    """The entries of an annotation file; `InputError` where it is not what its name says."""
    with access(file, "read"):
        if file.suffix == ".csv":
            yield from _csv_entries(file)
        elif file.suffix == ".jsonl":
            yield from _json_lines(file)
        else:
            yield from _json_list(file)


def first_keys(file: Path) -> frozenset[str]:
    """The keys of the first entries, by which a set is recognised; none for other files."""
    try:
        status = file.stat()
    except OSError:
        return frozenset()
    return _first_keys(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _first_keys(file: Path, _changed: int, _size: int) -> frozenset[str]:
    try:
        return frozenset().union(*islice(entries(file), 20))  # a single one may be damaged
    except InputError:
        return frozenset()


def text_of(entry: Entry, *keys: str) -> str:
    """The first of these keys that holds a text; `InputError` where none does."""
    for key in keys:
        value = entry.get(key)
        if isinstance(value, str) and value.strip():
            return value
    raise InputError(f"There is no text in `{'` or `'.join(keys)}`.", remedy=_DOWNLOAD_AGAIN)


def numbers_of(value: Any) -> tuple[float, ...]:
    """The numbers of a list, or of a text such as `<1, 2, 3, 4>`."""
    if isinstance(value, str):
        return tuple(map(float, _NUMBER.findall(value)))
    if isinstance(value, list | tuple):
        good = [n for n in value if isinstance(n, int | float) and not isinstance(n, bool)]
        if len(good) == len(value) and all(map(isfinite, good)):
            return tuple(map(float, good))
    raise InputError(f"These are not coordinates: {value!r}.", remedy=_DOWNLOAD_AGAIN)


def size_of(value: Any) -> Size | None:
    """The size of an image, or None where it is not annotated."""
    if value is None:
        return None
    numbers = numbers_of(value)
    if len(numbers) != 2 or min(numbers) < 1:
        raise InputError(f"This is not the size of an image: {value!r}.", remedy=_DOWNLOAD_AGAIN)
    return round(numbers[0]), round(numbers[1])


def type_of(*names: Any) -> ElementType:
    """The kind of control, where all names mean the same one."""
    kinds = {_TYPES.get(str(name).lower(), ElementType.UNKNOWN) for name in names}
    return kinds.pop() if len(kinds) == 1 else ElementType.UNKNOWN


def tags_of(**tags: Any) -> dict[str, str]:
    """Tags without those that are empty."""
    return {name: str(value) for name, value in tags.items() if value not in (None, "")}


def _json_list(file: Path) -> Iterator[Entry]:
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON: {error}.", remedy=_hint(file)) from error
    if not isinstance(content, list):
        raise InputError(f"{file} is not a list of items.", remedy=_DOWNLOAD_AGAIN)
    for entry in content:
        yield entry if isinstance(entry, dict) else {}


def _json_lines(file: Path) -> Iterator[Entry]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(
                    f"{file}, line {number} is not JSON: {error}.", remedy=_hint(file)
                ) from error
            yield entry if isinstance(entry, dict) else {}


def _csv_entries(file: Path) -> Iterator[Entry]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            yield from csv.DictReader(lines)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not CSV: {error}.", remedy=_DOWNLOAD_AGAIN) from error


def _hint(file: Path) -> str:
    """What to do about a file; large files that git has not fetched are a common trap."""
    with file.open("rb") as content:
        if content.read(40).startswith(b"version https://git-lfs"):
            return "It is only a pointer of git LFS: run `git lfs pull` in that folder."
    return _DOWNLOAD_AGAIN
