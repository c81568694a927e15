"""Runs for other programs: JSON, tables of cases, data frames."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from uiproof.engine.rundir import RunDirectory
from uiproof.engine.summary import UsageTotals
from uiproof.errors import InputError, MissingDependencyError, UsageError
from uiproof.files import obstacle, replacing, replacing_file
from uiproof.remote.mirror import shown
from uiproof.remote.store import refuse_url

if TYPE_CHECKING:
    import pandas as pd

    from uiproof.benchmark import Record
    from uiproof.dry_run import CostEstimate
    from uiproof.engine.rundir import RunDirectory


_REMEDY = "Name another file to write to."


def write_json(run: RunDirectory, target: str | Path | TextIO, **more: Any) -> None:
    """Write `{"benchmark", "summary", "cases": [{"id", "status", "error", "scores", "flags"}]}`.

    Cases are streamed from the journal, so memory stays small however many there are. A file
    appears only when it is complete; an earlier one stays until then. `more` is written beside the
    summary.
    """
    _write(_lines(run, more), target)


def write_comparison(
    runs: Sequence[RunDirectory | Path | str], target: str | Path | TextIO, **more: Any
) -> None:
    """Write `{"benchmark", "runs": [{"method", "n", "failed", "metrics": {key: {"mean", …}}}]}`.

    Runs are ordered as in the table, best first; what was not measured has null as its mean. `more`
    is written beside them.
    """
    from uiproof.leaderboard import leaderboard

    board = leaderboard(runs)
    rows = [
        {
            "method": row.name,
            "dataset": row.dataset,
            "assisted": row.assisted,
            "complete": row.complete,
            "n": row.n,
            "clusters": row.clusters,
            "failed": row.failed,
            "usage": row.usage,
            "metrics": {
                metric.key: asdict(cell)
                for metric, cell in zip(board.metrics, row.cells, strict=True)
            },
        }
        for row in board.ranked()
    ]
    write_document({"benchmark": board.benchmark, "runs": rows, **more}, target)


def write_plans(plans: Sequence[CostEstimate], target: str | Path | TextIO) -> None:
    """Write `{"plans": [{"method", "requests", "input_tokens", "cost", …}]}`."""
    content = [{**asdict(one), "directory": shown(one.directory)} for one in plans]
    write_document({"plans": content}, target)


def write_document(content: Any, target: str | Path | TextIO, *, indent: int | None = None) -> None:
    """Write JSON to a file, which appears only when it is whole, or to a stream."""
    _write([json.dumps(content, indent=indent, allow_nan=False), "\n"], target)


def check_writable(target: str | Path, *, makes_folders: bool = False) -> None:
    """Raise `InputError` where a file could not be written, without touching anything.

    Raises `UsageError` for a URL. For use before long work whose result goes there.
    """
    refuse_url(target, "written")
    target = Path(target)
    try:
        problem = obstacle(target, makes_folders)
    except OSError as error:
        problem = str(error.strerror)
    if problem:
        raise InputError(f"{target} cannot be written: {problem}.", remedy=_REMEDY)


def _write(lines: Iterator[str] | list[str], target: str | Path | TextIO) -> None:
    if isinstance(target, (str, Path)):
        with replacing(target) as stream:
            stream.writelines(lines)
    else:
        target.writelines(lines)


def _lines(run: RunDirectory, more: Mapping[str, Any]) -> Iterator[str]:
    yield f'{{"benchmark": {_json(run.manifest["benchmark"])},\n'
    for name, value in more.items():
        yield f"{_json(name)}: {_json(value)},\n"
    yield f'"summary": {_json(run.summary)},\n"cases": ['
    separator = "\n"
    for record in run.records():
        yield f"{separator}{_json(_case(record))}"
        separator = ",\n"
    yield "\n]}\n"


def _case(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "status": record.status,
        "error": asdict(record.error) if record.error else None,
        "scores": record.scores,
        **({"verdict": verdict} if (verdict := record.details.get("verdict")) else {}),
        "flags": list(record.flags),
        "seconds": record.seconds,
    }


def _json(value: Any) -> str:
    # NaN is not JSON: what was not measured has to be null before it gets here. Escapes, because
    # ids are file names and those need not be valid UTF-8.
    return json.dumps(value, allow_nan=False)


FORMATS = (".jsonl", ".csv", ".parquet")
# Known for every case; scores follow, by their paths, then the seconds of each stage.
_COLUMNS = (
    *("run", "benchmark", "dataset", "method", "id", "status"),
    *("error", "error_stage", "error_message", "flags"),
    *("attempts", "sample", "input_tokens", "output_tokens", "cost"),
)
_NUMBERS = dict.fromkeys(_COLUMNS[10:14], "int64") | {"cost": "float64"}
_BATCH = 4_096

Row = dict[str, Any]


def rows(runs: Iterable[RunDirectory | Path | str]) -> Iterator[Row]:
    """Yield every case of these runs, in the order of the runs and of their ids.

    Scores are at their paths, such as `paper.text`; None is what was not measured, and tokens and
    cost where no model was asked. `cost` is in US dollars, as the answers cost when they were made,
    also those from the cache. A `verdict` in the details has a column, or one for each of its parts
    (`verdict.failure`). Text that is not valid Unicode, as in names of files, is escaped.
    """
    for run in _opened(runs):
        manifest = run.manifest
        about = {name: manifest.get(name) for name in ("benchmark", "dataset", "method")}
        for record in run.records():
            error, verdict = record.error, record.details.get("verdict")
            row = {
                "run": run.path.resolve().name,
                **about,
                "id": record.id,
                "status": record.status,
                "error": error.code if error else None,
                "error_stage": error.stage if error else None,
                "error_message": error.message if error else None,
                "flags": " ".join(record.flags),
                "attempts": record.attempts,
                "sample": record.sample,
                **_usage(record),
                # A score may be called like a common column, such as `id`.
                **{
                    f"scores.{name}" if name in _COLUMNS else name: value
                    for name, value in _flat(record.scores).items()
                },
                **({"verdict": verdict} if isinstance(verdict, str) else {}),
                **_flat(verdict, "verdict."),
                **_flat(record.seconds, "seconds."),
            }
            yield {
                _unicode(name): _unicode(value) if isinstance(value, str) else value
                for name, value in row.items()
            }


def _usage(record: Record) -> Row:
    """Return the tokens and the cost of a case; None where no model was asked."""
    totals = UsageTotals()
    totals.add(record)
    used = totals.as_json() or {}
    return {name: used.get(name) for name in ("input_tokens", "output_tokens", "cost")}


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
    runs = _opened(runs)
    if path.suffix == ".jsonl":
        with replacing(path) as stream:
            for row in rows(runs):
                stream.write(json.dumps(row, allow_nan=False) + "\n")
    elif path.suffix == ".csv":
        wanted, line = columns(runs), io.StringIO()
        writer = csv.writer(line)  # with \r\n, else it leaves carriage returns unquoted
        with replacing(path) as stream:
            for row in chain([{name: name for name in wanted}], rows(runs)):
                writer.writerow(_cell(row.get(name)) for name in wanted)
                stream.write(line.getvalue().removesuffix("\r\n") + "\n")
                line.seek(0)
                line.truncate()
    else:
        _write_parquet(runs, path)
    return path


def dataframe(
    runs: RunDirectory | Path | str | Sequence[RunDirectory | Path | str],
) -> pd.DataFrame:
    """Return all cases of a run, or of several, as a pandas DataFrame, one row each.

        uiproof.dataframe("runs/mine").groupby("status")["cost"].sum()

    Columns are those of `uiproof export`: scores by their paths, flags, seconds, tokens and cost.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "Data frames need pandas.", remedy="pip install 'uiproof[pandas]'"
        ) from error
    runs = _opened([runs] if isinstance(runs, (RunDirectory, Path, str)) else runs)
    return pd.DataFrame(list(rows(runs)), columns=list(columns(runs)))


