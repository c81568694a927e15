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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import hypot
from pathlib import Path
from typing import Any, Literal

from uiproof.benchmark import look_up
from uiproof.benchmarks.grounding.coordinates import Contract, contract_for
from uiproof.benchmarks.grounding.data import AnnotatedElement
from uiproof.benchmarks.grounding.parsing import NOTHING, Parsed, parse
from uiproof.errors import InputError, UsageError
from uiproof.files import access

Entry = Mapping[str, Any]
Numbers = tuple[float, ...]  # two for a point, four for a box, more for a polygon
Size = tuple[int, int]

FIELDS = ("prediction", "bbox", "instruction", "image", "id", "width", "height", "correct")
REMEDY = (
    "Say what the columns are, for example --map answer=prediction --map target=bbox; "
    f"fields are {', '.join(FIELDS)}."
)
ORACLE = "oracle"
PRED = "pred"
_ROUTER = "router"
_NOT_AN_OBJECT = "an object was expected"
_MISSING = "there is no prediction"
_RAW_LENGTH = 4000  # of an answer's text; some files repeat whole transcripts


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
    methods: tuple[str, ...]
    oracle_of: tuple[str, ...] = ()  # methods of which `oracle` takes one that is right
    thousandths: frozenset[str] = frozenset()  # methods whose points are 0-1000, not pixels
    published: float | None = None  # the accuracy that the file itself states
    boxes: Literal["corners", "size"] = "corners"  # the last two numbers of its boxes
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
    entries = _read_entries(path)
    if columns:
        entries, only = _renamed(entries, columns), "prediction"
    keys = {str(key) for value in entries.objects[:20] for key in value}
    name = next((name for name, wanted in _DETECTED if wanted(entries, keys)), "screenspot-pro")
    if targets is not None and name != "showdown":
        raise UsageError(f"{path} has its own targets.", remedy="Leave out the annotations.")
    content = _READERS[name](entries, only, targets)
    if only and only not in content.methods:
        raise UsageError(
            f"{path} has no method {only}.", remedy=f"It has: {', '.join(content.methods)}."
        )
    return replace(content, methods=(only,)) if only else content


# --- entries of a file

