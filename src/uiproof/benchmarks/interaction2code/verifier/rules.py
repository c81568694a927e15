"""The rules, from the evidence to one verdict; see `docs/interaction2code-verifier.md`."""

from __future__ import annotations

from collections.abc import Sequence

from uiproof.benchmarks.interaction2code.failures import UNUSABLE
from uiproof.benchmarks.interaction2code.verifier import (
    effects,
    identity,
    kinds,
    looks,
    loose,
    wording,
)
from uiproof.benchmarks.interaction2code.verifier.case import Case
from uiproof.benchmarks.interaction2code.verifier.effects import Assessment, Seen
from uiproof.benchmarks.interaction2code.verifier.evidence import (
    Failure,
    GeneratedEvidence,
    ReferenceEvidence,
    Verdict,
)
from uiproof.benchmarks.interaction2code.verifier.scene import build
from uiproof.browser.snapshots import Action, Element

_MOSTLY = 0.6
_REFLOW = 64  # pixels by which a page flows differently where an element is larger or elsewhere
_HARDLY = 0.1
_STRANGE = 9  # pixels around what is different before
_ALONG = 40  # pixels: an effect that moved as far as its trigger moved with it


def verify(reference: ReferenceEvidence, generated: GeneratedEvidence) -> Verdict:
    """Decide whether an interaction of a generated page works, and if not, how it fails."""
    found, outcome = generated.found, generated.outcome
    if found is None or outcome is None:
        return _verdict("a", 0.95, "no element with the id, and nothing like it at its place")
    scene = build(reference, generated, outcome)
    who = identity.identify(reference, generated, found, close=scene.close)
    if not who.visible:
        return _verdict("a", 0.95, f"{_name(found)} is there, but cannot be seen")
    if identity.is_gone(reference, generated, found) and not (who.same_look and who.same_kind):
        return _verdict("a", 0.8, f"only {_name(found)} is left at the reference's place")
    if generated.found_by != "id" and not who.same_kind and not who.same_look:
        return _verdict("a", 0.7, f"only {_name(found)} is there, which is {_kinds(who.kinds)}")
    case = Case(reference, generated, found, outcome, scene, who)
    assessed = case.assess(closely=False)
    if assessed.complete and looks.clusters(scene.changed, least=4):
        return _complete(case, "the page looks as the reference does afterwards")
    case = case.without_approach()
    if case.nothing_happened():
        return _nothing(case)
    assessed = case.assess()
    if assessed.complete:
        return _complete(case, "the page looks as the reference does afterwards")
    return _incomplete(case, assessed)


# --- nothing to be seen


def _nothing(case: Case) -> Verdict:
    events, refused = case.outcome.events, case.outcome.refused
    done = f"{_doing(case)} {_name(case.found)} changed nothing that can be seen"
    facts = [f"{done}: {sum(events.mutations.values())} mutations"]
    if refused:
        facts.append(f"it could not be done: {refused}")
    facts += [f"a script failed: {one}" for one in events.errors[:2]]
    if events.dialogs or events.windows or events.downloads:
        facts += [f"it opened: {one}" for one in (*events.dialogs, *events.windows)[:2]]
        return _verdict("g", 0.85, *facts, seen=True)
    if events.navigations and not events.navigations[0].split("#")[0].endswith(
        case.generated.snapshot.url.split("#")[0]
    ):
        facts.append(f"it wants to go to {events.navigations[0]}")
        new_page = "new page" in case.reference.visuals
        return _verdict("j" if new_page else "g", 0.6, *facts, seen=True)
    who = case.who
    if case.generated.found_by != "id" and not who.same_element:
        facts.append("nothing on the page looks or reads like the element of the reference")
        return _verdict("a", 0.7, *facts)
    if not who.same_kind and (way := _works_otherwise(case)):
        facts.append(f"it is {_kinds(who.kinds)}, not {_kinds(case.reference.tags)}, and {way}")
        return _verdict("d", 0.7, *facts, seen=True)
    if not who.same_element and not who.at_place and not who.still_there:
        facts.append("it is another element, and the reference's is not on the page")
        return _verdict("a", 0.6, *facts)
    if not any(case.listens(one, case.reference.action.kind) for one in case.around(case.found)):
        facts.append("it listens to nothing that this would cause")
        other = case.other_that_works()
        if other is not None:
            facts.append(f"{_name(other)} has the effect instead")
            return _verdict("c", 0.75, *facts, seen=True)
    return _verdict("b", 0.9, *facts)


