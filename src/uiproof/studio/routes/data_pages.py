"""The editor of a page's interactions."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from uiproof.benchmarks.interaction2code.graph import TAG_CATEGORIES, VISUAL_CATEGORIES, Graph
from uiproof.browser.snapshots import ACTION_KINDS
from uiproof.errors import InputError
from uiproof.studio.app import Asked, Here
from uiproof.studio.datasets.boxes import Size
from uiproof.studio.datasets.corrections import PageState, current_page, read_page, usable_nodes
from uiproof.studio.datasets.sets import InteractionSet
from uiproof.studio.edits import edits
from uiproof.studio.routes.data_common import (
    Change,
    as_attribute,
    described,
    library,
    neighbours,
    save_change,
)

router = APIRouter()


@router.get("/data/{set_id}/page")
def edit_page(here: Asked, set_id: str, name: str) -> Response:
    """One page with its interactions."""
    data_set = _interactions(here, set_id)
    graph = data_set.page(name)
    sizes = _sizes(data_set, graph)
    made = edits(here.store, set_id)
    content = current_page(graph, sizes, made.get(name))
    state = {
        "name": name,
        "sizes": sizes,
        "nodes": {one.id: [one.source, one.target] for one in graph.interactions},
        "content": content.json(),
        **described(here, made.get(name)),
    }
    topics = {page.topic for page in data_set.pages.values() if isinstance(page, Graph)}
    return here.page(
        "data_page.html",
        section="data",
        data_set=data_set,
        name=name,
        graph=graph,
        state=as_attribute(state),
        kinds=ACTION_KINDS,
        tags=_known_first(TAG_CATEGORIES, [one.tags for one in content.interactions]),
        visuals=_known_first(VISUAL_CATEGORIES, [one.visuals for one in content.interactions]),
        topics=sorted(topics - {""}),
        **neighbours(list(data_set.pages), name),
    )


@router.post("/data/{set_id}/interactions")
def save_page(here: Asked, set_id: str, change: Change) -> JSONResponse:
    """Keep the interactions of a page."""
    data_set = _interactions(here, set_id)
    graph = data_set.page(change.name)
    state: PageState = read_page(change.content, graph, _sizes(data_set, graph))
    return save_change(here, set_id, change, state.json())


def _sizes(data_set: InteractionSet, graph: Graph) -> dict[str, Size]:
    nodes = usable_nodes(data_set, graph)
    return {node: data_set.picture(graph.page, node)[1] for node in nodes}


def _known_first(known: tuple[str, ...], used: list[tuple[str, ...]]) -> list[str]:
    """The categories of the paper, then others that this page has."""
    return list(dict.fromkeys([*known, *(name for names in used for name in names)]))


def _interactions(here: Here, set_id: str) -> InteractionSet:
    found = library(here).get(set_id)
    if not isinstance(found, InteractionSet):
        raise InputError(f"{found.name} has single screenshots, not pages with interactions.")
    return found