_LISTS = ("details", "results", "predictions", "samples", "data", "items")
_LONGEST_FIELD = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries of a file; those that are no objects become failed cases."""

    path: Path
    kind: str  # "json", "lines", "table" or "inspect"
    values: list[Any]
    published: float | None = None
    header: Entry = field(default_factory=dict)  # of an inspect log

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [value for value in self.values if isinstance(value, dict)]

    def where(self, number: int) -> str:
        """Return the name of an entry in messages; numbers count from 1."""
        return f"{self.path}, {'line' if self.kind == 'lines' else 'item'} {number}"

    def items(self, read: Callable[[int, str, dict[str, Any]], RawItem]) -> tuple[RawItem, ...]:
        """Read every entry; what is no object is an item with a problem."""
        items = []
        for count, value in enumerate(self.values, start=1):
            where = self.where(count)
            if isinstance(value, dict):
                items.append(read(count, where, value))
            else:
                problem = str(value)[:200] if self.kind == "lines" else _NOT_AN_OBJECT
                items.append(RawItem(where, f"#{count}", "unreadable", problem=problem))
        return tuple(items)


def _read_entries(path: Path) -> _Entries:
    if path.is_dir() or not path.exists():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"{path} {problem}.", remedy="Give a file of predictions.")
    with access(path, "read"):
        content = path.read_bytes()
    if content.startswith(b"PK\x03\x04"):
        from uiproof.benchmarks.grounding import archives

        if archives.is_log(content):
            header, samples = archives.read_log(path, content)
            return _Entries(path, "inspect", samples, header=header)
        return _Entries(path, "table", archives.read_sheet(path, content))
    try:
        text = content.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text in UTF-8: {error}.", remedy=REMEDY) from error
    if not text:
        raise InputError(f"{path} is empty.", remedy=REMEDY)
    if path.suffix.lower() in (".csv", ".tsv") or text[0] not in "[{":
        return _Entries(path, "table", _table_rows(path, text))
    return _json_entries(path, text)


def _table_rows(path: Path, text: str) -> list[Any]:
    before = csv.field_size_limit(_LONGEST_FIELD)  # whole answers of models are in it
    tabs = path.suffix.lower() == ".tsv" or "\t" in text.split("\n", 1)[0]
    try:
        lines = io.StringIO(text, newline="")
        reader = csv.DictReader(lines, delimiter="\t" if tabs else ",")
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


def _json_entries(path: Path, text: str) -> _Entries:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [_json_line(line) for line in text.splitlines() if line.strip()]
        if not isinstance(lines[0], dict):
            raise InputError(f"{path} is not JSON: {error}.", remedy=REMEDY) from error
        return _Entries(path, "lines", lines)
    if isinstance(content, dict):
        if isinstance(content.get("eval"), dict) and isinstance(content.get("samples"), list):
            return _Entries(path, "inspect", content["samples"], header=content)
        if path.suffix == ".jsonl" or "bbox" in content:
            return _Entries(path, "lines", [content])
    values = _find_list(content)
    if not values:
        problem = "an empty list" if values == [] else "no list of predictions"
        if values is None and {"results", "metrics", "overall"} & set(content):
            problem = "only totals, no predictions"
        raise InputError(f"{path} holds {problem}.", remedy=REMEDY)
    return _Entries(path, "json", values, _published(content))


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


def _published(content: Any) -> float | None:
    for path in ("metrics", "results.metrics"):
        for total in ("overall", "overall_simple"):
            overall = look_up(content, f"{path}.{total}") if isinstance(content, dict) else None
            if isinstance(overall, dict):
                return _number(overall.get("action_acc"))
    return None


def _renamed(entries: _Entries, columns: Mapping[str, str]) -> _Entries:
    """Return the entries with the fields that the user named, in the form of `details`."""
    unknown = sorted(set(columns.values()) - set(FIELDS))
    if unknown or "prediction" not in columns.values():
        problem = f"There is no field {unknown[0]!r}." if unknown else "No column is prediction."
        raise UsageError(problem, remedy=REMEDY)
    present = {str(key) for value in entries.objects[:_SCANNED] for key in value}
    for column in columns:
        if column.split(".")[0] not in present:
            raise UsageError(f"There is no column {column!r}.", remedy=_list(present))
    values = [
        {field: look_up(value, column) for column, field in columns.items()}
        if isinstance(value, dict)
        else value
        for value in entries.values
    ]
    return replace(entries, kind="lines" if entries.kind == "lines" else "json", values=values)


def _list(fields: Iterable[str]) -> str:
    found = sorted(fields)
    return f"It has: {', '.join(found[:30])}{', …' if len(found) > 30 else ''}."


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


def _verdict(value: Any) -> bool | None:
    """Return whether a file calls an answer correct; None where it does not say."""
    word = str(value).strip().lower()
    return True if word in _RIGHT else False if word in _WRONG else None


# --- items of all formats

_IMAGE = ("img_path", "image_path", "img_filename", "image", "file_name", "filename", "img")
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


def _item(
    entry: Entry,
    where: str,
    sample: str,
    answers: Mapping[str, RawAnswer],
    *,
    name: str = "",
    target: Any = None,
    negative: bool = False,
) -> RawItem:
    """Return an item; without a name it gets a short one such as `mark-dimensions`."""
    instruction = _text(entry, *_INSTRUCTION)
    slug = "-".join(re.findall(r"\w+", instruction.lower()))[:60].strip("-_") or "element"
    target = _first(entry, _BOX) if target is None else target
    kind = _text(entry, "box_type").lower()
    negative = negative or kind == "refusal"
    polygon = (_numbers(target, most=1000) or ()) if kind == "polygon" else ()
    box = None if negative or polygon else _box(target)
    known = negative or box or (len(polygon) >= 6 and len(polygon) % 2 == 0)
    return RawItem(
        where=where,
        sample=sample,
        name=name or slug,
        instruction=instruction,
        image=_text(entry, *_IMAGE),
        box=box,
        polygon=polygon,
        size=_size(entry),
        negative=negative,
        tags=_tags(entry),
        answers=answers,
        problem="" if known else f"the target's box is not four numbers: {target!r:.100}",
    )


def _tags(entry: Entry) -> dict[str, str]:
    """Return the tags by which rates are split up, without unknown ones."""
    tags = {tag: _text(entry, *keys) for tag, keys in _TAG_KEYS.items()}
    if not tags["group"]:
        file_name = re.split(r"[\\/]", _text(entry, *_IMAGE))[-1]
        words = re.findall(r"[a-z]+", f"{_text(entry, 'task_filename')} {file_name}".lower())
        tags["group"] = next((_PARTS[word] for word in words if word in _PARTS), "")
    return {tag: value for tag, value in tags.items() if value not in ("", "?", "unknown")}


def _sample_names(entries: Sequence[Entry]) -> list[str]:
    """Return names for screenshots: their paths without the folders that all have in common."""
    parts = [re.split(r"[\\/]+", _text(entry, *_IMAGE)) for entry in entries]
    folders = [one[:-1] for one in parts if one != [""]]
    common = 0
    if folders:
        low, high = min(folders), max(folders)
        while common < min(len(low), len(high)) and low[common] == high[common]:
            common += 1
    return ["/".join([*one[common:-1], re.sub(r"\.\w{2,5}$", "", one[-1])]) for one in parts]


# --- lmms-eval, VLMEvalKit, inspect_ai, screensuite


_INSTRUCTION_END = re.compile(r"Instructions?:\s*(.+?)\s*(?:Output:)?\s*\Z", re.DOTALL)


def _read_lmms_eval(entries: _Entries, _only: str | None, _targets: Path | None) -> FileContent:
    """Read samples of lmms-eval; since 0.6 it leaves out the annotations (`doc`) and the sizes."""

    def document(value: Entry) -> dict[str, Any]:
        prompt = _INSTRUCTION_END.search(str(value.get("input")))
        media = value.get("input_media")
        image = media[0] if isinstance(media, list) and media else ""
        doc = value["doc"] if isinstance(value.get("doc"), dict) else {}
        instruction = prompt[1] if prompt else value.get("target")
        return {"instruction": instruction, "image": image, **doc}

    docs = [document(value) for value in entries.objects]
    named = iter(zip(docs, _sample_names(docs), strict=True))

    def read(count: int, where: str, value: dict[str, Any]) -> RawItem:
        doc, sample = next(named)
        scores = (score for score in value.values() if isinstance(score, dict))
        stored = next((_verdict(one["correct"]) for one in scores if "correct" in one), None)
        said = _first(value, ("filtered_resps", "resps"))
        answer = {PRED: _answer(said, stored=stored, raw=value.get("resps"))}
        return _item(doc, where, sample or f"#{count}", answer, name=_text(doc, *_IDS))

    return FileContent("lmms-eval", entries.items(read), (PRED,))


def _read_vlmevalkit(entries: _Entries, _only: str | None, _targets: Path | None) -> FileContent:
    names = iter(_sample_names([{**row, "image": ""} for row in entries.objects]))

    def read(_count: int, where: str, row: dict[str, Any]) -> RawItem:
        sample = next(names) or f"#{row.get('index')}"
        row = {**row, "image": _text(row, *_IMAGE) if len(_text(row, "image")) < 300 else ""}
        # The group of ScreenSpot-Pro is called category there.
        row.setdefault("group", row.get("category"))
        answer = _answer(row.get("prediction"), stored=_verdict(_first(row, ("match", "hit"))))
        return _item(row, where, sample, {PRED: answer}, name=_text(row, *_IDS))

    return FileContent("vlmevalkit", entries.items(read), (PRED,))


def _read_inspect(entries: _Entries, _only: str | None, _targets: Path | None) -> FileContent:
    about = entries.header.get("eval")
    about = about if isinstance(about, dict) else {}

    def read(count: int, where: str, sample: dict[str, Any]) -> RawItem:
        metadata = sample.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        scores = sample.get("scores")
        values = [one.get("value") for one in scores.values()] if isinstance(scores, dict) else []
        values = [_first(one, ("accuracy",)) if isinstance(one, dict) else one for one in values]
        stored = next((v for v in map(_verdict, values) if v is not None), None)
        completion = look_up(sample, "output.completion") or _spoken(sample.get("output"))
        target = _first(metadata, _BOX) or sample.get("target")
        sample_id, epoch = str(sample.get("id", count)), sample.get("epoch", 1)
        screen, _, name = sample_id.rpartition("/")
        entry = {"instruction": _spoken(sample.get("input")), **metadata}
        return _item(
            entry,
            where,
            screen or _sample_names([entry])[0] or f"#{count}",
            {PRED: _answer(completion, stored=stored)},
            name=name if epoch == 1 else f"{name}@{epoch}",
            target=target,
        )

    ours = str(about.get("task", "")).startswith("uiproof/")
    contract = contract_for(str(about.get("model", ""))) if ours else None
    return FileContent("inspect", entries.items(read), (PRED,), contract=contract)


def _spoken(value: Any) -> str:
    """Return the last text of an input, a list of messages, or an output of inspect_ai."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        inner = value.get("choices") or value.get("message") or value.get("content")
        return _spoken(inner) if inner else str(value.get("text") or "")
    if isinstance(value, list):
        return next((text for part in reversed(value) if (text := _spoken(part))), "")
    return ""


