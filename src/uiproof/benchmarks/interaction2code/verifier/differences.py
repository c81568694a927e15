"""An effect that is not the reference's: how far is it from it?"""

from __future__ import annotations

from collections.abc import Sequence

from uiproof.benchmarks.interaction2code.verifier import (
    contents,
    effects,
    kinds,
    looks,
    missing,
    peers,
    recolouring,
    wording,
)
from uiproof.benchmarks.interaction2code.verifier.case import Case
from uiproof.benchmarks.interaction2code.verifier.contents import Contents, existing, rearranged
from uiproof.benchmarks.interaction2code.verifier.effects import Assessment, Seen
from uiproof.benchmarks.interaction2code.verifier.evidence import Verdict
from uiproof.benchmarks.interaction2code.verifier.telling import DOING, listed, name_of, verdict
from uiproof.benchmarks.interaction2code.verifier.trigger import trigger_failure
from uiproof.benchmarks.interaction2code.verifier.units import Unit
from uiproof.browser.snapshots import Element

_BROADLY = 0.3  # share of the reference's change that is there in some form
_ALL_BUT = 0.97
_NEARLY = 0.995
_HALF = 0.5
_MOSTLY = 0.6
_HARDLY = 0.15
_ROW = 3  # an element, its cell, its row
_AROUND = 25  # pixels around a change in which the reference's may lie


def incomplete(case: Case, assessed: Assessment) -> Verdict | None:
    """What is wrong with an effect; None where only harmless things are."""
    who = case.who
    said = contents.compare(case, assessed)
    wanted = kinds.wanted_kinds(case.reference, case.scene)
    given = kinds.given_kinds(
        case.scene, [one.unit for one in said.seen], case.outcome, case.generated.snapshot
    )
    facts = _facts(case, assessed, said)
    if case.generated.found_by != "id" and not who.same_element:
        return verdict("a", 0.7, *facts, "and it is not the reference's element")
    failure = trigger_failure(case)
    if failure is not None and _explains(case, failure, assessed, said, bool(wanted & given)):
        return failure
    if not who.same_kind and who.near and (way := case.works_otherwise()):
        return verdict("d", 0.6, *facts, f"it is {listed(who.kinds)}, and {way}")
    if case.reference.action.kind == "drag" and contents.other_direction(said):
        return verdict("j", 0.7, *facts, "its number falls where the reference's rises, or rises")
    if _is_all_there(case, assessed, said):
        return None
    strange = who.stranger or not who.at_place
    if strange and not who.same_element and not who.still_there:
        return verdict("a", 0.5, *facts, "it is another element; the reference's is not there")
    if "new page" not in wanted and _leaves(case) and assessed.right_share < _MOSTLY:
        return verdict("g", 0.8, *facts, "it goes to another page or opens a window")
    return _of_effect(case, assessed, said, wanted, given, facts)


def _is_all_there(case: Case, assessed: Assessment, said: Contents) -> bool:
    """Whether nothing of substance is missing, and nothing else is said or changed."""
    wrong = said.having("wrong")
    if not wrong or said.having("elsewhere", "extra"):
        return False
    if case.reference.action.kind == "drag" and said.same:
        return True  # nobody drags exactly as far, so the numbers may be others
    complete = said.recall is None or said.recall >= contents.ALL
    if assessed.right_share < _ALL_BUT or not complete or contents.other_numbers(said, wrong):
        return False
    # What was the same before to the pixel has to be the same afterwards.
    return not case.scene.exact or not all(contents.was_same(case.scene, one.unit) for one in wrong)


def _leaves(case: Case) -> bool:
    """Whether it goes to another page, or opens a window or a dialog."""
    events = case.outcome.events
    replaced = kinds.page_replaced(case.generated.snapshot, case.outcome)
    return replaced or bool(events.dialogs or events.windows)


def _explains(
    case: Case, failure: Verdict, assessed: Assessment, said: Contents, same_kind: bool
) -> bool:
    """Whether the effect is the reference's, roughly: then the trigger is what is wrong."""
    if (said.recall or 0) >= _HALF:
        return True
    if failure.failure == "c":
        alike = said.recall is None and assessed.right_share >= _HALF
        return alike or (case.who.still_there and same_kind)
    if said.having("right", "elsewhere"):
        return True
    if failure.failure == "e" and same_kind and _same_on_itself(case, said):
        return True
    if not case.reference_changes_elsewhere():
        return True
    own = effects.ring(case.scene, case.found, whole=True)
    theirs = case.scene.reference_changed & ~own
    near = looks.widened(case.scene.changed & ~own, 2 * _AROUND + 1)
    return int((theirs & near).sum()) >= _BROADLY * int(theirs.sum())