def _works_otherwise(case: Case) -> str | None:
    """How an element of another kind has the effect, where the reference's action is not for it."""
    kind = case.reference.action.kind
    if kind not in ("select", "type", "drag", "key"):
        return None
    related = identity.family(case.generated.snapshot, case.found)
    chain = {one.ref for one in case.around(case.found)[1:]}
    mine = [
        one
        for one in case.generated.snapshot.elements
        if one.ref in related and one.ref not in chain
    ]
    if any(one.listeners for one in mine):
        return "it listens to something else"
    clicked = case.generated.attempt(case.found, Action("click"))
    if clicked is not None and looks.clusters(
        build(case.reference, case.generated, clicked).changed, least=24
    ):
        return "clicking it does something"
    return None


# --- the reference's effect


def _complete(case: Case, fact: str) -> Verdict:
    who = case.who
    name = _name(case.found)
    if case.pointing_is_enough():
        return _verdict("b", 0.7, f"pointing at {name} has the effect already; clicking adds none")
    if failure := _trigger_failure(case):
        return failure
    if case.does_not_go_back():
        return _verdict("i", 0.75, fact, f"acting on {name} again does not undo it")
    sure = 0.95 if who.same_element and who.at_place else 0.7
    return _verdict("none", sure, f"{_doing(case)} {name}: {fact}", *_extras(case))


def _trigger_failure(case: Case) -> Verdict | None:
    """What is wrong with the element itself, given that its effect is the reference's."""
    who, name = case.who, _name(case.found)
    if not who.at_place:
        away = f"{name} is {who.shift[0]:+d},{who.shift[1]:+d} px from its place"
        if who.still_there:
            return _verdict(
                "c",
                0.85,
                f"{name} has the effect; the reference's element is another, and is there",
            )
        if not who.same_element:
            return _verdict("c", 0.8, f"{away} and neither looks nor reads like the reference's")
        return _verdict("e", 0.85, away)
    if not who.same_element and not who.on_place:
        return _verdict("c", 0.7, f"{name} is near the place, but looks and reads differently")
    if not who.same_kind:
        return _verdict(
            "d", 0.85, f"{name} is {_kinds(who.kinds)}, not {_kinds(case.reference.tags)}"
        )
    if not who.same_element and _reads_differently(case):
        return _verdict(
            "c", 0.6, f"{name} reads “{case.found.label[:40]}”, the reference's does not"
        )
    return None


def _reads_differently(case: Case) -> bool:
    theirs, mine = identity.trigger_text(case.reference), case.found.label
    return len(theirs.strip()) >= 2 and len(mine.strip()) >= 2


def _extras(case: Case) -> Sequence[str]:
    if case.generated.found_by != "id":
        return [f"it was found by its {case.generated.found_by}, not by its id"]
    return []


# --- another effect, on a page that looks the same before


