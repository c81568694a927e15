"""Collected interactions, corrected in the studio page by page and exported as published."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from urllib.parse import urlencode

from pydantic import AfterValidator, Field, StrictBool

from uiproof.benchmarks.interaction2code.drawing import NO_PICTURE_HEIGHT, graph_svg
from uiproof.benchmarks.interaction2code.graph import (
    FILE,
    TAG_CATEGORIES,
    VISUAL_CATEGORIES,
    Graph,
    Interaction,
    read_dataset,
    write_graph,
)
from uiproof.browser.snapshots import ACTION_KINDS, Action, ActionKind
from uiproof.browser.source import is_page_asset
from uiproof.dataset_editor import (
    DatasetEditor,
    Edges,
    EntrySummary,
    ExportFile,
    Size,
    State,
    Text,
    check_inside,
    edges_of,
    is_done,
    parse_state,
    picture_inside,
    picture_type,
)
from uiproof.errors import InputError
from uiproof.geometry import PixelBox
from uiproof.markup import Markup

_THUMBNAIL_HEIGHT = 138  # as wide as a state of a graph, in the shape of the studio's thumbnails


def _normalised(names: tuple[str, ...]) -> tuple[str, ...]:
    plain = (" ".join(name.lower().split()) for name in names)
    return tuple(dict.fromkeys(name for name in plain if name))


_Stripped = Annotated[Text, AfterValidator(str.strip)]
_Categories = Annotated[
    tuple[Annotated[str, Field(max_length=100)], ...],
    Field(max_length=40),
    AfterValidator(_normalised),
]


class EditedInteraction(State):
    """One interaction as people see and correct it."""

    id: str
    kind: ActionKind
    value: Text | None = None
    sentence: _Stripped = ""
    description: _Stripped = ""
    tags: _Categories = ()
    visuals: _Categories = ()
    trigger: Edges | None = None  # in pixels of the screenshot before
    effect: Edges | None = None  # in pixels of the screenshot after
    removed: StrictBool = False


class EditedPage(State):
    """A page as people see and correct it."""

    topic: Annotated[str, Field(max_length=200), AfterValidator(str.strip)] = ""
    interactions: tuple[EditedInteraction, ...]
    done: StrictBool = False


def collected_page(graph: Graph, sizes: Mapping[str, Size]) -> EditedPage:
    """Return a page as the data set has it; boxes that are only drawn are found in its marks.

    `sizes` are those of the screenshots that can be read.
    """
    found = tuple(_collected(graph, one, sizes) for one in graph.interactions)
    return EditedPage.model_construct(topic=graph.topic, interactions=found, done=False)


def read_page(content: Any, graph: Graph, sizes: Mapping[str, Size]) -> EditedPage:
    """Return a page that a browser sent; raise `InputError` if it is invalid.

    Interactions that it does not name stay as they were.
    """
    page = parse_state(EditedPage, content)
    by_id = {one.id: one for one in page.interactions}
    known = {one.id for one in graph.interactions}
    if len(by_id) < len(page.interactions) or not set(by_id) <= known:
        raise InputError(f"Page {graph.page} does not have these interactions.")
    interactions = []
    for one in graph.interactions:
        if (edited := by_id.get(one.id)) is None:
            edited = _collected(graph, one, sizes)
        else:
            check_inside(edited.trigger, sizes.get(one.source, (0, 0)))
            check_inside(edited.effect, sizes.get(one.target, (0, 0)))
        interactions.append(edited)
    return page.model_copy(update={"interactions": tuple(interactions)})


def _drawing(graph: Graph, sizes: Mapping[str, Size]) -> Markup:
    """Return the graph with the studio's own thumbnails, whose addresses are beside the page's."""

    def thumbnail(node: str) -> tuple[Mapping[str, str | int], int]:
        if node not in sizes:
            return {}, NO_PICTURE_HEIGHT
        query = urlencode({"name": graph.page, "node": node, "size": "thumbnail"})
        return {"href": f"picture?{query}"}, _THUMBNAIL_HEIGHT

    return graph_svg(graph, thumbnail) if graph.interactions else Markup("")


class InteractionEditor(DatasetEditor):
    """Pages with interactions to correct."""

    form = "page"
    format = "interaction2code"

    def __init__(self, path: Path) -> None:
        self.path = path if path.is_dir() else path.parent
        self.name = path.name
        self.pages = {page.page: page for page in read_dataset(path)}

    def names(self) -> Sequence[str]:
        """Return the names of all pages."""
        return list(self.pages)

    def summary(self, name: str, state: Mapping[str, Any] | None) -> EntrySummary:
        """Return a page as lists show it."""
        try:
            graph = self._page(name)
        except InputError as error:
            return EntrySummary(name, 0, done=False, changed=False, problem=error.message)
        removed = sum(one["removed"] for one in state["interactions"]) if state else 0
        return EntrySummary(
            name=name,
            count=len(graph.interactions) - removed,
            done=is_done(state),
            changed=state is not None,
            node=graph.start,
            note=state["topic"] if state else graph.topic,
            problem="" if graph.start else "It has no interaction that can be read.",
        )

    def picture(self, name: str, node: str | None = None) -> tuple[Path, Size]:
        """Return a screenshot of a page and its size."""
        from uiproof.vision.images import size as picture_size

        graph = self._page(name)
        if node is None:
            raise InputError("A page has several screenshots: name one.")
        if not any(node in (one.source, one.target) for one in graph.interactions):
            raise InputError(f"There is no screenshot {node!r} of page {name}.")
        path = picture_inside(graph.screenshot(node), self.path)
        picture_type(path)
        return path, picture_size(path)

    def view(self, name: str, state: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the interactions of a page."""
        graph = self._page(name)
        sizes = self._sizes(graph)
        known = state is not None
        page = read_page(state, graph, sizes) if known else collected_page(graph, sizes)
        tags = (name for one in page.interactions for name in one.tags)
        visuals = (name for one in page.interactions for name in one.visuals)
        topics = {page.topic for page in self.pages.values() if isinstance(page, Graph)}
        return {
            "state": {
                "name": name,
                "sizes": sizes,
                "nodes": {one.id: [one.source, one.target] for one in graph.interactions},
                "content": page.model_dump(mode="json"),
            },
            "link": graph.link,
            "graph": _drawing(graph, sizes),
            "broken": [f"{id}: {error.message}" for id, error in graph.broken.items()],
            "kinds": ACTION_KINDS,
            # The categories of the paper, then others that a page has.
            "tags": list(dict.fromkeys((*TAG_CATEGORIES, *tags))),
            "visuals": list(dict.fromkeys((*VISUAL_CATEGORIES, *visuals))),
            "topics": sorted(topics - {""}),
        }

    def checked(self, name: str, content: Any) -> dict[str, Any]:
        """Return valid interactions as they are kept."""
        graph = self._page(name)
        return read_page(content, graph, self._sizes(graph)).model_dump(mode="json")

    def export(
        self, states: Mapping[str, Mapping[str, Any]], *, only_done: bool
    ) -> Iterator[ExportFile]:
        """Yield the data set in the published layout; pages without corrections are copied."""
        for name, page in self.pages.items():
            state = states.get(name)
            if not isinstance(page, Graph) or (only_done and not is_done(state)):
                continue
            if state is None:
                yield from _files(page.folder, name)
                continue
            sizes = self._sizes(page)
            with TemporaryDirectory() as draft:
                folder = Path(draft) / "page"
                if _write_edited(page, read_page(state, page, sizes), sizes, folder):
                    yield from _files(folder, name)

    def _page(self, name: str) -> Graph:
        found = self.pages.get(name)
        if isinstance(found, Graph):
            return found
        raise found.error if found else InputError(f"There is no page {name!r} in {self.name}.")

    def _sizes(self, graph: Graph) -> dict[str, Size]:
        """Return the sizes of the screenshots that can be read, in the order they are used."""
        sizes = {}
        used = (node for one in graph.interactions for node in (one.source, one.target))
        for node in dict.fromkeys(used):
            try:
                sizes[node] = self.picture(graph.page, node)[1]
            except InputError:
                continue
        return sizes