_PYDANTIC_BOX = re.compile(r"x=(\S+) y=(\S+) width=(\S+) height=(\S+)")


def _read_screensuite(entries: _Entries, _only: str | None, _targets: Path | None) -> FileContent:
    def read(count: int, where: str, value: dict[str, Any]) -> RawItem:
        truth = value.get("ground_truth")
        truth = truth if isinstance(truth, list) else [truth]
        # The box is written as the text of a pydantic object: fractions, with width and height.
        found = next((m for one in truth if (m := _PYDANTIC_BOX.search(str(one)))), None)
        size = next((one for one in truth if isinstance(one, list) and len(one) == 2), None)
        prompt = _INSTRUCTION_END.search(_spoken(value.get("input")))
        x, y, w, h = map(_number, found.groups()) if found else (None,) * 4
        box = None if None in (x, y, w, h) else [x, y, x + w, y + h]  # type: ignore[operator]
        entry = {"instruction": prompt[1] if prompt else "", "image_size": size}
        answer = _answer(value.get("answer"))
        return _item(entry, where, f"#{count}", {PRED: answer}, target=box)

    return FileContent("screensuite", entries.items(read), (PRED,))


# --- ScreenSpot-Pro's script and its copies, OmniParser's log

_PREDICTED = re.compile(
    r"pred(icted|iction|s)?(_.*)?|.*_pred(iction)?|(click_?)?(point|coordinates?|xy)|click"
)
_USUAL = ("pred", "prediction")  # methods even where every one of them is null
_VERDICTS = ("correctness", "correct", "is_correct", "is_in_bbox", "hit", "success")
_SCANNED = 500  # entries that are scanned for the fields with predictions


