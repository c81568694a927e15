"""Read published prediction files: one reader for each format, entries as they are written.

ScreenSpot-Pro's script and its copies write `details`, OmniParser's log has the same entries one
per line, zoom-consistency captures have several steps per item, Showdown publishes a CSV of clicks.
`predictions` decides what the numbers mean.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import hypot
from pathlib import Path
from typing import Any

from uiproof.errors import InputError, UsageError
from uiproof.files import access

Entry = Mapping[str, Any]
Numbers = tuple[float, ...]  # two for a point, four for a box
Size = tuple[int, int]

REMEDY = (
    "Known are the result files of ScreenSpot-Pro's script and its copies (`details`), "
    "OmniParser's log (JSON lines), zoom-consistency captures and Showdown's CSV."
)
ORACLE = "oracle"
_ROUTER = "router"
_PRED = "pred"
_NOT_AN_OBJECT = "an object was expected"
_MISSING = "there is no prediction"


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """The answer of one method to one item, in the file's own numbers."""

    place: Numbers | None = None  # None where nothing can be read
    refused: bool = False
    stored: bool | None = None  # whether the file calls it correct
    raw: str = ""
    crop: Numbers | None = None  # the part that was looked at last: corners in pixels


@dataclass(frozen=True, slots=True)
class RawItem:
    """One entry of a file, before it is decided what its numbers mean."""

    where: str  # for messages: the file and the number of the entry
    sample: str  # the screenshot
    name: str  # tells it from other items of the screenshot
    instruction: str = ""
    image: str = ""
    box: Numbers | None = None
    size: Size | None = None  # of the screenshot in pixels, where the file has it
    negative: bool = False  # there is no such element; to refuse is right
    tags: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, RawAnswer] = field(default_factory=dict)  # by method
    problem: str = ""  # why the entry cannot be used


@dataclass(frozen=True, slots=True)
class FileContent:
    """The items of a prediction file."""

    format: str
    items: tuple[RawItem, ...]
    methods: tuple[str, ...]
    oracle_of: tuple[str, ...] = ()  # methods of which `oracle` takes one that is right
    thousandths: frozenset[str] = frozenset()  # methods that use them where numbers leave it open
    published: float | None = None  # the accuracy that the file itself states


def read_content(
    path: Path, *, only: str | None = None, targets: Path | None = None
) -> FileContent:
    """Read a prediction file, whose format shows from its content.

    `only` is the only method wanted; `targets` is Showdown's `data.csv`.
    """
    entries = _read_entries(path)
    if entries.kind == "csv":
        if only not in (None, _PRED):
            raise UsageError(f"{path} has no method {only}.", remedy=f"It has: {_PRED}.")
        return _read_showdown(entries, targets)
    if targets is not None:
        raise UsageError(f"{path} has its own targets.", remedy="Leave out the annotations.")
    first = [key for value in entries.objects[:20] for key in value]
    if any(key == "final" or key.endswith("_final") for key in first):
        return _read_capture(entries, only)
    return _read_details(entries, only)


# --- entries of a file

