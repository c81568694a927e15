"""Results as rows, one per case, for spreadsheets, databases and notebooks.

uiproof.write_table(["runs/a", "runs/b"], "results.parquet")
uiproof.dataframe(["runs/a", "runs/b"]).groupby("method")["paper.text"].mean()
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uiproof.engine.rundir import RunDirectory
from uiproof.errors import MissingDependencyError, UsageError
from uiproof.export import check_writable, replacing, replacing_file

if TYPE_CHECKING:
    import pandas as pd

FORMATS = (".jsonl", ".csv", ".parquet")
# Known for every case; scores follow, by their paths, then the seconds of each stage.
_COLUMNS = (
    "run",
    "benchmark",
    "dataset",
    "method",
    "id",
    "status",
    "error",
    "error_stage",
    "error_message",
    "flags",
    "attempts",
)
_BATCH = 4_096

Row = dict[str, Any]


def rows(runs: Iterable[RunDirectory | Path | str]) -> Iterator[Row]:
    """Every case of these runs, in the order of the runs and of their ids.

    Scores are at their paths, such as `paper.text`; None is what was not measured. Of an
    Interaction2Code case there are `verdict.failure` and its like, too.
    """
    for run in map(RunDirectory.of, runs):
        manifest = run.manifest
        about = {name: manifest.get(name) for name in ("benchmark", "dataset", "method")}
        for record in run.records():
            error = record.error
            yield {
                "run": run.path.resolve().name,
                **about,
                "id": record.id,
                "status": record.status,
                "error": error.code if error else None,
                "error_stage": error.stage if error else None,
                "error_message": error.message if error else None,
                "flags": " ".join(record.flags),
                "attempts": record.attempts,
                **_flat(record.scores),
                **_flat(record.details.get("verdict"), "verdict."),
                **_flat(record.seconds, "seconds."),
            }


def write_table(runs: Sequence[RunDirectory | Path | str], target: str | Path) -> Path:
    """Write all cases of these runs to a file: .jsonl, .csv or .parquet, as its name ends.

    Rows are streamed, so memory stays small. A file appears only when it is whole.
    """
    path = Path(target)
    if path.suffix not in FORMATS:
        raise UsageError(
            f"{path.name} does not say which format is wanted.",
            remedy=f"End its name in {', '.join(FORMATS)}.",
        )
    check_writable(path)
    if path.suffix == ".jsonl":
        with replacing(path) as stream:
            for row in rows(runs):
                stream.write(json.dumps(row, allow_nan=False) + "\n")
    elif path.suffix == ".csv":
        columns = _columns(runs)
        with replacing(path) as stream:
            writer = csv.DictWriter(stream, columns, lineterminator="\n")
            writer.writeheader()
            for row in rows(runs):
                writer.writerow({name: _cell(value) for name, value in row.items()})
    else:
        _write_parquet(runs, path)
    return path


def dataframe(runs: Sequence[RunDirectory | Path | str]) -> pd.DataFrame:
    """All cases of these runs as a pandas DataFrame, one row each."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "Data frames need pandas.", remedy="pip install 'uiproof[pandas]'"
        ) from error
    return pd.DataFrame(list(rows(runs)), columns=list(_columns(runs)))


def _write_parquet(runs: Sequence[RunDirectory | Path | str], path: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow.", remedy="pip install 'uiproof[parquet]'"
        ) from error
    columns = _columns(runs)
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in columns.items()])
    remaining = rows(runs)
    with replacing_file(path) as partial, pq.ParquetWriter(partial, schema) as writer:
        while batch := list(islice(remaining, _BATCH)):
            for row in batch:
                row.update((name, str(row[name])) for name in row if _is_mixed(row, name, columns))
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _columns(runs: Iterable[RunDirectory | Path | str]) -> dict[str, str]:
    """The columns that some row has, with their types; those of all benchmarks come first."""
    found: dict[str, str] = dict.fromkeys(_COLUMNS, "string") | {"attempts": "int64"}
    for row in rows(runs):
        for name, value in row.items():
            if name in _COLUMNS:
                continue
            kind, before = _kind(value), found.get(name, "unknown")
            if before == "unknown":
                found[name] = kind
            elif kind not in ("unknown", before):
                found[name] = "string"  # one column, two types: only text can hold both
    return {name: "float64" if kind == "unknown" else kind for name, kind in found.items()}


def _is_mixed(row: Row, name: str, columns: Mapping[str, str]) -> bool:
    return columns[name] == "string" and row[name] is not None and not isinstance(row[name], str)


def _kind(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "bool_"
    return "float64" if isinstance(value, (int, float)) else "string"


def _flat(values: Any, prefix: str = "") -> Row:
    """Nested scores by their paths; lists as JSON, because a table has no room for them."""
    flat: Row = {}
    for name, value in values.items() if isinstance(values, Mapping) else ():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif value is None or isinstance(value, (bool, str)):
            flat[prefix + name] = value
        elif isinstance(value, (int, float)):
            flat[prefix + name] = float(value)
        else:
            flat[prefix + name] = json.dumps(value)
    return flat


def _cell(value: Any) -> Any:
    """A value in a CSV file. What spreadsheets would run as a formula stays text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value
