"""Read prediction files: one reader for each published format, entries as they are written.

    lmms-eval          *_samples_TASK.jsonl of lmms-eval
    vlmevalkit         MODEL_SET.xlsx or .tsv of VLMEvalKit
    inspect            logs of inspect_ai, .eval or .json
    screensuite        answers.jsonl of screensuite
    zoom-consistency   captures of several steps
    showdown           Showdown's clicks, CSV
    screenspot-pro     `details` of ScreenSpot-Pro's script and its copies
    omniparser         the same, one object per line

`predictions` decides what the numbers mean.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import hypot
from pathlib import Path
from typing import Any, Literal

from uiproof.benchmark import look_up
from uiproof.benchmarks.grounding.coordinates import Contract, contract_for
from uiproof.benchmarks.grounding.data import AnnotatedElement
from uiproof.benchmarks.grounding.parsing import NOTHING, Parsed, parse
from uiproof.errors import InputError, MissingDependencyError, UsageError
from uiproof.files import access

Entry = Mapping[str, Any]
Numbers = tuple[float, ...]  # two for a point, four for a box, more for a polygon
Size = tuple[int, int]
BoxForm = Literal["corners", "size"]  # x1, y1, x2, y2 or x, y, width, height

FIELDS = ("prediction", "bbox", "instruction", "image", "id", "width", "height", "correct")
REMEDY = (
    "Say what the columns are, for example --map answer=prediction --map target=bbox; "
    f"fields are {', '.join(FIELDS)}."
)
ORACLE = "oracle"
PRED = "pred"
_ROUTER = "router"
_RAW_LENGTH = 4000  # of an answer's text; some files repeat whole transcripts
_SCANNED = 500  # entries that are scanned for the fields with predictions


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """The answer of one method to one item, in the file's own numbers."""

    parsed: Parsed = NOTHING
    stored: bool | None = None  # whether the file calls it correct
    raw: str = ""
    crop: Numbers | None = None  # the part that was looked at last: corners in pixels

    @property
    def place(self) -> Numbers | None:
        """Return the numbers; None where nothing can be read."""
        return self.parsed.numbers or None


@dataclass(frozen=True, slots=True)
class RawItem:
    """One entry of a file, before it is decided what its numbers mean."""

    where: str  # for messages: the file and the number of the entry
    sample: str  # the screenshot
    name: str  # tells it from other items of the screenshot
    instruction: str = ""
    image: str = ""
    box: Numbers | None = None
    polygon: Numbers = ()  # x, y, x, y … in pixels
    size: Size | None = None  # of the screenshot in pixels, where the file has it
    negative: bool = False  # there is no such element; to refuse is right
    tags: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, RawAnswer] = field(default_factory=dict)  # by method
    problem: str = ""  # why the entry cannot be used
    element: AnnotatedElement | None = None  # the target, where a data set has it


@dataclass(frozen=True, slots=True)
class FileContent:
    """The items of a prediction file."""

    format: str
    items: tuple[RawItem, ...]
    methods: tuple[str, ...] = (PRED,)
    oracle_of: tuple[str, ...] = ()  # methods of which `oracle` takes one that is right
    thousandths: frozenset[str] = frozenset()  # methods whose points are 0-1000, not pixels
    boxes: BoxForm = "corners"
    contract: Contract | None = None  # of the model, where the file's prompt was ours


def read_content(
    path: Path,
    *,
    only: str | None = None,
    targets: Path | None = None,
    columns: Mapping[str, str] | None = None,
) -> FileContent:
    """Read a prediction file, whose format shows from its content.

    `only` is the only method wanted; `targets` is Showdown's `data.csv`. `columns` says which
    field (`FIELDS`) each column holds, for files of no known format; a column inside of another is
    written with a dot.
    """
    file = _read_file(path)
    if columns:
        file, only = _renamed(file, columns), "prediction"
    keys = {str(key) for value in file.objects[:20] for key in value}
    read = next(read for wanted, read in _READERS if wanted(file, keys))
    if read is _read_showdown:
        file = _clicks(file, targets)
    elif targets is not None:
        raise UsageError(f"{path} has its own targets.", remedy="Leave out the annotations.")
    content = read(file, only)
    if only and only not in content.methods:
        raise UsageError(
            f"{path} has no method {only}.", remedy=f"It has: {', '.join(content.methods)}."
        )
    return replace(content, methods=(only,)) if only else content


