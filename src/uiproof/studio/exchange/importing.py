"""What is in files that somebody wants to import, and which runs it is about."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from uiproof.benchmarks.interaction2code.analyses.labels import (
    LabelFile,
    name_parts,
    order,
    read_comparisons,
    read_failures,
)
from uiproof.engine.storage import access
from uiproof.errors import InputError
from uiproof.studio.browsing.runs import FoundRun, find_runs
from uiproof.studio.exchange.packing import safe_word
from uiproof.studio.exchange.parcels import NAME, Entry, Parcel, read_parcel
from uiproof.studio.labels import Choice, Item, Judgement, Kind
from uiproof.studio.outcomes.results import WHOLE_PAGE
from uiproof.studio.outcomes.verdicts import cases_of

PUBLISHED = "published labels"
_BASELINE = ("gemini", "direct")  # what the published comparisons compare with
_KINDS: dict[str, Kind] = {"failure": "judge", "compare": "compare"}
_TITLES: dict[Kind, str] = {
    "judge": "Imported labels: usable, and what fails",
    "compare": "Imported labels: against the baseline",
}
_SHOWN = 5


def read_files(paths: Sequence[Path], annotator: str) -> tuple[list[Parcel], list[str]]:
    """The tasks that are in files and folders, and what could not be read, in words."""
    exports: list[Path] = []
    files: dict[tuple[Kind, str, str, str], Path] = {}
    others: list[str] = []
    for path in paths:
        found = _files(path)
        whole = {file.parent for file in found if file.name == NAME}
        exports += [file for file in found if file.suffix == ".jsonl"]
        # What else is in an export says the same in other words.
        left = [file for file in found if not whole.intersection(file.parents)]
        for file in left:
            parts = name_parts(file)
            if parts is None:
                others += [file.name] if file.suffix == ".json" or file == path else []
                continue
            kind, prompt, model = parts
            key = (_KINDS[kind], model, prompt, _person(file, path) or annotator)
            if key in files:
                raise InputError(
                    f"{files[key].name} is there twice for {key[-1]}.",
                    remedy="Import only one of them, or each with its own annotator.",
                )
            files[key] = file
    if not exports and not files:
        raise InputError(
            "There are no label files.",
            remedy="They are called failure_PROMPT_prompt_MODEL.json, compare_….json, or "
            f"{NAME} in an export of the studio.",
        )
    parcels = [read_parcel(path) for path in exports]
    problems = []
    if others:
        names = ", ".join(others[:_SHOWN]) + (" …" if len(others) > _SHOWN else "")
        problems.append(f"Left out, because their names are not those of label files: {names}")
    read = {
        key: read_failures(path) if key[0] == "judge" else read_comparisons(path)
        for key, path in sorted(files.items(), key=lambda one: order(one[0][1], one[0][2]))
    }
    problems += [problem for file in read.values() for problem in file.problems]
    kinds: tuple[Kind, ...] = ("judge", "compare")
    for kind in kinds:
        chosen = {key: file for key, file in read.items() if key[0] == kind and file.labels}
        if chosen:
            parcels.append(_parcel(kind, chosen))
    if not parcels:
        raise InputError("There are no labels in these files.", remedy=" ".join(problems[:_SHOWN]))
    return parcels, problems


def run_finder(folder: Path | None) -> Callable[[Item, bool], Item]:
    """A function that links an item, of a comparison or not, to the runs that it is about."""

    @cache
    def runs() -> Mapping[tuple[str, str], list[FoundRun]]:
        found: dict[tuple[str, str], list[FoundRun]] = {}
        for run in find_runs(folder) if folder is not None and folder.is_dir() else ():
            found.setdefault(_plain(run.model, run.prompt), []).append(run)
        return found

    def run_of(model: str, prompt: str, case: str) -> str | None:
        for run in runs().get(_plain(model, prompt), ()):
            try:
                if case in cases_of(run):
                    return run.name
            except OSError:
                continue  # it has no journal yet
        return None

    def there(name: str | None) -> bool:
        return name is not None and any(
            run.name == name for some in runs().values() for run in some
        )

    def linked(item: Item, compared: bool) -> Item:
        run, baseline = item.run, item.baseline
        if not there(run):
            run = run_of(item.model, item.prompt, item.case) or run
        if compared and baseline is None:
            baseline = run_of(*_BASELINE, item.case)
        return replace(item, run=run, baseline=baseline)

    return linked


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    with access(path, "read"):
        found = sorted(file for file in path.rglob("*.json*") if file.is_file())
    return [file for file in found if file.suffix in (".json", ".jsonl") and file.name[0] != "."]


def _person(file: Path, root: Path) -> str | None:
    """Whose folder of an export a file lies in."""
    parts = file.relative_to(root.parent).parts if root.is_dir() else ()
    if "annotators" in parts[:-2]:
        return parts[parts.index("annotators") + 1]
    return None


def _parcel(kind: Kind, files: Mapping[tuple[Kind, str, str, str], LabelFile[Any]]) -> Parcel:
    """One task for all files of a kind."""
    items: dict[Item, int] = {}
    entries = []
    for (_, model, prompt, by), file in files.items():
        for label in file.labels:
            whole = label.interaction == WHOLE_PAGE
            case = label.page if whole else f"{label.page}/{label.interaction}"
            place = items.setdefault(Item(case, model, prompt), len(items))
            value = (
                Judgement(label.usable, label.failure) if kind == "judge" else Choice(label.outcome)
            )
            entries.append(Entry(place, by, value))
    return Parcel(
        key=_key(kind, items),
        kind=kind,
        title=_TITLES[kind],
        per_item=len({by for *_, by in files}),
        items=tuple(items),
        labels=tuple(entries),
    )


def _key(kind: Literal["judge", "compare"], items: Iterable[Item]) -> str:
    """Files about the same items belong to the same task."""
    names = sorted((item.case, item.model, item.prompt) for item in items)
    return hashlib.sha256(json.dumps([kind, names]).encode()).hexdigest()[:32]


@cache
def _plain(model: str, prompt: str) -> tuple[str, str]:
    """Names as the names of files have them: `openai-gpt-4o` for `openai/gpt-4o`."""
    return safe_word(model, set()), safe_word(prompt, set(), "no")
