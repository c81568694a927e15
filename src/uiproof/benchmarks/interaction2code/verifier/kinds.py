"""Kinds of effects: what the reference says changes, and what changed on the generated page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from uiproof.benchmarks.interaction2code.graph import VISUAL_CATEGORIES
from uiproof.benchmarks.interaction2code.verifier import looks, wording
from uiproof.benchmarks.interaction2code.verifier.evidence import Outcome, ReferenceEvidence
from uiproof.benchmarks.interaction2code.verifier.scene import Scene
from uiproof.benchmarks.interaction2code.verifier.units import Unit
from uiproof.boxes import PixelBox
from uiproof.browser.snapshots import Snapshot

_SYNONYMS = {
    "colour": "color",
    "popup": "new window",
    "modal": "new window",
    "component": "new component",
    "toggle": "switch",
    "move": "position",
    "resize": "size",
    "navigation": "new page",
}


def wanted_kinds(reference: ReferenceEvidence, scene: Scene) -> frozenset[str]:
    """The visual categories of the reference; what its pictures show where it names none."""
    named = {one.strip().lower() for one in reference.visuals if one.strip()}
    kinds = {_SYNONYMS.get(one, one) for one in named} & set(VISUAL_CATEGORIES)
    if not kinds:
        kinds = _by_pixels(scene)
    return frozenset(kinds)


def _by_pixels(scene: Scene) -> set[str]:
    """All that the changed pixels may mean: a rough guess that rules little out."""
    parts = scene.reference_parts()
    if not parts:
        return set()
    shade = all(
        looks.same_drawing(
            looks.crop(scene.reference_before, part.box),
            looks.crop(scene.reference_after, part.box),
        )
        for part in parts[:5]
    )
    return {"color", "switch"} if shade else set(VISUAL_CATEGORIES) - {"color"}


def given_kinds(
    scene: Scene, found: Iterable[Unit], outcome: Outcome, before: Snapshot
) -> frozenset[str]:
    """The visual categories that the changes of the generated page can be taken for."""
    kinds: set[str] = set()
    found = list(found)
    gone = [one.before for one in found if "vanished" in one.kinds and one.before]
    for unit in found:
        if "appeared" in unit.kinds:
            kinds |= {"new component", "new window"}
            if _covers(unit.box, gone):
                kinds |= {"switch", "text"}
        if "vanished" in unit.kinds:
            kinds |= {"switch", "position"}
        if "retexted" in unit.kinds:
            kinds.add("text")
            if unit.is_new:
                kinds |= {"new component", "new window"}
        if "recoloured" in unit.kinds:
            kinds.add("color")
        if "moved" in unit.kinds:
            kinds.add("position")
        if "resized" in unit.kinds and not unit.kinds & {"retexted"}:
            kinds.add("size")
        if "restated" in unit.kinds:
            kinds.add("switch")
        if unit.element is None:
            pictures = [looks.crop(one, unit.box) for one in (scene.before, scene.after)]
            shade = looks.same_drawing(*pictures)
            kinds |= {"color"} if shade else {"switch", "new component"}
    if page_replaced(before, outcome):
        kinds |= {"new page", "new component", "switch"}
    if {"new component", "switch"} <= kinds:
        kinds.add("new page")
    if outcome.snapshot.scroll != before.scroll:
        kinds.add("position")
    return frozenset(kinds)


def only_hides(found: Sequence[Unit]) -> bool:
    """Whether things went or were emptied, and the rest is what that does to their neighbours."""
    went = [one for one in found if hides(one)]
    rest = [one for one in found if one not in went]
    return bool(went) and all(not one.kinds - {"resized", "moved", "restyled"} for one in rest)


def hides(unit: Unit) -> bool:
    """Whether an element went, or says much less than before."""
    went, came = sum(map(len, unit.gone)), sum(map(len, unit.texts))
    return "vanished" in unit.kinds or (went > 0 and 3 * came <= went)


def reference_hides(scene: Scene) -> bool:
    """Whether there is clearly less on the reference afterwards."""
    before, after = (
        int((looks.edges(one) & scene.reference_changed).sum())
        for one in (scene.reference_before, scene.reference_after)
    )
    return after < 0.8 * before


def page_replaced(before: Snapshot, outcome: Outcome) -> bool:
    """Whether it is another page, or hardly anything is left of what the page said.

    Scripts make elements anew that say the same: those are left.
    """
    if outcome.changes.new_page:
        return True
    shown = [text for one in before.elements if (text := wording.plain(one.text))]
    left = {wording.plain(one.text) for one in outcome.snapshot.elements}
    return len(shown) >= 5 and sum(one in left for one in shown) < 0.2 * len(shown)


def _covers(box: PixelBox, others: Iterable[PixelBox]) -> bool:
    for other in others:
        across = min(box.right, other.right) - max(box.left, other.left)
        down = min(box.bottom, other.bottom) - max(box.top, other.top)
        least = min(box.width * box.height, other.width * other.height)
        if across > 0 and down > 0 and across * down >= 0.3 * max(least, 1):
            return True
    return False