# --- entries of a file

_LISTS = ("details", "results", "predictions", "samples", "data", "items")
_IMAGE = ("img_path", "image_path", "img_filename", "image", "file_name", "filename", "img")


@dataclass(frozen=True, slots=True)
class _Document:
    """An entry in the field names of `details`, and the answers to it."""

    fields: Entry
    answers: Mapping[str, RawAnswer]
    name: str = ""
    sample: str = ""
    target: Any = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _File:
    """The entries of a file; those that are no objects become failed cases."""

    path: Path
    kind: Literal["json", "lines", "table", "inspect"]
    values: Sequence[Any]
    header: Entry = field(default_factory=dict)  # of an inspect log

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [value for value in self.values if isinstance(value, dict)]

    def items(
        self, read: Callable[[dict[str, Any]], _Document], images: Sequence[str] = _IMAGE
    ) -> tuple[RawItem, ...]:
        """Read every entry; screenshots are named by the first of these fields."""
        read_ones = [read(value) if isinstance(value, dict) else None for value in self.values]
        names = _sample_names([_text(one.fields, *images) if one else "" for one in read_ones])
        items = []
        for number, (value, one) in enumerate(zip(self.values, read_ones, strict=True), start=1):
            where = f"{self.path}, {'line' if self.kind == 'lines' else 'item'} {number}"
            if one is None:
                problem = str(value)[:200] if self.kind == "lines" else "an object was expected"
                items.append(RawItem(where, f"#{number}", "unreadable", problem=problem))
            else:
                sample = one.sample or names[number - 1] or f"#{number}"
                items.append(_item(one, where, sample))
        return tuple(items)


def _read_file(path: Path) -> _File:
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"{path} {problem}.", remedy="Give a file of predictions.")
    with access(path, "read"):
        content = path.read_bytes()
    if content.startswith(b"PK\x03\x04"):
        return _read_archive(path, content)
    try:
        text = content.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text in UTF-8: {error}.", remedy=REMEDY) from error
    if not text:
        raise InputError(f"{path} is empty.", remedy=REMEDY)
    if path.suffix.lower() in (".csv", ".tsv") or text[0] not in "[{":
        return _File(path, "table", _table_rows(path, text))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [_json_line(line) for line in text.splitlines() if line.strip()]
        if not isinstance(lines[0], dict):
            raise InputError(f"{path} is not JSON: {error}.", remedy=REMEDY) from error
        return _File(path, "lines", lines)
    if isinstance(content, dict):
        if isinstance(content.get("eval"), dict) and isinstance(content.get("samples"), list):
            return _File(path, "inspect", content["samples"], content)
        if path.suffix == ".jsonl" or "bbox" in content:
            return _File(path, "lines", [content])
    values = _find_list(content)
    if not values:
        problem = "no list of predictions" if values is None else "an empty list"
        raise InputError(f"{path} holds {problem}.", remedy=REMEDY)
    return _File(path, "json", values)


def _table_rows(path: Path, text: str) -> list[Any]:
    before = csv.field_size_limit(2**31 - 1)  # whole answers of models are in it
    tabs = path.suffix.lower() == ".tsv" or "\t" in text.split("\n", 1)[0]
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t" if tabs else ",")
        rows: list[Any] = list(reader)
    except csv.Error as error:
        raise InputError(f"{path} is not CSV: {error}.", remedy=REMEDY) from error
    finally:
        csv.field_size_limit(before)
    if len(reader.fieldnames or ()) < 2:
        raise InputError(f"{path} is neither JSON nor CSV.", remedy=REMEDY)
    if not rows:
        raise InputError(f"{path} has a header and no rows.", remedy=REMEDY)
    return rows