def _same_on_itself(case: Case, said: Contents) -> bool:
    """Whether only the element changes, and looks at its place as the reference's does at its."""
    units = [one.unit for one in said.seen]
    if not units or any(one.element is None or one.element.ref != case.found.ref for one in units):
        return False
    return all(recolouring.colours_agree(case.scene, one, case.who.shift) for one in units)


def _facts(case: Case, assessed: Assessment, said: Contents) -> list[str]:
    counts = {status: len(said.having(status)) for status in ("right", "elsewhere", "wrong")}
    facts = [
        f"{DOING[case.reference.action.kind]} {name_of(case.found)}: "
        f"{counts['right']} changes as in the reference, {counts['elsewhere']} elsewhere, "
        f"{counts['wrong']} different, {len(said.having('extra'))} where it has none; "
        f"{assessed.right_share:.0%} of the reference's change is right"
    ]
    if said.recall is not None:
        facts.append(f"{said.recall:.0%} of the reference's new words are there")
    if said.precision is not None:
        facts.append(f"{said.precision:.0%} of the new words are the reference's")
    return facts


def _of_effect(
    case: Case,
    assessed: Assessment,
    said: Contents,
    wanted: frozenset[str],
    given: frozenset[str],
    facts: list[str],
) -> Verdict | None:
    right, elsewhere = said.having("right"), said.having("elsewhere")
    wrong, extra = said.having("wrong"), said.having("extra")
    found = [one.unit for one in said.seen]
    if kinds.only_hides(found) and (failure := _hiding(case, said, facts)):
        return failure
    if case.reference.action.kind == "drag" and (to := _dragged(case, said)):
        return verdict("h", 0.75, *facts, f"{to} moves, which the reference leaves")
    moved_on = elsewhere and all(rearranged(case, one.unit) for one in elsewhere)
    its_words = max(said.recall or 0, said.precision or 0) >= contents.SAME or (
        said.recall is None and not moved_on
    )
    if elsewhere and its_words:
        if to := _on_another(case, said, elsewhere, [*extra, *wrong]):
            return verdict("h", 0.75, *facts, f"it is on {to}, which the reference leaves")
        if said.same and all(_within(case, one) for one in elsewhere):
            return verdict("i", 0.6, *facts, "the words are there, what was around them is not")
        if said.lacks and all(_moved_up(case, said, one.unit) for one in elsewhere):
            return verdict("i", 0.6, *facts, "the rest is missing, and what is there moved up")
        if not right or not wrong:
            one = max(elsewhere, key=lambda one: max(map(abs, one.shift)))
            words = " ".join(one.unit.texts)[:40]
            return verdict(
                "f", 0.85, *facts, f"“{words}” is {one.shift[0]:+d},{one.shift[1]:+d} px off"
            )
    says_it = (said.precision or 0) >= contents.SAME
    alike = right and wanted & given
    if not alike and not elsewhere and not says_it and case.only_on_itself(found):
        if any(contents.is_opposite(case.scene, one) for one in found):
            return verdict("j", 0.7, *facts, "it becomes smaller, and the reference's larger")
        if not wanted & given or not wrong:
            return verdict("g", 0.7, *facts, "only the element itself changes")
    if wanted & given and (other := peers.instead(case, said)):
        return verdict("h", 0.7, *facts, f"it is on {name_of(other)}, which is another one")
    if right and any(_is_faded(case, one.unit) for one in extra):
        return verdict("j", 0.6, *facts, "it fades or marks others than the reference")
    others = existing(extra) if not wrong and not elsewhere else []
    hidden = [one for one in others if kinds.hides(one.unit)]
    if hidden and (len(hidden) == len(others) or said.recall == 0):
        return verdict("j", 0.6, *facts, "it hides what the reference leaves")
    if others and (right or wanted & given):
        to = name_of(others[0].unit.element)
        return verdict("h", 0.7, *facts, f"the change is on {to}, which the reference leaves")
    stays = not kinds.page_replaced(case.generated.snapshot, case.outcome)
    if stays and said.recall is not None and (said.precision or 0) < contents.SAME:
        new = [one for one in extra if one.unit.is_new]
        new += [one for one in wrong if "appeared" in one.unit.kinds]
        for one in new:
            if rearranged(case, one.unit):
                continue
            if peer := peers.peer_like(case, one.unit):
                to = name_of(peer)
                return verdict("h", 0.6, *facts, f"it belongs to {to}, not to the reference's")
    if not right:
        return _nothing_right(case, assessed, said, wanted, given, facts)
    speaks = any(any(one.unit.texts) for one in wrong) and not said.same
    if wrong and (speaks or contents.other_numbers(said, wrong)):
        return _contents(case, said, wrong, facts)
    if wanted and not wanted & given and not said.recall and not said.precision:
        return verdict("g", 0.7, *facts, f"it changes {listed(given)}, not {listed(wanted)}")
    if elsewhere and not its_words:
        return verdict("j", 0.6, *facts, "and else it says something else")
    return _partly(case, assessed, said, facts)


