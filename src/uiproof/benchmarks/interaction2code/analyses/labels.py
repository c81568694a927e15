"""Read and write the published label files of people who judged generated pages.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from uiproof.benchmarks.interaction2code.failures import FAILURES, IMPACTS, NONE, OBJECTS
from uiproof.errors import InputError
from uiproof.files import access, write_atomic
from uiproof.labels import OUTCOMES, Outcome

# The files' README and the tool that wrote them disagree about 3 and 4. The paper's own rates come
# out only as the tool has it: 3 is the wrong type of element (d), 4 the wrong element (c).
LETTERS = (NONE, "a", "b", "d", "c", "e", "f", "g", "h", "i", "j")

# Keys may begin with a path of the machine they were made on, and end in `-model` or `_model`.
_KEY = re.compile(r"(?:^|/)([^/]+)/([^/-]+)-[^/]*$")
_FILE = re.compile(r"(failure|compare)_(?:(.+?)_prompt_(.+)|([^_]+)_(.+))\.json")
_LABEL = re.compile(r"\s*([0-9]{1,2})\s*/\s*([01])\s*")
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")

Entry = TypeVar("Entry", "Label", "Vote")
# The columns of Table 7 that say what a type of failure is, and what they say of each.
FAILURE_COLUMNS = ("Failure object", "Failure type", "Content", "Function", "User experience")
IMPACT_NOTE = (
    "Content, function and user experience are ours, as the paper's symbols are not in its text: "
    "by the definition of the type, and for the function by the usability that the paper prints."
)


@dataclass(frozen=True, slots=True)
class Label:
    """A person's label of one generated interaction."""

    page: str
    interaction: str
    failure: str  # `none`, or a letter of `FAILURES`
    usable: bool


@dataclass(frozen=True, slots=True)
class Vote:
    """A person's preference between two generated pages."""

    page: str
    interaction: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class LabelFile(Generic[Entry]):
    """All labels of one model with one prompt, and what could not be read."""

    model: str
    prompt: str
    labels: tuple[Entry, ...]
    problems: tuple[str, ...] = ()

    @property
    def name(self) -> tuple[str, str]:
        """Return model and prompt, as tables name the file."""
        return self.model, self.prompt


@dataclass(frozen=True, slots=True)
class LabelFolder:
    """The label files of a folder, ordered by model and prompt."""

    failures: tuple[LabelFile[Label], ...]
    comparisons: tuple[LabelFile[Vote], ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what could not be read, of all files."""
        files: tuple[LabelFile[Any], ...] = (*self.failures, *self.comparisons)
        return tuple(problem for file in files for problem in file.problems)


def read_label_folder(folder: Path) -> LabelFolder:
    """Read all label files in a folder and below it, or the one file that is named."""
    if not folder.exists():
        raise InputError(f"There is no file or folder {folder}.")
    with access(folder, "read"):
        found = sorted(folder.rglob("*.json")) if folder.is_dir() else [folder]
    paths: dict[tuple[str, str, str], Path] = {}
    for path in found:
        if parts := name_parts(path):
            if other := paths.get(parts):
                raise InputError(
                    f"{other} and {path} hold labels of the same model and prompt.",
                    remedy="Name a folder that holds only one of them.",
                )
            paths[parts] = path
    if not paths:
        raise InputError(
            f"There are no label files in {folder}.",
            remedy="They are called failure_PROMPT_prompt_MODEL.json and compare_….json.",
        )
    ordered = sorted(paths, key=lambda parts: order(parts[2], parts[1]))
    return LabelFolder(
        tuple(read_failures(paths[parts]) for parts in ordered if parts[0] == "failure"),
        tuple(read_comparisons(paths[parts]) for parts in ordered if parts[0] == "compare"),
    )


def order(model: str, prompt: str) -> tuple[int, str, int, str]:
    """Return a sort key: models and prompts of the paper first, then by name, 7B before 72B."""
    models, prompts = ("gemini", "gpt", "claude"), ("direct", "cot", "mark")
    numbered = re.sub(r"\d+", lambda match: match[0].zfill(6), model)
    return _place(model, models), numbered, _place(prompt, prompts), prompt


def _place(name: str, known: tuple[str, ...]) -> int:
    return known.index(name) if name in known else len(known)


def name_parts(path: Path) -> tuple[str, str, str] | None:
    """Return kind, prompt and model from the name of a file; None for other files."""
    match = _FILE.fullmatch(path.name)
    return match and (match[1], match[2] or match[4], match[3] or match[5])


def read_failures(path: Path) -> LabelFile[Label]:
    """Read one failure file. Invalid entries are reported in `problems`, never guessed."""

    def label(page: str, interaction: str, value: Any) -> Label | None:
        match = _LABEL.fullmatch(value) if isinstance(value, str) else None
        if match is None or int(match[1]) >= len(LETTERS):
            return None
        return Label(page, interaction, LETTERS[int(match[1])], match[2] == "0")

    return _read(path, label)


def read_comparisons(path: Path) -> LabelFile[Vote]:
    """Read one comparison file. Invalid entries are reported in `problems`."""

    def vote(page: str, interaction: str, value: Any) -> Vote | None:
        text = str(value).strip()  # some tools write numbers as text
        if isinstance(value, bool) or text not in ("0", "1", "2"):
            return None
        return Vote(page, interaction, OUTCOMES[int(text)])

    return _read(path, vote)


def _read(path: Path, make: Callable[[str, str, Any], Entry | None]) -> LabelFile[Entry]:
    parts = name_parts(path)
    if parts is None:
        raise InputError(
            f"{path.name} does not say whose labels it holds.",
            remedy="Call it failure_PROMPT_prompt_MODEL.json or compare_PROMPT_prompt_MODEL.json.",
        )
    with access(path, "read"):
        content = path.read_bytes()
    try:
        pairs = json.loads(content, object_pairs_hook=tuple)  # shows keys that are there twice
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}.") from error
    if not isinstance(pairs, tuple):  # arrays are lists
        raise InputError(f"{path} holds no labels: an object was expected.")
    labels: dict[tuple[str, str], Entry] = {}
    problems: list[str] = []
    for key, value in pairs:
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


def write_failures(file: LabelFile[Label], folder: Path) -> Path:
    """Write one failure file in the published format and return its path.

    Model and prompt are in its name, with `-` for characters that file names do not take.
    """
    codes = {
        label: f"{LETTERS.index(label.failure)}/{int(not label.usable)}" for label in file.labels
    }
    return _write("failure", file, folder, codes)


def write_comparisons(file: LabelFile[Vote], folder: Path) -> Path:
    """Write one comparison file in the published format and return its path."""
    return _write(
        "compare", file, folder, {one: OUTCOMES.index(one.outcome) for one in file.labels}
    )


def _write(kind: str, file: LabelFile[Any], folder: Path, codes: Mapping[Any, str | int]) -> Path:
    model, prompt = (_NOT_IN_NAMES.sub("-", name) for name in file.name)
    path = folder / f"{kind}_{prompt}_prompt_{model}.json"
    content = {
        f"{one.page}/{one.interaction}-{prompt}_prompt-{model}.html": code
        for one, code in codes.items()
    }
    with access(path, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return path


def failure_name(letter: str) -> str:
    """Return the name of a failure in tables: `(a) interactive element missing`."""
    return "no failure" if letter == NONE else f"({letter}) {FAILURES[letter]}"


def failure_cells(letter: str) -> tuple[str, ...]:
    """Return the cells of a failure in the `FAILURE_COLUMNS`."""
    return OBJECTS[letter], failure_name(letter), *IMPACTS[letter]