def _json_line(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"


def _find_list(content: Any, depth: int = 2) -> list[Any] | None:
    if isinstance(content, list):
        return content
    if not isinstance(content, dict) or depth == 0:
        return None
    found = (_find_list(content.get(key), depth - 1) for key in _LISTS)
    return next((one for one in found if one is not None), None)


def _renamed(file: _File, columns: Mapping[str, str]) -> _File:
    """Return the entries with the fields that the user named, in the form of `details`."""
    unknown = sorted(set(columns.values()) - set(FIELDS))
    if unknown or "prediction" not in columns.values():
        problem = f"There is no field {unknown[0]!r}." if unknown else "No column is prediction."
        raise UsageError(problem, remedy=REMEDY)
    present = {str(key) for value in file.objects[:_SCANNED] for key in value}
    for column in columns:
        if column.split(".")[0] not in present:
            raise UsageError(f"There is no column {column!r}.", remedy=_list(present))
    values = [
        {field: look_up(value, column) for column, field in columns.items()}
        if isinstance(value, dict)
        else value
        for value in file.values
    ]
    return replace(file, kind="lines" if file.kind == "lines" else "json", values=values)


def _list(fields: Iterable[str]) -> str:
    found = sorted(fields)
    return f"It has: {', '.join(found[:30])}{', …' if len(found) > 30 else ''}."


# --- archives: logs of inspect_ai, and Excel sheets

_MAX_BYTES = 1 << 30  # of one unpacked member
_ATTACHMENT = "attachment://"
_SHEET, _STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError),
    NotImplementedError,  # raised by zipfile for a compression that it cannot unpack
    *(IndexError, SyntaxError),  # of XML, too
)


def _read_archive(path: Path, content: bytes) -> _File:
    """Read a log of inspect_ai, or the first sheet of an Excel file by the names of its header.

    A log of a run that was interrupted has no header; its samples are read all the same. Newer
    versions compress with Zstandard, which only inspect_ai itself unpacks.
    """
    start = ""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            start = next((n for n in ("header.json", "_journal/start.json") if n in names), "")
            if start:
                header = json.loads(_member(archive, start))
                samples = [name for name in names if name.startswith("samples/")]
                found = [_resolved(json.loads(_member(archive, name))) for name in samples]
                if not found:
                    raise InputError(f"{path} is a log of inspect_ai without samples.")
                return _File(path, "inspect", found, header if isinstance(header, dict) else {})
            texts = _elements(_member(archive, _STRINGS), "si") if _STRINGS in names else ()
            strings = ["".join(part.text or "" for part in one.iter("{*}t")) for one in texts]
            rows = list(_rows(_member(archive, _SHEET), strings))
    except _BROKEN as error:
        if start and isinstance(error, NotImplementedError):
            return _read_by_inspect(path)
        what = "is a damaged log of inspect_ai" if start else "is no Excel sheet that can be read"
        remedy = "Convert it with `inspect log convert --to json`." if start else "Save it as TSV."
        raise InputError(f"{path} {what}: {error}.", remedy=remedy) from error
    if len(rows) < 2:
        raise InputError(f"{path} has a header and no rows.", remedy="Give a file of predictions.")
    columns, *lines = rows
    table = [{name: line.get(column, "") for column, name in columns.items()} for line in lines]
    return _File(path, "table", table)


def _read_by_inspect(path: Path) -> _File:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise MissingDependencyError(
            f"{path} is compressed with Zstandard.",
            remedy="Run `pip install 'uiproof[inspect]'`, or `inspect log convert --to json`.",
        ) from None
    log = read_eval_log(str(path), resolve_attachments=True)
    wanted = {"id", "epoch", "input", "target", "output", "metadata", "scores"}
    samples = [json.loads(one.model_dump_json(include=wanted)) for one in log.samples or ()]
    header = {"eval": {"task": log.eval.task, "model": log.eval.model}}
    return _File(path, "inspect", samples, header)


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


