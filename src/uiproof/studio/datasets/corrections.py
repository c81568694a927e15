"""Corrections of collected interactions, page by page, and the pages as they go out.

A state of one page is what `edits` keeps of it: its topic, all of its interactions as somebody left
them, and whether the page is done.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from uiproof.benchmarks.interaction2code import layout
from uiproof.benchmarks.interaction2code.graph import Graph, Interaction
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import ACTION_KINDS, Action
from uiproof.browser.source import is_page_asset
from uiproof.errors import InputError
from uiproof.studio.datasets.boxes import Size, edges, read_edges, read_text
from uiproof.studio.datasets.exporting import File
from uiproof.studio.datasets.sets import InteractionSet
from uiproof.studio.edits import Edit, edits
from uiproof.studio.store import Store

_MOST_CATEGORIES = 40


@dataclass(frozen=True, slots=True)
class Corrected:
    """One interaction as people see and correct it."""

    id: str
    action: Action
    sentence: str
    description: str
    tags: tuple[str, ...]
    visuals: tuple[str, ...]
    trigger: PixelBox | None  # in pixels of the screenshot before
    effect: PixelBox | None  # in pixels of the screenshot after
    removed: bool = False

    def json(self) -> dict[str, Any]:
        """As it is sent and stored."""
        return {
            "id": self.id,
            "kind": self.action.kind,
            "value": self.action.value,
            "sentence": self.sentence,
            "description": self.description,
            "tags": list(self.tags),
            "visuals": list(self.visuals),
            "trigger": edges(self.trigger),
            "effect": edges(self.effect),
            "removed": self.removed,
        }


@dataclass(frozen=True, slots=True)
class PageState:
    """A page as people see and correct it."""

    topic: str
    interactions: tuple[Corrected, ...]
    done: bool = False

    def json(self) -> dict[str, Any]:
        """As it is sent and stored."""
        interactions = [one.json() for one in self.interactions]
        return {"topic": self.topic, "interactions": interactions, "done": self.done}


def collected_page(graph: Graph, sizes: Mapping[str, Size]) -> PageState:
    """What the data set itself says about a page; boxes it only drew are found in its marks.

    `sizes` are those of its screenshots, as far as they can be read.
    """
    found = (_collected(graph, one, sizes) for one in graph.interactions)
    return PageState(graph.topic, tuple(found))


def current_page(graph: Graph, sizes: Mapping[str, Size], edit: Edit | None) -> PageState:
    """What holds now: the newest correction, or what the data set says."""
    return collected_page(graph, sizes) if edit is None else read_page(edit.content, graph, sizes)


def read_page(content: Any, graph: Graph, sizes: Mapping[str, Size]) -> PageState:
    """Check what a browser sent; raises `InputError` where it cannot be meant.

    `sizes` are those of the screenshots. Interactions that are not named stay as they were.
    """
    entries = content.get("interactions") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("A list of interactions was expected.")
    by_id = {entry.get("id"): entry for entry in entries}
    if len(by_id) < len(entries) or not set(by_id) <= {one.id for one in graph.interactions}:
        raise InputError(f"Page {graph.page} does not have these interactions.")
    interactions = tuple(
        _read(by_id[one.id], one, sizes) if one.id in by_id else _collected(graph, one, sizes)
        for one in graph.interactions
    )
    topic = read_text(content.get("topic", ""), most=200).strip()
    return PageState(topic, interactions, done=content.get("done") is True)


def exported_pages(store: Store, data_set: InteractionSet, *, only_done: bool) -> Iterator[File]:
    """The files of a data set in the published layout, with everything that was corrected.

    Pages that nobody corrected are copied as they are. With `only_done` those that nobody marked as
    done are left out, and so are pages without any interaction left.
    """
    made = edits(store, data_set.id)
    for name, page in data_set.pages.items():
        edit = made.get(name)
        if only_done and not (edit and edit.content.get("done") is True):
            continue
        if not isinstance(page, Graph):
            continue  # it could not be used before either
        if edit is None:
            yield from _files(page.folder, name)
            continue
        sizes = {node: data_set.picture(name, node)[1] for node in usable_nodes(data_set, page)}
        with TemporaryDirectory() as draft:
            folder = Path(draft) / "page"
            if _write_corrected(page, current_page(page, sizes, edit), sizes, folder):
                yield from _files(folder, name)


def usable_nodes(data_set: InteractionSet, graph: Graph) -> list[str]:
    """The screenshots of a page that are there and can be read, in the order they are used."""
    nodes = []
    for node in dict.fromkeys(n for one in graph.interactions for n in (one.source, one.target)):
        try:
            data_set.picture(graph.page, node)
        except InputError:
            continue
        nodes.append(node)
    return nodes


def _collected(graph: Graph, one: Interaction, sizes: Mapping[str, Size]) -> Corrected:
    return Corrected(
        id=one.id,
        action=one.action,
        sentence=one.sentence,
        description=one.description,
        tags=one.tags,
        visuals=one.visuals,
        trigger=_shown(one.trigger or _marked(graph, one.source), sizes.get(one.source)),
        effect=_shown(one.effect or _marked(graph, one.target), sizes.get(one.target)),
    )


def _shown(box: PixelBox | None, size: Size | None) -> PixelBox | None:
    """What of a box is on its screenshot; None where nothing is, or there is no screenshot."""
    if box is None or size is None:
        return None
    left, top = max(box.left, 0), max(box.top, 0)
    right, bottom = min(box.right, size[0]), min(box.bottom, size[1])
    return PixelBox(left, top, right, bottom) if left < right and top < bottom else None


def _marked(graph: Graph, node: str) -> PixelBox | None:
    plain, marked = graph.screenshot(node), graph.marked(node)
    if not plain.is_file() or not marked.is_file():
        return None
    return _find_mark(plain, plain.stat().st_mtime_ns, marked, marked.stat().st_mtime_ns)


@lru_cache(maxsize=4096)  # two pictures have to be compared for it
def _find_mark(plain: Path, _changed: int, marked: Path, _changed_too: int) -> PixelBox | None:
    from uiproof.benchmarks.interaction2code.marks import find_mark
    from uiproof.vision.images import read

    try:
        return find_mark(read(plain), read(marked))
    except InputError:
        return None  # a picture that cannot be read has no mark that can be corrected


def _read(entry: Mapping[str, Any], one: Interaction, sizes: Mapping[str, Size]) -> Corrected:
    value = entry.get("value")
    return Corrected(
        id=one.id,
        action=_read_action(entry.get("kind"), None if value is None else read_text(value)),
        sentence=read_text(entry.get("sentence", "")).strip(),
        description=read_text(entry.get("description", "")).strip(),
        tags=_read_categories(entry.get("tags", [])),
        visuals=_read_categories(entry.get("visuals", [])),
        trigger=read_edges(entry.get("trigger"), sizes.get(one.source, (0, 0))),
        effect=read_edges(entry.get("effect"), sizes.get(one.target, (0, 0))),
        removed=entry.get("removed") is True,
    )


def _read_action(kind: Any, value: str | None) -> Action:
    for known in ACTION_KINDS:
        if kind == known:
            return Action(known, value)
    raise InputError(f"There is no action {kind!r}; use one of: {', '.join(ACTION_KINDS)}.")


def _read_categories(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _MOST_CATEGORIES:
        raise InputError("A list of categories was expected.")
    names = (" ".join(read_text(name, most=100).lower().split()) for name in value)
    return tuple(dict.fromkeys(name for name in names if name))


def _write_corrected(
    graph: Graph, state: PageState, sizes: Mapping[str, Size], folder: Path
) -> bool:
    """Write a page with its corrections; False where no interaction of it is left."""
    redrawn = _nodes_to_redraw(graph, state, sizes)
    kept = []
    for one, corrected in zip(graph.interactions, state.interactions, strict=True):
        if corrected.removed or not {one.source, one.target} <= set(sizes):
            continue
        kept.append(
            replace(
                one,
                action=corrected.action,
                sentence=corrected.sentence,
                description=corrected.description,
                tags=corrected.tags,
                visuals=corrected.visuals,
                trigger=corrected.trigger if one.source in redrawn else one.trigger,
                effect=corrected.effect if one.target in redrawn else one.effect,
            )
        )
    if not kept:
        return False
    nodes = {node for one in kept for node in (one.source, one.target)}
    pictures = {node: graph.screenshot(node).read_bytes() for node in nodes}
    page = replace(graph, folder=folder, interactions=tuple(kept), topic=state.topic)
    layout.write_graph(page, pictures)
    # What is drawn by hand is better than what we would draw in the same place.
    for node in nodes - redrawn:
        _copy(graph.marked(node), page.marked(node))
    for one in kept:
        if one.target not in redrawn:
            _copy(graph.crop(one.id), page.crop(one.id))
    _copy_others(graph, folder)
    return True


def _nodes_to_redraw(graph: Graph, state: PageState, sizes: Mapping[str, Size]) -> set[str]:
    """The screenshots on which a mark was moved, added or taken away."""
    redrawn = set()
    for one, corrected in zip(graph.interactions, state.interactions, strict=True):
        before = _collected(graph, one, sizes)
        if corrected.removed or corrected.trigger != before.trigger:
            redrawn.add(one.source)
        if corrected.removed or corrected.effect != before.effect:
            redrawn.add(one.target)
    return redrawn


def _copy(source: Path, target: Path) -> None:
    if source.is_file():
        shutil.copyfile(source, target)


def _copy_others(graph: Graph, folder: Path) -> None:
    """Everything else that lies in the folder of a page, such as the page that was explored."""
    nodes = {node for one in graph.interactions for node in (one.source, one.target)}
    ours = {layout.FILE, *(f"{node}.png" for node in nodes), *(f"{n}_mark.png" for n in nodes)}
    ours |= {graph.crop(one.id).name for one in graph.interactions}
    for file in _files(graph.folder, ""):
        if file.name not in ours:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.source, target)


def _files(folder: Path, name: str) -> Iterator[File]:
    """Return what a page consists of; nothing hidden, and no links that lead out of its folder."""
    whole = folder.resolve()
    for path in sorted(folder.rglob("*")):
        within = path.relative_to(folder).as_posix()
        if within != layout.FILE and not is_page_asset(within):
            continue
        real = path.resolve()
        if not path.is_file() or not real.is_relative_to(whole):
            continue
        if within == layout.FILE or is_page_asset(str(real.relative_to(whole))):
            yield File(f"{name}/{within}" if name else within, path)