def _hiding(case: Case, said: Contents, facts: list[str]) -> Verdict | None:
    """Something is hidden: what the reference hides, more than that, or what it does not hide?"""
    theirs: float = 0
    if said.texts is not None and said.texts.went:
        theirs = wording.found_share(said.texts.went, said.texts.reference_went) or 0
    if said.recall is not None and theirs >= contents.SAME:
        return verdict("i", 0.7, *facts, "what the reference hides is gone; what it shows is not")
    if said.recall is not None or not kinds.reference_hides(case.scene):
        return verdict("j", 0.7, *facts, "it hides something and the reference shows something")
    if said.texts is None or not said.texts.went:
        return None
    if theirs < contents.SAME:
        return verdict("j", 0.6, *facts, "it hides what the reference leaves")
    return None


def _on_another(
    case: Case, said: Contents, elsewhere: Sequence[Seen], others: Sequence[Seen]
) -> str | None:
    """The element that has the effect instead of the reference's, if it is one."""
    for one in elsewhere:
        unit = one.unit
        if "retexted" in unit.kinds and _is_another(case, said, unit):
            return name_of(unit.element)
        if unit.is_new and (peer := peers.peer_at(case, unit, one.shift)):
            return name_of(peer)
        if said.texts is not None and (lost := _overwritten(case, unit, said.texts.reference_went)):
            return name_of(lost)
    for one in existing(others):
        fits = contents.of_right_row(said, one.unit) or rearranged(case, one.unit)
        if "recoloured" in one.unit.kinds and not fits:
            return name_of(one.unit.element)
    return None


def _overwritten(case: Case, unit: Unit, going: Sequence[str]) -> Element | None:
    """What something new took the place of, if the reference leaves that where it is."""
    for gone in case.outcome.changes.vanished:
        across = min(gone.box.right, unit.box.right) - max(gone.box.left, unit.box.left)
        down = min(gone.box.bottom, unit.box.bottom) - max(gone.box.top, unit.box.top)
        sizes = (one.width * one.height for one in (gone.box, unit.box))
        if min(across, down) <= 0 or across * down < _HALF * min(sizes) or not gone.label.strip():
            continue
        if (wording.found_share([gone.label], going) or 0) < contents.SAME:
            return gone
    return None


def _is_faded(case: Case, unit: Unit) -> bool:
    """Whether most of an element looks different though nothing of it changes colour or place."""
    if unit.element is None or unit.kinds != {"restyled"}:
        return False
    part = looks.crop_mask(case.scene.changed, unit.box)
    return part.size > 0 and float(part.mean()) > _HALF


def _dragged(case: Case, said: Contents) -> str | None:
    """What moves instead of the element that is dragged."""
    moved = [one for one in said.seen if "moved" in one.unit.kinds and one.unit.element is not None]
    if any(one.unit.element and one.unit.element.ref == case.found.ref for one in moved):
        return None
    others = [one.unit.element for one in moved if one.status != "right"]
    return name_of(others[0]) if others else None


def _is_another(case: Case, said: Contents, unit: Unit) -> bool:
    """Whether an element that was there before is not the one that the reference changes.

    It said something that the reference still says, or it is drawn though it said nothing: a field.
    """
    if any(unit.gone):
        return said.texts is None or not contents.changes_there_too(unit, said.texts)
    if unit.before is None:
        return False
    around = looks.grown(unit.before, 3, *case.scene.size)
    return not looks.is_blank(looks.crop(case.scene.before, around))


def _nothing_right(
    case: Case,
    assessed: Assessment,
    said: Contents,
    wanted: frozenset[str],
    given: frozenset[str],
    facts: list[str],
) -> Verdict:
    wrong = said.having("wrong")
    if (said.precision or 0) >= contents.SAME and (said.recall or 0) > 0:
        return _contents(case, said, wrong, facts)
    if wanted and not wanted & given:
        return verdict("g", 0.8, *facts, f"it changes {listed(given)}, not {listed(wanted)}")
    if _only_looks(said):
        alike = any(recolouring.recoloured_alike(case.scene, one.unit) for one in wrong)
        if alike or assessed.right_share >= _BROADLY:
            return verdict("i", 0.6, *facts, "only the colours are the reference's")
        return verdict("g", 0.7, *facts, "it shows and hides nothing, it only looks different")
    silent = not any(any(one.unit.texts) or "moved" in one.unit.kinds for one in said.seen)
    if silent and assessed.right_share >= _MOSTLY:
        return verdict("i", 0.6, *facts, "it says nothing, and else is mostly right")
    if wrong and _only_empties(said):
        return verdict("i", 0.6, *facts, "what the reference replaces is gone, no more")
    if wrong:
        return _contents(case, said, wrong, facts)
    return verdict("j", 0.65, *facts)


