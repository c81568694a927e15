"""A run as one JSON file, for other programs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from uiproof.errors import InputError

if TYPE_CHECKING:
    from uiproof.engine.rundir import RunDirectory
    from uiproof.engine.types import Record


def write_json(run: RunDirectory, target: Path | TextIO) -> None:
    """Write `{"benchmark", "summary", "cases": [{"id", "status", "error", "scores", "flags"}]}`.

    Cases are streamed from the journal, so memory stays small however many there are. A file
    appears only when it is whole; what was there before stays until then.
    """
    if not isinstance(target, Path):
        target.writelines(_lines(run))
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(
            f"{target} cannot be written ({error.strerror}).", remedy="Choose another --json file."
        ) from error
    written = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.writelines(_lines(run))
        written.chmod(0o644)
        written.replace(target)
    finally:
        written.unlink(missing_ok=True)


def _lines(run: RunDirectory) -> Iterator[str]:
    yield f'{{"benchmark": {_json(run.manifest["benchmark"])},\n'
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
        "flags": list(record.flags),
        "seconds": record.seconds,
    }


def _json(value: Any) -> str:
    # NaN is not JSON: what was not measured has to be null before it gets here.
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