def _incomplete(case: Case, assessed: Assessment) -> Verdict:
    who = case.who
    right, elsewhere = assessed.having("right"), assessed.having("elsewhere")
    wrong, extra = assessed.having("wrong"), assessed.having("extra")
    facts = [
        f"{_doing(case)} {_name(case.found)}: {len(right)} changes as in the reference, "
        f"{len(elsewhere)} elsewhere, {len(wrong)} different, {len(extra)} where it has none; "
        f"{assessed.right_share:.0%} of the reference's change is right"
    ]
    wanted = kinds.wanted_kinds(case.reference, case.scene)
    found = [one.unit for one in assessed.seen]
    given = kinds.given_kinds(case.scene, found, case.outcome, case.generated.snapshot)
    replaced = kinds.page_replaced(case.generated.snapshot, case.outcome)
    if replaced and "new page" not in wanted and assessed.right_share < _MOSTLY:
        facts.append("it goes to another page")
        return _verdict("g", 0.8, *facts)
    on_itself = not case.reference_changes_elsewhere() and not case.changes_elsewhere()
    if not who.same_kind and who.on_place and on_itself:
        facts.append("the effect is on the element itself, which is of another kind")
        return _trigger_failure(case) or _verdict("d", 0.5, *facts)
    another = not who.same_element and not who.at_place
    if case.generated.found_by != "id" and not who.same_element:
        facts.append("and it is not the reference's element, which is nowhere")
        return _verdict("a", 0.7, *facts)
    if another or who.still_there:
        if right or elsewhere or (wanted & given and who.still_there):
            facts.append("it is another element than the reference's")
            return _verdict("c", 0.65, *facts)
        if not who.still_there:
            facts.append("it is another element; the reference's is not on the page")
            return _verdict("a", 0.5, *facts)
    if not wrong and not extra and _explained(case, right, elsewhere):
        return _trigger_failure(case) or _verdict("e", 0.6, *facts)
    if not elsewhere and not right and (verdict := _same_words(case, assessed, facts)):
        return verdict
    if elsewhere and not right:
        return _elsewhere(case, elsewhere, facts)
    if right and not wrong and not elsewhere:
        return _partly(case, assessed, extra, facts)
    if wrong and (verdict := _contents(case, wrong, right, facts)):
        return verdict
    if not right and kinds.opposed(case.scene, found, wanted):
        facts.append("one shows something and the other hides something")
        return _verdict("j", 0.7, *facts)
    if not right and wanted and not (wanted & given):
        facts.append(f"it changes {_kinds(given)}, the reference {_kinds(wanted)}")
        return _verdict("g", 0.8, *facts)
    if extra and not right and not wrong and not any(one.unit.is_new for one in extra):
        facts.append(f"the change is on {_name(extra[0].unit.element)}, which the reference leaves")
        return _verdict("h", 0.8, *facts)
    if elsewhere and right:
        return _elsewhere(case, elsewhere, facts)
    if not assessed.seen and assessed.right_share >= _MOSTLY:
        return _verdict("i", 0.5, *facts)
    return _verdict("j", 0.65, *facts)


def _explained(case: Case, right: Sequence[Seen], elsewhere: Sequence[Seen]) -> bool:
    """Whether the trigger is misplaced or of another kind, and the effect only follows."""
    who = case.who
    if (who.at_place and who.same_kind) or not (right or elsewhere):
        return False
    return all(
        max(map(abs, one.shift)) <= _REFLOW
        or max(abs(one.shift[0] - who.shift[0]), abs(one.shift[1] - who.shift[1])) <= _ALONG
        for one in elsewhere
    )


def _same_words(case: Case, assessed: Assessment, facts: list[str]) -> Verdict | None:
    """Something new that says what the reference's says, laid out in another way."""
    new = [one for one in assessed.seen if one.unit.is_new and any(one.unit.texts)]
    if not new or (texts := case.texts()) is None:
        return None
    said = [text for one in new for text in one.unit.texts]
    recall = wording.found_share(texts.reference_came, said) or 0
    precision = wording.found_share(said, texts.reference_came) or 0
    facts.append(f"{recall:.0%} of the reference's new words are in it")
    if recall < loose.MOSTLY or precision < loose.MOSTLY:
        if precision >= 0.9 and recall >= 0.2 and any(one.status == "wrong" for one in new):
            return _verdict("i", 0.6, *facts)
        return None
    if all(one.status == "wrong" for one in new):
        return _complete(case, "the reference's words appear at their place")
    return _trigger_failure(case) or _verdict("f", 0.7, *facts, "at another place")