def _read_details(entries: _Entries, only: str | None, _targets: Path | None) -> FileContent:
    objects = entries.objects
    methods = (only,) if only else _prediction_fields(objects[:_SCANNED])
    if not methods or not any(method in value for value in objects for method in methods):
        found = {str(key) for value in objects[:_SCANNED] for key in value}
        wanted = f"No item has the field {only}" if only else "Its format is not known"
        raise InputError(
            f"{entries.path}: {wanted}. {_list(found)} Wanted: a prediction (such as pred) and a "
            "target (bbox).",
            remedy=REMEDY,
        )
    samples = iter(_sample_names(objects))

    def read(count: int, where: str, value: dict[str, Any]) -> RawItem:
        negative = _text(value, "gt_type").lower() == "negative"
        answers = {
            method: _details_answer(value, method, len(methods) == 1, negative)
            for method in methods
        }
        sample = next(samples) or f"#{count}"
        return _item(value, where, sample, answers, name=_text(value, *_IDS), negative=negative)

    kind = "omniparser" if entries.kind == "lines" else "screenspot-pro"
    return FileContent(kind, entries.items(read), methods, published=entries.published)


def _prediction_fields(objects: Sequence[Entry]) -> tuple[str, ...]:
    keys = dict.fromkeys(key for value in objects for key in value)
    named = [key for key in keys if _PREDICTED.fullmatch(key)]
    found = [key for key in named if any(_is_place(value.get(key)) for value in objects)]
    return tuple(found or [key for key in named if key in _USUAL])


def _is_place(value: Any) -> bool:
    return not isinstance(value, int | float | None) and _answer(value).place is not None


def _details_answer(entry: Entry, method: str, alone: bool, negative: bool) -> RawAnswer:
    own = (f"{method}_correctness", f"{method}_correct")
    general = _VERDICTS if alone or method in _USUAL else ()
    verdicts = (_verdict(entry.get(key)) for key in (*own, *general))
    stored = next((verdict for verdict in verdicts if verdict is not None), None)
    answer = _answer(entry.get(method), stored=stored, raw=entry.get("raw_response"))
    if not negative:
        return answer
    # These files don't store the answer, only whether it was right. To refuse is.
    beside = answer.place is not None and max(answer.place) < 0
    if beside or (answer.place is None and stored is True):
        return replace(answer, parsed=Parsed("refusal"))
    return answer


# --- zoom-consistency captures

_STEP = re.compile(r"(?:\w+_)?(?:s1|step1|final)")
_FIRST_STEP = re.compile(r"(?:\w+_)?(?:s1|step1)")


