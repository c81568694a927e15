"""What an action did to a page."""

from __future__ import annotations

from dataclasses import dataclass

from uiproof.benchmarks.interaction2code.categories import own_value_changed
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Action, Changes, Element, Events, Snapshot


@dataclass(frozen=True, slots=True)
class Finding:
    """An action on an element and everything that it changed.

    A pointer that goes to an element hovers over it first. What that alone does is no effect of
    clicking: `hovered` is the page in that state, and `changes` counts from there.
    """

    element: Element
    action: Action
    sure: bool  # the element itself says that it can be acted on
    before: bytes  # PNG of the page as it was loaded
    after: bytes
    hovered: bytes  # PNG; the same as `before` for everything but clicks
    snapshot: Snapshot  # where `changes` counts from
    later: Snapshot
    changes: Changes
    events: Events
    tags: tuple[str, ...]
    visuals: tuple[str, ...]

    @property
    def effect_key(self) -> tuple[object, ...]:
        """The same for actions that did the same to the same elements."""
        changed = self.changes
        if changed.new_page:
            return ("new page", self.later.url)
        looks = (*changed.appeared, *changed.vanished)
        pairs = (*changed.moved, *changed.resized, *changed.retexted, *changed.restated)
        return (
            frozenset((one.tag, one.label, one.box) for one in looks),
            frozenset(
                (new.tag, new.label, new.box)
                for old, new in pairs
                if not own_value_changed((old, new), self.element)
            ),
            frozenset(new.box for _, new in changed.recoloured if new.ref != self.element.ref),
        )

    @property
    def trigger(self) -> PixelBox:
        """Where a person acts."""
        return self.element.box
