"""The features of one interaction that the rules look at.

They are computed from the evidence when a rule asks for them first: some need OCR, and some open
the page again (`attempt`, `again` and `elsewhere` of the evidence).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot

from uiproof.benchmarks.interaction2code.failures import Failure
from uiproof.benchmarks.interaction2code.verifier import constants as const
from uiproof.benchmarks.interaction2code.verifier import effect as effects
from uiproof.benchmarks.interaction2code.verifier import pixels, text_compare
from uiproof.benchmarks.interaction2code.verifier.changes import (
    Assessment,
    ElementChange,
    assess_loosely,
    assess_pixels,
    colours_agree,
    element_changes,
    read_changes,
    recoloured_alike,
)
from uiproof.benchmarks.interaction2code.verifier.effect import Effect, compare_words
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    GeneratedEvidence,
    Mask,
    Outcome,
    ReferenceEvidence,
)
from uiproof.benchmarks.interaction2code.verifier.scene import Scene, build
from uiproof.benchmarks.interaction2code.verifier.text_compare import TextChanges
from uiproof.benchmarks.interaction2code.verifier.trigger import (
    Identity,
    NeutralActs,
    chain_of,
    family,
    identify,
    is_gone,
    listed,
    trigger_text,
)
from uiproof.browser.snapshots import Action, ActionKind, Element

_DOING: dict[ActionKind, str] = {
    "click": "clicking",
    "hover": "pointing at",
    "type": "typing in",
    "select": "selecting in",
    "drag": "dragging",
    "scroll": "scrolling",
    "key": "pressing a key in",
}


@dataclass(frozen=True)
class Features:
    """One interaction: both sides, and everything that the rules ask about them."""

    reference: ReferenceEvidence
    generated: GeneratedEvidence
    found: Element
    outcome: Outcome
    scene: Scene  # perhaps without what approaching the element does
    trigger: Identity  # compared with the reference's
    likeness: str = "the page looks as the reference does afterwards"

    @classmethod
    def of(cls, reference: ReferenceEvidence, generated: GeneratedEvidence) -> Features | None:
        """Look at the evidence; None where no element was found."""
        found, outcome = generated.found, generated.outcome
        if found is None or outcome is None:
            return None
        scene = build(reference, generated, outcome)
        trigger = identify(reference, generated, found, close=scene.close, alike=scene.alike)
        return cls(reference, generated, found, outcome, scene, trigger)

    def without_approach(self) -> Features:
        """Return the features without the effect of pointing at the element, or focusing it."""
        if self.action in ("hover", "scroll") or not self.scene.changed.any():
            return self
        approach = Action("click") if self.action == "type" else Action("hover")
        approached = self.generated.attempt(self.found, approach)
        if approached is None or approached.refused:
            return self
        return replace(self, scene=self.scene.without(approached.picture))

    # --- texts of the evidence

    @property
    def action(self) -> ActionKind:
        """Return the kind of the reference's action."""
        return self.reference.action.kind

    @property
    def name(self) -> str:
        """Return a name of the element."""
        return name_of(self.found)

    @property
    def doing(self) -> str:
        """Return the act in words."""
        return f"{_DOING[self.action]} {self.name}"

    @property
    def tags(self) -> str:
        """Return the tag categories of the reference."""
        return listed(self.reference.tags)

    @property
    def visual_kinds(self) -> str:
        """Return the visual categories of both sides."""
        return f"it changes {listed(self.given)}, not {listed(self.wanted)}"

    @property
    def found_otherwise(self) -> tuple[str, ...]:
        """Return how the element was found, if not by its id."""
        if self.trigger.by_id:
            return ()
        return (f"it was found by its {self.generated.found_by}, not by its id",)

    @property
    def nothing_facts(self) -> tuple[str, ...]:
        """Return the evidence that an act had no visible effect."""
        mutations = sum(self.outcome.events.mutations.values())
        facts = [f"{self.doing} changed nothing that can be seen: {mutations} mutations"]
        if self.outcome.refused:
            facts.append(f"it could not be done: {self.outcome.refused}")
        return (*facts, *(f"a script failed: {one}" for one in self.outcome.events.errors[:2]))

    @property
    def opened(self) -> tuple[str, ...]:
        """Return the dialogs and windows that the act opened."""
        events = self.outcome.events
        return tuple(f"it opened: {one}" for one in (*events.dialogs, *events.windows)[:2])

    @cached_property
    def effect_facts(self) -> tuple[str, ...]:
        """Return a summary of the effect."""
        effect = self.effect
        right, elsewhere, wrong, extra = (
            len(effect.having(status)) for status in ("right", "elsewhere", "wrong", "extra")
        )
        facts = [
            f"{self.doing}: {right} changes as in the reference, {elsewhere} elsewhere, "
            f"{wrong} different, {extra} where it has none; "
            f"{effect.right_share:.0%} of the reference's change is right"
        ]
        if effect.recall is not None:
            facts.append(f"{effect.recall:.0%} of the reference's new words are there")
        if effect.precision is not None:
            facts.append(f"{effect.precision:.0%} of the new words are the reference's")
        return tuple(facts)

    # --- the element

    @property
    def place_is_blank(self) -> bool:
        """Return whether something else was found, and the trigger's place is blank."""
        return is_gone(self.reference, self.generated, self.found)

    @property
    def both_have_texts(self) -> bool:
        """Return whether the element and the reference's have texts."""
        texts = (trigger_text(self.reference), self.found.label)
        return all(len(one.strip()) >= 2 for one in texts)

    @property
    def chain(self) -> list[Element]:
        """Return the element and those that it is in, from the inside out."""
        return chain_of(self.scene.snapshot, self.found, 50)

    @cached_property
    def ignores_trigger(self) -> bool:
        """Return whether the trigger's own look cannot be compared, and the effect is elsewhere."""
        if not self.reference_changes_elsewhere:
            return False
        typed = self.action == "type" and self.reference.action.value is None
        if typed or not self.trigger.same_kind or not self.trigger.at_place:
            return True
        # Browsers draw check boxes and sliders in their own ways, and this one may have a style.
        styled = pixels.crop(self.scene.static, self.scene.inside(self.found.box))
        return self.found.tag in const.FIELDS or bool(pixels.clusters(styled))

    @cached_property
    def own_area(self) -> Mask:
        """Return where the element shows its own state: its box, its focus, its check mark.

        A radio button that another one switched off belongs to it.
        """
        mask = self.scene.zone(self.found.box)
        for change in self.changes:
            if (
                change.element is not None
                and change.element.tag in const.FIELDS
                and not change.kinds & {"appeared", "vanished", "moved", "resized"}
                and (change.element.tag != "input" or change.element.type in ("radio", "checkbox"))
                and "restated" in change.kinds
            ):
                mask |= self.scene.zone(change.box)
        return mask

    # --- the change as a whole

    @cached_property
    def changes(self) -> list[ElementChange]:
        """Return the visible changes of the generated page."""
        return element_changes(self.scene)

    @cached_property
    def texts(self) -> TextChanges | None:
        """Return the words that came and went on both sides; None without OCR."""
        own: set[int] = set()
        if self.action in ("type", "select"):
            inside = self.scene.snapshot.inside(self.found)
            own = {self.found.ref, *(one.ref for one in inside)}
        return read_changes(self.scene, self.reference, own=frozenset(own))

    @cached_property
    def reference_changes_elsewhere(self) -> bool:
        """Return whether the reference changes anything but the element that is acted on."""
        own = self.scene.zone(self.scene.trigger)
        if self.trigger.at_place:
            own = own | self.own_area
        return bool(pixels.clusters(self.scene.reference_changed & ~own))

    @cached_property
    def changes_elsewhere(self) -> bool:
        """Return whether the generated page changes anything but that element."""
        return bool(pixels.clusters(self.scene.changed & ~self.own_area))

    @property
    def complete_at_once(self) -> bool:
        """Return whether both pages look the same afterwards, the approach included."""
        return self.assess(closely=False).complete and bool(
            pixels.clusters(self.scene.changed, least=const.TRACE)
        )

    @cached_property
    def assessed(self) -> Assessment:
        """Return the changes, compared with the reference's."""
        return self.assess()

    def assess(self, *, closely: bool = True) -> Assessment:
        """Compare the changes with the reference's, or, less closely, only all of them together."""
        ignore = self.ignores_trigger
        if self.scene.close:
            return assess_pixels(self.scene, self.found, ignore_trigger=ignore, closely=closely)
        found = [one for one in self.changes if not (ignore and one.is_of(self.found))]
        if not found and self.found.tag not in const.FIELDS:
            found = self.changes  # it is the only change
        return assess_loosely(self.scene, self.texts, found)

    @property
    def nothing_happened(self) -> bool:
        """Return whether there is no visible effect but what every such element does."""
        scene = self.scene
        if self.outcome.changes.new_page:
            return False
        if not pixels.clusters(scene.changed, least=const.TRACE):
            return True
        if self.changes_elsewhere:
            return False
        beyond_focus = scene.changed & ~scene.trigger_zone(self.found.box, whole=False)
        if not self.reference_changes_elsewhere:
            return not pixels.clusters(beyond_focus, least=const.TRACE)
        if self.found.tag in const.FIELDS or "contenteditable" in self.found.state:
            # It shows what was typed or chosen, without any script; letters change less than half.
            part = pixels.crop(scene.changed, scene.inside(self.found.box))
            recoloured = part.size > 0 and float(part.mean()) > const.HALF
            return self.action != "type" or not recoloured
        if any(one.tag in const.FIELDS for one in scene.snapshot.inside(self.found)):
            return not any(
                one.kinds & {"retexted", "appeared"}
                and (one.element is None or one.element.tag not in const.FIELDS)
                for one in self.changes
            )
        return not pixels.clusters(beyond_focus)

    @property
    def destination(self) -> str | None:
        """Return the address of another page that the act wants to go to."""
        here = self.scene.snapshot.url.split("#")[0]
        for one in self.outcome.events.navigations[:1]:
            if not one.split("#")[0].endswith(here):
                return one
        return None

    @property
    def goes_away(self) -> bool:
        """Return whether the act goes to another page, or opens a window or a dialog."""
        events = self.outcome.events
        return effects.page_replaced(self.scene) or bool(events.dialogs or events.windows)

    @property
    def reference_hides(self) -> bool:
        """Return whether there is clearly less on the reference afterwards."""
        before, after = (
            int((pixels.edges(one) & self.scene.reference_changed).sum())
            for one in (self.scene.reference_before, self.scene.reference_after)
        )
        return after < 0.8 * before

    @property
    def shows_none_of_the_words(self) -> bool:
        """Return whether the reference newly shows words, and the page none of them.

        Without them, an empty window or a veil is of no use. A page without any change may do it
        in another way.
        """
        texts = self.texts if self.changes_elsewhere else None
        if texts is None:
            return False
        wanted: Sequence[str] = texts.reference_came
        if self.scene.close:  # OCR may have misread lines that look the same
            unharmed = text_compare.words(effects.unharmed_lines(self.scene, texts))
            wanted = [one for one in wanted if one not in unharmed]
        wanted = text_compare.certain(wanted)
        if sum(map(len, wanted)) < const.FEW_LETTERS or text_compare.found_share(
            wanted, texts.came
        ):
            return False
        drawn = text_compare.found_share(wanted, self._newly_drawn_words())
        return (drawn or 0) < const.SOME_WORDS

    def _newly_drawn_words(self) -> list[str]:
        """Return the words that can be read on the change: they may be part of a picture."""
        read = self.reference.read
        if read is None:
            return []
        changed = self.scene.changed & ~self.own_area
        parts = pixels.clusters(changed, reach=const.PART_GAP)[: const.READ_PARTS]
        before, after = (
            Counter(
                text_compare.words(
                    line.text for part in parts for line in read(pixels.crop(picture, part.box))
                )
            )
            for picture in (self.scene.before, self.scene.after)
        )
        return list((after - before).elements())

    # --- the effect, where it is not the reference's

    @cached_property
    def effect(self) -> Effect:
        """Return the changes, judged by pixels and words together."""
        return compare_words(self.scene, self.texts, self.assessed, dragged=self.action == "drag")

    @cached_property
    def right(self) -> list[ElementChange]:
        """Return the changes as in the reference."""
        return self.effect.having("right")

    @cached_property
    def elsewhere(self) -> list[ElementChange]:
        """Return the changes as in the reference, at another place."""
        return self.effect.having("elsewhere")

    @cached_property
    def wrong(self) -> list[ElementChange]:
        """Return the changes to something else than in the reference."""
        return self.effect.having("wrong")

    @cached_property
    def wanted(self) -> frozenset[str]:
        """Return the visual categories of the reference's change."""
        return effects.wanted_kinds(self.reference, self.scene)

    @cached_property
    def given(self) -> frozenset[str]:
        """Return the visual categories of the page's change."""
        return effects.given_kinds(self.effect)

    @property
    def same_visual_kind(self) -> bool:
        """Return whether both sides change in a common visual category."""
        return bool(self.wanted & self.given)

    def blames_trigger(self, failure: Failure) -> bool:
        """Return whether the effect is roughly the reference's: then the trigger is wrong."""
        effect, scene = self.effect, self.scene
        if (effect.recall or 0) >= const.HALF:
            return True
        if failure is Failure.WRONG_ELEMENT:
            alike = effect.recall is None and effect.right_share >= const.HALF
            return alike or (self.trigger.still_there and self.same_visual_kind)
        if self.right or self.elsewhere:
            return True
        if failure is Failure.WRONG_POSITION and self.same_visual_kind and self._same_on_itself():
            return True
        if not self.reference_changes_elsewhere:
            return True
        own = scene.trigger_zone(self.found.box, whole=True)
        theirs = scene.reference_changed & ~own
        near = pixels.widened(scene.changed & ~own, 2 * const.AROUND + 1)
        return int((theirs & near).sum()) >= const.BROADLY * int(theirs.sum())

    def _same_on_itself(self) -> bool:
        """Return whether only the element changes, and gets the reference's colours."""
        found = self.effect.changes
        return self._only_own(found) and all(
            colours_agree(self.scene, one, self.trigger.shift) for one in found
        )

    def _only_own(self, found: Sequence[ElementChange]) -> bool:
        return bool(found) and all(one.is_of(self.found) for one in found)

    @property
    def is_all_there(self) -> bool:
        """Return whether nothing of substance is missing, and nothing else is shown."""
        effect = self.effect
        if not self.wrong or effect.having("elsewhere", "extra"):
            return False
        if self.action == "drag" and effect.same:
            return True  # drags never end at exactly the same number
        if effect.right_share < const.ALL_BUT or effect.lacks_words or effect.other_numbers:
            return False
        # What was the same before to the pixel has to be the same afterwards.
        return not self.scene.exact or not all(
            effects.was_same(self.scene, one) for one in self.wrong
        )

    @property
    def dragged_instead(self) -> str | None:
        """Return the element that moves instead of the one that is dragged."""
        if self.action != "drag":
            return None
        moved = [one for one in self.effect.changes if "moved" in one.kinds and one.element]
        if any(one.is_of(self.found) for one in moved):
            return None
        return next((name_of(one.element) for one in moved if one.status != "right"), None)

    @property
    def its_words_elsewhere(self) -> bool:
        """Return whether changes are elsewhere, with the reference's words if there are any."""
        effect = self.effect
        if not self.elsewhere:
            return False
        if max(effect.recall or 0, effect.precision or 0) >= const.SAME_WORDS:
            return True
        gave_way = all(effect.rearranged(one) for one in self.elsewhere)
        return effect.recall is None and not gave_way

    @cached_property
    def changed_instead(self) -> str | None:
        """Return the element that has the displaced effect instead of the reference's."""
        effect = self.effect
        for one in self.elsewhere:
            if "retexted" in one.kinds and effect.is_another_element(one):
                return name_of(one.element)
            if one.is_new and (peer := effects.peer_at(self.scene, one, one.shift)):
                return name_of(peer)
            if lost := effect.overwritten(one):
                return name_of(lost)
        for one in (*effect.existing("extra"), *effect.existing("wrong")):
            fits = effect.in_right_row(one) or effect.rearranged(one)
            if "recoloured" in one.kinds and not fits:
                return name_of(one.element)
        return None

    @property
    def farthest(self) -> str:
        """Return the change that is farthest from its place."""
        one = max(self.elsewhere, key=lambda one: max(map(abs, one.shift)))
        words = " ".join(one.texts)[:40]
        return f"“{words}” is {one.shift[0]:+d},{one.shift[1]:+d} px off"

    @property
    def only_on_itself(self) -> bool:
        """Return whether only the element that is acted on changes, unlike in the reference."""
        if (self.right and self.same_visual_kind) or self.elsewhere or self.effect.shows_its_words:
            return False
        found = self.effect.changes
        return bool(found) and self.reference_changes_elsewhere and self._only_own(found)

    @cached_property
    def changed_peer(self) -> str | None:
        """Return the peer that changes instead of the reference's element, which is left."""
        peer = effects.changed_peer(self.effect) if self.same_visual_kind else None
        return None if peer is None else name_of(peer)

    @cached_property
    def others(self) -> list[ElementChange]:
        """Return changes of elements that the reference leaves, where all others are right."""
        return [] if self.wrong or self.elsewhere else self.effect.existing("extra")

    @property
    def hides_others(self) -> bool:
        """Return whether those elements are hidden."""
        hidden = [one for one in self.others if one.hides]
        return bool(hidden) and (len(hidden) == len(self.others) or self.effect.recall == 0)

    @property
    def changes_others(self) -> str | None:
        """Return the first of those elements, if the kind of change is the reference's."""
        if not self.others or not (self.right or self.same_visual_kind):
            return None
        return name_of(self.others[0].element)

    @cached_property
    def owning_peer(self) -> str | None:
        """Return the peer at which something new appeared, as the reference's at its element."""
        effect = self.effect
        if effects.page_replaced(self.scene) or effect.recall is None or effect.shows_its_words:
            return None
        new = [one for one in effect.having("extra") if one.is_new]
        new += [one for one in self.wrong if "appeared" in one.kinds]
        for one in new:
            if not effect.rearranged(one) and (
                peer := effects.peer_like(self.scene, one, self.found)
            ):
                return name_of(peer)
        return None

    @property
    def recolours_alike(self) -> bool:
        """Return whether only colours change, and those at least are the reference's."""
        if not self.effect.only_recolours:
            return False
        alike = any(recoloured_alike(self.scene, one) for one in self.wrong)
        return alike or self.effect.right_share >= const.BROADLY

    @property
    def shows_other_words(self) -> bool:
        """Return whether a change unlike the reference's has a text or number of its own."""
        speaks = any(any(one.texts) for one in self.wrong) and not self.effect.same
        return bool(self.wrong) and (speaks or self.effect.other_numbers)

    @cached_property
    def misplaced(self) -> str | None:
        """Return a new line of the reference that is there, but nowhere near its place."""
        return self.effect.misplaced()

    @cached_property
    def text_counts(self) -> tuple[int, int]:
        """Return how many texts of wrong changes the reference shows too, and how many not."""
        return self.effect.texts_in_reference()

    @property
    def is_small_part(self) -> bool:
        """Return whether a few shades are right, far from the element, and nothing else is."""
        effect, scene = self.effect, self.scene
        if max(effect.right_share, effect.covered()) >= const.HARDLY:
            return False
        if (effect.recall or 0) >= const.HALF:
            return False
        if any(one.kinds - {"recoloured", "restyled"} for one in self.right):
            return False
        boxes = [one.box for one in self.chain[: const.ROW]]
        around = [box for box in boxes if box.area <= const.HARDLY * scene.area]
        if any(box.encloses(one.box) for one in self.right for box in around):
            return False
        # Where the whole page is recoloured, anything that is looks right.
        return self.covers_page or not any(recoloured_alike(scene, one) for one in self.right)

    @property
    def covers_page(self) -> bool:
        """Return whether the reference changes half of the page or more."""
        return float(self.scene.reference_changed.mean()) >= const.HALF

    @cached_property
    def lacks_parts(self) -> bool:
        """Return whether any of the reference's change is missing that a person would miss."""
        scene, effect = self.scene, self.effect
        enough = const.BROADLY if effect.same else const.ALL_WORDS
        if effect.right_share >= (const.NEARLY if scene.close else enough):
            return False
        whole = not scene.exact or self.ignores_trigger
        own = scene.trigger_zone(self.found.box, whole=whole)
        bottom = scene.snapshot.scroll[1] + self.generated.viewport[1]
        return effects.is_missing(effect, own, bottom)

    # --- probes

    @property
    def no_listener(self) -> str | None:
        """Return that neither the element nor one around it handles events of the action."""
        if any(listens(one, self.action) for one in self.chain):
            return None
        return "it listens to nothing that this would cause"

    @property
    def pointing_is_enough(self) -> bool:
        """Return whether a click is asked for, and pointing at the element already does it all."""
        if self.action != "click":
            return False
        chain = self.chain
        hovering = any(listens(one, "hover") for one in chain)
        clicking = any(listens(one, "click") for one in chain)
        native = any(one.tag in const.LINKS_AND_FIELDS for one in chain)
        if not hovering and (clicking or native):
            return False
        pointed = self.generated.attempt(self.found, Action("hover"))
        return pointed is not None and self._has_effect(pointed)

    @cached_property
    def works_otherwise(self) -> str | None:
        """Return how an element of another kind works, where the action is not for it."""
        if self.trigger.same_kind or not self.trigger.near:
            return None
        related = family(self.scene.snapshot, self.found) - {one.ref for one in self.chain[1:]}
        mine = [one for one in self.scene.snapshot.elements if one.ref in related]
        if self.found.tag == "select" and any(one.listeners for one in mine):
            return "it opens a list"
        usual = const.EVENTS[self.action] | const.EVENTS["hover"]
        if any(set(one.listeners) - usual for one in mine):
            return "it listens to something else"
        if self.action in ("click", "hover"):
            return None
        clicked = self.generated.attempt(self.found, Action("click"))
        if clicked is not None and pixels.clusters(
            build(self.reference, self.generated, clicked).changed, least=24
        ):
            return "clicking it does something"
        return None

    @cached_property
    def other_that_works(self) -> str | None:
        """Return another element with the reference's effect, if there is exactly one near it.

        Several (a cross, a button "Cancel") are how the page is made, not a mistake.
        """
        if self.no_listener is None:
            return None
        working = []
        for one in self._candidates()[: const.OTHER_TRIES]:
            tried = self.generated.attempt(one, self.reference.action)
            if tried is not None and not tried.refused and self._has_effect(tried):
                working.append(one)
        return name_of(working[0]) if len(working) == 1 else None

    def _candidates(self) -> list[Element]:
        """Return other elements that may have the effect: first those that listen, by distance."""
        related = family(self.scene.snapshot, self.found)
        x, y = (self.reference.trigger or self.found.box).centre
        ranked: list[tuple[bool, float, Element]] = []
        for one in self.scene.snapshot.elements:
            works = listens(one, self.action)
            if one.ref in related or not (works or one.tag in const.ACTIVE):
                continue
            if one.box.area > 0.3 * self.scene.area:
                continue
            same_name = one.label and text_compare.reads_like(self.found.label, one.label)
            if same_name and self.trigger.same_element:
                continue
            away = hypot(one.box.centre[0] - x, one.box.centre[1] - y)
            if away <= const.OTHER_REACH:
                ranked.append((not works, away, one))
        return [one for _, _, one in sorted(ranked, key=lambda item: item[:2])]

    def _has_effect(self, outcome: Outcome) -> bool:
        """Return whether an act had the effect of the reference, beyond the element itself."""
        scene = build(self.reference, self.generated, outcome)
        if not pixels.clusters(scene.changed):
            return False
        other = replace(self, outcome=outcome, scene=scene)
        if not scene.close:
            return other.assessed.complete
        assessed = assess_pixels(
            scene, self.found, ignore_trigger=other.reference_changes_elsewhere, closely=False
        )
        return assessed.complete or assessed.right_share >= const.SAME_EFFECT

    @property
    def does_not_go_back(self) -> bool:
        """Return whether acting again should undo the effect and changes nothing at all."""
        if not (self.reference.reverts or self._is_toggle()):
            return False
        again = self.generated.again()
        if again is None or again.refused or again.changes.new_page:
            return False
        changed = self.scene.changed
        beyond = changed & ~self.scene.trigger_zone(self.found.box, whole=True)
        changed = beyond if beyond.any() else changed
        if not pixels.clusters(changed):
            return False
        back = pixels.fitted(again.picture, *self.scene.size)
        undone = changed & pixels.changed(self.scene.after, back)
        return int(undone.sum()) < const.UNDONE * int(changed.sum())

    def _is_toggle(self) -> bool:
        for old, new in self.outcome.changes.restated:
            if old.ref == self.found.ref and any(
                old.state.get(name) != new.state.get(name) for name in const.TOGGLE_STATES
            ):
                return True
        elements = self.scene.snapshot.elements
        element = next((one for one in elements if one.ref == self.found.ref), self.found)
        return element.tag == "summary" or element.role == "switch"

    # --- negative controls: is the effect that of acting on the element?

    @property
    def shown_before(self) -> bool:
        """Return whether all of the reference's change is on the page before the act."""
        scene = self.scene
        if scene.close:
            return self._parts_shown_before()
        if scene.begins_at_the_end:
            return True
        texts = self.texts
        if texts is None or sum(map(len, texts.reference_came)) < const.FEW_LETTERS:
            return False
        if (texts.recall or 0) >= const.EFFECT_SHARE:
            return False  # they come when the element is acted on
        mine = Counter(text_compare.words(one.text for one in scene.snapshot.elements))
        theirs = Counter(text_compare.words(line.text for line in texts.lines_before))
        more = list((mine - theirs).elements())
        return (text_compare.found_share(texts.reference_came, more) or 0) >= const.ALIKE_TEXT

    def _parts_shown_before(self) -> bool:
        scene = self.scene
        changed = scene.reference_changed
        rest = changed & ~scene.zone(scene.trigger)
        changed = rest if pixels.clusters(rest) else changed
        # Shades that are taken for the same cannot tell one side from the other.
        apart = pixels.distance(scene.reference_before, scene.reference_after) > const.TOLERANCE
        changed = changed & apart
        as_after = changed & ~scene.differing(scene.reference_after, scene.before)
        as_before = changed & ~scene.differing(scene.reference_before, scene.before)
        parts = [
            (one.pixels, pixels.count(as_after, one.box), pixels.count(as_before, one.box))
            for one in pixels.clusters(changed, reach=const.PART_GAP)
        ]
        return bool(parts) and all(
            after >= const.EFFECT_SHARE * size and after > 2 * before
            for size, after, before in parts
        )

    @cached_property
    def works_elsewhere(self) -> str | None:
        """Return the neutral act that has the effect too; None where there is none."""
        acts = NeutralActs(self.reference, self.generated, self.found, self.outcome)
        targets, action = acts.choose()
        if not targets:
            return None
        for outcome in self.generated.elsewhere(self.found, targets, action):
            if outcome.refused is None and self._changes_likewise(outcome):
                if self.action == "key":
                    return f"any other key in {self.name}"
                return f"{_DOING[action.kind]} a place that is not {self.name}"
        return None

    def _changes_likewise(self, outcome: Outcome) -> bool:
        """Return whether most of the element's effect happens in the same way."""
        scene = self.scene
        rest = scene.changed & ~self.own_area
        changed = rest if pixels.clusters(rest) else scene.changed
        if not pixels.clusters(changed, least=const.TRACE):
            return False
        picture = pixels.fitted(outcome.picture, *scene.size)
        same = pixels.changed(scene.before, picture) & ~pixels.changed(scene.after, picture)
        return int((changed & same).sum()) >= const.EFFECT_SHARE * int(changed.sum())


def name_of(element: Element | None) -> str:
    """Return a name of an element: its id, else its tag and label."""
    if element is None:
        return "a part without an element"
    if element.id:
        return f"#{element.id}"
    label = element.label.strip()[:30]
    return f"<{element.tag}> “{label}”" if label else f"<{element.tag}>"


def listens(element: Element, action: str) -> bool:
    """Return whether an element handles events of an action itself."""
    return bool(const.EVENTS[action] & set(element.listeners))
