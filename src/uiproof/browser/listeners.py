"""Which elements of a page handle which events."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uiproof.browser.page import LivePage

# Elements whose listeners are looked up, for each costs a question to the browser. More than that
# handle an event only on pages that should have had one listener around all of them.
MAX_HANDLING = 1_000

# Numbers the elements; a document's listeners are its root's.
_REFS = """(...nodes) => nodes.map((node) => {
  const element = node?.nodeType === Node.DOCUMENT_NODE ? node.documentElement : node;
  return element?.nodeType === Node.ELEMENT_NODE ? uiproof.refOf(element) : 0;
})"""
_GROUP = "uiproof-listeners"
_OURS = {"error", "unhandledrejection"}  # of steady.js, on the window


class Listeners:
    """The listeners of one document, as the browser itself knows them: a page cannot hide any."""

    def __init__(self) -> None:
        self._refs: dict[int, int] = {}  # the browser's number of a node -> ours, 0: none

    def by_ref(self, page: LivePage) -> dict[int, tuple[str, ...]]:
        """The events that elements handle; those of document and window count as <html>'s."""
        # Handles must be from the page's own world: the browser dies of those from ours.
        handled: dict[int, set[str]] = defaultdict(set)
        root = page.handle("document", group=_GROUP, main=True)
        for one in page.listeners(root):
            handled[one.get("backendNodeId", 0)].add(one["type"])
        unknown = [node for node in handled if node and node not in self._refs][:MAX_HANDLING]
        handles = [page.resolve(node, group=_GROUP) for node in unknown]
        handles.append(page.handle("document", group=_GROUP))
        *refs, html = page.call(_REFS, handles)
        self._refs.update(zip(unknown, refs, strict=True))
        found: dict[int, set[str]] = defaultdict(set)
        for node, types in handled.items():
            found[self._refs.get(node, 0)] |= types
        of_window = page.listeners(page.handle("window", group=_GROUP, main=True))
        found[html] |= {one["type"] for one in of_window} - _OURS
        page.send("Runtime.releaseObjectGroup", objectGroup=_GROUP)
        return {ref: tuple(sorted(types)) for ref, types in found.items() if ref and types}