def _elsewhere(case: Case, elsewhere: Sequence[Seen], facts: list[str]) -> Verdict:
    """The reference's content at another place: a place of its own, or another element's?"""
    for one in elsewhere:
        unit = one.unit
        away = f"“{' '.join(unit.texts)[:40]}” is {one.shift[0]:+d},{one.shift[1]:+d} px off"
        if "retexted" in unit.kinds and any(unit.gone) and not _was_elsewhere(case, one):
            facts.append(f"{away}, in {_name(unit.element)}, which showed something else before")
            return _verdict("h", 0.75, *facts)
        facts.append(away)
    return _verdict("f", 0.85, *facts)


def _was_elsewhere(case: Case, one: Seen) -> bool:
    """Whether the element was already displaced before: then it is the right one, misplaced."""
    if one.unit.before is None:
        return False
    patch = looks.crop(case.scene.before, one.unit.before)
    if looks.is_blank(patch):
        return True
    width, height = case.scene.size
    at = one.unit.before
    there = looks.grown(
        type(at)(
            at.left - one.shift[0],
            at.top - one.shift[1],
            at.right - one.shift[0],
            at.bottom - one.shift[1],
        ),
        4,
        width,
        height,
    )
    place = looks.find(patch, case.scene.reference_before, within=there)
    return place is not None and place.fit >= 0.85


def _partly(case: Case, assessed: Assessment, extra: Sequence[Seen], facts: list[str]) -> Verdict:
    scene = case.scene
    missing = scene.reference_changed & ~effects.ring(scene, case.found, whole=True)
    if scene.close:
        # What the reference never showed cannot look as it does there.
        missing &= scene.error & ~looks.widened(scene.static, _STRANGE)
    if assessed.right_share < 1 and looks.clusters(missing):
        if assessed.right_share < _HARDLY and all(
            not one.unit.kinds - {"recoloured", "restyled"} for one in assessed.having("right")
        ):
            facts.append("which is only one of the elements that change in the reference")
            return _verdict("h", 0.5, *facts)
        # An element that is wrong itself explains a little that is missing.
        if assessed.right_share >= _MOSTLY and (failure := _trigger_failure(case)):
            return failure
        facts.append("the rest of the reference's change is missing")
        return _verdict("i", 0.8, *facts)
    if not extra:
        return _complete(case, "what the page shares with the reference looks the same afterwards")
    if extra and not any(one.unit.is_new for one in extra):
        facts.append("and other elements change that the reference leaves as they are")
        return _verdict("h", 0.5, *facts)
    return _verdict("j", 0.5, *facts)


def _contents(
    case: Case,
    wrong: Sequence[Seen],
    right: Sequence[Seen],
    facts: list[str],
) -> Verdict | None:
    """Something of another content where the reference changes: less of it, or not it at all?"""
    shown = absent = 0
    for one in wrong:
        here, not_here = effects.missing_leaves(case.scene, case.outcome, one.unit)
        shown, absent = shown + here, absent + not_here
    facts.append(f"{shown} of its texts are in the reference, {absent} are not")
    if shown and not absent:
        return _verdict("i", 0.7, *facts)
    if shown > absent and right:
        return _verdict("j", 0.5, *facts)
    return None


# --- words


def _verdict(failure: Failure, confidence: float, *facts: str, seen: bool | None = None) -> Verdict:
    implemented = failure not in ("a", "b") if seen is None else seen
    return Verdict(implemented, failure not in UNUSABLE, failure, facts, confidence)


def _name(element: Element | None) -> str:
    if element is None:
        return "a part without an element"
    if element.id:
        return f"#{element.id}"
    label = element.label.strip()[:30]
    return f"<{element.tag}> “{label}”" if label else f"<{element.tag}>"


def _doing(case: Case) -> str:
    words = {
        "click": "clicking",
        "hover": "pointing at",
        "type": "typing in",
        "select": "selecting in",
        "drag": "dragging",
        "scroll": "scrolling",
        "key": "pressing a key in",
    }
    return words[case.reference.action.kind]


def _kinds(names: Sequence[str] | frozenset[str]) -> str:
    return " and ".join(sorted(names)) or "nothing"