# --- values of an entry

_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?")
_PLACE_KEYS = ("point", "coordinate", "coordinates", "click", "center", "position", "bbox", "box")
_RIGHT = {"correct", "true", "right", "hit", "yes", "1", "1.0", "c"}
_WRONG = {"wrong", "incorrect", "wrong_format", "false", "miss", "no", "0", "0.0", "i", "n"}
_NOTHING = {"", "none", "null", "nan", "wrong_format", "[]", "()", "{}"}


def _first(entry: Entry, keys: Iterable[str]) -> Any:
    """Return the first value that is neither null nor empty."""
    values = (entry.get(key) for key in keys)
    return next((value for value in values if value is not None and value != ""), None)


def _text(entry: Entry, *keys: str) -> str:
    """Return the first text or whole number, as text."""
    for key in keys:
        value = entry.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    return ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float | None:
    """Return a finite number, also where it is written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e15 else None  # false for NaN; no screenshot is so large


def _numbers(value: Any, most: int = 4) -> Numbers | None:
    """Return the numbers of a list, also of `[[x, y]]`, of two corners and of a short text."""
    if isinstance(value, str):
        return tuple(map(float, _NUMBER.findall(value))) if len(value) < 200 else None
    if not isinstance(value, list | tuple) or len(value) > most:
        return None
    if any(isinstance(part, list | tuple) for part in value):
        inner = [_numbers(part) for part in value]
        if len(inner) == 1:
            return inner[0]
        pairs = [part for part in inner if part is not None and len(part) == 2]
        return pairs[0] + pairs[1] if len(pairs) == len(inner) == 2 else None
    found = [number for part in value if (number := _number(part)) is not None]
    return tuple(found) if len(found) == len(value) else None


def _box(value: Any) -> Numbers | None:
    found = _numbers(value)
    return found if found is not None and len(found) == 4 else None


def _size(entry: Entry) -> Size | None:
    """Return the size of the screenshot in pixels."""
    value = _first(entry, ("img_size", "image_size", "size", "resolution", "screen_size"))
    if isinstance(value, dict):
        entry, value = value, None
    if value is None:
        value = [
            _first(entry, ("img_width", "image_width", "width", "w")),
            _first(entry, ("img_height", "image_height", "height", "h")),
        ]
    found = _numbers(value)
    if found is None or len(found) != 2 or not all(1 <= side < 1e6 for side in found):
        return None
    return round(found[0]), round(found[1])


def _answer(value: Any, *, stored: bool | None = None, raw: Any = None) -> RawAnswer:
    """Read an answer: a list, a mapping, or a text with a place in it."""
    text = raw if isinstance(raw, str) else _only_text(raw)
    if text is None:
        text = "" if raw is None else json.dumps(raw, ensure_ascii=False)
    text = text[:_RAW_LENGTH]
    if isinstance(value, dict):
        point = [value.get("x"), value.get("y")]
        value = point if {"x", "y"} <= set(value) else _first(value, _PLACE_KEYS)
    value = _only_text(value) or value
    if isinstance(value, str):
        if value.strip().lower() in _NOTHING:
            return RawAnswer(stored=stored, raw=text)
        return RawAnswer(parse(value[:_RAW_LENGTH]), stored, text or value[:_RAW_LENGTH])
    found = None if value is None else _numbers(value)
    if found is None or len(found) not in (2, 4):
        return RawAnswer(stored=stored, raw=text)
    return RawAnswer(Parsed("point" if len(found) == 2 else "box", found), stored, text)


def _only_text(value: Any) -> str | None:
    """Return the text of a list that holds nothing else, also of a list in a list."""
    while isinstance(value, list) and len(value) == 1:
        (value,) = value
        if isinstance(value, str):
            return value
    return None


def _verdict(*values: Any) -> bool | None:
    """Return whether a file calls an answer correct, by the first value that says so."""
    for value in values:
        word = str(value).strip().lower()
        if word in _RIGHT or word in _WRONG:
            return word in _RIGHT
    return None


# --- items of all formats

_BOX = ("bbox", "gt_bbox", "box", "gt_box", "box_coordinates", "target_bbox", "ground_truth_bbox")
_INSTRUCTION = ("prompt_to_evaluate", "instruction", "prompt", "query", "task", "question")
_IDS = ("id", "ui_id", "element_id")
_TAG_KEYS: Mapping[str, tuple[str, ...]] = {
    "group": ("group",),
    "platform": ("platform", "device"),
    "application": ("application", "app", "app_name", "data_source"),
    "ui_type": ("ui_type", "data_type", "element_type", "type"),
}
# ScreenSpot and its second version have no groups: their names say which part they belong to.
_PARTS = {"mobile": "mobile", "desktop": "desktop", "pc": "desktop", "web": "web"}


def _item(one: _Document, where: str, sample: str) -> RawItem:
    """Return an item; without a name it gets a short one such as `mark-dimensions`."""
    entry = one.fields
    instruction = _text(entry, *_INSTRUCTION)
    slug = "-".join(re.findall(r"\w+", instruction.lower()))[:60].strip("-_") or "element"
    target = _first(entry, _BOX) if one.target is None else one.target
    kind = _text(entry, "box_type").lower()
    negative = kind == "refusal" or _is_negative(entry)
    polygon = (_numbers(target, most=1000) or ()) if kind == "polygon" else ()
    box = None if negative or polygon else _box(target)
    known = negative or box or (len(polygon) >= 6 and len(polygon) % 2 == 0)
    unknown = "" if known else f"the target's box is not four numbers: {target!r:.100}"
    return RawItem(
        where=where,
        sample=sample,
        name=one.name or slug,
        instruction=instruction,
        image=_text(entry, *_IMAGE),
        box=box,
        polygon=polygon,
        size=_size(entry),
        negative=negative,
        tags=_tags(entry),
        answers=one.answers,
        problem=one.problem or unknown,
    )


def _is_negative(entry: Entry) -> bool:
    return _text(entry, "gt_type").lower() == "negative"


def _tags(entry: Entry) -> dict[str, str]:
    """Return the tags by which rates are split up, without unknown ones."""
    tags = {tag: _text(entry, *keys) for tag, keys in _TAG_KEYS.items()}
    if not tags["group"]:
        file_name = re.split(r"[\\/]", _text(entry, *_IMAGE))[-1]
        words = re.findall(r"[a-z]+", f"{_text(entry, 'task_filename')} {file_name}".lower())
        tags["group"] = next((_PARTS[word] for word in words if word in _PARTS), "")
    return {tag: value for tag, value in tags.items() if value not in ("", "?", "unknown")}


def _sample_names(images: Sequence[str]) -> list[str]:
    """Return names for screenshots: their paths without the folders that all have in common."""
    parts = [re.split(r"[\\/]+", image) for image in images]
    folders = [one[:-1] for one in parts if one != [""]]
    low, high = min(folders, default=[]), max(folders, default=[])
    common = 0
    while common < min(len(low), len(high)) and low[common] == high[common]:
        common += 1
    return ["/".join([*one[common:-1], re.sub(r"\.\w{2,5}$", "", one[-1])]) for one in parts]


# --- lmms-eval, VLMEvalKit, inspect_ai, screensuite

_INSTRUCTION_END = re.compile(r"Instructions?:\s*(.+?)\s*(?:Output:)?\s*\Z", re.DOTALL)
_PYDANTIC_BOX = re.compile(r"x=(\S+) y=(\S+) width=(\S+) height=(\S+)")


def _read_lmms_eval(file: _File, _only: str | None) -> FileContent:
    """Read samples of lmms-eval; since 0.6 it leaves out the annotations (`doc`) and the sizes."""

    def read(value: dict[str, Any]) -> _Document:
        prompt = _INSTRUCTION_END.search(str(value.get("input")))
        media = value.get("input_media")
        image = media[0] if isinstance(media, list) and media else ""
        instruction = prompt[1] if prompt else value.get("target")
        doc = {"instruction": instruction, "image": image, **_mapping(value.get("doc"))}
        scores = (score for score in value.values() if isinstance(score, dict))
        stored = next((_verdict(one["correct"]) for one in scores if "correct" in one), None)
        said = _first(value, ("filtered_resps", "resps"))
        answer = _answer(said, stored=stored, raw=value.get("resps"))
        return _Document(doc, {PRED: answer}, _text(doc, *_IDS))

    return FileContent("lmms-eval", file.items(read))


def _read_vlmevalkit(file: _File, _only: str | None) -> FileContent:
    def read(row: dict[str, Any]) -> _Document:
        row = {**row, "image": _text(row, *_IMAGE) if len(_text(row, "image")) < 300 else ""}
        # The group of ScreenSpot-Pro is called category there.
        row.setdefault("group", row.get("category"))
        answer = _answer(row.get("prediction"), stored=_verdict(_first(row, ("match", "hit"))))
        sample = "" if _text(row, *paths) else f"#{row.get('index')}"
        return _Document(row, {PRED: answer}, _text(row, *_IDS), sample)

    paths = [key for key in _IMAGE if key != "image"]  # which holds the picture itself
    # Its ScreenSpot and ScreenSpot-v2 have boxes with sizes, its other sets, which name the kind of
    # an element in another column, have corners.
    sized = any("data_type" in row for row in file.objects)
    return FileContent("vlmevalkit", file.items(read, paths), boxes="size" if sized else "corners")


def _read_inspect(file: _File, _only: str | None) -> FileContent:
    def read(sample: dict[str, Any]) -> _Document:
        metadata, scores = _mapping(sample.get("metadata")), _mapping(sample.get("scores"))
        values = [one.get("value") for one in scores.values()]
        values = [_first(one, ("accuracy",)) if isinstance(one, dict) else one for one in values]
        completion = look_up(sample, "output.completion") or _spoken(sample.get("output"))
        screen, _, name = str(sample.get("id", "")).rpartition("/")
        epoch = sample.get("epoch", 1)
        return _Document(
            {"instruction": _spoken(sample.get("input")), **metadata},
            {PRED: _answer(completion, stored=_verdict(*values))},
            name if epoch == 1 else f"{name}@{epoch}",
            screen,
            _first(metadata, _BOX) or sample.get("target"),
        )

    about = _mapping(file.header.get("eval"))
    ours = str(about.get("task", "")).startswith("uiproof/")
    contract = contract_for(str(about.get("model", ""))) if ours else None
    return FileContent("inspect", file.items(read), contract=contract)


def _spoken(value: Any) -> str:
    """Return the last text of an input, a list of messages, or an output of inspect_ai."""
    if isinstance(value, dict):
        inner = value.get("choices") or value.get("message") or value.get("content")
        return _spoken(inner) if inner else str(value.get("text") or "")
    if isinstance(value, list):
        return next((text for part in reversed(value) if (text := _spoken(part))), "")
    return value if isinstance(value, str) else ""


def _read_screensuite(file: _File, _only: str | None) -> FileContent:
    def read(value: dict[str, Any]) -> _Document:
        truth = value.get("ground_truth")
        truth = truth if isinstance(truth, list) else [truth]
        # The box is written as the text of a pydantic object: fractions, with width and height.
        found = next((m for one in truth if (m := _PYDANTIC_BOX.search(str(one)))), None)
        numbers = [_number(text) for text in found.groups()] if found else []
        known = [number for number in numbers if number is not None]
        box = None
        if len(known) == 4:
            x, y, w, h = known
            box = [x, y, x + w, y + h]
        size = next((one for one in truth if isinstance(one, list) and len(one) == 2), None)
        prompt = _INSTRUCTION_END.search(_spoken(value.get("input")))
        entry = {"instruction": prompt[1] if prompt else "", "image_size": size}
        return _Document(entry, {PRED: _answer(value.get("answer"))}, target=box)

    return FileContent("screensuite", file.items(read))


# --- ScreenSpot-Pro's script and its copies, OmniParser's log

_PREDICTED = re.compile(
    r"pred(icted|iction|s)?(_.*)?|.*_pred(iction)?|(click_?)?(point|coordinates?|xy)|click"
)
_USUAL = ("pred", "prediction")  # methods even where every one of them is null
_VERDICTS = ("correctness", "correct", "is_correct", "is_in_bbox", "hit", "success")


def _read_details(file: _File, only: str | None) -> FileContent:
    objects, some = file.objects, file.objects[:_SCANNED]
    keys = dict.fromkeys(str(key) for value in some for key in value)
    named = [key for key in keys if _PREDICTED.fullmatch(key)]
    places = [key for key in named if any(_is_place(value.get(key)) for value in some)]
    methods = (only,) if only else tuple(places or [key for key in named if key in _USUAL])
    if not any(method in value for value in objects for method in methods):
        wanted = f"No item has the field {only}" if only else "Its format is not known"
        raise InputError(
            f"{file.path}: {wanted}. {_list(keys)} Wanted: a prediction (such as pred) and a "
            "target (bbox).",
            remedy=REMEDY,
        )

    def read(value: dict[str, Any]) -> _Document:
        answers = {one: _details_answer(value, one, len(methods) == 1) for one in methods}
        return _Document(value, answers, _text(value, *_IDS))

    kind = "omniparser" if file.kind == "lines" else "screenspot-pro"
    return FileContent(kind, file.items(read), methods)


def _is_place(value: Any) -> bool:
    return not isinstance(value, int | float | None) and _answer(value).place is not None


def _details_answer(entry: Entry, method: str, alone: bool) -> RawAnswer:
    general = _VERDICTS if alone or method in _USUAL else ()
    verdicts = (f"{method}_correctness", f"{method}_correct", *general)
    stored = _verdict(*(entry.get(key) for key in verdicts))
    answer = _answer(entry.get(method), stored=stored, raw=entry.get("raw_response"))
    if _is_negative(entry):
        # These files don't store the answer, only whether it was right. To refuse is.
        beside = answer.place is not None and max(answer.place) < 0
        if beside or (answer.place is None and stored is True):
            return replace(answer, parsed=Parsed("refusal"))
    return answer


# --- zoom-consistency captures

_FIRST_STEP = re.compile(r"(?:\w+_)?(?:s1|step1)")


def _read_capture(file: _File, _only: str | None) -> FileContent:
    fields = dict.fromkeys(key for value in file.objects[:_SCANNED] for key in value)
    first = [key for key in fields if _FIRST_STEP.fullmatch(key)]
    steps = [key for key in fields if key in first or re.fullmatch(r"(?:\w+_)?final", key)]
    # The field with each model's answer inside of its own crop.
    second = {
        model: key
        for model in (step.removesuffix("_final") for step in steps if step.endswith("_final"))
        for key in (f"{model}_s2_{model}crop", f"{model}_step2", f"{model}_s2")
        if key in fields
    }
    routed = len(second) > 1

    def answer(value: Entry, step: str) -> RawAnswer:
        if step in first:
            return _answer(value.get(step), stored=_verdict(value.get(f"{step}_correct")))
        model = step.removesuffix("final")
        final = _answer(value.get(step), stored=_verdict(value.get(f"{model}correct")))
        return replace(final, crop=_box(value.get(f"{model}crop_box")))

    def read(value: dict[str, Any]) -> _Document:
        answers = {step: answer(value, step) for step in steps}
        if routed:
            answers[_ROUTER] = answers[f"{_route(value, second)}_final"]
        return _Document(value, answers, sample=_text(value, "idx", "id"))

    return FileContent(
        "zoom-consistency",
        file.items(read, ()),
        (*steps, *((_ROUTER, ORACLE) if routed else ())),
        oracle_of=tuple(f"{model}_final" for model in second) if routed else (),
        thousandths=frozenset(first),
        boxes="size",
    )


def _route(entry: Entry, second: Mapping[str, str]) -> str:
    """Return the model whose second answer is closest to the middle of its crop, or the first."""
    distances: dict[str, float] = {}
    for model, key in second.items():
        place = _answer(entry.get(key)).place
        if place is not None and len(place) == 2:
            middle = 0.5 if max(place) <= 1 else 500.0
            distances[model] = hypot(place[0] - middle, place[1] - middle)
    return min(distances or second, key=lambda model: distances.get(model, 0.0))


# --- Showdown's clicks

_CLICKS = (("pred_x", "pred_y"), ("predicted_x", "predicted_y"), ("click_x", "click_y"), ("x", "y"))
_CLICK_TEXTS = ("pred", "prediction", "predicted", "point", "click")
_TARGETS = (("gt_x1", "gt_y1", "gt_x2", "gt_y2"), ("x1", "y1", "x2", "y2"))


def _clicks(file: _File, targets: Path | None) -> _File:
    """Check that a table has clicks; with the data set's `data.csv`, join its rows by id."""
    columns = {str(key) for key in file.values[0]}
    if not any(set(pair) <= columns for pair in _CLICKS) and not columns & set(_CLICK_TEXTS):
        raise InputError(
            f"{file.path} has no predicted clicks. {_list(columns)} Wanted: pred_x and pred_y.",
            remedy=REMEDY,
        )
    if targets is None:
        return file
    data = targets / "data.csv" if targets.is_dir() else targets
    answers = {str(row.get("id")): row for row in file.values}
    rows = {str(row.get("id")): row for row in _read_file(data).objects}
    if not answers.keys() & rows.keys():
        raise InputError(
            f"No id of {file.path} is in {data}.",
            remedy="Predictions and targets belong together by the column id.",
        )
    wanted = {*(key for pair in _CLICKS for key in pair), *_CLICK_TEXTS, "is_in_bbox", "missing"}
    clicks = {name: answers.get(name, {"missing": "yes"}) for name in rows}
    joined = [
        {**row, **{key: value for key, value in clicks[name].items() if key in wanted}}
        for name, row in rows.items()
    ]
    return replace(file, values=joined)