def _only_empties(said: Contents) -> bool:
    """Whether the words go that the reference replaces, and none come."""
    if said.precision is not None or said.texts is None:
        return False
    return (wording.found_share(said.texts.went, said.texts.reference_went) or 0) >= contents.SAME


def _only_looks(said: Contents) -> bool:
    """Whether the reference shows or hides words, and the generated page recolours things."""
    if said.texts is None or not (said.texts.reference_came or said.texts.reference_went):
        return False
    return not any(
        one.unit.is_new or one.unit.texts or one.unit.gone or "moved" in one.unit.kinds
        for one in said.seen
    )


def _within(case: Case, one: Seen) -> bool:
    """Whether something new is inside of what is new in the reference, if that is not the page."""
    most = 0.3 * case.scene.size[0] * case.scene.size[1]
    box = one.unit.box
    return one.unit.is_new and any(
        part.box.width * part.box.height <= most
        and part.box.left - _AROUND <= box.left
        and part.box.top - _AROUND <= box.top
        and part.box.right + _AROUND >= box.right
        and part.box.bottom + _AROUND >= box.bottom
        for part in case.scene.reference_parts()
    )


def _moved_up(case: Case, said: Contents, unit: Unit) -> bool:
    """Whether something only closed a gap: it begins at its place, or is one of a list's items."""
    begins = said.texts is not None and contents.begins_at_place(case, said.texts, unit)
    return begins or (unit.is_new and peers.continues_a_list(case, unit))


def _contents(case: Case, said: Contents, wrong: Sequence[Seen], facts: list[str]) -> Verdict:
    """Something of another content where the reference changes: less of it, or not it at all?"""
    if said.precision is not None and said.recall is not None:
        if contents.other_numbers(said, wrong):
            return verdict("j", 0.7, *facts, "and it says another number")
        if said.precision >= contents.SAME and said.recall > 0:
            return verdict("i", 0.7, *facts)
        new = all(one.unit.is_new for one in wrong)
        if new and said.recall >= contents.ALL and (words := contents.misplaced(case, said)):
            return verdict("f", 0.6, *facts, f"“{words}” is there, at another place")
    # Words that were not read well may look the same all the same.
    shown = absent = 0
    for one in wrong:
        here, not_here = effects.missing_leaves(case.scene, case.outcome, one.unit)
        shown, absent = shown + here, absent + not_here
    if shown and not absent:
        return verdict("i", 0.6, *facts, f"{shown} of its texts are in the reference")
    return verdict("j", 0.6, *facts, f"{absent} of its texts are not in the reference")


def _partly(case: Case, assessed: Assessment, said: Contents, facts: list[str]) -> Verdict | None:
    scene = case.scene
    right = [one.unit for one in said.having("right")]
    shades = all(not one.kinds - {"recoloured", "restyled"} for one in right)
    most = _HARDLY * scene.size[0] * scene.size[1]
    boxes = (one.box for one in case.around(case.found)[:_ROW])
    around = [box for box in boxes if box.width * box.height <= most]
    itself = any(missing.holds(box, one.box) for one in right for box in around)
    # Where the whole page is recoloured, anything that is looks right.
    alike = float(scene.reference_changed.mean()) < _HALF and any(
        recolouring.recoloured_alike(scene, one) for one in right
    )
    there = scene.reference_changed & looks.widened(scene.changed, 5)
    covered = int(there.sum()) / max(int(scene.reference_changed.sum()), 1)
    hardly = max(assessed.right_share, covered) < _HARDLY and (said.recall or 0) < _HALF
    if hardly and shades and not itself and not alike:
        return verdict("h", 0.5, *facts, "which is only a small part of what should change")
    if said.recall is not None and said.recall < contents.ALL:
        return verdict("i", 0.8, *facts, "the rest is missing")
    veiled = float(scene.reference_changed.mean()) >= _HALF  # what a window covers is not replaced
    if contents.stale_number(said) and not veiled and case.reference.action.kind != "drag":
        return verdict("i", 0.7, *facts, "a number stays that the reference replaces")
    silent = said.recall is None and said.precision is None
    if silent and said.having("wrong") and assessed.right_share < _BROADLY:
        return verdict("j", 0.5, *facts, "most of it looks different")
    enough = _NEARLY if scene.close else _BROADLY if said.same else contents.ALL
    if assessed.right_share < enough and missing.is_missing(case, said):
        if said.same and (words := contents.misplaced(case, said)):
            return verdict("f", 0.6, *facts, f"“{words}” is there, at another place")
        return verdict("i", 0.8, *facts, "the rest of the reference's change is missing")
    if any(one.unit.is_new and any(one.unit.texts) for one in said.having("extra")):
        return verdict("j", 0.5, *facts, "and it shows something that the reference does not")
    return None
