"""The published label files of people who judged generated pages: read and written.

    for file in read_label_folder(Path("human_evaluation")).failures:
        print(file.model, file.prompt, sum(label.usable for label in file.labels))

A failure file is `failure_PROMPT_prompt_MODEL.json` with `"PAGE/K-PROMPT_prompt-MODEL.html":
"TYPE/UNUSABLE"`: the type is 0 for none and 1 to 10 for the failures a to j, the number behind the
slash is 0 where the page can be used. A comparison file is `compare_….json` with 0 for a win, 1 for
a tie and 2 for a loss against Gemini 1.5 with the direct prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from uiproof.benchmarks.interaction2code.failures import FAILURES, NONE
from uiproof.engine.storage import access
from uiproof.errors import InputError
from uiproof.export import replacing

Outcome = Literal["win", "tie", "lose"]
OUTCOMES: tuple[Outcome, ...] = ("win", "tie", "lose")

# The files' README and the tool that wrote them disagree about 3 and 4. The paper's own rates come
# out only as the tool has it: 3 is the wrong type of element (d), 4 the wrong element (c).
_LETTERS = dict(enumerate((NONE, "a", "b", "d", "c", "e", "f", "g", "h", "i", "j")))
_CODES = {letter: code for code, letter in _LETTERS.items()}

# Keys may begin with a path of the machine they were made on, and end in `-model` or `_model`.
_KEY = re.compile(r"(?:^|/)([^/]+)/([^/-]+)-[^/]*$")
_FILE = re.compile(
    r"(failure|compare)_(.+?)_prompt_(.+)\.json|(failure|compare)_([^_]+)_(.+)\.json"
)
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")

Entry = TypeVar("Entry", "Label", "Vote")


@dataclass(frozen=True, slots=True)
class Label:
    """What a person said about one generated interaction."""

    page: str
    interaction: str
    failure: str  # `none`, or a letter of `FAILURES`
    usable: bool


@dataclass(frozen=True, slots=True)
class Vote:
    """Which of two generated pages a person found better."""

    page: str
    interaction: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class LabelFile(Generic[Entry]):
    """All labels of one model with one prompt, and what could not be read, in words."""

    model: str
    prompt: str
    labels: tuple[Entry, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelFolder:
    """The label files of a folder, ordered by model and prompt."""

    failures: tuple[LabelFile[Label], ...]
    comparisons: tuple[LabelFile[Vote], ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read, of all files."""
        files: tuple[LabelFile[Any], ...] = (*self.failures, *self.comparisons)
        return tuple(problem for file in files for problem in file.problems)


def read_label_folder(folder: Path) -> LabelFolder:
    """All label files in a folder and the folders below it, or the one file that is named."""
    if not folder.exists():
        raise InputError(f"There is no file or folder {folder}.")
    with access(folder, "read"):
        found = sorted(folder.rglob("*.json")) if folder.is_dir() else [folder]
    paths: dict[tuple[str, str, str], Path] = {}
    for path in found:
        if parts := name_parts(path):
            kind, prompt, model = parts
            if other := paths.get((kind, model, prompt)):
                raise InputError(
                    f"{other} and {path} hold labels of the same model and prompt.",
                    remedy="Name a folder that holds only one of them.",
                )
            paths[kind, model, prompt] = path
    if not paths:
        raise InputError(
            f"There are no label files in {folder}.",
            remedy="They are called failure_PROMPT_prompt_MODEL.json and compare_….json.",
        )
    ordered = sorted(paths.items(), key=lambda item: order(item[0][1], item[0][2]))
    return LabelFolder(
        tuple(read_failures(path) for (kind, *_), path in ordered if kind == "failure"),
        tuple(read_comparisons(path) for (kind, *_), path in ordered if kind == "compare"),
    )


def order(model: str, prompt: str) -> tuple[int, str, int, str]:
    """Where a model and a prompt stand in a table: as in the paper, others after them by name."""
    models, prompts = ("gemini", "gpt", "claude"), ("direct", "cot", "mark")

    def place(name: str, known: tuple[str, ...]) -> int:
        return known.index(name) if name in known else len(known)

    # 3B before 7B before 72B.
    numbered = re.sub(r"\d+", lambda match: match[0].zfill(6), model)
    return place(model, models), numbered, place(prompt, prompts), prompt


