"""Runs as JSON for other programs, and files that appear only when they are whole."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from uuid import uuid4

from uiproof.engine.storage import access_error
from uiproof.errors import InputError
from uiproof.remote.mirror import shown
from uiproof.remote.urls import refuse_url

if TYPE_CHECKING:
    from uiproof.benchmarks.grounding.audit import Audited
    from uiproof.engine.rundir import RunDirectory
    from uiproof.engine.types import Record
    from uiproof.planning import Plan
    from uiproof.submissions.ranking import Ranking

_REMEDY = "Name another file to write to."
# What these names lead to is open already and must stay the file that it is.
_OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/")


def write_json(run: RunDirectory, target: str | Path | TextIO, **more: Any) -> None:
    """Write `{"benchmark", "summary", "cases": [{"id", "status", "error", "scores", "flags"}]}`.

    Cases are streamed from the journal, so memory stays small however many there are. A file
    appears only when it is whole; what was there before stays until then. `more` is written
    beside the summary.
    """
    _write(_lines(run, more), target)


def write_comparison(
    runs: Sequence[RunDirectory | Path | str], target: str | Path | TextIO
) -> None:
    """Write `{"benchmark", "runs": [{"method", "n", "failed", "metrics": {key: {"mean", …}}}]}`.

    Runs are ordered as in the table, best first; what was not measured has null as its mean.
    """
    from uiproof.report.leaderboard import leaderboard

    board = leaderboard(runs)
    rows = [
        {
            "method": row.name,
            "dataset": row.dataset,
            "assisted": row.assisted,
            "complete": row.complete,
            "n": row.n,
            "failed": row.failed,
            "usage": row.usage,
            "metrics": {
                metric.key: asdict(cell)
                for metric, cell in zip(board.metrics, row.cells, strict=True)
            },
        }
        for row in board.ranked()
    ]
    _write([_json({"benchmark": board.benchmark, "runs": rows}), "\n"], target)


def write_plans(plans: Sequence[Plan], target: str | Path | TextIO) -> None:
    """Write `{"plans": [{"method", "requests", "input_tokens", "cost", …}]}`; see `Plan`."""
    content = [{**asdict(one), "directory": shown(one.directory)} for one in plans]
    _write([_json({"plans": content}), "\n"], target)


def write_audit(rows: Sequence[Audited], target: str | Path | TextIO) -> None:
    """Write `{"audit": [{"protocol", "control", "rate", "n", "chance", "leaks", …}]}`."""
    content = [
        {
            "protocol": row.protocol,
            "control": row.control,
            "claims_blind": row.claims_blind,
            "rate": row.rate.mean,
            "low": row.rate.low,
            "high": row.rate.high,
            "n": row.rate.n,
            "chance": row.chance,
            "leaks": row.leaks,
        }
        for row in rows
    ]
    _write([_json({"audit": content}), "\n"], target)


def write_ranking(board: Ranking, target: str | Path | TextIO) -> None:
    """Write `{"benchmark", "dataset", "metric", "rows": [{"rank", "name", …}], "apart"}`."""
    from uiproof.submissions.showing import as_json

    _write([_json(as_json(board)), "\n"], target)


def check_writable(target: str | Path, *, makes_folders: bool = False) -> None:
    """Raise `InputError` where a file could not be written, without touching anything.

    Raises `UsageError` for a URL. For use before long work whose result goes there.
    """
    refuse_url(target, "written")
    target = Path(target)
    try:
        problem = _obstacle(target, makes_folders)
    except OSError as error:
        problem = str(error.strerror)
    if problem:
        raise InputError(f"{target} cannot be written: {problem}.", remedy=_REMEDY)


@contextmanager
def replacing(target: str | Path, *, makes_folders: bool = False) -> Iterator[TextIO]:
    """A text file that takes its place only when the block ends well.

    Behind a symbolic link the file is replaced, not the link. Devices and pipes are written to.
    """
    try:
        if _is_stream(Path(target)):
            with Path(target).open("w", encoding="utf-8", newline="\n") as stream:
                yield stream
            return
        with (
            replacing_file(target, makes_folders=makes_folders) as partial,
            partial.open("x", encoding="utf-8", newline="\n") as stream,
        ):
            yield stream
    except OSError as error:
        raise access_error(Path(target), "written", error) from error


@contextmanager
def replacing_file(target: str | Path, *, makes_folders: bool = False) -> Iterator[Path]:
    """Where to write a file that takes its place only when the block ends well."""
    try:
        place = Path(os.path.realpath(target))
        if makes_folders:
            place.parent.mkdir(parents=True, exist_ok=True)
        partial = place.with_name(f".uiproof-{uuid4().hex}")
        try:
            yield partial
            if place.exists():
                shutil.copymode(place, partial)
            partial.replace(place)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise access_error(Path(target), "written", error) from error


def _obstacle(target: Path, makes_folders: bool) -> str:
    """Why a file could not be written; empty when nothing speaks against it."""
    if target.is_dir():
        return "it is a folder"
    if _is_stream(target):
        return "" if os.access(target, os.W_OK) else "this user may not write to it"
    place = Path(os.path.realpath(target))
    if place.exists() and not os.access(place, os.W_OK):
        return "this user may not write to it"
    folder = place.parent
    while makes_folders and not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.exists():
        return f"there is no folder {folder}"
    if not folder.is_dir():
        return f"{folder} is not a folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"this user may not make files in {folder}"
    return ""


def _is_stream(target: Path) -> bool:
    if str(target).startswith(_OPEN_FILES):
        return True
    if not target.exists():
        return False
    mode = target.stat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


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
