"""What there is to see of one case of one run: the reference, and what was generated for it.

Nothing here says which model it was. Errors are put in words of our own, since their messages may
name it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from uiproof.browser.source import is_page_asset
from uiproof.engine.rundir import RunDirectory
from uiproof.engine.types import Record
from uiproof.errors import InputError
from uiproof.studio.browsing.runs import open_run

Box = tuple[float, float, float, float]  # left, top, right, bottom in pixels of the page

_USUAL_WIDTH = 1280  # of a page whose size is not known
_RUNS_KEPT = 8
_WIDELY = 0.6  # of a picture: what changed more than this is not worth an outline
_ACTIONS = {
    "click": "Click the marked element",
    "hover": "Move the pointer over the marked element",
    "type": "Type into the marked field",
    "select": "Choose in the marked list",
    "drag": "Drag the marked element",
    "scroll": "Scroll the marked element",
    "key": "Press a key in the marked element",
}
_WHY_NO_PAGE = {
    "load": "This case could not be read, so there is no page.",
    "pose": "This case could not be prepared, so there is no page.",
    "answer": "No page was generated.",
    "score": "A page was generated, but it could not be opened within the limits.",
}
_FACTS = ("size", "width", "height", "trigger", "region")
_NOT_HERE = "What this is about is not in the studio's folder of runs."


@dataclass(frozen=True, slots=True)
class Picture:
    """A screenshot, with what is to be marked on it."""

    label: str
    path: Path
    width: float  # of the page that it shows, which may be fewer pixels than the file has
    height: float
    trigger: Box | None = None
    changed: Box | None = None


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One case: reference and generated pictures, and the generated page itself."""

    words: str = ""  # what is done to the page, for interactions
    reference: tuple[Picture, ...] = ()
    generated: tuple[Picture, ...] = ()
    page: Path | None = None
    width: int = _USUAL_WIDTH  # of the window that the page was made for
    missing: str = ""  # why there is no page


def exhibit(folder: Path, run: str | None, case: str, others: Iterable[str] = ()) -> Exhibit:
    """What is to see of a case of a run below `folder`.

    `others` are runs on the same data. The reference is taken from them where this run has none,
    which is so where a case failed.
    """
    found = _of_run(folder, run, case)
    for other in others:
        if found.reference:
            break
        also = _of_run(folder, other, case)
        found = replace(found, words=also.words, reference=also.reference, width=also.width)
    return found


def _of_run(folder: Path, run: str | None, case: str) -> Exhibit:
    if run is None:
        return Exhibit(missing=_NOT_HERE)
    try:
        directory = open_run(folder, run).directory
        state = directory.journal.stat()
    except (InputError, OSError):
        return Exhibit(missing=_NOT_HERE)
    record = _cases(directory.path, state.st_mtime_ns, state.st_size).get(case)
    return Exhibit(missing=_NOT_HERE) if record is None else _exhibit(directory, record)


@lru_cache(maxsize=_RUNS_KEPT)
def _cases(path: Path, _modified: int, _size: int) -> Mapping[str, Record]:
    """All cases of a journal as it is now, with as much of each as is shown here."""
    return {record.id: _slim(record) for record in RunDirectory(path).records()}


def _slim(record: Record) -> Record:
    details: dict[str, Any] = {
        name: record.details[name] for name in ("action", "sentence") if name in record.details
    }
    for side in ("reference", "generated"):
        facts = _facts(record, side)
        details[side] = {name: facts[name] for name in _FACTS if name in facts}
    return Record(
        record.id, record.status, {}, record.error, details, artifacts=dict(record.artifacts)
    )


def _exhibit(run: RunDirectory, record: Record) -> Exhibit:
    interaction = "reference_before" in record.artifacts or "action" in record.details
    reference = _facts(record, "reference")
    generated = _facts(record, "generated")
    page = _inside(run, record, "page" if interaction else "html")
    width = _size(generated)[0] or _size(reference)[0] or _USUAL_WIDTH
    stage = record.error.stage if record.error else "answer"
    return Exhibit(
        _words(record.details) if interaction else "",
        _pictures(run, record, "reference", interaction),
        _pictures(run, record, "generated", interaction),
        page,
        round(width),
        "" if page else _WHY_NO_PAGE[stage],
    )


def _words(details: Mapping[str, Any]) -> str:
    """The action as a sentence."""
    sentence = details.get("sentence")
    if isinstance(sentence, str) and sentence.strip():
        plain = " ".join(sentence.split())
        return plain[0].upper() + plain[1:]
    action = details.get("action")
    kind = str(action.get("kind", "")) if isinstance(action, Mapping) else ""
    value = action.get("value") if isinstance(action, Mapping) else None
    said = _ACTIONS.get(kind, "Use the marked element")
    return f"{said}: {value}" if isinstance(value, str) and value else said


def _pictures(
    run: RunDirectory, record: Record, side: str, interaction: bool
) -> tuple[Picture, ...]:
    names = {f"{side}_before": "Before", f"{side}_after": "After"}
    if not interaction:
        names = {side: "Screenshot"}
    facts = _facts(record, side)
    found = []
    for name, label in names.items():
        path = _inside(run, record, name)
        width, height = _pixels(path) if path else (0, 0)
        if path is None or not width:
            continue
        scale = width / (_size(facts)[0] or width)
        picture = Picture(label, path, width / scale, height / scale)
        if label == "Before":
            picture = replace(picture, trigger=_box(facts.get("trigger"), picture))
        elif label == "After":
            changed = _box(facts.get("region"), picture)
            if changed and _area(changed) < _WIDELY * picture.width * picture.height:
                picture = replace(picture, changed=changed)
        found.append(picture)
    return tuple(found)


def _facts(record: Record, side: str) -> Mapping[str, Any]:
    facts = record.details.get(side)
    return facts if isinstance(facts, Mapping) else {}


def _size(facts: Mapping[str, Any]) -> tuple[float, float]:
    """Width and height of a page as a judge wrote it down; zeros where it did not."""
    size: Any = facts.get("size") or (facts.get("width"), facts.get("height"))
    if _is_numbers(size, 2):
        return float(size[0]), float(size[1])
    return 0.0, 0.0


def _box(corners: object, picture: Picture) -> Box | None:
    """A box that lies on the picture."""
    if not isinstance(corners, Sequence) or not _is_numbers(corners, 4):
        return None
    left, top = max(float(corners[0]), 0.0), max(float(corners[1]), 0.0)
    right, bottom = min(float(corners[2]), picture.width), min(float(corners[3]), picture.height)
    return (left, top, right, bottom) if right > left and bottom > top else None


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _is_numbers(values: object, count: int) -> bool:
    return (
        isinstance(values, Sequence)
        and len(values) == count
        and all(isinstance(value, int | float) and value >= 0 for value in values)
    )


def _inside(run: RunDirectory, record: Record, name: str) -> Path | None:
    """A file that a judge kept; None for everything else that a journal may name."""
    kept = record.artifacts.get(name)
    if not isinstance(kept, str) or len(Path(kept).parts) < 3:  # artifacts/case/file
        return None
    if Path(kept).parts[0] not in ("artifacts", "references") or not is_page_asset(kept):
        return None
    try:
        path = run.artifact(kept)  # links are followed, so what they lead to is looked at again
        asset = is_page_asset(str(path.relative_to(run.path.resolve())))
        return path if asset and path.is_file() else None
    except (InputError, OSError, ValueError):
        return None


def _pixels(path: Path) -> tuple[int, int]:
    from PIL import Image

    try:
        with Image.open(path, formats=("PNG",)) as opened:
            return opened.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return 0, 0
