"""A snapshot as a tree: what lies in what."""

from __future__ import annotations

from functools import cached_property

from uiproof.browser.snapshots import Element, Snapshot


class Tree:
    """Parents, children and look-alikes of the elements of a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.elements = snapshot.elements
        self._by_ref = {one.ref: one for one in snapshot.elements}

    def __contains__(self, element: Element) -> bool:
        return element.ref in self._by_ref

    def get(self, ref: int | None) -> Element | None:
        """The element with this number."""
        return None if ref is None else self._by_ref.get(ref)

    def parent(self, element: Element) -> Element | None:
        """The nearest visible element around an element."""
        return self.get(element.parent)

    def chain(self, element: Element) -> list[Element]:
        """The element and those around it, from the inside out."""
        found, at = [element], self.parent(element)
        while at is not None:
            found.append(at)
            at = self.parent(at)
        return found

    def inside(self, element: Element) -> list[Element]:
        """The elements in an element, at any depth."""
        found = []
        waiting = list(reversed(self._children.get(element.ref, [])))
        while waiting:
            one = waiting.pop()
            found.append(one)
            waiting += reversed(self._children.get(one.ref, []))
        return found

    def is_in(self, element: Element, other: Element) -> bool:
        """Whether an element lies in another one, or is it."""
        return any(one.ref == other.ref for one in self.chain(element))

    def kin(self, element: Element) -> tuple[object, ...]:
        """The same for elements that look as if they were made by the same rule."""
        parent = self.parent(element)
        return (
            *(element.tag, element.role, element.type, parent.tag if parent else ""),
            *(len(self.chain(element)), element.listeners, bool(element.text)),
            *(element.style.get("font-size"), element.style.get("position")),
        )

    def twin(self, element: Element) -> tuple[object, ...]:
        """The same for elements of one kin that also look alike at this moment."""
        look = tuple(element.style.get(name) for name in ("cursor", "font-weight", "opacity"))
        return (*self.kin(element), look, element.color, element.background, element.text == "")

    def repeats(self, element: Element) -> bool:
        """Whether an element has siblings of its kind."""
        siblings = self._children.get(element.parent or -1, [])
        kind = self.kin(element)
        return sum(self.kin(one) == kind for one in siblings) > 1

    @cached_property
    def page_listeners(self) -> tuple[str, ...]:
        """What the page as a whole listens to."""
        return next((one.listeners for one in self.elements if one.tag == "html"), ())

    @cached_property
    def _children(self) -> dict[int, list[Element]]:
        found: dict[int, list[Element]] = {}
        for one in self.elements:
            found.setdefault(-1 if one.parent is None else one.parent, []).append(one)
        return found