def read_failures(path: Path) -> LabelFile[Label]:
    """One failure file. Entries that make no sense are told in `problems`, never guessed."""
    return _read(path, _label)


def read_comparisons(path: Path) -> LabelFile[Vote]:
    """One comparison file. Entries that make no sense are told in `problems`, never guessed."""
    return _read(path, _vote)


def write_failures(file: LabelFile[Label], folder: Path) -> Path:
    """Write one failure file in the published format; returns where it is.

    Model and prompt are in its name, there with `-` for what file names do not take.
    """
    values = {
        _key(file, label): f"{_CODES[label.failure]}/{0 if label.usable else 1}"
        for label in file.labels
    }
    return _write(
        folder / f"failure_{_plain(file.prompt)}_prompt_{_plain(file.model)}.json", values
    )


def write_comparisons(file: LabelFile[Vote], folder: Path) -> Path:
    """Write one comparison file in the published format; returns where it is."""
    values = {_key(file, vote): OUTCOMES.index(vote.outcome) for vote in file.labels}
    return _write(
        folder / f"compare_{_plain(file.prompt)}_prompt_{_plain(file.model)}.json", values
    )


def _label(page: str, interaction: str, value: Any) -> Label | None:
    match = (
        re.fullmatch(r"\s*([0-9]{1,2})\s*/\s*([01])\s*", value) if isinstance(value, str) else None
    )
    if match is None or int(match[1]) not in _LETTERS:
        return None
    return Label(page, interaction, _LETTERS[int(match[1])], match[2] == "0")


def _vote(page: str, interaction: str, value: Any) -> Vote | None:
    text = str(value).strip()  # some tools write numbers as text
    if isinstance(value, bool) or text not in ("0", "1", "2"):
        return None
    return Vote(page, interaction, OUTCOMES[int(text)])


def _read(path: Path, make: Callable[[str, str, Any], Entry | None]) -> LabelFile[Entry]:
    parts = name_parts(path)
    if parts is None:
        raise InputError(
            f"{path.name} does not say whose labels it holds.",
            remedy="Call it failure_PROMPT_prompt_MODEL.json or compare_PROMPT_prompt_MODEL.json.",
        )
    labels: dict[tuple[str, str], Entry] = {}
    problems: list[str] = []
    for key, value in _pairs(path):
        place = _KEY.search(key.replace("\\", "/"))
        if place is None:
            problems.append(f"{path.name}: the key {key!r} names no page and interaction")
            continue
        where = (place[1], place[2])
        entry = make(*where, value)
        if entry is None:
            problems.append(f"{path.name}: {value!r} is not a label ({key})")
        elif where in labels:
            problems.append(f"{path.name}: {'/'.join(where)} is there twice; the first one counts")
        else:
            labels[where] = entry
    return LabelFile(parts[2], parts[1], tuple(labels.values()), tuple(problems))


def name_parts(path: Path) -> tuple[str, str, str] | None:
    """Kind, prompt and model, as the name of a file says."""
    match = _FILE.fullmatch(path.name)
    if match is None:
        return None
    kind, prompt, model = match.groups()[:3] if match[1] else match.groups()[3:]
    return kind, prompt, model


def _pairs(path: Path) -> Iterable[tuple[str, Any]]:
    """The entries of a file as they stand, so that a key that is there twice is noticed."""
    with access(path, "read"):
        content = path.read_bytes()
    try:
        entries = json.loads(content, object_pairs_hook=tuple)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}.") from error
    if not isinstance(entries, tuple):  # arrays are lists
        raise InputError(f"{path} holds no labels: an object was expected.")
    return entries


def _key(file: LabelFile[Any], label: Label | Vote) -> str:
    ending = f"{_plain(file.prompt)}_prompt-{_plain(file.model)}.html"
    return f"{label.page}/{label.interaction}-{ending}"


def _plain(name: str) -> str:
    """A name that can be part of a file name: `openai-gpt-4o` for `openai/gpt-4o`."""
    return _NOT_IN_NAMES.sub("-", name)


def _write(path: Path, values: Mapping[str, Any]) -> Path:
    with replacing(path, makes_folders=True) as stream:
        json.dump(values, stream, indent=2, ensure_ascii=False)
        stream.write("\n")
    return path


def failure_name(letter: str) -> str:
    """How tables call a failure: `(a) interactive element missing`."""
    return "no failure" if letter == NONE else f"({letter}) {FAILURES[letter]}"
