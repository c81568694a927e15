"""What trackers are told about a run, the same for all of them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uiproof.disclosure import told, told_manifest
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import UsageError
from uiproof.models.names import redacted
from uiproof.remote.urls import without_secrets
from uiproof.tabular import columns, rows

# What makes a run this run. It stays the same when the run is continued, moved or renamed.
_IDENTITY = (
    *("format", "uiproof", "benchmark", "dataset_key", "method", "settings", "fingerprint"),
    *("shard", "created"),
)
# What may be different when a run is continued.
_MAY_CHANGE = ("limit", "cases", "executor", "workers")
_TOTALS = ("seconds", "timing", "usage")  # parts of a summary that are sums, not means
_LONGEST_NAME = 200
_LONGEST_TEXT = 500

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Facts:
    """One run as a tracker is told about it; nothing in it is secret or a path."""

    id: str  # the same whenever the same run is tracked
    name: str
    benchmark: str
    parameters: Mapping[str, Value]  # never change
    state: Mapping[str, Value]  # may change when the run is continued
    metrics: Mapping[str, float]  # finite
    not_measured: tuple[str, ...]  # what the summary has no mean for
    columns: tuple[str, ...]  # of the table of cases


def facts_of(run: RunDirectory) -> Facts:
    """Read a run."""
    raw, manifest, summary = run.manifest, told_manifest(run), run.summary
    identity = json.dumps({name: raw.get(name) for name in _IDENTITY}, sort_keys=True)
    state = {name: manifest.pop(name) for name in _MAY_CHANGE}
    state["complete"] = bool(summary.get("complete", True))
    found = dict(_measured(summary))
    return Facts(
        id=f"uiproof-{hashlib.sha256(identity.encode()).hexdigest()[:16]}",
        name=_text(f"{manifest['dataset']} · {manifest['method']}", 120),
        benchmark=str(manifest["benchmark"]),
        parameters=_named(_flat(manifest)),
        state=_named(_flat(state)),
        metrics=_named((path, value) for path, value in found.items() if value is not None),
        not_measured=tuple(_name(path) for path, value in found.items() if value is None),
        columns=tuple(columns([run])),
    )


def cases_of(run: RunDirectory, names: Sequence[str]) -> Iterator[list[Any]]:
    """The table of cases, row by row, None for what was not measured."""
    for row in rows([run]):
        yield [_cell(row.get(name)) for name in names]


def opened(
    runs: Sequence[RunDirectory | Path | str], *, pictures: bool = False
) -> list[RunDirectory]:
    """The runs that were named, those at URLs only with `pictures` where a report needs them."""
    if not runs:
        raise UsageError("There is no run to track.", remedy="Name at least one run directory.")
    return [RunDirectory.of(run, pictures=pictures) for run in runs]


def said(error: BaseException) -> str:
    """What the library of a tracker says is wrong: one line, without passwords and keys."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return redacted(without_secrets(lines[0][:400]))


def _measured(summary: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Every mean by its path with the ends of its interval, then counts, seconds and costs."""
    yield from _means(summary.get("scores") or {}, "")
    for part in ("n", "failed"):
        yield part, _number(summary.get(part))
    for part, value in summary.items():
        if part in _TOTALS:
            yield from _numbers(value, part)
        elif part != "scores" and isinstance(value, Mapping):
            yield from (
                (path, mean) for path, mean in _means({part: value}, "") if mean is not None
            )


def _means(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float | None]]:
    for name, value in values.items():
        path = f"{prefix}{name}"
        if value is None:
            yield path, None
        elif isinstance(value, Mapping) and "mean" in value:
            yield path, _number(value["mean"])
            for end in ("low", "high"):
                if (bound := _number(value.get(end))) is not None:
                    yield f"{path}.{end}", bound
        elif isinstance(value, Mapping):
            yield from _means(value, f"{path}.")


def _numbers(value: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _numbers(item, f"{path}.{name}")
    elif (number := _number(value)) is not None:
        yield path, number


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Value]]:
    for name, value in values.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}.")
        elif isinstance(value, str):
            yield path, _text(value)
        elif isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            yield path, value
        elif value is not None:
            yield path, _text(json.dumps(value))


def _named(pairs: Any) -> dict[str, Any]:
    """The pairs under names that every tracker takes; no two become one."""
    found: dict[str, Any] = {}
    for path, value in pairs:
        name = wanted = _name(path)
        number = 2
        while name in found:
            name, number = f"{wanted}_{number}", number + 1
        found[name] = value
    return found


def _name(path: str) -> str:
    """A path as a name: a tag of a data set can be anything."""
    return re.sub(r"[^\w.\- ]+", "_", path, flags=re.ASCII).strip(" .")[:_LONGEST_NAME] or "_"


def _text(text: str, longest: int = _LONGEST_TEXT) -> str:
    # A file name need not be valid UTF-8, and a tracker needs it to be.
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return _text(told(value), 2_000)
    return None if isinstance(value, float) and not math.isfinite(value) else value
