"""Labels in and out of the studio as files.

    done = import_labels(store, [Path("human_evaluation")], runs=Path("runs"))
    export_task(store, done.tasks[0].task, Path("export"))

An export has the settled labels (`majority/`) and those of each person (`annotators/NAME/`) as
published label files where that format can hold them, all labels as a table (`labels.csv`), and
`labels.jsonl`, which holds everything and can be imported exactly. Its first line is the task, then
come its items, the current labels, and the decisions:

    {"format": 1, "task": {"key": "…", "kind": "judge", "title": "…", "per_item": 3, "created": …}}
    {"item": 1, "case": "12/3", "model": "gpt", "prompt": "cot", "run": null, "baseline": null}
    {"label": 1, "by": "Ann", "value": {"usable": true, "failure": "i", "also": ["f"]},
     "note": "", "at": "2025-01-31T12:00:00.000+00:00", "seconds": 12.5}
    {"decision": 1, "by": "Ann", "value": {…}, "note": "", "at": "…"}

`label` and `decision` hold the number of their item. An import is all or nothing, and importing the
same files again adds nothing.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import lzma
import re
import secrets
import sqlite3
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, ValidationError

from uiproof.errors import InputError
from uiproof.files import access, write_atomic
from uiproof.labels import (
    COLUMNS,
    Item,
    Kind,
    Label,
    LabelGroup,
    LabelValue,
    Question,
    questions_from_json,
    value_from_json,
)
from uiproof.studio.cases import all_annotations, annotation_of, cases_of
from uiproof.studio.results import (
    WHOLE_PAGE,
    SettledItem,
    TaskLabels,
    gather,
    label_groups,
    settled_items,
)
from uiproof.studio.runs import FoundRun, find_runs
from uiproof.studio.store import Store, insert_annotator, insert_items, insert_task, now

_NAME = "labels.jsonl"
_TABLE = "labels.csv"
_FORMAT = 1
PUBLISHED = "published labels"
MOST_BYTES = 64 * 1024 * 1024  # of one upload, and of all that is in a zip file
MOST_ENTRIES = 5000
_TITLES: dict[Kind, str] = {
    "judge": "Imported labels: usable, and what fails",
    "compare": "Imported labels: against the baseline",
}
_NAMES_SHOWN = 5
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LONGEST_WORD = 100  # bytes; two of them and some more must fit into the name of a file
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # on Windows


class BundleLabel(NamedTuple):
    """A label or a decision of a person."""

    item: int  # its number in the bundle
    by: str
    value: LabelValue
    note: str = ""
    at: str | None = None  # None: when it is imported
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class LabelBundle:
    """A task as files hold it."""

    key: str  # the same for the same task in every studio
    kind: Kind
    title: str
    per_item: int
    items: Mapping[int, Item]
    labels: Sequence[BundleLabel]
    decisions: Sequence[BundleLabel] = ()
    created: str | None = None  # None: when it is imported
    benchmark: str | None = None
    questions: tuple[Question, ...] = ()


class ImportedTask(NamedTuple):
    """The effect of an import on one task."""

    task: int
    title: str
    new: bool
    items: int  # added
    labels: int  # labels and decisions that were added
    known: int  # known already, or older than the current ones


class ImportReport(NamedTuple):
    """The effect of an import, and what could not be read."""

    tasks: Sequence[ImportedTask]
    problems: Sequence[str]


def import_labels(
    store: Store,
    paths: Sequence[Path],
    *,
    runs: Path | None = None,
    annotator: str = PUBLISHED,
    into: int | None = None,
    title: str | None = None,
) -> ImportReport:
    """Add labels from files, folders or zip files, all of them or none.

    `labels.jsonl` of an export is taken as it is. Published label files become one task of each
    kind, labelled by `annotator` (or by NAME for files below `annotators/NAME`); files about the
    same items go into the same task. `into` names another task. Items are linked to `runs` of the
    same model and prompt that have their case. Labels that are known already, or older than the
    current one of their person, are not added.
    """
    with _unpacked(paths) as found:
        bundles, problems = _read_files(found, annotator)
    if title:
        bundles = [replace(bundle, title=title) for bundle in bundles]
    link = _run_finder(runs)  # before the transaction: reading runs can take a while
    bundles = [replace(bundle, items=link(bundle)) for bundle in bundles]
    with store.writing() as db:
        return ImportReport([_add(db, bundle, into) for bundle in bundles], problems)


def export_task(store: Store, task: int, folder: Path) -> list[Path]:
    """Write a task into an empty folder; return the files. Open items are not in `majority/`."""
    said = gather(store, task)
    with access(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder} is not empty.", remedy="Name another folder.")
        files = [folder / _NAME, folder / _TABLE]
        write_atomic(files[0], "".join(_lines(said, _key_of(store, task))))
        write_atomic(files[1], labels_csv(said))
        if said.task.kind == "rate" or said.in_pairs:
            return files  # the published format has neither answers nor pairs
        files += _write_groups(said, settled_items(said), folder / "majority")
        taken: set[str] = set()
        for name in said.people:
            own = {n: {name: by[name]} for n, by in said.labels.items() if name in by}
            alone = settled_items(replace(said, labels=own, decisions={}))
            files += _write_groups(said, alone, folder / "annotators" / safe_word(name, taken))
    return files


def labels_csv(said: TaskLabels) -> str:
    """Return all labels and decisions of a task as a table, a row for each.

    A spreadsheet would run text that begins like a formula, so such text has a ' before it.
    """
    kind, asked = said.task.kind, [question.key for question in said.task.questions]
    own = {"judge": ["usable", "failure", "also"], "compare": ["outcome"], "rate": []}[kind]
    out = io.StringIO()
    split = COLUMNS.index("by") + 2
    header = [*COLUMNS[:split], *own, *asked, *COLUMNS[split:]]
    table = csv.DictWriter(out, header, lineterminator="\n")
    table.writeheader()
    for item in said.items:
        decision = said.decisions.get(item.id)
        for label in (*said.labels.get(item.id, {}).values(), decision):
            if label is None:
                continue
            value = label.value.as_json()
            row = {
                **{name: getattr(item, name) for name in ("case", "model", "prompt", "against")},
                "by": said.names[label.annotator],
                "decision": label is decision,
                **{name: value[name] for name in own},
                **value.get("answers", {}),
                **{name: getattr(label, name) for name in ("note", "at", "seconds")},
            }
            if "also" in row:
                row["also"] = " ".join(row["also"])
            table.writerow({name: _cell(one) for name, one in row.items()})
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA else value


def safe_word(name: str, taken: set[str], otherwise: str = "unnamed") -> str:
    """Return a part of a file name that is not among `taken`, and add it to them."""
    plain = _NOT_IN_NAMES.sub("-", unicodedata.normalize("NFC", name)).strip(".-")
    plain = plain.encode("utf-8", "ignore")[:_LONGEST_WORD].decode("utf-8", "ignore")
    plain = plain.rstrip(".-") or otherwise
    if _DEVICES.fullmatch(plain):
        plain = f"_{plain}"
    word, number = plain, 1
    while word.casefold() in taken:  # some disks do not tell capitals apart
        number += 1
        word = f"{plain}-{number}"
    taken.add(word.casefold())
    return word


def zipped(folder: Path) -> bytes:
    """Return all files of a folder as a zip file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder).as_posix())
    return out.getvalue()


