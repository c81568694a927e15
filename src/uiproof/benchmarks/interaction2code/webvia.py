"""WebVIA's interaction graphs, and the verdicts that were published about pages made from them.

    input_data/images/data.jsonl    a page a line: id, prompt, image_list, operation_info
    input_data/images/1065/*.png    its states, named by what leads to them
    pages/1065/graph.json, N.png    the same, with a folder for each page

An operation acts on one element, or on several one after the other. The element is known by its tag
and its text, not by its place; what is typed or chosen is in the prompt. Verdicts are those of a
language model that acted on a generated page for each task: `llm_verdicts` of `graph.json`, or the
authors' `Verify_MODEL_html/1065__tasks.json`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from uiproof.benchmark import Recomputed
from uiproof.benchmarks.interaction2code.graph import BrokenPage, Graph, Interaction, Step
from uiproof.browser.snapshots import Action
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import InputError
from uiproof.stats.agreement import cohen_kappa
from uiproof.stats.intervals import bounds, clustered_rate, percent
from uiproof.tables import MISSING, Table

PAGE_FILE = "graph.json"
SET_FILE = "data.jsonl"
WINDOW = (1920, 1080)  # in which the pages were shown; their pictures were scaled down after that
_MOST_STEPS = 50
_REMEDY = "docs/interaction2code.md describes the files of WebVIA."
# What a page calls its images and operations in its own file, and in the file of all pages.
_IMAGES = ("images", "image_list")
_OPERATIONS = ("operations", "operation_info")
_ORDER = re.compile(r"操作内部顺序是“(.*?)”\s*(?:；|;|$)", re.DOTALL)
_TYPED, _CHOSEN = "输入-", "选择-"
_TAGS = {"a": "link", "img": "image"}
_NOUNS = {"button": "button", "a": "link", "select": "list", "input": "field", "textarea": "field"}


def is_page(folder: Path) -> bool:
    """Return whether a folder holds one page; opens no file."""
    return (folder / PAGE_FILE).is_file() and (folder / "0.png").is_file()


def set_file(path: Path) -> Path | None:
    """Return the file of all pages that a path is or holds; reads only the start of it."""
    for file in (path, path / SET_FILE, path / "images" / SET_FILE):
        if file.name == SET_FILE and file.is_file():
            try:
                with file.open("rb") as start:
                    return file if b'"image_list"' in start.read(1 << 16) else None
            except OSError:
                return None
    return None


def read_set(file: Path) -> Iterator[Graph | BrokenPage]:
    """Yield the pages of a `data.jsonl`, in its order."""
    for number, line in enumerate(_text(file).splitlines(), 1):
        if not line.strip():
            continue
        name = f"line {number}"
        try:
            content = _parsed(line, f"{file}, line {number}")
            name = str(content.get("id") or name)
            yield _graph(content, name, _folder(file, content))
        except InputError as error:
            yield BrokenPage(name, error)


def read_page(folder: Path, *, page: str | None = None) -> Graph:
    """Read the page of a folder with a `graph.json`."""
    file = folder / PAGE_FILE
    name = folder.resolve().name if page is None else page
    return _graph(_parsed(_text(file), str(file)), name, folder)


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}.", remedy=_REMEDY) from error


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}", remedy=_REMEDY) from error
    if not isinstance(content, dict):
        raise InputError(f"{where} is not an object.", remedy=_REMEDY)
    wanted = [names for names in (_IMAGES, _OPERATIONS) if not any(one in content for one in names)]
    if wanted:
        missing = " and ".join(" or ".join(names) for names in wanted)
        found = ", ".join(map(str, list(content)[:8])) or "nothing"
        raise InputError(f"{where} has no {missing}; it has {found}.", remedy=_REMEDY)
    return content


def _listed(content: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    found = next((content[name] for name in names if name in content), None)
    return found if isinstance(found, list) else []


def _folder(file: Path, content: Mapping[str, Any]) -> Path:
    """Return the folder of a page's pictures; paths begin at the file's folder or above it."""
    images = [one for one in _listed(content, _IMAGES) if isinstance(one, str)]
    first = PurePosixPath(images[0] if images else "")
    if not images or ".." in first.parts or first.is_absolute():
        raise InputError(f"{file}: page {content.get('id')} has no pictures.")
    for root in (file.parent, file.parent.parent):
        if (root / first).is_file():
            return (root / first).parent
    return (file.parent / first).parent  # missing files are reported for each interaction


def _graph(content: Mapping[str, Any], page: str, folder: Path) -> Graph:
    operations = _listed(content, _OPERATIONS)
    prompt = content.get("prompt")
    orders = _ORDER.findall(prompt) if isinstance(prompt, str) else []
    interactions: list[Interaction] = []
    broken: dict[str, InputError] = {}
    for number, operation in enumerate(operations, 1):
        order = orders[number - 1] if len(orders) == len(operations) else ""
        try:
            interactions.append(_interaction(str(number), operation, order))
        except InputError as error:
            broken[str(number)] = InputError(
                f"Page {page} of WebVIA: {error.message}", remedy=_REMEDY
            )
    if not operations:
        raise InputError(f"Page {page} of WebVIA has no operations.", remedy=_REMEDY)
    return Graph(page, folder, tuple(interactions), viewport=WINDOW, broken=broken)


def _interaction(id_: str, operation: Any, order: str) -> Interaction:
    if not isinstance(operation, dict):
        raise InputError(f"operation {id_} has no fields.")
    listed = operation.get("dom_info_list") or [operation.get("dom_info")]
    elements = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if not elements or len(elements) != len(listed) or len(elements) > _MOST_STEPS:
        raise InputError(f"operation {id_} does not name its element.")
    said = order.split("， ") if len(elements) > 1 else [order]
    if len(said) != len(elements):
        said = [""] * len(elements)  # a comma in a text: values fall back to defaults
    steps = [_step(element, what) for element, what in zip(elements, said, strict=True)]
    tag = str(elements[-1].get("tag") or "").lower()
    return Interaction(
        id=id_,
        source=_node(id_, operation.get("start_image_path")),
        target=_node(id_, operation.get("end_image_path")),
        action=steps[-1].action,
        sentence=steps[-1].sentence,
        tags=(_TAGS.get(tag, tag),) if tag else (),
        steps=tuple(steps[:-1]),
    )


def _node(id_: str, path: Any) -> str:
    name = PurePosixPath(path).name if isinstance(path, str) else ""
    if not name.endswith(".png") or name == ".png":
        raise InputError(f"operation {id_} has no picture {path!r}.")
    return name.removesuffix(".png")


def _step(element: Mapping[str, Any], said: str) -> Step:
    """Return the action on an element, and an English sentence that quotes its name."""
    given = element.get("attrs")
    attributes = given if isinstance(given, dict) else {}
    tag, kind = str(element.get("tag") or "").lower(), attributes.get("type")
    texts = (element.get("visible_text"), attributes.get("text"), attributes.get("placeholder"))
    shown, label, hint = (str(text or "").strip() for text in texts)
    noun = _NOUNS.get(tag, "element")
    if said.startswith(_TYPED):
        name = hint or label or shown
        value = _typed(said.removeprefix(_TYPED), (hint, shown, ""))
        if kind == "range":
            action = Action("key", _arrows(shown, value))
            return Step(action, f"press {action.value} on the {_quoted(name)} slider")
        return Step(Action("type", value), f"type {_quoted(value)} into the {_quoted(name)} {noun}")
    if said.startswith(_CHOSEN) or tag == "select":
        value = said.removeprefix(_CHOSEN).strip() if said.startswith(_CHOSEN) else ""
        sentence = f"select {_quoted(value)} in the {_quoted(label or shown)} {noun}"
        return Step(Action("select", value or None), sentence)
    if kind in ("checkbox", "radio"):
        shown = ""  # the value `on`, which is not on the page
    elif tag in ("input", "textarea"):
        return Step(Action("type"), f"type into the {_quoted(hint or label or shown)} {noun}")
    # An icon is not called by its name, which can be read only where the page happens to say it.
    named = f"{_quoted(shown)} {noun}" if shown else f"{label} icon".strip()
    return Step(Action("click"), f"click the {named}")


def _typed(said: str, before: Sequence[str]) -> str:
    """Return the text that is typed: after what the field shows, and a dash."""
    for shown in before:
        if said.startswith(f"{shown}-"):
            return said[len(shown) + 1 :]
    return said.rpartition("-")[2]


def _arrows(shown: str, value: str) -> str:
    """Return the keys that move a slider from one number to another, in its steps of 1."""
    try:
        way = round(float(value) - float(shown))
    except ValueError:
        way = 1
    return " ".join(["ArrowUp" if way > 0 else "ArrowDown"] * min(max(abs(way), 1), 100))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- published verdicts


@dataclass(frozen=True, slots=True)
class PublishedVerdict:
    """Whether a language model saw an operation work on a page that a model had made."""

    model: str
    page: str
    interaction: str
    works: bool


@dataclass(frozen=True, slots=True)
class PublishedVerdicts:
    """The verdicts that belong to an operation, and how many belong to none."""

    found: tuple[PublishedVerdict, ...]
    unmapped: int

    @property
    def models(self) -> tuple[str, ...]:
        """Return the models with verdicts."""
        return tuple(dict.fromkeys(one.model for one in self.found))


def read_verdicts(pages: Sequence[Graph | BrokenPage], folder: Path) -> PublishedVerdicts:
    """Read the verdicts of pages: beside them in `graph.json`, else below a folder of results."""
    graphs = {page.page: page for page in pages if isinstance(page, Graph)}
    found: list[PublishedVerdict] = []
    unmapped = 0
    for model, page, tasks in (*_beside(graphs), *_results(folder, graphs)):
        operations = _operations(graphs[page])
        for one in tasks if isinstance(tasks, list) else ():
            if isinstance(one, dict):
                interaction, works = operations.get(_plain(str(one.get("task")))), one.get("pass")
                if interaction is None or not isinstance(works, bool):
                    unmapped += 1
                else:
                    found.append(PublishedVerdict(model, page, interaction, works))
    return PublishedVerdicts(tuple(found), unmapped)


def _beside(graphs: Mapping[str, Graph]) -> Iterator[tuple[str, str, Any]]:
    for page, graph in graphs.items():
        if is_page(graph.folder):
            said = _parsed(_text(graph.folder / PAGE_FILE), page).get("llm_verdicts")
            for model, tasks in said.items() if isinstance(said, dict) else ():
                yield str(model), page, tasks


def _results(folder: Path, graphs: Mapping[str, Graph]) -> Iterator[tuple[str, str, Any]]:
    """Yield what the authors' program writes: `Verify_MODEL_html/1065__tasks.json`."""
    for file in sorted(folder.glob("**/Verify_*/*__tasks.json")) if folder.is_dir() else ():
        page = file.name.removesuffix("__tasks.json")
        if page in graphs:
            model = file.parent.name.removeprefix("Verify_").removesuffix("_html")
            try:
                said = json.loads(_text(file)).get("results_per_task")
            except (ValueError, AttributeError, RecursionError) as error:
                raise InputError(f"{file} has no verdicts: {error}.", remedy=_REMEDY) from error
            yield model, page, list(said.values()) if isinstance(said, dict) else said