def _read_capture(entries: _Entries, _only: str | None, _targets: Path | None) -> FileContent:
    fields = dict.fromkeys(key for value in entries.objects[:_SCANNED] for key in value)
    steps = [key for key in fields if _STEP.fullmatch(key)]
    # The field with each model's answer inside of its own crop.
    second = {
        model: key
        for model in (step.removesuffix("_final") for step in steps if step.endswith("_final"))
        for key in (f"{model}_s2_{model}crop", f"{model}_step2", f"{model}_s2")
        if key in fields
    }
    routed = len(second) > 1

    def read(count: int, where: str, value: dict[str, Any]) -> RawItem:
        answers = {step: _capture_answer(value, step) for step in steps}
        if routed:
            answers[_ROUTER] = answers[f"{_route(value, second)}_final"]
        return _item(value, where, _text(value, "idx", "id") or f"#{count}", answers)

    return FileContent(
        "zoom-consistency",
        entries.items(read),
        (*steps, *((_ROUTER, ORACLE) if routed else ())),
        oracle_of=tuple(f"{model}_final" for model in second) if routed else (),
        thousandths=frozenset(step for step in steps if _FIRST_STEP.fullmatch(step)),
        boxes="size",
    )


def _capture_answer(entry: Entry, step: str) -> RawAnswer:
    if _FIRST_STEP.fullmatch(step):
        return _answer(entry.get(step), stored=_verdict(entry.get(f"{step}_correct")))
    model = step.removesuffix("final")
    answer = _answer(entry.get(step), stored=_verdict(entry.get(f"{model}correct")))
    return replace(answer, crop=_box(entry.get(f"{model}crop_box")))


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


def _read_showdown(entries: _Entries, _only: str | None, targets: Path | None) -> FileContent:
    columns = {str(key) for key in entries.values[0]}
    if not any(set(pair) <= columns for pair in _CLICKS) and not columns & set(_CLICK_TEXTS):
        raise InputError(
            f"{entries.path} has no predicted clicks. {_list(columns)} Wanted: pred_x and pred_y.",
            remedy=REMEDY,
        )
    if targets is not None:
        entries = _joined(entries, targets)
    names = iter(_sample_names(entries.objects))

    def read(count: int, where: str, row: dict[str, Any]) -> RawItem:
        sample = next(names) or f"#{count}"
        if None in row or None in row.values():
            problem = "the row has more or fewer values than the header has columns"
            return RawItem(where, f"#{count}", "unreadable", problem=problem)
        boxes = (_box([row.get(key) for key in keys]) for keys in _TARGETS)
        target = next((box for box in boxes if box), None)
        answers = {PRED: _click_answer(row)}
        item = _item(row, where, sample, answers, name=_text(row, "id"), target=target)
        return replace(item, problem=_MISSING) if "missing" in row else item

    return FileContent("showdown", entries.items(read), (PRED,))


def _joined(entries: _Entries, targets: Path) -> _Entries:
    """Return the rows of the data set with their clicks, joined by id."""
    file = targets / "data.csv" if targets.is_dir() else targets
    answers = {str(row.get("id")): row for row in entries.values}
    found = _read_entries(file)
    if not answers.keys() & {str(row.get("id")) for row in found.objects}:
        raise InputError(
            f"No id of {entries.path} is in {file}.",
            remedy="Predictions and targets belong together by the column id.",
        )
    wanted = {*(key for pair in _CLICKS for key in pair), *_CLICK_TEXTS, "is_in_bbox"}
    rows: list[Any] = []
    for target in found.objects:
        answer = answers.get(str(target.get("id")))
        clicks = {"missing": "yes"} if answer is None else answer
        rows.append(
            {**target, **{key: clicks[key] for key in clicks if key in {*wanted, "missing"}}}
        )
    return replace(entries, values=rows)


def _click_answer(row: Entry) -> RawAnswer:
    pair = next((pair for pair in _CLICKS if set(pair) <= set(row)), None)
    value = [row[key] for key in pair] if pair else _first(row, _CLICK_TEXTS)
    stored = _verdict(row.get("is_in_bbox"))
    return _answer(value, stored=stored, raw=row.get("raw_response"))


_DETECTED: tuple[tuple[str, Callable[[_Entries, set[str]], bool]], ...] = (
    ("inspect", lambda entries, _: entries.kind == "inspect"),
    ("lmms-eval", lambda _, keys: "doc_id" in keys and bool(keys & {"filtered_resps", "resps"})),
    ("vlmevalkit", lambda _, keys: {"index", "prediction"} <= keys),
    ("screensuite", lambda _, keys: {"answer", "ground_truth"} <= keys),
    ("showdown", lambda entries, _: entries.kind == "table"),
    ("zoom-consistency", lambda _, keys: any(k == "final" or k.endswith("_final") for k in keys)),
)
_READERS: Mapping[str, Callable[[_Entries, str | None, Path | None], FileContent]] = {
    "inspect": _read_inspect,
    "lmms-eval": _read_lmms_eval,
    "vlmevalkit": _read_vlmevalkit,
    "screensuite": _read_screensuite,
    "showdown": _read_showdown,
    "zoom-consistency": _read_capture,
    "screenspot-pro": _read_details,
}