# Export.


def _lines(said: TaskLabels, key: str) -> Iterator[str]:
    task = said.task
    about = {name: getattr(task, name) for name in ("kind", "title", "per_item", "created")}
    known: dict[str, Any] = {"benchmark": task.benchmark} if task.benchmark else {}
    if task.questions:
        known["questions"] = [question.as_json() for question in task.questions]
    yield _line({"format": _FORMAT, "task": {"key": key, **about, **known}})
    numbers = {item.id: number for number, item in enumerate(said.items, start=1)}
    for item in said.items:
        names = ("case", "model", "prompt", "run", "baseline", *(["against"] * bool(item.against)))
        yield _line({"item": numbers[item.id], **{name: getattr(item, name) for name in names}})

    def line(kind: str, label: Label, **more: Any) -> str:
        by, value = said.names[label.annotator], label.value.as_json()
        about = {"by": by, "value": value, "note": label.note, "at": label.at}
        return _line({kind: numbers[label.item], **about, **more})

    for given in said.labels.values():
        yield from (line("label", label, seconds=label.seconds) for label in given.values())
    yield from (line("decision", label) for label in said.decisions.values())


def _line(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n"


def _write_groups(said: TaskLabels, settled: Iterable[SettledItem], folder: Path) -> Iterator[Path]:
    """Write label files of one model and prompt each."""
    annotation = annotation_of(said.task.benchmark)
    models: set[str] = set()
    prompts: set[str] = set()

    @cache
    def model(name: str) -> str:
        return safe_word(name, models, "model")

    @cache
    def prompt(name: str) -> str:
        # The first `_prompt_` in the name of a file is where the model begins.
        return safe_word(name.replace("_prompt", "-prompt"), prompts, "no")

    for group in label_groups(said.task, settled, annotation):
        named = replace(group, model=model(group.model), prompt=prompt(group.prompt))
        yield annotation.write_labels(_readable(named), folder)


def _readable(group: LabelGroup) -> LabelGroup:
    """Return the same labels without what the keys of published files cannot hold."""
    taken: set[tuple[str, str]] = set()
    found = []
    for label in group.labels:
        page = label.page.replace("/", "_").replace("\\", "_")
        interaction = label.interaction.replace("-", "_").replace("\\", "_")
        while (page, interaction) in taken:
            page += "_"
        taken.add((page, interaction))
        found.append(replace(label, page=page, interaction=interaction))
    return replace(group, labels=tuple(found))


def _key_of(store: Store, task: int) -> str:
    """Return the key of a task, made when it is exported for the first time."""
    with store.writing() as db:
        row = db.execute("SELECT key FROM task_keys WHERE task = ?", (task,)).fetchone()
        if row is not None:
            return str(row[0])
        key = secrets.token_hex(16)
        db.execute("INSERT INTO task_keys (key, task) VALUES (?, ?)", (key, task))
        return key


# Import: from files to bundles.


def _read_files(paths: Sequence[Path], annotator: str) -> tuple[list[LabelBundle], list[str]]:
    """Return the tasks in files and folders, and what could not be read."""
    bundles: list[LabelBundle] = []
    groups: dict[tuple[str, Kind, str, str, str], LabelGroup] = {}
    others: list[str] = []
    known = all_annotations()
    for path in paths:
        found = _files(path)
        whole = {file.parent for file in found if file.name == _NAME}
        bundles += [_read_bundle(file) for file in found if file.suffix == ".jsonl"]
        # The other files of an export hold the same labels.
        for file in (file for file in found if not whole.intersection(file.parents)):
            readers = ((name, one.read_labels(file)) for name, one in known.items())
            benchmark, group = next((one for one in readers if one[1] is not None), ("", None))
            if group is None:
                others += [file.name] if file.suffix == ".json" or file == path else []
                continue
            by = _person(file, path) or annotator
            key = (benchmark, group.kind, group.model, group.prompt, by)
            if key in groups:
                raise InputError(
                    f"{file.name} is there twice for {by}.",
                    remedy="Import only one of them, or each with its own annotator.",
                )
            groups[key] = group
    if not bundles and not groups:
        raise InputError(
            "There are no label files.",
            remedy="They are called failure_PROMPT_prompt_MODEL.json, compare_….json, or "
            f"{_NAME} in an export of the studio.",
        )
    problems = []
    if others:
        names = ", ".join(others[:_NAMES_SHOWN]) + (" …" if len(others) > _NAMES_SHOWN else "")
        problems.append(f"Left out, because their names are not those of label files: {names}")
    ordered = dict(sorted(groups.items(), key=lambda one: known[one[0][0]].order(*one[0][2:4])))
    problems += [problem for group in ordered.values() for problem in group.problems]
    for benchmark in known:
        for kind in _TITLES:
            some = [
                (key[4], group)
                for key, group in ordered.items()
                if key[:2] == (benchmark, kind) and group.labels
            ]
            if some:
                bundles.append(_bundle(benchmark, kind, some))
    if not bundles:
        raise InputError(
            "There are no labels in these files.", remedy=" ".join(problems[:_NAMES_SHOWN])
        )
    return bundles, problems


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    with access(path, "read"):
        found = sorted(file for file in path.rglob("*.json*") if file.is_file())
    return [file for file in found if file.suffix in (".json", ".jsonl") and file.name[0] != "."]


def _person(file: Path, root: Path) -> str | None:
    """Return whose folder of an export a file lies in."""
    parts = file.relative_to(root.parent).parts if root.is_dir() else ()
    if "annotators" in parts[:-2]:
        return parts[parts.index("annotators") + 1]
    return None


def _bundle(benchmark: str, kind: Kind, groups: Sequence[tuple[str, LabelGroup]]) -> LabelBundle:
    """Return one task for all published files of a kind."""
    items: dict[Item, int] = {}
    found = []
    for by, group in groups:
        for label in group.labels:
            whole = label.interaction == WHOLE_PAGE
            case = label.page if whole else f"{label.page}/{label.interaction}"
            number = items.setdefault(Item(case, group.model, group.prompt), len(items))
            found.append(BundleLabel(number, by, label.value))
    # Files about the same items belong to the same task.
    names = sorted((item.case, item.model, item.prompt) for item in items)
    return LabelBundle(
        key=hashlib.sha256(json.dumps([kind, names]).encode()).hexdigest()[:32],
        kind=kind,
        title=_TITLES[kind],
        per_item=len({by for by, _ in groups}),
        items={number: item for item, number in items.items()},
        labels=found,
        benchmark=benchmark,
    )


def _run_finder(folder: Path | None) -> Callable[[LabelBundle], dict[int, Item]]:
    """Return a function that links the items of a bundle to runs in a folder."""
    runs: dict[tuple[str, str], list[FoundRun]] = {}
    for run in find_runs(folder) if folder is not None and folder.is_dir() else ():
        runs.setdefault(_plain(run.model, run.prompt), []).append(run)
    names = {run.name for some in runs.values() for run in some}

    def run_of(model: str, prompt: str, case: str) -> str | None:
        for run in runs.get(_plain(model, prompt), ()):
            try:
                if case in cases_of(run):
                    return run.name
            except OSError:
                continue  # it has no journal yet
        return None

    def linked(bundle: LabelBundle) -> dict[int, Item]:
        published = annotation_of(bundle.benchmark).published_baseline
        found = {}
        for number, item in bundle.items.items():
            run, baseline = item.run, item.baseline
            if run not in names:
                run = run_of(item.model, item.prompt, item.case) or run
            if bundle.kind == "compare" and baseline is None and published is not None:
                baseline = run_of(*published, item.case)
            found[number] = replace(item, run=run, baseline=baseline)
        return found

    return linked


@cache
def _plain(model: str, prompt: str) -> tuple[str, str]:
    """Return names as the names of files have them: `openai-gpt-4o` for `openai/gpt-4o`."""
    return safe_word(model, set()), safe_word(prompt, set(), "no")


# `labels.jsonl`.


def _utc(text: str) -> str:
    try:
        at = datetime.fromisoformat(text).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(str(error)) from error
    return at.isoformat(timespec="milliseconds")


_ShortText = Annotated[str, Field(max_length=1000)]
_Time = Annotated[str, AfterValidator(_utc)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _TaskFields(_Strict):
    key: _ShortText
    kind: Kind
    title: Annotated[str, Field(max_length=200)]
    per_item: Annotated[int, Field(ge=1, le=10_000)]
    created: _Time
    benchmark: _ShortText | None = None
    questions: Annotated[list[dict[str, Any]], Field(max_length=100)] = []


class _ItemLine(_Strict):
    item: StrictInt
    case: Annotated[str, Field(min_length=1, max_length=1000)]
    model: _ShortText
    prompt: _ShortText
    run: _ShortText | None = None
    baseline: _ShortText | None = None
    against: _ShortText = ""


class _LabelLine(_Strict):
    number: StrictInt
    by: Annotated[str, Field(max_length=80, pattern=r"\S")]
    value: dict[str, Any]
    note: Annotated[str, Field(max_length=4000)] = ""
    at: _Time
    seconds: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None


_Line = TypeVar("_Line", bound=_Strict)


def _read_bundle(path: Path) -> LabelBundle:
    """Read `labels.jsonl`; raise `InputError` that names the first wrong line."""
    with access(path, "read"):
        content = path.read_bytes()
    task: _TaskFields | None = None
    questions: tuple[Question, ...] = ()
    items: dict[int, Item] = {}
    said: dict[str, list[BundleLabel]] = {"label": [], "decision": []}
    for number, text in enumerate(content.decode("utf-8", "surrogateescape").split("\n"), start=1):
        if not text.strip():
            continue
        where = f"{path.name}, line {number}"
        fields = _json_object(text, where)
        if task is None:
            if fields.get("format") != _FORMAT or not isinstance(fields.get("task"), dict):
                raise InputError(
                    f"{path.name} does not begin with a task in format {_FORMAT}.",
                    remedy="Import the labels.jsonl of an export; newer ones need a newer uiproof.",
                )
            task = _parsed(_TaskFields, fields["task"], where)
            with _at(where):
                questions = questions_from_json(task.questions)
        elif "item" in fields:
            line = _parsed(_ItemLine, fields, where)
            if line.item in items:
                raise _wrong(where, f"item {line.item} is there twice")
            run, baseline = line.run or None, line.baseline or None
            items[line.item] = Item(line.case, line.model, line.prompt, run, baseline, line.against)
        elif kind := next((name for name in said if name in fields), None):
            label = _parsed(_LabelLine, {**fields, "number": fields[kind]}, where)
            if label.number not in items:
                raise _wrong(where, f"there is no item {label.number} above it")
            with _at(where):
                value = value_from_json(task.kind, label.value, questions)
            said[kind].append(
                BundleLabel(label.number, label.by, value, label.note, label.at, label.seconds)
            )
        else:
            raise _wrong(where, "it is neither an item nor a label nor a decision")
    if task is None:
        raise InputError(f"{path.name} is empty.")
    return LabelBundle(
        key=task.key,
        kind=task.kind,
        title=task.title.strip() or "Imported labels",
        per_item=task.per_item,
        items=items,
        labels=said["label"],
        decisions=said["decision"],
        created=task.created,
        benchmark=task.benchmark,
        questions=questions,
    )


@contextmanager
def _at(where: str) -> Iterator[None]:
    """Name the line in the error of a block."""
    try:
        yield
    except InputError as error:
        raise _wrong(where, error.message.rstrip(".")) from error


def _json_object(text: str, where: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise _wrong(where, f"{constant} is not a number")

    try:
        fields = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise _wrong(where, "an object was expected")
    return fields


def _parsed(model: type[_Line], fields: dict[str, Any], where: str) -> _Line:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise _wrong(where, f"{field}: {first['msg']}") from error


def _wrong(where: str, problem: str) -> InputError:
    return InputError(f"{where}: {problem}.", remedy="Nothing was imported.")


# Import: from bundles to the store.


def _add(db: sqlite3.Connection, bundle: LabelBundle, into: int | None) -> ImportedTask:
    wanted = "(SELECT task FROM task_keys WHERE key = ?)" if into is None else "?"
    row = db.execute(
        f"SELECT id, title, questions FROM tasks WHERE kind = ? AND id = {wanted}",
        (bundle.kind, bundle.key if into is None else into),
    ).fetchone()
    if row is None and into is not None:
        raise InputError(
            f"There is no task {into} for such labels: they are of the kind {bundle.kind}.",
            remedy="Name another task, or none to make a new one.",
        )
    if row is None and not bundle.items:
        raise InputError(f"There is nothing in {bundle.title!r}.", remedy="Nothing was imported.")
    given = bundle.items.values()
    title = bundle.title if row is None else str(row[1])
    for text in (title, *(t for i in given for t in (i.case, i.model, i.prompt, i.against))):
        check_text(text, "The import")
    if row is not None:
        task = int(row[0])
        asked = {one.key: one for one in questions_from_json(json.loads(row[2] or "[]"))}
        if any(asked.get(one.key) != one for one in bundle.questions):
            raise InputError(
                f"{title!r} asks other questions than these labels answer.",
                remedy="Name another task, or none to make a new one.",
            )
    else:
        at, benchmark = bundle.created or now(), bundle.benchmark
        task = insert_task(db, bundle.kind, title, bundle.per_item, at, benchmark, bundle.questions)
    db.execute("INSERT OR IGNORE INTO task_keys (key, task) VALUES (?, ?)", (bundle.key, task))
    before = len(_numbers(db, task))
    insert_items(db, task, given)
    ids = _numbers(db, task)
    items = {n: ids[i.case, i.model, i.prompt, i.against] for n, i in bundle.items.items()}
    added = _add_labels(db, task, bundle.labels, items, "label")
    added += _add_labels(db, task, bundle.decisions, items, "decide")
    total = len(bundle.labels) + len(bundle.decisions)
    return ImportedTask(task, title, row is None, len(ids) - before, added, total - added)


def _numbers(db: sqlite3.Connection, task: int) -> dict[tuple[str, ...], int]:
    rows = db.execute(
        'SELECT "case", model, prompt, against, id FROM items WHERE task = ?', (task,)
    )
    return {tuple(names): number for *names, number in rows}


def _add_labels(
    db: sqlite3.Connection,
    task: int,
    labels: Sequence[BundleLabel],
    items: Mapping[int, int],
    action: Literal["label", "decide"],
) -> int:
    """Add labels that are not known yet; return how many."""
    people = {}
    for name in dict.fromkeys(label.by for label in labels):
        check_text(name, "annotator")
        people[name] = insert_annotator(db, name).id
    # Only the last decision of anybody counts, but the last label of each person.
    actions = ("decide",) if action == "decide" else ("label", "skip", "undo")
    last: dict[tuple[int, int], tuple[str, str | None]] = {}
    for item, person, at, value in db.execute(
        "SELECT item, annotator, at, value FROM events "
        "WHERE item IN (SELECT id FROM items WHERE task = ?) "
        f"AND action IN ({', '.join('?' * len(actions))}) ORDER BY id",
        (task, *actions),
    ):
        last[item, 0 if action == "decide" else person] = (at, value)
    added = 0
    for label in labels:
        person = people[label.by]
        key = (items[label.item], 0 if action == "decide" else person)
        at, value = label.at or now(), json.dumps(label.value.as_json())
        known = last.get(key)
        if known is not None and (known[1] == value if label.at is None else known[0] >= at):
            continue
        db.execute(
            "INSERT INTO events (at, item, annotator, action, value, note, seconds) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (at, items[label.item], person, action, value, label.note, label.seconds),
        )
        last[key] = (at, value)
        added += 1
    return added


def check_text(text: str, where: str) -> None:
    """Raise `InputError` for text that is not valid Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where}: {text[:60]!a} has characters that cannot be written.",
            remedy="Nothing was imported.",
        ) from error


# Zip files.


@contextmanager
def _unpacked(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield the same paths, with a folder of its content in place of each zip file."""
    with ExitStack() as stack:
        found = []
        for path in paths:
            if not path.exists():
                raise InputError(f"There is no file or folder {path}.")
            if path.suffix.lower() == ".zip" and path.is_file():
                folder = Path(stack.enter_context(TemporaryDirectory(prefix="uiproof-import-")))
                _unpack(path, folder)
                found.append(folder)
            else:
                found.append(path)
        yield found


def _unpack(path: Path, folder: Path) -> None:
    """Unpack a zip file; refuse all of it if an entry is unsafe or it is too large."""
    try:
        with access(path, "read"), zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_ENTRIES:
                raise InputError(f"{path.name} has more than {MOST_ENTRIES:,} entries.")
            left = MOST_BYTES
            for entry in entries:
                if not entry.is_dir():
                    target = folder / _inside(path, entry)
                    with archive.open(entry) as stream:
                        content = stream.read(left + 1)  # the size in its header may be wrong
                    left -= len(content)
                    if left < 0:
                        raise InputError(
                            f"{path.name} holds more than {MOST_BYTES // 2**20} MB.",
                            remedy="Unpack it, and name the folder to `uiproof studio import`.",
                        )
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
    except (zipfile.BadZipFile, RuntimeError, EOFError, ValueError) as error:
        # RuntimeError: it needs a password, or its compression is unknown; others: damaged bytes.
        raise InputError(
            f"{path.name} is not a zip file that can be read: {error}.",
            remedy="Zip the folder again, without a password.",
        ) from error
    except (zlib.error, lzma.LZMAError, OSError) as error:
        raise InputError(f"{path.name} is damaged: {error}.", remedy="Zip it again.") from error


def _inside(path: Path, entry: zipfile.ZipInfo) -> Path:
    name = entry.filename
    parts = PurePosixPath(name).parts
    link = stat.S_ISLNK(entry.external_attr >> 16)
    unsafe = not parts or name.startswith("/") or ".." in parts
    if unsafe or link or "\\" in name or ":" in parts[0] or "\0" in name:
        raise InputError(
            f"{path.name} has an entry outside of its folder: {name[:80]!r}. Nothing was imported."
        )
    return Path(*parts)
