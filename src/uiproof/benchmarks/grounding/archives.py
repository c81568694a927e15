"""Read prediction files that are ZIP archives: logs of inspect_ai and Excel sheets.

inspect_ai reads its own logs where it is installed. Sheets are read from their XML, which is all
that VLMEvalKit's files need: one sheet, a header, texts and numbers.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from uiproof.errors import InputError, MissingDependencyError

_HEADER, _SAMPLES = "header.json", "samples/"
_STRINGS, _SHEET = "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"
_MAX_BYTES = 1 << 30  # of one unpacked member
_ATTACHMENT = "attachment://"
_BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, KeyError, ValueError)


def is_log(content: bytes) -> bool:
    """Return whether an archive is a log of inspect_ai."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
    except _BROKEN:
        return False
    return _HEADER in names or "_journal/start.json" in names


def read_log(path: Path, content: bytes) -> tuple[dict[str, Any], list[Any]]:
    """Return the header of a log and its samples, in the order in which they were written.

    A log of a run that was interrupted has no header; its samples are read all the same. Newer
    versions compress with Zstandard, which only inspect_ai itself unpacks.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            start = _HEADER if _HEADER in names else "_journal/start.json"
            header = json.loads(_member(archive, start))
            samples = [name for name in names if name.startswith(_SAMPLES)]
            found = [_resolved(json.loads(_member(archive, name))) for name in samples]
    except NotImplementedError:
        return _read_by_inspect(path)
    except _BROKEN as error:
        raise InputError(
            f"{path} is a damaged log of inspect_ai: {error}.",
            remedy="Convert it with `inspect log convert --to json`, and give that file.",
        ) from error
    if not found:
        raise InputError(f"{path} is a log of inspect_ai without samples.")
    return header if isinstance(header, dict) else {}, found


def _read_by_inspect(path: Path) -> tuple[dict[str, Any], list[Any]]:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise MissingDependencyError(
            f"{path} is compressed with Zstandard.",
            remedy="Run `pip install 'uiproof[inspect]'`, or `inspect log convert --to json`.",
        ) from None
    log = read_eval_log(str(path), resolve_attachments=True)
    wanted = {"id", "epoch", "input", "target", "output", "metadata", "scores"}
    header = {"eval": {"task": log.eval.task, "model": log.eval.model}}
    return header, [
        json.loads(sample.model_dump_json(include=wanted)) for sample in log.samples or ()
    ]


def _resolved(sample: Any) -> Any:
    """Put back the long texts that a log keeps apart."""
    attachments = sample.get("attachments") if isinstance(sample, dict) else None
    if not isinstance(attachments, dict) or not attachments:
        return sample

    def resolve(value: Any) -> Any:
        if isinstance(value, str) and value.startswith(_ATTACHMENT):
            return attachments.get(value.removeprefix(_ATTACHMENT), value)
        if isinstance(value, list):
            return [resolve(part) for part in value]
        if isinstance(value, dict):
            return {key: resolve(part) for key, part in value.items()}
        return value

    wanted = ("input", "target", "output", "metadata")
    return {**sample, **{key: resolve(sample[key]) for key in wanted if key in sample}}


def read_sheet(path: Path, content: bytes) -> list[Any]:
    """Return the rows of the first sheet of an Excel file as texts, by the names of the header."""
    from lxml import etree

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            strings = list(_strings(_member(archive, _STRINGS))) if _STRINGS in names else []
            rows = list(_rows(_member(archive, _SHEET), strings))
    except (*_BROKEN, IndexError, etree.XMLSyntaxError) as error:
        raise InputError(
            f"{path} is no Excel sheet that can be read: {error}.", remedy="Save it as TSV."
        ) from error
    if len(rows) < 2:
        raise InputError(f"{path} has a header and no rows.", remedy="Give a file of predictions.")
    header, *lines = rows
    return [{name: line.get(column, "") for column, name in header.items()} for line in lines]


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _MAX_BYTES:
        raise ValueError(f"{name} is larger than {_MAX_BYTES >> 20} MiB")
    return archive.read(name)


def _elements(content: bytes, name: str) -> Iterator[Any]:
    from lxml import etree

    # No entities and no network: these files come from others.
    options = {"resolve_entities": False, "no_network": True, "huge_tree": True}
    for _, element in etree.iterparse(io.BytesIO(content), tag=f"{{*}}{name}", **options):
        yield element
        element.clear()


def _strings(content: bytes) -> Iterator[str]:
    for element in _elements(content, "si"):
        yield "".join(text.text or "" for text in element.iter("{*}t"))


def _rows(content: bytes, strings: list[str]) -> Iterator[dict[str, str]]:
    """Yield for each row the text of each cell, by the letters of its column."""
    for row in _elements(content, "row"):
        cells: dict[str, str] = {}
        for place, cell in enumerate(row.iter("{*}c")):
            column = re.sub(r"\d", "", cell.get("r") or "") or str(place)
            if cell.get("t") == "inlineStr":
                cells[column] = "".join(text.text or "" for text in cell.iter("{*}t"))
                continue
            value = next((v.text or "" for v in cell.iter("{*}v")), "")
            cells[column] = strings[int(value)] if cell.get("t") == "s" and value else value
        yield cells