_LISTS = ("details", "results", "predictions", "samples", "data", "items")
_LONGEST_FIELD = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries of a file; those that are no objects become failed cases."""

    path: Path
    kind: str  # "json", "lines" or "csv"
    values: list[Any]
    published: float | None = None

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [value for value in self.values if isinstance(value, dict)]

    def where(self, number: int) -> str:
        """Return the name of an entry in messages; numbers count from 1."""
        return f"{self.path}, {'line' if self.kind == 'lines' else 'item'} {number}"

    def unreadable(self, number: int, problem: str) -> RawItem:
        return RawItem(self.where(number), f"#{number}", "unreadable", problem=problem[:200])


def _read_entries(path: Path) -> _Entries:
    if path.is_dir() or not path.exists():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"{path} {problem}.", remedy="Give a file of predictions.")
    with access(path, "read"):
        content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text in UTF-8: {error}.", remedy=REMEDY) from error
    if not text:
        raise InputError(f"{path} is empty.", remedy=REMEDY)
    if path.suffix.lower() == ".csv" or text[0] not in "[{":
        return _Entries(path, "csv", _csv_rows(path, text))
    return _json_entries(path, text)


def _csv_rows(path: Path, text: str) -> list[Any]:
    before = csv.field_size_limit(_LONGEST_FIELD)  # whole answers of models are in it
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


def _json_entries(path: Path, text: str) -> _Entries:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [_json_line(line) for line in text.splitlines() if line.strip()]
        if not isinstance(lines[0], dict):
            raise InputError(f"{path} is not JSON: {error}.", remedy=REMEDY) from error
        return _Entries(path, "lines", lines)
    if isinstance(content, dict) and "bbox" in content:
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
    for metrics in (_get(content, "metrics"), _get(content, "results", "metrics")):
        for total in ("overall", "overall_simple"):
            if isinstance(overall := _get(metrics, total), dict):
                return _number(overall.get("action_acc"))
    return None


def _get(content: Any, *keys: str) -> Any:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


# --- values of an entry

_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?")
_PLACE_KEYS = ("point", "coordinate", "coordinates", "click", "center", "position", "bbox", "box")
_RIGHT = {"correct", "true", "right", "hit", "yes", "1", "1.0"}
_WRONG = {"wrong", "incorrect", "wrong_format", "false", "miss", "no", "0", "0.0"}
_NOTHING = {"", "none", "null", "nan", "wrong_format", "[]", "()", "{}"}
_RAW_LENGTH = 4000  # of an answer's text; some files repeat whole transcripts


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


def _numbers(value: Any) -> Numbers | None:
    """Return the numbers of a list, also of `[[x, y]]` and of two corners."""
    if not isinstance(value, list | tuple) or len(value) > 4:
        return None
    if any(isinstance(part, list | tuple) for part in value):
        inner = [_numbers(part) for part in value]
        if len(inner) == 1:
            return inner[0]
        pairs = [part for part in inner if part is not None and len(part) == 2]
        return pairs[0] + pairs[1] if len(pairs) == len(inner) == 2 else None
    found = [number for part in value if (number := _number(part)) is not None]
    return tuple(found) if len(found) == len(value) else None


def _written_numbers(value: Any) -> Numbers | None:
    """Return the numbers of a list or of a short text such as `<1, 2, 3, 4>`."""
    if isinstance(value, str):
        return tuple(map(float, _NUMBER.findall(value))) if len(value) < 200 else None
    return _numbers(value)


def _box(value: Any) -> Numbers | None:
    found = _written_numbers(value)
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
    found = _written_numbers(value)
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
        from uiproof.benchmarks.grounding.parsing import parse

        value = value[:_RAW_LENGTH]
        parsed = parse(value)
        return RawAnswer(parsed.numbers or None, parsed.kind == "refusal", stored, text or value)
    found = _numbers(value)
    place = found if found is not None and len(found) in (2, 4) else None
    return RawAnswer(place, stored=stored, raw=text)


def _only_text(value: Any) -> str | None:
    """Return the text of a list that holds nothing else."""
    alone = isinstance(value, list) and len(value) == 1 and isinstance(value[0], str)
    return value[0] if alone else None


def _verdict(value: Any) -> bool | None:
    """Return whether a file calls an answer correct; None where it does not say."""
    word = str(value).strip().lower()
    return True if word in _RIGHT else False if word in _WRONG else None


# --- items of all formats

_IMAGE = ("img_path", "image_path", "img_filename", "image", "file_name", "filename", "img")
_BOX = ("bbox", "gt_bbox", "box", "gt_box", "target_bbox", "ground_truth_bbox")
_INSTRUCTION = ("prompt_to_evaluate", "instruction", "prompt", "query", "task")
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
    box = None if negative else _box(target)
    problem = "" if negative or box else f"the target's box is not four numbers: {target!r:.100}"
    image, size, tags = _text(entry, *_IMAGE), _size(entry), _tags(entry)
    return RawItem(
        where, sample, name or slug, instruction, image, box, size, negative, tags, answers, problem
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


# --- ScreenSpot-Pro's script and its copies, OmniParser's log

_PREDICTED = re.compile(
    r"pred(icted|iction|s)?(_.*)?|.*_pred(iction)?|(click_?)?(point|coordinates?|xy)|click"
)
_USUAL = ("pred", "prediction")  # methods even where every one of them is null
_VERDICTS = ("correctness", "correct", "is_correct", "is_in_bbox", "hit", "success")
_SCANNED = 500  # entries that are scanned for the fields with predictions


def _read_details(entries: _Entries, only: str | None) -> FileContent:
    objects = entries.objects
    methods = (only,) if only else _prediction_fields(objects[:_SCANNED])
    if not methods or not any(method in value for value in objects for method in methods):
        keys = ", ".join(sorted({str(key) for value in objects[:_SCANNED] for key in value}))
        wanted = f"the field {only}" if only else "a prediction"
        raise InputError(f"No item of {entries.path} has {wanted}. It has: {keys}.", remedy=REMEDY)
    samples = iter(_sample_names(objects))
    items = []
    for count, value in enumerate(entries.values, start=1):
        if not isinstance(value, dict):
            problem = str(value) if entries.kind == "lines" else _NOT_AN_OBJECT
            items.append(entries.unreadable(count, problem))
            continue
        negative = _text(value, "gt_type").lower() == "negative"
        answers = {
            method: _details_answer(value, method, len(methods) == 1, negative)
            for method in methods
        }
        sample = next(samples) or f"#{count}"
        name = _text(value, "id", "ui_id", "element_id")
        where = entries.where(count)
        items.append(_item(value, where, sample, answers, name=name, negative=negative))
    kind = "omniparser" if entries.kind == "lines" else "screenspot-pro"
    return FileContent(kind, tuple(items), methods, published=entries.published)


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
    refused = answer.refused or beside or (answer.place is None and stored is True)
    return replace(answer, place=None if refused else answer.place, refused=refused)


# --- zoom-consistency captures

_STEP = re.compile(r"(?:\w+_)?(?:s1|step1|final)")
_FIRST_STEP = re.compile(r"(?:\w+_)?(?:s1|step1)")


def _read_capture(entries: _Entries, only: str | None) -> FileContent:
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
    methods = (*steps, *((_ROUTER, ORACLE) if routed else ()))
    if only and only not in methods:
        raise UsageError(
            f"{entries.path} has no method {only}.", remedy=f"It has: {', '.join(methods)}."
        )
    items = []
    for count, value in enumerate(entries.values, start=1):
        if not isinstance(value, dict):
            items.append(entries.unreadable(count, _NOT_AN_OBJECT))
            continue
        answers = {step: _capture_answer(value, step) for step in steps}
        if routed:
            answers[_ROUTER] = answers[f"{_route(value, second)}_final"]
        sample = _text(value, "idx", "id") or f"#{count}"
        items.append(_item(value, entries.where(count), sample, answers))
    return FileContent(
        "zoom-consistency",
        tuple(items),
        (only,) if only else methods,
        oracle_of=tuple(f"{model}_final" for model in second) if routed else (),
        thousandths=frozenset(step for step in steps if _FIRST_STEP.fullmatch(step)),
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


def _read_showdown(entries: _Entries, targets: Path | None) -> FileContent:
    columns = {str(key) for key in entries.values[0]}
    if not any(set(pair) <= columns for pair in _CLICKS) and not columns & set(_CLICK_TEXTS):
        raise InputError(
            f"{entries.path} has no predicted clicks, only: {', '.join(sorted(columns))}.",
            remedy="The columns are called pred_x and pred_y.",
        )
    if targets is not None:
        rows = _joined(entries, targets)
    elif any(set(four) <= columns for four in _TARGETS) or "bbox" in columns:
        rows = [(entries.where(count), row) for count, row in enumerate(entries.values, start=1)]
    else:
        raise InputError(
            f"{entries.path} has clicks and no targets.",
            remedy="Give the data set's data.csv with it.",
        )
    names = _sample_names([row for _, row in rows])
    items = []
    for count, ((where, row), name) in enumerate(zip(rows, names, strict=True), start=1):
        if None in row or None in row.values():
            problem = "the row has more or fewer values than the header has columns"
            items.append(RawItem(where, f"#{count}", "unreadable", problem=problem))
            continue
        boxes = (_box([row.get(key) for key in keys]) for keys in _TARGETS)
        target = next((box for box in boxes if box), None)
        answers = {_PRED: _click_answer(row)}
        item = _item(row, where, name or f"#{count}", answers, name=_text(row, "id"), target=target)
        items.append(replace(item, problem=_MISSING) if "missing" in row else item)
    return FileContent("showdown", tuple(items), (_PRED,))


def _joined(entries: _Entries, targets: Path) -> list[tuple[str, Any]]:
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
    rows: list[tuple[str, Any]] = []
    for count, target in enumerate(found.objects, start=1):
        answer = answers.get(str(target.get("id")))
        if answer is None:
            rows.append((f"{entries.path} for {target.get('id')}", {**target, "missing": "yes"}))
        else:
            clicks = {key: value for key, value in answer.items() if key in wanted}
            rows.append((found.where(count), {**target, **clicks}))
    return rows


def _click_answer(row: Entry) -> RawAnswer:
    pair = next((pair for pair in _CLICKS if set(pair) <= set(row)), None)
    value = [row[key] for key in pair] if pair else _first(row, _CLICK_TEXTS)
    stored = _verdict(row.get("is_in_bbox"))
    return _answer(value, stored=stored, raw=row.get("raw_response"))
