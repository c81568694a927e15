"""From a file to its entries: JSON, one JSON object per line, or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uiproof.benchmarks.grounding.predictions.values import number
from uiproof.engine.storage import access
from uiproof.errors import InputError

REMEDY = (
    "Known are the result files of ScreenSpot-Pro's script and its copies (`details`), "
    "OmniParser's log (JSON lines), zoom-consistency captures and Showdown's CSV."
)
_LISTS = ("details", "results", "predictions", "samples", "data", "items")
_LONGEST_FIELD = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a file; what is no object will be a failed case."""

    path: Path
    kind: str  # "json", "lines" or "csv"
    values: list[Any]
    published: float | None = None  # the accuracy that the file itself states

    def where(self, number_: int) -> str:
        """How messages name the entry with this number, counted from 1."""
        return f"{self.path}, {'line' if self.kind == 'lines' else 'item'} {number_}"


def read_entries(path: Path) -> Entries:
    """The entries of a prediction file, of whatever kind it is."""
    if path.is_dir() or not path.exists():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"{path} {what}.", remedy="Give a file of predictions.")
    with access(path, "read"):
        content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text in UTF-8: {error}.", remedy=REMEDY) from error
    if not text:
        raise InputError(f"{path} is empty.", remedy=REMEDY)
    if path.suffix.lower() == ".csv" or text[0] not in "[{":
        return Entries(path, "csv", read_rows(path, text))
    return _from_json(path, text)


def read_rows(path: Path, text: str) -> list[Any]:
    """The rows of a CSV file with a header."""
    before = csv.field_size_limit(_LONGEST_FIELD)  # answers of models are in it
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""))
        rows: list[Any] = list(reader)
        columns = reader.fieldnames or []
    except csv.Error as error:
        raise InputError(f"{path} is not CSV: {error}.", remedy=REMEDY) from error
    finally:
        csv.field_size_limit(before)
    if len(columns) < 2:
        raise InputError(f"{path} is neither JSON nor CSV.", remedy=REMEDY)
    if not rows:
        raise InputError(f"{path} has a header and no rows.", remedy=REMEDY)
    return rows


def _from_json(path: Path, text: str) -> Entries:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = _lines(text)
        if lines is None:
            raise InputError(f"{path} is not JSON: {error}.", remedy=REMEDY) from error
        return Entries(path, "lines", lines)
    if isinstance(content, Mapping) and "bbox" in content:
        return Entries(path, "lines", [content])
    values = _list_in(content)
    if values is None:
        why = "only totals, no predictions" if _has_totals(content) else "no list of predictions"
        raise InputError(f"{path} holds {why}.", remedy=REMEDY)
    if not values:
        raise InputError(f"{path} holds an empty list.", remedy=REMEDY)
    return Entries(path, "json", values, _published(content))


def _lines(text: str) -> list[Any] | None:
    """One value per line; a broken line becomes its error. None if the first line is no object."""
    values: list[Any] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            value = f"not JSON: {error}"
        if not values and not isinstance(value, Mapping):
            return None
        values.append(value)
    return values


def _list_in(content: Any, depth: int = 2) -> list[Any] | None:
    if isinstance(content, list):
        return content
    if not isinstance(content, Mapping) or depth == 0:
        return None
    for key in _LISTS:
        found = _list_in(content.get(key), depth - 1)
        if found is not None:
            return found
    return None


def _has_totals(content: Any) -> bool:
    return isinstance(content, Mapping) and bool({"results", "metrics", "overall"} & set(content))


def _published(content: Any) -> float | None:
    for keys in (("metrics",), ("results", "metrics")):
        inner = content
        for key in keys:
            inner = inner.get(key) if isinstance(inner, Mapping) else None
        for total in ("overall", "overall_simple"):
            overall = inner.get(total) if isinstance(inner, Mapping) else None
            if isinstance(overall, Mapping):
                return number(overall.get("action_acc"))
    return None