def _opened(runs: Iterable[RunDirectory | Path | str]) -> list[RunDirectory]:
    """Open runs once: a run at a URL may change between two reads."""
    return [RunDirectory.of(run, pictures=False) for run in runs]


def _write_parquet(runs: Sequence[RunDirectory | Path | str], path: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow.", remedy="pip install 'uiproof[parquet]'"
        ) from error
    wanted = columns(runs)
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in wanted.items()])
    remaining = rows(runs)
    with replacing_file(path) as partial, pq.ParquetWriter(partial, schema) as writer:
        while batch := list(islice(remaining, _BATCH)):
            for row in batch:
                row.update((name, _text(row[name])) for name in row if wanted[name] == "string")
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def columns(runs: Iterable[RunDirectory | Path | str]) -> dict[str, str]:
    """Return the columns that some row has, with their types; the common ones come first."""
    found: dict[str, str] = dict.fromkeys(_COLUMNS, "string") | _NUMBERS
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


def _text(value: Any) -> str | None:
    """Return a value for a column where others are text."""
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unicode(text: str) -> str:
    """Return text as valid UTF-8, which names of files need not be."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _kind(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "bool_"
    return "float64" if isinstance(value, (int, float)) else "string"


def _flat(values: Any, prefix: str = "") -> Row:
    """Return nested scores by their paths; lists as JSON, because a table has no room for them."""
    flat: Row = {}
    for name, value in values.items() if isinstance(values, Mapping) else ():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif value is None or isinstance(value, (bool, str)):
            flat[prefix + name] = value
        elif isinstance(value, (int, float)):
            flat[prefix + name] = _number(value)
        else:
            flat[prefix + name] = json.dumps(value)
    return flat


def _number(value: float) -> float | None:
    """Return a number; None for anything else, which only an edited journal has."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _cell(value: Any) -> Any:
    """Return a value for a CSV file. What spreadsheets would run as a formula stays text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value