def _collected(graph: Graph, one: Interaction, sizes: Mapping[str, Size]) -> EditedInteraction:
    trigger = _visible(one.trigger or _marked(graph, one.source), sizes.get(one.source))
    effect = _visible(one.effect or _marked(graph, one.target), sizes.get(one.target))
    return EditedInteraction.model_construct(
        id=one.id,
        kind=one.action.kind,
        value=one.action.value,
        sentence=one.sentence,
        description=one.description,
        tags=one.tags,
        visuals=one.visuals,
        trigger=edges_of(trigger),
        effect=edges_of(effect),
        removed=False,
    )


def _visible(box: PixelBox | None, size: Size | None) -> PixelBox | None:
    """Return the part of a box that is on its screenshot, if there is one."""
    return None if box is None or size is None else box.intersection(PixelBox(0, 0, *size))


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


def _write_edited(graph: Graph, page: EditedPage, sizes: Mapping[str, Size], folder: Path) -> bool:
    """Write a page with its corrections; return False where no interaction of it is left."""
    pairs = list(zip(graph.interactions, page.interactions, strict=True))
    redrawn = set()  # screenshots on which a mark was moved, added or removed
    for one, edited in pairs:
        before = _collected(graph, one, sizes)
        if edited.removed or edited.trigger != before.trigger:
            redrawn.add(one.source)
        if edited.removed or edited.effect != before.effect:
            redrawn.add(one.target)
    kept = []
    for one, edited in pairs:
        if edited.removed or not {one.source, one.target} <= set(sizes):
            continue
        kept.append(
            replace(
                one,
                action=Action(edited.kind, edited.value),
                sentence=edited.sentence,
                description=edited.description,
                tags=edited.tags,
                visuals=edited.visuals,
                trigger=_box(edited.trigger) if one.source in redrawn else one.trigger,
                effect=_box(edited.effect) if one.target in redrawn else one.effect,
            )
        )
    if not kept:
        return False
    nodes = {node for one in kept for node in (one.source, one.target)}
    pictures = {node: graph.screenshot(node).read_bytes() for node in nodes}
    written = replace(graph, folder=folder, interactions=tuple(kept), topic=page.topic)
    write_graph(written, pictures)
    all_nodes = {node for one in graph.interactions for node in (one.source, one.target)}
    drawn = {path(node).name for node in all_nodes for path in (graph.screenshot, graph.marked)}
    drawn |= {FILE, *(graph.crop(one.id).name for one in graph.interactions)}
    # Marks drawn by hand are better than ours in the same place.
    drawn -= {graph.marked(node).name for node in nodes - redrawn}
    drawn -= {graph.crop(one.id).name for one in kept if one.target not in redrawn}
    for file in _files(graph.folder, ""):  # also the page that was explored
        if file.name not in drawn:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.source, target)
    return True


def _box(edges: Edges | None) -> PixelBox | None:
    return None if edges is None else PixelBox(*edges)


def _files(folder: Path, name: str) -> Iterator[ExportFile]:
    """Yield the files of a page: nothing hidden, and no links that lead out of its folder."""
    whole = folder.resolve()
    for path in sorted(folder.rglob("*")):
        within = path.relative_to(folder).as_posix()
        if within != FILE and not is_page_asset(within):
            continue
        real = path.resolve()
        if not path.is_file() or not real.is_relative_to(whole):
            continue
        if within == FILE or is_page_asset(str(real.relative_to(whole))):
            yield ExportFile(f"{name}/{within}" if name else within, path)
