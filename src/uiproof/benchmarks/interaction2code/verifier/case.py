"""One interaction under examination: both sides, what is known so far, and what can be tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot

import numpy as np

from uiproof.benchmarks.interaction2code.verifier import effects, identity, looks, loose
from uiproof.benchmarks.interaction2code.verifier.effects import Assessment
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    Mask,
    Outcome,
    ReferenceEvidence,
)
from uiproof.benchmarks.interaction2code.verifier.identity import Identity
from uiproof.benchmarks.interaction2code.verifier.scene import RING, Scene, build
from uiproof.benchmarks.interaction2code.verifier.units import Unit, area, units
from uiproof.browser.snapshots import Action, Element

_MOST_TRIES = 4  # other elements to act on
_REACH = 600  # pixels from the reference's trigger within which others are tried
_SAME_EFFECT = 0.8
_EVENTS = {
    "click": (
        "click",
        "mousedown",
        "mouseup",
        "pointerdown",
        "pointerup",
        "touchstart",
        "touchend",
    ),
    "hover": ("mouseenter", "mouseover", "mousemove", "pointerenter", "pointerover", "pointermove"),
    "type": ("input", "change", "keyup", "keydown", "keypress", "beforeinput"),
    "select": ("change", "input", "click"),
    "drag": ("mousedown", "pointerdown", "touchstart", "dragstart", "input", "change"),
    "scroll": ("scroll", "wheel"),
    "key": ("keydown", "keyup", "keypress", "submit", "change", "click"),
}
_CONTROLS = frozenset({"a", "button", "input", "label", "select", "summary", "textarea"})


@dataclass(frozen=True, slots=True)
class Case:
    """Everything about one interaction; `scene` may already lack what pointing alone does."""

    reference: ReferenceEvidence
    generated: GeneratedEvidence
    found: Element
    outcome: Outcome
    scene: Scene
    who: Identity

    def assess(self, *, closely: bool = True) -> Assessment:
        """Hold the changes against the reference's."""
        if not self.scene.close:
            own = self.found.ref if self.trigger_says_nothing() else None
            changes = self.changes()
            found = [one for one in changes if one.element is None or one.element.ref != own]
            if not found and self.found.tag not in effects.FIELDS:
                found = changes  # it is all that changes
            return loose.assess(self.scene, self.texts(), found, self.outcome)
        return effects.assess(
            self.scene,
            self.generated.snapshot,
            self.outcome,
            self.found,
            ignore_trigger=self.trigger_says_nothing(),
            closely=closely,
        )

    def trigger_says_nothing(self) -> bool:
        """Whether the trigger's own look cannot be compared, and the effect is elsewhere."""
        if not self.reference_changes_elsewhere():
            return False
        typed = self.reference.action.kind == "type" and self.reference.action.value is None
        if typed or not self.who.same_kind or not self.who.at_place:
            return True
        # Browsers draw check boxes and sliders in their own ways, and this one may have a style.
        box = looks.grown(self.found.box, 0, *self.scene.size)
        styled = self.scene.static[box.top : box.bottom, box.left : box.right]
        return self.found.tag in effects.FIELDS or bool(looks.clusters(styled))

    def texts(self) -> loose.Texts | None:
        """The words that came and went on both sides."""
        fields = self.reference.action.kind in ("type", "select")
        own = (
            {self.found.ref, *(one.ref for one in self.generated.snapshot.inside(self.found))}
            if fields
            else set()
        )
        return loose.read_changes(
            self.scene, self.reference, self.generated.snapshot, self.outcome, own=frozenset(own)
        )

    def changes(self) -> list[Unit]:
        """The changes of the generated page that can be seen."""
        return units(self.generated.snapshot, self.outcome, self.scene.changed)

    def own_area(self) -> Mask:
        """Where the element shows what it does by itself: its box, its focus, its state.

        A radio button that another one switched off belongs to it.
        """
        mask = self.scene.zone(self.found.box, RING)
        for unit in self.changes():
            if (
                unit.element is not None
                and unit.element.tag in effects.FIELDS
                and not unit.kinds & {"appeared", "vanished", "moved", "resized"}
                and (unit.element.tag != "input" or unit.element.type in ("radio", "checkbox"))
                and "restated" in unit.kinds
            ):
                mask |= area([looks.grown(unit.box, RING, *self.scene.size)], self.scene.size)
        return mask

    def reference_changes_elsewhere(self) -> bool:
        """Whether the reference changes anything but the element that is acted on."""
        own = self.scene.zone(self.scene.trigger, RING)
        if self.who.at_place:
            own = own | self.own_area()
        return bool(looks.clusters(self.scene.reference_changed & ~own, least=looks.SPECK))

    def changes_elsewhere(self) -> bool:
        """Whether the generated page changes anything but that element."""
        return bool(looks.clusters(self.scene.changed & ~self.own_area(), least=looks.SPECK))

    def only_on_itself(self, found: Sequence[Unit]) -> bool:
        """Whether only the element that is acted on changes, and in the reference others do."""
        if not found or not self.reference_changes_elsewhere():
            return False
        return all(one.element is not None and one.element.ref == self.found.ref for one in found)

    def nothing_happened(self) -> bool:
        """Whether a person would see no effect: nothing but what every such element does."""
        if self.outcome.changes.new_page:
            return False
        if not looks.clusters(self.scene.changed, least=4):
            return True
        if self.changes_elsewhere():
            return False
        if not self.reference_changes_elsewhere():
            ring = effects.ring(self.scene, self.found, whole=False)
            return not looks.clusters(self.scene.changed & ~ring, least=4)
        if self.found.tag in effects.FIELDS or "contenteditable" in self.found.state:
            # It shows what was typed or chosen, which it does without any script.
            return self.reference.action.kind != "type" or not self._is_recoloured()
        if any(one.tag in effects.FIELDS for one in self.generated.snapshot.inside(self.found)):
            return not self._changed_texts()
        ring = effects.ring(self.scene, self.found, whole=False)
        return not looks.clusters(self.scene.changed & ~ring)

    def _is_recoloured(self) -> bool:
        """Whether most of the element changes, which letters that are typed in it do not do."""
        box = looks.grown(self.found.box, 0, *self.scene.size)
        part = self.scene.changed[box.top : box.bottom, box.left : box.right]
        return part.size > 0 and float(part.mean()) > 0.5

    def _changed_texts(self) -> bool:
        return any(
            unit.kinds & {"retexted", "appeared"}
            and (unit.element is None or unit.element.tag not in effects.FIELDS)
            for unit in self.changes()
        )

    def without_approach(self) -> Case:
        """The case without what merely pointing at the element does, or putting the caret in it."""
        kind = self.reference.action.kind
        if kind in ("hover", "scroll") or not self.scene.changed.any():
            return self
        approach = Action("click") if kind == "type" else Action("hover")
        approached = self.generated.attempt(self.found, approach)
        if approached is None or approached.refused:
            return self
        return replace(self, scene=effects.without_hover(self.scene, approached.picture))

    # --- trying other things

    def listens(self, element: Element, kind: str) -> bool:
        """Whether an element handles events of an action itself."""
        return bool(set(element.listeners) & set(_EVENTS[kind]))

    def around(self, element: Element) -> list[Element]:
        """An element and those that it is in, from the inside out."""
        by_ref = {one.ref: one for one in self.generated.snapshot.elements}
        chain = [element]
        while (up := chain[-1].parent) in by_ref and len(chain) < 50:
            chain.append(by_ref[up])
        return chain

    def pointing_is_enough(self) -> bool:
        """Whether a click is asked for, and pointing at the element already does it all."""
        if self.reference.action.kind != "click":
            return False
        chain = self.around(self.found)
        hovering = any(self.listens(one, "hover") for one in chain)
        clicking = any(self.listens(one, "click") for one in chain)
        native = {"a", "summary", "label", *effects.FIELDS}
        if not hovering and (clicking or any(one.tag in native for one in chain)):
            return False
        pointed = self.generated.attempt(self.found, Action("hover"))
        return pointed is not None and self.has_effect(pointed)

    def works_otherwise(self) -> str | None:
        """How an element of another kind works, where the reference's action is not for it."""
        related = identity.family(self.generated.snapshot, self.found)
        chain = {one.ref for one in self.around(self.found)[1:]}
        mine = [
            one
            for one in self.generated.snapshot.elements
            if one.ref in related and one.ref not in chain
        ]
        kind = self.reference.action.kind
        if self.found.tag == "select" and any(one.listeners for one in mine):
            return "it opens a list"
        if any(set(one.listeners) - set(_EVENTS[kind]) - set(_EVENTS["hover"]) for one in mine):
            return "it listens to something else"
        if kind in ("click", "hover"):
            return None
        clicked = self.generated.attempt(self.found, Action("click"))
        if clicked is not None and looks.clusters(
            build(self.reference, self.generated, clicked).changed, least=24
        ):
            return "clicking it does something"
        return None

    def has_effect(self, outcome: Outcome) -> bool:
        """Whether an act had the effect of the reference, beyond the element itself."""
        scene = build(self.reference, self.generated, outcome)
        if not looks.clusters(scene.changed):
            return False
        other = replace(self, outcome=outcome, scene=scene)
        if not scene.close:
            return other.assess().complete
        assessed = effects.assess(
            scene,
            self.generated.snapshot,
            outcome,
            self.found,
            ignore_trigger=other.reference_changes_elsewhere(),
            closely=False,
        )
        return assessed.complete or assessed.right_share >= _SAME_EFFECT

    def other_that_works(self) -> Element | None:
        """Another element that has the reference's effect, if there is exactly one near it.

        Several that do (a cross, a button "Cancel") are how the page is made, not a mistake.
        """
        kind = self.reference.action.kind
        related = identity.family(self.generated.snapshot, self.found)
        trigger = self.reference.trigger or self.found.box
        ranked: list[tuple[bool, float, Element]] = []
        for one in self.generated.snapshot.elements:
            listens = self.listens(one, kind)
            if one.ref in related or not (listens or one.tag in _CONTROLS):
                continue
            if one.box.width * one.box.height > 0.3 * np.prod(self.scene.size):
                continue
            if (
                one.label
                and identity.reads_like(self.found.label, one.label)
                and self.who.same_element
            ):
                continue
            away = hypot(
                (one.box.left + one.box.right - trigger.left - trigger.right) / 2,
                (one.box.top + one.box.bottom - trigger.top - trigger.bottom) / 2,
            )
            if away <= _REACH:
                ranked.append((not listens, away, one))
        ranked.sort(key=lambda item: item[:2])
        working: list[Element] = []
        for _, _, one in ranked[:_MOST_TRIES]:
            tried = self.generated.attempt(one, self.reference.action)
            if tried is not None and not tried.refused and self.has_effect(tried):
                working.append(one)
        return working[0] if len(working) == 1 else None

    def does_not_go_back(self) -> bool:
        """Whether acting again should undo the effect and changes nothing at all."""
        if not (self.reference.reverts or self._is_toggle()):
            return False
        again = self.generated.again()
        if again is None or again.refused or again.changes.new_page:
            return False
        width, height = self.scene.size
        back = looks.fitted(again.picture, width, height)
        own = effects.ring(self.scene, self.found, whole=True)
        changed = self.scene.changed
        if (changed & ~own).any():
            changed = changed & ~own
        if not looks.clusters(changed):
            return False
        undone = changed & looks.changed(self.scene.after, back)
        return int(undone.sum()) < 0.1 * int(changed.sum())

    def _is_toggle(self) -> bool:
        states = ("aria-expanded", "aria-pressed", "aria-checked")
        before = {one.ref: one for one in self.generated.snapshot.elements}
        for old, new in self.outcome.changes.restated:
            if old.ref == self.found.ref and any(
                old.state.get(name) != new.state.get(name) for name in states
            ):
                return True
        element = before.get(self.found.ref, self.found)
        return element.tag == "summary" or element.role == "switch"