def _operations(graph: Graph) -> dict[str, str]:
    """Return the number of each operation by the name of its task: that of its last picture.

    Names that belong to several operations are left out. Numbered pictures have the authors' names
    in `graph.json`.
    """
    names: dict[str, str] = {}
    if is_page(graph.folder):
        content = _parsed(_text(graph.folder / PAGE_FILE), graph.page)
        for ours, theirs in zip(
            _listed(content, _IMAGES), _listed(content, ("image_names",)), strict=False
        ):
            names[str(ours).removesuffix(".png")] = str(theirs).removesuffix(".png")
    tasks = [
        (_plain(_task(names.get(one.target, one.target))), one.id) for one in graph.interactions
    ]
    taken = Counter(name for name, _ in tasks)
    return {name: id_ for name, id_ in tasks if taken[name] == 1}


def _task(stem: str) -> str:
    return re.sub(r"_select_\d+_", "_", re.sub(r"_input_\d+_", "_input", stem))


def _plain(task: str) -> str:
    return re.sub(r"[\s_—-]+", "", task)


# --- anchors


def recompute(folder: Path, runs: Sequence[RunDirectory]) -> Recomputed | None:
    """Return how often the published verdicts say that operations work, and how far runs agree.

    A run is about the model whose folder its pages were in. None where there are no verdicts.
    """
    from uiproof.benchmarks.interaction2code.graph import read_dataset, recognises

    if not recognises(folder):
        return None
    pages = read_dataset(folder)
    published = read_verdicts(pages, folder)
    if not published.found and not published.unmapped:
        return None
    by_model = {
        model: [one for one in published.found if one.model == model] for model in published.models
    }
    compared = [_compared(published, run) for run in runs]
    mapped = published.unmapped == 0
    content = {
        "agrees": mapped,
        "rates": {
            model: sum(o.works for o in some) / len(some) for model, some in by_model.items()
        },
        "unmapped": published.unmapped,
        "runs": [
            {
                "model": model,
                "case": o.case,
                "published": o.published,
                "ours": o.ours,
                "unsure": o.unsure,
            }
            for model, cases in compared
            for o in cases
        ],
    }
    rows = []
    for model, some in by_model.items():
        rate = clustered_rate([one.works for one in some], [one.page for one in some])
        rows.append((model, f"{len(some)}", percent(rate), bounds(rate)))
    title, header = (
        "WebVIA, published verdicts: operations that work",
        ("Model", "n", "works %", "95 %"),
    )
    note = "By their language model, which saw the generated page and the name of the task only."
    tables = [Table(title, header, tuple(rows), (note,))]
    if compared:
        tables.append(_agreement(compared))
    said = f"{len(published.found)} published verdicts about {len(by_model)} models; "
    said += f"{published.unmapped} tasks belong to no operation."
    return Recomputed(tuple(tables), mapped, content, said)