def _read_showdown(file: _File, _only: str | None) -> FileContent:
    def read(row: dict[str, Any]) -> _Document:
        if None in row or None in row.values():
            problem = "the row has more or fewer values than the header has columns"
            return _Document({}, {}, "unreadable", problem=problem)
        pair = next((pair for pair in _CLICKS if set(pair) <= set(row)), None)
        value = [row[key] for key in pair] if pair else _first(row, _CLICK_TEXTS)
        stored = _verdict(row.get("is_in_bbox"))
        answer = _answer(value, stored=stored, raw=row.get("raw_response"))
        boxes = (_box([row.get(key) for key in keys]) for keys in _TARGETS)
        target = next((box for box in boxes if box), None)
        missing = "there is no prediction" if "missing" in row else ""
        return _Document(row, {PRED: answer}, _text(row, "id"), target=target, problem=missing)

    return FileContent("showdown", file.items(read))


# Readers by a test of the file's kind and the keys of its first entries; the first match wins.
_READERS: Sequence[
    tuple[Callable[[_File, set[str]], bool], Callable[[_File, str | None], FileContent]]
] = (
    (lambda file, _: file.kind == "inspect", _read_inspect),
    (lambda _, keys: {"doc_id", "filtered_resps"} <= keys, _read_lmms_eval),
    (lambda _, keys: {"doc_id", "resps"} <= keys, _read_lmms_eval),
    (lambda _, keys: {"index", "prediction"} <= keys, _read_vlmevalkit),
    (lambda _, keys: {"answer", "ground_truth"} <= keys, _read_screensuite),
    (lambda file, _: file.kind == "table", _read_showdown),
    (lambda _, keys: any(k == "final" or k.endswith("_final") for k in keys), _read_capture),
    (lambda _, __: True, _read_details),
)