class _Compared(NamedTuple):
    """A case of a run beside the published verdict."""

    case: str
    published: bool
    ours: bool
    unsure: bool
    named: bool  # whether the element shows a text


def _compared(published: PublishedVerdicts, run: RunDirectory) -> tuple[str, list[_Compared]]:
    folder = str((run.manifest.get("settings") or {}).get("folder", ""))
    model = PurePosixPath(folder.replace("\\", "/")).name.removesuffix("_html")
    theirs = {
        f"{one.page}/{one.interaction}": one.works for one in published.found if one.model == model
    }
    if not theirs:
        raise InputError(
            f"There are no published verdicts about {model or run.place}.",
            remedy=f"Name runs on the pages of: {', '.join(published.models)}.",
        )
    cases = []
    for record in run.records():
        if record.id in theirs:
            verdict = record.details.get("verdict") or {}
            works = record.status == "scored" and bool(verdict.get("usable"))
            unsure, named = bool(verdict.get("unsure")), '"' in str(record.details.get("sentence"))
            cases.append(_Compared(record.id, theirs[record.id], works, unsure, named))
    return model, cases


def _agreement(runs: Sequence[tuple[str, list[_Compared]]]) -> Table:
    everything = [one for _, cases in runs for one in cases]
    groups = [
        *runs,
        *([("all", everything)] if len(runs) > 1 else []),
        ("all, ours sure", [one for one in everything if not one.unsure]),
        ("all, not icons", [one for one in everything if one.named]),
    ]
    rows = []
    for name, some in groups:
        pairs = [(one.published, one.ours) for one in some]
        pages = [one.case.rpartition("/")[0] for one in some]
        rate = clustered_rate([a == b for a, b in pairs], pages)
        kappa = cohen_kappa(*zip(*pairs, strict=True)).value if pairs else None
        shown = MISSING if kappa is None else f"{kappa:.2f}"
        counts = [
            f"{pairs.count(pair)}"
            for pair in ((True, True), (False, False), (True, False), (False, True))
        ]
        rows.append((name, f"{len(some)}", percent(rate), bounds(rate), shown, *counts))
    header = (
        *("Model", "n", "agree %", "95 %", "kappa"),
        *("both: works", "both: not", "theirs only", "ours only"),
    )
    return Table("Our verdicts beside the published ones", header, tuple(rows))
